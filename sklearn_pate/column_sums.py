"""Records that vote with all of their columns: class sums beside public rows."""

import math
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

import numpy as np
from scipy.special import softmax
from sklearn.pipeline import make_pipeline, make_union
from sklearn.preprocessing import FunctionTransformer, Normalizer

from ._sklearn import Interval, StrOptions
from ._sklearn import softmax as softmax_of_rows
from .aggregators import TableMechanism
from .aggregators.base import checked_scale
from .electorate import CellForecast
from .memory import code_digest
from .neighbors.by_hand import (
    affine_by_hand,
    numbers_by_hand,
    scaler_by_hand,
    sharpened_by_hand,
    softmax_by_hand,
)
from .neighbors.cells import LEAST_RATE, deal_to_alike, numbers_of_public, sharpened
from .neighbors.electorate import BlockElectorate, told, told_of_noise
from .neighbors.transform import (
    RowVectorizer,
    closeness,
    fitted_on_public,
    transformed,
    transformed_private,
)
from .rdp import DEFAULT_ORDERS, DiscreteGaussian
from .rdp.discrete import SHARES
from .secure import in_64_bits, noise_generator, plus_noise
from .sums import (
    STEP,
    about_mean,
    of_classes,
    public_discriminants,
    shares,
    sums_contribution,
    sums_cost,
    whole_steps,
)
from .sums import unit as on_sphere
from .synthesis.released import ReleasedRates, SumsClassifier
from .synthesis.synthesizers import HOPELESS_SIGNAL, LEAST_SIGNAL

__all__ = ["ColumnSums", "ReleasedColumns", "SumsMechanism"]

#: The constant column, and the length of all others.
_CONSTANT = 0.3 / math.sqrt(1 + 0.3**2)
_LENGTH = 1 / math.sqrt(1 + 0.3**2)

#: The weight of the sums of all records.
_OF_TOTAL = 0.25

#: What one record adds, beside what two of one class change at most; rounded up.
_OF_ONE = 0.273

#: Most columns: a product of so many takes seconds, and its rounding may depend on other rows.
_MOST_COLUMNS = 2000

#: The spread of how close numbers are to the middle, beside that of numbers.
_OF_BENDS = 0.4


class SumsMechanism(TableMechanism):
    """Gaussian noise on sums of columns by class.

    Parameters
    ----------
    n_classes : int
        Number of classes.
    noise_multiplier : float or None, default=None
        Noise beside what one record changes: one over Gaussian mu. None: calibrated.

    Notes
    -----
    With ``a = 1 - 1 / n_classes``, b the squared weight of the sums of all records, and two records
    of one class, whose rows are ``d`` apart, the squared change is ``(a + b) d**2``, and d is at
    most ``2 _LENGTH``, as the constants are alike. Where classes differ, it is ``2 a + 2 x /
    n_classes + b d**2``, x the product of the rows: a line in x, at most 2 where they are equal and
    else below the first. It is ``a + b`` where a record joins or leaves, or cannot be encoded.
    Means of several records lie between. So does a record that is split between two levels: it is
    the mean of two with the same row and a class each.
    """

    is_exact = True

    _parameter_constraints = {
        "n_classes": [Interval(Integral, 2, None, closed="left")],
        "noise_multiplier": [Interval(Real, 2**-4, 1e5, closed="both"), None],
    }

    def __init__(self, n_classes, noise_multiplier=None):
        self.n_classes = n_classes
        self.noise_multiplier = noise_multiplier

    @property
    def noise_std(self):
        """Standard deviation of the noise on each sum, in records."""
        multiplier = checked_scale(self, "noise_multiplier")
        moved = (1 - 1 / self.n_classes + _OF_TOTAL**2) * (2 * _LENGTH) ** 2
        return math.sqrt(max(moved, 2.0)) * multiplier * (1 + 1e-9)

    def with_scale(self, scale):
        """Return a copy with this noise multiplier; None if it is set."""
        return type(self)(self.n_classes, float(scale)) if self.noise_multiplier is None else None

    def cost(self, contribution, orders=DEFAULT_ORDERS):
        """Return the cost of the noisy sums; see `sums.sums_cost`."""
        return sums_cost(checked_scale(self, "noise_multiplier"), contribution, orders)

    def noisy(self, table, random_state=None):
        """Draw the noisy sums, from whole numbers of steps, (n_columns, n_classes + 1)."""
        is_whole = np.asarray(table).dtype in (np.int64, object)
        if not is_whole or np.shape(table)[1:] != (self.n_classes + 1,):
            raise ValueError("SumsMechanism draws sums of columns in whole steps, by ColumnSums")
        step = STEP / SHARES / self.n_classes
        rng = noise_generator(random_state)
        noise = DiscreteGaussian(self.noise_std / step).sample(rng, table.shape).astype(object)
        # The weight of the sums of all records lies in their noise, so that these stay whole
        of_all = self.noise_std / _OF_TOTAL * (1 + 1e-9)
        noise[:, -1] = DiscreteGaussian(of_all / step).sample(rng, (len(table),))
        return plus_noise(table, noise, step)


