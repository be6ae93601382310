"""Which start training does best from: pairs of words, public word vectors, or what a released score of both says.

    python experiments/word_vectors/starts.py measure starts.csv     # about 10 minutes a seed on one thread
    python experiments/word_vectors/starts.py tables starts.csv      # Markdown

For ``init="score"`` training goes on from either start after the same noisy releases, so that what the score chose can
be compared with what it did not. Rows that stand in the file are not measured again. "exact" is the score before its
noise, "released" after it, in nats a token in favour of the vectors. Settings as in run.py; vectors are GloVe's, or of
random numbers. Exact numbers of the texts are for research, not for release.
"""

import argparse
import csv
import itertools
from collections import defaultdict
from pathlib import Path

import numpy as np
from run import CHOSEN_ON, DELTA, N_TOPICS, PRIOR, VECTORS, load, shown

from discreet import PrivateLDA
from discreet.central import full_batch
from discreet.central.rounds.likelihood_score import REACH
from discreet.corpus import match_vectors
from discreet.evaluate import coherence_npmi, completion_perplexity
from discreet.privacy.shared_gaussian import BITS

EPSILONS = (0.5, 1.0, 4.0)
FIELDS = (
    "corpus",
    "documents",
    "epsilon",
    "vectors",
    "init",
    "seed",
    "perplexity",
    "npmi",
    "exact",
    "released",
)
KEY = ("corpus", "epsilon", "vectors", "init", "seed")
#: As a user asks for them; and after a score, whatever it says.
ASKED = ("auto", "pairs", "vectors")
EITHER = ("score: pairs", "score: vectors")


def fit(split, epsilon, seed, vectors, init):
    model = PrivateLDA(
        N_TOPICS, epsilon=epsilon, delta=DELTA, doc_topic_prior=PRIOR, word_vectors=vectors, init=init,
        random_state=seed, n_jobs=1, allow_unlearnable=True,
    )  # fmt: skip
    return model.fit(split.train, vocabulary=split.vocabulary, words_are_public=True).components_


class Told:
    """A gate of one release, the score: notes it, and lets the choice be what it was told."""

    def __init__(self, gate, vectors):
        self.gate, self.n_jobs, self.vectors, self.scores = gate, gate.n_jobs, vectors, []

    def release(self, total, share, purpose, **lattice):
        noisy = self.gate.release(total, share, purpose, **lattice)
        self.scores = [float(total[0]) / 2**BITS, float(noisy.values[0])]
        return noisy._replace(values=np.array([1.0 if self.vectors else -1.0]))


def fit_after_score(split, epsilon, seed, vectors, which):
    """Train from one of the starts, after the releases of both; return the topics and both scores."""
    told, honest = [], full_batch.best_of

    def this_one(starts, units, prior, gate):
        told.append(Told(gate, which == "score: vectors"))
        return honest(starts, units, prior, told[0])

    full_batch.best_of = this_one
    try:
        topics = fit(split, epsilon, seed, vectors, "score")
    finally:
        full_batch.best_of = honest
    return topics, [f"{REACH * score / split.train.shape[0]:.5f}" for score in told[0].scores]


def measure(path, corpora, seeds):
    rows = {}
    if path.exists():
        with path.open(newline="") as file:
            rows = {tuple(row[name] for name in KEY): row for row in csv.DictReader(file)}
    for seed, corpus in itertools.product(range(seeds), corpora):
        split = load(corpus, 2000)
        right = match_vectors(VECTORS, split.vocabulary).vectors
        kinds = {"right": right, "random": np.random.default_rng(5).normal(size=right.shape)}
        for epsilon, kind, init in itertools.product(EPSILONS, kinds, ASKED + EITHER):
            key = (corpus, str(epsilon), kind, init, str(seed))
            if key in rows:
                continue
            if init in ASKED:
                topics, scores = fit(split, epsilon, seed, kinds[kind], init), ["", ""]
            else:
                topics, scores = fit_after_score(split, epsilon, seed, kinds[kind], init)
            perplexity = completion_perplexity(topics, split.test, doc_topic_prior=PRIOR, n_jobs=1)
            coherence = coherence_npmi(topics, split.train)
            found = [split.train.shape[0], f"{perplexity:.2f}", f"{coherence:.4f}", *scores]
            names = ("documents", "perplexity", "npmi", "exact", "released")
            rows[key] = dict(zip(KEY, key, strict=True)) | dict(zip(names, map(str, found), strict=True))
            with path.open("w", newline="") as file:
                writer = csv.DictWriter(file, FIELDS, lineterminator="\n")
                writer.writeheader()
                writer.writerows(rows.values())
        print(corpus, "seed", seed, "done", flush=True)


def chosen(pairs, vectors):
    """Return what the released score took and what it left, each (perplexity, NPMI)."""
    return (vectors, pairs) if float(pairs["released"]) > 0 else (pairs, vectors)


def numbers(row):
    return float(row["perplexity"]), float(row["npmi"])


def tables(path):
    found = defaultdict(dict)
    with path.open(newline="") as file:
        for row in csv.DictReader(file):
            found[row["corpus"], row["epsilon"], row["vectors"]][row["init"], row["seed"]] = row
    titles = ("corpus", "epsilon", "vectors", *ASKED, "score", "takes vectors", "exact / noise")
    print("| " + " | ".join(titles) + " |")
    print("| --- " * len(titles) + "|")
    corpora = (*CHOSEN_ON, *dict.fromkeys(corpus for corpus, *_ in found))
    kinds = ("right", "random")
    for corpus, epsilon, kind in itertools.product(dict.fromkeys(corpora), map(str, EPSILONS), kinds):
        rows = found.get((corpus, epsilon, kind))
        if rows is None:
            continue
        seeds = sorted({seed for _, seed in rows})
        cells = [shown(np.mean([numbers(rows[init, seed]) for seed in seeds], axis=0)) for init in ASKED]
        both = [[rows[init, seed] for init in EITHER] for seed in seeds]
        cells.append(shown(np.mean([numbers(chosen(*two)[0]) for two in both], axis=0)))
        taken = sum(float(two[0]["released"]) > 0 for two in both)
        exact = [float(two[0]["exact"]) for two in both]
        gap = [float(two[0]["released"]) - value for two, value in zip(both, exact, strict=True)]
        noise = np.sqrt(np.mean(np.square(gap)))
        cells += [f"{taken} of {len(seeds)}", f"{np.mean(exact):.3f} / {noise:.3f}".replace("0.", ".")]
        print(f"| {corpus} | {float(epsilon):g} | {kind} | " + " | ".join(cells) + " |")
    gaps = []
    for rows in found.values():
        for seed in {seed for _, seed in rows}:
            took, left = chosen(*(rows[init, seed] for init in EITHER))
            gaps.append(float(took["perplexity"]) / float(left["perplexity"]) - 1)
    gaps = np.array(gaps)
    right, near = (gaps <= 0).sum(), (gaps <= 0.01).sum()
    print(f"\nOf {len(gaps)} choices {right} were right, {near} right or within 1 %;", end=" ")
    print(f"the worst lost {gaps.max():.1%}.")


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("task", choices=["measure", "tables"])
    parser.add_argument("file", type=Path)
    parser.add_argument("--corpora", nargs="+", default=CHOSEN_ON)
    parser.add_argument("--seeds", type=int, default=1)
    given = parser.parse_args()
    if given.task == "measure":
        measure(given.file, given.corpora, given.seeds)
    else:
        tables(given.file)


if __name__ == "__main__":
    main()
