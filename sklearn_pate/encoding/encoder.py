"""Encoder of rows for class sums, as ranks and one-hot categories, from public information only.

The encoding of a column is learnt from public rows or derived from a declared column. The same code
encodes private, public and synthetic rows, as DataFrames or arrays. Each row is encoded by itself.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.frozen import FrozenEstimator
from sklearn.utils.extmath import safe_sparse_dot
from sklearn.utils.validation import check_is_fitted

from .._sklearn import pipeline, preprocessing
from .columns import CategoryColumn, Columns, NumberColumn, masked
from .dtypes import as_float
from .fitted_steps import as_floats, calling, scaler_by_hand
from .texts import codes_of_one_hot, fit_one_hot, lenient_texts
from .vectorizer import check_array, check_columns, of_pandas, with_floats

if TYPE_CHECKING:
    from sklearn.compose import ColumnTransformer
    from sklearn.impute import SimpleImputer

    from .._typing import Estimator, Rows

#: Number of intervals between the quantiles of public numbers.
_N_QUANTILES = 64

#: Fraction of the public numbers that are clipped at either end for plain values.
_CLIPPED = 0.005

#: Smallest number of edges of a declared column that can have a column of its folded rank.
_MIN_FOLDED = 5

#: Largest number of columns of an array that are encoded. With more, matrix products of class sums
#: take seconds, and their rounding may depend on other rows.
MAX_COLUMNS = 2000

#: Number of columns of wider sparse rows that are encoded. On made-up documents of 2,000 and 10,000
#: words, AUC of class sums was at most 0.01 lower than with 2,000 columns, and a fit took a fifth
#: of the time.
_N_KEPT = 1000

#: Public numbers are clipped to this size, so that the sums of their squares are finite.
_LARGEST = 1e75


@lru_cache(maxsize=256)
def _evenly_spaced(n_edges: int) -> np.ndarray:
    """Return the ranks of edges, for every block of rows."""
    ranks = np.linspace(-1, 1, n_edges)
    ranks.setflags(write=False)
    return ranks


@dataclass(frozen=True, eq=False)
class NumberEncoding:
    """Encode a column of numbers as ranks, and as clipped and standardized values.

    The ranks of the edges are evenly spaced from -1 to 1. The rank of a number between two edges is
    interpolated linearly. Numbers beyond the edges have the rank of the nearest edge.

    Parameters
    ----------
    edges : ndarray of shape (n_edges,)
        Edges in increasing order. With a single edge, the rank of every number is 0.
    limits : (float, float)
        Bounds to which numbers are clipped for their plain (standardized) values.
    mean, std : float
        Center and scale of the plain values.
    has_gaps : bool
        Whether missing values have an indicator column.
    """

    edges: np.ndarray
    limits: tuple[float, float] = (-1.0, 1.0)
    mean: float = 0.0
    std: float = 1.0
    has_gaps: bool = False

    @classmethod
    def of_public(cls, numbers: np.ndarray) -> NumberEncoding:
        """Learn the encoding from public numbers, (n_public,), NaN where they are missing."""
        missing = np.isnan(numbers)
        known = np.clip(numbers[~missing], -_LARGEST, _LARGEST)
        if not len(known):
            return cls(np.zeros(1), has_gaps=True)
        evenly = np.linspace(0, 1, _N_QUANTILES + 1)
        low, high, *quantiles = np.quantile(known, [_CLIPPED, 1 - _CLIPPED, *evenly])
        edges = np.unique(quantiles)
        plain = np.clip(known, low, high)
        std = plain.std() or 1.0
        return cls(edges, (low, high), plain.mean(), std, has_gaps=bool(missing.any()))

    @classmethod
    def of_edges(cls, edges: np.ndarray, *, has_gaps: bool) -> NumberEncoding:
        """Return the encoding for declared edges; the first and the last edge are the bounds."""
        low, high = float(edges[0]), float(edges[-1])
        half = high / 2 - low / 2 or 1.0
        return cls(edges, (low, high), low + half, half, has_gaps)

    def points(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the edges and their ranks, `xp` and `fp` of `numpy.interp`."""
        if self.edges[0] == self.edges[-1]:
            return self.edges[:1], np.zeros(1)
        return self.edges, _evenly_spaced(len(self.edges))

    def ranks(self, numbers: np.ndarray) -> np.ndarray:
        """Return the ranks of numbers, (n_rows,), 0 where they are missing."""
        with np.errstate(all="ignore"):
            ranks = np.interp(numbers, *self.points())
        return np.where(np.isfinite(ranks), ranks, 0.0)  # no record may raise an error

    def plain(self, numbers: np.ndarray) -> np.ndarray:
        """Return clipped and standardized numbers, (n_rows,), 0 where they are missing."""
        plain = (np.clip(numbers, *self.limits) - self.mean) / self.std
        return np.where(np.isnan(plain), 0.0, plain)


