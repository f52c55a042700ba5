"""warm_start goes on with an interrupted fit under its plan: each published step counts once."""

import math
import pickle
from dataclasses import replace
from functools import partial

import numpy as np
import pandas as pd
import pytest
from conftest import IN_THREADS, draws, interrupt
from interrupted import (
    DELTA,
    MULTIPLIER,
    X_PUBLIC,
    ClassCounts,
    Lines,
    Watched,
    X,
    Y,
    apart,
    classifier,
    gaussian_epsilon,
    histograms,
    regressor,
    searched,
    sums,
    teachers,
)
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression

from sklearn_pate.accounting.propose_test_release import ProposeTestRelease
from sklearn_pate.aggregators import GaussianMechanism, GNMax, LaplaceMechanism
from sklearn_pate.exceptions import BudgetExceededError, PrivacyTestError
from sklearn_pate.fitting import run
from sklearn_pate.methods import ReverseNeighbors
from sklearn_pate.releases import table
from sklearn_pate.releases.table import TableRelease
from sklearn_pate.synthesis import ClassSumsSynthesizer, synthesizers

pytestmark = [
    IN_THREADS,
    pytest.mark.filterwarnings("ignore::UserWarning"),
    pytest.mark.usefixtures("few_units_are_scored"),
]

#: Squared Gaussian parameters: of the mean, of all class sums, and of a table with noise SIGMA.
SIGMA = 3.0
OF_MEAN, OF_SUMS, OF_TABLE = 0.1 / MULTIPLIER**2, 1 / MULTIPLIER**2, 2 / SIGMA**2


def model(**params):
    """Class sums, then records that vote on the synthetic rows, all with Gaussian noise."""
    given = {"method": ReverseNeighbors(n_cells=4), "synthesizer": sums()}
    given |= {"aggregator": GaussianMechanism(SIGMA), "epsilon": 60.0, "warm_start": True}
    return classifier(**(given | params))


def stop(clf, monkeypatch, owner, name, *data, **given):
    """Interrupt a fit in a function; return the error."""
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt) as caught:
        patch.setattr(owner, name, interrupt)
        clf.fit(*(data or (X, Y)), **given)
    return caught.value


def costs(clf, *mu_squares):
    """Check the cost of a fit, by the plain sum."""
    expected = gaussian_epsilon(math.sqrt(sum(mu_squares)))
    assert clf.privacy_spent_.epsilon == pytest.approx(expected, rel=1e-5)


POINTS = {
    "mean": (synthesizers, "gather_sums", OF_MEAN),
    "sums paid for": (synthesizers, "publish_sums", OF_SUMS),
    "rows": (TableRelease, "gather", OF_SUMS),
}


@pytest.mark.parametrize("point", POINTS)
def test_warm_start_pays_for_published_steps_once(point, tmp_path, monkeypatch):
    owner, name, first = POINTS[point]
    ledger = Watched(tmp_path / "ledger")
    clf = model(ledger=ledger)
    error = stop(clf, monkeypatch, owner, name)
    assert error.privacy_spent.epsilon == pytest.approx(gaussian_epsilon(math.sqrt(first)))
    assert "warm_start=True and the same parameters, the next fit continues" in error.__notes__[0]
    published, rows = clf._prefix.synthesis.published, clf._prefix.synthesis.rows
    plan = clf.plan(X, Y)
    clf.fit(X, Y)
    np.testing.assert_array_equal(clf.table_.prior.centre.mean, published[0].mean)
    assert rows is None or clf.X_synthetic_ is rows
    costs(clf, OF_SUMS, OF_TABLE)
    fresh = model().fit(X, Y)
    spent, same = clf.privacy_spent_, {"fit_number": 1}
    assert replace(spent, **same) == replace(fresh.privacy_spent_, **same)
    assert plan.spent.epsilon == spent.epsilon
    assert len(ledger.costs) == len(ledger.history()) == 1
    assert ledger.epsilon_of_entries == pytest.approx(clf.privacy_spent_.epsilon)
    assert error.privacy_spent.epsilon < clf.privacy_spent_.epsilon
    assert clf._prefix is None


