"""The channel of bits: exact losses, exact coins, both told as they are."""

import dataclasses
import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from tests.marks import quick
from tests.naive import bit_channel as naive

from discreet.errors import ParameterError, PrivacyError
from discreet.local import BitChannel
from discreet.privacy import SecureStream

V, L = 6, 2
PRESENCE = np.array([1, 0, 2, 0, 0, 1])


def laws_of(channel, most):
    return {d: naive.law(d, V, channel.p, channel.q, channel.limit) for d in naive.documents(V, most)}


@pytest.mark.parametrize(
    "channel",
    quick(
        [BitChannel.symmetric(0.7), BitChannel.for_replacement(1.5, 0.3), BitChannel.for_document(2.0, L, V)],
        BitChannel.symmetric(0.7),
        BitChannel.for_replacement(1.5, 0.3),
    ),
    ids=["symmetric", "replacement", "document"],
)
def test_losses_are_the_enumerated_ones(channel):
    most = V if channel.limit else L
    laws = laws_of(channel, most)
    documents = list(laws)
    told = channel.guarantees(V)
    added = [(a, b) for a in documents for b in documents if len(a ^ b) == 1]
    replaced = [(a, b) for a in documents for b in documents if len(a) == len(b) and len(a ^ b) == 2]
    everything = [(a, b) for a in documents for b in documents if a != b]
    found = (
        naive.worst_loss(laws, added),
        naive.worst_loss(laws, replaced),
        naive.worst_loss(laws, everything),
    )
    assert found[0] == pytest.approx(told.word_added_or_removed, abs=1e-10)
    assert found[1] == pytest.approx(told.word_replaced, abs=1e-10)
    assert found[2] == pytest.approx(L * told.word_replaced if channel.limit else found[2], abs=1e-10)
    assert found[2] <= L * told.word_replaced
    for seen, promised in zip(found[:2], told[:2], strict=True):
        assert seen <= promised
    if channel.limit:
        assert told.document == pytest.approx(found[2], abs=1e-10)
        assert found[2] <= told.document <= 2.0
        # Without keeping only L words, the same coins lose more than what is told.
        free = laws_of(BitChannel(channel.p_threshold, channel.q_threshold), V)
        assert naive.worst_loss(free, everything) > told.document + 0.1
    else:
        assert told.document is None
        free = laws_of(channel, V)
        whole = naive.worst_loss(free, [(frozenset(), frozenset(range(V)))])
        assert whole <= told.document_without_limit
        assert whole == pytest.approx(V * abs(math.log(channel.p / channel.q)), abs=1e-9) or (
            whole == pytest.approx(V * abs(math.log((1 - channel.q) / (1 - channel.p))), abs=1e-9)
        )


@pytest.mark.parametrize("limit", [1, 2, 3, 4])
@pytest.mark.parametrize("epsilon", quick([0.5, 8.0], 0.5))
def test_an_added_word_may_take_the_place_of_a_kept_one(limit, epsilon):
    """Documents of every size up to twice the limit, each beside itself and one word more."""
    n_words = 2 * limit
    channel = BitChannel.for_document(epsilon, limit, 1000)
    laws = {
        frozenset(range(size)): naive.law(range(size), n_words, channel.p, channel.q, limit)
        for size in range(n_words + 1)
    }
    sizes = list(laws)
    losses = [naive.worst_loss(laws, [pair]) for pair in itertools.pairwise(sizes)]
    told = channel.guarantees(n_words)
    assert losses.index(max(losses)) == limit  # a document that is just full, and a word more
    assert max(losses) <= told.word_added_or_removed == pytest.approx(max(losses), rel=1e-12)
    assert max(losses) > max(losses[:limit]) + 1e-5  # what one bit tells is not enough
    whole = naive.worst_loss(laws, itertools.combinations(sizes, 2))
    assert whole <= told.document
    # Where no text can be longer than what is kept, nothing is ever displaced.
    short = channel.guarantees(limit)
    assert short.word_added_or_removed == pytest.approx(max(losses[:limit]), rel=1e-12)


