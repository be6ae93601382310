"""PrivateMomentLDA of experiments/local: the battery, the releases' shares, what it learns, what it refuses."""

import importlib.util
import math
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from discreet import Ledger, Release
from discreet.central.sums.units import group_units
from discreet.errors import BudgetExceeded, CorpusError, ParameterError, PrivacyError
from discreet.lda.moments.estimates import learnable
from discreet.privacy import noise_multiplier_for
from discreet.privacy.accounting import events
from discreet.privacy.mechanism import SharedGaussian
from discreet.privacy.noise.stream import SecureStream

SCRIPT = Path(__file__).parents[2] / "experiments" / "local" / "moment_lda.py"
spec = importlib.util.spec_from_file_location("moment_lda", SCRIPT)
script = importlib.util.module_from_spec(spec)
spec.loader.exec_module(script)
PrivateMomentLDA, release_moments = script.PrivateMomentLDA, script.release_moments


def blocks(n, n_topics=3, size=12, seed=0):
    """Documents that each lie in one of several disjoint blocks of words."""
    rng = np.random.default_rng(seed)
    own = np.arange(n_topics * size) // size == rng.integers(n_topics, size=n)[:, None]
    return sp.csr_matrix((rng.random(own.shape) < np.where(own, 0.4, 0.02)).astype(np.int32))


def gate_of(noise, seed=0, n_jobs=None):
    ledger = Ledger(math.inf, 1e-6)
    event = events.gaussian(noise) if noise else events.non_private()
    return SharedGaussian(ledger.reserve(event, "moments"), noise, "document", SecureStream(seed), n_jobs)


def test_moments_without_noise_are_the_normalised_sums():
    counts = blocks(200)
    found = release_moments(group_units(counts, None), gate_of(0.0))
    rows = counts.toarray().astype(float)
    length = np.maximum(rows.sum(1), 1)
    first = (rows / np.sqrt(length)[:, None]).sum(0)
    pairs = np.zeros((36, 36))
    for row, words in zip(rows, length, strict=True):
        if words > 1:
            pairs += np.outer(row, row) / math.sqrt(words * (words - 1) / 2)
    np.fill_diagonal(pairs, 0)
    mean = (first.sum() / 200) ** 2
    assert found.n_documents == 200
    assert found.rates == pytest.approx(first * math.sqrt(mean) / 200, rel=1e-3)
    assert found.rates == pytest.approx(rows.mean(0), rel=0.35)  # of the size of rates of presence
    assert found.pairs == pytest.approx(pairs * math.sqrt(mean * (mean - 1) / 2) / 200, rel=1e-3, abs=1e-6)


def test_noise_is_as_stated_and_the_reservation_is_used_up():
    counts = sp.csr_matrix(sp.hstack([blocks(300), sp.csr_matrix((300, 20), dtype=np.int32)]))
    gates = [gate_of(3.0, seed) for seed in range(40)]
    found = [release_moments(group_units(counts, None), gate) for gate in gates]
    upper = np.triu_indices(20, 1)  # words that never occur: all that is there is noise
    pull = np.array([one.pairs[36:, 36:][upper] / one.pair_noise for one in found])
    assert pull.std() == pytest.approx(1, abs=4.5 / math.sqrt(2 * pull.size))
    pull = np.array([one.rates[36:] / one.rate_noise for one in found])
    assert pull.std() == pytest.approx(1, abs=4.5 / math.sqrt(2 * pull.size))
    for gate in gates:
        assert 0 <= gate.reservation.precision_left <= Fraction(1, 10**9)
        with pytest.raises(PrivacyError, match="left"):
            gate.release(np.zeros(1, np.int64), 0.01, "more")


@pytest.mark.parametrize("epsilon", [2.0, math.inf])
def test_blocks_are_recovered(epsilon):
    model = PrivateMomentLDA(3, epsilon=epsilon, random_state=0).fit(blocks(6000))
    mass = model.components_.reshape(3, 3, 12).sum(2)
    assert sorted(mass.argmax(1)) == [0, 1, 2]
    assert mass.max(1).min() > 0.85
    assert model.learnable_ == 3
    assert model.release_.topic_weight == pytest.approx([1 / 3] * 3, abs=0.05)


