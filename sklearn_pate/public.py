"""Public rows: their containers, checks and comparison with private rows, and `FitOnPublic`."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
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

if TYPE_CHECKING:
    from ._typing import Estimator, Rows

__all__ = ["FitOnPublic", "Overlap", "PublicData", "overlap", "public_rows"]

#: Largest number of positions to print.
_N_SHOWN = 10

#: Value of `max_work` in `numpy.shares_memory`. Slices of one array require much less work.
_MAX_WORK = 100_000


class PublicData(tuple):
    """Container of public rows that searches and cross-validation do not split.

    When scikit-learn splits `X`, it also splits every other array with the same number of rows,
    without a warning, and an estimator cannot detect this. `PublicData` is a tuple of one element,
    which scikit-learn does not split. In pipelines, ``transform_input=["X_public"]`` transforms its
    rows.

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

    def __new__(cls, X: Rows) -> Self:
        """Wrap `X`."""
        return super().__new__(cls, (public_rows(X),))

    def __getnewargs__(self) -> tuple[Any, ...]:
        return tuple(self)  # the arguments of a tuple's __new__ would wrap the rows twice

    def __repr__(self) -> str:
        return f"PublicData({type(self[0]).__name__} of shape {getattr(self[0], 'shape', '?')})"


def public_rows(X_public: Any) -> Rows:
    """Return public rows without the `PublicData` around them.

    A Pipeline converts `PublicData` to a tuple, which is also removed. Other rows are returned
    unchanged.

    Parameters
    ----------
    X_public : PublicData, tuple of length 1, or array-like
        The user's argument.

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


def warn_if_private(X_public: Any, X: Rows, name: str = "X_public") -> tuple[str, ...]:
    """Warn if public rows are the private rows, or share memory with them.

    The warning depends on the objects alone and not on values, because the result of a comparison
    with private rows would reveal information about a private record. The holder of the data can
    call `overlap`. For sparse rows and tables of polars, only the same object is detected.

    Parameters
    ----------
    X_public : array-like or PublicData
        The user's argument.
    X : array-like
        Private rows.
    name : str, default="X_public"
        Name of the public rows.

    Returns
    -------
    tuple of str
        Entries for `PrivacySpent.not_covered`; empty without a warning.
    """
    X_public = public_rows(X_public)
    if X_public is not X and not _share_memory(X_public, X):
        return ()
    found = "is X" if X_public is X else "shares memory with X (is it a slice of X?)"
    warn(
        f"{name} {found}: the fit would publish results of private rows, which the privacy "
        "guarantee does not cover; pass rows that are public",
        PrivacyLeakWarning,
    )
    return (f"private rows, which were given as {name}",)


def _share_memory(first: Any, second: Any) -> bool:
    """Return True if arrays at the same position in two tables share memory, or may share it.

    Only numpy arrays, and pandas columns with numpy dtypes, are compared, each with the one at its
    position; for other tables the result is False. It is True if the search is cut off.
    """
    for one, other in zip(_arrays(first), _arrays(second), strict=False):
        try:
            if np.shares_memory(one, other, max_work=_MAX_WORK):  # type: ignore[arg-type]
                return True
        except np.exceptions.TooHardError:
            return True  # their memory ranges overlap, so both are views of one array
    return False


def _arrays(X: Rows) -> list[Any]:
    """Return the arrays with the entries of `X`; the selection must not depend on values."""
    if isinstance(X, np.ndarray):
        return [X]
    if isinstance(X, pd.DataFrame):
        columns = [column for _, column in X.items()]
        return [column.to_numpy() for column in columns if isinstance(column.dtype, np.dtype)]
    return []


@dataclass(frozen=True, eq=False, repr=False)
class Overlap(Private):
    """Private result of `overlap`: public rows that equal private rows, and columns of labels.

    It cannot be pickled or copied. Its repr does not contain the results; `print` shows them.

    Attributes
    ----------
    public_rows : ndarray of shape (n_equal,)
        Positions of the public rows that are equal to at least one private row.
    label_columns : list
        Names (for arrays, positions) of the columns of `X` that encode the labels: each value
        occurs with one label, and each label with one value.
    """

    public_rows: np.ndarray
    label_columns: list[Any]

    def __str__(self) -> str:
        """Return the results as text, for the holder of the data only."""
        n_equal = len(self.public_rows)
        positions = ", ".join(map(str, self.public_rows[:_N_SHOWN]))
        more = f" and {n_equal - _N_SHOWN} more" * (n_equal > _N_SHOWN)
        return (
            f"Overlap: {n_equal} public rows equal a private row"
            f"{f' (positions {positions}{more})' * (n_equal > 0)}; columns of X that are the "
            f"labels: {self.label_columns or 'none'}"
        )


def overlap(X: Rows, y: ArrayLike | None, X_public: Rows) -> Overlap:
    """Find public rows that equal private rows, and columns that encode the labels.

    Call this function before a fit. The result depends on single private records, so it is for the
    holder of the data alone: do not publish it, and do not base a publication on it. A fit never
    calls this function, because a warning would reveal the result to other readers of the log.

    Columns must have the same types, as in a fit. DataFrames with the same columns in another order
    are compared by name. Equal rows are not always private: with few columns, different people have
    equal rows.

    Parameters
    ----------
    X : array-like, sparse matrix or DataFrame with n_samples rows
        Private rows.
    y : array-like of shape (n_samples,) or None
        Private labels. If None, `label_columns` of the result is empty.
    X_public : array-like, sparse matrix, DataFrame or PublicData with n_public rows
        Public rows with the same columns.

    Returns
    -------
    Overlap
        The private result.

    Raises
    ------
    ValueError
        If the arguments are not tables with the same number of columns and one label per row.

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
        raise ValueError(
            "X and X_public must have the same number of columns; got "
            f"{private.shape[1]} and {public.shape[1]}"
        )
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


