"""Reports with more or fewer ones than a channel can give are refused, and no honest one is."""

import functools
from fractions import Fraction

import numpy as np
import pytest
from tests.local.collector_calls import WORDS, call_app, raw
from tests.marks import quick
from tests.naive.ones_of_reports import worst_tails

from discreet.errors import CorpusError
from discreet.local.collector.intake import ReportForm
from discreet.local.collector.invented_reports import CHANCE, plausible_ones
from discreet.local.collector.store import ReportStore
from discreet.local.wire import Report, vocabulary_digest
from discreet.privacy import SecureStream
from discreet.privacy.bit_channel import BitChannel

MANY = tuple(f"word{i}" for i in range(300))


@pytest.mark.parametrize(
    ("channel", "n_words", "most_words"),
    quick(
        [
            (BitChannel.symmetric(1.0), 30, None),
            (BitChannel.symmetric(1.0), 40, 7),
            (BitChannel.symmetric(3.0), 24, None),
            (BitChannel.for_document(8.0, 4, 60), 60, None),
            (BitChannel.for_document(8.0, 4, 60), 60, 2),
            (BitChannel.for_replacement(4.0, 0.05), 40, 9),
            (BitChannel(2**32 - 1, 1), 10, None),
            (BitChannel(2**31 + 1, 2**31), 24, None),
            (BitChannel.symmetric(1.0), 1, None),
        ],
        (BitChannel.for_replacement(4.0, 0.05), 40, 9),
        (BitChannel(2**32 - 1, 1), 10, None),
    ),
)
def test_bounds_hold_for_every_document_and_are_tight(channel, n_words, most_words):
    """Against the exact law, in fractions; a bound that is one tighter on a side breaks it."""
    chance = 1e-6
    fewest, most = plausible_ones(channel, n_words, most_words=most_words, chance=chance)
    kept = min(channel.limit or n_words, most_words or n_words, n_words)
    tails = functools.partial(worst_tails, kept, n_words, channel.p, channel.q)
    below, above = tails(fewest, most)
    assert 0 <= fewest <= most <= n_words
    assert below <= Fraction(chance) / 2
    assert above <= Fraction(chance) / 2
    # Tight: with one more or less, the exact law would already be beyond what is promised.
    assert fewest == n_words or tails(fewest + 1, most)[0] > Fraction(chance) / 2
    assert most == 0 or tails(fewest, most - 1)[1] > Fraction(chance) / 2


def test_the_channels_coins_pass():
    """Two hundred thousand reports of the longest and the shortest documents, by the channel's exact coins."""
    for channel in (BitChannel.symmetric(1.0), BitChannel.for_document(8.0, 4, 300)):
        stream, n = SecureStream(seed=3), 100_000
        fewest, most = plausible_ones(channel, 300)
        for present in (0, channel.limit or 300):
            thresholds = np.where(np.arange(300) < present, channel.p_threshold, channel.q_threshold)
            ones = np.concatenate(
                [
                    (stream.words(150 * 5000).view("<u4").reshape(5000, 300) < thresholds).sum(1)
                    for _ in range(n // 5000)
                ]
            )
            assert fewest < ones.min()
            assert ones.max() < most
            # And they use the room: the bounds lie where a normal law has them, not at no ones and all ones.
            assert (
                max(
                    (ones.max() - ones.mean()) / (most - ones.mean()),
                    (ones.mean() - ones.min()) / (ones.mean() - fewest),
                )
                > 0.2
            )


def reports_with(ones):
    digest, words, channel = vocabulary_digest(MANY), MANY, BitChannel.symmetric(1.0)
    rng = np.random.default_rng(1)
    return [
        Report(channel, digest, rng.bytes(16), (rng.permutation(len(words)) < n).astype(np.uint8))
        for n in ones
    ]


def test_reports_out_of_reach_are_refused_and_named():
    channel = BitChannel.symmetric(1.0)
    form = ReportForm(MANY, channel)
    fewest, most = plausible_ones(channel, 300)
    assert (form.fewest, form.most) == (fewest, most)
    assert len(form.split(raw(reports_with([fewest, most, 100])))) == 3
    with pytest.raises(
        CorpusError, match=f"report 2 has more ones than this channel gives: from {fewest} to {most} of 300"
    ):
        form.split(raw(reports_with([100, most + 1, 100])))
    with pytest.raises(CorpusError, match="report 3 has fewer ones"):
        form.split(raw(reports_with([100, 100, fewest - 1])))
    # What was taken once, before there was such a bound, may be taken back.
    assert len(form.split(raw(reports_with([300])), count=False)) == 1


def test_who_knows_how_long_documents_are_refuses_more():
    channel = BitChannel.symmetric(1.0)
    assert plausible_ones(channel, 300)[1] == 269
    assert plausible_ones(channel, 300, most_words=40)[1] < 160
    form = ReportForm(MANY, channel, most_words=40)
    with pytest.raises(CorpusError, match="more ones"):
        form.split(raw(reports_with([180])))


def test_the_service_refuses_a_hundred_reports_of_all_ones(tmp_path):
    """A hundred among twenty thousand moved topics."""
    channel = BitChannel.symmetric(1.0)
    with ReportStore(tmp_path / "r.db", MANY, channel) as store:
        call = functools.partial(call_app, store)
        for ones in (300, 0):
            code, body, _ = call("POST", "/reports", raw(reports_with([ones] * 100)))
            assert code == 422
            assert b"report 1 has" in body
        assert call("POST", "/reports", raw(reports_with([110] * 10)))[0] == 200
        assert call("POST", "/reports", raw(reports_with([180])), most_words=40)[0] == 422
        assert store.n_reports == 10


def test_small_vocabularies_refuse_nothing():
    """All ones of thirteen words come one time in a hundred."""
    assert plausible_ones(BitChannel(3_000_000_000, 1_000_000_000), len(WORDS)) == (0, 13)
    assert CHANCE <= 1e-9
