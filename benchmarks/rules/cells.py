"""The fewest cells that records vote in: small tables, of which noise would leave next to none."""

import numpy as np

from sklearn_pate import PATEClassifier
from sklearn_pate.neighbors import ReverseNeighbors

from . import tables
from .synthetic import some_digits, some_letters

N_CELLS = (4, 6, 8, 12, 16, 24, 32, 48)
EPSILONS = (0.5, 1.0)
N_SEEDS = 6

#: Rows by seed.
TABLES = {
    "Adult, 320 records": lambda seed: tables.few(tables.adult(), 320, seed=seed),
    "Adult, 1,000 records": lambda seed: tables.few(tables.adult(), 1000, seed=seed),
    "MNIST, 3 and 5": some_digits([3, 5], 320),
    "MNIST, 4, 7 and 9": some_digits([4, 7, 9], 320),
    "small letters, c and e": some_letters("ce", 320),
    "small letters, h and n": some_letters("hn", 320),
    "small letters, c, e and g": some_letters("ceg", 320),
}


def measure(kept, *, is_quick=False):
    """Measure what is not kept yet."""
    for name in list(TABLES)[:0] if is_quick else TABLES:
        for epsilon in EPSILONS:
            for n_cells in N_CELLS:
                kept.measure(f"{name} | {epsilon} | {n_cells}", one, name, epsilon, n_cells)


def one(name, epsilon, n_cells):
    """Mean accuracy over seeds."""
    scores = []
    for seed in range(N_SEEDS):
        rows = TABLES[name](seed)
        clf = PATEClassifier(
            ReverseNeighbors(n_cells=n_cells),
            epsilon=epsilon,
            classes=np.unique(rows.y),
            random_state=seed,
        )
        clf.fit(rows.X, rows.y, X_public=rows.X_public)
        scores.append(clf.score(rows.X_test, rows.y_test))
    return round(float(np.mean(scores)), 4)
