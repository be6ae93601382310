r"""Sums that nobody sees the parts of: pairwise masks modulo 2^64, which survive silos that drop out.

Silo u sends

.. math:: y_u = x_u + \mathrm{PRG}(b_u) + \sum_{v > u} \mathrm{PRG}(s_{uv}) - \sum_{v < u} \mathrm{PRG}(s_{uv})
          \pmod{2^{64}},

:math:`s_{uv}` agreed from u's secret number :math:`s_u` and v's public point :math:`s_v G`, :math:`b_u` its own. Masks
between two silos that both sent cancel. :math:`s_u` and :math:`b_u` are shared out among all, so that afterwards any
``threshold`` of them can remove what is left: b of a silo that sent, the pairwise masks of one that did not.

Messages of a silo (:class:`Masker`), in this order and once each: its keys, and the points that its shares are checked
against; the sealed shares; whose shares are right; its masked vector, once it was told who goes on; that it was told
these senders; shares that remove masks.

What two silos say to each other goes through a server that cannot read it. Each silo has a key pair for this and for
nothing else: the key under which shares are sealed is never itself shared out, so that nobody who puts a drop-out's
other key together can open a box. Keys are agreed on the curve P-256 and by HKDF, one for each direction and purpose,
bound to the numbers and points of the two silos and to the digest of who takes part in which sum; each seals one
message only.

Keys of two honest silos are unknown to all others, whatever these announce
----------------------------------------------------------------------------
The key of :math:`s_{uv}` is derived (HKDF, taken as a random oracle) from the numbers of u and v, their two points,
:math:`s_u s_v G`, and the digest of who takes part; that of :math:`b_u` from u's number, its point and :math:`b_u`;
keys for sealed messages likewise, with their purpose. So no two keys are derived from the same input. A copied point, a
negative one or a sum of points gives no key that equals another or cancels one, and an honest silo's key is as good as
random to whoever never asks the oracle for its very input. To ask it for that of honest u and v is to find
:math:`s_u s_v G` from :math:`s_u G` and :math:`s_v G`. All else that hangs on :math:`s_u` can be simulated without it:
fewer than ``threshold`` shares (drawn at random; the points of the coefficients follow from them and
:math:`s_u G`), proofs, and keys with points that liars announced, for which the oracle's answers have to be consistent
only: an algorithm that tells right guesses from wrong ones is enough for that (so the assumption is gap
Diffie-Hellman); and as each liar proved that it knows its secret, that secret would do, too.

Proofs (:mod:`~discreet.federated.masks.keys`) are asked for besides: then nobody announces a
point whose secret he does not know, for this silo number, these terms and this message. Before there were proofs, and
keys hung on the points alone, one liar that announced another's point had all silos between the two numbers add and
take away one and the same mask.

What is promised
----------------
Let n be the number of silos, t the threshold (n less the tolerated), c how many are in league with the server.

* *A server that follows the protocol* learns the sum and nothing else, where c < t.
* *A server that lies*, in any message, learns one sum of t - c honest silos at least, and nothing else, where
  2 t > n + c and the keys it shows are those of n different silos (compare the roster's digest and the numbers).
  *Proof.* A silo vouches for one pair only, (M: who goes on, S: who sent), in which it is itself and t others; and it
  gives shares only under a pair for which t silos, itself among them, vouched to it. Two such pairs would take 2 t
  vouchers, and the n - c honest silos give one each, the others two: 2 t > n + c. So all honest silos that give shares
  do so under one (M, S), and of each silo either b or s becomes known, s only of those in M that are not in S. Let
  H be the honest ones that vouched for (M, S): t - c or more, all in S. Let the server take the masks off the sum of
  the vectors of some honest silos U. Each is in S, or its b is unknown; and whoever u in U went on with is in U, where
  masks cancel, or in league, or not in S. If one of U is in H, it went on with M, so all honest silos of S are in U:
  the one sum. If none is, the t - c honest silos that u went on with are in U or not in S, so not in H: 2 (t - c)
  honest silos, of n - c, against 2 t > n + c.
* *A silo that lies* about its shares is found by those who hold them, before any vector is sent. One that lies in its
  vector spoils the sum and learns no more by it.
* Where each vector has all the noise that the promise takes, nothing hangs on masks.

Masks are the output of ChaCha20 under keys used once. int64 sums are taken modulo 2^64 and read as signed
numbers, which is exact while the true sum lies in int64: silos hold each entry below :math:`2^{62} / n`.

The noise that silos bring together: enough of it beside what an adversary knows
--------------------------------------------------------------------------------
Each of n silos adds :math:`\mathrm{round}(\mathcal N(0, s^2))` to each integer of its sum, with
:math:`s^2 = S^2 / T`; :math:`S` is what the promise takes, T the number of shares that are counted on
(:func:`shares_counted_on`).

Against whom T shares are enough
--------------------------------
Whoever took part knows its own vector, noise included, and takes it out of a sum that it sees. Let A be the silos
of the adversary, and v the silo with the document in question, not one of them. The sum of m vectors less those of A
is a sum over the others: their documents, and their noise. Those are m - \|A\| silos, and never fewer than one, for
v is one of them or its document is not in the sum. So the noise that is left has variance
:math:`\max(1, m - |A|) s^2` at least, and that is :math:`S^2` or more

* with :math:`T = n - t`, wherever \|A\| and the missing, n - m, are t at most together. That is enough towards
  the server and up to t silos (fewer by those that are missing), as long as no other silo sees the result;
* with :math:`T = \max(1, n - t - 1)`, wherever they are t + 1 at most: also towards any silo that sees the result,
  and t more in league with it. Two silos then add all the noise each. (With T = n they would be promised
  epsilon 2 and lose 2.93 to each other, at delta 1e-6.)

Where T = 1, each vector has all the noise, and the promise holds against all others and the server together.

Proof that a sum of m >= T rounded Gaussians is as good as one Gaussian of variance m s^2
----------------------------------------------------------------------------------------
Let :math:`\chi(\theta) = \operatorname{sinc}(\theta/2) e^{-s^2 \theta^2 / 2}`, the characteristic function of a
Gaussian plus a uniform on (-1/2, 1/2). Rounding is sampling that density at the integers, so by Poisson's formula the
characteristic function of one rounded Gaussian, for :math:`|\theta| \le \pi`, is
:math:`\sum_j \chi(\theta + 2 \pi j)`, which differs from :math:`\chi` by :math:`a \le 3 e^{-\pi^2 s^2 / 2}` at most.
That of the sum is its m-th power, within :math:`(1 + a)^m - 1` of :math:`\chi^m`.

Compare :math:`R = \mathrm{round}(Y + W)`, Y Gaussian of variance :math:`m s^2`, W the sum of m - 1 uniforms on (-1/2,
1/2): its characteristic function is :math:`\chi^m` plus terms below a. So each integer has the same probability under
both within :math:`2 m a`, and as all values are below :math:`2^{46} m` in magnitude, the two laws are within
:math:`2^{50} m^2 a` in total variation: below :math:`10^{-500}` for :math:`s \ge 16` and a million clients. R added to
an integer sum is post-processing of the Gaussian mechanism with variance :math:`m s^2`: :math:`z + R =
\mathrm{round}(z + Y + W)`, W independent of the data. The difference, times the number of integers, is far below the
part of delta (one billionth of it) that is kept back for it. A smaller s is refused.

References
----------
Bonawitz et al., "Practical secure aggregation for privacy-preserving machine learning", CCS 2017,
doi:10.1145/3133956.3133982.
"""

