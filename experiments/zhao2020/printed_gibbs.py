r"""The samplers of Zhao et al. and of their baselines as printed: slow and plain, and booked as promising nothing.

One collapsed Gibbs sampler whose counts move token by token, with what each paper adds to it:

* **HDP-LDA**, algorithm 1 (:func:`hdp_lda`): before each sweep Laplace noise of scale 2 / eps_L is added *to
  the counts as they are*, noise of earlier sweeps included; within the sweep a count is read as min(count, C).
  There is no cut from below, so that a noisy count can make a weight negative; a weight is then taken as
  :data:`LEAST`. Topics come from the counts at the end.
* **CDP-LDA** (:func:`cdp_lda`, after Foulds et al. 2016): Laplace noise of scale 1 / eps on both counts, words
  of topics :math:`N_k^t` and topics of documents :math:`N_m^k`, once before the first sweep (``every=False``),
  or before each (``every=True``: CDP-LDA+).
* **Zhu et al. 2016** (:func:`zhu_lda`): exact sweeps but for the last, whose sampling distribution is computed
  from both counts with Laplace noise. Topics are the exact counts of what that sweep drew. In one reading all
  counts get noise of their own once, of scale 1 / eps. In the code that Manzonelli et al. released each *draw* has
  two numbers of scale 2 / eps, one for the word's counts in all topics and one for the document's, which the totals
  below lose, and weights are shifted so that the least is 0 (:func:`sweep_with_noisy_draws`).

What they would have to pay for, and do not, is the subject of docs/errata.md. None of them promises anything:
HDP-LDA's bound fails for counts that move, the baselines do not cover the draws, Zhu's last counts are exact.
So :data:`PROMISE` is infinite for all.

References
----------
Zhao, Ren, Yang, Han, Zhao, Yang, arXiv:2010.04391. Foulds, Geumlek, Welling, Chaudhuri, arXiv:1603.07294. Zhu,
Li, Zhou, Xiong, Yuan, "Privacy-preserving topic model for tagging recommender systems", Knowledge and Information
Systems 46, 2016, doi:10.1007/s10115-015-0832-9, as the papers that compare themselves with it read it.
"""

import math

import numpy as np
from numba import njit

__all__ = ["LEAST", "PROMISE", "cdp_lda", "gibbs", "hdp_lda", "topics_of", "zhu_lda"]

#: What each of these algorithms promises about a word, a document, a person.
PROMISE = math.inf
#: The least weight of a topic in a draw, and the least size of a topic: noise can take a count below -prior.
LEAST, LEAST_SIZE = 1e-12, 1.0


@njit(cache=True)
def sweep(documents, words, topics, by_word, totals, by_document, alpha, beta, most, least, digits):
    """Draw every token's topic once; all counts move along. ``totals``: column sums of ``by_word``, noise included."""
    n_words, n_topics = by_word.shape
    sums = np.empty(n_topics)
    for token in range(len(words)):
        d, w, k = documents[token], words[token], topics[token]
        by_word[w, k] -= 1
        totals[k] -= 1
        by_document[d, k] -= 1
        total = 0.0
        for j in range(n_topics):
            count = min(max(by_word[w, j], least), most)
            word = max(count + beta, LEAST) / max(totals[j] + n_words * beta, LEAST_SIZE)
            total += word * max(by_document[d, j] + alpha, LEAST)
            sums[j] = total
        k = min(np.searchsorted(sums, digits[token] * total, side="right"), n_topics - 1)
        topics[token] = k
        by_word[w, k] += 1
        totals[k] += 1
        by_document[d, k] += 1


@njit(cache=True)
def sweep_with_noisy_draws(
    documents, words, topics, by_word, totals, by_document, alpha, beta, noise, digits
):
    """Draw every token's topic once, each from exact counts and two numbers of its own, ``noise``."""
    n_words, n_topics = by_word.shape
    weights = np.empty(n_topics)
    for token in range(len(words)):
        d, w, k = documents[token], words[token], topics[token]
        length = by_document[d].sum()
        by_word[w, k] -= 1
        totals[k] -= 1
        by_document[d, k] -= 1
        of_word, of_document = noise[token]
        for j in range(n_topics):
            word = (by_word[w, j] + of_word + beta) / (totals[j] - of_word + n_words * beta)
            topic = (by_document[d, j] + of_document + alpha) / (length - of_document + n_topics * alpha)
            weights[j] = word * topic
        sums = np.cumsum(weights - weights.min())
        if sums[-1] > 0:
            k = min(np.searchsorted(sums, digits[token] * sums[-1], side="right"), n_topics - 1)
        else:
            k = min(int(digits[token] * n_topics), n_topics - 1)
        topics[token] = k
        by_word[w, k] += 1
        totals[k] += 1
        by_document[d, k] += 1


