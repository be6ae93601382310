"""A store in a PostgreSQL database, by psycopg.

Row numbers come from a sequence, which hands them out before a transaction commits. Two that write at once could
commit in the other order, and whoever reads "all rows after the last one" would miss the earlier number for ever. So
every transaction that writes first takes one lock of the database's, for as long as it lasts: numbers are given in
the order of commits, and several collectors may share a database.

A connection that broke is made anew before the next transaction. The password is best given in ``PGPASSWORD`` or a
password file: what stands on a command line can be read by others on the machine.

Nothing waits for a database for ever: the server gives statements and locks a time and ends transactions that stand
still, keepalives find hosts that are gone, and a server that says nothing at all (stopped, or behind a network that
swallows packets) is found by a thread here, which closes the connection under a call that takes too long.
"""

import os
import socket
import threading
import time
from typing import Any

import psycopg
from psycopg import conninfo
from psycopg.pq import TransactionStatus

from discreet.local.collector.tables import StoreSettings, Tables

_LOCK = 0x64697363  # "disc"
#: Seconds that one statement may take by the server's clock, and by ours.
_SERVER_SECONDS, _OUR_SECONDS = 25, 35.0
#: As a URL may say otherwise.
_SETTINGS = {
    "statement_timeout": f"{_SERVER_SECONDS}s",
    "lock_timeout": f"{_SERVER_SECONDS}s",
    "idle_in_transaction_session_timeout": "60s",
}
_KEEPALIVES = {
    "keepalives": 1,
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 30_000,
    "connect_timeout": 10,
}
_INSERT = """
INSERT INTO discreet_reports (number, bits)
SELECT substr(sent.all_of_it, 1 + i * {stride}, 16), substr(sent.all_of_it, 17 + i * {stride}, {bits})
FROM (SELECT %b::bytea AS all_of_it) AS sent, generate_series(0, %s - 1) AS i ORDER BY i
ON CONFLICT (number) DO NOTHING
"""


class _Watch:
    """A thread that closes connections under calls that take too long."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._calls: dict[int, tuple[float, int]] = {}
        self._lock, self._stop = threading.Lock(), threading.Event()
        threading.Thread(target=self._look, name="discreet-database-watch", daemon=True).start()

    def begin(self, call: int, handle: int) -> None:
        """A call on the connection of this file handle began."""
        with self._lock:
            self._calls[call] = time.monotonic() + self._seconds, handle

    def end(self, call: int) -> None:
        """It came back."""
        with self._lock:
            self._calls.pop(call, None)

    def stop(self) -> None:
        """End the thread."""
        self._stop.set()

    def _look(self) -> None:
        while not self._stop.wait(min(1.0, self._seconds / 4)):
            with self._lock:  # so that no handle is closed, and given to another file, meanwhile
                now = time.monotonic()
                for call, (end, handle) in list(self._calls.items()):
                    if now > end:
                        del self._calls[call]
                        _shut_down(handle)


def _shut_down(handle: int) -> None:
    """End both directions of a socket that somebody waits on: they wait no more."""
    try:
        with socket.socket(fileno=os.dup(handle)) as beside:
            beside.shutdown(socket.SHUT_RDWR)
    except OSError:  # it was gone already
        return


class _Connection:
    """A connection whose calls come back: with an answer, or with psycopg's error."""

    def __init__(self, made: Any, watch: _Watch) -> None:
        self._made, self._watch = made, watch

    @property
    def closed(self) -> bool:
        return bool(self._made.closed)

    @property
    def info(self) -> Any:
        return self._made.info

    def execute(self, *given: Any) -> Any:
        call = id(self)
        self._watch.begin(call, self._made.fileno())
        try:
            return self._made.execute(*given)
        finally:
            self._watch.end(call)

    def close(self) -> None:
        self._made.close()


class PostgresTables(Tables):
    """Tables in a database, which are made where there are none."""

    failures = (psycopg.Error,)
    _bytes, _row = "bytea", "bigserial PRIMARY KEY"
    _begin = f"BEGIN; SELECT pg_advisory_xact_lock({_LOCK})"
    _prefix = "discreet_"

    def __init__(self, url: str, kept: StoreSettings, *, read_only: bool = False) -> None:
        self._url = url
        self._watch = _Watch(_OUR_SECONDS)
        self._stride = 16 + kept.width
        self._insert_all = _INSERT.format(stride=self._stride, bits=kept.width)
        super().__init__("the PostgreSQL database", kept, read_only=read_only)

    def _connect(self) -> Any:
        told = conninfo.conninfo_to_dict(self._url)
        settings = " ".join(f"-c {name}={value}" for name, value in _SETTINGS.items())
        # A commit returns when it is on the disk, whatever the server's default or the URL says.
        options = f"{settings} {told.get('options', '')} -c synchronous_commit=on"
        if self._read_only:
            options += " -c default_transaction_read_only=on"
        times: dict[str, Any] = {name: value for name, value in _KEEPALIVES.items() if name not in told}
        made = psycopg.connect(self._url, autocommit=True, options=options, **times)
        return _Connection(made, self._watch)

    def close(self) -> None:
        """Close both connections, and stop watching them."""
        super().close()
        self._watch.stop()

    def begin(self) -> None:
        """Begin to write, over a new connection where the last one broke."""
        if self._writing.closed:
            self._writing.close()
            self._writing = self._connect()
        super().begin()

    def after(self, last_id: int, most: int) -> list[tuple[int, bytes]]:
        """Return row number and bits of the next committed reports, in order."""
        self._look_again()
        return super().after(last_id, most)

    def count(self, *, writing: bool = False) -> int:
        """Return how many reports there are."""
        if not writing:  # whoever writes leaves the reading connection to its own thread
            self._look_again()
        return super().count(writing=writing)

    def check(self) -> None:
        """Ask the server whether it is there."""
        self._look_again()
        self._reading.execute("SELECT 1")

    def scrub(self) -> bool:
        """Nothing: the server overwrites what was deleted when it vacuums."""
        return True

    def generation(self) -> int:
        """Return how often reports were taken away."""
        self._look_again()
        return super().generation()

    def _look_again(self) -> None:
        if self._reading.closed:
            self._reading.close()
            self._reading = self._connect()

    def _in_transaction(self) -> bool:
        return self._writing.info.transaction_status != TransactionStatus.IDLE

    def _parts(self, joined: bytes) -> Any:
        return (joined, len(joined) // self._stride)
