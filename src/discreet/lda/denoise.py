r"""Reading noisy counts: the posterior mean under a prior that the noisy counts themselves suggest.

Model: a released cell is :math:`S_i \sim \mathcal N(b_i \rho_i, s_i^2)`, with a known base :math:`b_i > 0`, a
known standard deviation :math:`s_i`, and lifts :math:`\rho_i \ge 0` drawn from one unknown law. The law is a
mixture of narrow normals on a geometric grid (and an atom at 0), whose weights are fitted by
expectation-maximisation on the marginal likelihood: a nonparametric maximum-likelihood prior. The answer is
:math:`b_i \, E[\rho_i \mid S_i]`.

The topics of a round differ in size and in how far their words depart from the base. So each column of cells may have a
law of its own: as many further steps from the law of all cells, which holds it where a column says little.

*Topics.* A round of central training, or of answers about whole documents, releases a noisy number for each word and
topic, of words that had public weights. :meth:`Joint.with_round` averages them, :func:`read_topics` reads them.
Topics move from round to round, so earlier numbers are of other topics. As in a Kalman filter, a cell's precision P
counts as :math:`1 / (1/P + (p_v / K)^2)` a round later: it moves by about its own size. The louder the noise is beside
that, the longer a number counts; without noise only the last round does.

All of this sees released values and public word vectors only, so it costs nothing.

References
----------
Robbins, "An empirical Bayes approach to statistics", 1956.
Koenker, Mizera, "Convex optimization, shape constraints, compound decisions, and empirical Bayes rules", JASA 2014,
doi:10.1080/01621459.2013.869224.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from discreet.lda.vectors import VectorPrior, expected_topics, follow

Floats = NDArray[np.float64]
#: Of the unigram in each topic, for words of which the numbers tell nothing; of the usual size, in each topic's weight.
UNKNOWN = 0.002
#: Lifts over the base that a topic's word may have: none at all, or from far below to far above it.
LIFTS = np.concatenate([[0.0], np.geomspace(0.02, 100, 40)])
#: Half of the way from one lift to the next.
_RELATIVE_WIDTH = float(np.log(LIFTS[-1] / LIFTS[-2])) / 2
_FITTED_CELLS, _ITERATIONS = 8000, 25
#: Variance of the starting weights over log lifts.
_START_SPREAD = 2.0
_LEAST_RATE = 1e-9


class Cells(NamedTuple):
    """Numbers with noise, what each lies around, and the standard deviations of the noise: a row each."""

    values: Floats
    bases: Floats
    deviations: Floats

    def take(self, chosen: NDArray[np.int64]) -> "Cells":
        """Return some of them."""
        return Cells(*(part[chosen] for part in self))


def posterior_mean(
    noisy: Floats,
    base: Floats,
    noise: Floats,
    lifts: Floats = LIFTS,
    *,
    by_column: bool = False,
) -> Floats:
    """Estimate what stands under noise of known size: an array of the shape of ``noisy``, released values; not
    negative.

    ``base``: what each cell would be at lift 1, 0 where it is 0, and ``noise``: standard deviations, are broadcast;
    ``lifts``: grid of the prior, may hold 0; ``by_column``: fit a law to each column of ``noisy``, starting from that
    of all cells.
    """
    flat = Cells(*(np.broadcast_to(part, noisy.shape).ravel() for part in (noisy, base, noise)))
    cells = np.flatnonzero(flat.bases > 0)
    weights = np.exp(-0.5 * np.log(np.maximum(lifts, lifts[1])) ** 2 / _START_SPREAD)
    weights = _law(flat, cells, lifts, weights / weights.sum())
    answer = np.zeros(noisy.size)
    n_columns = noisy.shape[-1] if by_column else 1
    for column in range(n_columns):
        part = column + n_columns * np.flatnonzero(flat.bases[column::n_columns] > 0)
        law = _law(flat, part, lifts, weights) if by_column else weights
        for start in range(0, part.size, _FITTED_CELLS):
            few = part[start : start + _FITTED_CELLS]
            answer[few] = _means(flat.take(few), lifts, law)
    return answer.reshape(noisy.shape)


def read_rates(noisy: Floats, noise: Floats) -> Floats:
    """Estimate positive rates, (n,), that are around one mean, such as how frequent words are.

    ``noisy`` are returned as they are, or nearly 0, where there is no noise, whose standard deviations are ``noise``.
    """
    read = noisy
    if noise.any():
        mean = np.full(noisy.shape, max(float(noisy.mean()), _LEAST_RATE))
        read = posterior_mean(noisy, mean, noise, LIFTS[1:])
    return np.maximum(read, _LEAST_RATE)


def _law(noisy: Cells, cells: NDArray[np.int64], lifts: Floats, weights: Floats) -> Floats:
    """Fit the weights of the lifts to these cells, from ``weights`` on."""
    if cells.size == 0:
        return weights
    # An even stride through the cells: as good as a random subset here, and the same every time.
    fitted = cells[:: max(1, -(-cells.size // _FITTED_CELLS))]
    likelihood = _likelihood(noisy.take(fitted), lifts)
    for _ in range(_ITERATIONS):  # by einsum, not BLAS, whose sums depend on its threads
        rate = 1 / np.einsum("lc,l->c", likelihood, weights)
        weights = weights * np.einsum("lc,c->l", likelihood, rate) / fitted.size + 1e-9
        weights /= weights.sum()
    return weights


def _means(noisy: Cells, lifts: Floats, weights: Floats) -> Floats:
    posterior = _likelihood(noisy, lifts) * weights[:, None]
    posterior /= posterior.sum(0)
    centres = noisy.bases * lifts[:, None]
    within = (_RELATIVE_WIDTH * centres) ** 2
    gain = within / (within + noisy.deviations**2 + 1e-300)
    return np.maximum((posterior * (centres + gain * (noisy.values - centres))).sum(0), 0.0)


def _likelihood(noisy: Cells, lifts: Floats) -> Floats:
    """Likelihood of each cell under each lift, up to a factor of the cell's own: (n_lifts, n_cells)."""
    centres = noisy.bases * lifts[:, None]
    variance = noisy.deviations**2 + (_RELATIVE_WIDTH * centres) ** 2 + 1e-300
    log = -0.5 * ((noisy.values - centres) ** 2 / variance + np.log(variance))
    return np.exp(log - log.max(0)) + 1e-30


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
