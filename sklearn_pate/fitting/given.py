"""What a fit is given: all of it checked once, here, before anything is trained or paid for."""

import dataclasses
import hashlib
import warnings
from dataclasses import dataclass
from functools import partial, singledispatch
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.base import clone

from .._sklearn import _num_samples, _safe_indexing
from ..accountant.stages import soft_stage
from ..electorate import (
    Ballots,
    Electorate,
    PrivateData,
    TableBallots,
    TableElectorate,
    Votes,
    check_classifier,
    check_regressor,
)
from ..exceptions import warn
from ..memory import digest, kept_seed, private_memory
from ..public import are_all_equal, public_rows, warn_if_private
from ..queries import DiversityQueries, RandomQueries, UncertaintyQueries
from ..rdp.cost import no_cost
from ..releases.beside import Beside
from ..releases.labels import LabelsRelease
from ..releases.published import student_of
from ..releases.rows import DRAWN_BEFORE, Synthesis, recalled, rehearsal_rows
from ..releases.table import TableRelease, check_votes_of_records, table_mechanism
from ..releases.votes import enrol
from ..teachers import Sites
from .checks import (
    check_data,
    check_features,
    check_not_swapped,
    check_votes_given,
    given_rows,
)
from .seeds import seed_streams
from .synthesizers import check_no_public, declared_synthesizer
from .targets import declared_classes
from .voters import ABOUT_TEACHERS, check_defaults, make_electorate, number_teachers, with_columns

STRATEGIES = {
    "random": RandomQueries,
    "uncertainty": UncertaintyQueries,
    "diversity": DiversityQueries,
}

#: What `privacy_spent_.not_covered` says of classes.
_READ_CLASSES = "classes_, read from the private labels"

#: Why a fit is refused whose public rows are the private ones.
_NOT_PUBLIC = (
    "X_public is X or a part of it, so the student would show private rows, which no noise "
    "protects; give rows that are public, or a synthesizer"
)

_ALL_EQUAL = "the rows of X_public are all equal, so nothing can be learnt from their labels"

#: So many rows are looked at, far apart.
_N_SEEN = 100


@dataclass(frozen=True, eq=False)
class Given:
    """What a fit was given, after all checks.

    Attributes
    ----------
    estimator : PATEClassifier
        Its parameters say the rest.
    X_public : array-like with n_public rows
        All public rows.
    checked_clone : PATEClassifier
        An unfitted clone that has `n_features_in_` and, if there are names, `feature_names_in_`.
    classes : ndarray of shape (n_classes,)
        Sorted labels.
    ballots : Ballots or TableBallots
        What one protected unit can change of the votes.
    digest : str
        What tells the public rows from others.
    seeds : dict
        A source of randomness for each use.
    electorate : Electorate
        Who votes, or has voted.
    release : Release
        What is published of the votes.
    private : PrivateData or None
        What the electorate votes by; None if the votes were given.
    synthesis : Synthesis or None
        Where the public rows come from; None if they were given.
    beside : Beside
        What the user publishes beside rows and labels.
    are_drawn : bool
        Whether the public rows were drawn, or will be: they are less like private ones.
    not_covered : tuple of str
        What `privacy_spent_` will say of what was read from private data.
    obstacles : tuple of str
        Why nothing that may be published can be learnt.
    fit_number : int
        What `privacy_spent_` will say; 1 in a plan.
    """

    estimator: Any
    X_public: Any
    checked_clone: Any
    classes: np.ndarray
    ballots: Ballots | TableBallots
    digest: str
    seeds: dict
    electorate: Electorate
    release: Any
    private: PrivateData | None = None
    synthesis: Synthesis | None = None
    beside: Beside = Beside()
    are_drawn: bool = False
    not_covered: tuple = ()
    obstacles: tuple = ()
    fit_number: int = 1

    @property
    def n_public(self):
        """Number of public rows."""
        return _num_samples(self.X_public)

    @property
    def rows_are_to_draw(self):
        """Whether public rows are to be drawn, and paid for, before anyone votes."""
        return self.synthesis is not None and self.synthesis.is_to_draw

    @property
    def cost_before(self):
        """What returns, for Renyi orders, the `Cost` of what is released before the labels.

        Plans keep it, so it must hold nothing private.
        """
        of_rows = no_cost if self.synthesis is None else self.synthesis.without_data().cost
        return partial(_cost_of_both, of_rows, self.beside) if self.beside.releases else of_rows

    @property
    def is_pure_before(self):
        """Whether that cost holds with delta 0."""
        rows_are_pure = self.synthesis is None or self.synthesis.synthesizer.is_pure
        return rows_are_pure and self.beside.is_pure

    @property
    def temperature(self):
        """Temperature of the teachers' probabilities; None if they vote."""
        return temperature_of(self.estimator, self.release)

    def cost_to_pay(self, plan):
        """Return the `Cost` that the ledger has not recorded yet: rows that were drawn, it may."""
        has_rows = self.synthesis is not None and self.estimator.ledger in self.synthesis.ledgers
        return self.beside.plus(plan.own_cost) if has_rows else plan.cost

    def make_strategy(self):
        """Return a new query strategy, which a fit may change."""
        return strategy_of(self.estimator)

    def student(self):
        """Return the unfitted student."""
        return student_of(self.estimator, self.electorate)


