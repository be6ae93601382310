"""LDA trainers beside their peers, in one interleaved run: CPU time, wall time, memory, time to equal perplexity.

    python benchmarks/lda.py --quick                    # one corpus, K = 50, few sweeps: some minutes
    python benchmarks/lda.py                            # three corpora, K = 50, 200, 1000, three seeds: many hours
    python benchmarks/lda.py --corpora nips --topics 200 --seeds 2 --peers "discreet frozen" "topica sparse"
    python benchmarks/lda.py --report benchmarks/results/lda.csv   # the tables and the figure again

Every training runs in a process of its own, on one thread, the trainers taking turns: whatever slows the machine
down slows all of them. Time is CPU time of the training alone (all threads); reading the corpus, and for trainers that
cannot go on from where they stopped a run of one sweep, are taken off. Perplexity is
``discreet.evaluate.completion_perplexity`` of every tenth document, which nobody trained on. Priors are fixed: alpha =
0.1, beta = 0.01. The line to reach is what topica's sparse sampler (or, without it, the best Gibbs peer) has after
its last sweeps; "topica sparse, mean" is the same with the mean over five states of its chain, which topica offers as
we do. Corpora come from DISCREET_DATA, a folder of folders with counts.npz.
"""

import argparse
import csv
import json
import os
import resource
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from lda_peers import TRAINERS, installed

DATA = Path(os.environ.get("DISCREET_DATA", Path(__file__).resolve().parents[2] / "shared" / "data"))
FIELDS = (
    "corpus",
    "n_topics",
    "seed",
    "trainer",
    "sweeps",
    "cpu",
    "wall",
    "start_up",
    "perplexity",
    "tokens",
    "peak_mb",
    "base_mb",
)
ONE_THREAD = dict.fromkeys(
    ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "RAYON_NUM_THREADS"), "1"
)


def split(corpus):
    counts = sp.csr_matrix(sp.load_npz(DATA / corpus / "counts.npz"))
    held_out = np.arange(counts.shape[0]) % 10 == 0
    train = counts[~held_out]
    seen = np.asarray(train.sum(axis=0)).ravel() > 0  # words that nobody could learn are left out
    return train[:, seen], counts[held_out][:, seen]


def cpu_seconds():
    return sum(sum(resource.getrusage(who)[:2]) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))


def megabytes():
    return (
        resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        / (1 if sys.platform == "darwin" else 1024)
        / (1024 if sys.platform == "darwin" else 1)
    )


def work(corpus, n_topics, seed, name, looks):
    """One training, in this process; a JSON line for each look."""
    from discreet.evaluate import completion_perplexity

    train, test = split(corpus)
    completion_perplexity(np.ones((2, test.shape[1])), test[:2])  # compile before memory is looked at
    trainer = TRAINERS[name][0]()
    base = megabytes()
    start = cpu_seconds(), time.perf_counter()
    trainer.prepare(train, n_topics, seed)
    prepared = cpu_seconds() - start[0]
    tokens = int(train.sum())
    cpu = wall = 0.0
    for sweeps in (1, *looks):  # the first look warms up whatever compiles or caches, and shows the start-up
        start = cpu_seconds(), time.perf_counter()
        trainer.train(sweeps)
        spent = cpu_seconds() - start[0], time.perf_counter() - start[1]
        if trainer.resumes and sweeps > 1:
            cpu, wall = cpu + spent[0], wall + spent[1]
        else:
            cpu, wall = spent
        if sweeps == 1:
            first = spent
            if trainer.resumes:
                cpu = wall = 0.0
            continue
        if trainer.resumes:  # sweeps 2 to n were timed
            factor, paid = sweeps / (sweeps - 1), (cpu, wall)
        else:
            factor, paid = sweeps / (sweeps - 1), (cpu - first[0], wall - first[1])
        peak = megabytes()
        row = {
            "corpus": corpus,
            "n_topics": n_topics,
            "seed": seed,
            "trainer": name,
            "sweeps": sweeps,
            "cpu": round(paid[0] * factor, 4),
            "wall": round(paid[1] * factor, 4),
            "start_up": round(prepared + first[0], 3),
            "perplexity": round(completion_perplexity(trainer.topics(), test), 3),
            "tokens": tokens,
            "peak_mb": round(peak),
            "base_mb": round(base),
        }
        print(json.dumps(row), flush=True)


