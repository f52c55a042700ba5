"""Methods: how private records become labels of public rows.

Each file states the statistic, its contribution with the proof, its noise and its read-out.
`choose` decides which method a fit uses. One record, replaced by another, changes at most:

- `neighbors`, the default with public rows: two counts of the table of votes by 1 each (L1 2,
  squared L2 2, Linf 1), or 1 count if it is added or removed. See `ReverseNeighbors.contribution`.
- `sums`, chosen with public rows where cells explain little or, for numbers, where records are few:
  sums of rows of length 1 by class and in all. The squared L2 change is about 2 for two
  classes, and below 3.9 for more; its formula and proof are in the notes of `sums.SumsMechanism`.
- `teachers`: one vote on each queried row, as each record reaches one teacher. See `partition`.
- Without public rows, class sums are released first: the mean of all rows, then counts, sums and
  second moment about it, by `class_sums.statistic.sensitivity`. They are the model by default. With
  few columns and many records, records also vote in cells of synthetic rows, as above.

A group counts as one record in all of them: see `rdp.contribution`. A new method is a file here: a
subclass of `base.VotingMethod`.
"""

from .base import Method, TableMethod, VotingMethod
from .choose import MethodChoice, MethodParameters, PublicCounts, choose_method
from .neighbors import ReverseNeighbors
from .sums import ClassSums, ReleasedClassSums
from .teachers import Teachers

__all__ = [
    "MethodChoice",
    "MethodParameters",
    "PublicCounts",
    "ClassSums",
    "Method",
    "ReleasedClassSums",
    "ReverseNeighbors",
    "TableMethod",
    "Teachers",
    "VotingMethod",
    "choose_method",
]
