"""Trial fits on labelled public rows, which forecast the accuracy of a fit for its plan.

Some public rows play the private records, with their labels. The others play the public rows, and
are scored; their labels are not used by the trial fit. No private value is used, only the number of
private records if it is public, so the trials have no privacy cost.

*Scale of the noise.* A table of votes or class sums grows in proportion to the number of records,
and its noise does not depend on it. Both methods of records depend on the noise through its ratio
to the number of records. With `n_trial` in place of `n_records` records, the ratio is the same if
the noise is `n_trial / n_records` times as large. The scale of Laplace noise is inversely
proportional to its pure epsilon, so the epsilon of the trial is ``epsilon * n_records / n_trial``.
The standard deviation of Gaussian noise is inversely proportional to mu of Gaussian differential
privacy, so mu is multiplied by this factor. Epsilon is not: it grows faster than mu.

Teachers are not tried. The noise on their votes does not depend on the number of records, and no
trial has both as many teachers and as many records for each of them.
"""

from __future__ import annotations

import contextlib
import copy
import dataclasses
import math
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import clone

from .._sklearn import _num_samples, _safe_indexing
from ..accounting.trials import ScoreForecast, Trial
from ..encoding.targets import ClassTarget
from ..methods import ClassSums, ReverseNeighbors
from ..public import indexable_rows, public_rows
from ..rdp import gdp_to_epsilon
from ..runtime.isolation import suppress_output, uncounted
from . import first_release
from .inputs import as_list
from .seeds import seed_sequence, unwarned

if TYPE_CHECKING:
    from .._typing import Estimator, Rows
    from ..accounting.plan import Plan
    from ..rdp.cost import Cost
    from .inputs import Inputs

#: Epsilons of the trials, divided by the epsilon of the plan.
FACTORS = (0.25, 0.5, 1.0, 2.0, 4.0)

#: Number of splits at each epsilon. All epsilons have the same splits.
_N_SPLITS = 5

#: Part of the public rows that plays the private records.
_RECORDS_FRACTION = 0.6

#: Largest numbers of rows in a trial: records, public rows and scored rows.
_MAX_RECORDS, _MAX_PUBLIC, _MAX_SCORED = 3000, 1000, 5000

#: Smallest number of public rows for trials.
_MIN_ROWS = 20

#: Largest Gaussian-DP parameter of a trial, at the smallest noise that class sums accept.
_MAX_MU = 15.9

#: Spawn key of the seeds of trials. No use of a fit has this key, so that trials and fits with the
#: same `random_state` share no noise.
_TRIALS = 2**31 + 1


def check_labels(estimator: Estimator, X_public: Rows, y_public: Any) -> np.ndarray:
    """Return the labels of the public rows as an array.

    Raises
    ------
    ValueError
        If there are no public rows, if the lengths differ, or if the labels are invalid.
    """
    if X_public is None:
        raise ValueError("y_public has the labels of X_public, but X_public is missing: give both")
    if len(estimator.target_type.columns(y_public)) > 1:
        raise ValueError("y_public has several columns, but plans try fits for one target only")
    try:
        labels = estimator.target_type.column(y_public)
        estimator.target_type._check_finite(labels)
    except (TypeError, ValueError) as error:
        raise type(error)(f"y_public: {error}") from error
    n_public = _num_samples(indexable_rows(public_rows(X_public), "X_public"))
    if len(labels) != n_public:
        raise ValueError(
            f"y_public must have one {estimator.target_type.noun} for each row of X_public; got "
            f"{len(labels)}, and {n_public} rows"
        )
    target = estimator._declared_target()
    if target is None:
        return first_release.checked_values(estimator, labels)
    target.check_public_labels("y_public", labels)
    try:
        target.encode(labels)
    except (TypeError, ValueError) as error:
        raise type(error)(f"y_public: {error}") from error
    return labels


