"""The answers that a store holds, as reports again: what the next question is made from."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from discreet.errors import CorpusError
from discreet.local.collector.storage.kept import kept_of
from discreet.local.collector.storage.open_tables import is_url, open_tables
from discreet.local.collector.storage.sums import TOGETHER
from discreet.local.whole_document.published import PublishedQuestion
from discreet.local.whole_document.wire import CodebookReport

__all__ = ["collected_answers"]


def collected_answers(where: str | Path, asked: PublishedQuestion) -> list[CodebookReport]:
    """Return the answers to a question that a collector keeps, each once; nothing is written there.

    Parameters
    ----------
    where : path or str
        A SQLite file, or the URL of a PostgreSQL database; a collector may be using it.
    asked : PublishedQuestion

    Raises
    ------
    CorpusError
        Where there is no such store, or one of other reports.
    """
    if not is_url(where) and not Path(where).is_file():
        raise CorpusError(f"there is no store of reports at {where}.")
    blank, found = asked.blank(), list[CodebookReport]()
    tables = open_tables(where, kept_of(asked.question.vocabulary, asked), read_only=True)
    try:
        last, more = 0, True
        while more:
            rows = tables.numbered(last, TOGETHER)
            found += [
                replace(blank, number=bytes(number), answer=int.from_bytes(bytes(answer), "little"))
                for _, number, answer in rows
            ]
            last, more = (rows[-1][0] if rows else last), len(rows) == TOGETHER
    except tables.failures as error:
        raise CorpusError(f"the store cannot be read ({type(error).__name__}).") from None
    finally:
        tables.close()
    return found
