r"""Exact Gibbs sweep from a frozen word-topic table.

In a sweep over all tokens the table :math:`\phi` stays as it was at the start; only the counts of the document
itself change from token to token. Token i of document d, a word w, gets topic k with probability

.. math:: p(z_{di} = k) \propto (n_{dk}^{-di} + \alpha_k)\, \phi_{wk}, \qquad
          \phi_{wk} = \frac{c_{wk} + \beta}{c_k + V \beta}.

Given the table, documents are independent and each has its own stream of random numbers: any number of threads
draws the same topics. Counts are integers, brought up to date after the sweep, word by word.

A step leaves the token itself out of the table, as the textbook's sampler does: with the counts of the table its
old topic o gets :math:`(c_{wo} - 1 + \beta) / (c_o - 1 + V \beta)`. (Left in, a rare word's token holds itself where it
is, the chain mixes slowly and ends in worse topics.) The other tokens' moves of the same sweep are not seen, so the
stationary law is near, not equal, to the posterior. What *is* exact is each draw, given the table.

:func:`sweep` alone leaves the table as it is given, whatever it holds: that is what private training counts.

How exact: in single precision (``n_bits=24``) each probability is off by at most :math:`(n + 6)\, 2^{-23}`, n the
number of blocks of 16 topics; in double precision (``n_bits=53``) by :math:`(n + 6)\, 2^{-52}`, n blocks of 8.
Where all products and sums are whole numbers below :math:`2^{53}`, only the division of the uniform number's
:math:`2^{53}` values among topics is left, :math:`2^{-52}`.

Guarantee: none by itself. With ``table`` a noisy table, ``n_bits=53`` and ``bits`` from a secure source, one sweep is
the Gibbs draw of private training, whose loss depends on the range of that table.

Reference
---------
Griffiths, Steyvers, "Finding scientific topics", PNAS 2004, doi:10.1073/pnas.0307752101 (the sampler);
Newman, Asuncion, Smyth, Welling, "Distributed algorithms for topic models", JMLR 10 (2009) (frozen counts).
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet._kernels import kernel
from discreet._threads import pieces, share_out
from discreet.errors import ParameterError
from discreet.lda.gibbs.counter_stream import JIT, sweep_key
from discreet.lda.gibbs.simd import MOST_UNROLLED
from discreet.lda.gibbs.state import (
    Info,
    State,
    Tokens,
    WordOrder,
    aligned_zeros,
    begin,
    count_topics,
    padded,
)

if JIT:
    from discreet.lda.gibbs.frozen.kernel import draw_documents
else:
    from discreet.lda.gibbs.frozen.plain import draw_documents

__all__ = ["build_table", "empty_table", "init", "own_share", "step", "sweep"]

#: Starts a chain: ``init(tokens, n_topics, seed)``.
init = begin

_KINDS = {24: np.float32, 53: np.float64}
_NO_BITS = np.empty(0, np.uint64)
_NOTHING = {kind: np.empty((0, 0), kind) for kind in _KINDS.values()}


def empty_table(n_words: int, n_topics: int, *, n_bits: int = 24) -> NDArray[Any]:
    """Allocate a table for sweeps: n_words * width * (4 or 8) bytes, width = n_topics padded to 16s."""
    if n_bits not in _KINDS:
        raise ParameterError(f"n_bits must be 24 (single precision) or 53 (double), but is {n_bits}.")
    return aligned_zeros((n_words, padded(n_topics)), _KINDS[n_bits])


@kernel(error_model="numpy")
def _fill(counts: Any, totals: Any, beta: Any, first: int, last: int, table: Any) -> None:
    n_words, n_topics = counts.shape[0], len(totals)
    scale = np.empty(n_topics, table.dtype)
    prior = table.dtype.type(beta)
    for k in range(n_topics):
        scale[k] = n_words / (totals[k] + n_words * beta)
    for w in range(first, last):
        for k in range(n_topics):
            table[w, k] = (table.dtype.type(counts[w, k]) + prior) * scale[k]


def build_table(
    word_topic: NDArray[np.int32],
    n_topics: int,
    topic_word_prior: float,
    table: NDArray[Any],
    n_threads: int = 1,
) -> NDArray[np.int64]:
    """Fill ``table`` with n_words * (c + beta) / (c_k + V beta): in proportion to phi, and of a size near 1.

    Returns the totals c_k, (n_topics,).
    """
    ranges = pieces(np.arange(len(table) + 1), n_threads)

    def add(piece: tuple[int, int]) -> NDArray[np.int64]:
        return word_topic[slice(*piece), :n_topics].sum(axis=0, dtype=np.int64)

    def fill(piece: tuple[int, int]) -> None:
        _fill(word_topic, totals, topic_word_prior, *piece, table)

    totals = np.stack(share_out(add, ranges, n_threads)).sum(axis=0)
    share_out(fill, ranges, n_threads)
    return totals


def own_share(totals: NDArray[np.int64], topic_word_prior: float, table: NDArray[Any]) -> NDArray[Any]:
    """Return what one token has to do with each topic's column of ``build_table``'s table, (2, width).

    First what a token adds to its cell, n_words / (c_k + V beta); then by how much the column rises without it,
    (c_k + V beta) / (c_k - 1 + V beta), 1 for topics without tokens.
    """
    n_topics, empty = len(totals), len(table) * topic_word_prior
    own = np.zeros((2, table.shape[1]), table.dtype)
    own[0, :n_topics] = len(table) / (totals + empty)
    own[1, :n_topics] = (totals + empty) / np.maximum(totals + empty - 1, empty)
    return own


def sweep(
    tokens: Tokens,
    topics: NDArray[np.uint16],
    table: NDArray[Any],
    doc_topic_prior: NDArray[np.float64],
    key: Any,
    *,
    bits: NDArray[np.uint64] = _NO_BITS,
    own: NDArray[Any] | None = None,
    first_document: int = 0,
    n_threads: int = 1,
) -> None:
    """Draw every token's topic once from a given table.

    Parameters
    ----------
    tokens : Tokens
        The documents.
    topics : array of shape (n_tokens,), uint16
        Is changed in place.
    table : array of shape (n_words, width), float32 or float64
        Positive and finite for each topic, zeros in the padding; rows start at multiples of 64 bytes. A row may
        have any scale that keeps its products with counts in range.
    doc_topic_prior : array of shape (n_topics,)
        alpha, positive.
    key : uint64
        ``sweep_key(seed, sweep)``; without effect where ``bits`` are given.
    bits : array of shape (n_tokens,), uint64, optional
        Uniform random words to use, one a token; a secure source's where the draw is part of a promise.
    own : array of shape (2, width), the table's type, optional
        :func:`own_share`: each token is left out of the table while it is drawn.
    first_document : int
        Number of the first document in the corpus of which these are a part.
    n_threads : int
        Threads; topics do not depend on it.
    """
    n_topics, width = len(doc_topic_prior), table.shape[1]
    prior = aligned_zeros((width,), table.dtype.type)
    prior[:n_topics] = doc_topic_prior
    n_blocks = width * table.dtype.itemsize // 64
    blocks = (0,) * n_blocks if n_blocks <= MOST_UNROLLED else ()

    def draw(piece: tuple[int, int]) -> None:
        draw_documents(
            tokens.indptr,
            tokens.words,
            topics,
            table,
            prior,
            n_topics,
            key,
            bits,
            *piece,
            aligned_zeros((4, width), table.dtype.type),
            _NOTHING[table.dtype.type] if own is None else own,
            blocks,
            first_document,
        )

    share_out(draw, pieces(tokens.indptr, n_threads), n_threads)


def step(
    state: State,
    tokens: Tokens,
    doc_topic_prior: NDArray[np.float64],
    topic_word_prior: float,
    *,
    memory: NDArray[Any] | None = None,
    order: WordOrder | None = None,
    earlier: NDArray[np.int32] | None = None,
    n_threads: int = 1,
) -> tuple[State, Info]:
    """Do one sweep.

    Parameters
    ----------
    state : State
        Is left as it was.
    tokens : Tokens
        The documents that the state is about.
    doc_topic_prior : array of shape (n_topics,)
        alpha.
    topic_word_prior : float
        beta.
    memory : array of shape (n_words, width), optional
        An ``empty_table``, to be used again; its type decides the precision. Without it single precision.
    order : WordOrder, optional
        ``word_order(tokens)``, to be used again.
    earlier : array of shape (n_words, width), int32, optional
        The counts of other documents that the chain began with.
    n_threads : int
        Threads; the new state does not depend on it.
    """
    n_topics = len(doc_topic_prior)
    table = empty_table(tokens.n_words, n_topics) if memory is None else memory
    totals = build_table(state.word_topic, n_topics, topic_word_prior, table, n_threads)
    own, key = own_share(totals, topic_word_prior, table), sweep_key(state.seed, state.sweep)
    topics = state.topics.copy()
    sweep(tokens, topics, table, doc_topic_prior, key, own=own, n_threads=n_threads)
    word_topic = count_topics(tokens, topics, n_topics, n_threads, order=order, earlier=earlier)
    n_moved = int(np.count_nonzero(topics != state.topics))
    return State(topics, word_topic, state.seed, state.sweep + 1), Info(n_moved)
