"""Counts as lines of numbers: UCI, Matrix Market, LDA-C, SVMlight.

UCI and Matrix Market hold a line ``row column count`` for each count; LDA-C and SVMlight a line of ``word:count`` pairs
for each document. Lines are read as they come, and a broken one is named by its number.
"""

import os
import re
from array import array
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from itertools import islice
from typing import IO, Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from discreet._base.progress import Callback, tell
from discreet.corpus.check import Csr, refuse_emptiness
from discreet.corpus.corpus import Corpus
from discreet.corpus.counting import Int32Buffer
from discreet.corpus.files import PathLike, Problems, Source, open_source
from discreet.corpus.formats.table import Counted, CountReading
from discreet.corpus.formats.text_files import rows_of
from discreet.errors import CorpusError, Proposal

_LARGEST = 2**31 - 1
_TELL_EVERY = 10_000


# A line for each count


_BLOCK_LINES = 1 << 17
_HELD_ENTRIES = 1 << 22
_MTX_FIELDS = ("integer", "unsigned-integer", "real", "double", "pattern")


class Shape(NamedTuple):
    """What the header promises."""

    n_rows: int
    n_columns: int
    n_entries: int


class _Lines(NamedTuple):
    """How the lines ``row column count`` of a file are written: numbers from 1."""

    n_fields: int = 3
    """3, or 2 where the count is left out and is 1."""
    real: bool = False
    """Whether a count may be written as ``2.0``."""
    least: int = 1
    """Smallest count allowed."""
    comment: bytes | None = None
    """Lines that start so are skipped."""


class OutOfOrder(Exception):  # noqa: N818  (nothing is wrong with the file)
    """Lines of a document do not all stand together, or not in the order of documents: it cannot be streamed."""


def read_uci(path: PathLike, told: CountReading) -> Counted:
    """Read UCI bag-of-words: lines D, W, NNZ, then ``document word count``; the words are in a file of their own.

    Format: https://archive.ics.uci.edu/dataset/164/bag+of+words
    """
    with open_uci(path, told.callback) as (shape, blocks):
        return Counted(_matrix(blocks, shape))


def read_mtx(path: PathLike, told: CountReading) -> Counted:
    """Read Matrix Market, ``coordinate`` and ``general``: integer, real (whole values) or pattern (all 1).

    Format: https://math.nist.gov/MatrixMarket/formats.html. Not by ``scipy.io.mmread``, which takes 1.5 in a matrix of
    integers for 1, and does not see a fourth number on a line.
    """
    with open_mtx(path, told.callback) as (shape, blocks):
        return Counted(_matrix(blocks, shape))


@contextmanager
def open_uci(
    path: PathLike, callback: Callback | None
) -> Generator[tuple[Shape, Iterator[NDArray[np.int64]]]]:
    """Open a file: what its header promises, and its lines, some at a time, as int64 (n, 3) with numbers from 0."""
    problems = Problems(os.fspath(path))
    with open_source(path) as source:
        shape = Shape(*(_uci_header(source.raw, number, problems.name) for number in (1, 2, 3)))
        yield shape, _blocks(source, shape, 4, problems, _Lines(), callback)


@contextmanager
def open_mtx(
    path: PathLike, callback: Callback | None
) -> Generator[tuple[Shape, Iterator[NDArray[np.int64]]]]:
    """Open a file: what its header promises, and its lines, some at a time, as int64 (n, 3) with numbers from 0."""
    problems = Problems(os.fspath(path))
    with open_source(path) as source:
        field = _mtx_banner(source.raw, problems.name)
        shape, line = _mtx_sizes(source.raw, problems.name)
        lines = _Lines(2 if field == "pattern" else 3, field in ("real", "double"), 0, b"%")
        yield shape, _blocks(source, shape, line + 1, problems, lines, callback)


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
        row = triples[:, 0]
        if int(row[0]) < last or bool((row[1:] < row[:-1]).any()):
            raise OutOfOrder
        last = int(row[-1])
        held.append(triples)
        n_held += len(triples)
        if n_held < _HELD_ENTRIES or last == first:
            continue
        whole = np.concatenate(held)
        cut = int(np.searchsorted(whole[:, 0], last))  # of the last row more may come
        yield _rows(whole[:cut].T, first, last, shape.n_columns)
        first, held, n_held = last, [whole[cut:].copy()], len(whole) - cut
    whole = np.concatenate(held or [np.zeros((0, 3), np.int64)])
    yield _rows(whole.T, first, shape.n_rows, shape.n_columns)


