r"""One draw from a word's list of topics, in vector instructions: numba intrinsics.

A list holds the topics in which a word has tokens, in blocks of 16, each topic with a weight :math:`q_j`; the rest of
its last block has weight 0. With :math:`f_k` for topic k and :math:`S = \sum_i q_i f_{k_i} + m`, entry j is drawn with
probability :math:`q_j f_{k_j} / S`, and no entry with probability :math:`m / S`. Sums and search are those of
``simd``, in single precision; only :math:`f` is gathered, entry by entry.
"""

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from discreet.lda.gibbs.simd import BLOCK_BYTES, Lanes, address_of, choose_lane, count_blocks, uniform_number

__all__ = ["draw_entry", "prefetch_list"]

_I16, _I32, _I64 = ir.IntType(16), ir.IntType(32), ir.IntType(64)


@intrinsic
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
    """Draw an entry of a list: its number among all entries of all lists, int64; or -1 for none of them.

    Parameters
    ----------
    weights : array of shape (n_entries,), float32
        q; aligned to 64 bytes, as are all of these.
    listed : array of shape (n_entries,), uint16
        Topics.
    begin, n_blocks : int64
        Where the list begins, and how long it is, in blocks; at least one.
    factors : array of shape (width,), float32
        f.
    rest : float32
        m, not negative.
    bits : uint64
        A random word; its highest 24 bits are the uniform number.
    sums : array of shape (width,), float32
        Scratch space.
    """
    signature = types.int64(
        weights, listed, types.int64, types.int64, factors, types.float32, types.uint64, sums
    )
    lanes = Lanes(weights)

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        q, topics, f, scratch = (
            address_of(context, builder, signature.args[i], args[i]) for i in (0, 1, 4, 7)
        )
        begin, n_blocks, rest, bits = args[2], args[3], args[5], args[6]
        q = builder.add(q, builder.shl(begin, ir.Constant(_I64, 6)))
        topics = builder.add(topics, builder.shl(begin, ir.Constant(_I64, 5)))

        def gathered(block: Any) -> Any:
            at = builder.add(topics, builder.shl(block, ir.Constant(_I64, 5)))
            vector = ir.Constant(lanes.vector, ir.Undefined)
            for j in range(lanes.n):
                place = builder.inttoptr(builder.add(at, ir.Constant(_I64, 2 * j)), _I16.as_pointer())
                offset = builder.shl(builder.zext(builder.load(place), _I64), ir.Constant(_I64, 2))
                factor = builder.load(builder.inttoptr(builder.add(f, offset), lanes.scalar.as_pointer()))
                vector = builder.insert_element(vector, factor, ir.Constant(_I32, j))
            return vector

        running = cgutils.alloca_once(builder, lanes.vector)
        builder.store(lanes.zeros, running)
        with cgutils.for_range(builder, n_blocks, intp=_I64) as loop:
            product = builder.fmul(lanes.load(builder, q, loop.index), gathered(loop.index))
            total = builder.fadd(builder.load(running), product)
            builder.store(total, running)
            builder.store(total, lanes.at(builder, scratch, loop.index)).align = BLOCK_BYTES
        last = builder.load(running)

        prefix = lanes.prefix_sums(builder, last)
        inside = builder.extract_element(prefix, ir.Constant(_I32, lanes.n - 1))
        target = builder.fmul(builder.fadd(inside, rest), uniform_number(builder, lanes, bits))
        entry = cgutils.alloca_once(builder, _I64)
        builder.store(ir.Constant(_I64, -1), entry)
        with builder.if_then(builder.fcmp_ordered("<", target, inside), likely=True):
            lane, remainder = choose_lane(builder, lanes, last, prefix, lanes.splat(builder, target))
            block = builder.add(begin, count_blocks(builder, lanes, scratch, n_blocks, lane, remainder))
            found = builder.add(builder.shl(block, ir.Constant(_I64, 4)), builder.zext(lane, _I64))
            builder.store(found, entry)
        return builder.load(entry)

    return signature, generate


@intrinsic
def prefetch_list(typingctx: Any, weights: Any, listed: Any, begin: Any) -> Any:
    """Ask for the first blocks of a list before they are needed: most lists are not longer."""
    signature = types.void(weights, listed, types.int64)

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        pointer = ir.IntType(8).as_pointer()
        kind = ir.FunctionType(ir.VoidType(), [pointer, _I32, _I32, _I32])
        fetch = builder.module.declare_intrinsic("llvm.prefetch", [pointer], kind)
        for i, shift, n_lines in ((0, 6, 4), (1, 5, 2)):
            array = address_of(context, builder, signature.args[i], args[i])
            first = builder.add(array, builder.shl(args[2], ir.Constant(_I64, shift)))
            for line in range(n_lines):
                place = builder.add(first, ir.Constant(_I64, line * BLOCK_BYTES))
                ask = [ir.Constant(_I32, n) for n in (0, 3, 1)]
                builder.call(fetch, [builder.inttoptr(place, pointer), *ask])
        return context.get_dummy_value()

    return signature, generate
