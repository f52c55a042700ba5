"""PATEClassifier: private teachers vote, noise protects the votes, a public student learns them."""

import dataclasses
import warnings
from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin, clone, is_classifier
from sklearn.ensemble import RandomForestClassifier
from sklearn.pipeline import Pipeline
from sklearn.semi_supervised import LabelPropagation, LabelSpreading, SelfTrainingClassifier
from sklearn.utils import column_or_1d, get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_consistent_length, check_is_fitted, validate_data

from ._sklearn import (
    HasMethods,
    Interval,
    StrOptions,
    _fit_context,
    _num_samples,
    _safe_indexing,
)
from .accountant import Asked, Curator, PrivacySpent, plan_queries
from .aggregators import Aggregator, GNMax
from .exceptions import PrivacyLeakWarning, PrivacyTestError, StudentError
from .partition import assign_teachers
from .queries import DiversityQueries, RandomQueries, UncertaintyQueries
from .rdp import DEFAULT_ORDERS, check_votes
from .teachers import Votes, collect_votes, set_seeds, torch_seeded

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


class PATEClassifier(ClassifierMixin, BaseEstimator):
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
        codes 0..K-1. None is a `RandomForestClassifier`.
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
        (the first of a list). It is fitted on label codes 0..K-1. scikit-learn's
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
    accounting : {"worst_case", "ptr"}, default="worst_case"
        "worst_case" spends what the queries cost on any votes. "ptr" (propose-test-release) spends
        less when teachers agree: labels are released only if a private test finds the exact cost
        of the votes small enough for `epsilon`. It needs numbers for `epsilon`, `n_queries` and
        the aggregator's noise, and queries that do not depend on labels. If the test fails,
        `fit` raises `PrivacyTestError`, and `epsilon` is spent all the same.
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
          change the records of one group; the names are public, `n_teachers` is ignored;
        - an object with `adjacency` and `assign`, see `sklearn_pate.partition`.

        If `groups` is given, "random" and "hash" become a keyed hash of the group's identifier:
        add or remove one group, or change its records.
    classes : array-like of shape (n_classes,), default=None
        All labels that may occur: public knowledge. None reads them from the private labels,
        which the guarantee does not cover, and warns.
    keep_teachers : bool, default=False
        Keep the fitted teachers in `curator_.teachers`.
    n_jobs : int, default=None
        Teachers fitted in parallel, as in joblib.
    random_state : int, RandomState instance or None, default=None
        None takes all randomness, the noise above all, from the operating system. A seed makes
        the whole fit reproducible for any `n_jobs`: for tests only, because whoever knows the seed
        can subtract the noise. A published seed voids the guarantee, and clones in a search share
        it. It is dropped from pickles of a fitted estimator, but a seed that can be guessed can
        be checked against what was published.
    verbose : int, default=0
        Above 0, print progress.

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
        From `fit`, before any teacher trains, if `epsilon` does not pay for one query.
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
        "aggregator": [Aggregator, list, None],
        "student": [HasMethods(["fit", "predict"]), None],
        "n_queries": [Interval(Integral, 1, None, closed="left"), list, None],
        "query_strategy": [StrOptions(set(_STRATEGIES)), HasMethods(["select"])],
        "epsilon": [Interval(Real, 0, None, closed="neither"), None],
        "delta": [Interval(Real, 0, 1, closed="neither")],
        "accounting": [StrOptions({"worst_case", "ptr"})],
        "unit": [StrOptions({"record", "group"})],
        "partition": [StrOptions({"random", "hash", "predefined"}), HasMethods(["assign"])],
        "classes": ["array-like", None],
        "keep_teachers": ["boolean"],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
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
        accounting="worst_case",
        unit="record",
        partition="random",
        classes=None,
        keep_teachers=False,
        n_jobs=None,
        random_state=None,
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
        self.random_state = random_state
        self.verbose = verbose

    @_fit_context(prefer_skip_nested_validation=False)
    def fit(self, X, y, X_public=None, *, groups=None, sample_weight=None):
        """Train teachers on private data, release noisy labels, train the student on them.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame with n_samples rows
            Private features. Passed through as they are: text columns, categoricals and arrays
            with more than two axes reach the teachers untouched. All teachers see the dtypes and
            categories of a DataFrame, so they must be those of `X_public`.
        y : array-like of shape (n_samples,)
            Private labels: strings, integers or booleans.
        X_public : array-like, sparse matrix or DataFrame with n_public rows
            Public, unlabelled points with the same features. Required: the teachers label some
            of them, and the student sees nothing else.
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
        plan = self._plan(task.X_public, task.parts.n_teachers, len(task.classes))
        rows = self._first_rows(task.X_public, plan, task.seeds)
        votes = self._vote(task, rows)
        return self._learn(votes, task.X_public, task.schema, plan, rows, task.seeds)

    @_fit_context(prefer_skip_nested_validation=False)
    def poll(self, X, y, X_public=None, *, groups=None, sample_weight=None):
        """Train the teachers and return their votes on all public rows: private, for `fit_votes`.

        What takes long is done once; aggregators, students and query strategies can then be
        compared without training teachers again.

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
        return self._vote(task, np.arange(_num_samples(task.X_public)))

    @_fit_context(prefer_skip_nested_validation=False)
    def fit_votes(self, votes, X_public):
        """Do all of `fit` but the teachers: release labels from votes, train the student.

        Each call spends anew on the same private data, and choosing among candidates by anything
        but public data or released labels spends as well: what you publish in the end must account
        for all labels that were looked at. Trying things out on votes that stay with you is free.

        Parameters
        ----------
        votes : Votes or array-like of shape (n_public, n_classes)
            From `poll`, or counts of any teachers' votes on each row of `X_public`: whole
            numbers, and each row sums to the number of teachers. With counts, `privacy_spent_`
            protects the votes of one teacher, and `classes` defaults to 0..n_classes-1.
        X_public : array-like with n_public rows
            The rows that were voted on.

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
        X_public = _rows(X_public)
        schema = clone(self)
        schema._check_features(X_public, "X_public", reset=True)
        votes = self._check_votes(votes, _num_samples(X_public))
        seeds = _streams(self.random_state)
        plan = self._plan(X_public, votes.n_teachers, len(votes.classes))
        rows = self._first_rows(X_public, plan, seeds)
        votes = dataclasses.replace(votes, counts=votes.counts[rows])
        return self._learn(votes, X_public, schema, plan, rows, seeds)

    def fit_student(self, X_public, student=None):
        """Train another student on the labels already released, at no privacy cost.

        Parameters
        ----------
        X_public : array-like with n_public rows
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
        X_public = _rows(X_public)
        self._check_features(X_public, "X_public")
        if _num_samples(X_public) != len(self.public_labels_):
            raise ValueError(
                f"X_public has {_num_samples(X_public)} rows, and labels were released for the "
                f"{len(self.public_labels_)} rows given to fit; pass the same rows in that order"
            )
        student = self._unfitted_student() if student is None else student
        return self._fit_student(X_public, student, _streams(self.random_state)["student"])

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
        return self.classes_[np.asarray(self.student_.predict(X)).astype(np.intp)]

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
        return _STRATEGIES[given]() if isinstance(given, str) else clone(given, safe=False)

    def _check(self, X, y, X_public, groups, sample_weight):
        """Check all that `fit` is given, and deal the records to teachers."""
        estimators = self._check_estimators()
        X, X_public, schema = self._check_features_of(X, X_public)
        codes, classes, sample_weight = _check_private(X, y, self.classes, sample_weight)
        seeds = _streams(self.random_state)
        parts = assign_teachers(
            clone(self.partition, safe=False),
            len(codes),
            self.n_teachers,
            unit=self.unit,
            index=getattr(X, "index", None),
            groups=groups,
            seed=seeds["partition"],
        )
        return _Task(estimators, X, codes, classes, sample_weight, X_public, schema, parts, seeds)

    def _check_estimators(self):
        estimators = self._base_estimators()
        if not estimators:
            raise ValueError("base_estimator must not be an empty list; give at least 1 classifier")
        student = self._unfitted_student()
        for estimator in [*estimators, student]:
            if not is_classifier(estimator):
                raise ValueError(
                    f"teachers and student must be classifiers, as they vote for classes; "
                    f"got {estimator!r}"
                )
        stages = self.aggregator if isinstance(self.aggregator, list) else [self.aggregator]
        for stage in stages:
            without = [e for e in estimators if not hasattr(e, "predict_proba")]
            if getattr(stage, "wants_proba", False) and without:
                raise ValueError(f"{stage} needs teachers with predict_proba; got {without[0]!r}")
        for asking in [*stages, self._strategy()]:
            if getattr(asking, "uses_student_proba", False) and not hasattr(
                student, "predict_proba"
            ):
                raise ValueError(f"{asking} needs a student with predict_proba; got {student!r}")
        return estimators

    def _check_features_of(self, X, X_public):
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
        X, X_public = _rows(X), _rows(X_public)
        schema = clone(self)  # a refit that fails must not change what predict expects
        schema._check_features(X, "X", reset=True)
        schema._check_features(X_public, "X_public")
        _check_dtypes(X, X_public)
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
            validate_data(self, X, reset=reset, skip_check_array=True)
        except ValueError as error:
            where = "" if name == "X" else f"{name} does not have the features of X: "
            raise ValueError(f"{where}{error}") from None

    def _check_votes(self, votes, n_public):
        """Return votes on the public rows as `Votes`."""
        if not isinstance(votes, Votes):
            votes = Votes.of_teachers(check_votes(votes), self.classes)
        elif self.classes is not None and not np.array_equal(
            votes.classes, np.unique(self.classes)
        ):
            raise ValueError(
                f"votes are about the classes {votes.classes}, and classes={self.classes}"
            )
        if len(votes.counts) != n_public:
            raise ValueError(
                f"votes has {len(votes.counts)} rows and X_public {n_public}; give one row of "
                "votes for each public row"
            )
        if votes.temperature != _temperature(self.aggregator):
            raise ValueError(
                f"{self.aggregator} does not fit these votes: SoftVote needs those of its own "
                "temperature from poll, other mechanisms counts"
            )
        return votes

    def _plan(self, X_public, n_teachers, n_classes):
        plan = plan_queries(
            GNMax(sigma=None) if self.aggregator is None else self.aggregator,
            self.n_queries,
            n_public=_num_samples(X_public),
            n_teachers=n_teachers,
            n_classes=n_classes,
            epsilon=self.epsilon,
            delta=self.delta,
            accounting=self.accounting,
        )
        if _n_rounds(self._strategy()) > 1:
            shared = [stage for stage, _ in plan.stages if stage.steps(DEFAULT_ORDERS[:1]) is None]
            if plan.test is not None or self.accounting == "ptr" or shared:
                what = shared[0] if shared else "accounting='ptr'"
                raise ValueError(
                    f"query_strategy={self.query_strategy!r} asks in rounds, each of which depends "
                    f"on the labels before; {what} needs all queries at once. Use "
                    "query_strategy='random'"
                )
        return plan

    def _first_rows(self, X_public, plan, seeds):
        """Public rows that teachers vote on: the queries, or all rows if rounds will choose."""
        strategy, n_public = self._strategy(), _num_samples(X_public)
        if _n_rounds(strategy) > 1:
            return np.arange(n_public)
        rng = np.random.default_rng(seeds["queries"])
        rows = strategy.select(X_public, plan.n_queries, random_state=rng)
        return _check_rows(rows, plan.n_queries, np.arange(n_public))

    def _vote(self, task, rows):
        counts, teachers = collect_votes(
            task.estimators,
            task.X,
            task.codes,
            _safe_indexing(task.X_public, rows),
            teacher=task.parts.teacher,
            n_teachers=task.parts.n_teachers,
            n_classes=len(task.classes),
            sample_weight=task.sample_weight,
            seed=task.seeds["teachers"],
            temperature=_temperature(self.aggregator),
            n_jobs=self.n_jobs,
            keep_teachers=self.keep_teachers,
            verbose=self.verbose,
        )
        return Votes(
            counts,
            task.classes,
            task.parts.n_teachers,
            task.parts.unit,
            task.parts.adjacency,
            _temperature(self.aggregator),
            task.parts.teacher,
            teachers,
        )

    def _learn(self, votes, X_public, schema, plan, rows, seeds):
        """Release labels from the votes on `rows`, and train the student."""
        self._test(plan, votes, seeds["test"])
        self._release(schema, X_public, votes, plan)
        taken, stages = self._ask(X_public, plan, votes.counts, rows, seeds)
        self.curator_ = Curator(
            stages,
            votes.counts[taken],
            self.delta,
            votes.teacher_indices,
            votes.teachers,
            plan.test,
            cap=None if plan.budget is None else plan.epsilon,
        )
        return self._fit_student(X_public, self._unfitted_student(), seeds["student"])

    def _test(self, plan, votes, seed):
        if plan.test is None or plan.test.passes(votes.counts, np.random.default_rng(seed)):
            return
        raise PrivacyTestError(
            "the votes did not pass the private test of accounting='ptr': their labels may cost "
            "more than it allows. No label was released, but the outcome of the test is, and "
            f"epsilon={plan.epsilon:g} is spent (this error's privacy_spent). Ask fewer queries, "
            "use more noise, raise epsilon, or use accounting='worst_case'",
            self._spent(plan, votes),
        )

    def _spent(self, plan, votes):
        return PrivacySpent(
            epsilon=plan.epsilon,
            delta=self.delta,
            method=plan.method,
            unit=votes.unit,
            adjacency=votes.adjacency,
            n_teachers=votes.n_teachers,
            n_queries=plan.n_queries,
            n_answered=0,
        )

    def _release(self, schema, X_public, votes, plan):
        """Set what may be published before any label is; from here on they are paid for."""
        self.privacy_spent_ = self._spent(plan, votes)
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

    def _ask(self, X_public, plan, counts, rows, seeds):
        """Release labels, by stages and rounds; return which of the votes were asked, and how."""
        strategy, noise = self._strategy(), np.random.default_rng(seeds["noise"])
        choice = np.random.default_rng(seeds["queries"])
        in_rounds, taken, stages = _n_rounds(strategy) > 1, np.array([], dtype=np.intp), []
        for aggregator, n_queries in plan.stages:
            for part in np.array_split(np.arange(n_queries), min(_n_rounds(strategy), n_queries)):
                proba = None
                if aggregator.uses_student_proba or self._wants_student(strategy):
                    proba = self._students_view(X_public, seeds["student"])
                if in_rounds:
                    own = self._select(strategy, X_public, part.size, proba, choice)
                else:
                    own = taken.size + part
                shown = proba[rows[own]] if aggregator.uses_student_proba else None
                labels, paid = self._draw(aggregator, counts[own], rows[own], shown, noise)
                n_asked = plan.allowed(aggregator, paid, self.n_teachers_, len(self.classes_))
                own, labels, paid = own[:n_asked], labels[:n_asked], paid[:n_asked]
                taken = np.append(taken, own)
                stages.append(Asked(aggregator, n_asked, shown, paid))
                self.public_labels_[rows[own]] = labels
                self.query_indices_ = rows[taken]
                self.privacy_spent_ = dataclasses.replace(
                    self.privacy_spent_,
                    n_queries=len(self.query_indices_),
                    n_answered=int((self.public_labels_ >= 0).sum()),
                )
                if n_asked < part.size:
                    break
        if plan.budget is not None and len(self.query_indices_) < plan.n_queries:
            warnings.warn(
                f"epsilon={plan.epsilon:g} paid for {len(self.query_indices_)} of the "
                f"{plan.n_queries} queries wanted; only those were asked. Use more noise or raise "
                "epsilon to ask them all",
                stacklevel=5,
            )
        return taken, stages

    def _wants_student(self, strategy):
        """Whether a strategy asks for the student's view, and there are labels to train it on."""
        if _n_rounds(strategy) == 1 or not getattr(strategy, "uses_student_proba", False):
            return False
        return len(set(self.public_labels_) - {-1}) > 1

    def _students_view(self, X_public, seed):
        """Probabilities for the public rows, of a student fitted on the labels so far."""
        student = self._fit_student(X_public, self._unfitted_student(), seed).student_
        proba = self._all_columns(student.predict_proba(X_public), 0.0)
        del self.student_  # it is not the one to be published
        return proba

    def _select(self, strategy, X_public, n_queries, proba, rng):
        """Rows of the next round."""
        asked = self.query_indices_
        try:
            rows = strategy.select(
                X_public,
                n_queries,
                random_state=rng,
                asked=asked,
                labels=self.public_labels_[asked],
                student_proba=proba if getattr(strategy, "uses_student_proba", False) else None,
            )
            unasked = np.setdiff1d(np.arange(len(self.public_labels_)), asked)
            return _check_rows(rows, n_queries, unasked)
        except Exception as error:
            if asked.size == 0:
                raise
            raise self._student_error(f"query_strategy failed: {error}") from error

    def _draw(self, aggregator, votes, asked, proba, noise):
        """Labels, and which were paid for in full; sets the soft labels, if it draws them."""
        if not aggregator.wants_proba:
            return aggregator.draw(votes, proba, noise)
        soft = aggregator.soft_labels(votes, noise)
        if self.public_soft_labels_ is None:
            self.public_soft_labels_ = np.full((len(self.public_labels_), soft.shape[1]), np.nan)
        self.public_soft_labels_[asked] = soft
        return soft.argmax(axis=1), np.ones(len(soft), dtype=bool)

    def _fit_student(self, X_public, student, seed):
        labelled = np.flatnonzero(self.public_labels_ >= 0)
        labels = self.public_labels_[labelled]
        last = student.steps[-1][1] if isinstance(student, Pipeline) else student
        try:
            if labelled.size == 0:
                raise ValueError("no query was answered")
            student, seed = clone(student), int(seed.generate_state(1)[0])
            if self.random_state is not None:
                set_seeds(student, seed, only_missing=True)
            rows, targets = X_public, self.public_labels_
            if not _accepts_unlabeled(last):
                rows, targets = _safe_indexing(X_public, labelled), labels
                if self.public_soft_labels_ is not None and _accepts_soft_labels(last):
                    targets = self.public_soft_labels_[labelled]
            with torch_seeded(seed):
                self.student_ = student.fit(rows, targets)
        except Exception as error:
            raise self._student_error(
                f"the student could not be trained on the {labelled.size} released labels of "
                f"{np.unique(labels).size} class(es): {error}"
            ) from error
        return self

    def _student_error(self, what):
        return StudentError(
            f"{what}. The labels released so far are paid for and in this error's public_labels; "
            "fit_student(X_public, student) tries another student at no cost",
            self.public_labels_.copy(),
            self.privacy_spent_,
        )

    # --- what the student's predictions need -------------------------------------------------

    def _check_predict(self, X):
        check_is_fitted(self)
        X = _rows(X)
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

    def __getstate__(self):
        # Private: the curator's view, whatever the given estimators were fitted on before, and,
        # once noise was drawn from it, the seed.
        state = dict(super().__getstate__())
        state.pop("curator_", None)
        for name in [*self._get_param_names(), "aggregator_"]:
            if name in state:
                state[name] = clone(state[name], safe=False)
        if "public_labels_" in state:
            state["random_state"] = None
        return state


