r"""What kernels emit in vectors of 512 bits: loads, stores, sums of lanes, and the two inner loops of inference.

All inference for one document with words :math:`w_i`, counts :math:`c_i` and topic weights :math:`\theta` repeats

.. math:: q_i = c_i / \sum_k \theta_k B_{w_i k}, \qquad g_k = \sum_i q_i B_{w_i k},

a sum over topics and then one over words. A compiler may not turn a floating-point sum into vector code,
because that changes the order of the additions; with fast-math it may, and then the result depends on the
compiler and the machine. Here the order is *written down*: topic k is added in lane k modulo their number, upper
halves of lanes are added onto lower ones, eight words are added up in pairs and pairs of pairs, and eights follow one
another. Multiplications and additions stay separate, never fused. So the vectors cost no reproducibility: any
processor that rounds as IEEE 754 asks gives the same bits.

Rows are padded with zeros to whole vectors. A word with count 0 adds exactly 0, so that documents are padded to a
multiple of four words; they are taken eight, in the end four, at a time.
"""

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numpy.typing import NDArray

from discreet._base.kernels import emitted, kernel

Number = TypeVar("Number", bound=np.generic)

I32, I64, F32, F64 = ir.IntType(32), ir.IntType(64), ir.FloatType(), ir.DoubleType()
#: Doubles in a vector.
LANES = 8
#: Documents are padded to a multiple of this many words.
FEW = 4
#: Words whose quotients are found before their rows are added.
_CHUNK = 32
#: Keeps quotients finite where a word has probability 0 under every topic; 2**31 / TINY does not overflow.
TINY = 1e-280


def address_of(context: Any, builder: Any, signature: Any, args: Any, number: int, *, row: Any = None) -> Any:
    """Where argument ``number``, an array, or one row of it, a C-contiguous matrix, begins: as an integer."""
    kind = signature.args[number]
    view = context.make_array(kind)(context, builder, args[number])
    address = builder.ptrtoint(view.data, I64)
    if row is None:
        return address
    strides = cgutils.unpack_tuple(builder, view.strides, kind.ndim)
    return builder.add(address, builder.mul(row, strides[0]))


class Vectors:
    """Vectors of ``n_lanes`` numbers of one kind, 64 bytes in all, at addresses that are multiples of ``align``."""

    def __init__(self, scalar: Any, n_lanes: int, align: int) -> None:
        self.kind, self.n_lanes, self._align = ir.VectorType(scalar, n_lanes), n_lanes, align
        self.zeros = ir.Constant(self.kind, [0.0] * n_lanes)
        self._places = ir.VectorType(I32, n_lanes)

    def _at(self, builder: Any, address: Any, block: Any) -> Any:
        at = builder.add(address, builder.shl(block, ir.Constant(I64, 6)))
        return builder.inttoptr(at, self.kind.as_pointer())

    def load(self, builder: Any, address: Any, block: Any) -> Any:
        """Load the vector of this number after an address."""
        loaded = builder.load(self._at(builder, address, block))
        loaded.align = self._align
        return loaded

    def store(self, builder: Any, value: Any, address: Any, block: Any) -> None:
        """Store a vector as that of this number after an address."""
        builder.store(value, self._at(builder, address, block)).align = self._align

    def splat(self, builder: Any, value: Any, kind: Any = None) -> Any:
        """Return a vector, of ``kind`` where it is given, with the value in each lane."""
        kind = kind or self.kind
        undefined = ir.Constant(kind, ir.Undefined)
        first = builder.insert_element(undefined, value, ir.Constant(I32, 0))
        return builder.shuffle_vector(first, undefined, ir.Constant(self._places, [0] * self.n_lanes))

    def shuffle(self, builder: Any, vector: Any, places: list[int]) -> Any:
        """Take lanes of ``vector``; place ``n_lanes`` means zero."""
        return builder.shuffle_vector(vector, self.zeros, ir.Constant(self._places, places))


