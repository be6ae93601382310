"""CPU seconds to the perplexity that a peer ends with: whole trainings of `GibbsLDA`, its start included.

    python benchmarks/lda_start.py                                  # three corpora, K = 50, 200, 1000, three seeds
    python benchmarks/lda_start.py --corpora nips --topics 50       # one cell, some minutes
    python benchmarks/lda_start.py --peers --starts fast random --sweeps 40 320 1280   # where chains end
    python benchmarks/lda_start.py --report                         # the tables again, from the CSV file

The line is the perplexity of topica's sparse sampler after 320 sweeps; the same sampler with its mean, which gets there
sooner, and others run beside it, until they reach the line. Each training runs in a process of its own, on one thread,
taking turns. Time is CPU time of the training: for `GibbsLDA` of `fit`, reading the matrix, the start and the means
included; for peers a run of one sweep is taken off. Perplexity is completion perplexity of every tenth document, NPMI
that of the ten likeliest words in the training documents, as a mean over topics. Kernels are compiled before the clock
starts. Rows are added to the CSV file as they come, and trainings that stand there already are not run again.
"""

import argparse
import csv
import json
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
from lda_peers import TRAINERS, VB, installed

from lda import DATA, ONE_THREAD, cpu_seconds, seconds_to, split

RESULTS = Path(__file__).parent / "results" / "lda_start.csv"
FIELDS = ("corpus", "n_topics", "seed", "trainer", "sweeps", "cpu", "perplexity", "npmi")
LINE = "topica sparse"
PEERS = {
    LINE: (320,),
    "topica sparse, mean": (80, 160, 240, 320),
    "tomotopy": (80, 160, 320),
    "topica warp": (160, 320, 640),
    "pyrmallet": (160, 320),
    "lda": (160, 320),
    "gensim VB": VB,
    "scikit-learn VB": VB,
}
SWEEPS = {"fast": (1, 2, 4, 8, 16, 32, 64, 100), "random": (40, 100, 200)}


def look(topics, train, test):
    from discreet.evaluate import coherence_npmi, completion_perplexity

    return {
        "perplexity": round(completion_perplexity(topics, test), 2),
        "npmi": round(float(np.mean(coherence_npmi(topics, train))), 4),
    }


def work(corpus, n_topics, seed, name, looks, line):
    """One training after another, until the line is reached; a JSON line for each."""
    train, test = split(corpus)
    own = name in SWEEPS
    if own:
        from discreet.lda import GibbsLDA

        GibbsLDA(n_topics, init=name, n_sweeps=41, random_state=0).fit(train[:30])
    else:
        trainer = TRAINERS[name][0]()
        trainer.prepare(train, n_topics, seed)
    cpu = first = 0.0
    for sweeps in looks if own else (1, *looks):
        start = cpu_seconds()
        if own:
            model = GibbsLDA(n_topics, init=name, n_sweeps=sweeps, random_state=seed).fit(train)
        else:
            trainer.train(sweeps)
        spent = cpu_seconds() - start
        cpu = cpu + spent if not own and trainer.resumes else spent
        if not own and sweeps == 1:
            first = spent
            continue
        paid = cpu if own else (cpu - first) * sweeps / (sweeps - 1)
        found = look(model.topic_word_ if own else trainer.topics(), train, test)
        print(json.dumps({"sweeps": sweeps, "cpu": round(paid, 4), **found}), flush=True)
        if line and found["perplexity"] <= line:
            break


