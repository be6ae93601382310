"""A store in a PostgreSQL database, by psycopg.

Row numbers come from a sequence, which hands them out before a transaction commits. Two that write at once could
commit in the other order, and whoever reads "all rows after the last one" would miss the earlier number for ever. So
every transaction that writes first takes one lock of the database's, for as long as it lasts: numbers are given in
the order of commits, and several collectors may share a database.

A connection that broke is made anew before the next transaction. The password is best given in ``PGPASSWORD`` or a
password file: what stands on a command line can be read by others on the machine.
"""

from collections.abc import Sequence
from typing import Any

import psycopg
from psycopg import conninfo
from psycopg.pq import TransactionStatus

from discreet.local.collector.tables import Tables
from discreet.privacy.bit_channel import BitChannel

__all__ = ["PostgresTables"]

_LOCK = 0x64697363  # "disc"
_SCHEMA = (
    "CREATE TABLE IF NOT EXISTS discreet_settings (name text PRIMARY KEY, value text NOT NULL)",
    "CREATE TABLE IF NOT EXISTS discreet_reports (id bigserial PRIMARY KEY, number bytea NOT NULL UNIQUE, "
    "bits bytea NOT NULL)",
    "CREATE TABLE IF NOT EXISTS discreet_spent (ticket bytea PRIMARY KEY)",
    "CREATE TABLE IF NOT EXISTS discreet_moments (one integer PRIMARY KEY CHECK (one = 1), last_id bigint NOT NULL, "
    "n bigint NOT NULL, counts bytea NOT NULL)",
)
_INSERT = """
INSERT INTO discreet_reports (number, bits)
SELECT substr(sent.all_of_it, 1 + i * {stride}, 16), substr(sent.all_of_it, 17 + i * {stride}, {bits})
FROM (SELECT %b::bytea AS all_of_it) AS sent, generate_series(0, %s - 1) AS i ORDER BY i
ON CONFLICT (number) DO NOTHING
"""


class PostgresTables(Tables):
    """Tables in a database, which are made where there are none."""

    failures = (psycopg.Error,)
    _begin = f"BEGIN; SELECT pg_advisory_xact_lock({_LOCK})"
    _prefix = "discreet_"

    def __init__(self, url: str, words: Sequence[str], channel: BitChannel) -> None:
        self._url = url
        width = -(-len(words) // 8)
        self._stride = 16 + width
        self._insert_all = _INSERT.format(stride=self._stride, bits=width)
        super().__init__("the PostgreSQL database", words, channel)

    def _connect(self) -> Any:
        # A commit returns when it is on the disk, whatever the server's default is.
        options = f"{conninfo.conninfo_to_dict(self._url).get('options', '')} -c synchronous_commit=on"
        return psycopg.connect(self._url, autocommit=True, options=options.strip(), connect_timeout=10)

    def _make(self) -> None:
        for statement in _SCHEMA:
            self._writing.execute(statement)

    def begin(self) -> None:
        """Begin to write, over a new connection where the last one broke."""
        if self._writing.closed:
            self._writing = self._connect()
        super().begin()

    def after(self, last_id: int, most: int) -> list[tuple[int, bytes]]:
        """Return row number and bits of the next committed reports, in order."""
        self._look_again()
        return super().after(last_id, most)

    def count(self, *, writing: bool = False) -> int:
        """Return how many reports there are."""
        self._look_again()
        return super().count(writing=writing)

    def _look_again(self) -> None:
        if self._reading.closed:
            self._reading = self._connect()

    def _in_transaction(self) -> bool:
        return self._writing.info.transaction_status != TransactionStatus.IDLE

    def _parts(self, joined: bytes) -> Any:
        return (joined, len(joined) // self._stride)
