"""What kernels in vector instructions emit alike: vectors of 512 bits loaded, stored, and filled with one number."""

from typing import Any

from llvmlite import ir

__all__ = ["Vectors"]

_I32, _I64 = ir.IntType(32), ir.IntType(64)


class Vectors:
    """Vectors of ``n_lanes`` numbers of one kind, 64 bytes in all, at addresses that are multiples of ``align``."""

    def __init__(self, scalar: Any, n_lanes: int, align: int) -> None:
        self.kind, self._align = ir.VectorType(scalar, n_lanes), align
        self._all_first = ir.Constant(ir.VectorType(_I32, n_lanes), [0] * n_lanes)

    def _at(self, builder: Any, address: Any, block: Any) -> Any:
        at = builder.add(address, builder.shl(block, ir.Constant(_I64, 6)))
        return builder.inttoptr(at, self.kind.as_pointer())

    def load(self, builder: Any, address: Any, block: Any) -> Any:
        """Load the vector of this number after an address."""
        loaded = builder.load(self._at(builder, address, block))
        loaded.align = self._align
        return loaded

    def store(self, builder: Any, value: Any, address: Any, block: Any) -> None:
        """Store a vector as that of this number after an address."""
        builder.store(value, self._at(builder, address, block)).align = self._align

    def splat(self, builder: Any, value: Any) -> Any:
        """Return a vector with the value in each lane."""
        undefined = ir.Constant(self.kind, ir.Undefined)
        first = builder.insert_element(undefined, value, ir.Constant(_I32, 0))
        return builder.shuffle_vector(first, undefined, self._all_first)
