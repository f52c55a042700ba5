"""Candidates of a search: their parameters, their plans and the cost of the search."""

from __future__ import annotations

import dataclasses
import math
import warnings
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from joblib import hash as fingerprint
from scipy.special import logsumexp
from sklearn.base import clone

from .._sklearn import refuse_classes
from ..accounting import Plan
from ..accounting.budget import as_cap
from ..accounting.plan import spent_of
from ..encoding.targets import NumberTarget
from ..estimator import PATEEstimator
from ..exceptions import BudgetExceededError
from ..fitting.inputs import check_inputs, temperature_of
from ..fitting.methods import make_method, pin_method
from ..fitting.planning import accepted, make_plan, spending_plan
from ..methods.base import Method
from ..rdp import DEFAULT_ORDERS, Cost, pure_rdp
from ..rdp.cost import no_cost
from ..rdp.records import Record, steps_of, trials_record
from ..runtime.isolation import silent

if TYPE_CHECKING:
    from ..fitting.inputs import Inputs
    from ..rdp.conversion import TrialCount
    from .trials import PrivateScorer, PublicScorer


@dataclass
class Candidate:
    """One set of parameters.

    Attributes
    ----------
    params : dict
        The parameters, as given by the user.
    estimator : PATEClassifier
        A clone of the search's estimator with these parameters.
    plan : Plan or None
        Plan of a trial; None before `calibrate`.
    """

    params: dict[str, Any]
    estimator: PATEEstimator
    plan: Plan = None  # type: ignore[assignment] # until `calibrate`


#: Parameters in which candidates cannot differ: parameters of the data, and others.
_OF_DATA = {"partition", "unit", "classes", "bounds", "n_levels", "synthesizer", "schema"}
_SAME_FOR_ALL = _OF_DATA | {"ledger", "random_state", "secure"}

#: Parameters that do not change the cost of a fit.
_NOT_IN_PLAN = {"base_estimator", "student", "n_jobs", "verbose", "keep_teachers"}

#: Parameters that do not change the teachers: parameters of queries, and others.
_OF_QUERIES = {"accounting", "aggregator", "delta", "epsilon", "n_queries", "query_strategy"}
_NOT_IN_TEACHERS = _OF_QUERIES | {"ledger", "n_jobs", "random_state", "student", "verbose"}


#: Maximal number of candidates whose inputs, with the encoded public rows, are kept in memory.
_MOST_PREPARED = 10


def make_candidates(
    estimator: PATEEstimator, param_sets: Iterable[dict[str, Any]], search_sets_epsilon: bool
) -> list[Candidate]:
    """Return a candidate for each set of parameters.

    Parameters
    ----------
    estimator : PATEClassifier
        Estimator of the search.
    param_sets : list of dict
        The sets of parameters.
    search_sets_epsilon : bool
        Whether the epsilon of trials is derived from the search's budget.

    Returns
    -------
    list of Candidate
        Candidates with estimators that print nothing and have no ledger.

    Raises
    ------
    ValueError
        If there are no candidates, if they set parameters that a search does not permit, or if the
        estimator has releases, a `random_state` or no declared classes.
    """
    if not param_sets:
        raise ValueError("there are no candidates; give at least one set of parameters")
    refuse_classes(estimator)
    return [_candidate(estimator, params, search_sets_epsilon) for params in param_sets]


