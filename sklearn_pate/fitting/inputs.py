"""Inputs of a fit, checked before anything is trained or paid for."""

from __future__ import annotations

import contextlib
import hashlib
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone

from .._sklearn import _num_samples, _safe_indexing, has_method
from ..accounting.budget import as_cap, cost_of_all, soft_stage, stated_event
from ..accounting.plan import spent_of
from ..encoding.targets import Target
from ..encoding.vectorizer import check_array
from ..exceptions import warn
from ..methods import MethodChoice, ReverseNeighbors
from ..methods.base import Method, TableMethod
from ..methods.sums import PublishedClassSums
from ..methods.teachers import SITE_ENSEMBLES
from ..public import (
    are_all_equal,
    check_not_swapped,
    public_rows,
    table_of,
    useless_columns,
    value_hashes,
    warn_if_private,
)
from ..queries import DiversityQueries, RandomQueries, UncertaintyQueries
from ..rdp import Neighbors
from ..rdp.cost import no_cost
from ..releases import extra_releases
from ..releases.prefix import Prefix
from ..releases.published import student_of
from ..releases.synthetic_rows import Synthesis, dry_run_rows
from ..runtime.isolation import attempt
from ..runtime.memory import cached_seed, digest, private_memory
from ..runtime.private_data import PrivateData
from ..runtime.sites import SiteRecords
from ..teachers import Sites
from . import checks, methods, sites, synthesizers
from .seeds import seed_streams

if TYPE_CHECKING:
    from .._typing import Estimator, Rows
    from ..accounting.plan import Plan
    from ..rdp.contribution import Contribution
    from ..rdp.cost import Cost
    from ..releases.base import Release, VotesRelease
    from ..releases.votes import Votes
    from .first_release import FirstRelease

STRATEGIES = {
    "random": RandomQueries,
    "uncertainty": UncertaintyQueries,
    "diversity": DiversityQueries,
}

#: Entry of `privacy_spent_.not_covered` for classes that are read without epsilon.
_READ_CLASSES = "classes_, read from the private labels"

#: Error of a plan whose public rows are private rows.
_NOT_PUBLIC = (
    "X_public is X or a part of it, so the student would be trained on private rows without "
    "noise; give rows that are public, or a synthesizer"
)

_ALL_EQUAL = "the rows of X_public are all equal, so nothing can be learnt from their labels"

#: Maximal number of evenly spaced rows in `rows_digest`.
_N_SEEN = 100


