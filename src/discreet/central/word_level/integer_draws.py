r"""Topic draws in integers: every topic has exactly the probability that its weight says.

A token of word w in document d gets topic k with probability

.. math:: p_k = \frac{t_{wk}\, a_{dk}}{\sum_j t_{wj}\, a_{dj}},

t the table, a the document's weights (its counts times :math:`2^{10}`, the token's own left out, plus the prior),
both whole numbers. Products and their sum S are computed in 64-bit integers (:math:`t < 2^{30}`,
:math:`\sum_k a_{dk} < 2^{32}`, so :math:`S < 2^{62}`), and the topic is the one whose interval of the prefix sums
holds :math:`\lfloor u S \rfloor`, u uniform on :math:`[0, 1)`.

How exact
---------
No floating point takes part. u is read digit by digit: 64 bits first, and where the rest could still change
:math:`\lfloor u S \rfloor` (probability :math:`S / 2^{64}`) the document is drawn again with the same 64 bits and
64 more. With 128 bits each topic's probability is within :math:`2^{-128}` of :math:`p_k`; and
:math:`p_k \ge 1/S > 2^{-62}`, so log-probabilities are off by less than :math:`2^{-65}`. That is what a proof has to
allow for, and :func:`discreet.central.word_level.cost.range_of` does.
"""

import math
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet._kernels import kernel
from discreet._threads import pieces, share_out
from discreet.errors import CorpusError, Parameter, ParameterError
from discreet.lda.gibbs.state import Tokens, padded
from discreet.privacy.noise.stream import SecureStream, WordBlocks

__all__ = ["COUNT_UNIT", "check_lengths", "draw_topics", "integer_prior", "integer_table", "integer_weights"]

#: Weight of one token in a document; priors are multiples of 1 / COUNT_UNIT.
COUNT_UNIT = 1024
_TOP = 2**30
_MOST_WEIGHT = 2**32 - 1
_LANES = 16
_LOW = np.uint64(0xFFFFFFFF)
_HALF = np.uint64(32)


def integer_prior(doc_topic_prior: float, n_topics: int) -> int:
    """Return the prior in units of a 1/1024 token, at least one unit."""
    prior = max(1, round(doc_topic_prior * COUNT_UNIT))
    if prior * n_topics > _MOST_WEIGHT // 2:
        raise ParameterError(
            Parameter("doc_topic_prior"),
            f" must be at most {_MOST_WEIGHT // 2 // COUNT_UNIT // n_topics} for {n_topics} topics, "
            f"but is {doc_topic_prior}.",
        )
    return prior