def _cost_of_both(of_rows, beside, orders):
    """Return the `Cost` of rows, and of what the user publishes beside them."""
    return beside.plus(of_rows(orders), orders)


def as_list(given):
    """Return a list that was given as it is, and anything else as a list of one."""
    return given if isinstance(given, list) else [given]


def temperature_of(estimator, release):
    """Return the temperature of the teachers' probabilities; None if they vote."""
    return getattr(soft_stage(as_list(release.mechanism(estimator))), "temperature", None)


def strategy_of(estimator):
    """Return a new query strategy, as the parameters say."""
    given = estimator.query_strategy
    if isinstance(given, type):
        raise ValueError(f"query_strategy must be an object; got a class, {given.__name__}")
    return STRATEGIES[given]() if isinstance(given, str) else clone(given, safe=False)


@singledispatch
def release_of(electorate):
    """Return what is published of an electorate's votes; a fit goes on without asking who votes."""
    return LabelsRelease()


@release_of.register(TableElectorate)
def _(electorate):
    return TableRelease()


def check_given(estimator, X, y, X_public, groups, sample_weight):
    """Check all that `fit` is given, and enrol the electorate; nothing is trained.

    Returns
    -------
    Given
    """
    classes = declared_classes(estimator)
    check_not_swapped(X, y)
    synthesizer = declared_synthesizer(estimator, X, X_public, groups=groups)
    electorate = _voters_of(estimator, X, synthesizer)
    X_public, not_covered, obstacles = _rows_of(estimator, X, X_public, synthesizer)
    checked_clone = clone(estimator)  # a refit that fails must not change what predict expects
    known = {"classes": classes, "sample_weight": sample_weight, "groups": groups}
    private = check_data(checked_clone, X, y, X_public, **known)
    if synthesizer is None and are_all_equal(X_public):
        obstacles += (_ALL_EQUAL,)
    seeds = seed_streams(estimator.random_state, estimator.secure)
    number_teachers(electorate, estimator, private)
    ballots = enrolled(estimator, electorate, private, X_public, seeds)
    columns = None
    if synthesizer is None:
        columns = with_columns(electorate, estimator, private, X_public)
    if columns is not None:
        electorate = columns
        memory = private_memory(estimator.memory)
        ballots = enrol(electorate, private, X_public, seed=None, memory=memory)
    _check_unit(
        estimator,
        ballots,
        "give groups=, one identifier per record. Searches and cross-validation drop groups "
        "unless metadata routing is on",
    )
    given = Given(
        estimator,
        X_public,
        checked_clone,
        private.classes,
        ballots,
        rows_digest(X_public),
        seeds,
        electorate,
        release_of(electorate),
        private=private,
        are_drawn=synthesizer is not None,
        not_covered=not_covered,
        obstacles=obstacles,
    )
    return _with_releases_before(given, synthesizer)


def _voters_of(estimator, X, synthesizer):
    """Return the electorate, after checks of all parameters together."""
    electorate = make_electorate(estimator, X, synthesizer=synthesizer)
    if isinstance(electorate, TableElectorate) and isinstance(X, Sites):
        raise ValueError(
            f"X is Sites, which train teachers of their own, and {type(electorate).__name__} "
            "lets records vote; give X and y as arrays or DataFrames, or let teachers vote"
        )
    _check_parts(estimator, electorate)
    return electorate


