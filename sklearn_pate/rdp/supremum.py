"""Searches for the votes that cost most: of a noisy argmax, and of a noisy check with an answer.

Both go over real numbers, of which vote counts are some, so what they find covers all votes.
"""

import itertools
import math

import numpy as np
from scipy.interpolate import CubicSpline
from scipy.special import log_ndtr

from .checks import check_orders, check_positive
from .exact import Pairs, round_up

__all__ = ["argmax_rdp", "checked_rdp"]

#: Highest level that is looked at. There the other classes have no chance left, as with two
#: classes, so this border is a limit and no risk.
_HIGHEST = 20

#: Logarithms of neighbouring orders that are searched differ by about this much.
_ORDER_STEP = 0.35

#: First step of a search, and of one that starts near the costliest votes.
_FAR = 0.25
_NEAR = 0.02

#: What a peak of the grid must cost, of the largest cost on it, to be searched.
_HIGH_PEAK = 0.8

#: Where the cost differs by less from level to level, a step of `_FAR` apart, it is a ridge: the
#: other classes have no chance.
_FLAT = 1e-9

#: Most quadratics that are laid through the costs near the votes of one order.
_MOST_NEWTON = 12


def argmax_rdp(noise, orders, widest_margin):
    """Largest divergence of three outcomes for one vote moved; all lengths in noise scales.

    The outcomes are the class that loses the vote, the one that gets it, and neither, given the
    largest noisy count of all others. The lower of the two counts, relative to that, is the level.

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
        From below, to 1e-6 relative. inf where the search ended at its border.
    """
    widest, lowest = _borders(noise, orders, widest_margin)
    increasing, place = np.unique(orders, return_inverse=True)
    cost, margin, second = _costliest(_Region(noise, widest, lowest), increasing)
    at_widest = (np.abs(margin) > widest * 0.999) & (widest < widest_margin - 1 / noise.scale)
    at_lowest = second + np.minimum(margin, 0) <= lowest
    return np.where(at_widest | at_lowest, np.inf, cost)[place]


def _borders(noise, orders, widest_margin):
    """Widest margin and lowest level that are looked at."""
    one_vote = 1 / noise.scale
    # A divergence of order a weighs outcomes as if the votes moved a times as far, so the worst
    # margin and level grow in proportion to order times vote. The borders are generous; a search
    # that ends at one of them has no answer, unless the margin is the largest that there is
    reach = orders.max() * one_vote
    widest = max(0.0, min(widest_margin - one_vote, 10 + 2.5 * reach))
    return widest, -8 - 1.2 * reach


class _Region:
    """The votes that are looked at: all levels and margins up to some borders."""

    def __init__(self, noise, widest, lowest):
        self.noise = noise
        self.widest = widest
        self.lowest = lowest
        self.one_vote = 1 / noise.scale
        self.grid = _coarse_grid(widest, lowest)

    def peaks_of_grid(self, orders):
        """Votes that are best on a part of the grid, and not far below the best of all.

        Returns the number of their order and their cost, margin and second count, as rows. There
        may be two peaks: with counts near the others' or far below, in either direction.
        """
        margin, level = self.grid
        before, after = self._before_and_after(margin, level)
        there = Pairs.from_log_proba(before, after)
        back = Pairs.from_log_proba(after, before)
        is_low = level < -2
        edges = level[is_low].max(), level[~is_low].min()
        peaks = []
        for place, order in enumerate(orders):
            for cost, sign, second in (
                (there.divergence(order), 1, level),
                (back.divergence(order), -1, level + margin),
            ):
                for part in (is_low, ~is_low):
                    best = np.where(part, cost, -1).argmax()
                    # What is best at the edge between the two parts is no peak
                    is_peak = level[best] not in edges or cost[best] == cost.max()
                    height = cost[best] if is_peak else 0
                    peaks.append((place, height, sign * margin[best], second[best]))
        peaks = np.array(peaks).T
        highest = peaks[1].reshape(orders.size, -1).max(axis=1)
        place = peaks[0].astype(int)
        is_high = peaks[1] >= _HIGH_PEAK * highest[place]
        return place[is_high], peaks[1:, is_high]

    def _before_and_after(self, margin, second):
        """Log probability of the outcomes of votes, and of those with one vote moved."""
        half = self.one_vote / 2
        before = self.noise.log_rivals(second + margin + half, second - half)
        after = self.noise.log_rivals(second + margin - half, second + half)
        return before, after

    def cost_at(self, margin, level):
        """Cost in both directions, as a function of the order, of a vote that crosses a margin."""
        before, after = self._before_and_after(margin, level)
        there = Pairs.from_log_proba(before, after)
        back = Pairs.from_log_proba(after, before)
        return lambda order: np.maximum(there.divergence(order), back.divergence(order))

    def one_way(self, margin, second, orders):
        """Cost in one direction; the margin is below 0 where the second count is the higher.

        It is smooth at margin 0, where the larger of both directions has a kink.
        """
        return Pairs.from_log_proba(*self._before_and_after(margin, second)).divergence(orders)

    def costlier_way(self, margin, level, orders):
        """Cost, margin and second count in the costlier direction, as rows."""
        there = self.one_way(margin, level, orders)
        back = self.one_way(-margin, level + margin, orders)
        return np.where(there >= back, [there, margin, level], [back, -margin, level + margin])


