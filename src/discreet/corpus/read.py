"""``read_corpus``: find the format, check the options, call the reader."""

import os
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from numpy.typing import ArrayLike

from discreet._progress import Callback
from discreet.corpus.check import Csr, refuse_emptiness
from discreet.corpus.corpus import Corpus, column_words
from discreet.corpus.files import PathLike, read_lines
from discreet.corpus.formats.records import Fields, Reading
from discreet.corpus.tokenizer import Tokenizer, choose_tokenizer
from discreet.corpus.vocabulary import WordList, load_vocabulary
from discreet.corpus.words import NUMBERED, UNKNOWN, WordOrigin, refuse_public
from discreet.errors import CorpusError, ParameterError, Proposal

__all__ = ["COUNT_FORMATS", "TEXT_FORMATS", "find_format", "read_corpus"]

#: Formats that hold raw text, with the endings they are known by.
TEXT_FORMATS = {
    "jsonl": (".jsonl", ".ndjson"),
    "csv": (".csv", ".tsv"),
    "parquet": (".parquet", ".pq"),
    "txt": (),
    "lines": (),
    "mallet": (".mallet",),
}
#: Formats that hold counts of words.
COUNT_FORMATS = {
    "uci": (".uci",),
    "npz": (".npz",),
    "ldac": (".ldac", ".lda-c"),
    "mtx": (".mtx", ".mm"),
    "svmlight": (".svmlight", ".libsvm"),
    "csv-counts": (),
    "parquet-counts": (),
}
_NUMBER = re.compile(r"0|-?[1-9][0-9]{0,17}")


def find_format(path: PathLike) -> str:
    """Return the format that a file's name, or a folder, stands for.

    Raises
    ------
    CorpusError
        Where the name does not say; lists the formats.
    """
    file = Path(path)
    if file.is_dir():
        return "txt"
    name = file.name.lower().removesuffix(".gz")
    if name.startswith("docword."):
        return "uci"
    for format_name, endings in (TEXT_FORMATS | COUNT_FORMATS).items():
        if name.endswith(tuple(endings)) and endings:
            return format_name
    if not file.exists():
        raise CorpusError(f"{os.fspath(path)} does not exist; check the path.")
    raise CorpusError(
        f"{os.fspath(path)}: its name does not say what it is; give ",
        Proposal("format"),
        f", one of {', '.join([*TEXT_FORMATS, *COUNT_FORMATS])}.",
    )