@dataclass(frozen=True, eq=False, repr=False)
class Inputs:
    """The inputs of one fit, after all checks.

    Attributes
    ----------
    estimator : PATEClassifier or PATERegressor
        Estimator with the parameters of the fit.
    X_public : array-like with n_public rows
        All public rows. Before synthetic rows are drawn, made-up rows replace them.
    target : targets.Target
        Classes of the labels, or levels of the numbers.
    neighbors : Neighbors
        The neighboring data sets that the guarantee compares.
    n_teachers : int or None
        Number of teachers; None where records vote.
    seeds : dict
        Source of randomness of each use, from `seed_streams`.
    method : Method
        The prepared method. In `fit_votes`, the method that returned the votes or, if teachers
        voted, an unprepared method with the parameters of the estimator.
    cap : (float or None, float)
        Limits of the epsilon and delta of all releases together.
    choice : MethodChoice
        Name of the method, and the reason for its choice.
    private : PrivateData or None
        The private data; None in `fit_votes`.
    synthesis : Synthesis or None
        Source of the synthetic rows, and their cost; None if the user gave public rows.
    extra_releases : tuple of Release
        The user's `releases`, with their noise set.
    are_synthetic : bool
        Whether this fit or search draws the public rows. If True, their distribution is only
        approximately the distribution of private rows.
    not_covered : tuple of str
        Descriptions of results that were read from private data without noise, for
        `privacy_spent_`.
    errors : tuple of str
        Problems of the public rows, for the errors of the plan.
    fit_number : int
        Number of the fit in this process, for `privacy_spent_`; 1 in a plan.
    prefix : Prefix or None
        Published steps of an interrupted fit that this fit continues; None for a new fit.
    first_release : FirstRelease or None
        The first release of the fit, which finds the target or counts the records of declared
        classes; None if the fit makes no such release. `cap` is what this release leaves.
    """

    estimator: Any
    X_public: Any
    target: Target
    neighbors: Neighbors
    n_teachers: int | None
    seeds: dict[str, Any]
    method: Method
    cap: tuple[float | None, float]
    choice: MethodChoice = MethodChoice("", "")
    private: PrivateData | None = None
    synthesis: Synthesis | None = None
    extra_releases: tuple[Release, ...] = ()
    are_synthetic: bool = False
    not_covered: tuple[str, ...] = ()
    errors: tuple[str, ...] = ()
    fit_number: int = 1
    prefix: Prefix | None = None
    first_release: FirstRelease | None = None
    warnings_of_columns: Callable[[], list[str]] | None = None

    @property
    def release(self) -> VotesRelease:
        """The release of the method."""
        return self.method.release

    @property
    def n_public(self) -> int:
        """Number of public rows."""
        return _num_samples(self.X_public)

    @property
    def records(self) -> PrivateData:
        """The private data; raises a ValueError in `fit_votes`."""
        if self.private is None:
            raise ValueError("this fit uses given votes, and has no private records")
        return self.private

    @property
    def known_synthesis(self) -> Synthesis:
        """The `synthesis`; raises a ValueError in a fit with given public rows."""
        if self.synthesis is None:
            raise ValueError("this fit uses given public rows, and has no synthesizer")
        return self.synthesis

    @property
    def known_first_release(self) -> FirstRelease:
        """The `first_release`; raises a ValueError if the fit makes no such release."""
        if self.first_release is None:
            raise ValueError("this fit makes no release of its target or of class counts")
        return self.first_release

    @property
    def rows_are_to_draw(self) -> bool:
        """Whether synthetic rows must still be drawn and paid for, before the labels."""
        return self.synthesis is not None and self.synthesis.rows is None

    @property
    def prior_steps(self) -> tuple[Any, ...]:
        """All releases other than labels: the synthesizer, if any, and the extra releases."""
        rows = () if self.synthesis is None else (self.synthesis.synthesizer,)
        return rows + self.extra_releases

    @property
    def prior_events(self) -> list[Any]:
        """The events of `prior_steps`."""
        return [stated_event(part, self.neighbors) for part in self.prior_steps]

    @property
    def prior_cost(self) -> Callable[[Any], Cost]:
        """A function of Renyi orders that returns the `Cost` of `prior_steps`."""
        parts = self.prior_steps
        return partial(cost_of_all, parts, self.neighbors) if parts else no_cost

    @property
    def prior_is_pure(self) -> bool:
        """Whether `prior_cost` holds with delta 0."""
        return all(event.is_pure for event in self.prior_events)

    @property
    def contribution(self) -> Contribution:
        """Largest change of a table of records between neighboring data sets."""
        return self.method.contribution(self.neighbors)

    @property
    def temperature(self) -> float | None:
        """Temperature of the teachers' probabilities; None if they vote."""
        return temperature_of(self.estimator, self.method)

    def recorded_cost(self, plan: Plan) -> Cost:
        """Return the cost of a plan to record in the ledger, with its first release, if any.

        Without this release, the cost of synthetic rows that `poll` has already recorded in the
        ledger is omitted.
        """
        ledger = self.estimator.ledger
        if self.first_release is not None:
            return self.first_release.recorded_with(plan.cost, spent_of(plan))
        is_recorded = self.synthesis is not None and self.synthesis.is_recorded_in(ledger)
        if plan.own_cost is None or not is_recorded:
            return plan.cost
        return cost_of_all(self.extra_releases, self.neighbors).plus(plan.own_cost)

    def check_ledger(self, plan: Plan) -> None:
        """Refuse a plan that exceeds the budget of the ledger."""
        ledger = self.estimator.ledger
        is_replanned = plan.composition == "sum" and self.first_release is None
        if is_replanned and not self.known_synthesis.is_recorded_in(ledger):
            # One entry would be valid only if rows and labels were fixed in one plan
            raise ValueError(
                "the parameters of fit_votes differ from those of poll, so the ledger must already "
                "have an entry for the synthetic rows: call poll with this ledger, or use the same "
                "parameters in fit_votes as in poll"
            )
        try:
            ledger.check(plan.spent, self.recorded_cost(plan), self._entry)
        except TypeError as error:
            raise TypeError(
                "ledger must have check(spent, cost, entry=None) and record(spent, cost, "
                f"entry=None), like ledger.PrivacyLedger; got {type(ledger).__name__}: "
                f"{error}"
            ) from error

    @property
    def _entry(self) -> Any:
        """Entry of the ledger with the steps that this fit has already published, or None."""
        if self.prefix is not None:
            return self.prefix.synthesis.entry_in(self.estimator.ledger)
        return None if self.first_release is None else self.first_release.entry

    def ledger_before(self) -> Any:
        """Return the total of earlier fits in the ledger, for a statement; None if it has none."""
        ledger = self.estimator.ledger
        return ledger.before(self._entry) if hasattr(ledger, "before") else None

    @contextmanager
    def phase(self, name: str, total: Any) -> Iterator[Callable[[int], None]]:
        """Yield a function that takes the number of finished steps, and prints it if `verbose`."""
        if not self.estimator.verbose:
            yield lambda number: None
            return
        out, start = sys.stdout, time.monotonic()  # `isolated` replaces sys.stdout

        def show(number: int) -> None:
            seconds = time.monotonic() - start
            took = f" in {seconds:.0f} s" if number == total else ""
            if 0 < number < total:
                took = f", {seconds * (total - number) / number:.0f} s left"
            # Spaces overwrite the end of a longer line
            print(f"\r{name} {number}/{total}{took}    ", end="", file=out, flush=True)

        show(0)
        try:
            yield show
        finally:
            out.write("\n")

    def make_strategy(self) -> Any:
        """Return a new query strategy, because a fit may change the state of a strategy."""
        return strategy_of(self.estimator)

    def student(self) -> Estimator:
        """Return the unfitted student."""
        return student_of(self.estimator, self.method)


