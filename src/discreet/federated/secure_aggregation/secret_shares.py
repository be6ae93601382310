r"""Secret sharing that whoever holds a share can check: any ``threshold`` of the shares give the secret back.

A secret is the constant term of a polynomial f of degree ``threshold - 1`` over the integers modulo q, the order
of the curve P-256; the other coefficients are drawn uniformly. The share of silo i is f(i + 1). The dealer publishes
the points :math:`a_j G` of all coefficients, and the holder of a share checks

.. math:: f(i + 1) \, G = \sum_j (i + 1)^j \, a_j G .

What is promised
----------------
* Fewer than ``threshold`` shares say nothing about the secret but what its public point says (Shamir): a secret is
  used only through a key derivation, and to find it from its point is the discrete logarithm.
* All shares that pass the check lie on one polynomial, whoever dealt them, for a polynomial is determined by the
  points of its coefficients (Feldman). So any ``threshold`` of them give back the same number, and its point is the
  first one published. No dealer can hand out shares that pass and do not fit together.

References
----------
Shamir, "How to share a secret", CACM 22:11, 1979, doi:10.1145/359168.359176. Feldman, "A practical scheme for
non-interactive verifiable secret sharing", FOCS 1987, doi:10.1109/SFCS.1987.4.
"""

from collections.abc import Mapping, Sequence

from discreet._validate import shown
from discreet.errors import ParameterError, PrivacyError
from discreet.federated.secure_aggregation.public_points import (
    ORDER,
    POINT_BYTES,
    Point,
    add,
    multiple,
    point_of,
    read_point,
    write_point,
)
from discreet.privacy.noise.stream import SecureStream

__all__ = [
    "SHARE_BYTES",
    "is_share",
    "join",
    "new_polynomial",
    "read_commitments",
    "share",
    "uniform",
    "write_commitments",
]

SHARE_BYTES = 32


def new_polynomial(threshold: int, stream: SecureStream) -> list[int]:
    """Return ``threshold`` random coefficients; the first is the secret."""
    if threshold < 1:
        raise ParameterError(f"threshold must be at least 1, but is {shown(threshold)}.")
    return [uniform(stream) for _ in range(threshold)]


def share(polynomial: Sequence[int], number: int) -> bytes:
    """Return the share of silo ``number``, from 0."""
    value = 0
    for coefficient in reversed(polynomial):
        value = (value * (number + 1) + coefficient) % ORDER
    return value.to_bytes(SHARE_BYTES, "big")


def write_commitments(polynomial: Sequence[int]) -> bytes:
    """Return the points of all coefficients, for everybody to see."""
    return b"".join(write_point(point_of(coefficient)) for coefficient in polynomial)


def read_commitments(content: bytes) -> list[Point]:
    """Return the points; ``ValueError`` where the bytes are not points."""
    if not content or len(content) % POINT_BYTES:
        raise ValueError(f"points have {POINT_BYTES} bytes each, but there are {len(content)}")
    return [read_point(content[i : i + POINT_BYTES]) for i in range(0, len(content), POINT_BYTES)]


def is_share(value: bytes, number: int, commitments: Sequence[Point]) -> bool:
    """Return whether this is what the dealer of these points owes silo ``number``."""
    secret = int.from_bytes(value, "big")
    if len(value) != SHARE_BYTES or not 0 < secret < ORDER:
        return False
    expected: Point = None
    for point in reversed(commitments):
        expected = add(multiple(expected, number + 1), point)
    return point_of(secret) == expected


def join(shares: Mapping[int, bytes], threshold: int) -> int:
    """Return the secret.

    Parameters
    ----------
    shares : mapping of int to bytes
        Share by the silo's number, each checked by :func:`is_share`.
    threshold : int
        As it was shared with; as many, those of the lowest numbers, are used.

    Raises
    ------
    PrivacyError
        Where there are too few.
    """
    if len(shares) < threshold:
        raise PrivacyError(f"{threshold} shares are needed, but {len(shares)} came; the secret stays hidden.")
    points = [(number + 1, int.from_bytes(shares[number], "big")) for number in sorted(shares)[:threshold]]
    secret = 0
    for x, y in points:
        above, below = 1, 1
        for other, _ in points:
            if other != x:
                above, below = above * other % ORDER, below * (other - x) % ORDER
        secret = (secret + y * above * pow(below, -1, ORDER)) % ORDER
    return secret


def uniform(stream: SecureStream) -> int:
    """Return a random number from 1 to ORDER - 1: a secret."""
    while True:
        value = int.from_bytes(stream.words(4).tobytes(), "little")
        if 0 < value < ORDER:
            return value
