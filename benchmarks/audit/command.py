"""Audit every path of the library, honest and with a fault.

    python -m benchmarks audit [--only PART ...] [--lines TEXT] [--seeds S ...]

Each line of docs/results/audit_all.csv is a mechanism, a release or a whole fit, as it is or with a
fault, audited with each seed. A bound above the claim refutes it, with an error of at most 1e-6 for
mechanisms and releases, and of 1e-3 for fits. Lines that were not measured again are kept.
"""

import argparse
import csv
import time
import warnings
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple
from unittest import mock

import numpy as np
import pandas as pd
from sklearn.dummy import DummyClassifier, DummyRegressor

from sklearn_pate import PATEClassifier, PATERegressor
from sklearn_pate.aggregators import (
    ConfidentGNMax,
    ExponentialNMax,
    GaussianMechanism,
    GNMax,
    ImmutableArgmax,
    InteractiveGNMax,
    LaplaceMechanism,
    LNMax,
    PluralityVote,
    SoftVote,
)
from sklearn_pate.audit import (
    Canaries,
    audit_aggregator,
    audit_estimator,
    audit_first_release,
    audit_schema_release,
    audit_table,
)
from sklearn_pate.encoding.targets import ClassTarget
from sklearn_pate.methods import ClassSums, ReverseNeighbors, sums
from sklearn_pate.methods.sums import SumsMechanism
from sklearn_pate.neighbors import counting
from sklearn_pate.rdp import Contribution, Neighbors, data_independent_epsilon
from sklearn_pate.rdp.discrete import DiscreteGaussian, DiscreteLaplace
from sklearn_pate.runtime.private_data import PrivateData
from sklearn_pate.schema_release import ClassRelease, RangeRelease, SchemaRelease, ShareRelease
from sklearn_pate.synthesis import synthesizers

FILE = Path(__file__).parents[2] / "docs" / "results" / "audit_all.csv"
HEADER = ["path", "what", "fault", "samples", "claimed", "largest bound", "refuted", "CPU s each"]


class Line(NamedTuple):
    """One line: `audit` returns the claim and the bound; `faults` are patched attributes."""

    path: str
    what: str
    samples: str
    audit: object
    fault: str = "none"
    faults: tuple = ()


# --- faults ---------------------------------------------------------------------------------------


def less(owner, name, factor):
    """Divide the result of a function or property, noise or its scale, by a factor."""
    honest = getattr(owner, name)

    def divided(*args, **given):
        got = honest.fget(*args) if isinstance(honest, property) else honest(*args, **given)
        return tuple(part / factor for part in got) if isinstance(got, tuple) else got / factor

    return owner, name, property(divided) if isinstance(honest, property) else divided


def discrete(kind, factor):
    """Draw discrete noise that is smaller by a factor."""
    honest = kind.__init__
    divides = kind is DiscreteGaussian  # its argument is a size; Laplace noise takes an inverse

    def made(self, size):
        honest(self, size / factor if divides else size * factor)

    return kind, "__init__", made


def threshold_one_lower():
    honest = ClassRelease.threshold
    return ClassRelease, "threshold", lambda self, label: honest(self, label) - 1


def two_votes():
    honest = counting.count_votes
    return counting, "count_votes", lambda *args, **given: 2 * honest(*args, **given)


# --- one query of teachers, and noisy tables ------------------------------------------------------


def of_aggregator(mechanism, n_samples, n_classes=2, **given):
    size = {"n_teachers": 250, "n_classes": n_classes}

    def audit(seed):
        found = audit_aggregator(mechanism, **size, n_samples=n_samples, random_state=seed, **given)
        return data_independent_epsilon(mechanism, 1, 1e-5, **size)[0], found.epsilon

    return audit


def of_table(mechanism, contribution, n_samples, delta=None, pair=(None, None)):
    def audit(seed):
        given = {"contribution": contribution, "delta": delta, "n_samples": n_samples}
        found = audit_table(mechanism, *pair, **given, random_state=seed)
        return found.claimed, found.epsilon

    return audit


