"""In which order a topic's ten words read best: NPMI of the list at every place of the report's slider.

    python experiments/word_lists/run.py measure lists.csv     # 25 minutes on one thread; rows that stand stay
    python experiments/word_lists/run.py tables lists.csv      # Markdown

At place s words stand in order of log p(w|k) - (1 - s) log p(w): 1 is by probability, 0 by lift. Where the slider
starts (`discreet.report.page`) was chosen on the corpora of CHOSEN_ON, two of them also with fewer and shorter
texts; those of CONFIRMED were run once, after. NPMI is taken in the texts of the fit, and for cut ones also in all
texts, uncut. K = 20, delta = 1e-5, the 2,000 words in most documents as a public vocabulary, seed 0. Exact measures
of the texts: for research, not for release.
"""

import argparse
import csv
import os
import sys
import warnings
from collections import defaultdict
from pathlib import Path

import numpy as np
import scipy.sparse as sp

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "benchmarks"))

from real_corpora import DATA, load

from discreet import PrivateLDA
from discreet.corpus import match_vectors
from discreet.errors import WeakForecastWarning
from discreet.evaluate import coherence_npmi
from discreet.report.page import starting_place

CHOSEN_ON = ("20newsgroups", "reuters21578", "enron-spam", "kos", "pheme")
CONFIRMED = ("nyt", "sotu", "nips-papers", "tweets-emoji", "tweetrumors")
#: Documents, and most tokens of each; 0 leaves them as they are.
CUTS = ((4000, 10), (16000, 10), (4000, 18), (16000, 18), (2000, 0), (4000, 0))
CUT = ("20newsgroups", "reuters21578")
EPSILONS, CUT_EPSILONS = (1.0, 4.0, np.inf), (1.0, 4.0)
PLACES = (0.0, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
VECTORS = Path(os.environ.get("WORD_VECTORS", DATA / "word-vectors" / "glove100.npz"))
KEY = ("corpus", "documents", "cut", "epsilon", "algorithm", "reference")
FIELDS = (*KEY, "words_a_document", "start", "place", "npmi")


class Lists:
    """A CSV file that grows fit by fit; fits that stand in it are not run again."""

    def __init__(self, path):
        self.path, self.done = path, set()
        if path.exists():
            with path.open(newline="") as file:
                self.done = {tuple(row[name] for name in KEY) for row in csv.DictReader(file)}

    def add(self, corpus, counts, cut, references, vocabulary, epsilon, vectors=None):
        algorithm = "PrivateLDA" if vectors is None else "with vectors"
        keys = {
            name: (corpus, str(counts.shape[0]), str(cut), str(epsilon), algorithm, name)
            for name in references
        }
        if self.done >= set(keys.values()):
            return
        release = fit(counts, vocabulary, epsilon, vectors)
        words, start = release.configuration["words_a_unit"], starting_place(release)
        new = not self.path.exists()
        with self.path.open("a", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            if new:
                writer.writerow(FIELDS)
            for name, reference in references.items():
                for place in PLACES:
                    npmi = coherence_npmi(order(release, place), reference)
                    writer.writerow((*keys[name], f"{words:.1f}", start, place, f"{npmi:.4f}"))


def fit(counts, vocabulary, epsilon, vectors):
    model = PrivateLDA(
        20, epsilon=epsilon, delta=1e-5, word_vectors=vectors, random_state=0, n_jobs=1, allow_unlearnable=True
    )  # fmt: skip
    return model.fit(counts, vocabulary=vocabulary, words_are_public=True).release_


def order(release, place):
    weight = np.maximum(release.word_weight, release.word_weight[release.word_weight > 0].min())
    return np.log(np.maximum(release.topic_word, 1e-300)) - (1 - place) * np.log(weight)


def shortened(counts, length, rng):
    """Keep at most so many tokens of each document, drawn at random."""
    if not length:
        return counts
    rows = np.zeros(counts.shape, dtype=np.int64)
    for row, (begin, end) in zip(rows, zip(counts.indptr[:-1], counts.indptr[1:], strict=True), strict=True):
        tokens = np.repeat(counts.indices[begin:end], counts.data[begin:end].astype(int))
        np.add.at(row, tokens if len(tokens) <= length else rng.choice(tokens, length, replace=False), 1)
    return sp.csr_matrix(rows)


def measure(path, corpora):
    warnings.simplefilter("ignore", WeakForecastWarning)
    lists = Lists(path)
    for corpus in corpora:
        split = load(corpus, 2000)
        vectors = match_vectors(VECTORS, split.vocabulary).vectors
        for epsilon in EPSILONS:
            own = {"own": split.train}
            lists.add(corpus, split.train, 0, own, split.vocabulary, epsilon)
            if np.isfinite(epsilon):
                lists.add(corpus, split.train, 0, own, split.vocabulary, epsilon, vectors)
        rng = np.random.default_rng(0)
        for n, length in CUTS if corpus in CUT else ():
            counts = shortened(split.train[rng.permutation(split.train.shape[0])[:n]].tocsr(), length, rng)
            references = {"own": counts, "all": split.train}
            for epsilon in CUT_EPSILONS:
                lists.add(corpus, counts, length, references, split.vocabulary, epsilon)
        print(corpus, "done", flush=True)


def tables(path):
    found = defaultdict(dict)
    with path.open(newline="") as file:
        for row in csv.DictReader(file):
            key = tuple(row[name] for name in (*KEY, "words_a_document", "start"))
            found[key][float(row["place"])] = float(row["npmi"])
    shown = (1.0, 0.8, 0.6, 0.4, 0.2)
    for title, group, cuts in (
        ("Chosen on", CHOSEN_ON, "own"),
        ("Confirmed on", CONFIRMED, "own"),
        ("All", CUT, "all"),
    ):
        print(
            f"\n{title}:\n\n| texts | different words | epsilon | fit | "
            + " | ".join(map(str, shown))
            + " | start |"
        )
        print("| --- " * (5 + len(shown)) + "|")
        for (corpus, n, cut, epsilon, algorithm, reference, words, start), npmi in found.items():
            if corpus in group and reference == cuts:
                name = f"{corpus} ({int(n):,} {'texts' if cut == '0' else f'texts of {cut} words'})"
                cells = [f"{npmi[place]:.3f}".replace("0.", ".") for place in shown]
                print(
                    f"| {name} | {float(words):.0f} | {epsilon} | {algorithm} | {' | '.join(cells)} | {start} |"
                )


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("task", choices=["measure", "tables"])
    parser.add_argument("file", type=Path)
    parser.add_argument("--corpora", nargs="+")
    given = parser.parse_args()
    if given.task == "measure":
        measure(given.file, given.corpora or CHOSEN_ON + CONFIRMED)
    else:
        tables(given.file)


if __name__ == "__main__":
    main()
