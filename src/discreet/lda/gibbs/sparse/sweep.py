r"""The frozen Gibbs sweep for many topics: exact draws from lists of the topics in which a word has tokens.

The law of a draw is that of ``frozen_sweep.step``: counts of words stay as they were, the token itself left out, and
topic k gets a weight in proportion to

.. math:: (n_{dk} + \alpha_k) \frac{c_{wk} + \beta}{c_k + V \beta}
          = \underbrace{(n_{dk} + \alpha_k) \frac{c_{wk}}{c_k + V \beta}}_{\text{in the word's list}}
          + \underbrace{\beta \frac{n_{dk} + \alpha_k}{c_k + V \beta}}_{\text{outside}}.

The first term is 0 but for the topics in which the word has tokens: some dozens of 1,000. The sum of the second is kept
per document, one addition for each token that comes or goes; some per cent of draws fall there, and only they look at
all topics. So a token costs what its word's list is long, and no table of n_words x n_topics is read.

Counts are renewed once a sweep, or, where there are not many more documents than topics, up to four times
(:func:`n_parts`). Lists are long as long as topics are random; such a chain's first sweeps are its slowest. Counts are
integers, and each document has its own stream of random numbers: any number of threads draws the same.

How exact: each probability is off by at most :math:`(n + 8)\, 2^{-23}`, n the blocks of 16 entries in the word's list
or, outside it, of topics.

Guarantee: none.

Reference
---------
Yao, Mimno, McCallum, "Efficient methods for topic model inference on streaming document collections", KDD 2009,
doi:10.1145/1557019.1557121 (the split of the sum); Newman, Asuncion, Smyth, Welling, "Distributed algorithms for topic
models", JMLR 10 (2009) (frozen counts).
"""

from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from discreet._threads import balanced_cuts, pieces, share_out
from discreet.lda.gibbs.counter_stream import JIT, sweep_key
from discreet.lda.gibbs.sparse.word_lists import Lists, fill, laws
from discreet.lda.gibbs.state import Info, Tokens, aligned_zeros, count_topics, random_topics

if JIT:
    from discreet.lda.gibbs.sparse.kernel import draw_documents
else:
    from discreet.lda.gibbs.sparse.plain import draw_documents

__all__ = ["ListState", "init", "n_parts", "step", "word_topic"]

#: Largest number of parts of a sweep.
_MOST_PARTS = 4


class ListState(NamedTuple):
    """A chain between two sweeps. Steps return new states and leave old ones as they were."""

    #: (n_tokens,) uint16: the topic of each token.
    topics: NDArray[np.uint16]
    #: 0 to 2**64 - 1.
    seed: int
    #: Sweeps done.
    sweep: int


def n_parts(n_documents: int, n_topics: int) -> int:
    """In how many parts a sweep goes over the documents; counts are renewed before each.

    Where there are about as many topics as documents, a document's moves change whole topics, and a chain whose counts
    stay as they are for a whole sweep falls behind: see docs/speed.md.
    """
    return min(_MOST_PARTS, -(-_MOST_PARTS * n_topics // max(n_documents, 1)))


def _draw(
    tokens: Tokens,
    topics: NDArray[np.uint16],
    lists: Lists,
    beta: np.float32,
    known: NDArray[np.float32],
    n_topics: int,
    key: np.uint64,
    part: tuple[int, int],
    n_threads: int,
) -> None:
    """Draw the topics of a part of the documents anew, in place."""
    arrays = (lists.starts, lists.sizes, lists.topics, lists.weights)

    def work(piece: tuple[int, int]) -> None:
        first, last = part[0] + piece[0], part[0] + piece[1]
        place = aligned_zeros((7, known.shape[1]), np.float32)
        draw_documents(
            tokens.indptr, tokens.words, topics, *arrays, beta, known, n_topics, key, first, last, place
        )

    share_out(work, pieces(tokens.indptr[part[0] : part[1] + 1], n_threads), n_threads)


def init(
    tokens: Tokens,
    n_topics: int,
    seed: int,
    topics: NDArray[np.uint16] | None = None,
) -> ListState:
    """Start a chain from ``topics``, or from random ones, 1 to 65,536 of them."""
    return ListState(random_topics(len(tokens.words), n_topics, seed) if topics is None else topics, seed, 0)


def step(
    state: ListState,
    tokens: Tokens,
    doc_topic_prior: NDArray[np.float64],
    topic_word_prior: float,
    *,
    lists: Lists,
    earlier: NDArray[np.int32] | None = None,
    n_threads: int = 1,
) -> tuple[ListState, Info]:
    """Do one sweep.

    Parameters
    ----------
    state : ListState
        Is left as it was.
    tokens : Tokens
        The documents that the state is about.
    doc_topic_prior : array of shape (n_topics,)
        alpha.
    topic_word_prior : float
        beta.
    lists : Lists
        ``word_lists.empty_lists(tokens, n_topics, earlier)``; is filled anew.
    earlier : array of shape (n_words, width), int32, optional
        The counts of other documents that the chain began with.
    n_threads : int
        Threads; the new state does not depend on it.
    """
    n_topics, topics, key = len(doc_topic_prior), state.topics.copy(), sweep_key(state.seed, state.sweep)
    beta, n_words = topic_word_prior, tokens.n_words
    for part in pairwise(balanced_cuts(tokens.indptr, n_parts(tokens.n_documents, n_topics)).tolist()):
        totals = fill(lists, topics, n_topics, earlier, n_threads)
        known = laws(totals, doc_topic_prior, beta, n_words)
        _draw(tokens, topics, lists, np.float32(beta), known, n_topics, key, part, n_threads)
    n_moved = int(np.count_nonzero(topics != state.topics))
    return ListState(topics, state.seed, state.sweep + 1), Info(n_moved)


def word_topic(
    state: ListState,
    tokens: Tokens,
    n_topics: int,
    *,
    lists: Lists,
    earlier: NDArray[np.int32] | None = None,
    n_threads: int = 1,
) -> NDArray[np.int32]:
    """Count each word in each topic: (n_words, width), int32."""
    return count_topics(tokens, state.topics, n_topics, n_threads, order=lists.order, earlier=earlier)
