"""Guarantees name unit and relation; epsilon and delta out of range are refused with advice."""

import dataclasses
import math
import re
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from discreet.errors import DiscreetError, PrivacyError
from discreet.privacy.units import (
    NEIGHBORING,
    PRIVACY_UNITS,
    Guarantee,
    check_delta,
    check_epsilon,
    check_unit,
)


def test_a_guarantee_without_unit_and_relation_cannot_be_made():
    with pytest.raises(TypeError, match="privacy_unit"):
        Guarantee(1.0, 1e-6)
    with pytest.raises(TypeError, match="neighboring"):
        Guarantee(1.0, 1e-6, "document")
    for unit, relation in [
        ("", "replace_one"),
        (None, "replace_one"),
        ("document", None),
        ("document", "add"),
    ]:
        with pytest.raises(PrivacyError, match="must be one of"):
            Guarantee(1.0, 1e-6, unit, relation)
    made = Guarantee(1.0, 1e-6, "document", "add_or_remove_one")
    with pytest.raises(PrivacyError):
        dataclasses.replace(made, privacy_unit="sentence")
    with pytest.raises(dataclasses.FrozenInstanceError):
        made.privacy_unit = "word"


@pytest.mark.parametrize("unit", PRIVACY_UNITS)
@pytest.mark.parametrize("relation", NEIGHBORING)
def test_words_say_everything(unit, relation):
    words = Guarantee(2.0, 1e-6, unit, relation, "counting").in_words()
    assert "epsilon = 2 and delta = 1e-06" in words
    assert f"unit: {unit} ({relation})" in words
    assert ("adding or removing" in words) == (relation == "add_or_remove_one")
    assert ("replacing" in words) == (relation == "replace_one")
    assert "at most exp(2) and adds at most 1e-06" in words
    assert "Found by counting." in words
    assert "Found" not in Guarantee(2.0, 1e-6, unit, relation).in_words()


def test_words_of_the_edges():
    assert "No privacy is promised" in Guarantee(math.inf, 1e-6, "document", "replace_one").in_words()
    pure = Guarantee(0.5, 0.0, "report", "replace_one").in_words()
    assert "adds" not in pure
    assert "exp(0)" in Guarantee(0.0, 1e-6, "document", "replace_one").in_words()


@given(st.floats(1e-6, 1e6))
@example(1.0000000005)
def test_epsilon_is_never_shown_smaller_than_it_is(epsilon):
    words = Guarantee(epsilon, 1e-6, "document", "add_or_remove_one").in_words()
    shown = float(words.split("epsilon = ")[1].split(" ")[0])
    assert epsilon * (1 - 1e-12) <= shown <= epsilon * 1.002
    # The slip: four digits, rounded to nearest, say less than was spent for about half of all numbers.
    assert float(f"{0.93204:.4g}") < 0.93204


@pytest.mark.parametrize("epsilon", [0, -1, 0.0, math.nan, -math.inf, None, "1", True, [1.0], 1j])
def test_epsilon_out_of_range(epsilon):
    with pytest.raises(PrivacyError, match="epsilon must be a positive number"):
        check_epsilon(epsilon)


@pytest.mark.parametrize("epsilon", ["1.5", "1,5", " 1,5 "])
def test_an_epsilon_in_quotes_is_told_how_to_be_written(epsilon):
    with pytest.raises(PrivacyError, match=r"is text: write 1\.5, without quotes"):
        check_epsilon(epsilon)


@pytest.mark.parametrize("delta", [0, 1, -1e-6, 2, math.nan, math.inf, None, "1e-6", False])
def test_delta_out_of_range(delta):
    with pytest.raises(
        DiscreetError, match=r"delta must lie strictly between 0 and 1.*1e-6 is a usual choice"
    ):
        check_delta(delta)


def test_numbers_of_all_kinds_are_taken():
    assert check_epsilon(np.float32(0.5)) == 0.5
    assert check_epsilon(np.int64(2)) == 2.0
    assert check_epsilon(Fraction(1, 2)) == 0.5
    assert check_epsilon(math.inf) == math.inf
    assert check_delta(np.float64(1e-6)) == 1e-6
    assert type(check_epsilon(2)) is float


def test_delta_against_the_number_of_units():
    assert check_delta(1e-4, n_units_lower_bound=10_000) == 1e-4
    assert check_delta(1e-4) == 1e-4
    with pytest.raises(PrivacyError, match=r"at most 1 over the number of units, 1/10001.*lower delta"):
        check_delta(1e-4, n_units_lower_bound=10_001)


@pytest.mark.parametrize(
    "guarantee", [(-1.0, 0.1), (math.nan, 0.1), (1.0, 1.0), (1.0, -0.1), ("1", 0.1), (1.0, math.nan)]
)
def test_a_guarantee_with_nonsense_numbers_cannot_be_made(guarantee):
    with pytest.raises(PrivacyError, match="a guarantee needs"):
        Guarantee(*guarantee, "document", "replace_one")


def test_units_are_checked_together_with_relations():
    check_unit("person", "add_or_remove_one")
    with pytest.raises(PrivacyError, match="document, person, word, report"):
        check_unit("user", "add_or_remove_one")
    with pytest.raises(PrivacyError, match="add_or_remove_one, replace_one"):
        check_unit("person", "both")


@pytest.mark.parametrize("delta", [1.2345649e-6, 1.0000049e-5, 9.9999e-7, 1e-300 / 3, 5e-324])
def test_delta_is_rounded_up_in_the_sentence_as_epsilon_is(delta):
    told = Guarantee(1.0, delta, "document", "add_or_remove_one").in_words()
    shown = [float(word.rstrip(",.")) for word in re.findall(r"(?:delta = |adds at most )(\S+)", told)]
    assert len(shown) == 2
    assert all(delta * (1 - 1e-12) <= number <= delta * 1.001 or number == delta for number in shown)
