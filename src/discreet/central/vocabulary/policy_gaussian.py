r"""Policy Gaussian choice of words: units move the weights towards a cut-off, one after another.

A unit with words W looks at what each of them lacks to a cut-off :math:`\Gamma`, :math:`g = (\Gamma - h)_W
\ge 0`, and adds :math:`g \min(1, r/\lVert g \rVert_2)`: a step of length at most r towards the cut-off, in
which words that lack more get more. Gaussian noise of standard deviation :math:`\sigma` is added, and words
above :math:`\rho` are released with their noisy weights. :math:`\Gamma = \rho + 3\sigma`.

Guarantee
---------
*Unit*: ``privacy_unit``. *Neighbours*: one unit is added or removed, anywhere; the others keep their order.
*Released*: words and noisy weights above the threshold. *Booked as*: a Gaussian event with :math:`\sigma`
calibrated to :math:`(\epsilon, \delta/2)`, plus an additive :math:`\delta/2` for words nobody else has (see
``thresholds``).

Sensitivity: the final integers differ by at most 2^m in L2
-----------------------------------------------------------
*In real numbers.* A step takes what is lacking from g to :math:`g \max(0, 1 - r/\lVert g_W \rVert)` on W:
the proximal map of :math:`r \lVert \cdot_W \rVert_2`, which is nonexpansive. So two runs that differ by at
most r after the extra unit (which moves by at most r) differ by at most r for ever. With :math:`\Gamma > r`
each of a unit's t private words, which all lack :math:`\Gamma`, gets at most :math:`r/\sqrt t`: the
threshold of the weighted Gaussian method holds.

*On a machine* the map is not quite this one, and a rounded map is **not** nonexpansive: two runs could
drift apart by a rounding error with every unit. The drift is therefore bounded in advance. Weights are kept
as integers, in steps of :math:`2^{-b}`. What a unit with k words adds is computed in float64 and rounded
toward zero, which misses the exact step by at most

.. math:: \eta = (k/2 + 8)\,2^{-53} + \sqrt k\,2^{-b}

in L2 (k + 2 rounding errors under the root, 5 after it, one truncation a word). With N units the two runs
differ by at most :math:`r + (2N + 1)\eta`, and after the last truncation to the lattice of :math:`2^{-m}`,
m = 26, in V words, by at most :math:`r + (2N + 1)\eta + \sqrt V\,2^{-m}`. The step is :math:`r = 1 -
2^{-10}`; a corpus with N or V so large that the sum could go beyond 1 is refused (for the defaults N is
beyond a hundred million).

``epsilon = inf``: no noise; all held words are released.

Reference
---------
Gopi, Gulhane, Kulkarni, Shen, Shokouhi, Yekhanin, "Differentially private set union", ICML 2020,
arXiv:2002.09745 (policy Gaussian with l2-descent; rounding is not discussed there).
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from discreet._base.kernels import kernel
from discreet.central.vocabulary.gaussian_choice import GaussianChoice
from discreet.central.vocabulary.thresholds import on_lattice
from discreet.central.vocabulary.units import Choice, UnitWords, first_words, held_words, passing
from discreet.errors import CorpusError
from discreet.privacy.bound import MAX_BITS, BoundedSum
from discreet.privacy.ledger.ledger import Reservation
from discreet.privacy.noise.stream import SecureStream

__all__ = ["STEP", "PolicyGaussian", "descend", "most_units", "most_words"]

#: Length of a step, r: what is missing to 1 pays for rounding.
STEP = 1.0 - 2.0**-10
_FINEST_BITS = 50
_NO_CUTOFF = 1024.0


@kernel()
def descend(
    indptr: NDArray[np.int64], words: NDArray[np.int64], n_words: int, step: float, cutoff: int
) -> NDArray[np.int64]:
    """Let each unit, in turn, take one step towards the cut-off.

    Parameters
    ----------
    indptr, words : arrays of int64
        Words of each unit, as in ``UnitWords``.
    n_words : int
        Number of words.
    step : float
        Longest step of one unit, in fine lattice steps.
    cutoff : int
        In fine lattice steps.

    Returns
    -------
    array of shape (n_words,), int64
        Weights in fine lattice steps, each at most ``cutoff``.
    """
    weights = np.zeros(n_words, np.int64)
    for unit in range(len(indptr) - 1):
        squares = 0.0
        for entry in range(indptr[unit], indptr[unit + 1]):
            lack = float(np.int64(cutoff) - weights[words[entry]])
            squares += lack * lack
        if squares == 0.0:
            continue
        share = min(1.0, step / np.sqrt(squares))
        for entry in range(indptr[unit], indptr[unit + 1]):
            lack_exactly = np.int64(cutoff) - weights[words[entry]]
            weights[words[entry]] += min(np.int64(float(lack_exactly) * share), lack_exactly)
    return weights


def most_units(max_words: int, fine_bits: int) -> int:
    """Return the largest N whose rounding errors stay in one half of the reserve, ``1 - STEP``."""
    error = Fraction(max_words + 16, 2 * 2**53) + Fraction(math.isqrt(max_words) + 1, 2**fine_bits)
    return int((Fraction(1, 2**11) / error - 1) / 2)


def most_words() -> int:
    """Return the largest V for which the last truncation stays in the other half."""
    return 4 ** (MAX_BITS - 11)


@dataclass(frozen=True)
class PolicyGaussian(GaussianChoice):
    """Public configuration of the policy Gaussian choice.

    Parameters are those of :class:`~discreet.central.vocabulary.gaussian_choice.GaussianChoice`.
    """

    _BITS: ClassVar[int] = MAX_BITS

    @property
    def cutoff(self) -> float:
        """Weight at which a word has enough; without noise far away, so that all words get a share."""
        noise = self.mechanism.noise_multiplier
        return self.threshold + 3.0 * noise if noise else _NO_CUTOFF

    @property
    def fine_bits(self) -> int:
        """Weights are kept in steps of ``2**-fine_bits`` while units are added: the cut-off fits 62 bits."""
        return min(_FINEST_BITS, 61 - math.ceil(self.cutoff).bit_length())

    def choose(
        self, units: UnitWords, stream: SecureStream, reservation: Reservation, *, n_jobs: int | None = None
    ) -> Choice:
        """Choose words; the only place that sees the units. Parameters as for ``Greedy.choose``.

        Raises
        ------
        CorpusError
            Where there are so many units or words that rounding errors could matter.
        """
        mechanism, fine_bits = self.mechanism, self.fine_bits
        held, kept = held_words(first_words(units, self.max_words))
        if len(kept.sizes) > most_units(self.max_words, fine_bits) or len(held) > most_words():
            raise CorpusError(
                f"policy_gaussian is proved for at most {most_units(self.max_words, fine_bits)} units and "
                f'{most_words()} words at this epsilon; use method="sips".'
            )
        cutoff = on_lattice(self.cutoff, fine_bits)
        fine = descend(kept.indptr, kept.words, len(held), STEP * 2.0**fine_bits, cutoff)
        shift = fine_bits - mechanism.bound.bits
        coarse = fine >> shift if shift >= 0 else fine << -shift
        noisy = mechanism.release(BoundedSum(coarse, mechanism.bound), stream, reservation, n_jobs=n_jobs)
        # Without noise there is nothing to hide behind a threshold: the twin names every held word.
        least = on_lattice(self.threshold, mechanism.bound.bits) if mechanism.noise_multiplier else -1
        return passing(held, noisy, least, mechanism.bound.step)