def check_lengths(indptr: NDArray[np.int64], prior: int, n_topics: int) -> None:
    """Refuse documents whose weights would leave 32 bits: about two million tokens. Lengths are public."""
    longest = (_MOST_WEIGHT // 2 - prior * n_topics) // COUNT_UNIT
    lengths = np.diff(indptr)
    if len(lengths) and lengths.max() > longest:
        raise CorpusError(
            f"row {int(lengths.argmax())} has {int(lengths.max())} tokens, but a document may have {longest} at "
            "most: split it."
        )


def integer_table(counts: NDArray[Any], topic_word_prior: float, clip: float | None) -> NDArray[np.uint32]:
    """Turn released counts into the weights of draws: whole numbers in proportion to (s + beta) / sum of (s + beta).

    Parameters
    ----------
    counts : array of shape (n_words, n_topics)
        From 0 to ``clip``.
    topic_word_prior : float
        beta.
    clip : float or None
        Largest count; then no two entries of a topic have a ratio above 1 + clip / beta, exactly.

    Returns
    -------
    array of shape (n_words, width), uint32
        From 1 to 2**30, zeros in the padding.
    """
    n_words, n_topics = counts.shape
    table = np.zeros((n_words, padded(n_topics)), np.uint32)
    phi = counts + topic_word_prior
    scale = 1 / phi.sum(0)
    scale *= _TOP / (phi.max(0) * scale).max()
    least = np.maximum(np.floor(topic_word_prior * scale), 1)
    most = np.full(n_topics, float(_TOP))
    if clip is not None:
        ratio = 1 + Fraction(clip) / Fraction(topic_word_prior)
        # Exact: the range of a draw is proved from this bound, not from the division above.
        most = np.array([float(min(_TOP, math.floor(int(low) * ratio))) for low in least])
    table[:, :n_topics] = np.clip(np.floor(phi * scale), least, most)
    return table


def integer_weights(doc_counts: NDArray[np.float64], doc_topic_prior: float) -> NDArray[np.uint32]:
    """Turn released counts of topics in documents into weights: cut at 0, plus prior, in units of 1/1024 token.

    Parameters
    ----------
    doc_counts : array of shape (n_documents, n_topics)
        Noisy.
    doc_topic_prior : float

    Returns
    -------
    array of shape (n_documents, width), uint32
        Zeros in the padding.
    """
    n_topics = doc_counts.shape[1]
    weights = np.zeros((len(doc_counts), padded(n_topics)), np.uint32)
    units = np.rint(np.maximum(doc_counts, 0) * COUNT_UNIT) + integer_prior(doc_topic_prior, n_topics)
    weights[:, :n_topics] = np.minimum(units, _MOST_WEIGHT // n_topics)
    return weights


@kernel()
def _draw(
    indptr: Any,
    words: Any,
    topics: Any,
    table: Any,
    prior: Any,
    fixed: Any,
    bits: Any,
    more: Any,
    first: int,
    last: int,
    flags: Any,
) -> None:
    """Draw documents ``first`` to ``last``; flag those that need more digits, and leave them as they were.

    ``fixed`` of shape (n_documents, width) replaces the documents' counts, unless it is empty.
    """
    width = table.shape[1]
    n_chunks = width // _LANES
    counts = np.zeros(width, np.uint32)
    sums = np.zeros(n_chunks, np.uint64)
    unit = np.uint32(COUNT_UNIT)
    one = np.uint64(1)
    live = fixed.shape[0] == 0
    given = len(more) > 0
    for d in range(first, last):
        start, end = indptr[d], indptr[d + 1]
        before = topics[start:end].copy()
        if live:
            counts[:] = prior
            for i in range(start, end):
                counts[topics[i]] += unit
        else:
            counts[:] = fixed[d]
        for i in range(start, end):
            row = table[words[i]]
            if live:
                counts[topics[i]] -= unit
            total = np.uint64(0)
            for c in range(n_chunks):
                part = np.uint64(0)
                for k in range(c * _LANES, (c + 1) * _LANES):
                    part += np.uint64(row[k]) * np.uint64(counts[k])
                sums[c] = part
                total += part
            high, low = _product(bits[i], total)
            if low > ~total:  # low + total would carry: later digits decide
                if not given:
                    flags[d] = 1
                    topics[start:end] = before
                    break
                further, _ = _product(more[i - indptr[first]], total)
                if low + further < low:
                    high += one
            c = 0
            while high >= sums[c]:
                high -= sums[c]
                c += 1
            # Count prefix sums up to the target instead of stopping at it: no branch to mispredict.
            part = np.uint64(0)
            k = c * _LANES
            for j in range(c * _LANES, (c + 1) * _LANES):
                part += np.uint64(row[j]) * np.uint64(counts[j])
                k += part <= high
            if live:
                counts[k] += unit
            topics[i] = k


@kernel(inline="always")
def _product(x: Any, y: Any) -> Any:
    """Return the upper and the lower 64 bits of a product."""
    x0, x1 = x & _LOW, x >> _HALF
    y0, y1 = y & _LOW, y >> _HALF
    low = x0 * y0
    middle = x1 * y0 + (low >> _HALF)
    other = x0 * y1 + (middle & _LOW)
    return x1 * y1 + (middle >> _HALF) + (other >> _HALF), (other << _HALF) | (low & _LOW)


def _words(source: WordBlocks, block: int, n: int) -> NDArray[np.uint64]:
    """Return the first n words of 64 bits of a block, without a copy."""
    return source.read(block, 0, 0, 2 * n).view(np.uint64)


_NONE = np.empty(0, np.uint64)
_NO_ROWS = np.empty((0, 1), np.uint32)


def draw_topics(
    tokens: Tokens,
    topics: NDArray[np.uint16],
    table: NDArray[np.uint32],
    n_topics: int,
    prior: int,
    stream: SecureStream,
    *,
    doc_weights: NDArray[np.uint32] | None = None,
    n_threads: int = 1,
) -> NDArray[np.uint16]:
    """Draw every token's topic once, document by document, from a table that stays as it is.

    Parameters
    ----------
    tokens : Tokens
        In an order that no word decides (:func:`discreet.central.word_level.arranged_tokens.arrange`).
    topics : array of shape (n_tokens,), uint16
        The topics before; not changed.
    table : array of shape (n_words, width), uint32
        As made by :func:`integer_table`.
    n_topics : int
    prior : int
        As made by :func:`integer_prior`.
    stream : SecureStream
        Two keys are taken from it: for a word a token, and for one more in the few documents that need it.
    doc_weights : array of shape (n_documents, width), uint32, optional
        Weights of topics in each document to be used instead of its counts; zeros in the padding.
    n_threads : int
        The topics drawn do not depend on it.
    """
    drawn = topics.copy()
    alpha = np.zeros(table.shape[1], np.uint32)
    alpha[:n_topics] = prior
    fixed = _NO_ROWS if doc_weights is None else doc_weights
    bits = _words(stream.blocks("first digits"), 0, len(drawn))
    flags = np.zeros(tokens.n_documents, np.uint8)

    def draw(piece: tuple[int, int]) -> None:
        first, last = piece
        _draw(tokens.indptr, tokens.words, drawn, table, alpha, fixed, bits, _NONE, first, last, flags)

    share_out(draw, pieces(tokens.indptr, n_threads), n_threads)
    further = stream.blocks("further digits")
    for d in np.flatnonzero(flags).tolist():
        more = _words(further, d, int(tokens.indptr[d + 1] - tokens.indptr[d]))
        _draw(tokens.indptr, tokens.words, drawn, table, alpha, fixed, bits, more, d, d + 1, flags)
    return drawn
