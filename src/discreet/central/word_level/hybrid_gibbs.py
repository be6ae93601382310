r"""HDP-LDA made provable: Gibbs sweeps that see the texts' topics through fresh noise, and through nothing else.

Sweep t: release the counts :math:`n_{kw}` of words in the topics z drawn before, with fresh noise, cut at 0, as s.
From the second sweep on (first topics say nothing) release the counts :math:`n_{dk}` of all documents, too, with fresh
noise; a running mean of what was released so far, cut at 0, is :math:`\bar n_{dk}`. Then draw every token's topic from

.. math:: p(z_{di} = k) \propto \frac{s_{kw} + \beta}{\sum_{w'} (s_{kw'} + \beta)}\,(\bar n_{dk} + \alpha).

The first topics are uniform. After T sweeps one more table of words is released, and the topics are read from it.

Guarantee
---------
*Unit*: word. *Neighbours*: one token's word is replaced by another; lengths and everything else stay. *Released*: T + 1
noisy word-topic tables and T - 1 noisy document-topic tables; no topic of a token. *Sensitivity*: L1 2, L2
:math:`\sqrt 2` for each of the 2T tables. *Event*: 2T noise events, and none for draws.

Proof. Fix the random digits with which each token is drawn, the same for both corpora. Given the tables released so
far, the topic of any token but (d, i) is a function of them, of its own word and its own digits, and so the same in
both. The topic of (d, i) may differ in any way; the exact tables then differ by one token that is filed in another
cell (:mod:`discreet.privacy.row_sums`), which is what the noise covers. So for any digits the run is an adaptive
composition of 2T noise mechanisms; and averaging over digits does not raise the loss, which is jointly quasi-convex.
How well digits and weights are rounded does not matter: any function would do.

*The order of tokens.* Counts are written out word by word, so a replaced word moves its token to another place, and
the tokens between get each other's digits. Digits of all tokens are independent and of one law, and tables do not tell
in which order tokens stand: so they have the same law as if each token had kept its own.

*Noise on the word-topic tables alone is not enough*, even where nobody sees an assignment: with exact document counts
the replaced token draws its neighbours in the document along, and the next exact tables may differ by the whole
document. In the worst case the loss of a table grows with the length of the document
(``test_noise_on_counts_alone_does_not_cover_the_counts``). In the form of the paper, where documents are seen exactly
and all assignments count as released, a draw costs, too: ``experiments/zhao2020/meant_gibbs.py`` has it, with its
proof. At no total up to 16 were its topics as good as these.

Needed, each of them (tests/central/test_hybrid_gibbs_proof.py takes one away at a time): the tables fixed in a sweep,
the noise fresh, the last table noisy.

Reference
---------
Zhao, Ren, Yang, Han, Zhao, Yang, "Latent Dirichlet Allocation Model Training with Differential Privacy",
arXiv:2010.04391, algorithm 1.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from discreet._base.kernels import kernel
from discreet._base.threads import pieces, share_out
from discreet.central.word_level.cost import Mechanism
from discreet.lda.emitted import aligned
from discreet.lda.gibbs.draw import LANES, draw
from discreet.lda.gibbs.state import Tokens, count_topics, padded
from discreet.privacy.bound import BoundedSum
from discreet.privacy.ledger.reservation import Reservation
from discreet.privacy.noise.stream import SecureStream

#: The t-th noisy document table enters the running mean with weight t ** -0.4: earlier ones are forgotten slowly.
_FORGETTING = 0.4


class Settings(NamedTuple):
    """Public settings of a run."""

    n_topics: int
    #: alpha.
    doc_topic_prior: float
    #: beta.
    topic_word_prior: float
    #: Noise of one table.
    mechanism: Mechanism


class State(NamedTuple):
    """A chain between two sweeps."""

    #: (n_tokens,) uint16: topic of each token. Private.
    topics: NDArray[np.uint16]
    #: Sweeps done.
    sweep: int
    #: (n_documents, n_topics): running mean of the released document-topic tables.
    doc_mean: NDArray[np.float64]


def init(tokens: Tokens, settings: Settings, stream: SecureStream) -> State:
    """Draw a topic for each token, uniformly: no word has a say."""
    # The upper 32 bits times K, rounded down: not quite uniform, and no worse for that, as no word is involved.
    words = stream.spawn("first topics").words(len(tokens.words)) >> np.uint64(32)
    topics = ((words * np.uint64(settings.n_topics)) >> np.uint64(32)).astype(np.uint16)
    return State(topics, 0, np.zeros((tokens.n_documents, settings.n_topics)))


def step(
    state: State,
    tokens: Tokens,
    settings: Settings,
    stream: SecureStream,
    reservation: Reservation,
    *,
    n_threads: int = 1,
) -> tuple[State, NDArray[np.float64]]:
    """Release the tables of a sweep and draw from them; return the state after it, and the table of words and topics.

    Children of ``stream`` are spawned for the noise and for the draws; the reservation covers the tables. Nothing
    depends on the threads.
    """
    released = release_table(state, tokens, settings, stream, reservation, n_threads=n_threads)
    mean = state.doc_mean
    if state.sweep:
        document = np.repeat(np.arange(tokens.n_documents), np.diff(tokens.indptr))
        counts = np.bincount(document * settings.n_topics + state.topics, minlength=mean.size)
        total = BoundedSum(counts.astype(np.int64).reshape(mean.shape), settings.mechanism.bound)
        own = stream.spawn(f"documents {state.sweep}")
        noisy: Any = settings.mechanism.release(total, own, reservation, n_jobs=n_threads)
        mean = mean + state.sweep**-_FORGETTING * (noisy - mean)
    table = len(released) * topics_of(released, settings.topic_word_prior).T
    bits = stream.spawn(f"draws of sweep {state.sweep}").words(len(tokens.words))
    topics = _draw_topics(tokens, table, np.maximum(mean, 0) + settings.doc_topic_prior, bits, n_threads)
    return State(topics, state.sweep + 1, mean), released


def release_table(
    state: State,
    tokens: Tokens,
    settings: Settings,
    stream: SecureStream,
    reservation: Reservation,
    *,
    n_threads: int = 1,
) -> NDArray[np.float64]:
    """Release the noisy counts of the state's topics, shape (n_words, n_topics), cut at 0.

    ``PrivacyError`` where the reservation does not cover one more table.
    """
    counts = count_topics(tokens, state.topics, settings.n_topics, n_threads)[:, : settings.n_topics]
    total = BoundedSum(counts.astype(np.int64), settings.mechanism.bound)
    noisy: Any = settings.mechanism.release(
        total, stream.spawn(f"table {state.sweep}"), reservation, n_jobs=n_threads
    )
    return np.maximum(noisy, 0).astype(np.float64)


def topics_of(table: NDArray[np.float64], topic_word_prior: float) -> NDArray[np.float64]:
    """Read topics, shape (n_topics, n_words), from a released table: (s + beta), rows scaled to sum to 1."""
    phi = np.ascontiguousarray(table.T) + topic_word_prior
    return phi / phi.sum(1, keepdims=True)


@kernel(error_model="numpy")
def _draw(tokens: Any, table: Any, documents: Any, bits: Any, first: int, last: int, out: Any) -> None:
    """Draw the topics of documents ``first`` to ``last``; ``out``: (n_tokens,), and the number of topics."""
    drawn, n_topics, zeros, sums = out
    for d in range(first, last):
        weights = documents[d]
        for i in range(tokens.indptr[d], tokens.indptr[d + 1]):
            k = draw(weights, zeros, table, tokens.words[i], bits[i], sums, len(weights) // LANES, ())
            drawn[i] = min(k, n_topics - 1)  # a number that is not finite would lead past it


def _draw_topics(
    tokens: Tokens,
    table: NDArray[np.float64],
    documents: NDArray[np.float64],
    bits: NDArray[np.uint64],
    n_threads: int,
) -> NDArray[np.uint16]:
    """Draw each token's topic in proportion to its word's row of ``table`` times its document's row of ``documents``.

    ``bits``: a random word for each token.
    """
    n_topics = table.shape[1]
    width = padded(n_topics)
    singles = [aligned((len(rows), width), np.float32) for rows in (table, documents)]
    for single, rows in zip(singles, (table, documents), strict=True):
        single[:, :n_topics] = rows
    drawn, zeros = np.empty(len(bits), np.uint16), aligned((width,), np.float32)

    def work(piece: tuple[int, int]) -> None:
        out = drawn, n_topics, zeros, aligned((width,), np.float32)
        _draw(tokens, *singles, bits, *piece, out)

    share_out(work, pieces(tokens.indptr, n_threads), n_threads)
    return drawn
