r"""Moments under the central Gaussian: who goes with whom in a corpus, released once, then fitted like reports.

Each unit (a document, or all documents of a person) adds two vectors to two sums, each scaled to L2 norm 1 (up as
well as down) and placed on the integer lattice: the square roots of its word counts, and the strict upper triangle
of the outer product of its presence vector :math:`x` (which words it has), summed over its documents. With
documents of l words each that is, up to scale,

.. math:: u \propto E[x / \sqrt l], \qquad C_{ij} \propto E[x_i x_j / l] \quad (i \ne j),

which a topic model explains as :math:`m^\top \Phi` and :math:`\Phi^\top S \Phi` with its own m and S: the fit of
:mod:`discreet.lda.moments.fit`. Scales are matched to rates of presence, so that the fit starts where it
does for reports.

Guarantee
---------
*Unit, neighbours*: a document, or all documents of a person, added or removed. *Released*: the number of units, u and
C with noise, and whatever is computed from them. *Sensitivity*: 1 in L2 for each, because a unit's vector is a
function of that unit's documents alone, with norm at most 1 (see :mod:`discreet.central.sums.statistics`). *Event*:
one Gaussian event of noise multiplier :math:`\sigma`, of whose precision the three releases use shares that add up
to 1.
"""

import numpy as np

from discreet.central.sums.statistics import cooccurrence_sum, count_sum, unigram_sum
from discreet.central.sums.units import ShardedUnits, Units
from discreet.lda.moments.estimates import SHARES, NoisyMoments, moments_of_sums
from discreet.privacy.shared_gaussian import SharedGaussian

__all__ = ["NoisyMoments", "release_moments"]


def release_moments(units: Units | ShardedUnits, gate: SharedGaussian) -> NoisyMoments:
    """Release the number of units, the unigram and all pairs; every unit must hold zeros and ones only.

    Parameters
    ----------
    units : Units or ShardedUnits
        Of presences.
    gate : SharedGaussian
        Its reservation is used up.
    """
    n_words = units.n_words
    count = gate.release(count_sum(units), SHARES["count"], "count").values[0]
    n = max(float(count), 1.0)
    first = gate.release(unigram_sum(units, gate.n_jobs), SHARES["unigram"], "unigram")
    triangle = gate.release(
        cooccurrence_sum(units, np.arange(n_words), np.ones(n_words), gate.n_jobs),
        SHARES["pairs"],
        "co-occurrence",
    )
    return moments_of_sums(n, first.values, triangle.values, first.noise, triangle.noise)
