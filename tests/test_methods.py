"""Methods of a user's own: the method is one object, and nothing else needs to change."""

import pickle

import numpy as np
import pytest
from conftest import cases
from processes import generator_states
from sklearn.base import clone
from sklearn.datasets import make_blobs
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import pairwise_distances
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import GaussianNB

from sklearn_pate import PATEClassifier, PublicData
from sklearn_pate.aggregators import GNMax, Released, SoftVote
from sklearn_pate.encoding.targets import ClassTarget
from sklearn_pate.exceptions import TeacherError
from sklearn_pate.methods import ClassSums, ReverseNeighbors, Teachers, VotingMethod
from sklearn_pate.model_selection import PrivateGridSearchCV
from sklearn_pate.rdp import NeighboringRelation, Neighbors
from sklearn_pate.releases.table import TableRelease
from sklearn_pate.releases.votes import Votes
from sklearn_pate.runtime.private_data import PrivateData

SECRET = "Ada Lovelace"
X, Y = make_blobs(600, centers=[[-3, 0], [3, 0]], random_state=0)
PRIVATE_X, PRIVATE_Y, PUBLIC_X = X[:400], Y[:400], X[400:]
PRIVATE = PrivateData(X=PRIVATE_X, codes=PRIVATE_Y, target=ClassTarget([0, 1]))


STATED = {"unit": "record", "relation": "replace_one"}


class Near(VotingMethod):
    """Every record votes on every row: for its own label within a radius, else by its place."""

    def __init__(self, radius=2.0):
        self.radius = radius

    def prepare(self, private, X_public, *, seed=None, memory=None):
        self.n_teachers_ = len(private.codes)
        return Neighbors(n_records=len(private.codes), **STATED)

    def vote(self, private, X_query, *, temperature=None, seed=None, on_done=None):
        classes = np.arange(len(private.classes))
        is_near = pairwise_distances(X_query, private.X) < self.radius
        votes = np.where(is_near, private.codes, np.arange(len(private.codes)) % len(classes))
        return (votes[:, :, None] == classes).sum(axis=1)


def model(method=None, **params):
    method = Near() if method is None else method
    given = {"method": method, "student": GaussianNB(), "classes": [0, 1], "epsilon": None}
    given |= {"aggregator": GNMax(2.0), "n_queries": 100} | params
    return PATEClassifier(**given)


def fit(classifier):
    return classifier.fit(PRIVATE_X, PRIVATE_Y, X_public=PUBLIC_X)


def test_custom_method_replaces_teachers():
    classifier = fit(model(random_state=0))
    assert classifier.n_teachers_ == 400 and classifier.privacy_spent_.n_teachers == 400
    assert classifier.privacy_spent_.relation == NeighboringRelation.REPLACE_ONE
    counts = Near().vote(PRIVATE, PUBLIC_X)
    np.testing.assert_array_equal(classifier.curator_.votes, counts[classifier.query_indices_])
    assert classifier.curator_.teacher_indices is None


@pytest.mark.slow
def test_custom_method_works_in_plan_poll_pickle_and_search():
    classifier = model(epsilon=8.0, aggregator=None, n_queries=20)
    plan = classifier.plan(PRIVATE_X, PRIVATE_Y, X_public=PUBLIC_X)
    assert plan.spent.epsilon == pytest.approx(8.0, rel=1e-3) and plan.n_queries == 20
    votes = classifier.poll(PRIVATE_X, PRIVATE_Y, X_public=PUBLIC_X)
    assert isinstance(votes, Votes) and votes.neighbors.n_records == 400
    assert votes.n_teachers == 400
    assert clone(classifier).fit_votes(votes, PUBLIC_X).n_teachers_ == 400
    loaded = pickle.loads(pickle.dumps(fit(classifier)))
    np.testing.assert_array_equal(loaded.predict(X), classifier.predict(X))
    search = GridSearchCV(model(n_queries=20), {"method__radius": [1.0, 2.0]}, cv=2)
    search.fit(PRIVATE_X, PRIVATE_Y, X_public=PublicData(PUBLIC_X))
    assert search.best_params_["method__radius"] in (1.0, 2.0)


@cases(
    "params, match",
    ({"student": None}, "student must be a classifier; got None"),
    ({"base_estimator": GaussianNB()}, "base_estimator=.* Near does not use it"),
    ({"n_teachers": 10}, "n_teachers=.* Near does not use it"),
    ({"partition": "hash"}, "partition=.* Near does not use it"),
    ({"keep_teachers": True}, "keep_teachers=.* Near does not use it"),
    ({"n_jobs": 2}, "n_jobs=.* Near does not use it"),
    ({"timeout": 3.0}, "timeout=.* Near does not use it"),
    ({"unit": "group"}, "unit='group', but these votes protect"),
    ({"aggregator": SoftVote(20.0)}, "Near returns votes, but SoftVote"),
)
def test_custom_method_refuses_parameters_it_does_not_use(params, match):
    pytest.raises(ValueError, fit, model(**params)).match(match)


