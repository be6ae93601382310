"""What a Parquet file grows to, from the headers of its pages: pyarrow asks for the memory that a header promises.

The footer has a sum of its own, which need not be true. A header is a struct in Thrift's compact protocol (the format's
parquet.thrift), read here by hand, because pyarrow does not tell. Beside the bytes of pages, each value takes some once
it is read, and a run of a million takes none in the file.
"""

from collections.abc import Iterator
from typing import IO, Any, NamedTuple

__all__ = ["VALUE", "Growth", "grown"]

#: Bytes that a value takes at least, once read.
VALUE = 16
_DATA, _DICTIONARY, _DATA_2 = 0, 2, 3
#: The field of a page's header that has the header of its kind.
_FIELD = {_DATA: 5, _DICTIONARY: 7, _DATA_2: 8}
#: The field of that which has the encoding.
_ENCODING = {_DATA: 2, _DICTIONARY: 2, _DATA_2: 4}
#: Encodings in which a short value stands for a long one: the number of a text, or the beginning of the one before.
_PLAIN_DICTIONARY, _DELTA_LENGTH, _DELTA, _RLE_DICTIONARY = 2, 6, 7, 8
_SHORT = {_PLAIN_DICTIONARY, _DELTA, _RLE_DICTIONARY}
#: Those of texts that pyarrow cannot leave as numbers.
_LAID_OUT = {_DELTA_LENGTH, _DELTA}
_FIRST_LOOK, _LONGEST_HEADER = 1 << 9, 1 << 24
_DEEPEST = 8
_TRUE, _FALSE, _BYTE, _DOUBLE, _BINARY, _LIST, _SET, _STRUCT = 1, 2, 3, 7, 8, 9, 10, 12
_INTEGERS = (4, 5, 6)


class Growth(NamedTuple):
    """What comes of some columns.

    Parameters
    ----------
    size : int
        Bytes of all pages, and of all values; and of a page of lists, if each of its values were as long as the page.
    longest : int
        Bytes that one value may take in a column that is laid out, though the file has it in short; 0 if there is none.
    numbered : list of str
        Paths of columns that pyarrow can leave as numbers of different texts.
    """

    size: int
    longest: int
    numbered: list[str]


def grown(raw: IO[bytes], metadata: Any, columns: set[str]) -> Growth:
    """Add up what columns grow to, once they are unpacked and read.

    Parameters
    ----------
    raw : binary file
        That can be sought in.
    metadata : pyarrow.parquet.FileMetaData
        Of it.
    columns : set of str
        Names of fields; those in them count.

    Raises
    ------
    ValueError, TypeError, IndexError, KeyError, OverflowError
        Where the headers lead nowhere.
    """
    size = longest = 0
    numbered = list[str]()
    for number in range(metadata.num_columns):
        column = metadata.schema.column(number)
        if column.path.partition(".")[0] not in columns:
            continue
        chunks = (metadata.row_group(group).column(number) for group in range(metadata.num_row_groups))
        pages = [page for chunk in chunks for page in _pages(raw, chunk)]
        size += sum(page.size + VALUE * page.n_values for page in pages)
        encodings = {page.encoding for page in pages if not page.is_dictionary}
        largest = max((page.size for page in pages), default=0)
        if column.physical_type != "BYTE_ARRAY" or not encodings & _SHORT:
            continue
        if not encodings & _LAID_OUT:
            numbered.append(column.path)
            continue
        longest = max(longest, largest)
        if column.max_repetition_level:
            size = max(size, largest * max(page.n_values for page in pages))
    return Growth(size, longest, numbered)


class _Page(NamedTuple):
    is_dictionary: bool
    size: int
    n_values: int
    encoding: int


def _pages(raw: IO[bytes], chunk: Any) -> Iterator[_Page]:
    """Yield what the headers say of each page of a column in a group of rows, as far as pyarrow reads."""
    start = chunk.dictionary_page_offset
    place = chunk.data_page_offset if not start or start < 0 else min(start, chunk.data_page_offset)
    left = chunk.num_values
    while left > 0:
        header, place = _header(raw, place)
        kind, size, packed = header[1], header[2], header[3]
        place += packed
        if kind in _FIELD:
            own = header[_FIELD[kind]]
            page = _Page(kind == _DICTIONARY, size, own[1], own[_ENCODING[kind]])
            left -= 0 if page.is_dictionary else page.n_values
        else:
            page = _Page(True, size, 0, 0)
        if min(packed, size, page.n_values) < 0:
            raise ValueError
        yield page


def _header(raw: IO[bytes], place: int) -> tuple[dict[int, Any], int]:
    """Return the header at a place in a file, and where it ends."""
    length = _FIRST_LOOK
    while True:
        raw.seek(place)
        held = raw.read(length)
        try:
            fields, end = _struct(held, 0, 0)
        except IndexError:  # it is longer than that
            if len(held) < length or length >= _LONGEST_HEADER:
                raise
            length *= 8
            continue
        if not {1, 2, 3} <= set(fields) or _FIELD.get(fields[1], 1) not in fields:
            raise ValueError
        return fields, place + end


def _struct(held: bytes, place: int, depth: int) -> tuple[dict[int, Any], int]:
    """Return the numbers and structs in a struct by the numbers of their fields, and where it ends."""
    if depth > _DEEPEST:
        raise ValueError
    fields: dict[int, Any] = {}
    last = 0
    while True:
        first = held[place]
        place += 1
        if not first:
            return fields, place
        kind = first & 15
        if first >> 4:
            last += first >> 4
        else:
            last, place = _signed(held, place)
        value, place = _value(held, place, kind, depth)
        if value is not None:
            fields[last] = value


def _value(held: bytes, place: int, kind: int, depth: int) -> tuple[Any, int]:
    """Return a number or a struct, or None for what else there is, and where it ends."""
    if kind in _INTEGERS:
        return _signed(held, place)
    if kind in (_TRUE, _FALSE):
        return None, place
    if kind == _BINARY:
        length, place = _unsigned(held, place)
        return None, place + length
    if kind == _STRUCT:
        return _struct(held, place, depth + 1)
    if kind in (_BYTE, _DOUBLE):
        return None, place + (1 if kind == _BYTE else 8)
    if kind in (_LIST, _SET):
        first = held[place]
        count, place = (first >> 4, place + 1) if first >> 4 < 15 else _unsigned(held, place + 1)
        for _ in range(count):
            # In a list a truth value takes a byte.
            truth = first & 15 in (_TRUE, _FALSE)
            _, place = (None, place + 1) if truth else _value(held, place, first & 15, depth + 1)
            held[place - 1]
        return None, place
    raise ValueError


def _unsigned(held: bytes, place: int) -> tuple[int, int]:
    number = shift = 0
    while True:
        byte = held[place]
        place += 1
        number |= (byte & 127) << shift
        if byte < 128:
            return number, place
        shift += 7
        if shift > 63:
            raise ValueError


def _signed(held: bytes, place: int) -> tuple[int, int]:
    number, place = _unsigned(held, place)
    return number >> 1 ^ -(number & 1), place
