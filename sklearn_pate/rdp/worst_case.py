"""Data-independent costs of one query: over all votes, by margin, and with a noisy check."""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.interpolate import PchipInterpolator
from scipy.special import log_ndtr

from .._numbers import check_positive
from .bounds import bounds_of, has_distribution
from .checks import check_count, check_orders, check_public
from .conversion import pure_rdp
from .exact import Pairs, exact_rdp, round_up

if TYPE_CHECKING:
    from ..aggregators.base import Aggregator, Mechanism
    from .bounds import PrivacyBounds
    from .noise import Noise

#: Largest number of teachers for which all two-class histograms are enumerated.
_MOST_ENUMERATED = 10_000

#: Largest ratio of the order to the noise scale for which the costliest votes are searched. At
#: larger ratios, other bounds on the cost are equally good, and the search needs a larger grid.
_MOST_COMPUTED = 100

#: Log ratio of probabilities, r, that rounding may hide; its cost at order a is ``a * r**2 / 2``.
_LOST_LOSS = 1e-14

#: Largest noise scale of a search. Above it, rounding hides the cost of one vote, and only the
#: other bounds are used.
_LARGEST_SEARCHED = 1e8

#: Number of teachers divided by the noise scale above which the pure epsilon of a noisy argmax is
#: too large to be useful.
_MOST_SCALES = 40


