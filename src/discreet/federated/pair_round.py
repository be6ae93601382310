r"""Rounds of FedLDA: topics of tokens are drawn from public topics, and (topic, word) pairs randomised together.

A client finds its documents' topic shares under the server's :math:`\phi` (they stay), draws a topic for each token
that is due, pads the pairs to a multiple of 256 with the cell "nothing", and reports each through
:class:`~discreet.federated.randomised_response.PairResponse`. The server debiases and shrinks: with
:math:`e_{kw} = n_k n_w / n` and noise variance :math:`v_{kw}`, the residual :math:`n_{kw} - e_{kw}` is multiplied by
:math:`\tau^2 e_{kw}^2 / (\tau^2 e_{kw}^2 + v_{kw})`, :math:`\tau^2` by moments.

Guarantee
---------
*Unit, neighbours*: one (topic, word) pair replaced by any other, *given the topics that were drawn for all the
others*. *Released*: all reports. *Loss*: at most :math:`\epsilon` for the reports of that pair together, pure.

That is no promise about a token of a text. To replace its word moves the document's topic shares, and with them
the topics drawn for all the other tokens, which are reported, too. With two topics of which each gives .98 to a
word of its own, and a token of one of these words among 20 of a third word, replacing it by the other changes what is
sent by a factor of e^14.4 at least (e^15.4 where reports come in order), where e^1 is told; the tests enumerate it. In
general a document of n tokens sends n reports (times the number of rounds in which each is reported), and the loss for
any change of it, one word's or the whole's, is as many times epsilon at most.
"""

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from discreet.errors import ParameterError
from discreet.federated.account import Account, read_corpus_now
from discreet.federated.randomised_response import PairResponse, public_noise
from discreet.federated.state import State
from discreet.lda import fold_in
from discreet.lda.moments.fit import positive_rates
from discreet.privacy.noise.stream import SecureStream

__all__ = ["combine", "compute", "fault", "fit"]

Floats = NDArray[np.float64]
_PAD = 256
#: Share of earlier rounds' counts that a new round keeps; words' totals keep all, for they do not hang on topics.
_KEEP = 0.9
_PRIOR = 0.1


class Sums(NamedTuple):
    """Running estimates of counts of pairs and of words, with the variances of their noise."""

    counts: Floats
    variance: Floats
    words: Floats
    word_variance: Floats


def _response(state: State) -> PairResponse | None:
    """Make the round's randomiser, the same at server and clients; None without privacy."""
    if math.isinf(state.epsilon):
        return None
    noise = public_noise(state.topic_word, even=1.0)
    nothing = 1 / (len(noise) + 1)
    return PairResponse(np.r_[noise * (1 - nothing), nothing], state.epsilon / state.reports_per_token)


