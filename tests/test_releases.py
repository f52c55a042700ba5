"""Releases of the user's: planned, paid for, published and audited like all else."""

import pickle
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from conftest import cases, note_calls
from sklearn.base import clone

from sklearn_pate import PATEClassifier
from sklearn_pate.aggregators import ConfidentGNMax, GaussianMechanism, LaplaceMechanism
from sklearn_pate.audit import audit_release
from sklearn_pate.encoding.targets import ClassTarget
from sklearn_pate.exceptions import BudgetExceededError
from sklearn_pate.ledger import PrivacyLedger
from sklearn_pate.model_selection import PrivateGridSearchCV
from sklearn_pate.partition import PredefinedPartition
from sklearn_pate.rdp import (
    DEFAULT_ORDERS,
    Cost,
    Event,
    Neighbors,
    ProvedEvent,
    rdp_to_epsilon,
)
from sklearn_pate.releases import Release
from sklearn_pate.runtime.private_data import PrivateData
from sklearn_pate.secure import SystemGenerator
from sklearn_pate.teachers import Sites

SECRET = "Ada Lovelace"
RNG = np.random.default_rng(0)
X = RNG.normal(size=(300, 2))
Y = (X[:, 0] > 0).astype(int)
X_PUBLIC = RNG.normal(size=(120, 2))
REPLACED = Neighbors(relation="replace_one", unit="record")


class Counts(Release):
    """How many records have a positive first column, and how many have not."""

    mechanism = LaplaceMechanism

    def __init__(self, scale=None, epsilon_fraction=0.25):
        self.scale = scale
        self.epsilon_fraction = epsilon_fraction

    def with_scale(self, scale):
        return clone(self).set_params(scale=scale) if self.scale is None else None

    def event(self, neighbors):
        return Event(self.mechanism(self.scale), neighbors.counts(1))

    def gather(self, private):
        n_above = int((np.asarray(private.X)[:, 0] > 0).sum())
        return np.array([[n_above, len(private.X) - n_above]])

    def publish(self, gathered, rng):
        return self.mechanism(self.scale).noisy(gathered, rng)[0]

    def describe(self):
        return "how many are above 0"


def wrong(scale=9.0, **methods):
    """Counts with methods of their own."""
    return type("Wrong", (Counts,), methods)(scale)


class Gaussian(Counts):
    mechanism = GaussianMechanism


class OfGroups(Counts):
    """Groups with a positive mean, and others."""

    counts_groups = True

    def gather(self, private):
        means = np.bincount(private.groups, private.X[:, 0]) / np.bincount(private.groups)
        return np.array([[(means > 0).sum(), (means <= 0).sum()]])


def model(*releases, **params):
    given = {"epsilon": 1.0, "classes": [0, 1], "random_state": 0} | params
    return PATEClassifier(releases=list(releases), **given)


def fit(clf, **more):
    return clf.fit(X, Y, X_public=X_PUBLIC, **more)


def plan(clf, **more):
    return clf.plan(X, Y, X_public=X_PUBLIC, **more)


# --- costs, and where they are shown -------------------------------------------------------------


def test_release_costs_its_epsilon_fraction_within_the_cap():
    planned = plan(model(Counts()))
    assert planned.extra_releases == (("how many are above 0", pytest.approx(0.25)),)
    assert planned.epsilon == pytest.approx(1.0) and planned.epsilon <= 1
    assert planned.own_cost.pure == pytest.approx(0.75) and planned.spent.delta == 0
    assert planned.spent.arithmetic == "exact"
    clf = fit(model(Counts()))
    assert clf.privacy_spent_.epsilon == planned.epsilon
    assert clf.releases[0].scale is None and not hasattr(clf, "X_synthetic_")


@cases(
    "params",
    {"n_teachers": 10, "n_queries": 20, "epsilon": 4.0},
    {"n_teachers": 10, "aggregator": ConfidentGNMax(5, 4.0, 4.0), "n_queries": 80, "epsilon": 4.0},
    {"aggregator": GaussianMechanism()},
)
def test_release_cost_that_is_not_pure_adds_up_under_the_cap(params):
    planned = plan(model(Gaussian(), **params))
    cap = params.get("epsilon", 1.0)
    alone = Gaussian(planned_scale(planned, params)).event(REPLACED).cost().epsilon(1e-5)[0]
    assert alone == pytest.approx(0.25 * cap, rel=1e-3)
    assert planned.epsilon <= cap and planned.spent.delta == 1e-5
    assert planned.cost.mu_squared > planned.own_cost.mu_squared


