r"""A silo's secrets, and what it announces of them: points, shares that can be checked, proofs, the first message.

Points of the curve P-256
-------------------------
Points that belong to secrets are made by ``cryptography`` alone (:func:`point_of`); sums and multiples that are
computed here take and give public points only, so that they may take the time they take. A point is a pair of
coordinates, or None for the neutral one.

Secret sharing that whoever holds a share can check
---------------------------------------------------
Any ``threshold`` of the shares give the secret back. A secret is the constant term of a polynomial f of degree
``threshold - 1`` over the integers modulo q, the order of the curve; the other coefficients are drawn uniformly. The
share of silo i is f(i + 1). The dealer publishes the points :math:`a_j G` of all coefficients, and the holder of a
share checks

.. math:: f(i + 1) \, G = \sum_j (i + 1)^j \, a_j G .

* Fewer than ``threshold`` shares say nothing about the secret but what its public point says (Shamir): a secret is
  used only through a key derivation, and to find it from its point is the discrete logarithm.
* All shares that pass the check lie on one polynomial, whoever dealt them, for a polynomial is determined by the
  points of its coefficients (Feldman). So any ``threshold`` of them give back the same number, and its point is the
  first one published. No dealer can hand out shares that pass and do not fit together.

Proof that whoever announces a point knows its secret, and says so about one statement
--------------------------------------------------------------------------------------
For the point :math:`P = s G` and a statement m, the prover draws k and gives :math:`R = k G` and
:math:`z = k + c s` modulo q, where :math:`c = H(P, R, m)` modulo q; the verifier checks :math:`z G = R + c P`.

* *Who cannot compute s proves nothing*: two answers z to one R under different c give
  :math:`s = (z - z') / (c - c')`, so whoever answers with any chance at all, over the values of the random oracle H,
  could compute s. A point made of other silos' points (a copy, a negative, a sum, a multiple, one interpolated from
  them) has no proof, unless its maker knows their secrets.
* *A proof says nothing about s* but that somebody knows it: with a c drawn first, z uniform and
  :math:`R = z G - c P`, proofs have the same distribution.
* *It is about m only*: another silo's number, other terms or another list of points are other statements.

k is derived from the secret, the statement and fresh randomness together, so that neither a poor source of randomness
nor two statements under one seed give two answers to one R.

The first message
-----------------
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

References
----------
NIST SP 800-186, section 3.2.1.3, doi:10.6028/NIST.SP.800-186 (the curve). Shamir, "How to share a secret", CACM 22:11,
1979, doi:10.1145/359168.359176. Feldman, "A practical scheme for non-interactive verifiable secret sharing", FOCS 1987,
doi:10.1109/SFCS.1987.4. Schnorr, "Efficient signature generation by smart cards", Journal of Cryptology 4, 1991,
doi:10.1007/BF00196725. Fiat, Shamir, "How to prove yourself", CRYPTO 1986, doi:10.1007/3-540-47721-7_12. Bernhard,
Pereira, Warinschi, "How not to prove yourself", ASIACRYPT 2012, doi:10.1007/978-3-642-34961-4_38 (why P and m belong
under the hash).
"""

import hashlib
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA512
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from discreet._base.validate import shown
from discreet.errors import ParameterError, PrivacyError
from discreet.privacy.noise.stream import SecureStream

CURVE = ec.SECP256R1()
#: Number of points: a prime.
ORDER = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551
_FIELD = 2**256 - 2**224 + 2**192 + 2**96 - 1
#: A compressed point.
POINT_BYTES = 33

SHARE_BYTES = 32
_NUMBER = 32
#: A point and a number.
PROOF_BYTES = POINT_BYTES + _NUMBER
_FRESH_WORDS = 4
_PROVED = ("channel", "mask", "own mask", "ledger")
_KEPT = 256  # read and checked once; where one process plays all silos, once for all

Point = tuple[int, int] | None


