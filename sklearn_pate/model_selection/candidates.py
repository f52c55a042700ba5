"""The candidates of a search: their parameters, what they share, and what each may spend."""

import math
import warnings
from dataclasses import dataclass

import numpy as np
from joblib import hash as fingerprint
from scipy.special import logsumexp
from sklearn.base import clone

from .._sklearn import refuse_classes
from ..accounting import Plan
from ..estimator import PATEEstimator
from ..exceptions import BudgetExceededError
from ..fitting.inputs import check_inputs, temperature_of
from ..fitting.methods import make_method, pin_method
from ..fitting.planning import accepted, make_plan, spending_plan
from ..methods.base import Method
from ..rdp import DEFAULT_ORDERS, Cost, pure_rdp
from ..rdp.cost import no_cost
from ..runtime.isolation import silent


@dataclass
class Candidate:
    """One set of parameters.

    Attributes
    ----------
    params : dict
        As the user gave them.
    estimator : PATEClassifier
        A clone of the search's estimator that has them.
    plan : Plan or None
        That of a trial, once there is one.
    """

    params: dict
    estimator: PATEEstimator
    plan: Plan | None = None


#: Parameters in which candidates cannot differ: those of the data, and others.
_OF_DATA = {"partition", "unit", "classes", "bounds", "n_levels", "synthesizer", "schema"}
_SAME_FOR_ALL = _OF_DATA | {"ledger", "random_state", "secure"}

#: Parameters that do not change what a fit costs.
_NOT_IN_PLAN = {"base_estimator", "student", "n_jobs", "verbose", "keep_teachers"}

#: Parameters that do not change the teachers: those of queries, and others.
_OF_QUERIES = {"accounting", "aggregator", "delta", "epsilon", "n_queries", "query_strategy"}
_NOT_IN_TEACHERS = _OF_QUERIES | {"ledger", "n_jobs", "random_state", "student", "verbose"}


def make_candidates(estimator, param_sets, search_sets_epsilon):
    """Return a candidate for each set of parameters.

    Parameters
    ----------
    estimator : PATEClassifier
        The search's.
    param_sets : list of dict
        The sets of parameters.
    search_sets_epsilon : bool
        Whether the epsilon of trials follows from the search's budget.

    Returns
    -------
    list of Candidate
        Their estimators are silent and have no ledger.

    Raises
    ------
    ValueError
        If candidates cannot be compared, or cannot be tried without a leak.
    """
    if not param_sets:
        raise ValueError("there are no candidates; give at least one set of parameters")
    refuse_classes(estimator)
    return [_candidate(estimator, params, search_sets_epsilon) for params in param_sets]


def _candidate(estimator, params, search_sets_epsilon):
    """Return a candidate that tells nothing of its trials."""
    fixed = sorted(_SAME_FOR_ALL & {name.partition("__")[0] for name in params})
    if fixed:
        raise ValueError(
            f"candidates cannot differ in {fixed[0]}, as all must protect and label the same"
        )
    if search_sets_epsilon and "epsilon" in params:
        raise ValueError(
            "epsilon of the search sets the others; leave it out, or give the search epsilon=None"
        )
    _check_nested(estimator, params)
    estimator = clone(estimator)
    # Copies: candidates may share an object, and set different parameters of it
    estimator.set_params(**{name: clone(params[name], safe=False) for name in params})
    if estimator.releases:
        raise ValueError("a search makes many fits: release in another, or give releases=None")
    if estimator.random_state is not None:
        raise ValueError(
            f"estimator has random_state={estimator.random_state!r}, so trials would share noise; "
            "give it to the search, and None to the estimator"
        )
    if estimator._declared_target() is None:
        raise ValueError(
            "estimator needs classes=[...], all labels that may occur: read from the "
            "private labels, they are not covered by the guarantee"
        )
    pin_method(estimator)  # it depends on other parameters
    # Synthetic rows are drawn once, for all trials
    estimator.set_params(ledger=None, keep_teachers=False, synthesizer=None, schema=None)
    estimator._validate_params()
    return Candidate(params, silent(estimator))


