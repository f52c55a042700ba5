"""PATEClassifier: private teachers vote, noise protects the votes, a public student learns them."""

import dataclasses
import os
import warnings
from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, clone, is_classifier
from sklearn.ensemble import RandomForestClassifier
from sklearn.pipeline import Pipeline
from sklearn.semi_supervised import LabelPropagation, LabelSpreading, SelfTrainingClassifier
from sklearn.utils import get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, validate_data

from .._sklearn import (
    CallbackSupportMixin,
    HasMethods,
    Interval,
    StrOptions,
    _fit_context,
    _num_samples,
    _safe_indexing,
    _VisualBlock,
)
from ..accountant import Curator, PrivacySpent, StageRecord, plan_queries
from ..aggregators import GNMax, Mechanism
from ..exceptions import PrivacyLeakWarning, PrivacyTestError, StudentError
from ..isolation import (
    Quiet,
    attempt,
    copies,
    own_clone,
    own_generators,
    seeded,
    set_seeds,
    unfitted,
    without_caches,
)
from ..memory import digest, kept_entropy, private_memory
from ..partition import Assignment, PredefinedPartition, assign_teachers
from ..public import public_rows
from ..queries import (
    DiversityQueries,
    RandomQueries,
    UncertaintyQueries,
    count_rounds,
    rehearse,
    select_rows,
    split_rounds,
)
from ..rdp.checks import check_votes
from ..rdp.facts import facts_of
from ..secure import SystemGenerator
from ..teachers import Sites, Votes, collect_votes
from .checks import (
    check_classes,
    check_dtypes,
    check_forms,
    check_mechanism,
    check_predicted,
    check_private,
    check_released,
    check_rows_alone,
    indexable_rows,
    warn_if_delta_is_large,
)
from .progress import Progress
from .saving import Saved

__all__ = ["PATEClassifier"]


_STRATEGIES = {
    "random": RandomQueries,
    "uncertainty": UncertaintyQueries,
    "diversity": DiversityQueries,
}


class _Task(NamedTuple):
    """What `fit` was given, checked; private."""

    estimators: list
    X: Any
    codes: np.ndarray
    classes: np.ndarray
    sample_weight: np.ndarray | None
    X_public: Any
    schema: Any
    parts: Any
    seeds: dict


def _student_has(method):
    """Whether the student, fitted or to be fitted, has a method."""

    def check(self):
        student = getattr(self, "student_", None) or self._unfitted_student()
        getattr(student, method)  # its own AttributeError says why it has none
        return True

    return check


