"""Encoding of rows of any kind as numbers, by a transformer that is fitted on public rows only."""

from __future__ import annotations

import math
import warnings
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.frozen import FrozenEstimator
from sklearn.utils.validation import check_is_fitted

from .._sklearn import pipeline, preprocessing
from ..runtime.isolation import PublicError
from .dtypes import as_float
from .fitted_steps import calling
from .texts import MIN_FREQUENCY, CodesOfTexts, codes_of_one_hot, fit_one_hot, strict_texts

if TYPE_CHECKING:
    from sklearn.compose import ColumnTransformer
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import Pipeline
    from sklearn.preprocessing import FunctionTransformer

    from .._typing import Estimator, RandomState, Rows

# --- the default transformer ----------------------------------------------------------------------


#: Units differ if the largest standard deviation of a column exceeds this multiple of the median
#: one of the other columns. The ratio was at most 2.3 on tables in one unit, and at least 5.6 on
#: tables in several units.
_OTHER_UNITS = 4

#: Columns are skewed if the median skewness exceeds this number. At 2.3 (log-normal columns), ranks
#: raised AUC by 0.03 if effects add up in the logarithms, and lowered it by 0.004 if the product of
#: two columns determines the label; at 1.6 (exponential columns), by 0.01 and 0.035.
_SKEWED = 2.0

#: Text of missing values in columns that are not numeric.
_MISSING = "missing"

#: Numbers are clipped to this size, so that sums of their fourth powers are finite.
_LARGEST = 1e75

#: With at least so many rows, numbers of few distinct values are encoded value by value.
_FEWEST_CODED = 1000

#: Number of rows that are searched first: more distinct values than half of it are many.
_SEEN = 256


class RowVectorizer(TransformerMixin, BaseEstimator):
    """Encode rows of any kind as numbers, with similar rows near each other.

    The encoding depends on the type of the rows:

    - DataFrames: numbers and durations are encoded by their rank, in two columns (for low ranks
      and for ranks near the middle). All other columns are encoded one-hot, by their text. Missing
      values have columns of their own. Durations of polars are treated as text.
    - Arrays of up to `most_columns` columns: the columns are used unchanged. They are encoded like
      numeric columns of DataFrames if their units differ, that is, if the largest standard
      deviation is more than four times the median one of the other columns, or if they are skewed,
      that is, if the median skewness of columns with three distinct quartiles exceeds 2.
    - Arrays of more columns: at most `most_columns` principal components.
    - Arrays of objects: encoded as arrays of numbers, in which other values count as missing. A
      column with more texts than numbers raises an error.
    - Sparse rows of up to `most_columns` columns: encoded as arrays, except for missing entries.
    - Sparse rows of more columns: at most `most_columns` singular vectors.

    Infinity counts as missing. Missing entries of arrays become the mean of their column, unless
    the columns are encoded by rank. Missing entries of sparse rows count as zero.

    Parameters
    ----------
    most_columns : int, default=100
        Largest number of columns of an array, or of sparse rows, that are encoded one by one. Rows
        with more columns are reduced to at most this many components.
    random_state : int or None, default=None
        Seed of singular vectors and principal components.

    Attributes
    ----------
    transformer_ : transformer
        The fitted transformer, which depends on the type of the rows in `fit`.

    Examples
    --------
    >>> import pandas as pd
    >>> from sklearn_pate.neighbors import RowVectorizer
    >>> rows = pd.DataFrame({"age": [20.0, None, 40.0], "city": ["Oslo", "Bern", "Oslo"]})
    >>> RowVectorizer().fit_transform(rows).shape
    (3, 6)
    """

    def __init__(self, most_columns: int = 100, random_state: RandomState = None) -> None:
        self.most_columns = most_columns
        self.random_state = random_state

    def fit(self, X: Rows, y: Any = None) -> Self:
        """Choose a transformer by the type of the rows, and fit it."""
        check_columns(X)
        X = self._as_read(X)
        self._check_array(X)
        X = with_floats(X)
        self._frame: _FrameEncoding | None = None
        self._transformer: Estimator = None
        if _has_distinct_names(X):
            self._frame = _FrameEncoding(X)
        else:
            self._transformer = self._chosen(X).set_output(transform="default").fit(X)
        return self

    @property
    def transformer_(self) -> Estimator:
        """The fitted transformer, which depends on the type of the rows in `fit`."""
        if not self.__sklearn_is_fitted__():
            raise AttributeError("transformer_ exists after fit")
        return self._transformer if self._frame is None else self._frame.transformer

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_transformer")

    def _as_read(self, X: Rows) -> Rows:
        return of_pandas(X)

    def _check_array(self, X: Rows) -> None:
        check_array(X)

    def transform(self, X: Rows) -> np.ndarray:
        """Encode rows as an array of numbers, (n_rows, n_columns)."""
        check_is_fitted(self)
        X = with_floats(self._as_read(X))
        if self._frame is not None and self._frame.encodes(X):
            return self._frame.transform(X)
        return self.transformer_.transform(X)

    @property
    def rounds_alone(self) -> bool:
        """Whether the numbers of a row are the same to the last bit in any batch of rows.

        It is False for principal components and singular vectors, which are matrix products.
        """
        from sklearn.decomposition import PCA, TruncatedSVD

        check_is_fitted(self)
        if self._frame is not None:
            return True
        steps = getattr(self.transformer_, "named_steps", {})
        return not any(isinstance(step, PCA | TruncatedSVD) for step in steps.values())

    def to_sklearn(self) -> Estimator:
        """Return the fitted transformer, which consists of scikit-learn's transformers."""
        check_is_fitted(self)
        return self.transformer_

    def _chosen(self, X: Rows) -> Estimator:
        if isinstance(X, pd.DataFrame):
            return _of_columns(X)
        from sklearn.decomposition import PCA, TruncatedSVD

        n_rows, *n_columns = X.shape
        is_sparse = sparse.issparse(X)
        if is_sparse and n_columns[0] > self.most_columns:
            n_vectors = max(1, min(self.most_columns, n_columns[0] - 1, n_rows - 1))
            svd = TruncatedSVD(n_vectors, random_state=self.random_state)
            return pipeline.make_pipeline(*_finite_sparse(), svd)
        n_flat = math.prod(n_columns)
        first = [*_finite_sparse(), calling("toarray")] if is_sparse else _finite()
        if len(n_columns) > 1:
            first = [
                preprocessing.FunctionTransformer(np.asarray),
                calling("reshape", (-1, n_flat)),
                *first,
            ]
        steps = [_imputer("mean")]
        if n_flat > self.most_columns:
            steps.append(PCA(min(self.most_columns, n_rows), random_state=self.random_state))
        else:
            columns = pipeline.make_pipeline(*first).fit_transform(X)
            columns = _without_outliers(columns)
            if _units_differ(columns) or _are_skewed(columns):
                steps = [_ranks(n_rows)]
        return pipeline.make_pipeline(*first, *steps)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        return tags


