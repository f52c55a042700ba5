"""What a search costs, and how much each trial may spend, so that it stays within its budget."""

import math
import warnings

import numpy as np
from scipy.special import logsumexp

from ..exceptions import BudgetExceededError
from ..fitting.given import check_given
from ..fitting.planning import accepted, make_plan, spending_plan
from ..rdp import DEFAULT_ORDERS, Cost, pure_rdp
from ..rdp.cost import no_cost
from .candidates import plan_key, set_plan


def calibrate(candidates, fit_data, scorer, count, before=no_cost, *, epsilon, delta):
    """Set the epsilon, the noise, the numbers of queries and the plans of the candidates.

    Parameters
    ----------
    candidates : list of Candidate
        Changed in place.
    fit_data : dict
        What `check_given` takes.
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
        trials_rdp = [scorer.rdp(plan) for plan in plans]
        return before(DEFAULT_ORDERS).plus(search_cost(trials_rdp, count))

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
    _set_plans(candidates, fit_data)
    plans = [candidate.plan for candidate in candidates]
    if len({(plan.spent.unit, plan.spent.adjacency) for plan in plans}) > 1:
        raise ValueError("all candidates must protect the same change of the data (partition)")
    return cost_of(plans)


def _spending_plans(candidates, fit_data):
    """Return the plan of each candidate; nothing is tried out."""
    plan_by_key = {}
    # A plan is slow (its noise is searched for), and many candidates differ in the student alone
    keys = [plan_key(candidate.estimator) for candidate in candidates]
    for candidate, key in zip(candidates, keys, strict=True):
        if key not in plan_by_key:
            plan_by_key[key] = spending_plan(check_given(candidate.estimator, **fit_data))
    return [plan_by_key[key] for key in keys]


def _set_plans(candidates, fit_data):
    """Plan a trial of each candidate, try it out, and set what was planned in its estimator."""
    plan_by_key = {}
    for candidate in candidates:
        estimator = candidate.estimator
        key = plan_key(estimator)
        if key in plan_by_key:  # the same noise and queries need not be calibrated again
            set_plan(estimator, plan_by_key[key])
        candidate.plan = accepted(make_plan(check_given(estimator, **fit_data)), estimator)
        plan_by_key[key] = candidate.plan
        set_plan(estimator, candidate.plan)


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
            f"epsilon={budget:g} does not pay for the best of a random number of trials; "
            "raise it, or lower n_trials"
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
        raise ValueError(f"{aggregator} has no privacy guarantee. {aggregator.missing_facts()}")
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
