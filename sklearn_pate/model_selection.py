"""Choosing parameters on private data, at a price of its own."""

import math
import warnings
from dataclasses import replace
from numbers import Integral, Real

import numpy as np
from joblib import hash as fingerprint
from scipy.special import logsumexp
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.dummy import DummyClassifier
from sklearn.metrics import check_scoring
from sklearn.model_selection import ParameterGrid, ParameterSampler
from sklearn.utils import get_tags, indexable
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from ._sklearn import Interval, StrOptions, _fit_context, _safe_indexing
from .classifier import PATEClassifier
from .classifier.checks import check_private, indexable_rows, warn_if_delta_is_large
from .exceptions import BudgetExceededError, StudentError
from .identifiers import keyed_digests, spelled_identifiers
from .isolation import (
    Quiet,
    attempt,
    copied_data,
    copies,
    isolated,
    own_generators,
    own_rows,
    silent,
    unfitted,
)
from .partition import GroupPartition, PredefinedPartition, assign_teachers
from .public import public_rows
from .rdp import (
    DEFAULT_ORDERS,
    Cost,
    TrialCount,
    pure_rdp,
)
from .secure import SystemGenerator

__all__ = ["PrivateGridSearchCV", "PrivateRandomizedSearchCV"]


def _best_has(method):
    def check(self):
        getattr(getattr(self, "best_estimator_", self.estimator), method)
        return True

    return check


