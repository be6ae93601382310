r"""What a language brings to words: marks and scripts without blanks; links, which are no words; stop words.

Combining marks
---------------
To Python's ``\w`` a vowel sign of Hindi or a mark of Arabic is no part of a word, so ``\b\w\w+\b`` breaks such words
into pieces, most of them too short to count. The default pattern takes marks, and the joiners inside of words, to
the letters before them. In a text without any it finds what it says.

Each word by itself
-------------------
How a word is spelt must not depend on the words around it, because a promise about one word is about one column.
Two things would break this, and are done for all words or for none:

* The composed form (NFC) is taken of every text, not only of those with a mark: a blank or any other sign between words
  ends whatever composes.
* In lower case, the capital sigma is one of two letters, by what stands around it, beyond the word too ("ΤΗΣ.ΚΑΙ").
  So each sigma is σ while a text is cut, and a σ that ends a word of two letters or more is ς afterwards. No other
  letter's lower case depends on its neighbours.

Words without blanks
--------------------
Chinese, Japanese, Thai, Lao, Khmer and Burmese put no blanks between words: each sentence would be one word, which no
two documents share, and the budget would be spent on nothing. Such texts need a tokenizer. They are known by long runs
of such letters, and refused where most of the first 1,000 texts are of this kind, before anything is booked where that
can be (of an iterator, which can be read only once, after the booking). ``languages=`` refuses them without a look.

What the refusal tells
----------------------
Each text says yes or no, however long it is, so that a text more or less moves the count by one: only where exactly
half of the texts looked at are of the kind does one unit decide whether there is an error. As of every other check of
the data, what it raises is for whoever holds the texts, and is no part of the promise (``docs/pitfalls.md``).

Links, handles and entities
---------------------------
Addresses of pages and of mail, handles (``@name``), and the marks of forwarded posts (``RT @name``, a link that was cut
short) are left out; they name people and places of the net, and "http", "rt" and "amp" would lead half the topics of a
corpus of posts. "rt" is such a mark only where a handle or a link follows, and "@" before a digit is no handle: in
notes of a ward "rt: knee" is the right one, and "@5mg" a dose. An HTML entity becomes the character that it stands for:
``&amp;`` is no word, ``caf&eacute;`` is one. Names are those of HTML 4, and those of HTML 5 for Latin letters and marks
of ASCII: the client for browsers has the same table, so that both count alike.
Words behind a hash sign stay.

Stop words
----------
Public lists of stop words: by language, from files, or of one's own; several add up.

"english" is the list of 318 words that scikit-learn ships. The lists of other languages are those of the library
``stop-words``, and frequent function words that these lack (``stop_words.txt``). No list depends on any corpus, so
using one costs no privacy; and which language the texts are in is said by whoever calls, never found from the texts.
"""

import os
import re
import sys
import unicodedata
from collections.abc import Iterable, Sequence, Set
from difflib import get_close_matches
from functools import cache
from html.entities import html5, name2codepoint
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

from discreet._base.files import read_list
from discreet._base.validate import is_there, shown
from discreet.errors import CorpusError, Parameter, ParameterError

#: Languages that are written without blanks between words.
_UNBROKEN_LANGUAGES = (
    "chinese", "cantonese", "japanese", "thai", "lao", "khmer", "burmese", "th", "lo", "km", "my",
)  # fmt: skip
_ADVICE = (
    "such as jieba.lcut for Chinese (pip install jieba), fugashi for Japanese (pip install fugashi unidic-lite) or "
    "pythainlp.word_tokenize for Thai (pip install pythainlp)"
)
# Han, kana; the scripts of South-East Asia with their marks.
_HAN = re.compile("[\u3005-\u3007\u3041-\u309f\u30a1-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
                  "\uff66-\uff9f\U00020000-\U0003ffff]+")  # fmt: skip
_ASIAN = re.compile("[\u0e01-\u0e4e\u0e81-\u0ede\u1000-\u109f\u1780-\u17d3]+")
_EITHER = re.compile(f"{_HAN.pattern}|{_ASIAN.pattern}")
#: Mean length of a run in texts that were cut into words, and a good deal more.
_LONG_RUNS = ((_HAN, 3.5), (_ASIAN, 9.0))
#: Share of the letters of a text, and of the texts that are looked at.
_SHARE_OF_TEXT, _SHARE_OF_TEXTS = 1 / 3, 1 / 2
_LOOKED_AT = 1000
_FINAL_SIGMA = re.compile(r"(?<=\w)σ(?!\w)")
_BLOCKS_OF_MARKS = (range(0x300, 0x20D0), range(0x2100, 0xFE00), range(0xFE10, 0x1F000))