def _rows_of(estimator, X, X_public, synthesizer):
    """Return public rows or such to rehearse with, what is not covered, and obstacles."""
    not_covered = () if declared_classes(estimator) is not None else (_READ_CLASSES,)
    if synthesizer is not None:
        read = getattr(synthesizer, "not_covered_", ())
        return rehearsal_rows(synthesizer), (*not_covered, *read), ()
    are_private = warn_if_private(X_public, X)
    obstacles = (_NOT_PUBLIC,) if are_private else ()
    return given_rows(X_public), not_covered + are_private, obstacles


def _with_releases_before(given, synthesizer):
    """Return the same with what is released before the votes: the user's own, and rows."""
    estimator = given.estimator
    private = given.private
    cap = {"epsilon": estimator.epsilon, "delta": estimator.delta}
    beside = Beside.planned(estimator.releases, private, given.ballots, **cap)
    synthesis = None
    if synthesizer is not None:
        by_records = isinstance(given.ballots, TableBallots)
        mechanism = table_mechanism(estimator.aggregator, given.electorate) if by_records else None
        synthesis = Synthesis.planned(
            synthesizer,
            private,
            given.ballots,
            pure=by_records and mechanism.is_pure and beside.is_pure,
            n_classes=len(given.classes),
            **cap,
        )
    return dataclasses.replace(given, beside=beside, synthesis=synthesis)


def check_votes_and_rows(estimator, votes, X_public):
    """Check all that `fit_votes` is given, votes that were cast before.

    Returns
    -------
    Given
    Votes
    """
    check_no_releases(estimator, "fit_votes has no private records: call fit")
    synthesis = getattr(votes, "synthesis", None)
    if synthesis is not None:
        if not are_same_rows(public_rows(X_public), synthesis.rows):
            check_no_public(X_public)
        X_public = synthesis.rows
    if X_public is None:
        raise ValueError("X_public is missing: the rows that were voted on")
    are_counts = not isinstance(votes, Votes)  # `poll` counts the cost of its rows
    by_records = not are_counts and votes.is_table
    electorate = make_electorate(estimator, by_records=by_records)
    check_votes_of_records(votes, electorate, is_given=estimator.base_estimator is not None)
    _check_parts(estimator, electorate)
    if by_records:
        electorate = votes.electorate
        table_mechanism(estimator.aggregator, estimator.base_estimator)
    X_public = given_rows(X_public)
    checked_clone = clone(estimator)
    check_features(checked_clone, X_public, "X_public", reset=True)
    votes = check_votes_given(
        votes,
        declared_classes(estimator),
        n_public=_num_samples(X_public),
        aggregator=estimator.aggregator,
        temperature=temperature_of(estimator, release_of(electorate)),
    )
    _check_unit(estimator, votes.ballots, "poll with groups")
    if by_records:
        electorate.check_public(X_public)
    given = Given(
        estimator,
        X_public,
        checked_clone,
        votes.classes,
        votes.ballots,
        rows_digest(X_public),
        seed_streams(estimator.random_state, estimator.secure),
        electorate,
        release_of(electorate),
        synthesis=synthesis,
        not_covered=votes.not_covered,
        obstacles=votes.obstacles,
    )
    return (with_cost_of_rows(given) if are_counts else given), votes


def check_no_releases(estimator, why):
    """Refuse releases of the user's where records are not at hand, or are looked at often."""
    if estimator.releases:
        raise ValueError(f"{why}, or give releases=None")


def with_cost_of_rows(given):
    """Return the same with the cost of its public rows, if an earlier fit drew them."""
    if given.synthesis is not None:
        return given
    are_drawn, synthesis = recalled(given.X_public)
    if not are_drawn:
        return given
    protects = given.ballots.unit, str(given.ballots.adjacency)
    if synthesis is None or protects != (synthesis.unit, synthesis.adjacency):
        not_covered = (*given.not_covered, DRAWN_BEFORE)
        return dataclasses.replace(given, are_drawn=True, not_covered=not_covered)
    read = getattr(synthesis.synthesizer, "not_covered_", ())
    return dataclasses.replace(
        given,
        synthesis=dataclasses.replace(synthesis, rows=given.X_public),
        are_drawn=True,
        not_covered=(*given.not_covered, *read),
    )


