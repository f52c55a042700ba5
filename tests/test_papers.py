"""The papers' results: the page is made from files, and scripts run on made-up data."""

import json
import re
import statistics
from pathlib import Path

import joblib
import numpy as np
import pandas as pd
import pytest
from scipy.io import savemat

from benchmarks.papers import __main__ as command
from benchmarks.papers import ballot_parts, experiments, glyph, headline, page, peers
from benchmarks.papers.__main__ import NAMES, compare, run
from benchmarks.shared import MissingError
from sklearn_pate.aggregators import ConfidentGNMax, GNMax, InteractiveGNMax
from sklearn_pate.rdp import (
    DEFAULT_ORDERS,
    data_independent_epsilon,
    gdp_to_epsilon,
    rdp_to_epsilon,
)
from sklearn_pate.rdp.table import gaussian_table_cost, laplace_table_cost

DOCS = Path(__file__).parents[1] / "docs"
#: Column -> its public upper bound
HIGHEST = {name: high for name, (_, high) in peers.BOUNDS.items()}
MACHINE = {"date": "2026-01-01", "device": "2 cores", "scikit-learn": "1.8"}


def entry(**changes):
    blank = {
        "source": "2017",
        "what": "student",
        "reported": "0.83",
        "setting": "s",
        "why": "w",
        "ours": {},
        "earlier": 0.0,
        "headline": False,
        "missing": None,
        "seconds": 2.0,
    }
    return blank | changes


def results(*entries):
    return {"title": "T", "text": "t", "command": "c", "machine": MACHINE, "entries": entries}


# --- the page ------------------------------------------------------------------------------------


def test_the_page_is_what_the_files_say():
    assert (DOCS / "results.md").read_text(encoding="utf-8") == page.render(DOCS, NAMES)
    shown = {file.stem for file in (DOCS / "results").glob("*.json")}
    assert shown <= set(NAMES)
    assert len(shown) >= 10


ADULT = ("ballots", "UCI Adult, ballots, epsilon 0.25")
ADULT_AT_1 = ("ballots", "UCI Adult, ballots, epsilon 1")
NO_PRIVACY = ("peers", "no privacy")
MNIST = ("ballots", "MNIST, epsilon 0.1")
FEW_LABELS = ("composition", "100 queries, LNMax(0.05), delta 1e-05")
MANY_LABELS = ("composition", "1000 queries, LNMax(0.05), delta 1e-06")
#: What the page calls the cost that holds for all votes
ANY_VOTES = "data-independent cost of the mechanism"
#: Each number of the README's section, in its order: a row of the page, and a field of it or the
#: name of what was measured
IN_README = [
    ("32,561", ADULT, "setting"),
    ("4,999", ADULT, "setting"),
    ("0.8515", ADULT, "accuracy"),
    ("0.25", ADULT, "what"),
    ("0.8571", ADULT_AT_1, "accuracy"),
    ("1", ADULT_AT_1, "what"),
    ("0.8582", NO_PRIVACY, "additive model"),
    ("0.8476", NO_PRIVACY, "random forest"),
    ("0.7629", NO_PRIVACY, "majority class"),
    ("60,000", MNIST, "setting"),
    ("9,000", MNIST, "setting"),
    ("0.9868", MNIST, "accuracy"),
    ("0.1", MNIST, "what"),
    ("99.1%", MNIST, "reported"),
    ("100", FEW_LABELS, "what"),
    ("5.80", FEW_LABELS, "reported"),
    ("1,000", MANY_LABELS, "what"),
    ("26", MANY_LABELS, "reported"),
    ("2.485", FEW_LABELS, ANY_VOTES),
    ("10.38", MANY_LABELS, ANY_VOTES),
]
NUMBER = re.compile(r"\d+(?:,\d{3})*(?:\.\d+)?%?")


def row_of_the_page(name, what):
    entries = json.loads((DOCS / "results" / f"{name}.json").read_text())["entries"]
    (found,) = (each for each in entries if each["what"] == what)
    return found


