r"""Report noisy max: which of several candidates has the largest sum of scores, and nothing else.

Each unit scores every candidate between 0 and 1. Scores are put on a lattice (rounded toward zero, cut to it) and added
up as integers, each sum gets discrete Laplace noise of scale :math:`2^m / \epsilon`, :math:`2^m` lattice steps being a
score of 1, and the number of the largest is released; the first of those that tie. Candidates may have to be ahead of
those before them by a public number of standard deviations of the noise for each step, so that noise alone seldom goes
for a late one: the fixed numbers that are taken off are the same for all data, and the proof holds for sums of which
they were taken off.

Guarantee
---------
*Unit*: whoever gives a row of scores. *Neighbours*: one unit is added or removed. *Released*: the number of the winner.
*Promise*: pure, epsilon. *Booked as*: one draw of randomised response of that epsilon
(``events.discrete_laplace(epsilon, 1)``, whose likelihood ratios are :math:`e^{\pm\epsilon}` only), which dominates
everything that is epsilon-private.

Proof. Let D' be D with one unit more, and :math:`u, u'` their sums: :math:`0 \le u'_j - u_j \le S = 2^m` for every j,
because scores are not negative. Fix the noise z of all candidates but k. Then k wins in D where
:math:`z_k \ge t - u_k`, with :math:`t = \max_{j \ne k} (u_j + z_j + [j < k])`, an integer; the bracket makes ties lose
to earlier candidates. In D' the threshold is :math:`t' - u'_k` with :math:`t \le t' \le t + S`. So, with
:math:`\Pr[Z \ge a + S] \ge e^{-\epsilon} \Pr[Z \ge a]` for integers a (discrete Laplace noise of scale
:math:`S / \epsilon`),

* :math:`t' - u'_k \le t - u_k + S`, and k wins in D' with probability at least :math:`e^{-\epsilon}` times that in D;
* :math:`t - u_k \le t' - u'_k + S`, and the same with D and D' exchanged.

Averaging over z keeps both. Scores of either sign would move two sums apart by 2S, and cost twice as much.

Reference
---------
Dwork, Roth, "The algorithmic foundations of differential privacy", 2014, doi:10.1561/0400000042, claim 3.9 (with
continuous noise).
"""

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet._base.arrays import as_numbers
from discreet._base.validate import check, number
from discreet.errors import CorpusError
from discreet.privacy.accounting import events
from discreet.privacy.accounting.events import Event
from discreet.privacy.bound import check_bits
from discreet.privacy.ledger.ledger import Reservation
from discreet.privacy.noise._draws import as_scale, check_stream
from discreet.privacy.noise.laplace import discrete_laplace
from discreet.privacy.noise.stream import SecureStream
from discreet.privacy.units import check_epsilon


@dataclass(frozen=True)
class NoisyMax:
    """The choice of one of several candidates.

    Parameters
    ----------
    epsilon : float
        Pure privacy loss. ``inf`` adds no noise and is booked as not private.
    bits : int, default 20
        A score of 1 is 2**bits lattice steps.
    privacy_unit : str, default "document"
        Who gives a row of scores; one unit is added or removed.
    """

    epsilon: float
    bits: int = 20
    privacy_unit: str = "document"

    def __post_init__(self) -> None:
        check_epsilon(self.epsilon)
        check_bits(self.bits)

    def event(self) -> Event:
        """Return the event of one choice."""
        return events.non_private() if math.isinf(self.epsilon) else events.discrete_laplace(self.epsilon, 1)

    def sum(self, scores: ArrayLike) -> NDArray[np.int64]:
        """Cut each unit's scores to [0, 1], put them on the lattice, and add them up. Private.

        Parameters
        ----------
        scores : array of shape (n_units, n_candidates)
            A row a unit, a function of that unit alone. NaN counts as 0.

        Raises
        ------
        CorpusError, TypeError
            Where it is no table of real numbers, or has no candidates. Never shows what it holds.
        """
        given = as_numbers(scores, "scores", "give each candidate a number from 0 to 1")
        if given.ndim != 2 or given.shape[1] == 0 or given.dtype.kind == "c":
            raise CorpusError(
                f"scores must be real numbers of shape (n_units, n_candidates), but are {given.dtype} of shape "
                f"{given.shape}."
            )
        real = np.nan_to_num(given.astype(np.float64), nan=0.0, posinf=1.0, neginf=0.0)
        return np.floor(np.clip(real, 0.0, 1.0) * 2.0**self.bits).astype(np.int64).sum(0)

    def choose(
        self, scores: ArrayLike, stream: SecureStream, reservation: Reservation, *, lead: float = 0.0
    ) -> int:
        """Draw on the reservation, and return the number of the candidate with the largest noisy sum.

        Parameters
        ----------
        scores : array of shape (n_units, n_candidates)
            As for :meth:`sum`.
        stream : SecureStream
        reservation : Reservation
            Of :meth:`event`, made before the scores were computed.
        lead : float, default 0.0
            By how many standard deviations of the noise a candidate has to be ahead of the one before it. Public.
        """
        # A call that is refused draws nothing on the reservation.
        check(lead=(lead, number(least=0)))
        check_stream(stream)
        scale = as_scale(0 if math.isinf(self.epsilon) else Fraction(2**self.bits) / Fraction(self.epsilon))
        total = self.sum(scores).tolist()
        reservation.use(self.event(), privacy_unit=self.privacy_unit, neighboring="add_or_remove_one")
        noise = discrete_laplace(scale, len(total), stream).tolist()
        step = math.floor(Fraction(float(lead)) * Fraction(math.sqrt(2.0)) * scale)
        # Python's whole numbers do not wrap around; the first of those that tie is returned.
        return max(range(len(total)), key=lambda k: total[k] + noise[k] - k * step)