def _table(name: str, X: Rows) -> pd.DataFrame:
    """Return the user's rows as a DataFrame; raise an error unless they have columns."""
    X = indexable_rows(X, name)
    if len(X.shape) < 2:
        raise ValueError(f"{name} must have rows and columns; got shape {X.shape}")
    return table_of(X)


def table_of(X: Rows) -> pd.DataFrame:
    """Return rows as a DataFrame."""
    if sparse.issparse(X):
        X = X.toarray()
    elif hasattr(X, "to_pandas"):
        try:
            X = X.to_pandas()
        except ModuleNotFoundError as error:  # of polars
            raise ImportError(
                f"{type(X).__module__.partition('.')[0]} needs a package to convert its rows to "
                f"pandas ({error}): pip install pyarrow, or give DataFrames of pandas"
            ) from None
    if not isinstance(X, pd.DataFrame):
        X = np.asarray(X)
        X = pd.DataFrame(X.reshape(len(X), -1))
    return X.reset_index(drop=True)


def value_hashes(rows: Rows) -> np.ndarray:
    """Return a hash of the values of each row, with numbers as floats and all others as text."""
    table = table_of(rows)
    columns = {k: plain(table.iloc[:, k]) for k in range(table.shape[1])}
    return pd.util.hash_pandas_object(pd.DataFrame(columns), index=False).to_numpy()


def plain(column: pd.Series) -> np.ndarray:
    """Return a column as floats, or as text if it holds anything else."""
    if getattr(column.dtype, "kind", "O") in "iufb":
        return column.to_numpy("float64", na_value=np.nan) + 0.0  # never -0.0
    return np.array([*map(str, column.astype(object).to_numpy())], dtype=object)


def are_all_equal(X_public: Rows) -> bool:
    """Return whether there are at least two public rows, all with the same values."""
    n_rows = _num_samples(X_public)
    if n_rows < 2:
        return False
    few = _safe_indexing(X_public, list(range(min(n_rows, 50))))  # first, because this is fast
    tables = (table_of(X) for X in (few, X_public))
    columns = (plain(table.iloc[:, k]) for table in tables for k in range(table.shape[1]))
    return all(pd.unique(column).size == 1 for column in columns)


def _is_one_to_one(column: Any, labels: Any) -> bool:
    """Return whether values and labels, at least two of each, determine each other."""
    codes = pd.factorize(column, use_na_sentinel=False)[0]
    pairs = len(set(zip(codes.tolist(), labels.tolist(), strict=True)))
    return pairs > 1 and pairs == len(np.unique(codes)) == len(np.unique(labels))


