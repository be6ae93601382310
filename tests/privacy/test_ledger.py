"""The ledger: booked before use, exact at the edge, and one budget whatever copies, threads and processes do."""

import concurrent.futures
import copy
import json
import math
import pickle
import re
from fractions import Fraction

import numpy as np
import pytest
from dp_accounting import dp_event
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import BaseEstimator, clone

from discreet import PrivateLDA
from discreet.errors import BudgetExceeded, PrivacyError
from discreet.privacy.accounting import events
from discreet.privacy.accounting.curves import gdp_mu
from discreet.privacy.accounting.planning import noise_multiplier_for
from discreet.privacy.accounting.totals import composed_epsilon
from discreet.privacy.ledger import file as ledger_file
from discreet.privacy.ledger import ledger as ledger_module
from discreet.privacy.ledger.filter import Standing
from discreet.privacy.ledger.ledger import Cost, Ledger, Reservation

#: Whom the ledgers here protect.
UNIT = {"privacy_unit": "document", "neighboring": "add_or_remove_one"}


def release_of(epsilon, delta=1e-6):
    return events.gaussian(noise_multiplier_for(epsilon, delta))


# ---- what fits and what does not


@settings(max_examples=200, deadline=None)
@given(st.floats(1e-3, 50), st.floats(1e-12, 0.1))
@pytest.mark.integration
def test_a_release_of_the_whole_budget_fits_and_a_hair_more_does_not(epsilon, delta):
    ledger = Ledger(epsilon, delta)
    assert ledger.remaining().epsilon == epsilon
    ledger.reserve(release_of(epsilon, delta), "all of it")
    assert ledger.spent().epsilon <= epsilon  # without any tolerance
    assert ledger.remaining().epsilon < 1e-3 * epsilon
    with pytest.raises(BudgetExceeded):
        Ledger(epsilon, delta).reserve(release_of(epsilon * 1.0001, delta), "a hair more")


def test_decimals_fit_as_they_are_typed():
    ledger = Ledger(0.3, 1e-6)
    assert 0.1 + 0.2 > 0.3  # in floating point
    ledger.reserve(events.discrete_laplace(0.1, 16), "one")
    ledger.reserve(events.discrete_laplace(0.2, 16), "two")
    with pytest.raises(BudgetExceeded):
        Ledger(0.3, 1e-6).reserve(events.discrete_laplace(0.3000001, 16), "too much")
    failing = Ledger(1, 1e-6, failure_share=0.5)
    for _ in range(6):
        failing.reserve(
            events.with_delta(events.gaussian(50.0), 1e-7), "a tenth of delta each, the first besides"
        )
    with pytest.raises(BudgetExceeded):
        failing.reserve(events.with_delta(events.gaussian(50.0), 1e-10), "more delta")


@settings(max_examples=60, deadline=None)
@given(st.lists(st.floats(2, 100), min_size=1, max_size=4), st.floats(0.5, 8))
def test_what_remains_can_be_reserved_and_then_nothing_remains(noises, epsilon):
    ledger = Ledger(epsilon, 1e-6)
    for noise in noises:
        try:
            ledger.reserve(events.gaussian(noise), "first")
        except BudgetExceeded:
            return
    left = ledger.remaining()
    assert left.delta == 1e-6
    if left.epsilon > 0:
        ledger.reserve(release_of(left.epsilon), "the rest")
    assert ledger.spent().epsilon <= epsilon
    assert gdp_mu(max(ledger.remaining().epsilon, 1e-300), 1e-6) < 1e-3


@pytest.mark.parametrize("share", [0.01, 0.1, 0.25])
def test_words_and_topics_share_a_budget(share):
    # The first example of the README: words at 0.5 and topics at 1.5 from a budget of 2.
    words = events.with_delta(events.discrete_laplace(0.5, 2**14), share * 1e-6)
    ledger = Ledger(2, 1e-6)
    ledger.reserve(words, "words")
    left = ledger.remaining().epsilon
    assert 1.5 < left < 1.6
    ledger.reserve(release_of(1.5), "topics")
    assert 1.9 < ledger.spent().epsilon <= 2
    again = Ledger(2, 1e-6)
    again.reserve(words, "words")
    again.reserve(release_of(left), "what remains")
    third = Ledger(2, 1e-6)
    third.reserve(words, "words")
    with pytest.raises(BudgetExceeded):
        third.reserve(release_of(left * 1.01), "one per cent more")


