"""The ledger under chance: random bookings, orders, races and deaths."""

import contextlib
import itertools
import json
import math
import random
import signal
import subprocess
import sys
import textwrap
import threading
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import BudgetExceeded, PrivacyError
from discreet.privacy.accounting import events
from discreet.privacy.accounting.planning import noise_multiplier_for
from discreet.privacy.accounting.totals import composed_epsilon
from discreet.privacy.ledger.ledger import Ledger

DELTA = 1e-6
ANY_GAUSSIAN = st.floats(1, 60).map(events.gaussian)
ANY_PURE = st.floats(0.01, 1).map(lambda epsilon: events.discrete_laplace(epsilon, 16))
ANY_FAILURE = st.tuples(ANY_GAUSSIAN, st.floats(1e-9, 6e-7)).map(lambda pair: events.with_delta(*pair))


def release_of(epsilon):
    return events.gaussian(noise_multiplier_for(epsilon, DELTA))


def run(ledger, wanted):
    """Book what fits; check on the way that the ledger keeps its word."""
    spent = 0.0
    for number, event in enumerate(wanted):
        before = ledger.entries
        try:
            ledger.reserve(event, f"step {number}")
        except BudgetExceeded:
            assert ledger.entries == before
        else:
            assert [entry.event for entry in ledger.entries] == [*(entry.event for entry in before), event]
        assert spent * (1 - 1e-12) <= ledger.spent().epsilon <= ledger.epsilon * (1 + 1e-12)
        spent = ledger.spent().epsilon
        booked = [entry.event for entry in ledger.entries]
        assert spent >= composed_epsilon(booked, ledger.delta).epsilon * (1 - 1e-3)
    assert Ledger.from_json(json.loads(json.dumps(ledger.to_json()))) == ledger


BOOKINGS = (st.floats(0.1, 5), st.lists(st.one_of(ANY_GAUSSIAN, ANY_FAILURE), max_size=8))


@settings(max_examples=25, deadline=None)
@given(*BOOKINGS)
@pytest.mark.integration
def test_random_bookings_never_exceed_the_budget(epsilon, wanted):
    run(Ledger(epsilon, DELTA), wanted)


@pytest.mark.slow
@settings(max_examples=400, deadline=None)
@given(*BOOKINGS)
def test_many_random_bookings_never_exceed_the_budget(epsilon, wanted):
    run(Ledger(epsilon, DELTA), wanted)


@settings(max_examples=8, deadline=None, derandomize=True)
@given(st.floats(0.5, 5), st.lists(st.one_of(ANY_GAUSSIAN, ANY_PURE, ANY_FAILURE), min_size=2, max_size=4))
def test_random_bookings_of_mixed_kinds(epsilon, wanted):
    # Numerical accountants choose their grids anew for each list, so sums may wobble by their stated error.
    ledger = Ledger(epsilon, DELTA)
    spent = 0.0
    for event in wanted:
        try:
            ledger.reserve(event, "step")
        except BudgetExceeded:
            continue
        assert spent * (1 - 1e-3) <= ledger.spent().epsilon <= epsilon * (1 + 1e-12)
        spent = ledger.spent().epsilon


MIXED = [
    [events.gaussian(5.0)],
    [events.gaussian(5.0), events.discrete_laplace(0.3, 16)],
    [events.with_delta(events.discrete_laplace(0.5, 2**14), 1e-7), events.gaussian(9.0)],
    [events.gaussian(5.0), events.pure(0.3)],
    [events.composed(events.poisson_sampled(0.05, events.gaussian(1.24)), 20)],
]


@pytest.mark.parametrize("booked", MIXED, ids=range(len(MIXED)))
def test_what_remains_is_what_can_be_reserved(booked):
    def fresh():
        ledger = Ledger(3, DELTA)
        for event in booked:
            ledger.reserve(event, "first")
        return ledger

    left = fresh().remaining().epsilon
    assert 0 < left < 3
    fresh().reserve(release_of(left), "the rest")
    with pytest.raises(BudgetExceeded):
        fresh().reserve(release_of(left * 1.01), "one per cent more")