def _candidate(
    estimator: PATEEstimator, params: dict[str, Any], search_sets_epsilon: bool
) -> Candidate:
    """Return a candidate with an estimator that prints nothing and has no ledger."""
    fixed = sorted(_SAME_FOR_ALL & {name.partition("__")[0] for name in params})
    if fixed:
        raise ValueError(
            f"candidates cannot differ in {fixed[0]}, because all of them must protect the same "
            f"change of the data and label the same rows. Set {fixed[0]} in the estimator"
        )
    if search_sets_epsilon and "epsilon" in params:
        raise ValueError(
            "epsilon of the search determines the epsilon of each candidate: remove epsilon from "
            "the candidates, or set epsilon=None in the search"
        )
    _check_nested(estimator, params)
    estimator = clone(estimator)
    # Copies, because candidates may share an object and set different parameters of it
    estimator.set_params(**{name: clone(params[name], safe=False) for name in params})
    if estimator.releases:
        raise ValueError(
            "a search makes many fits, so it does not support releases: set releases=None, and "
            "make the releases in a separate fit"
        )
    if estimator.random_state is not None:
        raise ValueError(
            f"estimator has random_state={estimator.random_state!r}, so trials would share noise; "
            "set random_state in the search, and None in the estimator"
        )
    if estimator._declared_target() is None:
        is_of_numbers = issubclass(estimator.target_type, NumberTarget)
        what = "classes=[...], a list of all labels that may occur"
        if is_of_numbers:
            what = "bounds=(low, high), the range of the numbers in y"
        raise ValueError(
            f"a search requires an estimator with {what}: values that are read from the private "
            f"{'numbers' if is_of_numbers else 'labels'} would not be covered by the guarantee"
        )
    pin_method(estimator)  # because the method depends on other parameters
    # Synthetic rows are sampled once, for all trials
    estimator.set_params(ledger=None, keep_teachers=False, synthesizer=None, schema=None)
    estimator._validate_params()
    return Candidate(params, silent(estimator))


def _check_nested(estimator: PATEEstimator, params: dict[str, Any]) -> None:
    """Raise an error for parameters of an object that is unknown, or has no parameters."""
    own = estimator.get_params(deep=False)
    for name in params:
        outer, _, inner = name.partition("__")
        if not inner:
            continue
        if outer not in own:
            raise ValueError(f"{name}: {type(estimator).__name__} has no parameter {outer!r}")
        given = params.get(outer, own[outer])
        if not hasattr(given, "set_params"):
            example = ", such as base_estimator=LogisticRegression()" * (outer == "base_estimator")
            raise ValueError(
                f"the candidates set {name}, but {outer}={given!r} has no parameters of its own; "
                f"set {outer} to an object with this parameter{example}"
            )


def set_plan(estimator: PATEEstimator, plan: Plan) -> None:
    """Set the noise and the numbers of queries of an estimator from a plan."""
    aggregators, n_queries = map(list, zip(*plan.stages, strict=True))
    if not isinstance(estimator.aggregator, list):
        (aggregators,), (n_queries,) = aggregators, n_queries
    estimator.set_params(aggregator=aggregators)
    n_teachers = spent_of(plan).n_teachers
    if n_teachers is not None:  # else a table, which has no queries
        estimator.set_params(n_queries=n_queries)
        if not isinstance(estimator.method, Method):  # None would depend on epsilon
            estimator.set_params(n_teachers=n_teachers)


def plan_key(estimator: PATEEstimator) -> Hashable:
    """Return a key; candidates with equal keys have the same plan and cost."""
    return _key(estimator, without=_NOT_IN_PLAN)


def teachers_key(estimator: PATEEstimator) -> tuple[Hashable, ...]:
    """Return a key; candidates with equal keys can share their teachers' votes."""
    method = make_method(estimator)
    without = _NOT_IN_TEACHERS
    if method.release.releases_proba:
        without = without - {"aggregator", "epsilon"}  # the number of cells depends on the noise
    return _key(estimator, without=without), temperature_of(estimator, method)


def _key(estimator: PATEEstimator, without: set[str]) -> Hashable:
    params = estimator.get_params()
    relevant = [name for name in params if name.split("__")[0] not in without]
    try:
        return fingerprint({name: params[name] for name in relevant})
    except Exception:  # an estimator that does not pickle equals only itself
        return id(estimator)


# --- cost of a search, and epsilon of each trial --------------------------------------------------


