"""What a fit is given: all of it checked once, here, before anything is trained or paid for."""

import contextlib
import dataclasses
import hashlib
import sys
import threading
import time
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import clone

from .._sklearn import _num_samples, _safe_indexing, has_method
from ..accountant.pricing import as_cap, cost_of_all, soft_stage, stated_event
from ..electorate import Electorate, PrivateData
from ..exceptions import warn
from ..isolation import attempt
from ..memory import digest, kept_seed, private_memory
from ..neighbors.transform import check_array
from ..public import (
    are_all_equal,
    check_not_swapped,
    public_rows,
    table_of,
    value_hashes,
    warn_if_private,
)
from ..queries import DiversityQueries, RandomQueries, UncertaintyQueries
from ..rdp import Neighbors
from ..rdp.cost import no_cost
from ..releases import ahead, release_of
from ..releases.base import VotesRelease
from ..releases.prefix import Prefix
from ..releases.published import student_of
from ..releases.table import table_mechanism
from ..secure import SystemGenerator
from ..targets import Target
from ..teachers import Sites
from . import checks, voters

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


@dataclass(frozen=True, eq=False, repr=False)
class Given:
    """What a fit was given, after all checks.

    Attributes
    ----------
    estimator : PATEClassifier
        Its parameters say the rest.
    X_public : array-like with n_public rows
        All public rows.
    target : targets.Target
        Classes of the labels, or levels of the numbers.
    neighbors : Neighbors
        The neighboring data sets that the guarantee compares.
    n_teachers : int or None
        Number of teachers; None where records vote.
    seeds : dict
        A source of randomness for each use.
    electorate : Electorate
        Who votes, or has voted.
    release : VotesRelease
        What is published of the votes.
    private : PrivateData or None
        What the electorate votes by; None if the votes were given.
    synthesis : Synthesis or None
        Where the public rows come from, and their cost; None if the user gave them.
    beside : tuple of Release
        What the user publishes beside rows and labels, with its noise set.
    are_drawn : bool
        Whether this fit or search draws the public rows: they are less like private ones.
    not_covered : tuple of str
        What `privacy_spent_` will say of what was read from private data.
    obstacles : tuple of str
        Why nothing that may be published can be learnt.
    fit_number : int
        What `privacy_spent_` will say; 1 in a plan.
    prefix : Prefix or None
        Left by an interrupted fit of the estimator, with which this one goes on.
    """

    estimator: Any
    X_public: Any
    target: Target
    neighbors: Neighbors
    n_teachers: int | None
    seeds: dict
    electorate: Electorate
    release: VotesRelease
    private: PrivateData | None = None
    synthesis: ahead.Synthesis | None = None
    beside: tuple = ()
    are_drawn: bool = False
    not_covered: tuple = ()
    obstacles: tuple = ()
    fit_number: int = 1
    prefix: Prefix | None = None

    @property
    def n_public(self):
        """Number of public rows."""
        return _num_samples(self.X_public)

    @property
    def rows_are_to_draw(self):
        """Whether public rows are to be drawn, and paid for, before anyone votes."""
        return self.synthesis is not None and self.synthesis.rows is None

    @property
    def released_before(self):
        """What is released before the labels, and not by those who vote: a tuple of parts."""
        rows = () if self.synthesis is None else (self.synthesis.synthesizer,)
        return rows + self.beside

    @property
    def events_before(self):
        """The events of `released_before`."""
        return [stated_event(part, self.neighbors) for part in self.released_before]

    @property
    def cost_before(self):
        """What returns, for Renyi orders, the `Cost` of what is released before the labels."""
        parts = self.released_before
        return partial(cost_of_all, parts, self.neighbors) if parts else no_cost

    @property
    def is_pure_before(self):
        """Whether `cost_before` holds with delta 0."""
        return all(event.is_pure for event in self.events_before)

    @property
    def contribution(self):
        """Largest change of a table of records between neighboring data sets."""
        return self.electorate.contribution(self.neighbors)

    @property
    def temperature(self):
        """Temperature of the teachers' probabilities; None if they vote."""
        return temperature_of(self.estimator, self.release)

    def recorded_cost(self, plan):
        """Return the part of the cost that the ledger does not have in other entries.

        It leaves out synthetic rows that `poll` has drawn and recorded.
        """
        ledger = self.estimator.ledger
        if self.synthesis is None or not self.synthesis.is_recorded_in(ledger):
            return plan.cost
        return cost_of_all(self.beside, self.neighbors).plus(plan.own_cost)

    def check_ledger(self, plan):
        """Refuse a plan that the ledger does not pay for."""
        ledger = self.estimator.ledger
        entry = None if self.prefix is None else self.prefix.synthesis.entry_in(ledger)
        try:
            ledger.check(plan.spent, self.recorded_cost(plan), entry)
        except TypeError as error:
            raise TypeError(
                "ledger must have check(spent, cost, entry=None) and record(spent, cost, "
                f"entry=None), as ledger.PrivacyLedger has them; got {type(ledger).__name__}: "
                f"{error}"
            ) from error

    @contextmanager
    def phase(self, name, total):
        """Yield a function to call with the number of steps done; with `verbose`, it shows them."""
        if not self.estimator.verbose:
            yield lambda number: None
            return
        out, start = sys.stdout, time.monotonic()  # as it is now: teachers are silenced

        def show(number):
            seconds = time.monotonic() - start
            took = f" in {seconds:.0f} s" if number == total else ""
            if 0 < number < total:
                took = f", {seconds * (total - number) / number:.0f} s left"
            # Spaces wipe out a longer line
            print(f"\r{name} {number}/{total}{took}    ", end="", file=out, flush=True)

        show(0)
        try:
            yield show
        finally:
            out.write("\n")

    def make_strategy(self):
        """Return a new query strategy, which a fit may change."""
        return strategy_of(self.estimator)

    def student(self):
        """Return the unfitted student."""
        return student_of(self.estimator, self.electorate)


