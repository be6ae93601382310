"""How likely a number of ones is, in fractions, by adding one bit after the other."""

from fractions import Fraction


def law_of_ones(n_present, n_words, p, q):
    """Return the probability of 0, 1, ... n_words ones."""
    law = [Fraction(1)]
    for t in range(n_words):
        one = p if t < n_present else q
        longer = [Fraction(0)] * (len(law) + 1)
        for k, chance in enumerate(law):
            longer[k] += chance * (1 - one)
            longer[k + 1] += chance * one
        law = longer
    return law


def worst_tails(most_present, n_words, p, q, fewest, most):
    """Return the largest probability, over all documents, of fewer ones than ``fewest``, and of more than ``most``."""
    laws = [law_of_ones(m, n_words, p, q) for m in range(most_present + 1)]
    return max(sum(law[:fewest]) for law in laws), max(sum(law[most + 1 :]) for law in laws)
