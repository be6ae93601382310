"""Where the time of starts and sweeps goes: kernel, table, copies; one thread and several; first calls, cold and warm.

    python benchmarks/profile_lda.py [--corpus nips] [--topics 50 200 1000] [--sweeps 12]

Times are medians over sweeps after the first four. "cold" is a first call in a fresh process with an empty kernel
cache, "warm" the same with the cache filled. Set NUMBA_CPU_NAME (haswell, x86-64) to see other vector units.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import scipy.sparse as sp

DATA = Path(os.environ.get("DISCREET_DATA", Path(__file__).resolve().parents[2] / "shared" / "data"))
FIRST_CALL = """
import json, sys, time
start = time.perf_counter(), time.process_time()
from discreet import GibbsLDA, PrivateCountVectorizer, PrivateLDA, VariationalLDA
from discreet.lda import fold_in
from discreet.lda._fold_in import query_statistic
few, some = [[1, 2], [2, 0]], [[1, 2, 0], [2, 0, 1], [0, 1, 1]] * 20
texts = ["a few words", "and few more words"] * 500
loaded = time.perf_counter(), time.process_time()
{call}
done = time.perf_counter(), time.process_time()
print(json.dumps([[b - a for a, b in zip(*pair)] for pair in ((start, loaded), (loaded, done))]))
"""
FIRST_CALLS = {
    "GibbsLDA": "GibbsLDA(20, n_sweeps=2, random_state=0).fit(few)",
    "GibbsLDA, 300 topics": "GibbsLDA(300, n_sweeps=2, random_state=0).fit(few)",
    "VariationalLDA": "VariationalLDA(20, max_iter=2, random_state=0).fit(few)",
    "fold_in": "fold_in([[0.5, 0.5], [0.2, 0.8]], few)",
    "query_statistic": "query_statistic([[0.5, 0.5], [0.2, 0.8]], few)",
    "PrivateLDA": "PrivateLDA(2, epsilon=50.0, random_state=0).fit(some)",
    "PrivateLDA, sampled": "PrivateSVILDA(2, epsilon=50.0, sampling_rate=0.5, n_rounds=2, random_state=0).fit(some)",
    "PrivateCountVectorizer": "PrivateCountVectorizer(epsilon=50.0, random_state=0).fit(texts)",
}


#: Sweeps from random topics before lists are looked at: they are long at first.
_SWEEPS_BEFORE = 40


def timed(work, *args, **keywords):
    start = time.process_time(), time.perf_counter()
    answer = work(*args, **keywords)
    return answer, time.process_time() - start[0], time.perf_counter() - start[1]


def profile_frozen(tokens, n_topics, n_sweeps):
    from discreet.lda.gibbs import frozen
    from discreet.lda.gibbs.draw import sweep_key
    from discreet.lda.gibbs.state import word_order

    n, alpha, order = len(tokens.words), np.full(n_topics, 0.1), word_order(tokens)
    memory = frozen.empty_table(tokens.n_words, n_topics)
    state = frozen.init(tokens, n_topics, 1)
    table, kernel, whole = [], [], []
    for _ in range(n_sweeps):
        topics = state.topics.copy()
        _, cpu, _ = timed(frozen.build_table, state.word_topic, n_topics, 0.01, memory)
        table.append(cpu)
        key = sweep_key(1, state.sweep)
        _, cpu, _ = timed(frozen.sweep, tokens, topics, memory, alpha, key)
        kernel.append(cpu)
        before = state.topics
        state, cpu, _ = timed(frozen.step, state, tokens, alpha, 0.01, memory=memory, order=order)
        whole.append(cpu)
    t, k, w = (statistics.median(values[4:]) for values in (table, kernel, whole))
    print(
        f"table, K = {n_topics}: {n / w / 1e6:.1f} M tokens/s; draws {k / w:.0%}, "
        f"table {t / w:.0%}, copies and the rest {max(0.0, 1 - (k + t) / w):.0%}; "
        f"{k / n * 1e9:.1f} ns a draw; {np.mean(state.topics != before):.0%} of the tokens moved"
    )
    return state


def profile_lists(tokens, n_topics, n_sweeps):
    from discreet.lda.gibbs import lists

    n, alpha = len(tokens.words), np.full(n_topics, 0.1)
    memory, state = lists.empty_lists(tokens, n_topics), lists.init(tokens, n_topics, 1)
    fills, whole = [], []
    for _ in range(_SWEEPS_BEFORE + n_sweeps):
        before = state.topics
        state, cpu, _ = timed(lists.step, state, tokens, alpha, 0.01, lists=memory)
        whole.append(cpu)
        _, cpu, _ = timed(lists.fill, memory, state.topics, n_topics)
        fills.append(cpu * lists.n_parts(tokens.n_documents, n_topics))
    start, w, f = (
        statistics.median(values) for values in (whole[:-n_sweeps], whole[-n_sweeps:], fills[-n_sweeps:])
    )
    blocks = memory.sizes[tokens.words].mean()
    print(
        f"lists, K = {n_topics}: {n / w / 1e6:.1f} M tokens/s; filling {f / w:.0%}; "
        f"{(w - f) / n * 1e9:.1f} ns a draw from {blocks:.1f} blocks of 16 entries; "
        f"{np.mean(state.topics != before):.0%} of the tokens moved; the first sweeps {n / start / 1e6:.1f} M tokens/s"
    )
    return state


def threads(name, step, state, n_tokens, n_sweeps):
    """Sweeps with one thread and with several take turns, so that all of them meet the same neighbours."""
    numbers = [n for n in (1, 2, 4) if n <= (os.cpu_count() or 1)]
    advance = [step(n) for n in numbers]
    walls, cpus = [], []
    for _ in range(n_sweeps):
        turns = []
        for move in advance:
            state, *times = timed(move, state)
            turns.append(times)
        cpus.append([cpu for cpu, _ in turns])
        walls.append([wall for _, wall in turns])
    walls, cpus = (np.median(times[4:], axis=0) for times in (walls, cpus))
    for n, wall, cpu in zip(numbers, walls, cpus, strict=True):
        print(
            f"{name}, {n} threads: {n_tokens / wall / 1e6:.1f} M tokens/s of wall time "
            f"({walls[0] / wall:.2f} times one thread), {n_tokens / cpu / 1e6:.1f} of CPU time"
        )


def profile_start(tokens, n_topics, n_repeats=5):
    """Fast starts with one thread and with two take turns."""
    from discreet.lda.gibbs.start import choose_schedule, starting_topics

    alpha, schedule = np.full(n_topics, 0.1), choose_schedule(len(tokens.words), n_topics)
    starting_topics(tokens, alpha, 0.01, 0, schedule=schedule._replace(n_passes=1))  # compile
    turns = [
        [timed(starting_topics, tokens, alpha, 0.01, 0, n_threads=n)[1:] for n in (1, 2)]
        for _ in range(n_repeats)
    ]
    (cpu, wall), (_, wall2) = np.median(turns, axis=0)
    n_batches = schedule.n_passes * schedule.n_batches
    print(
        f"start, K = {n_topics}: {cpu:.2f} s of CPU time, {cpu / schedule.n_passes:.3f} a pass, "
        f"{cpu / n_batches * 1e3:.2f} ms a batch; two threads {wall / wall2:.2f} times one, by wall time"
    )


def first_calls():
    for name, call in FIRST_CALLS.items():
        with tempfile.TemporaryDirectory() as cache:
            for what in ("cold", "warm"):
                done = subprocess.run(
                    [sys.executable, "-c", FIRST_CALL.replace("{call}", call)],
                    env={**os.environ, "NUMBA_CACHE_DIR": cache},
                    capture_output=True,
                    text=True,
                    check=False,
                )
                if done.returncode:
                    raise SystemExit(f"first call of {name} failed:\n{done.stderr}")
                loading, working = json.loads(done.stdout)
                print(
                    f"first call, {name}, {what}: import {loading[1]:.2f} s, "
                    f"call {working[1]:.2f} s of CPU time, {working[0]:.2f} s of wall time"
                )


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--corpus", default="nips")
    parser.add_argument("--topics", nargs="+", type=int, default=[50, 200, 1000])
    parser.add_argument("--sweeps", type=int, default=20)
    parser.add_argument("--start", action="store_true", help="the fast start only")
    parser.add_argument("--first-calls", action="store_true", help="the first calls only")
    options = parser.parse_args()
    from discreet.lda.documents import read_documents
    from discreet.lda.gibbs.estimator import MOST_TABLE_TOPICS, chain
    from discreet.lda.gibbs.state import read_tokens, word_order

    counts = sp.load_npz(DATA / options.corpus / "counts.npz")
    tokens, cpu, _ = timed(lambda: read_tokens(read_documents(counts)))
    _, sorting, _ = timed(word_order, tokens)
    n = len(tokens.words)
    print(f"{options.corpus}: {n} tokens; read in {cpu:.2f} s, sorted by word in {sorting:.2f} s")
    if not options.start:
        first_calls()
    if options.first_calls:
        return
    for n_topics in options.topics:
        profile_start(tokens, n_topics)
        if options.start:
            continue
        alpha = np.full(n_topics, 0.1)
        profile = profile_lists if n_topics > MOST_TABLE_TOPICS else profile_frozen
        first = profile(tokens, n_topics, options.sweeps)

        def step(n_threads, alpha=alpha):
            return chain(tokens, alpha, 0.01, 1, n_threads=n_threads).step

        threads(f"K = {n_topics}", step, first, n, options.sweeps)


if __name__ == "__main__":
    main()