@cases("method", Near(), Teachers([GaussianNB()]), ReverseNeighbors())
def test_methods_as_base_estimator_are_refused(method):
    with pytest.raises(TypeError, match=rf"pass it as method={type(method).__name__}\(\.\.\.\)"):
        fit(PATEClassifier(method, classes=[0, 1]))


class Odd(Near):
    """Does or returns something else than it should."""

    def __init__(self, radius=2.0, before=None, prepared=None, change=None, where="nowhere"):
        super().__init__(radius)
        self.before, self.prepared, self.change = before, prepared, change
        self.where = where

    @property
    def teachers_(self):
        self._fail_at("teachers")

    def _fail_at(self, here):
        if self.where == here:
            print(SECRET)
            raise ValueError(SECRET)

    def prepare(self, private, X_public, *, seed=None, memory=None):
        self._fail_at("prepare")
        if self.before is not None:
            self.before(private, X_public)
        prepared = super().prepare(private, X_public)
        return prepared if self.prepared is None else self.prepared

    def vote(self, private, X_query, *, temperature=None, seed=None, on_done=None):
        self._fail_at("vote")
        counts = super().vote(private, X_query)
        return counts if self.change is None else self.change(counts)


@cases(
    "where, function, kind",
    ("prepare", "prepare", ValueError),
    ("vote", "vote", TeacherError),
    ("teachers", "vote", TeacherError),
)
def test_custom_method_errors_and_output_are_redacted(where, function, kind, capfd):
    with pytest.raises(kind, match=f"{function} of Odd failed with ValueError") as caught:
        fit(model(Odd(where=where)))
    error = caught.value
    assert SECRET not in str(error) and error.__cause__ is None and error.__context__ is None
    assert SECRET not in "".join(capfd.readouterr())


def test_prepare_result_is_checked():
    with pytest.raises(TypeError, match=r"must return rdp\.Neighbors.* got another type"):
        fit(model(Odd(prepared=(400, "record"))))


class Counts(Near):
    """Has a number of teachers that it was given, and prints or fails where that is read."""

    def __init__(self, radius=2.0, number=None):
        super().__init__(radius)
        self.number = number

    @property
    def n_teachers_(self):
        print(SECRET)
        if self.number == "raises":
            raise ValueError(SECRET)
        return self.number

    @n_teachers_.setter
    def n_teachers_(self, number):
        self.set_to = number


@cases("number", "12", 0, 1.5, None, SECRET)
def test_n_teachers_set_by_prepare_is_checked(number, capfd):
    with pytest.raises(
        ValueError, match="Counts must set n_teachers_, .* at least 1; got"
    ) as error:
        fit(model(Counts(number=number)))
    assert SECRET not in str(error.value) and capfd.readouterr() == ("", "")


def test_n_teachers_error_is_redacted(capfd):
    with pytest.raises(ValueError, match="prepare of Counts failed with ValueError") as error:
        fit(model(Counts(number="raises")))
    assert SECRET not in str(error.value) and capfd.readouterr() == ("", "")
    assert error.value.__cause__ is None and error.value.__context__ is None


def test_n_teachers_output_is_suppressed(capfd):
    assert fit(model(Counts(number=len(PRIVATE_Y)))).n_teachers_ == 400
    assert capfd.readouterr() == ("", "")


def test_n_teachers_of_a_short_type_does_not_overflow():
    class Short(Near):
        def prepare(self, private, X_public, *, seed=None, memory=None):
            self.n_teachers_ = np.uint8(200)
            return Neighbors(**STATED)

        def vote(self, private, X_query, *, temperature=None, seed=None, on_done=None):
            return np.tile([120, 80], (len(X_query), 1))

    short = fit(model(Short(), random_state=0))
    assert short.n_teachers_ == 200 and type(short.n_teachers_) is int
    assert type(short.privacy_spent_.n_teachers) is int


@cases(
    "change",
    lambda counts: counts + np.eye(*counts.shape, dtype=int),
    lambda counts: counts + [401, -401],
    lambda counts: counts[:-1],
    lambda counts: counts[:, :1],
    lambda counts: counts / 2,
    lambda counts: SECRET,
    ids=["one too many", "negative", "a row less", "a class less", "halves", "text"],
)
def test_vote_result_is_checked(change):
    with pytest.raises(TeacherError, match=r"vote of Odd must return 100 rows of 2 counts"):
        fit(model(Odd(change=change)))


def test_private_data_refuse_pickle_and_hide_their_repr():
    private = PrivateData(X=[[SECRET]], codes=np.array([0]), target=ClassTarget([0, 1]))
    assert SECRET not in repr(private)
    pytest.raises(TypeError, pickle.dumps, private).match("PrivateData is private")


