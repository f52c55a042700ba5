"""Recompute the epsilon of random plans with `sklearn_pate/verify.py`, and try false statements.

    python -m benchmarks verify [--plans N] [--false N] [--seed S]

Each plan becomes a privacy statement. The recomputed epsilon is compared with the stated one, and
with the exact one, from mpmath. Each false statement is a true one with one number changed: a
smaller epsilon, less noise, more steps, a larger change, a larger limit. Results go to
docs/results/audit_verify.csv.
"""

import argparse
import copy
import csv
import importlib.util
import math
import time
from collections import defaultdict
from pathlib import Path

import numpy as np

from . import exact, plans

ROOT = Path(__file__).parents[2]
FILE = ROOT / "docs" / "results" / "audit_verify.csv"
_SPEC = importlib.util.spec_from_file_location("verify", ROOT / "sklearn_pate" / "verify.py")
verify = importlib.util.module_from_spec(_SPEC)
__import__("sys").modules["verify"] = verify  # dataclasses look their module up
_SPEC.loader.exec_module(verify)

TITLE = "Statements, recomputed by verify.py"
WORDS = (
    "Random plans by kind: how many are refused, the least recomputed epsilon divided by the exact "
    "one, and the largest divided by the stated one. False statements have one number changed."
)

#: Numbers that cost more if they are multiplied by 1.05, and if they are divided by 1.05.
MORE = ("l1", "l2_squared", "linf", "limit", "mean", "inverse_scale", "run_epsilon")
LESS = ("scale", "check_scale", "score_scale", "threshold_scale", "distance_scale")
LEVELS = ("level", "standard_deviations", "threshold")


def result(statement):
    """The recomputed epsilon divided by the stated one; inf if the statement is refused."""
    try:
        part = statement["guarantee"]
        found = verify.guarantee_of(part)
        verify.check(part, found)
        whole = (verify.number_of(part[name]) for name in ("epsilon", "delta"))
        verify.check(statement, verify.Guarantee(*whole, found.how))  # as `verify.report` does
    except verify.StatementError:
        return math.inf
    return float(found.epsilon) / statement["epsilon"] if statement["epsilon"] else 1.0


def places(node, path=()):
    """All paths in a statement to numbers whose change costs more, with the changed number."""
    items = node.items() if isinstance(node, dict) else enumerate(node)
    for key, value in items:
        here = (*path, key)
        if isinstance(value, dict | list):
            yield from places(value, here)
        elif key in MORE and isinstance(value, str):
            yield here, (float.fromhex(value) * 1.05).hex()
        elif (key in LESS or key in LEVELS) and isinstance(value, str):
            yield here, (float.fromhex(value) / 1.05).hex()
        elif key in ("n_runs",) or (key == "count" and node.get("mechanism") is not None):
            yield here, value + max(1, value // 20)
        elif key == "epsilon" and len(path) == 0:
            yield here, value / 1.01


def changed(statement, place, value):
    """A copy of a statement with another number at one place."""
    false = copy.deepcopy(statement)
    *path, last = place
    node = false
    for key in path:
        node = node[key]
    node[last] = value
    return false


def false_statements(statement, rng):
    """Statements with one number changed so that the exact cost exceeds the claim by 0.1 %."""
    found = list(places({"epsilon": statement["epsilon"], "guarantee": statement["guarantee"]}))
    for k in rng.permutation(len(found)):
        place, value = found[k]
        false = changed(statement, place, value)
        if place == ("epsilon",):
            cost = exact.epsilon(statement["guarantee"])
            if cost is None or cost > value:  # some plans state more than their steps cost
                yield place, false
            continue
        if place[-1] in LEVELS:
            yield place, false
            continue
        cost = exact.epsilon(false["guarantee"])
        if cost is not None and cost > statement["epsilon"] * 1.001:
            yield place, false


def main(arguments):
    """Measure, print and write a table by kind of plan."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--plans", type=int, default=2000)
    parser.add_argument("--false", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(arguments)
    rng = np.random.default_rng(options.seed)
    rows, failures, seconds = defaultdict(list), [], 0.0
    false, n_refused = [], 0
    for number in range(options.plans):
        kind, statement = plans.random_statement(rng)
        start = time.process_time()
        ratio = result(statement)
        seconds += time.process_time() - start
        best = exact.epsilon(statement["guarantee"])
        if statement["epsilon"] == 0:
            best = None
        over_exact = math.nan if best is None else ratio * statement["epsilon"] / float(best)
        rows[kind].append((ratio, over_exact))
        if ratio == math.inf or over_exact < 1 - 1e-12:
            failures.append((number, kind, ratio, over_exact))
        if kind != "branches" and len(false) < options.false and number % 5 == 0:
            for place, changed_statement in false_statements(statement, rng):
                is_refused = result(changed_statement) == math.inf
                n_refused += is_refused
                false.append(place)
                if not is_refused:
                    failures.append((number, kind, "not refused", place))
                if len(false) % 2 == 0:
                    break
    names = [
        "plans",
        "number",
        "refused",
        "least recomputed / exact",
        "largest recomputed / stated",
    ]
    lines = []
    for kind, values in sorted(rows.items()):
        ratios, over = np.array(values).T
        least = "" if np.isnan(over).all() else f"{np.nanmin(over):.12f}"
        lines.append(
            [kind, len(ratios), int(np.isinf(ratios).sum()), least, f"{ratios.max():.10f}"]
        )
    lines.append(["false statements", len(false), n_refused, "", ""])
    for line in [names, *lines]:
        print(*line, sep=", ")
    for failure in failures:
        print("FAILED", *failure)
    print(f"{seconds / options.plans:.2f} s a statement")
    if options.plans >= 300:  # fewer are a try
        with FILE.open("w", newline="") as file:
            file.write(f"# {TITLE}\n#\n# {WORDS}\n")
            csv.writer(file, lineterminator="\n").writerows([names, *lines])
    return 1 if failures else 0
