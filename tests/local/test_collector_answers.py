"""What a collector is asked about its topics costs a bounded amount, and nobody waits for somebody else's question."""

import asyncio
import contextlib
import functools
import json
import sqlite3
import threading
import time

import numpy as np
import pytest
from tests.local.collector_calls import CHANNEL, WORDS, call_app

from discreet.lda.moments.moments import Moments
from discreet.local.collector import topic_fits
from discreet.local.collector.intake import HTTPException, later
from discreet.local.collector.store import ReportStore


@pytest.fixture
def store(tmp_path):
    rng = np.random.default_rng(0)
    with ReportStore(tmp_path / "reports.db", WORDS, CHANNEL) as opened:
        packed = np.packbits(
            rng.integers(0, 2, (500, len(WORDS))).astype(np.uint8), axis=1, bitorder="little"
        )
        opened.add([(rng.bytes(16), row.tobytes()) for row in packed]).result(10)
        yield opened


@pytest.mark.parametrize("asked", ["k=3", "k=0000000020000", "k=", "outliers=keep", "x"])
def test_topics_take_no_parameters(store, asked):
    """``k=0000000020000`` passed a check of its first nine digits, and asked for 5.5 GB."""
    assert call_app(store, "GET", f"/topics?{asked}")[0] == 422


def slow(monkeypatch, name, work):
    """Let one of the two computations do something else; return how often it was begun."""
    begun = []
    plain = getattr(topic_fits.TopicFits, name)

    def instead(self, *given):
        begun.append(given)
        work()
        return plain(self, *given)

    monkeypatch.setattr(topic_fits.TopicFits, name, instead)
    return begun


def test_status_does_not_wait_for_a_fit(store, monkeypatch):
    """One lock for both let a long fit hold up /status, and with it every page."""
    go_on = threading.Event()
    slow(monkeypatch, "_fit", lambda: go_on.wait(20))

    async def run():
        asked = topic_fits.TopicFits(store, patience=30)
        fit = asyncio.create_task(asked.topics())
        await asyncio.sleep(0.1)
        began = time.monotonic()
        told = await asked.status()
        assert time.monotonic() - began < 5
        assert told["learnable_from"] == 500
        go_on.set()
        assert (await fit)["reports"] == 500

    asyncio.run(run())


def test_nobody_waits_longer_than_the_deadline_and_the_work_is_not_lost(store, monkeypatch):
    go_on = threading.Event()
    begun = slow(monkeypatch, "_fit", lambda: go_on.wait(20))

    async def run():
        asked = topic_fits.TopicFits(store, patience=0.2)
        for _ in range(3):  # as three browsers do: one fit
            with pytest.raises(HTTPException, match="topics are still being fitted"):
                await asked.topics()
        go_on.set()
        await asyncio.sleep(1)
        assert (await asked.topics())["reports"] == 500
        assert begun == [()]

    asyncio.run(run())


def test_a_slow_look_gives_what_is_known(store, monkeypatch):
    go_on = threading.Event()
    slow(monkeypatch, "_look", lambda: go_on.wait(20))

    async def run():
        asked = topic_fits.TopicFits(store, patience=0.2)
        told = await asked.status()
        assert (told["reports"], told["learnable"], told["learnable_from"]) == (500, None, None)
        go_on.set()
        await asyncio.sleep(0.5)
        assert (await asked.status())["learnable_from"] == 500

    asyncio.run(run())


def test_a_fit_that_takes_too_long_is_given_up(store):
    async def run():
        told = await topic_fits.TopicFits(store, longest_fit=-1).topics()
        assert told["topics"] == []
        assert "took more than" in told["note"]

    asyncio.run(run())


def test_a_service_that_stops_gives_its_fit_up(store):
    async def run():
        asked = topic_fits.TopicFits(store)
        asked.stop()
        assert (await asked.topics())["topics"] == []

    asyncio.run(run())


def test_who_asks_and_asks_leaves_time_between_fits(store, monkeypatch):
    monkeypatch.setattr(topic_fits, "_FRESH", 0.0)
    begun = slow(monkeypatch, "_fit", lambda: time.sleep(0.3))

    async def run():
        asked = topic_fits.TopicFits(store)
        first = await asked.topics()
        store.add([(bytes(16), bytes(2))]).result(10)
        assert await asked.topics() is first  # what is known costs nothing, and says how many it rests on
        assert len(begun) == 1
        await asyncio.sleep(4 * 0.3 + 0.5)
        assert (await asked.topics())["reports"] == 501
        assert len(begun) == 2

    asyncio.run(run())


def test_the_service_says_when_to_come_again(store, monkeypatch):
    async def never(self):
        raise later(503, "not yet", 7.2)

    monkeypatch.setattr(topic_fits.TopicFits, "topics", never)
    code, body, headers = call_app(store, "GET", "/topics")
    assert (code, headers["retry-after"], json.loads(body)) == (503, "8", {"error": "not yet"})


def test_a_store_that_fails_is_told_and_tried_again(store, monkeypatch):
    from discreet.local.collector.store import StoreFailedError

    plain = store.moments, store.snapshot
    call = functools.partial(call_app, store)
    store.moments = store.snapshot = functools.partial(_fail, StoreFailedError("cannot be read"))
    assert call("GET", "/status")[0] == 503
    assert call("GET", "/topics")[0] == 503
    store.moments, store.snapshot = plain
    assert call("GET", "/topics")[0] == 200


def test_a_backup_by_a_hard_link_stops_nobody_who_asks(store, tmp_path):
    (tmp_path / "backup.db").hardlink_to(tmp_path / "reports.db")
    assert store.moments().n == 500
    assert call_app(store, "GET", "/status")[0] == 200
    assert call_app(store, "GET", "/topics")[0] == 200


def test_a_store_that_cannot_be_believed_is_told_as_one_that_fails(store, tmp_path):
    with contextlib.closing(sqlite3.connect(tmp_path / "reports.db")) as beside:
        beside.execute("UPDATE reports SET bits = x'00' WHERE id = 3")
        beside.commit()
    assert call_app(store, "GET", "/status")[0] == 503
    assert call_app(store, "GET", "/topics")[0] == 503


def test_a_service_that_stops_ends_the_count_of_reports(store, monkeypatch):
    counted = []
    monkeypatch.setattr(Moments, "add_batch", lambda *given, **options: counted.append(given))
    asked = topic_fits.TopicFits(store)
    asked.stop()
    assert asked._fit()[0]["topics"] == []
    with pytest.raises(HTTPException) as told:
        asyncio.run(asked.status())
    assert (told.value.status_code, told.value.detail) == (503, "the collector is closing; ask again later.")
    assert not counted
    monkeypatch.undo()
    assert store.moments().n == 500


def _fail(error, *_):
    raise error
