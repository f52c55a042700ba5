"""PATERegressor: regression by noisy votes that are split between levels."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral
from os import PathLike
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_is_fitted

from ._sklearn import Interval, available_where
from .encoding.targets import NumberTarget, holds_lists
from .estimator import PATEEstimator, usual_floats
from .neighbors.smoothing import MIN_PROBA
from .rdp.checks import as_array

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


def _may_have_quantiles(estimator: Estimator) -> bool:
    if estimator.n_levels < 3:
        raise AttributeError(
            "predict_quantiles requires a distribution over n_levels of 3 or more: set "
            "n_levels=10 and fit again"
        )
    return True


class PATERegressor(RegressorMixin, PATEEstimator):
    """Regressor trained on private data through a noisy vote (PATE).

    Levels are evenly spaced between two public bounds. A number is a vote that is split between the
    two nearest levels, and the weighted mean of these levels is the number. Split votes
    have the same cost as whole votes. So methods, noise, cost, plans, groups, ledgers and
    synthesizers are as in `PATEClassifier`, with levels in place of classes. Only the student and
    the released results depend on private data, and `privacy_spent_` contains their privacy cost.

    Parameters
    ----------
    base_estimator : regressor, list of regressors, default=None
        As in `PATEClassifier`, with regressors. The predictions of a teacher are clipped to
        `bounds`. The default teacher is `RidgeCV`, a ridge regression with cross-validated penalty,
        on the output of a `neighbors.RowVectorizer`. Teachers are fitted on numbers in the unit of
        `y`, clipped to `bounds`.
    method : {"auto", "neighbors", "sums", "teachers"} or Method, default="auto"
        As in `PATEClassifier`.
    bounds : (float, float) or list of these, default=None
        The lowest and the highest number, which are public knowledge. If None, a first release
        finds them, and `epsilon` covers it. Numbers outside the bounds are silently clipped to
        them. The noise is proportional to the distance between
        the bounds, so narrow bounds give more accurate predictions. If `y` has several columns, it
        is a list with a pair for each, such as ``[(0, 1), (1, 99)]``. A column of labels 0 and 1,
        with the bounds (0, 1), is predicted by the probability of 1.
    n_levels : int, default=2
        Number of levels, evenly spaced from one bound to the other. Two levels are best for means.
        With 10 to 30 levels, a fit also releases a distribution of `y` at each row, see
        `predict_quantiles`; the distance between levels should then be smaller than the standard
        deviation of `y` among records with similar features.
    aggregator : SoftVote, TableMechanism or None, default=None
        The mechanism. The default is ``SoftVote(sigma=None)`` where teachers vote, calibrated to
        `epsilon`, and ``LaplaceMechanism()`` where records vote.
    student : regressor, default=None
        The regressor that is trained on the released means and published. The default is a clone
        of `base_estimator`; where records vote, a regressor that predicts from the released table.
    n_teachers, n_queries, query_strategy, epsilon, delta, accounting, unit, partition
        As in `PATEClassifier`.
    keep_teachers, n_jobs, timeout, random_state, secure, memory, ledger, synthesizer
        As in `PATEClassifier`.
    verbose, on_bad_plan, schema, releases, warm_start
        As in `PATEClassifier`.

    Attributes
    ----------
    privacy_spent_, aggregator_, n_features_in_, feature_names_in_, n_teachers_
        As in `PATEClassifier`.
    query_indices_, X_synthetic_, table_, released_, curator_
        As in `PATEClassifier`.
    student_ : regressor
        The fitted student.
    levels_ : ndarray of shape (n_levels,), or list of these
        The levels, of each of several targets.
    public_labels_ : ndarray of shape (n_public,) or (n_public, n_targets)
        For each public row the released mean, or NaN if the row was not queried.
    public_soft_labels_ : ndarray of shape (n_public, n_levels), list of these, or None
        For each public row the released distribution over levels, or NaN if the row was not
        queried. None if the fit failed before any distribution was released.

    Raises
    ------
    BudgetExceededError, BadPlanError, TeacherError, PrivacyTestError, StudentError
        As in `PATEClassifier`.

    See Also
    --------
    PATEClassifier : Classification, and the meaning of all parameters.

    Notes
    -----
    A transformer of `y`, as in scikit-learn's `TransformedTargetRegressor`, is fitted on all
    private numbers, outside the guarantee. Use one that learns nothing, such as
    ``func=np.log1p``, and give `bounds` in its unit.

    Released means are within the bounds. If there are few records compared with the noise, means
    are shrunk towards the middle of the bounds.

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
    levels_: np.ndarray | list[np.ndarray]

    _parameter_constraints: dict = {
        **PATEEstimator._parameter_constraints,
        "bounds": ["array-like", None],
        "n_levels": [Interval(Integral, 2, 500, closed="both")],
    }

    def __init__(
        self,
        base_estimator: Estimator | list[Estimator] | None = None,
        *,
        method: Literal["auto", "neighbors", "sums", "teachers"] | Method = "auto",
        bounds: tuple[float, float] | None = None,
        n_levels: int = 2,
        n_teachers: int | None = None,
        aggregator: Mechanism | TableMechanism | None = None,
        student: Estimator | None = None,
        n_queries: int | list[int] | None = None,
        query_strategy: Literal["random", "uncertainty", "diversity"] | Any = "random",
        epsilon: float | None = 1.0,
        delta: float = 1e-5,
        accounting: Literal["data_independent", "ptr"] = "data_independent",
        unit: Literal["record", "group"] = "record",
        partition: Literal["random", "hash", "predefined"] | Any = "random",
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
        releases: list[Release] | None = None,
        warm_start: bool = False,
    ) -> None:
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

    def _declared_target(self) -> Target | None:
        if self.bounds is None:
            return None
        if holds_lists(self.bounds):
            parts = [NumberTarget.between(pair, self.n_levels) for pair in self.bounds]
            return NumberTarget.of_parts(parts)
        return NumberTarget.between(self.bounds, self.n_levels)

    @usual_floats
    def predict(self, X: Rows) -> np.ndarray:
        """Predict numbers with the student.

        Parameters
        ----------
        X : array-like with n_samples rows
            Points to predict.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_targets)
            Predicted numbers. The default student predicts the mean of the released levels.
        """
        predicted = self._ask("student_", "predict", X)
        return self._fitted_target.check_predicted(predicted)

    @available_where(_may_have_quantiles)
    @usual_floats
    def predict_quantiles(self, X: Rows, q: ArrayLike) -> np.ndarray:
        """Predict quantiles of the number at each row from the released table.

        The prediction has no privacy cost.

        Parameters
        ----------
        X : array-like with n_samples rows
            Points to predict.
        q : float or array-like of shape (n_quantiles,)
            Probabilities of the quantiles, from 0 to 1.

        Returns
        -------
        ndarray of shape (n_samples, n_quantiles), or (n_samples,) for a single q
            Quantiles, which increase with q. Intervals between quantiles are too wide if the
            distance between levels exceeds the standard deviation of `y` among records with
            similar features.

        Raises
        ------
        AttributeError
            If `n_levels` is 2.
        NotFittedError
            If the regressor is not fitted.
        ValueError
            If there are several targets. If teachers voted, because they predict numbers without a
            distribution, or if `q` has values outside [0, 1].

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
            raise ValueError(f"q must be numbers from 0 to 1, or one such number; got {q!r}")
        if not hasattr(self, "table_"):
            raise ValueError(
                "predict_quantiles requires the released table of votes of records, but teachers "
                "voted in this fit; leave base_estimator=None"
            )
        if self._fitted_target.n_targets > 1:
            raise ValueError("predict_quantiles is for one target, and this fit has several")
        class_proba = self._ask("table_", "class_proba", X)
        # Each probability has a lower bound, and the bounds of many levels would add up to a tail
        class_proba = class_proba - np.minimum(class_proba.min(axis=1, keepdims=True), MIN_PROBA)
        class_proba = class_proba / class_proba.sum(axis=1, keepdims=True)
        target: Any = self._fitted_target
        found = target.quantiles(class_proba, requested)
        return found[:, 0] if np.ndim(q) == 0 else found
