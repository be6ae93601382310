r"""How much of the text the chosen words make up: released with the choice, from a small share of its budget.

A unit (a document, or all documents of a person) of which the share :math:`s_u` of all counted tokens are chosen words
adds :math:`(s_u, 1 - s_u)` to a sum of two numbers; one without tokens adds nothing. With noise the first over both is
the mean share of the text that the words cover, and both together are the number of units that have any text.

Guarantee
---------
*Unit*: ``privacy_unit``. *Neighbours*: one unit is added or removed. *Released*: the two noisy sums. *Sensitivity*: 1
in L2, because :math:`s^2 + (1 - s)^2 \le 1` for s from 0 to 1, each unit's vector is placed on the lattice by itself
before the sum, and it is a function of that unit's tokens and of the chosen words, which are released by then (so a
list that is cut to its largest noisy weights is public, too). *Booked as*: nothing of its own. The choice reserves one
Gaussian event of noise multiplier :math:`\sigma`; its weights are released at :math:`1/\sigma_w^2 = (1 - f)/\sigma^2`
and these sums at :math:`1/\sigma_c^2 = f/\sigma^2`, f = 1/64: adaptive composition within the reserved precision,
which the reservation holds to. The thresholds are those of :math:`\sigma_w`.

The greedy choice, which has Laplace noise, releases no such sums.
"""

from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from discreet.central.vocabulary.greedy import Greedy
from discreet.central.vocabulary.sharded_words import ShardedWords
from discreet.corpus.shards.shard_file import Rows
from discreet.corpus.vocabulary import Coverage
from discreet.privacy.bound import Bound, BoundedSum
from discreet.privacy.ledger.ledger import Reservation
from discreet.privacy.mechanism import GaussianMechanism
from discreet.privacy.noise.stream import SecureStream
from discreet.privacy.row_sums import sum_rows

if TYPE_CHECKING:
    from discreet.central.vocabulary.methods import Method

__all__ = ["SHARE", "coverage_sum", "release_coverage"]

#: Of the precision of the choice.
SHARE = Fraction(1, 64)


def coverage_sum(
    counts: sp.csr_matrix, persons: NDArray[np.int64] | None, chosen: NDArray[np.bool_], bound: Bound
) -> NDArray[np.int64]:
    """Add up what the units give.

    Parameters
    ----------
    counts : csr_matrix of shape (n_documents, n_words)
        Of all words.
    persons : array of shape (n_documents,), int64, or None
        Unit of each document; None: each document is a unit.
    chosen : array of shape (n_words,), bool
    bound : Bound
        Of one unit.

    Returns
    -------
    array of shape (2,), int64
        In steps of the bound's lattice. Private.
    """
    n_rows = len(counts.indptr) - 1
    unit = np.arange(n_rows) if persons is None else np.unique(persons, return_inverse=True)[1]
    unit_of_entry = np.repeat(unit, np.diff(counts.indptr))
    n_units = int(unit.max(initial=-1)) + 1
    tokens = np.bincount(unit_of_entry, counts.data, minlength=n_units)
    covered = np.bincount(unit_of_entry, counts.data * chosen[counts.indices], minlength=n_units)
    share = (covered / np.maximum(tokens, 1))[tokens > 0]
    return sum_rows(np.column_stack([share, 1 - share]), bound).values


def _sum_of_rows(rows: Rows, chosen: NDArray[np.bool_], bound: Bound) -> NDArray[np.int64]:
    return coverage_sum(rows.counts, rows.persons, chosen, bound)


def release_coverage(
    method: "Method",
    texts: tuple[sp.csr_matrix, NDArray[np.int64] | None] | ShardedWords,
    words: tuple[tuple[str, ...], tuple[str, ...]],
    stream: SecureStream,
    reservation: Reservation,
) -> Coverage | None:
    """Release how much of the text the chosen words make up; the only place that sees the texts.

    Parameters
    ----------
    method : Method
        That has chosen the words.
    texts : (counts, persons) or ShardedWords
        As for :func:`coverage_sum`.
    words : (all words, chosen words)
        All words of the texts, in the order of their columns, and those that are released.
    stream : SecureStream
    reservation : Reservation
        Of the choice.

    Returns
    -------
    Coverage or None
        None by a method that sets nothing aside for it, or where the noise leaves no number of units above zero.
    """
    if isinstance(method, Greedy):
        return None
    named = frozenset(words[1])
    chosen = np.fromiter((word in named for word in words[0]), np.bool_, len(words[0]))
    bound, noise = Bound("l2", privacy_unit=method.privacy_unit), method.coverage_noise
    if isinstance(texts, ShardedWords):
        total = texts.shards.sum(_sum_of_rows, chosen, bound)
    else:
        total = coverage_sum(*texts, chosen, bound)
    noisy = GaussianMechanism(bound, noise).release(BoundedSum(total, bound), stream, reservation)
    inside, outside = (float(value) * bound.step for value in noisy.tolist())
    n_units = inside + outside
    if n_units < 1:
        return None
    share = min(max(inside / n_units, 0.0), 1.0)
    return Coverage(share, noise * float(np.hypot(share, 1 - share)) / n_units, n_units)
