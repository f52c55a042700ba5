"""Private searches over a grid, and over randomly drawn candidates."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import MetaEstimatorMixin
from sklearn.model_selection import ParameterGrid, ParameterSampler
from sklearn.utils import get_tags, indexable
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from .._sklearn import (
    CheckedEstimator,
    Interval,
    _fit_context,
    _safe_indexing,
    available_where,
    delegated,
)
from ..accounting.budget import as_cap
from ..accounting.findings import large_delta
from ..accounting.plan import spent_of
from ..estimator import PATEEstimator
from ..exceptions import StudentError, warn
from ..fitting.checks import checked_targets
from ..fitting.dry_run import check_missing, dry_run_teachers
from ..fitting.guarantees import prior_records
from ..fitting.inputs import check_inputs, read_by
from ..fitting.planning import source_of_noise
from ..fitting.run import keeping
from ..fitting.seeds import seed_sequence, warn_if_seeded
from ..fitting.synthesizers import declared_synthesizer, set_fraction
from ..methods.base import VotingMethod
from ..public import (
    check_not_swapped,
    indexable_rows,
    public_rows,
    warn_if_private,
)
from ..rdp import Neighbors, TrialCount
from ..rdp.cost import no_cost
from ..rdp.records import composition, finished
from ..releases.synthetic_rows import Synthesis, dry_run_rows, steps_of_rows
from ..runtime.copies import copied_generators, unfitted
from ..runtime.isolation import is_ours, next_fit_number
from ..secure import noise_generator
from ..synthesis import ClassSumsSynthesizer, MarginalSynthesizer
from .candidates import calibrate, make_candidates, search_record, teachers_key
from .trials import (
    PrivateScorer,
    PublicScorer,
    best_trial,
    hold_out,
    hold_out_by_coins,
)

if TYPE_CHECKING:
    from .._typing import RandomState, Rows
    from ..accounting.plan import Plan
    from ..accounting.spent import PrivacySpent
    from ..fitting.inputs import Inputs
    from ..fitting.run import Account
    from ..rdp.cost import Cost
    from .candidates import Candidate


class PrivateSearch(MetaEstimatorMixin, CheckedEstimator):
    """Base class of searches that publish only the best of a random number of trials."""

    # Requested by default, so that users need not call set_fit_request for metadata routing
    __metadata_request__fit = {"X_public": True, "groups": True, "X_val": True, "y_val": True}

    _parameter_constraints: dict = {
        "estimator": [PATEEstimator],
        "epsilon": [Interval(Real, 0, None, closed="neither"), None],
        "delta": [Interval(Real, 0, 1, closed="neither")],
        "n_trials": [Interval(Real, 1, None, closed="neither"), None],
        "eta": [Interval(Real, -0.9, 20, closed="both")],
        "scoring": [str, callable, None],
        "validation_fraction": [Interval(Real, 0, 0.5, closed="right")],
        "random_state": ["random_state"],
    }

    @_fit_context(prefer_skip_nested_validation=False)
    def fit(
        self,
        X: Rows,
        y: ArrayLike,
        X_public: Rows = None,
        *,
        X_val: Rows = None,
        y_val: Rows = None,
        groups: ArrayLike | None = None,
    ) -> Self:
        """Try candidates on private data and keep the best.

        Parameters
        ----------
        X, y : array-like with n_samples rows
            Private data, as in `PATEClassifier.fit`.
        X_public : array-like or PublicData with n_public rows
            Public, unlabelled rows. If None, synthetic rows are sampled instead.
        X_val, y_val : array-like or PublicData with n_val rows, default=None
            Public, labelled rows to score trials on. If None, a part of the private data is held
            out for the scores, which are then noisy.
        groups : array-like of shape (n_samples,), default=None
            As in `PATEClassifier.fit`.

        Returns
        -------
        object
            Itself, fitted.

        Raises
        ------
        BudgetExceededError
            If the budget is too small for the search. It is raised before any teacher trains.
        StudentError
            If the student of the best trial could not be trained. The search is paid for.
        BadPlanError, TeacherError
            As in `PATEClassifier.fit`.
        ValueError
            If arguments are inconsistent, if the cost of a candidate is unknown, if its student
            cannot be scored on private rows (see Notes), or if `random_state` is given although the
            estimator has ``secure=True`` or a `ledger`.
        """
        with keeping(self, self.estimator.ledger) as account:
            return self._fit(X, y, X_public, X_val, y_val, groups, account)

    def _fit(
        self,
        X: Rows,
        y: ArrayLike,
        X_public: Rows,
        X_val: Rows,
        y_val: Rows,
        groups: ArrayLike | None,
        account: Account,
    ) -> Self:
        """Fit the search, and record its cost in an account."""
        check_not_swapped(X, y, X_public)
        fit_number = next_fit_number()
        X_public, X_val, y_val = map(public_rows, (X_public, X_val, y_val))
        not_covered = warn_if_private(X_public, X) + warn_if_private(X_val, X, "X_val")
        self._refuse_seed()
        seeds = seed_sequence(self.random_state).spawn(4)
        candidates_seed, hold_out_seed, trials_seed, rows_seed = seeds
        param_sets = self._param_sets(np.random.default_rng(candidates_seed))
        candidates = make_candidates(self.estimator, param_sets, self.epsilon is not None)
        rows, groups = indexable(indexable_rows(X, "X"), groups)  # dtypes depend on all rows
        codes, target, _ = checked_targets(self.estimator, rows, y)
        y = target.with_one_dtype(y, codes)  # type: ignore[arg-type] # a dtype independent of the held-out rows
        synthesizer = declared_synthesizer(self.estimator, X, X_public)
        if synthesizer is not None:
            set_fraction(synthesizer, reads_sums=False, is_search=True)
            not_covered += read_by(synthesizer)
            rows, X_public = _rows_of_dry_run(synthesizer, rows)
        fit_data = dict(X=rows, y=y, X_public=X_public, groups=groups, sample_weight=None)
        if X_val is None and y_val is None:
            scorer = self._hold_out_of(fit_data, codes, candidates, hold_out_seed)
        else:
            scorer = PublicScorer(self.estimator, self.scoring, X_val, y_val, X_public)
        of_rows = None
        if synthesizer is not None:
            of_rows = self._plan_of_rows(candidates, synthesizer, fit_data)
        count = TrialCount(self.n_trials or 5 * len(candidates), self.eta)
        before = no_cost if of_rows is None else of_rows.prior_cost
        cost = calibrate(candidates, fit_data, scorer, count, before, **self._cap())
        scorer.check(candidates, fit_data["X_public"])
        plans = [candidate.plan for candidate in candidates]
        spent = replace(
            self._spent_by(plans, cost, synthesizer, not_covered),
            guarantee=self._guarantee(plans, scorer, count, cost, of_rows),
            n_synthetic=0 if of_rows is None else len(X_public),
            schema="declared" if of_rows is None else of_rows.known_synthesis.schema_source,
            fit_number=fit_number,
        )
        warn_if_seeded(spent)
        self._warn_of_delta(plans[0], len(codes))
        account.check(spent, cost)
        ledger: Any = account.ledger
        if hasattr(ledger, "before"):
            spent = replace(spent, ledger=ledger.before())
        self._seed_used = True  # noise is drawn from here on
        if of_rows is not None:  # once, before the trials, which share the rows
            account.whole = cost
            fit_data["X_public"] = self._publish_rows(of_rows, spent, rows_seed, account)
            if is_ours(account.synthesis.synthesizer):  # in the form of the rows, once it is known
                fit_data["X"] = account.synthesis.synthesizer.like(fit_data["X"])
        account.append(spent, cost)
        rng = self._generator(trials_seed)
        of_all = {
            "are_seeded": self.random_state is not None,
            "are_synthetic": of_rows is not None,
        }
        self._publish(*best_trial(candidates, fit_data, scorer, count, rng, **of_all), account)
        return self

    def _refuse_seed(self) -> None:
        """Raise an error for a seed if the estimator is secure or has a ledger."""
        is_seeded = self.random_state is not None
        if is_seeded and (self.estimator.secure or self.estimator.ledger is not None):
            raise ValueError(
                "random_state must be None if the estimator has secure=True or a ledger, because "
                f"two searches with one seed share noise; got random_state={self.random_state!r}"
            )

    def _cap(self) -> dict[str, Any]:
        """Return the epsilon and delta of the search as floats; epsilon may be None."""
        epsilon, delta = as_cap(self.epsilon, self.delta)
        return {"epsilon": epsilon, "delta": delta}

    def _plan_of_rows(
        self, candidates: list[Candidate], synthesizer: Any, fit_data: dict[str, Any]
    ) -> Inputs:
        """Return the inputs of one fit, with the planned synthesis of rows for all trials.

        The budget of the search includes the cost of the rows. Teachers and students of all
        candidates are tried in a dry run on made-up rows, which depend on the schema alone.
        """
        given = [check_inputs(candidate.estimator, **fit_data) for candidate in candidates]
        first = given[0]
        budget = {"pure": False, **self._cap()}
        synthesis = Synthesis.planned(synthesizer, first.records, first.neighbors, **budget)
        keys = [teachers_key(candidate.estimator) for candidate in candidates]
        for of_teachers in dict(zip(keys, given, strict=True)).values():
            dry_run_teachers(of_teachers, synthesizer)
        for of_candidate in given:
            check_missing(of_candidate, are_synthetic=True)
        return replace(first, synthesis=synthesis)

    def _publish_rows(
        self, of_rows: Inputs, spent: PrivacySpent, seed: np.random.SeedSequence, account: Account
    ) -> Rows:
        """Run the steps of the synthesizer, which all trials share, and return its rows."""
        noise_seed, other_seed = seed.spawn(2)
        n_all = of_rows.known_synthesis.synthesizer.n_steps

        def statement(n_steps: int, cost: Cost) -> PrivacySpent:
            epsilon, name = cost.epsilon(self.delta)
            records = prior_records(of_rows, n_steps)
            part = composition(records, cost, epsilon=epsilon, delta=float(self.delta))
            return replace(
                spent,
                epsilon=epsilon,
                composition=name,
                guarantee=finished(part),
                covers="rows" if n_steps == n_all else "statistics",
                n_queries=0,
                n_answered=0,
                n_synthetic=spent.n_synthetic if n_steps == n_all else 0,
                extra_releases=(),
            )

        account.synthesis = of_rows.synthesis
        for step in steps_of_rows(
            account,
            of_rows.records,
            np.random.default_rng(self._generator(noise_seed)),
            generator=source_of_noise(self),
            statement=statement,
            phase=of_rows.phase,
        ):
            step.take()
        account.keep(account.synthesis.with_rows(np.random.default_rng(other_seed)))
        return account.synthesis.rows

    def _warn_of_delta(self, plan: Plan, n_records: int) -> None:
        """Warn about a delta that is too large for the number of records, if it is public."""
        spent = spent_of(plan)
        neighbors = Neighbors(relation=spent.relation, unit=spent.unit)
        public_size = neighbors.with_size(n_records).n_records
        finding = large_delta(float(self.delta), n_teachers=spent.n_teachers, n_records=public_size)
        if finding is not None:
            warn(str(finding))

    def _spent_by(
        self, plans: list[Plan], cost: Cost, synthesizer: Any, not_covered: tuple[str, ...]
    ) -> PrivacySpent:
        """Return the statement of a search with this cost, which holds for all possible trials."""
        spents = [spent_of(plan) for plan in plans]
        not_covered += tuple(part for spent in spents for part in spent.not_covered)
        return replace(
            spents[0].paid(),
            epsilon=cost.epsilon(self.delta)[0],
            delta=float(self.delta),
            composition="tuning",
            # The largest number over all candidates; None where records vote
            n_teachers=max(spent.n_teachers or 0 for spent in spents) or None,
            n_queries=max(spent.n_queries for spent in spents),
            arithmetic="real",  # of the number of trials and the noise of scores
            generator=source_of_noise(self),
            tables=_tables(synthesizer, *spents),
            not_covered=tuple(dict.fromkeys(not_covered)),
        )

    def _guarantee(
        self,
        plans: list[Plan],
        scorer: PublicScorer | PrivateScorer,
        count: TrialCount,
        cost: Cost,
        of_rows: Inputs | None,
    ) -> Any:
        """Return the record of the composition of the synthetic rows, if any, and the trials."""
        rows_records = [] if of_rows is None else prior_records(of_rows)
        part = composition(
            [*rows_records, search_record(plans, scorer, count)],
            cost,
            epsilon=cost.epsilon(self.delta)[0],
            delta=float(self.delta),
        )
        return finished(part)

    def _hold_out_of(
        self,
        fit_data: dict[str, Any],
        codes: np.ndarray,
        candidates: list[Candidate],
        seed: np.random.SeedSequence,
    ) -> PublicScorer | PrivateScorer:
        """Remove held-out private rows from `fit_data`, and return a scorer on these rows."""
        size_is_private = _size_is_private(candidates)
        X, groups = fit_data["X"], fit_data["groups"]
        train, scorer = self._hold_out(X, codes, groups, seed, size_is_private=size_is_private)
        if size_is_private and train.size == 0:
            # An error would reveal that there are no records, so one record of weight 0 is used
            train = np.array([0])
            fit_data["sample_weight"] = np.zeros(1)
        for name in ("X", "y", "groups"):
            if fit_data[name] is not None:
                fit_data[name] = _safe_indexing(fit_data[name], train)
        return scorer

    def _generator(self, seed: np.random.SeedSequence) -> np.random.Generator:
        """Return the generator of secret draws: noise of scores, number and choice of trials."""
        return noise_generator(None if self.random_state is None else seed)

    def _hold_out(
        self,
        X: Rows,
        codes: np.ndarray,
        groups: ArrayLike | None,
        seed: np.random.SeedSequence,
        *,
        size_is_private: bool = False,
    ) -> tuple[np.ndarray, PrivateScorer]:
        """Return the private rows to train on, and a scorer on the held-out private rows.

        `size_is_private` is True if records vote and the guarantee covers adding or removing one.
        """
        has_accuracy = self.estimator.target_type.has_accuracy
        if codes.ndim > 1:
            raise ValueError("several targets require public validation data: give X_val and y_val")
        if not has_accuracy or self.scoring is not None:
            name = type(self.estimator).__name__
            queried = f"scoring={self.scoring!r}" if has_accuracy else name
            raise ValueError(
                f"{queried} requires public validation data: give X_val and y_val. Only "
                "classifiers with scoring=None can be scored on private rows"
            )
        if not isinstance(self.estimator.partition, str):
            raise ValueError(
                "private rows cannot be held out with your own partition: give X_val and y_val"
            )
        fraction, n_records = float(self.validation_fraction), len(codes)
        split_seed, noise_seed, choice_seed = seed.spawn(3)
        if size_is_private and groups is None:
            coins = self._generator(split_seed)
            train, units = hold_out_by_coins(fraction, coins, n_records=n_records)
        else:
            split = fraction, [split_seed, choice_seed]
            train, units = hold_out(self.estimator, X, groups, *split, n_records=n_records)
        return train, PrivateScorer(X, codes, units, self._generator(noise_seed))

    def _publish(self, score: float, candidate: Candidate, best: Any, account: Account) -> None:
        """Set the published attributes of the best trial, or raise the error of its student."""
        failed = isinstance(best, StudentError)
        spent_by_trial = best.privacy_spent if failed else best.privacy_spent_
        account.spent = spent = replace(
            account.spent,
            n_teachers=spent_by_trial.n_teachers,
            n_queries=spent_by_trial.n_queries,
            n_answered=spent_by_trial.n_answered,
            tables=_tables(getattr(account.synthesis, "synthesizer", None), spent_by_trial),
        )
        if failed:
            raise StudentError(str(best), best.public_labels, spent) from None
        if account.synthesis is not None:
            best.X_synthetic_ = account.synthesis.rows
        best.privacy_spent_ = spent  # replaces the statement of one trial
        best.ledger = self.estimator.ledger
        best.on_bad_plan = self.estimator.on_bad_plan
        del best.curator_
        self.best_estimator_ = best
        self.best_score_ = score
        self.best_params_ = unfitted(candidate.params)
        values = self.estimator.target_type.fitted_attribute
        setattr(self, values, getattr(best, values))
        self.n_features_in_ = best.n_features_in_
        self.__dict__.pop("feature_names_in_", None)
        if hasattr(best, "feature_names_in_"):
            self.feature_names_in_ = best.feature_names_in_

    @property
    def privacy_spent_(self) -> PrivacySpent:
        """Privacy cost of the search.

        It is the statement of the best estimator, which `fit_student` may update.

        Returns
        -------
        PrivacySpent
        """
        return self.best_estimator_.privacy_spent_

    def _best(self) -> PATEEstimator:
        check_is_fitted(self)
        return self.best_estimator_

    def predict(self, X: Rows) -> np.ndarray:
        """Predict labels with the best model; see `PATEClassifier.predict`."""
        return self._best().predict(X)

    def score(self, X: Rows, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Return the accuracy of the best model, or its R2 for regression."""
        return self._best().score(X, y, sample_weight)

    @available_where(delegated("predict_quantiles", "best_estimator_", "estimator"))
    def predict_quantiles(self, X: Rows, q: ArrayLike) -> np.ndarray:
        """Predict quantiles with the best model; see `PATERegressor.predict_quantiles`."""
        return self._best().predict_quantiles(X, q)

    @available_if(delegated("predict_proba", "best_estimator_", "estimator"))
    def predict_proba(self, X: Rows) -> np.ndarray:
        """Predict class probabilities with the best model."""
        return self._best().predict_proba(X)

    @available_if(delegated("predict_proba", "best_estimator_", "estimator"))
    def predict_log_proba(self, X: Rows) -> np.ndarray:
        """Predict logarithms of class probabilities with the best model."""
        return self._best().predict_log_proba(X)

    @available_if(delegated("decision_function", "best_estimator_", "estimator"))
    def decision_function(self, X: Rows) -> np.ndarray:
        """Compute decision values with the best model."""
        return self._best().decision_function(X)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "best_estimator_")

    def __sklearn_tags__(self) -> Any:
        return get_tags(self.estimator)

    def __getstate__(self) -> dict[str, Any]:
        state = copied_generators(dict(super().__getstate__()))
        state = {name: unfitted(value) for name, value in state.items()}
        if "best_estimator_" in state:
            state["best_estimator_"] = self.best_estimator_
        if state.pop("_seed_used", False):  # anyone with the seed could undo the noise
            state["random_state"] = None
        return state


