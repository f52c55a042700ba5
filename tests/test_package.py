"""What importing needs, what PATEClassifier documents, and what CI tries.

Imports between modules and docstrings of functions are checked by import-linter and ruff.
"""

import ast
import importlib
import inspect
import io
import itertools
import math
import pkgutil
import re
import subprocess
import sys
import tokenize
import tomllib
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from conftest import cases, few_sets
from sklearn.naive_bayes import GaussianNB
from test_releases import Counts

import sklearn_pate
from sklearn_pate.methods import ReverseNeighbors
from sklearn_pate.synthesis import MarginalSynthesizer

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "sklearn_pate"
TESTS = ROOT / "tests"


@pytest.mark.slow
def test_import_requires_the_core_dependencies_only():
    code = """if True:
        import sys

        class Refuse:
            def find_spec(self, name, path=None, target=None):
                extras = "torch skorch matplotlib dask mpmath hypothesis dp_accounting IPython"
                if name.split(".")[0] in extras.split():
                    raise ImportError(name)

        sys.meta_path.insert(0, Refuse())
        import sklearn_pate
        import sklearn_pate.datasets
        import sklearn_pate.plotting
        import sklearn_pate.queries
        import sklearn_pate.rdp
        print(sklearn_pate.PATEClassifier())
        try:
            sklearn_pate.plotting.MarginDisplay.from_votes([[3, 1]])
        except ImportError as error:
            print(error)
    """
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    first, without_matplotlib = run.stdout.splitlines()
    assert first == "PATEClassifier()" and "pip install matplotlib" in without_matplotlib