def test_half_of_delta_for_the_words_is_too_much():
    ledger = Ledger(2, 1e-6)
    ledger.reserve(events.with_delta(events.discrete_laplace(0.5, 2**14), 5e-7), "words")
    with pytest.raises(BudgetExceeded):
        ledger.reserve(release_of(1.5), "topics")


def test_a_refusal_changes_nothing_and_says_what_to_do():
    ledger = Ledger(1, 1e-6)
    ledger.reserve(release_of(0.8), "topics")
    before = ledger.to_json()
    with pytest.raises(BudgetExceeded) as refused:
        ledger.reserve(release_of(0.7), "more topics")
    assert ledger.to_json() == before
    message = str(refused.value)
    assert "'more topics'" in message
    assert "This was not booked" in message
    assert "What is left is epsilon = " in message
    shown = float(re.search(r"What is left is epsilon = ([\d.]+) at this delta", message)[1])
    with pytest.raises(BudgetExceeded):
        ledger.reserve(release_of(1.01 * shown), "more than the message says")
    ledger.reserve(release_of(shown), "what the message says")


def test_reading_changes_nothing():
    ledger = Ledger(2, 1e-6)
    ledger.reserve(events.with_delta(events.pure(0.5), 1e-8), "words")
    before = json.dumps(ledger.to_json())
    for _ in range(3):
        (
            ledger.spent(),
            ledger.remaining(),
            ledger.guarantee(),
            ledger.snapshot(),
            repr(ledger),
            ledger.entries,
        )
    assert json.dumps(ledger.to_json()) == before
    assert not hasattr(ledger, "__dict__") or ledger.entries[0].purpose == "words"


def test_spent_is_the_composition_of_a_plan():
    ledger = Ledger(3, 1e-5, neighboring="replace_one", privacy_unit="word")
    booked = [events.gaussian(4.0), events.discrete_laplace(0.1, 8), events.pure(0.1)]
    ledger.plan([(event, "part") for event in booked])
    assert ledger.spent() == composed_epsilon(booked, 1e-5, neighboring="replace_one")
    guarantee = ledger.guarantee()
    assert (guarantee.epsilon, guarantee.delta) == ledger.spent()[:2]
    assert (guarantee.privacy_unit, guarantee.neighboring) == ("word", "replace_one")


def test_an_infinite_budget_covers_everything():
    ledger = Ledger(math.inf, 1e-6)
    assert ledger.remaining() == Cost(math.inf, 1e-6, "no limit")
    reservation = ledger.reserve(events.non_private(), "the twin")
    reservation.use(events.gaussian(1e-3), **UNIT)
    assert ledger.spent().epsilon == math.inf
    assert "No privacy is promised" in ledger.guarantee().in_words()
    with pytest.raises(BudgetExceeded, match="inf"):
        Ledger(10, 1e-6).reserve(events.non_private(), "without noise")


@pytest.mark.parametrize("purpose", ["", " ", None, 3, "\ud83d\ude00", "a half: \ud83d"])
def test_purposes_are_needed(purpose):
    with pytest.raises(PrivacyError, match="purpose"):
        Ledger(1, 1e-6).reserve(events.gaussian(10.0), purpose)


# ---- reservations


def test_a_reservation_is_a_filter_for_adaptive_shares():
    reservation = Ledger(4, 1e-6).reserve(events.gaussian(2.0), "rounds")
    assert reservation.precision_left == Fraction(1, 4)
    reservation.use(events.gaussian(4.0), **UNIT)  # 1/16 each
    reservation.use(events.composed(events.gaussian(4.0), 2), **UNIT)
    with pytest.raises(PrivacyError, match=r"'rounds' has been used, and what is left .* not cover"):
        reservation.use(events.gaussian(math.nextafter(4.0, 0)), **UNIT)  # a hair too little noise
    reservation.use(events.gaussian(4.0), **UNIT)
    assert reservation.precision_left == 0
    with pytest.raises(PrivacyError):
        reservation.use(events.gaussian(1e9), **UNIT)


