"""What a query costs at most: on any votes, or on any votes with a given lead of the top class."""

import itertools
import math
from dataclasses import dataclass

import numpy as np
from scipy.special import log_ndtr

from .checks import (
    DEFAULT_ORDERS,
    check_count,
    check_delta,
    check_orders,
    check_positive,
    check_public,
)
from .conversion import epsilon_by_order, gdp_to_epsilon, pure_to_gdp
from .exact import Pairs, exact_rdp, round_up
from .facts import facts_of, has_distribution
from .published import pure_rdp

__all__ = [
    "Cost",
    "checked_rdp",
    "data_independent_epsilon",
    "lead_rdp",
    "query_cost",
    "query_steps",
    "total_cost",
    "worst_case_pure",
    "worst_case_rdp",
]

#: Two-class histograms are enumerated up to this many teachers.
_MOST_ENUMERATED = 10_000

#: Orders times one vote in noise scales: beyond it, other bounds on the worst case are as good.
_FAR = 100


def worst_case_rdp(aggregator, orders, *, n_teachers=None, n_classes=None):
    """Renyi cost of one query on any votes: data-independent, so safe to publish.

    Parameters
    ----------
    aggregator : Aggregator
        The mechanism.
    orders : array-like of shape (n_orders,)
        Renyi orders, above 1.
    n_teachers, n_classes : int, default=None
        Public numbers that make the cost sharper; None means any number.

    Returns
    -------
    ndarray of shape (n_orders,)
        Costs; they add over queries, adaptive ones too. inf without a guarantee.

    Notes
    -----
    The smallest of what follows from the mechanism's distribution and its `Facts`:

    - two classes and up to 10,000 teachers: the largest `exact_rdp` over all histograms;
    - the argmax of counts with independent noise (`argmax_noise`), any number of classes: given
      the noisy counts of all classes but the two that a vote moves between, only their maximum
      matters, and the divergence is jointly quasi-convex. So no histogram costs more than the
      largest divergence between three outcomes (the one class, the other, neither) over the
      distances of the two counts from that maximum, real numbers with a difference of at most
      `n_teachers`. The search's last digits are covered by adding 1e-6 of the cost. With one-sided
      noise that divergence is infinite;
    - `Facts.rdp`;
    - `gdp_mu`: a `mu`-Gaussian-DP mechanism costs ``a mu**2 / 2`` (Dong, Roth, Su (2022),
      Corollary B.6);
    - `worst_case_pure`: a pure mechanism costs `pure_rdp`.

    Examples
    --------
    >>> from sklearn_pate.aggregators import GNMax
    >>> from sklearn_pate.rdp import worst_case_rdp
    >>> worst_case_rdp(GNMax(40.0), [10.0]).round(5)  # the published bound is 0.00625
    array([0.00401])
    >>> worst_case_rdp(GNMax(40.0), [10.0], n_teachers=250, n_classes=2).round(5)
    array([0.00399])
    """
    orders = check_orders(orders)
    n_teachers, n_classes = check_public(n_teachers, n_classes)
    public = {"n_teachers": n_teachers, "n_classes": n_classes}
    facts = facts_of(aggregator)
    cost = np.full(orders.size, np.inf)
    if facts.rdp is not None:
        cost = np.minimum(cost, _stated_rdp(aggregator, facts, orders, public))
    if facts.gdp_mu < math.inf:
        cost = np.minimum(cost, orders * facts.gdp_mu**2 / 2)
    pure = worst_case_pure(aggregator, **public)
    if pure < math.inf:
        cost = np.minimum(cost, pure_rdp(pure, orders))
    noise = facts.argmax_noise
    if _enumerable(aggregator, n_teachers, n_classes):
        every = _two_class_histograms(n_teachers)
        cost = np.minimum(cost, exact_rdp(aggregator, every, orders).max(axis=0))
    elif noise is not None and noise.two_sided:
        most = math.inf if n_teachers is None else n_teachers / noise.scale
        near = orders / noise.scale < _FAR
        if near.any():
            found = _supremum(noise, orders[near], most)
            cost[near] = np.minimum(cost[near], found * (1 + 1e-6))
    return cost


