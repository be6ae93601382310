"""TopicPrevalence: where and when released topics stand in private documents; alone, or with the topics on one budget.

The guarantee and its proof stand in :mod:`discreet.central.prevalence.labelled`; what the released numbers say is
worked out in :mod:`discreet.release.prevalence`. What keeps shares from being released is told before anything is
booked.
"""

import math
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Annotated, Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from discreet._base import validate
from discreet._base.arrays import COUNT_ITS_WORDS, is_frame, known_words
from discreet._base.callers import warn_caller
from discreet._base.persons import n_rows_of
from discreet._base.progress import Callback, telling
from discreet.central.base import check_data
from discreet.central.prevalence import labelled
from discreet.central.prevalence.groups import (
    FREQUENCIES,
    OTHER,
    Grouping,
    choose_names,
    grouping,
    name_choice,
)
from discreet.central.sums.units import faults_of_shards
from discreet.central.vocabulary.methods import GaussianChoice
from discreet.corpus.corpus import Corpus
from discreet.corpus.counting import refuse_texts
from discreet.corpus.shards.sharded_corpus import ShardedCorpus
from discreet.engines import Engine
from discreet.errors import CorpusError, CorpusWarning, DiscreetError, ParameterError, PrivacyError
from discreet.privacy.accounting import events
from discreet.privacy.accounting.planning import noise_multiplier_for
from discreet.privacy.ledger.ledger import Ledger, Reservation
from discreet.privacy.mechanism import GaussianMechanism
from discreet.privacy.noise.stream import SecureStream
from discreet.release.details import passed_on
from discreet.release.edits import names_of, public_words
from discreet.release.files import check_ledger
from discreet.release.numbers import COUNT_WEIGHT, mark_of, public_settings
from discreet.release.prevalence import PrevalenceRelease
from discreet.release.prevalence.record import MOST_CELLS
from discreet.release.private_estimator import Booking, Plan, PrivateEstimator, faults_of_estimator, settled
from discreet.release.release import Release, are_texts, counted

_MOST_LETTERS = 2_000_000
#: What can be looked at before anything is booked.
_HELD = (Corpus, ShardedCorpus, np.ndarray, list)


def booked_here(topics: Release, ledger: Ledger) -> bool:
    """Whether all that topics cost stands on this ledger, so that what is released with it counts them."""
    theirs = topics.ledger.entries
    return len(theirs) > 0 and all(entry in ledger.entries for entry in theirs)


def faults_of_division(model: "TopicPrevalence") -> list[DiscreetError]:
    """Say why the periods of a fit cannot cost as one."""
    named = isinstance(model.division, str) and model.division.strip()
    why = "`division` must name the date that is meant, one for each document: 'date received'."
    by_date = "`division` is for periods: give freq, start and end, and no groups."
    others = '`division`: documents of all other periods would be read for "other".'
    several = (
        "`division` makes months cost as one only where each document has one month; a person may have written in "
        "several, so their costs add up. Leave it out."
    )
    told = [
        (not named, ParameterError(why)),
        (model.freq is None or model.groups is not None, ParameterError(by_date)),
        (model.unlisted == "other", ParameterError(others)),
        (model.privacy_unit != "document", PrivacyError(several)),
    ]
    return [fault for wrong, fault in told if wrong]


def faults_of_private_names(model: "TopicPrevalence") -> list[DiscreetError]:
    """Say what does not go with names of groups that are chosen privately."""
    itself = (
        '`group_selection="private"` chooses the names itself; leave `groups=` and the range of dates out.'
    )
    telling_of = '`unlisted="error"` would tell of labels that were not chosen; take "leave_out" or "other".'
    given = any(one is not None for one in (model.groups, model.freq, model.start, model.end))
    return [
        ParameterError(why)
        for wrong, why in ((given, itself), (model.unlisted == "error", telling_of))
        if wrong
    ]


