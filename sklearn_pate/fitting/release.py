"""The order of a fit: each release is gathered, then paid for, and only then drawn: rows, votes."""

import contextlib
import dataclasses
from functools import partial

import numpy as np
from sklearn.base import clone

from ..accountant import Plan
from ..accountant.spent import text_rounded_up
from ..exceptions import BudgetExceededError, PrivacyTestError
from ..isolation import Quiet
from ..releases import ahead
from ..releases.prefix import Prefix, can_go_on, fixed_by
from ..releases.published import Published, warn_of_release
from ..schema import RowForm
from ..students import fit_student
from . import planning
from .checks import check_features, given_rows
from .given import enrolled, rows_digest
from .voters import make_electorate


def fit(given, account, votes=None):
    """Do all that a fit does, by what it was given; its estimator gets what is published.

    `votes` are those that were gathered before, on all public rows.
    """
    plan = planning.accepted(planning.make_plan(given), given.estimator)
    rows = given.release.rows(given, plan)  # what fails here, fails before rows are paid for
    if given.rows_are_to_draw:
        given = _draw_rows(given, plan, account)
        rows = given.release.rows(given, plan)
    draw_beside = _gather_beside(given) if given.beside else tuple
    if votes is None:
        votes = given.release.gather(given, plan, rows)
    else:
        votes = given.release.of_rows(votes, rows)
    published = _release(given, plan, rows, votes, account, draw_beside)
    with given.phase("student", 1) as done:
        student = published.student(given.estimator, given.electorate)
        seed = given.seeds["student"]
        given.estimator.student_ = fit_student(student, given.X_public, published, seed)
        done(1)
    warn_of_release(plan, published, given.X_public)


def poll(given, account):
    """Draw public rows where there are none, and collect the votes on all of them.

    Returns
    -------
    Votes
    """
    if given.estimator.releases:
        raise ValueError("poll collects votes alone: call fit, or give releases=None")
    plan = None
    if given.rows_are_to_draw:  # what `fit_votes` would refuse is refused before rows are paid for
        plan = planning.accepted(planning.make_plan(given), given.estimator)
        given = _draw_rows(given, plan, account)
    elif given.release.gives_rates:  # what is gathered follows from the noise
        plan = planning.forecast(given, planning.spending_plan(given))
        planning.warn_of_plan(plan, given.estimator.epsilon)
    votes = given.release.gather(given, plan, np.arange(given.n_public))
    told = {"not_covered": given.not_covered, "obstacles": given.obstacles}
    return dataclasses.replace(votes, synthesis=given.synthesis, **told)


def _gather_beside(given):
    """Gather what the user's own releases need; return a function that yields them, drawn."""
    rng = np.random.default_rng(given.seeds["beside"])
    tried = ahead.rehearse(given.beside, given.X_public, given.private)
    gathered = ahead.gather(given.beside, given.private, given.neighbors, rng)
    return partial(ahead.draw, given.beside, gathered, rng, tried)


def _draw_rows(given, plan, account):
    """Run the steps of the synthesizer, draw its rows, and enrol the electorate with them."""
    estimator, synthesizer = given.estimator, given.synthesis.synthesizer
    seeds = dict(given.seeds)
    account.begin(given, plan)

    def pay(synthesis, n_steps):
        cost = synthesis.cost_of_steps(n_steps)
        is_last = n_steps == synthesizer.n_steps
        epsilon, method = cost.epsilon(estimator.delta)
        spent = planning.spent_by(Plan([], epsilon, method, cost), given).paid()
        covers = "rows" if is_last else "statistics"
        n_synthetic = spent.n_synthetic if is_last else 0
        told = {"covers": covers, "n_synthetic": n_synthetic, "beside": ()}
        _pay(given, account, dataclasses.replace(spent, **told), cost)
        return dataclasses.replace(synthesis, entries=account.entries)

    with given.phase("public rows", 1) as done:
        synthesis = ahead.publish_rows(
            account.synthesis,
            given.private,
            np.random.default_rng(seeds["synthesis"]),
            np.random.default_rng(seeds["synthetic rows"]),
            generator=planning.source_of_noise(estimator),
            pay=pay,
            keep=account.keep,
        )
        done(1)
    X_public = given_rows(synthesis.rows)
    electorate = make_electorate(estimator, given.private.X, synthesizer=synthesizer)
    enrolled(estimator, electorate, given.private, X_public, seeds)
    return dataclasses.replace(
        given, synthesis=synthesis, X_public=X_public, electorate=electorate, seeds=seeds
    )


