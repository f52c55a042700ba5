"""Trials of a search: draw, fit and score candidates, and keep the best trial.

Trials are scored on public rows, or with noise on held-out private rows.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from operator import itemgetter
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.metrics import check_scoring
from sklearn.multioutput import MultiOutputClassifier
from sklearn.utils import indexable

from ..encoding.targets import ClassTarget, NumberTarget
from ..exceptions import StudentError
from ..fitting.dry_run import check_scored
from ..fitting.inputs import check_inputs
from ..fitting.run import Account, poll
from ..identifiers import keyed_digests, normalize_identifiers
from ..partition import assign_teachers
from ..public import indexable_rows
from ..rdp import DEFAULT_ORDERS
from ..runtime.copies import copied_data, copied_rows, copier
from ..runtime.isolation import attempt, isolated, suppress_output, uncounted
from .candidates import fit_rdp, teachers_key

if TYPE_CHECKING:
    from .._typing import Estimator, Rows
    from ..accounting.plan import Plan
    from ..rdp.conversion import TrialCount
    from .candidates import Candidate


def best_trial(
    candidates: list[Candidate],
    fit_data: dict[str, Any],
    scorer: PublicScorer | PrivateScorer,
    count: TrialCount,
    rng: np.random.Generator,
    *,
    are_seeded: bool,
    are_synthetic: bool,
) -> tuple[float, Candidate, Any]:
    """Run a random number of trials, and return the best trial.

    Trials with the same teachers share votes, but each trial draws its own noise.

    Parameters
    ----------
    candidates : list of Candidate
        Candidates with their noise set.
    fit_data : dict
        Arguments of `check_inputs`.
    scorer : PublicScorer or PrivateScorer
        Scores the trials.
    count : TrialCount
        The random number of trials.
    rng : numpy.random.Generator
        Draws the number of trials and their candidates.
    are_seeded : bool
        Whether teachers and noise are seeded from `rng`. Otherwise their seeds come from the
        operating system.
    are_synthetic : bool
        Whether the public rows are synthetic.

    Returns
    -------
    score : float
        Score of the best trial, which is the largest score; -inf if no student could be trained.
    candidate : Candidate
        Candidate of the best trial.
    fitted : PATEClassifier or StudentError
        The fitted estimator, or the error of its student.
    """
    votes = {}

    def run(candidate: Candidate) -> tuple[tuple[float, float], Candidate, Any]:
        teachers_seed = noise_seed = None
        if are_seeded:
            teachers_seed, noise_seed = rng.integers(2**31, size=2).tolist()
        # Votes are shared, but never noise: each trial adds its own
        key = teachers_key(candidate.estimator)
        if key not in votes:
            teachers = clone(candidate.estimator).set_params(random_state=teachers_seed)
            given = check_inputs(teachers, **fit_data)
            votes[key] = poll(replace(given, are_synthetic=are_synthetic), Account(None))
        # An error would reveal the candidate of a trial
        fitted = clone(candidate.estimator).set_params(random_state=noise_seed, on_bad_plan="warn")
        try:
            fitted.fit_votes(votes[key], fit_data["X_public"])
        except StudentError as error:
            score, fitted = math.nan, error
        else:
            score = scorer.score(fitted, candidate.plan)
        score = -math.inf if math.isnan(score) else score
        return (score, rng.random()), candidate, fitted  # the random number breaks ties

    n_trials = count.draw(rng)
    # Output, warnings and counts of trials would reveal their number
    with suppress_output(), uncounted():
        trials = (run(candidates[rng.integers(len(candidates))]) for _ in range(n_trials))
        (score, _), candidate, fitted = max(trials, key=itemgetter(0))
    return score, candidate, fitted


# --- scores --------------------------------------------------------------------------------------


#: Estimators for the dry run of a scorer, by the kind of target.
_DUMMIES = {ClassTarget: DummyClassifier(), NumberTarget: DummyRegressor()}


class PublicScorer:
    """Scorer on public rows, at no privacy cost.

    The constructor checks the rows, and tries the scorer on a dummy estimator.

    Parameters
    ----------
    estimator : PATEClassifier or PATERegressor
        Estimator of the search.
    scoring : str, callable or None
        As in the search.
    X_val : array-like with n_val rows
        Public rows.
    y_val : array-like of shape (n_val,)
        Their labels.
    X_public : array-like with n_public rows
        Public rows of the fit, with the same features.
    """

    def __init__(
        self,
        estimator: Estimator,
        scoring: str | Callable[..., Any] | None,
        X_val: Rows,
        y_val: Rows,
        X_public: Rows,
    ) -> None:
        if X_val is None or y_val is None:
            raise ValueError(
                "X_val and y_val belong together, but one of them is None: give both, public rows "
                "and their labels"
            )
        columns, public_columns = (list(getattr(rows, "columns", [])) for rows in (X_val, X_public))
        shape, public_shape = np.shape(X_val), np.shape(X_public)
        if len(y_val) == 0 or shape[1:] != public_shape[1:] or columns != public_columns:
            raise ValueError(
                f"X_val must have rows with the features of X_public; got shapes {shape} and "
                f"{public_shape}, columns {columns} and {public_columns}"
            )
        if shape[0] != len(y_val):
            raise ValueError(
                f"y_val must have one label for each row of X_val; got {len(y_val)} labels and "
                f"{shape[0]} rows"
            )
        X_val, y_val = indexable(X_val, y_val)
        target = estimator._declared_target()
        target.check_public_labels("y_val", y_val)
        made_up = clone(_DUMMIES[estimator.target_type])
        if target.n_targets > 1 and target.has_accuracy:
            made_up = MultiOutputClassifier(made_up)  # with the score of several targets
        self._scorer = check_scoring(estimator, scoring)
        self._validation = X_val, y_val
        try:
            self._scorer(made_up.fit(X_val, y_val), X_val, y_val)
        except Exception as error:
            raise ValueError(
                f"scoring={scoring!r} failed on X_val and y_val. {type(error).__name__}: {error}"
            ) from error

    def rdp(self, plan: Plan) -> np.ndarray:
        """Return the Renyi cost of one trial, at `rdp.DEFAULT_ORDERS`."""
        return fit_rdp(plan)

    def score_scale(self, plan: Plan) -> None:
        """Return None, because scores get no noise."""

    def check(self, candidates: list[Candidate], X_public: Rows) -> None:
        """Do nothing, as any student can be scored on public rows."""

    def score(self, estimator: Estimator, plan: Plan) -> float:
        """Return the score of a fitted estimator."""
        with isolated(0):  # random draws of a scorer would reveal the number of trials
            return float(self._scorer(estimator, *self._validation))


class PrivateScorer:
    """Scorer on held-out private rows: a noisy number of correctly predicted units.

    A unit is a record, or all rows of one identifier or group. Each unit adds the fraction of its
    rows that are predicted correctly, at most 1. A student may use the other rows of the same call,
    draw random numbers or store earlier rows. So a fresh copy of the student predicts each unit
    separately, and no unit affects other units.

    Parameters
    ----------
    X : array-like with n_samples rows
        Private rows.
    codes : ndarray of shape (n_samples,)
        Their labels.
    units : sequence of ndarray of int
        Rows of each scored unit.
    rng : numpy.random.Generator
        Source of the noise.
    """

    def __init__(
        self, X: Rows, codes: np.ndarray, units: Sequence[np.ndarray], rng: np.random.Generator
    ) -> None:
        self._X = indexable_rows(X, "X")
        self._codes = codes
        self._units = units
        self._rng = rng

    def rdp(self, plan: Plan) -> np.ndarray:
        """Return the Renyi cost of one trial with its score, at `rdp.DEFAULT_ORDERS`."""
        score_rdp = DEFAULT_ORDERS / (2 * self.noise_scale(plan) ** 2)
        # A record is in one part, so it changes either the model or the score
        return np.maximum(fit_rdp(plan), score_rdp)

    def noise_scale(self, plan: Plan) -> float:
        """Return the least noise standard deviation at which a score costs no more than the fit.

        It is a number of scored units. The costs are compared at Renyi orders below 64 only.
        """
        matters = DEFAULT_ORDERS < 64  # higher orders seldom determine epsilon
        variances = DEFAULT_ORDERS[matters] / (2 * fit_rdp(plan)[matters])
        return float(np.sqrt(np.max(variances)))

    def score_scale(self, plan: Plan) -> float:
        """Return the standard deviation of the noise on a score."""
        return self.noise_scale(plan)

    def check(self, candidates: list[Candidate], X_public: Rows) -> None:
        """Raise an error if the prediction for a public row depends on other rows of the call."""
        for candidate in candidates:
            if candidate.plan.n_queries > 1:
                check_scored(candidate.estimator, X_public, candidate.plan.n_queries)

    def score(self, estimator: Estimator, plan: Plan) -> float:
        """Return the score of a fitted estimator."""
        return self._with_noise(self._n_right(estimator), plan)

    def _with_noise(self, n_right: float, plan: Plan) -> float:
        noise = self._rng.normal(scale=self.noise_scale(plan))
        return float(round(n_right + noise))  # low digits of a float could reveal the sum

    def _n_right(self, estimator: Estimator) -> float:
        """Return the private number of correctly predicted units, as a sum of fractions."""
        fresh_student = copier(estimator.student_)
        # A failed prediction counts as wrong
        tries = (attempt(partial(self._share, fresh_student, rows)) for rows in self._units)
        return sum(share or 0.0 for share, _ in tries)

    def _share(self, fresh_student: Callable[[], Estimator], rows: np.ndarray) -> float:
        """Return the fraction of a unit's rows that are predicted correctly."""
        with isolated(0):
            unit = copied_data(copied_rows(self._X, rows))
            predicted = np.asarray(fresh_student().predict(unit))
            if predicted.shape != rows.shape:
                return 0.0
            return float(np.mean(predicted.astype(np.intp) == self._codes[rows]))


