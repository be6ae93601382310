"""The monitor of a noise-free run against the same losses by enumeration."""

import math
from fractions import Fraction
from itertools import product

import matplotlib as mpl
import numpy as np
import pytest
from experiments.zhao2020.inherent_privacy import _related_ranges, inherent_privacy
from tests.marks import quick
from tests.naive import word_level as naive

from discreet import ParameterError

BETA = 0.01
TINY = 1e-9


def sweep_losses(words, documents, n_topics, n_words, before, alpha):
    """Largest loss of one noise-free frozen sweep over all outcomes, for each neighbour of a corpus."""

    def laws(corpus):
        table = naive.exact_table(corpus, before, n_topics, n_words).tolist()
        return [
            naive.frozen_sweep_probability(corpus, documents, before, after, table, Fraction(1, 100), alpha)
            for after in naive.all_topics(len(words), n_topics)
        ]

    mine = laws(words)
    for i, word in product(range(len(words)), range(n_words)):
        if word != words[i]:
            yield naive.largest_loss(zip(mine, laws((*words[:i], word, *words[i + 1 :])), strict=True))


def monitored(words, n_topics, n_words, before):
    return inherent_privacy([naive.exact_table(words, before, n_topics, n_words)], BETA)


@pytest.mark.parametrize(
    ("words", "documents", "n_topics", "n_words"),
    [
        ((0, 0), (0, 1), 2, 2),
        ((0, 0, 0), (0, 1, 2), 2, 2),
        ((0, 0, 0), (0, 0, 1), 2, 3),
        ((0, 0, 1, 1), (0, 1, 1, 2), 2, 3),
        ((0, 1, 1), (0, 0, 1), 3, 2),
        ((0, 0, 0, 0), (0, 1, 2, 3), 2, 2),
    ],
)
@pytest.mark.parametrize("alpha", quick([Fraction(1), Fraction(1, 1000)], Fraction(1, 1000)))
def test_no_neighbour_and_no_outcome_loses_more(words, documents, n_topics, n_words, alpha):
    closest = 0.0
    for before in naive.all_topics(len(words), n_topics):
        worst = max(sweep_losses(words, documents, n_topics, n_words, before, alpha))
        found = monitored(words, n_topics, n_words, before)
        assert worst <= found.per_sweep[0] + TINY
        closest = max(closest, worst / found.per_sweep[0])
    assert closest > 0.5  # the bound is about these tables


@pytest.mark.parametrize(("n_related", "loss"), [(1, 7.86), (2, 12.48), (3, 16.82)])
def test_related_tokens_lose_more_than_the_replaced_token(n_related, loss):
    """The term that was once left out for frozen tables: the true loss lies above the replaced token's own."""
    words = (0,) * (n_related + 1)
    worst, at = max(
        (max(sweep_losses(words, range(len(words)), 2, 2, before, 1)), before)
        for before in naive.all_topics(len(words), 2)
    )
    assert worst == pytest.approx(loss, abs=0.005)
    found = monitored(words, 2, 2, at)
    assert worst <= found.per_sweep[0]
    if n_related > 1:
        assert worst > found.own[0]


def test_five_related_tokens():
    """Documents of their own, all but the replaced token in the other topic, all moving over: 25.20 of 12.43."""
    before, after = (1, 0, 0, 0, 0, 0), (0, 1, 1, 1, 1, 1)
    laws = []
    for first in (0, 1):
        words = (first, 0, 0, 0, 0, 0)
        table = naive.exact_table(words, before, 2, 2).tolist()
        laws.append(
            naive.frozen_sweep_probability(words, range(6), before, after, table, Fraction(1, 100), 1)
        )
    assert abs(math.log(laws[0] / laws[1])) == pytest.approx(25.20, abs=0.005)
    found = monitored((0,) * 6, 2, 2, before)
    assert found.own[0] == pytest.approx(12.43, abs=0.005)
    assert found.per_sweep[0] > 25.20


def test_a_run_loses_at_most_the_sum_of_its_sweeps():
    words, documents = (0, 0, 1), (0, 1, 1)
    for first, second, third in product(naive.all_topics(3, 2), repeat=3):
        seen = (first, second, third)
        tables = [naive.exact_table(words, topics, 2, 2) for topics in seen[:2]]
        bound = inherent_privacy(tables, BETA).pure[1]
        logs = []
        for corpus in (words, (1, 0, 1)):
            log = 0.0
            for before, after in ((first, second), (second, third)):
                table = naive.exact_table(corpus, before, 2, 2).tolist()
                law = naive.frozen_sweep_probability(
                    corpus, documents, before, after, table, Fraction(1, 100), 1
                )
                log += math.log(law)
            logs.append(log)
        assert abs(logs[0] - logs[1]) <= bound + TINY


