"""Public lists of stop words: by language, from files, or of one's own; several add up.

"english" is the list of 318 words that scikit-learn ships. The lists of other languages are those of the library
``stop-words``. No list depends on any corpus, so using one costs no privacy; and which language the
texts are in is said by whoever calls, never found from the texts.
"""

import os
import unicodedata
from collections.abc import Iterable, Sequence, Set
from difflib import get_close_matches
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

from discreet._base.files import read_list
from discreet._base.validate import is_there, shown
from discreet.corpus.letters import lower_words
from discreet.errors import Parameter, ParameterError

#: Languages that have a list, and their codes (ISO 639-1).
LANGUAGES = {
    "ar": "arabic", "bg": "bulgarian", "ca": "catalan", "zh": "chinese", "cs": "czech", "da": "danish", "nl": "dutch",
    "en": "english", "fi": "finnish", "fr": "french", "de": "german", "el": "greek", "gu": "gujarati", "he": "hebrew",
    "hi": "hindi", "hu": "hungarian", "id": "indonesian", "it": "italian", "ja": "japanese", "ko": "korean",
    "ms": "malaysian", "nb": "norwegian", "fa": "persian", "pl": "polish", "pt": "portuguese", "ro": "romanian",
    "ru": "russian", "sk": "slovak", "es": "spanish", "sv": "swedish", "tr": "turkish", "uk": "ukrainian",
    "vi": "vietnamese",
}  # fmt: skip
_NAMES = frozenset(LANGUAGES.values())
#: What languages call themselves, without accents.
_OWN_NAMES = {
    "francais": "french", "deutsch": "german", "espanol": "spanish", "italiano": "italian", "portugues": "portuguese",
    "nederlands": "dutch", "svenska": "swedish", "dansk": "danish", "norsk": "norwegian", "suomi": "finnish",
    "polski": "polish", "turkce": "turkish", "magyar": "hungarian", "cestina": "czech",
}  # fmt: skip
_MEANT = 'the name of a language ("english"), "auto", a file of words, a list of words, or several of these in a list'


class StopWords(NamedTuple):
    """What is left out, and what a release says of it."""

    words: frozenset[str] = frozenset()
    told: tuple[str, ...] = ()


def english_stop_words() -> frozenset[str]:
    """Return scikit-learn's English stop words (imported on first use: it takes a second).

    Returns
    -------
    frozenset of str
        Lower-case words. The list does not depend on any corpus, so using it costs no privacy.
    """
    from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

    return frozenset(str(word) for word in ENGLISH_STOP_WORDS)


def language_names(languages: Any) -> tuple[str, ...]:
    """Return the names of the languages that texts are said to be in; none where None is given.

    Parameters
    ----------
    languages : str, iterable of str, or None
        Names or two-letter codes; in one str, with commas. Languages without a list of stop words are taken, too.
    """
    if languages is None:
        return ()
    given: list[Any] = (
        languages.split(",") if isinstance(languages, str) else _entries(languages, "languages")
    )
    if not given or not all(isinstance(name, str) and name.strip().isalpha() for name in given):
        raise ParameterError(
            Parameter("languages"),
            f' must name languages, such as "german" or ["de", "en"], got {shown(languages)}.',
        )
    names: list[str] = [name.strip().lower() for name in given]
    return tuple(dict.fromkeys(LANGUAGES.get(name, name) for name in names))


def collect_stop_words(given: Any, languages: Sequence[str] = (), *, lowercase: bool = True) -> StopWords:
    """Return all stop words that were asked for.

    Parameters
    ----------
    given : None, str, path, or iterable of these, of words, or of lists of words
        A str names languages or files, with commas between several. Of a list, str are words, unless each of them is
        the name of a language (no code), or other entries than str are among them; a list in a list is of words.
    languages : sequence of str
        What "auto" stands for; English where there are none.
    lowercase : bool, default True
        Whether texts are lower-cased: then so are the words.

    Raises
    ------
    ParameterError
        For an unknown name, a file that cannot be read, or a list that mixes words and names.
    """
    words, told = set[str](), list[str]()
    for name, found in _lists(given, tuple(languages) or ("english",)):
        kept = {unicodedata.normalize("NFC", lower_words(word) if lowercase else word) for word in found}
        words |= kept
        told.append(f"{name} ({len(kept)})")
    return StopWords(frozenset(words), tuple(told))


