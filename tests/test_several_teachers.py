"""Teachers that vote for several targets: the cost of their queries, and changes by a record."""

import itertools
import json
import math
import pickle

import numpy as np
import pandas as pd
import pytest
from conftest import sampled
from scipy.optimize import brentq
from scipy.special import ndtr
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import r2_score
from sklearn.multioutput import ClassifierChain, MultiOutputClassifier, MultiOutputRegressor
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils import get_tags
from test_several_targets import BOUNDS, CLASSES, LABELS, NUMBERS, PRIVATE, PUBLIC, TEST, X

from sklearn_pate import PATEClassifier, PATERegressor, verify
from sklearn_pate.accounting import RenyiFilter, plan_queries
from sklearn_pate.accounting.targets import queries_cost, query_steps
from sklearn_pate.aggregators import (
    Aggregator,
    ConfidentGNMax,
    GaussianMechanism,
    GNMax,
    InteractiveGNMax,
    LNMax,
    SoftVote,
    StableArgmax,
)
from sklearn_pate.exceptions import BudgetExceededError, StudentError, TeacherError
from sklearn_pate.ledger import PrivacyLedger
from sklearn_pate.methods import Teachers
from sklearn_pate.model_selection import PrivateGridSearchCV
from sklearn_pate.partition import PredefinedPartition
from sklearn_pate.plotting import PrivacySpentDisplay
from sklearn_pate.rdp import DEFAULT_ORDERS, Contribution, Event
from sklearn_pate.rdp.discrete import laplace_table_cost
from sklearn_pate.students import SoftLabelClassifier
from sklearn_pate.teachers import Sites

#: Fits of few queries; accuracy is not tested here.
pytestmark = [
    pytest.mark.filterwarnings("ignore:.*little better than"),
    pytest.mark.filterwarnings("ignore:.*labels per class"),
    pytest.mark.filterwarnings("ignore:.*is too large for the"),
    pytest.mark.filterwarnings("ignore:.*is a weak guarantee"),
    pytest.mark.filterwarnings("ignore:.*released labels are of one class"),
    pytest.mark.filterwarnings("ignore:.*all teachers voted for"),
]
SEVERAL = {"n_teachers": 50, "n_classes": (2, 2, 3)}
CONFIDENT = ConfidentGNMax(threshold=0.7, sigma1=30.0, sigma2=15.0)


# --- cost: q targets of m rows are q m queries ---------------------------------------------------


@sampled()
@pytest.mark.parametrize(
    "mechanism",
    [GNMax(20.0), GNMax(20.0, "discrete"), LNMax(0.05), SoftVote(20.0), CONFIDENT],
    ids=repr,
)
@pytest.mark.parametrize("n_targets", [2, 3, 7])
def test_queries_of_several_targets_cost_as_many_queries_of_one(mechanism, n_targets):
    of_one = mechanism.costs(n_teachers=50, n_classes=3)(n_targets * 20)
    given = {"n_teachers": 50, "n_classes": (3,) * n_targets}
    of_all = queries_cost(mechanism, **given)(20)
    np.testing.assert_array_equal(of_all.rdp, of_one.rdp)
    assert of_all._numbers() == of_one._numbers() and of_all.epsilon(1e-5) == of_one.epsilon(1e-5)
    check, answer = query_steps(mechanism, DEFAULT_ORDERS, **given)
    one_check, one_answer = mechanism.steps(DEFAULT_ORDERS, n_teachers=50, n_classes=3)
    np.testing.assert_allclose(check, n_targets * one_check, rtol=1e-14)
    np.testing.assert_allclose(answer, n_targets * one_answer, rtol=1e-14)


@pytest.mark.parametrize("mechanism", [GNMax(20.0), LNMax(0.05)], ids=repr)
def test_targets_with_different_classes_cost_the_sum_of_their_queries(mechanism):
    found = queries_cost(mechanism, **SEVERAL)(20)
    of_two, of_three = (mechanism.costs(n_teachers=50, n_classes=n) for n in (2, 3))
    np.testing.assert_allclose(found.rdp, of_two(40).rdp + of_three(20).rdp, rtol=1e-14)
    assert found.pure == pytest.approx(of_two(40).pure + of_three(20).pure)
    assert found.mu_squared == pytest.approx(of_two(40).mu_squared + of_three(20).mu_squared)


