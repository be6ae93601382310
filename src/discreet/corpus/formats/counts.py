"""Counts of words: UCI and Matrix Market, a matrix of scipy's, shards.

UCI and Matrix Market hold a line ``row column count`` for each count. Their lines are read as they come, and a broken
one is named by its number.
"""

import json
import os
import warnings
from itertools import islice
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from discreet._base.progress import Callback, tell
from discreet.corpus.corpus import Corpus
from discreet.corpus.counting import Int32Buffer
from discreet.corpus.files import PathLike, Problems, Source, open_source, refuse_emptiness_of, unless_damaged
from discreet.corpus.formats.table import Counted
from discreet.corpus.shards.shard_file import json_bytes, labels_of
from discreet.corpus.shards.sharded_corpus import ShardedCorpus
from discreet.corpus.vocabulary import UNKNOWN, WordOrigin
from discreet.errors import CorpusError

_LARGEST = 2**31 - 1
_BLOCK_LINES = 1 << 17
_MTX_FIELDS = ("integer", "unsigned-integer", "real", "double", "pattern")


# ---- UCI and Matrix Market


class _Lines(NamedTuple):
    """What the header promises, and how the lines ``row column count`` are written: numbers from 1."""

    n_rows: int
    n_columns: int
    n_entries: int
    #: Number of the first line behind the header.
    first: int
    #: 3, or 2 where the count is left out and is 1.
    n_fields: int = 3
    #: Whether a count may be written as ``2.0``.
    real: bool = False
    #: Smallest count allowed.
    least: int = 1
    #: Lines that start so are skipped.
    comment: bytes | None = None


def read_uci(path: PathLike, callback: Callback | None) -> Counted:
    """Read UCI bag-of-words: lines D, W, NNZ, then ``document word count``; the words are in a file of their own.

    Format: https://archive.ics.uci.edu/dataset/164/bag+of+words
    """
    name = os.fspath(path)
    with open_source(path) as source:
        sizes = (_uci_header(source.raw, number, name) for number in (1, 2, 3))
        return _read_triples(source, _Lines(*sizes, first=4), name, callback)


def read_mtx(path: PathLike, callback: Callback | None) -> Counted:
    """Read Matrix Market, ``coordinate`` and ``general``: integer, real (whole values) or pattern (all 1).

    Format: https://math.nist.gov/MatrixMarket/formats.html. Not by ``scipy.io.mmread``, which takes 1.5 in a matrix of
    integers for 1, does not see a fourth number on a line, and ends the process at a zero byte.
    """
    name = os.fspath(path)
    with open_source(path) as source:
        field = _mtx_banner(source.raw, name)
        sizes, line = _mtx_sizes(source.raw, name)
        how = _Lines(*sizes, first=line + 1, least=0, comment=b"%")
        how = how._replace(n_fields=2 if field == "pattern" else 3, real=field in ("real", "double"))
        return _read_triples(source, how, name, callback)


def write_uci(corpus: Corpus, file: IO[bytes]) -> None:
    """Write the three header lines, then a line for each count."""
    _write_triples(corpus, file, f"{corpus.n_documents}\n{corpus.n_words}\n{corpus.counts.nnz}\n")


def write_mtx(corpus: Corpus, file: IO[bytes]) -> None:
    """Write coordinate, general, and call the whole numbers real, without which gensim does not read them."""
    sizes = f"{corpus.n_documents} {corpus.n_words} {corpus.counts.nnz}\n"
    _write_triples(corpus, file, f"%%MatrixMarket matrix coordinate real general\n{sizes}")


def _write_triples(corpus: Corpus, file: IO[bytes], head: str) -> None:
    file.write(head.encode())
    counts = corpus.counts
    for row in range(corpus.n_documents):
        held = slice(*counts.indptr[row : row + 2])
        pairs = zip(counts.indices[held].tolist(), counts.data[held].tolist(), strict=True)
        file.write("".join(f"{row + 1} {word + 1} {count}\n" for word, count in pairs).encode())


