"""Slow and obvious: the private sum of topic shares in groups, one unit after another, in Python's own numbers."""

import math
from collections import defaultdict


def prevalence_sum(doc_topic, group, people, n_groups, count_weight, bits):
    n_topics = len(doc_topic[0])
    documents = defaultdict(int)
    whose = range(len(doc_topic)) if people is None else people
    vectors = defaultdict(lambda: [0.0] * (n_groups * (n_topics + 1)))
    for shares, g, unit in zip(doc_topic, group, whose, strict=True):
        if g < 0:
            continue
        start = int(g) * (n_topics + 1)
        for k, share in enumerate(shares):
            vectors[unit][start + k] += float(share)
        vectors[unit][start + n_topics] += count_weight
        documents[unit] += 1
    largest = math.sqrt(1 + count_weight**2)
    total = [0] * (n_groups * (n_topics + 1))
    for unit, added in vectors.items():
        vector = [value / documents[unit] for value in added]
        norm = math.sqrt(math.fsum(value**2 for value in vector))
        scale = min(1.0, largest / norm) if norm else 1.0
        for cell, value in enumerate(vector):
            total[cell] += math.trunc(value * scale / largest * 2**bits)
    return total


def name_weights(labels, people, most, bits):
    """Weight of each name, in lattice steps: a unit gives 1/sqrt(k) to each of its k names, its most used first."""
    names_of = defaultdict(lambda: defaultdict(int))
    for row, label in enumerate(labels):
        if label is not None:
            names_of[row if people is None else people[row]][label] += 1
    weights = defaultdict(int)
    for held in names_of.values():
        kept = sorted(held, key=lambda name: -held[name])[:most]
        for name in kept:
            weights[name] += math.isqrt(4**bits // len(kept))
    return dict(weights)
