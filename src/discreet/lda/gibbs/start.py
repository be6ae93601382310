r"""Starting topics: stepwise CVB0 over small batches of documents, and a draw of each token's topic in the last pass.

A batch's documents get expected counts :math:`\hat n_{dk}` from the table :math:`c`, which stays as it is, by some
steps of

.. math:: p_{dwk} \propto (\hat n_{dk} + \alpha_k) \frac{c_{wk} + \beta}{c_k + V \beta}, \qquad
          \hat n_{dk} = \sum_w n_{dw}\, p_{dwk},

in the last of which a token is left out of its document, :math:`\max(\hat n_{dk} - p_{dwk}, 0)` in place of
:math:`\hat n_{dk}`: without that, short documents end far too high. Then, a batch B of :math:`N_B` of all N tokens,

.. math:: c \leftarrow (1 - \rho_t)\, c + \rho_t \frac{N}{N_B} \sum_{d \in B} n_{dw}\, p_{dwk}, \qquad
          \rho_t = \tfrac12 \Big(\frac{\tau + 1}{\tau + 1 + t}\Big)^{3/4}.

The factor :math:`1 - \rho` is kept apart in one number, so that a batch changes the rows of its own words only. Passes
go over all documents, each in an order of its own; in the last one each token's topic is drawn from its :math:`p`.

**The first sweeps after it are hot**, so that a chain can leave the mode it was put to for a better one. In sweep t of
the first n the prior of words is raised from :math:`\beta` to

.. math:: \beta_t = \beta + \max\Big(0, h \frac{N}{K V} - \beta\Big) \Big(1 - \frac{t}{n}\Big),

t from 0 to n - 1, N tokens, K topics, V words: at first as if a topic had a share h of its tokens spread evenly over
all words. Rare words then follow the rest of their document, and topics can give up what they hold by chance. From
sweep n on the chain's law is the one that was asked for. n is at most ``MOST_HOT_SWEEPS``, and at most half of the
sweeps, so that no hot sweep counts in the mean; with many topics, where :math:`h N / (K V)` is below :math:`\beta`,
nothing is heated.

Guarantee: none. The same topics for any number of threads and any vector unit: documents come in fixed pieces, sums
have a fixed order (:mod:`~discreet.lda.gibbs.start_kernels`), powers are square roots. Eight threads at most are of
use, and one where batches are small. Memory: see docs/speed.md.

References
----------
Foulds, Boyles, DuBois, Smyth, Welling, "Stochastic collapsed variational Bayesian inference for latent Dirichlet
allocation", KDD 2013, doi:10.1145/2487575.2487697 (the batches).
Kirkpatrick, Gelatt, Vecchi, "Optimization by simulated annealing", Science 220 (1983),
doi:10.1126/science.220.4598.671 (hot sweeps).
"""

from itertools import pairwise
from math import cbrt
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from discreet._base.threads import balanced_cuts, share_out
from discreet.lda.emitted import FEW, aligned
from discreet.lda.gibbs import start_kernels as kernels
from discreet.lda.gibbs.draw import random_halves, sweep_key
from discreet.lda.gibbs.state import Tokens, padded

#: Tokens of a topic's own documents, where there are as many.
SEED_TOKENS = 1000
#: Of hot sweeps: found on half of imdb, and kept because kos ends higher without.
SHARE = 0.12
MOST_HOT_SWEEPS = 30
_PIECES = 8
_SMALLEST_FACTOR = 1e-6
#: Tokens of a batch times topics: below, threads take longer to begin than they save.
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
    """A start between two passes; its arrays are changed **in place**."""

    #: (n_words, width) float32: counts of words in topics, divided by ``factor``.
    table: NDArray[np.float32]
    factor: float
    #: (width,) float64: tokens of topics.
    totals: NDArray[np.float64]
    #: What is known of documents.
    kept: kernels.Kept
    #: Batches done.
    n_done: int


