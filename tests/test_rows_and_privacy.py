"""Rows that a synthesizer draws: the protected unit, dry runs, and the cost of failures."""

import os
import pickle
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
from conftest import cases, note_calls, table
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from sklearn_pate import PATEClassifier
from sklearn_pate.aggregators import GNMax, LaplaceMechanism, SoftVote, TableMechanism
from sklearn_pate.exceptions import BudgetExceededError, TeacherError
from sklearn_pate.ledger import PrivacyLedger
from sklearn_pate.methods import ReverseNeighbors, VotingMethod
from sklearn_pate.model_selection import PrivateGridSearchCV
from sklearn_pate.rdp import DEFAULT_ORDERS, NeighboringRelation, Neighbors
from sklearn_pate.rdp.discrete import laplace_table_cost
from sklearn_pate.releases.table import TableRelease
from sklearn_pate.secure import SystemGenerator
from sklearn_pate.synthesis import MarginalSynthesizer, synthesizers

pytestmark = pytest.mark.usefixtures("few_units_are_scored")

RNG = np.random.default_rng(0)
X = RNG.uniform(size=(600, 2))
Y = (X[:, 0] > 0.5).astype(int)
FRAME = pd.DataFrame(X, columns=["a", "b"])


def marginals(**params):
    return MarginalSynthesizer(**({"bounds": (0, 1), "missing": [], "n_rows": 100} | params))


def records(synthesizer=None, **params):
    params = {"epsilon": 4.0, "classes": [0, 1]} | params
    return PATEClassifier(
        method=ReverseNeighbors(), synthesizer=synthesizer or marginals(), **params
    )


def teachers(model=None, synthesizer=None, **params):
    params = {"epsilon": 8.0, "classes": [0, 1], "n_teachers": 40, "n_queries": 10} | params
    model = model or GaussianNB()
    return PATEClassifier(model, synthesizer=synthesizer or marginals(), **params)


# --- whose records count together ----------------------------------------------------------------

HOUSEHOLDS = np.arange(600) // 10
OF_NAMES = (NeighboringRelation.CHANGE_ONE_NAMED, NeighboringRelation.CHANGE_ONE_NAMED_NONEMPTY)
OF_RECORDS = [relation for relation in NeighboringRelation if relation not in OF_NAMES]


class Stated:
    """A partition that states any relation."""

    def __init__(self, relation):
        self.relation = relation

    def assign(self, *, n_records, n_teachers, index=None, groups=None, seed=None):
        return HOUSEHOLDS % n_teachers


class Agreed(VotingMethod):
    """A method whose votes agree, and that states anything."""

    n_teachers_ = 20

    def __init__(self, relation, unit):
        self.relation, self.unit = relation, unit

    def default_student(self):
        return GaussianNB()

    def prepare(self, private, X_public, *, seed=None, memory=None):
        return Neighbors(relation=self.relation, unit=self.unit)

    def vote(self, private, X_query, *, temperature=None, seed=None, on_done=None):
        half = np.arange(len(X_query))[:, None] % 2
        return np.hstack([20 * half, 20 - 20 * half])


def agreed(relation, unit):
    own_method = {"base_estimator": None, "n_teachers": None, "method": Agreed(str(relation), unit)}
    return teachers().set_params(**own_method)


def raises(message):
    return pytest.raises(ValueError, match=message)


def units_counted(monkeypatch, clf, X, **given):
    def n_groups(self, X, codes, *, groups=None, **more):
        return None if groups is None else len(np.unique(groups))

    with monkeypatch.context() as patch:
        seen = note_calls(patch, MarginalSynthesizer, "gather", n_groups)
        clf.fit(X, Y, **given)
    return seen[0]


def of_groups(relation):
    """Models that protect groups: by the unit, or by a relation of named groups."""
    if relation in OF_NAMES:
        yield teachers(partition=Stated(str(relation)))
        yield agreed(relation, "record")
    yield teachers(partition=Stated(str(relation)), unit="group")
    yield agreed(relation, "group")


