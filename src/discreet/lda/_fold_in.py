r"""Fold new documents into a fixed model: the topics that each is about.

Deterministic, one document at a time, no state: the same bits for any number of threads and any neighbours.
Three answers for the same question (:mod:`discreet.lda.theta` has the iterations):

* ``map``: the mode of :math:`\sum_w n_w \ln \theta\cdot\phi_w + \sum_k \alpha_k \ln \theta_k`; that is concave, so
  there is one mode.
* ``maximum_likelihood``: the same with :math:`\alpha = 0`. Its value is :func:`query_statistic`.
* ``variational``: the mean of the variational Dirichlet, as in scikit-learn's ``transform``.

**Document completion** (:func:`completion`) is how probable one half of each document's tokens is, given the other
half.

Guarantee: none. The topics of a document are as private as the document; only where ``topic_word`` came from
a release is *that* side of the computation safe to share.

Reference
---------
Wallach, Murray, Salakhutdinov, Mimno, "Evaluation methods for topic models", ICML 2009,
doi:10.1145/1553374.1553515 (completion).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from discreet._base.arrays import as_numbers
from discreet._base.lazy import is_sharded
from discreet._base.threads import count_threads
from discreet._base.validate import check, choice, number, whole
from discreet.errors import CorpusError, ParameterError
from discreet.lda.documents import (
    Documents,
    check_prior,
    check_topics,
    open_shards,
    read_documents,
    stack,
)
from discreet.lda.emitted import pad_table
from discreet.lda.theta import FLOOR, Inference, find_modes, infer

Method = Literal["map", "variational", "maximum_likelihood"]
_METHODS = ("map", "variational", "maximum_likelihood")
_MAX_ITER, _TOL = 1000, 1e-5
#: Of completion. Part of its definition, so that figures stay comparable: steps of expectation maximisation.
_COMPLETION_STEPS = 40


def fold_in(
    topic_word: ArrayLike,
    counts: Any,
    *,
    doc_topic_prior: ArrayLike = 0.1,
    method: Method = "map",
    max_iter: int = _MAX_ITER,
    tol: float = _TOL,
    n_jobs: int | None = None,
    engine: Any = None,
) -> NDArray[np.float64]:
    """Find the topic proportions of documents under a fixed model.

    Parameters
    ----------
    topic_word : array of shape (n_topics, n_words)
        Probability of each word in each topic; rows are scaled to sum to 1.
    counts : Corpus, ShardedCorpus, sparse or dense matrix of shape (n_documents, n_words)
        How often each word stands in each document; not negative. Shards are read one by one.
    doc_topic_prior : float or array of shape (n_topics,), default 0.1
        alpha: tokens that each topic has in a document before any word is seen. Without effect on
        ``maximum_likelihood``.
    method : {"map", "variational", "maximum_likelihood"}, default "map"
        What is computed.
    max_iter : int, default 1000
        Most iterations for one document.
    tol : float, default 1e-5
        When a document is done. ``map`` and ``maximum_likelihood``: the objective is within ``tol`` nats a
        token (prior tokens count) of its maximum, by proof. ``variational``: the mean absolute change of
        the Dirichlet's parameters is below ``tol``. 0 means ``max_iter`` iterations or until nothing grows.
    n_jobs : int, optional
        Threads; results do not depend on it.
    engine : Engine, optional
        What goes through shards (:mod:`discreet.engines`); by default those threads.

    Returns
    -------
    array of shape (n_documents, n_topics), float64
        Rows sum to 1. A document without words gets the prior's mean (equal shares under
        ``maximum_likelihood``).

    Raises
    ------
    ParameterError, CorpusError
        An argument is out of range, or counts and topics do not fit.

    Examples
    --------
    >>> fold_in([[0.5, 0.5, 0.0], [0.0, 0.0, 1.0]], [[4, 4, 0], [0, 0, 0]]).round(2)
    array([[0.99, 0.01],
           [0.5 , 0.5 ]])
    """
    topics = check_topics(topic_word)
    check(method=(method, choice(*_METHODS)), max_iter=(max_iter, whole()), tol=(tol, number(least=0)))
    how = Inference(check_prior("doc_topic_prior", doc_topic_prior, len(topics)), max_iter, tol)
    if is_sharded(counts):
        through = open_shards(counts, engine, n_jobs, n_words=topics.shape[1])
        return stack(through.map(_fold, topics, how, method), counts, len(topics))
    how = how._replace(n_threads=count_threads(n_jobs))
    return _fold(read_documents(counts, topics.shape[1]), topics, how, method)


def fold_in_shards(
    topic_word: ArrayLike,
    corpus: Any,
    *,
    words: tuple[str, ...] | None = None,
    doc_topic_prior: ArrayLike = 0.1,
    n_jobs: int | None = None,
    engine: Any = None,
) -> Iterator[NDArray[np.float64]]:
    """Yield what :func:`fold_in` says of the documents of each shard of a ShardedCorpus, in their order; never more is
    held.

    ``words``: the word of each column of ``topic_word``, where the columns of the corpus may stand in another order;
    other words of the corpus are left out.
    """
    topics = check_topics(topic_word)
    how = Inference(check_prior("doc_topic_prior", doc_topic_prior, len(topics)), _MAX_ITER, _TOL)
    through = open_shards(corpus, engine, n_jobs, words=words, n_words=topics.shape[1])
    return through.map(_fold, topics, how, "map")


def _fold(
    documents: Documents, topics: NDArray[np.float64], how: Inference, method: str
) -> NDArray[np.float64]:
    if method == "variational":
        found = infer(pad_table(topics), documents, how, with_quotients=False)
        doc_topic = np.ascontiguousarray(found.gamma[:, : len(topics)])
    else:
        start = how.prior / how.prior.sum()
        if method == "maximum_likelihood":
            start = np.full(len(topics), 1 / len(topics))
            how = how._replace(prior=0 * start)
        doc_topic, _ = find_modes(topics, documents, how, start, with_value=False)
        doc_topic[doc_topic <= FLOOR] = 0.0
        # Not one word that any topic could produce: as if there were no words.
        doc_topic[~doc_topic.any(axis=1)] = start
    return doc_topic / doc_topic.sum(axis=1, keepdims=True)


def query_statistic(
    topic_word: ArrayLike,
    counts: Any,
    *,
    max_iter: int = 1000,
    tol: float = 1e-4,
    n_jobs: int | None = None,
) -> NDArray[np.float64]:
    r"""Find how well a model can explain each document: the statistic that membership inference asks for.

    .. math:: \zeta(\Phi, d) = \max_\theta \sum_w n_w \ln \sum_k \theta_k \Phi_{kw}

    Every token counts, repeated words as often as they are repeated.

    Parameters
    ----------
    topic_word : array of shape (n_topics, n_words) or (n_models, n_topics, n_words)
        One model or several; rows are scaled to sum to 1.
    counts : Corpus, sparse or dense matrix of shape (n_documents, n_words)
        The documents.
    max_iter : int, default 1000
        Most iterations for one document.
    tol : float, default 1e-4
        A document is done when its value is within ``tol`` nats a token of the maximum, by proof.
    n_jobs : int, optional
        Threads; results do not depend on it.

    Returns
    -------
    array of shape (n_documents,) or (n_models, n_documents), float64
        In nats, at most 0. A document without words has 0; one with a word that no topic can produce, -inf.

    Reference
    ---------
    Manzonelli, Zhang, Vadhan, "Membership inference attacks and privacy in topic modeling", arXiv:2403.04451.
    """
    models = np.asarray(as_numbers(topic_word, "topic_word", ""), dtype=np.float64)
    if models.ndim not in (2, 3):
        raise ParameterError(
            f"topic_word must have shape (n_topics, n_words) or (n_models, n_topics, n_words), "
            f"but has {models.shape}."
        )
    check(max_iter=(max_iter, whole()), tol=(tol, number(least=0)))
    documents = read_documents(counts, models.shape[-1])
    n_threads = count_threads(n_jobs)
    values: list[NDArray[np.float64]] = []
    for model in models if models.ndim == 3 else models[np.newaxis]:
        topics = check_topics(model)
        start = np.full(len(topics), 1 / len(topics))
        how = Inference(0 * start, max_iter, tol, n_threads)
        _, value = find_modes(topics, documents, how, start, with_value=True)
        values.append(value)
    return values[0] if models.ndim == 2 else np.array(values).reshape(len(values), documents.n_documents)


def log_likelihood(
    topic_word: ArrayLike, doc_topic: ArrayLike, counts: Any, *, n_jobs: int | None = None
) -> NDArray[np.float64]:
    """Return the log likelihood of each document, in nats: sum over words of count times ln(doc_topic . topic_word).

    Without multinomial coefficients; -inf where a word cannot come. ``topic_word``: (n_topics, n_words), rows are
    scaled to sum to 1; ``doc_topic``: (n_documents, n_topics), rows sum to 1; ``counts``: Corpus, sparse or dense
    matrix of shape (n_documents, n_words). The result, (n_documents,), does not depend on the threads.
    """
    topics = check_topics(topic_word)
    documents = read_documents(counts, topics.shape[1])
    shares = np.asarray(as_numbers(doc_topic, "doc_topic", ""), dtype=np.float64)
    if shares.shape != (documents.n_documents, len(topics)):
        raise ParameterError(
            f"doc_topic must have shape {(documents.n_documents, len(topics))}, but has {shares.shape}."
        )
    how = Inference(np.zeros(len(topics)), 0, n_threads=count_threads(n_jobs))
    return find_modes(topics, documents, how, shares, with_value=True)[1]


def completion(
    topic_word: ArrayLike,
    counts: Any,
    *,
    doc_topic_prior: ArrayLike = 0.1,
    random_state: int = 0,
    n_jobs: int | None = None,
) -> float:
    """Return the mean log likelihood of a token of the second halves, in nats; at most 0, higher is better.

    Each token goes to either half by a fair coin (a binomial draw for each count) from ``random_state``, the same for
    every model. The topic proportions are the mode given the first half (``fold_in``, 40 steps). ``counts``: CSR in
    canonical form. ``CorpusError`` where no token is left to score, or counts are not whole.
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
        topic_word, seen, doc_topic_prior=doc_topic_prior, max_iter=_COMPLETION_STEPS, tol=0.0, n_jobs=n_jobs
    )
    return float(log_likelihood(topic_word, doc_topic, scored, n_jobs=n_jobs).sum()) / n_tokens


def _with(documents: Any, data: NDArray[Any]) -> Any:
    return sp.csr_matrix((data, documents.indices, documents.indptr), shape=documents.shape)
