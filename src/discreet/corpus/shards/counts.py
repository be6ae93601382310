"""From a file of counts to shards, without ever holding it: UCI and Matrix Market, where documents come in order."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet._base.persons import check_labels, number_persons
from discreet._base.progress import Callback
from discreet.corpus.check import Csr
from discreet.corpus.corpus import Corpus
from discreet.corpus.files import PathLike
from discreet.corpus.formats.count_lines import OutOfOrder, stream_rows
from discreet.corpus.formats.table import reader_of
from discreet.corpus.read import as_numbers, declared, name_columns, one_a_line, read_corpus
from discreet.corpus.shards.sharded_corpus import ShardedCorpus
from discreet.corpus.shards.write import write_shards
from discreet.corpus.vocabulary import UNKNOWN, WordList, WordOrigin, load_vocabulary

__all__ = ["STREAMED_COUNTS", "read_counts_into_shards"]

#: Formats of counts that are streamed; what else holds counts is read into memory first.
STREAMED_COUNTS = ("uci", "mtx")


def read_counts_into_shards(
    path: PathLike,
    folder: PathLike,
    name: str,
    *,
    shard_documents: int,
    vocabulary: WordList | None = None,
    persons: Any = None,
    labels: Any = None,
    encoding: str = "utf-8",
    words_are_public: bool = False,
    callback: Callback | None = None,
) -> ShardedCorpus:
    """Write the shards of a file of counts.

    Options are those of :func:`read_corpus`. In memory are some million counts and, where they are given, persons and
    labels. A file whose documents do not come in order is read into memory after all.

    Raises
    ------
    CorpusError
        As :func:`read_corpus` and :func:`write_shards` do; nothing is left of the folder then.
    """
    row = reader_of(name)
    listed = None if vocabulary is None else load_vocabulary(vocabulary, encoding=encoding)
    given: dict[str, Any] = {
        "persons": None if persons is None else one_a_line(persons, encoding),
        "labels": None if labels is None else as_numbers(one_a_line(labels, encoding)),
    }
    try:
        with row.function("open")(path, callback) as (shape, blocks):
            size = (shape.n_rows, shape.n_columns)
            words, origin = name_columns(path, row, size, shape.n_entries, (None, UNKNOWN), listed)
            origin = declared(origin, words_are_public, listed is not None, "read_into_shards")
            numbers = None if given["persons"] is None else number_persons(given["persons"], shape.n_rows)
            known = check_labels(None, given["labels"], shape.n_rows)
            stream = _pieces(stream_rows(blocks, shape), words, origin, known, numbers)
            return write_shards(stream, folder, shard_documents=shard_documents, callback=callback)
    except OutOfOrder:
        pass
    corpus = read_corpus(path, name, vocabulary=listed, words_are_public=words_are_public, **given)
    return write_shards(corpus, folder, shard_documents=shard_documents, callback=callback)


def _pieces(
    parts: Iterator[Csr],
    words: tuple[str, ...],
    origin: WordOrigin,
    labels: NDArray[Any] | None,
    persons: NDArray[np.int64] | None,
) -> Iterator[Any]:
    first = 0
    for counts in parts:
        rows = slice(first, first + counts.shape[0])
        piece = Corpus(counts, words, None, None if labels is None else labels[rows]).with_word_origin(origin)
        yield piece if persons is None else (piece, persons[rows])
        first = rows.stop
