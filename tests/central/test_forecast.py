"""What can be learned, in words: plain numbers, how much of the text is covered, and what would change it."""

import csv
import itertools
import math
import pathlib
import re

import numpy as np
import pytest

from discreet import PrivateLDA
from discreet.central.forecast import LAWS, beside_public_vectors, check_sizes, learnability
from discreet.errors import ParameterError
from discreet.privacy.accounting.curves import gdp_mu

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
    advice = weak.in_words().partition("To be usable it would take ")[2]
    told = re.match(
        r"at most (.*) topics or at most (.*) words or an epsilon of (.*) for .* or about (.*) documents",
        advice,
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
        "at most 28 topics or at most 189 words or about 2,200 documents or persons."
        in learnability(200, 30, 2000, MU * 1.5).in_words()
    )
    assert "or about 8 documents or persons." in words(24, 2, 2, 0.84)  # 7.2
    assert "would take" not in words(400, 8, 20000, MU)
    assert "To be good" in words(400, 12, 9000, MU)


def test_too_few_words_say_how_many_topics_they_tell():
    assert "at most 52 topics can be told apart by them" in words(104, 500, 200000, MU)
    assert "at most" not in words(3, 500, 200000, MU)


COVERED = [(None, "good"), (0.93, "good"), (0.5, "good"), (0.41, "too little of the text")]


@pytest.mark.parametrize(("covered", "verdict"), COVERED)
def test_words_that_make_up_little_of_the_text_are_not_called_good(covered, verdict):
    found = learnability(400, 8, 20000, MU, covered=covered)
    assert found.verdict == verdict
    assert found.is_weak == (verdict != "good")
    assert ("cover about" in found.in_words()) == (covered is not None)
    if covered == 0.41:
        assert "cover about 41 % of the text, and the topics tell nothing of the rest" in found.in_words()
    assert learnability(2000, 20, 2000, MU, covered=0.41).verdict == "mostly noise"


def test_a_noisy_share_of_the_text_is_told_with_its_noise():
    for share, noise, told in (
        (0.0, 0.031, "about 0 % (±6 points) of the text"),
        (0.88, 0.006, "about 88 % (±1 point) of the text"),
        (0.88, 0.001, "about 88 % of the text"),
        (0.88, None, "about 88 % of the text"),
        (0.3, 7.0, "about 30 % (±100 points) of the text"),
    ):
        found = learnability(400, 8, 20000, MU, covered=share, covered_noise=noise)
        assert f"cover {told}" in found.in_words()
        assert f"cover {told}" in found.with_words_a_unit(12.0).in_words()


def test_advice_leaves_words_enough_to_tell_topics_apart():
    said = learnability(15, 500, 900, 0.34).in_words()
    assert "mostly noise" in said
    assert "at most 7 topics or about" in said


def test_short_texts_are_harder_and_the_forecast_says_which_length_it_is_of():
    gaps = [learnability(2000, 20, 9000, MU, words_a_unit=words).expected_gap for words in (300, 30, 8)]
    assert gaps == sorted(gaps)
    assert learnability(2000, 20, 9000, MU).expected_gap == pytest.approx(gaps[1])
    assert "(by perplexity, for texts of 30 different words, more for shorter ones)." in words(
        2000, 20, 9000, MU
    )
    assert "(by perplexity, for texts of 12 different words)." in words(2000, 20, 9000, MU, words_a_unit=12.3)
    for wrong in (0, -3, math.nan, "many"):
        with pytest.raises(ParameterError, match="words_a_document must be"):
            check_sizes(n_documents=9000, n_words=2000, n_topics=20, words_a_document=wrong)


def test_each_algorithm_has_a_law_of_its_own():
    gaps = {name: learnability(2000, 20, 9000, MU, algorithm=name).expected_gap for name in LAWS}
    assert gaps["PrivateLDA with word vectors"] < gaps["PrivateLDA"] < gaps["PrivateSVILDA"]
    with pytest.raises(ParameterError, match="algorithm must be one of"):
        learnability(2000, 20, 9000, MU, algorithm="LDA")


