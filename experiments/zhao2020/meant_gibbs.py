r"""HDP-LDA of Zhao et al. (2020) as meant: sweeps from frozen, clipped, noisy tables, all assignments released.

Sweep t: release :math:`s = \mathrm{clip}(n_{kw} + \text{fresh noise}, 0, C)`, n being the exact counts of the topics z
drawn before; freeze it; draw every token's topic once, document by document, in a fixed order, from

.. math:: p(z_{di} = k) \propto \frac{s_{kw} + \beta}{\sum_{w'} (s_{kw'} + \beta)}\,(n_{dk}^{-di} + \alpha).

Only the document side is live, and only there a token leaves itself out. The first topics are uniform. After T sweeps
one more table is released, and the topics are read from it. The library has the form that keeps assignments inside
(:mod:`discreet.central.word_level.hybrid_gibbs`), whose topics were better at every total.

Guarantee, with exact draws
---------------------------
*Unit*: word. *Neighbours*: one token's word is replaced by another; lengths and everything else stay. *Released*: the
T + 1 noisy tables **and all topics** :math:`z_0, z_1, \dots, z_T`, whoever may see them. *Sensitivity*, given what
was released before: a table's L1 distance is 2, its L2 distance :math:`\sqrt 2`. *Event*: T + 1 noise events and T
draws of range :math:`2L`, :math:`L = \ln(1 + C/\beta)`.

Proof. Take two neighbours, token (d, i) being w in one and w' in the other, and fix everything released so far.

*Start*: :math:`z_0` does not depend on words. *A table*: given z, the two exact tables differ in cells
:math:`(z_{di}, w)` and :math:`(z_{di}, w')`, by one each; clipping and normalising follow the release. The noise is
fresh and the sum exact: noise that stays in the counts, with more added each sweep, is a walk whose steps have L1
sensitivity 4.

*A sweep*: multiply the probabilities of :math:`z_1, z_2, \dots` in the order of drawing. Every token but (d, i) has
the same word, the same table and, given the topics before it, the same document counts in both corpora: its factor
cancels. There remains token (d, i), with :math:`p(k) = \phi_{kw} a_k / Z` against
:math:`p'(k) = \phi_{kw'} a_k / Z'`, and

.. math:: \ln\frac{p(k)}{p'(k)} = \ln\frac{\phi_{kw}}{\phi_{kw'}} + \ln\frac{Z'}{Z}.

The first term lies in :math:`[-L, L]`, since all entries of a topic lie within a factor :math:`1 + C/\beta` of each
other; the second does not depend on k. So the draw is a :math:`2L`-bounded-range mechanism: pure :math:`2L`, and the
factor 2 is tight.

*The order* must not depend on the words: replace one token's word where tokens stand word by word, and it moves to
another place, other tokens are drawn given other counts, and their laws differ, too. So each document's tokens are put
in a random order, once: neighbours' orders can be matched so that matched ones differ at one place, and the loss is
jointly (quasi-)convex. *Composition*: adaptive.

``tests/central/test_hybrid_gibbs_proof.py`` has the proof by enumeration, and takes its conditions away one at a time.
Draws here are in floating point, which the proof does not cover: this is for figures, not for release.

References: Zhao, Ren, Yang, Han, Zhao, Yang, arXiv:2010.04391, algorithm 1. Bounded range: Durfee, Rogers,
arXiv:1905.04273; its zCDP: Cesar, Rogers, arXiv:2010.13981.
"""

import math

import numpy as np
from numba import njit

from discreet import Ledger
from discreet.central.word_level.cost import total_epsilon
from discreet.privacy import SecureStream
from discreet.privacy.accounting import events
from discreet.privacy.accounting.curves import pure_epsilon, sort_events, zcdp_epsilon
from discreet.privacy.accounting.planning import solve
from discreet.privacy.bound import BoundedSum
from discreet.privacy.mechanism import GaussianMechanism
from discreet.privacy.row_sums import OneCellBound


