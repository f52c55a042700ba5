"""Displays: what labels cost, how good they are, how teachers agree, where the budget went, audits.

A display holds the arrays that it shows; matplotlib is imported when it is drawn.
"""

from .audits import AuditDisplay
from .budget import BudgetDisplay
from .privacy_spent import PrivacySpentDisplay
from .votes import LabelAccuracyDisplay, MarginDisplay

__all__ = [
    "AuditDisplay",
    "BudgetDisplay",
    "LabelAccuracyDisplay",
    "MarginDisplay",
    "PrivacySpentDisplay",
]
