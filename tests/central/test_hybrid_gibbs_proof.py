"""The proof of HybridGibbsLDA, by enumeration in exact fractions; and what breaks when one of its conditions goes."""

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from tests.naive import word_level as naive

BETA, CLIP, EPSILON = Fraction(1, 100), 1, 0.7
L = math.log(1 + CLIP / BETA)
#: All tables of two topics and two words that a clip at 1 leaves.
TABLES = [(t[:2], t[2:]) for t in product((0, 1), repeat=4)]
TINY = 1e-9


def sweep_loss(words, others, documents, alpha, probability):
    """Largest loss of one sweep over all tables, topics before and topics after."""
    return naive.largest_loss(
        (
            probability(words, documents, before, after, table, BETA, alpha),
            probability(others, documents, before, after, table, BETA, alpha),
        )
        for table in TABLES
        for before in naive.all_topics(len(words), 2)
        for after in naive.all_topics(len(words), 2)
    )


def live(*arguments):
    return naive.live_sweep_probability(*arguments, CLIP)


@pytest.mark.parametrize("documents", [(0, 0, 0), (0, 0, 1), (0, 1, 2)])
@pytest.mark.parametrize("alpha", [Fraction(1), Fraction(1, 10**6)])
def test_a_frozen_sweep_loses_at_most_twice_l(documents, alpha):
    loss = sweep_loss((0, 0, 0), (1, 0, 0), documents, alpha, naive.frozen_sweep_probability)
    assert loss <= 2 * L + TINY


def test_the_factor_two_is_tight():
    """With the document's other tokens all in one topic and a small prior, the draw's normaliser shifts by L, too."""
    loss = sweep_loss((0, 0, 0), (1, 0, 0), (0, 0, 0), Fraction(1, 10**6), naive.frozen_sweep_probability)
    assert loss == pytest.approx(2 * L, rel=1e-4)
    assert pytest.approx(9.23, abs=0.005) == 2 * L


@pytest.mark.integration
def test_a_live_table_breaks_the_bound():
    """As printed, counts move within the sweep: two tokens of the same word already break 9.23, and losses add up."""
    alone = [sweep_loss((0,) * n, (1,) + (0,) * (n - 1), tuple(range(n)), 1, live) for n in (1, 2, 3, 4)]
    assert alone[0] <= 2 * L + TINY
    assert alone[2] == pytest.approx(11.82, abs=0.01)
    assert alone[2] > 2 * L
    # One more related token, one more loss of nearly ln(1 + 1/beta): linear.
    np.testing.assert_allclose(np.diff(alone)[1:], alone[2] - alone[1], rtol=1e-6)
    one_related = math.log1p(1 / BETA)
    assert (np.diff(alone) <= one_related + TINY).all()
    # With two tokens in one document and a small prior it is more.
    shared = sweep_loss((0, 0, 0), (1, 0, 0), (0, 0, 1), Fraction(1, 100), live)
    assert shared == pytest.approx(15.32, abs=0.005)


def cell_law(count):
    """Law of a cell clip(count + noise, 0, 1): probability of 0 and of 1."""
    zero = naive.laplace_at_most(-count, 2 / EPSILON)
    return zero, 1 - zero


def table_law(words, topics):
    """Probability of each table in TABLES."""
    exact = naive.exact_table(words, topics, 2, 2)
    cells = [[cell_law(exact[k, w]) for w in range(2)] for k in range(2)]
    return [math.prod(cells[k][w][t[k][w]] for k in range(2) for w in range(2)) for t in TABLES]


def run_laws(words, others, alpha, in_place=False):
    """Pairs of probabilities of (table, topics, table) given the first topics: a sweep and the last table."""
    documents = (0, 0, 0)
    for before in naive.all_topics(3, 2):
        first = list(zip(table_law(words, before), table_law(others, before), strict=True))
        for table, (p_table, q_table) in zip(TABLES, first, strict=True):
            for after in naive.all_topics(3, 2):
                p = naive.frozen_sweep_probability(words, documents, before, after, table, BETA, alpha)
                q = naive.frozen_sweep_probability(others, documents, before, after, table, BETA, alpha)
                last = zip(table_law(words, after), table_law(others, after), strict=True)
                for p_last, q_last in last:
                    yield p_table * float(p) * p_last, q_table * float(q) * q_last


