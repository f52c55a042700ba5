"""Public part of class sums: linear discriminants from noisy sums; no private record is read.

Noisy class means are shrunk, and the noisy second moment is denoised, according to the known noise.
All results are computed from published numbers, so they have no privacy cost.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import logsumexp, softmax

from ..association import p_value_of_sums
from .residuals import largest_distance
from .statistic import CONSTANT, WITHOUT_PUBLIC_ROWS, Sums

if TYPE_CHECKING:
    from ..encoding.targets import Target
    from .residuals import Residuals

#: Candidates for the distances between classes: powers of the variance of a direction, and factors.
#: With the covariance of public rows, a power below 1 makes noise in directions of little variance
#: look like effects: with 10 to 60 columns and few records, AUC was lower by up to 0.1.
_POWERS: tuple[float, ...] = (0.5, 1.0, 1.5, 2.0, 3.0)
_POWERS_WITH_PUBLIC_ROWS: tuple[float, ...] = (1.0, 1.5, 2.0, 3.0)
_STEPS = np.exp(np.linspace(-14, 6, 41))

#: Candidates of the powers for numbers, without a penalty. On fifteen textbook and made-up tables,
#: the mean R2 was 0.438, and 0.435 with the powers and the penalty of classes.
_POWERS_OF_NUMBERS = _POWERS_WITH_PUBLIC_ROWS

#: Penalty of a power other than 1 if the directions are noisy themselves. This number, times the
#: absolute logarithm of the power, is subtracted from the log likelihood. With weak effects of many
#: rare categories, the log likelihood of such a power was higher by 20, and AUC fell by 0.03. With
#: one trait behind 40 answers, it was higher by 110, and accuracy rose by 0.04.
_PENALTY = 40.0

#: Bounds of the least variance of a direction of public rows, relative to the mean variance. In
#: between, it is the number of columns divided by the number of public rows. With 3.4 public rows
#: for each column, noise in directions of little variance lowered AUC by up to 0.08. With many
#: public rows, a least variance of 0.3 lowered accuracy by 0.07 where classes are clusters.
_LEAST_VARIANCE = (0.02, 0.6)

#: Maximal fraction of the variance of a direction that classes explain.
_MOST_EXPLAINED = 0.8

#: Number of synthetic rows for expected values over records.
_N_SYNTHETIC = 4000

#: Candidates of the logarithm of the scale of the discriminants, and its standard deviation before
#: the residuals are seen. Scales were 0.12 to 1.01 on ten tables.
_LOG_SCALES = np.linspace(-3, 1, 81)
_SD_OF_LOG_SCALE = 1.0

#: Smallest mean curvature, summed over classes: 0.05 for the log odds of two classes, times the
#: square root of 2. With less, the discriminants are sure of nearly all records, and often too
#: sure: on diamonds, with a tenth of it, accuracy was lower by 0.03.
_MIN_CURVATURE = 0.05 * math.sqrt(2)

#: Length of the step. A whole step is too long where few columns decide the class of some records,
#: because the curvature there is larger than its mean: on Adult, AUC was then lower by 0.01. For
#: two classes, results were equal from 0.5 to 0.7 on Adult, pensions and very happy. With more
#: classes, the curvature varies more between records: with 0.45, accuracy was higher by 0.001 on
#: MNIST and lower by 0.02 for nine airlines.
_STEP_LENGTH_OF_TWO = 0.6
_STEP_LENGTH = 0.35


class Discriminants:
    """Linear discriminants from published sums without public rows.

    Class means are shrunk to the overall mean, direction by direction, by an amount that depends on
    the known noise. Class frequencies are shrunk to equal frequencies, also by the known noise. For
    numbers between two levels, the probability of the upper level is linear in the discriminant, by
    least squares, because the mean of the levels is the prediction.

    Parameters
    ----------
    sums : Sums
        Published sums.
    residuals : Residuals or None, default=None
        Published sums of rows times residuals of the discriminants from `sums` alone. If given, all
        discriminants are multiplied by one number, and the slopes are changed by a step of logistic
        regression. Their last column is nearly constant, so it changes the intercepts. `draw` does
        not depend on residuals.

    Attributes
    ----------
    slopes : ndarray of shape (n_classes, n_columns)
        Weights of the columns.
    constants : ndarray of shape (n_classes,)
        Constant terms.
    proba_is_linear : bool
        Whether the discriminants are class probabilities, as for numbers between two levels. If
        False, they are logarithms of class probabilities, up to a constant for each row.
    n : float
        Estimated number of records.
    p_value : float
        P-value of the sums by class, under equal class means.
    """

    def __init__(self, sums: Sums, residuals: Residuals | None = None) -> None:
        n_classes, n_columns = sums.by_class.shape
        self.n = _number(sums)
        counts = _shrunk_counts(sums, self.n)
        share = counts / self.n
        moment, rest, edge = _denoised(sums, self.n)
        mean, noise_of_mean = _mean(sums, self.n, moment, rest)
        variance, basis = np.linalg.eigh(moment - np.outer(mean, mean))
        variance = np.maximum(variance, 0.3 * rest)
        known = counts, mean, (sums.sd, noise_of_mean), variance, basis
        self.proba_is_linear = sums.target.splits_votes and n_classes == 2
        powers = _POWERS_OF_NUMBERS if self.proba_is_linear else _POWERS
        penalty = 0.0 if self.proba_is_linear else _PENALTY
        away, _ = _class_means(
            sums.by_class, *known, powers=powers, penalty=penalty, averages=not self.proba_is_linear
        )
        self.p_value = p_value_of_sums(
            sums.by_class,
            sums.counts,
            mean,
            sds=(sums.sd, sums.sd / WITHOUT_PUBLIC_ROWS.counts, math.sqrt(noise_of_mean)),
            variance=variance,
            basis=basis,
            splits_votes=sums.target.splits_votes,
        )
        within, turn = np.linalg.eigh(np.diag(variance) - (away.T * share) @ away)
        least = max(0.3 * rest, min(0.4 * edge, 1 / n_columns))
        within = np.maximum(within, least)
        slopes = away @ ((turn / within) @ turn.T)
        if self.proba_is_linear:
            slopes = _regression_on(slopes[1] - slopes[0], away, share, variance)
            constants = share
        else:
            constants = np.log(share) - (slopes * away).sum(axis=1) / 2
        self.slopes = slopes @ basis.T
        self.constants = constants - self.slopes @ mean
        self._share = share
        self._means = mean + away @ basis.T
        self._spread = (basis @ turn) * np.sqrt(within)
        if residuals is not None:
            self._improve(residuals, moment, least)

    def _improve(self, residuals: Residuals, moment: np.ndarray, least: float) -> None:
        """Multiply the discriminants by one number, and make a step of logistic regression.

        Discriminants are often too sure, because classes are not normal with equal covariances. So
        slopes and constants are multiplied by the number that explains the published residuals
        best. The slopes are then changed by the rest of the published gradient, see `_newton_step`.
        Expected values are means over synthetic rows from the published mixture, with a fixed seed.
        Residuals are those of the discriminants before this change.
        """
        rows = self.draw(_N_SYNTHETIC, np.random.default_rng(0))
        rows /= np.linalg.norm(rows, axis=1, keepdims=True)  # the length of encoded rows
        logits = self.linear(rows)
        gradient = residuals.total / self.n
        gradient = gradient - gradient.mean(axis=0)  # without noise, these means are 0
        sd = residuals.sd / self.n
        scale = self._scale(gradient, sd, rows, logits)
        step = self._newton_step(gradient, sd, rows, (logits, scale * logits), moment, least)
        self.slopes = scale * self.slopes + step
        self.constants = scale * self.constants

    def _scale(
        self, gradient: np.ndarray, sd: float, rows: np.ndarray, logits: np.ndarray
    ) -> float:
        """Return the number by which the discriminants are multiplied.

        Each candidate predicts the inner product of the gradient and the discriminants. The
        published inner product is that of the right candidate, plus normal noise and the sampling
        error of the records. The result is the geometric mean of the candidates, weighted by their
        posterior probability. The prior of the logarithm is normal, with mean 0.
        """
        slopes = self.slopes.copy()
        last = max(rows[:, -1].mean(), CONSTANT / 2)  # this column is nearly constant
        slopes[:, -1] += self.constants / last
        slopes -= slopes.mean(axis=0)
        if not slopes.any():
            return 1.0
        proba = softmax(logits, axis=1)
        parts = rows @ slopes.T / largest_distance(proba)
        expected = (proba * parts).sum(axis=1)
        variance = ((proba * parts**2).sum(axis=1) - expected**2).mean() / self.n
        changes = np.array(
            [
                ((softmax(scale * logits, axis=1) * parts).sum(axis=1) - expected).mean()
                for scale in np.exp(_LOG_SCALES)
            ]
        )
        off = (gradient * slopes).sum() - changes
        noise = sd**2 * (slopes**2).sum() + variance
        fit = -(off**2) / noise / 2 - (_LOG_SCALES / _SD_OF_LOG_SCALE) ** 2 / 2
        return math.exp(softmax(fit) @ _LOG_SCALES)

    def _newton_step(
        self,
        gradient: np.ndarray,
        sd: float,
        rows: np.ndarray,
        logits: tuple[np.ndarray, np.ndarray],
        moment: np.ndarray,
        least: float,
    ) -> np.ndarray:
        """Return a change of the slopes, a damped Newton step, (n_classes, n_columns).

        The expected gradient is subtracted from the published one. The rest is divided by an
        approximate curvature of the log likelihood: the curvature between classes, times the moment
        of rows. It is shrunk by its noise and its sampling error, direction by direction. No
        curvature between classes is below its mean, which makes steps of rare classes shorter.

        Parameters
        ----------
        gradient : ndarray of shape (n_classes, n_columns)
            Published mean of the products of residuals and rows.
        sd : float
            Standard deviation of its noise.
        rows : ndarray of shape (n_rows, n_columns)
            Synthetic rows from the published mixture.
        logits : (ndarray, ndarray), each of shape (n_rows, n_classes)
            Discriminants of these rows: those of the residuals, and those to be changed.
        moment : ndarray of shape (n_columns, n_columns)
            Second moment of the records.
        least : float
            Smallest moment of a direction.
        """
        n_classes = len(gradient)
        before, proba = (softmax(part, axis=1) for part in logits)
        farthest = largest_distance(before)
        change = (proba - before) / farthest
        between, turn = np.linalg.eigh(_covariance_of_labels(proba, 1 / farthest))
        turn = turn[:, 1:]  # the first has no curvature: all classes change alike
        total = max(between[1:].sum(), _MIN_CURVATURE)
        curvature = np.maximum(between[1:], total / (n_classes - 1))[:, None]
        square = np.diag(turn.T @ _covariance_of_labels(proba, 1 / farthest**2) @ turn)
        error = ((change @ turn) ** 2).mean(axis=0) / len(rows)  # of so few synthetic rows
        moments, basis = np.linalg.eigh(moment)
        moments = np.maximum(moments, least)
        noise = sd**2 + np.outer(square / self.n + error, moments)
        rest = turn.T @ (gradient - change.T @ rows / len(rows)) @ basis
        shrunk, _ = _shrunk_means(
            rest / curvature,
            moments,
            noise / curvature**2,
            n_free=1.0,
            powers=_POWERS_WITH_PUBLIC_ROWS,
        )
        length = _STEP_LENGTH_OF_TWO if n_classes == 2 else _STEP_LENGTH
        return length * turn @ (shrunk / moments) @ basis.T

    def linear(self, psi: np.ndarray) -> np.ndarray:
        """Return the discriminants of encoded rows, (n_rows, n_classes)."""
        return psi @ self.slopes.T + self.constants

    def draw(self, n_rows: int, rng: np.random.Generator) -> np.ndarray:
        """Draw rows from a Gaussian mixture with these class frequencies, means and covariance."""
        codes = rng.choice(len(self._share), size=n_rows, p=self._share)
        about = rng.standard_normal((n_rows, self._spread.shape[1])) @ self._spread.T
        return self._means[codes] + about


def _covariance_of_labels(proba: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Return the weighted mean covariance of one-hot labels with these probabilities."""
    weighted = weight * proba
    return np.diag(weighted.mean(axis=0)) - weighted.T @ proba / len(proba)


