"""What the local estimators' parameters must be, and the words of the bits."""

from typing import Any

from discreet._numbers import as_array, as_texts
from discreet._validate import (
    CALLBACK,
    DOC_TOPIC_PRIOR,
    FLAG,
    RANDOM,
    THREADS,
    Rule,
    choice,
    number,
    rules,
    whole,
)
from discreet._word_order import column_words, in_order, known_words, names_of
from discreet.errors import CorpusError
from discreet.lda.moments.packed import packed_width

__all__ = ["SHARED", "bits_in_order", "words_of_reports"]


def _is_channel(value: Any) -> bool:
    try:
        return 0 <= float(value.q) < float(value.p) <= 1
    except (AttributeError, TypeError, ValueError):
        return False


#: Rules of the parameters that all local estimators have.
SHARED = rules(
    n_topics=whole(),
    algorithm=choice("moments", "reconstruct"),
    doc_topic_prior=DOC_TOPIC_PRIOR,
    topic_word_prior=number(above=0),
    n_sweeps=whole(),
    allow_unlearnable=FLAG,
    random_state=RANDOM,
    n_jobs=THREADS,
    callback=CALLBACK,
    channel=Rule(
        "a BitChannel, or anything with numbers p and q, 0 <= q < p <= 1 (a flip f strictly between 0 and 1)",
        _is_channel,
    ),
)


def words_of_reports(X: Any, vocabulary: Any, *, packed: bool) -> tuple[Any, tuple[str, ...]]:
    """Return reports with their bits in the order of the words, and the word of each bit.

    Parameters
    ----------
    X : array, sparse matrix or frame
        Where columns have names and ``vocabulary`` is given, they are put in its order.
    vocabulary : sequence of str, optional
        By default the names of the columns, or numbers.
    packed : bool
    """
    shape = X.shape if hasattr(X, "shape") else as_array(X, "the reports").shape
    if len(shape) != 2:
        raise CorpusError(f"reports must be rows of bits, but have shape {tuple(shape)}.")
    if shape[1] == 0:
        raise CorpusError(f"0 feature(s) (shape={tuple(shape)}) while a minimum of 1 is required.")
    if vocabulary is None:
        if packed:
            raise CorpusError("packed reports do not tell how many words they have; pass vocabulary=.")
        vocabulary = names_of(X) or column_words(shape[1])
    words = as_texts(vocabulary, "the vocabulary")
    width = packed_width(len(words)) if packed else len(words)
    if width != shape[1]:
        raise CorpusError(
            f"the vocabulary has {len(words)} words, but the reports have {shape[1]} "
            f"{'bytes' if packed else 'bits'}; they must agree."
        )
    if len(set(words)) != len(words):
        raise CorpusError("the words of the vocabulary must be distinct, but some are repeated.")
    return X if packed else bits_in_order(X, words), words


def bits_in_order(X: Any, words: tuple[str, ...]) -> Any:
    """Return reports with their bits in the order of a model's words, by name where they have names."""
    return in_order(X, known_words(words), "reports", "make reports with its words")