# --- input checks: messages never quote private values ---------------------------------------


def _check_private(X, y, classes, sample_weight):
    codes, classes = _encode(y, classes)
    check_consistent_length(X, codes)
    if sample_weight is not None:
        given = np.asarray(sample_weight)
        numbers = given.dtype.kind in "iufb" and np.isfinite(given).all()
        if not numbers or given.shape != codes.shape:
            raise ValueError(
                f"sample_weight must be {len(codes)} finite numbers, one per record of X; "
                f"got shape {given.shape} and dtype {given.dtype}"
            )
        sample_weight = given.astype(float)
    return codes, classes, sample_weight


def _rows(X):
    """Return `X` in a form whose rows can be selected, otherwise untouched."""
    if sparse.issparse(X):
        return X.tocsr()
    return X if hasattr(X, "shape") else np.asarray(X)


def _check_dtypes(X, X_public):
    """Every teacher sees the columns' types, which one private record can change."""
    if not (isinstance(X, pd.DataFrame) and isinstance(X_public, pd.DataFrame)):
        return
    differ = [
        name
        for name, ours, public in zip(X.columns, X.dtypes, X_public.dtypes, strict=True)
        if ours != public
    ]
    if differ:
        raise ValueError(
            f"columns {differ} of X and X_public have different dtypes or categories. All teachers "
            "see them, so they must be public, not what the private records happen to hold: fix "
            "them in advance, for instance X.astype(X_public.dtypes)"
        )