def test_the_readme_has_numbers_of_the_page():
    readme = (DOCS.parent / "README.md").read_text(encoding="utf-8")
    section = readme.split("\n## Three results\n")[1].split("\n## ")[0]
    shown = re.sub(r"arXiv [\d.]+|50,000 dollars", "", section)  # names, and what the data ask
    assert NUMBER.findall(shown) == [text for text, _, _ in IN_README]


@pytest.mark.parametrize(("text", "row", "field"), IN_README)
def test_a_number_of_the_readme_is_that_of_the_page(text, row, field):
    found = row_of_the_page(*row)
    if field in found:
        numbers = NUMBER.findall(found[field].replace(",", ""))
        assert text.replace(",", "") in numbers
    else:
        assert page.number(statistics.fmean(found["ours"][field])) == text


def test_means_of_the_readme_are_of_five_fits():
    assert {
        len(row_of_the_page(*row)["ours"]["accuracy"]) for row in (ADULT, ADULT_AT_1, MNIST)
    } == {5}


def test_a_row_tells_mean_spread_and_range():
    text = page.section(
        results(entry(ours={"accuracy": [0.8, 0.9], "data-independent": [1.0, 1.0]}))
    )
    text = text.replace("\N{NO-BREAK SPACE}", " ")
    assert "accuracy: **0.85** ± 0.071 [0.8, 0.9]<br>data-independent: **1** |" in text
    assert "| **student** (2017)<br>s; 2 s.<br>*Note:* w. | 0.83 |" in text
    assert "`c`" in text


def test_a_row_that_did_not_run_says_what_it_needs():
    text = page.section(results(entry(missing="SVHN")))
    assert "| not run: needs SVHN |" in text
    assert "2 s" not in text


def test_modules_without_results_are_named(tmp_path):
    (tmp_path / "results").mkdir()
    text = page.render(tmp_path, NAMES)
    for name in NAMES:
        assert f"`{name}`" in text


@pytest.mark.parametrize(("accuracy", "is_within"), [(0.84, True), (1.2, False)])
def test_another_run_is_compared_in_spreads(capsys, accuracy, is_within):
    before = results(entry(ours={"accuracy": [0.8, 0.9]}))
    after = results(entry(ours={"accuracy": [accuracy, accuracy]}))
    compare(before, after)
    printed = capsys.readouterr().out
    assert " within" in printed
    assert ("NOT" in printed) == ("NOT within" in printed) == (not is_within)


def test_each_module_has_entries_and_a_title():
    for name in NAMES:
        text = (Path(command.__file__).parent / f"{name}.py").read_text(encoding="utf-8")
        assert text.startswith('"""')
        assert text.split("\n")[0].endswith(".")
        assert "\ndef entries(seeds" in text


@pytest.mark.parametrize("name", ["composition", "adult", "glyph"])
def test_without_data_a_row_says_so(tmp_path, monkeypatch, name):
    monkeypatch.setenv("SKLEARN_PATE_DATA", str(tmp_path))
    rows = run(name, range(1))["entries"]
    assert len(rows) == (3 if name == "glyph" else 1)
    for row in rows:
        assert "SKLEARN_PATE_DATA" in row["missing"]
        assert not row["ours"]
        assert str(tmp_path) not in json.dumps(row)


def test_points_of_the_figure_are_means_of_what_has_both():
    rows = [
        entry(ours={"accuracy": [0.7, 0.9], "exact": [2.0, 4.0]}),
        entry(ours={"accuracy": [0.6], "exact": [1.0]}),
        entry(ours={"accuracy": [0.5]}),
    ]
    first, second = headline.points(rows, "exact")
    assert first == (1.0, 0.6, 0.0)
    assert second == pytest.approx((3.0, 0.8, 0.1 * 2**0.5))


