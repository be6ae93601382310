r"""One round: what every unit says about the topics now, as an integer sum over units.

For each document, theta takes a few steps from its own last state, with the topics of the last release held
fixed. A token is told its topic by the *other* tokens of its document: its own share of theta is left out,

.. math:: r^{\mathrm{own}}_{wk} = \frac{\theta_k \phi_{kw}}{\sum_j \theta_j \phi_{jw}}, \qquad
          r_{wk} \propto \max(\theta_k - r^{\mathrm{own}}_{wk}, \alpha)\, \phi_{kw}, \qquad
          \theta_k \leftarrow \alpha + \sum_w c_w r_{wk} .

(The first step of a round takes :math:`r = r^{\mathrm{own}}`: theta does not hold shares under these topics yet.)
Without that a word of a short document mostly confirms the topic it already has.

Without noise, r and theta are those of *expectation propagation*. A document's theta, the parameters of a Dirichlet
over topics, is alpha and what each of its tokens adds, the token's site :math:`\beta_w`. A token leaves its own site
out: what remains, :math:`\gamma = \theta - \beta_w`, gives its
responsibilities :math:`r_k \propto \gamma_k \phi_{kw}`. If the token is of topic k, theta is :math:`\gamma + e_k`;
so the new theta is given the mean and the mean square of the mixture of these Dirichlets with weights r. With
:math:`x = \gamma + r, S = \sum x_k, T = \sum x_k (S - x_k), U = \sum r_k (1 - r_k)` that is

.. math:: \theta = x \, (T - U) / (T + S U), \qquad \beta_w \leftarrow \theta - \gamma .

A token whose topic is open, U > 0, adds less than a token of a known topic. CVB0 takes each for a full one; its
responsibilities are further from the posterior's, and topics drift away from those that describe new texts as rounds
are added.

A unit's statistic is :math:`s_{wk} = \omega_w \sum_d c_{dw}^a\, r_{dwk}` over its documents, r the responsibilities
at the last theta and omega public weights of the words. It is divided by a public bound B and clipped, that is, scaled
to norm 1 where it is longer. With a near 1/2 and a B below what most units have, every unit is heard as loudly as loud
noise allows, long ones less than they say; with a = 1 and a B that nearly nobody reaches the sum is that of expected
counts, as expectation-maximisation without privacy takes it.

*Unit, neighbours*: a document, or all documents of a person, added or removed. *Released*: nothing here; the sum
goes to the gate. *Sensitivity*: 1 in L2, in units of B where there is one. Theta and r, own share left out or not, are
functions of the one document, its own last theta, public settings and earlier releases; theta is never released; a is
public, and B follows from earlier releases. So a unit's vector depends on no other unit, and it is placed
on the lattice with norm at most 1 whatever it holds, before it is added to others. The norm is that of all cells of the
unit together, because each cell gets noise of one size. *Event*: the gate's.

Kernels copy a document's rows of the topics twice, by word and by topic, so that all loops run along memory
and none adds up along itself: vector code without reordering sums, the same bytes on every run.

References
----------
Asuncion, Welling, Smyth, Teh, "On smoothing and inference for topic models", UAI 2009, arXiv:1205.2662 (CVB0, which
leaves a token's own share out).
Minka, Lafferty, "Expectation-propagation for the generative aspect model", UAI 2002, arXiv:1301.0588.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from discreet._base.kernels import kernel
from discreet.central.sums.units import ShardedUnits, Units, add_unit, empty_rows, row_at, sum_of_kernel
from discreet.engines import StateStore
from discreet.privacy.mechanism import BITS

#: Of documents in memory; or beside their shards.
Theta = NDArray[np.float32] | StateStore
_TOLERANCE = np.float32(0.01)


class Contribution(NamedTuple):
    """How a unit's statistic is made and bounded; public."""

    #: Power of a word's count.
    exponent: float
    #: L2 norm to which a longer statistic is clipped.
    bound: float
    #: Theta by expectation propagation.
    matched: bool = False
    #: The lattice has steps of 2**-bits, in units of the bound. Placing rounds toward zero: where the bound is far
    #: above what a word weighs, steps must be finer, or small responsibilities are lost.
    bits: int = BITS

    def in_words(self) -> str:
        """Say what a unit gives to each round, for the settings of a release."""
        power = "counts" if self.exponent == 1 else f"counts to the power {self.exponent:.3g}"
        return f"{power}, clipped to norm {self.bound:g}"


