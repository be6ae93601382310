r"""Starting topics: stepwise CVB0 over small batches of documents, and a draw of each token's topic in the last pass.

A batch's documents get expected counts :math:`\hat n_{dk}` from the table :math:`c`, which stays as it is, by some
steps of

.. math:: p_{dwk} \propto (\hat n_{dk} + \alpha_k) \frac{c_{wk} + \beta}{c_k + V \beta}, \qquad
          \hat n_{dk} = \sum_w n_{dw}\, p_{dwk},

in the last of which a token is left out of its document, :math:`\max(\hat n_{dk} - p_{dwk}, 0)` in place of
:math:`\hat n_{dk}`: without that, short documents end far too high. Then, a batch B of :math:`N_B` of all N tokens,

.. math:: c \leftarrow (1 - \rho_t)\, c + \rho_t \frac{N}{N_B} \sum_{d \in B} n_{dw}\, p_{dwk}, \qquad
          \rho_t = \tfrac12 \Big(\frac{\tau + 1}{\tau + 1 + t}\Big)^{3/4}.

The factor :math:`1 - \rho` is kept apart in one number, so that a batch changes the rows of its own words only. Counts
of earlier documents are added to :math:`c` wherever it is read, and stay as they are. Passes go over all documents,
each in an order of its own; in the last one each token's topic is drawn from its :math:`p`.

Guarantee: none. The same topics for any number of threads and any vector unit: documents come in fixed pieces, sums
have a fixed order (``start.simd``), powers are square roots. Eight threads at most are of use, and one where
batches are small.

Memory in bytes, besides the tokens: 12 for each stored count, at most 12 a token for what documents are expected to
hold, 2 a token for topics, n_words * width * 4, or twice that with earlier documents, and width * 4 for each different
word of a document of a batch.

Reference
---------
Foulds, Boyles, DuBois, Smyth, Welling, "Stochastic collapsed variational Bayesian inference for latent Dirichlet
allocation", KDD 2013, doi:10.1145/2487575.2487697.
"""

from math import cbrt
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from discreet._meetings import gates, together
from discreet._threads import balanced_cuts
from discreet.lda.gibbs.counter_stream import sweep_key
from discreet.lda.gibbs.start.one_pass import GATES, take_batches
from discreet.lda.gibbs.start.plain import FEW
from discreet.lda.gibbs.start.seeding import seeded_table, shuffled
from discreet.lda.gibbs.state import Tokens, aligned_zeros, padded

__all__ = ["Schedule", "Start", "begin", "choose_schedule", "starting_topics", "step"]

_PIECES = 8
_SMALLEST_FACTOR = 1e-6
#: Tokens of a batch times topics: below, threads that wait for each other take longer than one on a busy machine.
_WORTH_THREADS = 10_000_000
# Numbers of sweeps, for keys of random numbers: -1 are topics at random, 0 and above sweeps.
_SEEDING, _DRAWS, _ORDERS = -2, -3, -4


class Schedule(NamedTuple):
    """How a start goes over the documents."""

    n_passes: int
    n_batches: int
    #: Batches after which steps have become smaller.
    tau: float = 20.0
    #: Plain steps of a document in the first pass, and later; steps with tokens left out.
    first_plain: int = 4
    n_plain: int = 1
    n_out: int = 2


class Start(NamedTuple):
    """A start between two batches; its arrays are changed **in place**."""

    #: (n_words, width) float32: counts of words in topics, divided by ``factor``.
    table: NDArray[np.float32]
    factor: float
    #: (width,) float64: tokens of topics, earlier ones left out.
    totals: NDArray[np.float64]
    #: Where documents begin in what follows, (n_documents + 1,); how many topics of each are known, (n_documents,).
    starts: NDArray[np.int64]
    sizes: NDArray[np.int32]
    #: Topics of documents and their expected tokens.
    topics: NDArray[np.uint16]
    values: NDArray[np.float32]
    #: Batches done.
    n_done: int


class Entries(NamedTuple):
    """Documents as CSR."""

    indptr: NDArray[np.int64]
    words: NDArray[np.int32]
    counts: NDArray[np.float32]


