"""How a peer's script is asked, and how it answers; imports numpy alone.

Asked by a JSON file: a list of {"name", "arrays", "epsilon", "delta", "seed", "settings", "to"}.
Answered by a line of JSON for each, and the probabilities of the test rows in the file "to".
"""

import json
import sys
import time
import traceback
import warnings

import numpy as np


def read_arrays(one):
    with np.load(one["arrays"]) as stored:
        return dict(stored)


def answer(fit, read=read_arrays):
    """Run the fits of the file that the first argument names."""
    warnings.simplefilter("ignore")
    with open(sys.argv[1]) as file:
        requests = json.load(file)
    seed, rows = None, None
    for one in requests:
        if one["seed"] != seed:
            seed, rows = one["seed"], read(one)
        start = time.perf_counter()
        try:
            probabilities = fit(rows, one)
        except Exception as error:
            traceback.print_exc()
            found = {"name": one["name"], "failed": f"{type(error).__name__}: {error}"[:300]}
        else:
            np.save(one["to"], np.asarray(probabilities, dtype=np.float32))
            found = {"name": one["name"], "seconds": time.perf_counter() - start}
        print("answer " + json.dumps(found), flush=True)


def in_columns(probabilities, seen, n_classes):
    """Probabilities of all classes, where a model knows those it has seen."""
    full = np.zeros((len(probabilities), n_classes))
    full[:, np.asarray(seen, dtype=int)] = probabilities
    return full