@pytest.mark.parametrize("relation", NeighboringRelation)
def test_synthesizer_requires_groups_for_relations_of_groups(monkeypatch, ledger, relation):
    for clf in of_groups(relation):
        clf.set_params(ledger=ledger)
        for method in (clf.fit, clf.poll, clf.plan):
            with raises(f"records .{relation}., but groups is None|whole groups and requires the"):
                method(X, Y)
        assert ledger.epsilon_spent == 0
        clf.set_params(ledger=None)
        assert units_counted(monkeypatch, clf, X, groups=HOUSEHOLDS) == 60
    spent = clf.privacy_spent_
    assert (spent.unit, spent.relation) == ("group", relation)
    assert "group" in spent.change and "row of the table" not in spent.summary()


def test_synthesizer_refuses_votes_that_protect_teachers():
    for relation in NeighboringRelation:
        with raises("these votes protect one teacher"):
            agreed(relation, "teacher").fit(X, Y, groups=HOUSEHOLDS)
    partition = Stated("change the votes of one")
    with raises("'change the votes of one' is not an rdp.NeighboringRelation"):
        teachers(partition=partition).fit(X, Y, groups=HOUSEHOLDS)


@pytest.mark.slow
def test_synthesizer_counts_identifiers_as_units_for_one_relation_only(monkeypatch):
    by_index = FRAME.set_axis(HOUSEHOLDS)
    for relation in OF_RECORDS:
        clf = teachers(partition=Stated(str(relation)))
        is_named = relation == NeighboringRelation.ADD_REMOVE_OR_CHANGE_ONE
        assert units_counted(monkeypatch, clf, by_index) == (60 if is_named else None)


@cases(
    "clf, groups, message",
    (teachers(partition=Stated("add_remove_or_change_one")), None, "the index of X"),
    (agreed("replace_one", "group"), [None, *range(599)], "a missing value"),
    (agreed("replace_one", "group"), [1, 2], "per record, shape .600,.; got shape .2,"),
)
def test_identifiers_are_checked_before_rows_are_paid_for(ledger, clf, groups, message):
    odd = FRAME.set_axis([0.5, *range(599)])
    with pytest.raises(ValueError, match=message):
        clf.set_params(ledger=ledger).fit(odd, Y, groups=groups)
    assert ledger.epsilon_spent == 0


# --- noise of one's own --------------------------------------------------------------------------


class Own(TableMechanism):
    """Laplace noise with a cost of its own, which misbehaves on private tables."""

    is_pure = True
    seen = 0.0

    def __init__(self, scale=None, twist=None):
        self.scale, self.twist = scale, twist

    def __sklearn_clone__(self):
        return self if self.twist == "stays" else type(self)(self.scale, self.twist)

    @property
    def noise_std(self):
        return 3.0 + self.seen

    def with_scale(self, scale):
        return type(self)(scale, self.twist) if self.scale is None else None

    def cost(self, contribution, orders=DEFAULT_ORDERS):
        return laplace_table_cost(self.scale, contribution, orders)

    def noisy(self, table, random_state=None):
        if self.twist == "misshapen":
            return np.zeros((2, 2))
        noisy = LaplaceMechanism(self.scale).noisy(table, random_state)
        if self.twist is None or len(table) == 3:  # made up
            return noisy
        self.seen = float(np.max(table))
        print(self.seen)
        if self.twist == "raises":
            raise RuntimeError(f"the largest count is {self.seen}")
        return {"short": noisy[:2], "nan": noisy * np.nan}.get(self.twist, noisy)


def test_custom_noise_is_refused_before_it_is_paid_for(ledger):
    clf = records(marginals(noise=Own(twist="misshapen")), ledger=ledger)
    for method in (clf.plan, clf.fit, clf.poll):
        pytest.raises(ValueError, method, X, Y).match("failed in a dry run on a made-up table")
    assert ledger.epsilon_spent == 0


