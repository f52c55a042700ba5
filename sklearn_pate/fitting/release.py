"""The order of a fit: each release is gathered, then paid for, and only then drawn: rows, votes."""

import contextlib
import dataclasses
from functools import partial
from inspect import signature

import numpy as np
from sklearn.base import clone

from ..accountant import Plan
from ..accountant.pricing import stated_cost
from ..accountant.spent import text_rounded_up
from ..exceptions import BudgetExceededError, PrivacyTestError
from ..isolation import Quiet
from ..releases import ahead
from ..releases.published import Published, warn_of_release
from ..students import fit_student
from . import planning
from .checks import check_features, given_rows
from .given import enrolled, rows_digest
from .voters import make_electorate


def fit(given, paid, votes=None):
    """Do all that a fit does, by what it was given; its estimator gets what is published.

    `votes` are those that were gathered before, on all public rows.
    """
    plan = planning.accepted(planning.make_plan(given), given.estimator)
    rows = given.release.rows(given, plan)  # what fails here, fails before rows are paid for
    if given.rows_are_to_draw:
        given = _draw_rows(given, paid)
        rows = given.release.rows(given, plan)
    draw_beside = _gather_beside(given) if given.beside else tuple
    if votes is None:
        votes = given.release.gather(given, plan, rows)
    else:
        votes = given.release.of_rows(votes, rows)
    published = _release(given, plan, rows, votes, paid, draw_beside)
    with given.phase("student", 1) as done:
        student = published.student(given.estimator, given.electorate)
        seed = given.seeds["student"]
        given.estimator.student_ = fit_student(student, given.X_public, published, seed)
        done(1)
    warn_of_release(plan, published)


def poll(given, paid):
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
        given = _draw_rows(given, paid)
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


def _draw_rows(given, paid):
    """Pay for public rows, draw them, and enrol the electorate with them."""
    estimator, synthesizer = given.estimator, given.synthesis.synthesizer
    cost = stated_cost(synthesizer, given.neighbors)
    epsilon, method = cost.epsilon(estimator.delta)
    spent = planning.spent_by(Plan([], epsilon, method, cost), given)
    _pay(given, paid, dataclasses.replace(spent.paid(), covers="rows", beside=()), cost)
    seeds = dict(given.seeds)
    with given.phase("public rows", 1) as done:
        synthesis = given.synthesis.drawn(
            given.private,
            seeds["synthesis"],
            seeds["synthetic rows"],
            generator=planning.source_of_noise(estimator),
        )
        paid.synthesis = synthesis
        done(1)
    synthesis.note()
    X_public = given_rows(synthesis.rows)
    electorate = make_electorate(estimator, given.private.X, synthesizer=synthesizer)
    enrolled(estimator, electorate, given.private, X_public, seeds)
    return dataclasses.replace(
        given, synthesis=synthesis, X_public=X_public, electorate=electorate, seeds=seeds
    )


def _pay(given, paid, spent, cost, **entry):
    """Record what is spent, before anything is drawn; as a part of an `entry`, if one is given."""
    given.estimator._seed_used = True  # noise is drawn from here on: no pickle has the seed
    ledger = given.estimator.ledger
    paid.pay(ledger, spent, cost, **entry)
    if ledger is not None and given.synthesis is not None:
        given.synthesis.ledgers.append(ledger)


def _pay_for_labels(given, plan, paid):
    """Record what labels cost: as a part of the entry of rows that this fit has drawn."""
    ledger = given.estimator.ledger
    if paid.entry is not None and "entry" in signature(ledger.record).parameters:
        _pay(given, paid, plan.spent.paid(), plan.cost, entry=paid.entry)
    else:
        _pay(given, paid, plan.spent.paid(), given.cost_to_pay(plan))


def _release(given, plan, rows, votes, paid, draw_beside):
    """Pay for what is released of the votes on `rows`, and beside; draw it; what was drawn stays.

    Returns
    -------
    Published
    """
    estimator = given.estimator
    digest = rows_digest(given.X_public)  # what fails here, fails before labels are paid for
    _pay_for_labels(given, plan, paid)
    _run_private_test(plan, votes, given.seeds["test"])
    published = Published(plan.spent.paid(), estimator, given.n_public, given.target)
    forget(estimator)
    published.show(estimator)
    paid.has_begun = True
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


# --- what an error says of privacy, and what is kept of a fit that failed -------------------------


#: What each note begins with: an outer block says more than an inner one, and takes its place.
_PRIVACY = "Privacy: "


class Paid:
    """What a fit has paid for so far.

    Attributes
    ----------
    spent : PrivacySpent or None
        As it was recorded, or may have been; None if nothing was.
    entry : object
        What the ledger returned of it.
    synthesis : Synthesis or None
        What drew public rows; None before.
    has_begun : bool
        Whether the estimator holds what is released, and no more of an earlier fit.
    """

    spent = None
    entry = None
    synthesis = None
    has_begun = False

    def pay(self, ledger, spent, cost, **entry):
        """Record what is spent, before anything is drawn."""
        before, self.spent = self.spent, spent  # if it is interrupted, it may have been recorded
        if ledger is not None:
            try:
                self.entry = ledger.record(spent, cost, **entry)
            except (BudgetExceededError, ValueError):
                self.spent = before
                raise


@contextlib.contextmanager
def keeping(estimator):
    """Yield what a block has paid for; an error says what was spent, and loses nothing paid for.

    It gets a note and, if something was spent, the attribute `privacy_spent`.

    Parameters
    ----------
    estimator : PATEClassifier or PrivateSearch
        Gets the rows that were drawn, if nothing that came after them is published.
    """
    paid = Paid()
    try:
        yield paid
    except BaseException as error:
        spent = estimator.privacy_spent_ if paid.has_begun else paid.spent
        if spent is not None:
            error.privacy_spent = spent
        if paid.synthesis is not None and not paid.has_begun:
            forget(estimator)  # what an earlier fit left would not go with the rows
            estimator.X_synthetic_ = paid.synthesis.rows
            paid.synthesis.note()
        own = [note for note in getattr(error, "__notes__", ()) if not note.startswith(_PRIVACY)]
        error.__notes__ = [*own, _PRIVACY + _told(spent, paid)]
        raise


def _told(spent, paid):
    """Return what to say of a failed fit."""
    if spent is None:
        return "nothing was spent."
    cost = f"epsilon={text_rounded_up(spent.epsilon)} is spent"
    if paid.has_begun:
        return f"{cost}; what was released until then is kept, see privacy_spent_."
    if paid.synthesis is None:
        return f"{cost}, and nothing of it was kept; a new fit pays anew."
    return (
        f"{cost}. The rows that were drawn are X_synthetic_, and public. With synthesizer=None, "
        "fit(X, y, X_public=X_synthetic_) uses them again; its privacy_spent_ says whether it "
        "covers them."
    )


def forget(estimator):
    """Remove all that an earlier fit has left."""
    for name in [name for name in vars(estimator) if name.endswith("_")]:
        delattr(estimator, name)