def as_list(value: Any) -> list[Any]:
    """Return a list unchanged, and any other value as a list of one element."""
    return value if isinstance(value, list) else [value]


def temperature_of(estimator: Estimator, method: Method) -> float | None:
    """Return the temperature of the teachers' probabilities; None if they vote."""
    stages = as_list(method.release.mechanism(estimator, method))
    return getattr(soft_stage(stages), "temperature", None)


def strategy_of(estimator: Estimator) -> Any:
    """Return a new query strategy."""
    strategy = estimator.query_strategy
    return STRATEGIES[strategy]() if isinstance(strategy, str) else clone(strategy, safe=False)


def read_by(synthesizer: Any) -> tuple[str, ...]:
    """Return descriptions of results that a synthesizer read from private data without noise."""
    return tuple(getattr(synthesizer, "not_covered_", ()))


def check_inputs(
    estimator: Estimator,
    X: Rows,
    y: ArrayLike | None,
    X_public: Rows,
    groups: ArrayLike | None,
    sample_weight: ArrayLike | None,
    first_release: FirstRelease | None = None,
    earlier: Inputs | None = None,
) -> Inputs:
    """Check all inputs of `fit`, choose the method and prepare it; nothing is trained.

    Parameters
    ----------
    estimator : PATEClassifier or PATERegressor
        Estimator of the fit or, after the first release, a copy with the rest of epsilon and delta.
    X, y, X_public, groups, sample_weight
        As in `fit`; X may be `SiteRecords`, from `sites.records_of`.
    first_release : FirstRelease or None, default=None
        The release that finds the target, or counts records to choose the method; None without it.
    earlier : Inputs or None, default=None
        Inputs of this fit before its first release. The method uses their encoded public rows,
        and the plan their warnings about columns.

    Returns
    -------
    Inputs
    """
    checked = _cloned(estimator)
    if isinstance(X, Sites):
        _check_sites(estimator, X_public, y=y, groups=groups, sample_weight=sample_weight)
    check_not_swapped(X, y, X_public)
    form = X.form if isinstance(X, SiteRecords) else X
    synthesizer = synthesizers.declared_synthesizer(estimator, form, X_public)
    choice, method = _first_choice(estimator, X, synthesizer, groups, first_release)
    _check_parts(estimator, method)
    not_covered: tuple[str, ...] = (
        () if estimator._declared_target() is not None else (_READ_CLASSES,)
    )
    errors: tuple[str, ...] = ()
    warnings_of_columns: Callable[[], list[str]] | None = None
    if synthesizer is not None:
        X_public = dry_run_rows(synthesizer)
        not_covered += read_by(synthesizer)
    else:
        X_public, are_private = _checked_public(estimator, X_public, form)
        not_covered += are_private
        errors += (_NOT_PUBLIC,) if are_private else ()
        warnings_of_columns = cache(partial(useless_columns, X_public))
        if earlier is not None:
            warnings_of_columns = earlier.warnings_of_columns
    counts_records = method.release.releases_proba or synthesizer is not None
    # No comparison for columns that are read by value: `like` converts private rows later
    alike = None if getattr(synthesizer, "reads_by_value", False) else X_public
    is_found = first_release is not None and first_release.finds_target
    if isinstance(X, SiteRecords):
        not_covered += sites.not_covered_by(X)
        private = sites.check_data(checked, X, alike, is_found, synthesizer)
    else:
        private = checks.check_data(
            checked, X, y, alike, sample_weight, groups, counts_records, is_found
        )
    if private.target.n_targets > 1:
        checks.check_several(estimator, private.target, method, synthesizer)
        method.release.check_several(estimator, method, strategy_of(estimator))
    prefix = estimator._prefix if estimator.warm_start else None
    n_attempts = 0 if prefix is None else prefix.n_attempts
    seeds = seed_streams(estimator.random_state, estimator.secure, n_attempts=n_attempts)
    if earlier is not None and synthesizer is None:
        method.use_prepared(earlier.method)
    neighbors, n_teachers = prepared(estimator, method, private, X_public, seeds)
    if synthesizer is None:
        errors += (_ALL_EQUAL,) if are_all_equal(X_public) else ()
        if choice.name == "neighbors" and estimator.method == "auto":
            choice = _choice_by_rows(estimator, X, method, private, X_public, first_release)
        if choice.name != "neighbors" and type(method) is ReverseNeighbors:
            method = methods.make_method(estimator, choice, X)
            neighbors, n_teachers = prepared(estimator, method, private, X_public, seeds)
    _check_unit(estimator, neighbors)
    epsilon, delta = as_cap(estimator.epsilon, estimator.delta)
    releases = extra_releases.planned(
        estimator.releases, private, neighbors, epsilon=epsilon, delta=delta
    )
    synthesis = None
    if synthesizer is not None:
        pure = _are_pure(estimator, method, releases, neighbors)
        synthesis = Synthesis.planned(
            synthesizer, private, neighbors, pure=pure, epsilon=epsilon, delta=delta
        )
    return Inputs(
        estimator,
        X_public,
        private.target,
        neighbors,
        n_teachers,
        seeds,
        method,
        (epsilon, delta),
        choice,
        private=private,
        synthesis=synthesis,
        extra_releases=releases,
        are_synthetic=synthesis is not None,
        not_covered=not_covered,
        errors=errors,
        prefix=prefix,
        first_release=first_release,
        warnings_of_columns=warnings_of_columns,
    )


