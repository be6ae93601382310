r"""One draw from a topic distribution: random words from counters, and the draw in vector instructions.

**Random words.** The i-th word of a stream that starts at s is SplitMix64's :math:`\mathrm{mix}(s + (i + 1) g) \bmod
2^{64}`, :math:`g = \lfloor 2^{64} / \varphi \rfloor` (:mod:`discreet._base.kernels`). Each (seed, sweep, document) has
a stream of its own, whoever computes it and when: the same chain comes out for any number of threads. These words are
fast and reproducible, not secret: whoever knows the seed knows them all.

**A draw.** Given weights :math:`a_k` (a document's counts plus prior) and a row :math:`\phi_k` of the table, topic k is
drawn with probability :math:`a_k \phi_k / \sum_j a_j \phi_j`. Topics lie in blocks of L = 16 floats (512 bits); topic
k is lane k mod L of block k div L. With :math:`c_b = \sum_{b' \le b} a_{b'} \phi_{b'}`, lane by lane, and S the
prefix sums of the last :math:`c` over its lanes,

.. math:: t = u S_{L-1}, \quad \mathrm{lane} = \#\{S \le t\}, \quad
          \mathrm{block} = \#\{b : c_b[\mathrm{lane}] \le t - S_{\mathrm{lane} - 1}\}.

That is inversion, exact up to the rounding of the sums, with the topics in the order of (lane, block).
No branch depends on data. u has 24 bits, as many as the significand, so that t < S always; the prefix
sums are taken in Sklansky's order, which keeps them increasing under rounding; and the remainder is kept below
the lane's total. So *a topic of weight 0, padding among them, is never drawn*: nothing has to be clamped.

**A draw from a list** of the topics in which a word has tokens. A list lies in blocks of 16 entries, each a topic with
a weight :math:`q_j`; the rest of its last block has weight 0. With :math:`f_k` for topic k and
:math:`S = \sum_i q_i f_{k_i} + m`, entry j is drawn with probability :math:`q_j f_{k_j} / S`, and no entry with
probability :math:`m / S`. Sums and search are the same; only :math:`f` is gathered, entry by entry.

Multiplications and additions stay separate, in a written order: any processor that rounds as IEEE 754 asks
draws the same topics. The vectors are plain LLVM IR: one register on AVX-512, two on AVX2, four on NEON.

The number of blocks arrives as the length of a tuple, hence in the type: up to ``MOST_UNROLLED`` blocks a kernel is
compiled (and cached) for each number; an empty tuple stands for loops that work for any number.
"""

from typing import Any

import numpy as np
from llvmlite import ir
from numba import njit, types, uint64
from numba.core import cgutils
from numpy.typing import NDArray

from discreet._base.kernels import GOLDEN, MIX, emitted, mix, mixed
from discreet.lda.emitted import F32, I32, I64, Vectors, address_of

LANES = 16
#: Above this many blocks, loops are as fast as straight code and compile in a fraction of the time.
MOST_UNROLLED = 32
#: Draws of one token, of which all but the last may be refused.
MOST_DRAWS = 64
#: Of a uniform number.
_BITS = 24


@njit(forceinline=True)
def stream_at(start: Any, i: Any) -> Any:
    """Return the i-th word, uint64, of the stream that begins at ``start``."""
    return mix(uint64(start) + (uint64(i) + uint64(1)) * uint64(GOLDEN))


def sweep_key(seed: int, sweep: int) -> np.uint64:
    """Return the key of one sweep; document d's stream begins at ``mix(key ^ mix(d))``.

    ``seed``: 0 to 2**64 - 1; every use of randomness within a chain has a number of its own as its sweep.
    """
    return mixed(mixed(np.array([seed], np.uint64)) + np.uint64((sweep + 1) * GOLDEN % 2**64))[0]


def random_halves(n: int, start: np.uint64) -> NDArray[np.uint64]:
    """Return random numbers 0 to n, of 32 bits; the i-th depends on (start, i) only."""
    x = np.arange(1, n + 1, dtype=np.uint64)
    x *= np.uint64(GOLDEN)
    x += start
    for shift, factor in MIX:
        x ^= x >> np.uint64(shift)
        x *= np.uint64(factor)
    x >>= np.uint64(32)
    return x


def new_seed(random_state: Any) -> int:
    """Turn scikit-learn's ``random_state`` into a seed of 63 bits.

    ``None`` asks the operating system, an integer is taken as it is, a ``RandomState`` or ``Generator`` is
    drawn from. There is no global state.
    """
    if random_state is None:
        return int(np.random.SeedSequence().generate_state(1, np.uint64)[0]) >> 1
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**63))
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(2**63 - 1, dtype=np.int64))
    return int(random_state) & (2**63 - 1)


_VECTORS = Vectors(F32, LANES, align=64)
_INTEGERS = ir.VectorType(I32, LANES)