def of_sums(n_samples):
    """The worst pair for two classes: a record and its opposite, of the same class."""
    public, target = np.array([[1.0], [-1.0]] * 2), ClassTarget([0, 1])
    method = ClassSums(extra_columns=False)
    parts = [
        PrivateData(X=np.array([[x], [-1.0]]), codes=np.array([0, 1]), target=target)
        for x in (1.0, -1.0)
    ]
    contribution = method.contribution(method.prepare(parts[0], public))
    tables = [method.vote(part, public) for part in parts]
    return of_table(SumsMechanism(2, 1.0), contribution, n_samples, 0.3, tables)


def mechanisms():
    """Return the lines of mechanisms."""
    for mechanism in (
        LNMax(0.05),
        ExponentialNMax(0.05),
        GNMax(40.0),
        GNMax(4.0),
        ConfidentGNMax(150, sigma1=40.0, sigma2=40.0),
        ImmutableArgmax(sigma=40.0),
        PluralityVote(),
    ):
        audit = of_aggregator(mechanism, 200_000)
        yield Line("teachers, one query", str(mechanism), "200,000", audit)
    student = {"student_proba": [0.6, 0.4]}
    mechanism = InteractiveGNMax(150, sigma1=40.0, sigma2=40.0, confidence=0.8)
    audit = of_aggregator(mechanism, 200_000, **student)
    yield Line("teachers, one query", str(mechanism), "200,000", audit)
    mechanism = SoftVote(40.0)
    yield Line("teachers, one query", str(mechanism), "3,000", of_aggregator(mechanism, 3_000))
    for n_changed in (2, 8):
        contribution, what = Contribution.of_counts(n_changed), f"{n_changed} counts change"
        audit = of_table(LaplaceMechanism(n_changed / 2), contribution, 4000)
        faults = (discrete(DiscreteLaplace, 2),)
        yield Line("cells, Laplace", what, "4,000", audit)
        yield Line("cells, Laplace", what, "4,000", audit, "half the noise", faults)
    audit = of_table(GaussianMechanism(1.5), Contribution.of_counts(2), 10_000, 0.01)
    faults = (discrete(DiscreteGaussian, 2),)
    yield Line("cells, Gaussian", "2 counts change; delta 0.01", "10,000", audit)
    yield Line(
        "cells, Gaussian", "2 counts change; delta 0.01", "10,000", audit, "half the noise", faults
    )
    audit, what = of_sums(3000), "a record and its opposite; delta 0.3"
    yield Line("class sums, table", what, "3,000", audit)
    faults = (less(sums, "noise_of_sums", np.sqrt(2)),)
    yield Line("class sums, table", what, "3,000", audit, "smaller by the root of two", faults)


# --- releases of a fit ----------------------------------------------------------------------------

ONE = Neighbors(relation="replace_one", unit="record", n_records=60)


def of_target(release, pair, n_samples):
    def audit(seed):
        found = audit_first_release(release, *pair, n_samples=n_samples, random_state=seed)
        return found.claimed, found.epsilon

    return audit


def of_schema(n_samples):
    columns = pd.DataFrame({"number": np.full(60, 2.5), "text": ["x", "y"] * 30}, dtype=object)
    other = columns.copy()
    other.iloc[0] = [-700.0, "y"]
    release = SchemaRelease(n_columns=2, mu=1.0, delta=1e-3)

    def audit(seed):
        given = {"n_samples": n_samples, "random_state": seed}
        found = audit_schema_release(release, columns, other, ONE, **given)
        return found.claimed, found.epsilon

    return audit


