"""What all benchmarks share: rows and their table, clocks, child processes, memory, UCI Adult."""

import gc
import inspect
import json
import os
import platform
import statistics
import subprocess
import sys
import threading
import time
from dataclasses import dataclass
from datetime import date
from pathlib import Path

import numpy as np
import sklearn

import sklearn_pate
from sklearn_pate.datasets import fetch_adult

STATUS, PEAK = Path("/proc/self/status"), Path("/proc/self/clear_refs")


class MissingError(Exception):
    """A benchmark cannot run here; the message says what it needs."""


@dataclass(frozen=True)
class Row:
    """One measurement and its baseline, from the same run."""

    name: str
    unit: str
    baseline: str
    setting: str
    #: (ours, baseline) in `unit`, one pair per round; empty if the benchmark did not run
    pairs: tuple = ()
    #: how much work `ours` seconds did, for instance (250, "teachers")
    work: tuple | None = None
    #: what was needed and is not there
    missing: str | None = None

    def numbers(self):
        """Medians over rounds; the ratio is the median of each round's."""
        if not self.pairs:
            return {}
        ratios = [ours / base for ours, base in self.pairs]
        ours, base = (statistics.median(side) for side in zip(*self.pairs, strict=True))
        return {
            "ours": ours,
            "baseline_value": base,
            "ratio": statistics.median(ratios),
            "ratio_low": min(ratios),
            "ratio_high": max(ratios),
            "throughput": self.work and self.work[0] / ours,
            "throughput_unit": self.work and f"{self.work[1]}/s",
        }


HEADER = (
    "| what | unit | ours | baseline | ratio (lowest to highest round) | baseline is | setting |\n"
    "|---|---|---|---|---|---|---|"
)


def line(row):
    """Format a row of the Markdown table."""
    n = row.numbers()
    if not n:
        return f"| {row.name} | | not measured: needs {row.missing} | | | | |"
    ours, base, ratio, low, high = (
        f"{n[key]:,.4g}" for key in ("ours", "baseline_value", "ratio", "ratio_low", "ratio_high")
    )
    if n["throughput"]:
        ours += f" ({n['throughput']:,.4g} {n['throughput_unit']})"
    spread = f"**{ratio}** ({low} to {high})" if len(row.pairs) > 1 else f"**{ratio}**"
    cells = (row.name, row.unit, ours, base, spread, row.baseline, row.setting)
    return f"| {' | '.join(cells)} |"


def show(rows):
    """Print rows as they come."""
    print(HEADER, flush=True)
    for row in rows:
        print(line(row), flush=True)


def machine():
    """Facts that numbers depend on and that name neither the machine nor its folders."""
    return {
        "date": date.today().isoformat(),
        "cpus": os.cpu_count(),
        "python": platform.python_version(),
        "numpy": np.__version__,
        "scikit-learn": sklearn.__version__,
        "sklearn_pate": sklearn_pate.__version__,
    }


def seconds(function, *args):
    start = time.perf_counter()
    function(*args)
    return time.perf_counter() - start


def paired(ours, baseline, rounds, scales=(1, 1)):
    """Seconds of two functions, times `scales`, in alternation: what else runs hits both."""
    return tuple((seconds(ours) * scales[0], seconds(baseline) * scales[1]) for _ in range(rounds))


def in_child(function, *args):
    """Numbers from a function of this folder in a fresh process, which has used no memory yet."""
    if not PEAK.exists():
        raise MissingError("Linux, whose /proc tells a process's memory")
    name = f"benchmarks.{Path(inspect.getfile(function)).stem}"
    code = f"import json, {name}; print(json.dumps({name}.{function.__name__}(*{args!r})))"
    root = Path(__file__).parents[1]
    run = subprocess.run([sys.executable, "-c", code], cwd=root, check=True, stdout=subprocess.PIPE)
    return json.loads(run.stdout)


def memory(field):
    """MiB by the kernel's account: VmRSS is now, VmHWM the peak, RssAnon without mapped files."""
    # Not `resource`: its ru_maxrss starts at what the parent held when it made this process
    line = next(line for line in STATUS.read_text().splitlines() if line.startswith(field + ":"))
    return int(line.split()[1]) / 1024


def peak_above(function):
    """MiB that a function takes at its peak, above what is there before it."""
    gc.collect()
    before = memory("VmRSS")
    PEAK.write_text("5")  # forget earlier peaks
    function()
    return max(memory("VmHWM") - before, 1 / 256)  # a page: nothing at all has no ratio


def anonymous_peak_above(function):
    """As `peak_above`, without pages of mapped files (sampled: the kernel keeps no such peak)."""
    gc.collect()
    before, done = memory("RssAnon"), threading.Event()
    seen = [before]

    def watch():
        while not done.wait(0.002):
            seen.append(memory("RssAnon"))

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        function()
    finally:
        done.set()
        watcher.join()
    return max(*seen, before + 1 / 256) - before


def adult():
    """UCI Adult as numbers: private features and labels, public features."""
    if "SKLEARN_PATE_DATA" not in os.environ:  # without it, the fetcher would download
        raise MissingError("UCI Adult in the folder that SKLEARN_PATE_DATA names")
    try:
        X, y = fetch_adult(subset="train", as_frame=False, return_X_y=True)
        return X, y, fetch_adult(subset="test", as_frame=False, return_X_y=True)[0]
    except FileNotFoundError:
        raise MissingError("UCI Adult in the folder that SKLEARN_PATE_DATA names") from None
