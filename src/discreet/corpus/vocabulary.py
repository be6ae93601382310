"""The words of a corpus: lists of them, where they come from, and which private choices their columns went through.

A list of words made from private texts tells what stands in them: a word that one document holds is in the list, or it
is not. So words are public only where somebody says so, by ``words_are_public=True`` in one of the calls that words
go through, and who said it, where, goes with the words into the release. Words that ``PrivateCountVectorizer`` chose
carry the booking of that choice. All others are refused where a promise is made.

These are two facts. Counts of chosen words lack all other words, whatever the columns are called later: laid on a
public list, the words that were not chosen are columns of zeros, and which ones they are tells of the texts. So a
choice stays with a :class:`~discreet.Corpus` through all its methods, apart from who says that its words are public,
and what is released of it is booked where the choice is, or refused. It lives in the corpus and its files, and
nowhere else: of bare counts (``corpus.counts``), and of what scipy makes of them, the caller vouches for the columns.
"""

import math
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, NamedTuple

from discreet._base.arrays import carried, column_words
from discreet._base.validate import first_few, is_whole, kind_of
from discreet.corpus.files import digest_of, one_file, read_lines
from discreet.corpus.languages import is_run_of_one_class
from discreet.errors import CorpusError, DiscreetError, PrivacyError

#: A path of a file with one word a line, or the words themselves.
WordList = str | os.PathLike[str] | Iterable[str]
#: Of gensim's ``save_as_text``: number, word, number of documents.
_GENSIM_LINE = re.compile(r"[0-9]+\t[^\t]+\t[0-9]+")
_SURROGATE = re.compile("[\ud800-\udfff]")
#: A run of tokens has no more (``ngram_range``).
_MOST_BLANKS = 19

_KINDS = ("public", "chosen", "numbered", "from text", "unknown")
_DIGEST = re.compile("[0-9a-f]{64}")
_LONGEST_NAME = 200
_MOST_CHOICES = 64
_OF_CHOICE = {"ledger", "booking", "entry", "seeded"}


# ---- private choices, and where words come from


@dataclass(frozen=True)
class ColumnChoice:
    """One private choice of words, as it is booked.

    Attributes
    ----------
    ledger : str
        Identity of the ledger.
    booking : int
        Number of the booking there.
    entry : str
        Digest of that booking, with its nonce.
    seeded : bool, default False
        Whether it was made with a seed, so that whoever knows it can undo the noise.
    book : Ledger, optional
        The ledger itself where it is at hand. Not stored, and not compared.
    """

    ledger: str
    booking: int
    entry: str
    seeded: bool = False
    book: Any = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        named = isinstance(self.ledger, str) and 0 < len(self.ledger) <= _LONGEST_NAME
        noted = isinstance(self.entry, str) and _DIGEST.fullmatch(self.entry)
        counted = type(self.booking) is int and self.booking >= 0
        if not named or not noted or not counted or not isinstance(self.seeded, bool):
            raise CorpusError("this does not say how words were chosen: it was changed or is damaged.")

    def to_json(self) -> dict[str, Any]:
        """Return this as JSON values."""
        return {name: getattr(self, name) for name in sorted(_OF_CHOICE)}

    @classmethod
    def all_from_json(cls, values: Any) -> "tuple[ColumnChoice, ...]":
        """Return what :meth:`to_json` wrote of several; ``CorpusError`` where it is damaged."""
        known = isinstance(values, list) and len(values) <= _MOST_CHOICES
        if not known or not all(isinstance(value, dict) and set(value) == _OF_CHOICE for value in values):
            raise CorpusError("this does not say how words were chosen: it was changed or is damaged.")
        return joined(cls(**value) for value in values)


def joined(*several: Iterable[ColumnChoice]) -> tuple[ColumnChoice, ...]:
    """Return all choices, each once, in the order of their first appearance."""
    found: dict[ColumnChoice, ColumnChoice] = {}
    for choices in several:
        for choice in choices:
            known = found.setdefault(choice, choice)
            if known.book is None and choice.book is not None:
                found[choice] = replace(known, book=choice.book)
    return tuple(found.values())


class Coverage(NamedTuple):
    """How much of the text the chosen words make up: released with their choice.

    Attributes
    ----------
    share : float
        From 0 to 1: the mean over units of the share of their tokens.
    deviation : float
        Standard deviation of the noise in it.
    n_units : float
        Noisy number of units that have any text.
    """

    share: float
    deviation: float
    n_units: float

    @property
    def surely_units(self) -> float:
        """The number of units less three standard deviations of its noise."""
        noise = self.deviation * self.n_units / math.hypot(self.share, 1 - self.share)
        return self.n_units - 3 * math.sqrt(2) * noise


