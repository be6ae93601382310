r"""The statistic: sums of topic shares, and counts of units, in public groups.

A document d with topic shares :math:`\theta_d` in group g contributes

.. math:: v_d = (\theta_d \text{ in row } g;\; c \text{ in the count of } g), \qquad
          \lVert v_d \rVert_2 = \sqrt{\lVert\theta_d\rVert_2^2 + c^2} \le \sqrt{1 + c^2},

since theta sums to 1; and nothing where it has no group. A person's contribution is the mean over those of their
documents that have a group, and lies in the same ball, which is convex. So a person weighs one in all, however much
they wrote: sizes of groups add up to the number of people, each split as their documents are, and shares are means
over people. (The sum over the documents, scaled down to the ball, would reach its edge, with up to
:math:`\sqrt{(1 + c^2) / (1/K + c^2)}` times the signal; but then whoever writes much, on many topics, weighs more, and
no size says how many there are.) The contribution is placed on the lattice.

Guarantee
---------
*Unit, neighbours*: a document, or all documents of a person, added or removed. *Released*: nothing here; the integer
sum goes to a mechanism. *Sensitivity*: :math:`\sqrt{1 + c^2}` in L2, exactly :math:`2^{\mathrm{bits}}` on the
lattice: the topics, the groups and c are public, :math:`\theta_d` is folded in from the one document, and its group
is a function of its own label; so a unit's vector depends on no other unit, and :class:`~discreet.privacy.Bound`
holds its norm, by scaling down what rounding lets stand out. *Event*: that of the mechanism.
"""

from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from discreet.privacy.bound import Bound, BoundedSum
from discreet.privacy.row_sums import sum_rows

__all__ = ["BITS", "contribution_bound", "prevalence_sum"]

#: Shares are cut toward zero by half a lattice step on average; 2^-20 keeps that far below any noise.
BITS = 20
_BLOCK = 1 << 16


def contribution_bound(count_weight: float, privacy_unit: str) -> Bound:
    """Return the bound that each unit is held to."""
    return Bound(
        "l2", contribution_bound=float(np.hypot(1.0, count_weight)), bits=BITS, privacy_unit=privacy_unit
    )


def prevalence_sum(
    doc_topic: NDArray[np.float64],
    group: NDArray[np.int32],
    people: NDArray[np.int64] | None,
    n_groups: int,
    count_weight: float,
    bound: Bound,
    n_jobs: int | None = None,
) -> BoundedSum:
    """Add up the contributions of all units.

    Parameters
    ----------
    doc_topic : array of shape (n_documents, n_topics)
        Rows sum to 1.
    group : array of shape (n_documents,), int32
        Number of each document's group, -1 for none.
    people : array of shape (n_documents,), int64, or None
        Whose document each is, where people are the unit.
    n_groups : int
    count_weight : float
    bound : Bound
        See :func:`contribution_bound`.
    n_jobs : int, optional

    Returns
    -------
    BoundedSum
        Of shape (n_groups * (n_topics + 1),): each group's topics, then its count.
    """
    total = np.zeros(n_groups * (doc_topic.shape[1] + 1), np.int64)
    chosen = np.flatnonzero(group >= 0)
    if people is not None:
        chosen = chosen[np.argsort(people[chosen], kind="stable")]
    for low, high in pairwise(_cuts(chosen, people)):
        rows = chosen[low:high]
        vectors = _vectors(doc_topic[rows], group[rows], n_groups, count_weight)
        if people is not None:
            vectors = _mean_by(people[rows], vectors)
        total += sum_rows(vectors, bound, n_jobs=n_jobs).values
    return BoundedSum(total, bound)


def _cuts(chosen: NDArray[np.int64], people: NDArray[np.int64] | None) -> list[int]:
    """Cut rows into blocks that bound memory and tear no person apart."""
    cuts = list(range(0, len(chosen), _BLOCK))
    if people is not None:
        ordered = people[chosen]
        cuts = sorted({int(np.searchsorted(ordered, ordered[cut])) for cut in cuts})
    return [*cuts, len(chosen)]


def _vectors(
    shares: NDArray[np.float64], group: NDArray[np.int32], n_groups: int, count_weight: float
) -> Any:
    n, width = len(shares), shares.shape[1] + 1
    values = np.empty((n, width))
    values[:, :-1], values[:, -1] = shares, count_weight
    columns = group[:, None].astype(np.int64) * width + np.arange(width)
    starts = np.arange(n + 1) * width
    return sp.csr_matrix((values.ravel(), columns.ravel(), starts), shape=(n, n_groups * width))


def _mean_by(people: NDArray[np.int64], vectors: Any) -> Any:
    """Average the rows of each person."""
    _, person, many = np.unique(people, return_inverse=True, return_counts=True)
    member = sp.csr_matrix(
        (1.0 / many[person], (person, np.arange(len(person)))), shape=(len(many), len(person))
    )
    return member @ vectors
