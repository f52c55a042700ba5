"""Checks of the inputs of `fit`. Their messages never quote private values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy import sparse
from sklearn.utils.validation import validate_data

from .._sklearn import _num_samples
from ..encoding.dtypes import array_of, difference, dtype_name, library_of
from ..encoding.targets import ClassTarget
from ..exceptions import PrivacyLeakWarning, warn
from ..public import indexable_rows, public_rows
from ..rdp.checks import as_array, check_votes
from ..releases.labels import are_complete
from ..releases.votes import Votes
from ..runtime.copies import without_index
from ..runtime.isolation import kind_of, suppress_output
from ..runtime.private_data import PrivateData
from ..synthesis import ClassSumsSynthesizer
from ..teachers import Sites

if TYPE_CHECKING:
    from .._typing import Estimator, Rows
    from ..encoding.targets import Target

#: Maximal number of columns that a message names.
_N_NAMED = 5

#: Code that converts both tables to dtypes that do not depend on private values.
_SAME_DTYPES = """
    from sklearn_pate.encoding import same_dtypes
    X, X_public = same_dtypes(X, X_public)"""

#: Code that selects the columns that both tables have.
_COMMON_COLUMNS = """Both need the same columns:
    names = [name for name in X.columns if name in X_public.columns]
    X, X_public = X[names], X_public[names]"""

#: Remedy for the case that a Pipeline transformed X but not X_public.
_OR_A_PIPELINE = (
    "In a Pipeline, put the earlier steps inside base_estimator. Or let them transform both: "
    "sklearn.set_config(enable_metadata_routing=True), wrap each in FitOnPublic(transformer), and "
    "call Pipeline(steps, transform_input=['X_public']).fit(X, y, X_public=X_public)"
)


def check_data(
    estimator: Estimator,
    X: Rows,
    y: ArrayLike | None,
    X_public: Rows | None,
    sample_weight: ArrayLike | None,
    groups: ArrayLike | None,
    counts_records: bool,
    is_found: bool = False,
) -> PrivateData:
    """Check the private data of a fit, compare them with the public rows, and return them.

    Parameters
    ----------
    estimator : PATEClassifier
        The estimator, which is changed in place: it stores the number and names of the features.
    X, y, sample_weight, groups
        As given to `fit`.
    X_public : array-like with n_public rows or None
        All public rows. None if the dtypes of synthetic rows are not known yet; the tables are then
        not compared.
    counts_records : bool
        Whether records vote, or a synthesizer counts them. Weights must then be in [0, 1].
    is_found : bool, default=False
        Whether the target was found by a noisy release, so that records may have other labels.

    Returns
    -------
    PrivateData
    """
    if isinstance(X, Sites):
        check_features(estimator, X_public, "X_public", reset=True)
        return PrivateData(X=X, codes=None, target=estimator._declared_target())
    if isinstance(groups, str):
        raise ValueError(
            "groups must hold one identifier per record; got a single str. To use the column with "
            "this name, pass groups=X.pop(name)"
        )
    X = indexable_rows(X, "X")
    check_features(estimator, X, "X", reset=True)
    if X_public is not None:
        _check_alike(estimator, X, X_public)
    codes, target, sample_weight = checked_targets(
        estimator, X, y, sample_weight, is_found=is_found
    )
    is_other: Any = None
    if is_found and issubclass(target.kind, ClassTarget):
        is_other = np.any((codes < 0).reshape(len(codes), -1), axis=1)  # in any of several targets
    is_cut = sample_weight is not None and ((sample_weight < 0) | (sample_weight > 1)).any()
    if counts_records and is_cut:
        for_rare = ". For a rare class, use class_weight='balanced', at no privacy cost"
        raise ValueError(
            "sample_weight must be between 0 and 1 where records vote or a synthesizer counts "
            "them, because other weights would be clipped. Divide by the largest weight that may "
            f"occur{for_rare if hasattr(estimator, 'class_weight') else ''}"
        )
    return PrivateData(
        X=X,
        codes=np.maximum(codes, 0) if is_found else codes,
        target=target,
        sample_weight=sample_weight,
        groups=groups,
        is_other=is_other,
    )


def check_several(estimator: Estimator, target: Target, method: Any, synthesizer: Any) -> None:
    """Refuse parts that count one vote of each record, for several targets.

    Their cost would be too low: a record casts a vote for each target.
    """
    one = f"one target, and y has {target.n_targets}"
    if not method.accepts_several_targets:
        given = estimator.method if not isinstance(estimator.method, str) else "method='teachers'"
        named = type(given).__name__ if not isinstance(given, str) else given
        raise ValueError(
            f"{named} is for {one}: let records vote, method='auto', 'neighbors' or 'sums', and "
            "leave the parameters of teachers at their defaults"
        )
    if not isinstance(synthesizer, ClassSumsSynthesizer | None):
        raise ValueError(
            f"{type(synthesizer).__name__} is for {one}: use ClassSumsSynthesizer, or give X_public"
        )
    if estimator.releases:
        raise ValueError(
            f"releases are for {one}, as they may count one {target.noun} of each record: set "
            "releases=None, and make them in a separate fit"
        )


def _check_alike(estimator: Estimator, X: Rows, X_public: Rows) -> None:
    """Refuse private and public rows that differ in form, feature names or dtypes."""
    _check_axes(X_public, "X_public")  # no Pipeline causes this error
    try:
        check_forms(X, X_public)  # before the names, which only DataFrames have
        check_features(estimator, X_public, "X_public")
        check_dtypes(X, X_public)
    except (TypeError, ValueError) as error:
        if _may_be_transformed(X, X_public):
            error.args = (f"{error}\n{_OR_A_PIPELINE}",)
        raise


def _may_be_transformed(X: Rows, X_public: Rows) -> bool:
    """Return whether private rows have no column names, or none of the names of public rows."""
    names = getattr(X, "columns", ())
    return not any(name in getattr(X_public, "columns", names) for name in names)


def check_votes_given(
    estimator: Estimator, votes: Any, X_public: Rows, temperature: float | None
) -> Votes:
    """Check the argument `votes` of `fit_votes`, a `Votes` or counts, and return a `Votes`."""
    declared = estimator._declared_target()
    counts = votes.counts if isinstance(votes, Votes) else check_votes(votes)
    n_rows = getattr(votes, "n_public", None) or len(counts)
    n_public = _num_samples(X_public)
    if n_rows != n_public:
        raise ValueError(
            f"votes are for {n_rows} rows, but X_public has {n_public}; pass the rows that the "
            "votes are for"
        )
    if not isinstance(votes, Votes):
        if declared is not None and declared.n_targets > 1:
            raise ValueError("votes are counts for one target, but several targets are declared")
        # Not sorted: the order of `classes` is the order of the columns
        votes = Votes.of_teachers(counts, getattr(estimator, "classes", None))
    elif declared is not None and votes.target != declared:
        names = [part.values.tolist() for part in declared.parts]
        raise ValueError(
            f"votes are for other classes than classes={names if len(names) > 1 else names[0]}"
        )
    if votes.temperature != temperature:
        kind = "counts"
        if votes.temperature is not None:
            kind = f"sums of probabilities of temperature {float(votes.temperature):g}"
        raise ValueError(
            f"aggregator={estimator.aggregator} does not fit these votes, which are {kind}: "
            "SoftVote requires votes from poll with a SoftVote of the same temperature, and "
            "other mechanisms require counts"
        )
    if votes.method is None and not are_complete(votes):
        raise ValueError(
            "each row of votes must hold one vote of each teacher for one of the classes, or sums "
            "of their probabilities; pass the votes that poll returned"
        )
    return votes


def given_rows(X_public: Rows) -> Rows:
    """Unwrap public rows, remove their index, and make them indexable by row.

    Raise a ValueError if they are None.
    """
    X_public = public_rows(X_public)
    if X_public is None:
        raise ValueError(
            "X_public is missing: public, unlabelled rows with the features of X are required, "
            "because the student learns from them. Call fit(X, y, X_public=...), or fit(X, y), "
            "which uses a part of epsilon for synthetic rows"
        )
    return without_index(indexable_rows(X_public, "X_public"))


def like_array(X: Rows, X_public: Rows) -> Rows:
    """Convert public rows to an array, or to sparse rows, if the private rows are similar.

    Arrays become sparse if the private rows are, and the reverse. A DataFrame becomes an array if
    the result has the dtype and the number of columns of the private rows; otherwise, it is
    returned unchanged. The latter is for meta-estimators such as `BaggingClassifier`, which convert
    private DataFrames to arrays but not public ones.
    """
    if isinstance(X, np.ndarray) and sparse.issparse(X_public):
        return X_public.toarray()
    if sparse.issparse(X) and isinstance(X_public, np.ndarray) and X_public.ndim == 2:
        return sparse.csr_matrix(X_public)
    if not isinstance(X, np.ndarray) or X.ndim != 2 or not hasattr(X_public, "columns"):
        return X_public
    rows = array_of(X_public)
    return rows if rows.dtype == X.dtype and rows.shape[1] == X.shape[1] else X_public


def check_features(estimator: Estimator, X: Rows, name: str, reset: bool = False) -> None:
    """Check the axes of rows, and the number and names of their features, but not the values.

    If `reset` is True, the estimator stores the number and the names. Otherwise the number, and the
    names with their order, must be equal to the stored ones. If only one of the two has names,
    scikit-learn warns, and the names are not compared.
    """
    _check_axes(X, name)
    try:
        if not getattr(getattr(X, "columns", None), "is_unique", True):
            raise ValueError(f"Expected unique column names, got {list(X.columns)}")
        validate_data(estimator, X, reset=reset, skip_check_array=True)
    except (TypeError, ValueError) as error:
        words = str(error)  # unchanged in predict
        if reset:
            words = f"{name}: {words}"
        elif name != "X":
            names = set(getattr(estimator, "feature_names_in_", ()))
            others = set(getattr(X, "columns", ()))
            # No remedy if both have additional names, because columns may only be renamed
            remedy = _COMMON_COLUMNS if names and (names <= others or others <= names) else ""
            words = words.partition("during fit.\n")[2] or words
            words = f"{name} does not have the features of X: {words}{remedy}"
        raise type(error)(words) from None


def _check_axes(X: Rows, name: str) -> None:
    """Refuse rows with fewer than two axes, and tables without rows or columns."""
    shape = X.shape
    if len(shape) < 2:
        remedy = "Reshape your data with X.reshape(-1, 1) for one feature or X.reshape(1, -1) for "
        remedy += "one sample"
        if isinstance(X, pd.Series):
            remedy = f"Make a DataFrame of one column, {name}.to_frame(), or of one row, "
            remedy += f"{name}.to_frame().T"
        elif len(shape) == 1 and X.dtype.kind in "OSTU":
            remedy = f"Make a DataFrame of one column, {name} = pandas.DataFrame({name})"
        raise ValueError(
            f"Expected {name} to be an array with two or more axes; got a {len(shape)}D array. "
            f"{remedy}"
        )
    if 0 in shape[:2]:
        raise ValueError(
            f"{name} has {shape[0]} sample(s) and {shape[1]} feature(s) (shape={shape}) while "
            "a minimum of 1 is required."
        )


def check_forms(X: Rows, X_public: Rows) -> None:
    """Refuse a DataFrame together with an array, and pandas together with another library."""
    if hasattr(X, "dtypes") != hasattr(X_public, "dtypes"):
        raise ValueError(
            f"X is a {type(X).__name__} and X_public a {type(X_public).__name__}. "
            "Methods depend on the types of columns, so these must be public: give both as "
            "DataFrames, or neither"
        )
    libraries = [library_of(rows) for rows in (X, X_public)]
    if hasattr(X, "dtypes") and "pandas" in libraries and libraries[0] != libraries[1]:
        other = "X" if libraries[1] == "pandas" else "X_public"
        raise ValueError(
            f"X is a {libraries[0]} DataFrame and X_public a {libraries[1]} one: use the same "
            f"library for both, for instance\n    {other} = {other}.to_pandas()"
        )


def check_dtypes(X: Rows, X_public: Rows) -> None:
    """Refuse private rows whose columns or dtypes differ from those of the public rows.

    Votes depend on the dtypes of columns, and one private record can change a dtype.
    """
    found = difference(X, X_public)
    if found is None:
        return
    problem = f"X has another dtype than X_public, which has {getattr(X_public, 'dtype', None)}"
    remedy = f"fix them in advance:{_SAME_DTYPES}"
    if found.kind == "unknown":
        problem = (
            "X and X_public must be arrays or DataFrames with known dtypes: the dtypes of these "
            "data cannot be compared"
        )
        remedy = "convert both:\n    X, X_public = X.to_pandas(), X_public.to_pandas()"
    elif found.kind == "columns":
        problem = "X has other columns than X_public, or other levels or level names of columns"
        reordered = "\n    X = X[X_public.columns]" * (set(X.columns) == set(X_public.columns))
        remedy = f"make them equal:{reordered}\n    X.columns = X_public.columns"
    elif found.kind == "codes":
        problem = (
            f"columns {found.columns} of X hold dictionaries of Arrow or Categorical of polars, "
            "whose codes depend on the order of values: one record can change all other codes"
        )
        remedy = (
            "use the same fixed categories in X and X_public, pandas.CategoricalDtype([...]) or "
            "polars.Enum([...]), or text"
        )
    elif found.kind == "dtypes":
        problem = (
            f"columns {found.columns} of X and X_public have different dtypes or categories "
            f"({_dtypes(X, X_public, found.columns)})"
        )
    raise ValueError(
        f"{problem}. Methods depend on the dtypes of columns, so these must be public and must "
        f"not depend on private values: {remedy}"
    )


def _dtypes(X: Rows, X_public: Rows, columns: Sequence[Any]) -> str:
    """Describe the dtypes of the first few columns, without their categories."""
    found = []
    for name in columns[:_N_NAMED]:
        private, public = (dtype_name(table[name].dtype) for table in (X, X_public))
        another = "another " if private == public else ""
        found.append(f"{name}: {private} in X, {another}{public} in X_public")
    return "; ".join(found) + "; ..." * (len(columns) > _N_NAMED)


# --- labels, numbers and weights ------------------------------------------------------------------


def checked_targets(
    estimator: Estimator,
    X: Rows,
    y: Any,
    sample_weight: ArrayLike | None = None,
    *,
    is_found: bool = False,
) -> tuple[np.ndarray, Target, np.ndarray | None]:
    """Return private labels or numbers as codes, their target, and the weights.

    If the target was found, labels that are not among the classes get the code -1.
    """
    target = estimator._declared_target()
    is_declared_alone = target is not None and target.n_targets == 1
    kind = estimator.target_type
    columns = [kind.column(y)] if is_declared_alone else kind.columns(y)
    n_labels = len(columns[0])
    if _num_samples(X) != n_labels:
        raise ValueError(
            f"X and y have inconsistent numbers of samples: {_num_samples(X)} records and "
            f"{n_labels} {kind.noun}s"
        )
    y = columns[0] if len(columns) == 1 else y
    if target is None:
        warn(
            "classes_ is read from the private labels, which the privacy guarantee does not "
            "cover, because epsilon=None leaves no epsilon to find them with; pass classes=[...], "
            "all labels that may occur, or set epsilon",
            PrivacyLeakWarning,
        )
        target = ClassTarget.of_parts([ClassTarget.of_labels(column) for column in columns])
    with suppress_output():  # warnings of libraries may quote values
        weight = _checked_weight(n_labels, sample_weight)
        return (target.encode_found if is_found else target.encode)(y), target, weight


def _checked_weight(n_records: int, sample_weight: ArrayLike | None) -> np.ndarray | None:
    """Return weights as floats, or None; they must be one finite number for each record."""
    if sample_weight is None:
        return None
    given = as_array("sample_weight", sample_weight)
    fits = given.dtype.kind in "iufb" and given.shape == (n_records,)
    if not (fits and np.isfinite(given).all()):
        raise ValueError(
            f"sample_weight must be {n_records} finite numbers, one per record of X; got "
            f"{kind_of(given.dtype)} of shape {given.shape}{', not all finite' * fits}"
        )
    return given.astype(float)
