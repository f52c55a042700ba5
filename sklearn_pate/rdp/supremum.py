"""Searches for the votes that cost most: of a noisy argmax, and of a noisy check with an answer.

Both go over real numbers, of which vote counts are some, so what they find covers all votes.
"""

import itertools

import numpy as np
from scipy.special import log_ndtr

from .checks import check_orders, check_positive
from .exact import Pairs, round_up

__all__ = ["argmax_rdp", "checked_rdp"]

#: Highest level that is looked at. There the other classes have no chance left, as with two
#: classes, so this border is a limit and no risk.
_HIGHEST = 20


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
    one_vote = 1 / noise.scale

    def cost_at(margin, level):
        """Cost in both directions, as a function of the order, of a vote that crosses a margin."""
        before = noise.log_rivals(level + margin + one_vote / 2, level - one_vote / 2)
        after = noise.log_rivals(level + margin - one_vote / 2, level + one_vote / 2)
        there = Pairs.from_log_proba(before, after)
        back = Pairs.from_log_proba(after, before)
        return lambda order: np.maximum(there.divergence(order), back.divergence(order))

    # A divergence of order a weighs outcomes as if the votes moved a times as far, so the worst
    # margin and level grow in proportion to order times vote. The borders are generous; a search
    # that ends at one of them has no answer, unless the margin is the largest that there is
    reach = orders.max() * one_vote
    largest = widest_margin - one_vote
    widest = max(0.0, min(largest, 10 + 2.5 * reach))
    lowest = -8 - 1.2 * reach
    start = _best_of_grid(cost_at, orders, widest, lowest)
    # With Laplace noise the peak at margin 0 is as narrow as one vote
    last_step = 2e-4 * min(1, 30 * one_vote)
    cost, margin, level = _climb(cost_at, orders, start, widest, lowest, last_step)
    at_widest = (margin > widest * 0.999) & (widest < largest)
    return np.where(at_widest | (level <= lowest), np.inf, cost)


def _best_of_grid(cost_at, orders, widest, lowest):
    """The largest cost at each order, and its margin and level, on a coarse grid."""
    # 300 and -130 are outside all borders, as callers keep order times vote below 100
    margins = np.concatenate([np.arange(0, 5, 0.5), np.geomspace(5, 300, 31)])
    margins = np.append(margins[margins < widest], widest)
    levels = np.concatenate([-np.geomspace(130, 2.5, 21), np.arange(-2, 2, 0.5), [2, 3, 4, 6, 10]])
    levels = np.append(levels[levels > 0.9 * lowest], _HIGHEST)
    margins, levels = np.meshgrid(margins, levels)
    cost = cost_at(margins.ravel(), levels.ravel())
    by_order = np.array([cost(order) for order in orders])
    best = by_order.argmax(axis=1)
    return by_order.max(axis=1), margins.ravel()[best], levels.ravel()[best]


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
