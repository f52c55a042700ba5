"""Checks of what `fit` is given. Their messages never quote private values."""

import numpy as np
import pandas as pd
from sklearn.utils.validation import validate_data

from ..accountant.advice import large_delta
from ..electorate import PrivateData, TableElectorate, Votes
from ..exceptions import warn
from ..isolation import without_index
from ..public import indexable_rows, public_rows
from ..rdp.checks import check_votes
from ..releases.votes import are_complete
from ..schema import difference, dtype_name
from ..teachers import Sites
from .targets import check_classes, checked_targets
from .voters import voters

#: So many columns are named in a message.
_N_NAMED = 5

#: Code that gives both tables dtypes by which nothing private is seen.
_SAME_DTYPES = (
    "\n    from sklearn_pate.schema import same_dtypes\n    X, X_public = same_dtypes(X, X_public)"
)

#: The cure where X is unlike X_public because a Pipeline made it so.
_OR_A_PIPELINE = (
    "If this is the last step of a Pipeline, the others transformed X, and not X_public, which "
    "step__X_public= hands on as it is. Put them inside base_estimator; or let the Pipeline "
    "transform both: sklearn.set_config(enable_metadata_routing=True) and "
    "Pipeline(steps, transform_input=['X_public']).fit(X, y, X_public=X_public), with "
    "FitOnPublic(transformer) for each transformer"
)


def check_data(estimator, X, y, X_public, *, classes, sample_weight, groups):
    """Check the private data of a fit, alone and against the public rows, and return them.

    Parameters
    ----------
    estimator : PATEClassifier
        Changed in place: it gets number and names of the features.
    X, y, sample_weight, groups
        As given to `fit`.
    X_public : array-like with n_public rows
        All public rows.
    classes : array-like of shape (n_classes,) or None
        As given by the user; or levels.

    Returns
    -------
    PrivateData
    """
    if isinstance(X, Sites):
        check_features(estimator, X_public, "X_public", reset=True)
        not_given = {"y": y, "groups": groups, "sample_weight": sample_weight}
        return _check_sites(X, classes, not_given)
    if isinstance(groups, str):
        raise ValueError(
            "groups must have one identifier for each record, and is one text: give the column "
            "of that name, groups=X.pop(name)"
        )
    X = indexable_rows(X, "X")
    check_features(estimator, X, "X", reset=True)
    _check_alike(estimator, X, X_public)
    codes, classes, sample_weight = checked_targets(estimator, X, y, sample_weight)
    lets_records_vote = isinstance(voters(estimator), TableElectorate)
    has_drawn_rows = estimator.synthesizer is not None or estimator.schema is not None
    counts_records = lets_records_vote or has_drawn_rows
    if sample_weight is not None and counts_records:
        _check_weights_of_ballots(sample_weight)
    return PrivateData(
        X=X, codes=codes, classes=classes, sample_weight=sample_weight, groups=groups
    )


def _check_alike(estimator, X, X_public):
    """Refuse private and public rows of unlike form, names or types."""
    problem = None
    try:
        check_forms(X, X_public)  # before names are compared, which only one of them might have
        check_names(X, X_public)
        check_features(estimator, X_public, "X_public")
        check_dtypes(X, X_public)
    except (TypeError, ValueError) as error:
        problem = type(error), str(error)
    if problem is not None:  # outside, so that no other error goes with it
        kind, words = problem
        raise kind(f"{words}\n{_OR_A_PIPELINE}" if _may_be_transformed(X, X_public) else words)


def _may_be_transformed(X, X_public):
    """Whether private rows look like the output of a transformer: no names, or all are others."""
    if not hasattr(X, "columns"):
        return True
    if not hasattr(X_public, "columns"):
        return False
    return not any(name in X_public.columns for name in X.columns)


def _check_sites(sites, classes, not_given):
    """Return private data that each teacher loads itself: only `classes` can be checked here."""
    for name, value in not_given.items():
        if value is not None:
            raise ValueError(
                f"{name} must be None when X is Sites, whose load returns X and y of each site"
            )
    if classes is None:
        raise ValueError(
            "classes must be given when X is Sites: all labels that may occur at any site"
        )
    return PrivateData(X=sites, codes=None, classes=check_classes(classes))


def _check_weights_of_ballots(sample_weight):
    """Refuse weights that would be cut; nothing is said of which."""
    if ((sample_weight < 0) | (sample_weight > 1)).any():
        raise ValueError(
            "sample_weight must be from 0 to 1 where records vote or are counted by a synthesizer: "
            "a record casts one ballot at most, so larger weights would be cut to 1. Divide by the "
            "largest weight that may occur. For a rare class, class_weight='balanced' is free"
        )