def _check_nested(estimator, params):
    """Refuse parameters of an object that is not there, or is a list."""
    for name in params:
        outer, _, inner = name.partition("__")
        given = params.get(outer, getattr(estimator, outer, None))
        if inner and not hasattr(given, "set_params"):
            kind = "None" if given is None else f"a {type(given).__name__}"
            an_object = f"a {outer}" if outer[0] not in "aeiou" else f"an {outer}"
            example = ", such as base_estimator=LogisticRegression()" * (outer == "base_estimator")
            raise ValueError(
                f"{outer} is {kind}, so it has no parameters to search; give {an_object}{example}. "
                f"The candidates have {name}"
            )


def set_plan(estimator, plan):
    """Set the noise and the numbers of queries to those of a plan."""
    aggregators, n_queries = map(list, zip(*plan.stages, strict=True))
    if not isinstance(estimator.aggregator, list):
        (aggregators,), (n_queries,) = aggregators, n_queries
    estimator.set_params(aggregator=aggregators)
    if plan.spent.n_teachers is not None:  # else a table, which no queries are asked of
        estimator.set_params(n_queries=n_queries)
        if not isinstance(estimator.method, Method):  # None depends on epsilon
            estimator.set_params(n_teachers=plan.spent.n_teachers)


def plan_key(estimator):
    """Return a key that is the same for candidates whose fits cost the same."""
    return _key(estimator, without=_NOT_IN_PLAN)


def teachers_key(estimator):
    """Return a key that is the same for candidates that can share their teachers' votes."""
    method = make_method(estimator)
    without = _NOT_IN_TEACHERS
    if method.release.releases_proba:
        without = without - {"aggregator", "epsilon"}  # the noise decides how many cells there are
    return _key(estimator, without=without), temperature_of(estimator, method)


def _key(estimator, without):
    params = estimator.get_params()
    relevant = [name for name in params if name.split("__")[0] not in without]
    try:
        return fingerprint({name: params[name] for name in relevant})
    except Exception:  # what does not pickle equals only itself
        return id(estimator)


# --- what a search costs, and how much each trial may spend ---------------------------------------


def calibrate(candidates, fit_data, scorer, count, before=no_cost, *, epsilon, delta):
    """Set the epsilon, the noise, the numbers of queries and the plans of the candidates.

    Parameters
    ----------
    candidates : list of Candidate
        Changed in place.
    fit_data : dict
        What `check_inputs` takes.
    scorer : PublicScorer or PrivateScorer
        Scores the trials, and says what one costs.
    count : TrialCount
        The random number of trials.
    epsilon : float or None
        Budget of the search; None leaves each candidate its own epsilon.
    delta : float
        Of the search.
    before : callable, default=no_cost
        Returns, for Renyi orders, the `Cost` of what all trials share, which is released once.

    Returns
    -------
    Cost
        Of the whole search.

    Raises
    ------
    BudgetExceededError
        If the budget does not pay for the search.
    ValueError
        If candidates protect different changes of the data.
    """

    def cost_of(plans):
        return before(DEFAULT_ORDERS).plus(search_cost(list(map(scorer.rdp, plans)), count))

    if epsilon is not None:

        def search_epsilon(trial_epsilon):
            for candidate in candidates:
                candidate.estimator.set_params(epsilon=trial_epsilon)
            return cost_of(_spending_plans(candidates, fit_data)).epsilon(delta)[0]

        with warnings.catch_warnings():  # the plans that are kept warn, below
            warnings.simplefilter("ignore")
            # A cost compared with a short float is rounded to it
            trial_epsilon = _largest_trial_epsilon(search_epsilon, float(epsilon))
        for candidate in candidates:
            candidate.estimator.set_params(epsilon=trial_epsilon)
    plan_by_key = {}
    for candidate in candidates:
        estimator = candidate.estimator
        key = plan_key(estimator)
        if key in plan_by_key:  # the same noise and queries need not be calibrated again
            set_plan(estimator, plan_by_key[key])
        candidate.plan = accepted(make_plan(check_inputs(estimator, **fit_data)), estimator)
        plan_by_key[key] = candidate.plan
        set_plan(estimator, candidate.plan)
    plans = [candidate.plan for candidate in candidates]
    if len({(plan.spent.unit, plan.spent.relation) for plan in plans}) > 1:
        raise ValueError("all candidates must protect the same change of the data (partition)")
    return cost_of(plans)


