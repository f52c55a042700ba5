"""Who votes, and what draws public rows: by the parameters, or by default."""

import inspect
import math
from functools import singledispatch
from numbers import Integral

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.linear_model import LogisticRegression, RidgeCV
from sklearn.pipeline import make_pipeline

from .. import rules
from .._sklearn import _num_samples
from ..aggregators import TableMechanism
from ..column_sums import ColumnSums
from ..electorate import CellForecast, Electorate, TableElectorate
from ..isolation import Quiet, fresh_seed, is_ours, isolated, kind_of, seed_number, withheld
from ..neighbors import ReverseNeighbors
from ..neighbors.transform import LenientRowVectorizer
from ..partition import RandomPartition
from ..rdp import DEFAULT_ORDERS, Neighbors, gdp_mu
from ..rdp.checks import check_orders
from ..rdp.cost import no_cost
from ..releases import release_of
from ..releases.labels import handed_out
from ..releases.table import ABOUT_QUERIES
from ..synthesis import ClassSums, MarginalSynthesizer, Schema
from ..synthesis.released import SumsClassifier
from ..targets import ClassTarget, NumberTarget, Target
from ..teachers import RegressorEnsemble, SiteEnsemble, Sites, TeacherEnsemble

#: Parameters that say how teachers are made. Other electorates do not take them.
ABOUT_TEACHERS = dict.fromkeys(
    ("n_teachers", "partition", "keep_teachers", "timeout"), "says how teachers are made"
)


#: Of regressors that learn from few records, or from means that are mostly noise.
_PENALTIES = (1.0, 10.0, 100.0, 1e3, 1e4, 1e5)

#: The last step of default teachers, by the kind of target.
_MODELS: dict[type[Target], BaseEstimator] = {
    ClassTarget: LogisticRegression(max_iter=1000),
    NumberTarget: RidgeCV(_PENALTIES),
}

#: Teachers, by the kind of target: of private rows that are given, and of those that stay at sites.
_ENSEMBLES: dict[type[Target], type[TeacherEnsemble]] = {
    ClassTarget: TeacherEnsemble,
    NumberTarget: RegressorEnsemble,
}
SITE_ENSEMBLES: dict[type[Target], type[TeacherEnsemble]] = {ClassTarget: SiteEnsemble}


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
    if by_records or (by_records is None and not speaks_of_teachers(estimator)):
        return ReverseNeighbors()
    # Teachers are clones of it: it learns from few rows, of any kind
    return make_pipeline(LenientRowVectorizer(), clone(_MODELS[estimator.target_type]))


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
    chosen = voters(estimator, by_records=False if is_sites else by_records)
    if synthesizer is not None and isinstance(chosen, ColumnSums):
        raise ValueError(
            "ColumnSums needs public rows that are there before a fit; without any, leave "
            "base_estimator=None: class sums are released by the schema"
        )
    if isinstance(chosen, Electorate):
        is_same_type = chosen.target_type is estimator.target_type
        if not is_same_type and not release_of(chosen).gives_rates:
            raise ValueError(
                f"{type(chosen).__name__} votes for {chosen.target_type.noun}s: give "
                f"base_estimator a {estimator.target_type.predictor}, or let records vote, "
                "base_estimator=None"
            )
        return clone(chosen)
    ensemble_class = (SITE_ENSEMBLES if is_sites else _ENSEMBLES)[estimator.target_type]
    params = {name: getattr(estimator, name) for name in (*ABOUT_TEACHERS, "unit", "n_jobs")}
    return ensemble_class(chosen if isinstance(chosen, list) else [chosen], **params)


