"""The papers' results: their page is made from files, and a page written by hand follows them."""

import json
import re
import statistics
from pathlib import Path

import pytest

from benchmarks.papers import command, figures, page

DOCS = Path(__file__).parents[1] / "docs"
pytestmark = pytest.mark.slow
MACHINE = {"date": "2026-01-01", "device": "2 cores", "scikit-learn": "1.8"}


def entry(**changes):
    blank = {"source": "2017", "what": "student", "reported": "0.83", "setting": "s", "why": "w"}
    blank |= {"ours": {}, "earlier": 0.0, "headline": False, "missing": None, "seconds": 2.0}
    return blank | changes


def results(*entries):
    return {"title": "T", "text": "t", "command": "c", "machine": MACHINE, "entries": entries}


# --- the page ------------------------------------------------------------------------------------


def test_the_page_has_every_section():
    made = page.render(DOCS, command.NAMES)
    for name in command.NAMES:
        results = json.loads((DOCS / "results" / f"{name}.json").read_text())
        heading = results if "commit" in results else page.heading(name)
        assert f"\n\n## {heading['title']}\n\n" in made
        assert all(entry["reported"] in made for entry in results["entries"])
    files = {file.stem for file in (DOCS / "results").glob("*.json")}
    assert files - {"regression"} == set(command.NAMES)


ADULT = ("ballots", "UCI Adult, ballots, epsilon 0.25")
ADULT_AT_1 = ("ballots", "UCI Adult, ballots, epsilon 1")
NO_PRIVACY = ("peers", "no privacy")
MNIST = ("ballots", "MNIST, epsilon 0.1")
FEW_LABELS = ("composition", "100 queries, LNMax(0.05), delta 1e-05")
MANY_LABELS = ("composition", "1000 queries, LNMax(0.05), delta 1e-06")
#: What the page calls the cost that holds for all votes
ANY_VOTES = "data-independent cost of the mechanism"
#: Each number of that section, in its order: a row of the papers' page, and a field of it or the
#: name of what was measured
AGAINST_PAPERS = [
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


def test_the_results_page_has_numbers_of_the_files():
    text = (DOCS / "results.md").read_text(encoding="utf-8")
    section = text.split("\n## Against the papers\n")[1].split("\n![")[0]
    shown = re.sub(r"arXiv [\d.]+|50,000 dollars", "", section)  # names, and what the data ask
    assert NUMBER.findall(shown) == [text for text, _, _ in AGAINST_PAPERS]


@pytest.mark.parametrize(("text", "row", "field"), AGAINST_PAPERS)
def test_a_number_of_the_results_page_is_that_of_the_files(text, row, field):
    found = row_of_the_page(*row)
    if field in found:
        numbers = NUMBER.findall(found[field].replace(",", ""))
        assert text.replace(",", "") in numbers
    else:
        assert page.number(statistics.fmean(found["ours"][field])) == text


def test_means_of_the_results_page_are_of_five_fits():
    for row in (ADULT, ADULT_AT_1, MNIST):
        assert len(row_of_the_page(*row)["ours"]["accuracy"]) == 5


def test_a_row_tells_mean_spread_and_range():
    ours = {"accuracy": [0.8, 0.9], "data-independent": [1.0, 1.0]}
    text = page.section(results(entry(ours=ours)))
    text = text.replace("\N{NO-BREAK SPACE}", " ")
    assert "accuracy: **0.85** ± 0.071 [0.8, 0.9]<br>data-independent: **1** |" in text
    assert "| **student** (2017)<br>s; 2 s.<br>*Note:* w. | 0.83 |" in text and "`c`" in text


def test_a_row_that_did_not_run_says_what_it_needs():
    text = page.section(results(entry(missing="SVHN")))
    assert "| not run: needs SVHN |" in text and "2 s" not in text


def test_sections_say_how_or_where_they_were_made():
    for name in command.NAMES:
        results = json.loads((DOCS / "results" / f"{name}.json").read_text())
        if name in command.KEPT:
            assert results["command"].startswith(f"python -m benchmarks papers --only {name} ")
        else:
            assert re.fullmatch("[0-9a-f]{7}", results["commit"])


def test_results_are_not_lost_where_data_are_missing(tmp_path, monkeypatch):
    monkeypatch.setenv("SKLEARN_PATE_DATA", str(tmp_path))
    before = (DOCS / "results" / "composition.json").read_bytes()
    monkeypatch.setattr(command, "draw", lambda docs: None)
    with pytest.raises(SystemExit, match="composition is left as before: it needs .*votes"):
        command.main(["--only", "composition"])
    assert (DOCS / "results" / "composition.json").read_bytes() == before


def test_points_of_the_figure_are_means_of_what_has_both():
    ours = {"accuracy": [0.7, 0.9], "exact": [2.0, 4.0]}, {"accuracy": [0.6], "exact": [1.0]}
    rows = [entry(ours=numbers) for numbers in (*ours, {"accuracy": [0.5]})]
    first, second = figures.points(rows, "exact")
    assert first == (1.0, 0.6, 0.0) and second == pytest.approx((3.0, 0.8, 0.1 * 2**0.5))
