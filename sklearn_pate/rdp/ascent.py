"""Ways up to the top of the cost of votes: along its slopes, and without them."""

import numpy as np

#: A search first goes no farther than this at once, and later no farther than that.
_FAR = 0.25
_FARTHEST = 2.0

#: Most quadratics that are followed from the start of each order.
_MOST_STEPS = 15

#: How far apart slopes are whose difference stands for a curvature.
_APART = 1e-3

#: A top is where a quadratic promises no larger rise, of the cost, within `_FAR`.
_NO_RISE = 1e-8


def follow_slopes(cost_and_slopes, orders, start, widest):
    """Go towards the top of a quadratic at the votes of each order, again and again.

    Parameters
    ----------
    cost_and_slopes : callable
        Of votes, (2, n), and orders: costs, (n,), and their slopes along both rows, (2, n).
    orders : ndarray of shape (n_orders,)
        Renyi orders.
    start : ndarray of shape (2, n_orders)
        Margin and second count to start at.
    widest : float
        Largest distance of the margin from 0.

    Returns
    -------
    best : ndarray of shape (3, n_orders)
        Cost, margin and second count of the costliest votes that were seen.
    is_top : ndarray of shape (n_orders,)
        Whether the quadratic there has nothing above them.
    """
    best = np.vstack([np.full(orders.size, -np.inf), start])
    slope = np.empty((orders.size, 2))
    curve = np.empty((orders.size, 2, 2))
    reach = np.full(orders.size, _FAR / 2)
    is_top = np.zeros(orders.size, dtype=bool)
    live = np.arange(orders.size)
    votes = start
    for _ in range(_MOST_STEPS):
        cost, slope_here, curve_here = _quadratic(cost_and_slopes, votes, orders[live])
        better = cost > best[0, live]
        risen = live[better]
        best[0, risen] = cost[better]
        best[1:, risen] = votes[:, better]
        slope[risen] = slope_here[better]
        curve[risen] = curve_here[better]
        reach[live] = np.where(better, np.minimum(2 * reach[live], _FARTHEST), reach[live] / 8)

        slope_inside, curve_inside = _inside(best[:, live], slope[live], curve[live], widest)
        _, rise = _towards_top(slope_inside, curve_inside, _FAR)
        is_top[live] = rise < _NO_RISE
        step, _ = _towards_top(slope_inside, curve_inside, reach[live])
        going = ~is_top[live]
        live = live[going]
        if not live.size:
            break
        votes = best[1:, live] + _sizes(best[:, live]) * step[going].T
        votes[0] = np.clip(votes[0], -widest, widest)
    return best, is_top


def _sizes(best):
    """Units of steps along margin and second count: wide margins take wide steps."""
    return np.array([np.maximum(1, np.abs(best[1]) / 4), np.ones(best.shape[1])])


def _quadratic(cost_and_slopes, votes, orders):
    """Cost of each order's votes, its slopes, (n, 2), and its curvatures, (n, 2, 2)."""
    apart = _APART * np.array([[0, 1, 0], [0, 0, 1]])
    near = (votes[:, None] + apart[:, :, None]).reshape(2, -1)
    cost, slopes = cost_and_slopes(near, np.tile(orders, 3))
    cost = cost.reshape(3, -1)
    slope, *moved = slopes.reshape(2, 3, -1).transpose(1, 2, 0)
    curve = np.stack([(there - slope) / _APART for there in moved], axis=1)
    return cost[0], slope, (curve + curve.transpose(0, 2, 1)) / 2


def _inside(best, slope, curve, widest):
    """Slopes and curvatures, relative to the cost and in steps; none across a border ahead."""
    cost = np.maximum(best[0], 1e-300)  # of a vote lost in rounding, the cost is 0
    sizes = _sizes(best).T
    slope = slope * sizes / cost[:, None]
    curve = curve * sizes[:, :, None] * sizes[:, None] / cost[:, None, None]
    at_border = np.where(slope[:, 0] > 0, best[1], -best[1]) >= widest
    slope[at_border, 0] = 0
    curve[at_border, 0, 1] = 0
    curve[at_border, 1, 0] = 0
    curve[at_border, 0, 0] = -1
    return slope, curve


def _towards_top(slope, curve, reach):
    """Steps to the top of each quadratic, (n, 2), and how far it rises on the way, (n,).

    No farther than `reach` along either of its axes: where it bends up, just so far.
    """
    bend, axes = np.linalg.eigh(curve)
    slope = np.einsum("nij,ni->nj", axes, slope)
    reach = np.broadcast_to(reach, len(slope))[:, None]
    with np.errstate(all="ignore"):
        top = np.clip(-slope / bend, -reach, reach)
    along = np.where(bend < 0, top, np.copysign(reach, slope))
    rise = (slope * along + bend * along**2 / 2).sum(axis=1)
    return np.einsum("nij,nj->ni", axes, along), rise


def climb(cost_at, orders, start, borders, last_step):
    """From the start of each order, move to the best of 8 neighbours or halve the distance.

    At a smooth maximum, the cost is flat: a last step of 2e-4 leaves about its square of the cost.

    Parameters
    ----------
    cost_at : callable
        Of margins and levels, (n,) each: a function from orders to costs.
    orders : ndarray of shape (n_orders,)
        Renyi orders.
    start : ndarray of shape (3, n_orders)
        Cost, margin and level to start at.
    borders : tuple of float
        Largest margin, lowest level, highest level.
    last_step : float
        Distance at which to stop.

    Returns
    -------
    cost, margin, level : ndarray of shape (n_orders,)
        Of the costliest votes that were seen.
    """
    best, margin, level = start.copy()
    widest, lowest, highest = borders
    directions = np.array([(i, j) for i in (-1, 0, 1) for j in (-1, 0, 1) if i or j])
    distance = np.full(orders.size, _FAR)
    live = np.arange(orders.size)
    while live.size:
        along_level = distance[live, None]
        along_margin = along_level * np.maximum(1, margin[live, None] / 4)
        near_margin = margin[live, None] + along_margin * directions[:, 0]
        near_margin = np.clip(near_margin, 0, widest)
        near_level = level[live, None] + along_level * directions[:, 1]
        near_level = np.clip(near_level, lowest, highest)
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