def test_the_replaced_token_alone_has_the_range_of_the_worst_draw():
    table = ((3, 0, 1), (1, 2, 0))
    found = inherent_privacy([table], BETA)
    rows = naive.topic_rows(table, Fraction(1, 100))
    worst = 0.0
    for counts in ((0, 0), (9, 0), (0, 9), (10**6, 0), (0, 10**6)):
        laws = [naive.draw_law(row, counts, Fraction(1, 100)) for row in rows]
        for p in laws:
            for q in laws:
                worst = max(worst, naive.largest_loss(zip(p, q, strict=True)))
    assert worst <= found.own[0] + TINY
    assert worst > 0.85 * found.own[0]
    assert found.own[0] == pytest.approx(2 * math.log(3.01 / 0.01))


def test_the_neighbours_table_counts_one_more():
    """Where every word is in every topic, the largest count of the neighbour is one above the largest here."""
    table = np.array([[4, 4], [4, 4]])
    assert inherent_privacy([table], BETA).own[0] == pytest.approx(math.log(5.01 / 4.01))
    rows = [
        naive.topic_rows(given, Fraction(1, 100))[word]
        for given, word in ((((4, 4), (4, 4)), 0), (((3, 5), (4, 4)), 1))
    ]
    laws = [naive.draw_law(row, (0, 10**6), Fraction(1)) for row in rows]
    assert naive.largest_loss(zip(*laws, strict=True)) == pytest.approx(math.log(5.01 / 4.01), rel=1e-5)


def test_the_worst_cell_and_words_are_found():
    """Against the slow way: every topic and every two words."""
    rng = np.random.default_rng(0)
    for _ in range(30):
        table = rng.poisson(1.0, (3, 4))
        table[0, 0] += 1
        totals = table.sum(0)
        for power, found in zip((1, 2), _related_ranges(table.astype(float), BETA), strict=True):
            wanted = max(
                (totals[w] - 1) * math.log((table[k, w] + BETA) / (table[k, w] - 1 + BETA)) ** power
                + totals[v] * math.log((table[k, v] + 1 + BETA) / (table[k, v] + BETA)) ** power
                for k, w, v in product(range(3), range(4), range(4))
                if table[k, w] and w != v
            )
            assert found == pytest.approx(wanted)


@pytest.mark.parametrize("n", [2, 3])
def test_live_tables_lose_as_much_from_related_tokens(n):
    """As printed, counts move within the sweep: a related draw has range ln(1 + 1/beta), half of proposition 2."""
    words, others = (0,) * n, (1,) + (0,) * (n - 1)
    worst = 0.0
    for before in naive.all_topics(n, 2):
        tables = [naive.exact_table(w, before, 2, 2).tolist() for w in (words, others)]
        for after in naive.all_topics(n, 2):
            laws = [
                naive.live_sweep_probability(w, range(n), before, after, t, Fraction(1, 100), 1, 99)
                for w, t in zip((words, others), tables, strict=True)
            ]
            worst = max(worst, abs(math.log(laws[0] / laws[1])))
    assert worst <= 2 * math.log(1 + (n - 1) / BETA) + (n - 1) * math.log1p(1 / BETA)


def test_sweeps_add_up_and_the_smaller_total_is_told():
    tables = [np.full((2, 3), 50) + np.eye(2, 3, dtype=int) * 3] * 400
    found = inherent_privacy(tables, 10.0, delta=1e-6)
    assert len(found.per_sweep) == 400
    np.testing.assert_allclose(found.per_sweep, found.own + found.related)
    np.testing.assert_allclose(found.pure, np.cumsum(found.per_sweep))
    assert found.total[-1] == min(found.pure[-1], found.zcdp[-1])
    assert (np.diff(found.total) > 0).all()
    # One token of each word: nobody is related but the one of the other word.
    alone = inherent_privacy([[[1, 1], [0, 0]]], 10.0)
    assert alone.related[0] == pytest.approx(math.log(12 / 11))
    assert alone.zcdp[0] > alone.pure[0] == alone.total[0]


def test_it_draws_itself():
    mpl.use("Agg")
    ax = inherent_privacy([[[1, 2], [2, 3]], [[3, 1], [0, 4]]], BETA).plot()
    assert len(ax.lines) == 4
    assert "epsilon" in ax.get_ylabel()
    from matplotlib import pyplot

    pyplot.close("all")


@pytest.mark.parametrize(
    ("tables", "settings"),
    [
        ([], {}),
        ([[1, 2]], {}),
        ([[[-1, 2]]], {}),
        ([[[np.nan]]], {}),
        ([[[0.5, 1.0]]], {}),
        ([[[0, 0]]], {}),
        ([[[1, 2]], [[1, 1]]], {}),
        ([[[1]]], {"topic_word_prior": 0.0}),
    ],
)
def test_refusals(tables, settings):
    with pytest.raises(ParameterError):
        inherent_privacy(tables, **({"topic_word_prior": BETA} | settings))
