"""The algorithm's steps from releases to topics: post-processing, and which sums it asks for."""

import inspect
import math

import numpy as np
import pytest
import scipy.sparse as sp
from tests.marks import quick
from tests.naive import central as naive
from tests.naive.central_checks import csr, independent, noise_has_scale, random_counts

from discreet import Ledger
from discreet.central import full_batch
from discreet.central.full_batch import read_unigram
from discreet.central.plan import plan
from discreet.central.sums.units import group_units
from discreet.evaluate import completion_perplexity
from discreet.privacy.accounting import events
from discreet.privacy.accounting.curves import gdp_mu
from discreet.privacy.accounting.planning import noise_multiplier_for
from discreet.privacy.mechanism import BITS, Noisy, SharedGaussian
from discreet.privacy.noise.stream import SecureStream

K, PRIOR = 3, 0.1


class Recorder:
    """A gate that keeps what passed through it."""

    def __init__(self, gate):
        self.gate, self.n_jobs, self.passed = gate, gate.n_jobs, []

    def release(self, total, share, purpose, **lattice):
        noisy = self.gate.release(total, share, purpose, **lattice)
        self.passed.append((purpose, total.copy(), share, noisy))
        return noisy


def make_gate(epsilon, seed=0):
    noise = 0.0 if math.isinf(epsilon) else noise_multiplier_for(epsilon, 1e-5)
    event = events.gaussian(noise) if noise else events.non_private()
    reservation = Ledger(epsilon, 1e-5).reserve(event, "test")
    return Recorder(SharedGaussian(reservation, noise, "document", SecureStream(seed), None))


def run(counts, persons, epsilon, seed=0):
    units, gate = group_units(counts, persons), make_gate(epsilon, seed)
    mu = gdp_mu(epsilon, 1e-5)
    n_units = full_batch.count_units(units, gate)
    schedule = plan(n_units, mu, counts.shape[1], K)
    state, learned = full_batch.init(units, K, PRIOR, schedule, gate, n_units)
    for _ in range(schedule.n_rounds):
        state = full_batch.step(state, units, PRIOR, gate)
    assert learned.words_a_unit == pytest.approx(
        np.clip(gate.passed[1][-1].values.sum() / max(n_units, 1), 1, math.sqrt(counts.shape[1])) ** 2
    )
    return state, gate, schedule


COUNTS = random_counts(300, 40, 0, mean=0.5)
PERSONS = np.arange(300) // 3


@pytest.mark.parametrize("epsilon", [4.0, math.inf])
def test_what_is_released_and_with_which_shares(epsilon):
    _, gate, schedule = run(COUNTS, None, epsilon)
    rounds = [f"round {t}" for t in range(schedule.n_rounds)]
    assert [purpose for purpose, *_ in gate.passed] == ["count", "unigram", "co-occurrence", *rounds]
    shapes = [total.shape for _, total, _, _ in gate.passed]
    pairs = schedule.start_words * (schedule.start_words - 1) // 2
    assert shapes == [(1,), (40,), (pairs,), *[(40, K)] * len(rounds)]
    if epsilon == 4:
        left = gate.gate.reservation.precision_left * gate.gate.noise_multiplier**2
        assert 0 <= left < 1e-6


def test_noise_of_every_release_is_as_promised_and_its_own():
    _, gate, _ = run(COUNTS, PERSONS, 4.0, seed=5)
    noises = {purpose: noisy.values - total / 2**BITS for purpose, total, _, noisy in gate.passed}
    for purpose, _, share, noisy in gate.passed[1:]:
        promised = noise_multiplier_for(4.0, 1e-5) / math.sqrt(share)
        assert noisy.noise == pytest.approx(promised, rel=1e-6)
        assert noise_has_scale(noises[purpose], promised) > 1e-3
    assert independent(noises["round 0"], noises["round 1"]) > 1e-3


