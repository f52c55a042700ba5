"""Lower bounds on epsilon of one query."""

from dataclasses import dataclass, field
from numbers import Integral

import numpy as np

from ..rdp.checks import check_delta, check_votes
from .sampling import (
    TO_CHOOSE,
    check_confidence,
    check_neighbours,
    choose,
    independent,
    lower_bound,
    padded,
    sample,
)
from .search import best_of, check_size, exact_epsilon, pairs_of, search
from .statement import compare, p_value, plain_pairs, stated_proba, unstated

#: Pairs that are sampled again if samples contradict the statement.
_RANKED = 30


@dataclass(frozen=True, eq=False)
class AuditResult:
    """What an audit of one query found.

    Attributes
    ----------
    epsilon : float
        Lower bound on epsilon at `delta`, at least 0: true with probability `confidence`.
    delta, confidence : float
        As asked for.
    n_samples : int
        Outcomes drawn of each of the two histograms, on average.
    votes, neighbour_votes : ndarray of shape (n_classes,)
        The pair that was told apart best.
    event : tuple of int
        The outcomes that tell them apart: labels, -1 for no answer.
    contradicts : bool or None
        Whether samples contradict the distribution that the mechanism states, its
        `outcome_log_proba`, by which its privacy is accounted: then no claim about it counts,
        however small `epsilon` is. None if it states none.
    """

    epsilon: float
    delta: float
    confidence: float
    n_samples: int
    votes: np.ndarray = field(repr=False)  # they may be private
    neighbour_votes: np.ndarray = field(repr=False)
    event: tuple = field(repr=False)
    contradicts: bool | None = None


