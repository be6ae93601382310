"""The tables of a collector's store, in a SQLite file.

``reports`` holds each report's number (unique) and packed bits, numbered in the order they were committed; a report
that was withdrawn keeps its number, so that it cannot come again, and loses its bits. ``spent`` holds the digests of
used tickets, without any order, so that a ticket cannot be told to belong to a report. ``days`` says which row was the
last of a day, where reports are kept for a number of days only; no report has a time of its own. The ``generation``
among the settings grows whenever reports are taken away, so that whoever has moments in memory, or keeps the log clean,
notices that they are of the past; so does the number of ``reports`` with each of them, whichever collector writes.

SQLite keeps a write-ahead log, and a commit returns when it is on the disk. A file that is removed while it is open
goes on to exist for this process alone, and so does its log: what is written then is lost when the process ends. So
file and log are looked for, by their numbers in the file system, before each transaction and after it, and nothing is
acknowledged where they are gone.
"""

import json
import sqlite3
from collections.abc import Generator, Iterator, Sequence
from contextlib import closing, contextmanager
from hmac import compare_digest
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

from discreet.errors import CorpusError, DiscreetError
from discreet.lda.moments.moments import packed_width
from discreet.local.whole_document.questions import PublishedQuestion
from discreet.local.wire import vocabulary_digest
from discreet.privacy.bit_channel import BitChannel

_VERSION = "1"
#: Reports that are read, written or added to the moments in one go.
TOGETHER = 16_384
#: An answer about a whole document: the number of a codeword, little-endian.
ANSWER_BYTES = 4


class StoreSettings(NamedTuple):
    """What all reports of a store have in common."""

    #: By name, as the store holds them; a store that holds others is refused.
    named: dict[str, str]
    #: Bytes of a report, beside its number.
    width: int


def settings_of(words: Sequence[str], channel: BitChannel | PublishedQuestion) -> StoreSettings:
    """Return what a store of reports through this channel, or on this question, keeps."""
    named = {
        "version": _VERSION,
        "vocabulary": vocabulary_digest(words).hex(),
        "words": json.dumps(list(words), ensure_ascii=False),
    }
    if isinstance(channel, BitChannel):
        named["channel"] = f"{channel.p_threshold},{channel.q_threshold},{channel.limit or 0}"
        return StoreSettings(named, packed_width(len(words)))
    codes = channel.channel
    numbers = codes.n_codewords, codes.n_chosen, codes.member_weight, codes.other_weight, int(codes.two_sided)
    asked = ",".join(map(str, (*numbers, *channel.ends)))
    named["channel"] = f"whole documents,{channel.question.digest.hex()},{asked}"
    return StoreSettings(named, ANSWER_BYTES)


_SCHEMA = (
    "CREATE TABLE IF NOT EXISTS settings (name TEXT PRIMARY KEY, value TEXT NOT NULL)",
    "CREATE TABLE IF NOT EXISTS reports "
    "(id INTEGER PRIMARY KEY AUTOINCREMENT, number BLOB NOT NULL UNIQUE, bits BLOB NOT NULL)",
    "CREATE TABLE IF NOT EXISTS spent (ticket BLOB PRIMARY KEY) WITHOUT ROWID",
    "CREATE TABLE IF NOT EXISTS days (day INTEGER PRIMARY KEY, last_id BIGINT NOT NULL)",
    "CREATE INDEX IF NOT EXISTS withdrawn ON reports (id) WHERE length(bits) = 0",
)
#: Takes reports apart that come as one blob, number and bits after number and bits.
_INSERT = """
INSERT OR IGNORE INTO reports (number, bits)
WITH RECURSIVE place (i) AS (
    SELECT 1 UNION ALL SELECT i + {stride} FROM place WHERE i + {stride} <= length(?1)
)
SELECT substr(?1, i, 16), substr(?1, i + 16, {bits}) FROM place
"""
#: Seconds to wait for others that write.
_BUSY_SECONDS = 30
#: In place of the numbers of a file that is not there.
_GONE = (0, 0)


class ConflictError(CorpusError):
    """A report's number is there already with other bits."""


class SpentError(CorpusError):
    """The ticket was used before, for another report."""


class StoreFailedError(DiscreetError):
    """The database failed."""


