"""Base classes of mechanisms, and noisy sums of the teachers' probabilities."""

from __future__ import annotations

import math
from abc import ABCMeta, abstractmethod
from collections.abc import Callable, Sequence
from functools import lru_cache
from numbers import Number, Real
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone

from .._sklearn import CheckedEstimator, Interval, StrOptions
from ..rdp import (
    DEFAULT_ORDERS,
    Contribution,
    DiscreteGaussian,
    PrivacyBounds,
    worst_case_rdp,
)
from ..rdp.bounds import (
    age_of,
    bounds_of,
    check_stated,
    defines_anything,
    stating_class,
)
from ..rdp.checks import as_array, check_log_proba, check_orders, check_votes
from ..rdp.cost import total_cost
from ..rdp.discrete import GRID, TICKS
from ..rdp.records import Record, gaussian_record
from ..secure import noise_generator

if TYPE_CHECKING:
    from .._typing import Seed
    from ..rdp.cost import Cost

#: Constraints of parameters that several mechanisms share.
POSITIVE = Interval(Real, 0, None, closed="neither")
NOISES = StrOptions({"continuous", "discrete"})


class Released(NamedTuple):
    """Release of a mechanism for some queries.

    Attributes
    ----------
    labels : ndarray of shape (n_queried,), int
        Class codes, -1 for "no answer". There are fewer labels than queries if the mechanism
        stopped early.
    paid : ndarray of shape (n_queried,), bool
        False if a query failed the check, so that no answer was drawn from the votes.
    soft_labels : ndarray of shape (n_queried, n_classes) or None
        Distributions over classes, if the mechanism releases them.
    """

    labels: np.ndarray
    paid: np.ndarray
    soft_labels: np.ndarray | None = None

    def first(self, n_queries: int) -> Released:
        """Return the release for the first queries only."""
        soft_labels = None if self.soft_labels is None else self.soft_labels[:n_queries]
        return Released(self.labels[:n_queries], self.paid[:n_queries], soft_labels)