@pytest.mark.parametrize("twist", ["raises", "nan", "short"])
def test_custom_noise_errors_are_redacted_and_paid_for(ledger, capfd, twist):
    clf = records(marginals(noise=Own(twist=twist)), ledger=ledger)
    with pytest.raises(ValueError, match="publish of .* failed: [A-Za-z]+, whose text") as caught:
        clf.fit(X, Y)
    assert caught.value.__context__ is None and capfd.readouterr() == ("", "")
    assert "largest" not in str(caught.value)
    assert ledger.epsilon_spent == pytest.approx(1.6)  # it may have been drawn


# Its noise is larger than it states, which noisy counts may take for lost records
@pytest.mark.filterwarnings("ignore:(many|nearly all) records:UserWarning")
def test_custom_noise_std_is_read_before_counts(monkeypatch):
    sizes = note_calls(monkeypatch, synthesizers, "denoised", lambda *given: given[3])
    records(marginals(noise=Own(scale=10.0, twist="stays"))).poll(X, Y)
    assert sizes.pop() == 3.0
    noise = Own(scale=10.0, twist="sees")
    plan = records(marginals(noise=noise)).plan(X, Y)
    votes = records(marginals(noise=noise)).poll(X, Y)
    assert sizes == [3.0]
    assert plan.synthesizer.noise.seen == noise.seen == votes.synthesis.synthesizer.noise.seen == 0


# --- delta ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("of_rows", ["discrete", "continuous"])
@pytest.mark.parametrize("of_labels", ["discrete", "continuous"])
def test_delta_is_zero_only_without_rounding(of_rows, of_labels):
    clf = records(marginals(noise=LaplaceMechanism(noise=of_rows)))
    plan = clf.set_params(aggregator=LaplaceMechanism(noise=of_labels)).plan(X, Y)
    are_exact = of_rows == of_labels == "discrete"
    assert plan.spent.delta == (0 if are_exact else 1e-5)
    assert plan.spent.arithmetic == ("exact" if are_exact else "real")
    assert 3.99 < plan.epsilon <= 4.0


# --- where a search draws from -------------------------------------------------------------------


def sources_of_a_search(monkeypatch, **params):
    """Return the entropies of all seeds that a private search draws from, and its generators."""
    sources, of_noise = [], []
    new = np.random.default_rng

    def recorded(seed=None):
        if isinstance(seed, np.random.SeedSequence):
            sources.append((seed.entropy, seed.spawn_key))
        if isinstance(seed, SystemGenerator):
            of_noise.append(seed)
        return new(seed)

    with monkeypatch.context() as patch:
        patch.setattr(np.random, "default_rng", recorded)
        search_of(records(), **params).fit(X, Y)
    return set(sources), {id(generator) for generator in of_noise}


def search_of(clf, grid=None, **params):
    grid = grid or {"method__n_cells": [8]}
    return PrivateGridSearchCV(clf, grid, **({"epsilon": 8.0, "n_trials": 2} | params))


@pytest.mark.slow
def test_search_shares_no_source_of_randomness_with_published_rows(monkeypatch):
    of_system, of_noise = sources_of_a_search(monkeypatch)
    assert len({entropy for entropy, _ in of_system}) == len(of_system) >= 4
    assert len(of_noise) >= 2  # of the rows and of a table: without a seed, they reveal nothing
    of_seed, of_noise = sources_of_a_search(monkeypatch, random_state=3)
    assert {entropy for entropy, key in of_seed if len(key) > 1} == {3}
    assert not of_noise and len(of_seed) > 5


# --- tried before it is paid for -----------------------------------------------------------------

TEXT = FRAME.assign(job=pd.Categorical(RNG.choice(["clerk", "nurse"], 600)))
BOUNDS = {"a": (0, 1), "b": (0, 1)}
GAPS = marginals(missing=["b"])


