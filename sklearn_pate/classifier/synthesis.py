"""Public rows from a synthesizer: what they cost, rows to rehearse with, and the drawing."""

import contextlib
import dataclasses
import os
from typing import Any

import numpy as np
from joblib import Memory
from sklearn import get_config
from sklearn.base import clone

from .._sklearn import InvalidParameterError, _num_samples, _safe_indexing
from ..accountant import least_scale_of
from ..accountant.spent import text_rounded_up
from ..adjacency import Adjacency
from ..aggregators import TableMechanism
from ..aggregators.table import rehearse_table
from ..exceptions import BudgetExceededError, warn
from ..identifiers import spelled_identifiers
from ..isolation import Quiet, attempt, copied_data, without_index
from ..rdp import Cost
from ..rules import default_share, share_of_sums
from ..schema import difference
from ..synthesis import ClassSums, MarginalSynthesizer, Schema
from ..teachers import Sites
from ..teachers.one import Part, Settings, Task, fit_and_predict
from .drawn import note_drawn
from .mechanism import is_ours
from .voters import speaks_of_teachers

#: Changes of the data that the histograms of one unit are added or removed by.
_ONE_MOVE = (Adjacency.ADD_OR_REMOVE_RECORD_ALONE, Adjacency.ADD_OR_REMOVE_GROUP_ALONE)

#: Changes of the data under which each record is a unit, by itself or by its identifier.
_OF_RECORDS = (
    Adjacency.REPLACE_RECORD,
    Adjacency.ADD_OR_REMOVE_RECORD,
    Adjacency.ADD_OR_REMOVE_RECORD_ALONE,
)


