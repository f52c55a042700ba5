"""Published results of a fit, and warnings about results that are of little use."""

from __future__ import annotations

import dataclasses
from math import ceil
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.stats import binom

from .._numbers import as_float
from ..association import LEVEL, only_class, p_value_of_counts
from ..encoding.custom import fitted_on_public, transformed
from ..encoding.targets import NumberTarget
from ..exceptions import PublicRowsWarning, warn
from ..neighbors import RowVectorizer
from ..neighbors.smoothing import assign_to_similar, shifted
from ..readouts import ReleasedProba, SeveralTables, TableRegressor
from ..report.formats import percent
from ..runtime.isolation import attempt, suppress_output
from ..students import (
    accepts_soft_labels,
    accepts_unlabeled,
    accepts_weights,
    heeds_weights,
)

if TYPE_CHECKING:
    from .._typing import Estimator, Rows
    from ..accounting.curator import StageRecord
    from ..accounting.plan import Plan
    from ..accounting.spent import PrivacySpent
    from ..aggregators.base import Released
    from ..encoding.targets import Target
    from ..methods.base import Method
    from ..shift import PublicShift


class Published:
    """Published results of one fit and, only for the curator, a record of each round.

    Parameters
    ----------
    spent : PrivacySpent
        Cost of the plan. The numbers of queries and answers in it are updated.
    estimator : PATEClassifier or PATERegressor
        Estimator with the parameter `class_weight`, if any.
    n_public : int
        Number of public rows.
    target : targets.Target
        Classes of the labels, or levels of the numbers.

    Attributes
    ----------
    spent : PrivacySpent
        Privacy statement with the numbers of queries and answers so far.
    labels : ndarray of shape (n_public,), int
        Code of the released label of each public row, -1 if it has none.
    soft_labels : ndarray of shape (n_public, n_classes) or None
        Released distribution of each public row, NaN if it has none. None if no distribution was
        released.
    query_indices : ndarray of shape (n_queries,), int
        Indices of the queried public rows, in order.
    target : targets.Target
        The parameter `target`.
    n_classes : int
        Number of classes, or of levels.
    table : neighbors.ReleasedTable, released class sums or None
        The noisy table; None if teachers vote. With a table, `soft_labels` are its class
        probabilities, and students that use `sample_weight` are trained on them.
    weight : ndarray of shape (n_classes,) or None
        Class weights, applied to `soft_labels` if a table is released.
    extra_releases : list
        Results of user-defined releases.
    records, positions : list
        Only for the curator: the `StageRecord` of each round, and the queries of each round, as
        positions among the rows with votes.
    row_weight : ndarray of shape (n_public,) or None
        Weight of each public row in the student, by published votes per public row. None unless
        the votes raise an alarm; see `shift.PublicShift`.
    row_weight_used : bool
        Whether the student was trained with these weights.
    problem : str or None
        Error of the student if all labels are of one class; None if there is no error.
    name : str
        Start of warnings; empty for the only target of a fit.
    """

    name = ""

    def __init__(
        self, spent: PrivacySpent, estimator: Estimator, n_public: int, target: Target
    ) -> None:
        self.spent = spent
        self.target = target
        self.n_classes = target.n_values
        self._class_weight = getattr(estimator, "class_weight", None)
        self.weight: np.ndarray | None = None
        self.labels = np.full(n_public, -1)
        self.soft_labels: np.ndarray | None = None
        self.table: Any = None
        self.row_weight: np.ndarray | None = None
        self.row_weight_used = False
        self.problem: str | None = None
        self.query_indices = np.array([], dtype=np.intp)
        self.extra_releases: list[Any] = []
        self.records: list[StageRecord] = []
        self.positions = [np.array([], dtype=np.intp)]  # concatenate requires one array

    @classmethod
    def of(cls, estimator: Estimator) -> Published:
        """Return the published results of a fitted estimator, to train another student."""
        labels, target = estimator.public_labels_, estimator._fitted_target
        published = cls(estimator.privacy_spent_, estimator, len(labels), target)
        published.labels = target.labels_of(labels)
        published.soft_labels = estimator.public_soft_labels_
        published.query_indices = estimator.query_indices_
        published.table = getattr(estimator, "table_", None)
        return published

    @property
    def parts(self) -> tuple[Published, ...]:
        """The published results of each target: of this one alone."""
        return (self,)

    def add(
        self, record: StageRecord, positions: np.ndarray, rows: np.ndarray, sampled: Released
    ) -> None:
        """Add the results of a mechanism in one round.

        Parameters
        ----------
        record : StageRecord
            Mechanism, number of queries and costs of the round.
        positions : ndarray of shape (n_asked,), int
            The queries, as positions among the rows with votes.
        rows : ndarray of shape (n_asked,), int
            The same queries, as indices of public rows.
        sampled : aggregators.Released
            The released labels and soft labels.
        """
        self.records.append(record)
        self.positions.append(positions)
        self.labels[rows] = sampled.labels
        if sampled.soft_labels is not None:
            if self.soft_labels is None:
                self.soft_labels = np.full((len(self.labels), self.n_classes), np.nan)
            self.soft_labels[rows] = sampled.soft_labels
        self.query_indices = np.append(self.query_indices, rows)
        self.spent = dataclasses.replace(
            self.spent, n_queries=len(self.query_indices), n_answered=int((self.labels >= 0).sum())
        )

    def show(self, estimator: Estimator) -> None:
        """Set the attributes of an estimator that hold published results."""
        estimator.privacy_spent_ = self.spent
        estimator.query_indices_ = self.query_indices
        estimator.public_labels_ = self.public_labels
        estimator.public_soft_labels_ = self.soft_labels
        if self.table is not None:
            estimator.table_ = self.table
        if self.extra_releases:
            estimator.released_ = self.extra_releases

    @property
    def weights_labels(self) -> bool:
        """Whether class weights apply to labels from teachers."""
        return self.table is None and self._class_weight is not None

    @property
    def public_labels(self) -> np.ndarray:
        """Label code of each public row, -1 if it has none; for numbers, its mean or NaN."""
        return self.target.decode(self.labels, self.soft_labels)

    def student(self, estimator: Estimator, method: Method) -> Estimator:
        """Return the unfitted student; the default may predict from the released table."""
        reader = _TABLE_READERS.get(type(self.target))
        if estimator.student is None and self.table is not None and reader is not None:
            return reader(self.table, self.target)
        if estimator.student is None and hasattr(self.table, "default_student"):
            return self.table.default_student().set_params(weight=self.weight)
        return student_of(estimator, method)

    def add_class_proba(self, class_proba: np.ndarray, labels: np.ndarray) -> None:
        """Set the class probabilities of public rows, and apply the class weights to them.

        Parameters
        ----------
        class_proba : ndarray of shape (n_public, n_classes)
            Class probabilities from the noisy table; rows sum to 1.
        labels : ndarray of shape (n_public,), int
            Codes of labels assigned by the class probabilities, -1 for a row without a label.
        """
        self.weight = weights_of(self._class_weight, self.target.values, class_proba.mean(axis=0))
        if self.weight is not None:
            class_proba = shifted(class_proba, self.weight)
            labels = assign_to_similar(class_proba)
        self.soft_labels = class_proba
        self.labels = labels
        self.query_indices = np.flatnonzero(labels >= 0)
        n_labels = len(self.query_indices)
        self.spent = dataclasses.replace(self.spent, n_queries=n_labels, n_answered=n_labels)

    def weight_rows(self, X_public: Rows, shift: PublicShift | None) -> None:
        """Set `row_weight` if the published votes raise an alarm about public rows.

        Parameters
        ----------
        X_public : array-like with n_public rows
            The public rows that the student learns from.
        shift : shift.PublicShift or None
            Distance of these rows from the private records; None if nothing published shows it.
        """
        if shift is not None and shift.is_alarm and shift.cell_weight is not None:
            weight = shift.cell_weight[self.table.cell_of(X_public)]
            self.row_weight = weight / weight.mean()

    def read(self, X_public: Rows) -> PublicShift | None:
        """Label other public rows by the released table, and return their distance."""
        self.add_class_proba(*self.table.read(X_public))
        shift = None
        if hasattr(self.table, "shift_from"):
            shift = self.table.shift_from(X_public)
        self.weight_rows(X_public, shift)
        return shift

    def warn(self, text: str, category: type[Warning] = UserWarning) -> None:
        """Issue a warning; it names the target if there are several."""
        warn(f"{self.name}{text}", category)

    def label_of(self, code: int) -> Any:
        """Return the label of a code, as a Python object."""
        return self.target.values[[code]].tolist()[0]

    def label_weights(self, labels: np.ndarray) -> np.ndarray | None:
        """Return the weight of each label from teachers, (n_labels,); None for equal weights."""
        shares = np.bincount(labels, minlength=self.n_classes) / len(labels)
        weight = weights_of(self._class_weight, self.target.values, shares)
        return None if weight is None else weight[labels]


