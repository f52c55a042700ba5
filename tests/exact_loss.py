"""The exact privacy loss of whole fits: the noise that is really drawn, and what a record changes.

A fit adds independent integer noise to statistics, step by step. `losses_of` runs it on a data set,
and then on neighboring ones, each time with the same published numbers. So it sees the statistic
of each step given the outcome of all earlier steps, and the noise of each entry. The privacy loss
of the fit is the sum of the losses of all entries, whose distribution is known. The statement of a
fit, in which all costs are added, is compared with it. Nothing here uses a cost, a contribution or
a sensitivity of the library.
"""

import math
from typing import NamedTuple
from unittest import mock

import numpy as np
from scipy.special import log_ndtr

from sklearn_pate.fitting import inputs
from sklearn_pate.rdp.discrete import TICKS, DiscreteGaussian, DiscreteLaplace
from sklearn_pate.schema_release import ClassRelease, SchemaRelease
from sklearn_pate.secure import SystemGenerator

#: Number of losses of Laplace noise that are distinguished.
N_LOSSES = 4000

#: Label, or text, that no record of a neighboring data set has; the last in the order of texts.
RARE = "zzz"


class Added(NamedTuple):
    """Noise on a statistic: times `sizes`, changes are in units of the noise.

    Counts of texts, or labels, are published from `threshold` on.
    """

    kind: type
    sizes: np.ndarray
    statistic: np.ndarray
    noisy: np.ndarray
    threshold: float | None = None


def generator_of(rng):
    """Return the state of a generator before a draw, or the class of one without a state."""
    if isinstance(rng, SystemGenerator):
        return SystemGenerator
    state = rng.bit_generator.state
    return state["bit_generator"], *state["state"].values()


class Noise(np.ndarray):
    """Integer noise that calls `added` when it is added to a statistic."""

    kind = sizes = added = None

    def __array_finalize__(self, other):
        for name in ("kind", "sizes", "added"):
            setattr(self, name, getattr(other, name, None))

    def __setitem__(self, key, value):
        if isinstance(value, Noise):
            self.sizes[key] = value.sizes
        np.asarray(self)[key] = np.asarray(value)

    def __array_ufunc__(self, ufunc, method, *inputs, **given):
        inputs = [np.asarray(part) for part in inputs]
        if ufunc is not np.add:
            return getattr(ufunc, method)(*inputs, **given)
        statistic, noise = inputs
        return self.added(self.kind, self.sizes, statistic, noise)


class Recorder:
    """Records the noise of a run, or repeats the published numbers of an earlier one.

    Parameters
    ----------
    earlier : list of Added or None
        From an earlier run, on a neighboring data set.
    stop : int or None
        Number of draws after which the run is interrupted.
    raised : int
        Records by which the first draw of noise is raised, to see another outcome.
    """

    def __init__(self, earlier=None, stop=None, raised=0):
        self.earlier, self.stop, self.raised = earlier, stop, raised
        self.found, self.threshold = [], None
        self.generators, self.streams = [], []  # of each draw, and of each fit

    def added(self, kind, sizes, statistic, noise):
        """Return the noisy statistic of the earlier run, if there is one."""
        noisy = statistic.astype(object) + noise.astype(object)
        if not self.found:
            noisy = noisy + self.raised * TICKS
        if self.earlier is not None:
            before = self.earlier[len(self.found)]
            noisy, n_common = before.noisy, len(statistic)
            assert before.kind is kind and len(noisy) - n_common in (0, 1)
            noisy = noisy[:n_common]  # without a rare text
            assert before.sizes[:n_common].tolist() == sizes.tolist()
        self.found.append(Added(kind, sizes, statistic, noisy, self.threshold))
        if len(self.found) == self.stop:
            raise KeyboardInterrupt
        return noisy if statistic.dtype == object else noisy.astype(np.int64)

    def __enter__(self):
        patches = [
            (kind, "sample", self._sampler(kind, kind.sample))
            for kind in (DiscreteLaplace, DiscreteGaussian)
        ]
        of_classes, of_texts = ClassRelease.threshold, SchemaRelease.threshold

        def of_label(release, label):
            found = of_classes(release, label)
            if label == RARE:
                self.found[-1] = self.found[-1]._replace(threshold=found * TICKS)
            return found

        def of_text(release, sd):
            self.threshold = of_texts(release, sd)
            return self.threshold

        of_fit = inputs.seed_streams

        def streams(random_state, secure=False, **given):
            given |= {"n_attempts": given.get("n_attempts", 0)}
            self.streams.append(of_fit(random_state, secure, **given))
            return self.streams[-1]

        patches += [(inputs, "seed_streams", streams)]
        patches += [(ClassRelease, "threshold", of_label), (SchemaRelease, "threshold", of_text)]
        self._patches = [mock.patch.object(*patch) for patch in patches]
        for patch in self._patches:
            patch.start()
        return self

    def __exit__(self, *_):
        for patch in self._patches:
            patch.stop()

    def _sampler(self, kind, honest):
        def sample(noise, rng, shape):
            self.generators.append(generator_of(rng))
            values = honest(noise, rng, shape).view(Noise)
            inverse = noise.gamma if kind is DiscreteLaplace else 1 / noise.scale
            values.kind, values.added = kind, self.added
            values.sizes = np.full(values.shape, inverse)
            return values

        return sample


