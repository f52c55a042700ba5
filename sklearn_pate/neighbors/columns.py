"""The transformer of rows of any kind, if none is given."""

import math
import warnings
from numbers import Number
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

from ..public import table_of

#: Units differ where the largest spread of a column is so many times the median one.
_OTHER_UNITS = 10

#: Kinds of dtypes whose order matters: whole numbers and floats, and lengths of time.
_NUMBERS = "iuf"
_LENGTH_OF_TIME = "m"


#: A transformer is tried beside rows a million times as large, see `transform.ODD`. Rounding beside
#: rows that are so many times as large at most is a thousandth of what was tried.
_MOST = 1e3


class RowVectorizer(TransformerMixin, BaseEstimator):
    """Makes numbers of rows of any kind, such that like rows are near each other.

    DataFrames: numbers and lengths of time by their rank, in two columns (how low it is, and how
    close to the middle); all others one-hot, by their text; missing values in columns of their
    own. In polars, lengths of time are like texts. Arrays of up to `most_columns`: the columns as
    they are, or like those of DataFrames where units differ, that is, where the largest standard
    deviation is ten times the median one. Arrays of more columns: so many principal components.
    Sparse rows: so many singular vectors.

    Parameters
    ----------
    most_columns : int, default=100
        Most columns of arrays and of sparse rows.
    random_state : int or None, default=None
        Seeds singular vectors and principal components.

    Attributes
    ----------
    transformer_ : transformer
        The one that suits the rows that it was fitted on.

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
            raise ValueError(
                "columns of several levels (a MultiIndex) have no names to go by: flatten them, "
                "X.columns = ['_'.join(map(str, name)) for name in X.columns], X_public as well"
            )
        X = of_pandas(X)
        self.transformer_ = self._chosen(X).fit(X)
        return self

    def transform(self, X):
        """Return the numbers of rows, an array with a row for each."""
        return self.transformer_.transform(of_pandas(X))

    def to_sklearn(self):
        """Return the fitted transformer, which is made of scikit-learn's."""
        check_is_fitted(self)
        return self.transformer_

    def _chosen(self, X):
        if isinstance(X, pd.DataFrame):
            return _of_columns(X)
        n_rows, *n_columns = X.shape
        if sparse.issparse(X):
            n_vectors = max(1, min(self.most_columns, n_columns[0] - 1, n_rows - 1))
            return TruncatedSVD(n_vectors, random_state=self.random_state)
        flat = _flattening(n_columns)
        if math.prod(n_columns) <= self.most_columns:
            if _units_differ(np.reshape(X, (n_rows, -1))):
                return make_pipeline(*flat, _ranks(n_rows))
            return make_pipeline(*flat, _imputer("mean"))
        components = PCA(min(self.most_columns, n_rows), random_state=self.random_state)
        return make_pipeline(*flat, _imputer("mean"), components)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        return tags


def of_pandas(X):
    """Return DataFrames of other libraries as those of pandas, and anything else as it is.

    Numbers become floats and all else objects, by the types of the columns alone.
    """
    if isinstance(X, pd.DataFrame) or not hasattr(X, "columns") or not hasattr(X, "get_column"):
        return X
    columns = {}
    for name in X.columns:
        column = X.get_column(name)
        dtype = float if column.dtype.is_numeric() else object
        columns[name] = pd.Series(column.to_list(), dtype=dtype)
    return pd.DataFrame(columns)


def _calling(method, *args):
    """Return a transformer that calls a method of the rows, and loads where this room is not."""
    return FunctionTransformer(methodcaller(method, *args), feature_names_out="one-to-one")


def _flattening(n_columns):
    """Return transformers that make one axis of several."""
    if len(n_columns) == 1:
        return []
    return [FunctionTransformer(np.asarray), _calling("reshape", (-1, math.prod(n_columns)))]


