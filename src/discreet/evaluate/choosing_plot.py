"""The plot of ``choose_n_topics``: two panels over the number of topics, as SVG; and a page around it.

Upper panel: perplexity of held-out documents, with the words' frequencies alone as the line to beat. Lower panel:
coherence. Dots are means over folds, bars one standard error to each side, and the choice is a ring. The axis of
topics is logarithmic. Nothing but text is needed to draw it.
"""

import math
from html import escape
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from discreet.evaluate.choosing import TopicNumbers

__all__ = ["draw", "page", "round_steps"]

Floats = NDArray[np.float64]

WIDTH, HEIGHT = 720, 560
_LEFT, _RIGHT, _PANELS = 74.0, 24.0, ((40.0, 300.0), (356.0, 500.0))
_INK, _SOFT, _GRID, _MARK, _CHOICE = "#1d2733", "#5b6774", "#e3e7ec", "#2b5c8a", "#b3541e"


def draw(numbers: "TopicNumbers") -> str:
    """Return the drawing as one SVG element."""
    places = _across(numbers.candidates)
    folds = np.sqrt(numbers.perplexity.shape[1])
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" '
        f'font-family="system-ui, sans-serif" font-size="13" fill="{_INK}">',
        f"<title>{escape(_summary(numbers))}</title>",
    ]
    chosen = numbers.candidates.index(numbers.best)
    unigram = float(numbers.unigram_perplexity.mean())
    for name, values, line, (top, bottom) in (
        ("perplexity of held-out documents (lower is better)", numbers.perplexity, unigram, _PANELS[0]),
        ("coherence, NPMI (higher is better)", numbers.coherence, None, _PANELS[1]),
    ):
        mean, error = values.mean(axis=1), values.std(axis=1, ddof=1) / folds
        parts += _panel(name, places, mean, error, line, chosen, top, bottom)
    step = max(1, math.ceil(len(places) / 14))
    for row in range(0, len(places), step):
        parts.append(_text(places[row], _PANELS[1][1] + 20, str(numbers.candidates[row]), "middle"))
    parts.append(_text((_LEFT + WIDTH - _RIGHT) / 2, HEIGHT - 14, "number of topics", "middle", _SOFT))
    return "".join([*parts, "</svg>"])


