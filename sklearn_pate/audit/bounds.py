"""Lower bounds on epsilon from samples, and exact epsilon from `outcome_log_proba`."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import betaincinv
from scipy.stats import binom

from .._numbers import as_float, shown
from ..rdp.bounds import has_distribution
from ..rdp.checks import check_delta, check_log_proba, check_votes
from ..rdp.cost import bisect

if TYPE_CHECKING:
    from ..aggregators.base import Aggregator

#: Fraction of the error probability that is used for the correction for delta.
_FOR_DELTA = 0.1

#: Confidence of the rough bounds that compare pairs.
_PILOT_CONFIDENCE = 0.9

#: Largest bound in the search.
_MOST_EPSILON = 50.0


@dataclass(frozen=True)
class Audit:
    """Base class of audit results that are compared with a claimed epsilon."""

    epsilon: float
    claimed: float | None
    delta: float
    confidence: float

    @property
    def refuted(self) -> bool:
        """Whether the lower bound is above the claimed epsilon; False without a claim."""
        return self.claimed is not None and self.epsilon > self.claimed


class Event(NamedTuple):
    """Set of outcomes that distinguishes two histograms."""

    outcomes: np.ndarray  # a mask
    swapped: bool  # whether the event is more frequent for the second histogram

    def hits(self, first: np.ndarray, second: np.ndarray) -> tuple[Any, Any]:
        """Count samples of each side in the event; the side with more frequent events is first."""
        first, second, outcomes = padded(first, second, self.outcomes)
        hits = (first[outcomes].sum(), second[outcomes].sum())
        return hits[::-1] if self.swapped else hits


def padded(*counts: np.ndarray) -> list[np.ndarray]:
    """Pad counts of outcomes with zeros to equal length."""
    size = max(map(len, counts))
    return [np.pad(part, (0, size - len(part))) for part in counts]


def _sampled_pair(
    sample: Callable[[Any, int], np.ndarray],
    pair: Any,
    n_samples: int,
    rng: np.random.Generator,
) -> tuple[np.ndarray, np.ndarray]:
    """Return ``sample(side, number)`` for both sides, with `n_samples` of each on average."""
    # The numbers are random, so that each sample is from the first side with probability 1/2
    n_first = int(rng.binomial(2 * n_samples, 0.5))
    first, second = pair
    return sample(first, n_first), sample(second, 2 * n_samples - n_first)


def bound_by_samples(
    sample: Callable[[Any, int], np.ndarray],
    pair: Any,
    choose: Callable[..., Any],
    rng: np.random.Generator,
    *,
    n_samples: int,
    part: float,
    delta: float,
    confidence: float,
) -> tuple[float, Any, list[Any]]:
    """Return a lower bound on epsilon from samples, for an event chosen from other samples.

    Parameters
    ----------
    sample : callable
        ``sample(side, n)`` returns `n` samples of a side.
    pair : tuple
        The two sides.
    choose : callable
        ``choose(pilot, n_to_choose, n_to_bound)`` returns an event. Its method `hits` counts the
        samples of each side that are in the event.
    rng : numpy.random.Generator
        Source of the number of samples of each side.
    n_samples : int
        Number of samples of each side, on average.
    part : float
        Fraction of the samples from which the event is chosen.
    delta, confidence : float
        As in `audit_aggregator`.

    Returns
    -------
    epsilon : float
        Lower bound, at least 0.
    event : object
        The chosen event.
    samples : list
        The samples from which the event was chosen, and the samples for the bound.
    """
    n_to_choose = int(n_samples * part)
    n_to_bound = n_samples - n_to_choose
    pilot = _sampled_pair(sample, pair, n_to_choose, rng)
    event = choose(pilot, n_to_choose, n_to_bound)
    samples = _sampled_pair(sample, pair, n_to_bound, rng)
    hits, other_hits = event.hits(*samples)
    epsilon = float(lower_bound(hits, other_hits, n_to_bound, delta, confidence))
    return max(epsilon, 0.0), event, [pilot, samples]


def lower_bound(hits: Any, other_hits: Any, n_samples: Any, delta: float, confidence: float) -> Any:
    """Return a lower bound on epsilon from the number of samples of each side in an event.

    `n_samples` is the number of samples of each side, on average. The function is vectorised, and
    `hits` and `other_hits` may be expected numbers. The notes of `audit_aggregator` explain the
    variables t and d.
    """
    hits = np.asarray(hits, dtype=float)
    alpha = 1 - confidence
    alpha_for_delta = _FOR_DELTA * alpha if delta else 0.0
    some = hits > 1e-9  # expectations far below one give no bound, and overflow
    hits = np.where(some, hits, 1.0)
    t = np.where(some, betaincinv(hits, other_hits + 1, alpha - alpha_for_delta), 0.0)
    d = 0.0
    if delta:
        in_event = np.minimum(hits + other_hits, 2 * n_samples)
        d = delta / (2 * betaincinv(in_event, 2 * n_samples - in_event + 1, alpha_for_delta))
    with np.errstate(divide="ignore"):
        return np.where(t > d, np.log(np.maximum(t - d, 0) / (1 - t)), -np.inf)


def choose_event(
    first: np.ndarray,
    second: np.ndarray,
    scale: float,
    n_samples: int,
    delta: float,
    confidence: float,
) -> Event:
    """Choose the event with the largest expected bound from `n_samples` samples.

    `first` and `second` are counts of the outcomes of each side. Multiplied by `scale`, they are
    the expected counts of `n_samples` samples.
    """
    first, second = padded(first, second)
    largest = -math.inf
    event = Event(np.ones(len(first), dtype=bool), swapped=False)
    for swapped in (False, True):
        more, less = (second, first) if swapped else (first, second)
        order = np.argsort(-(more + 1) / (less + 1), kind="stable")
        hits = np.cumsum(more[order])[:-1] * scale
        other_hits = np.cumsum(less[order])[:-1] * scale
        bounds = lower_bound(hits, other_hits, n_samples, delta, confidence)
        k = int(np.argmax(bounds))
        if bounds[k] > largest:
            largest = bounds[k]
            event = Event(np.isin(np.arange(len(order)), order[: k + 1]), swapped)
    return event


def pilot_bound(first: np.ndarray, second: np.ndarray, n_samples: int, delta: float) -> float:
    """Return a rough bound for comparing pairs.

    It is not a valid bound, because the event is chosen from the same samples.
    """
    event = choose_event(first, second, 1, n_samples, delta, _PILOT_CONFIDENCE)
    hits, other_hits = event.hits(first, second)
    return float(lower_bound(hits, other_hits, n_samples, delta, _PILOT_CONFIDENCE))


def one_run_epsilon(
    n_right: int, n_guesses: int, n_canaries: int, delta: float, confidence: float = 0.999
) -> float:
    """Return a lower bound on epsilon from correct guesses of independent fair bits.

    Parameters
    ----------
    n_right : int
        Number of correctly guessed bits.
    n_guesses : int
        Number of guessed bits, which must be fixed before the outcome is known. The selection of
        the guessed bits may depend on the outcome.
    n_canaries : int
        Number of hidden bits.
    delta : float
        Delta of the tested guarantee, in [0, 1).
    confidence : float, default=0.999
        Probability with which the bound holds.

    Returns
    -------
    float
        Lower bound, from 0 to 50. If a mechanism is (epsilon, delta)-differentially private in its
        bits, the bound is above this epsilon with probability at most ``1 - confidence``.

    Raises
    ------
    ValueError
        If the numbers are not integers with ``0 <= n_right <= n_guesses <= n_canaries``, or if
        `delta` or `confidence` is out of range.

    Notes
    -----
    Steinke, Nasr, Jagielski (2023), Privacy auditing with one (1) training run, NeurIPS, Theorem
    5.2. With pure privacy, given the outcome and all earlier bits, each guess is correct with
    probability at most ``q = 1 / (1 + exp(-epsilon))``. So the number of correct guesses is
    stochastically dominated by ``W ~ Bin(n_guesses, q)``. With delta, it is dominated by `W` plus a
    number of failures with a mean of at most ``2 delta n_canaries``:
    ``Pr[n_right >= v] <= Pr[W >= v] + 2 delta n_canaries max_i Pr[v > W >= v - i] / i``.
    Any epsilon at which this probability is at most ``1 - confidence`` is a valid bound, because
    the probability decreases with `v`, and a mechanism that is private at some epsilon is private
    at any larger epsilon. The probability need not be monotone in epsilon.

    Examples
    --------
    >>> from sklearn_pate.audit import one_run_epsilon
    >>> round(one_run_epsilon(30, 30, 30, delta=1e-5), 2)
    1.34
    >>> one_run_epsilon(16, 30, 30, delta=1e-5)
    0.0
    """
    delta = check_delta(delta, allow_zero=True)
    confidence = check_confidence(confidence)
    numbers = n_right, n_guesses, n_canaries
    are_whole = all(isinstance(number, Integral) for number in numbers)
    if not are_whole or not 0 <= n_right <= n_guesses <= n_canaries:
        raise ValueError(
            "n_right, n_guesses and n_canaries must be whole numbers with 0 <= n_right <= "
            f"n_guesses <= n_canaries; got {numbers}"
        )

    def is_refuted(epsilon: float) -> bool:
        q = 1 / (1 + math.exp(-epsilon))
        below = np.cumsum(binom.pmf(np.arange(n_right - 1, -1, -1), n_guesses, q))
        largest = (below / np.arange(1, n_right + 1)).max(initial=0.0)
        p_value = binom.sf(n_right - 1, n_guesses, q) + 2 * delta * n_canaries * largest
        return p_value <= 1 - confidence

    low, _ = bisect(is_refuted, 0.0, _MOST_EPSILON)
    return float(low)


# --- checks of arguments -------------------------------------------------------------------------


def check_confidence(confidence: Any) -> float:
    """Return `confidence` as a float in (0, 1)."""
    number = as_float(confidence) if isinstance(confidence, Real) else math.nan
    if not 0 < number < 1:
        raise ValueError(f"confidence must be strictly between 0 and 1; got {shown(confidence)}")
    return number


def check_neighbours(votes: np.ndarray, neighbours: np.ndarray) -> None:
    """Raise an error unless each histogram differs from its neighbour by one moved vote."""
    if votes.shape != neighbours.shape or (np.abs(votes - neighbours).sum(axis=1) != 2).any():
        raise ValueError("neighbour_votes must equal votes, with one vote moved to another class")


# --- a mechanism under audit ----------------------------------------------------------------------


#: Largest number of vote counts in one call of the mechanism (8 MB).
_COUNTS_AT_A_TIME = 2**20


@dataclass(frozen=True)
class AuditedMechanism:
    """Aggregator or sampling function under audit, with the student's probabilities or None."""

    aggregator: Any
    student_proba: Any = None

    def draw(self, rows: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Draw one outcome for each row of votes."""
        if not hasattr(self.aggregator, "aggregate"):
            return self.aggregator(rows, rng)
        return self.aggregator.aggregate(rows, *self._student_of(rows), random_state=rng)

    def sample(self, histogram: np.ndarray, n_samples: int, rng: np.random.Generator) -> np.ndarray:
        """Sample outcomes for one histogram, and return counts; the first is of "no answer"."""
        counts = np.zeros(len(histogram) + 1, dtype=np.int64)
        size = max(1, _COUNTS_AT_A_TIME // len(histogram))
        for start in range(0, n_samples, size):
            rows = np.tile(histogram, (min(size, n_samples - start), 1))
            labels = np.asarray(self.draw(rows, rng))
            if labels.shape != (len(rows),) or labels.dtype.kind not in "iu" or labels.min() < -1:
                raise ValueError(
                    f"the mechanism must return {len(rows)} whole numbers of at least -1; got "
                    f"an array of shape {labels.shape} and dtype {labels.dtype}"
                )
            counts = added(counts, np.bincount(labels + 1))
        return counts

    def stated_log_proba(self, votes: np.ndarray) -> np.ndarray:
        """Return `outcome_log_proba` of the mechanism for each row of votes."""
        log_proba = self.aggregator.outcome_log_proba(votes, *self._student_of(votes))
        return check_log_proba(log_proba, n_classes=votes.shape[1])

    def stated_proba(self, votes: np.ndarray) -> np.ndarray | None:
        """Return outcome probabilities in the order of `sample`, or None if they are unknown."""
        if not has_distribution(self.aggregator):
            return None
        proba = np.exp(self.stated_log_proba(votes))
        n_classes = votes.shape[1]
        refused = proba[:, n_classes:].sum(axis=1, keepdims=True)  # 0 without such a column
        return np.clip(np.hstack([refused, proba[:, :n_classes]]), 0, 1)

    def _student_of(self, rows: np.ndarray) -> tuple[np.ndarray, ...]:
        """Return a tuple with the student's probabilities for each row; empty without a student."""
        return () if self.student_proba is None else (np.tile(self.student_proba, (len(rows), 1)),)


def added(counts: np.ndarray, more: np.ndarray) -> np.ndarray:
    """Add two arrays of counts, which may have different lengths."""
    first, second = padded(counts, more)
    return first + second


# --- the epsilon of a stated distribution ---------------------------------------------------------


def exact_epsilon(
    aggregator: Aggregator,
    votes: ArrayLike,
    neighbour_votes: ArrayLike,
    delta: float = 1e-5,
    *,
    student_proba: ArrayLike | None = None,
) -> float | NDArray[np.float64]:
    """Return the exact epsilon of one query on a pair of histograms.

    It is computed from the hockey-stick divergence of the distributions in `outcome_log_proba`.

    Parameters
    ----------
    aggregator : Aggregator
        The mechanism; only its `outcome_log_proba` is used.
    votes, neighbour_votes : array-like of shape (n_classes,) or (n_pairs, n_classes)
        Vote counts, and the same counts with one vote moved.
    delta : float, default=1e-5
        Delta of the guarantee, in [0, 1).
    student_proba : array-like of shape (n_classes,), default=None
        The student's probabilities, for mechanisms that use them.

    Returns
    -------
    float or ndarray of shape (n_pairs,)
        The smallest epsilon that holds at `delta` in both directions, at least 0. It depends on the
        votes, so it is private.

    Raises
    ------
    ValueError
        If the histograms are not neighbours, or an argument is out of range.

    Notes
    -----
    A pair is (epsilon, delta)-indistinguishable if ``P(E) - exp(epsilon) Q(E) <= delta`` for all
    events `E` (Dwork and Roth (2014), Definition 2.4). For each epsilon, the worst event consists
    of the outcomes with a likelihood ratio above exp(epsilon). So epsilon is the largest
    ``log((P(E) - delta) / Q(E))`` over events of the outcomes with the largest ratios.

    Examples
    --------
    >>> from sklearn_pate.aggregators import GNMax, LNMax
    >>> from sklearn_pate.audit import exact_epsilon
    >>> round(exact_epsilon(LNMax(0.05), [249, 1], [250, 0], delta=0), 3)
    0.093
    >>> exact_epsilon(GNMax(40.0), [[126, 124], [213, 37]], [[125, 125], [212, 38]]).round(3)
    array([0.029, 0.11 ])
    """
    first = check_votes(np.atleast_2d(np.asarray(votes)))
    second = check_votes(np.atleast_2d(np.asarray(neighbour_votes)))
    check_neighbours(first, second)
    delta = check_delta(delta, allow_zero=True)
    epsilon = epsilon_of_pairs(AuditedMechanism(aggregator, student_proba), first, second, delta)
    return epsilon if np.ndim(votes) > 1 else float(epsilon[0])


def epsilon_of_pairs(
    mechanism: AuditedMechanism, votes: np.ndarray, neighbours: np.ndarray, delta: float
) -> np.ndarray:
    """Return the exact epsilon of each pair, the larger of the two directions."""
    log_p = mechanism.stated_log_proba(votes)
    log_q = mechanism.stated_log_proba(neighbours)
    both = [_epsilon_one_way(*way, delta) for way in ((log_p, log_q), (log_q, log_p))]
    return np.max(both, axis=0, initial=0.0)


def _epsilon_one_way(log_p: np.ndarray, log_q: np.ndarray, delta: float) -> np.ndarray:
    """Return the largest ``log((P(E) - delta) / Q(E))`` over events E, row by row."""
    log_delta = math.log(delta) if delta else -math.inf
    log_p_event, log_q_event = log_proba_of_events(log_p, log_q)
    with np.errstate(all="ignore"):  # events with probability at most delta are ignored
        # log(P - delta) = log P + log(1 - delta / P)
        log_excess = log_p_event + np.log1p(-np.exp(log_delta - log_p_event))
        loss = np.where(log_p_event > log_delta, log_excess - log_q_event, -np.inf)
    return loss.max(axis=1)


def log_proba_of_events(log_p: np.ndarray, log_q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return log P and log Q of events that consist of the outcomes with the largest P / Q.

    Each row is a pair of distributions. Column k is the event of the k + 1 outcomes with the
    largest ratios. The certain event is omitted.
    """
    with np.errstate(invalid="ignore"):
        log_ratio = log_p - log_q
    log_ratio = np.where(np.isnan(log_ratio), -np.inf, log_ratio)  # impossible on both sides
    order = np.argsort(-log_ratio, axis=1, kind="stable")[:, :-1]
    log_p_event = np.logaddexp.accumulate(np.take_along_axis(log_p, order, axis=1), axis=1)
    log_q_event = np.logaddexp.accumulate(np.take_along_axis(log_q, order, axis=1), axis=1)
    return log_p_event, log_q_event