class _PrivateSearch(ClassifierMixin, MetaEstimatorMixin, BaseEstimator):
    """A random number of trials of random candidates; the best is published, the rest forgotten."""

    # Requested by default, so that metadata routing needs no call from the user
    __metadata_request__fit = {"X_public": True, "groups": True, "X_val": True, "y_val": True}

    _parameter_constraints: dict = {
        "estimator": [PATEClassifier],
        "epsilon": [Interval(Real, 0, None, closed="neither"), None],
        "delta": [Interval(Real, 0, 1, closed="neither")],
        "n_trials": [Interval(Real, 1, None, closed="neither"), None],
        "distribution": [StrOptions({"negative_binomial", "poisson"})],
        "eta": [Interval(Real, -0.9, 20, closed="both")],
        "scoring": [str, callable, None],
        "validation_fraction": [Interval(Real, 0, 0.5, closed="right")],
        "random_state": ["random_state"],
    }

    @_fit_context(prefer_skip_nested_validation=False)
    def fit(self, X, y, X_public=None, *, X_val=None, y_val=None, groups=None):
        """Try candidates on private data and keep the best.

        Parameters
        ----------
        X, y : array-like with n_samples rows
            Private data, as in `PATEClassifier.fit`.
        X_public : array-like or PublicData with n_public rows
            Public, unlabelled rows.
        X_val, y_val : array-like or PublicData with n_val rows, default=None
            Public, labelled rows that trials are scored on. None: a part of the private data is
            held out, and each trial's score is noisy.
        groups : array-like of shape (n_samples,), default=None
            As in `PATEClassifier.fit`.

        Returns
        -------
        object
            Itself, fitted.

        Raises
        ------
        BudgetExceededError
            Before any teacher trains, if the budget does not pay for the search.
        StudentError
            If the best trial could not train its student. The search is paid for.
        ValueError
            If something given does not fit together, a candidate cannot be accounted for, its
            student cannot be scored on private rows (see Notes), or `random_state` is given with
            ``secure=True``. Nothing was spent.
        """
        X_public, X_val, y_val = (public_rows(given) for given in (X_public, X_val, y_val))
        seeds = np.random.SeedSequence(_entropy(self.random_state)).spawn(3)
        self._check_secure()
        candidates = self._candidates(np.random.default_rng(seeds[0]))
        X, groups = indexable(indexable_rows(X, "X"), groups)  # of one dtype, whoever is held out
        codes, classes, _ = check_private(X, y, self.estimator.classes, None)
        y = classes[codes]
        if X_val is None and y_val is None:
            train, judge = self._hold_out(X, codes, groups, seeds[1], candidates)
            X, y, groups = (_take(given, train) for given in (X, y, groups))
        else:
            judge = self._public_judge(X_val, y_val, X_public)
        given = {"X": X, "y": y, "X_public": X_public, "groups": groups}
        count = self._trial_count(len(candidates))
        plans, cost = self._calibrate(candidates, given, judge, count)
        judge.check([estimator for _, estimator in candidates], X_public, plans)
        epsilon = cost.epsilon(self.delta)[0]
        told = plans[0].spent
        public = {"n_records": len(codes), "n_teachers": told.n_teachers}
        warn_if_delta_is_large(self.delta, told.adjacency, **public, stacklevel=4)
        spent = replace(
            told,
            epsilon=epsilon,
            delta=self.delta,
            method="tuning",
            n_teachers=max(plan.spent.n_teachers for plan in plans),
            n_queries=max(plan.spent.n_queries for plan in plans),
            arithmetic="real",  # so are the number of trials and the noise of scores
            generator=told.generator if self.random_state is None else "seed",
        )
        if self.estimator.ledger is not None:
            self.estimator.ledger.record(spent, cost)

        self._seed_used = True
        best = None
        votes = {}
        rng = self._generator(seeds[2])
        with Quiet():  # what trials print or warn of would tell how many there were
            for _ in range(count.draw(rng)):
                k = int(rng.integers(len(candidates)))
                trial = self._try(candidates[k][1], given, votes, judge, plans[k], rng)
                if best is None or trial[:2] > best[1][:2]:
                    best = candidates[k][0], trial
        if best is None:
            raise ValueError(
                f"the random number of trials was 0; the search is paid for all the same, "
                f"epsilon={epsilon:.4g}. Raise n_trials, or use distribution='negative_binomial'"
            )
        return self._publish(*best, spent)

    def _check_secure(self):
        if self.estimator.secure and self.random_state is not None:
            raise ValueError(
                "the estimator has secure=True, whose draws no seed can repeat; got "
                f"random_state={self.random_state!r} for the search, give random_state=None"
            )

    def _generator(self, seed):
        """Source of what stays secret: the score's noise, the trials and their candidates."""
        return SystemGenerator() if self.estimator.secure else np.random.default_rng(seed)

    def _candidates(self, rng):
        """Parameters and estimator of each candidate."""
        if self.estimator.ledger is not None and self.random_state is not None:
            raise ValueError(
                "ledger refuses searches with a random_state: two with one seed share noise; "
                f"got random_state={self.random_state!r}, give random_state=None"
            )
        candidates = []
        for params in self._param_sets(rng):
            fixed = sorted(_SAME_FOR_ALL & set(params))
            if fixed:
                raise ValueError(
                    f"candidates cannot differ in {fixed[0]}: all trials must protect the same "
                    "change of the same data; set it in the estimator"
                )
            if self.epsilon is not None and "epsilon" in params:
                raise ValueError(
                    "epsilon of the search sets the epsilon of all trials; leave it out of the "
                    "candidates, or give the search epsilon=None"
                )
            estimator = clone(self.estimator)
            student = params.get("student", estimator.student)
            if student is None and any(name.startswith("student__") for name in params):
                raise ValueError(
                    "student is None, so it has no parameters to search; give the estimator a "
                    "student, for instance the same as its base_estimator"
                )
            # copies, because candidates may share an object whose parameters differ between them
            estimator.set_params(**{name: clone(params[name], safe=False) for name in params})
            if estimator.random_state is not None:
                raise ValueError(
                    f"estimator has random_state={estimator.random_state!r}, so all trials would "
                    "share their noise; give it to the search, and None to the estimator"
                )
            if estimator.classes is None:
                raise ValueError(
                    "estimator needs classes=[...], all labels that may occur: read from the "
                    "private labels, they are not covered by the guarantee"
                )
            estimator.set_params(ledger=None, keep_teachers=False)
            if hasattr(estimator, "set_callbacks"):
                estimator.set_callbacks()  # none: they would see every trial
            candidates.append((params, silent(estimator)))
        if not candidates:
            raise ValueError("there are no candidates; give at least one set of parameters")
        return candidates

    def _trial_count(self, n_candidates):
        mean = 5 * n_candidates if self.n_trials is None else self.n_trials
        return TrialCount(mean, self.distribution, self.eta)

    def _hold_out(self, X, codes, groups, seed, candidates=()):
        """Rows to train on, and a judge with the others: each record, or group, is in one part.

        Candidates get a partition of the public names that are left.
        """
        if self.scoring is not None:
            raise ValueError(
                f"scoring={self.scoring!r} needs public rows, X_val and y_val: on private rows the "
                "score is a noisy number of right predictions. Give them, or scoring=None"
            )
        partition = self.estimator.partition
        if not isinstance(partition, str | PredefinedPartition):
            raise ValueError(
                "with a partition of your own, how to hold out private rows is not known; give "
                "public rows, X_val and y_val"
            )
        names = getattr(partition, "names", None)
        if names is not None:
            # refuses records of a name that is not listed
            partition.assign(n_records=len(codes), n_teachers=None, groups=groups)
        units = None
        if groups is not None:
            partition, units = "hash", spelled_identifiers(groups, "groups")
        elif partition == "hash":
            units = spelled_identifiers(X.index, "the index of X") if hasattr(X, "index") else None
        n_parts = round(1 / self.validation_fraction)
        dealt, noise, chosen = seed.spawn(3)
        if partition == "random" and n_parts > len(codes):  # their number is public
            raise ValueError(
                f"validation_fraction={self.validation_fraction:g} is less than one of the "
                f"{len(codes)} private records; hold out more"
            )
        with Quiet():
            part = assign_teachers(
                partition,
                n_records=len(codes),
                n_teachers=n_parts,
                unit=self.estimator.unit,
                index=getattr(X, "index", None),
                groups=groups,
                seed=dealt,
            ).teacher_indices
        if names is not None:  # a name that is held out, with or without records, has no teacher
            of_names = GroupPartition().assign(
                n_records=len(names), n_teachers=n_parts, groups=names, seed=dealt
            )
            trained = [name for name, k in zip(names, of_names, strict=True) if k > 0]
            if not trained:
                raise ValueError(
                    f"all {len(names)} names of the partition were held out to score on; give more "
                    "names, lower validation_fraction, or score on public rows, X_val and y_val"
                )
            for _, estimator in candidates:
                estimator.set_params(partition=PredefinedPartition(trained))
        train, held = np.flatnonzero(part > 0), np.flatnonzero(part == 0)
        if units is None:
            scored = np.random.default_rng(chosen).permutation(held)[:_MOST_SCORED, None]
        else:
            scored = _some_units(units, held, chosen)
        return train, _PrivateJudge(X, codes, scored, self._generator(noise))

    def _public_judge(self, X_val, y_val, X_public):
        if X_val is None or y_val is None:
            raise ValueError("X_val and y_val belong together: public rows and their labels")
        columns = [list(getattr(rows, "columns", [])) for rows in (X_val, X_public)]
        same = np.shape(X_val)[1:] == np.shape(X_public)[1:] and columns[0] == columns[1]
        if len(y_val) == 0 or not same:
            raise ValueError(
                "X_val must have rows with the features of X_public; got shapes "
                f"{np.shape(X_val)} and {np.shape(X_public)}, columns {columns[0]} and {columns[1]}"
            )
        X_val, y_val = indexable(X_val, y_val)
        unknown = set(np.unique(y_val).tolist()) - set(np.unique(self.estimator.classes).tolist())
        if unknown:
            raise ValueError(f"y_val has labels that are not in classes: {sorted(unknown)}")
        scorer = check_scoring(self.estimator, self.scoring)
        try:
            scorer(DummyClassifier(strategy="prior").fit(X_val, y_val), X_val, y_val)
        except Exception as error:
            raise ValueError(
                f"scoring={self.scoring!r} failed when tried on X_val and y_val, before anything "
                f"was spent. {type(error).__name__}: {error}"
            ) from error
        return _PublicJudge(X_val, y_val, scorer)

    def _calibrate(self, candidates, given, judge, count):
        """Set the epsilon of each trial; return the plans, and the `Cost` of the whole search."""

        def total(epsilon):
            known = {}
            for _, estimator in candidates:
                key = _fingerprint(estimator, _NOT_PLANNED)
                if key not in known:
                    estimator.set_params(epsilon=epsilon)
                    known[key] = estimator.plan(**given)
            return priced(known[_fingerprint(e, _NOT_PLANNED)] for _, e in candidates)

        def priced(plans):
            curve = _mixture([judge.rdp(plan) for plan in plans])
            return Cost(count.rdp(curve, DEFAULT_ORDERS), math.inf, math.inf)

        if self.epsilon is not None:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                epsilon = self._largest(lambda e: total(e).epsilon(self.delta)[0])
            for _, estimator in candidates:
                estimator.set_params(epsilon=epsilon)
        plans, known = [], {}
        for _, estimator in candidates:
            key = _fingerprint(estimator, _NOT_PLANNED - {"epsilon"})
            if key in known:  # its noise and queries, so that they are not calibrated again
                _fix(estimator, known[key])
            plans.append(estimator.plan(**given))
            known[key] = plans[-1]
            _fix(estimator, plans[-1])
        if len({(plan.spent.unit, plan.spent.adjacency) for plan in plans}) > 1:
            raise ValueError("all candidates must protect the same change of the data (partition)")
        return plans, priced(plans)

    def _largest(self, total):
        """Largest epsilon of one trial, to 1%, with which the whole search fits its budget."""
        low, high, epsilon = self.epsilon / 50, self.epsilon, self.epsilon / 2.5
        fits = False
        for _ in range(20):
            try:
                spent = total(epsilon)
            except BudgetExceededError:
                spent = 0.0  # it pays for nothing: look further up
            if spent > self.epsilon:
                high = epsilon
            else:
                low, fits = epsilon, fits or spent > 0
            if 0.99 * self.epsilon <= spent <= self.epsilon or high < low * 1.005:
                break
            guess = epsilon * 0.996 * self.epsilon / max(spent, 1e-9)  # nearly proportional
            epsilon = guess if low < guess < high else math.sqrt(low * high)
        if not fits:
            raise BudgetExceededError(
                f"epsilon={self.epsilon:g} does not pay for the best of a random number of trials; "
                "raise it, or lower n_trials. Nothing was spent"
            )
        return low

    def _publish(self, params, trial, spent):
        score, _, estimator = trial
        failed = isinstance(estimator, StudentError)
        told = estimator.privacy_spent if failed else estimator.privacy_spent_
        spent = replace(
            spent,
            n_teachers=told.n_teachers,
            n_queries=told.n_queries,
            n_answered=told.n_answered,
        )
        if failed:
            raise StudentError(str(estimator), estimator.public_labels, spent) from None
        self.privacy_spent_ = estimator.privacy_spent_ = spent  # its own knows of one trial
        estimator.ledger = self.estimator.ledger
        del estimator.curator_
        self.best_estimator_, self.best_score_ = estimator, score
        self.best_params_ = unfitted(params)
        self.classes_, self.n_features_in_ = estimator.classes_, estimator.n_features_in_
        self.__dict__.pop("feature_names_in_", None)
        if hasattr(estimator, "feature_names_in_"):
            self.feature_names_in_ = estimator.feature_names_in_
        return self

    def _try(self, candidate, given, votes, judge, plan, rng):
        """One trial: its score, a number that breaks ties, the fitted estimator or its error."""
        seeds = (
            rng.integers(2**31, size=2).tolist() if self.random_state is not None else [None] * 2
        )
        stages = candidate.aggregator
        stages = stages if isinstance(stages, list) else [stages]
        soft = [getattr(stage, "temperature", None) for stage in stages]
        key = _fingerprint(candidate, _NOT_TEACHERS), tuple(t for t in soft if t is not None)
        if key not in votes:
            votes[key] = clone(candidate).set_params(random_state=seeds[0]).poll(**given)
        estimator = clone(candidate).set_params(random_state=seeds[1])
        try:
            estimator.fit_votes(votes[key], given["X_public"])
        except StudentError as error:
            return -math.inf, rng.random(), error
        score = judge.score(estimator, plan)
        return score if score == score else -math.inf, rng.random(), estimator

    def predict(self, X):
        """Predict labels with the best model; see `PATEClassifier.predict`."""
        check_is_fitted(self)
        return self.best_estimator_.predict(X)

    @available_if(_best_has("predict_proba"))
    def predict_proba(self, X):
        """Predict class probabilities with the best model."""
        check_is_fitted(self)
        return self.best_estimator_.predict_proba(X)

    @available_if(_best_has("predict_proba"))
    def predict_log_proba(self, X):
        """Log of `predict_proba`."""
        check_is_fitted(self)
        return self.best_estimator_.predict_log_proba(X)

    @available_if(_best_has("decision_function"))
    def decision_function(self, X):
        """Decision values of the best model."""
        check_is_fitted(self)
        return self.best_estimator_.decision_function(X)

    def __sklearn_is_fitted__(self):
        return hasattr(self, "best_estimator_")

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags = get_tags(self.estimator).input_tags
        return tags

    def __getstate__(self):
        state = own_generators(dict(super().__getstate__()))
        state = {name: unfitted(value) for name, value in state.items()}
        if "best_estimator_" in state:
            state["best_estimator_"] = self.best_estimator_
        if state.pop("_seed_used", False):  # whoever knows the seed can undo the noise
            state["random_state"] = None
        return state