def test_a_reservation_counts_what_is_not_gaussian():
    sampled = events.poisson_sampled(0.1, events.gaussian(2.0))
    reservation = Ledger(9, 1e-5).reserve(events.composed(sampled, 3), "rounds")
    with pytest.raises(PrivacyError):
        reservation.use(events.gaussian(2.0), **UNIT)  # the same noise without the sampling is not covered
    with pytest.raises(PrivacyError):
        reservation.use(events.poisson_sampled(0.2, events.gaussian(2.0)), **UNIT)
    for _ in range(3):
        reservation.use(sampled, **UNIT)
    with pytest.raises(PrivacyError):
        reservation.use(sampled, **UNIT)


def test_a_refused_use_draws_nothing():
    both = events.with_delta(events.discrete_laplace(0.5, 4), 1e-8)
    reservation = Ledger(1, 1e-6).reserve(both, "words")
    with pytest.raises(PrivacyError):
        reservation.use(events.composed(both, 2), **UNIT)
    reservation.use(both, **UNIT)


def test_a_reservation_cannot_be_doubled():
    reservation = Ledger(1, 1e-6).reserve(events.gaussian(10.0), "once")
    for double in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(PrivacyError, match="spent twice"):
            double(reservation)


def test_threads_cannot_draw_more_than_was_reserved():
    reservation = Ledger(4, 1e-6).reserve(events.gaussian(2.0), "rounds")
    small = events.gaussian(20.0)  # a hundred of them fit

    def draw(_):
        try:
            reservation.use(small, **UNIT)
        except PrivacyError:
            return 0
        return 1

    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(draw, range(300))) == 100


# ---- plans


WORDS = events.with_delta(events.discrete_laplace(0.5, 2**14), 1e-7)


def test_a_plan_is_priced_together_and_drawn_on_by_part():
    ledger = Ledger(2, 1e-6)
    words, topics = ledger.plan([(WORDS, "words"), (release_of(1.5), "topics")])
    assert ledger.spent().epsilon == composed_epsilon([WORDS, release_of(1.5)], 1e-6).epsilon < 1.96
    assert [(entry.purpose, entry.event) for entry in ledger.entries] == [
        ("words", WORDS),
        ("topics", release_of(1.5)),
    ]
    with pytest.raises(PrivacyError, match="'words' does not cover"):
        words.use(release_of(1.5), **UNIT)
    with pytest.raises(PrivacyError, match="'topics' does not cover"):
        topics.use(WORDS, **UNIT)
    topics.use(release_of(1.5), **UNIT)  # in any order
    words.use(WORDS, **UNIT)
    with pytest.raises(PrivacyError, match="does not cover"):
        words.use(WORDS, **UNIT)


def test_a_plan_is_booked_whole_or_not_at_all(tmp_path):
    ledger = Ledger(1, 1e-6, path=tmp_path / "ledger.json")
    with pytest.raises(BudgetExceeded, match=r"'words' \(.*\) and 'topics' \(.*\)") as refused:
        ledger.plan([(WORDS, "words"), (release_of(1), "topics")])
    assert "This was not booked" in str(refused.value)
    for parts, match in (([], "at least one"), ([(release_of(0.1), "a"), (release_of(0.1), " ")], "purpose")):
        with pytest.raises(PrivacyError, match=match):
            ledger.plan(parts)
    assert not ledger.entries
    assert not Ledger.open(tmp_path / "ledger.json").entries
    ledger.plan([(WORDS, "words"), (release_of(0.2), "topics")])
    assert len(Ledger.open(tmp_path / "ledger.json").entries) == 2
    with pytest.raises(PrivacyError, match="closed"):
        ledger.snapshot().plan([(release_of(0.1), "more")])


# ---- copies


class Estimator(BaseEstimator):
    def __init__(self, epsilon=1.0, ledger=None):
        self.epsilon = epsilon
        self.ledger = ledger