@cache
def _patterns() -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Return the pattern of one mark or joiner, and that of a word with marks. Marks of emoji are no marks of words."""
    codes = (code for block in _BLOCKS_OF_MARKS for code in block)
    marks = "".join(map(chr, (code for code in codes if unicodedata.category(chr(code)) in ("Mn", "Mc"))))
    return re.compile(f"[{marks}\u200c\u200d]"), re.compile(rf"\w(?:[\u200c\u200d]?[\w{marks}])+")


def composed(text: str) -> tuple[re.Pattern[str] | None, str]:
    """Return the pattern of a word with marks (None where the text has none), and the text in composed form.

    Without marks, that pattern finds what the default one does: which of them is taken changes no word.
    """
    text = unicodedata.normalize("NFC", text)  # at once where a text has this form
    mark, word = _patterns()
    return (word if mark.search(text) is not None else None), text


def lower_text(text: str) -> str:
    """Return a text in lower case, letter by letter; each sigma is σ, wherever it stands."""
    return text.replace("Σ", "σ").replace("ς", "σ").lower()


def spell_final_sigma(word: str) -> str:
    """Return a word of :func:`lower_text` as it is written: a sigma at its end, after another letter, is ς."""
    return f"{word[:-1]}ς" if len(word) > 1 and word[-1] == "σ" else word


def lower_words(text: str) -> str:
    """Return a text in lower case, with the sigma at the end of a run of letters as it is written."""
    return _FINAL_SIGMA.sub("ς", lower_text(text))


def as_counted(word: str, *, lowercase: bool) -> str:
    """Return a word of a list as texts have it: composed, and in lower case where they are."""
    return unicodedata.normalize("NFC", lower_words(word) if lowercase else word)


class Breaks:
    """Notices, in the first 1,000 texts, whether there are blanks between words."""

    def __init__(self) -> None:
        self._n_texts = self._n_unbroken = 0

    @property
    def seen_enough(self) -> bool:
        """Whether further texts make no difference."""
        return self._n_texts >= _LOOKED_AT

    def see(self, text: str) -> None:
        """Look at one text."""
        if self.seen_enough or not text:
            return
        self._n_texts += 1
        self._n_unbroken += _is_unbroken(text)

    def check(self) -> None:
        """Raise ``CorpusError`` where most of the texts that were seen have no blanks between words."""
        if self._n_unbroken > _SHARE_OF_TEXTS * self._n_texts:
            raise CorpusError(
                "most of these texts are in a script that puts no blanks between words, so each sentence would count "
                f"as one word; give what finds the words, in Python: tokenizer=, {_ADVICE}; or texts, or lists, in "
                "which the words are apart.",
            )


def _is_unbroken(text: str) -> bool:
    """Whether a third of a text's letters stand in such a script, in long runs."""
    if text.isascii() or _EITHER.search(text) is None:
        return False
    for script, longest in _LONG_RUNS:
        runs = script.findall(text)
        n_letters = sum(map(len, runs))
        if n_letters > _SHARE_OF_TEXT * len(text) and n_letters > longest * len(runs):
            return True
    return False


def refuse_unbroken_languages(languages: tuple[str, ...]) -> None:
    """Raise ``ParameterError`` where texts are said to be in a language without blanks, and nothing finds words."""
    found = [name for name in languages if name in _UNBROKEN_LANGUAGES]
    if found:
        raise ParameterError(
            f"`languages` names {', '.join(found)}, written without blanks between words; give what finds the words, "
            f"in Python: tokenizer=, {_ADVICE}; or, where the texts have blanks between them, "
            r"`token_pattern='\\S+'`."
        )


#: One of these is in every text that has something to leave out; looked for first, because it is quick.
_SIGNS = ("@", "&", "http", "www.", "t.co/", "bit.ly/", "youtu.be/", "pic.twitter.com/")
_LAST_OF_LATIN = 0x17F
_NAMED = {
    name[:-1]: character
    for name, character in html5.items()
    if name.endswith(";")
    and len(character) == 1
    and (name[:-1] in name2codepoint or ord(character) <= _LAST_OF_LATIN)
}
_ENTITY = re.compile(r"&(?:amp;)*(#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6}|[a-zA-Z][a-zA-Z0-9]{1,31});")
# To Python's re, a dotless or dotted letter of Turkish is an "i" where case is ignored. It is none in a sign above.
_LINK = re.compile(
    r"""
    (?<!\w) (?:
        https?(?: ://\S* | :?/?(?:\u2026|\.\.+) | :(?=\s|$) | (?=\s*$) )  # a page, or a link that was cut short
      | www\.\S+
      | (?: t\.co | b(?-i:[iI])t\.ly | youtu\.be | p(?-i:[iI])c\.tw(?-i:[iI])tter\.com ) /\S*
      | [\w.+-]{1,64}+ @ [\w-]{1,63} (?: \.[\w-]{1,63} )* \.(?!\d)[\w-]{1,63}  # mail
      | (?: rt (?: \s+ | [ ]?:\s* ) ["\u201c]? )? @(?!\d)\w+  # a handle
        (?: @[\w-]+(?:\.[\w-]+)+ | \.bsky\.soc(?-i:[iI])al )? :?
      | rt (?: \s+ | [ ]?:\s* ) (?=
        https?:// | www\. | (?: t\.co | b(?-i:[iI])t\.ly | youtu\.be | p(?-i:[iI])c\.tw(?-i:[iI])tter\.com ) / )
    )
    """,
    re.IGNORECASE | re.VERBOSE,
)


