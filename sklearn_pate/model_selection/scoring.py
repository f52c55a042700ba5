"""How trials are scored: on public rows, or on private rows that were held out, with noise."""

import numpy as np
from sklearn.dummy import DummyClassifier
from sklearn.metrics import check_scoring
from sklearn.utils import indexable

from .._sklearn import _safe_indexing
from ..fitting.planning import check_scored
from ..isolation import attempt, copied_data, copier, isolated, own_rows
from ..public import indexable_rows
from ..rdp import DEFAULT_ORDERS
from .calibration import fit_rdp
from .candidates import student_key


class PublicScorer:
    """Scores on public rows, at no cost.

    Parameters
    ----------
    X : array-like with n_val rows
        Public rows.
    y : array-like of shape (n_val,)
        Their labels.
    scorer : callable
        ``scorer(estimator, X, y)``, as scikit-learn has them.
    """

    def __init__(self, X, y, scorer):
        self._X = X
        self._y = y
        self._scorer = scorer

    @classmethod
    def checked(cls, estimator, scoring, X_val, y_val, X_public):
        """Return a scorer, after it was tried on rows that are checked to suit the estimator."""
        _check_validation_rows(X_val, y_val, X_public)
        X_val, y_val = indexable(X_val, y_val)
        unknown = set(np.unique(y_val).tolist()) - set(np.unique(estimator.classes).tolist())
        if unknown:
            raise ValueError(f"y_val has labels that are not in classes: {sorted(unknown)}")
        scorer = check_scoring(estimator, scoring)
        try:
            scorer(DummyClassifier(strategy="prior").fit(X_val, y_val), X_val, y_val)
        except Exception as error:
            raise ValueError(
                f"scoring={scoring!r} failed when tried on X_val and y_val, before anything "
                f"was spent. {type(error).__name__}: {error}"
            ) from error
        return cls(X_val, y_val, scorer)

    def rdp(self, plan):
        """Return the Renyi cost of one trial, at `rdp.DEFAULT_ORDERS`."""
        return fit_rdp(plan)

    def check(self, candidates, X_public, plans):
        """Do nothing: any student can be scored on public rows."""

    def score(self, estimator, plan):
        """Return the score of a fitted estimator."""
        with isolated(0):  # what a scorer draws would tell how many trials there were
            return float(self._scorer(estimator, self._X, self._y))


def _check_validation_rows(X_val, y_val, X_public):
    """Refuse rows that are missing, or that differ from the public ones in form."""
    if X_val is None or y_val is None:
        raise ValueError("X_val and y_val belong together: public rows and their labels")
    columns = list(getattr(X_val, "columns", []))
    public_columns = list(getattr(X_public, "columns", []))
    same_shape = np.shape(X_val)[1:] == np.shape(X_public)[1:]
    if len(y_val) == 0 or not same_shape or columns != public_columns:
        raise ValueError(
            "X_val must have rows with the features of X_public; got shapes "
            f"{np.shape(X_val)} and {np.shape(X_public)}, columns {columns} and {public_columns}"
        )


class PrivateScorer:
    """Scores on held-out private rows: a noisy number of units predicted right.

    A unit is a record, or all rows of one identifier or group; it adds the share of its rows that
    are predicted right, at most 1. So that it changes nothing else, each unit is predicted by
    itself, by a fresh copy of the student: a student may look at the rows beside it, draw random
    numbers or remember what it saw.

    Parameters
    ----------
    X : array-like with n_samples rows
        Private rows.
    codes : ndarray of shape (n_samples,)
        Their labels.
    units : sequence of ndarray of int
        Rows of each unit that is scored.
    rng : numpy.random.Generator
        Source of the noise.
    """

    def __init__(self, X, codes, units, rng):
        self._X = indexable_rows(X, "X")
        self._codes = codes
        self._units = units
        self._rng = rng

    def rdp(self, plan):
        """Return the Renyi cost of one trial with its score, at `rdp.DEFAULT_ORDERS`."""
        score_rdp = DEFAULT_ORDERS / (2 * self.noise_scale(plan) ** 2)
        # A record is in one part: it changes either the model or the score
        return np.maximum(fit_rdp(plan), score_rdp)

    def noise_scale(self, plan):
        """Return the noise scale of a score, in units, so that it costs no more than the fit."""
        matters = DEFAULT_ORDERS < 64  # epsilon seldom comes from higher orders
        variances = DEFAULT_ORDERS[matters] / (2 * fit_rdp(plan)[matters])
        return float(np.sqrt(np.max(variances)))

    def check(self, candidates, X_public, plans):
        """Refuse students whose prediction for a public row depends on the rows beside it."""
        checked = set()
        for candidate, plan in zip(candidates, plans, strict=True):
            key = student_key(candidate.estimator)
            if key not in checked and plan.n_queries > 1:
                check_scored(candidate.estimator, X_public, plan.n_queries)
                checked.add(key)

    def score(self, estimator, plan):
        """Return the score of a fitted estimator."""
        return self._with_noise(self._n_right(estimator), plan)

    def _with_noise(self, n_right, plan):
        noise = self._rng.normal(scale=self.noise_scale(plan))
        return float(round(n_right + noise))  # low digits of a float could give the sum away

    def _n_right(self, estimator):
        """Return the number of units predicted right, as a sum of shares: private."""
        fresh_student = copier(estimator.student_)
        return sum(self._share_right(fresh_student, rows) for rows in self._units)

    def _share_right(self, fresh_student, rows):
        """Return the share of a unit's rows predicted right; what cannot be predicted is wrong."""

        def share_right():
            with isolated(0):
                unit = copied_data(own_rows(self._X, rows, _safe_indexing))
                predicted = np.asarray(fresh_student().predict(unit))
                if predicted.shape != rows.shape:
                    return 0.0
                return float(np.mean(predicted.astype(np.intp) == self._codes[rows]))

        share, failed = attempt(share_right)
        return share if failed is None else 0.0
