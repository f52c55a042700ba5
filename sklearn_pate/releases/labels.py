"""Release of labels from votes, query by query, in stages and rounds."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from .._sklearn import _safe_indexing
from ..accounting import Curator, StageRecord, plan_queries
from ..accounting.budget import check_stages
from ..accounting.curator import SeveralCurator
from ..accounting.findings import errors_of, summary_of
from ..accounting.targets import check_several
from ..aggregators import GNMax, Released, SoftVote
from ..encoding.targets import ClassTarget, NumberTarget
from ..exceptions import TeacherError
from ..queries import Choice, count_rounds
from ..rdp.bounds import bounds_of, has_distribution
from ..rdp.checks import check_log_proba
from ..runtime.copies import copied_data, seed_number
from ..runtime.isolation import is_ours, isolated, kind_of, redacted, suppress_output
from ..secure import noise_generator
from ..students import students_view
from .base import VotesRelease
from .votes import Votes

if TYPE_CHECKING:
    from .._typing import Estimator, Rows
    from ..accounting.findings import Finding
    from ..accounting.plan import MethodSummary, Plan
    from ..fitting.inputs import Inputs
    from ..methods.base import Method
    from ..runtime.private_data import PrivateData
    from .published import Published

#: Default mechanisms, with calibrated noise, by the kind of target.
_AGGREGATORS = {ClassTarget: GNMax, NumberTarget: SoftVote}


class LabelsRelease(VotesRelease):
    """Release of labels or soft labels of the queried public rows."""

    def mechanism(self, estimator: Estimator, method: Method) -> Any:
        """Return the parameter `aggregator`, or a default mechanism with calibrated noise."""
        if estimator.aggregator is not None:
            return estimator.aggregator
        return _AGGREGATORS[estimator.target_type](sigma=None)

    def plan(self, inputs: Inputs) -> Plan:
        """Return the queries and their cost; see `VotesRelease.plan`."""
        estimator = inputs.estimator
        plan = plan_queries(
            self.mechanism(estimator, inputs.method),
            estimator.n_queries,
            n_public=inputs.n_public,
            n_teachers=_number_of_teachers(inputs),
            n_classes=inputs.target.n_classes,
            epsilon=inputs.cap[0],
            delta=inputs.cap[1],
            accounting=estimator.accounting,
            before=inputs.prior_cost,
        )
        # Stages with one cost for all queries, and propose-test-release, require all at once
        together = [stage for stage, _ in plan.stages if bounds_of(stage).total is not None]
        if estimator.accounting == "ptr":
            together.append("accounting='ptr'")
        if together and count_rounds(inputs.make_strategy()) > 1:
            raise ValueError(
                f"query_strategy={estimator.query_strategy!r} selects queries in rounds, but "
                f"{together[0]} requires all queries at once. Use query_strategy='random'"
            )
        return plan

    def check_several(self, estimator: Estimator, method: Method, strategy: Any) -> None:
        """Raise an error if queries of several targets are not supported; see `VotesRelease`."""
        mechanism = self.mechanism(estimator, method)
        stages, _ = check_stages(
            mechanism, [1] * len(mechanism) if isinstance(mechanism, list) else 1, n_public=2**62
        )
        check_several(stages, estimator.accounting)
        if count_rounds(strategy) > 1:
            raise ValueError(
                f"query_strategy={estimator.query_strategy!r} selects queries in rounds, by the "
                "labels of one target, and y has several: use query_strategy='random'"
            )

    def dry_run(self, inputs: Inputs, plan: Plan) -> None:
        """Try user-defined mechanisms on made-up votes, before labels are paid for.

        Mechanisms of this library are not tried, because they take seconds with many classes.
        """
        for n_classes in dict.fromkeys(inputs.target.n_values_by_target):
            self._dry_run_of_one(inputs, plan, n_classes)

    def _dry_run_of_one(self, inputs: Inputs, plan: Plan, n_classes: int) -> None:
        """Try user-defined mechanisms on made-up votes for one target."""
        n_teachers = _number_of_teachers(inputs)
        votes = np.zeros((2, n_classes), dtype=np.int64)
        votes[0, 0] = n_teachers  # all agree
        votes[1, 1] = n_teachers // 2  # two classes share the votes
        votes[1, 0] = n_teachers - votes[1, 1]
        for aggregator in [stage for stage, _ in plan.stages if not is_ours(stage)]:
            proba = np.full(votes.shape, 1 / n_classes) if aggregator.uses_student_proba else None
            try:
                if has_distribution(aggregator):
                    check_log_proba(aggregator.outcome_log_proba(votes, proba), n_classes=n_classes)
                _checked_release(aggregator, votes, proba, noise_generator(0))
            except Exception as error:
                raise ValueError(
                    f"{type(aggregator).__name__} failed when tried on made-up votes of "
                    f"{n_teachers} teachers for {n_classes} classes, before any label was paid "
                    f"for. {type(error).__name__}: {error}"
                ) from error

    def forecast(
        self, inputs: Inputs, plan: Plan
    ) -> tuple[MethodSummary, Iterable[str | Finding], Iterable[str | Finding]]:
        """Return a summary of the teachers, no warnings, and the errors of the plan."""
        classifiers = () if inputs.private is None else inputs.method.classifiers()
        method_summary = dataclasses.replace(
            summary_of(plan),
            names=tuple(type(classifier).__name__ for classifier in classifiers),
            are_sites=getattr(inputs.method, "are_sites", False),
            target_type=inputs.target.kind,
        )
        with suppress_output():  # a user's mechanism may print made-up votes
            return (
                method_summary,
                (),
                errors_of(dataclasses.replace(plan, method_summary=method_summary)),
            )

    def rows(self, inputs: Inputs, plan: Plan) -> np.ndarray:
        """Return the indices of the public rows to vote on."""
        choice = Choice(inputs.make_strategy, inputs.X_public, inputs.seeds["queries"])
        return choice.rows_to_vote_on(plan, n_classes=inputs.target.max_n_values)

    def of_rows(self, votes: Votes, rows: np.ndarray) -> Votes:
        """Select the votes on some rows from votes on all public rows."""
        return dataclasses.replace(votes, counts=votes.counts[rows])

    def gather(self, inputs: Inputs, plan: Plan, rows: np.ndarray) -> Votes:
        """Return the private votes of the method on public rows."""
        method, n_teachers = inputs.method, _number_of_teachers(inputs)
        private, X_query = inputs.private, _safe_indexing(inputs.X_public, rows)
        seed = inputs.seeds["teachers"]

        def cast() -> tuple[np.ndarray, Any, Any]:
            own = {"temperature": inputs.temperature, "seed": seed}
            counts = method.vote(private, X_query, **own, on_done=lambda n: done(int(n)))
            return np.asarray(counts), method.teacher_indices_, method.teachers_

        with inputs.phase("teachers", n_teachers) as done:
            if is_ours(method):
                cast_votes = cast()
            else:
                private, X_query = handed_out(private, X_query)
                with isolated(seed_number(seed)):
                    cast_votes = redacted(
                        cast,
                        f"vote of {type(method).__name__} failed with",
                        "No label was released. To read the text, call prepare and vote(private, "
                        "X_query, temperature=, seed=, on_done=) yourself",
                        TeacherError,
                    )
        counts, teacher_indices, teachers = cast_votes
        votes = Votes(
            counts,
            inputs.target,
            inputs.neighbors,
            n_teachers=n_teachers,
            temperature=inputs.temperature,
            teacher_indices=teacher_indices,
            teachers=teachers,
        )
        if counts.shape[:1] != (len(rows),) or not are_complete(votes):
            raise TeacherError(
                f"vote of {type(method).__name__} must return {len(rows)} rows of "
                f"{inputs.target.n_values} counts that sum to its n_teachers_={n_teachers}"
            )
        return votes

    def publish(
        self,
        inputs: Inputs,
        plan: Plan,
        rows: np.ndarray,
        votes: Votes,
        published: Published,
        noise: np.random.Generator,
    ) -> None:
        """Release labels by stages and rounds, until the plan or its budget is exhausted."""
        student = inputs.student()
        seed = inputs.seeds["student"]
        # The strategy is new, because `rows` may have changed the state of the one it used
        choice = Choice(inputs.make_strategy, inputs.X_public, inputs.seeds["queries"])
        with inputs.phase("queries", plan.n_queries) as done:
            for aggregator, n_queries in plan.stages:
                for round_ in choice.rounds(n_queries):
                    proba = None
                    if aggregator.uses_student_proba or choice.wants_student(published):
                        proba = students_view(student, inputs.X_public, published, seed)
                    positions = choice.next_positions(round_, published, proba)
                    queried = published, plan, votes, rows, aggregator, positions, proba, noise
                    n_queried = _ask_round(*queried)
                    done(len(published.query_indices))
                    if n_queried < round_.size:  # out of budget or stopped: begin the next stage
                        break

    def curator(self, published: Published, votes: Votes, plan: Plan, delta: float) -> Curator:
        """Return the private view of the results, with votes and teachers."""
        counts = votes.counts[np.concatenate(published.positions)]
        cap = None
        if plan.budget is not None and plan.own_cost is not None:
            cap = plan.own_cost.epsilon(delta)[0]  # `plan.epsilon` includes earlier releases
        given: dict[str, Any] = {
            "teacher_indices": votes.teacher_indices,
            "teachers": votes.teachers,
            "test": plan.test,
            "cap": cap,
        }
        columns_by_target = votes.target.columns_by_target
        if len(columns_by_target) == 1:
            return Curator(published.records, counts, delta, **given)
        parts = [
            Curator(part.records, counts[:, columns], delta, teacher_indices=None)
            for part, columns in zip(published.parts, columns_by_target, strict=True)
        ]
        return SeveralCurator(parts, counts, delta, **given)


def _number_of_teachers(inputs: Inputs) -> int:
    """Return the number of teachers; raise a ValueError if there are none."""
    if inputs.n_teachers is None:
        raise ValueError("the method of this fit has no teachers")
    return inputs.n_teachers


def handed_out(private: Any, X_public: Rows) -> tuple[PrivateData, Rows]:
    """Copy the target and the public rows, because a user's method may change them in place."""
    own = dataclasses.replace(private, target=copied_data(private.target))
    return own, copied_data(X_public)


