"""PATEClassifier: a student that learns from noisy votes of private records or teachers."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import ClassifierMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from ._sklearn import StrOptions, delegated
from .encoding.targets import ClassTarget, SeveralTargets, holds_lists
from .estimator import PATEEstimator, usual_floats
from .rdp.checks import as_array
from .students import all_columns

if TYPE_CHECKING:
    from joblib import Memory

    from ._typing import Estimator, RandomState, Rows
    from .aggregators.base import Mechanism
    from .aggregators.table import TableMechanism
    from .encoding.schema import Schema
    from .encoding.targets import Target
    from .ledger.ledger import PrivacyLedger
    from .methods.base import Method
    from .releases.base import Release
    from .synthesis.synthesizers import Synthesizer


class PATEClassifier(ClassifierMixin, PATEEstimator):
    """Classifier trained on private data through a noisy vote (PATE).

    The private records vote on public, unlabelled points. Depending on `method`, each record casts
    one vote in the cell that contains it, or the records are summed by class, or they are split
    among teachers and each teacher votes. Noise is added to the votes or sums, which label these
    points. A student learns the labels. Only the student and the released results depend on
    private data, and `privacy_spent_` contains their privacy cost.

    Defaults of numbers, such as `n_teachers` and `n_queries`, are computed from public numbers; see
    `sklearn_pate.rules`.

    Parameters
    ----------
    base_estimator : classifier, list of classifiers, default=None
        The model of each teacher, which is cloned. The models of a list are assigned to the
        teachers in turn. If None, teachers are logistic regressions on the output of a
        `neighbors.RowVectorizer`. Preprocessing belongs inside the model, as a Pipeline: the
        guarantee covers it there. The model is fitted on label codes 0..K-1. If `y` has several
        columns, a model that supports several outputs (scikit-learn's tag `multi_output`) is fitted
        once, and any other once for each column. Each teacher gets a copy with its own seeds and
        with `verbose` off. The copies for teachers and for the student have no scikit-learn
        callbacks, and their Pipelines have no `memory`. skorch callbacks that write or read files
        raise an error.
    method : {"auto", "neighbors", "sums", "teachers"} or Method, default="auto"
        Method that computes labels of public rows from private records:

        - "neighbors": each record votes in the cell that contains it, `methods.ReverseNeighbors`.
        - "sums": noisy sums of the columns by class, `methods.ClassSums`. They suit many columns
          and few records.
        - "teachers": models vote, each trained on a part of the records. They suit features that
          must be learnt, such as images.
        - "auto": teachers if `base_estimator` or a parameter that only teachers have is set
          (`n_teachers`, `partition`, `keep_teachers`, `timeout`, `n_queries`, `query_strategy`,
          `accounting`, or an `Aggregator`). Otherwise "neighbors" or "sums",
          depending on public numbers and, for two classes, on how rare one is. Noisy counts of
          declared classes are then released first, with 1 to 5 % of `epsilon`. See
          `methods.choose_method`; `plan` contains the reason.
        - An object of a class in `methods`, or of your own subclass of `methods.VotingMethod`.
    n_teachers : int, default=None
        Number of teachers. More teachers allow more noise, but each learns from fewer records. If
        None, `rules.default_n_teachers` computes it from the numbers of records and classes and
        from `epsilon`; it is 100 if the number of records is private.
    aggregator : Aggregator or list of Aggregator, default=None
        The mechanism that releases labels. None means ``GNMax(sigma=None)``, with noise that is
        calibrated so that the queries cost exactly `epsilon`. The aggregators of a list are used
        in stages, for instance ``[ConfidentGNMax(...), InteractiveGNMax(...)]``, and `epsilon`
        limits the total cost of all stages. Stages are for one target. For mechanisms that compare
        votes with the student, a student is fitted between stages. Stages without a noise scale get
        one common calibrated scale. Where records vote, the mechanism is a `TableMechanism`, by
        default `LaplaceMechanism()`.
    student : classifier, default=None
        The classifier that is trained on the released labels and published. The default is a clone
        of `base_estimator`, or of the first in a list. Where records vote, the default is a
        `neighbors.LandmarkClassifier`, which learns from the released class probabilities; other
        students may be less accurate. The student is fitted on label codes 0..K-1. Each
        `random_state` in it that is None or a generator is replaced by a number. This number is
        derived from the fit's own `random_state` if there is one, and otherwise comes from the
        operating system. Students that also learn from unlabelled rows get all rows of
        `X_public`, with -1 where no label was released: scikit-learn's `SelfTrainingClassifier`,
        `LabelPropagation` and `LabelSpreading`, classifiers with the attribute
        ``accepts_unlabeled = True``, and pipelines that end in one of these.
        `students.SoftLabelClassifier` gets soft labels from `SoftVote`. Where records vote, a
        student that uses `sample_weight` learns class probabilities, and any other student learns
        assigned labels.
    n_queries : int or list of int, default=None
        Number of public rows to query; each costs one query for each column of `y`. A list has one
        number for each stage. If None, it is the
        largest number within the budget. If the noise is calibrated, the noise scale is then at
        most ``n_teachers / (2 * sqrt(n_classes))``, unless this would allow fewer than 5 queries
        for each class.
    query_strategy : {"random", "uncertainty", "diversity"} or object, default="random"
        Selection of the public rows to query. "uncertainty" queries in rounds the rows on which
        the student is least certain. "diversity" queries rows that cover the public data. An
        object must have a `select` method, see `sklearn_pate.queries`. Strategies that query in
        rounds choose among all rows of `X_public`, so teachers vote on all of them; they are for
        one target.
    epsilon : float or None, default=1.0
        Limit on the privacy loss of one fit. A fit makes fewer queries if all of them would exceed
        the limit. If a mechanism checks the votes before it answers, a query without an answer
        costs only the check, and the rest of its cost is left for other queries. None means no
        limit.
    delta : float, default=1e-5
        Additive term of the guarantee: if a set of outcomes has probability Q on one data set, it
        has probability at most ``e**epsilon * Q + delta`` on a neighbouring one. Choose it well
        below one over the number of records. The fit warns if it is equal or larger. If the number
        of records is not public, the warning uses the number of teachers instead.
    accounting : {"data_independent", "ptr"}, default="data_independent"
        "data_independent" spends a cost that holds for all votes. "ptr" (propose-test-release)
        spends less when teachers agree: labels are released only if a private test finds the exact
        cost of the votes small enough for `epsilon`. It requires numbers for `epsilon`,
        `n_queries` and the aggregator's noise, one target, and queries that do not depend on
        labels. If the test fails, `fit` raises `PrivacyTestError`, and `epsilon` is spent
        nevertheless.
    unit : {"record", "group"}, default="record"
        Unit that the guarantee protects. "group" requires ``fit(..., groups=...)``.
    partition : {"random", "hash", "predefined"} or object, default="random"
        Assignment of records to teachers. It determines which change of the private data the
        guarantee covers (`privacy_spent_.relation`):

        - "random" shuffles the records with a seed and cuts them into nearly equal parts. It
          covers replacing one record. The number of records is public.
        - "hash" uses a keyed hash of the DataFrame's index. It covers adding or removing one
          record, or changing it under the same identifier.
        - "predefined" takes the teacher of each record from `groups` (one hospital, one teacher).
          It covers changing the records of one group, if the group keeps at least one record.
          `n_teachers` is ignored.
        - `partition.PredefinedPartition(names=[...])` does the same with public names. A name may
          have no records. It covers changing any records of one named group, even all of them.
        - Any object with `relation` and `assign`, see `sklearn_pate.partition`.

        If `groups` is given, "random" and "hash" use a keyed hash of the group's identifier
        instead. This covers adding or removing one group, or changing its records.
    classes : array-like of shape (n_classes,) or list of these, default=None
        All labels that may occur, which are public knowledge. If None, the classes are the labels
        whose noisy counts exceed a threshold, which `plan` prints. `epsilon` covers this first
        release, and records with other labels count nowhere. Boolean labels have two known classes.
        The type of the labels (text, integers or booleans) is taken as public. With
        ``epsilon=None``, classes are read from the private labels, with a warning. If `y` has
        several columns (multi-label or multi-output targets), it is a list with the classes of
        each, such as ``[[0, 1], [0, 1]]`` for a matrix of indicators.
    keep_teachers : bool, default=False
        Whether to keep the fitted teachers in `curator_.teachers`. A model that is fitted for each
        of several targets is a list there.
    n_jobs : int, default=None
        Number of teachers fitted in parallel, as in joblib. Where records vote or are summed, the
        number of blocks of records processed in parallel. Threads share the random numbers of
        numpy, Python and torch, so in threads the teachers take turns, and the fit warns about it.
        Computations that a teacher or the student would run in parallel with joblib (a forest's
        `n_jobs`) run sequentially.
    timeout : float, default=None
        Seconds that a teacher may take to fit and vote. If one takes longer, the fit fails before
        any label is released. A timeout requires `n_jobs` of 2 or more, and processes as workers.
        None means no limit.
    random_state : int, RandomState instance or None, default=None
        If None, all randomness, including the noise, comes from the operating system. A seed makes
        the whole fit reproducible for any `n_jobs`. It is for tests only: anyone with the seed
        can subtract the noise, so a published seed voids the guarantee. `privacy_spent_` and its
        summary record it, and the first seeded fit of a process warns about it. Several fits with
        one seed share their noise, including fits of clones in a search. Their releases can be
        combined to remove the noise, even without the seed. A pickle of a fitted estimator does
        not contain the seed, but a pickle of a `GridSearchCV` around it does. Without the pickle,
        anyone can still guess a seed and compare its result with the published one.
    secure : bool, default=False
        Whether to raise an error if `random_state` is set, so that no published result depends on a
        seed. This does not change the noise: without a `random_state`, all noise comes from the
        operating system's generator.
    memory : str, path-like, joblib.Memory or None, default=None
        A folder that caches the votes of each teacher when its training ends, so that an
        interrupted fit can continue. The next fit with the same data and parameters trains only
        the missing teachers. Where records vote, the folder caches the votes of each block of
        records, and the seed of the cells. It also caches the counts of each block from which a
        schema is estimated. The sums for synthetic rows depend on a fresh noisy mean, and are not
        cached. Without a `random_state`, the next fit also has the same partition, teachers and
        queries, but fresh noise.

        Two fits count as the same if all of these are equal: the data, the parameters, the code of
        classes and functions in `base_estimator`, everything that this code refers to by name
        (variables with their values), and the versions of Python and of the installed packages.
        Some changes are not detected: changes of files that a fit reads, of modules that it
        imports inside a function, of objects that it finds by a name made at run time, of
        annotations, of your own compiled extensions, of the state of objects that do not pickle,
        and of module variables that the fit itself changes, except in the statements that assign
        them. Use another folder after such a change.

        The folder contains private data, and you must delete it yourself. Votes go into its
        subfolder `joblib`, which is created with mode 0700. If other users may read this subfolder,
        the fit raises an error. A `joblib.Memory` is used unchanged.
    ledger : PrivacyLedger or None, default=None
        A `ledger.PrivacyLedger` with one budget for all fits on one private data set. A fit that
        would exceed the budget raises an error before any teacher trains. Any other fit is recorded
        before labels are released. Fits with a `random_state` raise an error.
    synthesizer : Synthesizer, default=None
        Samples synthetic rows from noisy statistics of the private rows, for fits without public
        rows, ``fit(X, y)``: `synthesis.ClassSumsSynthesizer` or `synthesis.MarginalSynthesizer`.
        `epsilon` covers these statistics, and the synthesizer's `epsilon_fraction` is their part
        of it. If both `synthesizer` and `X_public` are None, ``ClassSumsSynthesizer()`` is used.
    verbose : int, default=0
        If above 0, print one line of progress for each phase: teachers, queries and student.
    schema : dict, list, tuple or synthesis.Schema, default=None
        Values that columns may hold, for use without public rows: a tuple of numbers, ``(low,
        high)``, or a list of categories. The schema of all other columns is estimated, with a part
        of epsilon; see `schema_`. The declared schema is public, and is not used if `X_public` is
        given.
    class_weight : None, "balanced", dict or list of these, default=None
        Class weights, applied after the noise to the labels that the student learns. "balanced"
        gives all classes the same total weight, so that rare classes are predicted. A dict has a
        weight for each class; other classes have weight 1. The weights depend on released
        class frequencies only and are applied to released labels, at no privacy cost. A list has
        the weights of each of several targets.
    releases : list of Release, default=None
        Other statistics of the private records that `fit` releases within the same `epsilon`: see
        `releases.Release`.
    warm_start : bool, default=False
        Whether to continue an interrupted fit of this estimator instead of starting a new one.
        Statistics and synthetic rows that it published are reused and not paid for twice;
        `privacy_spent_` covers them. The plan must be the same, because its cost was fixed before
        anything was published: a fit with another `epsilon`, `aggregator` or `schema` raises an
        error. After a complete fit, this parameter has no effect. `clone` discards an interrupted
        fit, and a pickle keeps it.
    on_bad_plan : {"raise", "warn"}, default="raise"
        Reaction to a plan from which no useful student can be learnt: the noise exceeds the signal
        of all records, there are hardly any public rows, there are fewer labels than classes, or
        private rows are given as public rows. "raise" raises a `BadPlanError` before labels are
        paid for. "warn" issues a warning and continues. `plan` lists these errors without raising
        them.

    Attributes
    ----------
    privacy_spent_ : PrivacySpent
        Privacy cost of the fit. It is safe to publish, and unpacks into ``epsilon, delta``.
    student_ : classifier
        The fitted student. It was trained on label codes, so its `predict` returns codes, and its
        `classes_` are the codes that were released. For labels, use `predict` of this classifier,
        or ``classes_[student_.predict(X)]``.
    aggregator_ : Aggregator or list of Aggregator
        The mechanism used, with its noise set.
    classes_ : ndarray of shape (n_classes,), or list of these
        Sorted labels, of each of several targets.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Feature names, if the private data had string column names.
    n_teachers_ : int
        Number of teachers; absent where records vote.
    public_labels_ : ndarray of shape (n_public,) or (n_public, n_targets), int
        For each public row the code of its released label (an index into `classes_`), or -1 if it
        has none.
    public_soft_labels_ : ndarray of shape (n_public, n_classes), list of these, or None
        With `SoftVote`, for each public row its released distribution over classes, or NaN if it
        has none. Where records vote, the released class probabilities. Otherwise None.
    query_indices_ : ndarray of shape (n_queries,), int
        Indices of the queried public rows, in order. Where records vote, indices of the rows that
        got a label.
    X_synthetic_ : array-like with n_rows rows
        The synthetic rows, which replace public rows and are published. Absent if public rows were
        given. If a fit fails after the rows are sampled and before labels are released, this is the
        only fitted attribute, and the rows can be given as `X_public`.
    schema_ : synthesis.Schema
        The declared or estimated schema of the columns; absent if public rows were given.
    released_ : list of ndarray
        The released result of each element of `releases`; absent if there are no `releases`.
    table_ : neighbors.ReleasedTable, released class sums or readouts.SeveralTables
        Where records vote or are summed, the published noisy table or sums, which label any row.
        Absent where teachers vote. Its `shift` is the distance of the public rows from the private
        records, a `shift.PublicShift`, or None without public rows; a fit warns if it raises an
        alarm.
    curator_ : Curator
        Private view of the fit: votes, data-dependent epsilon, and teachers if they were kept.
        Pickles and copies omit it.

    Raises
    ------
    BudgetExceededError
        From `fit`, if `epsilon` is too small for one query, or if the budget of the ledger is too
        small for the fit. It is raised before any teacher trains, unless another process exhausts
        the ledger while teachers train; then it is raised afterwards. In both cases no label was
        released. Nothing was spent, except for classes, class shares or synthetic rows that were
        already published: `privacy_spent` of the error has their cost.
    BadPlanError
        From `fit`, if nothing can be learnt at the planned cost; see `on_bad_plan`.
    TeacherError
        From `fit`, if a teacher fails, or if the votes of records cannot be counted. No label was
        released.
    PrivacyTestError
        From `fit`, if the votes do not pass the test of ``accounting="ptr"``. No label was
        released. The error contains the privacy cost of the test's outcome.
    StudentError
        From `fit`, if the student cannot be trained on the released labels. The error contains the
        labels, which are paid for; `fit_student` trains another student on them.

    Notes
    -----
    The privacy losses of several fits on the same private data add up. Searches and
    cross-validation fit many times. `privacy_spent_.fit_number` is the number of fits that the
    process has begun, including this one, and the summary of all fits except the first includes
    it. Fits within the training of a teacher are part of that fit, and are not counted. Each worker
    process has its own count, from 1. Only a `ledger` records the cost on one data set in all
    processes.

    References
    ----------
    .. [1] Papernot, Abadi, Erlingsson, Goodfellow, Talwar (2017). Semi-supervised knowledge
           transfer for deep learning from private training data. ICLR.
    .. [2] Papernot, Song, Mironov, Raghunathan, Talwar, Erlingsson (2018). Scalable private
           learning with PATE. ICLR.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn_pate import PATEClassifier
    >>> X, y = make_classification(3000, n_features=5, class_sep=2, random_state=0)
    >>> clf = PATEClassifier(LogisticRegression(), classes=[0, 1])
    >>> clf = clf.fit(X[:2000], y[:2000], X_public=X[2000:2500])
    >>> epsilon, delta = clf.privacy_spent_
    >>> epsilon <= 1.0
    True
    >>> clf.predict(X[2500:]).shape
    (500,)
    """

    target_type = ClassTarget
    classes_: np.ndarray | list[np.ndarray]

    _parameter_constraints: dict = {
        **PATEEstimator._parameter_constraints,
        "classes": ["array-like", None],
        "class_weight": [StrOptions({"balanced"}), dict, list, None],
    }

    def __init__(
        self,
        base_estimator: Estimator | list[Estimator] | None = None,
        *,
        method: Literal["auto", "neighbors", "sums", "teachers"] | Method = "auto",
        n_teachers: int | None = None,
        aggregator: Mechanism | TableMechanism | list[Mechanism] | None = None,
        student: Estimator | None = None,
        n_queries: int | list[int] | None = None,
        query_strategy: Literal["random", "uncertainty", "diversity"] | Any = "random",
        epsilon: float | None = 1.0,
        delta: float = 1e-5,
        accounting: Literal["data_independent", "ptr"] = "data_independent",
        unit: Literal["record", "group"] = "record",
        partition: Literal["random", "hash", "predefined"] | Any = "random",
        classes: ArrayLike | None = None,
        keep_teachers: bool = False,
        n_jobs: int | None = None,
        timeout: float | None = None,
        random_state: RandomState = None,
        secure: bool = False,
        memory: str | PathLike[str] | Memory | None = None,
        ledger: PrivacyLedger | None = None,
        synthesizer: Synthesizer | None = None,
        verbose: int = 0,
        on_bad_plan: Literal["raise", "warn"] = "raise",
        schema: Schema | dict[Any, Any] | Sequence[Any] | None = None,
        class_weight: Literal["balanced"] | dict[Any, float] | list[Any] | None = None,
        releases: list[Release] | None = None,
        warm_start: bool = False,
    ) -> None:
        self.base_estimator = base_estimator
        self.method = method
        self.n_teachers = n_teachers
        self.aggregator = aggregator
        self.student = student
        self.n_queries = n_queries
        self.query_strategy = query_strategy
        self.epsilon = epsilon
        self.delta = delta
        self.accounting = accounting
        self.unit = unit
        self.partition = partition
        self.classes = classes
        self.keep_teachers = keep_teachers
        self.n_jobs = n_jobs
        self.timeout = timeout
        self.random_state = random_state
        self.secure = secure
        self.memory = memory
        self.ledger = ledger
        self.synthesizer = synthesizer
        self.verbose = verbose
        self.on_bad_plan = on_bad_plan
        self.schema = schema
        self.class_weight = class_weight
        self.releases = releases
        self.warm_start = warm_start

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = tags.target_tags.multi_output
        return tags

    def _declared_target(self) -> Target | None:
        if self.classes is None:
            return None
        if holds_lists(self.classes):
            declared: Any = self.classes
            return ClassTarget.of_parts([ClassTarget(each) for each in declared])
        return ClassTarget(self.classes)

    @usual_floats
    def predict(self, X: Rows) -> np.ndarray:
        """Predict labels with the student.

        Parameters
        ----------
        X : array-like with n_samples rows
            Points to classify.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_targets)
            Predicted labels, elements of `classes_`.
        """
        codes = self._ask("student_", "predict", X)
        target = self._fitted_target
        return target.labels_at(target.check_predicted(codes))

    @available_if(delegated("predict_proba", "student_", "_student"))
    @usual_floats
    def predict_proba(self, X: Rows) -> np.ndarray | list[np.ndarray]:
        """Predict class probabilities with the student.

        Parameters
        ----------
        X : array-like with n_samples rows
            Points to classify.

        Returns
        -------
        ndarray of shape (n_samples, n_classes), or list of these
            One column per element of `classes_`. It is zero for a class that was never released.
            For several targets, a list with the probabilities of each.
        """
        proba = self._ask("student_", "predict_proba", X)
        if self._fitted_target.n_targets == 1:
            return self._all_columns(proba, 0.0)
        if isinstance(proba, np.ndarray) and proba.ndim == 2:  # of indicators
            proba = [np.column_stack([1 - column, column]) for column in proba.T]
        seen_classes = self.student_.classes_
        if not isinstance(seen_classes, list):
            seen_classes = [np.arange(2)] * len(proba)
        return [
            all_columns(of_target, seen, n_classes=len(classes), fill=0.0)
            for of_target, seen, classes in zip(proba, seen_classes, self.classes_, strict=True)
        ]

    @available_if(delegated("predict_proba", "student_", "_student"))
    def predict_log_proba(self, X: Rows) -> np.ndarray | list[np.ndarray]:
        """Predict logarithms of class probabilities with the student.

        Parameters
        ----------
        X : array-like with n_samples rows
            Points to classify.

        Returns
        -------
        ndarray of shape (n_samples, n_classes), or list of these
            One column per element of `classes_`. It is -inf for a class that was never released.
            For several targets, a list with the logarithms of each.
        """
        proba = self.predict_proba(X)
        with np.errstate(divide="ignore"):
            return list(map(np.log, proba)) if isinstance(proba, list) else np.log(proba)

    @available_if(delegated("decision_function", "student_", "_student"))
    def decision_function(self, X: Rows) -> np.ndarray:
        """Compute decision values with the student.

        Parameters
        ----------
        X : array-like with n_samples rows
            Points to classify.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
            For two classes, the student's values. For more, one column per element of `classes_`,
            with -inf for a class that was never released. Values with another number of columns,
            such as one-versus-one values of four or more released classes, are returned unchanged,
            and so are codes of a student of several targets.
        """
        values = np.asarray(self._ask("student_", "decision_function", X))
        if self._fitted_target.n_targets > 1:
            return values
        if len(self.classes_) > 2 and values.ndim == 1:
            values = np.column_stack([-values, values])
        per_class = values.ndim == 2 and values.shape[1] == len(self.student_.classes_)
        return self._all_columns(values, -np.inf) if per_class else values

    def score(self, X: Rows, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Return the accuracy of `predict`; for several targets, rows count if all are right.

        Parameters
        ----------
        X : array-like with n_samples rows
            Points to classify.
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            Their labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows.

        Returns
        -------
        float
            Accuracy, from 0 to 1.
        """
        check_is_fitted(self)
        target = self._fitted_target
        if isinstance(target, SeveralTargets):  # as in sklearn.multioutput
            columns = zip(target.columns_of(y), self.predict(X).T, strict=True)
            is_right = np.all([own == predicted for own, predicted in columns], axis=0)
            weights: Any = sample_weight
            return float(np.average(is_right, weights=weights))
        # Scikit-learn does not compare NumPy's variable-width strings, which `fit` accepts
        is_numpy_text = getattr(getattr(y, "dtype", None), "kind", "") == "T"
        labels = as_array("y", y) if is_numpy_text else y
        return super().score(X, labels, sample_weight)

    def _all_columns(self, values: np.ndarray, fill: float) -> np.ndarray:
        n_classes = len(self.classes_)
        return all_columns(values, self.student_.classes_, n_classes=n_classes, fill=fill)
