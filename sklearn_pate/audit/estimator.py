"""Lower bounds on epsilon of a whole fit, from guesses at the labels of canaries."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from numbers import Integral
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pandas as pd
from joblib import Parallel, delayed
from numpy.typing import ArrayLike
from sklearn.base import clone

from ..encoding.targets import ClassTarget, NumberTarget
from ..estimator import PATEEstimator
from ..fitting.inputs import temperature_of
from ..fitting.methods import make_method
from ..public import check_not_swapped
from ..rdp import NeighboringRelation
from ..rdp.checks import as_array, check_count, check_delta, check_nonnegative
from .bounds import Audit, check_confidence, one_run_epsilon

if TYPE_CHECKING:
    from .._typing import Estimator, RandomGenerator, Rows


#: Attacks that need no function.
_ATTACKS = ("labels", "class_proba", "student")


@dataclass(frozen=True)
class EstimatorAudit(Audit):
    """Result of an audit of an estimator.

    Attributes
    ----------
    epsilon : float
        Lower bound on epsilon at `delta`, at least 0. It holds with probability `confidence`.
    claimed : float or None
        The claimed epsilon: the argument or, if it is None, the epsilon in `privacy_spent_` of the
        fitted estimator; None if the estimator has no `privacy_spent_`.
    delta, confidence : float
        Parameters of the audit.
    n_runs : int
        Number of fits.
    n_canaries : int
        Number of canaries of all fits together. Each canary hides a bit.
    n_guesses : int
        Number of guessed bits.
    n_right : int
        Number of correctly guessed bits.
    """

    n_runs: int
    n_canaries: int
    n_guesses: int
    n_right: int


def audit_estimator(
    estimator: Estimator,
    X: Rows,
    y: ArrayLike,
    X_public: Rows = None,
    n_canaries: int = 30,
    *,
    canaries: Literal["mislabelled", "out_of_distribution"] | Canaries = "mislabelled",
    attack: Literal["labels", "class_proba", "student"] | Callable[[Any], ArrayLike] = "labels",
    n_copies: int = 1,
    n_runs: int = 1,
    n_guesses: int | None = None,
    delta: float | None = None,
    claimed: float | None = None,
    confidence: float = 0.999,
    fit_params: dict[str, Any] | None = None,
    n_jobs: int | None = None,
    random_state: RandomGenerator | None = None,
) -> EstimatorAudit:
    """Return a lower bound on epsilon of an estimator, from guesses at labels of canaries.

    Parameters
    ----------
    estimator : PATEClassifier, PATERegressor or estimator
        Any object with ``fit(X, y, X_public)``. Each run fits a clone. Its `random_state` is
        replaced, because a fit with a known seed is not private.
    X : array or DataFrame with n_samples rows
        Private features, dense.
    y : array-like of shape (n_samples,) or (n_samples, n_targets)
        Private labels, or numbers.
    X_public : array or DataFrame, default=None
        Public rows. With None, the copies of the canaries are the only public rows. With None and
        ``n_copies=0``, there are no public rows; use this for an estimator with a `synthesizer`.
    n_canaries : int, default=30
        Number of canaries in each run, if `canaries` is a str.
    canaries : {"mislabelled", "out_of_distribution"} or Canaries, default="mislabelled"
        The canaries, or their kind in `make_canaries`.
    attack : {"labels", "class_proba", "student"} or callable, default="labels"
        Source of the guesses. "labels" uses `public_labels_`, the released labels or means of the
        copies of the canaries. "class_proba" uses `public_soft_labels_`, the released class
        probabilities of the copies, which reveal more if records vote, and with class sums.
        "student" is a black-box attack, the one for class sums without public rows: it uses
        `predict_proba` of the estimator for the canaries or, if the estimator has none, `predict`.
        For the last two, the mean evidence of a run is subtracted. For several targets, the
        evidence of all targets is added, for the last two in units of its standard deviation. A
        callable is called with the
        fitted estimator, and must return a number for each canary, above 0 if the evidence is for
        the first label. It must not use the bits.
    n_copies : int, default=1
        Number of copies of each canary at the end of `X_public`. The guarantee also holds with
        these copies, because it holds for any public rows.
    n_runs : int, default=1
        Number of independent fits, each with its own bits.
    n_guesses : int, default=None
        Number of bits to guess in all runs together. The bits with the most evidence are guessed.
        None guesses all bits. The number must be chosen before the outcome is known.
    delta : float, default=None
        Delta of the tested guarantee; None uses the parameter `delta` of the estimator.
    claimed : float, default=None
        The tested epsilon; None uses the epsilon in `privacy_spent_`. It is required if the
        relation of the guarantee is "add or remove one record", because a changed label is then
        two changes. If `delta` is 0, pass twice the epsilon of the estimator.
    confidence : float, default=0.999
        Probability with which the bound holds.
    fit_params : dict, default=None
        Further arguments of ``fit``, for instance `groups`.
    n_jobs : int, default=None
        Number of parallel runs, as in joblib.
    random_state : int, Generator or None, default=None
        Source of canaries, bits and seeds of the fits.

    Returns
    -------
    EstimatorAudit
        If the estimator is as private as claimed, the bound is above the claim with probability at
        most ``1 - confidence``.

    Raises
    ------
    ValueError
        If an argument is out of range, if the canaries do not match the data, if the estimator does
        not release the source of the guesses, or if `claimed` is required and missing.
    TypeError
        If `estimator` is a class.

    Notes
    -----
    The bound is valid for the following reasons. Everything except the bits is fixed first: the
    positions, features and two labels of the canaries, all other records, and the public rows. The
    bits are fair, and independent of everything else. A change of one bit changes the label of one
    record (for several targets, its labels of all targets), which keeps its position, identifier
    and group. The two data sets have the same number of records. They are neighbours under "replace
    one record", under "change it under the same identifier" and, for groups, under the relations
    with a change of the records of one group. (Under "add or remove one record", they differ by two
    changes, and `claimed` is required.) So if `fit` is (epsilon, delta)-private for its relation,
    its releases are (epsilon, delta)-private in each bit. The theorem behind `one_run_epsilon`
    requires nothing else, because guesses are computed from the releases. Several runs are one
    mechanism on all their bits, in which each bit is used in one run, so the theorem covers them
    together. With one canary per run, this is the classic test of two neighbouring data sets.

    The bound is invalid if canaries, public rows or the number of guesses depend on the bits or on
    released labels, if runs share noise, or if `fit` spends privacy more than once.

    The audit has limited power. If all `v` guesses are correct, the bound is about
    ``log(v / log(1 / (1 - confidence)))``: a bound above 1 requires 23 correct guesses. All
    canaries of a run share its noise. To detect a small excess over the claimed epsilon, use few
    canaries, many runs, and data in which the vote of the canary's teacher determines the label.
    Even then the bound is below the true epsilon. An audit that does not refute a claim is not
    evidence for it.

    References
    ----------
    Steinke, Nasr, Jagielski (2023). Privacy auditing with one (1) training run. NeurIPS.
    Chadha, Jagielski, Papernot, Choquette-Choo, Nasr (2024). Auditing private prediction. ICML.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> from sklearn_pate import PATEClassifier
    >>> from sklearn_pate.aggregators import PluralityVote
    >>> from sklearn_pate.audit import audit_estimator
    >>> X, y = make_classification(1000, random_state=0)
    >>> teacher = KNeighborsClassifier(1)
    >>> clf = PATEClassifier(teacher, n_queries=30, classes=[0, 1])
    >>> audit_estimator(clf, X, y, random_state=0).refuted
    False
    >>> bare = PATEClassifier(teacher, n_teachers=1, n_queries=30, classes=[0, 1], epsilon=None)
    >>> bare = bare.set_params(aggregator=PluralityVote())
    >>> audit_estimator(bare, X, y, claimed=1.0, random_state=0).refuted
    True
    """
    rng = np.random.default_rng(random_state)
    n_runs = check_count("n_runs", n_runs)
    n_copies = check_count("n_copies", n_copies, least=0)
    _check_audited(estimator, attack, n_copies)
    check_not_swapped(X, y, X_public)
    delta = _checked_delta(estimator, delta)
    confidence = check_confidence(confidence)
    y = _checked_labels(y)
    if isinstance(canaries, str):
        labels = _labels_of_canaries(estimator)
        canaries = make_canaries(X, y, n_canaries, canaries, classes=labels, random_state=rng)
    check_canaries(canaries, y)
    n_guesses = _checked_n_guesses(n_guesses, n_runs * len(canaries.positions))
    X, X_public = replaced(X, canaries), _stacked(X_public, [canaries.X] * n_copies)
    bits = rng.integers(2, size=(n_runs, len(canaries.positions)))
    # Without a `random_state`, the fits get no seeds, because a ledger refuses seeds
    is_seeded = random_state is not None
    seeds = rng.integers(2**32, size=n_runs).tolist() if is_seeded else [None] * n_runs
    run = partial(_run, estimator, X, y, X_public, canaries, attack, n_copies, fit_params or {})
    results = Parallel(n_jobs=n_jobs)(map(delayed(run), bits, seeds))
    evidence = np.concatenate([evidence_of_run for evidence_of_run, _ in results])
    claimed = _claim_of(results[0][1]) if claimed is None else check_nonnegative("claimed", claimed)
    n_right = _count_right(evidence, bits.ravel(), n_guesses, rng)
    epsilon = one_run_epsilon(n_right, n_guesses, bits.size, delta, confidence)
    return EstimatorAudit(
        epsilon, claimed, delta, confidence, n_runs, bits.size, n_guesses, n_right
    )


# --- checks of arguments --------------------------------------------------------------------------


def _check_audited(estimator: Estimator, attack: str | Callable[..., Any], n_copies: int) -> None:
    """Raise an error if the attack cannot be used with the estimator."""
    if not callable(attack) and attack not in _ATTACKS:
        raise ValueError(
            f'attack must be "labels", "class_proba", "student" or a function; got {attack!r}'
        )
    if isinstance(estimator, type):
        raise TypeError(f"estimator must be an instance, {estimator.__name__}(); got the class")
    target_type = getattr(estimator, "target_type", ClassTarget)
    if not callable(attack) and not issubclass(target_type, ClassTarget | NumberTarget):
        raise ValueError(
            f"attack={attack!r} requires an estimator that predicts labels or numbers, but "
            f"{type(estimator).__name__} predicts {target_type.noun}s: set attack to a function "
            "that takes the fitted estimator and returns a number for each canary"
        )
    if n_copies == 0 and attack in ("labels", "class_proba"):
        raise ValueError('attack="labels" and attack="class_proba" require n_copies of at least 1')
    if attack == "class_proba" and isinstance(estimator, PATEEstimator):
        method = make_method(estimator)
        if not method.release.releases_proba and temperature_of(estimator, method) is None:
            raise ValueError(
                'attack="class_proba" requires released class probabilities, but the estimator '
                'releases labels: use attack="labels", aggregator=SoftVote(), or '
                'method="neighbors"'
            )


def _checked_delta(estimator: Estimator, delta: float | None) -> float:
    """Return delta of the tested guarantee, or of the estimator."""
    of_estimator = getattr(estimator, "delta", None)
    if delta is None and of_estimator is None:
        raise ValueError(
            f"delta must be a number in [0, 1); got None, and {type(estimator).__name__} has no "
            "delta to use instead: give delta"
        )
    return check_delta(of_estimator if delta is None else delta, True)


def _checked_labels(y: ArrayLike) -> np.ndarray:
    """Return a copy of labels or numbers as an array; for several targets, it has two axes."""
    labels = np.array(as_array("y", y))
    if labels.ndim not in (1, 2) or labels.shape[1:] == (0,):
        raise ValueError(
            "y must be a 1-D array with one label per record, or a 2-D array with a column for "
            f"each target; got shape {labels.shape}"
        )
    return labels[:, 0] if labels.shape[1:] == (1,) else labels


def _checked_n_guesses(n_guesses: int | None, most: int) -> int:
    """Return the number of bits to guess, by default all."""
    n_guesses = most if n_guesses is None else n_guesses
    if not isinstance(n_guesses, Integral) or not 1 <= n_guesses <= most:
        raise ValueError(
            f"n_guesses must be an integer from 1 to {most}, the number of canaries in all runs; "
            f"got {n_guesses}"
        )
    return int(n_guesses)


def _labels_of_canaries(estimator: Estimator) -> Any:
    """Return the labels that canaries may have: the classes, or both bounds of numbers.

    For several targets, return a list with the labels of each target.
    """
    target_type = getattr(estimator, "target_type", ClassTarget)
    if not issubclass(target_type, NumberTarget):
        return getattr(estimator, "classes", None)
    if estimator.bounds is None:
        raise ValueError(
            "canaries of numbers have one of both bounds as their number, and bounds is None: give "
            "bounds=(low, high), or canaries made with make_canaries(classes=[low, high])"
        )
    bounds = np.array(estimator.bounds, dtype=float)
    return bounds if bounds.ndim == 1 else list(bounds)


# --- runs -----------------------------------------------------------------------------------------


def _claim_of(spent: Any) -> float | None:
    """Return the epsilon of `privacy_spent_`, or None; raise ValueError for add or remove."""
    if getattr(spent, "relation", None) == NeighboringRelation.ADD_OR_REMOVE_ONE:
        raise ValueError(
            f"the guarantee is for this change: {spent.change}. The changed label of a canary is "
            "two such changes. Set claimed to the epsilon for two, which is twice the epsilon if "
            "delta is 0"
        )
    return getattr(spent, "epsilon", None)


def _run(
    estimator: Estimator,
    X: Rows,
    y: np.ndarray,
    X_public: Rows,
    canaries: Canaries,
    attack: str | Callable[..., Any],
    n_copies: int,
    fit_params: dict[str, Any],
    bits: np.ndarray,
    seed: Any,
) -> tuple[np.ndarray, Any]:
    """Return the evidence for the first label of each canary, and the privacy spent by the fit."""
    estimator = clone(estimator, safe=False)
    if hasattr(estimator, "get_params") and "random_state" in estimator.get_params(deep=False):
        estimator.set_params(random_state=seed)
    labels = np.asarray(canaries.labels)[np.arange(len(bits)), bits]
    y = y.astype(np.result_type(y, labels)) if y.dtype.kind in "iuf" else y.copy()
    y[canaries.positions] = labels
    estimator.fit(X, y, X_public, **fit_params)
    evidence = _evidence(estimator, canaries, attack, n_copies)
    return evidence, getattr(estimator, "privacy_spent_", None)


def _count_right(
    evidence: np.ndarray, bits: np.ndarray, n_guesses: int, rng: np.random.Generator
) -> int:
    """Guess the bits with the most evidence, and count the correct guesses."""
    most_evidence_first = np.lexsort((rng.random(evidence.size), -np.abs(evidence)))
    # Bit 0 is the first label; without evidence, the guess is random
    guesses = np.where(evidence == 0, rng.integers(2, size=evidence.size), evidence < 0)
    is_right = (guesses == bits)[most_evidence_first]
    return int(is_right[:n_guesses].sum())


# --- attacks: evidence on the labels of canaries from a fitted estimator --------------------------


def _evidence(
    fitted: Estimator, canaries: Canaries, attack: str | Callable[..., Any], n_copies: int
) -> np.ndarray:
    """Return a number for each canary, above 0 where the evidence is for its first label."""
    if callable(attack):
        n_canaries = len(canaries.positions)
        evidence = np.asarray(attack(fitted), dtype=float)
        if evidence.shape != (n_canaries,) or np.isnan(evidence).any():
            shape = evidence.shape
            raise ValueError(
                f"attack must return {n_canaries} numbers without NaN, one for each canary; got "
                f"shape {shape}"
            )
        return evidence
    labels = np.asarray(canaries.labels)
    if labels.ndim == 2:
        of_targets = [_evidence_of(fitted, canaries, attack, n_copies)]
    else:
        of_targets = [
            _evidence_of(_OneTarget(fitted, k), _with_labels_of(canaries, k), attack, n_copies)
            for k in range(labels.shape[2])
        ]
    if attack == "labels" or len(labels) == 1:
        return np.sum(of_targets, axis=0)
    # The mean is subtracted, because one of the two labels may be more likely for any bits. The
    # scales of several targets depend on how the noise shrinks the probabilities of each
    away = [part - part.mean() for part in of_targets]
    if len(away) > 1:
        away = [part / (part.std() or 1.0) for part in away]
    return np.sum(away, axis=0)


def _evidence_of(fitted: Any, canaries: Canaries, attack: str, n_copies: int) -> np.ndarray:
    """Return the evidence of one target, for an attack that is no function."""
    if attack == "labels":
        released = _of_copies(fitted.public_labels_, canaries, n_copies)
        if hasattr(fitted, "levels_"):
            return np.nan_to_num(_which_number(released, canaries)).mean(axis=0)
        labels = np.asarray(fitted.classes_)[released]
        return np.where(released >= 0, _which_label(labels, canaries), 0.0).mean(axis=0)
    if attack == "class_proba":
        proba = _of_copies(fitted.public_soft_labels_, canaries, n_copies).mean(axis=0)
        return _which_proba(fitted, proba, canaries)
    if hasattr(fitted, "predict_proba"):
        return _which_proba(fitted, fitted.predict_proba(canaries.X), canaries)
    if hasattr(fitted, "levels_"):
        return _which_number(np.asarray(fitted.predict(canaries.X)), canaries)
    return _which_label(np.asarray(fitted.predict(canaries.X)), canaries)


class _OneTarget:
    """The attributes and predictions of a fitted estimator that belong to one of its targets.

    Parameters
    ----------
    fitted : estimator
        Fitted to several targets.
    k : int
        Number of the target.
    """

    #: Attributes with an array for each target, and those with a column for each.
    _LISTS = ("classes_", "levels_", "public_soft_labels_")
    _COLUMNS = ("public_labels_",)

    def __init__(self, fitted: Estimator, k: int) -> None:
        self._fitted = fitted
        self._k = k

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._fitted, name)
        if name in self._LISTS:
            return found[self._k]
        if name in self._COLUMNS:
            return np.asarray(found)[:, self._k]
        if name == "predict_proba":
            return lambda X: found(X)[self._k]
        if name == "predict":
            return lambda X: np.asarray(found(X))[:, self._k]
        return found


def _with_labels_of(canaries: Canaries, k: int) -> Canaries:
    """Return canaries with their two labels of one target."""
    return replace(canaries, labels=np.asarray(canaries.labels)[:, :, k])


def _of_copies(released: np.ndarray, canaries: Canaries, n_copies: int) -> np.ndarray:
    """Return the releases for the copies of canaries, (n_copies, n_canaries, ...)."""
    released = np.asarray(released)
    shape = n_copies, len(canaries.positions), *released.shape[1:]
    return released[-shape[0] * shape[1] :].reshape(shape)


def _which_label(labels: np.ndarray, canaries: Canaries) -> np.ndarray:
    """Return 1 for a label that is the first of its canary, -1 for the second, else 0."""
    first, second = np.asarray(canaries.labels).T
    return (labels == first).astype(float) - (labels == second)


def _which_number(numbers: np.ndarray, canaries: Canaries) -> np.ndarray:
    """Return how much nearer a number is to the first number of its canary than to the second."""
    first, second = np.asarray(canaries.labels, dtype=float).T
    return (numbers - (first + second) / 2) / (first - second)


def _which_proba(fitted: Estimator, proba: np.ndarray, canaries: Canaries) -> np.ndarray:
    """Return the evidence of released probabilities of the classes, or of the levels of numbers."""
    if hasattr(fitted, "levels_"):
        return _which_number(proba @ np.asarray(fitted.levels_), canaries)
    is_label = np.asarray(fitted.classes_) == np.asarray(canaries.labels)[:, :, None]
    first, second = np.where(is_label, proba[:, None], 0).sum(axis=2).T
    return first - second


# --- records whose labels hide a bit --------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Canaries:
    """Records that replace private records, each with a label chosen by a secret random bit.

    Attributes
    ----------
    positions : ndarray of shape (n_canaries,), int
        Positions of the records that the canaries replace, which must be different.
    X : array-like or DataFrame with n_canaries rows
        Features of the canaries.
    labels : ndarray of shape (n_canaries, 2) or (n_canaries, 2, n_targets)
        The two possible labels of each canary: the first for bit 0, the second for bit 1. For
        several targets, both differ in each target, because this changes a fit the most.
    """

    positions: np.ndarray
    X: Any = field(repr=False)
    labels: np.ndarray = field(repr=False)


def make_canaries(
    X: Rows,
    y: ArrayLike,
    n_canaries: int,
    kind: Literal["mislabelled", "out_of_distribution"] = "mislabelled",
    *,
    classes: ArrayLike | None = None,
    random_state: RandomGenerator | None = None,
) -> Canaries:
    """Choose canaries: records of the data, or points far from it.

    Parameters
    ----------
    X : array or DataFrame with n_samples rows
        Private features.
    y : array-like of shape (n_samples,) or (n_samples, n_targets)
        Private labels.
    n_canaries : int
        Number of canaries.
    kind : {"mislabelled", "out_of_distribution"}, default="mislabelled"
        "mislabelled" chooses random records; the two labels are a wrong label and the label of the
        record. "out_of_distribution" replaces random records by points with two random labels. Each
        number of a point is one to three ranges below the smallest or above the largest number of
        its column; values of other columns are from random records. In a DataFrame, the numbers may
        overflow in columns of a small integer type.
    classes : array-like of shape (n_classes,), or list of these, default=None
        All labels, for several targets those of each; None uses the labels in `y`. For numbers,
        their lowest and highest value: the two labels of a "mislabelled" canary are then the
        farther and the nearer one.
    random_state : int, Generator or None, default=None
        Source of the random choices.

    Returns
    -------
    Canaries

    Raises
    ------
    ValueError
        If `n_canaries` or `kind` is invalid, there are fewer than two classes, or `classes` has not
        one list for each target.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_pate.audit import make_canaries
    >>> X, y = np.arange(20.0).reshape(10, 2), np.arange(10) % 2
    >>> canaries = make_canaries(X, y, 3, random_state=0)
    >>> bool((canaries.labels[:, 1] == y[canaries.positions]).all())
    True
    """
    rng = np.random.default_rng(random_state)
    y = np.asarray(y)
    columns = [y] if y.ndim == 1 else list(y.T)
    of_targets: Any = [classes] if y.ndim == 1 else classes
    of_targets = columns if classes is None else of_targets
    if len(of_targets) != len(columns):
        raise ValueError(
            f"classes must be a list for each of the {len(columns)} columns of y; got "
            f"{len(of_targets)} lists"
        )
    values = [np.unique(np.asarray(own)) for own in of_targets]
    if not isinstance(n_canaries, Integral) or not 1 <= n_canaries <= len(y):
        raise ValueError(
            f"n_canaries must be a whole number from 1 to {len(y)}, the number of records; got "
            f"{n_canaries!r}"
        )
    if min(map(len, values)) < 2:
        raise ValueError(
            "canaries require at least 2 classes, because each gets one of two labels; pass classes"
        )
    if kind not in ("mislabelled", "out_of_distribution"):
        raise ValueError(f'kind must be "mislabelled" or "out_of_distribution"; got {kind!r}')
    positions = rng.choice(len(y), n_canaries, replace=False)
    if kind == "mislabelled":
        parts = [
            _wrong_and_true(column[positions], own, rng)
            for column, own in zip(columns, values, strict=True)
        ]
        rows = X.iloc[positions] if hasattr(X, "iloc") else np.asarray(X)[positions]
    else:
        parts = [np.array([rng.choice(own, 2, replace=False) for _ in positions]) for own in values]
        rows = _far_rows(X, n_canaries, rng)
    return Canaries(positions, rows, parts[0] if y.ndim == 1 else _of_all_targets(parts))


def _wrong_and_true(labels: np.ndarray, classes: np.ndarray, rng: np.random.Generator) -> Any:
    """Return a wrong label of each record, drawn at random, and its label, (n_records, 2)."""
    true = np.searchsorted(classes, labels)
    if not np.isin(labels, classes).all():  # numbers between two bounds
        true = np.abs(np.subtract.outer(labels, classes)).argmin(axis=1)
    wrong = (true + rng.integers(1, len(classes), size=len(labels))) % len(classes)
    return np.column_stack([classes[wrong], classes[true]])


def _of_all_targets(parts: list[np.ndarray]) -> np.ndarray:
    """Return the labels of all targets, (n_records, 2, n_targets); texts and numbers as objects."""
    are_numbers = {part.dtype.kind in "iuf" for part in parts}
    if len(are_numbers) > 1:
        parts = [part.astype(object) for part in parts]
    return np.stack(parts, axis=2)


def _far_rows(X: Rows, n_points: int, rng: np.random.Generator) -> Any:
    """Return points far outside of the rows, in their type."""
    if hasattr(X, "iloc"):
        return _far_table(X, n_points, rng)
    X = np.asarray(X)
    far = _far(X.astype(float), n_points, rng)
    return far.astype(np.result_type(X.dtype, np.float32))


def check_canaries(canaries: Canaries, y: np.ndarray) -> None:
    """Raise ValueError if canaries do not match the records, or have inconsistent attributes."""
    positions = np.asarray(canaries.positions)
    labels = np.asarray(canaries.labels)
    n_canaries = len(positions)
    are_different = n_canaries > 0 and len(np.unique(positions)) == n_canaries
    are_records = are_different and positions.min() >= 0 and positions.max() < len(y)
    have_two_labels = labels.shape == (n_canaries, 2, *y.shape[1:])
    have_two_labels = have_two_labels and (labels[:, 0] != labels[:, 1]).all()
    if not are_records or not have_two_labels or len(canaries.X) != n_canaries:
        raise ValueError(
            f"canaries must have different positions from 0 to {len(y) - 1}, and two different "
            "labels (for several targets, of each) and one row of X for each position; got "
            f"{n_canaries} positions"
        )


def _far(values: np.ndarray, n_points: int, rng: np.random.Generator) -> np.ndarray:
    """Return points far outside the range of every column."""
    low, high = np.nanmin(values, axis=0), np.nanmax(values, axis=0)
    span = np.where(high > low, high - low, 1.0)
    shape = (n_points, *values.shape[1:])
    distance = rng.uniform(1, 3, size=shape) * span
    return np.where(rng.random(shape) < 0.5, low - distance, high + distance)


def _far_table(table: pd.DataFrame, n_points: int, rng: np.random.Generator) -> pd.DataFrame:
    """Return points far outside the range of every numeric column, in its dtype.

    Values that a small integer dtype cannot hold wrap around, and may be inside the range. Columns
    of other dtypes, and of booleans, get existing values, drawn at random.
    """
    columns = {}
    for name, column in table.items():
        if pd.api.types.is_numeric_dtype(column) and not pd.api.types.is_bool_dtype(column):
            far = _far(column.to_numpy(dtype=float), n_points, rng)
            if pd.api.types.is_integer_dtype(column):
                far = far.round().astype(np.int64)
            columns[name] = pd.Series(far).astype(column.dtype)
        else:
            columns[name] = column.iloc[rng.integers(len(column), size=n_points)].array
    return pd.DataFrame(columns)[table.columns]


def replaced(X: Any, canaries: Canaries) -> Any:
    """Return the private features with the canaries at their positions."""
    if hasattr(X, "iloc"):
        order = np.arange(len(X))
        order[canaries.positions] = len(X) + np.arange(len(canaries.positions))
        return pd.concat([X, canaries.X]).iloc[order].set_index(X.index)
    X = np.asarray(X)
    new = np.asarray(canaries.X)
    # Distant canaries may not fit into small integer types
    X = X.astype(np.result_type(X, new)) if X.dtype.kind in "biuf" else X.copy()
    X[canaries.positions] = new
    return X


def _stacked(X_public: Any, copies: Any) -> Any:
    """Return public rows followed by copies of canaries; None if there are no rows."""
    parts = copies if X_public is None else [X_public, *copies]
    if not parts:
        return None
    if any(hasattr(part, "iloc") for part in parts):
        return pd.concat(parts, ignore_index=True)
    return np.concatenate(parts)
