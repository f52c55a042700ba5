"""Encoding of rows of any kind as numbers, by a transformer fitted on public rows alone."""

import math
import warnings
from itertools import chain, product
from numbers import Number, Real
from operator import methodcaller

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.compose import make_column_transformer
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    OneHotEncoder,
    QuantileTransformer,
    SplineTransformer,
    StandardScaler,
)
from sklearn.utils.validation import check_is_fitted

from .._sklearn import _num_samples, _safe_indexing
from ..public import table_of
from ..runtime.copies import (
    copied_generators,
    copied_rows,
    copier,
    isolated_clone,
    seeded,
    set_seeds,
)
from ..runtime.isolation import PublicError, applied_to_parts, suppress_output
from .dtypes import as_float

#: Number of public rows that a transformer is tried on, alone and in batches.
_N_TRIED = 12
#: Every second of these rows is tried together with odd rows of several kinds.
_WITH_ODD = slice(None, None, 2)


#: Reasons to refuse a transformer, and their remedies.
_REFUSED = {
    "could not be fitted on X_public": (
        "For columns of several kinds, leave transformer=None or give a ColumnTransformer"
    ),
    "cannot be copied, and each part of the private rows needs a copy of its own": (
        "Use one that can be pickled: it must hold no locks, open files or connections"
    ),
}


def fitted_on_public(transformer, X_public, seed):
    """Fit a copy of a transformer on public rows.

    Parameters
    ----------
    transformer : transformer
        Unfitted.
    X_public : array-like with n_public rows
        Public rows.
    seed : int
        Seed of its random numbers.
    """
    not_fitted, not_copied = _REFUSED
    with suppress_output(), seeded(seed):
        try:
            problem = not_copied
            fitted = isolated_clone(transformer, seed)
            problem = not_fitted
            set_seeds(fitted, seed, only_missing=True)
            fitted = copied_generators(fitted.fit(X_public, None))  # FrozenEstimator requires a y
            problem = not_copied
            copier(fitted)()
            return fitted
        except PublicError as error:
            raise ValueError(f"X_public: {error}") from None
        except Exception as error:
            words = str(error).partition("\n")[0].removesuffix(".")
            found = f"{problem}: {type(error).__name__}: {words}"
    remedy = f". {_REFUSED[problem]}"
    if type(transformer) is RowVectorizer and problem == not_fitted:
        remedy = ""  # it is the default already
    raise ValueError(f"the transformer of ReverseNeighbors {found}{remedy}")


def transformed(fitted, rows):
    """Encode rows as numbers, (n_rows, n_columns); raise an error for anything else."""
    numbers = fitted.transform(rows)
    if sparse.issparse(numbers):
        numbers = numbers.toarray()
    numbers = np.asarray(numbers)
    if numbers.ndim != 2 or numbers.dtype.kind not in "iufb" or len(numbers) != _num_samples(rows):
        raise ValueError(
            f"transformer must return a 2-D array of numbers; got {numbers.dtype}, {numbers.shape}"
        )
    return numbers.astype(float)


def transformed_private(fitted, X, n_columns, rows=None, *, largest=None):
    """Encode private rows as numbers, NaN in rows that cannot be transformed.

    No error or warning mentions these rows. A row that fails does not affect the others: a block
    that fails is halved, until the row is alone. Each of `rows`, if given, is transformed by
    itself. Otherwise the rows far beyond `largest`, the largest sizes of public rows, are.
    """
    parts = [np.arange(_num_samples(X))]
    if rows is None and largest is not None:
        far = are_far(X, largest)
        parts = [np.flatnonzero(~far), *np.flatnonzero(far)[:, None]]
    if rows is not None:
        X = copied_rows(X, rows)
        parts = np.arange(len(rows))[:, None]
    numbers = np.full((_num_samples(X), n_columns), np.nan)
    while len(parts):
        halves = []
        for rows, (found, failed) in applied_to_parts(transformed, fitted, X, parts):
            if failed is None and found.shape == (rows.size, n_columns):
                numbers[rows] = found
            elif rows.size > 1:
                halves += np.array_split(rows, 2)
        parts = halves
    return numbers


