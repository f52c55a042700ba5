"""
Quickstart: a publishable model on scikit-learn's breast cancer data
====================================================================

340 patients are private. Each votes once, for its own label, in the cell where it lies; 100 public
points define the cells, and noise protects the votes. The student that learns from them may be
published: with epsilon 1, one patient's record hardly changes it. For comparison: logistic
regression, trained on all private records without any protection.
"""

import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sklearn_pate import PATEClassifier

# A demonstration: here, public rows are cut from the table that the private ones come from. Yours
# must come from elsewhere. And ten fits on overlapping rows add up to far more than epsilon 1.
X, y = load_breast_cancer(return_X_y=True)
clf = PATEClassifier(epsilon=1.0, classes=[0, 1])
not_private = make_pipeline(StandardScaler(), LogisticRegression())

scores = []
for seed in range(10):  # ten random splits; the noise is fresh in each
    X_private, X_rest, y_private, y_rest = train_test_split(X, y, train_size=340, random_state=seed)
    X_public, X_test, _, y_test = train_test_split(
        X_rest, y_rest, train_size=100, random_state=seed
    )
    clf.fit(X_private, y_private, X_public=X_public)
    not_private.fit(X_private, y_private)
    scores.append([model.score(X_test, y_test) for model in (clf, not_private)])

print(clf.plan(X_private, y_private, X_public=X_public))
names = ("published student", "logistic regression, no privacy")
for name, mean, spread in zip(names, np.mean(scores, axis=0), np.std(scores, axis=0), strict=True):
    print(f"{name:32s} accuracy {mean:.3f} +- {spread:.3f} (10 random splits)")
print(clf.privacy_spent_.summary())