from __future__ import annotations

import hashlib
import hmac
import math
from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import Any

import numpy as np
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from numpy.typing import NDArray

from discreet._base.validate import FLAG, Rule, check, is_whole
from discreet.errors import ParameterError, PrivacyError
from discreet.federated.masks import keys
from discreet.privacy.noise.gaussian import rounded_gaussian
from discreet.privacy.noise.stream import SecureStream

TAG_BYTES = 16
VOUCHER_BYTES = 32
#: Two shares (of s, of b) and the tag.
BOX_BYTES = 2 * keys.SHARE_BYTES + TAG_BYTES
#: Numbers of silos are below this.
MOST_SILOS = 2**16
_DIGITS = 40
_LARGEST = 2**62
_STEPS = ("keys", "shares", "checks", "members", "vector", "senders", "reveal")

#: A silo's number, and one of its points.
Owner = tuple[int, keys.Point]
Sums = NDArray[np.int64]


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
    pair = b"".join(number.to_bytes(4) + keys.write_point(point) for number, point in ordered)
    context = b"discreet secure aggregation, " + pair + purpose.encode()
    return HKDF(SHA256(), 32, roster, context).derive(keys.exchange(secret, theirs[1]))


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


def unmask(
    terms: bytes,
    hellos: Mapping[int, bytes],
    members: Iterable[int],
    vectors: Mapping[int, Sums],
    shares: Mapping[int, Mapping[int, bytes]],
    threshold: int,
) -> Sums:
    """Return the sum of the vectors that came, without their masks.

    Parameters
    ----------
    terms : bytes
    hellos : mapping of silo to its first message
    members : silos under whose masks vectors were put
    vectors : mapping of silo to masked vector
    shares : mapping of silo to (mapping of member to share)
        The last messages. Wrong ones are left out, as long as ``threshold`` right ones came.
    threshold : int

    Raises
    ------
    PrivacyError
        Where too few right shares came.
    """
    roster = roster_digest(terms, hellos)
    read = {silo: keys.read_hello(hellos[silo], threshold) for silo in members}
    total = np.zeros(len(next(iter(vectors.values()))), np.uint64)
    for vector in vectors.values():
        total = total + vector.view(np.uint64)
    for member, hello in read.items():
        assert hello is not None
        points = hello.own if member in vectors else hello.mask
        right = {
            giver: given[member]
            for giver, given in shares.items()
            if member in given and keys.is_share(given[member], giver, points)
        }
        secret = keys.join(right, threshold)
        if member in vectors:
            total = total - expand(own_key(secret, member, roster), len(total))
            continue
        for other in vectors:  # what `other` added for `member` is taken back
            theirs = read[other]
            assert theirs is not None
            key = pair_key(secret, (member, hello.mask[0]), (other, theirs.mask[0]), roster)
            mask = expand(key, len(total))
            total = total - mask if member > other else total + mask
    return total.view(np.int64)