def encoded(**params):
    encoder = make_column_transformer((OneHotEncoder(**params), ["job"]), remainder="passthrough")
    return make_pipeline(encoder, LogisticRegression())


RARE = TEXT.assign(job=TEXT["job"].cat.add_categories([f"job {k}" for k in range(40)]))


@cases(
    "clf, X",
    (teachers(LogisticRegression(), marginals(bounds=BOUNDS)), TEXT),
    (teachers(encoded(), marginals(bounds=BOUNDS)), RARE),
    (teachers([GaussianNB(), LogisticRegression(C=-1)]), FRAME),
    (teachers(LogisticRegression(), GAPS, aggregator=SoftVote(8.0), n_queries=5), FRAME),
)
def test_teachers_are_tried_before_rows_are_paid_for(ledger, clf, X):
    clf.set_params(ledger=ledger)
    for method in (clf.plan, clf.fit, clf.poll, search_of(clf, {"n_teachers": [30, 40]}).fit):
        pytest.raises(ValueError, method, X, Y).match("base_estimator failed when tried on made-up")
    assert ledger.epsilon_spent == 0


@pytest.mark.slow
def test_teachers_are_accepted_if_they_handle_all_categories():
    # So many labels are of both classes: ten are of one in two fits of a hundred
    clf = teachers(encoded(handle_unknown="ignore"), marginals(bounds=BOUNDS), n_queries=40)
    assert clf.fit(RARE, Y).X_synthetic_.dtypes.equals(RARE.dtypes)
    few = teachers(LogisticRegression(), n_teachers=500)  # most of their parts are of one class
    assert few.plan(X, Y).n_queries == 10


@pytest.mark.slow
def test_students_are_tried_on_missing_values_before_rows_are_paid_for(ledger):
    takers = make_pipeline(SimpleImputer(), GaussianNB())
    clf = teachers(takers, GAPS, student=GaussianNB(), n_queries=2, ledger=ledger)
    for method in (clf.plan, clf.fit, clf.poll, search_of(clf, {"n_teachers": [30, 40]}).fit):
        with raises("may draw missing values, and student, a GaussianNB"):
            method(FRAME, Y)
    assert ledger.epsilon_spent == 0
    clf.set_params(student=takers, epsilon=20.0).fit(FRAME, Y)
    assert ledger.epsilon_spent > 0


@pytest.mark.parametrize("params", [{"timeout": 5.0}, {"timeout": 5.0, "n_jobs": 1}, {"n_jobs": 0}])
def test_n_jobs_is_checked_before_rows_are_paid_for(ledger, params):
    pytest.raises(ValueError, teachers(ledger=ledger, **params).fit, X, Y).match("n_jobs")
    assert ledger.epsilon_spent == 0


def test_sample_weight_is_checked_before_rows_are_paid_for(ledger):
    with pytest.raises(ValueError, match="fit of base_estimator does not accept it"):
        teachers(KNeighborsClassifier(), ledger=ledger).fit(X, Y, sample_weight=np.ones(600))
    assert ledger.epsilon_spent == 0


@cases("params", {"aggregator": GNMax(1.0), "n_queries": 100}, {"n_queries": 1000})
def test_poll_that_no_labels_can_follow_is_refused(ledger, params):
    pytest.raises(ValueError, teachers(ledger=ledger, epsilon=1.0, **params).poll, X, Y)
    assert ledger.epsilon_spent == 0


# --- cost of failures ----------------------------------------------------------------------------


class Fragile(GaussianNB):
    """Fits made-up rows, and fails on private rows if the environment sets it."""

    def fit(self, X, y, sample_weight=None):
        if "FRAGILE" in os.environ and np.isin(FIRST, X).all():
            raise {"fails": ValueError, "stops": KeyboardInterrupt}[os.environ["FRAGILE"]]
        return super().fit(X, y)


FIRST = X[7]


