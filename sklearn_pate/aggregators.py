"""The mechanisms that turn vote counts into released labels, each by its outcome distribution."""

import math
from abc import ABCMeta, abstractmethod
from numbers import Integral, Real

import numpy as np
from scipy.special import log_ndtr, logsumexp
from sklearn.base import BaseEstimator

from ._sklearn import Interval, StrOptions
from .rdp import (
    DEFAULT_ORDERS,
    Cost,
    DiscreteGaussian,
    DiscreteLaplace,
    Exponential,
    Gaussian,
    Laplace,
    check_log_proba,
    check_orders,
    check_votes,
    checked_rdp,
    gaussian_rdp,
    gnmax_rdp,
    laplace_rdp,
    lnmax_rdp,
    pure_rdp,
    query_cost,
    worst_case_rdp,
)

__all__ = [
    "Aggregator",
    "ConfidentGNMax",
    "ExponentialNMax",
    "GNMax",
    "ImmutableArgmax",
    "InteractiveGNMax",
    "LNMax",
    "PluralityVote",
    "SoftVote",
    "StableArgmax",
]


class Aggregator(BaseEstimator, metaclass=ABCMeta):
    """Base class: a mechanism is a distribution over outcomes given vote counts.

    A subclass writes `outcome_log_proba`; sampling, exact cost and, for two classes, the guarantee
    follow from it. A mechanism whose cost is known for every data set also overrides `gdp_mu` or
    `pure_epsilon`; without either its epsilon is infinite for more than two classes. A subclass
    that writes `outcome_log_proba` or `aggregate` inherits no claims: neither costs nor symmetry.
    Parameters follow scikit-learn's conventions (`get_params`, `clone`).
    """

    _parameter_constraints: dict = {}

    def __init_subclass__(cls, **kwargs):
        """Forget claims about what a subclass changes: it must state its own."""
        super().__init_subclass__(**kwargs)
        if {"outcome_log_proba", "aggregate"} & vars(cls).keys():
            claims = {
                *("label_symmetric", "argmax_noise", "gdp_mu", "pure_epsilon"),
                *("known_rdp", "costs", "steps", "draw", "published_rdp"),
            }
            for name in claims - vars(cls).keys():
                setattr(cls, name, vars(Aggregator)[name])

    #: Whether permuting the vote counts permutes the outcome probabilities and nothing else, so
    #: that costs depend on the sorted counts only. Ties broken by class number are not symmetric.
    label_symmetric = False

    #: Whether the outcomes depend on `student_proba`: then no list of votes covers all cases, and
    #: only `gdp_mu` and `pure_epsilon` are guarantees.
    uses_student_proba = False

    #: Whether teachers give class probabilities, whose sums take the place of vote counts.
    wants_proba = False

    #: Name of the noise parameter that may be None, to be calibrated by `PATEClassifier`.
    calibrates: str | None = None

    #: Why the guarantee is not what a reader may expect; `PATEClassifier` warns with it.
    caveat: str | None = None

    #: `rdp.Noise` on every count, for mechanisms that release the argmax of the noisy counts and
    #: nothing else; else None.
    argmax_noise = None

    @abstractmethod
    def outcome_log_proba(self, votes, student_proba=None):
        """Log probability of each outcome.

        Parameters
        ----------
        votes : array-like of shape (n_queries, n_classes)
            Vote counts; each row sums to the number of teachers.
        student_proba : array-like of shape (n_queries, n_classes), default=None
            The student's probabilities, for mechanisms that use them.

        Returns
        -------
        ndarray of shape (n_queries, n_outcomes)
            One column per class and, for mechanisms that may refuse, a last one for "no answer".

        Raises
        ------
        ValueError
            For negative counts, rows with different totals or parameters out of range.
        """

    def aggregate(self, votes, student_proba=None, random_state=None):
        """Draw the released label of each query.

        Parameters
        ----------
        votes : array-like of shape (n_queries, n_classes)
            Vote counts; each row sums to the number of teachers.
        student_proba : array-like of shape (n_queries, n_classes), default=None
            The student's probabilities, for mechanisms that use them.
        random_state : int, SeedSequence, Generator or None, default=None
            Source of the noise; None draws from the operating system's entropy.

        Returns
        -------
        ndarray of shape (n_queries,), int
            Class codes, -1 for "no answer".

        Raises
        ------
        ValueError
            For negative counts, rows with different totals or parameters out of range.
        """
        votes = check_votes(votes)
        log_proba = check_log_proba(self.outcome_log_proba(votes, student_proba))
        gumbel = np.random.default_rng(random_state).gumbel(size=log_proba.shape)
        outcomes = (log_proba + gumbel).argmax(axis=1)
        return np.where(outcomes < votes.shape[1], outcomes, -1)

    def draw(self, votes, student_proba=None, random_state=None):
        """Draw labels, and which of them were paid for in full.

        Parameters
        ----------
        votes, student_proba, random_state
            As in `aggregate`.

        Returns
        -------
        labels : ndarray of shape (n_asked,), int
            As `aggregate`; shorter than `votes` if the mechanism stopped by itself.
        paid : ndarray of shape (n_asked,), bool
            False where a check refused the query, so that no answer was drawn from the votes.
        """
        labels = self.aggregate(votes, student_proba, random_state)
        return labels, np.ones(len(labels), dtype=bool)

    def steps(self, orders, n_teachers=None, n_classes=None):
        """Renyi cost of one query on any votes, in two steps of which the second may not happen.

        Parameters
        ----------
        orders : ndarray of shape (n_orders,)
            Renyi orders, above 1.
        n_teachers, n_classes : int, default=None
            Public numbers; None means any number.

        Returns
        -------
        check, answer : ndarray of shape (n_orders,)
            A query whose answer is not `paid` costs `check` alone. None instead of both for a
            mechanism whose queries share their cost.
        """
        orders = check_orders(orders)
        return np.zeros(orders.size), worst_case_rdp(self, orders, n_teachers, n_classes)

    @property
    def gdp_mu(self):
        """Gaussian-DP parameter of one query on any votes; inf if it is not Gaussian DP."""
        return math.inf

    @property
    def pure_epsilon(self):
        """Pure epsilon (delta = 0) of one query on any votes; inf if there is none."""
        return math.inf

    def known_rdp(self, orders, n_teachers=None, n_classes=None):
        """Renyi cost of one query on any votes that the other claims do not imply.

        Parameters
        ----------
        orders : ndarray of shape (n_orders,)
            Renyi orders, above 1.
        n_teachers, n_classes : int, default=None
            Public numbers; None means any number.

        Returns
        -------
        ndarray of shape (n_orders,)
            inf where nothing is known.
        """
        return np.full(len(orders), np.inf)

    def costs(self, orders=DEFAULT_ORDERS, n_teachers=None, n_classes=None):
        """Return a function from a number of queries to their `rdp.Cost` on any votes.

        Parameters
        ----------
        orders : array-like of shape (n_orders,), default=DEFAULT_ORDERS
            Renyi orders, above 1.
        n_teachers, n_classes : int, default=None
            Public numbers that make it sharper.

        Returns
        -------
        callable
            From a number of queries asked, answered or not, to `rdp.Cost`.
        """
        return query_cost(self, orders, n_teachers, n_classes).times

    def published_rdp(self, votes, orders, student_proba=None, paid=None):
        """The bound its paper prints: data-dependent, one direction, private.

        Parameters
        ----------
        votes : array-like of shape (n_queries, n_classes)
            Vote counts.
        orders : array-like of shape (n_orders,)
            Renyi orders, above 1.
        student_proba : array-like of shape (n_queries, n_classes), default=None
            The student's probabilities, for mechanisms that use them.
        paid : array-like of shape (n_queries,), bool, default=None
            As drawn by `draw`; None counts every query in full.

        Returns
        -------
        ndarray of shape (n_queries, n_orders)
            Renyi costs; inf for a mechanism without a published bound.
        """
        return np.full((len(check_votes(votes)), check_orders(orders).size), np.inf)