def _scale(public, n_bends):
    """Return what columns of public numbers are divided by; the last may be bends.

    That is the root of a column's spread, so that wide ones count more, but not as much more. A
    column that does not vary is left out.
    """
    spread = public.std(axis=0)
    spread[spread <= 1e-12 * np.abs(public).max(axis=0)] = np.inf
    scale = np.sqrt(spread)
    if n_bends:
        typical = np.median(spread[:-n_bends])  # inf where most columns do not vary
        typical = typical if np.isfinite(typical) else 1.0
        scale[-n_bends:] = spread[-n_bends:] / (_OF_BENDS * np.sqrt(typical))
    return scale


def _rows(numbers, mean, scale):
    """Return numbers about their mean, in units of a scale, as rows of length 1."""
    return on_sphere((numbers - mean) / scale)


def _psi(numbers, mean, scale):
    """Return the same, a little shorter, with a last column that is constant."""
    rows = _LENGTH * _rows(numbers, mean, scale)
    return np.column_stack([rows, np.full(len(rows), _CONSTANT)])


def _summed(block, *, transformer, mean, scale, target):
    """Return sums of a `Block` of records by class, in whole steps, (n_classes, n_columns + 1).

    The last of the columns is constant. All else follows from public rows.
    """
    amount, whole = shares(len(block.codes), block.groups, block.weight, whole=SHARES)
    cast = target.contributions(block.codes, amount * (SHARES // whole))
    numbers = transformed_private(transformer, block.X, len(mean))
    return of_classes(whole_steps(_psi(numbers, mean, scale)), cast)


@dataclass(frozen=True, eq=False, repr=False)
class ReleasedColumns(ReleasedRates):
    """Noisy sums of columns by class, and what they say of any row: all of this is published.

    `PATEClassifier` has it as `table_` where records vote with all of their columns.

    Attributes
    ----------
    transformer : transformer
        Fitted on public rows.
    mean, scale : ndarray of shape (n_columns,)
        What is taken off the transformer's numbers, and what they are divided by.
    slopes : ndarray of shape (n_classes, n_columns)
        Weights of the numbers, once each row is divided by its length.
    constants : ndarray of shape (n_classes,)
    p_value : float
        Of the sums, if classes have equal means; see `association.p_value_of_sums`.
    class_counts : (ndarray of shape (n_classes,), float)
        Noisy number of records of each class, and the standard deviation of that noise.
    are_rates : bool
        Whether the rates are linear themselves, as those of two levels; else their logarithms are.
    """

    transformer: Any
    mean: np.ndarray
    scale: np.ndarray
    slopes: np.ndarray
    constants: np.ndarray
    p_value: float
    class_counts: tuple
    are_rates: bool = False

    def __repr__(self):
        n_classes, n_columns = self.slopes.shape
        return f"ReleasedColumns({n_classes} classes, {n_columns} columns)"

    def rates(self, X):
        """Return the rates of the classes, (n_samples, n_classes), of rows, each by itself."""
        return self.rates_of(_rows(transformed(self.transformer, X), self.mean, self.scale))

    def rates_of(self, rows):
        """Do the same for rows that are encoded already, (n_public, n_columns)."""
        linear = rows @ self.slopes.T + self.constants
        return sharpened(linear, 1.0) if self.are_rates else softmax(linear, axis=1)

    def by_hand(self):
        """Return fitted steps of scikit-learn's own that make the rates of rows."""
        rates = [FunctionTransformer(softmax_of_rows)]
        if self.are_rates:
            rates = sharpened_by_hand(1.0, LEAST_RATE)
        return [*self._rows_by_hand(), *affine_by_hand(self.slopes.T, self.constants), *rates]

    def to_sklearn(self, codes, weight):
        """Return a Pipeline of scikit-learn's own that says the same of these classes, weighted."""
        linear = self.slopes[codes], self.constants[codes] + np.log(weight)
        model = make_pipeline(*self._rows_by_hand(), softmax_by_hand(*linear, codes))
        return model.set_output(transform="default")

    def _rows_by_hand(self):
        """Return the steps of `_rows`."""
        numbers = numbers_by_hand(self.transformer)
        return [*numbers, scaler_by_hand(self.mean, self.scale), Normalizer()]


class ColumnSums(BlockElectorate):
    """Records that vote with all of their columns, each for its own class.

    Each record becomes a row of numbers: by public rows alone they are made, taken about their
    mean, divided by the root of their spread, and cut to length 1. Sums of these rows by class are
    released once, with Gaussian noise. Linear discriminants follow from them and from the public
    rows' covariance. They see what is added up of many columns, and not what shows where rows are
    near each other, as `neighbors.ReverseNeighbors` does.

    Give it as `base_estimator` of `PATEClassifier`. Without one, public numbers decide between the
    two, see `rules.columns_tell_more`.

    Parameters
    ----------
    bends : bool, default=True
        Whether columns of arrays are joined by how far each number is from the middle, as those of
        DataFrames are. Then effects that rise and fall are seen, through noise on twice as many
        sums.
    relation : {"replace_one", "add_or_remove_one"}, default="replace_one"
        As in `neighbors.ReverseNeighbors`.

    References
    ----------
    McSherry, Mironov (2009) release sums of bounded rows for recommendations.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from sklearn_pate import PATEClassifier
    >>> from sklearn_pate.column_sums import ColumnSums
    >>> X, y = make_classification(3000, 30, n_informative=20, class_sep=3.0, random_state=0)
    >>> clf = PATEClassifier(ColumnSums(), epsilon=1.0, classes=[0, 1], random_state=0)
    >>> clf.fit(X[:2000], y[:2000], X_public=X[2000:2500]).score(X[2500:], y[2500:]) > 0.7
    True
    >>> clf.table_
    ReleasedColumns(2 classes, 60 columns)
    """

    #: The share of the public rows' spread that cells would explain, where a rule chose sums.
    cells_explain = None

    released_as = "noisy sums of the columns, by class"

    _most_by_record = SHARES * round(1 / STEP)

    _parameter_constraints = {
        "bends": ["boolean"],
        "relation": [StrOptions({"replace_one", "add_or_remove_one"})],
    }

    def __init__(self, *, bends=True, relation="replace_one"):
        self.bends = bends
        self.relation = relation

    @staticmethod
    def suits(X_public):
        """Whether there is no matrix product in encoding such rows: it may round others' digits."""
        is_narrow = isinstance(X_public, np.ndarray) and X_public[0].size <= _MOST_COLUMNS
        return is_narrow or hasattr(X_public, "columns")

    def takes(self, mechanism):
        """Whether a mechanism suits these sums: their number of classes is known once enrolled."""
        n_classes = getattr(self.mechanism, "n_classes", None)
        return isinstance(mechanism, SumsMechanism) and n_classes in (None, mechanism.n_classes)

    def enrol(self, private, X_public, *, seed=None, memory=None):
        """Make numbers of the public rows, and return the neighboring data sets."""
        if not self.suits(X_public):
            raise ValueError(
                f"ColumnSums takes DataFrames, and arrays of at most {_MOST_COLUMNS} columns; use "
                "base_estimator=ReverseNeighbors(), or give fewer"
            )
        neighbors = self._enrolled(private, memory)
        self.mechanism = SumsMechanism(private.target.n_values)
        self._transformer = fitted_on_public(RowVectorizer(_MOST_COLUMNS), X_public, seed=0)
        is_array = isinstance(X_public, np.ndarray) and X_public.dtype.kind in "biuf"
        bends = self.bends and is_array and X_public.ndim == 2
        if bends:
            middle = fitted_on_public(closeness(len(X_public)), X_public, seed=0)
            self._transformer = make_union(self._transformer.to_sklearn(), middle)
        self._public = numbers_of_public(self._transformer, X_public)
        self._mean = self._public.mean(axis=0)
        self._scale = _scale(self._public, n_bends=X_public[0].size if bends else 0)
        self._rows = _psi(self._public, self._mean, self._scale)
        if self._memory.location is not None:
            self._fingerprint = code_digest(self._transformer)
        return neighbors

    def contribution(self, neighbors):
        """Return the contribution of one unit to all sums; see `SumsMechanism`."""
        return sums_contribution(neighbors, of_one=_OF_ONE)

    def divide(self, X_public, *, noise_std, n_records, n_classes, are_drawn=False):
        """Note whether the number of records is public; there are no cells."""
        self._n_records = None if self._is_weighted else n_records

    def forecast(self, *, noise_std, n_records, n_classes, are_drawn=False):
        """Say how the noise is beside the records; see `TableElectorate.forecast`."""
        n_public, width = self._public.shape
        n_voters = n_public if n_records is None else n_records
        n_distinct = len(np.unique(self._rows, axis=0))
        noise = noise_std * math.sqrt(width)
        fewer = f" or fewer columns, which make {width} numbers"
        text = told_of_noise("sums", n_voters, LEAST_SIGNAL * noise, fewer=fewer)
        public = {"n_public": n_public, "n_distinct": n_distinct, "n_classes": n_classes}
        problems, obstacles = told(text, n_voters < HOPELESS_SIGNAL * noise, **public)
        return CellForecast(0, n_voters, None, tuple(problems), tuple(obstacles), n_columns=width)

    def _counter(self, target):
        return _summed, {"mean": self._mean, "scale": self._scale, "target": target}

    def vote(self, private, X_query, **given):
        """Sum the columns by class and in all; see `TableElectorate.vote`.

        Returns
        -------
        ndarray of shape (n_columns + 1, n_classes + 1)
            In whole steps, exactly. The last of the columns is constant.
        """
        centred, total = about_mean(super().vote(private, X_query, **given))
        return in_64_bits(np.column_stack([centred.T, len(centred) * total]))

    def released(self, noisy, *, noise_std):
        """Return the discriminants that follow from noisy sums."""
        by_class, total = noisy[:, :-1].T, noisy[:, -1]
        n = max(total[-1] / _CONSTANT, noise_std) if self._n_records is None else self._n_records
        released = by_class, total, (noise_std, noise_std / _OF_TOTAL), n
        are_rates = self._target.splits_votes and self._target.n_values == 2
        how = {"are_rates": are_rates, "target": self._target}
        slopes, constants, p_value = public_discriminants(*released, self._rows, **how)
        constants = constants + _CONSTANT * slopes[:, -1]
        counts = n / len(by_class) + by_class[:, -1] / _CONSTANT
        linear = _LENGTH * slopes[:, :-1], constants, p_value, (counts, noise_std / _CONSTANT)
        known = self._transformer, self._mean, self._scale
        return ReleasedColumns(*known, *linear, are_rates=are_rates)

    def read(self, table):
        """Return what the sums say of each public row; see `TableElectorate.read`."""
        rates = table.rates_of(self._rows[:, :-1] / _LENGTH)
        return rates, deal_to_alike(rates)

    def default_student(self):
        """Return a classifier that is the discriminants."""
        return SumsClassifier()
