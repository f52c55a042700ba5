"""The papers' results: the page is made from files, and scripts for absent data work on others."""

import json
import re
import statistics
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.io import savemat

from benchmarks.papers import __main__ as command
from benchmarks.papers import glyph, headline, page, peers
from benchmarks.papers.__main__ import NAMES, compare, run
from benchmarks.shared import MissingError
from sklearn_pate.aggregators import ConfidentGNMax, GNMax, InteractiveGNMax
from sklearn_pate.rdp import DEFAULT_ORDERS, data_independent_epsilon, rdp_to_epsilon

DOCS = Path(__file__).parents[1] / "docs"
NUMBERS = {name: high for name, (_, high) in peers.BOUNDS.items()}
MACHINE = {"date": "2026-01-01", "device": "2 cores", "scikit-learn": "1.8"}


def entry(**changes):
    blank = {"source": "2017", "what": "student", "reported": "0.83", "setting": "s", "why": "w"}
    return blank | {
        **{"ours": {}, "earlier": 0.0, "headline": False, "missing": None, "seconds": 2.0},
        **changes,
    }


def results(*entries):
    return {"title": "T", "text": "t", "command": "c", "machine": MACHINE, "entries": entries}


# --- the page ------------------------------------------------------------------------------------


def test_the_page_is_what_the_files_say():
    assert (DOCS / "results.md").read_text(encoding="utf-8") == page.render(DOCS, NAMES)
    shown = {file.stem for file in (DOCS / "results").glob("*.json")}
    assert shown <= set(NAMES) and len(shown) >= 10


def test_the_readme_has_numbers_of_the_page():
    shown = []
    for name in ("adult", "students"):
        for done in json.loads((DOCS / "results" / f"{name}.json").read_text())["entries"]:
            ours = done["ours"]
            if "bound" in ours:
                mean, spread = (
                    statistics.fmean(ours["accuracy"]),
                    statistics.stdev(ours["accuracy"]),
                )
                epsilons = (ours.get(of) for of in ("bound", "exact", "any votes"))
                cells = (f"{statistics.fmean(of):.2f}" if of else "" for of in epsilons)
                shown.append([f"{mean:.3f} ± {spread:.3f}", *cells])
    rows = re.findall(r"^\| \.\.\. (.*) \|$", (DOCS.parent / "README.md").read_text(), re.M)
    assert len(rows) == 9
    for row in rows:
        assert [cell.strip() for cell in row.split("|")][1:] in shown


def test_a_row_tells_mean_spread_and_range():
    text = page.section(results(entry(ours={"accuracy": [0.8, 0.9], "any votes": [1.0, 1.0]})))
    text = text.replace("\N{NO-BREAK SPACE}", " ")
    assert "accuracy: **0.85** ± 0.071 [0.8, 0.9]<br>any votes: **1** |" in text
    assert "| **student** (2017)<br>s; 2 s.<br>*Note:* w. | 0.83 |" in text and "`c`" in text


def test_a_row_that_did_not_run_says_what_it_needs():
    text = page.section(results(entry(missing="SVHN")))
    assert "| not run: needs SVHN |" in text and "2 s" not in text


def test_modules_without_results_are_named(tmp_path):
    (tmp_path / "results").mkdir()
    assert all(f"`{name}`" in page.render(tmp_path, NAMES) for name in NAMES)


@pytest.mark.parametrize("other, verdict", [(0.84, " within"), (1.2, "NOT within")])
def test_another_run_is_compared_in_spreads(capsys, other, verdict):
    old = results(entry(ours={"accuracy": [0.8, 0.9]}))
    compare(old, results(entry(ours={"accuracy": [other, other]})))
    printed = capsys.readouterr().out
    assert verdict in printed and (("NOT" in printed) == ("NOT" in verdict))


def test_each_module_has_entries_and_a_title():
    for name in NAMES:
        text = (Path(command.__file__).parent / f"{name}.py").read_text(encoding="utf-8")
        assert text.startswith('"""') and text.split("\n")[0].endswith(".")
        assert "\ndef entries(seeds" in text


@pytest.mark.parametrize("name", ["composition", "adult", "glyph"])
def test_without_data_a_row_says_so(tmp_path, monkeypatch, name):
    monkeypatch.setenv("SKLEARN_PATE_DATA", str(tmp_path))
    rows = run(name, range(1))["entries"]
    assert len(rows) == (3 if name == "glyph" else 1)
    for row in rows:
        assert "SKLEARN_PATE_DATA" in row["missing"] and not row["ours"]
        assert str(tmp_path) not in json.dumps(row)


