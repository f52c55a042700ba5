"""Lower bounds on epsilon of one query, from samples for a pair of histograms."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import binom

from ..rdp.bounds import has_distribution
from ..rdp.checks import check_count, check_delta, check_public, check_votes
from ..rdp.exact import move_one_vote, moves_of_one_vote
from . import bounds
from .bounds import (
    AuditedMechanism,
    added,
    epsilon_of_pairs,
    log_proba_of_events,
)

if TYPE_CHECKING:
    from .._typing import RandomGenerator
    from ..aggregators.base import Aggregator

#: Largest number of pairs to choose from if samples contradict the stated distribution.
_RANKED = 30

#: Number of samples of other histograms, as a fraction of the samples of the pair.
TO_COMPARE = 0.1

#: Smallest number of samples of another histogram, which limits the number of histograms.
_LEAST = 200


@dataclass(frozen=True, eq=False)
class AuditResult:
    """Result of an audit of one query.

    Attributes
    ----------
    epsilon : float
        Lower bound on epsilon at `delta`, at least 0. It holds with probability `confidence`.
    delta, confidence : float
        Parameters of the audit.
    n_samples : int
        Number of sampled outcomes of each of the two histograms, on average.
    votes, neighbour_votes : ndarray of shape (n_classes,)
        The audited pair of histograms.
    event : tuple of int
        The outcomes that distinguish the histograms best: labels, -1 for no answer.
    contradicts : bool or None
        Whether samples contradict the stated distribution, `outcome_log_proba`, from which costs
        are computed. If so, these costs are not valid, even if `epsilon` is small. None if the
        mechanism has no stated distribution.
    """

    epsilon: float
    delta: float
    confidence: float
    n_samples: int
    votes: np.ndarray = field(repr=False)  # they may be private
    neighbour_votes: np.ndarray = field(repr=False)
    event: tuple[int, ...] = field(repr=False)
    contradicts: bool | None = None


def audit_aggregator(
    aggregator: Aggregator | Callable[..., ArrayLike],
    votes: ArrayLike | None = None,
    neighbour_votes: ArrayLike | None = None,
    *,
    n_teachers: int | None = None,
    n_classes: int | None = None,
    delta: float = 1e-5,
    n_samples: int = 200_000,
    confidence: float = 1 - 1e-6,
    student_proba: ArrayLike | None = None,
    random_state: RandomGenerator | None = None,
) -> AuditResult:
    """Return a lower bound on epsilon of one query from sampled outcomes.

    Parameters
    ----------
    aggregator : Aggregator or callable
        The mechanism, or a function of vote counts (n_queries, n_classes) and a numpy Generator
        that returns one integer per row, -1 for no answer. Rows must be drawn independently.
    votes : array-like of shape (n_classes,), default=None
        Vote counts. None searches for a pair of histograms of `n_teachers` and `n_classes` with a
        large epsilon; the search covers only some of them.
    neighbour_votes : array-like of shape (n_classes,), default=None
        The same counts with one vote moved. None chooses the move that is easiest to detect from
        outcomes. The choice uses the mechanism's `outcome_log_proba`, unless samples contradict it.
        Otherwise, it uses samples, a tenth of `n_samples` for each move.
    n_teachers, n_classes : int, default=None
        Number of teachers and of classes of the histograms, if `votes` is None.
    delta : float, default=1e-5
        Delta of the tested guarantee, in [0, 1).
    n_samples : int, default=200_000
        Number of sampled outcomes of each histogram, on average. The event is chosen from a tenth
        of them, and the bound is computed from the rest. They are sampled in batches, so the memory
        does not grow with this number. The choice of the pair requires a tenth more samples if the
        mechanism has a stated distribution; a search by samples requires several times as many.
    confidence : float, default=1 - 1e-6
        Probability with which the bound holds. The probability of an error in any of several audits
        is at most the sum of ``1 - confidence`` over these audits.
    student_proba : array-like of shape (n_classes,), default=None
        The student's probabilities, for aggregators that use them.
    random_state : int, Generator or None, default=None
        Source of the samples.

    Returns
    -------
    AuditResult
        If a guarantee is true, `epsilon` of the result is above it with probability at most
        ``1 - confidence``. If the stated distribution is true, `contradicts` is True with
        probability at most ``1 - confidence``.

    Raises
    ------
    ValueError
        If the histograms are not neighbours, an argument is out of range or missing, the mechanism
        does not return valid outcomes, or queries of the aggregator are not independent.

    Notes
    -----
    Each sample comes from either histogram with probability 1/2. Let `p` and `q` be the
    probabilities of the event `E`. A sample in `E` is from the first histogram with probability
    ``t = p / (p + q)``, independently of the others. Clopper and Pearson (1934) bound `t` from
    below, and also the fraction ``(p + q) / 2`` of samples in `E`. A guarantee
    ``p <= exp(epsilon) q + delta`` means ``exp(epsilon) >= (t - d) / (1 - t)`` with
    ``d = delta / (p + q)``. The right-hand side grows in `t` and in ``p + q``. A tenth of
    ``1 - confidence`` is used for the fraction, and the rest for `t`; with ``delta=0``, all of it
    is used for `t`. The interval is up to 1.5 times narrower than an interval from separate bounds
    on `p` and `q`. The pair and the event are chosen from other samples, or from the mechanism's
    `outcome_log_proba` unless these samples contradict it.

    The audit also tests the stated distribution. Without `neighbour_votes`, this distribution is
    compared with samples at histograms that do not depend on it. With `votes`, these are `votes`
    and their neighbours. Otherwise, they are ties, margins of 1 to 4 on both sides of ties,
    unanimity, and margins of 4, 8, 16, ..., for several classes. Each count of an outcome has a
    two-sided binomial test; all these tests together use half of ``1 - confidence``. The other half
    is used for tests of the samples of the pair. If samples contradict the stated distribution
    before the pair is chosen, this distribution is not used: the mechanism is audited as a function
    without a stated distribution, with the pairs that these samples distinguish best. Otherwise,
    the audit continues as if these samples had not been drawn. The audit does not detect a wrong
    distribution at other histograms, or an error that is too small for the number of samples.

    Examples
    --------
    >>> from sklearn_pate.aggregators import GNMax, PluralityVote
    >>> from sklearn_pate.audit import audit_aggregator
    >>> audit_aggregator(PluralityVote(), [126, 125], random_state=0).epsilon > 8
    True
    >>> audit_aggregator(GNMax(40.0), [126, 125], random_state=0).epsilon < 0.11
    True
    >>> result = audit_aggregator(PluralityVote(), n_teachers=10, n_classes=3, random_state=0)
    >>> result.epsilon > 8
    True
    >>> result.contradicts
    False
    """
    delta = check_delta(delta, allow_zero=True)
    rng = np.random.default_rng(random_state)
    n_samples = check_count("n_samples", n_samples, least=100)
    confidence = bounds.check_confidence(confidence)
    _check_audited(aggregator)
    if votes is None and (neighbour_votes is not None or n_teachers is None or n_classes is None):
        raise ValueError("without votes, pass n_teachers and n_classes, and not neighbour_votes")
    mechanism = AuditedMechanism(aggregator, student_proba)
    alarm = (1 - confidence) / 2  # half for the pair itself, half for other histograms
    settings: dict[str, Any] = {"delta": delta, "n_samples": n_samples, "confidence": confidence}
    contradicts = None
    if neighbour_votes is None:
        size = {"n_teachers": n_teachers, "n_classes": n_classes}
        mechanism, pair, contradicts = _choose_pair(mechanism, votes, size, alarm, rng, **settings)
    else:
        first, second = check_votes([votes]), check_votes([neighbour_votes])  # type: ignore[arg-type]
        bounds.check_neighbours(first, second)
        pair = np.concatenate([first, second])
    stated = mechanism.stated_proba(pair)
    choose = partial(_choose_event, mechanism, pair, stated, delta=delta, confidence=confidence)
    sample = partial(mechanism.sample, rng=rng)
    game: dict[str, Any] = {"part": TO_CHOOSE, **settings}
    epsilon, event, samples = bounds.bound_by_samples(sample, pair, choose, rng, **game)
    if stated is not None:
        every = [added(first, second) for first, second in zip(*samples, strict=True)]
        contradicts = bool(contradicts or _p_value(every, stated) <= alarm)
    outcomes = tuple((np.flatnonzero(event.outcomes) - 1).tolist())
    return AuditResult(
        epsilon, delta, confidence, n_samples, pair[0], pair[1], outcomes, contradicts
    )


def _check_audited(aggregator: Aggregator | Callable[..., ArrayLike]) -> None:
    """Raise an error for a mechanism that cannot be sampled query by query."""
    if hasattr(aggregator, "noisy"):
        raise ValueError(f"{aggregator} releases a whole table: audit it with audit_table")
    # `steps` is None if queries share noise; the cost at a high order is fast to compute
    if hasattr(aggregator, "steps") and aggregator.steps([1e12]) is None:
        raise ValueError(
            f"queries of {aggregator} share noise; pass a function that samples one query"
        )


def _choose_event(
    mechanism: AuditedMechanism,
    pair: np.ndarray,
    stated: np.ndarray | None,
    pilot: tuple[np.ndarray, np.ndarray],
    n_to_choose: int,
    n_to_bound: int,
    *,
    delta: float,
    confidence: float,
) -> bounds.Event:
    """Choose the event from the pilot samples, or from the stated distribution, if there is one.

    The stated distribution chooses better than the pilot samples, unless they contradict it.
    """
    scale = n_to_bound / n_to_choose
    event = bounds.choose_event(*pilot, scale, n_to_bound, delta, confidence)
    if stated is None:
        return event
    exact = epsilon_of_pairs(mechanism, pair[:1], pair[1:], delta)[0]
    if bounds.lower_bound(*event.hits(*pilot), n_to_choose, delta, confidence) > exact:
        return event
    first, second = n_to_bound * stated
    return bounds.choose_event(first, second, 1, n_to_bound, delta, confidence)


def _choose_pair(
    mechanism: AuditedMechanism,
    votes: ArrayLike | None,
    size: dict[str, Any],
    alarm: float,
    rng: np.random.Generator,
    **settings: Any,
) -> tuple[AuditedMechanism, np.ndarray, bool | None]:
    """Choose the pair of histograms to audit.

    The stated distribution determines the choice if samples do not contradict it. Otherwise, or if
    there is no stated distribution, samples determine the choice.

    Returns
    -------
    mechanism : AuditedMechanism
        The mechanism to audit; if samples contradict its distribution, only its sampler.
    pair : ndarray of shape (2, n_classes)
        The histograms.
    contradicts : bool or None
        Whether samples contradict the stated distribution. None if there is none, or if
        `n_samples` is too small to test it.
    """
    # A separate generator, so that the test does not change the samples of the audit
    (other_rng,) = rng.spawn(1)
    if votes is None:
        public: dict[str, Any] = dict(zip(size, check_public(**size), strict=True))
        choose, pairs = search, plain_pairs(other_rng, **public)
    else:
        choose, pairs = best_of, pairs_with(check_votes([votes])[0])  # type: ignore[arg-type]
    # The number of samples limits the number of pairs
    n_outcomes = int(2 * TO_COMPARE * settings["n_samples"])
    compared = pairs[:, : n_outcomes // (2 * _LEAST)]
    histograms, rows = np.unique(np.concatenate(compared), axis=0, return_inverse=True)
    stated = mechanism.stated_proba(histograms) if len(histograms) else None
    contradicts = None
    if stated is not None:
        n_of_each = n_outcomes // len(histograms)
        counts = [mechanism.sample(histogram, n_of_each, other_rng) for histogram in histograms]
        contradicts = _p_value(counts, stated) <= alarm
    if contradicts:  # only the sampler is audited, with the pairs that it distinguishes best
        of_pairs = ((counts[k], counts[j]) for k, j in rows.reshape(2, -1).T)
        found = [bounds.pilot_bound(*both, n_of_each, settings["delta"]) for both in of_pairs]
        mechanism = AuditedMechanism(mechanism.draw)
        pairs = compared[:, np.argsort(-np.array(found), kind="stable")[:_RANKED]]
    return mechanism, choose(mechanism, pairs, rng, **settings), contradicts


# --- test of a stated distribution against samples ------------------------------------------------


def _p_value(counts: list[np.ndarray], proba: np.ndarray) -> float:
    """Return the p-value of sampled counts under their stated probabilities.

    Parameters
    ----------
    counts : list of ndarray
        Sampled outcomes of each histogram, as `AuditedMechanism.sample` counts them.
    proba : ndarray of shape (n_histograms, n_classes + 1)
        Stated probabilities of the outcomes of each histogram.

    Returns
    -------
    float
        The smallest two-sided binomial p-value times the number of tests, at most 1. If the stated
        probabilities are true, it is at most `alpha` with probability at most `alpha`, for any
        histograms.
    """
    n_outcomes = proba.shape[1]
    if any(seen[n_outcomes:].any() for seen in counts):  # outcomes without a stated probability
        return 0.0
    hits = np.array([seen[:n_outcomes] for seen in counts])
    n_samples = hits.sum(axis=1, keepdims=True)
    at_most = binom.cdf(hits, n_samples, proba)
    at_least = binom.sf(hits - 1, n_samples, proba)
    return min(1.0, float(2 * np.minimum(at_most, at_least).min() * proba.size))


# --- the search for neighbouring histograms -------------------------------------------------------


#: Fraction of the samples of an audit from which the event is chosen.
TO_CHOOSE = 0.1

#: Number of samples of each histogram in a search and in a choice among few pairs, divided by the
#: number of samples of an audit.
_TO_TRY = 0.01
_TO_TRY_OF_FEW = 0.1

#: Smallest number of samples of a histogram in a search.
_LEAST_TRIED = 50

#: Largest number of pairs in a step: by samples, and by the stated distribution.
_MOST_SAMPLED = 40
_MOST_STATED = 4000

#: Largest number of further classes for which ties and unanimity are tried.
_MOST_CLASSES = 64


def search(
    mechanism: AuditedMechanism, pairs: np.ndarray, rng: np.random.Generator, **settings: Any
) -> np.ndarray:
    """Search for the pair of histograms that is easiest to distinguish from outcomes.

    The search starts from the best pair among ties of the top classes and margins of many sizes. If
    pairs must be sampled, it also tries `pairs`. It moves votes while the score increases, so it
    covers only some histograms.
    """
    scores = partial(_scores, mechanism, rng=rng, to_try=_TO_TRY, **settings)
    most, n_first = _MOST_STATED, 0
    if not has_distribution(mechanism.aggregator):
        most, n_first = _MOST_SAMPLED, min(pairs.shape[1], _MOST_SAMPLED)
    sizes = {"n_teachers": int(pairs[0, 0].sum()), "n_classes": pairs.shape[2]}
    moves = single_moves(sizes["n_classes"])
    tried = [pairs[:, :n_first], pairs_around(starting_histograms(**sizes))]
    score, pair = _best_of(scores, tried, rng, most, n_first)
    step = max(1, sizes["n_teachers"] // 8)
    for _ in range(100):
        # Either `step` votes of both histograms move, or another single vote makes the neighbour
        tried = [pair[:, None] + step * moves, pairs_around(pair[:1])]
        found, better = _best_of(scores, tried, rng, most)
        if found > score + 1e-9:
            score, pair = found, better
        elif step == 1:
            break
        else:
            step = max(1, step // 2)
    return pair


def best_of(
    mechanism: AuditedMechanism, pairs: np.ndarray, rng: np.random.Generator, **settings: Any
) -> np.ndarray:
    """Return the one of several pairs that is easiest to distinguish from outcomes."""
    scores = _scores(mechanism, pairs, rng=rng, to_try=_TO_TRY_OF_FEW, **settings)
    return pairs[:, np.argmax(scores)]


def _scores(
    mechanism: AuditedMechanism,
    pairs: np.ndarray,
    *,
    rng: np.random.Generator,
    to_try: float,
    delta: float,
    n_samples: int,
    confidence: float,
) -> np.ndarray:
    """Return a score of each pair, which is higher for pairs that are easier to distinguish.

    The score is the expected lower bound from `n_samples` samples or, without a stated
    distribution, a rough bound from a few samples.
    """
    if has_distribution(mechanism.aggregator):
        n_to_bound = int(n_samples * (1 - TO_CHOOSE))
        log_p, log_q = map(mechanism.stated_log_proba, pairs)
        both = []
        for way in ((log_p, log_q), (log_q, log_p)):
            hits, other_hits = n_to_bound * np.exp(log_proba_of_events(*way))
            of_events = bounds.lower_bound(hits, other_hits, n_to_bound, delta, confidence)
            both.append(of_events.max(axis=1))
        return np.maximum(*both)
    n_to_try = max(int(n_samples * to_try), _LEAST_TRIED)
    scores = []
    for pair in pairs.transpose(1, 0, 2):
        first, second = (mechanism.sample(votes, n_to_try, rng) for votes in pair)
        scores.append(bounds.pilot_bound(first, second, n_to_try, delta))
    return np.array(scores)


def _best_of(
    scores: Callable[..., Any],
    pairs: Any,
    rng: np.random.Generator,
    most: int,
    n_first: int = 0,
) -> tuple[float, np.ndarray]:
    """Return the score and the histograms of the best pair.

    If there are more than `most` pairs, the first `n_first` and a random sample of the others are
    tried.
    """
    pairs = np.concatenate(pairs, axis=1)
    pairs = pairs[:, (pairs >= 0).all(axis=(0, 2))]
    n_others = pairs.shape[1] - n_first
    if n_first + n_others > most:
        others = rng.choice(n_others, most - n_first, replace=False)
        pairs = pairs[:, np.append(np.arange(n_first), n_first + others)]
    found = scores(pairs)
    best = int(np.argmax(found))
    return found[best], pairs[:, best]


# --- pairs to try, and starting points of a search ------------------------------------------------


def single_moves(n_classes: int) -> np.ndarray:
    """Return all moves of one vote, as changes of a histogram by -1 and 1."""
    giver, taker = moves_of_one_vote(n_classes=n_classes)
    unchanged = np.zeros((len(giver), n_classes), dtype=int)
    return move_one_vote(unchanged, giver, taker)


def pairs_around(histograms: np.ndarray) -> np.ndarray:
    """Return all pairs of a histogram and the same histogram with one vote moved.

    The shape of the result is (2, n_pairs, n_classes). Some pairs may have negative counts.
    """
    moves = single_moves(histograms.shape[1])
    votes = np.repeat(histograms, len(moves), axis=0)
    return np.stack([votes, votes + np.tile(moves, (len(histograms), 1))])


def pairs_with(votes: np.ndarray) -> np.ndarray:
    """Return all pairs of a histogram with a neighbour, the most informative first.

    Pairs are in decreasing order of the number of votes for the two classes of the moved vote.
    """
    pairs = pairs_around(votes[None])
    pairs = pairs[:, (pairs >= 0).all(axis=(0, 2))]
    votes_between = (pairs[0] != pairs[1]) @ votes
    return pairs[:, np.argsort(-votes_between, kind="stable")]


def plain_pairs(rng: np.random.Generator, *, n_teachers: int, n_classes: int) -> np.ndarray:
    """Return pairs that do not depend on a stated distribution, the most informative first.

    In this order, they are:

    - ties of two classes, margins of 1 to 4 on both sides of a tie, and unanimity;
    - ties that are broken by a vote for a third class, and ties of all classes;
    - margins of 4, 8, 16, ... over one class or over all others, each for another class;
    - ties and unanimity of other classes, in random order.
    """
    sizes = n_teachers, n_classes
    classes = np.arange(n_classes)

    def leading(among: Any, margin: Any) -> tuple[Any, ...]:
        return _leading(sizes, among, margin), among[0], among[-1]

    requested = [leading(classes[:2], margin) for margin in (0, 2, -2, n_teachers)]
    if n_classes > 2:
        broken = np.zeros(n_classes, dtype=int)
        broken[:3] = n_teachers // 2, (n_teachers - 1) // 2, 1
        requested += [(broken, 2, 1), leading(classes, 0)]
    for k, margin in enumerate(2 ** np.arange(2, max(int(n_teachers).bit_length(), 2))):
        requested.append(leading(np.roll(classes, -k - 1)[[0, -1]], margin))
        if n_classes > 2:
            requested.append(leading(np.roll(classes, -k), margin))
    for top in 1 + rng.permutation(n_classes - 1)[:_MOST_CLASSES]:
        requested += [leading(np.roll(classes, -top)[:2], margin) for margin in (0, 2, n_teachers)]
    pairs: dict[frozenset[Any], Any] = {}
    for votes, giver, taker in requested:
        if votes.min() >= 0 and votes[giver] > 0:
            neighbour = votes.copy()
            neighbour[[giver, taker]] += -1, 1
            pairs.setdefault(frozenset([tuple(votes), tuple(neighbour)]), (votes, neighbour))
    return np.array(list(pairs.values())).transpose(1, 0, 2)


def _leading(sizes: Any, classes: Any, margin: Any) -> Any:
    """Return nearly equal votes for some classes, with `margin` more for the first of them."""
    n_teachers, n_classes = sizes
    votes = np.zeros(n_classes, dtype=int)
    votes[classes], n_left = divmod(n_teachers - margin, len(classes))
    votes[classes[:n_left]] += 1
    votes[classes[0]] += margin
    return votes


def starting_histograms(*, n_teachers: int, n_classes: int) -> np.ndarray:
    """Return vote counts from which a search starts, of shape (n_histograms, n_classes).

    They are ties of the first classes, for each number of classes, and votes in which the first
    class leads by one of several margins over a single class or over all others.
    """
    sizes = n_teachers, n_classes
    classes = np.arange(n_classes)
    starts = [_leading(sizes, classes[:n_tied], 0) for n_tied in range(1, n_classes + 1)]
    for margin in np.linspace(0, n_teachers, 9).astype(int):
        starts += [_leading(sizes, classes[:2], margin), _leading(sizes, classes, margin)]
    return np.unique(starts, axis=0)
