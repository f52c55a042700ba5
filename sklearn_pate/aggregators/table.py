"""Mechanisms that add noise to every entry of a table of votes and release the whole table."""

from __future__ import annotations

import math
from abc import ABCMeta, abstractmethod
from numbers import Real
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone

from .._sklearn import CheckedEstimator, Interval
from ..rdp import (
    DEFAULT_ORDERS,
    DiscreteGaussian,
    DiscreteLaplace,
    Gaussian,
    Laplace,
)
from ..rdp.bounds import check_stated
from ..rdp.checks import as_array
from ..rdp.discrete import GRID, gaussian_table_cost, laplace_table_cost
from ..rdp.records import Record, gaussian_record, laplace_record, stated_record
from ..secure import noise_generator
from .base import NOISES, checked_scale, whole_ticks

if TYPE_CHECKING:
    from .._typing import Seed
    from ..rdp.contribution import Contribution
    from ..rdp.cost import Cost

#: Valid noise scales. Noise below a grid step has no effect, and noise above 1e9 votes exceeds the
#: votes of any table.
_SIZES = Interval(Real, GRID, 1e9, closed="both")


class TableMechanism(CheckedEstimator, metaclass=ABCMeta):
    """Base class of mechanisms that release a whole noisy table of votes.

    A table has a row for each cell of the feature space and a column for each class. A change of
    one protected unit changes few entries, so the cost of the whole table is small. A subclass
    defines `noisy`, `noise_std` and a proved `cost`. Parameters follow scikit-learn's conventions.
    """

    _parameter_constraints: dict = {}

    #: Whether the noise is sampled without rounding, from uniform integers.
    is_exact = False

    #: Kind of statistic in the table: "votes" in cells, or "sums" of columns by class.
    statistic = "votes"

    #: Whether the pure epsilon of `cost` is a guarantee with delta 0.
    is_pure = False

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Raise TypeError if a class defines its own sampler, but inherits `cost`."""
        super().__init_subclass__(**kwargs)
        sampled_by = ("noisy", "_noise", "noise_std")
        check_stated(cls, "cost", [name for name in sampled_by if hasattr(cls, name)])

    @property
    @abstractmethod
    def noise_std(self) -> float | None:
        """Standard deviation of the noise on an entry, in votes."""

    @abstractmethod
    def noisy(self, table: ArrayLike, random_state: Seed = None) -> NDArray[np.float64]:
        """Draw the noisy table.

        Parameters
        ----------
        table : array-like of shape (n_cells, n_classes)
            Votes, which are multiples of ``rdp.discrete.GRID``.
        random_state : int, SeedSequence, Generator or None, default=None
            Source of the noise; None is the operating system's generator.

        Returns
        -------
        ndarray of shape (n_cells, n_classes)
            Noisy votes, which may be negative.
        """

    @abstractmethod
    def cost(self, contribution: Contribution, orders: ArrayLike = DEFAULT_ORDERS) -> Cost:
        """Return the cost of the noisy table, which holds for every table.

        Parameters
        ----------
        contribution : rdp.Contribution
            Largest change of the table between neighboring data sets.
        orders : array-like of shape (n_orders,), default=DEFAULT_ORDERS
            Renyi orders, above 1.

        Returns
        -------
        rdp.Cost
        """

    def moments(self, table: ArrayLike) -> tuple[NDArray[np.float64], Any]:
        """Return the mean and the noise standard deviation of each noisy entry; private.

        Audits use them. A subclass that publishes other units than those of the table, or noise of
        several sizes, must define its own.

        Parameters
        ----------
        table : array-like of shape (n_cells, n_classes)
            Private table of votes.

        Returns
        -------
        mean : ndarray
            Mean of each entry.
        std : float or ndarray
            Standard deviation of the noise; 1.0 if there is no noise, so that audits can divide by
            it.
        """
        return np.asarray(table, dtype=float), self.noise_std or 1.0

    def with_scale(self, scale: float) -> Self | None:
        """Return a copy with noise of this scale, in votes; None if the noise is set.

        If `is_pure` is True, the pure epsilon must be proportional to ``1 / scale``.
        """
        return None


class _AddedNoise(TableMechanism):
    """Base class of mechanisms that add discrete or continuous noise to every entry.

    A subclass has two parameters: `noise`, and the scale of the noise. `_size` is the name of the
    latter. `_noise` returns the distribution of the noise, in votes or, if it is discrete, in grid
    steps.
    """

    _size: str

    @property
    def is_exact(self) -> bool:  # type: ignore[override]
        """Whether the noise is discrete."""
        return self.noise == "discrete"

    def noisy(self, table: ArrayLike, random_state: Seed = None) -> NDArray[np.float64]:
        """Draw the noisy table; see `TableMechanism.noisy`."""
        size = checked_scale(self, self._size)
        table = as_array("table", table, dtype=float)
        noise = self._noise(size).sample(noise_generator(random_state), table.shape)
        if self.is_exact:
            return (whole_ticks(table) + noise) * GRID
        # Rounded, because the last digits of a noisy float depend on the value without noise
        return np.round((table + noise) / GRID) * GRID

    def with_scale(self, scale: float) -> Self | None:
        """Return a copy with noise of this size; None if the noise is set."""
        is_set = getattr(self, self._size) is not None
        return None if is_set else type(self)(float(scale), self.noise)


class LaplaceMechanism(_AddedNoise):
    """Laplace noise on every entry of a table.

    Parameters
    ----------
    scale : float, default=None
        Scale of the noise, in votes, from 2**-20 to 1e9. With None, `PATEClassifier` calibrates it.
        For discrete noise and no other release, the calibrated scale is the number of votes that
        one protected unit changes, divided by `epsilon`.
    noise : {"discrete", "continuous"}, default="discrete"
        "discrete" is noise on the multiples of 2**-20 with probabilities proportional to
        ``exp(-abs(x) / scale)``, sampled exactly. It gives pure differential privacy (delta 0).
        "continuous" is floating-point noise, rounded to the same multiples.

    References
    ----------
    Dwork, McSherry, Nissim, Smith (2006). Calibrating noise to sensitivity in private data
    analysis. TCC. Mironov (2012). On significance of the least significant bits for differential
    privacy. CCS.

    Examples
    --------
    >>> from sklearn_pate.aggregators import LaplaceMechanism
    >>> from sklearn_pate.rdp import Contribution
    >>> mechanism = LaplaceMechanism(scale=2.0)
    >>> mechanism.cost(Contribution.of_counts(2)).pure
    1.0
    >>> mechanism.noisy([[100, 0], [20, 60]], random_state=0).round(1)
    array([[101.1,   3.1],
           [ 21.9,  58. ]])
    """

    _size = "scale"
    _parameter_constraints = {"scale": [_SIZES, None], "noise": [NOISES]}

    def __init__(
        self, scale: float | None = None, noise: Literal["continuous", "discrete"] = "discrete"
    ) -> None:
        self.scale = scale
        self.noise = noise

    is_pure = _AddedNoise.is_exact  # the cost of rounded noise does not hold with delta 0

    @property
    def noise_std(self) -> float | None:
        """Standard deviation of the noise on an entry, in votes; None if it is not set."""
        return None if self.scale is None else math.sqrt(2) * float(self.scale)

    def cost(self, contribution: Contribution, orders: ArrayLike = DEFAULT_ORDERS) -> Cost:
        """Return the cost of the noisy table; see `rdp.discrete.laplace_table_cost`."""
        scale = checked_scale(self, "scale")
        return laplace_table_cost(scale, contribution, orders, discrete=self.is_exact)

    def step_record(self, name: str, contribution: Contribution) -> Record:
        """Return the record of the noisy table; see `rdp.Event.records`."""
        inverse = 1 / checked_scale(self, "scale")
        if not math.isfinite(contribution.l1):
            return stated_record(name, self.cost(contribution))
        grid = GRID if self.is_exact else None
        return laplace_record(name, contribution, inverse_scale=inverse, grid=grid)

    def _noise(self, scale: float) -> DiscreteLaplace | Laplace:
        return DiscreteLaplace(GRID / scale) if self.is_exact else Laplace(scale)


class GaussianMechanism(_AddedNoise):
    """Gaussian noise on every entry of a table.

    At equal epsilon, Gaussian noise is smaller than Laplace noise if one protected unit changes
    many votes. Its guarantee requires a delta above 0.

    Parameters
    ----------
    sigma : float, default=None
        Standard deviation of the noise, in votes, from 2**-20 to 1e9. With None, `PATEClassifier`
        calibrates it.
    noise : {"discrete", "continuous"}, default="discrete"
        "discrete" is noise on the multiples of 2**-20 with probabilities proportional to
        ``exp(-x**2 / (2 * sigma**2))``, sampled exactly. "continuous" is floating-point noise,
        rounded to the same multiples. In real arithmetic, both have almost the same cost (see
        `rdp.discrete_gaussian_mu_squared`), unless `sigma` is nearly as small as 2**-20.

    References
    ----------
    Canonne, Kamath, Steinke (2020). The discrete Gaussian for differential privacy. NeurIPS.

    Examples
    --------
    >>> from sklearn_pate.aggregators import GaussianMechanism
    >>> from sklearn_pate.rdp import Contribution
    >>> cost = GaussianMechanism(sigma=10.0).cost(Contribution.of_counts(2))
    >>> epsilon, method = cost.epsilon(1e-5)
    >>> round(epsilon, 2), method
    (0.5, 'gaussian')
    """

    _size = "sigma"
    _parameter_constraints = {"sigma": [_SIZES, None], "noise": [NOISES]}

    def __init__(
        self, sigma: float | None = None, noise: Literal["continuous", "discrete"] = "discrete"
    ) -> None:
        self.sigma = sigma
        self.noise = noise

    @property
    def noise_std(self) -> float | None:
        """Standard deviation of the noise on an entry, in votes; None if it is not set."""
        return None if self.sigma is None else float(self.sigma)

    def cost(self, contribution: Contribution, orders: ArrayLike = DEFAULT_ORDERS) -> Cost:
        """Return the cost of the noisy table; see `rdp.discrete.gaussian_table_cost`."""
        sigma = checked_scale(self, "sigma")
        return gaussian_table_cost(sigma, contribution, orders, discrete=self.is_exact)

    def step_record(self, name: str, contribution: Contribution) -> Record:
        """Return the record of the noisy table; see `rdp.Event.records`."""
        grid = GRID if self.is_exact else None
        return gaussian_record(name, contribution, scale=checked_scale(self, "sigma"), grid=grid)

    def _noise(self, sigma: float) -> DiscreteGaussian | Gaussian:
        return DiscreteGaussian(sigma / GRID) if self.is_exact else Gaussian(sigma)


def dry_run_table(mechanism: TableMechanism, *, contribution: Contribution, n_classes: int) -> None:
    """Run a mechanism on a made-up table, so that errors occur before privacy is spent."""
    table = np.zeros((3, n_classes))
    table[0] = 100.0
    table[1, 0] = contribution.l1
    try:
        noise_std = mechanism.noise_std
        if not isinstance(noise_std, Real) or not 0 < noise_std < math.inf:
            raise ValueError(f"noise_std must be a finite number above 0; got {noise_std!r}")
        checked_noisy(clone(mechanism), table, noise_generator(0))
    except Exception as error:
        raise ValueError(
            f"{type(mechanism).__name__} failed in a dry run on a made-up table of 3 cells and "
            f"{n_classes} classes. {type(error).__name__}: {error}"
        ) from error


def checked_noisy(
    mechanism: TableMechanism, table: np.ndarray, noise: np.random.Generator
) -> np.ndarray:
    """Return a copy of the noisy table; raise ValueError for a wrong shape or wrong values."""
    noisy = np.asarray(mechanism.noisy(table, noise))
    if noisy.shape != table.shape or noisy.dtype.kind != "f" or not np.isfinite(noisy).all():
        raise ValueError(
            f"noisy of {type(mechanism).__name__} must return finite floats, in an array of the "
            f"same shape as its argument, {table.shape}"
        )
    # A copy, because the array may be part of a larger one, and its dtype may have metadata
    numbers = np.empty(noisy.shape)
    numbers[:] = noisy
    return numbers