class LenientRowVectorizer(RowVectorizer):
    """A `RowVectorizer` that accepts all rows.

    Text in arrays, and values that cannot be converted to text, count as missing. Teachers use this
    class for private rows, because no private value may raise an error. The public rows must have
    been checked with `check_array`.
    """

    def _as_read(self, X: Rows) -> Rows:
        return _with_texts(super()._as_read(X))

    def _check_array(self, X: Rows) -> None:
        pass


#: Types of values that can always be converted to text.
_HAVE_TEXT = {str, float, bool, type(None), type(pd.NA), type(pd.NaT), pd.Timestamp}


def _has_text(value: Any) -> bool:
    """Return whether a value can be converted to text; its `__str__` may fail."""
    if type(value) in _HAVE_TEXT:
        return True
    if type(value) is int:  # Python raises an error for thousands of digits
        return value.bit_length() < 1000
    try:
        pd.Series([value], dtype=object).astype("string[python]")
    except Exception:
        return False
    return True


def _with_texts(X: Rows) -> Rows:
    """Replace with NaN each value of a DataFrame that cannot be converted to text."""
    if not isinstance(X, pd.DataFrame):
        return X
    for name in [name for name, dtype in X.dtypes.items() if dtype.kind == "O"]:
        have_text = np.fromiter(map(_has_text, X[name]), dtype=bool, count=len(X))
        if not have_text.all():
            X = X.copy()
            X[name] = X[name].where(have_text, np.nan)
    return X


def check_columns(X: Rows) -> None:
    """Raise an error if the columns of a DataFrame are a MultiIndex."""
    if getattr(getattr(X, "columns", None), "nlevels", 1) > 1:
        raise PublicError(
            "columns of several levels (a MultiIndex) are not supported: flatten them with "
            "X.columns = ['_'.join(map(str, name)) for name in X.columns], in X_public, too"
        )


