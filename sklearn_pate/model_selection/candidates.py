"""The candidates of a search: their parameters, and what several of them have in common."""

from dataclasses import dataclass

from joblib import hash as fingerprint
from sklearn.base import clone

from ..accountant import Plan
from ..electorate import Electorate
from ..estimator import PATEEstimator
from ..fitting.checks import declared_classes
from ..fitting.given import temperature_of
from ..fitting.voters import voters
from ..isolation import silent
from ..releases import release_of


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

#: Parameters that change the student.
_IN_STUDENT = {"base_estimator", "student"}


def make_candidates(estimator, param_sets, *, search_sets_epsilon):
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
    for params in param_sets:
        _check_params(params, estimator, search_sets_epsilon)
    return [Candidate(params, _with_params(estimator, params)) for params in param_sets]


def _check_params(params, estimator, search_sets_epsilon):
    """Refuse parameters in which candidates cannot differ."""
    fixed = sorted(_SAME_FOR_ALL & {name.partition("__")[0] for name in params})
    if fixed:
        raise ValueError(
            f"candidates cannot differ in {fixed[0]}: all trials must protect the same "
            "change of the same data, and label the same rows; set it in the estimator"
        )
    if search_sets_epsilon and "epsilon" in params:
        raise ValueError(
            "epsilon of the search sets the epsilon of all trials; leave it out of the "
            "candidates, or give the search epsilon=None"
        )
    student = params.get("student", estimator.student)
    if student is None and any(name.startswith("student__") for name in params):
        raise ValueError(
            "student is None, so it has no parameters to search; give the estimator a "
            "student, for instance the same as its base_estimator"
        )


def _with_params(estimator, params):
    """Return a clone that has the parameters, and that tells nothing of its trials."""
    estimator = clone(estimator)
    # Copies: candidates may share an object, and set different parameters of it
    estimator.set_params(**{name: clone(params[name], safe=False) for name in params})
    if estimator.random_state is not None:
        raise ValueError(
            f"estimator has random_state={estimator.random_state!r}, so all trials would "
            "share their noise; give it to the search, and None to the estimator"
        )
    if declared_classes(estimator) is None:
        raise ValueError(
            "estimator needs classes=[...], all labels that may occur: read from the "
            "private labels, they are not covered by the guarantee"
        )
    estimator.set_params(base_estimator=voters(estimator))  # None depends on other parameters
    # Synthetic rows are drawn once, for all trials
    estimator.set_params(ledger=None, keep_teachers=False, synthesizer=None, schema=None)
    estimator._validate_params()
    return silent(estimator)


def set_plan(estimator, plan):
    """Set the noise and the numbers of queries to those of a plan."""
    aggregators, n_queries = map(list, zip(*plan.stages, strict=True))
    if not isinstance(estimator.aggregator, list):
        (aggregators,), (n_queries,) = aggregators, n_queries
    params = {"aggregator": aggregators}
    if plan.spent.n_teachers is not None:  # else a table, which no queries are asked of
        params["n_queries"] = n_queries
        if not isinstance(estimator.base_estimator, Electorate):  # None depends on epsilon
            params["n_teachers"] = plan.spent.n_teachers
    estimator.set_params(**params)


def plan_key(estimator):
    """Return a key that is the same for candidates whose fits cost the same."""
    without = _NOT_IN_PLAN
    if release_of(estimator.base_estimator).gives_rates:
        without = without - {"base_estimator"}  # it says how many ballots a record casts
    return _key(estimator, without=without)


def teachers_key(estimator):
    """Return a key that is the same for candidates that can share their teachers' votes."""
    release = release_of(estimator.base_estimator)
    without = _NOT_IN_TEACHERS
    if release.gives_rates:
        without = without - {"aggregator", "epsilon"}  # the noise decides how many cells there are
    return _key(estimator, without=without), temperature_of(estimator, release)


def student_key(estimator):
    """Return a key that is the same for candidates that have the same student."""
    return _key(estimator, without=set(estimator.get_params(deep=False)) - _IN_STUDENT)


def _key(estimator, without):
    params = estimator.get_params()
    relevant = [name for name in params if name.split("__")[0] not in without]
    try:
        return fingerprint({name: params[name] for name in relevant})
    except Exception:  # what does not pickle equals only itself
        return id(estimator)