def choose_schedule(n_tokens: int, n_topics: int) -> Schedule:
    """Return the one rule for all corpora: small batches, and passes enough that small corpora see many of them.

    With many topics a pass is dear, and batches have to feed all of them: fewer passes, larger batches. docs/speed.md
    tells on which corpora it was chosen.
    """
    n_passes = min(16.0, max(8.0, 32e6 / n_tokens)) * min(1.0, cbrt(50 / n_topics))
    n_passes = max(4, round(n_passes))
    return Schedule(n_passes, max(1, round(n_tokens / max(10_000, 40 * n_topics, n_tokens / 200))))


def read_entries(tokens: Tokens) -> kernels.Entries:
    """Count the words of documents, whose tokens come in the order of words."""
    words, n_tokens = tokens.words, len(tokens.words)
    new = np.ones(n_tokens, np.bool_)
    np.not_equal(words[1:], words[:-1], out=new[1:])
    begins = tokens.indptr[:-1]
    new[begins[begins < n_tokens]] = True
    at = np.flatnonzero(new)
    counts = np.diff(at, append=n_tokens).astype(np.float32)
    return kernels.Entries(np.searchsorted(at, tokens.indptr).astype(np.int64), words[at], counts)


def shuffled(n: int, seed: int, use: int) -> NDArray[np.int64]:
    """Return 0 to n - 1 in random order; ``use`` as for ``sweep_key``."""
    return np.argsort(random_halves(n, sweep_key(seed, use)), kind="stable")


