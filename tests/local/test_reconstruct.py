"""LP-LDA's reconstruction: totals repaired, the estimator's variance, the pairs still diluted."""

from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest
from tests.naive import local as naive

from discreet.errors import CorpusError
from discreet.lda.moments.estimates import noise_variance
from discreet.local.reconstruct import estimated_counts, rebuild


def flip(f):
    return SimpleNamespace(p=1 - f / 2, q=f / 2)


def test_estimate_is_the_papers():
    of = flip(Fraction(1, 2))
    for ones in (0, 250, 400, 1000):
        paper = (2 * ones - of.q * 2 * 1000) / (2 * (1 - of.q * 2))
        assert float(estimated_counts(np.array([ones]), 1000, of)[0]) == pytest.approx(float(paper))


@pytest.mark.integration
def test_variance_is_750_at_a_thousand_documents():
    """M f (2 - f) / (4 (1 - f)^2) at M = 1000, N = 300, f = .5: over the noise, the documents being fixed."""
    of, present = flip(0.5), (np.arange(1000) < 300).astype(np.uint8)
    assert 1000 * noise_variance(of) == pytest.approx(750)
    ones = naive.randomise(np.tile(present, (20_000, 1)), of.p, of.q, 0).sum(1)
    estimate = estimated_counts(ones, 1000, of)
    assert estimate.mean() == pytest.approx(300, abs=4 * np.sqrt(750 / 20_000))
    spread = 4 * 750 * np.sqrt(2 / 20_000)
    assert estimate.var() == pytest.approx(750, abs=spread)
    # With the documents drawn anew each time there is sampling variance on top, which is not the noise's.
    drawn = (np.random.default_rng(1).random((5000, 1000)) < 0.3).astype(np.uint8)
    ones = naive.randomise(drawn, of.p, of.q, 2).sum(1)
    assert estimated_counts(ones, 1000, of).var() > 750 + spread


def test_column_sums_are_repaired_with_as_few_turns_as_possible():
    rng = np.random.default_rng(0)
    rows = (rng.random((300, 40)) < rng.random(40)).astype(np.uint8)
    of = flip(0.4)
    before = rows.copy()
    made = rebuild(rows, of, np.random.default_rng(1))
    wanted = np.clip(np.rint(estimated_counts(rows.sum(0), 300, of)), 0, 300)
    assert np.array_equal(rows, before)
    assert np.array_equal(made.sum(0), wanted)
    assert np.array_equal((made != rows).sum(0), np.abs(wanted - rows.sum(0)))
    assert made.dtype == np.uint8
    assert (made != rebuild(rows, of, np.random.default_rng(2))).any()
    assert np.array_equal(made, rebuild(rows, of, np.random.default_rng(1)))


def test_every_bit_of_a_column_is_as_likely_to_turn():
    rows = np.zeros((20, 1), np.uint8)
    rows[:4] = 1
    turned = np.zeros(20)
    for seed in range(4000):
        made = rebuild(rows, flip(0.3), np.random.default_rng(seed), wanted=np.array([9.0]))
        turned += made[:, 0] != rows[:, 0]
    assert (turned[:4] == 0).all()
    assert turned[4:].sum() == 5 * 4000
    assert np.abs(turned[4:] / 4000 - 5 / 16).max() < 4.5 * np.sqrt(5 / 16 * 11 / 16 / 4000)


def test_pairs_stay_diluted():
    """Two words that always go together: their totals come out right, their co-occurrence does not."""
    rng = np.random.default_rng(3)
    together = np.repeat((rng.random(20_000) < 0.2)[:, None], 2, axis=1).astype(np.uint8)
    of = flip(0.5)
    made = rebuild(naive.randomise(together, of.p, of.q, 4), of, rng)
    assert made.mean(0) == pytest.approx([0.2, 0.2], abs=0.02)
    both = (made[:, 0] & made[:, 1]).mean()
    assert both < 0.12  # the truth is .2, chance would be .04


def test_nothing_to_rebuild_is_refused():
    with pytest.raises(CorpusError, match="no report"):
        rebuild(np.zeros((0, 3), np.uint8), flip(0.5), np.random.default_rng(0))