def test_queries_one_after_another_cost_as_one_vector_of_all_targets():
    """A teacher that changes moves two counts of each query of each target: L1 2 q, L2 sqrt(2 q).

    All counts of q targets and m rows, with noise on each, are one release of a vector. The labels
    alone cost no more than it.
    """
    n_targets, n_rows = 3, 20
    vector = Contribution.of_counts(2 * n_targets * n_rows)
    gaussian = Event(GaussianMechanism(20.0, noise="continuous"), vector).cost()
    soft = queries_cost(SoftVote(20.0, noise="continuous"), **SEVERAL)(n_rows)
    assert soft.mu_squared == pytest.approx(gaussian.mu_squared)
    assert soft.mu_squared == pytest.approx(2 * n_targets * n_rows / 20.0**2)
    laplace = laplace_table_cost(1 / 0.05, vector)
    assert laplace.pure == pytest.approx(0.05 * 2 * n_targets * n_rows)
    assert queries_cost(LNMax(0.05), **SEVERAL)(n_rows).pure <= laplace.pure
    noisy_max = queries_cost(GNMax(20.0), **SEVERAL)(n_rows)
    assert noisy_max.mu_squared <= gaussian.mu_squared * (1 + 1e-12)
    assert (noisy_max.rdp <= gaussian.rdp * (1 + 1e-12)).all()


def delta_of(pairs, epsilon):
    """The delta of independent queries at epsilon, from the outcomes of each, by enumeration."""
    p = [math.prod(each) for each in itertools.product(*(pair[0] for pair in pairs))]
    q = [math.prod(each) for each in itertools.product(*(pair[1] for pair in pairs))]
    return float(np.maximum(np.array(p) - math.exp(epsilon) * np.array(q), 0).sum())


@pytest.mark.parametrize("n_targets", [2, 4])
def test_stated_epsilon_holds_for_all_votes_of_a_tiny_domain(n_targets):
    """Two teachers, two classes, one row: every pair of votes on all targets, enumerated."""
    sigma, n_teachers, delta = 3.0, 2, 0.02

    def outcomes(gap):
        zero = ndtr(gap / (math.sqrt(2) * sigma))
        return zero, 1 - zero

    gaps = range(-n_teachers, n_teachers + 1, 2)
    moves = [(outcomes(g), outcomes(h)) for g in gaps for h in gaps if abs(g - h) <= 2]

    def worst(epsilon):
        pairs = itertools.combinations_with_replacement(moves, n_targets)  # in any order
        return max(delta_of(each, epsilon) for each in pairs)

    given = {"n_public": 1, "n_teachers": n_teachers, "epsilon": None, "delta": delta}
    plan = plan_queries(GNMax(sigma), 1, **given, n_classes=(2,) * n_targets)
    assert 0 < worst(plan.epsilon) <= delta
    of_one = plan_queries(GNMax(sigma), 1, **given, n_classes=2)
    assert worst(of_one.epsilon) > delta  # the cost of one target alone does not hold


def gaussian_epsilon(mu, delta):
    """Epsilon of Gaussian noise at delta, from its trade-off function (Balle, Wang 2018)."""

    def excess(epsilon):
        first = ndtr(mu / 2 - epsilon / mu)
        return first - math.exp(epsilon) * ndtr(-mu / 2 - epsilon / mu) - delta

    return brentq(excess, 0, 50, xtol=1e-12)


@pytest.mark.parametrize("n_targets", [2, 5])
def test_epsilon_of_soft_votes_follows_from_a_closed_form(n_targets):
    y = np.tile(NUMBERS[:, :1], n_targets)
    reg = PATERegressor(
        Ridge(),
        bounds=[(0, 20)] * n_targets,
        aggregator=SoftVote(25.0, noise="continuous"),
        n_teachers=20,
        n_queries=30,
        epsilon=None,
    )
    epsilon, delta = reg.fit(X[PRIVATE], y[PRIVATE], X[PUBLIC]).privacy_spent_
    expected = gaussian_epsilon(math.sqrt(2 * n_targets * 30) / 25.0, delta)
    assert delta == 1e-5 and expected <= epsilon <= expected * (1 + 1e-5)
    assert len(reg.query_indices_) == 30 and reg.privacy_spent_.n_queries == 30 * n_targets


def test_calibrated_noise_is_that_of_as_many_queries_of_one_target():
    given = {"n_public": 300, "n_teachers": 50, "epsilon": 2.0, "delta": 1e-5}
    ((of_all, n_rows),) = plan_queries(GNMax(None), 20, **given, n_classes=(3, 3, 3)).stages
    ((of_one, _),) = plan_queries(GNMax(None), 60, **given, n_classes=3).stages
    assert n_rows == 20 and of_all.sigma == of_one.sigma
    ((_, n_rows),) = plan_queries(GNMax(20.0), None, **given, n_classes=(3, 3, 3)).stages
    ((_, n_queries),) = plan_queries(GNMax(20.0), None, **given, n_classes=3).stages
    assert n_rows == n_queries // 3