def test_the_loss_of_an_added_word_is_told_wherever_losses_are():
    channel = BitChannel.for_document(8.0, 4, 1000)
    told = channel.guarantees(1000)
    assert told.word_added_or_removed == pytest.approx(1.810, abs=5e-4)
    assert told.document_without_limit == pytest.approx(
        1428, abs=0.5
    )  # of all bits, had no word been left out
    assert "one word added or removed: 1.811;" in told.in_words()


@settings(max_examples=200, deadline=None)
@given(st.floats(1e-6, 20), st.floats(1e-4, 0.9), st.integers(1, 50))
def test_told_losses_lie_just_above_the_exact_ones(epsilon, density, limit):
    import mpmath

    mpmath.mp.dps = 60
    channel = dataclasses.replace(BitChannel.for_replacement(epsilon, density), limit=limit)
    p, q = (mpmath.mpf(x.numerator) / x.denominator for x in (channel.p, channel.q))
    one, both = max(mpmath.log(p / q), mpmath.log((1 - q) / (1 - p))), p / q * (1 - q) / (1 - p)
    exact = (max(one, mpmath.log((1 + limit * both) / (limit + 1))), mpmath.log(both))
    told = channel.guarantees(limit + 1)
    for found, least in zip(told[:2], exact, strict=True):
        assert least <= found <= least * (1 + 1e-14)
    for found, least in ((told.document, limit * exact[1]), (told.document_without_limit, (limit + 1) * one)):
        assert min(least, (limit + 1) * one) <= found <= least * (1 + 1e-14)


@settings(max_examples=200, deadline=None)
@given(st.floats(1e-6, 20), st.floats(1e-4, 0.9))
def test_promises_are_kept_to_the_last_bit(epsilon, density):
    """q = 1 / (e^eps + 1) rounded to the nearest would break it half of the time."""
    import mpmath

    mpmath.mp.dps = 50

    def exact(fraction):
        return mpmath.log(mpmath.mpf(fraction.numerator) / fraction.denominator)

    even = BitChannel.symmetric(epsilon)
    assert max(exact(even.p / even.q), exact((1 - even.q) / (1 - even.p))) <= epsilon
    assert (
        exact(even.p / even.q) > epsilon - 3 * math.exp(epsilon) / 2**32 - 1e-8
    )  # no more than a step is lost
    odd = BitChannel.for_replacement(epsilon, density)
    assert exact(odd.p / odd.q) + exact((1 - odd.q) / (1 - odd.p)) <= epsilon
    told = odd.guarantees(10)
    assert exact(odd.p / odd.q * (1 - odd.q) / (1 - odd.p)) <= told.word_replaced <= epsilon


def test_rounding_to_nearest_would_break_the_promise():
    broken = 0
    for epsilon in np.linspace(0.5, 12, 40):
        q = round(2**32 / (math.exp(epsilon) + 1))
        broken += math.log((2**32 - q) / q) > epsilon
    assert broken > 5


def test_unequal_rates_have_less_variance_at_equal_cost():
    density, epsilon = 0.08, 4.0

    def variance(c):
        p, q = float(c.p), float(c.q)
        return (density * p * (1 - p) + (1 - density) * q * (1 - q)) / (p - q) ** 2

    odd, even = BitChannel.for_replacement(epsilon, density), BitChannel.symmetric(epsilon / 2)
    assert even.guarantees(9).word_replaced == pytest.approx(epsilon, rel=1e-6)
    assert variance(odd) < 0.8 * variance(even)
    for step in (-1e6, 1e6):  # a neighbour of equal cost is no better
        q = (odd.q_threshold + step) / 2**32
        p = 1 / (1 + (1 - q) / q * math.exp(-epsilon))
        assert variance(BitChannel(int(p * 2**32), int(q * 2**32))) > variance(odd)