def as_list(given):
    """Return a list that was given as it is, and anything else as a list of one."""
    return given if isinstance(given, list) else [given]


def temperature_of(estimator, release):
    """Return the temperature of the teachers' probabilities; None if they vote."""
    return getattr(soft_stage(as_list(release.mechanism(estimator))), "temperature", None)


def strategy_of(estimator):
    """Return a new query strategy, as the parameters say."""
    given = estimator.query_strategy
    return STRATEGIES[given]() if isinstance(given, str) else clone(given, safe=False)


def read_by(synthesizer):
    """Return what a declared synthesizer has read of private data, which nothing covers."""
    return tuple(getattr(synthesizer, "not_covered_", ()))


def check_given(estimator, X, y, X_public, groups, sample_weight):
    """Check all that `fit` is given, and enrol the electorate; nothing is trained.

    Returns
    -------
    Given
    """
    checked = _cloned(estimator)
    if isinstance(X, Sites):
        _check_sites(estimator, X_public, y=y, groups=groups, sample_weight=sample_weight)
    check_not_swapped(X, y, X_public)
    synthesizer = voters.declared_synthesizer(estimator, X, X_public, groups=groups)
    electorate = voters.make_electorate(estimator, X, synthesizer=synthesizer)
    release = release_of(electorate)
    _check_parts(estimator, electorate, release)
    not_covered = () if estimator._declared_target() is not None else (_READ_CLASSES,)
    obstacles = ()
    if synthesizer is not None:
        X_public = ahead.rehearsal_rows(synthesizer)
        not_covered += read_by(synthesizer)
    else:
        are_private = warn_if_private(X_public, X)
        X_public = checks.like_array(X, checks.given_rows(X_public))
        if estimator.base_estimator is None:
            _check_default_rows(X_public)
        not_covered += are_private
        obstacles += (_NOT_PUBLIC,) if are_private else ()
    casts_ballots = release.gives_rates or synthesizer is not None
    private = checks.check_data(checked, X, y, X_public, sample_weight, groups, casts_ballots)
    prefix = estimator._prefix if estimator.warm_start else None
    n_attempts = 0 if prefix is None else prefix.n_attempts
    seeds = seed_streams(estimator.random_state, estimator.secure, n_attempts=n_attempts)
    neighbors, n_teachers = enrolled(estimator, electorate, private, X_public, seeds)
    if synthesizer is None:
        obstacles += (_ALL_EQUAL,) if are_all_equal(X_public) else ()
        columns = voters.with_columns(electorate, estimator, private, X_public)
        if columns is not None:
            electorate = columns
            neighbors, n_teachers = enrolled(estimator, electorate, private, X_public, seeds)
    _check_unit(estimator, neighbors)
    epsilon, delta = as_cap(estimator.epsilon, estimator.delta)
    cap = {"epsilon": epsilon, "delta": delta}
    beside = ahead.planned(estimator.releases, private, neighbors, **cap)
    synthesis = None
    if synthesizer is not None:
        are_pure = [stated_event(part, neighbors).is_pure for part in beside]
        pure = release.gives_rates and all(are_pure)
        pure = pure and table_mechanism(estimator.aggregator, electorate).is_pure
        synthesis = ahead.Synthesis.planned(synthesizer, private, neighbors, pure=pure, **cap)
    given = Given(
        estimator,
        X_public,
        private.target,
        neighbors,
        n_teachers,
        seeds,
        electorate,
        release,
    )
    told = {"not_covered": not_covered, "obstacles": obstacles, "are_drawn": synthesis is not None}
    told |= {"synthesis": synthesis, "beside": beside, "prefix": prefix}
    return dataclasses.replace(given, private=private, **told)


