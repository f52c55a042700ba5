"""The documentation: its examples run, its links resolve, its names exist in the code."""

import contextlib
import csv
import doctest
import importlib
import io
import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

from sklearn_pate import FitOnPublic, PATEClassifier
from sklearn_pate.aggregators import GNMax
from sklearn_pate.audit import audit_aggregator, audit_table
from sklearn_pate.teachers.training import Task

#: What blocks of the pages use without importing it.
GIVEN = {
    "sklearn": sklearn,
    "clone": clone,
    "Pipeline": Pipeline,
    "StandardScaler": StandardScaler,
    "HistGradientBoostingClassifier": HistGradientBoostingClassifier,
    "FitOnPublic": FitOnPublic,
    "PATEClassifier": PATEClassifier,
}

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = sorted([*ROOT.glob("*.md"), *DOCS.glob("*.md")])
FENCES = re.compile(r"^```.*$", re.M)


def text_of(page):
    return page.read_text(encoding="utf-8")


# --- examples and links --------------------------------------------------------------------------


#: Pages whose examples take seconds.
SLOW = (
    "extending",
    "images",
    "ledger",
    "no_public_rows",
    "rare_outcomes",
    "searches",
    "skewed_columns",
    "tutorial",
)


@pytest.mark.parametrize(
    "page",
    [
        pytest.param(page, id=page.stem, marks=[pytest.mark.slow] * (page.stem in SLOW))
        for page in PAGES
        if ">>> " in text_of(page)
    ],
)
@pytest.mark.usefixtures("few_units_are_scored")
def test_examples_of_pages_print_their_output(page):
    text = FENCES.sub("", text_of(page))
    examples = doctest.DocTestParser().get_doctest(text, {}, page.name, str(page), 0)
    options = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
    printed = []
    outcome = doctest.DocTestRunner(optionflags=options).run(examples, out=printed.append)
    assert outcome.attempted > 0
    assert outcome.failed == 0, "".join(printed)


#: Pages with blocks that need a GPU, a cluster, files or hours: these are compiled only.
NOT_RUN = ("images", "scale", "sites")


def python_blocks(page):
    return re.findall(r"^```python\n(.*?)^```$", text_of(page), re.M | re.S)


@pytest.mark.parametrize(
    "page",
    [
        pytest.param(page, id=page.stem, marks=[] if page.stem in NOT_RUN else pytest.mark.slow)
        for page in PAGES
        if python_blocks(page)
    ],
)
@pytest.mark.usefixtures("few_units_are_scored")
@pytest.mark.filterwarnings("ignore")
def test_python_blocks_of_pages_run(page, capsys, tmp_path, monkeypatch):
    """A page may leave out imports and data: these are given here. Audits draw less."""
    monkeypatch.chdir(tmp_path)
    for function in (audit_aggregator, audit_table):
        monkeypatch.setitem(function.__kwdefaults__, "n_samples", 2000)
    rng = np.random.default_rng(0)
    rows = pd.DataFrame(rng.normal(size=(5000, 3)), columns=["a", "b", "c"])
    labels = np.where(rows["a"] > 0, "yes", "no")
    X, y, X_public = rows[:4000], labels[:4000], rows[4000:]
    clf = PATEClassifier(epsilon=4.0, classes=["no", "yes"], method="neighbors")
    names = {
        "X": X,
        "y": y,
        "X_public": X_public,
        "y_public": labels[4000:],
        "X_new": X_public,
        "X_private": X,
        "y_private": y,
        "rows_of_january": X_public,
        "candidates": [GNMax(20.0)],
        "clf": clf.fit(X, y, X_public),
        **GIVEN,
    }
    if page.stem == "own_teachers":
        names["clf"] = PATEClassifier(GaussianNB(), n_teachers=50, classes=["no", "yes"])
        names["clf"].set_params(n_queries=20, epsilon=None)
    for block in python_blocks(page):
        code = compile(block, page.name, "exec")
        if page.stem not in NOT_RUN:
            exec(code, names)
    capsys.readouterr()


def test_errata_example_prints_its_comments():
    """Lines that begin with an arrow are the output of the code before them."""
    code = text_of(ROOT / "examples" / "papers_errata.py")
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(code, "papers_errata.py", "exec"), {"__name__": "__main__"})
    expected = re.findall(r"^ *# -> (.*)$", code, re.M)
    assert len(expected) > 35
    assert printed.getvalue().splitlines() == expected


def anchor(title):
    return re.sub(r"[^\w\- ]", "", title.replace("`", "").strip().lower()).replace(" ", "-")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_between_pages_resolve(page):
    text = re.sub(r"^```.*?^```$", "", text_of(page), flags=re.M | re.S)
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if re.match(r"https?:", target):
            continue
        path, _, section = target.partition("#")
        other = page.parent / path if path else page
        assert other.exists(), f"{page.name} links to {target}"
        if section:
            titles = re.findall(r"^#+ (.+)$", text_of(other), re.M)
            assert section in {anchor(title) for title in titles}, f"{page.name} links to {target}"


# --- names ---------------------------------------------------------------------------------------


def test_api_reference_contains_every_public_name(monkeypatch):
    monkeypatch.syspath_prepend(DOCS)
    pages = importlib.import_module("api_pages").pages()
    package = ROOT / "sklearn_pate"
    files = [*package.glob("[!_]*.py"), *package.glob("[!_]*/__init__.py")]
    files = [file for file in files if "\n__all__ = [" in file.read_text()]
    of_files = {"teachers.batched"}
    of_files |= {f"accounting.{name}" for name in ("propose_test_release", "smooth_sensitivity")}
    assert set(pages) == {"index"} | of_files | {
        file.parent.name if file.stem == "__init__" else file.stem for file in files
    }
    for module, page in pages.items():
        if module in ("index", "neural", "teachers.batched"):  # the latter two need an extra
            continue
        for name in importlib.import_module(f"sklearn_pate.{module}").__all__:
            assert re.search(rf"^\.\. (autoclass|autofunction|py:data):: {name}$", page, re.M)
    assert ".. autoclass:: VATClassifier" in pages["neural"]


