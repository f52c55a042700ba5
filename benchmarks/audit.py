"""Audits: every aggregator on neighbouring pairs, and estimators on Adult, sound and broken.

    python benchmarks/audit.py [pairs] [worst] [lies] [adult]

Needs ``$SKLEARN_PATE_DATA/adult`` for "adult". One core.
"""

import sys
import time

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
    has_distribution,
    rdp_to_epsilon,
)

DELTA, CONFIDENCE = 1e-5, 0.999


# --- one query ---------------------------------------------------------------------------------


def soft_bins(sigma):
    """SoftVote's continuous release, of two classes, as 20 outcomes."""

    def run(sums, rng):
        share = SoftVote(sigma, noise="continuous").soft_labels(sums, rng)[:, 0]
        return np.searchsorted(np.linspace(0, 1, 19), share)

    return run


def one_at_a_time(stable):
    """StableArgmax, each query in a run of its own."""
    bar = stable.stability_needed(1)
    stable.stability_needed = lambda n_queries: bar  # computing it takes longer than a query

    def run(votes, rng):
        return np.array([stable.aggregate(row, random_state=rng)[0] for row in votes[:, None]])

    return run


def mechanisms():
    """Name, mechanism, what to sample if not itself, arguments, and samples per pair."""
    interactive = InteractiveGNMax(0.1, sigma1=40.0, sigma2=40.0, confidence=0.8)
    stable = StableArgmax(run_epsilon=1.0, max_unstable=1)
    return [
        ("LNMax(0.05)", LNMax(0.05), None, {}, 1_000_000),
        ("LNMax(0.05), discrete", LNMax(0.05, noise="discrete"), None, {}, 5_000),
        ("ExponentialNMax(0.05)", ExponentialNMax(0.05), None, {}, 1_000_000),
        ("GNMax(40)", GNMax(40.0), None, {}, 1_000_000),
        ("GNMax(40), discrete", GNMax(40.0, noise="discrete"), None, {}, 5_000),
        ("GNMax(4)", GNMax(4.0), None, {}, 1_000_000),
        ("ConfidentGNMax", ConfidentGNMax(150, sigma1=40.0, sigma2=40.0), None, {}, 1_000_000),
        (
            "InteractiveGNMax",
            *(interactive, None, {"student_proba": [0.5, 0.5]}, 1_000_000),
        ),
        (
            "SoftVote(40), continuous, argmax",
            SoftVote(40.0, noise="continuous"),
            None,
            {},
            1_000_000,
        ),
        (
            "SoftVote(40), continuous, soft labels",
            SoftVote(40.0, noise="continuous"),
            soft_bins(40.0),
            {},
            500_000,
        ),
        ("StableArgmax(1)", stable, one_at_a_time(clone(stable)), {}, 5_000),
        ("ImmutableArgmax(sigma=40)", ImmutableArgmax(sigma=40.0), None, {}, 1_000_000),
        ("PluralityVote", PluralityVote(), None, {}, 1_000_000),
    ]


