"""What it costs to run a private training a random number of times and publish the best run."""

import math
from dataclasses import dataclass
from numbers import Real

import numpy as np
from scipy.optimize import brentq

from .checks import check_orders


@dataclass(frozen=True)
class TrialCount:
    """A random number of trials, of which only the best is published.

    That the number is random, and stays secret, makes the cost grow with its logarithm or not at
    all, where a fixed number of trials would cost the sum.

    Parameters
    ----------
    mean : float
        Expected number of trials, 1.001 to 1e6.
    eta : float, default=1.0
        Shape of the distribution, a negative binomial truncated at 1, -0.9 to 20: 1 is the
        geometric distribution, 0 the logarithmic. Small ones cost less, and most draws are then
        far below the mean.

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
    eta: float = 1.0

    def __post_init__(self):
        are_numbers = isinstance(self.mean, Real) and isinstance(self.eta, Real)
        if not are_numbers or not (1.001 <= self.mean <= 1e6 and -0.9 <= self.eta <= 20):
            raise ValueError(
                "a number of trials is at least 1 and needs a mean from 1.001 to 1e6, and eta from "
                f"-0.9 to 20; got mean={self.mean!r}, eta={self.eta!r}"
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
            Papernot, Steinke (2022), Theorem 2.
        """
        rdp = np.asarray(rdp, dtype=float)
        orders = check_orders(orders)
        # The theorem has a second order, free to choose: the best of all
        second = (1 - 1 / orders) * rdp + self.log_inverse_gamma / orders
        return rdp + (1 + self.eta) * second.min() + math.log(self.mean) / (orders - 1)

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
