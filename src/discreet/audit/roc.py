"""A picture of an attack: true against false positives, both on logarithmic axes, below the promise's ceiling.

An attack that finds few members, but those without doubt, shows on the left of such axes and nowhere in an area under
a curve. Axes and curves begin at one false alarm, 1 / number of others: whoever is found before the first false alarm
is drawn there. Left of it nothing was measured, and the ceiling, which goes on falling, would seem broken. Between two
thresholds a curve is level, as no test lies between.

The picture is one SVG element without script, style or identifiers, so that it can stand in a page of a strict policy;
it names no document.

Reference
---------
Carlini et al., "Membership inference attacks from first principles", arXiv:2112.03570.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from html import escape

import numpy as np
from numpy.typing import NDArray

from discreet.audit.attack_report import AuditReport
from discreet.errors import ParameterError

__all__ = ["roc_svg"]

_WIDTH, _HEIGHT, _LEFT, _RIGHT, _TOP, _BOTTOM = 560, 470, 68, 16, 14, 56
_STROKES = ("#2b6a8f", "#c2540a", "#4d7a3a", "#7a4d8f")
_DASHES = ("", "7 3", "2 3", "9 3 2 3")


def roc_svg(reports: AuditReport | Mapping[str, AuditReport]) -> str:
    """Draw attacks on one model as an SVG element.

    Parameters
    ----------
    reports : AuditReport or mapping of str to AuditReport
        Up to 4, by name. The ceiling is drawn of the first that promises an epsilon.

    Returns
    -------
    str
        Classes ``roc``, ``roc-axis``, ``roc-curve``, ``roc-ceiling`` and ``roc-guess`` may be styled.
    """
    named = {reports.attack: reports} if isinstance(reports, AuditReport) else dict(reports)
    if not 0 < len(named) <= len(_STROKES):
        raise ParameterError(f"a picture shows 1 to {len(_STROKES)} attacks, but got {len(named)}.")
    start = _Start(
        min(0.1, *(1 / _others(r) for r in named.values())),
        min(0.1, *(1 / int(r.members.sum()) for r in named.values())),
    )
    grid = np.geomspace(start.false, 1.0, 181)
    parts = [_axes(start), _path(grid, grid, start, "roc-guess", 'stroke="#888" stroke-dasharray="2 4"')]
    labels = []
    promising = next((r for r in named.values() if r.epsilon is not None), None)
    if promising is not None and promising.epsilon is not None:
        top = np.asarray(promising.ceiling(grid))
        corners = [*_points(grid, top, start), _place(1.0, 1.0, start), _place(0.0, 1.0, start)]
        area = "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in corners) + "Z"
        parts.append(f'<path class="roc-beyond" d="{area}" fill="#8c1d18" fill-opacity=".09"/>')
        parts.append(_path(grid, top, start, "roc-ceiling", 'stroke="#8c1d18" stroke-width="2"'))
        delta = f", delta {promising.delta:g}" if promising.delta else ""
        labels.append(
            ("roc-ceiling", "#8c1d18", "", f"most that epsilon {promising.epsilon:g}{delta} allows")
        )
    for number, (name, report) in enumerate(named.items()):
        false, true = _steps(report)
        dashes = f' stroke-dasharray="{_DASHES[number]}"' if number else ""
        paint = f'stroke="{_STROKES[number]}" stroke-width="2.5"{dashes}'
        parts.append(_path(false, true, start, f"roc-curve roc-{number}", paint))
        labels.append((f"roc-curve roc-{number}", _STROKES[number], dashes, name))
    labels.append(("roc-guess", "#888", ' stroke-dasharray="2 4"', "guessing"))
    parts.extend(_legend(labels))
    told = "; ".join(
        f"{name}: {r.tpr_at(0.01):.1%} of members at 1% false alarms" for name, r in named.items()
    )
    return (
        f'<svg class="roc" xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" '
        f'aria-label="{escape("Members found against false alarms. " + told)}" fill="none" '
        f'font-family="sans-serif" font-size="13">{"".join(parts)}</svg>'
    )


@dataclass(frozen=True)
class _Start:
    """The rates at which the axes begin."""

    false: float
    true: float


def _others(report: AuditReport) -> int:
    return int((~report.members).sum())


def _place(false: float, true: float, start: _Start) -> tuple[float, float]:
    """Return where a pair of rates stands; what is below the axes stands on them."""
    across, up = (
        1 - math.log(max(rate, low)) / math.log(low)
        for rate, low in ((false, start.false), (true, start.true))
    )
    return (
        _LEFT + across * (_WIDTH - _LEFT - _RIGHT),
        _HEIGHT - _BOTTOM - up * (_HEIGHT - _TOP - _BOTTOM),
    )


def _points(
    false: NDArray[np.float64], true: NDArray[np.float64], start: _Start
) -> list[tuple[float, float]]:
    return [_place(float(f), float(t), start) for f, t in zip(false, true, strict=True)]


def _path(false: NDArray[np.float64], true: NDArray[np.float64], start: _Start, name: str, paint: str) -> str:
    line = "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in _points(false, true, start))
    return f'<path class="{name}" d="{line}" {paint}/>'


def _steps(report: AuditReport) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return corners of the curve from one false alarm on, one threshold a column of the picture: the last."""
    false, true = report.curve()
    one = 1 / _others(report)
    later = false > one * (1 + 1e-9)
    columns = np.round(np.log10(false[later]) * 120).astype(np.int64)
    last = np.r_[columns[1:] != columns[:-1], True][: len(columns)]
    across = np.r_[one, false[later][last]]
    up = np.r_[true[~later].max(), true[later][last]]
    # Level to the next threshold, then up to what it finds.
    return np.repeat(across, 2)[1:], np.repeat(up, 2)[:-1]


