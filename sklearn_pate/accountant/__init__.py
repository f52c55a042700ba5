"""What a fit may ask, what it spent, and the curator's private view of it."""

from .count import next_fit_number
from .curator import Curator, StageRecord, TableCurator
from .forecast import RecordVoters, RowsCost, TeacherVoters
from .plan import Plan, plan_queries
from .spent import PrivacyForecast, PrivacySpent
from .stages import RenyiFilter, no_cost
from .table import least_scale_of, plan_table

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
    "least_scale_of",
    "next_fit_number",
    "no_cost",
    "plan_queries",
    "plan_table",
]