class Earlier(NamedTuple):
    """Counts of earlier documents."""

    #: (n_words, width) int32; (0, width): none.
    counts: NDArray[np.int32]
    #: (width,) float64.
    totals: NDArray[np.float64]
    #: (n_words, width) float32, memory.
    both: NDArray[np.float32]


class Batches(NamedTuple):
    """Successive batches of a pass."""

    #: Documents in the order of this pass.
    order: NDArray[np.int64]
    rows_before: NDArray[np.int64]
    #: (n_batches, n_pieces + 1): where the pieces of batches begin and end in ``order``.
    cuts: NDArray[np.int64]
    n_tokens: NDArray[np.int64]
    equal: bool
    #: Receives a draw for each token; or empty.
    drawn: NDArray[np.uint16]


def choose_schedule(n_tokens: int, n_topics: int) -> Schedule:
    """Return the one rule for all corpora: small batches, and passes enough that small corpora see many of them.

    With many topics a pass is dear, and batches have to feed all of them: fewer passes, larger batches. docs/speed.md
    tells on which corpora it was chosen.
    """
    n_passes = min(16.0, max(8.0, 32e6 / n_tokens)) * min(1.0, cbrt(50 / n_topics))
    n_passes = max(4, round(n_passes))
    return Schedule(n_passes, max(1, round(n_tokens / max(10_000, 40 * n_topics, n_tokens / 200))))


def read_entries(tokens: Tokens) -> Entries:
    """Count the words of documents, whose tokens come in the order of words."""
    words, n_tokens = tokens.words, len(tokens.words)
    new = np.ones(n_tokens, np.bool_)
    np.not_equal(words[1:], words[:-1], out=new[1:])
    begins = tokens.indptr[:-1]
    new[begins[begins < n_tokens]] = True
    at = np.flatnonzero(new)
    counts = np.diff(at, append=n_tokens).astype(np.float32)
    return Entries(np.searchsorted(at, tokens.indptr).astype(np.int64), words[at], counts)


def begin(tokens: Tokens, n_topics: int, seed: int, *, seeded: bool = True) -> Start:
    """Begin with seeded topics, or with no tokens in any topic."""
    width = padded(n_topics)
    if seeded:
        table = seeded_table(tokens, n_topics, seed, _SEEDING)
    else:
        table = aligned_zeros((tokens.n_words, width), np.float32)
    room = np.minimum(n_topics, 2 * np.diff(tokens.indptr))
    starts = np.concatenate([[0], np.cumsum(room)]).astype(np.int64)
    topics, values = np.zeros(starts[-1], np.uint16), np.zeros(starts[-1], np.float32)
    totals = table.sum(axis=0, dtype=np.float64)
    return Start(table, 1.0, totals, starts, np.zeros(len(room), np.int32), topics, values, 0)


def step(
    state: Start,
    tokens: Tokens,
    entries: Entries,
    batches: Batches,
    doc_topic_prior: NDArray[np.float64],
    topic_word_prior: float,
    schedule: Schedule,
    key: Any,
    expected: NDArray[np.float32],
    word_cuts: NDArray[np.int64],
    earlier: Earlier,
) -> Start:
    """Take batches in; ``expected``: memory for the rows of one; ``word_cuts``: words for each thread."""
    n_threads, n_topics = len(word_cuts) - 1, len(doc_topic_prior)
    width = state.table.shape[1]
    sums, meetings = np.zeros((_PIECES, width)), gates(GATES * len(batches.cuts))

    def part(me: int) -> tuple[float, NDArray[np.float64]]:
        laws, totals = aligned_zeros((2, width), np.float32), state.totals.copy()
        laws[0, :n_topics] = doc_topic_prior
        factor = take_batches(
            entries,
            (batches.order, batches.rows_before, batches.cuts, batches.n_tokens),
            (len(tokens.words), n_topics),
            state.table,
            earlier,
            laws,
            topic_word_prior,
            (schedule.first_plain if batches.equal else schedule.n_plain, schedule.n_out, batches.equal),
            (state.n_done, schedule.tau, _SMALLEST_FACTOR),
            (state.starts, state.sizes, state.topics, state.values),
            (tokens.indptr, batches.drawn),
            key,
            (aligned_zeros((8 + FEW, width), np.float32), expected, sums),
            (me, n_threads, word_cuts, meetings),
            state.factor,
            totals,
        )
        return factor, totals

    factor, totals = together(part, n_threads, meetings)[0]
    return state._replace(factor=factor, totals=totals, n_done=state.n_done + len(batches.cuts))


