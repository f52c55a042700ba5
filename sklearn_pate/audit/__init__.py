"""Empirical lower bounds on epsilon, to catch a mechanism that leaks more than it claims."""

from .bounds import one_run_epsilon
from .canaries import Canaries, make_canaries
from .estimator import EstimatorAudit, audit_estimator
from .mechanism import exact_epsilon
from .query import AuditResult, audit_aggregator
from .table import TableAudit, audit_release, audit_table

__all__ = [
    "AuditResult",
    "Canaries",
    "EstimatorAudit",
    "TableAudit",
    "audit_aggregator",
    "audit_estimator",
    "audit_release",
    "audit_table",
    "exact_epsilon",
    "make_canaries",
    "one_run_epsilon",
]