class PrivateGridSearchCV(_PrivateSearch):
    """Choose parameters on private data at a small multiple of one fit's cost.

    A grid search with a `PATEClassifier` spends on every candidate and fold. This one runs a
    random number of trials: each takes a candidate at random, fits it and scores it. Only the
    best trial's model, parameters and score are published; the others, and their number, are
    forgotten. That costs a little more than one trial, not the sum (Papernot and Steinke 2022).

    Parameters
    ----------
    estimator : PATEClassifier
        With `classes`, and without a `random_state`, which is the search's. Preprocessing belongs
        inside its base estimator, or into a Pipeline around the search. If it has a `ledger`, the
        search is one entry there.
    param_grid : dict or list of dict
        Candidates, as in `sklearn.model_selection.GridSearchCV`.
    epsilon : float or None, default=1.0
        Budget of the whole search; the epsilon of each trial follows from it, a bit below half.
        None: each trial has the estimator's, and `privacy_spent_` says what that comes to.
    delta : float, default=1e-5
        Probability with which the guarantee of the search may fail.
    n_trials : float, default=None
        Expected number of trials, above 1. None is five for each candidate. With few, an unlucky
        draw misses the good candidates; many cost little privacy, and time only if students are
        slow: trials that need the same teachers share them.
    distribution : {"negative_binomial", "poisson"}, default="negative_binomial"
        Distribution of the number of trials, see `rdp.TrialCount`.
    eta : float, default=1.0
        Shape of "negative_binomial": 1 is the geometric distribution.
    scoring : str, callable or None, default=None
        How trials are scored on `X_val` and `y_val`; None is accuracy. Without them, it must be
        None.
    validation_fraction : float, default=0.2
        Part of the private data that is held out to score on, if `X_val` is not given; at most
        0.5. The noise of each score costs no more than the trial does, and as each record is in
        one of the two parts, only the larger cost counts. At most 1,000 records (or groups) of
        it are scored.
    random_state : int, RandomState instance or None, default=None
        As in `PATEClassifier`: for tests only. It cannot go with an estimator that has
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
    A private score predicts each record (or group) by itself, with a fresh copy of the student.
    Were they predicted together, one record could change what is predicted for all others (a
    student that scales by the rows it is given, or draws random numbers), and the score by more
    than the 1 that its noise hides. Students whose prediction for a row depends on the rows beside
    it are refused, if some public rows show it. At most 1,000 are predicted, chosen without looking
    at them, as each takes its time: 1 ms with a logistic regression, 10 ms with a forest.

    There is no `cv_results_`: the other trials and their number are private. How long `fit` takes
    tells something of that number; do not publish it.

    References
    ----------
    .. [1] Papernot, Steinke (2022). Hyperparameter tuning with Renyi differential privacy. ICLR.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn_pate import PATEClassifier
    >>> from sklearn_pate.model_selection import PrivateGridSearchCV
    >>> X, y = make_classification(4000, n_features=5, class_sep=2, random_state=0)
    >>> clf = PATEClassifier(LogisticRegression(), n_teachers=50, classes=[0, 1])
    >>> grid = {"student__C": [0.01, 1.0], "student": [LogisticRegression()]}
    >>> search = PrivateGridSearchCV(clf, grid, epsilon=2.0)
    >>> search = search.fit(X[:3000], y[:3000], X_public=X[3000:])
    >>> search.privacy_spent_.epsilon <= 2.0
    True
    """

    _parameter_constraints: dict = {
        **_PrivateSearch._parameter_constraints,
        "param_grid": [dict, list],
    }

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