def run(cell, name, looks, line, seconds):
    """Yield a training's rows as they come; it is stopped after so many seconds of wall time."""
    with subprocess.Popen(
        [sys.executable, __file__, "--worker", json.dumps([*cell, name, looks, line])],
        env={**os.environ, **ONE_THREAD},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        stop = threading.Timer(max(seconds, 1), process.kill)
        stop.start()
        for row in process.stdout:
            if row.startswith("{"):
                yield dict(zip(FIELDS, (*cell, name), strict=False)) | json.loads(row)
        fault = process.stderr.read()
        stop.cancel()
        if process.wait():
            print(f"{name} stopped: {fault[-300:] or 'no time was left'}", flush=True)


def read(path):
    if not Path(path).exists():
        return []
    with Path(path).open() as file:
        return [
            {k: v if k in ("corpus", "trainer") else float(v) for k, v in row.items()}
            for row in csv.DictReader(file)
        ]


def of(rows, cell, name=None):
    wanted = [r for r in rows if (r["corpus"], r["n_topics"], r["seed"]) == tuple(cell)]
    return wanted if name is None else [r for r in wanted if r["trainer"] == name]


def line_of(rows, cell):
    last = [r for r in of(rows, cell, LINE) if r["sweeps"] == PEERS[LINE][-1]]
    return last[0]["perplexity"] if last else None


def train(options):
    names = [name for name in options.peers if installed(name)]
    missing = [name for name in options.peers if name not in names]
    print(
        f"corpora from {DATA}; peers: {', '.join(names) or 'none'}; not installed: {', '.join(missing) or 'none'}"
    )
    end = time.monotonic() + 60 * options.minutes
    out = Path(options.out)
    out.parent.mkdir(parents=True, exist_ok=True)
    if not out.exists():
        out.write_text(",".join(FIELDS) + "\n")
    for cell in [(c, k, s) for c in options.corpora for k in options.topics for s in options.seeds]:
        for name in (*names, *options.starts):
            rows, line = read(out), None if options.sweeps else line_of(read(out), cell)
            looks = (options.sweeps or SWEEPS[name]) if name in SWEEPS else PEERS[name]
            done = of(rows, cell, name)
            reached = line and done and seconds_to(done, line)
            looks = [n for n in looks if n not in {row["sweeps"] for row in done}]
            looks = [n for n in looks if name in SWEEPS or n >= options.peers_from]
            if reached or not looks or time.monotonic() > end:
                continue
            for row in run(cell, name, looks, line, end - time.monotonic()):
                with out.open("a", newline="") as file:
                    csv.DictWriter(file, FIELDS).writerow(row)
                print(*(f"{key} {row[key]}" for key in FIELDS), sep=", ", flush=True)


def report(rows):
    """Print the time to the line, cell by cell, and where chains ended."""
    for corpus, n_topics in sorted({(r["corpus"], r["n_topics"]) for r in rows}):
        seeds = sorted({r["seed"] for r in rows if (r["corpus"], r["n_topics"]) == (corpus, n_topics)})
        lines = {seed: line_of(rows, (corpus, n_topics, seed)) for seed in seeds}
        lines = {seed: line for seed, line in lines.items() if line}
        print(
            f"\n{corpus}, K = {n_topics:.0f}: lines {', '.join(f'{x:.0f}' for x in lines.values()) or 'none'}"
        )
        here = {
            name: [of(rows, (corpus, n_topics, seed), name) for seed in lines] for name in (*PEERS, *SWEEPS)
        }
        seconds = {}
        for name, by_seed in here.items():
            ran = [(own, line) for own, line in zip(by_seed, lines.values(), strict=True) if own]
            if not ran:
                continue
            times = [seconds_to(own, line) for own, line in ran]
            last = [max(own, key=lambda r: r["sweeps"]) for own, _ in ran]
            if None not in times:
                seconds[name] = float(np.median(times))
            reached = ", ".join("not reached" if t is None else f"{t:.2f}" for t in times)
            ends = ", ".join(f"{r['perplexity']:.0f}" for r in last)
            print(
                f"  {name:20} CPU s to the line: {reached}; {last[0]['sweeps']:.0f} sweeps: "
                f"{np.median([r['cpu'] for r in last]):.1f} s, perplexity {ends}, "
                f"NPMI {np.mean([r['npmi'] for r in last]):.3f}"
            )
        theirs = {name: s for name, s in seconds.items() if name in PEERS}
        ours = {name: s for name, s in seconds.items() if name in SWEEPS}
        if theirs and ours:
            a, b = min(ours, key=ours.get), min(theirs, key=theirs.get)
            print(f"  {a} is {theirs[b] / ours[a]:.1f} times as fast as {b}, the fastest peer")
        for name in SWEEPS:
            own = [r for r in rows if (r["corpus"], r["n_topics"], r["trainer"]) == (corpus, n_topics, name)]
            for sweeps in sorted({r["sweeps"] for r in own}):
                found = [r for r in own if r["sweeps"] == sweeps]
                values = ", ".join(f"{r['perplexity']:.0f}" for r in found)
                print(
                    f"  {name}, {sweeps:.0f} sweeps: {np.median([r['cpu'] for r in found]):.2f} s, "
                    f"perplexity {values}, NPMI {np.mean([r['npmi'] for r in found]):.3f}"
                )


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--corpora", nargs="+", default=["nips", "20newsgroups", "imdb"])
    parser.add_argument("--topics", nargs="+", type=int, default=[50, 200, 1000])
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2])
    parser.add_argument("--peers", nargs="*", choices=list(PEERS), default=list(PEERS)[:3])
    parser.add_argument("--starts", nargs="*", choices=list(SWEEPS), default=["fast"])
    parser.add_argument(
        "--sweeps", nargs="+", type=int, help="of ours, all of them, whether or not the line is reached"
    )
    parser.add_argument(
        "--peers-from", type=int, default=0, help="leave out looks at peers after fewer sweeps"
    )
    parser.add_argument("--minutes", type=float, default=1e5, help="stop after so many")
    parser.add_argument("--out", default=str(RESULTS))
    parser.add_argument("--report", action="store_true", help="run nothing, print what the CSV file says")
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        work(*json.loads(options.worker))
        return
    if not options.report:
        train(options)
    report(read(options.out))


if __name__ == "__main__":
    main()