def point_of(secret: int) -> tuple[int, int]:
    """Return secret * G; ``secret`` from 1 to ORDER - 1."""
    numbers = ec.derive_private_key(secret, CURVE).public_key().public_numbers()
    return numbers.x, numbers.y


def exchange(secret: int, point: Point) -> bytes:
    """Return what whoever knows ``secret`` and whoever knows that of ``point`` have in common: secret * point."""
    assert point is not None
    public = ec.EllipticCurvePublicNumbers(*point, CURVE).public_key()
    return ec.derive_private_key(secret, CURVE).exchange(ec.ECDH(), public)


def write_point(point: Point) -> bytes:
    """Return ``POINT_BYTES`` bytes; there are none for the neutral point."""
    if point is None:
        raise ValueError("the neutral point has no compressed form")
    key = ec.EllipticCurvePublicNumbers(*point, CURVE).public_key()
    return key.public_bytes(Encoding.X962, PublicFormat.CompressedPoint)


def read_point(content: bytes) -> tuple[int, int]:
    """Return the point; ``ValueError`` for bytes that are not a point on the curve."""
    if len(content) != POINT_BYTES:
        raise ValueError(f"a point has {POINT_BYTES} bytes, not {len(content)}")
    numbers = ec.EllipticCurvePublicKey.from_encoded_point(CURVE, content).public_numbers()
    return numbers.x, numbers.y


def add(one: Point, other: Point) -> Point:
    """Return the sum of two points."""
    if one is None or other is None:
        return other if one is None else one
    (x1, y1), (x2, y2) = one, other
    if x1 == x2:
        if (y1 + y2) % _FIELD == 0:
            return None
        slope = 3 * (x1 * x1 - 1) * pow(2 * y1, -1, _FIELD)  # the curve is y^2 = x^3 - 3 x + b
    else:
        slope = (y2 - y1) * pow(x2 - x1, -1, _FIELD)
    x = (slope * slope - x1 - x2) % _FIELD
    return x, (slope * (x1 - x) - y1) % _FIELD


def multiple(point: Point, times: int) -> Point:
    """Return times * point, for a public number that is not negative."""
    found: Point = None
    for bit in bin(times)[2:]:
        found = add(found, found)
        if bit == "1":
            found = add(found, point)
    return found


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


def challenge(point: bytes, commitment: bytes, statement: bytes) -> int:
    """Return c: a number that nobody can choose. All three parts have a length of their own, so none runs over."""
    parts = (b"discreet secure aggregation, proof", point, commitment, statement)
    digests = b"".join(hashlib.sha256(part).digest() for part in parts)
    return int.from_bytes(hashlib.sha512(digests).digest()) % ORDER


def prove(secret: int, statement: bytes, stream: SecureStream) -> bytes:
    """Return ``PROOF_BYTES`` bytes: whoever made them knew the secret, and meant this statement."""
    fresh = secret.to_bytes(_NUMBER) + stream.words(_FRESH_WORDS).tobytes()
    context = b"discreet secure aggregation, nonce" + hashlib.sha256(statement).digest()
    k = 1 + int.from_bytes(HKDF(SHA512(), 64, None, context).derive(fresh)) % (ORDER - 1)
    commitment = write_point(point_of(k))
    c = challenge(write_point(point_of(secret)), commitment, statement)
    return commitment + ((k + c * secret) % ORDER).to_bytes(_NUMBER)


def is_proved(point: Point, statement: bytes, proof: bytes) -> bool:
    """Return whether this proof is one, of the secret of this point and about this statement."""
    z = int.from_bytes(proof[POINT_BYTES:])
    if point is None or len(proof) != PROOF_BYTES or not 0 < z < ORDER:
        return False
    try:
        commitment = read_point(proof[:POINT_BYTES])
    except ValueError:
        return False
    c = challenge(write_point(point), proof[:POINT_BYTES], statement)
    return point_of(z) == add(commitment, multiple(point, c))


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
    proofs = (prove(secret, _statement(terms, silo, what, body), stream) for what, secret in secrets)
    return body + b"".join(proofs)


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
