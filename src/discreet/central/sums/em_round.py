r"""One round: what every unit says about the topics now, as an integer sum over units.

For each document, theta takes a few steps from its own last state, with the topics of the last release held
fixed. A token is told its topic by the *other* tokens of its document: its own share of theta is left out,

.. math:: r^{\mathrm{own}}_{wk} = \frac{\theta_k \phi_{kw}}{\sum_j \theta_j \phi_{jw}}, \qquad
          r_{wk} \propto \max(\theta_k - r^{\mathrm{own}}_{wk}, \alpha)\, \phi_{kw}, \qquad
          \theta_k \leftarrow \alpha + \sum_w c_w r_{wk} .

(The first step of a round takes :math:`r = r^{\mathrm{own}}`: theta does not hold shares under these topics yet.)
Without that a word of a short document mostly confirms the topic it already has.

Without noise, r and theta are those of expectation propagation (:mod:`discreet.central.sums.matched_moments`).

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

Reference
---------
Asuncion, Welling, Smyth, Teh, "On smoothing and inference for topic models", UAI 2009, arXiv:1205.2662 (CVB0, which
leaves a token's own share out).
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from discreet._base.kernels import kernel
from discreet.central.sums.matched_moments import match_moments
from discreet.central.sums.units import ShardedUnits, Units, sum_over_pieces
from discreet.engines import StateStore
from discreet.privacy.bound import place_l2
from discreet.privacy.mechanism import BITS

#: Of documents in memory; or beside their shards.
Theta = NDArray[np.float32] | StateStore
_TOLERANCE = np.float32(0.01)


class Contribution(NamedTuple):
    """How a unit's statistic is made and bounded; public.

    Attributes
    ----------
    exponent : float
        Power of a word's count.
    bound : float
        L2 norm to which a longer statistic is clipped.
    matched : bool
        Theta by expectation propagation.
    bits : int
        The lattice has steps of 2**-bits, in units of the bound. Placing rounds toward zero: where the bound is far
        above what a word weighs, steps must be finer, or small responsibilities are lost.
    """

    exponent: float
    bound: float
    matched: bool = False
    bits: int = BITS

    def in_words(self) -> str:
        """Say what a unit gives to each round, for the settings of a release."""
        power = "counts" if self.exponent == 1 else f"counts to the power {self.exponent:.3g}"
        return f"{power}, clipped to norm {self.bound:g}"


def initial_theta(units: Units | ShardedUnits, n_topics: int, doc_topic_prior: float) -> Theta:
    """Return the theta every document starts from: even, with as much weight as the document has distinct words.

    Returns
    -------
    array of shape (n_documents, n_topics), float32. Private, and never released. Of units in shards it stays beside
    each shard.
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
    """Update theta in place and return the sum over units of the statistic.

    Parameters
    ----------
    units : Units or ShardedUnits
    theta : array of shape (n_documents, n_topics), float32, or StateStore
        Each document's state; changed.
    word_topic : array of shape (n_words, n_topics)
        Topics as last released; columns sum to 1.
    word_weights : array of shape (n_words,)
        Public weights omega.
    doc_topic_prior : float
    n_steps : int
        Most EM steps for a document.
    contribution : Contribution
        How each unit's statistic is bounded.
    n_jobs : int, optional
        Threads; the result does not depend on it.

    Returns
    -------
    array of shape (n_words, n_topics), int64
        In lattice steps of 2**-``contribution.bits``, in units of the bound.
    """
    topics = np.ascontiguousarray(word_topic, dtype=np.float32)
    if isinstance(units, ShardedUnits):
        assert isinstance(theta, StateStore)
        public = (topics, word_weights, doc_topic_prior, n_steps, contribution)
        return units.step(theta, round_sum, *public)
    weights = np.ascontiguousarray(word_weights, dtype=np.float64)
    weights = (
        weights / contribution.bound
    )  # rounds, which is harmless: the integers' norm is what is enforced
    longest = _most_entries(units)

    def work(bounds: tuple[int, int]) -> NDArray[np.int64]:
        out = np.zeros(topics.shape, np.int64)
        _round(
            units.starts,
            units.indptr,
            units.words,
            units.counts,
            *bounds,
            theta,
            topics,
            weights,
            np.float32(doc_topic_prior),
            n_steps,
            float(contribution.exponent),
            contribution.matched,
            contribution.bits,
            longest,
            out,
        )
        return out

    return sum_over_pieces(work, units, n_jobs)


def _most_entries(units: Units) -> int:
    """Room for the longest document's entries, and for a unit's distinct words."""
    longest = int(np.diff(units.indptr).max(initial=1))
    widest = int(np.diff(units.entry_starts).max(initial=1))
    return max(longest, min(widest, units.n_words), 1)


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
def _round(
    starts: NDArray[np.int64],
    indptr: NDArray[np.int64],
    words: NDArray[np.int32],
    counts: NDArray[np.float32],
    low: int,
    high: int,
    theta: NDArray[np.float32],
    topics: NDArray[np.float32],
    weights: NDArray[np.float64],
    prior: np.float32,
    n_steps: int,
    exponent: float,
    matched: bool,
    bits: int,
    room: int,
    out: NDArray[np.int64],
) -> None:
    n_words, k_topics = topics.shape
    by_word = np.empty((room, k_topics), np.float32)
    by_topic = np.empty((k_topics, room), np.float32)
    inverse = np.empty(room, np.float32)
    others = np.empty(room, np.float32)
    gains = np.empty(k_topics, np.float32)
    sites = np.empty((room if matched else 0, k_topics), np.float32)
    spare = np.empty((5, k_topics), np.float32)
    slot_of = np.full(n_words, -1, np.int64)
    seen = np.empty(room, np.int64)
    values = np.empty(room * k_topics, np.float64)
    placed = np.empty(room * k_topics, np.int64)
    for unit in range(low, high):
        n_seen = 0
        for document in range(starts[unit], starts[unit + 1]):
            begin, n = indptr[document], indptr[document + 1] - indptr[document]
            if n == 0:
                continue
            for i in range(n):
                row = topics[words[begin + i]]
                for k in range(k_topics):
                    by_word[i, k] = row[k]
                if not matched:
                    for k in range(k_topics):
                        by_topic[k, i] = row[k]
            state = theta[document]
            own = counts[begin : begin + n]
            if matched:
                match_moments(state, n, by_word, own, prior, n_steps, sites, others, spare)
            else:
                fit_theta(state, n, by_word, by_topic, own, prior, n_steps, inverse, others, gains)
            for i in range(n):
                word = words[begin + i]
                slot = slot_of[word]
                if slot < 0:
                    slot = n_seen
                    slot_of[word] = slot
                    seen[slot] = word
                    n_seen += 1
                    for k in range(k_topics):
                        values[slot * k_topics + k] = 0.0
                count = np.float64(counts[begin + i])
                scale = weights[word] * count**exponent / np.float64(others[i])
                if matched:
                    for k in range(k_topics):
                        values[slot * k_topics + k] += scale * np.float64(sites[i, k])
                    continue
                for k in range(k_topics):
                    probability = by_word[i, k]
                    rest = max(state[k] - state[k] * probability * inverse[i], prior)
                    values[slot * k_topics + k] += scale * np.float64(rest * probability)
        place_l2(values, n_seen * k_topics, bits, False, placed)
        for slot in range(n_seen):
            word = seen[slot]
            slot_of[word] = -1
            for k in range(k_topics):
                out[word, k] += placed[slot * k_topics + k]
