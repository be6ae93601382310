"""CountNoiseLDA: what it draws, and that it promises nothing."""

import math
from itertools import pairwise

import numpy as np
import pytest
from tests.naive.central_checks import block_corpus, overlap

from discreet import BudgetExceeded, Ledger, ParameterError
from discreet.central import CountNoiseLDA
from discreet.central.word_level import count_noise_lda
from discreet.privacy.noise.laplace import discrete_laplace


@pytest.fixture
def counts():
    return block_corpus(100, n_topics=2, words_a_topic=6, length=10)[0]


@pytest.mark.parametrize("when", ["first", "every", "last"])
def test_nothing_is_promised(counts, when):
    release = CountNoiseLDA(2, when=when, n_sweeps=4, random_state=0).fit(counts).release_
    assert math.isinf(release.promise.epsilon)
    assert release.promise.privacy_unit == "word"
    assert "No privacy is promised" in release.guarantee
    given = {"first": 2.0, "every": 10.0, "last": math.inf}[when]
    assert release.configuration["epsilon_given_assignments"] == given
    assert "topic assignments" in release.configuration["not_covered"]
    ledger = Ledger(100, 1e-6, privacy_unit="word", neighboring="replace_one")
    with pytest.raises(BudgetExceeded):
        CountNoiseLDA(2, when=when, ledger=ledger).fit(counts)


@pytest.mark.parametrize(("when", "draws"), [("first", 1), ("every", 5), ("last", 1)])
def test_when_noise_is_drawn(counts, when, draws, monkeypatch):
    seen = []

    def spy(scale, shape, stream, **more):
        noise = discrete_laplace(scale, shape, stream, **more)
        seen.append((scale, noise))
        return noise

    monkeypatch.setattr(count_noise_lda, "discrete_laplace", spy)
    CountNoiseLDA(2, when=when, epsilon=0.5, n_sweeps=4, random_state=0).fit(counts)
    assert len(seen) == draws
    assert {float(scale) for scale, _ in seen} == {2.0}
    for (_, one), (_, two) in pairwise(seen):
        assert (one != two).any()


def test_zhu_keeps_exact_word_totals(counts):
    """Which is why no epsilon holds: a missing word is read off."""
    release = CountNoiseLDA(2, when="last", epsilon=0.5, n_sweeps=3, random_state=0).fit(counts).release_
    totals = np.asarray(counts.sum(0)).ravel()
    smooth = totals + 2 * 0.01
    np.testing.assert_allclose(release.word_weight, smooth / smooth.sum(), rtol=1e-9)
    every = CountNoiseLDA(2, when="every", epsilon=0.5, n_sweeps=3, random_state=0).fit(counts).release_
    assert np.abs(every.word_weight - smooth / smooth.sum()).max() > 1e-3


def test_without_noise_topics_are_found_and_noise_hurts():
    counts, truth = block_corpus(1000, n_topics=3, words_a_topic=8, length=20)
    for when in ("first", "every", "last"):
        settings = {"when": when, "n_sweeps": 30, "doc_topic_prior": 0.1, "random_state": 0}
        assert overlap(CountNoiseLDA(3, epsilon=math.inf, **settings).fit(counts).components_, truth) > 0.9
        assert overlap(CountNoiseLDA(3, epsilon=0.002, **settings).fit(counts).components_, truth) < 0.8


def test_refusals():
    with pytest.raises(ParameterError, match='when must be "first"'):
        CountNoiseLDA(2, when="often").fit([[1]])
