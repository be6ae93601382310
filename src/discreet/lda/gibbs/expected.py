r"""What a chain gives: the mean of its counts over several sweeps, and expected counts of a state.

.. math:: \bar c_{kw} = \frac{1}{|S_k|} \sum_{s \in S_k} c^{(s)}_{kw}

S: every fourth sweep of the last quarter, counted from the last one; of a chain that began near its end, every second
sweep of the last half (every fourth with more than 200 topics), or at longer distances so that about a dozen are
taken. Topics have no fixed number, and a chain on few documents may let two of them change places; a mean over such a
change would be a mixture of both. So a topic whose tokens in a sample are, for more than half, other ones than those
of its mean so far begins its mean anew (:math:`S_k` are the samples since).

A chain that began near its end, and may be short, gives **expected counts** in place of drawn ones: each token counts
in all topics, by the probability that a draw would give them. With the topics of all *other* tokens as they are, token
i, word w of document d, has topic k with probability

.. math:: p_{ik} \propto (n_{dk}^{-i} + \alpha_k) \frac{c_{wk}^{-i} + \beta}{c_k^{-i} + V \beta},

and :math:`\hat c_{wk} = \sum_i p_{ik}` is what the counts would be on average if each token were drawn once more, from
this state. Its mean over a chain is the mean of the counts (Rao and Blackwell), and varies less: one state in expected
counts is worth several drawn ones, which is what a short chain lacks.

A document has tokens in few topics, so the sum over topics is taken apart: over the document's own topics
:math:`n_{dk} \phi_{wk}`, and :math:`\sum_k \alpha_k \phi_{wk}`, once a word. In the same way counts are gathered,
:math:`\hat c_{wk} = \phi_{wk} \big(\sum_d T_{dw} n_{dk} + \alpha_k \sum_d T_{dw}\big)`, T the sum of the normalisers of
a document's tokens of the word. What a token itself takes away concerns one topic only, and is put right there.

Guarantee: none. The mean does not depend on the number of threads. A word's expected row is the work of one thread, in
a written order, in double precision: the same bytes for any number of threads and any vector unit.

References
----------
Griffiths, Steyvers, "Finding scientific topics", PNAS 2004, doi:10.1073/pnas.0307752101 (several samples of a
chain, and why topics of different samples are not the same topics).
Casella, Robert, "Rao-Blackwellisation of sampling schemes", Biometrika 83 (1996), doi:10.1093/biomet/83.1.81.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from discreet._base.kernels import kernel
from discreet._base.threads import pieces, share_out
from discreet.lda.emitted import aligned
from discreet.lda.gibbs.state import Tokens, WordOrder

#: Sweeps between two samples: neighbours are too much alike to be worth the adding up.
_EVERY = 4
#: Samples come from the last 1 / _PART of the sweeps: before, the chain is still on its way.
_PART = 4
#: The same for a chain that began near its end: at least so many sweeps between two, about so many samples.
_EVERY_NEAR, _PART_NEAR, _MOST_NEAR = 2, 2, 12
#: With more topics expected counts take as long as two sweeps, and are taken half as often: docs/speed.md.
_OFTEN_UP_TO = 200


class MeanCounts(NamedTuple):
    """Sums over the samples so far."""

    #: (n_words, width) int32, or int64 where that many tokens could overflow it; float32 of expected counts.
    sums: NDArray[Any]
    #: (width,) int64: samples in each topic's sum.
    n_samples: NDArray[np.int64]


def is_sampled(sweep: int, n_sweeps: int, *, near: bool = False, n_topics: int = 1) -> bool:
    """Whether the counts after sweep 1, 2, ..., ``n_sweeps`` are a sample. The last ones always are.

    ``near``: the chain began near its end.
    """
    every = _EVERY
    if near:
        least = _EVERY_NEAR if n_topics <= _OFTEN_UP_TO else _EVERY
        every = max(least, n_sweeps // (_PART_NEAR * _MOST_NEAR))
    part = _PART_NEAR if near else _PART
    return part * (n_sweeps - sweep) < n_sweeps and (n_sweeps - sweep) % every == 0


def init(n_words: int, width: int, n_tokens: int, n_sweeps: int, *, expected: bool = False) -> MeanCounts:
    """Begin with no samples.

    For tables of that shape and so many tokens; ``expected``: samples will be expected counts.
    """
    most = n_tokens * (n_sweeps // min(_EVERY, _EVERY_NEAR) + 1)
    kind = np.float32 if expected else np.int32 if most < 2**31 else np.int64
    return MeanCounts(aligned((n_words, width), kind), np.zeros(width, np.int64))


@kernel()
def _compare(word_topic: Any, sums: Any, n_samples: Any, found: Any) -> None:
    """Per topic: tokens in this table, in the sum, and in both, each times the number of samples."""
    for w in range(word_topic.shape[0]):
        for k in range(word_topic.shape[1]):
            here, before = float(word_topic[w, k]) * n_samples[k], float(sums[w, k])
            found[0, k] += here
            found[1, k] += before
            found[2, k] += min(here, before)


@kernel()
def _add(word_topic: Any, keep: Any, sums: Any) -> None:
    for w in range(word_topic.shape[0]):
        for k in range(word_topic.shape[1]):
            sums[w, k] = sums[w, k] * keep[k] + word_topic[w, k]


def step(state: MeanCounts, word_topic: NDArray[Any]) -> MeanCounts:
    """Add a sample, (n_words, width), to the sums, **in place**; topics that became others begin anew."""
    found = np.zeros((3, len(state.n_samples)))
    _compare(word_topic, state.sums, state.n_samples, found)
    keep = 2 * found[2] >= np.maximum(found[0], found[1])
    _add(word_topic, keep.astype(state.sums.dtype), state.sums)
    return MeanCounts(state.sums, state.n_samples * keep + 1)


def mean(state: MeanCounts, n_topics: int) -> NDArray[np.float64]:
    """Return the mean counts without padding, in the usual orientation: (n_topics, n_words), float64."""
    out = np.empty((n_topics, len(state.sums)))
    return np.divide(state.sums[:, :n_topics].T, state.n_samples[:n_topics, None], out=out)


class _Lists(NamedTuple):
    """Topics of documents: which each has, and how many tokens in them."""

    #: (n_documents,): where a document's entries begin, and how many there are.
    starts: NDArray[np.int64]
    sizes: NDArray[np.int32]
    topics: NDArray[np.uint16]
    numbers: NDArray[np.float32]


@kernel()
def _list_topics(indptr: Any, topics: Any, lists: Any, first: int, last: int, counts: Any) -> None:
    """Write down in which topics documents have tokens, and how many."""
    listed = lists.topics
    for d in range(first, last):
        begin = end = lists.starts[d]
        for i in range(indptr[d], indptr[d + 1]):
            k = topics[i]
            if counts[k] == 0:
                listed[end] = k
                end += 1
            counts[k] += 1
        for e in range(begin, end):
            lists.numbers[e] = counts[listed[e]]
            counts[listed[e]] = 0
        lists.sizes[d] = end - begin


@kernel(error_model="numpy")
def _expect(
    order: Any, owner: Any, topics: Any, lists: Any, table: Any, first: int, last: int, out: Any
) -> None:
    """Write the expected counts of words ``first`` to ``last``; ``owner``: (n_tokens,), the document of each token."""
    (indptr, places), (word_topic, alpha, beta, scale, scale_without) = order, table
    starts, sizes, listed, numbers = lists
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
            e, end = starts[d], starts[d] + sizes[d]
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

    ``word_topic``: the counts of the state ``topics``, (n_words, width), int32; the padding of ``out``, float32, of the
    same shape, is left as it is.
    """
    n_topics, n_words = len(doc_topic_prior), tokens.n_words
    lengths = np.diff(tokens.indptr)
    ends = np.cumsum(np.minimum(lengths, n_topics))
    starts, n_entries = ends - np.minimum(lengths, n_topics), int(ends[-1])
    listed, numbers = np.empty(n_entries, np.uint16), np.empty(n_entries, np.float32)
    lists = _Lists(starts, np.empty(tokens.n_documents, np.int32), listed, numbers)
    owner = np.repeat(np.arange(tokens.n_documents, dtype=np.int32), lengths)
    totals = word_topic[:, :n_topics].sum(axis=0, dtype=np.int64)
    empty = n_words * topic_word_prior
    scale, scale_without = n_words / (totals + empty), n_words / np.maximum(totals - 1 + empty, empty)
    table = word_topic, doc_topic_prior, float(topic_word_prior), scale, scale_without

    def write_lists(piece: tuple[int, int]) -> None:
        _list_topics(tokens.indptr, topics, lists, *piece, np.zeros(n_topics, np.int32))

    def expect(piece: tuple[int, int]) -> None:
        _expect(order, owner, topics, lists, table, *piece, out)

    share_out(write_lists, pieces(tokens.indptr, n_threads), n_threads)
    share_out(expect, pieces(order.indptr, n_threads), n_threads)