@pytest.mark.slow
def test_warm_start_continues_after_many_interruptions(tmp_path, monkeypatch):
    ledger = Watched(tmp_path / "ledger")
    clf = model(ledger=ledger)
    for name in ("gather_total", "gather_sums", "gather_sums", "publish_sums", "gather_sums"):
        stop(clf, monkeypatch, synthesizers, name)
    for _ in range(2):
        stop(clf, monkeypatch, TableRelease, "gather")
    costs(clf.fit(X, Y), OF_SUMS, OF_TABLE)
    assert len(ledger.costs) == 1
    assert ledger.epsilon_of_entries == pytest.approx(clf.privacy_spent_.epsilon)


def test_warm_start_after_a_free_attempt_starts_anew(monkeypatch):
    clf = model()
    assert not hasattr(stop(clf, monkeypatch, synthesizers, "gather_total"), "privacy_spent")
    assert clf._prefix is None
    costs(clf.fit(X, Y), OF_SUMS, OF_TABLE)


def test_warm_start_continues_with_other_records(monkeypatch):
    clf = model()
    stop(clf, monkeypatch, synthesizers, "gather_sums", X[::-1] / 2, 1 - Y)
    costs(clf.fit(X, Y), OF_SUMS, OF_TABLE)


# --- the plan was fixed before anything was published ---------------------------------------------


CHANGES = {
    "synthesizer or schema": [
        {"synthesizer__n_rows": 41},
        {"synthesizer__bounds": (-1, 2)},
        {"synthesizer__noise_multiplier": 1.1 * MULTIPLIER},
        {"synthesizer": histograms(noise=GaussianMechanism(1.0))},
    ],
    "classes": [{"classes": [0, 1, 2]}, {"classes": None}],
    "epsilon": [{"epsilon": 61.0}, {"epsilon": None}, {"delta": DELTA / 2}],
    "aggregator": [{"aggregator": GaussianMechanism(SIGMA + 0.01)}],
    "unit or partition": [{"method": ReverseNeighbors(n_cells=4, relation="add_or_remove_one")}],
    "noise": [{"method": ReverseNeighbors(n_cells=4, n_neighbors=2)}],
    "releases": [{"releases": [ClassCounts(1e9)]}],
}


#: Each change before the rows are drawn; after it, changes of what made the rows and of the noise.
REFUSED = [(name, "mean") for name in CHANGES]
REFUSED += [("synthesizer or schema", "rows"), ("aggregator", "rows")]


@pytest.mark.parametrize("name, point", REFUSED)
def test_warm_start_refuses_another_plan(name, point, tmp_path, monkeypatch):
    ledger = Watched(tmp_path / "ledger")
    clf = model(ledger=ledger)
    owner, function, first = POINTS[point]
    stop(clf, monkeypatch, owner, function)
    prefix, before = clf._prefix, clf.get_params(deep=False)
    synthesizer = clone(clf.synthesizer)
    for change in CHANGES[name]:
        clf.set_params(**change)
        with pytest.raises(ValueError, match="changed since: ") as caught:
            clf.fit(X, Y)
        named = str(caught.value).split("changed since: ")[1].split(". Give the same")[0]
        assert name in named.split(", ")
        assert caught.value.__notes__ == ["Privacy: nothing was spent."]
        with pytest.raises(ValueError, match="changed since: "):
            clf.plan(X, Y)
        clf.set_params(**before | {"synthesizer": clone(synthesizer)})
    assert clf._prefix is prefix and len(ledger.costs) == 1
    costs(clf.fit(X, Y), OF_SUMS, OF_TABLE)
    assert len(ledger.costs) == 1


def test_warm_start_refuses_other_public_rows_and_units(monkeypatch):
    clf = model()
    stop(clf, monkeypatch, synthesizers, "gather_sums")
    with pytest.raises(ValueError, match="changed since: synthesizer or schema"):
        clf.set_params(synthesizer=None).fit(X, Y, X_public=X_PUBLIC)
    with pytest.raises(ValueError, match="changed since: unit or partition"):
        clf.set_params(synthesizer=sums()).fit(X, Y, groups=np.arange(400))
    clf.set_params(synthesizer=None, warm_start=False).fit(X, Y, X_public=X_PUBLIC)
    costs(clf, OF_TABLE)


