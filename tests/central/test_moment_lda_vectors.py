"""PrivateMomentLDA with public word vectors: when they are believed, what they bring, and that they cost nothing."""

import numpy as np
import pytest
from tests.central.test_moment_lda import PrivateMomentLDA

from discreet import Ledger
from discreet.errors import CorpusError, ParameterError
from discreet.lda.moments.estimates import moments_of_sums
from discreet.lda.moments.fit import LEAST_AGREEMENT, agreement

WORDS = tuple(f"word{i}" for i in range(36))
GROUP = np.arange(36) // 12


def documents(n=600, seed=0):
    rng = np.random.default_rng(seed)
    own = rng.integers(3, size=(n, 1)) == GROUP
    return (rng.random(own.shape) < np.where(own, 0.35, 0.1)).astype(np.int32)


def meaningful(noise=0.5):
    rng = np.random.default_rng(5)
    return np.eye(3)[GROUP] @ rng.standard_normal((3, 12)) + noise * rng.standard_normal((36, 12))


def fitted(vectors=None, **how):
    given = {"epsilon": 1.0, "random_state": 0, "allow_unlearnable": True, "allow_large_delta": True}
    model = PrivateMomentLDA(3, word_vectors=vectors, **{**given, **how})
    return model.fit(documents(), vocabulary=WORDS, words_are_public=True)


def purity(model):
    mass = model.topic_word_.reshape(3, 3, 12).sum(2)
    return np.sort(mass.max(1)).mean() if len(set(mass.argmax(1))) == 3 else 1 / 3


def test_right_vectors_help_and_cost_nothing():
    gains = [
        purity(fitted(meaningful(), random_state=seed)) - purity(fitted(random_state=seed))
        for seed in range(4)
    ]
    assert np.mean(gains) > 0.1
    plain, helped = fitted(), fitted(meaningful())
    settings = helped.release_.configuration
    assert settings["word_vectors_agreement"] >= LEAST_AGREEMENT
    assert settings["word_vectors_coverage"] == "36 of 36 words"
    assert helped.release_.promise == plain.release_.promise
    assert helped.release_.ledger.entries == plain.release_.ledger.entries
    assert "lean on the public word vectors" in helped.release_.card()
    again = fitted((WORDS[::-1], meaningful()[::-1]))
    assert np.array_equal(again.topic_word_, helped.topic_word_)


def test_wrong_vectors_change_nothing():
    plain = fitted()
    for seed in range(3):
        wrong = fitted(np.random.default_rng(seed).standard_normal((36, 12)))
        assert np.array_equal(wrong.topic_word_, plain.topic_word_)
        assert wrong.release_.configuration["word_vectors_not_used"]
        assert "lean on" not in wrong.release_.card()


def test_without_noise_vectors_are_taken_too():
    model = fitted(meaningful(), epsilon=float("inf"))
    assert purity(model) > 0.8
    assert model.release_.configuration["word_vectors_agreement"] > LEAST_AGREEMENT


def sums(counts, noise, seed):
    """Noisy sums as they are released, made the slow way."""
    rng, rows = np.random.default_rng(seed), counts.astype(float)
    length = np.maximum(rows.sum(1), 2)
    first = (rows / np.sqrt(length)[:, None]).sum(0)
    pairs = sum(np.outer(row, row) / np.sqrt(n * (n - 1) / 2) for row, n in zip(rows, length, strict=True))
    triangle = pairs[np.triu_indices(36, 1)]
    first, triangle = first + noise * rng.normal(size=36), triangle + noise * rng.normal(size=len(triangle))
    return moments_of_sums(len(counts), first, triangle, noise, noise)


def test_vectors_are_believed_where_they_know_what_goes_together_and_nowhere_else():
    for seed in range(5):
        found = sums(documents(2000), 4.0, seed)
        assert agreement(found, meaningful()) > LEAST_AGREEMENT
    for seed in range(5):
        random = np.random.default_rng(seed).standard_normal((36, 12))
        assert agreement(sums(documents(2000), 4.0, seed), random) < LEAST_AGREEMENT


def test_how_frequent_words_are_is_neither_for_vectors_nor_against_them():
    rates = np.where(GROUP == 0, 0.4, 0.08)
    for seed in range(3):
        independent = (np.random.default_rng(seed).random((2000, 36)) < rates).astype(np.int32)
        assert abs(agreement(sums(independent, 4.0, seed), meaningful())) < 1.5


def test_vectors_that_cannot_be_used_are_refused_before_anything_is_booked():
    ledger = Ledger(5.0, 1e-5)
    model = PrivateMomentLDA(3, word_vectors={"nothing": [1.0, 2.0]}, ledger=ledger)
    with pytest.raises(CorpusError):
        model.fit(documents(), vocabulary=WORDS, words_are_public=True)
    with pytest.raises(ParameterError, match="word of each column"):
        PrivateMomentLDA(3, word_vectors=meaningful(), ledger=ledger).fit(documents())
    assert ledger.entries == ()
