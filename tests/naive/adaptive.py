"""What an analyst can make a filter lose who picks each next event, and its kind, by the loss so far.

Dynamic programming over the loss on a grid: the value of a standing at a loss is the largest that any event the filter
still grants can make of it. Every loss is rounded *down*, so the value is less than what the analyst really reaches.
"""

import numpy as np
from tests.naive import losses as naive


class Move:
    """An event, and its losses on the grid: weights of cells from ``low`` on, and the probability of failing."""

    def __init__(self, event, losses, weights, step, failure=0.0):
        self.event, self.failure = event, failure
        self.low, self.weights = naive.trimmed(*naive.on_grid(losses, weights, step, np.floor), least=1e-16)


class Game:
    """All that can be made of a budget with a few kinds of moves.

    Parameters
    ----------
    moves : list of Move
    epsilon : float
        What the value is measured at: the mean of max(0, 1 - exp(epsilon - loss)).
    granted : callable
        Whether a standing is within the budget.
    step, depth
        Of the grid; moves in all.
    """

    def __init__(self, moves, epsilon, granted, step, depth, span=8.0):
        self.moves, self.granted, self.depth = moves, granted, depth
        cells = np.arange(-int(span / step), int(span / step))
        self.zero = int(span / step)
        self.end = np.maximum(-np.expm1(np.minimum(epsilon - cells * step, 0.0)), 0.0)

    def value(self, standing, depth=None):
        """Return the value at each loss, the best move being made at each."""
        depth = self.depth if depth is None else depth
        best = self.end.copy()
        for move in self.moves if depth else ():
            after = standing.after([move.event])
            if not self.granted(after):
                continue
            inner = self.value(after, depth - 1)
            mean = np.correlate(np.r_[inner, np.ones(len(move.weights))], move.weights, "full")
            # mean[i] = sum_j weights[j] * inner[i - (len - 1) + j]; shift it to losses i + low + j
            start = len(move.weights) - 1 + move.low
            picked = np.arange(len(best)) + start
            inside = (picked >= 0) & (picked < len(mean))
            reached = np.where(picked < 0, 0.0, 1.0)
            reached[inside] = mean[picked[inside]]
            np.maximum(best, move.failure + (1 - move.failure) * reached, out=best)
        return best

    def lost(self, standing):
        """Return the value at the start, where nothing is lost yet."""
        return float(self.value(standing)[self.zero])