def audit_aggregator(
    aggregator,
    votes=None,
    neighbour_votes=None,
    *,
    n_teachers=None,
    n_classes=None,
    delta=1e-5,
    n_samples=200_000,
    confidence=1 - 1e-6,
    student_proba=None,
    random_state=None,
):
    """Lower bound on epsilon of one query from sampled outcomes.

    Parameters
    ----------
    aggregator : Aggregator or callable
        The mechanism, or a function of vote counts (n_queries, n_classes) and a numpy Generator
        that returns one integer per row, -1 for no answer. Rows must be drawn independently.
    votes : array-like of shape (n_classes,), default=None
        Vote counts. None: `worst_pair` searches all histograms of `n_teachers` and `n_classes`.
    neighbour_votes : array-like of shape (n_classes,), default=None
        The same with one vote moved. None: of all moves the one that is told apart best, by the
        mechanism's `outcome_log_proba` if it has one that samples do not contradict, else by a
        tenth of the samples for each.
    n_teachers, n_classes : int, default=None
        Size of the histograms, if `votes` is None.
    delta : float, default=1e-5
        Failure probability of the guarantee that is tested, in [0, 1).
    n_samples : int, default=200_000
        Outcomes drawn of each histogram, on average: a tenth to choose the event, the rest to
        bound it. They are drawn in parts, so memory does not grow. To choose the pair takes a
        tenth more where the mechanism states its distribution; a search by samples takes several
        times as many.
    confidence : float, default=1 - 1e-6
        Probability with which the bound holds. Of several audits one errs with at most the sum of
        ``1 - confidence``.
    student_proba : array-like of shape (n_classes,), default=None
        The student's probabilities, for aggregators that use them.
    random_state : int, Generator or None, default=None
        Source of the samples.

    Returns
    -------
    AuditResult
        Its epsilon exceeds a true guarantee with probability at most ``1 - confidence``, and it
        says that a true statement is contradicted with probability at most that.

    Raises
    ------
    ValueError
        If the histograms are no neighbours, an argument is out of range, or queries of the
        aggregator are not independent.

    Notes
    -----
    Each sample comes from either histogram with probability 1/2. Given that it is in the event
    `E`, it is from the first with probability ``t = p / (p + q)``, for `p` and `q` the event's
    probabilities, and independent of the others: Clopper and Pearson (1934) bound `t` from below,
    and the share ``(p + q) / 2`` of samples in `E` as well. A guarantee ``p <= exp(epsilon) q +
    delta`` means ``exp(epsilon) >= (t - d) / (1 - t)`` with ``d = delta / (p + q)``; that grows in
    `t` and in ``p + q``. The share has a tenth of ``1 - confidence``, `t` the rest; with
    ``delta=0``, `t` has all. This is sharper than bounding `p` and `q` apart, by a factor up to
    1.5 in the width. The pair and the event are chosen by other samples, or by the mechanism's
    `outcome_log_proba` as long as those do not contradict it.

    Is the statement true? Without `neighbour_votes`, samples are compared with it at histograms
    that do not follow from it: ties, margins of 1 to 4 on both sides of them, unanimity, leads of
    4, 8, 16, ..., for several classes; with `votes`, at these and their neighbours. Each count of
    an outcome has a two-sided binomial test, and all of them together half of ``1 - confidence``.
    The other half is for all samples of the pair. If they contradict the statement before the
    pair is chosen, it is no guide: the mechanism is audited as a function that states nothing,
    from the pairs that these samples tell apart best. If not, all is as if nobody had looked.
    A lie at other histograms than these, or smaller than these samples can show, is not seen.

    Examples
    --------
    >>> from sklearn_pate.aggregators import GNMax, PluralityVote
    >>> from sklearn_pate.audit import audit_aggregator
    >>> audit_aggregator(PluralityVote(), [126, 125], random_state=0).epsilon > 8
    True
    >>> audit_aggregator(GNMax(40.0), [126, 125], random_state=0).epsilon < 0.11
    True
    >>> found = audit_aggregator(PluralityVote(), n_teachers=10, n_classes=3, random_state=0)
    >>> found.epsilon > 8
    True
    >>> found.contradicts
    False
    """
    delta, rng = check_delta(delta, allow_zero=True), np.random.default_rng(random_state)
    if not isinstance(n_samples, Integral) or n_samples < 100:
        raise ValueError(f"n_samples must be a whole number, at least 100; got {n_samples!r}")
    check_confidence(confidence)
    if not independent(aggregator):
        raise ValueError(
            f"queries of {type(aggregator).__name__} share their noise, so rows that are drawn "
            "together are no independent samples; give a function that draws each row alone"
        )
    if votes is None and (n_teachers is None or n_classes is None or neighbour_votes is not None):
        raise ValueError(
            "without votes, give n_teachers and n_classes, and no neighbour_votes; got "
            f"n_teachers={n_teachers!r}, n_classes={n_classes!r}"
        )
    alarm = (1 - confidence) / 2  # half for the pair itself, half for other histograms
    contradicts = None
    if neighbour_votes is not None:
        votes = check_votes([votes])[0]
        other = check_votes([neighbour_votes])[0]
        check_neighbours(votes[None], other[None])
    else:
        # Draws of its own: if nothing is found, all else is as if nobody had looked
        apart = _apart(rng)
        if votes is None:
            check_size(n_teachers, n_classes)
            pairs = plain_pairs(int(n_teachers), int(n_classes), apart)
            telling = pairs
        else:
            pairs = pairs_of(check_votes([votes])[0])
            between = (np.abs(pairs[1] - pairs[0]) * pairs[0]).sum(axis=1)
            telling = pairs[:, np.argsort(-between, kind="stable")]  # large classes first
        given = {"n_samples": n_samples, "delta": delta, "student_proba": student_proba}
        contradicts, ranked = compare(aggregator, telling, alarm=alarm, rng=apart, **given)
        if contradicts:  # the statement is no guide
            aggregator = unstated(aggregator, student_proba)
            given["student_proba"] = None
            student_proba = None
            pairs = ranked[:, :_RANKED]
        given |= {"confidence": confidence, "rng": rng}
        if votes is None:
            votes, other = search(aggregator, int(n_teachers), int(n_classes), pairs, **given)
        else:
            votes, other = best_of(aggregator, pairs, **given)

    def counts(n):
        """Sampled outcomes of both histograms, `n` of each on average."""
        # How many are of which is random, so that each sample has a fair coin
        n_first = rng.binomial(2 * n, 0.5)
        drawn = (
            sample(aggregator, votes, n_first, student_proba, rng),
            sample(aggregator, other, 2 * n - n_first, student_proba, rng),
        )
        return padded(*drawn)

    to_choose = int(n_samples * TO_CHOOSE)
    n = int(n_samples) - to_choose
    first, second = counts(to_choose)
    event, swapped = choose(first, second, n / to_choose, n, delta, confidence)
    stated = stated_proba(aggregator, np.array([votes, other]), student_proba)
    if stated is not None:  # a better guide than samples, unless they contradict it
        seen = [part[event].sum() for part in (first, second)[:: -1 if swapped else 1]]
        exact = exact_epsilon(aggregator, votes, other, delta, student_proba=student_proba)
        if lower_bound(*seen, to_choose, delta, confidence) <= exact:
            event, swapped = choose(*(n * stated), 1, n, delta, confidence)
    *drawn, event = padded(*counts(n), event)
    hits, other_hits = (part[event].sum() for part in drawn[:: -1 if swapped else 1])
    if stated is not None:
        every = [sum(padded(*both)) for both in zip((first, second), drawn, strict=True)]
        contradicts = bool(contradicts or p_value(every, stated) <= alarm)
    return AuditResult(
        epsilon=max(float(lower_bound(hits, other_hits, n, delta, confidence)), 0.0),
        delta=delta,
        confidence=confidence,
        n_samples=int(n_samples),
        votes=votes,
        neighbour_votes=other,
        event=tuple((np.flatnonzero(event) - 1).tolist()),
        contradicts=contradicts,
    )


def _apart(rng):
    """A generator whose draws leave `rng` as it is, if it can have one."""
    try:
        return rng.spawn(1)[0]
    except TypeError:  # seeded in its own way
        return rng
