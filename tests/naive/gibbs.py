"""Slow, obvious twins of the Gibbs sweeps: exact probabilities in fractions, whole joint laws by enumeration."""

from fractions import Fraction
from itertools import product

import numpy as np
from scipy.special import gammaln

MASK = 2**64 - 1


def splitmix(x):
    """The finalizer of SplitMix64, from its paper."""
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & MASK
    return x ^ (x >> 31)


def topic_order(n_topics, width, lanes):
    """Topics as the vector kernel lays them along the unit interval: by lane, then by block."""
    order = np.arange(width).reshape(-1, lanes).T.ravel()
    return [int(k) for k in order if k < n_topics]


def exact_weights(counts, prior, row, n_topics):
    """(n_k + alpha_k) phi_k, as fractions of the numbers that the machine holds."""
    return [
        (Fraction(float(counts[k])) + Fraction(float(prior[k]))) * Fraction(float(row[k]))
        for k in range(n_topics)
    ]


def invert(weights, order, uniform):
    """Inverse of the distribution function; also how far u is from the next boundary, as a share of the total."""
    total = sum(weights)
    passed, found, nearest = Fraction(0), order[-1], uniform
    searching = True
    for k in order:
        passed += weights[k]
        nearest = min(nearest, abs(uniform - passed / total))
        if searching and uniform < passed / total:
            found, searching = k, False
    return found, nearest


def frozen_joint(documents, table, alpha, start, stale_own_token=False):
    """Joint law of the topics of all tokens after one frozen sweep from ``start``: {topics: probability}.

    ``stale_own_token`` plants a mistake: the token's old topic still counts in its document.
    """
    n_topics = table.shape[1]
    law = {tuple(start): 1.0}
    i = 0
    for words in documents:
        first = i
        for word in words:
            new_law: dict[tuple[int, ...], float] = {}
            for topics, probability in law.items():
                counts = np.bincount(topics[first : first + len(words)], minlength=n_topics).astype(float)
                if not stale_own_token:
                    counts[topics[i]] -= 1
                weights = (counts + alpha) * table[word]
                for k, share in enumerate(weights / weights.sum()):
                    moved = (*topics[:i], k, *topics[i + 1 :])
                    new_law[moved] = new_law.get(moved, 0.0) + probability * share
            law = new_law
            i += 1
    return law


def frozen_joint_excluding(documents, counts, alpha, beta, start, in_total=False):
    """The same from a table of counts, each token left out of it while it is drawn.

    ``in_total`` plants a mistake: the token is left out of its cell and not of its column.
    """
    n_words, n_topics = counts.shape
    law = {tuple(start): 1.0}
    owner = [d for d, words in enumerate(documents) for _ in words]
    words = [w for document in documents for w in document]
    for i, word in enumerate(words):
        new_law: dict[tuple[int, ...], float] = {}
        for topics, probability in law.items():
            without = np.array(counts, float)
            without[word, start[i]] -= 1
            total = (counts if in_total else without).sum(axis=0)
            phi = (without[word] + beta) / (total + n_words * beta)
            others = [t for j, t in enumerate(topics) if j != i and owner[j] == owner[i]]
            weights = (np.bincount(others, minlength=n_topics) + alpha) * phi
            for k, share in enumerate(weights / weights.sum()):
                moved = (*topics[:i], k, *topics[i + 1 :])
                new_law[moved] = new_law.get(moved, 0.0) + probability * share
        law = new_law
    return law


def posterior(documents, n_words, alpha, beta):
    """Posterior of the topics of all tokens, parameters integrated out: {topics: probability}."""
    n_topics, n_tokens = len(alpha), sum(map(len, documents))
    flat = [w for words in documents for w in words]
    logs = {}
    for topics in product(range(n_topics), repeat=n_tokens):
        value, i = 0.0, 0
        for words in documents:
            counts = np.bincount(topics[i : i + len(words)], minlength=n_topics)
            value += gammaln(counts + alpha).sum()
            i += len(words)
        table = np.zeros((n_topics, n_words))
        np.add.at(table, (list(topics), flat), 1)
        value += gammaln(table + beta).sum() - gammaln(table.sum(axis=1) + n_words * beta).sum()
        logs[topics] = value
    largest = max(logs.values())
    weights = {topics: np.exp(value - largest) for topics, value in logs.items()}
    total = sum(weights.values())
    return {topics: weight / total for topics, weight in weights.items()}


def live_sweep(documents, n_words, topics, alpha, beta, uniforms):
    """One sweep of the textbook's sampler, counts taken anew for every token."""
    topics = list(topics)
    flat = [(d, w) for d, words in enumerate(documents) for w in words]
    for i, (d, w) in enumerate(flat):
        others = [(flat[j], topics[j]) for j in range(len(flat)) if j != i]
        weights = []
        for k in range(len(alpha)):
            in_document = sum(e == d and z == k for (e, _), z in others)
            of_word = sum(v == w and z == k for (_, v), z in others)
            of_topic = sum(z == k for _, z in others)
            weights.append((in_document + alpha[k]) * (of_word + beta) / (of_topic + n_words * beta))
        target, k = uniforms[i] * sum(weights), 0
        while k < len(alpha) - 1 and sum(weights[: k + 1]) <= target:
            k += 1
        topics[i] = k
    return topics