@pytest.mark.parametrize(
    "channel",
    quick([BitChannel.symmetric(1.0), BitChannel.for_document(3.0, 2, 6)], BitChannel.symmetric(1.0)),
    ids=str,
)
def test_reports_follow_the_law(channel):
    stream = SecureStream(5)
    n = 30_000
    drawn = channel.reports(np.tile(PRESENCE, (n, 1)), stream)
    seen = np.bincount(drawn @ (1 << np.arange(V))[::-1], minlength=2**V)

    def p_value(p, q, limit):
        law = naive.law({0, 2, 5}, V, Fraction(p), Fraction(q), limit)
        return stats.chisquare(seen, np.array([float(law[y]) for y in sorted(law)]) * n).pvalue

    assert p_value(channel.p, channel.q, channel.limit) > 1e-3
    assert p_value(channel.p * Fraction(19, 20), channel.q, channel.limit) < 1e-6
    assert p_value(channel.p, channel.q * Fraction(11, 10), channel.limit) < 1e-6
    if channel.limit:
        assert p_value(channel.p, channel.q, None) < 1e-6


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32), st.integers(1, 40), st.sampled_from([None, 1, 2, 5]))
def test_reports_are_what_the_description_says(seed, n_words, limit):
    rng = np.random.default_rng(seed)
    present = rng.random(n_words) < 0.5
    numbers = rng.integers(0, 2**32, 400, np.uint32)
    numbers[rng.random(400) < 0.2] = 2**32 - 1  # some that a choice among words must refuse
    channel = BitChannel(3_000_000_000, 700_000_000, limit)
    position = [0]

    def read(n):
        position[0] += n
        return numbers[position[0] - n : position[0]]

    expected = naive.report(present, 3_000_000_000, 700_000_000, limit, iter(numbers.tolist()))
    assert channel.report_from(present, read).tolist() == expected


def test_words_and_rows_are_the_same_document():
    channel = BitChannel.symmetric(2.0)
    rows = channel.report(PRESENCE, SecureStream(1))
    words = channel.report([0, 2, 2, 5], SecureStream(1), n_words=V)
    np.testing.assert_array_equal(rows, words)
    stream = SecureStream(1)
    long = np.ones(200)
    assert (channel.report(long, stream) != channel.report(long, stream)).any()  # keys are never used twice


@pytest.mark.parametrize(
    "make",
    [
        lambda: BitChannel(1, 2),
        lambda: BitChannel(2**32, 1),
        lambda: BitChannel(2.5, 1),
        lambda: BitChannel(2, 1, 0),
        lambda: BitChannel.symmetric(math.inf),
        lambda: BitChannel.symmetric(1e-12),
        lambda: BitChannel.symmetric(0),
        lambda: BitChannel.for_replacement(1.0, 0.0),
        lambda: BitChannel.for_document(1.0, 6, 6),
        lambda: BitChannel.symmetric(1).report([0, 9], SecureStream(1), n_words=9),
        lambda: BitChannel.symmetric(1).report([-1.0, 0], SecureStream(1)),
        lambda: BitChannel.symmetric(1).report([[1, 0]], SecureStream(1)),
    ],
)
def test_what_is_no_channel_is_refused(make):
    with pytest.raises((ParameterError, PrivacyError)):
        make()


def test_guarantees_are_told_together():
    text = BitChannel.for_document(4.0, 3, 100).guarantees(100).in_words()
    for part in ("one word added or removed", "one word replaced", "at most 3 words", "without limit"):
        assert part in text
    assert "L times" in BitChannel.symmetric(1.0).guarantees(100).in_words()


@pytest.mark.parametrize("kind", [np.int64, np.uint32, np.uint64])
def test_whole_numbers_of_numpy_make_the_same_channel(kind):
    plain = BitChannel(3_000_000_000, 1_000_000_000, 5)
    channel = BitChannel(kind(3_000_000_000), kind(1_000_000_000), kind(5))
    assert {type(one) for one in (channel.p_threshold, channel.q_threshold, channel.limit)} == {int}
    assert channel == plain
    assert channel.guarantees(20) == plain.guarantees(20)