def are_complete(votes: Votes) -> bool:
    """Return whether votes in each row sum to the number of teachers, for each target.

    Probabilities are rounded down, so their sums may be smaller.
    """
    counts, n_teachers = votes.counts, votes.n_teachers
    are_numbers = counts.ndim == 2 and counts.dtype.kind in "iuf"
    if n_teachers is None or not are_numbers or counts.shape[1] != votes.target.n_values:
        return False
    if not (counts >= 0).all():
        return False
    columns_by_target = votes.target.columns_by_target
    # Small types would round or overflow
    sums = np.array([counts[:, columns].sum(axis=1, dtype=float) for columns in columns_by_target])
    if votes.temperature is not None:  # probabilities are rounded down
        return bool((sums <= n_teachers * (1 + 1e-9)).all())
    return bool((sums == n_teachers).all() and (counts == np.floor(counts)).all())


def _ask_round(
    published: Published,
    plan: Plan,
    votes: Votes,
    rows: np.ndarray,
    aggregator: Any,
    positions: np.ndarray,
    proba: Any,
    noise: np.random.Generator,
) -> int:
    """Release the labels of one round, and return the number of rows within the budget."""
    student_proba = proba[rows[positions]] if aggregator.uses_student_proba else None
    counts, columns_by_target = votes.counts[positions], votes.target.columns_by_target
    with suppress_output():  # a user's mechanism may print votes
        sampled = redacted(
            lambda: [
                _checked_release(aggregator, counts[:, columns], student_proba, noise)
                for columns in columns_by_target
            ],
            f"{type(aggregator).__name__} could not draw labels:",
            "The cost of the plan is spent. Try the mechanism on made-up votes",
        )
    n_queried = _allowed(plan, aggregator, sampled)
    # Labels beyond the budget were drawn as well, but they are discarded
    queried = positions[:n_queried]
    student_proba = None if student_proba is None else student_proba[:n_queried]
    for part, of_target in zip(published.parts, sampled, strict=True):
        of_target = of_target.first(n_queried)
        record = StageRecord(aggregator, n_queried, student_proba, of_target.paid)
        part.add(record, queried, rows[queried], of_target)
    return n_queried