@pytest.mark.filterwarnings("ignore:epsilon=4 p")  # the filter stops the queries
def test_curator_of_a_filter_counts_labels_without_releases():
    params = {"n_teachers": 10, "aggregator": ConfidentGNMax(5, 4.0, 4.0), "n_queries": 80}
    clf = model(Gaussian(), **params, epsilon=4.0)
    planned = plan(clf)
    of_labels = fit(clf).curator_.epsilon(bound="data_independent")
    assert (clf.privacy_spent_.composition, clf.privacy_spent_.epsilon) == ("filter", 4.0)
    at_order = np.where(DEFAULT_ORDERS == planned.budget.order, planned.budget.limit, np.inf)
    assert of_labels == pytest.approx(rdp_to_epsilon(at_order, 1e-5, DEFAULT_ORDERS)[0], rel=1e-9)
    assert clf.curator_.epsilon() < of_labels < 3.9  # the release costs the difference to 4


def planned_scale(planned, params):
    """Return the noise that a share of the cap buys, found by hand."""
    low, high = 0.1, 1000.0
    for _ in range(60):
        middle = np.sqrt(low * high)
        is_enough = (
            Gaussian(middle).event(REPLACED).cost().epsilon(1e-5)[0] <= planned.extra_releases[0][1]
        )
        low, high = (low, middle) if is_enough else (middle, high)
    return high


@pytest.mark.slow
def test_release_is_shown_in_statement_html_and_plan():
    clf = fit(model(Counts()))
    spent = clf.privacy_spent_
    assert spent.extra_releases == ("how many are above 0",)
    assert spent.to_dict()["extra_releases"] == ["how many are above 0"]
    assert "how many are above 0, the student" in spent.summary()
    for html in (spent._repr_html_(), plan(clf)._repr_html_()):
        assert "how many are above 0" in html
    assert "releases    how many are above 0; of the epsilon below, 0.25" in str(plan(clf))


def test_release_delta_before_a_filter_is_subtracted():
    class Failing(Gaussian):
        def event(self, neighbors):
            return ProvedEvent(lambda orders: Cost(np.zeros(len(orders)), 0.0, np.inf, 0.9e-5))

    params = {"aggregator": ConfidentGNMax(5, 4.0, 4.0), "n_queries": 100, "n_teachers": 10}
    planned = plan(model(Failing(1.0), epsilon=3.0, **params))
    assert planned.composition == "filter"
    assert planned.cost.epsilon(1e-5)[0] <= planned.epsilon <= 3.0


def test_release_is_recorded_in_a_ledger(tmp_path):
    ledger = PrivacyLedger(tmp_path / "ledger.sqlite", epsilon=1.5, composition="pure")
    clf = fit(model(Counts(), random_state=None, ledger=ledger))
    assert ledger.epsilon_spent == pytest.approx(1.0) and len(ledger.history()) == 1
    with pytest.raises(BudgetExceededError) as caught:
        fit(clf)
    assert not hasattr(caught.value, "privacy_spent") and len(ledger.history()) == 1


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:the public rows differ")  # these are noisy synthetic rows
def test_release_and_synthetic_rows_are_one_ledger_entry(ledger):
    schema = [(-4, 4), (-4, 4)]
    clf = model(Counts(), random_state=None, ledger=ledger, schema=schema)
    clf.fit(X, Y)
    assert len(ledger.history()) == 1 and clf.privacy_spent_.epsilon <= 1.0
    assert clf.privacy_spent_.n_synthetic > 0 and len(clf.released_) == 1
    clf.set_params(schema=None).fit(X, Y, X_public=clf.X_synthetic_)  # a fit of its own
    assert ledger.history()["epsilon"].iloc[1] == clf.privacy_spent_.epsilon


# --- published results ---------------------------------------------------------------------------


def test_release_has_fresh_noise_or_follows_the_seed():
    first, again = (fit(model(Counts())).released_[0] for _ in range(2))
    fresh = fit(model(Counts(), random_state=None)).released_[0]
    np.testing.assert_array_equal(first, again)
    assert (fresh != first).any() and first.shape == (2,)
    assert first == pytest.approx([(X[:, 0] > 0).sum(), (X[:, 0] <= 0).sum()], abs=200)