def of_pandas(X: Rows) -> Rows:
    """Convert DataFrames of polars and similar libraries to pandas; return others unchanged.

    Numeric columns become floats and all others objects, by the dtypes of the columns alone.
    """
    if isinstance(X, pd.DataFrame) or not hasattr(X, "columns") or not hasattr(X, "get_column"):
        return X
    dtypes = {name: float if X[name].dtype.is_numeric() else object for name in X.columns}
    columns = {name: pd.Series(X[name].to_list(), dtype=dtypes[name]) for name in dtypes}
    return pd.DataFrame(columns)


# --- arrays of objects, which may contain any value -----------------------------------------------


def _holds_objects(X: Rows) -> bool:
    """Return whether rows are an array without a numeric dtype."""
    return isinstance(X, np.ndarray) and X.dtype.kind in "OSTU"


def with_floats(X: Rows) -> Rows:
    """Convert an array of objects or text to floats; return all other rows unchanged.

    Values that cannot be converted become NaN.
    """
    if not _holds_objects(X):
        return X
    columns = np.reshape(X, (len(X), -1)).astype(object)
    return np.array([[as_float(value) for value in row] for row in columns]).reshape(X.shape)


def check_array(X: Rows) -> None:
    """Raise an error for arrays of text or of complex numbers.

    The columns of an array have no dtypes of their own, so a column with more texts than numbers
    counts as text. In other columns, texts count as missing.

    Parameters
    ----------
    X : array-like with n_rows rows
        Rows. Only arrays are checked.
    """
    if isinstance(X, np.ndarray) and X.dtype.kind == "c":
        raise PublicError(
            "complex numbers are not supported: give real and imaginary parts as separate columns"
        )
    if not _holds_objects(X):
        return
    if not all(_holds_numbers(values) for values in np.reshape(X, (len(X), -1)).T):
        raise PublicError(
            "an array that holds text has no dtype for each column: convert X and X_public to "
            "DataFrames,\n"
            "    X, X_public = (pandas.DataFrame(t).infer_objects() for t in (X, X_public))\n"
            "BaggingClassifier converts DataFrames to arrays: encode both as numbers first, with "
            "neighbors.RowVectorizer().fit(X_public).transform"
        )


def _holds_numbers(values: np.ndarray) -> bool:
    are_numbers = ~np.isnan([as_float(value) for value in values])
    return sum(not _is_missing(value) for value in values[~are_numbers]) <= are_numbers.sum()


def _is_missing(value: Any) -> bool:
    try:
        return value is None or bool(pd.isna(value))
    except Exception:  # a list, a signalling NaN
        return False


# --- steps without objects of this library --------------------------------------------------------


def _finite() -> list[FunctionTransformer]:
    """Return transformers that convert arrays to floats, infinity to NaN, and clip the size."""
    infinity_is_missing = {"nan": np.nan, "posinf": np.nan, "neginf": np.nan}
    return [
        preprocessing.FunctionTransformer(np.asarray, kw_args={"dtype": float}),
        preprocessing.FunctionTransformer(np.nan_to_num, kw_args=infinity_is_missing),
        preprocessing.FunctionTransformer(np.clip, kw_args={"a_min": -_LARGEST, "a_max": _LARGEST}),
    ]


def _finite_sparse() -> list[Estimator]:
    """Return transformers of sparse rows that replace missing and infinite entries by zero."""
    return [
        calling("astype", float),
        calling("minimum", _LARGEST),
        calling("maximum", -_LARGEST),
        *(
            _imputer("constant", missing_values=value, fill_value=0.0)
            for value in (np.nan, _LARGEST, -_LARGEST)
        ),
    ]


def _units_differ(columns: np.ndarray) -> bool:
    """Return whether a single column would dominate the distances between rows."""
    with np.errstate(all="ignore"), warnings.catch_warnings(action="ignore"):
        spread = np.nanstd(columns, axis=0)  # columns without any value cause warnings
    spread = np.sort(spread[spread > 0])
    return len(spread) > 1 and spread[-1] > _OTHER_UNITS * np.median(spread[:-1])


def _are_skewed(columns: np.ndarray) -> bool:
    """Return whether most of the columns are skewed, except those with a frequent value.

    If more than a quarter of a column has one value, such as 0, a rank would be an indicator
    of this value rather than a measure of size.
    """
    low, middle, high = _percentiles(columns, [25, 50, 75])
    columns = columns[:, (low < middle) & (middle < high)]
    if not columns.shape[1]:
        return False
    away = columns - np.nanmean(columns, axis=0)
    away /= np.nanmax(np.abs(away), axis=0)  # cubes of huge numbers would overflow
    squares = away * away  # powers take ten times as long
    skewness = np.nanmean(squares * away, axis=0) / np.nanmean(squares, axis=0) ** 1.5
    return np.median(np.abs(skewness)) > _SKEWED


