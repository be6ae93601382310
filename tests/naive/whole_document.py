"""Answers of whole documents and the public rule, slow and obvious."""

import math
from hashlib import sha256


def responsibilities(words, topics, weights, prior, n_steps):
    """The answer of one document, a list of words without repeats: {(word, topic): whole number}."""
    k = len(topics[0])
    theta = [prior + len(words) / k] * k
    for _ in range(n_steps):
        shares = {v: [theta[j] * topics[v][j] for j in range(k)] for v in words}
        theta = [prior + sum(shares[v][j] / sum(shares[v]) for v in words) for j in range(k)]
    out = {}
    for v in words:
        share = [theta[j] * topics[v][j] for j in range(k)]
        for j in range(k):
            out[v, j] = weights[v] * share[j] / sum(share)
    return out


def question_of(number, shares):
    place = int.from_bytes(sha256(b"discreet question" + number).digest()[:4], "little") / 2**32
    for i in range(len(shares)):
        if place < math.fsum(shares[: i + 1]) / math.fsum(shares):
            return i
    raise AssertionError


def squares_loss(
    coordinates, shared, floor, square, deviation, unigram, along, centre, length, miss, pull, scale
):
    """What the fit to squares minimises, cell by cell."""
    k, d, v = len(coordinates), len(square), len(unigram)
    topics = []
    for a in coordinates:
        row = [unigram[w] * math.exp(sum(along[w][j] * a[j] for j in range(d))) for w in range(v)]
        topics.append([x / sum(row) for x in row])
    at = [[sum(q[w] * along[w][j] for w in range(v)) for j in range(d)] for q in topics]
    loss = 0.0
    for i in range(d):
        for j in range(d):
            bend = sum(shared[x][y] * at[x][i] * at[y][j] for x in range(k) for y in range(k))
            gap = square[i][j] - floor * ((i == j) + length * bend)
            loss += gap**2 / (4 * deviation**2)
    for w in range(v):
        gap = unigram[w] - sum(sum(shared[x]) * topics[x][w] for x in range(k))
        loss += 0.5 * pull * (gap / (miss * unigram[w])) ** 2
    return loss + sum(
        0.5 * (coordinates[x][j] - centre[x][j]) ** 2 / scale for x in range(k) for j in range(d)
    )