class PluralityVote(Aggregator):
    """The class with most votes, ties to the lowest code. No noise, no privacy: epsilon = inf.

    For comparisons only.

    Examples
    --------
    >>> from sklearn_pate.aggregators import PluralityVote
    >>> PluralityVote().aggregate([[1, 5, 4], [5, 5, 0]])
    array([1, 0])
    """

    def outcome_log_proba(self, votes, student_proba=None):
        """Log probability of each class: 0 for the plurality, else -inf."""
        votes = check_votes(votes)
        chosen = votes.argmax(axis=1)[:, None] == np.arange(votes.shape[1])
        return np.where(chosen, 0.0, -np.inf)


class _NoisyArgmax(Aggregator):
    """The class with the largest count after independent noise on every count."""

    noise = "continuous"  # a parameter of those that may also be discrete

    @property
    def label_symmetric(self):
        """Whether ties are impossible: they go to the lowest code."""
        return self.noise == "continuous"

    @property
    @abstractmethod
    def argmax_noise(self):
        """The noise on each count, None if discrete; see `Aggregator.argmax_noise`."""

    def _discrete_noise(self):
        raise NotImplementedError

    @property
    def _noise(self):
        return self.argmax_noise or self._discrete_noise()

    def outcome_log_proba(self, votes, student_proba=None):
        """Log probability of each class; see `log_argmax` of the noise in `rdp`."""
        return self._noise.log_argmax(check_votes(votes))

    def aggregate(self, votes, student_proba=None, random_state=None):
        """Draw the released label of each query; see `Aggregator.aggregate`."""
        noise, votes = self._noise, check_votes(votes)
        noisy = votes + noise.sample(np.random.default_rng(random_state), votes.shape)
        return noisy.argmax(axis=1)

    @property
    def gdp_mu(self):
        """Gaussian-DP parameter of one query on any votes; inf if it is not Gaussian DP."""
        return self._noise.mu

    @property
    def pure_epsilon(self):
        """Pure epsilon of one query on any votes; inf if there is none without more knowledge."""
        return self._noise.pure_epsilon


