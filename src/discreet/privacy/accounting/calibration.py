"""Find the noise for a budget: a root search that ends on the safe side and asks the accountant few times."""

import math
from collections.abc import Callable

__all__ = ["solve"]

_FARTHEST = 12.0
_MOST_CALLS = 60


def solve(excess: Callable[[float], float], start: float, *, tolerance: float, slope: float = 1.5) -> float:
    """Return an x where a falling function lies between ``-tolerance`` and 0.

    Parameters
    ----------
    excess : function
        Falling; ``inf`` is allowed where x is too small. Log epsilon over its goal, against log noise, is
        nearly straight.
    start : float
        Where to begin; anything near will do.
    tolerance : float
    slope : float, default 1.5
        Guess of how steeply it falls.

    Returns
    -------
    float
        ``excess`` of it is not positive. It is below ``-tolerance`` only where the function jumps.

    Raises
    ------
    ArithmeticError
        Where the function stays positive.
    """
    aim = -tolerance / 2
    x, slope = start, min(max(slope, 0.3), 30.0)
    low, high = -math.inf, math.inf  # excess(low) > 0 >= excess(high)
    low_value = high_value = math.nan
    last: tuple[float, float] | None = None
    for turn in range(_MOST_CALLS):
        value = excess(x)
        if -tolerance <= value <= 0:
            return x
        if value > 0:
            low, low_value = x, value
        else:
            high, high_value = x, value
        if high - low < 1e-9:
            return high
        if last is not None and math.isfinite(value) and math.isfinite(last[1]) and x != last[0]:
            slope = min(max((last[1] - value) / (x - last[0]), 0.3), 30.0)
        last = (x, value)
        step = (value - aim) / slope if math.isfinite(value) else 0.5
        x += min(max(step, -1.0), 1.0)
        if not low < x < high or (turn % 4 == 3 and math.isfinite(high - low)):
            share = 0.5
            if turn % 4 != 3 and math.isfinite(low_value):
                share = (low_value - aim) / (low_value - high_value)
            x = low + (high - low) * min(max(share, 0.02), 0.98)
        if abs(x - start) > _FARTHEST:
            if math.isfinite(high):
                return high
            raise ArithmeticError("the function stays positive")
    if math.isfinite(high):
        return high
    raise ArithmeticError("the function stays positive")
