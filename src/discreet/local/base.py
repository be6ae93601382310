"""What the local estimators share: topics of texts and of reports, the release, and when to refuse."""

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from discreet._threads import count_threads
from discreet.errors import ParameterError
from discreet.lda.moments.estimates import Channel
from discreet.lda.moments.moments import read_bits
from discreet.lda.moments.refine import infer_topics
from discreet.local.promise import closed_ledger, losses, settings_of
from discreet.release.record import Release
from discreet.release.released_topics import ReleasedTopics

__all__ = ["LocalTopics", "make_release", "warn_or_refuse"]


class LocalTopics(ReleasedTopics):
    """Base of the local estimators: what can be done once ``release_`` and ``unigram_`` are there."""

    channel: Channel
    unigram_: NDArray[np.float64]

    def transform_reports(self, X: Any, *, packed: bool = False) -> NDArray[np.float64]:
        """Return the topic shares that randomised reports suggest, the channel taken into account.

        Parameters
        ----------
        X : array or sparse matrix
            Reports, as for :meth:`fit`.
        packed : bool, default False

        Returns
        -------
        array of shape (n_reports, n_topics), rows sum to 1
            Where noise is high, close to the topics' overall weights. Post-processing of the reports.
        """
        check_is_fitted(self, "n_features_in_")
        blocks = read_bits(X, self.n_features_in_, packed=packed, block=2048)
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

    def fit_transform(self, X: Any, y: Any = None, **how: Any) -> NDArray[np.float64]:
        """Fit to reports, and return the topic shares that the same reports suggest (not ``transform``)."""
        fitted: Any = self
        packed = bool(how.get("packed", False))
        return fitted.fit(X, y, **how).transform_reports(X, packed=packed)


def warn_or_refuse(learnable: int, n_topics: int, *, allow: bool, n_reports: int) -> None:
    """Refuse where nothing can be learned, warn where more topics are asked for than the noise lets through."""
    if learnable <= 1 and not allow:
        raise ParameterError(
            f"{n_reports:,} reports through this channel let {learnable} topics through the noise: there is nothing "
            "to learn but how frequent words are. Collect more reports, promise less (a larger epsilon), or let a "
            "shuffler or secure aggregation stand between writers and server; allow_unlearnable=True fits all the same."
        )
    if n_topics > learnable:
        warnings.warn(
            f"{n_topics} topics were asked for, but the noise lets only {learnable} through: the others will be "
            "blends.",
            UserWarning,
            stacklevel=4,
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
    """Put topics and the promise of the channel into a release."""
    from discreet._version import __version__

    found = losses(model.channel, len(words))
    simulated = simulated or bool(getattr(model.channel, "reproducible", False))
    public = {
        "estimator": type(model).__name__,
        "algorithm": f"local, {model.inference}",
        "version": __version__,
        "n_topics": int(model.n_topics),
        "p": float(model.channel.p),
        "q": float(model.channel.q),
        "n_reports": int(n_reports),
        **settings_of(found),
        **settings,
    }
    topic_word = topic_word / topic_word.sum(1, keepdims=True)
    return Release(
        topic_word,
        words,
        closed_ledger(found, model.channel, simulated=simulated),
        public,
        simulated,
        topic_weight / topic_weight.sum(),
        None,
        None,
        float(n_reports),
    )
