"""The known errors of public PATE code: ours gets each right, and the wrong version differs.

Each test says what was wrong and where, has the wrong version inline, and compares both with a
reference that is neither: a closed form, many digits, enumeration or simulation.
"""

import contextlib
import inspect
import itertools
import math
import pickle

import mpmath as mp
import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.naive_bayes import GaussianNB

from sklearn_pate import PATEClassifier
from sklearn_pate.accountant import RenyiFilter, plan_queries
from sklearn_pate.aggregators import (
    ConfidentGNMax,
    ExponentialNMax,
    GNMax,
    ImmutableArgmax,
    InteractiveGNMax,
    LNMax,
    PluralityVote,
    stable_leads,
)
from sklearn_pate.classifier import estimator as estimator_module
from sklearn_pate.classifier.seeds import seed_streams
from sklearn_pate.exceptions import StudentError
from sklearn_pate.propose_test_release import ProposeTestRelease
from sklearn_pate.rdp import (
    DEFAULT_ORDERS,
    epsilon_by_order,
    exact_rdp,
    gdp_to_epsilon,
    gnmax_rdp,
    laplace_rdp,
    lead_rdp,
    lnmax_rdp,
    pure_rdp,
    rdp_to_epsilon,
    worst_case_rdp,
)
from sklearn_pate.smooth_sensitivity import (
    SanitizedRelease,
    leads,
    smooth_release_rdp,
    smooth_sensitivity,
)
from sklearn_pate.teachers import collect_votes


def hockey_stick(p, q, epsilon):
    """The delta of two outcome distributions at epsilon, both ways."""
    return max(np.maximum(a - math.exp(epsilon) * b, 0).sum() for a, b in ((p, q), (q, p)))


def moves(counts):
    """Every histogram that one moved vote makes of this one."""
    for u, v in itertools.permutations(range(len(counts)), 2):
        if counts[u]:
            moved = list(counts)
            moved[u] -= 1
            moved[v] += 1
            yield moved


# --- 1. the data-dependent bound outside its condition -------------------------------------------


@pytest.mark.parametrize("gamma", [0.5, 1.0, 2.0])
def test_data_dependent_bound_is_used_inside_its_condition_only(gamma):
    # 2017 (`logmgf_exact`): the formula of Theorem 3 for all q < 0.5, not q < 1 / (e^(2 gamma) + 1)
    e0, condition = 2 * gamma, 1 / (math.exp(2 * gamma) + 1)

    def of_2017(q, order):
        value = (1 - q) * ((1 - q) / (1 - math.exp(e0) * q)) ** (order - 1)
        value += q * math.exp(e0 * (order - 1))
        return math.log(value) / (order - 1) if value > 0 else math.nan

    def true(q, order):  # two outcomes, as far from a neighbour's as (2 gamma, 0)-privacy allows
        with mp.workdps(40):
            a, e, p = mp.mpf(order), mp.exp(mp.mpf(e0)), [1 - mp.mpf(q), mp.mpf(q)]
            other = max(p[0] / e, 1 - e * p[1])
            moment = p[0] ** a * other ** (1 - a) + p[1] ** a * (1 - other) ** (1 - a)
            return float(mp.log(moment) / (a - 1))

    too_small = 0
    for q in np.append(np.linspace(0.02, 0.98, 9) * condition, np.linspace(condition, 0.499, 9)):
        for order in (2.0, 3.0, 9.0):
            got = laplace_rdp([math.log(q)], gamma, [order])[0, 0]
            assert got >= true(q, order) * (1 - 1e-9)
            too_small += not of_2017(q, order) >= true(q, order)
    assert too_small > 0
    if gamma == 1.0:
        assert (of_2017(0.25, 2), true(0.25, 2)) == pytest.approx((0.168, 1.725), abs=1e-3)
        assert of_2017(0.2, 2) < 0


# --- 2. integer orders turned into infinities ----------------------------------------------------