def calibrate(
    candidates: list[Candidate],
    fit_data: dict[str, Any],
    scorer: PublicScorer | PrivateScorer,
    count: TrialCount,
    before: Callable[[Any], Cost] = no_cost,
    *,
    epsilon: float | None,
    delta: float,
) -> Cost:
    """Set the epsilon, the noise, the numbers of queries and the plans of the candidates.

    Parameters
    ----------
    candidates : list of Candidate
        The candidates, which are changed in place.
    fit_data : dict
        Arguments of `check_inputs`.
    scorer : PublicScorer or PrivateScorer
        Scorer of the trials, which also computes the cost of one trial.
    count : TrialCount
        The random number of trials.
    epsilon : float or None
        Budget of the search; None keeps the epsilon of each candidate.
    delta : float
        Delta of the search.
    before : callable, default=no_cost
        Returns, for Renyi orders, the `Cost` of the releases that all trials share.

    Returns
    -------
    Cost
        Cost of the whole search.

    Raises
    ------
    BudgetExceededError
        If the budget is too small for the search.
    BadPlanError
        If the plan of a candidate has errors, and its `on_bad_plan` is "raise".
    ValueError
        If the guarantees of the candidates cover different changes of the data.
    """

    def cost_of(plans: list[Plan]) -> Cost:
        return before(DEFAULT_ORDERS).plus(search_cost(list(map(scorer.rdp, plans)), count))

    if epsilon is not None:
        plans_at = _trial_plans(candidates, fit_data)

        def search_epsilon(trial_epsilon: float) -> float:
            return cost_of(plans_at(trial_epsilon)).epsilon(delta)[0]

        with warnings.catch_warnings():  # only the final plans, below, should warn
            warnings.simplefilter("ignore")
            # As a float, because a cost is rounded when compared with a shorter float type
            trial_epsilon = _largest_trial_epsilon(search_epsilon, float(epsilon))
        for candidate in candidates:
            candidate.estimator.set_params(epsilon=trial_epsilon)
    plan_by_key: dict[Hashable, Plan] = {}
    for candidate in candidates:
        estimator = candidate.estimator
        key = plan_key(estimator)
        if key in plan_by_key:  # the same noise and queries need not be calibrated again
            set_plan(estimator, plan_by_key[key])
        candidate.plan = accepted(make_plan(check_inputs(estimator, **fit_data)), estimator)
        plan_by_key[key] = candidate.plan
        set_plan(estimator, candidate.plan)
    plans = [candidate.plan for candidate in candidates]
    spents: list[Any] = [plan.spent for plan in plans]
    if len({(spent.unit, spent.relation) for spent in spents}) > 1:
        raise ValueError(
            "the guarantees of all candidates must cover the same change of the data; got "
            "different units or neighboring relations. Use methods with the same unit and relation"
        )
    return cost_of(plans)


def _trial_plans(
    candidates: list[Candidate], fit_data: dict[str, Any]
) -> Callable[[float], list[Plan]]:
    """Return a function that plans each candidate at an epsilon, without a dry run.

    The inputs of at most `_MOST_PREPARED` candidates are checked and prepared once, unless the
    number of teachers depends on epsilon.
    """
    # A plan is slow (it searches for its noise), and many candidates differ in the student alone
    keys = [plan_key(candidate.estimator) for candidate in candidates]
    alike = {key: candidate.estimator for key, candidate in zip(keys, candidates, strict=True)}
    prepared: dict[Hashable, Inputs] = {}

    def plans_at(epsilon: float) -> list[Plan]:
        plans = {}
        for key, estimator in alike.items():
            estimator.set_params(epsilon=epsilon)
            inputs = prepared.get(key)
            if inputs is None or (inputs.n_teachers is not None and estimator.n_teachers is None):
                inputs = check_inputs(estimator, **fit_data)
                if len(prepared) < _MOST_PREPARED:
                    prepared[key] = inputs
            cap = as_cap(estimator.epsilon, estimator.delta)
            plans[key] = spending_plan(dataclasses.replace(inputs, cap=cap))
        return [plans[key] for key in keys]

    return plans_at


