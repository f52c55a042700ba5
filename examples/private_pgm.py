"""
A published synthesizer: Private-PGM draws the public rows
==========================================================

`MarginalSynthesizer` draws each column by itself. Where columns go together, a graphical model
knows more: Private-PGM (McKenna, Sheldon, Miklau, 2019, the package `mbi`) makes one of noisy
tables of pairs of columns. A class with four methods makes it a synthesizer: `event` states the
mechanism and its sensitivity, `gather` counts private rows, `publish` adds noise, `draw` draws
rows from the noisy counts. A fit records the cost between the second and the third.

The private rows are counted here, once, and the noise is this library's. So the cost is known
exactly, and does not rest on claims of the other package: it sees noisy counts alone.

Five questions with six answers each; every answer leans on that to the question before. The label
is whether neighbouring answers are far apart. Measured at epsilon 1 (means of 3 fresh runs, 20,000
private records, 5,000 synthetic rows): accuracy 0.790 by independent columns, 0.962 by pairs, 0.974
with real public rows, 0.748 by always saying no.

Needs `pip install mbi` (tried with 2.0). Takes half a minute.
"""

from copy import copy

import numpy as np
import pandas as pd
from mbi import Domain, LinearMeasurement
from mbi.estimation import MirrorDescent

from sklearn_pate import PATEClassifier
from sklearn_pate.aggregators import LaplaceMechanism
from sklearn_pate.rdp import Event
from sklearn_pate.synthesis import MarginalSynthesizer, Synthesizer

ANSWERS = pd.CategoricalDtype(list("abcdef"))


class PairSynthesizer(Synthesizer):
    """Draws rows of categorical columns from a graphical model of noisy pairs of columns.

    Parameters
    ----------
    pairs : list of tuple of str
        Columns that are counted together. They are public: chosen without looking at the rows.
    n_rows, share, noise
        As in `MarginalSynthesizer`.
    """

    def __init__(self, pairs, n_rows=5000, share=None, noise=None):
        self.pairs = pairs
        self.n_rows = n_rows
        self.share = share
        self.noise = noise

    def declare(self, X, target):
        if not all(isinstance(dtype, pd.CategoricalDtype) for dtype in X.dtypes):
            raise ValueError("PairSynthesizer needs columns of pandas.CategoricalDtype([...])")
        self.dtypes_ = dict(X.dtypes)
        return self

    def with_scale(self, scale):
        if self.noise is not None:
            return None
        return copy(self).set_params(noise=LaplaceMechanism(scale))  # it keeps `dtypes_`

    def event(self, neighbors, n_steps=None):
        # A record adds 1 to one count in the table of each pair
        return Event(self.noise, neighbors.counts(len(self.pairs)))

    def dry_run_rows(self, n_rows, rng):
        codes = {name: rng.integers(len(t.categories), size=n_rows) for name, t in self._kinds()}
        return self._frame(codes)

    def gather(self, X, codes, *, target, sample_weight=None, groups=None, published=()):
        if groups is not None or sample_weight is not None:
            raise ValueError("PairSynthesizer counts single records, each once")
        tables = []
        for pair in self.pairs:
            first, second = (X[name].cat.codes for name in pair)
            known = (first >= 0) & (second >= 0)
            table = np.zeros([len(self.dtypes_[name].categories) for name in pair])
            np.add.at(table, (first[known], second[known]), 1)
            tables.append(table)
        return tables

    def publish(self, gathered, rng, *, published=()):
        return [self.noise.noisy(table, rng) for table in gathered]

    def draw(self, published, rng):
        (tables,) = published  # of the one step
        measured = [
            LinearMeasurement(table.ravel(), pair, self.noise.noise_std)
            for pair, table in zip(self.pairs, tables, strict=True)
        ]
        domain = Domain.fromdict({name: len(t.categories) for name, t in self._kinds()})
        model = MirrorDescent().estimate(domain, measured)
        return self._frame(model.synthetic_data(self.n_rows, method="sample").to_dict())

    def _kinds(self):
        return self.dtypes_.items()

    def _frame(self, codes):
        columns = {
            name: pd.Categorical.from_codes(codes[name], dtype=t) for name, t in self._kinds()
        }
        return pd.DataFrame(columns)


# %%
# Answers that lean on each other
def answers(n_records, rng):
    codes = [rng.integers(6, size=n_records)]
    for _ in range(4):
        step = rng.choice([-1, 0, 1], p=[0.2, 0.6, 0.2], size=n_records)
        turned = rng.random(n_records) < 0.1
        codes.append(np.where(turned, 5 - codes[-1], codes[-1] + step).clip(0, 5))
    jumps = np.abs(np.diff(codes, axis=0))
    columns = {
        f"q{k}": pd.Categorical.from_codes(column, dtype=ANSWERS) for k, column in enumerate(codes)
    }
    return pd.DataFrame(columns), (jumps[0] + jumps[2] > 1).astype(int)


rng = np.random.default_rng()
X, y = answers(20_000, rng)
X_test, y_test = answers(5_000, rng)
pairs = [(f"q{k}", f"q{k + 1}") for k in range(4)]  # the order of the questions is public
synthesizers = {
    "independent columns": MarginalSynthesizer(missing=[]),
    "pairs of columns": PairSynthesizer(pairs),
}
for name, synthesizer in synthesizers.items():
    clf = PATEClassifier(method="neighbors", synthesizer=synthesizer, epsilon=1.0, classes=[0, 1])
    clf.fit(X, y)
    print(f"{name}: accuracy {clf.score(X_test, y_test):.3f}, {clf.privacy_spent_.epsilon=}")
clf = PATEClassifier(method="neighbors", epsilon=1.0, classes=[0, 1])
clf.fit(X, y, X_public=answers(5_000, rng)[0])
print(f"real public rows: accuracy {clf.score(X_test, y_test):.3f}")
print(f"always 0: accuracy {1 - y_test.mean():.3f}")
