r"""Drawings as SVG: the map of topics, and small charts of shares in groups.

The map
-------
Topics stand near each other where they use the same words.

The distance of two topics is Hellinger's, :math:`d(p, q)^2 = 1 - \sum_w \sqrt{p_w q_w}`, which lies between 0
(the same words) and 1 (no word in common). Classical scaling finds the points of the plane whose distances
follow these best: the two leading eigenvectors of :math:`-\frac12 J D^{(2)} J`, with :math:`J` the centring
matrix, times the roots of their eigenvalues. An eigenvector's sign is arbitrary; here its largest entry is
positive, so that the same topics give the same map.

Everything is computed from what was released, so drawings cost no privacy. Noise makes topics look less alike than they
are.

References
----------
Torgerson, "Multidimensional scaling: I. Theory and method", Psychometrika 17 (1952), 401-419.
"""

import math
from collections.abc import Sequence
from textwrap import wrap
from typing import Any, NamedTuple
from unicodedata import east_asian_width

import numpy as np
from markupsafe import escape
from numpy.typing import NDArray

from discreet.report.wording import shown

Floats = NDArray[np.float64]
#: Left, top, right, bottom.
Box = tuple[float, float, float, float]

#: Size of the drawing, in its own units.
WIDTH, HEIGHT = 720, 600
_MARGIN, _GAP, _FONT = 46.0, 5.0, 14.0
SMALL_SCREEN_FONT = 25.0
#: Share of the drawing that all circles cover together.
_COVERED = 0.16
_SMALLEST, _LARGEST = 9.0, 62.0
#: Ways from a circle's middle to its label, below and above first, and how far off the circle it stands.
_AROUND = [
    (math.cos(math.radians(angle)), math.sin(math.radians(angle)))
    for angle in (90, -90, 0, 180, 60, 120, -60, -120, 30, 150, -30, -150, 75, 105, -75, -105)
]
_GAPS = (2.0, 8.0, 16.0)
#: Longest way a circle is pushed in one round.
_STEP = 12.0


class Circle(NamedTuple):
    """A topic on the map, in units of the drawing: where it stands, and where the middle of its label.

    A label without a free place is crowded, and shown on demand only. ``small_``: for the larger letters of a small
    screen.
    """

    x: float
    y: float
    radius: float
    label_x: float
    label_y: float
    crowded: bool
    small_x: float
    small_y: float
    small_crowded: bool


def distances(topic_word: Floats) -> Floats:
    """Return Hellinger's distances between topics: shape (n_topics, n_topics), from 0 to 1."""
    roots = np.sqrt(topic_word)
    common = roots @ roots.T
    common = np.minimum((common + common.T) / 2, 1.0)
    np.fill_diagonal(common, 1.0)
    # Sums that should be 1 miss it by rounding; the root would blow that up to 1e-8.
    return np.sqrt(np.where(common > 1 - 1e-12, 0.0, 1 - common))


def scale(distance: Floats) -> Floats:
    """Return points of the plane with about these distances: shape (n_topics, 2), the wider axis first."""
    n_topics = len(distance)
    centring = np.eye(n_topics) - 1 / n_topics
    products = -centring @ distance**2 @ centring / 2
    values, vectors = np.linalg.eigh((products + products.T) / 2)
    points = np.zeros((n_topics, 2))
    for axis, column in enumerate(range(n_topics - 1, max(n_topics - 3, -1), -1)):
        if values[column] > 1e-10:
            vector = vectors[:, column]
            # Rounded, so that two entries of equal size are not told apart by their last bit.
            sign = np.sign(vector[np.argmax(np.round(np.abs(vector), 9))])
            points[:, axis] = vector * sign * math.sqrt(values[column])
    return points