def enrol(electorate, private, X_public, *, seed, memory):
    """Return the neighboring data sets of an electorate, and its number of teachers.

    Nothing is trained yet.
    """
    if is_ours(electorate):
        neighbors = electorate.enrol(private, X_public, seed=seed, memory=memory)
        return neighbors, electorate.n_teachers_
    if release_of(electorate).gives_rates:
        raise ValueError(
            f"{type(electorate).__name__} is a TableElectorate of your own, or a subclass, and "
            "what its tables leave behind is not checked: use neighbors.ReverseNeighbors itself"
        )
    private, X_public = handed_out(private, X_public)
    # A user's electorate may print or warn of private values, and leave them in the process
    name = type(electorate).__name__

    def enrolled():
        neighbors = electorate.enrol(private, X_public, seed=seed, memory=memory)
        n_teachers = electorate.n_teachers_  # it may be a property, so it is read once, in here
        return neighbors, n_teachers, kind_of(np.asarray(n_teachers).dtype)

    with isolated(fresh_seed() if seed is None else seed_number(seed)):
        neighbors, n_teachers, kind = withheld(
            enrolled,
            f"enrol of {name} failed with",
            "To read the text, call enrol(private, X_public, seed=, memory=) yourself",
        )
    if not isinstance(neighbors, Neighbors):
        raise TypeError(
            f"enrol of {name} must return rdp.Neighbors(...), the neighboring data sets that the "
            "votes protect; got another type"
        )
    if neighbors.n_records not in (None, len(private.codes)):
        raise ValueError(
            f"Neighbors.n_records of {name} must be the number of private records, or None where "
            "the relation does not leave it public"
        )
    if not isinstance(n_teachers, Integral) or n_teachers < 1:
        raise ValueError(
            f"enrol of {name} must set n_teachers_, the number of votes on each row, a whole "
            f"number from 1; got {kind}"
        )
    return neighbors, int(n_teachers)  # short integers overflow


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
    target = private.target
    n_public, n_columns = electorate.public_shape
    if not hasattr(X_public, "columns"):  # sums have all columns of arrays, cells few components
        n_columns = max(n_columns, X_public[0].size)
    n_records = n_public if private.groups is not None else len(private.codes)
    sizes = {"n_records": n_records, "n_classes": target.n_values}
    noise_std = 2 * math.sqrt(1 - 1 / target.n_values) / gdp_mu(estimator.epsilon, estimator.delta)
    signal = rules.signal_of_sums(n_columns=n_columns, noise_std=noise_std, **sizes)
    tell_more, explained = _sums_tell_more(
        target, electorate, n_records=n_records, epsilon=estimator.epsilon, signal=signal
    )
    if not tell_more:
        return None
    columns = ColumnSums(bends=rules.bends_are_seen(signal=signal))
    columns.cells_explain = explained
    return columns


@singledispatch
def _sums_tell_more(target: Target, electorate, *, n_records, epsilon, signal):
    """Return whether sums are better for classes than cells, and the share that cells explain."""
    sizes = {"n_records": n_records, "n_classes": target.n_values}
    explained = electorate.forecast(noise_std=2 * math.sqrt(2) / epsilon, **sizes).explained
    told = {"explained": explained, "signal": signal}
    return rules.columns_tell_more(n_classes=target.n_values, **told), explained


@_sums_tell_more.register
def _(target: NumberTarget, electorate, *, n_records, epsilon, signal):
    """Return whether sums are better for numbers, whatever share cells explain."""
    return rules.sums_tell_more(n_records=n_records, epsilon=epsilon, signal=signal), None


def number_teachers(electorate, estimator, private):
    """Say how many teachers there are, where the parameters leave it to the rule."""
    is_dealt = type(electorate) in _ENSEMBLES.values()
    if not is_dealt or electorate.n_teachers is not None:
        return
    # Any other partition keeps the number of records private, or has a number of its own
    is_random = estimator.partition == "random" or type(estimator.partition) is RandomPartition
    is_public = is_random and private.groups is None
    electorate.n_teachers = rules.default_n_teachers(
        n_records=len(private.codes) if is_public else None,
        n_classes=private.target.n_values,
        epsilon=estimator.epsilon,
    )


def speaks_of_teachers(estimator):
    """Whether a parameter speaks of teachers, or of the questions that they are asked."""
    if _that_are_set(estimator, [*ABOUT_TEACHERS, *ABOUT_QUERIES]):
        return True
    return estimator.aggregator is not None and not isinstance(estimator.aggregator, TableMechanism)


def check_defaults(estimator, reason_by_name, electorate):
    """Refuse parameters that were set, each for its reason, if another electorate votes."""
    for name, default in _that_are_set(estimator, reason_by_name).items():
        voter = type(electorate).__name__
        raise ValueError(
            f"{name}={getattr(estimator, name)!r} {reason_by_name[name]}, and base_estimator is "
            f"another electorate, {voter}; leave {name} at its default, {default!r}"
        )


def _that_are_set(estimator, names):
    """Return the default of each of some parameters that has another value."""
    parameters = inspect.signature(type(estimator).__init__).parameters
    defaults = {name: parameters[name].default for name in names}
    return {name: d for name, d in defaults.items() if getattr(estimator, name) != d}


# --- nobody votes, where class sums say all ------------------------------------------------------


class NoTable(TableMechanism):
    """The mechanism of a table without cells, which costs nothing."""

    is_exact = True
    is_pure = True
    noise_std = 0.0

    def noisy(self, table, random_state=None):
        """Return the table, which is empty."""
        return table

    def cost(self, contribution, orders=DEFAULT_ORDERS):
        """Return no cost."""
        return no_cost(check_orders(orders))


