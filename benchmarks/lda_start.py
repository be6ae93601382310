"""CPU seconds to the perplexity that a peer ends with: whole trainings of `GibbsLDA`, its start included.

    python benchmarks/lda_start.py                                  # three corpora, K = 50, 200, 1000, three seeds
    python benchmarks/lda_start.py --corpora nips --topics 50       # one cell, some minutes

The line is the perplexity of topica's sparse sampler after 320 sweeps; the same sampler with its mean, which gets there
sooner, and tomotopy run beside it. Each training runs in a process of its own, on one thread, taking turns. Time is CPU
time of the training: for `GibbsLDA` of `fit`, reading the matrix, the start and the means included; for peers that
cannot go on from where they stopped, a run of one sweep is taken off. Perplexity is completion perplexity of every
tenth document, NPMI that of the ten likeliest words in the training documents, as a mean over topics. Kernels are
compiled before the clock starts.
"""

import argparse
import json
import os
import subprocess
import sys

import numpy as np
from lda_peers import TRAINERS, installed

from lda import DATA, ONE_THREAD, cpu_seconds, seconds_to, split

PEERS = {"topica sparse": (320,), "topica sparse, mean": (80, 160, 320), "tomotopy": (80, 160, 320)}
SWEEPS = {"fast": (1, 2, 4, 8, 16, 32, 64, 100), "random": (40, 100, 200)}


def look(topics, train, test):
    from discreet.evaluate import coherence_npmi, completion_perplexity

    return {
        "perplexity": round(completion_perplexity(topics, test), 2),
        "npmi": round(float(np.mean(coherence_npmi(topics, train))), 4),
    }


def work(corpus, n_topics, seed, name, line):
    """One training after another until the line is reached; a JSON line for each."""
    train, test = split(corpus)
    if name in SWEEPS:
        from discreet.lda import GibbsLDA

        GibbsLDA(n_topics, init=name, n_sweeps=41, random_state=0).fit(train[:30])
        for sweeps in SWEEPS[name]:
            start = cpu_seconds()
            model = GibbsLDA(n_topics, init=name, n_sweeps=sweeps, random_state=seed).fit(train)
            cpu = cpu_seconds() - start
            found = look(model.topic_word_, train, test)
            print(json.dumps({"sweeps": sweeps, "cpu": cpu, **found}), flush=True)
            if line and found["perplexity"] <= line:
                break
        return
    trainer = TRAINERS[name][0]()
    trainer.prepare(train, n_topics, seed)
    cpu = first = 0.0
    for sweeps in (1, *PEERS[name]):
        start = cpu_seconds()
        trainer.train(sweeps)
        spent = cpu_seconds() - start
        cpu = cpu + spent if trainer.resumes else spent
        if sweeps == 1:
            first = spent
            continue
        paid = (cpu - first) * sweeps / (sweeps - 1)
        print(json.dumps({"sweeps": sweeps, "cpu": paid, **look(trainer.topics(), train, test)}), flush=True)


def run(corpus, n_topics, seed, name, line=None):
    job = json.dumps([corpus, n_topics, seed, name, line])
    done = subprocess.run(
        [sys.executable, __file__, "--worker", job],
        env={**os.environ, **ONE_THREAD},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        print(f"{name}: {done.stderr[-300:]}")
    return [json.loads(row) for row in done.stdout.splitlines() if row.startswith("{")]


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--corpora", nargs="+", default=["nips", "20newsgroups", "imdb"])
    parser.add_argument("--topics", nargs="+", type=int, default=[50, 200, 1000])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--peers", nargs="+", choices=list(PEERS), default=list(PEERS))
    parser.add_argument("--starts", nargs="+", choices=list(SWEEPS), default=["fast"])
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        work(*json.loads(options.worker))
        return
    peers = [name for name in options.peers if installed(name)]
    if not peers:
        raise SystemExit("no peer is installed: pip install -e '.[bench]'")
    print(f"corpora from {DATA}; peers: {', '.join(peers)}")
    for corpus in options.corpora:
        for n_topics in options.topics:
            ratios = []
            for seed in range(options.seeds):
                rows = {name: run(corpus, n_topics, seed, name) for name in peers}
                line = rows[peers[0]][-1]["perplexity"]
                rows |= {name: run(corpus, n_topics, seed, name, line) for name in options.starts}
                seconds = {name: seconds_to(own, line) if own else None for name, own in rows.items()}
                print(f"\n{corpus}, K = {n_topics}, seed {seed}: line {line:.0f}")
                for name, own in rows.items():
                    last = own[-1]
                    reached = "not reached" if seconds[name] is None else f"{seconds[name]:.2f} s"
                    print(
                        f"  {name:20} {reached:>12}; {last['sweeps']:3} sweeps: {last['cpu']:.2f} s, "
                        f"perplexity {last['perplexity']:.0f}, NPMI {last['npmi']:.3f}",
                        flush=True,
                    )
                theirs = [seconds[name] for name in peers if seconds[name]]
                ours = [seconds[name] for name in options.starts if seconds[name]]
                if ours:
                    ratios.append(min(theirs) / min(ours))
            spread = f"{min(ratios):.1f} to {max(ratios):.1f}" if ratios else "never reached"
            print(
                f"{corpus}, K = {n_topics}: {spread} times as fast as the fastest peer, {len(ratios)} seeds"
            )


if __name__ == "__main__":
    main()