def pairs():
    """20 pairs from a small share of the votes to all, two classes; 99.9% for all together."""
    n_teachers, n_pairs = 250, 20
    listed = mechanisms()
    confidence = 1 - (1 - CONFIDENCE) / (n_pairs * len(listed))
    leads = np.linspace(20, n_teachers, n_pairs).astype(int)  # votes of the first class
    leads[np.abs(leads - 125).argmin()] = 125  # a tie is among them
    print(f"\n## {n_pairs} pairs of 250 teachers each, delta 1e-5, {confidence:.7f} per pair\n")
    print("| aggregator | samples | claimed | largest exact of the pairs | largest bound | above |")
    print("|---|---|---|---|---|---|", flush=True)
    for name, mechanism, sampled, given, n_samples in listed:
        claimed, _ = data_independent_epsilon(
            mechanism, 1, DELTA, n_teachers=n_teachers, n_classes=2
        )
        found, exact = [], []
        for lead in leads:
            votes = [int(lead), int(n_teachers - lead)]
            other = [votes[0] - 1, votes[1] + 1]
            result = audit_aggregator(
                sampled or mechanism,
                votes,
                other,
                delta=DELTA,
                n_samples=n_samples,
                confidence=confidence,
                random_state=int(lead),
                **given,
            )
            found.append(result.epsilon)
            if has_distribution(mechanism):
                exact.append(exact_epsilon(mechanism, votes, other, DELTA, **given))
            else:
                exact.append(np.nan)
        above = sum(epsilon > claimed for epsilon in found)
        print(
            f"| {name} | {n_samples:,} | {claimed:.4g} | {max(exact):.4g} | {max(found):.4g} "
            f"| {above} |",
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
                found = audit_aggregator(
                    mechanism,
                    **size,
                    delta=delta,
                    n_samples=5_000_000,
                    confidence=CONFIDENCE,
                    random_state=seed,
                )
                took = time.perf_counter() - start
                print(
                    f"| `{mechanism}` | {n_classes} | {delta:g} | {claimed:.4f} | {exact:.4f} "
                    f"| {found.epsilon:.4f} | {found.epsilon / exact:.0%} | {took:.1f} |",
                    flush=True,
                )
    immutable = ImmutableArgmax(sigma=40.0)
    claim = immutable.claimed_rdp([[250, 0]], DEFAULT_ORDERS)[0]
    claimed = rdp_to_epsilon(claim, DELTA, DEFAULT_ORDERS)[0]
    found = audit_aggregator(
        immutable, n_teachers=250, n_classes=2, confidence=CONFIDENCE, random_state=0
    )
    true, _ = data_independent_epsilon(immutable, 1, DELTA, n_teachers=250, n_classes=2)
    print(
        f"\n`{immutable}`: the paper claims {claimed:.3f} where the gap exceeds 2; lower bound "
        f"{found.epsilon:.2f} from {found.n_samples:,} samples; true {true:.2f}",
        flush=True,
    )


class Liar(Aggregator):
    """States GNMax(40); noise `sigma` where `where` is true of the votes, in a share of cases."""

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


def lead(votes):
    """Votes between the first two."""
    return np.diff(np.sort(votes, axis=1)[:, -2:])[:, 0]


LIES = {
    "none": Liar(0.0),
    "40 times too small": Liar(1.0),
    "half": Liar(20.0),
    "a tenth too small": Liar(36.0),
    "twice": Liar(80.0),
    "none at leads up to 1": Liar(0.0, lambda votes: lead(votes) <= 1),
    "none at leads above 1": Liar(0.0, lambda votes: lead(votes) > 1),
    "none at unanimity": Liar(0.0, lambda votes: votes.max(axis=1) == votes.sum(axis=1)),
    "none but at unanimity": Liar(0.0, lambda votes: votes.max(axis=1) < votes.sum(axis=1)),
    "none for class 1": Liar(0.0, lambda votes: votes.argmax(axis=1) == 1),
    "none at a lead of a third": Liar(0.0, lambda votes: lead(votes) == votes.sum(axis=1) // 3),
    "none above a lead of half": Liar(0.0, lambda votes: lead(votes) > votes.sum(axis=1) / 2),
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
            found = [
                audit_aggregator(
                    liar, n_teachers=n_teachers, n_classes=n_classes, random_state=seed
                )
                for seed in range(n_seeds)
            ]
            bound = np.median([result.epsilon for result in found])
            seen = sum(result.contradicts for result in found)
            cells.append(f"{bound:.2f}, {seen} of {n_seeds}")
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
        self.classes_, self.public_labels_ = self.pate_.classes_, self.pate_.public_labels_
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
    X, y = X[kept], y[kept]
    query = np.full(X.shape[1], 100.0)
    distance = 2.0 * (n_teachers - np.arange(n_teachers))
    first, second = (np.flatnonzero(y == c) for c in (0, 1))
    starts, middles = first[::size][1:], second[size // 2 :: size]
    X[starts], X[middles] = query, query
    X[starts, 0] += distance[1:]
    X[middles, 0] += distance - 1
    canaries = Canaries(np.array([1]), X[1:2], np.array([[0, 1]]))
    return X, y, canaries, query[None]


def first_label(fitted):
    """Evidence of the one released label: the code of the votes if the canary has label 0."""
    return np.array([2.0 * fitted.public_labels_[0] - 1])


def audits(seed):
    """Name, what is audited, result."""
    X, y = adult(3000)
    far = make_canaries(X, y, 40, "out_of_distribution", classes=[0, 1], random_state=seed)
    near = make_canaries(X, y, 40, "mislabelled", classes=[0, 1], random_state=seed)
    how = {"random_state": seed, "confidence": CONFIDENCE, "claimed": 1.0, "delta": DELTA}

    def copies(broken, canaries, **more):  # teachers are asked about the canaries alone
        return audit_estimator(broken, X, y, canaries=canaries, **how, **more)

    for name, parts in (("sound", None), ("overlapping", everyone), ("stratified", stratified)):
        pate = Broken(model(150), parts)
        for kind, canaries in (("far", far), ("mislabelled", near)):
            for attack in ("labels", "student"):
                yield name, f"{kind}, {attack}", copies(pate, canaries, attack=attack)
    tenth = Broken(model(150), noise=0.1)
    yield "noise / 10", "far, labels", copies(tenth, far)

    X, y, canaries, groups = tied_design()
    for name, noise in (("sound", 1.0), ("noise / 10", 0.1)):
        pate = model(11).set_params(partition="predefined")
        runs = {"fit_params": {"groups": groups}, "n_runs": 60, "canaries": canaries}
        yield name, "tied", audit_estimator(Broken(pate, noise=noise), X, y, **runs, **how)

    X, y, canaries, query = stratified_design()
    for name, parts in (("sound", None), ("stratified", stratified)):
        runs = {"n_runs": 30, "canaries": canaries, "attack": first_label, "n_copies": 0}
        found = audit_estimator(Broken(model(20), parts), X, y, query, **runs, **how)
        yield name, "aligned", found


def on_adult(seeds=range(3)):
    print("\n## PATE on Adult at epsilon 1, delta 1e-5, sound and broken; 99.9% each\n")
    rows = []
    for seed in seeds:
        start = time.perf_counter()
        for name, design, found in audits(seed):
            took = time.perf_counter() - start
            rows.append((name, design, found, took))
            print(seed, name, design, found, file=sys.stderr, flush=True)
            start = time.perf_counter()
    table = pd.DataFrame(
        [
            (name, design, f.n_runs, f.n_canaries, f.n_right, f.epsilon, f.refuted, took)
            for name, design, f, took in rows
        ],
        columns=["copy", "canaries", "runs", "bits", "right", "epsilon", "caught", "s"],
    )
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