class SeveralPublished:
    """Published results of one fit for several targets.

    Parameters
    ----------
    spent, estimator, n_public
        As in `Published`.
    target : targets.SeveralTargets
        The targets.

    Attributes
    ----------
    parts : tuple of Published
        The results of each target.
    target : targets.SeveralTargets
        The parameter `target`.
    extra_releases : list
        As in `Published`; always empty.
    """

    def __init__(
        self, spent: PrivacySpent, estimator: Estimator, n_public: int, target: Target
    ) -> None:
        self.target = target
        self.extra_releases: list[Any] = []
        self.parts = tuple(Published(spent, estimator, n_public, part) for part in target.parts)
        weights = getattr(estimator, "class_weight", None)
        for number, part in enumerate(self.parts):
            part.name = f"target {number} of y (of {len(self.parts)}, counted from 0): "
            part._class_weight = weights[number] if isinstance(weights, list) else weights

    @classmethod
    def of(cls, estimator: Estimator) -> SeveralPublished:
        """Return the published results of a fitted estimator, to train another student."""
        labels, target = estimator.public_labels_, estimator._fitted_target
        published = cls(estimator.privacy_spent_, estimator, len(labels), target)
        for number, part in enumerate(published.parts):
            part.labels = part.target.labels_of(labels[:, number])
            if estimator.public_soft_labels_ is not None:
                part.soft_labels = estimator.public_soft_labels_[number]
            part.query_indices = estimator.query_indices_
            if hasattr(estimator, "table_"):
                part.table = estimator.table_.tables[number]
        return published

    @property
    def spent(self) -> PrivacySpent:
        """Privacy statement with the numbers of queries and answers so far.

        If teachers voted, each target has queries and answers of its own.
        """
        parts = self.parts
        if not parts[0].records:
            return parts[0].spent
        n_queries = sum(len(part.query_indices) for part in parts)
        n_answered = sum(int((part.labels >= 0).sum()) for part in parts)
        return dataclasses.replace(parts[0].spent, n_queries=n_queries, n_answered=n_answered)

    @spent.setter
    def spent(self, spent: PrivacySpent) -> None:
        for part in self.parts:
            part.spent = spent

    @property
    def query_indices(self) -> np.ndarray:
        """Indices of the queried public rows, in order, which are the same for all targets."""
        return self.parts[0].query_indices

    @property
    def positions(self) -> list[np.ndarray]:
        """The queries of each round, as positions among the rows with votes."""
        return self.parts[0].positions

    @property
    def table(self) -> SeveralTables | None:
        """The released table of each target; None before they are released."""
        tables = [part.table for part in self.parts]
        return None if any(table is None for table in tables) else SeveralTables(tuple(tables))

    @property
    def public_labels(self) -> np.ndarray:
        """Label code or mean of each public row, (n_public, n_targets); see `Published`."""
        return np.column_stack([part.public_labels for part in self.parts])

    def show(self, estimator: Estimator) -> None:
        """Set the attributes of an estimator that hold published results."""
        estimator.privacy_spent_ = self.spent
        estimator.query_indices_ = self.query_indices
        estimator.public_labels_ = self.public_labels
        soft_labels = [part.soft_labels for part in self.parts]
        are_soft = any(soft is not None for soft in soft_labels)
        estimator.public_soft_labels_ = soft_labels if are_soft else None
        if self.table is not None:
            estimator.table_ = self.table

    def student(self, estimator: Estimator, method: Method) -> Any:
        """Return the unfitted student, or a list of the default student of each target."""
        if estimator.student is not None or self.table is None:
            return student_of(estimator, method)
        return [part.student(estimator, method) for part in self.parts]