def _stated_rdp(aggregator, facts, orders, public):
    stated = np.asarray(facts.rdp(orders, **public), dtype=float)
    if stated.shape != orders.shape or not (stated >= 0).all():
        raise ValueError(
            f"Facts.rdp of {type(aggregator).__name__} must return a cost of at least 0 for each "
            f"of {orders.size} orders; got shape {stated.shape}"
        )
    return stated


def worst_case_pure(aggregator, *, n_teachers=None, n_classes=None):
    """Pure epsilon of one query on any votes.

    Parameters
    ----------
    aggregator : Aggregator
        The mechanism.
    n_teachers, n_classes : int, default=None
        Public numbers that bound the votes; None means any number.

    Returns
    -------
    float
        inf without a guarantee.

    Notes
    -----
    A noisy argmax of bounded counts is pure DP even with Gaussian noise (Lebensold, Precup, Balle
    (2024)). With two classes the largest loss over all histograms is computed. With more, a move
    is split in two. Taking a vote from one class raises another's chance by at most what it does
    between these two alone, `n_teachers` apart: the third classes only shift weight to larger
    noisy counts, where the ratio of distribution functions is smaller. Giving a class a vote
    raises its chance most when all others are far ahead, at most `n_teachers` each. Both steps
    need noise with a log-concave density.

    Examples
    --------
    >>> from sklearn_pate.aggregators import GNMax, LNMax
    >>> from sklearn_pate.rdp import worst_case_pure
    >>> worst_case_pure(LNMax(0.05))
    0.1
    >>> round(worst_case_pure(GNMax(40.0), n_teachers=100, n_classes=10), 3)
    0.122
    """
    n_teachers, n_classes = check_public(n_teachers, n_classes)
    facts = facts_of(aggregator)
    pure = float(facts.pure_epsilon)
    if n_teachers is None or n_classes is None:
        return pure
    if _enumerable(aggregator, n_teachers, n_classes):
        log_proba = aggregator.outcome_log_proba(_two_class_histograms(n_teachers))
        reach = Pairs.of(log_proba[1:], log_proba[:-1]).reach
        loss = reach.max() if not np.isnan(reach).any() else math.inf
        return min(pure, float(loss * (1 + 1e-9)) + 1e-13)
    if facts.argmax_noise is not None and n_teachers / facts.argmax_noise.scale < 40:

        def log_lowest(*counts):
            return aggregator.outcome_log_proba([counts])[0, 0]

        others = [n_teachers] * (n_classes - 1)
        taken = log_lowest(1, n_teachers) - log_lowest(1, n_teachers + 1)
        given = log_lowest(1, *others) - log_lowest(0, *others)
        return min(pure, float((taken + given) * (1 + 1e-9)) + 1e-13)
    return pure


def _enumerable(aggregator, n_teachers, n_classes):
    few = n_classes == 2 and n_teachers is not None and n_teachers <= _MOST_ENUMERATED
    return few and has_distribution(aggregator) and not aggregator.uses_student_proba


def _two_class_histograms(n_teachers):
    first = np.arange(int(n_teachers) + 1)
    return np.column_stack([first, n_teachers - first])


