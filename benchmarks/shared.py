"""Shared code of all parts: the machine, data that may be missing, and tables of results."""

import csv
import os
import platform
from datetime import date
from pathlib import Path

import numpy as np
import sklearn

import sklearn_pate


class MissingError(Exception):
    """A measurement cannot run here; the message names the missing requirement."""


def data(name, content):
    """A folder in the folder of all data; `content` describes its files."""
    root = os.environ.get("SKLEARN_PATE_DATA")
    if root is None or not (Path(root) / name).exists():
        raise MissingError(f"{content} in the folder `{name}` of $SKLEARN_PATE_DATA")
    return Path(root) / name


def machine():
    """What numbers depend on; names neither the machine nor its folders."""
    return {
        "date": date.today().isoformat(),
        "cpus": os.cpu_count(),
        "python": platform.python_version(),
        "numpy": np.__version__,
        "scikit-learn": sklearn.__version__,
        "sklearn_pate": sklearn_pate.__version__,
    }


def write_table(file, title, header, rows):
    """Put a table into its file, under the words that it has, or a title."""
    old = file.read_text(encoding="utf-8").splitlines() if file.exists() else [f"# {title}"]
    words = [line for line in old if line.startswith("#")]
    with file.open("w", encoding="utf-8", newline="") as out:
        out.write("\n".join(words) + "\n")
        csv.writer(out, lineterminator="\n").writerows([header, *rows])