@dataclass(frozen=True)
class WordOrigin:
    """Where the words of some counts come from.

    Parameters
    ----------
    kind : {"public", "chosen", "numbered", "from text", "unknown"}
        Public; chosen privately; no words, the columns have numbers; counted from the texts themselves; not known.
    declared_by : str, default ""
        The call, option or file by which somebody said that they are public.
    choices : tuple of ColumnChoice, default ()
        The private choices that the columns went through, whatever their names are now.
    coverage : Coverage, optional
        Of words that were chosen: how much of the text they make up, where that was released.
    """

    kind: str
    declared_by: str = ""
    choices: tuple[ColumnChoice, ...] = ()
    coverage: Coverage | None = None

    def __post_init__(self) -> None:
        texts = (self.kind, self.declared_by)
        plain = all(
            isinstance(text, str) and len(text) <= _LONGEST_NAME and text.isprintable() for text in texts
        )
        listed = isinstance(self.choices, tuple) and all(isinstance(c, ColumnChoice) for c in self.choices)
        if not plain or self.kind not in _KINDS or not listed or not _is_coverage(self.coverage, self.kind):
            raise CorpusError("this does not say where words come from: it was changed or is damaged.")
        if (self.kind == "public") != bool(self.declared_by) or (self.kind == "chosen" and not self.choices):
            raise CorpusError(
                "words are public where somebody is named who says so, and chosen where the choice is named."
            )

    @classmethod
    def public(cls, declared_by: str) -> "WordOrigin":
        """Words that somebody says are public."""
        return cls("public", declared_by)

    @classmethod
    def chosen(cls, *choices: ColumnChoice, coverage: Coverage | None = None) -> "WordOrigin":
        """Words that came out of private choices, the last of which found them."""
        return cls("chosen", choices=joined(choices), coverage=coverage)

    @property
    def is_public(self) -> bool:
        """Whether somebody said that these words are the same whatever the texts say."""
        return self.kind == "public"

    @property
    def seeded(self) -> bool:
        """Whether one of the choices was made with a seed."""
        return any(choice.seeded for choice in self.choices)

    @property
    def ledger(self) -> Any:
        """The ledger on which all the choices are booked; None where there are none, or it is not at hand."""
        books = [choice.book for choice in self.choices]
        one = books and all(book is not None and book.identity == books[0].identity for book in books)
        return books[0] if one else None

    def after(self, choices: Iterable[ColumnChoice]) -> "WordOrigin":
        """Return this of columns that went through these choices, too, before its own."""
        return replace(self, choices=joined(choices, self.choices))

    def public_by(self, declared_by: str) -> "WordOrigin":
        """Return this where somebody says that the words are public. The choices stay."""
        return WordOrigin("public", declared_by, self.choices)

    def settings(self) -> dict[str, Any]:
        """Return what a release says of its words."""
        told: dict[str, Any] = {"words": self.kind}
        if self.coverage is not None:
            told |= {"text_covered": self.coverage.share, "text_covered_noise": self.coverage.deviation}
        told |= {"words_declared_by": self.declared_by} if self.declared_by else {}
        return told | ({"columns": "chosen privately"} if self.choices and self.kind != "chosen" else {})

    def check_words(self, words: Sequence[str]) -> None:
        """Raise ``CorpusError`` where this says that columns are numbered, and they have words."""
        if self.kind == "numbered" and tuple(words) != column_words(len(words)):
            raise CorpusError(
                "these columns have words, so they are not numbered; say where the words come from: "
                "WordOrigin.public(...) or words_are_public=True where they are public."
            )

    def to_json(self, words: Sequence[str]) -> dict[str, Any]:
        """Return this as JSON values, bound to the words it is about."""
        return {
            "kind": self.kind,
            "declared_by": self.declared_by,
            "choices": [choice.to_json() for choice in self.choices],
            "words_sha256": digest_of(words),
        } | ({} if self.coverage is None else {"coverage": list(self.coverage)})

    @classmethod
    def from_json(cls, value: Any, words: Sequence[str], *, other_words: bool = False) -> "WordOrigin":
        """Return what :meth:`to_json` wrote.

        Parameters
        ----------
        value : JSON values
        words : sequence of str
            What it must be about.
        other_words : bool, default False
            Whether somebody calls the columns otherwise by now: then where those words come from is not known, and the
            choices stay.

        Raises
        ------
        CorpusError
            Where it is damaged, or is about other words and must not be.
        """
        names = {"kind", "declared_by", "choices", "words_sha256"}
        if not isinstance(value, dict) or set(value) - {"coverage"} != names:
            raise CorpusError("this does not say where words come from: it was changed or is damaged.")
        choices, told = ColumnChoice.all_from_json(value["choices"]), value.get("coverage")
        numbers: Any = Coverage(*told) if isinstance(told, list) and len(told) == 3 else told
        origin = cls(value["kind"], value["declared_by"], choices, numbers)
        if value["words_sha256"] == digest_of(words):
            origin.check_words(words)
            return origin
        if other_words:
            return UNKNOWN.after(origin.choices)
        raise CorpusError("this says where other words come from than those that it lies beside.")


