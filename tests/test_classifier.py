"""PATEClassifier: a fit from start to end, what it reports, what it refuses."""

import math
import pickle
import warnings

import joblib
import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from scipy.special import log_ndtr
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.datasets import load_breast_cancer, load_iris, make_classification
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression, LogisticRegression, Perceptron
from sklearn.model_selection import train_test_split
from sklearn.naive_bayes import BernoulliNB, GaussianNB
from sklearn.neighbors import KNeighborsClassifier, NearestCentroid
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.validation import check_is_fitted

from sklearn_pate import PATEClassifier, PrivacySpent
from sklearn_pate.aggregators import (
    Aggregator,
    GNMax,
    LaplaceMechanism,
    LNMax,
    PluralityVote,
)
from sklearn_pate.exceptions import (
    BadPlanError,
    BudgetExceededError,
    PrivacyLeakWarning,
    PrivacyTestError,
    StudentError,
    TeacherError,
)
from sklearn_pate.neighbors import LandmarkClassifier, RowVectorizer
from sklearn_pate.partition import RandomPartition
from sklearn_pate.queries import RandomQueries
from sklearn_pate.rdp import Facts, data_independent_epsilon

pytestmark = pytest.mark.filterwarnings("ignore:teachers run in threads:UserWarning")

X, Y = make_classification(2400, n_features=6, class_sep=1.5, random_state=0)
X_PRIVATE, X_PUBLIC, X_TEST = X[:1500], X[1500:1900], X[1900:]
Y_PRIVATE, Y_PUBLIC, Y_TEST = Y[:1500], Y[1500:1900], Y[1900:]


def pate(base_estimator=None, **params):
    if base_estimator is None:
        base_estimator = LogisticRegression()
    params = {"classes": [0, 1], "random_state": 0, "n_teachers": 100} | params
    return PATEClassifier(base_estimator, **params)


def quick(base_estimator=None, **params):
    """Few teachers with noise that is set, where neither is what is tested."""
    if base_estimator is None:
        base_estimator = GaussianNB()
    few = {"n_teachers": 20, "aggregator": GNMax(3.0), "n_queries": 100, "epsilon": None}
    return pate(base_estimator, **(few | params))


def fit(clf=None, **data):
    if clf is None:
        clf = pate()
    return clf.fit(**({"X": X_PRIVATE, "y": Y_PRIVATE, "X_public": X_PUBLIC} | data))


# --- a fit from start to end ---------------------------------------------------------------------


def test_a_fit_from_start_to_end():
    clf = fit()
    assert clf.score(X_TEST, Y_TEST) > 0.85
    assert clf.n_teachers_ == 100
    assert clf.n_features_in_ == 6
    assert clf.classes_.tolist() == [0, 1]
    assert clf.aggregator_.sigma <= 100 / (2 * math.sqrt(2))
    asked = clf.query_indices_
    labels = clf.public_labels_
    assert np.unique(asked).size == asked.size == clf.privacy_spent_.n_queries
    assert labels.shape == (400,)
    assert set(np.flatnonzero(labels >= 0)) == set(asked)
    assert (labels[asked] == Y_PUBLIC[asked]).mean() > 0.85
    spent = clf.privacy_spent_
    assert isinstance(spent, PrivacySpent)
    epsilon, delta = spent
    assert 0.999999 <= epsilon <= 1.0
    assert delta == 1e-5
    assert spent.method == "renyi"
    assert spent.unit == "record"
    assert spent.adjacency == "replace one record"
    assert spent.n_teachers == 100
    assert spent.n_answered == spent.n_queries


def test_student_sees_the_released_labels_only():
    class Memory(DummyClassifier):
        def fit(self, X, y):
            self.seen_ = X, y
            return super().fit(X, y)

    clf = fit(quick(student=Memory()))
    seen_X, seen_y = clf.student_.seen_
    rows = np.flatnonzero(clf.public_labels_ >= 0)
    np.testing.assert_array_equal(seen_X, X_PUBLIC[rows])
    np.testing.assert_array_equal(seen_y, clf.public_labels_[rows])


@pytest.mark.parametrize("aggregator", [LNMax(0.05), GNMax(30.0), PluralityVote()])
def test_without_a_cap_all_public_rows_are_asked(aggregator):
    clf = fit(pate(GaussianNB(), aggregator=aggregator, epsilon=None))
    assert clf.privacy_spent_.n_queries == 400
    assert clf.score(X_TEST, Y_TEST) > 0.9
    if isinstance(aggregator, PluralityVote):
        assert clf.privacy_spent_.epsilon == math.inf
        assert clf.privacy_spent_.method == "none"
        plurality = clf.curator_.votes.argmax(axis=1)
        np.testing.assert_array_equal(clf.public_labels_[clf.query_indices_], plurality)


def test_noise_that_is_given_stops_before_the_cap_and_says_how_many_were_answered():
    with pytest.warns(UserWarning, match="pays for [0-9]+ of the 300 queries"):
        clf = fit(pate(aggregator=GNMax(25.0), n_queries=300))
    spent = clf.privacy_spent_
    assert spent.epsilon <= 1.0
    assert 0 < spent.n_answered < 300
    assert (clf.public_labels_ >= 0).sum() == spent.n_answered == len(clf.curator_.votes)


