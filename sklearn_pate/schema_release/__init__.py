"""The schema of columns that are not declared, estimated from noisy counts.

`counts` is the private half: the counts of two steps, what one record changes in them, their noise
and their cost. `estimates` is the public half, and uses noisy counts alone. `targets` does the same
for the labels or numbers of a fit: it finds the classes, or the bounds of the numbers.
"""

from .counts import SchemaRelease
from .targets import ClassRelease, FoundTarget, RangeRelease, TargetRelease

__all__ = ["ClassRelease", "FoundTarget", "RangeRelease", "SchemaRelease", "TargetRelease"]
