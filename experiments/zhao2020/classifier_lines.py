"""What the attack on a classifier trains on: reports of LP-LDA. Shared by figure 7's two tasks.

:mod:`classifier` beside this file has two classes, experiments/manzonelli2024/figure7.py has twenty.
"""

import types

import numpy as np
from printed_reports import rebuild

from discreet.local import BitChannel

NONE, LOCAL, ALL_LOCAL = "no privacy", "LP-LDA topics", "LP-LDA topics and classifier"
CLASSIFIERS = ("linear", "forest")
COLOURS = {NONE: "#333333", LOCAL: "#c2540a", ALL_LOCAL: "#4d7a3a"}


def reports(epsilon):
    """Return the seeded simulation of all clients, with the words' totals repaired: what LP-LDA trains on."""
    channel = BitChannel.symmetric(epsilon)
    rates = types.SimpleNamespace(p=float(channel.p), q=float(channel.q))

    def seen(counts, seed):
        rng = np.random.default_rng([7, seed])
        flips = rng.random(counts.shape) < np.where(counts.toarray() > 0, rates.p, rates.q)
        # From here on as printed_reports.fit_lp with the same seed does.
        return rebuild(flips.astype(np.uint8), rates, np.random.default_rng(seed))

    return seen


def kept(work):
    """Remember ``work(counts, seed)`` by its seed: both classifiers stand on the same topics."""
    found = {}

    def remembered(counts, seed):
        if seed not in found:
            found[seed] = work(counts, seed)
        return found[seed]

    return remembered


def local_lines(free, epsilon):
    """Yield name, ``train`` and ``seen`` of both lines of LP-LDA; ``free(counts, seed)`` trains without privacy."""
    seen = kept(reports(epsilon))
    yield LOCAL, kept(lambda counts, seed: free(seen(counts, seed), seed)), None
    yield ALL_LOCAL, kept(free), seen
