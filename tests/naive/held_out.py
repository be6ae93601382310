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


def score(documents, shares, topics, plain, bound):
    """What a unit says of one candidate: the mean over its documents of the gain a token, cut, from 0 to 1.

    Shown are the halves of its documents that are to be guessed, and the shares of topics found from the others.
    """
    total = 0.0
    for document, share in zip(documents, shares, strict=True):
        gain = 0.0
        for word, count in enumerate(document):
            likely = sum(part * topic[word] for part, topic in zip(share, topics, strict=True))
            gain += count * (math.log(likely) - math.log(plain[word])) if count else 0.0
        gain /= max(sum(document), 1)
        total += (min(max(gain / bound, -1), 1) + 1) / 2
    return total / len(documents)
