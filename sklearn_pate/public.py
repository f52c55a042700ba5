"""Public data on its way through scikit-learn: whole through searches, first into transformers."""

import os
from dataclasses import dataclass
from functools import partial

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.base import TransformerMixin
from sklearn.utils import get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from ._numbers import first_names
from ._sklearn import (
    CheckedEstimator,
    HasMethods,
    _fit_context,
    _num_samples,
    _safe_indexing,
    delegated,
)
from .exceptions import PrivacyLeakWarning, warn
from .rdp.checks import as_array
from .runtime.copies import (
    copied_generators,
    fresh_seed,
    isolated_clone,
    seeded,
    set_seeds,
    unfitted,
)
from .runtime.isolation import attempt
from .runtime.private_data import Private

__all__ = ["FitOnPublic", "Overlap", "PublicData", "overlap", "public_rows"]

#: So many positions are printed.
_N_SHOWN = 10

#: What numpy may spend on finding out whether two arrays overlap; slices take far less.
_MAX_WORK = 100_000


class PublicData(tuple):
    """Public rows that searches and cross-validation leave whole.

    When scikit-learn splits `X`, it silently splits every extra array with as many rows as well,
    and an estimator cannot tell that this happened. A tuple of one element has one row, so it is
    left alone. In pipelines, ``transform_input=["X_public"]`` transforms what it holds.

    Parameters
    ----------
    X : array-like, sparse matrix or DataFrame with n_public rows
        Public, unlabelled rows.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.model_selection import cross_val_score
    >>> from sklearn_pate import PATEClassifier, PublicData
    >>> X, y = make_classification(2000, class_sep=2, random_state=0)
    >>> clf = PATEClassifier(LogisticRegression(), classes=[0, 1])
    >>> params = {"X_public": PublicData(X[1000:])}  # as many rows as X[:1000], and left whole
    >>> len(cross_val_score(clf, X[:1000], y[:1000], params=params, cv=2))
    2
    """

    def __new__(cls, X):
        """Wrap `X`."""
        return super().__new__(cls, (public_rows(X),))

    def __getnewargs__(self):
        return tuple(self)  # the arguments of __new__; those of a tuple would wrap it twice

    def __repr__(self):
        return f"PublicData({type(self[0]).__name__} of shape {getattr(self[0], 'shape', '?')})"


def public_rows(X_public):
    """Return the rows that `PublicData`, or the plain tuple a Pipeline makes of it, holds.

    Parameters
    ----------
    X_public : PublicData, tuple of length 1, or array-like
        As the user gave it.

    Returns
    -------
    array-like
        The rows.

    Examples
    --------
    >>> from sklearn_pate.public import PublicData, public_rows
    >>> public_rows(PublicData([[1.0], [2.0]]))
    [[1.0], [2.0]]
    """
    return X_public[0] if isinstance(X_public, tuple) and len(X_public) == 1 else X_public


def warn_if_private(X_public, X, name="X_public"):
    """Warn of public rows that are the private ones, or lie in their memory as a slice does.

    The warning goes by the objects alone, never by values: an answer to "is this row a private
    one?" would be one about a private record. Whoever holds the data asks `overlap`. Sparse rows
    and tables of polars are seen as the same object alone.

    Parameters
    ----------
    X_public : array-like or PublicData
        As the user gave it.
    X : array-like
        Private rows.
    name : str, default="X_public"
        What the public rows are called.

    Returns
    -------
    tuple of str
        What `PrivacySpent.not_covered` says of it; empty if there is nothing to warn of.
    """
    X_public = public_rows(X_public)
    if X_public is not X and not _share_memory(X_public, X):
        return ()
    found = "is X" if X_public is X else "shares memory with X, as a slice of it does"
    warn(
        f"{name} {found}: what is published would be learnt from private rows, which the privacy "
        "guarantee does not cover; pass rows that are public",
        PrivacyLeakWarning,
    )
    return (f"private rows, which were given as {name}",)


def _share_memory(first, second):
    """Whether an entry of one lies where one of the other does, if that can be seen cheaply."""
    for one, other in zip(_arrays(first), _arrays(second), strict=False):
        try:
            if np.shares_memory(one, other, max_work=_MAX_WORK):
                return True
        except np.exceptions.TooHardError:
            return True  # their bounds overlap, and they interlock as no two slices of a table do
    return False


def _arrays(X):
    """Return the arrays that hold the entries of `X`; which ones must not depend on values."""
    if isinstance(X, np.ndarray):
        return [X]
    if isinstance(X, pd.DataFrame):
        columns = [column for _, column in X.items()]
        return [column.to_numpy() for column in columns if isinstance(column.dtype, np.dtype)]
    return []