def without_links(text: str) -> str:
    """Return the text with blanks in place of links, and characters in place of entities."""
    lowered = text.lower()
    if not any(sign in lowered for sign in _SIGNS):
        return text
    if "&" in text:
        text = _ENTITY.sub(lambda found: _character(found[1]), text)
    return _LINK.sub(" ", text)


def _character(entity: str) -> str:
    """Return what an entity stands for; a blank where it stands for nothing, itself where nobody knows its name."""
    if entity[0] != "#":
        return _NAMED.get(entity, f"&{entity};")
    code = int(entity[2:], 16) if entity[1] in "xX" else int(entity[1:])
    if code < ord(" ") or code > sys.maxunicode or 0xD800 <= code < 0xE000:
        return " "
    if 0x80 <= code < 0xA0:
        return bytes([code]).decode("cp1252", "replace").replace("\ufffd", chr(code))
    return chr(code)


def takes_links(pattern: re.Pattern[str]) -> bool:
    r"""Whether a token pattern was made to find handles or links, as ``\S+`` and ``[@#]?\w+`` were."""
    return any(pattern.fullmatch(example) is not None for example in ("@name", "http://a.b/c", "&amp;"))


# \w+, \w\w+, [a-z]{3,}, \S+ with or without \b around it; no group, no look ahead, no second class.
_RUN_OF_ONE_CLASS = re.compile(
    r"(?:\(\?u\))?(?:\\b)?(?P<unit>\\[wSd]|\[(?:[^\[\]\\]|\\.)+\])(?P=unit)*(?:\+|\{[1-9][0-9]{0,2},\})(?:\\b)?"
)


def is_run_of_one_class(token_pattern: str) -> bool:
    r"""Whether a token pattern finds longest runs of one class of characters, without blanks: ``\b\w\w+\b``."""
    found = _RUN_OF_ONE_CLASS.fullmatch(token_pattern)
    if found is None:
        return False
    try:
        unit = re.compile(found["unit"])
    except re.error:
        return False
    return not any(unit.fullmatch(blank) for blank in _blanks())


@cache
def _blanks() -> tuple[str, ...]:
    """Return all characters that part words."""
    return tuple(filter(str.isspace, map(chr, range(sys.maxunicode + 1))))


# Stop words

#: Languages that have a list, and their codes (ISO 639-1).
LANGUAGES = {
    "ar": "arabic", "bg": "bulgarian", "ca": "catalan", "zh": "chinese", "cs": "czech", "da": "danish", "nl": "dutch",
    "en": "english", "fi": "finnish", "fr": "french", "de": "german", "el": "greek", "gu": "gujarati", "he": "hebrew",
    "hi": "hindi", "hu": "hungarian", "id": "indonesian", "it": "italian", "ja": "japanese", "ko": "korean",
    "ms": "malaysian", "nb": "norwegian", "no": "norwegian", "fa": "persian", "pl": "polish", "pt": "portuguese",
    "ro": "romanian", "ru": "russian", "sk": "slovak", "es": "spanish", "sv": "swedish", "tr": "turkish",
    "uk": "ukrainian", "vi": "vietnamese",
}  # fmt: skip
_NAMES = frozenset(LANGUAGES.values())
#: What languages call themselves, without accents.
_OWN_NAMES = {
    "francais": "french", "deutsch": "german", "espanol": "spanish", "italiano": "italian", "portugues": "portuguese",
    "nederlands": "dutch", "svenska": "swedish", "dansk": "danish", "norsk": "norwegian", "nynorsk": "norwegian",
    "nn": "norwegian", "suomi": "finnish", "polski": "polish", "turkce": "turkish", "magyar": "hungarian",
    "cestina": "czech",
}  # fmt: skip
_MEANT = 'the name of a language ("english"), "auto", a file of words, a list of words, or several of these in a list'