def _supremum(noise, orders, most):
    """Largest divergence of three outcomes for one vote moved; all lengths in noise scales.

    Parameters
    ----------
    noise : Noise
        Noise on each count.
    orders : ndarray of shape (n_orders,)
        Renyi orders.
    most : float
        Largest difference of two counts.

    Returns
    -------
    ndarray of shape (n_orders,)
        To 1e-7 relative; inf where the search ended at its border.
    """
    step = 1 / noise.scale  # one vote

    def pair(gap, level):  # the vote's way crosses this gap; `level` is that of the lower class
        before = noise.log_rivals(level + gap + step / 2, level - step / 2)
        after = noise.log_rivals(level + gap - step / 2, level + step / 2)
        return Pairs.of(before, after), Pairs.of(after, before)

    far = orders.max() * step
    widest, lowest = max(0.0, min(most - step, 10 + 2.5 * far)), -8 - 1.2 * far
    gaps = np.concatenate([np.arange(0, 5, 0.5), np.geomspace(5, 300, 31)])
    gaps = np.append(gaps[gaps < widest], widest)
    levels = np.concatenate([-np.geomspace(130, 2.5, 21), np.arange(-2, 2, 0.5), [2, 3, 4, 6, 10]])
    levels = np.append(levels[levels > 0.9 * lowest], 20)
    gaps, levels = (axis.ravel() for axis in np.meshgrid(gaps, levels))
    there, back = pair(gaps, levels)
    start = [np.maximum(there.divergence(a), back.divergence(a)) for a in orders]
    where = np.argmax(start, axis=1)
    best, gap, level = np.max(start, axis=1), gaps[where], levels[where]

    # From the best point of the grid, move to the best of 8 neighbours or halve the distance
    around = np.array([(i, j) for i in (-1, 0, 1) for j in (-1, 0, 1) if i or j])
    reach = np.full(orders.size, 0.25)
    live = np.arange(orders.size)
    while live.size:
        wide = reach[live, None] * np.maximum(1, gap[live, None] / 4)
        near_gap = np.clip(gap[live, None] + wide * around[:, 0], 0, widest)
        near_level = np.clip(level[live, None] + reach[live, None] * around[:, 1], lowest, 20)
        there, back = pair(near_gap.ravel(), near_level.ravel())
        order = np.repeat(orders[live], len(around))
        cost = np.maximum(there.divergence(order), back.divergence(order)).reshape(near_gap.shape)
        top = cost.argmax(axis=1)
        chosen = np.arange(live.size), top
        better = cost[chosen] > best[live] * (1 + 1e-9)
        moved = live[better]
        best[moved], gap[moved] = cost[chosen][better], near_gap[chosen][better]
        level[moved] = near_level[chosen][better]
        reach[live[~better]] /= 2
        live = live[reach[live] > 2e-4]
    at_border = (gap > widest * 0.999) & (widest < most - step) | (level <= lowest)
    return np.where(at_border, np.inf, best)


