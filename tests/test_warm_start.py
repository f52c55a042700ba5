"""warm_start goes on after published steps: all that fits published counts, each step once."""

import math
import pickle

import numpy as np
import pytest
from conftest import IN_THREADS, interrupt
from interrupted import (
    MULTIPLIER,
    X_PUBLIC,
    ClassCounts,
    Lines,
    Watched,
    X,
    Y,
    classifier,
    gaussian_epsilon,
    histograms,
    regressor,
    searched,
    sums,
    teachers,
)
from sklearn.base import clone

from sklearn_pate.aggregators import GaussianMechanism, GNMax, LaplaceMechanism
from sklearn_pate.exceptions import BudgetExceededError, PrivacyTestError
from sklearn_pate.fitting import release
from sklearn_pate.neighbors import ReverseNeighbors
from sklearn_pate.propose_test_release import ProposeTestRelease
from sklearn_pate.releases import table
from sklearn_pate.releases.table import TableRelease
from sklearn_pate.synthesis import ClassSums, synthesizers

pytestmark = [IN_THREADS, pytest.mark.filterwarnings("ignore::UserWarning")]

#: Squared Gaussian parameters: of the mean, of all class sums, and of a table with noise SIGMA.
SIGMA = 3.0
OF_MEAN, OF_SUMS, OF_TABLE = 0.1 / MULTIPLIER**2, 1 / MULTIPLIER**2, 2 / SIGMA**2


def model(**params):
    """Class sums, then records that vote on the synthetic rows, all with Gaussian noise."""
    given = {"base_estimator": ReverseNeighbors(n_cells=4), "synthesizer": sums()}
    given |= {"aggregator": GaussianMechanism(SIGMA), "epsilon": 60.0, "warm_start": True}
    return classifier(**(given | params))


def stop(clf, monkeypatch, owner, name, *data, **given):
    """Interrupt a fit in a function; return the error."""
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt) as caught:
        patch.setattr(owner, name, interrupt)
        clf.fit(*(data or (X, Y)), **given)
    return caught.value


def costs(clf, *mu_squares, n_fits):
    """Check what all fits cost together, by the plain sum."""
    expected = gaussian_epsilon(math.sqrt(sum(mu_squares)))
    assert clf.privacy_spent_.epsilon == pytest.approx(expected, rel=1e-5)
    assert clf.privacy_spent_.n_fits == n_fits


POINTS = {
    "mean": (synthesizers, "gather_sums", OF_MEAN),
    "sums paid for": (synthesizers, "publish_sums", OF_SUMS),
    "rows": (TableRelease, "gather", OF_SUMS),
    "labels paid for": (release, "_run_private_test", OF_SUMS + OF_TABLE),
}


@pytest.mark.parametrize("point", POINTS)
def test_a_continued_fit_pays_for_published_steps_once(point, tmp_path, monkeypatch):
    owner, name, first = POINTS[point]
    ledger = Watched(tmp_path / "ledger")
    clf = model(ledger=ledger)
    error = stop(clf, monkeypatch, owner, name)
    assert error.privacy_spent.epsilon == pytest.approx(gaussian_epsilon(math.sqrt(first)))
    assert "warm_start=True, the next fit goes on" in error.__notes__[0]
    published, rows = clf._prefix.synthesis.published, clf._prefix.synthesis.rows
    clf.fit(X, Y)
    centre = clf.table_.prior.centre.mean
    np.testing.assert_array_equal(centre, published[0].mean)
    assert rows is None or clf.X_synthetic_ is rows
    lost = OF_TABLE if point == "labels paid for" else 0  # paid for, and not published
    costs(clf, OF_SUMS, OF_TABLE, lost, n_fits=2)
    assert "2 fits of one estimator (warm_start)" in clf.privacy_spent_.summary()
    assert len(ledger.costs) == len(ledger.history()) == 1 + bool(lost)
    assert ledger.epsilon_of_entries == pytest.approx(clf.privacy_spent_.epsilon)
    assert error.privacy_spent.epsilon < clf.privacy_spent_.epsilon