@pytest.mark.parametrize("owned", quick([False, True], True))
def test_sums_are_the_naive_twins_from_released_numbers(owned):
    """Every sum can be computed anew from the corpus and what was released before it."""
    persons = PERSONS if owned else None
    state, gate, schedule = run(COUNTS, persons, 4.0)
    units = naive.by_unit(COUNTS, persons)
    passed = {purpose: (total, noisy) for purpose, total, _, noisy in gate.passed}
    assert passed["count"][0].tolist() == [len(units) * 2**BITS]
    total, noisy = passed["unigram"]
    np.testing.assert_allclose(
        total, naive.add_up((naive.unigram_vector(u, 40) for u in units), 40), atol=300
    )
    unigram = read_unigram(noisy)
    chosen = np.sort(np.argsort(-unigram, kind="stable")[: schedule.start_words])
    weights = (unigram[chosen] / unigram[chosen].mean()) ** schedule.pairs_power
    total, noisy = passed["co-occurrence"]
    vectors = (naive.cooccurrence_vector(u, chosen, weights) for u in units)
    np.testing.assert_allclose(total, naive.add_up(vectors, total.shape), atol=300)
    matrix = full_batch.square(noisy.values, len(chosen))
    topics = full_batch.start.starting_topics(matrix, noisy.noise, unigram, chosen, weights, K)
    omega = (unigram * 40) ** -0.25 / state.contribution.bound
    thetas = [[naive.start_theta(document, K, PRIOR) for document in unit] for unit in units]
    expected = np.zeros((40, K), np.int64)
    for unit, theta in zip(units, thetas, strict=True):
        vector = naive.round_vector(unit, theta, topics, omega, PRIOR, 8, state.contribution.exponent)[0]
        expected += naive.place(vector, False)
    np.testing.assert_allclose(passed["round 0"][0] / 2**BITS, expected / 2**BITS, atol=2e-3)


def test_topics_are_probabilities():
    for epsilon in (0.5, 4.0, math.inf):
        state, *_ = run(COUNTS, None, epsilon)
        np.testing.assert_allclose(state.word_topic.sum(0), 1)
        assert (state.word_topic > 0).all()
        assert state.topic_weight.sum() == pytest.approx(1)
        topics, noise = full_batch.read_out(state, 0.0 if math.isinf(epsilon) else 0.15)
        np.testing.assert_allclose(topics.sum(0), 1)
        assert (topics > 0).all()
        assert noise.shape == (K, 40)


def test_running_mean_is_weighted_by_precision_and_forgets_as_topics_drift():
    state = run(COUNTS, None, 4.0)[0]
    weights = np.linspace(0.5, 2, 40)
    values = np.abs(np.random.default_rng(0).normal(5, 1, (40, K)))
    after = full_batch.read_round(state, Noisy(values, 0.3), weights)
    level = values / weights[:, None]
    sigma = 0.3 / weights / level.sum()
    level = level / level.sum()
    for word in range(40):
        cell = state.unigram[word] / K
        old, new = 1 / (1 / state.joint.precision[word] + cell**2), 1 / sigma[word] ** 2
        assert after.joint.precision[word] == pytest.approx(old + new)
        expected = (old * state.joint.values[word] + new * level[word]) / (old + new)
        np.testing.assert_allclose(after.joint.values[word], expected)
        variance = (old**2 * state.joint.variance[word] + new**2 * sigma[word] ** 2) / (old + new) ** 2
        assert after.joint.variance[word] == pytest.approx(variance)


def test_a_hopelessly_noisy_round_still_gives_topics():
    state = run(COUNTS, None, 4.0)[0]
    for values in (np.full((40, K), -100.0), np.zeros((40, K))):
        after = full_batch.read_round(state, Noisy(values, 50.0), np.ones(40))
        np.testing.assert_allclose(after.word_topic.sum(0), 1)
    assert np.isfinite(read_unigram(Noisy(np.full(40, -5.0), 1.0))).all()


def test_post_processing_takes_no_private_argument():
    """Functions that read releases are not handed units; so they cannot look at one."""
    for function in (read_unigram, full_batch.start.starting_topics):
        assert "units" not in inspect.signature(function).parameters


