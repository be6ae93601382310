r"""Expectation propagation: which topics a document has, where no noise hides how well that is told.

A document's theta, the parameters of a Dirichlet over topics, is alpha and what each of its tokens adds, the token's
site :math:`\beta_w`. A token leaves its own site out: what remains, :math:`\gamma = \theta - \beta_w`, gives its
responsibilities :math:`r_k \propto \gamma_k \phi_{kw}`. If the token is of topic k, theta is :math:`\gamma + e_k`;
so the new theta is given the mean and the mean square of the mixture of these Dirichlets with weights r. With
:math:`x = \gamma + r, S = \sum x_k, T = \sum x_k (S - x_k), U = \sum r_k (1 - r_k)` that is

.. math:: \theta = x \, (T - U) / (T + S U), \qquad \beta_w \leftarrow \theta - \gamma .

A token whose topic is open, U > 0, adds less than a token of a known topic. CVB0, the rule of rounds with noise
(:mod:`discreet.central.rounds.em_round`), takes each for a full one; its responsibilities are further from the
posterior's, and topics drift away from those that describe new texts as rounds are added.

*Guarantee*: theta is a function of the one document, of its last theta, of public settings and of topics that are
released, as in a round by the other rule. Nothing is released here.

Reference
---------
Minka, Lafferty, "Expectation-propagation for the generative aspect model", UAI 2002, arXiv:1301.0588.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet._kernels import kernel

__all__ = ["match_moments"]

_TOLERANCE = np.float32(0.01)


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
    shares: NDArray[np.float32],
) -> None:
    """Propagate expectations for one document; ``others`` is then what its words' responsibilities are divided by.

    Sites begin as the shares under the last theta. Each of a word's tokens has the word's site.
    """
    k_topics = state.shape[0]
    zero, one, tiny = np.float32(0.0), np.float32(1.0), np.float32(1e-20)
    for i in range(n):
        total = tiny
        for k in range(k_topics):
            sites[i, k] = state[k] * by_word[i, k]
            total += sites[i, k]
        for k in range(k_topics):
            sites[i, k] /= total
    for k in range(k_topics):
        state[k] = prior
    for i in range(n):
        for k in range(k_topics):
            state[k] += counts[i] * sites[i, k]
    for _ in range(n_steps):
        change = zero
        for i in range(n):
            size, total = zero, tiny
            for k in range(k_topics):
                rest = max(state[k] - sites[i, k], prior)
                shares[k] = rest * by_word[i, k]
                size += rest
                total += shares[k]
            size += one
            open_, spread = zero, zero
            for k in range(k_topics):
                rest = max(state[k] - sites[i, k], prior)
                share = shares[k] / total
                shares[k] = share
                open_ += share * (one - share)
                spread += (rest + share) * (size - (rest + share))
            below = spread + size * open_
            sure = (spread - open_) / below if below > zero else one
            for k in range(k_topics):
                rest = max(state[k] - sites[i, k], prior)
                step = sure * (rest + shares[k]) - rest - sites[i, k]
                step = max(step, (prior - state[k]) / counts[i])
                sites[i, k] += step
                state[k] = max(state[k] + counts[i] * step, prior)
                change += abs(counts[i] * step)
        total = zero
        for k in range(k_topics):
            total += state[k]
        if change < _TOLERANCE * total:
            break
    for i in range(n):
        others[i] = tiny
        for k in range(k_topics):
            others[i] += max(state[k] - sites[i, k], prior) * by_word[i, k]
