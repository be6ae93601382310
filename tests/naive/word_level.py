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


def law_of_tables(corpus, n_words, tables, scale, beta, alpha):
    """Log-probability of a history of noisy tables, assignments summed out: noise on counts alone, one document.

    ``tables`` are the T + 1 tables of shape (n_topics, n_words) that came out, cut at 0 from below; the hidden chain of
    topics is followed by the forward algorithm.
    """
    states = list(all_topics(len(corpus), len(tables[0])))
    documents = [0] * len(corpus)
    logs = np.full(len(states), -math.log(len(states)))
    for t, table in enumerate(tables):
        logs += [log_table(table, exact_table(corpus, z, len(table), n_words), scale) for z in states]
        if t + 1 < len(tables) and (t == 0 or table != tables[t - 1]):
            steps = [
                [
                    math.log(frozen_sweep_probability(corpus, documents, z, after, table, beta, alpha))
                    for z in states
                ]
                for after in states
            ]
        if t + 1 < len(tables):
            logs = np.array([np.logaddexp.reduce(logs + step) for step in np.array(steps)])
    return float(np.logaddexp.reduce(logs))


def law_with_noisy_documents(corpus, n_words, tables, doc_rows, scale, beta, alpha):
    """The same where each draw sees its document through noise only (the estimator's hidden run), one document.

    ``doc_rows``: T - 1 released rows of document counts, not cut.
    """
    n_topics = len(tables[0])
    states = list(all_topics(len(corpus), n_topics))
    logs = np.full(len(states), -math.log(len(states)))
    mean = [0.0] * n_topics
    for t, table in enumerate(tables):
        logs += [log_table(table, exact_table(corpus, z, n_topics, n_words), scale) for z in states]
        if t + 1 == len(tables):
            break
        if t > 0:
            seen = doc_rows[t - 1]
            logs += [sum(log_laplace(seen[k] - z.count(k), scale) for k in range(n_topics)) for z in states]
            mean = [m + t**-0.4 * (s - m) for m, s in zip(mean, seen, strict=True)]
        rows = topic_rows(table, beta)
        laws = [draw_law(rows[w], [max(m, 0) for m in mean], alpha) for w in corpus]
        total = np.logaddexp.reduce(logs)  # a draw does not look at the topics before
        logs = np.array([total + sum(math.log(laws[i][k]) for i, k in enumerate(z)) for z in states])
    return float(np.logaddexp.reduce(logs))


def log_table(table, exact, scale):
    """Log-probability of a table of counts plus noise, cut at 0: 0 stands for all that lies below."""
    cells = zip(np.ravel(table).tolist(), np.ravel(exact).tolist(), strict=True)
    return sum(log_laplace(s - n, scale) if s > 0 else math.log(laplace_at_most(-n, scale)) for s, n in cells)


def log_laplace(value, scale):
    q = math.exp(-1 / scale)
    return math.log((1 - q) / (1 + q)) - abs(value) / scale


def laplace_at_most(value, scale):
    q = math.exp(-1 / scale)
    return q**-value / (1 + q) if value <= 0 else 1 - q ** (value + 1) / (1 + q)