def test_copies_and_clones_are_the_same_ledger():
    ledger = Ledger(1, 1e-6)
    assert copy.copy(ledger) is ledger
    assert copy.deepcopy(ledger) is ledger
    assert clone(ledger) is ledger
    first = Estimator(ledger=ledger)
    second = clone(first)
    assert second is not first
    assert second.ledger is ledger
    assert copy.deepcopy(first).ledger is ledger
    second.ledger.reserve(release_of(1), "the clone")
    with pytest.raises(BudgetExceeded):
        first.ledger.reserve(release_of(1), "the original")


def test_a_pickled_ledger_comes_back_closed():
    ledger = Ledger(1, 1e-6)
    ledger.reserve(release_of(0.5), "topics")
    back = pickle.loads(pickle.dumps(ledger))  # noqa: S301
    assert back == ledger
    assert back.closed
    with pytest.raises(PrivacyError, match=r"closed record.*Ledger\.open"):
        back.reserve(events.gaussian(1e6), "a second budget")


def test_a_snapshot_is_closed_and_stays_as_it_was():
    ledger = Ledger(1, 1e-6)
    ledger.reserve(release_of(0.5), "topics")
    snapshot = ledger.snapshot()
    assert snapshot == ledger
    ledger.reserve(events.gaussian(1e3), "more")
    assert snapshot != ledger
    assert len(snapshot.entries) == 1
    with pytest.raises(PrivacyError, match="closed"):
        snapshot.reserve(events.gaussian(1e6), "more")
    assert snapshot.spent().epsilon == pytest.approx(0.5)


def test_equality_is_by_content_and_so_there_is_no_hash():
    assert Ledger(1, 1e-6) == Ledger(1, 1e-6)
    assert Ledger(1, 1e-6) != Ledger(1, 1e-6, privacy_unit="person")
    assert Ledger(1, 1e-6) != "ledger"
    with pytest.raises(TypeError):
        hash(Ledger(1, 1e-6))
    assert len(repr(Ledger(1, 1e-6))) < 80


# ---- JSON


def full_ledger():
    ledger = Ledger(9, 1e-5, privacy_unit="person")
    ledger.reserve(events.with_delta(events.discrete_laplace(0.5, 2**14), 1e-8), "words: ä, \U0001f600, <b>")
    ledger.reserve(events.composed(events.poisson_sampled(0.05, events.gaussian(1.24)), 20), "topics")
    ledger.reserve(events.pure(0.25), "a draw")
    return ledger


def through_json(ledger):
    return Ledger.from_json(json.loads(json.dumps(ledger.to_json())))


def test_json_round_trip():
    ledger = full_ledger()
    back = through_json(ledger)
    assert back == ledger
    assert back.spent() == ledger.spent()
    assert back.closed
    assert Ledger.from_json(Ledger(math.inf, 1e-6).to_json()).epsilon == math.inf
    shared = Ledger(1, 1e-6, failure_share=0.25)
    assert through_json(shared).failure_share == 0.25
    assert through_json(shared) == shared != Ledger(1, 1e-6)
    ledger.plan([(events.gaussian(100.0), "one"), (events.gaussian(100.0), "two")])
    assert [entry.booking for entry in through_json(ledger).entries] == [1, 2, 3, 4, 4]


def test_json_makes_no_second_budget():
    """Also not what an earlier version wrote of a ledger that could be booked on, with its identity."""
    ledger = Ledger(2, 1e-6)
    ledger.reserve(release_of(1), "topics")
    open_then = {**ledger.to_json(), "id": "0" * 32}
    del open_then["checksum"]
    open_then["checksum"] = ledger_file.checksum_of(open_then)
    for told in (ledger.to_json(), open_then):
        read = Ledger.from_json(told)
        assert read == ledger
        with pytest.raises(PrivacyError, match="closed record"):
            read.reserve(release_of(0.1), "again")


def test_a_record_cannot_be_booked_on_through_json():
    ledger = Ledger(2, 1e-6)
    ledger.reserve(release_of(1), "topics")
    record = through_json(ledger.snapshot())
    assert record == ledger
    assert record.closed
    with pytest.raises(PrivacyError, match="closed record"):
        record.reserve(events.gaussian(1e6), "more")
    assert "id" not in ledger.snapshot().to_json()  # or the same release would not be the same bytes


