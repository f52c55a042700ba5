"""Run of a fit: each step is gathered, then paid for, and then published."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import clone

from .._numbers import shown
from ..accounting import Plan
from ..accounting.plan import spent_of
from ..encoding.dtypes import RowForm
from ..encoding.schema import Schema
from ..exceptions import BudgetExceededError, PrivacyTestError, warn
from ..rdp import records
from ..releases import extra_releases
from ..releases.base import Step
from ..releases.prefix import Prefix, can_go_on, fixed_by
from ..releases.published import Published, published_of, warn_of_budget, warn_of_release
from ..releases.synthetic_rows import at_one_site, steps_of_rows
from ..releases.votes import Votes
from ..report.formats import text_rounded_up
from ..runtime.isolation import attempt, is_ours, suppress_output
from ..students import fit_student
from . import planning
from .checks import check_features, given_rows
from .first_release import limit_of
from .guarantees import prior_records
from .inputs import Inputs, prepared, rows_digest

if TYPE_CHECKING:
    from .._typing import Estimator
    from ..accounting.spent import PrivacySpent
    from ..ledger.ledger import PrivacyLedger
    from ..rdp.cost import Cost
    from ..releases.synthetic_rows import Synthesis


@dataclass(eq=False)
class Run:
    """The state of a fit while it runs.

    Attributes
    ----------
    inputs : Inputs
        Inputs of the fit. When synthetic rows are published, they replace the made-up rows.
    plan : Plan
        Plan of the fit. None in `poll` if teachers vote on given public rows.
    account : Account
        Records the cost of each step before its noise is drawn.
    votes : Votes or None
        Votes from an earlier `poll`, on all public rows.
    published : Published or None
        Published labels; None before they are paid for.
    """

    inputs: Inputs
    plan: Plan
    account: Account
    votes: Votes | None = None
    published: Published = None  # type: ignore[assignment] # until it is made


def fit(inputs: Inputs, account: Account, votes: Votes | None = None) -> None:
    """Publish the releases of a fit, step by step, and train its student on them.

    Parameters
    ----------
    inputs : Inputs
        Inputs of the fit. The published results are set on `inputs.estimator`.
    account : Account
        Records the cost of each step before its noise is drawn.
    votes : Votes or None, default=None
        Votes from an earlier `poll`, on all public rows.
    """
    plan = planning.accepted(planning.make_plan(inputs), inputs.estimator)
    run = Run(inputs, plan, account, votes)
    if inputs.first_release is None:
        account.whole = inputs.recorded_cost(plan)
    elif inputs.prefix is not None:  # the ledger may be another one, without the first release
        account.whole = limit_of(plan, inputs)
    for step in steps(run):
        step.take()  # gathers the statistic, pays for it, publishes it
    _learn(run)


def steps(run: Run) -> Iterator[Step]:
    """Yield the steps of a fit: the synthesizer's, if rows must be drawn, then the labels.

    A step may depend on the published results of earlier steps.
    """
    if run.inputs.rows_are_to_draw:
        run.inputs.release.rows(run.inputs, run.plan)  # raises errors before rows are paid for
    yield from _steps_of_rows(run)
    yield _LabelsStep(run)


def poll(inputs: Inputs, account: Account) -> Votes:
    """Return the votes on all public rows; if there are none, publish synthetic rows first.

    Returns
    -------
    Votes

    Raises
    ------
    BadPlanError
        If rows must be drawn, the plan has errors, and `on_bad_plan` is "raise".
    BudgetExceededError
        If the plan exceeds `epsilon` or the budget of the ledger.
    ValueError
        If the estimator has `releases`, or for the reasons in `planning.make_plan`.
    """
    if inputs.estimator.releases:
        raise ValueError("poll collects votes only: call fit, or set releases=None")
    plan: Any = None
    if inputs.rows_are_to_draw:  # `fit_votes` would refuse the plan after rows are paid for
        plan = planning.accepted(planning.make_plan(inputs), inputs.estimator)
    elif inputs.release.releases_proba:  # the table's layout depends on the noise
        plan = planning.forecast(inputs, planning.spending_plan(inputs))
        planning.warn_of_plan(plan, inputs.estimator.epsilon)
    run = Run(inputs, plan, account)
    if inputs.rows_are_to_draw and inputs.first_release is None:
        rows = inputs.known_synthesis
        account.whole = rows.cost_of_steps(rows.synthesizer.n_steps)
    for step in _steps_of_rows(run):
        step.take()
    votes = inputs.release.gather(run.inputs, plan, np.arange(run.inputs.n_public))
    synthesis = run.inputs.synthesis
    if synthesis is not None:
        synthesis = dataclasses.replace(synthesis, fixed=fixed_by(inputs, plan))
    return dataclasses.replace(
        votes,
        synthesis=synthesis,
        not_covered=inputs.not_covered,
        errors=inputs.errors,
    )


# --- synthetic rows -------------------------------------------------------------------------------


def _steps_of_rows(run: Run) -> Iterator[Step]:
    """Yield the synthesizer's remaining steps, then draw its rows, at no privacy cost."""
    inputs, account = run.inputs, run.account
    if not inputs.rows_are_to_draw:
        return
    estimator = inputs.estimator
    account.begin(inputs, run.plan)
    noise = np.random.default_rng(inputs.seeds["synthesis"])
    rng = np.random.default_rng(inputs.seeds["synthetic rows"])
    yield from steps_of_rows(
        account,
        inputs.records,
        noise,
        generator=planning.source_of_noise(estimator),
        statement=partial(_statement_of_rows, run),
        phase=inputs.phase,
    )
    if account.synthesis.rows is None:
        account.keep(account.synthesis.with_rows(rng))
    X_public = given_rows(account.synthesis.rows)
    private = inputs.records
    if private.at_sites is not None:
        like = at_one_site(account.synthesis.synthesizer).like
        at_sites = private.at_sites.with_readers(like=like)
        private = dataclasses.replace(private, at_sites=at_sites)
    elif is_ours(account.synthesis.synthesizer) and (
        inputs.release.reads_records or inputs.extra_releases
    ):  # converted rows may take more memory than a mapped file
        with suppress_output():
            rows, failed = attempt(partial(account.synthesis.synthesizer.like, private.X))
        if failed is not None:
            raise ValueError(
                "the private rows could not be converted to the form of the synthetic rows: "
                f"{failed}"
            )
        private = dataclasses.replace(private, X=rows)
    seeds = dict(inputs.seeds)
    method = clone(inputs.method)
    prepared(estimator, method, private, X_public, seeds)
    run.inputs = dataclasses.replace(
        inputs,
        synthesis=account.synthesis,
        X_public=X_public,
        method=method,
        seeds=seeds,
        private=private,
    )