def _checked_public(estimator: Estimator, X_public: Rows, form: Rows) -> tuple[Rows, Any]:
    """Return the user's public rows in the form of private ones, and their `not_covered`."""
    are_private = warn_if_private(X_public, form)
    X_public = checks.like_array(form, checks.given_rows(X_public))
    if estimator.base_estimator is None and isinstance(estimator.method, str):
        _check_default_rows(X_public)
    return X_public, are_private


def _are_pure(
    estimator: Estimator, method: Method, releases: tuple[Any, ...], neighbors: Neighbors
) -> bool:
    """Return whether all releases but the synthetic rows have a pure epsilon, without delta."""
    are_pure = [stated_event(release, neighbors).is_pure for release in releases]
    mechanisms = as_list(method.release.mechanism(estimator, method))
    if not (method.release.releases_proba and all(are_pure)):
        return False
    return all(mechanism.is_pure for mechanism in mechanisms)


def _first_choice(
    estimator: Estimator,
    X: Rows,
    synthesizer: Any,
    groups: ArrayLike | None,
    first_release: FirstRelease | None,
) -> tuple[MethodChoice, Method]:
    """Return the choice of a method before the data are checked, and the method.

    With public rows, counts of the encoded rows may change the choice later. Without public rows,
    the choice is final.
    """
    if synthesizer is None:
        choice = methods.chosen(estimator, X)
        return choice, methods.make_method(estimator, choice, X)
    choice = methods.chosen(
        estimator,
        X,
        synthesizer=synthesizer,
        fraction=synthesizers.sums_fraction(synthesizer),
        counts=synthesizers.counts_of(estimator, synthesizer, X, groups, first_release),
    )
    method = methods.make_method(estimator, choice, X, has_public_rows=False)
    synthesizers.set_fraction(synthesizer, reads_sums=isinstance(method, PublishedClassSums))
    return choice, method