def lay_out(topic_word: Floats, topic_weight: Floats | None, labels: Sequence[str]) -> list[Circle]:
    """Return a circle for each topic, with areas in proportion to their weights, and a place for its label.

    Circles that would overlap are pushed apart, so distances on the map are approximate. Without weights all are alike.
    A label lies on no circle and on no other label; one that finds no such place is crowded. An empty label
    takes no place.
    """
    n_topics = len(topic_word)
    weight = np.full(n_topics, 1 / n_topics) if topic_weight is None else topic_weight
    radii = np.sqrt(weight * _COVERED * WIDTH * HEIGHT / math.pi)
    radii = np.maximum(radii * min(1.0, _LARGEST / float(radii.max())), _SMALLEST)
    # Many topics need small circles, or there is no room between them.
    radii *= min(1.0, math.sqrt(0.4 * WIDTH * HEIGHT / float(np.sum(math.pi * radii**2))))
    points = _push_apart(_fit(scale(distances(topic_word))), radii)
    places = _place_labels(points, radii, labels, _FONT)
    small = _place_labels(points, radii, labels, SMALL_SCREEN_FONT)
    return [
        Circle(_tenth(x), _tenth(y), _tenth(radius), *place, *other)
        for (x, y), radius, place, other in zip(points.tolist(), radii.tolist(), places, small, strict=True)
    ]


def map_svg(
    topic_word: Floats, topic_weight: Floats | None, labels: Sequence[str], numbers: Sequence[int]
) -> str:
    """Return the map of topics as one drawing without script or style sheet, for a notebook; dark or light as the page.

    A topic with an empty label is drawn with a broken line. ``numbers`` stand in the circles.
    """
    parts = [
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" style="max-width:100%" role="img" '
        'aria-label="Map of topics: the nearer, the more alike" font-family="sans-serif" text-anchor="middle">'
    ]
    drawn = lay_out(topic_word, topic_weight, labels)
    for circle, label, number in zip(drawn, labels, numbers, strict=True):
        line = "" if label else ' stroke-dasharray="4 4"'
        parts.append(
            f'<g><title>{escape(label or "mostly noise")}</title><circle cx="{circle.x}" cy="{circle.y}" '
            f'r="{circle.radius}" fill="#4c78a8" fill-opacity=".25" stroke="#4c78a8"{line}/><text x="{circle.x}" '
            f'y="{circle.y}" dy=".35em" fill="currentColor" font-size="{_FONT}">{number}</text>'
        )
        if label and not circle.crowded:
            parts.append(
                f'<text x="{circle.label_x}" y="{circle.label_y}" dy=".35em" fill="currentColor" '
                f'font-size="{_FONT}">{escape(label)}</text>'
            )
        parts.append("</g>")
    return "".join([*parts, "</svg>"])


def _fit(points: Floats) -> Floats:
    """Turn, move and scale points into the drawing, both axes alike; distances fix no direction."""
    room = np.array([WIDTH, HEIGHT]) - 2 * _MARGIN
    best, largest = np.zeros_like(points), 0.0
    for angle in np.radians(range(0, 180, 5)).tolist():
        cos, sin = math.cos(angle), math.sin(angle)
        turned = points @ np.array([[cos, sin], [-sin, cos]])
        low, high = turned.min(0), turned.max(0)
        spread = high - low
        factor = min((room[axis] / spread[axis] for axis in range(2) if spread[axis] > 1e-9), default=0.0)
        # Ties go to the smaller turn, whatever the last bits say.
        if factor > largest * (1 + 1e-9):
            best, largest = (turned - (low + high) / 2) * factor, factor
    return best + np.array([WIDTH, HEIGHT]) / 2


def _push_apart(points: Floats, radii: Floats, rounds: int = 400) -> Floats:
    """Move overlapping circles away from each other, within the drawing."""
    n_topics = len(points)
    # A spiral too small to be seen, so that equal topics have a direction to part in.
    turn = np.arange(n_topics) * 2.399963
    points = points + 0.01 * np.column_stack([np.cos(turn), np.sin(turn)])
    need = radii[:, None] + radii[None, :] + _GAP
    edge = radii[:, None] + 4.0
    size = np.array([WIDTH, HEIGHT], dtype=np.float64)
    for _ in range(rounds):
        apart = points[:, None, :] - points[None, :, :]
        length = np.maximum(np.sqrt((apart**2).sum(-1)), 1e-9)
        excess = np.clip(need - length, 0, None) * (1 - np.eye(n_topics))
        if not excess.any():
            break
        move = (apart * (excess / length / 2)[:, :, None]).sum(1)
        # Short steps: a heap of circles must not fly into the corners.
        points = np.clip(points + np.clip(0.6 * move, -_STEP, _STEP), edge, size - edge)
    return np.clip(points, edge, size - edge)


