"""Rows drawn from class sums, and the rates that these sums tell of any row."""

import math
from copy import copy
from dataclasses import dataclass
from functools import cached_property, partial
from numbers import Real

import numpy as np
from scipy.special import softmax

from .._sklearn import Interval
from ..neighbors.electorate import told_of_noise
from ..neighbors.rates import floored
from ..rdp import DEFAULT_ORDERS
from ..rdp.checks import check_count
from ..sums import (
    CONSTANT,
    Centre,
    Discriminants,
    Sums,
    noise_sizes,
    released,
    released_centre,
    shares,
    sums_cost,
    unit,
)
from .base import ColumnSynthesizer
from .columns import Columns
from .released import ReleasedRates

#: Warned of, and refused, are fewer records beside the noise on all sums of a class. At 1, 2, 5 and
#: 8, digits had .09, .11, .34 and .60 right; at .6, 1.1, 2.1 and 4.9, the AUC of breast cancer was
#: .60, .71, .89 and .98.
LEAST_SIGNAL = 4
HOPELESS_SIGNAL = 1


@dataclass(frozen=True, eq=False, repr=False)
class ReleasedSums(ReleasedRates):
    """Class sums that were released, and what they say of any row: all of this is published.

    `PATEClassifier` has it as `table_` where nothing else was released.

    Attributes
    ----------
    schema : Columns
        What is public of the columns.
    centre : sums.Centre
        The mean of all rows, as released.
    sums : sums.Sums
        What was released about it.
    """

    schema: Columns
    centre: Centre
    sums: Sums

    #: Powers of the rates that are tried beside those of cells.
    powers = (0.0, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0)

    @cached_property
    def discriminants(self):
        """What follows from the sums, a `sums.Discriminants`."""
        return Discriminants(self.sums)

    @property
    def gain(self):
        """Log likelihood of the sums, less that of classes that are all alike."""
        return self.discriminants.gain

    def __repr__(self):
        n_classes, n_columns = self.sums.by_class.shape
        return f"ReleasedSums({n_classes} classes, {n_columns} columns)"

    def rates(self, X):
        """Return the rates of the classes of rows; see `ReleasedHistograms.rates`."""
        psi = self.centre.apply(_encoded(self.schema, self.schema.like(X)))
        return floored(softmax(self.discriminants.logits(psi), axis=1))


