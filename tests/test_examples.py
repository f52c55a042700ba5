"""The quick examples, run from another folder without data, in a process of their own."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from processes import run_script

ROOT = Path(__file__).parents[1]
PNG = b"\x89PNG\r\n\x1a\n"


def run(*command, folder):
    """Run Python in a folder, as a user does, and return its output."""
    environment = {name: text for name, text in os.environ.items() if name != "SKLEARN_PATE_DATA"}
    environment |= {"MPLBACKEND": "Agg", "PYTHONPATH": str(ROOT)}
    process = subprocess.run(
        [sys.executable, *command], cwd=folder, env=environment, capture_output=True, text=True
    )
    assert process.returncode == 0, process.stderr
    return process.stdout


#: What runs before an example, in a process that has imported the package.
ELSEWHERE = """
import os, sys
os.chdir(sys.argv[1])
os.environ.pop("SKLEARN_PATE_DATA", None)
os.environ["MPLBACKEND"] = "Agg"
del sys.argv[1]
"""


def printed_by(name, *arguments, folder):
    """Run an example in a folder and return its output."""
    code = (ROOT / "examples" / f"{name}.py").read_text(encoding="utf-8")
    process = run_script(ELSEWHERE + code, folder, *arguments)
    assert process.returncode == 0, process.stderr
    return process.stdout


def numbers_after(words, text):
    """Return the numbers of the one line that begins with some words."""
    (rest,) = re.findall(rf"^{re.escape(words)}(.*)$", text, re.M)
    return [float(number) for number in re.findall(r"\d+\.\d+", rest)]


@pytest.mark.slow
def test_quickstart_prints_accuracies_and_the_statement(tmp_path):
    printed = run(ROOT / "examples" / "quickstart.py", folder=tmp_path)
    ours, _ = numbers_after("published student", printed)
    without, _ = numbers_after("logistic regression, no privacy", printed)
    assert 0.85 < ours < without + 0.02
    assert "at most a factor e^1 (epsilon)" in printed
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_statement_example_writes_files_that_verify_accepts(tmp_path):
    printed = printed_by("statement", tmp_path, folder=tmp_path)
    files = {path.name for path in tmp_path.iterdir()}
    assert files == {"model.joblib", "statement.json", "statement.html"}
    assert "TRUE, BY THE OWNER OF THE DATA" in printed
    verified = run("-m", "sklearn_pate.verify", "statement.json", "model.joblib", folder=tmp_path)
    assert "epsilon" in verified


#: Examples that draw a figure, and their output: the beginning of a line and the least number.
FIGURES = {
    "plot_effects": ("north", 0.7),
    "plot_new_rows": ("default student", 0.8),
    "plot_no_public_rows": ("accuracy, for the curator", 0.6),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", FIGURES)
def test_example_prints_its_scores_and_draws_its_figure(name, tmp_path):
    words, least = FIGURES[name]
    printed = printed_by(name, "figure.png", folder=tmp_path)
    assert least < numbers_after(words, printed)[0] <= 1
    assert (tmp_path / "figure.png").read_bytes().startswith(PNG)


@pytest.mark.slow
def test_displays_example_prints_the_statement_and_draws_its_figure(tmp_path):
    printed = printed_by("plot_displays", "figure.png", folder=tmp_path)
    assert re.search(r"^PrivacySpent\(epsilon=\d+\.\d+, delta=1e-05, ", printed, re.M)
    assert (tmp_path / "figure.png").read_bytes().startswith(PNG)