class PrivateRandomizedSearchCV(_PrivateSearch):
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
    >>> X, y = make_classification(4000, n_features=5, class_sep=2, random_state=0)
    >>> clf = PATEClassifier(LogisticRegression(), n_teachers=50, classes=[0, 1])
    >>> search = PrivateRandomizedSearchCV(
    ...     clf, {"base_estimator__C": loguniform(0.01, 10)}, n_iter=3, epsilon=2.0
    ... )
    >>> search = search.fit(X[:3000], y[:3000], X_public=X[3000:])
    >>> list(search.best_params_)
    ['base_estimator__C']
    """

    _parameter_constraints: dict = {
        **_PrivateSearch._parameter_constraints,
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


class _PublicJudge:
    """Scores on public rows: no cost."""

    def __init__(self, X, y, scorer):
        self._X, self._y, self._scorer = X, y, scorer

    def rdp(self, plan):
        return _curve(plan)

    def check(self, estimators, X_public, plans):
        """Any student will do."""

    def score(self, estimator, plan):
        with isolated(0):  # what a scorer draws would tell how many trials there were
            return float(self._scorer(estimator, self._X, self._y))


class _PrivateJudge:
    """Scores on held-out private rows: a noisy number of units predicted right.

    A unit is a record, or all rows of one identifier or group; it adds their mean, at most 1. So
    that it changes nothing else, each is predicted by itself, by a fresh copy of the student:
    a student may look at the rows beside it, draw random numbers or remember what it saw.

    Parameters
    ----------
    X : array-like with n_samples rows
        Private rows.
    codes : ndarray of shape (n_samples,)
        Their labels.
    units : sequence of ndarray of int
        Rows of each unit that is scored.
    rng : numpy.random.Generator
        Source of the noise.
    """

    def __init__(self, X, codes, units, rng):
        self._X = indexable_rows(X, "X")
        self._codes = codes
        self._units = units
        self._rng = rng

    def rdp(self, plan):
        # A record is in one part: it changes either the model or the score
        return np.maximum(_curve(plan), DEFAULT_ORDERS / (2 * self.sigma(plan) ** 2))

    def sigma(self, plan):
        """Noise of the score, in units; at orders that matter it costs no more than the fit."""
        matter = DEFAULT_ORDERS < 64
        return float(np.sqrt(np.max(DEFAULT_ORDERS[matter] / (2 * _curve(plan)[matter]))))

    def check(self, estimators, X_public, plans):
        """Refuse students whose prediction for a public row depends on the rows beside it."""
        checked = set()
        for estimator, plan in zip(estimators, plans, strict=True):
            key = _fingerprint(estimator, _NOT_STUDENT)
            if key not in checked and plan.n_queries > 1:
                estimator._check_rows_alone(X_public, plan.n_queries)
                checked.add(key)

    def score(self, estimator, plan):
        return self._released(self._right(estimator), plan)

    def _released(self, right, plan):
        # rounded: no digits that tell of the sum
        return float(round(right + self._rng.normal(scale=self.sigma(plan))))

    def _right(self, estimator):
        """Number of units predicted right: private."""
        fresh = copies(estimator.student_)
        return sum(self._is_right(fresh, rows) for rows in self._units)

    def _is_right(self, fresh, rows):
        """Share of a unit's rows that are predicted right; what cannot be predicted is wrong."""

        def share():
            with isolated(0):
                unit = copied_data(own_rows(self._X, rows, _take))
                predicted = np.asarray(fresh().predict(unit))
                if predicted.shape != rows.shape:
                    return 0.0
                return float(np.mean(predicted.astype(np.intp) == self._codes[rows]))

        right, failed = attempt(share)
        return 0.0 if failed is not None else right