def _costliest(region, orders):
    """Cost, margin and second count of the costliest votes at increasing orders, as rows.

    With smooth noise the costliest votes move smoothly with the order. So a few orders are
    searched in full, and the others near the votes of those. Where that finds no top, or one peak
    has overtaken another, they are searched in full as well.
    """
    few = _spread(orders)
    if not region.noise.smooth or 2 * few.size > orders.size:
        return _search(region, orders)
    votes = np.empty((3, orders.size))
    votes[:, few] = _search(region, orders[few])
    rest = np.setdiff1d(np.arange(orders.size), few)
    start = _near(region, orders, few, votes, rest)
    votes[:, rest], is_top = _newton(region, orders[rest], start, _NEAR)
    is_one_peak = _is_one_peak(region, orders[few], votes[:, few])
    unclear = rest[~(is_top & is_one_peak[np.searchsorted(few, rest) - 1])]
    if unclear.size:
        votes[:, unclear] = _search(region, orders[unclear])
    return votes


def _is_one_peak(region, orders, votes):
    """Whether the votes of each order and the next are near each other, as on one peak."""
    _, margin, second = votes
    is_ridge = region.one_way(margin[:-1], second[1:], orders[:-1]) > votes[0, :-1] * (1 - 1e-6)
    is_near = np.abs(np.diff(votes[1:])) < np.maximum(0.8, 0.6 * np.abs(votes[1:, :-1]))
    return is_near[0] & (is_near[1] | is_ridge)


def _spread(orders):
    """Places of a few orders with about equal ratios, the first and the last among them."""
    log_orders = np.log(orders)
    n_few = math.ceil((log_orders[-1] - log_orders[0]) / _ORDER_STEP) + 1
    wanted = np.linspace(log_orders[0], log_orders[-1], n_few)
    return np.unique(np.searchsorted(log_orders, wanted - 1e-9))


def _near(region, orders, known, votes, places):
    """Costliest of the votes at the next known places, and of those interpolated."""
    through = CubicSpline(np.log(orders[known]), votes[1:, known], axis=1)
    margin, second = through(np.log(orders[places]))
    margin = np.clip(margin, -region.widest, region.widest)
    above = np.searchsorted(known, places)
    tried = [(margin, second), votes[1:, known[above - 1]], votes[1:, known[above]]]
    margin, second = np.concatenate(tried, axis=1)
    cost = region.one_way(margin, second, np.tile(orders[places], len(tried)))
    tried = np.array([cost, margin, second]).reshape(3, len(tried), -1)
    return tried[:, tried[0].argmax(axis=0), np.arange(places.size)]


def _search(region, orders):
    """Cost, margin and second count of the costliest votes at each order, as rows."""
    place, peaks = region.peaks_of_grid(orders)
    climbing = np.ones(place.size, dtype=bool)
    if region.noise.smooth:
        peaks, is_top = _newton(region, orders[place], peaks, _FAR)
        highest = np.zeros(orders.size)
        np.maximum.at(highest, place, peaks[0])
        climbing = ~is_top & (peaks[0] > 0.95 * highest[place])
    if climbing.any():
        cost, margin, second = peaks[:, climbing]
        start = cost, np.abs(margin), second + np.minimum(margin, 0)
        # With Laplace noise the peak at margin 0 is as narrow as one vote
        last_step = 2e-4 * min(1, 30 * region.one_vote)
        order = orders[place[climbing]]
        _, *top = _climb(region.cost_at, order, start, region.widest, region.lowest, last_step)
        peaks[:, climbing] = region.costlier_way(*top, order)
    ascending = np.lexsort((peaks[0], place))
    last = np.flatnonzero(np.diff(place[ascending], append=orders.size))
    return peaks[:, ascending[last]]


