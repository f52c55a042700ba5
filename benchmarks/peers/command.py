"""Fit every peer and ours, and write the fair table.

Measurements go to docs/results/peers/*.json and are kept there: a run goes on where the last
one stopped. The page, which is made with the others by `make docs`, its figure, and tables of other
pages, which are printed, follow from these files alone; `--page` makes only the latter two.
`--environments` comes first: it makes an environment for each peer. Data that $SKLEARN_PATE_DATA
does not have are left out. All takes three hours on two cores.
"""

import argparse
import tempfile
from pathlib import Path

from . import page
from .choice import EPSILON, SEED, chosen
from .environments import PACKAGES, make
from .found import found
from .measure import SEEDS, Results, cells, measure
from .models import EPSILONS, MODELS
from .tables import TABLES

DOCS = Path(__file__).parents[2] / "docs"
#: Tables of a quick run: small, and there without any download.
QUICK = ("breast cancer", "digits")


def main(arguments):
    parser = argparse.ArgumentParser(prog="python -m benchmarks peers", description=__doc__)
    parser.add_argument("--models", nargs="+", default=[""], metavar="PART", help="of their names")
    parser.add_argument("--tables", nargs="+", choices=TABLES, default=list(TABLES), metavar="NAME")
    parser.add_argument("--seeds", nargs="+", type=int, default=SEEDS, metavar="S")
    parser.add_argument("--epsilons", nargs="+", type=float, default=EPSILONS, metavar="E")
    parser.add_argument("--jobs", type=int, default=2, metavar="N")
    parser.add_argument("--candidates", action="store_true", help="other settings, with one seed")
    parser.add_argument("--quick", action="store_true", help="a little of all, nothing is kept")
    parser.add_argument("--environments", nargs="*", choices=PACKAGES, metavar="NAME")
    parser.add_argument("--page", action="store_true", help="measure nothing, draw and print")
    args = parser.parse_args(arguments)
    models = [model for model in MODELS if any(part in model.name for part in args.models)]
    if args.environments is not None:
        for name in args.environments or PACKAGES:
            make(name)
        return
    if args.quick:
        with tempfile.TemporaryDirectory() as folder:
            measure(cells(models, QUICK, (1.0,), (0, 1)), Results(Path(folder)), args.jobs)
        return
    results = Results(DOCS / "results" / "peers")
    if args.candidates:
        measure_candidates(models, args.tables, results, args.jobs)
    elif not args.page:
        measure(cells(models, args.tables, args.epsilons, args.seeds), results, args.jobs)
    page.write(DOCS)


def measure_candidates(models, tables, results, n_jobs):
    """All settings with one seed, then with all seeds those that are best on the other tables."""
    requested = []
    for model in models:
        requested += cells([model], tables, (EPSILON,), (SEED,), model.settings)
    measure(requested, results, n_jobs)
    frame = found(results, SEEDS)
    requested = []
    for model in models:
        for table, setting in chosen(frame, model).items():
            requested += cells([model], [table], (EPSILON,), SEEDS, [setting])
    measure(requested, results, n_jobs)
