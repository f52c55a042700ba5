"""Records that vote in blocks: the same table whatever the blocks, the workers and what failed."""

import os
import stat
import warnings

import joblib
import numpy as np
import pandas as pd
import pytest
from conftest import cases, interrupt, note_calls
from joblib import parallel_config
from processes import marks_since_last
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.frozen import FrozenEstimator
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from sklearn_pate import PATEClassifier
from sklearn_pate.encoding.custom import transformed_private
from sklearn_pate.encoding.targets import ClassTarget
from sklearn_pate.exceptions import TeacherError
from sklearn_pate.methods import ReverseNeighbors
from sklearn_pate.neighbors import centers, counting
from sklearn_pate.neighbors.centers import nearest_cells
from sklearn_pate.neighbors.counting import count_votes
from sklearn_pate.rdp.discrete import GRID
from sklearn_pate.runtime import blocks
from sklearn_pate.runtime.private_data import PrivateData

pytestmark = pytest.mark.usefixtures("forked_workers")

RNG = np.random.default_rng(0)
X, X_PUBLIC = RNG.normal(size=(61, 3)), RNG.normal(size=(40, 3))
Y = RNG.integers(0, 3, size=61)
THREE = ClassTarget(range(3))
WEIGHT = np.clip(RNG.uniform(-0.5, 1.5, size=61), 0, 1)
GROUPS = np.repeat(np.arange(9), [1, 2, 3, 20, 4, 5, 6, 10, 10])[RNG.permutation(61)]
SECRET = "xanthippe"


def refuse_large(rows):
    if (np.asarray(rows) > 50).any():
        raise ValueError(f"{SECRET} {rows}")
    return rows


class Marks(TransformerMixin, BaseEstimator):
    """Passes rows on, and leaves a mark in a file for each block of ten."""

    def __init__(self, file=None, scale=1.0):
        self.file, self.scale = file, scale

    def fit(self, X, y=None):
        return self

    def transform(self, X):
        if len(X) == 10:
            with open(self.file, "a") as file:
                file.write("x")
        return np.asarray(X) * self.scale


def talk(X):
    """Print and warn of rows, also below Python's streams."""
    if len(X) == 10:
        print(SECRET)
        os.write(2, SECRET.encode())
        warnings.warn(SECRET, stacklevel=2)
    return X


def make_neighbors(transformer=None, **params):
    transformer = StandardScaler() if transformer is None else transformer
    return ReverseNeighbors(transformer, **{"n_cells": 8, "random_state": 0} | params)


def pate(method=None, **params):
    method = make_neighbors() if method is None else method
    given = {"epsilon": 50.0, "classes": [0, 1, 2], "random_state": 0}
    return PATEClassifier(method=method, **given | params)


def table(clf, features=X, codes=Y, public=X_PUBLIC, **given):
    return clf.poll(features, codes, X_public=public, **given).counts


def set_block_size(monkeypatch, size):
    monkeypatch.setattr(blocks, "BLOCK_SIZE", size)


@pytest.fixture
def in_tens(monkeypatch):
    """Let blocks be of ten records."""
    set_block_size(monkeypatch, 10)


# --- blocks --------------------------------------------------------------------------------------


@pytest.mark.slow
@cases(
    "n_neighbors, given, fails",
    (2, {"sample_weight": WEIGHT}, True),
    (3, {"groups": GROUPS}, True),
    (2, {"sample_weight": WEIGHT, "groups": GROUPS}, False),
)
def test_votes_of_blocks_equal_votes_of_all_records(monkeypatch, n_neighbors, given, fails):
    rows = X.copy()
    if fails:
        rows[[0, 30, 31, 60]] = 100.0
        rows[7] = np.nan
    transformer = FunctionTransformer(refuse_large)
    clf = pate(method=make_neighbors(transformer, n_neighbors=n_neighbors))
    votes = []
    for size in (3, 20):
        set_block_size(monkeypatch, size)
        votes.append(clf.poll(rows, Y, X_public=X_PUBLIC, **given))
    features = transformed_private(transformer, rows, 3)
    nearest = nearest_cells(features, votes[0].method._centers, n_neighbors)
    given = {"sample_weight": None, "groups": None} | given
    all_at_once = count_votes(nearest, Y, n_cells=8, target=THREE, **given)
    assert all_at_once.sum() > 0
    for found in votes:
        np.testing.assert_array_equal(found.counts, all_at_once * GRID)


FRAME = pd.DataFrame(X, columns=list("abc"))
PUBLIC_FRAME = pd.DataFrame(X_PUBLIC, columns=list("abc"))
#: Private and public rows.
FORMS = {
    "positions": (FRAME, PUBLIC_FRAME),
    "identifiers": (FRAME.set_axis([f"p{k}" for k in range(61)]), PUBLIC_FRAME),
    "sparse": (sparse.csr_matrix(X), sparse.csr_matrix(X_PUBLIC)),
}


