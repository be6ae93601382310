"""Writing shards: from a corpus, or from a stream that is never held, as of UCI and Matrix Market files in order."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet._base.persons import check_labels, knows_persons, number_persons
from discreet._base.progress import Callback, tell
from discreet._base.validate import check, kind_of, whole
from discreet.corpus.corpus import Corpus
from discreet.corpus.counting import Csr, canonical_counts
from discreet.corpus.files import PathLike
from discreet.corpus.formats.counts import OutOfOrder, stream_rows
from discreet.corpus.formats.table import reader_of
from discreet.corpus.read import as_numbers, declared, name_columns, one_a_line, read_corpus
from discreet.corpus.shards.shard_file import Manifest, Rows, write_manifest
from discreet.corpus.shards.sharded_corpus import ShardedCorpus
from discreet.corpus.shards.spill import NewFolder, ShardCutter, Spill, take
from discreet.corpus.vocabulary import (
    UNKNOWN,
    WordList,
    WordOrigin,
    choices_of,
    load_vocabulary,
    refuse_public,
)
from discreet.errors import CorpusError, ParameterError

SHARD_DOCUMENTS = 100_000
_PIECE = 50_000


def write_shards(
    corpus: Any,
    folder: PathLike,
    *,
    shard_documents: int = SHARD_DOCUMENTS,
    vocabulary: WordList | None = None,
    words_are_public: bool = False,
    callback: Callback | None = None,
) -> ShardedCorpus:
    """Write a corpus, or a stream of pieces of one, to a new folder of shards.

    Parameters
    ----------
    corpus : Corpus, ShardedCorpus, or iterable of counts or of (counts, persons)
        What to write. Pieces of a stream are matrices of counts with the same columns, or Corpora without persons; or
        pairs of such counts and whose documents they are, as ids in any way :mod:`discreet._base.persons` knows, the
        same for a person in each piece. Pieces are read one at a time.
    folder : path
        Made anew; must not exist, or be empty. Only its owner can read what is in it.
    shard_documents : int, default 100000
        Documents a shard; with persons, so many more as the last person of a shard has.
    vocabulary : path or sequence of str, optional
        The word of each column, where the pieces of a stream carry none.
    words_are_public : bool, default False
        Say that the vocabulary of a stream was not made from these texts.
    callback : callable, optional
        ``callback("writing shards", done, total)`` in documents; the total is 0 where it is not known.

    Returns
    -------
    ShardedCorpus
        Of a corpus with persons the documents are in the order of their persons.

    Raises
    ------
    CorpusError
        Where pieces do not fit together or the folder cannot be written; nothing of it is left then.

    Examples
    --------
    >>> import tempfile
    >>> from discreet.corpus import Corpus, write_shards
    >>> corpus = Corpus([[2, 0], [1, 1], [0, 3]], ["tea", "milk"], words_are_public=True)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_shards(corpus, f"{folder}/shards", shard_documents=2)
    ShardedCorpus(3 documents, 2 words, 7 tokens, no persons, in 2 shards)
    """
    check(shard_documents=(shard_documents, whole()))
    if isinstance(corpus, Corpus | ShardedCorpus):
        if vocabulary is not None or words_are_public:
            raise ParameterError("a corpus has words, and says where they come from; leave both options out.")
        owned = corpus.unit == "person"
        pieces = _of_corpus(corpus) if isinstance(corpus, Corpus) else _of_shards(corpus)
        return _write(pieces, corpus, folder, owned, shard_documents, callback)
    stream = _Stream(corpus, vocabulary, words_are_public)
    first = stream.start()
    new = NewFolder(folder)
    with new.filling():
        pieces = (rows for rows, *_ in stream.pieces()) if not first else stream.routed(Spill(new.path))
        return _fill(pieces, stream, new, first, shard_documents, callback, 0)


def restrict_shards(
    corpus: ShardedCorpus, words: tuple[str, ...], folder: PathLike, origin: WordOrigin
) -> ShardedCorpus:
    """Write the columns of some words to a new folder of shards, which end where they ended."""
    size = max(entry.n_documents for entry in corpus.manifest.entries)
    new = NewFolder(folder)
    with new.filling():
        cutter = ShardCutter(new.path, size, corpus.unit == "person")
        for part in corpus:
            kept = part.restrict(words)
            cutter.add(Rows(kept.counts, kept.persons, kept.labels))
        write_manifest(new.path, Manifest(words, origin, corpus.unit, cutter.finish(), corpus.cut))
        return ShardedCorpus(new.path)


def _write(
    pieces: Iterable[Rows], corpus: Any, folder: PathLike, owned: bool, size: int, callback: Callback | None
) -> ShardedCorpus:
    new = NewFolder(folder)
    with new.filling():
        return _fill(pieces, corpus, new, owned, size, callback, corpus.n_documents)


def _fill(
    pieces: Iterable[Rows],
    corpus: Any,
    new: NewFolder,
    owned: bool,
    size: int,
    callback: Callback | None,
    total: int,
) -> ShardedCorpus:
    cutter, done = ShardCutter(new.path, size, owned), 0
    for rows in pieces:
        cutter.add(rows)
        done += rows.counts.shape[0]
        tell(callback, "writing shards", done, total)
    entries = cutter.finish()
    if not entries:
        raise CorpusError("there is nothing to write: expected at least one document.")
    unit = "person" if owned else "document"
    manifest = Manifest(corpus.vocabulary, corpus.word_origin, unit, entries, corpus.cut)
    write_manifest(new.path, manifest)
    return ShardedCorpus(new.path)


def _of_corpus(corpus: Corpus) -> Iterator[Rows]:
    rows = Rows(corpus.counts, corpus.persons, corpus.labels)
    order = None if corpus.persons is None else np.argsort(corpus.persons, kind="stable")
    for start in range(0, corpus.n_documents, _PIECE):
        chosen = slice(start, start + _PIECE)
        yield take(rows, chosen if order is None else order[chosen])


def _of_shards(corpus: ShardedCorpus) -> Iterator[Rows]:
    return (shard.read() for shard in corpus.shards)


class _Stream:
    """Pieces of counts, checked against the first."""

    def __init__(self, pieces: Any, vocabulary: WordList | None, words_are_public: bool) -> None:
        if not hasattr(pieces, "__iter__") or isinstance(pieces, str | bytes) or hasattr(pieces, "shape"):
            raise CorpusError(
                "expected a Corpus, or an iterable of matrices of counts or of pairs (counts, persons), "
                f"got {kind_of(pieces)}; frames with a column of texts are read by read_into_shards."
            )
        self._pieces = iter(pieces)
        self._words = None if vocabulary is None else load_vocabulary(vocabulary)
        self.word_origin: WordOrigin = (
            WordOrigin.public("words_are_public=True in write_shards") if words_are_public else UNKNOWN
        )
        self._declared, self._listed = words_are_public, vocabulary is not None
        self._first: Any = None
        self.cut: Mapping[str, Any] = {}

    @property
    def vocabulary(self) -> tuple[str, ...]:
        """The word of each column."""
        return self._words or ()

    def start(self) -> bool:
        """Look at the first piece, and return whether there are persons."""
        for piece in self._pieces:
            self._first = piece
            break
        else:
            raise CorpusError("there is nothing to write: expected at least one piece of counts.")
        counts, persons = _parts(self._first)
        words = getattr(counts, "vocabulary", None)
        if self._words is None and words is None:
            raise CorpusError(
                "the pieces of the stream have no words; give the word of each column: vocabulary=."
            )
        if self._words is None:
            self._words = words
            if not self._declared:
                self.word_origin = counts.word_origin
        self.cut = getattr(counts, "cut", {})
        return persons is not None

    def pieces(self) -> Iterator[tuple[Rows, Any, Any]]:
        """Yield rows, and whose they are and what they were, as both were given."""
        counts, persons = _parts(self._first)
        owned, labelled = persons is not None, getattr(counts, "labels", None) is not None
        piece: Any = self._first
        while piece is not None:
            given, persons = _parts(piece)
            self.word_origin = self.word_origin.after(choices_of(given))
            if knows_persons(given):
                raise CorpusError(
                    "a piece knows its persons by numbers of its own, so those of two pieces could be mistaken for one "
                    "another: give pairs (counts.without_persons(), persons) with the ids as they are."
                )
            if isinstance(given, Corpus):
                if self._declared:
                    refuse_public(given.word_origin, listed=self._listed)
                if given.vocabulary != self.vocabulary:
                    raise CorpusError("all pieces must have the same words, in the same order.")
            counts = given.counts if isinstance(given, Corpus) else canonical_counts(given)
            if counts.shape[1] != len(self.vocabulary):
                raise CorpusError(
                    f"a piece has {counts.shape[1]} columns, but there are {len(self.vocabulary)} words."
                )
            if getattr(given, "cut", {}) != self.cut:
                self.cut = {}  # no one way to cut new texts alike
            labels: NDArray[Any] | None = given.labels if isinstance(given, Corpus) else None
            if (persons is not None) != owned or (labels is not None) != labelled:
                raise CorpusError("either all pieces come with persons, or with labels, or none does.")
            yield Rows(counts, None, labels), persons, given
            piece = next(self._pieces, None)

    def routed(self, spill: Spill) -> Iterator[Rows]:
        """Yield all rows by person; the stream is read to its end first."""
        for piece in self.pieces():
            spill.add(*piece)
        yield from spill.rows(len(self.vocabulary))


def _parts(piece: Any) -> tuple[Any, Any]:
    return piece if isinstance(piece, tuple) and len(piece) == 2 else (piece, None)


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
