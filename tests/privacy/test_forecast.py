"""What can be learned, in words: plain numbers, how much of the text is covered, and what would change it."""

import math
import re

import pytest

from discreet.privacy import learnability
from discreet.privacy.accounting.gdp import gdp_mu

MU = gdp_mu(1.0, 1e-6)


def words(*sizes, **more):
    return learnability(*sizes, delta=1e-6, **more).in_words()


@pytest.mark.parametrize(
    "sizes", [(2000, 20, 60, MU), (4, 2, 5e7, MU), (5000, 500, 9, MU / 50), (40, 4, 9, math.inf)]
)
def test_numbers_are_written_out(sizes):
    said = words(*sizes)
    assert not re.search(r"e[+-]\d", said), said
    assert "about less" not in said


def test_what_is_advised_would_do():
    weak = learnability(2000, 20, 2000, MU * 4, delta=1e-6)
    assert weak.verdict == "mostly noise"
    advice = weak.in_words().partition("To be usable (x below 8) it would take ")[2]
    told = re.match(
        r"at most (.*) topics or at most (.*) words or an epsilon of (.*) for .* or about (.*) units", advice
    )
    n_topics, n_words, epsilon, n_units = (float(number.replace(",", "")) for number in told.groups())
    assert learnability(2000, int(n_topics), 2000, MU * 4).difficulty <= 8
    assert learnability(2000, int(n_topics) + 1, 2000, MU * 4).difficulty > 8
    assert learnability(int(n_words), 20, 2000, MU * 4).difficulty <= 8
    assert learnability(int(n_words * 1.1), 20, 2000, MU * 4).difficulty > 8
    assert learnability(2000, 20, 2000, gdp_mu(epsilon, 1e-6)).difficulty <= 8
    assert learnability(2000, 20, 2000, gdp_mu(epsilon / 1.2, 1e-6)).difficulty > 8
    assert learnability(2000, 20, n_units, MU * 4).difficulty <= 8
    assert learnability(2000, 20, n_units / 1.2, MU * 4).difficulty > 8
    assert (
        "at most 28 topics or at most 189 words or about 2,200 units."
        in learnability(200, 30, 2000, MU * 1.5).in_words()
    )
    assert "would take" not in words(400, 8, 20000, MU)
    assert "To be good (x below 2)" in words(400, 12, 9000, MU)


def test_too_few_words_say_how_many_topics_they_tell():
    assert "at most 52 topics can be told apart by them" in words(104, 500, 200000, MU)
    assert "at most" not in words(3, 500, 200000, MU)


COVERED = [(None, "good"), (0.93, "good"), (0.5, "good"), (0.41, "little of the text")]


@pytest.mark.parametrize(("covered", "verdict"), COVERED)
def test_words_that_make_up_little_of_the_text_are_not_called_good(covered, verdict):
    found = learnability(400, 8, 20000, MU, covered=covered)
    assert found.verdict == verdict
    assert found.is_weak == (verdict != "good")
    assert ("cover about" in found.in_words()) == (covered is not None)
    if covered == 0.41:
        assert "cover about 41 % of the text, and the topics tell nothing of the rest" in found.in_words()
    assert learnability(2000, 20, 2000, MU, covered=0.41).verdict == "mostly noise"


def test_advice_leaves_words_enough_to_tell_topics_apart():
    said = learnability(15, 500, 900, 0.34).in_words()
    assert "mostly noise" in said
    assert "at most 7 topics or about" in said
