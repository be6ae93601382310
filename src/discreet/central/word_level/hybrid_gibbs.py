r"""HDP-LDA made provable: Gibbs sweeps from frozen, clipped, noisy word-topic tables.

There are two ways to run it, and each has a proof of its own.

*Assignments count as released* (the adversary of the paper). Sweep t: release
:math:`s = \mathrm{clip}(n_{kw} + \text{fresh noise}, 0, C)`, n being the exact counts of the topics z drawn
before; freeze it; draw every token's topic once, document by document, in a fixed order, from

.. math:: p(z_{di} = k) \propto \frac{s_{kw} + \beta}{\sum_{w'} (s_{kw'} + \beta)}\,(n_{dk}^{-di} + \alpha).

Only the document side is live, and only there a token leaves itself out. The first topics are uniform. After T sweeps
one more table is released, and the topics are read from it.

*Assignments stay inside.* The same, but a draw sees its document only through noise, too: in sweep t the counts
:math:`n_{dk}` of all documents are released with fresh noise, a running mean of what was released so far is cut at 0,
and its rows replace :math:`n_{dk}^{-di}` for the whole sweep. (The first sweep takes none: first topics say nothing.)

Guarantee when assignments count as released
--------------------------------------------
*Unit*: word. *Neighbours*: one token's word is replaced by another; lengths and everything else stay. *Released*: the
T + 1 noisy tables **and all topics** :math:`z_0, z_1, \dots, z_T`, whoever may see them. *Sensitivity*, given what
was released before: a table's L1 distance is 2, its L2 distance :math:`\sqrt 2`. *Event*: T + 1 noise events and T
draws of range :math:`2L`, :math:`L = \ln(1 + C/\beta)`.

Proof. Take two neighbours, token (d, i) being w in one and w' in the other, and fix everything released so far.

*Start*: :math:`z_0` does not depend on words. *A table*: given z, the two exact tables differ in cells
:math:`(z_{di}, w)` and :math:`(z_{di}, w')`, by one each (:mod:`discreet.privacy.histogram_bound`); clipping,
normalising and rounding to whole numbers follow the release. The noise is fresh and the sum exact: noise that stays in
the counts, with more added each sweep, is a walk whose steps have L1 sensitivity 4.

*A sweep*: multiply the probabilities of :math:`z_1, z_2, \dots` in the order of drawing. Every token but (d, i) has
the same word, the same table and, given the topics before it, the same document counts in both corpora: its factor
cancels. There remains token (d, i), with :math:`p(k) = \phi_{kw} a_k / Z` against
:math:`p'(k) = \phi_{kw'} a_k / Z'`, and

.. math:: \ln\frac{p(k)}{p'(k)} = \ln\frac{\phi_{kw}}{\phi_{kw'}} + \ln\frac{Z'}{Z}.

The first term lies in :math:`[-L, L]`, since all entries of a topic lie within a factor :math:`1 + C/\beta` of each
other (whole numbers, checked exactly: :func:`~discreet.central.word_level.integer_draws.integer_table`); the second
does not depend on k. So the draw is a :math:`2L`-bounded-range mechanism: pure :math:`2L`, and the factor 2 is tight.

*The order*: it must not depend on the words, or more factors than one would differ:
:mod:`discreet.central.word_level.arranged_tokens`. *Arithmetic*:
:mod:`discreet.central.word_level.integer_draws`. *Composition*: adaptive.

Guarantee when assignments stay inside
--------------------------------------
*Unit, neighbours*: as above. *Released*: T + 1 noisy word-topic tables and T - 1 noisy document-topic tables; no
topic of a token. *Sensitivity*: L1 2, L2 :math:`\sqrt 2` for each of the 2T tables. *Event*: 2T noise events, and none
for draws.

Proof. Fix the random digits with which each token is drawn, the same for both corpora. Given the tables released so
far, the topic of any token but (d, i) is a function of them, of its own word and its own digits, and so the same in
both. The topic of (d, i) may differ in any way; the exact tables then differ by one token that is filed in another
cell, which is what the noise covers. So for any digits the run is an adaptive composition of 2T noise mechanisms; and
averaging over digits does not raise the loss, which is jointly quasi-convex.

*Noise on the word-topic tables alone is not enough*, even where nobody sees an assignment: with live document counts
the replaced token draws its neighbours in the document along, and the next exact tables may differ by the whole
document. In the worst case the loss of a table grows with the length of the document
(``test_noise_on_counts_alone_does_not_cover_the_counts``). That variant is
:class:`~discreet.central.word_level.count_noise_lda.CountNoiseLDA`.

Needed, each of them (tests/central/test_hybrid_gibbs_proof.py takes one away at a time): the table frozen, the
noise fresh, the clip from below, the last table noisy, the order independent of words.

Reference
---------
Zhao, Ren, Yang, Han, Zhao, Yang, "Latent Dirichlet Allocation Model Training with Differential Privacy",
arXiv:2010.04391, algorithm 1. Bounded range: Durfee, Rogers, arXiv:1905.04273; its zCDP: Cesar,
Rogers, arXiv:2010.13981.
"""

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from discreet.central.word_level.cost import Mechanism, range_of
from discreet.central.word_level.integer_draws import (
    check_lengths,
    draw_topics,
    integer_prior,
    integer_table,
    integer_weights,
)
from discreet.lda.gibbs.state import Tokens, count_topics
from discreet.privacy.bound import BoundedSum
from discreet.privacy.ledger.reservation import Reservation
from discreet.privacy.noise.stream import SecureStream

