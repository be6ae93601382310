"""From estimated rates of words and pairs to topics: what can be learned, the fit, and passes over the reports.

All trust settings come this way: reports collected from people (:mod:`discreet.local`), reports of silos
(:mod:`discreet.federated`), sums under noise. Whatever made the estimates private, this is post-processing.
"""

import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from discreet._progress import Callback, tell
from discreet.errors import ParameterError, Proposal, WeakForecastWarning
from discreet.lda.moments.estimates import Channel, Estimates, noise_variance
from discreet.lda.moments.fit import Source, fit_topics
from discreet.lda.moments.marchenko_pastur import learnable
from discreet.lda.moments.noisy import NoisyMoments
from discreet.lda.moments.refine import LARGEST_NOISE, refine_topics
from discreet.lda.moments.vector_fit import LEAST_AGREEMENT, agreement, fit_topics_with_vectors

__all__ = ["Learned", "Reports", "learn_topics"]

#: More reports than this are not passed over again unless asked: the gain is small there, the time is not.
_REFINE_AT_MOST = 50_000


class Reports(NamedTuple):
    """Reports that are at hand to refine topics on.

    Attributes
    ----------
    blocks : callable
        ``blocks(size)`` goes through all of them as 0/1 rows, at most ``size`` at a time.
    channel : Channel
    n : int
    refine : {"auto", True, False}
        "auto": where noise is low (q (1 - q) / (p - q)^2 up to .06) and there are at most 50,000 reports.
    """

    blocks: Callable[[int], Iterable[NDArray[np.uint8]]]
    channel: Channel
    n: int
    refine: bool | Literal["auto"] = "auto"

    @property
    def to_refine_on(self) -> bool:
        """Whether to pass over them."""
        if self.refine == "auto":
            return noise_variance(self.channel) <= LARGEST_NOISE and self.n <= _REFINE_AT_MOST
        return bool(self.refine)


class Learned(NamedTuple):
    """Topics, and how they were found.

    Attributes
    ----------
    topic_word : array of shape (n_topics, n_words)
        Rows sum to 1.
    topic_weight : array of shape (n_topics,)
        Sums to 1.
    unigram : array of shape (n_words,)
        Rates of words.
    learnable : int
        How many topics the noise lets through.
    refined : bool
        Whether reports were passed over.
    agreement : float or None
        How far above chance word vectors know which words go together here, in standard deviations.
    used_vectors : bool
    """

    topic_word: NDArray[np.float64]
    topic_weight: NDArray[np.float64]
    unigram: NDArray[np.float64]
    learnable: int
    refined: bool
    agreement: float | None = None
    used_vectors: bool = False

    def said_of_vectors(self, name: str, settings: Mapping[str, Any]) -> dict[str, Any]:
        """Return what a release says of word vectors of that name, described by ``settings``."""
        if self.agreement is None:
            return {}
        told = dict(settings) if self.used_vectors else {"word_vectors_not_used": name}
        return {**told, "word_vectors_agreement": round(self.agreement, 2)}


def learn_topics(
    found: Estimates | NoisyMoments,
    n_topics: int,
    seed: int,
    *,
    what: str,
    advice: str,
    allow_unlearnable: bool,
    warn: bool = False,
    beside: Sequence[Source] = (),
    vectors: NDArray[np.float64] | None = None,
    reports: Reports | None = None,
    n_threads: int = 1,
    callback: Callback | None = None,
) -> Learned:
    """Count what can be learned, fit topics, then refine them on the reports, where these are at hand and it helps.

    Parameters
    ----------
    found : Estimates or NoisyMoments
    n_topics : int
    seed : int
        Of the starting point.
    what : str
        What was found from what: "9,000 reports through this channel".
    advice : str
        What to do where there is nothing to learn; a sentence.
    allow_unlearnable : bool
        Fit all the same.
    warn : bool, default False
        Warn where more topics are asked for than the noise lets through.
    beside : sequence of Source
        Of public documents with the same words; with them, nothing need be learnable.
    vectors : array of shape (n_words, n_dimensions), optional
        Public vectors of the words; used where they agree with what was found (:mod:`discreet.lda.moments.vector_fit`).
    reports : Reports, optional
    n_threads : int
        The result does not depend on it.
    callback : callable, optional

    Raises
    ------
    ParameterError
        Where there is nothing to learn.
    """
    known = learnable(found)
    tell(callback, "learnable topics", known, n_topics)
    if known <= 1 and not beside and not allow_unlearnable:
        raise ParameterError(
            f"{what} let {known} topics through the noise: there is nothing to learn but how frequent words are. "
            f"{advice} ",
            Proposal("allow_unlearnable", True),
            " fits all the same.",
        )
    if warn and not beside and n_topics > known:
        warnings.warn(
            f"{n_topics} topics were asked for, but the noise lets only {known} through: the others will be blends.",
            WeakForecastWarning,
            stacklevel=5,
        )
    believed, fitted = None, None
    if vectors is not None:
        believed = agreement(found, vectors)
        if believed >= LEAST_AGREEMENT:
            fitted = fit_topics_with_vectors(found, vectors, n_topics, seed, callback=callback)
    used = fitted is not None
    fitted = fitted or fit_topics([found, *beside], n_topics, seed, callback=callback)
    if reports is None or not reports.to_refine_on:
        return Learned(fitted.topic_word, fitted.topic_weight, fitted.unigram, known, False, believed, used)
    refined = refine_topics(
        reports.blocks,
        fitted.topic_word,
        fitted.topic_weight,
        fitted.unigram,
        reports.channel,
        n_threads=n_threads,
        callback=callback,
    )
    return Learned(refined.topic_word, refined.topic_weight, fitted.unigram, known, True, believed, used)
