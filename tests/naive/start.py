"""A slow, obvious twin of the start's schedule: stepwise CVB0 in double precision, sums as they are defined."""

import numpy as np
from tests.naive.draws import LANES, draw_topic, splitmix
from tests.naive.draws import stream_at as word_at

FEW = 4


def sum_of(products):
    """Sum block after block in each lane, then halves of lanes onto halves."""
    total = np.zeros(LANES, np.float32)
    for block in products.reshape(-1, LANES):
        total = total + block
    while len(total) > 1:
        total = total[: len(total) // 2] + total[len(total) // 2 :]
    return total[0]


def plain(weights, gathered, table, words, counts, at, shift):
    for i in range(at, at + FEW):
        row = table[words[i]] + shift
        gathered += counts[i] / sum_of(weights * row) * row


def leave_out(weights, own, least, gathered, table, words, counts, at, shift, expected, first):
    for i in range(FEW):
        row = table[words[at + i]] + shift
        share = np.float32(1) / sum_of(weights * row)
        mass = np.maximum(weights - row * share * own, least) * row
        expected[first + i] = mass * (counts[at + i] / sum_of(mass))
        gathered += expected[first + i]


def draw(counts, prior, table, word, bits, *_):
    return draw_topic(counts, prior, table[word], bits)


def mix(x):
    return np.uint64(splitmix(int(x)))


def stream_at(start, i):
    return np.uint64(word_at(int(start), int(i)))


def expectation(counts, table, alpha, beta, known, n_plain, n_out, mistake=""):
    """Expected counts (n_words, n_topics) of one document with ``counts`` of words, and its expected topics."""
    n_words = len(counts)
    phi = (table + beta) / (table.sum(axis=0) + n_words * beta)
    found = np.zeros_like(table)
    for step in range(n_plain + n_out):
        for w in np.flatnonzero(counts):
            share = (known + (0 if mistake == "alpha" else alpha)) * phi[w]
            share /= share.sum()
            if step >= n_plain and mistake != "stays":
                share = (np.maximum(known - share, 0) + alpha) * phi[w]
                share /= share.sum()
            found[w] = counts[w] * share
        known = found.sum(axis=0)
    return found, known


def stepwise(counts, batches, table, alpha, beta, schedule, mistake=""):
    """Table after ``batches``, lists of documents in each pass; ``known`` topics of documents are carried on."""
    n_topics, known, t = table.shape[1], {}, 0
    for done, one_pass in enumerate(batches):
        for batch in one_pass:
            total = np.zeros_like(table)
            for d in batch:
                start = known.get(d, np.full(n_topics, counts[d].sum() / n_topics))
                steps = (schedule.n_plain if done else schedule.first_plain, schedule.n_out)
                found, known[d] = expectation(counts[d], table, alpha, beta, start, *steps, mistake)
                total += found
            rho = 0.5 * ((schedule.tau + 1) / (schedule.tau + 1 + t)) ** 0.75
            scale = 1 if mistake == "scale" else counts.sum() / counts[batch].sum()
            table = (1 - rho) * table + rho * scale * total
            t += 1
    return table, known