def test_columns_for_diffprivlib_keep_their_public_bounds():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({name: rng.uniform(0, 2 * high, 50) for name, high in HIGHEST.items()})
    for k in range(8):
        values = rng.choice(["a", "b", "c"], 50)
        frame[f"c{k}"] = pd.Categorical(values, ["a", "b", "c"])
    frame.loc[0, "c0"] = np.nan
    tables = peers.tables(frame)
    assert set(tables) == {"numbers", "codes", "onehot", "splines"}
    for name, width in {"numbers": 5, "codes": 13, "onehot": 29}.items():
        assert tables[name].shape == (50, width)
        assert tables[name].min() >= 0
        assert tables[name].max() <= 1
    assert np.linalg.norm(tables["splines"], axis=1).max() <= 13**0.5
    # A row's splines depend on that row alone: nothing is fitted on the data
    first_ten = peers.tables(frame.iloc[:10])
    np.testing.assert_array_equal(first_ten["splines"], tables["splines"][:10])


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
    assert file.read_text() == before
    assert "0.4" in (tmp_path / "results.md").read_text()
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
    X, true_labels, labels = glyph.pairs(images, digits, 200_000, rng, wrong=0.1)
    assert (X[:, 0] == true_labels // 10).all()
    assert (X[:, 2] == true_labels % 10).all()
    counts = np.bincount(true_labels)
    assert counts[99] / counts[0] == pytest.approx(5, rel=0.15)
    # One in 100 of the labels drawn at random is right by chance
    assert np.mean(labels != true_labels) == pytest.approx(0.099, abs=0.003)


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

    def cost(mechanism, student_proba=None):  # the student answers none of these queries
        log_proba = mechanism.outcome_log_proba(votes, student_proba=student_proba)
        passed = 1 - np.exp(log_proba[:, -1])
        costs = mechanism.published_rdp(
            votes, DEFAULT_ORDERS, student_proba=student_proba, paid=passed
        )
        return costs.sum(axis=0)

    def epsilon(total):
        return rdp_to_epsilon(total, 1e-8, DEFAULT_ORDERS, conversion="classic")[0]

    expected = epsilon(cost(ConfidentGNMax(1000, sigma1=500.0, sigma2=100.0)))
    assert alone.ours["bound"] == pytest.approx((expected,))
    first_round = ConfidentGNMax(3500, sigma1=1500.0, sigma2=100.0)
    second_round = InteractiveGNMax(3500, sigma1=2000.0, sigma2=200.0, confidence=0.75)
    total = cost(first_round) + cost(second_round, student)
    assert rounds.ours["bound"] == pytest.approx((epsilon(total),))
    (tmp_path / "glyph" / "glyph_round1.npy").unlink()
    rows = list(glyph.published_votes())
    assert len(rows) == 2
    assert all("glyph" in row.missing for row in rows)


def test_an_expected_cost_weighs_answers_by_their_probability():
    votes = np.array([[600, 400], [1000, 0]])
    mechanism = ConfidentGNMax(800, sigma1=50.0, sigma2=40.0)
    passed = 1 - np.exp(mechanism.outcome_log_proba(votes)[:, -1])
    expected = mechanism.published_rdp(votes, DEFAULT_ORDERS, paid=passed).sum(axis=0)
    total = glyph.expected_cost(mechanism, votes, votes.max(axis=1))
    np.testing.assert_allclose(total, expected, rtol=1e-12)


# --- SVHN ----------------------------------------------------------------------------------------


def write_made_up_svhn(folder, n=60):
    rng = np.random.default_rng(0)
    folder.mkdir()
    for part in ("train", "extra", "test"):
        labels = rng.integers(1, 11, size=(n, 1)).astype(np.uint8)  # 10 is the digit 0
        images = rng.integers(0, 256, size=(32, 32, 3, n)).astype(np.uint8)
        savemat(folder / f"{part}_32x32.mat", {"X": images, "y": labels})
    return folder


@pytest.mark.filterwarnings("ignore:the noise of")  # four teachers and ten classes
@pytest.mark.filterwarnings("ignore:X_public has:UserWarning")
def test_svhn_is_fetched_read_and_fitted(tmp_path, monkeypatch):
    pytest.importorskip("skorch")
    from sklearn.dummy import DummyClassifier

    from benchmarks.papers import svhn

    source = write_made_up_svhn(tmp_path / "source")
    folder = tmp_path / "data" / "svhn"
    svhn.fetch(folder, source.as_uri())
    kept = (folder / "test_32x32.mat").stat().st_mtime_ns
    svhn.fetch(folder, source.as_uri())
    assert (folder / "test_32x32.mat").stat().st_mtime_ns == kept
    X, y = svhn.load(folder, "train")
    assert X.shape == (60, 3, 32, 32)
    assert 0.9 < X.max() <= 1
    assert set(y) <= set(range(10))
    assert (y == 0).any()
    monkeypatch.setenv("SKLEARN_PATE_DATA", str(tmp_path / "data"))
    monkeypatch.setattr(svhn, "RUNS", [("2017", GNMax(2.0), 500, "82.72% at 5.04")])
    monkeypatch.setattr(svhn, "BALLOTS", (8.0,))
    small = {"n_teachers": 4, "n_held_out": 20, "epochs": 1, "n_components": 5}
    student = DummyClassifier(strategy="most_frequent")
    with joblib.parallel_config(backend="sequential"):  # other processes would import torch first
        row, ballots = svhn.entries(range(2), student=student, **small)
    assert row.missing is None
    assert row.ours["answered"] == (40.0, 40.0)
    held_out = np.bincount(svhn.load(folder, "test")[1][-20:], minlength=10)
    assert all(round(20 * score) in held_out for score in row.ours["accuracy"])
    data_independent, _ = data_independent_epsilon(GNMax(2.0), 40, 1e-6, n_teachers=4, n_classes=10)
    assert row.ours["data-independent"] == pytest.approx((data_independent,) * 2)
    assert ballots.what == "Ballots, epsilon 8"
    assert "120 private and 40 public images" in ballots.setting
    assert all(round(20 * score) in held_out for score in ballots.ours["accuracy"])


def test_svhn_that_is_not_there(tmp_path, monkeypatch):
    pytest.importorskip("skorch")
    from benchmarks.papers import svhn

    with pytest.raises(MissingError, match=r"train_32x32.mat"):
        svhn.load(tmp_path, "train")
    monkeypatch.setenv("SKLEARN_PATE_DATA", str(tmp_path))
    rows = list(svhn.entries(range(1)))
    assert [row.reported[:5] for row in rows] == ["82.72", "90.66", "91.7%", "", ""]
    assert rows[-2].what == "Ballots, epsilon 0.1"
    for row in rows:
        assert "svhn" in row.missing
        assert not row.ours

    def breaks_off(url, file):
        Path(file).write_bytes(b"half of it")
        raise OSError(url)

    monkeypatch.setattr("urllib.request.urlretrieve", breaks_off)
    with pytest.raises(OSError):
        svhn.fetch(tmp_path / "svhn", "somewhere")
    assert not list((tmp_path / "svhn").glob("*.mat"))


def test_what_is_left_beside_ballots_fits_the_budget():
    alone = experiments.mu_beside(0.0)
    assert gdp_to_epsilon(alone, experiments.DELTA) == pytest.approx(experiments.EPSILON)
    beside = experiments.mu_beside(0.5)
    ballots = laplace_table_cost(2 / 0.5, 2)
    votes = gaussian_table_cost(2**0.5 / beside, 2, discrete=False)
    epsilon, _ = ballots.plus(votes).epsilon(experiments.DELTA)
    assert 1.0 <= epsilon < 1.15  # a bound on what is exactly 1


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("n_classes", [2, 3])
def test_each_experiment_tells_probabilities_of_test_rows(n_classes):
    rng = np.random.default_rng(0)
    y = rng.integers(n_classes, size=1500)
    X = rng.normal(size=(1500, 4)) + 3 * y[:, None]
    X, public, test = np.split(X, [1200, 1400])
    rows = ballot_parts.Rows(X, y[:1200], public, test, y[1400:], n_classes)
    for experiment in experiments.EXPERIMENTS:
        for what, probabilities in experiment(rows, 0):
            assert probabilities.shape == (100, n_classes), what
            assert np.allclose(probabilities.sum(axis=1), 1)
            assert experiments.scores(rows, probabilities, "d")["d, accuracy"] > 0.6, what
