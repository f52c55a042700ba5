"""
Quickstart: a publishable model on scikit-learn's breast cancer data
====================================================================

340 patients are private. 80 teachers learn from about four patients each, vote on a few of 100
public points, and noise protects the votes. The student that learns those labels may be published:
with epsilon <= 1, one patient's record hardly changes what it can be. Beside it: the same student
model, and logistic regression, trained on all private records without any protection.
"""

import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.neighbors import NearestCentroid
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sklearn_pate import PATEClassifier

X, y = load_breast_cancer(return_X_y=True)

# Preprocessing is part of each teacher and of the student: nothing is fitted on all private rows.
teacher = make_pipeline(StandardScaler(), LogisticRegression())
student = make_pipeline(StandardScaler(), NearestCentroid())  # learns from few labels

scores = []
for seed in range(10):  # ten random splits; the noise is fresh in each
    X_private, X_rest, y_private, y_rest = train_test_split(X, y, train_size=340, random_state=seed)
    X_public, X_test, _, y_test = train_test_split(
        X_rest, y_rest, train_size=100, random_state=seed
    )

    clf = PATEClassifier(teacher, student=student, n_teachers=80, epsilon=1.0, classes=[0, 1])
    clf.fit(X_private, y_private, X_public=X_public)

    models = (clf, student.fit(X_private, y_private), teacher.fit(X_private, y_private))
    scores.append([model.score(X_test, y_test) for model in models])

names = ("private student", "same model, no privacy", "logistic regression, no privacy")
for name, mean, spread in zip(names, np.mean(scores, axis=0), np.std(scores, axis=0), strict=True):
    print(f"{name:32s} accuracy {mean:.3f} +- {spread:.3f} (10 random splits)")
print(clf.privacy_spent_)