def enrolled(estimator, electorate, private, X_public, seeds):
    """Enrol an electorate with public rows; `seeds` gets what `memory` keeps of them."""
    memory = private_memory(estimator.memory)
    seed = seeds["partition"]
    if memory is not None and estimator.random_state is None:
        # By the public rows alone: queries are published, and if they followed the private data,
        # they would show that these changed between two fits
        seeds["queries"] = kept_seed(memory, (digest(X_public), "queries"))
        seed = None  # so the electorate takes its seeds from `memory`, the same for the next fit
    return enrol(electorate, private, X_public, seed=seed, memory=memory)


def _check_parts(estimator, electorate):
    """Check that electorate, aggregator, student and query strategy fit together."""
    if isinstance(estimator.base_estimator, Electorate):
        check_defaults(estimator, ABOUT_TEACHERS)
    release = release_of(electorate)
    check_defaults(estimator, release.refused(estimator))
    release.check(estimator)
    stages = as_list(release.mechanism(estimator))
    electorate.check(soft_aggregator=soft_stage(stages))
    student = student_of(estimator, electorate)
    if student is None:
        kind = "regressor" if estimator.predicts_numbers else "classifier"
        raise ValueError(
            f"student must be a {kind}: {type(electorate).__name__} suggests none; got student=None"
        )
    check_student(estimator, student)
    for part in (*stages, strategy_of(estimator)):
        needs_proba = getattr(part, "uses_student_proba", False)
        if needs_proba and not hasattr(student, "predict_proba"):
            raise ValueError(f"{part} needs a student with predict_proba; got {student!r}")


def check_student(estimator, student):
    """Refuse a student that does not predict what the estimator predicts."""
    check = check_regressor if estimator.predicts_numbers else check_classifier
    check("student", student)


def _check_unit(estimator, ballots, remedy):
    if estimator.unit == "group" and ballots.unit != "group":
        raise ValueError(f"unit='group', but these votes protect one {ballots.unit}; {remedy}")


def rows_digest(X_public):
    """Return what tells public rows from others, whatever type of array holds them."""
    n_public = _num_samples(X_public)
    seen = np.unique(np.linspace(0, n_public - 1, _N_SEEN).astype(int))
    rows = _safe_indexing(X_public, seen)
    if not sparse.issparse(rows):
        rows = np.asarray(rows).reshape(len(seen), -1)
    try:
        # As short floats, which long ones may have been made of
        with np.errstate(over="ignore"), warnings.catch_warnings():
            warnings.simplefilter("error")  # of complex numbers, which would lose a part
            numbers = sparse.csr_array(rows, dtype=np.float32)
    except (TypeError, ValueError, OverflowError, Warning):
        values = np.where(pd.isna(rows), None, rows)  # NaN in some columns, None in others
        parts = [str(value).encode(errors="replace") for value in values.ravel().tolist()]
    else:
        numbers.sum_duplicates()
        numbers.eliminate_zeros()
        parts = [numbers.indptr, numbers.indices.astype(np.int64), numbers.data]
    return hashlib.sha256(b"\0".join(bytes(part) for part in parts)).hexdigest()


def are_same_rows(X, other):
    """Return whether two tables are equal in all rows; False where that cannot be told."""
    if X is other:
        return True
    if type(X) is not type(other):
        return False
    if isinstance(X, np.ndarray):
        return np.array_equal(X, other, equal_nan=X.dtype.kind == "f")
    return bool(X.equals(other)) if hasattr(X, "equals") else False


def check_labelled_rows(X_public, n_labelled, digest):
    """Refuse another number of public rows than got labels, and warn if they are others.

    Parameters
    ----------
    X_public : array-like with n_public rows
        Public rows.
    n_labelled : int
        The number of rows given to fit.
    digest : str
        Of these, from `rows_digest`.
    """
    if _num_samples(X_public) != n_labelled:
        raise ValueError(
            f"X_public has {_num_samples(X_public)} rows, and labels were released for the "
            f"{n_labelled} rows given to fit; pass the same rows in that order"
        )
    if rows_digest(X_public) != digest:
        warn(
            "X_public holds other values than the rows given to fit, or in another order. Labels "
            "go by position: if these are not the same rows, the student learns wrong labels"
        )
