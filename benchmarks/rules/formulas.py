"""Formulas for defaults, and what each would have scored on what was measured."""

import itertools
import math
from bisect import bisect_left
from collections import defaultdict
from typing import NamedTuple

import numpy as np

from sklearn_pate import rules

from .synthetic import GAUSSIAN, SETTINGS

FEWEST_RECORDS = 5


class Case(NamedTuple):
    """One data set, kind of teachers and epsilon; points are (teachers, queries, noise, score)."""

    name: str
    kind: str
    epsilon: float
    n_records: int
    n_classes: int
    points: list

    @property
    def best(self):
        return max(score for *_, score in self.points)


class Power(NamedTuple):
    """``factor * sqrt(records * classes) / epsilon**power`` teachers, and most noise."""

    factor: float
    power: float
    noise: float
    class_power: float

    def n_teachers(self, case):
        wanted = self.factor * math.sqrt(case.n_records * case.n_classes)
        return min(wanted / max(1.0, case.epsilon) ** self.power, case.n_records / FEWEST_RECORDS)

    def most_noise(self, case, n_teachers):
        return self.noise * n_teachers / case.n_classes**self.class_power


class Library:
    """The rules of the library."""

    def n_teachers(self, case):
        return rules.default_n_teachers(
            n_records=case.n_records, n_classes=case.n_classes, epsilon=case.epsilon
        )

    def most_noise(self, case, n_teachers):
        return rules.most_noise(n_teachers=n_teachers, n_classes=case.n_classes)


class Earlier:
    """100 teachers, and noise of at most a quarter of the votes."""

    def n_teachers(self, case):
        return 100

    def most_noise(self, case, n_teachers):
        return n_teachers / 4


GRID = [
    Power(*values)
    for values in itertools.product(
        (0.5, 1, 1.5, 2, 3, 4), (0, 0.25, 0.5, 0.75, 1), (0.2, 0.25, 0.35, 0.5, 0.7, 1), (0, 0.5)
    )
]


def cases(votes):
    """Cases of what was measured, by name, kind and epsilon."""
    points = defaultdict(list)
    sizes = {}
    for key, found in votes.items():
        name, kind, n_teachers = key.split(" | ")
        sizes[name] = found["n_records"], found["n_classes"]
        for epsilon, asked, noise, score in found["points"]:
            points[name, kind, epsilon].append((int(n_teachers), asked, noise, score))
    return [Case(*key, *sizes[key[0]], found) for key, found in points.items()]


def score_of(rule, case):
    """Accuracy by a rule, interpolated between the numbers of teachers that were measured."""
    wanted = rule.n_teachers(case)
    sizes = sorted({point[0] for point in case.points})
    above = bisect_left(sizes, wanted)
    nearest = sizes[max(above - 1, 0) : above + 1]
    scores = [_score_at(rule, case, size) for size in nearest]
    return float(np.interp(math.log(wanted), np.log(nearest), scores))


def _score_at(rule, case, n_teachers):
    """Accuracy with the most queries whose noise the rule allows, else with the least noise."""
    of_size = [point for point in case.points if point[0] == n_teachers]
    most = rule.most_noise(case, n_teachers)
    affordable = [point for point in of_size if point[2] <= most]
    if affordable:
        return max(affordable, key=lambda point: point[1])[3]
    return min(of_size, key=lambda point: point[2])[3]


def left_out(found):
    """By name of a data set, the formula that loses least on the others (root mean square)."""
    names = np.array([case.name for case in found])
    losses = np.array([[case.best - score_of(rule, case) for case in found] for rule in GRID])
    chosen = {}
    for name in dict.fromkeys(names):
        others = losses[:, names != name]
        chosen[name] = GRID[(others**2).sum(axis=1).argmin()]
    return chosen


class Table(NamedTuple):
    """One table and epsilon; scores by share, number of bins, and whether by label."""

    name: str
    epsilon: float
    n_records: int
    n_columns: int
    n_classes: int
    scores: dict
    gaussian: float


class Bins(NamedTuple):
    """As many bins as leave each ``records`` times its noise; by label where a class has more."""

    share: float
    by_bin: float
    by_class: float

    def setting(self, table):
        """Return share, number of bins, and whether columns are counted for each class.

        The nearest that is measured with this share.
        """
        of_class = table.n_records / table.n_classes
        noise = 2 * math.sqrt(2) * (table.n_columns + 1) / (self.share * table.epsilon)
        is_measured_without = any(
            share == self.share and not by_label for share, _, by_label in SETTINGS
        )
        given_label = of_class >= self.by_class * noise or not is_measured_without
        counted = of_class if given_label else table.n_records
        wanted = min(32, counted / (self.by_bin * noise)) if self.by_bin else 32
        found = [n for share, n, label in SETTINGS if (share, label) == (self.share, given_label)]
        n_bins = min(found, key=lambda n: abs(math.log(n / max(wanted, 1))))
        return self.share, n_bins, given_label


BINS = [
    Bins(*values)
    for values in itertools.product(
        (0.05, 0.2, 0.4), (0, 0.01, 0.03, 0.1, 0.3, 1), (0, 0.1, 0.3, 1, 3)
    )
]


def synthetic_tables(measured):
    """Tables of what was measured; that of Gaussian noise is apart."""
    scores = defaultdict(dict)
    sizes = {}
    for key, found in measured.items():
        name, epsilon, *setting = key.split(" | ")
        sizes[name] = found["n_records"], found["n_columns"], found["n_classes"]
        if len(setting) == 3:
            share, n_bins, given_label = setting
            setting = float(share), int(n_bins), given_label == "True"
        scores[name, float(epsilon)][tuple(setting)] = found["accuracy"]
    gaussian = {key: of_table.pop((GAUSSIAN,), math.nan) for key, of_table in scores.items()}
    return [
        Table(*key, *sizes[key[0]], of_table, gaussian[key])
        for key, of_table in scores.items()
        if set(of_table) >= set(SETTINGS)
    ]