class LNMax(_NoisyArgmax):
    """Argmax of the votes after Laplace noise: the 2017 paper's mechanism.

    Parameters
    ----------
    gamma : float or None, default=0.05
        Inverse scale: every count gets Laplace noise of scale ``1 / gamma`` votes. Above 0; a
        smaller gamma is more private. One query is ``2 * gamma``-differentially private. None:
        calibrated by `PATEClassifier` so that its queries cost exactly its `epsilon`.
    noise : {"continuous", "discrete"}, default="continuous"
        "discrete" is noise on the whole numbers with probabilities proportional to
        ``exp(-gamma * abs(x))``, sampled exactly, so that no rounding of floats weakens the
        guarantee; ties go to the lowest class code. Its `gamma` is not calibrated.

    References
    ----------
    Papernot et al. (2017), ICLR, Section 3.1 and Theorem 3. Discrete noise: Canonne, Kamath,
    Steinke (2020), NeurIPS.

    Examples
    --------
    >>> from sklearn_pate.aggregators import LNMax
    >>> LNMax(gamma=0.05).aggregate([[240, 10]], random_state=0)
    array([0])
    >>> LNMax(gamma=0.05).pure_epsilon
    0.1
    """

    calibrates = "gamma"

    _parameter_constraints = {
        "gamma": [Interval(Real, 0, None, closed="neither"), None],
        "noise": [StrOptions({"continuous", "discrete"})],
    }

    def __init__(self, gamma=0.05, noise="continuous"):
        self.gamma = gamma
        self.noise = noise

    @property
    def argmax_noise(self):
        """Laplace noise of scale ``1 / gamma``; None if it is discrete."""
        self._validate_params()
        _check_calibrated(self, "gamma")
        return Laplace(1 / float(self.gamma)) if self.noise == "continuous" else None

    def _discrete_noise(self):
        return DiscreteLaplace(float(self.gamma))

    def published_rdp(self, votes, orders, student_proba=None, paid=None):
        """The 2017 paper's data-dependent bound, inf with discrete noise; see `rdp.lnmax_rdp`."""
        if self.argmax_noise is None:
            return super().published_rdp(votes, orders)
        return lnmax_rdp(votes, self.gamma, orders)


class ExponentialNMax(_NoisyArgmax):
    """Argmax of the votes after one-sided exponential noise, also known as permute-and-flip.

    Parameters
    ----------
    gamma : float, default=0.05
        Inverse scale: every count gets exponential noise of scale ``1 / gamma`` votes, half the
        variance of `LNMax`. Above 0; a smaller gamma is more private. One query is
        ``2 * gamma``-differentially private.

    Notes
    -----
    With more than two classes its Renyi cost on any votes is that of a pure mechanism,
    `rdp.pure_rdp`: the smaller cost of the exponential mechanism, ``a (2 gamma)**2 / 8``, is not
    proved for it. At equal gamma it costs more than `LNMax`; compare at equal accuracy.

    References
    ----------
    McKenna, Sheldon (2020). Permute-and-flip. NeurIPS. Ding et al. (2021). The permute-and-flip
    mechanism is identical to report-noisy-max with exponential noise. arXiv:2105.07260.

    Examples
    --------
    >>> from sklearn_pate.aggregators import ExponentialNMax
    >>> ExponentialNMax(gamma=0.05).aggregate([[240, 10]], random_state=0)
    array([0])
    >>> ExponentialNMax(gamma=0.05).pure_epsilon
    0.1
    """

    _parameter_constraints = {"gamma": [Interval(Real, 0, None, closed="neither")]}

    def __init__(self, gamma=0.05):
        self.gamma = gamma

    @property
    def argmax_noise(self):
        """Exponential noise of scale ``1 / gamma``."""
        self._validate_params()
        return Exponential(1 / float(self.gamma))