#: Units that a private score looks at: enough for a point of accuracy, and each takes its time.
_MOST_SCORED = 1000


def _some_units(units, held, seed):
    """Rows of some of the units that are held out, chosen by a keyed hash of their names.

    Adding or removing a unit swaps at most one other in or out of the choice. Each counts between
    0 and 1, so the score changes by at most 1.
    """
    distinct, unit = np.unique(units[held], return_inverse=True)
    chosen = np.argsort(keyed_digests(distinct, seed), kind="stable")[:_MOST_SCORED]
    return [held[unit == k] for k in chosen]


#: Parameters that do not change what a fit costs.
_NOT_PLANNED = {"base_estimator", "student", "epsilon", "n_jobs", "verbose", "keep_teachers"}
#: Parameters in which candidates cannot differ.
_SAME_FOR_ALL = {"partition", "unit", "classes", "ledger", "random_state", "secure"}
#: Parameters that do not change the teachers.
_NOT_TEACHERS = {
    *("student", "aggregator", "n_queries", "query_strategy", "epsilon", "delta", "accounting"),
    *("n_jobs", "verbose", "ledger", "random_state"),
}
#: Parameters that do not change the student.
_NOT_STUDENT = set(PATEClassifier().get_params(deep=False)) - {"student", "base_estimator"}


