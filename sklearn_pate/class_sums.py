"""Class sums: what every record says of every column, released at once and read as a classifier.

A row of a table becomes `psi`, numbers on the unit sphere. First the mean of all of them is
released, then, about this mean, counts of the classes, sums of `psi` by class and in all, and their
second moment. For both, `gather_...` computes private whole numbers and `publish_...` adds noise.
`Discriminants` reads the published sums. Schemas and estimators are elsewhere.
"""

import math
from functools import partial
from itertools import product
from typing import NamedTuple

import numpy as np
from sklearn.covariance import oas
from threadpoolctl import threadpool_limits

from ._sklearn import _safe_indexing
from .association import p_value_of_sums
from .encoding.targets import Target
from .rdp import (
    DEFAULT_ORDERS,
    Contribution,
    Cost,
    discrete_gaussian_mu_squared,
)
from .rdp.checks import check_orders
from .rdp.contribution import check_contribution
from .rdp.cost import bisect
from .rdp.discrete import DiscreteGaussian
from .runtime.isolation import suppress_output
from .runtime.workers import batch_size, run, threads_per_worker
from .secure import exact_type, plus_noise

#: Numbers of `psi` are whole multiples of this, and so exact in sums.
STEP = 2.0**-14

_PER_STEP = 2**14

#: A whole record has so many shares, where some count in part or share one ballot with others.
_SHARES = 2**12

#: Weights of the blocks beside the sums by class: the sum of `psi`, and the counts.
OF_TOTAL = 0.35
OF_COUNTS = 0.5

#: The constant column beside the centred ones.
CONSTANT = 0.3

#: The part of mu**2 that the mean costs.
OF_CENTRE = 0.1

#: Rows that are multiplied at once: their sums are exact in floats.
_ROWS = 4096

#: Part of the cost, at most, where a record joins or leaves instead of taking another's place.
_ONE_CHANGED = 0.45

#: How far apart classes may be: in directions of more spread as much, or further, and by how much.
_POWERS = (0.5, 1.0, 1.5, 2.0, 3.0)
_STEPS = np.exp(np.linspace(-14, 6, 81))

#: Log likelihood that a power costs, times its logarithm, where directions are noisy themselves.
#: With weak effects of many rare categories it was likelier by 20, and AUC fell by 0.03; with one
#: trait behind 40 answers by 110, and accuracy rose by 0.04.
_PENALTY = 40.0

#: What classes explain of the spread of a direction, at most.
_MOST_EXPLAINED = 0.8

#: More noise than computed, for what floats round.
_ROUNDED = 1 + 1e-9


class Centre(NamedTuple):
    """The mean of all rows, as released.

    Attributes
    ----------
    mean : ndarray of shape (n_columns,)
    """

    mean: np.ndarray

    def apply(self, psi):
        """Return rows about the mean, on the unit sphere, and a last column that is constant."""
        away = psi - self.mean
        away[~psi.any(axis=1)] = 0  # a row that could not be encoded stays one
        rows = np.column_stack([away, np.where(psi.any(axis=1), CONSTANT, 0.0)])
        return unit(rows)


class Sums(NamedTuple):
    """What was released about the centre.

    Attributes
    ----------
    counts : ndarray of shape (n_classes,)
    by_class : ndarray of shape (n_classes, n_columns)
        Sums of ``psi * (one_hot(y) - 1 / n_classes)``.
    total : ndarray of shape (n_columns,)
    moment : ndarray of shape (n_columns, n_columns)
    sd, sd_moment : float
        Standard deviations of the noise of a sum by class, and of the moment's diagonal.
    target : targets.Target
        Its values are the classes, or levels, of the sums.
    """

    counts: np.ndarray
    by_class: np.ndarray
    total: np.ndarray
    moment: np.ndarray
    sd: float
    sd_moment: float
    target: Target


def unit(rows):
    """Return rows on the unit sphere; rows of zeros stay."""
    norms = np.sqrt((rows * rows).sum(axis=1, keepdims=True))
    return rows / np.where(norms > 0, norms, 1.0)


