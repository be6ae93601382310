r"""Topics from unbiased rates of words and pairs of words: a weighted fit by Adam.

Model: a document has :math:`\theta_k \ge 0` of topic k, and word i with probability about
:math:`\sum_k \theta_k \phi_{ki}`. Then

.. math:: E[u] = m^\top \Phi, \qquad E[C_{ij}] = (\Phi^\top S \Phi)_{ij} \quad (i \ne j), \qquad
          m = E[\theta], \; S = E[\theta \theta^\top].

Minimised is the squared error of both, each cell divided by the variance of its estimate, plus a normal prior
on the logits of :math:`\Phi = \mathrm{softmax}(B)` centred at the log unigram (variance :math:`\tau^2`):

.. math:: \tfrac14 \sum_{i \ne j} w_{ij} (C - \Phi^\top S \Phi)_{ij}^2
          + \tfrac12 \sum_i w_i (u - m^\top \Phi)_i^2
          + \tfrac{1}{2 \tau^2} \sum_{ki} (B_{ki} - \ln u^0_i)^2,

S and m positive through exponentials. The unigram :math:`u^0` is shrunk by empirical Bayes first, so that it is
positive under any noise. The cost of a step is V^2 K, whatever the number of documents. Whatever the estimates are
private by, the fit sees nothing else: it is post-processing.

Several sources (reports and a public corpus) are combined cell by cell, by precision.

**Where public word vectors say which words go together** the logits have another prior. With F the first d principal
directions of the vectors under the unigram :math:`u^0`, :math:`F^\top \mathrm{diag}(u^0) F = 1`,

.. math:: B_{kv} = \ln u^0_v + F_v a_k + r_{kv}, \qquad
          a_{kj} \sim N(\bar a_{kj}, \tau^2_j), \quad r_{kv} \sim N(0, c) .

:math:`\tau^2` (one for each block of five directions) and c follow from the evidence, by MacKay's step with the
diagonal of the Gauss-Newton curvature: directions that explain nothing are switched off, and words go their own ways
as far as the reports say so. :math:`\bar a` is 0 where reports tell much. Where a bit is noisier than one document's
word (variance above .5) it is a share of the coordinates of topics made from the vectors alone.

Wrong vectors would do harm there. So they are asked first whether they know which words go together in *these* reports
(:func:`agreement`); where they do not, topics are fitted without them. Everything is computed from reports and public
vectors: post-processing.

References
----------
Kingma, Ba, "Adam", arXiv:1412.6980. Koenker, Mizera, "Convex optimization, shape constraints, compound decisions,
and empirical Bayes rules", JASA 2014, doi:10.1080/01621459.2013.869224.
MacKay, "Bayesian interpolation", Neural Computation 1992, doi:10.1162/neco.1992.4.3.415 (the evidence step).
"""

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from discreet._base.progress import Callback, tell
from discreet._base.threads import one_blas_thread
from discreet.errors import CorpusError
from discreet.lda.moments.estimates import Estimates, NoisyMoments
from discreet.lda.vectors import centred, directions, topics_of_vectors

Floats = NDArray[np.float64]
#: What topics are fitted to.
Source = Estimates | NoisyMoments

N_STEPS = 500
RATE = 0.08
_FIRST_DECAY, _SECOND_DECAY = 0.9, 0.98
#: Spread of the starting logits around the unigram.
_SPREAD = 0.5
#: Start: this many times more of a topic's weight in documents that have it than on average.
CLUMPING = 6.0
#: Width of the prior's normals, in steps of its grid.
_WIDTH = 0.5
#: From here on there are enough documents for topics to lie further from the unigram.
_MANY_DOCUMENTS = 10_000
_DIRECTIONS = 40
_BLOCK = 5
#: Deviations from what shuffled vectors reach, from which on vectors are believed.
LEAST_AGREEMENT = 3.5
_SHUFFLES = 50
#: Variance of an absent word's bit above which reports tell little.
_NOISY, _VERY_NOISY = 0.5, 2.0
_EVERY = 25
_SETTLED = 0.8
_FIRST_SPREAD = 0.3
_FIRST_SCALE, _LEAST_SCALE, _LARGEST_SCALE = 0.1, 1e-4, 10.0
_START_OF_COORDINATES = 0.05


class Target(NamedTuple):
    """What is fitted: estimates and weights (inverse variances), the weights of pairs 0 on the diagonal."""

    rates: Floats
    rate_weight: Floats
    pairs: NDArray[np.float32]
    pair_weight: NDArray[np.float32]
    unigram: Floats
    n_documents: float


