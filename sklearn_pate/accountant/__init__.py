"""What a fit may ask, what it spent, and the curator's private view of it."""

from .curator import Curator, StageRecord, TableCurator
from .plan import Plan, RenyiFilter, RowsCost, Voters
from .pricing import plan_queries, plan_table
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
    "Voters",
    "plan_queries",
    "plan_table",
]
