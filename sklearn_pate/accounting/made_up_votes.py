"""Fractions of answered queries and correct labels, for made-up votes with a given agreement."""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone

from ..rdp.bounds import bounds_of, has_distribution

#: Shares of teachers that agree, for which a plan computes `AgreementShares`.
AGREEMENTS = (0.6, 0.8, 0.95)

#: Number of sampled labels if a fraction is estimated; its standard error is then below 0.01.
_N_SAMPLED = 4000

#: Largest number of classes tried as the correct class, if a mechanism may prefer some classes.
_MOST_RIGHT = 20


class AgreementShares(NamedTuple):
    """Fractions of answered queries and correct labels, if a given share of the teachers agrees.

    Attributes
    ----------
    agreement : float
        Share of the teachers that vote for the correct class; all others vote for one other class.
    answered : float
        Fraction of the queries that are answered.
    right : float
        Fraction of the answers that are correct; NaN if no query is answered.

    Examples
    --------
    >>> from sklearn_pate.accounting.made_up_votes import shares_at
    >>> from sklearn_pate.aggregators import GNMax
    >>> shares = shares_at(0.8, [(GNMax(10.0), 100)], n_teachers=50, n_classes=2)
    >>> round(shares.answered, 2), round(shares.right, 2)
    (1.0, 0.98)
    """

    agreement: float
    answered: float
    right: float


def shares_at(
    agreement: float, stages: Sequence[tuple[Any, int]], *, n_teachers: int, n_classes: int
) -> AgreementShares:
    """Return the fraction of answered queries, and the fraction of correct answers.

    For each query, the correct class gets a share `agreement` of the votes, rounded up to whole
    votes, and one other class gets all others. If the noise is log-concave, like normal and Laplace
    noise, no other distribution of the other votes is worse.

    Parameters
    ----------
    agreement : float
        Share of the teachers, above 0.5 and at most 1.
    stages : list of (Aggregator, int)
        Mechanisms with their noise set, and the number of queries of each.
    n_teachers, n_classes : int
        Number of teachers and of classes.

    Returns
    -------
    AgreementShares
    """
    if not 0.5 < agreement <= 1:
        raise ValueError(
            f"agreement must be a share of the teachers, above 0.5 and at most 1; got {agreement!r}"
        )
    n_right = math.ceil(agreement * n_teachers - 1e-9)
    right_class = np.eye(n_classes, dtype=int)
    votes = n_right * right_class
    votes += (n_teachers - n_right) * np.roll(right_class, 1, axis=1)
    n_queried = np.array([n_queries for _, n_queries in stages])
    # Clones, because a mechanism may store these votes, and later depend on them
    clones = [(clone(mechanism), n_queries) for mechanism, n_queries in stages]
    outcomes = [_outcomes(mechanism, n_queries, votes) for mechanism, n_queries in clones]
    answered, right = n_queried / n_queried.sum() @ outcomes
    of_answers = float(right / answered) if answered > 0 else math.nan
    return AgreementShares(agreement, float(answered), of_answers)


def _outcomes(mechanism: Any, n_queries: int, votes: np.ndarray) -> tuple[float, float]:
    """Return the fraction of queries with an answer, and the fraction with the correct answer.

    Each row of `votes` has a different correct class.
    """
    bounds = bounds_of(mechanism)
    shares_cost = bounds.total is not None
    if not has_distribution(mechanism) or shares_cost:
        return _sampled(mechanism, n_queries if shares_cost else _N_SAMPLED, votes)
    n_classes = len(votes)
    n_right = 1 if bounds.label_symmetric else min(n_classes, _MOST_RIGHT)
    right = np.linspace(0, n_classes - 1, n_right, dtype=int)
    student = _no_student(mechanism, n_right, n_classes)
    proba = np.exp(mechanism.outcome_log_proba(votes[right], student))
    answered = proba[:, :n_classes].sum(axis=1).mean()
    return min(answered, 1.0), proba[np.arange(n_right), right].mean()


def _sampled(mechanism: Any, n_queried: int, votes: np.ndarray) -> tuple[float, float]:
    """Return the result of `_outcomes` from samples with a fixed seed, `n_queried` at a time."""
    n_rounds = math.ceil(_N_SAMPLED / n_queried)
    right = np.arange(n_queried) % len(votes)  # all classes in turn
    student = _no_student(mechanism, n_queried, len(votes))
    rng = np.random.default_rng(0)
    rounds = []
    for _ in range(n_rounds):
        labels = np.asarray(mechanism.release(votes[right], student, rng).labels)
        is_right = labels == right[: len(labels)]  # the mechanism may stop early
        rounds.append([(labels >= 0).sum(), is_right.sum()])
    answered, n_right = np.sum(rounds, axis=0) / (n_rounds * n_queried)
    return answered, n_right


def _no_student(mechanism: Any, n_queries: int, n_classes: int) -> np.ndarray | None:
    """Return uniform student probabilities if the mechanism uses a student, else None."""
    return np.full((n_queries, n_classes), 1 / n_classes) if mechanism.uses_student_proba else None