class Loss(NamedTuple):
    """The privacy loss of noise.

    Attributes
    ----------
    shifts : ndarray
        Changes of entries with Laplace noise, in units of the noise.
    mu_squared : float
        Sum of the squared changes of entries with Gaussian noise, in units of the noise.
    revealed : float
        Probability of outcomes that the other data set cannot have.
    """

    shifts: np.ndarray
    mu_squared: float
    revealed: float

    @property
    def largest(self):
        """The largest loss of any outcome."""
        return math.inf if self.mu_squared or self.revealed else math.fsum(self.shifts)

    def delta(self, epsilon):
        """Return a tight lower bound of the least delta at which this epsilon holds."""
        width = max(math.fsum(self.shifts), 1e-12) / N_LOSSES
        weights, least = np.ones(1), 0
        for shift in self.shifts:
            own, low = _laplace_losses(shift, width)
            weights, least = np.convolve(weights, own), least + low
        losses = (least + np.arange(len(weights))) * width
        of_noise = float(weights @ _gaussian_delta(epsilon - losses, math.sqrt(self.mu_squared)))
        return self.revealed + (1 - self.revealed) * of_noise

    def epsilon(self, delta):
        """Return a tight lower bound of the least epsilon at this delta."""
        low, high = 0.0, 100.0
        for _ in range(40):
            middle = (low + high) / 2
            low, high = (low, middle) if self.delta(middle) <= delta else (middle, high)
        return low


def _laplace_losses(shift, width):
    """Return the distribution of the loss of Laplace noise, rounded down, and its first place.

    The loss is `shift` if the noise is on the side of the first mean, with probability 1/2.
    Between both means it falls to ``-shift``.
    """
    low, high = math.floor(-shift / width), math.floor(shift / width)
    edges = np.clip(np.arange(low, high + 2) * width, -shift, shift)
    # P(loss < edge), for noise beyond (shift - edge) / 2
    below = 0.5 * np.exp(-(shift - edges) / 2)
    below[edges <= -shift], below[-1] = 0.0, 1.0
    return np.diff(below), low


def _gaussian_delta(epsilon, mu):
    if mu == 0:
        return np.maximum(0.0, -np.expm1(np.minimum(epsilon, 0)))
    upper = np.exp(log_ndtr(mu / 2 - epsilon / mu))
    return np.maximum(0.0, upper - np.exp(epsilon + log_ndtr(-mu / 2 - epsilon / mu)))


def losses_of(fit, data, neighbors, stop=None):
    """Return what `fit` returns for a data set, and the `Loss` of each neighboring one.

    Parameters
    ----------
    fit : callable
        ``fit(*data)`` must have a fixed seed.
    data : tuple
    neighbors : list of tuple
    stop : int or None
        `fit` is interrupted after this number of draws of noise, and must handle it.
    """
    with Recorder(stop=stop) as first:
        found = fit(*data)
    losses = []
    for other in neighbors:
        with Recorder(first.found, stop) as second:
            fit(*other)
        losses.append(loss_of(first.found, second.found))
    return found, losses


def loss_of(first, second):
    """Return the `Loss` of two runs with the same published numbers."""
    assert len(first) == len(second)
    shifts, mu_squared, hidden = [], 0.0, 1.0
    for one, two in zip(first, second, strict=True):
        n_common = len(two.statistic)
        change = two.statistic.astype(object) - one.statistic[:n_common].astype(object)
        change = np.abs(change.astype(float)) * two.sizes
        if one.kind is DiscreteLaplace:
            shifts += change[change > 0].tolist()
        else:
            mu_squared += math.fsum((change**2).ravel())
        if n_common < len(one.statistic):
            beyond = np.ravel((one.threshold - one.statistic[-1]) * one.sizes[-1])[0]
            is_laplace = one.kind is DiscreteLaplace
            tail = math.exp(-beyond) / 2 if is_laplace else math.exp(log_ndtr(-beyond))
            hidden *= 1 - tail
    return Loss(np.array(shifts), mu_squared, 1 - hidden)