def _statement_of_rows(run: Run, n_steps: int, cost: Cost) -> PrivacySpent:
    """Return the privacy statement of the first `n_steps` of a synthesizer."""
    inputs = run.inputs
    is_last = n_steps == inputs.known_synthesis.synthesizer.n_steps
    epsilon, composition = cost.epsilon(inputs.estimator.delta)
    part = records.composition(
        prior_records(inputs, n_steps), cost, epsilon=epsilon, delta=float(inputs.estimator.delta)
    )
    plan = Plan([], epsilon, composition, cost, guarantee=part)
    if inputs.first_release is not None:
        plan = inputs.first_release.added_to(plan, inputs.cap, inputs.choice)
    spent = planning.spent_by(plan, inputs).paid()
    return dataclasses.replace(
        spent,
        covers="rows" if is_last else "statistics",
        n_synthetic=spent.n_synthetic if is_last else 0,
        extra_releases=(),
    )


# --- labels, and extra releases of the user -------------------------------------------------------


class _LabelsStep(Step):
    """Step that releases the labels and the user's `releases`, which are paid for together."""

    def __init__(self, run: Run) -> None:
        self.run = run

    def gather(self) -> Any:
        """Return the votes, and the private statistics of the user's releases."""
        inputs, plan = self.run.inputs, self.run.plan
        self._rows = inputs.release.rows(inputs, plan)
        self._tried, statistics = [], []
        self._rng = np.random.default_rng(inputs.seeds["extra releases"])
        if inputs.extra_releases:
            releases, private = inputs.extra_releases, inputs.records
            self._tried = extra_releases.dry_run(releases, inputs.X_public, private)
            statistics = extra_releases.gather(releases, private, inputs.neighbors, self._rng)
        if self.run.votes is None:
            votes = inputs.release.gather(inputs, plan, self._rows)
        else:
            votes = inputs.release.of_rows(self.run.votes, self._rows)
        self._digest = rows_digest(inputs.X_public)  # raises errors before labels are paid for
        return votes, statistics

    def pay(self) -> None:
        """Record the cost of all steps."""
        inputs, plan = self.run.inputs, self.run.plan
        recorded = inputs.recorded_cost(plan)
        spent = spent_of(plan)
        self.run.account.append(spent.paid(), plan.cost, recorded=recorded, is_all=True)
        if inputs.synthesis is not None and inputs.estimator.ledger is not None:
            inputs.synthesis.ledgers.append(inputs.estimator.ledger)

    def publish(self, gathered: Any) -> None:
        """Run the private test, if any, draw the noise, and set the results on the estimator.

        Results that are already published are kept if a later release fails.
        """
        run, (votes, statistics) = self.run, gathered
        inputs, plan, estimator = run.inputs, run.plan, run.inputs.estimator
        _run_private_test(plan, votes, inputs.seeds["test"])
        spent = spent_of(plan)
        published = published_of(spent.paid(), estimator, inputs.n_public, inputs.target)
        forget(estimator)
        published.show(estimator)
        run.account.has_begun = True
        run.published = published
        estimator._queried_rows_digest = self._digest
        _show_public_attributes(inputs, plan)
        noise = np.random.default_rng(inputs.seeds["noise"])
        try:
            for result in extra_releases.publish(
                inputs.extra_releases, statistics, self._rng, self._tried
            ):
                published.extra_releases.append(result)
            inputs.release.publish(inputs, plan, self._rows, votes, published, noise)
        finally:
            published.show(estimator)
            estimator.curator_ = inputs.release.curator(published, votes, plan, estimator.delta)


