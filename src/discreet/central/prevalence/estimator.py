"""TopicPrevalence: where and when released topics stand in private documents. A shell over ``statistic``.

The guarantee and its proof stand in :mod:`discreet.central.prevalence.statistic`; what the released numbers say is
worked out in :mod:`discreet.release.prevalence`.
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from discreet._progress import Callback, tell
from discreet._validate import CALLBACK, SEED, THREADS, Rule, choice, number, optional, rules
from discreet.central.check_data import check_data
from discreet.central.prevalence.groups import FREQUENCIES, OTHER, cross_names, periods, place_in_groups
from discreet.central.prevalence.statistic import contribution_bound, prevalence_sum
from discreet.errors import CorpusError, DiscreetError, Parameter, ParameterError
from discreet.privacy.accounting.totals import noise_multiplier_for
from discreet.privacy.ledger.ledger import Ledger
from discreet.privacy.mechanism import GaussianMechanism
from discreet.privacy.noise.stream import SecureStream
from discreet.release.prevalence import PrevalenceRelease
from discreet.release.private_estimator import Plan, PrivateEstimator
from discreet.release.record import Release
from discreet.release.settings import public_settings

__all__ = ["TopicPrevalence"]

_NAMED_BY = 3
_RELEASE = Rule("a Release, as fit gives it", lambda value: isinstance(value, Release))


class TopicPrevalence(PrivateEstimator):
    r"""Shares of released topics in public groups of private documents: wards, parties, months.

    Parameters
    ----------
    release : Release
        The topics. They are public by now; what they cost stands in their own ledger.
    groups : sequence of str, optional
        The public list of groups. Two sequences of names are the rows and columns of a cross table. Not given: the
        periods of ``freq`` from ``start`` to ``end``.
    epsilon, delta : float, default 0.25 and 1e-6
        The promise of the shares. ``epsilon = inf`` is the non-private twin.
    privacy_unit : {"document", "author"}, default "document"
        Whose presence is hidden. "author" needs ``owners``; an author of many documents then weighs as much as one
        document in all, so that sizes of groups are those of their authors, not of their documents.
    freq : {"decade", "year", "quarter", "month", "week", "day"}, optional
        Labels are dates, and groups their periods.
    start, end : date or text such as "2024-01", optional
        With ``freq``: the public range.
    unlisted : {"error", "leave_out", "other"}, default "error"
        What becomes of documents whose label is not listed; "other" adds a group of that name.
    count_weight : float, default 0.5
        c: how much of the budget says how many units a group has.
    random_state : int, optional
        None: noise from the operating system. An int: reproducible, and the release says "not for release".
    n_jobs : int, optional
        Threads, as in scikit-learn. The result is the same bytes for any number.
    ledger : Ledger, optional
        Where the cost is booked; give the one that the topics were booked on, and the release states both together.
    callback : callable, optional

    Attributes
    ----------
    release_ : PrevalenceRelease
        Everything that may be published, with its guarantee: ``to_frame()``, ``compare``, ``trend``, ``save``.
    groups_ : tuple of str
        The groups, in order.

    Notes
    -----
    *Guarantee*: (epsilon, delta) for adding or removing one unit, booked before X is read. Groups, their number and
    order are public and must not be taken from the data. Several prevalences of one text add up, whatever groups they
    have; one cross table is cheaper than two tables.

    Examples
    --------
    >>> import numpy as np
    >>> from discreet import PrivateLDA, TopicPrevalence
    >>> counts = np.random.default_rng(0).poisson(0.3, (3000, 30))
    >>> release = PrivateLDA(2, epsilon=4.0, random_state=0).fit(counts).release_
    >>> ward = np.repeat(["north", "south", "west"], 1000)
    >>> model = TopicPrevalence(release, groups=["north", "south", "west"], epsilon=1.0, random_state=0)
    >>> model.fit(counts, by=ward).release_.shares().share.shape
    (3, 2)
    """

    _constraints = rules(
        release=_RELEASE,
        freq=optional(choice(*FREQUENCIES)),
        unlisted=choice("error", "leave_out", "other"),
        count_weight=number(above=0),
        random_state=SEED,
        n_jobs=THREADS,
        callback=CALLBACK,
    )

    def __init__(
        self,
        release: Release,
        groups: Sequence[Any] | None = None,
        *,
        epsilon: float = 0.25,
        delta: float = 1e-6,
        privacy_unit: str = "document",
        freq: str | None = None,
        start: Any = None,
        end: Any = None,
        unlisted: str = "error",
        count_weight: float = 0.5,
        random_state: int | None = None,
        n_jobs: int | None = None,
        ledger: Ledger | None = None,
        callback: Callback | None = None,
    ) -> None:
        self.release = release
        self.groups = groups
        self.epsilon = epsilon
        self.delta = delta
        self.privacy_unit = privacy_unit
        self.freq = freq
        self.start = start
        self.end = end
        self.unlisted = unlisted
        self.count_weight = count_weight
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.ledger = ledger
        self.callback = callback

    def fit(self, X: Any, by: Any, *, owners: Any = None) -> "TopicPrevalence":
        """Book the cost, then add up and release.

        Parameters
        ----------
        X : array-like, sparse matrix, WordCounts or Corpus of shape (n_documents, n_words)
            Counts of the words of ``release``, in their order.
        by : sequence of length n_documents
            The group of each document: a label, or with ``freq`` a date; None, NaN and "" for no group. For a cross
            table a pair of such sequences.
        owners : array-like of shape (n_documents,), optional
            Author of each document, where authors are the unit; by default those that X carries.

        Raises
        ------
        ParameterError, PrivacyError, BudgetExceeded
            Before X is read or anything booked.
        CorpusError
            Where X, ``by`` or ``owners`` are not what was expected. The cost stays booked.
        """
        self._check_call(X, owners)
        groups = self._public_groups()
        booking = self._book(X)
        # From here on X and the labels may be read: the cost is booked.
        counts, authors, _ = check_data(X, owners, None, self.privacy_unit)
        placed = self._place(by, groups, counts.shape[0])
        tell(self.callback, "finding topics of documents", 0, 1)
        doc_topic = self.release.transform(X, n_jobs=self.n_jobs)
        tell(self.callback, "finding topics of documents", 1, 1)
        mechanism: GaussianMechanism = booking.plan.how
        weight = float(self.count_weight)
        total = prevalence_sum(doc_topic, placed, authors, len(groups), weight, mechanism.bound, self.n_jobs)
        stream = SecureStream(self.random_state).spawn("prevalence")
        noisy = mechanism.release(total, stream, booking.reservation, n_jobs=self.n_jobs)
        numbers = np.asarray(noisy * mechanism.bound.step, dtype=np.float64).reshape(len(groups), -1)
        self.groups_ = groups
        self.release_ = PrevalenceRelease(
            topic_totals=numbers[:, :-1],
            unit_counts=numbers[:, -1],
            noise=float(mechanism.scale) * mechanism.bound.step,
            count_weight=weight,
            groups=groups,
            topics=tuple(" ".join(words) for words in self.release.top_words(_NAMED_BY)),
            ledger=booking.ledger.snapshot(),
            configuration=self._configuration(),
            reproducible=self.random_state is not None or self.release.reproducible,
        )
        return self

    def _plan(self) -> Plan:
        bound = contribution_bound(float(self.count_weight), self.privacy_unit)
        endless = math.isinf(self.epsilon)
        noise = 0.0 if endless else noise_multiplier_for(self.epsilon, self.delta)
        mechanism = GaussianMechanism(bound, noise)
        return Plan(mechanism.event(), mechanism)

    def _purpose(self) -> tuple[str, Sequence[str]]:
        return "shares of topics in groups", [f"{len(self._public_groups())} groups"]

    def _faults(self) -> list[DiscreetError]:
        faults = super()._faults()
        if not faults:
            try:
                self._public_groups()
            except DiscreetError as fault:
                faults.append(fault)
        return faults

    def _crossed(self) -> bool:
        groups: Any = self.groups
        return (
            self.freq is None
            and groups is not None
            and len(groups) == 2
            and not any(isinstance(part, str | int | float) for part in groups)
        )

    def _public_groups(self) -> tuple[str, ...]:
        if self.groups is None:
            if self.freq is None or self.start is None or self.end is None:
                raise ParameterError(
                    Parameter("groups"),
                    " must be the public list of groups; or give freq, start and end for periods, as in "
                    'freq="month", start="2024-01", end="2026-06".',
                )
            names = periods(self.start, self.end, self.freq)
        elif self.start is not None or self.end is not None:
            raise ParameterError(
                Parameter("groups"), " and a range of dates are two lists of groups; give one."
            )
        elif self._crossed():
            rows, columns = (tuple(str(name) for name in part) for part in self.groups)
            names = cross_names(rows, columns)
        else:
            names = tuple(str(name) for name in self.groups)
        if not names or not all(names) or len(set(names)) != len(names):
            raise ParameterError(
                Parameter("groups"), " must be distinct names that are not empty, one or more."
            )
        if self.unlisted != "other":
            return names
        if OTHER in names:
            raise ParameterError(
                Parameter("unlisted"),
                f'="other" adds a group "{OTHER}", but there is one of that name; rename it.',
            )
        return (*names, OTHER)

    def _place(self, by: Any, groups: tuple[str, ...], n_documents: int) -> Any:
        if not self._crossed():
            return place_in_groups(by, groups, n_documents, freq=self.freq, unlisted=self.unlisted)
        if not isinstance(by, tuple | list) or len(by) != 2:
            raise CorpusError(
                "for a cross table by must be a pair: the labels of the rows and those of the columns."
            )
        assert self.groups is not None
        row_names, column_names = (tuple(str(name) for name in part) for part in self.groups)
        sides = [
            place_in_groups(
                labels, names, n_documents, unlisted="error" if self.unlisted == "error" else "leave_out"
            )
            for labels, names in zip(by, (row_names, column_names), strict=True)
        ]
        rows, columns = sides
        placed = rows * len(column_names) + columns
        neither = (rows < 0) | (columns < 0)
        return np.where(neither, len(groups) - 1 if self.unlisted == "other" else -1, placed).astype(np.int32)

    def _configuration(self) -> dict[str, Any]:
        promise = self.release.promise
        return public_settings(
            type(self).__name__,
            "sums of topic shares in public groups",
            count_weight=float(self.count_weight),
            delta=float(self.delta),
            epsilon=float(self.epsilon),
            n_topics=len(self.release.topic_word),
            privacy_unit=self.privacy_unit,
            topics_delta=promise.delta,
            topics_epsilon=promise.epsilon,
            topics_unit=promise.privacy_unit,
            freq=self.freq,
        )
