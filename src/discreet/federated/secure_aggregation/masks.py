r"""Sums that nobody sees the parts of: pairwise masks modulo 2^64, which survive clients that drop out.

Client u sends

.. math:: y_u = x_u + \mathrm{PRG}(b_u) + \sum_{v > u} \mathrm{PRG}(s_{uv}) - \sum_{v < u} \mathrm{PRG}(s_{uv})
          \pmod{2^{64}},

:math:`s_{uv}` agreed by X25519 and HKDF, :math:`b_u` its own. Masks between two clients that both sent cancel.
Every client's private key and b were shared out (Shamir) among all, encrypted from client to client, so that
afterwards any ``threshold`` of them can remove what is left: b of a client that sent, the pairwise masks of
one that did not. A client never gives both shares of the same client; so an answer that comes late stays hidden
by its own b.

What is trusted
---------------
The server relays messages and *follows the protocol* (it tells all clients the same keys and the same list of who
sent), and fewer than ``threshold`` clients collude with it. Then it learns the sum and nothing else. A client that
lies spoils the sum and learns nothing. A server that lies about keys is not kept out by this module: where that is
feared, let silos compare the digest of the roster (:func:`roster_digest`) over another channel, and take a
threshold above half of them (two lists of senders would each need as many answers).

Masks are the output of ChaCha20 under keys used once. int64 sums are taken modulo 2^64 and read as signed
numbers, which is exact while the true sum lies in int64: clients hold each entry below :math:`2^{62} / n`.

Reference
---------
Bonawitz et al., "Practical secure aggregation for privacy-preserving machine learning", CCS 2017,
doi:10.1145/3133956.3133982.
"""

import hashlib
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from numpy.typing import NDArray

from discreet.errors import ParameterError, PrivacyError
from discreet.federated.secure_aggregation.secret_shares import SECRET_BYTES, SHARE_BYTES, join, split
from discreet.privacy.noise.stream import SecureStream

__all__ = [
    "COMMITMENT_BYTES",
    "KEY_BYTES",
    "SEALED_BYTES",
    "Masker",
    "add_up",
    "is_key",
    "roster_digest",
    "unmask",
]

KEY_BYTES = 32
COMMITMENT_BYTES = 32
#: Two shares (of the key, of b) and the tag.
SEALED_BYTES = 2 * SHARE_BYTES + 16
_LARGEST = 2**62
_MOST_TRIES = 10_000

Sums = NDArray[np.int64]


def roster_digest(keys: Mapping[int, bytes]) -> str:
    """Return a short digest of who has which public key, for silos to compare."""
    text = b"".join(number.to_bytes(4, "little") + keys[number] for number in sorted(keys))
    return hashlib.sha256(text).hexdigest()[:32]


def _agreed(private: X25519PrivateKey, public: bytes, what: bytes) -> bytes:
    try:
        secret = private.exchange(X25519PublicKey.from_public_bytes(public))
    except ValueError as fault:
        raise PrivacyError("a client sent a key that is none; leave it out.") from fault
    return HKDF(SHA256(), SECRET_BYTES, None, b"discreet secure aggregation, " + what).derive(secret)


def _expand(key: bytes, n: int) -> NDArray[np.uint64]:
    """Return n words of ChaCha20 under a key that is used for nothing else."""
    stream = Cipher(algorithms.ChaCha20(key, bytes(16)), None).encryptor()
    return np.frombuffer(stream.update(bytes(8 * n)), dtype="<u8")