@pytest.mark.slow
@pytest.mark.parametrize(("how", "error"), [("fails", TeacherError), ("stops", KeyboardInterrupt)])
def test_failure_after_sampling_costs_the_rows_only(monkeypatch, ledger, how, error):
    clf = teachers(Fragile(), n_jobs=1, ledger=ledger).fit(X, Y)
    whole = ledger.history()["epsilon"]
    assert whole.tolist() == pytest.approx([8.0], rel=1e-3)
    monkeypatch.setenv("FRAGILE", how)
    for method in (clf.fit, clf.poll):
        with pytest.raises(error) as caught:
            method(X, Y)
        assert "published as X_synthetic_" in "".join(caught.value.__notes__)
    of_rows = ledger.history()["epsilon"].tolist()[1:]
    assert len(of_rows) == 2 and of_rows[0] == of_rows[1] < 8.0
    # What an earlier fit left does not go with the new rows
    assert clf.X_synthetic_.shape == (100, 2) and not hasattr(clf, "public_labels_")
    monkeypatch.delenv("FRAGILE")
    rows = clf.X_synthetic_
    clf.set_params(synthesizer=None)
    clf.set_params(epsilon=6.0).fit(X, Y, X_public=rows)  # a fit of its own, with public rows
    spent = clf.privacy_spent_
    assert (spent.n_synthetic, spent.not_covered) == (0, ()) and 5.9 < spent.epsilon <= 6.0
    assert clf.public_labels_.shape == (100,)
    assert ledger.history()["epsilon"].tolist()[3:] == [spent.epsilon]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # of old pandas
def test_fit_samples_rows_despite_an_odd_record(ledger):
    job = pd.Series(["nurse"] * (len(Y) - 1) + [Decimal("sNaN")], dtype=object)
    synthesizer = marginals(bounds={"a": (0, 1)}, categories={"job": ["nurse", "clerk"]})
    clf = records(synthesizer, ledger=ledger).fit(pd.DataFrame({"a": X[:, 0], "job": job}), Y)
    assert set(clf.X_synthetic_["job"]) <= {"nurse", "clerk"}


@pytest.mark.parametrize("error", [TypeError, BudgetExceededError, RuntimeError])
def test_errors_of_any_type_state_what_was_spent(monkeypatch, error):
    def fail(*args, **kwargs):
        raise error("this cannot be")

    clf = records()
    monkeypatch.setattr(TableRelease, "gather", fail)
    for model in (clf, search_of(clf)):
        with pytest.raises(error, match="is spent. The synthetic rows are published") as caught:
            model.fit(X, Y)
        assert len(caught.value.__notes__) == 1  # none states that nothing was spent
        assert model.X_synthetic_.shape == (100, 2)
    with pytest.raises(error, match="Privacy: nothing was spent"):
        clf.set_params(synthesizer=None).fit(X, Y, X_public=X[:50].copy())


# --- ledgers -------------------------------------------------------------------------------------


@pytest.mark.slow
def test_ledger_counts_rows_of_poll_once(tmp_path):
    pure = {"epsilon": 20.0, "composition": "pure"}
    first, second = (PrivacyLedger(tmp_path / name, **pure) for name in "ab")
    without = records()
    votes = without.poll(X, Y)
    spent = []
    for _ in range(2):
        clf = clone(without).set_params(ledger=first).fit_votes(votes)
        assert clf.X_synthetic_ is votes.synthesis.rows
        spent.append(clf.privacy_spent_.epsilon)
    assert spent == pytest.approx([4.0, 4.0])  # each reports both
    assert first.history()["epsilon"].tolist() == pytest.approx([4.0, 2.4])
    votes = clone(without).set_params(ledger=first).poll(X, Y)
    copied = pickle.loads(pickle.dumps(first))
    clone(without).set_params(ledger=copied).fit_votes(votes)
    clone(without).set_params(ledger=second).fit_votes(votes)
    assert first.history()["epsilon"].tolist() == pytest.approx([4.0, 2.4, 1.6, 2.4])
    assert second.history()["epsilon"].tolist() == pytest.approx([4.0])
    with pytest.raises(ValueError, match="two ways to have public rows"):
        without.fit_votes(votes, X[:100].copy())


