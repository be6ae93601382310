r"""Does a private fit know texts without topics, and never take texts with topics for such?

``python experiments/no_topics/run.py --data ../shared/data`` starts PrivateLDA (20 topics, 2,000 words, at most 20,000
documents) on real corpora, and on the same with all their tokens dealt to the documents anew: lengths and word
frequencies stay, and there are no topics. It writes one row a start to ``structure.csv`` beside itself: both figures of
``discreet.central.forecast`` and the verdict; and prints how often each verdict was given. Only the start is
run, whose releases are those of a whole fit; epsilon is that of the fit. ``--judge`` prints the table from the file.
"""

import argparse
import csv
import gzip
import json
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from sklearn.feature_extraction.text import CountVectorizer

from discreet import PrivateLDA
from discreet.central import full_batch
from discreet.privacy.accounting.curves import gdp_mu

OUT = Path(__file__).parent / "structure.csv"
WITH_STOP_WORDS = "20newsgroups, stop words kept"
CORPORA = (
    "kos", "reuters21578", "20newsgroups", "nyt", "sotu", "enron-spam", "pheme", "imdb", WITH_STOP_WORDS,
)  # fmt: skip
EPSILONS, SEEDS = (0.3, 1.0, 2.0, 4.0, 8.0), 5
N_WORDS, MOST_DOCUMENTS, DELTA = 2000, 20_000, 1e-6
FIELDS = ("corpus", "texts", "epsilon", "seed", "n_mu", "strength", "above_noise", "verdict")
DEALT = "dealt anew"


class Started(Exception):  # noqa: N818  (no error)
    """The start is over, and the rest is not needed."""


def corpus(name, data):
    """Return counts of the most frequent words, at most so many documents in random order."""
    if name == WITH_STOP_WORDS:
        with gzip.open(data / "20newsgroups" / "texts.jsonl.gz", "rt") as file:
            texts = [json.loads(line)["text"] for line in file]
        counts = sp.csr_matrix(CountVectorizer(max_features=N_WORDS).fit_transform(texts), dtype=np.int32)
    else:
        counts = sp.load_npz(data / name / "counts.npz").tocsr()
        counts = counts[:, np.sort(np.argsort(-counts.getnnz(0), kind="stable")[:N_WORDS])]
    counts = counts[np.random.default_rng(len(name)).permutation(counts.shape[0])[:MOST_DOCUMENTS]]
    return counts[counts.getnnz(1) > 0].tocsr()


def dealt_anew(counts, rng):
    """Return the same tokens in other documents, whose lengths stay."""
    lengths, totals = (np.asarray(counts.sum(axis)).ravel().astype(int) for axis in (1, 0))
    tokens = rng.permutation(np.repeat(np.arange(counts.shape[1]), totals))
    documents = np.repeat(np.arange(counts.shape[0]), lengths)
    return sp.csr_matrix(
        (np.ones(len(tokens), np.int32), (documents, tokens)), shape=counts.shape, dtype=np.int32
    )


def start(counts, epsilon, seed):
    """Return what the start of a fit tells of topics."""
    found, honest = [], full_batch.structure

    def stop(*released):
        found.append(honest(*released))
        raise Started

    full_batch.structure = stop
    try:
        PrivateLDA(20, epsilon=epsilon, delta=DELTA, random_state=seed, allow_unlearnable=True).fit(counts)
    except Started:
        return found[0]
    finally:
        full_batch.structure = honest


def rows_of(name, counts, texts, epsilon, seed):
    counts = dealt_anew(counts, np.random.default_rng(seed)) if texts == DEALT else counts
    told = start(counts, epsilon, seed)
    return {
        "corpus": name, "texts": texts, "epsilon": epsilon, "seed": seed,
        "n_mu": round(counts.shape[0] * gdp_mu(epsilon, DELTA)),
        "strength": f"{told.strength:.4f}", "above_noise": f"{told.above_noise:.4f}", "verdict": told.verdict,
    }  # fmt: skip


def judge():
    """Print how many of the starts had each verdict."""
    with OUT.open(newline="") as file:
        rows = list(csv.DictReader(file))
    for texts in ("as they are", DEALT):
        print(f"\n{texts}: none / cannot tell / seen, of {SEEDS}")
        print("corpus".ljust(30), *(f"{epsilon:>9g}" for epsilon in EPSILONS))
        for name in CORPORA:
            cells = []
            for epsilon in EPSILONS:
                mine = [
                    row["verdict"]
                    for row in rows
                    if (row["corpus"], row["texts"], float(row["epsilon"])) == (name, texts, epsilon)
                ]
                cells.append(
                    "/".join(str(mine.count(verdict)) for verdict in ("none", "cannot tell", "seen"))
                )
            print(name.ljust(30), *(cell.rjust(9) for cell in cells))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--judge", action="store_true")
    given = parser.parse_args()
    if not given.judge:
        with OUT.open("w", newline="") as file:
            writer = csv.DictWriter(file, FIELDS)
            writer.writeheader()
            for name in CORPORA:
                counts = corpus(name, given.data)
                for texts in ("as they are", DEALT):
                    for epsilon in EPSILONS:
                        for seed in range(SEEDS):
                            writer.writerow(rows_of(name, counts, texts, epsilon, seed))
                file.flush()
    judge()


if __name__ == "__main__":
    main()
