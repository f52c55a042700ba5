"""Teachers on a cluster: Dask gives the votes of one process, and what goes where."""

import logging
import multiprocessing
import os
import signal
import sys
import time
import traceback
from functools import partial

import numpy as np
import pandas as pd
import pytest
from conftest import collect_votes, note_calls
from faulty import Marked, RaisesIt
from joblib import parallel_config
from sklearn.base import BaseEstimator, ClassifierMixin, TransformerMixin
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier

from sklearn_pate import PATEClassifier
from sklearn_pate.aggregators import GNMax
from sklearn_pate.class_sums.statistic import Centre, gather_sums, gather_total
from sklearn_pate.encoding import ClassTarget
from sklearn_pate.exceptions import TeacherError
from sklearn_pate.methods import ReverseNeighbors
from sklearn_pate.schema_release import SchemaRelease
from sklearn_pate.schema_release.counts import N_LEAVES, TICKS, Kind
from sklearn_pate.teachers import Sites

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("forked_workers")]
posix = pytest.mark.skipif(os.name != "posix", reason="needs SIGKILL")
RNG = np.random.default_rng(0)
X, X_PUBLIC = RNG.normal(size=(2400, 10)), RNG.normal(size=(200, 10))
Y = (X[:, 0] + RNG.normal(size=2400) > 0).astype(int)
SECRET = "xanthippe"


def model(teacher, **params):
    given = {"n_teachers": 24, "aggregator": GNMax(3.0), "epsilon": None, "classes": [0, 1]}
    given |= {"student": GaussianNB(), "random_state": 0}
    return PATEClassifier(teacher, **(given | params))


def votes_of(teacher, n_teachers=24, **params):
    given = {"teacher_indices": np.arange(2400) % n_teachers, "n_teachers": n_teachers}
    given |= {"n_classes": 2, "seed": np.random.SeedSequence(0)}
    return collect_votes([teacher], X, Y, X_PUBLIC, **(given | params))


