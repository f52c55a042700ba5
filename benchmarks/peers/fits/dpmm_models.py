"""dpmm: rows from noisy marginals (MST), and gradient boosting on them."""

import numpy as np
import pandas as pd
from dpmm.pipelines import MSTPipeline
from shared import answer, in_columns
from sklearn.ensemble import HistGradientBoostingClassifier


def fit(arrays, one):
    frame, domain = declared(arrays)
    made = MSTPipeline(
        epsilon=one["epsilon"], delta=one["delta"], proc_epsilon=None, n_bins=32, n_jobs=1
    )
    made.fit(frame, domain=domain, random_state=one["seed"])
    rows = made.generate(n_records=len(frame), random_state=one["seed"])
    y = rows.pop("y").astype(int)
    test = pd.DataFrame(arrays["X_test"], columns=rows.columns)
    clf = HistGradientBoostingClassifier(random_state=one["seed"])
    clf.fit(rows.astype(float).to_numpy(), y)
    return in_columns(clf.predict_proba(test.to_numpy()), clf.classes_, arrays["n_classes"])


def declared(arrays):
    """The private rows as a frame, and the public values and bounds of its columns."""
    frame = pd.DataFrame(arrays["X"], columns=[f"x{k}" for k in range(arrays["X"].shape[1])])
    domain = {}
    for name, n in zip(frame.columns, arrays["n_categories"], strict=True):
        if n:
            codes = 2 * np.arange(n) / (n - 1) - 1
            domain[name] = {"categories": [f"{code:.9f}" for code in codes]}
            frame[name] = frame[name].map("{:.9f}".format)
        else:
            domain[name] = {"lower": -1.0, "upper": 1.0}
    frame["y"] = arrays["y"].astype(str)
    domain["y"] = {"categories": [str(k) for k in range(arrays["n_classes"])]}
    return frame, domain


answer(fit)