def test_vectors_never_make_the_forecast_worse_and_it_is_called_a_guess_where_nothing_was_measured():
    """Vectors that are not believed are left out."""
    both = ("PrivateLDA", "PrivateLDA with word vectors")
    for n_units in np.geomspace(20, 2e7, 50):
        for length in (3, 30, 200):
            plain, given = (
                learnability(2000, 20, n_units, MU, algorithm=a, words_a_unit=length) for a in both
            )
            assert given.expected_gap <= plain.expected_gap
            assert given.units_for_five_percent <= plain.units_for_five_percent
    told = beside_public_vectors(200, MU, learnability(2000, 20, 200, MU, algorithm=both[1]))
    percent, without = re.search(r"lie ([\d.,]+) % above .* with vectors, and ([\d.,]+) %", told).groups()
    assert float(percent) <= float(without)
    for x, guessed in ((0.019, True), (0.021, False), (194, False), (196, True)):
        said = learnability(2000, 20, 40000 / (x * MU), MU).in_words()
        assert ("; a guess: measured were 5 to 20 topics of" in said) == guessed, x
        noise = "more" if x < 1 else "less"
        assert (f" topics of 100 to 5,000 words, with {noise} noise)." in said) == guessed
        assert said.startswith("Forecast: a guess. With the noise, topics of 2,000 words fit") == (x == 0.019)
        assert said.startswith("Forecast: good, if the texts have topics. With the") == (x == 0.021)
        assert said.startswith("Forecast: mostly noise") == (x > 100)


def test_a_fit_forecasts_for_the_length_that_its_unigram_shows():
    rng = np.random.default_rng(0)
    for n_words in (4, 25):
        counts = np.zeros((12_000, 60), int)
        for row in counts:
            row[rng.choice(60, n_words, replace=False)] = 1
        model = PrivateLDA(3, epsilon=4.0, delta=1e-5, random_state=0, allow_unlearnable=True).fit(counts)
        assert model.forecast_.words_a_unit == pytest.approx(n_words, rel=0.05)
        assert model.release_.configuration["forecast"] == model.forecast_.in_words()
        assert model.release_.configuration["words_a_unit"] == model.forecast_.words_a_unit
        mu = gdp_mu(4.0, 1e-5)
        again = learnability(
            60, 3, model.release_.n_units_noisy, mu, words_a_unit=model.forecast_.words_a_unit
        )
        assert model.forecast_.expected_gap == pytest.approx(again.expected_gap)


ERRORS = pathlib.Path(__file__).parents[2] / "experiments" / "forecast" / "errors.csv"


def rows():
    with ERRORS.open(newline="") as file:
        yield from csv.DictReader(file)


def test_forecasts_are_those_whose_errors_were_measured():
    for row in rows():
        mu = gdp_mu(float(row["epsilon"]), 1e-5)
        sizes = int(row["n_words"]), int(row["n_topics"])
        n_units = math.prod(sizes) / (float(row["x"]) * mu)
        how = {"algorithm": row["algorithm"], "words_a_unit": float(row["words_a_document"])}
        gap = learnability(*sizes, n_units, mu, **how).expected_gap
        law = float(row["forecast"])
        if how["algorithm"] == "PrivateLDA with word vectors":  # never above the forecast without
            without = learnability(*sizes, n_units, mu, **how | {"algorithm": "PrivateLDA"}).expected_gap
            law = min(law, without)
        assert gap == pytest.approx(law, rel=5e-3, abs=2e-3)
        error = (1 + law) / (1 + float(row["gap"])) - 1
        if law == float(row["forecast"]):
            assert error == pytest.approx(float(row["error"]), abs=5e-3)


@pytest.mark.parametrize("algorithm", LAWS)
def test_nine_in_ten_forecasts_of_other_texts_lie_within_the_range_that_is_told(algorithm):
    found = [row for row in rows() if row["algorithm"] == algorithm and row["group"] != "fitted"]
    spread = LAWS[algorithm].spread
    errors = np.abs([float(row["error"]) for row in found])
    assert np.mean(errors <= spread + 5e-4) >= 0.9
    assert np.quantile(errors, 0.9) > 0.7 * spread  # nor wider than need be
    inside = 0
    for row in found:
        mu = gdp_mu(float(row["epsilon"]), 1e-5)
        sizes = int(row["n_words"]), int(row["n_topics"])
        how = {"algorithm": algorithm, "words_a_unit": float(row["words_a_document"])}
        told = learnability(*sizes, math.prod(sizes) / (float(row["x"]) * mu), mu, **how)
        low, high = told.expected_range
        assert 0 <= low <= told.expected_gap <= high
        inside += low - 2e-3 <= max(float(row["gap"]), 0) <= high + 2e-3
    assert inside >= 0.9 * len(found)


def test_a_range_is_told_and_what_was_not_measured_is_called_a_guess():
    told = learnability(123, 6, 12000, MU)
    low, high = (100 * bound for bound in told.expected_range)
    assert f" % ({low:.2g} to {high:.2g} %) worse than without privacy (by perplexity" in told.in_words()
    assert "Few topics that share hardly a word lose less." in told.in_words()
    assert "share hardly" not in words(2000, 20, 9000, MU)
    assert "guess" not in words(2000, 20, 9000, MU) + told.in_words()
    for sizes in ((2000, 50), (2000, 4), (80, 6), (9000, 20)):
        said = words(*sizes, 10**6, MU)
        assert "; a guess: measured were 5 to 20 topics of 100 to 5,000 words" in said
        assert said.startswith(
            f"Forecast: a guess. With the noise, topics of {sizes[0]:,} words fit the texts "
        )
    free = learnability(80, 3, 100, math.inf)
    assert free.expected_range == (0, 0)
    assert "guess" not in free.in_words()