@dataclass(frozen=True, eq=False, repr=False)
class Overlap(Private):
    """What public rows have in common with private ones: private, for the curator alone.

    It does not survive pickling or copying, and its repr shows nothing; `print` shows all of it.

    Attributes
    ----------
    public_rows : ndarray of shape (n_equal,)
        Positions of the public rows that are equal to some private row.
    label_columns : list
        Names (for arrays, positions) of the columns of `X` that are the labels under another name:
        each value belongs to one label, and each label to one value.
    """

    public_rows: np.ndarray
    label_columns: list

    def __str__(self):
        """Show what was found, as whoever prints it holds the data."""
        n_equal = len(self.public_rows)
        positions = ", ".join(map(str, self.public_rows[:_N_SHOWN]))
        more = f" and {n_equal - _N_SHOWN} more" * (n_equal > _N_SHOWN)
        return (
            f"Overlap: {n_equal} public rows equal a private row"
            f"{f' (positions {positions}{more})' * (n_equal > 0)}; columns of X that are the "
            f"labels: {self.label_columns or 'none'}"
        )


def overlap(X, y, X_public):
    """Find public rows that are equal to private ones, and columns that are the labels.

    Call it before a fit. What it returns says something of single private records, so it is for
    the holder of the data alone: do not publish it, nor choose what to publish by it. A fit never
    asks, as a warning in its log would answer whoever chose the public rows.

    Columns must have the same types, as in a fit. DataFrames that have the same columns in another
    order are compared by name. Equal rows are not always private: where there are few columns,
    unlike people have equal rows.

    Parameters
    ----------
    X : array-like, sparse matrix or DataFrame with n_samples rows
        Private rows.
    y : array-like of shape (n_samples,) or None
        Private labels. With None, no columns are compared with them.
    X_public : array-like, sparse matrix, DataFrame or PublicData with n_public rows
        Public rows with the same columns.

    Returns
    -------
    Overlap
        Private.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn_pate.public import overlap
    >>> X, y = load_iris(return_X_y=True)
    >>> found = overlap(X[:100], y[:100], X_public=X[99:])
    >>> found
    Overlap(private)
    >>> found.public_rows, found.label_columns
    (array([0]), [])
    >>> print(found)
    Overlap: 1 public rows equal a private row (positions 0); columns of X that are the labels: none
    """
    check_not_swapped(X, y, X_public)
    private = _table("X", X)
    public = _table("X_public", public_rows(X_public))
    if private.shape[1] != public.shape[1]:
        raise ValueError(f"X has {private.shape[1]} columns and X_public {public.shape[1]}")
    names = list(private.columns)
    if public.columns.is_unique and set(names) == set(public.columns):
        public = public[names]
    is_equal = np.isin(value_hashes(public), value_hashes(private))
    label_columns = []
    if y is not None:
        labels = as_array("y", y)
        if labels.shape not in [(len(private),), (len(private), 1)]:
            raise ValueError(
                f"y must have one label for each of the {len(private)} rows of X; got shape "
                f"{labels.shape}"
            )
        labels = pd.factorize(pd.Series(labels.ravel()))[0]
        columns = private.items()
        label_columns = [name for name, column in columns if _is_one_to_one(column, labels)]
    return Overlap(np.flatnonzero(is_equal), label_columns)


def _table(name, X):
    """Return rows that a user gave as a DataFrame; refuse what has no rows or columns."""
    X = indexable_rows(X, name)
    if len(X.shape) < 2:
        raise ValueError(f"{name} must have rows and columns; got shape {X.shape}")
    return table_of(X)


def table_of(X):
    """Return rows as a DataFrame."""
    if sparse.issparse(X):
        X = X.toarray()
    elif hasattr(X, "to_pandas"):
        try:
            X = X.to_pandas()
        except ModuleNotFoundError as error:  # of polars
            raise ImportError(
                f"{type(X).__module__.partition('.')[0]} needs a package to give its rows to "
                f"pandas ({error}): pip install pyarrow, or give DataFrames of pandas"
            ) from None
    if not isinstance(X, pd.DataFrame):
        X = np.asarray(X)
        X = pd.DataFrame(X.reshape(len(X), -1))
    return X.reset_index(drop=True)


def value_hashes(rows):
    """Return a number for each row: equal where values are, numbers as floats, all else as text."""
    table = table_of(rows)
    columns = {k: plain(table.iloc[:, k]) for k in range(table.shape[1])}
    return pd.util.hash_pandas_object(pd.DataFrame(columns), index=False).to_numpy()


