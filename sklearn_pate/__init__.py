"""Train on private data, publish the model: PATE as scikit-learn estimators.

Where to find things:

- The run of a fit: `fitting.run`. Each step is gathered, paid for (`Account.append`) and only then
  published. `fitting.inputs` checks and prepares, `fitting.planning` makes the plan.
- The method of a fit: `methods.choose` chooses it. The docstring of `methods` lists the largest
  change of the statistics of each method if one record changes, with and without public rows.
  `rdp.contribution` defines neighboring data sets, for records and for groups.
- The cost of an event: `rdp`. Its docstring lists the values that are proved by hand; epsilon is
  wrong if one of them is. `accounting.budget` adds costs, and `accounting.spent` reports the sum.
- The text of plans, statements and cards: `report`, from the numbers and codes of `accounting`.
- New parts: a noise mechanism goes to `aggregators`, a student to `students`, a kind of target to
  `encoding.targets`, a method to `methods`. The docstring of each module describes the steps.
- Other processes: `runtime.workers` lists the tasks that they run, and the objects that are
  pickled.
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
