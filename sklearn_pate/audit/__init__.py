"""Empirical lower bounds on epsilon, to detect privacy losses above the claimed epsilon."""

from .bounds import exact_epsilon, one_run_epsilon
from .estimator import Canaries, EstimatorAudit, audit_estimator, make_canaries
from .first_release import audit_first_release, audit_schema_release
from .query import AuditResult, audit_aggregator
from .table import TableAudit, audit_release, audit_table

__all__ = [
    "AuditResult",
    "Canaries",
    "EstimatorAudit",
    "TableAudit",
    "audit_aggregator",
    "audit_estimator",
    "audit_first_release",
    "audit_release",
    "audit_schema_release",
    "audit_table",
    "exact_epsilon",
    "make_canaries",
    "one_run_epsilon",
]