def rounding_among_others(fitted, X_public, public):
    """Return the rounding difference of public rows transformed alone and together.

    In a matrix product, the rounding of a row depends on the other rows of the batch. The function
    refuses a transformer whose numbers for a row depend on other rows by more than that: some
    public rows, and odd copies of some of them, are transformed alone and together.
    `RowVectorizer` is not checked here, because its own tests show the same.

    Parameters
    ----------
    fitted : transformer
        Fitted on public rows.
    X_public : array-like with n_public rows
        Public rows.
    public : ndarray of shape (n_public, n_columns)
        Their numbers, all transformed together.

    Returns
    -------
    float
        The largest difference, relative to the root mean square length of a row.
    """
    rows = np.unique(np.linspace(0, len(public) - 1, _N_TRIED).astype(int))  # far apart
    some = _safe_indexing(X_public, rows)
    with suppress_output():
        if type(fitted) is RowVectorizer:
            by_itself = [transformed(fitted, _safe_indexing(some, [k])) for k in range(len(rows))]
            together = transformed(fitted, some)
        else:
            by_itself = _alone(fitted, some)
            together, _ = _together(fitted, some)
            if not (_are_like_wide(by_itself) and treats_rows_alone(fitted, some, by_itself)):
                raise ValueError(
                    "the transformer's numbers for a row depend on the other rows of the batch, so "
                    "one record could change the votes of others; use one that treats each row by "
                    "itself in transform"
                )
    alone = np.vstack(by_itself)
    difference = max(np.abs(alone - public[rows]).max(), np.abs(alone - together).max())
    return float(difference / max(np.sqrt((public**2).sum(axis=1).mean()), 1e-300))


def treats_rows_alone(fitted, some, by_itself):
    """Return whether rows have the same numbers alone and together with odd rows.

    Parameters
    ----------
    fitted : transformer
        Fitted on public rows.
    some : array-like with n_some rows
        Public rows.
    by_itself : list of n_some ndarrays of shape (1, n_columns)
        Their numbers, each transformed by itself.
    """
    low, middle, high = np.nanpercentile(np.vstack(by_itself), [25, 50, 75], axis=0)
    typical = np.nan_to_num(middle), np.nan_to_num(high - low)  # medians, interquartile ranges
    few = _safe_indexing(some, np.arange(_num_samples(some))[_WITH_ODD])
    batches = chain([some], _with_odd_rows(few))
    return all(_is_row_by_row(fitted, batch, *typical) for batch in batches)


def _alone(fitted, batch):
    """Transform each row by itself; return a list of their numbers, None for a row that fails."""
    rows = np.arange(_num_samples(batch))[:, None]
    return [found for _, (found, _) in applied_to_parts(transformed, fitted, batch, rows)]


def _together(fitted, batch):
    """Transform all rows together; return their numbers and the failure, if any.

    The seed is not the seed of `_alone`, so random numbers show as a difference.
    """
    all_rows = np.arange(_num_samples(batch))
    ((_, found),) = applied_to_parts(transformed, fitted, batch, [all_rows], seed=1)
    return found


def _are_like_wide(rows):
    """Return whether all rows were transformed, to the same number of columns."""
    widths = {None if row is None else row.shape[1] for row in rows}
    return len(widths) == 1 and None not in widths


def _is_row_by_row(fitted, batch, middle, width):
    """Return whether each row has the same numbers alone and in the batch."""
    together, failed = _together(fitted, batch)
    if failed is not None:
        return True  # private rows of such a batch are transformed in smaller batches
    alone = _alone(fitted, batch)
    if not _are_like_wide([together, *alone]):
        return False
    alone = np.vstack(alone)
    with np.errstate(over="ignore", invalid="ignore"):
        # Columns have units of their own, but columns much smaller than the others, and rows that
        # are far away, differ by rounding
        close = 1e-4 * np.maximum(width, 0.01 * np.linalg.norm(width))
        far = np.where(np.isfinite(alone), alone - middle, 0)
        close = close + 2e-6 * np.linalg.norm(far, axis=1, keepdims=True)
        same = np.abs(alone - together) <= close
    return bool((same | (alone == together) | (np.isnan(alone) & np.isnan(together))).all())


