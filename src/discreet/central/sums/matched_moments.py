r"""Expectation propagation: which topics a document has, where no noise hides how well that is told.

A document's theta, the parameters of a Dirichlet over topics, is alpha and what each of its tokens adds, the token's
site :math:`\beta_w`. A token leaves its own site out: what remains, :math:`\gamma = \theta - \beta_w`, gives its
responsibilities :math:`r_k \propto \gamma_k \phi_{kw}`. If the token is of topic k, theta is :math:`\gamma + e_k`;
so the new theta is given the mean and the mean square of the mixture of these Dirichlets with weights r. With
:math:`x = \gamma + r, S = \sum x_k, T = \sum x_k (S - x_k), U = \sum r_k (1 - r_k)` that is

.. math:: \theta = x \, (T - U) / (T + S U), \qquad \beta_w \leftarrow \theta - \gamma .

A token whose topic is open, U > 0, adds less than a token of a known topic. CVB0, the rule of rounds with noise
(:mod:`discreet.central.sums.em_round`), takes each for a full one; its responsibilities are further from the
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

from discreet._base.kernels import kernel

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
