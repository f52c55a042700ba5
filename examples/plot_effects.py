"""
What a published model has learnt: effects, importance, and accuracy by group
=============================================================================

A published model depends on the private records through noise alone, so everything that is made of
it and of *public* rows is free: scikit-learn's partial dependence, its permutation importance, and
accuracy by group. On private rows the same pictures would be facts about people that no epsilon
covers.

Public rows with labels are needed for the last two. Here they are made up, as all is: whether
patients come back depends on age, on visits before, and a little on where they live.

Takes about 5 seconds. Give a file name to save the figure.
"""

import sys

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.inspection import PartialDependenceDisplay, permutation_importance

from sklearn_pate import PATEClassifier

REGIONS = ["north", "south", "islands"]


def patients(n, seed):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "age": rng.integers(18, 91, n).astype(float),
            "visits": rng.poisson(2, n).astype(float),
            "region": pd.Categorical(rng.choice(REGIONS, n, p=[0.6, 0.35, 0.05]), REGIONS),
            "room": rng.integers(1, 60, n).astype(float),
        }
    )
    old = np.abs(frame["age"] - 45) / 12  # the young and the old come back, others do not
    is_far = frame["region"] == "islands"
    odds = np.where(is_far, 3 - old, old - 3) + 0.5 * (frame["visits"] - 2)
    return frame, np.where(odds + rng.logistic(size=n) > 0, "yes", "no")


X_private, y_private = patients(12_000, seed=1)
X_public, y_public = patients(3_000, seed=2)

clf = PATEClassifier(epsilon=1.0, classes=["no", "yes"])
clf.fit(X_private, y_private, X_public=X_public)

# %%
# Importance
# ----------
# How much accuracy is lost on public rows if one column is shuffled. The room has no effect at all,
# and what is left of it is noise.
found = permutation_importance(clf, X_public, y_public, n_repeats=5, random_state=0)
print(pd.Series(found.importances_mean, X_public.columns).round(3))

# %%
# Accuracy by group
# -----------------
# Noise hides single records, and with them what is particular to few. The islands are one patient
# in twenty, and age works the other way round there. Always look at groups before a model is used.
is_right = clf.predict(X_public) == y_public
by_group = pd.Series(is_right).groupby(X_public["region"], observed=True).agg(["mean", "size"])
majority = pd.Series(y_public).groupby(X_public["region"], observed=True)
majority = majority.agg(lambda labels: labels.value_counts(normalize=True).max())
print(by_group.assign(majority=majority).round(3))

# %%
# Effects
# -------
# In the upper row: how the chance of "yes" goes with one column, on average over public rows. The
# shape of age is found: a private model with a straight line for each column could not have it.
figure, axes = plt.subplots(2, 2, figsize=(9, 7), layout="constrained")
PartialDependenceDisplay.from_estimator(
    clf, X_public, ["age", "visits"], ax=axes[0], grid_resolution=25
)
for ax in axes[0]:
    ax.set(ylabel="chance of yes", ylim=(0, 1))

order = np.argsort(found.importances_mean)
axes[1, 0].barh(X_public.columns[order], found.importances_mean[order], color="#0072B2")
axes[1, 0].set(xlabel="accuracy lost when shuffled")

names = [f"{name}\n{size} rows" for name, size in by_group["size"].items()]
axes[1, 1].bar(names, by_group["mean"], color="#0072B2", label="published model")
axes[1, 1].plot(names, majority, "D", color="#D55E00", label="always the commoner label")
axes[1, 1].set(ylabel="accuracy", ylim=(0, 1))
axes[1, 1].legend(loc="lower left")
if len(sys.argv) > 1:
    figure.savefig(sys.argv[1], dpi=120)
plt.show()
