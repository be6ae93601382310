"""Data frames of pandas, polars, pyarrow and whatever else narwhals knows, one or many."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from discreet._progress import Callback
from discreet.corpus.corpus import Corpus
from discreet.corpus.files import Problems
from discreet.corpus.formats.text.records import Fields, Reading, Record, choose_fields, gather
from discreet.corpus.tokens.tokenizer import Tokenizer, choose_tokenizer
from discreet.corpus.words.vocabulary import WordList, load_vocabulary

__all__ = ["from_frame", "holds_frames", "read_frames"]

_ROWS = 4096
#: By these an object is known that gives its rows piece by piece; none of their libraries is needed to look.
_IN_PIECES = ("to_batches", "partitions", "collect_batches")


def from_frame(
    frame: Any,
    *,
    text: str = "text",
    person: str | None = None,
    label: str | None = None,
    vocabulary: WordList | None = None,
    tokenizer: Tokenizer | Callable[[str], Iterable[str]] | None = None,
    token_pattern: str | None = None,
    lowercase: bool | None = None,
    stop_words: Any = None,
    ngram_range: tuple[int, int] | None = None,
    phrases: WordList | None = None,
    skip_empty: bool = False,
    callback: Callback | None = None,
) -> Corpus:
    """Count the words of a column of a data frame.

    Parameters
    ----------
    frame : data frame
        Eager or lazy; of a lazy one only the columns named are computed.
    text, person, label : str
        Names of columns; see :func:`read_corpus`.
    vocabulary, tokenizer, token_pattern, lowercase, stop_words, ngram_range, phrases, skip_empty, callback
        See :func:`read_corpus`.

    Returns
    -------
    Corpus
        One row for each row of the frame.

    Raises
    ------
    CorpusError
        Where a column is missing, or a row has no text or person; names the rows.
    TypeError
        Where narwhals does not know the frame.
    """
    public = None if vocabulary is None else load_vocabulary(vocabulary)
    words = choose_tokenizer(
        tokenizer,
        token_pattern=token_pattern,
        lowercase=lowercase,
        stop_words=stop_words,
        ngram_range=ngram_range,
        phrases=phrases,
    )
    reading = Reading(Fields(text, person, label), words, public, "utf-8", None, callback, skip_empty)
    return _read(iter([frame]), reading)


def holds_frames(source: Any) -> bool:
    """Whether this is a frame, gives frames, or holds some, and not names of files."""
    if isinstance(source, str | os.PathLike):
        return False
    if _is_frame(source):
        return True
    if isinstance(source, Sequence):
        return bool(source) and not isinstance(source[0], str | os.PathLike)
    return isinstance(source, Iterator)


def read_frames(source: Any, reading: Reading) -> Corpus:
    """Count the documents of a frame or dataset, or of an iterable of them, of which one piece is held at a time.

    Parameters
    ----------
    source : data frame, pyarrow dataset, Dask data frame, or iterable of such
        Whatever narwhals knows; a dataset gives its batches, a Dask frame its partitions, a polars lazy frame what it
        collects in batches.
    reading : Reading
    """
    wanted, sources = _wanted(reading), [source] if _is_frame(source) else source
    return _read((piece for one in sources for piece in _pieces(one, wanted)), reading)


def _is_frame(source: Any) -> bool:
    # Its class is asked: a lazy frame would compute its columns.
    return any(hasattr(type(source), name) for name in ("columns", *_IN_PIECES))


def _wanted(reading: Reading) -> list[str]:
    return list(dict.fromkeys(field for field in reading.fields if field is not None))


def _pieces(source: Any, wanted: list[str]) -> Iterator[Any]:
    if hasattr(source, "partitions") and hasattr(source, "npartitions"):  # Dask
        present = [name for name in wanted if name in list(source.columns)]
        for number in range(source.npartitions):
            yield source[present].partitions[number].compute()
    elif hasattr(source, "to_batches") and not hasattr(
        source, "column_names"
    ):  # pyarrow's datasets, not its tables
        present = [name for name in wanted if name in source.schema.names]
        for batch in source.to_batches(columns=present):
            yield _table(batch)
    elif hasattr(source, "collect_batches"):  # polars' lazy frames
        present = [name for name in wanted if name in source.collect_schema().names()]
        yield from source.select(present).collect_batches()
    else:
        yield _table(source)


def _table(batch: Any) -> Any:
    """Return a record batch of pyarrow as a table; anything else as it is."""
    if type(batch).__name__ != "RecordBatch":
        return batch
    import pyarrow as pa

    return pa.Table.from_batches([batch])


def _read(frames: Iterator[Any], reading: Reading) -> Corpus:
    import narwhals as nw

    wanted, done = _wanted(reading), [0]

    def records() -> Iterator[Record]:
        for native in frames:
            frame: Any = nw.from_native(native)
            choose_fields(reading, frame.collect_schema().names(), "the frame")
            frame = frame.select(wanted)
            if isinstance(frame, nw.LazyFrame):
                frame = frame.collect()
            for start in range(0, len(frame), _ROWS):
                part = frame[start : start + _ROWS]
                values: dict[str, list[Any]] = {name: part[name].to_list() for name in wanted}
                columns = [[None] * len(part) if name is None else values[name] for name in reading.fields]
                for text, person, label in zip(*columns, strict=True):
                    yield Record(done[0], text, person, label)
                    done[0] += 1

    return gather(records(), reading, Problems("the frame"), place="row {}".format)
