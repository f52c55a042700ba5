"""The house: which room may import which, what importing needs, and what the README promises."""

import ast
import importlib
import inspect
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.naive_bayes import GaussianNB

import sklearn_pate

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "sklearn_pate"

# file -> siblings and extras it may import; `exceptions` and `_sklearn` hold names only
ROOMS = {
    "__init__": {"*"},
    "exceptions": set(),
    "isolation": {"torch"},
    "public": {"isolation", "exceptions"},
    "identifiers": set(),
    "partition": {"identifiers", "isolation"},
    "schema": set(),
    "memory": {"isolation", "_python"},
    "teachers": {"identifiers", "isolation", "schema", "memory", "exceptions"},
    "teachers.batched": {"isolation", "torch", "skorch"},
    "teachers.batchable": {"isolation", "torch", "skorch"},
    "rdp": {"exceptions", "_python"},
    "smooth_sensitivity": {"rdp"},
    "propose_test_release": {"rdp", "smooth_sensitivity"},
    "aggregators": {"rdp", "exceptions"},
    "accountant": {"rdp", "propose_test_release", "exceptions", "_version"},
    "queries": set(),
    "students": set(),
    "neural": {"torch", "skorch"},
    "classifier": {
        *("public", "partition", "teachers", "rdp", "aggregators", "accountant", "queries"),
        *("students", "isolation", "schema", "memory", "exceptions", "secure"),
    },
    "ledger": {"rdp", "exceptions"},
    "model_selection": {
        *("accountant", "classifier", "rdp", "identifiers", "partition", "public", "isolation"),
        *("exceptions", "secure"),
    },
    "datasets": set(),
    "plotting": {"matplotlib", "rdp"},
    "audit": {"rdp"},
    "secure": set(),
    "_python": set(),
    "_sklearn": set(),
    "_version": set(),
}
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
MODULES = sorted({path.relative_to(PACKAGE).parts[0].removesuffix(".py") for path in FILES})


def imports(path):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield "." * node.level + (node.module or "")


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_rooms_import_what_the_map_allows(path):
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    depth = len(parts)
    module = parts[0]
    allowed = ROOMS.get(".".join(parts), ROOMS[module])
    for name in imports(path):
        top = name.lstrip(".").split(".")[0]
        if name.startswith(".") and len(name) - len(name.lstrip(".")) < depth:
            continue  # a file of the same room
        if name.startswith("."):
            assert top in allowed | {"_sklearn"} or "*" in allowed, f"{module} imports {name}"
        else:
            assert top in OPEN_TO_ALL | allowed, f"{module} imports {name}"
        private = [
            part for part in name.split(".") if part.startswith("_") and part not in ROOMS
        ]  # rooms of ours
        assert not private or module == "_sklearn", f"{module} imports {name}"


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
                    *("torch", "skorch", "matplotlib", "dask", "mpmath", "hypothesis"),
                    *("dp_accounting", "IPython"),
                }:
                    raise ImportError(name)

        sys.meta_path.insert(0, Refuse())
        import sklearn_pate, sklearn_pate.datasets, sklearn_pate.queries, sklearn_pate.rdp
        print(sklearn_pate.PATEClassifier())
    """
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    assert run.stdout.strip() == "PATEClassifier()"


def public_objects():
    for module in sorted({*MODULES, "teachers.batched"} - {"_sklearn"}):  # scikit-learn's own
        try:
            loaded = importlib.import_module(f"sklearn_pate.{module}".removesuffix(".__init__"))
        except ModuleNotFoundError as error:
            if error.name != "torch":
                raise
            skipped = pytest.mark.skip(reason="needs the extra 'torch'")
            yield pytest.param(None, id=module, marks=skipped)
            continue
        for name in getattr(loaded, "__all__", []):
            item = getattr(loaded, name)
            if callable(item):
                yield pytest.param(item, id=f"{module}.{name}")


@pytest.mark.parametrize("item", list(public_objects()))
def test_public_names_are_documented(item):
    doc = inspect.getdoc(item)
    assert doc and doc.split("\n")[0].endswith(".")
    if inspect.isfunction(item):
        named = set(inspect.signature(item).parameters)
        written = set(re.findall(r"[\w]+", doc.partition("Parameters\n-----")[2]))
        if "Parameters\n-----" in doc:
            assert named <= written, named - written


def test_documented_attributes_and_parameters_are_the_estimators():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(300, 2)), columns=["a", "b"])
    clf = sklearn_pate.PATEClassifier(GaussianNB(), n_teachers=60, classes=[0, 1])
    clf.fit(X[:200], (X["a"][:200] > 0).astype(int), X[200:])
    sections = re.split(r"\n(\w+)\n-{3,}\n", inspect.getdoc(sklearn_pate.PATEClassifier))
    text = dict(zip(sections[1::2], sections[2::2], strict=True))
    documented = set(re.findall(r"^(\w+) : ", text["Attributes"], re.M))
    fitted = {name for name in vars(clf) if name.endswith("_") and not name.startswith("_")}
    assert documented == fitted
    assert set(re.findall(r"^(\w+) : ", text["Parameters"], re.M)) == set(
        clf.get_params(deep=False)
    )


def test_ci_runs_the_readmes_test_command():
    commands = re.findall(r"```bash\n(.*?)\n```", (ROOT / "README.md").read_text(), re.S)
    assert len(commands) == 2
    assert "examples/quickstart.py" in commands[0]
    assert commands[1] in (ROOT / ".ci" / "run").read_text().splitlines()


def test_version_is_the_changelogs():
    assert f"## {sklearn_pate.__version__}" in (ROOT / "CHANGELOG.md").read_text()