def worst_case_rdp(
    aggregator: Mechanism,
    orders: ArrayLike,
    *,
    n_teachers: int | None = None,
    n_classes: int | None = None,
) -> NDArray[np.float64]:
    """Compute the data-independent Renyi cost of one query.

    It is a bound on the largest cost over all votes, so it is safe to publish.

    Parameters
    ----------
    aggregator : Aggregator
        The mechanism.
    orders : array-like of shape (n_orders,)
        Renyi orders, above 1.
    n_teachers, n_classes : int, default=None
        Public numbers that make the cost tighter; None means any number.

    Returns
    -------
    ndarray of shape (n_orders,)
        Costs; inf without a guarantee. The costs of queries add up, even if a query depends on the
        answers to earlier ones.

    Notes
    -----
    The cost is the smallest bound from the mechanism's distribution and its `PrivacyBounds`:

    - two classes and up to 10,000 teachers: the largest `exact_rdp` over all histograms, unless the
      mechanism uses the student's probabilities;
    - the argmax of counts with independent noise (`argmax_noise`), any number of classes: given
      the noisy counts of all classes except the two between which a vote moves, only the maximum of
      these counts matters, and the divergence is jointly quasi-convex. So no histogram costs more
      than the largest divergence of three outcomes: the first of the two classes, the second, or
      neither. The largest divergence is searched numerically over the distances of the two counts
      from that maximum, which differ by at most `n_teachers`; 1e-6 of the cost is added for the
      error of the search. This bound does not exist for one-sided noise, because the divergence is
      infinite;
    - `PrivacyBounds.rdp`;
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
    public = {"n_teachers": n_teachers, "n_classes": n_classes}
    return worst_case(aggregator, bounds_of(aggregator), check_orders(orders), **public)[0]


def worst_case(
    aggregator: Mechanism,
    bounds: PrivacyBounds,
    orders: NDArray[np.float64],
    *,
    n_teachers: int | None,
    n_classes: int | None,
) -> tuple[NDArray[np.float64], float]:
    """Return the results of `worst_case_rdp` and `worst_case_pure`, given the privacy bounds."""
    n_teachers, n_classes = check_public(n_teachers=n_teachers, n_classes=n_classes)
    public = {"n_teachers": n_teachers, "n_classes": n_classes}
    cost = np.full(orders.size, np.inf)
    if bounds.rdp is not None:
        stated = np.asarray(bounds.rdp(orders, **public), dtype=float)
        if stated.shape != orders.shape or not (stated >= 0).all():
            raise ValueError(
                f"PrivacyBounds.rdp of {type(aggregator).__name__} must return a cost of at least "
                f"0 for each of {orders.size} orders; got shape {stated.shape}"
            )
        cost = np.minimum(cost, stated)
    if bounds.gdp_mu < math.inf:
        # Dong, Roth, Su (2022), Corollary B.6
        cost = np.minimum(cost, orders * bounds.gdp_mu**2 / 2)
    pure = _pure(aggregator, bounds, **public)
    if pure < math.inf:
        cost = np.minimum(cost, pure_rdp(pure, orders))
    noise = bounds.argmax_noise
    if n_teachers is not None and _enumerable(aggregator, n_teachers, n_classes):
        votes = _two_class_histograms(n_teachers)
        largest = exact_rdp(aggregator, votes, orders).max(axis=0)
        cost = np.minimum(cost, largest + orders * _LOST_LOSS**2 / 2)
    elif noise is not None and noise.two_sided and noise.scale <= _LARGEST_SEARCHED:
        widest_margin = math.inf if n_teachers is None else n_teachers / noise.scale
        near = orders / noise.scale < _MOST_COMPUTED
        if near.any():
            largest = argmax_rdp(noise, orders[near], widest_margin)
            cost[near] = np.minimum(cost[near], largest * (1 + 1e-6))
    return cost, pure


def worst_case_pure(
    aggregator: Mechanism, *, n_teachers: int | None = None, n_classes: int | None = None
) -> float:
    """Compute the data-independent pure epsilon of one query.

    Parameters
    ----------
    aggregator : Aggregator
        The mechanism.
    n_teachers, n_classes : int, default=None
        Public numbers that bound the votes. If one of them is None, the result is
        `PrivacyBounds.pure_epsilon` of the mechanism.

    Returns
    -------
    float
        Pure epsilon; inf without a guarantee.

    Notes
    -----
    A noisy argmax of bounded counts is pure DP even with Gaussian noise (Lebensold, Precup, Balle
    (2024)). With two classes and up to 10,000 teachers, the largest loss over all histograms is
    computed. Otherwise, the move of a vote is split into two steps. The first step removes a vote
    from one class. It raises the probability of another class by at most the factor for these two
    classes alone, with counts that differ by `n_teachers`: further classes only shift weight to
    larger noisy counts, where the ratio of distribution functions is smaller. The second step adds
    a vote to a class. It raises the probability of this class most if the lead of each other class
    is as large as possible, at most `n_teachers`. Both steps require noise with a log-concave
    density. The two steps are computed only for noise scales above ``n_teachers / 40``.

    Examples
    --------
    >>> from sklearn_pate.aggregators import GNMax, LNMax
    >>> from sklearn_pate.rdp import worst_case_pure
    >>> worst_case_pure(LNMax(0.05))
    0.1
    >>> round(worst_case_pure(GNMax(40.0), n_teachers=100, n_classes=10), 3)
    0.122
    """
    n_teachers, n_classes = check_public(n_teachers=n_teachers, n_classes=n_classes)
    return _pure(aggregator, bounds_of(aggregator), n_teachers, n_classes)


def _pure(
    aggregator: Mechanism, bounds: PrivacyBounds, n_teachers: int | None, n_classes: int | None
) -> float:
    """Return the pure epsilon of an aggregator with these bounds; see `worst_case_pure`."""
    pure = float(bounds.pure_epsilon)
    noise = bounds.argmax_noise
    if n_teachers is None or n_classes is None:
        return pure
    if _enumerable(aggregator, n_teachers, n_classes):
        log_proba = aggregator.outcome_log_proba(_two_class_histograms(n_teachers))
        # Consecutive histograms differ by one moved vote, and there are no other neighbours
        loss = Pairs.from_log_proba(log_proba[1:], log_proba[:-1]).largest_loss.max()
        if np.isnan(loss):  # an outcome that is impossible on both sides
            return pure
    elif noise is not None and n_teachers / noise.scale < _MOST_SCALES:
        most = n_teachers / noise.scale
        fewer = 1 / noise.scale - most
        other_classes = n_classes - 1
        by_taking = noise.log_win(fewer) - noise.log_win(-most)
        by_giving = noise.log_overtake(-fewer, other_classes) - noise.log_overtake(
            most, other_classes
        )
        loss = by_taking + by_giving
    else:
        return pure
    # Rounded up to be at least the true loss: log probabilities are accurate to about 1e-14, and a
    # loss is the sum of at most four; for large losses, 1e-9 covers the error of the quadrature
    return min(pure, float(loss * (1 + 1e-9)) + 1e-13)


def _enumerable(aggregator: Mechanism, n_teachers: int | None, n_classes: int | None) -> bool:
    """Return whether the exact cost of every histogram can be computed in reasonable time."""
    few = n_classes == 2 and n_teachers is not None and n_teachers <= _MOST_ENUMERATED
    return few and has_distribution(aggregator) and not aggregator.uses_student_proba


def _two_class_histograms(n_teachers: int) -> np.ndarray:
    first = np.arange(int(n_teachers) + 1)
    return np.column_stack([first, n_teachers - first])


def margin_rdp(
    aggregator: Aggregator, orders: ArrayLike, *, n_teachers: int, n_classes: int
) -> NDArray[np.float64]:
    """Compute the largest Renyi cost of one query for each half margin of its votes.

    The margin is the largest count minus the second largest. The half margin is half of it, rounded
    down to an integer; one teacher changes the half margin by at most 1. Smooth sensitivity and
    propose-test-release use these costs, which cover both directions of the divergence. The table
    of costs is public, but the half margin of a query is private.

    Parameters
    ----------
    aggregator : Aggregator
        The mechanism.
    orders : array-like of shape (n_orders,)
        Renyi orders, above 1.
    n_teachers, n_classes : int
        Number of teachers and of classes.

    Returns
    -------
    ndarray of shape (n_teachers // 2 + 1, n_orders)
        Row `j` is at least `exact_rdp` of all votes with a half margin of `j`.

    Notes
    -----
    With two classes, up to 10,000 teachers and a label-symmetric mechanism, the margin determines
    the sorted votes, and the cost is exact. Otherwise, the published bound of a noisy argmax, which
    covers one direction, is used for both: the larger of the bound at this half margin, with equal
    counts of all classes but the first, and the bound at the next smaller half margin, which covers
    the neighbours. The result is at most `worst_case_rdp`, and made non-increasing in the half
    margin. For all other mechanisms, and for a half margin of 0, the cost is `worst_case_rdp`.

    Examples
    --------
    >>> from sklearn_pate.aggregators import GNMax
    >>> from sklearn_pate.rdp import margin_rdp
    >>> margin_rdp(GNMax(40.0), [10.0], n_teachers=250, n_classes=2)[[0, 60, 125], 0].round(5)
    array([0.00394, 0.00091, 0.     ])
    """
    orders = check_orders(orders)
    n_teachers = check_count("n_teachers", n_teachers)
    n_classes = check_count("n_classes", n_classes, least=2)
    half_margins = np.arange(n_teachers // 2 + 1)
    bounds = bounds_of(aggregator)
    if _enumerable(aggregator, n_teachers, n_classes) and bounds.label_symmetric:
        return exact_rdp(
            aggregator, _two_class_histograms(n_teachers)[-half_margins.size :], orders
        )
    worst = worst_case_rdp(aggregator, orders, n_teachers=n_teachers, n_classes=n_classes)
    table = np.tile(worst, (half_margins.size, 1))
    if bounds.argmax_noise is not None:
        # The bounds depend on margins alone, so all other classes may have one vote
        votes = np.ones((half_margins.size, n_classes), dtype=int)
        votes[:, 0] += 2 * half_margins
        # Row by row, because all rows of a table of votes must have equal sums
        bound = np.concatenate([aggregator.published_rdp([row], orders) for row in votes])
        # The bounds cover one direction, so each row is at least the bound of the previous row.
        # Row 0 stays the worst case, because its neighbours may have another first class
        table[1:] = np.minimum(worst, np.maximum(bound[1:], bound[:-1]))
        table = np.maximum.accumulate(table[::-1])[::-1]  # from the largest margin down
    return table


def checked_rdp(sigma: float, answer_rdp: ArrayLike, orders: ArrayLike) -> NDArray[np.float64]:
    """Compute the largest Renyi cost of a noisy check followed, if it passes, by an answer.

    Parameters
    ----------
    sigma : float
        Standard deviation of the Gaussian noise on the checked number, which one teacher changes by
        at most 1.
    answer_rdp : array-like of shape (n_orders,)
        Data-independent cost of the answer.
    orders : array-like of shape (n_orders,)
        Renyi orders, above 1.

    Returns
    -------
    ndarray of shape (n_orders,)
        Cost of check and answer as one mechanism: the supremum, over the distance `x` from the
        threshold in units of `sigma` and over both directions, of
        ``log(F(x)**a F(x')**(1-a) + G(x)**a G(x')**(1-a) exp((a-1) R)) / (a - 1)`` for
        ``x' = x +- 1 / sigma``, where F is the probability to fail, G the probability to pass and R
        is `answer_rdp`. It is rounded up by 1e-6 relative, and is at most the sum of the costs of
        the check and the answer.

    Examples
    --------
    >>> from sklearn_pate.rdp import checked_rdp
    >>> checked_rdp(100.0, [0.004], [10.0]).round(4)  # little more than the answer
    array([0.004])
    >>> checked_rdp(1.0, [0.0], [10.0]).round(3)  # the check alone: at most a / (2 sigma**2)
    array([4.758])
    """
    orders = check_orders(orders)
    step = 1 / check_positive("sigma", sigma)
    answer_rdp = np.asarray(answer_rdp, dtype=float)
    as_two_mechanisms = answer_rdp + orders * step**2 / 2
    if not np.isfinite(answer_rdp).all():
        return as_two_mechanisms

    a = orders[:, None]
    gain = ((orders - 1) * answer_rdp)[:, None]

    def cost(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        failed = a * log_ndtr(-x) + (1 - a) * log_ndtr(-y)
        passed = a * log_ndtr(x) + (1 - a) * log_ndtr(y) + gain
        return np.logaddexp(failed, passed) / (a - 1)

    worst = answer_rdp  # the cost if the check is certain to pass
    # Beyond `far`, one outcome is almost certain, and the check costs nothing: 8 standard
    # deviations leave 1e-15, and order `a` weights outcomes like a move of `x` by `a` steps
    far = 8 + 1.2 * orders * step
    for forwards, side in itertools.product((True, False), (-1, 1)):
        x = far[:, None] * side * np.linspace(0, 1, 401)
        for _ in range(6):  # zoom in on the best point of this direction and side, 20 times each
            values = cost(x, x + step) if forwards else cost(x + step, x)
            worst = np.maximum(worst, values.max(axis=1))
            best = x[np.arange(orders.size), values.argmax(axis=1)]
            x = best[:, None] + (x[:, 1] - x[:, 0])[:, None] * np.linspace(-1.5, 1.5, 61)
    # The joint mechanism costs at most the sum of its two parts
    return np.minimum(as_two_mechanisms, round_up(worst * (1 + 1e-6), orders))


# --- the costliest votes of a noisy argmax --------------------------------------------------------
#
# The search covers all real numbers, which include all vote counts.


#: Highest level of the search. At this level, the other classes have almost no chance of winning.
#: The cost is then the cost with two classes, so higher levels do not cost more.
_HIGHEST = 20

#: Approximate difference of the logarithms of consecutive orders that are searched in full.
_ORDER_STEP = 0.35

#: Smallest cost of a local maximum on the grid that is searched further, relative to the largest
#: cost on the grid.
_HIGH_MAXIMUM = 0.8

#: Largest step of a search at its start, and later.
_FAR = 0.25
_FARTHEST = 2.0

#: Largest number of quadratic steps from the start of each order.
_MOST_STEPS = 15

#: Step of the difference quotients of slopes, from which curvatures are computed.
_APART = 1e-3

#: A search has reached a maximum if its quadratic rises by less than this fraction of the cost
#: within `_FAR`.
_NO_RISE = 1e-8


def argmax_rdp(noise: Noise, orders: np.ndarray, widest_margin: float) -> np.ndarray:
    """Compute the largest divergence of three outcomes if one vote moves.

    The outcomes are the class that loses the vote, the class that gains it, and neither, given the
    largest noisy count of all other classes. The level of votes is the lower of the two counts,
    minus this largest noisy count. All lengths are in noise scales.

    Parameters
    ----------
    noise : Noise
        Noise on each count.
    orders : ndarray of shape (n_orders,)
        Renyi orders.
    widest_margin : float
        Largest difference of two counts.

    Returns
    -------
    ndarray of shape (n_orders,)
        Divergences that were found, at most 1e-6 relative below the largest; inf for an order if
        its search ended at a border.
    """
    widest, lowest = _borders(noise, orders, widest_margin)
    increasing, place = np.unique(orders, return_inverse=True)
    cost, margin, second = _costliest(_Region(noise, widest, lowest), increasing)
    at_widest = (np.abs(margin) > widest * 0.999) & (widest < widest_margin - 1 / noise.scale)
    at_lowest = second + np.minimum(margin, 0) <= lowest
    return np.where(at_widest | at_lowest, np.inf, cost)[place]


def _borders(noise: Noise, orders: np.ndarray, widest_margin: float) -> tuple[float, float]:
    """Return the widest margin and the lowest level of the search."""
    one_vote = 1 / noise.scale
    # A divergence of order `a` weights outcomes like a move of `a` votes. So the costliest margin
    # and level grow in proportion to the order divided by the scale. The borders are far beyond
    # them. A search that ends at a border has no result, unless no larger margin is possible
    reach = orders.max() * one_vote
    widest = max(0.0, min(widest_margin - one_vote, 10 + 2.5 * reach))
    return widest, -8 - 1.2 * reach


class _Region:
    """Range of votes to search: all margins and levels within borders."""

    def __init__(self, noise: Noise, widest: float, lowest: float) -> None:
        self.noise = noise
        self.widest = widest
        self.lowest = lowest
        self.one_vote = 1 / noise.scale

    def local_maxima_of_grid(self, orders: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the costliest votes on each part of the grid, unless others cost much more.

        The result consists of the indices of the orders, and of the cost, the margin and the second
        count of the votes as rows. There may be two local maxima in each direction: one with counts
        near the largest count of the other classes, and one with counts far below it.
        """
        margin, level = _coarse_grid(self.widest, self.lowest)
        before, after = self._before_and_after(margin, level)
        there = Pairs.from_log_proba(before, after)
        back = Pairs.from_log_proba(after, before)
        ways = (there, 1, level), (back, -1, level + margin)
        is_low = level < -2
        edges = level[is_low].max(), level[~is_low].min()
        found = []
        for place, order in enumerate(orders):
            for pairs, sign, second in ways:
                cost = pairs.divergence(order)
                for part in (is_low, ~is_low):
                    best = np.where(part, cost, -1).argmax()
                    # A maximum at the edge between the two parts is not a local maximum
                    is_local_maximum = level[best] not in edges or cost[best] == cost.max()
                    height = cost[best] if is_local_maximum else 0
                    found.append((place, height, sign * margin[best], second[best]))
        local_maxima = np.array(found).T
        highest = local_maxima[1].reshape(orders.size, -1).max(axis=1)
        place = local_maxima[0].astype(int)
        is_high = local_maxima[1] >= _HIGH_MAXIMUM * highest[place]
        return place[is_high], local_maxima[1:, is_high]

    def _before_and_after(
        self, margin: np.ndarray, second: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return log probabilities of the outcomes of votes, before and after one vote moves."""
        half = self.one_vote / 2
        before = self.noise.log_other_classes(second + margin + half, second - half)
        after = self.noise.log_other_classes(second + margin - half, second + half)
        return before, after

    def cost_at(self, margin: np.ndarray, level: np.ndarray, orders: np.ndarray) -> np.ndarray:
        """Return the cost of a vote that crosses a margin, in the costlier direction."""
        before, after = self._before_and_after(margin, level)
        there = Pairs.from_log_proba(before, after).divergence(orders)
        return np.maximum(there, Pairs.from_log_proba(after, before).divergence(orders))

    def one_way(self, margin: np.ndarray, second: np.ndarray, orders: np.ndarray) -> np.ndarray:
        """Return the cost in one direction; a negative margin means a higher second count.

        This cost is smooth at margin 0; the larger of the costs in both directions has a kink.
        """
        return Pairs.from_log_proba(*self._before_and_after(margin, second)).divergence(orders)

    def one_way_and_slopes(
        self, votes: np.ndarray, orders: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the cost in one direction, and its slopes in margin and second count."""
        margin, second = votes
        half = self.one_vote / 2
        before, after = self._before_and_after(margin, second)
        slopes_before = self.noise.other_class_slopes(second + margin + half, second - half, before)
        slopes_after = self.noise.other_class_slopes(second + margin - half, second + half, after)
        pairs = Pairs.from_log_proba(before, after)
        cost = pairs.divergence(orders)
        return cost, _slopes(pairs, slopes_before, slopes_after, orders, cost)

    def costlier_way(self, margin: np.ndarray, level: np.ndarray, orders: np.ndarray) -> np.ndarray:
        """Return cost, margin and second count in the costlier direction, as rows."""
        there = self.one_way(margin, level, orders)
        back = self.one_way(-margin, level + margin, orders)
        return np.where(there >= back, [there, margin, level], [back, -margin, level + margin])


def _costliest(region: _Region, orders: np.ndarray) -> np.ndarray:
    """Find the costliest votes at each of several increasing orders.

    The rows of the result are the cost, the margin and the second count of these votes. With smooth
    noise, the costliest votes change smoothly with the order, so only a few orders are searched in
    full. At each other order, the search starts at votes interpolated between these orders. This
    order is searched in full only if the search finds no local maximum, or if another local maximum
    may have become the highest.
    """
    few = _spread(orders)
    if not region.noise.smooth or 2 * few.size > orders.size:
        return _search(region, orders)
    votes = np.empty((3, orders.size))
    votes[:, few] = _search(region, orders[few])
    rest = np.setdiff1d(np.arange(orders.size), few)
    through = PchipInterpolator(np.log(orders[few]), votes[1:, few], axis=1)
    start = through(np.log(orders[rest]))
    start[0] = np.clip(start[0], -region.widest, region.widest)
    votes[:, rest], is_top = _follow_slopes(region, orders[rest], start)
    is_only_maximum = _is_only_maximum(region, orders[few], votes[:, few])
    unclear = rest[~(is_top & is_only_maximum[np.searchsorted(few, rest) - 1])]
    if unclear.size:
        votes[:, unclear] = _search(region, orders[unclear])
    return votes


def _is_only_maximum(region: _Region, orders: np.ndarray, votes: np.ndarray) -> np.ndarray:
    """Return whether consecutive orders have the same local maximum.

    This is assumed if their costliest votes are near each other.
    """
    _, margin, second = votes
    is_ridge = region.one_way(margin[:-1], second[1:], orders[:-1]) > votes[0, :-1] * (1 - 1e-6)
    is_near = np.abs(np.diff(votes[1:])) < np.maximum(0.8, 0.6 * np.abs(votes[1:, :-1]))
    return is_near[0] & (is_near[1] | is_ridge)


def _spread(orders: np.ndarray) -> np.ndarray:
    """Return indices of a few orders with about equal ratios, including the first and last."""
    log_orders = np.log(orders)
    n_few = math.ceil((log_orders[-1] - log_orders[0]) / _ORDER_STEP) + 1
    requested = np.linspace(log_orders[0], log_orders[-1], n_few)
    places = np.searchsorted(log_orders, requested - 1e-9)
    return np.unique([0, *places, orders.size - 1])  # the last may differ by less than 1e-9


def _search(region: _Region, orders: np.ndarray) -> np.ndarray:
    """Return cost, margin and second count of the costliest votes at each order, as rows."""
    place, local_maxima = region.local_maxima_of_grid(orders)
    climbing = np.ones(place.size, dtype=bool)
    if region.noise.smooth:
        local_maxima, is_top = _follow_slopes(region, orders[place], local_maxima[1:])
        highest = np.zeros(orders.size)
        np.maximum.at(highest, place, local_maxima[0])
        climbing = ~is_top & (local_maxima[0] > 0.95 * highest[place])
    if climbing.any():
        cost, margin, second = local_maxima[:, climbing]
        start = np.array([cost, np.abs(margin), second + np.minimum(margin, 0)])
        order = orders[place[climbing]]
        _, margin, second = _climb(region, order, start)
        local_maxima[:, climbing] = region.costlier_way(margin, second, order)
    ascending = np.lexsort((local_maxima[0], place))
    last = np.flatnonzero(np.diff(place[ascending], append=orders.size))
    return local_maxima[:, ascending[last]]


def _slopes(
    pairs: Pairs, slopes_p: np.ndarray, slopes_q: np.ndarray, orders: np.ndarray, cost: np.ndarray
) -> np.ndarray:
    """Compute the slopes of `pairs.divergence(orders)`, which is `cost`, from log P and log Q.

    With r = P / Q and S the sum of Q r**a, the slope S' of S is the sum of
    ``Q ((r**a - 1 - a (r - 1)) (log Q)' + a (r**a - r) (log P - log Q)')``. No terms larger than
    this sum cancel, because the sums of P and of Q stay 1. The divergence has the slope
    S' / S / (a - 1).
    """
    a = orders[:, None]
    log_sum = (orders - 1) * cost
    with np.errstate(over="ignore", invalid="ignore"):
        power = np.expm1(a * pairs.log_ratio)
        ratio = np.expm1(pairs.log_ratio)
        share = np.exp(-log_sum)[:, None] * pairs.q
        of_q = share * (power - a * ratio)
        of_ratio = share * a * (power - ratio)
    # Where powers overflow, nothing cancels
    overflows = ~np.isfinite(of_ratio).all(axis=1) | (log_sum > 500)
    if overflows.any():
        a = a[overflows]
        log_p, log_q = pairs.log_p[overflows], pairs.log_q[overflows]
        weight = np.exp(a * log_p + (1 - a) * log_q - log_sum[overflows, None])
        of_q[overflows] = weight
        of_ratio[overflows] = a * weight
    slopes = np.einsum("ij,kij->ki", of_q, slopes_q)
    slopes += np.einsum("ij,kij->ki", of_ratio, slopes_p - slopes_q)
    return slopes / (orders - 1)


def _coarse_grid(widest: float, lowest: float) -> np.ndarray:
    """Return a grid of margins and levels, as rows, that is dense enough for all maxima."""
    # 300 and -130 are outside all borders, because order / scale is below `_MOST_COMPUTED`
    margins = np.concatenate([np.arange(0, 5, 0.5), np.geomspace(5, 300, 31)])
    margins = np.append(margins[margins < widest], widest)
    levels = np.concatenate([-np.geomspace(130, 2.5, 21), np.arange(-2, 2, 0.5), [2, 3, 4, 6, 10]])
    levels = np.append(levels[levels > 0.9 * lowest], _HIGHEST)
    return np.array(np.meshgrid(margins, levels)).reshape(2, -1)


# --- ascent with slopes, and without them --------------------------------------------------------


def _follow_slopes(
    region: _Region, orders: np.ndarray, start: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Search for the costliest votes of each order by repeated quadratic approximation.

    Parameters
    ----------
    region : _Region
        The votes of the search.
    orders : ndarray of shape (n_orders,)
        Renyi orders.
    start : ndarray of shape (2, n_orders)
        Margin and second count at the start.

    Returns
    -------
    best : ndarray of shape (3, n_orders)
        Cost, margin and second count of the costliest votes found.
    is_top : ndarray of shape (n_orders,)
        Whether the quadratic at these votes has no higher point nearby.
    """
    best = np.vstack([np.full(orders.size, -np.inf), start])
    slope = np.empty((orders.size, 2))
    curve = np.empty((orders.size, 2, 2))
    reach = np.full(orders.size, _FAR / 2)
    is_top = np.zeros(orders.size, dtype=bool)
    live = np.arange(orders.size)
    votes = start
    for _ in range(_MOST_STEPS):
        cost, slope_here, curve_here = _quadratic(region, votes, orders[live])
        better = cost > best[0, live]
        risen = live[better]
        best[0, risen] = cost[better]
        best[1:, risen] = votes[:, better]
        slope[risen] = slope_here[better]
        curve[risen] = curve_here[better]
        reach[live] = np.where(better, np.minimum(2 * reach[live], _FARTHEST), reach[live] / 8)

        slope_inside, curve_inside = _inside(best[:, live], slope[live], curve[live], region.widest)
        _, rise = _towards_top(slope_inside, curve_inside, _FAR)
        is_top[live] = rise < _NO_RISE
        step, _ = _towards_top(slope_inside, curve_inside, reach[live])
        going = ~is_top[live]
        live = live[going]
        if not live.size:
            break
        votes = best[1:, live] + _sizes(best[:, live]) * step[going].T
        votes[0] = np.clip(votes[0], -region.widest, region.widest)
    return best, is_top


def _sizes(best: np.ndarray) -> np.ndarray:
    """Return the units of steps in margin and second count; they grow with the margin."""
    return np.array([np.maximum(1, np.abs(best[1]) / 4), np.ones(best.shape[1])])


def _quadratic(
    region: _Region, votes: np.ndarray, orders: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the cost of each order's votes, its slopes (n, 2), and its curvatures (n, 2, 2)."""
    apart = _APART * np.array([[0, 1, 0], [0, 0, 1]])
    near = (votes[:, None] + apart[:, :, None]).reshape(2, -1)
    cost, slopes = region.one_way_and_slopes(near, np.tile(orders, 3))
    cost = cost.reshape(3, -1)
    slope, *changed = slopes.reshape(2, 3, -1).transpose(1, 2, 0)
    curve = np.stack([(there - slope) / _APART for there in changed], axis=1)
    return cost[0], slope, (curve + curve.transpose(0, 2, 1)) / 2


def _inside(
    best: np.ndarray, slope: np.ndarray, curve: np.ndarray, widest: float
) -> tuple[np.ndarray, np.ndarray]:
    """Return slopes and curvatures in units of cost and steps; slopes across a border are 0."""
    cost = np.maximum(best[0], 1e-300)  # the cost of a vote is 0 if rounding hides it
    sizes = _sizes(best).T
    slope = slope * sizes / cost[:, None]
    curve = curve * sizes[:, :, None] * sizes[:, None] / cost[:, None, None]
    at_border = np.where(slope[:, 0] > 0, best[1], -best[1]) >= widest
    slope[at_border, 0] = 0
    curve[at_border, 0, 1] = 0
    curve[at_border, 1, 0] = 0
    curve[at_border, 0, 0] = -1
    return slope, curve


def _towards_top(
    slope: np.ndarray, curve: np.ndarray, reach: np.ndarray | float
) -> tuple[np.ndarray, np.ndarray]:
    """Return the step to the maximum of each quadratic, (n, 2), and its rise, (n,).

    A step is at most `reach` along each principal axis of the quadratic, and exactly `reach` along
    an axis on which the quadratic is convex.
    """
    bend, axes = np.linalg.eigh(curve)
    slope = np.einsum("nij,ni->nj", axes, slope)
    reach = np.broadcast_to(reach, len(slope))[:, None]
    with np.errstate(all="ignore"):
        top = np.clip(-slope / bend, -reach, reach)
    along = np.where(bend < 0, top, np.copysign(reach, slope))
    rise = (slope * along + bend * along**2 / 2).sum(axis=1)
    return np.einsum("nij,nj->ni", axes, along), rise


def _climb(region: _Region, orders: np.ndarray, start: np.ndarray) -> np.ndarray:
    """Search for the costliest votes of each order without slopes.

    Each step moves to the costliest of 8 neighbouring votes or, if none costs more, halves their
    distance. A last distance of 2e-4 at a smooth maximum leaves a relative error of about its
    square.

    Parameters
    ----------
    region : _Region
        The votes of the search.
    orders : ndarray of shape (n_orders,)
        Renyi orders.
    start : ndarray of shape (3, n_orders)
        Cost, margin and level at the start.

    Returns
    -------
    ndarray of shape (3, n_orders)
        Cost, margin and level of the costliest votes found.
    """
    best = start.copy()
    # With Laplace noise the local maximum at margin 0 is only one vote wide
    last_step = 2e-4 * min(1, 30 * region.one_vote)
    directions = np.array([(i, j) for i in (-1, 0, 1) for j in (-1, 0, 1) if i or j])
    distance = np.full(orders.size, _FAR)
    live = np.arange(orders.size)
    while live.size:
        _, margin, level = best[:, live, None]
        along_level = distance[live, None]
        along_margin = along_level * np.maximum(1, margin / 4)
        margin = np.clip(margin + along_margin * directions[:, 0], 0, region.widest)
        level = np.clip(level + along_level * directions[:, 1], region.lowest, _HIGHEST)
        near_orders = np.repeat(orders[live], len(directions))
        cost = region.cost_at(margin.ravel(), level.ravel(), near_orders).reshape(margin.shape)
        chosen = np.arange(live.size), cost.argmax(axis=1)
        better = cost[chosen] > best[0, live] * (1 + 1e-9)
        near = np.array([cost[chosen], margin[chosen], level[chosen]])
        best[:, live[better]] = near[:, better]
        distance[live[~better]] /= 2
        live = live[distance[live] > last_step]
    return best