def test_votes_sum_to_the_teachers_and_kept_teachers_are_the_voters():
    clf = fit(pate(keep_teachers=True))
    votes = clf.curator_.votes
    assert (votes.sum(axis=1) == 100).all()
    counted = np.zeros_like(votes)
    for i, teacher in enumerate(clf.curator_.teachers):
        part = clf.curator_.teacher_indices == i
        assert np.unique(Y_PRIVATE[part]).size == 2
        np.testing.assert_array_equal(teacher.classes_, [0, 1])
        counted[np.arange(len(votes)), teacher.predict(X_PUBLIC[clf.query_indices_])] += 1
    np.testing.assert_array_equal(counted, votes)
    assert fit(quick()).curator_.teachers is None


def test_data_dependent_epsilon_is_in_the_curators_view_only():
    clf = fit(pate(GaussianNB(), aggregator=GNMax(25.0), epsilon=None, n_queries=50))
    bound = clf.curator_.epsilon(method="bound")
    classic_bound = clf.curator_.epsilon(method="bound", conversion="classic")
    assert clf.curator_.epsilon() < bound < classic_bound
    assert clf.curator_.epsilon(method="data_independent") == clf.privacy_spent_.epsilon


# --- labels and inputs ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    "labels",
    [
        np.array(["no", "yes"]),
        np.array(["no", "yes"], dtype=object),
        np.array([False, True]),
        np.array([-7, 3]),
        np.array([10, 20]),
        np.array([0.0, 1.0]),
    ],
)
def test_labels_of_any_kind(labels):
    clf = quick(classes=labels[::-1]).fit(X_PRIVATE, labels[Y_PRIVATE], X_PUBLIC)
    np.testing.assert_array_equal(clf.classes_, labels)
    predicted = clf.predict(X_TEST)
    assert predicted.dtype == labels.dtype
    np.testing.assert_array_equal(predicted, labels[fit(quick()).predict(X_TEST)])
    assert set(clf.public_labels_.tolist()) == {-1, 0, 1}


@pytest.mark.parametrize("dtype", ["category", "string", "str"])
def test_pandas_labels(dtype):
    y = pd.Series(np.array(["no", "yes"])[Y_PRIVATE]).astype(dtype)
    clf = quick(classes=["yes", "no"]).fit(X_PRIVATE, y, X_PUBLIC)
    assert clf.classes_.tolist() == ["no", "yes"]


def test_more_than_two_classes_and_columns_for_classes_never_released():
    X, y = load_iris(return_X_y=True)
    names = np.array(["setosa", "versicolor", "virginica", "unseen"])
    clf = PATEClassifier(
        GaussianNB(),
        n_teachers=10,
        epsilon=None,
        aggregator=LNMax(20.0),
        classes=names,
        random_state=0,
    ).fit(X[::2], names[y[::2]], X_public=X[1::2])
    proba = clf.predict_proba(X)
    assert proba.shape == (150, 4)
    np.testing.assert_allclose(proba.sum(axis=1), 1)
    unseen = clf.classes_.tolist().index("unseen")
    assert set(range(4)) - set(clf.public_labels_.tolist()) == {unseen}
    assert (proba[:, unseen] == 0).all()
    assert np.isneginf(clf.predict_log_proba(X)[:, unseen]).all()
    assert clf.score(X, names[y]) > 0.85


def test_decision_values_of_classes_never_released_are_minus_infinity():
    X, y = load_iris(return_X_y=True)
    first_two = y < 2
    clf = PATEClassifier(
        GaussianNB(),
        n_teachers=5,
        epsilon=None,
        aggregator=PluralityVote(),
        classes=range(3),
    ).fit(X[first_two], y[first_two], X_public=X[first_two])
    for student in (LogisticRegression(), SVC(decision_function_shape="ovo")):
        values = clf.fit_student(X[first_two], student).decision_function(X[:5])
        assert values.shape == (5, 3)
        assert np.isneginf(values[:, 2]).all()
        np.testing.assert_array_equal(values.argmax(axis=1), clf.predict(X[:5]))


@pytest.mark.parametrize("make", [sparse.csr_matrix, sparse.coo_matrix, sparse.csc_array])
def test_sparse_matrices(make):
    clf = quick(BernoulliNB()).fit(make(X_PRIVATE > 0), Y_PRIVATE, X_public=make(X_PUBLIC > 0))
    dense = quick(BernoulliNB()).fit(X_PRIVATE > 0, Y_PRIVATE, X_public=X_PUBLIC > 0)
    np.testing.assert_array_equal(clf.predict(make(X_TEST > 0)), dense.predict(X_TEST > 0))


def test_lists_are_arrays():
    clf = quick().fit(X_PRIVATE.tolist(), Y_PRIVATE.tolist(), X_PUBLIC.tolist())
    assert clf.predict(X_TEST.tolist()).shape == (500,)


def mixed_frame(X, y, rng):
    """Two numbers, a text that tells of the label, and a category that does not."""
    frame = pd.DataFrame({"income": X[:, 0], "age": X[:, 1]})
    flipped = rng.random(len(y)) < 0.1
    frame["city"] = np.where(y ^ flipped, "Rome", "Oslo")
    frame["kind"] = pd.Categorical(rng.choice(["a", "b"], len(y)), categories=["a", "b"])
    return frame