def test_warm_start_accepts_another_student(monkeypatch):
    clf = model()
    stop(clf, monkeypatch, synthesizers, "gather_sums")
    clf.set_params(student=LogisticRegression(), n_jobs=1)
    costs(clf.fit(X, Y), OF_SUMS, OF_TABLE)
    assert isinstance(clf.student_, LogisticRegression)


def test_warm_start_continues_with_calibrated_noise(monkeypatch):
    params = {"aggregator": LaplaceMechanism(), "epsilon": 3.0}
    clf = model(synthesizer=ClassSumsSynthesizer(bounds=(-1, 1)), **params)
    for name in ("gather_sums", "publish_sums"):
        error = stop(clf, monkeypatch, synthesizers, name)
        assert 0 < error.privacy_spent.epsilon < 3.0
    plan = model(synthesizer=ClassSumsSynthesizer(bounds=(-1, 1)), **params).plan(X, Y)
    assert clf.fit(X, Y).privacy_spent_.epsilon == plan.spent.epsilon <= 3.0
    assert clf.aggregator_.scale == plan.stages[0][0].scale


# --- ledgers --------------------------------------------------------------------------------------


def test_warm_start_records_all_steps_in_another_ledger(tmp_path, monkeypatch):
    first, second = Watched(tmp_path / "first"), Watched(tmp_path / "second")
    clf = model(ledger=first)
    stop(clf, monkeypatch, synthesizers, "gather_sums")
    costs(clf.set_params(ledger=second).fit(X, Y), OF_SUMS, OF_TABLE)
    assert [cost.mu_squared for cost in second.costs.values()] == pytest.approx(
        [OF_SUMS + OF_TABLE]
    )
    assert [cost.mu_squared for cost in first.costs.values()] == pytest.approx([OF_MEAN])


def test_warm_start_counts_published_steps_once_in_a_ledger(tmp_path, monkeypatch):
    own = gaussian_epsilon(math.sqrt(OF_SUMS + OF_TABLE))
    clf = model(ledger=Watched(tmp_path / "full", epsilon=1.2 * own))
    stop(clf, monkeypatch, TableRelease, "gather")
    costs(clf.fit(X, Y), OF_SUMS, OF_TABLE)
    with pytest.raises(BudgetExceededError, match="together more than the ledger's") as caught:
        clf.fit(X, Y)
    assert caught.value.__notes__ == ["Privacy: nothing was spent."]


@pytest.mark.slow
@pytest.mark.parametrize("point", POINTS)
def test_warm_start_copies_count_each(point, tmp_path, monkeypatch):
    ledger = Watched(tmp_path / "ledger")
    clf = model(ledger=ledger)
    stop(clf, monkeypatch, *POINTS[point][:2])
    copies = [pickle.loads(pickle.dumps(clf)) for _ in range(3)]
    for copy in copies:
        costs(copy.fit(X, Y), OF_SUMS, OF_TABLE)
    stop(clf, monkeypatch, TableRelease, "gather")
    assert [cost.mu_squared for cost in ledger.costs.values()] == pytest.approx(
        [*3 * [OF_SUMS + OF_TABLE], *([OF_SUMS] if point != "rows" else [])]
    )
    costs(clf.fit(X, Y), OF_SUMS, OF_TABLE)
    total = sum(cost.mu_squared for cost in ledger.costs.values())
    assert total == pytest.approx(4 * (OF_SUMS + OF_TABLE))


class Spy:
    """A user's own ledger, which notes the records and their entries."""

    def __init__(self):
        self.recorded, self.entries = [], []

    def check(self, spent, cost, entry=None):
        self.checked = cost.mu_squared

    def record(self, spent, cost, entry=None):
        self.recorded.append(cost.mu_squared)
        self.entries.append(entry)
        return "the first" if entry is None else entry