def pair_key(secret: int, mine: Owner, theirs: Owner, roster: bytes) -> bytes:
    """Return the key of the mask between two silos, from one's number and both their points."""
    return agreed_key(secret, mine, theirs, "mask", roster)


def own_key(secret: int, silo: int, roster: bytes) -> bytes:
    """Return the key of a silo's own mask."""
    own = silo.to_bytes(4) + keys.write_point(keys.point_of(secret))
    context = b"discreet secure aggregation, own mask" + own
    return HKDF(SHA256(), 32, roster, context).derive(secret.to_bytes(32))


def expand(key: bytes, n: int) -> NDArray[np.uint64]:
    """Return n words of ChaCha20 under a key that is used for nothing else."""
    stream = Cipher(algorithms.ChaCha20(key, bytes(16)), None).encryptor()
    return np.frombuffer(stream.update(bytes(8 * n)), dtype="<u8")


class Masker:
    """One silo's part, for one sum only.

    Parameters
    ----------
    client : int
        Its number.
    threshold : int
        How many silos it takes to remove masks.
    stream : SecureStream
        Of its secrets.
    terms : bytes
        What all agreed on; its proofs are about that, and all keys depend on it.
    ledger : int or None
        A secret of the ledger that it books on, the same for all who book on it: its point tells whether two of them
        do. None: drawn from the stream, for a seeded run, which is the same each time and not for release.
    """

    def __init__(
        self, client: int, threshold: int, stream: SecureStream, *, terms: bytes, ledger: int | None
    ) -> None:
        if not 0 <= client < MOST_SILOS:
            raise ParameterError(f"client must be from 0 to {MOST_SILOS - 1}, but is {client!r}.")
        self.client, self.threshold, self._terms = client, threshold, terms
        own = stream.spawn("masks")
        self._channel = keys.uniform(own)
        self._mask, self._own = keys.new_polynomial(threshold, own), keys.new_polynomial(threshold, own)
        ledger = keys.uniform(own) if ledger is None else ledger
        self._announced = keys.write_hello(terms, client, self._channel, self._mask, self._own, ledger, own)
        self._step = "keys"
        self._roster = b""
        self._hellos: dict[int, bytes] = {}
        self._held: dict[int, tuple[bytes, bytes]] = {}
        self._members: tuple[int, ...] = ()
        self._senders: tuple[int, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Return everything, secrets included, for the silo's own storage between messages."""
        return {
            "client": self.client,
            "threshold": self.threshold,
            "terms": self._terms.hex(),
            "announced": self._announced.hex(),
            "channel": hex(self._channel),
            "mask": [hex(number) for number in self._mask],
            "own": [hex(number) for number in self._own],
            "step": self._step,
            "roster": self._roster.hex(),
            "hellos": {str(silo): hello.hex() for silo, hello in self._hellos.items()},
            "held": {str(silo): [part.hex() for part in parts] for silo, parts in self._held.items()},
            "members": self._members,
            "senders": self._senders,
        }

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Masker:
        """Return the masker that was written."""
        masker = cls.__new__(cls)
        masker.client, masker.threshold = int(value["client"]), int(value["threshold"])
        masker._terms, masker._announced = bytes.fromhex(value["terms"]), bytes.fromhex(value["announced"])
        masker._channel = int(value["channel"], 16)
        masker._mask = [int(number, 16) for number in value["mask"]]
        masker._own = [int(number, 16) for number in value["own"]]
        masker._step, masker._roster = _STEPS[_STEPS.index(value["step"])], bytes.fromhex(value["roster"])
        masker._hellos = {int(silo): bytes.fromhex(hello) for silo, hello in value["hellos"].items()}
        masker._held = {
            int(silo): (bytes.fromhex(parts[0]), bytes.fromhex(parts[1]))
            for silo, parts in value["held"].items()
        }
        masker._members, masker._senders = tuple(value["members"]), tuple(value["senders"])
        return masker

    def hello(self) -> bytes:
        """First message: this silo's points, with proofs that it knows their secrets, and its ledger's point."""
        return self._announced

    @property
    def silos(self) -> list[int]:
        """Numbers of the silos that announced keys."""
        return sorted(self._hellos)

    @property
    def roster(self) -> str:
        """Digest of the terms and of who takes part, for silos to compare over another channel."""
        if not self._roster:
            raise PrivacyError("nobody has answered yet: the roster is known with the second message.")
        return readable(self._roster)

    def share_out(self, hellos: Mapping[int, bytes], *, noise_in_each: bool = False) -> dict[int, bytes]:
        """Second message: for each other silo its sealed shares.

        Parameters
        ----------
        hellos : mapping of int to bytes
            First messages, this silo's among them.
        noise_in_each : bool
            Whether each vector alone keeps the promise; then the threshold may be half of the silos or less.
        """
        self._expect("keys")
        if hellos.get(self.client) != self._announced:
            raise PrivacyError("the list of keys is wrong: it lacks this silo's own; start the sum over.")
        if not all(0 <= silo < MOST_SILOS for silo in hellos):  # the share of silo -1 would be the secret
            raise PrivacyError(
                "the list of keys is wrong: it has numbers that no silo has; start the sum over."
            )
        fault = keys.fault_of(hellos, self.threshold, self._terms)
        if fault:
            raise PrivacyError(f"the list of keys is wrong: {fault}. Nothing is sent; start the sum over.")
        if not (0 if noise_in_each else len(hellos) / 2) < self.threshold <= len(hellos):
            raise ParameterError(
                f"threshold must be above half of {len(hellos)} silos and at most all, but is {self.threshold}."
            )
        self._hellos, self._roster = dict(hellos), roster_digest(self._terms, hellos)
        self._held[self.client] = self._shares_of(self.client)
        self._step = "shares"
        return {
            other: seal(self._key("shares", self.client, other), b"".join(self._shares_of(other)))
            for other in sorted(hellos)
            if other != self.client
        }

    def check(self, boxes: Mapping[int, bytes]) -> set[int]:
        """Third message: the silos whose shares for this one are there and right, itself among them."""
        self._expect("shares")
        for other in sorted(set(boxes) & set(self._hellos) - {self.client}):
            plain = open_box(self._key("shares", other, self.client), boxes[other])
            if plain is None or len(plain) != 2 * keys.SHARE_BYTES:
                continue
            parts = plain[: keys.SHARE_BYTES], plain[keys.SHARE_BYTES :]
            hello = self._hello(other)
            given = zip(parts, (hello.mask, hello.own), strict=True)
            if all(keys.is_share(part, self.client, points) for part, points in given):
                self._held[other] = parts
        self._step = "checks"
        return set(self._held)

    def go_on_with(self, members: Iterable[int]) -> None:
        """Take the list of silos under whose masks vectors are put; refuse one that could not be unmasked."""
        chosen = tuple(sorted(set(members)))
        if self._step != "checks":
            raise PrivacyError("a second list of members would give two sums; start over.")
        if self.client not in chosen or len(chosen) < self.threshold or not set(chosen) <= set(self._held):
            raise PrivacyError(
                "the list of silos that go on is too short, or has some whose shares are wrong; nothing is sent."
            )
        self._members, self._step = chosen, "members"

    def mask(self, values: Sums) -> Sums:
        """Fourth message: the values under masks with all members."""
        most = _LARGEST // max(len(self._hellos), 1)
        if (
            values.dtype != np.int64
            or values.ndim != 1
            or (len(values) and max(abs(int(values.min())), abs(int(values.max()))) > most)
        ):
            raise ParameterError("values must be a row of int64 below 2^62 over the number of silos.")
        self._expect("members")
        self._step = "vector"
        total = values.view(np.uint64) + expand(own_key(self._own[0], self.client, self._roster), len(values))
        mine = self.client, self._hello(self.client).mask[0]
        for other in self._members:
            if other != self.client:
                key = pair_key(self._mask[0], mine, (other, self._hello(other).mask[0]), self._roster)
                mask = expand(key, len(values))
                total = total + mask if other > self.client else total - mask
        return total.view(np.int64)

    def vouch(self, senders: Iterable[int]) -> dict[int, bytes]:
        """Fifth message: for each other sender, that this silo was told these senders."""
        told = tuple(sorted(set(senders)))
        if self._step != "vector":
            raise PrivacyError("a second list of senders would uncover a silo; nothing is sent.")
        if self.client not in told or len(told) < self.threshold or not set(told) <= set(self._members):
            raise PrivacyError(
                f"{len(told)} vectors came, {self.threshold} are needed, this one's among them."
            )
        self._senders, self._step = told, "senders"
        return {
            other: voucher(self._key("senders", self.client, other), self._statement())
            for other in told
            if other != self.client
        }

    def reveal(self, vouchers: Mapping[int, bytes]) -> dict[int, bytes]:
        """Last message: of each member, the share of b where it sent its vector, of s where not.

        Parameters
        ----------
        vouchers : mapping of int to bytes
            What the other senders said of the list; ``threshold`` of them, this silo counted, must have been told the
            same.
        """
        self._expect("senders")
        agreed = 1 + sum(
            hmac.compare_digest(
                vouchers.get(other, b""), voucher(self._key("senders", other, self.client), self._statement())
            )
            for other in self._senders
            if other != self.client
        )
        if agreed < self.threshold:
            raise PrivacyError(
                f"only {agreed} silos were told the same list of senders, {self.threshold} are needed: the server "
                "told others another, or they are gone. The sum stays hidden."
            )
        self._step = "reveal"
        return {other: self._held[other][other in self._senders] for other in self._members}

    def _expect(self, step: str) -> None:
        if self._step != step:
            raise PrivacyError(
                f"this message was asked for at the wrong time or twice (the next is after {self._step!r}); a second "
                "answer could uncover a silo. Start the sum over."
            )

    def _hello(self, other: int) -> keys.Hello:
        found = keys.read_hello(self._hellos[other], self.threshold)
        assert found is not None  # looked at when the list came
        return found

    def _shares_of(self, other: int) -> tuple[bytes, bytes]:
        return keys.share(self._mask, other), keys.share(self._own, other)

    def _key(self, what: str, sender: int, receiver: int) -> bytes:
        """Key for one message from sender to receiver, of whom this silo is one."""
        other = receiver if sender == self.client else sender
        mine, theirs = ((silo, self._hello(silo).channel) for silo in (self.client, other))
        return agreed_key(self._channel, mine, theirs, f"{what} {sender} to {receiver}", self._roster)

    def _statement(self) -> bytes:
        return repr((self._members, self._senders)).encode()


#: Part of delta for the distance between the sum of rounded Gaussians and one Gaussian.
KEPT_BACK = 1e-9
_LEAST = 16


def shares_counted_on(n_silos: int, tolerated: int, *, silos_see_result: bool) -> int:
    """Return T: how many silos' noise is there beside what an adversary knows. See the module for the proof.

    Parameters
    ----------
    n_silos : int
    tolerated : int
        Silos that may be missing, or in league with whom the promise is against.
    silos_see_result : bool
        Whether any silo sees the sum, or what is computed from it.
    """
    return max(1, n_silos - tolerated - bool(silos_see_result))


def check_tolerated(n_silos: int, tolerated: Any, *, silos_see_result: Any) -> None:
    """Refuse settings under which a sum of fewer than half of the silos would show less noise than is promised."""
    below = Rule(
        f"a whole number from 0 to below the {n_silos} clients",
        lambda value: is_whole(value) and 0 <= value < n_silos,
    )
    check(silos_see_result=(silos_see_result, FLAG), tolerated=(tolerated, below))
    counted_on = shares_counted_on(n_silos, int(tolerated), silos_see_result=bool(silos_see_result))
    if 2 * tolerated >= n_silos and counted_on > 1:
        raise ParameterError(
            f"tolerated must be below half of {n_silos} clients (or so many that each brings all the noise: "
            f"{n_silos - 1}), but is {tolerated}."
        )


def share_of_noise(deviation: float | Fraction, counted_on: int) -> Fraction:
    """Return s, each silo's standard deviation: counted_on * s^2 is at least deviation^2, exactly.

    Parameters
    ----------
    deviation : float or Fraction
        S: standard deviation that the sum must have, in lattice steps. 0: no noise.
    counted_on : int
        T: shares of noise that must add up to it.
    """
    if counted_on < 1:
        raise ParameterError(f"counted_on must be at least 1, but is {counted_on}.")
    exact = Fraction(deviation)
    if exact == 0:
        return exact
    share = Fraction(float(exact) / math.sqrt(counted_on))
    while share * share * counted_on < exact * exact:
        share *= 1 + Fraction(1, 10**15)
    if share < _LEAST:
        raise PrivacyError(
            f"each client's noise would be {float(share):.3g} steps, and {_LEAST} are needed for sums of rounded noise "
            "to be accounted as Gaussian; use a finer lattice."
        )
    return share


def add_share(values: NDArray[np.int64], share: Fraction, stream: SecureStream) -> NDArray[np.int64]:
    """Return integers with one client's share of the noise."""
    return values + rounded_gaussian(share, values.shape, stream)
