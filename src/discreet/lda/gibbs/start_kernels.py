r"""Compiled heart of the fast start: expected counts of a batch of documents, and adding them to the table.

A piece of documents is worked on by one thread from a table that stays as it is; then each row of the table is changed
by one thread, document after document. So nothing depends on the number of threads.

Two steps on the words of a document, four at a time, are written in vectors of 16 floats. With weights :math:`a_k` of
the document's topics, rows :math:`t_{wk}` of the table and counts :math:`c_w`,

.. math:: \text{plain:}\quad q_w = c_w \Big/ \sum_k a_k t_{wk}, \qquad g_k \mathrel{+}= q_w t_{wk},

.. math:: \text{left out:}\quad y_{wk} = \max\Big(a_k - \frac{t_{wk} b_k}{\sum_j a_j t_{wj}}, c_k\Big)\, t_{wk},
    \qquad y_{wk} \mathrel{\times}= c_w \Big/ \sum_j y_{wj}, \qquad g_k \mathrel{+}= y_{wk}.

The order of additions is written down: topics lane by lane, then halves of lanes onto halves, words one after another;
products and sums are never fused: the same bytes on any processor. Documents are padded to a multiple of ``FEW``
words; a word with count 0 adds exactly 0.
"""

from math import sqrt
from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir
from numba import types, uint64
from numba.core import cgutils
from numpy.typing import NDArray

from discreet._base.kernels import emitted, kernel
from discreet.lda.emitted import (
    F32,
    FEW,
    I32,
    I64,
    Vectors,
    add_lanes,
    add_to_sum,
    address_of,
    blocks_of,
    entry_at,
    load_document,
    rows_of,
    zero_sums,
)
from discreet.lda.gibbs.draw import LANES, draw, mix, stream_at

#: Rows of the scratch space that inferring documents takes.
WORKSPACE = 8 + FEW
#: Fewer expected tokens of a topic are not kept from one pass to the next, but begin at 0.
_LEAST_KEPT = 0.02

_VECTORS = Vectors(F32, LANES, align=64)


class Entries(NamedTuple):
    """Documents as CSR."""

    indptr: NDArray[np.int64]
    words: NDArray[np.int32]
    counts: NDArray[np.float32]


class Kept(NamedTuple):
    """What is known of documents; is renewed **in place**."""

    #: Where documents begin in what follows, (n_documents + 1,); how many topics of each are known, (n_documents,).
    starts: NDArray[np.int64]
    sizes: NDArray[np.int32]
    #: Topics of documents and their expected tokens.
    topics: NDArray[np.uint16]
    values: NDArray[np.float32]


class Pass(NamedTuple):
    """One pass over the documents in batches: what is read, and what is changed **in place**."""

    entries: Entries
    #: (n_documents,): documents in the order of this pass.
    order: NDArray[np.int64]
    #: (n_documents + 1,): in that order, where a document's rows of ``expected`` begin, from the first document on.
    rows_before: NDArray[np.int64]
    #: (n_batches, n_pieces + 1): where the pieces of batches begin and end in ``order``.
    cuts: NDArray[np.int64]
    #: (n_batches,): tokens of each batch.
    sizes: NDArray[np.int64]
    #: Tokens of all documents; topics without padding.
    n_tokens: int
    n_topics: int
    #: (n_words, width) float32: counts of words in topics, divided by the factor; zeros in the padding; aligned.
    table: NDArray[np.float32]
    #: (width,) float32, zeros in the padding: alpha.
    prior: NDArray[np.float32]
    beta: float
    #: Plain steps of a document; steps with tokens left out, at least one; whether it begins with equal topics.
    n_plain: int
    n_out: int
    equal: bool
    #: Batches after which steps have become smaller; where the factor of the table falls below, it is multiplied out.
    tau: float
    least_factor: float
    kept: Kept
    #: (n_documents + 1,): where documents' tokens begin; (n_tokens,) uint16, receives a draw for each; or empty.
    token_indptr: NDArray[np.int64]
    drawn: NDArray[np.uint16]
    #: Of the draws.
    key: np.uint64
    #: (n_rows, width) float32: receives the expected counts of each entry of a batch; aligned.
    expected: NDArray[np.float32]
    #: (n_pieces, width) float64: receives the expected tokens of topics in each piece.
    sums: NDArray[np.float64]


