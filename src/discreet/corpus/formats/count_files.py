"""Counts that come with their words: a table of counts, a matrix of scipy's, shards."""

import csv
import io
import json
import os
from array import array
from collections import defaultdict
from itertools import count as numbers_from
from pathlib import Path
from typing import IO, Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from discreet._base.progress import tell
from discreet.corpus.corpus import Corpus
from discreet.corpus.files import (
    PathLike,
    Problems,
    decoded,
    open_source,
    refuse_emptiness_of,
    unless_damaged,
)
from discreet.corpus.formats.records import show_fields
from discreet.corpus.formats.table import Counted, CountReading
from discreet.corpus.formats.text_files import csv_rows, refuse_other_delimiter, rows_of, separator
from discreet.corpus.shards.sharded_corpus import ShardedCorpus
from discreet.corpus.vocabulary import UNKNOWN, WordOrigin, check_words
from discreet.errors import CorpusError

_LARGEST = 2**31 - 1
_TELL_EVERY = 10_000


# A table with a row for each count


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
            if isinstance(count, str) or not document or (count and not word):
                fault = count if isinstance(count, str) else "no word" if document else "no document"
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
    for row, (words, counts) in enumerate(rows_of(corpus)):
        lines = [(row, corpus.vocabulary[word], count) for word, count in zip(words, counts, strict=True)]
        writer.writerows(lines or [(row, "", 0)])
    text.detach()


def _csv_count(cell: str) -> int | str:
    """Return a count, or what is wrong with it."""
    digits = cell.strip()
    if digits.startswith("-"):
        return "negative count"
    if not (digits.isascii() and digits.isdigit()):
        return "the count is not a whole number"
    count = int(digits) if len(digits) <= 18 else _LARGEST + 1
    return count if count <= _LARGEST else "count above 2147483647"


# Matrices of scipy, and shards


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
