r"""One draw from a topic distribution, in vector instructions: numba intrinsics.

Given weights :math:`a_k` (a document's counts plus prior) and a row :math:`\phi_k` of the table, topic k is drawn
with probability :math:`a_k \phi_k / \sum_j a_j \phi_j`. Topics lie in blocks of L = 16 floats or 8 doubles (512
bits); topic k is lane k mod L of block k div L. With :math:`c_b = \sum_{b' \le b} a_{b'} \phi_{b'}`, lane by lane,
and S the prefix sums of the last :math:`c` over its lanes,

.. math:: t = u S_{L-1}, \quad \mathrm{lane} = \#\{S \le t\}, \quad
          \mathrm{block} = \#\{b : c_b[\mathrm{lane}] \le t - S_{\mathrm{lane} - 1}\}.

That is inversion, exact up to the rounding of the sums, with the topics in the order of (lane, block).
No branch depends on data. u has as many bits as the significand (24 or 53), so that t < S always; the prefix
sums are taken in Sklansky's order, which keeps them increasing under rounding; and the remainder is kept below
the lane's total. So *a topic of weight 0, padding among them, is never drawn*: nothing has to be clamped.

Multiplications and additions stay separate, in a written order: any processor that rounds as IEEE 754 asks
draws the same topics. The vectors are plain LLVM IR: one register on AVX-512, two on AVX2, four on NEON.

The number of blocks arrives as the length of a tuple, hence in the type: up to ``MOST_UNROLLED`` blocks a kernel is
compiled (and cached) for each number; an empty tuple stands for loops that work for any number.
"""

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

__all__ = [
    "BLOCK_BYTES",
    "MOST_UNROLLED",
    "Lanes",
    "add_to",
    "address_of",
    "choose_lane",
    "count_blocks",
    "draw",
    "prefetch",
    "uniform_number",
]

#: Above this many blocks, loops are as fast as straight code and compile in a fraction of the time.
MOST_UNROLLED = 32

_I32, _I64 = ir.IntType(32), ir.IntType(64)
BLOCK_BYTES = 64


