"""Where words come from: who says that they are public, and which private choices their columns went through.

A list of words made from private texts tells what stands in them: a word that one document holds is in the list, or it
is not. So words are public only where somebody says so, by ``words_are_public=True`` in one of the calls that words
go through, and who said it, where, goes with the words into the release. Words that ``PrivateCountVectorizer`` chose
carry the booking of that choice. All others are refused where a promise is made.

These are two facts. Names are dropped, never guessed, where columns may have changed; and somebody may lay counts on
another list, which is public. The choices stay all the same (:mod:`discreet.corpus.words.column_choice`): what is
released of such counts is booked where they are, or refused.
"""

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from types import MappingProxyType
from typing import Any, NamedTuple

from discreet._articles import kind_of
from discreet._word_order import carried, column_words
from discreet.corpus.words.column_choice import ColumnChoice, joined
from discreet.corpus.words.vocabulary import WordList, check_words, load_vocabulary
from discreet.errors import CorpusError, DiscreetError, PrivacyError, Proposal

__all__ = [
    "FROM_TEXT",
    "NUMBERED",
    "UNKNOWN",
    "Coverage",
    "GivenWords",
    "WordOrigin",
    "carried",
    "faults_of_runs",
    "faults_of_words",
    "given_words",
    "listed_words",
    "refuse_chosen_columns",
    "refuse_public",
]

_KINDS = ("public", "chosen", "numbered", "from text", "unknown")
_LONGEST_NAME = 200


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
            "words_sha256": _digest(words),
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
        if value["words_sha256"] == _digest(words):
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
    X : Corpus, WordCounts, data frame, matrix or array-like
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
                "X carries words of its own, and the vocabulary has others, or in another order: leave ",
                Proposal("vocabulary"),
                " out, or pass the bare matrix.",
            )
        words, origin = named, UNKNOWN.after(origin.choices) if words is None else origin
    cut = dict(carried(X, "cut") or {})
    if not words_are_public:
        return GivenWords(words, origin, cut)
    refuse_public(origin, listed=vocabulary is not None)
    return GivenWords(
        words, origin if origin.is_public else origin.public_by(f"words_are_public=True in {where}"), cut
    )


def refuse_public(origin: WordOrigin, *, listed: bool = False) -> None:
    """Raise ``PrivacyError`` where nobody can say that the words are public: they are not there, or known not to be.

    All words that were counted in the texts, or chosen among them, are no public list, whoever says so; a list that is
    given (``listed``) may hold the same words, and is the caller's to vouch for. The choices that the columns went
    through stay with them, whatever is said of their names.
    """
    leave_it_out = (Proposal("words_are_public", True), " out")
    if origin.kind == "numbered":
        raise PrivacyError(
            "the words are said to be public, but the counts have none; give ",
            Proposal("vocabulary"),
            ", or leave ",
            *leave_it_out,
            ".",
        )
    if origin.kind == "chosen" and not listed:
        raise PrivacyError(
            "these words were chosen from the texts, so they are not public; leave ",
            *leave_it_out,
            ": what the choice cost stands in their ledger.",
        )
    if origin.kind == "from text" and not listed:
        raise PrivacyError(
            "these words were counted from the texts themselves, so they are not public: a word of one document is "
            "among them. Count the texts with the public list, ",
            Proposal("vocabulary"),
            ", or leave ",
            *leave_it_out,
            ": then some of the words are chosen privately.",
        )


def refuse_chosen_columns(X: Any) -> None:
    """Raise ``PrivacyError`` where columns went through a private choice that cannot be booked with what is made."""
    origin: WordOrigin | None = carried(X, "word_origin")
    if origin is not None and origin.choices:
        raise PrivacyError(
            "the columns of these counts were chosen from the texts, at a cost that cannot be told here: count the "
            "texts themselves with a public ",
            Proposal("vocabulary"),
            ".",
        )


def faults_of_words(origin: WordOrigin, *, choice_can_be_booked: bool = True) -> list[DiscreetError]:
    """Say where words come without anybody's word for them, and both ways to mend it."""
    if origin.kind not in ("from text", "unknown"):
        return []
    what = (
        "the words of this corpus were read from the private texts themselves, so they would leak"
        if origin.kind == "from text"
        else "nobody says where these words come from, and words made from private texts would leak"
    )
    if choice_can_be_booked:
        from_text = (
            "If they come from the texts, let some be chosen privately, on the same ledger: "
            "PrivateCountVectorizer(epsilon=...).fit_transform(texts or corpus)."
        )
    else:
        from_text = (
            "Words of the texts themselves cannot be used here: PrivateCountVectorizer protects documents or people, "
            "this model single words, and one ledger cannot hold both. Take PrivateLDA for them."
        )
    return [
        PrivacyError(
            f"{what}. If they are public, a list that was not made from these texts, ",
            *(("give the list, ", Proposal("vocabulary"), ", and ") if origin.kind == "from text" else ()),
            "say ",
            Proposal("words_are_public", True),
            f". {from_text}",
        )
    ]


def faults_of_runs(words: Sequence[str] | None, cut: Mapping[str, Any]) -> list[DiscreetError]:
    """Say where one token of a text may be counted in several columns, so that no loss of one word can be told.

    "severe chest pain" without "chest" is five columns of ``ngram_range=(1, 2)`` less and one more; a joined phrase is
    one column where its words were several. A word with a blank in it is a run of tokens, whoever counted it. What a
    callable returns (``tokenizer=``) is a token each.

    Parameters
    ----------
    words : sequence of str, optional
        Of the columns, where they have any.
    cut : mapping
        ``Tokenizer.settings()`` of the texts, as far as the counts know it.
    """
    joined = [name for name in ("ngram_range", "phrases") if name in cut]
    if joined:
        how = f"these texts were counted with {' and '.join(f'{name}=' for name in joined)}"
    elif any(len(word.split()) > 1 for word in words or ()):
        how = "some words of the vocabulary hold a blank, so they are runs of words"
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
    words, known = carried(X, "vocabulary"), carried(X, "word_origin")
    if words is not None:
        return tuple(words), known or UNKNOWN
    if known is not None:  # words were dropped, and choices are known
        return None, NUMBERED.after(known.choices)
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


def _digest(words: Sequence[str]) -> str:
    # As JSON, because a word may hold whatever words could be joined by.
    return sha256(json.dumps(list(words)).encode()).hexdigest()


def listed_words(vocabulary: WordList | None, words_are_public: bool) -> tuple[str, ...] | None:
    """Return the words to count, or None for all of them, which are not public; looked at before a text is read."""
    if words_are_public:
        refuse_public(FROM_TEXT, listed=vocabulary is not None)
    return None if vocabulary is None else load_vocabulary(vocabulary)