def _axes(start: _Start) -> str:
    left, bottom = _place(0.0, 0.0, start)
    right, top = _place(1.0, 1.0, start)
    parts = [
        f'<g class="roc-axis" stroke="currentColor" stroke-opacity=".25"><path d="M{left} {top}V{bottom}H{right}"/>'
    ]
    words = []
    for power in range(-_decades(start.false), 1):
        x, _ = _place(10.0**power, 1.0, start)
        end = "end" if power == 0 else "middle"
        parts.append(f'<path d="M{x:.1f} {top}V{bottom + 5}"/>')
        words.append(f'<text x="{x:.1f}" y="{bottom + 21}" text-anchor="{end}">{_percent(power)}</text>')
    for power in range(-_decades(start.true), 1):
        _, y = _place(1.0, 10.0**power, start)
        parts.append(f'<path d="M{left - 5} {y:.1f}H{right}"/>')
        words.append(f'<text x="{left - 9}" y="{y + 4:.1f}" text-anchor="end">{_percent(power)}</text>')
    middle = (top + bottom) / 2
    words.append(
        f'<text x="{(left + right) / 2}" y="{bottom + 46}" text-anchor="middle">false alarms (FPR)</text>'
    )
    words.append(
        f'<text x="14" y="{middle}" text-anchor="middle" transform="rotate(-90 14 {middle})">members found (TPR)</text>'
    )
    return f'{"".join(parts)}</g><g class="roc-words" fill="currentColor">{"".join(words)}</g>'


def _decades(low: float) -> int:
    """Return how many whole decades lie between a rate and 1."""
    return math.floor(-math.log10(low) + 1e-9)


def _percent(power: int) -> str:
    return f"{100 * 10.0**power:g}\u202f%"


def _legend(labels: list[tuple[str, str, str, str]]) -> list[str]:
    """Set names in the lower right corner, where no curve of a working attack goes."""
    x, y = _WIDTH - _RIGHT - 12, _HEIGHT - _BOTTOM - 14 - 19 * (len(labels) - 1)
    parts = []
    for name, stroke, dashes, text in labels:
        parts.append(
            f'<path class="{name}" d="M{x - 26} {y - 4}H{x}" stroke="{stroke}" stroke-width="2.5"{dashes}/>'
        )
        parts.append(
            f'<text class="roc-words" x="{x - 34}" y="{y}" text-anchor="end" fill="currentColor">{escape(text)}</text>'
        )
        y += 19
    return parts
