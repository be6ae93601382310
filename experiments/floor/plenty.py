"""Where documents are plentiful for so many words and topics.

    python experiments/floor/plenty.py plenty.csv        # rows that stand are not run again; --corpora, --x

For each x = words times topics / (n mu), epsilon is what gives that x: far beyond what protects anybody, because that
is how a corpus of these sizes shows what a hundred times as many documents would see at epsilon 1. 20 topics, 2,000
words, delta = 1e-5, seed 0. Exact measures of the texts: for research, not for release.
"""

import argparse
import csv
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "benchmarks"))

from real_corpora import load

from discreet import PrivateLDA
from discreet.evaluate import coherence_npmi, completion_perplexity
from discreet.privacy.accounting.curves import gdp_epsilon

DELTA, N_TOPICS, N_WORDS, PRIOR = 1e-5, 20, 2000, 0.1
FIELDS = ("corpus", "documents", "x", "perplexity", "npmi")
#: The rule was chosen on these, ...
CHOSEN_ON = ("20newsgroups", "kos", "enron-spam", "reuters21578", "pheme")
#: ... and then looked at on these.
CORPORA = (*CHOSEN_ON, "nyt", "nips-papers", "sotu", "tweets-emoji", "tweetrumors")
XS = (0.3, 0.05)


def fit(split, x):
    """Fit at the epsilon that gives x; to the exact number of documents, give or take nothing that matters."""
    epsilon = gdp_epsilon(N_WORDS * N_TOPICS / (split.train.shape[0] * x), DELTA)
    model = PrivateLDA(
        N_TOPICS, epsilon=epsilon, delta=DELTA, doc_topic_prior=PRIOR, random_state=0, n_jobs=1
    )  # fmt: skip
    return model.fit(split.train, vocabulary=split.vocabulary, words_are_public=True).components_


def main(path, corpora=CORPORA, xs=XS):
    done = set()
    if path.exists():
        with path.open(newline="") as file:
            done = {(row["corpus"], float(row["x"])) for row in csv.DictReader(file)}
    for corpus in corpora:
        split = None
        for x in xs:
            if (corpus, x) in done:
                continue
            split = split or load(corpus, N_WORDS)
            topics = fit(split, x)
            perplexity = completion_perplexity(topics, split.test, doc_topic_prior=PRIOR, n_jobs=1)
            coherence = coherence_npmi(topics, split.train)
            new = not path.exists()
            with path.open("a", newline="") as file:
                writer = csv.writer(file, lineterminator="\n")
                if new:
                    writer.writerow(FIELDS)
                writer.writerow((corpus, split.train.shape[0], x, f"{perplexity:.2f}", f"{coherence:.4f}"))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("file", type=Path)
    parser.add_argument("--corpora", nargs="+", default=CORPORA)
    parser.add_argument("--x", nargs="+", type=float, default=XS)
    given = parser.parse_args()
    main(given.file, given.corpora, given.x)
