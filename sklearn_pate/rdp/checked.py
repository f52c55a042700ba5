"""The largest cost of a noisy check with an answer behind it."""

import itertools

import numpy as np
from scipy.special import log_ndtr

from .checks import check_orders, check_positive
from .exact import round_up


def checked_rdp(sigma, answer_rdp, orders):
    """Largest Renyi cost of a noisy check followed, if it passes, by an answer.

    Parameters
    ----------
    sigma : float
        Standard deviation of the Gaussian noise on what is checked, a number that one teacher
        changes by at most 1.
    answer_rdp : array-like of shape (n_orders,)
        Data-independent cost of the answer.
    orders : array-like of shape (n_orders,)
        Renyi orders, above 1.

    Returns
    -------
    ndarray of shape (n_orders,)
        The supremum, over the distance `x` from the threshold in units of `sigma` and over both
        directions, of ``log(F(x)**a F(x')**(1-a) + G(x)**a G(x')**(1-a) exp((a-1) R)) / (a - 1)``
        for ``x' = x +- 1 / sigma``, F the probability to fail, G to pass, R `answer_rdp`: test
        and answer are one mechanism. Rounded up by 1e-6 relative.

    Examples
    --------
    >>> from sklearn_pate.rdp import checked_rdp
    >>> checked_rdp(100.0, [0.004], [10.0]).round(4)  # little more than the answer
    array([0.004])
    >>> checked_rdp(1.0, [0.0], [10.0]).round(3)  # the check alone: at most a / (2 sigma**2)
    array([4.758])
    """
    orders = check_orders(orders)
    step = 1 / check_positive("sigma", sigma)
    answer_rdp = np.asarray(answer_rdp, dtype=float)
    as_two_mechanisms = answer_rdp + orders * step**2 / 2
    if not np.isfinite(answer_rdp).all():
        return as_two_mechanisms

    a = orders[:, None]
    gain = ((orders - 1) * answer_rdp)[:, None]

    def cost(x, y):
        failed = a * log_ndtr(-x) + (1 - a) * log_ndtr(-y)
        passed = a * log_ndtr(x) + (1 - a) * log_ndtr(y) + gain
        return np.logaddexp(failed, passed) / (a - 1)

    worst = answer_rdp  # the cost if the check is sure to pass
    # Beyond `far` one outcome is certain, and the check is free: 8 standard deviations leave 1e-15,
    # and order `a` weighs outcomes as if `x` had moved by `a` steps
    far = 8 + 1.2 * orders * step
    for forwards, side in itertools.product((True, False), (-1, 1)):
        x = far[:, None] * side * np.linspace(0, 1, 401)
        for _ in range(6):  # zoom in on the best point, 20 times each, of this direction and side
            values = cost(x, x + step) if forwards else cost(x + step, x)
            worst = np.maximum(worst, values.max(axis=1))
            best = x[np.arange(orders.size), values.argmax(axis=1)]
            x = best[:, None] + (x[:, 1] - x[:, 0])[:, None] * np.linspace(-1.5, 1.5, 61)
    # The cost of the one mechanism is at most that of the two after each other
    return np.minimum(as_two_mechanisms, round_up(worst * (1 + 1e-6), orders))
