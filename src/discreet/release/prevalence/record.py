"""The prevalence release: how much of each topic stands in each group, with noise, and nothing else.

It holds the released sums as they are; shares, intervals, differences and trends are computed from them when asked
for, so one file answers all these questions at no further cost.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from discreet._presenter import presenter
from discreet._tables import frame
from discreet._validate import shown
from discreet.errors import ParameterError, ReleaseError
from discreet.privacy.ledger.ledger import Ledger
from discreet.release.booking.promised import NumbersRelease
from discreet.release.prevalence.changes import (
    Differences,
    Trend,
    against_rest,
    compare,
    growth,
    moving,
    sampling_error,
    trend,
)
from discreet.release.prevalence.response import correction, response
from discreet.release.prevalence.shares import Shares, Sums, corrected, group_sizes, projected, raw, shrunk

if TYPE_CHECKING:
    from discreet.release.record import Release

__all__ = ["PrevalenceRelease"]

Floats = NDArray[np.float64]
Kind = Literal["projected", "shrunk", "raw"]
_KINDS = {"raw": raw, "projected": projected, "shrunk": shrunk}
#: A group is told apart from an empty one only beyond this many standard errors.
_SURELY_THERE = 2.0


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
        What to call each topic: its most probable words.
    ledger : Ledger
        What was booked; a closed copy is kept.
    configuration : mapping, optional
        Public settings.
    reproducible : bool, default False
        Whether any noise came from a seed, that of the topics included.

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

    SCHEMA: ClassVar[str] = "discreet.prevalence/1"
    _THING: ClassVar[str] = "the shares"

    def __post_init__(self) -> None:
        totals, counts = (
            _numbers("topic_totals", self.topic_totals),
            _numbers("unit_counts", self.unit_counts),
        )
        groups, topics = _names("groups", self.groups), _names("topics", self.topics, distinct=False)
        if totals.shape != (len(groups), len(topics)) or counts.shape != (len(groups),):
            raise ReleaseError(
                f"{len(groups)} groups and {len(topics)} topics need totals of shape {(len(groups), len(topics))} and "
                f"{len(groups)} counts, but these have shapes {totals.shape} and {counts.shape}."
            )
        for name, least in (("noise", 0.0), ("count_weight", 1e-9)):
            value = getattr(self, name)
            if not (isinstance(value, int | float) and math.isfinite(value) and value >= least):
                raise ReleaseError(
                    f"{name} must be a finite number of at least {least:g}, but is {shown(value)}."
                )
            object.__setattr__(self, name, float(value))
        object.__setattr__(self, "topic_totals", totals)
        object.__setattr__(self, "unit_counts", counts)
        object.__setattr__(self, "groups", groups)
        object.__setattr__(self, "topics", topics)
        object.__setattr__(self, "configuration", MappingProxyType(dict(sorted(self.configuration.items()))))
        self._close()

    # ---- what the numbers say

    @property
    def sums(self) -> Sums:
        """The released numbers."""
        return Sums(self.topic_totals, self.unit_counts, self.noise, self.count_weight)

    def shares(self, kind: Kind = "projected", *, level: float = 0.95) -> Shares:
        """Return shares, intervals and standard errors, arrays of shape (n_groups, n_topics).

        Parameters
        ----------
        kind : {"projected", "shrunk", "raw"}, default "projected"
            See :mod:`discreet.release.prevalence.shares`. All have the same intervals, which hold the exact share of
            each cell, of the documents at hand, with probability ``level``.
        level : float, default 0.95
        """
        if kind not in _KINDS:
            raise ParameterError(f"kind must be one of {', '.join(_KINDS)}, but is {shown(kind)}.")
        return _KINDS[kind](self.sums, _level(level))

    def corrected(
        self, topics: "Release", document_length: float, *, ridge: float = 0.1, level: float = 0.95
    ) -> Shares:
        """Return shares corrected for what fold-in does to short documents; costs nothing.

        Parameters
        ----------
        topics : Release
            The topics that these are shares of.
        document_length : float
            Words a document, on average: a public number, which must not be taken from the texts.
        ridge : float, default 0.1
            From 0, all of the correction, to 1, none of it.
        level : float, default 0.95
            Intervals hold the noise, and nothing of how well the correction fits: see
            :mod:`discreet.release.prevalence.response`.
        """
        if len(topics.topic_word) != len(self.topics):
            raise ParameterError(
                f"these are shares of {len(self.topics)} topics, but the release has {len(topics.topic_word)}; give "
                "the one that the shares were found with."
            )
        undo = correction(response(topics, document_length), ridge)
        return corrected(self.sums, undo, _level(level))

    @property
    def n_units(self) -> Floats:
        """Noisy number of units of each group, shape (n_groups,)."""
        return group_sizes(self.sums)[0]

    @property
    def certain_groups(self) -> NDArray[np.bool_]:
        """Whether each group is surely not empty: its noisy size lies two standard errors above 0."""
        sizes, error = group_sizes(self.sums)
        return sizes > _SURELY_THERE * error

    def compare(self, first: str, second: str, *, level: float = 0.95) -> Differences:
        """Return the differences of shares between two groups, with intervals, and which of them are certain."""
        return compare(self.sums, self._index(first), self._index(second), _level(level))

    def growth(self, *, level: float = 0.95) -> Differences:
        """Return how much more of each topic there is in the last quarter of the groups than in the first.

        For groups in the order of time. All topics are tested together, as by :meth:`compare`.
        """
        return growth(self.sums, _level(level))

    def trend(self, *, level: float = 0.95) -> Trend:
        """Return the shares smoothed over the groups in their order, with a band for each period's own share."""
        return trend(self.sums, _level(level))

    def against_rest(self, *, level: float = 0.95) -> Differences:
        """Return how much more of each topic there is in each group than in all the others together.

        Arrays of shape (n_groups, n_topics); all groups and topics are tested together.
        """
        return against_rest(self.sums, _level(level))

    def moving(self, *, level: float = 0.95) -> NDArray[np.bool_]:
        """Whether each topic's share surely differs from group to group, shape (n_topics,); all tested together."""
        return moving(self.sums, _level(level))

    def to_columns(self, kind: Kind = "projected", *, level: float = 0.95) -> dict[str, list[Any]]:
        """Return a row for each group and topic, as columns.

        They are group, topic (its number, from 0), words, share, low, high, standard_error, n_units, sampling_error,
        certain_group and kind; and label, "reproducible, not for release", where a seed was used.
        """
        found, sizes, sure = self.shares(kind, level=level), self.n_units, self.certain_groups
        n_groups, n_topics = found.share.shape
        return {
            "group": [group for group in self.groups for _ in range(n_topics)],
            "topic": list(range(n_topics)) * n_groups,
            "words": list(self.topics) * n_groups,
            "share": found.share.ravel().tolist(),
            "low": found.low.ravel().tolist(),
            "high": found.high.ravel().tolist(),
            "standard_error": found.standard_error.ravel().tolist(),
            "n_units": np.repeat(sizes, n_topics).tolist(),
            "sampling_error": sampling_error(self.sums).ravel().tolist(),
            "certain_group": np.repeat(sure, n_topics).tolist(),
            "kind": [kind] * (n_topics * n_groups),
            **({"label": [self.determinism] * (n_topics * n_groups)} if self.reproducible else {}),
        }

    def to_frame(self, kind: Kind = "projected", *, level: float = 0.95) -> Any:
        """Return :meth:`to_columns` as a data frame: of pandas, or polars, or pyarrow, whichever is installed."""
        return frame(self.to_columns(kind, level=level))

    def to_html(self, path: str | Path | None = None) -> str:
        """Return a page to look at, offline; also write it to ``path`` where that is given."""
        page = presenter.prevalence_page(self)
        if path is not None:
            presenter.write_page(page, Path(path), secret=False)
        return page

    def card(self) -> str:
        """Return the card in Markdown: what was released, whose presence is protected, what it cost."""
        return presenter.prevalence_card(self)

    def __repr__(self) -> str:
        size = f"{len(self.groups)} groups, {len(self.topics)} topics"
        return f"<PrevalenceRelease: {size}, {self.determinism}; {self.ledger!r}>"

    def _index(self, group: str) -> int:
        if group not in self.groups:
            raise ParameterError(
                f"there is no group {shown(group)}; choose among {', '.join(self.groups[:10])}."
            )
        return self.groups.index(group)


def _level(level: float) -> float:
    if not (isinstance(level, int | float) and 0 < level < 1):
        raise ParameterError(f"level must be between 0 and 1, but is {shown(level)}.")
    return float(level)


def _numbers(name: str, value: Any) -> Floats:
    try:
        array = np.array(value, dtype=np.float64)
    except (TypeError, ValueError):
        raise ReleaseError(f"{name} must be an array of numbers, but is a {type(value).__name__}.") from None
    if not np.isfinite(array).all():
        raise ReleaseError(f"{name} must hold finite numbers.")
    array.flags.writeable = False
    return array


def _names(name: str, values: Any, *, distinct: bool = True) -> tuple[str, ...]:
    names = () if isinstance(values, str) else tuple(values)
    if not names or not all(isinstance(value, str) and value for value in names):
        raise ReleaseError(f"{name} must be a sequence of names that are not empty.")
    if distinct and len(set(names)) != len(names):
        raise ReleaseError(f"{name} must be distinct, but some stand there twice.")
    return names