def test_a_rehearsal_books_nothing():
    ledger = Ledger(1, 1e-6)
    ledger.reserve(release_of(0.5), "topics")
    tried = ledger.rehearsal()
    reservation = tried.reserve(release_of(0.5), "more topics")
    assert len(tried.entries) == 2
    assert len(ledger.entries) == 1
    with pytest.raises(PrivacyError, match="from a rehearsal"):
        reservation.use(release_of(0.5), **UNIT)
    with pytest.raises(BudgetExceeded):
        tried.reserve(release_of(1), "too much")
    assert through_json(tried).closed


def paths_in(value, path=()):
    if isinstance(value, dict):
        for key, part in value.items():
            yield from paths_in(part, (*path, key))
    elif isinstance(value, list):
        for number, part in enumerate(value):
            yield from paths_in(part, (*path, number))
    else:
        yield path


def test_every_single_edit_is_noticed():
    original = full_ledger().to_json()
    count = 0
    for path in paths_in(original):
        for other in (7, "x", None):
            edited = copy.deepcopy(original)
            place = edited
            for key in path[:-1]:
                place = place[key]
            if place[path[-1]] == other:
                continue
            place[path[-1]] = other
            with pytest.raises(PrivacyError):
                Ledger.from_json(edited)
            count += 1
    assert count > 50
    for number in range(3):  # a booking taken out
        edited = copy.deepcopy(original)
        del edited["entries"][number]
        with pytest.raises(PrivacyError, match="checksum"):
            Ledger.from_json(edited)


def test_the_checksum_is_no_signature():
    # Whoever edits on purpose can renew it: documented, and so it should stay true.
    content = full_ledger().to_json()
    forged = sealed(content["entries"][1:], 9.0, 1e-5, "person")
    assert len(Ledger.from_json(forged).entries) == 2


def sealed(entries, epsilon=1.0, delta=1e-6, unit="document"):
    """Return JSON values with a checksum that fits, whatever they say."""
    content = Ledger(epsilon, delta, privacy_unit=unit).snapshot().to_json() | {"entries": entries}
    del content["checksum"]
    return {**content, "checksum": ledger_file.checksum_of(content)}


@pytest.mark.parametrize(
    ("value", "match"),
    [
        ({"schema": "discreet.ledger/0", "entries": []}, "version of discreet that wrote it"),
        ({"schema": "discreet.ledger/3"}, "version of discreet that wrote it"),
        ({"schema": 3}, "file that a Ledger wrote"),
        ({}, "file that a Ledger wrote"),
        ([], "JSON object"),
        (None, "JSON object"),
    ],
)
def test_other_schemas_are_refused(value, match):
    with pytest.raises(PrivacyError, match=match):
        Ledger.from_json(value)


TWIN = {"kind": "non_private"}
SAMPLED_COIN = {
    "kind": "poisson_sampled",
    "sampling_rate": 0.5,
    "event": {"kind": "discrete_laplace", "noise_parameter": 1.0, "sensitivity": 1},
}


@pytest.mark.parametrize(
    "entries",
    [
        [{"purpose": "x", "booking": 1, "event": {"kind": "gaussian", "noise_multiplier": 10**400}}],
        [{"purpose": "x", "booking": 1, "event": {"kind": "repeated", "count": 10**400, "event": TWIN}}],
        [{"purpose": 5, "booking": 1, "event": TWIN}],
        [{"purpose": "x", "booking": 1, "event": SAMPLED_COIN}],
        [{"purpose": "x", "booking": 1}],
        [{"purpose": "x", "event": TWIN}],
        [{"purpose": "x", "booking": -1, "event": TWIN}],
        [{"purpose": "x", "booking": 1.0, "event": TWIN}],
        [{"purpose": "x", "booking": 2, "event": TWIN}, {"purpose": "x", "booking": 1, "event": TWIN}],
        ["x"],
        7,
    ],
)  # fmt: skip
def test_sealed_nonsense_is_refused(entries):
    with pytest.raises((PrivacyError, ValueError)):
        Ledger.from_json(sealed(entries))


# ---- planted mistakes: each breaks one rule, and the tests above would see it