@njit(cache=True)
def sweep(documents, words, topics, phi, by_document, alpha, digits):
    """Draw every token's topic once, the table ``phi``, (n_words, n_topics), staying as it is."""
    for token in range(len(words)):
        d, k = documents[token], topics[token]
        by_document[d, k] -= 1
        sums = np.cumsum(phi[words[token]] * (by_document[d] + alpha))
        k = min(np.searchsorted(sums, digits[token] * sums[-1], side="right"), phi.shape[1] - 1)
        topics[token] = k
        by_document[d, k] += 1


def chain(counts, n_topics, alpha, beta, clip, mechanism, n_sweeps, seed):
    """Yield (words of tokens, released table, topics) of each sweep, and at the end the last table with no upper cut.

    ``clip``: C, None for no cut from above; ``mechanism``: what noises a table.
    """
    rng, stream = np.random.default_rng(seed), SecureStream(seed)
    free = Ledger(math.inf, 1e-6, privacy_unit="word", neighboring="replace_one")
    reservation = free.reserve(events.non_private(), "an experiment")
    rows = counts.tocsr().tocoo()
    documents, words = np.repeat(rows.row, rows.data), np.repeat(rows.col, rows.data)
    words = words[np.lexsort((rng.random(len(words)), documents))]
    topics = rng.integers(n_topics, size=len(words))
    by_document = np.zeros((counts.shape[0], n_topics))
    np.add.at(by_document, (documents, topics), 1)
    for done in range(n_sweeps + 1):
        exact = np.zeros((counts.shape[1], n_topics), np.int64)
        np.add.at(exact, (words, topics), 1)
        noisy = mechanism.release(
            BoundedSum(exact, mechanism.bound), stream.spawn(f"table {done}"), reservation
        )
        most = None if done == n_sweeps else clip
        table = np.clip(noisy, 0, most).astype(float)
        if done < n_sweeps:
            phi = (table + beta) / (table + beta).sum(0)
            sweep(documents, words, topics, phi, by_document, alpha, rng.random(len(words)))
        yield words, table, topics.copy()


def total(mechanism, n_sweeps, epsilon_draw, delta):
    """The epsilon of a whole run whose draws have range ``epsilon_draw``: pure losses that are range^2 / 8-zCDP."""
    tables = events.composed(mechanism.event(), n_sweeps + 1)
    draws = events.composed(events.pure(epsilon_draw), n_sweeps)
    noise = sort_events([tables])
    rho = float(noise.precision) / 2 + sum(n * pure_epsilon(leaf) ** 2 / 2 for leaf, n in noise.pure)
    by_range = zcdp_epsilon(rho + n_sweeps * epsilon_draw**2 / 8, delta)
    return min(total_epsilon(events.together(tables, draws), delta), by_range)


def calibrated(epsilon, delta, n_sweeps, clip=10.0):
    """The Gaussian noise and the beta with which a run costs ``epsilon``, the draws half of its zCDP."""
    low, high = 0.0, epsilon
    for _ in range(40):
        rho = (low + high) / 2
        low, high = (rho, high) if zcdp_epsilon(rho, delta) <= epsilon else (low, rho)
    epsilon_draw = max(math.sqrt(4 * low / n_sweeps), epsilon / 2 / n_sweeps)
    beta = max(0.01, clip / math.expm1(epsilon_draw / 2))
    epsilon_draw = 2 * math.log1p(clip / beta)

    def make(log_noise):
        return GaussianMechanism(OneCellBound("l2"), math.exp(log_noise))

    def excess(log_noise):
        return math.log(total(make(log_noise), n_sweeps, epsilon_draw, delta) / epsilon)

    start = math.log(math.sqrt(n_sweeps + 1) * math.sqrt(4 * math.log(1 / delta)) / epsilon)
    return make(solve(excess, start, tolerance=5e-3, slope=1.0)), beta
