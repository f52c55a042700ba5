"""
From private records to an ONNX file
====================================

A linear student is handed over as an ONNX file: it predicts the labels without Python, and carries
its privacy statement as metadata. The figure compares its probabilities with those of the
classifier that made it. ONNX counts with 32 bits, so they agree to about seven digits.

Needs `pip install skl2onnx onnxruntime` (tried with 1.20 and 1.32); without these, it prints that.
Takes a few seconds.
"""

import json

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sklearn_pate import PATEClassifier

try:
    import onnxruntime
    from skl2onnx import to_onnx
except ImportError:
    to_onnx = None

# %%
# Fit, and take the student by itself
# -----------------------------------
X, y = load_breast_cancer(return_X_y=True)
y = np.where(y == 1, "benign", "malignant")
rng = np.random.default_rng(0)
rows = rng.permutation(len(X))
private, public, test = rows[:300], rows[300:450], rows[450:]

clf = PATEClassifier(
    student=make_pipeline(StandardScaler(), LogisticRegression()),
    epsilon=4.0,
    classes=["benign", "malignant"],
)
clf.fit(X[private], y[private], X_public=X[public])
model = clf.export(X[public])
print(f"accuracy {model.score(X[test], y[test]):.2f}, classes {model.classes_.tolist()}")


# %%
# Write the file, and read it as another program would
# ----------------------------------------------------
def write(model, row):
    """Return an ONNX file of a model that takes rows like one."""
    onnx = to_onnx(model, row.astype(np.float32), options={"zipmap": False})
    entry = onnx.metadata_props.add()
    entry.key = "privacy_spent"
    entry.value = clf.privacy_spent_.to_json()
    return onnx.SerializeToString()


def read(file, rows):
    """Return labels, probabilities and the statement, by the runtime of ONNX alone."""
    session = onnxruntime.InferenceSession(file, providers=["CPUExecutionProvider"])
    (given,) = session.get_inputs()
    labels, proba = session.run(None, {given.name: rows.astype(np.float32)})
    statement = session.get_modelmeta().custom_metadata_map["privacy_spent"]
    return labels, proba, json.loads(statement)


if to_onnx is None:
    print("skl2onnx or onnxruntime is not installed: no file was written")
else:
    file = write(model, X[:1])
    labels, proba, statement = read(file, X[test])
    expected = model.predict_proba(X[test])
    protected = f"{statement['relation']}, unit {statement['unit']}"
    print(f"{len(file)} bytes; epsilon {statement['epsilon']:.3g}, {protected}")
    print(f"same labels: {np.mean(labels == model.predict(X[test])):.1%}")
    print(f"largest difference of probabilities: {np.abs(proba - expected).max():.1g}")

    fig, ax = plt.subplots(figsize=(4.5, 4))
    ax.plot([0, 1], [0, 1], color="0.8", zorder=0)
    ax.scatter(expected[:, 1], proba[:, 1], s=12)
    ax.set(xlabel="P(malignant), here", ylabel="P(malignant), by ONNX")
    fig.tight_layout()