# --- held-out private rows, which are not used by the teachers of any trial -----------------------


#: Largest number of units of a private score: enough for an accuracy to about one percentage point.
MOST_SCORED = 1000


def hold_out(
    estimator: Estimator,
    X: Rows,
    groups: ArrayLike | None,
    fraction: float,
    seeds: Sequence[np.random.SeedSequence],
    *,
    n_records: int,
) -> tuple[np.ndarray, list[np.ndarray]]:
    """Hold out a part of the private rows.

    Groups are assigned by a keyed hash, so the distribution of the assignment is the same for all
    names. Therefore, the guarantee may assume that a group that replaces another group has the same
    name.

    Parameters
    ----------
    estimator : PATEClassifier or PATERegressor
        Estimator of the search, with a str as `partition`. `partition` and `unit` determine which
        rows stay together.
    X : array-like with n_records rows
        Private rows.
    groups : array-like of shape (n_records,) or None
        Identifiers of groups.
    fraction : float
        Fraction of the private data to hold out; its inverse is rounded to a whole number.
    seeds : list of numpy.random.SeedSequence
        Source of the split, and of the choice of the scored units.
    n_records : int
        Number of private rows.

    Returns
    -------
    train : ndarray of int
        Rows to train on.
    units : list of ndarray of int
        The rows of each scored unit, at most `MOST_SCORED` units.

    Raises
    ------
    ValueError
        If `fraction` of the records is less than one record, with ``partition="random"``. With
        groups or hashed records, a part may be empty without an error, because their number is
        private.
    """
    split_seed, choice_seed = seeds
    n_parts = round(1 / fraction)
    partition = estimator.partition
    units = None  # each row is a unit
    if groups is not None:
        units = normalize_identifiers(groups, "groups")
        partition = "hash"  # groups are whole in any partition
    elif partition == "hash" and hasattr(X, "index"):
        units = normalize_identifiers(X.index, "the index of X")
    if partition == "random" and n_parts > n_records:  # the number of records is public
        raise ValueError(
            f"validation_fraction={fraction:g} of the {n_records} private records is less than one "
            "record; give a larger fraction, or X_val and y_val"
        )
    assigned: dict[str, Any] = {
        "index": getattr(X, "index", None),
        "groups": groups,
        "unit": estimator.unit,
    }
    assigned |= {"n_records": n_records, "n_teachers": n_parts, "seed": split_seed}
    with suppress_output():  # warnings of libraries may quote identifiers
        part: Any = assign_teachers(partition, **assigned).teacher_indices
    held = np.flatnonzero(part == 0)
    if units is None:
        shuffled = np.random.default_rng(choice_seed).permutation(held)
        scored = list(shuffled[:MOST_SCORED, None])  # units of one row
    else:
        # The choice is by a keyed hash of names, so an added or removed unit moves at most one
        # other unit out of the choice or into it, in its place. Each unit counts between 0 and 1,
        # so the score changes by at most 1
        distinct, unit = np.unique(units[held], return_inverse=True)
        chosen = np.argsort(keyed_digests(distinct, choice_seed), kind="stable")[:MOST_SCORED]
        scored = [held[unit == k] for k in chosen]
    return np.flatnonzero(part > 0), scored


def hold_out_by_coins(
    fraction: float, rng: np.random.Generator, *, n_records: int
) -> tuple[np.ndarray, list[np.ndarray]]:
    """Hold out each private row with the same probability, independently of other rows.

    This is for data sets with a private number of rows. The random draws are independent of each
    other and of the data. So the guarantee may treat each draw as part of its record: if a record
    is added or removed, other records keep their draws, and only one part changes.

    Parameters
    ----------
    fraction : float
        Probability that a row is held out.
    rng : numpy.random.Generator
        Generator of two numbers for each row: one determines whether the row is held out, the other
        its rank in the choice of scored rows.
    n_records : int
        Number of private rows.

    Returns
    -------
    train, units
        As in `hold_out`. Each may be empty, with a small probability if there are many records; no
        error may reveal this.
    """
    coin, place = rng.random((n_records, 2)).T
    held = np.flatnonzero(coin < fraction)
    scored = held[np.argsort(place[held])][:MOST_SCORED]
    return np.flatnonzero(coin >= fraction), list(scored[:, None])