def _coarse_grid(widest, lowest):
    """Margins and levels, as rows, that are near every peak."""
    # 300 and -130 are outside all borders, as callers keep order times vote below 100
    margins = np.concatenate([np.arange(0, 5, 0.5), np.geomspace(5, 300, 31)])
    margins = np.append(margins[margins < widest], widest)
    levels = np.concatenate([-np.geomspace(130, 2.5, 21), np.arange(-2, 2, 0.5), [2, 3, 4, 6, 10]])
    levels = np.append(levels[levels > 0.9 * lowest], _HIGHEST)
    return np.array(np.meshgrid(margins, levels)).reshape(2, -1)


def _newton(region, orders, votes, first_step):
    """Go to the top of a quadratic through 9 points near the votes of each order, a few times.

    Returns the best votes that were seen, and whether they are a top: whether a quadratic that
    is narrow enough has nothing above them.
    """
    best = votes.copy()
    middle = votes[1:].copy()
    step = np.full(orders.size, first_step)
    step_second = step.copy()
    is_top = np.zeros(orders.size, dtype=bool)
    live = np.arange(orders.size)
    offsets = np.array(list(itertools.product((-1, 0, 1), (-1, 0, 1))))
    for _ in range(_MOST_NEWTON):
        margin, second = middle[:, live]
        across = np.minimum(step[live] * np.maximum(1, np.abs(margin) / 4), region.widest)
        room = region.widest - across  # so that all 9 points are inside
        margin = np.clip(margin, -room, room)
        near_margin = margin[:, None] + across[:, None] * offsets[:, 0]
        near_second = second[:, None] + step_second[live, None] * offsets[:, 1]
        order = np.repeat(orders[live], len(offsets))
        cost = region.one_way(near_margin.ravel(), near_second.ravel(), order)
        cost = cost.reshape(near_margin.shape)

        chosen = np.arange(live.size), cost.argmax(axis=1)
        better = cost[chosen] > best[0, live]
        near = np.array([cost[chosen], near_margin[chosen], near_second[chosen]])
        best[:, live[better]] = near[:, better]

        # In steps; widest is 0 for a single teacher, and then no step goes across
        limits = (np.array([-1, 1])[:, None] * region.widest - margin) / np.maximum(across, 1e-300)
        relative = cost / best[0, live, None]
        spread = np.ptp(relative.reshape(-1, 3, 3), axis=2).max(axis=1)
        is_flat = spread < _FLAT
        towards, top = _top_of_quadratic(relative, limits, is_flat)
        nearest = 4 + np.clip(np.rint(towards), -1, 1).T @ [3, 1]
        below = relative[np.arange(live.size), nearest.astype(int)]
        off = np.maximum(np.abs(top - below), np.abs(top - 1))
        # Rounding hides a slow rise from small steps
        too_small = (spread < 10 * _FLAT) & (step_second[live] < 0.06)
        is_level = (spread < 100 * _FLAT) & (np.abs(towards[1]) <= 0.1)
        is_narrow = ((step_second[live] < 0.04) | is_level) & ~too_small
        strides = np.abs(towards).max(axis=0)
        is_top[live] = (off < 1e-8) & (strides <= 2) & (step[live] < 0.04) & is_narrow
        towards /= np.maximum(1, strides / 2)
        margin += across * towards[0]
        second = second + step_second[live] * towards[1]
        middle[:, live] = np.where(better | (strides <= 2), [margin, second], best[1:, live])
        wider = np.where(better & (strides > 2), 4, 1 / 4)
        step[live] = np.minimum(step[live] * wider, _FAR)
        step_second[live] = np.minimum(step_second[live] * wider, _FAR)
        step_second[live[is_flat | too_small]] = _FAR
        live = np.flatnonzero(~is_top)
        if not live.size:
            break
    return best, is_top


