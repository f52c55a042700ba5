"""First step of a fit that must look before it chooses: classes, bounds or class shares.

Classes or bounds that are not declared are found. If the method depends on how rare a class is, the
classes are counted. The rest of the fit is a fit with these classes or bounds, with the rest of
epsilon and delta. It is planned and tried twice: before anything is paid for, with a made-up target
if it is not declared, and after the release.
"""

from __future__ import annotations

import contextlib
import dataclasses
import math
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from pandas.api.types import is_bool_dtype

from .. import rules
from .._sklearn import _num_samples
from ..accounting import Plan
from ..accounting.budget import as_cap
from ..accounting.plan import spent_of
from ..encoding.targets import ClassTarget, NumberTarget, Target
from ..methods.base import TableMethod
from ..methods.choose import RARE
from ..rdp import DEFAULT_ORDERS, NeighboringRelation, Neighbors, gdp_mu
from ..rdp.cost import sum_up
from ..releases.base import Step
from ..releases.synthetic_rows import units_of
from ..runtime.isolation import attempt, is_ours, suppress_output
from ..schema_release import (
    ClassRelease,
    FoundTarget,
    RangeRelease,
    ShareRelease,
    TargetRelease,
)
from ..teachers import Sites
from .inputs import check_inputs
from .planning import make_plan, refuse_errors

if TYPE_CHECKING:
    from .._typing import Estimator
    from ..accounting.spent import PrivacySpent
    from ..methods import MethodChoice
    from ..rdp.cost import Cost
    from .inputs import Inputs
    from .run import Account

#: Part of delta for the threshold of classes, as for texts of an estimated schema.
_DELTA_FRACTION = 1 / 1000

#: Methods with a cost that does not depend on the number of classes.
_OF_RECORDS = ("neighbors", "sums")

#: Factor of epsilon in the limit by which a ledger fixes its rule. The first release has at most a
#: quarter of epsilon, and its pure cost exceeds that of Gaussian noise with the same epsilon.
_MARGIN = 1.25

#: Smallest delta of the threshold.
_MIN_DELTA = 1e-300

#: Compositions that statements describe in words of their own.
_NAMED = ("filter", "propose-test-release")

#: Attributes that a fit sets on its own estimator, and not on the estimator of the rest.
_OWN = {"_prefix", "_seed_used"}

#: The releases, by the kind of target.
_RELEASES: dict[type[Target], type[TargetRelease]] = {
    ClassTarget: ClassRelease,
    NumberTarget: RangeRelease,
}


@dataclass(frozen=True)
class FirstRelease:
    """The release that finds the target of a fit, before and after its publication.

    Attributes
    ----------
    release : TargetRelease
        Its noise and cost.
    found : FoundTarget or None
        The published target; None before.
    entry : object
        Entry of the ledger that has its cost; None before it is recorded, and without a ledger.
    """

    release: TargetRelease
    found: FoundTarget | None = None
    entry: Any = None

    @property
    def cost(self) -> Cost:
        """The `Cost` of the release."""
        return self.release.cost

    @property
    def finds_target(self) -> bool:
        """Whether the target is found, and not declared."""
        return not isinstance(self.release, ShareRelease)

    @property
    def rarest_share(self) -> float | None:
        """Published share of the rarest class; None if no class counts are published."""
        return None if self.found is None else self.found.rarest_share

    def recorded_with(self, cost: Cost, spent: PrivacySpent) -> Cost:
        """Return the cost of this release and of later steps, as a ledger records it.

        Parameters
        ----------
        cost : rdp.Cost
            Cost of the later steps, which may depend on what was found.
        spent : PrivacySpent
            Statement of all steps, with the epsilon and delta of `added_to`.
        """
        return dataclasses.replace(self.cost.plus(cost), stated=(spent.epsilon, spent.delta))

    def added_to(self, plan: Plan, cap: tuple[float | None, float], choice: MethodChoice) -> Plan:
        """Return the plan of the rest of the fit with the guarantee of the whole fit.

        Epsilons and deltas are added. This holds for any rest, as it is planned for each outcome
        of the release within the rest of epsilon and delta (Dwork, Roth 2014, theorem 3.16). If
        another outcome may choose another method, or change the cost of teachers, the guarantee of
        the rest is its limit, and not the guarantee of the rest that follows.

        Parameters
        ----------
        plan : Plan
            The plan of the rest.
        cap : (float or None, float)
            Limits of the epsilon and delta of the rest.
        choice : MethodChoice
            The method of the rest.
        """
        cost = self.cost
        limit, delta = cap
        epsilon = plan.epsilon
        of_records = choice.is_fixed and choice.name in _OF_RECORDS
        if not (of_records or isinstance(self.release, RangeRelease)) and limit is not None:
            epsilon = max(epsilon, limit)
        if choice.is_fixed and plan.delta is not None:
            delta = plan.delta
        return dataclasses.replace(
            plan,
            epsilon=sum_up(cost.pure, epsilon),
            delta=sum_up(cost.delta, delta),
            composition=plan.composition if plan.composition in _NAMED else "sum",
            first_release=self.release.describe(),
        )