class GNMax(_NoisyArgmax):
    """Argmax of the votes after Gaussian noise: the 2018 paper's mechanism.

    Parameters
    ----------
    sigma : float or None, default=40.0
        Standard deviation of the noise on each count, in votes; above 0, larger is more private.
        None: calibrated by `PATEClassifier` so that its queries cost exactly its `epsilon`.
    noise : {"continuous", "discrete"}, default="continuous"
        "discrete" is noise on the whole numbers with probabilities proportional to
        ``exp(-x**2 / (2 * sigma**2))``, sampled exactly, so that no rounding of floats weakens the
        guarantee; ties go to the lowest class code. It costs order / sigma**2 per query, has no
        Gaussian-DP composition, and its `sigma` is not calibrated.

    References
    ----------
    Papernot et al. (2018), ICLR, Section 4.1. Discrete noise: Canonne, Kamath, Steinke (2020),
    NeurIPS.

    Examples
    --------
    >>> from sklearn_pate.aggregators import GNMax
    >>> GNMax(sigma=40.0).aggregate([[240, 10]], random_state=0)
    array([0])
    >>> import numpy as np
    >>> np.exp(GNMax(sigma=40.0).outcome_log_proba([[130, 120], [250, 0]])).round(4)
    array([[0.5702, 0.4298],
           [1.    , 0.    ]])
    """

    calibrates = "sigma"

    _parameter_constraints = {
        "sigma": [Interval(Real, 0, None, closed="neither"), None],
        "noise": [StrOptions({"continuous", "discrete"})],
    }

    def __init__(self, sigma=40.0, noise="continuous"):
        self.sigma = sigma
        self.noise = noise

    @property
    def argmax_noise(self):
        """Gaussian noise of standard deviation `sigma`; None if it is discrete."""
        self._validate_params()
        _check_calibrated(self, "sigma")
        return Gaussian(float(self.sigma)) if self.noise == "continuous" else None

    def _discrete_noise(self):
        return DiscreteGaussian(float(self.sigma))

    def known_rdp(self, orders, n_teachers=None, n_classes=None):
        """With discrete noise, order over the square of `sigma`: two counts change by one."""
        if self.argmax_noise is None:
            return np.asarray(orders) / float(self.sigma) ** 2
        return super().known_rdp(orders, n_teachers, n_classes)

    def published_rdp(self, votes, orders, student_proba=None, paid=None):
        """The 2018 paper's data-dependent bound, inf with discrete noise; see `rdp.gnmax_rdp`."""
        if self.argmax_noise is None:
            return super().published_rdp(votes, orders)
        return gnmax_rdp(votes, self.sigma, orders)


class _CheckedGNMax(Aggregator):
    """GNMax that answers only queries that pass a noisy check of the teachers' agreement."""

    _parameter_constraints = {
        "threshold": [Interval(Real, 0, None, closed="neither")],
        "sigma1": [Interval(Real, 0, None, closed="neither")],
        "sigma2": [Interval(Real, 0, None, closed="neither")],
    }

    @property
    def gdp_mu(self):
        """``sqrt(1 / sigma1**2 + 2 / sigma2**2)``: check and answer of every query asked."""
        self._validate_params()
        return math.sqrt(1 / float(self.sigma1) ** 2 + 2 / float(self.sigma2) ** 2)

    def known_rdp(self, orders, n_teachers=None, n_classes=None):
        """Check and answer as one mechanism; see `rdp.checked_rdp`."""
        self._validate_params()
        answer = worst_case_rdp(GNMax(self.sigma2), orders, n_teachers, n_classes)
        return checked_rdp(self.sigma1, answer, orders)

    def steps(self, orders, n_teachers=None, n_classes=None):
        """Cost of the check, and of the answer; see `Aggregator.steps`."""
        self._validate_params()
        answer = worst_case_rdp(GNMax(self.sigma2), orders, n_teachers, n_classes)
        return checked_rdp(self.sigma1, np.zeros(len(answer)), orders), answer

    def outcome_log_proba(self, votes, student_proba=None):
        """Log probability of each class and of no answer."""
        self._validate_params()
        votes = check_votes(votes)
        excess = self._excess(votes, student_proba)[:, None]
        answer = GNMax(self.sigma2).outcome_log_proba(votes)
        log_proba = np.hstack([answer + log_ndtr(excess), log_ndtr(-excess)])
        other = self._otherwise(len(votes), student_proba)
        rows = np.flatnonzero(other >= 0)
        log_proba[rows, other[rows]] = np.logaddexp(
            log_proba[rows, other[rows]], log_proba[rows, -1]
        )
        log_proba[rows, -1] = -np.inf
        return log_proba

    def aggregate(self, votes, student_proba=None, random_state=None):
        """Draw the released label of each query; see `Aggregator.aggregate`."""
        return self.draw(votes, student_proba, random_state)[0]

    def draw(self, votes, student_proba=None, random_state=None):
        """Draw labels, and which queries passed the check; see `Aggregator.draw`."""
        self._validate_params()
        votes, rng = check_votes(votes), np.random.default_rng(random_state)
        passes = self._excess(votes, student_proba) + rng.normal(size=len(votes)) >= 0
        answer = (votes + rng.normal(scale=self.sigma2, size=votes.shape)).argmax(axis=1)
        return np.where(passes, answer, self._otherwise(len(votes), student_proba)), passes

    def published_rdp(self, votes, orders, student_proba=None, paid=None):
        """The 2018 paper's bounds: `rdp.threshold_rdp`, plus `rdp.gnmax_rdp` where paid."""
        self._validate_params()
        votes = check_votes(votes)
        check = gaussian_rdp(
            _log_smaller(self._excess(votes, student_proba)), math.sqrt(2) * self.sigma1, orders
        )
        paid = np.ones(len(votes)) if paid is None else np.asarray(paid, dtype=float)
        return check + paid[:, None] * gnmax_rdp(votes, self.sigma2, orders)

    def _excess(self, votes, student_proba):
        """What is compared with the threshold, relative to it, in units of its noise."""
        threshold = float(self.threshold)
        if not isinstance(self.threshold, Integral):
            threshold *= votes[0].sum() if len(votes) else 1
        return (self._agreement(votes, student_proba) - threshold) / self.sigma1

    def _validate_params(self):
        super()._validate_params()
        if not isinstance(self.threshold, Integral) and self.threshold > 1:
            raise ValueError(
                f"threshold={self.threshold!r} is a float above 1: give a number of votes as a "
                f"whole number, threshold={round(self.threshold)}, or a share of the teachers as "
                "a float in (0, 1]"
            )

    @abstractmethod
    def _agreement(self, votes, student_proba):
        """What the check looks at: a number that one teacher changes by at most 1."""

    @abstractmethod
    def _otherwise(self, n_queries, student_proba):
        """Labels of the queries that fail the check."""


