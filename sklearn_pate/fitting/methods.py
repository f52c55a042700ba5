"""Choice, construction and preparation of the method of a fit."""

from __future__ import annotations

import inspect
import math
from collections.abc import Iterable, Iterator
from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import clone

from .. import rules
from ..aggregators import TableMechanism
from ..encoding.encoder import n_encoded_columns
from ..methods import ClassSums, ReverseNeighbors, Teachers
from ..methods.base import Method, VotingMethod
from ..methods.choose import MethodChoice, MethodParameters, PublicCounts, choose_method
from ..methods.sums import PublishedClassSums
from ..methods.teachers import ENSEMBLES, SITE_ENSEMBLES, default_teacher
from ..partition import RandomPartition
from ..rdp import Neighbors
from ..releases.labels import LabelsRelease, handed_out
from ..runtime.copies import fresh_seed, seed_number
from ..runtime.isolation import is_ours, isolated, kind_of, redacted
from ..teachers import Sites

if TYPE_CHECKING:
    from joblib import Memory

    from .._typing import Estimator, Rows
    from ..runtime.private_data import PrivateData

#: Parameters of teachers and of queries, with the rest of a sentence for messages.
OF_TEACHERS = dict.fromkeys(
    ("n_teachers", "partition", "keep_teachers", "timeout"), "is for teachers"
)
OF_QUERIES = {
    "n_queries": "is the number of rows that teachers vote on",
    "query_strategy": "chooses the rows that teachers vote on",
    "accounting": "is the composition of the costs of queries",
}


# --- choosing, by parameters and public numbers ---------------------------------------------------


def chosen(
    estimator: Estimator,
    X: Rows = None,
    *,
    synthesizer: Any = None,
    fraction: float | None = None,
    counts: PublicCounts | None = None,
) -> MethodChoice:
    """Return the `MethodChoice` of an estimator's method; see `methods.choose.choose_method`.

    Parameters
    ----------
    estimator : PATEClassifier
        Estimator whose parameters are used.
    X : array-like, Sites or None, default=None
        Private rows. `Sites` select teachers.
    synthesizer : Synthesizer or None, default=None
        Synthesizer of the fit; None if there are public rows.
    fraction : float or None, default=None
        Fraction of epsilon for the synthesizer's class sums. None if there is no synthesizer, or if
        the fraction depends on the method.
    counts : PublicCounts or None, default=None
        Public numbers; None before they are computed.
    """
    if isinstance(estimator.method, Method):
        return MethodChoice("", f"method is a {type(estimator.method).__name__}")
    parameters = MethodParameters(
        method=estimator.method,
        reasons_for_teachers=tuple(_reasons_for_teachers(estimator, X)),
        has_table_mechanism=isinstance(estimator.aggregator, TableMechanism),
        has_public_rows=synthesizer is None,
        sums_fraction=fraction,
        has_extra_releases=bool(estimator.releases),
        has_ledger=estimator.ledger is not None,
        epsilon=estimator.epsilon,
        delta=estimator.delta,
        target_type=estimator.target_type,
    )
    return choose_method(parameters, counts)


def _reasons_for_teachers(estimator: Estimator, X: Rows) -> Iterator[str]:
    """Yield a description of each parameter or input that selects teachers."""
    base_estimator = estimator.base_estimator
    if isinstance(base_estimator, list):
        yield "base_estimator is a list"
    elif base_estimator is not None:
        yield f"base_estimator is a {type(base_estimator).__name__}"
    for name in _that_are_set(estimator, [*OF_TEACHERS, *OF_QUERIES]):
        yield f"{name} is set"
    aggregator = estimator.aggregator
    if aggregator is not None and not isinstance(aggregator, TableMechanism):
        yield f"aggregator is a {type(aggregator).__name__}"
    if isinstance(X, Sites):  # records that vote are `SiteRecords`
        yield "X is Sites"


