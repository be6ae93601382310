r"""Drawings as SVG: the map of topics, which topics use the same words, and small charts of shares in groups.

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
from typing import Any, NamedTuple

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
#: Circles from this radius on always have their label.
_LARGE = 22.0
#: Half the height of a topic's number, which stands in the middle of its circle.
_NUMBER = 9.0
#: Lines down and up from a circle's middle where its label goes if need be.
_STEPS = (1, -1, 2, -2, 3, -3, 4, -4, 5, -5, 0)
#: Up to so many topics every large circle shows its label; of more, on a small screen, those larger than letters.
_FEW = 30
#: Longest way a circle is pushed in one round.
_STEP = 12.0


class Circle(NamedTuple):
    """A topic on the map.

    Attributes
    ----------
    x, y, radius : float
        In units of the drawing.
    label_x, label_y : float
        Where its label's middle stands.
    crowded : bool
        Whether there is no free place for the label; it is then shown on demand only.
    small_x, small_y, small_crowded
        The same for the larger letters that a small screen needs.
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

    Circles that would overlap are pushed apart, so distances on the map are approximate. Large circles have a place
    for their label, if need be over other circles, but over no number while there is another way. An empty label takes
    no place.

    Parameters
    ----------
    topic_word : array of shape (n_topics, n_words)
    topic_weight : array of shape (n_topics,), optional
        Without it all circles are alike.
    labels : sequence of str of length n_topics
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
    """Find each label a free place beside its circle, the largest circles first."""
    boxes: list[Box] = []
    places: list[tuple[float, float, bool]] = [(0.0, 0.0, True)] * len(labels)
    for topic in np.argsort(-radii, kind="stable").tolist():
        (x, y), radius = points[topic].tolist(), float(radii[topic])
        if not labels[topic]:
            continue
        half, tall = 0.31 * font * len(labels[topic]) + 2, font / 2 + 1
        below, above = y + radius + tall + 2, y - radius - tall - 2
        beside = radius + half + 4
        options = [(x, below), (x, above), (x + beside, y), (x - beside, y)]
        # The drawing's edge may push a label sideways while it still stands under its circle.
        shifted = [(min(max(cx, half + 2), WIDTH - half - 2), cy) for cx, cy in options[:2]]
        corners = [
            (x + side * (0.7 * radius + half + 2), y + end * (0.7 * radius + tall + 2))
            for end in (1, -1)
            for side in (1, -1)
        ]
        places[topic] = (_tenth(shifted[0][0]), _tenth(shifted[0][1]), True)
        tries = [(cx, cy, radii) for cx, cy in [*shifted, *options[2:], *corners]]
        if radius >= _LARGE:  # its label may cover circles drawn before it, but no number and no other label
            held = [min(max(x + aside * half, half + 2), WIDTH - half - 2) for aside in (0, 0.5, -0.5)]
            down = max(font, tall + _NUMBER)
            over = [(cx, y + step * down) for step in (1, -1, 1.5, -1.5, 2, -2) for cx in held]
            over.sort(key=lambda place: len(_touched(_box(place, half, tall), points, radii, topic)))
            numbers = np.where(np.arange(len(radii)) > topic, radii, np.minimum(radii, _NUMBER))
            tries += [(cx, cy, numbers) for cx, cy in over]
            if radius >= 1.2 * font or len(radii) <= _FEW:  # where all is full it covers what it must
                tries += [(held[0], y + step * down, np.zeros_like(radii)) for step in _STEPS]
        for cx, cy, obstacles in tries:
            box = _box((cx, cy), half, tall)
            if _inside(box) and not _hits(box, boxes, points, obstacles, topic):
                boxes.append(box)
                places[topic] = (_tenth(cx), _tenth(cy), False)
                break
    return places


def _box(middle: tuple[float, float], half: float, tall: float) -> Box:
    return middle[0] - half, middle[1] - tall, middle[0] + half, middle[1] + tall


def _inside(box: Box) -> bool:
    return box[0] >= 0 and box[1] >= 0 and box[2] <= WIDTH and box[3] <= HEIGHT