def test_frames_with_text_and_categories():
    rng = np.random.default_rng(0)
    private = mixed_frame(X_PRIVATE, Y_PRIVATE, rng)
    public = mixed_frame(X_PUBLIC, Y_PUBLIC, rng)
    columns = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore"), make_column_selector(dtype_exclude="number")),
        (StandardScaler(), make_column_selector(dtype_include="number")),
    )
    clf = quick(make_pipeline(columns, LogisticRegression())).fit(private, Y_PRIVATE, public)
    assert clf.feature_names_in_.tolist() == ["income", "age", "city", "kind"]
    assert clf.score(mixed_frame(X_TEST, Y_TEST, rng), Y_TEST) > 0.8
    with pytest.raises(ValueError, match="feature names"):
        clf.predict(public.rename(columns={"age": "years"}))


class MeanImage(ClassifierMixin, BaseEstimator):
    """A stand-in for a network: needs images of shape (n, channels, height, width)."""

    def fit(self, X, y):
        assert X.ndim == 4
        self.classes_ = np.unique(y)
        self.means_ = np.array([X[y == c].mean(axis=0) for c in self.classes_])
        return self

    def predict(self, X):
        distance = ((X[:, None] - self.means_) ** 2).sum(axis=(2, 3, 4))
        return self.classes_[distance.argmin(axis=1)]


def test_images_keep_their_axes():
    def image(X):
        return X.reshape(-1, 1, 2, 3)

    clf = quick(MeanImage()).fit(image(X_PRIVATE), Y_PRIVATE, X_public=image(X_PUBLIC))
    assert clf.score(image(X_TEST), Y_TEST) > 0.8
    assert not hasattr(clf, "predict_proba")


def test_lists_of_classifiers_and_the_default_student():
    clf = fit(quick([GaussianNB(), LogisticRegression()]))
    assert isinstance(clf.student_, GaussianNB)
    clf = PATEClassifier(
        n_teachers=2, aggregator=PluralityVote(), epsilon=None, classes=[0, 1], n_queries=50
    )
    assert isinstance(fit(clf).student_[-1], LogisticRegression)
    assert isinstance(fit(clf.set_params(n_teachers=None)).student_[0], RowVectorizer)


def test_records_vote_unless_a_parameter_speaks_of_teachers():
    bare = fit(PATEClassifier(epsilon=4.0, classes=[0, 1], random_state=0))
    assert bare.privacy_spent_.n_teachers is None and bare.privacy_spent_.delta == 0
    assert bare.score(X_TEST, Y_TEST) > 0.85
    assert isinstance(bare.student_[-1], LandmarkClassifier)
    of_teachers = [
        {"n_teachers": 20},
        {"n_queries": 30},
        {"aggregator": LNMax(gamma=None)},
        {"query_strategy": "diversity"},
        {"keep_teachers": True},
        {"partition": RandomPartition()},
    ]
    for params in of_teachers:
        clf = fit(PATEClassifier(epsilon=4.0, classes=[0, 1], random_state=0, **params))
        assert clf.privacy_spent_.n_teachers == params.get("n_teachers", clf.n_teachers_)
    voters = PATEClassifier(aggregator=LaplaceMechanism(1.0), epsilon=None, classes=[0, 1])
    assert fit(voters).privacy_spent_.n_teachers is None


def test_votes_decide_the_default_electorate():
    votes = np.array([[20, 0], [3, 17], [2, 18], [19, 1]] * 20)
    clf = PATEClassifier(epsilon=20.0, classes=[0, 1]).fit_votes(votes, X_PUBLIC[:80])
    assert clf.n_teachers_ == 20 and isinstance(clf.student_[-1], LogisticRegression)
    clf.fit_student(X_PUBLIC[:80])
    assert isinstance(clf.student_[-1], LogisticRegression)


