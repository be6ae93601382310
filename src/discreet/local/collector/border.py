"""What stands between the network and the collector's answers: by which name it was asked, and by whose page.

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
from collections.abc import Iterable
from typing import Any

from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

__all__ = ["PLAIN", "Border", "host_name"]

_log = logging.getLogger(__name__)

#: Of every answer: nothing is kept by caches, and nothing is taken for what it is not.
PLAIN = {"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer"}
_HOST = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9_.-]+)(?::[0-9]{1,5})?")
_FOREIGN = ("cross-site", "same-site")


def host_name(host: str) -> str | None:
    """Return the name or address in a ``Host`` header, in lower case and without its port; None where it is none."""
    found = _HOST.fullmatch(host)
    return None if found is None else found.group(1).lower().rstrip(".").strip("[]")


class Border:
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
        except Exception as error:  # the message of an error nobody thought of may show what was sent
            _log.error("a request failed: %s", type(error).__name__)
            if not begun:
                await JSONResponse({"error": "this failed; try again."}, 500, headers=PLAIN)(
                    scope, receive, send
                )

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