def plain(column):
    """Return a column as floats, or as texts where it holds anything else."""
    if getattr(column.dtype, "kind", "O") in "iufb":
        return column.to_numpy("float64", na_value=np.nan) + 0.0  # never -0.0
    return column.astype(object).map(str).to_numpy(object)


def are_all_equal(X_public):
    """Return whether all public rows hold the same values."""
    n_rows = _num_samples(X_public)
    few = _safe_indexing(X_public, list(range(min(n_rows, 50))))  # mostly these tell
    return n_rows > 1 and all(np.unique(value_hashes(X)).size == 1 for X in (few, X_public))


def _is_one_to_one(column, labels):
    """Whether values and labels determine each other, and there are two of them or more."""
    codes = pd.factorize(column, use_na_sentinel=False)[0]
    pairs = len(set(zip(codes.tolist(), labels.tolist(), strict=True)))
    return pairs > 1 and pairs == len(np.unique(codes)) == len(np.unique(labels))


# --- columns of public rows that no model can use ------------------------------------------------

#: Columns are checked in so many rows at most, and not in fewer; fewer than the last show neither
#: how many values a column has, nor that it has one alone.
_MOST_CHECKED = 20_000
_FEWEST_CHECKED = 30
_FEWEST_COUNTED = 100

#: So many whole numbers that all differ are identifiers.
_MANY = 1000

#: A column of text may have so many values, and no more than this share of the rows.
MOST_VALUES = 1000
_MOST_OF_ROWS = 0.5

#: Each kind of column that is reported, and why.
_USELESS = {
    "identifier": (
        "columns {} have another value in each public row, as identifiers do: leave them out, "
        "since they do not help with other rows, and may name a person"
    ),
    "text": (
        "columns {} hold text with more values than can be learnt, over 1000 or over half of the "
        "public rows: join values, turn them into numbers, or leave the columns out"
    ),
    "constant": "columns {} have one value in all public rows: leave them out",
}


def useless_columns(X_public):
    """Return warnings about columns of public rows: identifiers, text of many values, constants.

    Parameters
    ----------
    X_public : array-like with n_public rows
        Public rows. DataFrames are checked, and arrays of whole numbers or objects; floats that all
        differ are no identifiers, and constants are usual in arrays, as in images.

    Returns
    -------
    list of str

    Examples
    --------
    >>> import pandas as pd
    >>> from sklearn_pate.public import useless_columns
    >>> rows = pd.DataFrame({"id": range(700, 800), "age": [30.5, 40.5] * 50, "unit": "cm"})
    >>> for text in useless_columns(rows):
    ...     print(text)
    columns ['id'] have another value in each public row, as identifiers do: leave them out, ...
    columns ['unit'] have one value in all public rows: leave them out
    """
    is_frame = hasattr(X_public, "columns")
    kind = getattr(getattr(X_public, "dtype", None), "kind", "")
    n_rows = _num_samples(X_public)
    is_checked = is_frame or (isinstance(X_public, np.ndarray) and X_public.ndim == 2)
    if not is_checked or (not is_frame and kind not in "iuOTU") or n_rows < _FEWEST_CHECKED:
        return []
    rows = np.unique(np.linspace(0, n_rows - 1, min(n_rows, _MOST_CHECKED)).astype(int))
    table = table_of(_safe_indexing(X_public, rows))
    # Lists and other values that cannot be compared are of no kind
    kinds = [attempt(partial(_useless_kind, table.iloc[:, k]))[0] for k in range(table.shape[1])]
    found = []
    for kind, text in _USELESS.items():
        names = [name for name, own in zip(table.columns, kinds, strict=True) if own == kind]
        if names and (is_frame or kind != "constant"):
            found.append(text.format(first_names(names)))
    return found


def _useless_kind(column):
    """Return "identifier", "text", "constant" or None for a column of public rows."""
    values = column.dropna()
    n_rows, n_values = len(values), values.nunique()
    if n_values <= 1:  # a single value that is missing in some rows is none
        is_constant = n_values == 0 or n_rows == len(column)
        return "constant" if is_constant and len(column) >= _FEWEST_COUNTED else None
    if n_rows < _FEWEST_CHECKED:
        return None
    are_all_different = n_values == n_rows
    if pd.api.types.is_integer_dtype(column.dtype):
        # If so many were drawn at random as far apart, two would be equal but once in e**4
        are_dense = 8 * (float(values.max()) - float(values.min())) < n_rows**2
        is_identifier = n_rows >= _MANY or are_dense or values.is_monotonic_increasing
        return "identifier" if are_all_different and is_identifier else None
    if not (pd.api.types.is_string_dtype(values) or hasattr(column.dtype, "categories")):
        return None
    if are_all_different:
        return "identifier"
    are_many = n_rows >= _FEWEST_COUNTED and n_values > _MOST_OF_ROWS * n_rows
    n_values = max(n_values, len(getattr(column.dtype, "categories", ())))
    return "text" if are_many or n_values > MOST_VALUES else None