class ConfidentGNMax(_CheckedGNMax):
    """GNMax that answers only if many teachers agree: the 2018 paper's Algorithm 1.

    A query passes if its largest vote count plus noise reaches the threshold. Check and answer are
    one mechanism, with "no answer" among its outcomes. Every query asked is paid for, answered or
    not.

    Parameters
    ----------
    threshold : int or float
        Votes that the most popular class needs: a whole number of votes, or a share of the teachers
        as a float in (0, 1].
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

    label_symmetric = True

    def __init__(self, threshold, sigma1, sigma2):
        self.threshold = threshold
        self.sigma1 = sigma1
        self.sigma2 = sigma2

    def _agreement(self, votes, student_proba):
        return votes.max(axis=1)

    def _otherwise(self, n_queries, student_proba):
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

    def _agreement(self, votes, student_proba):
        n_teachers = votes[:1].sum()
        return (votes - n_teachers * _check_proba(student_proba, votes.shape)).max(axis=1)

    def _otherwise(self, n_queries, student_proba):
        proba = np.asarray(student_proba, dtype=float)
        return np.where(proba.max(axis=1) > self.confidence, proba.argmax(axis=1), -1)


class ImmutableArgmax(Aggregator):
    """Noisy argmax that adds a constant to the top count ("near-zero-cost"): **not private**.

    The constant makes the noise almost never change the answer, so the answer is almost the plain
    argmax. Where two neighbouring data sets have different argmaxes (a tie will do), both answer
    almost surely differently: the cost of a query grows with the constant without bound. The paper
    claims a cost near zero by looking only at queries whose top two counts are more than 2 votes
    apart, but which queries those are is private. For comparison only; `StableArgmax` is the sound
    way.

    Parameters
    ----------
    constant : float, default=None
        Votes added to the top count, at least 0; inf is the plain argmax. None is the paper's
        choice for `failure_probability`: ``log(n_classes / failure_probability) / gamma`` or
        ``sqrt(2 * sigma**2 * log(2 * n_classes / failure_probability))``.
    gamma : float, default=None
        Laplace noise of scale ``1 / gamma`` votes. Give either `gamma` or `sigma`.
    sigma : float, default=None
        Gaussian noise of standard deviation `sigma` votes.
    failure_probability : float, default=0.01
        Probability of another answer than the argmax for which `constant` is chosen.

    Examples
    --------
    >>> from sklearn_pate.aggregators import ImmutableArgmax
    >>> from sklearn_pate.rdp import data_independent_epsilon
    >>> immutable = ImmutableArgmax(gamma=0.05)
    >>> immutable.aggregate([[126, 124], [124, 126]], random_state=0)
    array([0, 1])
    >>> data_independent_epsilon(immutable, 1, 1e-5, n_teachers=250, n_classes=2)[0] > 4
    True
    """

    _parameter_constraints = {
        "constant": [Interval(Real, 0, None, closed="both"), None],
        "gamma": [Interval(Real, 0, None, closed="neither"), None],
        "sigma": [Interval(Real, 0, None, closed="neither"), None],
        "failure_probability": [Interval(Real, 0, 1, closed="neither")],
    }

    caveat = (
        "it adds a constant to the top count, so neighbouring data sets whose top classes differ "
        "are told apart almost surely; privacy_spent_ holds its true cost, and the paper's figure "
        "near zero is a claim about other data sets. StableArgmax is the private way"
    )

    def __init__(self, constant=None, *, gamma=None, sigma=None, failure_probability=0.01):
        self.constant = constant
        self.gamma = gamma
        self.sigma = sigma
        self.failure_probability = failure_probability

    def outcome_log_proba(self, votes, student_proba=None):
        """Log probability of each class: of a noisy argmax with the constant added."""
        raised = self._raised(votes)
        if np.isinf(raised).any():
            return np.where(np.isinf(raised), 0.0, -np.inf)
        return self._noise.log_argmax(raised)

    def aggregate(self, votes, student_proba=None, random_state=None):
        """Draw the released label of each query; see `Aggregator.aggregate`."""
        raised = self._raised(votes)
        noise = self._noise.sample(np.random.default_rng(random_state), raised.shape)
        return (raised + noise).argmax(axis=1)

    def known_rdp(self, orders, n_teachers=None, n_classes=None):
        """True cost: two counts change by up to ``1 + constant`` each."""
        noise = self._noise
        if self.constant is None and n_classes is None:
            return np.full(len(orders), np.inf)
        change = 1 + self._added(n_classes)
        if noise.mu < math.inf:
            with np.errstate(over="ignore"):
                return np.asarray(orders) * np.square(np.float64(noise.mu * change)) / 2
        pure = noise.pure_epsilon * change
        return pure_rdp(pure, orders) if pure < math.inf else np.full(len(orders), np.inf)

    def qualified(self, votes):
        """Queries to which the paper's claim applies: top two counts more than 2 apart. Private.

        Parameters
        ----------
        votes : array-like of shape (n_queries, n_classes)
            Vote counts.

        Returns
        -------
        ndarray of shape (n_queries,), bool
        """
        top_two = np.sort(check_votes(votes), axis=1)[:, -2:]
        return top_two[:, 1] - top_two[:, 0] > 2

    def claimed_rdp(self, votes, orders):
        """What the paper claims: the noise's published bound at the raised counts. Not a bound.

        Parameters
        ----------
        votes : array-like of shape (n_queries, n_classes)
            Vote counts.
        orders : array-like of shape (n_orders,)
            Renyi orders, above 1.

        Returns
        -------
        ndarray of shape (n_queries, n_orders)
            Private, and false: the theorems behind it need counts that change by one vote.
        """
        log_proba, rows = self.outcome_log_proba(votes), np.arange(len(votes))
        log_proba[rows, log_proba.argmax(axis=1)] = -np.inf
        log_q = np.minimum(logsumexp(log_proba, axis=1), math.log(0.5))
        log_q = np.maximum(log_q, -1e4)  # at -inf the cost is 0, and the formulas fail
        if self.sigma is not None:
            return gaussian_rdp(log_q, self.sigma, orders)
        return laplace_rdp(log_q, self.gamma, orders)

    @property
    def _noise(self):
        self._validate_params()
        if (self.gamma is None) == (self.sigma is None):
            raise ValueError(
                "give either gamma (Laplace noise) or sigma (Gaussian noise); "
                f"got gamma={self.gamma!r} and sigma={self.sigma!r}"
            )
        if self.sigma is None:
            return Laplace(1 / float(self.gamma))
        return Gaussian(float(self.sigma))

    def _added(self, n_classes):
        if self.constant is not None:
            return float(self.constant)
        if self.sigma is None:
            return math.log(n_classes / self.failure_probability) / self.gamma
        return self.sigma * math.sqrt(2 * math.log(2 * n_classes / self.failure_probability))

    def _raised(self, votes):
        self._noise  # noqa: B018 - checks the parameters
        raised = check_votes(votes).astype(float)
        raised[np.arange(len(raised)), raised.argmax(axis=1)] += self._added(raised.shape[1])
        return raised


class StableArgmax(Aggregator):
    """The exact argmax for stable queries, at no cost; payment only for unstable ones.

    The sparse vector technique on the number of teachers who could change without changing the
    argmax, ``d = max(ceil(gap / 2) - 1, 0)``. A run answers queries with their exact argmax as long
    as ``d`` plus noise stays above a noisy threshold; the first query below it gets no answer, ends
    the run and is paid for. After `max_unstable` runs no more queries are asked. Any number of
    stable queries costs the same.

    Parameters
    ----------
    run_epsilon : float or None, default=0.1
        Pure epsilon of one run. None: calibrated by `PATEClassifier` so that all runs cost exactly
        its `epsilon`.
    max_unstable : int, default=20
        Number of runs.
    failure_probability : float, default=1e-6
        Part of delta: probability that an answer depends on more than the noisy comparisons.

    Notes
    -----
    Bassily, Thakkar, Thakurta (2018), Algorithm 3, with fresh threshold noise per run. On
    neighbouring data sets `d` differs by at most 1, and where the argmax differs, `d` is 0 on both.
    Unless a query with ``d = 0`` is answered, the answers are a function of the comparisons, and
    one run of those is ``run_epsilon``-DP (Dwork and Roth (2014), Theorem 3.23). The noise
    on the threshold and on `d` shares `run_epsilon` as 1 to 2**(2/3) (Lyu, Su, Li (2017)). With `k`
    queries, some query with ``d = 0`` is answered only if the largest of `k` noises on `d` minus
    the smallest of `max_unstable` noises on thresholds exceeds the threshold, which is set so
    that this has probability `failure_probability`. It is lower than the sum of two bounds that
    the paper adds.

    The answers have no finite Renyi divergence, as neighbours may answer differently with tiny
    probability, so `rdp.exact_rdp` is infinite near ties: `costs` has the guarantee.

    Examples
    --------
    >>> from sklearn_pate.aggregators import StableArgmax
    >>> stable = StableArgmax(run_epsilon=1.0, max_unstable=2)
    >>> stable.aggregate([[990, 10], [505, 495], [20, 980]], random_state=0)
    array([ 0, -1,  1])
    >>> epsilon, _ = stable.costs()(1000).epsilon(1e-5)
    >>> epsilon
    2.0
    """

    calibrates = "run_epsilon"

    _parameter_constraints = {
        "run_epsilon": [Interval(Real, 0, None, closed="neither"), None],
        "max_unstable": [Interval(Integral, 1, None, closed="left")],
        "failure_probability": [Interval(Real, 0, 1, closed="neither")],
    }

    def __init__(self, run_epsilon=0.1, max_unstable=20, failure_probability=1e-6):
        self.run_epsilon = run_epsilon
        self.max_unstable = max_unstable
        self.failure_probability = failure_probability

    def costs(self, orders=DEFAULT_ORDERS, n_teachers=None, n_classes=None):
        """Return a function from a number of queries to their cost, the same for any number."""
        self._validate_params()
        _check_calibrated(self, "run_epsilon")
        runs, run = self.max_unstable, float(self.run_epsilon)
        all_runs = Cost(
            runs * pure_rdp(run, orders), math.inf, runs * run, self.failure_probability
        )
        return lambda n_queries: all_runs if n_queries else all_runs.times(0)

    def steps(self, orders, n_teachers=None, n_classes=None):
        """None: queries share their cost, so it does not split into steps of one query."""
        return None

    def outcome_log_proba(self, votes, student_proba=None):
        """Log probability of each class and of no answer, for a query asked alone."""
        votes = check_votes(votes)
        on_threshold, on_lead = self._scales()
        excess = stable_leads(votes) - self.threshold(1)
        log_pass, log_fail = _log_laplace_difference(excess, on_lead, on_threshold)
        log_proba = np.full((len(votes), votes.shape[1] + 1), -np.inf)
        log_proba[np.arange(len(votes)), votes.argmax(axis=1)] = log_pass
        log_proba[:, -1] = log_fail
        return log_proba

    def aggregate(self, votes, student_proba=None, random_state=None):
        """Draw the released label of each query in order, -1 once all runs are used up."""
        votes = check_votes(votes)
        labels = np.full(len(votes), -1)
        drawn = self.draw(votes, student_proba, random_state)[0]
        labels[: len(drawn)] = drawn
        return labels

    def draw(self, votes, student_proba=None, random_state=None):
        """Draw labels until all runs are used up; see `Aggregator.draw`."""
        votes, rng = check_votes(votes), np.random.default_rng(random_state)
        on_threshold, on_lead = self._scales()
        noisy = stable_leads(votes) + rng.laplace(scale=on_lead, size=len(votes))
        stable, asked = np.zeros(len(votes), dtype=bool), 0
        for _ in range(self.max_unstable):
            bar = self.threshold(max(1, len(votes))) + rng.laplace(scale=on_threshold)
            unstable = np.flatnonzero(noisy[asked:] <= bar)
            end = asked + unstable[0] if unstable.size else len(votes)
            stable[asked:end] = True
            asked = min(end + 1, len(votes))
            if end == len(votes):
                break
        labels = np.where(stable, votes.argmax(axis=1), -1)[:asked]
        return labels, np.ones(asked, dtype=bool)

    def threshold(self, n_queries):
        """Teachers who must be able to change before a query counts as stable.

        Parameters
        ----------
        n_queries : int
            Number of queries that may be asked.

        Returns
        -------
        float
            Above half the number of teachers, no query is answered.
        """
        on_threshold, on_lead = self._scales()
        # Upper bounds on the chance that the largest of the noises exceeds a value: b for the
        # thresholds', on a grid, and tau - b for the leads'
        b = np.linspace(0, 60 * on_threshold, 4001)
        beyond = np.minimum(1, self.max_unstable * np.exp(-b / on_threshold) / 2)
        mass = np.concatenate([[1 - beyond[0]], -np.diff(beyond), beyond[-1:]])

        def failure(tau):
            rest = tau - np.append(b, math.inf)  # each part of the mass at its upper end
            alone = np.exp(-np.maximum(rest, 0) / on_lead) * n_queries / 2
            return mass @ np.where(rest > 0, np.minimum(1, alone), 1)

        low, high = 0.0, 100 * (on_threshold + on_lead)
        while high - low > 1e-6 * high:
            middle = (low + high) / 2
            fits = failure(middle) <= self.failure_probability
            low, high = (low, middle) if fits else (middle, high)
        return high

    def _scales(self):
        """Scales of the noise on the threshold and on the lead."""
        self._validate_params()
        _check_calibrated(self, "run_epsilon")
        for_threshold = self.run_epsilon / (1 + 2 ** (2 / 3))
        return 1 / for_threshold, 2 / (self.run_epsilon - for_threshold)


class SoftVote(Aggregator):
    """Noisy mean of the teachers' class probabilities: soft labels, for distillation.

    Each teacher gives a probability for each class instead of one vote. Their sums get Gaussian
    noise, and are clipped and normalised to a distribution over classes.

    Parameters
    ----------
    sigma : float, default=40.0
        Standard deviation of the noise on each sum, in votes.
    temperature : float, default=1.0
        Teachers' probabilities are raised to ``1 / temperature`` and normalised: above 1 softens
        them.

    Notes
    -----
    One teacher changes the sums by the difference of two distributions, at most sqrt(2) in L2
    norm: a query costs as much as one of `GNMax`, without the argmax that hides most of it. The
    outcome is continuous, so there is no `outcome_log_proba`, and the cost is the same for all
    sums: ``a / sigma**2`` at order `a`.

    References
    ----------
    Hinton, Vinyals, Dean (2015). Distilling the knowledge in a neural network.

    Examples
    --------
    >>> from sklearn_pate.aggregators import SoftVote
    >>> SoftVote(sigma=5.0).soft_labels([[180.5, 69.5]], random_state=0).round(2)
    array([[0.72, 0.28]])
    """

    wants_proba = True

    _parameter_constraints = {
        "sigma": [Interval(Real, 0, None, closed="neither")],
        "temperature": [Interval(Real, 0, None, closed="neither")],
    }

    def __init__(self, sigma=40.0, temperature=1.0):
        self.sigma = sigma
        self.temperature = temperature

    @property
    def gdp_mu(self):
        """``sqrt(2) / sigma``."""
        self._validate_params()
        return math.sqrt(2) / float(self.sigma)

    def outcome_log_proba(self, votes, student_proba=None):
        """Not defined: soft labels are continuous."""
        raise NotImplementedError("SoftVote releases real numbers: it has no outcome probabilities")

    def soft_labels(self, sums, random_state=None):
        """Draw the released distribution over classes of each query.

        Parameters
        ----------
        sums : array-like of shape (n_queries, n_classes)
            Sums of the teachers' probabilities.
        random_state : int, SeedSequence, Generator or None, default=None
            Source of the noise; None draws from the operating system's entropy.

        Returns
        -------
        ndarray of shape (n_queries, n_classes)
            Rows sum to 1; uniform where no noisy sum is above 0.
        """
        self._validate_params()
        sums = np.asarray(sums, dtype=float)
        rng = np.random.default_rng(random_state)
        noisy = np.maximum(sums + rng.normal(scale=self.sigma, size=sums.shape), 0)
        noisy[noisy.sum(axis=1) == 0] = 1
        return noisy / noisy.sum(axis=1, keepdims=True)

    def aggregate(self, votes, student_proba=None, random_state=None):
        """Draw the most probable class of each query's soft label."""
        return self.soft_labels(votes, random_state).argmax(axis=1)


