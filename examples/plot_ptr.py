"""
A publishable epsilon that uses the agreement of the votes: propose-test-release
================================================================================

What labels cost depends on the votes: when teachers agree, little. That cost is private, so it
cannot be published, and the guarantee of a fit is normally the *data-independent* cost, which
holds for any votes. ``accounting="ptr"`` uses the agreement without revealing it: labels are
released only if a private test finds the exact cost of the votes small enough, and test and labels
together are (epsilon, delta)-private on every data set.

UCI Adult, 250 random forests, 500 queries, Gaussian noise of standard deviation 40, delta 1e-5:
data-independently the labels would cost 2.81; here the student is published at 1.6. The figure
shows how likely these votes were to pass at other caps. That curve is computed from private votes:
it is for the curator's eyes, and shown because the data are public.

Takes about a minute on 2 cores. Needs the UCI files below ``$SKLEARN_PATE_DATA``, or a network
connection. Give a file name to save the figure.
"""

import sys

import matplotlib.pyplot as plt
import numpy as np
from sklearn.ensemble import RandomForestClassifier

from sklearn_pate import PATEClassifier
from sklearn_pate.accounting.propose_test_release import ProposeTestRelease
from sklearn_pate.aggregators import GNMax
from sklearn_pate.datasets import fetch_adult

DELTA = 1e-5


# %%
# Data: 13 features (all but the survey weight `fnlwgt`), categories as integers
# ------------------------------------------------------------------------------
def integers(frame):
    frame = frame.drop(columns="fnlwgt")
    codes = {name: frame[name].cat.codes for name in frame.select_dtypes("category")}
    return frame.assign(**codes).to_numpy(dtype=np.float32)


train = fetch_adult(subset="train")
X = integers(train.data)
y = train.target.to_numpy()
test = fetch_adult(subset="test")
X_all = integers(test.data)
y_all = test.target.to_numpy()
X_public = X_all[:500]
X_test = X_all[-11282:]
y_test = y_all[-11282:]

# %%
# One fit at epsilon 1.6
# ----------------------
# A seed makes the page reproducible; a model to be published must be fitted without one.
clf = PATEClassifier(
    RandomForestClassifier(n_estimators=100),
    n_teachers=250,
    aggregator=GNMax(sigma=40.0),
    n_queries=500,
    epsilon=1.6,
    delta=DELTA,
    accounting="ptr",
    classes=[0, 1],
    n_jobs=-1,
    random_state=0,
)
clf.fit(X, y, X_public=X_public)
curator = clf.curator_
print(f"published: {clf.privacy_spent_}")
print(f"student accuracy              {clf.score(X_test, y_test):.4f}")
print(f"majority class                {1 - y_test.mean():.4f}")
print(f"the data-independent cost is {curator.epsilon(bound='data_independent'):.3f}")
print(f"exact cost of these votes     {curator.epsilon():.3f}   (private)")

# %%
# How likely these votes were to pass, at other caps
# --------------------------------------------------
caps = np.arange(1.1, 2.71, 0.1)
rng = np.random.default_rng(0)
exact = []
sampled = []
for epsilon in caps:
    privacy_test = ProposeTestRelease.plan(
        GNMax(40.0), 500, n_teachers=250, n_classes=2, epsilon=epsilon, delta=DELTA
    )
    exact.append(privacy_test.pass_probability(curator.votes))
    sampled.append(np.mean([privacy_test.passes(curator.votes, rng) for _ in range(1000)]))
    print(
        f"epsilon {epsilon:.1f}: passes with probability {exact[-1]:.4f}, {sampled[-1]:.3f} of 1000"
    )

fig, ax = plt.subplots(figsize=(6.4, 3.8), layout="constrained")
ax.plot(caps, exact, "-", color="#0072B2", label="probability")
ax.plot(caps, sampled, "o", color="#0072B2", ms=4, label="share of 1,000 draws")
for epsilon, color, text in (
    (curator.epsilon(bound="data_independent"), "0.3", "data-independent guarantee"),
    (curator.epsilon(), "#D55E00", "exact cost of these votes (private)"),
):
    ax.axvline(epsilon, color=color, ls="--")
    left_of_line = {"xytext": (-5, 0), "textcoords": "offset points", "ha": "right", "va": "center"}
    ax.annotate(text, (epsilon, 0.5), rotation=90, **left_of_line)
ax.set(xlabel="published epsilon of test and labels together", ylabel="labels are released")
ax.set(xlim=(0.7, 3.0), ylim=(-0.03, 1.05))
ax.legend(loc="center right", bbox_to_anchor=(0.85, 0.4))
if len(sys.argv) > 1:
    fig.savefig(sys.argv[1], dpi=120)
plt.show()
