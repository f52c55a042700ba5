"""Audits: every aggregator on neighbouring pairs, and estimators on Adult, sound and broken.

    python benchmarks/audit.py [pairs] [worst] [lies] [adult]

Needs ``$SKLEARN_PATE_DATA/adult`` for "adult". One core.
"""

import sys
import time
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, clone
from sklearn.model_selection import StratifiedKFold
from sklearn.neighbors import KNeighborsClassifier

from sklearn_pate import PATEClassifier
from sklearn_pate.aggregators import (
    Aggregator,
    ConfidentGNMax,
    ExponentialNMax,
    GNMax,
    ImmutableArgmax,
    InteractiveGNMax,
    LNMax,
    PluralityVote,
    SoftVote,
    StableArgmax,
)
from sklearn_pate.audit import (
    Canaries,
    audit_aggregator,
    audit_estimator,
    exact_epsilon,
    make_canaries,
    worst_pair,
)
from sklearn_pate.datasets import fetch_adult
from sklearn_pate.rdp import (
    DEFAULT_ORDERS,
    data_independent_epsilon,
    gnmax_sigma,
    rdp_to_epsilon,
)
from sklearn_pate.rdp.facts import has_distribution

DELTA = 1e-5
CONFIDENCE = 0.999


# --- one query ---------------------------------------------------------------------------------


def soft_bins(sigma):
    """SoftVote's continuous release, of two classes, as 20 outcomes."""

    def run(sums, rng):
        share = SoftVote(sigma, noise="continuous").soft_labels(sums, rng)[:, 0]
        return np.searchsorted(np.linspace(0, 1, 19), share)

    return run


def one_at_a_time(stable):
    """StableArgmax, each query in a run of its own."""
    threshold = stable.stability_needed(1)
    stable.stability_needed = lambda n_queries: threshold  # to compute it takes longer than a query

    def run(votes, rng):
        return np.array([stable.aggregate(row, random_state=rng)[0] for row in votes[:, None]])

    return run


class Case(NamedTuple):
    """A mechanism, its arguments, and what to sample if not itself."""

    name: str
    mechanism: Aggregator
    n_samples: int = 1_000_000
    sampler: Callable | None = None
    arguments: dict = {}


def cases():
    gaussian = GNMax(40.0, noise="discrete")
    laplace = LNMax(0.05, noise="discrete")
    confident = ConfidentGNMax(150, sigma1=40.0, sigma2=40.0)
    interactive = InteractiveGNMax(0.1, sigma1=40.0, sigma2=40.0, confidence=0.8)
    soft = SoftVote(40.0, noise="continuous")
    stable = StableArgmax(run_epsilon=1.0, max_unstable=1)
    even = {"student_proba": [0.5, 0.5]}
    return [
        Case("LNMax(0.05)", LNMax(0.05)),
        Case("LNMax(0.05), discrete", laplace, 5_000),
        Case("ExponentialNMax(0.05)", ExponentialNMax(0.05)),
        Case("GNMax(40)", GNMax(40.0)),
        Case("GNMax(40), discrete", gaussian, 5_000),
        Case("GNMax(4)", GNMax(4.0)),
        Case("ConfidentGNMax", confident),
        Case("InteractiveGNMax", interactive, arguments=even),
        Case("SoftVote(40), continuous, argmax", soft),
        Case("SoftVote(40), continuous, soft labels", soft, 500_000, soft_bins(40.0)),
        Case("StableArgmax(1)", stable, 5_000, one_at_a_time(clone(stable))),
        Case("ImmutableArgmax(sigma=40)", ImmutableArgmax(sigma=40.0)),
        Case("PluralityVote", PluralityVote()),
    ]


def pairs():
    """20 pairs from a small share of the votes to all, two classes; 99.9% for all together."""
    n_teachers = 250
    n_pairs = 20
    confidence = 1 - (1 - CONFIDENCE) / (n_pairs * len(cases()))
    first_counts = np.linspace(20, n_teachers, n_pairs).astype(int)
    first_counts[np.abs(first_counts - 125).argmin()] = 125  # a tie is among them
    print(f"\n## {n_pairs} pairs of 250 teachers each, delta 1e-5, {confidence:.7f} per pair\n")
    print("| aggregator | samples | claimed | largest exact of the pairs | largest bound | above |")
    print("|---|---|---|---|---|---|", flush=True)
    for case in cases():
        claimed, _ = data_independent_epsilon(
            case.mechanism, 1, DELTA, n_teachers=n_teachers, n_classes=2
        )
        bounds = []
        exact = []
        for first in first_counts:
            votes = [int(first), int(n_teachers - first)]
            neighbour = [votes[0] - 1, votes[1] + 1]
            result = audit_aggregator(
                case.sampler or case.mechanism,
                votes,
                neighbour,
                delta=DELTA,
                n_samples=case.n_samples,
                confidence=confidence,
                random_state=int(first),
                **case.arguments,
            )
            bounds.append(result.epsilon)
            epsilon = np.nan
            if has_distribution(case.mechanism):
                epsilon = exact_epsilon(case.mechanism, votes, neighbour, DELTA, **case.arguments)
            exact.append(epsilon)
        n_above = sum(bound > claimed for bound in bounds)
        print(
            f"| {case.name} | {case.n_samples:,} | {claimed:.4g} | {max(exact):.4g} "
            f"| {max(bounds):.4g} | {n_above} |",
            flush=True,
        )


