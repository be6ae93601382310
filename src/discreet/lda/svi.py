r"""Variational Bayes for LDA, batch and stochastic: ``init`` and ``step``.

Each topic has a Dirichlet with parameters :math:`\lambda_k`, each document one with :math:`\gamma_d`. A step infers all
:math:`\gamma_d` of some documents, and moves

.. math:: \lambda \leftarrow (1 - \rho)\lambda + \rho\,\Big(\eta + \tfrac{D}{|S|} \sum_{d \in S} s_d\Big),
          \qquad s_{kw} = \sum_d c_{dw}\, q_d(z = k \mid w),

with :math:`\rho = 1` and all D documents in the batch algorithm, and :math:`\rho_t = (\tau_0 + t)^{-\kappa}` for the
t-th batch of the stochastic one.

Guarantee: none, this is the model without privacy. The bits of :math:`\lambda` do not depend on the number of threads:
documents are inferred one by one (:mod:`discreet.lda.theta`), and the statistic is a sum of integers.

The M-step's statistic :math:`s_{wk} = B_{wk} \sum_d q_{dw} e^{\psi(\gamma_{dk})}` is summed *word by word*: no two
threads ever add to the same number, which needs no table for each thread. Each entry's part is rounded to a whole
number of units, of which all counts together have less than :math:`2^{62}` (for a million tokens a unit is
:math:`2^{-42}`), so that sums are of integers: the same for any order of documents, any threads and any shards.

**The fast start** is that of a Gibbs chain (:mod:`discreet.lda.gibbs.start`): stepwise CVB0, and in its last pass a
topic for each token, :math:`n_{kw}` tokens of word w in topic k. As Dirichlet parameters such counts would keep a word
out of each topic in which it was not drawn, where it weighs :math:`e^{\psi(\eta)}`, 1e-44 for :math:`\eta` = .01. So
the first update gets means in place of geometric means, :math:`\lambda_{kw} = M (n_{kw} + \eta) / \sum_w (n_{kw} +
\eta)` with M so large that :math:`e^{E[\ln \beta_{kw}]}` is the mean.

Memory: that of the chain's start, and 6 bytes a token; all of it is gone before the first update. Then, beyond the
documents, four tables of n_words x n_topics doubles, and at most 2**23 doubles or two rows of topics for the documents
in work.

Reference
---------
Blei, Ng, Jordan, "Latent Dirichlet allocation", JMLR 2003. Hoffman, Blei, Bach, "Online learning for latent
Dirichlet allocation", NIPS 2010. Bound: Hoffman, Blei, Wang, Paisley, JMLR 2013, arXiv:1206.7051.
"""

import math
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
import scipy.special
from numpy.typing import NDArray

from discreet._base.kernels import kernel
from discreet._base.threads import pieces, share_out
from discreet.lda.documents import Documents
from discreet.lda.emitted import LANES, aligned, pad_table
from discreet.lda.gibbs.start import starting_topics
from discreet.lda.gibbs.state import count_topics, read_tokens
from discreet.lda.theta import Found, Inference, exp_digamma, infer

#: Doubles of topic weights that are held at once. Part of the result's definition no more than threads are.
_BLOCK = 2**22
# Up to here "auto" begins fast: no larger corpus was measured. And up to so many topics whoever asks for it.
_MOST_TOKENS = 4_000_000
_MOST_TOPICS = 3000
_WEIGHT = 1e9


class State(NamedTuple):
    """What the next step needs: lambda as (n_words, n_topics padded with zeros), and the steps done."""

    parameters: NDArray[np.float64]
    n_topics: int
    n_steps: int

    @property
    def components(self) -> NDArray[np.float64]:
        """Lambda, shape (n_topics, n_words)."""
        return np.ascontiguousarray(self.parameters[:, : self.n_topics].T)


class Batch(NamedTuple):
    """Some documents, by document and by word."""

    documents: Documents
    by_word: NDArray[np.int64]
    who: NDArray[np.int32]
    entries: NDArray[np.int64]


def init(components: NDArray[np.float64], n_steps: int = 0) -> State:
    """Start from lambda of shape (n_topics, n_words), all positive."""
    return State(pad_table(components), len(components), n_steps)


