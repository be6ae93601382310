"""Data frames of pandas, polars, pyarrow and whatever else narwhals knows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from discreet._progress import Callback
from discreet.corpus.corpus import Corpus
from discreet.corpus.files import Problems
from discreet.corpus.formats.text.records import Fields, Reading, Record, choose_fields, gather
from discreet.corpus.tokens.tokenizer import Tokenizer, choose_tokenizer
from discreet.corpus.words.vocabulary import WordList, load_vocabulary

__all__ = ["from_frame"]

_ROWS = 4096


def from_frame(
    frame: Any,
    *,
    text: str = "text",
    author: str | None = None,
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
    text, author, label : str
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
        Where a column is missing, or a row has no text or author; names the rows.
    TypeError
        Where narwhals does not know the frame.
    """
    import narwhals as nw

    known: Any = nw.from_native(frame)
    public = None if vocabulary is None else load_vocabulary(vocabulary)
    words = choose_tokenizer(
        tokenizer,
        token_pattern=token_pattern,
        lowercase=lowercase,
        stop_words=stop_words,
        ngram_range=ngram_range,
        phrases=phrases,
    )
    reading = Reading(Fields(text, author, label), words, public, "utf-8", None, callback, skip_empty)
    choose_fields(reading, known.collect_schema().names(), "the frame")
    wanted = list(dict.fromkeys(field for field in reading.fields if field is not None))
    known = known.select(wanted)
    if isinstance(known, nw.LazyFrame):
        known = known.collect()
    total = len(known)

    def records() -> Iterator[Record]:
        for start in range(0, total, _ROWS):
            part = known[start : start + _ROWS]
            values: dict[str, list[Any]] = {name: part[name].to_list() for name in wanted}
            for offset in range(len(part)):
                yield Record(
                    start + offset,
                    values[text][offset],
                    None if author is None else values[author][offset],
                    None if label is None else values[label][offset],
                )

    return gather(records(), reading, Problems("the frame"), place="row {}".format)
