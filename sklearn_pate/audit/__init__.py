"""Empirical lower bounds on epsilon: a mechanism that leaks more than it says is caught."""

from .canaries import Canaries, make_canaries
from .estimator import EstimatorAudit, audit_estimator, one_run_epsilon
from .query import AuditResult, audit_aggregator
from .search import exact_epsilon, worst_pair

__all__ = [
    "AuditResult",
    "Canaries",
    "EstimatorAudit",
    "audit_aggregator",
    "audit_estimator",
    "exact_epsilon",
    "make_canaries",
    "one_run_epsilon",
    "worst_pair",
]
