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
from functools import partial
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
from ..rdp.records import Record, as_limit, composition, finished, sum_of_parts
from ..releases.base import Step
from ..releases.synthetic_rows import units_of
from ..runtime.isolation import attempt, is_ours, suppress_output
from ..runtime.sites import SiteRecords, has_groups
from ..schema_release import (
    ClassRelease,
    FoundTarget,
    NumericShareRelease,
    RangeRelease,
    SeveralReleases,
    ShareRelease,
    TargetRelease,
    count_numeric_records,
)
from ..teachers import Sites
from .inputs import check_inputs
from .planning import make_plan, refuse_errors
from .sites import count_numeric_records_at, gather_target

if TYPE_CHECKING:
    from .._typing import Estimator
    from ..accounting.spent import PrivacySpent
    from ..methods import MethodChoice
    from ..rdp.cost import Cost
    from .inputs import Inputs
    from .run import Account

#: Part of delta for the threshold of classes, as for texts of an estimated schema.
_DELTA_FRACTION = 1 / 1000

#: Factor of epsilon in the limit by which a ledger fixes its rule. A first round has at most a
#: quarter of epsilon, and its pure cost exceeds the cost of Gaussian noise with the same epsilon.
_MARGIN = 1.25

#: Smallest delta of the threshold.
_MIN_DELTA = 1e-300

#: Compositions that statements describe in words of their own.
_NAMED = ("filter", "propose-test-release")

#: Attributes that a fit sets on its own estimator, and not on the estimator of the rest.
_OWN = {"_prefix", "_seed_used"}