def _likelihoods(builder: Any, weights: Any, rows: list[Any], shifts: Any, n_blocks: Any) -> Any:
    """Sum weights times row over topics, for each row: a vector of as many numbers."""
    sums = zero_sums(builder, _VECTORS, FEW)
    with cgutils.for_range(builder, n_blocks, intp=I64) as loop:
        weight = _VECTORS.load(builder, weights, loop.index)
        for row, total in zip(rows, sums, strict=True):
            entry = builder.fadd(_VECTORS.load(builder, row, loop.index), shifts)
            add_to_sum(builder, total, builder.fmul(weight, entry))
    return add_lanes(builder, [builder.load(total) for total in sums])


def _spread(builder: Any, numbers: Any) -> list[Any]:
    """Put each number of a vector into all lanes of one of its own."""
    return [
        _VECTORS.splat(builder, builder.extract_element(numbers, ir.Constant(I32, i))) for i in range(FEW)
    ]


def _quotients(builder: Any, counts: Any, at: Any, divisors: Any) -> list[Any]:
    """Divide each count, and put the quotient into all lanes."""
    place = entry_at(builder, builder.add(counts, builder.shl(at, ir.Constant(I64, 2))), 0, F32)
    counted = builder.load(builder.bitcast(place, divisors.type.as_pointer()))
    counted.align = 4
    return _spread(builder, builder.fdiv(counted, divisors))


@emitted
def plain(
    typingctx: Any, weights: Any, gathered: Any, table: Any, words: Any, counts: Any, at: Any, shift: Any
) -> Any:
    """``plain(weights, gathered, table, words, counts, at, shift)`` adds four words' expected counts to ``gathered``.

    Divided by the weights; words and counts number ``at`` and after, ``shift`` is added to each entry of their rows.
    """
    signature = types.void(weights, gathered, table, words, counts, types.int64, types.float32)

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        weights, gathered, counts = (address_of(context, builder, signature, args, i) for i in (0, 1, 4))
        at, shift = args[5:]
        rows = rows_of(context, builder, signature, args, 2, at, FEW)
        n_blocks = blocks_of(context, builder, signature, args)
        shifts = _VECTORS.splat(builder, shift)
        likelihoods = _likelihoods(builder, weights, rows, shifts, n_blocks)
        quotients = _quotients(builder, counts, at, likelihoods)
        with cgutils.for_range(builder, n_blocks, intp=I64) as loop:
            added = _VECTORS.load(builder, gathered, loop.index)
            for row, quotient in zip(rows, quotients, strict=True):
                entry = builder.fadd(_VECTORS.load(builder, row, loop.index), shifts)
                added = builder.fadd(added, builder.fmul(quotient, entry))
            _VECTORS.store(builder, added, gathered, loop.index)
        return context.get_dummy_value()

    return signature, generate


