"""Make the faults of `faults.toml`, one at a time: tests must fail.

    python tests/faults.py [name ...]

Prints the test that noticed each fault, or SURVIVED; the exit status is 1 if a fault survived.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
FAULTS = tomllib.loads((ROOT / "tests" / "faults.toml").read_text())["fault"]
UNWANTED = shutil.ignore_patterns(".git", ".venv", ".*_cache", ".hypothesis", "mutants", "_build")


def failed_test(folder, files):
    """Return what fails first in some files of tests; None if all pass."""
    command = [sys.executable, "-m", "pytest", "-x", "-rfE", "--tb=no", "-m", "not exhaustive"]
    command += ["-p", "no:cacheprovider", "--hypothesis-seed=0", *files]
    env = os.environ | {"PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True)
    if done.returncode == 0:
        return None
    failed = re.search(r"^(?:FAILED|ERROR) (\S+)", done.stdout, re.MULTILINE)
    if failed is None:
        raise SystemExit(f"tests did not run: {done.stdout}{done.stderr}")
    return failed[1]


def main():
    """Make the faults that are named, or all."""
    names = sys.argv[1:] or [fault["name"] for fault in FAULTS]
    survivors = []
    with tempfile.TemporaryDirectory() as parent:
        folder = shutil.copytree(ROOT, Path(parent) / "copy", ignore=UNWANTED)
        for fault in FAULTS:
            if fault["name"] not in names:
                continue
            path = folder / "sklearn_pate" / fault["path"]
            text = path.read_text()
            if text.count(fault["old"]) != 1:
                raise SystemExit(f"{fault['name']}: {fault['path']} has not one such piece")
            path.write_text(text.replace(fault["old"], fault["new"]))
            killer = failed_test(folder, [f"tests/{file}" for file in fault["tests"]])
            path.write_text(text)
            if killer is None:
                survivors.append(fault["name"])
            print(f"{fault['name']:45} {killer or 'SURVIVED'}", flush=True)
    print(f"{len(names)} faults, {len(survivors)} survived")
    sys.exit(bool(survivors))


if __name__ == "__main__":
    main()
