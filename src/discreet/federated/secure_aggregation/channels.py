"""What two silos say to each other through a server that cannot read it, and the digest of who takes part.

Each silo has a key pair for this and for nothing else: the key under which shares are sealed is never itself shared
out, so that nobody who puts a drop-out's other key together can open a box. Keys are agreed on the curve P-256 and by
HKDF, one for each direction and purpose, bound to the numbers and points of the two silos and to the digest of who
takes part in which sum; each seals one message only.
"""

import hashlib
import hmac
from collections.abc import Mapping

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from discreet.federated.secure_aggregation.public_points import Point, exchange, write_point

__all__ = [
    "TAG_BYTES",
    "VOUCHER_BYTES",
    "Owner",
    "agreed_key",
    "open_box",
    "readable",
    "roster_digest",
    "seal",
    "voucher",
]

TAG_BYTES = 16
VOUCHER_BYTES = 32
_DIGITS = 40

#: A silo's number, and one of its points.
Owner = tuple[int, Point]


def roster_digest(terms: bytes, hellos: Mapping[int, bytes]) -> bytes:
    """Return the digest of what was agreed and of who announced which keys: the same in all silos, or somebody lies."""
    found = hashlib.sha256(b"discreet roster" + hashlib.sha256(terms).digest())
    for silo in sorted(hellos):
        found.update(silo.to_bytes(4, "little") + hashlib.sha256(hellos[silo]).digest())
    return found.digest()


def readable(digest: bytes) -> str:
    """Return 40 digits in groups of four, to read out on the telephone.

    160 bits: a server that wants two rosters with the same digits has to try about 2^80 of them.
    """
    digits = digest.hex()[:_DIGITS]
    return " ".join(digits[i : i + 4] for i in range(0, _DIGITS, 4))


def agreed_key(secret: int, mine: Owner, theirs: Owner, purpose: str, roster: bytes) -> bytes:
    """Return the key of 32 bytes that two silos have in common for one purpose in one sum.

    Numbers and points of both are part of what it is derived from: no two pairs of silos have the same key, whatever
    points were announced.

    Parameters
    ----------
    secret : int
        Of ``mine``.
    mine, theirs : (int, point)
        The two silos' numbers and points; the other silo gives them the other way round.
    purpose : str
    roster : bytes
    """
    ordered = sorted([mine, theirs], key=lambda owner: owner[0])
    pair = b"".join(number.to_bytes(4) + write_point(point) for number, point in ordered)
    context = b"discreet secure aggregation, " + pair + purpose.encode()
    return HKDF(SHA256(), 32, roster, context).derive(exchange(secret, theirs[1]))


def seal(key: bytes, plain: bytes) -> bytes:
    """Return ciphertext and tag; ``key`` must not be used again."""
    return ChaCha20Poly1305(key).encrypt(bytes(12), plain, None)


def open_box(key: bytes, box: bytes) -> bytes | None:
    """Return what was sealed, or None where the box was not sealed with this key."""
    try:
        return ChaCha20Poly1305(key).decrypt(bytes(12), box, None)
    except (InvalidTag, ValueError):
        return None


def voucher(key: bytes, statement: bytes) -> bytes:
    """Return a code that only the two silos can make: the sender vouches for the statement."""
    return hmac.digest(key, statement, "sha256")
