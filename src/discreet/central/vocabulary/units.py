"""From documents to units: the words that each unit holds, in the unit's own order of preference.

A unit prefers the words that it uses most. Ties are broken by one secret random order of all words, drawn
afresh for each fit and the same for all units: units then spend their weight on the same words, and more
words pass than with a random order for each unit (docs/vocabulary.md has figures).

Units come in a secret random order, too: that of a keyed hash of what they hold. The result is then the same
for any order of the documents, in one file or in many.

What the promise needs of both orders is that they belong to the units alone: the order of one unit's words,
and which of two units comes first, must be the same whether or not a third unit is there. So neither is a
number that shifts when words or units come or go, nor the iteration order of a set: both follow from
a secret key and from the letters of the words.
"""

from hashlib import blake2b
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

__all__ = ["Choice", "UnitWords", "first_words", "held_words", "passing", "rank_words", "secret_order"]


class UnitWords(NamedTuple):
    """Words of each unit, most preferred first. Private.

    ``words[indptr[u]:indptr[u + 1]]`` are the numbers of the distinct words of unit ``u``.
    """

    indptr: NDArray[np.int64]
    words: NDArray[np.int64]

    @property
    def sizes(self) -> NDArray[np.int64]:
        """Number of words of each unit."""
        return np.diff(self.indptr)


class Choice(NamedTuple):
    """What a method releases: words that passed the threshold, their noisy weights, and in which round."""

    words: NDArray[np.int64]
    weights: NDArray[np.float64]
    rounds: NDArray[np.int64]


def secret_order(words: tuple[str, ...], key: bytes) -> NDArray[np.uint64]:
    """Return a random-looking number for each word that depends on its letters and the key only."""
    digests = b"".join(
        blake2b(word.encode("utf-8", "surrogatepass"), digest_size=8, key=key).digest() for word in words
    )
    return np.frombuffer(digests, dtype="<u8").astype(np.uint64)


def rank_words(
    counts: sp.csr_matrix,
    owners: NDArray[Any] | None,
    order: NDArray[np.uint64],
    *,
    ties_as_written: bool = False,
) -> UnitWords:
    """Join the documents of each unit, sort its words, most used first, and sort the units.

    Parameters
    ----------
    counts : csr_matrix of shape (n_documents, n_words)
        Counts of words, without repeated entries.
    owners : array of shape (n_documents,) or None
        Unit of each document; None: each document is a unit.
    order : array of shape (n_words,), uint64
        Secret number of each word. Breaks ties, smallest first (equal numbers fall back to the order of the
        columns), and gives the units their order.
    ties_as_written : bool, default False
        Break ties by the order in which the unit's entries stand in ``counts``, as a text gives them.

    Returns
    -------
    UnitWords
        A unit without words is kept, empty.
    """
    if owners is None:
        n_units = len(counts.indptr) - 1
        unit_of_row = np.arange(n_units)
    else:
        named, unit_of_row = np.unique(np.asarray(owners), return_inverse=True)
        n_units = len(named)
    unit = np.repeat(unit_of_row.astype(np.int64), np.diff(counts.indptr))
    word = counts.indices.astype(np.int64)
    count = counts.data.astype(np.int64)
    place = np.arange(len(word), dtype=np.int64)
    if owners is not None:
        by_word = np.lexsort((place, word, unit))
        unit, word, count, place = unit[by_word], word[by_word], count[by_word], place[by_word]
        starts = np.flatnonzero(np.r_[True, (unit[1:] != unit[:-1]) | (word[1:] != word[:-1])][: len(unit)])
        unit, word, place = unit[starts], word[starts], place[starts]  # the first place of a repeated word
        count = np.add.reduceat(count, starts) if len(starts) else count
    ties = (place,) if ties_as_written else (word, order[word])
    unit = _position_of_units(unit, order[word], count, n_units)[unit]
    ranked = np.lexsort((*ties, -count, unit))
    sizes = np.bincount(unit, minlength=n_units)
    return UnitWords(np.r_[0, np.cumsum(sizes)].astype(np.int64), word[ranked])


def _position_of_units(
    unit: NDArray[np.int64], number: NDArray[np.uint64], count: NDArray[np.int64], n_units: int
) -> NDArray[np.int64]:
    """Return where each unit comes: sorted by the hash of the words and counts that it holds."""
    held = np.zeros(n_units, np.uint64)
    np.add.at(held, unit, _mixed(number + _mixed(count.astype(np.uint64))))
    position = np.empty(n_units, np.int64)
    # Units that hold the same are interchangeable: any order of them gives the same result.
    position[np.argsort(_mixed(held), kind="stable")] = np.arange(n_units)
    return position


def _mixed(x: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Scramble 64-bit numbers, one to one (the finaliser of SplitMix64); sums and products wrap around."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


def first_words(units: UnitWords, max_words: int, done: NDArray[np.bool_] | None = None) -> UnitWords:
    """Keep the first ``max_words`` words of each unit, not counting words that are ``done``.

    Parameters
    ----------
    units : UnitWords
        Words in order of preference.
    max_words : int
        Most words to keep of one unit.
    done : array of shape (n_words,), bool, optional
        Words that were released before: everybody knows them, they are skipped.
    """
    unit = np.repeat(np.arange(len(units.sizes)), units.sizes)
    words = units.words
    if done is not None:
        left = ~done[words]
        unit, words = unit[left], words[left]
    starts = np.r_[0, np.cumsum(np.bincount(unit, minlength=len(units.sizes)))].astype(np.int64)
    kept = np.arange(len(unit)) - starts[unit] < max_words
    unit, words = unit[kept], words[kept]
    sizes = np.bincount(unit, minlength=len(units.sizes))
    return UnitWords(np.r_[0, np.cumsum(sizes)].astype(np.int64), words)


def held_words(units: UnitWords) -> tuple[NDArray[np.int64], UnitWords]:
    """Number anew the words that any unit holds: returns their old numbers, ascending, and the units."""
    held, words = np.unique(units.words, return_inverse=True)
    return held.astype(np.int64), UnitWords(units.indptr, words.astype(np.int64))


def passing(held: NDArray[np.int64], noisy: NDArray[np.int64], least: int, step: float) -> Choice:
    """Return the words whose noisy integer is strictly above ``least``, weights in units of the bound."""
    passed = np.flatnonzero(noisy > least)
    weights = noisy[passed].astype(np.float64) * np.float64(step)
    return Choice(held[passed], weights, np.zeros(len(passed), np.int64))
