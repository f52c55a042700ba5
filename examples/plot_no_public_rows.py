"""
No public rows: from a CSV file to a published model
====================================================

A table of customers is private, and there is none like it that is public. A synthesizer draws
public rows from noisy histograms of the private columns; then records vote in cells. One epsilon
covers both.

Put your file in the place of the made-up one. What you must know without looking at it: the names
and types of the columns, the values of each category, bounds of the numbers, which values may be
missing, and the values of the label.

Takes about 10 seconds. Give a file name to save the figure.
"""

import pickle
import sys
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.model_selection import train_test_split

from sklearn_pate import PATEClassifier
from sklearn_pate.synthesis import MarginalSynthesizer

JOBS = ["clerk", "farmer", "nurse", "none"]


# %%
# A file
# ------
# Made up: some earn nothing, a few earn very much, and some give no income.
def write_table(path, n=12_000):
    rng = np.random.default_rng()
    job = rng.choice(JOBS, n, p=[0.4, 0.1, 0.2, 0.3])
    income = np.where(job == "none", 0, rng.lognormal(10, 1, n).round(2))
    age = rng.integers(18, 91, n)
    chance = 0.06 * (age - 50) + 0.5 * np.log1p(income) - 4 - 2 * (job == "nurse")
    frame = pd.DataFrame({"age": age, "income": income, "job": job})
    frame["buys"] = np.where(chance + rng.logistic(size=n) > 0, "yes", "no")
    frame["income"] = frame["income"].mask(rng.random(n) < 0.1)
    frame["job"] = frame["job"].mask(rng.random(n) < 0.05)
    frame.to_csv(path, index=False)


folder = Path(tempfile.mkdtemp())
write_table(folder / "customers.csv")

# %%
# Read it with declared types
# ---------------------------
# Types are published. Left to pandas, one odd record would decide them.
dtypes = {"age": "int64", "income": "float64", "job": pd.CategoricalDtype(JOBS), "buys": "str"}
frame = pd.read_csv(folder / "customers.csv", dtype=dtypes)
X = frame.drop(columns="buys")
y = frame["buys"].to_numpy()
X_private, X_test, y_private, y_test = train_test_split(X, y, test_size=2_000)

# %%
# What a fit would spend
# ----------------------
# Income is skewed, so its bins are given, wider and wider; the first is for those who earn nothing.
# Nothing is spent by `plan`.
income = (0, 1, 2_000, 5_000, 10_000, 20_000, 40_000, 80_000, 200_000, 1_000_000)
synthesizer = MarginalSynthesizer(
    bounds={"age": (18, 90), "income": income},
    missing=["income", "job"],
)
clf = PATEClassifier(
    method="neighbors",
    synthesizer=synthesizer,
    epsilon=1.0,  # rows and labels together
    classes=["no", "yes"],
)
plan = clf.plan(X_private, y_private)
print(plan)
print(f"epsilon {plan.rows_cost.epsilon:.2f} for rows, {plan.own_cost.pure:.2f} for labels")
print(f"noise on each count: {plan.synthesizer.noise.noise_std:.0f} records")

# %%
# Fit, and publish
# ----------------
# The pickle holds the model, the synthetic rows and their labels, and no private row.
clf.fit(X_private, y_private)
print(clf.privacy_spent_.summary())
(folder / "published.pkl").write_bytes(pickle.dumps(clf))
print(clf.X_synthetic_.head())

# %%
# Is it any good?
# ---------------
# These rows were held out, but they are private as well: the score is for the curator alone, and
# must not be published.
published = pickle.loads((folder / "published.pkl").read_bytes())
print(f"accuracy, for the curator: {published.score(X_test, y_test):.3f}")
print(f"the most common answer alone: {pd.Series(y_test).value_counts(normalize=True).max():.3f}")

# %%
# Column by column, the synthetic rows come close, and so do the labels that they got. The private
# half of this figure is for the curator, too.
synthetic = published.X_synthetic_
labels = published.classes_[published.public_labels_]
edges = {"age": np.linspace(18, 91, 25), "income": np.append(0.5, income[1:])}
figure, panels = plt.subplots(1, 2, figsize=(8, 3.4), layout="constrained")
for axes, (column, bins) in zip(panels, edges.items(), strict=True):
    for label, color in zip(["no", "yes"], ["C0", "C1"], strict=True):
        for table, answers, style in [(X_private, y_private, "-"), (synthetic, labels, "--")]:
            values = table[column][answers == label].dropna().clip(bins[0], bins[-1])
            shares = np.histogram(values, bins)[0] / len(table)
            name = f"{label}, {'private' if table is X_private else 'synthetic'}"
            axes.stairs(shares, bins, color=color, linestyle=style, label=name)
    axes.set(xlabel=column, ylabel="share of rows")
panels[1].set(xscale="log", xlabel="income (first bin: none)")
panels[0].legend(fontsize="small")
figure.suptitle("Columns by label, epsilon 1 for rows and labels")
if len(sys.argv) > 1:
    figure.savefig(sys.argv[1])