def _encode(y, classes):
    """Labels as codes into the sorted classes."""
    y = _check_labels(y)
    if classes is None:
        warnings.warn(
            "classes_ is read from the private labels, which the privacy guarantee does not "
            "cover; pass classes=[...], all labels that may occur",
            PrivacyLeakWarning,
            stacklevel=6,  # the caller of fit, past scikit-learn's wrapper
        )
        classes = np.unique(y)
    else:
        classes = np.unique(np.asarray(classes))
    if len(classes) < 2:
        raise ValueError(
            f"a classifier needs labels of at least 2 classes; got {len(classes)} class"
        )
    try:
        codes = np.minimum(np.searchsorted(classes, y), len(classes) - 1)
        known = bool(np.all(classes[codes] == y))
    except TypeError:  # for instance text among numbers
        known = False
    if not known:
        raise ValueError(
            "y has labels that are not in classes; classes must list all labels that may occur, "
            "in the type that y has"
        )
    return codes.astype(np.int64), classes


def _check_labels(y):
    if y is None:
        raise ValueError("This estimator requires y to be passed, but the target y is None")
    if sparse.issparse(y):
        raise ValueError("y must be a 1-D array of labels; got a sparse matrix (multilabel?)")
    shape = np.asarray(y).shape
    if len(shape) > 1 and shape[1] != 1:
        raise ValueError(
            "y must be a 1-D array with one label per record, as multilabel and multi-output "
            f"targets are not supported; got shape {shape}"
        )
    y = column_or_1d(y, warn=True)
    if pd.isna(y).any() or (y.dtype.kind == "f" and np.isinf(y).any()):
        raise ValueError("Input y contains NaN or infinity; every private record needs a label")
    with warnings.catch_warnings():  # scikit-learn warns about how many labels are distinct
        warnings.simplefilter("ignore")
        check_classification_targets(y)
    return y