def with_trials(
    plan: Plan,
    estimator: Estimator,
    X: Rows,
    y: Any,
    X_public: Rows,
    labels: np.ndarray,
    **given: Any,
) -> Plan:
    """Return a plan with the forecasts of trial fits on the public rows.

    Parameters
    ----------
    plan : Plan
        Plan of the fit.
    estimator : PATEClassifier or PATERegressor
        Estimator of the fit, which is not changed.
    X, y, X_public, **given
        Arguments of `fit`. Of `y`, only the dtype is used.
    labels : ndarray of shape (n_public,)
        From `check_labels`.

    Returns
    -------
    Plan
    """
    X_public = indexable_rows(public_rows(X_public), "X_public")
    reason = _reason_against(plan, estimator, len(labels))
    if reason:
        return dataclasses.replace(plan, trials_note=f"not tried: {reason}")
    known = first_release.declared(estimator, X, y)
    estimator = estimator if known is None else known
    seed = seed_sequence(copy.deepcopy(estimator.random_state))
    if estimator.random_state is not None:
        seed = np.random.SeedSequence(seed.entropy, spawn_key=(_TRIALS,))
    own_seed = None if estimator.random_state is None else int(seed.generate_state(1)[0])
    params = {"ledger": None, "memory": None, "secure": False, "random_state": own_seed}
    splits = [_Split.sampled(X_public, labels, child) for child in seed.spawn(_N_SPLITS)]
    summary = plan.method_summary
    n_records = None if summary is None else summary.n_records
    trials = []
    with suppress_output(), uncounted(), unwarned():
        for factor in FACTORS:
            epsilon = factor * float(estimator.epsilon)
            copied = first_release.with_params(estimator, epsilon=epsilon, **params)
            inputs = first_release.assumed(copied, X, X_public, labels, **given)
            trials.append(_tried(copied, inputs, splits, n_records))
    return dataclasses.replace(plan, trials=tuple(trials))


def _reason_against(plan: Plan, estimator: Estimator, n_public: int) -> str:
    """Return the reason why there are no trials; empty if there are trials."""
    if plan.has_teachers:
        return (
            "the noise on votes of teachers does not depend on the number of records, and a trial "
            "cannot have as many teachers with as many records each"
        )
    if estimator.epsilon is None:
        return "epsilon is None"
    if any(mechanism.with_scale(1.0) is None for mechanism in as_list(estimator.aggregator or [])):
        return "the noise of aggregator is set, so it does not depend on epsilon"
    if n_public < _MIN_ROWS:
        return f"trials require {_MIN_ROWS} public rows or more"
    return ""


@dataclasses.dataclass(frozen=True)
class _Split:
    """Labelled public rows in the roles of a trial, and the seed of its noise."""

    X: Rows
    y: np.ndarray
    X_public: Rows
    X_scored: Rows
    y_scored: np.ndarray
    seed: int

    @classmethod
    def sampled(cls, rows: Rows, labels: np.ndarray, seed: np.random.SeedSequence) -> _Split:
        """Assign rows to roles at random."""
        rng = np.random.default_rng(seed)
        order = rng.permutation(len(labels))
        n_records = int(_RECORDS_FRACTION * len(labels))
        records = order[: min(n_records, _MAX_RECORDS)]
        scored = order[n_records:][:_MAX_SCORED]
        return cls(
            _safe_indexing(rows, records),
            labels[records],
            _safe_indexing(rows, scored[:_MAX_PUBLIC]),
            _safe_indexing(rows, scored),
            labels[scored],
            int(rng.integers(2**31)),
        )