@pytest.mark.slow
def test_warm_start_steps_share_an_entry_of_a_custom_ledger(monkeypatch):
    ledger = Spy()
    clf = model(ledger=ledger)
    error = stop(clf, monkeypatch, synthesizers, "gather_sums")
    assert ledger.recorded == pytest.approx([OF_MEAN])
    assert error.privacy_spent.epsilon == pytest.approx(gaussian_epsilon(math.sqrt(OF_MEAN)))
    costs(clf.fit(X, Y), OF_SUMS, OF_TABLE)
    assert ledger.recorded == pytest.approx([OF_MEAN, OF_SUMS, OF_SUMS + OF_TABLE])
    assert ledger.entries == [None, "the first", "the first"]
    assert ledger.checked == pytest.approx(OF_SUMS + OF_TABLE)
    search = searched(method=ReverseNeighbors(n_cells=4), synthesizer=sums(), ledger=Spy())
    stop(search, monkeypatch, synthesizers, "gather_sums")
    assert search.estimator.ledger.recorded == pytest.approx([OF_MEAN])


# --- what starts anew -----------------------------------------------------------------------------


@pytest.mark.slow
def test_warm_start_continues_after_pickle_and_not_after_clone(monkeypatch):
    clf = model()
    stop(clf, monkeypatch, synthesizers, "gather_sums")
    mean = clf._prefix.synthesis.published[0].mean
    loaded = pickle.loads(pickle.dumps(clf))
    costs(loaded.fit(X, Y), OF_SUMS, OF_TABLE)
    np.testing.assert_array_equal(loaded.table_.prior.centre.mean, mean)
    for new in (clone(clf), clf.set_params(warm_start=False)):
        costs(new.fit(X, Y), OF_SUMS, OF_TABLE)
        assert (new.table_.prior.centre.mean != mean).all()


@pytest.mark.slow
def test_warm_start_does_not_continue_custom_synthesizers_and_noise(monkeypatch):
    class Noise(LaplaceMechanism):
        pass

    for synthesizer in (
        type("Own", (ClassSumsSynthesizer,), {})(**sums().get_params()),
        histograms(),
    ):
        if isinstance(synthesizer.get_params().get("noise"), LaplaceMechanism):
            synthesizer.set_params(noise=Noise(30.0))
        clf = model(synthesizer=synthesizer)
        error = stop(clf, monkeypatch, TableRelease, "gather")
        assert clf._prefix is None
        assert "X_public=X_synthetic_) uses them as public rows" in error.__notes__[0]
        rows = clf.X_synthetic_
        assert clf.fit(X, Y).X_synthetic_ is not rows
    clf = searched(method=ReverseNeighbors(n_cells=4), synthesizer=sums())
    error = stop(clf, monkeypatch, synthesizers, "gather_sums")
    assert "no result was kept; the cost of a new fit adds to it" in error.__notes__[0]
    assert not hasattr(clf, "_prefix")


@pytest.mark.slow
def test_warm_start_after_a_complete_fit_starts_anew():
    for make in (classifier, regressor):
        clf = make(
            method=ReverseNeighbors(n_cells=4),
            aggregator=GaussianMechanism(SIGMA),
            epsilon=None,
            warm_start=True,
        )
        for _ in range(2):
            costs(clf.fit(X, Y, X_public=X_PUBLIC), OF_TABLE)
            assert clf._prefix is None
    clf = model().fit(X, Y)
    rows = clf.X_synthetic_
    costs(clf.set_params(epsilon=30.0).fit(X, Y), OF_SUMS, OF_TABLE)
    assert clf.X_synthetic_ is not rows