def ticks_of(n_rows, units=None, weight=None, *, whole=_SHARES, target=None):
    """Return how many shares each record counts, and how many make a whole one.

    Parameters
    ----------
    n_rows : int
        Number of records.
    units : ndarray of shape (n_rows,), int, default=None
        The protected unit of each record, from 0: its records count one in all.
    weight : ndarray of shape (n_rows,), default=None
        What each record counts, clipped to [0, 1].
    whole : int
        Shares of a whole one, where not all count alike.
    target : targets.Target or None, default=None
        What records vote for; None are classes.

    Returns
    -------
    ndarray of shape (n_rows,), int
        Shares of each record.
    int
        Shares of a whole one.
    """
    splits_votes = target is not None and target.splits_votes
    if units is None and weight is None and not splits_votes:
        return np.ones(n_rows, dtype=np.int64), 1
    part = np.ones(n_rows) if weight is None else np.clip(weight, 0.0, 1.0)
    if units is not None:
        part = part / np.bincount(units)[units]
    return np.floor(part * whole).astype(np.int64), whole


def sensitivity(n_changed, of_moment, *, n_classes):
    """Return the L2 sensitivity of all blocks at their weights.

    Parameters
    ----------
    n_changed : int
        2 where a record takes the place of another, or changes; 1 where it joins or leaves.
    of_moment : float
        Weight of the second moment, at most `free_weight`.
    n_classes : int
        Number of classes.

    Returns
    -------
    float

    Notes
    -----
    With ``a = 1 - 1 / n_classes`` and ``x`` the product of two rows, the squared change is ``(a +
    OF_TOTAL**2) (2 - 2 x) + of_moment**2 (2 - 2 x**2)`` for two records of one class, and ``2 a +
    2 x / n_classes + OF_TOTAL**2 (2 - 2 x) + 2 OF_COUNTS**2 + of_moment**2 (2 - 2 x**2)`` for two
    of different ones. Each is a parabola, so the largest is at an end or at its vertex. Shorter
    rows change less: with ``of_moment**2 <= (a + OF_TOTAL**2) / 2`` the change grows in the longer
    length and is convex in the other, where no row at all is the other end. What counts in part, or
    as the mean of several records, lies between those that count whole. So does a record that is
    split between two levels: it is the mean of two with the same row and a class each.
    """
    a = 1 - 1 / n_classes
    square = of_moment**2
    if n_changed == 1:
        return math.sqrt(a + OF_TOTAL**2 + OF_COUNTS**2 + square)
    same = _largest(2 * a + 2 * OF_TOTAL**2 + 2 * square, -2 * a - 2 * OF_TOTAL**2, square)
    constant = 2 * a + 2 * OF_TOTAL**2 + 2 * OF_COUNTS**2 + 2 * square
    other = _largest(constant, 2 / n_classes - 2 * OF_TOTAL**2, square)
    return math.sqrt(max(same, other))


def _largest(constant, slope, square):
    """Return the largest ``constant + slope x - 2 square x**2`` of x from -1 to 1."""
    vertex = slope / (4 * square) if square else math.copysign(1, slope)
    x = min(max(vertex, -1.0), 1.0)
    return constant + slope * x - 2 * square * x**2


def free_weight(n_classes):
    """Return the largest weight of the second moment that adds nothing where records are replaced.

    At this weight the vertex of two records of one class is at the end, or the other parabola is as
    high as the first without a moment.
    """
    most = math.sqrt((1 - 1 / n_classes + OF_TOTAL**2) / 2)
    without = sensitivity(2, 0.0, n_classes=n_classes)
    if sensitivity(2, most, n_classes=n_classes) <= without:
        return most
    return bisect(lambda w: sensitivity(2, w, n_classes=n_classes) <= without, 0.0, most, 60)[0]