def declared(estimator: Estimator, X: Any, y: Any) -> Estimator | None:
    """Return the estimator if its target need not be found, else None.

    It is declared, or labels that are booleans have two known classes. Without a limit of epsilon,
    classes are read from the labels, with a warning.
    """
    if estimator._declared_target() is not None or isinstance(X, Sites):
        return estimator
    if not issubclass(estimator.target_type, ClassTarget):
        if estimator.epsilon is None:
            raise ValueError(
                "bounds is missing, and epsilon=None leaves no epsilon to find it with: give "
                "bounds=(low, high), to which numbers in y are clipped, or set epsilon"
            )
        return None
    labels = estimator.target_type.column(y)
    if labels.dtype.kind == "b" or is_bool_dtype(getattr(y, "dtype", None)):
        return _with(estimator, classes=[False, True])
    return estimator if estimator.epsilon is None else None


def check_can_be_found(estimator: Estimator) -> None:
    """Refuse parameters that require a declared target."""
    name = _parameter(estimator)
    method, synthesizer = estimator.method, estimator.synthesizer
    for part, is_foreign in {
        "releases": bool(estimator.releases),
        "method": not isinstance(method, str) and not is_ours(method),
        "synthesizer": synthesizer is not None and not is_ours(synthesizer),
    }.items():
        if is_foreign:
            raise ValueError(
                f"{part} of your own may count records whose {estimator.target_type.noun} is not "
                f"found, so {name} must be declared: {_remedy(estimator)}"
            )


def _to_find(estimator: Estimator, X: Any, y: Any, **given: Any) -> _First:
    """Return the inputs of a fit with a made-up target, and the release of its target.

    Nothing is paid for, and no label is used.
    """
    check_can_be_found(estimator)
    kind = _RELEASES[estimator.target_type]
    values = kind.check(y)
    n_records = len(values)
    if n_records < 2:
        raise ValueError(
            f"n_samples={n_records}, but {_parameter(estimator)} cannot be found without several "
            f"records: {_remedy(estimator)}"
        )
    epsilon, delta = _prices(estimator, X, given.get("groups"))
    rest = _rest(estimator, kind.made_up, epsilon, delta)
    if isinstance(getattr(rest, "class_weight", None), dict):
        rest.class_weight = None  # it has weights of unknown classes
    made_up = np.resize(np.array(kind.made_up), n_records)
    anyone = Neighbors(relation=NeighboringRelation.REPLACE_ONE, unit="record")
    first_release = FirstRelease(kind(epsilon=epsilon, delta=delta, neighbors=anyone))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the rest issues them for the target that is found
        inputs = check_inputs(rest, X, made_up, **given, first_release=first_release)
    relation_is_known, _ = attempt(lambda: inputs.neighbors.counts(1))
    if relation_is_known is None:
        raise ValueError(
            f"the change that the partition covers, {inputs.neighbors.relation}, is not one of "
            f"NeighboringRelation, so {_parameter(estimator)} must be declared: "
            f"{_remedy(estimator)}"
        )
    release = kind(
        epsilon=epsilon, delta=delta, neighbors=inputs.neighbors, **_options(estimator, kind)
    )
    return _First(dataclasses.replace(inputs, first_release=FirstRelease(release)), values)


def plan(estimator: Estimator, X: Any, y: Any, **given: Any) -> Plan:
    """Return the plan of a fit; before the first release, it is for a made-up target."""
    first_release = _published_before(estimator, y)
    if first_release is None:
        return make_plan(_first(estimator, X, y, **given).inputs)
    rest = _rest_after(estimator, first_release)
    return make_plan(check_inputs(rest, X, y, **given, first_release=first_release))