def _is_coverage(value: Any, kind: str) -> bool:
    """Whether this is nothing, or tells of chosen words by numbers that can be."""
    if value is None:
        return True
    if kind != "chosen" or not isinstance(value, Coverage) or not all(type(one) is float for one in value):
        return False
    return 0 <= value.share <= 1 and 0 <= value.deviation < math.inf and 1 <= value.n_units < math.inf


#: There are no words: the columns have numbers, and how many there are is the caller's to vouch for.
NUMBERED = WordOrigin("numbered")
#: All words of the private texts.
FROM_TEXT = WordOrigin("from text")
UNKNOWN = WordOrigin("unknown")


class GivenWords(NamedTuple):
    """The words that come with X or beside it (None: its columns have no words), and where they come from.

    ``cut`` says how the texts became words, as ``Tokenizer.settings()`` does; empty where X does not know it.
    """

    words: tuple[str, ...] | None
    origin: WordOrigin
    cut: Mapping[str, Any] = MappingProxyType({})


def given_words(X: Any, vocabulary: Any, words_are_public: Any, where: str) -> GivenWords:
    """Return the words of counts, and where they come from. Asks for what X carries, and reads none of its counts.

    Parameters
    ----------
    X : Corpus, data frame, matrix or array-like
        What declares words as a part of its class carries them; the names of a frame's columns are words.
    vocabulary : sequence of str, optional
        Words of a matrix that carries none.
    words_are_public : bool
        Whether the caller says that the words were not made from these texts.
    where : str
        The call, as the release will name it: ``"PrivateLDA.fit"``.

    Raises
    ------
    CorpusError
        Where ``vocabulary`` is no list of distinct words, or others than X carries.
    PrivacyError
        Where words are said to be public that are not there, or known to be chosen from the texts or counted from them
        without a list.
    """
    if not isinstance(words_are_public, bool):
        raise PrivacyError(f"words_are_public must be True or False, but is {kind_of(words_are_public)}.")
    words, origin = _carried_words(X)
    if vocabulary is not None:
        if isinstance(vocabulary, str | bytes):
            raise CorpusError(
                "the vocabulary must be a sequence of words, one for each column, got one text."
            )
        named = check_words(vocabulary, "vocabulary: word")
        if words is not None and named != words:
            raise CorpusError(
                "X carries words of its own, and the vocabulary has others, or in another order: leave `vocabulary=` "
                "out, or pass the bare matrix."
            )
        words, origin = named, UNKNOWN.after(origin.choices) if words is None else origin
    cut = dict(carried(X, "cut") or {})
    if not words_are_public:
        return GivenWords(words, origin, cut)
    refuse_public(origin, listed=vocabulary is not None)
    return GivenWords(
        words, origin if origin.is_public else origin.public_by(f"words_are_public=True in {where}"), cut
    )


#: Where words come from that nobody can say are public, and what to do.
_NOT_PUBLIC = {
    "numbered": "the words are said to be public, but the counts have none; give `vocabulary=`, or leave "
    "`words_are_public=True` out.",
    "chosen": "these words were chosen from the texts, so they are not public; leave `words_are_public=True` out: what "
    "the choice cost stands in their ledger.",
    "from text": "these words were counted from the texts themselves, so they are not public: a word of one document "
    "is among them. Count the texts with the public list, `vocabulary=`, or leave `words_are_public=True` out: then "
    "some of the words are chosen privately.",
}