def entry_at(builder: Any, address: Any, i: int, kind: Any) -> Any:
    """Return a pointer to number ``i`` of an array of ``kind`` at an address."""
    size = 4 if kind in (I32, F32) else 8
    return builder.inttoptr(builder.add(address, ir.Constant(I64, size * i)), kind.as_pointer())


def rows_of(context: Any, builder: Any, signature: Any, args: Any, table: int, at: Any, n: int) -> list[Any]:
    """Return the addresses of n rows of argument ``table``; the next one has their numbers, from place ``at`` on."""
    words = address_of(context, builder, signature, args, table + 1)
    words = builder.add(words, builder.shl(at, ir.Constant(I64, 3)))
    return [
        address_of(
            context, builder, signature, args, table, row=builder.load(entry_at(builder, words, i, I64))
        )
        for i in range(n)
    ]


def blocks_of(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    """Return how many vectors argument 0, an array of shape (width,), is."""
    kind = signature.args[0]
    size = builder.extract_value(context.make_array(kind)(context, builder, args[0]).shape, 0)
    return builder.lshr(size, ir.Constant(I64, 4 if kind.dtype == types.float32 else 3))


_VECTORS = Vectors(F64, LANES, align=8)


def aligned(shape: tuple[int, ...], dtype: type[Number] = np.float64) -> NDArray[Number]:
    """Return zeros whose first entry starts a cache line of 64 bytes."""
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


def add_lanes(builder: Any, vectors: list[Any]) -> Any:
    """Add the lanes of each vector, upper half onto lower half: one vector with a sum for each.

    Two vectors share one addition in the first step, four in the second.
    """
    width = vectors[0].type.count
    while width > 1:
        pairs: list[Any] = list(zip(vectors[::2], vectors[1::2], strict=False)) or [(vectors[0], None)]
        sums: list[Any] = []
        for first, second in pairs:
            starts = range(0, first.type.count * (1 if second is None else 2), width)
            other = ir.Constant(first.type, ir.Undefined) if second is None else second
            kind = ir.VectorType(I32, len(starts) * width // 2)
            halves = [
                ir.Constant(kind, [start + place + lane for start in starts for lane in range(width // 2)])
                for place in (0, width // 2)
            ]
            sums.append(builder.fadd(*(builder.shuffle_vector(first, other, half) for half in halves)))
        vectors, width = sums, width // 2
    return vectors[0]


def zero_sums(builder: Any, vectors: Vectors, n: int) -> list[Any]:
    """Return places of n vectors, zeros at first."""
    places = [cgutils.alloca_once(builder, vectors.kind) for _ in range(n)]
    for place in places:
        builder.store(vectors.zeros, place)
    return places


def add_to_sum(builder: Any, place: Any, product: Any) -> None:
    """Add a vector to that at a place."""
    builder.store(builder.fadd(builder.load(place), product), place)


def _division(n: int) -> Callable[..., Any]:
    """Make counts / (weights . row) for this many words; more at a time load the weights less often."""
    numbers = ir.VectorType(F64, n)

    def divide(
        typingctx: Any, weights: Any, table: Any, words: Any, counts: Any, quotients: Any, at: Any
    ) -> Any:
        signature = types.void(weights, table, words, counts, quotients, types.int64)

        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            weight_at, counted_at, to = (address_of(context, builder, signature, args, i) for i in (0, 3, 4))
            rows = rows_of(context, builder, signature, args, 1, args[-1], n)
            sums = zero_sums(builder, _VECTORS, n)
            with cgutils.for_range(builder, blocks_of(context, builder, signature, args), intp=I64) as loop:
                weight = _VECTORS.load(builder, weight_at, loop.index)
                for row, total in zip(rows, sums, strict=True):
                    add_to_sum(builder, total, builder.fmul(weight, _VECTORS.load(builder, row, loop.index)))
            likelihoods = add_lanes(builder, [builder.load(total) for total in sums])
            offset = builder.shl(args[5], ir.Constant(I64, 3))
            counted = builder.load(builder.inttoptr(builder.add(counted_at, offset), numbers.as_pointer()))
            counted.align = 8
            quotient = builder.fdiv(counted, builder.fadd(likelihoods, ir.Constant(numbers, [TINY] * n)))
            place = builder.inttoptr(builder.add(to, offset), numbers.as_pointer())
            builder.store(quotient, place).align = 8
            return context.get_dummy_value()

        return signature, generate

    return divide


def _addition(n: int) -> Callable[..., Any]:
    """Make the sum of quotients times rows of this many words."""

    def add(typingctx: Any, out: Any, table: Any, words: Any, quotients: Any, at: Any) -> Any:
        signature = types.void(out, table, words, quotients, types.int64)

        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            to, quotients = (address_of(context, builder, signature, args, i) for i in (0, 3))
            rows = rows_of(context, builder, signature, args, 1, args[-1], n)
            first = builder.add(quotients, builder.shl(args[4], ir.Constant(I64, 3)))
            spread = [
                _VECTORS.splat(builder, builder.load(entry_at(builder, first, i, F64))) for i in range(n)
            ]
            with cgutils.for_range(builder, blocks_of(context, builder, signature, args), intp=I64) as loop:
                parts = [
                    builder.fmul(factor, _VECTORS.load(builder, row, loop.index))
                    for row, factor in zip(rows, spread, strict=True)
                ]
                while len(parts) > 1:
                    parts = [builder.fadd(*two) for two in zip(parts[::2], parts[1::2], strict=True)]
                total = builder.fadd(_VECTORS.load(builder, to, loop.index), parts[0])
                _VECTORS.store(builder, total, to, loop.index)
            return context.get_dummy_value()

        return signature, generate

    return add


_divide_few, _divide_many = emitted(_division(FEW)), emitted(_division(2 * FEW))
_add_few, _add_many = emitted(_addition(FEW)), emitted(_addition(2 * FEW))


@kernel(error_model="numpy", inline="always")
def gather(
    weights: Any, out: Any, table: Any, words: Any, counts: Any, quotients: Any, n_padded: int
) -> None:
    """Set quotients[i] = counts[i] / (weights . row i), then add sum_i quotients[i] * row i to out.

    ``weights``, ``out``: (width,), float64, as are ``table``, (n_words, width), ``counts`` and ``quotients``;
    ``words``: (n_padded,) int64, rows of the table; ``n_padded``: words, a multiple of ``FEW``; see
    :func:`load_document`.
    """
    at = 0
    while at < n_padded:
        end = min(at + _CHUNK, n_padded)
        i = at
        while i + 2 * FEW <= end:
            _divide_many(weights, table, words, counts, quotients, i)
            i += 2 * FEW
        if i < end:
            _divide_few(weights, table, words, counts, quotients, i)
        i = at
        while i + 2 * FEW <= end:
            _add_many(out, table, words, quotients, i)
            i += 2 * FEW
        if i < end:
            _add_few(out, table, words, quotients, i)
        at = end


@kernel(error_model="numpy")
def on_line(size: int) -> NDArray[np.float64]:
    """Return zeros whose first entry starts a cache line: vectors that cross one are slow to store and load again."""
    raw = np.zeros(size + LANES, np.float64)
    start = (-raw.ctypes.data % 64) // 8
    return raw[start : start + size]


@kernel(error_model="numpy")
def load_document(documents: Any, d: int, words: NDArray[np.int64], counts: NDArray[Any]) -> int:
    """Put the words and counts of document d in place, doubles or floats.

    Returns the number of words with padding: words with count 0, up to a multiple of ``FEW``.
    """
    start, end = documents.indptr[d], documents.indptr[d + 1]
    n = end - start
    n_padded = (n + FEW - 1) // FEW * FEW
    words[:n] = documents.words[start:end]
    counts[:n] = documents.counts[start:end]
    for i in range(n, n_padded):
        words[i] = words[n - 1]
        counts[i] = 0.0
    return n_padded
