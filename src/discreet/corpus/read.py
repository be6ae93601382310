"""``read_corpus``: find the format, check the options, call the reader."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from numpy.typing import ArrayLike

from discreet._base.arrays import column_words, is_frame
from discreet._base.files import read_json
from discreet._base.progress import Callback
from discreet._base.validate import Rule, check, is_there, optional, path_shown, renamed, suggesting
from discreet.corpus.corpus import Corpus, with_rows
from discreet.corpus.files import PathLike, digest_of, one_file, read_lines, read_text
from discreet.corpus.formats.records import Fields, Reading
from discreet.corpus.formats.table import Counted, Format, find_format, reader_of
from discreet.corpus.formats.tabular import read_frames
from discreet.corpus.tokenizer import Tokenizer, choose_tokenizer
from discreet.corpus.vocabulary import NUMBERED, UNKNOWN, WordList, WordOrigin, listed_words, refuse_public
from discreet.errors import CorpusError, ParameterError, Proposal

#: What a column of labels is called here, by its name in ``fit_topics``.
_LABEL = {"by": "label"}
_COLUMN = optional(Rule("the name of a column", lambda value: isinstance(value, str)))
_OF_PERSONS = Rule("the name of a column (`persons=` takes an entry for each document)", _COLUMN.holds)
_NUMBER = re.compile(r"0|-?[1-9][0-9]{0,17}")


@contextmanager
def _without_context() -> Generator[None]:
    """Let go of what an error of ours was raised from, which may hold the bytes that were being read."""
    try:
        yield
    except CorpusError as error:
        error.__context__ = None
        raise


@suggesting
@_without_context()
def read_corpus(
    path: PathLike | Any,
    format: str | None = None,  # noqa: A002  (a name other code relies on)
    *,
    text: str | None = None,
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
    delimiter: str | None = None,
    sheet: str | None = None,
    encoding: str = "utf-8",
    words_are_public: bool = False,
    skip_empty: bool = False,
    keep_empty: bool = False,
    callback: Callback | None = None,
) -> Corpus:
    """Read a corpus from a file, a folder or a data frame.

    Parameters
    ----------
    path : path, data frame, or what has ``column_names`` and gives a column by its name (a Hugging Face dataset)
        The file; gzip, bzip2 and xz are recognised by content. Or a folder of texts. Or
        a frame of pandas, polars, pyarrow or Dask; of a lazy one only the columns named are computed.
    format : str, optional
        Raw text: "jsonl", "json" (an array), "csv", "parquet", "xlsx", "txt" (a folder), "lines" (a document a line).
        Counts: "uci", "npz", "shards" (a folder), "mtx".
        By default found from the name.
    text : str, optional
        Field that holds the text, or a list of tokens, which are counted as they are (raw text); by default "text".
    person : str, optional
        Field that names whose document it is (raw text): text or whole numbers. Becomes ``persons``, numbered
        in order of first appearance; names are not kept. 7, 7.0 and "7" are one person (see
        :mod:`discreet._base.persons`).
    label : str, optional
        Field that holds a label (raw text).
    vocabulary : path or iterable of str, optional
        List of words, or file with one a line; gensim's dictionaries, too. Raw text: other words are not counted,
        columns are in this order. Counts: the word of each column.
    persons, labels : path or array-like, optional
        Whose document each row is, and its label, where no field of the file says it; a file has one a line.
    tokenizer : Tokenizer or callable, optional
        How a text becomes words: a Tokenizer says all of it; a callable takes one text and returns its words. Or give
        what else is to be said one by one:
    token_pattern, lowercase, stop_words, ngram_range
        See :class:`Tokenizer` (raw text).
    delimiter : str, optional
        Character between the columns of CSV. By default a comma, or a tab for ``.tsv``; where the columns asked for
        stand in the header under a semicolon, a tab, a comma or a bar alone, that one.
    sheet : str, optional
        The sheet of a workbook; by default the one that has the columns asked for.
    encoding : str, default "utf-8"
        Encoding of the text, and of files of words, persons and labels.
    words_are_public : bool, default False
        Say that the words were not made from these texts. Otherwise a private estimator wants some of them chosen
        privately first (or a file of :func:`write_corpus`, or the one beside it, says where they come from). Refused
        of words counted from raw text: only a list that is given, ``vocabulary``, can be public.
    skip_empty : bool, default False
        Leave out documents whose text is missing or blank (raw text), where persons are read those that name nobody,
        and where persons or labels are read rows that repeat the names of the columns; ``n_skipped`` says how many.
        Otherwise such rows, missing persons and missing text (null, NaN, an empty cell of CSV or of a sheet) are
        errors, and blank text is an empty document.
    keep_empty : bool, default False
        Take missing text for an empty document (raw text): where each document is answered for, as in local privacy,
        one that is left out tells by its silence what it says.
    callback : callable, optional
        ``callback("reading", done, total)``.

    Returns
    -------
    Corpus
        One row for each document of the file, in its order, empty documents too.

    Raises
    ------
    CorpusError
        Where the file is not what it should be: names the file and the first lines that are wrong. Never
        shows text.
    ParameterError
        Where an option has no meaning for the format, or the tokenizer cannot be made.

    Notes
    -----
    Text is read as a stream and never held: memory is 8 bytes for each different word of each document, and
    the words themselves.
    """
    check(text=(text, _COLUMN), person=(person, _OF_PERSONS), label=(label, _COLUMN))
    row = None
    if isinstance(path, str | os.PathLike):
        row = reader_of(find_format(path) if format is None else format)
    name = "of data frames" if row is None else row.name
    of_texts = row is None or row.holds == "text"
    listed = listed_words(vocabulary, encoding=encoding, files=[path])
    tokenizing = {
        "tokenizer": tokenizer,
        "token_pattern": token_pattern,
        "lowercase": lowercase,
        "stop_words": stop_words,
        "ngram_range": ngram_range,
    }
    if persons is not None and person is not None:
        raise ParameterError("give `person=` or persons=, not both.")
    if labels is not None and label is not None:
        raise ParameterError("give `label=` or labels=, not both.")
    if skip_empty and (persons is not None or labels is not None):
        raise ParameterError(
            "skip_empty= leaves out documents that persons= and labels= speak of; "
            "name their columns instead: person=, label=."
        )
    beside = (("person", persons), ("label", labels))
    by_row = {f"{one}s": _one_a_line(given, encoding, one * of_texts) for one, given in beside}
    called = by_row["labels"]
    if isinstance(called, list) and all(isinstance(one, str) and _NUMBER.fullmatch(one) for one in called):
        by_row["labels"] = [int(label) for label in called]
    refuse_options(name, {"delimiter": None if name == "csv" else delimiter}, "CSV alone has one")
    if of_texts:
        words = choose_tokenizer(**tokenizing)
        fields = Fields("text" if text is None else text, person, label)
        refuse_options(name, {"sheet": None if name == "xlsx" else sheet}, "it has no sheets")
        if row is None:
            refuse_options(name, {"format": format}, "it has columns")
        reading = Reading(
            fields, words, listed, encoding, delimiter, callback, skip_empty, None, keep_empty, sheet
        )
        corpus = read_frames(path, reading) if row is None else row.function("read")(path, reading)
    else:
        fields = {"text": text, "person": person, "label": label, "sheet": sheet}
        refuse_options(name, fields, "persons and labels of counts come from lists of their own, one a line")
        told_of_text = {"skip_empty": skip_empty or None, "keep_empty": keep_empty or None}
        refuse_options(name, told_of_text, "it holds counts, not text")
        refuse_options(name, tokenizing, "it holds counts of words already")
        assert row is not None
        corpus = _read_counts(row, path, listed, callback)
    origin = corpus.word_origin
    if row is not None and not row.whole:
        whose = persons if person is None else person
        beside = read_word_origin(Path(path), corpus.vocabulary, vocabulary, whose, by_row["persons"])
        if beside is not None:
            known = of_texts or beside.kind == "unknown"
            origin = (origin if known else beside).after(beside.choices)
    if words_are_public and not origin.is_public:
        refuse_public(origin, listed=listed is not None)
        origin = origin.public_by("words_are_public=True in read_corpus")
    rows = path if row is None and (persons is not None or labels is not None) else None
    with _named("the frame" if row is None else path):
        return with_rows(corpus.with_word_origin(origin), **by_row, rows=rows)


@contextmanager
def _named(path: PathLike) -> Generator[None]:
    """Put the file's name before what is wrong with what is said of its rows."""
    try:
        yield
    except CorpusError as error:
        raise CorpusError(f"{os.fspath(path)}: {error}") from None


