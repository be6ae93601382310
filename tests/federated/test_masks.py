"""Secure aggregation: sums are right whoever drops out, and parts stay hidden."""

import itertools

import numpy as np
import pytest

from discreet.errors import ParameterError, PrivacyError
from discreet.federated.secure_aggregation.masks import Masker, add_up, unmask
from discreet.federated.secure_aggregation.secret_shares import join, split
from discreet.privacy import SecureStream


def _run(vectors, *, threshold, shares_lost=(), vectors_lost=(), reveals_lost=()):
    n = len(vectors)
    maskers = {c: Masker(c, SecureStream(c)) for c in range(n)}
    keys = {c: m.public_key for c, m in maskers.items()}
    sealed = {c: m.share_out(keys, threshold) for c, m in maskers.items() if c not in shares_lost}
    members = sorted(sealed)
    masked = {c: maskers[c].mask(vectors[c], members) for c in members if c not in vectors_lost}
    given = {
        c: maskers[c].reveal({m: sealed[m][c] for m in members}, masked)
        for c in masked
        if c not in reveals_lost
    }
    return masked, unmask(
        masked, members, keys, given, threshold, {c: m.commitment for c, m in maskers.items()}
    )


def _vectors(n, size=50):
    rng = np.random.default_rng(3)
    return [rng.integers(-(2**50), 2**50, size) for _ in range(n)]


@pytest.mark.parametrize("n", [2, 3, 5])
def test_the_sum_is_exact(n):
    vectors = _vectors(n)
    masked, total = _run(vectors, threshold=n // 2 + 1)
    np.testing.assert_array_equal(total, sum(vectors))
    assert all((masked[c] != vectors[c]).all() for c in range(n))


@pytest.mark.parametrize("stage", ["shares_lost", "vectors_lost", "reveals_lost"])
def test_any_two_of_five_may_drop_out_at_any_stage(stage):
    vectors = _vectors(5)
    for lost in itertools.chain(itertools.combinations(range(5), 1), itertools.combinations(range(5), 2)):
        _, total = _run(vectors, threshold=3, **{stage: lost})
        there = range(5) if stage == "reveals_lost" else [c for c in range(5) if c not in lost]
        np.testing.assert_array_equal(total, sum(vectors[c] for c in there))


def test_too_many_drop_outs_leave_the_sum_hidden():
    with pytest.raises(PrivacyError, match="stays hidden"):
        _run(_vectors(5), threshold=4, vectors_lost=(0, 1))


def test_forgetting_a_drop_outs_masks_gives_a_wrong_sum():
    vectors = _vectors(4)
    masked, total = _run(vectors, threshold=3, vectors_lost=(2,))
    np.testing.assert_array_equal(total, vectors[0] + vectors[1] + vectors[3])
    assert (add_up(masked.values()).view(np.int64) != total).all()


def test_masked_values_look_uniform():
    masker, other = Masker(0, SecureStream(0)), Masker(1, SecureStream(1))
    keys = {0: masker.public_key, 1: other.public_key}
    masker.share_out(keys, 2)
    sent = masker.mask(np.zeros(20_000, np.int64), [0, 1])
    top = np.bincount((sent.view(np.uint64) >> np.uint64(60)).astype(int), minlength=16)
    assert ((top - 1250) ** 2 / 1250).sum() < 45


def test_what_would_uncover_a_client_is_refused():
    maskers = [Masker(c, SecureStream(c)) for c in range(3)]
    keys = {c: m.public_key for c, m in enumerate(maskers)}
    sealed = [m.share_out(keys, 2) for m in maskers]
    maskers[0].mask(np.zeros(3, np.int64), range(3))
    with pytest.raises(PrivacyError, match="second vector"):
        maskers[0].mask(np.ones(3, np.int64), range(3))
    boxes = {c: sealed[c][0] for c in range(3)}
    first = maskers[0].reveal(boxes, [0, 1])
    assert set(first) == {0, 1, 2}
    with pytest.raises(PrivacyError, match="uncover"):
        maskers[0].reveal(boxes, [0, 1, 2])
    with pytest.raises(PrivacyError, match="too few"):
        maskers[1].mask(np.zeros(3, np.int64), [1])
    with pytest.raises(ParameterError, match="threshold"):
        Masker(0, SecureStream(0)).share_out(
            {0: Masker(0, SecureStream(0)).public_key, 1: keys[1], 2: keys[2]}, 1
        )


def test_values_out_of_range_are_refused():
    maskers = [Masker(c, SecureStream(c)) for c in range(2)]
    keys = {c: m.public_key for c, m in enumerate(maskers)}
    maskers[0].share_out(keys, 2)
    with pytest.raises(ParameterError, match="2\\^62"):
        maskers[0].mask(np.array([2**61 + 1]), [0, 1])
    with pytest.raises(ParameterError, match="int64"):
        maskers[0].mask(np.array([0.5]), [0, 1])


def test_a_damaged_share_of_one_client_is_survived_and_a_wrong_one_noticed():
    secret = bytes(range(32))
    shares = dict(enumerate(split(secret, 5, 3, SecureStream(0))))
    for chosen in itertools.combinations(range(5), 3):
        assert join({i: shares[i] for i in chosen}, 3) == secret
    with pytest.raises(PrivacyError, match="needed"):
        join({0: shares[0], 1: shares[1]}, 3)
    with pytest.raises(PrivacyError, match="wrong"):
        join({0: shares[0], 1: shares[1], 2: bytes(66)}, 3)


@pytest.mark.parametrize("liars", [(0,), (0, 1, 2)])
def test_wrong_shares_of_the_first_clients_do_not_hold_up_a_large_sum(liars):
    """Too many choices to try all: in order, each of the first ten thousand would hold a liar's share."""
    n, threshold = 30, 16
    vectors = _vectors(n, 5)
    maskers = {c: Masker(c, SecureStream(c)) for c in range(n)}
    keys = {c: m.public_key for c, m in maskers.items()}
    sealed = {c: m.share_out(keys, threshold) for c, m in maskers.items()}
    masked = {c: maskers[c].mask(vectors[c], range(n)) for c in range(n) if c != 7}
    given = {c: maskers[c].reveal({m: sealed[m][c] for m in range(n)}, masked) for c in masked}
    for liar in liars:
        given[liar] = {m: bytes(reversed(share)) for m, share in given[liar].items()}
    for chosen in itertools.islice(itertools.combinations(range(n), threshold), 10_000):
        assert 0 in chosen
    total = unmask(masked, range(n), keys, given, threshold, {c: m.commitment for c, m in maskers.items()})
    np.testing.assert_array_equal(total, sum(vectors[c] for c in masked))


def test_fewer_shares_than_the_threshold_fit_any_secret():
    one, other = (split(bytes([b]) * 32, 3, 2, SecureStream(9)) for b in (1, 2))
    assert one[0] != other[0]
    # Share 1 of either, with the right counterpart, gives either secret: it decides nothing.
    assert join({0: one[0], 1: one[1]}, 2) != join({0: other[0], 1: other[1]}, 2)
