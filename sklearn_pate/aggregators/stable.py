"""The exact argmax of stable queries, by the sparse vector technique."""

import math
from numbers import Integral, Real

import numpy as np
from sklearn.base import clone

from .._sklearn import Interval
from ..rdp import (
    Cost,
    Facts,
    check_votes,
    pure_rdp,
    pure_to_gdp,
)
from .base import Aggregator, check_calibrated

__all__ = ["StableArgmax", "stable_leads"]


class StableArgmax(Aggregator):
    """The exact argmax for stable queries, at no cost; payment only for unstable ones.

    The sparse vector technique on the number of teachers who could change without changing the
    argmax, ``d = max(ceil(gap / 2) - 1, 0)``. A run answers queries with their exact argmax as long
    as ``d`` plus noise stays above a noisy threshold; the first query below it gets no answer, ends
    the run and is paid for. After `max_unstable` runs no more queries are asked. Any number of
    stable queries costs the same.

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
        "run_epsilon": [Interval(Real, 0, None, closed="neither"), None],
        "max_unstable": [Interval(Integral, 1, None, closed="left")],
        "failure_probability": [Interval(Real, 0, 1, closed="neither")],
    }

    def __init__(self, run_epsilon=0.1, max_unstable=20, failure_probability=1e-6):
        self.run_epsilon = run_epsilon
        self.max_unstable = max_unstable
        self.failure_probability = failure_probability

    def facts(self):
        """Return the cost of all runs, the same for any number of queries."""
        self._validate_params()
        check_calibrated(self, "run_epsilon")
        runs = self.max_unstable
        run = float(self.run_epsilon)

        def total(orders):
            return Cost(
                rdp=runs * pure_rdp(run, orders),
                mu_squared=runs * pure_to_gdp(run) ** 2,
                pure=runs * run,
                delta=self.failure_probability,
            )

        return Facts(total=total)

    def with_scale(self, scale):
        """Return a copy whose runs cost the inverse of the scale; see `Aggregator.with_scale`."""
        if self.run_epsilon is not None:
            return None
        return clone(self).set_params(run_epsilon=1 / scale)

    def outcome_log_proba(self, votes, student_proba=None):
        """Log probability of each class and of no answer, for a query asked alone."""
        votes = check_votes(votes)
        on_threshold, on_lead = self._scales()
        excess = stable_leads(votes) - self.stability_needed(1)
        log_pass, log_fail = _log_laplace_difference(excess, on_lead, on_threshold)
        log_proba = np.full((len(votes), votes.shape[1] + 1), -np.inf)
        log_proba[np.arange(len(votes)), votes.argmax(axis=1)] = log_pass
        log_proba[:, -1] = log_fail
        return log_proba

    def aggregate(self, votes, student_proba=None, random_state=None):
        """Draw the released label of each query in order, -1 once all runs are used up."""
        votes = check_votes(votes)
        labels = np.full(len(votes), -1)
        drawn = self.draw(votes, student_proba, random_state)[0]
        labels[: len(drawn)] = drawn
        return labels

    def draw(self, votes, student_proba=None, random_state=None):
        """Draw labels until all runs are used up; see `Aggregator.draw`."""
        votes, rng = check_votes(votes), np.random.default_rng(random_state)
        on_threshold, on_lead = self._scales()
        noisy = stable_leads(votes) + rng.laplace(scale=on_lead, size=len(votes))
        stable, asked = np.zeros(len(votes), dtype=bool), 0
        for _ in range(self.max_unstable):
            bar = self.stability_needed(max(1, len(votes))) + rng.laplace(scale=on_threshold)
            unstable = np.flatnonzero(noisy[asked:] <= bar)
            end = asked + unstable[0] if unstable.size else len(votes)
            stable[asked:end] = True
            asked = min(end + 1, len(votes))
            if end == len(votes):
                break
        labels = np.where(stable, votes.argmax(axis=1), -1)[:asked]
        return labels, np.ones(asked, dtype=bool)

    def stability_needed(self, n_queries):
        """Teachers who must be able to change before a query counts as stable.

        Parameters
        ----------
        n_queries : int
            Number of queries that may be asked.

        Returns
        -------
        float
            Above half the number of teachers, no query is answered.
        """
        on_threshold, on_lead = self._scales()
        # Upper bounds on the chance that the largest of the noises exceeds a value: b for the
        # thresholds', on a grid, and tau - b for the leads'
        many = max(60, 2 * math.log(self.max_unstable / self.failure_probability))
        b = np.linspace(0, many * on_threshold, 4001)
        beyond = np.minimum(1, self.max_unstable * np.exp(-b / on_threshold) / 2)
        mass = np.concatenate([[1 - beyond[0]], -np.diff(beyond), beyond[-1:]])

        def failure(tau):
            rest = tau - np.append(b, math.inf)  # each part of the mass at its upper end
            alone = np.exp(-np.maximum(rest, 0) / on_lead) * n_queries / 2
            return mass @ np.where(rest > 0, np.minimum(1, alone), 1)

        low, high = 0.0, 100 * (on_threshold + on_lead)
        while failure(high) > self.failure_probability:
            high *= 2
        while high - low > 1e-6 * high:
            middle = (low + high) / 2
            fits = failure(middle) <= self.failure_probability
            low, high = (low, middle) if fits else (middle, high)
        return high

    def _scales(self):
        """Scales of the noise on the threshold and on the lead."""
        self._validate_params()
        check_calibrated(self, "run_epsilon")
        run = float(self.run_epsilon)
        for_threshold = run / (1 + 2 ** (2 / 3))
        return 1 / for_threshold, 2 / (run - for_threshold)


def stable_leads(votes):
    """Teachers who can change without changing the argmax; one teacher changes it by at most 1."""
    top_two = np.sort(check_votes(votes), axis=1)[:, -2:]
    return np.maximum((top_two[:, 1] - top_two[:, 0] + 1) // 2 - 1, 0)


def _log_laplace_difference(x, b, c):
    """Log probabilities that ``x + Lap(b) - Lap(c)`` is above 0, and that it is not."""
    distance = np.abs(x)
    log_tail = (
        np.log((b**2 - c**2 * np.exp(distance / b - distance / c)) / (2 * (b**2 - c**2)))
        - distance / b
    )
    log_other = np.log1p(-np.exp(log_tail))
    return np.where(x >= 0, log_other, log_tail), np.where(x >= 0, log_tail, log_other)