def noise_sizes(mu, *, n_classes):
    """Return the noise of the mean, of the sums by class and of the moment, for mu in all.

    Mu is that of a record that takes the place of another.
    """
    sd_centre = 2 / (mu * math.sqrt(OF_CENTRE)) * _ROUNDED
    weight = free_weight(n_classes)
    rest = mu * math.sqrt(1 - OF_CENTRE)
    sd = sensitivity(2, weight, n_classes=n_classes) / rest * _ROUNDED
    return sd_centre, sd, sd / weight


def sums_contribution(neighbors, *, of_one=_ONE_CHANGED):
    """Return the contribution of one unit to the mean and all sums.

    It is in units of the L2 sensitivity where a record is replaced, each block divided by its
    weight.

    Parameters
    ----------
    neighbors : rdp.Neighbors
        The neighboring data sets.
    of_one : float
        Part of the squared change, at most, where a unit is added or removed, not replaced.

    Returns
    -------
    rdp.Contribution
        Its `l2_squared`; the others are not known.
    """
    l2_squared = of_one if neighbors.n_units == 1 else 1.0
    return Contribution(l1=math.inf, l2_squared=l2_squared, linf=math.inf)


def centre_cost(noise_multiplier, contribution, orders=DEFAULT_ORDERS):
    """Return the cost of the mean alone: its part of that of the mean and all sums.

    Parameters
    ----------
    noise_multiplier, contribution, orders
        As in `sums_cost`.

    Notes
    -----
    `noise_sizes` gives the mean `OF_CENTRE` of mu squared where a record is replaced. Where one
    joins or leaves, the mean and the number of records change by ``1 + OF_COUNTS**2``, which is
    less than `_ONE_CHANGED` of the 4 that a replaced one changes.
    """
    cost = sums_cost(noise_multiplier, contribution, orders)
    part = OF_CENTRE * _ROUNDED
    return Cost(part * cost.rdp, part * cost.mu_squared, math.inf)


def sums_cost(noise_multiplier, contribution, orders=DEFAULT_ORDERS):
    """Return the cost of the mean and all sums.

    Parameters
    ----------
    noise_multiplier : float
        Noise standard deviation divided by the L2 sensitivity of all blocks together, where a
        record is replaced.
    contribution : rdp.Contribution
        From `sums_contribution`.
    orders : array-like of shape (n_orders,), default=DEFAULT_ORDERS
        Renyi orders, above 1.

    Returns
    -------
    Cost

    Notes
    -----
    What one record changes, each block beside its noise, is at most ``1 / noise_multiplier``. The
    noise of each block has at least ``noise_multiplier / STEP`` steps, so being discrete
    costs no more than it does at that number; see `rdp.discrete_gaussian_mu_squared`. Renyi cost:
    Canonne, Kamath, Steinke (2020), Proposition 5.
    """
    check_contribution(contribution)
    changed = contribution.l2_squared
    mu_squared = discrete_gaussian_mu_squared([noise_multiplier * _PER_STEP], [_PER_STEP**2])
    rdp = check_orders(orders) / (2 * noise_multiplier**2)
    return Cost(changed * rdp, changed * mu_squared, math.inf)


class GatheredTotal(NamedTuple):
    """The sum of all rows and their number, in whole steps: private.

    Attributes
    ----------
    total : ndarray of shape (n_columns,), int
    n_records : ndarray of shape (1,), int
    whole : int
        Shares of a whole record, from `ticks_of`.
    """

    total: np.ndarray
    n_records: np.ndarray
    whole: int


class GatheredSums(NamedTuple):
    """Counts, sums by class and second moment about a centre, in whole steps: private.

    Attributes
    ----------
    counts : ndarray of shape (n_classes,), int
    by_class : ndarray of shape (n_classes, n_columns), int
    moment : ndarray of shape (n_columns, n_columns), int
    whole : int
        Shares of a whole record, from `ticks_of`.
    target : targets.Target
        Its values are the classes, or levels, of the sums.
    """

    counts: np.ndarray
    by_class: np.ndarray
    moment: np.ndarray
    whole: int
    target: Target


