"""The archives of a release: the wheel holds the code, the source archive the project."""

import json
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest
from sklearn.datasets import load_breast_cancer

from sklearn_pate import PATEClassifier, __version__

ROOT = Path(__file__).parents[1]
#: Files that a build requires, and other files of the source archive.
FOLDERS = ("sklearn_pate", "tests", "docs", "examples", "benchmarks", ".ci", ".github")
MADE = ("__pycache__", "_build", "_gallery", "api", "auto_examples", "measured", ".hypothesis")


def made(folder, names):
    """Return the names that a build of the documentation or a test run makes."""
    is_results = Path(folder) == ROOT / "benchmarks"
    return {name for name in names if name in MADE or (is_results and name == "results")}


def files_of(folder, root):
    return {path.relative_to(root).as_posix() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    """Return a copy of the project, since a build writes next to the sources."""
    copy = tmp_path_factory.mktemp("project")
    for path in ROOT.iterdir():
        if path.is_file() and path.name != ".git":
            shutil.copy(path, copy)
    for name in FOLDERS:
        shutil.copytree(ROOT / name, copy / name, ignore=made)
    return copy


@pytest.fixture(scope="module")
def archives(project, tmp_path_factory):
    """Return the wheel and the source archive: the names of their files and a reader."""
    pytest.importorskip("build")
    dist = tmp_path_factory.mktemp("dist")
    build = [sys.executable, "-m", "build", "--no-isolation", str(project), "-o", str(dist)]
    run = subprocess.run(build, capture_output=True, text=True)
    assert run.returncode == 0, run.stdout + run.stderr
    with zipfile.ZipFile(dist / f"sklearn_pate-{__version__}-py3-none-any.whl") as wheel:
        in_wheel = {name: wheel.read(name) for name in wheel.namelist()}
    with tarfile.open(dist / f"sklearn_pate-{__version__}.tar.gz") as source:
        in_source = {member.name for member in source.getmembers() if member.isfile()}
    return in_wheel, {name.partition("/")[2] for name in in_source}


@pytest.mark.slow
def test_wheel_contains_the_package_and_nothing_else(archives, project):
    in_wheel, _ = archives
    package = files_of(project / "sklearn_pate", project)
    assert {name for name in in_wheel if ".dist-info/" not in name} == package
    data = {name for name in package if not name.endswith(".py")}
    assert data == {"sklearn_pate/py.typed", "sklearn_pate/statement.schema.json"}
    assert f"sklearn_pate-{__version__}.dist-info/licenses/LICENSE" in in_wheel


@pytest.mark.slow
def test_source_archive_contains_tests_pages_examples_and_benchmarks(archives, project):
    _, in_source = archives
    for folder in FOLDERS:
        assert files_of(project / folder, project) <= in_source
    files = "CHANGELOG.md CITATION.cff CODE_OF_CONDUCT.md LICENSE Makefile README.md SECURITY.md"
    assert {*files.split(), "pyproject.toml", "setup.cfg", "MANIFEST.in"} <= in_source


@pytest.mark.slow
def test_verify_of_the_wheel_runs_without_site_packages(archives, tmp_path):
    in_wheel, _ = archives
    (tmp_path / "verify.py").write_bytes(in_wheel["sklearn_pate/verify.py"])
    X, y = load_breast_cancer(return_X_y=True)
    clf = PATEClassifier(classes=[0, 1]).fit(X[:400], y[:400], X_public=X[400:])
    statement = json.loads(clf.privacy_spent_.to_json())
    outcomes = []
    for epsilon in (1.0, 0.5):
        statement["epsilon"], statement["guarantee"]["epsilon"] = epsilon, epsilon.hex()
        (tmp_path / "statement.json").write_text(json.dumps(statement))
        verify = [sys.executable, "-I", "-S", "verify.py", "statement.json"]
        outcomes.append(subprocess.run(verify, cwd=tmp_path, capture_output=True).returncode)
    assert outcomes == [0, 1]