class Masker:
    """One client's part, for one sum only.

    Parameters
    ----------
    client : int
    stream : SecureStream
        Of the keys; ``PrivacyError`` comes later where one mask is asked for twice.
    """

    def __init__(self, client: int, stream: SecureStream) -> None:
        self.client = client
        self._stream = stream.spawn("masks")
        self._secret = self._stream.words(4).tobytes()
        self._private = X25519PrivateKey.from_private_bytes(self._secret)
        self._own = self._stream.words(4).tobytes()
        self._keys: dict[int, bytes] = {}
        self._threshold = 0
        self._masked = self._revealed = False

    def to_json(self) -> dict[str, Any]:
        """Return everything, secrets included, for the client's own storage between messages."""
        return {
            "client": self.client,
            "secret": self._secret.hex(),
            "own": self._own.hex(),
            "keys": {str(client): key.hex() for client, key in self._keys.items()},
            "threshold": self._threshold,
            "masked": self._masked,
            "revealed": self._revealed,
        }

    @classmethod
    def from_json(cls, value: Mapping[str, Any], stream: SecureStream) -> "Masker":
        """Return the masker that was written; ``stream`` for what is still to be drawn."""
        masker = cls(int(value["client"]), stream)
        masker._secret, masker._own = bytes.fromhex(value["secret"]), bytes.fromhex(value["own"])
        masker._private = X25519PrivateKey.from_private_bytes(masker._secret)
        masker._keys = {int(client): bytes.fromhex(key) for client, key in value["keys"].items()}
        masker._threshold = int(value["threshold"])
        masker._masked, masker._revealed = bool(value["masked"]), bool(value["revealed"])
        return masker

    @property
    def public_key(self) -> bytes:
        """First message: 32 bytes."""
        return self._private.public_key().public_bytes_raw()

    @property
    def commitment(self) -> bytes:
        """Digest of b, so that wrong shares of it are noticed; sent with the key."""
        return _digest(self._own)

    def share_out(
        self, keys: Mapping[int, bytes], threshold: int, *, noise_in_each: bool = False
    ) -> dict[int, bytes]:
        """Second message: for each client, its shares of this client's secrets, readable by it alone.

        With ``noise_in_each``, which says that each vector alone keeps the promise, the threshold may be below half.
        """
        if self._keys or keys.get(self.client) != self.public_key or len(set(keys.values())) != len(keys):
            raise PrivacyError("the list of keys is wrong or came twice; start the sum anew.")
        if not (0 if noise_in_each else len(keys) / 2) < threshold <= len(keys):
            raise ParameterError(
                f"threshold must be above half of {len(keys)} clients and at most all, but is {threshold!r}."
            )
        self._keys, self._threshold = dict(keys), threshold
        members = sorted(keys)
        parts = [split(secret, len(keys), threshold, self._stream) for secret in (self._secret, self._own)]
        sealed: dict[int, bytes] = {}
        for place, other in enumerate(members):
            box = ChaCha20Poly1305(self._channel(self.client, other))
            sealed[other] = box.encrypt(bytes(12), parts[0][place] + parts[1][place], None)
        return sealed

    def _channel(self, sender: int, receiver: int) -> bytes:
        """Key for one message from sender to receiver, of whom this client is one."""
        other = receiver if sender == self.client else sender
        return _agreed(self._private, self._keys[other], f"shares {sender} to {receiver}".encode())

    def mask(self, values: Sums, members: Iterable[int]) -> Sums:
        """Third message: the values under masks with all members, those clients whose shares came."""
        if self._masked:
            raise PrivacyError(
                "a second vector under the same masks would give both away; start the sum anew."
            )
        others = sorted(members)
        if self.client not in others or len(others) < self._threshold or not set(others) <= set(self._keys):
            raise PrivacyError("too few clients are left for a sum that hides its parts; start anew.")
        if (
            values.dtype != np.int64
            or values.ndim != 1
            or (
                len(values)
                and max(abs(int(values.min())), abs(int(values.max()))) > _LARGEST // len(self._keys)
            )
        ):
            raise ParameterError("values must be a row of int64 below 2^62 over the number of clients.")
        self._masked = True
        total = values.view(np.uint64) + _expand(self._own, len(values))
        for other in others:
            if other != self.client:
                mask = _expand(_agreed(self._private, self._keys[other], b"mask"), len(values))
                total = total + mask if other > self.client else total - mask
        return total.view(np.int64)

    def reveal(self, sealed: Mapping[int, bytes], sent: Iterable[int]) -> dict[int, bytes]:
        """Fourth message: of each member, the share of b where it sent its vector, of its key where not.

        Parameters
        ----------
        sealed : mapping of int to bytes
            What the members sealed for this client.
        sent : iterable of int
            The members whose vectors came.
        """
        alive = set(sent)
        if not self._keys:
            raise PrivacyError("this client has no part in that sum; it has no shares to give.")
        if self._revealed:
            raise PrivacyError("shares were given already; a second list of senders would uncover a client.")
        if len(alive) < self._threshold or not alive <= set(sealed):
            raise PrivacyError(
                f"only {len(alive)} vectors came, {self._threshold} are needed: the sum stays hidden."
            )
        self._revealed = True
        shares: dict[int, bytes] = {}
        for other, box in sealed.items():
            try:
                both = ChaCha20Poly1305(self._channel(other, self.client)).decrypt(bytes(12), box, None)
            except (InvalidTag, KeyError, ValueError):
                continue  # damaged on the way, or by a client that lies: others may have theirs
            shares[other] = both[SHARE_BYTES:] if other in alive else both[:SHARE_BYTES]
        return shares