def test_numbers_of_teachers_follow_from_public_numbers():
    model = GaussianNB()
    clf = fit(PATEClassifier(model, epsilon=1.0, classes=[0, 1]))
    assert clf.n_teachers_ == int(2 * math.sqrt(1500 * 2))
    by_group = fit(PATEClassifier(model, classes=[0, 1]), groups=np.arange(1500) // 2)
    assert by_group.n_teachers_ == 100  # the number of records is private


def test_sample_weight_reaches_the_teachers():
    weight = np.where(Y_PRIVATE == 1, 1.0, 1e-9)
    clf = fit(pate(GaussianNB(), aggregator=PluralityVote(), epsilon=None), sample_weight=weight)
    assert (clf.curator_.votes.argmax(axis=1) == 1).mean() > 0.95


# --- partitions ----------------------------------------------------------------------------------


def test_groups_are_kept_together_and_are_the_unit():
    groups = np.arange(1500) // 3
    clf = fit(quick(unit="group"), groups=groups)
    spent = clf.privacy_spent_
    assert spent.unit == "group"
    assert "one group" in spent.adjacency
    teachers_of_group = pd.Series(clf.curator_.teacher_indices).groupby(groups).nunique()
    assert (teachers_of_group == 1).all()


def test_predefined_teachers():
    hospital = np.array(["north", "south", "east", "west"])[np.arange(1500) % 4]
    clf = fit(pate(partition="predefined", epsilon=None, aggregator=LNMax(2.0)), groups=hospital)
    assert clf.n_teachers_ == clf.privacy_spent_.n_teachers == 4
    assert "named group" in clf.privacy_spent_.adjacency
    np.testing.assert_array_equal(clf.curator_.votes.sum(axis=1), 4)


def test_hash_partition_uses_the_index():
    frame = pd.DataFrame(X_PRIVATE, index=[f"patient {i}" for i in range(1500)])
    clf = quick(partition="hash").fit(frame, Y_PRIVATE, pd.DataFrame(X_PUBLIC))
    assert clf.privacy_spent_.adjacency.startswith("add or remove one record")
    with pytest.raises(ValueError, match="index of a DataFrame"):
        fit(quick(partition="hash"))


def test_removing_a_record_under_hash_changes_one_teachers_votes():
    frame = pd.DataFrame(X_PRIVATE, index=[f"patient {i}" for i in range(1500)])
    public = pd.DataFrame(X_PUBLIC)
    params = {"partition": "hash", "keep_teachers": True, "n_teachers": 40}
    whole = pate(**params).fit(frame, Y_PRIVATE, public).curator_
    one_less = pate(**params).fit(frame[1:], Y_PRIVATE[1:], public).curator_
    changed = [
        not np.array_equal(teacher.coef_, other.coef_)
        for teacher, other in zip(whole.teachers, one_less.teachers, strict=True)
    ]
    assert sum(changed) == 1
    assert np.abs(whole.votes - one_less.votes).sum(axis=1).max() <= 2


# --- randomness ----------------------------------------------------------------------------------


def test_a_seed_reproduces_the_whole_fit_for_any_n_jobs():
    forest = RandomForestClassifier(2)
    first, *others = [fit(quick(forest, n_jobs=n)) for n in (1, 2, 4)]
    with joblib.parallel_config(backend="threading"):
        others += [fit(quick(forest, n_jobs=n)) for n in (2, 4)]
    for other in others:
        np.testing.assert_array_equal(first.curator_.votes, other.curator_.votes)
        np.testing.assert_array_equal(first.public_labels_, other.public_labels_)
        np.testing.assert_array_equal(first.predict_proba(X_TEST), other.predict_proba(X_TEST))


def test_without_a_seed_nothing_repeats():
    clf = PATEClassifier(GaussianNB(), classes=[0, 1])
    np.random.seed(0)
    first = fit(clone(clf))
    np.random.seed(0)
    second = fit(clone(clf))
    assert (first.query_indices_ != second.query_indices_).any()
    assert (first.curator_.teacher_indices != second.curator_.teacher_indices).any()


@pytest.mark.parametrize("backend", ["loky", "multiprocessing", "threading"])
def test_no_stream_of_random_numbers_is_used_twice(backend):
    seeds = []
    released = []
    for _ in range(2):
        clf = PATEClassifier(
            DecisionTreeClassifier(splitter="random", max_depth=2),
            n_teachers=40,
            aggregator=GNMax(20.0),
            n_queries=200,
            epsilon=None,
            classes=[0, 1],
            keep_teachers=True,
            n_jobs=2,
        )
        with joblib.parallel_config(backend=backend):
            votes = clf.poll(X_PRIVATE, Y_PRIVATE, X_PUBLIC[:200])
        seeds += [teacher.random_state for teacher in votes.teachers if teacher is not None]
        ties = np.full((200, 2), 20)
        released += [clf.fit_votes(ties, X_PUBLIC[:200]).public_labels_ for _ in range(2)]
    assert len(set(seeds)) == len(seeds) >= 60
    for k, labels in enumerate(released):  # coins: agreement is binomial with 200 and 1/2
        assert all(50 < (labels == other).sum() < 150 for other in released[:k])


def test_a_random_state_instance_moves_on():
    clf = quick(random_state=np.random.RandomState(0))
    first = fit(clf).query_indices_
    assert (first != fit(clf).query_indices_).any()
    again = fit(quick(random_state=np.random.RandomState(0))).query_indices_
    np.testing.assert_array_equal(first, again)


# --- the student ---------------------------------------------------------------------------------


class Unwilling(ClassifierMixin, BaseEstimator):
    """A student that fails on real labels, and not when it is tried with made-up ones."""

    def fit(self, X, y):
        if not np.array_equal(y, np.arange(len(y)) % 2):
            raise RuntimeError("not today")
        return self

    def predict(self, X):
        return np.zeros(len(X))


class NeedsEncoder(Unwilling):
    def fit(self, X, y):
        raise ValueError("could not convert string to float")


@pytest.mark.parametrize("call", ["fit", "plan", "fit_votes"])
def test_students_that_cannot_work_are_found_before_teachers_train(call):
    clf = pate(student=NeedsEncoder())
    with pytest.raises(ValueError, match="tried on public rows .* nothing was spent.*to float"):
        if call == "fit":
            fit(clf)
        elif call == "plan":
            clf.plan(X_PRIVATE, Y_PRIVATE, X_PUBLIC)
        else:
            clf.fit_votes(np.tile([[70, 30]], (len(X_PUBLIC), 1)), X_PUBLIC)
    assert not hasattr(clf, "privacy_spent_")


def test_labels_survive_a_student_that_fails():
    clf = quick(student=Unwilling())
    with pytest.raises(StudentError, match="not today.*paid for.*fit_student") as caught:
        fit(clf)
    error = caught.value
    assert (error.public_labels >= 0).sum() == error.privacy_spent.n_answered > 0
    restored = pickle.loads(pickle.dumps(error))
    np.testing.assert_array_equal(restored.public_labels, error.public_labels)
    assert str(restored) == str(error)
    assert restored.privacy_spent == error.privacy_spent
    with pytest.raises(NotFittedError):
        clf.predict(X_TEST)
    clf.fit_student(X_PUBLIC, LogisticRegression())
    assert clf.score(X_TEST, Y_TEST) > 0.85
    assert clf.privacy_spent_ == error.privacy_spent


def test_one_released_class_makes_a_constant_of_a_student_that_needs_two():
    clf = pate(aggregator=PluralityVote(), epsilon=None, n_teachers=5)
    with pytest.warns(UserWarning, match="all 400 labels that were released are of one class"):
        clf.fit(X_PRIVATE, np.zeros(1500, dtype=int), X_PUBLIC)
    assert isinstance(clf.student_, DummyClassifier)
    assert (clf.predict(X_TEST) == 0).all() and (clf.public_labels_ == 0).all()
    np.testing.assert_array_equal(clf.predict_proba(X_TEST), [[1.0, 0.0]] * 500)
    assert clf.privacy_spent_.n_answered == 400
    clf.fit_student(X_PUBLIC, RandomForestClassifier(3))
    np.testing.assert_array_equal(clf.predict_proba(X_TEST), [[1.0, 0.0]] * 500)


class Silent(Aggregator):
    """Never answers."""

    def outcome_log_proba(self, votes, student_proba=None):
        return np.hstack([np.full(np.shape(votes), -np.inf), np.zeros((len(votes), 1))])


def test_no_answer_at_all_is_a_student_error():
    with pytest.raises(StudentError, match="no query was answered") as caught:
        fit(quick(aggregator=Silent()))
    assert (caught.value.public_labels == -1).all()
    assert caught.value.privacy_spent.n_answered == 0


def test_fit_student_costs_nothing_and_asks_for_the_same_rows():
    clf = fit(quick(LogisticRegression()))
    spent = clf.privacy_spent_
    labels = clf.public_labels_.copy()
    assert isinstance(clf.fit_student(X_PUBLIC, GaussianNB()).student_, GaussianNB)
    assert isinstance(clf.fit_student(X_PUBLIC).student_, LogisticRegression)
    assert clf.privacy_spent_ == spent
    np.testing.assert_array_equal(clf.public_labels_, labels)
    with pytest.raises(ValueError, match="399 rows.*400 rows"):
        clf.fit_student(X_PUBLIC[1:])
    with pytest.raises(ValueError, match="X_public does not have the features"):
        clf.fit_student(X_PUBLIC[:, 1:])
    with pytest.raises(NotFittedError):
        pate().fit_student(X_PUBLIC)


@pytest.mark.parametrize("method", ["predict_proba", "predict_log_proba", "decision_function"])
@pytest.mark.parametrize("student", [KNeighborsClassifier(), Perceptron(), LogisticRegression()])
def test_predictors_are_there_if_the_student_has_them(student, method):
    source = "predict_proba" if method == "predict_log_proba" else method
    clf = quick(student=student)
    assert hasattr(clf, method) == hasattr(student, source)
    fit(clf)
    assert hasattr(clf, method) == hasattr(student, source)
    if hasattr(clf, method):
        assert getattr(clf, method)(X_TEST).shape[0] == 500


# --- budgets and settings refused before any teacher trains --------------------------------------


class Forbidden(Unwilling):
    """A teacher that must not be asked to train."""

    def fit(self, X, y):
        raise AssertionError("a teacher trained")


def check_refused_before_any_teacher_trains(error, message, params, **data):
    clf = pate(Forbidden(), **params)
    with pytest.raises(error, match=message):
        fit(clf, **data)
    assert not hasattr(clf, "privacy_spent_")
    assert not hasattr(clf, "curator_")
    with pytest.raises(NotFittedError):
        check_is_fitted(clf)


@pytest.mark.parametrize(
    ("aggregator", "message"),
    [(PluralityVote(), "epsilon=None"), (GNMax(1.0), "Nothing was spent")],
    ids=str,
)
def test_over_budget_is_refused_before_any_teacher_trains(aggregator, message):
    check_refused_before_any_teacher_trains(
        BudgetExceededError, message, {"aggregator": aggregator}
    )


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"epsilon": None}, "calibrated to epsilon"),
        ({"n_queries": 401}, "n_queries=401 .* X_public, 400"),
        ({"n_teachers": 1501}, "n_teachers=1501 .* n_samples=1500"),
        ({"n_teachers": 0}, "n_teachers"),
        ({"epsilon": 0}, "epsilon"),
        ({"epsilon": -1.0}, "epsilon"),
        ({"delta": 0}, "delta"),
        ({"delta": 1.0}, "delta"),
        ({"unit": "person"}, "unit"),
        ({"unit": "group"}, "needs groups="),
        ({"partition": "stratified"}, "partition"),
        ({"query_strategy": "best"}, "query_strategy"),
        ({"aggregator": "gnmax"}, "aggregator"),
        ({"aggregator": GNMax(-1)}, "sigma"),
        ({"classes": [0]}, "at least 2 classes"),
        ({"classes": [0, 2]}, "not in classes"),
        ({"classes": ["a", "b"]}, "not in classes"),
        ({"student": LinearRegression()}, "must be classifiers"),
    ],
    ids=str,
)
def test_parameters_are_refused_before_any_teacher_trains(params, message):
    check_refused_before_any_teacher_trains(ValueError, message, params)


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("groups", [1, 2], "groups must have one identifier per record"),
        ("sample_weight", np.ones(3), "sample_weight"),
        ("sample_weight", np.full(1500, np.nan), "sample_weight"),
        ("sample_weight", ["heavy"] * 1500, "sample_weight"),
        ("X_public", None, "public, unlabelled rows"),
        ("X_public", X_PUBLIC[:, :4], "X_public does not have the features"),
        ("X_public", X_PUBLIC[:0], "X_public has 0 sample"),
        ("X_public", X_PUBLIC[0], "Expected X_public as a 2D array"),
        ("y", Y_PRIVATE[1:], "inconsistent numbers of samples"),
        ("y", np.c_[Y_PRIVATE, Y_PRIVATE], "multi-output"),
        ("y", sparse.csr_matrix(np.c_[Y_PRIVATE, Y_PRIVATE]), "multilabel"),
        ("y", X_PRIVATE[:, 0], "continuous"),
        ("y", np.where(Y_PRIVATE, 1.0, np.nan), "y contains NaN"),
        ("y", None, "y to be passed"),
    ],
)
def test_data_are_refused_before_any_teacher_trains(name, value, message):
    check_refused_before_any_teacher_trains(ValueError, message, {}, **{name: value})


