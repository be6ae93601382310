r"""Private documents with labels, and their statistic: sums of topic shares, and counts of units, in public groups.

A document d with topic shares :math:`\theta_d` in group g contributes

.. math:: v_d = (\theta_d \text{ in row } g;\; c \text{ in the count of } g), \qquad
          \lVert v_d \rVert_2 = \sqrt{\lVert\theta_d\rVert_2^2 + c^2} \le \sqrt{1 + c^2},

since theta sums to 1; and nothing where it has no group. A person's contribution is the mean over those of their
documents that have a group, and lies in the same ball, which is convex. So a person weighs one in all, however much
they wrote: sizes of groups add up to the number of people, each split as their documents are, and shares are means
over people. (The sum over the documents, scaled down to the ball, would reach its edge, with up to
:math:`\sqrt{(1 + c^2) / (1/K + c^2)}` times the signal; but then whoever writes much, on many topics, weighs more, and
no size says how many there are.) The contribution is placed on the lattice.

Guarantee
---------
*Unit, neighbours*: a document, or all documents of a person, added or removed. *Released*: nothing here; the integer
sum goes to a mechanism. *Sensitivity*: :math:`\sqrt{1 + c^2}` in L2, exactly :math:`2^{\mathrm{bits}}` on the
lattice: the topics, the groups and c are public, :math:`\theta_d` is folded in from the one document, and its group
is a function of its own label; so a unit's vector depends on no other unit, and :class:`~discreet.privacy.Bound`
holds its norm, by scaling down what rounding lets stand out. *Event*: that of the mechanism.

Which group each document belongs to, by its label
--------------------------------------------------
One group, or none where it has no label. This is a function of the document alone, on which the sensitivity of the
statistic rests. Labels are private: no error shows one, it only says in which rows to look. What is wrong with labels
is found before anything is booked: the error tells those who hold the labels, nobody else.

In memory or in shards
----------------------
A shard holds whole units with their labels, so a sum over units is the sum over shards; both are of integers.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence, Sized
from contextlib import suppress
from functools import partial
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.special import ndtri

from discreet._base.arrays import COUNT_ITS_WORDS, carried, column_order, in_order
from discreet._base.persons import check_same_rows
from discreet._base.validate import first_few, kind_of, shown
from discreet.central.prevalence.groups import OTHER, Grouping, is_name, period_of, written
from discreet.central.vocabulary.units import ShardedWords, UnitWords, rank_words
from discreet.corpus import check_counts
from discreet.corpus.shards.shard_file import Rows, Shard
from discreet.corpus.shards.sharded_corpus import ShardedCorpus
from discreet.engines import Engine
from discreet.engines.engine import ShardRunner
from discreet.errors import CorpusError, DiscreetError, ParameterError, Part
from discreet.privacy.accounting.planning import noise_multiplier_for
from discreet.privacy.bound import Bound, BoundedSum
from discreet.privacy.row_sums import sum_rows
from discreet.privacy.units import plural
from discreet.release.prevalence.changes import against_rest
from discreet.release.prevalence.shares import Sums, limits
from discreet.release.release import Release

#: Shares are cut toward zero by half a lattice step on average; 2^-20 keeps that far below any noise.
BITS = 20
_BLOCK = 1 << 16
#: Of the labels: so many that are no dates can be left out; of more, the column or its way to write dates is wrong.
_FEW = 0.1
_CORRECT = "with `freq=` each must be a date that tells its period; correct it, or `unlisted='leave_out'`."


def contribution_bound(count_weight: float, privacy_unit: str) -> Bound:
    """Return the bound that each unit is held to."""
    size = float(np.hypot(1.0, count_weight))
    return Bound("l2", contribution_bound=size, bits=BITS, privacy_unit=privacy_unit)


def reach_in_points(
    n_units: float, n_groups: int, n_topics: int, epsilon: float, delta: float = 1e-6, weight: float = 0.5
) -> tuple[float, float]:
    """Return how far 95 % intervals of equal shares reach to each side, in points, for groups of so many units.

    That of noise in one share by itself, and that among the shares of all groups and topics together, with chance, by
    the test that a release makes; inf where a group may be empty.
    """
    noise = noise_multiplier_for(epsilon, delta) * float(np.hypot(1.0, weight))
    totals = np.full((n_groups, n_topics), n_units / n_topics)
    sums = Sums(totals, np.full(n_groups, weight * n_units), noise, weight)
    low, high = limits(sums, float(ndtri(0.975)))
    alone = 50 * float((high - low)[0, 0])
    if n_groups == 1:
        return alone, alone
    found = against_rest(sums)
    return alone, 50 * float((found.high - found.low)[0, 0])


class Reach(NamedTuple):
    """Of how many documents there is something to tell: exact, so for whoever holds them."""

    n_documents: int
    #: Documents with a word of the topics, and those of them that have a group.
    n_with_words: int
    n_placed: int
    #: How many units with such documents each group has; who wrote in several counts in part in each. (n_groups,)
    units: NDArray[Any]

    def in_words(self, called: str) -> str:
        """Say of how many documents, and of which units, there is something to tell."""
        many = round(self.units.sum())
        whose = "" if called == "document" else f", of {many:,} {called if many == 1 else plural(called)},"
        group = " and a group" if self.n_placed < self.n_with_words else ""
        return f"{self.n_placed:,} of {self.n_documents:,} documents{whose} have a word of the topics{group}"

    def hidden(self, n_topics: int, epsilon: float, delta: float, count_weight: float) -> bool:
        """Whether noise will hide the shares of the largest group, and so of all."""
        largest = float(self.units.max())
        how = epsilon, delta, count_weight
        return epsilon < np.inf and reach_in_points(largest, 1, n_topics, *how)[0] > 100


def _reach(counts: Any, labels: "Labels", people: NDArray[np.int64] | None, n_groups: int) -> Reach:
    """Look at canonical counts of the words of the topics; all names that may become groups count as one group."""
    if isinstance(labels, list):
        labels = np.array([-1 if label is None else 0 for label in labels], np.int32)
    spoken = np.diff(counts.indptr) > 0
    rows = np.flatnonzero(spoken & (labels >= 0))
    whose = rows if people is None else people[rows]
    _, writer, wrote = np.unique(whose, return_inverse=True, return_counts=True)
    units = np.bincount(labels[rows], 1.0 / wrote[writer], minlength=n_groups)
    return Reach(len(spoken), int(spoken.sum()), len(rows), units)


def prevalence_sum(
    doc_topic: NDArray[np.float64],
    group: NDArray[np.int32],
    people: NDArray[np.int64] | None,
    n_groups: int,
    count_weight: float,
    bound: Bound,
    n_jobs: int | None = None,
) -> BoundedSum:
    """Add up the contributions of all units: of shape (n_groups * (n_topics + 1),), each group's topics, then its
    count.

    ``doc_topic``: (n_documents, n_topics), rows sum to 1; ``group``: number of each document's group, -1 for none;
    ``people``: whose each document is, where people are the unit; ``bound``: :func:`contribution_bound`.
    """
    total = np.zeros(n_groups * (doc_topic.shape[1] + 1), np.int64)
    chosen = np.flatnonzero(group >= 0)
    if people is not None:
        chosen = chosen[np.argsort(people[chosen], kind="stable")]
    for low, high in pairwise(_cuts(chosen, people)):
        rows = chosen[low:high]
        vectors = _vectors(doc_topic[rows], group[rows], n_groups, count_weight)
        if people is not None:
            vectors = _mean_by(people[rows], vectors)
        total += sum_rows(vectors, bound, n_jobs=n_jobs).values
    return BoundedSum(total, bound)


def _cuts(chosen: NDArray[np.int64], people: NDArray[np.int64] | None) -> list[int]:
    """Cut rows into blocks that bound memory and tear no person apart."""
    cuts = list(range(0, len(chosen), _BLOCK))
    if people is not None:
        ordered = people[chosen]
        cuts = sorted({int(np.searchsorted(ordered, ordered[cut])) for cut in cuts})
    return [*cuts, len(chosen)]


def _vectors(
    shares: NDArray[np.float64], group: NDArray[np.int32], n_groups: int, count_weight: float
) -> Any:
    n, width = len(shares), shares.shape[1] + 1
    values = np.empty((n, width))
    values[:, :-1], values[:, -1] = shares, count_weight
    columns = group[:, None].astype(np.int64) * width + np.arange(width)
    starts = np.arange(n + 1) * width
    return sp.csr_matrix((values.ravel(), columns.ravel(), starts), shape=(n, n_groups * width))


def _mean_by(people: NDArray[np.int64], vectors: Any) -> Any:
    """Average the rows of each person."""
    _, person, many = np.unique(people, return_inverse=True, return_counts=True)
    shape = len(many), len(person)
    member = sp.csr_matrix((1.0 / many[person], (person, np.arange(len(person)))), shape)
    return member @ vectors


#: The number of each document's group, -1 where it has none; or labels as text, where names are chosen privately.
Labels = NDArray[np.int32] | list[str | None]


def read_labels(
    by: Any, groups: Grouping | None, n_documents: int | None, rows_of_file: Sequence[int] | None = None
) -> Labels:
    """Read labels and find the group of each document, of a cross table its cell: before anything is booked.

    For a cross table ``by`` is a pair of sequences, or a frame or array of two columns. ``groups`` is None where names
    are chosen privately: labels are then returned as text, None where there is none; ``n_documents`` is None where it
    is not known yet. ``CorpusError`` where there is not one label for each document, or some are not listed; it tells
    the rows of a few of those, by ``rows_of_file`` (from 0) where rows were left out.
    """
    crossed = groups is not None and groups.crossed
    listed = [_listed(labels) for labels in (_pair(by) if crossed else (by,))]
    n_rows = len(listed[0]) if n_documents is None else n_documents
    for labels in listed:
        check_length(labels, n_rows)
    if groups is None:
        return [written(label) for label in listed[0]]
    place = partial(place_in_groups, day_first=groups.day_first, rows_of_file=rows_of_file)
    if not crossed:
        return place(listed[0], groups.names, freq=groups.freq, unlisted=groups.unlisted)
    strict = "error" if groups.unlisted == "error" else "leave_out"
    rows, columns = (
        place(labels, part, freq=freq, unlisted=strict)
        for labels, part, freq in zip(listed, groups.parts, (None, groups.freq), strict=True)
    )
    width = len(groups.parts[1])
    outside = len(groups.names) - 1 if groups.unlisted == "other" else -1
    return np.where((rows < 0) | (columns < 0), outside, rows * width + columns).astype(np.int32)


def check_length(labels: Sized, n_documents: int) -> None:
    """Raise ``CorpusError`` where there is not one label for each document."""
    if len(labels) != n_documents:
        raise CorpusError(
            f"by must have a label for each of {n_documents} documents, but has {len(labels)}; give whole columns: "
            "by=frame.ward, or for a cross table by=(frame.ward, frame.date)."
        )


def place_in_groups(
    by: Sequence[Any],
    groups: tuple[str, ...],
    *,
    freq: str | None = None,
    unlisted: str = "error",
    day_first: bool | None = None,
    rows_of_file: Sequence[int] | None = None,
) -> NDArray[np.int32]:
    """Return the number of each document's group, -1 where it has none. Errors are those of :func:`read_labels`.

    ``by``: the label of each document, text, numbers or, with ``freq``, dates to be turned into periods; None, NaN and
    "" are no label. ``unlisted``: {"error", "leave_out", "other"}, what becomes of a label that is not among
    ``groups``; for "other", ``groups`` must end with :data:`OTHER`.
    """
    name: Callable[[Any], str] = str if freq is None else partial(period_of, freq=freq, day_first=day_first)
    code_of = {group: code for code, group in enumerate(groups)}
    rest = code_of[OTHER] if unlisted == "other" else -1
    out = np.full(len(by), -1, np.int32)
    strange: dict[str, int] = {}
    known: dict[Any, int] = {}
    undated: dict[tuple[Part, ...], list[int]] = {}
    rows = range(len(by)) if rows_of_file is None else rows_of_file
    for place, (row, value) in enumerate(zip(rows, by, strict=True)):
        key = (type(value), value) if isinstance(value, str | int) else None
        code = known.get(key) if key is not None else None
        if code is None:
            text = written(value)
            try:
                label = None if text is None else name(text if freq is None else value)
            except CorpusError as fault:
                undated.setdefault(fault.args, []).append(row + 1)
                out[place] = rest
                continue
            code = -1 if label is None else code_of.get(label, rest)
            if label is not None and label not in code_of and unlisted == "error":
                strange.setdefault(label, row + 1)
            if key is not None:
                known[key] = code
        out[place] = code
    for fault, wrong in undated.items():
        few = len(wrong) <= _FEW * len(by)
        if few and unlisted != "error":
            continue
        plural = "" if len(wrong) == 1 else "s"
        where = f"(row{plural} {first_few(wrong)}, counted from 1 without a header)"
        some = f"{len(wrong):,} of {len(by):,}" if len(wrong) < len(by) else f"all {len(by):,}"
        raise CorpusError(f"{some} values of `by` {where}: ", *((_CORRECT,) if few else fault))
    if strange:
        raise _not_listed(strange, groups, freq)
    return out


def _pair(by: Any) -> tuple[Any, Any]:
    """Return the labels of the rows and of the columns of a cross table."""
    columns: Any = getattr(by, "columns", None)
    if columns is not None and len(columns) == 2 and len(set(columns)) == 2:
        first, second = columns
        return by[first], by[second]
    if getattr(by, "ndim", 1) == 2 and by.shape[1] == 2 and isinstance(by, np.ndarray):
        return by[:, 0], by[:, 1]
    if isinstance(by, tuple | list) and len(by) == 2 and not any(isinstance(part, str) for part in by):
        return by[0], by[1]
    raise CorpusError(
        "for a cross table by must be a pair, the labels of the rows and those of the columns, or a frame of these "
        "two columns; by=tuple(zip(*pairs)) makes one of a list of pairs."
    )


def _listed(by: Any) -> list[Any]:
    if isinstance(by, str | bytes | Mapping) or not isinstance(by, Iterable):
        raise CorpusError(f"by must be a sequence with a label for each document, but is {kind_of(by)}.")
    if getattr(by, "ndim", 1) != 1 or hasattr(by, "columns"):
        raise CorpusError(
            "by must have one dimension: one label for each document; two are for a cross table, "
            "groups=(rows, columns)."
        )
    if isinstance(by, np.ndarray) and by.dtype.kind == "M":
        return [None if np.isnat(value) else value.astype("datetime64[D]").item() for value in by]
    array: Any = by
    return list(array.tolist() if hasattr(array, "tolist") else array)


def _not_listed(strange: Mapping[str, int], groups: Sequence[str], freq: str | None) -> CorpusError:
    """Labels of documents are private: the error tells where to look, and shows none."""
    rows, n_groups = list(strange.values()), len(groups)
    plural = "" if len(rows) == 1 else "s"
    what = f"value{plural} of `by` {'is' if len(rows) == 1 else 'are'} not among the {n_groups} group"
    cure = "Add them to the public list" if freq is None else "Take a longer public range (`start`, `end`)"
    if not {group.lstrip("0") for group in groups}.isdisjoint(label.lstrip("0") for label in strange):
        padded = any(group.startswith("0") for group in groups)
        cure = f"Some differ by a leading 0 alone: in the list write {'1, not 01' if padded else '01, not 1'}. {cure}"
    return CorpusError(
        f"{len(rows)} {what}{'' if n_groups == 1 else 's'} (first seen in row{plural} {first_few(rows)}, counted "
        f"from 1 without a header). {cure}, or choose `unlisted='other'` or `unlisted='leave_out'`."
    )


class LabelledDocuments(NamedTuple):
    """Documents in memory. Private."""

    documents: Any
    labels: Labels
    people: NDArray[np.int64] | None
    n_jobs: int | None = None

    def names(self) -> tuple[str, ...]:
        """Return the labels that are names, sorted. Private."""
        return names_among(self.labels)

    def names_of_units(self, names: tuple[str, ...], order: NDArray[np.uint64]) -> UnitWords:
        """Return the names that each unit has, as :func:`rank_words`."""
        return rank_words(one_hot(self.labels, names), self.people, order)

    def reach(self, topics: Release, grouping: Grouping | None) -> Reach:
        """Return of how many documents there is something to tell; ``grouping`` is None for names chosen privately."""
        words = topics.vocabulary
        known = in_order(self.documents, words, drop_others=True)
        counts = check_counts(known, n_words=len(words), advice=COUNT_ITS_WORDS)
        return _reach(counts, self.labels, self.people, 1 if grouping is None else len(grouping.names))

    def shares(self, topics: Release, grouping: Grouping, count_weight: float, bound: Bound) -> BoundedSum:
        """Return the sum of :func:`prevalence_sum`."""
        placed = self.labels
        if isinstance(placed, list):
            placed = place_in_groups(placed, grouping.names, unlisted=grouping.unlisted)
        known = in_order(self.documents, topics.vocabulary, drop_others=True)
        doc_topic = topics.transform(known, n_jobs=self.n_jobs)
        n_groups = len(grouping.names)
        return prevalence_sum(doc_topic, placed, self.people, n_groups, count_weight, bound, self.n_jobs)


class LabelledShards(ShardRunner):
    """Documents in shards that carry their labels. Private."""

    def __init__(
        self, corpus: ShardedCorpus, engine: Engine | None = None, n_jobs: int | None = None
    ) -> None:
        super().__init__(corpus.shards, _read, engine, n_jobs)
        self._corpus = corpus

    def check(self, grouping: Grouping | None) -> None:
        """Raise ``CorpusError`` where the labels of a shard are not what is taken."""
        for _ in self.map(_check, grouping):
            pass

    def names(self) -> tuple[str, ...]:
        """Return the labels that are names, sorted. Private; names of all shards come together here."""
        return tuple(sorted(set().union(*self.map(_names))))

    def names_of_units(self, names: tuple[str, ...], order: NDArray[np.uint64]) -> ShardedWords:
        """Return something that asks the shards for the names of their units."""
        return ShardedWords(ShardRunner(self.shards, _Named(names), self.engine), order)

    def reach(self, topics: Release, grouping: Grouping | None) -> Reach:
        """Return of how many documents there is something to tell: a shard holds whole units, so sums are."""
        parts: Any = zip(*self.map(_reach_of_shard, self._columns(topics), grouping), strict=True)
        return Reach(*(np.sum(part, axis=0) for part in parts))

    def shares(self, topics: Release, grouping: Grouping, count_weight: float, bound: Bound) -> BoundedSum:
        """Return the sum of :func:`prevalence_sum`."""
        columns, prior = self._columns(topics), topics.doc_topic_prior
        total = self.sum(_shares, topics.topic_word, prior, columns, grouping, count_weight, bound)
        return BoundedSum(total, bound)

    def _columns(self, topics: Release) -> list[int] | None:
        """Return the columns of the words of the topics, None where all are theirs in their order."""
        columns = column_order(self._corpus, topics.vocabulary, drop_others=True)
        if columns is None and self._corpus.n_words != len(topics.vocabulary):
            raise CorpusError("the shards count other words than the topics.")
        return columns


#: Either of them.
Labelled = LabelledDocuments | LabelledShards


def faults_of_labels(X: Any, by: Any, crossed: bool) -> list[DiscreetError]:
    """Say where labels are missing, or come twice; looks at the labels of the first shard at most."""
    if not isinstance(X, ShardedCorpus):
        missing = ParameterError("`by` must give the group of each document; X carries no labels.")
        return [] if by is not None else [missing]
    if by is not None:
        why = "shards carry the labels of their documents, whose order need not be that of anything else."
        return [ParameterError(f"leave `by` out: {why}")]
    if crossed:
        return [ParameterError("`groups` are a cross table, but shards carry one label a document.")]
    with suppress(CorpusError):  # a shard that cannot be read is told of when it is
        if X.shards and X.shards[0].read().labels is None:
            return [ParameterError("the shards carry no labels; write a corpus that has some, as shards.")]
    return []


def labels_for(X: Any, by: Any) -> Any:
    """Return the labels that were given, or those that X carries; shards keep theirs."""
    if isinstance(by, str):
        raise CorpusError(
            "by names a column, but a label for each document is expected: read the column with the texts, "
            f"read_corpus(frame, text=..., label={shown(by)}, vocabulary=release.vocabulary), and leave by out."
        )
    return carried(X, "labels") if by is None and not isinstance(X, ShardedCorpus) else by


def check_rows_of_labels(X: Any, by: Any, persons: Any) -> None:
    """Raise ``CorpusError`` where documents, labels and persons have different indexes: before anything is booked."""
    for labels in (pair := by if isinstance(by, tuple | list) else (by,)):  # a pair, for a cross table
        for rows, of in ((X, "the documents"), (persons, "the persons"), (pair[0], "by[0]")):
            check_same_rows(rows, labels, "by", of)


def names_among(labels: Iterable[Any]) -> tuple[str, ...]:
    """Return the distinct labels that can be names: not "other", and such as can be shown on a line of their own."""
    return tuple(sorted({label for label in labels if label is not None and is_name(label)} - {OTHER}))


def one_hot(labels: Iterable[Any], names: tuple[str, ...]) -> sp.csr_matrix:
    """Return a row for each document, with a 1 in the column of its name."""
    column = {name: number for number, name in enumerate(names)}
    named = [column.get(label, -1) if label is not None else -1 for label in labels]
    columns = np.array(named, np.int64)
    held = columns >= 0
    ends = np.r_[0, np.cumsum(held)]
    shape = len(named), max(len(names), 1)
    return sp.csr_matrix((np.ones(int(held.sum()), np.int64), columns[held], ends), shape)


# ---- what is done with a shard, wherever it is


def _read(shard: Shard) -> tuple[str, Rows]:
    rows = shard.read()
    if rows.labels is None:
        raise CorpusError(f"{shard.entry.file} has no labels; write the corpus anew with labels.")
    return shard.entry.file, rows


def _labels(part: tuple[str, Rows], grouping: Grouping | None) -> Any:
    file, rows = part
    try:
        return read_labels(rows.labels, grouping, rows.counts.shape[0])
    except CorpusError as fault:
        raise CorpusError(f"{file}: ", *fault.args) from None


class _Named(NamedTuple):
    """Reads the names of a shard's documents as if they were words."""

    names: tuple[str, ...]

    def __call__(self, shard: Shard) -> Rows:
        part = _read(shard)
        return Rows(one_hot(_labels(part, None), self.names), part[1].persons)


def _names(part: tuple[str, Rows]) -> set[str]:
    return set(names_among(_labels(part, None)))


def _check(part: tuple[str, Rows], grouping: Grouping | None) -> None:
    _labels(part, grouping)


def _reach_of_shard(part: tuple[str, Rows], columns: list[int] | None, grouping: Grouping | None) -> Reach:
    rows, n_groups = part[1], 1 if grouping is None else len(grouping.names)
    counts: Any = rows.counts if columns is None else rows.counts[:, columns]
    return _reach(counts, _labels(part, grouping), rows.persons, n_groups)


def _shares(
    part: tuple[str, Rows],
    topic_word: NDArray[np.float64],
    prior: float,
    columns: list[int] | None,
    grouping: Grouping,
    count_weight: float,
    bound: Bound,
) -> NDArray[np.int64]:
    from discreet.lda import fold_in

    rows, placed = part[1], _labels(part, grouping)
    counts: Any = rows.counts if columns is None else rows.counts[:, columns]
    doc_topic = fold_in(topic_word, counts, doc_topic_prior=prior)
    return prevalence_sum(doc_topic, placed, rows.persons, len(grouping.names), count_weight, bound).values
