"""What a fit may ask, what it spent, and the curator's private view of it."""

from .curator import Curator, StageRecord
from .plan import Plan, RenyiFilter, plan_queries
from .spent import PrivacySpent

__all__ = ["StageRecord", "Curator", "Plan", "PrivacySpent", "RenyiFilter", "plan_queries"]
