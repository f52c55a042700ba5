"""Time and memory, each as a ratio to a baseline of the same run.

Prints a table and writes it, row by row, to results.md and results.json in a folder. `--quick` is a
minute at small sizes: it shows that all runs, not how fast. Set OMP_NUM_THREADS=1.
"""

import argparse
import json
from dataclasses import asdict
from pathlib import Path

from ..shared import MissingError, machine
from . import costs, fits, tables
from .measure import Row

#: Each yields rows; its argument says whether sizes are small.
BENCHMARKS = {
    "fit": fits.fit,
    "votes": fits.votes,
    "memory": fits.memory,
    "batched": fits.batched,
    "accounting": costs.accounting,
    "aggregation": costs.aggregation,
    "tables": tables.tables,
    "schema": tables.schema,
}
HEADER = (
    "| what | unit | ours | baseline | ratio (lowest to highest round) | baseline is | setting |\n"
    "|---|---|---|---|---|---|---|"
)


def rows(names, quick):
    """All rows; one that says what it needs where a benchmark cannot run."""
    for name in names:
        try:
            yield from BENCHMARKS[name](quick)
        except MissingError as error:
            yield Row(name, "", "", "", missing=str(error))


def line(row):
    """A row of the Markdown table."""
    numbers = row.numbers()
    if not numbers:
        return f"| {row.name} | | not measured: needs {row.missing} | | | | |"
    ratio = f"**{numbers['ratio']:,.4g}**"
    if len(row.pairs) > 1:
        ratio += f" ({numbers['ratio_low']:,.4g} to {numbers['ratio_high']:,.4g})"
    both = [f"{numbers[key]:,.4g}" for key in ("ours", "baseline_value")]
    return f"| {' | '.join([row.name, row.unit, *both, ratio, row.baseline, row.setting])} |"


def write(done, about, out):
    """Write the rows that there are."""
    results = [asdict(row) | row.numbers() for row in done]
    text = json.dumps({"machine": about, "rows": results}, indent=1)
    (out / "results.json").write_text(text + "\n")
    head = ", ".join(f"{name}: {fact}" for name, fact in about.items())
    note = "ratio = ours / baseline; below 1 is better."
    table = "\n".join([HEADER, *(line(row) for row in done)])
    (out / "results.md").write_text(f"{head}\n\n{note}\n\n{table}\n")


def main(arguments):
    """Print rows as they come, and write all there are."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small sizes, a minute in all")
    parser.add_argument("--only", nargs="+", choices=BENCHMARKS, default=BENCHMARKS, metavar="NAME")
    parser.add_argument("--out", type=Path, default=Path(__file__).parents[1] / "results")
    args = parser.parse_args(arguments)
    args.out.mkdir(parents=True, exist_ok=True)
    about = machine() | {"sizes": "quick" if args.quick else "full"}
    done = []
    print(HEADER, flush=True)
    for row in rows(args.only, args.quick):
        done.append(row)
        write(done, about, args.out)
        print(line(row), flush=True)
