"""GNMax after a noisy check of agreement: Confident and Interactive."""

import math
from abc import abstractmethod
from numbers import Integral, Real

import numpy as np
from scipy.special import log_ndtr

from .._sklearn import Interval
from ..rdp import Facts, checked_rdp, gaussian_rdp, gnmax_rdp, worst_case_rdp
from ..rdp.checks import check_votes
from ..secure import noise_generator
from .argmax import GNMax
from .base import POSITIVE, Aggregator


class _CheckedGNMax(Aggregator):
    """GNMax that answers only queries that pass a noisy check of the teachers' agreement."""

    _parameter_constraints = {"threshold": [POSITIVE], "sigma1": [POSITIVE], "sigma2": [POSITIVE]}

    def _facts_of_both_steps(self):
        self._validate_params()
        sigma1, sigma2 = float(self.sigma1), float(self.sigma2)
        argmax = GNMax(sigma2)

        def steps(orders, n_teachers, n_classes):
            answer = worst_case_rdp(argmax, orders, n_teachers=n_teachers, n_classes=n_classes)
            return checked_rdp(sigma1, np.zeros(len(answer)), orders), answer

        def rdp(orders, n_teachers, n_classes):
            _, answer = steps(orders, n_teachers, n_classes)
            return checked_rdp(sigma1, answer, orders)

        # The check and the answer of every query asked, as two Gaussian mechanisms
        gdp_mu = math.sqrt(1 / sigma1**2 + 2 / sigma2**2)
        symmetric = not self.uses_student_proba
        return Facts(gdp_mu=gdp_mu, rdp=rdp, steps=steps, label_symmetric=symmetric)

    @property
    def noise_std(self):
        """Standard deviation of the noise on each count of a query that passes, in votes."""
        return self.sigma2

    def outcome_log_proba(self, votes, student_proba=None):
        """Log probability of each class and of no answer."""
        self._validate_params()
        votes = check_votes(votes)
        excess = self._excess(votes, student_proba)[:, None]
        answer = GNMax(float(self.sigma2)).outcome_log_proba(votes)
        log_proba = np.hstack([answer + log_ndtr(excess), log_ndtr(-excess)])
        # Where a label is released if the check fails, that probability adds to the teachers' own
        labels = self._labels_if_failed(len(votes), student_proba)
        rows = np.flatnonzero(labels >= 0)
        column = labels[rows]
        log_proba[rows, column] = np.logaddexp(log_proba[rows, column], log_proba[rows, -1])
        log_proba[rows, -1] = -np.inf
        return log_proba

    def aggregate(self, votes, student_proba=None, random_state=None):
        """Draw the released label of each query; see `Aggregator.aggregate`."""
        return self.draw(votes, student_proba, random_state)[0]

    def draw(self, votes, student_proba=None, random_state=None):
        """Draw labels, and which queries passed the check; see `Aggregator.draw`."""
        self._validate_params()
        votes = check_votes(votes)
        rng = noise_generator(random_state)
        passes = self._excess(votes, student_proba) + rng.normal(size=len(votes)) >= 0
        answer = (votes + rng.normal(scale=float(self.sigma2), size=votes.shape)).argmax(axis=1)
        labels = np.where(passes, answer, self._labels_if_failed(len(votes), student_proba))
        return labels, passes

    def _published_of_both_steps(self, votes, orders, student_proba, paid):
        self._validate_params()
        votes = check_votes(votes)
        excess = self._excess(votes, student_proba)
        log_smaller = np.minimum(log_ndtr(excess), log_ndtr(-excess))
        check = gaussian_rdp(log_smaller, math.sqrt(2) * float(self.sigma1), orders)
        paid = np.ones(len(votes)) if paid is None else np.asarray(paid, dtype=float)
        return check + paid[:, None] * gnmax_rdp(votes, self.sigma2, orders)

    def _excess(self, votes, student_proba):
        """How far the agreement is above the threshold, in units of its noise."""
        threshold = float(self.threshold)
        if not isinstance(self.threshold, Integral) and len(votes):
            threshold *= votes[0].sum()  # a share of the teachers
        return (self._agreement(votes, student_proba) - threshold) / float(self.sigma1)

    def _validate_params(self):
        super()._validate_params()
        if not isinstance(self.threshold, Integral) and self.threshold > 1:
            raise ValueError(
                f"threshold={self.threshold!r} is above 1: give {round(self.threshold)}, or a share"
            )

    @abstractmethod
    def _agreement(self, votes, student_proba):
        """Return what the check looks at: a number that one teacher changes by at most 1."""

    @abstractmethod
    def _labels_if_failed(self, n_queries, student_proba):
        """Return the labels of the queries if they fail the check, -1 for no answer."""