def _choice_by_rows(
    estimator: Estimator,
    X: Rows,
    method: Method,
    private: PrivateData,
    X_public: Rows,
    first_release: FirstRelease | None,
) -> MethodChoice:
    """Return the final choice of a method, by counts of the encoded public rows."""
    rarest_share = None if first_release is None else first_release.rarest_share
    counts = methods.counts_of_public(method, estimator, private, X_public, rarest_share)
    return methods.chosen(estimator, X, counts=counts)


def _cloned(estimator: Estimator) -> Estimator:
    """Clone an estimator; refuse a parameter that cannot be copied.

    Checks change only the clone, so a failed refit leaves the fitted estimator unchanged.
    """
    with contextlib.suppress(Exception):
        return clone(estimator)
    for name, value in estimator.get_params(deep=False).items():
        _, failed = attempt(partial(clone, value, safe=False))
        if failed is not None:
            raise TypeError(
                f"{name} cannot be copied ({failed}), but a fit copies all parameters. It must "
                "hold no locks, generators, open files or connections"
            )
    return clone(estimator)


def _check_sites(estimator: Estimator, X_public: Rows, **not_given: Any) -> None:
    """Refuse parameters that require private records where X is `Sites`."""
    draws_rows = estimator.schema is not None and X_public is None
    can_be_fitted = estimator.target_type in SITE_ENSEMBLES
    refused = {
        **{f"{name} must be None": value is not None for name, value in not_given.items()},
        f"method={estimator.method!r} cannot be used": estimator.method not in ("auto", "teachers"),
        "a synthesizer cannot draw rows": estimator.synthesizer is not None or draws_rows,
        "releases must be None": bool(estimator.releases),
        f"teachers of {type(estimator).__name__} cannot vote": not can_be_fitted,
        "classes=[all that may occur] must be given": (
            can_be_fitted and estimator._declared_target() is None
        ),
    }
    for what, is_so in refused.items():
        if is_so:
            raise ValueError(
                f"{what} when X is Sites, because teachers load the records of their sites: change "
                "this, or give X, y, partition='predefined' and groups, the site of each record"
            )


def check_votes_and_rows(estimator: Estimator, votes: Any, X_public: Rows) -> tuple[Inputs, Votes]:
    """Check all inputs of `fit_votes`: the votes and their public rows.

    Returns
    -------
    Inputs
    Votes
    """
    if estimator.releases:
        raise ValueError(
            "fit_votes has no private records, but releases require them: call fit, or set "
            "releases=None"
        )
    synthesis: Any = getattr(votes, "synthesis", None)
    if synthesis is not None:
        if not are_same_rows(public_rows(X_public), synthesis.rows):
            synthesizers.check_no_public(X_public)
        X_public = synthesis.rows
    if X_public is None:
        raise ValueError("X_public is missing: pass the rows that the votes are for")
    method = _method_of_votes(estimator, getattr(votes, "method", None), synthesis)
    method.release.check_votes(votes, method, is_given=estimator.method != "auto")
    _check_parts(estimator, method)
    X_public = checks.given_rows(X_public)
    checks.check_features(clone(estimator), X_public, "X_public", reset=True)
    is_default = estimator.base_estimator is None and isinstance(estimator.method, str)
    if is_default and estimator.student is None:
        _check_default_rows(X_public)
    temperature = temperature_of(estimator, method)
    votes = checks.check_votes_given(estimator, votes, X_public, temperature)
    _check_unit(estimator, votes.neighbors)
    if votes.method is not None:
        method = votes.method
        if isinstance(method, TableMethod):
            method.check_public(X_public)
    if votes.target.n_targets > 1:
        method.release.check_several(estimator, method, strategy_of(estimator))
    seeds = seed_streams(estimator.random_state, estimator.secure)
    inputs = Inputs(
        estimator,
        X_public,
        votes.target,
        votes.neighbors,
        votes.n_teachers,
        seeds,
        method,
        as_cap(estimator.epsilon, estimator.delta),
        MethodChoice("", "votes were given"),
        synthesis=synthesis,
        not_covered=votes.not_covered,
        errors=votes.errors,
    )
    return inputs, votes