class PATEClassifier(CallbackSupportMixin, ClassifierMixin, BaseEstimator):
    """Classifier trained on private data through a noisy vote of teachers (PATE).

    The private records are split over teachers; each teacher votes on public, unlabelled points; a
    noisy aggregate of the votes labels some of them; a student learns those labels. Only the
    student and the released labels depend on private data, within the privacy that
    `privacy_spent_` states.

    Parameters
    ----------
    base_estimator : classifier or list of classifiers, default=None
        What each teacher is a clone of; a list is dealt to the teachers in turn. Preprocessing
        belongs inside it, as a Pipeline, where the guarantee covers it. It is fitted on label
        codes 0..K-1. Each teacher gets a copy with seeds of its own, without `verbose` and without
        the `memory` of Pipelines and scikit-learn's callbacks (students neither); skorch callbacks
        that keep weights in files are refused. None is a `RandomForestClassifier`.
    n_teachers : int, default=100
        Number of teachers. More teachers allow more noise, but each learns from fewer records.
    aggregator : Aggregator or list of Aggregator, default=None
        The mechanism that releases labels. None is ``GNMax(sigma=None)``: noise calibrated so
        that the queries cost exactly `epsilon`. A list is asked in stages, for instance
        ``[ConfidentGNMax(...), InteractiveGNMax(...)]``: `epsilon` caps all of them together, and
        the student is fitted in between for mechanisms that compare votes with it. Stages without
        noise of their own share one scale.
    student : classifier, default=None
        What is trained on the released labels and published. None is a clone of `base_estimator`
        (the first of a list). It is fitted on label codes 0..K-1. Each `random_state` in it that is
        None or a generator is replaced by a number, which follows from the fit's own
        `random_state`, if given, and otherwise comes from the operating system. scikit-learn's
        `SelfTrainingClassifier`, `LabelPropagation` and `LabelSpreading`, and others with the
        attribute ``accepts_unlabeled = True``, get all rows of `X_public`, with -1 where no label
        was released; so do pipelines that end in one. `students.SoftLabelClassifier` gets soft
        labels from `SoftVote`.
    n_queries : int or list of int, default=None
        How many public rows to ask about; a list for stages. None: as many as the budget pays for;
        with calibrated noise, as many as keep it at ``n_teachers / 4`` or less.
    query_strategy : {"random", "uncertainty", "diversity"} or object, default="random"
        Which public rows to ask about; an object has a `select` method, see
        `sklearn_pate.queries`. "uncertainty" asks in rounds about the rows of which the student is
        least sure, "diversity" about rows that cover the public data. Rounds choose among all
        rows of `X_public`, so teachers vote on all of them.
    epsilon : float or None, default=1.0
        Hard cap on the privacy loss of one fit: it asks fewer queries rather than crossing it. A
        mechanism that checks before it answers gets back what unanswered queries did not spend.
        None for no cap.
    delta : float, default=1e-5
        Probability with which the guarantee may fail; well below one over the number of records.
        From there on it warns, by the number of teachers where that of records is not public.
    accounting : {"data_independent", "ptr"}, default="data_independent"
        "data_independent" spends what the queries cost on any votes. "ptr"
        (propose-test-release) spends less when teachers agree: labels are released only if a
        private test finds the exact cost of the votes small enough for `epsilon`. It needs numbers
        for `epsilon`, `n_queries` and the aggregator's noise, and queries that do not depend on
        labels. If the test fails, `fit` raises `PrivacyTestError`, and `epsilon` is spent all the
        same.
    unit : {"record", "group"}, default="record"
        What the guarantee protects. "group" needs ``fit(..., groups=...)``.
    partition : {"random", "hash", "predefined"} or object, default="random"
        How records are dealt to teachers, and so which change of the data is covered
        (`privacy_spent_.adjacency`):

        - "random": seeded permutation, near-equal parts: replace one record; the number of
          records is public;
        - "hash": keyed hash of the DataFrame's index: add or remove one record, or change it
          under the same identifier;
        - "predefined": `groups` names the teacher of each record (one hospital, one teacher):
          change records of one group that keeps at least one; `n_teachers` is ignored;
        - `partition.PredefinedPartition(names=[...])`: the same with public names, which may be
          without records: change any records of one named group, even all;
        - an object with `adjacency` and `assign`, see `sklearn_pate.partition`.

        If `groups` is given, "random" and "hash" become a keyed hash of the group's identifier:
        add or remove one group, or change its records.
    classes : array-like of shape (n_classes,), default=None
        All labels that may occur: public knowledge. None reads them from the private labels,
        which the guarantee does not cover, and warns.
    keep_teachers : bool, default=False
        Keep the fitted teachers in `curator_.teachers`.
    n_jobs : int, default=None
        Teachers fitted in parallel, as in joblib. In threads they take turns, and a warning says
        so: threads share the random numbers of numpy, Python and torch. What a teacher or the
        student would itself run in parallel with joblib (a forest's `n_jobs`) runs one after the
        other.
    timeout : float, default=None
        Seconds that a teacher may take to fit and vote; one that takes longer fails the fit, before
        any label is released. It needs `n_jobs` of 2 or more, in processes. None waits for ever.
    random_state : int, RandomState instance or None, default=None
        None takes all randomness, the noise above all, from the operating system. A seed makes
        the whole fit reproducible for any `n_jobs`: for tests only, because whoever knows the seed
        can subtract the noise. A published seed voids the guarantee. Clones in a search, and
        several fits with one seed, share it: what they release can be combined to undo the noise,
        even by who does not know the seed. It is dropped from pickles of a fitted estimator, but
        a seed that can be guessed can be checked against what was published.
    secure : bool, default=False
        Draw all noise from the operating system's generator instead of numpy's, which the system
        only seeds. Only mechanisms with ``noise="discrete"`` are exact as well: in others,
        floating-point numbers round the noise. It cannot go with a `random_state`. A private
        search then also draws the noise of its scores, the number of trials and the candidate of
        each trial this way.
    memory : str, path-like, joblib.Memory or None, default=None
        A folder where the votes of each teacher are kept as soon as it has finished, so that a
        fit that was interrupted goes on from there: the next fit with the same data and
        parameters trains the missing teachers only. Without a `random_state`, it also has the same
        partition, teachers and queries, and fresh noise. What counts as the same: the data, the
        parameters, the code of classes and functions in `base_estimator` with what that code
        refers to by name, variables with their values, and of Python and what is installed the
        version. Not seen are files that a fit reads, modules that it imports inside a function,
        what it finds by a name made at run time, annotations, compiled extensions of your own,
        the state of objects that do not pickle, and variables of a module that the fit itself
        changes, but for the statements that assign them: use another folder then. The
        folder is private data, and for you to delete. Votes go to `joblib` in it, made with mode
        0700; one that others may read is refused. A `joblib.Memory` is taken as it is.
    ledger : PrivacyLedger or None, default=None
        A budget for all fits on one private data set, `ledger.PrivacyLedger`: it refuses
        a fit that would exceed it before any teacher trains, and records the others before
        labels are released. It refuses fits with a `random_state`.
    verbose : int, default=0
        Above 0, print one updating line per phase: teachers, queries, student. With scikit-learn
        1.9 or newer, `set_callbacks` is another way to see them, for instance with its
        `ProgressBar`; callbacks see counts and, in place of the estimator, its parameters that
        are public numbers.

    Attributes
    ----------
    privacy_spent_ : PrivacySpent
        What the fit spent, safe to publish; unpacks into ``epsilon, delta``.
    student_ : classifier
        The fitted student.
    aggregator_ : Aggregator or list of Aggregator
        The mechanism used, with its noise set.
    classes_ : ndarray of shape (n_classes,)
        Sorted labels.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Feature names, if the private data had string column names.
    n_teachers_ : int
        Number of teachers.
    public_labels_ : ndarray of shape (n_public,), int
        Per public row the code of its released label (index into `classes_`), -1 where none.
    public_soft_labels_ : ndarray of shape (n_public, n_classes) or None
        With `SoftVote`: per public row its released distribution over classes, NaN where none.
    query_indices_ : ndarray of shape (n_queries,), int
        Public rows asked, in order.
    curator_ : Curator
        Private view: votes, data-dependent epsilon, teachers if kept. Gone after pickling and
        copying.

    Raises
    ------
    BudgetExceededError
        From `fit`, before any teacher trains, if `epsilon` does not pay for one query, or the
        ledger not for the fit. If another process used the ledger up while teachers trained, it
        is raised after; either way nothing was released or spent.
    TeacherError
        From `fit`, if a teacher fails; no label was released.
    PrivacyTestError
        From `fit`, if the votes do not pass the test of ``accounting="ptr"``. No label was
        released; it says what the outcome of the test cost.
    StudentError
        From `fit`, if the released labels cannot train the student. It carries the labels, which
        are paid for; `fit_student` tries another student on them.

    Notes
    -----
    Each fit spends anew: the losses of several fits on the same private data add up.

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

    # Requested by default, so that metadata routing needs no call from the user
    __metadata_request__fit = {"X_public": True, "groups": True}

    _parameter_constraints: dict = {
        "base_estimator": [HasMethods(["fit", "predict"]), list, None],
        "n_teachers": [Interval(Integral, 1, None, closed="left")],
        "aggregator": [Mechanism, list, None],
        "student": [HasMethods(["fit", "predict"]), None],
        "n_queries": [Interval(Integral, 1, None, closed="left"), list, None],
        "query_strategy": [StrOptions(set(_STRATEGIES)), HasMethods(["select"])],
        "epsilon": [Interval(Real, 0, None, closed="neither"), None],
        "delta": [Interval(Real, 0, 1, closed="neither")],
        "accounting": [StrOptions({"data_independent", "ptr"})],
        "unit": [StrOptions({"record", "group"})],
        "partition": [StrOptions({"random", "hash", "predefined"}), HasMethods(["assign"])],
        "classes": ["array-like", None],
        "keep_teachers": ["boolean"],
        "n_jobs": [Integral, None],
        "timeout": [Interval(Real, 0, None, closed="neither"), None],
        "random_state": ["random_state"],
        "secure": ["boolean"],
        "memory": [str, os.PathLike, HasMethods(["cache"]), None],
        "ledger": [HasMethods(["check", "record"]), None],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        base_estimator=None,
        *,
        n_teachers=100,
        aggregator=None,
        student=None,
        n_queries=None,
        query_strategy="random",
        epsilon=1.0,
        delta=1e-5,
        accounting="data_independent",
        unit="record",
        partition="random",
        classes=None,
        keep_teachers=False,
        n_jobs=None,
        timeout=None,
        random_state=None,
        secure=False,
        memory=None,
        ledger=None,
        verbose=0,
    ):
        self.base_estimator = base_estimator
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
        self.verbose = verbose

    @_fit_context(prefer_skip_nested_validation=False)
    def fit(self, X, y, X_public=None, *, groups=None, sample_weight=None):
        """Train teachers on private data, release noisy labels, train the student on them.

        Parameters
        ----------
        X : array-like, sparse matrix, DataFrame or Sites with n_samples rows
            Private features. Passed through as they are: text columns, categoricals and arrays
            with more than two axes reach the teachers untouched, and a `numpy.memmap` is read one
            part at a time. All teachers see the dtypes and categories of a DataFrame, so they must
            be those of `X_public`. `teachers.Sites`: each teacher loads its own data.
        y : array-like of shape (n_samples,)
            Private labels: strings, integers or booleans. None with `Sites`.
        X_public : array-like, sparse matrix, DataFrame or PublicData with n_public rows
            Public, unlabelled points with the same features. Required: the teachers label some
            of them, and the student sees nothing else. `PublicData(X_public)` in searches and
            cross-validation, which would cut an array of as many rows as `X`.
        groups : array-like of shape (n_samples,), default=None
            One identifier per record: of the person it belongs to, or, with
            ``partition="predefined"``, of its teacher.
        sample_weight : array-like of shape (n_samples,), default=None
            Passed to the teachers whose ``fit`` takes it. Each weight must depend on its own
            record alone, or the guarantee does not hold.

        Returns
        -------
        PATEClassifier
            Itself, fitted.

        Raises
        ------
        BudgetExceededError, TeacherError, PrivacyTestError, StudentError
            See the class.
        ValueError
            For missing public data, inconsistent lengths or parameters out of range. Nothing was
            spent.
        """
        task = self._check(X, y, X_public, groups, sample_weight)
        plan = self._plan(task.X_public, task.parts, len(task.classes))
        rows = self._first_rows(task.X_public, plan, len(task.classes), task.seeds)
        with Progress(self, n_phases=3) as progress:
            votes = self._vote(task, rows, progress)
            return self._learn(votes, task.X_public, task.schema, plan, rows, task.seeds, progress)

    @_fit_context(prefer_skip_nested_validation=False)
    def plan(self, X, y, X_public=None, *, groups=None, sample_weight=None):
        """Check all that `fit` would, and say what it would ask and cost; nothing is spent.

        Parameters
        ----------
        X, y, X_public, groups, sample_weight
            As in `fit`.

        Returns
        -------
        Plan
            `stages`, the aggregators with their noise set and the queries of each, and `spent`,
            what `privacy_spent_` will say. It depends on public numbers alone.

        Raises
        ------
        BudgetExceededError, ValueError
            As `fit`.

        Examples
        --------
        >>> from sklearn.datasets import make_classification
        >>> from sklearn_pate import PATEClassifier
        >>> X, y = make_classification(3000, random_state=0)
        >>> clf = PATEClassifier(epsilon=1.0, n_queries=30, classes=[0, 1])
        >>> plan = clf.plan(X[:2000], y[:2000], X_public=X[2000:])
        >>> [(str(aggregator), n_queries) for aggregator, n_queries in plan.stages]
        [('GNMax(sigma=25.2...)', 30)]
        """
        task = self._check(X, y, X_public, groups, sample_weight)
        return self._plan(task.X_public, task.parts, len(task.classes))

    @_fit_context(prefer_skip_nested_validation=False)
    def poll(self, X, y, X_public=None, *, groups=None, sample_weight=None):
        """Train the teachers and return their votes on all public rows: private, for `fit_votes`.

        What takes long is done once; aggregators, students and query strategies can then be
        compared without training teachers again. If `aggregator` is a `SoftVote`, the teachers give
        probabilities of its temperature, for mechanisms of that kind; else votes.

        Parameters
        ----------
        X, y, X_public, groups, sample_weight
            As in `fit`.

        Returns
        -------
        Votes
            Private, like `curator_`: no mechanism released it. It cannot be pickled.

        Raises
        ------
        TeacherError, ValueError
            As in `fit`.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from sklearn.naive_bayes import GaussianNB
        >>> from sklearn_pate import PATEClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> clf = PATEClassifier(GaussianNB(), n_teachers=10, epsilon=20, classes=[0, 1, 2])
        >>> votes = clf.poll(X[::2], y[::2], X_public=X[1::2])
        >>> clf.fit_votes(votes, X[1::2]).n_teachers_
        10
        """
        task = self._check(X, y, X_public, groups, sample_weight)
        with Progress(self, n_phases=1) as progress:
            return self._vote(task, np.arange(_num_samples(task.X_public)), progress)

    @_fit_context(prefer_skip_nested_validation=False)
    def fit_votes(self, votes, X_public):
        """Do all of `fit` but the teachers: release labels from votes, train the student.

        Each call spends anew on the same private data, and choosing among candidates by anything
        but public data or released labels spends as well: what you publish in the end must account
        for all labels that were looked at. Trying things out on votes that stay with you is free.
        Never publish two results with the same `random_state`: their noise is related.

        Parameters
        ----------
        votes : Votes or array-like of shape (n_public, n_classes)
            From `poll`, or counts of any teachers' votes on each row of `X_public`: whole
            numbers, and each row sums to the number of teachers. With counts, `privacy_spent_`
            protects the votes of one teacher, and `classes` defaults to 0..n_classes-1. Number of
            teachers, partition and unit are those of the votes.
        X_public : array-like or PublicData with n_public rows
            The rows that were voted on, in that order.

        Returns
        -------
        PATEClassifier
            Itself, fitted.

        Raises
        ------
        BudgetExceededError, PrivacyTestError, StudentError
            As in `fit`.
        ValueError
            If the votes do not belong to `X_public`, `classes` or the aggregator.
        """
        if X_public is None:
            raise ValueError("X_public is missing: the rows that were voted on")
        self._check_estimators()
        X_public = indexable_rows(public_rows(X_public), "X_public")
        schema = clone(self)
        schema._check_features(X_public, "X_public", reset=True)
        votes = self._check_votes(votes, _num_samples(X_public))
        seeds = _streams(self.random_state, self.secure)
        plan = self._plan(X_public, votes, len(votes.classes))
        rows = self._first_rows(X_public, plan, len(votes.classes), seeds)
        votes = dataclasses.replace(votes, counts=votes.counts[rows])
        with Progress(self, n_phases=2) as progress:
            return self._learn(votes, X_public, schema, plan, rows, seeds, progress)

    def fit_student(self, X_public, student=None):
        """Train another student on the labels already released, at no privacy cost.

        Parameters
        ----------
        X_public : array-like or PublicData with n_public rows
            The public data given to `fit`, rows in the same order.
        student : classifier, default=None
            Unfitted; None is the estimator's own.

        Returns
        -------
        PATEClassifier
            Itself, with a new `student_`.

        Raises
        ------
        NotFittedError
            If no labels were released yet.
        StudentError
            If the labels cannot train this student either.
        ValueError
            If `X_public` has another number of rows or features than in `fit`.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from sklearn.naive_bayes import GaussianNB
        >>> from sklearn.neighbors import KNeighborsClassifier
        >>> from sklearn_pate import PATEClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> clf = PATEClassifier(GaussianNB(), n_teachers=10, epsilon=20, classes=[0, 1, 2])
        >>> clf = clf.fit(X[::2], y[::2], X_public=X[1::2])
        >>> clf.fit_student(X[1::2], KNeighborsClassifier(3)).student_
        KNeighborsClassifier(n_neighbors=3)
        """
        check_is_fitted(self, "public_labels_")
        X_public = indexable_rows(public_rows(X_public), "X_public")
        self._check_features(X_public, "X_public")
        if _num_samples(X_public) != len(self.public_labels_):
            raise ValueError(
                f"X_public has {_num_samples(X_public)} rows, and labels were released for the "
                f"{len(self.public_labels_)} rows given to fit; pass the same rows in that order"
            )
        student = self._unfitted_student() if student is None else student
        _check_classifier("student", student)
        return self._fit_student(
            X_public, student, _streams(self.random_state, self.secure)["student"]
        )

    def predict(self, X):
        """Predict labels with the student.

        Parameters
        ----------
        X : array-like with n_samples rows
            Points to classify.

        Returns
        -------
        ndarray of shape (n_samples,)
            Predicted labels, elements of `classes_`.
        """
        X = self._check_predict(X)
        codes = check_predicted(self.student_.predict(X), n_classes=len(self.classes_))
        return self.classes_[codes]

    @available_if(_student_has("predict_proba"))
    def predict_proba(self, X):
        """Predict class probabilities with the student.

        Parameters
        ----------
        X : array-like with n_samples rows
            Points to classify.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            One column per element of `classes_`, zero for a class that was never released.
        """
        X = self._check_predict(X)
        return self._all_columns(self.student_.predict_proba(X), 0.0)

    @available_if(_student_has("predict_proba"))
    def predict_log_proba(self, X):
        """Log of `predict_proba`.

        Parameters
        ----------
        X : array-like with n_samples rows
            Points to classify.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            -inf for a class that was never released.
        """
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

    @available_if(_student_has("decision_function"))
    def decision_function(self, X):
        """Decision values of the student.

        Parameters
        ----------
        X : array-like with n_samples rows
            Points to classify.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
            As the student's; for more than two classes, one column per element of `classes_`,
            -inf for a class that was never released.
        """
        X = self._check_predict(X)
        values = np.asarray(self.student_.decision_function(X))
        if len(self.classes_) > 2 and values.ndim == 1:
            values = np.column_stack([-values, values])
        per_class = values.ndim == 2 and values.shape[1] == len(self.student_.classes_)
        return self._all_columns(values, -np.inf) if per_class else values

    # --- steps of fit ------------------------------------------------------------------------

    def _base_estimators(self):
        given = RandomForestClassifier() if self.base_estimator is None else self.base_estimator
        return given if isinstance(given, list) else [given]

    def _unfitted_student(self):
        return self._base_estimators()[0] if self.student is None else self.student

    def _strategy(self):
        given = self.query_strategy
        if isinstance(given, type):
            raise ValueError(f"query_strategy must be an object; got a class, {given.__name__}")
        return _STRATEGIES[given]() if isinstance(given, str) else clone(given, safe=False)

    def _check(self, X, y, X_public, groups, sample_weight):
        """Check all that `fit` is given, and deal the records to teachers."""
        estimators = self._check_estimators()
        X, X_public, schema = self._check_features_of(X, X_public)
        if isinstance(X, Sites):
            return self._check_sites(
                estimators, X, y, X_public, schema, groups=groups, sample_weight=sample_weight
            )
        codes, classes, sample_weight = check_private(X, y, self.classes, sample_weight)
        seeds, memory = _streams(self.random_state, self.secure), private_memory(self.memory)
        if memory is not None and self.random_state is None:
            # The next fit on these data has the same parts, teachers and queries, and fresh noise
            # (queries are published: were they to follow the private data, they would tell of a
            # change between two fits)
            given = digest(X, codes, groups, self.n_teachers, self.partition, self.unit)
            public = digest(X_public)
            seeds |= _kept_seeds(memory, partition=given, teachers=given, queries=public)
        # in silence: what a partition prints or warns of may quote identifiers
        with Quiet(), seeded(_seed_number(seeds["partition"])):
            parts = assign_teachers(
                clone(self.partition, safe=False),
                n_records=len(codes),
                n_teachers=self.n_teachers,
                unit=self.unit,
                index=getattr(X, "index", None),
                groups=groups,
                seed=seeds["partition"],
            )
        return _Task(estimators, X, codes, classes, sample_weight, X_public, schema, parts, seeds)

    def _check_sites(self, estimators, sites, y, X_public, schema, **not_given):
        """The same for private data that each teacher loads itself."""
        for name, value in {"y": y, **not_given}.items():
            if value is not None:
                raise ValueError(
                    f"{name} must be None when X is Sites, whose load returns X and y of each site"
                )
        if self.keep_teachers:
            raise ValueError(
                "keep_teachers must be False when X is Sites: a fitted teacher can hold records"
            )
        if self.classes is None:
            raise ValueError(
                "classes must be given when X is Sites: all labels that may occur at any site"
            )
        classes = check_classes(self.classes)
        seeds, memory = _streams(self.random_state, self.secure), private_memory(self.memory)
        if memory is not None and self.random_state is None:
            # of the teachers the same for any names: one site more leaves the others' votes kept
            seeds |= _kept_seeds(memory, teachers=digest("sites"), queries=digest(X_public))
        named = PredefinedPartition(sites.names)
        parts = Assignment(None, len(named.names), "group", named.adjacency, named.names)
        return _Task(estimators, sites, None, classes, None, X_public, schema, parts, seeds)

    def _check_estimators(self):
        estimators = self._base_estimators()
        if not estimators:
            raise ValueError("base_estimator must not be an empty list; give at least 1 classifier")
        student = self._unfitted_student()
        for estimator in estimators:
            _check_classifier("base_estimator", estimator)
        _check_classifier("student", student)
        stages = self.aggregator if isinstance(self.aggregator, list) else [self.aggregator]
        for stage in stages:
            without = [e for e in estimators if not hasattr(e, "predict_proba")]
            if getattr(stage, "temperature", None) is not None and without:
                raise ValueError(f"{stage} needs teachers with predict_proba; got {without[0]!r}")
        for asking in [*stages, self._strategy()]:
            if getattr(asking, "uses_student_proba", False) and not hasattr(
                student, "predict_proba"
            ):
                raise ValueError(f"{asking} needs a student with predict_proba; got {student!r}")
        return estimators

    def _check_features_of(self, X, X_public):
        X_public = public_rows(X_public)
        if X_public is None:
            raise ValueError(
                "X_public is missing: public, unlabelled rows with the same features as X. The "
                "teachers label some of them and the student learns from those alone; private "
                "rows cannot take their place. Call fit(X, y, X_public=...)"
            )
        if X_public is X:
            warnings.warn(
                "X_public is X: the student would learn from private rows, which the privacy "
                "guarantee does not cover; pass rows that are public",
                PrivacyLeakWarning,
                stacklevel=5,
            )
        X_public = indexable_rows(X_public, "X_public")
        schema = clone(self)  # a refit that fails must not change what predict expects
        if isinstance(X, Sites):
            schema._check_features(X_public, "X_public", reset=True)
            return X, X_public, schema
        X = indexable_rows(X, "X")
        schema._check_features(X, "X", reset=True)
        check_forms(X, X_public)
        schema._check_features(X_public, "X_public")
        check_dtypes(X, X_public)
        return X, X_public, schema

    def _check_features(self, X, name, reset=False):
        """Check axes, number and names of features; the values are left to the estimators."""
        shape = X.shape
        if len(shape) < 2:
            raise ValueError(
                f"Expected {name} as a 2D array (or more axes), got a {len(shape)}D array. "
                "Reshape your data with X.reshape(-1, 1) for one feature or X.reshape(1, -1) for "
                "one sample"
            )
        if 0 in shape[:2]:
            raise ValueError(
                f"{name} has {shape[0]} sample(s) and {shape[1]} feature(s) (shape={shape}) while "
                "a minimum of 1 is required."
            )
        try:
            if not getattr(getattr(X, "columns", None), "is_unique", True):
                raise ValueError(f"Expected unique column names, got {list(X.columns)}")
            validate_data(self, X, reset=reset, skip_check_array=True)
        except (TypeError, ValueError) as error:
            where = "" if name == "X" else f"{name} does not have the features of X: "
            kind = ValueError if isinstance(error, ValueError) else TypeError
            raise kind(f"{name}: {error}" if reset else f"{where}{error}") from None

    def _check_votes(self, votes, n_public):
        """Return votes on the public rows as `Votes`."""
        if not isinstance(votes, Votes):
            counts = check_votes(votes)
            if len(counts) == 0:
                raise ValueError("votes has no rows; give one row of votes for each public row")
            votes = Votes.of_teachers(counts, self.classes)
        elif self.classes is not None and not np.array_equal(
            votes.classes, np.unique(self.classes)
        ):
            raise ValueError(f"votes are about other classes than classes={self.classes}")
        if len(votes.counts) != n_public:
            raise ValueError(
                f"votes has {len(votes.counts)} rows and X_public {n_public}; give one row of "
                "votes for each public row"
            )
        given = votes.temperature
        if given != _temperature(self.aggregator):
            kind = "counts" if given is None else f"sums of probabilities of temperature {given:g}"
            raise ValueError(
                f"aggregator={self.aggregator} does not fit these votes, which are {kind}: "
                "SoftVote needs the sums that poll collects for a SoftVote of its temperature, "
                "other mechanisms need counts"
            )
        if votes.temperature is None:
            consistent = (check_votes(votes.counts).sum(axis=1) == votes.n_teachers).all()
        else:
            consistent = (np.sum(votes.counts, axis=1) <= votes.n_teachers * (1 + 1e-9)).all()
        if not consistent or votes.counts.shape[1] != len(votes.classes):
            raise ValueError(
                "votes do not hold one vote of each teacher for one of the classes in each row; "
                "pass what poll returned"
            )
        if self.unit == "group" and votes.unit != "group":
            raise ValueError(
                f"unit='group', but what these votes protect is one {votes.unit}; poll with groups"
            )
        return votes

    def _plan(self, X_public, parts, n_classes):
        """What to ask and what it costs, from public numbers; refused if a budget is exceeded."""
        if self.ledger is not None and self.random_state is not None:
            raise ValueError(
                "ledger refuses fits with a random_state: two of them with one seed, clones in a "
                f"search for instance, share noise; got random_state={self.random_state!r}, give "
                "random_state=None"
            )
        plan = plan_queries(
            GNMax(sigma=None) if self.aggregator is None else self.aggregator,
            self.n_queries,
            n_public=_num_samples(X_public),
            n_teachers=parts.n_teachers,
            n_classes=n_classes,
            epsilon=self.epsilon,
            delta=self.delta,
            accounting=self.accounting,
        )
        if count_rounds(self._strategy()) > 1:
            shared = [stage for stage, _ in plan.stages if _shares_cost(stage)]
            if plan.test is not None or self.accounting == "ptr" or shared:
                what = shared[0] if shared else "accounting='ptr'"
                raise ValueError(
                    f"query_strategy={self.query_strategy!r} asks in rounds, each of which depends "
                    f"on the labels before; {what} needs all queries at once. Use "
                    "query_strategy='random'"
                )
        dealt = parts.teacher if isinstance(parts, Assignment) else parts.teacher_indices
        n_records = None if dealt is None else len(dealt)
        warn_if_delta_is_large(
            self.delta, parts.adjacency, n_records=n_records, n_teachers=parts.n_teachers
        )
        spent = PrivacySpent(
            epsilon=plan.epsilon,
            delta=self.delta,
            method=plan.method,
            unit=parts.unit,
            adjacency=parts.adjacency,
            n_teachers=parts.n_teachers,
            n_queries=plan.n_queries,
            n_answered=0,
            arithmetic="exact" if _is_exact(plan) else "real",
            generator=self._source_of_noise(),
        )
        if self.ledger is not None:
            self.ledger.check(spent, plan.cost)
        for stage, _ in plan.stages:
            if not _is_ours(stage):
                check_mechanism(stage, n_teachers=parts.n_teachers, n_classes=n_classes)
        self._rehearse_student(X_public, plan.n_queries, n_classes)
        return dataclasses.replace(plan, spent=spent)

    def _source_of_noise(self):
        if self.random_state is not None:
            return "seed"
        return "system" if self.secure else "numpy"

    def _rehearse_student(self, X_public, n_queries, n_classes):
        """Try the student on public rows with made-up labels, before anything is spent."""
        if self.student is None or n_queries < 2:  # teachers are like it, and train before
            return
        with Quiet(), seeded(0):
            try:
                student = self._student_of_made_up_labels(X_public, n_queries, n_classes)
                some = np.arange(min(_num_samples(X_public), 50))
                predicted = student.predict(_safe_indexing(X_public, some))
                check_predicted(predicted, n_classes=n_classes)
            except Exception as error:
                raise ValueError(
                    "the student failed when tried on public rows with made-up labels, before any "
                    "teacher was trained; nothing was spent. What it needs of preprocessing (an "
                    f"encoder, an imputer) belongs inside it. {type(error).__name__}: {error}"
                ) from error

    def _check_rows_alone(self, X_public, n_queries):
        """Refuse a student whose prediction for one row depends on others; public rows show it."""
        X_public = indexable_rows(X_public, "X_public")
        with Quiet(), seeded(0):
            try:
                student = self._student_of_made_up_labels(X_public, n_queries, len(self.classes))
            except Exception:  # with real labels it may be trainable, and rows are scored alone
                return
            check_rows_alone(student, X_public)
            try:
                copies(student)()
            except Exception as error:
                raise ValueError(
                    "the student cannot be copied, and a private score shows each held-out record "
                    "to a fresh copy. Use a student that pickles, or score on public rows, X_val "
                    f"and y_val. Nothing was spent. {type(error).__name__}: {error}"
                ) from error

    def _student_of_made_up_labels(self, X_public, n_queries, n_classes):
        """Fit the student on public rows as if labels had been released for the first of them."""
        student = own_clone(self._unfitted_student(), seed=0)
        set_seeds(student, 0, only_missing=True)
        without_caches(student)
        n_rows = n_queries
        labels = np.arange(n_queries) % n_classes
        if _accepts_unlabeled(_last_step(student)):
            n_rows = min(_num_samples(X_public), max(1000, n_queries))
            labels = np.append(labels, np.full(n_rows - n_queries, -1))
        elif self._wants_soft_labels(student):
            labels = np.eye(n_classes)[labels]
        return student.fit(_safe_indexing(X_public, np.arange(n_rows)), labels)

    def _wants_soft_labels(self, student):
        return _temperature(self.aggregator) is not None and _accepts_soft_labels(
            _last_step(student)
        )

    def _first_rows(self, X_public, plan, n_classes, seeds):
        """Public rows that teachers vote on: the queries, or all rows if rounds will choose."""
        rng = np.random.default_rng(seeds["queries"])
        in_rounds = count_rounds(self._strategy()) > 1
        try:
            with seeded(_seed_number(seeds["queries"])):
                if not in_rounds:
                    return select_rows(self._strategy(), X_public, plan.n_queries, rng)
                rehearse(
                    self._strategy(), X_public, plan.stages[0][1], n_classes=n_classes, rng=rng
                )
        except Exception as error:
            tried = " when tried with made-up labels" if in_rounds else ""
            raise ValueError(
                f"query_strategy failed{tried}, before any teacher was trained; nothing was "
                f"spent. {type(error).__name__}: {error}"
            ) from error
        return np.arange(_num_samples(X_public))

    def _vote(self, task, rows, progress):
        with progress.phase("teachers", task.parts.n_teachers) as done:
            counts, teachers = collect_votes(
                task.estimators,
                task.X,
                task.codes,
                _safe_indexing(task.X_public, rows),
                teacher=task.parts.teacher,
                n_teachers=task.parts.n_teachers,
                n_classes=len(task.classes),
                classes=task.classes,
                sample_weight=task.sample_weight,
                seed=task.seeds["teachers"],
                names=task.parts.names,
                temperature=_temperature(self.aggregator),
                n_jobs=self.n_jobs,
                keep_teachers=self.keep_teachers,
                timeout=self.timeout,
                memory=private_memory(self.memory),
                on_done=done,
            )
        return Votes(
            counts,
            task.classes,
            n_teachers=task.parts.n_teachers,
            unit=task.parts.unit,
            adjacency=task.parts.adjacency,
            temperature=_temperature(self.aggregator),
            teacher_indices=task.parts.teacher,
            teachers=teachers,
        )

    def _learn(self, votes, X_public, schema, plan, rows, seeds, progress):
        """Release labels from the votes on `rows`, and train the student."""
        self._seed_used = True  # what is drawn from here on protects the votes
        if self.ledger is not None:
            self.ledger.record(plan.spent, plan.cost)
        self._test(plan, votes, seeds["test"])
        self._release(schema, X_public, votes, plan)
        log = []
        try:
            with progress.phase("queries", plan.n_queries) as done:
                self._ask(X_public, plan, votes.counts, rows, seeds, log, done)
        finally:
            taken = np.concatenate([np.array([], dtype=np.intp), *(own for _, own in log)])
            self.curator_ = Curator(
                [how for how, _ in log],
                votes.counts[taken],
                self.delta,
                votes.teacher_indices,
                votes.teachers,
                plan.test,
                cap=None if plan.budget is None else plan.epsilon,
            )
        with progress.phase("student", 1) as done:
            self._fit_student(X_public, self._unfitted_student(), seeds["student"])
            done(1)
        return self

    def _test(self, plan, votes, seed):
        if plan.test is None:
            return
        with Quiet():
            passed = plan.test.passes(votes.counts, np.random.default_rng(seed))
        if passed:
            return
        raise PrivacyTestError(
            "the votes did not pass the private test of accounting='ptr': their labels may cost "
            "more than it allows. No label was released, but the outcome of the test is, and "
            f"epsilon={plan.epsilon:g} is spent (this error's privacy_spent). Ask fewer queries, "
            "use more noise, raise epsilon, or use accounting='data_independent'",
            plan.spent,
        )

    def _release(self, schema, X_public, votes, plan):
        """Set what may be published before any label is; from here on they are paid for."""
        self.privacy_spent_ = plan.spent
        mechanisms = [aggregator for aggregator, _ in plan.stages]
        self.aggregator_ = mechanisms if isinstance(self.aggregator, list) else mechanisms[0]
        self.classes_ = votes.classes
        self.n_teachers_ = votes.n_teachers
        self.query_indices_ = np.array([], dtype=np.intp)
        self.public_labels_ = np.full(_num_samples(X_public), -1)
        self.public_soft_labels_ = None
        self.n_features_in_ = schema.n_features_in_
        self.__dict__.pop("feature_names_in_", None)
        if hasattr(schema, "feature_names_in_"):
            self.feature_names_in_ = schema.feature_names_in_
        for of_an_earlier_fit in ("student_", "curator_"):
            self.__dict__.pop(of_an_earlier_fit, None)

    def _ask(self, X_public, plan, counts, rows, seeds, log, done):
        """Release labels, by stages and rounds; log how, and which of the votes were asked."""
        noise = np.random.default_rng(seeds["noise"])
        choice = np.random.default_rng(seeds["queries"])
        with seeded(_seed_number(seeds["queries"])):
            strategy = self._strategy()
        in_rounds = count_rounds(strategy) > 1
        public = {"n_teachers": self.n_teachers_, "n_classes": len(self.classes_)}
        for aggregator, n_queries in plan.stages:
            for part in split_rounds(strategy, n_queries):
                proba = None
                if aggregator.uses_student_proba or self._wants_student(strategy):
                    proba = self._students_view(X_public, seeds["student"])
                if in_rounds:
                    own = self._next_round(strategy, X_public, part.size, proba, choice)
                else:
                    own = self.query_indices_.size + part
                shown = proba[rows[own]] if aggregator.uses_student_proba else None
                labels, paid = self._draw(aggregator, counts[own], rows[own], shown, noise)
                n_asked = plan.allowed(aggregator, paid, **public)
                own, labels, paid = own[:n_asked], labels[:n_asked], paid[:n_asked]
                shown = None if shown is None else shown[:n_asked]
                log.append((StageRecord(aggregator, n_asked, shown, paid), own))
                self.public_labels_[rows[own]] = labels
                self.query_indices_ = np.append(self.query_indices_, rows[own])
                self.privacy_spent_ = dataclasses.replace(
                    self.privacy_spent_,
                    n_queries=len(self.query_indices_),
                    n_answered=int((self.public_labels_ >= 0).sum()),
                )
                done(len(self.query_indices_))
                if n_asked < part.size:
                    break
        if plan.budget is not None and len(self.query_indices_) < plan.n_queries:
            warnings.warn(
                f"epsilon={plan.epsilon:g} paid for {len(self.query_indices_)} of the "
                f"{plan.n_queries} queries wanted; only those were asked. Use more noise or raise "
                "epsilon to ask them all",
                stacklevel=5,
            )

    def _wants_student(self, strategy):
        """Whether a strategy asks for the student's view, and there are labels to train it on."""
        if count_rounds(strategy) == 1 or not getattr(strategy, "uses_student_proba", False):
            return False
        return len(set(self.public_labels_) - {-1}) > 1

    def _students_view(self, X_public, seed):
        """Probabilities for the public rows, of a student fitted on the labels so far."""
        self._fit_student(X_public, self._unfitted_student(), seed)
        try:
            with seeded(_seed_number(seed)):
                return self._all_columns(self.student_.predict_proba(X_public), 0.0)
        except Exception as error:
            what = f"the student's predict_proba failed: {type(error).__name__}: {error}"
            raise self._student_error(what) from error
        finally:
            del self.student_  # it is not the one to be published

    def _next_round(self, strategy, X_public, n_queries, proba, rng):
        asked = self.query_indices_
        labels = self.public_labels_[asked]
        try:
            with seeded(int(rng.integers(2**32))):
                return select_rows(
                    strategy, X_public, n_queries, rng, proba, asked=asked, labels=labels
                )
        except Exception as error:
            what = f"query_strategy failed: {type(error).__name__}: {error}"
            raise self._student_error(what) from error

    def _draw(self, aggregator, votes, asked, proba, noise):
        """Labels, and which were paid for in full; sets the soft labels, if it draws them."""

        def drawn():
            released = aggregator.release(votes, proba, noise)
            return check_released(aggregator, released, votes.shape)

        with Quiet():  # a mechanism of the user's may warn of votes, or print them
            # our own messages quote no votes
            found, failed = (drawn(), None) if _is_ours(aggregator) else attempt(drawn)
        if failed is not None:
            raise ValueError(
                f"{type(aggregator).__name__} could not draw labels: {failed}, whose text is "
                "withheld, as it may quote votes. What the plan costs is spent. Try the mechanism "
                "on votes of your own"
            )
        labels, paid, soft = found
        if soft is not None:
            if self.public_soft_labels_ is None:
                shape = len(self.public_labels_), soft.shape[1]
                self.public_soft_labels_ = np.full(shape, np.nan)
            self.public_soft_labels_[asked] = soft
        return labels, paid

    def _fit_student(self, X_public, student, seed):
        labelled = np.flatnonzero(self.public_labels_ >= 0)
        labels = self.public_labels_[labelled]
        last = _last_step(student)
        try:
            if labelled.size == 0:
                raise ValueError("no query was answered")
            rows, targets = X_public, self.public_labels_
            if not _accepts_unlabeled(last):
                rows, targets = _safe_indexing(X_public, labelled), labels
                if self.public_soft_labels_ is not None and _accepts_soft_labels(last):
                    targets = self.public_soft_labels_[labelled]
            with seeded(_seed_number(seed)):
                student = own_clone(student, _seed_number(seed))
                set_seeds(student, _seed_number(seed), only_missing=True)
                without_caches(student)
                self.student_ = own_generators(student.fit(rows, targets))
        except Exception as error:
            raise self._student_error(
                f"the student could not be trained on the {labelled.size} released labels of "
                f"{np.unique(labels).size} class(es): {error}"
            ) from error
        return self

    def _student_error(self, what):
        return StudentError(
            f"{what.removesuffix('.')}. The labels released so far are paid for and in this "
            "error's public_labels; fit_student(X_public, student) tries another student at no "
            "cost",
            self.public_labels_.copy(),
            self.privacy_spent_,
        )

    # --- what the student's predictions need -------------------------------------------------

    def _check_predict(self, X):
        check_is_fitted(self)
        X = indexable_rows(X, "X")
        self._check_features(X, "X")
        return X

    def _all_columns(self, values, fill):
        """Spread the student's columns, one per class it saw, over all classes."""
        if values.shape[1] == len(self.classes_):
            return values
        full = np.full((len(values), len(self.classes_)), fill)
        full[:, np.asarray(self.student_.classes_).astype(np.intp)] = values
        return full

    # --- scikit-learn's protocols ------------------------------------------------------------

    def __sklearn_is_fitted__(self):
        return hasattr(self, "student_")

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        first = next(iter(self._base_estimators()), RandomForestClassifier())
        tags.input_tags = get_tags(first).input_tags
        tags.input_tags.pairwise = False
        return tags

    def _sk_visual_block_(self):
        """The diagram: teachers, aggregator and student, and what was spent."""
        aggregator = getattr(self, "aggregator_", self.aggregator)
        if aggregator is None:
            aggregator = GNMax(sigma=None)
        stages = aggregator if isinstance(aggregator, list) else [aggregator]
        n_teachers = getattr(self, "n_teachers_", self.n_teachers)
        parts = [(f"{n_teachers} teachers", e) for e in self._base_estimators()]
        parts += [("aggregator", stage) for stage in stages]
        parts.append(("student", getattr(self, "student_", self._unfitted_student())))
        names = [f"{part}: {type(estimator).__name__}" for part, estimator in parts]
        diagram = _VisualBlock("parallel", [estimator for _, estimator in parts], names=names)
        if not hasattr(self, "privacy_spent_"):
            return diagram
        said = self.privacy_spent_.summary()
        spent = _VisualBlock("single", said, names=said, name_details=repr(self.privacy_spent_))
        return _VisualBlock("serial", [diagram, spent], dash_wrapped=False)

    def __getstate__(self):
        # Private: the curator's view, whatever the given estimators were fitted on before, and,
        # once noise was drawn from it, the seed.
        state = dict(super().__getstate__())
        state.pop("curator_", None)
        state = own_generators(state)
        for name in [*self._get_param_names(), "aggregator_"]:
            if name in state:
                state[name] = unfitted(state[name])
        if state.pop("_seed_used", False):
            state["random_state"] = None
            state.pop("_skl_callbacks", None)
        if "student_" in state:  # what predicts need not have the teachers' libraries
            state |= {name: Saved.of(state[name]) for name in ("base_estimator", "student")}
        return state

    def __setstate__(self, state):
        saved = {name: part.load() for name, part in state.items() if isinstance(part, Saved)}
        super().__setstate__(state | saved)


