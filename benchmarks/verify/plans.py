"""Random plans over all paths of the library, as privacy statements.

The noise and the numbers are random. The costs and epsilons are from the library: the functions
that plan a fit get parts of a fit that has no data.
"""

import dataclasses
import json
import math
import warnings
from functools import partial
from types import SimpleNamespace

import numpy as np

from sklearn_pate import PATEClassifier, PATERegressor, PrivacySpent
from sklearn_pate.accounting.budget import cost_of_all, plan_queries, plan_table
from sklearn_pate.aggregators import (
    ConfidentGNMax,
    ExponentialNMax,
    GaussianMechanism,
    GNMax,
    LaplaceMechanism,
    LNMax,
    SoftVote,
    StableArgmax,
)
from sklearn_pate.encoding.targets import ClassTarget
from sklearn_pate.exceptions import BudgetExceededError
from sklearn_pate.fitting.first_release import FirstRelease
from sklearn_pate.fitting.guarantees import with_guarantee
from sklearn_pate.methods.choose import MethodChoice
from sklearn_pate.model_selection.candidates import fit_rdp, search_cost, search_record
from sklearn_pate.rdp import (
    DEFAULT_ORDERS,
    Contribution,
    Cost,
    Event,
    Neighbors,
    TrialCount,
)
from sklearn_pate.rdp.cost import no_cost
from sklearn_pate.rdp.records import branches_record, composition, finished
from sklearn_pate.schema_release import ClassRelease, RangeRelease, ShareRelease
from sklearn_pate.synthesis import MarginalSynthesizer

RELATIONS = ("replace_one", "add_or_remove_one", "add_remove_or_change_one")
N_TEACHERS = 100


class OneRelease:
    """A release of counts, as a user would define it."""

    def __init__(self, mechanism, n_counts):
        self.mechanism, self.n_counts = mechanism, n_counts

    def event(self, neighbors):
        return Event(self.mechanism, neighbors.counts(self.n_counts))

    def describe(self):
        return f"{self.n_counts} counts"


class PublicScores:
    """Scores of trials on public rows."""

    rdp = staticmethod(fit_rdp)

    def score_scale(self, plan):
        return None


class NoisyScores:
    """Scores of trials with noise of one standard deviation."""

    def __init__(self, scale):
        self.scale = scale

    def rdp(self, plan):
        return np.maximum(fit_rdp(plan), DEFAULT_ORDERS / (2 * self.scale**2))

    def score_scale(self, plan):
        return self.scale


def log_uniform(rng, low, high):
    return float(np.exp(rng.uniform(np.log(low), np.log(high))))


def random_noise(rng):
    """A mechanism for counts, discrete or continuous."""
    noise = str(rng.choice(["discrete", "continuous"], p=[0.8, 0.2]))
    if rng.random() < 0.5:
        return LaplaceMechanism(log_uniform(rng, 0.5, 60), noise)
    return GaussianMechanism(log_uniform(rng, 1, 100), noise)


def a_fit(rng, releases=()):
    """Inputs of a fit without data: releases of the user, and a method that is set later."""
    relation = str(rng.choice(RELATIONS))
    neighbors = Neighbors(relation=relation, unit="record")
    # Few deltas, so that costs of equal mechanisms are found in the cache
    delta = float(rng.choice([1e-6, 1e-5, 1e-4]))
    epsilon = float(rng.choice([0.3, 1.0, 3.0, 8.0]))
    prior = partial(cost_of_all, releases, neighbors) if releases else no_cost
    events = [release.event(neighbors) for release in releases]
    return SimpleNamespace(
        neighbors=neighbors,
        cap=(epsilon, delta),
        synthesis=None,
        extra_releases=tuple(releases),
        prior_cost=prior,
        prior_is_pure=all(event.is_pure for event in events),
        n_teachers=N_TEACHERS,
        target=ClassTarget(range(int(rng.choice([2, 3, 10], p=[0.6, 0.2, 0.2])))),
        method=SimpleNamespace(released_as="a noisy table of the records' votes"),
        contribution=neighbors.counts(int(rng.integers(1, 4))),
    )


def random_releases(rng, most=3):
    return [
        OneRelease(random_noise(rng), int(rng.integers(1, 9)))
        for _ in range(rng.integers(0, most + 1))
    ]


def table(rng):
    """Counts and histograms, and a table of votes with calibrated or given noise."""
    inputs = a_fit(rng, random_releases(rng))
    kind = LaplaceMechanism if rng.random() < 0.6 else GaussianMechanism
    mechanism = kind() if rng.random() < 0.6 else random_noise(rng)
    epsilon = inputs.cap[0] if mechanism.with_scale(1.0) is not None else None
    plan = plan_table(
        mechanism,
        contribution=inputs.contribution,
        n_rows=100,
        epsilon=epsilon,
        delta=inputs.cap[1],
        before=inputs.prior_cost,
        prior_is_pure=inputs.prior_is_pure,
    )
    return inputs, with_guarantee(plan, inputs)


