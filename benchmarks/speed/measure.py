"""A row of the table, clocks, and the memory of a child process."""

import gc
import json
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from ..shared import MissingError

STATUS = Path("/proc/self/status")
PEAK = Path("/proc/self/clear_refs")


@dataclass(frozen=True)
class Row:
    """One measurement and its baseline, from the same run."""

    name: str
    unit: str
    baseline: str
    setting: str
    #: (ours, baseline) in `unit`, one pair a round; empty if the benchmark did not run
    pairs: tuple = ()
    #: why there is no measurement: a missing requirement, or an error
    missing: str | None = None
    #: other results, by name
    details: dict = field(default_factory=dict)

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
        }


def seconds(function, *args, clock=time.perf_counter):
    """Seconds that a call takes."""
    start = clock()
    function(*args)
    return clock() - start


def paired(ours, baseline, rounds, scales=(1, 1), clock=time.perf_counter):
    """Seconds of two functions, times `scales`, in turn: other programs slow both."""
    timed = partial(seconds, clock=clock)
    return tuple((timed(ours) * scales[0], timed(baseline) * scales[1]) for _ in range(rounds))


def in_child(function, *args):
    """Numbers from a function in a fresh process, which has used no memory yet."""
    if not PEAK.exists():
        raise MissingError("Linux, whose /proc has a process's memory")
    module, name = function.__module__, function.__name__
    code = f"import json, {module} as m; print(json.dumps(m.{name}(*{args!r})))"
    root = Path(__file__).parents[2]
    run = subprocess.run([sys.executable, "-c", code], cwd=root, check=True, stdout=subprocess.PIPE)
    return json.loads(run.stdout)


def memory(field):
    """MiB as the kernel counts them: VmRSS is now, VmHWM the peak, RssFile the mapped files."""
    # Not `resource`: its ru_maxrss starts at the memory of the parent when it made this process
    line = next(line for line in STATUS.read_text().splitlines() if line.startswith(field + ":"))
    return int(line.split()[1]) / 1024


def peak_above(function, *args):
    """MiB that a call takes at its peak, above the memory before it."""
    gc.collect()
    before = memory("VmRSS")
    PEAK.write_text("5")  # forget earlier peaks
    function(*args)
    return max(memory("VmHWM") - before, 1 / 256)  # a page: nothing at all has no ratio