def seeded_table(tokens: Tokens, n_topics: int, seed: int) -> NDArray[np.float32]:
    """Return counts of words in topics, (n_words, width), as many tokens in each topic.

    No two topics share a document: equal topics would stay equal. Where there are more topics than documents they share
    out documents' tokens.
    """
    n_tokens, lengths = len(tokens.words), np.diff(tokens.indptr)
    table = aligned((tokens.n_words, padded(n_topics)), np.float32)
    half = 0.5 / n_topics
    table[:, :n_topics] = (np.bincount(tokens.words, minlength=tokens.n_words) * half)[:, None]
    order = shuffled(tokens.n_documents, seed, _SEEDING)
    order = order[lengths[order] > 0]
    n_documents = len(order)
    n_own = max(1, min(-(-SEED_TOKENS * n_documents // n_tokens), n_documents // n_topics))
    for k in range(n_topics):
        if n_topics <= n_documents:
            own = order[k * n_own : (k + 1) * n_own]
            words = np.concatenate([tokens.words[tokens.indptr[d] : tokens.indptr[d + 1]] for d in own])
        else:
            place, turn = k % n_documents, k // n_documents
            start, end = tokens.indptr[order[place] : order[place] + 2]
            cuts = np.linspace(start, end, -(-(n_topics - place) // n_documents) + 1).astype(int)
            words = tokens.words[cuts[turn] : cuts[turn + 1]]
        if len(words):
            found, counts = np.unique(words, return_counts=True)
            table[found, k] += (counts * (half * n_tokens / len(words))).astype(np.float32)
    return table


def init(tokens: Tokens, n_topics: int, seed: int) -> Start:
    """Begin with seeded topics."""
    table = seeded_table(tokens, n_topics, seed)
    room = np.minimum(n_topics, 2 * np.diff(tokens.indptr))
    starts = np.concatenate([[0], np.cumsum(room)]).astype(np.int64)
    topics, values = np.zeros(starts[-1], np.uint16), np.zeros(starts[-1], np.float32)
    kept = kernels.Kept(starts, np.zeros(len(room), np.int32), topics, values)
    return Start(table, 1.0, table.sum(axis=0, dtype=np.float64), kept, 0)


def step(state: Start, given: kernels.Pass, word_cuts: NDArray[np.int64]) -> Start:
    """Take the batches of a pass in; ``word_cuts``: words for each thread."""
    n_threads, width = len(word_cuts) - 1, state.table.shape[1]
    totals, scale = state.totals.copy(), aligned((width,), np.float32)
    n_done = state.n_done + len(given.cuts)
    if n_threads == 1:
        place = aligned((kernels.WORKSPACE, width), np.float32)
        factor = kernels.take_batches(given, state.n_done, state.factor, totals, scale, place)
        return state._replace(factor=factor, totals=totals, n_done=n_done)
    factor, words = state.factor, list(pairwise(word_cuts.tolist()))
    for b in range(len(given.cuts)):
        shift = kernels.set_laws(given, factor, totals, scale)

        def infer(piece: int, b: int = b, shift: np.float32 = shift) -> None:
            place = aligned((kernels.WORKSPACE, width), np.float32)
            kernels.infer_documents(given, b, piece, scale, np.float32(shift), place)

        share_out(infer, range(_PIECES), n_threads)
        left, up = kernels.add_totals(given, b, state.n_done + b, totals)
        factor *= left
        added = np.float32(up / factor)
        share_out(lambda part, b=b, up=added: kernels.add_rows(given, b, up, *part), words, n_threads)
        if factor < given.least_factor:
            state.table[:] *= np.float32(factor)
            factor = 1.0
    return state._replace(factor=factor, totals=totals, n_done=n_done)


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
    n_threads: int = 1,
    schedule: Schedule | None = None,
) -> NDArray[np.uint16]:
    """Return a topic for each token, (n_tokens,), for a chain to begin with.

    ``schedule``: batches and passes; :func:`choose_schedule` without.
    """
    n_topics, n_tokens = len(doc_topic_prior), len(tokens.words)
    schedule = schedule or choose_schedule(n_tokens, n_topics)
    if n_tokens / schedule.n_batches * n_topics < _WORTH_THREADS:
        n_threads = 1
    entries, lengths = read_entries(tokens), np.diff(tokens.indptr)
    rows = -(-np.diff(entries.indptr) // FEW) * FEW
    state, width = init(tokens, n_topics, seed), padded(n_topics)
    prior = aligned((width,), np.float32)
    prior[:n_topics] = doc_topic_prior
    by_word = np.concatenate([[0], np.cumsum(np.bincount(entries.words, minlength=tokens.n_words))])
    word_cuts = balanced_cuts(by_word, min(n_threads, _PIECES))
    topics, none = np.zeros(n_tokens, np.uint16), np.empty(0, np.uint16)
    expected, sums = aligned((0, width), np.float32), np.zeros((_PIECES, width))
    for done in range(schedule.n_passes):
        order = shuffled(tokens.n_documents, seed, _ORDERS - done)
        ends, rows_before = (np.concatenate([[0], np.cumsum(n[order])]) for n in (lengths, rows))
        cuts = balanced_cuts(ends, schedule.n_batches)
        most = int(np.diff(rows_before[cuts]).max())
        if most > len(expected):
            expected = aligned((most, width), np.float32)
        pieces = cut_batches(ends, cuts)
        given = kernels.Pass(
            entries,
            order,
            rows_before,
            pieces,
            ends[pieces[:, -1]] - ends[pieces[:, 0]],
            n_tokens,
            n_topics,
            state.table,
            prior,
            float(topic_word_prior),
            schedule.n_plain if done else schedule.first_plain,
            schedule.n_out,
            done == 0,
            schedule.tau,
            _SMALLEST_FACTOR,
            state.kept,
            tokens.indptr,
            topics if done + 1 == schedule.n_passes else none,
            sweep_key(seed, _DRAWS),
            expected,
            sums,
        )
        state = step(state, given, word_cuts)
    return topics


def warm_prior(tokens: Tokens, n_topics: int, topic_word_prior: float, sweep: int, n_sweeps: int) -> float:
    """Return the prior of words for sweep number ``sweep``, from 0, of ``n_sweeps``."""
    n_warm = min(MOST_HOT_SWEEPS, n_sweeps // 2)
    if sweep >= n_warm:
        return topic_word_prior
    hot = SHARE * len(tokens.words) / (n_topics * tokens.n_words)
    return topic_word_prior + max(hot - topic_word_prior, 0.0) * (1 - sweep / n_warm)
