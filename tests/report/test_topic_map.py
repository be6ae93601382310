"""The map of topics: distances, scaling, layout."""

import math

import numpy as np
import pytest
from tests.marks import quick

from discreet.report import svg as topic_map


def topics(n_topics, n_words=40, seed=0, sharpness=0.2):
    return np.random.default_rng(seed).dirichlet(np.full(n_words, sharpness), n_topics)


def obvious_distance(p, q):
    return (sum((a**0.5 - b**0.5) ** 2 for a, b in zip(p, q, strict=True)) / 2) ** 0.5


def test_distances_are_hellingers():
    rows = topics(6)
    found = topic_map.distances(rows)
    for i in range(6):
        for j in range(6):
            assert found[i, j] == pytest.approx(obvious_distance(rows[i], rows[j]), abs=1e-9)
    assert (np.diag(found) == 0).all()


def test_distances_at_their_ends():
    rows = np.array([[0.5, 0.5, 0, 0], [0.5, 0.5, 0, 0], [0, 0, 0.3, 0.7]])
    assert topic_map.distances(rows).tolist() == [[0, 0, 1], [0, 0, 1], [1, 1, 0]]


def test_scaling_returns_points_of_the_plane_to_their_distances():
    points = np.random.default_rng(1).normal(size=(9, 2)) * [3, 1]
    distance = np.sqrt(((points[:, None] - points[None]) ** 2).sum(-1))
    found = topic_map.scale(distance)
    again = np.sqrt(((found[:, None] - found[None]) ** 2).sum(-1))
    np.testing.assert_allclose(again, distance, atol=1e-9)
    assert np.ptp(found[:, 0]) > np.ptp(found[:, 1])


def test_signs_do_not_depend_on_the_eigenvectors_signs(monkeypatch):
    distance = topic_map.distances(topics(8))
    before = topic_map.scale(distance)
    right = np.linalg.eigh

    def flipped(matrix):
        values, vectors = right(matrix)
        return values, -vectors

    monkeypatch.setattr(np.linalg, "eigh", flipped)
    np.testing.assert_array_equal(topic_map.scale(distance), before)


@pytest.mark.parametrize("n_topics", quick([1, 2, 3, 20, 100], 1, 2, 3, 20))
@pytest.mark.parametrize("alike", [False, True])
def test_circles_lie_in_the_drawing_and_do_not_overlap(n_topics, alike):
    rows = np.repeat(topics(1), n_topics, axis=0) if alike else topics(n_topics)
    weight = np.random.default_rng(3).dirichlet(np.ones(n_topics))
    circles = topic_map.lay_out(rows, weight, [f"label{i}" for i in range(n_topics)])
    assert circles == topic_map.lay_out(rows, weight, [f"label{i}" for i in range(n_topics)])
    for circle in circles:
        assert circle.radius <= circle.x <= topic_map.WIDTH - circle.radius
        assert circle.radius <= circle.y <= topic_map.HEIGHT - circle.radius
    for i, one in enumerate(circles):
        for other in circles[:i]:
            apart = np.hypot(one.x - other.x, one.y - other.y)
            assert apart > 0.9 * (one.radius + other.radius)


def test_areas_follow_weights():
    weight = np.array([0.4, 0.1, 0.1, 0.2, 0.2])
    radii = [circle.radius for circle in topic_map.lay_out(topics(5), weight, ["a"] * 5)]
    assert radii[0] ** 2 / radii[3] ** 2 == pytest.approx(2, rel=0.02)
    alike = {circle.radius for circle in topic_map.lay_out(topics(5), None, ["a"] * 5)}
    assert len(alike) == 1


def test_near_topics_stand_near():
    rows = topics(3)
    rows = np.vstack([rows, 0.9 * rows[0] + 0.1 * rows[1]])
    circles = topic_map.lay_out(rows, None, ["a"] * 4)
    apart = [np.hypot(circles[3].x - c.x, circles[3].y - c.y) for c in circles[:3]]
    assert apart[0] < apart[1] < apart[2]


def test_labels_that_are_shown_hit_neither_circles_nor_labels():
    names = [f"a-longer-label-{i}" for i in range(60)]
    circles = topic_map.lay_out(topics(60), None, names)
    shown = [
        (c.label_x - 3.5 * len(n), c.label_y - 7, c.label_x + 3.5 * len(n), c.label_y + 7)
        for c, n in zip(circles, names, strict=True)
        if not c.crowded
    ]
    assert 0 < len(shown) < 60
    for i, a in enumerate(shown):
        assert a[0] >= 0
        assert a[2] <= topic_map.WIDTH
        for b in shown[:i]:
            assert not (a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3])


@pytest.mark.parametrize("n_topics", [8, 20, 35])
def test_a_label_lies_on_no_circle(n_topics):
    names = [f"word-{i:04d}" for i in range(n_topics)]
    weight = np.arange(n_topics, 0, -1) / sum(range(n_topics + 1))
    circles = topic_map.lay_out(topics(n_topics), weight, names)
    assert sum(not circle.crowded for circle in circles) >= min(n_topics, 16) - 2
    for topic, (circle, name) in enumerate(zip(circles, names, strict=True)):
        half, tall = 0.31 * 14 * len(name), 7
        for other, them in enumerate(circles):
            x = min(max(them.x, circle.label_x - half), circle.label_x + half)
            y = min(max(them.y, circle.label_y - tall), circle.label_y + tall)
            assert circle.crowded or math.hypot(them.x - x, them.y - y) >= them.radius - 0.2, (topic, other)


def test_names_of_wide_letters_take_the_room_that_they_need():
    assert topic_map.ems("病院") == 2
    assert topic_map.ems("pasienttransport") == pytest.approx(16 * 0.62)
    assert topic_map.fitting("東京都立病院小児科外来", 5) == 5
    names = ["東京都立病院小児科外来", "sykepleie"]
    for circle, name in zip(topic_map.lay_out(topics(2), None, names), names, strict=True):
        half = topic_map.SMALL_SCREEN_FONT * topic_map.ems(name) / 2
        assert half <= circle.small_x <= topic_map.WIDTH - half