@dataclass(frozen=True, eq=False)
class CategoryEncoding:
    """Encode a column of categories one-hot.

    Parameters
    ----------
    labels : list
        Names of the output columns.
    codes : callable
        Returns the output column of each value of a Series, (n_rows,); -1 for none.
    """

    labels: list[Any]
    codes: Callable[[pd.Series], np.ndarray]

    def one_hot(self, values: pd.Series) -> np.ndarray:
        """Encode values one-hot, (n_rows, n_labels), as zeros if they have no output column."""
        codes = self.codes(values)
        one_hot = np.zeros((len(codes), len(self.labels)))
        rows = np.flatnonzero(codes >= 0)
        one_hot[rows, codes[rows]] = 1.0
        return one_hot


class RowEncoder(TransformerMixin, BaseEstimator):
    """Encode rows as ranks from -1 to 1 and one-hot categories, each column by itself.

    Numbers and durations become their rank among the edges of 64 quantile intervals of the public
    rows. Equal edges count once, and the ranks of the edges are evenly spaced from -1 to 1, so the
    absolute rank of an outlier is at most 1. All other columns are encoded one-hot, by their text.
    Texts that occur in fewer than one of 200 public rows share an output column. A missing number
    has rank 0 and, if public rows have missing values in the column, a one in an indicator column.
    All columns of an array count as numbers. Sparse rows are encoded as arrays; of more than 2,000
    columns, only the 1,000 columns are encoded that are zero in the fewest public rows.

    `methods.ClassSums` uses this encoder, and `synthesis.ClassSumsSynthesizer` uses it with
    declared bounds or edges instead of quantiles, and with declared categories.

    Parameters
    ----------
    extra_columns : bool, default=False
        Whether each number has two more columns: its folded rank, ``2 * abs(rank) - 1``, and its
        plain value, clipped to the 0.5 and 99.5 % quantiles and standardized.

    Attributes
    ----------
    n_features_in_ : int
        Number of columns in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns of a DataFrame, if all names are strings.

    Examples
    --------
    >>> import pandas as pd
    >>> from sklearn_pate.encoding import RowEncoder
    >>> public = pd.DataFrame({"age": [20.0, None, 40.0], "city": ["Oslo", "Bern", "Oslo"]})
    >>> encoder = RowEncoder().fit(public)
    >>> encoder.get_feature_names_out()
    array(['age_rank', 'age_missing', 'city_Bern', 'city_Oslo'], dtype=object)
    >>> encoder.transform(pd.DataFrame({"age": [30.0, 1e9], "city": ["Bern", "Rome"]}))
    array([[0., 0., 1., 0.],
           [1., 0., 0., 0.]])
    """

    #: Positions of folded numbers without `extra_columns`, set by `of_columns`.
    _folds: list[int] = []

    #: Positions of the encoded columns of sparse rows; None for other rows.
    _kept: np.ndarray | None = None

    def __init__(self, extra_columns: bool = False) -> None:
        self.extra_columns = extra_columns

    def fit(self, X: Rows, y: Any = None) -> Self:
        """Learn the encoding of each column.

        Parameters
        ----------
        X : array-like with n_public rows
            Public rows: a DataFrame, an array of numbers, or a sparse matrix.
        y : None
            Ignored.
        """
        check_columns(X)
        check_array(X)
        self._is_flat = np.ndim(X) == 2
        X = _as_table(X)
        self.n_features_in_ = n_columns(X)
        self._kept = _kept_columns(X) if sparse.issparse(X) else None
        X = self._read(X)
        columns = _columns_of(X)
        are_numbers = [_holds_numbers(values) for values in columns]
        self._numbers = {
            k: NumberEncoding.of_public(_floats(values))
            for k, values in enumerate(columns)
            if are_numbers[k]
        }
        others = [k for k, is_number in enumerate(are_numbers) if not is_number]
        self._one_hot: Estimator = None
        self._categories: dict[int, CategoryEncoding] = {}
        if others:
            one_hot = fit_one_hot([columns[k] for k in others], lenient_texts, missing=np.nan)
            for place, k in enumerate(others):
                codes, labels = codes_of_one_hot(one_hot, place)
                self._categories[k] = CategoryEncoding(labels, codes)
            self._one_hot = FrozenEstimator(one_hot)
        self._texts_of: Callable[[bool], list[Estimator]] = _as_texts
        self._some = X[:2]
        places = range(X.shape[1]) if self._kept is None else self._kept
        names = getattr(X, "columns", places)
        self._note_names(names, is_frame=isinstance(X, pd.DataFrame))
        return self

    @classmethod
    def of_columns(cls, columns: Columns, *, folds: bool = False) -> Self:
        """Return the encoder of declared columns; no rows are read.

        Parameters
        ----------
        columns : Columns
            Declared columns.
        folds : bool, default=False
            Whether numbers with several edges also have a column of their folded rank.
        """
        encoder = cls()
        encoder._is_flat = True
        pairs = list(enumerate(columns.columns))
        encoder._numbers = {
            k: NumberEncoding.of_edges(column.edges, has_gaps=column.may_be_missing)
            for k, column in pairs
            if isinstance(column, NumberColumn)
        }
        if folds:
            numbers = encoder._numbers.items()
            encoder._folds = [k for k, number in numbers if len(number.edges) >= _MIN_FOLDED]
        declared = {k: column for k, column in pairs if isinstance(column, CategoryColumn)}
        encoder._categories = {
            k: CategoryEncoding(list(column.categories("missing")), column.bins)
            for k, column in declared.items()
        }
        encoder._one_hot = None
        if declared:
            categories = [column.categories(np.nan) for column in declared.values()]
            if columns.by_value:  # all categories are compared as texts
                categories = [_texts(pd.Series(values, dtype=object)) for values in categories]
            encoder._one_hot = preprocessing.OneHotEncoder(
                categories=categories, handle_unknown="ignore", sparse_output=False
            )
        encoder._texts_of = _as_texts if columns.by_value else _as_objects
        encoder._declared = columns
        encoder.n_features_in_ = columns.n_columns
        names = range(columns.n_columns) if columns.names is None else columns.names
        encoder._note_names(names, is_frame=columns.names is not None)
        return encoder

    def _note_names(self, names: Iterable[Any], *, is_frame: bool) -> None:
        """Store the names of the columns."""
        names = list(names)
        self._names = [str(name) for name in names]
        self._is_frame = is_frame
        if is_frame and all(isinstance(name, str) for name in names):
            self.feature_names_in_ = np.array(self._names, dtype=object)

    @cached_property
    def _some(self) -> Rows:
        """Rows of the declared columns, which are not private."""
        return self._declared.any_rows(2, np.random.default_rng(0))

    def _read(self, X: Rows) -> Rows:
        if isinstance(X, pd.DataFrame):
            return X
        if self._kept is not None:
            X = X[:, self._kept]
        return X.toarray() if sparse.issparse(X) else np.reshape(X, (len(X), -1))

    def transform(self, X: Rows) -> np.ndarray:
        """Encode rows, each by itself.

        Parameters
        ----------
        X : array-like with n_samples rows
            Rows with the same columns as in `fit`.

        Returns
        -------
        ndarray of shape (n_samples, n_features_out)

        Raises
        ------
        ValueError
            If the number of columns differs from `n_features_in_`.
        """
        check_is_fitted(self, "_numbers")
        X = _as_table(X)
        if n_columns(X) != self.n_features_in_:
            raise ValueError(
                f"X has {n_columns(X)} columns, but RowEncoder was fitted with "
                f"{self.n_features_in_} columns"
            )
        X = self._read(X)
        columns = _columns_of(X)
        numbers = {k: _floats(columns[k]) for k in self._numbers}
        pairs = [(self._numbers[k], values) for k, values in numbers.items()]
        ranks = {k: self._numbers[k].ranks(values) for k, values in numbers.items()}
        blocks = list(ranks.values())
        for k in self._folded:
            folded = 2 * np.abs(ranks[k]) - 1
            blocks.append(np.where(np.isnan(numbers[k]), 0.0, folded))
        if self.extra_columns:
            blocks += [encoding.plain(values) for encoding, values in pairs]
        blocks += [np.isnan(values).astype(float) for e, values in pairs if e.has_gaps]
        for k, encoding in self._categories.items():
            blocks += list(encoding.one_hot(columns[k]).T)
        return np.column_stack(blocks) if blocks else np.zeros((len(X), 0))

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Return the names of the output columns.

        Parameters
        ----------
        input_features : None
            Ignored; the names in `fit` are used.

        Returns
        -------
        ndarray of shape (n_features_out,), object
            The name of an input column, followed by "_rank", "_folded", "_plain" or "_missing", or
            by "_" and a category.
        """
        check_is_fitted(self, "_numbers")
        names = [f"{self._names[k]}_rank" for k in self._numbers]
        names += [f"{self._names[k]}_folded" for k in self._folded]
        names += [f"{self._names[k]}_plain" for k in self._numbers if self.extra_columns]
        names += [f"{self._names[k]}_missing" for k, e in self._numbers.items() if e.has_gaps]
        for k, encoding in self._categories.items():
            names += [f"{self._names[k]}_{label}" for label in encoding.labels]
        return np.array(names, dtype=object)

    @property
    def _folded(self) -> list[int]:
        """Positions of the numbers that have a column of their folded rank."""
        return list(self._numbers) if self.extra_columns else self._folds

    @property
    def n_numbers(self) -> int:
        """Number of columns of numbers."""
        return len(self._numbers)

    @property
    def extra_places(self) -> slice:
        """Positions of the extra columns in the output."""
        n = self.n_numbers
        return slice(n, 3 * n) if self.extra_columns else slice(n, n)

    @property
    def folded_places(self) -> slice:
        """Positions of the folded ranks in the output."""
        return slice(self.n_numbers, self.n_numbers + len(self._folded))

    def decode(self, encoded: np.ndarray) -> Rows:
        """Return the rows of the declared columns that are nearest to encoded rows.

        Only encoders from `of_columns` can decode.

        Parameters
        ----------
        encoded : ndarray of shape (n_rows, n_features_out)
            Encoded rows, which may have noise.

        Returns
        -------
        DataFrame or ndarray with n_rows rows
        """
        columns = self._declared.columns
        values, n_read = {}, len(self._numbers) + len(self._folded)
        for place, k in enumerate(self._numbers):
            values[k] = columns[k].decoded(encoded[:, place])
        for k, encoding in self._numbers.items():
            if encoding.has_gaps:
                values[k] = masked(values[k], encoded[:, n_read] > 0.5)
                n_read += 1
        for k, categories in self._categories.items():
            n_labels = len(categories.labels)
            part = encoded[:, n_read : n_read + n_labels]
            values[k] = columns[k].decoded(part[:, : columns[k].n_values])
            if columns[k].may_be_missing:
                values[k] = masked(values[k], part[:, -1] > 0.5)
            n_read += n_labels
        return self._declared.table([values[k] for k in range(len(columns))])

    def to_sklearn(self) -> Estimator:
        """Return a fitted scikit-learn transformer with the same output."""
        check_is_fitted(self, "_numbers")
        numbers = list(self._numbers)
        encodings = list(self._numbers.values())
        steps = []
        if numbers:
            steps.append((self._ranks_by_hand(numbers, encodings), numbers))
            if self.extra_columns:
                limits = np.transpose([encoding.limits for encoding in encodings])
                mean, std = np.transpose([(e.mean, e.std) for e in encodings])
                scaler = FrozenEstimator(scaler_by_hand(mean, std))
                plain = calling("clip", *limits), scaler, _zero_for_missing()
                steps.append(
                    (pipeline.make_pipeline(self._floats_by_hand(numbers), *plain), numbers)
                )
        gaps = [k for k, encoding in self._numbers.items() if encoding.has_gaps]
        if gaps:
            are_missing = self._floats_by_hand(gaps), preprocessing.FunctionTransformer(np.isnan)
            steps.append((pipeline.make_pipeline(*are_missing), gaps))
        if self._one_hot is not None:
            texts = pipeline.make_pipeline(*self._texts_of(self._is_frame), self._one_hot)
            steps.append((texts, list(self._categories)))
        columns = _column_transformer(steps).fit(self._some)
        if self._kept is not None:  # exact, as each output is one entry, and accepts arrays, too
            ones = np.ones(len(self._kept)), (self._kept, np.arange(len(self._kept)))
            matrix = sparse.csr_matrix(ones, shape=(self.n_features_in_, len(self._kept)))
            kept = {"b": matrix, "dense_output": True}
            return pipeline.make_pipeline(
                preprocessing.FunctionTransformer(safe_sparse_dot, kw_args=kept), columns
            )
        if self._is_flat:
            return columns
        flat = (
            preprocessing.FunctionTransformer(np.asarray),
            calling("reshape", (-1, self.n_features_in_)),
        )
        return pipeline.make_pipeline(*flat, columns)

    def _ranks_by_hand(self, numbers: list[int], encodings: list[NumberEncoding]) -> Estimator:
        """Return a transformer of these columns to ranks and, if requested, folded ranks."""
        places_of: dict[bytes, list[int]] = {}  # columns with the same edges share a step
        for place, encoding in enumerate(encodings):
            edges, _ = encoding.points()
            places_of.setdefault(edges.tobytes(), []).append(place)
        points = [encodings[places[0]].points() for places in places_of.values()]
        ranks = _column_transformer(
            (
                preprocessing.FunctionTransformer(np.interp, kw_args={"xp": edges, "fp": of_edges}),
                places,
            )
            for (edges, of_edges), places in zip(points, places_of.values(), strict=True)
        )
        order = np.argsort([place for places in places_of.values() for place in places])
        outputs = [_zero_for_missing()]
        if self._folded:
            places = [numbers.index(k) for k in self._folded]
            fold = [
                preprocessing.FunctionTransformer(np.abs),
                calling("__mul__", 2),
                calling("__sub__", 1),
            ]
            folded = [] if len(places) == len(numbers) else [calling("take", places, 1)]
            outputs.append(pipeline.make_pipeline(*folded, *fold, _zero_for_missing()))
        steps = self._floats_by_hand(numbers), ranks, calling("take", order, 1)
        return pipeline.make_pipeline(*steps, pipeline.make_union(*outputs))

    def _floats_by_hand(self, numbers: list[int]) -> Estimator:
        """Return a transformer of these columns to an array of floats."""
        if not self._is_frame:
            return as_floats()
        floats = calling("to_numpy", "float64", True, np.nan)
        kinds = [dtype.kind for dtype in self._some.dtypes.iloc[numbers]]
        durations = [place for place, kind in enumerate(kinds) if kind == "m"]
        if not durations:
            return floats
        others = [place for place in range(len(kinds)) if place not in durations]
        in_seconds = pipeline.make_pipeline(calling("__truediv__", np.timedelta64(1, "s")), floats)
        both = _column_transformer([(floats, others), (in_seconds, durations)])
        return pipeline.make_pipeline(both, calling("take", np.argsort([*others, *durations]), 1))


def _column_transformer(steps: Iterable[tuple[Estimator, list[int]]]) -> ColumnTransformer:
    """Return an unfitted transformer of columns, from pairs of a step and positions."""
    from sklearn.compose import ColumnTransformer

    named = [(f"{k}", step, places) for k, (step, places) in enumerate(steps) if len(places)]
    return ColumnTransformer(named).set_output(transform="default")


def _zero_for_missing() -> SimpleImputer:
    from sklearn.impute import SimpleImputer

    return SimpleImputer(strategy="constant", fill_value=0.0, keep_empty_features=True)


# --- columns ----------------------------------------------------------------------------------


def _as_table(X: Rows) -> Rows:
    """Return rows as a pandas DataFrame, an array or a sparse matrix."""
    if sparse.issparse(X):
        return X.tocsr()
    X = with_floats(of_pandas(X))
    return X if hasattr(X, "shape") else np.asarray(X)


def n_columns(X: Rows) -> int:
    """Return the number of columns of rows; all axes of an array but the first are flattened."""
    return math.prod(X.shape[1:])


def n_encoded_columns(X: Rows) -> int | None:
    """Return the number of columns that `RowEncoder` reads of rows; None if there are too many."""
    if hasattr(X, "columns") or n_columns(X) <= MAX_COLUMNS:
        return n_columns(X)
    return _N_KEPT if sparse.issparse(X) else None


def _kept_columns(X: Rows) -> np.ndarray:
    """Return the encoded columns of CSR rows: all, or those with most entries other than 0."""
    if X.shape[1] <= MAX_COLUMNS:
        return np.arange(X.shape[1])
    n_entries = np.bincount(X.indices[X.data != 0], minlength=X.shape[1])
    return np.sort(np.argsort(-n_entries, kind="stable")[:_N_KEPT])


# --- values of a column ---------------------------------------------------------------------------


def _columns_of(X: Rows) -> list[Any]:
    """Return the columns of a DataFrame, or of an array, as a list."""
    return [column for _, column in X.items()] if isinstance(X, pd.DataFrame) else list(X.T)


def _holds_numbers(values: pd.Series | np.ndarray) -> bool:
    """Return whether a column has a numeric dtype; durations count as numbers."""
    if isinstance(values, np.ndarray):
        return True
    return getattr(values.dtype, "kind", "O") in "iufm"


def _floats(values: pd.Series | np.ndarray) -> np.ndarray:
    """Return a column of numbers as floats, NaN where missing; durations are in seconds."""
    if isinstance(values, np.ndarray):
        return values.astype(float)
    if getattr(values.dtype, "kind", "O") == "m":
        values = values / np.timedelta64(1, "s")
    try:
        return values.to_numpy("float64", na_value=np.nan)
    except (TypeError, ValueError, OverflowError):  # objects: each value by itself
        return np.array([as_float(value) for value in values])


def _texts(values: pd.Series) -> np.ndarray:
    """Return the texts of a Series as objects, NaN where missing."""
    texts = lenient_texts(values.astype(object))
    return np.array([np.nan if text is None else text for text in texts], dtype=object)


def _as_texts(is_frame: bool) -> list[Estimator]:
    """Return the steps that convert the columns of a DataFrame to texts, NaN where missing."""
    return [
        calling("astype", "object"),
        # This conversion depends on each value only. `map(str)` would infer a dtype from all values
        # and raise an error for some combinations
        calling("astype", "string[python]"),
        calling("to_numpy", "object", True, np.nan),
    ]


def _as_objects(is_frame: bool) -> list[Estimator]:
    """Return the steps that convert columns to objects, NaN where missing."""
    if not is_frame:
        return [preprocessing.FunctionTransformer(np.asarray, kw_args={"dtype": "object"})]
    return [calling("to_numpy", "object", True, np.nan)]