def test_a_step_may_be_interrupted_many_times(tmp_path, monkeypatch):
    ledger = Watched(tmp_path / "ledger")
    clf = model(ledger=ledger)
    for name in ("gather_total", "gather_sums", "gather_sums", "publish_sums", "gather_sums"):
        stop(clf, monkeypatch, synthesizers, name)
    for _ in range(2):
        stop(clf, monkeypatch, TableRelease, "gather")
    costs(clf.fit(X, Y), OF_SUMS, OF_TABLE, n_fits=4)  # four attempts paid for nothing
    assert len(ledger.costs) == 1
    assert ledger.epsilon_of_entries == pytest.approx(clf.privacy_spent_.epsilon)


def test_an_attempt_that_pays_for_nothing_changes_nothing(monkeypatch):
    clf = model()
    assert not hasattr(stop(clf, monkeypatch, synthesizers, "gather_total"), "privacy_spent")
    assert clf._prefix is None
    costs(clf.fit(X, Y), OF_SUMS, OF_TABLE, n_fits=1)


# --- what cannot go on pays anew, and counts ------------------------------------------------------


OTHERS = {
    "rows": lambda clf: clf.set_params(synthesizer__n_rows=41),
    "bounds": lambda clf: clf.set_params(synthesizer__bounds=(-1, 2)),
    "classes": lambda clf: clf.set_params(classes=[0, 1, 2]),
    "kind": lambda clf: clf.set_params(synthesizer=histograms(noise=GaussianMechanism(1.0))),
}


@pytest.mark.parametrize("change", OTHERS)
@pytest.mark.parametrize("point", ["mean", "sums paid for", "rows"])
def test_other_steps_are_paid_for_anew(change, point, tmp_path, monkeypatch):
    owner, name, first = POINTS[point]
    ledger = Watched(tmp_path / "ledger")
    clf = model(ledger=ledger)
    stop(clf, monkeypatch, owner, name)
    OTHERS[change](clf).fit(X, Y)
    own = 2 * 3 / 1.0**2 if change == "kind" else OF_SUMS
    costs(clf, first, own, OF_TABLE, n_fits=2)
    assert len(ledger.costs) == 2
    assert ledger.epsilon_of_entries == pytest.approx(clf.privacy_spent_.epsilon)


def test_statistics_by_class_are_not_those_of_other_classes(monkeypatch):
    clf = classifier(synthesizer=sums(share=1), warm_start=True)
    stop(clf, monkeypatch, TableRelease, "gather")
    clf.set_params(classes=["a", "b", "c"], epsilon=60.0).fit(X, np.array(["a", "b"])[Y])
    assert clf.predict_proba(X).shape == (400, 3)
    costs(clf, OF_SUMS, OF_SUMS, n_fits=2)


def test_other_records_go_on_after_the_same_steps(monkeypatch):
    clf = model()
    stop(clf, monkeypatch, synthesizers, "gather_sums", X[::-1] / 2, 1 - Y)
    costs(clf.fit(X, Y), OF_SUMS, OF_TABLE, n_fits=2)


def test_ledgers_get_all_that_they_do_not_have(tmp_path, monkeypatch):
    first, second = Watched(tmp_path / "first"), Watched(tmp_path / "second")
    clf = model(ledger=first)
    stop(clf, monkeypatch, synthesizers, "gather_sums")
    costs(clf.set_params(ledger=second).fit(X, Y), OF_SUMS, OF_TABLE, n_fits=2)
    assert [cost.mu_squared for cost in second.costs.values()] == pytest.approx(
        [OF_SUMS + OF_TABLE]
    )
    assert [cost.mu_squared for cost in first.costs.values()] == pytest.approx([OF_MEAN])
    clf.fit(X, Y)
    costs(clf.set_params(ledger=None).fit(X, Y), *3 * [OF_SUMS, OF_TABLE], n_fits=4)
    assert len(second.costs) == 2
    clf.set_params(ledger=second).fit(X, Y)  # with what was spent without it
    costs(clf, *4 * [OF_SUMS, OF_TABLE], n_fits=5)
    assert second.epsilon_of_entries >= clf.privacy_spent_.epsilon
    ledger = Watched(tmp_path / "third")
    clf = model(epsilon=200.0).fit(X, Y).set_params(ledger=ledger)
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(Watched, "record", lambda *args, **more: interrupt())
        clf.fit(X, Y)
    clf.fit(X, Y)
    assert ledger.epsilon_of_entries == pytest.approx(clf.privacy_spent_.epsilon)


