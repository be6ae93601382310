"""The fit to moments: gradients, empirical Bayes, recovery, combination of sources; refining against its twin."""

from types import SimpleNamespace

import numpy as np
import pytest
from tests.local.test_local_lda import blocks, channel, reports
from tests.naive import local as naive

from discreet.errors import CorpusError
from discreet.lda.moments import fit as moment_fit
from discreet.lda.moments import learn as channel_refine
from discreet.lda.moments.fit import combine, fit_topics, positive_rates
from discreet.lda.moments.learn import Reports, infer_topics, refine_topics
from discreet.lda.moments.moments import Moments


def target_of(n=3000, epsilon=2.0, words=6):
    present = blocks(n, n_topics=2, size=words // 2)[0]
    of = channel(epsilon)
    return combine([Moments(words, channel=of).add_batch(reports(present, of)).estimates()])


def test_gradients_are_those_of_the_twin():
    target = target_of()
    rng = np.random.default_rng(0)
    parameters = [rng.normal(size=(2, 6)), rng.normal(size=(2, 2)) - 1, rng.normal(size=2)]
    base = rng.normal(size=6)
    gradients = moment_fit.gradients(parameters, target, base, 1.3)

    def naive_loss(changed):
        return naive.objective(*changed, target, base, 1.3)

    for i, gradient in enumerate(gradients):
        for place in np.ndindex(gradient.shape):
            moved = [[values.copy() for values in parameters] for _ in range(2)]
            moved[0][i][place] += 1e-5
            moved[1][i][place] -= 1e-5
            slope = (naive_loss(moved[0]) - naive_loss(moved[1])) / 2e-5
            assert gradient[place] == pytest.approx(slope, rel=2e-3, abs=2e-3 * np.abs(gradient).max())


def test_a_diagonal_would_spoil_the_pairs(monkeypatch):
    """The plausible mistake: fitting the diagonal too, which holds rates and not co-occurrence."""
    present = blocks(30_000)[0]
    of = channel(3.0)
    found = Moments(45, channel=of).add_batch(reports(present, of)).estimates()
    right = fit_topics(found, 3, 0)
    target = combine([found])
    spoiled = target._replace(
        pair_weight=target.pair_weight + np.diag(np.full(45, 100 * target.pair_weight.max()))
    )
    monkeypatch.setattr(moment_fit, "combine", lambda sources: spoiled)
    wrong = fit_topics(found, 3, 0)

    def purity(topics):
        return topics.reshape(3, 3, 15).sum(2).max(1).min()

    assert purity(right.topic_word) > 0.9
    assert purity(wrong.topic_word) < purity(right.topic_word) - 0.02


def test_topic_weights_and_second_moments_are_recovered():
    rng = np.random.default_rng(0)
    topic = rng.choice(3, size=60_000, p=[0.5, 0.3, 0.2])
    own = np.arange(45) // 15 == topic[:, None]
    present = (rng.random(own.shape) < np.where(own, 0.3, 0.0)).astype(np.uint8)
    of = channel(3.0)
    found = fit_topics(Moments(45, channel=of).add_batch(reports(present, of)).estimates(), 3, 0)
    order = found.topic_word.reshape(3, 3, 15).sum(2).argmax(1)
    assert sorted(order) == [0, 1, 2]
    assert found.topic_weight == pytest.approx(np.array([0.5, 0.3, 0.2])[order], abs=0.03)
    length = 0.3 * 15
    assert np.diag(found.topic_pairs) == pytest.approx(length**2 * np.array([0.5, 0.3, 0.2])[order], rel=0.12)
    assert found.unigram == pytest.approx(present.mean(0), abs=0.015)


def test_empirical_bayes_is_positive_and_beats_what_is_observed():
    rng = np.random.default_rng(0)
    truth = rng.choice([0.003, 0.02, 0.2], size=1000, p=[0.7, 0.2, 0.1])
    deviation = np.full(1000, 0.02)
    noisy = truth + rng.normal(0, 0.02, 1000)
    read = positive_rates(noisy, deviation)
    assert (read > 0).all()
    assert ((read - truth) ** 2).mean() < 0.4 * ((np.maximum(noisy, 0) - truth) ** 2).mean()
    assert positive_rates(np.full(5, -1.0), np.full(5, 1e-9)).min() > 0  # far below any rate
    assert positive_rates(truth, np.zeros(1000)) == pytest.approx(truth, rel=0.2)


def test_sources_are_combined_by_precision():
    present = blocks(4000)[0]
    of = channel(1.0)
    noisy = Moments(45, channel=of).add_batch(reports(present[:3500], of))
    exact = Moments(45).add_batch(present[3500:])
    both = combine([noisy.estimates(), exact.estimates()])
    errors = {
        name: np.abs(combine(sources).rates - present.mean(0)).mean()
        for name, sources in {
            "noisy": [noisy.estimates()],
            "both": [noisy.estimates(), exact.estimates()],
        }.items()
    }
    assert errors["both"] < errors["noisy"]
    assert both.n_documents == 4000
    assert np.diag(both.pair_weight).max() == 0
    twice = combine([exact.estimates(), exact.estimates()])
    once = combine([exact.estimates()])
    assert np.allclose(twice.rates, once.rates)
    assert np.allclose(twice.rate_weight, 2 * once.rate_weight)
    with pytest.raises(CorpusError, match="no moments"):
        combine([])
    with pytest.raises(CorpusError, match="no report"):
        Moments(3).estimates()


def test_refining_follows_its_twin():
    present = blocks(50)[0]
    of = channel(3.0)
    noisy = reports(present, of)
    rng = np.random.default_rng(0)
    phi = rng.dirichlet(np.ones(45), 3)
    weight, unigram = np.array([0.5, 0.3, 0.2]), present.mean(0)
    prior = channel_refine._prior(weight, unigram, of)
    theta = channel_refine._start(50, prior)
    step = channel_refine._documents(noisy, theta, phi.astype(np.float32), prior, 1)
    for row in range(50):
        expected = naive.refine_step(noisy[row], theta[row], phi, prior.alpha, prior.rate, of.p, of.q)
        assert step[row] == pytest.approx(expected, rel=1e-4)


def test_refining_helps_where_noise_is_low_and_leaves_its_start_alone():
    present, own = blocks(6000)
    of = channel(4.0)
    noisy = reports(present, of)
    start = fit_topics(Moments(45, channel=of).add_batch(noisy[:400]).estimates(), 3, 0)
    before = start.topic_word.copy()

    def through(size):
        return (noisy[i : i + size] for i in range(0, len(noisy), size))

    better, weight, *_ = refine_topics(Reports(through, of, len(noisy)), start)
    assert np.array_equal(start.topic_word, before)

    def purity(topics):
        return topics.reshape(3, 3, 15).sum(2).max(1).mean()

    assert purity(better) > purity(start.topic_word)
    assert weight.sum() == pytest.approx(1)
    share = infer_topics(through(512), better, weight, start.unigram, of)
    block_of = better.reshape(3, 3, 15).sum(2).argmax(1)
    assert (block_of[share.argmax(1)] == own).mean() > 0.9
    wrong = SimpleNamespace(
        p=of.q + 1e-3, q=of.q
    )  # bits that say nearly nothing: shares stay near the weights
    vague = infer_topics(through(512), better, weight, start.unigram, wrong)
    assert np.abs(vague - vague.mean(0)).max() < 0.25
    assert infer_topics(iter(()), better, weight, start.unigram, of).shape == (0, 3)