@cases("seed, source", (None, SystemGenerator), (0, np.random.Generator))
def test_release_noise_comes_from_the_system_or_the_seed(monkeypatch, seed, source):
    sources = note_calls(monkeypatch, Counts, "publish", lambda release, gathered, rng: type(rng))
    fit(model(Counts(), random_state=seed))
    assert sources[-1] is source


def test_release_leaves_labels_of_the_same_noise_unchanged():
    noise = {"aggregator": LaplaceMechanism(4.0), "epsilon": None}
    with_it, without = fit(model(Counts(9.0), **noise)), fit(model(**noise))
    np.testing.assert_array_equal(with_it.public_labels_, without.public_labels_)


def test_release_pickle_contains_published_values_and_no_state():
    loaded = pickle.loads(pickle.dumps(fit(model(Counts()))))
    assert loaded.released_[0].shape == (2,)
    assert vars(loaded.releases[0]) == {"scale": None, "epsilon_fraction": 0.25}


def test_release_of_a_missing_class_keeps_the_model_usable(monkeypatch):
    pickled = pickle.dumps(fit(model(Counts())))
    monkeypatch.delattr(f"{__name__}.Counts")
    loaded = pickle.loads(pickled)
    assert loaded.predict(X).shape == (300,) and loaded.released_[0].shape == (2,)


class Keeping(Counts):
    """Remembers the records, prints, and writes into its arguments."""

    def gather(self, private):
        print(SECRET)
        self.seen_ = private.X
        gathered = super().gather(private)
        private.X[:] = 0
        private.codes[:] = 0
        np.random.seed(0)
        return gathered

    def publish(self, gathered, rng):
        assert not hasattr(self, "seen_")
        return super().publish(gathered, rng)


def test_release_with_side_effects_changes_nothing_outside(capsys):
    before = X.copy(), Y.copy(), np.random.get_state()[1].copy()
    clf = fit(model(Keeping()))
    assert capsys.readouterr() == ("", "")
    assert all(map(np.array_equal, before, (X, Y, np.random.get_state()[1])))
    assert vars(clf.releases[0]) == {"scale": None, "epsilon_fraction": 0.25}
    np.testing.assert_array_equal(clf.released_[0], fit(model(Counts())).released_[0])


# --- audits --------------------------------------------------------------------------------------


def neighbours():
    other = X.copy()
    other[0, 0] = -other[0, 0]
    return [PrivateData(X=rows, codes=Y, target=ClassTarget([0, 1])) for rows in (X, other)]


@cases("part, is_refuted", (1, False), (0.5, True))
def test_audit_release_refutes_half_the_noise(part, is_refuted, global_random_seed):
    def publish(self, gathered, rng):  # continuous noise, which takes less time
        return gathered[0] + rng.laplace(scale=part * self.scale, size=2)

    sampled = {"n_samples": 20_000, "random_state": global_random_seed}
    found = audit_release(wrong(2.0, publish=publish), *neighbours(), **sampled)
    assert (found.claimed, found.refuted) == (1.0, is_refuted)
    assert found.epsilon > 0.3


@pytest.mark.slow
def test_audit_release_with_delta_claims_nothing_without_it():
    def event(self, neighbors):
        mechanism, counts = LaplaceMechanism(self.scale), neighbors.counts(1)
        return ProvedEvent(lambda orders: replace(mechanism.cost(counts, orders), delta=1e-3))

    release = wrong(2.0, event=event)
    for delta, claimed in ((0, np.inf), (0.01, release.event(REPLACED).cost().epsilon(0.01)[0])):
        found = audit_release(release, *neighbours(), delta=delta, n_samples=100, random_state=0)
        assert found.claimed == claimed
    for relation in (None, "", "replace"):
        with pytest.raises(ValueError, match="relation"):
            audit_release(Counts(1.0), *neighbours(), relation=relation)


# --- what goes wrong -----------------------------------------------------------------------------


class Failing(Counts):
    """Fails on private records, which have more rows than public ones, in one of its methods."""

    def __init__(self, scale=8.0, where="gather", what="raise"):
        self.scale = scale
        self.where = where
        self.what = what

    def _result(self, here, value, is_private):
        if here != self.where or not is_private:
            return value
        if self.what == "raise":
            raise ValueError(SECRET)
        return {"longer": [1, 2, 3], "whole": [1, 2], "text": SECRET}[self.what]

    def gather(self, private):
        is_private = len(private.X) == len(X)
        return self._result("gather", (super().gather(private), is_private), is_private)

    def publish(self, gathered, rng):
        counts, is_private = gathered
        return self._result("publish", super().publish(counts, rng), is_private)


