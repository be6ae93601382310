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
:math:`(z_{di}, w)` and :math:`(z_{di}, w')`, by one each (:mod:`discreet.privacy.row_sums`); clipping,
normalising and rounding to whole numbers follow the release. The noise is fresh and the sum exact: noise that
stays in the counts, with more added each sweep, is a walk whose steps have L1 sensitivity 4.

*A sweep*: multiply the probabilities of :math:`z_1, z_2, \dots` in the order of drawing. Every token but (d, i) has
the same word, the same table and, given the topics before it, the same document counts in both corpora: its factor
cancels. There remains token (d, i), with :math:`p(k) = \phi_{kw} a_k / Z` against
:math:`p'(k) = \phi_{kw'} a_k / Z'`, and

.. math:: \ln\frac{p(k)}{p'(k)} = \ln\frac{\phi_{kw}}{\phi_{kw'}} + \ln\frac{Z'}{Z}.

The first term lies in :math:`[-L, L]`, since all entries of a topic lie within a factor :math:`1 + C/\beta` of each
other (whole numbers, checked exactly: :func:`integer_table`); the second
does not depend on k. So the draw is a :math:`2L`-bounded-range mechanism: pure :math:`2L`, and the factor 2 is tight.

*The order* must not depend on the words, and the *arithmetic* be exact, or more factors than one would differ: see
below. *Composition*: adaptive.

Guarantee when assignments stay inside
--------------------------------------
*Unit, neighbours*: as above. *Released*: T + 1 noisy word-topic tables and T - 1 noisy document-topic tables;
no topic of a token. *Sensitivity*: L1 2, L2 :math:`\sqrt 2` for each of the 2T tables. *Event*: 2T noise
events, and none for draws.

Proof. Fix the random digits with which each token is drawn, the same for both corpora. Given the tables released so
far, the topic of any token but (d, i) is a function of them, of its own word and its own digits, and so the same in
both. The topic of (d, i) may differ in any way; the exact tables then differ by one token that is filed in another
cell, which is what the noise covers. So for any digits the run is an adaptive composition of 2T noise mechanisms; and
averaging over digits does not raise the loss, which is jointly quasi-convex.

*Noise on the word-topic tables alone is not enough*, even where nobody sees an assignment: with live document counts
the replaced token draws its neighbours in the document along, and the next exact tables may differ by the whole
document. In the worst case the loss of a table grows with the length of the document
(``test_noise_on_counts_alone_does_not_cover_the_counts``).

Needed, each of them (tests/central/test_hybrid_gibbs_proof.py takes one away at a time): the table frozen, the
noise fresh, the clip from below, the last table noisy, the order independent of words.

The order of tokens
-------------------
A matrix of counts has no order of tokens, and whoever writes it out word by word makes one that depends on the
words: replace one token's word, and it moves to another place in its document. A sweep then draws it earlier or
later than before, the other tokens are drawn given other counts, and *their* laws differ too: the proof above,
in which only one token's draw differs, would not hold. So each document's tokens are put in an order drawn
uniformly at random, once, from the secure source (:func:`arrange`). Two documents that differ in one token's
word then have the same law of arrangement up to that word: there is a bijection between their arrangements
(equally probable all) such that matched ones differ at one place only. What is proved for matched arrangements
holds for the mixture over them, because the privacy loss is jointly (quasi-)convex.

Draws in integers
-----------------
A token of word w in document d gets topic k with probability

.. math:: p_k = \frac{t_{wk}\, a_{dk}}{\sum_j t_{wj}\, a_{dj}},

t the table, a the document's weights (its counts times :math:`2^{10}`, the token's own left out, plus the prior),
both whole numbers. Products and their sum S are computed in 64-bit integers (:math:`t < 2^{30}`,
:math:`\sum_k a_{dk} < 2^{32}`, so :math:`S < 2^{62}`), and the topic is the one whose interval of the prefix sums
holds :math:`\lfloor u S \rfloor`, u uniform on :math:`[0, 1)`.