def check_size(groups: tuple[str, ...], n_topics: int) -> None:
    """Raise ``ParameterError`` where shares would be too many for a file that can be read again."""
    if len(groups) * (n_topics + 1) > MOST_CELLS or sum(map(len, groups)) > _MOST_LETTERS:
        raise ParameterError(
            f"`groups` and topics may have {MOST_CELLS:,} shares in all, and names of {_MOST_LETTERS:,} letters "
            f"together, but there are {len(groups):,} groups and {n_topics} topics; take fewer, or longer periods."
        )


_RELEASE = validate.Rule("a Release, as fit gives it", lambda value: isinstance(value, Release))


class _How(NamedTuple):
    """What a fit needs to keep to its plan."""

    shares: GaussianMechanism
    names: GaussianChoice | None


@validate.declared
@dataclass(eq=False, repr=False)
class TopicPrevalence(PrivateEstimator):
    r"""Shares of released topics in public groups of private documents: wards, parties, months.

    Parameters
    ----------
    release : Release or None
        The topics. They are public by now; what they cost stands in their own ledger. None where ``fit_topics`` is to
        train them with these shares, on one budget.
    groups : sequence of str, optional
        The public list of groups. Two sequences of names are the rows and columns of a cross table; so are these groups
        and the periods of ``freq`` from ``start`` to ``end``. Not given: these periods alone.
    epsilon : float, default 0.25
        It adds to what the topics cost, and sums over groups need less than topics do: hence not 1.0, as for those.
        ``inf`` is the non-private twin.
    delta : float, optional
        By default that of the ledger, or 1e-6.
    privacy_unit : {"document", "person"}, optional
        Whose presence is hidden: by default the person's where it is known whose the documents are, or where the topics
        or the ledger protect persons, and the document's otherwise. "person" needs ``persons``; a person then weighs
        one in all, split over groups as their documents are, so that shares are means over people and sizes add up to
        the number of people.
    freq : {"decade", "year", "quarter", "month", "week", "day"}, optional
        Labels are dates, and groups their periods.
    start, end : date or text such as "2024-01", optional
        With ``freq``: the public range. Where the dates are written 31/01/2024 or 01-31-2024, written in that order,
        with a day above 12 in one of the two.
    division : str, optional
        With ``freq``: the public name of the date ("date received"), where months are released one after another on one
        ledger. A document has one such date, which never changes; then these releases cost as much as the dearest of
        them. For documents as the unit only: those of a person add up. In ``fit_topics``, everybody pays at once.
    unlisted : {"error", "leave_out", "other"}, optional
        What becomes of documents whose label is not listed; "other" adds a group of that name. By default "error" for
        public groups, "leave_out" for those chosen privately, and with ``division``.
    group_selection : {"public", "private"}, default "public"
        "private" where the names themselves are not public: those that enough units have are chosen, paid from the
        same epsilon.
    selection_share : float, default 0.25
        Share of epsilon for choosing names.
    max_groups_per_unit : int, default 3
        Most names of one person that count for choosing; a document has one.
    count_weight : float, default 0.5
        c: how much of the budget says how many units a group has.
    random_state, n_jobs, ledger, callback, engine
        As for :class:`~discreet.PrivateLDA`. Give the ledger that the topics were booked on, and the release states
        both together.

    Attributes
    ----------
    release_ : PrevalenceRelease
        Everything that may be published, with its guarantee: ``to_frame()``, ``compare``, ``trend``, ``save``.
    groups_ : tuple of str
        The groups, in order.
    neighboring : str
        "add_or_remove_one": the relation that the promise is about.

    Notes
    -----
    *Guarantee*: (epsilon, delta) for adding or removing one unit, booked before X is read. Groups, their number and
    order are public and must not be taken from the data, unless the names are chosen privately
    (:mod:`discreet.central.prevalence.groups`). Several prevalences of one text add up, whatever groups they
    have; one cross table is cheaper than two tables.

    Examples
    --------
    >>> import numpy as np
    >>> from discreet import PrivateLDA, TopicPrevalence
    >>> rng = np.random.default_rng(0)
    >>> topics = np.repeat(np.eye(2), 15, axis=1) / 15
    >>> counts = rng.poisson(8 * rng.dirichlet([0.3, 0.3], 3000) @ topics)
    >>> release = PrivateLDA(2, epsilon=4.0, random_state=0).fit(counts).release_
    >>> ward = np.repeat(["north", "south", "west"], 1000)
    >>> model = TopicPrevalence(release, groups=["north", "south", "west"], epsilon=1.0, random_state=0)
    >>> model.fit(counts, by=ward).release_.shares().share.shape
    (3, 2)
    """

    release: Annotated[Release | None, validate.optional(_RELEASE)]
    groups: Sequence[Any] | None = None
    _: KW_ONLY
    epsilon: float = 0.25
    delta: Any = None
    privacy_unit: Any = None
    freq: Annotated[str | None, validate.optional(validate.choice(*FREQUENCIES))] = None
    start: Any = None
    end: Any = None
    division: str | None = None
    unlisted: Annotated[str | None, validate.optional(validate.choice("error", "leave_out", "other"))] = None
    group_selection: Annotated[str, validate.choice("public", "private")] = "public"
    selection_share: Annotated[float, validate.number(above=0, below=1)] = 0.25
    max_groups_per_unit: Annotated[int, validate.whole(1, 2**16)] = 3
    count_weight: Annotated[float, COUNT_WEIGHT] = 0.5
    random_state: Annotated[int | None, validate.SEED] = None
    n_jobs: Annotated[int | None, validate.THREADS] = None
    ledger: Ledger | None = None
    callback: Annotated[Callback | None, validate.CALLBACK] = None
    engine: Annotated[Engine | None, validate.ENGINE] = None

    def fit(self, X: Any, by: Any = None, *, persons: Any = None) -> "TopicPrevalence":
        """Book the cost, then add up and release.

        Parameters
        ----------
        X : list of str, array-like, sparse matrix, Corpus or ShardedCorpus of shape (n_documents, n_words)
            Texts, cut into words as those of ``release`` were, or counts of its words, in their order.
        by : sequence of length n_documents, optional
            By default the labels that X carries; shards always carry theirs. The group of each document: a label, or
            with ``freq`` a date; None, NaN and "" for no group. For a cross table a pair of such sequences, or a frame
            of two columns: those of the rows, and of the columns.
        persons : array-like of shape (n_documents,), optional
            Person of each document, where people are the unit; by default those that X carries.

        Raises
        ------
        ParameterError, PrivacyError, BudgetExceeded
            Before anything is booked.
        CorpusError
            Where labels, X or ``persons`` are not what was expected, or no document has a word of the topics: before
            anything is booked. In which rows they stand is told to you alone.

        Warns
        -----
        CorpusWarning
            Before anything is booked, where noise will hide all shares, and where documents have no group though
            ``unlisted`` does not say that this is meant. It is exact, so for you alone.
        """
        return self._take(self._for_units_of(X, persons)._fit(X, by, persons))

    def _fit(self, X: Any, by: Any, persons: Any) -> "TopicPrevalence":
        why = "`release` must be a Release; only fit_topics, which makes one, goes without."
        by = labelled.labels_for(X, by)
        faults = [*self._faults(), *self._faults_of_call(X, persons), *self._faults_of_labels(X, by)]
        validate.refuse([*faults, *([ParameterError(why)] if self.release is None else [])])
        assert self.release is not None
        if not are_texts(X) or known_words(self.release.vocabulary) is None:
            refuse_texts(X, COUNT_ITS_WORDS)
        labelled.check_rows_of_labels(X, by, persons)
        documents = counted(X, self.release) if are_texts(X) else X
        labels = None if isinstance(X, ShardedCorpus) else check_labels(self, documents, by)
        if isinstance(documents, _HELD) or sp.issparse(X) or is_frame(X):
            self._warn_of(reach_of(self, documents, labels, persons), len(self.release.topic_word))
        if self.release.promise.privacy_unit == "person" and self.privacy_unit == "document":
            warn_caller(
                "The topics protect persons with all their documents; these shares protect each document on its own. "
                'For the same here: TopicPrevalence(..., privacy_unit="person").fit(..., persons=...).'
            )
        return self._fit_booked(self._book(X), self.release, documents, labels, persons)

    def _fit_booked(
        self, booking: Booking, topics: Any, X: Any, labels: Any, persons: Any
    ) -> "TopicPrevalence":
        """Do what was planned and booked, for these topics. From here on X may be read."""
        stream, how = SecureStream(self.random_state).spawn("prevalence"), booking.plan.how
        mechanism, weight = how.shares, float(self.count_weight)
        try:
            documents = self._labelled(X, labels, persons, booking)
            placing = self._grouping(documents, how, stream, booking)
            with telling(self.callback, "finding topics of documents"):
                total = documents.shares(topics, placing, weight, mechanism.bound)
        except CorpusError as fault:
            raise CorpusError(*fault.args, " The cost stays booked.") from None
        groups = placing.names
        noisy = mechanism.release(total, stream, booking.reservation, n_jobs=self.n_jobs)
        numbers = np.asarray(noisy * mechanism.bound.step, dtype=np.float64).reshape(len(groups), -1)
        self.groups_ = groups
        self.release_ = PrevalenceRelease(
            topic_totals=numbers[:, :-1],
            unit_counts=numbers[:, -1],
            noise=float(mechanism.scale) * mechanism.bound.step,
            count_weight=weight,
            groups=groups,
            topics=names_of(topics),
            topic_words=public_words(topics),
            ledger=booking.ledger.snapshot(),
            configuration={**self._configuration(topics, booking.ledger), **passed_on(topics)},
            reproducible=self.random_state is not None or topics.reproducible,
        )
        self._notice_delta(self.release_)
        return self

    def _warn_of(self, found: labelled.Reach, n_topics: int) -> None:
        """Warn whoever holds the documents of shares that noise will hide, and of documents without a group."""
        told: list[str] = []
        missing = found.n_with_words - found.n_placed
        if missing and self._unlisted() == "error":
            told.append(
                f"{missing:,} of {found.n_with_words:,} documents with a word of the topics have no group, as `by` is "
                "missing there (None, NaN or empty text), and are left out."
            )
        if found.hidden(n_topics, self.epsilon, self.delta, self.count_weight):
            told.append(
                f"{found.in_words(self._called)}, too few for this epsilon: noise will hide every share. More texts, "
                "fewer groups, longer periods or a larger `epsilon` make it less."
            )
        for said in told:
            before = "Before anything is spent, and for you alone, because it is exact: "
            warn_caller(CorpusWarning(ParameterError(before + said)))

    def _faults_of_call(self, X: Any, persons: Any) -> list[DiscreetError]:
        return [*super()._faults_of_call(X, persons), *faults_of_shards(X, persons, self.engine)]

    def _faults_of_labels(self, X: Any, by: Any) -> list[DiscreetError]:
        return labelled.faults_of_labels(X, by, self._is_crossed())

    def _labelled(
        self, X: Any, labels: Any, persons: Any, booking: Booking | None = None
    ) -> labelled.Labelled:
        sharded = isinstance(X, ShardedCorpus)
        counts, people, _ = (X, None, ()) if sharded else check_data(X, persons, None, self.privacy_unit)
        if booking is not None:
            self._notice(booking, counts)
        if sharded:
            return labelled.LabelledShards(X, self.engine, self.n_jobs)
        labelled.check_length(labels, counts.shape[0])
        return labelled.LabelledDocuments(X, labels, people, self.n_jobs)

    def _grouping(
        self, documents: labelled.Labelled, how: "_How", stream: SecureStream, booking: Booking
    ) -> Grouping:
        if how.names is None:
            return self._groups()
        unlisted, own = self._unlisted(), stream.spawn("names")
        groups = choose_names(documents, how.names, own, booking.reservation, self.n_jobs)
        groups = (*groups, OTHER) if unlisted == "other" else groups
        if not groups:
            raise PrivacyError(
                "no group was chosen: too few units share a label at this epsilon and delta (the cost is booked); use "
                "a larger epsilon, more documents, or a public list of `groups=`."
            )
        return Grouping(groups, (groups,), None, unlisted)

    def _plan(self) -> Plan:
        bound = labelled.contribution_bound(float(self.count_weight), self.privacy_unit)
        epsilon, names = float(self.epsilon), None
        if self.group_selection == "private":
            share, most = self.selection_share, self.max_groups_per_unit
            names, epsilon = name_choice(epsilon, self.delta, share, most, self.privacy_unit)
        noise = 0.0 if math.isinf(epsilon) else noise_multiplier_for(epsilon, self.delta)
        mechanism = GaussianMechanism(bound, noise)
        event = mechanism.event()
        return Plan(event if names is None else events.together(names.event(), event), _How(mechanism, names))

    def _reserve(self, ledger: Ledger, plan: Plan) -> Reservation:
        touched = () if self.division is None else self._groups().names
        check_ledger(ledger, plan.event, touched)
        if self.division is None:
            return super()._reserve(ledger, plan)
        division, at = f"{self.freq} of the {self.division}", self._event_at
        return ledger.reserve(plan.event, self._entry(), division=division, touched=touched, at_epsilon=at)

    def _purpose(self) -> tuple[str, Sequence[str]]:
        if self.group_selection == "private":
            return PrevalenceRelease.PURPOSE, ["names of groups chosen privately"]
        by_parts = self.division is not None and self.release is not None  # with the topics, everybody pays
        apart = [f"each {self.freq} of the {self.division} pays for itself"] if by_parts else []
        n_groups = len(self._groups().names)
        return PrevalenceRelease.PURPOSE, [f"{n_groups} group{'' if n_groups == 1 else 's'}", *apart]

    def _faults(self) -> list[DiscreetError]:
        if self.privacy_unit is None:
            return self._for_units_of(None)._faults()
        faults = super()._faults()
        if faults:
            return faults
        if self.division is not None:
            faults += faults_of_division(self)
        if not self._public:
            return [*faults, *faults_of_private_names(self)]
        n_topics = 0 if self.release is None else len(self.release.topic_word)
        return [*faults, *validate.collect(lambda: check_size(self._groups().names, n_topics))]

    @property
    def _public(self) -> bool:
        """Whether the groups are public."""
        return self.group_selection == "public"

    def _unlisted(self) -> str:
        return self.unlisted or ("error" if self._public and self.division is None else "leave_out")

    def _groups(self) -> Grouping:
        return grouping(self.groups, self.freq, self.start, self.end, self._unlisted())

    def _is_crossed(self) -> bool:
        return self._public and not self._faults() and self._groups().crossed

    def _configuration(self, topics: Release, ledger: Ledger) -> dict[str, Any]:
        promise, private = topics.promise, not self._public
        columns = self._groups().parts[1] if self._is_crossed() else None
        return public_settings(
            type(self).__name__,
            "sums of topic shares in private groups" if private else "sums of topic shares in public groups",
            count_weight=float(self.count_weight),
            delta=float(self.delta),
            epsilon=float(self.epsilon),
            model=mark_of(topics),
            n_topics=len(topics.topic_word),
            privacy_unit=self.privacy_unit,
            topics_are_public=topics.configuration.get("topics_are_public"),
            topics_booked_here=booked_here(topics, ledger),
            topics_delta=promise.delta,
            topics_epsilon=promise.epsilon,
            topics_unit=promise.privacy_unit,
            n_columns=None if columns is None else len(columns),
            freq=self.freq,
            group_selection="private" if private else None,
            selection_share=float(self.selection_share) if private else None,
        )