def refuse_public(origin: WordOrigin, *, listed: bool = False) -> None:
    """Raise ``PrivacyError`` where nobody can say that the words are public: they are not there, or known not to be.

    All words that were counted in the texts, or chosen among them, are no public list, whoever says so; a list that is
    given (``listed``) may hold the same words, and is the caller's to vouch for. The choices that the columns went
    through stay with them, whatever is said of their names.
    """
    if origin.kind == "numbered" or (origin.kind in _NOT_PUBLIC and not listed):
        raise PrivacyError(_NOT_PUBLIC[origin.kind])


def choices_of(X: Any) -> tuple[ColumnChoice, ...]:
    """Return the private choices that the columns of a corpus went through."""
    origin: WordOrigin | None = carried(X, "word_origin")
    return () if origin is None else origin.choices


def refuse_chosen_columns(X: Any) -> None:
    """Raise ``PrivacyError`` where columns went through a private choice that cannot be booked with what is made."""
    if choices_of(X):
        raise PrivacyError(
            "the columns of these counts were chosen from the texts, at a cost that cannot be told here: count the "
            "texts themselves with a public `vocabulary=`."
        )


def faults_of_words(origin: WordOrigin, *, choice_can_be_booked: bool = True) -> list[DiscreetError]:
    """Say where words come without anybody's word for them, and both ways to mend it."""
    if origin.kind == "from text":
        what = "the words of this corpus were read from the private texts themselves, so they would leak"
        say = "give the list, `vocabulary=`, and say `words_are_public=True`"
    elif origin.kind == "unknown":
        what = "nobody says where these words come from, and words made from private texts would leak"
        say = "say `words_are_public=True`"
    else:
        return []
    from_text = (
        "Words of the texts themselves cannot be used here: PrivateCountVectorizer protects documents or people, "
        "this model single words, and one ledger cannot hold both. Take PrivateLDA for them."
    )
    if choice_can_be_booked:
        from_text = (
            "If they come from the texts, let some be chosen privately, on the same ledger: "
            "PrivateCountVectorizer(epsilon=...).fit_transform(texts or corpus)."
        )
    public = "If they are public, a list that was not made from these texts,"
    return [PrivacyError(f"{what}. {public} {say}. {from_text}")]


def faults_of_runs(words: Sequence[str] | None, cut: Mapping[str, Any]) -> list[DiscreetError]:
    """Say where one token of a text may be counted in several columns, so that no loss of one word can be told.

    "severe chest pain" without "chest" is five columns of ``ngram_range=(1, 2)`` less and one more. A word with a blank
    in it is a run of tokens, whoever counted it. A token pattern can look ahead, and find such runs too: it must be a
    longest run of characters of one class, blanks not among them. What a callable returns (``tokenizer=``) is a token
    each.

    Parameters
    ----------
    words : sequence of str, optional
        Of the columns, where they have any.
    cut : mapping
        ``Tokenizer.settings()`` of the texts, as far as the counts know it.
    """
    if "ngram_range" in cut:
        how = "these texts were counted with ngram_range="
    elif any(len(word.split()) > 1 for word in words or ()):
        how = "some words of the vocabulary hold a blank, so they are runs of words"
    elif "token_pattern" in cut and not is_run_of_one_class(str(cut["token_pattern"])):
        how = (
            "these texts were counted with a token_pattern that is not known to find each word once, as "
            r"\w+, [a-z]{3,} and \S+ do"
        )
    else:
        return []
    return [
        PrivacyError(
            f"{how}. One word of a text is then counted in several columns, and a promise about one word would hide "
            "only one of them. Count single words (where a name with a blank is one item and no text, join it by _), "
            "or take a model that protects whole documents."
        )
    ]


def _carried_words(X: Any) -> tuple[tuple[str, ...] | None, WordOrigin]:
    words = carried(X, "vocabulary")
    if words is not None:
        return tuple(words), carried(X, "word_origin") or UNKNOWN
    columns = carried(X, "column_names")  # of pyarrow, whose ``columns`` are the columns themselves
    columns = carried(X, "columns") if columns is None else columns
    if columns is None:
        return None, NUMBERED
    names = list(columns)
    kinds = {isinstance(name, str) for name in names}
    if kinds == {True}:
        return check_words(names, "columns of X: column"), UNKNOWN
    if True in kinds:
        raise CorpusError(
            "the columns of X must all be named by words, or all be numbered; some are, some are not."
        )
    return None, NUMBERED