class Mechanism(CheckedEstimator, metaclass=ABCMeta):
    """Base class of mechanisms that compute a private release from the teachers' votes.

    The subclass `Aggregator` releases one class for each query, and `SoftAggregator` a distribution
    over classes. `bounds` returns the privacy bounds that are proved for every data set. A subclass
    that defines any method or attribute, special methods such as ``__init__`` included, does not
    inherit these bounds, and must define its own `bounds`. If the proof still holds for the
    subclass, `bounds` can return ``super().bounds()``. Parameters follow scikit-learn's conventions
    (`get_params`, `clone`).
    """

    _parameter_constraints: dict = {}

    #: None if teachers vote. If it is a number, sums of the teachers' probabilities replace the
    #: votes. The probabilities are first raised to ``1 / temperature`` and normalised.
    temperature: float | None = None

    #: Whether the release depends on `student_proba`. If so, the largest cost over all votes is not
    #: a guarantee, because it depends on the student; only `bounds` are guarantees.
    uses_student_proba = False

    #: Standard deviation of the noise on a count, in votes, for forecasts; None if there is no such
    #: noise, or if it is unknown.
    noise_std: float | None = None

    #: Text of a `PrivacyLeakWarning` about an unexpected cost; None for no warning.
    caveat: str | None = None

    @abstractmethod
    def release(
        self, votes: ArrayLike, student_proba: ArrayLike | None = None, random_state: Seed = None
    ) -> Released:
        """Draw the release for each query.

        Parameters
        ----------
        votes : array-like of shape (n_queries, n_classes)
            Vote counts, or sums of the teachers' probabilities.
        student_proba : array-like of shape (n_queries, n_classes), default=None
            The student's probabilities, for mechanisms that use them.
        random_state : int, SeedSequence, Generator or None, default=None
            Source of the noise; None is the operating system's generator.

        Returns
        -------
        Released
            Labels, a mask of the labels that were paid for in full and, for a `SoftAggregator`,
            soft labels.
        """

    def bounds(self) -> PrivacyBounds:
        """Return the proved privacy bounds of this mechanism for all votes.

        A subclass that defines any method or attribute must also define this method, because the
        bounds of its base class are not used for the subclass.

        Returns
        -------
        rdp.PrivacyBounds
            Empty bounds by default.
        """
        return PrivacyBounds()

    def queries_record(self, name: str, n_queries: int, *, n_classes: int, cost: Cost) -> Record:
        """Return the record of the queries, for privacy statements.

        Only the method of the mechanism's own class is used, and no inherited one, because a
        subclass may have other noise. Without an own method, a statement has the cost alone.

        Parameters
        ----------
        name : str
            The queries, in words.
        n_queries : int
            Number of queries.
        n_classes : int
            Number of classes.
        cost : rdp.Cost
            Cost of one query, at `rdp.DEFAULT_ORDERS`.

        Returns
        -------
        dict
            From a function of `rdp.records`.
        """
        raise NotImplementedError

    def missing_bounds(self) -> str:
        """Return the remedy for an infinite cost, as a part of an error message.

        Returns
        -------
        str
            Use noise or, if the class has no valid bounds, define bounds.
        """
        if stating_class(self) is not None:
            return "Use an aggregator with noise"
        return (
            f"{type(self).__name__} states no cost for more than two classes, and the bounds of a "
            "base class do not hold for a subclass that changes anything. Define a method bounds "
            "that returns rdp.PrivacyBounds with gdp_mu, pure_epsilon, rdp or argmax_noise"
        )

    def with_scale(self, scale: float) -> Self | None:
        """Return a copy with noise of this scale, if the noise is not set.

        `PATEClassifier` searches for the smallest scale with a cost of at most its `epsilon`.

        Parameters
        ----------
        scale : float
            Scale of the noise in votes, above 0. A larger scale must not cost more.

        Returns
        -------
        Mechanism or None
            None if the noise is set. The base class always returns None, so that the noise is not
            calibrated.
        """
        return None

    def stability_needed(self, n_queries: int) -> float:
        """Return the distance to instability above which an answer is likely; 0 by default."""
        return 0.0

    def steps(
        self, orders: np.ndarray, *, n_teachers: int | None = None, n_classes: int | None = None
    ) -> tuple[np.ndarray, np.ndarray] | None:
        """Return the data-independent Renyi costs of the check and of the answer of one query.

        Parameters
        ----------
        orders : ndarray of shape (n_orders,)
            Renyi orders, above 1.
        n_teachers, n_classes : int, default=None
            Public numbers that make the cost tighter; None means any number.

        Returns
        -------
        check, answer : ndarray of shape (n_orders,)
            Cost of each step; the cost of a query that fails the check is `check`. A mechanism that
            charges all queries together returns None instead.
        """
        orders = check_orders(orders)
        bounds = bounds_of(self)
        if bounds.total is not None:
            return None
        public = {"n_teachers": n_teachers, "n_classes": n_classes}
        if bounds.steps is not None:
            return bounds.steps(orders, **public)
        return np.zeros(orders.size), worst_case_rdp(self, orders, **public)

    def costs(
        self,
        orders: ArrayLike = DEFAULT_ORDERS,
        *,
        n_teachers: int | None = None,
        n_classes: int | None = None,
    ) -> Callable[[int], Cost]:
        """Return a function that computes the data-independent cost of a number of queries.

        The function is cached for equal mechanisms of this package, because the search for the
        costliest votes is slow. Costs depend on public numbers alone.

        Parameters
        ----------
        orders : array-like of shape (n_orders,), default=DEFAULT_ORDERS
            Renyi orders, above 1.
        n_teachers, n_classes : int, default=None
            Public numbers that make the cost tighter; None means any number.

        Returns
        -------
        callable
            Function of the number of queries, answered or not, that returns their `rdp.Cost`.
        """
        parameters = self.get_params(deep=False)
        are_plain = all(isinstance(value, Number | str | None) for value in parameters.values())
        if not (are_plain and type(self).__module__.startswith(f"{__package__}.")):
            # The cost may depend on more than the parameters
            return total_cost(self, orders, n_teachers=n_teachers, n_classes=n_classes)
        # Types are part of the key, because a threshold of 1 is one vote, and 1.0 is all teachers
        typed = tuple((name, type(value), value) for name, value in parameters.items())
        orders = np.asarray(orders, dtype=float).tobytes()
        return _known_costs(type(self), typed, orders, n_teachers, n_classes)


@lru_cache(maxsize=1000)
def _known_costs(
    mechanism: type[Mechanism],
    typed_parameters: tuple[Any, ...],
    orders: bytes,
    n_teachers: int | None,
    n_classes: int | None,
) -> Callable[[int], Cost]:
    stage = mechanism(**{name: value for name, _, value in typed_parameters})
    return total_cost(stage, np.frombuffer(orders), n_teachers=n_teachers, n_classes=n_classes)


