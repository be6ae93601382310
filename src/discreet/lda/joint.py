r"""Topics from noisy joint distributions of words and topics, one after another.

Whoever makes them private (a round of central training, answers about whole documents) gets for each word and topic a
noisy number, of words that had public weights. :meth:`Joint.with_round` averages them, :func:`read_topics` reads them.

Topics move from round to round, so earlier numbers are of other topics. As in a Kalman filter, a cell's precision P
counts as :math:`1 / (1/P + (p_v / K)^2)` a round later: it moves by about its own size. The louder the noise is beside
that, the longer a number counts; without noise only the last round does.

Only released values and public word vectors go in, so all of it is post-processing.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from discreet.lda.denoise import posterior_mean
from discreet.lda.vectors import VectorPrior, expected_topics, follow

Floats = NDArray[np.float64]
#: Of the unigram in each topic, for words of which the numbers tell nothing; of the usual size, in each topic's weight.
UNKNOWN = 0.002


class Joint(NamedTuple):
    """Running mean of noisy joint distributions of words and topics."""

    #: (n_words, n_topics).
    values: Floats
    #: (n_words,): variance of the noise in each cell of a row.
    variance: Floats
    #: (n_words,): of the mean, as far as topics have stayed where they were.
    precision: Floats

    @classmethod
    def nothing(cls, n_words: int, n_topics: int) -> "Joint":
        """Return the mean of no rounds."""
        return cls(np.zeros((n_words, n_topics)), np.zeros(n_words), np.zeros(n_words))

    def with_round(self, noisy: Floats, noise: float, weights: Floats, unigram: Floats) -> "Joint":
        """Average it with a round's numbers, (n_words, n_topics), of words that had these public weights.

        ``noise``: standard deviation in each number; ``unigram``: how frequent words are.
        """
        level = noisy / weights[:, None]
        mass = max(float(level.sum()), 1e-9)
        level = level / mass
        if not noise:
            return self._replace(values=level)
        deviation = noise / weights / mass
        moved = (unigram / level.shape[1]) ** 2
        old = self.precision / (1 + self.precision * moved)
        precision = old + deviation**-2
        share = 1 - old / precision
        return Joint(
            (1 - share)[:, None] * self.values + share[:, None] * level,
            (1 - share) ** 2 * self.variance + share**2 * deviation**2,
            precision,
        )


class Topics(NamedTuple):
    """What a joint distribution says."""

    #: (n_words, n_topics): columns sum to 1.
    word_topic: Floats
    #: (n_topics,).
    weight: Floats
    prior: VectorPrior | None


def read_topics(joint: Joint, unigram: Floats, prior: VectorPrior | None) -> Topics:
    """Read topics: under the prior of public word vectors, where there is one, and then cell by cell."""
    weight = np.maximum(joint.values.sum(0), 0.0)
    weight = weight + UNKNOWN * (weight.sum() or 1.0) / len(weight)
    weight /= weight.sum()
    base = unigram[:, None] * weight
    if joint.variance.any():
        if prior is not None:
            prior = follow(prior, joint.values, joint.variance, unigram, weight)
            base = expected_topics(prior.directions, prior.coordinates, unigram) * weight
        read = posterior_mean(joint.values, base, np.sqrt(joint.variance)[:, None], by_column=True)
    else:
        read = np.maximum(joint.values, 0.0)
    # A topic in which nothing stands above the noise falls back to what was expected.
    read = np.where(read.sum(0) > 0, read, base)
    topics = (1 - UNKNOWN) * read / read.sum(0) + UNKNOWN * unigram[:, None]
    return Topics(topics / topics.sum(0), weight, prior)