def _fix(estimator, plan):
    """Set the noise and the numbers of queries to those of a plan."""
    aggregators, wanted = ([part[k] for part in plan.stages] for k in (0, 1))
    staged = isinstance(estimator.aggregator, list)
    estimator.set_params(
        aggregator=aggregators if staged else aggregators[0],
        n_queries=wanted if staged else wanted[0],
    )


def _fingerprint(estimator, without):
    params = estimator.get_params()
    try:
        return fingerprint({k: v for k, v in params.items() if k.split("__")[0] not in without})
    except Exception:  # what does not pickle is like nothing else
        return id(estimator)


def _curve(plan):
    """Renyi cost of one fit, by whichever way of counting is smallest at each order."""
    cost = plan.cost
    if cost.delta > 0:
        raise ValueError(
            f"{plan.stages[0][0]} with this accounting has a delta of its own, which the number of "
            "trials would multiply: neither StableArgmax nor accounting='ptr' can be tuned"
        )
    if not math.isfinite(plan.epsilon):
        raise ValueError(
            f"{plan.stages[0][0]} has no privacy guarantee. {plan.stages[0][0].missing_facts()}"
        )
    curve = np.minimum(cost.rdp, DEFAULT_ORDERS * cost.mu_squared / 2)
    return np.minimum(curve, pure_rdp(cost.pure, DEFAULT_ORDERS) if cost.pure < 1e6 else np.inf)


def _mixture(curves):
    """Renyi cost of one trial, whose candidate is drawn at random and published."""
    exponents = (DEFAULT_ORDERS - 1) * np.array(curves)
    return (logsumexp(exponents, axis=0) - math.log(len(curves))) / (DEFAULT_ORDERS - 1)


def _take(array, rows):
    return None if array is None else _safe_indexing(array, rows)


def _entropy(random_state):
    """What seeds the search; None, the default, is the operating system's."""
    if isinstance(random_state, np.random.RandomState):
        return random_state.randint(2**32, size=4, dtype=np.uint32).tolist()
    return random_state