class MomentTopics(NamedTuple):
    """Topics fitted to moments."""

    #: (n_topics, n_words): rows sum to 1.
    topic_word: Floats
    #: (n_topics,): sums to 1.
    topic_weight: Floats
    #: (n_topics, n_topics): S, the mean of theta theta'.
    topic_pairs: Floats
    #: (n_words,): rates of words after empirical Bayes; their sum is the mean number of words in a document.
    unigram: Floats


def positive_rates(noisy: Floats, deviation: Floats, *, grid_size: int = 60, n_steps: int = 200) -> Floats:
    """Return posterior means of rates, positive, from unbiased noisy ones of these standard deviations.

    The prior is fitted to all of them: a mixture of ``grid_size`` narrow normals, centred from 1e-4 up, geometrically,
    with weights from ``n_steps`` steps of expectation maximisation.
    """
    grid = np.geomspace(1e-4, max(float(noisy.max()) * 1.05, 0.02), grid_size)
    width = _WIDTH * (grid[1] / grid[0] - 1) * grid
    total = np.maximum(deviation, 1e-9)[:, None] ** 2 + width**2
    gap = noisy[:, None] - grid
    log = -0.5 * (gap * gap / total + np.log(total))
    likelihood = np.exp(log - log.max(1, keepdims=True))
    weight = np.full(grid_size, 1 / grid_size)
    posterior = likelihood * weight
    for _ in range(n_steps):
        posterior = likelihood * weight
        posterior /= posterior.sum(1, keepdims=True)
        weight = posterior.mean(0) + 1e-12
    means = np.maximum(grid + width**2 / total * gap, grid / 10)
    return (posterior * means).sum(1)


def combine(sources: Sequence[Source]) -> Target:
    """Combine estimates of the same rates from several sources, cell by cell, by precision."""
    if not sources:
        raise CorpusError("there are no moments to fit topics to; add reports first.")
    first = [source.rate_precision(np.clip(source.rates, 1e-4, 0.999)) for source in sources]
    rate_weight = np.sum(first, axis=0)
    rates = np.sum([a * source.rates for a, source in zip(first, sources, strict=True)], axis=0) / rate_weight
    unigram = positive_rates(rates, 1 / np.sqrt(rate_weight))
    second = [source.pair_precision(np.clip(unigram, 1e-3, 0.99)) for source in sources]
    pair_weight = np.sum(second, axis=0)
    pairs = (
        np.sum([a * source.pairs for a, source in zip(second, sources, strict=True)], axis=0) / pair_weight
    )
    np.fill_diagonal(pair_weight, 0.0)
    n_documents = float(sum(source.n_documents for source in sources))
    return Target(
        rates, rate_weight, pairs.astype(np.float32), pair_weight.astype(np.float32), unigram, n_documents
    )


def fit_topics(
    sources: Source | Sequence[Source],
    n_topics: int,
    seed: int,
    *,
    spread: float | None = None,
    n_steps: int = N_STEPS,
    callback: Callback | None = None,
) -> MomentTopics:
    """Fit topics to the moments of one or several sources: the same bytes for the same seed on one machine.

    ``spread``: tau, how far logits may lie from the unigram's; by default 1, or 1.5 from 10,000 documents on.
    """
    target = combine(list(sources) if isinstance(sources, Sequence) else [sources])
    tau = spread or (1.5 if target.n_documents >= _MANY_DOCUMENTS else 1.0)
    length = float(target.unigram.sum())
    base = np.log(target.unigram / length)
    logits = base + _SPREAD * np.random.default_rng(seed).standard_normal((n_topics, len(base)))
    parameters = [logits, *start_of_pairs(length, n_topics)]
    with one_blas_thread():
        for step in descend(parameters, lambda: gradients(parameters, target, base, tau), n_steps, RATE):
            if step % _EVERY == 0:
                tell(callback, "fitting topics to moments", step, n_steps)
    logits, log_pairs, log_weight = parameters
    return _fitted(logits, log_pairs, log_weight, target.unigram)


def _fitted(logits: Floats, log_pairs: Floats, log_weight: Floats, unigram: Floats) -> MomentTopics:
    weight, pairs = np.exp(log_weight), np.exp((log_pairs + log_pairs.T) / 2)
    return MomentTopics(softmax(logits), weight / weight.sum(), pairs, unigram)


