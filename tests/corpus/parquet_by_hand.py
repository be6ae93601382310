"""Parquet files written byte by byte, so that they can promise what they do not hold: no library writes such files."""

import struct
from typing import Any

import pyarrow as pa

ENCODING = {"plain": 0, "rle": 3, "delta_byte_array": 7, "rle_dictionary": 8}
CODEC = {"none": 0, "zstd": 6}


def varint(number: int) -> bytes:
    """Return an unsigned number in groups of seven bits."""
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    return bytes([*out, number])


def zigzag(number: int) -> bytes:
    """Return a signed number as Thrift's compact protocol has it."""
    return varint(number * 2 if number >= 0 else -2 * number - 1)


def struct_of(*fields: tuple[int, Any]) -> bytes:
    """Return a struct of (number, value): int32, ("i64", n), text, bytes of a struct, or a list of one kind."""
    out, last = b"", 0
    for number, value in fields:
        kind, held = _value(value)
        out += bytes([(number - last) << 4 | kind]) + held
        last = number
    return out + b"\0"


def _value(value: Any) -> tuple[int, bytes]:
    if isinstance(value, list):
        kinds = [_value(each) for each in value]
        return 9, bytes([15 << 4 | kinds[0][0]]) + varint(len(kinds)) + b"".join(held for _, held in kinds)
    if isinstance(value, tuple):
        return 6, zigzag(value[1])
    if isinstance(value, int):
        return 5, zigzag(value)
    if isinstance(value, str):
        return 8, varint(len(value)) + value.encode()
    return 12, value


def page(
    content: bytes,
    n_values: int,
    encoding: str = "plain",
    *,
    codec: str = "none",
    promised: int | None = None,
) -> bytes:
    """Return a page of data of version 1, whose header promises a size."""
    data = struct_of((1, n_values), (2, ENCODING[encoding]), (3, ENCODING["rle"]), (4, ENCODING["rle"]))
    return _page(0, 5, data, content, codec, promised)


def dictionary(words: list[bytes], *, codec: str = "none", promised: int | None = None) -> bytes:
    """Return a page of the different values."""
    content = b"".join(struct.pack("<I", len(word)) + word for word in words)
    return _page(2, 7, struct_of((1, len(words)), (2, ENCODING["plain"])), content, codec, promised)


def _page(kind: int, field: int, header: bytes, content: bytes, codec: str, promised: int | None) -> bytes:
    packed = content if codec == "none" else pa.Codec(codec).compress(content, asbytes=True)
    size = len(content) if promised is None else promised
    return struct_of((1, kind), (2, size), (3, len(packed)), (field, header)) + packed


def runs_of_first(n_values: int) -> bytes:
    """Return indices that all name the first value: one run, however many."""
    return b"\x01" + varint(n_values << 1) + b"\0"


def lists_of(n_values: int) -> bytes:
    """Return the levels that make all values one list."""
    levels = b"\x02\0" + varint((n_values - 1) << 1) + b"\x01"  # the first begins a row, the others do not
    full = varint(n_values << 1) + b"\x02"
    return struct.pack("<I", len(levels)) + levels + struct.pack("<I", len(full)) + full


def file_of(
    pages: bytes,
    n_values: int,
    *,
    different: bytes = b"",
    n_rows: int | None = None,
    codec: str = "none",
    told: int = 100,
) -> bytes:
    """Return a file of one column of texts, "text", or of lists of them, that says it unpacks to ``told`` bytes.

    Parameters
    ----------
    pages, different : bytes
        Of the data, and of the different values.
    n_values, n_rows : int
        Where there are other numbers of them, the column holds lists.
    """
    path, leaf = ["text"], struct_of((1, 6), (3, 0), (4, "text"), (6, 0))
    schema = [struct_of((4, "schema"), (5, 1)), leaf]
    if n_rows is not None:
        path, leaf = ["text", "list", "element"], struct_of((1, 6), (3, 0), (4, "element"), (6, 0))
        optional = struct_of((3, 1), (4, "text"), (5, 1), (6, 3))
        schema = [schema[0], optional, struct_of((3, 2), (4, "list"), (5, 1)), leaf]
    size = len(different) + len(pages)
    meta: list[tuple[int, Any]] = [
        (1, 6), (2, list(ENCODING.values())), (3, path), (4, CODEC[codec]), (5, ("i64", n_values)),
        (6, ("i64", told)), (7, ("i64", size)), (9, ("i64", 4 + len(different))),
    ]  # fmt: skip
    if different:
        meta.append((11, ("i64", 4)))
    rows = n_values if n_rows is None else n_rows
    column = struct_of((2, ("i64", 4)), (3, struct_of(*meta)))
    group = struct_of((1, [column]), (2, ("i64", told)), (3, ("i64", rows)))
    footer = struct_of((1, 1), (2, schema), (3, ("i64", rows)), (4, [group]))
    return b"PAR1" + different + pages + footer + struct.pack("<I", len(footer)) + b"PAR1"