def test_infinite_costs_at_whole_orders_stay_infinite():
    # 2018 (`rdp_pure_eps`): np.full_like(orders, inf) keeps the integer type of the orders
    orders = [2, 8, 32]
    with np.errstate(invalid="ignore"):
        wrong = np.full_like(np.array(orders), np.inf)
    assert (wrong < 0).all()  # a cost of about -9e18
    votes = [[6, 4], [9, 1]]
    for cost in (
        worst_case_rdp(PluralityVote(), orders),
        PluralityVote().published_rdp(votes, orders)[0],
        worst_case_rdp(ImmutableArgmax(math.inf, sigma=40.0), orders, n_teachers=10, n_classes=3),
        exact_rdp(PluralityVote(), [[5, 5]], orders)[0],
        smooth_release_rdp(np.array(orders), beta=0.5, sigma=6.0),
    ):
        assert np.isposinf(cost).all()
    assert rdp_to_epsilon([np.inf] * 3, 1e-5, orders)[0] == math.inf


def test_whole_orders_are_orders():
    whole, real = np.array([2, 8, 32]), np.array([2.0, 8.0, 32.0])
    votes = [[150, 100], [240, 10]]
    for cost in (
        lambda a: lnmax_rdp(votes, 0.05, a),
        lambda a: gnmax_rdp(votes, 40.0, a),
        lambda a: exact_rdp(GNMax(40.0), votes, a),
        lambda a: pure_rdp(0.1, a),
        lambda a: worst_case_rdp(GNMax(40.0), a),
        lambda a: worst_case_rdp(GNMax(40.0, "discrete"), a),
        lambda a: worst_case_rdp(ConfidentGNMax(150, 40.0, 30.0), a),
        lambda a: lead_rdp(LNMax(0.05), a, n_teachers=20, n_classes=3),
        lambda a: smooth_release_rdp(a, 0.01, 6.0),
        lambda a: epsilon_by_order([1, 2, 3], 1e-5, a),
    ):
        np.testing.assert_array_equal(cost(whole), cost(real))
        assert cost(whole).dtype == float


# --- 3. sensitivity on unsorted counts -----------------------------------------------------------


@pytest.mark.parametrize("counts", list(itertools.permutations([20, 30, 200])), ids=str)
def test_sensitivity_does_not_depend_on_the_order_of_the_counts(counts):
    # 2018: local sensitivity from the first two counts as if they were the largest two
    cost = lead_rdp(GNMax(40.0), [10.0], n_teachers=250, n_classes=3)[:, 0]

    def first_two(counts):
        return max(counts[0] - counts[1], 0) // 2

    true = max(abs(cost[leads([near])[0]] - cost[leads([counts])[0]]) for near in moves(counts))
    got = smooth_sensitivity(cost, leads([counts]), beta=700.0)  # no weight on other teachers
    assert got >= true > 0
    assert got == smooth_sensitivity(cost, leads([[200, 30, 20]]), beta=700.0)
    if counts[0] < 200:  # a query that looks tied, whose cost is flat
        lead = first_two(counts)
        assert cost[lead] == cost[lead + 1] and got > 0
    assert (leads([counts])[0], stable_leads([counts])[0]) == (85, 84)


def fewest_moves_to_another_argmax(counts):
    reached, seen = {tuple(counts)}, 0
    while all(np.argmax(c) == np.argmax(counts) for c in reached):
        reached |= {tuple(near) for c in reached for near in moves(c)}
        seen += 1
    return seen


def test_leads_count_moves_in_any_order_of_classes():
    for counts in ([2, 3, 7], [7, 3, 2], [3, 3, 4], [5, 1], [1, 5], [0, 0, 6, 1]):
        for order in itertools.permutations(counts):
            needed = fewest_moves_to_another_argmax(order)
            # one teacher moves a vote from the first class to the second: the gap shrinks by 2
            assert stable_leads([order])[0] <= needed - 1
            assert stable_leads([order])[0] == stable_leads([sorted(counts)])[0]
            assert leads([order])[0] == leads([sorted(counts)])[0]


# --- 4. noise added to an int array --------------------------------------------------------------


