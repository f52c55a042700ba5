"""Run the fits that are missing in docs/results/peers; measurements are kept there."""

import json
import os
import subprocess
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from threading import Lock

import numpy as np

from ..shared import MissingError
from .columns import arrays
from .environments import python_of
from .models import Model
from .scores import scores
from .tables import TABLES

SEEDS = tuple(range(5))
ROOT = Path(__file__).parents[2]
FITS = Path(__file__).parent / "fits"


@dataclass(frozen=True)
class Cell:
    """One fit of a model."""

    model: Model
    setting: str
    table: str
    epsilon: float
    seed: int

    @property
    def key(self):
        return f"{self.setting} | {self.table} | {self.epsilon:g} | {self.seed}"


class Results:
    """Scores by cell, in a file for each model."""

    def __init__(self, folder):
        self.folder = folder
        self._lock = Lock()
        self._found = {}

    def of(self, model):
        """All scores of a model, by key."""
        if model.name not in self._found:
            file = self._file(model)
            self._found[model.name] = json.loads(file.read_text()) if file.exists() else {}
        return self._found[model.name]

    def add(self, cell, found):
        with self._lock:
            kept = self.of(cell.model)
            kept[cell.key] = found
            lines = [f"{json.dumps(key)}: {json.dumps(kept[key])}" for key in sorted(kept)]
            self.folder.mkdir(parents=True, exist_ok=True)
            self._file(cell.model).write_text("{\n" + ",\n".join(lines) + "\n}\n")

    def _file(self, model):
        return self.folder / f"{model.name.replace(', ', '-').replace(' ', '_')}.json"


def cells(models, tables, epsilons, seeds, settings=None):
    """All fits of some models; epsilon changes nothing where there is no privacy."""
    return [
        Cell(model, setting, table, epsilon, seed)
        for model in models
        for setting in (settings or [model.first])
        if setting in model.settings
        for table in tables
        if table in model.tables
        for epsilon in (epsilons if model.is_private else (0.0,))
        if epsilon in model.epsilons or not model.is_private
        for seed in seeds
    ]


def measure(requested, results, n_jobs):
    """Fit all cells that are not kept yet, a process for each model, setting and table."""
    batches = {}
    for cell in requested:
        if cell.key not in results.of(cell.model):
            batches.setdefault((cell.model.name, cell.setting, cell.table), []).append(cell)
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(n_jobs) as pool:
        running = [
            pool.submit(_fit, batch, results, Path(folder) / str(number))
            for number, batch in enumerate(batches.values())
        ]
        for run in running:
            run.result()


def _fit(batch, results, folder):
    folder.mkdir()
    model, table = batch[0].model, batch[0].table
    try:
        made = {seed: _prepared(table, model, seed, folder) for seed in {c.seed for c in batch}}
    except MissingError as error:
        print(f"{table}: needs {error}", flush=True)
        return
    by_key = {cell.key: cell for cell in batch}
    requests = [
        _request(cell, made[cell.seed], folder, n) for n, cell in enumerate(by_key.values())
    ]
    files = {one["name"]: one["to"] for one in requests}
    request = folder / "requests.json"
    request.write_text(json.dumps(sorted(requests, key=lambda one: one["seed"])))
    for answer in _answers(model, request):
        cell = by_key[answer["name"]]
        if "failed" in answer:
            found = {"failed": answer["failed"]}
        else:
            y, rate = _truth(table, cell.seed)
            found = scores(y, np.load(files[cell.key]), rate)
            found["seconds"] = round(answer["seconds"], 2)
            Path(files[cell.key]).unlink()
        results.add(cell, found)
        print(f"{model.name} | {cell.key}: {found}", flush=True)


def _prepared(table, model, seed, folder):
    """The file of a peer's rows; empty for ours, which reads the table itself."""
    rows = _table(table, seed)
    if not model.kind:
        return ""
    file = folder / f"{seed}.npz"
    np.savez(file, **arrays(rows, model.kind, seed))
    return str(file)


@cache
def _truth(table, seed):
    """Codes of the test rows' classes, and the public rate."""
    rows = _table(table, seed)
    return np.searchsorted(rows.classes, rows.y_test), rows.rate


def _table(table, seed):
    return TABLES[table](seed)


@cache
def _n_rows(table, seed):
    rows = _table(table, seed)
    return len(rows.y) if rows.groups is None else len(np.unique(rows.groups))


def _request(cell, file, folder, number):
    model = cell.model
    delta = 1 / (10 * _n_rows(cell.table, cell.seed))
    epsilon, delta = model.own(cell.epsilon, delta)
    return {
        "name": cell.key,
        "model": model.name,
        "table": cell.table,
        "arrays": file,
        "epsilon": epsilon,
        "delta": delta,
        "seed": cell.seed,
        "settings": model.settings[cell.setting],
        "to": str(folder / f"{number}.npy"),
    }


def _answers(model, request):
    """Run a peer's script and yield its answers as they come."""
    script = [str(FITS / model.script)] if model.environment else ["-m", f"{__package__}.fits.ours"]
    with subprocess.Popen(
        [python_of(model.environment), "-W", "ignore", *script, str(request)],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | {"OMP_NUM_THREADS": "1"},
    ) as process:
        for line in process.stdout:
            if line.startswith("answer "):
                yield json.loads(line.removeprefix("answer "))
    if process.returncode:
        print(f"{model.name}: its process ended with {process.returncode}", flush=True)