class Counter:
    """A ledger of a user's own, with the cost of each entry and all that was recorded."""

    __hash__ = None

    def __init__(self):
        self.costs, self.recorded = {}, []

    def check(self, spent, cost, entry=None):
        pass

    def record(self, spent, cost, entry=None):
        entry = len(self.costs) if entry is None else entry
        self.costs[entry] = cost.pure
        self.recorded.append(cost.pure)
        return entry


def test_custom_ledger_gets_one_entry_that_grows():
    ledger = Counter()
    records(ledger=ledger).fit(X, Y)
    assert ledger.recorded == pytest.approx([1.6, 4.0])
    assert ledger.costs == pytest.approx({0: 4.0})


class WithoutEntries(Counter):
    def check(self, spent, cost):
        pass


def test_custom_ledger_without_entries_is_refused_before_spending():
    ledger = WithoutEntries()
    with pytest.raises(
        TypeError, match=r"ledger must have check\(spent, cost, entry=None\)"
    ) as caught:
        records(ledger=ledger).fit(X, Y)
    assert not ledger.recorded and "nothing was spent" in caught.value.__notes__[0]


# --- rows of one's own ---------------------------------------------------------------------------


class Twisted(MarginalSynthesizer):
    """A synthesizer of a user's, whose rows are something else."""

    twist = None

    def gather(self, X, codes, **more):
        gathered = super().gather(X, codes, **more)
        self.first = X.iloc[0].tolist()
        X.iloc[:, :] = 0.0
        codes[:] = 0
        return gathered

    def draw(self, published, rng):
        rows = super().draw(published, rng)
        if self.twist is not None:
            return self.twist(rows)
        rows.attrs = {"first": self.first}
        return rows.set_axis([f"{self.first[0]} {k}" for k in range(len(rows))])


def test_custom_rows_have_a_plain_index_and_change_no_record():
    X = FRAME.copy()
    sampled = records(Twisted((0, 1), missing=[], n_rows=100)).fit(X, Y).X_synthetic_
    assert sampled.index.equals(pd.RangeIndex(100)) and sampled.attrs == {}
    pd.testing.assert_frame_equal(X, FRAME)


@table(
    "twist",
    ("few", lambda rows: rows[:3]),
    ("names", lambda rows: rows.rename(columns={"a": "c"})),
    ("dtype", lambda rows: rows.astype("float32")),
    ("array", lambda rows: rows.to_numpy()),
)
def test_custom_rows_of_another_form_are_refused(ledger, twist):
    synthesizer = type("OfOnesOwn", (Twisted,), {"twist": staticmethod(twist)})
    clf = records(synthesizer((0, 1), missing=[], n_rows=100), ledger=ledger)
    with raises("must return n_rows=100 rows with the columns") as caught:
        clf.fit(FRAME, Y)
    assert "epsilon=1.6 is spent" in caught.value.__notes__[0] and len(ledger.history()) == 1


# --- seeds in polled votes -----------------------------------------------------------------------


@pytest.mark.slow
def test_rows_sampled_from_a_seed_are_stated_and_refused_by_a_ledger(ledger):
    votes = records().set_params(random_state=7).poll(X, Y)
    spent = records().fit_votes(votes).privacy_spent_
    assert spent.generator == "seed" and "seed" in spent.summary()
    with pytest.raises(ValueError, match="rows that were drawn with a random_state.*call poll"):
        records().set_params(ledger=ledger).fit_votes(votes)
    assert ledger.epsilon_spent == 0
    assert records(secure=True).fit_votes(votes).privacy_spent_.generator == "seed"
    votes = records().poll(X, Y)
    for secure in (True, False):
        assert records(secure=secure).fit_votes(votes).privacy_spent_.generator == "system"
