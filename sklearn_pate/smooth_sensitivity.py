"""Publishable statements from private costs: smooth sensitivity and propose-test-release.

Both work on a table of costs by lead, `rdp.lead_rdp`: the lead of a query is an integer that one
teacher changes by at most 1, so what `k` teachers can do to a cost is its maximum within `k`.

References
----------
.. [1] Nissim, Raskhodnikova, Smith (2007). Smooth sensitivity and sampling in private data
       analysis. STOC.
.. [2] Papernot et al. (2018). Scalable private learning with PATE. ICLR, Appendix B.
.. [3] Redberg, Zhu, Wang (2023). Generalized PTR: user-friendly recipes for data-adaptive
       algorithms with differential privacy. AISTATS.
"""

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import expit, log_expit, logit, ndtri

from .rdp import (
    DEFAULT_ORDERS,
    as_array,
    check_orders,
    check_positive,
    check_votes,
    epsilon_by_order,
    lead_rdp,
)

__all__ = ["PrivacyTest", "SanitizedRelease", "leads", "smooth_release_rdp", "smooth_sensitivity"]


def leads(votes):
    """Lead of the top class: half the gap between the top two counts, rounded down.

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
    >>> from sklearn_pate.smooth_sensitivity import leads
    >>> leads([[7, 3, 0], [5, 5, 0]])
    array([2, 0])
    """
    top_two = np.sort(check_votes(votes), axis=1)[:, -2:]
    return (top_two[:, 1] - top_two[:, 0]) // 2


def _sums_within(values, lead):
    """Yield, for k = 0, 1, ..., the sum over queries of the largest value within k of the lead."""
    n_queries_at = np.bincount(lead, minlength=len(values))
    for _ in range(len(values)):
        yield float(n_queries_at @ values)
        wider = np.concatenate([values[:1], values, values[-1:]])
        values = np.maximum(values, np.maximum(wider[:-2], wider[2:]))


def _check_lead(cost_by_lead, lead):
    cost, lead = as_array("cost_by_lead", cost_by_lead, dtype=float), as_array("lead", lead)
    if cost.ndim != 1 or not (cost >= 0).all():
        raise ValueError(
            f"cost_by_lead must be a list of costs that are at least 0; got shape {cost.shape}"
        )
    whole = lead.dtype.kind in "iu" and lead.ndim == 1
    if not whole or (lead < 0).any() or (lead >= len(cost)).any():
        raise ValueError(
            f"lead must be whole numbers below {len(cost)}, the length of cost_by_lead: half the "
            "gap between the top two counts, see `leads`"
        )
    return cost, lead


# --- smooth sensitivity and the sanitised release --------------------------------------------


def smooth_sensitivity(cost_by_lead, lead, beta):
    """Smooth sensitivity of the summed cost of all queries: private.

    Parameters
    ----------
    cost_by_lead : array-like of shape (n_leads,)
        Cost at one order of a query with lead 0, 1, ...; see `rdp.lead_rdp`.
    lead : array-like of shape (n_queries,), int
        Lead of each query, see `leads`.
    beta : float
        Smoothness: the result changes by at most ``exp(beta)`` between neighbours. Above 0.

    Returns
    -------
    float
        ``max_d exp(-beta d) sum_q LS_d(q)``, where ``LS_d`` is the largest change of a query's
        cost by one teacher after `d` others changed. Local sensitivities add over queries, as one
        teacher votes on all.

    Notes
    -----
    [1]_, Definition 2.2, exact for costs that depend on one integer.

    Examples
    --------
    >>> from sklearn_pate.smooth_sensitivity import smooth_sensitivity
    >>> float(smooth_sensitivity([1.0, 0.5, 0.0], [2, 2], beta=0.1))
    1.0
    """
    cost, lead = _check_lead(cost_by_lead, lead)
    beta = check_positive("beta", beta)
    change = np.abs(np.diff(cost))
    local = np.maximum(np.append(change, 0), np.insert(change, 0, 0))
    return max(math.exp(-beta * d) * total for d, total in enumerate(_sums_within(local, lead)))


def smooth_release_rdp(orders, beta, sigma):
    """Renyi cost of releasing ``f + S * sigma * Z`` for a `beta`-smooth sensitivity S of f.

    Parameters
    ----------
    orders : array-like of shape (n_orders,)
        Renyi orders, above 1.
    beta : float
        Smoothness of the sensitivity.
    sigma : float
        Noise in units of the sensitivity.

    Returns
    -------
    ndarray of shape (n_orders,)
        Largest divergence of two normal distributions whose means differ by the smaller of the two
        sensitivities and whose scales by ``exp(beta)``; inf where ``w <= 0``.

    Notes
    -----
    ``a exp(-2 beta) / (2 sigma**2 w) - (a beta + log(w) / 2) / (a - 1)`` with
    ``w = 1 + a (exp(-2 beta) - 1)``, in closed form from the divergence of two normal
    distributions. Public reference code for [2]_ uses a smaller formula, below the divergence
    once ``a * beta`` exceeds about 0.25.

    Examples
    --------
    >>> from sklearn_pate.smooth_sensitivity import smooth_release_rdp
    >>> smooth_release_rdp([20.0, 40.0], beta=0.0225, sigma=6.0).round(3)
    array([2.246,   inf])
    """
    orders, beta = check_orders(orders), check_positive("beta", beta)
    sigma = check_positive("sigma", sigma)
    w = 1 + orders * math.expm1(-2 * beta)
    with np.errstate(divide="ignore", invalid="ignore"):
        cost = orders * math.exp(-2 * beta) / (2 * sigma**2 * w)
        cost -= (orders * beta + np.log(w) / 2) / (orders - 1)
    return np.where(w > 0, cost, np.inf)