def _units_differ(columns):
    """Whether one column would decide alone which rows are near each other."""
    columns = np.asarray(columns, dtype=float)
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of columns without any value
        ends = np.nanpercentile(columns, [1, 99], axis=0)  # a few rows far away are no unit
        spread = np.nanstd(np.clip(columns, *ends), axis=0)
    spread = spread[spread > 0]
    return spread.size > 0 and spread.max() > _OTHER_UNITS * np.median(spread)


def _imputer(strategy, **params):
    return SimpleImputer(strategy=strategy, keep_empty_features=True, **params)


def _ranks(n_public):
    """Return a transformer of columns of numbers, (n_rows, n_columns), to how low each is."""
    return make_pipeline(
        _imputer("median", add_indicator=True),
        QuantileTransformer(n_quantiles=min(200, n_public)),
        SplineTransformer(3, degree=1, include_bias=False),  # what is not low or middle is high
        StandardScaler(),
    )


def closeness(n_public):
    """Return a transformer of columns of numbers to how far from the middle each one's rank is."""
    return make_pipeline(
        _imputer("median"),
        QuantileTransformer(n_quantiles=min(200, n_public)),
        FunctionTransformer(methodcaller("__sub__", 0.5)),
        FunctionTransformer(np.abs),
    )


def _of_columns(X_public):
    kinds = {name: dtype.kind for name, dtype in X_public.dtypes.items()}
    times = [name for name, kind in kinds.items() if kind == _LENGTH_OF_TIME]
    numbers = [name for name, kind in kinds.items() if kind in _NUMBERS]
    others = [name for name in kinds if name not in {*times, *numbers}]
    as_texts = make_pipeline(
        _calling("astype", "object"),
        # Each value by itself: `map(str)` chooses a dtype by all of them, and refuses some together
        _calling("astype", "string[python]"),
        _calling("to_numpy", "object", True, np.nan),  # a copy, with NaN for missing values
        _imputer("constant", fill_value="missing"),
        OneHotEncoder(
            min_frequency=0.005, handle_unknown="infrequent_if_exist", sparse_output=False
        ),
    )
    n_public = len(X_public)
    floats = _calling("to_numpy", "float64", True, np.nan)
    in_seconds = _calling("__truediv__", np.timedelta64(1, "s"))
    return make_column_transformer(
        (make_pipeline(floats, _ranks(n_public)), numbers),
        (make_pipeline(in_seconds, floats, _ranks(n_public)), times),
        (as_texts, others),
    )


# --- rows far outside what public ones show: their size decides how a batch is rounded -----------


def largest_sizes(X_public):
    """Return the largest size of a number in each column of public rows.

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
    """Return which rows hold a number far beyond the public ones, each by itself.

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
    """Return the absolute numbers of rows, (n_rows, n_columns), 0 for all else."""
    if sparse.issparse(X):
        # One size for each row: that of its largest number
        largest = abs(X).nanmax(axis=1).toarray().astype(float)
        return np.nan_to_num(largest, posinf=np.inf).reshape(-1, 1)
    if isinstance(X, np.ndarray) and X.dtype.kind in "iuf":
        return np.abs(X.reshape(len(X), -1).astype(float))
    table = table_of(of_pandas(X))
    return np.column_stack([_numbers(table.iloc[:, k]) for k in range(table.shape[1])])


def _numbers(column):
    """Return the absolute numbers of a column, 0 for all else. No value makes it fail."""
    if isinstance(column.dtype, pd.CategoricalDtype):
        column = column.astype(object)
    if column.dtype == object:
        return np.array([_size(value) for value in column])
    if getattr(column.dtype, "kind", "O") not in "iuf":
        return np.zeros(len(column))
    sizes = np.abs(column.to_numpy(float, na_value=np.nan))
    return np.where(np.isnan(sizes), 0, sizes)


def _size(value):
    if not isinstance(value, Number):  # Decimal is one
        return 0.0
    try:
        size = abs(float(value))
    except OverflowError:
        return np.inf
    except Exception:  # complex numbers, signalling NaN
        return 0.0
    return 0.0 if np.isnan(size) else size
