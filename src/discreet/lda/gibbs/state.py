"""What a Gibbs chain on LDA consists of: tokens, topic assignments, counts; and exact sums over threads.

Counts live in a table of shape (n_words, width): a row is a word, and the topics are padded with zeros to whole
vectors (``padded``). All of it is integers, so that sums do not depend on who adds them up.

The functions of a chain have the same parameters: ``tokens``, the documents; ``doc_topic_prior``, alpha, (n_topics,);
``topic_word_prior``, beta; ``seed``, 0 to 2**64 - 1; ``order``, :func:`word_order` of the tokens, to be used again; and
``n_threads``, on which nothing depends. States are left as they were.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from discreet._base.kernels import kernel
from discreet._base.threads import pieces, share_out
from discreet.errors import CorpusError, ParameterError
from discreet.lda.documents import Documents
from discreet.lda.emitted import aligned
from discreet.lda.gibbs.draw import random_halves, sweep_key

MOST_TOPICS = 2**16
_MOST_TOKENS = 2**31 - 1
_LANES = 16
_BEFORE_THE_FIRST_SWEEP = -1


class Tokens(NamedTuple):
    """A corpus token by token: document d is ``words[indptr[d]:indptr[d + 1]]``, words in rising order."""

    indptr: NDArray[np.int64]
    words: NDArray[np.int32]
    n_words: int

    @property
    def n_documents(self) -> int:
        """Number of documents."""
        return len(self.indptr) - 1


class WordOrder(NamedTuple):
    """Where the tokens of each word stand."""

    #: (n_words + 1,) int64: word w has ``places[indptr[w]:indptr[w + 1]]``.
    indptr: NDArray[np.int64]
    #: (n_tokens,) int32: numbers of tokens, rising within a word.
    places: NDArray[np.int32]


class State(NamedTuple):
    """A chain between two sweeps. Steps return new states and leave old ones as they were."""

    #: (n_tokens,) uint16: the topic of each token.
    topics: NDArray[np.uint16]
    #: (n_words, width) int32: tokens of each word in each topic. Or (0, 0), where lists take its place.
    word_topic: NDArray[np.int32]
    #: 0 to 2**64 - 1.
    seed: int
    #: Sweeps done; with the seed it is the key of the next sweep's randomness.
    sweep: int


def read_tokens(documents: Documents) -> Tokens:
    """Write counts out as tokens; ``CorpusError`` where one is not whole, or there are over 2**31 - 1 tokens."""
    whole = np.floor(documents.counts) == documents.counts
    if not whole.all():
        first = int(np.flatnonzero(~whole)[0])
        row = int(np.searchsorted(documents.indptr, first, side="right"))  # from 1
        raise CorpusError(
            f"counts must be whole numbers, but row {row} (counted from 1) of X holds {documents.counts[first]:g}: "
            "pass counts of words, not weights such as TF-IDF (VariationalLDA takes weights)."
        )
    total = float(documents.counts.sum())
    if total > _MOST_TOKENS:
        raise CorpusError(f"X holds {total:g} tokens, but a Gibbs chain takes at most 2^31 - 1: use batches.")
    counts = documents.counts.astype(np.int64)
    ends = np.concatenate([[0], np.cumsum(counts)])
    return Tokens(ends[documents.indptr], np.repeat(documents.words, counts), documents.n_words)


def padded(n_topics: int) -> int:
    """Return the width of a table for ``n_topics`` topics: whole vectors of 16."""
    if not 1 <= n_topics <= MOST_TOPICS:
        raise ParameterError(f"`n_topics` must be from 1 to {MOST_TOPICS}, but is {n_topics}.")
    return -(-n_topics // _LANES) * _LANES


def random_topics(n_tokens: int, n_topics: int, seed: int) -> NDArray[np.uint16]:
    """Draw a topic for each token, uniformly; token i's depends on (seed, i) only."""
    x = random_halves(n_tokens, sweep_key(seed, _BEFORE_THE_FIRST_SWEEP))
    x *= np.uint64(n_topics)
    return (x >> np.uint64(32)).astype(np.uint16)


def begin(
    tokens: Tokens,
    n_topics: int,
    seed: int,
    n_threads: int = 1,
    *,
    topics: NDArray[np.uint16] | None = None,
) -> State:
    """Start a chain from ``topics``, or random ones."""
    if topics is None:
        topics = random_topics(len(tokens.words), n_topics, seed)
    return State(topics, count_topics(tokens, topics, n_topics, n_threads), seed, 0)


@kernel()
def _place(words: Any, ends: Any, places: Any) -> None:
    for i in range(len(words)):
        places[ends[words[i]]] = i
        ends[words[i]] += 1


def word_order(tokens: Tokens) -> WordOrder:
    """Find the tokens of each word: 4 bytes a token."""
    indptr = np.zeros(tokens.n_words + 1, np.int64)
    np.cumsum(np.bincount(tokens.words, minlength=tokens.n_words), out=indptr[1:])
    places = np.empty(len(tokens.words), np.int32)
    _place(tokens.words, indptr[:-1].copy(), places)
    return WordOrder(indptr, places)


@kernel()
def _count(indptr: Any, places: Any, topics: Any, first: int, last: int, counts: Any) -> None:
    for w in range(first, last):
        for j in range(indptr[w], indptr[w + 1]):
            counts[w, topics[places[j]]] += 1


def count_topics(
    tokens: Tokens,
    topics: NDArray[np.uint16],
    n_topics: int,
    n_threads: int = 1,
    *,
    order: WordOrder | None = None,
) -> NDArray[np.int32]:
    """Count each word in each topic: (n_words, width), int32.

    Word by word, so that a row of the table stays in the nearest cache; in the order of documents each token would
    wait for a row of its own. ``order`` is ``word_order(tokens)``, to be used again.
    """
    counts = aligned((tokens.n_words, padded(n_topics)), np.int32)
    order = order or word_order(tokens)

    def work(piece: tuple[int, int]) -> None:
        _count(order.indptr, order.places, topics, *piece, counts)

    share_out(work, pieces(order.indptr, n_threads), n_threads)
    return counts


def own_share(totals: NDArray[np.int64], topic_word_prior: float, n_words: int) -> NDArray[np.float32]:
    """Return what one token has to do with each topic's column of n_words * (c + beta) / (c_k + V beta), (2, width).

    First what a token adds to its cell, n_words / (c_k + V beta), of a size near 1; then by how much the column rises
    without it, (c_k + V beta) / (c_k - 1 + V beta), 1 for topics without tokens. Zeros in the padding.
    """
    n_topics, empty = len(totals), n_words * topic_word_prior
    own = np.zeros((2, padded(n_topics)), np.float32)
    own[0, :n_topics] = n_words / (totals + empty)
    own[1, :n_topics] = (totals + empty) / np.maximum(totals + empty - 1, empty)
    return own