@pytest.mark.parametrize("base", [LinearRegression(), [], [LinearRegression()]])
def test_teachers_must_be_classifiers(base):
    with pytest.raises(ValueError, match="classifier"):
        fit(pate(base))


@pytest.mark.parametrize(
    "rows", [[0, 0, 1], [0, 1], [0, 1, 400], [-1, 0, 1], [0.0, 1.0, 2.0], [[0, 1, 2]]]
)
def test_a_query_strategy_that_returns_nonsense(rows):
    class Broken:
        def select(self, X_public, n_queries, random_state=None):
            return rows

    with pytest.raises(ValueError, match="query_strategy.select must return 3 distinct"):
        fit(pate(Forbidden(), n_queries=3, query_strategy=Broken()))


def test_a_query_strategy_that_the_user_wrote():
    class First(RandomQueries):
        def select(self, X_public, n_queries, random_state=None):
            return np.arange(n_queries)

    clf = fit(quick(n_queries=15, query_strategy=First()))
    np.testing.assert_array_equal(clf.query_indices_, np.arange(15))


def test_a_failed_refit_loses_nothing():
    clf = fit(quick())
    predicted = clf.predict(X_TEST)
    spent = clf.privacy_spent_
    with pytest.raises(TeacherError):
        fit(clf.set_params(base_estimator=Unwilling()))
    np.testing.assert_array_equal(clf.predict(X_TEST), predicted)
    assert clf.privacy_spent_ == spent