def _uci_header(raw: IO[bytes], number: int, name: str) -> int:
    line = raw.readline(64)
    if not line and number == 1:
        raise CorpusError(f"{name} is empty: expected a UCI bag-of-words file.")
    if not line.strip().isdigit():
        raise CorpusError(
            f"{name}, line {number}: expected the number of {('documents', 'words', 'entries')[number - 1]} "
            "and nothing else, as in a UCI bag-of-words file; for another format give `format=`."
        )
    return int(line)


def _mtx_banner(raw: IO[bytes], name: str) -> str:
    line = raw.readline(1024)
    if not line:
        raise CorpusError(f"{name} is empty: expected a Matrix Market file.")
    words = [word.decode("ascii", "replace") for word in line.lower().split()[:5]]
    if words[:1] != ["%%matrixmarket"]:
        raise CorpusError(f"{name}, line 1: expected %%MatrixMarket; for another format give `format=`.")
    field = words[3] if len(words) == 5 else ""
    if words[1:] != ["matrix", "coordinate", field, "general"] or field not in _MTX_FIELDS:
        raise CorpusError(
            f'{name}, line 1: expected "matrix coordinate integer general" (or real, or pattern, for '
            "integer); write it as that."
        )
    return field


def _mtx_sizes(raw: IO[bytes], name: str) -> tuple[list[int], int]:
    """Return rows, columns and entries, and the number of their line."""
    number, line = 1, b"%"
    while line.startswith(b"%") or line.isspace():
        number, line = number + 1, raw.readline()
    sizes = line.split()
    if len(sizes) != 3 or not all(size.isdigit() and len(size) <= 18 for size in sizes):
        raise CorpusError(f"{name}, line {number}: expected three numbers: rows, columns and entries.")
    return [int(size) for size in sizes], number


def _read_triples(source: Source, how: _Lines, name: str, callback: Callback | None) -> Counted:
    """Read all lines behind the header; all that is wrong is one error. Repeated places are not summed yet."""
    problems, line, n_read = Problems(name), how.first, 0
    # An empty row costs its header nothing, and memory all the same; and each column has a name.
    if max(how.n_rows, how.n_columns) > min(how.n_entries + 2**20, _LARGEST):
        raise CorpusError(f"{name}: far more rows or columns are promised than entries; write it anew.")
    rule = f"; a line holds a document from 1 to {how.n_rows} and a word from 1 to {how.n_columns}"
    rule += f" and a count from {how.least} to {_LARGEST}" if how.n_fields == 3 else ""
    fault = f"expected {how.n_fields} whole numbers{'' if how.real else ' without a decimal point'}, each in its range"
    held = rows, columns, counts = Int32Buffer(), Int32Buffer(), Int32Buffer()
    while block := list(islice(source.raw, _BLOCK_LINES)):
        lines = [
            (number, text)
            for number, text in enumerate(block, line)
            if not text.isspace() and not (how.comment and text.startswith(how.comment))
        ]
        triples = _triples([text for _, text in lines], how)
        if triples is None:
            problems.advice = rule
            for number, text in lines:
                if _triples([text], how) is None:
                    problems.add(f"line {number}", fault)
        else:
            for part, values in zip(held, triples.T, strict=True):
                part.append(values)
        n_read += len(lines)
        line += len(block)
        tell(callback, "reading", *source.progress())
    if n_read != how.n_entries:
        problems.add(
            f"line {line}", f"the file ends after {n_read} entries, its header promises {how.n_entries}"
        )
    problems.check()
    row, column, count = rows.take(), columns.take(), counts.take()
    row -= 1
    column -= 1
    if not (row[1:] >= row[:-1]).all():
        order = np.argsort(row, kind="stable")
        row, column, count = row[order], column[order], count[order]
    indptr = np.zeros(how.n_rows + 1, np.int32 if n_read <= _LARGEST else np.int64)
    np.cumsum(np.bincount(row, minlength=how.n_rows), out=indptr[1:])
    return Counted(sp.csr_matrix((count, column, indptr), shape=(how.n_rows, how.n_columns)))


