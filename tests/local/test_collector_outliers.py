"""Reports that are unlike all others are set aside before a fit, honest ones are not."""

import functools
import json

import numpy as np
import pytest
from tests.local.collector_calls import call_app
from tests.marks import quick
from tests.naive.outliers import usual_reports

from discreet.lda.moments.moments import Moments
from discreet.local.collector.invented_reports import set_aside
from discreet.local.collector.store import ReportStore
from discreet.privacy.bit_channel import BitChannel

N_WORDS = 400
WORDS = tuple(f"word{i}" for i in range(N_WORDS))
CHANNEL = BitChannel.symmetric(1.0)


def honest(n, seed=0, channel=CHANNEL, length=12, rare=0):
    """Reports of documents of four topics; the last ``rare`` have a topic, and words, that nobody else has."""
    rng = np.random.default_rng(seed)
    topic, word = rng.integers(4, size=(n, 1)), np.arange(N_WORDS)
    chance = np.where(word // 96 == topic, length / 96, 0.0)
    if rare:
        chance[-rare:] = np.where(word >= 384, 1.0, 0.0)
    present = rng.random((n, N_WORDS)) < chance
    return (rng.random(present.shape) < np.where(present, float(channel.p), float(channel.q))).astype(
        np.uint8
    )


def packed(bits):
    return np.packbits(bits, axis=1, bitorder="little")


def moments_of(bits, channel=CHANNEL):
    return Moments(bits.shape[1], channel=channel).add_batch(bits)


def aside(bits, channel=CHANNEL, block=997):
    rows = packed(bits)
    return set_aside(
        moments_of(bits, channel), lambda: (rows[i : i + block] for i in range(0, len(rows), block)), channel
    )


def alike(n, ones, seed=5):
    return np.repeat(np.random.default_rng(seed).permutation(np.arange(N_WORDS) < ones)[None], n, 0).astype(
        np.uint8
    )


@pytest.mark.parametrize(
    "channel", [CHANNEL, BitChannel.symmetric(3.0), BitChannel.for_replacement(4.0, 0.1)]
)
def test_honest_reports_stay(channel):
    bits = honest(6000, channel=channel)
    kept = aside(bits, channel)
    assert kept.n_set_aside <= 1
    assert kept.moments.n == 6000 - kept.n_set_aside


def test_a_rare_topic_stays():
    """Forty of 6,000 documents, of sixteen words that no other has: they lie far off in a direction of their own."""
    bits = honest(6000, rare=40, channel=BitChannel.symmetric(3.0))
    assert aside(bits, BitChannel.symmetric(3.0)).n_set_aside <= 1


@pytest.mark.parametrize("ones", [N_WORDS, 250, 200, 40, 0])
def test_an_unusual_number_of_ones_is_set_aside(ones):
    bits = np.vstack([honest(6000), alike(60, ones)])
    kept = aside(bits)
    assert kept.moments == moments_of(bits[:6000])
    assert kept.n_set_aside == 60


def test_the_same_report_again_and_again_is_set_aside():
    """As many ones as usual; only the direction tells."""
    bits = honest(6000, length=4)
    bits = np.vstack([bits, alike(300, int(np.median(bits.sum(1))))])
    kept = aside(bits)
    assert kept.n_set_aside == 300
    assert kept.moments == moments_of(bits[:6000])


@pytest.mark.parametrize("n_alike", quick([0, 30, 300], 30))
def test_as_the_plain_way_says(n_alike):
    bits = honest(3000, length=4)
    bits = np.vstack([bits, alike(n_alike, int(np.median(bits.sum(1)))), alike(7, 380, 8)])
    stay = usual_reports(bits, CHANNEL)
    assert (~stay).sum() >= 7
    assert aside(bits).moments == moments_of(bits[stay])


def test_half_may_be_invented_but_one():
    bits = np.vstack([honest(1001), alike(1000, 300)])
    assert aside(bits).moments == moments_of(bits[:1001])


def test_few_reports_and_few_words_stay_as_they_are():
    bits = np.vstack([honest(150), alike(10, N_WORDS)])
    given = moments_of(bits)
    kept = aside(bits)
    assert kept == (given, 0)
    narrow = (np.random.default_rng(0).random((500, 9)) < 0.4).astype(np.uint8)
    assert aside(narrow).moments.n == 500


@pytest.fixture
def store(tmp_path):
    bits = np.vstack([honest(4000), alike(40, 250)])
    rng = np.random.default_rng(1)
    with ReportStore(tmp_path / "r.db", WORDS, CHANNEL) as opened:
        opened.add([(rng.bytes(16), row.tobytes()) for row in packed(bits)]).result(30)
        opened.bits = bits
        yield opened


def test_the_service_says_how_many(store):
    told = json.loads(call_app(store, "GET", "/topics")[1])
    assert (told["reports"], told["set_aside"], len(told["topics"])) == (4040, 40, told["k"])
    assert told["k"] >= 2
    assert store.moments().n == 4040  # kept all the same: another fit may see it otherwise


def test_reports_are_those_of_the_moments(store, monkeypatch):
    """Though others come and go meanwhile."""
    from discreet.local.collector import tables

    monkeypatch.setattr(tables, "TOGETHER", 500)
    late = [(bytes([i]) * 16, packed(honest(1, i))[0].tobytes()) for i in range(20)]
    store.add(late[:1]).result(30)
    with store.snapshot() as (moments, blocks):
        reading = iter(blocks())
        first = next(reading)
        assert len(first) == 500
        store.add(late).result(30)
        assert store.withdraw(late[:2]).result(30) == (2, 0, 0)
        again = Moments(N_WORDS, channel=CHANNEL).add_batch(np.vstack([first, *reading]), packed=True)
        assert again == moments
        assert moments.n == sum(map(len, blocks())) == 4041
        assert store.moments().n == 4058  # others do not wait
    with store.snapshot() as (moments, blocks):
        assert moments.n == sum(map(len, blocks())) == 4058


def test_a_fit_ends_while_reports_are_withdrawn(store, monkeypatch):
    """Each withdrawal made it begin again."""
    from discreet.local.collector import topic_fits

    late = [(bytes([i]) * 16, packed(honest(1, i))[0].tobytes()) for i in range(3)]
    store.add(late).result(30)

    def slow(moments, blocks, channel):
        store.withdraw(late[:1]).result(30)
        return set_aside(moments, blocks, channel)

    monkeypatch.setattr(topic_fits, "set_aside", slow)
    call = functools.partial(call_app, store)
    assert json.loads(call("GET", "/topics")[1])["reports"] == 4043
