"""
From a DataFrame to a private model, and whether tuning pays
============================================================

Replace the made-up table by your own: ``frame = pd.read_csv(...)``. Columns of numbers and of
categories are distinguished by their type. You must know without looking at the private rows: the
name of the label, its possible values, and the values of each category.

Takes about a minute.
"""

import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from sklearn_pate import PATEClassifier
from sklearn_pate.ledger import PrivacyLedger
from sklearn_pate.model_selection import PrivateGridSearchCV

# %%
# The data
# --------
# Most rows are private. Others are public: their labels are not needed, except for the few that
# measure the result.
rng = np.random.default_rng()
n = 13_000
frame = pd.DataFrame(
    {
        "age": rng.integers(18, 90, n),
        "income": rng.lognormal(10, 0.7, n),
        "job": rng.choice(["clerk", "farmer", "nurse", "none"], n),
    }
)
chance = 0.08 * (frame["age"] - 50) + 0.00005 * frame["income"] - 2 * (frame["job"] == "nurse")
frame["buys"] = np.where(chance + rng.logistic(size=n) > 0.5, "yes", "no")

frame["job"] = frame["job"].astype(pd.CategoricalDtype(["clerk", "farmer", "nurse", "none"]))
X = frame.drop(columns="buys")
y = frame["buys"]
X_private, X_public, X_test = X[:10_000], X[10_000:12_000], X[12_000:]
y_private, y_test = y[:10_000], y[12_000:]

# %%
# What a fit would ask and cost
# -----------------------------
# Nothing is spent by `plan`. All other settings follow from public numbers.
clf = PATEClassifier(epsilon=1.0, classes=["no", "yes"])
print(clf.plan(X_private, y_private, X_public))

# %%
# One model, as it is
# -------------------
# A ledger counts all that is spent on these rows, from now on: keep its file with the data. This
# page, on made-up data, has it in a temporary folder.
ledger = PrivacyLedger(Path(tempfile.mkdtemp()) / "budget.sqlite", epsilon=4.0)
clf.set_params(ledger=ledger)
clf.fit(X_private, y_private, X_public)
print(f"as it is: accuracy {clf.score(X_test, y_test):.3f}, {clf.privacy_spent_}")

# %%
# The best of four candidates
# ---------------------------
# Teachers with a model of one's own, preprocessing inside. A search has one budget, far below the
# sum over candidates, and its result can be published. But each trial may spend a third of it, and
# up to an epsilon of 2 that costs more than a better setting gains, wherever we measured it: the
# page on defaults has numbers. A trial takes some seconds: it predicts 1,000 held-out records, each
# by itself, so that none can change what is predicted for another.
columns = make_column_transformer(
    (StandardScaler(), make_column_selector(dtype_include="number")),
    (OneHotEncoder(handle_unknown="ignore"), make_column_selector(dtype_exclude="number")),
)
model = make_pipeline(columns, LogisticRegression())
teachers = PATEClassifier(model, student=model, classes=["no", "yes"], ledger=ledger)
grid = {"n_teachers": [100, 200], "student__logisticregression__C": [0.01, 1.0]}
search = PrivateGridSearchCV(teachers, grid, epsilon=2.0, n_trials=6)
search.fit(X_private, y_private, X_public)
print(f"tuned: accuracy {search.score(X_test, y_test):.3f}, {search.best_params_}")
print(search.privacy_spent_.summary())

# %%
# What is left
# ------------
print(ledger.history().to_string())
print(f"{ledger.epsilon_spent:.2f} of {ledger.epsilon:g} is spent")