def _method_of_votes(
    estimator: Estimator, voted: Method | None, synthesis: Synthesis | None
) -> Method:
    """Return the unprepared method for given votes.

    Parameters
    ----------
    estimator : PATEClassifier
        Estimator with the parameter `method`. If it is "auto", the votes determine the method.
    voted : Method or None
        The method that returned the votes; None if teachers voted.
    synthesis : Synthesis or None
        Source of the synthetic rows; None if the rows are public.
    """
    if estimator.method != "auto":
        return methods.make_method(estimator, has_public_rows=synthesis is None)
    if voted is None:
        return methods.make_method(estimator, MethodChoice("teachers", "votes were given"))
    if estimator.base_estimator is not None:
        raise ValueError(
            "base_estimator is the model of teachers, but records cast these votes: poll again, or "
            "leave base_estimator=None"
        )
    return clone(voted)


def prepared(
    estimator: Estimator,
    method: Method,
    private: PrivateData,
    X_public: Rows,
    seeds: dict[str, Any],
) -> tuple[Neighbors, int | None]:
    """Prepare a method; with `memory` and no `random_state`, cache the seed of the queries."""
    methods.number_teachers(method, estimator, private)
    memory = private_memory(estimator.memory)
    seed = seeds["partition"]
    if memory is not None and estimator.random_state is None:
        # The key has public rows only. With private data in the key, the published queries would
        # show whether the private data changed between two fits
        seeds["queries"] = cached_seed(memory, (digest(X_public), "queries"))
        seed = None  # then the method caches its seeds in `memory`, for the next fit
    return methods.prepared(method, private, X_public, seed=seed, memory=memory)


def _check_parts(estimator: Estimator, method: Method) -> None:
    """Check that method, aggregator, student and query strategy fit together."""
    methods.check_parameters(estimator, method)
    stages = as_list(method.release.mechanism(estimator, method))
    method.check(soft_aggregator=soft_stage(stages))
    student = student_of(estimator, method)
    estimator.target_type.check_predicts("student", student)
    for part in (*stages, strategy_of(estimator)):
        needs_proba = getattr(part, "uses_student_proba", False)
        if needs_proba and not has_method(student, "predict_proba"):
            raise ValueError(f"{part} needs a student with predict_proba; got {student!r}")


def _check_default_rows(X_public: Rows) -> None:
    """Refuse arrays that default methods and students do not accept."""
    try:
        check_array(X_public)
    except ValueError as error:
        raise ValueError(f"X_public: {error}") from None


def _check_unit(estimator: Estimator, neighbors: Neighbors) -> None:
    if estimator.unit == "group" and neighbors.unit != "group":
        raise ValueError(
            f"unit='group', but these votes protect one {neighbors.unit}; pass the argument groups "
            "to fit or poll: one identifier per record. Searches drop groups unless metadata "
            "routing is on. Pass groups to cross_validate in params, not as its parameter groups"
        )


def rows_digest(X_public: Rows) -> str:
    """Return a digest of at most 100 of the public rows, the same for all types of arrays."""
    seen = np.unique(np.linspace(0, _num_samples(X_public) - 1, _N_SEEN).astype(int))
    table = table_of(_safe_indexing(X_public, seen))
    if (table.dtypes == np.float64).all():
        table = table.astype(np.float32)  # equal after conversion to or from float32
    return hashlib.sha256(value_hashes(table).tobytes()).hexdigest()


def are_same_rows(X: Rows, other: Rows) -> bool:
    """Return whether two tables have the same type and equal rows."""
    return X is other or (type(X) is type(other) and table_of(X).equals(table_of(other)))


def check_labelled_rows(X_public: Rows, n_labelled: int, digest: str) -> None:
    """Refuse a wrong number of public rows, and warn if they differ from the rows of the fit.

    Parameters
    ----------
    X_public : array-like with n_public rows
        Public rows.
    n_labelled : int
        Number of rows in the fit.
    digest : str
        Digest of the rows in the fit, from `rows_digest`.
    """
    if _num_samples(X_public) != n_labelled:
        raise ValueError(
            f"X_public has {_num_samples(X_public)} rows, but labels were released for the "
            f"{n_labelled} rows given to fit; pass those rows again, in the same order"
        )
    if rows_digest(X_public) != digest:
        warn(
            "the values of X_public or their order differ from the rows given to fit. Labels are "
            "matched to rows by position: if the rows are not the same, the student learns wrong "
            "labels"
        )