def published_of(spent: PrivacySpent, estimator: Estimator, n_public: int, target: Target) -> Any:
    """Return the `Published` or `SeveralPublished` of a fit, before its labels are released."""
    kind = Published if target.n_targets == 1 else SeveralPublished
    return kind(spent, estimator, n_public, target)


def published_by(estimator: Estimator) -> Any:
    """Return the published results of a fitted estimator, to train another student."""
    kind = Published if estimator._fitted_target.n_targets == 1 else SeveralPublished
    return kind.of(estimator)


#: Default students that predict from any released table, by the kind of target. For other targets,
#: the table or the method defines the default student.
_TABLE_READERS: dict[type[Target], Any] = {NumberTarget: TableRegressor}


def student_of(estimator: Estimator, method: Method) -> Estimator:
    """Return the parameter `student` or, if it is None, the default student."""
    if estimator.student is not None:
        return estimator.student
    reader = _TABLE_READERS.get(estimator.target_type)
    if reader is not None and method.release.releases_proba:
        return reader()
    return method.default_student()


#: Maximal and minimal number of labels from teachers in a significance test.
_MOST_TESTED = 1000
_FEWEST_TESTED = 8

#: An estimated accuracy below this causes a warning, for any number of classes.
_FEW_RIGHT = 0.1