def test_reading_a_round_does_not_look_at_theta():
    state = run(COUNTS, None, 4.0)[0]
    noisy = Noisy(np.abs(np.random.default_rng(0).normal(5, 1, (40, K))), 0.3)
    blind = state._replace(theta=np.full_like(state.theta, np.nan))
    one, other = (full_batch.read_round(s, noisy, np.ones(40)) for s in (state, blind))
    for name in ("word_topic", "topic_weight"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
    for left, right in zip(one.joint, other.joint, strict=True):
        np.testing.assert_array_equal(left, right)
    for one, other in zip(full_batch.read_out(state, 0.15), full_batch.read_out(blind, 0.15), strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("step", [0.0, 0.1, 0.2])
def test_topics_are_read_a_step_further_from_the_unigram(step):
    state = run(COUNTS, None, 4.0)[0]
    topics, noise = full_batch.read_out(state, step)
    for topic in range(K):
        read = [
            max(p - step * share, 0.002 * share)
            for p, share in zip(state.word_topic[:, topic], state.unigram, strict=True)
        ]
        np.testing.assert_allclose(topics[:, topic], np.array(read) / sum(read))
        deviation = np.sqrt(state.joint.variance) / state.topic_weight[topic] / (1 - step)
        np.testing.assert_allclose(noise[topic], deviation)
    if step == 0:
        np.testing.assert_array_equal(topics, state.word_topic)


def texts(burst, n=5000):
    """Texts of three topics over common words; of a topic, each says few words, and those often, where ``burst``."""
    rng = np.random.default_rng(4)
    common = rng.permutation(1 / np.arange(1, 201))
    common /= common.sum()
    topics = np.array([rng.dirichlet(20 * common + 1e-3) for _ in range(K)])
    topical = rng.dirichlet(np.full(K, 0.1), n) @ topics
    if burst:
        topical *= rng.gamma(0.05, 20.0, topical.shape)
    return sp.csr_matrix(rng.poisson(30 * topical + 10 * common))


def test_so_read_topics_describe_texts_better_that_repeat_their_words():
    ratios = []
    for burst in (True, False):
        counts = texts(burst)
        state, _, schedule = run(counts[:4000], None, 0.5)
        before, after = (
            completion_perplexity(topics.T, counts[4000:], n_jobs=1)
            for topics in (state.word_topic, full_batch.read_out(state, schedule.last_step)[0])
        )
        ratios.append(after / before)
    assert ratios[0] < 0.995
    assert 1 < ratios[1] < 1.02


@pytest.mark.parametrize(("length", "epsilon"), [(8, 4.0), (25, 4.0), (25, 1.0)])
def test_what_a_unit_gives_is_clipped_at_so_many_usual_norms(length, epsilon):
    """The usual norm is that of L words, each once, at the weights of the rounds, from released numbers."""
    rng = np.random.default_rng(0)
    rows = np.zeros((20_000, 40), int)
    for row in rows:
        row[rng.choice(40, length, replace=False)] = 2
    state, gate, schedule = run(csr(rows), None, epsilon)
    n = gate.passed[0][-1].values[0]
    unigram = full_batch.read_unigram(gate.passed[1][-1])
    weights = [(p * 40) ** -0.25 for p in unigram]
    words = (gate.passed[1][-1].values.sum() / n) ** 2
    assert words == pytest.approx(length, rel=0.1)
    norm = math.sqrt(sum(words * p * w * w for p, w in zip(unigram, weights, strict=True)))
    assert state.contribution.exponent == schedule.exponent == 0.5 + 0.5 / (1 + (schedule.x / 2) ** 2)
    assert state.contribution.bound == pytest.approx((30 * schedule.x / words) ** -0.7 * norm, rel=5e-3)
    # A document of that many words, each twice, is about 2 to the exponent usual norms long.
    given = np.linalg.norm(2**schedule.exponent * np.array(weights)[rows[0] > 0])
    assert given / norm == pytest.approx(2**schedule.exponent, rel=0.15)


def test_without_noise_only_the_last_round_counts():
    state = run(COUNTS, None, math.inf)[0]
    values = np.abs(np.random.default_rng(0).normal(5, 1, (40, K)))
    after = full_batch.read_round(state, Noisy(values, 0.0), np.ones(40))
    np.testing.assert_allclose(after.joint.values, values / values.sum())
