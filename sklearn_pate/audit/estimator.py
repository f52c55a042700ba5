"""Lower bounds on epsilon of a whole fit, from guesses at the labels of canaries."""

import math
from dataclasses import dataclass
from numbers import Integral

import numpy as np
from joblib import Parallel, delayed
from scipy.stats import binom
from sklearn.base import clone

from ..rdp.bisection import bisect
from ..rdp.checks import check_delta
from .canaries import check_canaries, make_canaries, replaced, stacked
from .sampling import check_confidence


@dataclass(frozen=True)
class EstimatorAudit:
    """What an audit of an estimator found.

    Attributes
    ----------
    epsilon : float
        Lower bound on epsilon at `delta`, at least 0: true with probability `confidence`.
    claimed : float or None
        The epsilon that the estimator states.
    delta, confidence : float
        As asked for.
    n_runs : int
        Fits.
    n_canaries : int
        Canaries of all fits together.
    n_guesses, n_right : int
        Bits guessed, and how many of them rightly.
    """

    epsilon: float
    claimed: float | None
    delta: float
    confidence: float
    n_runs: int
    n_canaries: int
    n_guesses: int
    n_right: int

    @property
    def refuted(self):
        """Whether the lower bound is above the claim."""
        return self.claimed is not None and self.epsilon > self.claimed


def one_run_epsilon(n_right, n_guesses, n_canaries, delta, confidence=0.999):
    """Lower bound on epsilon from right guesses of independent fair bits.

    Parameters
    ----------
    n_right, n_guesses, n_canaries : int
        Bits guessed rightly, guessed at all, and hidden. How many are guessed must be fixed
        before the outcome is seen; which ones may depend on it.
    delta : float
        Failure probability of the guarantee that is tested, in [0, 1).
    confidence : float, default=0.999
        Probability with which the bound holds.

    Returns
    -------
    float
        At least 0. It exceeds the epsilon of a mechanism that is (epsilon, delta)-differentially
        private in its bits with probability at most ``1 - confidence``.

    Raises
    ------
    ValueError
        If the numbers do not fit each other.

    Notes
    -----
    Steinke, Nasr, Jagielski (2023), Privacy auditing with one (1) training run, NeurIPS, Theorem
    5.2. With pure privacy, given the outcome and the bits before, each guess is right with
    probability at most ``q = 1 / (1 + exp(-epsilon))``, so their number is dominated by
    ``W ~ Bin(n_guesses, q)``. With delta it is dominated by `W` plus a number of failures whose
    mean is at most ``2 delta n_canaries``:
    ``Pr[n_right >= v] <= Pr[W >= v] + 2 delta n_canaries max_i Pr[v > W >= v - i] / i``.
    Any epsilon at which this is below ``1 - confidence`` is a valid bound, as it falls in `v` and
    who is private at some epsilon is so at any larger one: no monotonicity in epsilon is needed.

    Examples
    --------
    >>> from sklearn_pate.audit import one_run_epsilon
    >>> round(one_run_epsilon(30, 30, 30, delta=1e-5), 2)
    1.34
    >>> one_run_epsilon(16, 30, 30, delta=1e-5)
    0.0
    """
    delta = check_delta(delta, allow_zero=True)
    check_confidence(confidence)
    numbers = n_right, n_guesses, n_canaries
    if any(not isinstance(n, Integral) for n in numbers) or not (
        0 <= n_right <= n_guesses <= n_canaries
    ):
        raise ValueError(
            "n_right, n_guesses and n_canaries must be whole numbers, each at most the next; got "
            f"{n_right!r}, {n_guesses!r} and {n_canaries!r}"
        )

    def p_value(epsilon):
        q = 1 / (1 + math.exp(-epsilon))
        below = binom.pmf(np.arange(n_right - 1, -1, -1), n_guesses, q)
        most = (np.cumsum(below) / np.arange(1, n_right + 1)).max() if n_right else 0.0
        return binom.sf(n_right - 1, n_guesses, q) + 2 * delta * n_canaries * most

    if p_value(0.0) > 1 - confidence:
        return 0.0
    low, _ = bisect(lambda epsilon: p_value(epsilon) <= 1 - confidence, 0.0, 50.0)
    return float(low)


