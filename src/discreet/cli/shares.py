"""Shares of topics in groups: which groups there are, what releases the shares, and how they are shown."""

import math
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import discreet
from discreet._base.files import read_list
from discreet._base.validate import quoted
from discreet.cli.options import PRIVATE, Group
from discreet.errors import CorpusError, Parameter, ParameterError

if TYPE_CHECKING:
    from discreet.central.prevalence.labelled import Reach
    from discreet.release.prevalence import PrevalenceRelease


@dataclass(frozen=True)
class InGroups(Group):
    """Which groups there are."""

    groups: Path | None = None
    every: str | None = None
    from_: str | None = None
    to: str | None = None
    private_groups: bool = False

    def fields_of(self, by: str) -> tuple[str, ...]:
        """Return the fields that ``--by`` names: one, or for a cross table those of the group and of the date."""
        if not by.strip():
            raise ParameterError("--by must be the name of a field, but is empty.")
        if self.groups is None or self.every is None:
            return (by,)
        fields = tuple(field.strip() for field in by.split(","))
        if len(fields) != 2 or not all(fields):
            raise ParameterError(
                "--groups and --every make a cross table, which needs two fields: that of the group and that of the "
                "date, --by ward,date."
            )
        return fields

    def shares_of(self, release: Any, *, whole: bool = False, **settings: Any) -> "discreet.TopicPrevalence":
        """Return what releases shares in these groups, its settings checked; ``whole``: all documents are one group."""
        from discreet.central.prevalence.brought import ALL

        public = self.groups is not None or self.every is not None
        if whole and (public or self.private_groups):
            raise ParameterError("groups need --by FIELD, which says in which of them each document is.")
        if public and self.private_groups:
            raise ParameterError(
                "--private-groups chooses the names itself; leave --groups, --every, --from and --to out."
            )
        if not public and not self.private_groups and not whole:
            raise ParameterError(
                "name the public groups: --groups FILE, or --every month --from 2024-01 --to 2026-06, or both for a "
                "cross table; or let their names be chosen: --private-groups."
            )
        shares = discreet.TopicPrevalence(
            release,
            [ALL] if whole else None if self.groups is None else read_list(self.groups, Parameter("groups")),
            freq=self.every,
            start=self.from_,
            end=self.to,
            group_selection="private" if self.private_groups else "public",
            **settings,
        )
        shares.planned_event()  # refuse settings before a large file is read
        return shares


def labels_of(
    documents: Any, fields: tuple[str, ...], corpus: Path, known: str, options: dict[str, Any], say: Any
) -> Any:
    """Return the labels of documents that were read with the first of the fields; for a cross table a pair.

    The second field is read by itself, with hardly a word of the texts. How many have no label is said to whoever
    holds them.
    """
    from discreet.central.prevalence.groups import written
    from discreet.corpus import read_corpus

    columns = [documents.labels]
    if len(fields) == 2:
        given: dict[str, Any] = {**options, "label": fields[1], "vocabulary": documents.vocabulary[:1]}
        columns.append(read_corpus(corpus, known, **given).labels)
    for field, labels in zip(fields, columns, strict=True):
        n_without = sum(written(label) is None for label in labels)
        if n_without:
            of_all = f"{n_without:,} of {len(labels):,} documents"
            say.print(f"{PRIVATE}{of_all} have no {field!r}, and are in none of the groups.")
    return columns[0] if len(columns) == 1 else tuple(columns)


#: Labels that are longer may be texts, where the field is another than was meant.
_MOST_SHOWN, _LONGEST_NAME = 12, 40


def say_unlisted(shares: "discreet.TopicPrevalence", field: str, labels: Any, say: Any) -> None:
    """Show whoever holds the texts which labels are not among the public groups, where that is an error."""
    from discreet.central.prevalence.groups import written

    if shares.groups is None or shares.unlisted is not None or shares.freq is not None:
        return
    found = {written(label) for label in labels} - {None, *map(written, shares.groups)}
    strange = sorted(name for name in found if name and len(name) <= _LONGEST_NAME)
    if strange:
        names = ", ".join(map(quoted, strange[:_MOST_SHOWN])) + ", ..." * (len(found) > _MOST_SHOWN)
        say.print(f"{PRIVATE}not among the groups, in field {field!r}: {names}")


_LESS_NOISE = " More texts, fewer groups, longer periods or a larger --epsilon make it less."


def expected_of_shares(shares: "discreet.TopicPrevalence", found: "Reach", called: str) -> str:
    """Say how well shares will be known, and what helps where a usual share would drown in noise."""
    import numpy as np

    from discreet.central.prevalence.labelled import reach_in_points
    from discreet.report.wording import many

    assert shares.release is not None
    n_topics, n_groups, there = len(shares.release.topic_word), len(found.units), found.in_words(called)
    promise = shares.epsilon, shares.delta, shares.count_weight
    if found.hidden(n_topics, *promise):
        return (
            f"{there}: noise will hide every share, so that the release will say nothing.{_LESS_NOISE} Unless it asks "
            "now, it goes on all the same, as to end here would tell of the texts: stop it."
        )
    if shares.group_selection == "private":
        return f"{there}."
    usual = float(np.median(found.units[found.units > 0]))
    alone, together = reach_in_points(usual, n_groups, n_topics, *promise)
    how = f"with the noise, one share by itself will be known to about \u00b1{alone:.1f} points (95 %)"
    if n_groups > 1:
        there += f"; the median group has {many(round(usual), called)}"
        among = f"; among all {n_groups * n_topics:,} shares together, with chance, to about"
        how += f"{among} \u00b1{together:.1f}"
    how = how if alone <= 100 else "noise will hide the shares of every second group"
    return f"{there}: {how}.{_LESS_NOISE if alone > 100 / n_topics else ''}"


