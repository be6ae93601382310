"""What the local estimators share: topics of texts and of reports, what can be learned, and the release."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from discreet._progress import Callback
from discreet._threads import count_threads
from discreet._validate import faults_of, optional, refuse, rules, whole
from discreet.corpus.words.origin import WordOrigin
from discreet.errors import Parameter, ParameterError
from discreet.lda.moments.estimates import Channel, Estimates
from discreet.lda.moments.learn import Learned, Reports, infer_topics, learn_topics
from discreet.lda.moments.moments import read_bits
from discreet.local.arguments import bits_in_order
from discreet.local.promise import closed_ledger, losses, settings_of
from discreet.privacy.accounting import events
from discreet.release.private_estimator import PlannedEstimator
from discreet.release.record import Release
from discreet.release.released_topics import ReleasedTopics
from discreet.release.settings import public_settings

__all__ = ["LocalTopics", "make_release"]

_ADVICE = (
    "Collect more reports, promise less (a larger epsilon), or let a shuffler or secure aggregation stand between "
    "writers and server;"
)


class LocalTopics(PlannedEstimator, ReleasedTopics):
    """Base of the local estimators: fitting, and what can be done once ``release_`` and ``unigram_`` are there."""

    n_topics: int
    channel: Channel
    allow_unlearnable: bool
    callback: Callback | None
    unigram_: NDArray[np.float64]

    def planned_event(self, n_words: int | None = None) -> events.Event:
        """Return the event of one whole report, which the release will state.

        Writers have paid it by the time they report: fitting costs nothing more, however often it is done.

        Parameters
        ----------
        n_words : int, optional
            Words of the vocabulary; can be left out where the channel keeps so many words of a document, its ``limit``.

        Returns
        -------
        event
            As made by :mod:`discreet.privacy.events`; unit "report", "replace_one".

        Raises
        ------
        ParameterError
            Naming all parameters that are out of range.
        """
        refuse([*self._faults(), *faults_of({"n_words": n_words}, rules(n_words=optional(whole())))])
        limit = getattr(self.channel, "limit", None)
        if n_words is None and limit is not None:
            n_words = 2 * int(limit)  # from here on, what a document may keep is what counts
        if n_words is None:
            raise ParameterError(
                "this channel sends a bit for each word, so that a report costs more the more words there are; pass ",
                Parameter("n_words"),
                ".",
            )
        return events.pure(losses(self.channel, n_words).whole_report)

    def transform_reports(self, X: Any, *, packed: bool = False) -> NDArray[np.float64]:
        """Return the topic shares that randomised reports suggest, the channel taken into account.

        Parameters
        ----------
        X : array, sparse matrix or frame
            Reports, as for :meth:`fit`; where columns have names, in any order.
        packed : bool, default False

        Returns
        -------
        array of shape (n_reports, n_topics), rows sum to 1
            Where noise is high, close to the topics' overall weights. Post-processing of the reports.
        """
        check_is_fitted(self, "n_features_in_")
        rows = X if packed else bits_in_order(X, self.release_.vocabulary)
        blocks = read_bits(rows, self.n_features_in_, packed=packed, block=2048)
        weight = self.release_.topic_weight
        assert weight is not None
        return infer_topics(
            blocks,
            self.components_,
            weight,
            self.unigram_,
            self.channel,
            n_threads=count_threads(self.n_jobs),
        )

    @abstractmethod
    def fit(
        self, X: Any, y: Any = None, *, vocabulary: Any = None, packed: bool = False, simulated: bool = False
    ) -> Self:
        """Fit topics to reports."""

    def fit_transform(  # pyright: ignore[reportIncompatibleMethodOverride]
        self, X: Any, y: Any = None, *, vocabulary: Any = None, packed: bool = False, simulated: bool = False
    ) -> NDArray[np.float64]:
        """Fit to reports, and return the topic shares that the same reports suggest (not ``transform``)."""
        given = {"vocabulary": vocabulary, "packed": packed, "simulated": simulated}
        self.fit(
            X, y, **{name: value for name, value in given.items() if value is not None and value is not False}
        )
        return self.transform_reports(X, packed=packed)

    def _learn(
        self,
        found: Estimates,
        n_reports: int,
        seed: int,
        *,
        beside: Sequence[Estimates] = (),
        vectors: NDArray[np.float64] | None = None,
        reports: Reports | None = None,
        warn: bool = True,
    ) -> Learned:
        """Return topics; with public estimates ``beside`` those of the reports, these need let none through."""
        return learn_topics(
            found,
            self.n_topics,
            seed,
            what=f"{n_reports:,} reports through this channel",
            advice=_ADVICE,
            allow_unlearnable=self.allow_unlearnable,
            warn=warn,
            beside=beside,
            vectors=vectors,
            reports=reports,
            n_threads=count_threads(self.n_jobs),
            callback=self.callback,
        )


def make_release(
    model: Any,
    topic_word: NDArray[np.float64],
    topic_weight: NDArray[np.float64],
    words: tuple[str, ...],
    n_reports: int,
    settings: dict[str, Any],
    *,
    simulated: bool,
) -> Release:
    """Put topics and the promise of the channel into a release.

    The number of reports stands among the settings: it is exact, whoever collected them knows it, and the promise,
    which is about what a report says, leaves it as it is. So it is no ``n_units_noisy``.
    """
    found = losses(model.channel, len(words))
    simulated = simulated or bool(getattr(model.channel, "reproducible", False))
    public = public_settings(
        type(model).__name__,
        f"local, {model.algorithm}",
        n_topics=model.n_topics,
        p=float(model.channel.p),
        q=float(model.channel.q),
        n_reports=n_reports,
        **WordOrigin.public("the channel, whose writers all have the list").settings(),
        **settings_of(found),
        **settings,
    )
    return Release(
        topic_word / topic_word.sum(1, keepdims=True),
        words,
        closed_ledger(found, model.channel, simulated=simulated),
        public,
        simulated,
        topic_weight / topic_weight.sum(),
    )
