"""Document completion: how probable one half of each document's tokens is, given the other half.

Reference
---------
Wallach, Murray, Salakhutdinov, Mimno, "Evaluation methods for topic models", ICML 2009, doi:10.1145/1553374.1553515.
"""

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from discreet.errors import CorpusError
from discreet.lda._fold_in import fold_in, log_likelihood

__all__ = ["completion", "token_log_likelihood"]

# Part of the definition, so that figures stay comparable: this many steps of expectation maximisation.
_STEPS = 40


def completion(
    topic_word: ArrayLike,
    counts: Any,
    *,
    doc_topic_prior: ArrayLike = 0.1,
    random_state: int = 0,
    n_jobs: int | None = None,
) -> float:
    """Return the mean log likelihood of a token of the second halves, in nats; at most 0, higher is better.

    Each token goes to either half by a fair coin (a binomial draw for each count). The topic proportions are the mode
    given the first half (``fold_in``, 40 steps).

    Parameters
    ----------
    topic_word : array of shape (n_topics, n_words)
    counts : CSR matrix of shape (n_documents, n_words)
        Whole numbers, in canonical form.
    doc_topic_prior : float or array of shape (n_topics,), default 0.1
    random_state : int, default 0
        Seed of the halves: the same for every model.
    n_jobs : int, optional

    Raises
    ------
    CorpusError
        Where no token is left to score, or counts are not whole.
    """
    if (counts.data != np.floor(counts.data)).any():
        raise CorpusError("tokens are scored, so that counts must be whole numbers.")
    seen = np.random.default_rng(random_state).binomial(counts.data.astype(np.int64), 0.5)
    first, second = _with(counts, seen), _with(counts, counts.data - seen)
    return token_log_likelihood(topic_word, first, second, doc_topic_prior, n_jobs)


def token_log_likelihood(
    topic_word: ArrayLike, seen: Any, scored: Any, doc_topic_prior: ArrayLike, n_jobs: int | None
) -> float:
    """Return the mean log likelihood of a token of ``scored``, with topic proportions from ``seen``."""
    # What is scored must be clean of zeros: 0 * ln 0 is not a number.
    scored = scored.copy()
    scored.eliminate_zeros()
    n_tokens = int(scored.data.sum(dtype=np.int64))
    if n_tokens == 0:
        raise CorpusError("no token is left to score: give longer documents, or more of them.")
    doc_topic = fold_in(
        topic_word, seen, doc_topic_prior=doc_topic_prior, max_iter=_STEPS, tol=0.0, n_jobs=n_jobs
    )
    return float(log_likelihood(topic_word, doc_topic, scored, n_jobs=n_jobs).sum()) / n_tokens


def _with(documents: Any, data: NDArray[Any]) -> Any:
    return sp.csr_matrix((data, documents.indices, documents.indptr), shape=documents.shape)
