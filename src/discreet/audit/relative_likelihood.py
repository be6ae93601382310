r"""The relative membership attack (RMIA): whether the target favours a document over most other documents.

Where :func:`discreet.audit.likelihood_ratio_scores` asks how a document's own statistic is distributed with and without
it, this attack compares it with the other documents, and so needs few shadow models. It is best offline: a mean of
probabilities of whole documents is that of the shadow which knows the document best, mostly one that saw it. With
:math:`p(d \mid \Phi) = e^{\zeta(\Phi, d)}` and its mean over shadows :math:`p(d)`,

.. math:: \Lambda(d) = \frac{p(d \mid \Phi)}{p(d)} , \qquad
   \text{score}(d) = \Pr_{z \ne d}\Bigl[\frac{\Lambda(d)}{\Lambda(z)} \ge \gamma\Bigr] ,

:math:`z` being any other document of the audit. Online, :math:`p(d)` is the mean over as many shadows that saw the
document as did not; offline over those that did not. (The source corrects the offline mean by a line in :math:`p`,
fitted to probabilities of classes. Those of whole documents are smaller by hundreds of nats, where any such line is
its constant: it is left out.)

The attack is not private and promises nothing: it is for whoever holds the text.

Reference
---------
Zarifzadeh, Liu, Shokri, "Low-cost high-power membership inference attacks", arXiv:2312.03262.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from discreet._validate import check, number
from discreet.audit.arguments import check_statistics

__all__ = ["relative_likelihood_scores"]


def relative_likelihood_scores(
    statistics: NDArray[np.float64],
    shadow_statistics: NDArray[np.float64],
    shadow_members: NDArray[np.bool_],
    *,
    online: bool = True,
    gamma: float = 1.0,
) -> NDArray[np.float64]:
    """Score documents by the share of other documents that the target favours less.

    Parameters
    ----------
    statistics : array of shape (n_documents,) or (n_targets, n_documents)
        Of the target.
    shadow_statistics : array of shape (n_shadows, n_documents)
    shadow_members : array of shape (n_shadows, n_documents), bool
        Every document must be out of at least 1 of them, and in at least 1 (online).
    online : bool, default True
    gamma : float, default 1.0
        At least 1. How many times as much it must be favoured; above 1 scores tie at both ends.

    Returns
    -------
    array of the shape of ``statistics``
        From 0 to 1; larger means member.

    Raises
    ------
    ParameterError
        If shapes do not fit, a statistic is not finite, or a document has no shadow on a side needed.
    """
    check(gamma=(gamma, number(least=1)))
    statistics, shadow_statistics, shadow_members = check_statistics(
        statistics, shadow_statistics, shadow_members, least=1, online=online
    )
    mean = _log_mean(shadow_statistics, ~shadow_members)
    if online:  # each side counts one half, however many shadows it has
        mean = np.logaddexp(mean, _log_mean(shadow_statistics, shadow_members)) - math.log(2.0)
    favoured = np.atleast_2d(statistics - mean)
    ordered = np.sort(favoured, axis=1)
    below = [
        np.searchsorted(row, one - math.log(gamma), side="right")
        for row, one in zip(ordered, favoured, strict=True)
    ]
    itself = 1 if gamma == 1.0 else 0
    return ((np.array(below) - itself) / max(1, favoured.shape[1] - 1)).reshape(np.shape(statistics))


def _log_mean(values: NDArray[np.float64], chosen: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Return the logarithm of the mean of e^value over the chosen rows of each column."""
    total = logsumexp(np.where(chosen, values, -np.inf), axis=0)
    return np.asarray(total, np.float64) - np.log(chosen.sum(axis=0))
