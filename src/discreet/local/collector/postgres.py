"""A store in a PostgreSQL database, by psycopg.

Row numbers come from a sequence, which hands them out before a transaction commits. Two that write at once could
commit in the other order, and whoever reads "all rows after the last one" would miss the earlier number for ever. So
every transaction that writes first takes one lock of the database's, for as long as it lasts: numbers are given in
the order of commits, and several collectors may share a database.

A connection that broke is made anew before the next statement that reads, and the next transaction. The password is
best given in ``PGPASSWORD`` or a password file: what stands on a command line can be read by others on the machine.

The server gives statements and locks a time and ends transactions that stand still, and the system finds hosts that are
gone and networks that swallow packets (keepalives, ``tcp_user_timeout``). A server that is stopped, while its system
still acknowledges packets, is waited for until it goes on or is gone; whoever sends reports hears 503 meanwhile.
"""

from typing import Any

import psycopg
from psycopg import conninfo
from psycopg.pq import TransactionStatus

from discreet.local.collector.tables import StoreSettings, Tables

_LOCK = 0x64697363  # "disc"
#: As a URL may say otherwise.
_SETTINGS = {
    "statement_timeout": "25s",
    "lock_timeout": "25s",
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


class PostgresTables(Tables):
    """Tables in a database, which are made where there are none."""

    failures = (psycopg.Error,)
    _bytes, _row = "bytea", "bigserial PRIMARY KEY"
    _begin = f"BEGIN; SELECT pg_advisory_xact_lock({_LOCK})"
    _prefix = "discreet_"

    def __init__(self, url: str, kept: StoreSettings, *, read_only: bool = False) -> None:
        self._url = url
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
        return psycopg.connect(self._url, autocommit=True, options=options, **times)

    def begin(self) -> None:
        """Begin to write, over a new connection where the last one broke."""
        if self._writing.closed:
            self._writing.close()
            self._writing = self._connect()
        super().begin()

    def _run(self, connection: Any, statement: str, values: tuple[Any, ...] = ()) -> Any:
        # Whoever writes leaves the reading connection to its own thread.
        if connection is self._reading and connection.closed:
            connection = self._reading = self._connect()
        return super()._run(connection, statement, values)

    def check(self) -> None:
        """Ask the server whether it is there."""
        self._run(self._reading, "SELECT 1")

    def scrub(self) -> bool:
        """Nothing: the server overwrites what was deleted when it vacuums."""
        return True

    def _in_transaction(self) -> bool:
        return self._writing.info.transaction_status != TransactionStatus.IDLE

    def _parts(self, joined: bytes) -> Any:
        return (joined, len(joined) // self._stride)