def _regression_on(
    direction: np.ndarray, away: np.ndarray, share: np.ndarray, variance: np.ndarray
) -> np.ndarray:
    """Return the slopes of two probabilities by least squares on one direction, (2, n_columns).

    The covariance of the second probability with the columns is ``share[1] * away[1]``.
    """
    explained = share[1] * (away[1] @ direction)
    slope = explained / max((variance * direction**2).sum(), np.finfo(float).tiny) * direction
    return np.array([-slope, slope])


def public_discriminants(
    by_class: np.ndarray,
    total: np.ndarray,
    sds: tuple[float, float],
    n: float,
    public: np.ndarray,
    *,
    folded: slice,
    proba_is_linear: bool,
    target: Target,
) -> tuple[np.ndarray, np.ndarray, float]:
    """Return linear discriminants from noisy sums and the covariance of public rows.

    For classes, the slopes are averages of two models, weighted by their likelihood. In the first,
    effects of all columns have the same size. In the second, effects of folded ranks, which rise
    and then fall, have a size of their own: the effects of few tables are of both kinds.

    Parameters
    ----------
    by_class : ndarray of shape (n_classes, n_columns)
        Noisy sums of ``psi * (one_hot(y) - 1 / n_classes)``. Here `psi` is an encoded row, scaled
        to length 1. Its last entry is the same in all rows.
    total : ndarray of shape (n_columns,)
        Noisy sums of `psi`.
    sds : (float, float)
        Standard deviations of the noise on sums by class, and on the total.
    n : float
        Number of records.
    public : ndarray of shape (n_public, n_columns)
        `psi` of public rows.
    folded : slice
        Positions of the folded ranks.
    proba_is_linear : bool
        If True, the class probabilities are linear in `psi`, by least squares. If False, their
        logarithms are linear, up to a constant for each row.
    target : targets.Target
        Its values are the classes, or levels, of the sums.

    Returns
    -------
    slopes : ndarray of shape (n_classes, n_columns)
    constants : ndarray of shape (n_classes,)
    p_value : float
        As in `Discriminants`.
    """
    from sklearn.covariance import oas

    n_classes = len(by_class)
    noisy_counts = n / n_classes + by_class[:, -1] / public[0, -1]
    counts = np.maximum(noisy_counts, 0.02 * n / n_classes)
    counts *= n / counts.sum()
    share = counts / n
    middle = public.mean(axis=0)
    covariance, _ = oas(public - middle, assume_centered=True)
    variance, basis = np.linalg.eigh(covariance)
    least = np.clip(len(variance) / len(public), *_LEAST_VARIANCE)
    variance = np.maximum(variance, least * variance.mean())
    # The mean is the public mean plus the shrunk difference to the private mean
    noise_of_mean = (sds[1] / n) ** 2 + np.zeros((1, len(variance)))
    seen = (total / n - middle)[None] @ basis
    powers = _POWERS_WITH_PUBLIC_ROWS
    averages = not proba_is_linear
    changed, _ = _shrunk_means(
        seen, variance, noise_of_mean, n_free=1, powers=powers, averages=averages
    )
    mean = middle + basis @ changed[0]
    # The remaining error of the mean is at least the sampling error of both means
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
    whole: tuple[slice, ...] = (slice(None),)
    models = [(variance, basis, whole)]
    if averages and folded.start != folded.stop:
        models.append(_in_blocks((basis * variance) @ basis.T, folded))
    fits, found = [], []
    for of_model, directions, blocks in models:
        means, fit = _class_means(
            by_class,
            counts,
            mean,
            (sds[0], 0.0),
            of_model,
            directions,
            blocks=blocks,
            powers=powers,
            averages=averages,
        )
        fits.append(fit)
        found.append(means / of_model @ directions.T)
    # With unit variance of all rows, the variance of the means is the explained fraction
    means = np.tensordot(softmax(fits), found, axes=1) @ basis * np.sqrt(variance)
    explained, turn = np.linalg.eigh((means.T * share) @ means)
    if proba_is_linear:
        slopes, constants = share[:, None] * means, share
    else:
        slopes = (means @ turn / (1 - np.minimum(explained, _MOST_EXPLAINED))) @ turn.T
        constants = np.log(share) - (slopes * means).sum(axis=1) / 2
    slopes = slopes / np.sqrt(variance) @ basis.T
    return slopes, constants - slopes @ mean, p_value


