"""Who votes: an electorate that was given, teachers, or by default the records themselves."""

import inspect
import math

from sklearn.base import clone
from sklearn.linear_model import LogisticRegression, RidgeCV
from sklearn.pipeline import make_pipeline

from ..aggregators import TableMechanism
from ..column_sums import ColumnSums
from ..electorate import Electorate, TableElectorate
from ..neighbors import ReverseNeighbors, RowVectorizer
from ..partition import RandomPartition
from ..rdp.conversion import gdp_mu
from ..releases.table import ABOUT_QUERIES, OnlySums
from ..rules import (
    bends_are_seen,
    columns_tell_more,
    default_n_teachers,
    signal_of_sums,
    sums_tell_more,
)
from ..teachers import RegressorEnsemble, SiteEnsemble, Sites, TeacherEnsemble

#: Parameters that say how teachers are made. Other electorates do not take them.
ABOUT_TEACHERS = dict.fromkeys(
    ("n_teachers", "partition", "keep_teachers", "timeout"), "says how teachers are made"
)


#: Of regressors that learn from few records, or from means that are mostly noise.
_PENALTIES = (1.0, 10.0, 100.0, 1e3, 1e4, 1e5)


def voters(estimator, *, by_records=None):
    """Return `base_estimator` or, where it is None, what votes by default.

    Records vote, unless a parameter speaks of teachers, or of the questions that they are asked.

    Parameters
    ----------
    estimator : PATEClassifier
        Its parameters decide.
    by_records : bool or None, default=None
        Whether records have voted, where votes are at hand: they decide then.

    Returns
    -------
    classifier, list of classifiers or Electorate
        Unfitted.
    """
    if estimator.base_estimator is not None:
        return estimator.base_estimator
    if by_records is None:
        by_records = not speaks_of_teachers(estimator)
    return ReverseNeighbors() if by_records else default_teacher(estimator.predicts_numbers)


def default_teacher(predicts_numbers=False):
    """Return the model that teachers are clones of: it learns from few rows, of any kind."""
    model = RidgeCV(_PENALTIES) if predicts_numbers else LogisticRegression(max_iter=1000)
    return make_pipeline(RowVectorizer(), model)


def make_electorate(estimator, X=None, *, by_records=None, synthesizer=None):
    """Return a new electorate, by the parameters of a classifier.

    Parameters
    ----------
    estimator : PATEClassifier
        Its parameters decide.
    X : array-like, Sites or None, default=None
        Private rows. Sites are teachers.
    by_records : bool or None, default=None
        As in `voters`.
    synthesizer : Synthesizer or None, default=None
        Declared. If it spends all of epsilon, nobody votes.

    Returns
    -------
    Electorate
    """
    if synthesizer is not None and synthesizer.share == 1:
        if estimator.base_estimator is not None or speaks_of_teachers(estimator):
            raise ValueError(
                f"share=1 of {type(synthesizer).__name__} leaves nothing of epsilon for voters; "
                "give a smaller share, or no parameters that speak of voters"
            )
        return OnlySums()
    is_sites = isinstance(X, Sites)
    if is_sites and estimator.predicts_numbers:
        raise ValueError(
            "Sites load labels of classes: give PATERegressor X and y, with the site of each "
            "record in groups= and partition='predefined'"
        )
    if is_sites and estimator.base_estimator is None:
        by_records = False
    chosen = voters(estimator, by_records=by_records)
    if synthesizer is not None and isinstance(chosen, ColumnSums):
        raise ValueError(
            "ColumnSums needs public rows that are there before a fit; without any, leave "
            "base_estimator=None: class sums are released by the schema"
        )
    if isinstance(chosen, Electorate):
        _check_casts(chosen, numbers=estimator.predicts_numbers)
        return clone(chosen)
    ensemble_class = SiteEnsemble if is_sites else TeacherEnsemble
    if estimator.predicts_numbers:
        ensemble_class = RegressorEnsemble
    return ensemble_class(
        chosen if isinstance(chosen, list) else [chosen],
        n_teachers=estimator.n_teachers,
        partition=estimator.partition,
        unit=estimator.unit,
        keep_teachers=estimator.keep_teachers,
        n_jobs=estimator.n_jobs,
        timeout=estimator.timeout,
    )


