"""Counts of words that know their words, so that the next step of a pipeline knows them too."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from discreet._numbers import as_numbers
from discreet._persons import check_persons
from discreet.corpus.words.chosen_counts import ChosenCsr, choices_of
from discreet.corpus.words.column_choice import joined
from discreet.corpus.words.origin import UNKNOWN, WordOrigin
from discreet.errors import CorpusError, ParameterError

__all__ = ["WordCounts"]


class WordCounts(ChosenCsr):
    """A CSR matrix of counts that carries what its rows and columns are.

    Everything that accepts a ``scipy.sparse.csr_matrix`` accepts it. What it carries survives copies,
    pickles and the choice of rows; it is dropped, never guessed, wherever columns may have changed: slices
    of columns, products, sums, transposes and changes of shape or format. The private choices that the columns went
    through survive these, too (:mod:`discreet.corpus.words.chosen_counts`): what is trained is booked where they are.

    Parameters
    ----------
    counts : sparse matrix of shape (n_documents, n_words)
        The counts, or anything ``csr_matrix`` takes.
    vocabulary : sequence of str of length n_words, optional
        The word of each column.
    index : pandas.Index of length n_documents, optional
        Which row of a frame each row was counted from: persons and labels with another index are refused.
    persons : array-like of shape (n_documents,), optional
        Whose document each row is, as in :class:`discreet.Corpus`; private, as the counts are.
    word_weights : array of shape (n_words,), optional
        Noisy weight of each word, as the choice of the vocabulary released it.
    word_origin : WordOrigin, optional
        Where the words come from, and which private choices the columns went through. Not known by default.
    cut : mapping, optional
        How the texts became words, as ``Tokenizer.settings()`` says it; a release of topics of these counts says it on.
    **options
        As for ``csr_matrix``.

    Raises
    ------
    ParameterError
        Where a length does not fit the matrix.
    """

    def __init__(
        self,
        counts: Any,
        vocabulary: Any = None,
        *,
        index: Any = None,
        persons: Any = None,
        word_weights: Any = None,
        word_origin: WordOrigin | None = None,
        cut: Mapping[str, Any] | None = None,
        **options: Any,
    ) -> None:
        # scipy builds results of operations as type(self)(arrays, shape=...): they come without a vocabulary.
        if isinstance(vocabulary, tuple) and vocabulary and not isinstance(vocabulary[0], str):
            options.setdefault("shape", vocabulary)  # csr_matrix takes the shape as its second argument, too
            vocabulary = None
        if not sp.issparse(counts) and not isinstance(counts, tuple):
            counts = as_numbers(counts, "the matrix of counts")
        fault: str | None = None
        try:
            super().__init__(counts, **options)
        except Exception as error:  # scipy's own errors show what they were given
            fault = type(error).__name__
        if fault is not None:
            raise CorpusError(
                f"the counts must be a matrix, or something that scipy can turn into one, but are not ({fault})."
            )
        self._carried: dict[str, Any] = {}
        for name, value, axis in (
            ("vocabulary", None if vocabulary is None else tuple(vocabulary), 1),
            ("index", index, 0),
            ("persons", check_persons(counts, persons, self._length(0)), 0),
            ("word_weights", None if word_weights is None else np.asarray(word_weights), 1),
        ):
            if value is None:
                continue
            if len(value) != self._length(axis):
                side = "columns" if axis else "rows"
                raise ParameterError(
                    f"{name} must have one entry for each of the {self._length(axis)} {side}, "
                    f"but has {len(value)}."
                )
            self._carried[name] = value
        origin = (word_origin or UNKNOWN).after(choices_of(counts))
        if self.vocabulary is not None:
            origin.check_words(self.vocabulary)
            self._carried["word_origin"] = origin
            self._carried["cut"] = dict(cut or {})
        self.column_choices = joined(self.column_choices, origin.choices)

    def _length(self, axis: int) -> int:
        shape: Any = self.shape
        return int(shape[axis])

    def _carried_if_it_fits(self, name: str, axis: int) -> Any:
        value = getattr(self, "_carried", {}).get(name)
        # resize() changes the shape in place.
        return value if value is not None and len(value) == self._length(axis) else None

    @property
    def vocabulary(self) -> tuple[str, ...] | None:
        """Word of each column, or None where columns are no longer those words."""
        return self._carried_if_it_fits("vocabulary", 1)

    @property
    def cut(self) -> Mapping[str, Any]:
        """How the texts became words; empty where that is not known, or columns are no longer those words."""
        return {} if self.vocabulary is None else self._carried.get("cut", {})

    @property
    def index(self) -> Any:
        """Which row of a frame each row was counted from, or None where it is not known."""
        return self._carried_if_it_fits("index", 0)

    @property
    def persons(self) -> NDArray[np.int64] | None:
        """Person of each row, or None where it is not known."""
        return self._carried_if_it_fits("persons", 0)

    @property
    def unit(self) -> str:
        """Whose presence a promise about these counts hides: "person" where it is known whose the documents are."""
        return "document" if self.persons is None else "person"

    @property
    def word_weights(self) -> NDArray[np.float64] | None:
        """Released noisy weight of each word, or None where it is not known."""
        return self._carried_if_it_fits("word_weights", 1)

    @property
    def word_origin(self) -> WordOrigin | None:
        """Where the words come from; where columns are no longer those, which choices they went through, or None."""
        if self.vocabulary is None:
            return super().word_origin
        return self._carried["word_origin"].after(self.column_choices)

    def without_persons(self) -> "WordCounts":
        """Return the same counts, each document for itself: nobody is known to have written several."""
        copied = self.copy()
        copied._carried.pop("persons", None)
        return copied

    def copy(self) -> "WordCounts":
        """Return a copy that carries the same."""
        copied: WordCounts = super().copy()
        copied._carried = dict(self._carried)
        return copied

    def __getitem__(self, key: Any) -> Any:
        chosen: Any = super().__getitem__(key)
        rows = key
        if isinstance(key, tuple):  # X[rows, :] and X[rows, ...] are choices of rows, too
            all_columns = len(key) == 2 and (
                key[1] is Ellipsis or (isinstance(key[1], slice) and key[1] == slice(None))
            )
            rows = key[0] if all_columns else None
        by_rows = rows is not None and getattr(rows, "ndim", 1) == 1
        if by_rows and isinstance(chosen, WordCounts) and chosen._length(1) == self._length(1):
            carried = {
                name: value for name, value in self._carried.items() if name not in ("persons", "index")
            }
            places = np.atleast_1d(np.arange(self._length(0))[rows])
            for name, value in (("persons", self.persons), ("index", self.index)):
                if value is not None:
                    carried[name] = value[places]
            chosen._carried = carried
        return chosen
