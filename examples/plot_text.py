"""
Text with 18 classes: records that vote
=======================================

Which part of a library is a text about? The texts are the docstrings of numpy, scipy, scikit-learn
and pandas, as they are installed here, and the classes are the subpackages. Half of the texts are
private. A quarter is public, without labels, and the rest is the test set.

Words and pairs of words are hashed and weighted, and become 100 numbers by a singular value
decomposition of the *public* texts. Texts of one subpackage are near each other there, so each
private text votes once, in the cell where it lies (`method="neighbors"`), and one noisy table pays
for all labels and classes. Teachers, nearest centroids in the same numbers, pay for each label.

Measured (numpy 2.4, scipy 1.17, scikit-learn 1.9, pandas 3.1: 3,742 private texts, 1,871 public
ones), means of three seeds: all are below a linear model of the same numbers without privacy, which
is right for 0.769 of the test texts. Docstrings of one subpackage repeat phrases, so other texts
may be harder.

========  =====  =====  =====  =====
epsilon   0.5    1      2      4
========  =====  =====  =====  =====
teachers  0.324  0.356  0.406  0.522
records   0.635  0.679  0.703  0.722
========  =====  =====  =====  =====

Pairs of words, and the numbers of teachers and labels at each epsilon, were chosen by scores on
texts outside the test set, among some settings of each; that choice is not private.

Takes about a minute on 2 cores, needs no data, and prints other numbers where other versions are
installed. Give a file name to save the figure.
"""

import ast
import sys
from collections import Counter
from importlib.util import find_spec
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from joblib import Parallel, delayed
from sklearn.compose import make_column_transformer
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import HashingVectorizer, TfidfTransformer
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import NearestCentroid
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer

from sklearn_pate import PATEClassifier
from sklearn_pate.methods import ReverseNeighbors

SEEDS = range(3)
#: Teachers and labels by epsilon
TEACHERS = {0.5: (800, 100), 1: (800, 200), 2: (200, 200), 4: (100, 200)}
EPSILONS = list(TEACHERS)


# %%
# Texts
# -----
# Docstrings of a dozen words and more, each once, of subpackages that have 150 of them.
def files():
    for package in ("numpy", "scipy", "sklearn", "pandas"):
        folder = Path(find_spec(package).origin).parent
        for path in sorted(folder.rglob("*.py")):
            part, *rest = path.relative_to(folder).parts
            if rest and "tests" not in rest:
                yield path, f"{package}.{part}"


def docstrings(path):
    nodes = ast.walk(ast.parse(path.read_text(encoding="utf-8")))
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef)
    found = [ast.get_docstring(node) for node in nodes if isinstance(node, documented)]
    return [text for text in found if text and len(text.split()) >= 12]


paths, parts = zip(*files(), strict=True)
subpackage = {}
for texts, part in zip(Parallel(n_jobs=2)(map(delayed(docstrings), paths)), parts, strict=True):
    for text in texts:
        subpackage.setdefault(text, part)
X = pd.DataFrame({"text": pd.Series(list(subpackage), dtype=object)})
y = np.array(list(subpackage.values()))
classes = [name for name, n_texts in Counter(y.tolist()).items() if n_texts >= 150]
rows = np.random.default_rng(0).permutation(np.flatnonzero(np.isin(y, classes)))
private, public, test = np.split(rows, [len(rows) // 2, 3 * len(rows) // 4])
print(f"{len(private)} private texts, {len(public)} public ones, {len(classes)} classes")

# %%
# Numbers
# -------
# Each step is fitted on public texts alone, and treats each text by itself.
words = HashingVectorizer(
    n_features=2**15, ngram_range=(1, 2), stop_words="english", alternate_sign=False
)
weighted = make_column_transformer((make_pipeline(words, TfidfTransformer()), "text"))
numbers = make_pipeline(weighted, TruncatedSVD(100, random_state=0), Normalizer())
numbers = FrozenEstimator(numbers.fit(X.iloc[public]))


# %%
# Records and teachers
# --------------------
# Seeds make the page reproducible; a model to be published must be fitted without one.
def by_records(epsilon, seed):
    method = ReverseNeighbors(numbers, random_state=seed)
    clf = PATEClassifier(method=method, epsilon=epsilon, classes=classes, random_state=seed)
    clf.fit(X.iloc[private], y[private], X_public=X.iloc[public])
    return clf.score(X.iloc[test], y[test])


def by_teachers(epsilon, seed):
    n_teachers, n_queries = TEACHERS[epsilon]
    clf = PATEClassifier(
        NearestCentroid(),
        n_teachers=n_teachers,
        n_queries=n_queries,
        epsilon=epsilon,
        classes=classes,
        random_state=seed,
    )
    clf.fit(numbers.transform(X.iloc[private]), y[private], numbers.transform(X.iloc[public]))
    return clf.score(numbers.transform(X.iloc[test]), y[test])


def scores(fit):
    """By epsilon and seed."""
    fits = [delayed(fit)(epsilon, seed) for epsilon in EPSILONS for seed in SEEDS]
    return np.reshape(Parallel(n_jobs=2)(fits), (len(EPSILONS), len(SEEDS)))


accuracies = {"records": scores(by_records), "teachers": scores(by_teachers)}
bare = make_pipeline(numbers, LogisticRegression(C=10, max_iter=500))
without_privacy = bare.fit(X.iloc[private], y[private]).score(X.iloc[test], y[test])
print(f"without privacy: {without_privacy:.3f}")
for name, accuracy in accuracies.items():
    for epsilon, by_seed in zip(EPSILONS, accuracy, strict=True):
        print(f"{name}, epsilon {epsilon:g}: {by_seed.mean():.3f} +- {by_seed.std():.3f}")

# %%
# Accuracy and epsilon
# --------------------
LINES = {"records": ("#0072B2", "o", "-"), "teachers": ("#D55E00", "s", "--")}
figure, axes = plt.subplots(figsize=(6, 3.6), layout="constrained")
for name, (color, marker, dashes) in LINES.items():
    accuracy = accuracies[name].mean(axis=1)
    axes.plot(EPSILONS, accuracy, color=color, marker=marker, linestyle=dashes, label=name)
axes.axhline(without_privacy, color="0.4", ls=":", label="without privacy")
axes.set(xscale="log", xlabel="epsilon, replace one text", ylabel="accuracy", ylim=(0, 1))
axes.set_xticks(EPSILONS, EPSILONS)
axes.minorticks_off()
axes.legend(ncols=3, loc="upper center")
if len(sys.argv) > 1:
    figure.savefig(sys.argv[1], dpi=120)
plt.show()