@dataclasses.dataclass(frozen=True, eq=False)
class Synthesis:
    """What a synthesizer releases in one fit.

    Attributes
    ----------
    synthesizer : Synthesizer
        Declared, with its noise set.
    n_moved : int
        By how many units the change that the guarantee covers moves the data: 2 where one takes
        the place of another.
    units : ndarray of shape (n_samples,) or None
        The protected unit of each record, private; None where each is one by itself, and after
        the drawing.
    rows : array-like with n_rows rows or None
        What was drawn; None before.
    ledgers : list
        Those that have recorded the cost of the rows; one is added when it has.
    generator : str or None
        The source of their noise, as in `PrivacySpent`; None before the drawing.
    unit, adjacency : str
        What their cost protects, as in `PrivacySpent`.
    """

    synthesizer: Any
    n_moved: int
    units: Any = dataclasses.field(default=None, repr=False)
    rows: Any = None
    ledgers: list = dataclasses.field(default_factory=list, repr=False)
    generator: str | None = None
    unit: str = ""
    adjacency: str = ""

    @property
    def is_to_draw(self):
        """Whether the rows are still to be drawn."""
        return self.rows is None

    def note(self):
        """Remember what was drawn, once the rows are kept."""
        # Without a synthesizer of the user's, which may keep records that it saw
        own = dataclasses.replace(self, rows=None) if is_ours(self.synthesizer) else None
        note_drawn(self.rows, own)

    def tell(self):
        """Warn of what the drawing tells of the schema."""
        if is_ours(self.synthesizer):
            for text in getattr(self.synthesizer, "findings_", ()):
                warn(text)

    def without_data(self):
        """Return the same without anything private, for what is shown or kept."""
        return dataclasses.replace(self, units=None, rows=None, ledgers=[])

    @classmethod
    def planned(cls, synthesizer, private, ballots, *, pure, sizes, epsilon, delta):
        """Set the noise of a declared synthesizer, so that it costs its share of `epsilon`.

        Parameters
        ----------
        synthesizer : Synthesizer
            Declared.
        private : PrivateData
            The private data.
        ballots : Ballots or TableBallots
            They say which change of the data is covered.
        pure : bool
            Whether the votes cost a pure epsilon and nothing else.
        sizes : dict
            `n_columns` and `n_classes`.
        epsilon, delta : float
            The cap of the fit; epsilon may be None.
        """
        member = Adjacency.find(ballots.adjacency)
        if member is None:
            raise ValueError(
                f"adjacency {ballots.adjacency!r} is not one of adjacency.Adjacency, so what a "
                "synthesizer costs under it is not known; use another partition, or public rows"
            )
        n_moved = 1 if member in _ONE_MOVE else 2
        units = _units(private, ballots)
        synthesizer = synthesizer.suited_to(pure=pure)
        if synthesizer.with_scale(1.0) is not None:
            if epsilon is None:
                raise ValueError(
                    f"{type(synthesizer).__name__} is calibrated to its share of epsilon, and "
                    "epsilon is None; set epsilon, or the noise of the synthesizer, such as "
                    "noise=LaplaceMechanism(scale), in records"
                )
            epsilon = float(epsilon)  # a cost that is compared with a short float is rounded to it
            share = synthesizer.share
            if share is None:
                share = default_share()
            synthesizer = _calibrated(synthesizer, n_moved, share, epsilon, delta)
        protects = {"unit": ballots.unit, "adjacency": str(ballots.adjacency)}
        planned = cls(synthesizer, n_moved, units, **protects)
        spent, _ = planned.cost().epsilon(delta)
        is_all = synthesizer.share == 1
        if epsilon is not None and (spent > epsilon if is_all else spent >= epsilon):
            raise BudgetExceededError(
                f"{type(synthesizer).__name__} costs epsilon={spent:.4g}, which leaves nothing of "
                f"the cap epsilon={epsilon:g} for votes. Use more noise, or raise epsilon. Nothing "
                "was spent"
            )
        noise = getattr(synthesizer, "noise", None)
        if isinstance(noise, TableMechanism):
            rehearse_table(noise, n_changed=n_moved, n_classes=sizes["n_classes"])
        return planned

    def cost(self, *orders):
        """Return the `Cost` of the rows, at Renyi orders."""
        cost = self.synthesizer.cost(self.n_moved, *orders)
        if not isinstance(cost, Cost) or not _are_costs(cost):
            raise TypeError(
                f"cost of {type(self.synthesizer).__name__} must return a rdp.Cost of numbers that "
                "are at least 0; got another type, or other numbers"
            )
        return cost

    def drawn(self, private, noise, seed, *, generator):
        """Return the same with its rows, drawn from private data: this is what the cost pays for.

        Parameters
        ----------
        private : PrivateData
            The private data.
        noise : SeedSequence or BitGenerator
            Source of what protects the data.
        seed : SeedSequence
            Source of all else.
        generator : str
            What `noise` is, as in `PrivacySpent`.
        """
        synthesizer = self.synthesizer
        records = (private.X, private.codes, private.sample_weight, self.units)
        sources = {"noise": np.random.default_rng(noise), "rng": np.random.default_rng(seed)}

        def draw():
            X, codes, weight, groups = records
            given = {"sample_weight": weight, "groups": groups, "n_classes": len(private.classes)}
            return _bare(synthesizer.draw(X, codes, **given, **sources))

        with Quiet():
            if not is_ours(synthesizer):
                records = copied_data(records)  # what it writes into reaches nobody else
            rows, failed = attempt(draw)
        if failed is not None:
            raise ValueError(
                f"{type(synthesizer).__name__} could not draw rows: {failed}, whose text is "
                "withheld, as it may quote records. They are paid for"
            )
        _check_rows(synthesizer, rows)
        return dataclasses.replace(self, units=None, rows=rows, generator=generator)


def _are_costs(cost):
    numbers = np.array([*np.ravel(cost.rdp), cost.mu_squared, cost.pure, cost.delta], dtype=float)
    return bool((numbers >= 0).all())  # false for NaN, too


