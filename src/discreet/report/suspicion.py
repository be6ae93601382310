r"""Words of a release that a person should look at before it leaves: numbers, addresses, names, rare words.

Differential privacy hides what one person adds. It does not hide what many documents share: the surname of a doctor
who signs every note, the number of a ward's telephone. Such words stand among the topics, rightly. Nothing can tell
them for sure from others; here they are put in an order in which a person finds them soon.

Everything is computed from the release and from public lists, so it costs no privacy. The names are a few hundred
common ones; how common a word is in general language is known where ``wordfreq`` is installed.
"""

import re
import unicodedata
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import cache
from importlib.resources import files
from typing import NamedTuple

import numpy as np

from discreet.corpus.languages import LANGUAGES
from discreet.corpus.tokenizer import Tokenizer, tokenizer_like
from discreet.errors import ParameterError, ReleaseError
from discreet.release.release import Release


def look_alikes(words: Iterable[str], others: Iterable[str]) -> dict[str, list[str]]:
    """Return, for each word that some of the others are but for accents, capitals and marks, those, in their order."""
    seen: dict[str, list[str]] = {}
    for other in others:
        seen.setdefault(_plain(other), []).append(other)
    found = {word: [other for other in seen.get(_plain(word), ()) if other != word] for word in words}
    return {word: alike for word, alike in found.items() if alike}


#: A word counts for the topics among whose first words it stands.
_FIRST = 30
_UNKNOWN, _RARE, _COMMON = 1.5, 2.5, 4.8  # Zipf frequency: 10 to this, in a thousand million words
_ADDRESS = re.compile(r"@|://|^www\b|\.(?:com|org|net|gov|edu|co|uk|de|fr|io)\b", re.IGNORECASE)
_ORDINAL = re.compile(r"\d{1,2}(?:st|nd|rd|th)|\d{1,2}[a-z]{1,2}", re.IGNORECASE)
_YEAR = re.compile(r"(?:19|20)\d\d")


class Suspect(NamedTuple):
    """A word to look at.

    Attributes
    ----------
    word : str
    reasons : tuple of str
    score : float
        Higher is more suspicious; only the order means something.
    topics : tuple of int
        Rows, from 0, of the topics among whose first 30 words it stands, the strongest first.
    share : float
        Largest probability in any topic.
    """

    word: str
    reasons: tuple[str, ...]
    score: float
    topics: tuple[int, ...]
    share: float


def suspicious_words(
    release: Release, *, flagged: Iterable[str] = (), language: str | None = None
) -> list[Suspect]:
    """Return the words that a person should look at, the most suspicious first.

    Parameters
    ----------
    release : Release
    flagged : iterable of str
        Words or phrases to look for, such as the names of a public staff list. Each of their words counts, as it stands
        there and as texts are cut: of "Quimbly-Vortle" both halves.
    language : str, optional
        Of the texts, as ``wordfreq`` names it; several with commas: a word is as common as in that of them where
        it is most. By default those that the release names, or "en". Without effect where ``wordfreq`` is
        not installed.

    Raises
    ------
    ReleaseError
        Where ``wordfreq`` does not know a language that is given.
    """
    own = {_plain(part) for part in _parts(flagged, release)} - {""}
    zipf = _zipf(_languages_of(release) if language is None else language)
    alike = look_alikes(release.vocabulary, release.vocabulary)
    first: list[list[int]] = np.argsort(-release.topic_word, axis=1, kind="stable")[:, :_FIRST].tolist()
    topics: dict[int, list[int]] = {}
    for topic, row in enumerate(first):
        for word in row:
            topics.setdefault(word, []).append(topic)
    found: list[Suspect] = []
    for column, word in enumerate(release.vocabulary):
        reasons = _reasons(word, own, zipf)
        if word in alike:
            reasons["looks like another word"] = 2
        if reasons:
            share = release.topic_word[:, column]
            strongest = sorted(topics.get(column, []), key=lambda topic: -share[topic])
            score = sum(reasons.values()) + (1 if strongest else 0)
            found.append(Suspect(word, tuple(reasons), score, tuple(strongest), float(share.max())))
    return sorted(found, key=lambda suspect: (-suspect.score, -suspect.share))


def knows_general_language() -> bool:
    """Tell whether ``wordfreq`` is installed."""
    return _zipf("en") is not None


def _reasons(word: str, own: set[str], zipf: Callable[[str], float] | None) -> dict[str, float]:
    """Return why a word is suspicious, each reason with its weight."""
    reasons: dict[str, float] = {}
    if _ADDRESS.search(word):
        reasons["an address"] = 3
    for part in re.split(r"[\s_]+", word):
        plain = _plain(part)
        n_digits = sum(character.isdigit() for character in part)
        if plain in own:
            reasons["in your list"] = 5
        if _YEAR.fullmatch(part) or _ORDINAL.fullmatch(part) or 0 < n_digits < 3:
            reasons["a short number or a year"] = 1
        elif n_digits:
            reasons["a number"] = 4
        known = 9.0 if zipf is None or n_digits or not plain else zipf(part)
        usual = known >= _COMMON and zipf is not None
        if plain in _names("given"):
            reasons["a given name"] = 1 if usual else 3
        if plain in _names("family"):
            reasons["a family name"] = 0.5 if usual else 3
        if known < _UNKNOWN:
            reasons["hardly known in general language"] = 2
        elif known < _RARE:
            reasons["rare in general language"] = 1
    return reasons


def _parts(entries: Iterable[str], release: Release) -> Iterable[str]:
    """Yield the words of the entries as they stand, as texts are usually cut, and as those of the release were."""
    cuts: list[Callable[[str], Iterable[str]]] = [str.split, Tokenizer(keep_links=True)]
    with suppress(ParameterError):  # what a file cannot hold, or is not safe to run
        cuts.append(tokenizer_like(release.configuration))
    return (part for entry in list(entries) for cut in cuts for part in cut(entry))


def _plain(word: str) -> str:
    """Return a word without accents, capitals and marks: O'Brien and obrien are one name."""
    letters = unicodedata.normalize("NFKD", word.casefold())
    return "".join(character for character in letters if character.isalnum())


@cache
def _names(kind: str) -> frozenset[str]:
    text = (files("discreet.report") / "names" / f"{kind}_names.txt").read_text(encoding="utf-8")
    return frozenset(text.split())


def _zipf(language: str) -> Callable[[str], float] | None:
    try:
        from wordfreq import available_languages, zipf_frequency  # pyright: ignore[reportMissingImports]
    except ImportError:
        return None
    known = sorted(available_languages())
    wanted = [name.strip() for name in language.split(",")]
    if not set(wanted) <= set(known):
        raise ReleaseError(
            f"wordfreq knows the languages {', '.join(known)}; name one of them, or several with commas."
        )
    return lambda word: max(float(zipf_frequency(word, name)) for name in wanted)


def _languages_of(release: Release) -> str:
    """Return the languages that the release names, as far as ``wordfreq`` knows them; else English."""
    try:
        from wordfreq import available_languages  # pyright: ignore[reportMissingImports]
    except ImportError:
        return "en"
    told = {
        name
        for setting in ("languages", "stop_words")
        for name in re.findall(r"[a-z]+", str(release.configuration.get(setting, "")))
    }
    found = [code for code, name in LANGUAGES.items() if name in told and code in available_languages()]
    return ",".join(found) or "en"
