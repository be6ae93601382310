"""Slow, obvious twins of the local room's computations."""

import itertools

import numpy as np


def moments(rows):
    """Return n, sum of rows and sum of outer products, one report after the other."""
    rows = np.asarray(rows)
    first = np.zeros(rows.shape[1], np.int64)
    second = np.zeros((rows.shape[1], rows.shape[1]), np.int64)
    for row in rows.astype(np.int64):
        first += row
        second += np.outer(row, row)
    return len(rows), first, second


def all_reports(present, p, q):
    """Go through every report that a document may send, with its probability."""
    for report in itertools.product((0, 1), repeat=len(present)):
        chance = 1.0
        for bit, word in zip(report, present, strict=True):
            one = p if word else q
            chance *= one if bit else 1 - one
        yield np.array(report, np.uint8), chance


def randomise(present, p, q, seed):
    """Randomise rows of bits with a seeded generator (for tests of inference only)."""
    present = np.asarray(present)
    draws = np.random.default_rng(seed).random(present.shape)
    return (draws < np.where(present > 0, p, q)).astype(np.uint8)


def symmetric(epsilon):
    """Return p and q of the symmetric channel."""
    q = 1 / (np.exp(epsilon) + 1)
    return 1 - q, q


def objective(logits, log_pairs, log_weight, target, base, tau):
    """Return moment_fit's objective, cell by cell."""
    phi = np.exp(logits) / np.exp(logits).sum(1, keepdims=True)
    pairs, weight = np.exp((log_pairs + log_pairs.T) / 2), np.exp(log_weight)
    n_topics, n_words = phi.shape
    total = 0.0
    for i in range(n_words):
        rate = sum(weight[k] * phi[k, i] for k in range(n_topics))
        total += 0.5 * target.rate_weight[i] * (target.rates[i] - rate) ** 2
        for j in range(n_words):
            if i != j:
                both = sum(
                    phi[k, i] * pairs[k, m] * phi[m, j] for k in range(n_topics) for m in range(n_topics)
                )
                total += 0.25 * target.pair_weight[i, j] * (target.pairs[i, j] - both) ** 2
    return total + ((logits - base) ** 2).sum() / (2 * tau**2)


def refine_step(report, theta, phi, alpha, rate, p, q):
    """Return the next theta of one report, word by word (the passes' inner step, with geometric means)."""
    from scipy.special import digamma

    gained = np.zeros(len(theta))
    for t, bit in enumerate(report):
        chance = q + (p - q) * min(float(theta @ phi[:, t]), 0.98)
        ratio = p / chance if bit else (1 - p) / (1 - chance)
        gained += theta * phi[:, t] * ratio
    return np.exp(digamma(alpha + gained)) / (1 + rate)


def clone_divergence(epsilon, epsilon_0, n_reports):
    """Return max over sets of P - e^epsilon Q for the pair of the clones' theorem, outcome by outcome."""
    from math import comb, exp

    share, keep = exp(-epsilon_0), exp(epsilon_0) / (1 + exp(epsilon_0))
    first, second = {}, {}
    for c in range(n_reports):
        chance = comb(n_reports - 1, c) * share**c * (1 - share) ** (n_reports - 1 - c)
        for a in range(c + 1):
            each = chance * comb(c, a) / 2**c
            for zero, own in ((1, keep), (0, 1 - keep)):
                outcome = (a + zero, c - a + 1 - zero)
                first[outcome] = first.get(outcome, 0.0) + each * own
                second[outcome] = second.get(outcome, 0.0) + each * (1 - own)
    return sum(max(0.0, first[key] - exp(epsilon) * second[key]) for key in first)


def divergence_beside(epsilon, randomiser, texts, elsewhere, old, new):
    """The same, where the shuffled reports of other writers on something else are seen as well."""
    from math import exp

    def seen(own):
        found = {}
        n_outputs, n = len(randomiser[0]), len(texts) + 1
        for outputs in itertools.product(range(n_outputs), repeat=n + len(elsewhere)):
            chance = 1.0
            for text, output in zip((own, *texts, *elsewhere), outputs, strict=True):
                chance *= randomiser[text][output]
            key = tuple(sorted(outputs[:n])), tuple(sorted(outputs[n:]))
            found[key] = found.get(key, 0.0) + chance
        return found

    first, second = seen(old), seen(new)
    return sum(max(0.0, first[key] - exp(epsilon) * second[key]) for key in first)


def shuffled_divergence(epsilon, randomiser, texts, old, new):
    """Return the divergence of shuffled reports, by enumerating all reports of all writers.

    ``randomiser[x]`` holds the probabilities of the outputs for text x; ``texts`` are the other writers'.
    """
    from math import exp

    def shuffled(own):
        found = {}
        n_outputs = len(randomiser[0])
        for outputs in itertools.product(range(n_outputs), repeat=len(texts) + 1):
            chance = randomiser[own][outputs[0]]
            for text, output in zip(texts, outputs[1:], strict=True):
                chance *= randomiser[text][output]
            key = tuple(sorted(outputs))
            found[key] = found.get(key, 0.0) + chance
        return found

    first, second = shuffled(old), shuffled(new)
    return sum(max(0.0, first[key] - exp(epsilon) * second[key]) for key in first)
