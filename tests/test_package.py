"""The house: which room may import which, what importing needs, and what the README promises."""

import ast
import importlib
import inspect
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.naive_bayes import GaussianNB

import sklearn_pate
from sklearn_pate.neighbors import ReverseNeighbors
from sklearn_pate.synthesis import MarginalSynthesizer

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "sklearn_pate"

# Room -> other rooms and extras that it may import; all may import `_sklearn`
ROOMS = {
    "__init__": "*",
    "exceptions": "",
    "adjacency": "",
    "isolation": "torch",
    "public": "exceptions isolation",
    "identifiers": "",
    "partition": "adjacency identifiers isolation",
    "schema": "isolation",
    "electorate": "adjacency",
    "memory": "_python isolation",
    "workers": "exceptions isolation",
    "teachers": (
        "adjacency electorate exceptions identifiers isolation memory partition schema workers"
    ),
    "teachers.batched": "isolation torch",
    "teachers.batchable": "isolation skorch torch",
    "rdp": "_python exceptions",
    "rules": "",
    "smooth_sensitivity": "rdp secure",
    "propose_test_release": "rdp secure smooth_sensitivity",
    "aggregators": "rdp secure",
    "accountant": "_version adjacency exceptions isolation propose_test_release rdp rules",
    "neighbors": ("adjacency electorate exceptions identifiers isolation memory rdp rules workers"),
    "synthesis": "aggregators exceptions identifiers isolation neighbors rdp schema",
    "queries": "",
    "students": "",
    "neural": "isolation skorch torch",
    "classifier": (
        "accountant adjacency aggregators electorate exceptions identifiers isolation memory "
        "neighbors partition public queries rdp rules schema secure synthesis teachers"
    ),
    "ledger": "exceptions rdp",
    "model_selection": (
        "accountant adjacency classifier electorate exceptions identifiers isolation partition "
        "public rdp secure"
    ),
    "datasets": "",
    "plotting": "matplotlib rdp",
    "audit": "adjacency rdp",
    "secure": "",
    "_python": "",
    "_sklearn": "",
    "_version": "",
}
ROOMS = {room: set(names.split()) for room, names in ROOMS.items()}
OPEN_TO_ALL = {
    "numpy",
    "scipy",
    "pandas",
    "joblib",
    "sklearn",
    "threadpoolctl",
    "cloudpickle",
} | set(sys.stdlib_module_names)
FILES = sorted(PACKAGE.rglob("*.py"))


def room_of(path):
    """Return the room of a file; a file with extras of its own is a room within its folder."""
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    file = ".".join(parts)
    return file if file in ROOMS else parts[0]