def worst():
    """The pair that 5 million samples tell apart best, and the exact worst."""
    print("\n## Worst pairs of 250 teachers, 5 million samples of each side, 99.9%\n")
    print("| mechanism | classes | delta | claimed | exact worst | lower bound | of worst | s |")
    print("|---|---|---|---|---|---|---|---|", flush=True)
    for mechanism, delta in ((LNMax(0.05), 0.0), (GNMax(40.0), DELTA)):
        for n_classes in (2, 3, 10):
            size = {"n_teachers": 250, "n_classes": n_classes}
            exact = exact_epsilon(mechanism, *worst_pair(mechanism, **size, delta=delta), delta)
            claimed = mechanism.facts().pure_epsilon
            if delta:
                claimed, _ = data_independent_epsilon(
                    mechanism, 1, delta, n_teachers=250, n_classes=n_classes
                )
            for seed in range(3):
                start = time.perf_counter()
                result = audit_aggregator(
                    mechanism,
                    **size,
                    delta=delta,
                    n_samples=5_000_000,
                    confidence=CONFIDENCE,
                    random_state=seed,
                )
                seconds = time.perf_counter() - start
                print(
                    f"| `{mechanism}` | {n_classes} | {delta:g} | {claimed:.4f} | {exact:.4f} "
                    f"| {result.epsilon:.4f} | {result.epsilon / exact:.0%} | {seconds:.1f} |",
                    flush=True,
                )
    immutable = ImmutableArgmax(sigma=40.0)
    claim = immutable.claimed_rdp([[250, 0]], DEFAULT_ORDERS)[0]
    claimed = rdp_to_epsilon(claim, DELTA, DEFAULT_ORDERS)[0]
    result = audit_aggregator(
        immutable, n_teachers=250, n_classes=2, confidence=CONFIDENCE, random_state=0
    )
    true, _ = data_independent_epsilon(immutable, 1, DELTA, n_teachers=250, n_classes=2)
    print(
        f"\n`{immutable}`: the paper claims {claimed:.3f} where the margin exceeds 2; lower bound "
        f"{result.epsilon:.2f} from {result.n_samples:,} samples; true {true:.2f}",
        flush=True,
    )


class Liar(Aggregator):
    """States GNMax(40), and adds noise `sigma` to a share of the votes that `where` chooses."""

    def __init__(self, sigma=0.0, where=None, share=1.0):
        self.sigma = sigma
        self.where = where
        self.share = share

    def outcome_log_proba(self, votes, student_proba=None):
        return GNMax(40.0).outcome_log_proba(votes)

    def aggregate(self, votes, student_proba=None, random_state=None):
        rng = np.random.default_rng(random_state)
        votes = np.asarray(votes)
        lying = np.ones(len(votes), dtype=bool) if self.where is None else self.where(votes)
        sigma = np.where(lying & (rng.random(len(votes)) < self.share), self.sigma, 40.0)
        return (votes + sigma[:, None] * rng.normal(size=votes.shape)).argmax(axis=1)


def margin(votes):
    """Votes of the first class minus those of the second."""
    return np.diff(np.sort(votes, axis=1)[:, -2:])[:, 0]


