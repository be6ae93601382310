"""Options that say which groups there are, and the shares that are released of topics in them."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet._lists import read_list
from discreet.errors import CorpusError, Parameter, ParameterError

if TYPE_CHECKING:
    from discreet.central import TopicPrevalence

__all__ = [
    "Disjoint",
    "End",
    "Every",
    "Groups",
    "PrivateGroups",
    "Start",
    "Unlisted",
    "check_field",
    "fields_of",
    "labels_of",
    "shares_of",
]

Groups = Annotated[Path | None, typer.Option(help="The public list of groups, one per line.")]
Every = Annotated[
    str | None, typer.Option(help="decade, year, quarter, month, week or day: groups are periods.")
]
Start = Annotated[str | None, typer.Option("--from", help="First day or month, such as 2024-01.")]
End = Annotated[str | None, typer.Option("--to", help="Last day or month, such as 2026-06.")]
Disjoint = Annotated[
    bool,
    typer.Option(
        "--disjoint",
        help="Each document has one such date, which never changes: months released one by one cost as one.",
    ),
]
Unlisted = Annotated[
    str | None, typer.Option(help="What to do with labels that are not listed: error, leave_out or other.")
]
PrivateGroups = Annotated[
    bool,
    typer.Option("--private-groups", help="The names of groups are not public: choose them privately, too."),
]


def fields_of(by: str, groups: Path | None, every: str | None) -> tuple[str, ...]:
    """Return the fields that ``--by`` names: one, or for a cross table those of the group and of the date."""
    if groups is None or every is None:
        return (by,)
    fields = tuple(field.strip() for field in by.split(","))
    if len(fields) != 2 or not all(fields):
        raise ParameterError(
            "--groups and --every make a cross table, which needs two fields: that of the group and that of the date, "
            "--by ward,date."
        )
    return fields


def labels_of(
    documents: Any, fields: tuple[str, ...], corpus: Path, known: str, options: dict[str, Any]
) -> Any:
    """Return the labels of documents that were read with the first of the fields; for a cross table a pair.

    The second field is read by itself, with hardly a word of the texts.
    """
    from discreet.corpus import read_corpus
    from discreet.corpus.files import is_standard_input

    if known == "shards":
        return None
    if len(fields) == 1:
        return documents.labels
    if is_standard_input(corpus):
        raise ParameterError("a cross table is read in two passes, so it cannot come from standard input.")
    given: dict[str, Any] = {
        **options,
        "label": fields[1],
        "vocabulary": documents.vocabulary[:1],
        "person": None,
    }
    given = {name: value for name, value in given.items() if value is not None}
    return documents.labels, read_corpus(corpus, known, **given).labels


def shares_of(
    release: Any,
    groups: Path | None,
    every: str | None,
    private_groups: bool,
    **settings: Any,
) -> "TopicPrevalence":
    """Return what releases shares in the groups that the options name, its settings checked.

    Parameters
    ----------
    release : Release or None
    groups : Path or None
    every : str or None
    private_groups : bool
    **settings
        As for :class:`~discreet.TopicPrevalence`.
    """
    from discreet.central import TopicPrevalence

    public = groups is not None or every is not None
    if public and private_groups:
        raise ParameterError(
            "--private-groups chooses the names itself; leave --groups, --every, --from and --to out."
        )
    if not public and not private_groups:
        raise ParameterError(
            "name the public groups: --groups FILE, or --every month --from 2024-01 --to 2026-06, or both for a cross "
            "table; or let their names be chosen: --private-groups."
        )
    shares = TopicPrevalence(
        release,
        None if groups is None else read_list(groups, Parameter("groups")),
        freq=every,
        group_selection="private" if private_groups else "public",
        **settings,
    )
    shares.planned_event()  # refuse settings before a large file is read
    return shares


def check_field(corpus: Path, known: str, by: str) -> None:
    """Refuse counts, which have no fields that could name a group; shards carry one label a document."""
    from discreet.corpus import TEXT_FORMATS

    if known == "shards":
        if by != "label":
            raise CorpusError(
                f"{corpus}: shards carry one label per document, called label: pass --by label. Which field it is, you "
                "choose with --label when shards are written."
            )
        return
    if known not in TEXT_FORMATS:
        raise CorpusError(f"{corpus}: --by names a field of texts (JSON Lines, CSV, Parquet), not of counts.")