def start_of_pairs(length: float, n_topics: int) -> list[Floats]:
    """Return log S and log m to begin with: all topics alike, in documents of this mean length."""
    even = np.full((n_topics, n_topics), (CLUMPING - 1) / n_topics**2)
    return [
        np.log(length**2 * (even + np.eye(n_topics) / n_topics) / CLUMPING),
        np.log(np.full(n_topics, length / n_topics)),
    ]


def descend(
    parameters: Sequence[Floats],
    slopes: Callable[[], Sequence[Floats]],
    n_steps: int,
    rate: float,
    slower: Sequence[float] = (),
) -> Iterator[int]:
    """Move parameters in place by Adam, at a rate that falls over the last two fifths; yield after each step, from 1.

    ``slopes`` gives the gradient at the parameters as they are, an array for each; ``slower``: what each array's rate
    is divided by, all 1 by default.
    """
    means = [np.zeros_like(values) for values in parameters]
    squares = [np.zeros_like(values) for values in parameters]
    parts = slower or [1.0] * len(parameters)
    for step in range(1, n_steps + 1):
        now = rate * min(1.0, 2.5 * (1 - step / (n_steps + 1)))
        together = zip(parameters, slopes(), means, squares, parts, strict=True)
        for values, gradient, mean, square, part in together:
            _adam(values, gradient, mean, square, now / part, step)
        yield step


def _adam(values: Floats, gradient: Floats, mean: Floats, square: Floats, rate: float, step: int) -> None:
    mean += (1 - _FIRST_DECAY) * (gradient - mean)
    square += (1 - _SECOND_DECAY) * (gradient * gradient - square)
    scale = np.sqrt(square / (1 - _SECOND_DECAY**step)) + 1e-12
    values -= rate / (1 - _FIRST_DECAY**step) * mean / scale


def gradients(parameters: list[Floats], target: Target, base: Floats, tau: float) -> list[Floats]:
    """Return the gradient of the objective in logits, log S and log m."""
    logits, log_pairs, log_weight = parameters
    phi = softmax(logits)
    pairs, weight = np.exp((log_pairs + log_pairs.T) / 2), np.exp(log_weight)
    single = phi.astype(np.float32)
    residual = target.pairs - single.T @ (pairs.astype(np.float32) @ single)
    pulled = ((target.pair_weight * residual) @ single.T).astype(np.float64)
    pull = target.rate_weight * (target.rates - weight @ phi)
    by_phi = -(pairs @ pulled.T) - weight[:, None] * pull
    return [
        phi * (by_phi - (by_phi * phi).sum(1, keepdims=True)) + (logits - base) / tau**2,
        -0.5 * (phi @ pulled) * pairs,
        -(phi @ pull) * weight,
    ]


def softmax(logits: Floats) -> Floats:
    """Return topics from logits, rows summing to 1."""
    phi = np.exp(logits - logits.max(1, keepdims=True))
    return phi / phi.sum(1, keepdims=True)


class Prior(NamedTuple):
    """What is expected of the logits before reports are read."""

    #: (n_words,): log unigram.
    base: Floats
    #: (n_words, d): F.
    along: Floats
    #: (n_topics, d): where coordinates a are expected.
    centre: Floats
    #: (d,): c and tau squared; these follow from the evidence.
    spread: float
    scales: Floats

    def logits(self, parameters: Sequence[Floats]) -> Floats:
        """Return the logits of topics, (n_topics, n_words), at r, log S, log m and a."""
        own, _, _, coordinates = parameters
        return self.base + coordinates @ self.along.T + own


class _Rule(NamedTuple):
    """How to begin, by how noisy the reports are."""

    start: float
    first_evidence: int
    least_spread: float
    largest_spread: float
    public_share: float


_MUCH, _SOME = _Rule(0.5, 100, 0.003, 1.0, 0.0), _Rule(0.15, 25, 0.1, 0.3, 0.6)
_LITTLE = _SOME._replace(largest_spread=0.5)


def _rule_of(found: Estimates) -> _Rule:
    if found.noise > _NOISY:
        return _LITTLE if found.noise > _VERY_NOISY else _SOME
    return _MUCH