def assert_shows_no_secret(error):
    while error is not None:
        assert SECRET not in f"{error} {getattr(error, '__notes__', '')}"
        error = error.__cause__ or error.__context__


def test_gather_error_is_redacted_and_costs_nothing(ledger):
    clf = model(Failing(), ledger=ledger, random_state=None)
    with pytest.raises(ValueError, match="gather of Failing failed with ValueError") as caught:
        fit(clf)
    assert_shows_no_secret(caught.value)
    assert caught.value.__notes__ == ["Privacy: nothing was spent."]
    assert len(ledger.history()) == 0 and not hasattr(clf, "privacy_spent_")


@cases(
    "what, match",
    ("raise", "publish of Failing failed with ValueError"),
    ("text", "publish of Failing failed with TypeError"),
    ("longer", "must return an array of the same shape and dtype"),
    ("whole", "must return an array of the same shape and dtype"),
)
def test_publish_error_is_redacted_and_paid_for(ledger, what, match):
    clf = model(Counts(9.0), Failing(where="publish", what=what), ledger=ledger, random_state=None)
    with pytest.raises(ValueError, match=match) as caught:
        fit(clf)
    assert_shows_no_secret(caught.value)
    assert caught.value.privacy_spent == clf.privacy_spent_
    assert len(ledger.history()) == 1 and clf.privacy_spent_.epsilon <= 1.0
    assert len(clf.released_) == 1 and not hasattr(clf, "student_")


def of_a_column(self, private):
    raise KeyError("no column of that name")


def proved(cost):
    return lambda self, neighbors: ProvedEvent(lambda orders: cost)


NEGATIVE = Cost(np.full(len(DEFAULT_ORDERS), -1.0), 0.0, 0.0)
TRIED = "Wrong failed when tried on public rows"


@cases(
    "release, params, match",
    (wrong(gather=of_a_column), {}, f"{TRIED}.*KeyError: 'no column of that name'"),
    (wrong(publish=lambda *_: "above"), {}, f"{TRIED}.*publish must return numbers; got text"),
    (wrong(publish=lambda *_: np.random.normal(size=2)), {}, f"{TRIED}.*numbers from a global gen"),
    (wrong(None, with_scale=lambda self, _: self), {}, "with_scale of Wrong must return None if"),
    (wrong(event=proved(NEGATIVE)), {}, "cost of Wrong must return an rdp.Cost"),
    (wrong(event=proved(0.5)), {}, "cost of Wrong must return rdp.Cost"),
    (wrong(event=lambda *_: NEGATIVE), {}, r"event of Wrong must return rdp.Event\(.* got Cost"),
    (Counts, {}, r"'releases' .* must be an instance, Counts\(\.\.\.\). Got the class"),
    (LaplaceMechanism(9.0), {}, "releases must be a list of instances of .*got .*Laplace"),
    (
        Counts(epsilon_fraction=1.0),
        {},
        "epsilon_fraction of Counts must be a number between 0 and 1; got 1.0",
    ),
    (
        Counts(epsilon_fraction=None),
        {},
        "epsilon_fraction of Counts must be a number between 0 and 1; got None",
    ),
    (Counts(), {"epsilon": None, "aggregator": LaplaceMechanism(9.0)}, "epsilon is None"),
    (Counts(1.0), {}, "epsilon=2"),
)
def test_release_that_cannot_be_paid_or_run_is_refused_by_plan(release, params, match):
    errors = (ValueError, TypeError, BudgetExceededError)
    pytest.raises(errors, plan, model(release, **params)).match(match)


@pytest.mark.slow
def test_release_counts_groups_as_one_or_is_refused():
    groups = np.arange(300) // 3
    with pytest.raises(ValueError, match="Counts does not set counts_groups, and this fit"):
        fit(model(Counts()), groups=groups)
    clf = fit(model(OfGroups(), unit="group"), groups=[f"person {k}" for k in groups])
    means = X[:, 0].reshape(-1, 3).mean(axis=1)
    assert clf.released_[0] == pytest.approx([(means > 0).sum(), (means <= 0).sum()], abs=100)
    sites = np.arange(300) % 5
    names = PredefinedPartition(names=range(5))
    given = {"partition": names, "epsilon": 20.0}
    assert fit(model(OfGroups(), **given), groups=sites).released_[0].shape == (2,)