# --- transformers that are fitted on public rows -------------------------------------------------


class FitOnPublic(TransformerMixin, CheckedEstimator):
    """Fit a transformer on public rows instead of private ones.

    In front of a `PATEClassifier`, a scaler that is fitted on `X` sees every private record and is
    outside the guarantee. This one sees `X_public` alone.

    Parameters
    ----------
    transformer : transformer
        What is fitted on `X_public`, without labels. It must transform each row by itself.

    Attributes
    ----------
    transformer_ : transformer
        The fitted clone. Each of its `random_state` parameters that was not a number has been set
        to a number drawn from the operating system.
    n_features_in_ : int
        Number of features, if the transformer has it.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Feature names, if the transformer has them.

    See Also
    --------
    sklearn.frozen.FrozenEstimator : For a transformer that is fitted already.

    Notes
    -----
    `fit` asks for `X_public` by itself when metadata routing is enabled. Without routing,
    ``step__X_public=`` reaches later steps untransformed: do not use it.

    While the transformer is fitted, the global generators of numpy, Python and torch start from
    that seed, and are put back afterwards: `numpy.random.seed` does not make the fit repeatable,
    the transformer's own `random_state` does. What it runs with joblib runs one after the other.

    Examples
    --------
    >>> import sklearn
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.pipeline import Pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from sklearn_pate import FitOnPublic, PATEClassifier
    >>> X, y = make_classification(3000, class_sep=2, random_state=0)
    >>> steps = [
    ...     ("scale", FitOnPublic(StandardScaler())),
    ...     ("pate", PATEClassifier(LogisticRegression(), classes=[0, 1])),
    ... ]
    >>> with sklearn.config_context(enable_metadata_routing=True):
    ...     pipe = Pipeline(steps, transform_input=["X_public"])
    ...     pipe = pipe.fit(X[:2000], y[:2000], X_public=X[2000:2500])
    >>> pipe.predict(X[2500:]).shape
    (500,)
    """

    # Requested by default, so that metadata routing needs no call from the user
    __metadata_request__fit = {"X_public": True}

    _parameter_constraints: dict = {"transformer": [HasMethods(["fit", "transform"])]}

    def __init__(self, transformer):
        self.transformer = transformer

    @_fit_context(prefer_skip_nested_validation=False)
    def fit(self, X, y=None, X_public=None):
        """Fit the transformer on `X_public`.

        Parameters
        ----------
        X : array-like with n_samples rows
            Private rows: their values are not looked at.
        y : object, default=None
            Not looked at.
        X_public : array-like or PublicData with n_public rows
            Public rows. Required.

        Returns
        -------
        FitOnPublic
            Itself, fitted.

        Raises
        ------
        ValueError
            If `X_public` is missing.
        """
        if X_public is None:
            raise ValueError(
                "FitOnPublic got no X_public: sklearn.set_config(enable_metadata_routing=True) and "
                "Pipeline(..., transform_input=['X_public']).fit(X, y, X_public=...) give it; with "
                "a synthesizer, set method=ReverseNeighbors(transformer) or "
                "base_estimator=make_pipeline(transformer, model)"
            )
        warn_if_private(X_public, X)
        # As in a fit of `PATEClassifier`: what is published must share no generator
        seed = fresh_seed()
        with seeded(seed):
            transformer = set_seeds(isolated_clone(self.transformer, seed), seed, only_missing=True)
            self.transformer_ = copied_generators(transformer.fit(public_rows(X_public)))
        for name in ("n_features_in_", "feature_names_in_"):
            self.__dict__.pop(name, None)
            if hasattr(self.transformer_, name):
                setattr(self, name, getattr(self.transformer_, name))
        return self

    def transform(self, X):
        """Transform rows, each by itself.

        Parameters
        ----------
        X : array-like with n_samples rows
            Private or public rows.

        Returns
        -------
        array-like with n_samples rows
            As the transformer's.
        """
        check_is_fitted(self)
        return self.transformer_.transform(X)

    @available_if(delegated("inverse_transform", "transformer_", "transformer"))
    def inverse_transform(self, X):
        """Undo `transform`, if the transformer can.

        Parameters
        ----------
        X : array-like with n_samples rows
            Transformed rows.

        Returns
        -------
        array-like with n_samples rows
            As the transformer's.
        """
        check_is_fitted(self)
        return self.transformer_.inverse_transform(X)

    @available_if(delegated("get_feature_names_out", "transformer_", "transformer"))
    def get_feature_names_out(self, input_features=None):
        """Names of the columns that `transform` returns.

        Parameters
        ----------
        input_features : array-like of str, default=None
            Names of the columns given.

        Returns
        -------
        ndarray of str
            As the transformer's.
        """
        check_is_fitted(self)
        return self.transformer_.get_feature_names_out(input_features)

    def __getstate__(self):
        # Whatever the given transformer was fitted on before stays behind
        state = copied_generators(dict(super().__getstate__()))
        return state | {"transformer": unfitted(state["transformer"])}

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags = get_tags(self.transformer).input_tags
        tags.target_tags.required = False
        return tags


