"""Plans of fits, the privacy that they spend, and the curator's private view of them."""

from .budget import plan_queries, plan_table
from .curator import Curator, StageRecord, TableCurator
from .plan import MethodSummary, Plan, RenyiFilter, RowsCost
from .spent import PrivacyForecast, PrivacySpent

__all__ = [
    "Curator",
    "Plan",
    "PrivacyForecast",
    "PrivacySpent",
    "RenyiFilter",
    "RowsCost",
    "StageRecord",
    "TableCurator",
    "MethodSummary",
    "plan_queries",
    "plan_table",
]