def check_votes_given(votes, classes, *, n_public, aggregator, temperature):
    """Check votes that the user gave, `Votes` or counts, and return them as `Votes`."""
    if not isinstance(votes, Votes):
        counts = check_votes(votes)
        if len(counts) == 0:
            raise ValueError("votes has no rows; give one row of votes for each public row")
        votes = Votes.of_teachers(counts, classes)
    elif classes is not None and not np.array_equal(votes.classes, np.unique(classes)):
        raise ValueError(f"votes are about other classes than classes={classes}")
    n_rows = votes.n_public if votes.is_table else len(votes.counts)
    if n_rows != n_public:
        raise ValueError(
            f"votes has {n_rows} rows and X_public {n_public}; give one row of "
            "votes for each public row"
        )
    if votes.temperature != temperature:
        kind = "counts"
        if votes.temperature is not None:
            kind = f"sums of probabilities of temperature {votes.temperature:g}"
        raise ValueError(
            f"aggregator={aggregator} does not fit these votes, which are {kind}: "
            "SoftVote needs the sums that poll collects for a SoftVote of its temperature, and "
            "other mechanisms need counts"
        )
    if not votes.is_table and not are_complete(votes):
        raise ValueError(
            "votes do not hold one vote of each teacher for one of the classes in each row; "
            "pass what poll returned"
        )
    return votes


def given_rows(X_public):
    """Return the public rows that the user gave, unwrapped, so that rows can be selected."""
    X_public = public_rows(X_public)
    if X_public is None:
        raise ValueError(
            "X_public is missing: public, unlabelled rows with the same features as X. A private "
            "vote labels some of them, and the student learns from those alone; private rows "
            "cannot take their place. Call fit(X, y, X_public=...). If there are none, declare "
            "what the columns may hold: PATEClassifier(schema={column: (low, high) or [values]})"
        )
    return without_index(indexable_rows(X_public, "X_public"))


def check_not_swapped(X, y):
    """Refuse labels in the place of rows, by their axes alone."""
    axes_of_y = getattr(y, "shape", ())
    if len(getattr(X, "shape", ())) == 1 and len(axes_of_y) == 2 and axes_of_y[1] > 1:
        raise ValueError(
            "X has one axis and y two: X and y may be swapped. Call fit(X, y), with rows in X and "
            "one label of each in y"
        )


def check_features(estimator, X, name, reset=False):
    """Check axes, number and names of features; teachers and student check the values.

    With `reset` the estimator gets number and names; without, they must be those that it has.
    """
    shape = X.shape
    if len(shape) < 2:
        raise ValueError(
            f"Expected {name} as a 2D array (or more axes), got a {len(shape)}D array. "
            "Reshape your data with X.reshape(-1, 1) for one feature or X.reshape(1, -1) for "
            "one sample"
        )
    if 0 in shape[:2]:
        raise ValueError(
            f"{name} has {shape[0]} sample(s) and {shape[1]} feature(s) (shape={shape}) while "
            "a minimum of 1 is required."
        )
    try:
        if not getattr(getattr(X, "columns", None), "is_unique", True):
            raise ValueError(f"Expected unique column names, got {list(X.columns)}")
        validate_data(estimator, X, reset=reset, skip_check_array=True)
    except (TypeError, ValueError) as error:
        prefix = ""  # in predict, the message of scikit-learn as it is
        if reset:
            prefix = f"{name}: "
        elif name != "X":
            prefix = f"{name} does not have the features of X: "
        kind = ValueError if isinstance(error, ValueError) else TypeError
        raise kind(f"{prefix}{error}") from None


def check_forms(X, X_public):
    """Refuse a DataFrame beside an array: types of columns are compared, so both must have them."""
    if hasattr(X, "dtypes") != hasattr(X_public, "dtypes"):
        raise ValueError(
            f"X is a {type(X).__name__} and X_public a {type(X_public).__name__}. Whoever "
            "votes sees the types of columns, so they must be public: give both as DataFrames, or "
            "neither"
        )
    libraries = [_library(rows) for rows in (X, X_public)]
    if hasattr(X, "dtypes") and "pandas" in libraries and libraries[0] != libraries[1]:
        other = "X" if libraries[1] == "pandas" else "X_public"
        raise ValueError(
            f"X is a {libraries[0]} DataFrame and X_public a {libraries[1]} one: give both as one "
            f"kind, for instance\n    {other} = {other}.to_pandas()"
        )


