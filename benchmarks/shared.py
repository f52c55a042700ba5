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

STATUS = Path("/proc/self/status")
PEAK = Path("/proc/self/clear_refs")


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
    #: what the benchmark needs and does not find
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
    numbers = row.numbers()
    if not numbers:
        return f"| {row.name} | | not measured: needs {row.missing} | | | | |"
    ours = f"{numbers['ours']:,.4g}"
    if numbers["throughput"]:
        ours += f" ({numbers['throughput']:,.4g} {numbers['throughput_unit']})"
    base = f"{numbers['baseline_value']:,.4g}"
    ratio = f"**{numbers['ratio']:,.4g}**"
    if len(row.pairs) > 1:
        ratio += f" ({numbers['ratio_low']:,.4g} to {numbers['ratio_high']:,.4g})"
    cells = (row.name, row.unit, ours, base, ratio, row.baseline, row.setting)
    return f"| {' | '.join(cells)} |"


def show(rows):
    """Print rows as they come."""
    print(HEADER, flush=True)
    for row in rows:
        print(line(row), flush=True)


def machine():
    """What numbers depend on; names neither the machine nor its folders."""
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
    """Seconds of two functions, times `scales`, in turn: what else runs slows both."""
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
    """MiB as the kernel counts them: VmRSS is now, VmHWM the peak, RssAnon without mapped files."""
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
    before = memory("RssAnon")
    samples = [before]
    done = threading.Event()

    def watch():
        while not done.wait(0.002):
            samples.append(memory("RssAnon"))

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        function()
    finally:
        done.set()
        watcher.join()
    return max(*samples, before + 1 / 256) - before


def adult():
    """UCI Adult as numbers: private features and labels, public features."""
    missing = MissingError("UCI Adult in the folder that SKLEARN_PATE_DATA names")
    if "SKLEARN_PATE_DATA" not in os.environ:  # without it, the fetcher would download
        raise missing
    try:
        X, y = fetch_adult(subset="train", as_frame=False, return_X_y=True)
        X_public, _ = fetch_adult(subset="test", as_frame=False, return_X_y=True)
    except FileNotFoundError:
        raise missing from None
    return X, y, X_public