@pytest.mark.slow
def test_import_loads_little_more_than_scikit_learn():
    code = (
        "import sys, sklearn; before = set(sys.modules); import sklearn_pate; "
        "print(*(m for m in set(sys.modules) - before if not m.startswith('sklearn_pate')))"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = {".".join(name.split(".")[:2]) for name in run.stdout.split()}
    assert "sklearn.frozen" in loaded
    slow = {"cluster", "compose", "decomposition", "ensemble", "impute", "linear_model", "metrics"}
    slow |= {"model_selection", "neighbors", "pipeline", "preprocessing", "semi_supervised"}
    assert not loaded & {f"sklearn.{name}" for name in slow}
    assert len(loaded) < 20


def test_docstring_lists_all_attributes_and_parameters():
    X = pd.DataFrame(np.random.default_rng(0).normal(size=(300, 2)), columns=["a", "b"])
    clf = sklearn_pate.PATEClassifier(GaussianNB(), n_teachers=60, classes=[0, 1])
    given = X[:200], (X["a"][:200] > 0).astype(int), X[200:]
    neighbors_method = sklearn_pate.PATEClassifier(method=ReverseNeighbors(), classes=[0, 1])
    fitted = set(vars(clf.fit(*given))) | set(vars(neighbors_method.fit(*given)))
    rows = MarginalSynthesizer((-9, 9), missing=[])
    neighbors_method.set_params(synthesizer=rows, epsilon=9.0, releases=[Counts()])
    fitted |= set(vars(neighbors_method.fit(*given[:2])))
    _, *parts = re.split(r"\n(\w+)\n-{3,}\n", inspect.getdoc(sklearn_pate.PATEClassifier))
    sections = dict(zip(parts[::2], parts[1::2], strict=True))

    def documented(section):
        return set(re.findall(r"^(\w+) : ", sections[section], re.M))

    fitted = {name for name in fitted if name.endswith("_") and not name.startswith("_")}
    assert documented("Attributes") == fitted
    assert documented("Parameters") == set(clf.get_params(deep=False))


def is_public(node):
    name = getattr(node, "name", "_")
    return name == "__init__" or name[0] != "_"


def test_public_numbers_are_keyword_only():
    numbers = {"n_teachers", "n_classes", "n_records", "n_public"}
    swappable = {}
    for path in (ROOT / "sklearn_pate").rglob("*.py"):
        parts = filter(is_public, ast.parse(path.read_text()).body)
        listed = (part.body if isinstance(part, ast.ClassDef) else [part] for part in parts)
        for function in filter(is_public, itertools.chain.from_iterable(listed)):
            if isinstance(function, ast.FunctionDef):
                by_place = {arg.arg for arg in function.args.args} & numbers
                by_name = {arg.arg for arg in function.args.kwonlyargs} & numbers
                if len(by_place | by_name) > 1:
                    swappable[path.name, function.name] = by_place
    assert len(swappable) > 25
    assert not [name for name, by_place in swappable.items() if by_place]


def test_faults_change_exactly_one_place():
    faults = tomllib.loads((ROOT / "tests" / "faults.toml").read_text())["fault"]
    assert len(faults) > 60
    for fault in faults:
        text = (ROOT / "sklearn_pate" / fault["path"]).read_text()
        assert text.count(fault["old"]) == 1, fault["name"]


def test_ci_runs_the_test_command_of_the_readme():
    commands = re.findall(r"```bash\n(.*?)\n```", (ROOT / "README.md").read_text(), re.S)
    assert len(commands) == 2 and "examples/quickstart.py" in commands[0]
    assert commands[1] in (ROOT / ".ci" / "run").read_text().splitlines()


def test_version_agrees_with_changelog_and_citation():
    version = sklearn_pate.__version__
    citation = (ROOT / "CITATION.cff").read_text()
    heading = re.search(r"^## (.*) \((.*)\)$", (ROOT / "CHANGELOG.md").read_text(), re.M)
    assert heading and heading[1] == version.partition(".dev")[0]
    assert f"\nversion: {version}\n" in citation
    if ".dev" not in version:  # a release has one date
        assert re.fullmatch(r"\d{4}-\d{2}-\d{2}", heading[2])
        assert f'\ndate-released: "{heading[2]}"\n' in citation


def project():
    return tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def test_minimum_versions_of_ci_are_those_required():
    requirements = [*project()["dependencies"], *project()["optional-dependencies"]["plot"]]
    allowed = dict(requirement.split(">=") for requirement in requirements)
    lines = (ROOT / ".github" / "minimum.txt").read_text()
    tried = dict(re.findall(r"^([\w-]+)==([\d.]+)", lines, re.M))
    assert {name: tried.get(name, "").removesuffix(".0") for name in allowed} == allowed


def test_python_versions_of_ci_are_those_required():
    tried = re.findall(r'python: "([\d.]+)"', (ROOT / ".github/workflows/ci.yml").read_text())
    named = [name.rpartition(" ")[2] for name in project()["classifiers"] if ":: 3." in name]
    assert project()["requires-python"] == f">={tried[0]}" and {named[0], named[-1]} == set(tried)


def mentioned_names(path, rooms):
    """Yield names of modules of the package, with what follows, in docstrings and comments."""
    text = path.read_text(encoding="utf-8")
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        is_docstring = token.type == tokenize.STRING and token.string.startswith('"""')
        if is_docstring or token.type == tokenize.COMMENT:
            words = re.sub(r"(?m)^ *(>>>|\.\.\.) .*", "", token.string)
            yield from re.findall(rf"(?<![\w./])((?:{rooms})(?:\.[A-Za-z_]\w*)+)", words)


def is_defined(dotted):
    """Whether a name, which begins with a module of the package, can be found."""
    parts = dotted.split(".")
    for size in range(len(parts), 0, -1):
        try:
            found = importlib.import_module(".".join(["sklearn_pate", *parts[:size]]))
        except ImportError:
            continue
        for part in parts[size:]:
            fields = getattr(found, "__dataclass_fields__", {})
            found = fields.get(part) or getattr(found, part, None)
            if found is None:
                return False
        return True
    return False


def test_names_in_docstrings_and_comments_exist():
    pytest.importorskip("skorch")
    rooms = "|".join(module.name for module in pkgutil.iter_modules([str(PACKAGE)]))
    wrong = [
        (str(path.relative_to(PACKAGE)), name)
        for path in sorted(PACKAGE.rglob("*.py"))
        for name in mentioned_names(path, rooms)
        if not name.endswith(".py") and not is_defined(name)
    ]
    assert is_defined("rdp.Cost.plus") and not is_defined("rdp.Costs")
    assert wrong == []


# --- what CI leaves out ---------------------------------------------------------------------------


@cases("n_together, n_in_ci", (1, 4), (2, 12), (3, 24))
def test_few_parameter_sets_have_each_value_and_each_pair(n_together, n_in_ci):
    values = {"mechanism": ["GNMax", "LNMax"], "scale": [1, True, 1.0], "rows": [[0], [0], [1], []]}
    sets = [dict(zip(values, each, strict=True)) for each in itertools.product(*values.values())]
    chosen = few_sets(sets, n_together)
    assert chosen == few_sets(sets, n_together) and len(chosen) == len(set(chosen)) == n_in_ci
    for names in itertools.combinations(values, n_together):
        in_ci = {tuple(id(sets[place][name]) for name in names) for place in chosen}
        assert len(in_ci) == math.prod(len(values[name]) for name in names)


def test_few_parameter_sets_have_all_with_a_named_value_and_two_at_least():
    sets = [{"kind": kind, "fault": fault} for fault in (False, True) for kind in "abc"]
    assert sorted(few_sets(sets, fault=True)) == [0, 3, 4, 5]
    assert few_sets([{"seed": 1}] * 5) == [0, 1] and few_sets([{"seed": 1}]) == [0]


def test_only_two_helpers_leave_tests_out_of_ci():
    """`sampled` keeps all values of a test, and `draws` a share of its random inputs."""
    left_out = re.compile(r"mark[.]exhaustive")
    found = {
        str(path.relative_to(TESTS)): len(left_out.findall(path.read_text()))
        for path in TESTS.rglob("*.py")
    }
    assert {name: n_marks for name, n_marks in found.items() if n_marks} == {"conftest.py": 2}
