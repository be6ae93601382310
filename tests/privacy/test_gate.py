"""The gate is about one unit and one relation: whatever draws on a reservation is bounded for those of its ledger.

Every place in the library that draws on a reservation is listed here, with a call that does; a test walks the source
and asks for a row where there is a new one.
"""

import ast
import re
from pathlib import Path

import numpy as np
import pytest

import discreet
from discreet.errors import PrivacyError
from discreet.privacy import (
    Bound,
    GaussianMechanism,
    LaplaceMechanism,
    Ledger,
    SecureStream,
    SharedGaussian,
    events,
    noise_multiplier_for,
    sum_rows,
)
from discreet.privacy.noisy_max import NoisyMax
from discreet.privacy.row_sums import OneCellBound

ROOT = Path(discreet.__file__).parent
NOISE = noise_multiplier_for(1.0, 1e-6)
ROWS = np.ones((50, 1))
DOCUMENTS, PEOPLE = ("document", "add_or_remove_one"), ("person", "add_or_remove_one")
REPLACED, TOKENS = ("document", "replace_one"), ("word", "replace_one")


def stream():
    return SecureStream(0)


def gaussian(unit, relation, *, rate=1.0):
    mechanism = GaussianMechanism(Bound("l2", privacy_unit=unit, neighboring=relation), NOISE, rate)
    return mechanism.event(), lambda held: mechanism.release(sum_rows(ROWS, mechanism.bound), stream(), held)


def laplace(unit, relation):
    mechanism = LaplaceMechanism(Bound("l1", privacy_unit=unit, neighboring=relation), 0.1)
    return mechanism.event(), lambda held: mechanism.release(sum_rows(ROWS, mechanism.bound), stream(), held)


def one_cell(unit, relation):
    mechanism = GaussianMechanism(OneCellBound(privacy_unit=unit, neighboring=relation), NOISE)
    table = mechanism.bound.sum([np.eye(3, dtype=int)[0]])
    return mechanism.event(), lambda held: mechanism.release(table, stream(), held)


def without_noise(unit, relation):
    mechanism = GaussianMechanism(Bound("l2", privacy_unit=unit, neighboring=relation), 0.0)
    return mechanism.event(), lambda held: mechanism.release(sum_rows(ROWS, mechanism.bound), stream(), held)


def shared(unit, relation):
    assert relation == "add_or_remove_one"

    def release(held):
        gate = SharedGaussian(held, NOISE, unit, stream(), None)
        return gate.release(sum_rows(ROWS, gate.bound), 1.0, "count").values

    return events.gaussian(NOISE), release


def shared_elsewhere(unit, relation):
    assert relation == "add_or_remove_one"
    return events.gaussian(NOISE), lambda held: SharedGaussian(held, NOISE, unit, stream(), None).draw(1.0)


def noisy_max(unit, relation):
    assert relation == "add_or_remove_one"
    mechanism = NoisyMax(0.5, privacy_unit=unit)
    return mechanism.event(), lambda held: mechanism.choose(np.ones((5, 2)), stream(), held)


#: What draws on a reservation: where it stands in the source, the unit it is made for, and how.
DOORS = {
    "GaussianMechanism": ("privacy/mechanism.py", DOCUMENTS, gaussian),
    "GaussianMechanism, replaced": ("privacy/mechanism.py", REPLACED, gaussian),
    "GaussianMechanism, Poisson samples": (
        "privacy/mechanism.py",
        PEOPLE,
        lambda *unit: gaussian(*unit, rate=0.1),
    ),
    "GaussianMechanism, one cell": ("privacy/mechanism.py", TOKENS, one_cell),
    "GaussianMechanism, no noise": ("privacy/mechanism.py", DOCUMENTS, without_noise),
    "LaplaceMechanism": ("privacy/mechanism.py", DOCUMENTS, laplace),
    "SharedGaussian.release": ("privacy/mechanism.py", DOCUMENTS, shared),
    "SharedGaussian.draw": ("privacy/mechanism.py", PEOPLE, shared_elsewhere),
    "NoisyMax": ("privacy/noisy_max.py", DOCUMENTS, noisy_max),
}

UNITS = (DOCUMENTS, PEOPLE, REPLACED, TOKENS)
OTHERS = [
    (name, promised) for name, (_, made_for, _) in DOORS.items() for promised in UNITS if promised != made_for
]


def booked(event, unit, relation, *, epsilon=5.0):
    return Ledger(epsilon, 1e-6, privacy_unit=unit, neighboring=relation).reserve(event, "a release")


@pytest.mark.parametrize("name", DOORS)
def test_what_is_bounded_for_the_unit_and_relation_of_the_ledger_is_released(name):
    _, made_for, door = DOORS[name]
    event, release = door(*made_for)
    assert release(booked(event, *made_for, epsilon=float("inf"))) is not None


@pytest.mark.parametrize(("name", "promised"), OTHERS)
def test_what_is_bounded_for_another_unit_or_relation_is_refused_and_draws_nothing(name, promised):
    _, made_for, door = DOORS[name]
    event, release = door(*made_for)
    held = booked(event, *promised, epsilon=float("inf"))
    with pytest.raises(PrivacyError, match=f"protects each {promised[0]} .*bounded for each {made_for[0]}"):
        release(held)
    held.use(event, privacy_unit=promised[0], neighboring=promised[1])  # all of it is there still


def test_every_place_that_draws_on_a_reservation_is_held_to_this():
    sources = {path: path.read_text(encoding="utf-8") for path in ROOT.rglob("*.py")}
    drawing = {
        str(path.relative_to(ROOT))
        for path, source in sources.items()
        if re.search(r"\buse\b", source)  # to parse all files takes a second
        for call in ast.walk(ast.parse(source))
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr == "use"
    }
    assert drawing == {where for where, _, _ in DOORS.values()}


def test_a_plan_and_disjoint_parts_carry_the_unit_and_relation_too():
    ledger = Ledger(5.0, 1e-6, privacy_unit="person")
    event, release = gaussian(*DOCUMENTS)
    months = Ledger(5.0, 1e-6)
    for reservation in ledger.plan([(event, "one"), (event, "two")]):
        with pytest.raises(PrivacyError, match="protects each person"):
            release(reservation)
    january = months.reserve(event, "shares", division="month of the date", touched=["2024-01"])
    assert release(january).shape == (1,)