def test_filter_charges_the_queries_of_all_targets(global_random_seed):
    rng = np.random.default_rng(global_random_seed)
    paid, answers, check = rng.random((200, 3)) < 0.4, [0.2003, 0.2019, 0.3041], 0.0607
    budget, spent, n_rows = RenyiFilter(8.0, 20.0), 0.0, 0
    for row in paid:
        if spent + check + sum(answers) > 20.0:
            break
        spent, n_rows = spent + check + row @ answers, n_rows + 1
    assert budget.allow(paid, check, answers) == n_rows < 200
    assert budget.spent == pytest.approx(spent) and spent <= 20.0


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*a fit stops once epsilon is spent")
def test_budget_stops_the_queries_of_all_targets_at_the_same_row():
    clf = teachers(aggregator=CONFIDENT, n_queries=300, epsilon=5.0)
    with pytest.warns(UserWarning, match="paid for .* of the 300 requested rows;") as caught:
        clf.fit(X[PRIVATE], LABELS[PRIVATE], X[PUBLIC])
    assert sum("requested rows; only" in str(each.message) for each in caught) == 1
    spent, n_rows = clf.privacy_spent_, len(clf.query_indices_)
    assert spent.composition == "filter" and spent.epsilon <= 5.0 and n_rows < 300
    assert spent.n_queries == 3 * n_rows
    released = clf.public_labels_[clf.query_indices_]
    assert spent.n_answered == (released >= 0).sum() < spent.n_queries
    filtered = clf.plan(X[PRIVATE], LABELS[PRIVATE], X[PUBLIC]).budget
    order = np.array([filtered.order])
    steps = [CONFIDENT.steps(order, n_teachers=20, n_classes=n) for n in (2, 2, 3)]
    answered = [part.paid.sum() for each in clf.curator_._parts for part in each._stages]
    checks = n_rows * sum(check[0] for check, _ in steps)
    total = checks + sum(n * answer[0] for n, (_, answer) in zip(answered, steps, strict=True))
    assert total <= filtered.limit


def test_statement_recomputes_the_epsilon_of_all_targets():
    clf = teachers(n_queries=20).fit(X[PRIVATE], LABELS[PRIVATE], X[PUBLIC])
    statement = json.loads(clf.privacy_spent_.to_json())
    steps = statement["guarantee"]["steps"]
    assert [step["count"] for step in steps] == [40, 20]
    assert [step["name"] for step in steps] == [
        "40 queries of 20 teachers, on 20 rows for 2 targets of 2 classes",
        "20 queries of 20 teachers, on 20 rows for 1 target of 3 classes",
    ]
    assert verify.report(statement)[-1].startswith("The statement claims epsilon")
    assert "20 teachers voted on 60 queries" in clf.privacy_spent_.summary()
    steps[0]["count"] = 60  # one more query for each row
    with pytest.raises(verify.StatementError, match="claims epsilon"):
        verify.report(statement)


def test_private_costs_are_sums_over_the_targets():
    clf = teachers(n_queries=15).fit(X[PRIVATE], LABELS[PRIVATE], X[PUBLIC])
    curator, epsilon = clf.curator_, clf.privacy_spent_.epsilon
    assert curator.votes.shape == (15, 7)
    rdp = sum(
        GNMax(clf.aggregator_.sigma).costs(n_teachers=20, n_classes=n)(1).rdp for n in (2, 2, 3)
    )
    assert curator.rdp().shape == (15, DEFAULT_ORDERS.size) and (curator.rdp() <= rdp).all()
    assert curator.epsilon(bound="data_independent") == pytest.approx(epsilon)
    assert curator.epsilon() < epsilon
    assert curator.epsilon(bound="published") > 0
    assert repr(curator) == "SeveralCurator(private)"
    with pytest.raises(ValueError, match="display is for one target"):
        PrivacySpentDisplay.from_estimator(clf)


def test_ledger_records_one_fit_of_teachers_of_several_targets(tmp_path):
    ledger = PrivacyLedger(tmp_path / "ledger.db", epsilon=10.0, delta=1e-4)
    clf = teachers(ledger=ledger, random_state=None)
    clf.fit(X[PRIVATE], LABELS[PRIVATE], X[PUBLIC])
    assert ledger.history()["n_queries"].tolist() == [clf.privacy_spent_.n_queries]
    with pytest.raises(BudgetExceededError):
        clf.fit(X[PRIVATE], LABELS[PRIVATE], X[PUBLIC])


# --- votes ---------------------------------------------------------------------------------------

TREE = DecisionTreeClassifier(max_depth=4, random_state=0)
#: Models that learn all targets at once, and models that are fitted for each target.
MODELS = {
    "each": LogisticRegression(),
    "together": TREE,
    "neighbors": make_pipeline(StandardScaler(), KNeighborsClassifier(5)),
    "columns only": MultiOutputClassifier(LogisticRegression()),
    "drawing": RandomForestClassifier(3, max_depth=3),
    "several kinds": [TREE, GaussianNB(), LogisticRegression()],
}


def teachers(base=None, **params):
    base = GaussianNB() if base is None else base
    given = {"classes": CLASSES, "epsilon": 8.0, "n_teachers": 20, "random_state": 0}
    return PATEClassifier(base, **given | params)