def read_corpus(
    path: PathLike,
    format: str | None = None,  # noqa: A002  (a name other code relies on)
    *,
    text: str | None = None,
    author: str | None = None,
    label: str | None = None,
    vocabulary: WordList | None = None,
    owners: PathLike | ArrayLike | None = None,
    labels: PathLike | Sequence[Any] | None = None,
    tokenizer: Tokenizer | None = None,
    token_pattern: str | None = None,
    lowercase: bool | None = None,
    stop_words: str | Iterable[str] | None = None,
    ngram_range: tuple[int, int] | None = None,
    delimiter: str | None = None,
    zero_based: bool = False,
    encoding: str = "utf-8",
    words_are_public: bool = False,
    callback: Callback | None = None,
) -> Corpus:
    """Read a corpus from a file or folder.

    Parameters
    ----------
    path : path
        The file; gzip is recognised by content. Or a folder of ``.txt`` files.
    format : str, optional
        Raw text: "jsonl", "csv", "parquet", "txt" (a folder), "lines" (a document a line), "mallet".
        Counts: "uci", "npz", "ldac", "mtx", "svmlight", "csv-counts", "parquet-counts".
        By default found from the name.
    text : str, default "text"
        Field that holds the text (raw text).
    author : str, optional
        Field that names whose document it is (raw text): text or whole numbers. Becomes ``owners``, numbered
        in order of first appearance; names are not kept. 7, 7.0 and "7" are one author (see
        :mod:`discreet.corpus.owners`).
    label : str, optional
        Field that holds a label (raw text).
    vocabulary : path or iterable of str, optional
        List of words, or file with one a line. Raw text: other words are not counted, columns are in this
        order. Counts: the word of each column.
    owners, labels : path or array-like, optional
        Whose document each row is, and its label, where no field of the file says it; a file has one a line.
    tokenizer : Tokenizer, optional
        How a text becomes words; or give its parameters one by one:
    token_pattern, lowercase, stop_words, ngram_range
        See :class:`Tokenizer` (raw text).
    delimiter : str, optional
        Character between the columns of CSV; a comma, or a tab for ``.tsv``.
    zero_based : bool, default False
        Whether an SVMlight file numbers its words from 0.
    encoding : str, default "utf-8"
        Encoding of the text, and of files of words, owners and labels.
    words_are_public : bool, default False
        Say that the words were not made from these texts. Otherwise a private estimator wants some of them chosen
        privately first (or an ``.npz`` of :func:`write_corpus` says where they come from).
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
    options = dict(locals())
    try:
        return _read(**options)
    except CorpusError as error:
        # What it was raised from may hold the bytes that were being read.
        error.__context__ = None
        raise


def _read(
    path: PathLike,
    format: str | None,  # noqa: A002
    text: str | None,
    author: str | None,
    label: str | None,
    vocabulary: WordList | None,
    owners: PathLike | ArrayLike | None,
    labels: PathLike | Sequence[Any] | None,
    tokenizer: Tokenizer | None,
    token_pattern: str | None,
    lowercase: bool | None,
    stop_words: str | Iterable[str] | None,
    ngram_range: tuple[int, int] | None,
    delimiter: str | None,
    zero_based: bool,
    encoding: str,
    words_are_public: bool,
    callback: Callback | None,
) -> Corpus:
    name = find_format(path) if format is None else format
    if name not in TEXT_FORMATS and name not in COUNT_FORMATS:
        raise CorpusError(
            f"format {name!r} is not known; choose one of {', '.join([*TEXT_FORMATS, *COUNT_FORMATS])}."
        )
    listed = None if vocabulary is None else load_vocabulary(vocabulary, encoding=encoding)
    tokenizing = {
        "tokenizer": tokenizer,
        "token_pattern": token_pattern,
        "lowercase": lowercase,
        "stop_words": stop_words,
        "ngram_range": ngram_range,
    }
    if owners is not None and author is not None:
        raise ParameterError("give author= or owners=, not both.")
    if labels is not None and label is not None:
        raise ParameterError("give label= or labels=, not both.")
    by_row = {
        "owners": None if owners is None else _one_a_line(owners, encoding),
        "labels": None if labels is None else _as_numbers(_one_a_line(labels, encoding)),
    }
    given = {option: values for option, values in by_row.items() if values is not None}
    if name in TEXT_FORMATS:
        words = choose_tokenizer(tokenizer, token_pattern, lowercase, stop_words, ngram_range)
        fields = Fields("text" if text is None else text, author, label)
        corpus = _read_text(name, path, Reading(fields, words, listed, encoding, delimiter, callback))
        parts = {"owners": corpus.owners, "labels": corpus.labels}
        origin = corpus.word_origin
        if given:
            corpus = _assemble(path, corpus.counts, corpus.vocabulary, parts | given)
        return corpus.with_word_origin(_declared(origin, words_are_public))
    _refuse(
        name,
        {"text": text, "author": author, "label": label},
        "use owners= and labels=, one a line",
    )
    _refuse(name, tokenizing, "it holds counts of words already")
    counts, extras = _read_counts(name, path, listed, encoding, delimiter, zero_based, callback)
    refuse_emptiness(os.fspath(path), "documents", counts.shape[0], counts.nnz)
    origin = extras.pop("word_origin", UNKNOWN)
    if listed is not None:
        if counts.shape[1] != len(listed):
            raise CorpusError(
                f"{os.fspath(path)} has {counts.shape[1]} columns, but the vocabulary "
                f"has {len(listed)} words; give the vocabulary that belongs to it."
            )
        origin = origin if listed == extras.get("vocabulary") else UNKNOWN
        extras["vocabulary"] = listed
    if "vocabulary" not in extras:
        refuse_emptiness(os.fspath(path), "words", counts.shape[1], counts.nnz)
        extras["vocabulary"], origin = column_words(counts.shape[1]), NUMBERED
    if counts.shape[0] == 0:
        raise CorpusError(f"{os.fspath(path)} is empty: expected at least one document.")
    corpus = _assemble(path, counts, extras.pop("vocabulary"), extras | given)
    return corpus.with_word_origin(_declared(origin, words_are_public))


def _declared(origin: WordOrigin, words_are_public: bool) -> WordOrigin:
    if not words_are_public or origin.is_public:
        return origin
    refuse_public(origin)
    return WordOrigin.public("words_are_public=True in read_corpus")


def _assemble(path: PathLike, counts: Csr, vocabulary: tuple[str, ...], parts: dict[str, Any]) -> Corpus:
    try:
        return Corpus(counts, vocabulary, **parts)
    except CorpusError as error:
        raise CorpusError(f"{os.fspath(path)}: {error}") from None


def _refuse(name: str, options: dict[str, Any], why: str) -> None:
    given = [option for option, value in options.items() if value is not None]
    if given:
        raise ParameterError(f'{", ".join(given)}= cannot be used with format "{name}": {why}.')


def _read_text(name: str, path: PathLike, reading: Reading) -> Corpus:
    if name == "jsonl":
        from discreet.corpus.formats.jsonl import read_jsonl as reader
    elif name == "csv":
        from discreet.corpus.formats.csv_text import read_csv as reader
    elif name == "txt":
        from discreet.corpus.formats.plain_text import read_folder as reader
    elif name == "lines":
        from discreet.corpus.formats.plain_text import read_lines_of_text as reader
    elif name == "mallet":
        from discreet.corpus.formats.plain_text import read_mallet as reader
    else:
        from discreet.corpus.formats.parquet import read_parquet as reader
    return reader(path, reading)


def _read_counts(
    name: str,
    path: PathLike,
    public: tuple[str, ...] | None,
    encoding: str,
    delimiter: str | None,
    zero_based: bool,
    callback: Callback | None,
) -> tuple[Csr, dict[str, Any]]:
    """Return the counts, and whatever else of a corpus the format holds."""
    n_words = None if public is None else len(public)
    if name == "uci":
        from discreet.corpus.formats.uci import read_uci

        return read_uci(path, callback), {}
    if name == "mtx":
        from discreet.corpus.formats.matrix_market import read_matrix_market

        return read_matrix_market(path, callback), {}
    if name == "npz":
        from discreet.corpus.formats.npz import read_npz

        return read_npz(path)
    if name == "ldac":
        from discreet.corpus.formats.number_pairs import read_ldac

        return read_ldac(path, n_words, callback), {}
    if name == "svmlight":
        from discreet.corpus.formats.number_pairs import read_svmlight

        counts, labels = read_svmlight(path, n_words, zero_based, callback)
        return counts, {"labels": labels}
    if name == "csv-counts":
        from discreet.corpus.formats.count_table import read_csv_counts

        counts, words = read_csv_counts(path, public, encoding, delimiter, callback)
    else:
        from discreet.corpus.formats.parquet import read_parquet_counts

        counts, words = read_parquet_counts(path, public, callback)
    return counts, {"vocabulary": words}


def _one_a_line(values: Any, encoding: str) -> Any:
    if not isinstance(values, str | os.PathLike):
        return values
    lines = [line.rstrip("\r\n") for line in read_lines(values, encoding)]
    empty = [number for number, line in enumerate(lines, 1) if not line]
    if empty:
        raise CorpusError(
            f"{os.fspath(values)}, line {empty[0]}: expected one entry for each document, found a blank line."
        )
    return lines


def _as_numbers(labels: Any) -> Any:
    """Turn labels from a file into numbers where all of them are."""
    if isinstance(labels, list) and all(isinstance(x, str) and _NUMBER.fullmatch(x) for x in labels):
        return [int(label) for label in labels]
    return labels
