"""Slow and obvious: who is held out where the number of topics is chosen, and what each of them says."""

import math

MASK = 2**64 - 1


def mixed(value):
    """The finaliser of SplitMix64, on whole numbers."""
    value = (value + 0x9E3779B97F4A7C15) & MASK
    value = ((value ^ (value >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    value = ((value ^ (value >> 27)) * 0x94D049BB133111EB) & MASK
    return value ^ (value >> 31)


def mark(document):
    """A hash of one document: the count of each word."""
    return mixed(sum(mixed(word) * int(count) for word, count in enumerate(document)) & MASK)


def is_held_out(documents):
    """Whether a unit is held out; it is shown the documents of this unit, and nothing else."""
    return (sum(mark(document) for document in documents) & MASK) % 10 == 0


def gain(document, share, topics, plain):
    """The gain a token on one half of a document, of topics whose shares were found from the other."""
    found = 0.0
    for word, count in enumerate(document):
        likely = sum(part * topic[word] for part, topic in zip(share, topics, strict=True))
        found += count * (math.log(likely) - math.log(plain[word])) if count else 0.0
    return found / max(sum(document), 1)


def score(gains, bound, before):
    """What a unit says of one candidate with so many smaller ones before it, from 0 to 1: the mean over its documents.

    Shown are the gains of each document, one for each half.
    """
    total = 0.0
    for both in gains:
        cut = min(max(sum(both) / 2 / bound, -1), 1) - 0.01 / bound * before
        total += min(max((cut + 1) / 2, 0), 1)
    return total / len(gains)