@pytest.mark.parametrize(
    ("mechanism", "lose"),
    [
        (LNMax(3.0), (2 + 3) / 4 * math.exp(-3)),
        (ExponentialNMax(3.0), math.exp(-3) / 2),
        (GNMax(0.5), norm.cdf(-math.sqrt(2))),
        (ConfidentGNMax(1, sigma1=1e-3, sigma2=0.5), norm.cdf(-math.sqrt(2))),
    ],
    ids=["laplace", "exponential", "gaussian", "confident"],
)
def test_noise_is_not_cut_to_whole_votes(mechanism, lose):
    # tinydp: `counts[j] += laplace(...)` on an array of ints, which drops the fraction
    n, rng = 200_000, np.random.default_rng(0)
    votes = np.tile([6, 5], (n, 1))
    share = (mechanism.aggregate(votes, random_state=1) == 1).mean()
    margin = 5 * math.sqrt(lose / n)
    assert abs(share - lose) < margin
    scale = 1 / 3 if hasattr(mechanism, "gamma") else 0.5
    draw = {LNMax: rng.laplace, ExponentialNMax: rng.exponential}.get(type(mechanism), rng.normal)
    cut = votes.copy()
    cut += draw(scale=scale, size=votes.shape).astype(int)
    assert abs((cut.argmax(axis=1) == 1).mean() - lose) > 3 * margin


# --- 5. and 6. partitions ------------------------------------------------------------------------


class Witness(ClassifierMixin, BaseEstimator):
    """Remembers the records it saw; votes by the first of them."""

    def fit(self, X, y):
        self.classes_, self.seen_ = np.unique(y), np.asarray(X)[:, 0].astype(int)
        self.vote_ = int(y[0])
        return self

    def predict(self, X):
        return np.full(len(X), self.vote_)


N, T = 600, 20
RECORDS = np.column_stack([np.arange(N), np.random.default_rng(0).normal(size=N)])
LABELS = np.random.default_rng(1).integers(0, 2, size=N)