class PaidRows:
    """A block that draws rows: no error says that they cost nothing, and none loses them.

    Parameters
    ----------
    estimator : PATEClassifier or PrivateSearch
        What draws them.
    what : str, default=None
        What an error says is paid for; None are the rows, and the labels if they are.

    Attributes
    ----------
    spent : PrivacySpent or None
        What is paid for; None if nothing is, and errors are left as they are then.
    are_labels_paid : bool
        Whether that covers labels as well. Once their release begins, the estimator's
        `privacy_spent_` says so.
    synthesis : Synthesis or None
        What was drawn.
    """

    def __init__(self, estimator, what=None):
        self._estimator = estimator
        self._what = what
        self.spent = None
        self.are_labels_paid = False
        self.synthesis = None

    def __enter__(self):
        return self

    def __exit__(self, kind, error, traceback):
        if error is None or self.spent is None:
            return
        rows = None if self.synthesis is None else self.synthesis.rows
        has_begun = rows is not None and vars(self._estimator).get("X_synthetic_") is rows
        labels_too = has_begun or self.are_labels_paid
        what = "the rows that were drawn are paid for"
        if labels_too:
            what += ", and so are the labels"
        _say_paid(error, self._what or what)
        if getattr(error, "privacy_spent", None) is None:
            error.privacy_spent = self._estimator.privacy_spent_ if has_begun else self.spent
        if has_begun:
            return
        if rows is None:
            error.add_note(
                f"What was to be drawn of the private rows is paid for, epsilon="
                f"{text_rounded_up(self.spent.epsilon)}, and was not kept; a new fit pays anew"
            )
            return
        # What an earlier fit left would not go with them
        for name in [name for name in vars(self._estimator) if name.endswith("_")]:
            delattr(self._estimator, name)
        self._estimator.X_synthetic_ = rows
        self.synthesis.note()
        labels = " and labels, which were not released," if self.are_labels_paid else ""
        epsilon = text_rounded_up(self.spent.epsilon)
        error.add_note(
            f"The rows that were drawn are X_synthetic_, and public. They{labels} cost epsilon="
            f"{epsilon}, see privacy_spent of this error. With synthesizer=None, fit(X, y, "
            "X_public=X_synthetic_) uses them again; its privacy_spent_ says whether it covers them"
        )


def weakest(generator, synthesis):
    """Return the weaker source of noise: of the votes, or of the rows that were drawn."""
    sources = [generator] if synthesis is None else [generator, synthesis.generator]
    return "seed" if "seed" in sources else "system"


def _say_paid(error, what):
    """Let the text of an error say what is paid for, if it says that nothing was spent."""
    capital = what[0].upper() + what[1:]
    error.args = tuple(
        part.replace("Nothing was spent", capital).replace("nothing was spent", what)
        if isinstance(part, str)
        else part
        for part in error.args
    )


def has_room(ledger, costs):
    """Whether a ledger has room for costs one after the other; True if it does not say."""
    return getattr(ledger, "has_room", lambda costs: True)(costs)


def _calibrated(synthesizer, n_moved, share, epsilon, delta):
    """Return a synthesizer with the noise that costs its share of `epsilon`."""
    calibrated = None
    with contextlib.suppress(InvalidParameterError):  # it names the noise, which nobody gave
        scale = least_scale_of(synthesizer, n_moved, share * epsilon, delta)
        calibrated = synthesizer.with_scale(scale)
        calibrated.cost(n_moved)
    if calibrated is None:
        raise BudgetExceededError(
            f"epsilon={epsilon:g} pays for no rows: there is no noise so large, or so small, that "
            f"{type(synthesizer).__name__} costs its share, {share * epsilon:.3g}. Choose an "
            "epsilon nearer to 1. Nothing was spent"
        )
    return calibrated


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
    if isinstance(X, Sites):
        raise ValueError(
            "synthesizer needs the private rows, and with Sites each teacher loads its own; give "
            "X_public"
        )
    synthesizer = clone(ClassSums() if estimator.synthesizer is None else estimator.synthesizer)
    if estimator.schema is not None:
        _declare_columns(synthesizer, estimator.schema, X)
    synthesizer.declare(X, estimator.classes)
    if isinstance(synthesizer, ClassSums) and synthesizer.share is None:
        is_public = groups is None and not _may_join(estimator)
        asked = estimator.base_estimator is not None or estimator.aggregator is not None
        asked = asked or speaks_of_teachers(estimator)
        synthesizer.share = share_of_sums(
            n_records=_num_samples(X) if is_public else None,
            n_columns=len(synthesizer.schema_.columns),
            width=synthesizer.schema_.width,
            epsilon=estimator.epsilon,
            may_be_all=may_be_all and not asked,
        )
    return synthesizer


def _declare_columns(synthesizer, schema, X):
    """Let a synthesizer of the library know what the user declares of the columns."""
    schema = schema if isinstance(schema, Schema) else Schema(schema)
    name = type(synthesizer).__name__
    if not isinstance(synthesizer, ClassSums | MarginalSynthesizer):
        raise ValueError(
            f"schema declares columns for synthesizers of this library, not for {name}"
        )
    said = [p for p in ("bounds", "categories", "missing") if getattr(synthesizer, p) is not None]
    if said:
        raise ValueError(
            f"columns are declared once: schema was given, and {said[0]} of {name} as well"
        )
    synthesizer.set_params(**schema.parameters(X))