def _run_private_test(plan: Plan, votes: Votes, seed: Any) -> None:
    """Raise `PrivacyTestError` if the plan has a private test and the votes do not pass it."""
    if plan.test is None:
        return
    with suppress_output():
        passed = plan.test.passes(votes.counts, np.random.default_rng(seed))
    if not passed:
        raise PrivacyTestError(
            "the votes did not pass the private test of accounting='ptr': the labels may cost "
            "more than the test allows. No label was released, only the outcome of the test. Use "
            "fewer queries, more noise, a larger epsilon, or accounting='data_independent'",
            spent_of(plan).paid(),
        )


def _show_public_attributes(inputs: Inputs, plan: Plan) -> None:
    """Set the fitted attributes that do not depend on the votes."""
    estimator = inputs.estimator
    if inputs.synthesis is not None:
        estimator.X_synthetic_ = inputs.synthesis.rows
    # Copies, because mechanisms in the plan get the votes and may store them
    mechanisms = [clone(aggregator) for aggregator, _ in plan.stages]
    is_list = isinstance(estimator.aggregator, list)
    if mechanisms:
        estimator.aggregator_ = mechanisms if is_list else mechanisms[0]
    setattr(estimator, inputs.target.fitted_attribute, inputs.target.values)
    spent = spent_of(plan)
    if spent.n_teachers is not None:
        estimator.n_teachers_ = spent.n_teachers
    check_features(estimator, inputs.X_public, "X_public", reset=True)  # equal to the features of X
    estimator._form = RowForm.of(inputs.X_public)
    columns = None if inputs.synthesis is None else inputs.synthesis.columns
    if columns is not None:
        declared, missing = columns.declaration()
        estimator.schema_ = Schema(declared, missing=missing)
        if columns.by_value:
            estimator._form = estimator._form._replace(by_value=columns)


def _learn(run: Run) -> None:
    """Train the student on public rows and published results."""
    inputs = run.inputs
    with inputs.phase("student", 1) as done:
        student = run.published.student(inputs.estimator, inputs.method)
        seed = inputs.seeds["student"]
        inputs.estimator.student_ = fit_student(student, inputs.X_public, run.published, seed)
        done(1)
    warn_of_budget(run.plan, run.published)
    for part in run.published.parts:
        warn_of_release(run.plan, part, inputs.X_public)
    synthesizer = getattr(inputs.synthesis, "synthesizer", None)
    not_found = getattr(synthesizer, "not_found_", [])
    was_warned = synthesizer is not None and synthesizer.schema_warning() is not None
    if not_found and not was_warned:
        warn(
            f"the noise of the estimated schema hides the values of columns {shown(not_found)}: "
            "declare them, schema={column: (low, high) or [values]}, which costs no epsilon"
        )
    far = getattr(synthesizer, "far_from_zero_", [])
    if far:
        warn(
            f"few intervals were found for columns {shown(far)}, because their numbers are far "
            "from zero compared with their range: subtract a public number, for example the first "
            "date, or declare bounds, schema={column: (low, high)}"
        )


