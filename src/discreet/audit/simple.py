r"""Simple attacks: whether a mixture of topics is too clear-cut for a document that the model has not seen.

The mixture :math:`\hat\theta` is folded in; its largest share, its standard deviation or its negative entropy is
compared with one threshold for all documents. They need no shadow model and are far weaker than
:func:`discreet.audit.lira`.

Reference
---------
Huang et al., as taken up in Manzonelli, Zhang, Vadhan, "Membership inference attacks and privacy in topic
modeling", arXiv:2403.04451.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import xlogy

from discreet._numbers import as_array
from discreet.audit.attack_report import AuditReport, Coins
from discreet.errors import ParameterError
from discreet.lda import fold_in

__all__ = ["of_mixture", "simple_attacks"]


def simple_attacks(
    topic_word: ArrayLike,
    corpus: Any,
    members: ArrayLike,
    *,
    epsilon: float | None = None,
    delta: float | None = None,
    coins: Coins = "unknown",
    n_jobs: int | None = None,
) -> dict[str, AuditReport]:
    """Attack one model by the mixtures of documents.

    Parameters
    ----------
    topic_word : array of shape (n_topics, n_words)
    corpus : Corpus, sparse or dense matrix of shape (n_documents, n_words)
    members : array of shape (n_documents,), bool
        Who was in the model's training corpus.
    epsilon, delta, coins
        As for :class:`AuditReport`.
    n_jobs : int, optional
        Threads; results do not depend on it.

    Returns
    -------
    dict of str to AuditReport
        "max", "std" and "entropy".
    """
    theta = np.asarray(fold_in(topic_word, corpus, n_jobs=n_jobs))
    members = as_array(members, "members")
    if members.shape != (len(theta),):
        raise ParameterError(f"members must be {len(theta)} booleans, but have shape {members.shape}.")
    return {
        name: AuditReport(values, members, name, epsilon, delta, coins)
        for name, values in of_mixture(theta).items()
    }


def of_mixture(theta: NDArray[np.float64]) -> dict[str, NDArray[np.float64]]:
    """Return the three statistics of mixtures, shape (n_documents, n_topics): the more clear-cut, the larger."""
    return {"max": theta.max(axis=1), "std": theta.std(axis=1), "entropy": xlogy(theta, theta).sum(axis=1)}
