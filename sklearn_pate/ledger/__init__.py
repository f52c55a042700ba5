"""Ledger: one privacy budget for all fits on one private data set."""

from .ledger import PrivacyLedger

__all__ = ["PrivacyLedger"]
