r"""Tables with padded rows, and the two inner loops of inference on them in vectors of eight doubles.

All inference for one document with words :math:`w_i`, counts :math:`c_i` and topic weights :math:`\theta`
repeats

.. math:: q_i = c_i / \sum_k \theta_k B_{w_i k}, \qquad g_k = \sum_i q_i B_{w_i k},

a sum over topics and then one over words. A compiler may not turn a floating-point sum into vector code,
because that changes the order of the additions; with fast-math it may, and then the result depends on the
compiler and the machine. Here the order is *written down*: topic k is added in lane k mod 8, the lanes are
added pairwise, and words follow one another. Multiplications and additions stay separate, never fused.
So the vectors cost no reproducibility: any processor that rounds as IEEE 754 asks gives the same bits.

Rows are padded with zeros to whole vectors. A word with count 0 adds exactly 0, so that documents are padded
to a multiple of four words; they are taken eight, in the end four, at a time.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numpy.typing import NDArray

from discreet._kernels import emitted, kernel
from discreet.lda.emitted import Vectors

__all__ = [
    "FEW",
    "FLOOR",
    "LANES",
    "TINY",
    "aligned",
    "dirichlet_step",
    "gather",
    "mode_step",
    "on_line",
    "pad_table",
]

LANES = 8
#: Documents are padded to a multiple of this many words.
FEW = 4
#: Keeps quotients finite where a word has probability 0 under every topic; 2**31 / TINY does not overflow.
TINY = 1e-280
#: Smallest weight of a topic in a document: numbers near 1e-308 would be slow, and a topic at 0 could not return.
FLOOR = 1e-100


_I64 = ir.IntType(64)
_I32 = ir.IntType(32)
_F64 = ir.DoubleType()
_VECTORS = Vectors(_F64, LANES, align=8)
_VECTOR, _load, _store, _splat = _VECTORS.kind, _VECTORS.load, _VECTORS.store, _VECTORS.splat


def aligned(shape: tuple[int, ...], dtype: Any = np.float64) -> NDArray[Any]:
    """Return zeros whose first entry starts a cache line."""
    size = int(np.prod(shape)) * np.dtype(dtype).itemsize
    raw = np.zeros(size + 64, np.uint8)
    start = -raw.ctypes.data % 64
    return raw[start : start + size].view(dtype).reshape(shape)


def pad_table(topic_word: NDArray[np.float64]) -> NDArray[np.float64]:
    """Turn (n_topics, n_words) into the kernels' table: (n_words, n_topics padded with zeros to whole vectors)."""
    n_topics, n_words = topic_word.shape
    table = aligned((n_words, -(-n_topics // LANES) * LANES))
    table[:, :n_topics] = topic_word.T
    return table


def _halves(builder: Any, vector: Any, width: int) -> tuple[Any, Any]:
    """The lower and the upper half of the first ``width`` lanes."""
    undefined = ir.Constant(vector.type, ir.Undefined)
    kind = ir.VectorType(_I32, width // 2)
    lower = ir.Constant(kind, list(range(width // 2)))
    upper = ir.Constant(kind, list(range(width // 2, width)))
    return builder.shuffle_vector(vector, undefined, lower), builder.shuffle_vector(vector, undefined, upper)


def _add_lanes(builder: Any, vector: Any) -> Any:
    width = LANES
    while width > 1:
        vector = builder.fadd(*_halves(builder, vector, width))
        width //= 2
    return builder.extract_element(vector, ir.Constant(_I32, 0))


def _zeros(builder: Any) -> Any:
    place = cgutils.alloca_once(builder, _VECTOR)
    builder.store(ir.Constant(_VECTOR, [0.0] * LANES), place)
    return place


def _gather_emitter(n_at_a_time: int) -> Callable[..., Any]:
    """Make the step on this many words; more at a time load the weights less often."""

    def gather(
        typingctx: Any, weights: Any, out: Any, rows: Any, counts: Any, quotients: Any, n_blocks: Any
    ) -> Any:
        signature = types.void(*[types.int64] * 6)

        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            weights, out, rows, counts, quotients, n_blocks = args

            def entry(address: Any, i: int, kind: Any) -> Any:
                at = builder.add(address, ir.Constant(_I64, 8 * i))
                return builder.inttoptr(at, kind.as_pointer())

            row = [builder.load(entry(rows, i, _I64)) for i in range(n_at_a_time)]
            sums = [_zeros(builder) for _ in row]
            with cgutils.for_range(builder, n_blocks, intp=_I64) as loop:
                weight = _load(builder, weights, loop.index)
                for address, total in zip(row, sums, strict=True):
                    product = builder.fmul(weight, _load(builder, address, loop.index))
                    builder.store(builder.fadd(builder.load(total), product), total)
            spread: list[Any] = []
            for i, total in enumerate(sums):
                likelihood = _add_lanes(builder, builder.load(total))
                likelihood = builder.fadd(likelihood, ir.Constant(_F64, TINY))
                quotient = builder.fdiv(builder.load(entry(counts, i, _F64)), likelihood)
                builder.store(quotient, entry(quotients, i, _F64))
                spread.append(_splat(builder, quotient))
            with cgutils.for_range(builder, n_blocks, intp=_I64) as loop:
                added = _load(builder, out, loop.index)
                for address, quotient in zip(row, spread, strict=True):
                    added = builder.fadd(added, builder.fmul(quotient, _load(builder, address, loop.index)))
                _store(builder, added, out, loop.index)
            return context.get_dummy_value()

        return signature, generate

    return gather


_gather_few = emitted(_gather_emitter(FEW))
_gather_many = emitted(_gather_emitter(2 * FEW))


@kernel(error_model="numpy", inline="always")
def gather(
    weights: int, out: int, rows: int, counts: int, quotients: int, n_padded: int, n_blocks: int
) -> None:
    """Set quotients[i] = counts[i] / (weights . row i), then add sum_i quotients[i] * row i to out.

    Parameters
    ----------
    weights, out : int
        Addresses of ``n_blocks`` vectors.
    rows : int
        Address of ``n_padded`` addresses of rows.
    counts, quotients : int
        Addresses of ``n_padded`` doubles.
    n_padded : int
        Words, a multiple of ``FEW``; see :func:`load_document`.
    n_blocks : int
        Vectors in a row.
    """
    at = 0
    while at + 2 * FEW <= n_padded:
        _gather_many(weights, out, rows + 8 * at, counts + 8 * at, quotients + 8 * at, n_blocks)
        at += 2 * FEW
    if at < n_padded:
        _gather_few(weights, out, rows + 8 * at, counts + 8 * at, quotients + 8 * at, n_blocks)


@emitted
def dirichlet_step(typingctx: Any, prior: Any, weights: Any, gathered: Any, gamma: Any, n_blocks: Any) -> Any:
    """Set gamma = prior + weights * gathered, and gathered = 0; return the sum of the absolute changes."""
    signature = types.float64(*[types.int64] * 5)

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        prior, weights, gathered, gamma, n_blocks = args
        total = _zeros(builder)
        with cgutils.for_range(builder, n_blocks, intp=_I64) as loop:
            product = builder.fmul(_load(builder, weights, loop.index), _load(builder, gathered, loop.index))
            new = builder.fadd(_load(builder, prior, loop.index), product)
            old = _load(builder, gamma, loop.index)
            rise, fall = builder.fsub(new, old), builder.fsub(old, new)
            change = builder.select(builder.fcmp_ordered(">", rise, fall), rise, fall)
            builder.store(builder.fadd(builder.load(total), change), total)
            _store(builder, new, gamma, loop.index)
            _store(builder, ir.Constant(_VECTOR, [0.0] * LANES), gathered, loop.index)
        return _add_lanes(builder, builder.load(total))

    return signature, generate


@emitted
def mode_step(
    typingctx: Any, prior: Any, gathered: Any, theta: Any, scale: Any, slack: Any, n_blocks: Any
) -> Any:
    """Set theta = (prior + theta * gathered) * scale, at least FLOOR, and gathered = 0.

    Returns the largest of theta_new - slack * theta_old over topics: not positive where no topic grew by a
    factor over ``slack``.
    """
    signature = types.float64(
        types.int64, types.int64, types.int64, types.float64, types.float64, types.int64
    )

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        prior, gathered, theta, scale, slack, n_blocks = args
        largest = cgutils.alloca_once(builder, _VECTOR)
        builder.store(ir.Constant(_VECTOR, [-1e300] * LANES), largest)
        scales, slacks = _splat(builder, scale), _splat(builder, slack)
        floor = ir.Constant(_VECTOR, [FLOOR] * LANES)
        with cgutils.for_range(builder, n_blocks, intp=_I64) as loop:
            old = _load(builder, theta, loop.index)
            grown = builder.fmul(old, _load(builder, gathered, loop.index))
            new = builder.fmul(builder.fadd(_load(builder, prior, loop.index), grown), scales)
            new = builder.select(builder.fcmp_ordered(">", new, floor), new, floor)
            excess = builder.fsub(new, builder.fmul(slacks, old))
            most = builder.load(largest)
            builder.store(builder.select(builder.fcmp_ordered(">", excess, most), excess, most), largest)
            _store(builder, new, theta, loop.index)
            _store(builder, ir.Constant(_VECTOR, [0.0] * LANES), gathered, loop.index)
        vector, width = builder.load(largest), LANES
        while width > 1:
            lower, upper = _halves(builder, vector, width)
            vector = builder.select(builder.fcmp_ordered(">", lower, upper), lower, upper)
            width //= 2
        return builder.extract_element(vector, ir.Constant(_I32, 0))

    return signature, generate


@kernel(error_model="numpy")
def on_line(size: int) -> NDArray[np.float64]:
    """Return zeros whose first entry starts a cache line: vectors that cross one are slow to store and load again."""
    raw = np.zeros(size + LANES, np.float64)
    start = (-raw.ctypes.data % 64) // 8
    return raw[start : start + size]


@kernel(error_model="numpy")
def load_document(
    table: NDArray[Any],
    words: NDArray[np.int32],
    counts: NDArray[np.float64],
    start: int,
    end: int,
    rows: NDArray[np.int64],
    padded: NDArray[Any],
) -> int:
    """Put addresses of the table's rows and the counts of entries start to end in place, double or single precision.

    Returns the number of words with padding: words with count 0, up to a multiple of ``FEW``.
    """
    base, width = table.ctypes.data, table.shape[1] * table.itemsize
    n = end - start
    n_padded = (n + FEW - 1) // FEW * FEW
    for i in range(n):
        rows[i] = base + words[start + i] * width
        padded[i] = counts[start + i]
    for i in range(n, n_padded):
        rows[i] = rows[n - 1]
        padded[i] = 0.0
    return n_padded
