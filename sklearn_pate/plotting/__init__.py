"""Displays: what labels cost, how good they are, how teachers agree, where the budget went, audits.

A display holds the arrays that it shows; matplotlib is imported when it is drawn.
"""

from .audits import AuditDisplay
from .budget import BudgetDisplay
from .label_accuracy import LabelAccuracyDisplay
from .margins import MarginDisplay
from .privacy_spent import PrivacySpentDisplay

__all__ = [
    "AuditDisplay",
    "BudgetDisplay",
    "LabelAccuracyDisplay",
    "MarginDisplay",
    "PrivacySpentDisplay",
]