def _pay(given, account, spent, cost, **parts):
    """Record the cost of all steps up to the next one, before its noise is drawn."""
    given.estimator._seed_used = True  # noise is drawn from here on: no pickle has the seed
    account.append(spent, cost, **parts)


def _release(given, plan, rows, votes, account, draw_beside):
    """Pay for what is released of the votes on `rows`, and beside; draw it; what was drawn stays.

    Returns
    -------
    Published
    """
    estimator = given.estimator
    digest = rows_digest(given.X_public)  # what fails here, fails before labels are paid for
    of_all = {"recorded": given.recorded_cost(plan), "is_all": True}
    _pay(given, account, plan.spent.paid(), plan.cost, **of_all)
    if given.synthesis is not None and estimator.ledger is not None:
        given.synthesis.ledgers.append(estimator.ledger)
    _run_private_test(plan, votes, given.seeds["test"])
    published = Published(plan.spent.paid(), estimator, given.n_public, given.target)
    forget(estimator)
    published.show(estimator)
    account.has_begun = True
    estimator._rows_asked_about = digest
    _show_what_is_public(given, plan)
    noise = np.random.default_rng(given.seeds["noise"])
    try:
        for drawn in draw_beside():
            published.beside.append(drawn)
        given.release.draw(given, plan, rows, votes, published, noise)
    finally:
        published.show(estimator)
        estimator.curator_ = given.release.curator(published, votes, plan, estimator.delta)
    return published


def _run_private_test(plan, votes, seed):
    """Raise `PrivacyTestError` if the plan has a private test and the votes do not pass it."""
    if plan.test is None:
        return
    with Quiet():
        passed = plan.test.passes(votes.counts, np.random.default_rng(seed))
    if not passed:
        raise PrivacyTestError(
            "the votes did not pass the private test of accounting='ptr': their labels may cost "
            "more than it allows. No label was released, but the outcome of the test was. Ask "
            "fewer queries, use more noise, raise epsilon, or use accounting='data_independent'",
            plan.spent.paid(),
        )


def _show_what_is_public(given, plan):
    """Set what is public before any label is released."""
    estimator = given.estimator
    if given.synthesis is not None:
        estimator.X_synthetic_ = given.synthesis.rows
    # Copies: those of the plan see the votes, and one of the user's may keep them
    mechanisms = [clone(aggregator) for aggregator, _ in plan.stages]
    is_list = isinstance(estimator.aggregator, list)
    estimator.aggregator_ = mechanisms if is_list else mechanisms[0]
    setattr(estimator, given.target.fitted_attribute, given.target.values)
    if plan.spent.n_teachers is not None:
        estimator.n_teachers_ = plan.spent.n_teachers
    check_features(estimator, given.X_public, "X_public", reset=True)  # they are those of X
    estimator._form = RowForm.of(given.X_public)


# --- what an error says of privacy, and what is kept of a fit that failed -------------------------


#: What each note begins with: an outer block says more than an inner one, and takes its place.
_PRIVACY = "Privacy: "


