"""The monitor of a noise-free run against the same losses by enumeration."""

import math
from fractions import Fraction

import matplotlib as mpl
import numpy as np
import pytest
from tests.naive import word_level as naive

from discreet import ParameterError
from discreet.central import inherent_privacy

BETA = 0.01


def test_one_sweep_is_the_range_of_the_worst_draw():
    table = ((3, 0, 1), (1, 2, 0))
    found = inherent_privacy([table], BETA)
    rows = naive.topic_rows(table, Fraction(1, 100))
    worst = 0.0
    for counts in ((0, 0), (9, 0), (0, 9), (10**6, 0), (0, 10**6)):
        laws = [naive.draw_law(row, counts, Fraction(1, 100)) for row in rows]
        for p in laws:
            for q in laws:
                worst = max(worst, naive.largest_loss(zip(p, q, strict=True)))
    assert worst <= found.per_sweep[0] + 1e-9
    assert worst > 0.85 * found.per_sweep[0]  # the bound is about this table
    assert found.per_sweep[0] == pytest.approx(2 * math.log(3.01 / 0.01))


@pytest.mark.parametrize("n", [2, 3])
def test_live_counts_add_what_related_tokens_show(n):
    """Enumerated: a noise-free live sweep of tokens of one word in documents of their own."""
    words, others = (0,) * n, (1,) + (0,) * (n - 1)
    worst, bound = 0.0, 0.0
    for before in naive.all_topics(n, 2):
        # Both corpora's own tables, as there is no noise; the monitor looks at the true one.
        tables = [naive.exact_table(w, before, 2, 2).tolist() for w in (words, others)]
        for after in naive.all_topics(n, 2):
            laws = [
                naive.live_sweep_probability(w, range(n), before, after, t, Fraction(1, 100), 1, 99)
                for w, t in zip((words, others), tables, strict=True)
            ]
            worst = max(worst, abs(math.log(laws[0] / laws[1])))
        bound = max(bound, inherent_privacy([tables[0]], BETA, n_related=n - 1).per_sweep[0])
    assert worst <= bound
    # Proposition 2 as printed would have twice the term; this much is enough.
    assert inherent_privacy([[[1, 0]]], BETA, n_related=1).per_sweep[0] == pytest.approx(3 * math.log(101))


def test_sweeps_add_up_and_the_smaller_total_is_told():
    tables = [np.full((2, 3), 50) + np.eye(2, 3) * 3] * 400
    found = inherent_privacy(tables, 10.0, delta=1e-6)
    assert len(found.per_sweep) == 400
    np.testing.assert_allclose(found.pure, np.cumsum(found.per_sweep))
    assert found.total[0] == found.pure[0] < found.zcdp[0]
    assert found.total[-1] == found.zcdp[-1] < found.pure[-1]
    assert (np.diff(found.total) > 0).all()


def test_it_draws_itself():
    mpl.use("Agg")
    ax = inherent_privacy([[[1, 2]], [[3, 1]]], BETA).plot()
    assert len(ax.lines) == 3
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
        ([[[1]]], {"topic_word_prior": 0.0}),
        ([[[1]]], {"n_related": -1}),
    ],
)
def test_refusals(tables, settings):
    with pytest.raises(ParameterError):
        inherent_privacy(tables, **({"topic_word_prior": BETA} | settings))