def spends(ledger_class):
    """Book two releases of 0.8 out of 1; return how many were granted."""
    ledger = ledger_class(1, 1e-6)
    granted = 0
    for _ in range(2):
        try:
            ledger.reserve(release_of(0.8), "x")
            granted += 1
        except BudgetExceeded:
            pass
    return granted


def test_planted_mistakes_are_seen(monkeypatch):
    assert spends(Ledger) == 1

    with monkeypatch.context() as planted:
        planted.setattr(Standing, "_charged", lambda self, booked: self)  # forgets what came after the first
        assert spends(Ledger) == 2

    class BooksAfterUse(Ledger):
        def reserve(self, event, purpose):
            return Reservation(event, purpose, **UNIT)  # nothing booked yet

    assert spends(BooksAfterUse) == 2

    class CopiesFreely(Ledger):
        def __deepcopy__(self, memo):
            return self.snapshot()

    estimator = Estimator(ledger=CopiesFreely(1, 1e-6))
    assert copy.deepcopy(estimator).ledger is not estimator.ledger


def test_json_of_a_ledger_without_a_file_is_no_ledger_file(tmp_path):
    """Two files written from it would each be opened with the whole budget."""
    ledger = Ledger(1, 1e-6)
    for name in ("a.json", "b.json"):
        (tmp_path / name).write_text(json.dumps(ledger.to_json()))
        with pytest.raises(PrivacyError, match="holds the record of a release"):
            Ledger.open(tmp_path / name)
    assert Ledger.from_json(ledger.to_json()) == ledger


@pytest.mark.parametrize(
    "change",
    [{"epsilon": 10**400}, {"delta": -(10**400)}, {"failure_share": 10**400}, {"entries": {}}],
    ids=str,
)
def test_numbers_and_lists_that_are_none_are_refused(change):
    content = {**Ledger(1, 1e-6).to_json(), **change}
    del content["checksum"]
    content["checksum"] = ledger_file.checksum_of(content)
    with pytest.raises(PrivacyError, match="restore it from a copy"):
        Ledger.from_json(content)


def test_a_checksum_that_cannot_be_computed_is_none():
    content = {**Ledger(1, 1e-6).to_json(), "epsilon": math.nan, "checksum": ""}
    with pytest.raises(PrivacyError, match="checksum"):
        Ledger.from_json(content)


def test_delta_is_that_of_every_estimator_unless_it_is_given(tmp_path):
    assert Ledger(1.0).delta == Ledger.open(tmp_path / "ledger.json", 1.0).delta == 1e-6
    assert PrivateLDA().delta is None
    with pytest.raises(PrivacyError, match="For Laplace noise alone, 1e-12 is as good as none"):
        Ledger(1.0, 0)


def test_a_ledger_of_pure_losses_needs_no_more_delta_than_as_good_as_none():
    ledger = Ledger(1.0, events.PURE_DELTA)
    for share in (0.5, 0.25, 0.25):
        ledger.reserve(events.discrete_laplace(share, 2**14), "a share")
    assert ledger.guarantee().epsilon == 1.0
    with pytest.raises(BudgetExceeded):
        ledger.reserve(events.discrete_laplace(1e-6, 2**14), "more")


def test_what_was_booked_cannot_be_changed_by_whoever_holds_the_event(tmp_path):
    mine = [events.gaussian(4.0), events.pure(0.1)]
    for ledger in (Ledger(2.0, 1e-6), Ledger(2.0, 1e-6, path=tmp_path / "ledger.json")):
        held = ledger.reserve(dp_event.ComposedDpEvent(list(mine)), "first")
        ledger.plan([(given := dp_event.ComposedDpEvent(list(mine)), "second")])
        cost, booked = ledger.spent(), ledger.entries
        given.events.clear()
        for event in (held.event, *(entry.event for entry in booked)):
            assert event.events == tuple(mine)  # a tuple: nothing to clear
        assert ledger.spent() == cost == Ledger.from_json(ledger.to_json()).spent()
        assert ledger.entries == booked


class Changing(float):
    """A number that is another one when it is asked again."""


