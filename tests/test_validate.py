"""The rules of parameters: what each lets through, in which words it refuses, and how faults are put together."""

import copy
import math
from fractions import Fraction

import numpy as np
import pytest

from discreet._base.validate import (
    CALLBACK,
    FLAG,
    RANDOM,
    SEED,
    THREADS,
    Checked,
    check,
    choice,
    collect,
    number,
    optional,
    refuse,
    rules,
    whole,
)
from discreet.errors import CorpusError, DiscreetError, Parameter, ParameterError, PrivacyError, Proposal

ODD = [None, True, False, np.True_, math.nan, math.inf, -math.inf, "1", [1], 0, -1, 1, 2, 0.5, np.float32(0.5),
       np.int64(1), Fraction(1, 2), 1 + 0j, np.array(1), np.array([1, 2]), "a", object]  # fmt: skip


@pytest.mark.parametrize(
    ("rule", "words", "let_through"),
    [
        (whole(), "a positive whole number", [1, 2, np.int64(1)]),
        (whole(0), "a whole number of at least 0", [0, 1, 2, np.int64(1)]),
        (whole(0, 1), "a whole number from 0 to 1", [0, 1, np.int64(1)]),
        (number(above=0), "positive and finite", [1, 2, 0.5, np.float32(0.5), np.int64(1), Fraction(1, 2)]),
        (number(above=2, most=math.inf), "above 2", [math.inf]),
        (number(above=0, below=1), "above 0 and below 1", [0.5, np.float32(0.5), Fraction(1, 2)]),
        (number(above=0, most=1), "above 0 and at most 1", [1, 0.5, np.float32(0.5), np.int64(1), Fraction(1, 2)]),
        (number(least=0), "at least 0 and finite", [0, 1, 2, 0.5, np.float32(0.5), np.int64(1), Fraction(1, 2)]),
        (optional(whole()), "a positive whole number, or None", [None, 1, 2, np.int64(1)]),
        (choice("a", "1"), '"a" or "1"', ["1", "a"]),
        (choice("b", "c", "a"), '"b", "c" or "a"', ["a"]),
        (FLAG, "True or False", [True, False, np.True_]),
        (SEED, "a whole number of at least 0, or None (secure randomness)", [None, 0, 1, 2, np.int64(1)]),
        (RANDOM, "a whole number of at least 0, a generator, or None", [None, 0, 1, 2, np.int64(1)]),
        (THREADS, "a whole number other than 0 (-1: all cores), or None", [None, -1, 1, 2, np.int64(1)]),
        (CALLBACK, "callable, or None", [None, object]),
    ],
)  # fmt: skip
def test_each_rule_lets_through_what_it_says(rule, words, let_through):
    assert rule.words == words
    assert [value for value in ODD if rule.holds(value)] == let_through


def test_a_generator_is_randomness_but_no_seed():
    for generator in (np.random.default_rng(0), np.random.RandomState(0)):
        assert RANDOM.holds(generator)
        assert not SEED.holds(generator)


class Model(Checked):
    _constraints = rules(n_topics=whole(), rate=number(above=0, most=1))

    def __init__(self, n_topics=2, rate=1.0, promise=None):
        self.n_topics, self.rate, self.promise = n_topics, rate, promise

    def _faults(self):
        faults = super()._faults()
        if self.promise is not None:
            faults.append(PrivacyError(Parameter("promise"), " is void."))
        return faults


def test_all_faults_of_a_call_are_told_at_once_the_promise_first():
    Model()._check_parameters()
    with pytest.raises(ParameterError) as one:
        Model(0)._check_parameters()
    assert str(one.value) == "n_topics must be a positive whole number, but is 0."
    assert one.value.parameters == ("n_topics",)
    with pytest.raises(PrivacyError) as all_of_them:
        Model(True, 7, "x")._check_parameters()
    assert str(all_of_them.value) == (
        "promise is void. n_topics must be a positive whole number, but is True. "
        "rate must be above 0 and at most 1, but is 7."
    )
    assert all_of_them.value.parameters == ("promise", "n_topics", "rate")


def test_arguments_of_a_function_are_checked_together():
    check(size=(3, whole()), share=(0.5, number(above=0)))
    with pytest.raises(ParameterError) as caught:
        check(size=(0, whole()), share=(-1, number(above=0)), seed=(None, SEED))
    assert caught.value.parameters == ("size", "share")


def test_a_front_calls_parameters_as_it_does():
    error = ParameterError(
        Parameter("n_topics"),
        " is 7; n_topics is public; ",
        Proposal("allow", True),
        ", ",
        Proposal("format"),
    )
    assert str(error) == "n_topics is 7; n_topics is public; allow=True, format="
    assert error.parameters == ("n_topics",)
    assert (
        error.told(lambda part: f"<{part.name}>") == "<n_topics> is 7; n_topics is public; <allow>, <format>"
    )
    again = copy.copy(error)
    assert (str(again), again.parameters) == (str(error), error.parameters)
    marked = ParameterError("`n_topics` is 7; n_topics is public; `allow=True`, `format=`")
    assert marked.args == error.args


def test_what_is_no_mark_stays_text():
    for said in ("`discreet check` says so", "``double``", "a ` alone", "`1`", ""):
        assert str(ParameterError(said)) == said
    assert ParameterError("`shares=(1.0,)` or `unlisted='other'`").args == (
        Proposal("shares", (1.0,)),
        " or ",
        Proposal("unlisted", "other"),
    )


def test_what_checks_raise_on_purpose_is_collected_and_nothing_else():
    def bad():
        raise CorpusError("bad")

    assert collect(lambda: None) == []
    assert [str(fault) for fault in collect(bad, lambda: None, bad)] == ["bad", "bad"]
    with pytest.raises(ZeroDivisionError):
        collect(lambda: 1 / 0)
    refuse([])
    assert DiscreetError("plain").parameters == ()