class Withdrawal(NamedTuple):
    """What became of a withdrawal: reports taken away now, ones that had been before, and ones that are not here."""

    withdrawn: int
    withdrawn_before: int
    unknown: int


class StoreCounters(NamedTuple):
    """What a store notes: its reports, how often some were taken away, and how often by age since it was packed."""

    reports: int = 0
    generation: int = 0
    unpacked: int = 0


class Receipt(NamedTuple):
    """What became of a batch: reports counted now, and ones that had been counted before."""

    counted: int
    repeated: int


def place_of(where: str | Path) -> Path:
    """Return the file itself, beside which SQLite keeps its log; refuse one whose log could be beside another name."""
    if "://" in str(where):  # not shown: it may hold a password
        raise CorpusError("a store of reports is a SQLite file, not the URL of a database; give its path.")
    path = Path(where).resolve()
    if path.exists() and path.stat().st_nlink > 1:
        raise CorpusError(
            f"{where} has another name (a hard link), by which it could be opened beside this store's log; copy "
            "it to a file of its own, and give that."
        )
    return path


def _refuse_others(
    connection: sqlite3.Connection, where: str | Path, settings: StoreSettings, instead: str = ""
) -> None:
    """Raise where a file is no store of these settings; only read."""
    found = dict(connection.execute("SELECT name, value FROM settings").fetchall())
    for name, what in (
        ("channel", ""),
        ("vocabulary", "of another vocabulary"),
        ("version", "in another version of the store"),
    ):
        if name not in found:
            raise CorpusError(f"{where} is a database of another program; give a store of reports{instead}.")
        if found[name] != settings.named[name]:
            unlike = what or _unlike(str(found[name]), settings.named[name])
            raise CorpusError(f"{where} keeps reports {unlike}; give what it was made with{instead}.")


class Snapshot:
    """The reports of a store as they are at one moment, whatever is committed later; nothing is written.

    One read transaction on a connection of its own. Until it is closed, the log keeps what was taken away since.

    Parameters
    ----------
    where : path
        As :func:`place_of` gives it; a name that the file got since, such as a backup's, is nobody's harm.
    settings : StoreSettings

    Raises
    ------
    CorpusError
        Where it holds reports of another channel or vocabulary.
    sqlite3.Error
        Where it cannot be read; so do the methods.
    """

    def __init__(self, where: Path, settings: StoreSettings) -> None:
        self._reading = sqlite3.connect(
            f"{where.as_uri()}?mode=ro",
            uri=True,
            isolation_level=None,
            check_same_thread=False,
            timeout=_BUSY_SECONDS,
        )
        try:
            self._reading.execute("BEGIN")
            _refuse_others(self._reading, where, settings)
        except BaseException:
            self._reading.close()
            raise

    def close(self) -> None:
        """Let go of the moment."""
        self._reading.close()

    def generation(self) -> int:
        """Return how often reports had been taken away."""
        found = self._reading.execute("SELECT value FROM settings WHERE name = 'generation'").fetchone()
        return 0 if found is None else int(found[0])

    def reports(self, last_id: int = 0) -> Iterator[list[tuple[int, bytes, bytes]]]:
        """Give row number, report number and bits of the reports after a row, in order, many at a time."""
        statement = "SELECT id, number, bits FROM reports WHERE id > ? AND length(bits) > 0 ORDER BY id"
        found = self._reading.execute(statement, (last_id,))
        while rows := found.fetchmany(TOGETHER):
            yield rows


