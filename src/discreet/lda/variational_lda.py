"""VariationalLDA: LDA by variational Bayes, batch or stochastic, in scikit-learn's manner.

A shell around ``variational`` (``init``, ``step``, ``bound``): checks, the loop, and progress. No privacy: the
fitted topics are exact functions of the documents.

The bits of every result depend on the data, the parameters and the seed, and not on ``n_jobs``.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field
from functools import partial
from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from discreet._base import validate
from discreet._base.arrays import as_numbers
from discreet._base.lazy import is_sharded
from discreet._base.progress import Callback, tell
from discreet._base.threads import count_threads
from discreet.errors import CorpusError, ParameterError
from discreet.lda import svi
from discreet.lda.documents import (
    Documents,
    TopicEstimator,
    check_prior,
    read_for,
    read_shards_for,
    refuse_engine,
    stack,
)
from discreet.lda.gibbs.draw import new_seed
from discreet.lda.theta import Inference

_INITS = ("auto", "fast", "random")


@validate.declared
@dataclass(eq=False, repr=False)
class VariationalLDA(TopicEstimator):
    r"""Latent Dirichlet allocation by variational Bayes.

    Parameters
    ----------
    n_topics : int, default 20
        Number of topics, K.
    doc_topic_prior : float or array of shape (n_topics,), default 0.1
        alpha, the Dirichlet prior of a document's topics.
    topic_word_prior : float, default 0.01
        eta, the Dirichlet prior of a topic's words.
    max_iter : int, default 100
        Most passes over the documents.
    tol : float, default 1e-3
        Batch only: training ends when a pass moves the topics' word probabilities by less than this (half
        the sum of absolute changes, mean over topics). 0 makes all ``max_iter`` passes.
    batch_size : int, optional
        None: batch updates, each from all documents. An int: stochastic updates, each from so many
        documents, in a new random order each pass.
    learning_offset, learning_decay : float, default 10.0 and 0.7
        tau_0 and kappa of the stochastic step size (tau_0 + t) ** -kappa.
    total_documents : int, optional
        ``partial_fit``: how many documents there are in all, seen or not. By default those seen so far.
    max_doc_update_iter : int, default 100
        A document is done after this many iterations.
    mean_change_tol : float, default 1e-3
        A document is done when the mean absolute change of its Dirichlet parameters is smaller than this.
    init : "auto", "fast", "random" or array of shape (n_topics, n_words), default "auto"
        What topics begin with. "fast": topics found on small batches of the documents, whole counts, for batch updates
        and up to 3,000 topics, else as "random". "random": Dirichlet parameters gamma(100) / 100. "auto": "fast" for
        whole counts of up to 4 million tokens. An array: Dirichlet parameters.
    random_state : int, RandomState or Generator, optional
        Seed of the random start and of the order of batches. None takes a new seed from the operating
        system; ``seed_`` keeps it, so that any fit can be repeated.
    n_jobs : int, optional
        Threads; -1 for all cores.
    callback : callable, optional
        ``callback(stage, done, total)`` after each pass.
    engine : Engine, optional
        What goes through the shards of a corpus (:mod:`discreet.engines`), in batch updates and ``transform``; by
        default ``n_jobs`` threads.

    Attributes
    ----------
    components_ : array of shape (n_topics, n_words), float64
        lambda: Dirichlet parameters of the topics.
    topic_word_ : array of shape (n_topics, n_words), float64
        Their means; rows sum to 1.
    n_iter_ : int
        Passes made by ``fit``; batches seen by ``partial_fit``.
    n_steps_ : int
        Updates of the topics.
    n_documents_seen_ : int
        Documents of ``fit``, or of all calls of ``partial_fit``.
    seed_ : int
        The seed that was used.
    n_features_in_ : int
        Number of words.

    Notes
    -----
    Nothing per document is kept. This is the model without privacy: what is fitted depends on each document
    exactly.

    Examples
    --------
    >>> counts = [[5, 4, 0, 0], [4, 6, 0, 0], [0, 0, 7, 3], [0, 0, 4, 5]]
    >>> model = VariationalLDA(2, random_state=0).fit(counts)
    >>> model.transform(counts).argmax(axis=1).tolist() in ([0, 0, 1, 1], [1, 1, 0, 0])
    True
    """

    n_features_in_: int = field(init=False)

    n_topics: Annotated[int, validate.whole()] = 20
    _: KW_ONLY
    doc_topic_prior: Annotated[ArrayLike, validate.ANYTHING] = 0.1  # see _faults
    topic_word_prior: Annotated[float, validate.number(above=0)] = 0.01
    max_iter: Annotated[int, validate.whole()] = 100
    tol: Annotated[float, validate.number(least=0)] = 1e-3
    batch_size: Annotated[int | None, validate.optional(validate.whole())] = None
    learning_offset: Annotated[float, validate.number(least=0)] = 10.0
    learning_decay: Annotated[float, validate.number(above=0.5, most=1)] = 0.7  # at 0.5 it would not settle
    total_documents: Annotated[int | None, validate.optional(validate.whole())] = None
    max_doc_update_iter: Annotated[int, validate.whole()] = 100
    mean_change_tol: Annotated[float, validate.number(least=0)] = 1e-3
    init: Annotated[
        Literal["auto", "fast", "random"] | ArrayLike,
        validate.Rule(
            '"auto", "fast", "random" or an array',
            lambda value: not isinstance(value, str) or value in _INITS,
        ),
    ] = "auto"
    random_state: Annotated[Any, validate.RANDOM] = None
    n_jobs: Annotated[int | None, validate.THREADS] = None
    callback: Annotated[Callback | None, validate.CALLBACK] = None
    engine: Annotated[Any, validate.ENGINE] = None

    def fit(self, X: Any, y: Any = None) -> VariationalLDA:
        """Train on documents.

        Parameters
        ----------
        X : Corpus, ShardedCorpus, sparse or dense matrix of shape (n_documents, n_words)
            Counts, or other weights, not negative.
        y : None
            Ignored.

        Raises
        ------
        ParameterError, CorpusError
            Names all parameters that are out of range; or X is negative, not finite, or not a matrix.
        """
        self._check_parameters()
        why_not = self._kept_from_shards(X)
        by_shard = why_not is None
        if why_not is not None:
            refuse_engine(self.engine, why_not)
        documents: Any = read_shards_for(self, X, reset=True) if by_shard else read_for(self, X, reset=True)
        n_documents = int(X.n_documents) if by_shard else documents.n_documents
        self.seed_ = new_seed(self.random_state)
        rng = np.random.default_rng(self.seed_)
        how, eta = self._inference(), float(self.topic_word_prior)
        if not by_shard and self._begins_fast(documents.counts):
            state = svi.init(svi.fast_components(documents, how.prior, eta, self.seed_, how.n_threads))
        else:
            state = self._start(self.n_features_in_, rng)
        self.n_iter_ = 0
        if self.batch_size is None:
            if by_shard:
                n_tokens = float(X.n_tokens)
                advance = partial(svi.step_over_shards, through=documents, n_tokens=n_tokens)
            else:
                advance = partial(svi.step, batches=svi.prepare(documents, self.n_topics))
            before = _means(state)
            for done in range(1, self.max_iter + 1):
                state = advance(state, how=how, topic_word_prior=eta)
                self.n_iter_ = done
                tell(self.callback, "fit", done, self.max_iter)
                if self.tol > 0:
                    after = _means(state)
                    if 0.5 * np.abs(after - before).sum() < self.tol * self.n_topics:
                        break
                    before = after
        else:
            for done in range(1, self.max_iter + 1):
                order = rng.permutation(documents.n_documents)
                for first in range(0, documents.n_documents, self.batch_size):
                    chosen = svi.pick(documents, order[first : first + self.batch_size])
                    state = self._move(state, chosen, documents.n_documents, how)
                self.n_iter_ = done
                tell(self.callback, "fit", done, self.max_iter)
        self.n_documents_seen_ = n_documents
        return self._keep(state)

    def partial_fit(self, X: Any, y: Any = None) -> VariationalLDA:
        """Make one stochastic update from these documents (one for each ``batch_size`` of them, if that is set).

        The first call begins at random, or with the array of ``init``. Parameters as for ``fit``.
        """
        self._check_parameters()
        refuse_engine(self.engine, "partial_fit takes a batch in memory")
        first_call = not hasattr(self, "_state")
        documents = read_for(self, X, reset=first_call)
        if first_call:
            self.seed_ = new_seed(self.random_state)
            self.n_documents_seen_ = self.n_iter_ = 0
            state = self._start(documents.n_words, np.random.default_rng(self.seed_))
        else:
            state: svi.State = self._state
        how = self._inference()
        size = self.batch_size or documents.n_documents
        for first in range(0, documents.n_documents, size):
            batch = documents.rows(first, min(first + size, documents.n_documents))
            self.n_documents_seen_ += batch.n_documents
            state = self._move(state, batch, self.total_documents or self.n_documents_seen_, how)
            self.n_iter_ += 1
        return self._keep(state)

    def transform(self, X: Any) -> NDArray[np.float64]:
        """Find the topic proportions of documents: the means of their variational Dirichlets.

        Parameters
        ----------
        X : Corpus, sparse or dense matrix of shape (n_documents, n_words)
            Documents.

        Returns
        -------
        array of shape (n_documents, n_topics), float64
            Rows sum to 1; a document without words has the prior's mean. Each row depends on its document only.
        """
        check_is_fitted(self)
        how = self._inference()
        table = svi.word_weights(self._state, how.n_threads)
        if is_sharded(X):
            through = read_shards_for(self, X, reset=False)
            return stack(through.map(svi.shares, table, how._replace(n_threads=1)), X, self.n_topics)
        return svi.shares(read_for(self, X, reset=False), table, how)

    def score(self, X: Any, y: Any = None) -> float:
        """Return the evidence lower bound of the documents, in nats, with the topics' own part; higher is better."""
        check_is_fitted(self)
        documents = read_for(self, X, reset=False)
        return svi.bound(self._state, documents, self._inference(), float(self.topic_word_prior))

    def perplexity(self, X: Any) -> float:
        """Return exp(-score / tokens), as scikit-learn's ``perplexity``; lower is better.

        It rests on a bound and is transductive. To compare models use
        ``discreet.evaluate.completion_perplexity``.
        """
        check_is_fitted(self)
        documents = read_for(self, X, reset=False)
        n_tokens = float(documents.counts.sum())
        if n_tokens <= 0:
            raise CorpusError("the documents hold no token: there is nothing to score.")
        value = svi.bound(self._state, documents, self._inference(), float(self.topic_word_prior))
        return float(np.exp(-value / n_tokens))

    def _move(self, state: svi.State, chosen: Documents, total: int, how: Inference) -> svi.State:
        rate = (self.learning_offset + state.n_steps + 1) ** -self.learning_decay
        scale = total / chosen.n_documents
        batches, eta = svi.prepare(chosen, self.n_topics), float(self.topic_word_prior)
        return svi.step(state, batches, how, eta, rate=rate, scale=scale)

    def _inference(self) -> Inference:
        prior = check_prior("doc_topic_prior", self.doc_topic_prior, self.n_topics)
        return Inference(prior, self.max_doc_update_iter, self.mean_change_tol, count_threads(self.n_jobs))

    def _begins_fast(self, counts: NDArray[np.float64] | int) -> bool:
        return self.batch_size is None and svi.begins_fast(self.init, self.n_topics, counts)

    def _kept_from_shards(self, X: Any) -> str | None:
        """Say why documents are read into memory; None where they are in shards and can stay there."""
        if not is_sharded(X):
            return "X is in memory"
        if self.batch_size is not None:
            return "stochastic updates take documents in random order"
        if self._begins_fast(int(X.n_tokens)):
            return 'a fast start needs all documents in memory; give init="random", which does not need them'
        return None

    def _start(self, n_words: int, rng: np.random.Generator) -> svi.State:
        shape = (self.n_topics, n_words)
        if isinstance(self.init, str):
            return svi.init(rng.gamma(100.0, 0.01, shape))
        components = np.asarray(as_numbers(self.init, "init", ""), dtype=np.float64)
        if components.shape != shape or not np.isfinite(components).all() or not (components > 0).all():
            raise ParameterError(
                f"init must be positive numbers of shape {shape} (n_topics, n_words), "
                f"but has shape {components.shape}."
            )
        return svi.init(components)

    def _keep(self, state: svi.State) -> VariationalLDA:
        self._state = state
        self.n_steps_ = state.n_steps
        self.components_ = state.components
        self.topic_word_ = self.components_ / self.components_.sum(axis=1, keepdims=True)
        return self


def _means(state: svi.State) -> NDArray[np.float64]:
    """Topic-word probabilities in the layout of the state, (n_words, width); zeros in the padding."""
    sums = state.parameters.sum(axis=0)
    return state.parameters / np.where(sums > 0, sums, 1.0)