# --- the account of a fit, and the published results of one that failed ---------------------------


#: Start of each note on an error. The note of an outer block replaces the note of an inner block.
_PRIVACY = "Privacy: "


class Account:
    """Costs that a fit has recorded so far, in one entry of the ledger.

    Parameters
    ----------
    ledger : PrivacyLedger or None
        Ledger of the fit, or an object with the methods ``check(spent, cost, entry=None)`` and
        ``record(spent, cost, entry=None)``.
    estimator : PATEClassifier or None, default=None
        Estimator that stores the `Prefix` for a later fit. It is stored before noise is drawn.

    Attributes
    ----------
    spent : PrivacySpent or None
        Statement of the steps that were recorded, or whose recording was interrupted; None if
        there are no such steps.
    entry : object
        Entry that the ledger returned; None before the first, and without a ledger.
    synthesis : Synthesis or None
        Published steps of the synthesizer and its rows; None if the fit draws no rows.
    first_release : FirstRelease or None
        The release of the target, once it is published; None if the target is declared.
    whole : Cost or None
        Cost of the whole fit or search, or of all synthetic rows in `poll`, if it was fixed before
        the first release and this release is recorded by itself. A ledger fixes its rule by it.
    is_all_paid : bool
        Whether the labels are paid for. The next fit can then not continue this one.
    has_begun : bool
        Whether the estimator's attributes hold results of this fit instead of an earlier fit.
    """

    def __init__(self, ledger: PrivacyLedger | None, estimator: Estimator = None) -> None:
        self.ledger = ledger
        self.estimator = estimator
        self.spent: Any = None
        self.entry: Any = None
        self.synthesis: Any = None
        self.first_release: Any = None
        self.whole: Cost | None = None
        self.is_all_paid = False
        self.has_begun = False
        self._fixed: Any = None
        self._n_attempts = 1

    @property
    def entries(self) -> tuple[Any, ...]:
        """The pair of ledger and entry in a tuple, as in `Synthesis`; empty without an entry."""
        return () if self.entry is None else ((self.ledger, self.entry),)

    @property
    def can_go_on(self) -> bool:
        """Whether the next fit can continue after the published steps of this fit."""
        is_open = self._fixed is not None and not self.is_all_paid
        return is_open and can_go_on(self.synthesis)

    def begin(self, inputs: Inputs, plan: Plan) -> None:
        """Begin the steps of a synthesizer, or continue after its published steps."""
        self._fixed = fixed_by(inputs, plan)
        self.synthesis = inputs.synthesis
        if inputs.prefix is not None:
            self._n_attempts = inputs.prefix.n_attempts + 1
            self.synthesis = inputs.prefix.continued(inputs.known_synthesis)
            self.entry = self.synthesis.entry_in(self.ledger)

    def check(self, spent: PrivacySpent, cost: Cost) -> None:
        """Refuse a cost that exceeds the budget of the ledger; record nothing."""
        if self.ledger is not None:
            self.ledger.check(spent, cost)

    def append(
        self, spent: PrivacySpent, cost: Cost, *, recorded: Cost | None = None, is_all: bool = False
    ) -> None:
        """Record the cost of all steps up to and including the next, before its noise is drawn.

        Parameters
        ----------
        spent : PrivacySpent
            Statement of these steps.
        cost : rdp.Cost
            Cost of these steps together, without the release of the target.
        recorded : rdp.Cost, default=None
            The part of `cost` that other entries of the ledger lack, to record in a new entry.
            None records `cost`. Not used if the fit already has an entry.
        is_all : bool, default=False
            Whether these are all steps of the fit, not only steps of a synthesizer.
        """
        if self.estimator is not None:
            self.estimator._seed_used = True  # once noise is drawn, pickles omit the seed
        if self.first_release is not None:
            cost = self.first_release.recorded_with(cost, spent)
        before = self.spent, self.is_all_paid
        prefix_before = getattr(self.estimator, "_prefix", None)
        # Set first, because an interrupted call of `record` may have recorded the cost
        self.spent, self.is_all_paid = spent, is_all
        self.leave()
        if self.ledger is None:
            return
        try:
            recorded = cost if recorded is None or self.entry is not None else recorded
            if self.whole is not None and self.entry is None and not is_all:
                recorded = dataclasses.replace(recorded, whole=self.whole)
            self.entry = self.ledger.record(spent, recorded, self.entry)
        except (BudgetExceededError, ValueError):
            self.spent, self.is_all_paid = before
            self._set_prefix(prefix_before)
            raise
        self.leave()

    def keep(self, synthesis: Synthesis) -> None:
        """Store a `Synthesis` with a new published step, so that it is kept if the fit fails."""
        self.synthesis = synthesis
        self.leave()

    def leave(self) -> None:
        """Store the published steps and the plan on the estimator, for its next fit."""
        if self.spent is None:
            return
        prefix = None
        if self.can_go_on:
            synthesis = dataclasses.replace(self.synthesis, entries=self.entries)
            prefix = Prefix(synthesis, self._fixed, self._n_attempts, self.first_release)
        self._set_prefix(prefix)

    def _set_prefix(self, prefix: Prefix | None) -> None:
        if prefix is not getattr(self.estimator, "_prefix", None):
            self.estimator._prefix = prefix