def run(options):
    names = [name for name in options.peers or TRAINERS if installed(name)]
    missing = [name for name in TRAINERS if name not in names]
    print(f"running: {', '.join(names)}; not installed or left out: {', '.join(missing) or 'none'}")
    out = Path(options.out)
    out.parent.mkdir(parents=True, exist_ok=True)
    with out.open("w", newline="") as file:
        writer = csv.DictWriter(file, FIELDS)
        writer.writeheader()
        for seed in range(options.seeds):
            for corpus in options.corpora:
                for n_topics in options.topics:
                    turn = names[seed % len(names) :] + names[: seed % len(names)]
                    for name in turn:
                        looks = [n for n in TRAINERS[name][1] if n <= options.most_sweeps]
                        job = json.dumps([corpus, n_topics, seed, name, looks])
                        try:
                            done = subprocess.run(
                                [sys.executable, __file__, "--worker", job],
                                env={**os.environ, **ONE_THREAD},
                                capture_output=True,
                                text=True,
                                timeout=options.timeout,
                                check=False,
                            )
                            printed, problem = done.stdout, done.stderr[-300:] if done.returncode else ""
                        except subprocess.TimeoutExpired as late:
                            printed = (late.stdout or b"").decode()
                            problem = f"stopped after {options.timeout} s; what it had by then counts"
                        rows = [json.loads(line) for line in printed.splitlines() if line.startswith("{")]
                        writer.writerows(rows)
                        file.flush()
                        last = rows[-1] if rows else None
                        said = (
                            f"{last['sweeps']} sweeps, {last['cpu']:.1f} s CPU, "
                            f"perplexity {last['perplexity']:.0f}"
                            if last
                            else ""
                        )
                        print(f"{corpus} K={n_topics} seed {seed} {name}: {said} {problem}", flush=True)
    return out


def seconds_to(rows, line):
    """CPU seconds to a perplexity, between looks on straight lines of (log time, log perplexity); None if never."""
    rows = sorted(rows, key=lambda row: row["sweeps"])
    for before, after in zip([None, *rows[:-1]], rows, strict=True):
        if after["perplexity"] <= line:
            if before is None:
                return after["cpu"]
            x = [np.log(r["perplexity"]) for r in (before, after)]
            share = (x[0] - np.log(line)) / (x[0] - x[1])
            return float(np.exp(np.log(before["cpu"]) * (1 - share) + np.log(after["cpu"]) * share))
    return None