def test_warm_start_after_labels_were_paid_for_starts_anew(tmp_path, monkeypatch):
    ledger = Watched(tmp_path / "ledger")
    clf = model(ledger=ledger)
    error = stop(clf, monkeypatch, run, "_run_private_test")
    costs_of_all = gaussian_epsilon(math.sqrt(OF_SUMS + OF_TABLE))
    assert error.privacy_spent.epsilon == pytest.approx(costs_of_all)
    assert "With synthesizer=None, fit(X, y, X_public=X_synthetic_)" in error.__notes__[0]
    assert clf._prefix is None
    rows = clf.X_synthetic_
    costs(clf.fit(X, Y), OF_SUMS, OF_TABLE)
    assert clf.X_synthetic_ is not rows and len(ledger.costs) == 2


@pytest.mark.slow
def test_warm_start_after_a_private_test_starts_anew(tmp_path, monkeypatch):
    ledger = Watched(tmp_path / "ledger", delta=1e-4, reserved_delta=5e-5)
    params = teachers() | {"n_teachers": 100, "n_queries": 40, "aggregator": GNMax(4.0)}
    params |= {"accounting": "ptr", "synthesizer": sums(noise_multiplier=2.0)}
    clf = model(**params, method="teachers", epsilon=6.0, ledger=ledger)
    with monkeypatch.context() as patch, pytest.raises(PrivacyTestError):
        patch.setattr(ProposeTestRelease, "passes", lambda *args: False)
        clf.fit(X, Y)
    assert clf._prefix is None and len(ledger.costs) == 1


# --- polls, searches, seeds -----------------------------------------------------------------------


@pytest.mark.slow
def test_warm_start_pays_for_polled_rows_once(tmp_path):
    ledger = Watched(tmp_path / "ledger")
    clf = model(ledger=ledger)
    votes = clf.poll(X, Y)
    costs(clf.fit(X, Y), OF_SUMS, OF_TABLE)
    assert clf.X_synthetic_ is votes.synthesis.rows and len(ledger.costs) == 1
    clf = model(ledger=ledger)
    costs(clf.fit_votes(clf.poll(X, Y)), OF_SUMS, OF_TABLE)
    assert len(ledger.costs) == 3 and clf._prefix is None
    rows = clf.X_synthetic_
    costs(clf.fit(X, Y), OF_SUMS, OF_TABLE)
    assert clf.X_synthetic_ is not rows
    clf.fit_votes(votes)  # of the rows that the other estimator paid for
    costs(clf, OF_SUMS, OF_TABLE)
    totals = [cost.mu_squared for cost in ledger.costs.values()]
    assert sum(totals) == pytest.approx(3 * OF_SUMS + 4 * OF_TABLE)


@pytest.mark.slow
def test_warm_start_is_not_used_in_the_best_model_of_a_search():
    search = searched(method=ReverseNeighbors(n_cells=4), synthesizer=sums())
    search.estimator.set_params(warm_start=True)
    best = search.fit(X, Y).best_estimator_
    assert best._prefix is None and best.warm_start


def test_warm_start_draws_its_own_noise(monkeypatch):
    """The same seed, once with one fit, once with two: only the published mean is the same."""
    fresh = model(random_state=7).fit(X, Y)
    for name, is_cached in (("gather_sums", True), ("publish_centre", False)):
        clf = model(random_state=7)
        stop(clf, monkeypatch, synthesizers, name)
        clf.fit(X, Y)
        found, expected = clf.table_.prior, fresh.table_.prior
        assert np.array_equal(found.centre.mean, expected.centre.mean) == is_cached
        for part in ("counts", "by_class", "moment"):
            assert (getattr(found.sums, part) != getattr(expected.sums, part)).all()


@pytest.mark.parametrize("point", POINTS)
def test_warm_start_keeps_the_seed_of_published_steps_on_record(point, tmp_path, monkeypatch):
    clf = model(random_state=7)
    stop(clf, monkeypatch, *POINTS[point][:2])
    clf.set_params(random_state=None, ledger=Watched(tmp_path / "ledger"))
    with pytest.raises(ValueError, match="rows that were drawn with a random_state.*warm_start=F"):
        clf.fit(X, Y)
    assert clf.set_params(ledger=None).plan(X, Y).spent.generator == "seed"
    assert clf.fit(X, Y).privacy_spent_.generator == "seed"


