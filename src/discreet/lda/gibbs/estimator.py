"""Latent Dirichlet allocation by Gibbs sampling, as a scikit-learn estimator: chains, and a shell over their sweeps."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, field
from functools import partial
from typing import Annotated, Any, Literal, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from discreet._base import validate
from discreet._base.lazy import is_sharded
from discreet._base.progress import Callback, tell
from discreet._base.threads import count_threads
from discreet.errors import CorpusError
from discreet.lda.documents import TopicEstimator, check_prior, read_for, stack
from discreet.lda.gibbs import frozen, lists
from discreet.lda.gibbs.draw import new_seed
from discreet.lda.gibbs.start import starting_topics, warm_prior
from discreet.lda.gibbs.state import (
    MOST_TOPICS,
    State,
    Tokens,
    begin,
    count_topics,
    read_tokens,
    word_order,
)

#: Up to here a sweep reads a whole row of the table for a draw; above, the list of the topics that the word has.
MOST_TABLE_TOPICS = 200
#: Up to here a chain can begin with a fast start; above, its topics are random.
MOST_FAST_TOPICS = 3000
#: Up to here "auto" begins with one, and then sweeps less often: corpora that it was measured on, see docs/speed.md.
MOST_FAST_TOKENS = 10_000_000
_SWEEPS_AFTER = {True: 100, False: 200}
#: Of sweeps that count in the mean, at least so many apart: neighbours are too much alike to be worth the adding up.
_FEWEST_APART, _ABOUT, _MOST = 2, 12, 24


class Chain(NamedTuple):
    """A chain's first state, and what to do with it."""

    #: The state before the first sweep.
    first: State
    #: ``step(state)`` does a sweep and returns the next state.
    step: Callable[[State], State]
    #: ``table(state)`` counts each word in each topic: (n_words, width), int32, not to be changed.
    table: Callable[[State], NDArray[np.int32]]


def chain(
    tokens: Tokens,
    doc_topic_prior: NDArray[np.float64],
    topic_word_prior: float,
    seed: int,
    *,
    fast: bool = False,
    n_sweeps: int = 0,
    n_threads: int = 1,
) -> Chain:
    """Begin a chain.

    ``fast``: begin with :func:`starting_topics` in place of random ones, and sweep hot at first; how many of the
    ``n_sweeps`` to come are hot depends on their number.
    """
    alpha, beta, n_topics = doc_topic_prior, topic_word_prior, len(doc_topic_prior)
    topics = starting_topics(tokens, alpha, beta, seed, n_threads=n_threads) if fast else None
    if n_topics > MOST_TABLE_TOPICS:
        memory = lists.empty_lists(tokens, n_topics)
        order = memory.order
        first = lists.init(tokens, n_topics, seed, topics)
        step: Callable[..., State] = partial(lists.step, lists=memory, n_threads=n_threads)

        def table(state: State) -> NDArray[np.int32]:
            return count_topics(tokens, state.topics, n_topics, n_threads, order=order)

    else:
        order = word_order(tokens)
        first = begin(tokens, n_topics, seed, n_threads, topics=topics)
        empty = frozen.empty_table(tokens.n_words, n_topics)
        step = partial(frozen.step, memory=empty, order=order, n_threads=n_threads)

        def table(state: State) -> NDArray[np.int32]:
            return state.word_topic

    def advance(state: State) -> State:
        now = warm_prior(tokens, n_topics, beta, state.sweep, n_sweeps) if fast else beta
        return step(state, tokens=tokens, doc_topic_prior=alpha, topic_word_prior=now)

    return Chain(first, advance, table)


