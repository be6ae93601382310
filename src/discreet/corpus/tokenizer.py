r"""From one text to its tokens, with no look at any other text.

A token is a match of ``token_pattern`` in the lower-cased text, or what a callable of one's own returns for it; stop
words are left out; with ``ngram_range``, runs of consecutive tokens joined by a space count. Whatever looks at
frequencies in the corpus (``max_df``, ``min_df``, the most frequent words, phrases found by how often words meet) is a
statistic of private data and is not done here.

The result is that of scikit-learn's ``CountVectorizer`` analyser with the same parameters, but for links and handles,
which are left out, words with combining marks, which stay whole and composed, and the sigma at the end of a word of
Greek, which is spelt by that word alone.

What this means for the promise
-------------------------------
*Claim*: two corpora that differ in one document have the same counts in all other rows. *Proof*: each row is a
function of its own text and of public settings alone; no n-gram reaches into the next document, whoever wrote it,
because runs are made before documents are joined. So units of the counts are units of the texts, and what bounds a
unit bounds it in columns, whatever they are: with ``ngram_range=(1, 2)`` a text of m tokens holds up to 2m - 1 of them,
of which :class:`~discreet.PrivateCountVectorizer` lets ``max_words_per_unit`` distinct ones count, and training bounds
the row, however long it is. The sensitivity is the same; each word has a smaller share of it.

A callable (``tokenizer``) keeps to this only if it, too, looks at nothing but the text that it is given: no word list
made from the corpus, no state that one text leaves for the next. Nobody can check that from outside; it is its
person's word.

The same again
--------------
A release names the pattern, the languages and the range of n-grams, which is enough to cut new texts alike. It holds no
callable and no list of stop words of one's own: of these it has the name or a digest, and :func:`tokenizer_like` asks
for the same.
"""

import itertools
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from hashlib import sha256
from typing import Any

from discreet._base.callers import warn_caller
from discreet._base.validate import quoted, rows_shown, shown, with_article
from discreet.corpus.languages import (
    LANGUAGES,
    as_counted,
    collect_stop_words,
    composed,
    is_run_of_one_class,
    language_names,
    lower_text,
    lower_words,
    refuse_unbroken_languages,
    spell_final_sigma,
    takes_links,
    without_links,
)
from discreet.errors import CorpusError, CorpusWarning, ParameterError

#: Runs of two or more letters, digits or underscores, as in scikit-learn.
DEFAULT_TOKEN_PATTERN = r"(?u)\b\w\w+\b"

_LONG_TEXT = 1 << 20
_LONGEST_RUN = 20
_DEFAULTS = {"token_pattern": DEFAULT_TOKEN_PATTERN, "lowercase": True, "ngram_range": (1, 1)}
_LONGEST_NAME = 200


#: What a call that reads texts may say of how they are cut, besides all of it by a Tokenizer.
WORD_SETTINGS = ("tokenizer", "token_pattern", "lowercase", "stop_words", "ngram_range")


