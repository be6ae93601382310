"""One silo's part in a sum under masks. What it is part of, and what that promises: see ``masks``."""

from __future__ import annotations

import hmac
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from discreet.errors import ParameterError, PrivacyError
from discreet.federated.secure_aggregation.channels import (
    TAG_BYTES,
    agreed_key,
    open_box,
    readable,
    roster_digest,
    seal,
    voucher,
)
from discreet.federated.secure_aggregation.hellos import (
    Hello,
    fault_of,
    read_hello,
    write_hello,
)
from discreet.federated.secure_aggregation.masks import Sums, expand, own_key, pair_key
from discreet.federated.secure_aggregation.secret_shares import (
    SHARE_BYTES,
    is_share,
    new_polynomial,
    share,
    uniform,
)
from discreet.privacy.noise.stream import SecureStream

__all__ = ["BOX_BYTES", "MOST_SILOS", "Masker"]

#: Two shares (of s, of b) and the tag.
BOX_BYTES = 2 * SHARE_BYTES + TAG_BYTES
_LARGEST = 2**62
#: Numbers of silos are below this.
MOST_SILOS = 2**16
_STEPS = ("keys", "shares", "checks", "members", "vector", "senders", "reveal")


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
        self._channel = uniform(own)
        self._mask, self._own = new_polynomial(threshold, own), new_polynomial(threshold, own)
        ledger = uniform(own) if ledger is None else ledger
        self._announced = write_hello(terms, client, self._channel, self._mask, self._own, ledger, own)
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
        fault = fault_of(hellos, self.threshold, self._terms)
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
            if plain is None or len(plain) != 2 * SHARE_BYTES:
                continue
            parts = plain[:SHARE_BYTES], plain[SHARE_BYTES:]
            hello = self._hello(other)
            if is_share(parts[0], self.client, hello.mask) and is_share(parts[1], self.client, hello.own):
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

    def _hello(self, other: int) -> Hello:
        found = read_hello(self._hellos[other], self.threshold)
        assert found is not None  # looked at when the list came
        return found

    def _shares_of(self, other: int) -> tuple[bytes, bytes]:
        return share(self._mask, other), share(self._own, other)

    def _key(self, what: str, sender: int, receiver: int) -> bytes:
        """Key for one message from sender to receiver, of whom this silo is one."""
        other = receiver if sender == self.client else sender
        mine, theirs = ((silo, self._hello(silo).channel) for silo in (self.client, other))
        return agreed_key(self._channel, mine, theirs, f"{what} {sender} to {receiver}", self._roster)

    def _statement(self) -> bytes:
        return repr((self._members, self._senders)).encode()
