r"""Files of word vectors: text and binary of word2vec, GloVe's text, fastText's ``.vec``, ``.npz``.

Files are read as a stream. A line, a word and a row have a largest size, whatever a header promises, so that a
hostile file is refused within a few megabytes. What a file is, is seen from its content. Nothing is unpickled.

==================  ==========================================================================
GloVe text          a word and its numbers a line; words may hold spaces
word2vec text       the same after a first line with the numbers of words and dimensions
word2vec binary     that first line, then each word, a space, and 4-byte floats (little-endian)
``.npz``            arrays ``words`` (text) and ``vectors`` (n_words, n_dimensions)
==================  ==========================================================================
"""

import math
import os
import zipfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from discreet.corpus.files import PathLike, open_source
from discreet.errors import CorpusError

__all__ = ["MOST_DIMENSIONS", "Wanted", "read_vector_file"]

Take = Callable[[str, NDArray[np.float32]], None]

MOST_DIMENSIONS = 4096
_LONGEST_WORD = 1000
_LONGEST_LINE = 1 << 17
_BLOCK = 1 << 20
_ZIP = b"PK\x03\x04"
#: An array that was saved column by column cannot be streamed; below this it is read as a whole.
_SMALL = 1 << 28


class Wanted:
    """The words somebody waits for, as they are spelt and in the one spelling for all that mean the same.

    Parameters
    ----------
    words : list of str
    fold : callable
        From a word to that spelling.
    """

    def __init__(self, words: list[str], fold: Callable[[str], str]) -> None:
        self.exact = set(words)
        self.fold = fold
        self.folded = {fold(word) for word in words}
        self.with_spaces = any(" " in word for word in self.folded)

    def __contains__(self, word: str) -> bool:
        return word in self.exact or self.fold(word) in self.folded


def read_vector_file(path: PathLike, wanted: Wanted, take: Take) -> int:
    """Hand over the vectors of the words that are wanted, as they come; return the number of dimensions.

    Raises
    ------
    CorpusError
        Where it is no such file, or is damaged or cut short; names the line.
    """
    name = os.fspath(path)
    if _is_npz(Path(path)):
        return _read_npz(path, name, wanted, take)
    with open_source(path) as source:
        stream = _Stream(source.raw)
        if not stream.peek(1):
            raise CorpusError(f"{name} is empty; expected word vectors.")
        first = _line(stream, name, 1)
        sizes = first.split()
        if len(sizes) == 2 and all(size.isdigit() and len(size) < 12 for size in sizes):
            n_rows, n_dimensions = int(sizes[0]), int(sizes[1])
            _check_dimensions(n_dimensions, name)
            if _is_text(stream, n_dimensions):
                found = _read_text(stream, name, 1, n_dimensions, wanted, take)
            else:
                found = _read_binary(stream, name, n_rows, n_dimensions, wanted, take)
            if found != n_rows:
                raise CorpusError(
                    f"{name} promises {n_rows:,} vectors and holds {found:,}; copy or download it again."
                )
            return n_dimensions
        n_dimensions = len(sizes) - 1
        if n_dimensions < 2 or _numbers(sizes[1:]) is None:
            raise CorpusError(
                f"{name}, line 1: expected a word and its numbers, or the numbers of words and dimensions; the formats "
                "of word2vec, GloVe and fastText (.vec) are known, and .npz with words and vectors."
            )
        _check_dimensions(n_dimensions, name)
        _read_text(_Stream(source.raw, first + stream.rest()), name, 0, n_dimensions, wanted, take)
        return n_dimensions


