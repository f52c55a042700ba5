"""Plans of fits, the privacy that fits spend, and the curator's private view of a fit.

All numbers are computed here; `report` formats them as text.

- `accounting.budget`: costs of releases, and the noise and number of queries within an epsilon;
  `renyi_filter`, `propose_test_release`: two ways to keep the cost within epsilon;
- `accounting.plan`: the plan; `made_up_votes`, `rare_class`: the numbers of its forecast;
  `findings`: codes and numbers of its errors and warnings; `trials`: scores of trial fits;
- `accounting.spent`: the statement of a fit; `curator`, `smooth_sensitivity`: private costs.
"""

from .budget import plan_queries, plan_table
from .curator import Curator, StageRecord, TableCurator
from .findings import Finding
from .plan import MethodSummary, Plan, RowsCost
from .renyi_filter import RenyiFilter
from .spent import PrivacyForecast, PrivacySpent
from .trials import ScoreForecast, Trial

__all__ = [
    "Curator",
    "Finding",
    "Plan",
    "PrivacyForecast",
    "PrivacySpent",
    "RenyiFilter",
    "RowsCost",
    "ScoreForecast",
    "StageRecord",
    "TableCurator",
    "Trial",
    "MethodSummary",
    "plan_queries",
    "plan_table",
]
