"""Shares of topics in the twenty newsgroups, private and exact: how far off, and do the intervals hold?

``python experiments/prevalence/run.py`` writes ``newsgroups.csv`` and ``newsgroups.png`` beside itself; ``--runs 50``.
Topics are those of ``PrivateLDA`` at epsilon 2 on the 2,000 most frequent words; the groups are the newsgroups' names,
which are public. Every run releases with fresh (seeded) noise, through ``TopicPrevalence`` as it is.
"""

import argparse
import csv
from pathlib import Path

import matplotlib as mpl
import numpy as np
import scipy.sparse as sp

from discreet import PrivateLDA, TopicPrevalence

mpl.use("Agg")
import matplotlib.pyplot as plt

HERE = Path(__file__).parent
DATA = HERE.parents[2] / "shared" / "data" / "20newsgroups"
EPSILONS = (0.1, 0.25, 0.5, 1.0)
KINDS = ("raw", "projected", "shrunk")


def load() -> tuple[sp.csr_matrix, np.ndarray]:
    counts = sp.load_npz(DATA / "counts.npz")
    frequent = np.sort(np.argsort(-np.asarray((counts > 0).sum(0)).ravel(), kind="stable")[:2000])
    return counts[:, frequent].tocsr(), np.array((DATA / "labels.txt").read_text().splitlines())


def main(runs: int) -> None:
    counts, labels = load()
    groups = sorted(set(labels))
    topics = PrivateLDA(20, epsilon=2.0, random_state=0).fit(counts).release_
    doc_topic = topics.transform(counts)
    exact = np.array([doc_topic[labels == group].mean(0) for group in groups])
    rows = []
    for epsilon in EPSILONS:
        found = {kind: ([], [], []) for kind in KINDS}
        for seed in range(runs):
            model = TopicPrevalence(topics, groups=groups, epsilon=epsilon, random_state=seed)
            release = model.fit(counts, by=labels).release_
            for kind, (mean, largest, held) in found.items():
                shares = release.shares(kind)
                error = np.abs(shares.share - exact)
                mean.append(error.mean())
                largest.append(error.max())
                held.append(((shares.low <= exact) & (exact <= shares.high)).mean())
        rows += [
            {
                "epsilon": epsilon,
                "kind": kind,
                "mean_error": f"{np.mean(mean):.4f}",
                "largest_error": f"{np.mean(largest):.3f}",
                "intervals_that_hold": f"{np.mean(held):.3f}",
                "runs": runs,
            }
            for kind, (mean, largest, held) in found.items()
        ]
        print(*rows[-3:], sep="\n", flush=True)
    with (HERE / "newsgroups.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, rows[0], lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    figure, axis = plt.subplots(figsize=(5, 3.4), layout="constrained")
    for kind, marker in zip(KINDS, "o^s", strict=True):
        errors = [100 * float(row["mean_error"]) for row in rows if row["kind"] == kind]
        axis.plot(EPSILONS, errors, marker=marker, label=kind)
    axis.axhline(100 * exact.mean(), color="grey", linestyle=":", label="mean share")
    axis.set(
        xscale="log", yscale="log", xlabel="epsilon of the shares", ylabel="mean error of a share, points"
    )
    axis.set_xticks(EPSILONS, [f"{epsilon:g}" for epsilon in EPSILONS])
    points = (0.5, 1, 2, 4)
    axis.set_yticks(points, [f"{point:g}" for point in points])
    axis.minorticks_off()
    axis.legend()
    figure.savefig(HERE / "newsgroups.png", dpi=150)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=50)
    main(parser.parse_args().runs)
