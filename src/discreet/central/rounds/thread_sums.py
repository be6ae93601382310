"""Integer sums over units, in as many pieces as there are threads."""

from collections.abc import Callable
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from discreet._threads import balanced_cuts, count_threads, share_out
from discreet.central.rounds.units import Units

__all__ = ["sum_over_pieces"]


def sum_over_pieces(
    work: Callable[[tuple[int, int]], NDArray[np.int64]], units: Units, n_jobs: int | None
) -> NDArray[np.int64]:
    """Return the sum of ``work((low, high))`` over consecutive ranges of units.

    Integers add up to the same total wherever the ranges are cut, so the answer does not depend on
    ``n_jobs``.
    """
    n_threads = count_threads(n_jobs)
    cuts = balanced_cuts(units.entry_starts, n_threads).tolist()
    parts = share_out(work, pairwise(cuts), n_threads)
    total = parts[0]
    for part in parts[1:]:
        total += part
    return total
