"""Perplexity against epsilon: a grid of budgets, and where documents are plentiful for so many words and topics.

    python experiments/floor/plenty.py plenty.csv        # epsilons of a few x = words times topics / (n mu)
    python experiments/floor/plenty.py grid.csv --grid --corpora kos pheme reuters21578 --seeds 2    # 30 epsilons
    python experiments/floor/plenty.py grid_vectors.csv --grid --vectors --corpora kos pheme --seeds 2
    python experiments/floor/plenty.py grid.csv --rises  # how far a mean lies above the best at a smaller epsilon

A small x needs an epsilon far beyond what protects anybody, because that is how a corpus of these sizes shows what a
hundred times as many documents would see at epsilon 1. Rows that stand are not run again. 20 topics, 2,000 words,
delta = 1e-5. Exact measures of the texts: for research, not for release.
"""

import argparse
import csv
import sys
from collections import defaultdict
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "benchmarks"))

from real_corpora import DATA, load

from discreet import PrivateLDA
from discreet.corpus import match_vectors
from discreet.evaluate import coherence_npmi, completion_perplexity
from discreet.privacy.accounting.curves import gdp_epsilon, gdp_mu

DELTA, N_TOPICS, N_WORDS, PRIOR = 1e-5, 20, 2000, 0.1
FIELDS = ("corpus", "documents", "x", "epsilon", "seed", "perplexity", "npmi")
#: The rule was chosen on these, ...
CHOSEN_ON = ("20newsgroups", "kos", "enron-spam", "reuters21578", "pheme")
#: ... and then looked at on these.
CORPORA = (*CHOSEN_ON, "nyt", "nips-papers", "sotu", "tweets-emoji", "tweetrumors")
XS = (0.3, 0.05)
EPSILONS = np.geomspace(0.3, 60, 30)
VECTORS = DATA / "word-vectors" / "glove100.npz"


def budgets(n_documents, xs):
    """Yield (x, epsilon), to the exact number of documents, give or take nothing that matters."""
    for x in xs or ():
        yield x, gdp_epsilon(N_WORDS * N_TOPICS / (n_documents * x), DELTA)
    for epsilon in EPSILONS if xs is None else ():
        yield N_WORDS * N_TOPICS / (n_documents * gdp_mu(epsilon, DELTA)), epsilon


def fit(split, epsilon, seed, vectors):
    model = PrivateLDA(
        N_TOPICS, epsilon=epsilon, delta=DELTA, random_state=seed, n_jobs=1, allow_unlearnable=True,
        word_vectors=vectors,
    )  # fmt: skip
    return model.fit(split.train, vocabulary=split.vocabulary, words_are_public=True).components_


def rows_in(path):
    if not path.exists():
        return []
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def measure(path, corpora, xs, seeds, *, with_vectors=False):
    done = {(row["corpus"], row["x"], row["seed"]) for row in rows_in(path)}
    for corpus in corpora:
        split = load(corpus, N_WORDS)
        vectors = match_vectors(VECTORS, split.vocabulary).vectors if with_vectors else None
        for seed in range(seeds):
            for x, epsilon in budgets(split.train.shape[0], xs):
                if (corpus, f"{x:.4g}", str(seed)) in done:
                    continue
                topics = fit(split, epsilon, seed, vectors)
                perplexity = completion_perplexity(topics, split.test, doc_topic_prior=PRIOR, n_jobs=1)
                coherence = coherence_npmi(topics, split.train)
                new = not path.exists()
                with path.open("a", newline="") as file:
                    writer = csv.writer(file, lineterminator="\n")
                    if new:
                        writer.writerow(FIELDS)
                    where = (corpus, split.train.shape[0], f"{x:.4g}", f"{epsilon:.4g}", seed)
                    writer.writerow((*where, f"{perplexity:.2f}", f"{coherence:.4f}"))


def rises(path):
    found = defaultdict(lambda: defaultdict(list))
    for row in rows_in(path):
        found[row["corpus"]][float(row["epsilon"])].append(float(row["perplexity"]))
    for corpus, at in found.items():
        epsilons = sorted(at)
        means = np.array([np.mean(at[epsilon]) for epsilon in epsilons])
        rise = means / np.minimum.accumulate(means) - 1
        worst = int(rise.argmax())
        print(
            f"{corpus}: {means[0]:.0f} at epsilon {epsilons[0]:g}, {means[-1]:.0f} at {epsilons[-1]:g}; at most "
            f"{100 * rise[worst]:.1f} % above the best of a smaller epsilon (at {epsilons[worst]:g})"
        )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("file", type=Path)
    parser.add_argument("--corpora", nargs="+", default=CORPORA)
    parser.add_argument("--x", nargs="+", type=float, default=XS)
    parser.add_argument("--grid", action="store_true", help="30 epsilons from .3 to 60, whatever --x")
    parser.add_argument("--vectors", action="store_true", help="with public word vectors")
    parser.add_argument("--rises", action="store_true", help="print what a grid's file says")
    parser.add_argument("--seeds", type=int, default=1)
    given = parser.parse_args()
    if given.rises:
        rises(given.file)
    else:
        xs = None if given.grid else given.x
        measure(given.file, given.corpora, xs, given.seeds, with_vectors=given.vectors)
