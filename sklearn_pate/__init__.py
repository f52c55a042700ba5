"""Train on private data, publish the model: PATE as scikit-learn estimators.

Where to find things:

- The run of a fit: `fitting.run`. Each step is gathered, paid for (`Account.append`) and only then
  published. `fitting.inputs` checks and prepares, `fitting.planning` makes the plan.
- The method of a fit is chosen in `methods.choose`. `methods` (its docstring) lists what one record
  can change under each method, with and without public rows. `rdp.contribution` has the neighboring
  data sets, records or groups.
- The cost of an event: `rdp`, whose docstring lists the numbers that are proved by hand, in which a
  wrong epsilon would hide. `accounting.budget` adds costs up, `accounting.spent` states them.
- The text of plans, statements and cards: `report`, by numbers and codes of `accounting`.
- New parts: a noise mechanism goes to `aggregators`, a student to `students`, a kind of target to
  `encoding.targets`, a method to `methods`. Each docstring lists the places.
- Other processes: `runtime.workers` lists the tasks that they run, and all that is pickled.
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