@dataclass(frozen=True)
class SanitizedRelease:
    """A published upper bound on a private sum of costs, with noise from smooth sensitivity.

    All parameters are to be chosen without looking at votes, and the queries must not depend on
    released labels.

    Attributes
    ----------
    order : float
        The Renyi order of the costs.
    beta : float
        Smoothness; ``beta * order`` well below 0.5.
    sigma_scale : float
        Noise on the log of the smooth sensitivity, in units of `beta`.
    sigma_cost : float
        Noise on the sum, in units of the smooth sensitivity.
    failure_probability : float
        Largest probability with which the bound may lie below the sum.

    Examples
    --------
    >>> from sklearn_pate.aggregators import GNMax
    >>> from sklearn_pate.rdp import lead_rdp
    >>> from sklearn_pate.smooth_sensitivity import SanitizedRelease
    >>> release = SanitizedRelease(order=12.0)
    >>> cost = lead_rdp(GNMax(40.0), [12.0], n_teachers=250, n_classes=2)[:, 0]
    >>> bound = release.draw(cost, lead=[110, 120, 90], random_state=0)
    >>> bool(bound > cost[[110, 120, 90]].sum())
    True
    """

    order: float
    beta: float = 0.01
    sigma_scale: float = 10.0
    sigma_cost: float = 10.0
    failure_probability: float = 1e-5

    @property
    def rdp(self):
        """Renyi cost of the release itself, at `order`."""
        smooth = smooth_release_rdp([self.order], self.beta, self.sigma_cost)[0]
        return float(self.order / (2 * self.sigma_scale**2) + smooth)

    def draw(self, cost_by_lead, lead, random_state=None):
        """Draw the upper bound: safe to publish at the cost of `rdp`.

        Parameters
        ----------
        cost_by_lead : array-like of shape (n_leads,)
            Cost at `order` of a query with lead 0, 1, ...
        lead : array-like of shape (n_queries,), int
            Lead of each query.
        random_state : int, Generator or None, default=None
            Source of the noise; None draws from the operating system's entropy.

        Returns
        -------
        float
            At least the sum of costs with probability ``1 - failure_probability``.
        """
        cost, lead = _check_lead(cost_by_lead, lead)
        if self.rdp == math.inf:
            raise ValueError(
                f"beta={self.beta:g} is too large for order={self.order:g}: the release has no "
                "finite cost; keep beta * order well below 0.5"
            )
        sensitivity = max(smooth_sensitivity(cost, lead, self.beta), 1e-12)
        on_scale, on_cost = np.random.default_rng(random_state).normal(size=2)
        z = float(ndtri(1 - self.failure_probability / 2))
        scale = math.exp(math.log(sensitivity) + self.beta * self.sigma_scale * (on_scale + z))
        return float(cost[lead].sum() + self.sigma_cost * (sensitivity * on_cost + scale * z))


# --- propose-test-release --------------------------------------------------------------------

_SURE = 13.8  # log odds at which the test passes for certain, but for 1e-6


