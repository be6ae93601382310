r"""The round of reports: each document's presence bits once, through a channel; the server fits moments.

A silo sends one packed report for each document, in an order of its own. The server adds reports to
:class:`~discreet.lda.moments.moments.Moments` and fits topics to them.

Guarantee
---------
*Unit, neighbours*: one token of a document, its word replaced by any other; the document's other words and all
other documents are the same. *Released*: all reports. *Loss*: at most epsilon, pure: a replaced word changes two
bits at most, once each way (:class:`~discreet.privacy.bit_channel.BitChannel`). A document exchanged for
another loses at most L epsilon, where neither has more than L different words. How many documents a silo has is told.
"""

import math
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.federated.account import Account, read_corpus_now
from discreet.federated.state import State
from discreet.lda.moments.learn import learn_topics
from discreet.lda.moments.moments import Moments, pack_bits, packed_width, stray_bits
from discreet.privacy.accounting import events
from discreet.privacy.bit_channel import BitChannel
from discreet.privacy.noise.stream import SecureStream

_BLOCK = 4096


def channel_of(state: State) -> Any:
    """Return the public channel: of least variance at ``state.density`` for one replaced word."""
    if math.isinf(state.epsilon):
        return SimpleNamespace(p=1.0, q=0.0)
    return BitChannel.for_replacement(state.epsilon, state.density)


def compute(state: State, corpus: Any, stream: SecureStream, account: Account) -> NDArray[np.uint8]:
    """Return packed reports, shape (n_documents, ceil(n_words / 8))."""
    what = "one report of each document's words, one word replaced"
    account.book(events.pure(state.epsilon), state.round, what, reproducible=stream.reproducible)
    corpus = read_corpus_now(corpus, state.mechanism, state.n_words)
    channel = channel_of(state)
    own = stream.spawn(f"bits {state.round}")
    order = np.argsort(own.words(corpus.shape[0]), kind="stable")
    blocks = [np.zeros((0, packed_width(state.n_words)), np.uint8)]
    for start in range(0, len(order), _BLOCK):
        present = corpus[order[start : start + _BLOCK]].toarray() > 0
        blocks.append(pack_bits(present if math.isinf(state.epsilon) else _randomised(present, channel, own)))
    return np.concatenate(blocks)


def _randomised(present: NDArray[np.bool_], channel: BitChannel, stream: SecureStream) -> NDArray[np.uint8]:
    """Toss the channel's coins for a block of documents, all words of which it keeps."""
    tossed = channel.report_from(present.ravel(), lambda n: stream.words((n + 1) // 2).view("<u4")[:n])
    return tossed.reshape(present.shape)


def fault(state: State, update: Any) -> str | None:
    """Return what is wrong with an update, or None."""
    values: NDArray[Any] = update.values
    width = packed_width(state.n_words)
    if values.ndim != 2 or values.shape[1] != width or values.dtype != np.uint8:
        return "not packed reports"
    if len(values) > state.most_reports:
        return "more reports than allowed"
    if stray_bits(values, state.n_words):
        return "bits beyond the vocabulary"
    return None


def combine(state: State, taken: dict[int, NDArray[np.uint8]]) -> tuple[NDArray[np.float64], Any]:
    """Keep all reports, by client."""
    return state.topic_word, taken


def fit(state: State) -> tuple[NDArray[np.float64], dict[str, Any]]:
    """Return topics fitted to all reports, and what was found with them.

    Raises
    ------
    ParameterError
        Where there is nothing to learn.
    """
    channel = channel_of(state)
    moments = Moments(state.n_words, channel=channel)
    for reports in state.sums.values():
        moments.add_batch(reports, packed=True)
    if moments.n == 0:
        return state.topic_word, {}
    topics = learn_topics(
        moments.estimates(),
        state.n_topics,
        state.seed,
        what=f"{moments.n:,} reports",
        advice='Collect more, raise epsilon, or take mechanism="aggregate";',
        allow_unlearnable=state.allow_unlearnable,
    )
    topic_word = topics.topic_word / topics.topic_word.sum(1, keepdims=True)
    return topic_word, {"learnable": topics.learnable, "n": moments.n, "weight": topics.topic_weight}
