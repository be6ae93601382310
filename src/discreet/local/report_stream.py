"""What a stream of reports keeps between batches, and how a batch comes in: as moments, or as OLP-LDA does it.

Nothing kept depends on the number of batches. A batch that cannot be taken in changes nothing.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet._threads import count_threads
from discreet.errors import CorpusError, Parameter, ParameterError
from discreet.lda.gibbs.draw import new_seed
from discreet.lda.moments.estimates import Channel
from discreet.lda.moments.moments import Moments, read_bits
from discreet.local import olp_lda
from discreet.local.discounted_moments import DiscountedMoments

__all__ = ["ReportStream", "add", "begin", "check_channel", "remove"]


@dataclass
class ReportStream:
    """Everything so far.

    Attributes
    ----------
    words : tuple of str
    channel : Channel
        Of all reports: the promise of a release is about the first batch as much as about the last.
    seed : int
        Of the topics' starting point.
    rng : numpy Generator
        Rebuilds batches (OLP-LDA).
    public : Moments, optional
        Of the public documents.
    moments : Moments or DiscountedMoments, optional
        Of the reports.
    state : olp_lda.State, optional
        Instead of moments.
    n_reports : int
    simulated : bool
        Whether a batch was said to be drawn from a seed.
    """

    words: tuple[str, ...]
    channel: Channel
    seed: int
    rng: np.random.Generator
    public: Moments | None = None
    moments: Moments | DiscountedMoments | None = None
    state: olp_lda.State | None = None
    n_reports: int = 0
    simulated: bool = False


def begin(model: Any, words: tuple[str, ...]) -> ReportStream:
    """Return a stream without reports, with the parameters of an estimator."""
    public = _public_bits(model.public, len(words))
    seed = new_seed(model.random_state)
    stream = ReportStream(words, model.channel, seed, np.random.default_rng(seed))
    if model.algorithm == "moments":
        plain = Moments(len(words), channel=model.channel)
        stream.moments = plain if model.forgetting == 1 else DiscountedMoments(plain, model.forgetting)
        if public is not None:
            stream.public = Moments(len(words)).add_batch(public, n_jobs=model.n_jobs)
    else:
        stream.state = olp_lda.init(public, len(words), _settings(model), seed)
    return stream


def add(
    stream: ReportStream | None, model: Any, X: Any, words: tuple[str, ...], packed: bool
) -> ReportStream:
    """Take in a batch, and return the stream; None begins one."""
    marked = bool(getattr(model.channel, "reproducible", False))
    if stream is not None:
        _check_same(stream, model, words)
    if model.algorithm == "moments":
        batch = _moments_of(X, model, len(words), packed)
        stream = stream or begin(model, words)
        assert stream.moments is not None
        stream.moments.merge(batch)
        stream.n_reports += batch.n
        stream.simulated |= marked
        return stream
    rows = np.concatenate([*read_bits(X, len(words), packed=packed), np.zeros((0, len(words)), np.uint8)])
    if not len(rows):
        raise CorpusError("a batch must hold at least one report.")
    stream = stream or begin(model, words)
    assert stream.state is not None
    stream.state = olp_lda.step(stream.state, rows, _settings(model), stream.rng)
    stream.n_reports += len(rows)
    stream.simulated |= marked
    return stream


def remove(stream: ReportStream, model: Any, X: Any, packed: bool, age: int) -> None:
    """Take a batch away again (moments only); ``age``: how many batches came after it."""
    if stream.moments is None:
        raise ParameterError('only algorithm="moments" can take a batch away again: start the stream over.')
    check_channel(stream, model)
    batch = _moments_of(X, model, len(stream.words), packed)
    if isinstance(stream.moments, DiscountedMoments):
        stream.moments.subtract(batch, age)
    else:
        stream.moments.subtract(batch)
    stream.n_reports -= batch.n


def check_channel(stream: ReportStream, model: Any) -> None:
    """Refuse another channel than that of the reports so far: their writers were told what it promises."""
    then, now = ((c.p, c.q, getattr(c, "limit", None)) for c in (stream.channel, model.channel))
    if then != now:
        raise ParameterError(
            *(
                Parameter("channel"),
                " changed within the stream, but its reports keep the promise of theirs: set it back, ",
            ),
            "or call fit to start over.",
        )


def _check_same(stream: ReportStream, model: Any, words: tuple[str, ...]) -> None:
    if words != stream.words:
        raise CorpusError("this batch has other words than the ones before, or another order of them.")
    check_channel(stream, model)
    if (stream.moments is not None) != (model.algorithm == "moments"):
        raise ParameterError(Parameter("algorithm"), " changed within the stream; call fit to start over.")
    if stream.state is not None and len(stream.state.prior) != model.n_topics:
        raise ParameterError(Parameter("n_topics"), " changed within the stream; call fit to start over.")


def _moments_of(X: Any, model: Any, n_words: int, packed: bool) -> Moments:
    return Moments(n_words, channel=model.channel).add_batch(X, packed=packed, n_jobs=model.n_jobs)


def _public_bits(public: Any, n_words: int) -> NDArray[np.uint8] | None:
    if public is None:
        return None
    from discreet.corpus import check_counts

    bits = (check_counts(public, n_words=n_words) > 0).toarray().astype(np.uint8)
    if not len(bits):
        raise CorpusError("the public set must hold at least one document.")
    return bits


def _settings(model: Any) -> olp_lda.Settings:
    return olp_lda.Settings(
        model.channel,
        model.n_topics,
        model.doc_topic_prior,
        model.topic_word_prior,
        model.learning_rate,
        model.prior_weight,
        model.count_deviation,
        model.n_sweeps,
        count_threads(model.n_jobs),
    )