def test_a_ledger_refuses_by_all_that_it_would_record(tmp_path, monkeypatch):
    own = gaussian_epsilon(math.sqrt(OF_SUMS + OF_TABLE))
    clf = model()
    clf.fit(X, Y).set_params(ledger=Watched(tmp_path / "small", epsilon=1.2 * own))
    with pytest.raises(BudgetExceededError, match="together more than the ledger's") as caught:
        clf.fit(X, Y)
    assert caught.value.__notes__ == ["Privacy: nothing was spent."]
    costs(clf, OF_SUMS, OF_TABLE, n_fits=1)
    clf = model(ledger=Watched(tmp_path / "full", epsilon=1.2 * own))
    stop(clf, monkeypatch, TableRelease, "gather")
    costs(clf.fit(X, Y), OF_SUMS, OF_TABLE, n_fits=2)  # the entry is not counted twice


class Spy:
    """A ledger of a user's own, which takes no entries."""

    def __init__(self):
        self.recorded = []

    def check(self, spent, cost):
        self.checked = cost.mu_squared

    def record(self, spent, cost):
        self.recorded.append(cost.mu_squared)


def test_a_ledger_without_entries_gets_all_steps_at_once(monkeypatch):
    ledger = Spy()
    clf = model(ledger=ledger)
    error = stop(clf, monkeypatch, synthesizers, "gather_sums")
    assert ledger.recorded == pytest.approx([OF_SUMS])
    assert error.privacy_spent.epsilon == pytest.approx(gaussian_epsilon(math.sqrt(OF_SUMS)))
    costs(clf.fit(X, Y), OF_SUMS, OF_TABLE, n_fits=2)
    assert ledger.recorded == pytest.approx([OF_SUMS, OF_TABLE])
    assert ledger.checked == pytest.approx(OF_TABLE)
    search = searched(base_estimator=ReverseNeighbors(n_cells=4), synthesizer=sums(), ledger=Spy())
    stop(search, monkeypatch, synthesizers, "gather_sums")
    assert len(search.estimator.ledger.recorded) == 1


# --- what is kept, and where ----------------------------------------------------------------------


def test_pickles_go_on_and_clones_start_anew(monkeypatch):
    clf = model()
    stop(clf, monkeypatch, synthesizers, "gather_sums")
    loaded = pickle.loads(pickle.dumps(clf))
    costs(loaded.fit(X, Y), OF_SUMS, OF_TABLE, n_fits=2)
    np.testing.assert_array_equal(
        loaded.table_.prior.centre.mean, clf._prefix.synthesis.published[0].mean
    )
    costs(pickle.loads(pickle.dumps(loaded)).fit(X, Y), *2 * [OF_SUMS, OF_TABLE], n_fits=3)
    for new in (clone(clf), clf.set_params(warm_start=False)):
        costs(new.fit(X, Y), OF_SUMS, OF_TABLE, n_fits=1)


def test_synthesizers_and_noise_of_ones_own_do_not_go_on(monkeypatch):
    class Noise(LaplaceMechanism):
        pass

    for synthesizer in (type("Own", (ClassSums,), {})(**sums().get_params()), histograms()):
        if isinstance(synthesizer.get_params().get("noise"), LaplaceMechanism):
            synthesizer.set_params(noise=Noise(30.0))
        clf = model(synthesizer=synthesizer)
        error = stop(clf, monkeypatch, TableRelease, "gather")
        assert clf._prefix.synthesis is None
        assert "X_public=X_synthetic_) uses them as public rows" in error.__notes__[0]
        assert clf.fit(X, Y).privacy_spent_.n_fits == 2
        assert clf.privacy_spent_.epsilon > error.privacy_spent.epsilon
    clf = searched(base_estimator=ReverseNeighbors(n_cells=4), synthesizer=sums())
    error = stop(clf, monkeypatch, synthesizers, "gather_sums")
    assert "nothing of it was kept; a new fit pays anew" in error.__notes__[0]
    assert not hasattr(clf, "_prefix")