def _library(frame):
    return "pandas" if isinstance(frame, pd.DataFrame) else type(frame).__module__.split(".")[0]


def check_names(X, X_public):
    """Refuse DataFrames whose columns, if their names are text, are not the same.

    Such names are published: `feature_names_in_`.
    """
    if not hasattr(X, "dtypes") or not _have_names(X) or not _have_names(X_public):
        return
    names, public_names = list(X.columns), list(X_public.columns)
    if names == public_names:
        return
    missing = [name for name in names if name not in public_names]
    extra = [name for name in public_names if name not in names]
    found = []
    if extra:
        found.append(f"it has columns that X has not: {first_names(extra)}")
    if missing:
        found.append(f"it lacks columns of X: {first_names(missing)}")
    if not found:
        found.append("its columns stand in another order")
    raise ValueError(
        f"X_public does not have the features of X: {'; '.join(found)}. Both need the same "
        f"columns{_same_names(names, public_names)}"
    )


def _same_names(names, public_names):
    """Return code that gives both frames the same columns, where leaving out some is enough."""
    if set(names) <= set(public_names):
        return ":\n    X_public = X_public[list(X.columns)]"
    return ":\n    X = X[list(X_public.columns)]" if set(public_names) < set(names) else ""


def _same_columns(X, X_public):
    """Return code that gives `X` the columns of `X_public`, as many as it has."""
    are_others = set(X.columns) != set(X_public.columns)
    reordered = "" if are_others else "\n    X = X[X_public.columns]"
    return f"{reordered}\n    X.columns = X_public.columns"


def _have_names(X):
    """Whether the names of columns are text, each there once."""
    names = list(getattr(X, "columns", []))
    return len(set(names)) == len(names) and all(isinstance(name, str) for name in names)


def first_names(names):
    """Write the first names of a list, and how many more there are."""
    more = f" and {len(names) - _N_NAMED} more" if len(names) > _N_NAMED else ""
    return f"{names[:_N_NAMED]}{more}"


def check_dtypes(X, X_public):
    """Refuse private data whose types are not those of the public rows.

    Every teacher sees the types of columns, and one private record can change them.
    """
    found = difference(X, X_public)
    if found is None:
        return
    if found.kind == "unknown":
        raise ValueError(
            "X and X_public must be arrays, which have a dtype, or DataFrames, which have dtypes "
            "for their columns. Whoever votes sees the types of columns, so they must be public, "
            "and for these data they cannot be compared. Convert both, as with\n"
            "    X, X_public = X.to_pandas(), X_public.to_pandas()"
        )
    if found.kind == "columns":
        raise ValueError(
            "X has other columns than X_public, other levels of columns or other names of levels. "
            "Whoever votes sees them, so they must be public:"
            f"{_same_columns(X, X_public)}"
        )
    if found.kind == "dtype":
        raise ValueError(
            f"X has another dtype than X_public, which has {X_public.dtype}. Whoever votes sees "
            "it, so it must be public, not what the private records happen to need. Fix it in "
            f"advance:{_SAME_DTYPES}"
        )
    if found.kind == "codes":
        raise ValueError(
            f"columns {found.columns} of X hold dictionaries of Arrow or Categorical of polars, "
            "whose codes are assigned as values appear: one private record can change the codes of "
            "all others, and all teachers see them. Fix categories in advance: "
            "pandas.CategoricalDtype([...]) or polars.Enum([...]), the same in X and X_public, or "
            "give text"
        )
    raise ValueError(
        f"columns {found.columns} of X and X_public have different dtypes or categories "
        f"({_dtypes(X, X_public, found.columns)}). All teachers see them, so they must be public, "
        f"not what the private records happen to hold: fix them in advance:{_SAME_DTYPES}"
    )


def _dtypes(X, X_public, columns):
    """Name the dtypes of the first of some columns, without what they hold."""
    both = zip(X_public.columns, list(X.dtypes), list(X_public.dtypes), strict=True)
    said = []
    for name, *dtypes in both:
        if name in columns:
            private, public = map(dtype_name, dtypes)
            different = f"{private} in X, {public} in X_public"
            said.append(f"{name}: {f'not the same {public}' if private == public else different}")
    more = "; ..." if len(said) > _N_NAMED else ""
    return "; ".join(said[:_N_NAMED]) + more


def warn_if_delta_is_large(delta, *, n_teachers=None, n_records=None):
    """Warn of a delta that would allow to publish a record; `n_records` is None if private."""
    text = large_delta(delta, n_teachers=n_teachers, n_records=n_records)
    if text is not None:
        warn(text)
