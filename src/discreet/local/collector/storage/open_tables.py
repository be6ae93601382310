"""Which tables a store lies in: a SQLite file, or by URL a PostgreSQL database."""

from collections.abc import Sequence
from pathlib import Path

from discreet.errors import DiscreetError
from discreet.local.collector.storage.sqlite_tables import SqliteTables
from discreet.local.collector.storage.tables import Tables
from discreet.privacy.bit_channel import BitChannel

__all__ = ["open_tables"]

_POSTGRES = ("postgresql://", "postgres://")


def open_tables(where: str | Path, words: Sequence[str], channel: BitChannel) -> Tables:
    """Open or make the tables in a SQLite file or, by URL, in a PostgreSQL database.

    Raises
    ------
    CorpusError
        Where they hold reports of another channel or vocabulary, or cannot be used.
    """
    if isinstance(where, str) and where.startswith(_POSTGRES):
        try:
            from discreet.local.collector.storage.postgres_tables import PostgresTables
        except ImportError as error:
            raise DiscreetError(
                f"a PostgreSQL store needs {error.name}: pip install 'discreet[postgres]'."
            ) from None
        return PostgresTables(where, words, channel)
    return SqliteTables(Path(where), words, channel)
