"""Data-independent costs of one query: over all votes, of a given margin, behind a check."""

import itertools
import math

import numpy as np
from scipy.special import log_ndtr

from .checks import check_count, check_orders, check_positive, check_public
from .exact import Pairs, exact_rdp, round_up
from .facts import facts_of, has_distribution
from .published import pure_rdp
from .supremum import argmax_rdp

#: Two-class histograms are enumerated up to this many teachers.
_MOST_ENUMERATED = 10_000

#: Order times one vote, in noise scales: beyond it, other bounds on the cost are as good, and
#: the grid of the search ends.
_FAR = 100

#: Log ratio of probabilities that rounding may hide; order times half its square is its cost.
_LOST_LOSS = 1e-14

#: Noise scale beyond which rounding hides the cost of one vote from a search; other bounds hold.
_LARGEST_SEARCHED = 1e8

#: Number of teachers, in noise scales: beyond it, a noisy argmax has no pure epsilon of any use.
_MOST_SCALES = 40


def worst_case_rdp(aggregator, orders, *, n_teachers=None, n_classes=None):
    """Data-independent Renyi cost of one query: the largest over all votes, safe to publish.

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
        Costs; they add up over queries, adaptive ones too. inf without a guarantee.

    Notes
    -----
    The smallest of what follows from the mechanism's distribution and its `Facts`:

    - two classes and up to 10,000 teachers: the largest `exact_rdp` over all histograms;
    - the argmax of counts with independent noise (`argmax_noise`), any number of classes: given
      the noisy counts of all classes but the two that a vote moves between, only their maximum
      matters, and the divergence is jointly quasi-convex. So no histogram costs more than the
      largest divergence between three outcomes (the one class, the other, neither) over the
      distances of the two counts from that maximum, real numbers with a difference of at most
      `n_teachers`. The search is numerical; 1e-6 of the cost is added for its last digits. With
      one-sided noise the divergence is infinite;
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
    public = {"n_teachers": n_teachers, "n_classes": n_classes}
    return worst_case(aggregator, facts_of(aggregator), check_orders(orders), **public)[0]


def worst_case(aggregator, facts, orders, *, n_teachers, n_classes):
    """Return what `worst_case_rdp` and `worst_case_pure` do, of an aggregator with these facts."""
    n_teachers, n_classes = check_public(n_teachers=n_teachers, n_classes=n_classes)
    public = {"n_teachers": n_teachers, "n_classes": n_classes}
    cost = np.full(orders.size, np.inf)
    if facts.rdp is not None:
        cost = np.minimum(cost, _stated_rdp(aggregator, facts, orders, public))
    if facts.gdp_mu < math.inf:
        # Dong, Roth, Su (2022), Corollary B.6
        cost = np.minimum(cost, orders * facts.gdp_mu**2 / 2)
    pure = _pure(aggregator, facts, **public)
    if pure < math.inf:
        cost = np.minimum(cost, pure_rdp(pure, orders))
    noise = facts.argmax_noise
    if _enumerable(aggregator, n_teachers, n_classes):
        votes = _two_class_histograms(n_teachers)
        largest = exact_rdp(aggregator, votes, orders).max(axis=0)
        cost = np.minimum(cost, largest + orders * _LOST_LOSS**2 / 2)
    elif noise is not None and noise.two_sided and noise.scale <= _LARGEST_SEARCHED:
        widest_margin = math.inf if n_teachers is None else n_teachers / noise.scale
        near = orders / noise.scale < _FAR
        if near.any():
            largest = argmax_rdp(noise, orders[near], widest_margin)
            cost[near] = np.minimum(cost[near], largest * (1 + 1e-6))
    return cost, pure


def _stated_rdp(aggregator, facts, orders, public):
    stated = np.asarray(facts.rdp(orders, **public), dtype=float)
    if stated.shape != orders.shape or not (stated >= 0).all():
        raise ValueError(
            f"Facts.rdp of {type(aggregator).__name__} must return a cost of at least 0 for each "
            f"of {orders.size} orders; got shape {stated.shape}"
        )
    return stated


def worst_case_pure(aggregator, *, n_teachers=None, n_classes=None):
    """Data-independent pure epsilon of one query.

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
    (2024)). With two classes the largest loss over all histograms is computed. With more, the move
    of a vote is split in two. Taking a vote from one class raises another's chance by at most what
    it does between these two alone, `n_teachers` apart: the other classes only shift weight to
    larger noisy counts, where the ratio of distribution functions is smaller. Giving a class a
    vote raises its chance most when all others are far ahead, by at most `n_teachers` each. Both
    steps need noise with a log-concave density.

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
    return _pure(aggregator, facts_of(aggregator), n_teachers, n_classes)


