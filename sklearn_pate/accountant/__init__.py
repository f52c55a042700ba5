"""What a fit may ask, what it spent, and the curator's private view of it."""

from .curator import Curator, StageRecord, TableCurator
from .forecast import RecordVoters, RowsCost, TeacherVoters
from .plan import Plan, plan_queries
from .spent import PrivacyForecast, PrivacySpent
from .stages import RenyiFilter
from .table import plan_table

__all__ = [
    "Curator",
    "Plan",
    "PrivacyForecast",
    "PrivacySpent",
    "RecordVoters",
    "RenyiFilter",
    "RowsCost",
    "StageRecord",
    "TableCurator",
    "TeacherVoters",
    "plan_queries",
    "plan_table",
]
