"""The exact argmax of stable queries, by the sparse vector technique."""

import functools
import math
import operator
from numbers import Integral, Real

import numpy as np
from sklearn.base import clone

from .._sklearn import Interval
from ..rdp import Cost, Facts, pure_rdp, pure_to_gdp
from ..rdp.calibration import bisect
from ..rdp.checks import check_votes, margins
from ..secure import noise_generator
from .base import POSITIVE, Aggregator, checked_scale


class StableArgmax(Aggregator):
    """The exact argmax for stable queries, at no cost; payment only for unstable ones.

    The sparse vector technique on the number of teachers who could change without changing the
    argmax, ``d = max(ceil(margin / 2) - 1, 0)``. A run answers queries with their exact argmax as
    long as ``d`` plus noise stays above a noisy threshold; the first query below it gets no
    answer, ends the run and is paid for. After `max_unstable` runs no more queries are asked. Any
    number of stable queries costs the same.

    Parameters
    ----------
    run_epsilon : float or None, default=0.1
        Pure epsilon of one run. None: calibrated by `PATEClassifier` so that all runs cost exactly
        its `epsilon`.
    max_unstable : int, default=20
        Number of runs.
    failure_probability : float, default=1e-6
        Part of delta: probability that an answer depends on more than the noisy comparisons.

    Notes
    -----
    Bassily, Thakkar, Thakurta (2018), Algorithm 3, with fresh threshold noise per run. On
    neighbouring data sets `d` differs by at most 1, and where the argmax differs, `d` is 0 on both.
    Unless a query with ``d = 0`` is answered, the answers are a function of the comparisons, and
    one run of those is ``run_epsilon``-DP (Dwork and Roth (2014), Theorem 3.23). The noise
    on the threshold and on `d` shares `run_epsilon` as 1 to 2**(2/3) (Lyu, Su, Li (2017)). With `k`
    queries, some query with ``d = 0`` is answered only if the largest of `k` noises on `d` minus
    the smallest of `max_unstable` noises on thresholds exceeds the threshold, which is set so
    that this has probability `failure_probability`. It is lower than the sum of two bounds that
    the paper adds.

    The answers have no finite Renyi divergence, as neighbours may answer differently with tiny
    probability, so `rdp.exact_rdp` is infinite near ties: `costs` has the guarantee.

    Examples
    --------
    >>> from sklearn_pate.aggregators import StableArgmax
    >>> stable = StableArgmax(run_epsilon=1.0, max_unstable=2)
    >>> stable.aggregate([[990, 10], [505, 495], [20, 980]], random_state=0)
    array([ 0, -1,  1])
    >>> epsilon, _ = stable.costs()(1000).epsilon(1e-5)
    >>> epsilon
    2.0
    """

    _parameter_constraints = {
        "run_epsilon": [POSITIVE, None],
        "max_unstable": [Interval(Integral, 1, None, closed="left")],
        "failure_probability": [Interval(Real, 0, 1, closed="neither")],
    }

    def __init__(self, run_epsilon=0.1, max_unstable=20, failure_probability=1e-6):
        self.run_epsilon = run_epsilon
        self.max_unstable = max_unstable
        self.failure_probability = failure_probability

    def facts(self):
        """Return the cost of all runs, the same for any number of queries."""
        run_epsilon = checked_scale(self, "run_epsilon")
        n_runs = int(self.max_unstable)  # numpy's short numbers overflow, and round
        failure_probability = float(self.failure_probability)

        def total(orders):
            of_a_run = pure_rdp(run_epsilon, orders), pure_to_gdp(run_epsilon) ** 2, run_epsilon
            return Cost(*(n_runs * cost for cost in of_a_run), delta=failure_probability)

        return Facts(total=total)

    def with_scale(self, scale):
        """Return a copy whose runs cost the inverse of the scale; see `Aggregator.with_scale`."""
        return clone(self).set_params(run_epsilon=1 / scale) if self.run_epsilon is None else None

    def outcome_log_proba(self, votes, student_proba=None):
        """Log probability of each class and of no answer, for a query asked alone."""
        votes = check_votes(votes)
        on_threshold, on_distance = self._scales()
        excess = distance_to_instability(votes) - self.stability_needed(1)
        log_pass, log_fail = _log_laplace_difference(excess, on_distance, on_threshold)
        log_proba = np.full((len(votes), votes.shape[1] + 1), -np.inf)
        log_proba[np.arange(len(votes)), votes.argmax(axis=1)] = log_pass
        log_proba[:, -1] = log_fail
        return log_proba

    def aggregate(self, votes, student_proba=None, random_state=None):
        """Draw the released label of each query in order, -1 once all runs are used up."""
        votes = check_votes(votes)
        labels = np.full(len(votes), -1)
        drawn, _ = self.draw(votes, student_proba, random_state)
        labels[: len(drawn)] = drawn
        return labels

    def draw(self, votes, student_proba=None, random_state=None):
        """Draw labels until all runs are used up; see `Aggregator.draw`."""
        votes = check_votes(votes)
        rng = noise_generator(random_state)
        on_threshold, on_distance = self._scales()
        distance = distance_to_instability(votes) + rng.laplace(scale=on_distance, size=len(votes))
        stable = np.zeros(len(votes), dtype=bool)
        n_asked = 0
        for _ in range(self.max_unstable):
            threshold = self.stability_needed(max(1, len(votes))) + rng.laplace(scale=on_threshold)
            unstable = n_asked + np.flatnonzero(distance[n_asked:] <= threshold)
            if unstable.size == 0:
                stable[n_asked:] = True
                n_asked = len(votes)
                break
            stable[n_asked : unstable[0]] = True
            n_asked = unstable[0] + 1
        labels = np.where(stable, votes.argmax(axis=1), -1)[:n_asked]
        return labels, np.ones(n_asked, dtype=bool)

    def stability_needed(self, n_queries):
        """Return how many teachers must be able to change before a query counts as stable.

        Parameters
        ----------
        n_queries : int
            Number of queries that may be asked.

        Returns
        -------
        float
            Above half the number of teachers, no query is answered.
        """
        # numpy's short numbers overflow, and round
        numbers = int(self.max_unstable), float(self.failure_probability), operator.index(n_queries)
        return _stability_needed(*self._scales(), *numbers)

    def _scales(self):
        """Scales of the noise on the threshold and on the distance."""
        run_epsilon = checked_scale(self, "run_epsilon")
        for_threshold = run_epsilon / (1 + 2 ** (2 / 3))
        return 1 / for_threshold, 2 / (run_epsilon - for_threshold)


