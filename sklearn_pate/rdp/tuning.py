"""What it costs to run a private training a random number of times and publish the best run."""

import math
from dataclasses import dataclass
from numbers import Real

import numpy as np
from scipy.optimize import brentq

from .checks import check_orders, check_positive


@dataclass(frozen=True)
class TrialCount:
    """A random number of trials, of which only the best is published.

    That the number is random, and stays secret, makes the cost grow with its logarithm or not at
    all, where a fixed number of trials would cost the sum.

    Parameters
    ----------
    mean : float
        Expected number of trials, above 0; with "negative_binomial", 1.001 to 1e6.
    distribution : {"negative_binomial", "poisson"}, default="negative_binomial"
        "negative_binomial" is truncated at 1: at least one trial. "poisson" is less spread, costs
        less for few trials and more for many, and may be 0.
    eta : float, default=1.0
        Shape of "negative_binomial", -0.9 to 20: 1 is the geometric distribution, 0 the
        logarithmic. Small ones cost less, and most draws are then far below the mean.

    References
    ----------
    .. [1] Papernot, Steinke (2022). Hyperparameter tuning with Renyi differential privacy. ICLR.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_pate.rdp import DEFAULT_ORDERS, TrialCount, rdp_to_epsilon
    >>> rdp = 0.05 * DEFAULT_ORDERS  # a Gaussian mechanism with epsilon 1.21 at delta 1e-5
    >>> best_of_20 = TrialCount(20).rdp(rdp, DEFAULT_ORDERS)
    >>> round(rdp_to_epsilon(best_of_20, 1e-5, DEFAULT_ORDERS)[0], 1)
    3.0
    """

    mean: float
    distribution: str = "negative_binomial"
    eta: float = 1.0

    def __post_init__(self):
        if self.distribution not in ("negative_binomial", "poisson"):
            raise ValueError(
                f"distribution must be 'negative_binomial' or 'poisson'; got {self.distribution!r}"
            )
        check_positive("mean", self.mean)
        if not isinstance(self.eta, Real):
            raise ValueError(f"eta must be a number; got {self.eta!r}")
        possible = 1.001 <= self.mean <= 1e6 and -0.9 <= self.eta <= 20
        if self.distribution == "negative_binomial" and not possible:
            raise ValueError(
                "a negative binomial number of trials is at least 1 and needs a mean from 1.001 to "
                f"1e6, and eta from -0.9 to 20; got mean={self.mean:g}, eta={self.eta:g}"
            )
        # numpy's short numbers overflow, and round
        object.__setattr__(self, "mean", float(self.mean))
        object.__setattr__(self, "eta", float(self.eta))

    @property
    def log_inverse_gamma(self):
        """Log of 1 / gamma, the parameter that gives the negative binomial its mean."""

        def excess(x):
            # mean = eta (1 - g) / (g (1 - g^eta)) with g = exp(-x); its limit for eta = 0
            if abs(self.eta) < 1e-9:
                return math.log(math.expm1(x) / x / self.mean)
            shape = self.eta / -math.expm1(-self.eta * x)
            return math.log(shape) + math.log(math.expm1(x)) - math.log(self.mean)

        return brentq(excess, 1e-6, 500.0, xtol=1e-13)

    def rdp(self, rdp, orders):
        """Renyi cost of the best of all trials.

        Parameters
        ----------
        rdp : array-like of shape (n_orders,)
            Renyi cost of one trial, the choice of its parameters and its score included.
        orders : array-like of shape (n_orders,)
            Renyi orders, above 1.

        Returns
        -------
        ndarray of shape (n_orders,)
            Papernot, Steinke (2022), Theorem 2 or, for "poisson", Theorem 6.
        """
        rdp = np.asarray(rdp, dtype=float)
        orders = check_orders(orders)
        of_the_mean = max(math.log(self.mean), 0.0) / (orders - 1)  # in both theorems
        if self.distribution == "poisson":
            # Theorem 6: the delta of one trial at this epsilon, one for each order. It is the least
            # that any order gives, by Canonne, Kamath, Steinke (2020), Proposition 12
            epsilon = np.log1p(1 / (orders - 1))[:, None]
            log_delta = (orders - 1) * (rdp - epsilon + np.log1p(-1 / orders)) - np.log(orders)
            delta = np.exp(np.minimum(log_delta.min(axis=1), 0.0))
            return rdp + of_the_mean + self.mean * delta
        # Theorem 2. It has a second order, free to choose: the best of all
        second = (1 - 1 / orders) * rdp + self.log_inverse_gamma / orders
        return rdp + (1 + self.eta) * second.min() + of_the_mean

    def draw(self, rng):
        """Draw a number of trials.

        Parameters
        ----------
        rng : numpy.random.Generator
            Source of randomness.

        Returns
        -------
        int
            The number; it must stay secret.
        """
        if self.distribution == "poisson":
            return _poisson(self.mean, rng)
        # From k to k + 1 the probability changes by (1 - gamma) (k + eta) / (k + 1),
        # and that of 1 makes the sum 1; for eta = 0 its limit is taken
        log_inverse_gamma = self.log_inverse_gamma
        stay = -math.expm1(-log_inverse_gamma)  # 1 - gamma
        if abs(self.eta) < 1e-9:
            probability = stay / log_inverse_gamma
        else:
            probability = self.eta * stay / math.expm1(self.eta * log_inverse_gamma)
        # The number at which the distribution function passes a uniform draw
        left = rng.random()
        k = 1
        while left > probability > 0:  # rounded probabilities may end before the draw is reached
            left -= probability
            probability *= stay * (k + self.eta) / (k + 1)
            k += 1
        return k


def _poisson(mean, rng):
    """Draw a Poisson number by adding exponential waits, which `SystemGenerator` draws as well."""
    count = 0
    last = 0.0
    while last <= mean:
        arrivals = last + np.cumsum(rng.exponential(size=1024))
        count += int((arrivals <= mean).sum())
        last = float(arrivals[-1])
    return count