class ClassSums(ColumnSynthesizer):
    """Releases what every record says of every column, and draws public rows from it.

    For people who have no public rows. Each record becomes numbers from -1 to 1, by the declared
    bounds and categories. Their mean, their sums by class and their second moment are released
    once, with Gaussian noise. Linear discriminants follow from them, and rows whose classes have
    these means and this covariance. Where that is all that epsilon is spent on, the student learns
    the discriminants; else records or teachers vote on the rows.

    It suits many columns that each say a little. What shows only in columns together, such as their
    product, sums do not see.

    Parameters
    ----------
    bounds, categories, missing
        As in `MarginalSynthesizer`. The edges of bins are spread evenly from -1 to 1.
    n_rows : int, default=5000
        Number of rows to draw.
    share : float or None, default=None
        Share of epsilon that the sums may cost, above 0 and at most 1: of 1 nobody votes. None
        follows from public numbers, see `rules.share_of_sums`.
    noise_multiplier : float or None, default=None
        Noise beside what one record changes in all sums together: one over Gaussian mu, from 1/16
        to 100,000. None: `PATEClassifier` calibrates it.

    Attributes
    ----------
    schema_ : columns.Columns
        What is public of the table: fixed by `declare`.
    released_ : ReleasedSums
        What `draw` released.

    Notes
    -----
    A row is divided by its length, so that one record adds a row of length 1 at most to the sum of
    its class; `sklearn_pate.sums` has the sensitivity of all blocks together.

    References
    ----------
    McSherry, Mironov (2009) release such moments for recommendations. Benaych-Georges, Nadakuditi
    (2011) tell eigenvalues from noise.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_pate.synthesis import ClassSums
    >>> rng = np.random.default_rng(0)
    >>> labels = np.tile([0, 1], 500)
    >>> private = rng.normal(size=(1000, 3)) + labels[:, None]
    >>> sums = ClassSums(bounds=(-4, 5), missing=[], n_rows=4, noise_multiplier=2.0)
    >>> sums = sums.declare(private, classes=[0, 1])
    >>> round(sums.cost(n_moved=2).mu_squared, 3)
    0.25
    >>> sums.draw(private, labels, n_classes=2, noise=rng, rng=rng).shape
    (4, 3)
    >>> sums.released_.rates(np.array([[3.0, 3.0, 3.0], [-2.0, -2.0, -2.0]])).argmax(axis=1)
    array([1, 0])
    """

    is_exact = True

    #: Blocks of records summed in parallel; nothing that is released depends on it.
    n_jobs = None

    released_as = "noisy sums of the columns, by class"

    _parameter_constraints = {
        **ColumnSynthesizer._parameter_constraints,
        "share": [Interval(Real, 0, 1, closed="right"), None],
        "noise_multiplier": [Interval(Real, 2**-4, 1e5, closed="both"), None],
    }

    def __init__(
        self,
        bounds=None,
        *,
        categories=None,
        missing=None,
        n_rows=5000,
        share=None,
        noise_multiplier=None,
    ):
        self.bounds = bounds
        self.categories = categories
        self.missing = missing
        self.n_rows = n_rows
        self.share = share
        self.noise_multiplier = noise_multiplier

    def with_scale(self, scale):
        """Return a copy with this noise multiplier; None if it is set."""
        if self.noise_multiplier is not None:
            return None
        return copy(self).set_params(noise_multiplier=float(scale))

    def cost(self, n_moved, orders=DEFAULT_ORDERS):
        """Return what the sums cost, for every table; see `Synthesizer.cost`."""
        if self.noise_multiplier is None:
            raise ValueError("ClassSums has no noise yet: set noise_multiplier")
        n_moved = check_count("n_moved", n_moved)
        return sums_cost(float(self.noise_multiplier), n_moved, orders)

    def forecast(self, *, n_records, n_classes):
        """Say that the noise drowns the sums; see `Synthesizer.forecast`."""
        if n_records is None:
            return None
        n_needed = LEAST_SIGNAL * self._noise(n_classes)
        return told_of_noise("sums", n_records, n_needed, fewer=" or fewer columns")

    def obstacles(self, *, n_records, n_classes):
        """Say that the noise drowns all; see `Synthesizer.obstacles`."""
        if n_records is None or n_records > HOPELESS_SIGNAL * self._noise(n_classes):
            return ()
        return (self.forecast(n_records=n_records, n_classes=n_classes),)

    def _noise(self, n_classes):
        """Return the length of the noise on the sums of a class."""
        return self._sd(n_classes) * math.sqrt(self.schema_.width)

    def describe(self, *, n_records, n_classes):
        """Say how noisy the sums are; see `Synthesizer.describe`."""
        beside = "" if n_records is None else f", beside {n_records} records"
        return (
            f"{self.schema_.width} numbers for each of {n_classes} classes, of "
            f"{len(self.schema_.columns)} columns, with noise of standard deviation "
            f"{self._sd(n_classes):.3g} on each{beside}"
        )

    def _sd(self, n_classes):
        """Return the standard deviation of the noise on the sums of a class."""
        return noise_sizes(1 / float(self.noise_multiplier), n_classes=n_classes)[1]

    def _counted(self, X, codes, weight, groups, n_classes, noise):
        """Return the sums of records, as released."""
        multiplier = float(self.noise_multiplier)
        sd_centre, sd, sd_moment = noise_sizes(1 / multiplier, n_classes=n_classes)
        part = shares(len(X), groups, weight, is_split=codes.dtype.kind == "f")
        how = {"n_jobs": self.n_jobs, "encode": partial(_encoded, self.schema_)}
        centre = released_centre(X, part, sd_centre, noise, **how)
        about = {"n_classes": n_classes, **how}
        sums = released(X, codes, part, centre, sd, sd_moment, noise, **about)
        return ReleasedSums(self.schema_, centre, sums)

    def _drawn(self, released, noise, rng):
        """Draw rows from the discriminants' classes, means and covariance."""
        self.released_ = released
        n_rows = int(self.n_rows)
        about = released.discriminants.draw(n_rows, rng)
        constant = np.maximum(about[:, -1:], CONSTANT / 2)
        psi = released.centre.mean + CONSTANT * about[:, :-1] / constant
        psi = psi / np.maximum(psi[:, -1:], CONSTANT / 2)
        return self.schema_.gathered(np.clip(psi, -1, 1))


def _encoded(schema, X):
    """Return rows on the unit sphere."""
    return unit(schema.spread(X))
