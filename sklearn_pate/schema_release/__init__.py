"""The schema of columns that are not declared, estimated from noisy counts.

`counts` is the private half: the counts of two steps, what one record changes in them, their noise
and their cost. `estimates` is the public half, and uses noisy counts alone.
"""

from .counts import SchemaRelease

__all__ = ["SchemaRelease"]
