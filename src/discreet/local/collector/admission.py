"""Who may send, what, and how fast: parsing of batches, tokens, one-time tickets, rates."""

import hmac
import time
from collections import OrderedDict
from hashlib import sha256
from pathlib import Path
from typing import Protocol

import numpy as np

from discreet.errors import CorpusError, ParameterError
from discreet.local.wire import HEADER_BYTES, Report, vocabulary_digest
from discreet.privacy.bit_channel import BitChannel

__all__ = ["Pace", "ReportForm", "Tickets", "Tokens", "read_secrets"]

_NUMBER = slice(56, 72)
_SHORTEST = 16


class ReportForm:
    """What every report of this collector looks like: all but its number and its bits is known beforehand."""

    def __init__(self, words: tuple[str, ...], channel: BitChannel) -> None:
        blank = Report(channel, vocabulary_digest(words), bytes(16), np.zeros(len(words), np.uint8))
        self.size = len(blank.to_bytes())
        self._head = np.frombuffer(blank.to_bytes(), np.uint8)[: _NUMBER.start]
        unused = -len(words) % 8
        self._unused = np.uint8((0xFF << (8 - unused)) & 0xFF if unused else 0)

    def split(self, raw: bytes) -> list[tuple[bytes, bytes]]:
        """Return number and packed bits of each report; ``CorpusError`` says what is off, never the bits."""
        if not raw:
            raise CorpusError("expected one or more reports, but nothing came.")
        if len(raw) % self.size:
            whole = len(raw) // self.size * self.size
            self._explain(raw[whole:] if self._good(raw[:whole]).all() else raw[: self.size], 0)
        good = self._good(raw)
        if not good.all():
            i = int(np.argmin(good))
            self._explain(raw[i * self.size : (i + 1) * self.size], i)
        return [
            (raw[i + _NUMBER.start : i + HEADER_BYTES], raw[i + HEADER_BYTES : i + self.size])
            for i in range(0, len(raw), self.size)
        ]

    def _good(self, raw: bytes) -> "np.ndarray[tuple[int], np.dtype[np.bool_]]":
        rows = np.frombuffer(raw, np.uint8).reshape(-1, self.size)
        return (rows[:, : len(self._head)] == self._head).all(axis=1) & ((rows[:, -1] & self._unused) == 0)

    def _explain(self, raw: bytes, i: int) -> None:
        try:
            Report.from_bytes(raw)
        except CorpusError as error:
            raise CorpusError(f"report {i + 1}: {error}") from None
        raise CorpusError(
            f"report {i + 1} is of another channel or vocabulary; use the ones that GET /status tells."
        )


class Admission(Protocol):
    """Decides by the bearer's secret."""

    def admits(self, secret: str) -> bytes | None:
        """Return the digest of a known secret, or None."""
        ...


def read_secrets(path: Path) -> list[bytes]:
    """Return the digests of a file's lines; a secret needs 16 characters at least."""
    lines = [line.strip() for line in path.read_text("utf-8").splitlines()]
    secrets = [line for line in lines if line and not line.startswith("#")]
    if not secrets or min(map(len, secrets)) < _SHORTEST:
        raise ParameterError(
            f"{path} must hold one secret a line, each of {_SHORTEST} characters or more; "
            "`openssl rand -hex 16` makes one."
        )
    return [sha256(secret.encode()).digest() for secret in secrets]


class Tokens:
    """Secrets that may be used again and again, one for each sender."""

    def __init__(self, digests: list[bytes]) -> None:
        self._digests = digests

    def admits(self, secret: str) -> bytes | None:
        """Compare with every token, so that time tells nothing about which came close."""
        digest, found = sha256(secret.encode("utf-8", "replace")).digest(), None
        for known in self._digests:
            if hmac.compare_digest(known, digest):
                found = known
        return found


class Tickets:
    """Secrets that admit one report each; the store remembers the used ones.

    They are looked up by digest: a digest's closeness to another says nothing about the secrets.
    """

    def __init__(self, digests: list[bytes]) -> None:
        self._digests = frozenset(digests)

    def admits(self, secret: str) -> bytes | None:
        """Return the digest of an issued ticket, used or not."""
        digest = sha256(secret.encode("utf-8", "replace")).digest()
        return digest if digest in self._digests else None


class Pace:
    """How many reports a second each sender may send, with ten seconds' worth at once.

    Parameters
    ----------
    rate : float
        Reports a second; 0 for no limit.
    most_senders : int, default 10,000
        Senders remembered; the one that came longest ago is forgotten first.
    """

    def __init__(self, rate: float, *, most_senders: int = 10_000) -> None:
        self.rate, self._most_senders = rate, most_senders
        self._left: OrderedDict[bytes, tuple[float, float]] = OrderedDict()

    def wait(self, sender: bytes, n: int, now: float | None = None) -> float:
        """Take ``n`` reports from a sender's share and return 0, or take none and return seconds to wait."""
        if not self.rate:
            return 0.0
        now = time.monotonic() if now is None else now
        full = 10 * self.rate
        left, then = self._left.pop(sender, (full, now))
        left = min(full, left + (now - then) * self.rate)
        needed = min(n, full)  # a batch above ten seconds' worth passes from a full share
        waits = max(0.0, (needed - left) / self.rate)
        self._left[sender] = (left if waits else left - n, now)
        if len(self._left) > self._most_senders:
            self._left.popitem(last=False)
        return waits
