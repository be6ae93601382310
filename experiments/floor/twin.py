"""What expectation propagation adds to the non-private twin of PrivateLDA: the same fit with and without it.

    python experiments/floor/twin.py twin.csv

Without it documents' proportions are found by the steps that private rounds take. 20 topics of the 2,000 most frequent
words. Exact measures of the texts: for research, not for release.
"""

import csv
import math
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "benchmarks"))

from real_corpora import load

from discreet import PrivateLDA
from discreet.central import full_batch
from discreet.evaluate import completion_perplexity

CORPORA, N_TOPICS, N_WORDS, PRIOR = ("kos", "pheme", "reuters21578"), 20, 2000, 0.1
FIELDS = ("corpus", "expectation_propagation", "perplexity")
CONTRIBUTION = full_batch.Contribution


def perplexity(split, *, propagates):
    full_batch.Contribution = lambda **how: CONTRIBUTION(**how | {"matched": propagates})
    try:
        model = PrivateLDA(N_TOPICS, epsilon=math.inf, doc_topic_prior=PRIOR, random_state=0, n_jobs=1)
        topics = model.fit(split.train, vocabulary=split.vocabulary, words_are_public=True).components_
    finally:
        full_batch.Contribution = CONTRIBUTION
    return completion_perplexity(topics, split.test, doc_topic_prior=PRIOR, n_jobs=1)


def measure(path, corpora=CORPORA):
    with path.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(FIELDS)
        for corpus in corpora:
            split = load(corpus, N_WORDS)
            for propagates in (True, False):
                writer.writerow((corpus, propagates, f"{perplexity(split, propagates=propagates):.2f}"))


if __name__ == "__main__":
    measure(Path(sys.argv[1]))
