"""Counts of words: UCI and Matrix Market, a table of counts, a matrix of scipy's, shards.

UCI and Matrix Market hold a line ``row column count`` for each count. Their lines are read as they come, and a broken
one is named by its number.
"""

import csv
import io
import json
import os
from array import array
from collections import defaultdict
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from itertools import count as numbers_from
from itertools import islice
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from discreet._base.progress import Callback, tell
from discreet.corpus.corpus import Corpus
from discreet.corpus.counting import Csr, Int32Buffer, refuse_emptiness
from discreet.corpus.files import (
    PathLike,
    Problems,
    Source,
    decoded,
    open_source,
    refuse_emptiness_of,
    unless_damaged,
)
from discreet.corpus.formats.records import show_fields
from discreet.corpus.formats.table import Counted, CountReading
from discreet.corpus.formats.text_files import csv_rows, refuse_other_delimiter, separator
from discreet.corpus.shards.sharded_corpus import ShardedCorpus
from discreet.corpus.vocabulary import UNKNOWN, WordOrigin, check_words
from discreet.errors import CorpusError, Proposal

_LARGEST = 2**31 - 1
_TELL_EVERY = 10_000
_BLOCK_LINES = 1 << 17
_HELD_ENTRIES = 1 << 22
_MTX_FIELDS = ("integer", "unsigned-integer", "real", "double", "pattern")


# ---- UCI and Matrix Market


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
    for row, pairs in enumerate(_pairs(corpus), 1):
        file.write("".join(f"{row} {word + 1} {count}\n" for word, count in pairs).encode())


def _pairs(corpus: Corpus) -> Iterator[Iterator[tuple[int, int]]]:
    """Yield the words and counts of each document."""
    counts = corpus.counts
    for start, end in zip(counts.indptr[:-1], counts.indptr[1:], strict=True):
        yield zip(counts.indices[start:end].tolist(), counts.data[start:end].tolist(), strict=True)


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
    rule = f"; a line holds a document from 1 to {shape.n_rows} and a word from 1 to {shape.n_columns}"
    rule += f" and a count from {how.least} to {_LARGEST}" if how.n_fields == 3 else ""
    fault = f"expected {how.n_fields} whole numbers{'' if how.real else ' without a decimal point'}, each in its range"
    n_read = 0
    while block := list(islice(source.raw, _BLOCK_LINES)):
        lines = [
            (number, text)
            for number, text in enumerate(block, line)
            if not text.isspace() and not (how.comment and text.startswith(how.comment))
        ]
        triples = _triples([text for _, text in lines], shape, how)
        if triples is None:
            for number in _broken(lines, shape, how):
                problems.advise(rule)
                problems.add(f"line {number}", fault)
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


def _triples(lines: list[bytes], shape: Shape, how: _Lines) -> NDArray[np.int64] | None:
    """Return the numbers of some lines, None where one is not what it should be."""
    if not lines:
        return np.zeros((0, 3), np.int64)
    values: Any = None
    try:
        values = np.loadtxt(lines, np.float64 if how.real else np.int64, comments=None, ndmin=2)
    except (ValueError, OverflowError):  # the error would show what it found
        return None
    if values.shape != (len(lines), how.n_fields) or not (np.abs(values) < 2.0**53).all():
        return None
    if how.real and (values != np.floor(values)).any():
        return None
    ones = np.ones((len(values), 3 - how.n_fields), np.int64)
    triples = np.hstack([values.astype(np.int64), ones])
    low, high = triples.min(axis=0), triples.max(axis=0)
    most = (shape.n_rows, shape.n_columns, _LARGEST)
    return triples if (low >= (1, 1, how.least)).all() and (high <= most).all() else None


def _broken(lines: list[tuple[int, bytes]], shape: Shape, how: _Lines) -> Iterator[int]:
    """Yield the numbers of the lines that are not what they should be, by looking at halves of them."""
    if _triples([text for _, text in lines], shape, how) is not None:
        return
    if len(lines) == 1:
        yield lines[0][0]
        return
    middle = len(lines) // 2
    yield from _broken(lines[:middle], shape, how)
    yield from _broken(lines[middle:], shape, how)


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


# ---- a table with a row for each count


_COLUMNS = ("document", "word", "count")