def test_points_of_the_figure_are_means_of_what_has_both():
    rows = [
        entry(ours={"accuracy": [0.7, 0.9], "exact": [2.0, 4.0]}),
        entry(ours={"accuracy": [0.6], "exact": [1.0]}),
        entry(ours={"accuracy": [0.5]}),
    ]
    (first, second) = headline.points(rows, "exact")
    assert first == (1.0, 0.6, 0.0) and second == pytest.approx((3.0, 0.8, 0.1 * 2**0.5))


def test_columns_for_diffprivlib_keep_their_public_bounds():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({name: rng.uniform(0, 2 * top, 50) for name, top in NUMBERS.items()})
    for k in range(8):
        values = rng.choice(["a", "b", "c"], 50)
        frame[f"c{k}"] = pd.Categorical(values, ["a", "b", "c"])
    frame.loc[0, "c0"] = np.nan
    found = peers.tables(frame)
    assert set(found) == {"numbers", "codes", "onehot", "splines"}
    for table, width in ((found["numbers"], 5), (found["codes"], 13), (found["onehot"], 29)):
        assert table.shape == (50, width) and table.min() >= 0 and table.max() <= 1
    assert np.linalg.norm(found["splines"], axis=1).max() <= 13**0.5
    other = peers.tables(frame.iloc[:10])  # of the row alone: nothing is fitted on the data
    np.testing.assert_array_equal(other["splines"], found["splines"][:10])