if TYPE_CHECKING:
    from discreet.privacy.accounting.events import Event

__all__ = ["Info", "Settings", "State", "init", "release_table", "step", "topics_of"]


#: The t-th noisy document table enters the running mean with weight t ** -0.4: earlier ones are forgotten slowly.
_FORGETTING = 0.4


class Settings(NamedTuple):
    """Public settings of a run.

    Attributes
    ----------
    n_topics : int
    doc_topic_prior : float
        alpha; rounded to a multiple of 1/1024.
    topic_word_prior : float
        beta.
    clip : float or None
        C; None: counts are not cut from above.
    mechanism : GaussianMechanism or LaplaceMechanism
        Noise of one table.
    hidden : bool, default False
        Assignments stay inside: documents, too, are seen through noise.
    """

    n_topics: int
    doc_topic_prior: float
    topic_word_prior: float
    clip: float | None
    mechanism: Mechanism
    hidden: bool = False


class State(NamedTuple):
    """A chain between two sweeps.

    Attributes
    ----------
    topics : array of shape (n_tokens,), uint16
        Topic of each token.
    sweep : int
        Sweeps done.
    doc_mean : array of shape (n_documents, n_topics) or None
        Running mean of the released document-topic tables; None where assignments count as released.
    """

    topics: NDArray[np.uint16]
    sweep: int
    doc_mean: NDArray[np.float64] | None = None


class Info(NamedTuple):
    """About one sweep.

    Attributes
    ----------
    table : array of shape (n_words, n_topics), float64
        The noisy clipped counts that were released.
    n_moved : int
        Tokens that changed their topic.
    """

    table: NDArray[np.float64]
    n_moved: int


def init(tokens: Tokens, settings: Settings, stream: SecureStream) -> State:
    """Draw a topic for each token, uniformly: no word has a say.

    Raises
    ------
    CorpusError
        Where a document is too long for 32-bit weights.
    """
    prior = integer_prior(settings.doc_topic_prior, settings.n_topics)
    check_lengths(tokens.indptr, prior, settings.n_topics)
    # The upper 32 bits times K, rounded down: not quite uniform, and no worse for that, as no word is involved.
    words = stream.spawn("first topics").words(len(tokens.words)) >> np.uint64(32)
    topics = ((words * np.uint64(settings.n_topics)) >> np.uint64(32)).astype(np.uint16)
    doc_mean = np.zeros((tokens.n_documents, settings.n_topics)) if settings.hidden else None
    return State(topics, 0, doc_mean)