def listed_words(
    vocabulary: WordList | None,
    words_are_public: bool = False,
    *,
    encoding: str = "utf-8",
    files: Iterable[Any] = (),
) -> tuple[str, ...] | None:
    """Return the words to count, None for all of them, which are not public; looked at before a text is read.

    ``files`` hold the documents, which are no list of words.
    """
    if words_are_public:
        refuse_public(FROM_TEXT, listed=vocabulary is not None)
    if isinstance(vocabulary, str | os.PathLike) and any(one_file(file, vocabulary) for file in files):
        raise CorpusError(
            "the vocabulary is the file of the documents itself, and every line of a vocabulary is published; name a "
            "list of words, one a line, that was not made from these documents."
        )
    return None if vocabulary is None else load_vocabulary(vocabulary, encoding=encoding)


# ---- lists of words


def load_vocabulary(source: WordList, *, encoding: str = "utf-8") -> tuple[str, ...]:
    """Return a list of words as a tuple, in its order.

    Parameters
    ----------
    source : path, iterable of str, or dictionary
        A text file with one word a line (compressed too), or the words. A ``str`` is a path. Or what numbers words: a
        gensim ``Dictionary``, a ``vocabulary_`` of scikit-learn.
    encoding : str, default "utf-8"
        Encoding of the file.

    Returns
    -------
    tuple of str

    Raises
    ------
    CorpusError
        Where the file cannot be read or there are no words, or a word is empty, repeated, a whole text or holds a line
        break; names the lines.
    """
    if isinstance(source, str | os.PathLike):
        name = os.fspath(source)
        words = read_lines(source, encoding)
        while words and not words[-1]:  # harmless at the end; elsewhere blank lines shift the columns
            words.pop()
        if not words:
            raise CorpusError(f"{name} is empty: expected a vocabulary, one word a line.")
        # The first line may be a number of documents.
        if all(map(_GENSIM_LINE.fullmatch, words[1:] or words)):
            raise CorpusError(
                f"{name} is a dictionary of gensim: give what gensim.corpora.Dictionary.load_from_text(path) returns."
            )
        return check_words(words, f"{name}: line", first=1)
    known: Any = getattr(source, "token2id", source)
    if isinstance(known, Mapping):
        words = {number: word for word, number in known.items() if is_whole(number)}
        if len(words) != len(known) or set(words) != set(range(len(known))):
            raise CorpusError(
                "vocabulary: words must be numbered from 0, each number once; gensim's Dictionary.compactify() does "
                "that."
            )
        source = (words[number] for number in range(len(words)))
    listed = check_words(source, "vocabulary: position")
    if not listed:
        raise CorpusError("the list holds no words: give at least one, or no list at all.")
    return listed


def check_words(words: Iterable[object], where: str, *, first: int = 0) -> tuple[str, ...]:
    """Check that words are distinct, non-empty, one-line strings.

    Parameters
    ----------
    words : iterable
        The words.
    where : str
        What an error says before the number of the word, such as ``"vocabulary: position"``.
    first : int
        Number of the first word.

    Returns
    -------
    tuple of str
        Words are not shown in errors: the vocabulary of private text is private too.
    """
    listed: list[str] = []
    for position, word in enumerate(words, first):
        if not isinstance(word, str):
            raise CorpusError(f"{where} {position}: expected a word (str), found {type(word).__name__}.")
        listed.append(word)
    joined = "\n".join(listed)
    if not all(listed) or joined.splitlines() != listed or _SURROGATE.search(joined):
        bad = [
            i
            for i, word in enumerate(listed, first)
            if word.splitlines() != [word] or _SURROGATE.search(word)
        ]
        raise CorpusError(
            f"{where} {first_few(bad)}: a word must not be empty, "
            "hold a line break or a lone surrogate; remove it."
        )
    texts = [i + first for i, word in enumerate(listed) if word.count(" ") > _MOST_BLANKS]
    if texts:
        raise CorpusError(
            f"{where} {first_few(texts)}: more than {_MOST_BLANKS} blanks, so a text and no word. Every word of a "
            "vocabulary is published: give a list of words, never the texts themselves."
        )
    if len(set(listed)) != len(listed):
        seen: dict[str, int] = {}
        repeats = [(i, seen[w]) for i, w in enumerate(listed) if seen.setdefault(w, i) != i]
        pairs = first_few([f"{i + first} (same as {j + first})" for i, j in repeats])
        raise CorpusError(f"{where} {pairs}: each word may stand in the vocabulary once; remove the repeats.")
    return tuple(listed)