def test_short_sharp_messages_are_told_too_much_within_bounds_and_it_is_said():
    """Six topics of 123 words were told 15 % without a range, where 2 were found."""
    found = [row for row in rows() if row["group"] == "made up"]
    assert len(found) == 16
    for row in found:
        assert float(row["gap"]) < 0.07
        assert 0 < float(row["error"]) <= 0.15
        if row["n_words"] == "120":
            assert float(row["forecast"]) < 0.13
    assert "lose less" in words(120, 6, 5000, MU)
    assert "lose less" not in words(500, 12, 5000, MU)


# ---- learnability: the table of what was measured


@pytest.mark.parametrize("algorithm", LAWS)
@pytest.mark.parametrize("words_a_unit", [None, 8, 300])
def test_so_many_documents_bring_the_gap_to_five_per_cent(algorithm, words_a_unit):
    how = {"algorithm": algorithm, "words_a_unit": words_a_unit}
    few = learnability(2000, 20, 5000, gdp_mu(2, 1e-5), **how)
    enough = learnability(2000, 20, few.units_for_five_percent, gdp_mu(2, 1e-5), **how)
    assert few.expected_gap > 0.1
    assert enough.expected_gap == pytest.approx(0.05)
    assert enough.units_for_five_percent == pytest.approx(few.units_for_five_percent)


@pytest.mark.parametrize(
    ("difficulty", "verdict"),
    [
        (0.5, "good"),
        (1.99, "good"),
        (2, "usable"),
        (7.9, "usable"),
        (8, "weak"),
        (14.9, "weak"),
        (15, "mostly noise"),
    ],
)
def test_verdicts(difficulty, verdict):
    told = learnability(1000, 10, 10_000 / difficulty, 1.0)
    assert told.difficulty == pytest.approx(difficulty)
    assert told.verdict == verdict
    assert ("To be usable" in told.in_words()) == (difficulty >= 8)
    assert ("To be good" in told.in_words()) == (2 <= difficulty < 8)


def test_the_forecast_grows_with_difficulty():
    gaps = [learnability(1000, 10, units, 1.0).expected_gap for units in np.geomspace(1e6, 10, 300)]
    assert all(b > a for a, b in itertools.pairwise(gaps))
    assert learnability(10, 2, -3.0, 1.0).difficulty == 20  # a noisy number of units may be negative
    assert learnability(10, 2, 5.0, 0.0).verdict == "mostly noise"
    assert learnability(10, 2, 5.0, math.inf).difficulty == 0
    assert learnability(10, 2, 5.0, math.inf).expected_gap == 0


def test_few_words_are_not_good_however_little_noise_there_is():
    for words, topics in ((1, 5), (3, 2), (39, 20)):
        told = learnability(words, topics, 1e6, 1.0)
        assert told.verdict == "too few words"
        assert "good" not in told.in_words()
        assert f"{words} word" in told.in_words()
    enough = learnability(40, 20, 1e6, 1.0)
    assert enough.verdict == "good"
    assert "topics of 40 words" in enough.in_words()


@pytest.mark.parametrize(
    ("sizes", "match"),
    [
        ({"n_topics": 20}, r"n_documents is needed .* n_words is needed"),
        ({"n_documents": 0}, "n_documents must be a positive whole number, but is 0"),
        (
            {"n_documents": -1, "n_topics": 0, "n_words": 1},
            r"n_documents must .* but is -1\. n_topics must .* but is 0",
        ),
        ({"n_documents": 5, "words_a_document": -1.0}, "words_a_document must"),
        ({"word_vectors": True}, "how many documents"),
    ],
)
def test_sizes_of_nonsense_are_refused(sizes, match):
    with pytest.raises(ParameterError, match=match):
        check_sizes(**sizes)


def test_a_forecast_takes_all_three_sizes():
    assert check_sizes(n_documents=5, n_topics=2, n_words=9)
    assert not check_sizes(n_documents=1000)
    assert not check_sizes()


def test_what_training_adds_to_public_vectors():
    """n mu = 250, 600 and 25,000: the vectors alone, it depends, the texts."""
    mu = gdp_mu(2.0, 1e-5)
    for n_documents, expected in (
        (500, "take them"),
        (1200, "compare the two"),
        (50_000, "training was better"),
    ):
        assert expected in beside_public_vectors(n_documents, mu)
    assert beside_public_vectors(5, math.inf).startswith("Without noise, training")