def _triples(lines: list[bytes], how: _Lines) -> NDArray[np.int64] | None:
    """Return the numbers of some lines, None where one is not what it should be."""
    if not lines:
        return np.zeros((0, 3), np.int64)
    values: Any = None
    try:
        with warnings.catch_warnings(action="error"):  # of lines that are blank to numpy alone
            values = np.loadtxt(lines, np.float64 if how.real else np.int64, comments=None, ndmin=2)
    except (ValueError, OverflowError, UserWarning):  # the error would show what it found
        return None
    if values.shape != (len(lines), how.n_fields) or not (np.abs(values) < 2.0**53).all():
        return None
    if how.real and (values != np.floor(values)).any():
        return None
    ones = np.ones((len(values), 3 - how.n_fields), np.int64)
    triples = np.hstack([values.astype(np.int64), ones])
    low, high = triples.min(axis=0), triples.max(axis=0)
    most = (how.n_rows, how.n_columns, _LARGEST)
    return triples if (low >= (1, 1, how.least)).all() and (high <= most).all() else None


# ---- matrices of scipy, and shards


#: Members of the archive beside scipy's own: words, where they come from, and labels are UTF-8 JSON as bytes, persons
#: an array. scipy's ``load_npz`` ignores what it does not know.
_VOCABULARY, _PERSONS = "discreet.vocabulary", "discreet.persons"
_LABELS, _ORIGIN = "discreet.labels", "discreet.word_origin"


def read_npz(path: PathLike, _callback: Callback | None) -> Counted:
    """Read what ``scipy.sparse.save_npz`` or :func:`write_corpus` wrote; nothing is unpickled."""
    refuse_emptiness_of(path, "a sparse matrix of scipy.sparse.save_npz")
    damaged = CorpusError(
        f"{os.fspath(path)} is not a sparse matrix of scipy.sparse.save_npz, or is damaged; write it with that."
    )
    # Opened here: numpy leaves it open where the archive is damaged.
    with unless_damaged(damaged), Path(path).open("rb") as raw:
        with np.load(raw, allow_pickle=False) as file:
            words = list[str](_json_of(file[_VOCABULARY])) if _VOCABULARY in file else None
            origin = UNKNOWN
            if _ORIGIN in file and words is not None:
                origin = WordOrigin.from_json(_json_of(file[_ORIGIN]), words)
            labels = labels_of(file[_LABELS]) if _LABELS in file else None
            persons = file.get(_PERSONS)
        raw.seek(0)
        return Counted(sp.load_npz(raw), words, persons, labels, origin)


def write_npz(corpus: Corpus, file: IO[bytes]) -> None:
    """Write everything that a corpus is."""
    counts = corpus.counts
    arrays: dict[str, Any] = {
        "indices": counts.indices,
        "indptr": counts.indptr,
        "format": np.array(b"csr"),
        "shape": np.array(counts.shape),
        "data": counts.data,
        _VOCABULARY: json_bytes(corpus.vocabulary),
        _ORIGIN: json_bytes(corpus.word_origin.to_json(corpus.vocabulary)),
    }
    if corpus.persons is not None:
        arrays[_PERSONS] = corpus.persons
    if corpus.labels is not None:
        arrays[_LABELS] = json_bytes(corpus.labels.tolist())
    np.savez_compressed(file, **arrays)


def read_shards(path: PathLike, _callback: Callback | None) -> Counted:
    """Read all shards of a folder into memory.

    Raises
    ------
    CorpusError
        Where the folder was not written to its end, or a shard is not the one that was written.
    """
    corpus = ShardedCorpus(Path(path)).to_corpus()
    return Counted(*(getattr(corpus, name) for name in Counted._fields))


def _json_of(member: NDArray[np.uint8]) -> Any:
    return json.loads(member.tobytes())