#: Significance level of the tests of two hypotheses: labels are drawn uniformly at random, and all
#: teachers vote for one class. A fit warns if the first is rejected and the second is not.
_RARELY = 0.01


def warn_of_release(plan: Plan, released: Published, X_public: Rows) -> None:
    """Warn about results of little use, from released numbers, public rows and the plan.

    A fit calls this function last, so the model is kept even if warnings raise errors. It is called
    for each of several targets.

    Parameters
    ----------
    plan : Plan
        Plan of the fit.
    released : Published
        Results of the fit.
    X_public : array-like with n_public rows
        The public rows.
    """
    warn_of_shift(released, getattr(released.table, "shift", None))
    if warn_of_one_class(released, plan):
        return
    by_records = released.table is not None
    p_value = released.table.p_value if by_records else _p_value_of_labels(released, X_public)
    if p_value is not None and p_value > LEVEL:
        target = released.target
        if isinstance(released.table, ReleasedProba):
            others = (
                "method='neighbors' may help: class sums capture effects that add up over columns, "
                "and votes in cells capture combinations of columns, such as products, as well"
            )
        else:
            others = f"method={'teachers' if by_records else 'neighbors'!r} may help"
        released.warn(
            f"the released numbers may be little better than {target.guess}: they do not differ "
            f"clearly from noise around equal {target.statistic_nouns} everywhere "
            f"(p={p_value:.2g} in a test of no relation). A larger epsilon, fewer columns, or "
            f"{others}. Each new fit spends more of the privacy budget"
        )
    elif released.target.has_accuracy and 1 / released.n_classes < _FEW_RIGHT:
        accuracy = getattr(released.table, "accuracy", 1.0)  # without an estimate, no warning
        if accuracy < _FEW_RIGHT:
            released.warn(
                f"about {accuracy:.1%} of the records have the class that the released counts "
                f"predict; there are {released.n_classes} classes. Merge classes or, if they are "
                "ordered, predict a number with PATERegressor; a larger epsilon or more records "
                "may help as well. Each new fit spends more of the privacy budget"
            )


def warn_of_budget(plan: Plan, released: Any) -> None:
    """Warn if the budget stopped the queries.

    Parameters
    ----------
    plan : Plan
        Plan of the fit.
    released : Published or SeveralPublished
        Results of the fit.
    """
    n_queried = len(released.query_indices)
    if plan.budget is not None and n_queried < plan.n_queries:
        warn(
            f"epsilon={plan.epsilon:g} paid for {n_queried} of the {plan.n_queries} requested "
            "rows; only those were queried. Use more noise or raise epsilon to query all rows"
        )