# --- any line -------------------------------------------------------------------------------------


class Books:
    """Squared Gaussian parameters of the published results, and of costs in vain."""

    def __init__(self, monkeypatch):
        self.published = self.lost = self.pending = 0.0
        for owner, name, cost in (
            (synthesizers, "publish_centre", OF_MEAN),
            (synthesizers, "publish_sums", OF_SUMS - OF_MEAN),
            (table, "checked_noisy", OF_TABLE),
        ):
            monkeypatch.setattr(owner, name, self.publishing(getattr(owner, name), cost))
        append = run.Account.append

        def pay(account, *args, **parts):
            self.pending = OF_SUMS + OF_TABLE  # at most: the step before the next one
            append(account, *args, **parts)

        monkeypatch.setattr(run.Account, "append", pay)

    def publishing(self, function, cost):
        def publish(*args, **kwargs):
            found = function(*args, **kwargs)
            self.published += cost
            self.pending = 0.0
            return found

        return publish

    def interrupted(self):
        self.lost += self.pending
        self.pending = 0.0


@pytest.mark.slow
@draws(4, 8)
def test_warm_start_chains_interrupted_at_any_line_count_all_steps(
    tmp_path, monkeypatch, global_random_seed, n_draws
):
    rng = np.random.default_rng(global_random_seed)
    counted = Lines()
    with counted.within():
        model(ledger=Watched(tmp_path / "counted")).fit(X, Y)
    books = Books(monkeypatch)
    n_interrupted = n_gone_on = 0
    for chain in range(n_draws):
        books.published = books.lost = books.pending = published_before = 0.0
        ledger = Watched(tmp_path / f"ledger {chain}", epsilon=1000.0)
        clf = model(epsilon=None, ledger=ledger)
        for attempt in range(5):
            if rng.integers(4) == 0:
                clf = pickle.loads(pickle.dumps(clf))
            if clf._prefix is None:  # it starts anew
                published_before = books.published
            n_gone_on += clf._prefix is not None
            is_last = attempt == 4
            lines = Lines(int(rng.integers(1.2 * counted.n_lines)) + 1 if not is_last else None)
            try:
                with lines.within():
                    apart(partial(clf.fit, X, Y))
            except KeyboardInterrupt as error:
                n_interrupted += 1
                books.interrupted()
                spent = getattr(error, "privacy_spent", None)
            else:
                spent = clf.privacy_spent_
            published = books.published - published_before
            if spent is not None and published:
                stated = gaussian_epsilon(math.sqrt(published))
                assert stated * (1 - 1e-4) <= spent.epsilon
            recorded = sum(cost.mu_squared for cost in ledger.costs.values())
            assert books.published * (1 - 1e-6) <= recorded
            assert recorded <= (books.published + books.lost) * (1 + 1e-6)
        costs(clf, OF_SUMS, OF_TABLE)
    assert n_interrupted > 2 * n_draws and n_gone_on > 1


@pytest.mark.parametrize("pickled", [False, True])
def test_warm_start_continues_with_tables_of_categories(monkeypatch, pickled):
    """Categories of pandas hold weak references, which differ from fit to fit."""
    kind = pd.Categorical(["x", "y"] * (len(X) // 2), categories=["x", "y", "z"])
    frame = pd.DataFrame({"a": X[:, 0], "kind": kind, "text": ["u", "v"] * (len(X) // 2)})
    schema = {"a": (-1.0, 1.0), "kind": ["x", "y", "z"], "text": ["u", "v"]}
    clf = model(schema=schema, synthesizer=None, method="sums", aggregator=None)
    error = stop(clf, monkeypatch, synthesizers, "gather_sums", frame, Y)
    assert 0 < error.privacy_spent.epsilon < 60 and clf._prefix is not None
    clf = pickle.loads(pickle.dumps(clf)) if pickled else clf
    monkeypatch.setattr(synthesizers, "publish_centre", interrupt)  # the mean is not drawn again
    clf.fit(frame.copy(), Y)
    assert clf._prefix is None and clf.privacy_spent_.epsilon <= 60
