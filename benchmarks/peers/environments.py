"""Make an environment for each peer."""

import subprocess
import sys
import venv
from pathlib import Path

FOLDER = Path(__file__).parents[1] / "results" / "environments"
#: What pip installs, one call after the other: torch first, in the version that is asked for.
PACKAGES = {
    "diffprivlib": [["diffprivlib==0.6.6", "scikit-learn<1.6", "pandas"]],
    "interpret": [["interpret-core", "scikit-learn", "pandas"]],
    "opacus": [["torch==2.13.0"], ["opacus", "joblib"]],
    "dpmm": [["torch==2.13.0"], ["dpmm", "pandas"]],
}


def python_of(name):
    """The Python of a peer's environment; this one for ""."""
    return sys.executable if not name else str(FOLDER / name / "bin" / "python")


def make(name):
    venv.create(FOLDER / name, with_pip=True, clear=True)
    for packages in PACKAGES[name]:
        subprocess.run([python_of(name), "-m", "pip", "install", "-q", *packages], check=True)
