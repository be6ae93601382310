"""A public list of words, in the order of its columns."""

from typing import Any

from discreet.corpus import load_vocabulary
from discreet.errors import ParameterError

__all__ = ["public_words"]


def public_words(vocabulary: Any) -> tuple[str, ...]:
    """Return a public list of words in the order of the columns."""
    if isinstance(vocabulary, dict):
        columns: dict[Any, Any] = dict(vocabulary)
        words = sorted(columns, key=columns.__getitem__)
        if [columns[word] for word in words] != list(range(len(words))):
            raise ParameterError("the columns in vocabulary must be 0, 1, 2, ... without gaps or repeats.")
        return load_vocabulary(words)
    if isinstance(vocabulary, set | frozenset):
        return load_vocabulary(sorted(vocabulary))  # sets have no order of their own
    words = load_vocabulary(vocabulary)
    if not words:
        raise ParameterError("vocabulary must hold at least one word; None chooses words privately.")
    return words
