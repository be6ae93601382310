"""What a fit on a cluster takes: constants measured on this machine, and a simulation of up to 1,000 workers.

    python benchmarks/scale_model.py measure [--documents 200000]     constants, to results/scale_model.json
    python benchmarks/scale_model.py simulate [--picture docs/assets/scale-model.svg]

Seconds of a pass = documents x seconds of a document / workers, where workers have their shards at once; the scheduler
spends a constant on each task, one after the other; the table goes out in log2(workers) hops, and sums come back up a
tree of eight. Constants are CPU seconds, which a busy machine changes little. Network and latency are assumptions, and
so are workers as fast as this machine's core.
"""

import argparse
import heapq
import json
import math
import tempfile
import time
from collections import deque
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scale import WORDS, model, pieces, planted, vocabulary
from scale_tools import svg

from discreet.corpus import write_shards
from discreet.engines import ProcessEngine
from discreet.engines.engine import add_up

TOPICS, START_WORDS, ROUNDS, FAN_IN = 20, 1000, 5, 8
RESULTS = Path(__file__).parent / "results" / "scale_model.json"
BYTES_A_SECOND, LATENCY = 1.25e9, 1e-3


class Constants(NamedTuple):
    """CPU seconds: of a document in each pass, reading and all; of a cell that is added; of a task at the scheduler."""

    passes: list[float]
    add: float
    task: float


class Forecast(NamedTuple):
    """A fit: wall seconds, the share of them in which the scheduler was busy, and CPU seconds of the work alone."""

    seconds: float
    scheduler_busy: float
    work: float


# ---- measuring


def best(work, times=3):
    found = []
    for _ in range(times):
        begun = time.process_time()
        work()
        found.append(time.process_time() - begun)
    return min(found[1:] or found)


class TimedEngine(ProcessEngine):
    """Notes the CPU seconds of each pass."""

    def __init__(self):
        super().__init__(1)
        self.seconds = []

    def map_sum(self, *what, **beside):
        begun = time.process_time()
        total = super().map_sum(*what, **beside)
        self.seconds.append(time.process_time() - begun)
        return total


def measure(n_documents):
    """Take the passes of a real fit: the number of documents, the words, the start, and five rounds."""
    found = []
    with tempfile.TemporaryDirectory() as room:
        corpus = write_shards(
            pieces(n_documents, planted()),
            Path(room) / "s",
            shard_documents=n_documents // 2,
            vocabulary=vocabulary(),
            words_are_public=True,
        )
        for _ in range(3):  # the first compiles
            engine = TimedEngine()
            model(n_rounds=ROUNDS, engine=engine).fit(corpus)
            found.append(engine.seconds)
    sums = [np.ones((WORDS, TOPICS), np.int64) for _ in range(FAN_IN)]
    return Constants(
        passes=[float(seconds) / n_documents for seconds in np.min(found[1:], axis=0)],
        add=best(lambda: add_up(sums), 10) / (WORDS * TOPICS * FAN_IN),
        task=measure_task(),
    )


def measure_task(n_tasks=2000):
    """CPU seconds of this process, which holds client and scheduler, for each task of a worker process."""
    from distributed import Client, LocalCluster

    how = {"host": "127.0.0.1", "dashboard_address": "127.0.0.1:0", "silence_logs": 50, "memory_limit": 0}
    with LocalCluster(n_workers=1, threads_per_worker=1, **how) as local, Client(local) as client:

        def run():
            client.gather([client.submit(abs, number, pure=False) for number in range(n_tasks)])

        return best(run) / n_tasks


# ---- the model


def run_tasks(durations, n_workers, task):
    """Return when all tasks are done, and how long the scheduler was busy: it hands out and takes back one by one."""
    waiting, idle = deque(durations), n_workers
    finished: list[float] = []
    now = busy = 0.0
    n_left = len(durations)
    while n_left:
        if waiting and idle:
            now, busy, idle = now + task / 2, busy + task / 2, idle - 1
            heapq.heappush(finished, now + waiting.popleft())
            continue
        done = heapq.heappop(finished)
        now, busy, idle, n_left = max(now, done) + task / 2, busy + task / 2, idle + 1, n_left - 1
    return now, busy


