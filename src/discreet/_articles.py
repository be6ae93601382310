"""A word with its article, as it is spoken: "an int", "a list", "an ndarray", "a uint8"."""

import re

__all__ = ["kind_of", "with_article"]

#: Said with a vowel first, or, of those that are written with one, not.
_VOWEL, _NOT = (
    re.compile(r"[aeiou]|nd", re.IGNORECASE),
    re.compile(r"uint|uni[^nm]|us[aeu]|one", re.IGNORECASE),
)


def with_article(word: str) -> str:
    """Return a word after "a" or "an"."""
    return f"an {word}" if _VOWEL.match(word) and not _NOT.match(word) else f"a {word}"


def kind_of(value: object) -> str:
    """Return what kind of object a value is, with an article: never what it holds."""
    return with_article(type(value).__name__)
