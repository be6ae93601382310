r"""Public word vectors: seen through how often words occur, as topics of their own, and as a prior of topics.

Vectors of a word that has none are NaN; such a word stands at the mean and so says nothing.

**Topics from vectors alone**: what is known before a single document is looked at. Words are clustered by the
direction of their vectors (spherical k-means, each word with the weight :math:`\sqrt{p_v}`), and a cluster with centre
m becomes the topic

.. math:: q_v \propto p_v \exp(\beta \cos(E_v, m)) .

Every private model that was given the same vectors must beat this one, or the private text taught it nothing.

**A prior for the denoiser**: what vectors say about a topic before its noisy counts are read. With F the first d
principal directions of the vectors (V words in rows, centred and of unit variance under the released unigram p), a
topic is expected near

.. math:: q_k = p\, e^{F a_k} / Z_k, \qquad a_{kj} \sim \mathcal N(\bar a_{kj}, \tau_j^2),

and a cell of the noisy joint distribution of words and topics is read as

.. math:: J_{vk} \sim \mathcal N\big(N_k q_{vk},\; \sigma_v^2 + c\,(N_k q_{vk})^2\big) .

:math:`\bar a` is 0, or where topics were expected before. :math:`a_k` is the mode of its posterior (Gauss-Newton steps
that never make it worse); :math:`\tau^2`, one for each block of five directions over all topics, follows from the
evidence, so directions that explain nothing are switched off; c, how far words go their own ways around what the
vectors say, from second moments. :math:`N_k q_{vk}` then takes the place of :math:`N_k p_v` as the base of
:func:`~discreet.lda.denoise.posterior_mean`, which lets every word depart from it again.

Wrong vectors must do no harm. A few words stand far above anything a normal law expects, and directions without
meaning would chase them: so a cell at z deviations counts as under Student's t with :math:`\nu` degrees of freedom
(weight :math:`(\nu + 1) / (\nu + z^2)`). :math:`\nu = 6 r^4`, r (at least 1) the scale of the first block of
directions, those along which words differ most, over the mean scale of the others: vectors that know the texts have a
large r, of random or shuffled ones all blocks are alike.

Everything here is computed from released numbers and public vectors: it costs no privacy, and the releases, their
sensitivity and the ledger stay as they are without vectors. The promise holds whatever the vectors are; only if they
were trained on the private texts, what *they* tell of those texts is not covered by it.

References
----------
Arthur, Vassilvitskii, "k-means++: the advantages of careful seeding", SODA 2007 (the starts).
Dhillon, Modha, "Concept decompositions for large sparse text data using clustering", Machine Learning 2001,
doi:10.1023/A:1007612920971 (spherical k-means).
MacKay, "Bayesian interpolation", Neural Computation 1992, doi:10.1162/neco.1992.4.3.415 (the evidence step).
Lange, Little, Taylor, "Robust statistical modeling using the t distribution", JASA 1989,
doi:10.1080/01621459.1989.10478852 (the weights).
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from discreet._base.threads import one_blas_thread

Floats = NDArray[np.float64]
_POWER = 0.25
#: How sharp a topic is around its centre; from 3 to 6 were as good on news, mail and reviews.
_SHARPNESS = 5.0
_STARTS = 8
_CLUSTER_STEPS = 50
_BLOCK = 5
#: Of tau squared before any round. Larger ones follow the noise of short messages: topics that read worse.
_FIRST_SCALE = 0.01
#: Of tau squared and of c.
_LEAST_SCALE, _LARGEST = 1e-5, 10.0
_SWEEPS, _STEPS = 2, 4
#: Degrees of freedom where the first block does not stand out, and the power of how far it does that they grow with.
_LEAST_FREEDOM, _GROWTH, _LARGEST_FREEDOM = 6.0, 4, 1000.0
#: Longest step, in log probability of a word; gains and parts of a step that are too small to matter.
_LONGEST, _TOO_SMALL = 4.0, 1e-3


def centred(vectors: Floats, unigram: Floats) -> Floats:
    """Return the vectors with mean 0 and total variance 1 under ``unigram``, positive probabilities.

    Zeros for words without a vector (rows of NaN), and everywhere where no two words differ.
    """
    known = np.isfinite(vectors.sum(1))
    if not known.any():
        return np.zeros_like(vectors)
    scaled = np.where(known[:, None], vectors, 0.0) / max(float(np.abs(vectors[known]).max()), 1e-300)
    weight = unigram * known
    moved = np.where(known[:, None], scaled - (weight @ scaled) / weight.sum(), 0.0)
    size = float(np.sqrt(unigram @ (moved**2).sum(1)))
    return moved / size if size > 1e-9 else np.zeros_like(vectors)


def directions(vectors: Floats, unigram: Floats, n: int) -> Floats:
    """Return F, (n_words, d), the first principal directions of the words, with F' diag(unigram) F = 1.

    Which directions come first is asked of words that count nearly alike (with the fourth root of their share): under
    the unigram itself the first directions of meaningless vectors would single out the most frequent words.
    ``vectors``: from :func:`centred`; d is at most ``n``, as those along which words hardly differ are left out.
    """
    with one_blas_thread():
        share = unigram**_POWER / (unigram**_POWER).sum()
        moved = np.sqrt(share)[:, None] * (vectors - share @ vectors)
        values, axes = np.linalg.eigh(moved.T @ moved)
        order = np.argsort(-values, kind="stable")[:n]
        order = order[values[order] > 1e-9 * max(float(values.max(initial=0.0)), 1e-300)]
        along = np.sqrt(unigram)[:, None] * (vectors @ axes[:, order])
        orthogonal, size = np.linalg.qr(along)
        kept = np.abs(size.diagonal()) > 1e-9 * max(float(np.abs(size.diagonal()).max(initial=0.0)), 1e-300)
        found = orthogonal[:, kept] / np.sqrt(unigram)[:, None]
        # The sign of a direction is arbitrary; fix it, so that libraries that differ in it agree.
        largest = np.abs(orthogonal[:, kept]).argmax(0)
        return found * np.where(found[largest, np.arange(found.shape[1])] < 0, -1.0, 1.0)


def topics_of_vectors(
    vectors: Floats, unigram: Floats, n_topics: int, seed: int, *, sharpness: float = _SHARPNESS
) -> Floats:
    """Return topics of shape (n_words, n_topics); columns sum to 1.

    Words without a vector (rows of NaN) stand at the mean, so their share is that of the unigram, which is positive and
    sums to 1; ``seed``: of the starts, public; ``sharpness``: beta.
    """
    with one_blas_thread():
        moved = centred(vectors, unigram)
        lengths = np.linalg.norm(moved, axis=1, keepdims=True)
        pointing = moved / np.maximum(lengths, 1e-12)
        centres = _best_centres(pointing, np.sqrt(unigram) * (lengths[:, 0] > 0), n_topics, seed)
        topics = unigram[:, None] * np.exp(sharpness * (pointing @ centres.T - 1))
        return topics / topics.sum(0)


def _best_centres(pointing: Floats, weight: Floats, n_topics: int, seed: int) -> Floats:
    """Cluster several times; return the centres, (n_topics, n_dimensions), that words are nearest to."""
    if weight.sum() == 0:
        return np.zeros((n_topics, pointing.shape[1]))
    rng = np.random.default_rng(seed)
    best, value = np.zeros((n_topics, pointing.shape[1])), -np.inf
    for _ in range(_STARTS):
        centres = _descend(pointing, weight, _spread_out(pointing, weight, n_topics, rng))
        reached = float(weight @ (pointing @ centres.T).max(1))
        if reached > value:
            best, value = centres, reached
    return best


def _spread_out(pointing: Floats, weight: Floats, n_topics: int, rng: np.random.Generator) -> Floats:
    """Draw words as centres, each with a chance that grows with its distance from those before it."""
    chance = weight
    chosen: list[Floats] = []
    nearest = np.full(len(weight), -1.0)
    for _ in range(n_topics):
        chosen.append(pointing[rng.choice(len(weight), p=chance / chance.sum())])
        nearest = np.maximum(nearest, pointing @ chosen[-1])
        chance = np.maximum(1 - nearest, 0.0) ** 2 * weight
        if chance.sum() <= 1e-12 * weight.sum():  # fewer distinct words than topics
            chance = weight
    return np.array(chosen)


def _descend(pointing: Floats, weight: Floats, centres: Floats) -> Floats:
    nearest = np.full(len(weight), -1)
    for _ in range(_CLUSTER_STEPS):
        before, nearest = nearest, (pointing @ centres.T).argmax(1)
        if (nearest == before).all():
            break
        sums = np.zeros_like(centres)
        np.add.at(sums, nearest, weight[:, None] * pointing)
        lengths = np.linalg.norm(sums, axis=1, keepdims=True)
        centres = np.where(lengths > 1e-12, sums / np.maximum(lengths, 1e-12), centres)
    return centres


class VectorPrior(NamedTuple):
    """What is known of the topics in the space of the vectors. Released values and public vectors only."""

    #: (n_words, d): public: F.
    directions: Floats
    #: (n_topics, d): a, at the last round.
    coordinates: Floats
    #: (d,): tau squared.
    scales: Floats
    #: c.
    spread: float
    #: (n_topics, d): where the coordinates are expected: the mean of their law.
    centre: Floats | float = 0.0

    @classmethod
    def start(cls, directions: Floats, n_topics: int) -> "VectorPrior":
        """Return the prior before any round: topics at the unigram."""
        d = directions.shape[1]
        return cls(directions, np.zeros((n_topics, d)), np.full(d, _FIRST_SCALE), 0.0)


def expected_topics(directions: Floats, coordinates: Floats, unigram: Floats) -> Floats:
    """Return q of shape (n_words, n_topics): the unigram, tilted along the directions; columns sum to 1."""
    tilt = directions @ coordinates.T
    topics = unigram[:, None] * np.exp(tilt - tilt.max(0))
    return topics / topics.sum(0)


def follow(
    prior: VectorPrior, joint: Floats, variance: Floats, unigram: Floats, weight: Floats
) -> VectorPrior:
    """Fit the prior of the round before to the noisy joint distribution of words and topics, (n_words, n_topics), of
    this one.

    ``variance``: of the noise in each cell of a row; ``weight``: N, the share of each topic.
    """
    with one_blas_thread():
        for _ in range(_SWEEPS):
            expected = expected_topics(prior.directions, prior.coordinates, unigram) * weight
            spread = _spread(joint, variance, expected)
            cells = variance[:, None] + spread * expected**2
            freedom = _freedom(prior.scales)
            cells *= (freedom + (joint - expected) ** 2 / cells) / (freedom + 1)
            prior = _sweep(prior._replace(spread=spread), joint, np.sqrt(cells), unigram, weight)
    return prior


def _freedom(scales: Floats) -> float:
    """Return nu: large where the first block of directions explains more than the others."""
    others = scales[_BLOCK:]
    stands_out = scales[0] / others.mean() if len(others) else 1.0
    return float(min(_LEAST_FREEDOM * max(stands_out, 1.0) ** _GROWTH, _LARGEST_FREEDOM))


def _spread(joint: Floats, variance: Floats, expected: Floats) -> float:
    """Estimate c by moments: what is left of the squared gaps when the noise is taken off, over q squared."""
    square = expected**2
    weight = square / (variance[:, None] + square) ** 2
    left = (weight * ((joint - expected) ** 2 - variance[:, None])).sum()
    return float(np.clip(left / max((weight * square).sum(), 1e-300), 0.0, _LARGEST))


def _sweep(
    prior: VectorPrior, joint: Floats, deviation: Floats, unigram: Floats, weight: Floats
) -> VectorPrior:
    """Fit every topic's coordinates, then the scales of the blocks by MacKay's step."""
    moved, scales = prior.coordinates.copy(), prior.scales
    centre = np.zeros_like(moved) + prior.centre
    determined = np.zeros(len(scales))
    for topic in range(len(moved)):
        cells = joint[:, topic], deviation[:, topic]
        moved[topic], curvature = _climb(
            prior.directions, moved[topic], centre[topic], scales, cells, unigram, weight[topic]
        )
        determined += 1 - np.linalg.inv(curvature).diagonal() / scales
    blocks = np.arange(len(scales)) // _BLOCK
    energy = np.bincount(blocks, ((moved - centre) ** 2).sum(0))
    fresh = energy / np.maximum(np.bincount(blocks, determined), _TOO_SMALL)
    return prior._replace(coordinates=moved, scales=np.clip(fresh, _LEAST_SCALE, _LARGEST)[blocks])


def _climb(
    directions: Floats,
    point: Floats,
    centre: Floats,
    scales: Floats,
    noisy: tuple[Floats, Floats],
    unigram: Floats,
    weight: float,
) -> tuple[Floats, Floats]:
    """Take Gauss-Newton steps from ``point``; return where they lead and the last curvature, (d, d)."""
    cells, deviation = noisy

    def topic_at(coordinates: Floats) -> Floats:
        return expected_topics(directions, coordinates[None], unigram)[:, 0]

    def loss(coordinates: Floats, topic: Floats) -> float:
        gaps = (cells - weight * topic) / deviation
        return 0.5 * float(((coordinates - centre) ** 2 / scales).sum() + gaps @ gaps)

    topic = topic_at(point)
    value = loss(point, topic)
    curvature = np.diag(1 / scales)
    for _ in range(_STEPS):
        slopes = (directions - topic @ directions) * (weight * topic / deviation)[:, None]
        curvature = slopes.T @ slopes + np.diag(1 / scales)
        gradient = slopes.T @ ((cells - weight * topic) / deviation) - (point - centre) / scales
        step = np.linalg.solve(curvature, gradient)
        length = min(1.0, _LONGEST / max(float(np.abs(directions @ step).max()), 1e-9))
        gain = 0.0
        while length > _TOO_SMALL:
            there = point + length * step
            topic_there = topic_at(there)
            gain = value - loss(there, topic_there)
            if gain > 0:
                point, topic, value = there, topic_there, value - gain
                break
            length /= 2
        if gain < _TOO_SMALL:
            break
    return point, curvature
