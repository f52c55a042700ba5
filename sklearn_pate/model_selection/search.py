"""The two private searches: over a grid, and over candidates drawn at random."""

from numbers import Integral

from sklearn.model_selection import ParameterGrid, ParameterSampler

from .._sklearn import Interval
from .base import PrivateSearch


class PrivateGridSearchCV(PrivateSearch):
    """Choose parameters on private data at a small multiple of one fit's cost.

    Up to an epsilon of 2 it never paid where it was measured: each trial may spend a third, and
    one fit by the defaults with all of epsilon was better than the best candidate, even if the
    choice was perfect. It may pay at larger epsilons, where the defaults do not suit the data.

    A grid search with a `PATEClassifier` spends on every candidate and fold. This one runs a
    random number of trials: each takes a candidate at random, fits it and scores it. Only the
    best trial's model, parameters and score are published; the other trials, and their number, are
    forgotten. That costs a little more than one trial, not the sum of all (Papernot and Steinke
    2022).

    Parameters
    ----------
    estimator : PATEClassifier
        With `classes`, and without a `random_state`, which belongs to the search. Preprocessing
        belongs inside its base estimator, or in a Pipeline around the search. If it has a
        `ledger`, the search is one entry there.
    param_grid : dict or list of dict
        Candidates, as in `sklearn.model_selection.GridSearchCV`.
    epsilon : float or None, default=1.0
        Budget of the whole search; the epsilon of each trial follows from it, a bit below half.
        None: each trial has the estimator's epsilon, and `privacy_spent_` says what the search
        costs.
    delta : float, default=1e-5
        Probability with which the guarantee of the search may fail.
    n_trials : float, default=None
        Expected number of trials, above 1. None is five for each candidate. Few may miss the good
        candidates. Many cost little privacy, and little time unless students are slow: trials that
        need the same teachers share them.
    distribution : {"negative_binomial", "poisson"}, default="negative_binomial"
        Distribution of the number of trials, see `rdp.TrialCount`.
    eta : float, default=1.0
        Shape of "negative_binomial": 1 is the geometric distribution.
    scoring : str, callable or None, default=None
        How trials are scored on `X_val` and `y_val`; None is accuracy. Without them, it must be
        None.
    validation_fraction : float, default=0.2
        Part of the private data that is held out to score on, if `X_val` is not given; at most
        0.5. A noisy score costs no more than its trial, and only the larger of the two costs
        counts, because each record is in one of the two parts. At most 1,000 of the records (or
        groups) that are held out are scored. Where records vote and may join or leave, a coin for
        each record decides: how many are held out is as private as their number.
    random_state : int, RandomState instance or None, default=None
        As in `PATEClassifier`: for tests only. It is refused if the estimator has
        ``secure=True`` or a `ledger`.

    Attributes
    ----------
    best_estimator_ : PATEClassifier
        The model of the best trial; it is not refitted, as that would cost more.
    best_params_ : dict
        Its parameters.
    best_score_ : float
        Its score; on private rows, the noisy number of held-out records (or groups), of 1,000 at
        most, that it predicts right.
    privacy_spent_ : PrivacySpent
        What the whole search spent, safe to publish.
    classes_ : ndarray of shape (n_classes,)
        Sorted labels.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Feature names, if the private data had string column names.

    Notes
    -----
    For a private score, each record (or group) is predicted by itself, with a fresh copy of the
    student. If they were predicted together, one record could change what is predicted for all
    others (by a student that scales by the rows it is given, or draws random numbers), and so
    change the score by more than the 1 that its noise hides. Students whose prediction for a row
    depends on the rows beside it are refused if some public rows show it. At most 1,000 records
    (or groups) are predicted, chosen without looking at them, because each takes time: 1 ms with a
    logistic regression, 10 ms with a forest.

    There is no `cv_results_`: the other trials and their number are private. How long `fit` takes
    depends on that number; do not publish it.

    References
    ----------
    .. [1] Papernot, Steinke (2022). Hyperparameter tuning with Renyi differential privacy. ICLR.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn_pate import PATEClassifier
    >>> from sklearn_pate.model_selection import PrivateGridSearchCV
    >>> X, y = make_classification(900, n_features=5, class_sep=2, random_state=0)
    >>> clf = PATEClassifier(classes=[0, 1], student=LogisticRegression())
    >>> search = PrivateGridSearchCV(clf, {"student__C": [0.01, 1.0]}, epsilon=2.0, n_trials=2)
    >>> search = search.fit(X[:500], y[:500], X_public=X[500:])
    >>> search.privacy_spent_.epsilon <= 2.0
    True
    """

    _parameter_constraints = {**PrivateSearch._parameter_constraints, "param_grid": [dict, list]}

    def __init__(
        self,
        estimator,
        param_grid,
        *,
        epsilon=1.0,
        delta=1e-5,
        n_trials=None,
        distribution="negative_binomial",
        eta=1.0,
        scoring=None,
        validation_fraction=0.2,
        random_state=None,
    ):
        self.estimator = estimator
        self.param_grid = param_grid
        self.epsilon = epsilon
        self.delta = delta
        self.n_trials = n_trials
        self.distribution = distribution
        self.eta = eta
        self.scoring = scoring
        self.validation_fraction = validation_fraction
        self.random_state = random_state

    def _param_sets(self, rng):
        return list(ParameterGrid(self.param_grid))


