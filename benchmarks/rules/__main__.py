"""Measure what the defaults were set by, and write the page: `python -m benchmarks.rules`.

What is measured goes to docs/results/rules/*.json and is kept there: a run goes on where the last
one stopped. docs/defaults.md and its figure are made from these files alone; `--page` makes only
them. `--quick` measures a little, in a temporary folder, and prints the page. All takes an hour and
a half of one core. Data that $SKLEARN_PATE_DATA does not have are left out.
"""

import argparse
import tempfile
from pathlib import Path

from . import bare, cells, page, synthetic, votes
from .kept import Kept

DOCS = Path(__file__).parents[2] / "docs"
PARTS = {"votes": votes, "cells": cells, "synthetic": synthetic, "bare": bare}


def main():
    parser = argparse.ArgumentParser(prog="python -m benchmarks.rules", description=__doc__)
    parser.add_argument("--only", nargs="+", choices=PARTS, default=list(PARTS), metavar="PART")
    parser.add_argument("--quick", action="store_true", help="measure a little, print the page")
    parser.add_argument("--page", action="store_true", help="measure nothing, write the page")
    args = parser.parse_args()
    if args.quick:
        with tempfile.TemporaryDirectory() as folder:
            measure(Path(folder), args.only, is_quick=True)
            print(page.render(Path(folder)))
        return
    folder = DOCS / "results" / "rules"
    if not args.page:
        measure(folder, args.only, is_quick=False)
    page.write(DOCS)


def measure(folder, names, *, is_quick):
    for name in names:
        PARTS[name].measure(Kept(folder / f"{name}.json"), is_quick=is_quick)


if __name__ == "__main__":
    main()