def test_order_does_not_matter_in_a_plan_nor_after_the_first_booking():
    later = [events.gaussian(9.0), events.with_delta(events.gaussian(30.0), 5e-8), events.gaussian(20.0)]
    totals = set()
    for order in itertools.permutations(later):
        ledger = Ledger(4, DELTA)
        for event in [MIXED[2][0], *order]:
            ledger.reserve(event, "step")
        totals.add((ledger.spent(), ledger.remaining()))
    assert len(totals) == 1
    plans = set()
    for order in itertools.permutations([*MIXED[2], events.pure(0.1)]):
        ledger = Ledger(4, DELTA)
        ledger.plan([(event, "step") for event in order])
        plans.add((ledger.spent(), ledger.remaining()))
    assert len(plans) == 1


def test_many_small_bookings_cost_what_one_of_them_all_costs():
    noise = noise_multiplier_for(2, DELTA, n_rounds=300)
    ledger = Ledger(2, DELTA)
    for number in range(300):
        ledger.reserve(events.gaussian(noise), f"round {number}")
    assert ledger.spent().epsilon == pytest.approx(2, rel=1e-9)
    assert ledger.spent().epsilon <= 2
    with pytest.raises(BudgetExceeded):
        ledger.reserve(events.gaussian(noise), "one more")


@pytest.mark.parametrize("bad", [True, False, 0, -1, math.nan, "1", None])
def test_budgets_out_of_range(bad):
    with pytest.raises(PrivacyError, match="epsilon must be a positive number"):
        Ledger(bad, DELTA)
    with pytest.raises(PrivacyError, match="delta must lie strictly between"):
        Ledger(1, bad)


@pytest.mark.parametrize("in_file", [False, True])
def test_twenty_threads_race_for_a_budget_of_five(tmp_path, in_file):
    ledger = Ledger(5, DELTA, path=tmp_path / "ledger.json" if in_file else None)
    event, start, passed = events.discrete_laplace(1.0, 16), threading.Barrier(20), []

    def book():
        start.wait()
        # At delta = 1e-6 five losses of 1 cost 5 by the plain sum, and a sixth does not fit.
        with contextlib.suppress(BudgetExceeded):
            passed.append(ledger.reserve(event, "one"))

    threads = [threading.Thread(target=book) for _ in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(passed) == len(ledger.entries) == 5


BOOK_WITHOUT_END = textwrap.dedent("""
    import sys
    from discreet.privacy import events
    from discreet.privacy.ledger.ledger import Ledger
    ledger = Ledger.open(sys.argv[1])
    events.gaussian(3.0), ledger.spent()
    for number in range(10**6):
        ledger.reserve(events.gaussian(1000.0), "x" * 50)
        print(number + 1, flush=True)  # from now on it may be used, so it must never be forgotten
""")


@pytest.mark.integration
def test_death_at_any_moment_leaves_a_whole_ledger_that_forgets_nothing(tmp_path):
    path = tmp_path / "ledger.json"
    Ledger(50, DELTA, path=path)
    chance = random.Random(4)
    reported = 0
    for _ in range(5):
        worker = subprocess.Popen(
            [sys.executable, "-c", BOOK_WITHOUT_END, str(path)], stdout=subprocess.PIPE, text=True
        )
        worker.stdout.readline()
        time.sleep(chance.uniform(0, 0.2))
        worker.send_signal(signal.SIGKILL)
        told = worker.stdout.read()  # communicate() would forget lines that readline() took along
        worker.stdout.close()
        worker.wait(timeout=60)
        assert worker.returncode == -signal.SIGKILL
        reported += 1 + told.count("\n")
        found = len(Ledger.open(path).entries)
        assert found >= reported
        assert found <= reported + 1  # booked, and killed before it could say so
        reported = found
    assert reported >= 5


def test_writing_in_place_would_be_noticed(tmp_path, monkeypatch):
    # The plausible mistake: to write over the old file. A reader at the wrong moment finds half a ledger.
    from discreet.privacy.ledger import file as ledger_file

    ledger = Ledger(50, DELTA, path=tmp_path / "ledger.json")

    def in_place(path, value, expected):
        text = json.dumps(value)
        path.write_text(text[: len(text) // 2])  # dies here
        raise KeyboardInterrupt

    monkeypatch.setattr(ledger_file, "_replace", in_place)
    with pytest.raises(KeyboardInterrupt):
        ledger.reserve(events.gaussian(1000.0), "x")
    with pytest.raises(PrivacyError, match="JSON that cannot be read"):
        Ledger.open(tmp_path / "ledger.json")