class PrivateRandomizedSearchCV(PrivateSearch):
    """Like `PrivateGridSearchCV`, with candidates drawn from distributions.

    Parameters
    ----------
    estimator : PATEClassifier
        As in `PrivateGridSearchCV`.
    param_distributions : dict or list of dict
        Candidates, as in `sklearn.model_selection.RandomizedSearchCV`.
    n_iter : int, default=10
        Number of candidates that are drawn, before anything private is looked at.
    epsilon, delta, n_trials, distribution, eta, scoring, validation_fraction, random_state
        As in `PrivateGridSearchCV`.

    Attributes
    ----------
    best_estimator_, best_params_, best_score_, privacy_spent_, classes_
        As in `PrivateGridSearchCV`.
    n_features_in_, feature_names_in_
        As in `PrivateGridSearchCV`.

    Examples
    --------
    >>> from scipy.stats import loguniform
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn_pate import PATEClassifier
    >>> from sklearn_pate.model_selection import PrivateRandomizedSearchCV
    >>> X, y = make_classification(900, n_features=5, class_sep=2, random_state=0)
    >>> clf = PATEClassifier(classes=[0, 1], student=LogisticRegression())
    >>> choices = {"student__C": loguniform(0.01, 10)}
    >>> search = PrivateRandomizedSearchCV(clf, choices, n_iter=3, epsilon=2.0, n_trials=2)
    >>> search = search.fit(X[:500], y[:500], X_public=X[500:])
    >>> list(search.best_params_)
    ['student__C']
    """

    _parameter_constraints: dict = {
        **PrivateSearch._parameter_constraints,
        "param_distributions": [dict, list],
        "n_iter": [Interval(Integral, 1, None, closed="left")],
    }

    def __init__(
        self,
        estimator,
        param_distributions,
        *,
        n_iter=10,
        epsilon=1.0,
        delta=1e-5,
        n_trials=None,
        distribution="negative_binomial",
        eta=1.0,
        scoring=None,
        validation_fraction=0.2,
        random_state=None,
    ):
        self.estimator = estimator
        self.param_distributions = param_distributions
        self.n_iter = n_iter
        self.epsilon = epsilon
        self.delta = delta
        self.n_trials = n_trials
        self.distribution = distribution
        self.eta = eta
        self.scoring = scoring
        self.validation_fraction = validation_fraction
        self.random_state = random_state

    def _param_sets(self, rng):
        seed = int(rng.integers(2**32))
        return list(ParameterSampler(self.param_distributions, self.n_iter, random_state=seed))