def votes_on(clf, y=None, rows=None, **given):
    y = LABELS if y is None else y
    return clf.poll((X if rows is None else rows)[PRIVATE], y[PRIVATE], X[PUBLIC], **given)


#: All models vote; of those that return probabilities, one of each kind: a model for each target,
#: one for all, and one for all that has a model for each.
VOTES = [(name, None) for name in MODELS]
VOTES += [(name, SoftVote(5.0)) for name in ("each", "together", "columns only")]
OF_EACH_MODEL = pytest.mark.parametrize(
    "name, aggregator", VOTES, ids=[f"{name}-{noise or 'votes'}" for name, noise in VOTES]
)


@OF_EACH_MODEL
def test_changed_record_changes_one_vote_of_each_query_of_each_target(name, aggregator):
    clf = teachers(MODELS[name], aggregator=aggregator)
    changed, rows = LABELS.copy(), X.copy()
    changed[7], rows[7] = 1 - changed[7, 0], 100.0
    one, other = votes_on(clf), votes_on(clf, changed, rows)
    np.testing.assert_array_equal(one.teacher_indices, other.teacher_indices)
    difference = one.counts - other.counts
    for columns in one.target.columns_by_target:
        of_target = difference[:, columns]
        np.testing.assert_allclose(one.counts[:, columns].sum(axis=1), 20, rtol=1e-4)
        assert np.abs(of_target).sum(axis=1).max() <= 2 + 1e-9
        assert np.sqrt((of_target**2).sum(axis=1)).max() <= math.sqrt(2) + 1e-9
    assert np.abs(difference).sum() > 0


@pytest.mark.parametrize("name", ["each", "neighbors", "columns only"])
def test_votes_equal_those_of_models_trained_by_hand(name):
    model = MODELS[name]
    votes = votes_on(teachers(model))
    expected = np.zeros((300, 7), dtype=int)
    for teacher in range(20):
        own = np.flatnonzero(votes.teacher_indices == teacher)
        if name == "neighbors":  # all at once
            predicted = clone(model).fit(X[own], LABELS[own]).predict(X[PUBLIC])
        else:
            columns = [LogisticRegression().fit(X[own], y[own]) for y in LABELS.T]
            predicted = np.column_stack([each.predict(X[PUBLIC]) for each in columns])
        for start, codes in zip((0, 2, 4), predicted.T, strict=True):
            expected[np.arange(300), start + codes] += 1
    np.testing.assert_array_equal(votes.counts, expected)


@pytest.mark.parametrize("aggregator", [None, SoftVote(5.0)], ids=["votes", "probabilities"])
def test_model_of_each_target_votes_as_in_a_fit_of_this_target_alone(aggregator):
    votes = votes_on(teachers(aggregator=aggregator))
    for number, columns in enumerate(votes.target.columns_by_target):
        alone = votes_on(
            teachers(classes=CLASSES[number], aggregator=aggregator), LABELS[:, number]
        )
        np.testing.assert_array_equal(votes.counts[:, columns], alone.counts)


@OF_EACH_MODEL
def test_target_of_one_class_in_a_part_needs_no_fit(name, aggregator):
    y = LABELS.copy()
    y[:, 0], y[:, 1] = 0, 1
    y[:40, 1] = 0  # in some parts only
    clf = teachers(MODELS[name], aggregator=aggregator)
    votes = votes_on(clf, y)
    parts = [np.unique(y[PRIVATE][votes.teacher_indices == t, 1]).size for t in range(20)]
    assert set(parts) == {1, 2}
    np.testing.assert_allclose(votes.counts[:, :2], np.tile([20, 0], (300, 1)), rtol=1e-5)
    assert (votes.counts[:, 3] >= 20 - parts.count(2) - 1e-4).all()
    y[:, 2] = 2
    votes = votes_on(clf, y)
    np.testing.assert_allclose(votes.counts[:, 4:], np.tile([0, 0, 20], (300, 1)), rtol=1e-5)


def test_teacher_without_records_votes_by_its_number():
    groups = np.full(1800, "a")
    partition = PredefinedPartition(["a", "b", "c"])
    clf = teachers(TREE, partition=partition, n_teachers=None, on_bad_plan="warn")
    votes = votes_on(clf, groups=groups)
    own = DecisionTreeClassifier(max_depth=4, random_state=0)
    predicted = own.fit(X[PRIVATE], LABELS[PRIVATE]).predict(X[PUBLIC])
    for start, codes, n in zip((0, 2, 4), predicted.T, (2, 2, 3), strict=True):
        expected = np.eye(n)[codes] + np.eye(n)[1 % n] + np.eye(n)[2 % n]  # teachers 1 and 2
        np.testing.assert_array_equal(votes.counts[:, start : start + n], expected)


