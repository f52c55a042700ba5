"""The tests in two processes, as CI runs them, against the same tests in one: about 15 minutes."""

import subprocess
import sys
from pathlib import Path

from .shared import Row, seconds, show

ROOT = Path(__file__).parents[1]


def run_tests(tests, *options):
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *options, *tests]
    subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.DEVNULL)


def rows(quick):
    tests = ["tests/test_adjacency.py"] if quick else []
    yield Row(
        "one file of tests" if quick else "the whole suite",
        "s",
        "in one process",
        "pytest -n 2",
        ((seconds(run_tests, tests, "-n", "2"), seconds(run_tests, tests)),),
    )


if __name__ == "__main__":
    show(rows(quick=False))
