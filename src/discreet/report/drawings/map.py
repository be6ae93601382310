r"""Where topics stand on the map: near each other where they use the same words.

The distance of two topics is Hellinger's, :math:`d(p, q)^2 = 1 - \sum_w \sqrt{p_w q_w}`, which lies between 0
(the same words) and 1 (no word in common). Classical scaling finds the points of the plane whose distances
follow these best: the two leading eigenvectors of :math:`-\frac12 J D^{(2)} J`, with :math:`J` the centring
matrix, times the roots of their eigenvalues. An eigenvector's sign is arbitrary; here its largest entry is
positive, so that the same topics give the same map.

Everything is computed from released topics, so the map costs no privacy.

References
----------
Torgerson, "Multidimensional scaling: I. Theory and method", Psychometrika 17 (1952), 401-419.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["HEIGHT", "SMALL_SCREEN_FONT", "WIDTH", "Circle", "distances", "lay_out", "scale"]

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
    return round(value, 1)
