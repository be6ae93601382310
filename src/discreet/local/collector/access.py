"""Who may ask a collector: names and pages, tokens, one-time tickets.

A browser sends requests for any page that its user looks at, also to this machine. So a page of another origin is
refused unless it was named (browsers say whose page asks in ``Origin`` and ``Sec-Fetch-Site``; programs say
nothing), and so is a name that is not this service's: a page may make its own name point here (DNS rebinding) and
then count as ours. Addresses in figures, and ``localhost``, cannot be made to point elsewhere and are always good.

Paths are taken literally: an escaped letter or a doubled slash is another path than the one that a proxy's rules
were written for. An error nobody thought of is answered by 500 and logged by its type alone.
"""

import ipaddress
import logging
import re
import time
from collections.abc import Iterable
from hashlib import sha256
from pathlib import Path
from typing import Any

from h11 import LocalProtocolError
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from discreet._base.files import read_list
from discreet.errors import Parameter, ParameterError, Part

_log = logging.getLogger(__name__)

#: Of every answer: nothing is kept by caches, and nothing is taken for what it is not.
PLAIN = {"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer"}
_HOST = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9_.-]+)(?::[0-9]{1,5})?")
_FOREIGN = ("cross-site", "same-site")


def host_name(host: str) -> str | None:
    """Return the name or address in a ``Host`` header, in lower case and without its port; None where it is none."""
    found = _HOST.fullmatch(host)
    return None if found is None else found.group(1).lower().rstrip(".").strip("[]")


class HostCheck:
    """Middleware that lets the right requests through.

    Parameters
    ----------
    app : ASGI application
    names : iterable of str
        By which the service may be reached, beside addresses in figures and ``localhost``.
    origins : iterable of str
        Pages, such as ``https://example.org``, whose scripts may ask.
    """

    def __init__(self, app: ASGIApp, *, names: Iterable[str] = (), origins: Iterable[str] = ()) -> None:
        self._app = app
        self._names = frozenset({"localhost", *(name.lower().rstrip(".") for name in names)})
        self._origins = frozenset(origin.lower() for origin in origins)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer what is refused; pass on the rest."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        refusal = self._refusal(scope)
        if refusal is not None:
            code, told = refusal
            await JSONResponse({"error": told}, code, headers=PLAIN)(scope, receive, send)
            return
        begun = False

        async def passing(message: Message) -> None:
            nonlocal begun
            begun = True
            await send(message)

        try:
            await self._app(scope, receive, passing)
        except LocalProtocolError:  # nonsense was sent, and the server has said so and ended the connection
            return
        except Exception as error:  # the message of an error nobody thought of may show what was sent
            _log.error("a request failed: %s", type(error).__name__)
            if not begun:
                failed = JSONResponse({"error": "this failed; try again."}, 500, headers=PLAIN)
                await failed(scope, receive, send)

    def _refusal(self, scope: Scope) -> tuple[int, str] | None:
        found: dict[bytes, list[bytes]] = {}
        for key, value in scope["headers"]:
            found.setdefault(key, []).append(value)
        hosts, origins = found.get(b"host", []), found.get(b"origin", [])
        name = host_name(hosts[0].decode("latin-1")) if len(hosts) == 1 else None
        if name is None or len(origins) > 1:
            return 400, "a request needs one Host, and one Origin at most."
        if name not in self._names and not _in_figures(name):
            return 421, "this is not the service of that name; the option --server-name makes it so."
        if b"%" in scope.get("raw_path", b"") or "//" in scope["path"]:
            return 404, "there is nothing here."
        if self._foreign(hosts[0], origins, found):
            return 403, "a page of another origin asked; the option --origin lets scripts of a page send."
        if found.get(b"content-encoding", [b"identity"]) != [b"identity"]:
            return 415, "send reports as they are, without Content-Encoding."
        return None

    def _foreign(self, host: bytes, origins: list[bytes], found: dict[bytes, list[Any]]) -> bool:
        if origins:
            origin = origins[0].decode("latin-1").lower()
            own = host.decode("latin-1").lower()
            return origin not in self._origins and origin not in (f"http://{own}", f"https://{own}")
        # What a page embeds or follows has no Origin. To follow a link to the page is fine, to embed it is not.
        site = found.get(b"sec-fetch-site", [b""])[0].decode("latin-1")
        return site in _FOREIGN and found.get(b"sec-fetch-mode", [b""])[0] != b"navigate"


def _in_figures(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


_SHORTEST = 16
#: Seconds after which a file of secrets is looked at again.
_LOOK_AGAIN = 1.0


def read_secrets(path: Path, called: Part = "secrets") -> list[bytes]:
    """Return the digests of the lines of a file, which errors call so; a secret needs 16 characters at least."""
    secrets = [line for line in read_list(path, called) if not line.startswith("#")]
    if not secrets or min(map(len, secrets)) < _SHORTEST:
        raise ParameterError(
            f"{path} must hold one secret per line, each of {_SHORTEST} characters or more; "
            "`openssl rand -hex 16` makes one."
        )
    return [sha256(secret.encode()).digest() for secret in secrets]


class Secrets:
    """The secrets of a file as it is now: whoever edits it lets senders in or keeps them out, without a restart.

    A file that cannot be used (gone, empty, a secret too short) leaves the secrets as they were, and a line in the
    log says so: an editor that writes half a file must not lock everybody out. Secrets are looked up by digest, however
    many there are: a digest's closeness to another says nothing about secrets.

    Parameters
    ----------
    path : Path
        As for :func:`read_secrets`.
    once : bool, default False
        Whether a secret is a ticket, which admits one report (the store remembers the used ones), or a sender's token.
    """

    def __init__(self, path: Path, *, once: bool = False) -> None:
        self._path, self.once = path, once
        self._seen, self._looked = self._mark(), time.monotonic()
        self._known = frozenset(read_secrets(path, Parameter("tickets" if once else "tokens")))

    def admits(self, secret: str) -> bytes | None:
        """Return the digest of a secret that is known, used or not; else None."""
        if time.monotonic() - self._looked >= _LOOK_AGAIN:
            self._look()
        digest = sha256(secret.encode("utf-8", "replace")).digest()
        return digest if digest in self._known else None

    def _look(self) -> None:
        self._looked, mark = time.monotonic(), self._mark()
        if mark == self._seen:
            return
        self._seen = mark
        try:
            self._known = frozenset(read_secrets(self._path))
            _log.warning("%s was read again", self._path)
        except (OSError, ValueError):  # the message could show what the file holds
            _log.warning("%s cannot be used; the secrets read before stay in force", self._path)

    def _mark(self) -> tuple[int, ...] | None:
        try:
            found = self._path.stat()
        except OSError:
            return None
        return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns
