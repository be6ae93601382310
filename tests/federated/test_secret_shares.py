"""Secret shares that can be checked, and the public arithmetic they are checked with."""

import itertools

import pytest
from tests.naive.federated import slow_join, slow_multiple

from discreet.errors import ParameterError, PrivacyError
from discreet.federated.masks.keys import (
    ORDER,
    SHARE_BYTES,
    add,
    is_share,
    join,
    multiple,
    new_polynomial,
    point_of,
    read_commitments,
    read_point,
    share,
    write_commitments,
    write_point,
)
from discreet.privacy import SecureStream


def test_points_add_like_their_numbers():
    """Against ``cryptography``'s own multiples of the base point."""
    for one, other in ((1, 1), (1, 2), (5, 7), (ORDER - 1, 3), (2**200 + 1, 2**251 - 9), (ORDER - 7, 5)):
        assert add(point_of(one), point_of(other)) == point_of((one + other) % ORDER)
    assert add(point_of(5), point_of(ORDER - 5)) is None
    assert add(None, point_of(4)) == add(point_of(4), None) == point_of(4)


@pytest.mark.parametrize("times", [0, 1, 2, 3, 7, 16, 101])
def test_multiples(times):
    point = point_of(12345)
    assert multiple(point, times) == slow_multiple(point, times, add)
    assert multiple(point, times) == (point_of(12345 * times) if times else None)
    assert multiple(None, times) is None


def test_points_as_bytes():
    point = point_of(99)
    assert read_point(write_point(point)) == point
    with pytest.raises(ValueError, match="compressed"):
        write_point(None)
    for bad in (b"", bytes(33), write_point(point)[:-1], b"\x04" + bytes(32), b"\x02" + b"\xff" * 32):
        with pytest.raises(ValueError):  # noqa: PT011
            read_point(bad)


@pytest.mark.parametrize(("n", "threshold"), [(1, 1), (3, 1), (3, 2), (5, 3), (6, 6)])
def test_any_threshold_of_shares_give_the_secret_and_each_can_be_checked(n, threshold):
    polynomial = new_polynomial(threshold, SecureStream(n))
    points = read_commitments(write_commitments(polynomial))
    shares = {i: share(polynomial, i) for i in range(n)}
    assert points[0] == point_of(polynomial[0])
    assert all(is_share(shares[i], i, points) for i in range(n))
    for chosen in itertools.combinations(range(n), threshold):
        held = {i: shares[i] for i in chosen}
        assert join(held, threshold) == slow_join(held, ORDER) == polynomial[0]
    with pytest.raises(PrivacyError, match="needed"):
        join({i: shares[i] for i in range(threshold - 1)}, threshold)


def test_any_other_share_fails_the_check():
    polynomial = new_polynomial(3, SecureStream(0))
    points = read_commitments(write_commitments(polynomial))
    right = share(polynomial, 1)
    number = int.from_bytes(right, "big")
    for value in (number + 1, number - 1, 0, ORDER - number, (number * 2) % ORDER):
        assert not is_share(value.to_bytes(SHARE_BYTES, "big"), 1, points)
    assert not is_share(right, 2, points)
    assert not is_share(right + b"\0", 1, points)
    assert not is_share(right, 1, points[::-1])
    assert not is_share(right, 1, points[:2])
    # Beyond the order: another way to write the same number would be another share.
    small = next(i for i in range(40) if int.from_bytes(share([5, 1], i), "big") < 2**256 - ORDER)
    value = int.from_bytes(share([5, 1], small), "big")
    assert is_share(value.to_bytes(32, "big"), small, [point_of(5), point_of(1)])
    assert not is_share((value + ORDER).to_bytes(32, "big"), small, [point_of(5), point_of(1)])


def test_a_dealer_cannot_hand_out_checked_shares_of_two_polynomials():
    one, other = new_polynomial(2, SecureStream(1)), new_polynomial(2, SecureStream(2))
    for points in (one, other, [one[0], other[1]], [other[0], one[1]]):
        published = read_commitments(write_commitments(points))
        fits = [p for p in (one, other) if all(is_share(share(p, i), i, published) for i in range(4))]
        assert len(fits) == (points in (one, other))
        mixed = [is_share(share((one, other)[i % 2], i), i, published) for i in range(4)]
        assert not all(mixed)


def test_fewer_shares_than_the_threshold_fit_any_secret():
    """For two shares of three, there is a third for every secret: they decide nothing."""
    polynomial = new_polynomial(3, SecureStream(4))
    held = {i: share(polynomial, i) for i in range(2)}
    found = set()
    for third in (1, 2, 12345, ORDER - 1):
        found.add(join({**held, 2: third.to_bytes(32, "big")}, 3))
    assert len(found) == 4


def test_numbers_that_make_no_sense_are_refused():
    with pytest.raises(ParameterError, match="threshold"):
        new_polynomial(0, SecureStream(0))
    with pytest.raises(ValueError, match="points"):
        read_commitments(b"")
    with pytest.raises(ValueError, match="points"):
        read_commitments(bytes(34))