#: Methods that make a table of rows that are none yet, by their library.
_LAZY = {"polars": "collect", "dask": "compute"}

#: How rows of other types become a table; values of a dict and dicts of a list are its columns.
_OTHER_ROWS = {
    (str, os.PathLike): "read the file first, as pandas.read_csv does",
    dict: "make a table of it,\n    {name} = pandas.DataFrame({name})",
    PublicData: "it is for X_public alone, so give the rows themselves",
}


def indexable_rows(X, name):
    """Return `X` so that rows can be selected: sparse matrices as CSR, lists as arrays."""
    if sparse.issparse(X):
        return X.tocsr()
    _check_is_table(X, name)
    is_to_check = not hasattr(X, "shape") or isinstance(X, np.ma.MaskedArray)
    if not is_to_check:
        return X
    rows = as_array(name, X)
    if rows.ndim == 0:
        raise ValueError(
            f"Expected {name} as a 2D array (or more axes), got a {type(X).__name__}: give an "
            "array or a DataFrame"
        )
    return rows


def _check_is_table(X, name):
    """Refuse what holds rows but is no table: lazy frames, files, dicts, wrapped rows, swaps."""
    kind = type(X)
    method = _LAZY.get(kind.__module__.partition(".")[0])
    is_read = hasattr(X, "get_column") or isinstance(X, pd.DataFrame | np.ndarray)
    if method is not None and not is_read and hasattr(kind, "columns"):
        raise ValueError(
            f"{name} is a {kind.__name__}, which is no table in memory yet: make it one,\n"
            f"    {name} = {name}.{method}()"
        )
    remedy = next((text for other, text in _OTHER_ROWS.items() if isinstance(X, other)), None)
    if isinstance(X, list) and X and isinstance(X[0], dict):
        remedy = _OTHER_ROWS[dict]
    if isinstance(X, dict) and all(np.ndim(value) == 0 for value in X.values()):
        remedy = "make a table of this row,\n    {name} = pandas.DataFrame([{name}])"
    if hasattr(X, "fit"):
        remedy = "the arguments may be swapped, rows come first"
    if remedy is not None:
        raise ValueError(
            f"Expected {name} as a 2D array (or more axes), got a {kind.__name__}: "
            f"{remedy.format(name=name)}"
        )


def check_not_swapped(X, y, X_public=None):
    """Refuse labels in the place of rows, by their axes alone.

    Parameters
    ----------
    X, y, X_public : array-like or None
        As the user gave them.
    """
    axes, axes_of_y, axes_of_public = map(_axes, (X, y, public_rows(X_public)))
    if len(axes) == 1 and len(axes_of_y) == 2 and axes_of_y[1] > 1:
        raise ValueError(
            "X has one axis and y two: X and y may be swapped. Call fit(X, y), with rows in X and "
            "one label of each in y"
        )
    if len(axes_of_y) == 2 and len(axes_of_public) == 1 and axes_of_y[1:] == axes[1:]:
        raise ValueError(
            "X_public has one axis and y two: X_public and y may be swapped. Call "
            "fit(X, y, X_public), with one label of each row of X in y and public rows in X_public"
        )


def _axes(rows):
    """Return the shape of rows; of lists as far as their first entry shows it."""
    if isinstance(rows, list | tuple) and len(rows):
        return (len(rows), *_axes(rows[0]))
    shape = getattr(rows, "shape", ())
    return shape if isinstance(shape, tuple) else ()