def _cloned(estimator):
    """Return a clone, as a refit that fails must not change what predict expects."""
    with contextlib.suppress(Exception):
        return clone(estimator)
    for name, value in estimator.get_params(deep=False).items():
        _, failed = attempt(partial(clone, value, safe=False))
        if failed is not None:
            raise TypeError(
                f"{name} cannot be copied, and a fit uses copies of its parts ({failed}): it must "
                "hold no classes in the place of estimators, no locks, open files or connections"
            )
    return clone(estimator)


def _check_sites(estimator, X_public, **not_given):
    """Refuse what needs the private records, where each teacher loads its own."""
    draws_rows = estimator.schema is not None and X_public is None
    can_be_fitted = estimator.target_type in voters.SITE_ENSEMBLES
    refused = {
        **{f"{name} must be None": value is not None for name, value in not_given.items()},
        "records cannot vote": release_of(estimator.base_estimator).gives_rates,
        "a synthesizer cannot draw rows": estimator.synthesizer is not None or draws_rows,
        "releases must be None": bool(estimator.releases),
        f"{type(estimator).__name__} cannot be fitted": not can_be_fitted,
        "classes=[all that may occur] must be given": (
            can_be_fitted and estimator._declared_target() is None
        ),
    }
    for what, is_so in refused.items():
        if is_so:
            raise ValueError(
                f"{what} when X is Sites, as each teacher loads the records of its site. Change "
                "that, or give X, y and groups=, the site of each, with partition='predefined'"
            )


def check_votes_and_rows(estimator, votes, X_public):
    """Check all that `fit_votes` is given, votes that were cast before.

    Returns
    -------
    Given
    Votes
    """
    if estimator.releases:
        raise ValueError("fit_votes has no private records: call fit, or give releases=None")
    synthesis = getattr(votes, "synthesis", None)
    if synthesis is not None:
        if not are_same_rows(public_rows(X_public), synthesis.rows):
            voters.check_no_public(X_public)
        X_public = synthesis.rows
    if X_public is None:
        raise ValueError("X_public is missing: the rows that were voted on")
    by_records = getattr(votes, "electorate", None) is not None
    electorate = voters.make_electorate(estimator, by_records=by_records)
    release = release_of(electorate)
    if by_records and not release.gives_rates:
        raise ValueError("records cast these votes: poll again, or leave base_estimator=None")
    release.check_votes(votes, electorate, is_given=estimator.base_estimator is not None)
    _check_parts(estimator, electorate, release)
    X_public = checks.given_rows(X_public)
    checks.check_features(clone(estimator), X_public, "X_public", reset=True)
    if estimator.base_estimator is None and estimator.student is None:
        _check_default_rows(X_public)
    temperature = temperature_of(estimator, release)
    votes = checks.check_votes_given(estimator, votes, X_public, temperature)
    _check_unit(estimator, votes.neighbors)
    if by_records:
        electorate = votes.electorate
        electorate.check_public(X_public)
    seeds = seed_streams(estimator.random_state, estimator.secure)
    given = Given(
        estimator,
        X_public,
        votes.target,
        votes.neighbors,
        votes.n_teachers,
        seeds,
        electorate,
        release,
    )
    told = {"not_covered": votes.not_covered, "obstacles": votes.obstacles}
    return dataclasses.replace(given, synthesis=synthesis, **told), votes


def enrolled(estimator, electorate, private, X_public, seeds):
    """Enrol an electorate with public rows; `seeds` gets what `memory` keeps of them."""
    voters.number_teachers(electorate, estimator, private)
    memory = private_memory(estimator.memory)
    seed = seeds["partition"]
    if memory is not None and estimator.random_state is None:
        # By the public rows alone: queries are published, and if they followed the private data,
        # they would show that these changed between two fits
        seeds["queries"] = kept_seed(memory, (digest(X_public), "queries"))
        seed = None  # so the electorate takes its seeds from `memory`, the same for the next fit
    return voters.enrol(electorate, private, X_public, seed=seed, memory=memory)


