r"""How many topics the noise lets through, before anything is fitted.

Whiten the unbiased covariance of n documents: divide row and column i by the standard deviation of one
document's estimate of word i,

.. math:: A_{ij} = \frac{\hat C_{ij} - \hat u_i \hat u_j}{\sqrt{s_i s_j}}, \quad A_{ii} = 0, \qquad
          s_i = u_i (1 - u_i) + (1 - u_i) \frac{q (1 - q)}{(p - q)^2} + u_i \frac{p (1 - p)}{(p - q)^2}.

Were the words independent, A would be the off-diagonal part of a sample correlation matrix, whose largest
eigenvalue is :math:`2 \sqrt{V/n} + V/n` (Marchenko and Pastur). Eigenvalues above it are structure: their number
is how many directions, hence about how many topics, can be told from noise. One of them usually is the length of
documents (all words rise together), so a single one says that nothing but lengths can be seen.

Where bits are so rare that most pairs are never seen, single chance pairs would stand far above that edge, which
is a law of many small terms. So the variance of a bit is taken as at least :math:`1 / \sqrt n` (one chance pair in
n reports).

Reference
---------
Marchenko, Pastur, "Distribution of eigenvalues for some sets of random matrices", 1967,
doi:10.1070/SM1967v001n04ABEH001994.
"""

import numpy as np
from numpy.typing import NDArray

from discreet._threads import one_blas_thread
from discreet.lda.moments.estimates import Estimates
from discreet.lda.moments.noisy import NoisyMoments

__all__ = ["learnable", "whitened"]


def whitened(found: Estimates) -> tuple[NDArray[np.float64], float]:
    """Return A, and the edge that its eigenvalues keep below where words are independent."""
    rates = np.clip(found.rates, 1e-4, 0.999)
    rarest = 1 / (np.sqrt(found.n_documents) * found.contrast**2)
    scale = 1 / np.sqrt(np.maximum(found.variance(rates), rarest))
    white = scale[:, None] * (found.pairs - np.outer(found.rates, found.rates)) * scale
    np.fill_diagonal(white, 0.0)
    ratio = len(rates) / found.n_documents
    return white, float(2 * np.sqrt(ratio) + ratio)


def learnable(found: Estimates | NoisyMoments) -> int:
    """Return the number of eigenvalues above the noise edge; 1 or less means that there is nothing to learn.

    Parameters
    ----------
    found : Estimates or NoisyMoments
        Of bits, as :class:`~discreet.local.Moments` returns them, or of a noisy co-occurrence matrix.
    """
    white, edge = found.whitened() if isinstance(found, NoisyMoments) else whitened(found)
    with one_blas_thread():  # more threads cost more than they bring at this size
        values = np.linalg.eigvalsh(white)
    return int((values > edge).sum())
