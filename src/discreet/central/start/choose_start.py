"""What training starts from, and where public word vectors are used, in words."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from discreet.central.start.from_vectors import Seen
from discreet.central.start.structure import Structure

__all__ = ["Start", "where_used"]


class Start(NamedTuple):
    """Starting topics of shape (n_words, n_topics), and what was found with them; released values only.

    Attributes
    ----------
    word_topic : array of shape (n_words, n_topics)
    structure : Structure, optional
        Whether pairs of words show topics, where they were released for that.
    """

    word_topic: NDArray[np.float64]
    structure: Structure | None


def where_used(seen: Seen | None, exact: bool) -> str:
    """Say where public word vectors that differ are used; without noise rounds do not need them."""
    if exact:
        return "not at all: without noise, texts tell their topics by themselves"
    return "in every round" if seen is None else seen.used