def parts_in_a_fit(**params):
    clf = PATEClassifier(
        Witness(),
        **{"n_teachers": T, "classes": [0, 1], "keep_teachers": True, "student": GaussianNB()}
        | {"epsilon": None, "aggregator": GNMax(0.1), "n_queries": 2},
        **params,
    )
    index = [f"person {i}" for i in range(N)]
    X, X_public = (pd.DataFrame(x, columns=["a", "b"]) for x in (RECORDS, RECORDS[:5]))
    groups = np.repeat(np.arange(N // 3), 3) if params.get("unit") == "group" else None
    with contextlib.suppress(StudentError):  # nothing here is about the student
        clf.fit(X.set_index([index]), LABELS, X_public, groups=groups)
    return [t.seen_ for t in clf.curator_.teachers if t is not None]


@pytest.mark.parametrize(
    "params", [{}, {"partition": "hash"}, {"unit": "group"}], ids=["random", "hash", "groups"]
)
def test_every_record_reaches_one_teacher_once(params):
    # synthcity 275: a part is drawn anew for every teacher (and step), so records reach many
    # teachers and some none; tinydp: parts in the order of the file
    parts = parts_in_a_fit(**params)
    held = np.concatenate(parts)
    np.testing.assert_array_equal(np.sort(held), np.arange(N))
    assert (np.diff([part.mean() for part in parts]) < 0).any()  # not in the order of the file
    rng = np.random.default_rng(0)
    wrong = [rng.permutation(N)[: N // T] for _ in range(T)]
    repeated = np.bincount(np.concatenate(wrong), minlength=N)
    assert repeated.max() > 1 and repeated.min() == 0


def test_every_teacher_has_its_own_part():
    # mlforhealthlabpub 29 (PATE-GAN): the first part is fed to every teacher, so that one record
    # of it changes all votes
    parts = parts_in_a_fit()
    assert len({tuple(part) for part in parts}) == T
    teacher = np.arange(N) % T

    def changed(assigned):
        """L1 distance of the votes after one record of the first part changed its label."""
        votes = []
        for first in (0, 1):
            codes = LABELS.copy()
            codes[0] = first
            part_codes = [codes[rows] for rows in assigned]
            votes.append(np.bincount([int(c[0]) for c in part_codes], minlength=2))
        return np.abs(votes[0] - votes[1]).sum()

    own = [np.flatnonzero(teacher == i) for i in range(T)]
    assert (changed(own), changed([own[0]] * T)) == (2, 2 * T)
    ours = []
    for first in (0, 1):
        codes = LABELS.copy()
        codes[0] = first
        counts, _ = collect_votes(
            [Witness()],
            RECORDS,
            codes,
            RECORDS[:3],
            teacher_indices=teacher,
            n_teachers=T,
            n_classes=2,
        )
        ours.append(counts)
    assert np.abs(ours[0] - ours[1]).sum(axis=1).tolist() == [2, 2, 2]


# --- 7. expected instead of realised cost --------------------------------------------------------


def test_the_cost_of_answers_is_neither_expected_nor_realised():
    # capc and others: a checked query is charged its check, and its answer times the probability
    # (or the fact) that it was answered
    mechanism, delta = ConfidentGNMax(60, sigma1=4.0, sigma2=0.3), 1e-5
    votes, near = [[50, 50]], [[49, 51]]
    p, q = (np.exp(mechanism.outcome_log_proba(v)[0]) for v in (votes, near))
    answered = 1 - p[-1]
    check, answer = 1 / mechanism.sigma1**2, 2 / mechanism.sigma2**2
    expected = gdp_to_epsilon(math.sqrt(check + answered * answer), delta)
    refused = gdp_to_epsilon(math.sqrt(check), delta)
    plan = plan_queries(
        *(mechanism, 1), n_public=1, n_teachers=100, n_classes=2, epsilon=None, delta=delta
    )
    assert hockey_stick(p, q, plan.epsilon) <= delta
    assert hockey_stick(p, q, expected) > 100 * delta
    assert hockey_stick(p, q, refused) > 100 * delta  # what a refused query reads
    assert refused < expected < plan.epsilon and 0.001 < answered < 0.01
    # one query, noise 100 on the check and 1 on the answer: 0.027 if refused, 6.57 if answered
    dear = ConfidentGNMax(60, sigma1=100.0, sigma2=1.0)
    told = [gdp_to_epsilon(mu, delta) for mu in (1 / 100, math.sqrt(1 / 100**2 + 2))]
    assert told == pytest.approx([0.027, 6.57], abs=0.005)
    p, q = (np.exp(dear.outcome_log_proba(v)[0]) for v in (votes, near))
    assert hockey_stick(p, q, told[0]) > 0.01


def test_a_filter_spends_what_was_answered_and_not_what_was_expected():
    rng, check, answer, chance = np.random.default_rng(0), 0.01, 0.2, 0.1
    limit, overdrawn, most = 1.0, 0, 0.0
    for _ in range(500):
        answers = rng.random(200) < chance
        budget = RenyiFilter(order=10.0, limit=limit)
        asked = budget.allow(answers, check, answer)
        realised = check * asked + answer * answers[:asked].sum()
        assert realised == pytest.approx(budget.spent) and realised <= limit
        most = max(most, realised)
        by_expectation = int(limit / (check + chance * answer))
        overdrawn += check * by_expectation + answer * answers[:by_expectation].sum() > limit
    assert overdrawn > 100 and most > 0.95


# --- 8. order and beta picked on private votes ---------------------------------------------------


def test_nothing_is_chosen_by_looking_at_the_votes():
    # 2018 (smooth_sensitivity_table): the order, and beta, that give the smallest figure on these
    # votes are taken, and their choice is not paid for
    n_queries, public = 100, {"n_teachers": 250, "n_classes": 2}
    table = lead_rdp(GNMax(40.0), DEFAULT_ORDERS, **public)

    def best_order(lead):
        return rdp_to_epsilon(n_queries * table[lead], 1e-5, DEFAULT_ORDERS)[1]

    # one teacher, who changes all leads by 1, changes the published order for certain
    assert any(best_order(lead) != best_order(lead + 1) for lead in range(40, 60))
    for plan in (ProposeTestRelease.plan, plan_queries, GNMax(40.0).costs):
        assert not {"votes", "counts", "X", "y"} & set(inspect.signature(plan).parameters)
    assert inspect.signature(SanitizedRelease).parameters["order"].default is inspect._empty
    # a fit: order and limit of its test and what it says was spent are the same for all votes
    rows = np.column_stack([np.arange(400) % 2, np.arange(400)]).astype(float)
    tests, spent = [], []
    for lead in (124, 90):
        votes = np.full((400, 2), 125) + np.outer(1 - 2 * (np.arange(400) % 2), [lead, -lead])
        clf = PATEClassifier(
            GaussianNB(),
            **{"aggregator": GNMax(40.0), "n_queries": 400, "accounting": "ptr"},
            **{"epsilon": 1.6, "random_state": 0},
        ).fit_votes(votes, rows)
        tests.append(clf.curator_.test)
        spent.append(clf.privacy_spent_)
        assert clf.curator_.test.pass_probability(votes) > 0.9
    assert (tests[0].order, tests[0].limit) == (tests[1].order, tests[1].limit)
    assert (spent[0].epsilon, spent[0].method) == (spent[1].epsilon, spent[1].method)


# --- 9. the cost of the smooth-sensitivity release -----------------------------------------------


@pytest.mark.parametrize("a_beta", [0.1, 0.3, 0.45])
def test_the_release_costs_what_quadrature_says(a_beta):
    # 2018 (`rdp_sensitivity`): a formula that falls below the divergence as a * beta passes 0.28
    a, sigma = 20.0, 6.0
    beta = a_beta / a
    of_2018 = a * math.exp(2 * beta) / sigma**2
    of_2018 += (a_beta - math.log(1 - 2 * a_beta) / 2) / (a - 1)
    with mp.workdps(30):  # neighbours: the other has the smaller sensitivity
        ratio = mp.exp(-mp.mpf(beta))
        curvature = a + (1 - a) / ratio**2
        peak = (1 - a) / (ratio * curvature)
        reach = 40 * sigma / mp.sqrt(curvature)
        moment = mp.quad(
            lambda x: (
                mp.npdf(x, 0, sigma) ** a * mp.npdf(x, ratio, sigma * ratio) ** (1 - mp.mpf(a))
            ),
            [peak - reach, peak - reach / 8, peak, peak + reach / 8, peak + reach],
        )
        true = float(mp.log(moment) / (a - 1))
    assert smooth_release_rdp([a], beta, sigma)[0] == pytest.approx(true, rel=1e-9)
    assert (of_2018 < true) == (a_beta >= 0.3)
    release = SanitizedRelease(order=a, beta=beta, sigma_scale=10.0, sigma_cost=sigma)
    assert release.rdp == pytest.approx(a / (2 * 10**2) + true, rel=1e-9)


# --- 10. rounding in the accounting only ---------------------------------------------------------


def test_the_check_is_rounded_neither_in_the_mechanism_nor_in_its_account():
    # 2018: the largest of counts minus expectations is rounded, half to even, before its cost is
    # computed; the mechanism compares the number itself, and so rounded its sensitivity would be 2
    sigma = 0.6
    interactive = InteractiveGNMax(1, sigma1=sigma, sigma2=5.0, confidence=0.99)
    n_samples = 100_000
    of_2018 = []
    for votes, p in (([5, 5], 0.45), ([6, 4], 0.45), ([7, 3], 0.45), ([5, 5], 0.43)):
        proba = [p, 1 - p]
        excess = max(votes[0] - 10 * p, votes[1] - 10 * (1 - p))
        fails = norm.cdf((1 - excess) / sigma)
        got = interactive.outcome_log_proba([votes], [proba])[0]
        assert math.exp(got[-1]) == pytest.approx(fails, rel=1e-9)
        rows = np.tile(votes, (n_samples, 1)), np.tile(proba, (n_samples, 1))
        _, paid = interactive.draw(*rows, random_state=0)
        assert abs(1 - paid.mean() - fails) < 5 * math.sqrt(fails * (1 - fails) / n_samples)
        of_2018.append(norm.cdf((1 - round(excess)) / sigma))
        assert abs(of_2018[-1] - fails) > 0.03
    # one teacher is between the first two votes, whose halves go to 0 and 2: more than is claimed
    # for the check alone; the numbers themselves cost less
    a, wide = 3.0, 6.0
    claimed = a / (2 * wide**2)
    costs = []
    for first, second in ((0.5, 1.5), (round(0.5), round(1.5))):
        p, q = (norm.cdf([(1 - x) / wide, (x - 1) / wide]) for x in (first, second))
        costs.append(math.log(max((x**a * y ** (1 - a)).sum() for x, y in ((p, q), (q, p)))))
    assert costs[0] / (a - 1) < claimed < costs[1] / (a - 1)
    interactive = InteractiveGNMax(1, sigma1=wide, sigma2=1e6, confidence=0.99)  # tells no class
    got = exact_rdp(interactive, [[5, 5], [6, 4]], [a], student_proba=[[0.45, 0.55]] * 2)
    assert costs[0] / (a - 1) * (1 - 1e-6) <= got.max() < claimed


# --- 11. exp(gap) --------------------------------------------------------------------------------


def test_large_margins_do_not_overflow():
    # 2017 (`compute_q_noisy_max`): exp(gamma * gap), which overflows from 710 on
    gap, gamma = 1000, 1.0
    with pytest.raises(OverflowError):
        (2 + gamma * gap) / (4 * math.exp(gamma * gap))
    for mechanism, tail in (
        (LNMax(gamma), lambda g: (2 + g) / 4 * mp.exp(-g)),
        (ExponentialNMax(gamma), lambda g: mp.exp(-g) / 2),
        (GNMax(1.0), lambda g: mp.ncdf(-g / mp.sqrt(2))),
    ):
        for lead in (gap, 30 * gap):
            got = mechanism.outcome_log_proba([[lead, 0]])[0, 1]
            with mp.workdps(40):
                assert got == pytest.approx(float(mp.log(tail(mp.mpf(lead)))), rel=1e-12)
    for votes in ([[10**6, 0, 0]], [[10**6, 10**6, 0]], [[10**9, 0]]):
        for cost in (
            lnmax_rdp(votes, gamma, DEFAULT_ORDERS),
            gnmax_rdp(votes, 1.0, DEFAULT_ORDERS),
        ):
            assert np.isfinite(cost).all() and (cost >= 0).all()
    # where it is not negligible: 2 votes of noise scale 1e-3 apart, in many digits
    order, noise = 1500.0, 1 / 0.7
    with mp.workdps(60):
        p, q = (mp.mpf(d) for d in (1000, 998))
        p, q = ((2 + d * noise) / 4 * mp.exp(-d * noise) for d in (p, q))
        reverse = q**order * p ** (1 - mp.mpf(order)) + (1 - q) ** order * (1 - p) ** (1 - order)
        true = float(mp.log(reverse) / (order - 1))
    cost = exact_rdp(LNMax(noise), [[1000, 0]], [order])[0, 0]
    assert cost == pytest.approx(true, rel=1e-6) and cost > 0.1


# --- 12. permute-and-flip accounted as the exponential mechanism ---------------------------------


def test_permute_and_flip_costs_more_than_the_exponential_mechanism():
    # opendp 2911: charged a e0^2 / 8, which is proved for mechanisms of bounded range only
    gamma, n_teachers = 0.05, 250
    e0 = 2 * gamma
    for order in (2.0, 10.0):
        true = mp.mpf(0)
        with mp.workdps(40):
            a = mp.mpf(order)
            for gap in range(-n_teachers, n_teachers - 1, 2):
                # permute, then flip: the leader wins at once or after the other was turned down
                win = [
                    1 - mp.exp(-gamma * g) / 2 if g >= 0 else mp.exp(gamma * g) / 2
                    for g in map(mp.mpf, (gap, gap + 2))
                ]
                p, q = ([w, 1 - w] for w in win)
                for x, y in ((p, q), (q, p)):
                    moment = mp.fsum(s**a * t ** (1 - a) for s, t in zip(x, y, strict=True))
                    true = max(true, mp.log(moment) / (a - 1))
        true = float(true)
        wrong = order * e0**2 / 8
        two = worst_case_rdp(ExponentialNMax(gamma), [order], n_teachers=n_teachers, n_classes=2)[0]
        many = worst_case_rdp(ExponentialNMax(gamma), [order])[0]
        assert wrong < 0.6 * true
        assert true <= two <= true * (1 + 1e-6)
        assert true <= many <= order * e0**2 / 2


# --- 13. seeds stored with the model -------------------------------------------------------------


VOTES = np.column_stack([np.full(60, 52), np.full(60, 48)])  # so close that noise decides
ROWS = np.column_stack([np.arange(60) % 2, np.arange(60)]).astype(float)
SEED = 987_654_321


def noisy(**params):
    return PATEClassifier(GaussianNB(), aggregator=GNMax(5.0), epsilon=None, n_queries=60, **params)


@pytest.mark.parametrize("seed", [SEED, np.random.RandomState(SEED)], ids=["int", "instance"])
def test_the_seed_of_the_noise_does_not_leave_with_the_model(seed):
    # tinydp and kin: the generator, or its seed, is an attribute of the model and pickled with it
    clf = noisy(random_state=seed).fit_votes(VOTES, ROWS)
    content = pickle.dumps(clf)
    loaded = pickle.loads(content)
    assert loaded.random_state is None and clf.random_state is seed
    if seed is SEED:
        assert SEED.to_bytes(4, "little") in pickle.dumps(vars(loaded) | {"random_state": SEED})
        assert SEED.to_bytes(4, "little") not in content and str(SEED).encode() not in content
        # who has it subtracts the noise: the labels follow from the votes
        streams = seed_streams(SEED)
        noise = np.random.default_rng(streams["noise"]).normal(scale=5.0, size=(60, 2))
        np.testing.assert_array_equal(
            clf.public_labels_[clf.query_indices_], (VOTES + noise).argmax(axis=1)
        )
        assert 0 < clf.public_labels_.mean() < 1


def test_a_seed_does_not_leave_with_a_fit_whose_student_failed():
    class Fails(GaussianNB):
        def fit(self, X, y):
            if len(X) == 60 and 0 < y.mean() < 1 and y.tolist() != [0, 1] * 30:
                raise ValueError("no")
            return super().fit(X, y)

    clf = noisy(random_state=SEED, student=Fails())
    with pytest.raises(StudentError):
        clf.fit_votes(VOTES, ROWS)
    state = clf.__getstate__()
    assert state["random_state"] is None and "curator_" not in state


def test_no_two_uses_share_a_source_of_randomness(monkeypatch):
    # which rows are asked is published: drawn from the same source as the noise, it tells it
    fixed = {use: np.random.SeedSequence(i) for i, use in enumerate(seed_streams(0))}

    def released(**fresh):
        monkeypatch.setattr(estimator_module, "seed_streams", lambda *_: fixed | fresh)
        clf = noisy().fit_votes(np.tile(VOTES, (3, 1)), np.tile(ROWS, (3, 1)))
        return clf.query_indices_.tolist(), clf.public_labels_[clf.query_indices_].tolist()

    queries, labels = released()
    assert released() == (queries, labels)
    for use in ("noise", "queries"):
        other = released(**{use: np.random.SeedSequence(99)})
        assert (other[0] != queries, other[1] != labels) == (use == "queries", use == "noise")


def test_the_private_test_has_a_source_of_its_own(monkeypatch):
    drawn = []

    def passes(self, votes, random_state=None):
        drawn.append(np.random.default_rng(random_state).random())
        return True

    monkeypatch.setattr(ProposeTestRelease, "passes", passes)
    clf = PATEClassifier(
        GaussianNB(),
        **{"aggregator": GNMax(40.0), "n_queries": 60, "epsilon": 0.65, "accounting": "ptr"},
        random_state=SEED,
    )
    clf.fit_votes(np.tile([[250, 0], [0, 250]], (30, 1)), ROWS)
    streams = seed_streams(SEED)
    matches = [use for use, s in streams.items() if np.random.default_rng(s).random() == drawn[0]]
    assert matches == ["test"]
