"""
Several targets of the same records
===================================

One fit learns several columns of `y`: here, whether a diabetic patient comes back within 30 days,
and how many days the stay lasts. Both are columns of one table of patients, so two fits would add
up their epsilons. In one fit, each record counts once for each target, and the noise is that of
both together.

A column of 0 and 1 with the bounds (0, 1) is predicted by the probability of 1, so `PATERegressor`
learns labels and numbers together. `PATEClassifier` learns several columns of labels: `classes` is
then a list with the classes of each, such as ``[[0, 1], [0, 1]]``.

Takes seconds on 2 cores. Uses the UCI file below ``$SKLEARN_PATE_DATA``; without it, made-up
patients. Give a file name to save the figure.
"""

import os
import sys

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.metrics import r2_score, roc_auc_score

from sklearn_pate import PATEClassifier, PATERegressor
from sklearn_pate.datasets import fetch_diabetes130

FEATURES = ["age", "number_inpatient", "number_diagnoses", "num_medications", "num_procedures"]


def patients():
    """Return rows, labels and days of one stay of each patient."""
    if "SKLEARN_PATE_DATA" not in os.environ:
        rng = np.random.default_rng(0)
        rows = pd.DataFrame(rng.poisson(4, size=(30_000, 5)), columns=FEATURES)
        days = np.clip(1 + rng.poisson(0.5 * rows["num_medications"]), 1, 14)
        odds = 0.3 * rows["number_inpatient"] - 4
        return rows, (rng.logistic(size=len(rows)) < odds).astype(int).to_numpy(), days
    stays = fetch_diabetes130()
    is_first = ~stays.groups.duplicated().to_numpy()  # so that a record is a patient
    rows = stays.data[is_first]
    return rows[FEATURES], stays.target[is_first].to_numpy(), rows["time_in_hospital"].to_numpy()


rows, returns, days = patients()
order = np.random.default_rng(0).permutation(len(rows))
public, private, test = order[:3000], order[3000:-8000], order[-8000:]
y = np.column_stack([returns, days]).astype(float)
BOUNDS = [(0, 1), (1, 14)]

# %%
# The plan has the noise of both targets, and one epsilon. With class sums, the noise on each sum is
# larger by the root of the number of targets; in fits that share epsilon, it is larger by their
# number.

reg = PATERegressor(method="sums", bounds=BOUNDS, epsilon=0.2)
print(reg.plan(rows.iloc[private], y[private], X_public=rows.iloc[public]))


# %%
# Two fits share the same epsilon: each gets one half.


def scores(predicted):
    """Return the AUC of returns and the R2 of days."""
    return roc_auc_score(y[test, 0], predicted[:, 0]), r2_score(y[test, 1], predicted[:, 1])


def both(epsilon):
    """Return the predictions of one fit of both targets."""
    reg = PATERegressor(method="sums", bounds=BOUNDS, epsilon=epsilon)
    reg.fit(rows.iloc[private], y[private], X_public=rows.iloc[public])
    return reg.predict(rows.iloc[test])


def one_each(epsilon):
    """Return the predictions of one fit for each target, at half of epsilon."""
    predicted = []
    for target, bounds in zip(y.T, BOUNDS, strict=True):
        reg = PATERegressor(method="sums", bounds=bounds, epsilon=epsilon / 2, delta=5e-6)
        reg.fit(rows.iloc[private], target[private], X_public=rows.iloc[public])
        predicted.append(reg.predict(rows.iloc[test]))
    return np.column_stack(predicted)


epsilons = [0.02, 0.1, 0.5]
found = {
    "one fit": [scores(both(epsilon)) for epsilon in epsilons],
    "two fits": [scores(one_each(epsilon)) for epsilon in epsilons],
}
for name, of_epsilons in found.items():
    for epsilon, (auc, r2) in zip(epsilons, of_epsilons, strict=True):
        print(f"{name}, epsilon {epsilon}: AUC of returns {auc:.3f}, R2 of days {r2:.3f}")

# %%
# Labels alone: returns, and stays of a week or more. `predict_proba` is a list, as for
# scikit-learn's multi-output classifiers.

labels = np.column_stack([returns, days >= 7]).astype(int)
clf = PATEClassifier(method="sums", classes=[[0, 1], [0, 1]], epsilon=0.2)
clf.fit(rows.iloc[private], labels[private], X_public=rows.iloc[public])
for name, proba, label in zip(
    ("returns", "long stays"), clf.predict_proba(rows.iloc[test]), labels[test].T, strict=True
):
    print(f"{name}: AUC {roc_auc_score(label, proba[:, 1]):.3f}")

# %%

fig, axes = plt.subplots(1, 2, figsize=(8, 3.5))
for number, title in enumerate(["AUC of returns", "R2 of days"]):
    for name, of_epsilons in found.items():
        axes[number].semilogx(epsilons, [both[number] for both in of_epsilons], "o-", label=name)
    axes[number].set(title=title, xlabel="epsilon")
axes[0].legend(frameon=False)
fig.tight_layout()
if len(sys.argv) > 1:
    fig.savefig(sys.argv[1], dpi=150)
else:
    plt.show()
