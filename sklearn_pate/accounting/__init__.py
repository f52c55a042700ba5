"""What a fit may ask, what it spent, and the curator's private view of it."""

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