def cut_batches(ends: NDArray[np.int64], cuts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Cut batches into pieces of about equal numbers of tokens, (n_batches, n_pieces + 1), and leave out empty ones."""
    begins, ends_of = cuts[:-1], cuts[1:]
    some = ends[ends_of] > ends[begins]
    begins, ends_of = begins[some], ends_of[some]
    pieces = np.searchsorted(ends, np.linspace(ends[begins], ends[ends_of], _PIECES + 1, axis=1))
    pieces[:, 0], pieces[:, -1] = begins, ends_of
    return pieces


def starting_topics(
    tokens: Tokens,
    doc_topic_prior: NDArray[np.float64],
    topic_word_prior: float,
    seed: int,
    *,
    earlier: NDArray[np.int32] | None = None,
    n_threads: int = 1,
    schedule: Schedule | None = None,
) -> NDArray[np.uint16]:
    """Return a topic for each token, (n_tokens,), for a chain to begin with.

    Parameters
    ----------
    tokens : Tokens
        The documents.
    doc_topic_prior : array of shape (n_topics,)
        alpha.
    topic_word_prior : float
        beta.
    seed : int
        0 to 2**64 - 1.
    earlier : array of shape (n_words, width), int32, optional
        Counts of other documents, which stay as they are and are added to every table.
    n_threads : int
        Threads; topics do not depend on it.
    schedule : Schedule, optional
        Batches and passes; ``choose_schedule`` without.
    """
    n_topics, n_tokens = len(doc_topic_prior), len(tokens.words)
    schedule = schedule or choose_schedule(n_tokens, n_topics)
    if n_tokens / schedule.n_batches * n_topics < _WORTH_THREADS:
        n_threads = 1
    entries, lengths = read_entries(tokens), np.diff(tokens.indptr)
    rows = -(-np.diff(entries.indptr) // FEW) * FEW
    state = begin(tokens, n_topics, seed, seeded=earlier is None)
    if earlier is None:
        earlier = np.zeros((0, padded(n_topics)), np.int32)
    both = aligned_zeros(earlier.shape, np.float32)
    before = Earlier(earlier, earlier.sum(axis=0, dtype=np.float64), both)
    by_word = np.concatenate([[0], np.cumsum(np.bincount(entries.words, minlength=tokens.n_words))])
    word_cuts = balanced_cuts(by_word, min(n_threads, _PIECES))
    topics, none = np.zeros(n_tokens, np.uint16), np.empty(0, np.uint16)
    expected = aligned_zeros((0, padded(n_topics)), np.float32)
    for done in range(schedule.n_passes):
        order = shuffled(tokens.n_documents, seed, _ORDERS - done)
        ends, rows_before = (np.concatenate([[0], np.cumsum(n[order])]) for n in (lengths, rows))
        cuts = balanced_cuts(ends, schedule.n_batches)
        most = int(np.diff(rows_before[cuts]).max())
        if most > len(expected):
            expected = aligned_zeros((most, padded(n_topics)), np.float32)
        drawn = topics if done + 1 == schedule.n_passes else none
        pieces = cut_batches(ends, cuts)
        n_each = ends[pieces[:, -1]] - ends[pieces[:, 0]]
        batches = Batches(order, rows_before, pieces, n_each, done == 0, drawn)
        state = step(
            state,
            tokens,
            entries,
            batches,
            doc_topic_prior,
            topic_word_prior,
            schedule,
            sweep_key(seed, _DRAWS),
            expected,
            word_cuts,
            before,
        )
    return topics
