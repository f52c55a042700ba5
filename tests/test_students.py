"""Students: semi-supervised ones get all public rows, distillation gets soft labels."""

from functools import partial

import numpy as np
import pandas as pd
import pytest
from conftest import cases
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_transformer
from sklearn.datasets import make_moons
from sklearn.ensemble import (
    RandomForestClassifier,
    StackingClassifier,
    VotingClassifier,
)
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.multiclass import OneVsRestClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.semi_supervised import LabelPropagation, LabelSpreading, SelfTrainingClassifier
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from sklearn_pate import PATEClassifier
from sklearn_pate._sklearn import has_method
from sklearn_pate.aggregators import GNMax, PluralityVote, SoftVote
from sklearn_pate.students import SoftLabelClassifier, heeds_weights

X, Y = make_moons(4000, noise=0.1, random_state=0)
X_PUBLIC, X_TEST, Y_TEST = X[3000:3500], X[3500:], Y[3500:]


def pate(student, classes=(0, 1), **params):
    defaults = {"n_teachers": 60, "aggregator": GNMax(8.0), "n_queries": 12, "epsilon": None}
    clf = PATEClassifier(
        KNeighborsClassifier(), student=student, classes=classes, **(defaults | params)
    )
    return clf.set_params(random_state=0)


def of_records(student):
    return PATEClassifier(student=student, classes=[0, 1])


@pytest.mark.slow
@cases(
    "student",
    LabelPropagation(gamma=30, max_iter=5000),
    SelfTrainingClassifier(KNeighborsClassifier(3), threshold=0.6),
    make_pipeline(StandardScaler(), LabelSpreading(gamma=30)),
    ids=lambda s: type(s[-1] if hasattr(s, "steps") else s).__name__,
)
def test_semi_supervised_students_gain_from_unlabeled_rows(student):
    clf = pate(student).fit(X[:3000], Y[:3000], X_public=X_PUBLIC)
    last = clf.student_[-1] if hasattr(clf.student_, "steps") else clf.student_
    assert len(last.transduction_) == 500
    # the same 12 labels teach a supervised student less
    labelled = clf.public_labels_ >= 0
    alone = LogisticRegression().fit(X_PUBLIC[labelled], clf.public_labels_[labelled])
    assert clf.score(X_TEST, Y_TEST) > max(0.9, alone.score(X_TEST, Y_TEST))
    assert clf.predict_proba(X_TEST).shape == (500, 2)


@pytest.mark.slow
@pytest.mark.parametrize(
    "student",
    [LabelSpreading(), SelfTrainingClassifier(GaussianNB()), GaussianNB()],
    ids=lambda s: type(s).__name__,
)
def test_class_never_released_keeps_its_column(student):
    clf = pate(student, classes=["a", "b", "c"], aggregator=PluralityVote(), n_queries=40)
    clf.fit(X[:3000], np.array(["a", "c"])[Y[:3000]], X_public=X_PUBLIC)
    proba = clf.predict_proba(X_TEST)
    assert proba.shape == (500, 3) and (proba[:, 1] == 0).all()
    np.testing.assert_allclose(proba.sum(axis=1), 1)
    assert set(clf.predict(X_TEST)) == {"a", "c"}


# --- soft labels ---------------------------------------------------------------------------------


def test_soft_labels_weight_every_class():
    rng = np.random.default_rng(0)
    soft = rng.dirichlet([1, 1, 1], size=50)
    features = rng.normal(size=(50, 2))
    student = SoftLabelClassifier(LogisticRegression()).fit(features, soft)
    rows, codes = np.repeat(features, 3, axis=0), np.tile([0, 1, 2], 50)
    repeated = LogisticRegression().fit(rows, codes, sample_weight=soft.ravel())
    np.testing.assert_allclose(student.estimator_.coef_, repeated.coef_, rtol=1e-3, atol=1e-5)
    gone = soft * [1, 0, 1] / (soft * [1, 0, 1]).sum(axis=1, keepdims=True)
    proba = SoftLabelClassifier(GaussianNB()).fit(features, gone).predict_proba(features)
    assert proba.shape == (50, 3) and (proba[:, 1] == 0).all()


