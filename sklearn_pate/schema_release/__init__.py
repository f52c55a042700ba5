"""Estimation of the schema of undeclared columns from noisy counts.

`counts` is the private part: the counts of two steps, the contribution of one record, the noise and
the cost. `estimates` is the public part: it uses only noisy counts.
"""

from .counts import SchemaRelease

__all__ = ["SchemaRelease"]
