"""The corpus: counts of words, the words, whose document each row is.

What is private about it: everything. The counts are as private as the text; persons and labels are data about people;
and unless they come from a public list, the words are private too, because a word that one document holds is in the
list or is not. A corpus therefore shows only its sizes, is never part of a release, and knows where its words come
from: ``word_origin``. The sizes it shows are exact, hence private under ``add_or_remove_one`` as well; they are for
whoever holds the text.

A corpus is no array: whatever makes one of it is told what to give instead, before it does anything. A split at random
tears no person's documents apart.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, NoReturn, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet._base.arrays import as_array
from discreet._base.display import facts_html
from discreet._base.persons import check_labels, check_persons, index_of
from discreet._base.validate import Rule, check, choice, is_number, is_whole, optional, suggesting
from discreet.corpus.counting import Csr, canonical_counts, count_texts, pick_words
from discreet.corpus.tokenizer import Tokenizer, choose_tokenizer
from discreet.corpus.vocabulary import (
    FROM_TEXT,
    UNKNOWN,
    WordList,
    WordOrigin,
    given_words,
    listed_words,
    load_vocabulary,
)
from discreet.errors import CorpusError, ParameterError

_ORIGIN = Rule("a WordOrigin, such as that of another corpus", lambda value: isinstance(value, WordOrigin))
#: Of the units of a corpus.
_PART = Rule(
    "a share between 0 and 1, or a number of units",
    lambda size: is_number(size) and (is_whole(size) or 0 < size < 1),
)
#: What is known of a corpus only where a reader made it.
_UNREAD: dict[str, Any] = {"fields": (), "n_skipped": 0, "rows": None, "notes": (), "texts_digest": ""}


class Documents:
    """What a corpus is, in memory or in shards; no array, which NumPy and scikit-learn would make of one object."""

    __slots__ = ()  # a class with slots keeps no others only where its bases do
    vocabulary: Any
    word_origin: Any
    n_documents: Any
    _with: Any

    @property
    def words_are_public(self) -> bool:
        """Whether somebody said that the list of words is the same whatever the texts say."""
        return self.word_origin.is_public

    @property
    def shape(self) -> tuple[int, int]:
        """Documents and words."""
        return self.n_documents, self.n_words

    @property
    def n_words(self) -> int:
        """Number of words of the vocabulary."""
        return len(self.vocabulary)

    def __len__(self) -> int:
        return self.n_documents

    def with_word_origin(self, origin: WordOrigin) -> Self:
        """Return the same corpus with another statement of where its words come from.

        Private choices that its columns went through stay, beside those of ``origin``. ``CorpusError`` where ``origin``
        says that the columns are numbered, and they have words.
        """
        check(origin=(origin, _ORIGIN))
        origin.check_words(self.vocabulary)
        return self._with(word_origin=origin.after(self.word_origin.choices))

    def __array__(self, *_: Any, **__: Any) -> NoReturn:
        """Refuse; scikit-learn's searches and estimators, which ask for an array first, end here."""
        raise CorpusError(
            "a Corpus is no array: give its counts, corpus.counts, to what wants one. Of private texts, GridSearchCV "
            "and cross_val_score fit many times, and no release states what that spends: choose on public texts "
            "(discreet.evaluate.choose_n_topics), or book every fit on one ledger."
        )


