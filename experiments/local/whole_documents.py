"""Whole documents under pure local privacy: what clients' answers teach, beside the unigram and public vectors alone.

    python experiments/local/whole_documents.py kos 1e5 8    # corpus, clients, epsilon; rows to whole_documents.csv
    python experiments/local/whole_documents.py kos 1e5 8 --lines learned --seeds 3 --from topics
    python experiments/local/whole_documents.py kos 1e4 1 --lines "public alone,learned,secure aggregation,curator"

"secure aggregation" is ``FederatedLDA(word_vectors=...)`` of ten silos, "curator" ``PrivateLDA(word_vectors=...)``.

Every client is exact: nonce, codebook and coins as a device has them, nothing drawn as a normal number. More clients
than documents: with replacement from the corpus (``--from corpus``), or documents drawn from topics that Gibbs sampling
fitted to the corpus, with its lengths (``--from topics``).
"""

import argparse
import csv
import os
import time
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from lines import DATA, corpus, measures

from discreet import FederatedLDA, PrivateLDA
from discreet.corpus import match_vectors
from discreet.lda import GibbsLDA
from discreet.lda.questions import begin
from discreet.local import CodebookChannel
from discreet.local.whole_document import codebook
from discreet.local.whole_document.estimator import Answers, step
from discreet.local.whole_document.questions import Question, question_of, thresholds
from discreet.privacy import SecureStream, noise_multiplier_for

HERE = Path(__file__).resolve().parent
VECTORS = Path(os.environ.get("WORD_VECTORS", DATA / "word-vectors" / "glove100.npz"))
N_TEST = {
    "kos": 430,
    "20newsgroups": 1500,
    "imdb": 2000,
    "reuters21578": 1500,
    "enron-spam": 1500,
    "nyt": 800,
}
LINES = {"public alone": (1.0,), "learned": (0.4, 0.1, 0.2, 0.3)}
SUMS, CURATOR = "secure aggregation", "curator"
N_SILOS, DELTA = 10, 1e-6
FIELDS = (
    "corpus",
    "clients",
    "epsilon",
    "drawn_from",
    "line",
    "seed",
    "perplexity",
    "npmi",
    "strength",
    "cpu_seconds",
)
N_TOPICS, TOGETHER = 20, 256


def population(data, n, source, rng):
    """Return documents, and which of them each client has."""
    rows = data.train
    if source == "corpus" and n <= rows.shape[0]:
        return rows, rng.permutation(rows.shape[0])[:n]
    if source == "topics":
        model = GibbsLDA(50, n_sweeps=200, random_state=0).fit(rows)
        shares, topics = model.transform(rows), model.topic_word_
        lengths = np.diff(rows.indptr)
        texts = []
        for _ in range(
            min(n, 20_000)
        ):  # as many different ones; each theta is of one document, each length too
            theta = shares[rng.integers(len(shares))]
            length = int(lengths[rng.integers(len(lengths))])
            chance = theta @ topics
            words = np.unique(rng.choice(rows.shape[1], size=2 * length, p=chance / chance.sum()))
            texts.append(rng.permutation(words)[:length])
        starts = np.cumsum([0, *(len(text) for text in texts)])
        columns = np.concatenate(texts)
        rows = sp.csr_matrix((np.ones(len(columns), np.int32), columns, starts), (len(texts), rows.shape[1]))
        rows.sort_indices()
    return rows, rng.integers(rows.shape[0], size=n)


def answers_of(question, channel, book, rows, own, told, stream):
    """Answer for clients, sorted by their documents; what is the same for all of one document is computed once."""
    ranks, sent, at = channel.ranks(len(told), stream), np.empty(len(told), np.int64), 0
    documents, how_many = np.unique(own, return_counts=True)
    for start in range(0, len(documents), TOGETHER):
        part = slice(start, start + TOGETHER)
        vectors = book._rows(question.answers(rows[documents[part]]))
        for vector, n in zip(vectors, how_many[part], strict=True):
            turned = book._turned(vector)
            for i in range(at, at + n):
                scores = codebook._scores(turned, book._signs(told[i : i + 1])[0], book.n_codewords)
                sent[i] = codebook._of_rank(np.abs(scores) if channel.two_sided else scores, int(ranks[i]))
            at += n
    return sent


