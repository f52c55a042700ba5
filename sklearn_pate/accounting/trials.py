"""Accuracy of trial fits on labelled public rows, which a plan reports at several epsilons."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import stats

__all__ = ["ScoreForecast", "Trial"]

#: Level of the intervals.
_LEVEL = 0.95


@dataclass(frozen=True)
class ScoreForecast:
    """Mean of a score over trial fits, and an interval for the score of one fit.

    Attributes
    ----------
    mean : float
        Mean; NaN without a score.
    low, high : float
        95 % prediction interval of one more trial, from Student's t distribution; NaN with fewer
        than two scores. It contains the variation between splits, seeds and scored rows.

    Examples
    --------
    >>> from sklearn_pate.accounting.trials import ScoreForecast
    >>> found = ScoreForecast.of([0.80, 0.82, 0.81, 0.83], largest=1.0)
    >>> round(found.mean, 3), round(found.low, 3), round(found.high, 3)
    (0.815, 0.769, 0.861)
    """

    mean: float
    low: float
    high: float

    @classmethod
    def of(cls, scores: Sequence[float], *, largest: float = 1.0) -> "ScoreForecast":
        """Return the forecast from the scores of trials.

        Parameters
        ----------
        scores : sequence of float
            One score for each trial. NaN is left out.
        largest : float, default=1.0
            Largest possible score, at which the interval ends.

        Returns
        -------
        ScoreForecast
        """
        values = np.array([score for score in scores if not math.isnan(score)])
        if len(values) == 0:
            return cls(math.nan, math.nan, math.nan)
        mean = float(values.mean())
        if len(values) == 1:
            return cls(mean, math.nan, math.nan)
        quantile = stats.t.ppf((1 + _LEVEL) / 2, len(values) - 1)
        half = float(quantile * values.std(ddof=1) * math.sqrt(1 + 1 / len(values)))
        return cls(mean, mean - half, min(largest, mean + half))


@dataclass(frozen=True, kw_only=True)
class Trial:
    """Scores of trial fits on labelled public rows, as a forecast of a fit at one epsilon.

    All attributes depend on public rows, their labels, and public numbers alone.

    Attributes
    ----------
    epsilon : float
        Epsilon of the forecast fit.
    method : str
        Class of the method.
    score_name : str
        "accuracy", or "R2" for numbers.
    score : ScoreForecast
        Forecast of this score.
    auc : ScoreForecast or None
        Forecast of the area under the ROC curve; None if there are not two classes.
    n_records, n_public, n_scored : int
        Number of public rows that play the private records, that play the public rows, and that are
        scored.
    n_splits : int
        Number of trial fits, each with its own split and noise.
    n_failed : int
        Number of trial fits that raised an error.
    error : str
        Error of the first of them; empty if none failed.

    Examples
    --------
    >>> from sklearn_pate.accounting.trials import ScoreForecast, Trial
    >>> sizes = {"n_records": 600, "n_public": 400, "n_scored": 400, "n_splits": 2}
    >>> score = ScoreForecast.of([0.8, 0.9])
    >>> Trial(epsilon=1.0, method="ClassSums", score_name="accuracy", score=score, **sizes).n_failed
    0
    """

    epsilon: float
    method: str
    score_name: str
    score: ScoreForecast
    auc: ScoreForecast | None = None
    n_records: int
    n_public: int
    n_scored: int
    n_splits: int
    n_failed: int = 0
    error: str = ""