# --- randomness --------------------------------------------------------------------------------


def _streams(random_state):
    """Independent sources of randomness: one per use, so that none reveals another."""
    uses = ("partition", "queries", "teachers", "noise", "student", "test")
    if random_state is None:
        return {use: np.random.SeedSequence() for use in uses}
    if isinstance(random_state, np.random.RandomState):
        random_state = random_state.randint(2**32, size=4, dtype=np.uint32).tolist()
    return dict(zip(uses, np.random.SeedSequence(random_state).spawn(len(uses)), strict=True))


def _accepts_unlabeled(student):
    """Whether the student learns from rows labelled -1 as well."""
    known = SelfTrainingClassifier, LabelPropagation, LabelSpreading
    return isinstance(student, known) or getattr(student, "accepts_unlabeled", False)


def _accepts_soft_labels(student):
    return getattr(student, "accepts_soft_labels", False)


def _temperature(aggregator):
    """Temperature of the teachers' probabilities; None if they vote."""
    return aggregator.temperature if getattr(aggregator, "wants_proba", False) else None


# --- queries -----------------------------------------------------------------------------------


def _n_rounds(strategy):
    return getattr(strategy, "n_rounds", 1)


def _check_rows(rows, n_queries, unasked):
    rows = np.asarray(rows)
    whole = rows.shape == (n_queries,) and rows.dtype.kind in "iu"
    if not whole or np.intersect1d(rows, unasked).size < n_queries:
        raise ValueError(
            f"query_strategy.select must return {n_queries} distinct numbers of rows of X_public "
            "that were not asked before"
        )
    return rows