def _in_blocks(
    covariance: np.ndarray, last: slice
) -> tuple[np.ndarray, np.ndarray, tuple[slice, ...]]:
    """Return uncorrelated directions in two blocks.

    The directions of the first block are those of all columns but the last ones. The directions of
    the second block are those of the last columns, minus their linear regression on the others.

    Parameters
    ----------
    covariance : ndarray of shape (n_columns, n_columns)
        Covariance of the columns; positive definite.
    last : slice
        Positions of the last columns, which may be none.

    Returns
    -------
    variance : ndarray of shape (n_columns,)
        Variance in each direction.
    basis : ndarray of shape (n_columns, n_columns)
        The directions, as columns. Those of the second block have a length above 1.
    blocks : tuple of slice
        Positions of the directions of each block.
    """
    is_last = np.zeros(len(covariance), dtype=bool)
    is_last[last] = True
    first, n_first = np.ix_(~is_last, ~is_last), int((~is_last).sum())
    variance, turn = np.linalg.eigh(covariance[first])
    basis = np.zeros_like(covariance)
    basis[~is_last, :n_first] = turn
    if n_first == len(covariance):
        return variance, basis, (slice(n_first),)
    shared = covariance[np.ix_(is_last, ~is_last)]
    regression = (shared @ turn / variance) @ turn.T
    of_last, turn = np.linalg.eigh(covariance[np.ix_(is_last, is_last)] - regression @ shared.T)
    basis[is_last, n_first:] = turn
    basis[~is_last, n_first:] = -regression.T @ turn
    blocks = slice(n_first), slice(n_first, len(covariance))
    return np.concatenate([variance, of_last]), basis, blocks


