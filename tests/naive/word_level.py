"""Slow, obvious twins of word-level Gibbs sampling: whole laws by enumeration, in exact fractions."""

import math
from fractions import Fraction
from itertools import permutations, product

import numpy as np


def draw_law(row, counts, alpha):
    """p(k) in proportion to row_k (n_k + alpha), as fractions."""
    weights = [Fraction(r) * (Fraction(n) + Fraction(alpha)) for r, n in zip(row, counts, strict=True)]
    return [w / sum(weights) for w in weights]


def topic_rows(table, beta):
    """(s_kw + beta) / sum over w, for a table of shape (n_topics, n_words), as fractions: rows by word."""
    phi = [[Fraction(s) + Fraction(beta) for s in topic] for topic in table]
    return [[topic[w] / sum(topic) for topic in phi] for w in range(len(phi[0]))]


def frozen_sweep_probability(words, documents, before, after, table, beta, alpha, order=None):
    """Probability that one sweep from a frozen table leads from topics ``before`` to ``after``."""
    rows = topic_rows(table, beta)
    topics, probability = list(before), Fraction(1)
    for i in range(len(words)) if order is None else order:
        counts = document_counts(topics, documents, documents[i], len(table), leave_out=i)
        probability *= draw_law(rows[words[i]], counts, alpha)[after[i]]
        topics[i] = after[i]
    return probability


def live_sweep_probability(words, documents, before, after, table, beta, alpha, clip):
    """The printed algorithm: the noisy table moves along with each token (and is cut to [0, clip] when read)."""
    live = [[Fraction(s) for s in topic] for topic in table]
    topics, probability = list(before), Fraction(1)
    for i, word in enumerate(words):
        live[topics[i]][word] -= 1
        seen = [[min(max(s, 0), clip) for s in topic] for topic in live]
        counts = document_counts(topics, documents, documents[i], len(table), leave_out=i)
        probability *= draw_law(topic_rows(seen, beta)[word], counts, alpha)[after[i]]
        topics[i] = after[i]
        live[after[i]][word] += 1
    return probability


def document_counts(topics, documents, document, n_topics, leave_out=None):
    counts = [0] * n_topics
    for i, topic in enumerate(topics):
        if documents[i] == document and i != leave_out:
            counts[topic] += 1
    return counts


def exact_table(words, topics, n_topics, n_words):
    table = np.zeros((n_topics, n_words), int)
    for word, topic in zip(words, topics, strict=True):
        table[topic, word] += 1
    return table


def largest_loss(pairs):
    """Largest |ln p / q| over pairs of probabilities."""
    return max(abs(math.log(p) - math.log(q)) for p, q in pairs)


def all_topics(n_tokens, n_topics):
    return product(range(n_topics), repeat=n_tokens)


def arrangements(words):
    """All orders of a document's tokens, each as probable as any other."""
    return list(permutations(words))


def laplace_probability(value, scale):
    """Probability of ``value`` under discrete Laplace noise."""
    q = math.exp(-1 / scale)
    return (1 - q) / (1 + q) * q ** abs(value)