def _with_odd_rows(some):
    """Yield the rows between copies with extreme, with missing and with unseen values."""
    if sparse.issparse(some):
        half = _num_samples(some) // 2
        for odd in _odd_sparse(some):
            yield sparse.vstack([odd[:half], some, odd[half:]]).tocsr()
    elif isinstance(some, pd.DataFrame):
        yield from _frames_with_odd(some)
    elif isinstance(some, pd.Series):
        for frame in _frames_with_odd(some.to_frame()):
            yield frame.iloc[:, 0]
    elif isinstance(some, np.ndarray):
        dtype = object if some.dtype.kind in "US" else some.dtype
        for frame in _frames_with_odd(pd.DataFrame(some.reshape(len(some), -1), dtype=dtype)):
            yield frame.to_numpy().reshape(-1, *some.shape[1:])


def _frames_with_odd(some):
    """Change columns of one dtype at a time, as a transformer may fail at odd values of another."""
    half = len(some) // 2
    columns = [some.iloc[:, k] for k in range(some.shape[1])]
    for dtype, change in product(dict.fromkeys(some.dtypes.astype(str)), ODD):
        odd = [change(column) if str(column.dtype) == dtype else column for column in columns]
        pairs = list(zip(odd, columns, strict=True))
        if any(changed is not column for changed, column in pairs):
            yield pd.concat([_between(*pair, half) for pair in pairs], axis=1)


def _between(odd, values, half):
    return pd.concat([odd.iloc[:half], values.astype(odd.dtype), odd.iloc[half:]])


def _odd_sparse(some):
    """Yield sparse rows with extreme entries, with entries in other columns, and with missing."""
    yield some * 1e6
    yield some[:, ::-1] * -1e6
    if some.dtype.kind == "f":
        missing = some.copy()
        missing.data[::2] = np.nan
        yield missing


# --- odd values of a column, which private rows may have and public rows may lack ----------------

#: Times far from others that fit into all units.
_FAR = {"M": "2200-01-01", "m": "36500 days"}


def _extreme(values):
    """Return numbers or times beyond all rows, of the same dtype."""
    kind = getattr(values.dtype, "kind", "O")
    if kind == "f":
        return values * 1e6 + 1e6
    if kind in "iu":
        stored = getattr(values.dtype, "numpy_dtype", values.dtype)
        return values * 0 + np.iinfo(stored).max // 4
    if kind in _FAR:
        return pd.Series(_FAR[kind], index=values.index, name=values.name).astype(values.dtype)
    return values


def _negative(values):
    """Return the negative of extreme numbers and times, if the dtype has negative values."""
    kind = getattr(values.dtype, "kind", "O")
    return -_extreme(values) if kind in "fim" else values


def _half_missing(values):
    """Return extreme values, every second one missing, if the dtype can hold missing values."""
    extreme = _extreme(values)
    missing = extreme.mask(np.arange(len(values)) % 2 == 0)
    return missing if missing.dtype == extreme.dtype else values


def _unseen(values):
    """Return texts, categories or objects that no rows have."""
    dtype = values.dtype
    if isinstance(dtype, pd.CategoricalDtype):
        unseen = ["unseen" if dtype.categories.dtype.kind not in "iuf" else 10**9] * len(values)
        dtype = pd.CategoricalDtype(dtype.categories.union(unseen[:1], sort=False), dtype.ordered)
    elif pd.api.types.is_object_dtype(dtype) or pd.api.types.is_string_dtype(dtype):
        unseen = [_unlike(value, k) for k, value in enumerate(values)]
    else:
        return values
    return pd.Series(unseen, index=values.index, name=values.name, dtype=dtype)


def _unlike(value, k):
    """Return an unseen text, sometimes an empty one, or for a number one of either sign."""
    if isinstance(value, bool | np.bool_ | bytes):
        return value
    if isinstance(value, Real) and value == value:
        return (-1) ** k * (1e9 + k)
    return "" if k % 4 == 1 else f"unseen {k}"


#: Changes of columns: each returns a changed copy, or the same object if it does not apply.
ODD = (_extreme, _negative, _half_missing, _unseen)


# --- the default transformer ----------------------------------------------------------------------


#: Units differ if the largest standard deviation of a column exceeds this multiple of the median.
_OTHER_UNITS = 10

