"""What an Arrow file grows to, from its metadata: pyarrow asks for the memory that a buffer promises, whatever it is.

A packed buffer begins with the number of bytes that come of it, and no more than that does. Where the buffers are, the
FlatBuffers of the messages say (the format's Message.fbs, File.fbs): read here by hand, because pyarrow does not tell.
"""

import os
import struct
from collections.abc import Iterator
from typing import IO

__all__ = ["unpacked_size"]

_MAGIC = b"ARROW1"
_DICTIONARY, _BATCH = 2, 3
_LARGEST_METADATA = 2**28


def unpacked_size(raw: IO[bytes]) -> int:
    """Return how many bytes all batches and dictionaries of a file or stream hold, once unpacked.

    Parameters
    ----------
    raw : binary file
        That can be sought in.

    Raises
    ------
    ValueError, struct.error
        Where the metadata lead nowhere.
    """
    size = raw.seek(0, os.SEEK_END)
    return sum(_grown(raw, _Table.root(held), body, size) for held, body in _messages(raw, size))


class _Table:
    """A table of a FlatBuffer."""

    def __init__(self, held: bytes, place: int) -> None:
        self._held, self._place = held, place
        self._fields = place - self._number("<i", place)

    @classmethod
    def root(cls, held: bytes) -> "_Table":
        """Return the table that a buffer holds."""
        return cls(held, struct.unpack_from("<I", held)[0])

    def number(self, field: int, kind: str) -> int:
        """Return a number; 0 where there is none."""
        place = self._field(field)
        return self._number(kind, place) if place else 0

    def table(self, field: int) -> "_Table | None":
        """Return a table within this one."""
        place = self._field(field)
        return _Table(self._held, place + self._number("<I", place)) if place else None

    def structs(self, field: int, kind: str) -> list[tuple[int, ...]]:
        """Return a vector of structs."""
        place = self._field(field)
        if not place:
            return []
        place += self._number("<I", place)
        count, width = self._number("<I", place), struct.calcsize(kind)
        if place < 0 or place + 4 + count * width > len(self._held):
            raise ValueError
        return list(struct.iter_unpack(kind, self._held[place + 4 : place + 4 + count * width]))

    def _field(self, field: int) -> int:
        at = 4 + 2 * field
        if at >= self._number("<H", self._fields):
            return 0
        shift = self._number("<H", self._fields + at)
        return self._place + shift if shift else 0

    def _number(self, kind: str, place: int) -> int:
        if place < 0:
            raise ValueError
        return int(struct.unpack_from(kind, self._held, place)[0])


def _messages(raw: IO[bytes], size: int) -> Iterator[tuple[bytes, int]]:
    """Yield the metadata of each message, and where its body begins."""
    if _at(raw, 0, len(_MAGIC)) != _MAGIC:
        place = 0
        while place + 8 <= size:
            first, length = struct.unpack("<Ii", _at(raw, place, 8))
            begin = place + 8
            if first != 0xFFFFFFFF:  # as before version 0.15
                length, begin = first, place + 4
            if not length:
                return
            held = _at(raw, begin, length)
            yield held, begin + length
            place = begin + length + max(_Table.root(held).number(3, "<q"), 0)
        return
    (length,) = struct.unpack("<i", _at(raw, size - 10, 4))
    footer = _Table.root(_at(raw, size - 10 - length, length))
    for field in (2, 3):  # dictionaries, batches; a batch may be named more than once
        for place, length, _ in footer.structs(field, "<qi4xq"):
            held = _at(raw, place, length)
            skipped = 8 if held[:4] == b"\xff\xff\xff\xff" else 4
            yield held[skipped:], place + length


def _grown(raw: IO[bytes], message: _Table, body: int, size: int) -> int:
    kind, header = message.number(1, "<B"), message.table(2)
    if header is not None and kind == _DICTIONARY:
        header = header.table(1)
    if header is None or kind not in (_DICTIONARY, _BATCH):
        return 0
    packed, grown = header.table(3) is not None, 0
    for offset, length in header.structs(2, "<qq"):
        promised = length
        if packed and length >= 8 and 0 <= body + offset <= size - 8:
            (promised,) = struct.unpack("<q", _at(raw, body + offset, 8))
        grown += promised if promised > 0 else max(length, 0)
    return grown


def _at(raw: IO[bytes], place: int, length: int) -> bytes:
    if place < 0 or not 0 <= length <= _LARGEST_METADATA:
        raise ValueError
    raw.seek(place)
    return raw.read(length)
