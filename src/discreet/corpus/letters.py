r"""What belongs to a word: marks of all scripts; scripts without blanks between words; links, which are no words.

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
"""

import re
import sys
import unicodedata
from functools import cache
from html.entities import html5, name2codepoint

from discreet.errors import CorpusError, Parameter, ParameterError, Proposal

#: Languages that are written without blanks between words.
UNBROKEN_LANGUAGES = frozenset(
    {
        "chinese",
        "japanese",
        "thai",
        "lao",
        "khmer",
        "burmese",
        "zh",
        "ja",
        "th",
        "lo",
        "km",
        "my",
        "cantonese",
    }
)
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
    found = [name for name in languages if name in UNBROKEN_LANGUAGES]
    if found:
        raise ParameterError(
            Parameter("languages"),
            f" names {', '.join(found)}, written without blanks between words; give what finds the words, "
            f"in Python: tokenizer=, {_ADVICE}; or, where the texts have blanks between them, ",
            Proposal("token_pattern", r"\S+"),
            ".",
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
      | [\w.+-]{1,64} @ [\w-]{1,63} (?: \.[\w-]{1,63} )* \.(?!\d)[\w-]{1,63}  # mail
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
    r"(?:\(\?u\))?(?:\\b)?(?P<unit>\\[wSd]|\[(?:[^\[\]\\]|\\.)+\])(?P=unit)*(?:\+|\{[1-9][0-9]*,\})(?:\\b)?"
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