class StopWords(NamedTuple):
    """Words that are left out, and the names and lengths of their lists, as a release says them."""

    words: frozenset[str] = frozenset()
    lists: tuple[str, ...] = ()


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
            f'`languages` must name languages, such as "german" or ["de", "en"], got {shown(languages)}.'
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
    words, lists = set[str](), list[str]()
    for name, found in _lists(given, tuple(languages) or ("english",)):
        kept = {as_counted(word, lowercase=lowercase) for word in found}
        words |= kept
        lists.append(f"{name} ({len(kept)})")
    return StopWords(frozenset(words), tuple(lists))


def language_shares(words: Sequence[str], tokens: Any, least: int = 5) -> tuple[tuple[str, float], ...]:
    """Return the share of a text that stands on the list of each language, the largest first, from 1 % on. Private.

    Parameters
    ----------
    words : sequence of str
        The words that count: what is left out because it is on a list that is in use is on no other here.
    tokens : array of shape (n_words,)
        How often each stands in the texts.
    least : int, default 5
        Different words of a list that the texts must have: one alone may be a word of another language, too.
    """
    total = max(float(sum(tokens)), 1.0)
    used = {word: float(count) for word, count in zip(words, tokens, strict=True)}
    found = {name: [used[word] for word in set(_of_language(name)) if used.get(word)] for name in _NAMES}
    shares = [(name, sum(counts) / total) for name, counts in found.items() if len(counts) >= least]
    return tuple(sorted((one for one in shares if one[1] >= 0.01), key=lambda one: (-one[1], one[0])))


def _lists(given: Any, languages: Sequence[str]) -> Iterable[tuple[str, Iterable[str]]]:
    """Yield each list that ``given`` asks for, and what it is called."""
    if given is None or given == "none":
        return
    if isinstance(given, os.PathLike):
        yield "a file", _read_file(Path(given))
        return
    if isinstance(given, str):
        for part in given.split(","):
            yield from _named(part.strip(), languages)
        return
    entries = _entries(given, "stop_words")
    names = [entry for entry in entries if isinstance(entry, str)]
    named = [name for name in names if name in _NAMES or name == "auto"]
    if len(names) < len(entries):
        for entry in entries:
            if isinstance(entry, str | os.PathLike):
                yield from _lists(entry, languages)
            elif isinstance(entry, list | tuple | Set) and all(isinstance(word, str) for word in entry):
                yield "a list", entry
            else:
                raise ParameterError(f"`stop_words` must be {_MEANT}; an entry is not a str.")
    elif named and len(named) == len(names):
        for name in names:
            yield from _named(name, languages)
    elif isinstance(given, list | tuple) and (named := [name for name in named if name != "auto"]):
        raise ParameterError(
            f'`stop_words` holds words and the name "{named[0]}": write ["{named[0]}", [...]] with the words in a list '
            f'of their own, or [[...]] if "{named[0]}" is one of the words.'
        )
    else:
        yield "a list", names


def _named(name: str, languages: Sequence[str]) -> Iterable[tuple[str, Iterable[str]]]:
    """Yield the list of a language, those of all languages ("auto"), or that of a file."""
    if name == "auto":
        for language in languages:
            yield from _named(language, ())
        return
    language = LANGUAGES.get(name, name)
    if language in _NAMES:
        yield language, _of_language(language)
        return
    if not is_there(name) and not (name.isprintable() and Path(name).suffix):
        plain = "".join(c for c in unicodedata.normalize("NFD", name.lower()) if not unicodedata.combining(c))
        near = [_OWN_NAMES.get(plain, "")] if plain in _OWN_NAMES else get_close_matches(plain, _NAMES, 1)
        known = f" Languages: {', '.join(sorted(_NAMES))}." if name.isalpha() else ""
        known = f" Did you mean {near[0]}?" if near else known
        raise ParameterError(f"`stop_words` must be {_MEANT}; got {shown(name)}, which is none.{known}")
    yield "a file", _read_file(Path(name))


def _of_language(language: str) -> Iterable[str]:
    if language == "english":
        return english_stop_words()
    library: Any = import_module("stop_words")
    return [*map(str, library.get_stop_words(language)), *_added().get(language, ())]


@cache
def _added() -> dict[str, list[str]]:
    """Return frequent function words that the lists of the library lack: auxiliaries, pronouns, conjunctions.

    And what an apostrophe leaves of one. The library's Greek is ancient, and its Romanian has no marks.
    """
    found: dict[str, list[str]] = {}
    for line in Path(__file__).with_name("stop_words.txt").read_text("utf-8").splitlines():
        language, _, words = line.partition(": ")
        found.setdefault(language, []).extend(words.split())
    return found


def _read_file(path: Path) -> list[str]:
    return [word for line in read_list(path, Parameter("stop_words")) for word in line.split()]


def _entries(given: Any, name: str) -> list[Any]:
    if not isinstance(given, Iterable) or isinstance(given, bytes):
        raise ParameterError(f"`{name}` must be {_MEANT}, got {shown(given)}.")
    return list(given)