class OnlySums(TableElectorate):
    """Records that cast no ballots: the synthesizer's sums have said it all."""

    mechanism = NoTable()
    released_as = ""

    def takes(self, mechanism):
        """Refuse any other mechanism."""
        return False

    def enrol(self, private, X_public, *, seed=None, memory=None):
        """Return the neighboring data sets, none of which differ in votes."""
        return self.neighbors(private)

    def contribution(self, neighbors):
        """Return that of one count; there are none."""
        return neighbors.counts(1)

    def divide(self, X_public, *, noise_std, n_records, n_classes, are_drawn=False):
        """Make no cells."""

    def forecast(self, *, noise_std, n_records, n_classes, are_drawn=False):
        """Say nothing: the synthesizer has said it."""
        return CellForecast(0, 0, None, (), ())

    def vote(self, private, X_query, *, temperature=None, seed=None, n_jobs=None, on_done=None):
        """Return a table without cells."""
        on_done(1)
        return np.zeros((0, private.target.n_values))

    def check_public(self, X_public):
        """Accept any rows: a synthesizer drew them."""

    def released(self, noisy, *, noise_std):
        """Return nothing: the sums take its place."""

    def read(self, table):
        """Return what the sums say; they are read instead."""
        raise NotImplementedError

    def default_student(self):
        """Return a classifier that is the discriminants."""
        return SumsClassifier()


# --- the synthesizer of a fit without public rows -------------------------------------------------


def declared_synthesizer(estimator, X, X_public, *, groups=None, may_be_all=True):
    """Return a clone of an estimator's synthesizer that knows the table's public schema, or None.

    Parameters
    ----------
    estimator : PATEClassifier
        Its synthesizer may be None.
    X : array-like with n_samples rows
        Private rows.
    X_public : array-like or None
        As given by the user: none where there is a synthesizer.
    groups : array-like or None, default=None
        As given by the user: with groups, the number of records is private.
    may_be_all : bool, default=True
        Whether it may spend all of epsilon, so that nobody votes.
    """
    if estimator.synthesizer is None and (estimator.schema is None or X_public is not None):
        return None
    if isinstance(estimator.synthesizer, type):
        name = estimator.synthesizer.__name__
        raise TypeError(f"synthesizer must be an instance, {name}(...); got the class")
    check_no_public(X_public)
    synthesizer = clone(ClassSums() if estimator.synthesizer is None else estimator.synthesizer)
    if estimator.schema is not None:
        _declare_columns(synthesizer, estimator.schema, X)
    asked = estimator.base_estimator is not None or estimator.aggregator is not None
    asked = asked or speaks_of_teachers(estimator)
    if not asked and _says_columns_alone(synthesizer):
        names = ("bounds", "categories", "missing", "n_rows")
        synthesizer = ClassSums(**{name: getattr(synthesizer, name) for name in names})
    if estimator.target_type.splits_votes and not is_ours(synthesizer):
        raise ValueError(
            f"{type(synthesizer).__name__} counts labels of classes, and those of "
            f"{type(estimator).__name__} are split: use ClassSums or MarginalSynthesizer"
        )
    _declare(synthesizer, X, estimator._declared_target())
    if isinstance(synthesizer, ClassSums):
        synthesizer.n_jobs = estimator.n_jobs
    if isinstance(synthesizer, ClassSums) and synthesizer.share is None:
        joins = getattr(estimator.base_estimator, "size_is_private", False)
        is_public = groups is None and estimator.partition == "random" and not joins
        synthesizer.share = rules.share_of_sums(
            n_records=_num_samples(X) if is_public else None,
            n_columns=len(synthesizer.schema_.columns),
            width=synthesizer.schema_.width,
            epsilon=estimator.epsilon,
            may_be_all=may_be_all and not asked and not estimator.releases,
        )
    return synthesizer


def _declare(synthesizer, X, target):
    """Let a synthesizer read the form of the table; one of the user's may print or quote rows."""
    if is_ours(synthesizer):
        synthesizer.declare(X, target)
        return
    with Quiet():
        withheld(
            lambda: synthesizer.declare(X, target),
            f"declare of {type(synthesizer).__name__} failed with",
            "Nothing was spent. To read the text, call declare(X, target) yourself",
        )


def _declare_columns(synthesizer, schema, X):
    """Let a synthesizer of the library know what the user declares of the columns."""
    schema = schema if isinstance(schema, Schema) else Schema(schema)
    name = type(synthesizer).__name__
    if not isinstance(synthesizer, ClassSums | MarginalSynthesizer):
        raise ValueError(f"schema is for synthesizers of this library, not for {name}")
    said = [p for p in ("bounds", "categories", "missing") if getattr(synthesizer, p) is not None]
    if said:
        raise ValueError(f"columns are declared once: by schema, or by {said[0]} of {name}")
    synthesizer.set_params(**schema.parameters(X))


def _says_columns_alone(synthesizer):
    """Whether a `MarginalSynthesizer` declares columns, and says nothing of its histograms."""
    if type(synthesizer) is not MarginalSynthesizer:
        return False
    said = synthesizer.get_params(deep=False)
    default = MarginalSynthesizer().get_params(deep=False)
    return all(said[name] == default[name] for name in ("n_bins", "share", "noise"))


def check_no_public(X_public):
    """Refuse public rows beside synthetic ones."""
    if X_public is not None:
        raise ValueError(
            "X_public and synthesizer are two ways to have public rows: give X_public, and "
            "synthesizer=None, or no X_public"
        )