def test_a_refit_that_fails_keeps_the_features_that_predict_expects():
    clf = fit(quick())
    four = X_PRIVATE[:, :4]
    for wrong in ({"X": four}, {"X": four, "X_public": X_PUBLIC[:, :4], "y": Y_PRIVATE[1:]}):
        with pytest.raises(ValueError):
            fit(clf, **wrong)
        assert clf.n_features_in_ == 6
        assert clf.predict(X_TEST).shape == (500,)
    unfitted = pate()
    with pytest.raises(ValueError):
        unfitted.fit(X_PRIVATE, Y_PRIVATE, X_PUBLIC[:, :4])
    assert not hasattr(unfitted, "n_features_in_")


def test_a_refit_on_other_features():
    frame = pd.DataFrame(X, columns=list("abcdef"))
    clf = quick().fit(frame[:1500], Y_PRIVATE, frame[1500:1900])
    assert clf.feature_names_in_.tolist() == list("abcdef")
    clf.fit(X_PRIVATE[:, :4], Y_PRIVATE, X_PUBLIC[:, :4])
    assert clf.n_features_in_ == 4
    assert not hasattr(clf, "feature_names_in_")


def test_column_types_must_be_the_public_ones():
    # One private record can turn a column to text, and all teachers see that
    private = pd.DataFrame(X_PRIVATE)
    private[2] = private[2].astype(object)
    private.loc[7, 2] = "?"
    with pytest.raises(ValueError, match=r"columns \[2\] of X and X_public have different dtypes"):
        pate(Forbidden()).fit(private, Y_PRIVATE, pd.DataFrame(X_PUBLIC))


