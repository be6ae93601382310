r"""The two inner loops of inference in single precision, in vectors of sixteen floats: half the memory to read.

As in ``simd`` the order of additions is written down: topic k is added in lane k mod 16, upper halves of lanes are
added onto lower ones, eight words are added up in pairs and pairs of pairs, and eights follow one another; nothing is
fused. The same bytes on any processor.

Quotients of some words are found first, then their rows are added: no division waits for sums of other words, and
rows stay in the nearest cache in between.
"""

from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils

from discreet._kernels import emitted, kernel
from discreet.lda.emitted import Vectors
from discreet.lda.variational.simd import FEW

__all__ = ["LANES", "gather"]

LANES = 16
#: Words whose quotients are found before their rows are added.
_CHUNK = 32
#: Keeps quotients finite where a word has probability 0 under every topic.
_TINY = 1e-30

_I64, _I32, _F32 = ir.IntType(64), ir.IntType(32), ir.FloatType()
_VECTORS = Vectors(_F32, LANES, align=64)
_VECTOR, _load, _store, _splat = _VECTORS.kind, _VECTORS.load, _VECTORS.store, _VECTORS.splat


def _at(builder: Any, address: Any, offset: int, kind: Any) -> Any:
    return builder.inttoptr(builder.add(address, ir.Constant(_I64, offset)), kind.as_pointer())


def _add_all_lanes(builder: Any, vectors: list[Any]) -> Any:
    """Add the lanes of each vector, upper half onto lower half: one vector with a sum for each.

    Two vectors share one addition in the first step, four in the second.
    """
    width = LANES
    while width > 1:
        pairs: list[Any] = list(zip(vectors[::2], vectors[1::2], strict=False)) or [(vectors[0], None)]
        sums: list[Any] = []
        for first, second in pairs:
            starts = range(0, first.type.count * (1 if second is None else 2), width)
            other = ir.Constant(first.type, ir.Undefined) if second is None else second
            kind = ir.VectorType(_I32, len(starts) * width // 2)
            halves = [
                ir.Constant(kind, [start + place + lane for start in starts for lane in range(width // 2)])
                for place in (0, width // 2)
            ]
            sums.append(builder.fadd(*(builder.shuffle_vector(first, other, half) for half in halves)))
        vectors, width = sums, width // 2
    return vectors[0]


def _division(n: int) -> Callable[..., Any]:
    """Make counts / (weights . row) for this many words; more at a time load the weights less often."""
    numbers = ir.VectorType(_F32, n)

    def divide(typingctx: Any, weights: Any, rows: Any, counts: Any, quotients: Any, n_blocks: Any) -> Any:
        signature = types.void(*[types.int64] * 5)

        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            weights, rows, counts, quotients, n_blocks = args
            row = [builder.load(_at(builder, rows, 8 * i, _I64)) for i in range(n)]
            sums = [cgutils.alloca_once(builder, _VECTOR) for _ in row]
            for total in sums:
                builder.store(ir.Constant(_VECTOR, [0.0] * LANES), total)
            with cgutils.for_range(builder, n_blocks, intp=_I64) as loop:
                weight = _load(builder, weights, loop.index)
                for address, total in zip(row, sums, strict=True):
                    product = builder.fmul(weight, _load(builder, address, loop.index))
                    builder.store(builder.fadd(builder.load(total), product), total)
            likelihoods = _add_all_lanes(builder, [builder.load(total) for total in sums])
            likelihoods = builder.fadd(likelihoods, ir.Constant(numbers, [_TINY] * n))
            counted = builder.load(_at(builder, counts, 0, numbers))
            counted.align = 4
            to = _at(builder, quotients, 0, numbers)
            builder.store(builder.fdiv(counted, likelihoods), to).align = 4
            return context.get_dummy_value()

        return signature, generate

    return divide


def _addition(n: int) -> Callable[..., Any]:
    """Make the sum of quotients times rows of this many words."""

    def add(typingctx: Any, out: Any, rows: Any, quotients: Any, n_blocks: Any) -> Any:
        signature = types.void(*[types.int64] * 4)

        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            out, rows, quotients, n_blocks = args
            row = [builder.load(_at(builder, rows, 8 * i, _I64)) for i in range(n)]
            numbers = [builder.load(_at(builder, quotients, 4 * i, _F32)) for i in range(n)]
            spread = [_splat(builder, number) for number in numbers]
            with cgutils.for_range(builder, n_blocks, intp=_I64) as loop:
                parts = [
                    builder.fmul(factor, _load(builder, address, loop.index))
                    for address, factor in zip(row, spread, strict=True)
                ]
                while len(parts) > 1:
                    parts = [builder.fadd(*two) for two in zip(parts[::2], parts[1::2], strict=True)]
                _store(builder, builder.fadd(_load(builder, out, loop.index), parts[0]), out, loop.index)
            return context.get_dummy_value()

        return signature, generate

    return add


_divide_few, _divide_many = emitted(_division(FEW)), emitted(_division(2 * FEW))
_add_few, _add_many = emitted(_addition(FEW)), emitted(_addition(2 * FEW))


@kernel(error_model="numpy", inline="always")
def gather(
    weights: int, out: int, rows: int, counts: int, quotients: int, n_padded: int, n_blocks: int
) -> None:
    """Set quotients[i] = counts[i] / (weights . row i), then add sum_i quotients[i] * row i to out.

    Parameters
    ----------
    weights, out : int
        Addresses of ``n_blocks`` vectors, multiples of 64, as are those of rows.
    rows : int
        Address of ``n_padded`` addresses of rows.
    counts, quotients : int
        Addresses of ``n_padded`` floats.
    n_padded : int
        Words, a multiple of ``FEW``; see :func:`simd.load_document`.
    n_blocks : int
        Vectors in a row.
    """
    at = 0
    while at < n_padded:
        end = min(at + _CHUNK, n_padded)
        i = at
        while i + 2 * FEW <= end:
            _divide_many(weights, rows + 8 * i, counts + 4 * i, quotients + 4 * i, n_blocks)
            i += 2 * FEW
        if i < end:
            _divide_few(weights, rows + 8 * i, counts + 4 * i, quotients + 4 * i, n_blocks)
        i = at
        while i + 2 * FEW <= end:
            _add_many(out, rows + 8 * i, quotients + 4 * i, n_blocks)
            i += 2 * FEW
        if i < end:
            _add_few(out, rows + 8 * i, quotients + 4 * i, n_blocks)
        at = end