#: Neighboring data sets of a release before those of the fit are known.
_ANYONE = Neighbors(relation=NeighboringRelation.REPLACE_ONE, unit="record")

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
    def guarantee(self) -> Record:
        """Its guarantee, as a part of a privacy statement."""
        cost = self.cost
        records = self.release.records()
        return composition(records, cost, epsilon=cost.pure, delta=cost.delta)

    @property
    def finds_target(self) -> bool:
        """Whether the target is found, and not declared."""
        return not isinstance(self.release, ShareRelease)

    @property
    def epsilon(self) -> float:
        """Pure epsilon of the release and of its first round."""
        return sum_up(*(each.epsilon for each in self.release.rounds))

    @property
    def is_second(self) -> bool:
        """Whether the release is a second round."""
        return len(self.release.rounds) > 1

    def second_round(self) -> FirstRelease:
        """Return the release that follows if the first round finds too few classes."""
        return FirstRelease(self.release.second_round(), entry=self.entry)

    @property
    def rarest_share(self) -> float | None:
        """Published share of the rarest class; None if no class counts are published."""
        return None if self.found is None else self.found.rarest_share

    @property
    def numeric_share(self) -> float | None:
        """Published share of the records with numbers alone; None if it is not published."""
        return None if self.found is None else self.found.numeric_share

    def recorded_with(self, cost: Cost, spent: PrivacySpent) -> Cost:
        """Return the cost of this release and of later steps, as a ledger records it.

        Parameters
        ----------
        cost : rdp.Cost
            Cost of the later steps, which may depend on the found target.
        spent : PrivacySpent
            Statement of all steps, with the epsilon and delta of `added_to`.
        """
        return dataclasses.replace(self.cost.plus(cost), stated=(spent.epsilon, spent.delta))

    def added_to(self, plan: Plan, cap: tuple[float | None, float], choice: MethodChoice) -> Plan:
        """Return the plan of the rest of the fit with the guarantee of the whole fit.

        Epsilons and deltas are added. This holds for any rest, as it is planned for each outcome
        of the release within the rest of epsilon and delta (Dwork, Roth 2014, theorem 3.16). If
        classes are counted, another outcome may require a second round, choose another method, or
        change the cost of teachers: then the guarantee of the rest is its limit, and not the
        guarantee of the rest that follows.

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
        if not self.release.finds_numbers and limit is not None:
            epsilon = max(epsilon, limit)
        if choice.is_fixed and plan.delta is not None:
            delta = plan.delta
        both, delta_of_both = sum_up(cost.pure, epsilon), sum_up(cost.delta, delta)
        part = plan.guarantee
        if part is not None:
            rest = as_limit(part, epsilon=epsilon, delta=delta)
            part = sum_of_parts([self.guarantee, rest], epsilon=both, delta=delta_of_both)
        return dataclasses.replace(
            plan,
            epsilon=both,
            delta=delta_of_both,
            guarantee=part,
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
    if isinstance(X, SiteRecords):
        n_targets, are_boolean = 1, X.labels == "truth values"
    else:
        columns = estimator.target_type.columns(y)
        n_targets = len(columns)
        are_boolean = all(column.dtype.kind == "b" for column in columns)
        are_boolean = are_boolean or is_bool_dtype(getattr(y, "dtype", None))
    if are_boolean:
        classes = [[False, True]] * n_targets
        return with_params(estimator, classes=classes if n_targets > 1 else classes[0])
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
    is_at_sites = isinstance(X, SiteRecords)
    n_targets = 1 if is_at_sites else len(estimator.target_type.columns(y))
    make = partial(_release_of, estimator, n_targets)
    values = None if is_at_sites else make((1.0, 0.0, 1e-9), _ANYONE).check(y)
    n_records = len(X if values is None else values[0] if n_targets > 1 else values)
    if n_records < 2:
        raise ValueError(
            f"n_samples={n_records}, but {_parameter(estimator)} cannot be found without several "
            f"records: {_remedy(estimator)}"
        )
    prices = _prices(estimator, X, given.get("groups"), n_targets)
    epsilon, _, delta = prices
    first_release = FirstRelease(make(prices, _ANYONE))
    rest = _rest(estimator, first_release.release.made_up, epsilon, delta)
    if isinstance(getattr(rest, "class_weight", None), dict | list):
        rest.class_weight = None  # it has weights of unknown classes
    made_up = np.resize(np.array(_RELEASES[estimator.target_type].made_up), n_records)
    if n_targets > 1:
        made_up = np.column_stack([made_up] * n_targets)
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
    release = make(prices, inputs.neighbors)
    if inputs.choice.depends_on_numeric_share:
        release = dataclasses.replace(release, counts_numeric_records=True)
    return _First(dataclasses.replace(inputs, first_release=FirstRelease(release)), values)


def _release_of(
    estimator: Estimator, n_targets: int, prices: tuple[float, float, float], neighbors: Neighbors
) -> TargetRelease:
    """Return the release that finds the targets of an estimator, at the prices of `_prices`.

    Several targets have no second round.
    """
    kind = _RELEASES[estimator.target_type]
    epsilon, more_epsilon, delta = prices
    given: dict[str, Any] = {"epsilon": epsilon, "delta": delta, "neighbors": neighbors}
    if kind is RangeRelease:
        given |= {"n_levels": estimator.n_levels, "epsilon_of_fit": _cap(estimator)[0]}
    if n_targets == 1 and kind is ClassRelease:
        given["more_epsilon"] = more_epsilon
    if n_targets == 1:
        return kind(**given)
    return SeveralReleases(kind=kind, n_targets=n_targets, **given)


def plan(estimator: Estimator, X: Any, y: Any, **given: Any) -> Plan:
    """Return the plan of a fit; before the first release, it is for a made-up target."""
    first_release = _published_before(estimator, X, y)
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
    for name in ("epsilon_of_fit", "more_epsilon"):
        if hasattr(release, name):
            changes[name] = getattr(release, name) * factor
    neighbors = dataclasses.replace(release.neighbors, n_records=None).with_size(n_records)
    return dataclasses.replace(release, neighbors=neighbors, **changes)


def declaration(target: Target) -> dict[str, Any]:
    """Return the parameters that declare a target."""
    if issubclass(target.kind, NumberTarget):
        declared = [part.values[[0, -1]].tolist() for part in target.parts]
        return {"bounds": declared if len(declared) > 1 else declared[0]}
    declared = [part.values.tolist() for part in target.parts]
    return {"classes": declared if len(declared) > 1 else declared[0]}


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
    first_release, earlier = _published_before(estimator, X, y), None
    if first_release is None:
        first = _first(estimator, X, y, **given)
        earlier = first.inputs
        inputs = dataclasses.replace(earlier, fit_number=fit_number)
        if inputs.first_release is None:
            with _taken_over(estimator, inputs.estimator):
                yield inputs
            return
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the rest issues them for the target that is found
            planned = make_plan(inputs)
        refuse_errors(planned, estimator)
        statement = _statement_of(planned, inputs.first_release)
        limit = limit_of(planned, inputs)
        TargetStep(inputs, first.values, account, statement, limit).take()
        first_release = account.first_release
        if first_release.found is None:
            second = first_release.second_round()  # with the cost of the first
            account.first_release = None
            inputs = dataclasses.replace(inputs, first_release=second)
            statement = _statement_of(planned, second)
            TargetStep(inputs, first.values, account, statement, limit).take()
            first_release = account.first_release
    account.first_release = first_release
    rest = _rest_after(estimator, first_release)
    with _taken_over(estimator, rest):
        inputs = check_inputs(rest, X, y, **given, first_release=first_release, earlier=earlier)
        yield dataclasses.replace(inputs, fit_number=fit_number)


class _First(NamedTuple):
    """Inputs of a fit before its first release, and the private labels or numbers it counts."""

    inputs: Inputs
    values: Any = None


def _first(estimator: Estimator, X: Any, y: Any, **given: Any) -> _First:
    """Return the inputs of a fit before its first release.

    They have a `first_release` if the fit must find its target, or if it counts records to choose
    its method.
    """
    known = declared(estimator, X, y)
    if known is None:
        return _to_find(estimator, X, y, **given)
    inputs = check_inputs(known, X, y, **given)
    counts_numeric_records = inputs.choice.depends_on_numeric_share
    if not (inputs.choice.depends_on_share or counts_numeric_records):
        return _First(inputs)
    if not isinstance(inputs.target, ClassTarget):
        raise TypeError("only classes have shares")
    epsilon, _ = _cap(estimator)
    fraction = rules.default_share_fraction(n_records=inputs.neighbors.n_records, epsilon=epsilon)
    given_to: dict[str, Any] = {
        "epsilon": fraction * epsilon,
        "delta": 0.0,
        "neighbors": inputs.neighbors,
        "target": inputs.target,
    }
    if inputs.target.n_values == 2:
        numeric = counts_numeric_records
        release = ShareRelease(**given_to, rare=RARE, counts_numeric_records=numeric)
    else:
        release = NumericShareRelease(**given_to)
    rest = _rest(known, list(inputs.target.values), release.epsilon, 0.0)
    first_release = FirstRelease(release)
    if counts_numeric_records:  # class sums then have all of the rest
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # they were issued above
            inputs = check_inputs(rest, X, y, **given, first_release=first_release)
    else:
        cap = as_cap(rest.epsilon, rest.delta)
        inputs = dataclasses.replace(inputs, estimator=rest, cap=cap, first_release=first_release)
    return _First(inputs, inputs.records.codes)


def _published_before(estimator: Estimator, X: Any, y: Any) -> FirstRelease | None:
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
        _parameter(estimator): (declared(estimator, X, y) is None) != first_release.finds_target,
        "epsilon": cap is None or cap <= first_release.epsilon,
    }
    if first_release.finds_target:
        columns = None
        if not isinstance(X, SiteRecords):
            values = first_release.release.check(y)
            columns = values if isinstance(values, list) else [values]
        are_text = [X.labels == "text"] if columns is None else [_is_text(each) for each in columns]
        found = first_release.found.target.parts
        changed["y"] = are_text != [_is_text(part.values) for part in found]
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
    values : ndarray of shape (n_records,) or None
        Private labels or numbers; None if sites load them.
    account : Account
        Account of the fit.
    statement : PrivacySpent
        Statement of this step.
    limit : Cost
        Limit of the cost of the whole fit; see `limit_of`.
    """

    def __init__(
        self,
        inputs: Inputs,
        values: np.ndarray | None,
        account: Account,
        statement: PrivacySpent,
        limit: Cost,
    ) -> None:
        self.inputs = inputs
        self.values = values
        self.account = account
        self.statement = statement
        self.limit = limit

    def gather(self) -> tuple[Any, int | None]:
        """Return private counts, or one number of each unit; and the records with numbers alone."""
        inputs = self.inputs
        release = inputs.known_first_release.release
        if self.values is None:
            counts = gather_target(inputs.records, release, inputs.neighbors)
            n_numbers = (
                count_numeric_records_at(inputs.records) if release.counts_numeric_records else None
            )
            return counts, n_numbers
        units = units_of(inputs.records, inputs.neighbors)
        numbers = None if units is None else np.unique(units, return_inverse=True)[1]
        with suppress_output():
            counts = release.gather(self.values, numbers)
            n_numbers = (
                count_numeric_records(inputs.records.X) if release.counts_numeric_records else None
            )
            return counts, n_numbers

    def pay(self) -> None:
        """Record the cost of this step, with the limit of all steps."""
        cost = self.inputs.known_first_release.cost
        self.account.append(self.statement, dataclasses.replace(cost, whole=self.limit))

    def publish(self, gathered: tuple[Any, int | None]) -> None:
        """Publish the target, and store it on the account; `found` is None for a second round."""
        counts, n_numbers = gathered
        first_release = self.inputs.known_first_release
        use = "second round of the target" if first_release.is_second else "target"
        noise = np.random.default_rng(self.inputs.seeds[use])
        found = first_release.release.publish(counts, noise)
        if found is not None and n_numbers is not None:
            share = first_release.release.numeric_share(n_numbers, noise)
            found = found._replace(numeric_share=share)
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
        tables=first_release.release.names,
        extra_releases=(),
        guarantee=finished(first_release.guarantee),
    )