def step(
    state: State,
    tokens: Tokens,
    settings: Settings,
    stream: SecureStream,
    reservation: Reservation,
    *,
    n_threads: int = 1,
) -> tuple[State, Info]:
    """Release a table and do one sweep from it.

    Parameters
    ----------
    state : State
        Is left as it was.
    tokens : Tokens
        As arranged for :func:`init`.
    settings : Settings
    stream : SecureStream
        Children are spawned for the noise and for the draws.
    reservation : Reservation
        Covers this table and, where assignments count as released, this sweep of draws.
    n_threads : int
        Threads; nothing depends on it.
    """
    released = release_table(state, tokens, settings, stream, reservation, n_threads=n_threads)
    doc_mean, doc_weights = state.doc_mean, None
    if doc_mean is not None:
        doc_mean = _doc_mean(state, doc_mean, tokens, settings, stream, reservation, n_threads)
        doc_weights = integer_weights(doc_mean, settings.doc_topic_prior)
    table = integer_table(released, settings.topic_word_prior, settings.clip)
    if not settings.hidden:
        bound = settings.mechanism.bound
        reservation.use(_draw_event(settings), privacy_unit=bound.privacy_unit, neighboring=bound.neighboring)
    topics = draw_topics(
        tokens,
        state.topics,
        table,
        settings.n_topics,
        integer_prior(settings.doc_topic_prior, settings.n_topics),
        stream.spawn(f"draws of sweep {state.sweep}"),
        doc_weights=doc_weights,
        n_threads=n_threads,
    )
    n_moved = int(np.count_nonzero(topics != state.topics))
    return State(topics, state.sweep + 1, doc_mean), Info(released, n_moved)


def _draw_event(settings: Settings) -> "Event":
    """Return the event of one sweep of topic draws, of bounded range where counts are cut from above."""
    from discreet.privacy.accounting import events

    if settings.clip is None:
        return events.non_private()
    return events.bounded_range(range_of(settings.clip, settings.topic_word_prior))


def _doc_mean(
    state: State,
    mean: NDArray[np.float64],
    tokens: Tokens,
    settings: Settings,
    stream: SecureStream,
    reservation: Reservation,
    n_threads: int,
) -> NDArray[np.float64]:
    """Release the document-topic counts, and return the running mean with them in it."""
    if state.sweep == 0:
        return mean
    document = np.repeat(np.arange(tokens.n_documents), np.diff(tokens.indptr))
    counts = np.bincount(document * settings.n_topics + state.topics, minlength=mean.size)
    total = BoundedSum(counts.astype(np.int64).reshape(mean.shape), settings.mechanism.bound)
    noisy: Any = settings.mechanism.release(
        total, stream.spawn(f"documents {state.sweep}"), reservation, n_jobs=n_threads
    )
    return mean + state.sweep**-_FORGETTING * (noisy - mean)


def release_table(
    state: State,
    tokens: Tokens,
    settings: Settings,
    stream: SecureStream,
    reservation: Reservation,
    *,
    n_threads: int = 1,
) -> NDArray[np.float64]:
    """Release the noisy counts of the state's topics, shape (n_words, n_topics), cut at 0 and ``settings.clip``.

    Raises
    ------
    PrivacyError
        Where the reservation does not cover one more table.
    """
    counts = count_topics(tokens, state.topics, settings.n_topics, n_threads)[:, : settings.n_topics]
    total = BoundedSum(counts.astype(np.int64), settings.mechanism.bound)
    noisy: Any = settings.mechanism.release(
        total, stream.spawn(f"table {state.sweep}"), reservation, n_jobs=n_threads
    )
    return np.clip(noisy, 0, settings.clip).astype(np.float64)


def topics_of(table: NDArray[np.float64], topic_word_prior: float) -> NDArray[np.float64]:
    """Read topics, shape (n_topics, n_words), from a released table: (s + beta), rows scaled to sum to 1."""
    phi = np.ascontiguousarray(table.T) + topic_word_prior
    return phi / phi.sum(1, keepdims=True)
