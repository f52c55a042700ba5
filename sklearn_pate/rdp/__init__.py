"""Renyi costs of private votes, and their conversion to (epsilon, delta).

A Renyi cost is an array with one entry for each order. The entry for order `a` bounds the Renyi
divergence of order `a` between the released outcomes on a data set and on a neighbouring one. If
teachers vote, neighbouring data sets differ in at most one teacher, so at most one vote of a query
moves from one class to another. A `Contribution` bounds the change of any other statistic.

No code can check a proof. Epsilon is wrong if one of these values, which are proved by hand, is too
small:

- a `Contribution`: `contribution` of `methods.neighbors` and `methods.sums`, the noise of
  `methods.sums.SumsMechanism`, `class_sums.statistic` (`sensitivity`, `centre_cost`, and the
  constant for a unit that joins or leaves), `event` of a release, `Neighbors.n_units`, and
  `encoding.targets.Target.split`, which must split a record into parts that sum to 1;
- a bound of a mechanism: its `bounds` (`PrivacyBounds`), or the `cost` of a `TableMechanism`;
- the cost of a `ProvedEvent`, which only `synthesis.synthesizers` and users create.

Everything else is computed from these values. `accounting.budget` adds up the costs of all steps.

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

from .bounds import (
    PrivacyBounds,
    gaussian_rdp,
    gnmax_rdp,
    laplace_rdp,
    lnmax_rdp,
    threshold_rdp,
)
from .checks import DEFAULT_ORDERS
from .contribution import Contribution, NeighboringRelation, Neighbors
from .conversion import (
    TrialCount,
    gdp_mu,
    gdp_to_epsilon,
    pure_and_gdp_delta,
    pure_and_gdp_to_epsilon,
    pure_rdp,
    pure_to_gdp,
    rdp_to_epsilon,
)
from .cost import Cost, data_independent_epsilon, gnmax_sigma, least_scale, least_scales
from .discrete import (
    DiscreteGaussian,
    DiscreteLaplace,
    DiscreteNoise,
    discrete_gaussian_mu_squared,
)
from .event import Event, ProvedEvent
from .exact import exact_rdp
from .noise import Exponential, Gaussian, Laplace, Noise
from .worst_case import checked_rdp, margin_rdp, worst_case_pure, worst_case_rdp

__all__ = [
    "Contribution",
    "Cost",
    "DEFAULT_ORDERS",
    "DiscreteGaussian",
    "DiscreteLaplace",
    "DiscreteNoise",
    "Event",
    "Exponential",
    "PrivacyBounds",
    "Gaussian",
    "Laplace",
    "NeighboringRelation",
    "Neighbors",
    "Noise",
    "ProvedEvent",
    "TrialCount",
    "checked_rdp",
    "data_independent_epsilon",
    "discrete_gaussian_mu_squared",
    "exact_rdp",
    "gaussian_rdp",
    "gdp_mu",
    "gdp_to_epsilon",
    "gnmax_rdp",
    "gnmax_sigma",
    "laplace_rdp",
    "least_scale",
    "least_scales",
    "lnmax_rdp",
    "margin_rdp",
    "pure_and_gdp_delta",
    "pure_and_gdp_to_epsilon",
    "pure_rdp",
    "pure_to_gdp",
    "rdp_to_epsilon",
    "threshold_rdp",
    "worst_case_pure",
    "worst_case_rdp",
]