def _hits(box: Box, boxes: list[Box], points: Floats, radii: Floats, own: int) -> bool:
    for other in boxes:
        if box[0] < other[2] and other[0] < box[2] and box[1] < other[3] and other[1] < box[3]:
            return True
    return len(_touched(box, points, radii, own)) > 0


def _touched(box: Box, points: Floats, radii: Floats, own: int) -> NDArray[np.int64]:
    """Return which circles but one's own a box lies on."""
    nearest = np.clip(points, [box[0], box[1]], [box[2], box[3]])
    touching = ((points - nearest) ** 2).sum(1) < radii**2
    touching[own] = False
    return np.flatnonzero(touching)


def _tenth(value: float) -> float:
    return round(float(value), 1)


MOST_TOPICS = 100
#: The matrix beside the tree needs room: with more topics there is the tree alone.
_MOST_IN_MATRIX = 60
_ROW, _TREE, _NAMES = 22, 160, 262
_LEVELS = 10


def similarity_svg(topic_word: NDArray[np.float64], numbers: Sequence[int], names: Sequence[str]) -> str:
    """Return the drawing of 3 to ``MOST_TOPICS`` topics, or nothing where there are fewer or more.

    Parameters
    ----------
    topic_word : array of shape (n_topics, n_words)
    numbers, names : sequences of length n_topics
    """
    n_topics = len(topic_word)
    if not 3 <= n_topics <= MOST_TOPICS:
        return ""
    from scipy.cluster.hierarchy import dendrogram, linkage
    from scipy.spatial.distance import squareform

    apart = np.round(distances(topic_word), 9)  # last bits must not decide between ties
    found: Any = linkage(squareform(apart, checks=False), "average", optimal_ordering=True)
    tree: Any = dendrogram(found, no_plot=True)
    order: list[int] = tree["leaves"]
    height = _ROW * n_topics + 8
    matrix = n_topics <= _MOST_IN_MATRIX
    width = _TREE + _NAMES + (_ROW * n_topics if matrix else 0) + 4
    parts = [
        f'<svg id="similar" viewBox="0 0 {width} {height}" width="{width}" role="img" '
        'aria-label="Tree of topics by the words they share">'
    ]
    for x, y in zip(tree["dcoord"], tree["icoord"], strict=True):  # scipy's rows are 10 apart, from 5
        points = " ".join(
            f"{_tenth(_TREE - 8 - (_TREE - 16) * min(level, 1.0))},{_tenth(_ROW * place / 10 + 4)}"
            for level, place in zip(x, y, strict=True)
        )
        parts.append(f'<polyline class="branch" points="{points}"/>')
    for row, topic in enumerate(order):
        y = _ROW * row + 4
        name = names[topic] if len(names[topic]) <= 30 else names[topic][:29] + "\u2026"
        parts.append(
            f'<text class="leaf" x="{_TREE}" y="{y + _ROW / 2}" dy=".35em"><tspan class="leaf-number">'
            f"{numbers[topic]}</tspan> {escape(name)}</text>"
        )
        for column, other in enumerate(order if matrix else []):
            alike = 1 - float(apart[topic, other])
            x = _TREE + _NAMES + _ROW * column
            parts.append(
                f'<rect class="same s{round(_LEVELS * alike)}" x="{x}" y="{y}" width="{_ROW - 1}" height="{_ROW - 1}">'
                f"<title>{numbers[topic]} and {numbers[other]}: {100 * alike:.0f} % alike</title></rect>"
            )
    return "".join([*parts, "</svg>"])


Floats = NDArray[np.float64]
_WIDTH, _HEIGHT, _LEFT, _BOTTOM = 300, 120, 40, 18
_CHART_ROW = 18
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
    height = _CHART_ROW * len(share) + _BOTTOM
    top = _round_up(float(min(high.max(), max(share.max() * 1.6, base * 2))))

    def x(value: float) -> float:
        return _NAME + (_WIDTH - _NAME - 8) * min(float(value), top) / top

    parts = [f'<line class="base" x1="{x(base):.1f}" x2="{x(base):.1f}" y1="0" y2="{height - _BOTTOM}"/>']
    for row, group in enumerate(groups):
        y = _CHART_ROW * row + _CHART_ROW / 2
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