def test_release_states_the_promise_and_can_be_saved(tmp_path):
    model = PrivateMomentLDA(3, epsilon=3.0, random_state=0).fit(blocks(3000))
    promise = model.release_.promise
    assert (promise.privacy_unit, promise.neighboring) == ("document", "add_or_remove_one")
    assert promise.epsilon == pytest.approx(3.0)
    assert model.release_.reproducible
    assert len(model.release_.ledger.entries) == 1
    model.release_.save(tmp_path / "topics")
    assert Release.load(tmp_path / "topics") == model.release_
    assert not PrivateMomentLDA(3, epsilon=3.0).fit(blocks(3000)).release_.reproducible


def test_threads_and_order_do_not_matter():
    counts = blocks(2000)
    expected = PrivateMomentLDA(2, epsilon=3.0, random_state=1).fit(counts).release_
    assert PrivateMomentLDA(2, epsilon=3.0, random_state=1, n_jobs=3).fit(counts).release_ == expected
    assert PrivateMomentLDA(2, epsilon=3.0, random_state=1).fit(counts[::-1]).release_ == expected
    assert PrivateMomentLDA(2, epsilon=3.0, random_state=2).fit(counts).release_ != expected


def test_only_presence_is_used():
    counts = blocks(1500)
    more = counts.copy()
    more.data = np.random.default_rng(0).integers(1, 9, len(more.data)).astype(np.int32)
    one, other = (PrivateMomentLDA(2, epsilon=3.0, random_state=1).fit(X).release_ for X in (counts, more))
    assert one == other
    assert more.data.max() == 8  # X is left as it was


def test_people_are_one_unit_each():
    counts = blocks(3000)
    persons = np.arange(3000) // 2
    model = PrivateMomentLDA(3, epsilon=4.0, privacy_unit="person", random_state=0).fit(
        counts, persons=persons
    )
    assert model.release_.promise.privacy_unit == "person"
    assert model.release_.n_units_noisy == pytest.approx(1500, abs=150)
    with pytest.raises(PrivacyError, match="pass persons="):
        PrivateMomentLDA(3, privacy_unit="person").fit(counts)


def test_nothing_to_learn_is_said_after_the_cost():
    counts = sp.csr_matrix((np.random.default_rng(0).random((60, 40)) < 0.1).astype(np.int32))
    ledger = Ledger(1.0, 1e-6)
    with pytest.raises(ParameterError, match="cost stays booked"):
        PrivateMomentLDA(2, epsilon=0.5, ledger=ledger, random_state=0).fit(counts)
    assert len(ledger.entries) == 1
    with pytest.raises(BudgetExceeded):
        PrivateMomentLDA(2, epsilon=2.0, ledger=ledger).fit(counts)


def test_independent_words_have_one_direction():
    rng = np.random.default_rng(0)
    counts = sp.csr_matrix((rng.random((5000, 60)) < 0.1).astype(np.int32))
    for seed in range(5):
        noise = noise_multiplier_for(2.0, 1e-6)
        moments = release_moments(group_units(counts, None), gate_of(noise, seed))
        assert learnable(moments) == 1


@pytest.mark.parametrize(
    "changes", [{"n_topics": 0}, {"doc_topic_prior": 0.0}, {"random_state": -1}, {"n_jobs": 0}]
)
def test_parameters_out_of_range_are_refused(changes):
    with pytest.raises(ParameterError, match=next(iter(changes))):
        PrivateMomentLDA(**changes).fit(blocks(10))


def test_sklearn_ways_and_tables_that_are_too_large():
    model = PrivateMomentLDA(3, epsilon=4.0, random_state=0)
    with pytest.raises(NotFittedError):
        model.transform(blocks(3))
    assert clone(model).get_params() == model.get_params()
    model.fit(blocks(3000))
    assert np.allclose(model.transform(blocks(5)).sum(1), 1)
    assert model.get_feature_names_out().shape == (3,)
    with pytest.raises(CorpusError, match="expecting 36"):
        model.transform(np.ones((2, 3), int))
    with pytest.raises(ParameterError, match="6,400,000,000 bytes"):
        PrivateMomentLDA(2).fit(sp.csr_matrix((2, 20_000), dtype=np.int32))
