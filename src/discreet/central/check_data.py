"""What the central estimators read, once its cost is booked: counts, people where they are the unit, words."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet._base.arrays import column_words
from discreet._base.persons import check_persons
from discreet.corpus import check_counts
from discreet.corpus.shards.sharded_corpus import ShardedCorpus
from discreet.errors import CorpusError

__all__ = ["check_data", "check_width"]


def check_data(
    X: Any, persons: Any, words: tuple[str, ...] | None, privacy_unit: str, *, in_shards: bool = False
) -> tuple[Any, NDArray[np.int64] | None, tuple[str, ...]]:
    """Read X; a corpus in shards stays where it is, for who can go through shards.

    Returns
    -------
    counts : canonical CSR of shape (n_documents, n_words), or a ShardedCorpus
    people : array of shape (n_documents,), int64, or None
        Where they are the unit.
    words : tuple of str

    Raises
    ------
    CorpusError
        Naming the first row, or the lengths, that are wrong.
    """
    if in_shards and isinstance(X, ShardedCorpus):
        return X, None, X.vocabulary
    documents = X.to_corpus() if isinstance(X, ShardedCorpus) else X
    counts = check_counts(documents)
    people = check_persons(documents, persons, counts.shape[0]) if privacy_unit == "person" else None
    if privacy_unit == "person" and people is None:
        raise CorpusError("nothing says whose each document is, and people are the unit: give persons.")
    if words is None:
        words = column_words(counts.shape[1])
    check_width(counts.shape, words)
    return counts, people, words


def check_width(shape: tuple[int, ...] | None, words: tuple[str, ...] | None) -> None:
    """Raise ``CorpusError`` where counts of this shape have other columns than the words; None is not known yet."""
    if shape is not None and words is not None and shape[1] != len(words):
        raise CorpusError(
            f"the vocabulary has {len(words)} words, but X has {shape[1]} columns; they must agree."
        )
