"""diffprivlib: Gaussian naive Bayes, logistic regression, random forest."""

import numpy as np
from diffprivlib.models import GaussianNB, LogisticRegression, RandomForestClassifier
from scipy.special import softmax
from shared import answer, in_columns


def fit(arrays, one):
    settings = dict(one["settings"])
    model = settings.pop("model")
    return MODELS[model](arrays, one, settings)


def naive_bayes(arrays, one, settings):
    clf = GaussianNB(
        epsilon=one["epsilon"], bounds=(-1.0, 1.0), random_state=one["seed"], **settings
    )
    clf.fit(arrays["X"], arrays["y"])
    return in_columns(clf.predict_proba(arrays["X_test"]), clf.classes_, arrays["n_classes"])


def forest(arrays, one, settings):
    clf = RandomForestClassifier(
        epsilon=one["epsilon"],
        bounds=(-1.0, 1.0),
        classes=np.arange(arrays["n_classes"]),
        random_state=one["seed"],
        **settings,
    )
    clf.fit(arrays["X"], arrays["y"])
    return clf.predict_proba(arrays["X_test"])


def logistic_regression(arrays, one, settings):
    """Rows as long as 1 at most: numbers lie between -1 and 1, and so does each one-hot column."""
    n_categories = arrays["n_categories"]
    norm = np.sqrt(len(n_categories))
    clf = LogisticRegression(
        epsilon=one["epsilon"], data_norm=1.0, max_iter=500, random_state=one["seed"], **settings
    )
    clf.fit(arrays["X"] / norm, arrays["y"])
    scores = clf.decision_function(arrays["X_test"] / norm)
    scores = np.column_stack([0 * scores, scores]) if scores.ndim == 1 else scores
    return in_columns(softmax(scores, axis=1), clf.classes_, arrays["n_classes"])


MODELS = {"naive Bayes": naive_bayes, "logistic regression": logistic_regression, "forest": forest}

answer(fit)
