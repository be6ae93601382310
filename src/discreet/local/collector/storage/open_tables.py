"""Which tables a store lies in: a SQLite file, or by URL a PostgreSQL database."""

from pathlib import Path

from discreet.errors import DiscreetError
from discreet.local.collector.storage.kept import Kept
from discreet.local.collector.storage.sqlite_tables import SqliteTables
from discreet.local.collector.storage.tables import Tables

__all__ = ["is_url", "open_tables"]

_POSTGRES = ("postgresql://", "postgres://")


def is_url(where: str | Path) -> bool:
    """Whether it names a database rather than a file."""
    return isinstance(where, str) and where.startswith(_POSTGRES)


def open_tables(where: str | Path, kept: Kept, *, read_only: bool = False) -> Tables:
    """Open or make the tables in a SQLite file or, by URL, in a PostgreSQL database; or only read them.

    Raises
    ------
    CorpusError
        Where they hold reports of another channel or vocabulary, or cannot be used.
    """
    if is_url(where):
        try:
            from discreet.local.collector.storage.postgres_tables import PostgresTables
        except ImportError as error:
            raise DiscreetError(
                f"a PostgreSQL store needs {error.name}: pip install 'discreet[postgres]'."
            ) from None
        return PostgresTables(str(where), kept, read_only=read_only)
    return SqliteTables(Path(where), kept, read_only=read_only)