def lead_rdp(aggregator, orders, *, n_teachers, n_classes):
    """Largest Renyi cost of one query as a function of the lead of the top class.

    The lead is half the gap between the top two counts, rounded down: an integer that one teacher
    changes by at most 1. This is the cost in both directions that smooth sensitivity and
    propose-test-release need. The table holds for every data set; a query's lead is private.

    Parameters
    ----------
    aggregator : Aggregator
        The mechanism.
    orders : array-like of shape (n_orders,)
        Renyi orders, above 1.
    n_teachers, n_classes : int
        Public numbers.

    Returns
    -------
    ndarray of shape (n_teachers // 2 + 1, n_orders)
        Row `j` is at least `exact_rdp` of all votes with lead `j`.

    Notes
    -----
    With two classes the lead fixes the sorted votes, and the cost is exact. With more, a noisy
    argmax is charged the published bound in both directions: it is evaluated at all votes with
    that lead (all other classes level with the runner-up) and at their neighbours, whose gap is
    smaller by at most 2, and made monotone in the lead. All others are charged
    `worst_case_rdp` at every lead.

    Examples
    --------
    >>> from sklearn_pate.aggregators import GNMax
    >>> from sklearn_pate.rdp import lead_rdp
    >>> lead_rdp(GNMax(40.0), [10.0], n_teachers=250, n_classes=2)[[0, 60, 125], 0].round(5)
    array([0.00394, 0.00091, 0.     ])
    """
    orders = check_orders(orders)
    n_teachers = check_count("n_teachers", n_teachers)
    n_classes = check_count("n_classes", n_classes, least=2)
    lead = np.arange(n_teachers // 2 + 1)
    facts = facts_of(aggregator)
    if _enumerable(aggregator, n_teachers, n_classes) and facts.label_symmetric:
        top = n_teachers - n_teachers // 2 + lead
        return exact_rdp(aggregator, np.column_stack([top, n_teachers - top]), orders)
    worst = worst_case_rdp(aggregator, orders, n_teachers=n_teachers, n_classes=n_classes)
    table = np.tile(worst, (lead.size, 1))
    if facts.argmax_noise is not None:
        level = [1] * (n_classes - 1)
        bound = np.concatenate(
            [aggregator.published_rdp([[1 + 2 * j, *level]], orders) for j in lead]
        )
        table[1:] = np.minimum(worst, np.maximum(bound[1:], bound[:-1]))
        table = np.maximum.accumulate(table[::-1])[::-1]
    return table


def data_independent_epsilon(aggregator, n_queries, delta, *, n_teachers=None, n_classes=None):
    """Epsilon that `n_queries` queries cost on any votes, answered or not.

    Parameters
    ----------
    aggregator : Aggregator
        The mechanism.
    n_queries : int
        Number of queries asked, fixed in advance. How many of them are answered is itself an
        outcome, and never lowers the cost.
    delta : float
        Failure probability, strictly between 0 and 1.
    n_teachers, n_classes : int, default=None
        Public numbers that make the cost of one query sharper; see `worst_case_rdp`.

    Returns
    -------
    epsilon : float
        The smallest that the known compositions give; inf without a guarantee.
    method : {"gaussian", "renyi", "pure", "none"}
        The composition that gave it: exact for Gaussian noise, of the worst-case Renyi cost of one
        query, or the plain sum of pure epsilons.

    Examples
    --------
    >>> from sklearn_pate.aggregators import LNMax
    >>> from sklearn_pate.rdp import data_independent_epsilon
    >>> epsilon, method = data_independent_epsilon(LNMax(gamma=0.05), 100, 1e-5)
    >>> round(epsilon, 2), method
    (2.49, 'renyi')
    >>> public = {"n_teachers": 250, "n_classes": 2}
    >>> epsilon, method = data_independent_epsilon(LNMax(gamma=0.05), 100, 1e-5, **public)
    >>> round(epsilon, 2)
    2.13
    """
    n_queries = check_count("n_queries", n_queries, least=0)
    costs = total_cost(aggregator, n_teachers=n_teachers, n_classes=n_classes)
    return costs(n_queries).epsilon(delta)


@dataclass(frozen=True, eq=False)
class Cost:
    """What a number of queries costs on any votes, in all the ways that add up.

    Attributes
    ----------
    rdp : ndarray of shape (n_orders,)
        Renyi cost.
    mu_squared, pure : float
        Squared Gaussian-DP parameter, and pure epsilon; inf where there is none.
    delta : float
        Probability, already spent, with which these costs do not hold.

    Examples
    --------
    >>> from sklearn_pate.aggregators import GNMax
    >>> cost = GNMax(40.0).costs()(500)
    >>> epsilon, method = cost.epsilon(1e-5)
    >>> round(epsilon, 2), method
    (2.82, 'renyi')
    """

    rdp: np.ndarray
    mu_squared: float
    pure: float
    delta: float = 0.0

    def times(self, n_queries):
        """Cost of that many queries."""
        if n_queries == 0:
            return Cost(np.zeros_like(self.rdp), 0.0, 0.0)
        return Cost(
            *(n_queries * part for part in (self.rdp, self.mu_squared, self.pure, self.delta))
        )

    def plus(self, other):
        """Cost of both, also if the second depends on what the first released."""
        return Cost(
            self.rdp + other.rdp,
            self.mu_squared + other.mu_squared,
            self.pure + other.pure,
            self.delta + other.delta,
        )

    def epsilon(self, delta, orders=DEFAULT_ORDERS):
        """Smallest epsilon at `delta`, and the composition that gave it.

        Parameters
        ----------
        delta : float
            Failure probability, strictly between 0 and 1.
        orders : ndarray of shape (n_orders,), default=DEFAULT_ORDERS
            Orders of `rdp`.

        Returns
        -------
        epsilon : float
            inf without a guarantee.
        method : {"gaussian", "renyi", "pure", "none"}
            As in `data_independent_epsilon`.
        """
        left = check_delta(delta) - self.delta
        if left <= 0:
            return math.inf, "none"
        epsilon, method = min(
            (gdp_to_epsilon(math.sqrt(self.mu_squared), left), "gaussian"),
            (self.pure, "pure"),
            (float(epsilon_by_order(self.rdp, left, orders).min()), "renyi"),
        )
        return epsilon, method if 0 < epsilon < math.inf else "none"


def query_cost(aggregator, orders=DEFAULT_ORDERS, *, n_teachers=None, n_classes=None):
    """Return the `Cost` of one query on any votes.

    Parameters
    ----------
    aggregator : Aggregator
        The mechanism.
    orders : array-like of shape (n_orders,), default=DEFAULT_ORDERS
        Renyi orders, above 1.
    n_teachers, n_classes : int, default=None
        Public numbers that make it sharper.

    Returns
    -------
    Cost

    Examples
    --------
    >>> from sklearn_pate.aggregators import LNMax
    >>> from sklearn_pate.rdp import query_cost
    >>> query_cost(LNMax(0.05)).pure
    0.1
    """
    public = {"n_teachers": n_teachers, "n_classes": n_classes}
    pure = worst_case_pure(aggregator, **public)
    return Cost(
        rdp=worst_case_rdp(aggregator, orders, **public),
        mu_squared=min(facts_of(aggregator).gdp_mu, pure_to_gdp(pure)) ** 2,
        pure=pure,
    )


def query_steps(aggregator, orders, *, n_teachers=None, n_classes=None):
    """Renyi costs of the two steps of one query, of which the second may not happen.

    Parameters
    ----------
    aggregator, orders, n_teachers, n_classes
        As in `query_cost`.

    Returns
    -------
    first, second : ndarray of shape (n_orders,)
        The first is 0 for a mechanism without steps. None instead of both for a mechanism whose
        queries share their cost.
    """
    orders = check_orders(orders)
    facts = facts_of(aggregator)
    if facts.total is not None:
        return None
    public = {"n_teachers": n_teachers, "n_classes": n_classes}
    if facts.steps is not None:
        return facts.steps(orders, **public)
    return np.zeros(orders.size), worst_case_rdp(aggregator, orders, **public)


def total_cost(aggregator, orders=DEFAULT_ORDERS, *, n_teachers=None, n_classes=None):
    """Return a function from a number of queries to their `Cost` on any votes.

    Parameters
    ----------
    aggregator, orders, n_teachers, n_classes
        As in `query_cost`.

    Returns
    -------
    callable
        From a number of queries asked, answered or not, to `Cost`.
    """
    facts = facts_of(aggregator)
    if facts.total is None:
        return query_cost(aggregator, orders, n_teachers=n_teachers, n_classes=n_classes).times
    together = facts.total(check_orders(orders))
    return lambda n_queries: together if n_queries else together.times(0)


def checked_rdp(sigma, answer_rdp, orders):
    """Largest Renyi cost of a noisy check followed, if it passes, by an answer.

    Parameters
    ----------
    sigma : float
        Standard deviation of the Gaussian noise on what is checked, a number that one teacher
        changes by at most 1.
    answer_rdp : array-like of shape (n_orders,)
        Cost of the answer on any votes.
    orders : array-like of shape (n_orders,)
        Renyi orders, above 1.

    Returns
    -------
    ndarray of shape (n_orders,)
        The supremum, over the distance `x` from the threshold in units of `sigma` and over both
        directions, of ``log(F(x)**a F(x')**(1-a) + G(x)**a G(x')**(1-a) exp((a-1) R)) / (a - 1)``
        for ``x' = x +- 1 / sigma``, F the probability to fail, G to pass, R `answer_rdp`: test
        and answer are one mechanism. Rounded up by 1e-6 relative.

    Examples
    --------
    >>> from sklearn_pate.rdp import checked_rdp
    >>> checked_rdp(100.0, [0.004], [10.0]).round(4)  # little more than the answer
    array([0.004])
    >>> checked_rdp(1.0, [0.0], [10.0]).round(3)  # the check alone: at most a / (2 sigma**2)
    array([4.758])
    """
    orders, step = check_orders(orders), 1 / check_positive("sigma", sigma)
    answer_rdp = np.asarray(answer_rdp, dtype=float)
    most = answer_rdp + orders * step**2 / 2
    if not np.isfinite(answer_rdp).all():
        return most

    a, gain = orders[:, None], ((orders - 1) * answer_rdp)[:, None]

    def cost(x, y):
        failed = a * log_ndtr(-x) + (1 - a) * log_ndtr(-y)
        passed = a * log_ndtr(x) + (1 - a) * log_ndtr(y) + gain
        return np.logaddexp(failed, passed) / (a - 1)

    worst = answer_rdp
    far = 8 + 1.2 * orders * step  # beyond it one outcome is certain and the check is free
    for forwards, side in itertools.product((True, False), (-1, 1)):
        x = far[:, None] * side * np.linspace(0, 1, 401)
        for _ in range(6):  # zoom in on the best point of this direction and side
            values = cost(x, x + step) if forwards else cost(x + step, x)
            worst = np.maximum(worst, values.max(axis=1))
            best = x[np.arange(orders.size), values.argmax(axis=1)]
            x = best[:, None] + (x[:, 1] - x[:, 0])[:, None] * np.linspace(-1.5, 1.5, 61)
    return np.minimum(most, round_up(worst * (1 + 1e-6), orders))