@emitted
def leave_out(
    typingctx: Any,
    weights: Any,
    own: Any,
    least: Any,
    gathered: Any,
    table: Any,
    words: Any,
    counts: Any,
    at: Any,
    shift: Any,
    expected: Any,
    first: Any,
) -> Any:
    """``leave_out(weights, own, least, gathered, table, words, counts, at, shift, expected, first)`` adds four words.

    Expected counts, each token left out of its own document; written into ``expected`` from row ``first`` on, too.
    """
    signature = types.void(
        *(weights, own, least, gathered, table, words, counts),
        *(types.int64, types.float32, expected, types.int64),
    )

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        weights, own, least, gathered, counts = (
            address_of(context, builder, signature, args, i) for i in (0, 1, 2, 3, 6)
        )
        at, shift, first = args[7], args[8], args[10]
        rows = rows_of(context, builder, signature, args, 4, at, FEW)
        n_blocks = blocks_of(context, builder, signature, args)
        shifts, length = _VECTORS.splat(builder, shift), builder.shl(n_blocks, ir.Constant(I64, 6))
        written = [address_of(context, builder, signature, args, 9, row=first)]
        for _ in range(FEW - 1):
            written.append(builder.add(written[-1], length))
        likelihoods = _likelihoods(builder, weights, rows, shifts, n_blocks)
        spread = _spread(builder, builder.fdiv(ir.Constant(likelihoods.type, [1.0] * FEW), likelihoods))
        sums = zero_sums(builder, _VECTORS, FEW)
        with cgutils.for_range(builder, n_blocks, intp=I64) as loop:
            weight, share, floor = (
                _VECTORS.load(builder, address, loop.index) for address in (weights, own, least)
            )
            for row, total, quotient, to in zip(rows, sums, spread, written, strict=True):
                entry = builder.fadd(_VECTORS.load(builder, row, loop.index), shifts)
                rest = builder.fsub(weight, builder.fmul(builder.fmul(entry, quotient), share))
                rest = builder.select(builder.fcmp_ordered(">", rest, floor), rest, floor)
                mass = builder.fmul(rest, entry)
                _VECTORS.store(builder, mass, to, loop.index)
                add_to_sum(builder, total, mass)
        masses = add_lanes(builder, [builder.load(total) for total in sums])
        quotients = _quotients(builder, counts, at, masses)
        with cgutils.for_range(builder, n_blocks, intp=I64) as loop:
            added = _VECTORS.load(builder, gathered, loop.index)
            for quotient, to in zip(quotients, written, strict=True):
                mass = builder.fmul(_VECTORS.load(builder, to, loop.index), quotient)
                _VECTORS.store(builder, mass, to, loop.index)
                added = builder.fadd(added, mass)
            _VECTORS.store(builder, added, gathered, loop.index)
        return context.get_dummy_value()

    return signature, generate


@kernel()
def _keep(expected: Any, n_topics: int, most: int, topics: Any, values: Any) -> int:
    """Write down the topics with enough expected tokens, or twice or four times as many where room is short."""
    least = _LEAST_KEPT
    while True:
        n = 0
        for k in range(n_topics):
            if float(expected[k]) >= least:
                if n < most:
                    topics[n] = k
                    values[n] = expected[k]
                n += 1
        if n <= most:
            return n
        least *= 2.0