class Tokenizer:
    r"""Turn one text into a list of tokens.

    Parameters
    ----------
    token_pattern : str, default ``r"(?u)\b\w\w+\b"``
        Regular expression of one token. With one capturing group, the group is the token. The default takes combining
        marks to the letters before them (see :mod:`discreet.corpus.languages`), so that words of Hindi stay whole.
    lowercase : bool, default True
        Lower-case the text first.
    stop_words : None, str, path, or iterable of str or of these
        Public lists of words to leave out, which add up. A str names languages or files of words, with commas between
        several: "english" (scikit-learn's list), "english,spanish", "english,names.txt"; "auto" is the list of each of
        ``languages``. In a list, names, files and lists of words may stand together: ``["english", ["ward", "bed"]]``.
        Words are lower-cased too when ``lowercase`` is set.
    ngram_range : tuple of two int, default (1, 1)
        Shortest and longest run of tokens to count; (1, 2) counts words and pairs.
    tokenizer : callable, optional
        Takes one text (in lower case, unless ``lowercase=False``) and returns its words as a list of str: lemmas of
        spaCy, ``jieba.lcut``. In place of ``token_pattern``; blank words are left out. **It must look at that one text
        alone**, and return the same for the same text: whatever it learns from others voids the promise, and nothing
        here can check it. A release names it; give the same one for new texts.
    languages : str or iterable of str, optional
        What languages the texts are in, as everybody may know: names or codes of two letters. Never found from the
        texts. Those without blanks between words (Chinese, Japanese, Thai) are refused without a ``tokenizer``.

    keep_links : bool, optional
        Count what stands in addresses of pages and of mail, in handles (``@name``) and in HTML entities (``&amp;``). By
        default they are left out, unless ``token_pattern`` was made to find them, as ``\\S+`` was; see
        :mod:`discreet.corpus.languages`.

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
        tokenizer: Callable[[str], Iterable[str]] | None = None,
        languages: str | Iterable[str] | None = None,
        keep_links: bool | None = None,
    ) -> None:
        #: Whether nobody said what a word is.
        self.by_default = tokenizer is None and token_pattern == DEFAULT_TOKEN_PATTERN
        if tokenizer is not None and token_pattern != DEFAULT_TOKEN_PATTERN:
            raise ParameterError("give tokenizer= or token_pattern=, not both: each says what a word is.")
        self.token_pattern = token_pattern
        self.lowercase = bool(lowercase)
        self.ngram_range = _check_range(ngram_range)
        self.languages = language_names(languages)
        if self.by_default:
            refuse_unbroken_languages(self.languages)
        found = collect_stop_words(stop_words, self.languages, lowercase=self.lowercase)
        self.stop_words, self.stop_word_lists = found.words, found.lists
        #: Stop words that were asked for by name, so that counts lose them, too; "auto" is about texts.
        by_default = isinstance(stop_words, str) and stop_words == "auto"
        self.left_out = frozenset[str]() if by_default else found.words
        self._pattern = _compile(token_pattern)
        if keep_links is not None and not isinstance(keep_links, bool):
            raise ParameterError(f"`keep_links` must be True, False or None, got {shown(keep_links)}.")
        self._asked_links = keep_links
        self.keep_links = takes_links(self._pattern) if keep_links is None else keep_links
        #: Tokens of ``split`` that do not count: stop words, and an empty group of the pattern.
        self.ignored: frozenset[str] = self.stop_words | {""}
        self._own = None if tokenizer is None else _OwnTokens(tokenizer)

    def __call__(self, text: str) -> list[str]:
        """Return the tokens of one text, in order."""
        return list(self.tokens(text))

    def __repr__(self) -> str:
        more = "" if self._own is None else f", tokenizer={self._own.name}"
        return (
            f"Tokenizer(token_pattern={self.token_pattern!r}, lowercase={self.lowercase}, "
            f"stop_words=<{len(self.stop_words)} words>, ngram_range={self.ngram_range}{more})"
        )

    @property
    def is_of_texts(self) -> bool:
        """Whether something was said of how a text is cut, which means nothing where documents are lists of words."""
        return self._own is not None or self.token_pattern != DEFAULT_TOKEN_PATTERN or not self.lowercase

    def settings(self) -> dict[str, str | int | bool]:
        """Return what a release says of how its texts were cut: what is not as by default, and digests of lists."""
        told: dict[str, str | int | bool] = {}
        if self._own is not None:
            told["tokenizer"] = self._own.name
        if self.token_pattern != DEFAULT_TOKEN_PATTERN:
            told["token_pattern"] = self.token_pattern
        if not self.lowercase:
            told["lowercase"] = False
        if self.languages:
            told["languages"] = ", ".join(self.languages)
        if self._asked_links is not None:
            told["keep_links"] = self.keep_links
        if self.stop_words:
            told["stop_words"] = ", ".join(self.stop_word_lists)
        if self.ngram_range != (1, 1):
            told["ngram_range"] = "{},{}".format(*self.ngram_range)
            # Runs of tokens depend on the stop words themselves.
            words = "\n".join(sorted(self.stop_words)).encode("utf-8", "surrogatepass")
            told["stop_words_digest"] = sha256(words).hexdigest()[:16]
        return told

    def tokens(self, text: str) -> Iterator[str]:
        """Yield the tokens of one text, n-grams included."""
        words = (word for word in self.split(text) if word not in self.ignored)
        return words if self.ngram_range == (1, 1) else self.runs(list(words))

    def runs(self, held: list[str]) -> Iterator[str]:
        """Yield what is counted of consecutive tokens: each of them, or their n-grams."""
        shortest, longest = self.ngram_range
        runs = (
            map(" ".join, zip(*(held[i:] for i in range(n)), strict=False))
            for n in range(shortest, longest + 1)
        )
        return itertools.chain.from_iterable(runs) if longest > 1 else iter(held)

    def check_reach(self, words: Sequence[str]) -> None:
        """Warn of words that no text can have, cut like this, and refuse a list of such alone; looks at no text."""
        lowered, column = list(map(self._as_in_texts, words)), self.columns(words)
        doubles = [column[word] != place for place, word in enumerate(lowered)]
        never = self.out_of_reach(words)
        stopped = sum(lowered[place] in self.stop_words for place in never)
        capitals = sum(doubles[place] and lowered[place] not in self.stop_words for place in never)
        reasons = {
            f"stop words, which are left out: {stopped:,} ({', '.join(self.stop_word_lists)})": stopped,
            f"the same as another but for capitals: {capitals:,}": capitals,
            "cut texts as those from which the vocabulary was made": len(never) - stopped - capitals,
        }
        told = (
            f"{len(never):,} of {len(words):,} words of the vocabulary can never be found in texts that are cut like "
            f"this: number {rows_shown(never)}; {'; '.join(why for why, many in reasons.items() if many)}."
        )
        if never and len(never) == len(words):
            raise CorpusError(told)
        if never:
            warn_caller(CorpusWarning(CorpusError(told)))

    def out_of_reach(self, words: Sequence[str]) -> list[int]:
        """Return the places of the words that no text can have, cut like this, as far as the words alone tell."""
        if self._own is not None or not (self.by_default or is_run_of_one_class(self.token_pattern)):
            return []  # what stands around a word may decide what is cut
        column = self.columns(words)
        lowered = list(map(self._as_in_texts, words))
        return [
            place
            for place, word in enumerate(lowered)
            if column[word] != place or word not in self(words[place])
        ]

    def columns(self, words: Sequence[str]) -> dict[str, int]:
        """Return the column in which each word of a text counts: of a word with capitals, what they become, too."""
        column = {word: place for place, word in enumerate(words)}
        for place, word in enumerate(words):
            column.setdefault(self._as_in_texts(word), place)
        return column

    def _as_in_texts(self, word: str) -> str:
        return word if self._own is not None else as_counted(word, lowercase=self.lowercase)

    def of_words(self, words: Sequence[str]) -> Iterable[str]:
        """Return what is counted of a document that was cut into words before; stop words are still among it or not."""
        if self.ngram_range == (1, 1):
            return words
        return self.runs([word for word in words if word not in self.stop_words])

    def split(self, text: str) -> Iterable[str]:
        """Return the single words of one text, those in ``ignored`` still among them."""
        text = text if self.keep_links else without_links(text)
        if self._own is not None:
            return self._own(lower_words(text) if self.lowercase else text)
        pattern, lowered = self._pattern, lower_text(text) if self.lowercase else text
        if self.by_default and not lowered.isascii():
            with_marks, lowered = composed(lowered)
            pattern = with_marks or pattern
        if len(text) > _LONG_TEXT:  # a list of all its words would take some 60 bytes a word
            words: Iterable[str] = (match[pattern.groups] or "" for match in pattern.finditer(lowered))
        else:
            words = pattern.findall(lowered)
        return map(spell_final_sigma, words) if self.lowercase and "σ" in lowered else words


class _OwnTokens:
    """A callable on one document, checked: whatever it does wrong, no error shows text.

    Parameters
    ----------
    function : callable
        Takes one text, returns its tokens. It must be given the text alone, and tell nothing of others.
    """

    def __init__(self, function: Callable[[str], Iterable[str]]) -> None:
        if not callable(function):
            raise ParameterError(
                "`tokenizer` must be a Tokenizer, or a callable on one text that returns its words; got "
                f"{shown(function)}."
            )
        self._function = function
        named: Any = function if hasattr(function, "__qualname__") else type(function)
        name = f"{getattr(named, '__module__', '')}.{named.__qualname__}"
        #: By which a release calls it.
        self.name = name[:_LONGEST_NAME] if name.isprintable() else "a callable"

    def __call__(self, text: str) -> list[str]:
        """Return the tokens of a text, without those that are blank."""
        try:
            tokens = check_tokens(self._function(text), blanks=True)
        except Exception as error:
            tokens = type(error)
        if isinstance(tokens, type):  # raised out here, because the other error may hold the text
            raise CorpusError(
                f"the tokenizer {self.name} failed on a document with {with_article(tokens.__name__)}, which is not "
                "shown because it may hold text; try it on texts of your own."
            )
        if isinstance(tokens, str):
            raise CorpusError(
                f"the tokenizer {self.name} must return the words of a text as a list of str: {tokens}."
            )
        return tokens


def check_tokens(document: Any, *, blanks: bool = False) -> list[str] | str:
    """Return the tokens of a document as a list, or say what is wrong with them; never shows one.

    Parameters
    ----------
    document : iterable of str
    blanks : bool, default False
        Whether tokens that are empty or blank are left out; otherwise an empty one is a mistake.
    """
    if isinstance(document, str | bytes) or not isinstance(document, Iterable):
        return f"expected a list of tokens, found {type(document).__name__}"
    tokens: list[Any] = list(document)
    for place, token in enumerate(tokens):
        if not isinstance(token, str):
            return f"token {place} is no text but {type(token).__name__}"
        if blanks and (not token or token.isspace()):
            continue
        if not token or len(f"{token}.".splitlines()) != 1:
            return f"token {place} is empty or holds a line break"
    return [token for token in tokens if token and not token.isspace()] if blanks else tokens


def choose_tokenizer(tokenizer: Any = None, **options: Any) -> Tokenizer:
    """Return the tokenizer given, or one made of a callable and of what was said beside it.

    Parameters
    ----------
    tokenizer : Tokenizer, callable or None
    **options
        Of :class:`Tokenizer`; None, or its default, says nothing.

    Raises
    ------
    ParameterError
        Where a Tokenizer was given, which says all, and something else beside it.
    """
    given = {
        name: value
        for name, value in options.items()
        if value is not None and not (name in _DEFAULTS and value == _DEFAULTS[name])
    }
    if not isinstance(tokenizer, Tokenizer):
        return Tokenizer(tokenizer=tokenizer, **given)
    if isinstance(given.get("stop_words"), str) and given["stop_words"] == "auto":
        del given["stop_words"]
    if given:
        raise ParameterError(f"give tokenizer= or {', '.join(given)}=, not both: a Tokenizer says all of it.")
    return tokenizer


def _compile(token_pattern: str) -> re.Pattern[str]:
    # A run of two or more is longest where it is found: the default finds the same without looking at its ends, faster.
    plain = r"\w\w+" if token_pattern == DEFAULT_TOKEN_PATTERN else token_pattern
    try:
        pattern = re.compile(plain)
    except re.error as error:
        raise ParameterError(f"`token_pattern` is not a regular expression: {error}.") from None
    if pattern.groups > 1:
        raise ParameterError(
            f"`token_pattern` has {pattern.groups} capturing groups, at most 1 has a meaning; write (?:...) for the "
            "others."
        )
    if pattern.fullmatch("") is not None:
        raise ParameterError("`token_pattern` matches the empty text; use + or {1,} in place of *.")
    return pattern


def _check_range(ngram_range: Any) -> tuple[int, int]:
    try:
        shortest, longest = (int(n) for n in ngram_range)
    except (TypeError, ValueError):
        shortest, longest = 0, 0
    if not 1 <= shortest <= longest <= _LONGEST_RUN:
        raise ParameterError(
            f"`ngram_range` must be (shortest, longest) with 1 <= shortest <= longest <= {_LONGEST_RUN}, got "
            f"{shown(ngram_range)}."
        )
    return shortest, longest


_LISTED = re.compile(r"([a-z ]+) \(\d+\)")


def tokenizer_like(
    settings: Mapping[str, Any],
    *,
    tokenizer: Any = None,
    token_pattern: str | None = None,
    stop_words: Any = None,
) -> Tokenizer:
    """Return a tokenizer that cuts texts as those of a release were cut.

    Parameters
    ----------
    settings : mapping
        ``release.configuration``.
    tokenizer, stop_words
        The same callable and lists again, where a release only names them. Stop words of languages that it names are
        left out as they were; those of one's own matter for n-grams, and where they are among its public words.
    token_pattern : str, optional
        Another pattern than that of the release, or one in place of its callable.

    Returns
    -------
    Tokenizer

    Raises
    ------
    ParameterError
        Where something is missing that a release cannot hold, or is not the same.
    """
    named, runs = settings.get("tokenizer"), settings.get("ngram_range")
    if named is not None and tokenizer is None and token_pattern is None:
        raise ParameterError(
            f"the texts of this release were cut into words by {named}, which a file cannot hold; give it again, in "
            "Python: read_corpus(..., tokenizer=tokenizer_like(release.configuration, tokenizer=...)).",
        )
    options: dict[str, Any] = {"stop_words": stop_words, "token_pattern": token_pattern}
    if token_pattern is None and tokenizer is None and "token_pattern" in settings:
        options["token_pattern"] = pattern = str(settings["token_pattern"])
        if not is_run_of_one_class(pattern):
            raise ParameterError(
                "the release was trained with a token pattern of its own, which may come from anybody and could run "
                f"for ever: {quoted(pattern[:100])}. If you trust it, give it yourself: `token_pattern=`."
            )
    if stop_words is None and settings.get("stop_words") is not None:
        options["stop_words"] = _named_lists(str(settings["stop_words"]), for_runs=runs is not None)
    if runs is not None:
        options["ngram_range"] = str(runs).split(",")
    given = {name: value for name, value in options.items() if value is not None}
    lowercase, keep_links = settings.get("lowercase", True), settings.get("keep_links")
    made = Tokenizer(lowercase=lowercase, keep_links=keep_links, tokenizer=tokenizer, **given)
    now = made.settings()
    if named is not None and tokenizer is not None and now["tokenizer"] != named:
        raise ParameterError(
            f"`tokenizer` is {now['tokenizer']}, but the texts of this release were cut by {named}."
        )
    if runs is not None and now["stop_words_digest"] != settings.get("stop_words_digest"):
        raise ParameterError(
            f"`stop_words` must be those of this release, {settings.get('stop_words', 'none')}: its runs of words "
            "depend on them; give the same lists."
        )
    return made


def _named_lists(stop_words: str, *, for_runs: bool) -> str | None:
    """Return the languages whose stop words a release names; None where there are none, or runs need others, too."""
    lists = [name.strip(", ") for name in _LISTED.findall(stop_words)]
    known = [name for name in lists if name in LANGUAGES.values()]
    if for_runs:
        return ",".join(known) if len(known) == len(lists) else None
    return ",".join(known) or None
