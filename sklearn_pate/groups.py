"""Scores of a published model on labelled public rows, for each value of a column.

Labelled public rows are not private, so a report has no privacy cost. Scores on private rows are
not covered by the guarantee of a fit.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy.stats import norm, rankdata
from sklearn.base import is_regressor
from sklearn.utils import column_or_1d
from sklearn.utils.validation import check_is_fitted

from ._sklearn import _num_samples
from .public import table_of

if TYPE_CHECKING:
    from ._typing import Estimator, Rows

__all__ = ["group_report"]

#: Name of the first row, of all samples, and of the group of missing values.
ALL_ROWS = "all rows"
MISSING = "missing"

#: Numbers with more distinct values are binned.
_MAX_DISTINCT = 10

#: Number of bootstrap samples for the interval of R2.
_N_BOOTSTRAP = 200


def group_report(
    estimator: Estimator,
    X: Rows,
    y: ArrayLike,
    *,
    by: Any,
    n_bins: int = 4,
    confidence: float = 0.95,
) -> pd.DataFrame:
    """Return the scores of a fitted model on labelled public rows, by group.

    Parameters
    ----------
    estimator : classifier or regressor
        Fitted estimator, for instance a `PATEClassifier`.
    X : array-like with n_samples rows
        Labelled public rows.
    y : array-like of shape (n_samples,)
        Their labels or numbers.
    by : column of X, or array-like of shape (n_samples,)
        Name of a column of a DataFrame, index of a column of an array, or the group of each row.
        Missing values are a group of their own.
    n_bins : int, default=4
        Numbers with more than ten distinct values are divided at this many quantiles.
    confidence : float, default=0.95
        Confidence level of the intervals, strictly between 0 and 1.

    Returns
    -------
    DataFrame
        The first row is of all samples, and then follows one row for each group. The columns are
        `n_rows` and, for each score, its value, and the limits of its interval, `..._low` and
        `..._high`. A score that a group does not determine is NaN.

        - Classifiers: `accuracy`; `auc`, for more than two classes the mean of each class against
          all others; `calibration`, the mean predicted probability minus the observed frequency of
          the second class, or for more than two classes of the predicted class.
        - Regressors: `r2`, `mae` (mean absolute error) and `bias` (mean prediction minus mean of
          y).

    Raises
    ------
    ValueError
        If `y` or `by` has another length than `X`, if `by` is no column of `X`, or if a number is
        out of its range.

    Notes
    -----
    Each interval is for one group; many groups have some extreme scores by chance. Accuracy has the
    interval of Wilson (1927), AUC the fifth interval of Newcombe (2006), the other scores normal
    intervals of means, and R2 an interval of bootstrap quantiles.

    References
    ----------
    Wilson (1927). Probable inference, the law of succession, and statistical inference. JASA.
    Newcombe (2006). Confidence intervals for an effect size measure based on the Mann-Whitney
    statistic, part 2. Statistics in Medicine.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from sklearn_pate.groups import group_report
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> clf = GaussianNB().fit(X[::2], y[::2])
    >>> report = group_report(clf, X[1::2], y[1::2], by="petal width (cm)", n_bins=2)
    >>> report[["n_rows", "accuracy", "accuracy_low"]].round(2)
                  n_rows  accuracy  accuracy_low
    all rows          75      0.96          0.89
    (0.099, 1.3]      40      1.00          0.91
    (1.3, 2.5]        35      0.91          0.78
    """
    check_is_fitted(estimator)
    if not 0 < confidence < 1:
        raise ValueError(
            f"confidence must be a number strictly between 0 and 1; got {confidence!r}"
        )
    if n_bins < 1:
        raise ValueError(f"n_bins must be 1 or more; got {n_bins!r}")
    labels: np.ndarray = np.asarray(column_or_1d(y))
    n_samples = _num_samples(X)
    if len(labels) != n_samples:
        raise ValueError(f"y must have a label for each of {n_samples} rows; got {len(labels)}")
    names, codes = _groups_of(_values(X, by, n_samples), n_bins)
    scores: _Regression | _Classification
    if is_regressor(estimator):
        scores = _Regression(estimator, X, labels, confidence)
    else:
        scores = _Classification(estimator, X, labels, confidence)
    members = [np.arange(n_samples), *(np.flatnonzero(codes == k) for k in range(len(names)))]
    return pd.DataFrame(map(scores.of, members), index=pd.Index([ALL_ROWS, *names]))


# --- groups ---------------------------------------------------------------------------------------


def _values(X: Rows, by: Any, n_samples: int) -> pd.Series:
    """Return the value of each row that defines its group."""
    if isinstance(by, tuple) or np.ndim(by) == 0:
        table = table_of(X)
        if by not in table.columns:
            raise ValueError(
                f"by must be a column of X or an array with a group for each row; got {by!r}. "
                f"Columns: {list(table.columns)[:20]}"
            )
        return table[by]
    values = pd.Series(column_or_1d(by) if isinstance(by, np.ndarray | list) else by)
    if len(values) != n_samples:
        raise ValueError(f"by must have a group for each of {n_samples} rows; got {len(values)}")
    return values.reset_index(drop=True)


def _groups_of(values: pd.Series, n_bins: int) -> tuple[list[str], np.ndarray]:
    """Return the names of groups, and the code of each row; numbers are binned by quantiles."""
    is_number = pd.api.types.is_numeric_dtype(values) and not pd.api.types.is_bool_dtype(values)
    if is_number and not isinstance(values.dtype, pd.CategoricalDtype):
        values = values.astype(float).replace([np.inf, -np.inf], np.nan)
        if values.nunique() > _MAX_DISTINCT:
            values = pd.qcut(values, n_bins, duplicates="drop")
    if isinstance(values.dtype, pd.CategoricalDtype):
        values = values.cat.remove_unused_categories()
        names, codes = list(values.cat.categories), values.cat.codes.to_numpy()
    else:
        codes, found = pd.factorize(values, use_na_sentinel=True)
        order = _sorted(found)
        place = np.empty(len(order) + 1, dtype=int)
        place[order], place[-1] = np.arange(len(order)), -1  # the last is of the code -1
        names, codes = [found[k] for k in order], place[codes]
    shown = [f"{name:g}" if isinstance(name, float) else str(name) for name in names]
    is_missing = codes < 0
    if is_missing.any():
        codes = np.where(is_missing, len(shown), codes)
        shown.append(MISSING)
    return shown, codes


def _sorted(found: Any) -> list[int]:
    """Return the order of values, or of their texts if they have no common order."""
    places = range(len(found))
    try:
        return sorted(places, key=lambda k: found[k])
    except TypeError:
        return sorted(places, key=lambda k: str(found[k]))


# --- scores ---------------------------------------------------------------------------------------


class _Classification:
    """Scores of a classifier."""

    def __init__(self, estimator: Any, X: Rows, y: np.ndarray, confidence: float) -> None:
        self.z = float(norm.isf((1 - confidence) / 2))
        self.classes = np.asarray(estimator.classes_)
        self.is_right = np.asarray(estimator.predict(X)) == y
        self.is_class = y[:, None] == self.classes
        self.scores = self.proba = None
        if hasattr(estimator, "predict_proba"):
            self.scores = self.proba = np.asarray(estimator.predict_proba(X), dtype=float)
        elif hasattr(estimator, "decision_function"):
            scores = np.asarray(estimator.decision_function(X), dtype=float)
            self.scores = np.column_stack([-scores, scores]) if scores.ndim == 1 else scores

    def of(self, rows: np.ndarray) -> dict[str, float]:
        """Return the scores of some rows."""
        n = len(rows)
        accuracy = self.is_right[rows].mean() if n else math.nan
        return {
            "n_rows": n,
            **_with_limits("accuracy", accuracy, _wilson(accuracy, n, self.z)),
            **_with_limits("auc", *self._auc(rows)),
            **_mean_with_limits("calibration", self._off(rows), self.z),
        }

    def _auc(self, rows: np.ndarray) -> tuple[float, tuple[float, float]]:
        """Return the AUC and its limits; for many classes, the means over classes."""
        if self.scores is None:
            return math.nan, (math.nan, math.nan)
        codes = [1] if len(self.classes) == 2 else range(len(self.classes))
        found = []
        for code in codes:
            positive = self.is_class[rows, code]
            m, n = int(positive.sum()), int((~positive).sum())
            if m and n:
                ranks = rankdata(self.scores[rows, code])
                auc = (ranks[positive].sum() - m * (m + 1) / 2) / (m * n)
                found.append((auc, *_newcombe(auc, m, n, self.z)))
        if not found:
            return math.nan, (math.nan, math.nan)
        value, low, high = np.mean(found, axis=0)
        return float(value), (float(low), float(high))

    def _off(self, rows: np.ndarray) -> np.ndarray:
        """Return the probability minus the outcome of each row."""
        if self.proba is None:
            return np.array([])
        if len(self.classes) == 2:
            return self.proba[rows, 1] - self.is_class[rows, 1]
        return self.proba[rows].max(axis=1) - self.is_right[rows]


class _Regression:
    """Scores of a regressor."""

    def __init__(self, estimator: Any, X: Rows, y: np.ndarray, confidence: float) -> None:
        self.z = float(norm.isf((1 - confidence) / 2))
        self.confidence = confidence
        self.y = y.astype(float)
        self.predicted = np.asarray(estimator.predict(X), dtype=float)

    def of(self, rows: np.ndarray) -> dict[str, float]:
        """Return the scores of some rows."""
        off = self.predicted[rows] - self.y[rows]
        return {
            "n_rows": len(rows),
            **_with_limits("r2", *self._r2(rows)),
            **_mean_with_limits("mae", np.abs(off), self.z),
            **_mean_with_limits("bias", off, self.z),
        }

    def _r2(self, rows: np.ndarray) -> tuple[float, tuple[float, float]]:
        from sklearn.metrics import r2_score

        y, predicted = self.y[rows], self.predicted[rows]
        if len(np.unique(y)) < 2:
            return math.nan, (math.nan, math.nan)
        rng = np.random.default_rng(0)  # equal rows get equal intervals
        draws = (rng.integers(len(rows), size=len(rows)) for _ in range(_N_BOOTSTRAP))
        values = [r2_score(y[draw], predicted[draw]) for draw in draws if np.ptp(y[draw]) > 0]
        limits = np.quantile(values, [(1 - self.confidence) / 2, (1 + self.confidence) / 2])
        return float(r2_score(y, predicted)), (float(limits[0]), float(limits[1]))


def _with_limits(name: str, value: float, limits: tuple[float, float]) -> dict[str, float]:
    return {name: value, f"{name}_low": limits[0], f"{name}_high": limits[1]}


def _mean_with_limits(name: str, values: np.ndarray, z: float) -> dict[str, float]:
    """Return the mean and its normal interval; one value has no interval."""
    if not len(values):
        return _with_limits(name, math.nan, (math.nan, math.nan))
    mean = float(values.mean())
    error = values.std(ddof=1) / math.sqrt(len(values)) if len(values) > 1 else math.nan
    return _with_limits(name, mean, (float(mean - z * error), float(mean + z * error)))


def _wilson(share: float, n: int, z: float) -> tuple[float, float]:
    """Return the interval of Wilson for a share of n."""
    if not n:
        return math.nan, math.nan
    middle = share + z**2 / (2 * n)
    half = z * math.sqrt(share * (1 - share) / n + z**2 / (4 * n**2))
    return (middle - half) / (1 + z**2 / n), (middle + half) / (1 + z**2 / n)


def _newcombe(auc: float, m: int, n: int, z: float) -> tuple[float, float]:
    """Return the interval of an AUC of m positive and n negative rows: method 5 of Newcombe."""
    n_mean = (m + n) / 2 - 1

    def is_inside(theta: float) -> bool:
        factor = 1 + n_mean * ((1 - theta) / (2 - theta) + theta / (1 + theta))
        return (theta - auc) ** 2 <= z**2 * theta * (1 - theta) * factor / (m * n)

    limits = []
    for end in (0.0, 1.0):
        inside, outside = auc, end
        for _ in range(50):
            middle = (inside + outside) / 2
            if is_inside(middle):
                inside = middle
            else:
                outside = middle
        limits.append(inside)
    return limits[0], limits[1]