def assumed(
    estimator: Estimator, X: Any, X_public: Any, labels: np.ndarray, **given: Any
) -> Inputs:
    """Return the inputs of a fit whose first release publishes the target of public labels.

    Parameters
    ----------
    estimator : PATEClassifier or PATERegressor
        Estimator of the fit.
    X, X_public, **given
        Arguments of `fit` other than `y`. Made-up labels replace the private ones.
    labels : ndarray of shape (n_public,)
        Labels of the public rows.
    """
    n_records = _num_samples(X)
    given = {"X_public": X_public, **given}
    kind = _RELEASES[estimator.target_type]
    target = estimator._declared_target()
    values = np.array(kind.made_up) if target is None else target.values
    inputs = _first(estimator, X, np.resize(values, n_records), **given).inputs
    if inputs.first_release is None:
        return inputs
    if target is None:
        target, labels = _target_of(estimator, labels), np.asarray(labels)
    counts = None
    if isinstance(target, ClassTarget):
        counts = np.bincount(target.encode(labels), minlength=target.n_values)
    first_release = dataclasses.replace(inputs.first_release, found=FoundTarget(target, counts))
    rest = _rest_after(estimator, first_release)
    return check_inputs(
        rest, X, np.resize(target.values, n_records), **given, first_release=first_release
    )


def _target_of(estimator: Estimator, labels: np.ndarray) -> Target:
    """Return the target of public labels or numbers."""
    if issubclass(estimator.target_type, ClassTarget):
        return ClassTarget(np.unique(labels))
    return NumberTarget.between((float(labels.min()), float(labels.max())), estimator.n_levels)


def checked_values(estimator: Estimator, labels: np.ndarray) -> np.ndarray:
    """Return public labels or numbers as an array; raise an error if they have no target."""
    labels = _RELEASES[estimator.target_type].check(labels)
    _target_of(estimator, labels)
    return labels


def is_to_find(estimator: Estimator) -> bool:
    """Return whether the target is not declared."""
    return estimator._declared_target() is None


def scaled(release: TargetRelease, factor: float, n_records: int) -> TargetRelease:
    """Return a release of fewer records, with noise that is smaller by a factor."""
    changes: dict[str, Any] = {"epsilon": release.epsilon * factor}
    if isinstance(release, RangeRelease):
        changes["epsilon_of_fit"] = release.epsilon_of_fit * factor
    neighbors = dataclasses.replace(release.neighbors, n_records=None).with_size(n_records)
    return dataclasses.replace(release, neighbors=neighbors, **changes)


def declaration(target: Target) -> dict[str, Any]:
    """Return the parameters that declare a target."""
    if isinstance(target, NumberTarget):
        return {"bounds": target.values[[0, -1]].tolist()}
    return {"classes": target.values.tolist()}


@contextlib.contextmanager
def inputs_of_rest(
    estimator: Estimator, account: Account, X: Any, y: Any, *, fit_number: int, **given: Any
) -> Iterator[Inputs]:
    """Take the first step of a fit, if it needs one, and yield the inputs of the rest.

    The fitted attributes of the estimator of the rest become those of `estimator` at the end.

    Parameters
    ----------
    estimator : PATEClassifier or PATERegressor
        Estimator of the fit.
    account : Account
        Account of the fit. The published target is stored there.
    X, y, **given
        The arguments of `fit`.
    fit_number : int
        Number of the fit, for its statements.
    """
    first_release = _published_before(estimator, y)
    if first_release is None:
        first = _first(estimator, X, y, **given)
        inputs = dataclasses.replace(first.inputs, fit_number=fit_number)
        if inputs.first_release is None:
            with _taken_over(estimator, inputs.estimator):
                yield inputs
            return
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the rest issues them for the target that is found
            planned = make_plan(inputs)
        refuse_errors(planned, estimator)
        statement = _statement_of(planned, inputs.first_release)
        TargetStep(inputs, first.values, account, statement, _limit_of(planned, inputs)).take()
        first_release = account.first_release
    account.first_release = first_release
    rest = _rest_after(estimator, first_release)
    with _taken_over(estimator, rest):
        inputs = check_inputs(rest, X, y, **given, first_release=first_release)
        yield dataclasses.replace(inputs, fit_number=fit_number)


class _First(NamedTuple):
    """Inputs of a fit before its first release, and the private labels or numbers it counts."""

    inputs: Inputs
    values: Any = None