def test_teachers_draw_from_seeds_of_their_own_for_each_target():
    """The same column twice: a model that draws predicts them differently, if fitted for each."""
    y = np.tile(LABELS[:, :1], 2)
    model = LogisticRegression(solver="saga", max_iter=1, random_state=5)
    votes = votes_on(teachers(model, classes=CLASSES[:2]), y)
    assert (votes.counts[:, :2] != votes.counts[:, 2:]).any()
    again = votes_on(teachers(model, classes=CLASSES[:2]), y)
    np.testing.assert_array_equal(votes.counts, again.counts)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", [pytest.param("each", marks=pytest.mark.slow), "together"])
@pytest.mark.usefixtures("forked_workers")
def test_memory_and_workers_give_the_same_votes(name, tmp_path):
    clf = teachers(MODELS[name])
    votes = votes_on(clf)
    for params in ({"memory": str(tmp_path)}, {"memory": str(tmp_path)}, {"n_jobs": 2}):
        other = votes_on(clone(clf).set_params(**params))
        np.testing.assert_array_equal(other.counts, votes.counts)


@pytest.mark.parametrize("params", [{}, {"n_jobs": 2}], ids=["here", "workers"])
@pytest.mark.usefixtures("forked_workers")
def test_kept_teachers_are_one_model_or_one_for_each_target(params):
    clf = teachers(keep_teachers=True, **params).fit(X[PRIVATE], LABELS[PRIVATE], X[PUBLIC])
    assert all([type(own) for own in each] == [GaussianNB] * 3 for each in kept(clf))
    clf = teachers(TREE, keep_teachers=True, **params).fit(X[PRIVATE], LABELS[PRIVATE], X[PUBLIC])
    assert all(each.n_outputs_ == 3 for each in kept(clf))


def kept(clf):
    assert len(clf.curator_.teachers) == 20
    return clf.curator_.teachers


class Wrong(GaussianNB):
    """Learns one target, and claims to learn all."""

    def fit(self, X, y):
        return super().fit(X, y[:, 0])

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags


@pytest.mark.parametrize("aggregator", [None, SoftVote(5.0)], ids=["votes", "probabilities"])
def test_teacher_that_predicts_one_of_several_targets_is_refused(aggregator):
    match = "must return one column for each target" if aggregator is None else "a list with"
    with pytest.raises(TeacherError, match=match):
        votes_on(teachers(Wrong(), aggregator=aggregator))


class Dropping(Teachers):
    """Drops the votes for all targets but the first."""

    def vote(self, private, X_query, **given):
        counts = super().vote(private, X_query, **given)
        counts[:, 2:] = 0
        return counts


def test_missing_votes_for_a_target_are_refused():
    clf = teachers(n_teachers=None, student=GaussianNB())
    clf.set_params(method=Dropping([GaussianNB()], n_teachers=20), base_estimator=None)
    with pytest.raises(TeacherError, match="must return 300 rows of 7 counts that sum to"):
        votes_on(clf)


# --- fits ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [*MODELS, "default"])
def test_classifier_of_teachers_learns_several_targets(name):
    base = None if name == "default" else MODELS[name]
    clf = teachers(base, epsilon=20.0, student=None)
    if name == "default":
        clf.set_params(base_estimator=None)
    clf.fit(X[PRIVATE], LABELS[PRIVATE], X[PUBLIC])
    predicted = clf.predict(X[TEST])
    assert predicted.shape == (300, 3) and predicted.dtype == np.int64
    assert ((predicted == LABELS[TEST]).mean(axis=0) > 0.6).all()
    assert clf.privacy_spent_.epsilon <= 20.0 and clf.n_teachers_ == 20
    assert clf.score(X[TEST], LABELS[TEST]) == (predicted == LABELS[TEST]).all(axis=1).mean()
    proba = clf.predict_proba(X[TEST])
    assert [each.shape for each in proba] == [(300, 2), (300, 2), (300, 3)]
    for each in proba:
        np.testing.assert_allclose(each.sum(axis=1), 1)
    assert clf.public_labels_.shape == (300, 3) and clf.public_soft_labels_ is None
    n_rows = len(clf.query_indices_)
    assert ((clf.public_labels_ >= 0).sum(axis=0) == n_rows).all()
    assert clf.privacy_spent_.n_queries == clf.privacy_spent_.n_answered == 3 * n_rows
    assert isinstance(clf.aggregator_, GNMax) and not hasattr(clf, "table_")
    copied = pickle.loads(pickle.dumps(clf))
    np.testing.assert_array_equal(copied.predict(X[TEST]), predicted)
    assert not hasattr(copied, "curator_")
    model = clf.export(X[PUBLIC])
    np.testing.assert_array_equal(model.predict(X[TEST]), predicted)
    assert model.privacy_spent_["n_queries"] == 3 * n_rows


