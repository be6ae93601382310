"""What ``fit`` and ``transform`` take: texts or a corpus, as counts of words, and public words."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from discreet._base.persons import check_persons, index_of
from discreet._base.progress import Callback, watched
from discreet._base.validate import collect, kind_of
from discreet.corpus import Corpus, Tokenizer, load_vocabulary
from discreet.corpus.counting import count_texts, only_texts
from discreet.corpus.letters import Breaks
from discreet.corpus.shards.sharded_corpus import ShardedCorpus
from discreet.corpus.tokenizer import DEFAULT_TOKEN_PATTERN
from discreet.errors import CorpusError, DiscreetError, Parameter, ParameterError

__all__ = [
    "Documents",
    "check_kind",
    "count_documents",
    "faults_of_counted",
    "is_writable",
    "leave_out",
    "pick_words",
    "public_words",
]

#: Settings of how a text becomes words, as they are unless somebody asks for something else.
_ABOUT_TEXTS: dict[str, Any] = {
    "ngram_range": (1, 1),
    "token_pattern": DEFAULT_TOKEN_PATTERN,
    "lowercase": True,
    "tokenizer": None,
    "phrases": None,
}


class Documents(NamedTuple):
    """Counts of shape (n_documents, n_words), words, and what is said of the rows, private; how texts were cut."""

    counts: sp.csr_matrix
    words: tuple[str, ...]
    persons: NDArray[np.int64] | None
    labels: Any = None
    index: Any = None
    cut: Mapping[str, Any] = MappingProxyType({})

    def corpus_of(self, words: tuple[str, ...]) -> Corpus:
        """Return the counts of these words."""
        counts = self.counts if words == self.words else pick_words(self.counts, self.words, words)
        corpus = Corpus(counts, words, self.persons, self.labels)
        return corpus.read_as(cut=self.cut, index=self.index)


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
    if not isinstance(X, Iterable):
        raise CorpusError(f"expected an iterable of texts or a Corpus, found {type(X).__name__}.")


def count_documents(
    X: Any,
    tokenizer: Tokenizer,
    persons: Any = None,
    vocabulary: tuple[str, ...] | None = None,
    *,
    in_text_order: bool = False,
    callback: Callback | None = None,
) -> Documents:
    """Count the words of texts, or take those of a corpus.

    Parameters
    ----------
    X : iterable of str, or Corpus
        Read once. A corpus was tokenised before: of the tokenizer only stop words count, whose columns are left out.
    tokenizer : Tokenizer
        How a text becomes words.
    persons : array-like of shape (n_documents,), optional
        Person of each text; by default those of the corpus.
    vocabulary : tuple of str, optional
        Count these words only of texts, columns in this order. None: all words, columns in sorted order for texts.
    in_text_order : bool, default False
        Entries of a row stand in the order in which the text uses the words.
    callback : callable, optional
        ``callback("counting words", done, total)`` now and then, in texts.

    Raises
    ------
    CorpusError
        Where X holds something else than str, or persons do not fit.
    """
    check_kind(X)
    if isinstance(X, Corpus | ShardedCorpus):
        kept = leave_out(X, tokenizer.left_out)
        kept = kept.to_corpus() if isinstance(kept, ShardedCorpus) else kept
        whose = check_persons(kept, persons, kept.n_documents)
        return Documents(kept.counts, kept.vocabulary, whose, kept.labels, kept.index, kept.cut)
    if in_text_order:
        counts, words = _count_in_text_order(watched(callback, "counting words", X), tokenizer)
    else:
        counts, words = count_texts(watched(callback, "counting words", X), tokenizer, vocabulary)
    numbers = check_persons(X, persons, len(counts.indptr) - 1)
    return Documents(counts, words, numbers, None, index_of(X), tokenizer.settings())


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


def pick_words(counts: sp.csr_matrix, words: tuple[str, ...], wanted: tuple[str, ...]) -> sp.csr_matrix:
    """Return the columns of the words ``wanted``, in their order; empty for a word that is not there."""
    column = {word: i for i, word in enumerate(wanted)}
    target = np.array([column.get(word, -1) for word in words], np.int64)
    moved = target[counts.indices] if len(target) else np.zeros(0, np.int64)
    stays = moved >= 0
    ends = np.r_[0, np.cumsum(stays)][counts.indptr]
    shape = (len(ends) - 1, len(wanted))
    picked = sp.csr_matrix((counts.data[stays], moved[stays], ends), shape=shape)
    picked.sort_indices()
    return picked


def faults_of_counted(X: Any, settings: Mapping[str, Any]) -> list[DiscreetError]:
    """Say which settings that are about texts were given with counts, on which they would have no effect.

    Of texts that are held, some are looked at, whether there are blanks between words: see
    :mod:`discreet.corpus.letters`, which says what that tells.
    """
    if not isinstance(X, Corpus | ShardedCorpus):
        return collect(lambda: _look(X)) if _by_default(settings) and isinstance(X, Collection) else []
    idle = [name for name, default in _ABOUT_TEXTS.items() if settings.get(name, default) != default]
    if isinstance(X, ShardedCorpus) and settings.get("stop_words") not in (None, "auto"):
        idle.append("stop_words")
    how = "the shards are written" if isinstance(X, ShardedCorpus) else "the texts are read: read_corpus(...)"
    return [
        ParameterError(
            Parameter(name),
            f" has no effect on {kind_of(X)}, whose texts are counted; say it when {how}.",
        )
        for name in idle
    ]


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
    if isinstance(vocabulary, dict):
        columns: dict[Any, Any] = dict(vocabulary)
        words = sorted(columns, key=columns.__getitem__)
        if [columns[word] for word in words] != list(range(len(words))):
            raise ParameterError("the columns in vocabulary must be 0, 1, 2, ... without gaps or repeats.")
        return load_vocabulary(words)
    if isinstance(vocabulary, set | frozenset):
        return load_vocabulary(sorted(vocabulary))  # sets have no order of their own
    words = load_vocabulary(vocabulary)
    if not words:
        raise ParameterError("vocabulary must hold at least one word; None chooses words privately.")
    return words


def is_writable(word: str) -> bool:
    """Whether a word can stand on a line of a vocabulary file: one line, and proper Unicode."""
    if len(f"{word}.".splitlines()) != 1:
        return False
    try:
        word.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return bool(word)


def _count_in_text_order(texts: Iterable[Any], tokenizer: Tokenizer) -> tuple[sp.csr_matrix, tuple[str, ...]]:
    number: dict[str, int] = {}
    indices: list[int] = []
    data: list[int] = []
    indptr = [0]
    for text in only_texts(texts):
        counted = Counter(tokenizer(text))  # keeps the order of first use
        indices.extend(number.setdefault(word, len(number)) for word in counted)
        data.extend(counted.values())
        indptr.append(len(indices))
    arrays = (np.array(data, np.int32), np.array(indices, np.int64), np.array(indptr, np.int64))
    return sp.csr_matrix(arrays, shape=(len(indptr) - 1, len(number))), tuple(number)