def stable_leads(votes):
    """Teachers who can change without changing the argmax; one teacher changes it by at most 1."""
    top_two = np.sort(check_votes(votes), axis=1)[:, -2:]
    return np.maximum((top_two[:, 1] - top_two[:, 0] + 1) // 2 - 1, 0)


def _log_laplace_difference(x, b, c):
    """Log probabilities that ``x + Lap(b) - Lap(c)`` is above 0, and that it is not."""
    distance = np.abs(x)
    log_tail = (
        np.log((b**2 - c**2 * np.exp(distance / b - distance / c)) / (2 * (b**2 - c**2)))
        - distance / b
    )
    log_other = np.log1p(-np.exp(log_tail))
    return np.where(x >= 0, log_other, log_tail), np.where(x >= 0, log_tail, log_other)


def _log_smaller(excess):
    """Log of the smaller of the probabilities to pass and to fail."""
    return np.minimum(log_ndtr(excess), log_ndtr(-excess))


def _check_proba(student_proba, shape):
    proba = None if student_proba is None else np.asarray(student_proba, dtype=float)
    sums = proba is not None and proba.shape == shape and np.allclose(proba.sum(axis=1), 1)
    if not sums or (proba < 0).any():
        raise ValueError(
            f"student_proba must hold the student's probabilities, shape {shape}, rows that sum "
            f"to 1; got {'None' if proba is None else f'shape {proba.shape}'}"
        )
    return proba


def _check_calibrated(aggregator, name):
    if getattr(aggregator, name) is None:
        raise ValueError(
            f"{type(aggregator).__name__}({name}=None) has no noise level of its own: "
            f"PATEClassifier calibrates it to epsilon. Set {name} to a number to use it alone or "
            "with epsilon=None"
        )
