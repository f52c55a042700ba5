"""Methods that turn private records into labels of public rows.

Each module defines the statistic, its contribution with a proof, its noise and its read-out.
`choose` has the rule that selects the method of a fit. Replacing one record changes at most:

- `neighbors`, the default with public rows: two counts of the table of votes by 1 each (L1 2,
  squared L2 2, Linf 1), with the default ``n_neighbors=1``. Adding or removing a record changes one
  count. See `ReverseNeighbors.contribution`.
- `sums`, chosen with public rows if cells explain little or, for numbers, if there are few records:
  sums of rows of length 1, by class and in total. The squared L2 change is about 2 for two classes,
  and below 3.9 for more classes. `class_sums.statistic.sensitivity` has the formula and the proof.
- `teachers`: one vote on each queried row, because each record reaches one teacher. See
  `partition`.
- Without public rows, class sums are released first: the mean of all rows, then counts, sums and
  the second moment about this mean. See `class_sums.statistic.sensitivity`. They are the model by
  default. With few columns and many records, records also vote in cells of synthetic rows.

In all methods, a group counts as one record: see `rdp.contribution`. To add a method, add a module
here with a subclass of `base.VotingMethod`.
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
