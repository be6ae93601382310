"""Words that look alike: a name with one Cyrillic letter in it is another word, and reads as the same name.

Two words look alike where their skeletons are the same: letters without marks and capitals, those that are drawn as a
Latin letter is taken for it, and 0 and 1 among letters for o and l. The table is the part of Unicode's public list of
confusable characters (Unicode Technical Standard 39) that single letters of Cyrillic, Greek, Armenian and extended
Latin make up; "rn" and "m", or i and l, are told apart, because pairs of usual words differ in no more.
"""

import unicodedata
from collections.abc import Iterable

__all__ = ["has_several_scripts", "look_alikes", "skeleton"]

_DRAWN_AS = {
    "А": "a", "В": "b", "Е": "e", "К": "k", "М": "m", "Н": "h", "О": "o", "Р": "p", "С": "c", "Т": "t", "У": "y",
    "Х": "x", "І": "i", "Ј": "j", "Ѕ": "s", "Ԛ": "q", "Ԝ": "w", "Ӏ": "l",
    "а": "a", "в": "b", "е": "e", "к": "k", "м": "m", "н": "h", "о": "o", "р": "p", "с": "c", "т": "t", "у": "y",
    "х": "x", "і": "i", "ј": "j", "ѕ": "s", "ԁ": "d", "ԛ": "q", "ԝ": "w", "һ": "h", "ӏ": "l",
    "Α": "a", "Β": "b", "Ε": "e", "Ζ": "z", "Η": "h", "Ι": "i", "Κ": "k", "Μ": "m", "Ν": "n", "Ο": "o", "Ρ": "p",
    "Τ": "t", "Υ": "y", "Χ": "x",
    "α": "a", "β": "b", "ε": "e", "η": "n", "ι": "i", "κ": "k", "ν": "v", "ο": "o", "ρ": "p", "τ": "t", "υ": "u",
    "χ": "x", "ω": "w",
    "օ": "o", "ո": "n", "ս": "u", "հ": "h", "զ": "q",
    "ı": "i", "ł": "l", "ø": "o", "đ": "d", "ħ": "h", "ɑ": "a", "ɡ": "g", "ɩ": "i",
}  # fmt: skip
_TABLE = str.maketrans(_DRAWN_AS)
_DIGITS = str.maketrans("01", "ol")


def skeleton(word: str) -> str:
    """Return what a word looks like; only whether two are the same means something."""
    letters = unicodedata.normalize("NFKD", word)
    seen = "".join(letter for letter in letters if unicodedata.category(letter) not in ("Mn", "Cf", "Cc"))
    drawn = seen.translate(_TABLE).casefold().translate(_TABLE)
    return drawn.translate(_DIGITS) if any(map(str.isalpha, drawn)) else drawn


def has_several_scripts(word: str) -> bool:
    """Whether a word has Latin letters, and letters of another script that are drawn as they are."""
    letters = unicodedata.normalize("NFKD", word)
    foreign = any(letter in _DRAWN_AS and not _is_latin(letter) for letter in letters)
    return foreign and any(_is_latin(letter) for letter in letters)


def look_alikes(words: Iterable[str], others: Iterable[str]) -> dict[str, list[str]]:
    """Return those of the others that look like one of the words, and like which.

    Parameters
    ----------
    words, others : iterable of str

    Returns
    -------
    dict
        For each word that some look like, those, in their order.
    """
    seen: dict[str, list[str]] = {}
    for other in others:
        seen.setdefault(skeleton(other), []).append(other)
    found = {word: [other for other in seen.get(skeleton(word), ()) if other != word] for word in words}
    return {word: alike for word, alike in found.items() if alike}


def _is_latin(letter: str) -> bool:
    return letter.isalpha() and unicodedata.name(letter, "").startswith("LATIN")