def _check_casts(electorate, *, numbers):
    """Refuse an electorate that votes for classes where numbers are wanted, and the reverse."""
    votes_for_numbers = isinstance(electorate, RegressorEnsemble)
    if isinstance(electorate, TableElectorate) or votes_for_numbers == numbers:
        return
    casts, wanted = ("classes", "regressor") if numbers else ("numbers", "classifier")
    raise ValueError(
        f"{type(electorate).__name__} votes for {casts}: give base_estimator a {wanted}, or let "
        "records vote, base_estimator=None"
    )


def with_columns(electorate, estimator, private, X_public):
    """Return `ColumnSums` where nobody said who votes, and public numbers speak for it; else None.

    Parameters
    ----------
    electorate : Electorate
        Enrolled, by the parameters.
    estimator : PATEClassifier
        Its parameters decide.
    private : PrivateData
        The private data.
    X_public : array-like with n_public rows
        Public rows, that nobody drew.

    Returns
    -------
    ColumnSums or None
    """
    is_open = estimator.base_estimator is None and estimator.aggregator is None
    if not is_open or estimator.epsilon is None or type(electorate) is not ReverseNeighbors:
        return None
    if not ColumnSums.suits(X_public):
        return None
    n_classes = len(private.classes)
    n_public, n_columns = electorate.public_shape
    if not hasattr(X_public, "columns"):  # sums have all columns of arrays, cells few components
        n_columns = max(n_columns, X_public[0].size)
    n_records = n_public if private.groups is not None else len(private.codes)
    cells = electorate.forecast(
        noise_std=2 * math.sqrt(2) / estimator.epsilon, n_records=n_records, n_classes=n_classes
    )
    signal = signal_of_sums(
        n_records=n_records,
        n_columns=n_columns,
        n_classes=n_classes,
        noise_std=2 * math.sqrt(1 - 1 / n_classes) / gdp_mu(estimator.epsilon, estimator.delta),
    )
    if estimator.predicts_numbers:
        tell_more = sums_tell_more(n_records=n_records, epsilon=estimator.epsilon, signal=signal)
    else:
        tell_more = columns_tell_more(explained=cells.explained, n_classes=n_classes, signal=signal)
    if not tell_more:
        return None
    columns = ColumnSums(bends=bends_are_seen(signal=signal))
    columns.cells_explain = None if estimator.predicts_numbers else cells.explained
    return columns


def number_teachers(electorate, estimator, private):
    """Say how many teachers there are, where the parameters leave it to the rule."""
    is_dealt = type(electorate) in (TeacherEnsemble, RegressorEnsemble)
    if not is_dealt or electorate.n_teachers is not None:
        return
    # Any other partition keeps the number of records private, or has a number of its own
    is_random = estimator.partition == "random" or type(estimator.partition) is RandomPartition
    is_public = is_random and private.groups is None
    electorate.n_teachers = default_n_teachers(
        n_records=len(private.codes) if is_public else None,
        n_classes=len(private.classes),
        epsilon=estimator.epsilon,
    )


def speaks_of_teachers(estimator):
    """Whether a parameter speaks of teachers, or of the questions that they are asked."""
    signature = inspect.signature(type(estimator).__init__)
    names = [*ABOUT_TEACHERS, *ABOUT_QUERIES]
    if any(getattr(estimator, name) != signature.parameters[name].default for name in names):
        return True
    return estimator.aggregator is not None and not isinstance(estimator.aggregator, TableMechanism)


def check_defaults(estimator, reason_by_name):
    """Refuse parameters that were set, each for its reason, if another electorate votes."""
    signature = inspect.signature(type(estimator).__init__)
    for name, reason in reason_by_name.items():
        default = signature.parameters[name].default
        value = getattr(estimator, name)
        if value != default:
            voter = type(voters(estimator, by_records=True)).__name__
            raise ValueError(
                f"{name}={value!r} {reason}, and base_estimator is another electorate, {voter}; "
                f"leave {name} at its default, {default!r}"
            )