def _read_counts(
    row: Format, path: PathLike, listed: tuple[str, ...] | None, callback: Callback | None
) -> Corpus:
    """Read a file of counts, whose columns are called as ``listed`` says, if that is given."""
    counted: Counted = row.function("read")(path, callback)
    words, origin = counted.vocabulary, counted.word_origin
    n_documents, n_columns = counted.counts.shape
    if listed is not None:
        if n_columns != len(listed):
            raise CorpusError(
                f"{os.fspath(path)} has {n_columns} columns, but the vocabulary "
                f"has {len(listed)} words; give the vocabulary that belongs to it."
            )
        origin = origin if words is not None and listed == tuple(words) else UNKNOWN.after(origin.choices)
        words = listed
    if words is None:
        words, origin = column_words(n_columns), NUMBERED
    if n_documents == 0:
        raise CorpusError(f"{os.fspath(path)} is empty: expected at least one document.")
    with _named(path):
        corpus = Corpus(counted.counts, words, counted.persons, counted.labels)
        return corpus.with_word_origin(origin).read_as(cut=counted.cut)


def is_source(documents: Any) -> bool:
    """Whether documents are in a file, a folder, a frame or a dataset, and not texts or counts themselves."""
    return isinstance(documents, str | os.PathLike) or is_frame(documents)


