"""interpret: the additive model by private boosting, for two classes."""

from interpret.privacy import DPExplainableBoostingClassifier
from shared import answer


def fit(arrays, one):
    n_categories = arrays["n_categories"]
    clf = DPExplainableBoostingClassifier(
        feature_types=["nominal" if n else "continuous" for n in n_categories],
        privacy_bounds={k: (-1.0, 1.0) for k, n in enumerate(n_categories) if not n},
        epsilon=one["epsilon"],
        delta=one["delta"],
        n_jobs=1,
        random_state=one["seed"],
        **one["settings"],
    )
    return clf.fit(arrays["X"], arrays["y"]).predict_proba(arrays["X_test"])


answer(fit)
