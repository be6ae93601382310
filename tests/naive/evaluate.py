"""Slow, obvious twins of the measures of discreet.evaluate."""

import math
from itertools import permutations

import numpy as np
from tests.naive import lda


def top_words(topic, top):
    return sorted(range(len(topic)), key=lambda w: (-topic[w], w))[:top]


def documents_with(counts, *words):
    return sum(all(row[w] > 0 for w in words) for row in counts)


def npmi(topic, counts, top):
    words = top_words(topic, top)
    scores = []
    for m in range(1, len(words)):
        for l in range(m):  # noqa: E741
            joint = documents_with(counts, words[m], words[l]) / len(counts)
            if joint == 0:
                scores.append(-1.0)
            elif joint == 1:
                scores.append(1.0)
            else:
                apart = [documents_with(counts, words[i]) / len(counts) for i in (m, l)]
                scores.append(math.log(joint / (apart[0] * apart[1])) / -math.log(joint))
    return sum(scores) / len(scores)


def umass(topic, counts, top, smoothing=1.0):
    words = top_words(topic, top)
    total = 0.0
    for m in range(1, len(words)):
        for l in range(m):  # noqa: E741
            alone = documents_with(counts, words[l])
            if alone:
                total += math.log((documents_with(counts, words[m], words[l]) + smoothing) / alone)
    return total


def completion_perplexity(topics, counts, alpha, seed, n_steps=40):
    """``counts`` dense: a binomial draw for each stored count, row by row."""
    rng = np.random.default_rng(seed)
    seen = np.zeros_like(counts)
    for d, w in zip(*np.nonzero(counts), strict=True):
        seen[d, w] = rng.binomial(counts[d, w], 0.5)
    total = tokens = 0
    prior = np.full(len(topics), alpha)
    for first, second in zip(seen, counts - seen, strict=True):
        theta = lda.mode(first, topics, prior, prior / prior.sum(), n_steps)
        used = second > 0
        total += second[used] @ np.log(theta @ topics[:, used])
        tokens += second.sum()
    return math.exp(-total / tokens)


def best_assignment(distances):
    """The smallest sum over all one-to-one assignments of a small square table."""
    n = len(distances)
    return min(sum(distances[i, p[i]] for i in range(n)) for p in permutations(range(n)))
