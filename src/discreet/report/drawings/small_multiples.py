"""Small charts as SVG: a line with its band over ordered groups, or a point with its interval for each group."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from markupsafe import escape
from numpy.typing import NDArray

from discreet.report.wording import shown

__all__ = ["difference_chart", "interval_chart", "line_chart"]

Floats = NDArray[np.float64]
_WIDTH, _HEIGHT, _LEFT, _BOTTOM = 300, 120, 40, 18
_ROW = 18
_NAME = 110


def line_chart(level: Floats, low: Floats, high: Floats, groups: Sequence[str], *, flat: bool = False) -> str:
    """Return a line over the groups in their order, with the interval of each group behind it.

    Intervals are bars apart, not one band: each is about its own group, and its edges are no line that moves.

    Parameters
    ----------
    level, low, high : arrays of shape (n_groups,)
        Between 0 and 1.
    groups : sequence of str
    flat : bool, default False
        Whether nothing is seen to move: then it is grey.
    """
    n = len(level)
    # A period that may be empty has an interval of 0 to 100 %: it is cut, and does not flatten the others.
    top = _round_up(float(min(high.max(), max(1.6 * level.max(), 1.2 * np.median(high)))))
    x = np.linspace(_LEFT + 4, _WIDTH - 6, n) if n > 1 else np.array([(_LEFT + _WIDTH) / 2])
    floor = _HEIGHT - _BOTTOM

    def y(values: Any) -> Any:
        return floor - (floor - 8) * np.minimum(values, top) / top

    marks = "".join(
        f'<line class="band" x1="{at:.1f}" x2="{at:.1f}" y1="{from_:.1f}" y2="{to:.1f}"/>'
        for at, from_, to in zip(x, y(low), y(high), strict=True)
    )
    line = _points(x, y(level))
    first, last = (escape(shown(group)) for group in (groups[0], groups[-1]))
    told = f"from {100 * level[0]:.1f} % in {first} to {100 * level[-1]:.1f} % in {last}"
    return (
        f'<svg class="{"flat" if flat else "moves"}" viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-label="{told}">'
        + _grid(top, y)
        + f'<g stroke-width="{min(6.0, 150 / n):.2f}">{marks}</g><polyline class="line" points="{line}"/>'
        + f'<text class="tick" x="{_LEFT + 4}" y="{_HEIGHT - 4}">{first}</text>'
        + (f'<text class="tick end" x="{_WIDTH - 6}" y="{_HEIGHT - 4}">{last}</text>' if n > 1 else "")
        + "</svg>"
    )


def interval_chart(
    share: Floats, low: Floats, high: Floats, base: float, groups: Sequence[str], states: Sequence[str]
) -> str:
    """Return a row for each group: its share, its interval, and a line where the overall share lies.

    Parameters
    ----------
    share, low, high : arrays of shape (n_groups,)
    base : float
        The overall share.
    groups, states : sequences of str
        Names, and "more", "less" or "noise": what the groups are surely to the others.
    """
    height = _ROW * len(share) + _BOTTOM
    top = _round_up(float(min(high.max(), max(share.max() * 1.6, base * 2))))

    def x(value: float) -> float:
        return _NAME + (_WIDTH - _NAME - 8) * min(float(value), top) / top

    parts = [f'<line class="base" x1="{x(base):.1f}" x2="{x(base):.1f}" y1="0" y2="{height - _BOTTOM}"/>']
    for row, group in enumerate(groups):
        y = _ROW * row + _ROW / 2
        told = escape(
            f"{shown(group)}: {100 * share[row]:.1f} % ({100 * low[row]:.1f} to {100 * high[row]:.1f})"
        )
        parts.append(
            f'<g class="{states[row]}"><title>{told}</title>'
            f'<text class="name" x="{_NAME - 6}" y="{y:.1f}" dy=".35em">{escape(_short(shown(group)))}</text>'
            f'<line class="interval" x1="{x(low[row]):.1f}" x2="{x(high[row]):.1f}" y1="{y:.1f}" y2="{y:.1f}"/>'
            f'<circle cx="{x(share[row]):.1f}" cy="{y:.1f}" r="3.2"/></g>'
        )
    for value in (0.0, top):
        place = "end" if value else ""
        parts.append(
            f'<text class="tick {place}" x="{x(value):.1f}" y="{height - 4}">{100 * value:.0f}\u202f%</text>'
        )
    return (
        f'<svg viewBox="0 0 {_WIDTH} {height}" role="img" aria-label="Shares by group">{"".join(parts)}</svg>'
    )


def difference_chart(difference: float, low: float, high: float, most: float, *, certain: bool) -> str:
    """Return one difference with its interval, as a small bar around 0; grey unless it is certain."""
    width, height = 160, 16

    def x(value: float) -> float:
        return width / 2 + (width / 2 - 4) * max(-1.0, min(1.0, value / most))

    state = "noise" if not certain else "more" if difference > 0 else "less"
    middle = height / 2
    return (
        f'<svg class="difference" viewBox="0 0 {width} {height}" aria-hidden="true"><g class="{state}">'
        f'<line class="base" x1="{x(0):.1f}" x2="{x(0):.1f}" y1="0" y2="{height}"/>'
        f'<line class="interval" x1="{x(low):.1f}" x2="{x(high):.1f}" y1="{middle}" y2="{middle}"/>'
        f'<circle cx="{x(difference):.1f}" cy="{middle}" r="3.2"/></g></svg>'
    )


def _grid(top: float, y: Any) -> str:
    return "".join(
        f'<line class="grid" x1="{_LEFT}" x2="{_WIDTH}" y1="{y(value):.1f}" y2="{y(value):.1f}"/>'
        f'<text class="tick end" x="{_LEFT - 4}" y="{y(value):.1f}" dy=".35em">{_short_percent(value)}</text>'
        for value in (0.0, top / 2, top)
    )


def _short_percent(value: float) -> str:
    return f"{100 * value:.3g}\u202f%"


def _short(name: str) -> str:
    return name if len(name) <= 16 else name[:15] + "\u2026"


def _points(x: Any, y: Any) -> str:
    return " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(x, y, strict=True))


def _round_up(value: float) -> float:
    """Return the next of 1, 2, 4, 5, 10, 20, ... percent, so that charts share a few scales."""
    for edge in (0.01, 0.02, 0.04, 0.06, 0.1, 0.2, 0.3, 0.4, 0.6, 0.8):
        if value <= edge:
            return edge
    return 1.0