def _allowed(plan: Plan, aggregator: Any, sampled: list[Released]) -> int:
    """Return the number of rows within the budget, from the releases of each target."""
    if len(sampled) == 1:
        return plan.allowed(aggregator, sampled[0].paid)
    if len({len(of_target.paid) for of_target in sampled}) > 1:
        raise ValueError(
            f"{type(aggregator).__name__} stopped at different rows for different targets, which "
            "is not supported: draw a label, or -1, for each query"
        )
    return plan.allowed(aggregator, np.column_stack([of_target.paid for of_target in sampled]))


def _checked_release(
    aggregator: Any, votes: np.ndarray, proba: np.ndarray | None, noise: np.random.Generator
) -> Released:
    """Draw the release of an aggregator, and check its labels, `paid` and soft labels."""
    name = type(aggregator).__name__
    n_queries, n_classes = votes.shape
    released = aggregator.release(votes, proba, noise)
    labels, paid = np.asarray(released.labels), np.asarray(released.paid)
    # A mechanism that stops returns fewer labels
    are_whole = labels.dtype.kind in "iu" and labels.ndim == 1 and len(labels) <= n_queries
    if not are_whole or (labels < -1).any() or (labels >= n_classes).any():
        got = f"shape {labels.shape} of {kind_of(labels.dtype)}"
        if are_whole:
            got = "whole numbers beyond these limits"
        raise ValueError(
            f"{name} must draw at most {n_queries} whole numbers, from 0 to {n_classes - 1}, or -1 "
            f"for no answer; got {got}"
        )
    if paid.shape != labels.shape or paid.dtype != bool:
        raise ValueError(
            f"draw of {name} must return a bool for each label, True if it was paid for in full; "
            f"got shape {paid.shape} of {kind_of(paid.dtype)}"
        )
    if released.soft_labels is None:
        return Released(labels, paid, None)
    if has_distribution(aggregator):
        raise ValueError(
            f"{name} must release only labels: its cost is computed from outcome_log_proba, which "
            "does not cover soft labels. For soft labels, subclass SoftAggregator"
        )
    soft = np.asarray(released.soft_labels)
    are_floats = soft.shape == votes.shape and soft.dtype.kind == "f"
    if not are_floats or not np.allclose(soft.sum(axis=1), 1):
        got = "rows with other sums"
        if not are_floats:
            got = f"shape {soft.shape} of {kind_of(soft.dtype)}"
        raise ValueError(
            f"soft_labels of {name} must return rows of floats that sum to 1, of shape "
            f"{votes.shape}; got {got}"
        )
    return Released(labels, paid, soft)