def gather_total(rows, part, n_jobs=None, encode=np.asarray):
    """Return the sum of all rows and their number, a `GatheredTotal`.

    Parameters
    ----------
    rows, part, n_jobs, encode
        As in `gather_sums`.
    """
    amount, whole = part
    kind = exact_type(len(amount) * whole * _PER_STEP)
    return GatheredTotal(*_added(_mean_of, n_jobs, encode, kind, rows, amount), whole)


def publish_centre(gathered, sd, rng):
    """Return the mean of all rows, with noise of one standard deviation on each of their sums.

    The noisy number of records, at half the weight, is part of it: where a record is replaced, this
    costs nothing, as only one that cannot be encoded changes both.

    Parameters
    ----------
    gathered : GatheredTotal
        From `gather_total`.
    sd : float
        From `noise_sizes`.
    rng : numpy.random.Generator
        Source of the noise.

    Returns
    -------
    Centre
    """
    step = STEP / gathered.whole
    total = _noisy(gathered.total, sd, step, rng)
    count = max(_noisy(gathered.n_records * _PER_STEP, sd / OF_COUNTS, step, rng)[0], sd)
    mean = total / count
    variance = (sd / count) ** 2
    seen = max(mean @ mean, variance)
    return Centre(mean * max(0.0, 1 - len(mean) * variance / seen))


def gather_sums(rows, codes, part, centre, *, target, n_jobs=None, encode=np.asarray):
    """Return counts, sums by class and second moment of rows about a centre, a `GatheredSums`.

    Parameters
    ----------
    rows : array-like with n_rows rows
        The records.
    codes : ndarray of shape (n_rows,)
        Labels or numbers as codes, from ``target.encode``.
    part : (ndarray, int)
        From `ticks_of`.
    centre : Centre
        From `publish_centre`.
    target : targets.Target
        Its values are the classes, or levels, of the sums.
    n_jobs : int, default=None
        As in joblib. What is summed does not depend on it.
    encode : callable
        Returns `psi` of some rows, (n_rows, n_columns): each no longer than 1, and one of zeros
        adds nothing.
    """
    amount, whole = part
    kind = exact_type(len(amount) * whole * _PER_STEP**2)
    sums_of = partial(_sums_of, centre=centre, target=target)
    return GatheredSums(*_added(sums_of, n_jobs, encode, kind, rows, amount, codes), whole, target)


def publish_sums(gathered, sd, sd_moment, rng):
    """Return `Sums` with noise, of one column more, which is constant.

    Parameters
    ----------
    gathered : GatheredSums
        From `gather_sums`.
    sd, sd_moment : float
        From `noise_sizes`.
    rng : numpy.random.Generator
        Source of the noise.
    """
    counts, by_class, moment, whole, target = gathered
    centred, total = about_mean(by_class)
    step = STEP / whole
    return Sums(
        counts=_noisy(counts * _PER_STEP, sd / OF_COUNTS, step, rng),
        by_class=_noisy(centred, sd, step / target.n_values, rng),
        total=_noisy(total, sd / OF_TOTAL, step, rng),
        moment=_noisy_moment(moment, sd_moment, step * STEP, rng),
        sd=sd,
        sd_moment=sd_moment,
        target=target,
    )


def about_mean(by_class):
    """Return sums by class about their mean, and their total, in Python's whole numbers.

    Parameters
    ----------
    by_class : ndarray of shape (n_classes, n_columns), int
        Sums in whole steps.

    Returns
    -------
    centred : ndarray of shape (n_classes, n_columns), object
        Sums of ``one_hot(y) - 1 / n_classes``, in steps that are smaller by the number of classes.
    total : ndarray of shape (n_columns,), object
        Sums over all classes, in the steps of `by_class`.
    """
    by_class = by_class.astype(object)  # times many classes, 64 bits may be too few
    total = by_class.sum(axis=0)
    return len(by_class) * by_class - total, total


