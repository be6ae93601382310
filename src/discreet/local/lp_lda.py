r"""LP-LDA's reconstruction: turn random bits until column sums are right, then train on them as if they were true.

With n_t ones in column t of M reports, an unbiased number of documents that have word t is

.. math:: \hat N_t = \frac{n_t - M q}{p - q} \qquad \Big(= \frac{2 n_t - f M}{2 (1 - f)}
          \text{ for } q = 1 - p = f / 2\Big),

whose variance over the noise is :math:`M q (1 - q) / (p - q)^2 = M f (2 - f) / (4 (1 - f)^2)` for the symmetric
channel. It is clipped to [0, M]; the difference to n_t is made up by turning that many random zeros of the column
into ones, or ones into zeros. This repairs how often words occur; that words occur *together* stays diluted by the
channel, and by the random repair. Post-processing of the reports.

Reference
---------
Zhao et al., "Latent Dirichlet allocation model training with differential privacy", arXiv:2010.04391.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import CorpusError
from discreet.lda.moments.estimates import Channel

__all__ = ["estimated_counts", "rebuild"]


def estimated_counts(ones: NDArray[np.int64], n_reports: int, channel: Channel) -> NDArray[np.float64]:
    """Return unbiased numbers of documents that have each word, not clipped; shape (n_words,)."""
    p, q = float(channel.p), float(channel.q)
    return np.asarray((ones - n_reports * q) / (p - q), dtype=np.float64)


def rebuild(
    rows: NDArray[np.uint8], channel: Channel, rng: Any, *, wanted: NDArray[np.float64] | None = None
) -> NDArray[np.uint8]:
    """Return bits with repaired column sums.

    Parameters
    ----------
    rows : array of shape (n_reports, n_words), uint8
        Reports; not changed.
    channel : Channel
    rng : numpy Generator
        Chooses which bits to turn. No privacy depends on it.
    wanted : array of shape (n_words,), optional
        Column sums to reach, instead of the unbiased ones.

    Returns
    -------
    array of shape (n_reports, n_words), uint8
    """
    if not len(rows):
        raise CorpusError("there is no report to rebuild documents from; add some first.")
    n_reports = len(rows)
    ones = rows.sum(0, dtype=np.int64)
    if wanted is None:
        wanted = estimated_counts(ones, n_reports, channel)
    target = np.clip(np.rint(wanted), 0, n_reports).astype(np.int64)
    columns = np.array(rows, order="F")  # always a copy
    for word in np.flatnonzero(target != ones):
        column, more = columns[:, word], int(target[word] - ones[word])
        turned = np.flatnonzero(column == (0 if more > 0 else 1))
        column[rng.choice(turned, size=abs(more), replace=False, shuffle=False)] = 1 if more > 0 else 0
    return np.ascontiguousarray(columns)
