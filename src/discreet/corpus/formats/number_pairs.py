"""Lines of ``number:count`` pairs, one document a line: LDA-C and SVMlight.

LDA-C (Blei's ``lda-c``): ``M w:n w:n ...`` with M the number of pairs, words numbered from 0.
SVMlight: ``label w:n w:n ... # comment`` with words numbered from 1.
"""

import os
import re
from array import array
from collections.abc import Iterator
from typing import IO

import numpy as np

from discreet._progress import Callback, tell
from discreet.corpus.check import Csr
from discreet.corpus.counting import RowChunks
from discreet.corpus.files import PathLike, Problems, open_source
from discreet.errors import CorpusError

__all__ = ["read_ldac", "read_svmlight"]

_PAIRS = re.compile(rb"(?:\s*\d{1,18}:\d{1,18}(?=\s|\Z))*\s*")
_INTEGER = re.compile(rb"[+-]?\d{1,18}(?:\.0*)?")
_CHUNK_ROWS = 1 << 14
_LARGEST = 2**31 - 1


class _Pairs:
    """Gathers documents given as pairs; checks ranges in bulk."""

    def __init__(self, problems: Problems, first: int, n_words: int | None) -> None:
        self.problems = problems
        self._first = first
        self._n_words = n_words
        self._numbers = array("q")
        self._sizes = array("q")
        self._lines = array("q")
        self._chunks = RowChunks()
        self._width = 0
        self.n_rows = 0

    def add(self, line: int, rest: bytes) -> int:
        """Add the document whose pairs are ``rest``; returns how many pairs, or -1 where they are broken."""
        if _PAIRS.fullmatch(rest) is not None:
            numbers = list(map(int, rest.replace(b":", b" ").split()))
        else:
            parsed = _one_by_one(rest)
            if isinstance(parsed, str):
                self.problems.add(f"line {line}", parsed)
                return -1
            numbers = parsed
        self._numbers.extend(numbers)
        self._sizes.append(len(numbers) // 2)
        self._lines.append(line)
        self.n_rows += 1
        if len(self._sizes) >= _CHUNK_ROWS:
            self._put_away()
        return len(numbers) // 2

    def matrix(self) -> Csr:
        """Return the counts; as wide as the vocabulary, or as the largest number met."""
        self._put_away()
        self.problems.check()
        if self.n_rows == 0:
            raise CorpusError(f"{self.problems.name} is empty: expected at least one document.")
        return self._chunks.matrix(self._width if self._n_words is None else self._n_words)

    def _put_away(self) -> None:
        if not self._sizes:
            return
        pairs = np.array(self._numbers, np.int64).reshape(-1, 2)
        sizes, lines = np.array(self._sizes, np.int64), np.array(self._lines, np.int64)
        self._numbers, self._sizes, self._lines = array("q"), array("q"), array("q")
        most = _LARGEST if self._n_words is None else self._n_words
        column, count = pairs[:, 0] - self._first, pairs[:, 1]
        start = f"word number outside {self._first} to {most - 1 + self._first}"
        for bad, what in (
            ((column < 0) | (column >= most), start),
            (count < 0, "negative count"),
            (count > _LARGEST, "count above 2147483647"),
        ):
            if bad.any():
                for row in np.unique(np.repeat(np.arange(len(sizes)), sizes)[bad]).tolist():
                    self.problems.add(f"line {lines[row]}", what)
        if not self.problems.found:
            self._width = max(self._width, int(column.max(initial=-1)) + 1)
            self._chunks.add(count, column, sizes)


def read_ldac(path: PathLike, n_words: int | None = None, callback: Callback | None = None) -> Csr:
    """Read the counts of an LDA-C file.

    Parameters
    ----------
    path : path
        The file; gzip too.
    n_words : int, optional
        Number of words of the vocabulary; otherwise the largest number met says.
    callback : callable, optional
        Told of progress.

    Returns
    -------
    scipy.sparse.csr_matrix

    Raises
    ------
    CorpusError
        Names the lines that are broken or out of range.
    """
    problems = Problems(os.fspath(path))
    documents = _Pairs(problems, 0, n_words)
    with open_source(path) as source:
        for line, text in _lines(source.raw):
            head, _, rest = text.partition(b" ")
            if not head.isdigit():
                problems.add(f"line {line}", "expected the number of different words first, as in LDA-C")
            elif (size := documents.add(line, rest)) >= 0 and size != int(head):
                problems.add(f"line {line}", f"{int(head)} different words are promised, {size} are there")
            if line % 1000 == 0:
                tell(callback, "reading", *source.progress())
    return documents.matrix()


def read_svmlight(
    path: PathLike, n_words: int | None = None, zero_based: bool = False, callback: Callback | None = None
) -> tuple[Csr, list[int] | list[str]]:
    """Read the counts and labels of an SVMlight file.

    Parameters
    ----------
    path : path
        The file; gzip too. ``qid:`` fields and comments are skipped.
    n_words : int, optional
        Number of words of the vocabulary; otherwise the largest number met says.
    zero_based : bool
        Whether words are numbered from 0, as scikit-learn writes by default.
    callback : callable, optional
        Told of progress.

    Returns
    -------
    counts : scipy.sparse.csr_matrix
    labels : list of int, or of str where one is not a whole number

    Raises
    ------
    CorpusError
        Names the lines that are broken or out of range.
    """
    problems = Problems(os.fspath(path))
    documents = _Pairs(problems, 0 if zero_based else 1, n_words)
    labels: list[bytes] = []
    seen: dict[bytes, bytes] = {}
    with open_source(path) as source:
        for line, text in _lines(source.raw):
            parts = text.partition(b"#")[0].split(None, 1)
            if not parts:
                continue
            rest = parts[1] if len(parts) == 2 else b""
            if b":" in parts[0]:
                problems.add(f"line {line}", "expected a label first, as in SVMlight")
                continue
            if b"qid:" in rest:
                rest = re.sub(rb"\bqid:\S+", b"", rest)
            documents.add(line, rest)
            labels.append(seen.setdefault(parts[0], parts[0]))
            if line % 1000 == 0:
                tell(callback, "reading", *source.progress())
    counts = documents.matrix()
    if all(_INTEGER.fullmatch(label) for label in seen):
        number = {label: int(float(label)) for label in seen}
        return counts, [number[label] for label in labels]
    text_of = {label: label.decode("utf-8", "backslashreplace") for label in seen}
    return counts, [text_of[label] for label in labels]


def _lines(raw: IO[bytes]) -> Iterator[tuple[int, bytes]]:
    """Yield numbered lines that are not blank."""
    for number, line in enumerate(raw, 1):
        if not line.isspace():
            yield number, line.strip().replace(b"\t", b" ")


def _one_by_one(rest: bytes) -> list[int] | str:
    """Parse pairs that are not plain digits, or say what is wrong with them."""
    numbers: list[int] = []
    for part in rest.split():
        word, colon, count = part.partition(b":")
        if not colon:
            return "expected pairs number:count, found something else"
        try:
            column, value = int(word), float(count)
        except ValueError:
            return "expected pairs number:count, found something else"
        if value != value or value in (float("inf"), float("-inf")):  # noqa: PLR0124  (NaN)
            return "a count is NaN or infinite, expected a whole number"
        if not value.is_integer():
            return "a count is not a whole number"
        if abs(column) >= 2**62 or abs(value) >= 2**62:
            return "a number is out of range (above 2147483647)"
        numbers += [column, int(value)]
    return numbers
