"""Rebuild the papers' results and write the page: `python -m benchmarks.papers [--only NAME ...]`.

Each module's entries go to docs/results/<name>.json; docs/results.md and its figure are made from
those files alone (`--page` makes only them). `--first-seed` runs other seeds and, with `--compare`,
prints how far their means are from the page's, in the page's own spreads, and writes nothing. All
modules take some two hours on two cores.
"""

import argparse
import importlib
import json
import math
import os
import statistics
import sys
import time
from dataclasses import asdict
from pathlib import Path

from ..shared import MissingError, machine
from .page import write_page
from .shared import Entry

#: Modules in the order of the page; each has `entries(seeds)`, which yields entries.
NAMES = [
    "adult",
    "diabetes",
    "teachers",
    "students",
    "svhn",
    "distillation",
    "questions",
    "composition",
    "noise",
    "bounds",
    "selective",
    "sanitised",
    "private_labels",
    "glyph",
    "zero_cost",
    "ballots",
    "no_public",
    "experiments",
    "peers",
]
DOCS = Path(__file__).parents[2] / "docs"


def run(name, seeds):
    """All entries of a module, each with the seconds it took."""
    module = importlib.import_module(f".{name}", __package__)
    done = []
    start = time.monotonic()
    try:
        for entry in module.entries(seeds):
            ours = {key: [float(value) for value in values] for key, values in entry.ours.items()}
            done.append(asdict(entry) | {"ours": ours, "seconds": time.monotonic() - start})
            print(f"{entry.source}, {entry.what}: {entry.ours or entry.missing}", flush=True)
            start = time.monotonic()
    except MissingError as error:
        print(f"{name}: needs {error}", flush=True)
        done.append(asdict(Entry("", "not run", missing=str(error))) | {"seconds": 0.0})
    command = f"python -m benchmarks.papers --only {name} --seeds {len(seeds)}"
    if seeds[0]:
        command += f" --first-seed {seeds[0]}"
    return {
        "command": command,
        "machine": machine() | {"device": device()},
        "entries": done,
    }


def device():
    """What networks are trained on."""
    try:
        import torch
    except ImportError:
        torch = None
    if torch is not None and torch.cuda.is_available():
        return torch.cuda.get_device_name()
    return f"{os.cpu_count()} cores"


def n_missing(results):
    """Number of rows that did not run; infinite if the whole module did not."""
    missing = [entry["what"] for entry in results["entries"] if entry["missing"]]
    return math.inf if missing == ["not run"] else len(missing)


def compare(page, rerun):
    """Print each mean of a rerun beside the page's mean and spread."""
    if n_missing(rerun) > n_missing(page):
        print("not compared: rows are missing", flush=True)
        return
    for old, new in zip(page["entries"], rerun["entries"], strict=True):
        for name, values in old["ours"].items():
            mean = statistics.fmean(values)
            spread = statistics.stdev(values) if len(values) > 1 else 0.0
            new_mean = statistics.fmean(new["ours"][name])
            is_within = abs(new_mean - mean) <= max(2 * spread, 1e-6 * abs(mean))
            verdict = "within" if is_within else "NOT within"
            print(
                f"{old['what']}, {name}: {mean:.4g} +- {spread:.2g}, rerun {new_mean:.4g}: "
                f"{verdict} two spreads",
                flush=True,
            )


def main():
    parser = argparse.ArgumentParser(prog="python -m benchmarks.papers", description=__doc__)
    parser.add_argument("--only", nargs="+", choices=NAMES, default=NAMES, metavar="NAME")
    parser.add_argument("--seeds", type=int, default=5, metavar="N")
    parser.add_argument("--first-seed", type=int, default=0, metavar="S")
    parser.add_argument("--compare", action="store_true", help="with the page; write nothing")
    parser.add_argument("--page", action="store_true", help="run nothing, write the page")
    args = parser.parse_args()
    folder = DOCS / "results"
    folder.mkdir(exist_ok=True)
    seeds = range(args.first_seed, args.first_seed + args.seeds)
    kept = []
    for name in () if args.page else args.only:
        file = folder / f"{name}.json"
        results = run(name, seeds)
        if args.compare:
            compare(json.loads(file.read_text()), results)
        elif file.exists() and n_missing(results) > n_missing(json.loads(file.read_text())):
            kept.append(name)
        else:
            file.write_text(json.dumps(results, indent=1) + "\n")
    if not args.compare:
        write_page(DOCS, NAMES)
    if kept:
        sys.exit(f"{', '.join(kept)}: left as before, where more rows had run")


if __name__ == "__main__":
    main()