@functools.lru_cache(maxsize=64)
def _stability_needed(on_threshold, on_distance, max_unstable, failure_probability, n_queries):
    """Return the threshold above which the largest of all noises is as seldom as it may be."""
    # Upper bounds on the chance that the largest of the noises is above a value: on a grid for the
    # thresholds' noise, and what it leaves of the threshold for the distances' noise
    n_scales = max(60, 2 * math.log(max_unstable / failure_probability))
    drop = np.linspace(0, n_scales * on_threshold, 4001)
    beyond = np.minimum(1, max_unstable * np.exp(-drop / on_threshold) / 2)
    mass = np.concatenate([[1 - beyond[0]], -np.diff(beyond), beyond[-1:]])

    def fails_often(threshold):
        left = threshold - np.append(drop, math.inf)  # each part of the mass at its upper end
        above = np.exp(-np.maximum(left, 0) / on_distance) * n_queries / 2
        failure = mass @ np.where(left > 0, np.minimum(1, above), 1)
        return failure > failure_probability

    high = 100 * (on_threshold + on_distance)
    while fails_often(high):
        high *= 2
    _, enough = bisect(fails_often, 0.0, high)
    return float(enough)


def distance_to_instability(votes):
    """Return how many teachers can change without changing the argmax.

    Parameters
    ----------
    votes : array-like of shape (n_queries, n_classes)
        Vote counts.

    Returns
    -------
    ndarray of shape (n_queries,), int
        Private; one teacher changes each by at most 1.

    Examples
    --------
    >>> from sklearn_pate.aggregators import distance_to_instability
    >>> distance_to_instability([[7, 3, 0], [5, 5, 0]])
    array([1, 0])
    """
    return np.maximum((margins(check_votes(votes)) + 1) // 2 - 1, 0)


def _log_laplace_difference(x, b, c):
    """Log probabilities that ``x + Lap(b) - Lap(c)`` is above 0, and that it is not."""
    distance = np.abs(x)
    factor = (b**2 - c**2 * np.exp(distance / b - distance / c)) / (2 * (b**2 - c**2))
    log_tail = np.log(factor) - distance / b
    log_other = np.log1p(-np.exp(log_tail))
    return np.where(x >= 0, log_other, log_tail), np.where(x >= 0, log_tail, log_other)