def _spending_plans(candidates, fit_data):
    """Return the plan of each candidate; nothing is tried out."""
    # A plan is slow (its noise is searched for), and many candidates differ in the student alone
    keys = [plan_key(candidate.estimator) for candidate in candidates]
    alike = {key: candidate.estimator for key, candidate in zip(keys, candidates, strict=True)}
    plans = {key: spending_plan(check_inputs(alike[key], **fit_data)) for key in alike}
    return [plans[key] for key in keys]


def _largest_trial_epsilon(search_epsilon, budget):
    """Return the largest epsilon of one trial, to 1%, with which the search is within its budget.

    Parameters
    ----------
    search_epsilon : callable
        Epsilon of the whole search, given that of one trial.
    budget : float
        Its limit.

    Returns
    -------
    float
        Epsilon of one trial.
    """
    low = budget / 50
    high = budget
    guess = budget / 2.5
    any_fits = False
    for _ in range(20):
        try:
            spent = search_epsilon(guess)
        except BudgetExceededError:
            spent = 0.0  # too small for a single query: look further up
        if spent > budget:
            high = guess
        else:
            low = guess
            any_fits = any_fits or spent > 0
        if 0.99 * budget <= spent <= budget or high < low * 1.005:
            break
        proportional = guess * 0.996 * budget / max(spent, 1e-9)  # the cost nearly is
        guess = proportional if low < proportional < high else math.sqrt(low * high)
    if not any_fits:
        raise BudgetExceededError(
            f"epsilon={budget:g} does not pay for so many trials; raise it, or lower n_trials"
        )
    return low


# --- costs: of one fit, and of the best of a random number of trials -----------------------------


def fit_rdp(plan):
    """Return the Renyi cost of one fit, by whichever way of counting is smallest at each order.

    Parameters
    ----------
    plan : Plan
        Of the fit.

    Returns
    -------
    ndarray of shape (n_orders,)
        At `rdp.DEFAULT_ORDERS`.

    Raises
    ------
    ValueError
        If the fit has a delta of its own, or no guarantee.
    """
    cost = plan.cost
    aggregator, _ = plan.stages[0]
    if cost.delta > 0:
        raise ValueError(
            f"{aggregator} with this accounting has a delta of its own, which the number of "
            "trials would multiply: neither StableArgmax nor accounting='ptr' can be tuned"
        )
    if not math.isfinite(plan.epsilon):
        raise ValueError(f"{aggregator} has no privacy guarantee. {aggregator.missing_bounds()}")
    rdp = np.minimum(cost.rdp, DEFAULT_ORDERS * cost.mu_squared / 2)
    if cost.pure < 1e6:  # `pure_rdp` refuses inf, and so large a cost helps nobody
        rdp = np.minimum(rdp, pure_rdp(cost.pure, DEFAULT_ORDERS))
    return rdp


def search_cost(trials_rdp, count):
    """Return what a search costs.

    Parameters
    ----------
    trials_rdp : list of ndarray of shape (n_orders,)
        Renyi cost of one trial of each candidate, its score included.
    count : TrialCount
        The random number of trials.

    Returns
    -------
    Cost
        Of the best trial, with its score and its candidate.
    """
    # That of one trial, whose candidate is drawn at random and published
    exponents = (DEFAULT_ORDERS - 1) * np.array(trials_rdp)
    log_mean = logsumexp(exponents, axis=0) - math.log(len(trials_rdp))
    rdp = count.rdp(log_mean / (DEFAULT_ORDERS - 1), DEFAULT_ORDERS)
    return Cost(rdp, mu_squared=math.inf, pure=math.inf)
