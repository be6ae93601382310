"""From texts or a corpus to units: counts, and the words that each unit holds, in the unit's own order of preference.

A unit prefers the words that it uses most. Ties are broken by one secret random order of all words, drawn
afresh for each fit and the same for all units: units then spend their weight on the same words, and more
words pass (on average rarer ones) than with a random order for each unit.

What the promise needs of this order is that it belongs to the unit alone: it must be the same whether or not another
unit is there. So it is no number that shifts when words or units come or go, nor the iteration order of a set: it
follows from a secret key and from the letters of the words. Units have no order: their sums are of integers.

Units may lie in shards. A shard holds whole units, and what a unit gives depends on that unit, on public settings, on
words released before and on the secret order of words, which is drawn for the run and tells nothing of any unit. The
sum over shards is the sum over units, in integers: the guarantee is that of the methods. Weights are positive,
so a word has a sum above zero where a unit holds it among those that count, and only there.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from discreet._base.kernels import kernel
from discreet._base.persons import check_persons, index_of
from discreet._base.progress import Callback, watched
from discreet._base.threads import pieces, share_out
from discreet._base.validate import collect, kind_of
from discreet.corpus import Corpus, Tokenizer, load_vocabulary
from discreet.corpus.counting import count_texts, pick_words
from discreet.corpus.languages import Breaks
from discreet.corpus.shards.shard_file import Rows, Shard
from discreet.corpus.shards.sharded_corpus import ShardedCorpus
from discreet.corpus.tokenizer import DEFAULT_TOKEN_PATTERN
from discreet.engines import Engine
from discreet.engines.engine import ShardRunner
from discreet.errors import CorpusError, DiscreetError, ParameterError
from discreet.privacy.row_sums import join_rows

#: Where so much of the text stands on the list of a language, it is written in it.
_WRITTEN = 0.1
#: Settings of how a text becomes words, as they are unless somebody asks for something else.
ABOUT_TEXTS: dict[str, Any] = {
    "ngram_range": (1, 1),
    "token_pattern": DEFAULT_TOKEN_PATTERN,
    "lowercase": True,
    "tokenizer": None,
}


class Documents(NamedTuple):
    """Counts of shape (n_documents, n_words), words, and what is said of the rows, private; how texts were cut."""

    counts: sp.csr_matrix
    words: tuple[str, ...]
    persons: NDArray[np.int64] | None
    labels: Any = None
    index: Any = None
    cut: Mapping[str, Any] = MappingProxyType({})
    texts_digest: str = ""

    def corpus_of(self, words: tuple[str, ...]) -> Corpus:
        """Return the counts of these words."""
        counts = self.counts if words == self.words else pick_words(self.counts, self.words, words)
        corpus = Corpus(counts, words, self.persons, self.labels)
        return corpus.read_as(cut=self.cut, index=self.index, texts_digest=self.texts_digest)


def check_kind(X: Any) -> None:
    """Refuse what are neither texts nor a corpus, without looking inside."""
    if isinstance(X, str | bytes):
        raise CorpusError(
            "Iterable over raw text documents expected, string object received: pass a list of texts; "
            "a file is read by read_corpus(path), whose corpus can be passed."
        )
    if isinstance(X, Corpus | ShardedCorpus):
        return
    if hasattr(X, "columns"):
        raise CorpusError(
            "expected an iterable of texts or a Corpus, found a frame: pass its column of texts, frame['body'] or what "
            "it is called; a frame of counts goes to PrivateLDA directly if its words are public."
        )
    if sp.issparse(X) or getattr(X, "ndim", 1) != 1:
        raise CorpusError(
            "expected an iterable of texts or a Corpus, found a matrix; name its columns with "
            "Corpus(counts, vocabulary), or pass it to PrivateLDA directly if the words are public."
        )
    if not isinstance(X, Iterable) or isinstance(X, Mapping | set | frozenset):
        raise CorpusError(f"expected an iterable of texts or a Corpus, found {type(X).__name__}.")


def count_documents(
    X: Any,
    tokenizer: Tokenizer,
    persons: Any = None,
    vocabulary: tuple[str, ...] | None = None,
    *,
    callback: Callback | None = None,
) -> Documents:
    """Count the words of texts, read once, or take those of a corpus, of which stop words are left out.

    ``persons``: of each text, by default those of the corpus; ``vocabulary``: of texts, count these words only, columns
    in this order; without it all words, columns in sorted order. ``CorpusError`` where X holds something else than str,
    or persons do not fit.
    """
    check_kind(X)
    if isinstance(X, Corpus | ShardedCorpus):
        kept = leave_out(X, tokenizer.left_out)
        kept = kept.to_corpus() if isinstance(kept, ShardedCorpus) else kept
        whose = check_persons(kept, persons, kept.n_documents)
        return Documents(
            kept.counts, kept.vocabulary, whose, kept.labels, kept.index, kept.cut, kept.texts_digest
        )
    counts, words, digest = count_texts(watched(callback, "counting words", X), tokenizer, vocabulary)
    numbers = check_persons(X, persons, len(counts.indptr) - 1)
    return Documents(counts, words, numbers, None, index_of(X), tokenizer.settings(), digest)


def leave_out(corpus: Any, stop_words: frozenset[str]) -> Any:
    """Return a corpus without the columns of stop words.

    The list is public, so that what is known of where the other words come from stays true.
    """
    kept = [word for word in corpus.vocabulary if word not in stop_words]
    if len(kept) == len(corpus.vocabulary):
        return corpus
    corpus = corpus.to_corpus() if isinstance(corpus, ShardedCorpus) else corpus
    if not kept:
        raise CorpusError("all words of the corpus are stop words; give fewer stop words.")
    return corpus.restrict(kept).with_word_origin(corpus.word_origin)


def faults_of_counted(X: Any, settings: Mapping[str, Any]) -> list[DiscreetError]:
    """Say which settings that are about texts were given with counts, on which they would have no effect.

    Of texts that are held, some are looked at, whether there are blanks between words: see
    :mod:`discreet.corpus.languages`, which says what that tells.
    """
    if not isinstance(X, Corpus | ShardedCorpus):
        return collect(lambda: _look(X)) if _by_default(settings) and isinstance(X, Collection) else []
    idle = [name for name, default in ABOUT_TEXTS.items() if settings.get(name, default) != default]
    if isinstance(X, ShardedCorpus) and settings.get("stop_words") not in (None, "auto"):
        idle.append("stop_words")
    how = "the shards are written" if isinstance(X, ShardedCorpus) else "the texts are read: read_corpus(...)"
    return [
        ParameterError(f"`{name}` has no effect on {kind_of(X)}, whose texts are counted; say it when {how}.")
        for name in idle
    ]


def fault_of_language(languages: Sequence[tuple[str, float]]) -> ParameterError | None:
    """Say where texts are in another language than the stop words, by :func:`language_shares`."""
    # Related languages share words: the best list only.
    language, share = next(iter(languages), ("", 0.0))
    if share < _WRITTEN:
        return None
    return ParameterError(
        f"{100 * share:.0f} % of the words that count stand on the {language.capitalize()} list of stop words, which "
        f"is not in use; they would fill the topics. Leave them out: `stop_words={language!r}`."
    )


def _by_default(settings: Mapping[str, Any]) -> bool:
    """Whether nobody said what a word is."""
    own = settings["tokenizer"]
    if isinstance(own, Tokenizer):
        return own.by_default
    return own is None and settings["token_pattern"] == DEFAULT_TOKEN_PATTERN


def _look(texts: Iterable[Any]) -> None:
    breaks = Breaks()
    for text in texts:
        if isinstance(text, str):
            breaks.see(text)
        if breaks.seen_enough:
            break
    breaks.check()


def public_words(vocabulary: Any) -> tuple[str, ...]:
    """Return a public list of words in the order of the columns."""
    if isinstance(vocabulary, set | frozenset):
        return load_vocabulary(sorted(vocabulary))  # sets have no order of their own
    return load_vocabulary(vocabulary)


def is_writable(word: str) -> bool:
    """Whether a word can stand on a line of a vocabulary file: one line, and proper Unicode."""
    if len(f"{word}.".splitlines()) != 1:
        return False
    try:
        word.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return bool(word)


#: Counts above this are ranked as if they were this: a document of two thousand million times one word.
_LARGEST = 2**31 - 1


class UnitWords(NamedTuple):
    """Words of each unit, most preferred first. Private.

    ``words[indptr[u]:indptr[u + 1]]`` are the numbers of the distinct words of unit ``u``.
    """

    indptr: NDArray[np.int64]
    words: NDArray[np.int64]
    n_words: int

    @property
    def sizes(self) -> NDArray[np.int64]:
        """Number of words of each unit."""
        return np.diff(self.indptr)

    def even_weights(
        self, max_words: int, weights: NDArray[np.int64], done: NDArray[np.bool_] | None = None
    ) -> NDArray[np.int64]:
        """Add up what the units give, each of them ``weights[k]`` to each of its first k words; (n_words,).

        ``max_words``: most words of one unit that count; ``done``: (n_words,), words that do not count, because they
        were released before.
        """
        return sum_even_weights(first_words(self, max_words, done), weights)


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
    persons: NDArray[Any] | None,
    order: NDArray[np.uint64],
    *,
    n_threads: int = 1,
) -> UnitWords:
    """Join the documents of each unit and sort its words, most used first; one without words is kept, empty.

    ``counts``: CSR of shape (n_documents, n_words), without repeated entries; ``persons``: unit of each document, None
    where each is one; ``order``: secret number of each word, (n_words,) uint64, which breaks ties, smallest first
    (equal numbers fall back to the order of the columns). The result does not depend on the threads.
    """
    if persons is not None:
        counts = join_rows(counts.astype(np.int64), persons)
    indptr = counts.indptr.astype(np.int64)
    by_number = np.argsort(order, kind="stable").astype(np.int64)
    rank = np.empty(len(order), np.int64)
    rank[by_number] = np.arange(len(order))
    words = np.empty(len(counts.indices), np.int64)
    rows = (indptr, counts.indices, counts.data, rank, by_number, words)
    share_out(lambda piece: _sort_words(*piece, *rows), pieces(indptr, n_threads), n_threads)
    return UnitWords(indptr, words, len(order))


@kernel()
def _sort_words(
    first: int,
    last: int,
    indptr: NDArray[np.int64],
    indices: NDArray[Any],
    data: NDArray[Any],
    rank: NDArray[np.int64],
    by_number: NDArray[np.int64],
    words: NDArray[np.int64],
) -> None:
    """Sort each unit's words: keys have the count above, the tie below."""
    for unit in range(first, last):
        start, n = indptr[unit], indptr[unit + 1] - indptr[unit]
        keys = np.empty(n, np.int64)
        for i in range(n):
            rarity = np.int64(_LARGEST) - min(np.int64(data[start + i]), np.int64(_LARGEST))
            keys[i] = (rarity << np.int64(32)) | rank[indices[start + i]]
        keys.sort()
        for i in range(n):
            words[start + i] = by_number[keys[i] & np.int64(0xFFFFFFFF)]


