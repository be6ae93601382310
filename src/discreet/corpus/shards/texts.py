"""From files of raw text to shards, without ever holding the corpus: what is kept in memory is the list of words."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from discreet._base.progress import Callback, tell
from discreet._base.validate import check, whole
from discreet.corpus.counting import TextCounter
from discreet.corpus.files import PathLike
from discreet.corpus.formats.records import Fields, Reading
from discreet.corpus.formats.table import TEXT_FORMATS, find_format, reader_of
from discreet.corpus.formats.tabular import holds_frames, read_frames
from discreet.corpus.read import refuse_options
from discreet.corpus.shards.shard_file import Manifest, Rows, write_manifest
from discreet.corpus.shards.sharded_corpus import ShardedCorpus
from discreet.corpus.shards.spill import NewFolder, ShardCutter, Spill
from discreet.corpus.shards.write import SHARD_DOCUMENTS, STREAMED_COUNTS, read_counts_into_shards
from discreet.corpus.tokenizer import Tokenizer, choose_tokenizer
from discreet.corpus.vocabulary import FROM_TEXT, UNKNOWN, WordList, WordOrigin, refuse_public, words_for
from discreet.errors import CorpusError, ParameterError

_FRAMES = "data frames"


class _SpillingSink:
    """Documents of one file after another, put into spill files."""

    def __init__(self, spill: Spill) -> None:
        self.counter: TextCounter | None = None
        self._spill = spill

    def put(self, counter: TextCounter, persons: list[str] | None, labels: list[str] | None) -> None:
        self.counter = counter
        self._spill.add(
            Rows(counter.take(), None, None if labels is None else np.array(labels, object)), persons
        )


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
    persons: PathLike | ArrayLike | None = None,
    labels: PathLike | Sequence[Any] | None = None,
    tokenizer: Tokenizer | Callable[[str], Iterable[str]] | None = None,
    token_pattern: str | None = None,
    lowercase: bool | None = None,
    stop_words: Any = None,
    ngram_range: tuple[int, int] | None = None,
    phrases: WordList | None = None,
    delimiter: str | None = None,
    encoding: str = "utf-8",
    skip_empty: bool = False,
    words_are_public: bool = False,
    callback: Callback | None = None,
) -> ShardedCorpus:
    """Read raw text, from files or frames, or a file of counts, into a new folder of shards.

    Parameters
    ----------
    paths : path, sequence of paths, frame or iterable of frames
        Files of one format; their documents are one corpus, and a person in two files is one person. Or a data frame
        with a row a document, an iterable of such, a pyarrow ``Dataset``, a polars ``LazyFrame`` or a Dask data frame,
        of which one piece is held at a time.
    folder : path
        As for :func:`write_shards`. Until the end it holds spill files of about the size of the shards.
    format : str, optional
        A format of raw text, as for :func:`read_corpus`; or "uci" or "mtx", of which one file is streamed where its
        documents come in order, and read into memory where they do not.
    shard_documents : int, default 100000
    text, person, label, vocabulary, tokenizer, token_pattern, lowercase, stop_words, ngram_range
    phrases
        As for :func:`read_corpus`; labels become texts.
    persons, labels
        Of counts, as for :func:`read_corpus`.
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
    if len(files) == 1 and name in STREAMED_COUNTS:
        of_text = {"person": person, "label": label, "tokenizer": tokenizer, "token_pattern": token_pattern}
        of_text |= {
            "lowercase": lowercase,
            "stop_words": stop_words,
            "ngram_range": ngram_range,
            "phrases": phrases,
        }
        of_text |= {"text": None if text == "text" else text, "skip_empty": skip_empty or None}
        refuse_options(name, of_text, "it holds counts of words already")
        return read_counts_into_shards(
            files[0],
            folder,
            name,
            shard_documents=shard_documents,
            vocabulary=vocabulary,
            persons=persons,
            labels=labels,
            encoding=encoding,
            words_are_public=words_are_public,
            callback=callback,
        )
    if framed:
        refuse_options("of data frames", {"format": format, "delimiter": delimiter}, "it has columns")
    elif len(names) > 1 or not names <= set(TEXT_FORMATS):
        raise ParameterError(
            "files must all be of one format of raw text, or one of UCI or Matrix Market counts; other counts are read "
            "by read_corpus and written by write_shards."
        )
    refuse_options(name, {"persons": persons, "labels": labels}, "its fields say both: person=, label=")
    listed = words_for(files, vocabulary, encoding)
    if words_are_public:
        refuse_public(FROM_TEXT, listed=listed is not None)
    cut = choose_tokenizer(
        tokenizer,
        token_pattern=token_pattern,
        lowercase=lowercase,
        stop_words=stop_words,
        ngram_range=ngram_range,
        phrases=phrases,
    )
    read = read_frames if framed else reader_of(name).function("read")
    new = NewFolder(folder)
    with new.filling():
        spill = Spill(new.path, person is not None)
        sink = _SpillingSink(spill)
        for path in files:
            fields = Fields(text, person, label)
            read(path, Reading(fields, cut, listed, encoding, delimiter, callback, skip_empty, sink))
        assert sink.counter is not None  # a file without documents was refused
        words, columns = (listed, None) if listed is not None else sink.counter.columns()
        if not words:
            raise CorpusError("no words were found; look at the text and at token_pattern.")
        cutter, done = ShardCutter(new.path, shard_documents, person is not None), 0
        for rows in spill.rows(len(words), columns):
            cutter.add(rows)
            done += rows.counts.shape[0]
            tell(callback, "writing shards", done, spill.n_documents)
        origin = UNKNOWN if listed is not None else FROM_TEXT
        if words_are_public:
            origin = WordOrigin.public("words_are_public=True in read_into_shards")
        unit = "document" if person is None else "person"
        write_manifest(new.path, Manifest(words, origin, unit, cutter.finish(), cut.settings()))
        return ShardedCorpus(new.path)
