"""Time and memory, each as a ratio to a baseline of the same run.

Prints a table and writes it, row by row, to results.md and results.json in a folder, or to a file
of JSON and one next to it. `--quick` is a minute at small sizes: it shows that all runs, not how
fast. Set OMP_NUM_THREADS=1.

    python -m benchmarks speed --only networks --device cuda --budget 300 --out networks.json

trains teachers and a student on a GPU. Without MNIST, it takes digits of scikit-learn.
"""

import argparse
import json
from dataclasses import asdict
from functools import partial
from pathlib import Path

from ..shared import MissingError, machine
from . import costs, fits, growth, networks, peer, tables
from .measure import Row

#: Each yields rows; its argument is whether sizes are small.
BENCHMARKS = {
    "fit": fits.fit,
    "votes": fits.votes,
    "memory": fits.memory,
    "batched": fits.batched,
    "networks": networks.networks,
    "accounting": costs.accounting,
    "aggregation": costs.aggregation,
    "tables": tables.tables,
    "schema": tables.schema,
    "peer": peer.peer,
    "growth": growth.growth,
    "workers": growth.workers,
}
HEADER = (
    "| what | unit | ours | baseline | ratio (lowest to highest round) | baseline is | setting |\n"
    "|---|---|---|---|---|---|---|"
)


def rows(names, quick, **options):
    """All rows; one with the missing requirement where a benchmark cannot run."""
    for name in names:
        benchmark = BENCHMARKS[name]
        if name == "networks":
            benchmark = partial(benchmark, **options)
        try:
            yield from benchmark(quick)
        except MissingError as error:
            yield Row(name, "", "", "", missing=f"needs {error}")


def line(row):
    """A row of the Markdown table."""
    numbers = row.numbers()
    if not numbers and row.details:
        return f"| {row.name} | {row.unit} | see below | | | | {row.setting} |"
    if not numbers:
        return f"| {row.name} | | not measured: {row.missing} | | | | |"
    ratio = f"**{numbers['ratio']:,.4g}**"
    if len(row.pairs) > 1:
        ratio += f" ({numbers['ratio_low']:,.4g} to {numbers['ratio_high']:,.4g})"
    both = [f"{numbers[key]:,.4g}" for key in ("ours", "baseline_value")]
    return f"| {' | '.join([row.name, row.unit, *both, ratio, row.baseline, row.setting])} |"


def shown(row):
    """Other results, in one line; long parts are in the file."""
    flat = {name: value for name, value in row.details.items() if not isinstance(value, dict)}
    for part, details in row.details.items():
        if isinstance(details, dict):
            numbers = {
                name: value for name, value in details.items() if not isinstance(value, dict)
            }
            flat |= {f"{part}, {name}": value for name, value in numbers.items()}
    details = [f"{k} {v:,.4g}" if isinstance(v, float) else f"{k} {v}" for k, v in flat.items()]
    return f"{row.name}: {'; '.join(details)}"


def write(done, about, out):
    """Write the rows that there are."""
    file = out if out.suffix == ".json" else out / "results.json"
    file.parent.mkdir(parents=True, exist_ok=True)
    results = [asdict(row) | row.numbers() for row in done]
    text = json.dumps({"machine": about, "rows": results}, indent=1)
    file.write_text(text + "\n")
    head = ", ".join(f"{name}: {fact}" for name, fact in about.items())
    note = "ratio = ours / baseline; below 1 is better."
    table = "\n".join([HEADER, *(line(row) for row in done)])
    more = "".join(f"\n- {shown(row)}" for row in done if row.details)
    file.with_suffix(".md").write_text(f"{head}\n\n{note}\n\n{table}\n{more}\n")


def main(arguments):
    """Print rows as they come, and write all there are."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small sizes, a minute in all")
    parser.add_argument("--only", nargs="+", choices=BENCHMARKS, default=BENCHMARKS, metavar="NAME")
    parser.add_argument("--out", type=Path, default=Path(__file__).parents[1] / "results")
    parser.add_argument("--device", help="of networks; by default a GPU, if there is one")
    parser.add_argument("--budget", type=float, default=300, help="seconds of networks")
    args = parser.parse_args(arguments)
    about = machine() | {"sizes": "quick" if args.quick else "full"}
    done = []
    print(HEADER, flush=True)
    for row in rows(args.only, args.quick, device=args.device, budget=args.budget):
        done.append(row)
        write(done, about, args.out)
        print(line(row), flush=True)
        if row.details:
            print(f"    {shown(row)}", flush=True)
