r"""Whether the texts have topics at all: what the released co-occurrence shows beyond word frequencies.

Where every document is drawn from one and the same distribution over words, the expected co-occurrence off the diagonal
is :math:`\lambda v v^\top`, whatever the lengths of documents: nearly so, because pieces are scaled to norm 1. Fit
that, and look at what is left, R. Two numbers tell about it:

*strength*
    the largest eigenvalue of :math:`D^{-1/2} R D^{-1/2}`, D the sums of rows of what was fitted, each raised by their
    mean so that rare words do not drown in noise: 0 of texts without topics. Words weigh :math:`p^{-1/4}` in it,
    whatever they weighed in what was released: rarer ones bring more noise. Dividing by D keeps stop words
    from hiding the topics of the others. It holds noise as well as structure: where it is small, there is little of
    either.
*above noise*
    the largest eigenvalue of R, each cell divided by the standard deviation of its noise, in parts of
    :math:`2 \sqrt M`, where that of noise alone ends (Wigner). The variance of a cell is that of the noise, and that of
    drawing documents: these add up to the number of units, because each has norm 1, and are shared out as
    :math:`v_i v_j` times the weights, as rare pairs are.

Verdict: "none" where the strength is below .05 and does not stand above the noise (by 15 %, or the strength is below
.025 besides); "seen" where the largest eigenvalue lies 25 % above the noise; otherwise the noise is too large to tell.
The bounds lie between what was measured on texts and on the same with all their words dealt anew
(``experiments/no_topics/run.py``, docs/choosing.md).

*Guarantee*: post-processing of the released co-occurrence, unigram and number of units; nothing else is looked at.

Reference
---------
Wigner, "Characteristic vectors of bordered matrices with infinite dimensions", 1955, doi:10.2307/1970079.
"""

import math
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from discreet._threads import one_blas_thread

__all__ = ["Structure", "structure"]

_FEWEST_WORDS = 30
_NONE, _NOTHING = 0.05, 0.025
_NOISE, _SEEN = 1.15, 1.25
_STEPS = 30
#: Of the unigram: what words weigh in the strength.
_POWER = -0.25


class Structure(NamedTuple):
    """What is left of a co-occurrence without word frequencies; released values only."""

    strength: float
    above_noise: float

    @property
    def verdict(self) -> Literal["none", "seen", "cannot tell"]:
        """Whether there are topics."""
        if self.strength < _NONE and (self.above_noise < _NOISE or self.strength < _NOTHING):
            return "none"
        return "seen" if self.above_noise >= _SEEN else "cannot tell"


def structure(
    cooccurrence: NDArray[np.float64],
    weights: NDArray[np.float64],
    n_units: float,
    noise: float,
    unigram: NDArray[np.float64],
) -> Structure | None:
    """Return how much there is beyond word frequencies; None where there are too few words to say, or no pairs.

    Parameters
    ----------
    cooccurrence : array of shape (M, M)
        Symmetric with zero diagonal: a sum over units of triangles of norm 1, and noise. Released.
    weights : array of shape (M,)
        What the words weigh in it.
    n_units : float
        Noisy number of units.
    noise : float
        Standard deviation of the noise in each cell.
    unigram : array of shape (M,)
        How frequent the words are.
    """
    n_words = len(weights)
    if n_words < _FEWEST_WORDS or n_units < 1 or not cooccurrence.any():
        return None
    with one_blas_thread():
        level, shared = _rank_one(cooccurrence)
        rest = cooccurrence - level * np.outer(shared, shared)
        np.fill_diagonal(rest, 0.0)
        drawn = np.maximum(shared, 1e-3 * shared.mean()) * weights  # no variance is 0
        pairs = np.outer(drawn, drawn)
        np.fill_diagonal(pairs, 0.0)
        deviation = np.sqrt(noise**2 + 2 * n_units * pairs / pairs.sum())
        np.fill_diagonal(deviation, 1.0)
        moved = (unigram / unigram.mean()) ** _POWER / weights
        rows = level * moved * shared * (moved * shared).sum()
        scale = moved / np.sqrt(rows + rows.mean())
        strength = float(np.linalg.eigvalsh(scale[:, None] * rest * scale)[-1])
        above = float(np.linalg.eigvalsh(rest / deviation)[-1]) / (2 * math.sqrt(n_words))
    return Structure(strength, above)


def _rank_one(matrix: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
    """Fit a multiple of v v' off the diagonal, v of norm 1; its diagonal is filled in on the way."""
    filled = matrix.copy()
    v = np.maximum(matrix.sum(1), 0.0) + 1e-12
    v /= np.linalg.norm(v)
    level = float(v @ matrix @ v)
    for _ in range(_STEPS):
        np.fill_diagonal(filled, level * v * v)
        u = filled @ v
        level = float(v @ u)
        v = u / max(float(np.linalg.norm(u)), 1e-300)
    return max(level, 1e-12), np.maximum(v, 0.0)
