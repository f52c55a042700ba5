"""PATE, and the two ends of the scale, in this project's own environment."""

import numpy as np
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OrdinalEncoder

from benchmarks.peers.tables import TABLES
from sklearn_pate import PATEClassifier
from sklearn_pate.encoding import RowVectorizer, Schema
from sklearn_pate.methods import ReverseNeighbors
from sklearn_pate.neighbors import LandmarkClassifier

from .shared import answer, in_columns

#: Most rows of our student without privacy, which takes memory by the row.
MOST_ROWS = 50_000
#: Most numbers that trees are boosted on: MNIST would take minutes a fit.
MOST_NUMBERS = 8_000_000


def read(one):
    return TABLES[one["table"]](one["seed"])


def fit(table, one):
    clf = MODELS[one["model"]](table, one)
    return in_columns(clf.predict_proba(table.X_test), clf.classes_, len(table.classes))


def pate(table, one, schema=None):
    """Ours with public rows, or without them and with a schema."""
    settings = one["settings"]
    clf = PATEClassifier(
        method=ReverseNeighbors(**settings) if settings else "auto",
        epsilon=one["epsilon"],
        classes=table.classes,
        schema=schema,
        unit="record" if table.groups is None else "group",
        random_state=one["seed"],
    )
    X_public = table.X_public if schema is None else None
    return clf.fit(table.X, table.y, X_public=X_public, groups=table.groups)


def no_public_rows(table, one):
    columns = table.bounds
    if isinstance(columns, dict):
        columns = columns | (table.categories or {})
    return pate(table, one, Schema(columns, missing=table.missing))


def nothing_declared(table, one):
    clf = PATEClassifier(
        epsilon=one["epsilon"],
        unit="record" if table.groups is None else "group",
        random_state=one["seed"],
    )
    return clf.fit(table.X, table.y, groups=table.groups)


def our_student(table, one):
    X, y = table.X[:MOST_ROWS], table.y[:MOST_ROWS]
    return make_pipeline(RowVectorizer(random_state=0), LandmarkClassifier()).fit(X, y)


def boosting(table, one):
    clf = HistGradientBoostingClassifier(random_state=one["seed"])
    if hasattr(table.X, "dtypes") and hasattr(table.X, "iloc"):
        codes = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1)
        others = make_column_selector(dtype_exclude="number")
        clf = make_pipeline(make_column_transformer((codes, others), remainder="passthrough"), clf)
    n_rows = MOST_NUMBERS // table.X.shape[1]
    return clf.fit(table.X[:n_rows], table.y[:n_rows])


def majority(table, one):
    return DummyClassifier().fit(np.zeros((len(table.y), 1)), table.y)


MODELS = {
    "PATE": pate,
    "PATE, no public rows": no_public_rows,
    "PATE, nothing declared": nothing_declared,
    "no privacy, our student": our_student,
    "no privacy, gradient boosting": boosting,
    "majority class": majority,
}

if __name__ == "__main__":
    answer(fit, read)
