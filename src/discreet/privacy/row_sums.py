r"""Bounded sums of sparse rows: each unit placed on the lattice by itself, all added up in int64.

The fast way to what :meth:`~discreet.privacy.Bound.sum` does unit by unit; the proof is that of
:mod:`discreet.privacy.bound`, for every unit passes the same ``place_l2`` or ``place_l1``, once, before the sum. A unit
is a row, or the sum of all rows of one person: a function of that person's rows and of no others.

**One cell** (:class:`OneCellBound`), the bound of a table of counts: each unit adds one to one cell, and a neighbour
moves it to another cell.

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
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from discreet._base.arrays import Matrix, as_numbers, inside_its_shape
from discreet._base.kernels import kernel
from discreet._base.persons import check_persons
from discreet._base.threads import count_threads, pieces, share_out
from discreet._base.validate import kind_of, shown
from discreet.errors import ParameterError, PrivacyError
from discreet.privacy.accounting import events
from discreet.privacy.accounting.events import Event
from discreet.privacy.bound import Bound, BoundedSum, place_l1, place_l2
from discreet.privacy.units import check_unit


def sum_rows(
    rows: Matrix,
    bound: Bound,
    *,
    persons: ArrayLike | None = None,
    normalise: bool = False,
    n_jobs: int | None = None,
) -> BoundedSum:
    """Bound each row of a matrix, or all rows of each person together, then add them up.

    Parameters
    ----------
    rows : sparse matrix or array of shape (n_units, n_columns)
        What each unit contributes: one row a unit, or several where ``persons`` are given.
    bound : Bound
        What a unit may contribute, and the lattice.
    persons : array-like of shape (n_rows,), optional
        Whose each row is, as text or whole numbers: 7, 7.0 and "7" are one person. The rows of one person are added up
        first, and their sum is bounded.
    normalise : bool, default False
        Scale short rows up to the bound, too.
    n_jobs : int, optional
        Threads, as in scikit-learn. The sum is the same for any number.

    Returns
    -------
    BoundedSum
        Of shape (n_columns,). Private: give it to a mechanism.

    Raises
    ------
    PrivacyError
        Where ``rows`` is not a matrix, or the bound says more of a unit than its norm.
    CorpusError
        Where ``persons`` do not name somebody for each row; who is one person is decided as everywhere else.

    Examples
    --------
    >>> import numpy as np
    >>> from discreet.privacy import Bound, sum_rows
    >>> sum_rows(np.eye(3), Bound(bits=4)).values
    array([16, 16, 16])
    >>> sum_rows(np.eye(3), Bound("l1", bits=4, privacy_unit="person"), persons=["ann", "bob", "ann"]).values
    array([ 8, 16,  8])
    """
    if type(bound) is not Bound:
        raise PrivacyError(
            f"rows are held to a norm, but {kind_of(bound)} says more of each unit; add them up by its own sum."
        )
    whose = check_persons(rows, persons)
    if whose is not None and bound.privacy_unit != "person":
        raise PrivacyError(
            f"all rows of a person are bounded together, but the bound is for each {bound.privacy_unit}: one of them "
            'would move the sum further than it says. Take Bound(..., privacy_unit="person"), or rows without persons.'
        )
    given: Any = inside_its_shape(rows) if sp.issparse(rows) else as_numbers(rows, "rows", "")
    matrix: Any = sp.csr_matrix(given, dtype=np.float64)
    if matrix.shape != np.shape(given):
        raise PrivacyError(
            f"expected a matrix with one row a unit, but got an array of shape {np.shape(given)}."
        )
    if whose is not None:
        matrix = join_rows(matrix, whose)
    if not matrix.has_canonical_format:
        matrix = matrix.copy()
        matrix.sum_duplicates()
    values = matrix.data / bound.contribution_bound
    widest = int(np.diff(matrix.indptr).max(initial=1))

    def work(span: tuple[int, int]) -> NDArray[np.int64]:
        out = np.zeros(matrix.shape[1], np.int64)
        _sum_rows(
            matrix.indptr,
            matrix.indices,
            values,
            *span,
            widest,
            bound.bits,
            bound.norm == "l2",
            normalise,
            out,
        )
        return out

    n_threads = count_threads(n_jobs)
    total = np.zeros(matrix.shape[1], np.int64)
    for part in share_out(work, pieces(matrix.indptr, n_threads), n_threads):
        total += part
    return BoundedSum(total, bound)


def join_rows(matrix: Any, persons: NDArray[np.int64]) -> Any:
    """Return one row for each person: the sum of theirs, in order of the persons."""
    _, theirs = np.unique(persons, return_inverse=True)
    n_rows = len(theirs)
    entries = np.ones(n_rows, matrix.dtype), (theirs, np.arange(n_rows))
    return sp.csr_matrix(entries, shape=(int(theirs.max(initial=-1)) + 1, n_rows)) @ matrix


@kernel()
def _sum_rows(
    indptr: NDArray[Any],
    columns: NDArray[Any],
    values: NDArray[np.float64],
    low: int,
    high: int,
    widest: int,
    bits: int,
    euclidean: bool,
    normalise: bool,
    out: NDArray[np.int64],
) -> None:
    row, placed = np.empty(widest, np.float64), np.empty(widest, np.int64)
    for unit in range(low, high):
        begin, n = indptr[unit], indptr[unit + 1] - indptr[unit]
        row[:n] = values[begin : begin + n]
        if euclidean:
            place_l2(row, n, bits, normalise, placed)
        else:
            place_l1(row, n, bits, normalise, placed)
        for i in range(n):
            out[columns[begin + i]] += placed[i]


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
        return events.composed(events.discrete_laplace(epsilon / 2, 1), 2)

    def place(self, contribution: ArrayLike, *, normalise: bool = False) -> NDArray[np.int64]:
        """Check that a unit's contribution is one in one cell, and return it as integers."""
        given = np.asarray(as_numbers(contribution, "the contribution", ""))
        if np.count_nonzero(given) != 1 or given.max() != 1:
            raise PrivacyError("each unit must add one to exactly one cell of the table, but one does not.")
        return given.astype(np.int64)