def _pure(aggregator, facts, n_teachers, n_classes):
    """Return the pure epsilon of an aggregator with these facts; see `worst_case_pure`."""
    pure = float(facts.pure_epsilon)
    if n_teachers is None or n_classes is None:
        return pure
    if _enumerable(aggregator, n_teachers, n_classes):
        log_proba = aggregator.outcome_log_proba(_two_class_histograms(n_teachers))
        # Each histogram and the next differ by one vote, and are all the neighbours that there are
        losses = Pairs.from_log_proba(log_proba[1:], log_proba[:-1]).largest_loss
        if np.isnan(losses).any():  # an outcome that is impossible on both sides
            return pure
        return min(pure, _rounded_up(losses.max()))
    noise = facts.argmax_noise
    if noise is not None and n_teachers / noise.scale < _MOST_SCALES:
        return min(pure, _rounded_up(_pure_of_argmax(noise, n_teachers, n_classes)))
    return pure


def _pure_of_argmax(noise, n_teachers, n_classes):
    """Pure epsilon of a noisy argmax of bounded counts; see the notes of `worst_case_pure`."""
    most = n_teachers / noise.scale
    one_vote = 1 / noise.scale
    n_rivals = n_classes - 1
    by_taking = noise.log_win(one_vote - most) - noise.log_win(-most)
    by_giving = noise.log_overtake(most - one_vote, n_rivals) - noise.log_overtake(most, n_rivals)
    return by_taking + by_giving


def _rounded_up(epsilon):
    """Return a pure epsilon that is not below the true one.

    Log probabilities are known to about 1e-14, and an epsilon is the sum of four at most; of a
    large one, 1e-9 covers what quadrature leaves.
    """
    return float(epsilon * (1 + 1e-9)) + 1e-13


def _enumerable(aggregator, n_teachers, n_classes):
    """Whether all histograms are few, and the exact cost of each can be computed."""
    few = n_classes == 2 and n_teachers is not None and n_teachers <= _MOST_ENUMERATED
    return few and has_distribution(aggregator) and not aggregator.uses_student_proba


def _two_class_histograms(n_teachers):
    first = np.arange(int(n_teachers) + 1)
    return np.column_stack([first, n_teachers - first])


def margin_rdp(aggregator, orders, *, n_teachers, n_classes):
    """Data-independent Renyi cost of one query by half its margin, rounded down.

    The margin is the count of the first class minus that of the second; half of it, rounded down,
    is an integer that one teacher changes by at most 1. This is the cost in both directions that
    smooth sensitivity and propose-test-release need. The table holds for every data set; the
    margin of a query is private.

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
        Row `j` is at least `exact_rdp` of all votes with a half margin of `j`.

    Notes
    -----
    With two classes the margin fixes the sorted votes, and the cost is exact. With more, a noisy
    argmax is charged the published bound in both directions: it is evaluated at all votes with
    that margin (all other classes level with the second) and at their neighbours, whose margin is
    smaller by at most 2, and made to fall with the margin. All other mechanisms are charged
    `worst_case_rdp` at every margin.

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
    facts = facts_of(aggregator)
    if _enumerable(aggregator, n_teachers, n_classes) and facts.label_symmetric:
        first = n_teachers - n_teachers // 2 + half_margins
        return exact_rdp(aggregator, np.column_stack([first, n_teachers - first]), orders)
    worst = worst_case_rdp(aggregator, orders, n_teachers=n_teachers, n_classes=n_classes)
    table = np.tile(worst, (half_margins.size, 1))
    if facts.argmax_noise is not None:
        # The bounds depend on margins alone, so all other classes may have one vote
        votes = np.ones((half_margins.size, n_classes), dtype=int)
        votes[:, 0] += 2 * half_margins
        # Row by row: the counts of a table of votes must have equal sums
        bound = np.concatenate([aggregator.published_rdp([row], orders) for row in votes])
        # A vote and its neighbour, for the two directions: the bounds cover one. Row 0 stays the
        # worst case, as its neighbours may have another first class
        table[1:] = np.minimum(worst, np.maximum(bound[1:], bound[:-1]))
        table = np.maximum.accumulate(table[::-1])[::-1]  # from the largest margin down
    return table


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