def page(numbers: "TopicNumbers", corpus: str) -> str:
    """Return one offline HTML page with the drawing, the table and what they mean."""
    rows = "".join(
        f"<tr{' class=best' if row['n_topics'] == numbers.best else ''}><td>{row['n_topics']:.0f}</td>"
        f"<td>{row['perplexity']:.1f} ± {row['perplexity_error']:.1f}</td>"
        f"<td>{row['coherence']:.3f} ± {row['coherence_error']:.3f}</td><td>{row['diversity']:.2f}</td></tr>"
        for row in numbers.table()
    )
    return (
        '<!doctype html><html lang="en"><meta charset="utf-8"><title>How many topics</title>'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<style>body{{font:15px/1.5 system-ui,sans-serif;color:{_INK};max-width:46rem;"
        "margin:2rem auto;padding:0 1rem}"
        "svg{width:100%;height:auto}table{border-collapse:collapse}"
        f"td,th{{text-align:right;padding:.25rem 1rem .25rem 0;border-bottom:1px solid {_GRID}}}"
        f".best td{{font-weight:600;color:{_CHOICE}}}</style>"
        f"<h1>How many topics</h1><p>{escape(_summary(numbers))} Measured on {escape(corpus)}.</p>"
        f"{draw(numbers)}<table><tr><th>topics<th>perplexity<th>coherence<th>diversity</tr>{rows}</table>"
        f"<p>Mean and standard error over {numbers.perplexity.shape[1]} folds. The choice is the smallest number that "
        "no other beats by more than one standard error of their difference fold by fold. Under differential privacy "
        "fewer topics also carry less noise.</p>"
        "<p>These are exact statistics of the documents. They, and a choice made by them, are safe to publish only "
        "where the documents are public.</p></html>\n"
    )


def round_steps(low: float, high: float, wanted: int = 5) -> list[float]:
    """Return round numbers that cut [low, high] into about ``wanted`` steps."""
    size = (high - low) / wanted
    power = 10.0 ** math.floor(math.log10(size))
    step = next(factor * power for factor in (1, 2, 5, 10) if factor * power >= size * (1 - 1e-9))
    first = math.ceil(low / step - 1e-9)
    return [round(step * n, 12) for n in range(first, math.floor(high / step + 1e-9) + 1)]


def _summary(numbers: "TopicNumbers") -> str:
    tried = ", ".join(map(str, numbers.candidates))
    chosen = float(numbers.perplexity[numbers.candidates.index(numbers.best)].mean())
    alone = float(numbers.unigram_perplexity.mean())
    return (
        f"{numbers.best} topics, of {tried} tried: held-out perplexity {chosen:.0f}, words alone {alone:.0f}."
    )


def _across(candidates: tuple[int, ...]) -> list[float]:
    logs = np.log(np.array(candidates, np.float64))
    spread = float(logs[-1] - logs[0])
    left, right = _LEFT + 24, WIDTH - _RIGHT - 24
    if spread == 0:
        return [(left + right) / 2]
    return [float(left + (right - left) * (value - logs[0]) / spread) for value in logs]


def _panel(
    name: str,
    places: list[float],
    mean: Floats,
    error: Floats,
    line: float | None,
    chosen: int,
    top: float,
    bottom: float,
) -> list[str]:
    low, high = float((mean - error).min()), float((mean + error).max())
    if line is not None:
        low, high = min(low, line), max(high, line)
    room = 0.06 * (high - low) or 0.5
    low, high = low - room, high + room

    def y(value: float) -> float:
        return bottom - (bottom - top) * (value - low) / (high - low)

    parts = [_text(_LEFT, top - 14, name, "start", _INK, ' font-weight="600"')]
    steps = round_steps(low, high, 5 if bottom - top > 200 else 4)
    digits = max(0, -math.floor(math.log10(min(np.diff(steps), default=1.0)) + 1e-9))
    for value in steps:
        parts.append(_line(_LEFT, y(value), WIDTH - _RIGHT, y(value), _GRID))
        parts.append(_text(_LEFT - 8, y(value) + 4, f"{value:.{digits}f}", "end", _SOFT))
    if line is not None:
        parts.append(_line(_LEFT, y(line), WIDTH - _RIGHT, y(line), _SOFT, ' stroke-dasharray="5 4"'))
        parts.append(_text(WIDTH - _RIGHT, y(line) + 17, "word frequencies alone", "end", _SOFT))
    points = " ".join(f"{x:.1f},{y(value):.1f}" for x, value in zip(places, mean.tolist(), strict=True))
    parts.append(f'<polyline points="{points}" fill="none" stroke="{_MARK}" stroke-width="1.5"/>')
    for row, x in enumerate(places):
        value, half = float(mean[row]), float(error[row])
        parts.append(_line(x, y(value - half), x, y(value + half), _MARK, ' stroke-width="2"'))
        parts.append(f'<circle cx="{x:.1f}" cy="{y(value):.1f}" r="4" fill="{_MARK}"/>')
        if row == chosen:
            parts.append(
                f'<circle cx="{x:.1f}" cy="{y(value):.1f}" r="9" fill="none" stroke="{_CHOICE}" stroke-width="2.5"/>'
            )
    return parts


def _line(x1: float, y1: float, x2: float, y2: float, colour: str, more: str = "") -> str:
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{colour}"{more}/>'


def _text(x: float, y: float, text: str, anchor: str, colour: str = _INK, more: str = "") -> str:
    place = f'x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{colour}"'
    return f"<text {place}{more}>{escape(text)}</text>"