@kernel(error_model="numpy")
def infer_documents(given: Any, b: int, piece: int, scale: Any, shift: Any, workspace: Any) -> None:
    """Infer the documents of a piece of batch b.

    ``scale``: (width,) float32, what a topic's column of the table is multiplied by, zeros in the padding; ``shift``:
    beta, divided by the factor; ``workspace``: (WORKSPACE, width) float32, scratch space, aligned.
    """
    indptr, order, cuts = given.entries.indptr, given.order, given.cuts[b]
    kept, n_topics = given.kept, given.n_topics
    table = given.table
    width, base, alpha = table.shape[1], given.rows_before[cuts[0]], given.prior
    known, weights, own, least = workspace[0], workspace[1], workspace[2], workspace[3]
    gathered, ones, zeros, sums = workspace[4], workspace[5], workspace[6], workspace[7]
    zero = np.float32(0)
    longest = 0
    for q in range(cuts[piece], cuts[piece + 1]):
        longest = max(longest, indptr[order[q] + 1] - indptr[order[q]])
    words, padded = np.empty(longest + FEW, np.int64), np.empty(longest + FEW, np.float32)
    for k in range(width):
        least[k] = alpha[k] * scale[k]
        ones[k] = np.float32(1)
        zeros[k] = zero
        given.sums[piece, k] = 0.0
    for q in range(cuts[piece], cuts[piece + 1]):
        d = order[q]
        n = indptr[d + 1] - indptr[d]
        if n == 0:
            continue
        n_padded = load_document(given.entries, d, words, padded)
        length = padded[:n].sum()
        for k in range(width):
            known[k] = length / np.float32(n_topics) if given.equal and k < n_topics else zero
        if not given.equal:
            for j in range(kept.starts[d], kept.starts[d] + kept.sizes[d]):
                known[kept.topics[j]] = kept.values[j]
        for _ in range(given.n_plain):
            for k in range(width):
                weights[k] = (known[k] + alpha[k]) * scale[k]
                gathered[k] = zero
            for i in range(0, n_padded, FEW):
                plain(weights, gathered, table, words, padded, i, shift)
            for k in range(width):
                known[k] = weights[k] * gathered[k]
        row = given.rows_before[q] - base
        for step in range(given.n_out):
            for k in range(width):
                weights[k] = (known[k] + alpha[k]) * scale[k]
                own[k] = weights[k] * scale[k]
                gathered[k] = zero
            for i in range(0, n_padded, FEW):
                if step + 1 == given.n_out:
                    leave_out(
                        weights, own, least, gathered, table, words, padded, i, shift, given.expected, row + i
                    )
                else:
                    leave_out(weights, own, least, gathered, table, words, padded, i, shift, workspace, 8)
            for k in range(width):
                known[k] = gathered[k]
        for k in range(width):
            given.sums[piece, k] += known[k]
        room = slice(kept.starts[d], kept.starts[d + 1])
        kept.sizes[d] = _keep(known, n_topics, room.stop - room.start, kept.topics[room], kept.values[room])
        if len(given.drawn) > 0:
            first = given.token_indptr[d]
            stream, at = mix(given.key ^ mix(d)), first
            for i in range(n):
                for _ in range(int(padded[i])):
                    bits = stream_at(stream, at - first)
                    k = draw(ones, zeros, given.expected, uint64(row + i), bits, sums, width // LANES, ())
                    given.drawn[at] = min(k, n_topics - 1)  # a number that is not finite would lead past it
                    at += 1


@kernel(error_model="numpy")
def add_rows(given: Any, b: int, factor: Any, first_word: int, last_word: int) -> None:
    """Add a batch's expected counts, times ``factor``, to the rows of words ``first_word`` to ``last_word``."""
    indptr, words, cuts, table = given.entries.indptr, given.entries.words, given.cuts[b], given.table
    for q in range(cuts[0], cuts[-1]):
        d = given.order[q]
        row = given.rows_before[q] - given.rows_before[cuts[0]]
        for i in range(indptr[d], indptr[d + 1]):
            w = words[i]
            if first_word <= w < last_word:
                for k in range(table.shape[1]):
                    table[w, k] += given.expected[row, k] * factor
            row += 1


@kernel(error_model="numpy")
def set_laws(given: Any, factor: float, totals: Any, scale: Any) -> Any:
    """Set what topics' columns are multiplied by; return beta divided by the factor."""
    n_words = len(given.table)
    for k in range(given.n_topics):
        scale[k] = n_words * factor / (totals[k] + n_words * given.beta)
    return np.float32(given.beta / factor)


@kernel(error_model="numpy")
def add_totals(given: Any, b: int, n_done: int, totals: Any) -> Any:
    """Move the totals of topics towards those of batch b; return what is left of the old, and the share of the new."""
    fall = (given.tau + 1) / (given.tau + 1 + n_done)
    rho = 0.5 * sqrt(fall * sqrt(fall))
    up = rho * given.n_tokens / given.sizes[b]
    for k in range(len(totals)):
        added = given.sums[0, k]
        for i in range(1, len(given.sums)):
            added += given.sums[i, k]
        totals[k] = totals[k] * (1 - rho) + added * up
    return 1 - rho, up


@kernel(error_model="numpy")
def take_batches(given: Any, n_done: int, factor: float, totals: Any, scale: Any, workspace: Any) -> float:
    """Take in the batches of a pass, one after another; return the factor after them.

    ``factor``: what the table is multiplied by; ``totals``: (width,) float64, tokens of topics, is changed; ``scale``
    and ``workspace`` as for :func:`infer_documents`.
    """
    n_words = len(given.table)
    for b in range(len(given.cuts)):
        shift = set_laws(given, factor, totals, scale)
        for piece in range(len(given.sums)):
            infer_documents(given, b, piece, scale, shift, workspace)
        left, up = add_totals(given, b, n_done + b, totals)
        factor *= left
        add_rows(given, b, np.float32(up / factor), 0, n_words)
        if factor < given.least_factor:
            for w in range(n_words):
                for k in range(given.table.shape[1]):
                    given.table[w, k] *= np.float32(factor)
            factor = 1.0
    return factor
