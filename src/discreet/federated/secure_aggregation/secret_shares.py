r"""Shamir's secret sharing: any ``threshold`` of n shares give the secret back, fewer say nothing about it.

A secret of 32 bytes is the constant term of a polynomial of degree ``threshold - 1`` over the prime field of
:math:`2^{521} - 1`; share i is its value at i + 1. The other coefficients are uniform, by rejection.

Reference
---------
Shamir, "How to share a secret", CACM 22:11, 1979, doi:10.1145/359168.359176.
"""

from collections.abc import Mapping

from discreet.errors import ParameterError, PrivacyError
from discreet.privacy.noise.stream import SecureStream

__all__ = ["SECRET_BYTES", "SHARE_BYTES", "join", "split"]

PRIME = 2**521 - 1
SECRET_BYTES, SHARE_BYTES = 32, 66
_WORDS = 9  # 576 bits, of which 521 are kept


def split(secret: bytes, n_shares: int, threshold: int, stream: SecureStream) -> list[bytes]:
    """Return ``n_shares`` shares of ``SHARE_BYTES`` bytes each.

    Parameters
    ----------
    secret : bytes of length 32
    n_shares : int
    threshold : int
        From 1 to ``n_shares``.
    stream : SecureStream
    """
    if len(secret) != SECRET_BYTES:
        raise ParameterError(f"a secret must have {SECRET_BYTES} bytes, but has {len(secret)}.")
    if not 1 <= threshold <= n_shares:
        raise ParameterError(f"threshold must be from 1 to {n_shares}, but is {threshold!r}.")
    coefficients = [int.from_bytes(secret, "little"), *(_uniform(stream) for _ in range(threshold - 1))]
    shares: list[bytes] = []
    for x in range(1, n_shares + 1):
        value = 0
        for coefficient in reversed(coefficients):
            value = (value * x + coefficient) % PRIME
        shares.append(value.to_bytes(SHARE_BYTES, "little"))
    return shares


def join(shares: Mapping[int, bytes], threshold: int) -> bytes:
    """Return the secret.

    Parameters
    ----------
    shares : mapping of int to bytes
        Share by its number, from 0.
    threshold : int
        As it was split with; as many shares, those of the lowest numbers, are used.

    Raises
    ------
    PrivacyError
        Where there are too few shares, or they do not belong together.
    """
    if len(shares) < threshold:
        raise PrivacyError(f"{threshold} shares are needed, but {len(shares)} came; the secret stays hidden.")
    points = [(number + 1, int.from_bytes(shares[number], "little")) for number in sorted(shares)[:threshold]]
    secret = 0
    for x, y in points:
        above, below = 1, 1
        for other, _ in points:
            if other != x:
                above, below = above * other % PRIME, below * (other - x) % PRIME
        secret = (secret + y * above * pow(below, -1, PRIME)) % PRIME
    if secret >= 1 << (8 * SECRET_BYTES):
        raise PrivacyError("these shares do not belong together: one of them is wrong.")
    return secret.to_bytes(SECRET_BYTES, "little")


def _uniform(stream: SecureStream) -> int:
    while True:
        value = int.from_bytes(stream.words(_WORDS).tobytes(), "little") & PRIME
        if value != PRIME:
            return value