def _top_of_quadratic(cost, limits, is_flat):
    """Highest point between two limits of the quadratic through 3 x 3 costs, and its height.

    The point is in steps from the middle, 4 where there is none.
    """
    cost = cost.reshape(-1, 3, 3)
    height = cost[:, 1, 1]
    slope = (cost[:, 2, 1] - cost[:, 0, 1]) / 2
    curve = cost[:, 2, 1] + cost[:, 0, 1] - 2 * height
    slope_second = (cost[:, 1, 2] - cost[:, 1, 0]) / 2
    curve_second = cost[:, 1, 2] + cost[:, 1, 0] - 2 * height
    twist = (cost[:, 2, 2] + cost[:, 0, 0] - cost[:, 2, 0] - cost[:, 0, 2]) / 4
    # On a ridge, rounding has its own opinion of where to go
    slope_second = np.where(is_flat, 0, slope_second)
    curve_second = np.where(is_flat, -1, curve_second)
    twist = np.where(is_flat, 0, twist)
    area = curve * curve_second - twist**2
    with np.errstate(all="ignore"):
        across = (twist * slope_second - curve_second * slope) / area
        # Where it only bends up, the highest point is at the limit that the slope points to
        across = np.where((curve < 0) & (area > 0), across, np.copysign(4.0, slope))
        across = np.clip(across, *limits)
        along = -(slope_second + twist * across) / curve_second
        along = np.where(curve_second < 0, along, np.copysign(4.0, slope_second))
    height = height + slope * across + slope_second * along
    height += (curve * across**2 + curve_second * along**2) / 2 + twist * across * along
    return np.array([across, along]), height


def _climb(cost_at, orders, start, widest, lowest, last_step):
    """From the start of each order, move to the best of 8 neighbours or halve the distance.

    At a smooth maximum, the cost is flat: a last step of 2e-4 leaves about its square of the cost.
    """
    best, margin, level = start
    directions = np.array([(i, j) for i in (-1, 0, 1) for j in (-1, 0, 1) if i or j])
    distance = np.full(orders.size, 0.25)
    live = np.arange(orders.size)
    while live.size:
        along_level = distance[live, None]
        along_margin = along_level * np.maximum(1, margin[live, None] / 4)
        near_margin = margin[live, None] + along_margin * directions[:, 0]
        near_margin = np.clip(near_margin, 0, widest)
        near_level = level[live, None] + along_level * directions[:, 1]
        near_level = np.clip(near_level, lowest, _HIGHEST)
        cost = cost_at(near_margin.ravel(), near_level.ravel())
        near_cost = cost(np.repeat(orders[live], len(directions))).reshape(near_margin.shape)
        chosen = np.arange(live.size), near_cost.argmax(axis=1)
        better = near_cost[chosen] > best[live] * (1 + 1e-9)
        moved = live[better]
        best[moved] = near_cost[chosen][better]
        margin[moved] = near_margin[chosen][better]
        level[moved] = near_level[chosen][better]
        distance[live[~better]] /= 2
        live = live[distance[live] > last_step]
    return best, margin, level


def checked_rdp(sigma, answer_rdp, orders):
    """Largest Renyi cost of a noisy check followed, if it passes, by an answer.

    Parameters
    ----------
    sigma : float
        Standard deviation of the Gaussian noise on what is checked, a number that one teacher
        changes by at most 1.
    answer_rdp : array-like of shape (n_orders,)
        Data-independent cost of the answer.
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
    orders = check_orders(orders)
    step = 1 / check_positive("sigma", sigma)
    answer_rdp = np.asarray(answer_rdp, dtype=float)
    as_two_mechanisms = answer_rdp + orders * step**2 / 2
    if not np.isfinite(answer_rdp).all():
        return as_two_mechanisms

    a = orders[:, None]
    gain = ((orders - 1) * answer_rdp)[:, None]

    def cost(x, y):
        failed = a * log_ndtr(-x) + (1 - a) * log_ndtr(-y)
        passed = a * log_ndtr(x) + (1 - a) * log_ndtr(y) + gain
        return np.logaddexp(failed, passed) / (a - 1)

    worst = answer_rdp  # the cost if the check is sure to pass
    # Beyond `far` one outcome is certain, and the check is free: 8 standard deviations leave 1e-15,
    # and order `a` weighs outcomes as if `x` had moved by `a` steps
    far = 8 + 1.2 * orders * step
    for forwards, side in itertools.product((True, False), (-1, 1)):
        x = far[:, None] * side * np.linspace(0, 1, 401)
        for _ in range(6):  # zoom in on the best point, 20 times each, of this direction and side
            values = cost(x, x + step) if forwards else cost(x + step, x)
            worst = np.maximum(worst, values.max(axis=1))
            best = x[np.arange(orders.size), values.argmax(axis=1)]
            x = best[:, None] + (x[:, 1] - x[:, 0])[:, None] * np.linspace(-1.5, 1.5, 61)
    # The cost of the one mechanism is at most that of the two after each other
    return np.minimum(as_two_mechanisms, round_up(worst * (1 + 1e-6), orders))
