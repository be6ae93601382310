"""Words of units that lie in shards: what all units give to the words, asked of an engine.

A shard holds whole units, and what a unit gives depends on that unit, on public settings, on words released before
and on the secret order of words, which is drawn for the run and tells nothing of any unit. The sum over shards is the
sum over units, in integers: the guarantee is that of the method
(:mod:`discreet.central.vocabulary.weighted_gaussian`). Weights are positive, so a word has a sum above zero where a
unit holds it among those that count, and only there.
"""

import shutil
import tempfile
from dataclasses import dataclass
from typing import Any
from weakref import finalize

import numpy as np
from numpy.typing import NDArray

from discreet.central.vocabulary.units import UnitWords, first_words, rank_words, secret_order
from discreet.corpus.shards.shard_file import Rows, Shard
from discreet.corpus.shards.sharded_corpus import ShardedCorpus
from discreet.engines import Engine
from discreet.engines.process import ShardRunner

__all__ = ["ShardedWords", "drop_for_now", "sum_even_weights", "transform_for_now", "words_in_shards"]

_FOR_NOW = ".chosen-"


def sum_even_weights(units: UnitWords, n_words: int, weights: NDArray[np.int64]) -> NDArray[np.int64]:
    """Add up what the units give, each of them ``weights[k]`` to each of its k words."""
    total = np.zeros(n_words, np.int64)
    np.add.at(total, units.words, np.repeat(weights[units.sizes], units.sizes))
    return total


@dataclass(frozen=True)
class ShardedWords:
    """Words of each unit of a corpus in shards. Private.

    Parameters
    ----------
    shards : ShardRunner
        Each unit in one; read as :class:`Rows`.
    order : array of shape (n_words,), uint64
        Secret number of each word, as :func:`rank_words` takes it.
    """

    shards: ShardRunner
    order: NDArray[np.uint64]

    @property
    def n_words(self) -> int:
        """Number of words of all columns."""
        return len(self.order)

    def even_weights(
        self, max_words: int, weights: NDArray[np.int64], done: NDArray[np.bool_] | None
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the words that any unit gives to, ascending, and what they get.

        Parameters
        ----------
        max_words : int
            Most words of one unit that count.
        weights : array of shape (max_words + 1,), int64
            What each of k words of a unit gets.
        done : array of shape (n_words,), bool, optional
            Words that do not count, because they were released before.
        """
        total = self.shards.sum(_even_weights_of, self.order, max_words, weights, done)
        held = np.flatnonzero(total)
        return held, total[held]


def _even_weights_of(
    rows: Rows,
    order: NDArray[np.uint64],
    max_words: int,
    weights: NDArray[np.int64],
    done: NDArray[np.bool_] | None,
) -> NDArray[np.int64]:
    units = rank_words(rows.counts, rows.persons, order)
    return sum_even_weights(first_words(units, max_words, done), len(order), weights)


def words_in_shards(
    corpus: ShardedCorpus, key: bytes, engine: Engine | None, n_jobs: int | None
) -> ShardedWords:
    """Return the words of the units of a corpus; the key is that of their secret order."""
    order = secret_order(corpus.vocabulary, key)
    return ShardedWords(ShardRunner(corpus.shards, Shard.read, engine, n_jobs), order)


def transform_for_now(vectorizer: Any, corpus: ShardedCorpus) -> ShardedCorpus:
    """Return shards of the chosen words, in a hidden folder beside the corpus that goes when nobody holds them."""
    room = tempfile.mkdtemp(dir=corpus.folder.parent, prefix=_FOR_NOW)
    try:
        shards: ShardedCorpus = vectorizer.transform_shards(corpus, room)
    except BaseException:
        shutil.rmtree(room, ignore_errors=True)
        raise
    finalize(shards, shutil.rmtree, room, ignore_errors=True)
    return shards


def drop_for_now(shards: Any) -> None:
    """Remove at once what :func:`transform_for_now` wrote; anything else stays."""
    if isinstance(shards, ShardedCorpus) and shards.folder.name.startswith(_FOR_NOW):
        shutil.rmtree(shards.folder, ignore_errors=True)