@dataclass(slots=True, init=False, repr=False, eq=False)
class Corpus(Documents):
    """Documents as counts of words. Its attributes cannot be set; its arrays must not be changed.

    Parameters
    ----------
    counts : matrix of shape (n_documents, n_words)
        Anything :func:`discreet.corpus.check_counts` takes. Shared, not copied, where it already is canonical
        CSR with int32.
    vocabulary : sequence of str
        Word of each column; distinct.
    persons : array-like of shape (n_documents,), optional
        Whose document each row is, as text or whole numbers; :mod:`discreet._base.persons` says when two are one.
        Names become numbers; whole numbers stay what they are.
    labels : sequence of shape (n_documents,), optional
        A label of each document: int or str. Never used in training.
    words_are_public : bool, default False
        Say that the vocabulary was not made from these texts. Without it private estimators refuse the corpus, until
        the words have been chosen privately (by :class:`~discreet.PrivateCountVectorizer`, which returns a corpus), or
        replaced by a public list with :meth:`restrict`.

    Attributes
    ----------
    counts : scipy.sparse.csr_matrix, int32
        Columns sorted, no stored zeros.
    vocabulary : tuple of str
    word_origin : WordOrigin
        Where the words come from, who says so, and which private choices their columns went through. These stay with
        the corpus through all its methods; bare ``counts``, and what scipy makes of them, do not carry them.
    words_are_public : bool
    persons : int64 array or None
    labels : int64 array, object array of str, or None
    unit : {"document", "person"}
        "person" where it is known whose the documents are.
    index : pandas.Index or None
        Of the frame or series that it was made of: persons and labels with another one are refused.
    cut : mapping
        How its texts were cut into words, as ``Tokenizer.settings()`` says it; empty where that is not known.
    fields : tuple of str
        Names of the fields or columns of the file that its texts were read from.
    n_skipped : int
        How many documents without text, or without a person, were left out when it was read.
    rows : int64 array or None
        Where some were left out: which document of the file or frame each one is, counted from 0.
    notes : tuple of str
        What the reader found by itself, such as what separates the columns of a file.
    texts_digest : str
        Of the texts as they came, in this process only, by which fits of one text are noticed; "" where not known.
    n_documents, n_words, n_tokens, n_units : int
        ``n_units`` is the number of persons, or of documents where there are no persons.

    Raises
    ------
    CorpusError
        Where the parts do not fit together, or persons or labels have another index; names the row or column.
    """

    counts: Csr
    vocabulary: tuple[str, ...]
    persons: NDArray[np.int64] | None
    labels: NDArray[Any] | None
    index: Any
    word_origin: WordOrigin
    cut: Mapping[str, Any]
    fields: tuple[str, ...]
    n_skipped: int
    rows: NDArray[np.int64] | None
    notes: tuple[str, ...]
    texts_digest: str

    def __init__(
        self,
        counts: Any,
        vocabulary: Sequence[str],
        persons: ArrayLike | None = None,
        labels: ArrayLike | Sequence[str] | None = None,
        *,
        words_are_public: bool = False,
    ) -> None:
        canonical = canonical_counts(counts)
        if isinstance(vocabulary, str):
            raise CorpusError(
                "the vocabulary must be a sequence of words, got one str; load_vocabulary reads a file."
            )
        words, origin, _ = given_words(counts, vocabulary, words_are_public, "Corpus")
        words = words or ()
        n_documents, n_words = canonical.shape
        if len(words) != n_words:
            raise CorpusError(
                f"the vocabulary has {len(words)} words, but the counts have {n_words} columns; "
                "give the vocabulary the counts were made with."
            )
        self._set(
            counts=canonical,
            vocabulary=words,
            persons=check_persons(counts, persons, n_documents),
            labels=check_labels(counts, labels, n_documents),
            index=index_of(counts),
            word_origin=origin,
            cut={},
            **_UNREAD,
        )

    def __setattr__(self, name: str, value: Any) -> NoReturn:
        raise AttributeError(f"a Corpus does not change: {name} cannot be set.")

    def __getstate__(self) -> tuple[None, dict[str, Any]]:
        held = {field.name: getattr(self, field.name) for field in fields(self)}
        return None, held | {"texts_digest": ""}  # of this process only: caches must find the same bytes

    def __setstate__(self, state: tuple[None, dict[str, Any]]) -> None:
        self._set(**_UNREAD | state[1])

    def _set(self, **values: Any) -> None:
        for name, value in values.items():
            object.__setattr__(self, name, value)

    def _with(self, **changes: Any) -> Corpus:
        corpus = object.__new__(Corpus)
        corpus._set(**{field.name: getattr(self, field.name) for field in fields(self)} | changes)
        return corpus

    @classmethod
    @suggesting
    def from_texts(
        cls,
        texts: Iterable[str],
        *,
        tokenizer: Tokenizer | Callable[[str], Iterable[str]] | None = None,
        vocabulary: WordList | None = None,
        persons: ArrayLike | None = None,
        labels: ArrayLike | Sequence[str] | None = None,
        words_are_public: bool = False,
    ) -> Corpus:
        """Count the words of texts.

        Parameters
        ----------
        texts : iterable of str
            One document each; read once, not kept.
        tokenizer : Tokenizer or callable on one text, optional
            The default is ``Tokenizer()``.
        vocabulary : path or iterable of str, optional
            Words to count; others are not counted and columns are in this order. Without it every word is
            counted, in sorted order.
        persons, labels, words_are_public
            As for :class:`Corpus`. Only a list that is given, ``vocabulary``, can be public.

        Returns
        -------
        Corpus
        """
        if isinstance(texts, str):
            raise CorpusError(
                "texts must be an iterable of str, one a document, but are one str; use [text]."
            )
        listed = listed_words(vocabulary, words_are_public)
        cut = choose_tokenizer(tokenizer)
        corpus = cls._of_counted(count_texts(texts, cut, listed), listed, words_are_public, "from_texts")
        return with_rows(corpus, persons, labels, texts).read_as(cut=cut.settings())

    @classmethod
    def from_tokens(
        cls,
        documents: Iterable[Iterable[str]],
        *,
        vocabulary: WordList | None = None,
        persons: ArrayLike | None = None,
        labels: ArrayLike | Sequence[str] | None = None,
        words_are_public: bool = False,
    ) -> Corpus:
        """Count documents that were split into tokens already: by another tokenizer, or for gensim.

        Parameters
        ----------
        documents : iterable of iterable of str
            The tokens of each document; counted as they are.
        vocabulary, persons, labels, words_are_public
            As for :meth:`from_texts`.

        Returns
        -------
        Corpus

        Raises
        ------
        CorpusError
            Names the document that is not a list of tokens.
        """
        listed = listed_words(vocabulary, words_are_public)
        counted = count_texts(documents, Tokenizer(), listed, listed=True)
        corpus = cls._of_counted(counted, listed, words_are_public, "from_tokens")
        return with_rows(corpus, persons, labels, documents)

    @classmethod
    def _of_counted(
        cls, counted: tuple[Csr, tuple[str, ...], str], listed: Any, public: bool, where: str
    ) -> Corpus:
        """Return a corpus of counts, words and digest of texts, which ``where`` counted."""
        counts, words, digest = counted
        origin = FROM_TEXT if listed is None else UNKNOWN
        if public:
            origin = WordOrigin.public(f"words_are_public=True in Corpus.{where}")
        return cls(counts, words).with_word_origin(origin).read_as(texts_digest=digest)

    @property
    def unit(self) -> str:
        """Whose presence a promise about this corpus hides: "person" where it is known whose the documents are."""
        return "document" if self.persons is None else "person"

    @property
    def ledger(self) -> Any:
        """The ledger on which the choice of the columns is booked, where it is at hand."""
        return self.word_origin.ledger

    @property
    def n_documents(self) -> int:
        """Number of documents, empty ones too."""
        return int(self.counts.shape[0])

    @property
    def n_tokens(self) -> int:
        """Sum of all counts."""
        return int(self.counts.data.sum(dtype=np.int64))

    @property
    def n_units(self) -> int:
        """Number of persons, or of documents where there are no persons."""
        return self.n_documents if self.persons is None else len(np.unique(self.persons))

    def __repr__(self) -> str:
        persons = "no persons" if self.persons is None else f"{self.n_units} persons"
        kind = {"public": "public", "chosen": "privately chosen"}.get(self.word_origin.kind, "private")
        labels = "" if self.labels is None else ", labels"
        sizes = f"{self.n_documents} documents, {self.n_words} {kind} words, {self.n_tokens} tokens"
        return f"Corpus({sizes}, {persons}{labels})"

    def _repr_html_(self) -> str:
        """Return the corpus as HTML for a notebook."""
        facts = [
            ("documents", f"{self.n_documents:,}"),
            ("tokens", f"{self.n_tokens:,}"),
            ("words", f"{self.n_words:,} ({self.word_origin.kind})"),
            ("persons", "none" if self.persons is None else f"{self.n_units:,}"),
            ("labels", "none" if self.labels is None else "given"),
            ("private", "these numbers are exact: do not publish them"),
        ]
        return facts_html("Corpus", facts)

    def take(self, rows: ArrayLike) -> Corpus:
        """Return some of the documents.

        Parameters
        ----------
        rows : array-like of int or bool
            Numbers of rows, in the order wanted, or a mask of shape (n_documents,).

        Returns
        -------
        Corpus
        """
        chosen = as_array(rows, "the rows")
        if chosen.size == 0:
            chosen = np.zeros(0, np.int64)
        if chosen.dtype.kind == "b":
            if chosen.shape != (self.n_documents,):
                raise CorpusError(
                    f"a mask of rows must have shape ({self.n_documents},), got {chosen.shape}."
                )
            chosen = np.flatnonzero(chosen)
        if chosen.ndim != 1 or chosen.dtype.kind not in "iu":
            raise CorpusError("rows must be a one-dimensional array of int, or a mask.")
        if chosen.size and not -self.n_documents <= int(chosen.min()) <= int(chosen.max()) < self.n_documents:
            raise CorpusError(f"rows must lie in 0 to {self.n_documents - 1}.")
        parts = {name: getattr(self, name) for name in ("persons", "labels", "index", "rows")}
        taken = {name: None if part is None else part[chosen] for name, part in parts.items()}
        return self._with(counts=canonical_counts(self.counts[chosen]), texts_digest="", **taken)

    def without_persons(self) -> Corpus:
        """Return the same documents, each for itself: nobody is known to have written several."""
        return self._with(persons=None)

    def read_as(self, **known: Any) -> Corpus:
        """Return the same corpus, which knows more of how it was read.

        Parameters
        ----------
        **known
            Values of its attributes, such as ``n_skipped``, ``cut`` and ``notes``; None says nothing.
        """
        return self._with(**{name: value for name, value in known.items() if value is not None})

    def restrict(self, words: WordList, *, words_are_public: bool = False) -> Corpus:
        """Keep only some words, as columns in the order given; a word never counted is an empty column.

        Parameters
        ----------
        words : path or iterable of str
            The new vocabulary.
        words_are_public : bool, default False
            Say that ``words`` was not made from these texts. Words to be chosen from the texts are chosen by
            :class:`~discreet.PrivateCountVectorizer`, which takes a Corpus and books what that costs. Where columns of
            this corpus were chosen before, that choice stays with it, also on a public list.

        Returns
        -------
        Corpus
            Every document is kept, also where no word of it is.
        """
        kept = load_vocabulary(words)
        counts = canonical_counts(pick_words(self.counts, self.vocabulary, kept))
        # A choice among public words may tell of the texts, too: only somebody's word makes it public. And what was
        # chosen before stays chosen: a public word that was not is a column of zeros.
        origin = self.word_origin if kept == self.vocabulary else UNKNOWN.after(self.word_origin.choices)
        if words_are_public and not origin.is_public:
            origin = origin.public_by("words_are_public=True in Corpus.restrict")
        return self._with(counts=counts, vocabulary=kept, word_origin=origin)

    def split(
        self, test_size: float | int = 0.2, *, random_state: int, by: str | None = None
    ) -> tuple[Corpus, Corpus]:
        """Split at random into a part to train on and a part to test on.

        Parameters
        ----------
        test_size : float or int
            A share between 0 and 1, or a number, of units.
        random_state : int
            The same number, the same split.
        by : "document" or "person", optional
            The unit. By default the person where there are persons: then nobody stands on both sides.

        Returns
        -------
        train, test : Corpus
            Rows in their old order; numbers of persons unchanged.
        """
        check(by=(by, optional(choice("document", "person"))), test_size=(test_size, _PART))
        persons = self.persons
        if by == "person" and persons is None:
            raise CorpusError(
                'by="person" needs a corpus with persons: read it with person=, or split by="document".'
            )
        name, unit = "documents", np.arange(self.n_documents)
        if persons is not None and by != "document":
            name, unit = "persons", np.unique(persons, return_inverse=True)[1]
        n_units = int(unit.max(initial=-1)) + 1
        n_test = int(test_size) if is_whole(test_size) else math.ceil(test_size * n_units)
        if not 1 <= n_test < n_units:
            raise ParameterError(
                f"{n_units} {name} cannot be split into {n_units - n_test} to train on and {n_test} to test on; "
                "both need at least one. Choose another test_size."
            )
        chosen = np.zeros(n_units, np.bool_)
        chosen[np.random.default_rng(random_state).permutation(n_units)[:n_test]] = True
        return self.take(~chosen[unit]), self.take(chosen[unit])


def with_rows(corpus: Corpus, persons: Any, labels: Any, rows: Any = None) -> Corpus:
    """Return the same documents with what is said of each; persons or labels that are None stay as they are.

    ``rows`` are what the documents were made of; its index goes with them.
    """
    n_documents = corpus.n_documents
    whose, called = check_persons(rows, persons, n_documents), check_labels(rows, labels, n_documents)
    return corpus.read_as(persons=whose, labels=called, index=index_of(rows))
