"""Lines of three numbers, row column count, parsed in blocks: the body of UCI and Matrix Market files.

A block of lines in the usual form (digits, one blank, digits, one blank, digits, end of line) is parsed as
arrays: the places of the separators give the places of the digits, and the numbers are summed up one decimal
place at a time for all lines at once. A block with anything else in it is parsed line by line, which also
finds what is wrong and where.
"""

import math
from collections.abc import Callable, Iterator
from typing import IO, Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from discreet._progress import Callback, tell
from discreet.corpus.buffers import Int32Buffer
from discreet.corpus.check import Csr, refuse_emptiness
from discreet.corpus.files import Problems
from discreet.errors import CorpusError

__all__ = ["OutOfOrder", "Shape", "read_blocks", "read_triples", "show_triples", "stream_rows"]

_BLOCK_BYTES = 1 << 22
_LONGEST_LINE = 1 << 22
_HELD_ENTRIES = 1 << 22
_NOT_USUAL = b"0123456789 \n"
_MOST_DIGITS = 10
_LARGEST = 2**31 - 1
_BLANKS = bytes.maketrans(b"\t", b" ")
_SEPARATORS = np.array([32, 32, 10], np.uint8)


class Shape(NamedTuple):
    """What the header promises."""

    n_rows: int
    n_columns: int
    n_entries: int


def read_blocks(
    raw: IO[bytes],
    shape: Shape,
    first_line: int,
    problems: Problems,
    *,
    allow_real: bool = False,
    n_fields: int = 3,
    least: int = 1,
    comment: bytes | None = None,
    callback: Callback | None = None,
    progress: Callable[[], tuple[int, int]] | None = None,
) -> Iterator[NDArray[np.int64]]:
    """Yield some lines ``row column count`` at a time, to the end of the file: numbers from 1 there, from 0 here.

    Parameters
    ----------
    raw : binary file
        At the first line after the header.
    shape : Shape
        Rows, columns and number of lines the header promises; held against what is there.
    first_line : int
        Number of that line, for errors.
    problems : Problems
        Takes what is wrong; raised at the end. After something is wrong nothing is yielded.
    allow_real : bool
        Whether a count may be written as ``2.0``.
    n_fields : int
        3, or 2 where the count is left out and is 1.
    least : int
        Smallest count allowed.
    comment : bytes, optional
        Lines that start so are skipped.
    callback, progress
        Display of progress.

    Yields
    ------
    int64 array of shape (n, 3)
        None of them empty.
    """
    if max(shape.n_rows, shape.n_columns) > _LARGEST:
        raise CorpusError(
            f"{problems.name}: more than {_LARGEST} rows or columns are promised; that is out of range."
        )
    refuse_emptiness(problems.name, "documents", shape.n_rows, shape.n_entries)
    how = (allow_real, n_fields, comment)
    triples = _checked_blocks(raw, shape, first_line, problems, least, how)
    return triples if progress is None else _watched(triples, callback, progress)


def _watched(
    triples: Iterator[NDArray[np.int64]], callback: Callback | None, progress: Callable[[], tuple[int, int]]
) -> Iterator[NDArray[np.int64]]:
    for some in triples:
        tell(callback, "reading", *progress())
        yield some


def _checked_blocks(
    raw: IO[bytes],
    shape: Shape,
    first_line: int,
    problems: Problems,
    least: int,
    how: tuple[bool, int, bytes | None],
) -> Iterator[NDArray[np.int64]]:
    n_read, line = 0, first_line
    for block in _blocks(raw):
        triples = _usual(block) if how[1] == 3 else None
        if triples is None:
            triples, numbers = _line_by_line(block, line, problems, *how)
        else:
            numbers = None
        if not _in_range(triples, shape, least):
            _note_range(triples, numbers, line, shape, least, problems)
        line += block.count(b"\n")
        n_read += len(triples)
        if len(triples) and not problems.found:
            triples[:, :2] -= 1
            yield triples
    if n_read != shape.n_entries:
        problems.add(
            f"line {line}", f"the file ends after {n_read} entries, its header promises {shape.n_entries}"
        )
    problems.check()