def is_sampled(sweep: int, n_sweeps: int, *, fast: bool) -> bool:
    """Whether the counts after sweep 1, 2, ..., ``n_sweeps`` count in the mean; the last ones always do.

    About a dozen sweeps of the last half after a fast start, of the last quarter from random topics: before, the chain
    is still on its way.
    """
    part, left = 2 if fast else 4, n_sweeps - sweep
    return part * left < n_sweeps and left % max(_FEWEST_APART, n_sweeps // (part * _ABOUT)) == 0


@validate.declared
@dataclass(eq=False, repr=False)
class GibbsLDA(TopicEstimator):
    r"""Topic model by Gibbs sampling. **Not private**: for a model that may leave, take ``PrivateLDA``.

    Draws are exact, from counts that are renewed each sweep; above 200 topics from lists of the topics that a word has.

    Parameters
    ----------
    n_topics : int, default 20
        Number of topics, 1 to 65,536.
    doc_topic_prior : float or array of shape (n_topics,), default 0.1
        alpha, positive.
    topic_word_prior : float, default 0.01
        beta, positive.
    init : {"auto", "fast", "random"}, default "auto"
        What the chain begins with. "fast": topics found on small batches of the documents, near a good mode; for up
        to 3,000 topics, above as "random". Of the sweeps after it the first half, 30 at most, have a larger prior of
        words, which helps the chain out of a bad mode. "random": each token's topic at random, which takes 100 to 200
        sweeps more; for diagnostics, which want chains that begin far apart. "auto": "fast" for up to 10 million
        tokens, else "random".
    n_sweeps : int, optional
        Sweeps over the documents. None: 100 after a fast start, however many tokens there are (above ten million that
        was not measured: ask for as many as you have time for), else 200. ``callback``, and the bar of
        ``show_progress``, tell how many there will be, and ``n_sweeps_`` how many there were.
    random_state : int, RandomState, Generator or None, default None
        Seed. None: another model each time. The same seed gives the same bytes for any ``n_jobs``.
    n_jobs : int, optional
        Threads; None is one, -1 all cores.
    callback : callable, optional
        ``callback("sweep", done, total)`` after each sweep.

    Attributes
    ----------
    topic_word_counts_ : array of shape (n_topics, n_words), int32
        Tokens of each word in each topic after the last sweep.
    mean_counts_ : array of shape (n_topics, n_words), float64
        The same, as a mean over about a dozen sweeps of the last quarter; after a fast start of the last half.
    components_ : array of shape (n_topics, n_words), float64
        The mean counts plus ``topic_word_prior``.
    topic_word_ : array of shape (n_topics, n_words), float64
        Probability of each word in each topic; rows sum to 1.
    n_sweeps_ : int
        Sweeps done.
    seed_ : int
        What to give as ``random_state`` to get this model again.
    n_features_in_ : int
        Number of words.

    Notes
    -----
    Nothing per document is kept; ``transform`` folds documents in afresh. The counts are exact and tell about the
    training text: neither they nor this object are fit for release.

    Memory: 13 bytes a token and n_words * n_topics * 16 up to 200 topics, 24 and 8 above; see docs/speed.md.

    Examples
    --------
    >>> X = [[3, 2, 0, 0], [2, 3, 0, 0], [0, 0, 2, 3], [0, 0, 3, 2]]
    >>> model = GibbsLDA(2, random_state=1).fit(X)
    >>> model.transform(X).argmax(axis=1).tolist() in ([0, 0, 1, 1], [1, 1, 0, 0])
    True
    """

    topic_word_counts_: NDArray[np.int32] = field(init=False)
    mean_counts_: NDArray[np.float64] = field(init=False)
    n_sweeps_: int = field(init=False)
    seed_: int = field(init=False)
    n_features_in_: int = field(init=False)

    n_topics: Annotated[int, validate.whole(1, MOST_TOPICS)] = 20
    _: KW_ONLY
    doc_topic_prior: Annotated[ArrayLike, validate.ANYTHING] = 0.1  # see _faults
    topic_word_prior: Annotated[float, validate.number(above=0)] = 0.01
    init: Annotated[Literal["auto", "fast", "random"], validate.choice("auto", "fast", "random")] = "auto"
    n_sweeps: Annotated[int | None, validate.optional(validate.whole())] = None
    random_state: Annotated[Any, validate.RANDOM] = None
    n_jobs: Annotated[int | None, validate.THREADS] = None
    callback: Annotated[Callback | None, validate.CALLBACK] = None

    def fit(self, X: Any, y: Any = None) -> GibbsLDA:
        """Fit topics to documents, from the beginning.

        Parameters
        ----------
        X : Corpus, sparse or dense matrix of shape (n_documents, n_words)
            Whole numbers: how often each word stands in each document.
        y : ignored

        Raises
        ------
        ParameterError, CorpusError
            Names all parameters that are out of range; or the first row where X is not what it should be.
        """
        self._check_parameters()
        alpha = check_prior("doc_topic_prior", self.doc_topic_prior, self.n_topics)
        tokens = read_tokens(read_for(self, X, reset=True))
        n_tokens = len(tokens.words)
        if not n_tokens:
            raise CorpusError("X holds no tokens: a topic model needs at least one document with a word.")
        self.seed_, fast = new_seed(self.random_state), self._begins_fast(n_tokens)
        n_topics, n_sweeps = self.n_topics, _SWEEPS_AFTER[fast] if self.n_sweeps is None else self.n_sweeps
        how: dict[str, Any] = {"fast": fast, "n_sweeps": n_sweeps, "n_threads": count_threads(self.n_jobs)}
        state, step, table = chain(tokens, alpha, float(self.topic_word_prior), self.seed_, **how)
        kind = np.int32 if _MOST * n_tokens < 2**31 else np.int64
        sums, n_samples = np.zeros((tokens.n_words, n_topics), kind), 0
        for done in range(1, n_sweeps + 1):
            state = step(state)
            if is_sampled(done, n_sweeps, fast=fast):
                sums += table(state)[:, :n_topics]
                n_samples += 1
            tell(self.callback, "sweep", done, n_sweeps)
        self.topic_word_counts_ = np.ascontiguousarray(table(state)[:, :n_topics].T)
        # The largest things here are gone before the mean is written out.
        del tokens, state, step, table
        self.mean_counts_ = np.divide(sums.T, n_samples, order="C")
        self.n_sweeps_ = n_sweeps
        return self

    def transform(self, X: Any) -> NDArray[np.float64]:
        """Fold documents into the model.

        Parameters
        ----------
        X : Corpus, sparse or dense matrix of shape (n_documents, n_words)
            Counts of words, or weights.

        Returns
        -------
        array of shape (n_documents, n_topics), float64
            Topic proportions; rows sum to 1. See ``discreet.lda.fold_in``.
        """
        from discreet.lda._fold_in import fold_in, fold_in_shards

        check_is_fitted(self, "topic_word_counts_")
        how: dict[str, Any] = {"doc_topic_prior": self.doc_topic_prior, "n_jobs": self.n_jobs}
        if is_sharded(X):
            words = getattr(self, "_words", None)
            return stack(fold_in_shards(self.topic_word_, X, words=words, **how), X, self.n_topics)
        return fold_in(self.topic_word_, read_for(self, X, reset=False), **how)

    def score(self, X: Any, y: Any = None) -> float:
        """Return the completion log-likelihood a token of documents, in nats; higher is better.

        It is the logarithm of 1 / ``discreet.evaluate.completion_perplexity``.

        Parameters
        ----------
        X : Corpus, sparse or dense matrix of shape (n_documents, n_words)
            Documents that the model was not fitted to; whole counts.
        y : ignored
        """
        from discreet.lda._fold_in import completion

        check_is_fitted(self, "topic_word_counts_")
        documents = read_for(self, X, reset=False)
        shape = (documents.n_documents, documents.n_words)
        counts = sp.csr_matrix((documents.counts, documents.words, documents.indptr), shape=shape)
        return completion(self.topic_word_, counts, doc_topic_prior=self.doc_topic_prior, n_jobs=self.n_jobs)

    @property
    def components_(self) -> NDArray[np.float64]:
        """Mean counts plus prior, (n_topics, n_words)."""
        check_is_fitted(self, "mean_counts_")
        return self.mean_counts_ + self.topic_word_prior

    @property
    def topic_word_(self) -> NDArray[np.float64]:
        """Probability of each word in each topic, (n_topics, n_words)."""
        components = self.components_
        components /= components.sum(axis=1, keepdims=True)
        return components

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = True  # scikit-learn's checks then send whole numbers
        return tags

    def _begins_fast(self, n_tokens: int) -> bool:
        wanted = self.init == "fast" or (self.init == "auto" and n_tokens <= MOST_FAST_TOKENS)
        return wanted and self.n_topics <= MOST_FAST_TOPICS
