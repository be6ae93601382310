"""Word vectors, slow and obvious: loops over words and topics, formulas as in the modules' texts."""

import math

import numpy as np


def centred(vectors, unigram):
    known = [row for row in range(len(vectors)) if not np.isnan(vectors[row]).any()]
    mean = sum(unigram[row] * vectors[row] for row in known) / sum(unigram[row] for row in known)
    moved = np.zeros(vectors.shape)
    for row in known:
        moved[row] = vectors[row] - mean
    return moved / math.sqrt(sum(unigram[row] * float(moved[row] @ moved[row]) for row in known))


def topic(directions, coordinates, unigram):
    weights = [p * math.exp(float(row @ coordinates)) for p, row in zip(unigram, directions, strict=True)]
    return np.array(weights) / sum(weights)


def spread(joint, variance, expected):
    over = under = 0.0
    for row in range(len(joint)):
        for column in range(len(joint[0])):
            square = expected[row, column] ** 2
            weight = square / (variance[row] + square) ** 2
            over += weight * ((joint[row, column] - expected[row, column]) ** 2 - variance[row])
            under += weight * square
    return min(max(over / under, 0.0), 10.0)


def freedom(scales):
    """6 r^4, at most 1000: r is the first scale over the mean of those after its block of five, at least 1."""
    others = scales[5:]
    ratio = scales[0] / (sum(others) / len(others)) if len(others) else 1
    return min(6 * max(ratio, 1) ** 4, 1000)


def loss(coordinates, directions, scales, cells, deviation, unigram, weight):
    """Minus the log posterior of one topic's coordinates, but for a constant."""
    expected = weight * topic(directions, coordinates, unigram)
    misfit = sum(((c - e) / s) ** 2 for c, e, s in zip(cells, expected, deviation, strict=True))
    return 0.5 * (misfit + sum(a * a / scale for a, scale in zip(coordinates, scales, strict=True)))


def alpha(square, public, directions):
    """How far the second moment is that of documents made of public topics: least squares over all cells."""
    d, n_topics = directions.shape[1], public.shape[1]
    level = square[0][0]
    over = under = 0.0
    for a in range(d):
        for b in range(d):
            expected = (
                sum(
                    float(public[:, k] @ directions[:, a]) * float(public[:, k] @ directions[:, b])
                    for k in range(n_topics)
                )
                / n_topics
            )
            over += square[a + 1][b + 1] / level * expected
            under += expected**2
    return over / under