@pytest.mark.parametrize("alpha", [Fraction(1), Fraction(1, 10**6)])
def test_a_run_loses_at_most_the_sum_of_its_tables_and_draws(alpha):
    loss = naive.largest_loss(run_laws((0, 0, 0), (1, 0, 0), alpha))
    assert loss <= 2 * EPSILON + 2 * L + TINY
    alone = sweep_loss((0, 0, 0), (1, 0, 0), (0, 0, 0), alpha, naive.frozen_sweep_probability)
    assert loss > alone + EPSILON  # the tables do add their part


def test_noise_in_place_has_twice_the_sensitivity():
    """Adding noise to yesterday's noisy counts: the step to be hidden is a difference of tables, L1 = 4."""
    words, others, before, after = (0, 0, 0), (1, 0, 0), (0, 0, 0), (1, 0, 0)
    step = [naive.exact_table(w, after, 2, 2) - naive.exact_table(w, before, 2, 2) for w in (words, others)]
    assert np.abs(step[0] - step[1]).sum() == 4
    fresh = [naive.exact_table(w, after, 2, 2) for w in (words, others)]
    assert np.abs(fresh[0] - fresh[1]).sum() == 2
    # Exactly, with noise of scale 2 / epsilon: a second noisy table that is the first one moved on loses 2 epsilon.
    scale, walk = 2 / EPSILON, np.array([[-3, 3], [3, -3]])
    loss = sum(
        math.log(naive.laplace_probability(w - a, scale) / naive.laplace_probability(w - b, scale))
        for w, a, b in zip(walk.ravel(), step[0].ravel(), step[1].ravel(), strict=True)
    )
    assert abs(loss) == pytest.approx(2 * EPSILON)


def test_without_a_clip_from_below_the_loss_has_no_bound():
    """A noisy count near -beta makes a weight as small as you like; below it, negative."""
    losses = []
    for tiny in (1e-2, 1e-4, 1e-8, 1e-16):
        count = -BETA + Fraction(tiny)
        rows = naive.topic_rows(((count, 1), (1, 1)), BETA)
        laws = [naive.draw_law(rows[w], (0, 0), 1) for w in (0, 1)]
        losses.append(naive.largest_loss(zip(*laws, strict=True)))
    assert (np.diff(losses) > 4).all()
    assert losses[-1] > 3 * 2 * L
    rows = naive.topic_rows(((-1, 1), (1, 1)), BETA)
    assert min(naive.draw_law(rows[0], (0, 0), 1)) < 0  # not a probability at all


def test_the_last_counts_less_the_last_table_tell_everything():
    """As printed, topics are read from the last noisy table moved on by the last draws, with no noise after them.

    Who saw that table and the topics subtracts, and takes off the moves of the tokens that are known: what is left is
    the replaced token's own move, in the column of its word. One outcome has probability 1 in one corpus and 0 in the
    other.
    """
    noise = np.array([[0.3, -1.7], [2.2, 0.4]])
    for before, after in product(naive.all_topics(3, 2), repeat=2):
        published, last = [], []
        for words in ((0, 0, 0), (1, 0, 0)):
            published.append(naive.exact_table(words, before, 2, 2) + noise)
            # In place: the noisy counts, less the old topics, plus the new ones.
            moves = naive.exact_table(words, after, 2, 2) - naive.exact_table(words, before, 2, 2)
            last.append(published[-1] + moves)
        known = naive.exact_table((0, 0), after[1:], 2, 2) - naive.exact_table((0, 0), before[1:], 2, 2)
        left = [np.rint(end - start - known) for start, end in zip(published, last, strict=True)]
        if before[0] != after[0]:
            assert [np.abs(own).sum(0).tolist() for own in left] == [[2, 0], [0, 2]]  # the column of its word
        else:
            assert not any(own.any() for own in left)
    # One more noisy table instead: every outcome is possible in both.
    noisy = [table_law(words, (0, 1, 0)) for words in ((0, 0, 0), (1, 0, 0))]
    assert min(min(law) for law in noisy) > 0
    assert naive.largest_loss(zip(*noisy, strict=True)) <= EPSILON + TINY