def write_uci(corpus: Corpus, file: IO[bytes], target: os.PathLike[str]) -> None:
    """Write the three header lines, then a line for each count."""
    del target
    _write_triples(corpus, file, f"{corpus.n_documents}\n{corpus.n_words}\n{corpus.counts.nnz}\n")


def write_mtx(corpus: Corpus, file: IO[bytes], target: os.PathLike[str]) -> None:
    """Write coordinate, general, and call the whole numbers real, without which gensim does not read them."""
    del target
    sizes = f"{corpus.n_documents} {corpus.n_words} {corpus.counts.nnz}\n"
    _write_triples(corpus, file, f"%%MatrixMarket matrix coordinate real general\n{sizes}")


def _write_triples(corpus: Corpus, file: IO[bytes], head: str) -> None:
    file.write(head.encode())
    for row, (words, counts) in enumerate(rows_of(corpus), 1):
        lines = [f"{row} {word + 1} {count}\n" for word, count in zip(words, counts, strict=True)]
        file.write("".join(lines).encode())


def _uci_header(raw: IO[bytes], number: int, name: str) -> int:
    line = raw.readline(64)
    if not line and number == 1:
        raise CorpusError(f"{name} is empty: expected a UCI bag-of-words file.")
    if not line.strip().isdigit():
        raise CorpusError(
            f"{name}, line {number}: expected the number of {('documents', 'words', 'entries')[number - 1]} "
            "and nothing else, as in a UCI bag-of-words file; for another format give ",
            Proposal("format"),
            ".",
        )
    return int(line)


def _mtx_banner(raw: IO[bytes], name: str) -> str:
    line = raw.readline(1024)
    if not line:
        raise CorpusError(f"{name} is empty: expected a Matrix Market file.")
    words = [word.decode("ascii", "replace") for word in line.lower().split()[:5]]
    if words[:1] != ["%%matrixmarket"]:
        raise CorpusError(
            f"{name}, line 1: expected %%MatrixMarket; for another format give ", Proposal("format"), "."
        )
    field = words[3] if len(words) == 5 else ""
    if words[1:] != ["matrix", "coordinate", field, "general"] or field not in _MTX_FIELDS:
        raise CorpusError(
            f'{name}, line 1: expected "matrix coordinate integer general" (or real, or pattern, for '
            "integer); write it as that."
        )
    return field


def _mtx_sizes(raw: IO[bytes], name: str) -> tuple[Shape, int]:
    """Return rows, columns and entries, and the number of their line."""
    number = 1
    for line in raw:
        number += 1
        if line.startswith(b"%") or line.isspace():
            continue
        parts = line.split()
        if len(parts) == 3 and all(part.isdigit() and len(part) <= 18 for part in parts):
            return Shape(*map(int, parts)), number
        break
    raise CorpusError(f"{name}, line {number}: expected three numbers: rows, columns and entries.")


def _blocks(
    source: Source, shape: Shape, line: int, problems: Problems, how: _Lines, callback: Callback | None
) -> Iterator[NDArray[np.int64]]:
    """Yield some lines at a time, to the end of the file; all that is wrong is one error, raised at the end."""
    if max(shape.n_rows, shape.n_columns) > _LARGEST:
        raise CorpusError(
            f"{problems.name}: more than {_LARGEST} rows or columns are promised; that is out of range."
        )
    refuse_emptiness(problems.name, "documents", shape.n_rows, shape.n_entries)
    n_read = 0
    while block := list(islice(source.raw, _BLOCK_LINES)):
        lines = [
            text
            for text in block
            if not text.isspace() and not (how.comment and text.startswith(how.comment))
        ]
        triples = _parsed(lines, how)
        if triples is None or not _in_range(triples, shape, how.least):
            _note_faults(block, line, shape, problems, how)
        elif len(triples) and not problems.found:
            triples[:, :2] -= 1
            yield triples
        n_read += len(lines)
        line += len(block)
        tell(callback, "reading", *source.progress())
    if n_read != shape.n_entries:
        problems.add(
            f"line {line}", f"the file ends after {n_read} entries, its header promises {shape.n_entries}"
        )
    problems.check()