def _largest_trial_epsilon(search_epsilon: Callable[[float], float], budget: float) -> float:
    """Return the largest epsilon of one trial within the budget of the search, to about 1 %.

    Parameters
    ----------
    search_epsilon : callable
        Returns the epsilon of the whole search, given the epsilon of one trial.
    budget : float
        Largest epsilon of the whole search.

    Returns
    -------
    float
        Epsilon of one trial.

    Raises
    ------
    BudgetExceededError
        If the budget is too small for a search.
    """
    low = budget / 50
    high = budget
    guess = budget / 2.5
    any_fits = False
    for _ in range(20):
        try:
            spent = search_epsilon(guess)
        except BudgetExceededError:
            spent = 0.0  # too small for a single query, so the search continues upwards
        if spent > budget:
            high = guess
        else:
            low = guess
            any_fits = any_fits or spent > 0
        if 0.99 * budget <= spent <= budget or high < low * 1.005:
            break
        proportional = guess * 0.996 * budget / max(spent, 1e-9)  # the cost is nearly proportional
        guess = proportional if low < proportional < high else math.sqrt(low * high)
    if not any_fits:
        raise BudgetExceededError(
            f"epsilon={budget:g} does not pay for the expected number of trials; raise it, or "
            "lower n_trials"
        )
    return low


# --- costs of one fit, and of the best of a random number of trials -------------------------------


def fit_rdp(plan: Plan) -> np.ndarray:
    """Return the Renyi cost of one fit: at each order, the smallest of several bounds.

    Parameters
    ----------
    plan : Plan
        Plan of the fit.

    Returns
    -------
    ndarray of shape (n_orders,)
        Costs at `rdp.DEFAULT_ORDERS`.

    Raises
    ------
    ValueError
        If the fit has its own delta, or no guarantee.
    """
    cost = plan.cost
    aggregator, _ = plan.stages[0]
    if cost.delta > 0:
        raise ValueError(
            f"{aggregator} with this accounting has its own delta, which the number of trials "
            "would multiply: neither StableArgmax nor accounting='ptr' can be tuned. Use another "
            "aggregator, with accounting='data_independent'"
        )
    if not math.isfinite(plan.epsilon):
        raise ValueError(f"{aggregator} has no privacy guarantee. {aggregator.missing_bounds()}")
    rdp = np.minimum(cost.rdp, DEFAULT_ORDERS * cost.mu_squared / 2)
    if cost.pure < 1e6:  # `pure_rdp` refuses inf, and larger costs are useless
        rdp = np.minimum(rdp, pure_rdp(cost.pure, DEFAULT_ORDERS))
    return rdp


def search_record(
    plans: list[Plan], scorer: PublicScorer | PrivateScorer, count: TrialCount
) -> Record:
    """Return the record of the trials, for privacy statements; its cost is `search_cost`.

    Parameters
    ----------
    plans : list of Plan
        Plan of each candidate.
    scorer : PublicScorer or PrivateScorer
        Scorer of the trials.
    count : TrialCount
        The random number of trials.
    """
    return trials_record(
        [(steps_of(plan.guarantee), scorer.score_scale(plan)) for plan in plans if plan.guarantee],
        mean=count.mean,
        eta=count.eta,
        second_order=count.second_order(
            _of_one_trial(list(map(scorer.rdp, plans))), DEFAULT_ORDERS
        ),
    )


def search_cost(trials_rdp: list[np.ndarray], count: TrialCount) -> Cost:
    """Return the cost of a search.

    Parameters
    ----------
    trials_rdp : list of ndarray of shape (n_orders,)
        Renyi cost of one trial of each candidate, including its score.
    count : TrialCount
        The random number of trials.

    Returns
    -------
    Cost
        Cost of publishing the best trial, with its score and its candidate.
    """
    rdp = count.rdp(_of_one_trial(trials_rdp), DEFAULT_ORDERS)
    return Cost(rdp, mu_squared=math.inf, pure=math.inf)


def _of_one_trial(trials_rdp: list[np.ndarray]) -> np.ndarray:
    """Return the cost of one trial, which draws a candidate at random and publishes it."""
    exponents = (DEFAULT_ORDERS - 1) * np.array(trials_rdp)
    log_mean = logsumexp(exponents, axis=0) - math.log(len(trials_rdp))
    return log_mean / (DEFAULT_ORDERS - 1)
