"""Writing shards: of a corpus, of a stream that is never held, of files and frames of raw text."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from discreet._base.persons import knows_persons
from discreet._base.progress import Callback, tell
from discreet._base.validate import check, kind_of, whole
from discreet.corpus.corpus import Corpus
from discreet.corpus.counting import canonical_counts
from discreet.corpus.files import PathLike
from discreet.corpus.formats.records import Fields, Reading
from discreet.corpus.formats.table import TEXT_FORMATS, find_format, reader_of
from discreet.corpus.formats.tabular import holds_frames, read_frames
from discreet.corpus.read import refuse_options
from discreet.corpus.shards.shard_file import Manifest, Rows, Shard, write_manifest
from discreet.corpus.shards.sharded_corpus import ShardedCorpus
from discreet.corpus.shards.spill import ShardCutter, Spill, new_folder
from discreet.corpus.tokenizer import Tokenizer, choose_tokenizer
from discreet.corpus.vocabulary import (
    FROM_TEXT,
    UNKNOWN,
    WordList,
    WordOrigin,
    choices_of,
    listed_words,
    load_vocabulary,
    refuse_public,
)
from discreet.errors import CorpusError, ParameterError

SHARD_DOCUMENTS = 100_000
_PIECE = 50_000
_FRAMES = "data frames"


class _Words(NamedTuple):
    """What a corpus says of its words."""

    vocabulary: tuple[str, ...]
    word_origin: WordOrigin
    cut: Mapping[str, Any]


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
        pieces = _of_corpus(corpus) if isinstance(corpus, Corpus) else map(Shard.read, corpus.shards)
        with new_folder(folder) as new:
            cutter = ShardCutter(new, shard_documents, corpus.unit == "person")
            return _fill(pieces, corpus, cutter, callback, corpus.n_documents)
    stream = _Stream(corpus, vocabulary, words_are_public)
    with new_folder(folder) as new:
        pieces = stream.routed(Spill(new)) if stream.owned else (rows for rows, *_ in stream.pieces())
        return _fill(pieces, stream, ShardCutter(new, shard_documents, stream.owned), callback)


def restrict_shards(
    corpus: ShardedCorpus, words: tuple[str, ...], folder: PathLike, origin: WordOrigin
) -> ShardedCorpus:
    """Write the columns of some words to a new folder of shards, which end where they ended."""
    size = max(entry.n_documents for entry in corpus.manifest.entries)
    kept = (part.restrict(words) for part in corpus)
    pieces = (Rows(part.counts, part.persons, part.labels) for part in kept)
    with new_folder(folder) as new:
        cutter = ShardCutter(new, size, corpus.unit == "person")
        return _fill(pieces, _Words(words, origin, corpus.cut), cutter)


def _fill(
    pieces: Iterable[Rows], corpus: Any, cutter: ShardCutter, callback: Callback | None = None, total: int = 0
) -> ShardedCorpus:
    done = 0
    for rows in pieces:
        cutter.add(rows)
        done += rows.counts.shape[0]
        tell(callback, "writing shards", done, total)
    entries = cutter.finish()
    if not entries:
        raise CorpusError("there is nothing to write: expected at least one document.")
    unit = "person" if cutter.owned else "document"
    manifest = Manifest(corpus.vocabulary, corpus.word_origin, unit, entries, corpus.cut)
    write_manifest(cutter.folder, manifest)
    return ShardedCorpus(cutter.folder)


def _of_corpus(corpus: Corpus) -> Iterator[Rows]:
    rows = Rows(corpus.counts, corpus.persons, corpus.labels)
    order = None if corpus.persons is None else np.argsort(corpus.persons, kind="stable")
    for start in range(0, corpus.n_documents, _PIECE):
        chosen = slice(start, start + _PIECE)
        yield rows.take(chosen if order is None else order[chosen])


class _Stream:
    """Pieces of counts, checked against the first."""

    def __init__(self, pieces: Any, vocabulary: WordList | None, words_are_public: bool) -> None:
        if not hasattr(pieces, "__iter__") or isinstance(pieces, str | bytes) or hasattr(pieces, "shape"):
            raise CorpusError(
                "expected a Corpus, or an iterable of matrices of counts or of pairs (counts, persons), "
                f"got {kind_of(pieces)}; frames with a column of texts are read by read_into_shards."
            )
        self._pieces = iter(pieces)
        #: The word of each column.
        self.vocabulary: tuple[str, ...] = () if vocabulary is None else load_vocabulary(vocabulary)
        self.word_origin = UNKNOWN
        if words_are_public:
            self.word_origin = WordOrigin.public("words_are_public=True in write_shards")
        self._declared, self._listed = words_are_public, vocabulary is not None
        self._first: Any = next(self._pieces, None)
        if self._first is None:
            raise CorpusError("there is nothing to write: expected at least one piece of counts.")
        counts, persons = _parts(self._first)
        words = getattr(counts, "vocabulary", None)
        if not self._listed:
            if words is None:
                raise CorpusError(
                    "the pieces of the stream have no words; give the word of each column: vocabulary=."
                )
            self.vocabulary = words
            self.word_origin = self.word_origin if self._declared else counts.word_origin
        self.cut: Mapping[str, Any] = getattr(counts, "cut", {})
        #: Whether pieces come with persons.
        self.owned = persons is not None

    def pieces(self) -> Iterator[tuple[Rows, Any, Any]]:
        """Yield rows, and whose they are and what they were, as both were given."""
        labelled = getattr(_parts(self._first)[0], "labels", None) is not None
        for piece in chain([self._first], self._pieces):
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
            if (persons is not None) != self.owned or (labels is not None) != labelled:
                raise CorpusError("either all pieces come with persons, or with labels, or none does.")
            yield Rows(counts, None, labels), persons, given

    def routed(self, spill: Spill) -> Iterator[Rows]:
        """Yield all rows by person; the stream is read to its end first."""
        for piece in self.pieces():
            spill.add(*piece)
        yield from spill.rows(len(self.vocabulary))


def _parts(piece: Any) -> tuple[Any, Any]:
    return piece if isinstance(piece, tuple) and len(piece) == 2 else (piece, None)


def read_into_shards(
    paths: PathLike | Sequence[PathLike] | Any,
    folder: PathLike,
    format: str | None = None,  # noqa: A002  (as of read_corpus)
    *,
    shard_documents: int = SHARD_DOCUMENTS,
    text: str = "text",
    person: str | None = None,
    label: str | None = None,
    vocabulary: WordList | None = None,
    tokenizer: Tokenizer | Callable[[str], Iterable[str]] | None = None,
    delimiter: str | None = None,
    encoding: str = "utf-8",
    skip_empty: bool = False,
    words_are_public: bool = False,
    callback: Callback | None = None,
) -> ShardedCorpus:
    """Read raw text, from files or frames, into a new folder of shards.

    Parameters
    ----------
    paths : path, sequence of paths, frame or iterable of frames
        Files of one format; their documents are one corpus, and a person in two files is one person. Or a data frame
        with a row a document, an iterable of such, a pyarrow ``Dataset``, a polars ``LazyFrame`` or a Dask data frame,
        of which one piece is held at a time.
    folder : path
        As for :func:`write_shards`. Until the end it holds spill files of about the size of the shards.
    format : str, optional
        A format of raw text, as for :func:`read_corpus`.
    shard_documents : int, default 100000
    text, person, label, vocabulary
        As for :func:`read_corpus`; labels become texts.
    tokenizer : Tokenizer or callable, optional
        How a text becomes words, such as ``Tokenizer(stop_words="english")``.
    delimiter, encoding, skip_empty, words_are_public
        As for :func:`read_corpus`.
    callback : callable, optional
        ``callback("reading", done, total)``, in bytes or rows of each file, then ``callback("writing shards", done,
        total)``, in documents.

    Returns
    -------
    ShardedCorpus

    Raises
    ------
    CorpusError
        Where a file is not what it should be, or the folder cannot be written; nothing of it is left then.
    ParameterError
        Where an option is out of range, or the format holds counts.

    Notes
    -----
    With people the documents come in the order of a keyed hash of the person, otherwise in their own. The columns are
    those of :func:`read_corpus` on the same documents. Memory: the words themselves, some million counts, and with
    people the largest of 128 parts of the corpus.
    """
    check(shard_documents=(shard_documents, whole()))
    framed = holds_frames(paths)
    files: list[Any] = [paths] if framed or isinstance(paths, str | os.PathLike) else list(paths)
    if not files:
        raise CorpusError("there is nothing to read: expected at least one file.")
    names = {format or (_FRAMES if framed else find_format(path)) for path in files}
    name = next(iter(names))
    if framed:
        refuse_options("of data frames", {"format": format}, "it has columns")
    elif len(names) > 1 or not names <= set(TEXT_FORMATS):
        raise ParameterError(
            "files must all be of one format of raw text; counts are read by read_corpus and written by write_shards."
        )
    refuse_options(name, {"delimiter": None if name == "csv" else delimiter}, "CSV alone has one")
    listed = listed_words(vocabulary, words_are_public, encoding=encoding, files=files)
    cut = choose_tokenizer(tokenizer)
    read = read_frames if framed else reader_of(name).function("read")
    with new_folder(folder) as new:
        spill = Spill(new, person is not None)
        for path in files:
            fields = Fields(text, person, label)
            read(path, Reading(fields, cut, listed, encoding, delimiter, callback, skip_empty, spill))
        assert spill.counter is not None  # a file without documents was refused
        words, columns = (listed, None) if listed is not None else spill.counter.columns()
        if not words:
            raise CorpusError("no words were found; look at the text and at token_pattern.")
        origin = UNKNOWN if listed is not None else FROM_TEXT
        if words_are_public:
            origin = WordOrigin.public("words_are_public=True in read_into_shards")
        said = _Words(words, origin, cut.settings())
        pieces = spill.rows(len(words), columns)
        cutter = ShardCutter(new, shard_documents, person is not None)
        return _fill(pieces, said, cutter, callback, spill.n_documents)