def die_once(flag):
    """Set the flag and kill this process, unless another has set it."""
    try:
        os.close(os.open(flag, os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return
    os.kill(os.getpid(), signal.SIGKILL)


class Deadly(GaussianNB):
    """The first to find no flag sets it and kills its process, unless that is `home`."""

    def __init__(self, flag=None, home=None):
        super().__init__()
        self.flag, self.home = flag, home

    def fit(self, X, y):
        time.sleep(0.02)
        if os.getpid() != self.home:
            die_once(self.flag)
        return super().fit(X, y)


class Chatty(GaussianNB):
    def fit(self, X, y):
        print(SECRET, flush=True)
        print(SECRET, file=sys.stderr)
        logging.getLogger("distributed.worker").error(SECRET)
        return super().fit(X, y)


class Shapes(ClassifierMixin, BaseEstimator):
    """Remembers its rows, and their process."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        self.seen_ = X.shape, y.shape, os.getpid()
        return self

    def predict(self, X):
        return np.zeros(len(X), dtype=int)


# --- Dask ----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def cluster(forked_workers):
    """Return the client of two workers."""
    distributed = pytest.importorskip("distributed", reason="needs the extra dask")
    import dask

    given = {"n_workers": 2, "threads_per_worker": 1, "processes": True, "dashboard_address": ":0"}
    fork = "forkserver" in multiprocessing.get_all_start_methods()  # as for loky, it is quicker
    method = {"distributed.worker.multiprocessing-method": "forkserver" if fork else "spawn"}
    with (
        dask.config.set(method),
        distributed.LocalCluster(**given) as started,
        distributed.Client(started) as client,
    ):
        yield client


@pytest.fixture
def client(cluster):
    """Return the client, with both workers up: joblib asks how many there are only once."""
    cluster.wait_for_workers(2, timeout=180)
    with parallel_config(backend="dask"):
        yield cluster


def assert_same(fitted, expected):
    np.testing.assert_array_equal(fitted.curator_.votes, expected.curator_.votes)
    np.testing.assert_array_equal(fitted.public_labels_, expected.public_labels_)
    assert fitted.privacy_spent_ == expected.privacy_spent_


def released(client):
    """Whether nothing is left in the cluster's memory, after a moment."""
    for _ in range(100):
        kept = [client.run_on_scheduler(lambda dask_scheduler: len(dask_scheduler.tasks))]
        kept += client.run(lambda dask_worker: len(dask_worker.data)).values()
        if not any(kept):  # workers may get the message later than the scheduler
            return True
        time.sleep(0.05)
    return False


def test_dask_fit_equals_that_of_one_process(client):
    tree = DecisionTreeClassifier(splitter="random", max_depth=5)
    fitted = model(tree).fit(X, Y, X_PUBLIC)
    with parallel_config(backend="loky"):
        expected = model(tree, n_jobs=1).fit(X, Y, X_PUBLIC)
    assert_same(fitted, expected)
    assert np.array_equal(fitted.student_.theta_, expected.student_.theta_)


def test_dask_counts_of_a_schema_equal_those_of_one_process(client):
    rng = np.random.default_rng(0)
    n = 100_000
    X = pd.DataFrame({"a": rng.normal(size=n), "b": rng.choice(["x", "y"], n)})
    leaves = np.linspace(-5, 5, N_LEAVES + 1)
    kinds, amount = [Kind(False, leaves), Kind(True)], rng.integers(0, TICKS, n)
    release = SchemaRelease(2, 1.0, 1e-8)

    def counts():
        ranges = release.gather_ranges(X, amount)
        trees, texts = release.gather_values(X, amount, None, kinds)
        return ranges.tolist(), trees[0].tolist(), texts

    with parallel_config(backend="loky", n_jobs=1):
        expected = counts()
    assert counts() == expected
    assert released(client)


def test_dask_workers_get_their_records_and_keep_nothing(client, monkeypatch):
    cloudpickle = pytest.importorskip("cloudpickle", reason="comes with dask")

    def size_and_number(*args, tasks, **kwargs):
        return len(cloudpickle.dumps(tasks)), len(tasks)

    sizes = note_calls(monkeypatch, client, "submit", size_and_number)
    scattered = note_calls(monkeypatch, client, "scatter", lambda data, *args, **kwargs: data)
    _, teachers = votes_of(Shapes(), 600, keep_teachers=True)
    teachers = [t for t in teachers if t is not None]  # the others have records of one class
    assert {t.seen_[:2] for t in teachers} == {((4, 10), (4,))}
    pids = set(client.run(os.getpid).values())
    assert {t.seen_[2] for t in teachers} == pids and os.getpid() not in pids
    part, queries = 4 * 10 * 8 + 4 * 8, X_PUBLIC.nbytes
    assert sum(count for _, count in sizes) == 600 and max(count for _, count in sizes) == 2
    for size, count in sizes:  # queries once per batch
        assert size < count * part + queries + 2000 * (1 + count)
    assert not scattered  # scattered data is lost with the worker that holds it
    assert released(client)


def test_dask_votes_are_counted_as_they_arrive(client, tmp_path):
    file, trained, held = tmp_path / "trained", [], []

    def on_done(done):
        trained.append(file.stat().st_size - done)
        held.append(len(client.futures))

    votes_of(Marked(str(file), 0.02), 60, on_done=on_done)
    assert len(trained) == 60
    assert max(trained) <= 12 and max(held) <= 12  # not 60: few are ahead of the count
    assert released(client)


@posix
def test_dask_votes_survive_a_killed_worker(client, tmp_path):
    flag = tmp_path / "flag"
    votes, _ = votes_of(Deadly(str(flag), os.getpid()))
    assert flag.exists()
    with parallel_config(backend="loky", n_jobs=1):
        expected, _ = votes_of(GaussianNB())
    np.testing.assert_array_equal(votes, expected)


def load(name, home=None):
    if os.getpid() == home:
        raise ValueError("at home")
    rows = slice(int(name) * 100, int(name) * 100 + 100)
    return X[rows], np.array(["no", "yes"])[Y[rows]]


def test_dask_workers_load_sites(client):
    sites = Sites(partial(load, home=os.getpid()), [str(i) for i in range(24)])
    votes = model(GaussianNB(), classes=["no", "yes"]).poll(sites, None, X_PUBLIC)
    with parallel_config(backend="sequential"):
        at_home = Sites(load, sites.names)
        expected = model(GaussianNB(), classes=["no", "yes"]).poll(at_home, None, X_PUBLIC)
    np.testing.assert_array_equal(votes.counts, expected.counts)


def test_dask_workers_count_the_records_of_sites(client):
    names = [str(i) for i in range(24)]
    clf = PATEClassifier(method="neighbors", classes=["no", "yes"], random_state=0)
    votes = clf.poll(Sites(partial(load, home=os.getpid()), names), None, X_PUBLIC)
    with parallel_config(backend="sequential"):
        expected = clf.poll(X, np.array(["no", "yes"])[Y], X_PUBLIC)
    np.testing.assert_array_equal(votes.counts, expected.counts)


def write_to(path):
    """Send all output of this process to a file."""
    with open(path, "ab") as file:
        for stream in (1, 2):
            os.dup2(file.fileno(), stream)


def test_dask_output_of_teachers_stays_on_the_workers(client, tmp_path, capfd, caplog):
    written = tmp_path / "output"
    client.run(write_to, str(written))
    client.run(print, "heard", flush=True)
    votes_of(Chatty())
    with pytest.raises(TeacherError, match="failed: ValueError: its text may quote") as caught:
        votes_of(RaisesIt(ValueError(f"bad row '{SECRET}'")))
    logs = [*client.get_worker_logs().values(), client.get_scheduler_logs()]
    out, err = capfd.readouterr()
    assert written.read_text().count("heard") == 2
    texts = [written.read_text(), out, err, caplog.text, str(logs)]
    texts.append("".join(traceback.format_exception(caught.value)))
    assert SECRET not in "".join(texts) and released(client)


# --- four workers, and one of them killed -------------------------------------------------------


@pytest.fixture(scope="module")
def cluster_of_four(forked_workers):
    """Return the client of four workers."""
    distributed = pytest.importorskip("distributed", reason="needs the extra dask")
    import dask

    given = {"n_workers": 4, "threads_per_worker": 1, "processes": True, "dashboard_address": ":0"}
    fork = "forkserver" in multiprocessing.get_all_start_methods()
    method = {"distributed.worker.multiprocessing-method": "forkserver" if fork else "spawn"}
    with (
        dask.config.set(method),
        distributed.LocalCluster(**given) as started,
        distributed.Client(started) as client,
    ):
        yield client


@pytest.fixture
def client_of_four(cluster_of_four):
    """Return the client, with all four workers up."""
    cluster_of_four.wait_for_workers(4, timeout=180)
    with parallel_config(backend="dask"):
        yield cluster_of_four


class Fatal:
    """A value whose text kills a worker, once."""

    def __init__(self, flag, home):
        self.flag, self.home = flag, home

    def __str__(self):
        if os.getpid() != self.home:
            die_once(self.flag)
        return "y"


class FatalRows(TransformerMixin, BaseEstimator):
    """Encodes rows as they are, after it has killed a worker, once."""

    def __init__(self, flag=None, home=None):
        self.flag, self.home = flag, home

    def fit(self, X, y=None):
        return self

    def transform(self, X):
        if self.flag is not None and os.getpid() != self.home:
            die_once(self.flag)
        return X / 10


def schema_counts(flag, home):
    """Return both counts of a schema release; a text of one record may kill a worker."""
    n = 90_000
    rng = np.random.default_rng(0)
    texts = rng.choice(["x", "y"], n).astype(object)
    texts[50_000] = "y" if flag is None else Fatal(flag, home)
    columns = pd.DataFrame({"a": rng.normal(size=n), "b": pd.Series(texts, dtype=object)})
    leaves = np.linspace(-5, 5, N_LEAVES + 1)
    release, amount = SchemaRelease(2, 1.0, 1e-8), rng.integers(0, TICKS, n)
    kinds = [Kind(False, leaves), Kind(True)]
    ranges = release.gather_ranges(columns, amount, 4)
    trees, texts = release.gather_values(columns, amount, None, kinds, 4)
    return [*ranges, *trees.values(), np.array(sorted(texts[1].items()), dtype=object)]


def class_sums(flag, home):
    """Return the sums of rows; their encoder may kill a worker."""
    n = 60_000
    rows = np.random.default_rng(0).normal(size=(n, 5)) / 10
    encode = FatalRows(flag, home).transform
    part, target = (np.ones(n, dtype=np.int64), 1), ClassTarget([0, 1])
    total = gather_total(rows, part, 4, encode)
    sums = gather_sums(
        rows, np.arange(n) % 2, part, Centre(np.zeros(5)), target=target, n_jobs=4, encode=encode
    )
    return [total.total, total.n_records, sums.counts, sums.by_class, sums.moment]


def votes_in_cells(flag, home):
    """Return the votes of records in cells; their transformer may kill a worker."""
    rows = np.random.default_rng(0).normal(size=(90_000, 3))
    method = ReverseNeighbors(FatalRows(flag, home), n_cells=50, random_state=0)
    clf = PATEClassifier(method=method, classes=[0, 1], n_jobs=4)
    return [clf.poll(rows[1000:], np.arange(89_000) % 2, rows[:1000]).counts]


@posix
@pytest.mark.parametrize("statistic", [schema_counts, class_sums, votes_in_cells])
def test_dask_statistics_survive_a_killed_worker(client_of_four, tmp_path, statistic):
    flag = tmp_path / "flag"
    found = statistic(str(flag), os.getpid())
    assert flag.exists()
    with parallel_config(backend="sequential"):
        expected = statistic(None, os.getpid())
    assert len(found) == len(expected)
    for values, others in zip(found, expected, strict=True):
        np.testing.assert_array_equal(values, others)
    assert released(client_of_four)
