"""What `import sklearn_pate` takes beyond what scikit-learn takes, each in fresh processes."""

import subprocess
import sys

from .shared import Row, show

#: The scikit-learn of somebody who trains and selects a model of a table.
SCIKIT_LEARN = "import pandas, sklearn.compose, sklearn.ensemble, sklearn.model_selection"


def import_seconds():
    """Seconds to import this library after scikit-learn, and to import scikit-learn."""
    code = (
        f"import time; start = time.perf_counter(); {SCIKIT_LEARN}; middle = time.perf_counter(); "
        "import sklearn_pate; print(time.perf_counter() - middle, middle - start)"
    )
    run = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    ours, baseline = map(float, run.stdout.split())
    return ours, baseline


def rows(quick):
    n_rounds = 1 if quick else 10
    yield Row(
        "import sklearn_pate, with scikit-learn imported",
        "s",
        f"{SCIKIT_LEARN}",
        "a fresh process, files in the cache",
        tuple(import_seconds() for _ in range(n_rounds)),
    )


if __name__ == "__main__":
    show(rows(quick=False))
