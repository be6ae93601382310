r"""The bound of a table of counts: each unit adds one to one cell, and a neighbour moves it to another cell.

A table over tokens (words by topics, say) counts one for each token. Where one token is replaced, or only filed
elsewhere, one cell loses 1 and another gains 1.

Proof of the sensitivity
------------------------
*Unit, neighbours*: one token (``"word"``), replaced. *Released*: nothing here. Two one-hot vectors are equal, or
differ by :math:`-1` in one cell and :math:`+1` in another: L1 distance at most 2, L2 distance at most
:math:`\sqrt 2`. A bound for arbitrary vectors of norm 1 would have to say 2 for both. The root is stated as the
float above it, whose exact square is above 2.

Under discrete Laplace noise of scale :math:`2 / \epsilon` each of the two cells is a release of its own, with
sensitivity 1 and loss :math:`\epsilon / 2`: two events, which together cost less than one of loss
:math:`\epsilon` as soon as many are composed (zCDP :math:`\epsilon^2/4` instead of :math:`\epsilon^2/2`).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet._base.validate import shown
from discreet.errors import ParameterError, PrivacyError
from discreet.privacy.bound import Bound
from discreet.privacy.units import check_unit

if TYPE_CHECKING:
    from discreet.privacy.accounting.events import Event

__all__ = ["OneCellBound"]

#: The float above the root of 2; a test squares it exactly, for a root that is too small would promise too much.
_ROOT_OF_TWO = Fraction(1.4142135623730951)


@dataclass(frozen=True)
class OneCellBound(Bound):
    """Each unit adds one to exactly one cell of a table; neighbours replace one unit.

    Parameters
    ----------
    norm : {"l2", "l1"}
        L2 for Gaussian noise, L1 for Laplace.
    contribution_bound, bits : float and int, always 1.0 and 0
        One unit adds one, in whole numbers.
    privacy_unit : str, default "word"
    neighboring : {"replace_one"}
    """

    norm: Literal["l2", "l1"] = "l2"
    contribution_bound: float = 1.0
    bits: int = 0
    privacy_unit: str = "word"
    neighboring: str = "replace_one"

    def __post_init__(self) -> None:
        if self.norm not in ("l2", "l1"):
            raise ParameterError(f'norm must be "l2" or "l1", but is {shown(self.norm)}.')
        if self.bits or self.contribution_bound != 1.0:
            raise ParameterError("a table of counts has bits=0 and contribution_bound=1: one unit adds one.")
        check_unit(self.privacy_unit, self.neighboring)
        if self.neighboring != "replace_one":
            raise PrivacyError(
                'a unit that moves between cells is replaced: neighboring must be "replace_one".'
            )

    @property
    def sensitivity(self) -> int | Fraction:
        """Largest distance between the tables of neighbours, in ``norm``: 2, or a fraction just above its root."""
        return 2 if self.norm == "l1" else _ROOT_OF_TWO

    def laplace_event(self, epsilon: float) -> Event:
        """Return two events of loss ``epsilon / 2``, one for each of the cells that change."""
        from discreet.privacy.accounting import events

        return events.composed(events.discrete_laplace(epsilon / 2, 1), 2)

    def place(self, contribution: ArrayLike, *, normalise: bool = False) -> NDArray[np.int64]:
        """Check that a unit's contribution is one in one cell, and return it as integers."""
        placed = np.asarray(contribution)
        whole = placed.astype(np.int64)
        if (whole != placed).any() or whole.min(initial=0) < 0 or whole.sum() != 1:
            raise PrivacyError("each unit must add one to exactly one cell of the table, but one does not.")
        return whole