def test_categories_must_be_the_public_ones():
    # One private record can add a category, and all teachers see that
    private = pd.DataFrame(X_PRIVATE, columns=list("abcdef"))
    private["kind"] = pd.Categorical(["a"] * 1499 + ["b"])
    public = pd.DataFrame(X_PUBLIC, columns=list("abcdef"))
    public["kind"] = pd.Categorical(["a"] * 400)
    with pytest.raises(ValueError, match="columns .'kind'. of X and X_public"):
        pate(Forbidden()).fit(private, Y_PRIVATE, public)


def test_private_rows_in_the_place_of_public_ones_warn():
    with (
        pytest.warns(PrivacyLeakWarning, match="X_public is X"),
        pytest.raises(BadPlanError, match="X_public is X or a part of it"),
    ):
        quick().fit(X_PRIVATE, Y_PRIVATE, X_public=X_PRIVATE)
    with pytest.warns(PrivacyLeakWarning, match="X_public is X") as caught:
        plan = quick().plan(X_PRIVATE, Y_PRIVATE, X_public=X_PRIVATE)
    assert len(caught) == 1 and "X_public is X or a part of it" in plan.obstacles[0]
    assert plan.advice[0] == plan.obstacles[0]


@pytest.mark.parametrize(
    ("params", "X_public", "messages"),
    [
        ({"classes": None}, X_PUBLIC, ["classes_ is read"]),
        ({"on_bad_plan": "warn"}, X_PRIVATE, ["X_public is X: ", "X_public is X or a part of it"]),
        ({"aggregator": GNMax(25.0), "n_queries": 300}, X_PUBLIC, ["epsilon=1 pays for 29"]),
        ({"aggregator": GNMax(200.0), "epsilon": None}, X_PUBLIC, ["the noise of standard"]),
    ],
)
def test_warnings_point_at_the_line_that_called_fit(params, X_public, messages):
    with pytest.warns(UserWarning) as caught:
        pate(GaussianNB(), **params).fit(X_PRIVATE, Y_PRIVATE, X_public)
    assert [warning.filename for warning in caught] == [__file__] * len(messages)
    for warning, message in zip(caught, messages, strict=True):
        assert str(warning.message).startswith(message)


# --- scikit-learn's conventions ------------------------------------------------------------------


def test_parameters_nest_and_clone():
    clf = pate(RandomForestClassifier(), aggregator=GNMax(40.0))
    clf.set_params(aggregator__sigma=9.0, base_estimator__max_depth=3)
    copied = clone(clf)
    assert copied.aggregator.sigma == 9.0
    assert copied.base_estimator.max_depth == 3
    assert copied.aggregator is not clf.aggregator


def test_routing_requests_public_data_and_groups_by_default():
    requests = pate().get_metadata_routing().fit.requests
    assert requests["X_public"] is True
    assert requests["groups"] is True
    assert requests["sample_weight"] is None


def test_classes_from_private_labels_warn_once():
    clf = quick(classes=None)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        fit(clf)
    assert [w.category for w in caught] == [PrivacyLeakWarning]
    assert "pass classes=" in str(caught[0].message)


# --- on data -------------------------------------------------------------------------------------


def test_breast_cancer_at_epsilon_one():
    X, y = load_breast_cancer(return_X_y=True)
    scores = []
    for seed in range(5):
        X_private, X_rest, y_private, y_rest = train_test_split(
            X, y, train_size=340, random_state=seed
        )
        X_public, X_test, _, y_test = train_test_split(
            X_rest, y_rest, train_size=100, random_state=seed
        )
        clf = PATEClassifier(
            make_pipeline(StandardScaler(), NearestCentroid()),
            n_teachers=80,
            classes=[0, 1],
            random_state=seed,
        ).fit(X_private, y_private, X_public)
        assert clf.privacy_spent_.epsilon <= 1
        scores.append(clf.score(X_test, y_test))
    assert np.mean(scores) >= 0.85


def test_defaults_are_useful_on_adult(data_home):
    from sklearn_pate.datasets import fetch_adult

    private = fetch_adult(data_home=data_home, subset="train")
    public = fetch_adult(data_home=data_home, subset="test")
    frames = [private.data, public.data[:5000], public.data[5000:]]
    y_test = public.target[5000:]
    # Records vote on frames; 510 teachers on rows that are encoded already, which takes less time
    encoder = RowVectorizer().fit(public.data[:5000])
    fits = [(None, frames), (LogisticRegression(), [encoder.transform(part) for part in frames])]
    gains = []
    for seed, (base_estimator, (X_private, X_public, X_test)) in enumerate(fits):
        clf = PATEClassifier(base_estimator, random_state=seed)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            clf.fit(X_private, private.target, X_public)
        assert [w.category for w in caught] == [PrivacyLeakWarning]
        assert clf.privacy_spent_.epsilon <= 1
        gains.append(clf.score(X_test, y_test) - (1 - y_test.mean()))
    # About 0.09 and 0.07
    assert gains[0] > 0.06 and gains[1] > 0.02


# --- propose-test-release ------------------------------------------------------------------------


def ptr(**params):
    defaults = {"accounting": "ptr", "aggregator": GNMax(25.0), "n_queries": 200, "epsilon": 2.2}
    return pate(GaussianNB(), **(defaults | {"n_teachers": 150} | params))


