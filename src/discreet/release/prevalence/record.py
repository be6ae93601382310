"""The prevalence release: how much of each topic stands in each group, with noise, and nothing else.

It holds the released sums as they are; shares, intervals, differences and trends are computed from them when asked
for, so one file answers all these questions at no further cost.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from discreet._base.display import frame
from discreet._base.files import page_or_none
from discreet._base.lazy import later
from discreet._base.sealed import Seal
from discreet._base.validate import kind_of, shown
from discreet.errors import ParameterError, ReleaseError
from discreet.privacy.ledger.ledger import Ledger
from discreet.release.files import halves
from discreet.release.numbers import LARGEST_SUM, NumbersRelease, checked_level
from discreet.release.prevalence import changes
from discreet.release.prevalence.changes import Differences, Moves, Trend
from discreet.release.prevalence.shares import (
    Shares,
    Sums,
    group_sizes,
    long_table,
    projected,
    raw,
    surely_there,
)

_prevalence_card = later("discreet.report.card", "prevalence_card")
_prevalence_page = later("discreet.report.prevalence_page", "prevalence_page")

#: What documents of no listed group are put into.
OTHER = "other"
#: What stands between the names of a row and a column, in that of a cell.
BETWEEN = " | "


class Table(NamedTuple):
    """The rows and columns of a cross table, whose cells are groups, row by row."""

    rows: tuple[str, ...]
    columns: tuple[str, ...]


def table_of(groups: tuple[str, ...], configuration: Mapping[str, Any]) -> Table | None:
    """Return the rows and columns that the names of cells tell; ``ReleaseError`` where they tell none."""
    width = configuration.get("n_columns")
    if width is None:
        return None
    cells = groups[:-1] if groups[-1] == OTHER else groups
    pairs = [tuple(name.split(BETWEEN)) for name in cells]
    if type(width) is int and 1 <= width <= len(pairs) and all(len(pair) == 2 for pair in pairs):
        rows, columns = tuple(pair[0] for pair in pairs[::width]), tuple(pair[1] for pair in pairs[:width])
        if [(row, column) for row in rows for column in columns] == pairs:
            return Table(rows, columns)
    raise ReleaseError(
        "the groups are not the cells of a table, row by row, of as many columns as n_columns says."
    )


Floats = NDArray[np.float64]
Kind = Literal["projected", "raw"]
_KINDS = {"raw": raw, "projected": projected}
#: So many groups times topics a file can hold.
MOST_CELLS = 1_000_000


@dataclass(frozen=True, eq=False, repr=False)
class PrevalenceRelease(NumbersRelease):
    """What may be published of topics in groups.

    Parameters
    ----------
    topic_totals : array of shape (n_groups, n_topics)
        Sums of topic shares over the units of each group, with noise.
    unit_counts : array of shape (n_groups,)
        ``count_weight`` times the number of units of each group, with noise.
    noise : float
        Standard deviation of the noise in each of these numbers; 0 without privacy.
    count_weight : float
    groups : sequence of str of length n_groups
        Distinct names, in their order where they have one.
    topics : sequence of str of length n_topics
        What to call each topic: the name that it was given, or words that are typical of it.
    ledger : Ledger
        What was booked; a closed copy is kept.
    configuration : mapping, optional
        Public settings.
    reproducible : bool, default False
        Whether any noise came from a seed, that of the topics included.
    topic_words : sequence of n_topics sequences of str, optional
        Of public topics that were brought: their words. A file of other topics has none.

    Raises
    ------
    ReleaseError
        Naming the field that is wrong.
    """

    topic_totals: Floats
    unit_counts: Floats
    noise: float
    count_weight: float
    groups: tuple[str, ...]
    topics: tuple[str, ...]
    ledger: Ledger
    configuration: Mapping[str, Any] = field(default_factory=dict)
    reproducible: bool = False
    topic_words: tuple[tuple[str, ...], ...] = ()

    SEAL: ClassVar[Seal] = Seal("discreet.prevalence/2", "shares", ReleaseError)
    PURPOSE: ClassVar[str] = "shares of topics in groups"

    def __post_init__(self) -> None:
        totals = _numbers("topic_totals", self.topic_totals)
        counts = _numbers("unit_counts", self.unit_counts)
        groups, topics = _names("groups", self.groups), _names("topics", self.topics, distinct=False)
        if totals.shape != (len(groups), len(topics)) or counts.shape != (len(groups),):
            raise ReleaseError(
                f"{len(groups)} groups and {len(topics)} topics need totals of shape {(len(groups), len(topics))} and "
                f"{len(groups)} counts, but these have shapes {totals.shape} and {counts.shape}."
            )
        words = tuple(_names("topic_words", words) for words in self.topic_words)
        if words and len(words) != len(topics):
            raise ReleaseError(f"topic_words must be none, or those of each of {len(topics)} topics.")
        object.__setattr__(self, "topic_words", words)
        object.__setattr__(self, "topic_totals", totals)
        object.__setattr__(self, "unit_counts", counts)
        object.__setattr__(self, "groups", groups)
        object.__setattr__(self, "topics", topics)
        self._close()
        table_of(groups, self.configuration)  # refuses what is none

    # ---- what the numbers say

    @property
    def sums(self) -> Sums:
        """The released numbers."""
        return Sums(self.topic_totals, self.unit_counts, self.noise, self.count_weight)

    def shares(self, kind: Kind = "projected", *, level: float = 0.95) -> Shares:
        """Return shares, intervals and standard errors, arrays of shape (n_groups, n_topics).

        Parameters
        ----------
        kind : {"projected", "raw"}, default "projected"
            See :mod:`discreet.release.prevalence.shares`. Both have the same intervals, which hold the exact share of
            each cell, of the documents at hand, with probability ``level``.
        level : float, default 0.95
        """
        if kind not in _KINDS:
            raise ParameterError(f"kind must be one of {', '.join(_KINDS)}, but is {shown(kind)}.")
        return _KINDS[kind](self.sums, checked_level(level))

    @property
    def n_units(self) -> Floats:
        """Noisy number of units of each group, shape (n_groups,)."""
        return group_sizes(self.sums)[0]

    @property
    def n_units_error(self) -> float:
        """Standard error of each number of units."""
        return group_sizes(self.sums)[1]

    @property
    def certain_groups(self) -> NDArray[np.bool_]:
        """Whether each group is surely not empty: with 95 % confidence none that is empty is called so."""
        return surely_there(self.sums)

    @property
    def periods(self) -> tuple[str, ...]:
        """The groups that are periods, in order: without "other"; none where the groups are not of dates."""
        if "freq" not in self.configuration or self.table is not None:
            return ()
        return self.groups[:-1] if self.groups[-1] == OTHER and len(self.groups) > 1 else self.groups

    @property
    def table(self) -> Table | None:
        """The rows and columns of a cross table; None where the groups are one list."""
        return table_of(self.groups, self.configuration)

    def compare(self, first: str, second: str, *, level: float = 0.95) -> Differences:
        """Return the differences of shares between two groups, with intervals, and which of them are certain."""
        found = changes.compare(self.sums, self._index(first), self._index(second), checked_level(level))
        return found.named(self.topics, (first,), f"in {second}")

    def growth(self, groups: Sequence[str] | None = None, *, level: float = 0.95) -> Differences:
        """Return how much more of each topic there is in the last quarter of the groups than in the first.

        All topics are tested together, as by :meth:`compare`.

        Parameters
        ----------
        groups : sequence of str, optional
            Groups in their order; by default the periods, where groups are of dates.
        level : float, default 0.95
        """
        names = self._ordered(groups)
        found, many = changes.growth(self._some(names), checked_level(level)), max(1, len(names) // 4)
        return found.named(self.topics, (_span(names[-many:]),), f"in {_span(names[:many])}")

    def trend(self, groups: Sequence[str] | None = None, *, level: float = 0.95) -> Trend:
        """Return the shares smoothed over the groups in their order, with a band for each period's own share.

        Parameters
        ----------
        groups : sequence of str, optional
            Groups in their order; by default the periods, where groups are of dates.
        level : float, default 0.95
        """
        names, level = self._ordered(groups), checked_level(level)
        some = self._some(names)
        found, moves = changes.trend(some, level), changes.moving(some, level).moves
        return found._replace(topics=self.topics, groups=names, moves=moves)

    def moving(self, *, level: float = 0.95) -> Moves:
        """Return which topics' shares surely differ between groups, all topics together.

        Where groups are of dates, between the periods.
        """
        found = changes.moving(self._some(self.periods or self.groups), checked_level(level))
        return found._replace(topics=self.topics)

    def against_rest(self, *, level: float = 0.95) -> Differences:
        """Return how much more of each topic there is in each group than in all the others together.

        Arrays of shape (n_groups, n_topics), all tested together. Where groups are of dates, a row for each of the
        periods, which are compared with each other.
        """
        names = self.periods or self.groups
        found = changes.against_rest(self._some(names), checked_level(level))
        return found.named(self.topics, names, "in all the others together")

    def to_columns(self, kind: Kind = "projected", *, level: float = 0.95) -> dict[str, list[Any]]:
        """Return a row for each group and topic, as columns.

        They are group, topic (its number, from 1), words, share, low, high, standard_error, n_units, n_units_error,
        sampling_error, certain_group and kind; difference, difference_low, difference_high and differs, by
        :meth:`against_rest`, where there are several groups; and label, which says why, where numbers may not leave.
        """
        found, n_topics = self.shares(kind, level=level), len(self.topics)
        n_rows = found.share.size
        return self._labelled(
            {
                **long_table(self.groups, self.topics, **found._asdict()),
                "n_units": np.repeat(self.n_units, n_topics).tolist(),
                "n_units_error": [self.n_units_error] * n_rows,
                "sampling_error": changes.sampling_error(self.sums).ravel().tolist(),
                "certain_group": np.repeat(self.certain_groups, n_topics).tolist(),
                "kind": [kind] * n_rows,
                **self._columns_of_differences(level),
            }
        )

    def to_frame(self, kind: Kind = "projected", *, level: float = 0.95) -> Any:
        """Return :meth:`to_columns` as a data frame: of pandas, or polars, or pyarrow, whichever is installed."""
        return frame(self.to_columns(kind, level=level))

    def to_html(self, path: str | Path | None = None, *, overwrite: bool = False) -> str | None:
        """Return a page to look at, offline, or write it to ``path``; ``overwrite``: over what is there, too."""
        return page_or_none(_prevalence_page(self), path, "the report", overwrite=overwrite)

    def card(self) -> str:
        """Return the card in Markdown: what was released, whose presence is protected, what it cost."""
        return _prevalence_card(self)

    def __repr__(self) -> str:
        size = f"{len(self.groups)} groups, {len(self.topics)} topics"
        return f"<PrevalenceRelease: {size}, {self.determinism}; {self.ledger!r}>"

    def _columns_of_differences(self, level: float) -> dict[str, list[Any]]:
        if len(self.groups) == 1:
            return {}
        found = self.against_rest(level=level)
        unknown = [None] * (self.topic_totals.size - found.difference.size)  # "other" is no period
        parts = {
            "difference": found.difference,
            "difference_low": found.low,
            "difference_high": found.high,
            "differs": found.certain,
        }
        return {name: [*part.ravel().tolist(), *unknown] for name, part in parts.items()}

    def _ordered(self, groups: Sequence[str] | None) -> tuple[str, ...]:
        """Return groups that have an order: those given, or the periods."""
        if groups is not None:
            return tuple(groups)
        if not self.periods:
            raise ParameterError(
                "these groups are not periods, so nothing says what their order is; name them in order: "
                f"{shown(list(self.groups[:3]))}, ..."
            )
        return self.periods

    def _some(self, groups: Sequence[str]) -> Sums:
        which = [self._index(group) for group in groups]
        if not which or len(set(which)) < len(which):
            raise ParameterError("expected groups of the release, one or more, each once.")
        return self.sums._replace(topics=self.topic_totals[which], counts=self.unit_counts[which])

    def _index(self, group: str) -> int:
        if group not in self.groups:
            raise ParameterError(
                f"there is no group {shown(group)}; choose among {', '.join(self.groups[:10])}."
            )
        return self.groups.index(group)


def _span(groups: Sequence[str]) -> str:
    """Return "2024-01–2024-03"."""
    return "\u2013".join(dict.fromkeys((groups[0], groups[-1])))


def _numbers(name: str, value: Any) -> Floats:
    try:
        array = np.array(value, dtype=np.float64)
    except (TypeError, ValueError):
        raise ReleaseError(f"{name} must be an array of numbers, but is {kind_of(value)}.") from None
    if not (np.abs(array) <= LARGEST_SUM).all():
        raise ReleaseError(f"{name} must hold finite numbers of at most {LARGEST_SUM:g} either way.")
    array.flags.writeable = False
    return array


def _names(name: str, values: Any, *, distinct: bool = True) -> tuple[str, ...]:
    names = () if isinstance(values, str) else tuple(values)
    if not names or not all(isinstance(value, str) and value for value in names):
        raise ReleaseError(f"{name} must be a sequence of names that are not empty.")
    if any(halves(value) for value in names):
        raise ReleaseError(f"{name} must be text that a file can hold, without halves of characters.")
    if distinct and len(set(names)) != len(names):
        raise ReleaseError(f"{name} must be distinct, but some are repeated.")
    return names