@pytest.mark.parametrize("base", [None, Ridge(), MultiOutputRegressor(Ridge())], ids=repr)
def test_regressor_of_teachers_learns_several_targets(base):
    reg = PATERegressor(base, method="teachers", bounds=BOUNDS, epsilon=8.0, random_state=0)
    reg.set_params(n_teachers=40).fit(X[PRIVATE], NUMBERS[PRIVATE], X[PUBLIC])
    predicted = reg.predict(X[TEST])
    assert (r2_score(NUMBERS[TEST], predicted, multioutput="raw_values") > 0.6).all()
    assert isinstance(reg.aggregator_, SoftVote) and reg.public_labels_.shape == (300, 2)
    assert [soft.shape for soft in reg.public_soft_labels_] == [(300, 2)] * 2
    queried = np.isin(np.arange(300), reg.query_indices_)
    assert (np.isnan(reg.public_labels_) == ~queried[:, None]).all()
    if not isinstance(base, MultiOutputRegressor):
        reg.fit_student(X[PUBLIC], Ridge())
        np.testing.assert_allclose(reg.export(X[PUBLIC]).predict(X[TEST]), reg.predict(X[TEST]))


def test_text_and_numbers_of_teachers_are_predicted_as_objects():
    frame = pd.DataFrame({"a": np.where(LABELS[:, 0], "yes", "no"), "b": LABELS[:, 2]})
    clf = teachers(classes=[["yes", "no"], [0, 1, 2]])
    clf.fit(X[PRIVATE], frame[PRIVATE], X[PUBLIC])
    assert set(clf.predict(X[TEST])[:, 0]) == {"yes", "no"}
    assert clf.score(X[TEST], frame[TEST]) > 0.5


def test_soft_votes_of_several_targets_train_students_of_soft_labels():
    student = SoftLabelClassifier(LogisticRegression())
    clf = teachers(aggregator=SoftVote(None), student=student, epsilon=20.0)
    clf.fit(X[PRIVATE], LABELS[PRIVATE], X[PUBLIC])
    assert [soft.shape[1] for soft in clf.public_soft_labels_] == [2, 2, 3]
    assert isinstance(clf.student_, MultiOutputClassifier)
    assert ((clf.predict(X[TEST]) == LABELS[TEST]).mean(axis=0) > 0.6).all()
    clf.fit_student(X[PUBLIC], LogisticRegression())
    assert clf.score(X[TEST], LABELS[TEST]) > 0.3


def test_another_student_learns_the_released_labels():
    clf = teachers(epsilon=20.0).fit(X[PRIVATE], LABELS[PRIVATE], X[PUBLIC])
    spent, labels = clf.privacy_spent_, clf.public_labels_.copy()
    clf.fit_student(X[PUBLIC], KNeighborsClassifier(5))
    assert len(clf.student_.classes_) == 3 and clf.privacy_spent_ == spent
    np.testing.assert_array_equal(clf.public_labels_, labels)
    queried = np.sort(clf.query_indices_)
    expected = KNeighborsClassifier(5).fit(X[PUBLIC][queried], labels[queried])
    np.testing.assert_array_equal(clf.predict(X[TEST]), expected.predict(X[TEST]))
    with pytest.raises(ValueError, match="has 10 rows, but labels were released for the 300"):
        clf.fit_student(X[:10])


@pytest.mark.parametrize("base", [LogisticRegression(), TREE], ids=["each", "together"])
def test_class_weights_apply_to_the_labels_of_each_target(base):
    y = np.column_stack([X[:, 0] > 1.0, X[:, 1] > 1.0]).astype(int)
    given = {"classes": [[0, 1], [0, 1]], "class_weight": ["balanced", {1: 0.1}]}
    clf = teachers(base, **given, student=LogisticRegression(), epsilon=50.0)
    clf.fit(X[PRIVATE], y[PRIVATE], X[PUBLIC])
    plain = clone(clf).set_params(class_weight=None).fit(X[PRIVATE], y[PRIVATE], X[PUBLIC])
    np.testing.assert_array_equal(clf.public_labels_, plain.public_labels_)
    more, fewer = clf.predict(X[TEST]).mean(axis=0) - plain.predict(X[TEST]).mean(axis=0)
    assert more > 0 > fewer
    clf.fit_student(X[PUBLIC], TREE)  # fitted for each target, because weights differ
    assert isinstance(clf.student_, MultiOutputClassifier)
    chain = ClassifierChain(LogisticRegression())
    with pytest.raises(ValueError, match="class_weight weights the labels of each target"):
        clf.set_params(student=chain).fit(X[PRIVATE], y[PRIVATE], X[PUBLIC])


@pytest.mark.slow
def test_polled_votes_of_teachers_are_released_alike():
    clf = teachers()
    votes = votes_on(clf)
    assert votes.counts.shape == (300, 7) and votes.n_teachers == 20
    fitted = clone(clf).fit(X[PRIVATE], LABELS[PRIVATE], X[PUBLIC])
    later = clone(clf).fit_votes(votes, X[PUBLIC])
    np.testing.assert_array_equal(later.public_labels_, fitted.public_labels_)
    assert tuple(later.privacy_spent_) == tuple(fitted.privacy_spent_)
    soft = teachers(aggregator=SoftVote(None))
    with pytest.raises(ValueError, match="does not fit these votes"):
        soft.fit_votes(votes, X[PUBLIC])
    later = soft.fit_votes(votes_on(soft), X[PUBLIC])
    assert [each.shape[1] for each in later.public_soft_labels_] == [2, 2, 3]


