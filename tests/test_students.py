"""Students: semi-supervised ones get all public rows, distillation gets soft labels."""

import numpy as np
import pytest
from conftest import cases
from sklearn.base import clone
from sklearn.datasets import make_moons
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.semi_supervised import LabelPropagation, LabelSpreading, SelfTrainingClassifier
from sklearn.svm import SVC

from sklearn_pate import PATEClassifier
from sklearn_pate.aggregators import GNMax, PluralityVote, SoftVote
from sklearn_pate.students import SoftLabelClassifier

X, Y = make_moons(4000, noise=0.1, random_state=0)
X_PUBLIC, X_TEST, Y_TEST = X[3000:3500], X[3500:], Y[3500:]


def pate(student, classes=(0, 1), **params):
    defaults = {"n_teachers": 60, "aggregator": GNMax(8.0), "n_queries": 12, "epsilon": None}
    clf = PATEClassifier(
        KNeighborsClassifier(), student=student, classes=classes, **(defaults | params)
    )
    return clf.set_params(random_state=0)


@cases(
    "student",
    LabelPropagation(gamma=30, max_iter=5000),
    SelfTrainingClassifier(KNeighborsClassifier(3), threshold=0.6),
    make_pipeline(StandardScaler(), LabelSpreading(gamma=30)),
    ids=lambda s: type(s[-1] if hasattr(s, "steps") else s).__name__,
)
def test_semi_supervised_students_use_the_unlabelled_rows(student):
    clf = pate(student).fit(X[:3000], Y[:3000], X_public=X_PUBLIC)
    last = clf.student_[-1] if hasattr(clf.student_, "steps") else clf.student_
    assert len(last.transduction_) == 500
    # the same 12 labels teach a supervised student less
    labelled = clf.public_labels_ >= 0
    alone = LogisticRegression().fit(X_PUBLIC[labelled], clf.public_labels_[labelled])
    assert clf.score(X_TEST, Y_TEST) > max(0.9, alone.score(X_TEST, Y_TEST))
    assert clf.predict_proba(X_TEST).shape == (500, 2)


@pytest.mark.parametrize(
    "student",
    [LabelSpreading(), SelfTrainingClassifier(GaussianNB()), GaussianNB()],
    ids=lambda s: type(s).__name__,
)
def test_a_class_that_was_never_released_keeps_its_column(student):
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


@pytest.mark.parametrize("temperature", [1.0, 5.0])
def test_distillation_from_noisy_probabilities(temperature):
    student = SoftLabelClassifier(LogisticRegression())
    params = {"aggregator": SoftVote(6.0, temperature), "n_queries": 100}
    clf = pate(student, **params).fit(X[:3000], Y[:3000], X_public=X_PUBLIC)
    assert clf.score(X_TEST, Y_TEST) > 0.8 and clf.student_.classes_.tolist() == [0, 1]
    asked = np.sort(clf.query_indices_)
    again = clone(student).fit(X_PUBLIC[asked], clf.public_soft_labels_[asked])
    np.testing.assert_allclose(again.predict_proba(X_TEST), clf.predict_proba(X_TEST), rtol=1e-6)


def test_a_student_without_weights_is_refused_before_teachers_train():
    with pytest.raises(ValueError, match="tried on public rows.*takes no sample_weight"):
        clf = pate(SoftLabelClassifier(KNeighborsClassifier()), aggregator=SoftVote(6.0))
        clf.fit(X[:3000], Y[:3000], X_public=X_PUBLIC)
    assert not hasattr(SoftLabelClassifier(SVC()), "predict_proba")