@dataclass(frozen=True, eq=False, kw_only=True)
class PrivacyTest:
    """A private test that votes are cheap enough to release their labels at `epsilon`.

    Labels are released only if the test passes. It passes with a probability that depends on
    the number of teachers who would have to change before the exact cost of the votes exceeds a
    limit, and grows with that distance as fast as the budget allows.

    Attributes
    ----------
    order, limit : float
        The Renyi order of the analysis, and the cost the votes must stay below.
    cost_by_lead : ndarray of shape (n_leads,)
        Cost at `order` of a query with lead 0, 1, ..., in both directions.
    pass_probability_at : ndarray of shape (n_distances,)
        Probability of passing at distance 0, 1, ...; the last holds beyond.
    epsilon, delta : float
        Guarantee of test and labels together.
    n_queries, n_teachers : int
        The votes it was planned for.

    Notes
    -----
    A generalised propose-test-release ([3]_). The guarantee, for neighbouring data sets at
    distances that differ by at most 1:

    - both at distance 0: each passes with probability `delta`, so the outcomes are
      ``(0, delta)``-DP;
    - otherwise one of them costs at most `limit`, in both directions, so the labels of either
      have at most that divergence from those of the other; with the outcome of the test, at most
      ``log((1 - p)**a (1 - p')**(1 - a) + p**a p'**(1 - a) exp((a - 1) limit)) / (a - 1)``, and
      the probabilities are chosen so that this converts to `epsilon` at `delta`.

    Each pair of neighbours falls under one of the two, so `delta` is not spent twice. As a whole
    it is (epsilon, delta)-DP without a Renyi curve: compose it with others as such.
    """

    order: float
    limit: float
    cost_by_lead: np.ndarray
    pass_probability_at: np.ndarray
    epsilon: float
    delta: float
    n_queries: int
    n_teachers: int

    @classmethod
    def plan(cls, aggregator, n_queries, *, n_teachers, n_classes, epsilon, delta):
        """Choose order and limit from public numbers.

        Among all that reach `epsilon`, those that are passed (with probability 0.99) by the largest
        share of tied queries, when teachers agree on all others.

        Parameters
        ----------
        aggregator : Aggregator
            The mechanism.
        n_queries : int
            Number of queries, fixed in advance.
        n_teachers, n_classes : int
            Public numbers.
        epsilon, delta : float
            Guarantee of test and labels together.

        Returns
        -------
        PrivacyTest or None
            None if not even teachers who always agree would pass.

        Examples
        --------
        >>> from sklearn_pate.aggregators import GNMax
        >>> from sklearn_pate.smooth_sensitivity import PrivacyTest
        >>> public = {"n_teachers": 250, "n_classes": 2}
        >>> test = PrivacyTest.plan(GNMax(40.0), 500, **public, epsilon=1.6, delta=1e-5)
        >>> test.pass_probability([[240, 10]] * 400 + [[150, 100]] * 100) > 0.99
        True
        """
        grid = DEFAULT_ORDERS[::4]
        table = lead_rdp(aggregator, grid, n_teachers=n_teachers, n_classes=n_classes)
        penalty = epsilon_by_order(np.full(grid.size, 1e3), delta, grid) - 1e3
        total = (epsilon - penalty) * (1 - 1e-7)  # odds are rounded when they become probabilities
        usable = (total > 0) & np.isfinite(table).all(axis=0)
        which, share = (
            axis.ravel() for axis in np.meshgrid(np.flatnonzero(usable), np.arange(0.2, 0.99, 0.06))
        )
        limit = share * total[which]
        passing = _steepest(grid[which], limit, total[which], delta)
        needed = (passing < 0.99).sum(axis=0)
        agreed = table[np.maximum(len(table) - 1 - needed, 0), which]
        tied = table[0, which]
        with np.errstate(divide="ignore", invalid="ignore"):
            tied_share = (limit / n_queries - agreed) / (tied - agreed)
        tied_share[~((tied > agreed) & (needed < len(passing)))] = -1
        if not usable.any() or tied_share.max() < 0:
            return None
        best = int(tied_share.argmax())
        return cls(
            order=float(grid[which[best]]),
            limit=float(limit[best]),
            cost_by_lead=table[:, which[best]],
            pass_probability_at=passing[:, best],
            epsilon=epsilon,
            delta=delta,
            n_queries=n_queries,
            n_teachers=n_teachers,
        )

    def pass_probability(self, votes):
        """Probability that the test passes on these votes: private.

        Parameters
        ----------
        votes : array-like of shape (n_queries, n_classes)
            Vote counts.

        Returns
        -------
        float
        """
        votes = check_votes(votes)
        if len(votes) != self.n_queries or votes[0].sum() != self.n_teachers:
            raise ValueError(
                f"the test was planned for {self.n_queries} queries of {self.n_teachers} teachers; "
                f"got votes of shape {votes.shape}"
            )
        distance = 0
        for total in _sums_within(self.cost_by_lead, leads(votes)):
            if total * (1 + 1e-12) > self.limit:
                break
            distance += 1
        return float(self.pass_probability_at[min(distance, len(self.pass_probability_at) - 1)])

    def passes(self, votes, random_state=None):
        """Draw the outcome of the test: safe to publish."""
        waits = np.random.default_rng(random_state).exponential()  # exact at any delta
        return bool(waits > -math.log(self.pass_probability(votes)))


def _steepest(order, limit, total, delta, n_steps=100):
    """Pass probabilities (n_steps, n_choices) that grow from `delta` as fast as `total` allows.

    `order`, `limit` and `total` are arrays of choices. Each step is the largest, by bisection from
    below, for which test and labels together cost at most `total` in both directions.
    """

    def cost(x, y):  # of log odds x against y
        passed = order * log_expit(x) + (1 - order) * log_expit(y) + (order - 1) * limit
        failed = order * log_expit(-x) + (1 - order) * log_expit(-y)
        return np.logaddexp(passed, failed) / (order - 1)

    odds = [np.full(order.size, logit(delta * (1 - 1e-12)))]
    while len(odds) < n_steps:
        low, high = odds[-1], np.minimum(odds[-1] + 8, _SURE)
        for _ in range(40):
            middle = (low + high) / 2
            fits = np.maximum(cost(odds[-1], middle), cost(middle, odds[-1])) <= total
            low, high = np.where(fits, middle, low), np.where(fits, high, middle)
        odds.append(low)
    return expit(np.array(odds))