def releases():
    """Return the lines of the first release and of the schema release."""
    given = {"epsilon": 2.0, "neighbors": ONE}
    labels = ["a"] * 30 + ["b"] * 30, ["a"] * 31 + ["b"] * 29
    codes = tuple(np.unique(part, return_inverse=True)[1] for part in labels)
    numbers = np.full(60, 5.0), np.append(np.full(59, 5.0), 900.0)
    target = {"target": ClassTarget(["no", "yes"]), "rare": 0.08}
    half, quarter = ("half the noise", 2), ("a quarter of the noise", 4)
    for what, release, pair, n_samples, faults in (
        ("classes", ClassRelease(**given, delta=1e-3), labels, 1500, [half]),
        ("class counts", ShareRelease(**given, delta=0.0, **target), codes, 1500, [half]),
        ("range of numbers", RangeRelease(**given, delta=0.0), numbers, 800, [half, quarter]),
    ):
        audit = of_target(release, pair, n_samples)
        yield Line("first release", what, f"{n_samples:,}", audit)
        for fault, factor in faults:
            wrong = (discrete(DiscreteLaplace, factor),)
            yield Line("first release", what, f"{n_samples:,}", audit, fault, wrong)
    edge = np.exp(-1.5) / (1 + np.exp(-1.5)) * (1 + 1e-6)
    release = ClassRelease(epsilon=3.0, neighbors=ONE, delta=edge)
    audit = of_target(release, (["a"] * 59 + ["c"], ["a"] * 60), 2500)
    what = "classes, a label of one record; delta 0.18"
    yield Line("first release", what, "2,500", audit)
    yield Line(
        "first release", what, "2,500", audit, "threshold one lower", (threshold_one_lower(),)
    )
    audit, what = of_schema(300), "a column of numbers and one of texts; delta 0.011"
    yield Line("schema release", what, "300", audit)
    faults = (discrete(DiscreteGaussian, 16),)
    yield Line("schema release", what, "300", audit, "a sixteenth of the noise", faults)


# --- whole fits -----------------------------------------------------------------------------------

N = 200
PLACES, COLUMNS = 100.0 * np.arange(N)[:, None], np.eye(N)


def of_fit(estimator, rows, labels=(0, 1), *, attack="class_proba", n_targets=1, **given):
    """Each canary has a place, or a column, of its own, where others have one of each label.

    The labels of a canary differ in all targets.
    """
    two, y = np.tile(labels, (N, 1)), np.repeat([labels[0], *labels], N)
    if n_targets > 1:
        two, y = np.stack([two] * n_targets, axis=2), np.column_stack([y] * n_targets)
    canaries = Canaries(np.arange(N), rows, two)
    X = np.tile(rows, (3, 1))
    fixed = {"canaries": canaries, "attack": attack, **given}

    def audit(seed):
        found = audit_estimator(estimator, X, y, **fixed, random_state=seed)
        return found.claimed, found.epsilon

    return audit