def _without_outliers(columns: np.ndarray) -> np.ndarray:
    """Clip each column at its first and last percentile, which limits the effect of outliers."""
    columns = np.asarray(columns, dtype=float)
    with np.errstate(all="ignore"):
        return np.clip(columns, *_percentiles(columns, [1, 99]))


def _percentiles(columns: np.ndarray, percents: list[int]) -> np.ndarray:
    """Return percentiles of each column without its missing numbers."""
    with np.errstate(all="ignore"), warnings.catch_warnings(action="ignore"):
        if not np.isnan(columns).any():  # the same for all columns at once, which is faster
            return np.percentile(columns, percents, axis=0)
        return np.nanpercentile(columns, percents, axis=0)  # warns of columns without values


def _imputer(strategy: str, **params: Any) -> SimpleImputer:
    from sklearn.impute import SimpleImputer

    return SimpleImputer(strategy=strategy, keep_empty_features=True, **params)


def _ranks(n_public: int) -> Pipeline:
    """Return a transformer of numbers to ranks, with two columns for each column of numbers.

    A column with missing public numbers gets two more, for the indicator of missing numbers.
    """
    return pipeline.make_pipeline(
        _imputer("median", add_indicator=True),
        preprocessing.QuantileTransformer(n_quantiles=min(200, n_public)),
        # High ranks are 0 in both columns
        preprocessing.SplineTransformer(3, degree=1, include_bias=False),
        preprocessing.StandardScaler(),
    )


def _sources(ranks: Pipeline, n_columns: int) -> np.ndarray:
    """Return the column of numbers that each output of a fitted pipeline of `_ranks` depends on."""
    imputer = ranks.steps[-1][1].steps[0][1]
    return np.repeat([*range(n_columns), *imputer.indicator_.features_], 2)


def _distinct_values(X: pd.DataFrame) -> list[tuple[np.ndarray, np.ndarray]] | None:
    """Return the codes and the distinct values of each column, or None unless they are few."""
    if len(X) < _FEWEST_CODED:
        return None
    found = []
    for name in X.columns:
        values = X[name].to_numpy()
        # A few rows show most columns of many values, which are not worth the search
        if values.dtype.kind not in "iuf" or len(np.unique(values[:_SEEN])) > _SEEN // 2:
            return None
        found.append(pd.factorize(values, use_na_sentinel=False))
        if len(found[-1][1]) > len(X) // 4:
            return None
    return found


