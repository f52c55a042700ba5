"""AdaSSP: ridge regression of the classes on noisy moments of bounded rows, by numpy.

Wang (2018), algorithm 2, on columns of public rows as arXiv 2303.03451 has it, with Gaussian
differential privacy in place of its composition: a third of mu squared for each of three releases.
"""

import numpy as np
from scipy.optimize import brentq
from scipy.stats import norm
from shared import answer

#: The bound on the noise's eigenvalues fails with this probability.
FAILURE = 0.05


def fit(arrays, one):
    rng = np.random.default_rng(one["seed"])
    X, X_test = (on_ball(arrays[name]) for name in ("X", "X_test"))
    one_hot = np.eye(arrays["n_classes"])[arrays["y"]]
    mu = gdp_mu(one["epsilon"], one["delta"]) / np.sqrt(3)
    d = X.shape[1]
    moment = X.T @ X
    # Where a record is replaced, the least eigenvalue moves by 1, the others' squares add up to 2
    least = np.linalg.eigvalsh(moment)[0] + rng.normal() / mu
    sd = np.sqrt(2) / mu
    above = np.triu(rng.normal(size=(d, d)) * sd)
    moment = moment + above + np.triu(above, 1).T
    products = X.T @ one_hot + rng.normal(size=(d, one_hot.shape[1])) * 2 / mu
    least = max(least - norm.isf(FAILURE / 2) / mu, 0.0)
    ridge = max(0.0, sd * np.sqrt(d * np.log(2 * d**2 / FAILURE)) - least)
    slopes = np.linalg.solve(moment + (ridge + 1e-6) * np.eye(d), products)
    scores = np.clip(X_test @ slopes, 1e-3, 1)
    return scores / scores.sum(axis=1, keepdims=True)


def on_ball(rows):
    """Rows and a constant, no longer than 1: standardized numbers have a length of about 1."""
    rows = np.column_stack([rows / np.sqrt(rows.shape[1]), np.ones(len(rows))]) / np.sqrt(2)
    return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1)


def gdp_mu(epsilon, delta):
    """The mu whose epsilon this is at delta."""

    def excess(mu):
        low = norm.logcdf(-mu / 2 - epsilon / mu)
        return norm.cdf(mu / 2 - epsilon / mu) - np.exp(epsilon + low) - delta

    return brentq(excess, 1e-4, 50)


answer(fit)
