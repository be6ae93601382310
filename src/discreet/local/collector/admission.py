"""Who may send, and how fast: tokens, one-time tickets, rates."""

import logging
import time
from collections import OrderedDict
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Protocol

from discreet._lists import read_list
from discreet.errors import Parameter, ParameterError, Part

__all__ = ["Admission", "Pace", "SecretsFile", "Tickets", "Tokens", "read_secrets"]

_log = logging.getLogger(__name__)

_SHORTEST = 16
#: Seconds after which a file of secrets is looked at again.
_LOOK_AGAIN = 1.0


class Admission(Protocol):
    """Decides by the bearer's secret."""

    @property
    def once(self) -> bool:
        """Whether a secret admits one report only."""
        ...

    def admits(self, secret: str) -> bytes | None:
        """Return the digest of a known secret, or None."""
        ...


def read_secrets(path: Path, called: Part = "secrets") -> list[bytes]:
    """Return the digests of the lines of a file, which errors call so; a secret needs 16 characters at least."""
    secrets = [line for line in read_list(path, called) if not line.startswith("#")]
    if not secrets or min(map(len, secrets)) < _SHORTEST:
        raise ParameterError(
            f"{path} must hold one secret per line, each of {_SHORTEST} characters or more; "
            "`openssl rand -hex 16` makes one."
        )
    return [sha256(secret.encode()).digest() for secret in secrets]


class Tokens:
    """Secrets that may be used again and again, one for each sender.

    They are looked up by digest, however many there are: a digest's closeness to another says nothing about secrets.
    """

    once = False

    def __init__(self, digests: list[bytes]) -> None:
        self._digests = frozenset(digests)

    def admits(self, secret: str) -> bytes | None:
        """Return the digest of a secret that is known, used or not."""
        digest = sha256(secret.encode("utf-8", "replace")).digest()
        return digest if digest in self._digests else None


class Tickets(Tokens):
    """Secrets that admit one report each; the store remembers the used ones."""

    once = True


class SecretsFile:
    """The secrets of a file as it is now: whoever edits it lets senders in or keeps them out, without a restart.

    A file that cannot be used (gone, empty, a secret too short) leaves the secrets as they were, and a line in the
    log says so: an editor that writes half a file must not lock everybody out.

    Parameters
    ----------
    path : Path
        As for :func:`read_secrets`.
    kind : Tokens or Tickets
    """

    def __init__(self, path: Path, kind: "Callable[[list[bytes]], Tokens | Tickets]") -> None:
        self._path, self._kind = path, kind
        self._seen, self._looked = self._mark(), time.monotonic()
        self._known = kind(read_secrets(path, Parameter("tickets" if kind is Tickets else "tokens")))
        self.once = self._known.once

    def admits(self, secret: str) -> bytes | None:
        """As the kind does, by the secrets that the file holds."""
        if time.monotonic() - self._looked >= _LOOK_AGAIN:
            self._look()
        return self._known.admits(secret)

    def _look(self) -> None:
        self._looked, mark = time.monotonic(), self._mark()
        if mark == self._seen:
            return
        self._seen = mark
        try:
            self._known = self._kind(read_secrets(self._path))
            _log.warning("%s was read again", self._path)
        except (OSError, ValueError):  # the message could show what the file holds
            _log.warning("%s cannot be used; the secrets read before stay in force", self._path)

    def _mark(self) -> tuple[int, ...] | None:
        try:
            found = self._path.stat()
        except OSError:
            return None
        return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns


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