def _grouping_of(model: TopicPrevalence) -> Grouping | None:
    return model._groups() if model.group_selection == "public" else None  # pyright: ignore[reportPrivateUsage]


def reach_of(model: TopicPrevalence, X: Any, labels: Any, persons: Any = None) -> labelled.Reach:
    """Return of how many documents there is something to tell; ``CorpusError`` where of none. Nothing is booked.

    ``labels`` are those of :func:`check_labels`; of shards, they are checked here.
    """
    documents = model._labelled(X, labels, persons)  # pyright: ignore[reportPrivateUsage]
    assert model.release is not None
    found = documents.reach(model.release, _grouping_of(model))
    if not found.n_with_words:
        raise CorpusError(
            f"none of {found.n_documents:,} documents has a word of these topics, so there is nothing to share out; "
            "nothing was booked. Expected texts of what the topics are about: is it the right file, in the language of "
            "the topics, and is `text` the column of its texts?"
        )
    return found


def check_labels(model: TopicPrevalence, X: Any, by: Any) -> labelled.Labels | None:
    """Return the labels as a fit needs them, None of shards, where they stay; ``CorpusError`` before it is booked."""
    groups = _grouping_of(model)
    if not isinstance(X, ShardedCorpus):
        rows = X.rows.tolist() if isinstance(X, Corpus) and X.rows is not None else None
        found = labelled.read_labels(by, groups, n_rows_of(X), rows)
        if model._unlisted() == "error" and isinstance(found, np.ndarray) and (found < 0).all():  # pyright: ignore[reportPrivateUsage]
            raise CorpusError(
                "no document that counts has a group: `by` is missing there (None, NaN or empty text), as after a join "
                "that found nothing or dates that were not read; nothing was booked. Give a label for each document."
            )
        return found
    labelled.LabelledShards(X, model.engine, model.n_jobs).check(groups)
    return None


