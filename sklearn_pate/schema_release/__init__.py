"""Estimation of the schema of undeclared columns from noisy counts.

`counts` is the private part: the counts of two steps, the contribution of one record, the noise and
the cost. `estimates` is the public part: it uses only noisy counts. `scales` is a smaller
release for few records with declared bounds. `targets` releases the classes of a fit, or the bounds
of its numbers, if they are not declared, and the shares of the classes.
"""

from .counts import SchemaRelease, count_numeric_records
from .scales import ScaleRelease
from .targets import (
    ClassRelease,
    FoundTarget,
    NumericShareRelease,
    RangeRelease,
    SeveralReleases,
    ShareRelease,
    TargetRelease,
)

__all__ = [
    "ClassRelease",
    "FoundTarget",
    "NumericShareRelease",
    "RangeRelease",
    "ScaleRelease",
    "SchemaRelease",
    "SeveralReleases",
    "ShareRelease",
    "TargetRelease",
    "count_numeric_records",
]
