"""Default fits on Adult, compared with the private boosting of interpret, DP-EBM.

DP-EBM gets columns of numbers between public bounds, and categories as codes; the time of that
conversion is not counted. Our fits get the DataFrame.
"""

import os
import subprocess
import sys
import time
import warnings
from functools import partial
from tempfile import TemporaryDirectory

import numpy as np
from sklearn.datasets import make_classification

from sklearn_pate import PATEClassifier

from ..peers.columns import arrays
from ..peers.tables import TABLES
from ..shared import MissingError, data
from .measure import Row, paired

#: Process time, because other processes may use the same cores.
CLOCK = time.process_time
SETTINGS = {"epsilon": 1.0, "delta": 1e-5, "random_state": 0}


def peer(quick):
    """Fits and plans: seconds of CPU; a fit of DP-EBM is the baseline of the first two."""
    try:
        from interpret.privacy import DPExplainableBoostingClassifier
    except ImportError:
        raise MissingError("`pip install interpret-core`") from None
    data("adult", "UCI Adult")
    table = TABLES["Adult"](0)
    codes = arrays(table, "codes", 0)
    are_numbers = codes["n_categories"] == 0
    X, y, X_public = table.X, table.y, table.X_public
    n_rounds = 5
    if quick:
        X, y, X_public, n_rounds = X[:3000], y[:3000], X_public[:1000], 1
    X_codes, y_codes = codes["X"][: len(y)], codes["y"][: len(y)]

    warnings.simplefilter("ignore")  # both warn of a seed

    def boosted():
        DPExplainableBoostingClassifier(
            feature_types=["continuous" if is_number else "nominal" for is_number in are_numbers],
            privacy_bounds={int(k): (-1.0, 1.0) for k in np.flatnonzero(are_numbers)},
            epsilon=1.0,
            delta=1e-5,
            n_jobs=1,
            random_state=0,
        ).fit(X_codes, y_codes)

    def fit(*public):
        PATEClassifier(**SETTINGS).fit(X, y, *public)

    for warm_up in (boosted, fit, partial(fit, X_public)):
        warm_up()
    setting = f"Adult, {len(y):,} records, nothing declared, epsilon 1"
    for name, *public in (("with public rows", X_public), ("without public rows",)):
        yield Row(
            f"default fit {name}",
            "s of CPU",
            "DP-EBM of interpret, on numbers",
            setting,
            paired(partial(fit, *public), boosted, n_rounds, clock=CLOCK),
        )
    small = make_classification(1000, 4, random_state=0)
    for name, rows in (("1,000 x 4", small), ("Adult", (X, y))):
        clf = PATEClassifier(**SETTINGS, on_bad_plan="warn")
        yield Row(
            f"plan of a fit without public rows, {name}",
            "s of CPU",
            "the fit",
            "nothing declared",
            paired(partial(clf.plan, *rows), partial(clf.fit, *rows), n_rounds, clock=CLOCK),
        )
    with TemporaryDirectory() as compiled:
        cpu_of_imports(compiled)
        pairs = tuple(cpu_of_imports(compiled) for _ in range(2 * n_rounds))
    setting = "a new process, modules compiled before"
    yield Row("import sklearn_pate", "s of CPU", "import sklearn", setting, pairs)


def cpu_of_imports(compiled):
    """CPU seconds of a new process until sklearn_pate is imported, and until sklearn is.

    Both are of one process, because two processes differ by more than the import takes. The folder
    `compiled` has the bytecode, without which the time is mostly the compiler's.
    """
    code = (
        "import time, sklearn; before = time.process_time(); import sklearn_pate; "
        "print(time.process_time(), before)"
    )
    env = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    env["PYTHONPYCACHEPREFIX"] = compiled
    run = subprocess.run([sys.executable, "-c", code], check=True, stdout=subprocess.PIPE, env=env)
    return tuple(map(float, run.stdout.split()))
