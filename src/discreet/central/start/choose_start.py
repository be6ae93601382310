"""Which start training goes on from: the one from pairs of words, or the one from public word vectors.

By default what was seen of the documents' moment decides (:mod:`discreet.central.start.from_vectors`). Where a score
was asked for, both starts are made, and what one gains on the other in describing the documents is released
(:mod:`discreet.central.rounds.likelihood_score`, where the proof stands): the choice is made by that noisy number and
by nothing else.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from discreet.central.rounds.likelihood_score import score_sum
from discreet.central.rounds.schedule import SCORE_SHARE, Schedule
from discreet.central.rounds.sharded_units import ShardedUnits
from discreet.central.rounds.units import Units
from discreet.central.start.from_vectors import Seen
from discreet.central.start.structure import Structure
from discreet.privacy.shared_gaussian import SharedGaussian

__all__ = ["Start", "best_of", "where_used"]


class Start(NamedTuple):
    """Starting topics of shape (n_words, n_topics), and what was found with them; released values only.

    Attributes
    ----------
    word_topic : array of shape (n_words, n_topics)
    schedule : Schedule
        What to do next.
    from_vectors : bool
    structure : Structure, optional
        Whether pairs of words show topics, where they were released for that.
    """

    word_topic: NDArray[np.float64]
    schedule: Schedule
    from_vectors: bool
    structure: Structure | None


def best_of(
    starts: list[Start], units: Units | ShardedUnits, doc_topic_prior: float, gate: SharedGaussian
) -> Start:
    """Release what the second start gains on the first, and return the better one by that."""
    topics = np.stack([start.word_topic for start in starts])
    score = gate.release(
        score_sum(units, topics, doc_topic_prior, gate.n_jobs), SCORE_SHARE, "score of starts"
    )
    best = starts[int(score.values[0] > 0)]
    plans = best.schedule.believed if best.from_vectors else best.schedule.doubted
    return best._replace(schedule=plans or best.schedule)


def where_used(init: str, seen: Seen | None, from_vectors: bool, exact: bool) -> str:
    """Say where public word vectors that differ are used, and by which rule; without noise rounds do not need them."""
    if exact and not from_vectors:
        return "not at all: without noise, texts tell their topics by themselves"
    if seen is None:
        asked = "; the start is without them, as was asked for" if init == "pairs" else ""
        return "in every round" + asked
    if init == "auto" or (seen.refuted and not from_vectors):
        return seen.used
    used = "for the start" if exact else "for the start and in every round"
    if init == "vectors":
        return f"{used}, as was asked for"
    if from_vectors:
        return f"{used}, as a noisy score of the texts was higher with them"
    return "in every round; the start is without them, as a noisy score of the texts was no higher with them"