def corpus_of_source(
    source: Any, columns: dict[str, Any], tokenizer: Tokenizer | None, vocabulary: Any = None
) -> Any:
    """Read a file, a folder, a frame or a dataset; of counts, which were cut before, the tokenizer is not used.

    Anything else is returned as it is. ``columns`` are what ``fit_topics`` takes of its rows and how they are read,
    None where nothing is said; "by" is the column of labels. Of texts, only words of the ``vocabulary`` are counted.

    Raises
    ------
    CorpusError
        Where there is no such file; what reads like a text is not shown.
    ParameterError
        Where columns are said of what has none.
    """
    taken = columns.keys()
    columns = {name: column for name, column in columns.items() if column is not None}
    if not is_source(source):
        if columns:
            raise ParameterError(
                f"{', '.join(f'`{name}`' for name in columns)}: for a file or a frame only, such as "
                "pandas.DataFrame(...). Of a list of texts, leave out what is empty before, and say whose each is by "
                "`persons=`."
            )
        return source
    framed = is_frame(source)
    if not framed and not os.path.exists(source):  # noqa: PTH110  (False where a text cannot be a path)
        raise CorpusError(
            f"{path_shown(source)} is no file or folder that exists: pass the path of one, a frame, or a list of texts."
        )
    try:
        of_texts = framed or reader_of(find_format(source)).holds == "text"
        cut = {"tokenizer": tokenizer, "vocabulary": vocabulary} if of_texts else {}
        return read_corpus(source, **cut, **{_LABEL.get(name, name): said for name, said in columns.items()})
    except (CorpusError, ParameterError) as error:
        parts = list(renamed([error], {"label": "by"})[0].args)
        proposed = {part.name for part in parts if isinstance(part, Proposal)}
        if isinstance(error, CorpusError) and not proposed <= taken:
            parts.append(" That is for the reader: pass what discreet.corpus.read_corpus(...) returns.")
        raise type(error)(*parts) from None


def refuse_options(name: str, options: dict[str, Any], why: str) -> None:
    """Refuse options that mean nothing for a format."""
    given = [option for option, value in options.items() if value is not None]
    if given:
        named = ", ".join(f"`{option}=`" for option in given)
        raise ParameterError(f'{named} cannot be used with format "{name}": {why}.')


def _one_a_line(values: Any, encoding: str, column: str) -> Any:
    """Return the lines of a file, one for each document; what is no path as it is. ``column``: what takes a name."""
    if not isinstance(values, str | os.PathLike):
        return values
    if column and not is_there(values):
        missing = f"{path_shown(values)} does not exist; check the path."
        raise CorpusError(f"{missing} A column is named by `{column}=`.")
    lines = read_lines(values, encoding)
    empty = [number for number, line in enumerate(lines, 1) if not line]
    if empty:
        raise CorpusError(
            f"{os.fspath(values)}, line {empty[0]}: expected one entry for each document, found a blank line."
        )
    return lines


def side_file(target: Path, kind: str) -> Path:
    """Return where the "vocab", "persons", "labels" or "origin" of a main file are written."""
    name = target.name[:-3] if target.name.lower().endswith(".gz") else target.name
    if kind == "origin":  # of this file alone, and not of all that are called alike
        return target.with_name(f"{name}.origin.json")
    if name.startswith("docword."):
        return target.with_name(f"{kind}.{name.removeprefix('docword.')}")
    return target.with_name(f"{Path(name).stem}.{kind}.txt")


def read_word_origin(
    target: Path, words: tuple[str, ...], vocabulary: Any, persons: Any, whose: Any
) -> WordOrigin | None:
    """Return where the words of a file come from, as the file beside it says; None where there is none.

    Parameters
    ----------
    target : path
        The main file.
    words : tuple of str
        What its columns are called.
    vocabulary, persons : as for :func:`read_corpus`
        A file beside it must be the one that was written with it. Other words are somebody's who calls the columns
        otherwise: then nobody knows where they come from, and the private choices that the columns went through stay.
    whose : list of str, optional
        The lines of ``persons``.

    Raises
    ------
    CorpusError
        Where it is damaged, where the vocabulary or the persons beside it were exchanged, and where there were persons
        and none are given.
    """
    file = side_file(target, "origin")
    if not file.is_file():
        return None
    value, text = None, read_text(file)
    with suppress(ValueError):
        value = read_json(text)
    written = value.pop("persons_sha256", None) if isinstance(value, dict) else None
    beside = side_file(target, "persons")
    if written is not None and persons is None:
        raise CorpusError(
            f"{target} was written with persons, who are to be protected, and none are given: put {beside.name} back "
            "beside it, or name it by persons=."
        )
    try:
        if written is not None and one_file(beside, persons) and written != digest_of(whose):
            raise CorpusError(
                f"{beside.name} is not the file of persons that {target.name} was written with."
            )
        other_words = not one_file(side_file(target, "vocab"), vocabulary)
        return WordOrigin.from_json(value, words, other_words=other_words)
    except CorpusError as error:
        raise CorpusError(f"{file}: {error} Write the corpus again.") from None
