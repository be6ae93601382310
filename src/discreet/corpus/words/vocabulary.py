"""Lists of words: from a file or a sequence, checked."""

import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, SupportsIndex, TypeGuard

from discreet._validate import first_few
from discreet.corpus.files import open_source, read_lines
from discreet.errors import CorpusError

__all__ = ["WordList", "check_words", "load_vocabulary", "words_for"]

#: A path of a file with one word a line, or the words themselves.
WordList = str | os.PathLike[str] | Iterable[str]
_GENSIM_LINE = re.compile(r"([0-9]{1,10})\t([^\t]+)\t[0-9]{1,18}")

#: A run of tokens has no more (``ngram_range``).
_MOST_BLANKS = 19


def load_vocabulary(source: WordList, *, encoding: str = "utf-8") -> tuple[str, ...]:
    """Return a list of words as a tuple, in its order.

    Parameters
    ----------
    source : path, iterable of str, or dictionary
        A text file with one word a line (compressed too), or the words. A ``str`` is a path. Or what numbers words: a
        gensim ``Dictionary``, the file of its ``save_as_text``, a ``vocabulary_`` of scikit-learn.
    encoding : str, default "utf-8"
        Encoding of the file.

    Returns
    -------
    tuple of str

    Raises
    ------
    CorpusError
        Where the file cannot be read, or a word is empty, repeated, a whole text or holds a line break; names
        the lines.
    """
    if isinstance(source, str | os.PathLike):
        _refuse_pickle(source)
        words = [line.rstrip("\r\n") for line in read_lines(source, encoding)]
        while (
            words and not words[-1]
        ):  # blank lines at the end are harmless; elsewhere they shift the columns
            words.pop()
        if not words:
            raise CorpusError(f"{os.fspath(source)} is empty: expected a vocabulary, one word a line.")
        numbered = _gensim_lines(words)
        if numbered is not None:
            return _by_number(numbered, os.fspath(source))
        return check_words(words, f"{os.fspath(source)}: line", first=1)
    known: Any = getattr(source, "token2id", source)
    if isinstance(known, Mapping):
        return _by_number(_turned(known), "vocabulary")
    return check_words(source, "vocabulary: position", first=0)


def words_for(files: Iterable[Any], vocabulary: WordList | None, encoding: str) -> tuple[str, ...] | None:
    """Return the words that documents are counted by, None where none are listed; the documents are no such list."""
    if isinstance(vocabulary, str | os.PathLike) and any(_one_file(file, vocabulary) for file in files):
        raise CorpusError(
            "the vocabulary is the file of the documents itself, and every line of a vocabulary is published; name a "
            "list of words, one a line, that was not made from these documents."
        )
    return None if vocabulary is None else load_vocabulary(vocabulary, encoding=encoding)


def _one_file(one: Any, other: str | os.PathLike[str]) -> bool:
    try:
        return Path(one).samefile(other)
    except (OSError, TypeError, ValueError):
        return False


def _refuse_pickle(path: str | os.PathLike[str]) -> None:
    with open_source(path) as file:
        pickled = file.raw.read(1) == b"\x80"
    if pickled:
        raise CorpusError(
            f"{os.fspath(path)} is a pickle, which could run anything and is not opened; write the words one a line, "
            "or gensim's dictionary with save_as_text."
        )


def _gensim_lines(lines: list[str]) -> list[tuple[int, Any]] | None:
    """Return the numbers and words of gensim's ``save_as_text``; None for another file.

    Its lines are: number, word and number of documents, with tabs between; before them the number of all documents.
    """
    rest = lines[1:] if lines[0].isdecimal() and len(lines) > 1 else lines
    found = [_GENSIM_LINE.fullmatch(line) for line in rest]
    if not all(found):
        return None
    return [(int(match[1]), match[2]) for match in found if match is not None]


def _turned(known: Mapping[Any, Any]) -> list[tuple[Any, Any]]:
    """Return pairs of number and word of a mapping, whichever is the key."""
    return [(key, value) if isinstance(key, SupportsIndex) else (value, key) for key, value in known.items()]


def _by_number(pairs: list[tuple[Any, Any]], name: str) -> tuple[str, ...]:
    words: dict[int, Any] = {int(number): word for number, word in pairs if isinstance(number, SupportsIndex)}
    if len(words) != len(pairs) or set(words) != set(range(len(pairs))):
        raise CorpusError(
            f"{name}: words must be numbered from 0, each number once; gensim's Dictionary.compactify() does that."
        )
    return check_words((words[number] for number in range(len(words))), f"{name}: position")


def check_words(words: Iterable[object], where: str, *, first: int = 0) -> tuple[str, ...]:
    """Check that words are distinct, non-empty, one-line strings.

    Parameters
    ----------
    words : iterable
        The words.
    where : str
        What an error says before the number of the word, such as ``"vocabulary: position"``.
    first : int
        Number of the first word.

    Returns
    -------
    tuple of str
        Words are not shown in errors: the vocabulary of private text is private too.
    """
    listed = tuple(words)
    if not _all_text(listed):
        position, kind = next((i, type(w).__name__) for i, w in enumerate(listed) if not isinstance(w, str))
        raise CorpusError(f"{where} {first + position}: expected a word (str), found {kind}.")
    joined = "\n".join((*listed, "."))
    if not all(listed) or len(joined.splitlines()) != len(listed) + 1 or not _encodable(joined):
        bad = [i + first for i, word in enumerate(listed) if not _one_line(word)]
        raise CorpusError(
            f"{where} {first_few(bad)}: a word must not be empty, "
            "hold a line break or a lone surrogate; remove it."
        )
    texts = [i + first for i, word in enumerate(listed) if word.count(" ") > _MOST_BLANKS]
    if texts:
        raise CorpusError(
            f"{where} {first_few(texts)}: more than {_MOST_BLANKS} blanks, so a text and no word. Every word of a "
            "vocabulary is published: give a list of words, never the texts themselves."
        )
    if len(set(listed)) != len(listed):
        seen: dict[str, int] = {}
        repeats = [(i, seen[w]) for i, w in enumerate(listed) if seen.setdefault(w, i) != i]
        pairs = first_few([f"{i + first} (same as {j + first})" for i, j in repeats])
        raise CorpusError(f"{where} {pairs}: each word may stand in the vocabulary once; remove the repeats.")
    return listed


def _all_text(words: tuple[object, ...]) -> TypeGuard[tuple[str, ...]]:
    return all(isinstance(word, str) for word in words)


def _encodable(text: str) -> bool:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def _one_line(word: str) -> bool:
    return bool(word) and len(f"{word}.".splitlines()) == 1 and _encodable(word)