def _added(sums_of, n_jobs, encode, kind, *records):
    """Add up, in a type of whole numbers, the sums of blocks of rows, each exact in floats."""
    blocks = [slice(start, start + _ROWS) for start in range(0, len(records[-1]), _ROWS)]
    tasks = ((tuple(_safe_indexing(part, rows) for part in records),) for rows in blocks)
    added = None
    with threadpool_limits(threads_per_worker(n_jobs)):
        size = batch_size(len(blocks), n_jobs)
        for found in run(tasks, partial(_of_block, sums_of, encode), n_jobs, size):
            found = [part.astype(kind) for part in found]
            added = found if added is None else list(map(np.add, added, found))
    return added


def _of_block(sums_of, encode, block):
    with suppress_output():  # also where a worker runs it
        rows, *others = block
        return sums_of(encode(rows), *others)


def _mean_of(psi, amount):
    """Return the sum of the rows of a block, and their number."""
    steps = whole_steps(psi)
    return amount @ steps, np.array([amount @ steps.any(axis=1)])


def _sums_of(psi, amount, codes, *, centre, target):
    """Return counts, sums by class and second moment of a block, about the centre."""
    steps = whole_steps(centre.apply(psi))
    weighted = steps * amount[:, None]
    cast = target.contributions(codes, amount)
    counts = cast[steps.any(axis=1)].sum(axis=0)
    moment = (weighted.T.astype(float) @ steps.astype(float)).astype(np.int64)
    return counts, of_classes(steps, cast), moment


def of_classes(steps, cast):
    """Return sums of whole steps by class; no more rows than add up exactly in floats."""
    return (cast.T.astype(float) @ steps.astype(float)).astype(np.int64)


def whole_steps(psi):
    """Return rows in whole steps; one that is not finite, or longer than 1, becomes zeros.

    What the noise does not hide must not depend on a record, so none is refused.
    """
    steps = np.trunc(np.clip(psi, -1, 1) * (_PER_STEP * (1 - 1e-12)))
    fits = (steps * steps).sum(axis=1) <= _PER_STEP**2  # not of NaN
    return np.where(fits[:, None], steps, 0).astype(np.int64)


def _noisy(whole, sd, step, rng):
    """Return whole numbers of steps with noise on each, in units."""
    return plus_noise(whole, DiscreteGaussian(sd / step).sample(rng, whole.shape), step)


def _noisy_moment(whole, sd, step, rng):
    """Return a symmetric matrix with noise; off the diagonal, which counts twice, it is smaller."""
    n = len(whole)
    above = np.triu_indices(n, 1)
    noisy = np.zeros((n, n))
    noisy[above] = _noisy(whole[above], sd / math.sqrt(2) * _ROUNDED, step, rng)
    noisy += noisy.T
    noisy[np.diag_indices(n)] = _noisy(np.diag(whole), sd, step, rng)
    return noisy


class Discriminants:
    """Linear discriminants, as noisy as what was released.

    Each class's mean is pulled to the mean of all, direction by direction, as much as its known
    noise asks; shares of classes are pulled together likewise.

    Parameters
    ----------
    sums : Sums

    Attributes
    ----------
    slopes : ndarray of shape (n_classes, n_columns)
    constants : ndarray of shape (n_classes,)
    n : float
        The number of records, estimated.
    p_value : float
        Of the sums by class, if classes have equal means.
    """

    def __init__(self, sums):
        n_classes, n_columns = sums.by_class.shape
        self.n = _number(sums)
        counts = _shrunk_counts(sums, self.n)
        share = counts / self.n
        moment, rest, edge = _denoised(sums, self.n)
        mean, noise_of_mean = _mean(sums, self.n, moment, rest)
        variance, basis = np.linalg.eigh(moment - np.outer(mean, mean))
        variance = np.maximum(variance, 0.3 * rest)
        known = counts, mean, (sums.sd, noise_of_mean), variance, basis
        away = _class_means(sums.by_class, *known, penalty=_PENALTY)
        self.p_value = p_value_of_sums(
            sums.by_class,
            sums.counts,
            mean,
            sds=(sums.sd, sums.sd / OF_COUNTS, math.sqrt(noise_of_mean)),
            variance=variance,
            basis=basis,
            splits_votes=sums.target.splits_votes,
        )
        within, turn = np.linalg.eigh(np.diag(variance) - (away.T * share) @ away)
        within = np.maximum(within, max(0.3 * rest, min(0.4 * edge, 1 / n_columns)))
        slopes = away @ ((turn / within) @ turn.T)
        self.slopes = slopes @ basis.T
        self.constants = np.log(share) - (slopes * away).sum(axis=1) / 2 - self.slopes @ mean
        self._share = share
        self._means = mean + away @ basis.T
        self._spread = (basis @ turn) * np.sqrt(within)

    def logits(self, psi):
        """Return the logarithm of each class's rate, up to a constant for each row."""
        return psi @ self.slopes.T + self.constants

    def draw(self, n_rows, rng):
        """Draw rows of classes with these shares, means and covariance, (n_rows, n_columns)."""
        codes = rng.choice(len(self._share), size=n_rows, p=self._share)
        about = rng.standard_normal((n_rows, self._spread.shape[1])) @ self._spread.T
        return self._means[codes] + about


