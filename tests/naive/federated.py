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
