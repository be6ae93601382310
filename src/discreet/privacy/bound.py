r"""Bounded contributions: what one unit may add to a sum, as integers with an exact norm.

One unit (a document, a person) contributes a real vector :math:`x`. It is clipped to norm
:math:`C` (or scaled to exactly :math:`C`, up as well as down), divided by the lattice step
:math:`g = C / 2^m` and rounded **toward zero**. Every entry shrinks, so the norm bound survives the
rounding; because the scaling itself is floating-point, the norm of the integers is then checked in
exact integer arithmetic, and the vector shrunk until it holds. What leaves this module therefore
satisfies, as integers and with no assumption about floating-point,

.. math:: \sum_i z_i^2 \le 4^m \quad (\text{L2}) \qquad\text{or}\qquad \sum_i |z_i| \le 2^m \quad (\text{L1}).

Proof of the sensitivity
------------------------
*Unit*: ``privacy_unit``. *Released*: nothing here; a :class:`BoundedSum` is :math:`\sum_u z_u` and goes to
a mechanism only. *Neighbours*: under ``add_or_remove_one`` the sums differ by one :math:`z_u`, so by at
most :math:`2^m`. Under ``replace_one`` they differ by :math:`z_u - z_u'`, so by at most :math:`2 \cdot 2^m`.
This needs each unit to be bounded *before* the sum, and :math:`z_u` to depend on no other unit's data
(it may depend on public values and on what was released before). Clipping the sum, or the mean,
does not lower the sensitivity: one unit still moves it by its own norm.

A vector that holds NaN or an infinity becomes zeros: any fixed answer keeps the bound.

Sums are int64, so they are the same for any order of the units and any number of threads.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet._base.arrays import as_numbers
from discreet._base.kernels import kernel
from discreet._base.validate import kind_of, shown
from discreet.errors import ParameterError, PrivacyError
from discreet.privacy.accounting import events
from discreet.privacy.accounting.events import Event
from discreet.privacy.units import check_unit

#: 4^26 = 2^52: squared norms, and sums over 2^36 units, stay far inside int64.
MAX_BITS = 26
_LARGEST_SUM = 2**62
#: Vectors whose largest entry lies between these can be squared as they are, up to 1e8 entries.
_LEAST_TAME, _MOST_TAME = 1e-140, 1e140


@kernel()
def _largest(values: NDArray[np.float64], n: int) -> float:
    """Return the largest magnitude, or -1 where any entry is not finite."""
    largest = 0.0
    for i in range(n):
        magnitude = abs(values[i])
        if not np.isfinite(magnitude):
            return -1.0
        largest = max(largest, magnitude)
    return largest


@kernel()
def place_l2(values: NDArray[np.float64], n: int, bits: int, normalise: bool, out: NDArray[np.int64]) -> None:
    """Put one unit's contribution on the lattice with squared norm at most ``4**bits``.

    Parameters
    ----------
    values : array of shape (at least n,), float64
        The contribution in units of the contribution bound C; entries from n on are ignored.
    n : int
        Number of entries.
    bits : int
        The lattice step is C / 2**bits.
    normalise : bool
        Scale short vectors up to norm C as well as long ones down.
    out : array of shape (at least n,), int64
        Receives the integers.
    """
    largest = _largest(values, n)
    if largest <= 0.0:
        out[:n] = 0
        return
    if not _LEAST_TAME < largest < _MOST_TAME:
        # Squares could overflow or vanish: divide by the largest entry first.
        tame = values[:n] / largest
        _place_tame_l2(tame, n, largest, bits, normalise, out)
    else:
        _place_tame_l2(values, n, 1.0, bits, normalise, out)


@kernel()
def _place_tame_l2(
    values: NDArray[np.float64], n: int, unit: float, bits: int, normalise: bool, out: NDArray[np.int64]
) -> None:
    """Place ``values * unit``; entries of ``values`` are neither huge nor tiny."""
    squares = 0.0
    for i in range(n):
        squares += values[i] * values[i]
    full = float(1 << bits)
    norm = np.sqrt(squares)
    scale = full / norm
    if not normalise and unit * norm <= 1.0:
        scale = full * unit
    limit = np.int64(1) << np.int64(2 * bits)
    shrink = 2.0**-50
    while True:
        total = np.int64(0)
        for i in range(n):
            placed = np.int64(values[i] * scale)  # a cast truncates: toward zero
            out[i] = placed
            total += placed * placed
        if total <= limit:
            return
        scale *= 1.0 - min(shrink, 0.5)
        shrink *= 2.0


@kernel()
def place_l1(values: NDArray[np.float64], n: int, bits: int, normalise: bool, out: NDArray[np.int64]) -> None:
    """Put one unit's contribution on the lattice with sum of magnitudes at most ``2**bits``.

    Parameters are those of :func:`place_l2`.
    """
    largest = _largest(values, n)
    if largest <= 0.0:
        out[:n] = 0
        return
    magnitudes = 0.0
    for i in range(n):
        magnitudes += abs(values[i]) / largest
    full = float(1 << bits)
    scale = full / magnitudes
    if not normalise and largest * magnitudes <= 1.0:
        scale = full * largest
    limit = np.int64(1) << np.int64(bits)
    shrink = 2.0**-50
    while True:
        total = np.int64(0)
        for i in range(n):
            placed = np.int64(values[i] / largest * scale)
            out[i] = placed
            total += abs(placed)
        if total <= limit:
            return
        scale *= 1.0 - min(shrink, 0.5)
        shrink *= 2.0


def check_bits(bits: int) -> None:
    """Raise ``ParameterError`` unless powers of two of this many bits are exact: numpy's whole numbers wrap around."""
    if type(bits) is not int or not 1 <= bits <= MAX_BITS:
        raise ParameterError(f"bits must be an int from 1 to {MAX_BITS}, but is {shown(bits)}.")