def check_field(corpus: Path, known: str, fields: tuple[str, ...]) -> None:
    """Refuse fields that cannot be read: counts have none, shards one label a document, and a pipe is read once."""
    from discreet.corpus.formats.table import TEXT_FORMATS

    if known == "shards":
        if fields != ("label",):
            raise CorpusError(
                f"{corpus}: shards carry one label per document, called label: pass --by label. Which field it is, you "
                "choose with --label when shards are written."
            )
        return
    if known not in TEXT_FORMATS:
        raise CorpusError(f"{corpus}: --by names a field of texts (JSON Lines, CSV, Parquet), not of counts.")
    if len(fields) == 2 and corpus.exists() and not (corpus.is_file() or corpus.is_dir()):
        raise CorpusError("a cross table is read in two passes, so it cannot come from standard input.")


def write_table(made: "PrevalenceRelease", path: Path) -> None:
    """Write all shares as a table: .csv."""
    from discreet._base.files import write_whole
    from discreet.report.prevalence_page import table_csv

    write_whole(table_csv(made).encode("utf-8-sig"), path, "the table")


def show_shares(made: "PrevalenceRelease", say: Any) -> None:
    """Print what differs clearly, with intervals, or where nothing does, the largest shares."""
    import numpy as np

    from discreet.cli.display import print_table
    from discreet.report.prevalence_page import shown_intervals
    from discreet.report.wording import many, weighed

    over_time = len(made.periods) > 1
    rest = made.against_rest() if len(made.groups) > 1 else None
    found = made.growth() if over_time else rest
    sure = np.zeros(0, np.int64) if found is None else np.flatnonzero(found.certain)
    there = made.certain_groups
    kept = there if there.any() else ~there  # shares of a group that may be empty are those of noise
    what = f"{_span(made)}, all topics" if over_time else "between each group and all the others, all"
    if found is not None and len(sure):
        say.print(
            f"Differences {what} tested together: {len(sure)} of {found.certain.size} are clear at 95 %."
        )
        parts, form, over = (found.difference, found.low, found.high), "{:+.1f}", over_time
        chosen, columns = sure, ("group", ">topic", ">points", ">interval", "words")
    else:
        form, over = "{:.1f}", False
        _, low, high = shown_intervals(made, rest)
        parts = (made.shares().share, low.clip(0, 1), high.clip(0, 1))
        columns = ("group", ">topic", ">share in %", ">95 % interval", "words")
        chosen = np.flatnonzero(np.repeat(kept, len(made.topics)))
    # What is surely large comes first, and not what is noisiest.
    ends = np.sort(np.abs([part.ravel()[chosen] for part in parts[1:]]), axis=0)
    chosen = chosen[np.lexsort((ends[1], -ends[0]))]
    if not len(sure):
        if found is not None:
            say.print(
                f"Of the differences {what} tested together, none is clear at 95 %: noise and chance may explain all.\n"
            )
        which = (
            f"{_MOST_SHOWN} of {len(chosen)} shares, those that are surely largest first"
            if len(chosen) > _MOST_SHOWN
            else "All shares"
        )
        left = len(kept) - int(kept.sum())
        without = f", without those of {many(left, 'group')} that may be empty" if left else ""
        whose = "its own interval, of the noise alone"
        if rest is not None:
            whose = "its interval among all of them, wider than its own"
        say.print(f"{which}{without}, each with {whose}:")
    rows: list[tuple[str, ...]] = []
    cells: list[int] = chosen[:_MOST_SHOWN].tolist()
    marked = False
    for cell in cells:
        group, topic = divmod(cell, len(made.topics))
        value, low, high = (form.format(100 * float(part.ravel()[cell])) for part in parts)
        doubtful = not over and not there[group]
        marked |= doubtful
        name = made.groups[group] + (" *" if doubtful else "")
        rows.append((name, str(topic + 1), value, f"{low} to {high}", made.topics[topic]))
    print_table(say, columns[over:], [row[over:] for row in rows])
    if marked:
        say.print("* may be empty: its size is not clearly above 0 at 95 %.")
    if weighed(made)[1]:
        say.print(weighed(made)[1])


def cost_of_topics(made: "PrevalenceRelease") -> str:
    """Say what the topics cost, and whether that is counted already."""
    from discreet.release.details import topics_are_public

    settings = made.configuration
    if topics_are_public(made):
        return "The topics are public, as whoever brought them vouches, and cost nothing."
    promise = f"epsilon = {settings.get('topics_epsilon', math.nan):.4g}"
    if settings.get("topics_booked_here"):
        return f"That includes the topics, which cost {promise} on the same ledger."
    return (
        f"The topics cost {promise} on their own, on another ledger: for readers of both, the costs add up. With "
        "the topics' --ledger, both are counted together."
    )


def _span(made: "PrevalenceRelease") -> str:
    """Return which periods are compared: "from 2024-01–2024-03 to 2024-10–2024-12"."""
    many = max(1, len(made.periods) // 4)
    ends = made.periods[:many], made.periods[-many:]
    return "from " + " to ".join("\u2013".join(dict.fromkeys((end[0], end[-1]))) for end in ends)
