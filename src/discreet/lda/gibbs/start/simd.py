r"""Two steps on the words of a document, four at a time, in vectors of 16 floats: numba intrinsics.

With weights :math:`a_k` of the document's topics, rows :math:`t_{wk}` of the table and counts :math:`c_w`,

.. math:: \text{plain:}\quad q_w = c_w \Big/ \sum_k a_k t_{wk}, \qquad g_k \mathrel{+}= q_w t_{wk},

.. math:: \text{left out:}\quad y_{wk} = \max\Big(a_k - \frac{t_{wk} b_k}{\sum_j a_j t_{wj}}, c_k\Big)\, t_{wk},
    \qquad y_{wk} \mathrel{\times}= c_w \Big/ \sum_j y_{wj}, \qquad g_k \mathrel{+}= y_{wk}.

As in ``gibbs.simd`` the order of additions is written down: topics lane by lane, then halves of lanes onto halves,
words one after another; products and sums are never fused. The same bytes on any processor.

Rows are whole vectors. Documents are padded to a multiple of ``FEW`` words; a word with count 0 adds exactly 0.
"""

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils

from discreet._kernels import emitted
from discreet.lda.emitted import Vectors
from discreet.lda.gibbs.start.plain import FEW, LANES

__all__ = ["add_product", "leave_out", "plain"]

_I32, _I64, _F32 = ir.IntType(32), ir.IntType(64), ir.FloatType()
_VECTORS = Vectors(_F32, LANES, align=64)
_VECTOR, _load, _store, _splat = _VECTORS.kind, _VECTORS.load, _VECTORS.store, _VECTORS.splat
_ZEROS = ir.Constant(_VECTOR, [0.0] * LANES)


def _add_lanes(builder: Any, vector: Any) -> Any:
    width = LANES
    while width > 1:
        undefined, half = ir.Constant(vector.type, ir.Undefined), width // 2
        kind = ir.VectorType(_I32, half)
        lower = builder.shuffle_vector(vector, undefined, ir.Constant(kind, list(range(half))))
        upper = builder.shuffle_vector(vector, undefined, ir.Constant(kind, list(range(half, width))))
        vector, width = builder.fadd(lower, upper), half
    return builder.extract_element(vector, ir.Constant(_I32, 0))


def _entry(builder: Any, address: Any, i: int, kind: Any) -> Any:
    size = 8 if kind is _I64 else 4
    return builder.inttoptr(builder.add(address, ir.Constant(_I64, size * i)), kind.as_pointer())


def _sums(builder: Any) -> list[Any]:
    places = [cgutils.alloca_once(builder, _VECTOR) for _ in range(FEW)]
    for place in places:
        builder.store(_ZEROS, place)
    return places


def _likelihoods(builder: Any, weights: Any, rows: list[Any], shifts: Any, n_blocks: Any) -> list[Any]:
    """Sum weights times row over topics, for each row."""
    sums = _sums(builder)
    with cgutils.for_range(builder, n_blocks, intp=_I64) as loop:
        weight = _load(builder, weights, loop.index)
        for row, total in zip(rows, sums, strict=True):
            entry = builder.fadd(_load(builder, row, loop.index), shifts)
            builder.store(builder.fadd(builder.load(total), builder.fmul(weight, entry)), total)
    return [_add_lanes(builder, builder.load(total)) for total in sums]


def _quotients(builder: Any, counts: Any, divisors: list[Any]) -> list[Any]:
    """Divide each count, and put the quotient into all lanes."""
    loaded = [builder.load(_entry(builder, counts, i, _F32)) for i in range(FEW)]
    return [_splat(builder, builder.fdiv(c, d)) for c, d in zip(loaded, divisors, strict=True)]


