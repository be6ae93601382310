r"""Metropolis-Hastings sweep in two streaming phases: a constant cost a token, whatever the number of topics.

The target of a token of word w in document d is :math:`(n_{dk} + \alpha_k)(c_{wk} + \beta) / (c_k + V \beta)`.
Each factor proposes, and the rest decides:

* *word phase*, word by word: proposals from :math:`n_{dk} + \alpha_k` are accepted with probability
  :math:`\min(1, \frac{c_{wt} + \beta}{c_{wk} + \beta} \cdot \frac{c_k + V\beta}{c_t + V\beta})`; then each token gets a
  proposal from :math:`c_{wk} + \beta`: the topic of a random other token of the word, or any topic;
* *document phase*, document by document: the same with the roles exchanged.

The token's own count is left out everywhere, of both counts and of both proposals: left in, rare words hold
themselves where they are. Counts of words are frozen within a phase, as are the totals. Tokens are stored in the
order of words, each phase counts what it needs from the tokens themselves, so that a sweep needs *no* table of
n_words x n_topics: memory is 20 bytes a token. Random numbers belong to tokens: any number of threads gives the
same chain.

This walks more slowly towards the same place than exact draws do: for up to a few hundred topics take
``frozen_sweep``. The chain's stationary law is near, not equal, to the posterior.

Guarantee: none. (Private training needs exact draws: its proof counts them.)

Reference
---------
Chen, Li, Zhu, Chen, "WarpLDA: a cache efficient O(1) algorithm for latent Dirichlet allocation", PVLDB 9(10), 2016,
doi:10.14778/2977797.2977801.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from discreet._kernels import kernel
from discreet._threads import pieces, share_out
from discreet.lda.gibbs.counter_stream import sweep_key
from discreet.lda.gibbs.mh.kernel import document_phase, word_phase
from discreet.lda.gibbs.state import MOST_TOPICS, Info, Tokens, aligned_zeros, padded, random_topics

__all__ = ["ByWord", "MHState", "by_word", "init", "step", "topics_of", "word_topic"]

_DRAWS_A_SWEEP = 4


class ByWord(NamedTuple):
    """The same tokens in the order of words."""

    #: (n_words + 1,) int64: where each word's tokens begin.
    indptr: NDArray[np.int64]
    #: (n_tokens,) int32: where each token of ``Tokens`` stands in this order.
    position: NDArray[np.int32]


class MHState(NamedTuple):
    """A chain between two sweeps. Steps return new states and leave old ones as they were."""

    #: (n_tokens,) uint32 in the order of words: topic, and above it the document's proposal.
    packed: NDArray[np.uint32]
    #: (n_topics,) int64: tokens of each topic.
    totals: NDArray[np.int64]
    #: 0 to 2**64 - 1.
    seed: int
    #: Sweeps done.
    sweep: int


def by_word(tokens: Tokens) -> ByWord:
    """Sort tokens by word."""
    order = np.argsort(tokens.words, kind="stable")
    position = np.empty(len(order), np.int32)
    position[order] = np.arange(len(order), dtype=np.int32)
    lengths = np.bincount(tokens.words, minlength=tokens.n_words)
    return ByWord(np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64), position)


def init(
    tokens: Tokens, order: ByWord, n_topics: int, seed: int, topics: NDArray[np.uint16] | None = None
) -> MHState:
    """Start a chain from ``topics``, or from random ones, the same that ``state.begin`` draws; at most 65,536."""
    padded(n_topics)
    if topics is None:
        topics = random_topics(len(tokens.words), n_topics, seed)
    packed = np.empty(len(topics), np.uint32)
    packed[order.position] = topics
    return MHState(packed, np.bincount(topics, minlength=n_topics).astype(np.int64), seed, 0)


def step(
    state: MHState,
    tokens: Tokens,
    order: ByWord,
    doc_topic_prior: NDArray[np.float64],
    topic_word_prior: float,
    *,
    n_threads: int = 1,
) -> tuple[MHState, Info]:
    """Do one sweep: a word phase, then a document phase.

    Parameters
    ----------
    state : MHState
        Is left as it was.
    tokens : Tokens
        The documents.
    order : ByWord
        ``by_word(tokens)``.
    doc_topic_prior : array of shape (n_topics,)
        alpha.
    topic_word_prior : float
        beta.
    n_threads : int
        Threads; the new state does not depend on it.
    """
    n_topics = len(doc_topic_prior)
    alpha = doc_topic_prior.astype(np.float32)
    places = np.cumsum(doc_topic_prior)
    packed = state.packed.copy()
    keys = [sweep_key(state.seed, _DRAWS_A_SWEEP * state.sweep + i) for i in range(_DRAWS_A_SWEEP)]
    longest = int(np.diff(tokens.indptr).max(initial=0))
    beta = np.float32(topic_word_prior)

    def scale(totals: NDArray[np.int64]) -> NDArray[np.float32]:
        return (tokens.n_words / (totals + tokens.n_words * topic_word_prior)).astype(np.float32)

    def words(piece: tuple[int, int]) -> NDArray[np.int64]:
        first, last = piece
        row, totals = np.empty(n_topics, np.float32), np.zeros(n_topics, np.int64)
        later = state.sweep > 0
        word_phase(order.indptr, packed, scales, beta, keys[0], keys[1], later, first, last, row, totals)
        return totals

    def documents(piece: tuple[int, int]) -> NDArray[np.int64]:
        first, last = piece
        counts, totals = np.empty(n_topics, np.float32), np.zeros(n_topics, np.int64)
        document_phase(
            tokens.indptr,
            order.position,
            packed,
            scales,
            alpha,
            places,
            keys[2],
            keys[3],
            first,
            last,
            counts,
            np.empty(longest, np.uint32),
            totals,
        )
        return totals

    totals = state.totals
    for phase, indptr in ((words, order.indptr), (documents, tokens.indptr)):
        scales = scale(totals)
        parts = share_out(phase, pieces(indptr, n_threads), n_threads)
        totals = np.asarray(np.sum(parts, axis=0), dtype=np.int64)
    low = np.uint32(MOST_TOPICS - 1)
    n_moved = int(np.count_nonzero((packed ^ state.packed) & low))
    return MHState(packed, totals, state.seed, state.sweep + 1), Info(n_moved)


@kernel()
def _count(indptr: Any, packed: Any, counts: Any) -> None:
    for w in range(len(indptr) - 1):
        for i in range(indptr[w], indptr[w + 1]):
            counts[w, packed[i] & (MOST_TOPICS - 1)] += 1


def topics_of(state: MHState, order: ByWord) -> NDArray[np.uint16]:
    """Return each token's topic in the order of documents, (n_tokens,)."""
    return state.packed.astype(np.uint16)[order.position]


def word_topic(state: MHState, order: ByWord, n_topics: int) -> NDArray[np.int32]:
    """Count each word in each topic: a table as ``State.word_topic``, (n_words, width), int32."""
    counts = aligned_zeros((len(order.indptr) - 1, padded(n_topics)), np.int32)
    _count(order.indptr, state.packed, counts)
    return counts
