"""What kernels in vector instructions emit alike: vectors of 512 bits loaded, stored, filled and added up."""

from typing import Any

from llvmlite import ir
from numba.core import cgutils

__all__ = ["F32", "F64", "I32", "I64", "Vectors", "add_lanes", "address_of", "entry_at", "halves"]

I32, I64, F32, F64 = ir.IntType(32), ir.IntType(64), ir.FloatType(), ir.DoubleType()


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
        return builder.shuffle_vector(
            first, undefined, ir.Constant(ir.VectorType(I32, self.n_lanes), [0] * self.n_lanes)
        )

    def shuffle(self, builder: Any, vector: Any, places: list[int]) -> Any:
        """Take lanes of ``vector``; place ``n_lanes`` means zero."""
        return builder.shuffle_vector(
            vector, self.zeros, ir.Constant(ir.VectorType(I32, self.n_lanes), places)
        )


def entry_at(builder: Any, address: Any, i: int, kind: Any) -> Any:
    """Return a pointer to number ``i`` of an array of ``kind`` at an address."""
    size = 4 if kind in (I32, F32) else 8
    return builder.inttoptr(builder.add(address, ir.Constant(I64, size * i)), kind.as_pointer())


def halves(builder: Any, vector: Any) -> tuple[Any, Any]:
    """Return the lower and the upper half of a vector."""
    width = vector.type.count
    undefined, kind = ir.Constant(vector.type, ir.Undefined), ir.VectorType(I32, width // 2)
    lower = ir.Constant(kind, list(range(width // 2)))
    upper = ir.Constant(kind, list(range(width // 2, width)))
    return builder.shuffle_vector(vector, undefined, lower), builder.shuffle_vector(vector, undefined, upper)


def add_lanes(builder: Any, vector: Any) -> Any:
    """Add halves of lanes onto halves, down to one number."""
    while vector.type.count > 1:
        vector = builder.fadd(*halves(builder, vector))
    return builder.extract_element(vector, ir.Constant(I32, 0))