def learn(rows, own, words, vectors, epsilon, shares, seed):
    """Ask every client its question; return the last state."""
    stream, ends = SecureStream(seed), thresholds(shares)
    raw = stream.spawn("numbers").words(2 * len(own)).tobytes()
    numbers = [raw[at : at + 16] for at in range(0, len(raw), 16)]
    places = np.array([question_of(number, ends) for number in numbers])
    state = begin(words, vectors, N_TOPICS, Question)
    while state.question is not None:
        question = state.question
        channel = CodebookChannel.for_document(epsilon, two_sided=question.two_sided)
        book = channel.codebook(question.dimension, question.digest)
        mine = np.flatnonzero(places == question.place)
        mine = mine[np.argsort(own[mine], kind="stable")]
        told = [numbers[i] for i in mine]
        sent = answers_of(question, channel, book, rows, own[mine], told, stream)
        state = step(state, Answers(told, sent), channel, len(shares), 0)
    return state


def fitted(line, rows, own, words, epsilon, seed):
    """Return the release of the product: ten silos that sum their answers, or a curator who has all documents."""
    documents, how = rows[own], {"epsilon": epsilon, "delta": DELTA, "word_vectors": VECTORS}
    documents.data[:] = 1
    said = {"vocabulary": words, "words_are_public": True}
    if line == SUMS:
        model = FederatedLDA(N_TOPICS, random_state=seed, **how)
        return model.fit([documents[silo::N_SILOS] for silo in range(N_SILOS)], **said).release_
    return PrivateLDA(N_TOPICS, random_state=seed, **how).fit(documents, **said).release_


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("corpus", choices=N_TEST)
    parser.add_argument("clients", type=float)
    parser.add_argument("epsilon", type=float)
    parser.add_argument("--lines", default=",".join(LINES))
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--from", dest="source", choices=("corpus", "topics"), default="corpus")
    parser.add_argument("--out", type=Path, default=HERE / "whole_documents.csv")
    asked = parser.parse_args()
    n, data = int(asked.clients), corpus(asked.corpus, 0, n_test=N_TEST[asked.corpus])
    vectors = match_vectors(VECTORS, data.words).vectors
    strength = round(np.sqrt(n) / CodebookChannel.for_document(asked.epsilon).deviation)
    fresh = not asked.out.exists()
    with asked.out.open("a", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        if fresh:
            table.writerow(FIELDS)
        for seed in range(asked.seeds):
            rng = np.random.default_rng([7, seed])
            rows, own = population(data, n, asked.source, rng)
            for line in asked.lines.split(","):
                start = time.process_time()
                if line in (SUMS, CURATOR):
                    release = fitted(line, rows, own, data.words, asked.epsilon, seed)
                    topics, weight = release.topic_word, release.topic_weight
                else:
                    state = learn(rows, own, data.words, vectors, asked.epsilon, LINES[line], seed)
                    topics, weight = state.topics.T, state.weight
                spent = round(time.process_time() - start, 1)
                worth = strength
                if line == SUMS:
                    worth = round(release.configuration["strength"])
                elif line == CURATOR:
                    worth = round(n / noise_multiplier_for(asked.epsilon, DELTA))
                found = [(line, measures(topics, weight, data))]
                if line == "public alone":
                    found.append(("unigram", measures(state.unigram[None], np.ones(1), data)))
                for name, (perplexity, _, npmi) in found:
                    row = (
                        data.name,
                        n,
                        asked.epsilon,
                        asked.source,
                        name,
                        seed,
                        perplexity,
                        npmi,
                        worth,
                        spent,
                    )
                    table.writerow(row)
                    print(*row, flush=True)
                file.flush()


if __name__ == "__main__":
    main()