def add_up(vectors: Iterable[Sums]) -> NDArray[np.uint64]:
    """Return the sum of masked vectors modulo 2^64."""
    total: NDArray[np.uint64] | None = None
    for vector in vectors:
        total = vector.view(np.uint64).copy() if total is None else total + vector.view(np.uint64)
    if total is None:
        raise PrivacyError("no client sent anything; there is no sum.")
    return total


def unmask(
    vectors: Mapping[int, Sums],
    members: Sequence[int],
    keys: Mapping[int, bytes],
    shares: Mapping[int, Mapping[int, bytes]],
    threshold: int,
    commitments: Mapping[int, bytes],
) -> Sums:
    """Return the sum of the vectors that came, without their masks.

    Parameters
    ----------
    vectors : mapping of client to masked vector
    members : sequence of int
        Clients under whose masks vectors were put.
    keys : mapping of client to public key
    shares : mapping of client to (mapping of member to share)
        The fourth messages. Wrong ones are left out, as long as ``threshold`` right ones came.
    threshold : int
    commitments : mapping of client to commitment
    """
    total = add_up(vectors[client] for client in sorted(vectors))
    place = {client: number for number, client in enumerate(sorted(keys))}
    believed: tuple[int, ...] = ()
    for member in members:
        held = {place[giver]: given[member] for giver, given in shares.items() if member in given}
        if member in vectors:
            own, believed = _recover(held, threshold, commitments[member], _digest, member, believed)
            total = total - _expand(own, len(total))
            continue
        secret, believed = _recover(held, threshold, keys[member], _public_key, member, believed)
        private = X25519PrivateKey.from_private_bytes(secret)
        for other in vectors:  # what `other` added for `member` is taken back
            mask = _expand(_agreed(private, keys[other], b"mask"), len(total))
            total = total - mask if member > other else total + mask
    return total.view(np.int64)


def _digest(own: bytes) -> bytes:
    return hashlib.sha256(b"discreet own mask" + own).digest()


def _public_key(secret: bytes) -> bytes:
    return X25519PrivateKey.from_private_bytes(secret).public_key().public_bytes_raw()


def is_key(public: bytes) -> bool:
    """Return whether honest clients can agree on a secret with whoever announced this key."""
    try:
        X25519PrivateKey.generate().exchange(X25519PublicKey.from_public_bytes(public))
    except ValueError:
        return False
    return True


def _choices(numbers: Sequence[int], threshold: int, believed: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    """Give the shares to try together: first those of givers who were right before, then all choices or many.

    Where there are too many to try all, they are drawn at large: in order, each of the first thousands would hold the
    first client's share, and that one alone could keep the sum from everyone.
    """
    if set(believed) <= set(numbers) and believed:
        yield believed
    if math.comb(len(numbers), threshold) <= _MOST_TRIES:
        yield from combinations(numbers, threshold)
        return
    rng = np.random.default_rng(0)
    for _ in range(_MOST_TRIES):
        yield tuple(sorted(int(i) for i in rng.choice(numbers, threshold, replace=False)))


def _recover(
    held: dict[int, bytes],
    threshold: int,
    wanted: bytes,
    digest: Callable[[bytes], bytes],
    member: int,
    believed: tuple[int, ...],
) -> tuple[bytes, tuple[int, ...]]:
    """Join shares until the secret is the one that was announced; some may be wrong. Return it, and whose they were."""
    if len(held) < threshold:
        raise PrivacyError(f"{threshold} shares are needed, but {len(held)} came; the sum stays hidden.")
    for chosen in _choices(sorted(held), threshold, believed):
        try:
            secret = join({number: held[number] for number in chosen}, threshold)
        except PrivacyError:
            continue
        if digest(secret) == wanted:
            return secret, chosen
    raise PrivacyError(f"the shares of client {member} do not give what it announced: too many are wrong.")
