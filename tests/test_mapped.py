"""References to rows of mapped files: other processes read the same numbers, and no other file."""

import os
import pickle
import sys

import numpy as np
import pytest
from conftest import note_calls
from joblib import parallel_config

from sklearn_pate import PATEClassifier
from sklearn_pate.runtime import mapped
from sklearn_pate.runtime.mapped import Packer, ReplacedFileError
from sklearn_pate.runtime.workers import run

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="references need Linux"),
    pytest.mark.usefixtures("forked_workers"),
]

X = np.random.default_rng(0).normal(size=(5000, 4))
SMALL = 1000  # bytes of a reference, at most; 1,000 rows have 32,000


@pytest.fixture
def rows(tmp_path):
    np.save(tmp_path / "X.npy", X)
    return np.load(tmp_path / "X.npy", mmap_mode="r")


@pytest.mark.parametrize(
    "part", [np.s_[1000:2000], np.s_[4999:], np.s_[::-3], np.s_[10:900, 1:3], np.s_[:0], np.s_[7]]
)
def test_reference_has_the_numbers_of_the_rows(rows, part):
    content = Packer().dumps((rows[part], np.asarray(rows)[part]))
    again, as_array = pickle.loads(content)
    assert len(content) < SMALL
    np.testing.assert_array_equal(again, X[part])
    np.testing.assert_array_equal(as_array, X[part])
    assert again.flags.writeable and type(again) is np.ndarray


@pytest.mark.parametrize(
    "dtype, order, offset", [("f4", "F", 0), (">i2", "C", 5000), ("?", "C", 3)]
)
def test_reference_has_the_numbers_of_any_layout(tmp_path, dtype, order, offset):
    given = {"shape": X.shape, "order": order, "offset": offset}
    written = np.memmap(tmp_path / "X", dtype, "w+", **given)
    written[:] = 100 * X
    for rows in (written, np.memmap(tmp_path / "X", dtype, "r", **given)):
        content = Packer().dumps(rows[1000:2000])
        again = pickle.loads(content)
        assert len(content) < SMALL and again.dtype == dtype
        np.testing.assert_array_equal(again, (100 * X)[1000:2000].astype(dtype))


def test_numbers_that_are_not_those_of_the_file_are_pickled(tmp_path, rows):
    changed = np.load(tmp_path / "X.npy", mmap_mode="c")
    changed[3] = 5
    for given in (changed, rows[[3, 1]], X, rows.astype(object)):
        content = Packer().dumps(given[:2])
        assert b"_read" not in content
        np.testing.assert_array_equal(pickle.loads(content), given[:2])


def test_replaced_file_is_not_read(tmp_path, rows):
    reference = Packer().dumps(rows[:3])
    np.save(tmp_path / "other.npy", -X)
    os.replace(tmp_path / "other.npy", tmp_path / "X.npy")
    with pytest.raises(ReplacedFileError, match="Keep it unchanged during a fit"):
        pickle.loads(reference)
    np.testing.assert_array_equal(pickle.loads(Packer().dumps(rows[:3])), X[:3])
    os.remove(tmp_path / "X.npy")
    np.testing.assert_array_equal(pickle.loads(Packer().dumps(rows[:3])), X[:3])


def test_unknown_mappings_send_the_numbers(rows, tmp_path, monkeypatch):
    monkeypatch.setattr(mapped, "_MAPPINGS", tmp_path / "nowhere")
    content = Packer().dumps(rows[:1000])
    assert len(content) > X[:1000].nbytes
    np.testing.assert_array_equal(pickle.loads(content), X[:1000])


@pytest.mark.parametrize("public", [X[:60].copy(), None], ids=["neighbors", "sums"])
def test_workers_read_mapped_rows_from_the_file(rows, public, monkeypatch):
    """The fit is the same, and no block has the size of its rows."""
    y = (X[:, 0] > 0).astype(int)

    def fitted(X, n_jobs):
        method = "sums" if public is None else "neighbors"
        clf = PATEClassifier(method=method, classes=[0, 1], n_jobs=n_jobs, random_state=0)
        return clf.fit(X, y, public).predict_proba(X[:100])

    sent, dumps = [], Packer.dumps
    monkeypatch.setattr(
        Packer, "dumps", lambda self, part: sent.append(dumps(self, part)) or sent[-1]
    )
    expected = fitted(X, 1)
    assert not sent
    np.testing.assert_array_equal(fitted(rows, 2), expected)
    assert sent and max(map(len, sent)) < X.nbytes


def test_workers_that_may_be_elsewhere_get_the_rows(rows, monkeypatch):
    """Only joblib's own processes are known to be on this machine."""
    references = note_calls(monkeypatch, mapped, "_mapped_file", lambda root: root)
    tasks = [(rows[:10],), (rows[10:20],)]
    with parallel_config(backend="multiprocessing"):
        found = list(run(iter(tasks), np.sum, n_jobs=2))
    np.testing.assert_allclose(sorted(found), sorted([X[:10].sum(), X[10:20].sum()]))
    assert not references