def test_release_of_shared_identifiers_is_refused():
    frame = pd.DataFrame(X, columns=list("ab"), index=[f"person {k}" for k in range(300)])
    public = pd.DataFrame(X_PUBLIC, columns=list("ab"))
    clf = model(Counts(), partition="hash", n_teachers=5, epsilon=8.0)
    with pytest.raises(ValueError, match="group or identifier together"):
        clf.fit(frame, Y, X_public=public)


def test_release_without_records_is_refused():
    clf = model(Counts())
    votes = model().poll(X, Y, X_public=X_PUBLIC)
    pytest.raises(ValueError, clf.fit_votes, votes, X_PUBLIC).match("has no private records")
    pytest.raises(ValueError, clf.poll, X, Y, X_PUBLIC).match("poll collects votes only")
    for of, grid in ((clf, {"class_weight": [None]}), (model(), {"releases": [[Counts()], None]})):
        search = PrivateGridSearchCV(of.set_params(random_state=None), grid, epsilon=2.0)
        pytest.raises(ValueError, search.fit, X, Y, X_PUBLIC).match("a search makes many fits")
    sites = model(Counts(), n_teachers=None, epsilon=8.0)
    with pytest.raises(ValueError, match="releases must be None when X is Sites"):
        sites.fit(Sites(load, ["a", "b"]), None, X_public=X_PUBLIC)


def load(name):
    return X[:100], Y[:100]


# --- careless classes ----------------------------------------------------------------------------


class Forgets(Counts):
    """Its noise is an attribute that a clone does not have."""

    noise = 1.0
    is_set = False

    def with_scale(self, scale):
        if self.is_set:
            return None
        copy = clone(self)
        copy.noise, copy.is_set = scale, True
        return copy

    def event(self, neighbors):
        return Event(LaplaceMechanism(self.noise), neighbors.counts(1))


def by_a_seed(self, gathered, rng):
    return gathered[0] + np.random.default_rng(0).normal(size=2)


def without_noise(self, gathered, rng):
    return gathered[0]


def test_release_cost_is_that_of_the_noise_drawn():
    with pytest.raises(BudgetExceededError):  # noise of 1, as will be published: 2 of a cap of 1
        plan(model(Forgets()))


@cases("careless", wrong(publish=by_a_seed), wrong(publish=without_noise))
def test_release_noise_that_ignores_its_generator_is_refused(careless):
    pytest.raises(ValueError, plan, model(careless)).match("5 draws were all equal")


def test_release_that_the_system_generator_cannot_run_is_refused():
    lacking = wrong(publish=lambda self, gathered, rng: rng.standard_exponential(size=2))
    pytest.raises(ValueError, plan, model(lacking)).match("NotImplementedError")


@cases("numbers", (0.04, 0.0), (0.0, 20.0))
def test_release_cost_that_contradicts_itself_is_refused(numbers):
    class Contradicts(Gaussian):
        def event(self, neighbors):
            return ProvedEvent(lambda orders: Cost(np.asarray(orders) / 50, *numbers))

    pytest.raises(ValueError, plan, model(Contradicts(8.0))).match(
        "is 0 in one of rdp, mu_squared and pure, but positive"
    )


def test_release_cost_parts_are_recomputed():
    def stale(one):
        return replace(one, rdp=4 * one.rdp, mu_squared=4 * one.mu_squared)

    def right(one):
        return Cost(4 * one.rdp, 4 * one.mu_squared, one.pure)

    class Four(Gaussian):
        def event(self, neighbors):
            event = super().event(neighbors)
            return ProvedEvent(lambda orders: self.four(event.cost(orders)))

    params = {"aggregator": LaplaceMechanism(8.0), "epsilon": None}
    kinds = (type("Of", (Four,), {"four": staticmethod(four)}) for four in (stale, right))
    stale, right = (plan(model(kind(20.0), **params)).epsilon for kind in kinds)
    assert stale == right


def test_release_and_class_sums_do_not_exceed_the_cap():
    rows = np.random.default_rng(0).normal(size=(400, 3))
    labels = (rows[:, 0] > 0).astype(int)
    given = {"schema": (-4, 4), "classes": [0, 1], "releases": [Counts()], "on_bad_plan": "warn"}
    clf = PATEClassifier(method="sums", epsilon=1.0, **given)
    for run in (clf.plan, clf.fit):
        with pytest.raises(
            BudgetExceededError, match="get all of epsilon=1, .* method='neighbors'"
        ):
            run(rows, labels)
    assert clf.set_params(method="auto").fit(rows, labels).privacy_spent_.epsilon <= 1.0