def _may_join(estimator):
    """Whether the number of records may be private."""
    return estimator.partition != "random" or getattr(estimator.base_estimator, "may_join", False)


def check_no_public(X_public):
    """Refuse public rows beside synthetic ones."""
    if X_public is not None:
        raise ValueError(
            "X_public and synthesizer are two ways to have public rows: give X_public, and "
            "synthesizer=None, or no X_public. Nothing was spent"
        )


def _bare(rows):
    """Return rows without what a table may carry beside them."""
    return np.array(rows) if isinstance(rows, np.ndarray | list | tuple) else without_index(rows)


def _check_rows(synthesizer, rows):
    """Refuse rows that are not as those to rehearse with."""
    expected = rehearsal_rows(synthesizer)
    if np.shape(rows) != np.shape(expected) or difference(rows, expected) is not None:
        raise ValueError(
            f"draw of {type(synthesizer).__name__} must return n_rows={synthesizer.n_rows} rows "
            "with the columns and dtypes of rehearsal_rows; got others. They are paid for"
        )


def rehearsal_rows(synthesizer):
    """Return rows drawn from the schema alone, in place of those that will be."""
    return synthesizer.rehearsal_rows(synthesizer.n_rows, np.random.default_rng(0))


def rehearse_teachers(task, synthesizer, *, temperature):
    """Try the teachers on rows drawn from the schema alone, before rows are paid for.

    Parameters
    ----------
    task : _Task
        Of a fit whose rows are to be drawn.
    synthesizer : Synthesizer
        Declared.
    temperature : float or None
        Of probabilities; None for votes.
    """
    n_classes = len(task.classes)
    n_train = 500
    if task.ballots.n_records is not None and not task.is_table:
        n_train = min(n_train, task.ballots.n_records // task.ballots.n_teachers)
    n_train = max(n_train, 20, 2 * n_classes)  # fewer might be of one class, which is not learnt
    rows = synthesizer.rehearsal_rows(n_train + 500, np.random.default_rng(0))
    part = Part(_safe_indexing(rows, np.arange(n_train)), np.arange(n_train) % n_classes)
    asked = _safe_indexing(rows, np.arange(n_train, _num_samples(rows)))
    settings = Settings(n_classes, temperature, False, None, get_config(), None, os.getpid())
    classifiers = task.electorate.classifiers() if is_ours(task.electorate) else []
    for classifier in classifiers:
        try:
            fit_and_predict(Task(0, classifier, part, asked, 0, settings, Memory(None), ()))
        except Exception as error:
            raise ValueError(
                "base_estimator failed when tried on made-up rows and labels; nothing was spent. "
                "A teacher gets few rows, and votes on drawn ones: whatever the synthesizer may "
                "draw, such as missing values and categories that none of its records has, it "
                f"must take (OneHotEncoder(handle_unknown='ignore')). {type(error).__name__}: "
                f"{error}"
            ) from error


def _units(private, ballots):
    """Return the protected unit of each record; None where each is one by itself.

    All records of a unit count once in each histogram. So they must be known.
    """
    adjacency = str(ballots.adjacency)
    if ballots.unit == "teacher" or adjacency == Adjacency.CHANGE_TEACHER:
        raise ValueError(
            f"adjacency {adjacency!r} protects the votes of one teacher, and a synthesizer must "
            "know whose records count together: state an adjacency of records or groups, or give "
            "public rows. Nothing was spent"
        )
    if ballots.unit == "record" and adjacency in _OF_RECORDS:
        has_index = hasattr(private.X, "index")
        if adjacency == Adjacency.ADD_OR_REMOVE_RECORD and has_index:
            return spelled_identifiers(private.X.index, "the index of X")
        return None
    if private.groups is None:
        raise ValueError(
            f"adjacency {adjacency!r} protects groups of records, and groups= is None: a "
            "synthesizer must know which records count together. Give groups=, one identifier per "
            "record. Nothing was spent"
        )
    units = spelled_identifiers(private.groups, "groups")
    if units.shape != private.codes.shape:
        raise ValueError(
            f"groups must have one identifier for each of {len(private.codes)} records; got "
            f"{len(units)}. Nothing was spent"
        )
    return units
