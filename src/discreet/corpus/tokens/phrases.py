"""Public phrases that count as one word: "heart attack" becomes ``heart_attack``.

The list is public, and a document is looked at alone: from left to right, the longest phrase that begins at a word. A
phrase may hold stop words ("shortness of breath"), because it is found before they are left out. What finds
phrases by how often words stand together in the texts would be a statistic of them, and is not done here.
"""

import os
from collections.abc import Callable, Iterable, Sequence
from hashlib import sha256
from typing import Any

from discreet._validate import shown
from discreet.corpus.words.vocabulary import load_vocabulary
from discreet.errors import Parameter, ParameterError

__all__ = ["Phrases"]


class Phrases:
    """A list of phrases, cut into words as texts are.

    Parameters
    ----------
    given : path or iterable of str
        Phrases of at least two words, or a file with one a line.
    cut : callable
        Returns the words of a text, stop words too.

    Raises
    ------
    ParameterError
        Where a phrase has fewer than two words once it is cut.
    """

    def __init__(self, given: Any, cut: Callable[[str], Iterable[str]]) -> None:
        if not isinstance(given, str | os.PathLike | Iterable) or isinstance(given, bytes):
            raise ParameterError(
                Parameter("phrases"), f" must be a file, or a list of phrases, got {shown(given)}."
            )
        listed = load_vocabulary(given)
        self._starting: dict[str, list[tuple[str, ...]]] = {}
        each = [tuple(cut(phrase)) for phrase in listed]
        phrases, short = set(each), sum(len(phrase) < 2 for phrase in each)
        if short or not phrases:
            raise ParameterError(
                Parameter("phrases"),
                f" must have at least two words each, as texts are cut; {short or 'all'} of {len(listed)} have fewer "
                r'(words of one letter count with token_pattern=r"\w+" only).',
            )
        for phrase in sorted(phrases, key=lambda words: (-len(words), words)):
            self._starting.setdefault(phrase[0], []).append(phrase)
        self._digest = sha256("\n".join(sorted(map(" ".join, phrases))).encode()).hexdigest()[:16]
        self.n_phrases = len(phrases)

    def digest(self) -> str:
        """Return a digest of the phrases."""
        return self._digest

    def join(self, words: Sequence[str]) -> list[str]:
        """Return the words of one document, those of each phrase joined by ``_``."""
        joined: list[str] = []
        at = 0
        while at < len(words):
            for phrase in self._starting.get(words[at], ()):
                if tuple(words[at : at + len(phrase)]) == phrase:
                    joined.append("_".join(phrase))
                    at += len(phrase)
                    break
            else:
                joined.append(words[at])
                at += 1
        return joined