def _place_labels(
    points: Floats, radii: Floats, labels: Sequence[str], font: float
) -> list[tuple[float, float, bool]]:
    """Find each label a place beside its circle where it lies on nothing, the largest circles first."""
    boxes: list[Box] = []
    places: list[tuple[float, float, bool]] = [(0.0, 0.0, True)] * len(labels)
    for topic in np.argsort(-radii, kind="stable").tolist():
        if not labels[topic]:
            continue
        (x, y), radius = points[topic].tolist(), float(radii[topic])
        half, tall = font * ems(str(labels[topic])) / 2 + 2, font / 2 + 1
        ways = [
            (
                min(max(x + cos * (radius + gap + half * abs(cos)), half), WIDTH - half),
                y + sin * (radius + gap + tall),
            )
            for gap in _GAPS
            for cos, sin in _AROUND
        ]
        free = (at for at in ways if _is_free(_box(at, half, tall), boxes, points, radii))
        at = next(free, None)
        places[topic] = (_tenth((at or ways[0])[0]), _tenth((at or ways[0])[1]), at is None)
        if at is not None:
            boxes.append(_box(at, half, tall))
    return places


def _box(middle: tuple[float, float], half: float, tall: float) -> Box:
    return middle[0] - half, middle[1] - tall, middle[0] + half, middle[1] + tall


def _is_free(box: Box, boxes: Sequence[Box], points: Floats, radii: Floats) -> bool:
    """Whether a label lies within the drawing, on no other label and on no circle."""
    if box[0] < 0 or box[1] < 0 or box[2] > WIDTH or box[3] > HEIGHT:
        return False
    if any(box[0] < b[2] and b[0] < box[2] and box[1] < b[3] and b[1] < box[3] for b in boxes):
        return False
    nearest = np.clip(points, [box[0], box[1]], [box[2], box[3]])
    return bool((((points - nearest) ** 2).sum(1) >= radii**2).all())


def ems(text: str) -> float:
    """Return about how wide a text is, in sizes of its font: letters of Chinese or Japanese are as wide as high."""
    return 0.62 * len(text) + 0.38 * sum(east_asian_width(letter) in "WF" for letter in text)


def fitting(text: str, room: float) -> int:
    """Return about how many letters of a text fit into ``room``, which is in sizes of its font."""
    return int(room * len(text) / max(ems(text), 1.0))


def _tenth(value: float) -> float:
    return round(float(value), 1)


_WIDTH, _HEIGHT, _LEFT, _BOTTOM = 300, 120, 40, 18
_CHART_ROW, _NAME, _NAME_EMS = 18, 124, 10.6


def axis_top(share: Floats, high: Floats) -> float:
    """Return where the axis of shares ends in all charts of a page, so that they can be held against each other.

    A group that may be empty has an interval of 0 to 100 %: it is cut, and does not flatten the others.
    """
    return _round_up(float(min(high.max(), max(1.6 * share.max(), 1.2 * np.median(high)))))


def line_chart(
    level: Floats, low: Floats, high: Floats, groups: Sequence[str], top: float, *, flat: bool = False
) -> str:
    """Return a line over the groups in their order, with the interval of each group behind it; grey where it is flat.

    Intervals are bars apart, not one band: each is about its own group, and its edges are no line that moves. The axis
    ends at ``top``.
    """
    n = len(level)
    x = np.linspace(_LEFT + 4, _WIDTH - 6, n) if n > 1 else np.array([(_LEFT + _WIDTH) / 2])
    floor = _HEIGHT - _BOTTOM

    def y(values: Any) -> Any:
        return floor - (floor - 8) * np.minimum(values, top) / top

    marks = "".join(
        f'<line class="band" x1="{at:.1f}" x2="{at:.1f}" y1="{from_:.1f}" y2="{to:.1f}"/>'
        for at, from_, to in zip(x, y(low), y(high), strict=True)
    )
    first, last = (escape(shown(group)) for group in (groups[0], groups[-1]))
    told = f"from {100 * level[0]:.1f} % in {first} to {100 * level[-1]:.1f} % in {last}"
    return (
        f'<svg class="{"flat" if flat else "moves"}" viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-label="{told}">'
        + _grid(top, y)
        + f'<g stroke-width="{min(6, 150 / n):.2f}">{marks}</g><polyline class="line" points="{_points(x, y(level))}"/>'
        + f'<text class="tick" x="{_LEFT + 4}" y="{_HEIGHT - 4}">{first}</text>'
        + (f'<text class="tick end" x="{_WIDTH - 6}" y="{_HEIGHT - 4}">{last}</text>' if n > 1 else "")
        + "</svg>"
    )