No floating point takes part. u is read digit by digit: 64 bits first, and where the rest could still change
:math:`\lfloor u S \rfloor` (probability :math:`S / 2^{64}`) the document is drawn again with the same 64 bits and
64 more. With 128 bits each topic's probability is within :math:`2^{-128}` of :math:`p_k`; and
:math:`p_k \ge 1/S > 2^{-62}`, so log-probabilities are off by less than :math:`2^{-65}`. That is what a proof has to
allow for, and :func:`discreet.central.word_level.cost.range_of` does.

Reference
---------
Zhao, Ren, Yang, Han, Zhao, Yang, "Latent Dirichlet Allocation Model Training with Differential Privacy",
arXiv:2010.04391, algorithm 1. Bounded range: Durfee, Rogers, arXiv:1905.04273; its zCDP: Cesar,
Rogers, arXiv:2010.13981.
"""

import math
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from discreet._base.kernels import kernel
from discreet._base.threads import pieces, share_out
from discreet.central.word_level.cost import Mechanism, range_of
from discreet.errors import CorpusError, ParameterError
from discreet.lda.documents import read_documents
from discreet.lda.gibbs.state import Tokens, count_topics, padded, read_tokens
from discreet.privacy.bound import BoundedSum
from discreet.privacy.ledger.reservation import Reservation
from discreet.privacy.noise.stream import SecureStream, WordBlocks

if TYPE_CHECKING:
    from discreet.privacy.accounting.events import Event

#: The t-th noisy document table enters the running mean with weight t ** -0.4: earlier ones are forgotten slowly.
_FORGETTING = 0.4
#: Weight of one token in a document; priors are multiples of 1 / COUNT_UNIT.
COUNT_UNIT = 1024
_TOP = 2**30
_MOST_WEIGHT = 2**32 - 1
_LANES = 16
_LOW = np.uint64(0xFFFFFFFF)
_HALF = np.uint64(32)


class Settings(NamedTuple):
    """Public settings of a run."""

    n_topics: int
    #: alpha; rounded to a multiple of 1/1024.
    doc_topic_prior: float
    #: beta.
    topic_word_prior: float
    #: C; None: counts are not cut from above.
    clip: float | None
    #: Noise of one table.
    mechanism: Mechanism
    #: Assignments stay inside: documents, too, are seen through noise.
    hidden: bool = False


class State(NamedTuple):
    """A chain between two sweeps."""

    #: (n_tokens,) uint16: topic of each token.
    topics: NDArray[np.uint16]
    #: Sweeps done.
    sweep: int
    #: (n_documents, n_topics): running mean of the released document-topic tables; None where assignments count as
    #: released.
    doc_mean: NDArray[np.float64] | None = None


def init(tokens: Tokens, settings: Settings, stream: SecureStream) -> State:
    """Draw a topic for each token, uniformly: no word has a say. ``CorpusError`` for a document too long for 32
    bits.
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
) -> tuple[State, NDArray[np.float64]]:
    """Release a table, (n_words, n_topics), and do one sweep from it; return the state after it, and the table.

    ``tokens``: as arranged for :func:`init`; children of ``stream`` are spawned for the noise and for the draws; the
    reservation covers this table and, where assignments count as released, this sweep of draws. Nothing depends on the
    threads.
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
    return State(topics, state.sweep + 1, doc_mean), released


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

    ``PrivacyError`` where the reservation does not cover one more table.
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


# ---- tokens and draws


def arrange(counts: Any, stream: SecureStream) -> Tokens:
    """Write counts, whole numbers, out as tokens, in a random order within each document that ``stream`` decides."""
    tokens = read_tokens(read_documents(counts))
    n_tokens = len(tokens.words)
    document = np.repeat(np.arange(tokens.n_documents), np.diff(tokens.indptr))
    while True:
        keys = stream.words(n_tokens)
        order = np.lexsort((keys, document))
        ranked = keys[order]
        # Two equal keys in a document would be ordered by their words: draw all of them again.
        if not ((ranked[1:] == ranked[:-1]) & (document[1:] == document[:-1])).any():
            return tokens._replace(words=np.ascontiguousarray(tokens.words[order]))


def integer_prior(doc_topic_prior: float, n_topics: int) -> int:
    """Return the prior in units of a 1/1024 token, at least one unit."""
    prior = max(1, round(doc_topic_prior * COUNT_UNIT))
    if prior * n_topics > _MOST_WEIGHT // 2:
        raise ParameterError(
            f"`doc_topic_prior` must be at most {_MOST_WEIGHT // 2 // COUNT_UNIT // n_topics} for {n_topics} topics, "
            f"but is {doc_topic_prior}."
        )
    return prior


def check_lengths(indptr: NDArray[np.int64], prior: int, n_topics: int) -> None:
    """Refuse documents whose weights would leave 32 bits: about two million tokens. Lengths are public."""
    longest = (_MOST_WEIGHT // 2 - prior * n_topics) // COUNT_UNIT
    lengths = np.diff(indptr)
    if len(lengths) and lengths.max() > longest:
        raise CorpusError(
            f"row {int(lengths.argmax())} has {int(lengths.max())} tokens, but a document may have {longest} at "
            "most: split it."
        )


def integer_table(counts: NDArray[Any], topic_word_prior: float, clip: float | None) -> NDArray[np.uint32]:
    """Turn released counts into the weights of draws: whole numbers in proportion to (s + beta) / sum of (s + beta).

    ``counts``: (n_words, n_topics), from 0 to ``clip``, with which no two entries of a topic have a ratio above 1 +
    clip / beta, exactly. The table, (n_words, width) uint32, is from 1 to 2**30, with zeros in the padding.
    """
    n_words, n_topics = counts.shape
    table = np.zeros((n_words, padded(n_topics)), np.uint32)
    phi = counts + topic_word_prior
    scale = 1 / phi.sum(0)
    scale *= _TOP / (phi.max(0) * scale).max()
    least = np.maximum(np.floor(topic_word_prior * scale), 1)
    most = np.full(n_topics, float(_TOP))
    if clip is not None:
        ratio = 1 + Fraction(clip) / Fraction(topic_word_prior)
        # Exact: the range of a draw is proved from this bound, not from the division above.
        most = np.array([float(min(_TOP, math.floor(int(low) * ratio))) for low in least])
    table[:, :n_topics] = np.clip(np.floor(phi * scale), least, most)
    return table


def integer_weights(doc_counts: NDArray[np.float64], doc_topic_prior: float) -> NDArray[np.uint32]:
    """Turn noisy counts of topics in documents into weights: cut at 0, plus prior, in units of 1/1024 token.

    Of shape (n_documents, width), uint32, with zeros in the padding.
    """
    n_topics = doc_counts.shape[1]
    weights = np.zeros((len(doc_counts), padded(n_topics)), np.uint32)
    units = np.rint(np.maximum(doc_counts, 0) * COUNT_UNIT) + integer_prior(doc_topic_prior, n_topics)
    weights[:, :n_topics] = np.minimum(units, _MOST_WEIGHT // n_topics)
    return weights


@kernel()
def _draw(
    indptr: Any,
    words: Any,
    topics: Any,
    table: Any,
    prior: Any,
    fixed: Any,
    bits: Any,
    more: Any,
    first: int,
    last: int,
    flags: Any,
) -> None:
    """Draw documents ``first`` to ``last``; flag those that need more digits, and leave them as they were.

    ``fixed`` of shape (n_documents, width) replaces the documents' counts, unless it is empty.
    """
    width = table.shape[1]
    n_chunks = width // _LANES
    counts = np.zeros(width, np.uint32)
    sums = np.zeros(n_chunks, np.uint64)
    unit = np.uint32(COUNT_UNIT)
    one = np.uint64(1)
    live = fixed.shape[0] == 0
    given = len(more) > 0
    for d in range(first, last):
        start, end = indptr[d], indptr[d + 1]
        before = topics[start:end].copy()
        if live:
            counts[:] = prior
            for i in range(start, end):
                counts[topics[i]] += unit
        else:
            counts[:] = fixed[d]
        for i in range(start, end):
            row = table[words[i]]
            if live:
                counts[topics[i]] -= unit
            total = np.uint64(0)
            for c in range(n_chunks):
                part = np.uint64(0)
                for k in range(c * _LANES, (c + 1) * _LANES):
                    part += np.uint64(row[k]) * np.uint64(counts[k])
                sums[c] = part
                total += part
            high, low = _product(bits[i], total)
            if low > ~total:  # low + total would carry: later digits decide
                if not given:
                    flags[d] = 1
                    topics[start:end] = before
                    break
                further, _ = _product(more[i - indptr[first]], total)
                if low + further < low:
                    high += one
            c = 0
            while high >= sums[c]:
                high -= sums[c]
                c += 1
            # Count prefix sums up to the target instead of stopping at it: no branch to mispredict.
            part = np.uint64(0)
            k = c * _LANES
            for j in range(c * _LANES, (c + 1) * _LANES):
                part += np.uint64(row[j]) * np.uint64(counts[j])
                k += part <= high
            if live:
                counts[k] += unit
            topics[i] = k


@kernel(inline="always")
def _product(x: Any, y: Any) -> Any:
    """Return the upper and the lower 64 bits of a product."""
    x0, x1 = x & _LOW, x >> _HALF
    y0, y1 = y & _LOW, y >> _HALF
    low = x0 * y0
    middle = x1 * y0 + (low >> _HALF)
    other = x0 * y1 + (middle & _LOW)
    return x1 * y1 + (middle >> _HALF) + (other >> _HALF), (other << _HALF) | (low & _LOW)


def _words(source: WordBlocks, block: int, n: int) -> NDArray[np.uint64]:
    """Return the first n words of 64 bits of a block, without a copy."""
    return source.read(block, 0, 0, 2 * n).view(np.uint64)


_NONE = np.empty(0, np.uint64)
_NO_ROWS = np.empty((0, 1), np.uint32)


def draw_topics(
    tokens: Tokens,
    topics: NDArray[np.uint16],
    table: NDArray[np.uint32],
    n_topics: int,
    prior: int,
    stream: SecureStream,
    *,
    doc_weights: NDArray[np.uint32] | None = None,
    n_threads: int = 1,
) -> NDArray[np.uint16]:
    """Draw every token's topic once, document by document, from a table that stays as it is, and so do ``topics``.

    ``tokens``: in an order that no word decides (:func:`arrange`); ``table``, ``prior``: as made by
    :func:`integer_table` and :func:`integer_prior`; ``stream``: two keys are taken from it, for a word a token, and for
    one more in the few documents that need it; ``doc_weights``: (n_documents, width) uint32, weights of topics in each
    document to be used instead of its counts, zeros in the padding. The topics drawn do not depend on the threads.
    """
    drawn = topics.copy()
    alpha = np.zeros(table.shape[1], np.uint32)
    alpha[:n_topics] = prior
    fixed = _NO_ROWS if doc_weights is None else doc_weights
    bits = _words(stream.blocks("first digits"), 0, len(drawn))
    flags = np.zeros(tokens.n_documents, np.uint8)

    def draw(piece: tuple[int, int], more: NDArray[np.uint64] = _NONE) -> None:
        _draw(tokens.indptr, tokens.words, drawn, table, alpha, fixed, bits, more, *piece, flags)

    share_out(draw, pieces(tokens.indptr, n_threads), n_threads)
    further = stream.blocks("further digits")
    for d in np.flatnonzero(flags).tolist():
        draw((d, d + 1), _words(further, d, int(tokens.indptr[d + 1] - tokens.indptr[d])))
    return drawn