#: Private rows with numbers larger than public ones by more than this factor are transformed alone.
#: Transformers are tried together with rows a million times as large, see `ODD`, so that rounding
#: in a batch of private rows is at most a thousandth of the rounding tried.
_MOST = 1e3

#: Numbers are clipped to this size, so that sums of their fourth powers are finite.
_LARGEST = 1e75


class RowVectorizer(TransformerMixin, BaseEstimator):
    """Encoder of rows of any kind as numbers, with similar rows near each other.

    The encoding depends on the type of the rows:

    - DataFrames: numbers and durations are encoded by their rank, in two columns (for low ranks
      and for ranks near the middle). All other columns are encoded one-hot, by their text. Missing
      values have columns of their own. Durations of polars are treated as text.
    - Arrays of up to `most_columns` columns: the columns are used unchanged. If their units differ,
      that is, if the largest standard deviation is more than ten times the median one, they are
      encoded like columns of DataFrames.
    - Arrays of more columns: at most `most_columns` principal components.
    - Arrays of objects: encoded as arrays of numbers, in which other values count as missing. A
      column with more texts than numbers is refused.
    - Sparse rows of up to `most_columns` columns: encoded as arrays.
    - Sparse rows of more columns: at most `most_columns` singular vectors.

    Infinity counts as missing, and missing entries of sparse rows count as zero.

    Parameters
    ----------
    most_columns : int, default=100
        Maximal number of encoded columns of arrays and of sparse rows.
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

    def __init__(self, most_columns=100, random_state=None):
        self.most_columns = most_columns
        self.random_state = random_state

    def fit(self, X, y=None):
        """Choose a transformer by the type of the rows, and fit it."""
        if getattr(getattr(X, "columns", None), "nlevels", 1) > 1:
            raise PublicError(
                "columns of several levels (a MultiIndex) have no single names: flatten them, "
                "X.columns = ['_'.join(map(str, name)) for name in X.columns], X_public as well"
            )
        X = self._as_read(X)
        self._check_array(X)
        X = _with_floats(X)
        self.transformer_ = self._chosen(X).set_output(transform="default").fit(X)
        return self

    def _as_read(self, X):
        return of_pandas(X)

    def _check_array(self, X):
        check_array(X)

    def transform(self, X):
        """Encode rows as numbers, an array with one row for each."""
        return self.transformer_.transform(_with_floats(self._as_read(X)))

    def to_sklearn(self):
        """Return the fitted transformer, which consists of scikit-learn's transformers."""
        check_is_fitted(self)
        return self.transformer_

    def _chosen(self, X):
        if isinstance(X, pd.DataFrame):
            return _of_columns(X)
        n_rows, *n_columns = X.shape
        is_sparse = sparse.issparse(X)
        if is_sparse and n_columns[0] > self.most_columns:
            n_vectors = max(1, min(self.most_columns, n_columns[0] - 1, n_rows - 1))
            svd = TruncatedSVD(n_vectors, random_state=self.random_state)
            return make_pipeline(*_finite_sparse(), svd)
        n_flat = math.prod(n_columns)
        first = [*_finite_sparse(), calling("toarray")] if is_sparse else _finite()
        if len(n_columns) > 1:
            first = [FunctionTransformer(np.asarray), calling("reshape", (-1, n_flat)), *first]
        steps = [_imputer("mean")]
        if n_flat > self.most_columns:
            steps.append(PCA(min(self.most_columns, n_rows), random_state=self.random_state))
        elif _units_differ(make_pipeline(*first).fit_transform(X)):
            steps = [_ranks(n_rows)]
        return make_pipeline(*first, *steps)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        return tags


class LenientRowVectorizer(RowVectorizer):
    """A `RowVectorizer` that accepts all rows.

    Texts in arrays, and values that have no text, count as missing. It encodes blocks of private
    rows, whose values must raise no error. `check_array` has checked the public rows before.
    """

    def _as_read(self, X):
        return _with_texts(super()._as_read(X))

    def _check_array(self, X):
        pass


#: Types whose values all have a text.
_HAVE_TEXT = {str, float, bool, type(None), type(pd.NA), type(pd.NaT), pd.Timestamp}


def _has_text(value):
    """Return whether a value has a text, because its `__str__` may fail."""
    if type(value) in _HAVE_TEXT:
        return True
    if type(value) is int:  # Python raises an error for thousands of digits
        return value.bit_length() < 1000
    try:
        pd.Series([value], dtype=object).astype("string[python]")
    except Exception:
        return False
    return True


