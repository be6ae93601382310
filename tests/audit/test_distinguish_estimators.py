"""The distinguishing audit of what users call: every way of choosing words, coins, and sampled training.

Each mechanism is held to its promise, and the same mechanism with half its noise is flagged, so a pass is no
weakness of the audit.
"""

import functools
import math

import numpy as np
import pytest

from discreet import Corpus, PrivateCountVectorizer, PrivateSVILDA
from discreet.audit import distinguish
from discreet.errors import PrivacyError
from discreet.privacy import SecureStream, bernoulli, gdp_mu

pytestmark = pytest.mark.integration

EPSILON, DELTA = 2.0, 1e-3


@functools.cache
def documents(holders):
    """Texts of one word each, counted once for all runs."""
    return Corpus.from_texts(["orchid"] * holders + ["rain"] * 60)


def weight(method, holders, epsilon, seed):
    """Released weight of a word that some documents have; below all others where it is not released."""
    words = PrivateCountVectorizer(
        epsilon=epsilon, delta=DELTA, method=method, max_words_per_unit=1, random_state=seed
    )
    try:
        words.fit(documents(holders))
    except PrivacyError:  # no word at all was chosen
        return -1.0
    if "orchid" not in words.vocabulary_:
        return -1.0
    return words.word_weights_[words.vocabulary_["orchid"]]


def audit_vocabulary(method, holders, epsilon, n_runs=2000):
    return distinguish(
        lambda run: weight(method, holders + 1, epsilon, 2 * run),
        lambda run: weight(method, holders, epsilon, 2 * run + 1),
        n_runs=n_runs,
        delta=DELTA,
    )


@pytest.mark.parametrize(
    ("method", "holders", "least"),
    [
        # Just below the threshold, where a document more decides.
        ("weighted_gaussian", 8, 0.3),
        ("sips", 8, 0.3),
    ],
)
def test_chosen_words_and_their_weights_are_within_their_promise(method, holders, least):
    # The bound on mu hangs on rare outcomes: 2,000 runs see too few of them.
    n_runs = {"weighted_gaussian": 4000}.get(method, 1000)
    report = audit_vocabulary(method, holders, EPSILON, n_runs)
    assert least < report.epsilon_lower_bound <= EPSILON
    if method == "weighted_gaussian":
        assert 0.5 * gdp_mu(EPSILON, DELTA) < report.mu_lower_bound <= gdp_mu(EPSILON, DELTA)


def test_words_chosen_with_half_the_noise_are_flagged():
    # Of 15 draws of 1,000 runs the least proves mu .87.
    mu = gdp_mu(EPSILON, DELTA)
    # Half the noise is twice mu; its epsilon is this.
    from discreet.privacy import gdp_epsilon

    report = audit_vocabulary("weighted_gaussian", 8, gdp_epsilon(2 * mu, DELTA), 1000)
    assert report.mu_lower_bound > mu


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 3.0])
def test_coins_tell_no_more_than_randomised_response_may(epsilon):
    stream, n = SecureStream(6), 200_000
    truth = math.exp(epsilon) / (1 + math.exp(epsilon))
    told = [bernoulli(p, n, stream).astype(float) for p in (truth, 1 - truth)]
    report = distinguish(*told)
    assert 0.95 * epsilon < report.epsilon_lower_bound <= epsilon
    assert report.exceeds(0.9 * epsilon)


def audit_sampled_training(epsilon, n_runs=400):
    rng = np.random.default_rng(2)
    crowd = np.c_[rng.poisson(1.0, (12, 5)), np.zeros(12, int)]
    sides = np.r_[crowd, [[0, 0, 0, 0, 0, 9]]], crowd

    def share(counts, seed):
        model = PrivateSVILDA(
            2,
            epsilon=epsilon,
            delta=DELTA,
            sampling_rate=0.5,
            n_rounds=2,
            contribution_bound=3.0,
            random_state=seed,
        )
        return model.fit(counts).release_.topic_word[:, -1].sum()

    return distinguish(
        lambda run: share(sides[0], 2 * run),
        lambda run: share(sides[1], 2 * run + 1),
        n_runs=n_runs,
        delta=DELTA,
    )


def test_sampled_training_is_within_its_promise_and_flagged_where_noise_is_missing():
    assert not audit_sampled_training(1.0).exceeds(1.0)
    assert audit_sampled_training(40.0).exceeds(1.0)
