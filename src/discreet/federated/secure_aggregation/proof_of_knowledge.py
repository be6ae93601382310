r"""Proof that whoever announces a point knows its secret, and says so about one statement (Schnorr, Fiat and Shamir).

For the point :math:`P = s G` and a statement m, the prover draws k and gives :math:`R = k G` and
:math:`z = k + c s` modulo q, where :math:`c = H(P, R, m)` modulo q; the verifier checks :math:`z G = R + c P`.

What is promised
----------------
* *Who cannot compute s proves nothing*: two answers z to one R under different c give
  :math:`s = (z - z') / (c - c')`, so whoever answers with any chance at all, over the values of the random oracle H,
  could compute s. A point made of other silos' points (a copy, a negative, a sum, a multiple, one interpolated from
  them) has no proof, unless its maker knows their secrets.
* *A proof says nothing about s* but that somebody knows it: with a c drawn first, z uniform and
  :math:`R = z G - c P`, proofs have the same distribution.
* *It is about m only*: another silo's number, other terms or another list of points are other statements.

k is derived from the secret, the statement and fresh randomness together, so that neither a poor source of randomness
nor two statements under one seed give two answers to one R.

References
----------
Schnorr, "Efficient signature generation by smart cards", Journal of Cryptology 4, 1991, doi:10.1007/BF00196725.
Fiat, Shamir, "How to prove yourself", CRYPTO 1986, doi:10.1007/3-540-47721-7_12. Bernhard, Pereira, Warinschi, "How
not to prove yourself", ASIACRYPT 2012, doi:10.1007/978-3-642-34961-4_38 (why P and m belong under the hash).
"""

import hashlib

from cryptography.hazmat.primitives.hashes import SHA512
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

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

__all__ = ["PROOF_BYTES", "challenge", "is_proved", "prove"]

_NUMBER = 32
#: A point and a number.
PROOF_BYTES = POINT_BYTES + _NUMBER
_FRESH_WORDS = 4


def challenge(point: bytes, commitment: bytes, statement: bytes) -> int:
    """Return c: a number that nobody can choose. All three parts have a length of their own, so none runs over."""
    parts = (b"discreet secure aggregation, proof", point, commitment, statement)
    return (
        int.from_bytes(hashlib.sha512(b"".join(hashlib.sha256(part).digest() for part in parts)).digest())
        % ORDER
    )


def prove(secret: int, statement: bytes, stream: SecureStream) -> bytes:
    """Return ``PROOF_BYTES`` bytes: whoever made them knew the secret, and meant this statement."""
    fresh = secret.to_bytes(_NUMBER) + stream.words(_FRESH_WORDS).tobytes()
    nonce = HKDF(
        SHA512(), 64, None, b"discreet secure aggregation, nonce" + hashlib.sha256(statement).digest()
    )
    k = 1 + int.from_bytes(nonce.derive(fresh)) % (ORDER - 1)
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