def initial_theta(units: Units | ShardedUnits, n_topics: int, doc_topic_prior: float) -> Theta:
    """Return the theta every document starts from: even, with as much weight as the document has distinct words.

    (n_documents, n_topics), float32. Private, and never released. Of units in shards it stays beside each shard.
    """
    if isinstance(units, ShardedUnits):
        return units.start(initial_theta, n_topics, doc_topic_prior)
    sizes = np.diff(units.indptr).astype(np.float32)
    even = sizes / np.float32(n_topics) + np.float32(doc_topic_prior)
    return np.repeat(even[:, None], n_topics, axis=1)


def round_sum(
    units: Units | ShardedUnits,
    theta: Theta,
    word_topic: NDArray[np.float64],
    word_weights: NDArray[np.float64],
    doc_topic_prior: float,
    n_steps: int,
    contribution: Contribution,
    n_jobs: int | None = None,
) -> NDArray[np.int64]:
    """Update theta in place and return the sum over units of the statistic, (n_words, n_topics) int64.

    It is in lattice steps of 2**-``contribution.bits``, in units of the bound. ``theta``: each document's state,
    float32; ``word_topic``: topics as last released, columns sum to 1; ``word_weights``: public, omega; ``n_steps``:
    most steps for a document. The result does not depend on the threads.
    """
    topics = np.ascontiguousarray(word_topic, dtype=np.float32)
    if isinstance(units, ShardedUnits):
        assert isinstance(theta, StateStore)
        return units.step(theta, round_sum, topics, word_weights, doc_topic_prior, n_steps, contribution)
    # This rounds, which is harmless: the integers' norm is what is enforced.
    weights = np.ascontiguousarray(word_weights, dtype=np.float64) / contribution.bound
    prior, exponent = np.float32(doc_topic_prior), float(contribution.exponent)
    how, room = contribution._replace(exponent=exponent), units.most_entries
    rest = (theta, topics, weights, prior, n_steps, how, room)
    return sum_of_kernel(_round, units, topics.shape, n_jobs, *rest)


@kernel()
def fit_theta(
    state: Any,
    n: int,
    by_word: NDArray[np.float32],
    by_topic: NDArray[np.float32],
    counts: NDArray[np.float32],
    prior: np.float32,
    n_steps: int,
    inverse: NDArray[np.float32],
    others: NDArray[np.float32],
    gains: NDArray[np.float32],
) -> None:
    """Take steps for one document; ``inverse`` and ``others`` are then those of :func:`_weigh` at the new theta."""
    k_topics = state.shape[0]
    zero = np.float32(0.0)
    for step in range(n_steps):
        _weigh(state, n, by_topic, prior, inverse, others)
        for k in range(k_topics):
            gains[k] = zero
        for i in range(n):
            ratio, own = counts[i] * inverse[i], zero
            if step > 0:
                ratio, own = counts[i] / others[i], inverse[i]
            for k in range(k_topics):
                probability = by_word[i, k]
                rest = state[k] - state[k] * probability * own
                gains[k] += ratio * (max(rest, prior) if step > 0 else rest) * probability
        change, total = zero, zero
        for k in range(k_topics):
            new = prior + gains[k]
            change += abs(new - state[k])
            total += new
            state[k] = new
        if step > 0 and change < _TOLERANCE * total:
            break
    _weigh(state, n, by_topic, prior, inverse, others)


@kernel()
def _weigh(
    state: Any,
    n: int,
    by_topic: NDArray[np.float32],
    prior: np.float32,
    inverse: NDArray[np.float32],
    others: NDArray[np.float32],
) -> None:
    """Weigh each word: ``1 / (theta . phi_w)``, and the same product with the word's own share left out of theta."""
    k_topics = state.shape[0]
    for i in range(n):
        inverse[i] = np.float32(1e-20)
        others[i] = np.float32(1e-20)
    for k in range(k_topics):
        weight = state[k]
        for i in range(n):
            inverse[i] += weight * by_topic[k, i]
    for i in range(n):
        inverse[i] = np.float32(1.0) / inverse[i]
    for k in range(k_topics):
        weight = state[k]
        for i in range(n):
            probability = by_topic[k, i]
            others[i] += max(weight - weight * probability * inverse[i], prior) * probability