class Tables:
    """The connection to a store that writes; it is used by one thread at a time.

    Parameters
    ----------
    where : path
        A file, which is made where there is none, for its owner alone.
    settings : StoreSettings

    Raises
    ------
    CorpusError
        Where it holds reports of another channel or vocabulary, or cannot be used.
    """

    def __init__(self, where: str | Path, settings: StoreSettings) -> None:
        self._path, self._settings, self.width = place_of(where), settings, settings.width
        self._insert_all = _INSERT.format(stride=16 + settings.width, bits=settings.width)
        self._identity: list[tuple[int, int]] = []
        self._writing: Any = None
        try:
            if not self._path.exists():
                self._path.touch(mode=0o600)  # SQLite gives the files beside it the same mode
            # Before a connection that changes the file's journal; and again where nobody else can write.
            with closing(sqlite3.connect(self._path, timeout=_BUSY_SECONDS)) as plain:
                self._refuse_others(plain, where)
            self._writing = self._connect()
            with self.transaction():
                self._refuse_others(self._writing, where)
                for statement in _SCHEMA:
                    self._writing.execute(statement)
                self._writing.executemany(
                    "INSERT OR IGNORE INTO settings VALUES (?, ?)", settings.named.items()
                )
            self._identity = self._look()
            if _GONE in self._identity:
                raise CorpusError(
                    f"the store {where} has no file or no log of its name; it was moved or removed meanwhile."
                )
        except sqlite3.Error as error:
            self.close()
            raise CorpusError(f"{where} cannot be used as a store of reports: {error}.") from None
        except CorpusError:
            self.close()
            raise

    def _refuse_others(self, connection: sqlite3.Connection, where: str | Path) -> None:
        """Raise where a file is not empty, and is no store of these settings."""
        if connection.execute("SELECT count(*) FROM sqlite_master").fetchone() != (0,):
            _refuse_others(connection, where, self._settings, ", or another --store")

    def _connect(self) -> sqlite3.Connection:
        connection = sqlite3.connect(
            self._path, isolation_level=None, check_same_thread=False, timeout=_BUSY_SECONDS
        )
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA cache_size = -65536")
        connection.execute("PRAGMA secure_delete = ON")  # what is deleted is overwritten
        return connection

    def snapshot(self) -> Snapshot:
        """Return what is committed now."""
        self.check()
        return Snapshot(self._path, self._settings)

    def begin(self) -> None:
        """Begin to write, into the file that has the store's name, once nobody else does.

        So row numbers are given in the order of commits.
        """
        self.check()
        self._writing.execute("BEGIN IMMEDIATE")

    def commit(self) -> None:
        """Return when what was written is on the disk, in the file that has the store's name."""
        self._writing.execute("COMMIT")
        self.check()

    def rollback(self) -> None:
        """Undo what was written since :meth:`begin`, if anything; never fails."""
        try:
            if self._writing.in_transaction:
                self._writing.execute("ROLLBACK")
        except sqlite3.Error:
            self._writing.close()  # the database then undoes it

    @contextmanager
    def transaction(self) -> Generator[None]:
        """Begin to write, and commit at the end; undo everything where something fails."""
        try:
            self.begin()
            yield
            self.commit()
        except BaseException:
            self.rollback()
            raise

    def insert(self, rows: list[tuple[bytes, bytes]], ticket: bytes | None) -> Receipt | CorpusError:
        """Write a batch, all of it or nothing, and say what became of it; between begin and commit."""
        run = self._writing
        run.execute("SAVEPOINT batch")
        # One statement for all of them: Python's lock is given back once for a batch, not once for a report.
        counted = run.execute(self._insert_all, (b"".join(chain.from_iterable(rows)),)).rowcount
        refused: CorpusError | None = None
        if counted < len(rows):
            for i, (number, bits) in enumerate(rows):
                there = run.execute("SELECT bits FROM reports WHERE number = ?", (number,)).fetchone()
                if there[0] and there[0] != bits:  # without bits it was withdrawn, and is not counted again
                    refused = ConflictError(
                        f"report {i + 1} of {len(rows)}, number {number.hex()}, came before with other bits, and "
                        "nothing of this batch was counted; leave it out, and make a new report with a new number."
                    )
                    break
        # A repeated report needs no ticket of its own: its first answer may have been lost on the way.
        if refused is None and ticket is not None and counted:
            statement = "INSERT INTO spent VALUES (?) ON CONFLICT DO NOTHING"
            if not run.execute(statement, (ticket,)).rowcount:
                refused = SpentError("this ticket was used before; ask for another one.")
        if refused is not None:
            run.execute("ROLLBACK TO SAVEPOINT batch")
        elif counted:
            self._add(reports=counted)
        run.execute("RELEASE SAVEPOINT batch")
        return refused or Receipt(counted, len(rows) - counted)

    def counters(self) -> StoreCounters:
        """Return what is noted of the store, whoever committed it."""
        statement = "SELECT name, value FROM settings WHERE name IN (?, ?, ?)"
        found = self._writing.execute(statement, StoreCounters._fields)
        return StoreCounters(**{name: int(value) for name, value in found})

    def _add(self, **more: int) -> None:
        """Add to what :meth:`counters` returns; between begin and commit."""
        self._writing.executemany(
            "INSERT INTO settings VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = value + excluded.value",
            more.items(),
        )

    def withdraw(self, rows: Sequence[tuple[bytes, bytes]]) -> Withdrawal:
        """Take the bits of reports away, and say what became of the request; between begin and commit.

        A number with other bits is as unknown as one that never came.
        """
        withdrawn, before, unknown, run = 0, 0, 0, self._writing
        for number, bits in rows:
            found = run.execute("SELECT id, bits FROM reports WHERE number = ?", (number,)).fetchone()
            if found is not None and not found[1]:
                before += 1
            elif found is None or not compare_digest(bytes(found[1]), bits):
                unknown += 1
            else:
                run.execute("UPDATE reports SET bits = ? WHERE id = ?", (b"", found[0]))
                withdrawn += 1
        if withdrawn:
            self._add(reports=-withdrawn, generation=1)
        return Withdrawal(withdrawn, before, unknown)

    def expire(self, last_id: int, most: int) -> int:
        """Delete some of the reports up to a row, and return how many; between begin and commit.

        What was withdrawn stays, as a number without bits, so that it is never counted again.
        """
        old = "SELECT id FROM reports WHERE id <= ? AND length(bits) > 0 ORDER BY id LIMIT ?"
        deleted = self._writing.execute(f"DELETE FROM reports WHERE id IN ({old})", (last_id, most)).rowcount
        if deleted:
            self._add(reports=-deleted, generation=1, unpacked=1)
        return int(deleted)

    def pack(self) -> None:
        """Write the whole file anew: pages whose rows were moved when others were deleted hold copies of them."""
        unpacked = self.counters().unpacked
        self._writing.execute("VACUUM")
        with self.transaction():
            self._add(generation=1, unpacked=-unpacked)

    def mark_day(self, day: int) -> None:
        """Note that the rows up to the last one came by this day; between begin and commit.

        Days after this one were noted by a clock that has been put back since: what they say is noted for this day.
        """
        run, newest = self._writing, "SELECT coalesce(max(id), 0) FROM reports"
        last = run.execute(newest).fetchone()[0]
        run.execute("DELETE FROM days WHERE day > ?", (day,))
        if run.execute("SELECT coalesce(max(last_id), -1) FROM days").fetchone()[0] < last:
            run.execute("DELETE FROM days WHERE day = ?", (day,))
            run.execute("INSERT INTO days VALUES (?, ?)", (day, last))

    def last_by(self, day: int) -> int:
        """Return the last row that is known to have come by this day (0: none)."""
        found = self._writing.execute("SELECT max(last_id) FROM days WHERE day <= ?", (day,)).fetchone()
        return int(found[0] or 0)

    def check(self) -> None:
        """Raise where file or log were removed or replaced."""
        if self._identity and self._look() != self._identity:
            raise sqlite3.OperationalError("the store's file was removed or replaced")

    def scrub(self) -> bool:
        """Leave no copy of what was deleted in the write-ahead log, and return True.

        False, at once, where somebody still reads what was before.
        """
        self._writing.execute("PRAGMA busy_timeout = 0")
        try:
            ((held_up, _, _),) = self._writing.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        finally:
            self._writing.execute(f"PRAGMA busy_timeout = {1000 * _BUSY_SECONDS}")
        return not held_up

    def _look(self) -> list[tuple[int, int]]:
        found: list[tuple[int, int]] = []
        for path in (self._path, Path(f"{self._path}-wal")):
            try:
                there = path.stat()
            except OSError:
                found.append(_GONE)
            else:
                found.append((there.st_dev, there.st_ino))
        return found

    def close(self) -> None:
        """Close the connection."""
        if self._writing is not None:
            self._writing.close()


def _unlike(kept: str, wanted: str) -> str:
    """Say in what the reports of a store differ, by what it says of their channel."""
    (kind, *then), (other, *now) = kept.split(","), wanted.split(",")
    if kind != other or "whole documents" not in (kind, other):
        return "of another channel"
    if then[:1] != now[:1]:
        return "on another question"
    return "on this question through another channel, or for other shares of the clients"
