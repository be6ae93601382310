"""Shares of topics in groups, private and exact: how far off, and do the intervals hold?

``python experiments/prevalence/run.py newsgroups`` (``sotu``, ``enron``) writes a table and a plot of that name beside
itself; ``--runs 50``. Topics are those of ``PrivateLDA`` at epsilon 2 on the 2,000 most frequent words; every run
releases with fresh (seeded) noise, through ``TopicPrevalence`` as it is. The groups are public: the names of the
newsgroups; the decades since 1790, of paragraphs of the speeches on the state of the union; six mailboxes of Enron,
mail and spam apart (the corpus has no dates, so there are no months). For the speeches there is a picture, too: shares
by decade at epsilon 0.25, with their intervals, beside the exact ones. ``oracle`` is what shrinking gives where the
distribution of the true shares is known, which it is to nobody: about the least error that these noisy sums allow.
"""

import argparse
import csv
from pathlib import Path

import matplotlib as mpl
import numpy as np
import scipy.sparse as sp
from shrinking import shrunk

from discreet import PrivateLDA, TopicPrevalence
from discreet.release.prevalence import PrevalenceRelease
from discreet.release.prevalence.shares import Sums, group_sizes, overall

mpl.use("Agg")
import matplotlib.pyplot as plt

HERE = Path(__file__).parent
DATA = HERE.parents[2] / "shared" / "data"
EPSILONS = (0.1, 0.25, 0.5, 1.0)
KINDS = ("raw", "projected", "shrunk")
CORPORA = {"newsgroups": "20newsgroups", "sotu": "sotu", "enron": "enron-spam"}


def load(name: str) -> tuple[sp.csr_matrix, np.ndarray, list[str], list[str]]:
    """Return counts, labels, groups in their order, and words."""
    folder = DATA / CORPORA[name]

    def lines(file: str) -> np.ndarray:
        return np.array((folder / file).read_text(encoding="utf-8").splitlines())

    counts, words = sp.load_npz(folder / "counts.npz"), lines("vocab.txt")
    frequent = np.sort(np.argsort(-np.asarray((counts > 0).sum(0)).ravel(), kind="stable")[:2000])
    if name == "newsgroups":
        labels = lines("labels.txt")
    elif name == "sotu":
        labels = np.array([f"{year[:3]}0s" for year in lines("group.txt")])
    else:
        labels = np.array(
            [f"{box} {kind}" for box, kind in zip(lines("group.txt"), lines("labels.txt"), strict=True)]
        )
    return counts[:, frequent].tocsr(), labels, sorted(set(labels)), words[frequent].tolist()


def main(name: str, runs: int) -> None:
    counts, labels, groups, words = load(name)
    model = PrivateLDA(20, epsilon=2.0, random_state=0)
    topics = model.fit(counts, vocabulary=words, words_are_public=True).release_
    doc_topic = topics.transform(counts)
    exact = np.array([doc_topic[labels == group].mean(0) for group in groups])
    rows = []
    for epsilon in EPSILONS:
        found = {kind: ([], [], []) for kind in KINDS}
        guessed = []
        for seed in range(runs):
            model = TopicPrevalence(topics, groups=groups, epsilon=epsilon, random_state=seed)
            release = model.fit(counts, by=labels).release_
            guessed.append(np.abs(oracle(release.sums, exact) - exact).mean())
            for kind, (mean, largest, held) in found.items():
                shares = shrunk(release.sums) if kind == "shrunk" else release.shares(kind)
                error = np.abs(shares.share - exact)
                mean.append(error.mean())
                largest.append(error.max())
                held.append(((shares.low <= exact) & (exact <= shares.high)).mean())
        rows += [
            {
                "corpus": name,
                "epsilon": epsilon,
                "kind": kind,
                "mean_error": f"{np.mean(mean):.4f}",
                "largest_error": f"{np.mean(largest):.3f}",
                "intervals_that_hold": f"{np.mean(held):.3f}",
                "runs": runs,
            }
            for kind, (mean, largest, held) in found.items()
        ]
        row = {"corpus": name, "epsilon": epsilon, "kind": "oracle", "mean_error": f"{np.mean(guessed):.4f}"}
        rows.append(row | {"largest_error": "", "intervals_that_hold": "", "runs": runs})
        print(*rows[-4:], sep="\n", flush=True)
    with (HERE / f"{name}.csv").open("w", newline="") as file:
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
    figure.savefig(HERE / f"{name}.png", dpi=150)
    if name == "sotu":
        draw_decades(
            TopicPrevalence(topics, groups=groups, random_state=0).fit(counts, by=labels).release_, exact
        )


def oracle(sums: Sums, exact: np.ndarray) -> np.ndarray:
    """Return posterior means under the true distribution of lifts over all cells."""
    sizes, error = group_sizes(sums)
    base = overall(sums)
    lifts = (exact / base).ravel()
    spread = np.sqrt(sums.noise**2 + (exact * error) ** 2)[:, :, None]
    size = np.maximum(sizes, error)[:, None, None]
    weight = np.exp(-0.5 * ((sums.topics[:, :, None] - size * base[:, None] * lifts) / spread) ** 2) + 1e-300
    share = (weight @ lifts) / weight.sum(2) * base
    return share / share.sum(1, keepdims=True)


def draw_decades(release: PrevalenceRelease, exact: np.ndarray) -> None:
    """Draw the topics that moved most: the private trend with its band, and the exact shares as dots."""
    trend, years = release.trend(release.groups), np.arange(1790, 1790 + 10 * len(exact), 10)
    moved = np.argsort(-(trend.level.max(0) - trend.level.min(0)), kind="stable")[:9]
    figure, axes = plt.subplots(3, 3, figsize=(10, 6.4), sharex=True, layout="constrained")
    for axis, topic in zip(axes.flat, moved.tolist(), strict=True):
        low, high = 100 * trend.low[:, topic], 100 * trend.high[:, topic]
        axis.vlines(years, low, high, color="#23698f", alpha=0.3, linewidth=4)
        axis.plot(years, 100 * trend.level[:, topic], color="#23698f")
        axis.plot(years, 100 * exact[:, topic], ".", color="black", markersize=4)
        axis.set_title(release.topics[topic], fontsize=10)
        axis.set_ylim(0, None)
    figure.supylabel("share of the decade's paragraphs, %", fontsize=10)
    figure.suptitle(
        "State of the union, 1790 to 2020: private at epsilon 0.25 (line, 95 % bars), exact (dots)"
    )
    figure.savefig(HERE / "sotu_decades.png", dpi=150)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("corpus", choices=CORPORA)
    parser.add_argument("--runs", type=int, default=50)
    arguments = parser.parse_args()
    main(arguments.corpus, arguments.runs)
