"""The first words of topics, as they are listed: by probability, or by what sets a topic apart."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from discreet._validate import is_whole, shown
from discreet.errors import DiscreetError

__all__ = ["first_words"]


def first_words(
    topic_word: Any,
    words: Sequence[str],
    word_weight: Any,
    n: int,
    by: str,
    refusal: type[DiscreetError],
) -> list[list[str]]:
    """Return the first words of each topic; ties in order of the vocabulary.

    Parameters
    ----------
    topic_word : array of shape (n_topics, n_words)
        Probabilities.
    words : sequence of str
    word_weight : array of shape (n_words,) or None
        How frequent words are, in any unit; only "lift" needs it.
    n : int
        Of each topic; at least 1.
    by : {"probability", "lift"}
        "lift": the order of p(w|k) (p(w|k) / p(w))^(1/2).
    refusal : type
        Of the error where one of them is something else.
    """
    if not is_whole(n) or n < 1:
        raise refusal(f"the number of words must be at least 1, but is {shown(n)}.")
    if by not in ("probability", "lift"):
        raise refusal(f'by must be "probability" or "lift", but is {shown(by)}.')
    rank = topic_word
    if by == "lift":
        if word_weight is None:
            raise refusal('this release has no word_weight to compare with; take by="probability".')
        shares = np.maximum(word_weight, np.min(word_weight[word_weight > 0]))
        rank = topic_word**1.5 / np.sqrt(shares)
    order: list[list[int]] = np.argsort(-rank, axis=1, kind="stable")[:, :n].tolist()
    return [[words[word] for word in row] for row in order]