def public_discriminants(by_class, total, sds, n, public, *, proba_is_linear, target):
    """Return linear discriminants by noisy sums, and by the covariance of public rows.

    Parameters
    ----------
    by_class : ndarray of shape (n_classes, n_columns)
        Noisy sums of ``psi * (one_hot(y) - 1 / n_classes)``. The last column is constant.
    total : ndarray of shape (n_columns,)
        Noisy sums of `psi`.
    sds : (float, float)
        Standard deviations of the noise on sums by class, and on those of all.
    n : float
        The number of records.
    public : ndarray of shape (n_public, n_columns)
        `psi` of public rows.
    proba_is_linear : bool
        Whether the rates themselves are to be linear, by least squares, not their logarithms.
    target : targets.Target
        Its values are the classes, or levels, of the sums.

    Returns
    -------
    slopes : ndarray of shape (n_classes, n_columns)
    constants : ndarray of shape (n_classes,)
    p_value : float
        As in `Discriminants`.
    """
    n_classes = len(by_class)
    noisy_counts = n / n_classes + by_class[:, -1] / public[0, -1]
    counts = np.maximum(noisy_counts, 0.02 * n / n_classes)
    counts *= n / counts.sum()
    share = counts / n
    middle = public.mean(axis=0)
    covariance, _ = oas(public - middle, assume_centered=True)
    variance, basis = np.linalg.eigh(covariance)
    variance = np.maximum(variance, 0.02 * variance.mean())
    # The public mean, and how far the private one is from it
    noise_of_mean = (sds[1] / n) ** 2 + np.zeros((1, len(variance)))
    seen = (total / n - middle)[None] @ basis
    changed = _shrunk_means(seen, variance, noise_of_mean, n_free=1)
    mean = middle + basis @ changed[0]
    # The error that is left in a mean: two means of samples differ as well
    kept = np.divide(changed, seen, where=seen != 0, out=0 * seen)
    apart = variance * (1 / len(public) + 1 / n)
    error = noise_of_mean * np.maximum(kept, apart / (apart + noise_of_mean))
    p_value = p_value_of_sums(
        by_class,
        noisy_counts,
        mean,
        sds=(sds[0], sds[0] / public[0, -1], np.sqrt(error[0])),
        variance=variance,
        basis=basis,
        splits_votes=target.splits_votes,
    )
    means = _class_means(by_class, counts, mean, (sds[0], 0.0), variance, basis)
    # In directions in which the spread of all rows is 1, that of the means is what they explain
    means /= np.sqrt(variance)
    explained, turn = np.linalg.eigh((means.T * share) @ means)
    if proba_is_linear:
        slopes, constants = share[:, None] * means, share
    else:
        slopes = (means @ turn / (1 - np.minimum(explained, _MOST_EXPLAINED))) @ turn.T
        constants = np.log(share) - (slopes * means).sum(axis=1) / 2
    slopes = slopes / np.sqrt(variance) @ basis.T
    return slopes, constants - slopes @ mean, p_value