def read_triples(blocks: Iterator[NDArray[np.int64]], shape: Shape) -> Csr:
    """Return what :func:`read_blocks` yields, of shape (n_rows, n_columns). Repeated places are not summed yet."""
    rows, columns, counts = Int32Buffer(), Int32Buffer(), Int32Buffer()
    per_row = np.zeros(shape.n_rows, np.int64)
    in_order, last = True, 0
    for triples in blocks:
        row = triples[:, 0]
        in_order = in_order and _ascends(row, last)
        last = int(row[-1])
        low = int(row.min())
        seen = np.bincount(row - low)
        per_row[low : low + len(seen)] += seen
        rows.append(row)
        columns.append(triples[:, 1])
        counts.append(triples[:, 2])
    return _matrix(rows, columns, counts, per_row, in_order, shape)


class OutOfOrder(Exception):  # noqa: N818  (nothing is wrong with the file)
    """Lines of a document do not all stand together, or not in the order of documents: it cannot be streamed."""


def stream_rows(blocks: Iterator[NDArray[np.int64]], shape: Shape) -> Iterator[Csr]:
    """Yield some rows at a time, of some million entries, of a file whose rows ascend.

    Raises
    ------
    OutOfOrder
        Where they do not.
    """
    held: list[NDArray[np.int64]] = []
    first = last = n_held = 0
    for triples in blocks:
        if not _ascends(triples[:, 0], last):
            raise OutOfOrder
        last = int(triples[-1, 0])
        held.append(triples)
        n_held += len(triples)
        if n_held < _HELD_ENTRIES or last == first:
            continue
        whole = np.concatenate(held)
        cut = int(np.searchsorted(whole[:, 0], last))  # of the last row more may come
        yield _rows(whole[:cut], first, last, shape.n_columns)
        first, held, n_held = last, [whole[cut:].copy()], len(whole) - cut
    yield _rows(np.concatenate(held or [np.zeros((0, 3), np.int64)]), first, shape.n_rows, shape.n_columns)


def _ascends(row: NDArray[np.int64], last: int) -> bool:
    return int(row[0]) >= last and bool((row[1:] >= row[:-1]).all())


def _rows(triples: NDArray[np.int64], first: int, end: int, n_columns: int) -> Csr:
    row, column, count = triples.T
    sizes = np.bincount(row - first, minlength=end - first)
    indptr = np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes)])
    return sp.csr_matrix((count, column, indptr), shape=(end - first, n_columns))


def show_triples(row: int, words: list[int], counts: list[int]) -> str:
    """Return a line for each count of a document, numbers from 1."""
    return "".join(f"{row + 1} {word + 1} {count}\n" for word, count in zip(words, counts, strict=True))


def _matrix(
    rows: Int32Buffer,
    columns: Int32Buffer,
    counts: Int32Buffer,
    per_row: NDArray[np.int64],
    in_order: bool,
    shape: Shape,
) -> Csr:
    size = (shape.n_rows, shape.n_columns)
    if in_order:  # the usual case needs no sorting, and no numbers of rows
        rows.take()
        indptr = np.concatenate([np.zeros(1, np.int64), np.cumsum(per_row)])
        kind = np.int32 if indptr[-1] <= _LARGEST else np.int64
        index = columns.take().astype(kind, copy=False)
        return sp.csr_matrix((counts.take(), index, indptr.astype(kind)), shape=size)
    return sp.coo_matrix((counts.take(), (rows.take(), columns.take())), shape=size).tocsr()


def _blocks(raw: IO[bytes]) -> Iterator[bytes]:
    """Yield blocks that end at the end of a line."""
    rest = b""
    while block := raw.read(_BLOCK_BYTES):
        cut = block.rfind(b"\n") + 1
        if cut == 0:
            rest += block
            if len(rest) > _LONGEST_LINE:
                break  # no line of three numbers is that long; the parser will say so
            continue
        yield rest + block[:cut]
        rest = block[cut:]
    if rest:
        yield rest + b"\n"


