"""Which reports a fit should not rest on, with whole matrices and sorted lists."""

import math
import statistics

import numpy as np


def usual_reports(bits, channel, *, most_directions=20, chance=1e-4):
    """Return which rows of bits stay, as the two tests say them."""
    p, q, n_words = float(channel.p), float(channel.q), bits.shape[1]
    ones = [int(row.sum()) for row in bits]
    middle = statistics.median_low(ones)
    spread = max(statistics.median_low([abs(n - middle) for n in ones]), 1)
    wide = math.ceil(5 * 1.4826 * spread)
    stay = np.array([middle - wide <= n <= middle + wide for n in ones])
    values, vectors = np.linalg.eigh(np.cov(bits[stay].T, bias=True))
    edge = max(p * (1 - p), q * (1 - q)) * (1 + math.sqrt(n_words / stay.sum())) ** 2
    leading = vectors[:, -most_directions:][:, values[-most_directions:] > edge]
    if leading.shape[1]:
        words = max((middle + wide - q * n_words) / (p - q), 1)
        words = min(words, channel.limit or n_words)
        far = (p - q) * math.sqrt(words) + math.sqrt(math.log(2 * leading.shape[1] / chance) / 2)
        stay &= (np.abs((bits - q) @ leading) <= far).all(axis=1)
    return stay
