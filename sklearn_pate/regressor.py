"""PATERegressor: numbers in public bounds, by ballots that are split between levels."""

from numbers import Integral

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_is_fitted

from ._sklearn import Interval, available_where
from .encoding.targets import NumberTarget
from .estimator import PATEEstimator, usual_floats
from .neighbors.cells import LEAST_RATE
from .rdp.checks import as_array


def _may_have_quantiles(estimator):
    if estimator.n_levels < 3:
        raise AttributeError(
            "predict_quantiles needs the distribution over n_levels of 3 or more: set n_levels=10 "
            "and fit again"
        )
    return True


class PATERegressor(RegressorMixin, PATEEstimator):
    """Regressor trained on private data through a noisy vote (PATE).

    A number between two public bounds is a ballot that is split: between the two nearest of some
    evenly spaced levels, such that their mean is that number. Ballots so split cost what whole ones
    cost. So everything is as in `PATEClassifier`, with levels in the place of classes: who votes,
    the noise, the cost, plans, groups, ledgers and synthesizers. Only the student and what was
    released of the votes depend on private data, and `privacy_spent_` states how much privacy they
    cost.

    Parameters
    ----------
    base_estimator : regressor, list of regressors, default=None
        As in `PATEClassifier`, of regressors. What a teacher predicts is cut to `bounds`. The
        default teacher is a ridge regression, with a penalty that it chooses, on the numbers of a
        `neighbors.RowVectorizer`. They are fitted on numbers in the unit of `y`, cut to `bounds`.
    method : {"auto", "neighbors", "sums", "teachers"} or Method, default="auto"
        As in `PATEClassifier`.
    bounds : (float, float)
        Required: the lowest and the highest number, public knowledge. A number beyond them counts
        as the nearer one, silently. The narrower they are, the less noise there is beside them.
    n_levels : int, default=2
        Number of levels, evenly spaced from one bound to the other. Two are best for means. With
        more, 10 to 30, there is a distribution at each row: see `predict_quantiles`. They should be
        closer than the numbers at one row spread.
    aggregator : SoftVote, TableMechanism or None, default=None
        The mechanism. None is ``SoftVote(sigma=None)`` where teachers vote, calibrated to
        `epsilon`, and ``LaplaceMechanism()`` where records do.
    student : regressor, default=None
        The regressor that is trained on the released means and published. None is a clone of
        `base_estimator`; where records vote, one that says what the released table says of any row.
    n_teachers, n_queries, query_strategy, epsilon, delta, accounting, unit, partition
        As in `PATEClassifier`.
    keep_teachers, n_jobs, timeout, random_state, secure, memory, ledger, synthesizer
        As in `PATEClassifier`.
    verbose, on_bad_plan, schema, releases, warm_start
        As in `PATEClassifier`.

    Attributes
    ----------
    privacy_spent_, aggregator_, n_features_in_, feature_names_in_, n_teachers_
        As of `PATEClassifier`.
    query_indices_, X_synthetic_, table_, released_, curator_
        As of `PATEClassifier`.
    student_ : regressor
        The fitted student.
    levels_ : ndarray of shape (n_levels,)
        The levels.
    public_labels_ : ndarray of shape (n_public,)
        For each public row the released mean, or NaN where nothing was released of it: rows that
        teachers were not asked about.
    public_soft_labels_ : ndarray of shape (n_public, n_levels) or None
        For each public row the released distribution over levels, or NaN.

    Raises
    ------
    BudgetExceededError, BadPlanError, TeacherError, PrivacyTestError, StudentError
        As of `PATEClassifier`.

    See Also
    --------
    PATEClassifier : Classes, and what all parameters mean.

    Notes
    -----
    A transformer of `y`, as in scikit-learn's `TransformedTargetRegressor`, sees all private
    numbers: use one that learns nothing, as ``func=np.log1p``, and give `bounds` in its unit.

    Released means are within the bounds, and pulled towards the middle where hardly any record
    outweighs the noise.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_pate import PATERegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-1, 1, size=(3000, 2))
    >>> y = 20 + 10 * X[:, 0] + rng.normal(size=3000)
    >>> reg = PATERegressor(bounds=(0, 40), epsilon=1.0)
    >>> reg = reg.fit(X[:2000], y[:2000], X_public=X[2000:2500])
    >>> reg.score(X[2500:], y[2500:]) > 0.5
    True
    >>> epsilon, delta = reg.privacy_spent_
    >>> epsilon <= 1.0
    True
    """

    target_type = NumberTarget

    _parameter_constraints: dict = {
        **PATEEstimator._parameter_constraints,
        "bounds": ["array-like", None],
        "n_levels": [Interval(Integral, 2, 500, closed="both")],
    }

    def __init__(
        self,
        base_estimator=None,
        *,
        method="auto",
        bounds=None,
        n_levels=2,
        n_teachers=None,
        aggregator=None,
        student=None,
        n_queries=None,
        query_strategy="random",
        epsilon=1.0,
        delta=1e-5,
        accounting="data_independent",
        unit="record",
        partition="random",
        keep_teachers=False,
        n_jobs=None,
        timeout=None,
        random_state=None,
        secure=False,
        memory=None,
        ledger=None,
        synthesizer=None,
        verbose=0,
        on_bad_plan="raise",
        schema=None,
        releases=None,
        warm_start=False,
    ):
        self.base_estimator = base_estimator
        self.method = method
        self.bounds = bounds
        self.n_levels = n_levels
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
        self.releases = releases
        self.warm_start = warm_start

    def _declared_target(self):
        return NumberTarget.between(self.bounds, self.n_levels)

    @usual_floats
    def predict(self, X):
        """Predict numbers with the student.

        Parameters
        ----------
        X : array-like with n_samples rows
            Points to predict.

        Returns
        -------
        ndarray of shape (n_samples,)
            Of the default student, the means of the released levels.
        """
        predicted = self._ask("student_", "predict", X)
        return self._fitted_target.check_predicted(predicted)

    @available_where(_may_have_quantiles)
    @usual_floats
    def predict_quantiles(self, X, q):
        """Predict quantiles of the number at each row, by the released table; it is free.

        Parameters
        ----------
        X : array-like with n_samples rows
            Points to predict.
        q : float or array-like of shape (n_quantiles,)
            From 0 to 1.

        Returns
        -------
        ndarray of shape (n_samples, n_quantiles), or (n_samples,) for a single q
            They rise with q. Where levels are further apart than the numbers at one row spread,
            intervals are too wide.

        Raises
        ------
        ValueError
            If teachers voted: they predict numbers, and no distribution of them.

        Examples
        --------
        >>> import numpy as np
        >>> from sklearn_pate import PATERegressor
        >>> rng = np.random.default_rng(0)
        >>> X = rng.uniform(-1, 1, size=(3000, 1))
        >>> y = 20 + rng.normal(size=3000, scale=5)
        >>> reg = PATERegressor(bounds=(0, 40), n_levels=10, epsilon=2.0)
        >>> reg = reg.fit(X[:2000], y[:2000], X_public=X[2000:])
        >>> low, high = reg.predict_quantiles(X[:1], [0.1, 0.9])[0]
        >>> bool(low < 20 < high)
        True
        """
        check_is_fitted(self)
        requested = np.atleast_1d(as_array("q", q, dtype=float))
        if requested.ndim != 1 or not ((requested >= 0) & (requested <= 1)).all():
            raise ValueError(f"q must be numbers from 0 to 1; got {q!r}")
        if not hasattr(self, "table_"):
            raise ValueError(
                "predict_quantiles reads the table that records vote in, and here teachers voted; "
                "leave base_estimator=None"
            )
        class_proba = self._ask("table_", "class_proba", X)
        # No rate is below a floor, and that of many levels together would be a tail of its own
        class_proba = class_proba - np.minimum(class_proba.min(axis=1, keepdims=True), LEAST_RATE)
        class_proba = class_proba / class_proba.sum(axis=1, keepdims=True)
        found = self._fitted_target.quantiles(class_proba, requested)
        return found[:, 0] if np.ndim(q) == 0 else found