def test_results_are_not_lost_where_data_are_missing(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("SKLEARN_PATE_DATA", str(tmp_path))
    monkeypatch.setattr(command, "DOCS", tmp_path)
    monkeypatch.setattr("sys.argv", ["papers", "--only", "composition"])
    (tmp_path / "results").mkdir()
    file = tmp_path / "results" / "composition.json"
    file.write_text(json.dumps(results(entry(ours={"exact": [0.4]}))))
    before = file.read_text()
    with pytest.raises(SystemExit, match="composition: left as before"):
        command.main()
    assert file.read_text() == before and "0.4" in (tmp_path / "results.md").read_text()
    assert "composition: needs" in capsys.readouterr().out
    monkeypatch.setattr("sys.argv", ["papers", "--only", "composition", "--compare"])
    command.main()
    assert "not compared" in capsys.readouterr().out
    file.unlink()
    monkeypatch.setattr("sys.argv", ["papers", "--only", "composition"])
    command.main()
    assert json.loads(file.read_text())["entries"][0]["missing"]


# --- Glyph ---------------------------------------------------------------------------------------


def test_pairs_are_imbalanced_and_partly_mislabelled():
    rng = np.random.default_rng(0)
    digits = np.repeat(np.arange(10), 20)
    images = np.stack([digits, digits], axis=1).astype(float)
    X, true, given = glyph.pairs(images, digits, 200_000, rng, wrong=0.1)
    assert (X[:, 0] == true // 10).all() and (X[:, 2] == true % 10).all()
    counts = np.bincount(true)
    assert counts[99] / counts[0] == pytest.approx(5, rel=0.15)
    assert np.mean(given != true) == pytest.approx(0.099, abs=0.003)  # 1 in 100 is right by luck


def test_votes_of_the_paper_are_read_and_paid(tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    votes = rng.multinomial(5000, [0.9] + [0.1 / 149] * 149, size=40)
    (tmp_path / "glyph").mkdir()
    for name in ("glyph_5000_teachers", "glyph_round1", "glyph_round2"):
        np.save(tmp_path / "glyph" / f"{name}.npy", votes)
    student = np.full((40, 150), 0.5 / 149)
    student[:, 0] = 0.5
    np.save(tmp_path / "glyph" / "glyph_round2_student.npy", student)
    monkeypatch.setenv("SKLEARN_PATE_DATA", str(tmp_path))
    alone, rounds = glyph.published_votes()

    def cost(mechanism, **kwargs):  # no query of these is answered by the student
        passed = 1 - np.exp(mechanism.outcome_log_proba(votes, **kwargs)[:, -1])
        return mechanism.published_rdp(votes, DEFAULT_ORDERS, paid=passed, **kwargs).sum(axis=0)

    def epsilon(total):
        return rdp_to_epsilon(total, 1e-8, DEFAULT_ORDERS, conversion="classic")[0]

    expected = epsilon(cost(ConfidentGNMax(1000, sigma1=500.0, sigma2=100.0)))
    assert alone.ours["bound"] == pytest.approx((expected,))
    total = cost(ConfidentGNMax(3500, sigma1=1500.0, sigma2=100.0)) + cost(
        InteractiveGNMax(3500, sigma1=2000.0, sigma2=200.0, confidence=0.75), student_proba=student
    )
    assert rounds.ours["bound"] == pytest.approx((epsilon(total),))
    (tmp_path / "glyph" / "glyph_round1.npy").unlink()
    absent = list(glyph.published_votes())
    assert len(absent) == 2 and all("glyph" in row.missing for row in absent)


def test_an_expected_cost_weighs_answers_by_their_probability():
    votes = np.array([[600, 400], [1000, 0]])
    mechanism = ConfidentGNMax(800, sigma1=50.0, sigma2=40.0)
    mine = glyph.expected_cost(mechanism, votes, votes.max(axis=1))
    passed = 1 - np.exp(mechanism.outcome_log_proba(votes)[:, -1])
    theirs = mechanism.published_rdp(votes, DEFAULT_ORDERS, paid=passed).sum(axis=0)
    np.testing.assert_allclose(mine, theirs, rtol=1e-12)


# --- SVHN ----------------------------------------------------------------------------------------


def made_up(folder, n=60):
    rng = np.random.default_rng(0)
    folder.mkdir()
    for part in ("train", "extra", "test"):
        labels = rng.integers(1, 11, size=(n, 1)).astype(np.uint8)  # 10 is the digit 0
        images = rng.integers(0, 256, size=(32, 32, 3, n)).astype(np.uint8)
        savemat(folder / f"{part}_32x32.mat", {"X": images, "y": labels})
    return folder


def test_svhn_is_fetched_read_and_fitted(tmp_path, monkeypatch):
    pytest.importorskip("skorch")
    from sklearn.dummy import DummyClassifier

    from benchmarks.papers import svhn

    source = made_up(tmp_path / "source")
    folder = tmp_path / "data" / "svhn"
    svhn.fetch(folder, source.as_uri())
    kept = (folder / "test_32x32.mat").stat().st_mtime_ns
    svhn.fetch(folder, source.as_uri())
    assert (folder / "test_32x32.mat").stat().st_mtime_ns == kept
    X, y = svhn.load(folder, "train")
    assert X.shape == (60, 3, 32, 32) and 0.9 < X.max() <= 1 and set(y) <= set(range(10))
    assert (y == 0).any()
    monkeypatch.setenv("SKLEARN_PATE_DATA", str(tmp_path / "data"))
    small = {"n_teachers": 4, "n_held_out": 20, "epochs": 1}
    monkeypatch.setattr(svhn, "RUNS", [("2017", GNMax(2.0), 500, "82.72% at 5.04")])
    (row,) = svhn.entries(range(2), **small, student=DummyClassifier(strategy="most_frequent"))
    assert row.ours["answered"] == (40.0, 40.0) and row.missing is None
    held_out = np.bincount(svhn.load(folder, "test")[1][-20:], minlength=10)
    assert all(round(20 * score) in held_out for score in row.ours["accuracy"])
    any_votes, _ = data_independent_epsilon(GNMax(2.0), 40, 1e-6, n_teachers=4, n_classes=10)
    assert row.ours["any votes"] == pytest.approx((any_votes,) * 2)


def test_svhn_that_is_not_there(tmp_path, monkeypatch):
    pytest.importorskip("skorch")
    from benchmarks.papers import svhn

    with pytest.raises(MissingError, match=r"train_32x32.mat"):
        svhn.load(tmp_path, "train")
    monkeypatch.setenv("SKLEARN_PATE_DATA", str(tmp_path))
    rows = list(svhn.entries(range(1)))
    assert [row.reported[:5] for row in rows] == ["82.72", "90.66", "91.7%"]
    assert all("svhn" in row.missing and not row.ours for row in rows)

    def breaks_off(url, file):
        Path(file).write_bytes(b"half of it")
        raise OSError(url)

    monkeypatch.setattr("urllib.request.urlretrieve", breaks_off)
    with pytest.raises(OSError):
        svhn.fetch(tmp_path / "svhn", "somewhere")
    assert not list((tmp_path / "svhn").glob("*.mat"))
