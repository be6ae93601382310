r"""From one text to its tokens, with no look at any other text.

A token is a match of ``token_pattern`` in the lower-cased text that is not a stop word; with ``ngram_range``,
runs of consecutive tokens joined by a space. Every step looks at one document and at public configuration,
so tokenising changes nothing about who influences what. Whatever looks at frequencies in the corpus
(``max_df``, ``min_df``, the most frequent words) is a statistic of private data and is not done here.

The result is that of scikit-learn's ``CountVectorizer`` analyser with the same parameters.

How it is fast
--------------
The usual patterns are "a run of at least m characters of one class": ``\b\w\w+\b``, ``[a-z]{3,}``. In an
ASCII text such runs are found by mapping every other character to a blank and splitting there, a few times
faster than a regular expression. Other patterns and other texts take the regular expression.
"""

import itertools
import re
from collections import deque
from collections.abc import Iterable, Iterator
from typing import Any

from discreet.corpus.tokens.stop_words import collect_stop_words, language_names
from discreet.errors import Parameter, ParameterError

__all__ = ["DEFAULT_TOKEN_PATTERN", "Tokenizer", "choose_tokenizer"]

#: Runs of two or more letters, digits or underscores, as in scikit-learn.
DEFAULT_TOKEN_PATTERN = r"(?u)\b\w\w+\b"

# \w\w+ or \w{2,} with or without \b around it, or [a-z]{3,} and the like; no escapes or negation in a class.
_RUN = re.compile(
    r"(?:\(\?u\))?(?P<edge>\\b)?(?P<unit>\\w|\[[A-Za-z0-9_'-]+\])"
    r"(?:(?P<plus>\+)|(?P<twice>(?P=unit)\+)|\{(?P<least>[1-9]\d*),\})(?(edge)\\b)"
)
_LONG_TEXT = 1 << 20
_MOST_SHORT_RUNS = 20_000


class Tokenizer:
    r"""Turn one text into a list of tokens.

    Parameters
    ----------
    token_pattern : str, default ``r"(?u)\b\w\w+\b"``
        Regular expression of one token. With one capturing group, the group is the token.
    lowercase : bool, default True
        Lower-case the text first.
    stop_words : None, str, path, or iterable of str or of these
        Public lists of words to leave out, which add up. A str names languages or files of words, with commas between
        several: "english" (scikit-learn's list), "english,spanish", "english,names.txt"; "auto" is the list of each of
        ``languages``. In a list, names, files and lists of words may stand together: ``["english", ["ward", "bed"]]``.
        Other languages than English need ``pip install 'discreet[languages]'``. Words are lower-cased too when
        ``lowercase`` is set.
    ngram_range : tuple of two int, default (1, 1)
        Shortest and longest run of tokens to count; (1, 2) counts words and pairs.
    languages : str or iterable of str, optional
        What languages the texts are in, as everybody may know: names or codes of two letters. Never found from the
        texts.

    Raises
    ------
    ParameterError
        For a broken pattern, a pattern that matches nothing at all, or a range that is not one.

    Examples
    --------
    >>> Tokenizer(stop_words="english")("The topics of the model")
    ['topics', 'model']
    """

    def __init__(
        self,
        token_pattern: str = DEFAULT_TOKEN_PATTERN,
        lowercase: bool = True,
        stop_words: Any = None,
        ngram_range: tuple[int, int] = (1, 1),
        *,
        languages: str | Iterable[str] | None = None,
    ) -> None:
        self.token_pattern = token_pattern
        self.lowercase = bool(lowercase)
        self.ngram_range = _check_range(ngram_range)
        self.languages = language_names(languages)
        found = collect_stop_words(stop_words, self.languages, lowercase=self.lowercase)
        self.stop_words, self.stop_word_lists = found.words, found.told
        #: Stop words that were asked for by name, so that counts lose them, too; "auto" is about texts.
        self.left_out = (
            frozenset[str]() if isinstance(stop_words, str) and stop_words == "auto" else found.words
        )
        self._pattern = _compile(token_pattern)
        run = None if self._pattern.groups else _one_class_run(token_pattern, self.lowercase)
        self._blanks, shorter = run if run is not None else (None, frozenset[str]())
        #: Tokens of ``split`` that do not count: stop words, and runs too short for the pattern.
        self.ignored: frozenset[str] = self.stop_words | shorter | {""}

    def __call__(self, text: str) -> list[str]:
        """Return the tokens of one text, in order."""
        return list(self.tokens(text))

    def __repr__(self) -> str:
        return (
            f"Tokenizer(token_pattern={self.token_pattern!r}, lowercase={self.lowercase}, "
            f"stop_words=<{len(self.stop_words)} words>, ngram_range={self.ngram_range})"
        )

    def tokens(self, text: str) -> Iterator[str]:
        """Yield the tokens of one text, n-grams included; of a very long text without holding all of them."""
        ignored = self.ignored
        if len(text) > _LONG_TEXT:
            words = (word for word in self.split(text) if word not in ignored)
            return words if self.ngram_range == (1, 1) else self._ngrams(words)
        return self.runs([word for word in self.split(text) if word not in ignored])

    def runs(self, held: list[str]) -> Iterator[str]:
        """Yield what is counted of consecutive tokens: each of them, or their n-grams."""
        shortest, longest = self.ngram_range
        runs = (
            map(" ".join, zip(*(held[i:] for i in range(n)), strict=False))
            for n in range(shortest, longest + 1)
        )
        return itertools.chain.from_iterable(runs) if longest > 1 else iter(held)

    def split(self, text: str) -> Iterable[str]:
        """Return the single words of one text, those in ``ignored`` still among them."""
        if len(text) > _LONG_TEXT:  # a list of all its words would take some 60 bytes a word
            return self._stream(text)
        if self._blanks is not None and text.isascii():
            return text.translate(self._blanks).split()
        return self._pattern.findall(text.lower() if self.lowercase else text)

    def _stream(self, text: str) -> Iterator[str]:
        group = self._pattern.groups
        lowered = text.lower() if self.lowercase else text
        return (match.group(group) or "" for match in self._pattern.finditer(lowered))

    def _ngrams(self, words: Iterator[str]) -> Iterator[str]:
        shortest, longest = self.ngram_range
        window: deque[str] = deque(maxlen=longest)
        for word in words:
            window.append(word)
            held = list(window)
            for n in range(shortest, len(held) + 1):
                yield " ".join(held[-n:])


