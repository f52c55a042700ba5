"""
Four displays: what labels cost, how good they are, and why
===========================================================

A fit of `PATEClassifier` can be looked at from two sides. What it published (the guarantee, the
numbers of queries and answers) may be shown to anybody. What the teachers voted, and all that is
computed from it, is for the holder of the data alone: those displays say so on their axes. They
read `curator_`, which is left out of pickles. Here the data are synthetic, so all can be shown.

Takes about 5 seconds. Give a file name to save the figure.
"""

import pickle
import sys

import matplotlib.pyplot as plt
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB

from sklearn_pate import PATEClassifier
from sklearn_pate.aggregators import ConfidentGNMax
from sklearn_pate.plotting import (
    BudgetDisplay,
    LabelAccuracyDisplay,
    MarginDisplay,
    PrivacySpentDisplay,
)

# %%
# A fit that answers only where teachers agree
# --------------------------------------------
# The seed makes the page reproducible; a model to be published must be fitted without one.
X, y = make_classification(
    13_000, n_features=10, n_informative=5, n_classes=4, n_clusters_per_class=1, random_state=0
)
clf = PATEClassifier(
    GaussianNB(),
    n_teachers=250,
    aggregator=ConfidentGNMax(threshold=0.6, sigma1=60.0, sigma2=30.0),
    student=LogisticRegression(max_iter=1000),
    n_queries=700,
    epsilon=5.0,
    classes=range(4),
    random_state=0,
)
clf.fit(X[:10_000], y[:10_000], X_public=X[10_000:12_000])
print(f"student accuracy {clf.score(X[12_000:], y[12_000:]):.3f}")
print(clf.privacy_spent_)

# %%
# Four pictures
# -------------
# Cost: the guarantee grows with the number of queries, whatever the votes. The private curves show
# what these votes cost, by the bound that the 2018 paper prints and exactly: they are cheap because
# teachers agree.
#
# Accuracy: the expected accuracy of the labels at other values of a parameter, from the
# distribution of the outcomes. A stricter threshold gives fewer and better answers. Choosing
# parameters by this picture and publishing the choice spends privacy.
#
# Agreement: the margin of the first class over the second, which is why labels are cheap and right.
#
# Budget: where it went, computed from public numbers, so without a mark.
figure, axes = plt.subplots(2, 2, figsize=(10, 7.5), layout="constrained")
PrivacySpentDisplay.from_estimator(clf, ax=axes[0, 0])
LabelAccuracyDisplay.from_estimator(
    clf,
    y[10_000:12_000],
    param_name="threshold",
    param_range=[0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0],
    ax=axes[0, 1],
)
MarginDisplay.from_estimator(clf, ax=axes[1, 0])
BudgetDisplay.from_estimator(clf, ax=axes[1, 1])
for ax, title in zip(axes.flat, ("cost", "accuracy", "agreement", "budget"), strict=True):
    ax.set_title(title, loc="left")
if len(sys.argv) > 1:
    figure.savefig(sys.argv[1], dpi=150)
plt.show()

# %%
# What may be published
# ---------------------
# The guarantee alone. It can also be drawn from the published, unpickled model.
published = pickle.loads(pickle.dumps(clf))
PrivacySpentDisplay.from_estimator(published, private=False)
plt.show()