def _with_texts(X):
    """Replace the values of a DataFrame that have no text by missing ones, each by itself."""
    if not isinstance(X, pd.DataFrame):
        return X
    for name in [name for name, dtype in X.dtypes.items() if dtype.kind == "O"]:
        have_text = np.fromiter(map(_has_text, X[name]), dtype=bool, count=len(X))
        if not have_text.all():
            X = X.copy()
            X[name] = X[name].where(have_text, np.nan)
    return X


def of_pandas(X):
    """Convert DataFrames of other libraries to pandas; return anything else unchanged.

    Numeric columns become floats and all others objects, by the dtypes of the columns alone.
    """
    if isinstance(X, pd.DataFrame) or not hasattr(X, "columns") or not hasattr(X, "get_column"):
        return X
    dtypes = {name: float if X[name].dtype.is_numeric() else object for name in X.columns}
    columns = {name: pd.Series(X[name].to_list(), dtype=dtypes[name]) for name in dtypes}
    return pd.DataFrame(columns)


# --- arrays of objects: any value may be in them --------------------------------------------------


def _holds_objects(X):
    """Return whether rows are an array without a numeric dtype."""
    return isinstance(X, np.ndarray) and X.dtype.kind in "OSTU"


def _with_floats(X):
    """Convert an array of objects to floats, NaN for other values; return other rows unchanged."""
    if not _holds_objects(X):
        return X
    columns = np.reshape(X, (len(X), -1)).astype(object)
    return np.array([[as_float(value) for value in row] for row in columns]).reshape(X.shape)


def check_array(X):
    """Refuse arrays of text, whose columns have no dtypes of their own, and of complex numbers.

    A column with more texts than numbers counts as text. In other columns, texts count as missing.

    Parameters
    ----------
    X : array-like with n_rows rows
        Rows. Only arrays are checked.
    """
    if isinstance(X, np.ndarray) and X.dtype.kind == "c":
        raise PublicError(
            "an array of complex numbers: give real and imaginary parts as columns of their own"
        )
    if not _holds_objects(X):
        return
    if not all(_holds_numbers(values) for values in np.reshape(X, (len(X), -1)).T):
        raise PublicError(
            "an array that holds text has no dtypes of its columns: convert both to DataFrames,\n"
            "    X, X_public = (pandas.DataFrame(t).infer_objects() for t in (X, X_public))\n"
            "BaggingClassifier converts DataFrames to arrays: give it the numbers that "
            "neighbors.RowVectorizer().fit(X_public).transform returns for each"
        )


def _holds_numbers(values):
    are_numbers = ~np.isnan([as_float(value) for value in values])
    return sum(not _is_missing(value) for value in values[~are_numbers]) <= are_numbers.sum()


def _is_missing(value):
    try:
        return value is None or bool(pd.isna(value))
    except Exception:  # a list, a signalling NaN
        return False


# --- steps made of other libraries alone ----------------------------------------------------------


def _finite():
    """Return transformers that convert arrays to floats, infinity to NaN, and clip the size."""
    infinity_is_missing = {"nan": np.nan, "posinf": np.nan, "neginf": np.nan}
    return [
        FunctionTransformer(np.asarray, kw_args={"dtype": float}),
        FunctionTransformer(np.nan_to_num, kw_args=infinity_is_missing),
        FunctionTransformer(np.clip, kw_args={"a_min": -_LARGEST, "a_max": _LARGEST}),
    ]


def _finite_sparse():
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


def calling(method, *args):
    """Return a transformer that calls a method of the rows, and loads without this library."""
    return FunctionTransformer(methodcaller(method, *args))


def _units_differ(columns):
    """Return whether a single column would dominate the distances between rows."""
    columns = np.asarray(columns, dtype=float)
    with np.errstate(all="ignore"), warnings.catch_warnings(action="ignore"):
        # Columns without any value cause warnings, and a few distant rows do not set a unit
        ends = np.nanpercentile(columns, [1, 99], axis=0)
        spread = np.nanstd(np.clip(columns, *ends), axis=0)
    spread = spread[spread > 0]
    return spread.size > 0 and spread.max() > _OTHER_UNITS * np.median(spread)


