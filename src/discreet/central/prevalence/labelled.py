"""Private documents and their labels, in memory or in shards: what the shares of topics in groups are summed over.

A shard holds whole units with their labels, so a sum over units is the sum over shards; both are of integers. The
guarantee is that of :mod:`discreet.central.prevalence.statistic` and :mod:`discreet.central.prevalence.selection`.
"""

from collections.abc import Sequence
from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from discreet._base.arrays import carried, column_order
from discreet._base.persons import check_same_rows
from discreet.central.prevalence.groups import OTHER, Grouping, is_name
from discreet.central.prevalence.placing import label_texts, n_documents_of, place, settled
from discreet.central.prevalence.statistic import prevalence_sum
from discreet.central.vocabulary.units import ShardedWords, UnitWords, rank_words
from discreet.corpus.shards.shard_file import Rows, Shard
from discreet.corpus.shards.sharded_corpus import ShardedCorpus
from discreet.engines import Engine
from discreet.engines.process import ShardRunner
from discreet.errors import CorpusError, DiscreetError, Parameter, ParameterError
from discreet.privacy.bound import Bound, BoundedSum
from discreet.release.release import Release

__all__ = [
    "Labelled",
    "LabelledDocuments",
    "LabelledShards",
    "check_rows_of_labels",
    "faults_of_labels",
    "labels_for",
    "settled_labels",
]


class LabelledDocuments(NamedTuple):
    """Documents in memory. Private."""

    documents: Any
    n_documents: int
    by: Any
    people: NDArray[np.int64] | None
    n_jobs: int | None = None

    def names(self) -> tuple[str, ...]:
        """Return the labels that are names, sorted. Private."""
        return names_among(label_texts(self.by, self.n_documents))

    def names_of_units(self, names: tuple[str, ...], order: NDArray[np.uint64]) -> UnitWords:
        """Return the names that each unit has, as :func:`rank_words`."""
        return rank_words(one_hot(label_texts(self.by, self.n_documents), names), self.people, order)

    def shares(self, topics: Release, grouping: Grouping, count_weight: float, bound: Bound) -> BoundedSum:
        """Return the sum of :func:`prevalence_sum`."""
        placed = place(self.by, grouping, self.n_documents)
        doc_topic = topics.transform(self.documents, n_jobs=self.n_jobs)
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

    def shares(self, topics: Release, grouping: Grouping, count_weight: float, bound: Bound) -> BoundedSum:
        """Return the sum of :func:`prevalence_sum`."""
        columns = column_order(self._corpus, topics.vocabulary, drop_others=True)
        if columns is None and self._corpus.n_words != len(topics.vocabulary):
            raise CorpusError("the shards count other words than the topics.")
        prior = topics.doc_topic_prior
        total = self.sum(_shares, topics.topic_word, prior, columns, grouping, count_weight, bound)
        return BoundedSum(total, bound)


#: Either of them.
Labelled = LabelledDocuments | LabelledShards


def faults_of_labels(X: Any, by: Any, crossed: bool) -> list[DiscreetError]:
    """Say where labels are missing, or come twice; looks at the labels of the first shard at most."""
    if not isinstance(X, ShardedCorpus):
        missing = ParameterError(
            Parameter("by"), " must give the group of each document; X carries no labels."
        )
        return [] if by is not None else [missing]
    if by is not None:
        advice = (
            " out: shards carry the labels of their documents, whose order need not be that of anything else.",
        )
        return [ParameterError("leave ", Parameter("by"), *advice)]
    if crossed:
        return [
            ParameterError(Parameter("groups"), " are a cross table, but shards carry one label a document.")
        ]
    with suppress(CorpusError):  # a shard that cannot be read is told of when it is
        if X.shards and X.shards[0].read().labels is None:
            return [ParameterError("the shards carry no labels; write a corpus that has some, as shards.")]
    return []


def labels_for(X: Any, by: Any) -> Any:
    """Return the labels that were given, or those that X carries; shards keep theirs."""
    return carried(X, "labels") if by is None and not isinstance(X, ShardedCorpus) else by


def settled_labels(
    X: Any, by: Any, grouping: Grouping | None, engine: Engine | None = None, n_jobs: int | None = None
) -> Any:
    """Return the labels, looked at before anything is booked; see :func:`settled`. Those of shards stay there."""
    if not isinstance(X, ShardedCorpus):
        return settled(by, grouping, n_documents_of(X))
    LabelledShards(X, engine, n_jobs).check(grouping)
    return None


def check_rows_of_labels(X: Any, by: Any, persons: Any) -> None:
    """Raise ``CorpusError`` where documents, labels and persons have different indexes: before anything is booked."""
    for labels in (pair := by if isinstance(by, tuple | list) else (by,)):  # a pair, for a cross table
        for rows, of in ((X, "the documents"), (persons, "the persons"), (pair[0], "by[0]")):
            check_same_rows(rows, labels, "by", of)


def names_among(labels: Sequence[str | None]) -> tuple[str, ...]:
    """Return the distinct labels that can be names: not "other", and such as can be shown on a line of their own."""
    return tuple(sorted({label for label in labels if label is not None and is_name(label)} - {OTHER}))


def one_hot(labels: Sequence[str | None], names: tuple[str, ...]) -> sp.csr_matrix:
    """Return a row for each document, with a 1 in the column of its name."""
    column = {name: number for number, name in enumerate(names)}
    named = [column.get(label, -1) if label is not None else -1 for label in labels]
    columns = np.array(named, np.int64)
    held = columns >= 0
    ends = np.r_[0, np.cumsum(held)]
    return sp.csr_matrix(
        (np.ones(int(held.sum()), np.int64), columns[held], ends), shape=(len(labels), max(len(names), 1))
    )


# ---- what is done with a shard, wherever it is


def _read(shard: Shard) -> tuple[str, Rows]:
    rows = shard.read()
    if rows.labels is None:
        raise CorpusError(f"{shard.entry.file} has no labels; write the corpus anew with labels.")
    return shard.entry.file, rows


class _Named(NamedTuple):
    """Reads the names of a shard's documents as if they were words."""

    names: tuple[str, ...]

    def __call__(self, shard: Shard) -> Rows:
        _, rows = _read(shard)
        texts = label_texts(rows.labels, rows.counts.shape[0])
        return Rows(one_hot(texts, self.names), rows.persons)


def _names(part: tuple[str, Rows]) -> set[str]:
    rows = part[1]
    return set(names_among(label_texts(rows.labels, rows.counts.shape[0])))


def _check(part: tuple[str, Rows], grouping: Grouping | None) -> None:
    file, rows = part
    try:
        settled(rows.labels, grouping, rows.counts.shape[0])
    except CorpusError as fault:
        raise CorpusError(f"{file}: ", *fault.args) from None


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

    file, rows = part
    counts: Any = rows.counts if columns is None else rows.counts[:, columns]
    try:
        placed = place(rows.labels, grouping, rows.counts.shape[0])
    except CorpusError as fault:
        raise CorpusError(f"{file}: ", *fault.args) from None
    doc_topic = fold_in(topic_word, counts, doc_topic_prior=prior)
    return prevalence_sum(doc_topic, placed, rows.persons, len(grouping.names), count_weight, bound).values