def warn_of_shift(released: Published, shift: PublicShift | None) -> None:
    """Warn if the public rows are not distributed like the private records.

    Parameters
    ----------
    released : Published
        Results of the fit.
    shift : shift.PublicShift or None
        Distance of the public rows; None if nothing was published that shows it.
    """
    if shift is None or not shift.is_alarm:
        return
    compared = {
        "votes": "total variation distance from the published votes, by groups of cells",
        "sums": "distance from the published mean of encoded records, in standard deviations",
    }[shift.statistic]
    of_column = ""
    if shift.mean_is_off:
        of_column = (
            f". The published mean of an encoded column is {shift.mean_distance:.2f} standard "
            "deviations from the mean of the public rows"
        )
    advice = ""
    if shift.is_far:
        advice = (
            ". At this distance a fit without public rows, fit(X, y), is probably better; it "
            "spends anew"
        )
    elif released.row_weight_used:
        advice = ". The student weights public rows by the published votes"
    released.warn(
        f"the public rows differ from the private records: {compared}, {shift.distance:.2f}, "
        f"expected without a shift {shift.expected + shift.tolerance:.2f}{of_column}. Another "
        "population, or synthetic rows: give public rows from the population of the records. A "
        "column in another unit: convert X_public. Preprocessing of one of them alone: apply the "
        f"same steps to both, for instance FitOnPublic(StandardScaler()){advice}",
        PublicRowsWarning,
    )


def _p_value_of_labels(released: Published, X_public: Rows) -> float | None:
    """Return the p-value of labels from teachers, if labels do not depend on the public rows.

    Return None for fewer than 8 labels, for numbers, and for rows that cannot be encoded.
    """
    labelled = np.flatnonzero(released.labels >= 0)
    labelled = labelled[np.unique(np.linspace(0, len(labelled) - 1, _MOST_TESTED).astype(int))]
    if not released.target.has_accuracy or len(labelled) < _FEWEST_TESTED:
        return None
    with suppress_output():
        numbers, failed = attempt(
            lambda: transformed(fitted_on_public(RowVectorizer(), X_public, seed=0), X_public)
        )
    if failed is not None or not np.isfinite(numbers).all():
        return None
    votes = np.eye(released.n_classes)[released.labels[labelled]]
    votes = votes[:, votes.any(axis=0)]
    return p_value_of_counts(votes, np.ones(len(votes)), numbers[labelled], 0.0)


def warn_of_one_class(released: Published, plan: Plan | None = None) -> bool:
    """Warn if all released labels are of one class, up to noise; return whether it warned.

    Parameters
    ----------
    released : Published
        Results of the fit.
    plan : Plan or None, default=None
        Plan of the fit. None, as in `fit_student`, omits the test of labels from teachers.

    Returns
    -------
    bool
    """
    labels = released.labels[released.labels >= 0]
    if labels.size == 0 or not released.target.has_accuracy:
        return False
    if released.target.are_of_one_class(labels):
        failed = f" (yours failed: {released.problem})" if released.problem is not None else ""
        released.warn(
            f"all {labels.size} released labels are of one class, and so are all predictions "
            f"of the student{failed}. If the other classes are rare, predict_proba may still rank "
            "the rows, and class_weight='balanced' predicts them, at no privacy cost. A larger "
            "epsilon, or more queries of teachers, may show more classes; each new fit spends more "
            "of the privacy budget"
        )
        return True
    text = None
    if released.table is not None:
        text = _one_class_of_records(released)
    elif plan is not None and plan.has_teachers:
        text = _one_class_of_teachers(released, labels, plan)
    if text is not None:
        released.warn(text)
    return text is not None