class Lanes:
    """Vectors of one kind: <16 x float> or <8 x double>, as the array's type says."""

    def __init__(self, array: Any):
        single = array.dtype == types.float32
        self.n = 16 if single else 8
        self.bits = 24 if single else 53
        self.scalar = ir.FloatType() if single else ir.DoubleType()
        self.integer = _I32 if single else _I64
        self.vector = ir.VectorType(self.scalar, self.n)
        self.integers = ir.VectorType(self.integer, self.n)
        self.zeros = ir.Constant(self.vector, [0.0] * self.n)
        self.shift = 4 if single else 3

    def shuffle(self, builder: Any, vector: Any, places: list[int]) -> Any:
        """Take lanes of ``vector``; place n means zero."""
        return builder.shuffle_vector(
            vector, self.zeros, ir.Constant(ir.VectorType(_I32, self.n), list(places))
        )

    def splat(self, builder: Any, value: Any, kind: Any = None) -> Any:
        """Put a value into all lanes."""
        kind = kind or self.vector
        undefined = ir.Constant(kind, ir.Undefined)
        first = builder.insert_element(undefined, value, ir.Constant(_I32, 0))
        return builder.shuffle_vector(
            first, undefined, ir.Constant(ir.VectorType(_I32, self.n), [0] * self.n)
        )

    def at(self, builder: Any, address: Any, block: Any) -> Any:
        """Pointer to a block; ``block`` is a number or a value."""
        if isinstance(block, int):
            offset = ir.Constant(_I64, block * BLOCK_BYTES)
        else:
            offset = builder.shl(block, ir.Constant(_I64, 6))
        return builder.inttoptr(builder.add(address, offset), self.vector.as_pointer())

    def load(self, builder: Any, address: Any, block: Any) -> Any:
        """Load a block."""
        loaded = builder.load(self.at(builder, address, block))
        loaded.align = BLOCK_BYTES
        return loaded

    def prefix_sums(self, builder: Any, vector: Any) -> Any:
        """Sklansky's order: the upper half of each group gets the sum of its lower half."""
        half = 1
        while half < self.n:
            places = [j // half * half - 1 if j // half % 2 else self.n for j in range(self.n)]
            vector = builder.fadd(vector, self.shuffle(builder, vector, places))
            half *= 2
        return vector

    def mask(self, builder: Any, truths: Any) -> Any:
        """Turn truths of lanes into bits of a number."""
        return builder.zext(builder.bitcast(truths, ir.IntType(self.n)), _I32)


def address_of(context: Any, builder: Any, kind: Any, array: Any, row: Any = None) -> Any:
    """Where an array, or one row of a C-contiguous matrix, begins: as an integer."""
    view = context.make_array(kind)(context, builder, array)
    address = builder.ptrtoint(view.data, _I64)
    if row is None:
        return address
    strides = cgutils.unpack_tuple(builder, view.strides, kind.ndim)
    return builder.add(address, builder.mul(row, strides[0]))


def uniform_number(builder: Any, lanes: Lanes, bits: Any) -> Any:
    """Turn the highest 24 or 53 bits of a random word into a number in [0, 1)."""
    number = builder.sitofp(builder.lshr(bits, ir.Constant(_I64, 64 - lanes.bits)), lanes.scalar)
    return builder.fmul(number, ir.Constant(lanes.scalar, 2.0**-lanes.bits))


def choose_lane(builder: Any, lanes: Lanes, last: Any, prefix: Any, target: Any) -> tuple[Any, Any]:
    """Find the lane in which ``target``, a vector of one value, lies, and what is left of it in each lane."""
    count = builder.module.declare_intrinsic("llvm.ctpop", [_I32])
    lane = builder.call(count, [lanes.mask(builder, builder.fcmp_ordered("<=", prefix, target))])
    before = lanes.shuffle(builder, prefix, [lanes.n, *range(lanes.n - 1)])
    remainder = builder.fsub(target, before)
    # the largest number below the lane's total: rounding must not carry the remainder past the last weight
    ceiling = builder.bitcast(last, lanes.integers)
    ceiling = builder.sub(ceiling, ir.Constant(lanes.integers, [1] * lanes.n))
    ceiling = builder.bitcast(ceiling, lanes.vector)
    within = builder.fcmp_ordered("<", remainder, ceiling)
    return lane, builder.select(within, remainder, ceiling)


def count_blocks(builder: Any, lanes: Lanes, scratch: Any, n_blocks: Any, lane: Any, remainder: Any) -> Any:
    """Find the block: count the sums of the lane, left in ``scratch``, that do not exceed what is left."""
    counted = cgutils.alloca_once(builder, _I64)
    builder.store(ir.Constant(_I64, 0), counted)
    inside = builder.and_(lane, ir.Constant(_I32, lanes.n - 1))
    wanted = builder.extract_element(remainder, inside)
    first = builder.add(
        scratch,
        builder.mul(builder.zext(inside, _I64), ir.Constant(_I64, BLOCK_BYTES // lanes.n)),
    )
    stop = builder.sub(n_blocks, ir.Constant(_I64, 1))
    with cgutils.for_range(builder, stop, intp=_I64) as loop:
        at = builder.add(first, builder.shl(loop.index, ir.Constant(_I64, 6)))
        sum_at = builder.load(builder.inttoptr(at, lanes.scalar.as_pointer()))
        passed = builder.zext(builder.fcmp_ordered("<=", sum_at, wanted), _I64)
        builder.store(builder.add(builder.load(counted), passed), counted)
    return builder.load(counted)


@intrinsic
def draw(
    typingctx: Any,
    counts: Any,
    prior: Any,
    table: Any,
    word: Any,
    bits: Any,
    sums: Any,
    n_blocks: Any,
    blocks: Any,
) -> Any:
    """Draw a topic, int64.

    Parameters
    ----------
    counts : array of shape (width,), float32 or float64
        The document's counts, whole numbers, so that adding and removing a token is exact. Aligned to 64
        bytes, like all of these.
    prior : array of shape (width,)
        Same type; is added to the counts; zeros in the padding.
    table : array of shape (n_words, width)
        Same type.
    word : int64
        Row of the table.
    bits : uint64
        A random word; its highest 24 or 53 bits are the uniform number.
    sums : array of shape (width,)
        Scratch space of the loops; not touched by straight code.
    n_blocks : int64
        Width in blocks, for the loops.
    blocks : tuple
        Of as many zeros as there are blocks, or empty; see the module.
    """
    signature = types.int64(counts, prior, table, types.int64, types.uint64, sums, types.int64, blocks)
    lanes = Lanes(counts)
    unrolled = len(blocks)

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        nd = address_of(context, builder, signature.args[0], args[0])
        alpha = address_of(context, builder, signature.args[1], args[1])
        row = address_of(context, builder, signature.args[2], args[2], args[3])
        scratch = address_of(context, builder, signature.args[5], args[5])
        n_blocks = args[6]

        def product_of(block: Any) -> Any:
            weight = builder.fadd(lanes.load(builder, nd, block), lanes.load(builder, alpha, block))
            return builder.fmul(weight, lanes.load(builder, row, block))

        cumulated: list[Any] = []
        if unrolled:
            for b in range(unrolled):
                product = product_of(b)
                cumulated.append(builder.fadd(cumulated[-1], product) if b else product)
            last = cumulated[-1]
        else:
            running = cgutils.alloca_once(builder, lanes.vector)
            builder.store(lanes.zeros, running)
            with cgutils.for_range(builder, n_blocks, intp=_I64) as loop:
                total = builder.fadd(builder.load(running), product_of(loop.index))
                builder.store(total, running)
                builder.store(total, lanes.at(builder, scratch, loop.index)).align = 64
            last = builder.load(running)

        prefix = lanes.prefix_sums(builder, last)
        uniform = uniform_number(builder, lanes, args[4])
        total = lanes.shuffle(builder, prefix, [lanes.n - 1] * lanes.n)
        target = builder.fmul(total, lanes.splat(builder, uniform))
        lane, remainder = choose_lane(builder, lanes, last, prefix, target)
        if unrolled:
            block = ir.Constant(_I32, 0)
            for b in range(unrolled - 1):
                passed = lanes.mask(builder, builder.fcmp_ordered("<=", cumulated[b], remainder))
                block = builder.add(block, builder.and_(builder.lshr(passed, lane), ir.Constant(_I32, 1)))
            block = builder.zext(block, _I64)
        else:
            block = count_blocks(builder, lanes, scratch, n_blocks, lane, remainder)
        return builder.add(builder.shl(block, ir.Constant(_I64, lanes.shift)), builder.zext(lane, _I64))

    return signature, generate


@intrinsic
def add_to(typingctx: Any, counts: Any, topic: Any, amount: Any) -> Any:
    """Do counts[topic] += amount with a whole vector: a scalar store would stall the next vector load."""
    signature = types.void(counts, types.int64, counts.dtype)
    lanes = Lanes(counts)

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        nd = address_of(context, builder, signature.args[0], args[0])
        place = lanes.at(builder, nd, builder.lshr(args[1], ir.Constant(_I64, lanes.shift)))
        old = builder.load(place)
        old.align = 64
        lane = builder.and_(args[1], ir.Constant(_I64, lanes.n - 1))
        if lanes.integer is not _I64:
            lane = builder.trunc(lane, lanes.integer)
        here = builder.icmp_signed(
            "==",
            lanes.splat(builder, lane, lanes.integers),
            ir.Constant(lanes.integers, list(range(lanes.n))),
        )
        change = builder.select(here, lanes.splat(builder, args[2]), lanes.zeros)
        builder.store(builder.fadd(old, change), place).align = 64
        return context.get_dummy_value()

    return signature, generate


@intrinsic
def prefetch(typingctx: Any, table: Any, word: Any, n_blocks: Any, blocks: Any) -> Any:
    """Ask for a row of the table before it is needed."""
    signature = types.void(table, types.int64, types.int64, blocks)
    unrolled = len(blocks)

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        row = address_of(context, builder, signature.args[0], args[0], args[1])
        pointer = ir.IntType(8).as_pointer()
        kind = ir.FunctionType(ir.VoidType(), [pointer, _I32, _I32, _I32])
        fetch = builder.module.declare_intrinsic("llvm.prefetch", [pointer], kind)

        def ask(offset: Any) -> None:
            place = builder.inttoptr(builder.add(row, offset), pointer)
            builder.call(fetch, [place, *(ir.Constant(_I32, n) for n in (0, 3, 1))])

        if unrolled:
            for b in range(unrolled):
                ask(ir.Constant(_I64, b * BLOCK_BYTES))
        else:
            with cgutils.for_range(builder, args[2], intp=_I64) as loop:
                ask(builder.shl(loop.index, ir.Constant(_I64, 6)))
        return context.get_dummy_value()

    return signature, generate