def _parsed(lines: list[bytes], how: _Lines) -> NDArray[np.int64] | None:
    """Return the numbers of some lines, None where one is no number or is not whole."""
    if not lines:
        return np.zeros((0, 3), np.int64)
    values: Any = None
    try:
        values = np.loadtxt(lines, np.float64 if how.real else np.int64, comments=None, ndmin=2)
    except (ValueError, OverflowError):  # the error would show what it found
        return None
    if values.shape != (len(lines), how.n_fields):
        return None
    if how.real:
        if not (np.abs(values) < 2.0**53).all() or (values != np.floor(values)).any():
            return None
        values = values.astype(np.int64)
    return values if how.n_fields == 3 else np.column_stack([values, np.ones(len(values), np.int64)])


def _in_range(triples: NDArray[np.int64], shape: Shape, least: int) -> bool:
    if not len(triples):
        return True
    low, high = triples.min(axis=0), triples.max(axis=0)
    return bool((low >= (1, 1, least)).all() and (high <= (shape.n_rows, shape.n_columns, _LARGEST)).all())


def _note_faults(block: list[bytes], line: int, shape: Shape, problems: Problems, how: _Lines) -> None:
    """Note what is wrong with each line."""
    before = len(problems.found)
    for number, text in enumerate(block, line):
        if not text.isspace() and not (how.comment and text.startswith(how.comment)):
            fault = _fault(text.split(), shape, how)
            if fault is not None:
                problems.add(f"line {number}", fault)
    if len(problems.found) == before:
        problems.add(
            f"lines {line} to {line + len(block) - 1}", "expected whole numbers, found something else"
        )


def _fault(parts: list[bytes], shape: Shape, how: _Lines) -> str | None:
    if len(parts) != how.n_fields:
        return f"expected {how.n_fields} numbers, found {len(parts)} fields"
    numbers: list[int] = []
    for place, part in enumerate(parts):
        value = _whole(part, how.real and place == 2)
        if isinstance(value, str):
            return value
        numbers.append(value)
    row, column, *count = numbers
    if not 1 <= row <= shape.n_rows:
        return f"document number outside 1 to {shape.n_rows}"
    if not 1 <= column <= shape.n_columns:
        return f"word number outside 1 to {shape.n_columns}"
    return _count_fault(count[0], how.least) if count else None


def _count_fault(count: int, least: int) -> str | None:
    if count < 0:
        return "negative count"
    if count < least:
        return f"count below {least}"
    return "count above 2147483647" if count > _LARGEST else None


def _whole(part: bytes, real: bool) -> int | str:
    """Return a whole number, or what is wrong with it."""
    if b"_" in part:  # Python reads 1_0 as ten
        return "expected whole numbers, found something else"
    try:
        value = float(part)
    except ValueError:
        return "expected whole numbers, found something else"
    if np.isnan(value):
        return "a count is NaN, expected a whole number"
    if abs(value) >= 2**62:
        return "a number is out of range (above 2147483647)"
    if not value.is_integer():
        return "a count is not a whole number"
    if not real and not part.lstrip(b"+-").isdigit():
        return "expected whole numbers without a decimal point"
    return int(value)