def _tried(
    estimator: Estimator, inputs: Inputs, splits: list[_Split], n_records: int | None
) -> Trial:
    """Return the scores of trial fits at the epsilon of an estimator.

    Parameters
    ----------
    estimator : PATEClassifier or PATERegressor
        Estimator with the epsilon of the forecast.
    inputs : Inputs
        Inputs of the forecast fit after its first release; see `first_release.assumed`.
    splits : list of _Split
        Rows and seed of each trial.
    n_records : int or None
        Number of private records; None if it is private. The number of public rows is then used.
    """
    plan = inputs.release.plan(inputs)
    ((mechanism, _),) = plan.stages
    cost = mechanism.cost(inputs.contribution)
    n_real = inputs.n_public if n_records is None else n_records
    scores, areas, errors = [], [], []
    for split in splits:
        factor = n_real / len(split.y)
        try:
            fitted = _fitted(estimator, inputs, split, cost, factor)
            scores.append(float(fitted.score(split.X_scored, split.y_scored)))
            areas.append(_auc(fitted, split))
        except Exception as error:  # the data are public, so the message may be shown
            errors.append(f"{type(error).__name__}: {error}")
    is_binary = any(area is not None for area in areas)
    first = splits[0]
    return Trial(
        epsilon=float(estimator.epsilon),
        method=type(inputs.method).__name__,
        score_name="accuracy" if inputs.target.has_accuracy else "R2",
        score=ScoreForecast.of(scores),
        auc=ScoreForecast.of([a for a in areas if a is not None]) if is_binary else None,
        n_records=len(first.y),
        n_public=_num_samples(first.X_public),
        n_scored=len(first.y_scored),
        n_splits=len(splits),
        n_failed=len(errors),
        error=errors[0] if errors else "",
    )


def _fitted(
    estimator: Estimator, inputs: Inputs, split: _Split, cost: Cost, factor: float
) -> Estimator:
    """Return a trial fit, whose noise is smaller by a factor.

    Parameters
    ----------
    estimator, inputs
        As in `_tried`.
    split : _Split
        Rows of the trial.
    cost : Cost
        Cost of the table of the forecast fit.
    factor : float
        Number of records of the forecast fit, divided by that of the trial.
    """
    target = inputs.target
    if first_release.is_to_find(estimator):
        release = first_release.scaled(inputs.known_first_release.release, factor, len(split.y))
        rng = np.random.default_rng((split.seed, 1))
        target = release.published(release.gather(split.y, None), rng).target
    method = estimator.method
    if isinstance(method, str):
        method = {ReverseNeighbors: "neighbors", ClassSums: "sums"}[type(inputs.method)]
    trial = clone(estimator).set_params(
        **first_release.declaration(target),
        method=method,
        epsilon=scaled_epsilon(cost, factor, float(estimator.delta)),
        unit="record",
        releases=None,
        warm_start=False,
        on_bad_plan="warn",
        random_state=split.seed,
        verbose=0,
    )
    return trial.fit(split.X, split.y, split.X_public)


def scaled_epsilon(cost: Cost, factor: float, delta: float) -> float:
    """Return the epsilon at which the noise of a table is smaller by a factor.

    Parameters
    ----------
    cost : Cost
        Cost of the table.
    factor : float
        Noise of the table, divided by the noise at the returned epsilon.
    delta : float
        Delta of a fit with Gaussian noise.

    Returns
    -------
    float

    Examples
    --------
    >>> from sklearn_pate.aggregators import GaussianMechanism, LaplaceMechanism
    >>> from sklearn_pate.fitting.trials import scaled_epsilon
    >>> from sklearn_pate.rdp import Contribution
    >>> one = Contribution.of_counts(2)
    >>> scaled_epsilon(LaplaceMechanism(2.0).cost(one), 10.0, 1e-5)
    10.0
    >>> round(scaled_epsilon(GaussianMechanism(5.0).cost(one), 10.0, 1e-5), 1)  # epsilon is 1.1
    15.5
    """
    if math.isfinite(cost.pure):
        return cost.pure * factor
    mu = min(math.sqrt(cost.mu_squared) * factor, _MAX_MU)
    return float(gdp_to_epsilon(mu, delta))


def _auc(fitted: Estimator, split: _Split) -> float | None:
    """Return the area under the ROC curve; None unless there are two classes and probabilities."""
    if fitted.target_type is not ClassTarget or len(fitted.classes_) != 2:
        return None
    from sklearn.metrics import roc_auc_score

    with contextlib.suppress(AttributeError, ValueError):
        proba = fitted.predict_proba(split.X_scored)[:, 1]
        return float(roc_auc_score(split.y_scored == fitted.classes_[1], proba))
    return None