@pytest.mark.integration
def test_an_order_by_words_breaks_the_bound():
    """Tokens written out in the order of their words: a replaced word moves, and others' draws change with it."""

    def loss(order):
        worst = 0.0
        for two_words in TABLES:
            table = ((*two_words[0], 1), (*two_words[1], 0))
            for before, after in product(naive.all_topics(3, 2), repeat=2):
                laws = []
                for words in ((0, 1, 1), (1, 1, 2)):  # one 0 became a 2; in order of words all places change
                    found = [
                        naive.frozen_sweep_probability(
                            w, (0, 0, 0), before, after, table, BETA, Fraction(1, 10)
                        )
                        for w in order(words)
                    ]
                    laws.append(sum(found) / len(found))
                worst = max(worst, abs(math.log(laws[0] / laws[1])))
        return worst

    assert loss(naive.arrangements) <= 2 * L + TINY
    assert loss(lambda words: [words]) > 2 * L


EVERY, SHARP, ALPHA = 0.5, Fraction(1, 10**6), Fraction(1, 1024)


def telling_table(m):
    """Word 0 goes to topic 0, word 1 to topic 1, word 2 to both alike; yet all of word 2's tokens are counted in 0."""
    table = ((10**6 * m + 3 * m + 1, 0, m, 0), (0, 0, 0, 1))
    rows = naive.topic_rows(table, SHARP)
    assert rows[2][0] == rows[2][1]
    assert min(rows[0][0] / rows[0][1], rows[1][1] / rows[1][0]) > 10**5
    return table


def test_noise_on_counts_alone_does_not_cover_the_counts():
    """Tables alone leave, each with Laplace noise for a replaced word, and no assignment does: still not enough.

    A document of one telling token and m others that follow it. The loss of the whole history, assignments summed out,
    is nearly 1 + m times what the tables were said to cost.
    """
    n_sweeps = 16
    claimed = (n_sweeps + 1) * EVERY
    losses = []
    for m in (1, 2):
        history = [telling_table(m)] * (n_sweeps + 1)
        laws = [naive.law_of_tables((word, *[2] * m), 4, history, 2 / EVERY, SHARP, ALPHA) for word in (0, 1)]
        losses.append(abs(laws[0] - laws[1]))
    assert losses[0] > 1.9 * claimed
    assert losses[1] > 2.7 * claimed


def test_noise_on_documents_too_covers_a_hidden_run():
    """The same histories where documents are seen through noise: 2T tables are said to cost 2T epsilon, and do."""
    n_sweeps = 3
    rng = np.random.default_rng(0)
    histories = [
        (
            rng.integers(0, 2 + top, (n_sweeps + 1, 2, 4)).tolist(),
            rng.integers(-3, 9, (n_sweeps - 1, 2)).tolist(),
        )
        for top in (1, 5, 40)
        for _ in range(15)
    ]
    histories += [([telling_table(m)] * (n_sweeps + 1), [[9, -9]] * (n_sweeps - 1)) for m in (1, 2, 3)]
    losses = []
    for tables, rows in histories:
        m = max(1, min(3, tables[0][0][2]))
        laws = [
            naive.law_with_noisy_documents((word, *[2] * m), 4, tables, rows, 2 / EVERY, SHARP, ALPHA)
            for word in (0, 1)
        ]
        losses.append(abs(laws[0] - laws[1]))
    assert max(losses) <= 2 * n_sweeps * EVERY + TINY
    assert max(losses) > 0.9 * 2 * n_sweeps * EVERY  # and the bound is nearly met
