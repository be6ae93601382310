"""LP-LDA and OLP-LDA as printed: totals repaired, the estimator's variance, the pairs still diluted; streams."""

from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest
from experiments.zhao2020 import printed_reports
from experiments.zhao2020.printed_reports import OnlineLP, count_topics_of, estimated_counts, fit_lp, rebuild
from tests.local.test_local_lda import blocks, channel, reports
from tests.marks import quick
from tests.naive import local as naive

from discreet.errors import CorpusError
from discreet.lda.moments.estimates import noise_variance


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


@pytest.mark.parametrize("n", quick([5000, 20_000], 5000))
def test_blocks_are_recovered(n):
    present, _ = blocks(n)
    of = channel(4.0)
    topics, weight = fit_lp(reports(present, of), of, 3, doc_topic_prior=0.1, random_state=0)
    assert np.allclose(topics.sum(1), 1)
    mass = topics.reshape(3, 3, 15).sum(2)
    assert sorted(mass.argmax(1)) == [0, 1, 2]
    assert mass.max(1).min() > 0.7
    assert weight.sum() == pytest.approx(1)


@pytest.fixture(scope="module")
def stream():
    present, _ = blocks(8000)
    of = channel(2.0)
    return present, reports(present, of), of


def test_olp_weight_is_that_of_theorem_6():
    """omega = M f (2 - f) / (M f (2 - f) + 4 sigma^2 (1 - f)^2), in fractions; equation 18 misses a factor 2."""
    n, f, sigma = 160, Fraction(2, 5), Fraction(7)
    of = SimpleNamespace(p=1 - f / 2, q=f / 2)
    exact = n * f * (2 - f) / (n * f * (2 - f) + 4 * sigma**2 * (1 - f) ** 2)
    assert printed_reports.bayes_weight(n, of, float(sigma)) == pytest.approx(float(exact), rel=1e-12)
    printed = n * f * (2 - f) / (n * f * (2 - f) + 2 * sigma**2 * (1 - f) ** 2)
    assert abs(float(printed) - float(exact)) > 0.01
    assert n * noise_variance(of) == pytest.approx(float(n * f * (2 - f) / (4 * (1 - f) ** 2)), rel=1e-12)


def test_bayes_estimate_has_the_smallest_error_at_that_weight():
    rng = np.random.default_rng(0)
    of = channel(1.0)
    n, sigma, mean = 160, 9.0, 60.0
    truth = rng.normal(mean, sigma, 200_000)
    noisy = truth + rng.normal(0, np.sqrt(n * noise_variance(of)), truth.size)
    best = printed_reports.bayes_weight(n, of, sigma)
    error = {
        weight: ((printed_reports.bayes_estimate(noisy, mean, weight) - truth) ** 2).mean()
        for weight in (best * 0.8, best, min(1.0, best * 1.15))
    }
    assert min(error, key=error.get) == best


def test_olp_steps_as_printed(stream):
    present, noisy, of = stream
    settings = printed_reports.Settings(of, 3, 0.1, 0.01, 0.5, 0.4, None, 20, 1)
    state = printed_reports.init(present[:300], present.shape[1], settings, 0)
    assert np.allclose(state.rates, present[:300].mean(0))  # document frequencies, not token shares
    assert state.latest.sum() == present[:300].sum()
    batch = noisy[300:460]
    after = printed_reports.step(state, batch, settings, np.random.default_rng(0))
    assert np.allclose(after.prior, state.prior + 0.5 * state.latest)
    counts = (batch.sum(0) - 160 * of.q) / (of.p - of.q)
    eta = np.clip(0.4 * 160 * state.rates + 0.6 * counts, 0, 160)
    assert np.array_equal(after.latest.sum(0), np.rint(eta).astype(int))  # the batch was rebuilt to eta
    assert np.allclose(after.rates, (state.rates + eta / 160) / 2)
    other_size = printed_reports.step(after, noisy[460:500], settings, np.random.default_rng(0))
    assert other_size.rates.max() <= 1  # rates, whatever the size of the batch


def test_olp_without_public_documents_takes_the_first_batch_as_it_is(stream):
    present, noisy, of = stream
    settings = printed_reports.Settings(of, 3, 0.1, 0.01, 0.5, 0.4, None, 20, 1)
    nothing = printed_reports.init(None, present.shape[1], settings, 0)
    assert nothing.rates is None
    assert not nothing.latest.any()
    batch = noisy[:160].copy()
    batch[:, 0] = 0  # a word whose unbiased count lies below 0
    after = printed_reports.step(nothing, batch, settings, np.random.default_rng(0))
    eta = np.clip((batch.sum(0) - 160 * of.q) / (of.p - of.q), 0, 160)
    assert np.array_equal(after.latest.sum(0), np.rint(eta).astype(int))
    assert np.allclose(after.rates, eta / 160)
    assert np.allclose(after.prior, 0.01)
    # From the second batch on as with a public set: the first batch's rates stand for mu.
    second = printed_reports.step(after, noisy[160:320], settings, np.random.default_rng(0))
    counts = np.clip((noisy[160:320].sum(0) - 160 * of.q) / (of.p - of.q), 0, 160)
    wanted = np.clip(0.4 * 160 * after.rates + 0.6 * counts, 0, 160)
    assert np.array_equal(second.latest.sum(0), np.rint(wanted).astype(int))
    model = OnlineLP(3, of, 45, random_state=0, n_sweeps=5)
    model.partial_fit(batch).partial_fit(noisy[160:320])
    assert np.allclose(model.state.topic_word.sum(1), 1)


def test_olp_recovers_blocks_and_threads_do_not_matter(stream):
    present, _, _ = stream
    of = channel(5.0)
    noisy = reports(present, of)
    made = []
    for jobs in (1, 3):
        settings = {"doc_topic_prior": 0.1, "n_sweeps": 30, "random_state": 0, "n_threads": jobs}
        model = OnlineLP(3, of, 45, public=present[:300], **settings)
        for start in range(300, 1300, 250):
            model.partial_fit(noisy[start : start + 250])
        made.append(model.state.topic_word)
    assert np.array_equal(*made)
    mass = made[0].reshape(3, 3, 15).sum(2)
    assert sorted(mass.argmax(1)) == [0, 1, 2]
    assert mass.max(1).min() > 0.8
    assert model.state.rates.shape == (45,)
    assert model.state.topic_weight.sum() == pytest.approx(1)


def test_informed_sampler_keeps_to_its_prior_and_counts_every_token():
    present, _ = blocks(300)
    prior = np.full((3, 45), 0.01)
    for topic in range(3):
        prior[topic, 15 * topic : 15 * topic + 15] = 50.0
    found = count_topics_of(present, prior, 0.1, n_sweeps=10, seed=0)
    assert np.array_equal(found.sum(0), present.sum(0))
    assert (found.reshape(3, 3, 15).sum(2).argmax(1) == [0, 1, 2]).all()
    assert np.array_equal(
        count_topics_of(np.zeros((2, 45)), prior, 0.1, n_sweeps=3, seed=0), np.zeros((3, 45))
    )
