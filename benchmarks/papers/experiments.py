"""Records that vote: what was tried.

Each row is one change of `ReverseNeighbors()` and its default student, all at a total epsilon of 1
for one record replaced by another. What is asked of the records a second time is paid for: two
tables or two rounds share epsilon. Settings were chosen on other data (Adult's training file, later
flights, Diabetes 130-US, small images of MNIST, lower-case letters). j was thought of after the
others had been measured here. [What was tried](experiments.md) says why each wins or loses.
"""

from dataclasses import replace
from functools import cache
from math import sqrt

import numpy as np
from scipy.optimize import brentq
from scipy.stats import norm
from sklearn.cluster import KMeans
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import roc_auc_score
from sklearn.neural_network import MLPClassifier
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeRegressor, ExtraTreeRegressor

from sklearn_pate.aggregators import GaussianMechanism, GNMax
from sklearn_pate.neighbors.cells import nearest_cells

from .ballot_parts import (
    CHANGED,
    cast,
    clustered,
    default_cells,
    joint,
    landmarks,
    laplace,
    means,
    numbers,
    smooth,
    student,
    taught,
)
from .ballots import adult, digits, flights, rendered_letters
from .shared import Entry

EPSILON = 1.0
DELTA = 1e-5


@cache
def usual(rows, seed):
    """The table, the rates of public rows and the student, as they are now."""
    table = clustered(rows, laplace(EPSILON), seed)
    rates = smooth(rows, table, rows.public)
    return table, rates, student(rows, rates)


def middle(*probabilities):
    """The geometric mean of probabilities."""
    mean = np.exp(np.mean([np.log(np.maximum(each, 1e-4)) for each in probabilities], axis=0))
    return mean / mean.sum(axis=1, keepdims=True)


# --- experiments: each yields names and the probabilities of test rows ----------------------------


def present(rows, seed):
    yield "As it is", usual(rows, seed)[2].predict_proba(rows.test)


def rounds(rows, seed):
    """Half of epsilon teaches a student, whose view makes the cells of the other half."""
    half = laplace(EPSILON / 2)
    first = student(rows, smooth(rows, clustered(rows, half, seed), rows.public))
    yield "a. The first of two rounds alone", first.predict_proba(rows.test)
    for name, weight in (("the student's view", 0), ("the student's view and the columns", 1)):
        seen = in_view(rows, first, weight)
        table = clustered(seen, half, seed + 100)
        rates = smooth(seen, table, seen.public)
        yield f"a. The second round, cells in {name}", student(rows, rates).predict_proba(rows.test)


def in_view(rows, model, weight):
    """The rows in a student's view, and in their columns with some weight."""
    views = [view(model.predict_proba(part)) for part in (rows.X, rows.public, rows.test)]
    by_view = sqrt(views[1].var(axis=0).sum())
    by_columns = weight / sqrt(rows.public.var(axis=0).sum())
    parts = zip(views, (rows.X, rows.public, rows.test), strict=True)
    X, public, test = (np.hstack([seen / by_view, part * by_columns]) for seen, part in parts)
    return replace(rows, X=X, public=public, test=test)


def view(probabilities):
    """The log odds of two classes, and the roots of the probabilities of several."""
    if probabilities.shape[1] > 2:
        return np.sqrt(probabilities)
    logs = np.log(np.maximum(probabilities, 1e-4))
    return logs[:, 1:] - logs[:, :1]


def several(rows, seed):
    """A ballot in each of several tables, each of which has its share of the budget."""
    for n_tables in (2, 4):
        share = laplace(EPSILON / n_tables)
        tables = [clustered(rows, share, seed + 100 * k) for k in range(n_tables)]
        yield f"b. {n_tables} tables", taught(rows, joint(tables), n_tables=n_tables)
    # a record changes so many entries, each by one, at a cost that grows with their root
    noise = GaussianMechanism(sqrt(CHANGED * 4) / mu_beside(0.0), "continuous")
    tables = [clustered(rows, noise, seed + 100 * k) for k in range(4)]
    yield "b. 4 tables, Gaussian noise, delta 1e-5", taught(rows, joint(tables), n_tables=4)
    tables = [in_some_columns(rows, seed + 100 * k) for k in range(2)]
    yield "b. 2 tables, each of half the columns", taught(rows, joint(tables), n_tables=2)