def test_teachers_of_targets_that_are_found():
    clf = teachers(classes=None, epsilon=20.0)
    clf.fit(X[PRIVATE], LABELS[PRIVATE], X[PUBLIC])
    assert [values.tolist() for values in clf.classes_] == CLASSES
    assert 18 < clf.privacy_spent_.epsilon <= 20.0
    reg = PATERegressor(Ridge(), n_teachers=20, epsilon=20.0, random_state=0)
    reg.fit(X[PRIVATE], NUMBERS[PRIVATE], X[PUBLIC])
    assert reg.privacy_spent_.epsilon <= 20.0 and len(reg.levels_) == 2


@pytest.mark.parametrize("base", [LogisticRegression(), TREE], ids=["each", "together"])
def test_teachers_of_several_targets_vote_on_synthetic_rows(base):
    clf = teachers(base, epsilon=20.0).fit(X[PRIVATE], LABELS[PRIVATE])
    assert clf.predict(X[TEST]).shape == (300, 3)
    assert clf.public_labels_.shape == (len(clf.X_synthetic_), 3)
    assert clf.privacy_spent_.epsilon <= 20.0


def test_plan_of_teachers_states_the_queries_of_each_target():
    plan = teachers(n_queries=20).plan(X[PRIVATE], LABELS[PRIVATE], X[PUBLIC])
    assert "3, each with up to 3 classes; each queried row has a query for each" in " ".join(
        str(plan).split()
    )
    assert plan.n_queries == 20 and plan.spent.n_queries == 60
    assert "20 for each target, on average 6.67 for each of 3 classes (60 queries" in " ".join(
        str(plan).split()
    )
    other = np.roll(LABELS[PRIVATE], 5, axis=0)
    other[:, 0] = 0
    assert str(plan) == str(teachers(n_queries=20).plan(X[PRIVATE], other, X[PUBLIC]))


def test_failed_student_has_the_labels_and_the_cost_of_all_targets():
    class Failing(GaussianNB):
        def fit(self, X, y):
            raise RuntimeError("no")

    clf = teachers(n_queries=20).fit(X[PRIVATE], LABELS[PRIVATE], X[PUBLIC])
    with pytest.raises(StudentError) as caught:
        clf.fit_student(X[PUBLIC], Failing())
    assert caught.value.public_labels.shape == (300, 3)
    assert caught.value.privacy_spent == clf.privacy_spent_


@pytest.mark.slow
def test_search_on_public_rows_fits_teachers_of_several_targets():
    search = PrivateGridSearchCV(
        teachers(random_state=None), {"class_weight": [None, "balanced"]}, n_trials=2, epsilon=20.0
    )
    with pytest.raises(ValueError, match="several targets require public validation data"):
        search.fit(X[PRIVATE], LABELS[PRIVATE], X[PUBLIC])
    search.fit(X[PRIVATE], LABELS[PRIVATE], X[PUBLIC], X_val=X[TEST], y_val=LABELS[TEST])
    assert search.best_estimator_.predict(X[:5]).shape == (5, 3)
    assert search.privacy_spent_.epsilon <= 20.0


class OwnNoise(Aggregator):
    """Votes at random, whatever the counts."""

    def outcome_log_proba(self, votes, student_proba=None):
        votes = np.asarray(votes)
        return np.full(votes.shape, -np.log(votes.shape[1]))


def test_own_mechanism_is_tried_for_each_number_of_classes():
    clf = teachers(aggregator=OwnNoise(), epsilon=None, n_queries=10, on_bad_plan="warn")
    clf.fit(X[PRIVATE], LABELS[PRIVATE], X[PUBLIC])
    assert clf.public_labels_[:, 2].max() == 2 and clf.public_labels_[:, :2].max() == 1


# --- sites ---------------------------------------------------------------------------------------

PLACES = np.random.default_rng(1).integers(0, 12, 1800)
NAMES = [f"site {k:02}" for k in range(12)]


def at_sites(y):
    def load(name):
        here = PLACES == NAMES.index(name)
        return X[PRIVATE][here], y[PRIVATE][here]

    return Sites(load, NAMES)