class _Stream:
    """Bytes read ahead in blocks: up to a mark, or so many."""

    def __init__(self, raw: IO[bytes], held: bytes = b"") -> None:
        self._raw, self._held, self._at = raw, held, 0

    def _more(self) -> bool:
        block = self._raw.read(_BLOCK)
        self._held = self._held[self._at :] + block
        self._at = 0
        return bool(block)

    def rest(self) -> bytes:
        """Return what was read ahead."""
        return self._held[self._at :]

    def peek(self, n: int) -> bytes:
        while len(self._held) - self._at < n and self._more():
            pass
        return self._held[self._at : self._at + n]

    def until(self, mark: bytes, most: int) -> bytes | None:
        """Return bytes up to and with the mark; None where it does not come within ``most``. At the end, the rest."""
        while True:
            place = self._held.find(mark, self._at, self._at + most)
            if place >= 0:
                taken = self._held[self._at : place + 1]
                self._at = place + 1
                return taken
            if len(self._held) - self._at >= most:
                return None
            if not self._more():
                taken, self._at = self._held[self._at :], len(self._held)
                return taken

    def exactly(self, n: int) -> bytes:
        taken = self.peek(n)
        self._at += len(taken)
        return taken


def _line(stream: _Stream, name: str, number: int) -> bytes:
    line = stream.until(b"\n", _LONGEST_LINE)
    if line is None:
        raise CorpusError(
            f"{name}, line {number}: more than {_LONGEST_LINE:,} bytes without a line break; expected word vectors."
        )
    return line


def _check_dimensions(n_dimensions: int, name: str) -> None:
    if not 1 <= n_dimensions <= MOST_DIMENSIONS:
        raise CorpusError(
            f"{name}: vectors must have 1 to {MOST_DIMENSIONS} numbers, but have {n_dimensions:,}."
        )


def _numbers(fields: list[bytes]) -> NDArray[np.float32] | None:
    """Return the fields as numbers; None where one is none."""
    try:
        values = [float(field) for field in fields]
    except ValueError:
        return None
    limit = float(np.finfo(np.float32).max)
    return np.array(values, np.float32) if all(math.isfinite(v) and abs(v) < limit for v in values) else None


def _is_text(stream: _Stream, n_dimensions: int) -> bool:
    """Whether what follows a header is a line of text with that many numbers."""
    ahead = stream.peek(_LONGEST_LINE)
    fields = ahead.split(b"\n", 1)[0].rsplit(None, n_dimensions)
    return not ahead or (len(fields) == n_dimensions + 1 and _numbers(fields[1:]) is not None)


def _read_text(stream: _Stream, name: str, number: int, n_dimensions: int, wanted: Wanted, take: Take) -> int:
    found = 0
    while True:
        number += 1
        line = _line(stream, name, number)
        if not line:
            return found
        if not line.strip():
            continue
        found += 1
        if line.count(b" ") + line.count(b"\t") < n_dimensions:
            raise CorpusError(
                f"{name}, line {number}: expected a word and {n_dimensions} numbers, found fewer fields."
            )
        # Most lines are of no interest: look at the word before anything is parsed.
        if not wanted.with_spaces and _decoded(line.split(None, 1)[0]) not in wanted:
            continue
        word, *fields = line.rsplit(None, n_dimensions)
        vector = _numbers(fields) if len(fields) == n_dimensions else None
        if vector is None:
            raise CorpusError(f"{name}, line {number}: expected a word and {n_dimensions} finite numbers.")
        spelt = _decoded(word.strip())
        if spelt in wanted:
            take(spelt, vector)


def _read_binary(
    stream: _Stream, name: str, n_rows: int, n_dimensions: int, wanted: Wanted, take: Take
) -> int:
    for row in range(n_rows):
        if not stream.peek(1):
            return row
        word = stream.until(b" ", _LONGEST_WORD)
        if word is None:
            raise CorpusError(f"{name}, vector {row + 1}: its word has more than {_LONGEST_WORD:,} bytes.")
        data = stream.exactly(4 * n_dimensions)
        if len(data) < 4 * n_dimensions:
            return row
        spelt = _decoded(word.strip())
        if spelt in wanted:
            vector = np.frombuffer(data, "<f4").astype(np.float32)
            if not np.isfinite(vector).all():
                raise CorpusError(f"{name}, vector {row + 1}: expected {n_dimensions} finite numbers.")
            take(spelt, vector)
    if stream.peek(2).strip():
        raise CorpusError(f"{name} goes on after the {n_rows:,} vectors that it promises; download it again.")
    return n_rows