def _usual(block: bytes) -> NDArray[np.int64] | None:
    """Parse a block in the usual form, or return None."""
    if b"\r" in block or b"\t" in block:
        block = block.translate(_BLANKS, b"\r")
    if block.translate(None, _NOT_USUAL):
        return None
    characters = np.frombuffer(block, np.uint8)
    ends = np.flatnonzero(characters < 48)
    if len(ends) % 3 or not np.array_equal(
        characters[ends].reshape(-1, 3), np.broadcast_to(_SEPARATORS, (len(ends) // 3, 3))
    ):
        return None
    starts = np.empty_like(ends)
    starts[0] = 0
    starts[1:] = ends[:-1] + 1
    widths = ends - starts
    widest = int(widths.max())
    if int(widths.min()) < 1 or widest > _MOST_DIGITS:
        return None
    digits = characters - np.uint8(48)
    values = digits[ends - 1].astype(np.int64)
    power = 1
    for place in range(2, widest + 1):
        power *= 10
        longer = np.flatnonzero(widths >= place)
        values[longer] += digits[ends[longer] - place].astype(np.int64) * power
    return values.reshape(-1, 3)


def _line_by_line(
    block: bytes, line: int, problems: Problems, allow_real: bool, n_fields: int, comment: bytes | None
) -> tuple[NDArray[np.int64], list[int]]:
    """Parse any block; return the triples that were found and the line of each."""
    found: list[tuple[int, ...]] = []
    numbers: list[int] = []
    for number, text in enumerate(block.split(b"\n")[:-1], line):
        parts = text.split()
        if not parts or (comment is not None and text.startswith(comment)):
            continue
        if len(parts) != n_fields:
            problems.add(f"line {number}", f"expected {n_fields} numbers, found {len(parts)} fields")
            continue
        values = [_whole(part, allow_real and place == 2) for place, part in enumerate(parts)]
        faults = [fault for fault in values if isinstance(fault, str)]
        if faults:
            problems.add(f"line {number}", faults[0])
            continue
        found.append(tuple(int(value) for value in values) + ((1,) if n_fields == 2 else ()))
        numbers.append(number)
    return np.array(found, np.int64).reshape(-1, 3), numbers


def _whole(part: bytes, allow_real: bool) -> int | str:
    if b"_" in part:  # Python reads 1_0 as ten
        return "expected whole numbers, found something else"
    try:
        value = int(part)
    except ValueError:
        pass
    else:
        return value if abs(value) < 2**62 else "a number is out of range (above 2147483647)"
    try:
        real = float(part)
    except ValueError:
        return "expected whole numbers, found something else"
    if math.isnan(real):
        return "a count is NaN, expected a whole number"
    if abs(real) >= 2**62:
        return "a number is out of range (above 2147483647)"
    if not real.is_integer():
        return "a count is not a whole number"
    return int(real) if allow_real else "expected whole numbers without a decimal point"


def _in_range(triples: NDArray[np.int64], shape: Shape, least: int) -> bool:
    if not len(triples):
        return True
    low, high = triples.min(axis=0), triples.max(axis=0)
    return bool(
        low[0] >= 1
        and high[0] <= shape.n_rows
        and low[1] >= 1
        and high[1] <= shape.n_columns
        and low[2] >= least
        and high[2] <= _LARGEST
    )


def _note_range(
    triples: NDArray[np.int64],
    numbers: list[int] | None,
    line: int,
    shape: Shape,
    least: int,
    problems: Problems,
) -> None:
    row, column, count = triples.T
    wrong: list[tuple[Any, str]] = [
        ((row < 1) | (row > shape.n_rows), f"document number outside 1 to {shape.n_rows}"),
        ((column < 1) | (column > shape.n_columns), f"word number outside 1 to {shape.n_columns}"),
        (count < 0, "negative count"),
        ((count >= 0) & (count < least), f"count below {least}"),
        (count > _LARGEST, "count above 2147483647"),
    ]
    for bad, what in wrong:
        for entry in np.flatnonzero(bad).tolist():
            problems.add(f"line {numbers[entry] if numbers is not None else line + entry}", what)