@kernel()
def match_moments(
    state: Any,
    n: int,
    by_word: NDArray[np.float32],
    counts: NDArray[np.float32],
    prior: np.float32,
    n_steps: int,
    sites: NDArray[np.float32],
    others: NDArray[np.float32],
    room: NDArray[np.float32],
) -> None:
    """Propagate expectations for one document; its words' responsibilities are then ``sites`` over ``others``.

    Sites begin as the shares under the last theta. Each of a word's tokens has the word's site. ``room`` has five rows
    of n_topics.
    """
    k_topics = state.shape[0]
    one, tiny = np.float32(1.0), np.float32(1e-20)
    rest, shares, open_, spread, moved = room[0], room[1], room[2], room[3], room[4]
    for i in range(n):
        for k in range(k_topics):
            sites[i, k] = state[k] * by_word[i, k]
        scale = one / (_sum(sites[i], k_topics) + tiny)
        for k in range(k_topics):
            sites[i, k] *= scale
    for k in range(k_topics):
        state[k] = prior
    for i in range(n):
        for k in range(k_topics):
            state[k] += counts[i] * sites[i, k]
    for _ in range(n_steps):
        for k in range(k_topics):
            moved[k] = np.float32(0.0)
        for i in range(n):
            count, site, likely = counts[i], sites[i], by_word[i]
            for k in range(k_topics):
                rest[k] = max(state[k] - site[k], prior)
                shares[k] = rest[k] * likely[k]
            size = _sum(rest, k_topics) + one
            scale = one / (_sum(shares, k_topics) + tiny)
            for k in range(k_topics):
                share = shares[k] * scale
                new = rest[k] + share
                shares[k] = new
                open_[k] = share * (one - share)
                spread[k] = new * (size - new)
            doubt, width = _sum(open_, k_topics), _sum(spread, k_topics)
            below = width + size * doubt
            sure = (width - doubt) / below if below > tiny else one
            least = one / count
            for k in range(k_topics):
                step = sure * shares[k] - rest[k] - site[k]
                step = max(step, (prior - state[k]) * least)
                site[k] += step
                state[k] = max(state[k] + count * step, prior)
                moved[k] += abs(count * step)
        if _sum(moved, k_topics) < _TOLERANCE * _sum(state, k_topics):
            break
    for i in range(n):
        for k in range(k_topics):
            sites[i, k] = max(state[k] - sites[i, k], prior) * by_word[i, k]
        others[i] = _sum(sites[i], k_topics) + tiny


@kernel()
def _sum(values: Any, n: int) -> Any:
    """Add up in four lanes, always the same ones: as fast as vector code may be that does not reorder sums."""
    a, b, c, d = np.float32(0.0), np.float32(0.0), np.float32(0.0), np.float32(0.0)
    whole = n - n % 4
    for k in range(0, whole, 4):
        a += values[k]
        b += values[k + 1]
        c += values[k + 2]
        d += values[k + 3]
    for k in range(whole, n):
        a += values[k]
    return (a + b) + (c + d)


@kernel()
def _round(
    units: Any,
    low: int,
    high: int,
    theta: NDArray[np.float32],
    topics: NDArray[np.float32],
    weights: NDArray[np.float64],
    prior: np.float32,
    n_steps: int,
    how: Any,
    room: int,
    out: NDArray[np.int64],
) -> None:
    n_words, k_topics = topics.shape
    by_word = np.empty((room, k_topics), np.float32)
    by_topic = np.empty((k_topics, room), np.float32)
    inverse = np.empty(room, np.float32)
    others = np.empty(room, np.float32)
    gains = np.empty(k_topics, np.float32)
    sites = np.empty((room if how.matched else 0, k_topics), np.float32)
    spare = np.empty((5, k_topics), np.float32)
    gathered = empty_rows(n_words, room, k_topics)
    for unit in range(low, high):
        n_rows = 0
        for document in range(units.starts[unit], units.starts[unit + 1]):
            begin, n = units.indptr[document], units.indptr[document + 1] - units.indptr[document]
            if n == 0:
                continue
            words, counts = units.words[begin : begin + n], units.counts[begin : begin + n]
            state = theta[document]
            for i in range(n):
                row = topics[words[i]]
                for k in range(k_topics):
                    by_word[i, k] = row[k]
                if not how.matched:
                    for k in range(k_topics):
                        by_topic[k, i] = row[k]
            if how.matched:
                match_moments(state, n, by_word, counts, prior, n_steps, sites, others, spare)
            else:
                fit_theta(state, n, by_word, by_topic, counts, prior, n_steps, inverse, others, gains)
            for i in range(n):
                at = row_at(gathered, words[i], n_rows, k_topics)
                n_rows = max(n_rows, at + 1)
                values = gathered.values[at * k_topics : (at + 1) * k_topics]
                scale = weights[words[i]] * np.float64(counts[i]) ** how.exponent / np.float64(others[i])
                if how.matched:
                    for k in range(k_topics):
                        values[k] += scale * np.float64(sites[i, k])
                    continue
                for k in range(k_topics):
                    probability = by_word[i, k]
                    rest = max(state[k] - state[k] * probability * inverse[i], prior)
                    values[k] += scale * np.float64(rest * probability)
        add_unit(gathered, n_rows, k_topics, how.bits, False, out)