def test_labels_that_pass_the_test_cost_less_than_any_votes():
    clf = fit(ptr())
    spent = clf.privacy_spent_
    assert (spent.epsilon, spent.method) == (2.2, "propose-test-release")
    assert spent.n_answered == spent.n_queries == 200
    assert clf.curator_.epsilon(method="data_independent") > 1.2 * spent.epsilon
    assert clf.curator_.test.pass_probability(clf.curator_.votes) > 0.9
    assert clf.score(X_TEST, Y_TEST) > 0.85
    assert not hasattr(pickle.loads(pickle.dumps(clf)), "curator_")


def test_labels_that_fail_the_test_are_not_released():
    rng = np.random.default_rng(0)
    clf = ptr()
    message = "No label was released.* epsilon=2.2 is spent"
    with pytest.raises(PrivacyTestError, match=message) as caught:
        fit(clf, y=rng.integers(0, 2, size=1500))  # teachers disagree
    spent = caught.value.privacy_spent
    assert spent.epsilon == 2.2
    assert spent.n_answered == 0
    assert spent.method == "propose-test-release"
    assert [name for name in vars(clf) if name.endswith("_")] == []
    # The outcome of the test was drawn from the seed, so the seed must not be in a pickle
    assert clf.random_state is not None
    assert pickle.loads(pickle.dumps(clf)).random_state is None
    restored = pickle.loads(pickle.dumps(caught.value))
    assert restored.privacy_spent == spent
    assert str(restored) == str(caught.value)


def test_a_failed_test_leaves_an_earlier_fit_as_it_was():
    clf = fit(ptr())
    before = dict(vars(clf))
    with pytest.raises(PrivacyTestError):
        fit(clf, y=np.random.default_rng(0).integers(0, 2, size=1500))
    assert vars(clf) == before


def test_the_outcome_of_the_test_is_random():
    # These votes are at the edge: whether they pass depends on the seed
    outcomes = set()
    for seed in range(12):
        try:
            fit(ptr(epsilon=1.75, random_state=seed))
            outcomes.add("passes")
        except PrivacyTestError:
            outcomes.add("fails")
        if len(outcomes) == 2:
            break
    assert outcomes == {"passes", "fails"}


def test_a_cap_that_any_votes_meet_needs_no_test():
    clf = fit(ptr(epsilon=8.0))
    assert clf.privacy_spent_.method == "renyi"
    assert clf.privacy_spent_.epsilon < 8.0
    assert clf.curator_.test is None


@pytest.mark.parametrize(
    ("params", "error", "message"),
    [
        ({"n_queries": None}, ValueError, "accounting='ptr' .* set n_queries to a number"),
        ({"epsilon": None}, ValueError, "accounting='ptr' .* set epsilon to a number"),
        ({"aggregator": None}, ValueError, r"set the noise of GNMax\(sigma=None\) to a number"),
        (
            {"aggregator": LNMax(None)},
            ValueError,
            r"set the noise of LNMax\(gamma=None\) to a number",
        ),
        ({"epsilon": 0.2}, BudgetExceededError, "would fail even if all teachers agreed"),
        ({"aggregator": PluralityVote()}, BudgetExceededError, "would fail even if all teachers"),
        ({"accounting": "exact"}, ValueError, "accounting"),
    ],
)
def test_what_cannot_be_tested_is_refused_before_any_teacher_trains(params, error, message):
    clf = ptr(**params).set_params(base_estimator=Forbidden())
    with pytest.raises(error, match=message):
        fit(clf)


# --- mechanisms that may refuse to answer --------------------------------------------------------


class Checked(Aggregator):
    """Answers if the top count passes a noisy threshold."""

    def __init__(self, threshold=60):
        self.threshold = threshold

    def facts(self):
        return Facts(label_symmetric=True)

    def outcome_log_proba(self, votes, student_proba=None):
        excess = (np.max(votes, axis=1) - self.threshold) / 20
        answer = GNMax(30.0).outcome_log_proba(votes)
        return np.hstack([answer + log_ndtr(excess)[:, None], log_ndtr(-excess)[:, None]])


def test_the_guarantee_is_for_the_queries_asked_not_answered():
    spent = []
    for seed in (0, 1):
        clf = fit(pate(aggregator=Checked(72), n_queries=60, epsilon=5.0, random_state=seed))
        spent.append(clf.privacy_spent_)
    first, second = spent
    assert first.n_answered != second.n_answered
    assert first.n_answered < 60
    assert first.epsilon == second.epsilon
    expected, _ = data_independent_epsilon(Checked(72), 60, 1e-5, n_teachers=100, n_classes=2)
    assert first.epsilon == expected


def test_the_student_alone_predicts_codes_and_the_classifier_labels():
    names = np.array(["no", "yes"])
    clf = quick().set_params(classes=names).fit(X_PRIVATE, names[Y_PRIVATE], X_PUBLIC)
    codes = clf.student_.predict(X_PUBLIC)
    assert codes.dtype.kind == "i" and set(clf.predict(X_PUBLIC)) <= set(names)
    assert (clf.classes_[codes] == clf.predict(X_PUBLIC)).all()
    for word in ("codes", "classes_[student_.predict(X)]"):
        about = PATEClassifier.__doc__.partition("student_ : classifier")[2]
        assert word in about.partition("aggregator_ :")[0]