def report(paths):
    rows = []
    for path in paths:
        with Path(path).open() as file:
            rows += [
                {k: v if k in ("corpus", "trainer") else float(v) for k, v in row.items()}
                for row in csv.DictReader(file)
            ]
    cells = sorted({(row["corpus"], row["n_topics"]) for row in rows})
    for corpus, n_topics in cells:
        here = [r for r in rows if (r["corpus"], r["n_topics"]) == (corpus, n_topics)]
        names = [n for n in TRAINERS if any(r["trainer"] == n for r in here)]
        lines = {}
        for seed in {r["seed"] for r in here}:
            last = {
                n: max(
                    (r for r in here if r["trainer"] == n and r["seed"] == seed), key=lambda r: r["sweeps"]
                )
                for n in names
                if any(r["trainer"] == n and r["seed"] == seed for r in here)
            }
            peers = [n for n in last if n.startswith(("topica", "tomotopy", "pyrmallet", "lda"))]
            chosen = "topica sparse" if "topica sparse" in last else None
            chosen = chosen or min(peers or last, key=lambda n: last[n]["perplexity"])
            lines[seed] = last[chosen]["perplexity"]
        print(
            f"\n{corpus}, K = {n_topics:.0f}, {len(lines)} seeds: "
            f"line at perplexity {np.mean(list(lines.values())):.0f}"
        )
        print(f"{'':18}{'M tokens/s':>11}{'CPU s to line':>15}{'last perpl.':>12}{'MB':>7}{'start-up s':>11}")
        speed, reach = {}, {}
        for name in names:
            own = [r for r in here if r["trainer"] == name]
            speed[name] = np.median([r["tokens"] * r["sweeps"] / r["cpu"] / 1e6 for r in own])
            by_seed = {seed: [r for r in own if r["seed"] == seed] for seed in lines}
            times = [seconds_to(those, lines[seed]) for seed, those in by_seed.items() if those]
            reach[name] = None if None in times else float(np.median(times))
            final = [r for r in own if r["sweeps"] == max(r["sweeps"] for r in own)]
            text = "not reached" if reach[name] is None else f"{reach[name]:.2f}"
            print(
                f"{name:18}{speed[name]:11.2f}{text:>15}{np.mean([r['perplexity'] for r in final]):12.0f}"
                f"{max(r['peak_mb'] - r['base_mb'] for r in own):7.0f}{np.median([r['start_up'] for r in own]):11.2f}"
            )
        for measure, values, better in (("tokens/s", speed, max), ("time to the line", reach, min)):
            ours = {n: v for n, v in values.items() if n.startswith("discreet") and v}
            theirs = {n: v for n, v in values.items() if not n.startswith("discreet") and v}
            if ours and theirs:
                a, b = better(ours, key=ours.get), better(theirs, key=theirs.get)
                ratio = ours[a] / theirs[b] if better is max else theirs[b] / ours[a]
                print(f"  {measure}: {a} is {ratio:.2f} times as fast as {b}, the fastest peer")
    draw(rows, cells, Path(paths[0]).with_suffix(".png"))


def draw(rows, cells, path):
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    corpora, sizes = ([*dict.fromkeys(kind)] for kind in (sorted(c) for c in zip(*cells, strict=True)))
    shape = (len(corpora), len(sizes))
    figure, axes = plt.subplots(
        *shape, figsize=(4.5 * shape[1], 3.5 * shape[0]), squeeze=False, layout="constrained"
    )
    for axis in axes.flat:
        axis.set_visible(False)
    shown = {}
    for corpus, n_topics in cells:
        axis = axes[corpora.index(corpus), sizes.index(n_topics)]
        axis.set_visible(True)
        for i, name in enumerate(TRAINERS):
            own = [r for r in rows if (r["corpus"], r["n_topics"], r["trainer"]) == (corpus, n_topics, name)]
            looks = sorted({r["sweeps"] for r in own})
            x = [np.median([r["cpu"] for r in own if r["sweeps"] == n]) for n in looks]
            y = [np.median([r["perplexity"] for r in own if r["sweeps"] == n]) for n in looks]
            if looks:
                style = "-o" if name.startswith("discreet") else "--."
                shown[name] = axis.plot(x, y, style, color=f"C{i}")[0]
        axis.set(xscale="log", xlabel="CPU seconds", title=f"{corpus}, {n_topics:.0f} topics")
        axis.set_ylabel("held-out perplexity (completion)")
    figure.legend(shown.values(), shown.keys(), loc="outside upper center", ncols=len(shown))
    figure.savefig(path, dpi=120)
    print(f"\nfigure: {path}")


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--corpora", nargs="+", default=["nips", "20newsgroups", "imdb"])
    parser.add_argument("--topics", nargs="+", type=int, default=[50, 200, 1000])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--peers", nargs="+", choices=list(TRAINERS), help="default: all that are installed")
    parser.add_argument("--most-sweeps", type=int, default=1280)
    parser.add_argument("--timeout", type=float, default=3600, help="wall seconds for one training")
    parser.add_argument("--out", default=str(Path(__file__).parent / "results" / "lda.csv"))
    parser.add_argument("--quick", action="store_true", help="nips, K = 50, one seed, at most 80 sweeps")
    parser.add_argument("--report", nargs="+", metavar="CSV", help="run nothing, report on earlier runs")
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        work(*json.loads(options.worker))
        return
    if options.quick:
        options.corpora, options.topics, options.seeds, options.most_sweeps = ["nips"], [50], 1, 80
    report(options.report or [run(options)])


if __name__ == "__main__":
    main()