def _number(sums: Sums) -> float:
    """Estimate the number of records from the released sums."""
    n_classes, n_columns = sums.by_class.shape
    sd_counts = sums.sd / WITHOUT_PUBLIC_ROWS.counts
    trust = 1 / np.array([n_classes * sd_counts**2, n_columns * sums.sd_moment**2])
    seen = np.array([sums.counts.sum(), np.trace(sums.moment)])
    return max((trust * seen).sum() / trust.sum(), 1.0)


def _shrunk_counts(sums: Sums, n: float) -> np.ndarray:
    """Return counts that sum to n, shrunk to equal counts by their noise (James and Stein)."""
    n_classes = len(sums.counts)
    away = sums.counts - sums.counts.mean()
    seen = (away**2).sum()
    noise = (n_classes - 1) * (sums.sd / WITHOUT_PUBLIC_ROWS.counts) ** 2
    kept = max(0.0, 1 - noise / seen) if seen > 0 else 0.0
    counts = np.maximum(n / n_classes + kept * away, 0.02 * n / n_classes)
    return counts * n / counts.sum()


def _denoised(sums: Sums, n: float) -> tuple[np.ndarray, float, float]:
    """Return the denoised second moment, the variance in other directions, and the noise's edge.

    All three are per record. The noise is a Wigner matrix of known size; the edge is its largest
    eigenvalue. A signal below
    the edge cannot be detected. An eigenvalue above the edge is shifted up by noise, and its
    eigenvector is rotated, by known amounts (Benaych-Georges and Nadakuditi 2011). All other
    directions get the same variance. All rows have length 1, which determines the trace.
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


def _mean(sums: Sums, n: float, moment: np.ndarray, rest: float) -> tuple[np.ndarray, float]:
    """Return the mean of all rows, shrunk towards 0 according to its noise, and that variance.

    The second result is the variance of the noise on each entry of the mean.
    """
    noise = (sums.sd_total / n) ** 2
    values, vectors = np.linalg.eigh(moment)
    values = np.maximum(values, 0.3 * rest)
    return vectors @ (values / (values + noise) * (vectors.T @ sums.total / n)), noise


def _class_means(
    by_class: np.ndarray,
    counts: np.ndarray,
    mean: np.ndarray,
    noise: tuple[float, float],
    variance: np.ndarray,
    basis: np.ndarray,
    *,
    powers: tuple[float, ...],
    penalty: float = 0.0,
    blocks: tuple[slice, ...] = (slice(None),),
    averages: bool = True,
) -> tuple[np.ndarray, float]:
    """Return shrunk differences of class means from the overall mean, and their log likelihood.

    Parameters
    ----------
    by_class, counts, mean
        Noisy sums by class, their counts, and the mean of all rows.
    noise : (float, float)
        Standard deviation of the noise on a sum, and variance of the noise on the overall mean.
    variance, basis
        Variance of all rows in each direction, and the directions, which are uncorrelated and span
        a volume of 1, so that the likelihoods of bases are comparable.
    powers, penalty, averages
        As in `_shrunk_means`.
    blocks : tuple of slice
        Blocks of directions. The means of each block are shrunk by themselves.

    Returns
    -------
    means : ndarray of shape (n_classes, n_directions)
        Differences of the class means, in the directions.
    fit : float
        Logarithm of the likelihood.
    """
    n_classes = len(counts)
    n = counts.sum()
    off = n / (n_classes * counts) - 1
    away = by_class / counts[:, None] + np.outer(off, mean)
    away -= counts / n @ away
    away = away @ basis
    seen = noise[0] ** 2 * (1 - 1 / n_classes) / counts**2 + off**2 * noise[1]
    seen = np.outer(seen, (basis**2).sum(axis=0))
    seen += np.outer(1 / counts - 1 / n, variance)  # variance of sampling
    free = 1 - 1 / n_classes  # class means about the overall mean sum to zero
    shrunk, fits = zip(
        *(
            _shrunk_means(
                away[:, own],
                variance[own],
                seen[:, own],
                n_free=free,
                powers=powers,
                penalty=penalty,
                averages=averages,
            )
            for own in blocks
        ),
        strict=True,
    )
    return np.hstack(shrunk), sum(fits)


def _shrunk_means(
    away: np.ndarray,
    variance: np.ndarray,
    noise: np.ndarray,
    *,
    n_free: float,
    powers: tuple[float, ...],
    penalty: float = 0.0,
    averages: bool = True,
) -> tuple[np.ndarray, float]:
    """Shrink class means to zero in each direction, by an amount that depends on the noise.

    The expected square of a mean in a direction is ``t * variance**power``. With a power of 1, the
    distance between classes, divided by the standard deviation, is the same in every direction.
    With a larger power, classes differ more in directions of large variance. The number t and the
    power are candidates, weighted by their likelihood, in which each mean counts as `n_free`
    numbers, with a `penalty` on powers other than 1. The first result is the posterior mean over
    all candidates or, without `averages`, at the most likely candidate. Much noise leaves the
    choice open: for classes, the most likely candidate then lowered AUC by up to 0.04. For numbers,
    averages lowered R2 by up to 0.02. The second result is the logarithm of the mean likelihood of
    all candidates.
    """
    typical = np.exp(np.log(variance).mean())
    relative = (variance / typical) ** np.array(powers)[:, None]
    expected = (typical * _STEPS[:, None] * relative[:, None]).reshape(-1, len(variance))
    fit = np.repeat(-penalty * np.abs(np.log(powers)), len(_STEPS))
    for mean, own in zip(away, noise, strict=True):
        seen = expected + own
        fit -= (np.log(seen) + mean**2 / seen).sum(axis=1) / 2 * n_free
    weight = softmax(fit) if averages else np.eye(len(fit))[fit.argmax()]
    kept = [weight @ (expected / (expected + own)) for own in noise]
    return away * np.array(kept), float(logsumexp(fit) - math.log(len(fit)))