def _rows_of_dry_run(synthesizer: Any, rows: Rows) -> tuple[Rows, Rows]:
    """Return private rows in the form of the rows of a dry run, and the rows of the dry run."""
    if isinstance(synthesizer, ClassSumsSynthesizer | MarginalSynthesizer):
        synthesizer.guess_kinds(rows)
    made_up = dry_run_rows(synthesizer)
    return synthesizer.like(rows) if is_ours(synthesizer) else rows, made_up


def _tables(synthesizer: Any, *spents: PrivacySpent) -> tuple[str, ...]:
    """Return descriptions of the released tables: of the synthesizer, if any, and of trials."""
    of_rows = [] if synthesizer is None else [synthesizer.released_as]
    return tuple(dict.fromkeys([*of_rows, *(table for spent in spents for table in spent.tables)]))


class PrivateGridSearchCV(PrivateSearch):
    """Choose parameters on private data at a small multiple of the cost of one fit.

    In all measurements up to an epsilon of 2, one fit with the defaults and all of epsilon was more
    accurate than the best candidate of a search, even if the choice was perfect, because each trial
    may spend only about a third of epsilon. A search may be more accurate at larger epsilons, if
    the defaults do not suit the data.

    A grid search with a `PATEClassifier` has a privacy cost for every candidate and fold. This
    search runs a random number of trials, and each trial draws a candidate at random, fits it and
    scores it. Only the model, parameters and score of the best trial are published; the other
    trials, and their number, are discarded. The cost is about two to three times the cost of one
    trial, not the sum of the costs of all trials (Papernot and Steinke 2022).

    Parameters
    ----------
    estimator : PATEClassifier or PATERegressor
        The estimator. A classifier requires `classes`. Its `random_state` must be None; set the
        `random_state` of the search instead. Preprocessing belongs inside its base estimator, or in
        a Pipeline around the search. If it has a `ledger`, the search is one entry in the ledger.
    param_grid : dict or list of dict
        Candidates, as in `sklearn.model_selection.GridSearchCV`.
    epsilon : float or None, default=1.0
        Budget of the whole search. The epsilon of each trial is computed from it, and is about a
        third to a half of it. If None, each trial has the epsilon of the estimator, and
        `privacy_spent_` contains the larger cost of the search.
    delta : float, default=1e-5
        Delta of the guarantee of the search.
    n_trials : float, default=None
        Expected number of trials, above 1. The default is five for each candidate. With a small
        number, good candidates may not be tried. A large number has a small additional privacy
        cost. It takes little additional time if students train fast, because trials with the same
        teachers train the teachers once.
    eta : float, default=1.0
        Shape of the distribution of the number of trials, see `rdp.TrialCount`; 1 is the geometric
        distribution.
    scoring : str, callable or None, default=None
        Score of trials on `X_val` and `y_val`; None is the `score` of the estimator. Without
        `X_val`, it must be None.
    validation_fraction : float, default=0.2
        Fraction of the private data that is held out for scores if `X_val` is not given; at most
        0.5. A noisy score costs at most as much as the fit of its trial, and only the larger of the
        two costs counts, because each record is used either in the fit or in the score. At most
        1,000 of the held-out records (or groups) are scored. Where records vote and may be added or
        removed, each record is held out independently with this probability, because the number of
        records, and of held-out records, is private.
    random_state : int, RandomState instance or None, default=None
        As in `PATEClassifier`, for tests only. If the estimator has ``secure=True`` or a `ledger`,
        it must be None.

    Attributes
    ----------
    best_estimator_ : PATEClassifier
        The model of the best trial. It is not refitted, because a refit would have a privacy cost.
    best_params_ : dict
        Parameters of the best trial.
    best_score_ : float
        Score of the best trial. On private rows, it is the noisy number of correctly predicted
        held-out records (or groups), out of at most 1,000.
    privacy_spent_ : PrivacySpent
        Privacy cost of the whole search. It is safe to publish.
    classes_ : ndarray of shape (n_classes,)
        Sorted labels of a classifier. A search with a `PATERegressor` has `levels_` instead.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Feature names, if the private data had string column names.

    Notes
    -----
    For a private score, each record (or group) is predicted separately, with a fresh copy of the
    student. In a common call, one record could change the predictions for all others, for example
    if the student scales by the rows of the call or draws random numbers. Then the score could
    change by more than 1, and the noise hides only a change of 1. The search raises an error if the
    predictions of a student for some public rows depend on other rows of the call. At most 1,000
    records (or groups) are predicted, because each call takes time: 1 ms with a logistic
    regression, 10 ms with a forest. They are chosen independently of their values.

    There is no `cv_results_`, because the other trials and their number are private. The run time
    of `fit` depends on the number of trials; do not publish it.

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
        estimator: PATEEstimator,
        param_grid: dict[str, Any] | list[dict[str, Any]],
        *,
        epsilon: float | None = 1.0,
        delta: float = 1e-5,
        n_trials: float | None = None,
        eta: float = 1.0,
        scoring: str | Callable[..., Any] | None = None,
        validation_fraction: float = 0.2,
        random_state: RandomState = None,
    ) -> None:
        self.estimator = estimator
        self.param_grid = param_grid
        self.epsilon = epsilon
        self.delta = delta
        self.n_trials = n_trials
        self.eta = eta
        self.scoring = scoring
        self.validation_fraction = validation_fraction
        self.random_state = random_state

    def _param_sets(self, rng: np.random.Generator) -> list[dict[str, Any]]:
        return list(ParameterGrid(self.param_grid))


class PrivateRandomizedSearchCV(PrivateSearch):
    """Choose parameters like `PrivateGridSearchCV`, among candidates drawn from distributions.

    Parameters
    ----------
    estimator : PATEClassifier or PATERegressor
        As in `PrivateGridSearchCV`.
    param_distributions : dict or list of dict
        Candidates, as in `sklearn.model_selection.RandomizedSearchCV`.
    n_iter : int, default=10
        Number of candidates, which are drawn independently of private data.
    epsilon, delta, n_trials, eta, scoring, validation_fraction, random_state
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
        estimator: PATEEstimator,
        param_distributions: dict[str, Any] | list[dict[str, Any]],
        *,
        n_iter: int = 10,
        epsilon: float | None = 1.0,
        delta: float = 1e-5,
        n_trials: float | None = None,
        eta: float = 1.0,
        scoring: str | Callable[..., Any] | None = None,
        validation_fraction: float = 0.2,
        random_state: RandomState = None,
    ) -> None:
        self.estimator = estimator
        self.param_distributions = param_distributions
        self.n_iter = n_iter
        self.epsilon = epsilon
        self.delta = delta
        self.n_trials = n_trials
        self.eta = eta
        self.scoring = scoring
        self.validation_fraction = validation_fraction
        self.random_state = random_state

    def _param_sets(self, rng: np.random.Generator) -> list[dict[str, Any]]:
        seed = int(rng.integers(2**32))
        return list(ParameterSampler(self.param_distributions, self.n_iter, random_state=seed))


def _size_is_private(candidates: list[Candidate]) -> bool:
    """Return whether the guarantee covers adding or removing records; raise for voting methods."""
    methods = [candidate.estimator.method for candidate in candidates]
    for method in methods:
        if isinstance(method, VotingMethod):
            raise ValueError(
                f"private rows cannot be held out from method={type(method).__name__}; give X_val "
                "and y_val"
            )
    join = {getattr(method, "size_is_private", False) for method in methods}
    if len(join) > 1:
        raise ValueError(
            "all candidates must protect the same change of the data: relation='add_or_remove_one' "
            "for all of them, or for none"
        )
    return join.pop()
