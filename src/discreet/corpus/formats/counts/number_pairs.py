"""Lines of ``number:count`` pairs, one document a line: what LDA-C and SVMlight share."""

import re
from array import array
from collections.abc import Iterator, Sequence
from typing import IO

import numpy as np

from discreet.corpus.check import Csr
from discreet.corpus.files import Problems
from discreet.corpus.tokens.counting import RowChunks
from discreet.errors import CorpusError, Proposal

__all__ = ["Pairs", "lines_of", "show_pairs"]

_PAIRS = re.compile(rb"(?:\s*\d{1,18}:\d{1,18}(?=\s|\Z))*\s*")
_CHUNK_ROWS = 1 << 14
_LARGEST = 2**31 - 1


class Pairs:
    """Gathers documents given as pairs; checks ranges in bulk."""

    def __init__(
        self, problems: Problems, first: int, n_words: int | None, below: Sequence[str | Proposal] = ()
    ) -> None:
        self.problems = problems
        self._below = below  # what helps where a number is too small
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

    @property
    def width(self) -> int:
        """One more than the largest column met, so far as it was looked at."""
        return self._width

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
        if self._below and (column < 0).any():
            self.problems.advise(*self._below)
        if not self.problems.found:
            self._width = max(self._width, int(column.max(initial=-1)) + 1)
            self._chunks.add(count, column, sizes)


def lines_of(raw: IO[bytes]) -> Iterator[tuple[int, bytes]]:
    """Yield numbered lines that are not blank."""
    for number, line in enumerate(raw, 1):
        if not line.isspace():
            yield number, line.strip().replace(b"\t", b" ")


def _one_by_one(rest: bytes) -> list[int] | str:
    """Parse pairs that are not plain digits, or say what is wrong with them."""
    numbers: list[int] = []
    for part in rest.split():
        word, colon, count = part.partition(b":")
        if not colon or b"_" in part:  # Python reads 1_0 as ten
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


def show_pairs(words: list[int], counts: list[int], first: int) -> str:
    """Return pairs as text, a blank before each; words are numbered from ``first``."""
    return "".join(f" {word + first}:{count}" for word, count in zip(words, counts, strict=True))
