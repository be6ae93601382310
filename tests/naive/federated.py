"""Slow, obvious twins of the federated room."""

import math


def mixture(q, eta):
    """Rows of P(y | x) of the mixture form."""
    return [[(1 - eta) * (x == y) + eta * q[y] for y in range(len(q))] for x in range(len(q))]


def another_cell(q, eta):
    """Rows of P(y | x) where noise is drawn from q without x, renewed: the form that fails."""
    return [[1 - eta if x == y else eta * q[y] / (1 - q[x]) for y in range(len(q))] for x in range(len(q))]


def largest_loss(table):
    """The largest log ratio of two rows, over all outcomes."""
    worst = 0.0
    for y in range(len(table[0])):
        column = [row[y] for row in table]
        if max(column) > 0:
            worst = max(worst, math.log(max(column) / min(column)) if min(column) > 0 else math.inf)
    return worst


def slow_debias(seen, eta, q):
    """Unbiased counts, one at a time."""
    n = sum(int(count) for count in seen)
    return [
        (float(count) - float(eta) * n * share) / float(1 - eta) for count, share in zip(seen, q, strict=True)
    ]


def slow_contributions(rows):
    """Sums of one silo, document by document, cell by cell."""
    n_words = len(rows[0])
    count, unigram = 0, [0] * n_words
    pairs = {(i, j): 0 for i in range(n_words) for j in range(i + 1, n_words)}
    for row in rows:
        words = [word for word in range(n_words) if row[word] > 0]
        count += 2**18
        for place, word in enumerate(words):
            unigram[word] += math.floor(math.sqrt(4**18 / len(words)))
            for other in words[place + 1 :]:
                pairs[word, other] += math.floor(math.sqrt(4**18 / (len(words) * (len(words) - 1) / 2)))
    return [count, *unigram, *pairs.values()]