def compute(state: State, corpus: Any, stream: SecureStream, account: Account) -> NDArray[np.int64]:
    """Return the cells that the client reports: topic * n_words + word, or n_topics * n_words for "nothing"."""
    classes = account.book_classes(
        state.round,
        state.n_rounds,
        state.reports_per_token,
        state.epsilon / state.reports_per_token,
        reproducible=stream.reproducible,
    )
    corpus = read_corpus_now(corpus, state.mechanism, state.n_words)
    response = _response(state)
    documents = np.repeat(np.arange(corpus.shape[0]), np.diff(corpus.indptr))
    documents = np.repeat(documents, corpus.data)
    words = np.repeat(corpus.indices, corpus.data).astype(np.int64)
    due = np.isin(account.classes(corpus, state.n_rounds, stream), classes)
    shares = fold_in(state.topic_word, corpus, doc_topic_prior=_PRIOR, max_iter=40, tol=1e-3)
    topics = _draw(
        state.topic_word, shares, documents[due], words[due], stream.spawn(f"topics {state.round}")
    )
    cells = (topics * state.n_words + words[due])[: state.most_reports]
    padded = min(-(-max(len(cells), 1) // _PAD) * _PAD, state.most_reports)
    cells = np.r_[cells, np.full(padded - len(cells), state.n_topics * state.n_words)]
    own = stream.spawn(f"reports {state.round}")
    order = np.argsort(own.words(len(cells)), kind="stable")  # which report is padding, and of which document
    return cells[order] if response is None else response.randomise(cells[order], own)


def _draw(
    topic_word: Floats,
    shares: Floats,
    documents: NDArray[np.int64],
    words: NDArray[np.int64],
    stream: SecureStream,
    block: int = 50_000,
) -> NDArray[np.int64]:
    """Draw a topic for each token, in proportion to share times probability of the word."""
    uniform = (stream.words(len(words)) >> np.uint64(11)) * 2.0**-53
    drawn = np.empty(len(words), np.int64)
    for start in range(0, len(words), block):
        part = slice(start, start + block)
        weights = np.cumsum(shares[documents[part]] * topic_word.T[words[part]], axis=1)
        found = (weights < (uniform[part] * weights[:, -1])[:, None]).sum(1)
        drawn[part] = np.minimum(found, len(topic_word) - 1)
    return drawn


def fault(state: State, update: Any) -> str | None:
    """Return what is wrong with an update, or None."""
    values: NDArray[Any] = update.values
    if values.ndim != 1 or values.dtype != np.int64:
        return "not a row of int64"
    if len(values) > state.most_reports:
        return "more reports than allowed"
    if len(values) and not 0 <= values.min() <= values.max() <= state.n_topics * state.n_words:
        return "a cell that does not exist"
    return None


def combine(state: State, taken: dict[int, NDArray[np.int64]]) -> tuple[Floats, Any]:
    """Return new topics, and the running sums (estimates, their noise variance) they were made from."""
    n_cells = state.n_topics * state.n_words
    observed = np.zeros(n_cells + 1)
    for values in taken.values():
        observed += np.bincount(values, minlength=n_cells + 1)
    response = _response(state)
    if response is None:
        counts, variance = observed, np.zeros(n_cells + 1)
    else:
        counts = response.debias(observed)
        eta = float(response.eta)
        variance = eta * observed.sum() * response.q / float(1 - response.eta) ** 2
    if not observed.sum():
        return state.topic_word, state.sums
    shape = (state.n_topics, state.n_words)
    counts, variance = counts[:-1].reshape(shape), variance[:-1].reshape(shape)
    sums = Sums(counts, variance, counts.sum(0), variance.sum(0))
    if state.sums is not None:
        before = state.sums
        sums = Sums(
            _KEEP * before.counts + counts,
            _KEEP**2 * before.variance + variance,
            before.words + sums.words,
            before.word_variance + sums.word_variance,
        )
    return shrink(sums), sums


def fit(state: State) -> tuple[Floats, dict[str, Any]]:
    """Return the topics of the last round: each round fitted its own."""
    if len(state.topic_word) != state.n_topics:
        raise ParameterError(
            f"reports are of pairs with {len(state.topic_word)} topics; another number takes new rounds."
        )
    return state.topic_word, {}


def shrink(sums: Sums) -> Floats:
    """Return topics from unbiased, noisy counts; rows sum to 1 and are positive."""
    counts, variance = sums.counts, sums.variance
    total = max(float(counts.sum()), 1.0)
    n_words = max(float(sums.words.sum()), 1.0)
    words = positive_rates(sums.words / n_words, np.sqrt(sums.word_variance) / n_words + 1e-12)
    words = words / words.sum()
    topics = _positive(counts.sum(1), variance.sum(1))
    expected = np.outer(topics / topics.sum(), words) * total
    residual = counts - expected
    # What stands above chance (two standard deviations of a sum of squared noises).
    above = (residual**2 - variance).sum() - 2 * math.sqrt(2 * float((variance**2).sum()))
    signal = max(float(above / (expected**2).sum()), 0.0)
    kept = signal * expected**2 + 1e-300
    smoothed = np.maximum(expected + residual * kept / (kept + variance), 0.02 * expected)
    smoothed += 0.01 * total / smoothed.size
    return smoothed / smoothed.sum(1, keepdims=True)


def _positive(values: Floats, variance: Floats) -> Floats:
    """Shrink noisy totals to their mean, and keep them positive."""
    mean = max(float(values.mean()), 1e-6)
    spread = max(float(((values - mean) ** 2 - variance).mean()), 0.0) + 1e-300
    return np.maximum(mean + (values - mean) * spread / (spread + variance), 0.02 * mean)