def _matrix(blocks: Iterator[NDArray[np.int64]], shape: Shape) -> Csr:
    """Return all lines as a matrix; repeated places are not summed yet."""
    rows, columns, counts = Int32Buffer(), Int32Buffer(), Int32Buffer()
    for triples in blocks:
        for held, values in zip((rows, columns, counts), triples.T, strict=True):
            held.append(values)
    entries = (rows.take(), columns.take(), counts.take())
    row = entries[0]
    if not (row[1:] >= row[:-1]).all():
        order = np.argsort(row, kind="stable")
        entries = tuple(values[order] for values in entries)
    return _rows(entries, 0, shape.n_rows, shape.n_columns)


def _rows(entries: Any, first: int, end: int, n_columns: int) -> Csr:
    """Return the rows from ``first`` to before ``end``, whose entries (row, column, count) ascend by row."""
    row, column, count = entries
    indptr = np.zeros(end - first + 1, np.int64)
    np.cumsum(np.bincount(row - first, minlength=end - first), out=indptr[1:])
    kind = np.int32 if indptr[-1] <= _LARGEST else np.int64
    return sp.csr_matrix((count, column, indptr.astype(kind)), shape=(end - first, n_columns))


# A line of pairs for each document


_PAIRS = re.compile(rb"(?:\s*\d{1,18}:\d{1,18}(?=\s|\Z))*\s*")
#: As scikit-learn writes it, where it writes a comment.
_SAYS_BASE = re.compile(rb"Column indices are (zero|one)-based")
_INTEGER = re.compile(rb"[+-]?\d{1,18}(?:\.0*)?")


class _Documents:
    """Documents given as pairs, a row each."""

    def __init__(self, problems: Problems, first: int, n_words: int | None) -> None:
        self.problems, self.first, self.n_words = problems, first, n_words
        self.width = self.n_rows = 0
        self._columns, self._counts, self._sizes = array("i"), array("i"), array("q")

    def add(self, line: int, rest: bytes) -> int:
        """Add the document whose pairs are ``rest``; returns how many pairs, or -1 where they are broken."""
        self.n_rows += 1
        numbers = _pairs(rest)
        if isinstance(numbers, str):
            self.problems.add(f"line {line}", numbers)
            return -1
        words, counts = numbers[::2], numbers[1::2]
        most = _LARGEST if self.n_words is None else self.n_words
        if words and not self.first <= min(words) <= max(words) < most + self.first:
            self.problems.add(f"line {line}", f"word number outside {self.first} to {most - 1 + self.first}")
            if min(words) == 0 and self.first == 1:
                self.problems.advise(
                    "; ",
                    Proposal("zero_based", True),
                    " where words are numbered from 0, as scikit-learn does by default",
                )
        faults = [fault for fault in map(_count_fault, counts, [0] * len(counts)) if fault is not None]
        if faults:
            self.problems.add(f"line {line}", faults[0])
        if not self.problems.found:
            self.width = max(self.width, 1 + max(words, default=-1) - self.first)
            self._columns.extend(word - self.first for word in words)
            self._counts.extend(counts)
            self._sizes.append(len(words))
        return len(words)

    def matrix(self) -> Csr:
        """Return the counts; as wide as the vocabulary, or as the largest number met."""
        self.problems.check()
        if self.n_rows == 0:
            raise CorpusError(f"{self.problems.name} is empty: expected at least one document.")
        indptr = np.cumsum([0, *self._sizes])
        columns, counts = np.array(self._columns, np.int32), np.array(self._counts, np.int32)
        shape = (self.n_rows, self.width if self.n_words is None else self.n_words)
        return sp.csr_matrix((counts, columns, indptr), shape=shape)


def read_ldac(path: PathLike, told: CountReading) -> Counted:
    """Read LDA-C (Blei's ``lda-c``): ``M w:n w:n ...`` with M the number of pairs, words numbered from 0.

    As many words as were given; otherwise the largest number met says.
    """
    problems = Problems(os.fspath(path))
    documents = _Documents(problems, 0, told.n_words)
    with open_source(path) as source:
        for line, text in _numbered(source, told.callback):
            head, _, rest = text.partition(b" ")
            if not head.isdigit():
                problems.add(f"line {line}", "expected the number of different words first, as in LDA-C")
            elif (size := documents.add(line, rest)) >= 0 and size != int(head):
                problems.add(f"line {line}", f"{int(head)} different words are promised, {size} are there")
    return Counted(documents.matrix())