def counts_of_public(
    method: Any,
    estimator: Estimator,
    private: PrivateData,
    X_public: Rows,
    rarest_share: float | None = None,
) -> PublicCounts:
    """Return the public numbers that select `ReverseNeighbors` or `ClassSums`.

    Parameters
    ----------
    method : ReverseNeighbors
        The prepared method.
    estimator : PATEClassifier
        Estimator with `epsilon`; its other parameters are not used.
    private : PrivateData
        The private data. Only public numbers are used: the number of classes and, unless there
        are groups, the number of records.
    X_public : array-like with n_public rows
        Public rows.
    rarest_share : float or None, default=None
        Published share of the records in the rarest class.

    Returns
    -------
    PublicCounts
    """
    n_public, n_columns = method.public_shape
    if not hasattr(X_public, "columns"):  # for sums, all columns of an array count
        n_columns = max(n_columns, n_encoded_columns(X_public) or 0)
    n_records = None if private.has_groups else private.n_records
    n_classes = private.target.max_n_values

    def cells_explain() -> float:
        return method.forecast(
            noise_std=2 * math.sqrt(2),  # at epsilon 1: the choice is the same at any epsilon
            n_records=n_public if n_records is None else n_records,
            n_classes=n_classes,
        ).explained

    return PublicCounts(
        n_records=n_records,
        n_public=n_public,
        n_classes=n_classes,
        n_targets=private.target.n_targets,
        n_columns=n_columns,
        takes_sums=ClassSums.suits(X_public),
        rarest_share=rarest_share,
        cells_explain=cells_explain,
    )


# --- making it ------------------------------------------------------------------------------------


def make_method(
    estimator: Estimator,
    choice: MethodChoice | None = None,
    X: Rows = None,
    *,
    has_public_rows: bool = True,
) -> Method:
    """Return a new, unprepared method.

    Parameters
    ----------
    estimator : PATEClassifier
        Estimator whose parameters are used.
    choice : MethodChoice or None, default=None
        Result of `chosen`. If None, the choice depends on the parameters and the type of `X` alone.
    X : array-like, Sites or None, default=None
        Private rows. `Sites` select teachers.
    has_public_rows : bool, default=True
        Whether public rows are given. If False, a synthesizer draws them.

    Returns
    -------
    Method

    Raises
    ------
    ValueError
        If `method` is an object that cannot be used with these rows or this estimator.
    """
    choice = chosen(estimator, X) if choice is None else choice
    if isinstance(estimator.method, Method):
        return _own_method(estimator, has_public_rows=has_public_rows)
    if choice.name == "teachers":
        return _teachers(estimator, X)
    if choice.name == "neighbors":
        return ReverseNeighbors()
    return ClassSums() if has_public_rows else PublishedClassSums()


def _own_method(estimator: Estimator, *, has_public_rows: bool) -> Method:
    """Return a clone of `method`; raise an error if this fit cannot use the method."""
    method = estimator.method
    name = type(method).__name__
    if isinstance(method, ClassSums) and not has_public_rows:
        raise ValueError(
            f"{name} requires public rows before the fit. Without public rows, use "
            "method='sums', which releases class sums of the columns in the schema"
        )
    if not is_ours(method) and type(method.release) is not LabelsRelease:
        raise ValueError(
            f"{name} is not a method of this library, and releases more than labels. The library "
            "cannot check the privacy of such a table or statistic: use an unchanged "
            "ReverseNeighbors or ClassSums, or subclass methods.VotingMethod without overriding "
            "its attribute release"
        )
    is_same_type = method.target_type is estimator.target_type
    if not is_same_type and not method.release.releases_proba:
        raise ValueError(
            f"{name} votes for {method.target_type.noun}s: give base_estimator a "
            f"{estimator.target_type.predictor}, or let records vote, method='auto'"
        )
    return clone(method)


def _teachers(estimator: Estimator, X: Rows) -> Method:
    """Return the ensemble of teachers that the parameters describe."""
    ensemble_class = (SITE_ENSEMBLES if isinstance(X, Sites) else ENSEMBLES)[estimator.target_type]
    models = estimator.base_estimator
    if models is None:
        models = default_teacher(estimator.target_type)
    params = {name: getattr(estimator, name) for name in (*OF_TEACHERS, "unit", "n_jobs")}
    return ensemble_class(models if isinstance(models, list) else [models], **params)


def pin_method(estimator: Estimator) -> None:
    """Set `method` to the method that the parameters select.

    Then all trials of a search use the same method, even if they set other parameters. For
    teachers, `base_estimator` is set to the default teacher if it is None.
    """
    choice = chosen(estimator)
    if choice.name == "neighbors":
        estimator.set_params(method=ReverseNeighbors())
    elif choice.name == "sums":
        estimator.set_params(method=ClassSums())
    elif choice.name == "teachers":
        estimator.set_params(method="teachers")
        if estimator.base_estimator is None:
            estimator.set_params(base_estimator=default_teacher(estimator.target_type))