def test_complete_fits_add_up():
    for make in (classifier, regressor):
        clf = make(
            base_estimator=ReverseNeighbors(n_cells=4),
            aggregator=GaussianMechanism(SIGMA),
            epsilon=None,
            warm_start=True,
            releases=[ClassCounts(1e9)],
        )
        for n_fits in (1, 2, 3):
            clf.fit(X, Y, X_public=X_PUBLIC)
            costs(clf, n_fits * OF_TABLE, n_fits=n_fits)
            assert len(clf.privacy_spent_.beside) == n_fits


def test_another_fit_needs_a_larger_epsilon():
    clf = classifier(base_estimator=ReverseNeighbors(n_cells=4), epsilon=1.0, warm_start=True)
    clf.fit(X, Y, X_public=X_PUBLIC)
    proba = clf.predict_proba(X)
    message = r"1 fit\(s\) of this estimator, which cost epsilon=1 of epsilon=1: raise epsilon, or"
    with pytest.raises(BudgetExceededError, match=f"{message} start anew with warm_start=False"):
        clf.fit(X, Y, X_public=X_PUBLIC)
    np.testing.assert_array_equal(clf.predict_proba(X), proba)
    plan = clf.set_params(epsilon=3.0).plan(X, Y, X_public=X_PUBLIC)
    clf.fit(X, Y, X_public=X_PUBLIC)
    assert clf.privacy_spent_.epsilon == plan.spent.epsilon == 3.0 and plan.spent.n_fits == 2
    assert clf.aggregator_.scale == pytest.approx(1.0)  # a pure epsilon of 2 was left
    clf.set_params(warm_start=False, epsilon=1.0).fit(X, Y, X_public=X_PUBLIC)
    assert clf.privacy_spent_.n_fits == 1


def test_a_limit_below_the_steps_that_were_begun_is_refused(monkeypatch):
    for share in (None, 1):
        clf = classifier(synthesizer=sums(share=share), warm_start=True)
        stop(clf, monkeypatch, synthesizers, "gather_sums")
        of_sums = gaussian_epsilon(1 / MULTIPLIER)
        message = f"epsilon={of_sums:.4g} with all steps of ClassSums of epsilon=5: raise epsilon"
        with pytest.raises(BudgetExceededError, match=message):
            clf.set_params(epsilon=5.0).fit(X, Y)
        assert clf.set_params(epsilon=of_sums + 3).fit(X, Y).privacy_spent_.n_fits == 2


def test_another_change_of_the_data_is_refused(monkeypatch):
    clf = model()
    stop(clf, monkeypatch, synthesizers, "gather_sums")
    message = r"fits that protect one record \(replace_one\); this one protects one"
    joined = ReverseNeighbors(n_cells=4, relation="add_or_remove_one")
    with pytest.raises(ValueError, match=rf"{message} record \(add_or_remove_one\)"):
        clf.set_params(base_estimator=joined).fit(X, Y)
    with pytest.raises(ValueError, match=f"{message} group.*or warm_start=False"):
        clf.set_params(base_estimator=ReverseNeighbors(n_cells=4)).fit(X, Y, groups=np.arange(400))
    costs(clf.fit(X, Y), OF_SUMS, OF_TABLE, n_fits=2)


def test_who_votes_follows_from_the_new_epsilon(monkeypatch):
    """Nobody, where sums take all of a small epsilon; records, where a larger one is given."""
    clf = classifier(schema=[(-1, 1)] * 2, epsilon=0.5, warm_start=True)
    stop(clf, monkeypatch, synthesizers, "gather_sums")
    assert clf._prefix.synthesis.synthesizer.share == 1
    clf.set_params(base_estimator=ReverseNeighbors(n_cells=4), epsilon=3.0)
    clf.set_params(aggregator=LaplaceMechanism()).fit(X, Y)
    spent = clf.privacy_spent_
    assert clf.aggregator_.scale < 1 and "ballots" in str(spent.tables)
    assert 2.9 < spent.epsilon <= 3.0 and spent.n_fits == 2