class _FrameEncoding:
    """Encoding of the columns of a DataFrame, and its scikit-learn transformer.

    Numbers and durations are encoded by the steps of the transformer. Numbers of few distinct
    values, and other columns, have the same encoding as from the transformer, but each distinct
    value is read once.

    Parameters
    ----------
    X_public : DataFrame
        Public rows; the names of the columns are distinct texts.
    """

    def __init__(self, X_public: pd.DataFrame) -> None:
        kinds = {name: dtype.kind for name, dtype in X_public.dtypes.items()}
        floats = calling("to_numpy", "float64", True, np.nan)
        in_seconds = calling("__truediv__", np.timedelta64(1, "s"))
        numbers = [name for name, kind in kinds.items() if kind in "iuf"]
        times = [name for name, kind in kinds.items() if kind == "m"]  # durations
        self.others = [name for name, kind in kinds.items() if kind not in "iufm"]
        self.ranks = []
        for names, steps in ((numbers, [floats]), (times, [in_seconds, floats])):
            if names:
                ranks = pipeline.make_pipeline(*steps, *_finite(), _ranks(len(X_public)))
                ranks.set_output(transform="default").fit(X_public[names])
                self.ranks.append((ranks, names))
        self.one_hot: Any = None
        self.codes: list[CodesOfTexts] = []
        self.ends = np.zeros(1, dtype=int)
        if self.others:
            columns = [X_public[name] for name in self.others]
            self.one_hot = fit_one_hot(columns, strict_texts, missing=_MISSING)
            found = [codes_of_one_hot(self.one_hot, k) for k in range(len(columns))]
            self.ends = np.cumsum([0, *(len(labels) for _, labels in found)])
            for codes, _ in found:
                known, other = codes.code_by_text, codes.other
                of_missing = known.get(_MISSING, other)
                self.codes.append(CodesOfTexts(known, of_missing, other, strict_texts))
        self.names = list(X_public.columns)
        self.times = times

    @cached_property
    def transformer(self) -> ColumnTransformer:
        """The scikit-learn transformer, fitted."""
        from sklearn.compose import make_column_transformer

        steps: list[Any] = [(FrozenEstimator(ranks), names) for ranks, names in self.ranks]
        if self.others:
            texts = np.full((1, len(self.others)), _MISSING, dtype=object)
            as_texts = pipeline.make_pipeline(
                calling("astype", "object"),
                calling("astype", "string[python]"),
                calling("to_numpy", "object", True, np.nan),  # a copy, with NaN for missing values
                FrozenEstimator(_imputer("constant", fill_value=_MISSING).fit(texts)),
                FrozenEstimator(self.one_hot),
            )
            steps.append((as_texts, self.others))
        transformer = make_column_transformer(*steps).set_output(transform="default")
        # All steps are fitted, so any two rows will do; skops cannot store a DataFrame
        rows = {name: pd.Series([0.0, 0.0]) for name in self.names}
        rows |= {name: pd.to_timedelta(rows[name], "s") for name in self.times}
        rows |= {name: pd.Series([None, None], dtype=object) for name in self.others}
        return transformer.fit(pd.DataFrame(rows))

    def _ranked(self, step: Pipeline, X: pd.DataFrame) -> np.ndarray:
        """Return the numbers of some columns as ranks, from a fitted step."""
        found = _distinct_values(X)
        if found is None:
            return step.transform(X)
        # The step encodes each number by itself, so rows of distinct numbers are enough
        n_distinct = max(len(values) for _, values in found)
        columns = [np.resize(values, n_distinct) for _, values in found]
        encoded = step.transform(pd.DataFrame(dict(zip(X.columns, columns, strict=True))))
        ranks = np.empty((len(X), encoded.shape[1]))
        sources = _sources(step, len(found))
        for k, (codes, _) in enumerate(found):
            own = np.flatnonzero(sources == k)
            ranks[:, own] = encoded[:, own][codes]
        return ranks

    def encodes(self, X: Rows) -> bool:
        """Return whether rows are a DataFrame with the columns of the public rows."""
        if not isinstance(X, pd.DataFrame) or not X.columns.is_unique:
            return False
        return set(self.names) <= set(X.columns)

    def transform(self, X: pd.DataFrame) -> np.ndarray:
        """Encode rows as an array of numbers, (n_rows, n_columns)."""
        ranks = [self._ranked(step, X[names]) for step, names in self.ranks]
        n_ranks = sum(part.shape[1] for part in ranks)
        encoded = np.zeros((len(X), n_ranks + self.ends[-1]))
        if ranks:
            np.concatenate(ranks, axis=1, out=encoded[:, :n_ranks])
        row_starts = np.arange(len(X)) * encoded.shape[1] + n_ranks
        for start, name, codes in zip(self.ends, self.others, self.codes, strict=False):
            places = codes(X[name])
            ones = (row_starts + (start + places))[places >= 0]
            encoded.ravel()[ones] = 1.0  # faster than an index of rows and columns
        return encoded


def _has_distinct_names(X: Rows) -> bool:
    """Return whether rows are a DataFrame with columns whose names are distinct texts."""
    if not isinstance(X, pd.DataFrame) or not X.columns.is_unique or not X.shape[1]:
        return False
    return all(isinstance(name, str) for name in X.columns)


def _of_columns(X_public: pd.DataFrame) -> ColumnTransformer:
    from sklearn.compose import make_column_transformer

    kinds = {name: dtype.kind for name, dtype in X_public.dtypes.items()}
    numbers = [name for name, kind in kinds.items() if kind in "iuf"]
    times = [name for name, kind in kinds.items() if kind == "m"]  # durations
    others = [name for name, kind in kinds.items() if kind not in "iufm"]
    as_texts = pipeline.make_pipeline(
        calling("astype", "object"),
        # This conversion depends on each value only. `map(str)` would infer a dtype from all values
        # and raise an error for some combinations
        calling("astype", "string[python]"),
        calling("to_numpy", "object", True, np.nan),  # a copy, with NaN for missing values
        _imputer("constant", fill_value=_MISSING),
        preprocessing.OneHotEncoder(
            min_frequency=MIN_FREQUENCY, handle_unknown="infrequent_if_exist", sparse_output=False
        ),
    )
    n_public = len(X_public)
    floats = calling("to_numpy", "float64", True, np.nan)
    in_seconds = calling("__truediv__", np.timedelta64(1, "s"))
    return make_column_transformer(
        (pipeline.make_pipeline(floats, *_finite(), _ranks(n_public)), numbers),
        (pipeline.make_pipeline(in_seconds, floats, *_finite(), _ranks(n_public)), times),
        (as_texts, others),
    )