def agreement(found: Estimates, vectors: Floats) -> float:
    """Return how far above chance the vectors know which words go together in the reports, in standard deviations.

    The whitened covariance of the reports (whose noise is the same in every cell) is multiplied by the cosines of the
    words' vectors, (n_words, n_dimensions), rows of NaN for words without one, and summed over pairs; the same with
    vectors dealt to other words is what chance gives.
    """
    known = np.flatnonzero(np.isfinite(vectors.sum(1)))
    if len(known) < 3:
        return 0.0
    with one_blas_thread():
        rates = np.clip(found.rates, 1e-4, 0.999)
        pointing = centred(vectors, rates / rates.sum())[known]
        pointing /= np.maximum(np.linalg.norm(pointing, axis=1, keepdims=True), 1e-12)
        cosines = pointing @ pointing.T
        cells = found.whitened()[0][np.ix_(known, known)]
        rng = np.random.default_rng(0)
        shuffled: list[float] = []
        for _ in range(_SHUFFLES):
            order = rng.permutation(len(known))
            shuffled.append(float(np.vdot(cells, cosines[np.ix_(order, order)])))
    spread = float(np.std(shuffled, ddof=1))
    return (float(np.vdot(cells, cosines)) - float(np.mean(shuffled))) / max(spread, 1e-12)


def fit_topics_with_vectors(
    found: Estimates,
    vectors: Floats,
    n_topics: int,
    seed: int,
    *,
    n_steps: int = N_STEPS,
    callback: Callback | None = None,
) -> MomentTopics:
    """Fit topics to the moments of reports, with what vectors say as the prior; ``vectors`` as for
    :func:`agreement`.
    """
    target, rule, rng = combine([found]), _rule_of(found), np.random.default_rng(seed)
    length = float(target.unigram.sum())
    unigram = target.unigram / length
    base = np.log(unigram)
    with one_blas_thread():
        along = directions(centred(vectors, unigram), unigram, _DIRECTIONS)
        tilt = np.log(topics_of_vectors(vectors, unigram, n_topics, 0)).T - base
        centre = rule.public_share * (tilt * unigram) @ along
        prior = Prior(base, along, centre, _FIRST_SPREAD, np.full(along.shape[1], _FIRST_SCALE))
        own = rule.start * rng.standard_normal((n_topics, len(base)))
        coordinates = centre + _START_OF_COORDINATES * rng.standard_normal(centre.shape)
        parameters = [own, *start_of_pairs(length, n_topics), coordinates]

        def slopes() -> list[Floats]:
            return _slopes(parameters, target, prior)

        for step in descend(parameters, slopes, n_steps, RATE, (1, 1, 1, 3)):
            if step % _EVERY == 0:
                tell(callback, "fitting topics to moments", step, n_steps)
                if rule.first_evidence <= step < _SETTLED * n_steps:
                    prior = _evidence(parameters, target, prior, rule)
        return _fitted(prior.logits(parameters), parameters[1], parameters[2], target.unigram)


def _slopes(parameters: list[Floats], target: Target, prior: Prior) -> list[Floats]:
    """Return the gradient in r, log S, log m and a; an infinite tau leaves the data's part alone."""
    own, log_pairs, log_weight, coordinates = parameters
    by_data = gradients([prior.logits(parameters), log_pairs, log_weight], target, prior.base, np.inf)
    by_logits, by_pairs, by_weight = by_data
    return [
        by_logits + own / prior.spread,
        by_pairs,
        by_weight,
        by_logits @ prior.along + (coordinates - prior.centre) / prior.scales,
    ]


def _evidence(parameters: list[Floats], target: Target, prior: Prior, rule: _Rule) -> Prior:
    """Return c and tau squared anew: what the parameters amount to, over how many of them the data determine."""
    own, log_pairs, log_weight, coordinates = parameters
    phi = softmax(prior.logits(parameters))
    pairs, weight = np.exp((log_pairs + log_pairs.T) / 2), np.exp(log_weight)
    slopes = ((pairs @ phi) ** 2).astype(np.float32)
    by_pairs = (target.pair_weight @ slopes.T).T.astype(np.float64)
    curvature = phi**2 * (by_pairs + weight[:, None] ** 2 * target.rate_weight)
    determined = max(float((curvature / (curvature + 1 / prior.spread)).sum()), 1e-3)
    spread = float(np.clip((own**2).sum() / determined, rule.least_spread, rule.largest_spread))
    block = np.arange(len(prior.scales)) // _BLOCK
    bent = curvature @ prior.along**2
    known = np.bincount(block, (bent / (bent + 1 / prior.scales)).sum(0))
    energy = np.bincount(block, ((coordinates - prior.centre) ** 2).sum(0))
    scales = np.clip(energy / np.maximum(known, 1e-3), _LEAST_SCALE, _LARGEST_SCALE)[block]
    return prior._replace(spread=spread, scales=scales)