# --- polls, private tests, searches ---------------------------------------------------------------


def test_polled_rows_are_paid_for_once(tmp_path):
    ledger = Watched(tmp_path / "ledger")
    clf = model(ledger=ledger)
    votes = clf.poll(X, Y)
    costs(clf.fit(X, Y), OF_SUMS, OF_TABLE, n_fits=2)
    assert clf.X_synthetic_ is votes.synthesis.rows and len(ledger.costs) == 1
    clf = model(ledger=ledger)
    costs(clf.fit_votes(clf.poll(X, Y)), OF_SUMS, OF_TABLE, n_fits=1)
    assert len(ledger.costs) == 3
    costs(clf.fit(X, Y), *2 * [OF_SUMS, OF_TABLE], n_fits=2)
    clf.fit_votes(votes)  # of the rows that the other estimator paid for
    costs(clf, *3 * [OF_SUMS, OF_TABLE], n_fits=3)
    totals = [cost.mu_squared for cost in ledger.costs.values()]
    assert sum(totals) == pytest.approx(3 * OF_SUMS + 4 * OF_TABLE)


def test_votes_on_rows_that_an_interrupted_fit_left_count_all_of_it(monkeypatch):
    clf = model()
    stop(clf, monkeypatch, release, "_run_private_test")
    costs(clf.fit_votes(clf.poll(X, Y)), OF_SUMS, OF_TABLE, OF_TABLE, n_fits=2)


def test_the_outcome_of_a_private_test_counts(tmp_path, monkeypatch):
    ledger = Watched(tmp_path / "ledger", delta=1e-4, failure_probability=5e-5)
    params = teachers() | {"n_teachers": 100, "n_queries": 40, "aggregator": GNMax(4.0)}
    params |= {"accounting": "ptr", "synthesizer": sums(noise_multiplier=2.0)}
    clf = model(**params, epsilon=6.0, ledger=ledger)
    with monkeypatch.context() as patch, pytest.raises(PrivacyTestError) as caught:
        patch.setattr(ProposeTestRelease, "passes", lambda *args: False)
        clf.fit(X, Y)
    rows, first = clf._prefix.synthesis.rows, caught.value.privacy_spent
    tested = dict(ledger.costs)
    assert len(tested) == 1 and ledger.history()["n_queries"].tolist() == [40]
    clf.set_params(epsilon=40.0, accounting="data_independent").fit(X, Y)
    assert clf.X_synthetic_ is rows and clf.privacy_spent_.epsilon > first.epsilon
    assert len(ledger.costs) == 2 and ledger.costs[1] is tested[1]  # it no longer grows
    assert ledger.epsilon_of_entries == pytest.approx(clf.privacy_spent_.epsilon)


def test_the_best_model_of_a_search_goes_on_after_the_search():
    search = searched(base_estimator=ReverseNeighbors(n_cells=4)).fit(X, Y, X_public=X_PUBLIC)
    best = search.best_estimator_.set_params(warm_start=True, epsilon=15.0)
    with pytest.raises(BudgetExceededError, match=r"which cost epsilon=.* of epsilon=15"):
        best.fit(X, Y, X_public=X_PUBLIC)
    of_search = search.privacy_spent_.epsilon
    best.set_params(epsilon=2 * of_search).fit(X, Y, X_public=X_PUBLIC)
    assert best.privacy_spent_.epsilon > of_search and best.privacy_spent_.n_fits == 2


# --- seeds ----------------------------------------------------------------------------------------


def test_a_continued_fit_has_noise_of_its_own(monkeypatch):
    """The same seed, once with one fit, once with two: only the published mean is the same."""
    fresh = model(random_state=7).fit(X, Y)
    for name, is_kept in (("gather_sums", True), ("publish_centre", False)):
        clf = model(random_state=7)
        stop(clf, monkeypatch, synthesizers, name)
        clf.fit(X, Y)
        found, expected = clf.table_.prior, fresh.table_.prior
        assert np.array_equal(found.centre.mean, expected.centre.mean) == is_kept
        for part in ("counts", "by_class", "moment"):
            assert (getattr(found.sums, part) != getattr(expected.sums, part)).all()
    clf = model(random_state=7).fit(X, Y)
    before = clf.table_
    clf.fit(X, Y)
    assert (before.prior.centre.mean != clf.table_.prior.centre.mean).all()
    assert (before.prior.sums.counts != clf.table_.prior.sums.counts).all()


