"""The mean of a chain's counts, cell by cell, over tables that are kept whole."""

from fractions import Fraction


def samples(n_sweeps):
    """The last sweep, and back from it every fourth one in the last quarter."""
    return sorted(s for s in range(n_sweeps, 0, -4) if s > n_sweeps * 3 / 4)


def mean_counts(tables):
    """Mean of word-topic tables, one after the other, in exact fractions; tables[i][w][k]."""
    n_words, n_topics = len(tables[0]), len(tables[0][0])
    mean = [[Fraction(0)] * n_topics for _ in range(n_words)]
    for k in range(n_topics):
        since = []
        for table in tables:
            column = [row[k] for row in table]
            if since:
                old = [Fraction(sum(values), len(since)) for values in zip(*since, strict=True)]
                in_both = sum(min(a, b) for a, b in zip(column, old, strict=True))
                if in_both < Fraction(max(sum(column), sum(old))) / 2:
                    since = []
            since.append(column)
        for w in range(n_words):
            mean[w][k] = Fraction(sum(column[w] for column in since), len(since))
    return mean
