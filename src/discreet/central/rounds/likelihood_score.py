r"""A score of candidate topics: how much better they describe the documents than the first candidate does.

Each document's theta takes a few steps under each candidate, always from the same even state, and then each token is
guessed from the *others* of its document, as in :mod:`discreet.central.rounds.em_round`, so that topics gain nothing by
a token that they learnt from itself:

.. math:: l_d(\phi) = \frac{1}{N_d} \sum_w c_{dw} \log \frac{\sum_k \rho_{wk}\, \phi_{kw}}{\sum_k \rho_{wk}}, \qquad
          \rho_{wk} = \max(\theta_k - r^{\mathrm{own}}_{wk}, \alpha) .

With candidates :math:`\phi_0, ..., \phi_m` a document has the vector of
:math:`\mathrm{clip}(l_d(\phi_j) - l_d(\phi_0), -c, c) / c`, j = 1 to m, in nats *a token*: a long document says no more
than a short one. A unit has the mean over its documents of two tokens and more (with one there is no other to guess
from), clipped to norm 1; a unit without any adds nothing.

*Unit, neighbours*: a document, or all documents of a person, added or removed. *Released*: nothing here; the sum goes
to the gate, and the choice reads what comes out of it. *Sensitivity*: 1 in L2. Candidates are released numbers, or
computed from such; alpha, c and the number of steps are public; theta starts from nothing but the document's own number
of words, and neither it nor a likelihood is kept. So a unit's vector is a function of its own documents and of what
every unit is asked alike, and ``place_l2`` puts it on the lattice with norm at most 1, whatever it holds. *Event*: the
gate's.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet._kernels import kernel
from discreet.central.rounds.em_round import fit_theta
from discreet.central.rounds.sharded_units import ShardedUnits
from discreet.central.rounds.thread_sums import sum_over_pieces
from discreet.central.rounds.units import Units
from discreet.privacy.bound import place_l2
from discreet.privacy.shared_gaussian import BITS

__all__ = ["REACH", "score_sum"]

#: c, in nats a token.
REACH = 0.5
_STEPS = 20


def score_sum(
    units: Units | ShardedUnits,
    candidates: NDArray[np.float64],
    doc_topic_prior: float,
    n_jobs: int | None = None,
    reach: float = REACH,
) -> NDArray[np.int64]:
    """Return the sum over units of what each candidate gains on the first.

    Parameters
    ----------
    units : Units or ShardedUnits
    candidates : array of shape (1 + m, n_words, n_topics)
        Topics; columns of each sum to 1.
    doc_topic_prior : float
    n_jobs : int, optional
        Threads; the result does not depend on it.
    reach : float, default 0.5
        c: what a document gains or loses at most, in nats a token.

    Returns
    -------
    array of shape (m,), int64
        In lattice steps of 2**-BITS, in units of ``reach``.
    """
    topics = np.ascontiguousarray(candidates, dtype=np.float32)
    if isinstance(units, ShardedUnits):
        return units.sum(score_sum, topics, doc_topic_prior, None, reach)
    longest = int(np.diff(units.indptr).max(initial=1))

    def work(cuts: tuple[int, int]) -> NDArray[np.int64]:
        out = np.zeros(len(topics) - 1, np.int64)
        _score(
            units.starts,
            units.indptr,
            units.words,
            units.counts,
            *cuts,
            topics,
            np.float32(doc_topic_prior),
            float(reach),
            _STEPS,
            BITS,
            longest,
            out,
        )
        return out

    return sum_over_pieces(work, units, n_jobs)


@kernel()
def _nats(
    state: NDArray[np.float32],
    n: int,
    by_topic: NDArray[np.float32],
    counts: Any,
    prior: np.float32,
    inverse: NDArray[np.float32],
    others: NDArray[np.float32],
) -> float:
    """Return the log likelihood of a document, each token guessed from the others, from what ``fit_theta`` left."""
    total = 0.0
    for i in range(n):
        weight = 0.0
        for k in range(state.shape[0]):
            own = state[k] * by_topic[k, i] * inverse[i]
            weight += np.float64(max(state[k] - own, prior))
        total += np.float64(counts[i]) * np.log(np.float64(others[i]) / weight)
    return total


@kernel()
def _score(
    starts: NDArray[np.int64],
    indptr: NDArray[np.int64],
    words: NDArray[np.int32],
    counts: NDArray[np.float32],
    low: int,
    high: int,
    candidates: NDArray[np.float32],
    prior: np.float32,
    reach: float,
    n_steps: int,
    bits: int,
    room: int,
    out: NDArray[np.int64],
) -> None:
    n_candidates, _, k_topics = candidates.shape
    by_word = np.empty((room, k_topics), np.float32)
    by_topic = np.empty((k_topics, room), np.float32)
    inverse, others = np.empty(room, np.float32), np.empty(room, np.float32)
    state, gains = np.empty(k_topics, np.float32), np.empty(k_topics, np.float32)
    gained, placed = np.empty(n_candidates - 1, np.float64), np.empty(n_candidates - 1, np.int64)
    for unit in range(low, high):
        gained[:] = 0.0
        n_scored = 0
        for document in range(starts[unit], starts[unit + 1]):
            begin, n = indptr[document], indptr[document + 1] - indptr[document]
            own = counts[begin : begin + n]
            tokens = 0.0
            for i in range(n):
                tokens += np.float64(own[i])
            if tokens < 2:
                continue
            n_scored += 1
            first = 0.0
            for candidate in range(n_candidates):
                for i in range(n):
                    row = candidates[candidate, words[begin + i]]
                    for k in range(k_topics):
                        by_word[i, k] = row[k]
                        by_topic[k, i] = row[k]
                state[:] = np.float32(n) / np.float32(k_topics) + prior
                fit_theta(state, n, by_word, by_topic, own, prior, n_steps, inverse, others, gains)
                nats = _nats(state, n, by_topic, own, prior, inverse, others) / tokens
                if candidate == 0:
                    first = nats
                else:
                    gained[candidate - 1] += min(max((nats - first) / reach, -1.0), 1.0)
        if n_scored:
            for j in range(n_candidates - 1):
                gained[j] /= n_scored
            place_l2(gained, n_candidates - 1, bits, False, placed)
            for j in range(n_candidates - 1):
                out[j] += placed[j]