def _first(estimator: Estimator, X: Any, y: Any, **given: Any) -> _First:
    """Return the inputs of a fit before its first release.

    They have a `first_release` if the fit must find its target, or if it counts the records of
    declared classes to choose its method.
    """
    known = declared(estimator, X, y)
    if known is None:
        return _to_find(estimator, X, y, **given)
    inputs = check_inputs(known, X, y, **given)
    if not inputs.choice.depends_on_share:
        return _First(inputs)
    if not isinstance(inputs.target, ClassTarget):
        raise TypeError("only classes have shares")
    epsilon, _ = _cap(estimator)
    fraction = rules.default_share_fraction(n_records=inputs.neighbors.n_records, epsilon=epsilon)
    release = ShareRelease(
        epsilon=fraction * epsilon,
        delta=0.0,
        neighbors=inputs.neighbors,
        target=inputs.target,
        rare=RARE,
    )
    rest = _rest(known, list(inputs.target.values), release.epsilon, 0.0)
    inputs = dataclasses.replace(
        inputs,
        estimator=rest,
        cap=as_cap(rest.epsilon, rest.delta),
        first_release=FirstRelease(release),
    )
    return _First(inputs, inputs.records.codes)


def _published_before(estimator: Estimator, y: Any) -> FirstRelease | None:
    """Return the published target of an interrupted fit that the next fit continues.

    Raise a ValueError if the target is now declared, or no longer, if `y` has another type, or if
    epsilon does not exceed the cost of this release.
    """
    prefix = estimator._prefix if estimator.warm_start else None
    first_release: FirstRelease | None = None if prefix is None else prefix.first_release
    if first_release is None or first_release.found is None:
        return None
    cap, _ = as_cap(estimator.epsilon, estimator.delta)
    changed = {
        _parameter(estimator): (declared(estimator, None, y) is None) != first_release.finds_target,
        "epsilon": cap is None or cap <= first_release.release.epsilon,
    }
    if first_release.finds_target:
        values = first_release.release.check(y)
        changed["y"] = _is_text(values) != _is_text(first_release.found.target.values)
    names = [name for name, is_so in changed.items() if is_so]
    if names:
        raise ValueError(
            "warm_start=True continues the interrupted fit of this estimator under its plan, whose "
            f"cost was fixed before anything was published; changed since: {', '.join(names)}. "
            "Give the same values as before, or set warm_start=False to start anew and pay for all "
            "steps"
        )
    return first_release


def _is_text(values: np.ndarray) -> bool:
    return values.dtype.kind not in "biuf"


class TargetStep(Step):
    """Step that publishes the target of a fit.

    Parameters
    ----------
    inputs : Inputs
        From `planned`.
    values : ndarray of shape (n_records,)
        Private labels or numbers.
    account : Account
        Account of the fit.
    statement : PrivacySpent
        Statement of this step.
    limit : Cost
        Limit of the cost of the whole fit; see `_limit_of`.
    """

    def __init__(
        self,
        inputs: Inputs,
        values: np.ndarray,
        account: Account,
        statement: PrivacySpent,
        limit: Cost,
    ) -> None:
        self.inputs = inputs
        self.values = values
        self.account = account
        self.statement = statement
        self.limit = limit

    def gather(self) -> Any:
        """Return private counts, or one number of each unit."""
        inputs = self.inputs
        units = units_of(inputs.records, inputs.neighbors)
        numbers = None if units is None else np.unique(units, return_inverse=True)[1]
        with suppress_output():
            return inputs.known_first_release.release.gather(self.values, numbers)

    def pay(self) -> None:
        """Record the cost of this step, with the limit of all steps."""
        cost = self.inputs.known_first_release.cost
        self.account.append(self.statement, dataclasses.replace(cost, whole=self.limit))

    def publish(self, gathered: Any) -> None:
        """Publish the target, and store it on the account."""
        first_release = self.inputs.known_first_release
        noise = np.random.default_rng(self.inputs.seeds["target"])
        found = first_release.release.publish(gathered, noise)
        self.account.first_release = dataclasses.replace(
            first_release, found=found, entry=self.account.entry
        )


def _statement_of(plan: Plan, first_release: FirstRelease) -> PrivacySpent:
    """Return the statement of a fit that has published nothing but its target."""
    return dataclasses.replace(
        spent_of(plan).paid(),
        epsilon=first_release.cost.pure,
        delta=first_release.cost.delta,
        composition="sum" if first_release.cost.delta else "pure",
        covers="target",
        n_queries=0,
        n_synthetic=0,
        tables=(first_release.release.released_as,),
        extra_releases=(),
    )