def in_some_columns(rows, seed):
    n_columns = rows.X.shape[1]
    some = np.random.default_rng(seed).permutation(n_columns)[: n_columns // 2]
    table = clustered(
        replace(rows, X=rows.X[:, some], public=rows.public[:, some]), laplace(EPSILON / 2), seed
    )
    return replace(table, centers=means(rows.public, table.cells, len(table.centers)))


def trees(rows, seed):
    """Cells are leaves of a tree that splits public rows, so that a leaf's columns vary little."""
    n_leaves = default_cells(rows, laplace(EPSILON))
    params = {"max_leaf_nodes": n_leaves, "random_state": seed}
    splits = {"best": DecisionTreeRegressor(**params), "random": ExtraTreeRegressor(**params)}
    for name, tree in splits.items():
        leaves, cells = np.unique(
            tree.fit(rows.public, rows.public).apply(rows.public), return_inverse=True
        )
        of_records = np.searchsorted(leaves, tree.apply(rows.X))
        table = cast(rows, of_records, cells, len(leaves), laplace(EPSILON), seed)
        yield f"c. Cells are leaves of a tree, {name} splits", taught(rows, table)


def levels(rows, seed):
    """Cells and groups of eight cells, half of epsilon each, made to agree by least squares."""
    half = laplace(EPSILON / 2)
    fine = clustered(rows, half, seed, default_cells(rows, laplace(EPSILON)))
    n_groups = max(2, len(fine.centers) // 8)
    group = KMeans(n_groups, random_state=seed).fit(fine.centers).labels_
    cells = nearest_cells(rows.X, fine.centers)[:, 0]
    coarse = cast(rows, group[cells], group[fine.cells], n_groups, half, seed + 100)
    n_members = np.bincount(group, minlength=n_groups)[:, None]
    sums = np.zeros_like(coarse.noisy)
    np.add.at(sums, group, fine.noisy)
    missing = (coarse.noisy - sums) / (n_members + 1)  # what each member of a group is short of
    left = sqrt(np.mean(1 - 1 / (n_members[group] + 1)))
    agreed = replace(fine, noisy=fine.noisy + missing[group], noise_std=fine.noise_std * left)
    yield "d. The cells of two levels without the groups", taught(rows, fine)
    yield "d. Two levels that agree", taught(rows, agreed)
    yield "d. Two levels, smoothed as one table", taught(rows, joint([fine, coarse]), n_tables=2)


def students(rows, seed):
    """Other students of the same rates."""
    _, rates, _ = usual(rows, seed)
    others = {
        "a random forest": RandomForestClassifier(200, min_samples_leaf=5, random_state=0),
        "a network": MLPClassifier(64, alpha=0.001, max_iter=50, random_state=0),
    }
    if rows.n_classes == 2:
        others["boosted trees"] = HistGradientBoostingClassifier(random_state=0)
    for name, model in others.items():
        yield f"e. Student: {name}", student(rows, rates, model).predict_proba(rows.test)
    if rows.n_classes > 2:
        machine = SVC().fit(rows.public, rates.argmax(axis=1))
        said = np.eye(rows.n_classes)[machine.predict(rows.test)]
        yield "e. Student: SVC() on the likeliest classes", said


def votes(rows, seed):
    """Three quarters of epsilon for ballots, the rest for votes of teachers on unsure rows."""
    pure = 0.75 * EPSILON
    rates = smooth(rows, clustered(rows, laplace(pure), seed), rows.public)
    yield "f. Three quarters of epsilon alone", student(rows, rates).predict_proba(rows.test)
    rng = np.random.default_rng([seed, 2])
    unsure = -(rates * np.log(rates)).sum(axis=1)
    asked = np.argsort(-np.log(unsure) - 0.3 * rng.gumbel(size=len(rates)))[:50]
    mechanism = GNMax(sqrt(CHANGED * len(asked)) / mu_beside(pure))
    labels = mechanism.aggregate(counts(rows, asked, rng), random_state=seed)
    rates[asked] = np.eye(rows.n_classes)[labels]
    yield "f. ... and votes on 50 unsure rows", student(rows, rates).predict_proba(rows.test)


def counts(rows, asked, rng):
    """Votes of teachers, who share the records."""
    n_teachers = min(200, len(rows.y) // 100)
    of_teacher = rng.integers(n_teachers, size=len(rows.y))
    few = LinearDiscriminantAnalysis(solver="lsqr", shrinkage=0.3)
    teacher = LogisticRegression(C=0.1) if rows.n_classes == 2 else few
    cast_votes = np.zeros((len(asked), rows.n_classes))
    for number in range(n_teachers):
        own = of_teacher == number
        said = teacher.fit(rows.X[own], rows.y[own]).predict(rows.public[asked])
        cast_votes[np.arange(len(asked)), said] += 1
    return cast_votes


def mu_beside(pure):
    """Gaussian DP that is left beside a pure epsilon, exactly."""
    likelier = np.exp(pure) / (1 + np.exp(pure))

    def delta_of(mu, epsilon):
        above = norm.cdf(-mu / 2 - epsilon / mu)
        return norm.cdf(mu / 2 - epsilon / mu) - np.exp(epsilon) * above

    def too_much(mu):
        low, high = delta_of(mu, EPSILON - pure), delta_of(mu, EPSILON + pure)
        return likelier * low + (1 - likelier) * high - DELTA

    return brentq(too_much, 0.01, 10)


def smoother(rows, seed):
    """The smoother speaks for itself at any row."""
    table, _, model = usual(rows, seed)
    rates = smooth(rows, table, rows.test)
    yield "g. The smoother's rates in place of the student", rates
    both = middle(model.predict_proba(rows.test), rates)
    yield "g. The geometric mean of student and smoother", both


def second_look(rows, seed):
    """The same table is smoothed again, between cells that are near in the student's view."""
    table, _, model = usual(rows, seed)
    seen = in_view(rows, model, 0.5)
    moved = replace(table, centers=means(seen.public, table.cells, len(table.centers)))
    rates = smooth(seen, moved, seen.public)
    yield (
        "h. The same table, smoothed again as the student sees it",
        student(rows, rates).predict_proba(rows.test),
    )


def more(rows, seed):
    """Up to 2,000 cells in place of 1,000, and 1,000 landmarks in place of 300."""
    mechanism = laplace(EPSILON)
    table, rates, model = usual(rows, seed)
    if len(table.centers) == 1000:  # the most by default
        by_noise = len(rows.y) / (7 * mechanism.noise_std)
        n_cells = int(min(by_noise, len(rows.public) / 2, 2000))
        table = clustered(rows, mechanism, seed, n_cells)
        rates = smooth(rows, table, rows.public)
        model = student(rows, rates)
    yield "i. Up to 2,000 cells", model.predict_proba(rows.test)
    more_landmarks = student(rows, rates, landmarks(rows, 1000))
    said = more_landmarks.predict_proba(rows.test)
    yield "i. ... and 1,000 landmarks", said
    yield "i. ... and the mean with the smoother", middle(said, smooth(rows, table, rows.test))


def least_squares(rows, seed):
    """Ridge regression of the rates on the columns and on how near 1,000 public rows are."""
    _, rates, _ = usual(rows, seed)
    middle_row = np.median(rows.public, axis=0)
    unit = np.median(np.linalg.norm(rows.public - middle_row, axis=1))
    n_landmarks = min(1000, len(rows.public))
    nearness = Nystroem(gamma=unit**-2, n_components=n_landmarks, random_state=0).fit(rows.public)
    public, test = (
        np.hstack([part / unit, nearness.transform(part)]) for part in (rows.public, rows.test)
    )
    said = np.maximum(Ridge(alpha=0.1).fit(public, rates).predict(test), 1e-3)
    yield "j. Student: least squares on the rates", said / said.sum(axis=1, keepdims=True)


EXPERIMENTS = (
    present,
    rounds,
    several,
    trees,
    levels,
    students,
    votes,
    smoother,
    second_look,
    more,
    least_squares,
)


# --- rows of the page ----------------------------------------------------------------------------


def entries(seeds):
    data = {"Adult": [numbers(adult())] * len(seeds), "flights": [numbers(flights())] * len(seeds)}
    data["digits"] = [numbers(digits(seed)) for seed in seeds]
    data["letters"] = [numbers(rendered_letters())] * len(seeds)
    for experiment in EXPERIMENTS:
        found = {}
        for name, drawn in data.items():
            for rows, seed in zip(drawn, seeds, strict=True):
                for what, probabilities in experiment(rows, seed):
                    scored = scores(rows, probabilities, name)
                    add(found.setdefault(what, {}), scored)
        for what, ours in found.items():
            yield Entry("", what, "", ours)


def add(ours, scored):
    for name, value in scored.items():
        ours[name] = (*ours.get(name, ()), value)


def scores(rows, probabilities, name):
    """Accuracy, and of two classes the area under the ROC curve."""
    found = {f"{name}, accuracy": np.mean(probabilities.argmax(axis=1) == rows.y_test)}
    if rows.n_classes == 2:
        found[f"{name}, AUC"] = roc_auc_score(rows.y_test, probabilities[:, 1])
    return found