def forecast(constants, n_documents, n_workers, shard_documents, n_words=WORDS, n_topics=TOPICS):
    """Return what a fit of five rounds takes."""
    n_shards = max(1, math.ceil(n_documents / shard_documents))
    size, cells = n_documents / n_shards, n_words * n_topics
    start = min(START_WORDS, n_words)
    n_cells_of = [1, n_words, start * (start - 1) // 2] + [cells] * ROUNDS
    seconds = busy = work = 0.0
    for number, (seconds_each, n_cells) in enumerate(zip(constants.passes, n_cells_of, strict=True)):
        cost = seconds_each * (n_topics / TOPICS if number > 2 else 1)
        each = size * cost
        hops = math.ceil(math.log2(max(2, n_workers)))
        out = hops * (LATENCY + 4 * n_cells / BYTES_A_SECOND)
        elapsed, occupied = run_tasks([each] * n_shards, n_workers, constants.task)
        n_sums = n_shards
        while n_sums > 1:
            n_adds = math.ceil(n_sums / FAN_IN)
            # As long as a worker has eight sums of its own, nothing travels.
            travels = 0.0 if n_sums / FAN_IN >= n_workers else FAN_IN * 8 * n_cells / BYTES_A_SECOND + LATENCY
            one = [FAN_IN * n_cells * constants.add + travels] * n_adds
            more, occupied_more = run_tasks(one, n_workers, constants.task)
            elapsed, occupied = elapsed + more, occupied + occupied_more
            n_sums = n_adds
        seconds, busy = seconds + out + elapsed, busy + occupied
        work += n_documents * cost
    return Forecast(seconds, busy / seconds, work)


def smallest_shard(constants, n_workers):
    """Documents a shard below which the scheduler takes longer over a fit than the workers do."""
    return math.ceil(n_workers * constants.task * len(constants.passes) / sum(constants.passes))


def simulate(constants, picture):
    workers = [1, 4, 16, 64, 250, 1000]
    print(
        json.dumps({"constants": constants._asdict(), "bytes_a_second": BYTES_A_SECOND, "latency": LATENCY})
    )
    print(
        f"{'documents':>13} {'shard':>9} {'workers':>8} {'seconds':>11} {'speed-up':>9} {'scheduler busy':>15}"
    )
    lines = {}
    for n_documents in (10**7, 10**8, 10**9):
        for shard in (10_000, 100_000, 1_000_000):
            for n_workers in workers:
                found = forecast(constants, n_documents, n_workers, shard)
                lines.setdefault((n_documents, shard), []).append(found.seconds)
                told = f"{found.seconds:11.1f} {found.work / found.seconds:9.1f} {100 * found.scheduler_busy:13.0f} %"
                print(f"{n_documents:13,} {shard:9,} {n_workers:8,} {told}")
    for n_workers in workers:
        print(
            f"{n_workers:5,} workers: shards of at least {smallest_shard(constants, n_workers):,} documents"
        )
    if picture is not None:
        draw(workers, lines, picture)


def draw(workers, lines, picture):
    styles = {10_000: ":", 100_000: "-", 1_000_000: "--"}
    colours = {10**7: "#4477aa", 10**8: "#228833", 10**9: "#aa3377"}
    with svg(picture) as axes:
        for (n_documents, shard), seconds in lines.items():
            label = f"{n_documents:,} documents, shards of {shard:,}"
            axes.loglog(workers, seconds, styles[shard], color=colours[n_documents], label=label)
        axes.set(xlabel="workers of one thread", ylabel="seconds of a fit (simulated)", xticks=workers)
        axes.set_xticklabels([f"{n:,}" for n in workers])
        axes.minorticks_off()
        axes.legend(fontsize=6.5)
        axes.grid(alpha=0.3)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=["measure", "simulate"])
    parser.add_argument("--documents", type=int, default=200_000)
    parser.add_argument("--constants", type=Path, default=RESULTS)
    parser.add_argument("--picture", type=Path)
    given = parser.parse_args()
    if given.what == "measure":
        found = measure(given.documents)
        given.constants.write_text(json.dumps(found._asdict(), indent=1) + "\n")
        print(found)
    else:
        simulate(Constants(**json.loads(given.constants.read_text())), given.picture)


if __name__ == "__main__":
    main()
