"""Connections that cannot be held for nothing: deadlines, bounds, and one request at a time.

uvicorn waits without end for a request that never becomes whole, reads heads of any length, and queues as many
requests as come down one connection. Here

* a head must be whole 10 s after its first byte (or after the connection was made), the body 40 s after the head,
  and an answer must be taken within 30 s;
* a head has at most 16 KiB and 100 fields, one ``Host``, one plain length or one ``chunked``, and a path that begins
  with a slash: what two servers in a row could read differently is answered by 400 and ends the connection;
* a request that comes before the one before it was answered is not read, and the connection ends with that answer:
  clients that got no answer send again, as always;
* beyond the most connections, the one that has kept the service waiting longest makes room for the new one. A
  thousand half-open connections thus drive each other out, not those that send.
"""

import asyncio
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

__all__ = ["bounded_protocol"]

_HEAD_SECONDS, _BODY_SECONDS, _ANSWER_SECONDS = 10.0, 40.0, 30.0
_MOST_HEAD, _MOST_FIELDS = 16_384, 100


class _RefusedError(Exception):
    """The head of a request is not acceptable; the parser turns it into its own error."""


class BoundedProtocol(HttpToolsProtocol):
    """One connection of uvicorn's, with its patience bounded."""

    head_seconds, body_seconds, answer_seconds = _HEAD_SECONDS, _BODY_SECONDS, _ANSWER_SECONDS
    most_connections = 1_000
    #: Connections that wait for their client, the longest first; those whose request is whole are not among them.
    waiting: "dict[BoundedProtocol, None]"

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self._reading: asyncio.TimerHandle | None = None
        self._writing: asyncio.TimerHandle | None = None
        self._head_bytes, self._in_head, self._ends = 0, True, False

    def connection_made(self, transport: Any) -> None:
        """Take a new connection, in place of the one that waited longest where there are too many."""
        super().connection_made(transport)
        if len(self.connections) > self.most_connections:
            oldest = next(iter(self.waiting), None)
            (oldest or self)._abort()
        self._await_client(self.head_seconds)

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection and its deadlines."""
        self._await_nothing()
        self._taken()
        self._unset_keepalive_if_required()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Parse what came, unless the connection ends anyway."""
        if self._ends or self.transport.is_closing():
            return
        if self._busy() and not self.cycle.more_body:  # the next request, before this one is answered
            self._end_with_answer()
            return
        if self._reading is None:  # the first bytes of a further request
            self._in_head, self._head_bytes = True, 0
            self._await_client(self.head_seconds)
        super().data_received(data)
        if self._in_head:
            self._head_bytes += len(data)
            if self._head_bytes > _MOST_HEAD:
                self.send_400_response("The head of the request is too long.")

    def on_header(self, name: bytes, value: bytes) -> None:
        """Take a field; none may come after the body, where it would count as one of the head."""
        if not self._in_head:
            raise _RefusedError
        super().on_header(name, value)

    def on_message_begin(self) -> None:
        """Begin a head."""
        self._in_head = True
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        """Begin to answer a request, if nothing about it is ambiguous and none is being answered."""
        self._in_head, parser = False, self.parser
        assert parser is not None
        if self._busy():  # it came in one piece with the request before it
            self._end_with_answer()
            return
        if not _acceptable(self.url, self.headers, parser.get_http_version()):
            raise _RefusedError
        if parser.should_upgrade() and {key for key, _ in self.headers} & {
            b"content-length",
            b"transfer-encoding",
        }:
            raise _RefusedError  # the parser would take the body for the other protocol
        self._await_client(self.body_seconds)
        super().on_headers_complete()
        if parser.should_upgrade():  # to what is not offered: nothing is read after it
            self.cycle.keep_alive = False

    def on_body(self, body: bytes) -> None:
        """Take a part of the body."""
        if not self._ends:
            super().on_body(body)

    def on_message_complete(self) -> None:
        """The request is whole: from here on the client waits, not the service."""
        if self._ends:
            return
        self._await_nothing()
        super().on_message_complete()
        if self.cycle.response_complete:  # refused before it was whole, and now the rest came
            self._await_client(self.timeout_keep_alive)

    def on_response_complete(self) -> None:
        """Let the next request come, or end."""
        super().on_response_complete()
        if self.transport.is_closing():
            self._must_be_taken()
        elif not self.flow.write_paused:
            self._taken()
        if self.transport.is_closing():
            return
        if self._reading is None:
            self.waiting[self] = None  # idle; uvicorn's own timer ends it

    def send_400_response(self, msg: str) -> None:
        """Refuse what cannot be parsed; but never in place of the answer to the request before it."""
        if self._busy() and not self.cycle.more_body:
            self._end_with_answer()
        elif self._busy() and self.cycle.response_started:
            self._abort()
        elif not self._ends:
            self._ends = True
            super().send_400_response(msg)
            self._must_be_taken()

    def timeout_keep_alive_handler(self) -> None:
        """End an idle connection."""
        self._abort()

    def pause_writing(self) -> None:
        """The client takes its answer more slowly than it is given."""
        super().pause_writing()
        self._must_be_taken()

    def resume_writing(self) -> None:
        """The client took what it was given; there may be more of the same answer, which has one deadline."""
        super().resume_writing()
        if not self.transport.is_closing() and not self._busy():
            self._taken()

    def _busy(self) -> bool:
        return self.cycle is not None and not self.cycle.response_complete

    def _end_with_answer(self) -> None:
        self._ends, self.cycle.keep_alive = True, False

    def _await_client(self, seconds: float) -> None:
        self._await_nothing()
        self._reading = self.loop.call_later(seconds, self._abort)
        self.waiting[self] = None

    def _await_nothing(self) -> None:
        self.waiting.pop(self, None)
        if self._reading is not None:
            self._reading.cancel()
            self._reading = None

    def _must_be_taken(self) -> None:
        if self._writing is None:
            self._writing = self.loop.call_later(self.answer_seconds, self._abort)

    def _taken(self) -> None:
        if self._writing is not None:
            self._writing.cancel()
            self._writing = None

    def _abort(self) -> None:
        self._ends = True
        self.waiting.pop(self, None)
        self.transport.abort()


def bounded_protocol(most_connections: int = 1_000, **seconds: float) -> type[BoundedProtocol]:
    """Return the class of one service's connections, for ``uvicorn.Config(http=...)``.

    Parameters
    ----------
    most_connections : int, default 1,000
    head_seconds, body_seconds, answer_seconds : float
        Deadlines, other than those that the module tells.
    """
    own = {"most_connections": most_connections, "waiting": {}, **seconds}
    return type("BoundedProtocol", (BoundedProtocol,), own)


def _acceptable(url: bytes, headers: list[tuple[bytes, bytes]], version: str) -> bool:
    """Whether every server in a row would read the same request."""
    if len(headers) > _MOST_FIELDS or len(url) + sum(len(k) + len(v) for k, v in headers) > _MOST_HEAD:
        return False
    found: dict[bytes, list[bytes]] = {}
    for key, value in headers:
        found.setdefault(key, []).append(value)
    lengths, codings = found.get(b"content-length", []), found.get(b"transfer-encoding", [])
    plain = (
        not codings and len(lengths) <= 1 and all(length.isdigit() and len(length) < 16 for length in lengths)
    )
    chunked = not lengths and version == "1.1" and [coding.lower() for coding in codings] == [b"chunked"]
    folded = any(b"\r" in value or b"\n" in value for _, value in headers)
    return (
        (plain or chunked)
        and not folded
        and version in ("1.0", "1.1")
        and url.startswith(b"/")
        and len(found.get(b"host", [])) == 1
    )
