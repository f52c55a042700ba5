"""What a fit may ask, what it spent, and the curator's private view of it."""

from .curator import Curator, StageRecord, TableCurator
from .filter import RenyiFilter
from .plan import Plan, plan_queries
from .spent import PrivacySpent
from .table import plan_table

__all__ = [
    "Curator",
    "Plan",
    "PrivacySpent",
    "RenyiFilter",
    "StageRecord",
    "TableCurator",
    "plan_queries",
    "plan_table",
]