def prepare(documents: Documents, n_topics: int) -> list[Batch]:
    """Cut documents into blocks that fit in memory with their topics, and index each by word."""
    height = max(1, _BLOCK // (-(-n_topics // LANES) * LANES))
    batches: list[Batch] = []
    for first in range(0, documents.n_documents, height):
        block = documents.rows(first, min(first + height, documents.n_documents))
        places = np.arange(len(block.words), dtype=np.int64)
        shape = (block.n_documents, block.n_words)
        turned: Any = sp.csr_matrix((places, block.words, block.indptr), shape=shape).tocsc()
        batches.append(
            Batch(block, turned.indptr.astype(np.int64), turned.indices.astype(np.int32), turned.data)
        )
    return batches


def step(
    state: State,
    batches: list[Batch],
    how: Inference,
    topic_word_prior: float,
    *,
    rate: float = 1.0,
    scale: float = 1.0,
) -> State:
    """Infer the documents of ``batches`` (:func:`prepare`) and move the topics; ``state`` is not changed.

    ``rate``: rho; ``scale``: documents in all over documents in this step. The result does not depend on the threads.
    """
    unit = unit_of(sum(float(batch.documents.counts.sum()) for batch in batches))
    total = statistic(word_weights(state, how.n_threads), batches, unit, how)
    return move(state, total, unit, topic_word_prior, rate=rate, scale=scale)


def unit_of(weight: float) -> float:
    """Return the power of 2 times which all counts together, ``weight``, are below 2**62."""
    return math.ldexp(1.0, 62 - math.frexp(weight)[1])


def statistic(
    table: NDArray[np.float64], batches: list[Batch], unit: float, how: Inference
) -> NDArray[np.int64]:
    """Infer documents; return the sum of their statistics times ``unit``, (n_words, width)."""
    total = np.zeros(table.shape, np.int64)
    for batch in batches:
        found = infer(table, batch.documents, how, with_quotients=True)

        def add(piece: tuple[int, int], batch: Batch = batch, found: Found = found) -> None:
            _add_statistic(batch, found, table, unit, *piece, total)

        share_out(add, pieces(batch.by_word, how.n_threads), how.n_threads)
    return total


def move(
    state: State,
    total: NDArray[np.int64],
    unit: float,
    topic_word_prior: float,
    *,
    rate: float = 1.0,
    scale: float = 1.0,
) -> State:
    """Move the topics by a statistic of :func:`statistic`; the state is not changed."""
    parameters = aligned(total.shape)
    np.multiply(total, scale * rate / unit, out=parameters)
    parameters[:, : state.n_topics] += rate * topic_word_prior
    if rate < 1.0:
        parameters += (1.0 - rate) * state.parameters
    return State(parameters, state.n_topics, state.n_steps + 1)


def word_weights(state: State, n_threads: int = 1) -> NDArray[np.float64]:
    """exp(E[ln beta]), shape (n_words, width) with zeros in the padding."""
    table = aligned(state.parameters.shape)
    sums = state.parameters.sum(axis=0)
    # In the padding 0: whatever exp_digamma(0) is, the table has zeros there.
    inverse = np.zeros(len(sums))
    inverse[: state.n_topics] = np.exp(-scipy.special.digamma(sums[: state.n_topics]))
    ranges = pieces(np.arange(len(table) + 1), n_threads)
    share_out(lambda piece: _weigh(state.parameters, inverse, *piece, table), ranges, n_threads)
    return table


def bound(state: State, documents: Documents, how: Inference, topic_word_prior: float) -> float:
    r"""Evidence lower bound of the documents, in nats: a lower bound of ln p(documents | alpha, eta).

    The documents' part is :math:`E[\ln p(w, z, \theta) - \ln q(z, \theta)]` at their inferred gamma, the topics' part
    :math:`E[\ln p(\beta) - \ln q(\beta)]`; multinomial coefficients are left out, as everywhere.
    """
    table = word_weights(state, how.n_threads)
    value = 0.0
    height = max(1, _BLOCK // table.shape[1])
    digamma: Any = scipy.special.digamma
    for first in range(0, documents.n_documents, height):
        block = documents.rows(first, min(first + height, documents.n_documents))
        found = infer(table, block, how, with_quotients=True)
        # counts / quotients = sum_k exp(digamma(gamma_k)) B_wk; the documents' digamma(sum gamma) is still missing.
        used = block.counts > 0
        counts = block.counts[used]
        value += float((counts * np.log(counts / found.quotients[used])).sum())
        gamma = found.gamma[:, : state.n_topics]
        sums = gamma.sum(axis=1)
        tokens = np.add.reduceat(np.append(block.counts, 0.0), block.indptr[:-1])
        tokens[np.diff(block.indptr) == 0] = 0.0
        value -= float((tokens * digamma(sums)).sum())
        value += _dirichlet_gain(gamma, how.prior)
    topics = state.components
    return value + _dirichlet_gain(topics, np.full(topics.shape[1], topic_word_prior))


def _dirichlet_gain(posterior: NDArray[np.float64], prior: NDArray[np.float64]) -> float:
    """E_q[ln p(x) - ln q(x)] summed over rows: p is Dirichlet(prior), q Dirichlet(row)."""
    gammaln: Any = scipy.special.gammaln
    digamma: Any = scipy.special.digamma
    sums = posterior.sum(axis=1)
    expected = digamma(posterior) - digamma(sums)[:, np.newaxis]
    gain = ((prior - posterior) * expected + gammaln(posterior) - gammaln(prior)).sum(axis=1)
    return float((gain + gammaln(prior.sum()) - gammaln(sums)).sum())


@kernel(error_model="numpy")
def _weigh(
    parameters: NDArray[np.float64],
    inverse: NDArray[np.float64],
    first: int,
    last: int,
    table: NDArray[np.float64],
) -> None:
    for w in range(first, last):
        for k in range(len(inverse)):
            table[w, k] = exp_digamma(parameters[w, k]) * inverse[k]


@kernel(error_model="numpy")
def _add_statistic(
    batch: Any, found: Any, table: Any, unit: float, first: int, last: int, total: NDArray[np.int64]
) -> None:
    """Add sum_d quotients * weights * table to rows first to last of ``total``, in whole units."""
    indptr, documents, entries = batch.by_word, batch.who, batch.entries
    width = total.shape[1]
    for w in range(first, last):
        row = table[w] * unit
        for j in range(indptr[w], indptr[w + 1]):
            quotient = found.quotients[entries[j]]
            d = documents[j]
            for k in range(width):
                total[w, k] += np.int64(quotient * found.weights[d, k] * row[k] + 0.5)


def begins_fast(init: object, n_topics: int, counts: NDArray[np.float64] | int) -> bool:
    """Say whether batch updates begin fast: documents are given by their counts, or by their number of tokens."""
    if not isinstance(init, str) or init == "random" or n_topics > _MOST_TOPICS:
        return False
    n_tokens = counts if isinstance(counts, int) else counts.sum()
    if init == "fast":
        return n_tokens > 0  # what is no count is refused where tokens are read
    whole = isinstance(counts, int) or bool((np.floor(counts) == counts).all())
    return 0 < n_tokens <= _MOST_TOKENS and whole


def fast_components(
    documents: Documents,
    doc_topic_prior: NDArray[np.float64],
    topic_word_prior: float,
    seed: int,
    n_threads: int = 1,
) -> NDArray[np.float64]:
    """Return Dirichlet parameters to begin with, (n_topics, n_words); ``CorpusError`` where counts are not whole."""
    tokens, n_topics = read_tokens(documents), len(doc_topic_prior)
    topics = starting_topics(tokens, doc_topic_prior, topic_word_prior, seed, n_threads=n_threads)
    drawn = count_topics(tokens, topics, n_topics, n_threads)[:, :n_topics].T + topic_word_prior
    return drawn * (_WEIGHT / drawn.sum(axis=1, keepdims=True))


def step_over_shards(
    state: State, through: Any, n_tokens: float, how: Inference, topic_word_prior: float
) -> State:
    """Take a batch step over documents in shards, of so many tokens in all."""
    unit, alone = unit_of(n_tokens), how._replace(n_threads=1)
    total = through.sum(_statistic_of_shard, word_weights(state, how.n_threads), unit, alone)
    return move(state, total, unit, topic_word_prior)


def _statistic_of_shard(
    documents: Documents, table: NDArray[np.float64], unit: float, how: Inference
) -> NDArray[np.int64]:
    return statistic(table, prepare(documents, len(how.prior)), unit, how)


def shares(documents: Documents, table: NDArray[np.float64], how: Inference) -> NDArray[np.float64]:
    """Return the means of the documents' Dirichlets, (n_documents, n_topics)."""
    gamma = infer(table, documents, how, with_quotients=False).gamma[:, : len(how.prior)]
    return np.ascontiguousarray(gamma / gamma.sum(axis=1, keepdims=True))


def pick(documents: Documents, rows: NDArray[np.int64]) -> Documents:
    """Take documents in the order of ``rows``."""
    lengths = np.diff(documents.indptr)[rows]
    indptr = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    places = np.repeat(documents.indptr[rows] - indptr[:-1], lengths) + np.arange(indptr[-1])
    return Documents(indptr, documents.words[places], documents.counts[places], documents.n_words)