def fits():
    """Return the lines of whole fits."""
    narrow = ReverseNeighbors(n_cells=N, smoothing=0.003, random_state=0)
    plain = {"on_bad_plan": "warn"}
    of_classes = {"student": DummyClassifier(), "classes": [0, 1], **plain}
    of_numbers = {"student": DummyRegressor(), "bounds": (-3.0, 5.0), **plain}
    many = {"n_runs": 10, "n_guesses": 1000}
    numbers = (-3.0, 5.0)
    halved = (discrete(DiscreteLaplace, 2),)
    for what, audit in (
        (
            "classes",
            of_fit(PATEClassifier(method=narrow, epsilon=3.0, **of_classes), PLACES, **many),
        ),
        (
            "numbers",
            of_fit(
                PATERegressor(method=narrow, epsilon=3.0, **of_numbers), PLACES, numbers, **many
            ),
        ),
    ):
        path, samples = "fit, cells", "2,000 canaries"
        yield Line(path, what, samples, audit)
        yield Line(path, what, samples, audit, "half the noise", halved)
        yield Line(path, what, samples, audit, "two votes of each record", (two_votes(),))
    several = of_classes | {"classes": [[0, 1]] * 2}
    audit = of_fit(
        PATEClassifier(method=narrow, epsilon=3.0, **several), PLACES, n_targets=2, **many
    )
    path, what = "fit, cells", "classes of 2 targets"
    yield Line(path, what, samples, audit)
    for fault, factor in (("half the noise", 2), ("a third of the noise", 3)):
        yield Line(path, what, samples, audit, fault, (discrete(DiscreteLaplace, factor),))
    fewer = {"n_runs": 10, "n_guesses": 400}
    method = ClassSums(extra_columns=False)
    for what, audit in (
        ("classes", of_fit(PATEClassifier(method=method, **of_classes), COLUMNS, **fewer)),
        ("numbers", of_fit(PATERegressor(method=method, **of_numbers), COLUMNS, numbers, **fewer)),
        (
            "classes of 2 targets",
            of_fit(PATEClassifier(method=method, **several), COLUMNS, n_targets=2, **fewer),
        ),
    ):
        for fault, factor in (("none", 1), ("half the noise", 2), ("a quarter of the noise", 4)):
            faults = () if factor == 1 else (less(sums, "noise_of_sums", factor),)
            yield Line("fit, class sums", what, "2,000 canaries", audit, fault, faults)
    clf = PATEClassifier(method="sums", schema=[(0, 1)] * N, classes=[0, 1], **plain)
    audit = of_fit(clf, COLUMNS, attack="student", n_copies=0, n_runs=4, n_guesses=300)
    for fault, factor in (("none", 1), ("a tenth of the noise", 10), ("no noise", 1e6)):
        faults = () if factor == 1 else (less(synthesizers, "noise_sizes", factor),)
        path = "fit, class sums without public rows"
        yield Line(path, "classes", "800 canaries", audit, fault, faults)


PARTS = {"mechanisms": mechanisms, "releases": releases, "fits": fits}


def measured(line, seeds):
    """Return the cells of a line."""
    found = []
    start = time.process_time()
    with ExitStack() as stack, warnings.catch_warnings(action="ignore"):
        for owner, name, wrong in line.faults:
            stack.enter_context(mock.patch.object(owner, name, wrong))
        found = [line.audit(seed) for seed in seeds]
    seconds = (time.process_time() - start) / len(seeds)
    claimed, largest = found[0][0], max(bound for _, bound in found)
    n_refuted = sum(bound > claim for claim, bound in found)
    return [
        line.path,
        line.what,
        line.fault,
        line.samples,
        f"{claimed:.4g}",
        f"{largest:.3g}",
        f"{n_refuted} of {len(seeds)}",
        f"{seconds:.1f}",
    ]


def main(arguments):
    parser = argparse.ArgumentParser(prog="python -m benchmarks audit", description=__doc__)
    parser.add_argument("--only", nargs="+", choices=PARTS, default=list(PARTS), metavar="PART")
    parser.add_argument("--lines", help="only lines whose path and what contain this text")
    parser.add_argument("--seeds", nargs="+", type=int, default=range(3), metavar="S")
    given = parser.parse_args(arguments)
    seeds = list(given.seeds)
    text = FILE.read_text(encoding="utf-8").splitlines()
    words = [line for line in text if line.startswith("#")]
    kept = {tuple(row[:3]): row for row in csv.reader(text[len(words) + 1 :])}
    order = [tuple(row) for make in PARTS.values() for row in ((*x[:2], x.fault) for x in make())]
    for part in given.only:
        for line in PARTS[part]():
            if given.lines and given.lines not in f"{line.path}, {line.what}":
                continue
            cells = measured(line, seeds)
            kept[tuple(cells[:3])] = cells
            print(", ".join(cells), flush=True)
            with FILE.open("w", encoding="utf-8", newline="") as out:
                out.write("\n".join(words) + "\n")
                rows = [kept[key] for key in order if key in kept]
                csv.writer(out, lineterminator="\n").writerows([HEADER, *rows])