def shift(private, X_public):
    X_public -= private.X.mean(axis=0)


def rename(private, X_public):
    private.classes[:] = [7, 9]


def reseed(private, X_public):
    np.random.seed(int(private.codes.sum()))


def test_custom_method_changes_nothing_outside():
    public, state = PUBLIC_X.copy(), generator_states()
    for before in (shift, rename, reseed):
        assert fit(model(Odd(before=before))).classes_.tolist() == [0, 1]
    np.testing.assert_array_equal(PUBLIC_X, public)
    assert generator_states() == state


def test_teachers_method_is_pickled_without_data():
    ensemble = Teachers([LogisticRegression()], n_teachers=5, keep_teachers=True)
    ensemble.prepare(PRIVATE, PUBLIC_X)
    ensemble.vote(PRIVATE, PUBLIC_X)
    assert ensemble.teachers_ is not None
    loaded = pickle.loads(pickle.dumps(ensemble))
    assert vars(loaded).keys() == ensemble.get_params(deep=False).keys()


def test_neighbors_with_wrong_n_records_are_refused():
    wrong = Neighbors(n_records=7, **STATED)
    with pytest.raises(ValueError, match="n_records of Odd must be the number of private"):
        fit(model(Odd(prepared=wrong)))


def test_private_search_refuses_custom_methods():
    search = PrivateGridSearchCV(model(n_queries=10), {"epsilon": [1.0, 2.0]}, epsilon=None)
    clf = PATEClassifier(classes=[0, 1], n_queries=10)
    hashed = {"method": [Teachers([LogisticRegression()], partition="hash")]}
    by_candidate = PrivateGridSearchCV(clf, hashed, epsilon=4.0)
    for each in (search, by_candidate):
        with pytest.raises(ValueError, match="cannot be held out from method="):
            each.fit(PRIVATE_X, PRIVATE_Y, X_public=PUBLIC_X)


class SoftAtCostOfLabels(GNMax):
    """States the cost of a label, and releases more."""

    def outcome_log_proba(self, votes, student_proba=None):
        return super().outcome_log_proba(votes, student_proba)

    def release(self, votes, student_proba=None, random_state=None):
        sampled = super().release(votes, student_proba, random_state)
        return Released(sampled.labels, sampled.paid, votes / votes.sum(axis=1, keepdims=True))


def test_soft_labels_at_the_cost_of_labels_are_refused():
    with pytest.raises(ValueError, match="must release only labels"):
        fit(model(aggregator=SoftAtCostOfLabels(2.0)))


# --- votes that another method cast ---------------------------------------------------------------


@pytest.mark.parametrize("method", ["auto", "sums"])
def test_fit_votes_accepts_polled_class_sums(method):
    clf = PATEClassifier(method=method, schema=(-9, 9), classes=[0, 1], epsilon=1.0)
    votes = clf.poll(X, Y)
    assert votes.counts.shape == (0, 2)
    assert clf.fit_votes(votes).score(X, Y) > 0.9
    assert 0.99 < clf.privacy_spent_.epsilon <= 1.0


@cases(
    "schema, public, name", ((-9, 9), (), "PublishedClassSums"), (None, (PUBLIC_X,), "ClassSums")
)
def test_fit_votes_refuses_votes_of_another_method(schema, public, name):
    given = {"schema": schema, "classes": [0, 1], "epsilon": 8.0}
    neighbors, sums = (PATEClassifier(method=method, **given) for method in ("neighbors", "sums"))
    votes = neighbors.poll(PRIVATE_X, PRIVATE_Y, *public)
    with pytest.raises(ValueError, match="^ReverseNeighbors cast these votes: poll again"):
        sums.fit_votes(votes, *public)
    votes = sums.poll(PRIVATE_X, PRIVATE_Y, *public)
    with pytest.raises(ValueError, match=f"^{name} cast these votes: poll again"):
        neighbors.fit_votes(votes, *public)
    assert sums.fit_votes(votes, *public).score(X, Y) > 0.85


# --- refused methods of a user --------------------------------------------------------------------


class Tables(VotingMethod):
    """Releases a table, which the library would not check."""

    release = TableRelease()

    def prepare(self, private, X_public, *, seed=None, memory=None):
        return Neighbors(relation="replace_one", unit="record", n_records=len(private.codes))

    def vote(self, private, X_query, *, temperature=None, seed=None, on_done=None):
        raise AssertionError("it must not be called")


@pytest.mark.parametrize(
    "method", [Tables(), type("Own", (ReverseNeighbors,), {})(), type("Sums", (ClassSums,), {})()]
)
def test_custom_tables_are_refused_before_private_data_are_read(method):
    clf = PATEClassifier(method=method, classes=[0, 1])
    for run in (clf.plan, clf.fit, clf.poll):
        with pytest.raises(ValueError, match="is not a method of this library, and releases more"):
            run(X[:400], Y[:400], X[400:])
