"""
Errata: what the papers and their code say, and what is true
============================================================

Each entry says what is written where, what is true, and has a few lines of Python that show it.
The numbers in comments are checked by `tests/test_docs.py`. "2017" is Papernot, Abadi,
Erlingsson, Goodfellow and Talwar, *Semi-supervised knowledge transfer for deep learning from
private training data*, ICLR 2017 (arXiv 1610.05755). "2018" is Papernot, Song, Mironov,
Raghunathan, Talwar and Erlingsson, *Scalable private learning with PATE*, ICLR 2018 (arXiv
1802.08908). Both are good papers; nothing here changes what they are about.

A *move* is one vote that goes from one class to another: what one changed teacher does to a
query. A *cost* is a Renyi divergence of some order, and `exact_rdp` computes the largest over
all moves, in both directions.
"""

import math

import numpy as np
from scipy.integrate import quad
from scipy.stats import norm

from sklearn_pate.accounting.smooth_sensitivity import smooth_release_rdp
from sklearn_pate.aggregators import ExponentialNMax, GNMax, ImmutableArgmax, LNMax
from sklearn_pate.rdp import (
    DEFAULT_ORDERS,
    data_independent_epsilon,
    exact_rdp,
    gdp_to_epsilon,
    laplace_rdp,
    pure_rdp,
    rdp_to_epsilon,
    worst_case_rdp,
)

# %%
# Which way gamma points
# ----------------------
#
# *Written.* 2017 adds noise Lap(1/gamma) to each vote count, and states that a large gamma
# gives a strong privacy guarantee and degrades accuracy (Section 2.1). Later texts repeat the
# sentence.
#
# *True.* The scale of the noise is 1/gamma, so a **small** gamma gives strong privacy and
# degrades accuracy. One query is 2 gamma-differentially private.

for gamma in (0.05, 0.5):
    mechanism = LNMax(gamma)
    right = math.exp(mechanism.outcome_log_proba([[130, 120]])[0, 0])
    print(gamma, mechanism.bounds().pure_epsilon, round(right, 3))
# -> 0.05 0.1 0.621
# -> 0.5 1.0 0.988

# %%
# q < 0.5 is not the condition
# ----------------------------
#
# *Written.* Theorem 3 of 2017 bounds the moment of a (2 gamma, 0)-private mechanism by the
# logarithm of::
#
#     (1 - q) ((1 - q) / (1 - e^{2 gamma} q))^l + q e^{2 gamma l}
#
# where `q` bounds the probability of all outcomes but one and `l` is the order minus 1. Its
# condition is::
#
#     q < (e^{2 gamma} - 1) / (e^{4 gamma} - 1) = 1 / (e^{2 gamma} + 1)
#
# The code of 2017 (`logmgf_exact`), and most copies of it, use the formula for all `q < 0.5`. The
# code of 2018 tests the right condition.
#
# *True.* The condition is needed. Take a mechanism with two outcomes, of probability 0.75 and
# 0.25 on one data set, and 0.75 e^-2 and the rest on another. It is (2, 0)-private, so 2 gamma =
# 2, and q = 0.25.


def formula(q, e0, order):
    l = order - 1
    return (1 - q) * ((1 - q) / (1 - math.exp(e0) * q)) ** l + q * math.exp(e0 * l)


p, p_other = np.array([0.75, 0.25]), 0.75 * math.exp(-2)
other = np.array([p_other, 1 - p_other])
# it is (2, 0)-private
print(round(float(abs(np.log(p / other)).max()), 12))
# -> 2.0
# what the code reports at order 2
print(round(math.log(formula(0.25, 2.0, order=2)), 3))
# -> 0.168
# what it is
print(round(math.log((p**2 / other).sum()), 3))
# -> 1.725
# the condition does not hold
print(1 / (math.exp(2) + 1) > 0.25)
# -> False

# %%
# Elsewhere the formula gives a negative cost, or the logarithm of a negative number:

print(round(math.log(formula(0.2, 2.0, order=2)), 3))
# -> -1.978
print(round(formula(0.4, 1.0, order=2), 3))
# -> -3.036

# %%
# `rdp.lnmax_rdp` and `rdp.laplace_rdp` use the theorem's condition:

print(repr(laplace_rdp([math.log(0.25)], gamma=1.0, orders=[2.0])))
# -> array([[2.]])