def random_aggregator(rng):
    scale = float(rng.choice([10.0, 20.0, 40.0]))
    noise = str(rng.choice(["continuous", "discrete"], p=[0.8, 0.2]))
    return [
        GNMax(scale, noise),
        LNMax(1 / scale, noise),
        ExponentialNMax(1 / scale),
        ConfidentGNMax(0.7, 2 * scale, scale),
        SoftVote(scale, noise=noise),
        StableArgmax(5 / scale, max_unstable=int(rng.integers(1, 6))),
    ][rng.integers(6)]


def queries(rng):
    """Queries of teachers in one or two stages, after some counts; maybe with a filter."""
    inputs = a_fit(rng, random_releases(rng, most=1))
    inputs.target = ClassTarget(range(2 if rng.random() < 0.7 else 3))
    # A release in front that is cheap, so that the rest pays for queries
    inputs.extra_releases and setattr(inputs.extra_releases[0], "n_counts", 1)
    stages = [random_aggregator(rng) for _ in range(1 + (rng.random() < 0.3))]
    soft = [stage for stage in stages if isinstance(stage, SoftVote | StableArgmax)]
    stages = soft[:1] or stages
    n_queries = [int(rng.integers(1, 60)) for _ in stages]
    plan = plan_queries(
        stages if len(stages) > 1 else stages[0],
        n_queries if len(stages) > 1 else n_queries[0],
        n_public=1000,
        n_teachers=N_TEACHERS,
        n_classes=inputs.target.n_values,
        epsilon=None if rng.random() < 0.5 else inputs.cap[0],
        delta=inputs.cap[1],
        before=inputs.prior_cost,
    )
    return inputs, with_guarantee(plan, inputs)


def private_test(rng):
    """Queries with a private test of the cost of the votes, after some counts or none."""
    releases = [OneRelease(random_noise(rng), 1)] if rng.random() < 0.5 else []
    inputs = a_fit(rng, releases)
    inputs.target = ClassTarget([0, 1])
    plan = plan_queries(
        GNMax(float(rng.choice([20.0, 40.0]))),
        int(rng.choice([100, 200])),
        n_public=1000,
        n_teachers=N_TEACHERS,
        n_classes=2,
        epsilon=inputs.cap[0],
        delta=inputs.cap[1],
        accounting="ptr",
        before=inputs.prior_cost,
    )
    return inputs, with_guarantee(plan, inputs)


def first_release(rng):
    """A release that finds classes, class shares or bounds, and a table within the rest."""
    inputs, plan = table(rng)
    epsilon = float(rng.uniform(0.05, 0.5))
    given = {"epsilon": epsilon, "neighbors": inputs.neighbors}
    release = [
        ClassRelease(**given, delta=inputs.cap[1] / 1000),
        ShareRelease(**given, delta=0.0, target=inputs.target, rare=0.05),
        RangeRelease(**given, delta=0.0),
    ][rng.integers(3)]
    limit = plan.epsilon * (1 if rng.random() < 0.5 else rng.uniform(1, 1.5))
    name, is_fixed = ("sums", True) if rng.random() < 0.5 else ("neighbors", False)
    cap = (limit, inputs.cap[1])
    return inputs, FirstRelease(release).added_to(plan, cap, MethodChoice(name, "", is_fixed))


def search(rng):
    """The best of a random number of trials, with public or noisy scores, after counts or none."""
    releases = [OneRelease(GaussianMechanism(log_uniform(rng, 20, 100)), 3)]
    inputs = a_fit(rng, releases if rng.random() < 0.5 else [])
    bare = a_fit(rng)
    bare.contribution = inputs.contribution
    plans = []
    for _ in range(rng.integers(1, 5)):
        if rng.random() < 0.7:
            mechanism = random_noise(rng)
            plan = plan_table(
                mechanism,
                contribution=bare.contribution,
                n_rows=100,
                epsilon=None,
                delta=inputs.cap[1],
            )
        else:
            bare.target = ClassTarget([0, 1])
            plan = plan_queries(
                GNMax(40.0),
                20,
                n_public=100,
                n_teachers=N_TEACHERS,
                n_classes=2,
                epsilon=None,
                delta=inputs.cap[1],
            )
        plans += [with_guarantee(plan, bare)] * int(rng.integers(1, 3))
    scorer = PublicScores() if rng.random() < 0.5 else NoisyScores(log_uniform(rng, 2, 50))
    eta = float(rng.choice([-0.5, 0.0, 1.0, 2.0]))
    count = TrialCount(log_uniform(rng, 1.5, 100), eta)
    own = search_cost(list(map(scorer.rdp, plans)), count)
    cost = inputs.prior_cost(DEFAULT_ORDERS).plus(own)
    epsilon, name = cost.epsilon(inputs.cap[1])
    before = [record for r in inputs.extra_releases for record in _records(r, inputs)]
    part = composition(
        [*before, search_record(plans, scorer, count)],
        cost,
        epsilon=epsilon,
        delta=inputs.cap[1],
    )
    return inputs, dataclasses.replace(
        plans[0], epsilon=epsilon, delta=inputs.cap[1], composition=name, guarantee=part
    )


