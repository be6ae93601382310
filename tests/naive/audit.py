"""Slow, obvious twins of the membership attacks and their figures."""

import math


def binomial(n, k, p):
    return math.comb(n, k) * p**k * (1 - p) ** (n - k)


def p_value(right, guesses, epsilon, delta, canaries):
    """Theorem 5.2 of arXiv:2305.08846, sum by sum."""
    p = math.exp(epsilon) / (1 + math.exp(epsilon))
    beta = sum(binomial(guesses, k, p) for k in range(right, guesses + 1))
    worst = 0.0
    for i in range(1, right + 1):
        worst = max(worst, sum(binomial(guesses, k, p) for k in range(right - i, right)) / i)
    return min(1.0, beta + 2 * canaries * delta * worst)


def largest_tail(right, guesses, canaries, least_false, n_tangents=400):
    """Return the largest Pr[W >= right] that the inequalities of arXiv:2410.22235 allow, by linear programming.

    Variables are the probabilities p_0, p_1, ... of each number of right guesses. For every i,
    sum_{l >= i-1} (guesses - l) p_l / m >= g(sum_{l >= i} l p_l / m), g being convex: it is above all its tangents.
    """
    import numpy as np
    from scipy.optimize import linprog

    counts = np.arange(guesses + 1)
    rows, sides = [], []
    at = guesses / canaries * (np.arange(n_tangents) + 0.5) / n_tangents
    slopes = (least_false(at + 1e-6) - least_false(at - 1e-6)) / 2e-6
    for i in range(1, guesses + 1):
        true = np.where(counts >= i, counts, 0) / canaries
        false = np.where(counts >= i - 1, guesses - counts, 0) / canaries
        for value, slope, a in zip(least_false(at), slopes, at, strict=True):
            rows.append(slope * true - false)
            sides.append(slope * a - value)
    tail = -(counts >= right).astype(float)
    found = linprog(tail, np.array(rows), np.array(sides), np.ones((1, guesses + 1)), [1.0])
    return -found.fun


def rates(scores, members):
    """All (false, true) positive rates, threshold by threshold."""
    pairs = list(zip(scores, members, strict=True))
    n_in = sum(m for _, m in pairs)
    curve = [(0.0, 0.0)]
    for threshold in sorted(set(scores), reverse=True):
        true = sum(m for s, m in pairs if s >= threshold) / n_in
        false = sum(not m for s, m in pairs if s >= threshold) / (len(pairs) - n_in)
        curve.append((false, true))
    return curve


def auc(scores, members):
    """Probability that a member wins, pair by pair."""
    inside = [s for s, m in zip(scores, members, strict=True) if m]
    outside = [s for s, m in zip(scores, members, strict=True) if not m]
    return sum((a > b) + 0.5 * (a == b) for a in inside for b in outside) / (len(inside) * len(outside))


def log_normal(x, values):
    mean = sum(values) / len(values)
    variance = sum((v - mean) ** 2 for v in values) / (len(values) - 1)
    return -0.5 * (x - mean) ** 2 / variance - 0.5 * math.log(2 * math.pi * variance)


def online(statistic, shadow_statistics, shadow_members):
    """Likelihood ratio of one document."""
    inside = [z for z, m in zip(shadow_statistics, shadow_members, strict=True) if m]
    outside = [z for z, m in zip(shadow_statistics, shadow_members, strict=True) if not m]
    return log_normal(statistic, inside) - log_normal(statistic, outside)


def offline(statistic, shadow_statistics, shadow_members):
    """Probability that a model without the document fits it less well than the target does."""
    outside = [z for z, m in zip(shadow_statistics, shadow_members, strict=True) if not m]
    mean = sum(outside) / len(outside)
    spread = math.sqrt(sum((v - mean) ** 2 for v in outside) / (len(outside) - 1))
    return 0.5 * (1 + math.erf((statistic - mean) / spread / math.sqrt(2)))


def digamma(x):
    """By steps up to where the asymptotic series is exact."""
    steps = sum(1 / (x + k) for k in range(100))
    y = x + 100
    return math.log(y) - 1 / (2 * y) - 1 / (12 * y**2) + 1 / (120 * y**4) - steps


def trigamma(x):
    steps = sum(1 / (x + k) ** 2 for k in range(100))
    y = x + 100
    return 1 / y + 1 / (2 * y**2) + 1 / (6 * y**3) - 1 / (30 * y**5) + steps


def shrunk(variances, freedoms):
    """Smyth 2004, section 6.2, one document at a time, halving an interval for d_0."""
    logs = [math.log(v) - digamma(d / 2) + math.log(d / 2) for v, d in zip(variances, freedoms, strict=True)]
    mean = sum(logs) / len(logs)
    scatter = sum((e - mean) ** 2 for e in logs) / (len(logs) - 1)
    scatter -= sum(trigamma(d / 2) for d in freedoms) / len(freedoms)
    if scatter <= 0:
        return [math.exp(mean)] * len(logs)
    low, high = 1e-6, 1e9
    for _ in range(200):
        middle = math.sqrt(low * high)
        low, high = (middle, high) if trigamma(middle / 2) > scatter else (low, middle)
    common = math.exp(mean + digamma(low / 2) - math.log(low / 2))
    return [(low * common + d * v) / (low + d) for v, d in zip(variances, freedoms, strict=True)]