# %%
# At the noise of the papers (gamma 0.05) the two conditions are close: 0.475 and 0.5.
# %%
# One direction only
# ------------------
#
# *Written.* The data-dependent theorems of 2017 and 2018 bound the divergence of the outcomes on
# these votes *from* those on a neighbour's, D(P || P'). Their epsilons are computed from that.
#
# *True.* Differential privacy needs both directions, and the other one, D(P' || P), can be larger
# when the noise is small. For Laplace noise of scale 1.5 and a gap of 9 votes it is 26% larger
# than the bound; for Gaussian noise of standard deviation 3 and near-unanimous votes, 3.6 times.

for mechanism, votes, order in (
    (LNMax(1 / 1.5), [[129, 120]], [5.0]),
    (GNMax(3.0), [[249, 1]], [63.0]),
):
    bound, exact = mechanism.published_rdp(votes, order), exact_rdp(mechanism, votes, order)
    print(f"{bound[0, 0]:.3f} {exact[0, 0]:.3f}")
# -> 0.183 0.230
# -> 0.071 0.259

# %%
# At the noise of the papers' experiments (scale 20, standard deviation 40, 250 teachers) we know
# of no case: there the exact cost of both directions is below the bound. In this package the
# published bounds are for comparison with the papers, and feed neither a budget nor a guarantee.
# %%
# The bound is a bound
# --------------------
#
# *Written.* Data-dependent epsilons of 2017 and 2018 are given as the privacy cost of the votes.
#
# *True.* They are upper bounds of one direction. The exact divergence can be computed from the
# outcome distribution, and at the papers' noise it is smaller. With noise of scale 20 (Laplace)
# and 40 (Gaussian), at order 10:

for votes in ([[130, 120]], [[150, 100]], [[200, 50]]):
    for mechanism in (LNMax(0.05), GNMax(40.0)):
        bound = mechanism.published_rdp(votes, [10.0])[0, 0]
        exact = exact_rdp(mechanism, votes, [10.0])[0, 0]
        print(votes[0], type(mechanism).__name__, f"{bound:.5f} {exact:.5f} {bound / exact:.2f}")
# -> [130, 120] LNMax 0.05000 0.01160 4.31
# -> [130, 120] GNMax 0.00625 0.00399 1.57
# -> [150, 100] LNMax 0.02274 0.00397 5.72
# -> [150, 100] GNMax 0.00625 0.00338 1.85
# -> [200, 50] LNMax 0.00035 0.00007 4.71
# -> [200, 50] GNMax 0.00133 0.00033 4.07

# %%
# Both numbers depend on private votes. Neither is a guarantee, and publishing either leaks.
# %%
# The closed form
# ---------------
#
# *Written.* 2017 gives the epsilon of `T` queries on any votes, from strong composition, as::
#
#     4 T gamma^2 + 2 gamma sqrt(2 T log(1/delta))
#
# *True.* That holds, and is larger than it need be. One query costs at most `2 gamma^2 a` at
# order `a`, and the conversion of the same paper, minimised over `a`, gives `2 T gamma^2` in the
# first term.

T, gamma, delta = 500, 0.05, 1e-5
second = 2 * gamma * math.sqrt(2 * T * math.log(1 / delta))
print(round(4 * T * gamma**2 + second, 2), round(2 * T * gamma**2 + second, 2))
# -> 15.73 13.23
orders = np.linspace(1.01, 60, 6000)
print(round(rdp_to_epsilon(2 * T * gamma**2 * orders, delta, orders, "classic")[0], 2))
# -> 13.23

# %%
# Data-independent cost
# ---------------------
#
# *Written.* 2018 counts `a / sigma^2` per query and order for the argmax on any votes: the cost
# of publishing all noisy counts.
#
# *True.* The argmax reveals less than the counts. Its exact worst case, over all votes and any
# number of classes, is 0.64 of that at low orders.

orders = np.array([2.0, 10.0, 60.0])
print(repr((worst_case_rdp(GNMax(40.0), orders) / (orders / 40**2)).round(3)))
# -> array([0.64 , 0.641, 0.695])
counts = 500 * DEFAULT_ORDERS / 40**2  # 500 queries
print(round(rdp_to_epsilon(counts, 1e-5, DEFAULT_ORDERS, "classic")[0], 2))
# -> 4.11
# the counts, composed exactly
print(round(gdp_to_epsilon(math.sqrt(2 * 500) / 40, 1e-5), 2))
# -> 3.34
# the argmax
print(round(data_independent_epsilon(GNMax(40.0), 500, 1e-5)[0], 2))
# -> 2.82