@pytest.mark.slow
@sampled()
@pytest.mark.parametrize("has_public_rows", [True, False], ids=["public", "synthetic"])
@pytest.mark.parametrize("method", ["neighbors", "sums"])
def test_records_of_twelve_sites_count_for_several_targets_as_pooled_records(
    method, has_public_rows
):
    if method == "neighbors" and not has_public_rows:
        method = "auto"
    X_public = X[PUBLIC] if has_public_rows else None
    given = {"method": method, "epsilon": 8.0, "random_state": 0}
    for estimator, y in (
        (PATEClassifier(classes=CLASSES, **given), LABELS),
        (PATERegressor(bounds=BOUNDS, **given), NUMBERS),
    ):
        found = clone(estimator).fit(at_sites(y), None, X_public)
        expected = clone(estimator).fit(X[PRIVATE], y[PRIVATE], X_public)
        np.testing.assert_array_equal(found.public_labels_, expected.public_labels_)
        np.testing.assert_array_equal(found.predict(X[TEST]), expected.predict(X[TEST]))
        assert found.privacy_spent_ == expected.privacy_spent_
        if has_public_rows:
            votes = [
                clone(estimator).poll(at_sites(y), None, X_public),
                clone(estimator).poll(X[PRIVATE], y[PRIVATE], X_public),
            ]
            np.testing.assert_array_equal(*(each.counts for each in votes))


@pytest.mark.parametrize("name", ["each", "together"])
def test_sites_that_are_teachers_vote_for_several_targets(name):
    clf = teachers(MODELS[name], n_teachers=None, epsilon=50.0, on_bad_plan="warn")
    votes = clone(clf).poll(at_sites(LABELS), None, X[PUBLIC])
    pooled = clone(clf).set_params(partition=PredefinedPartition(NAMES))
    groups = np.array(NAMES)[PLACES]
    expected = pooled.poll(X[PRIVATE], LABELS[PRIVATE], X[PUBLIC], groups=groups)
    np.testing.assert_array_equal(votes.counts, expected.counts)
    frame = pd.DataFrame(LABELS, columns=list("abc"))

    def load(name):
        here = np.flatnonzero(PLACES == NAMES.index(name))
        return X[here], frame.iloc[here]

    of_frame = clone(clf).poll(Sites(load, NAMES), None, X[PUBLIC])
    np.testing.assert_array_equal(of_frame.counts, votes.counts)


@pytest.mark.parametrize(
    "y, match",
    [
        (LABELS[:, :2], "columns, one for each target"),
        (LABELS[:, 0], "columns, one for each target"),
        (LABELS + 1, "labels that are not in classes"),
    ],
)
@pytest.mark.parametrize("base", [None, LogisticRegression()], ids=["records", "teachers"])
def test_wrong_labels_of_several_targets_at_sites_are_refused(base, y, match):
    clf = PATEClassifier(base, classes=CLASSES, epsilon=50.0, on_bad_plan="warn")
    with pytest.raises(TeacherError, match=match) as caught:
        clf.fit(at_sites(y), None, X[PUBLIC])
    assert not hasattr(caught.value, "privacy_spent")


def test_several_targets_of_sites_must_be_declared():
    with pytest.raises(TeacherError, match="y must have one value for each row"):
        PATEClassifier().fit(at_sites(LABELS), None, X[PUBLIC])
    far = NUMBERS + [0, 100]
    with pytest.raises(ValueError, match="all of column 1 of y lies outside of bounds"):
        PATERegressor(bounds=BOUNDS).fit(at_sites(far), None, X[PUBLIC])


# --- refusals before anything is trained ---------------------------------------------------------

STAGES = [GNMax(10.0), InteractiveGNMax(0.5, 10.0, 10.0, 0.9)]


@pytest.mark.parametrize(
    "params, match",
    [
        ({"accounting": "ptr", "n_queries": 5, "aggregator": GNMax(5.0)}, "accounting='ptr' is"),
        ({"aggregator": STAGES, "n_queries": [5, 5]}, "a list of 2 aggregators is for one target"),
        ({"aggregator": StableArgmax(run_epsilon=1.0)}, "StableArgmax, which charges all queries"),
        ({"query_strategy": "uncertainty"}, "selects queries in rounds, by the labels of one"),
    ],
)
def test_parts_of_teachers_for_one_target_are_refused_early(params, match):
    clf = teachers(**params)
    for call in (clf.fit, clf.plan, clf.poll):
        with pytest.raises(ValueError, match=match) as caught:
            call(X[PRIVATE], LABELS[PRIVATE], X[PUBLIC])
        assert not hasattr(caught.value, "privacy_spent") and not hasattr(clf, "public_labels_")
    votes = votes_on(teachers(n_teachers=5))
    with pytest.raises(ValueError, match=match):
        clf.fit_votes(votes, X[PUBLIC])
    assert not get_tags(clf).target_tags.multi_output
    aggregator = params.get("aggregator", GNMax(5.0))
    if params.get("query_strategy") is None:
        given = {"n_public": 99, "epsilon": 9.0, "delta": 1e-5, **SEVERAL}
        accounting = params.get("accounting", "data_independent")
        with pytest.raises(ValueError, match="is for one target"):
            plan_queries(aggregator, params.get("n_queries"), accounting=accounting, **given)