def _prefix_sums(builder: Any, vector: Any) -> Any:
    """Sklansky's order: the upper half of each group gets the sum of its lower half."""
    half = 1
    while half < LANES:
        places = [j // half * half - 1 if j // half % 2 else LANES for j in range(LANES)]
        vector = builder.fadd(vector, _VECTORS.shuffle(builder, vector, places))
        half *= 2
    return vector


def _mask(builder: Any, truths: Any) -> Any:
    """Turn truths of lanes into bits of a number."""
    return builder.zext(builder.bitcast(truths, ir.IntType(LANES)), I32)


def _uniform_number(builder: Any, bits: Any) -> Any:
    """Turn the highest 24 bits of a random word into a number in [0, 1)."""
    number = builder.sitofp(builder.lshr(bits, ir.Constant(I64, 64 - _BITS)), F32)
    return builder.fmul(number, ir.Constant(F32, 2.0**-_BITS))


def _choose_lane(builder: Any, last: Any, prefix: Any, target: Any) -> tuple[Any, Any]:
    """Find the lane in which ``target``, a vector of one value, lies, and what is left of it in each lane."""
    count = builder.module.declare_intrinsic("llvm.ctpop", [I32])
    lane = builder.call(count, [_mask(builder, builder.fcmp_ordered("<=", prefix, target))])
    before = _VECTORS.shuffle(builder, prefix, [LANES, *range(LANES - 1)])
    remainder = builder.fsub(target, before)
    # the largest number below the lane's total: rounding must not carry the remainder past the last weight
    ceiling = builder.sub(builder.bitcast(last, _INTEGERS), ir.Constant(_INTEGERS, [1] * LANES))
    ceiling = builder.bitcast(ceiling, _VECTORS.kind)
    within = builder.fcmp_ordered("<", remainder, ceiling)
    return lane, builder.select(within, remainder, ceiling)


def _count_blocks(builder: Any, sums: Any, n_blocks: Any, lane: Any, remainder: Any) -> Any:
    """Find the block: count the sums of the lane, left at ``sums``, that do not exceed what is left."""
    counted = cgutils.alloca_once(builder, I64)
    builder.store(ir.Constant(I64, 0), counted)
    inside = builder.and_(lane, ir.Constant(I32, LANES - 1))
    wanted = builder.extract_element(remainder, inside)
    first = builder.add(sums, builder.shl(builder.zext(inside, I64), ir.Constant(I64, 2)))
    stop = builder.sub(n_blocks, ir.Constant(I64, 1))
    with cgutils.for_range(builder, stop, intp=I64) as loop:
        at = builder.add(first, builder.shl(loop.index, ir.Constant(I64, 6)))
        sum_at = builder.load(builder.inttoptr(at, F32.as_pointer()))
        passed = builder.zext(builder.fcmp_ordered("<=", sum_at, wanted), I64)
        builder.store(builder.add(builder.load(counted), passed), counted)
    return builder.load(counted)


def _sum_blocks(builder: Any, n_blocks: Any, product_of: Any, sums: Any) -> Any:
    """Add up products block by block in a loop, leave the sums at ``sums``, and return the last one."""
    running = cgutils.alloca_once(builder, _VECTORS.kind)
    builder.store(_VECTORS.zeros, running)
    with cgutils.for_range(builder, n_blocks, intp=I64) as loop:
        total = builder.fadd(builder.load(running), product_of(loop.index))
        builder.store(total, running)
        _VECTORS.store(builder, total, sums, loop.index)
    return builder.load(running)


@emitted
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
    """``draw(counts, prior, table, word, bits, sums, n_blocks, blocks)`` draws a topic, int64.

    ``counts``, ``prior`` and ``sums``, scratch space of the loops, have shape (width,), ``table`` (n_words, width):
    float32, aligned to 64 bytes, zeros in the padding. Counts are whole numbers, so that adding and removing a token is
    exact. ``bits``: a random word, uint64, whose highest bits are the uniform number. ``blocks``: a tuple of as many
    zeros as there are blocks, or empty; see the module.
    """
    signature = types.int64(counts, prior, table, types.int64, types.uint64, sums, types.int64, blocks)
    unrolled = len(blocks)

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        nd, alpha, scratch = (address_of(context, builder, signature, args, i) for i in (0, 1, 5))
        row = address_of(context, builder, signature, args, 2, row=args[3])
        n_blocks = args[6]

        def product_of(block: Any) -> Any:
            weight = builder.fadd(_VECTORS.load(builder, nd, block), _VECTORS.load(builder, alpha, block))
            return builder.fmul(weight, _VECTORS.load(builder, row, block))

        cumulated: list[Any] = []
        for b in range(unrolled):
            product = product_of(ir.Constant(I64, b))
            cumulated.append(builder.fadd(cumulated[-1], product) if b else product)
        last = cumulated[-1] if unrolled else _sum_blocks(builder, n_blocks, product_of, scratch)

        prefix = _prefix_sums(builder, last)
        total = _VECTORS.shuffle(builder, prefix, [LANES - 1] * LANES)
        target = builder.fmul(total, _VECTORS.splat(builder, _uniform_number(builder, args[4])))
        lane, remainder = _choose_lane(builder, last, prefix, target)
        if unrolled:
            block = ir.Constant(I32, 0)
            for b in range(unrolled - 1):
                passed = _mask(builder, builder.fcmp_ordered("<=", cumulated[b], remainder))
                block = builder.add(block, builder.and_(builder.lshr(passed, lane), ir.Constant(I32, 1)))
            block = builder.zext(block, I64)
        else:
            block = _count_blocks(builder, scratch, n_blocks, lane, remainder)
        return builder.add(builder.shl(block, ir.Constant(I64, 4)), builder.zext(lane, I64))

    return signature, generate


@emitted
def add_to(typingctx: Any, counts: Any, topic: Any, amount: Any) -> Any:
    """``add_to(counts, topic, amount)`` adds with a whole vector: a scalar store would stall the next vector load."""
    signature = types.void(counts, types.int64, types.float32)

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        nd = address_of(context, builder, signature, args, 0)
        block = builder.lshr(args[1], ir.Constant(I64, 4))
        lane = builder.trunc(builder.and_(args[1], ir.Constant(I64, LANES - 1)), I32)
        here = builder.icmp_signed(
            "==", _VECTORS.splat(builder, lane, _INTEGERS), ir.Constant(_INTEGERS, list(range(LANES)))
        )
        change = builder.select(here, _VECTORS.splat(builder, args[2]), _VECTORS.zeros)
        _VECTORS.store(builder, builder.fadd(_VECTORS.load(builder, nd, block), change), nd, block)
        return context.get_dummy_value()

    return signature, generate


@emitted
def prefetch(typingctx: Any, array: Any, offset: Any, n_lines: Any) -> Any:
    """``prefetch(array, offset, n_lines)`` asks for lines of 64 bytes, from byte ``offset`` on."""
    signature = types.void(array, types.int64, types.int64)

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        pointer = ir.IntType(8).as_pointer()
        kind = ir.FunctionType(ir.VoidType(), [pointer, I32, I32, I32])
        fetch = builder.module.declare_intrinsic("llvm.prefetch", [pointer], kind)
        first = builder.add(address_of(context, builder, signature, args, 0), args[1])
        with cgutils.for_range(builder, args[2], intp=I64) as loop:
            place = builder.add(first, builder.shl(loop.index, ir.Constant(I64, 6)))
            how = [ir.Constant(I32, n) for n in (0, 3, 1)]  # to read, to be kept near, data
            builder.call(fetch, [builder.inttoptr(place, pointer), *how])
        return context.get_dummy_value()

    return signature, generate


@emitted
def draw_entry(
    typingctx: Any,
    weights: Any,
    listed: Any,
    begin: Any,
    n_blocks: Any,
    factors: Any,
    rest: Any,
    bits: Any,
    sums: Any,
) -> Any:
    """``draw_entry(weights, listed, begin, n_blocks, factors, rest, bits, sums)`` draws an entry of a list.

    Its number among all entries of all lists, int64; or -1 for none of them. ``weights``, float32, and ``listed``,
    uint16: q and the topics of all lists; ``begin`` and ``n_blocks``: where this list begins and how long it is, in
    blocks, at least one; ``factors``: f, (width,) float32; ``rest``: m, float32, not negative; all aligned.
    """
    signature = types.int64(
        weights, listed, types.int64, types.int64, factors, types.float32, types.uint64, sums
    )

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        q, topics, f, scratch = (address_of(context, builder, signature, args, i) for i in (0, 1, 4, 7))
        begin, n_blocks, rest, bits = args[2], args[3], args[5], args[6]
        q = builder.add(q, builder.shl(begin, ir.Constant(I64, 6)))
        topics = builder.add(topics, builder.shl(begin, ir.Constant(I64, 5)))

        def product_of(block: Any) -> Any:
            at = builder.add(topics, builder.shl(block, ir.Constant(I64, 5)))
            gathered = ir.Constant(_VECTORS.kind, ir.Undefined)
            for j in range(LANES):
                place = builder.add(at, ir.Constant(I64, 2 * j))
                topic = builder.load(builder.inttoptr(place, ir.IntType(16).as_pointer()))
                offset = builder.shl(builder.zext(topic, I64), ir.Constant(I64, 2))
                factor = builder.load(builder.inttoptr(builder.add(f, offset), F32.as_pointer()))
                gathered = builder.insert_element(gathered, factor, ir.Constant(I32, j))
            return builder.fmul(_VECTORS.load(builder, q, block), gathered)

        last = _sum_blocks(builder, n_blocks, product_of, scratch)
        prefix = _prefix_sums(builder, last)
        inside = builder.extract_element(prefix, ir.Constant(I32, LANES - 1))
        target = builder.fmul(builder.fadd(inside, rest), _uniform_number(builder, bits))
        entry = cgutils.alloca_once(builder, I64)
        builder.store(ir.Constant(I64, -1), entry)
        with builder.if_then(builder.fcmp_ordered("<", target, inside), likely=True):
            lane, remainder = _choose_lane(builder, last, prefix, _VECTORS.splat(builder, target))
            block = builder.add(begin, _count_blocks(builder, scratch, n_blocks, lane, remainder))
            found = builder.add(builder.shl(block, ir.Constant(I64, 4)), builder.zext(lane, I64))
            builder.store(found, entry)
        return builder.load(entry)

    return signature, generate