def first_words(units: UnitWords, max_words: int, done: NDArray[np.bool_] | None = None) -> UnitWords:
    """Keep the first ``max_words`` words of each unit, not counting words that are ``done``.

    ``done``: (n_words,), words that were released before, which everybody knows.
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
    return UnitWords(np.r_[0, np.cumsum(sizes)].astype(np.int64), words, units.n_words)


def passing(held: NDArray[np.int64], noisy: NDArray[np.int64], least: int, step: float) -> Choice:
    """Return the words whose noisy integer is strictly above ``least``, weights in units of the bound."""
    passed = np.flatnonzero(noisy > least)
    weights = noisy[passed].astype(np.float64) * np.float64(step)
    return Choice(held[passed], weights, np.zeros(len(passed), np.int64))


def sum_even_weights(units: UnitWords, weights: NDArray[np.int64]) -> NDArray[np.int64]:
    """Add up what the units give, each of them ``weights[k]`` to each of its k words."""
    total = np.zeros(units.n_words, np.int64)
    np.add.at(total, units.words, np.repeat(weights[units.sizes], units.sizes))
    return total


@dataclass(frozen=True)
class ShardedWords:
    """Words of each unit of a corpus in shards. Private."""

    #: Each unit in one; read as :class:`Rows`.
    shards: ShardRunner
    #: (n_words,) uint64: secret number of each word, as :func:`rank_words` takes it.
    order: NDArray[np.uint64]

    @property
    def n_words(self) -> int:
        """Number of words of all columns."""
        return len(self.order)

    def even_weights(
        self, max_words: int, weights: NDArray[np.int64], done: NDArray[np.bool_] | None = None
    ) -> NDArray[np.int64]:
        """Return what :meth:`UnitWords.even_weights` does of all units."""
        return self.shards.sum(_even_weights_of, self.order, max_words, weights, done)


def _even_weights_of(rows: Rows, order: NDArray[np.uint64], *how: Any) -> NDArray[np.int64]:
    return rank_words(rows.counts, rows.persons, order).even_weights(*how)


def words_in_shards(
    corpus: ShardedCorpus, key: bytes, engine: Engine | None, n_jobs: int | None
) -> ShardedWords:
    """Return the words of the units of a corpus; the key is that of their secret order."""
    order = secret_order(corpus.vocabulary, key)
    return ShardedWords(ShardRunner(corpus.shards, Shard.read, engine, n_jobs), order)
