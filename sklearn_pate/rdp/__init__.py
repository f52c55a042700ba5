"""Renyi costs of private votes, and their conversion to (epsilon, delta). Pure functions.

A Renyi cost is an array over orders: entry `a` bounds the Renyi divergence of order `a` between
what is released on a data set and on a neighbouring one. Neighbours change at most one teacher,
so at most one vote of a query moves from one class to another.

References
----------
.. [1] Mironov (2017). Renyi differential privacy. CSF.
.. [2] Papernot, Abadi, Erlingsson, Goodfellow, Talwar (2017). Semi-supervised knowledge transfer
       for deep learning from private training data. ICLR.
.. [3] Papernot, Song, Mironov, Raghunathan, Talwar, Erlingsson (2018). Scalable private learning
       with PATE. ICLR.
.. [4] Balle, Wang (2018). Improving the Gaussian mechanism for differential privacy. ICML.
.. [5] Canonne, Kamath, Steinke (2020). The discrete Gaussian for differential privacy. NeurIPS.
.. [6] Dong, Roth, Su (2022). Gaussian differential privacy. JRSS B.
.. [7] Lebensold, Precup, Balle (2024). On the privacy of selection mechanisms with Gaussian
       noise. AISTATS.
"""

from .calibration import gnmax_sigma, least_scale, lnmax_gamma
from .checks import (
    DEFAULT_ORDERS,
    as_array,
    check_delta,
    check_log_proba,
    check_orders,
    check_positive,
    check_votes,
)
from .conversion import (
    conversion_penalty,
    epsilon_by_order,
    gdp_mu,
    gdp_to_epsilon,
    pure_to_gdp,
    rdp_to_epsilon,
)
from .discrete import DiscreteGaussian, DiscreteLaplace, DiscreteNoise
from .exact import exact_rdp
from .facts import Facts, defined_in, facts_of, has_distribution, stater_of
from .noise import Exponential, Gaussian, Laplace, Noise
from .published import (
    gaussian_rdp,
    gnmax_rdp,
    laplace_rdp,
    lnmax_rdp,
    pure_rdp,
    threshold_rdp,
)
from .tuning import TrialCount
from .worst_case import (
    Cost,
    checked_rdp,
    data_independent_epsilon,
    lead_rdp,
    query_cost,
    query_steps,
    total_cost,
    worst_case_pure,
    worst_case_rdp,
)

__all__ = [
    "Cost",
    "DEFAULT_ORDERS",
    "DiscreteGaussian",
    "DiscreteLaplace",
    "DiscreteNoise",
    "Exponential",
    "Facts",
    "Gaussian",
    "Laplace",
    "Noise",
    "TrialCount",
    "as_array",
    "check_delta",
    "check_log_proba",
    "check_orders",
    "check_positive",
    "check_votes",
    "checked_rdp",
    "conversion_penalty",
    "data_independent_epsilon",
    "defined_in",
    "epsilon_by_order",
    "exact_rdp",
    "facts_of",
    "gaussian_rdp",
    "gdp_mu",
    "gdp_to_epsilon",
    "gnmax_rdp",
    "gnmax_sigma",
    "has_distribution",
    "laplace_rdp",
    "lead_rdp",
    "least_scale",
    "lnmax_gamma",
    "lnmax_rdp",
    "pure_rdp",
    "pure_to_gdp",
    "query_cost",
    "query_steps",
    "rdp_to_epsilon",
    "stater_of",
    "threshold_rdp",
    "total_cost",
    "worst_case_pure",
    "worst_case_rdp",
]
