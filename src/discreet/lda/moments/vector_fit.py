r"""Topics from noisy moments where public word vectors say which words go together.

As :mod:`discreet.lda.moments.fit`, with another prior of the logits. With F the first d principal directions of the
vectors under the unigram :math:`u^0`, :math:`F^\top \mathrm{diag}(u^0) F = 1`,

.. math:: B_{kv} = \ln u^0_v + b_v + F_v a_k + r_{kv}, \qquad
          a_{kj} \sim N(\bar a_{kj}, \tau^2_j), \quad r_{kv} \sim N(0, c), \quad b_v \sim N(0, s_v^2) .

:math:`\tau^2` (one for each block of five directions) and c follow from the evidence, by MacKay's step with the
diagonal of the Gauss-Newton curvature: directions that explain nothing are switched off, and words go their own ways
as far as the reports say so. :math:`\bar a` is 0 where reports tell much. Where a bit is noisier than one document's
word (variance above .5) it is a share of the coordinates of topics made from the vectors alone. b is 0 for reports.
Where noise was added to sums, s is the relative error of the unigram, which pairs of words then correct, and c is .2
at least.

Wrong vectors would do harm there. So they are asked first whether they know which words go together in *these* reports
(:func:`agreement`); where they do not, topics are fitted without them. Everything is computed from reports and public
vectors: post-processing.

References
----------
MacKay, "Bayesian interpolation", Neural Computation 1992, doi:10.1162/neco.1992.4.3.415 (the evidence step).
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from discreet._progress import Callback, tell
from discreet._threads import one_blas_thread
from discreet.lda.moments.estimates import Estimates
from discreet.lda.moments.fit import (
    N_STEPS,
    RATE,
    MomentTopics,
    Target,
    adam,
    combine,
    gradients,
    softmax,
    start_of_pairs,
)
from discreet.lda.moments.marchenko_pastur import whitened
from discreet.lda.moments.noisy import NoisyMoments
from discreet.lda.word_space.directions import centred, directions
from discreet.lda.word_space.public_topics import topics_of_vectors

__all__ = ["LEAST_AGREEMENT", "agreement", "fit_topics_with_vectors"]

Floats = NDArray[np.float64]
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


class _Rule(NamedTuple):
    """How to begin, by how noisy the reports are."""

    start: float
    first_evidence: int
    least_spread: float
    largest_spread: float
    public_share: float
    #: How far the unigram itself may be off, at most: variance of its logarithm.
    doubt: float = 0.0


_MUCH, _SOME = _Rule(0.5, 100, 0.003, 1.0, 0.0), _Rule(0.15, 25, 0.1, 0.3, 0.6)
_LITTLE = _SOME._replace(largest_spread=0.5)
#: Of sums to which noise was added, whose pairs tell more of the unigram than it does itself.
_NOISY_SUMS = _Rule(0.15, 25, 0.2, 0.5, 0.6, doubt=1.0)


def _rule_of(found: Estimates | NoisyMoments) -> _Rule:
    if isinstance(found, NoisyMoments):
        return _NOISY_SUMS
    if found.noise > _NOISY:
        return _LITTLE if found.noise > _VERY_NOISY else _SOME
    return _MUCH


def agreement(found: Estimates | NoisyMoments, vectors: Floats) -> float:
    """Return how far above chance the vectors know which words go together in the reports, in standard deviations.

    The whitened covariance of the reports (whose noise is the same in every cell) is multiplied by the cosines of the
    words' vectors and summed over pairs; the same with vectors dealt to other words is what chance gives.

    Parameters
    ----------
    found : Estimates or NoisyMoments
    vectors : array of shape (n_words, n_dimensions)
        Rows of NaN for words without one.
    """
    known = np.flatnonzero(np.isfinite(vectors.sum(1)))
    if len(known) < 3:
        return 0.0
    with one_blas_thread():
        rates = np.clip(found.rates, 1e-4, 0.999)
        pointing = centred(vectors, rates / rates.sum())[known]
        pointing /= np.maximum(np.linalg.norm(pointing, axis=1, keepdims=True), 1e-12)
        cosines = pointing @ pointing.T
        cells = found.dependence() if isinstance(found, NoisyMoments) else whitened(found)[0]
        cells = cells[np.ix_(known, known)]
        rng = np.random.default_rng(0)
        shuffled: list[float] = []
        for _ in range(_SHUFFLES):
            order = rng.permutation(len(known))
            shuffled.append(float(np.vdot(cells, cosines[np.ix_(order, order)])))
    spread = float(np.std(shuffled, ddof=1))
    return (float(np.vdot(cells, cosines)) - float(np.mean(shuffled))) / max(spread, 1e-12)


def fit_topics_with_vectors(
    found: Estimates | NoisyMoments,
    vectors: Floats,
    n_topics: int,
    seed: int,
    *,
    n_steps: int = N_STEPS,
    callback: Callback | None = None,
) -> MomentTopics:
    """Fit topics to the moments of reports, with what vectors say as the prior.

    Parameters
    ----------
    found : Estimates or NoisyMoments
    vectors : array of shape (n_words, n_dimensions)
        Rows of NaN for words without one.
    n_topics : int
    seed : int
        Of the starting point.
    n_steps : int
    callback : callable, optional
    """
    with one_blas_thread():
        return _descend(found, vectors, n_topics, np.random.default_rng(seed), n_steps, callback)


def _descend(
    found: Estimates | NoisyMoments,
    vectors: Floats,
    n_topics: int,
    rng: np.random.Generator,
    n_steps: int,
    callback: Callback | None,
) -> MomentTopics:
    target, rule = combine([found]), _rule_of(found)
    length = float(target.unigram.sum())
    unigram = target.unigram / length
    base = np.log(unigram)
    along = directions(centred(vectors, unigram), unigram, _DIRECTIONS)
    tilt = np.log(topics_of_vectors(vectors, unigram, n_topics, 0)).T - base
    centre = rule.public_share * (tilt * unigram) @ along
    spread, scales = _FIRST_SPREAD, np.full(along.shape[1], _FIRST_SCALE)
    own = rule.start * rng.standard_normal((n_topics, len(base)))
    coordinates = centre + _START_OF_COORDINATES * rng.standard_normal(centre.shape)
    doubt = np.minimum(1 / (target.rate_weight * target.unigram**2), rule.doubt)
    parameters = [own, *start_of_pairs(length, n_topics), coordinates, np.zeros(len(base))]
    means = [np.zeros_like(values) for values in parameters]
    squares = [np.zeros_like(values) for values in parameters]
    for step in range(1, n_steps + 1):
        slopes = _slopes(parameters, target, base, along, centre, spread, scales, doubt)
        rate = RATE * min(1.0, 2.5 * (1 - step / (n_steps + 1)))
        rates = (rate, rate, rate, rate / 3, rate)
        for values, slope, mean, square, each in zip(parameters, slopes, means, squares, rates, strict=True):
            adam(values, slope, mean, square, each, step)
        if step % _EVERY == 0:
            tell(callback, "fitting topics to moments", step, n_steps)
            if rule.first_evidence <= step < _SETTLED * n_steps:
                spread, scales = _evidence(parameters, target, base, along, centre, spread, scales, rule)
    own, log_pairs, log_weight, coordinates, shift = parameters
    logits, weight = base + shift + coordinates @ along.T + own, np.exp(log_weight)
    _, loss = gradients([logits, log_pairs, log_weight], target, base, np.inf)
    pairs = np.exp((log_pairs + log_pairs.T) / 2)
    return MomentTopics(softmax(logits), weight / weight.sum(), pairs, target.unigram, loss)


def _slopes(
    parameters: list[Floats],
    target: Target,
    base: Floats,
    along: Floats,
    centre: Floats,
    spread: float,
    scales: Floats,
    doubt: Floats,
) -> list[Floats]:
    """Return the gradient in r, log S, log m, a and b; an infinite tau leaves the data's part alone."""
    own, log_pairs, log_weight, coordinates, shift = parameters
    logits = base + shift + coordinates @ along.T + own
    (by_logits, by_pairs, by_weight), _ = gradients([logits, log_pairs, log_weight], target, base, np.inf)
    return [
        by_logits + own / spread,
        by_pairs,
        by_weight,
        by_logits @ along + (coordinates - centre) / scales,
        np.where(doubt > 0, by_logits.sum(0) + shift / np.maximum(doubt, 1e-12), 0.0),
    ]