# --- randomness --------------------------------------------------------------------------------


def _streams(random_state, secure=False):
    """Independent sources of randomness: one per use, so that none reveals another."""
    uses = ("partition", "queries", "teachers", "noise", "student", "test")
    if secure and random_state is not None:
        raise ValueError(
            "secure=True draws what no seed can repeat; give random_state=None, got "
            f"random_state={random_state!r}"
        )
    if random_state is None:
        streams = {use: np.random.SeedSequence() for use in uses}
        noise = {use: SystemGenerator() for use in ("noise", "test")} if secure else {}
        return streams | noise
    if isinstance(random_state, np.random.RandomState):
        random_state = random_state.randint(2**32, size=4, dtype=np.uint32).tolist()
    return dict(zip(uses, np.random.SeedSequence(random_state).spawn(len(uses)), strict=True))


def _seed_number(sequence):
    """Return a seed of 32 bits that follows from a `SeedSequence`."""
    return int(sequence.generate_state(1)[0])


def _kept_seeds(memory, **keys):
    """Seeds that are the same for the same keys as long as memory lasts."""
    return {
        use: np.random.SeedSequence(kept_entropy(memory, (key, use))) for use, key in keys.items()
    }


def _check_classifier(name, estimator):
    if isinstance(estimator, type):
        raise TypeError(
            f"{name} must be an estimator instance, {estimator.__name__}(); got the class"
        )
    if not hasattr(estimator, "get_params") or not is_classifier(estimator):
        raise ValueError(
            f"{name} must be a classifier: teachers and student must be classifiers, as they vote "
            f"for classes; got {estimator!r}"
        )


def _last_step(student):
    return student.steps[-1][1] if isinstance(student, Pipeline) else student


def _accepts_unlabeled(student):
    """Whether the student learns from rows labelled -1 as well."""
    known = SelfTrainingClassifier, LabelPropagation, LabelSpreading
    return isinstance(student, known) or getattr(student, "accepts_unlabeled", False)


def _accepts_soft_labels(student):
    return getattr(student, "accepts_soft_labels", False)


def _shares_cost(aggregator):
    """Whether the queries of a mechanism share their cost."""
    return facts_of(aggregator).total is not None


def _is_ours(aggregator):
    """Whether a mechanism is of this library: its messages quote no votes."""
    return type(aggregator).__module__.partition(".")[0] == __package__.partition(".")[0]


def _is_exact(plan):
    """Whether nothing that a plan draws is rounded."""
    return plan.test is None and all(facts_of(stage).exact for stage, _ in plan.stages)


def _temperature(aggregator):
    """Temperature of the teachers' probabilities; None if they vote."""
    if isinstance(aggregator, list):  # SoftVote is the only stage where it is used
        aggregator = aggregator[0] if aggregator else None
    return getattr(aggregator, "temperature", None)