@pytest.mark.parametrize("form", FORMS)
def test_votes_of_blocks_do_not_depend_on_the_form_of_rows(form, in_tens):
    rows, public = FORMS[form]
    method = make_neighbors(FunctionTransformer())
    expected = table(pate(method=method), groups=GROUPS)
    found = table(pate(method=method), rows, public=public, groups=GROUPS)
    np.testing.assert_array_equal(found, expected)


def seen_blocks(monkeypatch, groups=None):
    """Return the numbers of the records in each block, as they are read."""
    note = lambda rows, indices: indices.tolist()  # noqa: E731
    seen = note_calls(monkeypatch, blocks, "copied_rows", note)
    table(pate(), groups=groups)
    return seen


def test_blocks_read_each_record_once(monkeypatch, in_tens):
    seen = seen_blocks(monkeypatch)
    assert sum(seen, []) == list(range(61)) and [len(rows) for rows in seen] == [10] * 6 + [1]


def test_blocks_end_where_a_group_ends(monkeypatch, in_tens):
    seen = seen_blocks(monkeypatch, GROUPS)
    assert sorted(sum(seen, [])) == list(range(61))
    assert sum(len(set(GROUPS[rows])) for rows in seen) == 9  # no group is in two
    # A group of 20 makes a large block
    assert [len(rows) for rows in seen] == [26, 15, 10, 10]


def test_blocks_number_their_rows_from_zero(monkeypatch, in_tens):
    seen = []

    class Spy(FunctionTransformer):
        def transform(self, rows):
            seen.append(rows.index.tolist())
            return super().transform(rows)

    table(pate(method=make_neighbors(Spy())), FRAME, public=PUBLIC_FRAME, groups=GROUPS)
    assert seen[-4:] == [list(range(size)) for size in (26, 15, 10, 10)]


def test_private_rows_are_not_changed_by_a_transformer(in_tens):
    """A transformer that writes into its rows gets copies."""

    class Writes(FunctionTransformer):
        def transform(self, rows):
            if len(rows) != 10:
                return rows
            rows *= 2
            return rows / 2

    rows = X.copy()
    given = table(pate(method=make_neighbors(Writes())), rows)
    np.testing.assert_array_equal(rows, X)
    np.testing.assert_array_equal(
        given, table(pate(method=make_neighbors(FunctionTransformer())), rows)
    )


# --- workers -------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["loky", "threading"])
def test_votes_of_blocks_do_not_depend_on_workers(in_tens, tmp_path, backend):
    mapped = np.lib.format.open_memmap(tmp_path / "rows.npy", "w+", float, X.shape)
    mapped[:] = X
    for transformer in (None, FrozenEstimator(StandardScaler().fit(X_PUBLIC))):
        expected = table(
            pate(method=make_neighbors(transformer)), groups=GROUPS, sample_weight=WEIGHT
        )
        clf = pate(method=make_neighbors(transformer), n_jobs=2)
        with parallel_config(backend=backend), warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            given = table(clf, mapped, groups=GROUPS, sample_weight=WEIGHT)
        np.testing.assert_array_equal(given, expected)
        warned = [w for w in caught if "transformers run in threads of one" in str(w.message)]
        assert bool(warned) == (backend == "threading")


@pytest.mark.slow
def test_transformer_output_is_suppressed_in_each_worker(in_tens, capfd):
    table(pate(method=make_neighbors(FunctionTransformer(talk)), n_jobs=2))
    assert capfd.readouterr() == ("", "")


def test_blocks_are_not_sent_after_a_failure(in_tens, monkeypatch):
    seen = []

    def fail(numbers, *args, **params):
        seen.append(len(numbers))
        if len(seen) == 5:
            raise ValueError(f"{SECRET} {numbers}")
        return nearest_cells(numbers, *args, **params)

    for module in (centers, counting):
        monkeypatch.setattr(module, "nearest_cells", fail)
    with pytest.raises(TeacherError, match="a block of records could not be counted") as caught:
        pate().fit(X, Y, X_public=X_PUBLIC)
    assert seen == [10] * 5 and str(caught.value).endswith("ValueError")
    assert caught.value.__context__ is None and caught.value.__cause__ is None


# --- progress ------------------------------------------------------------------------------------


def lines(clf, capsys, **given):
    clf.set_params(verbose=1).fit(X, Y, X_public=X_PUBLIC, **given)
    return [text.strip() for text in capsys.readouterr().out.replace("\n", "\r").split("\r")]


def test_progress_is_printed_by_blocks(in_tens, capsys):
    shown = [text for text in lines(pate(), capsys) if text.startswith("records")]
    assert [text.split()[1].rstrip(",") for text in shown] == [f"{k}/7" for k in range(8)]


@pytest.mark.slow
def test_progress_does_not_print_private_numbers(in_tens, capsys):
    for clf, groups in (
        (pate(method=make_neighbors(relation="add_or_remove_one")), None),
        (pate(), GROUPS),
    ):
        shown = [text for text in lines(clf, capsys, groups=groups) if text.startswith("records")]
        assert [text.split()[1] for text in shown] == ["0/1", "1/1"]