class Aggregator(Mechanism):
    """A mechanism that releases one class for each query, or no answer.

    A subclass defines `outcome_log_proba`, the distribution over outcomes given vote counts. The
    sampler, the exact cost and, for two classes, the guarantee are computed from it. `bounds`
    returns costs that are proved for every data set; without them, epsilon is infinite for more
    than two classes. A subclass that defines its own sampler must also define the distribution.
    """

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Keep the samplers of a subclass consistent with its distribution.

        If the subclass overrides `outcome_log_proba`, each inherited sampler is replaced by the
        sampler of `Aggregator`, which draws from this distribution. If the subclass overrides a
        sampler, but not `outcome_log_proba`, TypeError is raised. A subclass that defines any
        method or attribute does not inherit `published_rdp`.
        """
        super().__init_subclass__(**kwargs)
        if defines_anything(cls) and "published_rdp" not in vars(cls):
            cls.published_rdp = Aggregator.published_rdp  # type: ignore[method-assign]
        _keep_together(cls, Aggregator, "outcome_log_proba", ("aggregate", "draw", "release"))

    @abstractmethod
    def outcome_log_proba(
        self, votes: ArrayLike, student_proba: ArrayLike | None = None
    ) -> NDArray[np.float64]:
        """Return the log probability of each outcome.

        Parameters
        ----------
        votes : array-like of shape (n_queries, n_classes)
            Vote counts; each row sums to the number of teachers.
        student_proba : array-like of shape (n_queries, n_classes), default=None
            The student's probabilities, for mechanisms that use them.

        Returns
        -------
        ndarray of shape (n_queries, n_outcomes)
            One column per class and, for mechanisms that may refuse, a last column for "no answer".

        Raises
        ------
        ValueError
            For negative counts, rows with different totals or parameters out of range.
        """

    def aggregate(
        self, votes: ArrayLike, student_proba: ArrayLike | None = None, random_state: Seed = None
    ) -> np.ndarray:
        """Draw the released label of each query.

        Parameters
        ----------
        votes : array-like of shape (n_queries, n_classes)
            Vote counts; each row sums to the number of teachers.
        student_proba : array-like of shape (n_queries, n_classes), default=None
            The student's probabilities, for mechanisms that use them.
        random_state : int, SeedSequence, Generator or None, default=None
            Source of the noise; None is the operating system's generator.

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
        log_proba = self.outcome_log_proba(votes, student_proba)
        log_proba = check_log_proba(log_proba, n_classes=votes.shape[1])
        gumbel = noise_generator(random_state).gumbel(size=log_proba.shape)
        outcomes = (log_proba + gumbel).argmax(axis=1)
        return np.where(outcomes < votes.shape[1], outcomes, -1)

    def draw(
        self, votes: ArrayLike, student_proba: ArrayLike | None = None, random_state: Seed = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Draw labels, and a mask of the labels that were paid for in full.

        Parameters
        ----------
        votes, student_proba, random_state
            As in `aggregate`.

        Returns
        -------
        labels : ndarray of shape (n_queried,), int
            As in `aggregate`; shorter than `votes` if the mechanism stopped early.
        paid : ndarray of shape (n_queried,), bool
            False if a query failed the check, so that no answer was drawn from the votes.
        """
        labels = self.aggregate(votes, student_proba, random_state)
        return labels, np.ones(len(labels), dtype=bool)

    def release(
        self, votes: ArrayLike, student_proba: ArrayLike | None = None, random_state: Seed = None
    ) -> Released:
        """Draw labels with `draw`; see `Mechanism.release`."""
        labels, paid = self.draw(votes, student_proba, random_state)
        return Released(labels, paid)

    def published_rdp(
        self,
        votes: ArrayLike,
        orders: ArrayLike,
        student_proba: ArrayLike | None = None,
        paid: ArrayLike | None = None,
    ) -> NDArray[np.float64]:
        """Return the data-dependent bound of the paper that proposed the mechanism.

        The bound covers one direction of the divergence. It depends on the votes, so it is private.

        Parameters
        ----------
        votes : array-like of shape (n_queries, n_classes)
            Vote counts.
        orders : array-like of shape (n_orders,)
            Renyi orders, above 1.
        student_proba : array-like of shape (n_queries, n_classes), default=None
            The student's probabilities, for mechanisms that use them.
        paid : array-like of shape (n_queries,), bool, default=None
            Mask from `draw`; None counts every query in full.

        Returns
        -------
        ndarray of shape (n_queries, n_orders)
            Renyi costs; inf for a mechanism without a published bound.
        """
        return np.full((len(check_votes(votes)), check_orders(orders).size), np.inf)


class SoftAggregator(Mechanism):
    """A mechanism that releases a distribution over classes for each query: a soft label.

    Class probabilities of the teachers replace their votes. A subclass defines `soft_labels`, and
    `bounds` with a proved cost; without bounds, epsilon is infinite. The labels that `aggregate`
    and `release` return are the most probable classes.
    """

    temperature = 1.0

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Keep the labels of a subclass consistent with its soft labels; see `Aggregator`."""
        super().__init_subclass__(**kwargs)
        _keep_together(cls, SoftAggregator, "soft_labels", ("aggregate", "release"))

    @abstractmethod
    def soft_labels(self, sums: ArrayLike, random_state: Seed = None) -> NDArray[np.float64]:
        """Draw the released distribution over classes of each query.

        Parameters
        ----------
        sums : array-like of shape (n_queries, n_classes)
            Sums of the teachers' probabilities.
        random_state : int, SeedSequence, Generator or None, default=None
            Source of the noise; None is the operating system's generator.

        Returns
        -------
        ndarray of shape (n_queries, n_classes)
            Distributions; each row sums to 1.
        """

    def aggregate(
        self, votes: ArrayLike, student_proba: ArrayLike | None = None, random_state: Seed = None
    ) -> np.ndarray:
        """Draw soft labels, and return the most probable class of each."""
        return self.release(votes, student_proba, random_state).labels

    def release(
        self, votes: ArrayLike, student_proba: ArrayLike | None = None, random_state: Seed = None
    ) -> Released:
        """Draw soft labels and their most probable classes; see `Mechanism.release`."""
        soft_labels = np.asarray(self.soft_labels(votes, random_state))
        labels = soft_labels.argmax(axis=-1)
        return Released(labels, np.ones(labels.shape, dtype=bool), soft_labels)


def _keep_together(cls: type, base: type, stated: str, sampled: Sequence[str]) -> None:
    """Replace each sampler of `cls` that is older than the method `stated` by that of `base`.

    A sampler is older if a less derived class defines it. In the opposite case, TypeError is
    raised.
    """
    check_stated(cls, stated, sampled)
    for name in sampled:
        if age_of(cls, stated) < age_of(cls, name):
            setattr(cls, name, vars(base)[name])


def checked_scale(mechanism: Any, name: str) -> float:
    """Return the noise parameter of a mechanism as a float; it must not be None.

    All parameters of the mechanism are validated. The conversion to float is necessary because
    small NumPy types overflow or round.
    """
    mechanism._validate_params()
    scale = getattr(mechanism, name)
    if scale is None:
        raise ValueError(
            f"{type(mechanism).__name__}({name}=None) has no noise level of its own: "
            f"PATEClassifier calibrates it to epsilon. Set {name} to a number for any other use"
        )
    return float(scale)


# --- noisy sums of probabilities ------------------------------------------------------------------


class SoftVote(SoftAggregator):
    """Noisy mean of the teachers' class probabilities: soft labels, for distillation.

    The class probabilities of the teachers are added up, and get Gaussian noise. The noisy sums are
    clipped at 0 and normalised to a distribution over classes.

    Parameters
    ----------
    sigma : float or None, default=40.0
        Standard deviation of the noise on each sum, in votes, above 0 and at most 1e9. With None,
        `PATEClassifier` calibrates it.
    temperature : float, default=1.0
        Teachers' probabilities are raised to ``1 / temperature`` and normalised; a temperature
        above 1 softens them.
    noise : {"discrete", "continuous"}, default="discrete"
        "discrete" is noise on the multiples of 2**-20 with probabilities proportional to
        ``exp(-x**2 / (2 * sigma**2))``, sampled exactly. "continuous" is floating-point noise, with
        a slightly smaller cost in real arithmetic.

    Notes
    -----
    One teacher changes the sums by the difference of two distributions, at most sqrt(2) in L2
    norm. `GNMax` costs less at equal noise, because it releases the argmax alone. There is no
    `outcome_log_proba`, because the outcomes are not classes. The cost is the same for all sums:
    ``a / sigma**2`` at order `a` (with discrete noise: Canonne, Kamath, Steinke (2020),
    Proposition 5, for each sum).

    Teachers' probabilities are rounded down to multiples of 2**-20. So the sums are multiples of
    2**-20, before and after discrete noise, and the soft labels are computed from the noisy sums
    alone. With continuous noise, the last digits of the released floating-point numbers depend on
    the true sums. With hundreds of classes, only the true sums are consistent with all of these
    digits, and the guarantee does not cover this leak.

    References
    ----------
    Hinton, Vinyals, Dean (2015). Distilling the knowledge in a neural network.

    Examples
    --------
    >>> from sklearn_pate.aggregators import SoftVote
    >>> SoftVote(sigma=5.0).soft_labels([[180.5, 69.5]], random_state=0).round(2)
    array([[0.73, 0.27]])
    """

    _parameter_constraints = {
        "sigma": [Interval(Real, 0, 1e9, closed="right"), None],
        "temperature": [POSITIVE],
        "noise": [NOISES],
    }

    def __init__(
        self,
        sigma: float | None = 40.0,
        temperature: float = 1.0,
        noise: Literal["continuous", "discrete"] = "discrete",
    ) -> None:
        self.sigma = sigma
        self.temperature = temperature
        self.noise = noise

    @property
    def noise_std(self) -> float | None:  # type: ignore[override]
        """Standard deviation of the noise on each sum, in votes; None if it is not set."""
        return self.sigma

    def with_scale(self, scale: float) -> Self | None:
        """Return a copy with noise of this standard deviation; see `Mechanism.with_scale`."""
        return clone(self).set_params(sigma=scale) if self.sigma is None else None

    def bounds(self) -> PrivacyBounds:
        """Return the bounds of Gaussian noise on sums that change by at most sqrt(2) in L2 norm."""
        sigma = checked_scale(self, "sigma")
        if self.noise == "continuous":
            return PrivacyBounds(gdp_mu=math.sqrt(2) / sigma)
        return PrivacyBounds(
            rdp=lambda orders, n_teachers, n_classes: orders / sigma**2, exact=True
        )

    def queries_record(self, name: str, n_queries: int, *, n_classes: int, cost: Cost) -> Record:
        """Return the record of the queries; see `Mechanism.queries_record`."""
        grid = None if self.noise == "continuous" else GRID
        scale = checked_scale(self, "sigma")
        two = Contribution.of_counts(2)
        return gaussian_record(name, two, scale=scale, grid=grid, count=n_queries)

    def soft_labels(self, sums: ArrayLike, random_state: Seed = None) -> NDArray[np.float64]:
        """Draw the released distribution over classes of each query.

        Parameters
        ----------
        sums : array-like of shape (n_queries, n_classes)
            Sums of the teachers' probabilities; with discrete noise, multiples of 2**-20.
        random_state : int, SeedSequence, Generator or None, default=None
            Source of the noise; None is the operating system's generator.

        Returns
        -------
        ndarray of shape (n_queries, n_classes)
            Rows sum to 1. A row is uniform if none of its noisy sums is above 0.
        """
        sigma = checked_scale(self, "sigma")
        sums = as_array("sums", sums, dtype=float)
        rng = noise_generator(random_state)
        if self.noise == "continuous":
            noisy = sums + rng.normal(scale=sigma, size=sums.shape)
        else:
            noisy = whole_ticks(sums) + DiscreteGaussian(sigma * TICKS).sample(rng, sums.shape)
        noisy = np.maximum(noisy, 0)
        noisy[noisy.max(axis=1) == 0] = 1
        return noisy / noisy.sum(axis=1, keepdims=True, dtype=float)  # 64 bits may be too few


def whole_ticks(sums: np.ndarray) -> np.ndarray:
    """Convert sums to integer numbers of ticks; a tick is 2**-20.

    Sums that are too large, or are not multiples of a tick, raise ValueError.
    """
    shares = sums * TICKS
    fits = (np.abs(shares) < 2**53).all()
    if not fits or not np.array_equal(shares.astype(np.int64), shares):
        raise ValueError(
            'noise="discrete" requires sums that are multiples of 2**-20 and below 2**33; round '
            "the probabilities of each teacher down to multiples of 2**-20 before you add them"
        )
    return shares.astype(np.int64)