def write_ldac(corpus: Corpus, file: IO[bytes], target: os.PathLike[str]) -> None:
    """Write a line for each document."""
    del target
    for words, counts in rows_of(corpus):
        file.write(f"{len(words)}{_show_pairs(words, counts, 0)}\n".encode())


def read_svmlight(path: PathLike, told: CountReading) -> Counted:
    """Read ``label w:n w:n ... # comment``, words numbered from 1; ``qid:`` and comments are skipped.

    As many words as were given; otherwise the largest number met says. Labels are int, or str where one is not a whole
    number, which ``sklearn.datasets.load_svmlight_file`` does not take.
    """
    problems = Problems(os.fspath(path))
    zero_based = told.zero_based
    documents = _Documents(problems, 0 if zero_based else 1, told.n_words)
    labels: list[bytes] = []
    with open_source(path) as source:
        for line, text in _numbered(source, told.callback):
            said = _SAYS_BASE.search(text)
            if said is not None and zero_based is None and documents.n_rows == 0:
                zero_based = said[1] == b"zero"
                documents = _Documents(problems, 0 if zero_based else 1, told.n_words)
            label, _, rest = text.partition(b"#")[0].strip().partition(b" ")
            if not label:
                continue
            if b":" in label:
                problems.add(f"line {line}", "expected a label first, as in SVMlight")
                continue
            documents.add(line, re.sub(rb"\bqid:\S+", b"", rest) if b"qid:" in rest else rest)
            labels.append(label)
    counts = documents.matrix()
    if zero_based is None and told.n_words is not None and documents.width < told.n_words:
        # Neither the number 0 nor the last one occurs: a file that numbers from 0 would be read one word off.
        raise CorpusError(
            f"{problems.name}: its numbers of words would fit from 0 and from 1; say which: ",
            Proposal("zero_based", True),
            " or ",
            Proposal("zero_based", False),
            ".",
        )
    if all(map(_INTEGER.fullmatch, labels)):
        return Counted(counts, labels=[int(float(label)) for label in labels])
    return Counted(counts, labels=[label.decode("utf-8", "backslashreplace") for label in labels])


def write_svmlight(corpus: Corpus, file: IO[bytes], target: os.PathLike[str]) -> None:
    """Write a line for each document; its label is 0 where labels are not numbers."""
    del target
    file.write(b"# Column indices are one-based\n")
    given = corpus.labels
    labels = given.tolist() if given is not None and given.dtype.kind == "i" else [0] * corpus.n_documents
    for label, (words, counts) in zip(labels, rows_of(corpus), strict=True):
        file.write(f"{label}{_show_pairs(words, counts, 1)}\n".encode())


def _numbered(source: Source, callback: Callback | None) -> Iterator[tuple[int, bytes]]:
    """Yield numbered lines that are not blank."""
    for number, line in enumerate(source.raw, 1):
        if not line.isspace():
            yield number, line.strip().replace(b"\t", b" ")
        if number % _TELL_EVERY == 0:
            tell(callback, "reading", *source.progress())


def _pairs(rest: bytes) -> list[int] | str:
    """Return words and counts in turn, or what is wrong with them."""
    if _PAIRS.fullmatch(rest) is not None:
        return list(map(int, rest.replace(b":", b" ").split()))
    numbers: list[int] = []
    for part in rest.split():
        word, _, count = part.partition(b":")
        for text, real in ((word, False), (count, True)):
            value = _whole(text, real)
            if isinstance(value, str):
                wrong = value.startswith("expected whole numbers")
                return "expected pairs number:count, found something else" if wrong else value
            numbers.append(value)
    return numbers


def _show_pairs(words: list[int], counts: list[int], first: int) -> str:
    """Return pairs as text, a blank before each; words are numbered from ``first``."""
    return "".join(f" {word + first}:{count}" for word, count in zip(words, counts, strict=True))