def language_shares(words: Sequence[str], tokens: Any, least: int = 1) -> tuple[tuple[str, float], ...]:
    """Return the share of a text that stands on the list of each language, the largest first, from 1 % on. Private.

    Parameters
    ----------
    words : sequence of str
        The words that count: what is left out because it is on a list that is in use is on no other here.
    tokens : array of shape (n_words,)
        How often each stands in the texts.
    least : int, default 1
        Different words of a list that the texts must have: one alone may be a word of another language, too.
    """
    total = max(float(sum(tokens)), 1.0)
    used = {word: float(count) for word, count in zip(words, tokens, strict=True)}
    found = {name: [used[word] for word in set(_of_language(name)) if used.get(word)] for name in _NAMES}
    shares = [(name, sum(counts) / total) for name, counts in found.items() if len(counts) >= least]
    return tuple(sorted((one for one in shares if one[1] >= 0.01), key=lambda one: (-one[1], one[0])))


def _lists(given: Any, languages: Sequence[str]) -> Iterable[tuple[str, Iterable[str]]]:
    """Yield each list that ``given`` asks for, and what it is called."""
    if given is None:
        return
    if isinstance(given, os.PathLike):
        yield "a file", _read_file(Path(given))
    elif isinstance(given, str):
        for part in given.split(","):
            yield from _named(part.strip(), languages, alone="," not in given)
    else:
        entries = _entries(given, "stop_words")
        names = [entry for entry in entries if isinstance(entry, str)]
        if len(names) < len(entries):
            for entry in entries:
                if isinstance(entry, str | os.PathLike):
                    yield from _lists(entry, languages)
                elif isinstance(entry, list | tuple | Set) and all(isinstance(word, str) for word in entry):
                    yield "a list", entry
                else:
                    raise ParameterError(
                        Parameter("stop_words"), f" must be {_MEANT}; an entry is not a str."
                    )
        elif names and all(name in _NAMES or name == "auto" for name in names):
            for name in names:
                yield from _named(name, languages, alone=False)
        elif isinstance(given, list | tuple) and any(name in _NAMES for name in names):
            named = next(name for name in names if name in _NAMES)
            raise ParameterError(
                Parameter("stop_words"),
                f' holds words and the name "{named}": write ["{named}", [...]] with the words in a list of their own, '
                f'or [[...]] if "{named}" is one of the words.',
            )
        else:
            yield "a list", names


def _named(name: str, languages: Sequence[str], *, alone: bool) -> Iterable[tuple[str, Iterable[str]]]:
    """Yield the list of a language, those of all languages ("auto"), or that of a file."""
    if name == "none" and alone:
        return
    if name == "auto":
        for language in languages:
            yield from _named(language, (), alone=False)
        return
    language = _language(name)
    if language is not None:
        yield language, _of_language(language)
        return
    if not name or "\n" in name or not is_there(name):
        plain = "".join(c for c in unicodedata.normalize("NFD", name.lower()) if not unicodedata.combining(c))
        near = [_OWN_NAMES.get(plain, "")] if plain in _OWN_NAMES else get_close_matches(plain, _NAMES, 1)
        known = f" Languages: {', '.join(sorted(_NAMES))}." if name.isalpha() else ""
        known = f" Did you mean {near[0]}?" if near else known
        raise ParameterError(
            Parameter("stop_words"), f" must be {_MEANT}; got {shown(name)}, which is none.{known}"
        )
    yield "a file", _read_file(Path(name))


def _language(name: str) -> str | None:
    known = LANGUAGES.get(name, name)
    return known if known in _NAMES else None


def _of_language(language: str) -> Iterable[str]:
    if language == "english":
        return english_stop_words()
    library: Any = import_module("stop_words")
    return [str(word) for word in library.get_stop_words(language)]


def _read_file(path: Path) -> list[str]:
    return [word for line in read_list(path, Parameter("stop_words")) for word in line.split()]


def _entries(given: Any, name: str) -> list[Any]:
    if not isinstance(given, Iterable) or isinstance(given, bytes):
        raise ParameterError(Parameter(name), f" must be {_MEANT}, got {shown(given)}.")
    return list(given)