class Chain:
    """Tokens of a corpus of whole counts, their topics, and both tables of counts."""

    def __init__(self, counts, n_topics, alpha, beta, seed):
        self.rng = np.random.default_rng(seed)
        self.alpha, self.beta = alpha, beta
        rows = counts.tocsr().tocoo()
        self.documents = np.repeat(rows.row, rows.data).astype(np.int64)
        self.words = np.repeat(rows.col, rows.data).astype(np.int64)
        self.topics = self.rng.integers(n_topics, size=len(self.words))
        self.shapes = (counts.shape[1], n_topics), (counts.shape[0], n_topics)
        self.by_word, self.by_document = self.exact()

    def exact(self):
        """Both tables without noise, of the topics as they are."""
        by_word, by_document = (np.zeros(shape) for shape in self.shapes)
        np.add.at(by_word, (self.words, self.topics), 1)
        np.add.at(by_document, (self.documents, self.topics), 1)
        return by_word, by_document

    def noise(self, scale):
        """Laplace noise for both tables."""
        return [self.rng.laplace(0, scale, shape) if scale else np.zeros(shape) for shape in self.shapes]

    def sweep(self, *, most=math.inf, least=-math.inf):
        digits = self.rng.random(len(self.words))
        totals = self.by_word.sum(0)
        tables = self.by_word, totals, self.by_document
        sweep(self.documents, self.words, self.topics, *tables, self.alpha, self.beta, most, least, digits)


def topics_of(by_word, beta):
    """Topics, shape (n_topics, n_words), from counts of shape (n_words, n_topics); what is negative counts as 0."""
    phi = np.maximum(by_word, 0).T + beta
    return phi / phi.sum(1, keepdims=True)


def gibbs(counts, n_topics, alpha, beta, n_sweeps, seed, watch=None):
    """Train without privacy."""
    chain = Chain(counts, n_topics, alpha, beta, seed)
    for _ in range(n_sweeps):
        before = chain.by_word.copy() if watch else None
        chain.sweep()
        if watch:
            watch(chain, before)
    return topics_of(chain.by_word, beta)


def hdp_lda(counts, n_topics, alpha, beta, n_sweeps, seed, *, clip, epsilon_noise, watch=None):
    """Train by algorithm 1; ``epsilon_noise`` inf leaves the clip alone ("limited inherent privacy")."""
    chain = Chain(counts, n_topics, alpha, beta, seed)
    for _ in range(n_sweeps):
        if not math.isinf(epsilon_noise):
            chain.by_word += chain.noise(2 / epsilon_noise)[0]
        before = np.minimum(chain.by_word, clip) if watch else None
        chain.sweep(most=clip)
        if watch:
            watch(chain, before)
    return topics_of(chain.by_word, beta)


def cdp_lda(
    counts,
    n_topics,
    alpha,
    beta,
    n_sweeps,
    seed,
    *,
    epsilon,
    every,
    in_place=False,
    documents=True,
    watch=None,
):
    """Train by CDP-LDA, or CDP-LDA+ where noise comes with ``every`` sweep.

    Parameters
    ----------
    in_place : bool
        CDP-LDA+: noise is added to the counts as they are, so that it piles up; else each sweep starts from exact
        counts and noise of its own.
    documents : bool
        Noise on both tables, as printed; False: on the words' only.
    """
    chain = Chain(counts, n_topics, alpha, beta, seed)
    for done in range(n_sweeps):
        if every or not done:
            if not in_place:
                chain.by_word, chain.by_document = chain.exact()
            word_noise, document_noise = chain.noise(0 if math.isinf(epsilon) else 1 / epsilon)
            chain.by_word += word_noise
            if documents:
                chain.by_document += document_noise
        before = chain.by_word.copy() if watch else None
        chain.sweep(least=0.0)
        if watch:
            watch(chain, before)
    return topics_of(chain.by_word, beta)


def zhu_lda(counts, n_topics, alpha, beta, n_sweeps, seed, *, epsilon, each_draw=False):
    """Train exactly, draw once more with noise, and read topics from the exact counts of that draw.

    ``each_draw``: fresh noise for each draw, as in the released code; else noise on all counts, once.
    """
    chain = Chain(counts, n_topics, alpha, beta, seed)
    for _ in range(n_sweeps - 1):
        chain.sweep(least=0.0)
    if each_draw:
        noise = chain.rng.laplace(0, 2 / epsilon, (len(chain.words), 2))
        tables = chain.by_word, chain.by_word.sum(0), chain.by_document
        digits = chain.rng.random(len(chain.words))
        sweep_with_noisy_draws(
            chain.documents, chain.words, chain.topics, *tables, alpha, beta, noise, digits
        )
    else:
        word_noise, document_noise = chain.noise(0 if math.isinf(epsilon) else 1 / epsilon)
        chain.by_word += word_noise
        chain.by_document += document_noise
        chain.sweep(least=0.0)
    return topics_of(chain.exact()[0], beta)