# %%
# Composed exactly, the counts cost 19% less than the account of 2018 states, and the argmax 31%
# less. For Laplace noise the 13.23 of the entry before is the cost of any mechanism with that
# pure epsilon; the argmax of 250 votes for two classes costs 60% less:

public = {"n_teachers": 250, "n_classes": 2}
print(round(data_independent_epsilon(LNMax(0.05), 500, 1e-5, **public)[0], 2))
# -> 5.36

# %%
# Gaussian against Laplace
# ------------------------
#
# *Written.* 2018 (Figure 2) shows that Gaussian noise costs less than Laplace noise at equal
# accuracy.
#
# *True.* By the published bounds, and on any votes. By the exact cost of the votes the two are
# about equal ("Aggregators at equal accuracy" has more). Below, the scale of the Laplace noise is
# chosen for equal accuracy at a margin of 50 votes out of 250, and 1,000 such queries are counted:

votes, gamma = [[150, 100]], 0.0309986
for mechanism in (LNMax(gamma), GNMax(40.0)):
    right = math.exp(mechanism.outcome_log_proba(votes)[0, 0])
    curves = (
        mechanism.published_rdp(votes, DEFAULT_ORDERS),
        exact_rdp(mechanism, votes, DEFAULT_ORDERS),
    )
    eps = [rdp_to_epsilon(1000 * curve[0], 1e-5, DEFAULT_ORDERS)[0] for curve in curves]
    print(f"right {right:.4f}, published {eps[0]:.2f}, exact {eps[1]:.2f}")
# -> right 0.8116, published 10.47, exact 3.21
# -> right 0.8116, published 5.38, exact 3.69

# %%
# The price of a sanitised epsilon
# --------------------------------
#
# *Written.* A data-dependent cost is private. 2018 (Appendix B) publishes a noisy upper bound on
# it, with Gaussian noise of standard deviation sigma times a beta-smooth sensitivity. The code,
# citing Theorem 23, gives the price of that release at order `a < 1 / (2 beta)` as::
#
#     a e^{2 beta} / sigma^2 + (a beta - log(1 - 2 a beta) / 2) / (a - 1)
#
# *True.* On a neighbouring data set the sensitivity, and so the scale of the noise, may be
# smaller by `e^-beta`. The divergence of the two normal distributions is::
#
#     a e^{-2 beta} / (2 sigma^2 w) - (a beta + log(w) / 2) / (a - 1),   w = 1 + a (e^{-2 beta} - 1)
#
# which numerical integration confirms. The first formula falls below it once `a beta` exceeds
# about 0.28 (at order 20 and sigma 6).


def written(a, beta, sigma):
    return a * math.exp(2 * beta) / sigma**2 + (a * beta - math.log(1 - 2 * a * beta) / 2) / (a - 1)


def integrated(a, beta, sigma):
    p, q = norm(0, sigma), norm(math.exp(-beta), sigma * math.exp(-beta))

    def density(x):
        return math.exp(a * p.logpdf(x) + (1 - a) * q.logpdf(x))

    total = quad(density, -60 * sigma, 60 * sigma, points=[0], limit=500)[0]
    return math.log(total) / (a - 1)


for a_beta in (0.10, 0.25, 0.30, 0.45):
    case = 20.0, a_beta / 20, 6.0
    closed = smooth_release_rdp([20.0], case[1], 6.0)[0]
    print(f"{a_beta:.2f}: {written(*case):.3f} {closed:.3f} {integrated(*case):.3f}")
# -> 0.10: 0.572 0.344 0.344
# -> 0.25: 0.601 0.540 0.540
# -> 0.30: 0.612 0.667 0.667
# -> 0.45: 0.665 2.246 2.246

# %%
# Where `w` is not positive the cost is infinite: from `a beta` of about 0.5 on.
# %%
# The cost of checks and answers
# ------------------------------
#
# *Written.* Confident-GNMax checks every query and answers some. The usual account adds the
# check's cost for all queries to the answer's cost for those that were, or are expected to be,
# answered.
#
# *True.* Which queries were answered is an outcome of the mechanism's noise. A total that depends
# on it is a reading of one run, not a bound for the mechanism. One query, with noise 100 on the
# check and 1 on the answer, at delta 1e-5:

