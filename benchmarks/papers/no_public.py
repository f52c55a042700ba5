"""No public rows: what they would have been worth.

`MarginalSynthesizer` draws 5,000 rows from noisy histograms of the private columns, for four tenths
of epsilon; the rest is for votes about them. Epsilon is the total, and may be published; one record
(Diabetes: one patient) is replaced by another. "With public rows" is the same model at the same
epsilon. Bounds, edges and categories are written in `no_public_cases.py` by hand, from the data
sets' documentation, but for carriers and airports, which are those of the table, as timetables are
public. Queries and penalties of Adult's teachers were chosen on a split of the private file. Half
of Diabetes 130-US is of one class because labels were looked at, which no epsilon covers.

On Adult, one ballot a record loses 0.012 of accuracy without public rows at epsilon 0.25, 0.008 at
1, and teachers 0.002; late flights lose 0.006 of AUC (there boosted trees without privacy have
0.78), and Diabetes 130-US nothing that can be told from chance.

Rows are drawn column by column, given the label, so the last rows look for harm. Parity does none:
drawn rows go wherever records are. Two columns that are nearly the same, whose difference decides,
do: most drawn rows lie where their labels are plain, and students learn a boundary that is good
there; ballots fail with public rows as well. Columns that are mixtures of two numbers do, and what
is drawn lies far from all records. And 64 columns of 1,000 digits cost so much noise that nothing
is left: epsilon is shared by as many histograms as there are columns.
"""

from functools import partial

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression

from sklearn_pate import PATEClassifier
from sklearn_pate.neighbors import ReverseNeighbors

from .adult import additive
from .ballots import scores
from .no_public_cases import adult, dependent, diabetes, digits, flights, parity, two_causes
from .shared import Entry, by_seed

CHANGES = "the seed changes noise and all else but the records"


def voters(epsilon, seed):
    """One ballot a record."""
    return PATEClassifier(ReverseNeighbors(random_state=seed), epsilon=epsilon, random_state=seed)


def teachers(teacher, student, n_teachers, n_queries, epsilon, seed):
    return PATEClassifier(
        teacher,
        student=student,
        n_teachers=n_teachers,
        n_queries=n_queries,
        epsilon=epsilon,
        random_state=seed,
    )


def compared(what, cases, make, seeds, made, why=""):
    """Scores without public rows, and of the same model with them."""
    found = []
    for case, seed in zip(cases, seeds, strict=True):
        rows = case.rows
        without = scores(case.fit(make(seed=seed), is_public=False), rows)
        known = scores(case.fit(make(seed=seed), is_public=True), rows)
        known = {f"{name}, with public rows": value for name, value in known.items()}
        majority = np.unique(rows.y_test, return_counts=True)[1].max() / len(rows.y_test)
        found.append(without | known | {"majority class": majority})
    sizes = f"{len(rows.y):,} private rows, 5,000 drawn rows or {len(rows.X_public):,} public ones"
    return Entry("", what, "", by_seed(found), f"{sizes}; {made}", why)


def entries(seeds):
    case = [adult()] * len(seeds)
    one_ballot = f"one ballot a record, delta 0; {CHANGES}"
    for epsilon in (0.25, 1.0):
        make = partial(voters, epsilon)
        yield compared(f"UCI Adult, ballots, epsilon {epsilon:g}", case, make, seeds, one_ballot)
    for epsilon in (1.0, 2.0):
        make = partial(teachers, additive(10.0), additive(0.3), 500, 1000, epsilon)
        name = f"UCI Adult, teachers, epsilon {epsilon:g}"
        made = f"500 teachers, 1,000 labels, additive models, delta 1e-5; {CHANGES}"
        yield compared(name, case, make, seeds, made)
    name = "Flights out of New York that are late, epsilon 1"
    why = "DP-EBM without public rows 0.668, no privacy 0.694 (logistic regression)"
    yield compared(name, [flights()] * len(seeds), partial(voters, 1.0), seeds, one_ballot, why)
    name = "Diabetes 130-US, balanced, epsilon 2"
    made = "all stays of a patient cast one ballot together, delta 0; the seed changes the rows"
    yield compared(name, map(diabetes, seeds), partial(voters, 2.0), seeds, made)
    yield from failures(seeds)


def failures(seeds):
    """Where columns by themselves may say little of where records lie."""
    trees = HistGradientBoostingClassifier(max_leaf_nodes=6, max_iter=60)
    voter = partial(voters, 1.0)
    for name, make_case, model, models in (
        ("Parity of two columns", parity, trees, "boosted trees"),
        ("Dependent columns", dependent, LogisticRegression(), "logistic regression"),
        ("Two causes of twenty columns", two_causes, trees, "boosted trees"),
    ):
        case = [make_case()] * len(seeds)
        what = f"{name}, ballots, epsilon 1"
        yield compared(what, case, voter, seeds, f"delta 0; {CHANGES}")
        what = f"{name}, teachers, epsilon 1"
        made = f"200 teachers, 500 labels, {models}, delta 1e-5; {CHANGES}"
        yield compared(what, case, partial(teachers, model, model, 200, 500, 1.0), seeds, made)
    what = "Digits of scikit-learn, 10 classes, epsilon 1"
    made = "one ballot a record, delta 0; the seed changes the rows as well"
    yield compared(what, map(digits, seeds), voter, seeds, made)