def read_csv_counts(path: PathLike, told: CountReading) -> Counted:
    """Read CSV with the columns document, word, count; other words than those given are dropped.

    Documents are numbered in order of first appearance of whatever stands in ``document``; rows of one document may
    stand apart. A row with no word and count 0 is how an empty document is written.
    """
    problems = Problems(os.fspath(path))
    row_of: dict[str, int] = defaultdict(numbers_from().__next__)
    column_of: dict[str, int] = defaultdict(numbers_from().__next__)
    if told.words is not None:
        column_of = {word: column for column, word in enumerate(told.words)}
    rows, columns, counts = array("i"), array("i"), array("i")
    with open_source(path) as source, decoded(source, path, told.encoding, newline="") as file:
        delimiter = separator(path, told.delimiter)
        header, lines = csv_rows(file, problems, delimiter)
        refuse_other_delimiter(header, _COLUMNS, delimiter, problems.name)
        absent = [column for column in _COLUMNS if column not in header]
        if absent:
            raise CorpusError(
                f"{problems.name} has no column {', '.join(absent)}; its columns are {show_fields(header)}. "
                "Counts stand in columns document, word, count; for raw text leave out -counts of the format."
            )
        at, word_at, count_at = (header.index(column) for column in _COLUMNS)
        for line, cells in lines:
            document, word, count = cells[at], cells[word_at], _csv_count(cells[count_at])
            if count is None or not document or (count and not word):
                fault = "no word" if document else "no document"
                fault = (
                    fault if count is not None else f"the count is not a whole number from 0 to {_LARGEST}"
                )
                problems.add(f"line {line}", fault)
                continue
            row = row_of[document]
            column = column_of[word] if told.words is None and word else column_of.get(word, -1)
            if column >= 0 and count:
                rows.append(row)
                columns.append(column)
                counts.append(count)
            if line % _TELL_EVERY == 0:
                tell(told.callback, "reading", *source.progress())
    problems.check()
    if not row_of:
        raise CorpusError(f"{problems.name} is empty: expected at least one row.")
    words, place = tuple(column_of), np.array(columns, np.int32)
    if told.words is None:
        words = tuple(sorted(column_of))
        number = {word: column for column, word in enumerate(words)}
        place = np.array([number[word] for word in column_of], np.int32)[place]
    if not words:
        raise CorpusError(f"{problems.name}: no words in {len(row_of)} document{'s' * (len(row_of) != 1)}.")
    # int64: entries of one document and word are summed here, and the sum is checked against int32 later.
    entries = np.array(counts, np.int64)
    return Counted(
        sp.coo_matrix((entries, (np.array(rows, np.int32), place)), shape=(len(row_of), len(words))).tocsr(),
        words,
    )


def write_csv_counts(corpus: Corpus, file: IO[bytes], target: os.PathLike[str]) -> None:
    """Write a line for each count; a document without words takes one, with no word and count 0."""
    text = io.TextIOWrapper(file, encoding="utf-8", newline="", write_through=True)
    writer = csv.writer(text, delimiter=separator(target, None), lineterminator="\n")
    writer.writerow(_COLUMNS)
    for row, pairs in enumerate(_pairs(corpus)):
        writer.writerows([(row, corpus.vocabulary[word], count) for word, count in pairs] or [(row, "", 0)])
    text.detach()


def _csv_count(cell: str) -> int | None:
    digits = cell.strip()
    good = digits.isascii() and digits.isdigit() and len(digits) <= 18 and int(digits) <= _LARGEST
    return int(digits) if good else None


# ---- matrices of scipy, and shards


#: Members of the archive beside scipy's own: words, where they come from, and labels are UTF-8 JSON as bytes, persons
#: an array. scipy's ``load_npz`` ignores what it does not know.
_VOCABULARY, _PERSONS = "discreet.vocabulary", "discreet.persons"
_LABELS, _ORIGIN = "discreet.labels", "discreet.word_origin"


def read_npz(path: PathLike, told: CountReading) -> Counted:
    """Read what ``scipy.sparse.save_npz`` or :func:`write_corpus` wrote; nothing is unpickled."""
    del told
    refuse_emptiness_of(path, "a sparse matrix of scipy.sparse.save_npz")
    damaged = CorpusError(
        f"{os.fspath(path)} is not a sparse matrix of scipy.sparse.save_npz, or is damaged; write it with that."
    )
    # Opened here: numpy leaves it open where the archive is damaged.
    with unless_damaged(damaged), Path(path).open("rb") as raw:
        with np.load(raw, allow_pickle=False) as file:
            words = _json_list(file[_VOCABULARY]) if _VOCABULARY in file else None
            labels = _json_list(file[_LABELS]) if _LABELS in file else None
            persons = file.get(_PERSONS)
            origin = UNKNOWN
            if _ORIGIN in file and words is not None:
                words = check_words(words, "word")
                origin = WordOrigin.from_json(json.loads(file[_ORIGIN].tobytes()), words)
        raw.seek(0)
        return Counted(sp.load_npz(raw), words, persons, labels, origin)


def write_npz(corpus: Corpus, file: IO[bytes], target: os.PathLike[str]) -> None:
    """Write everything that a corpus is."""
    del target
    counts = corpus.counts
    arrays: dict[str, Any] = {
        "indices": counts.indices,
        "indptr": counts.indptr,
        "format": np.array(b"csr"),
        "shape": np.array(counts.shape),
        "data": counts.data,
        _VOCABULARY: _json(corpus.vocabulary),
        _ORIGIN: _json(corpus.word_origin.to_json(corpus.vocabulary)),
    }
    if corpus.persons is not None:
        arrays[_PERSONS] = corpus.persons
    if corpus.labels is not None:
        arrays[_LABELS] = _json(corpus.labels.tolist())
    np.savez_compressed(file, **arrays)


def read_shards(path: PathLike, told: CountReading) -> Counted:
    """Read all shards of a folder into memory.

    Raises
    ------
    CorpusError
        Where the folder was not written to its end, or a shard is not the one that was written.
    """
    del told
    corpus = ShardedCorpus(Path(path)).to_corpus()
    return Counted(
        corpus.counts, corpus.vocabulary, corpus.persons, corpus.labels, corpus.word_origin, corpus.cut
    )


def _json_list(member: Any) -> list[Any]:
    value = json.loads(member.tobytes())
    if not isinstance(value, list):
        raise TypeError
    return list[Any](value)


def _json(value: Any) -> NDArray[np.uint8]:
    return np.frombuffer(json.dumps(value, ensure_ascii=False).encode(), np.uint8)