def number_teachers(method: Method, estimator: Estimator, private: PrivateData) -> None:
    """Set the default number of teachers if the method has teachers and `n_teachers` is None."""
    if type(method) not in ENSEMBLES.values() or method.n_teachers is not None:
        return
    # With any other partition, the number of records is private, or the partition determines the
    # number of teachers. A method that is given as an object has its own partition
    is_random = method.partition == "random" or type(method.partition) is RandomPartition
    is_public = is_random and private.groups is None
    method.n_teachers = rules.default_n_teachers(
        n_records=private.n_records if is_public else None,
        n_classes=private.target.n_values,
        epsilon=estimator.epsilon,
    )


def check_parameters(estimator: Estimator, method: Method) -> None:
    """Refuse parameters that differ from their defaults but are not used by the method."""
    models = estimator.base_estimator
    for model in models if isinstance(models, list) else [models]:
        if isinstance(model, Method):
            name = type(model).__name__
            raise TypeError(
                f"base_estimator is the model of each teacher; got {name}, which is a method: pass "
                f"it as method={name}(...)"
            )
    if isinstance(method, Teachers) and not isinstance(estimator.method, Method):
        return
    reasons = {"base_estimator": "is the model of each teacher", **OF_TEACHERS}
    if not isinstance(method, VotingMethod):
        reasons |= OF_QUERIES
    else:
        reasons["n_jobs"] = "is the number of teachers that are trained in parallel"
    for name, default in _that_are_set(estimator, reasons).items():
        is_named = isinstance(estimator.method, str) and estimator.method != "auto"
        used = f"method={estimator.method!r}" if is_named else type(method).__name__
        raise ValueError(
            f"{name}={getattr(estimator, name)!r} {reasons[name]}, and {used} does not use it; "
            f"leave {name} at its default, {default!r}"
        )


def _that_are_set(estimator: Estimator, names: Iterable[str]) -> dict[str, Any]:
    """Return the names of parameters that differ from their defaults, with the defaults."""
    parameters = inspect.signature(type(estimator).__init__).parameters
    defaults = {name: parameters[name].default for name in names}
    return {name: d for name, d in defaults.items() if _differs(getattr(estimator, name), d)}


def _differs(value: Any, default: Any) -> bool:
    """Return whether a value differs from a default, without `!=` if the default is None."""
    return value is not None if default is None else bool(value != default)


# --- preparing it with the public rows ------------------------------------------------------------


def prepared(
    method: Method, private: PrivateData, X_public: Rows, *, seed: Any, memory: Memory | None
) -> tuple[Neighbors, int | None]:
    """Prepare a method, and return its neighboring data sets and its number of teachers.

    Nothing is trained. A user-defined method gets copies of the public rows and of the target, its
    output is suppressed, and its errors are redacted.
    """
    if is_ours(method):
        neighbors = method.prepare(private, X_public, seed=seed, memory=memory)
        return neighbors, method.n_teachers_
    private, X_public = handed_out(private, X_public)
    # A user's method may print private values or leave them in global state
    name = type(method).__name__

    def prepare() -> tuple[Neighbors, Any, str]:
        neighbors = method.prepare(private, X_public, seed=seed, memory=memory)
        n_teachers = method.n_teachers_  # may be a property, so read once, isolated
        return neighbors, n_teachers, kind_of(np.asarray(n_teachers).dtype)

    with isolated(fresh_seed() if seed is None else seed_number(seed)):
        neighbors, n_teachers, kind = redacted(
            prepare,
            f"prepare of {name} failed with",
            "To read the text, call prepare(private, X_public, seed=, memory=) yourself",
        )
    if not isinstance(neighbors, Neighbors):
        raise TypeError(
            f"prepare of {name} must return rdp.Neighbors(...), the neighboring data sets that the "
            "votes protect; got another type"
        )
    if neighbors.n_records not in (None, private.n_records):
        raise ValueError(
            f"Neighbors.n_records of {name} must be the number of private records, or None if the "
            "relation makes this number private"
        )
    if not isinstance(n_teachers, Integral) or n_teachers < 1:
        got = "a smaller number" if isinstance(n_teachers, Integral) else kind
        raise ValueError(
            f"prepare of {name} must set n_teachers_, the number of votes on each row, to a whole "
            f"number of at least 1; got {got}"
        )
    return neighbors, int(n_teachers)  # short integers overflow
