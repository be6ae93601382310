"""Slow, obvious twins of the choice of words: dictionaries, exact fractions, no arrays."""

import math
from collections import Counter
from decimal import Decimal, localcontext
from fractions import Fraction

from scipy.stats import norm


def units_of(documents, persons=None):
    """Lists of words, one a unit; units in the order of their persons."""
    if persons is None:
        return [list(document) for document in documents]
    joined = {}
    for document, person in zip(documents, persons, strict=True):
        joined.setdefault(person, []).extend(document)
    return [joined[person] for person in sorted(joined)]


def preferences(unit, number=None):
    """Distinct words of a unit, most used first; ties by ``number`` (a dict), or as the unit uses them."""
    used = Counter(unit)
    first = {word: unit.index(word) for word in used}
    ties = (lambda word: (number[word], word)) if number else first.__getitem__
    return sorted(used, key=lambda word: (-used[word], ties(word)))


def fill(units, budget, cutoff, start=None):
    """Greedy weights: each unit fills its words, in order, until its budget is gone."""
    weights = dict(start or {})
    for unit in units:
        left = budget
        for word in unit:
            given = min(left, cutoff - weights.get(word, 0))
            weights[word] = weights.get(word, 0) + given
            left -= given
    return weights


def even(units, bits):
    """Weighted Gaussian weights: the largest integer c with k c^2 <= 4^bits, for each of k words."""
    weights = {}
    for unit in units:
        for word in unit:
            c = 0
            while len(unit) * (c + 1) ** 2 <= 4**bits:
                c += 1
            weights[word] = weights.get(word, 0) + c
    return weights


def laplace_tail(least, epsilon, bits):
    """P(Z >= least) for discrete Laplace noise of scale 2^bits/epsilon, to 40 digits."""
    with localcontext() as context:
        context.prec = 40
        exact = Fraction(epsilon)
        q = (-Decimal(exact.numerator) / Decimal(exact.denominator) / Decimal(2**bits)).exp()
        if least >= 1:
            return q**least / (1 + q)
        return 1 - q ** (1 - least) / (1 + q)


def laplace_leak(weights, threshold, epsilon, bits, *, strict=True):
    """Probability that any of several private words, with these integer weights, is released."""
    hidden = Decimal(1)
    with localcontext() as context:
        context.prec = 40
        for weight in weights:
            hidden *= 1 - laplace_tail(threshold + (1 if strict else 0) - weight, epsilon, bits)
        return 1 - hidden


def gaussian_leak(weights, threshold, noise_multiplier, bits):
    """The same for rounded Gaussian noise."""
    scale = noise_multiplier * 2**bits
    hidden = sum(math.log1p(-norm.sf((threshold + 0.5 - weight) / scale)) for weight in weights)
    return -math.expm1(hidden)


def covered_share(counts, unit_of, chosen, bits):
    """Add up (share of tokens that are chosen words, the rest) over units, each rounded toward zero on the lattice."""
    total = [0, 0]
    for unit in sorted(set(unit_of.tolist())):
        rows = [row for row, of in zip(counts, unit_of, strict=True) if of == unit]
        n_tokens = sum(int(n) for row in rows for n in row)
        n_chosen = sum(int(n) for row in rows for n, is_chosen in zip(row, chosen, strict=True) if is_chosen)
        if n_tokens:
            share = n_chosen / n_tokens
            total = [total[0] + int(share * 2**bits), total[1] + int((1 - share) * 2**bits)]
    return total