check, answer = 1 / 100**2, 2 / 1**2
# the reading, if it is refused
print(round(gdp_to_epsilon(math.sqrt(check), 1e-5), 2))
# -> 0.03
# if it is answered
print(round(gdp_to_epsilon(math.sqrt(check + answer), 1e-5), 2))
# -> 6.57

# %%
# `ConfidentGNMax` is one mechanism with one more outcome, "no answer", and every query asked pays
# its joint cost. A filter may give back what refused queries did not spend: there the guarantee
# is the limit of the filter, fixed in advance.
# %%
# Rounding half to even
# ---------------------
#
# *Written.* The code of 2018 rounds the largest count before the check (for the interactive
# variant, where counts minus expectations are not whole), and takes the rounded number's
# sensitivity to be 1. The mechanism in the paper does not round.
#
# *True.* Python rounds halves to even numbers, so a change by 1 may become 2. Rounding by
# `floor(x + 1/2)` would keep sensitivity 1.

print(round(0.5), round(1.5))
# -> 0 2
print(math.floor(0.5 + 0.5), math.floor(1.5 + 0.5))
# -> 1 2

# %%
# `InteractiveGNMax` does not round, neither in the mechanism nor in the account.
# %%
# The immutable argmax
# --------------------
#
# *Written.* Sun, Zhou, Yu and Xiong, *Differentially private deep learning with smooth
# sensitivity* (2020, arXiv 2003.00505; also known as near-zero-cost PATE), add a constant to the
# top count, so that noise almost never changes the answer, and report an epsilon near 0.
#
# *True.* The claim is about queries whose top two counts differ by more than 2, and which queries
# those are is private. On others, two neighbouring data sets give different answers almost
# surely.

immutable = ImmutableArgmax(sigma=40.0)  # the constant is the paper's
print(repr(np.exp(immutable.outcome_log_proba([[125, 125], [124, 126]])).round(3)))
# -> array([[0.993, 0.007],
# ->        [0.007, 0.993]])
claim = immutable.claimed_rdp([[127, 123]], DEFAULT_ORDERS)[0]
# claimed for one query
print(round(rdp_to_epsilon(claim, 1e-5, DEFAULT_ORDERS)[0], 2))
# -> 0.12
print(round(data_independent_epsilon(immutable, 1, 1e-5, n_teachers=250, n_classes=2)[0], 2))
# -> 5.03

# %%
# `StableArgmax` is a sound mechanism with the same aim; see Aggregators.
# %%
# Permute and flip
# ----------------
#
# *Written.* Some accounts give noisy max with exponential noise (permute and flip), which is
# e0-private, the cost `a e0^2 / 8` of the exponential mechanism (opendp 2911).
#
# *True.* That is proved for mechanisms of bounded range, which this one is not. Its exact cost on
# two classes is 3.6 times as much; the bound for any pure mechanism is at most `a e0^2 / 2`.

votes = np.column_stack([np.arange(251), 250 - np.arange(251)])
exact = exact_rdp(ExponentialNMax(0.05), votes, [2.0]).max()  # 0.1-private
print(f"{2 * 0.1**2 / 8:.5f} {exact:.5f} {pure_rdp(0.1, [2.0])[0]:.5f}")
# -> 0.00250 0.00910 0.00996

# %%
# Errors in public code
# ---------------------
#
# Those above apart, these were found in public implementations of PATE and of kin (see
# "Results" for sources). They are easy to make, so they are listed.
#
# - Orders given as whole numbers, and a table of them filled with infinity in their own type
#   (2018, `rdp_pure_eps`): the entries become large negative numbers.
# - `exp(gap)` of a large margin, which overflows (2017). Here all costs are computed in log
#   space.
# - Laplace noise added to an array of whole numbers, which cuts it off to whole numbers; the
#   generator seeded anew, with the same seed, at every call (tinydp).
# - Parts in the order of the file (tinydp), drawn anew for every teacher and step (synthcity
#   275), or the first part for every teacher (mlforhealthlabpub 29).
# - A misplaced index in the moments accountant, so that it underestimates (synthcity 276).
# - Rows sampled with replacement, accounted for as Poisson sampling (Private kNN).
# - Bounds of the data read from private rows (synthcity 278).
# - Noisy predictions of the teachers without limit after fitting (tinydp).
