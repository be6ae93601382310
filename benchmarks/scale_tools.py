"""What the benchmarks of scale share: a clock, a process for each measurement, a picture whose bytes repeat."""

import json
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path


class Clock:
    """Wall and CPU seconds inside ``with``, added up; CPU of child processes, living or waited for, too."""

    def __init__(self):
        self.wall = self.cpu = 0.0

    def __enter__(self):
        self._begun = time.perf_counter(), cpu_seconds()
        return self

    def __exit__(self, *_):
        wall, cpu = self._begun
        self.wall += time.perf_counter() - wall
        self.cpu += cpu_seconds() - cpu


def cpu_seconds():
    """Return CPU seconds of this process, of all that it waited for, and of all below it that still run."""
    import psutil

    this = psutil.Process()
    total = 0.0
    for process in (this, *this.children(recursive=True)):
        try:
            times = process.cpu_times()
        except psutil.NoSuchProcess:
            continue
        total += times.user + times.system + times.children_user + times.children_system
    return total


def in_own_process(file, *options):
    """Run ``python FILE OPTIONS`` and return the JSON of its last line; what it says of itself is shown."""
    line = [sys.executable, file, *map(str, options)]
    done = subprocess.run(line, check=True, stdout=subprocess.PIPE, text=True, cwd=Path(file).parent)
    return json.loads(done.stdout.splitlines()[-1])


@contextmanager
def svg(picture, rows=1, columns=1, size=(7, 4.2)):
    """Yield matplotlib axes (an array of them for several); the SVG is written at the end, the same bytes each time."""
    import matplotlib as mpl

    mpl.use("svg")
    mpl.rcParams["svg.hashsalt"] = "discreet"
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(rows, columns, figsize=size, layout="constrained")
    yield axes
    figure.savefig(picture, metadata={"Date": None})