def interval_chart(
    share: Floats,
    low: Floats,
    high: Floats,
    rest: Floats,
    groups: Sequence[tuple[str, str]],
    states: Sequence[str],
    top: float,
) -> str:
    """Return a row for each group: its share, an interval, and a short line where the share of all the others lies.

    A group is what it is called, and what is said of it where it is pointed at; its state is "more", "less" or "noise":
    what it surely is to the others. Where ``rest`` is not a number there is no short line.
    """
    names = [
        wrap(group, max(4, fitting(group, _NAME_EMS)), max_lines=3, placeholder="\u2026")
        for group, _ in groups
    ]
    ends = np.cumsum([max(_CHART_ROW, 13 * len(lines) + 3) for lines in names])
    height = int(ends[-1]) + _BOTTOM

    def x(value: float) -> str:
        return f"{_NAME + (_WIDTH - _NAME - 8) * min(max(float(value), 0.0), top) / top:.1f}"

    parts: list[str] = []
    for row, (lines, (_, said), end) in enumerate(zip(names, groups, ends.tolist(), strict=True)):
        y = end - max(_CHART_ROW, 13 * len(lines) + 3) / 2
        first = y - 6.5 * (len(lines) - 1)
        name = "".join(
            f'<tspan x="{_NAME - 6}" y="{first + 13 * at:.1f}" dy=".35em">{escape(line)}</tspan>'
            for at, line in enumerate(lines)
        )
        line = f'<path class="rest" d="M{x(rest[row])} {y - 6}V{y + 6}"/>' if math.isfinite(rest[row]) else ""
        parts.append(
            f'<g class="{states[row]}"><title>{escape(said)}</title>'
            f'<text class="name">{name}</text>'
            f'<line class="interval" x1="{x(low[row])}" x2="{x(high[row])}" y1="{y:.1f}" y2="{y:.1f}"/>{line}'
            f'<circle cx="{x(share[row])}" cy="{y:.1f}" r="3.2"/></g>'
        )
    for value in (0.0, top):
        parts.append(
            f'<text class="tick {"end" * (value > 0)}" x="{x(value)}" y="{height - 4}">{100 * value:.0f}\u202f%</text>'
        )
    return (
        f'<svg viewBox="0 0 {_WIDTH} {height}" role="img" aria-label="Shares by group">{"".join(parts)}</svg>'
    )


def difference_chart(difference: float, low: float, high: float, most: float, *, certain: bool) -> str:
    """Return one difference with its interval, as a small bar around 0; grey unless it is certain."""
    width, height, middle = 160, 16, 8

    def x(value: float) -> float:
        return width / 2 + (width / 2 - 4) * max(-1.0, min(1.0, value / most))

    state = "noise" if not certain else "more" if difference > 0 else "less"
    return (
        f'<svg class="difference" viewBox="0 0 {width} {height}" aria-hidden="true"><g class="{state}">'
        f'<line class="base" x1="{x(0):.1f}" x2="{x(0):.1f}" y1="0" y2="{height}"/>'
        f'<line class="interval" x1="{x(low):.1f}" x2="{x(high):.1f}" y1="{middle}" y2="{middle}"/>'
        f'<circle cx="{x(difference):.1f}" cy="{middle}" r="3.2"/></g></svg>'
    )


def _grid(top: float, y: Any) -> str:
    return "".join(
        f'<line class="grid" x1="{_LEFT}" x2="{_WIDTH}" y1="{y(value):.1f}" y2="{y(value):.1f}"/>'
        f'<text class="tick end" x="{_LEFT - 4}" y="{y(value):.1f}" dy=".35em">{100 * value:.3g}\u202f%</text>'
        for value in (0.0, top / 2, top)
    )


def _points(x: Any, y: Any) -> str:
    return " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(x, y, strict=True))


def _round_up(value: float) -> float:
    """Return the next of 1, 2, 4, 5, 10, 20, ... percent, so that charts share a few scales."""
    edges = (0.01, 0.02, 0.04, 0.06, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8)
    return next((edge for edge in edges if value <= edge), 1.0)
