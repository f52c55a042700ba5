"""Answers to one question at a time, by votes: asked in stages and rounds, under a filter."""

import dataclasses

import numpy as np

from .._sklearn import _safe_indexing
from ..accountant import Curator, StageRecord, plan_queries
from ..accountant.advice import obstacles_to
from ..aggregators import GNMax
from ..electorate import Electorate
from ..isolation import Quiet
from ..queries import count_rounds
from ..teachers import SiteEnsemble
from .checks import check_defaults, check_rounds
from .choice import Choice
from .mechanism import draw, is_ours, rehearse_mechanism
from .student import students_view
from .voting import collect

_ABOUT_WORKERS = {"n_jobs": "says how many teachers are made at once"}


class LabelsRelease:
    """Labels, soft or not, of the public rows that are asked about."""

    #: Whether what is released are rates of the classes, at any row.
    gives_rates = False

    #: Whether what is gathered follows from the noise that will be drawn.
    follows_noise = False

    #: The most rows that a student is tried on.
    most_rehearsed = np.inf

    def check(self, estimator):
        """Refuse parameters that say nothing of these votes."""
        if isinstance(estimator.base_estimator, Electorate):
            check_defaults(estimator, _ABOUT_WORKERS)

    def plan(self, given):
        """Return what to ask and what it costs, by public numbers."""
        estimator = given.estimator
        plan = plan_queries(
            GNMax(sigma=None) if estimator.aggregator is None else estimator.aggregator,
            estimator.n_queries,
            n_public=given.n_public,
            n_teachers=given.ballots.n_teachers,
            n_classes=len(given.classes),
            epsilon=estimator.epsilon,
            delta=estimator.delta,
            accounting=estimator.accounting,
            before=given.cost_before,
        )
        if count_rounds(given.make_strategy()) > 1:
            check_rounds(plan, estimator.query_strategy, estimator.accounting)
        return plan

    def rehearse(self, given, plan):
        """Try the user's own mechanisms on made-up votes."""
        sizes = {"n_teachers": given.ballots.n_teachers, "n_classes": len(given.classes)}
        for aggregator, _ in plan.stages:
            if not is_ours(aggregator):  # ours, with many classes, would take seconds
                rehearse_mechanism(aggregator, **sizes)

    def forecast(self, given, plan, why):
        """Return who votes, and problems and obstacles, by public numbers."""
        classifiers = () if given.private is None else given.electorate.classifiers()
        voters = dataclasses.replace(
            plan.voters,
            names=tuple(type(classifier).__name__ for classifier in classifiers),
            n_records=given.ballots.n_records,
            why=why,
            are_sites=isinstance(given.electorate, SiteEnsemble),
        )
        with Quiet():  # a mechanism of the user's may print the votes that are made up for it
            return voters, (), obstacles_to(dataclasses.replace(plan, voters=voters))

    def rows(self, given, plan):
        """Return the public rows that are voted on."""
        return self._choice(given).rows_to_vote_on(plan, n_classes=len(given.classes))

    def of_rows(self, votes, rows):
        """Return votes on some of the rows that were voted on."""
        return dataclasses.replace(votes, counts=votes.counts[rows])

    def gather(self, given, plan, rows, progress):
        """Let the electorate vote on some public rows: private, and free."""
        with progress.phase("teachers", given.ballots.n_teachers) as done:
            return collect(
                given.electorate,
                given.private,
                _safe_indexing(given.X_public, rows),
                given.ballots,
                temperature=given.temperature,
                seed=given.seeds["teachers"],
                on_done=done,
            )

    def draw(self, given, plan, rows, votes, published, noise, progress):
        """Release labels, stage by stage and round by round, until the plan ends or its budget."""
        student = given.student()
        seed = given.seeds["student"]
        choice = self._choice(given)
        with progress.phase("queries", plan.n_queries) as done:
            for aggregator, n_queries in plan.stages:
                for round_ in choice.rounds(n_queries):
                    proba = None
                    if aggregator.uses_student_proba or choice.wants_student(published):
                        proba = students_view(student, given.X_public, published, seed)
                    positions = choice.next_positions(round_, published, proba)
                    asked = published, plan, votes, rows, aggregator, positions, proba, noise
                    n_asked = _ask_round(*asked)
                    done(len(published.query_indices))
                    if n_asked < round_.size:  # out of budget, or stopped: the next stage goes on
                        break

    def curator(self, published, votes, plan, delta):
        """Return the private view of what was released."""
        return Curator(
            published.records,
            votes.counts[np.concatenate(published.positions)],
            delta,
            votes.teacher_indices,
            votes.teachers,
            plan.test,
            cap=None if plan.budget is None else plan.epsilon,
        )

    def _choice(self, given):
        """Return a `Choice` in its first state: trying one out may have changed its strategy."""
        return Choice(given.make_strategy, given.X_public, given.seeds["queries"])


def _ask_round(published, plan, votes, rows, aggregator, positions, proba, noise):
    """Release the labels of one round; return how many the budget let through."""
    student_proba = proba[rows[positions]] if aggregator.uses_student_proba else None
    drawn = draw(aggregator, votes.counts[positions], student_proba, noise)
    n_asked = plan.allowed(
        aggregator,
        drawn.paid,
        n_teachers=votes.ballots.n_teachers,
        n_classes=published.n_classes,
    )
    # The rest was drawn as well, but the budget does not pay for it, and nobody sees it
    asked = positions[:n_asked]
    drawn = drawn.first(n_asked)
    if student_proba is not None:
        student_proba = student_proba[:n_asked]
    record = StageRecord(aggregator, n_asked, student_proba, drawn.paid)
    published.add(record, asked, rows[asked], drawn)
    return n_asked
