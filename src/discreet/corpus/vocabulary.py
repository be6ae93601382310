"""Lists of words: from a file or a sequence, checked."""

import os
from collections.abc import Iterable
from typing import TypeGuard

from discreet.corpus.files import first_few, read_lines
from discreet.errors import CorpusError

__all__ = ["WordList", "check_words", "load_vocabulary"]

#: A path of a file with one word a line, or the words themselves.
WordList = str | os.PathLike[str] | Iterable[str]


def load_vocabulary(source: WordList, *, encoding: str = "utf-8") -> tuple[str, ...]:
    """Return a list of words as a tuple, in its order.

    Parameters
    ----------
    source : path or iterable of str
        A text file with one word a line (gzip too), or the words. A ``str`` is a path.
    encoding : str, default "utf-8"
        Encoding of the file.

    Returns
    -------
    tuple of str

    Raises
    ------
    CorpusError
        Where the file cannot be read, or a word is empty, repeated or holds a line break; names the lines.
    """
    if isinstance(source, str | os.PathLike):
        words = [line.rstrip("\r\n") for line in read_lines(source, encoding)]
        while (
            words and not words[-1]
        ):  # blank lines at the end are harmless; elsewhere they shift the columns
            words.pop()
        if not words:
            raise CorpusError(f"{os.fspath(source)} is empty: expected a vocabulary, one word a line.")
        return check_words(words, f"{os.fspath(source)}: line", first=1)
    return check_words(source, "vocabulary: position", first=0)


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