def audit_estimator(
    estimator,
    X,
    y,
    X_public=None,
    n_canaries=30,
    *,
    canaries="mislabelled",
    attack="labels",
    n_copies=1,
    n_runs=1,
    n_guesses=None,
    delta=None,
    claimed=None,
    confidence=0.999,
    fit_params=None,
    n_jobs=None,
    random_state=None,
):
    """Lower bound on epsilon of an estimator, from guesses at the labels of random canaries.

    Parameters
    ----------
    estimator : PATEClassifier or estimator
        Anything with ``fit(X, y, X_public)``. Each run fits a clone. A `random_state` of its own
        is replaced: a fit with a known seed is not private.
    X : array or DataFrame with n_samples rows
        Private features, dense.
    y : array-like of shape (n_samples,)
        Private labels.
    X_public : array or DataFrame, default=None
        Public rows. None: copies of the canaries alone.
    n_canaries : int, default=30
        Canaries in each run, if `canaries` is a kind.
    canaries : {"mislabelled", "out_of_distribution"} or Canaries, default="mislabelled"
        As in `make_canaries`.
    attack : {"labels", "student"} or callable, default="labels"
        What the guesses are made from. "labels": the released labels of the canaries' copies,
        `public_labels_`. "student": what the estimator predicts for the canaries, with
        probabilities if it has them, less their mean over the run: a black box. A function of the
        fitted estimator returns a number for each canary, above 0 where it speaks for the first
        label. It must not know the bits.
    n_copies : int, default=1
        Copies of each canary at the end of `X_public`. Public rows may be anything, so this is
        within the guarantee.
    n_runs : int, default=1
        Independent fits, each with bits of its own.
    n_guesses : int, default=None
        How many bits of all runs together are guessed, those with most evidence; None is all.
        Choose it before you see the outcome.
    delta : float, default=None
        Failure probability of the guarantee that is tested; None is the estimator's.
    claimed : float, default=None
        The epsilon in doubt; None is that of `privacy_spent_`.
    confidence : float, default=0.999
        Probability with which the bound holds.
    fit_params : dict, default=None
        Further arguments of ``fit``, for instance `groups`.
    n_jobs : int, default=None
        Runs in parallel, as in joblib.
    random_state : int, Generator or None, default=None
        Source of canaries, bits and seeds of the fits.

    Returns
    -------
    EstimatorAudit
        Its epsilon exceeds that of a truly private estimator with probability at most
        ``1 - confidence``.

    Raises
    ------
    ValueError
        If canaries, data and arguments do not fit each other.

    Notes
    -----
    Why it is valid. Everything but the bits is fixed first: the canaries' places, features and two
    labels, all other records, the public rows. The bits are fair, and independent of all else. To
    change one bit changes the label of one record under its place, identifier and group: the
    neighbours of "replace one record", of "change it under the same identifier", and, for groups,
    of "change its records", with the number of records the same. So if `fit` is
    (epsilon, delta)-private for its adjacency, what it releases is a mechanism that is
    (epsilon, delta)-private in each bit, which is all that the theorem behind `one_run_epsilon`
    asks for; guesses are computed from what is released. Several runs are one mechanism on all
    their bits, in which each bit reaches one run, so it holds for their sum as well. With one
    canary a run this is the classic test of two worlds.

    It is invalid if canaries, public rows or the number of guesses depend on the bits or on
    released labels, if runs share noise, or if `fit` spends more than once.

    What it can see. A bound from `v` right guesses of `v` is at most about
    ``log(v / log(1 / (1 - confidence)))``: 23 guesses, all right, exceed 1. All canaries of a run
    share its noise, so a mechanism with little excess needs few canaries and many runs, other
    records that let the canary's teacher decide, and still gives a bound below its epsilon. That
    nothing was found proves nothing.

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
    for name, value, least in (("n_runs", n_runs, 1), ("n_copies", n_copies, 0)):
        if not isinstance(value, Integral) or value < least:
            raise ValueError(f"{name} must be a whole number, at least {least}; got {value!r}")
    if not callable(attack) and attack not in ("labels", "student"):
        raise ValueError(f'attack must be "labels", "student" or a function; got {attack!r}')
    if n_copies == 0 and (X_public is None or attack == "labels"):
        raise ValueError('attack="labels", and X_public=None, need n_copies of at least 1')
    delta = getattr(estimator, "delta", None) if delta is None else delta
    if delta is None:
        raise ValueError("give delta: the estimator has none")
    delta, y = check_delta(delta, allow_zero=True), np.array(y)
    check_confidence(confidence)
    if isinstance(canaries, str):
        known = getattr(estimator, "classes", None)
        canaries = make_canaries(X, y, n_canaries, canaries, classes=known, random_state=rng)
    check_canaries(canaries, y)
    m = len(canaries.positions)
    n_guesses = n_runs * m if n_guesses is None else n_guesses
    if not isinstance(n_guesses, Integral) or not 1 <= n_guesses <= n_runs * m:
        raise ValueError(
            f"n_guesses must be a whole number from 1 to the {n_runs * m} canaries of all runs; "
            f"got {n_guesses!r}"
        )
    X = replaced(X, canaries)
    copies = [canaries.X] * n_copies
    X_public = stacked(copies if X_public is None else [X_public, *copies])
    bits = rng.integers(2, size=(n_runs, m))
    # No seed of ours means none for the fits: a ledger refuses seeds
    seeds = [None] * n_runs if random_state is None else rng.integers(2**32, size=n_runs).tolist()
    found = Parallel(n_jobs=n_jobs)(
        delayed(_one_run)(
            *(estimator, X, y, X_public, canaries, own, seed, attack, n_copies, fit_params or {})
        )
        for own, seed in zip(bits, seeds, strict=True)
    )
    scores = np.concatenate([run for run, _ in found])
    order = np.lexsort((rng.random(scores.size), -np.abs(scores)))[: int(n_guesses)]
    coins = rng.integers(2, size=scores.size)  # where nothing is known
    guesses = np.where(scores == 0, coins, scores < 0)
    n_right = int((guesses == bits.ravel())[order].sum())
    claimed = found[0][1] if claimed is None else float(claimed)
    return EstimatorAudit(
        epsilon=one_run_epsilon(n_right, int(n_guesses), n_runs * m, delta, confidence),
        claimed=claimed,
        delta=delta,
        confidence=confidence,
        n_runs=int(n_runs),
        n_canaries=int(n_runs * m),
        n_guesses=int(n_guesses),
        n_right=n_right,
    )


def _one_run(estimator, X, y, X_public, canaries, bits, seed, attack, n_copies, fit_params):
    """Evidence for the first label of each canary, and the epsilon that the fit states."""
    fitted = clone(estimator, safe=False)
    if hasattr(fitted, "get_params") and "random_state" in fitted.get_params(deep=False):
        fitted.set_params(random_state=seed)
    m, y = len(bits), y.copy()
    y[canaries.positions] = canaries.labels[np.arange(m), bits]
    fitted.fit(X, y, X_public, **fit_params)
    first, second = np.asarray(canaries.labels).T
    if callable(attack):
        scores = np.asarray(attack(fitted), dtype=float)
        if scores.shape != (m,) or np.isnan(scores).any():
            raise ValueError(
                f"attack must return a number for each of the {m} canaries; got shape "
                f"{scores.shape}, or NaN"
            )
    elif attack == "labels":
        codes = np.asarray(fitted.public_labels_)[-m * n_copies :].reshape(n_copies, m)
        labels = np.asarray(fitted.classes_)[codes]
        speaks = (labels == first).astype(float) - (labels == second)
        scores = np.where(codes >= 0, speaks, 0.0).mean(axis=0)
    else:
        if hasattr(fitted, "predict_proba"):
            proba, classes = fitted.predict_proba(canaries.X), np.asarray(fitted.classes_)
            of_first, of_second = (
                np.where(classes == side[:, None], proba, 0).sum(axis=1) for side in (first, second)
            )
            scores = of_first - of_second
        else:
            labels = np.asarray(fitted.predict(canaries.X))
            scores = (labels == first).astype(float) - (labels == second)
        # What the student thinks of canaries whatever their bits, as right labels are more likely
        scores = scores - scores.mean() if m > 1 else scores
    return scores, getattr(getattr(fitted, "privacy_spent_", None), "epsilon", None)
