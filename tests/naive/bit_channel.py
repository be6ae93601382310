"""The channel of bits, slow and obvious: every document, every report, exact fractions."""

import math
from fractions import Fraction
from itertools import combinations, product


def law(words, n_words, p, q, limit=None):
    """P(report | document) for all reports: {bits: probability}, words being a set of columns."""
    keeps = [frozenset(words)]
    if limit is not None and len(words) > limit:
        keeps = [frozenset(kept) for kept in combinations(sorted(words), limit)]
    table = dict.fromkeys(product((0, 1), repeat=n_words), Fraction(0))
    for kept in keeps:
        for bits in table:
            chance = Fraction(1, len(keeps))
            for t, bit in enumerate(bits):
                one = p if t in kept else q
                chance *= one if bit else 1 - one
            table[bits] += chance
    return table


def worst_loss(laws, pairs):
    """Largest |ln P(y | x) / P(y | x')| over pairs of documents and all reports."""
    return max(
        abs(math.log(laws[a][y] / laws[b][y])) for a, b in pairs for y in laws[a] if laws[a][y] != laws[b][y]
    )


def documents(n_words, most):
    return [frozenset(c) for n in range(most + 1) for c in combinations(range(n_words), n)]


def report(present, p_threshold, q_threshold, limit, numbers):
    """Follow the description of the client word for word; ``numbers`` is an iterator of 32-bit numbers."""
    words = [t for t, here in enumerate(present) if here]
    if limit and len(words) > limit:
        for i in range(limit):
            left = len(words) - i
            while True:
                number = next(numbers)
                if number < 2**32 - 2**32 % left:
                    break
            j = i + number % left
            words[i], words[j] = words[j], words[i]
        words = words[:limit]
    return [int(next(numbers) < (p_threshold if t in words else q_threshold)) for t in range(len(present))]