@emitted
def plain(
    typingctx: Any, weights: Any, gathered: Any, rows: Any, counts: Any, shift: Any, n_blocks: Any
) -> Any:
    """Add four words' expected counts, divided by the weights, to ``gathered``.

    Parameters
    ----------
    weights, gathered : int64
        Addresses of ``n_blocks`` vectors: a, g.
    rows : int64
        Address of four addresses of rows.
    counts : int64
        Address of four floats.
    shift : float32
        Is added to each entry of a row, in the padding, too; there weights are 0.
    n_blocks : int64
        Vectors in a row.
    """
    signature = types.void(*[types.int64] * 4, types.float32, types.int64)

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        weights, gathered, rows, counts, shift, n_blocks = args
        row = [builder.load(_entry(builder, rows, i, _I64)) for i in range(FEW)]
        shifts = _splat(builder, shift)
        quotients = _quotients(builder, counts, _likelihoods(builder, weights, row, shifts, n_blocks))
        with cgutils.for_range(builder, n_blocks, intp=_I64) as loop:
            added = _load(builder, gathered, loop.index)
            for address, quotient in zip(row, quotients, strict=True):
                entry = builder.fadd(_load(builder, address, loop.index), shifts)
                added = builder.fadd(added, builder.fmul(quotient, entry))
            _store(builder, added, gathered, loop.index)
        return context.get_dummy_value()

    return signature, generate


@emitted
def leave_out(
    typingctx: Any,
    weights: Any,
    own: Any,
    least: Any,
    gathered: Any,
    rows: Any,
    counts: Any,
    shift: Any,
    expected: Any,
    n_blocks: Any,
) -> Any:
    """Add four words' expected counts, each token left out of its own document, to ``gathered``, and write them.

    Parameters
    ----------
    weights, own, least, gathered : int64
        Addresses of ``n_blocks`` vectors: a, b, c, g.
    rows : int64
        Address of four addresses of rows.
    counts : int64
        Address of four floats.
    shift : float32
        Is added to each entry of a row, in the padding, too; there weights, own and least are 0.
    expected : int64
        Address of four rows in succession, which receive y.
    n_blocks : int64
        Vectors in a row.
    """
    signature = types.void(*[types.int64] * 6, types.float32, types.int64, types.int64)

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        weights, own, least, gathered, rows, counts, shift, expected, n_blocks = args
        row = [builder.load(_entry(builder, rows, i, _I64)) for i in range(FEW)]
        shifts, length = _splat(builder, shift), builder.shl(n_blocks, ir.Constant(_I64, 6))
        written = [expected]
        for _ in range(FEW - 1):
            written.append(builder.add(written[-1], length))
        one = ir.Constant(_F32, 1.0)
        likelihoods = _likelihoods(builder, weights, row, shifts, n_blocks)
        spread = [_splat(builder, builder.fdiv(one, likelihood)) for likelihood in likelihoods]
        sums = _sums(builder)
        with cgutils.for_range(builder, n_blocks, intp=_I64) as loop:
            weight, share = _load(builder, weights, loop.index), _load(builder, own, loop.index)
            floor = _load(builder, least, loop.index)
            for address, total, quotient, to in zip(row, sums, spread, written, strict=True):
                entry = builder.fadd(_load(builder, address, loop.index), shifts)
                rest = builder.fsub(weight, builder.fmul(builder.fmul(entry, quotient), share))
                rest = builder.select(builder.fcmp_ordered(">", rest, floor), rest, floor)
                mass = builder.fmul(rest, entry)
                _store(builder, mass, to, loop.index)
                builder.store(builder.fadd(builder.load(total), mass), total)
        quotients = _quotients(builder, counts, [_add_lanes(builder, builder.load(total)) for total in sums])
        with cgutils.for_range(builder, n_blocks, intp=_I64) as loop:
            added = _load(builder, gathered, loop.index)
            for quotient, to in zip(quotients, written, strict=True):
                mass = builder.fmul(_load(builder, to, loop.index), quotient)
                _store(builder, mass, to, loop.index)
                added = builder.fadd(added, mass)
            _store(builder, added, gathered, loop.index)
        return context.get_dummy_value()

    return signature, generate


@emitted
def add_product(typingctx: Any, to: Any, what: Any, factor: Any, n_blocks: Any) -> Any:
    """Add ``what`` times ``factor`` to ``to``: addresses of ``n_blocks`` vectors."""
    signature = types.void(types.int64, types.int64, types.float32, types.int64)

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        to, what, factor, n_blocks = args
        factors = _splat(builder, factor)
        with cgutils.for_range(builder, n_blocks, intp=_I64) as loop:
            added = builder.fmul(_load(builder, what, loop.index), factors)
            _store(builder, builder.fadd(_load(builder, to, loop.index), added), to, loop.index)
        return context.get_dummy_value()

    return signature, generate