def _one_class_of_records(released: Published) -> str | None:
    """Return a warning if the released table shows records of only one class, else None."""
    counts, noise_std = released.table.class_counts
    code, least = only_class(counts, noise_std)
    if code is None:
        return None
    label = released.label_of(code)
    return (
        f"the released counts show records of one class alone, {label!r}: fewer than {ceil(least)} "
        "records of another class cannot be distinguished from noise. Predictions of other classes "
        "are noise. A larger epsilon or more records may show other classes; each new fit spends "
        "more of the privacy budget"
    )


def _one_class_of_teachers(released: Published, labels: np.ndarray, plan: Plan) -> str | None:
    """Return a warning if the labels may come from teachers that all vote for one class."""
    counts = np.bincount(labels, minlength=released.n_classes)
    code = int(counts.argmax())
    with suppress_output():  # a user's mechanism may print made-up votes
        right = plan.share_right(1.0)
    by_chance = binom.sf(counts[code] - 1, labels.size, 1 / released.n_classes)
    # `right` may be NaN; the comparison is then False, and there is no warning
    if by_chance > _RARELY or not binom.cdf(counts[code], labels.size, right) > _RARELY:
        return None
    return (
        f"{counts[code]} of the {labels.size} released labels are of one class, "
        f"{released.label_of(code)!r}, and noise explains all others: if all teachers voted for "
        f"it, {percent(right)} of the labels would be right. A larger epsilon, more teachers or "
        "less noise may show more classes; each new fit spends more of the privacy budget"
    )


def check_class_weight(
    class_weight: Any,
    classes: np.ndarray,
    student: Estimator,
    X_public: Rows,
    *,
    releases_proba: bool,
) -> None:
    """Raise an error for invalid class weights, or a student that cannot use them.

    Parameters
    ----------
    class_weight : None, "balanced" or dict
        As given by the user.
    classes : ndarray of shape (n_classes,)
        Labels.
    student : classifier
        Unfitted student.
    X_public : array-like with n_public rows
        Public rows, for a dry run of the student with weights.
    releases_proba : bool
        Whether class probabilities are released. The weights are applied to them, so any student
        is accepted.

    Raises
    ------
    ValueError
        If a dict has an unknown class or a weight that is not a finite number above 0, or if labels
        are from teachers and the student does not use `sample_weight`.
    """
    if class_weight is None:
        return
    if isinstance(class_weight, dict):
        unknown = [label for label in class_weight if label not in classes.tolist()]
        if unknown:
            raise ValueError(
                f"class_weight has a weight for {unknown[0]!r}, which is not one of the "
                f"{len(classes)} classes; remove it"
            )
        numbers = class_weight.values()
        are_real = all(isinstance(number, Real) for number in numbers)
        if not are_real or not all(0 < as_float(number) < np.inf for number in numbers):
            raise ValueError("class_weight must be a dict of finite numbers above 0, by class")
    if releases_proba:
        return
    learns_otherwise = accepts_unlabeled(student) or accepts_soft_labels(student)
    problem = None
    if learns_otherwise or not accepts_weights(student):
        problem = "does not accept sample_weight"
    elif not heeds_weights(student, X_public):
        problem = "accepts sample_weight and does not use it"
    if problem is not None:
        raise ValueError(
            f"class_weight weights the labels from teachers, but fit of {type(student).__name__} "
            f"{problem}; give another student, or class_weight=None"
        )


def weights_of(class_weight: Any, classes: np.ndarray, shares: np.ndarray) -> np.ndarray | None:
    """Return the weight of each class; "balanced" uses the released class frequencies.

    Parameters
    ----------
    class_weight : None, "balanced" or dict
        As accepted by `check_class_weight`. Classes without an entry in a dict have weight 1.
    classes : ndarray of shape (n_classes,)
        Labels.
    shares : ndarray of shape (n_classes,)
        Released class frequencies, which sum to 1.

    Returns
    -------
    ndarray of shape (n_classes,) or None
        Weights; None if `class_weight` is None.
    """
    if class_weight is None:
        return None
    if isinstance(class_weight, dict):
        return np.array([class_weight.get(label, 1.0) for label in classes.tolist()], dtype=float)
    return 1 / (len(classes) * np.maximum(shares, 1e-3))  # frequencies of at least 0.001