class ConfidentGNMax(_CheckedGNMax):
    """GNMax that answers only if many teachers agree: the 2018 paper's Algorithm 1.

    A query passes if its largest vote count plus noise reaches the threshold. Check and answer are
    one mechanism, with "no answer" among its outcomes. Every query asked is paid for, answered or
    not.

    Parameters
    ----------
    threshold : int or float
        Votes that the most popular class needs: a whole number of votes, at most the number of
        teachers, or a share of them as a float in (0, 1].
    sigma1 : float
        Standard deviation of the noise on the largest count, in votes.
    sigma2 : float
        Standard deviation of the noise on each count of a query that passes, in votes.

    References
    ----------
    Papernot et al. (2018), ICLR, Section 4.2 and Algorithm 1.

    Examples
    --------
    >>> from sklearn_pate.aggregators import ConfidentGNMax
    >>> confident = ConfidentGNMax(threshold=0.8, sigma1=10.0, sigma2=5.0)
    >>> confident.aggregate([[240, 10], [130, 120]], random_state=0)
    array([ 0, -1])
    """

    def __init__(self, threshold, sigma1, sigma2):
        self.threshold = threshold
        self.sigma1 = sigma1
        self.sigma2 = sigma2

    def facts(self):
        """Return the cost of check and answer as one mechanism; see `rdp.checked_rdp`.

        One teacher changes the largest count by at most 1.
        """
        return self._facts_of_both_steps()

    def published_rdp(self, votes, orders, student_proba=None, paid=None):
        """The 2018 paper's bounds: `rdp.threshold_rdp`, plus `rdp.gnmax_rdp` where paid."""
        return self._published_of_both_steps(votes, orders, student_proba, paid)

    def _agreement(self, votes, student_proba):
        return votes.max(axis=1)

    def _labels_if_failed(self, n_queries, student_proba):
        return np.full(n_queries, -1)


class InteractiveGNMax(_CheckedGNMax):
    """GNMax that answers where teachers contradict the student: the 2018 paper's Algorithm 2.

    A query passes if some class has many more votes than the student expects,
    ``max_j(n_j - n_teachers * p_j)`` plus noise reaching the threshold: then teachers answer. If
    not, and the student is confident, its own label is released, at the cost of the check; else
    none. It needs a student: use it after another stage.

    Parameters
    ----------
    threshold : int or float
        Votes above the student's expectation that some class needs: a whole number of votes, or a
        share of the teachers as a float in (0, 1].
    sigma1 : float
        Standard deviation of the noise on what is checked, in votes.
    sigma2 : float
        Standard deviation of the noise on each count of a query that passes, in votes.
    confidence : float
        Probability of the student's label above which it is released, in [0, 1).

    References
    ----------
    Papernot et al. (2018), ICLR, Section 4.3 and Algorithm 2.

    Examples
    --------
    >>> from sklearn_pate.aggregators import InteractiveGNMax
    >>> interactive = InteractiveGNMax(0.5, sigma1=5.0, sigma2=5.0, confidence=0.9)
    >>> student = [[0.05, 0.95], [0.95, 0.05], [0.6, 0.4]]
    >>> interactive.aggregate([[240, 10]] * 3, student, random_state=0)
    array([ 0,  0, -1])
    """

    uses_student_proba = True

    _parameter_constraints = {
        **_CheckedGNMax._parameter_constraints,
        "confidence": [Interval(Real, 0, 1, closed="left")],
    }

    def __init__(self, threshold, sigma1, sigma2, confidence):
        self.threshold = threshold
        self.sigma1 = sigma1
        self.sigma2 = sigma2
        self.confidence = confidence

    def facts(self):
        """Return the cost of check and answer as one mechanism; see `rdp.checked_rdp`.

        One teacher changes the number of votes above the student's expectation by at most 1.
        """
        return self._facts_of_both_steps()

    def published_rdp(self, votes, orders, student_proba=None, paid=None):
        """The 2018 paper's bounds: `rdp.threshold_rdp`, plus `rdp.gnmax_rdp` where paid."""
        return self._published_of_both_steps(votes, orders, student_proba, paid)

    def _agreement(self, votes, student_proba):
        n_teachers = votes[:1].sum()
        return (votes - n_teachers * _check_proba(student_proba, votes.shape)).max(axis=1)

    def _labels_if_failed(self, n_queries, student_proba):
        proba = np.asarray(student_proba, dtype=float)
        return np.where(proba.max(axis=1) > self.confidence, proba.argmax(axis=1), -1)


def _check_proba(student_proba, shape):
    """Return the student's probabilities; each row must be a distribution."""
    proba = np.asarray(np.nan if student_proba is None else student_proba, dtype=float)
    sums_to_1 = proba.shape == shape and np.allclose(proba.sum(axis=1), 1)
    if not sums_to_1 or (proba < 0).any():
        got = "None" if student_proba is None else f"shape {proba.shape}"
        raise ValueError(
            f"student_proba must hold the student's probabilities, shape {shape}, rows that sum to "
            f"1; got {got}"
        )
    return proba
