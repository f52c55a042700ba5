"""Train on private data, publish the model: PATE as scikit-learn estimators.

Where to find things:

- The run of a fit: `fitting.run`. Each step is gathered, paid for (`Account.append`) and only then
  published. `fitting.inputs` checks and prepares, `fitting.planning` makes the plan.
- The method of a fit is chosen in `methods.choose`.
- The contribution of one record, with its proof: `methods.neighbors`, `methods.sums` and
  `methods.teachers`; without public rows, `class_sums.statistic`. `rdp.contribution` has the
  neighboring data sets, records or groups, on which it depends.
- The cost of an event: `rdp`. Costs are added up in `accounting.budget`, and stated by
  `accounting.spent`. An epsilon can be wrong where a number is proved by hand: a contribution, the
  `bounds` of a mechanism, the event of a release.
- New parts: a noise mechanism goes to `aggregators` (`aggregators.base` for single queries,
  `aggregators.table` for tables), a student to `students` (`readouts` if it reads a table), a kind
  of target to `encoding.targets`, a method to `methods`.
- Other processes: `runtime.workers` sends them teachers and blocks of records. `runtime.copies`
  pickles; `PATEEstimator.__getstate__` keeps private data out of pickles.
"""

from ._version import __version__
from .accounting import PrivacySpent
from .classifier import PATEClassifier
from .public import FitOnPublic, PublicData
from .regressor import PATERegressor

__all__ = [
    "FitOnPublic",
    "PATEClassifier",
    "PATERegressor",
    "PrivacySpent",
    "PublicData",
    "__version__",
]
