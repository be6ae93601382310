"""Amplification by shuffling: against enumeration of the clones' pair, and of real shuffled channels."""

import itertools
import math

import numpy as np
import pytest
from tests.naive import local as naive

from discreet.errors import ParameterError, PrivacyError
from discreet.local import amplify_by_shuffling, shuffling
from discreet.local.shuffling import shuffled_course, shuffled_delta, told_course


@pytest.mark.parametrize("epsilon_0", [0.3, 1.0, 2.5, 5.0])
@pytest.mark.parametrize("n_reports", [1, 2, 7, 40])
@pytest.mark.parametrize("epsilon", [0.0, 0.05, 0.2, 0.7, 2.0])
def test_divergence_equals_enumeration(epsilon_0, n_reports, epsilon):
    found = shuffled_delta(epsilon, epsilon_0, n_reports)
    exact = naive.clone_divergence(epsilon, epsilon_0, n_reports) if epsilon < epsilon_0 else 0.0
    assert found == pytest.approx(exact, rel=1e-6, abs=1e-12)
    assert found >= exact * (1 - 1e-12)


def randomisers():
    """Channels of pure loss ``epsilon``: bits, three answers, one with a rare answer, random ones."""
    e = math.e**1.5
    yield np.array([[e, 1], [1, e]]) / (e + 1)
    yield (np.full((3, 3), 1.0) + (e - 1) * np.eye(3)) / (e + 2)
    half = math.e**0.75
    two_bits = [[half ** ((x ^ y) in (0,)) for y in range(2)] for x in range(2)]
    rows = np.array([[two_bits[x // 2][y // 2] * two_bits[x % 2][y % 2] for y in range(4)] for x in range(4)])
    yield rows / rows.sum(1, keepdims=True)
    a = 0.3 / (e + 1)
    yield np.array([[e * a, a, 1 - (e + 1) * a], [a, e * a, 1 - (e + 1) * a], [a, a, 1 - 2 * a]])


@pytest.mark.parametrize("rows", list(randomisers()))
def test_no_shuffled_channel_is_worse_than_the_bound(rows):
    epsilon_0 = float(np.log((rows[:, None] / rows[None]).max()))
    assert epsilon_0 <= 1.5 + 1e-9
    n_texts = len(rows)
    for others in itertools.combinations_with_replacement(range(n_texts), 3):
        for epsilon in (0.0, 0.3, 0.8):
            real = max(
                naive.shuffled_divergence(epsilon, rows, others, old, new)
                for old, new in itertools.permutations(range(n_texts), 2)
            )
            assert real <= shuffled_delta(epsilon, 1.5, 4) * (1 + 1e-9)


def test_too_many_clones_would_be_refuted():
    """The plausible mistake: others count as clones too often. Enumeration of a real channel then exceeds it."""
    rows = np.array([[math.e, 1], [1, math.e]]) / (math.e + 1)
    real = naive.shuffled_divergence(0.0, rows, (0, 0, 0), 0, 1)
    assert real <= shuffled_delta(0.0, 1.0, 4)
    assert real > shuffled_delta(0.0, 1.0, 40) * 1.5  # as if there were ten times as many


@pytest.mark.parametrize("pools", [(2, 3), (3, 2)])
def test_an_answer_hides_among_those_to_its_question_alone(pools):
    """By enumeration of both pools, the other one's answers seen too: n is the pool's, and not that of all clients."""
    rows = np.array([[math.e, 1], [1, math.e]]) / (math.e + 1)
    mine, other = pools
    beside = naive.shuffled_divergence(0.1, rows, (0,) * (mine - 1), 0, 1)
    joint = naive.divergence_beside(0.1, rows, (0,) * (mine - 1), (1,) * other, 0, 1)
    assert joint == pytest.approx(beside, rel=1e-12)
    assert joint <= shuffled_delta(0.1, 1.0, mine)
    delta = shuffled_delta(0.1, 1.0, min(pools))
    assert shuffled_course(1.0, pools, delta) == pytest.approx(0.1, rel=1e-3)
    assert shuffled_course(1.0, pools, delta) == amplify_by_shuffling(1.0, min(pools), delta)
    assert joint > shuffled_delta(0.1, 1.0, 100 * sum(pools))  # were they to hide among many more


@pytest.mark.parametrize(("epsilon_0", "expected"), [(2, 0.045), (4, 0.17), (6, 0.52), (8, 2.2)])
def test_a_hundred_thousand_reports(epsilon_0, expected):
    found = amplify_by_shuffling(epsilon_0, 100_000, 1e-6)
    assert found == pytest.approx(expected, rel=0.05)
    assert shuffled_delta(found, epsilon_0, 100_000) <= 1e-6
    assert shuffled_delta(found * 0.999, epsilon_0, 100_000) > 1e-6


@pytest.mark.integration
def test_more_reports_hide_more_and_nothing_is_worse_than_no_shuffler():
    found = [amplify_by_shuffling(5.0, n, 1e-6) for n in (1, 10, 1000, 10**5, 10**7, 10**9)]
    assert found == sorted(found, reverse=True)
    assert found[0] == pytest.approx(5.0, rel=1e-4)
    assert max(found) <= 5.0
    assert amplify_by_shuffling(0.01, 10**6, 0.5) == 0.0


def test_steps_in_the_number_of_clones_only_add(monkeypatch):
    exact = shuffled_delta(0.02, 1.0, 10_000)
    monkeypatch.setattr(shuffling, "_POINTS", 50)
    coarse = shuffled_delta(0.02, 1.0, 10_000)
    assert exact <= coarse < exact * 1.5


@pytest.mark.parametrize(
    "arguments", [(0, 10, 0.1), (51, 10, 0.1), (1, 0, 0.1), (1, 2.5, 0.1), (True, 5, 0.1)]
)
def test_arguments_out_of_range_are_refused(arguments):
    with pytest.raises(ParameterError):
        amplify_by_shuffling(*arguments)
    with pytest.raises(PrivacyError, match="delta"):
        amplify_by_shuffling(1.0, 10, 0.0)


@pytest.mark.parametrize("epsilon_0", [1.0, 4.0, 6.0, 8.0])
@pytest.mark.parametrize("n", [3_000, 20_000, 70_000, 145_000, 1_000_000])
def test_what_is_told_of_a_course_is_proved_as_it_is_written(epsilon_0, n):
    """With two digits of epsilon and one of delta; to the nearest, delta would be up to 1.9 times as large."""
    counts = [int(n * share) for share in (0.4, 0.1, 0.2, 0.3)]
    epsilon, delta = (float(told) for told in told_course(epsilon_0, counts))
    assert 0.05 / sum(counts) <= delta <= 0.1 / sum(counts)
    assert epsilon >= epsilon_0 or shuffled_delta(epsilon, epsilon_0, min(counts), tail=1e-15) <= delta
    assert epsilon <= 1.1 * shuffled_course(epsilon_0, counts, delta)
