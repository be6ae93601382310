r"""Sums and small multiples of points on the curve P-256, all of them public.

Points that belong to secrets are made by ``cryptography`` alone (:func:`point_of`); what is computed here takes and
gives public points only, so that it may take the time it takes. A point is a pair of coordinates, or None for the
neutral one.

Reference
---------
NIST SP 800-186, section 3.2.1.3, doi:10.6028/NIST.SP.800-186.
"""

from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

__all__ = [
    "CURVE",
    "ORDER",
    "POINT_BYTES",
    "Point",
    "add",
    "exchange",
    "multiple",
    "point_of",
    "read_point",
    "write_point",
]

CURVE = ec.SECP256R1()
#: Number of points: a prime.
ORDER = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551
_FIELD = 2**256 - 2**224 + 2**192 + 2**96 - 1
#: A compressed point.
POINT_BYTES = 33

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