@pytest.mark.slow
@pytest.mark.parametrize("temperature", [1.0, 5.0])
def test_soft_labels_of_noisy_probabilities_are_learned(temperature):
    student = SoftLabelClassifier(LogisticRegression())
    params = {"aggregator": SoftVote(6.0, temperature), "n_queries": 100}
    clf = pate(student, **params).fit(X[:3000], Y[:3000], X_public=X_PUBLIC)
    assert clf.score(X_TEST, Y_TEST) > 0.8 and clf.student_.classes_.tolist() == [0, 1]
    queried = np.sort(clf.query_indices_)
    again = clone(student).fit(X_PUBLIC[queried], clf.public_soft_labels_[queried])
    np.testing.assert_allclose(again.predict_proba(X_TEST), clf.predict_proba(X_TEST), rtol=1e-6)


@pytest.mark.parametrize("make", [partial(pate, aggregator=SoftVote(6.0)), of_records])
def test_soft_label_student_without_weights_is_refused_before_spending(make):
    clf = make(student=SoftLabelClassifier(KNeighborsClassifier()))
    refused = r"tried on public rows.*KNeighborsClassifier\(\) does not accept sample_w"
    with pytest.raises(ValueError, match=refused) as caught:
        clf.fit(X[:3000], Y[:3000], X_public=X_PUBLIC)
    assert "nothing was spent" in caught.value.__notes__[0]


def test_soft_label_student_has_the_methods_of_its_estimator():
    assert not hasattr(SoftLabelClassifier(SVC()), "predict_proba")


# --- wrappers that accept weights and drop them --------------------------------------------------


def dropping(classifier):
    """A wrapper that accepts `sample_weight`, and a classifier within that does not get it."""
    return CalibratedClassifierCV(make_pipeline(StandardScaler(), classifier))


class OwnRandomness(ClassifierMixin, BaseEstimator):
    """A classifier whose fits differ whatever its seed, with weights or without."""

    def __init__(self, uses_weights):
        self.uses_weights = uses_weights

    def fit(self, X, y, sample_weight=None):
        sampled = np.random.default_rng().random(len(y))
        weight = sampled * (sample_weight if self.uses_weights and sample_weight is not None else 1)
        self.tree_ = DecisionTreeClassifier().fit(X, y, weight)
        self.classes_ = self.tree_.classes_
        return self

    def predict(self, X):
        return self.tree_.predict(X)


class FailsWithWeights(DecisionTreeClassifier):
    """Accepts weights, and cannot learn with them."""

    def fit(self, X, y, sample_weight=None):
        if sample_weight is not None:
            raise ValueError("a part takes no sample_weight")
        return super().fit(X, y)


TREE = DecisionTreeClassifier()
NAMED = [("nb", GaussianNB()), ("lr", LogisticRegression())]


@cases(
    "student, uses",
    (TREE, True),
    (make_pipeline(StandardScaler(), TREE), True),
    (CalibratedClassifierCV(TREE), True),
    (RandomForestClassifier(10), True),
    (LogisticRegression(C=1e-6, class_weight="balanced"), True),
    (OwnRandomness(uses_weights=True), True),
    (OwnRandomness(uses_weights=False), False),
    (dropping(TREE), False),
    (dropping(LogisticRegression()), False),
    (make_pipeline(StandardScaler(), dropping(TREE)), False),
    (OneVsRestClassifier(TREE), False),  # takes none
    (GridSearchCV(TREE, {"max_depth": [2]}), False),
    (FailsWithWeights(), False),
    ids=lambda value: str(value).partition("(")[0],
)
def test_heeds_weights_finds_whether_weights_are_used(student, uses):
    before = np.random.get_state()[1].tolist()
    assert heeds_weights(student, X_PUBLIC) == uses
    assert np.random.get_state()[1].tolist() == before and not hasattr(student, "classes_")


def frame_with_gaps():
    text = np.where(X_PUBLIC[:, 0] > 0.5, "right", None)
    frame = pd.DataFrame({"x": X_PUBLIC[:, 0], "y": X_PUBLIC[:, 1], "side": text})
    encoder = make_column_transformer((OneHotEncoder(), ["side"]), remainder="passthrough")
    return frame.mask(frame["x"] < -0.5), encoder