LIES = {
    "none": Liar(0.0),
    "40 times too small": Liar(1.0),
    "half": Liar(20.0),
    "a tenth too small": Liar(36.0),
    "twice": Liar(80.0),
    "none at margins up to 1": Liar(0.0, lambda votes: margin(votes) <= 1),
    "none at margins above 1": Liar(0.0, lambda votes: margin(votes) > 1),
    "none at unanimity": Liar(0.0, lambda votes: votes.max(axis=1) == votes.sum(axis=1)),
    "none but at unanimity": Liar(0.0, lambda votes: votes.max(axis=1) < votes.sum(axis=1)),
    "none for class 1": Liar(0.0, lambda votes: votes.argmax(axis=1) == 1),
    "none at a margin of a third": Liar(0.0, lambda votes: margin(votes) == votes.sum(axis=1) // 3),
    "none above a margin of half": Liar(0.0, lambda votes: margin(votes) > votes.sum(axis=1) / 2),
    "none in 1%": Liar(0.0, share=0.01),
    "none in 5%": Liar(0.0, share=0.05),
    "none in 20%": Liar(0.0, share=0.2),
    "as stated": Liar(40.0),
}


def lies(n_seeds=3):
    """GNMax(40) is stated, something else is sampled: the median bound, and how often it shows."""
    sizes = [(10, 2), (50, 2), (250, 2), (10, 3), (250, 10), (1000, 3)]
    print(f"\n## Samplers that state GNMax(40), 200,000 samples: median bound of {n_seeds} seeds,")
    print("how often the statement is contradicted\n")
    print(f"| noise | {' | '.join(f'{T} teachers, {C} classes' for T, C in sizes)} |")
    print("|---" * (1 + len(sizes)) + "|", flush=True)
    for name, liar in LIES.items():
        cells = []
        for n_teachers, n_classes in sizes:
            results = [
                audit_aggregator(
                    liar, n_teachers=n_teachers, n_classes=n_classes, random_state=seed
                )
                for seed in range(n_seeds)
            ]
            bound = np.median([result.epsilon for result in results])
            n_contradicted = sum(result.contradicts for result in results)
            cells.append(f"{bound:.2f}, {n_contradicted} of {n_seeds}")
        print(f"| {name} | {' | '.join(cells)} |", flush=True)


# --- estimators --------------------------------------------------------------------------------


class Broken(BaseEstimator):
    """PATE that deals records in a way it should not, or adds less noise than it accounts for.

    `parts` is a function of labels and number of teachers that returns each teacher's records.
    """

    def __init__(self, pate, parts=None, noise=1.0, random_state=None):
        self.pate = pate
        self.parts = parts
        self.noise = noise
        self.random_state = random_state

    def fit(self, X, y, X_public, groups=None):
        pate = clone(self.pate).set_params(random_state=self.random_state)
        n_queries = len(X_public)
        if self.noise != 1:
            size = {"n_classes": 2, "n_teachers": pate.n_teachers}
            sigma = gnmax_sigma(pate.epsilon, pate.delta, n_queries, **size)
            pate.set_params(aggregator=GNMax(sigma * self.noise), epsilon=None)
        pate.set_params(n_queries=n_queries)
        if self.parts is None:
            self.pate_ = pate.fit(X, y, X_public, groups=groups)
        else:
            votes = np.zeros((n_queries, 2), dtype=int)
            rows = np.asarray(X_public)
            for part in self.parts(y, pate.n_teachers):
                labels = clone(pate.base_estimator).fit(X[part], y[part]).predict(rows)
                votes[np.arange(n_queries), labels] += 1
            self.pate_ = pate.fit_votes(votes, X_public)
        self.classes_ = self.pate_.classes_
        self.public_labels_ = self.pate_.public_labels_
        return self

    def predict_proba(self, X):
        return self.pate_.predict_proba(X)


def everyone(y, n_teachers):
    """Every teacher gets every record."""
    return [np.arange(len(y))] * n_teachers


def stratified(y, n_teachers):
    """Parts that depend on labels."""
    folds = StratifiedKFold(n_teachers).split(np.zeros(len(y)), y)
    return [part for _, part in folds]


def adult(n_records):
    """Adult as numbers, each column on a public scale; nearly all rows differ."""
    X, y = fetch_adult(subset="train", as_frame=False, return_X_y=True)
    scale = np.array([50, 5, 1e5, 10, 10, 5, 10, 5, 5, 1, 5000, 1000, 50, 40])
    return X[:n_records] / scale, y[:n_records]


def model(n_teachers):
    nearest = KNeighborsClassifier(1, algorithm="brute")
    return PATEClassifier(nearest, n_teachers=n_teachers, classes=[0, 1])


def tied_design(n_teachers=11):
    """One canary far out; of the other teachers, half have each label at its place.

    Teachers are named groups, so that it is known who has what.
    """
    X, y = adult(50 * n_teachers)
    groups = np.arange(len(y)) % n_teachers
    place = np.full(X.shape[1], 100.0)
    X[:n_teachers] = place
    y[1:n_teachers] = np.arange(1, n_teachers) % 2
    canaries = Canaries(np.array([0]), place[None], np.array([[0, 1]]))
    return X, y, canaries, groups


def stratified_design(n_teachers=20):
    """One canary, the second record: its label decides how the classes line up in the parts.

    Stratified folds without shuffling cut each class, in order, into blocks. In front of block `j`
    of class 0 is a point at distance ``2 (n - j)`` from the query, in the middle of block `j` of
    class 1 one at ``2 (n - j) - 1``, which is nearer. With a record less in class 0, its points
    move to the teacher before, and are nearer there.
    """
    X, y = adult(20_000)
    size = 20  # of a block of each class
    zeros, ones = (np.flatnonzero(y == c)[: size * n_teachers] for c in (0, 1))
    kept = np.concatenate([zeros[:2], ones, zeros[2:]])  # the canary before all but one
    X = X[kept]
    y = y[kept]
    query = np.full(X.shape[1], 100.0)
    distance = 2.0 * (n_teachers - np.arange(n_teachers))
    first, second = (np.flatnonzero(y == c) for c in (0, 1))
    starts = first[::size][1:]
    middles = second[size // 2 :: size]
    X[starts] = query
    X[middles] = query
    X[starts, 0] += distance[1:]
    X[middles, 0] += distance - 1
    canaries = Canaries(np.array([1]), X[1:2], np.array([[0, 1]]))
    return X, y, canaries, query[None]


def first_label(fitted):
    """Evidence of the one released label: the code of the votes if the canary has label 0."""
    return np.array([2.0 * fitted.public_labels_[0] - 1])


def audits(seed):
    """Yield a name, the kind of canaries and the result of each audit."""
    X, y = adult(3000)
    far = make_canaries(X, y, 40, "out_of_distribution", classes=[0, 1], random_state=seed)
    near = make_canaries(X, y, 40, "mislabelled", classes=[0, 1], random_state=seed)
    settings = {"random_state": seed, "confidence": CONFIDENCE, "claimed": 1.0, "delta": DELTA}

    def audit_of_copies(broken, canaries, **more):  # only copies of the canaries are asked
        return audit_estimator(broken, X, y, canaries=canaries, **settings, **more)

    for name, parts in (("sound", None), ("overlapping", everyone), ("stratified", stratified)):
        pate = Broken(model(150), parts)
        for kind, canaries in (("far", far), ("mislabelled", near)):
            for attack in ("labels", "student"):
                yield name, f"{kind}, {attack}", audit_of_copies(pate, canaries, attack=attack)
    little_noise = Broken(model(150), noise=0.1)
    yield "noise / 10", "far, labels", audit_of_copies(little_noise, far)

    X, y, canaries, groups = tied_design()
    for name, noise in (("sound", 1.0), ("noise / 10", 0.1)):
        pate = model(11).set_params(partition="predefined")
        runs = {"fit_params": {"groups": groups}, "n_runs": 60, "canaries": canaries}
        yield name, "tied", audit_estimator(Broken(pate, noise=noise), X, y, **runs, **settings)

    X, y, canaries, query = stratified_design()
    for name, parts in (("sound", None), ("stratified", stratified)):
        runs = {"n_runs": 30, "canaries": canaries, "attack": first_label, "n_copies": 0}
        broken = Broken(model(20), parts)
        yield name, "aligned", audit_estimator(broken, X, y, query, **runs, **settings)


def on_adult(seeds=range(3)):
    print("\n## PATE on Adult at epsilon 1, delta 1e-5, sound and broken; 99.9% each\n")
    rows = []
    for seed in seeds:
        start = time.perf_counter()
        for name, design, result in audits(seed):
            seconds = time.perf_counter() - start
            rows.append(
                {
                    "copy": name,
                    "canaries": design,
                    "runs": result.n_runs,
                    "bits": result.n_canaries,
                    "right": result.n_right,
                    "epsilon": result.epsilon,
                    "caught": result.refuted,
                    "s": seconds,
                }
            )
            print(seed, name, design, result, file=sys.stderr, flush=True)
            start = time.perf_counter()
    table = pd.DataFrame(rows)
    print("| copy | canaries | runs | bits | right | lower bounds | caught | s each |")
    print("|---|---|---|---|---|---|---|---|")
    for (name, design), part in table.groupby(["copy", "canaries"], sort=False):
        bounds = ", ".join(f"{epsilon:.2f}" for epsilon in part["epsilon"])
        right = ", ".join(map(str, part["right"]))
        print(
            f"| {name} | {design} | {part['runs'].iloc[0]} | {part['bits'].iloc[0]} | {right} "
            f"| {bounds} | {part['caught'].sum()} of {len(part)} | {part['s'].mean():.1f} |",
            flush=True,
        )


if __name__ == "__main__":
    for part in sys.argv[1:] or ["pairs", "worst", "lies", "adult"]:
        {"pairs": pairs, "worst": worst, "lies": lies, "adult": on_adult}[part]()