def _imputer(strategy, **params):
    return SimpleImputer(strategy=strategy, keep_empty_features=True, **params)


def _ranks(n_public):
    """Return a transformer of columns of numbers, (n_rows, n_columns), to ranks in two columns."""
    return make_pipeline(
        _imputer("median", add_indicator=True),
        QuantileTransformer(n_quantiles=min(200, n_public)),
        SplineTransformer(3, degree=1, include_bias=False),  # neither low nor in the middle is high
        StandardScaler(),
    )


def closeness(n_public):
    """Return a transformer of columns of numbers to folded ranks, ``abs(rank - 1/2)``."""
    return make_pipeline(
        *_finite(),
        _imputer("median"),
        QuantileTransformer(n_quantiles=min(200, n_public)),
        calling("__sub__", 0.5),
        FunctionTransformer(np.abs),
    )


def _of_columns(X_public):
    kinds = {name: dtype.kind for name, dtype in X_public.dtypes.items()}
    numbers = [name for name, kind in kinds.items() if kind in "iuf"]
    times = [name for name, kind in kinds.items() if kind == "m"]  # durations
    others = [name for name, kind in kinds.items() if kind not in "iufm"]
    as_texts = make_pipeline(
        calling("astype", "object"),
        # Each value is converted by itself: `map(str)` would choose a dtype from all of them, and
        # refuse some combinations
        calling("astype", "string[python]"),
        calling("to_numpy", "object", True, np.nan),  # a copy, with NaN for missing values
        _imputer("constant", fill_value="missing"),
        OneHotEncoder(
            min_frequency=0.005, handle_unknown="infrequent_if_exist", sparse_output=False
        ),
    )
    n_public = len(X_public)
    floats = calling("to_numpy", "float64", True, np.nan)
    in_seconds = calling("__truediv__", np.timedelta64(1, "s"))
    return make_column_transformer(
        (make_pipeline(floats, *_finite(), _ranks(n_public)), numbers),
        (make_pipeline(in_seconds, floats, *_finite(), _ranks(n_public)), times),
        (as_texts, others),
    )


# --- rows far beyond the public ones: their size affects the rounding of a batch ------------------


def largest_sizes(X_public):
    """Return the largest absolute value of the numbers in each column of public rows.

    Parameters
    ----------
    X_public : array-like with n_public rows
        Public rows.

    Returns
    -------
    ndarray of shape (n_columns,)
    """
    return np.nan_to_num(_sizes(X_public), posinf=0).max(axis=0, initial=0)


def are_far(X, largest):
    """Return a mask of the rows with a number far beyond the public ones, each by itself.

    Parameters
    ----------
    X : array-like with n_rows rows
        Private rows.
    largest : ndarray of shape (n_columns,)
        From `largest_sizes`.

    Returns
    -------
    ndarray of shape (n_rows,), bool
    """
    return (_sizes(X) > _MOST * (1 + largest)).any(axis=1)


def _sizes(X):
    """Return the absolute values of numbers in rows, (n_rows, n_columns), else 0 or NaN."""
    if sparse.issparse(X):
        # One size for each row: its largest absolute value
        return abs(X).nanmax(axis=1).toarray().astype(float).reshape(-1, 1)
    if isinstance(X, np.ndarray) and X.dtype.kind in "iuf":
        return np.abs(X.reshape(len(X), -1).astype(float))
    table = table_of(of_pandas(X))
    return np.column_stack([_numbers(table.iloc[:, k]) for k in range(table.shape[1])])


def _numbers(column):
    """Return the absolute values of a column, else 0 or NaN; no value raises an error."""
    if isinstance(column.dtype, pd.CategoricalDtype):
        column = column.astype(object)
    if column.dtype == object:
        return np.array([_size(value) for value in column])
    if getattr(column.dtype, "kind", "O") not in "iuf":
        return np.zeros(len(column))
    return np.abs(column.to_numpy(float, na_value=np.nan))


def _size(value):
    try:
        return abs(float(value)) if isinstance(value, Number) else 0.0  # Decimal is a Number
    except OverflowError:
        return np.inf
    except Exception:  # complex numbers, signalling NaN
        return 0.0
