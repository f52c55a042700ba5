"""The documentation: its examples run, its links resolve, its words are those of the code."""

import doctest
import functools
import importlib
import inspect
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = sorted([*ROOT.glob("*.md"), *DOCS.glob("*.md")])
GENERATED = {"api", "auto_examples"}  # folders that exist once the pages are built
FENCES = re.compile(r"^```.*$", re.M)


def text_of(page):
    return page.read_text(encoding="utf-8")


# --- examples and links --------------------------------------------------------------------------


@pytest.mark.parametrize(
    "page", [page for page in PAGES if ">>> " in text_of(page)], ids=lambda page: page.stem
)
def test_examples_print_what_the_page_says(page):
    text = FENCES.sub("", text_of(page))
    examples = doctest.DocTestParser().get_doctest(text, {}, page.name, str(page), 0)
    options = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
    printed = []
    outcome = doctest.DocTestRunner(optionflags=options).run(examples, out=printed.append)
    assert outcome.attempted > 0
    assert outcome.failed == 0, "".join(printed)


def test_errata_has_numbers_for_every_entry():
    head, *entries = re.split(r"^## ", text_of(DOCS / "errata.md"), flags=re.M)
    titles = [entry.partition("\n")[0] for entry in entries if ">>> " in entry]
    listed = re.findall(r"^\| \[(.+?)\]\(#", head, re.M)
    assert [title.replace("`", "") for title in listed] == titles


def anchor(title):
    kept = re.sub(r"[^\w\- ]", "", title.replace("`", "").strip().lower())
    return kept.replace(" ", "-")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_between_pages_resolve(page):
    text = re.sub(r"^```.*?^```$", "", text_of(page), flags=re.M | re.S)
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if re.match(r"https?:", target):
            continue
        path, _, section = target.partition("#")
        if Path(path).parts[:1] and Path(path).parts[0] in GENERATED:
            continue
        other = page.parent / path if path else page
        assert other.exists(), f"{page.name} links to {target}"
        if section:
            titles = re.findall(r"^#+ (.+)$", text_of(other), re.M)
            assert section in {anchor(title) for title in titles}, f"{page.name} links to {target}"


# --- every page and every name -------------------------------------------------------------------


def test_pages_are_all_in_the_table_of_contents():
    index = text_of(DOCS / "index.md")
    trees = re.findall(r"^```\{toctree\}\n(.*?)^```", index, re.M | re.S)
    listed = {line for tree in trees for line in tree.splitlines() if line and line[0] != ":"}
    assert listed - {"auto_examples/index", "api/index"} == {
        page.stem for page in DOCS.glob("*.md") if page.stem != "index"
    }


def test_reference_has_every_public_name(monkeypatch):
    monkeypatch.syspath_prepend(DOCS)
    pages = importlib.import_module("api_pages").pages()
    package = ROOT / "sklearn_pate"
    files = [*package.glob("[!_]*.py"), *package.glob("[!_]*/__init__.py")]
    assert set(pages) == {"index", "teachers.batched"} | {
        file.parent.name if file.stem == "__init__" else file.stem for file in files
    }
    for module, page in pages.items():
        if module in ("index", "neural", "teachers.batched"):  # the latter two need an extra
            continue
        for name in importlib.import_module(f"sklearn_pate.{module}").__all__:
            assert re.search(rf"^\.\. (autoclass|autofunction|py:data):: {name}$", page, re.M)
    assert ".. autoclass:: VATClassifier" in pages["neural"]


def test_examples_that_are_run_in_the_build_need_no_data():
    needs_data = {
        file.stem
        for file in (ROOT / "examples").glob("*.py")
        if "SKLEARN_PATE_DATA" in text_of(file)
    }
    assert needs_data >= {"plot_adult", "plot_diabetes", "plot_mnist", "plot_ptr", "plot_queries"}
    assert "plot_images" in needs_data
    assert not needs_data & {"quickstart", "plot_text"}


# --- words ---------------------------------------------------------------------------------------