def limit_of(plan: Plan, inputs: Inputs) -> Cost:
    """Return the cost by which a ledger fixes its rule before the first release of a fit.

    The plan is for a made-up target, and another target may choose another method. The epsilon that
    the fit states never exceeds the epsilon of this cost. The other measures of this cost are
    measures of the plan, and of Gaussian noise with a larger epsilon. The costs that an outcome
    chooses rarely exceed them; if they do, filters may refuse the fit after its first release.
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
    target = first_release.found.target
    (values,) = declaration(target).values()
    rest = _rest(estimator, values, first_release.epsilon, first_release.release.delta)
    weight = getattr(rest, "class_weight", None)
    if first_release.finds_target and weight is not None:
        are_of_targets = isinstance(weight, list)
        weights = weight if are_of_targets else [weight] * target.n_targets
        weights = [_of_found(each, part) for each, part in zip(weights, target.parts, strict=True)]
        rest.class_weight = weights if are_of_targets or len(weights) > 1 else weights[0]
    return rest


def _of_found(weight: Any, target: Target) -> Any:
    """Return the weights of the classes that were found."""
    if not isinstance(weight, dict):
        return weight
    found = target.values.tolist()
    return {label: size for label, size in weight.items() if label in found}


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


def _prices(
    estimator: Estimator, X: Any, groups: Any, n_targets: int
) -> tuple[float, float, float]:
    """Return the epsilons of the release and of a second round, and the delta of both.

    Several targets share them.
    """
    method = estimator.method
    # A method may have a partition of its own, whose relation is known only later
    is_public = not has_groups(X, groups) and (
        estimator.partition == "random" if isinstance(method, str) else _size_is_public(method)
    )
    epsilon, delta = _cap(estimator)
    fraction = rules.default_target_fraction(
        n_records=_num_samples(X) if is_public else None, epsilon=epsilon, n_targets=n_targets
    )
    if not issubclass(estimator.target_type, ClassTarget):
        return fraction * epsilon, 0.0, 0.0
    if delta * _DELTA_FRACTION < _MIN_DELTA:
        raise ValueError(
            f"delta={delta:g} is too small to find classes, as a thousandth of it bounds the "
            f"probability that a rare label is published: {_remedy(estimator)}, or use a larger "
            "delta"
        )
    more = rules.default_second_target_fraction(fraction)
    return fraction * epsilon, more * epsilon, delta * _DELTA_FRACTION


def _size_is_public(method: Any) -> bool:
    return isinstance(method, TableMethod) and not getattr(method, "size_is_private", True)


def _rest(estimator: Estimator, values: Any, epsilon: float, delta: float) -> Estimator:
    """Return a copy with declared classes or bounds, and the rest of epsilon and delta."""
    cap, total = _cap(estimator)
    return with_params(
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


def with_params(estimator: Estimator, **params: Any) -> Estimator:
    """Return a copy with other parameters, which shares its fitted attributes.

    `copy.copy` would drop attributes that a pickle must not hold, such as the seed.
    """
    rest = object.__new__(type(estimator))
    vars(rest).update(vars(estimator) | params)
    return rest


def _parameter(estimator: Estimator) -> str:
    """Return the parameter that declares the target."""
    return "classes" if issubclass(estimator.target_type, ClassTarget) else "bounds"


def _remedy(estimator: Estimator) -> str:
    if issubclass(estimator.target_type, ClassTarget):
        return "give classes=[all labels that may occur]"
    return "give bounds=(low, high)"