def _limit_of(plan: Plan, inputs: Inputs) -> Cost:
    """Return the cost by which a ledger fixes its rule before the first release of a fit.

    The plan is for a made-up target, and another target may choose another method. The statement of
    the fit never exceeds that of this cost. Its other measures are those of the plan, and of
    Gaussian noise with a larger epsilon. The costs that an outcome chooses rarely exceed them; if
    they do, filters may refuse the fit after its first release.
    """
    cost = inputs.recorded_cost(plan)
    limit, delta = inputs.cap
    first = inputs.known_first_release.cost
    stated = sum_up(first.pure, math.inf if limit is None else limit), sum_up(first.delta, delta)
    mu_squared = gdp_mu(_MARGIN * stated[0], stated[1]) ** 2
    return dataclasses.replace(
        cost,
        rdp=np.maximum(cost.rdp, DEFAULT_ORDERS * mu_squared / 2),
        mu_squared=max(cost.mu_squared, mu_squared),
        pure=math.inf,
        stated=stated,
    )


def _rest_after(estimator: Estimator, first_release: FirstRelease) -> Estimator:
    """Return a copy with the published classes or bounds, and the rest of epsilon and delta."""
    if first_release.found is None:
        raise ValueError("the target is not published yet")
    values = first_release.found.target.values
    if isinstance(first_release.found.target, NumberTarget):
        values = values[[0, -1]]
    rest = _rest(
        estimator, values.tolist(), first_release.release.epsilon, first_release.release.delta
    )
    weight = getattr(rest, "class_weight", None)
    if first_release.finds_target and isinstance(
        weight, dict
    ):  # of classes that were not found as well
        found = values.tolist()
        rest.class_weight = {label: size for label, size in weight.items() if label in found}
    return rest


@contextlib.contextmanager
def _taken_over(estimator: Estimator, rest: Estimator) -> Iterator[None]:
    """Give the fitted attributes of `rest` to `estimator` at the end, also after an error."""
    try:
        yield
    finally:
        if rest is not estimator:
            kept = {*estimator._get_param_names(), *_OWN}
            for name in set(vars(estimator)) - kept - set(vars(rest)):
                delattr(estimator, name)
            for name in set(vars(rest)) - kept:
                setattr(estimator, name, vars(rest)[name])


def _prices(estimator: Estimator, X: Any, groups: Any) -> tuple[float, float]:
    """Return the epsilon and the delta of the release."""
    method = estimator.method
    # A method may have a partition of its own, whose relation is known only later
    is_public = groups is None and (
        estimator.partition == "random" if isinstance(method, str) else _size_is_public(method)
    )
    epsilon, delta = _cap(estimator)
    fraction = rules.default_target_fraction(
        n_records=_num_samples(X) if is_public else None, epsilon=epsilon
    )
    if not issubclass(estimator.target_type, ClassTarget):
        return fraction * epsilon, 0.0
    if delta * _DELTA_FRACTION < _MIN_DELTA:
        raise ValueError(
            f"delta={delta:g} is too small to find classes, as a thousandth of it bounds the "
            f"probability that a rare label is published: {_remedy(estimator)}, or use a larger "
            "delta"
        )
    return fraction * epsilon, delta * _DELTA_FRACTION


def _size_is_public(method: Any) -> bool:
    return isinstance(method, TableMethod) and not getattr(method, "size_is_private", True)


def _rest(estimator: Estimator, values: Any, epsilon: float, delta: float) -> Estimator:
    """Return a copy with declared classes or bounds, and the rest of epsilon and delta."""
    cap, total = _cap(estimator)
    return _with(
        estimator,
        **{_parameter(estimator): values},
        epsilon=math.nextafter(cap - epsilon, 0),
        delta=total if delta == 0 else math.nextafter(total - delta, 0),
    )


def _cap(estimator: Estimator) -> tuple[float, float]:
    epsilon, delta = as_cap(estimator.epsilon, estimator.delta)
    if epsilon is None:
        raise ValueError("epsilon=None leaves no epsilon to find classes or bounds with")
    return epsilon, delta


def _with(estimator: Estimator, **params: Any) -> Estimator:
    """Return a copy with other parameters, which shares its fitted attributes.

    `copy.copy` would drop what a pickle must not hold, such as the seed.
    """
    rest = object.__new__(type(estimator))
    vars(rest).update(vars(estimator) | params)
    return rest


def _options(estimator: Estimator, kind: type[TargetRelease]) -> dict[str, Any]:
    """Return the parameters that only this kind of release has."""
    if kind is ClassRelease:
        return {}
    return {"n_levels": estimator.n_levels, "epsilon_of_fit": _cap(estimator)[0]}


def _parameter(estimator: Estimator) -> str:
    """Return the parameter that declares the target."""
    return "classes" if issubclass(estimator.target_type, ClassTarget) else "bounds"


def _remedy(estimator: Estimator) -> str:
    if issubclass(estimator.target_type, ClassTarget):
        return "give classes=[all labels that may occur]"
    return "give bounds=(low, high)"
