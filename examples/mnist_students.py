"""
Students on the labels that the 2017 paper's authors published
==============================================================

The authors of PATE published the noisy labels of 250 teachers (LNMax, scale 20) for the first 9,000
MNIST test images, and the 100 of them that their student used. A student sees all 9,000 images, 100
labels (98 are right) or 1,000 (the first), and is scored on the last 1,000 images. The paper's own
student, a GAN (PATE-G), reports 0.980 and 0.981.

`VATClassifier` alone, `VATClassifier` whose images are changed a little whenever they are shown
(`RandomAffine`), and `SSGANClassifier`. Times are printed: about 3 minutes for each of the six
students on 2 CPU cores, 5 on one, less with a GPU. The labels are looked for in
``$SKLEARN_PATE_DATA/papernot2017``.

Usage: ``python mnist_students.py [vat] [augmented] [gan] [--seeds N]`` (default: all, one seed)
"""

import argparse
import os
import time
from pathlib import Path

import numpy as np
import torch
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression

from sklearn_pate.datasets import fetch_mnist
from sklearn_pate.neural import RandomAffine, SSGANClassifier, VATClassifier

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
STUDENTS = {
    "vat": VATClassifier(device=DEVICE),
    "augmented": VATClassifier(augment=RandomAffine(), device=DEVICE),
    "gan": SSGANClassifier(device=DEVICE),
}

parser = argparse.ArgumentParser()
parser.add_argument("students", nargs="*", help="vat, augmented, gan (default: all)")
parser.add_argument("--seeds", type=int, default=1)
arguments = parser.parse_args()

mnist = fetch_mnist(subset="test")
X = mnist.data.reshape(-1, 1, 28, 28).astype(np.float32) / 255
y = mnist.target.astype(int)
folder = Path(os.environ.get("SKLEARN_PATE_DATA", ".")) / "papernot2017"
noisy = np.load(folder / "mnist_250_student_labels_lap_20.npy")
hundred = np.load(folder / "mnist_250_teachers_100_indices_used_by_student.npy")

for rows in (hundred, np.arange(1000)):
    labels = np.full(9000, -1)
    labels[rows] = noisy[rows]
    flat = X.reshape(len(X), -1)
    supervised = LogisticRegression(max_iter=1000).fit(flat[rows], noisy[rows])
    print(f"{len(rows)} labels, {np.mean(noisy[rows] == y[rows]):.3f} right")
    print(f"  supervised (logistic regression): {supervised.score(flat[9000:], y[9000:]):.4f}")
    for name in arguments.students or STUDENTS:
        scores = []
        for seed in range(arguments.seeds):
            start = time.monotonic()
            student = clone(STUDENTS[name]).set_params(random_state=seed)
            student.fit(X[:9000], labels)
            scores.append(student.score(X[9000:], y[9000:]))
            minutes = (time.monotonic() - start) / 60
            print(f"  {name}, seed {seed}: {scores[-1]:.4f} ({minutes:.1f} min)", flush=True)
        print(f"  {name}: mean {np.mean(scores):.4f}", flush=True)
