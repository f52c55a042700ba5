"""Method `sums`: linear discriminants from noisy sums of encoded rows, by class.

Statistic: sums of encoded rows of length 1, by class and in total. Contribution: the L2 change of
all sums, with the proof in `class_sums.statistic.sensitivity`. Noise: Gaussian, on every sum.
Read-out: linear discriminants, with the covariance of the public rows; see `class_sums`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from copy import copy
from dataclasses import dataclass
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import softmax

from .._sklearn import Interval, StrOptions, pipeline, preprocessing
from .._sklearn import softmax as softmax_of_rows
from ..aggregators import TableMechanism
from ..aggregators.base import checked_scale
from ..class_sums.discriminants import public_discriminants
from ..class_sums.statistic import (
    ROW_CONSTANT,
    ROW_LENGTH,
    STEP,
    WITH_PUBLIC_ROWS,
    NClasses,
    about_mean,
    as_numbers,
    blocks_record,
    noise_of_sums,
    of_classes,
    sums_contribution,
    sums_cost,
    sums_record,
    ticks_of,
    unit,
    whole_steps,
    with_constant,
)
from ..encoding.custom import fitted_on_public, transformed, transformed_private
from ..encoding.encoder import MAX_COLUMNS, RowEncoder, n_encoded_columns
from ..encoding.fitted_steps import (
    affine_by_hand,
    numbers_by_hand,
    scaler_by_hand,
    sharpened_by_hand,
    softmax_by_hand,
)
from ..forecasts import CellForecast, errors_and_warnings, noise_exceeds
from ..neighbors.smoothing import MIN_PROBA, assign_to_similar, numbers_of_public, sharpened
from ..rdp import DEFAULT_ORDERS, DiscreteGaussian, Neighbors
from ..rdp.discrete import TICKS
from ..rdp.records import Record
from ..readouts import ReleasedProba, SeveralTables, SumsClassifier, of_targets
from ..releases.published_sums import PublishedSumsRelease
from ..runtime.memory import code_digest
from ..secure import in_64_bits, noise_generator, plus_noise
from ..shift import PublicShift, shift_of_sums
from ..synthesis.synthesizers import HOPELESS_SIGNAL, LEAST_SIGNAL
from .base import Method
from .blocks import BlockMethod

if TYPE_CHECKING:
    from joblib import Memory
    from sklearn.pipeline import Pipeline

    from .._typing import Estimator, Rows, Seed
    from ..encoding.targets import Target
    from ..rdp.contribution import Contribution
    from ..rdp.cost import Cost
    from ..runtime.blocks import Block
    from ..runtime.private_data import PrivateData

__all__ = ["ClassSums", "ReleasedClassSums", "SumsMechanism"]

#: Minimal signal for extra columns: the number of records, divided by the length of the noise on
#: the sums of all other columns. Below, extra columns lowered AUC by up to 0.07 on tables of 16 to
#: 200 columns. Above, they raised it by up to 0.12 if effects are not monotonic, and lowered it by
#: at most 0.01. Chosen on textbook and made-up tables; docs/results has results on other tables.
_MIN_SIGNAL_OF_EXTRA_COLUMNS = 120

#: Standard deviation of the scaled extra columns, half that of scaled uniform ranks.
_EXTRA_STD = 0.38


class SumsMechanism(TableMechanism):
    """Gaussian noise on sums of columns by class.

    Parameters
    ----------
    n_classes : int or tuple of int
        Number of classes; for several targets, the number of each.
    noise_multiplier : float or None, default=None
        Noise standard deviation divided by the L2 sensitivity for a replaced record: the inverse of
        mu of Gaussian differential privacy. None is calibrated to `epsilon`.

    Notes
    -----
    `class_sums.statistic.sensitivity` has the proof of the L2 sensitivity, with the blocks
    `WITH_PUBLIC_ROWS`.
    """

    is_exact = True
    statistic = "sums"

    _parameter_constraints = {
        "n_classes": [Interval(Integral, 2, None, closed="left"), tuple],
        "noise_multiplier": [Interval(Real, 2**-4, 1e5, closed="both"), None],
    }

    def __init__(self, n_classes: NClasses, noise_multiplier: float | None = None) -> None:
        self.n_classes = n_classes
        self.noise_multiplier = noise_multiplier

    @property
    def noise_std(self) -> float:
        """Standard deviation of the noise on each sum, in records."""
        multiplier = checked_scale(self, "noise_multiplier")
        return noise_of_sums(1 / multiplier, WITH_PUBLIC_ROWS, n_classes=self.n_classes)

    @property
    def noise_std_of_total(self) -> float:
        """Standard deviation of the noise on each entry of the total, in records."""
        n_targets = len(as_numbers(self.n_classes))
        return self.noise_std / (WITH_PUBLIC_ROWS.total * math.sqrt(n_targets))

    def with_scale(self, scale: float) -> Self | None:
        """Return a copy with this noise multiplier; None if it is set."""
        return type(self)(self.n_classes, float(scale)) if self.noise_multiplier is None else None

    def cost(self, contribution: Contribution, orders: ArrayLike = DEFAULT_ORDERS) -> Cost:
        """Return the cost of the noisy sums; see `class_sums.statistic.sums_cost`."""
        return sums_cost(checked_scale(self, "noise_multiplier"), contribution, orders)

    def step_record(self, name: str, contribution: Contribution) -> Record:
        """Return the record of the noisy sums; see `rdp.Event.records`."""
        multiplier = checked_scale(self, "noise_multiplier")
        numbers, blocks = as_numbers(self.n_classes), None
        if len(numbers) == 1:
            blocks = blocks_record(
                WITH_PUBLIC_ROWS, contribution, noise=self.noise_std, n_classes=numbers[0]
            )
        return sums_record(name, contribution, noise_multiplier=multiplier, blocks=blocks)

    def moments(self, table: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
        """Return the sums in records, and the noise of columns; see `TableMechanism.moments`."""
        numbers = as_numbers(self.n_classes)
        steps = STEP / TICKS / np.repeat([*numbers, numbers[0]], [*numbers, 1])
        stds = np.append(np.full(sum(numbers), self.noise_std), self.noise_std_of_total)
        return np.asarray(table).astype(float) * steps, stds

    def noisy(self, table: ArrayLike, random_state: Seed = None) -> np.ndarray:
        """Add noise to sums in whole steps, of shape (n_columns, n_classes + 1)."""
        table = np.asarray(table)
        is_whole = table.dtype in (np.int64, object)
        first, *others = as_numbers(self.n_classes)
        n_sums = first + sum(others)
        if not is_whole or table.shape[1:] != (n_sums + 1,):
            raise ValueError(
                "table must be the integers that ClassSums.vote returns, of shape "
                f"(n_columns, {n_sums + 1}); got shape {table.shape}, dtype {table.dtype}"
            )
        rng = noise_generator(random_state)
        # The first target, and the total in the same steps
        step = STEP / TICKS / first
        own = table[:, [*range(first), -1]]
        noise = DiscreteGaussian(self.noise_std / step).sample(rng, own.shape).astype(object)
        # The weight of the total divides its noise instead of multiplying its integer sums
        of_all = self.noise_std_of_total * (1 + 1e-9)
        noise[:, -1] = DiscreteGaussian(of_all / step).sample(rng, (len(table),))
        noisy = plus_noise(own, noise, step)
        parts, start = [noisy[:, :-1]], first
        for n_classes in others:
            step = STEP / TICKS / n_classes
            own = table[:, start : start + n_classes]
            noise = DiscreteGaussian(self.noise_std / step).sample(rng, own.shape)
            parts.append(plus_noise(own, noise, step))
            start += n_classes
        return np.column_stack([*parts, noisy[:, -1:]])


def _scale_of(public: np.ndarray, extra: slice) -> np.ndarray:
    """Return the divisors of encoded columns, (n_columns,).

    The divisor is the square root of the standard deviation of the column, so columns with more
    variance have more weight, but less than proportionally. It is infinite for a constant column,
    which drops the column. All columns in the slice `extra` get the same standard deviation.
    """
    std = public.std(axis=0)
    std[std <= 1e-12 * np.abs(public).max(axis=0)] = np.inf
    scale = np.sqrt(std)
    scale[extra] = std[extra] / _EXTRA_STD
    return scale


def _rows_of(numbers: np.ndarray, mean: np.ndarray, scale: np.ndarray) -> np.ndarray:
    """Center and scale encoded rows, then scale each row to length 1."""
    return unit((numbers - mean) / scale)


def _summed(
    block: Block, *, transformer: Estimator, mean: np.ndarray, scale: np.ndarray, target: Target
) -> np.ndarray:
    """Return sums of a `Block` of records by class, in whole steps, (n_classes, n_columns + 1).

    The last column is constant. All arguments other than the block are public.
    """
    amount, whole = ticks_of(len(block.codes), block.groups, block.weight, whole=TICKS)
    cast = target.contributions(block.codes, amount * (TICKS // whole))
    numbers = transformed_private(transformer, block.X, len(mean))
    return of_classes(whole_steps(with_constant(_rows_of(numbers, mean, scale))), cast)


@dataclass(frozen=True, eq=False, repr=False)
class ReleasedClassSums(ReleasedProba):
    """Published linear discriminants from noisy sums of columns by class.

    With `methods.ClassSums`, it is the attribute `table_` of a fitted estimator.

    Attributes
    ----------
    transformer : transformer
        Encoder that was fitted on public rows.
    mean, scale : ndarray of shape (n_columns,)
        Center and scale of the encoded columns.
    slopes : ndarray of shape (n_classes, n_columns)
        Weights of the encoded columns, after each row is scaled to length 1.
    constants : ndarray of shape (n_classes,)
        Constant terms of the discriminants.
    p_value : float
        P-value of the sums under equal class means; see `association.p_value_of_sums`.
    class_counts : (ndarray of shape (n_classes,), float)
        Noisy number of records of each class, and the standard deviation of this noise.
    proba_is_linear : bool
        Whether the discriminants are probabilities, as for a regressor with two levels. If False,
        they are logarithms of class probabilities, up to a constant for each row.
    shift : shift.PublicShift or None
        Distance of the public rows from the private records, by the published sums.
    """

    transformer: Estimator
    mean: np.ndarray
    scale: np.ndarray
    slopes: np.ndarray
    constants: np.ndarray
    p_value: float
    class_counts: tuple[np.ndarray, float]
    proba_is_linear: bool = False
    shift: PublicShift | None = None

    def __repr__(self) -> str:
        n_classes, n_columns = self.slopes.shape
        return f"ReleasedClassSums({n_classes} classes, {n_columns} columns)"

    def class_proba(self, X: Rows) -> np.ndarray:
        """Return the class probabilities of rows, (n_samples, n_classes), each row by itself."""
        return self.class_proba_of(
            _rows_of(transformed(self.transformer, X), self.mean, self.scale)
        )

    def class_proba_of(self, rows: np.ndarray) -> np.ndarray:
        """Return the class probabilities of encoded rows of length 1, (n_rows, n_columns)."""
        linear = rows @ self.slopes.T + self.constants
        return sharpened(linear, 1.0) if self.proba_is_linear else softmax(linear, axis=1)

    def by_hand(self) -> list[Estimator]:
        """Return fitted scikit-learn steps that compute the class probabilities of rows."""
        class_proba: list[Estimator] = [preprocessing.FunctionTransformer(softmax_of_rows)]
        if self.proba_is_linear:
            class_proba = sharpened_by_hand(1.0, MIN_PROBA)
        return [*self._rows_by_hand(), *affine_by_hand(self.slopes.T, self.constants), *class_proba]

    def to_sklearn(self, codes: np.ndarray, weight: np.ndarray) -> Pipeline:
        """Return a scikit-learn Pipeline that predicts class codes with these weights."""
        linear = self.slopes[codes], self.constants[codes] + np.log(weight)
        model = pipeline.make_pipeline(*self._rows_by_hand(), softmax_by_hand(*linear, codes))
        return model.set_output(transform="default")

    def _rows_by_hand(self) -> list[Estimator]:
        """Return scikit-learn steps that encode rows and apply `_rows_of`."""
        numbers = numbers_by_hand(self.transformer)
        return [*numbers, scaler_by_hand(self.mean, self.scale), preprocessing.Normalizer()]


class ClassSums(BlockMethod):
    """Linear discriminant analysis from noisy sums of all columns, by class.

    `encoding.RowEncoder`, fitted on public rows, encodes each record as numbers. Each column is
    centered at the mean of the public rows and divided by the square root of their standard
    deviation. Then each row is scaled to length 1. Sums of these rows by class are released once,
    with Gaussian noise. Linear discriminants are computed from the noisy sums and the covariance of
    the public rows. They capture effects that add up over many columns. Unlike
    `methods.ReverseNeighbors`, they do not capture patterns that hold only among nearby rows.

    ``PATEClassifier(method="sums")`` uses it if there are public rows. With ``method="auto"``,
    `methods.choose.choose_method` decides between `ClassSums` and `methods.ReverseNeighbors`.

    Parameters
    ----------
    extra_columns : bool or "auto", default="auto"
        Whether each numeric column is encoded in two additional columns, see `encoding.RowEncoder`.
        The folded rank captures effects that rise and then fall, but numeric columns then have
        three times as many sums, and the sums have more noise in total. "auto" adds the columns if
        there are many records compared with the noise, and at most 2,000 encoded columns.
    relation : {"replace_one", "add_or_remove_one"}, default="replace_one"
        The neighboring data sets that the guarantee covers. "replace_one": one record (or one
        group) is replaced by another. "add_or_remove_one": one record (or one group) is added or
        removed, which is a weaker guarantee with less noise.

    References
    ----------
    McSherry, Mironov (2009). Differentially private recommender systems. KDD: sums of bounded rows.
    Vu, Slavkovic (2009). Differential privacy for clinical trial data: sufficient-statistics
    perturbation.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from sklearn_pate import PATEClassifier
    >>> from sklearn_pate.methods import ClassSums
    >>> X, y = make_classification(3000, 30, n_informative=20, class_sep=3.0, random_state=0)
    >>> clf = PATEClassifier(method=ClassSums(), epsilon=1.0, classes=[0, 1], random_state=0)
    >>> clf.fit(X[:2000], y[:2000], X_public=X[2000:2500]).score(X[2500:], y[2500:]) > 0.7
    True
    >>> clf.table_
    ReleasedClassSums(2 classes, 30 columns)
    """

    released_as = "noisy sums of the columns, by class"
    accepts_several_targets = True

    _most_by_record = TICKS * round(1 / STEP)

    _parameter_constraints = {
        "extra_columns": ["boolean", StrOptions({"auto"})],
        "relation": [StrOptions({"replace_one", "add_or_remove_one"})],
    }

    def __init__(
        self,
        *,
        extra_columns: bool | Literal["auto"] = "auto",
        relation: Literal["replace_one", "add_or_remove_one"] = "replace_one",
    ) -> None:
        self.extra_columns = extra_columns
        self.relation = relation

    # --- statistic --------------------------------------------------------------------------------

    @staticmethod
    def suits(X_public: Rows) -> bool:
        """Return whether rows are DataFrames, sparse, or arrays of at most 2,000 columns.

        Wider arrays would require large matrix products, in which the rounding of a row may depend
        on other rows.
        """
        return n_encoded_columns(X_public) is not None

    def prepare(
        self,
        private: PrivateData,
        X_public: Rows,
        *,
        seed: np.random.SeedSequence | None = None,
        memory: Memory | None = None,
    ) -> Neighbors:
        """Encode the public rows, and return the neighboring data sets."""
        if not self.suits(X_public):
            raise ValueError(
                f"ClassSums takes DataFrames, sparse rows, and arrays of at most {MAX_COLUMNS} "
                "columns; use method='neighbors', or give fewer columns"
            )
        neighbors = self._note_public(private, memory)
        self._n_classes = private.target.n_classes
        self._has_voted = False
        self._encoder = fitted_on_public(RowEncoder(), X_public, seed=0)
        self._X_public = X_public
        self._lay_out(extra_columns=self.extra_columns is True)
        self._width = len(self._encoder.get_feature_names_out())  # without extra columns
        return neighbors

    def _lay_out(self, *, extra_columns: bool) -> None:
        """Encode the public rows, and compute the mean and scale of the encoded columns."""
        self._transformer = copy(self._encoder).set_params(extra_columns=extra_columns)
        self._public = numbers_of_public(self._transformer, self._X_public)
        self._mean = self._public.mean(axis=0)
        self._scale = _scale_of(self._public, self._transformer.extra_places)
        self._rows = with_constant(_rows_of(self._public, self._mean, self._scale))
        if self._memory.location is not None:
            self._fingerprint = code_digest(self._transformer)

    def _choose_columns(self, noise_std: float, n_records: int | None) -> None:
        """Add or remove the extra columns according to the signal, if `extra_columns` is "auto".

        After `vote`, the columns do not change, even if a later plan has other noise.
        """
        if self.extra_columns != "auto" or self._has_voted:
            return
        n_public, width = len(self._public), self._width
        signal = (n_public if n_records is None else n_records) / (noise_std * math.sqrt(width))
        has_few = width + 2 * self._encoder.n_numbers <= MAX_COLUMNS
        extra_columns = has_few and signal >= _MIN_SIGNAL_OF_EXTRA_COLUMNS
        if extra_columns != self._transformer.extra_columns:
            self._lay_out(extra_columns=extra_columns)

    def prepare_public(
        self,
        X_public: Rows,
        *,
        noise_std: float,
        n_records: int | None,
        n_classes: int,
        are_synthetic: bool = False,
    ) -> None:
        """Choose the columns; see `TableMethod.prepare_public`. There are no cells."""
        self._n_records = None if self._is_weighted else n_records
        self._choose_columns(noise_std, n_records)

    def _counter(self, target: Target) -> tuple[Callable[..., np.ndarray], dict[str, Any]]:
        return _summed, {"mean": self._mean, "scale": self._scale, "target": target}

    def vote(self, private: PrivateData, X_query: Rows, **given: Any) -> np.ndarray:
        """Sum the columns by class and in total; see `TableMethod.vote`.

        Returns
        -------
        ndarray of shape (n_columns + 1, n_classes + 1)
            Exact sums in whole steps. The last row is the constant column, the last column is the
            total. Several targets have the columns of each in turn.
        """
        self._has_voted = True
        by_class = super().vote(private, X_query, **given)
        parts = [about_mean(by_class[own]) for own in private.target.columns_by_target]
        centred, total = parts[0]  # the total is the same for all targets
        of_targets = [centred.T for centred, _ in parts]
        return in_64_bits(np.column_stack([*of_targets, len(centred) * total]))

    # --- contribution -----------------------------------------------------------------------------

    def contribution(self, neighbors: Neighbors) -> Contribution:
        """Return the contribution of one unit; see `class_sums.statistic.sums_contribution`."""
        return sums_contribution(neighbors, WITH_PUBLIC_ROWS)

    # --- noise ------------------------------------------------------------------------------------

    def mechanism(self, aggregator: TableMechanism | None) -> TableMechanism:
        """Return Gaussian noise on the sums; see `TableMethod.mechanism`."""
        n_classes = getattr(self, "_n_classes", None)  # set by `prepare`
        if aggregator is None:
            return SumsMechanism(2 if n_classes is None else n_classes)
        is_of_sums = isinstance(aggregator, SumsMechanism)
        if not is_of_sums or n_classes not in (None, aggregator.n_classes):
            raise ValueError(
                "aggregator of method='sums' must be None, or a SumsMechanism with n_classes set "
                f"to the number of classes; got {aggregator!r}"
            )
        return aggregator

    # --- read-out ---------------------------------------------------------------------------------

    def released(self, noisy: np.ndarray, *, noise_std: float) -> ReleasedClassSums | SeveralTables:
        """Compute the discriminants from noisy sums; see `TableMethod.released`."""
        return of_targets(
            self._released(noisy[:, :-1].T[own], noisy[:, -1], noise_std, part)
            for part, own in zip(self._target.parts, self._target.columns_by_target, strict=True)
        )

    def _released(
        self, by_class: np.ndarray, total: np.ndarray, noise_std: float, target: Target
    ) -> ReleasedClassSums:
        """Compute the discriminants of one target from its noisy sums."""
        noise_of_total = noise_std / (WITH_PUBLIC_ROWS.total * math.sqrt(self._target.n_targets))
        n = max(total[-1] / ROW_CONSTANT, noise_std) if self._n_records is None else self._n_records
        proba_is_linear = target.splits_votes and target.n_values == 2
        slopes, constants, p_value = public_discriminants(
            by_class,
            total,
            (noise_std, noise_of_total),
            n,
            self._rows,
            folded=self._transformer.folded_places,
            proba_is_linear=proba_is_linear,
            target=target,
        )
        constants = constants + ROW_CONSTANT * slopes[:, -1]
        counts = n / len(by_class) + by_class[:, -1] / ROW_CONSTANT
        return ReleasedClassSums(
            self._transformer,
            self._mean,
            self._scale,
            ROW_LENGTH * slopes[:, :-1],
            constants,
            p_value,
            (counts, noise_std / ROW_CONSTANT),
            proba_is_linear=proba_is_linear,
            shift=shift_of_sums(
                total,
                self._rows,
                n=n,
                noise_std=noise_of_total,
                tolerance=self._tolerance,
            ),
        )

    def read(self, table: ReleasedClassSums) -> tuple[np.ndarray, np.ndarray]:
        """Return class probabilities and labels of each public row; see `TableMethod.read`."""
        class_proba = table.class_proba_of(self._rows[:, :-1] / ROW_LENGTH)
        return class_proba, assign_to_similar(class_proba)

    def default_student(self) -> SumsClassifier:
        """Return a classifier that predicts by the released discriminants."""
        return SumsClassifier()

    # --- forecast of public rows and numbers ------------------------------------------------------

    def forecast(
        self,
        *,
        noise_std: float,
        n_records: int | None,
        n_classes: int,
        are_synthetic: bool = False,
    ) -> CellForecast:
        """Compare the noise with the number of records; see `TableMethod.forecast`."""
        self._choose_columns(noise_std, n_records)
        n_public, width = self._public.shape
        n_expected = n_public if n_records is None else n_records
        n_distinct = len(np.unique(self._rows, axis=0))
        noise = noise_std * math.sqrt(width)
        fewer = f" or fewer columns (they are encoded as {width} numbers)"
        text = noise_exceeds("sums", n_expected, LEAST_SIGNAL * noise, fewer=fewer)
        public = {"n_public": n_public, "n_distinct": n_distinct, "n_classes": n_classes}
        errors, warnings = errors_and_warnings(text, n_expected < HOPELESS_SIGNAL * noise, **public)
        return CellForecast(0, n_expected, None, tuple(warnings), tuple(errors), n_columns=width)


class PublishedClassSums(Method):
    """Class sums without public rows: the published sums of a synthesizer are the model.

    There are no votes. `synthesis.ClassSumsSynthesizer` defines the statistic, its contribution
    and its noise. `class_sums.discriminants` computes the classifier from the published sums.

    Parameters
    ----------
    relation : {"replace_one", "add_or_remove_one"}, default="replace_one"
        As in `ClassSums`.
    """

    release = PublishedSumsRelease()
    accepts_several_targets = True

    def __init__(
        self, *, relation: Literal["replace_one", "add_or_remove_one"] = "replace_one"
    ) -> None:
        self.relation = relation

    def prepare(
        self,
        private: PrivateData,
        X_public: Rows,
        *,
        seed: np.random.SeedSequence | None = None,
        memory: Memory | None = None,
    ) -> Neighbors:
        """Return the neighboring data sets; their unit is a group if there are groups."""
        unit = "group" if private.has_groups else "record"
        return Neighbors(relation=self.relation, unit=unit).with_size(private.n_records)

    def default_student(self) -> SumsClassifier:
        """Return a classifier that predicts by the published discriminants."""
        return SumsClassifier()