@cases("kind", "frame", "sparse")
def test_heeds_weights_accepts_rows_of_any_kind(kind):
    rows, encoder = frame_with_gaps()
    if kind == "sparse":
        rows, encoder = sparse.csr_matrix(X_PUBLIC), StandardScaler(with_mean=False)
    assert heeds_weights(make_pipeline(encoder, TREE), rows)
    assert not heeds_weights(CalibratedClassifierCV(make_pipeline(encoder, TREE)), rows)


@pytest.mark.slow
def test_student_that_drops_weights_learns_assigned_labels():
    clf = PATEClassifier(student=TREE, epsilon=2.0, classes=[0, 1], random_state=0)
    clf.fit(X[:3000], Y[:3000], X_public=X_PUBLIC)
    bare = clf.score(X_TEST, Y_TEST)
    assert clf.fit_student(X_PUBLIC, dropping(TREE)).score(X_TEST, Y_TEST) > bare - 0.03
    released = clf.public_labels_
    student = dropping(DecisionTreeClassifier(random_state=0)).fit(X_PUBLIC, released)
    clf.fit_student(X_PUBLIC, dropping(DecisionTreeClassifier(random_state=0)))
    np.testing.assert_array_equal(clf.predict(X_TEST), student.predict(X_TEST))


def test_students_that_require_weights_and_drop_them_are_refused():
    given = {"X": X[:3000], "y": Y[:3000], "X_public": X_PUBLIC}
    clf = pate(SoftLabelClassifier(dropping(TREE)), aggregator=SoftVote(6.0))
    with pytest.raises(
        ValueError, match="ignores the sample_weight that is passed to fit, which soft"
    ):
        clf.fit(**given)
    with pytest.raises(ValueError, match="accepts sample_weight and does not use it; give another"):
        pate(dropping(TREE), class_weight="balanced").fit(**given)


# --- estimators whose methods exist after fitting only -------------------------------------------

STACKING = StackingClassifier(NAMED)


@cases(
    "estimator, predicts, gives_proba",
    (STACKING, True, True),
    (make_pipeline(StandardScaler(), STACKING), True, True),
    (GridSearchCV(STACKING, {"lr__C": [1.0]}), True, True),
    (OneVsRestClassifier(STACKING), True, True),
    (VotingClassifier([("stacking", STACKING), *NAMED], voting="soft"), True, True),
    (StackingClassifier(NAMED, final_estimator=SVC()), True, False),
    (GridSearchCV(SVC(), {"C": [1.0]}), True, False),
    (VotingClassifier(NAMED), True, False),
    (GridSearchCV(TREE, {"max_depth": [2]}, refit=False), False, False),
    (StackingClassifier(NAMED, final_estimator=StandardScaler()), False, False),
    (make_pipeline(StandardScaler()), False, False),
    (None, False, False),
)
def test_has_method_counts_methods_that_exist_after_fitting(estimator, predicts, gives_proba):
    found = has_method(estimator, "predict"), has_method(estimator, "predict_proba")
    assert found == (predicts, gives_proba)


@pytest.mark.slow
@cases("name", "student", "base_estimator")
def test_stacking_classifier_is_accepted(name):
    estimator = make_pipeline(StandardScaler(), STACKING)
    params = {"student": None, "n_queries": 40} | {name: estimator}
    clf = pate(**params) if name == "student" else PATEClassifier(**params, n_teachers=10)
    clf.set_params(classes=[0, 1], epsilon=20.0, aggregator=None)
    clf.fit(X[:1000], Y[:1000], X_public=X_PUBLIC)
    assert clf.score(X_TEST, Y_TEST) > 0.75 and clf.predict_proba(X_TEST).shape == (500, 2)


@cases(
    "params",
    {"student": make_pipeline(StandardScaler())},
    {"student": GridSearchCV(TREE, {"max_depth": [2]}, refit=False)},
    {"base_estimator": StandardScaler()},
)
def test_estimators_without_predict_are_refused_early(params):
    with pytest.raises(ValueError, match="implementing 'fit' and 'predict'"):
        PATEClassifier(**params).fit(X[:100], Y[:100], X_public=X_PUBLIC)
