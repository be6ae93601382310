"""Slow and obvious: the exact probability of each winner of report noisy max, by adding up all noise that matters."""

import itertools
import math


def winners(totals, epsilon, size, reach=12):
    """Probability that each candidate wins; ``size`` is a score of 1 in lattice steps, ``reach`` scales of noise."""
    decay = math.exp(-epsilon / size)
    most = int(reach * size / epsilon)
    noise = {m: (1 - decay) / (1 + decay) * decay ** abs(m) for m in range(-most, most + 1)}
    found = [0.0] * len(totals)
    for draws in itertools.product(noise, repeat=len(totals)):
        noisy = [total + draw for total, draw in zip(totals, draws, strict=True)]
        found[noisy.index(max(noisy))] += math.prod(noise[draw] for draw in draws)
    return found
