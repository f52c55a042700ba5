"""Run benchmarks and write their table: `python -m benchmarks [--quick] [--only NAME ...]`."""

import argparse
import importlib
import json
from dataclasses import asdict
from pathlib import Path

from .shared import HEADER, MissingError, Row, line, machine, show

#: Each is a module `bench_<name>` with a function `rows(quick)` that yields rows.
NAMES = [
    "fit",
    "votes",
    "accounting",
    "aggregation",
    "memory",
    "resume",
    "jobs",
    "memmap",
    "blocks",
    "dask",
    "batched",
    "search",
    "import",
    "suite",
]


def rows(names, quick):
    for name in names:
        module = importlib.import_module(f".bench_{name}", __package__)
        try:
            yield from module.rows(quick)
        except MissingError as error:
            yield Row(name, "", "", "", missing=str(error))


def written(rows, facts, out):
    """Write all rows so far each time one comes, and pass it on."""
    done = []
    for row in rows:
        done.append(row)
        results = [asdict(row) | row.numbers() for row in done]
        text = json.dumps({"machine": facts, "rows": results}, indent=1)
        (out / "results.json").write_text(text + "\n")
        head = ", ".join(f"{name}: {fact}" for name, fact in facts.items())
        note = "ratio = ours / baseline; below 1 is better, unless the unit says more is better."
        table = "\n".join([HEADER, *(line(row) for row in done)])
        (out / "results.md").write_text(f"{head}\n\n{note}\n\n{table}\n")
        yield row


def main():
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small sizes, under a minute in all")
    parser.add_argument("--only", nargs="+", choices=NAMES, default=NAMES, metavar="NAME")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results")
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    sizes = "quick: they show that it runs, not how fast" if args.quick else "full"
    show(written(rows(args.only, args.quick), machine() | {"sizes": sizes}, args.out))


if __name__ == "__main__":
    main()