# --- columns of public rows that no model can use ------------------------------------------------

#: Largest number of checked rows, smallest number of rows for any check, and smallest number of
#: rows for the checks of constants and of the number of values per row.
_MOST_CHECKED = 20_000
_FEWEST_CHECKED = 30
_FEWEST_COUNTED = 100

#: With this number of rows or more, a column of distinct integers counts as an identifier.
_MANY = 1000

#: Largest number of values of a text column, and largest number of values per row.
MOST_VALUES = 1000
_MOST_OF_ROWS = 0.5

#: Warnings, by the kind of column.
_NUMBERS = ("integer", "floating", "mixed-integer-float", "decimal")
_USELESS = {
    "identifier": (
        "columns {} have a different value in each public row, like identifiers: leave them out, "
        "because they do not help with other rows, and may identify a person"
    ),
    "text": (
        "columns {} hold text with more values than can be learnt, over 1000 or over half of the "
        "public rows: merge values, convert them to numbers, or leave the columns out"
    ),
    "constant": "columns {} have one value in all public rows: leave them out",
    "dates": (
        "columns {} hold dates, which are read as text: convert them to numbers in both tables, "
        "for example to days since a public date"
    ),
    "numbers": (
        "columns {} hold numbers in a column of objects, which are read as text: convert them in "
        "both tables, for example X.astype({{column: float}})"
    ),
}


