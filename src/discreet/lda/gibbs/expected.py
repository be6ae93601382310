r"""Expected counts of a state: each token counts in all topics, by the probability that a draw would give them.

With the topics of all *other* tokens as they are, token i, word w of document d, has topic k with probability

.. math:: p_{ik} \propto (n_{dk}^{-i} + \alpha_k) \frac{c_{wk}^{-i} + \beta}{c_k^{-i} + V \beta},

and :math:`\hat c_{wk} = \sum_i p_{ik}` is what the counts would be on average if each token were drawn once more, from
this state. Its mean over a chain is the mean of the counts (Rao and Blackwell), and varies less: one state in expected
counts is worth several drawn ones, which is what a short chain lacks.

A document has tokens in few topics, so the sum over topics is taken apart: over the document's own topics
:math:`n_{dk} \phi_{wk}`, and :math:`\sum_k \alpha_k \phi_{wk}`, once a word. In the same way counts are gathered,
:math:`\hat c_{wk} = \phi_{wk} \big(\sum_d T_{dw} n_{dk} + \alpha_k \sum_d T_{dw}\big)`, T the sum of the normalisers of
a document's tokens of the word. What a token itself takes away concerns one topic only, and is put right there.

Guarantee: none. A word's row is the work of one thread, in a written order, in double precision: the same bytes for any
number of threads and any vector unit.

Memory: 10 bytes a token, in passing.

Reference
---------
Casella, Robert, "Rao-Blackwellisation of sampling schemes", Biometrika 83 (1996), doi:10.1093/biomet/83.1.81.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet._kernels import kernel
from discreet._threads import pieces, share_out
from discreet.lda.gibbs.state import Tokens, WordOrder

__all__ = ["expected_counts"]


@kernel()
def _list_topics(
    indptr: Any,
    topics: Any,
    first: int,
    last: int,
    counts: Any,
    owner: Any,
    sizes: Any,
    starts: Any,
    listed: Any,
    numbers: Any,
) -> None:
    """Write down in how many topics documents have tokens; with ``starts`` known, in which, and how many."""
    for d in range(first, last):
        n = 0
        for i in range(indptr[d], indptr[d + 1]):
            k = topics[i]
            owner[i] = d
            if counts[k] == 0:
                if len(starts):
                    listed[starts[d] + n] = k
                n += 1
            counts[k] += 1
        sizes[d] = n
        if len(starts):
            for e in range(starts[d], starts[d] + n):
                numbers[e] = counts[listed[e]]
        for i in range(indptr[d], indptr[d + 1]):
            counts[topics[i]] = 0


@kernel(error_model="numpy")
def _expect(
    order: Any,
    tokens: Any,
    documents: Any,
    word_topic: Any,
    alpha: Any,
    beta: float,
    scale: Any,
    scale_without: Any,
    first: int,
    last: int,
    out: Any,
) -> None:
    """Write the expected counts of words ``first`` to ``last``."""
    indptr, places = order
    owner, topics = tokens
    starts, listed, numbers = documents
    n_topics, longest = len(alpha), 0
    for w in range(first, last):
        longest = max(longest, indptr[w + 1] - indptr[w])
    row, has, gathered, own = np.zeros((4, n_topics))
    whose, where = np.empty(longest, np.int32), np.empty(longest, np.uint16)
    for w in range(first, last):
        n = indptr[w + 1] - indptr[w]
        for j in range(n):
            whose[j] = owner[places[indptr[w] + j]]
            where[j] = topics[places[indptr[w] + j]]
        prior = everywhere = 0.0
        for k in range(n_topics):
            row[k] = (word_topic[w, k] + beta) * scale[k]
            prior += alpha[k] * row[k]
            gathered[k] = 0.0
            own[k] = 0.0
        j = 0
        while j < n:
            d = whose[j]
            total, other = prior, 0.0  # two sums: an addition need not wait for the last one
            e, end = starts[d], starts[d + 1]
            while e + 2 <= end:
                total += numbers[e] * row[listed[e]]
                other += numbers[e + 1] * row[listed[e + 1]]
                has[listed[e]] = numbers[e]
                has[listed[e + 1]] = numbers[e + 1]
                e += 2
            if e < end:
                total += numbers[e] * row[listed[e]]
                has[listed[e]] = numbers[e]
            total += other
            shares = 0.0
            while j < n and whose[j] == d:
                z = where[j]
                with_it = (has[z] + alpha[z]) * row[z]
                without = (has[z] - 1.0 + alpha[z]) * (word_topic[w, z] - 1.0 + beta) * scale_without[z]
                share = 1.0 / (total - with_it + without)
                own[z] += (without - with_it) * share
                shares += share
                j += 1
            for e in range(starts[d], end):
                gathered[listed[e]] += shares * numbers[e]
            everywhere += shares
        for k in range(n_topics):
            out[w, k] = max(row[k] * (gathered[k] + alpha[k] * everywhere) + own[k], 0.0)


def expected_counts(
    tokens: Tokens,
    topics: NDArray[np.uint16],
    word_topic: NDArray[np.int32],
    doc_topic_prior: NDArray[np.float64],
    topic_word_prior: float,
    out: NDArray[np.float32],
    *,
    order: WordOrder,
    n_threads: int = 1,
) -> None:
    """Write the expected counts of ``tokens``, each token left out where its own topic is expected.

    Parameters
    ----------
    tokens : Tokens
        The documents.
    topics : array of shape (n_tokens,), uint16
        The state.
    word_topic : array of shape (n_words, width), int32
        Its counts; earlier documents may be among them, and are not in ``out``.
    doc_topic_prior : array of shape (n_topics,)
        alpha.
    topic_word_prior : float
        beta.
    out : array of shape (n_words, width), float32
        Receives the expected counts; the padding is left as it is.
    order : WordOrder
        ``word_order(tokens)``.
    n_threads : int
        Threads; ``out`` does not depend on it.
    """
    n_topics, n_tokens, n_words = len(doc_topic_prior), len(topics), tokens.n_words
    owner, sizes = np.empty(n_tokens, np.int32), np.empty(tokens.n_documents, np.int32)
    starts, listed, numbers = np.empty(0, np.int64), np.empty(0, np.uint16), np.empty(0, np.float32)
    totals = word_topic[:, :n_topics].sum(axis=0, dtype=np.int64)
    empty = n_words * topic_word_prior
    scale, scale_without = n_words / (totals + empty), n_words / np.maximum(totals - 1 + empty, empty)

    def write_lists(piece: tuple[int, int]) -> None:
        counts = np.zeros(n_topics, np.int32)
        _list_topics(tokens.indptr, topics, *piece, counts, owner, sizes, starts, listed, numbers)

    def expect(piece: tuple[int, int]) -> None:
        _expect(
            (order.indptr, order.places),
            (owner, topics),
            (starts, listed, numbers),
            word_topic,
            doc_topic_prior,
            topic_word_prior,
            scale,
            scale_without,
            *piece,
            out,
        )

    of_documents = pieces(tokens.indptr, n_threads)
    share_out(write_lists, of_documents, n_threads)
    starts = np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)])
    listed, numbers = np.empty(starts[-1], np.uint16), np.empty(starts[-1], np.float32)
    share_out(write_lists, of_documents, n_threads)
    share_out(expect, pieces(order.indptr, n_threads), n_threads)