@contextlib.contextmanager
def keeping(estimator: Estimator, ledger: PrivacyLedger | None) -> Iterator[Account]:
    """Yield the `Account` of a block. If an error is raised, keep the paid results.

    The error gets a note with the cost so far. If the cost is not zero, it also gets the attribute
    `privacy_spent`.

    Parameters
    ----------
    estimator : PATEClassifier or PrivateSearch
        Estimator that stores the results. After an error it gets `X_synthetic_`, if synthetic rows
        were drawn and no later result was published.
    ledger : PrivacyLedger or None
        As in `Account`.
    """
    account = Account(ledger, estimator)
    try:
        yield account
    except BaseException as error:
        spent = estimator.privacy_spent_ if account.has_begun else account.spent
        if spent is not None:
            error.privacy_spent = spent  # type: ignore[attr-defined]
        rows = getattr(account.synthesis, "rows", None)
        if rows is not None and not account.has_begun:
            forget(estimator)  # results of an earlier fit do not match the rows
            estimator.X_synthetic_ = rows
        own = [note for note in getattr(error, "__notes__", ()) if not note.startswith(_PRIVACY)]
        goes_on = hasattr(estimator, "warm_start") and account.can_go_on
        error.__notes__ = [*own, _PRIVACY + _note(spent, account, goes_on)]
        raise
    finally:
        account.leave()


def _note(spent: PrivacySpent | None, account: Account, goes_on: bool) -> str:
    """Return the privacy note of an error; `goes_on`: whether the next fit can continue."""
    if spent is None:
        return "nothing was spent."
    cost = f"epsilon={text_rounded_up(spent.epsilon)} is spent"
    if account.has_begun:
        return f"{cost}; all results until then are kept, see privacy_spent_."
    rows = getattr(account.synthesis, "rows", None)
    if rows is None and not goes_on:
        return f"{cost}, and no result was kept; the cost of a new fit adds to it."
    if rows is None and not account.synthesis.published:
        return (
            f"{cost}, and no result was kept. With warm_start=True and the same parameters, the "
            "cost of the next fit includes this cost; the cost of any other fit adds to it."
        )
    if rows is None:
        return (
            f"{cost}. All results until then are kept: with warm_start=True and the same "
            "parameters, the next fit continues from them."
        )
    rows_are = f"{cost}. The synthetic rows are published as X_synthetic_. With"
    if not goes_on:
        return (
            f"{rows_are} synthesizer=None, fit(X, y, X_public=X_synthetic_) uses them as public "
            "rows, and its epsilon is added to this epsilon."
        )
    return (
        f"{rows_are} warm_start=True and the same parameters, the next fit continues from them, "
        "and its privacy_spent_ covers both."
    )


def forget(estimator: Estimator) -> None:
    """Delete the fitted attributes of an estimator."""
    for name in [name for name in vars(estimator) if name.endswith("_")]:
        delattr(estimator, name)