def _check_parts(estimator, electorate, release):
    """Check that electorate, aggregator, student and query strategy fit together."""
    refused = release.refused(estimator)
    if isinstance(estimator.base_estimator, Electorate):
        refused = voters.ABOUT_TEACHERS | refused
    voters.check_defaults(estimator, refused, electorate)
    stages = as_list(release.mechanism(estimator))
    electorate.check(soft_aggregator=soft_stage(stages))
    student = student_of(estimator, electorate)
    estimator.target_type.check_predicts("student", student)
    for part in (*stages, strategy_of(estimator)):
        needs_proba = getattr(part, "uses_student_proba", False)
        if needs_proba and not has_method(student, "predict_proba"):
            raise ValueError(f"{part} needs a student with predict_proba; got {student!r}")


def _check_default_rows(X_public):
    """Refuse arrays that default voters and students do not read, before one is trained."""
    try:
        check_array(X_public)
    except ValueError as error:
        raise ValueError(f"X_public: {error}") from None


def _check_unit(estimator, neighbors):
    if estimator.unit == "group" and neighbors.unit != "group":
        raise ValueError(
            f"unit='group', but these votes protect one {neighbors.unit}; to fit, or to poll, "
            "give groups=, one identifier per record. Searches and cross-validation drop groups "
            "unless metadata routing is on"
        )


def rows_digest(X_public):
    """Return what tells public rows from others, whatever type of array holds them."""
    seen = np.unique(np.linspace(0, _num_samples(X_public) - 1, _N_SEEN).astype(int))
    table = table_of(_safe_indexing(X_public, seen))
    if (table.dtypes == np.float64).all():
        table = table.astype(np.float32)  # which they may have been made of, or become
    return hashlib.sha256(value_hashes(table).tobytes()).hexdigest()


def are_same_rows(X, other):
    """Return whether two tables are equal in all rows; False where their types are not."""
    return X is other or (type(X) is type(other) and table_of(X).equals(table_of(other)))


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


# --- random numbers: one source per use, so none tells of another ---------------------------------


#: The place of a use decides its numbers. In another order, the same seed gives other fits.
_USES = (
    "partition",
    "queries",
    "teachers",
    "noise",
    "student",
    "test",
    "synthesis",
    "synthetic rows",
    "beside",
)

#: The uses that draw noise, which protects the votes.
_NOISE = ("noise", "test", "synthesis", "beside")

#: Set once this process has warned of a seed: tests set one in every fit.
_has_warned = threading.Event()


def warn_if_seeded(spent):
    """Warn, once in a process, of noise that follows from a `random_state`."""
    if spent.generator != "seed" or _has_warned.is_set():
        return
    _has_warned.set()
    warn(
        "random_state is set, so the noise follows from a seed: whoever knows or guesses it can "
        "subtract the noise. Use random_state=None for whatever you publish; else "
        "privacy_spent_.generator is 'seed'. This warning is given once in a process"
    )


#: First of the spawn keys of fits that go on with others: no use or teacher has it.
_GOES_ON = 2**31


def seed_streams(random_state, secure=False, *, n_attempts=0):
    """Return independent sources of randomness, a dict from use to source.

    Parameters
    ----------
    random_state, secure
        As in `PATEClassifier`.
    n_attempts : int, default=0
        Number of interrupted fits with which this one goes on: it must not draw their noise again.
    """
    if secure and random_state is not None:
        raise ValueError(
            "secure=True draws noise that no seed can repeat; give random_state=None, got "
            f"random_state={random_state!r}"
        )
    if random_state is None:
        streams = {use: np.random.SeedSequence() for use in _USES}
        return streams | {use: SystemGenerator() for use in _NOISE}
    root = seed_sequence(random_state)
    if n_attempts:
        root = np.random.SeedSequence(root.entropy, spawn_key=(_GOES_ON, n_attempts))
    children = root.spawn(len(_USES))
    return dict(zip(_USES, children, strict=True))


class _Unrelated(np.random.SeedSequence):
    """A source from the operating system, and so is each that it spawns.

    Children of an ordinary one tell of each other: whoever has the state of a generator, which its
    output gives away, can compute the entropy that it was seeded with.
    """

    def spawn(self, n_children):
        return [_Unrelated() for _ in range(n_children)]


def seed_sequence(random_state):
    """Return a `SeedSequence` that follows from a `random_state`; None draws from the system.

    With None, what it spawns is unrelated, too.
    """
    if random_state is None:
        return _Unrelated()
    if isinstance(random_state, np.random.RandomState):  # 128 bits of it
        random_state = random_state.randint(2**32, size=4, dtype=np.uint32).tolist()
    return np.random.SeedSequence(random_state)