def choose_tokenizer(
    tokenizer: Tokenizer | None,
    token_pattern: str | None,
    lowercase: bool | None,
    stop_words: Any,
    ngram_range: tuple[int, int] | None,
) -> Tokenizer:
    """Return the tokenizer given, or one made of the parameters that are not None."""
    options: dict[str, Any] = {
        "token_pattern": token_pattern,
        "lowercase": lowercase,
        "stop_words": stop_words,
        "ngram_range": ngram_range,
    }
    given = {name: value for name, value in options.items() if value is not None}
    if tokenizer is None:
        return Tokenizer(**given)
    if given:
        raise ParameterError(f"give tokenizer= or {', '.join(given)}=, not both.")
    return tokenizer


def _compile(token_pattern: str) -> re.Pattern[str]:
    try:
        pattern = re.compile(token_pattern)
    except re.error as error:
        raise ParameterError(Parameter("token_pattern"), f" is not a regular expression: {error}.") from None
    if pattern.groups > 1:
        raise ParameterError(
            Parameter("token_pattern"),
            f" has {pattern.groups} capturing groups, at most 1 has a meaning; write (?:...) for the others.",
        )
    if pattern.fullmatch("") is not None:
        raise ParameterError(
            Parameter("token_pattern"), " matches the empty text; use + or {1,} in place of *."
        )
    return pattern


def _check_range(ngram_range: Any) -> tuple[int, int]:
    try:
        shortest, longest = (int(n) for n in ngram_range)
    except (TypeError, ValueError):
        shortest, longest = 0, 0
    if not 1 <= shortest <= longest:
        raise ParameterError(
            Parameter("ngram_range"),
            f" must be (shortest, longest) with 1 <= shortest <= longest, got {ngram_range}.",
        )
    return shortest, longest


def _one_class_run(token_pattern: str, lowercase: bool) -> tuple[str, frozenset[str]] | None:
    r"""Return the blanking table of a pattern that is a run of one class, and the runs that are too short.

    ``\b`` is dropped around ``\w`` only, where a longest run has it on both sides anyway. Longest runs and
    matches are the same because the pattern is greedy and a search goes from left to right.
    """
    found = _RUN.fullmatch(token_pattern)
    if found is None or (found["edge"] and found["unit"] != r"\w"):
        return None
    least = int(found["least"] or (2 if found["twice"] else 1))
    unit = re.compile(found["unit"])
    table, members = "", set[str]()
    for code in range(128):
        character = chr(code).lower() if lowercase else chr(code)
        inside = unit.fullmatch(character) is not None
        table += character if inside else " "
        if inside:
            members.add(character)
    if sum(len(members) ** n for n in range(1, least)) > _MOST_SHORT_RUNS:
        return None
    short = ("".join(run) for n in range(1, least) for run in itertools.product(sorted(members), repeat=n))
    return table, frozenset(short)