def test_noise_of_a_fit_that_was_paid_for_is_not_drawn_again(monkeypatch):
    given = {"X_public": X_PUBLIC}
    for name in ("_run_private_test", "_show_what_is_public"):
        clf = model(random_state=7, synthesizer=None)
        stop(clf, monkeypatch, release, name, X, Y, **given)
        fresh, again = (clone(clf).fit(X, Y, **given).public_soft_labels_ for _ in range(2))
        assert np.array_equal(fresh, again)
        assert not np.array_equal(fresh, clf.fit(X, Y, **given).public_soft_labels_)


# --- any line -------------------------------------------------------------------------------------


class Books:
    """Squared Gaussian parameters of what was published, and of what was paid for in vain."""

    def __init__(self, monkeypatch):
        self.published = self.lost = self.pending = 0.0
        for owner, name, cost in (
            (synthesizers, "publish_centre", OF_MEAN),
            (synthesizers, "publish_sums", OF_SUMS - OF_MEAN),
            (table, "checked_noisy", OF_TABLE),
        ):
            monkeypatch.setattr(owner, name, self.publishing(getattr(owner, name), cost))
        append = release.Account.append

        def pay(account, *args, **parts):
            self.pending = OF_SUMS + OF_TABLE  # at most: the step before the next one
            append(account, *args, **parts)

        monkeypatch.setattr(release.Account, "append", pay)

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


def claimed(clf):
    """The squared parameter that the next fit of an estimator would count for earlier ones."""
    prefix = clf._prefix
    if prefix is None:
        return 0.0
    return prefix.cost.mu_squared + (prefix.paid.mu_squared if prefix.paid is not None else 0.0)


@pytest.mark.slow
def test_chains_of_fits_interrupted_at_any_line_count_all_that_they_published(
    tmp_path, monkeypatch
):
    rng = np.random.default_rng()
    counted = Lines()
    with counted.within():
        model(ledger=Watched(tmp_path / "counted")).fit(X, Y)
    books = Books(monkeypatch)
    n_interrupted = 0
    for chain in range(40):
        books.published = books.lost = books.pending = 0.0
        ledgers = [Watched(tmp_path / f"{name} {chain}", epsilon=1000.0) for name in "ab"]
        clf = model(epsilon=None, ledger=ledgers[0])
        for _ in range(4):
            change = rng.integers(8)
            if change == 0:
                clf.set_params(synthesizer__n_rows=int(rng.integers(20, 60)))
            elif change == 1:
                clf.set_params(ledger=[None, *ledgers][rng.integers(3)])
            elif change == 2:
                clf = pickle.loads(pickle.dumps(clf))
            data = (X, Y) if change != 3 else (X[::-1], Y)
            lines = Lines(int(rng.integers(1.2 * counted.n_lines)) + 1)
            try:
                with lines.within():
                    clf.fit(*data)
            except KeyboardInterrupt as error:
                n_interrupted += 1
                books.interrupted()
                spent = getattr(error, "privacy_spent", None)
                assert spent is None or spent.n_fits >= 1
            assert books.published * (1 - 1e-6) <= claimed(clf)
            assert claimed(clf) <= (books.published + books.lost) * (1 + 1e-6)
        clf.set_params(ledger=ledgers[0]).fit(X, Y)
        expected = gaussian_epsilon(math.sqrt(claimed(clf)))
        assert clf.privacy_spent_.epsilon == pytest.approx(expected, rel=1e-4)
        assert books.published * (1 - 1e-6) <= claimed(clf)
        recorded = sum(cost.mu_squared for cost in ledgers[0].costs.values())
        assert books.published * (1 - 1e-6) <= recorded
    assert n_interrupted > 60