#: A word that is gone, as a regular expression, and what to write in its place
OLD_WORDS = {
    r"\bPrivacyTest\b": "ProposeTestRelease",
    r"\bclass Asked\b|\bAsked\(": "StageRecord",
    r"too[ _]dear": "over budget",
    r"(accounting|method)=[\"']worst_case": "data_independent",
    r"\bwants_proba\b": "temperature, or rdp.facts.has_distribution",
    r"\blead_rdp\b|cost_by_lead|\bleads\(|import leads\b": "margin_rdp, half_margins",
    r"\b(a|the|no|with|of) leads? (of|up|above|over)\b": "margin",
    r"\bstable_leads\b": "distance_to_instability",
    r"sklearn_pate\.batched\b": "sklearn_pate.teachers.batched",
    r"\bAssignment\.teacher\b": "teacher_indices",
    r"test_bad_input": "tests/bad_input/",
}
SOURCES = {".py", ".md", ".txt", ".toml"}
#: Below the root; what is built is not written by hand
BUILT = {"docs/_build", "docs/_gallery", "docs/api", "docs/auto_examples", "benchmarks/results"}


def is_built(file):
    return any(file.is_relative_to(ROOT / folder) for folder in BUILT)


@functools.cache
def sources():
    """All that is written by hand, text by path. Not the changelog: it tells of the past."""
    files = [ROOT / "README.md", ROOT / "pyproject.toml"]
    for folder in ("sklearn_pate", "tests", "docs", "examples", "benchmarks"):
        files += sorted((ROOT / folder).rglob("*"))
    return {
        file: text_of(file)
        for file in files
        if file.suffix in SOURCES and file != Path(__file__) and not is_built(file)
    }


@pytest.mark.parametrize("old", OLD_WORDS)
def test_old_words_are_gone(old):
    uses = [
        f"{file.relative_to(ROOT)}:{number}"
        for file, text in sources().items()
        for number, line in enumerate(text.splitlines(), start=1)
        if re.search(old, line)
    ]
    assert not uses, f"write {OLD_WORDS[old]!r} in place of {old!r}"


def test_the_search_for_old_words_reads_the_files_that_hold_them():
    read = {file.relative_to(ROOT).as_posix() for file in sources()}
    assert read >= {
        "README.md",
        "benchmarks/mutants.py",
        "docs/glossary.md",
        "examples/quickstart.py",
        "sklearn_pate/rdp/exact.py",
        "tests/bad_input/helpers.py",
    }
    assert "CHANGELOG.md" not in read


def glossary():
    """Rows of the glossary: the word, and its names in the code."""
    rows = re.findall(r"^\| \*\*(.+?)\*\* \| (.+?) \| .+ \|$", text_of(DOCS / "glossary.md"), re.M)
    assert len(rows) > 30
    return rows


def test_glossary_is_in_alphabetical_order():
    words = [word.lower() for word, _ in glossary()]
    assert words == sorted(words)


def names_in_rooms():
    """The names in the glossary that begin with a module of the package."""
    rooms = {path.stem for path in (ROOT / "sklearn_pate").iterdir()}
    dotted = {name for _, names in glossary() for name in re.findall(r"`(\w+\.\w+)`", names)}
    return sorted(name for name in dotted if name.partition(".")[0] in rooms)


@pytest.mark.parametrize("dotted", names_in_rooms())
def test_names_in_the_glossary_exist(dotted):
    room, _, name = dotted.partition(".")
    assert hasattr(importlib.import_module(f"sklearn_pate.{room}"), name)


def aggregators_of_ours():
    room = importlib.import_module("sklearn_pate.aggregators")
    bases = {"Mechanism", "Aggregator", "SoftAggregator", "TableMechanism", "Released"}
    return sorted(
        name for name in set(room.__all__) - bases if inspect.isclass(getattr(room, name))
    )


@pytest.mark.parametrize("page", ["user_guide.md", "aggregators.md"])
@pytest.mark.parametrize("name", aggregators_of_ours())
def test_the_guides_know_every_aggregator(name, page):
    assert re.search(rf"\b{name}\b", text_of(DOCS / page))