def test_pages_load_no_script_from_elsewhere():
    """Sphinx adds MathJax, from another server, to a page with a formula in TeX."""
    folders = [ROOT / "sklearn_pate", ROOT / "examples"]
    files = [*PAGES, *(file for folder in folders for file in folder.rglob("*.py"))]
    assert len(files) > 150
    found = [
        file.name for file in files if re.search(r":math:|\.\. math::|```{math}", text_of(file))
    ]
    assert found == []


# --- statements on privacy -----------------------------------------------------------------------


def test_delta_is_not_called_the_probability_of_a_failure():
    """Delta is added to a factor; the probability that the promise fails can be larger."""
    wrong = r"(?<!not the )probability,?[^.]{0,60}(guarantee|promise|costs?)\b[^.]{0,60}"
    wrong = re.compile(wrong + r"(\bfails?\b|do(es)? not hold)", re.I)
    assert wrong.search("Probability with which the guarantee of the search may fail.")
    folders = [ROOT / "sklearn_pate", ROOT / "examples"]
    for file in [*PAGES, *(file for folder in folders for file in folder.rglob("*.py"))]:
        found = wrong.search(" ".join(text_of(file).split()))
        assert found is None, f"{file.name}: {found[0]}"


#: Names on the page on privacy of each field of a task, if it depends on data or a seed.
SENT = {
    "estimator": "unfitted teachers",
    "X_query": "public rows",
    "seed": "the seed of each",
    "part": "the records it is given",
    **dict.fromkeys(("number", "settings", "memory", "key"), ""),
}


def test_privacy_page_names_all_fields_of_a_task():
    (row,) = re.findall(r"^\| \*\*Cluster\*\* .*$", text_of(DOCS / "privacy.md"), re.M)
    assert set(SENT) == set(Task._fields)
    assert all(words in row for words in SENT.values())
    assert "never seed" not in row


def glossary():
    return text_of(DOCS / "privacy.md").split("\n## Glossary\n")[1]


def test_pages_have_a_limited_number_of_words():
    def words(text):
        return len(re.findall(r"\w+", text))

    assert words(text_of(ROOT / "README.md")) <= 700
    assert words(glossary()) <= 400
    assert sum(words(text_of(page)) for page in PAGES) <= 25_000


def test_glossary_names_exist():
    rooms = {path.stem for path in (ROOT / "sklearn_pate").iterdir()}
    dotted = re.findall(r"`(\w+)\.(\w+)`", glossary())
    ours = [(room, name) for room, name in dotted if room in rooms]
    assert len(ours) > 10
    for room, name in ours:
        assert hasattr(importlib.import_module(f"sklearn_pate.{room}"), name), f"{room}.{name}"


# --- measurements --------------------------------------------------------------------------------


def test_measured_pages_contain_every_table_and_link_target(monkeypatch):
    monkeypatch.syspath_prepend(DOCS)
    measured_pages = importlib.import_module("measured_pages")
    # test_benchmarks.py has this page
    monkeypatch.setattr("benchmarks.peers.page.render", lambda results: "")
    pages = measured_pages.pages()
    assert set(re.findall(r"^measured/(\w+)$", text_of(DOCS / "results.md"), re.M)) == set(pages)
    files = list((DOCS / "results").glob("*.csv"))
    assert len(files) > 15
    for file in files:
        page = pages[file.stem.partition("_")[0]]
        lines = [line for line in text_of(file).splitlines() if not line.startswith("#")]
        for row in csv.reader(lines):
            assert f"| {' | '.join(row)} |\n" in page
            assert len(row) == len(next(csv.reader(lines)))
    made = {f"measured/{name}.md" for name in pages}
    made |= {f"auto_examples/{path.stem}.rst" for path in (ROOT / "examples").glob("*.py")}
    made |= {"auto_examples/index.rst", "api/index.rst"}
    found = set()
    for page in DOCS.glob("*.md"):
        links = re.findall(r"\]\(([^)\s#]+)", measured_pages.linked(text_of(page)))
        found |= {link for link in links if re.match("measured|auto_examples|api/", link)}
        assert not any(re.search(r"\.csv$|^\.\./examples", link) for link in links)
    assert len(found) > 10
    assert found <= made


def test_results_page_table_equals_the_mean_of_five_fits():
    """Each cell of the table of numbers is the mean of five fits of its file."""
    fits = json.loads((DOCS / "results" / "regression.json").read_text())["fits"]
    page = (DOCS / "results.md").read_text().partition("\n## Numbers\n")[2]
    rows = [line.split("|")[1:-1] for line in page.partition("\n## ")[0].splitlines()]
    rows = [[cell.strip() for cell in row] for row in rows if len(row) == 8][2:]
    models = ("PATE", "DP-EBM", "AdaSSP", "Opacus, rate 0.05", "PATE, 10 levels")
    name = ""
    for row in rows:
        name = row[0].split(",")[0].replace("Adult", "hours") or name
        for model, cell in zip(models, row[2:7], strict=True):
            scores = [fits[f"{model} | {name} | {row[1]} | {seed}"]["R2"] for seed in range(5)]
            assert float(cell.split()[0]) == pytest.approx(np.mean(scores), abs=6e-4)
    assert len(rows) == 12