def _decoded(word: bytes) -> str:
    """Return the word; words that are no UTF-8 (word2vec cuts some) become words that nobody waits for."""
    return word.decode("utf-8", "replace")


def _is_npz(path: Path) -> bool:
    """Whether a file is a zip archive, but of anything else than one text, which is unpacked like other texts."""
    if not path.is_file():
        return False
    with suppress(OSError):
        with path.open("rb") as raw:
            if raw.read(len(_ZIP)) != _ZIP:
                return False
            try:
                names = zipfile.ZipFile(raw).namelist()
            except Exception:  # a damaged one: let its reader say so
                return True
        return len(names) != 1 or names[0].endswith(".npy")
    return False


def _read_npz(path: PathLike, name: str, wanted: Wanted, take: Take) -> int:
    fault = "it holds other arrays"
    try:
        with Path(path).open("rb") as raw, zipfile.ZipFile(raw) as archive:
            if {"words.npy", "vectors.npy"} <= set(archive.namelist()):
                return _read_arrays(archive, name, wanted, take)
    except CorpusError:
        raise
    except Exception as error:  # a damaged archive fails in many ways, deep in zipfile, zlib and numpy
        fault = type(error).__name__
    raise CorpusError(f"{name} is not an .npz with the arrays words and vectors ({fault}).")


def _read_arrays(archive: zipfile.ZipFile, name: str, wanted: Wanted, take: Take) -> int:
    at: dict[int, str] = {}
    with archive.open("words.npy") as member:
        shape, dtype, _ = _header(member)
        if len(shape) != 1 or dtype.kind not in "US" or not 0 < dtype.itemsize <= 4 * _LONGEST_WORD:
            raise CorpusError(
                f"{name}: words must be one list of text, each of at most {_LONGEST_WORD:,} letters."
            )
        for row, value in enumerate(_rows(member, shape[0], 1, dtype)):
            word = _decoded(value[0]) if dtype.kind == "S" else str(value[0])
            if word in wanted:
                at[row] = word
    with archive.open("vectors.npy") as member:
        sizes, dtype, by_column = _header(member)
        if len(sizes) != 2 or sizes[0] != shape[0] or dtype.kind != "f":
            raise CorpusError(
                f"{name}: vectors must be floats of shape ({shape[0]:,}, dimensions), but are {sizes}."
            )
        _check_dimensions(sizes[1], name)
        rows = _rows(member, *sizes, dtype)
        if by_column:
            if sizes[0] * sizes[1] * dtype.itemsize > _SMALL:
                raise CorpusError(f"{name}: large vectors must be saved row by row (C order).")
            rows = np.stack(list(_rows(member, sizes[1], sizes[0], dtype)), axis=1)
        for row, value in enumerate(rows):
            if row in at:
                vector = value.astype(np.float32)
                if not np.isfinite(vector).all():
                    raise CorpusError(f"{name}, vector {row + 1}: expected {sizes[1]} finite numbers.")
                take(at[row], vector)
    return sizes[1]


def _header(member: IO[bytes]) -> tuple[tuple[int, ...], np.dtype[Any], bool]:
    version = np.lib.format.read_magic(member)
    read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    shape, by_column, dtype = read(member)
    if min(shape, default=0) < 0:
        raise ValueError
    return shape, dtype, by_column


def _rows(member: IO[bytes], n_rows: int, n_columns: int, dtype: np.dtype[Any]) -> Iterator[NDArray[Any]]:
    """Yield rows of an array from its bytes, a block at a time."""
    size = n_columns * dtype.itemsize
    left = n_rows
    while left:
        n = min(left, max(1, _BLOCK // size))
        data = member.read(n * size)
        if len(data) < n * size:
            raise EOFError
        yield from np.frombuffer(data, dtype).reshape(n, n_columns)
        left -= n
