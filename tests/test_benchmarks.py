"""The command that runs the benchmarks, at small sizes: its tables are complete."""

import json
import math
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from benchmarks import odds, readings
from sklearn_pate.aggregators import LaplaceMechanism

ROOT = Path(__file__).parents[1]


def run(tmp_path, *names):
    command = [sys.executable, "-m", "benchmarks", "--quick", "--out", tmp_path, "--only", *names]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    table = (tmp_path / "results.md").read_text()
    assert table.endswith(done.stdout)
    return json.loads((tmp_path / "results.json").read_text()), table


def test_rows_are_complete(tmp_path):
    results, table = run(tmp_path, "accounting", "aggregation", "memory")
    assert set(results) == {"machine", "rows"}
    assert {"date", "cpus", "python", "numpy", "scikit-learn"} <= set(results["machine"])
    measured = [row for row in results["rows"] if not row["missing"]]
    assert len(measured) >= 4  # without any data set
    for row in measured:
        assert row["name"] in table
        for key in ("name", "unit", "baseline", "setting"):
            assert row[key], row
        for key in ("ours", "baseline_value", "ratio"):
            assert math.isfinite(row[key]), row
            assert row[key] > 0, row


def test_what_needs_absent_data_says_so(tmp_path, monkeypatch):
    monkeypatch.setenv("SKLEARN_PATE_DATA", str(tmp_path))
    results, table = run(tmp_path, "accounting")
    (row,) = [row for row in results["rows"] if row["missing"]]
    assert "SKLEARN_PATE_DATA" in row["missing"]
    assert "ratio" not in row
    assert "not measured" in table
    assert str(tmp_path) not in table


def test_readings_count_what_they_say(tmp_path, monkeypatch):
    package = tmp_path / "crowded"
    package.mkdir()
    (package / "__init__.py").write_text(
        '"""Docstrings are no code."""\n'
        "\n"
        "# a comment\n"
        "def both(first, second):\n"
        '    """Nor are these."""\n'
        "    low, high = first, second  # several at once\n"
        "    pair = first, second\n"
        "    return low if high else pair\n"
    )
    (package / "test_it.py").write_text("x, y = 1, 2\n")
    monkeypatch.syspath_prepend(tmp_path)
    # 4 lines of code, 2 of comments; 1 of 2 assignments; 1 of 4 statements; low, high and pair
    assert readings.reading("crowded") == ("4 / 4 / 4", "50", "50.0 %", "25.0", "3.7")


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
def test_odds_are_those_of_a_record_that_changes_its_ballot(epsilon):
    """A replaced record takes one ballot from a class and gives another one."""
    mechanism = LaplaceMechanism(2 / epsilon)
    tables = [np.tile(votes, (200_000, 1)) for votes in ([1, 0], [0, 1])]
    seen = [mechanism.noisy(table, random_state=seed) for seed, table in enumerate(tables)]
    losses = [
        np.abs(rows - [0, 1]).sum(axis=1) - np.abs(rows - [1, 0]).sum(axis=1) for rows in seen
    ]
    right = ((losses[0] > 0).mean() + (losses[1] < 0).mean()) / 2
    right += sum((loss == 0).mean() for loss in losses) / 4  # a coin decides
    assert odds.right_on_average(epsilon) == pytest.approx(right, abs=4 / math.sqrt(1_600_000))
    assert odds.most_sure(epsilon) == pytest.approx(1 / (1 + math.exp(-epsilon)))
    assert odds.most_sure(epsilon, 0.1) / (1 - odds.most_sure(epsilon, 0.1)) == pytest.approx(
        math.exp(epsilon) / 9
    )


def test_the_page_has_the_odds_of_the_figure():
    text = (ROOT / "docs" / "what_epsilon_means.md").read_text()
    rows = re.findall(
        r"^\| ([\d.]+) \| at most ([\d.]+) % \| at most ([\d.]+) % \| ([\d.]+) %", text, re.M
    )
    assert len(rows) == 5
    for row in rows:
        epsilon, *shown = map(float, row)
        told = odds.most_sure(epsilon), odds.most_sure(epsilon, 0.1), odds.right_on_average(epsilon)
        assert shown == [math.ceil(10_000 * value) / 100 for value in told]
