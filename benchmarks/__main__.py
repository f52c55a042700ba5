"""Run the benchmarks.

    python -m benchmarks [--quick] [--only NAME ...]     time and memory, ratios to a baseline
    python -m benchmarks peers [--quick] [--page] ...    the fair table
    python -m benchmarks regression [--seeds S ...]      numbers, compared with private peers
    python -m benchmarks papers [--page] [--only ...]    the papers' tables
    python -m benchmarks signal [--seeds S ...]          warnings of no relation
    python -m benchmarks epsilons [--seeds S ...]        scores over epsilons
    python -m benchmarks shift [--seeds S ...]           public rows from elsewhere
    python -m benchmarks targets [--seeds S ...]         several targets in one fit
    python -m benchmarks residuals [--seeds S ...]       class sums with and without residuals
    python -m benchmarks verify [--plans N] [--seed S]   statements, recomputed by verify.py
    python -m benchmarks audit [--only PART ...]         audits of every path

`--help` after each prints more.
"""

import sys
from importlib import import_module

PARTS = (
    "speed",
    "peers",
    "regression",
    "papers",
    "signal",
    "epsilons",
    "shift",
    "targets",
    "residuals",
    "verify",
    "audit",
)


def main(arguments):
    """Run the part that is named first; without a name, time and memory."""
    part = arguments[0] if arguments and arguments[0] in PARTS else None
    command = import_module(f".{part or 'speed'}.command", __package__)
    return command.main(arguments[1:] if part else arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