def _number(sums):
    """Return the number of records by what was released."""
    n_classes, n_columns = sums.by_class.shape
    trust = 1 / np.array([n_classes * (sums.sd / OF_COUNTS) ** 2, n_columns * sums.sd_moment**2])
    seen = np.array([sums.counts.sum(), np.trace(sums.moment)])
    return max((trust * seen).sum() / trust.sum(), 1.0)


def _shrunk_counts(sums, n):
    """Return counts that sum to n, pulled together as their noise asks (James and Stein)."""
    n_classes = len(sums.counts)
    away = sums.counts - sums.counts.mean()
    seen = (away**2).sum()
    noise = (n_classes - 1) * (sums.sd / OF_COUNTS) ** 2
    kept = max(0.0, 1 - noise / seen) if seen > 0 else 0.0
    counts = np.maximum(n / n_classes + kept * away, 0.02 * n / n_classes)
    return counts * n / counts.sum()


def _denoised(sums, n):
    """Return the second moment of a record without noise, the variance of the rest, and the edge.

    The noise is a Wigner matrix of known size: an eigenvalue below its edge says nothing; one above
    has moved up, and its eigenvector has turned, by known amounts (Benaych-Georges and Nadakuditi
    2011). All rows have length 1, which tells the trace.
    """
    n_columns = len(sums.moment)
    s = sums.sd_moment / math.sqrt(2)
    edge = 2 * s * math.sqrt(n_columns)
    values, vectors = np.linalg.eigh(sums.moment)
    seen = values > 1.05 * edge
    spikes = (values[seen] + np.sqrt(np.maximum(values[seen] ** 2 - edge**2, 0))) / 2
    kept = np.maximum(1 - n_columns * s**2 / spikes**2, 0)
    rest = (n - (spikes * kept).sum()) / max(n_columns - kept.sum(), 1)
    rest = max(rest, min(0.05 * n / n_columns, 0.5 * edge))
    vectors = vectors[:, seen]
    moment = (vectors * (np.maximum(spikes - rest, 0) * kept)) @ vectors.T
    moment += rest * np.eye(n_columns)
    return moment / n, rest / n, edge / n


def _mean(sums, n, moment, rest):
    """Return the mean of all rows, pulled to 0 as its noise asks, and the variance of its noise."""
    noise = (sums.sd / OF_TOTAL / n) ** 2
    values, vectors = np.linalg.eigh(moment)
    values = np.maximum(values, 0.3 * rest)
    return vectors @ (values / (values + noise) * (vectors.T @ sums.total / n)), noise


def _class_means(by_class, counts, mean, noise, variance, basis, penalty=0.0):
    """Return class means about that of all, in directions of a basis.

    The noise is the standard deviation of that on a sum, and the variance of that on the mean.
    """
    n_classes = len(counts)
    n = counts.sum()
    off = n / (n_classes * counts) - 1
    away = by_class / counts[:, None] + np.outer(off, mean)
    away -= counts / n @ away
    seen = noise[0] ** 2 * (1 - 1 / n_classes) / counts**2 + off**2 * noise[1]
    seen = seen[:, None] + np.outer(1 / counts - 1 / n, variance)  # that of sampling
    free = 1 - 1 / n_classes  # they sum to zero
    return _shrunk_means(away @ basis, variance, seen, n_free=free, penalty=penalty)


def _shrunk_means(away, variance, noise, *, n_free, penalty=0.0):
    """Return class means, each direction as near to the middle as its noise asks.

    What is expected of a direction is ``t * variance**power``: with a power of 1 classes are as far
    apart in every direction, beside its spread; with a larger one they differ where rows do. The
    likeliest t and power are taken; each mean counts as `n_free` numbers.
    """
    typical = np.exp(np.log(variance).mean())
    best = None
    for power, t in product(_POWERS, _STEPS):
        seen = t * typical * (variance / typical) ** power + noise
        fit = -(np.log(seen) + away**2 / seen).sum() / 2 * n_free - penalty * abs(math.log(power))
        if best is None or fit > best[0]:
            best = fit, seen
    return away * (1 - noise / best[1])