def faults_with_topics(
    prevalence: Any,
    X: Any,
    by: Any,
    privacy_unit: str,
    promise: tuple[float, float],
    random_state: Any,
    n_topics: Any,
) -> list[DiscreetError]:
    """Say what keeps shares from being released with the topics, whose promise is epsilon and delta."""
    epsilon, delta = promise
    if prevalence is None:
        why = (
            "`by` is the group of each text, which the topics do not use. For shares of topics in groups, add "
            "prevalence=TopicPrevalence(None, groups=[...], epsilon=...); else leave `by` out."
        )
        return [ParameterError(why)]
    if not isinstance(prevalence, TopicPrevalence):
        why = f"`prevalence` must be a TopicPrevalence, but is {validate.kind_of(prevalence)}."
        return [ParameterError(why)]
    faults = faults_of_estimator(prevalence)
    if not faults and prevalence.group_selection == "public" and validate.is_whole(n_topics):
        faults += validate.collect(lambda: check_size(prevalence._groups().names, n_topics))  # pyright: ignore[reportPrivateUsage]
    if prevalence.release is not None or prevalence.ledger is not None:
        why = "`prevalence` must be made without topics and without a ledger: both come from this run."
        faults.append(ParameterError(why))
    if prevalence.random_state is not None and random_state is None:
        why = "`prevalence` has a seed, which would mark the topics as reproducible, not for release: leave it out."
        faults.append(PrivacyError(why))
    if validate.is_number(prevalence.delta) and prevalence.delta > delta:
        faults.append(
            PrivacyError(f"`prevalence` has a delta above that of the run, {delta:g}: leave it out.")
        )
    if prevalence.privacy_unit not in (None, privacy_unit):
        why = f"`prevalence` protects each {prevalence.privacy_unit}, but the topics each {privacy_unit}"
        faults.append(PrivacyError(f"{why}; take one unit, or leave its `privacy_unit=` out."))
    faults += prevalence._faults_of_labels(X, by)  # pyright: ignore[reportPrivateUsage]
    if validate.is_number(prevalence.epsilon) and math.isfinite(epsilon) and prevalence.epsilon >= epsilon:
        faults.append(
            PrivacyError(
                f"`prevalence` takes an epsilon of {prevalence.epsilon:g} out of {epsilon:g} and leaves none for the "
                "topics; a fifth of it works well."
            )
        )
    return faults


def shares_booked(
    model: TopicPrevalence, booking: Booking, topics: Release, X: Any, labels: Any, persons: Any
) -> PrevalenceRelease:
    """Release the shares of topics that were trained meanwhile, where the cost was booked together with theirs."""
    made = settled(model, booking.ledger.privacy_unit, booking.ledger)
    made._fit_booked(booking, topics, X, labels, persons)  # pyright: ignore[reportPrivateUsage]
    model.groups_, model.release_ = made.groups_, made.release_
    return model.release_