def imports(path):
    """Names of the modules that a file imports, with a dot for each level up."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield "." * node.level + (node.module or "")


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_rooms_import_what_the_map_allows(path):
    room = room_of(path)
    allowed = ROOMS[room]
    depth = len(path.relative_to(PACKAGE).parts)
    for name in imports(path):
        level = len(name) - len(name.lstrip("."))
        first = name.lstrip(".").split(".")[0]
        if 0 < level < depth:
            continue  # a file of the same room
        if level:
            assert "*" in allowed or first in allowed | {"_sklearn"}, f"{room} imports {name}"
        else:
            assert first in OPEN_TO_ALL | allowed, f"{room} imports {name}"
        private = {part for part in name.split(".") if part.startswith("_")} - set(ROOMS)
        assert not private or room == "_sklearn", f"{room} imports {name}"


def test_the_map_allows_nothing_that_no_room_imports():
    imported = {room: set() for room in ROOMS}
    for path in FILES:
        imported[room_of(path)] |= {name.lstrip(".").split(".")[0] for name in imports(path)}
    unused = {room: ROOMS[room] - imported[room] - {"*"} for room in ROOMS}
    assert not any(unused.values()), unused


def rooms_on_the_page():
    """Return the table of rooms in the contributing page: room to what it may import."""
    page = (ROOT / "docs" / "contributing.md").read_text()
    rows = re.findall(r"^\| `(\w+)` \| .+ \| (.+) \|$", page, re.M)
    return {room: set(re.findall(r"`([\w.]+)`", allowed)) for room, allowed in rows}


def test_the_contributing_page_shows_the_map():
    files = {room for room in ROOMS if "." in room}  # the page names them beside their folder
    on_the_map = {room: set(allowed) for room, allowed in ROOMS.items() if room not in files}
    for file in files:
        folder, name = file.split(".")
        on_the_map[folder] |= ROOMS[file] | {name}
    del on_the_map["__init__"]
    assert rooms_on_the_page() == on_the_map


def test_private_scikit_learn_names_are_in_one_place():
    for path in FILES:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("sklearn"):
                private = [alias.name for alias in node.names if alias.name.startswith("_")]
                assert not private or path.stem == "_sklearn", f"{path.stem}: {private}"


def test_importing_needs_the_core_dependencies_only():
    code = """if True:
        import sys

        class Refuse:
            def find_spec(self, name, path=None, target=None):
                if name.split(".")[0] in {
                    "torch",
                    "skorch",
                    "matplotlib",
                    "dask",
                    "mpmath",
                    "hypothesis",
                    "dp_accounting",
                    "IPython",
                }:
                    raise ImportError(name)

        sys.meta_path.insert(0, Refuse())
        import sklearn_pate
        import sklearn_pate.datasets
        import sklearn_pate.queries
        import sklearn_pate.rdp
        print(sklearn_pate.PATEClassifier())
    """
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    assert run.stdout.strip() == "PATEClassifier()"


def public_objects():
    rooms = {room_of(path) for path in FILES} - {"_sklearn"}  # the names there are scikit-learn's
    for room in sorted(rooms):
        try:
            module = importlib.import_module(f"sklearn_pate.{room}".removesuffix(".__init__"))
        except ModuleNotFoundError as error:
            if error.name != "torch":
                raise
            skipped = pytest.mark.skip(reason="needs the extra 'torch'")
            yield pytest.param(None, id=room, marks=skipped)
            continue
        for name in getattr(module, "__all__", []):
            item = getattr(module, name)
            if callable(item):
                yield pytest.param(item, id=f"{room}.{name}")


@pytest.mark.parametrize("item", list(public_objects()))
def test_public_names_are_documented(item):
    doc = inspect.getdoc(item)
    assert doc
    assert doc.split("\n")[0].endswith(".")
    heading = "Parameters\n-----"
    if inspect.isfunction(item) and heading in doc:
        parameters = set(inspect.signature(item).parameters)
        documented = set(re.findall(r"\w+", doc.partition(heading)[2]))
        assert parameters <= documented, parameters - documented


def test_documented_attributes_and_parameters_are_the_estimators():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(300, 2)), columns=["a", "b"])
    clf = sklearn_pate.PATEClassifier(GaussianNB(), n_teachers=60, classes=[0, 1])
    given = X[:200], (X["a"][:200] > 0).astype(int), X[200:]
    voters = sklearn_pate.PATEClassifier(ReverseNeighbors(), classes=[0, 1])
    fitted = set(vars(clf.fit(*given))) | set(vars(voters.fit(*given)))
    voters.set_params(synthesizer=MarginalSynthesizer((-9, 9), missing=[]), epsilon=9.0)
    fitted |= set(vars(voters.fit(*given[:2])))
    _, *parts = re.split(r"\n(\w+)\n-{3,}\n", inspect.getdoc(sklearn_pate.PATEClassifier))
    sections = dict(zip(parts[::2], parts[1::2], strict=True))

    def documented(section):
        return set(re.findall(r"^(\w+) : ", sections[section], re.M))

    fitted = {name for name in fitted if name.endswith("_") and not name.startswith("_")}
    assert documented("Attributes") == fitted
    assert documented("Parameters") == set(clf.get_params(deep=False))


def test_ci_runs_the_readmes_test_command():
    commands = re.findall(r"```bash\n(.*?)\n```", (ROOT / "README.md").read_text(), re.S)
    assert len(commands) == 2
    assert "examples/quickstart.py" in commands[0]
    assert commands[1] in (ROOT / ".ci" / "run").read_text().splitlines()


def test_version_is_that_of_changelog_and_citation():
    version = sklearn_pate.__version__
    assert f"## {version}" in (ROOT / "CHANGELOG.md").read_text()
    assert f"version: {version}\n" in (ROOT / "CITATION.cff").read_text()


def test_the_oldest_versions_that_are_tried_are_those_that_are_allowed():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    requirements = [*project["dependencies"], *project["optional-dependencies"]["plot"]]
    allowed = dict(requirement.split(">=") for requirement in requirements)
    lines = (ROOT / ".github" / "minimum.txt").read_text()
    tried = dict(re.findall(r"^([\w-]+)==([\d.]+)", lines, re.M))
    assert tried.keys() - allowed.keys() == {"pyparsing"}
    for name, least in allowed.items():
        assert tried[name].removesuffix(".0") == least


def test_ci_tries_every_python_from_the_oldest_that_is_allowed():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    workflow = (ROOT / ".github/workflows/ci.yml").read_text()
    tried = re.search(r"python: \[(.+)\]", workflow)[1].replace('"', "").split(", ")
    assert project["requires-python"] == f">={tried[0]}"
    minors = [int(version.removeprefix("3.")) for version in tried]
    assert minors == list(range(minors[0], minors[-1] + 1))
    named = {name.rpartition(" ")[2] for name in project["classifiers"] if ":: 3." in name}
    assert named == set(tried)