def branches(rng):
    """Counts, and then one of two tables; no fit has such a plan today."""
    first = OneRelease(GaussianMechanism(log_uniform(rng, 5, 50)), 1)
    inputs = a_fit(rng, [first])
    ways = [LaplaceMechanism(log_uniform(rng, 1, 10)), GaussianMechanism(log_uniform(rng, 2, 20))]
    events = [Event(mechanism, inputs.contribution) for mechanism in ways]
    chosen = Cost.worst_of([event.cost() for event in events])
    cost = inputs.prior_cost(DEFAULT_ORDERS).plus(chosen)
    epsilon, name = cost.epsilon(inputs.cap[1])
    records = branches_record([event.records("votes") for event in events])
    part = composition(
        [*_records(first, inputs), records], cost, epsilon=epsilon, delta=inputs.cap[1]
    )
    plan = plan_table(
        ways[0], contribution=inputs.contribution, n_rows=9, epsilon=None, delta=inputs.cap[1]
    )
    return inputs, dataclasses.replace(
        plan, epsilon=epsilon, delta=inputs.cap[1], composition=name, guarantee=part
    )


def _records(release, inputs):
    return release.event(inputs.neighbors).records(release.describe())


ROWS = np.random.default_rng(0).normal(size=(900, 3))
PRIVATE, PUBLIC = ROWS[:600], ROWS[600:].copy()
LABELS = (PRIVATE[:, 0] > 0).astype(int)


def fit(rng):
    """Plans of fits: sums, synthetic rows, an estimated schema, numbers."""
    epsilon = log_uniform(rng, 1, 8)
    params = {"epsilon": epsilon, "delta": float(rng.choice([1e-6, 1e-5]))}
    clf = partial(PATEClassifier, **params, on_bad_plan="warn")
    declared = {"classes": [0, 1], "schema": {k: (-3, 3) for k in range(3)}}
    estimator, y, X_public = [
        (clf(classes=[0, 1], method="sums"), LABELS, PUBLIC),
        (clf(classes=[0, 1], method="neighbors"), LABELS, PUBLIC),
        (clf(classes=[0, 1]), LABELS, None),
        (clf(**declared), LABELS, None),
        (clf(**declared, method="neighbors", synthesizer=MarginalSynthesizer()), LABELS, None),
        (clf(method="neighbors"), LABELS, PUBLIC),
        (PATERegressor(**params, on_bad_plan="warn"), PRIVATE[:, 1], PUBLIC),
    ][rng.integers(7)]
    plan = estimator.plan(PRIVATE, y, X_public)
    inputs = SimpleNamespace(
        neighbors=Neighbors(relation=plan.spent.relation, unit="record"), cap=(epsilon, 0.0)
    )
    return inputs, dataclasses.replace(plan, delta=plan.spent.delta, guarantee=plan.spent.guarantee)


#: The kinds of plans, with their shares.
KINDS = {
    table: 0.36,
    queries: 0.2,
    private_test: 0.04,
    first_release: 0.2,
    search: 0.13,
    branches: 0.01,
    fit: 0.06,
}


def random_statement(rng):
    """The name of a kind and a statement, as a dict from JSON."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        while True:
            kind = list(KINDS)[rng.choice(len(KINDS), p=list(KINDS.values()))]
            try:
                inputs, plan = kind(rng)
            except (BudgetExceededError, ValueError) as error:
                text = str(error)
                if "epsilon" in text or "delta" in text or "requires votes" in text:
                    continue  # the random noise costs more than the random epsilon
                raise
            if math.isfinite(plan.epsilon):
                break
    spent = PrivacySpent(
        plan.epsilon,
        inputs.cap[1] if plan.delta is None else plan.delta,
        plan.composition,
        "record",
        inputs.neighbors.relation,
        n_teachers=None,
        n_queries=plan.n_queries,
        n_answered=0,
        guarantee=finished(plan.guarantee),
    )
    return kind.__name__, json.loads(spent.to_json())


def contribution_of(step):
    """The contribution of a step, from its record."""
    numbers = {name: float.fromhex(text) for name, text in step["contribution"].items()}
    return Contribution(**numbers)