@pytest.mark.parametrize(
    "event",
    [
        dp_event.GaussianDpEvent(Changing(4.0)),
        dp_event.PoissonSampledDpEvent(Changing(0.5), events.gaussian(4.0)),
        events.FailureDpEvent(Changing(1e-9)),
    ],
    ids=["noise", "rate", "failure"],
)
def test_a_number_of_ones_own_kind_is_not_booked(event):
    ledger = Ledger(2.0, 1e-6)
    with pytest.raises(PrivacyError, match="must"):
        ledger.reserve(event, "a fit")
    assert not ledger.entries
    assert type(events.gaussian(np.float64(4.0)).noise_multiplier) is float


def test_a_budget_is_kept_to_the_last_digits_of_floats():
    thirds = Ledger(0.3, 1e-6)
    for share in (0.1, 0.2):  # a hair above 0.3 as floats
        thirds.reserve(events.pure(share), "a share")
    assert thirds.spent().epsilon == 0.1 + 0.2
    with pytest.raises(BudgetExceeded):
        Ledger(0.3, 1e-6).reserve(events.pure(0.3 * (1 + 9e-13)), "a hair more")
    tenths = Ledger(5.0, 1e-6, failure_share=0.9)
    tenths.reserve(events.gaussian(5.0), "topics")
    for _ in range(9):
        tenths.reserve(events.with_delta(events.gaussian(50.0), 1e-7), "words")
    assert tenths.failure_left < 1e-20
    for ledger in (Ledger(5.0, 1e-6), tenths):
        with pytest.raises(BudgetExceeded):
            ledger.reserve(events.FailureDpEvent(1e-6 * (1 + 9e-13)), "a hair more")


def test_a_handler_that_books_while_a_booking_is_priced_costs_that_booking(monkeypatch):
    """The lock lets the thread that holds it in again: a signal's handler, or a finaliser, runs in that thread."""
    ledger = Ledger(1.0, 1e-6)
    event = events.gaussian(noise_multiplier_for(0.9, 1e-6))
    honest, interrupted = ledger_module.dearest, []

    def priced(*given):
        if not interrupted:
            interrupted.append(None)
            ledger.reserve(event, "by the handler")
        return honest(*given)

    monkeypatch.setattr(ledger_module, "dearest", priced)
    with pytest.raises(PrivacyError, match="book again"):
        ledger.reserve(event, "interrupted")
    assert [entry.purpose for entry in ledger.entries] == ["by the handler"]
    assert ledger.spent().epsilon <= 1


def test_a_folder_is_no_ledger(tmp_path):
    with pytest.raises(PrivacyError, match="is a folder; give the path of a ledger file"):
        Ledger.open(tmp_path)


def test_an_event_that_a_file_could_not_give_back_is_not_booked(tmp_path):
    event = events.gaussian(9.0)
    for _ in range(9):
        event = events.together(event)
    far_too_deep = event
    for _ in range(5_000):
        far_too_deep = events.together(far_too_deep)
    for ledger in (Ledger(1.0, 1e-6), Ledger(1.0, 1e-6, path=tmp_path / "ledger.json")):
        for deep in (event, far_too_deep):
            with pytest.raises(PrivacyError, match="at most 8 deep"):
                ledger.reserve(deep, "too deep")
        ledger.reserve(event.events[0], "as deep as can be")
    assert len(Ledger.open(tmp_path / "ledger.json").entries) == 1


def test_what_must_be_booked_once_stands_in_its_purpose():
    """Else no later booking would find it, and the same would be answered twice."""
    ledger = Ledger(4, 1e-6)
    with pytest.raises(PrivacyError, match="once must be a part of purpose"):
        ledger.reserve(release_of(0.5), "a sum", once="roster 7")
    assert not ledger.entries
    ledger.reserve(release_of(0.5), "a sum, roster 7", once="roster 7")
    with pytest.raises(PrivacyError, match="already"):
        ledger.reserve(release_of(0.5), "a sum, roster 7", once="roster 7")


def test_a_ledger_is_opened_with_its_own_budget_or_with_none(tmp_path):
    path = tmp_path / "ledger.json"
    Ledger.open(path, 5, 1e-5)
    for other in ({"epsilon": 9}, {"epsilon": 5, "delta": 1e-6}):
        with pytest.raises(PrivacyError, match="leave the budget out"):
            Ledger.open(path, **other)
    assert Ledger.open(path, 5, 1e-5) == Ledger.open(path)