@dataclass(frozen=True)
class Bound:
    """How much one unit may contribute, and the lattice it is counted on.

    Parameters
    ----------
    norm : {"l2", "l1"}
        Norm that is bounded: L2 for Gaussian noise, L1 for Laplace.
    contribution_bound : float, default 1.0
        C, the largest norm of one unit's contribution.
    bits : int, default 14
        The lattice step is C / 2**bits.
    privacy_unit, neighboring : str
        What is protected, and when two corpora are neighbours.

    Raises
    ------
    ParameterError, PrivacyError
        Where a field is out of range, or unit and relation are not stated.
    """

    norm: Literal["l2", "l1"] = "l2"
    contribution_bound: float = 1.0
    bits: int = 14
    privacy_unit: str = "document"
    neighboring: str = "add_or_remove_one"

    def __post_init__(self) -> None:
        if self.norm not in ("l2", "l1"):
            raise ParameterError(f'norm must be "l2" or "l1", but is {shown(self.norm)}.')
        check_bits(self.bits)
        if not (np.isfinite(self.contribution_bound) and self.contribution_bound > 0):
            raise ParameterError(
                f"contribution_bound must be positive and finite, but is {self.contribution_bound}."
            )
        check_unit(self.privacy_unit, self.neighboring)

    @property
    def sensitivity(self) -> int | Fraction:
        """How far one step between neighbours can move the integer sum, in ``norm``. Exact."""
        return 2**self.bits if self.neighboring == "add_or_remove_one" else 2 ** (self.bits + 1)

    @property
    def step(self) -> float:
        """Value of one lattice step, C / 2**bits (a power-of-two scaling: exact)."""
        return self.contribution_bound / 2**self.bits

    def laplace_event(self, epsilon: float) -> Event:
        """Return the event of discrete Laplace noise of scale ``sensitivity / epsilon`` on the sum."""
        return events.discrete_laplace(epsilon, int(self.sensitivity))

    def place(self, contribution: ArrayLike, *, normalise: bool = False) -> NDArray[np.int64]:
        """Bound one unit's contribution.

        Parameters
        ----------
        contribution : array of any shape
            Everything this one unit would add to the sum.
        normalise : bool, default False
            Scale short contributions up to the bound, too.

        Returns
        -------
        array of the same shape, int64
        """
        real = np.asarray(as_numbers(contribution, "the contribution", ""), dtype=np.float64)
        # Dividing by C rounds, which is harmless: the integers' norm is what is enforced.
        flat = np.ascontiguousarray(real).ravel() / self.contribution_bound
        placed = np.empty(flat.size, np.int64)
        kernel = place_l2 if self.norm == "l2" else place_l1
        kernel(flat, flat.size, self.bits, normalise, placed)
        return placed.reshape(real.shape)

    def sum(self, contributions: Iterable[ArrayLike], *, normalise: bool = False) -> BoundedSum:
        """Bound each unit's contribution, then add them up.

        Parameters
        ----------
        contributions : iterable of arrays of one shape
            One array a unit. An iterable that yields nothing is refused, because the shape of the sum
            would depend on the data.
        normalise : bool, default False
            As in :meth:`place`.
        """
        total: NDArray[np.int64] | None = None
        for n_units, contribution in enumerate(contributions):
            placed = self.place(contribution, normalise=normalise)
            if total is None:
                total = np.zeros(placed.shape, np.int64)
            if placed.shape != total.shape:
                raise PrivacyError(
                    f"all contributions must have the shape of the first, {total.shape}, but unit "
                    f"{n_units} has {placed.shape}."
                )
            total += placed
        if total is None:
            raise PrivacyError("there is no contribution to sum, so its shape is unknown; pass at least one.")
        return BoundedSum(total, self)


@dataclass(frozen=True, eq=False)
class BoundedSum:
    """A sum over units of contributions that ``bound`` placed on the lattice. Private: not for release.

    Whoever builds one from a kernel states that every unit went through :func:`place_l2` or
    :func:`place_l1` with the bits of ``bound``, once, before the sum.

    Parameters
    ----------
    values : array, int64
        The integer sum; a view is kept, not a copy.
    bound : Bound
        The bound each unit's contribution was held to.
    """

    values: NDArray[np.int64]
    bound: Bound

    def __post_init__(self) -> None:
        values: Any = self.values
        # A subclass adds as it likes: a masked array leaves its masked cells without noise.
        if type(values) is not np.ndarray or values.dtype != np.int64:
            held = f" of {values.dtype}" if isinstance(values, np.ndarray) else ""
            raise PrivacyError(
                f"a bounded sum must be a plain numpy array of int64, but is {kind_of(values)}{held}; "
                "place each unit on the lattice first."
            )
        if values.size and (values.max() > _LARGEST_SUM or values.min() < -_LARGEST_SUM):
            raise PrivacyError("a bounded sum went beyond 2**62: use fewer bits, or fewer units.")
        # Whoever holds the caller's array can give it another dtype or shape, and so its noise.
        object.__setattr__(self, "values", values.view())

    def __repr__(self) -> str:
        return f"BoundedSum(shape={self.values.shape}, bound={self.bound})"  # never the values
