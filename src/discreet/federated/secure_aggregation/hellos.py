r"""What a silo announces: its points, proofs that it knows their secrets, and which ledger it books on.

=== ============================== ===============================================================================
no. part                           for
=== ============================== ===============================================================================
1   a point                        sealing messages between two silos
2   ``threshold`` points           the mask's secret and the shares of it
3   ``threshold`` points           the own mask's secret and the shares of it
4   a point                        which ledger: it tells it from others in this sum, and nothing else
5   four proofs                    the secrets of the points of 1 and 4 and of the first points of 2 and 3 are known
=== ============================== ===============================================================================

Each proof is about the terms of the sum, the silo's number, which of the four points it is for, and all of parts 1 to
4: it is of no use to another silo, under other terms, or beside other points. Further points of 2 and 3 need none,
because nothing is derived from them; that shares fit them is checked by who holds the shares.

A list of silos is right (:func:`fault_of`) where each brings its proofs, no two of the proven points are equal or each
other's negative (which have the same secret, as far as keys go), and no two silos book on one ledger: a document in it
would count twice in the sum, and its noise be counted on twice.
"""

import hashlib
from collections.abc import Mapping
from functools import lru_cache
from typing import NamedTuple

from discreet.federated.secure_aggregation.proof_of_knowledge import PROOF_BYTES, is_proved, prove
from discreet.federated.secure_aggregation.public_points import POINT_BYTES, Point
from discreet.federated.secure_aggregation.secret_shares import read_commitments, write_commitments
from discreet.privacy.noise.stream import SecureStream

__all__ = [
    "Hello",
    "fault_of",
    "hello_bytes",
    "is_proved_hello",
    "read_hello",
    "twins",
    "write_hello",
]

_PROVED = ("channel", "mask", "own mask", "ledger")
_KEPT = 256  # read and checked once; where one process plays all silos, once for all


class Hello(NamedTuple):
    """What a silo announces, read."""

    channel: Point
    mask: tuple[Point, ...]
    own: tuple[Point, ...]
    ledger: Point
    proofs: tuple[bytes, ...]

    @property
    def proved(self) -> tuple[Point, ...]:
        """The points that have a proof, in the proofs' order."""
        return self.channel, self.mask[0], self.own[0], self.ledger


def hello_bytes(threshold: int) -> int:
    """Return the length of a silo's first message."""
    return _body_bytes(threshold) + len(_PROVED) * PROOF_BYTES


def _body_bytes(threshold: int) -> int:
    return 2 * (1 + threshold) * POINT_BYTES


def _statement(terms: bytes, silo: int, what: str, body: bytes) -> bytes:
    return hashlib.sha256(terms).digest() + silo.to_bytes(4) + hashlib.sha256(body).digest() + what.encode()


def write_hello(
    terms: bytes,
    silo: int,
    channel: int,
    mask: list[int],
    own: list[int],
    ledger: int,
    stream: SecureStream,
) -> bytes:
    """Return the first message of a silo with these secrets."""
    body = b"".join(write_commitments(numbers) for numbers in ([channel], mask, own, [ledger]))
    secrets = zip(_PROVED, (channel, mask[0], own[0], ledger), strict=True)
    return body + b"".join(
        prove(secret, _statement(terms, silo, what, body), stream) for what, secret in secrets
    )


@lru_cache(_KEPT)
def read_hello(content: bytes, threshold: int) -> Hello | None:
    """Return what a silo announced, proofs unchecked, or None where that is no such message."""
    if len(content) != hello_bytes(threshold):
        return None
    body_end = _body_bytes(threshold)
    try:
        points = read_commitments(content[:body_end])
    except ValueError:
        return None
    proofs = tuple(content[i : i + PROOF_BYTES] for i in range(body_end, len(content), PROOF_BYTES))
    mask, own = tuple(points[1 : 1 + threshold]), tuple(points[1 + threshold : -1])
    return Hello(points[0], mask, own, points[-1], proofs)


@lru_cache(_KEPT)
def is_proved_hello(content: bytes, threshold: int, terms: bytes, silo: int) -> bool:
    """Return whether this is the first message of silo number ``silo`` under these terms, with its proofs."""
    hello = read_hello(content, threshold)
    if hello is None:
        return False
    body = content[: _body_bytes(threshold)]
    return all(
        is_proved(point, _statement(terms, silo, what, body), proof)
        for what, point, proof in zip(_PROVED, hello.proved, hello.proofs, strict=True)
    )


def twins(hellos: Mapping[int, bytes], threshold: int) -> set[int]:
    """Return the silos that share a ledger with another, or a point or its negative; and those that cannot be read."""
    found: set[int] = set()
    seen: dict[int, int] = {}
    for silo, content in hellos.items():
        hello = read_hello(content, threshold)
        if hello is None:
            found.add(silo)
            continue
        for x in [point[0] for point in hello.proved if point is not None]:
            if x in seen:
                found |= {silo, seen[x]}
            seen[x] = silo
    return found


def fault_of(hellos: Mapping[int, bytes], threshold: int, terms: bytes) -> str | None:
    """Return what is wrong with a list of first messages, or None."""
    unproved = [
        silo for silo, content in hellos.items() if not is_proved_hello(content, threshold, terms, silo)
    ]
    if unproved:
        return f"silo {min(unproved)} does not prove that it knows the secrets of what it announces"
    found = twins(hellos, threshold)
    if found:
        who = ", ".join(str(silo) for silo in sorted(found))
        return f"silos {who} book on one ledger or have one key, but each must be another, with a ledger of its own"
    return None