def _evidence(
    parameters: list[Floats],
    target: Target,
    base: Floats,
    along: Floats,
    centre: Floats,
    spread: float,
    scales: Floats,
    rule: _Rule,
) -> tuple[float, Floats]:
    """Return c and tau squared anew: what the parameters amount to, over how many of them the data determine."""
    own, log_pairs, log_weight, coordinates, shift = parameters
    phi = softmax(base + shift + coordinates @ along.T + own)
    pairs, weight = np.exp((log_pairs + log_pairs.T) / 2), np.exp(log_weight)
    slopes = ((pairs @ phi) ** 2).astype(np.float32)
    curvature = phi**2 * (
        (target.pair_weight @ slopes.T).T.astype(np.float64) + weight[:, None] ** 2 * target.rate_weight
    )
    determined = float((curvature / (curvature + 1 / spread)).sum())
    fresh = float(np.clip((own**2).sum() / max(determined, 1e-3), rule.least_spread, rule.largest_spread))
    block = np.arange(len(scales)) // _BLOCK
    bent = curvature @ along**2
    known = np.bincount(block, (bent / (bent + 1 / scales)).sum(0))
    energy = np.bincount(block, ((coordinates - centre) ** 2).sum(0))
    return fresh, np.clip(energy / np.maximum(known, 1e-3), _LEAST_SCALE, _LARGEST_SCALE)[block]