def useless_columns(X_public: Rows) -> list[str]:
    """Return warnings about columns with identifiers, many texts, one value, or dates.

    Parameters
    ----------
    X_public : array-like with n_public rows
        Public rows. Only DataFrames, and 2-D arrays of integers, texts or objects, with at least 30
        rows are checked. Distinct floats are not identifiers. Constants in arrays are not reported,
        because they are common, for example in images.

    Returns
    -------
    list of str
        One warning for each kind of column that occurs.

    Examples
    --------
    >>> import pandas as pd
    >>> from sklearn_pate.public import useless_columns
    >>> rows = pd.DataFrame({"id": range(700, 800), "age": [30.5, 40.5] * 50, "unit": "cm"})
    >>> for text in useless_columns(rows):
    ...     print(text)
    columns ['id'] have a different value in each public row, like identifiers: leave them out, ...
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
    # The kind is None for columns of lists and other values that cannot be hashed
    kinds = [attempt(partial(_useless_kind, table.iloc[:, k]))[0] for k in range(table.shape[1])]
    found = []
    for kind, text in _USELESS.items():
        names = [name for name, own in zip(table.columns, kinds, strict=True) if own == kind]
        if names and (is_frame or kind not in ("constant", "numbers")):
            found.append(text.format(first_names(names)))
    return found


def _useless_kind(column: pd.Series) -> str | None:
    """Return a key of `_USELESS`, or None, for a column of public rows."""
    values = column.dropna()
    n_rows, n_values = len(values), values.nunique()
    if n_values <= 1:  # a column with one value and missing ones is not constant
        is_constant = n_values == 0 or n_rows == len(column)
        return "constant" if is_constant and len(column) >= _FEWEST_COUNTED else None
    if n_rows < _FEWEST_CHECKED:
        return None
    are_all_different = n_values == n_rows
    if pd.api.types.is_integer_dtype(column.dtype):
        # Random integers of this density are all different with a probability below e**-4
        are_dense = 8 * (float(values.max()) - float(values.min())) < n_rows**2
        is_identifier = n_rows >= _MANY or are_dense or values.is_monotonic_increasing
        return "identifier" if are_all_different and is_identifier else None
    if pd.api.types.is_datetime64_any_dtype(column.dtype):
        return "dates"
    if column.dtype == object and pd.api.types.infer_dtype(values) in _NUMBERS:
        return "numbers"
    if not (pd.api.types.is_string_dtype(values) or hasattr(column.dtype, "categories")):
        return None
    if are_all_different:
        return "identifier"
    are_many = n_rows >= _FEWEST_COUNTED and n_values > _MOST_OF_ROWS * n_rows
    n_values = max(n_values, len(getattr(column.dtype, "categories", ())))
    return "text" if are_many or n_values > MOST_VALUES else None


# --- transformers that are fitted on public rows -------------------------------------------------


class FitOnPublic(TransformerMixin, CheckedEstimator):
    """Transformer that is fitted on public rows instead of private ones.

    A scaler that is fitted on `X`, in front of a `PATEClassifier`, depends on every private record,
    and the guarantee does not cover it. This transformer depends on `X_public` alone.

    Parameters
    ----------
    transformer : transformer
        Transformer to fit on `X_public`, without labels. It must transform each row independently
        of other rows.

    Attributes
    ----------
    transformer_ : transformer
        The fitted clone. Each `random_state` parameter that was None or a generator is set to a
        number that is derived from a seed of the operating system.
    n_features_in_ : int
        Number of features, if the transformer has this attribute.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Feature names, if the transformer has this attribute.

    See Also
    --------
    sklearn.frozen.FrozenEstimator : Wrapper of a transformer that is already fitted.

    Notes
    -----
    `fit` requests `X_public` by default if metadata routing is enabled. Without routing,
    ``step__X_public=`` reaches later steps untransformed: do not use it.

    During the fit of the transformer, the global generators of numpy, Python and torch start from
    the same seed, and their states are restored afterwards. `numpy.random.seed` does not make the
    fit reproducible; the `random_state` of the transformer does. Calls of joblib in this fit run
    sequentially.

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

    # Requested by default, so that users need not call set_fit_request for metadata routing
    __metadata_request__fit = {"X_public": True}

    _parameter_constraints: dict = {"transformer": [HasMethods(["fit", "transform"])]}

    def __init__(self, transformer: Estimator) -> None:
        self.transformer = transformer

    @_fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: Rows, y: Any = None, X_public: Rows = None) -> Self:
        """Fit the transformer on `X_public`.

        Parameters
        ----------
        X : array-like with n_samples rows
            Private rows; their values are not used.
        y : object, default=None
            Not used.
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
                "Pipeline(..., transform_input=['X_public']).fit(X, y, X_public=...) provide it; "
                "with a synthesizer, set method=ReverseNeighbors(transformer) or "
                "base_estimator=make_pipeline(transformer, model)"
            )
        warn_if_private(X_public, X)
        # As in a fit of `PATEClassifier`, the published transformer must share no generator
        seed = fresh_seed()
        with seeded(seed):
            transformer = set_seeds(isolated_clone(self.transformer, seed), seed, only_missing=True)
            self.transformer_ = copied_generators(transformer.fit(public_rows(X_public)))
        for name in ("n_features_in_", "feature_names_in_"):
            self.__dict__.pop(name, None)
            if hasattr(self.transformer_, name):
                setattr(self, name, getattr(self.transformer_, name))
        return self

    def transform(self, X: Rows) -> Rows:
        """Transform rows with the fitted transformer.

        Parameters
        ----------
        X : array-like with n_samples rows
            Private or public rows.

        Returns
        -------
        array-like with n_samples rows
            Output of the transformer.
        """
        check_is_fitted(self)
        return self.transformer_.transform(X)

    @available_if(delegated("inverse_transform", "transformer_", "transformer"))
    def inverse_transform(self, X: Rows) -> Rows:
        """Invert `transform`; available if the transformer has `inverse_transform`.

        Parameters
        ----------
        X : array-like with n_samples rows
            Transformed rows.

        Returns
        -------
        array-like with n_samples rows
            Output of the transformer.
        """
        check_is_fitted(self)
        return self.transformer_.inverse_transform(X)

    @available_if(delegated("get_feature_names_out", "transformer_", "transformer"))
    def get_feature_names_out(self, input_features: ArrayLike | None = None) -> np.ndarray:
        """Return the names of the columns that `transform` returns.

        Parameters
        ----------
        input_features : array-like of str, default=None
            Names of the input columns.

        Returns
        -------
        ndarray of str
            Names of the output columns.
        """
        check_is_fitted(self)
        return self.transformer_.get_feature_names_out(input_features)

    def __getstate__(self) -> dict[str, Any]:
        # Earlier fits of the given transformer are not pickled
        state = copied_generators(dict(super().__getstate__()))
        return state | {"transformer": unfitted(state["transformer"])}

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags = get_tags(self.transformer).input_tags
        tags.target_tags.required = False
        return tags


#: Methods that convert lazy rows to a table, by library.
_LAZY = {"polars": "collect", "dask": "compute"}

#: Remedies in messages about rows of other types; the remedy for a dict also holds for a list of
#: dicts.
_OTHER_ROWS: dict[Any, str] = {
    (str, os.PathLike): "read the file first, as pandas.read_csv does",
    dict: "convert it to a table,\n    {name} = pandas.DataFrame({name})",
    PublicData: "it is for X_public alone, so give the rows themselves",
}


def indexable_rows(X: Rows, name: str) -> Rows:
    """Return `X` in a form with selectable rows: sparse matrices as CSR, lists as arrays."""
    if sparse.issparse(X):
        return X.tocsr()
    _check_is_table(X, name)
    is_to_check = not hasattr(X, "shape") or isinstance(X, np.ma.MaskedArray)
    if not is_to_check:
        return X
    rows = as_array(name, X)
    if rows.ndim == 0:
        raise ValueError(
            f"Expected {name} to be an array with two or more axes; got a {type(X).__name__}: "
            "give an array or a DataFrame"
        )
    return rows


def _check_is_table(X: Rows, name: str) -> None:
    """Raise an error for rows that are not a table in memory.

    These are lazy DataFrames, text and paths of files, dicts and lists of dicts, `PublicData`, and
    estimators, for instance if arguments are swapped.
    """
    kind = type(X)
    method = _LAZY.get(kind.__module__.partition(".")[0])
    is_read = hasattr(X, "get_column") or isinstance(X, pd.DataFrame | np.ndarray)
    if method is not None and not is_read and hasattr(kind, "columns"):
        raise ValueError(
            f"{name} is a {kind.__name__}, which is not a table in memory yet: convert it,\n"
            f"    {name} = {name}.{method}()"
        )
    remedy = next((text for other, text in _OTHER_ROWS.items() if isinstance(X, other)), None)
    if isinstance(X, list) and X and isinstance(X[0], dict):
        remedy = _OTHER_ROWS[dict]
    if isinstance(X, dict) and all(np.ndim(value) == 0 for value in X.values()):
        remedy = "convert this row to a table,\n    {name} = pandas.DataFrame([{name}])"
    if hasattr(X, "fit"):
        remedy = "the arguments may be swapped; rows come first"
    if remedy is not None:
        raise ValueError(
            f"Expected {name} to be an array with two or more axes; got a {kind.__name__}: "
            f"{remedy.format(name=name)}"
        )


def check_not_swapped(X: Rows, y: Any, X_public: Rows = None) -> None:
    """Raise an error if the shapes of the arguments suggest that labels and rows are swapped.

    Parameters
    ----------
    X, y, X_public : array-like or None
        The user's arguments.

    Raises
    ------
    ValueError
        If they seem to be swapped.
    """
    axes, axes_of_y, axes_of_public = map(_axes, (X, y, public_rows(X_public)))
    if len(axes) == 1 and len(axes_of_y) == 2 and axes_of_y[1] > 1:
        raise ValueError(
            "X is 1-dimensional and y is 2-dimensional: they may be swapped. Call fit(X, y), where "
            "X has the rows and y has one label per row"
        )
    if len(axes_of_y) == 2 and len(axes_of_public) == 1 and axes_of_y[1:] == axes[1:]:
        raise ValueError(
            "X_public is 1-dimensional and y is 2-dimensional: they may be swapped. Call "
            "fit(X, y, X_public), where y has one label per row of X and X_public has the public "
            "rows"
        )


def _axes(rows: Rows) -> tuple[int, ...]:
    """Return the shape of rows; the shape of lists follows from their first entries."""
    if isinstance(rows, list | tuple) and len(rows):
        return (len(rows), *_axes(rows[0]))
    shape = getattr(rows, "shape", ())
    return shape if isinstance(shape, tuple) else ()