# --- memory --------------------------------------------------------------------------------------


@pytest.fixture
def counted(tmp_path, in_tens):
    """Return how many blocks were transformed since the last call."""
    return marks_since_last(tmp_path / "marks")


def caching(tmp_path, method=None, **params):
    """Return a classifier that caches the tables of blocks; sixty records are six blocks."""
    transformer = Marks(str(tmp_path / "marks"))
    given = {"n_cells": 8} | (method or {})
    return pate(
        method=ReverseNeighbors(transformer, **given), **{"memory": tmp_path / "memory"} | params
    )


@pytest.mark.slow
def test_memory_keeps_counted_blocks(tmp_path, counted):
    expected = table(caching(tmp_path), X[:60], Y[:60])
    assert counted() == 6
    again = table(caching(tmp_path, n_jobs=2), X[:60].copy(), Y[:60].tolist(), X_PUBLIC.copy())
    assert counted() == 0
    np.testing.assert_array_equal(again, expected)
    assert stat.S_IMODE((tmp_path / "memory" / "joblib").stat().st_mode) == 0o700


@pytest.mark.slow
def test_memory_without_a_seed_keeps_cells_and_draws_fresh_noise(tmp_path, counted):
    clf = caching(tmp_path, random_state=None)
    first, again = (clone(clf).fit(X[:60], Y[:60], X_public=X_PUBLIC) for _ in range(2))
    assert counted() == 6
    np.testing.assert_array_equal(first.curator_.votes, again.curator_.votes)
    assert not np.array_equal(first.public_soft_labels_, again.public_soft_labels_)
    # Cells follow the public rows alone
    cached = [clf.poll(X[:60] + k, Y[:60], X_public=X_PUBLIC) for k in (0, 1)]
    np.testing.assert_array_equal(*(votes.method._centers for votes in cached))
    other = clf.poll(X[:60], Y[:60], X_public=X_PUBLIC + 1)
    assert cached[0].method._seed == cached[1].method._seed != other.method._seed


def with_one_changed(array, at):
    changed = np.array(array)
    changed[at] = changed[at] * 0.5 + 1e-9
    return changed


#: Arguments of another fit, and how many of its blocks are counted anew
CHANGED = [
    ({"features": with_one_changed(X[:60], (25, 1))}, 1),
    ({"codes": np.r_[Y[:59], (Y[59] + 1) % 3]}, 1),
    ({"sample_weight": np.r_[0.25, np.full(59, 0.5)]}, 1),
    ({"groups": np.arange(60) // 2}, 6),
    ({"public": X_PUBLIC + np.eye(40, 3)}, 6),
    ({"method__transformer__scale": 2.0}, 6),
    ({"method__n_neighbors": 2}, 6),
    ({"classes": [0, 1, 2, 3]}, 6),
    ({"method__random_state": 1}, 6),
]


@pytest.mark.slow
def test_memory_counts_changed_blocks_anew(tmp_path, counted):
    clf = caching(tmp_path, {"random_state": 0})
    data = {"features": X[:60], "codes": Y[:60], "sample_weight": np.full(60, 0.5)}
    table(clf, **data)
    assert counted() == 6
    for given, n_changed in CHANGED:
        params = {name: value for name, value in given.items() if name in clf.get_params()}
        changed = data | {name: value for name, value in given.items() if name not in params}
        other = clone(clf).set_params(**params)
        found = table(other, **changed)
        assert counted() == n_changed, given
        np.testing.assert_array_equal(found, table(other.set_params(memory=None), **changed))
        counted()


@pytest.mark.slow
def test_memory_on_a_full_disk_is_warned_of(tmp_path, counted, monkeypatch):
    monkeypatch.setattr(blocks, "is_cached", lambda *args: False)
    with pytest.warns(UserWarning, match="memory could not keep all votes"):
        table(caching(tmp_path), X[:60], Y[:60])


@pytest.mark.slow
def test_memory_continues_an_interrupted_fit(tmp_path, counted):
    private = PrivateData(X=X[:60], codes=Y[:60], target=THREE)
    memory = joblib.Memory(tmp_path / "memory", verbose=0)

    def cast_votes(on_done=None):
        method = make_neighbors(Marks(str(tmp_path / "marks")), random_state=None)
        method.prepare(private, X_PUBLIC, memory=memory)
        method.prepare_public(X_PUBLIC, noise_std=1.0, n_records=60, n_classes=3)
        return method.vote(private, X_PUBLIC, on_done=on_done)

    for _ in range(3):
        pytest.raises(KeyboardInterrupt, cast_votes, interrupt)
    n_before = counted()
    found = cast_votes()
    assert n_before == 1 and counted() == 5
    np.testing.assert_array_equal(found, cast_votes())