class Account:
    """The costs that a fit has recorded so far: one entry of the ledger, which grows.

    Parameters
    ----------
    ledger : PrivacyLedger or None
        The ledger of the fit, or an object with its ``check(spent, cost, entry=None)`` and
        ``record(spent, cost, entry=None)``.
    estimator : PATEClassifier or None, default=None
        Gets the prefix with which its next fit may go on. It is complete before noise is drawn.

    Attributes
    ----------
    spent : PrivacySpent or None
        The statement of the steps that were recorded, or may have been; None if none was.
    entry : object
        The entry that the ledger returned; None without one.
    synthesis : Synthesis or None
        Of the rows that the fit draws, with the steps that are published; None without.
    is_all_paid : bool
        Whether the labels are paid for: from then on, the next fit cannot go on.
    has_begun : bool
        Whether the estimator holds the published results of this fit, and no more of an earlier.
    """

    def __init__(self, ledger, estimator=None):
        self.ledger = ledger
        self.estimator = estimator
        self.spent = None
        self.entry = None
        self.synthesis = None
        self.is_all_paid = False
        self.has_begun = False
        self._fixed = None
        self._n_attempts = 1

    @property
    def entries(self):
        """The entry with its ledger, as `Synthesis` keeps it."""
        return () if self.entry is None else ((self.ledger, self.entry),)

    @property
    def can_go_on(self):
        """Whether the next fit can go on with the steps that this one has published."""
        is_open = self._fixed is not None and not self.is_all_paid
        return is_open and can_go_on(self.synthesis)

    def begin(self, given, plan):
        """Begin the steps of a synthesizer, or go on after those that are published."""
        self._fixed = fixed_by(given, plan)
        self.synthesis = given.synthesis
        if given.prefix is not None:
            self._n_attempts = given.prefix.n_attempts + 1
            self.synthesis = given.prefix.continued(given.synthesis)
            self.entry = self.synthesis.entry_in(self.ledger)

    def check(self, spent, cost):
        """Refuse a cost that the ledger does not pay for; record nothing."""
        if self.ledger is not None:
            self.ledger.check(spent, cost)

    def append(self, spent, cost, *, recorded=None, is_all=False):
        """Record the cost of all steps up to the next one, before its noise is drawn.

        Parameters
        ----------
        spent : PrivacySpent
            The statement of these steps.
        cost : rdp.Cost
            The cost of these steps together.
        recorded : rdp.Cost, default=None
            The part of `cost` that the ledger has in no entry, for a new one. None is all of it.
        is_all : bool, default=False
            Whether these are all steps, and not those of a synthesizer alone.
        """
        before = self.spent, self.is_all_paid
        prefix_before = getattr(self.estimator, "_prefix", None)
        # If it is interrupted, it may have been recorded
        self.spent, self.is_all_paid = spent, is_all
        self.leave()
        if self.ledger is None:
            return
        try:
            recorded = cost if recorded is None or self.entry is not None else recorded
            self.entry = self.ledger.record(spent, recorded, self.entry)
        except (BudgetExceededError, ValueError):
            self.spent, self.is_all_paid = before
            self._set_prefix(prefix_before)
            raise
        self.leave()

    def keep(self, synthesis):
        """Keep a published step of a synthesizer, also if the fit fails."""
        self.synthesis = synthesis
        self.leave()

    def leave(self):
        """Leave the published steps, and the plan, to the next fit of the estimator."""
        if self.spent is None:
            return
        prefix = None
        if self.can_go_on:
            synthesis = dataclasses.replace(self.synthesis, entries=self.entries)
            prefix = Prefix(synthesis, self._fixed, self._n_attempts)
        self._set_prefix(prefix)

    def _set_prefix(self, prefix):
        if prefix is not getattr(self.estimator, "_prefix", None):
            self.estimator._prefix = prefix


@contextlib.contextmanager
def keeping(estimator, ledger):
    """Yield the account of a block; an error states what was spent, and loses nothing paid for.

    It gets a note and, if something was spent, the attribute `privacy_spent`.

    Parameters
    ----------
    estimator : PATEClassifier or PrivateSearch
        Gets the synthetic rows, if nothing that came after them is published.
    ledger : PrivacyLedger or None
        As in `Account`.
    """
    account = Account(ledger, estimator)
    try:
        yield account
    except BaseException as error:
        spent = estimator.privacy_spent_ if account.has_begun else account.spent
        if spent is not None:
            error.privacy_spent = spent
        rows = getattr(account.synthesis, "rows", None)
        if rows is not None and not account.has_begun:
            forget(estimator)  # the results of an earlier fit would not go with the rows
            estimator.X_synthetic_ = rows
        own = [note for note in getattr(error, "__notes__", ()) if not note.startswith(_PRIVACY)]
        goes_on = hasattr(estimator, "warm_start") and account.can_go_on
        goes_on = goes_on and bool(account.synthesis.published)
        error.__notes__ = [*own, _PRIVACY + _note(spent, account, goes_on)]
        raise
    finally:
        account.leave()


def _note(spent, account, goes_on):
    """Return the note on privacy of an error; `goes_on` is whether the next fit can go on."""
    if spent is None:
        return "nothing was spent."
    cost = f"epsilon={text_rounded_up(spent.epsilon)} is spent"
    if account.has_begun:
        return f"{cost}; what was released until then is kept, see privacy_spent_."
    rows = getattr(account.synthesis, "rows", None)
    if rows is None and not goes_on:
        return f"{cost}, and nothing of it was kept; a new fit pays anew."
    if rows is None:
        return (
            f"{cost}. What was published until then is kept: with warm_start=True and the same "
            "parameters, the next fit goes on after it."
        )
    rows_are = f"{cost}. The rows that were drawn are X_synthetic_, and public. With"
    if not goes_on:
        return (
            f"{rows_are} synthesizer=None, fit(X, y, X_public=X_synthetic_) uses them as public "
            "rows, and its epsilon adds to this one."
        )
    return (
        f"{rows_are} warm_start=True and the same parameters, the next fit goes on with them, and "
        "its statement covers both."
    )


def forget(estimator):
    """Remove all that an earlier fit has left."""
    for name in [name for name in vars(estimator) if name.endswith("_")]:
        delattr(estimator, name)
