"""PrivateLDA asks and releases what follows from noisy sums, and from nothing else."""

import numpy as np
import pytest
from tests.naive.central_checks import block_corpus, csr, random_counts
from tests.naive.private_lda import BOTH, COUNTS, FULL, PERSONS, SAMPLED, make, recorded_draws

from discreet.central import full_batch
from discreet.central import private_lda as module
from discreet.central import private_svi_lda as dpsvi
from discreet.central.plan import plan
from discreet.central.sums.em_round import Contribution
from discreet.corpus.vocabulary import GivenWords, WordOrigin
from discreet.lda.questions import square_of
from discreet.privacy import mechanism
from discreet.privacy.accounting.planning import epsilon_for, noise_multiplier_for
from discreet.privacy.mechanism import BITS, Noisy, SharedGaussian


def pin_the_first_numbers(monkeypatch, value):
    honest = SharedGaussian.release

    def release(self, total, share, purpose, **lattice):
        noisy = honest(self, total, share, purpose, **lattice)
        if purpose == "unigram":  # whose mass tells how long documents are
            return Noisy(np.full(noisy.values.shape, 1.5 * value / 30), noisy.noise)
        return Noisy(np.array([value]), noisy.noise) if purpose == "count" else noisy

    monkeypatch.setattr(SharedGaussian, "release", release)


def draws_of(monkeypatch, counts, persons=None, **how):
    with monkeypatch.context() as patch:
        pin_the_first_numbers(patch, 400.0)
        draws = recorded_draws(patch)
        unit = "document" if persons is None else "person"
        make(privacy_unit=unit, **how).fit(counts, persons=persons)
    return [(scale, size) for scale, size, _ in draws]


@pytest.mark.parametrize("how", [{}, {"sampling_rate": 0.3, "n_rounds": 4}])
def test_draws_depend_on_released_numbers_only(how, monkeypatch):
    reference = draws_of(monkeypatch, COUNTS, **how)
    assert draws_of(monkeypatch, COUNTS[:399], **how) == reference
    assert draws_of(monkeypatch, COUNTS[:40], **how) == reference
    assert draws_of(monkeypatch, COUNTS, PERSONS, **how) == reference
    assert draws_of(monkeypatch, csr(np.zeros((1, 30))), **how) == reference


def questions(patch):
    """Write down what the kernels are asked: all their arguments that are not the corpus or its state."""
    asked = []

    def spy(home, name):
        honest = getattr(home, name)

        def kernel(units, *arguments):
            public = arguments[1:] if name in ("round_sum", "sampled_sum") else arguments
            asked.extend(
                argument.tobytes()
                for argument in public
                if isinstance(argument, np.ndarray) and argument.size
            )
            asked.extend(argument for argument in public if isinstance(argument, Contribution))
            return honest(units, *arguments)

        patch.setattr(home, name, kernel)

    spy(full_batch, "moment_sum")  # features of the words
    spy(full_batch, "cooccurrence_sum")  # chosen words, weights
    spy(full_batch, "round_sum")  # (theta,) topics, weights, how each unit's statistic is bounded
    spy(dpsvi, "sampled_sum")  # (who was drawn,) topics
    return asked


def replayed(monkeypatch, how, others, first=COUNTS):
    """Whether a fit on another corpus asks and releases the same once every noisy sum is the first fit's.

    What is asked next and what is released are functions of the noisy sums and of nothing else: this is what
    the proof calls adaptive composition and post-processing.
    """
    noisy_sums = []
    honest = mechanism.GaussianMechanism.release

    def record(self, total, stream, reservation, **options):
        noisy_sums.append(honest(self, total, stream, reservation, **options))
        return noisy_sums[-1].copy()

    def replay(self, total, stream, reservation, **options):
        assert honest(self, total, stream, reservation, **options).shape == left[0].shape
        return left.pop(0).copy()

    with monkeypatch.context() as patch:
        patch.setattr(mechanism.GaussianMechanism, "release", record)
        reference_questions = questions(patch)
        reference = make(**how).fit(first)
    for counts, persons in others:
        left = list(noisy_sums)
        with monkeypatch.context() as patch:
            patch.setattr(mechanism.GaussianMechanism, "release", replay)
            asked = questions(patch)
            unit = "document" if persons is None else "person"
            model = make(**how, privacy_unit=unit).fit(counts, persons=persons)
        assert not left
        assert reference_questions
        names = ("topic_word", "topic_weight", "word_weight", "topic_word_noise", "n_units_noisy")
        same_numbers = all(
            np.array_equal(getattr(model.release_, name), getattr(reference.release_, name)) for name in names
        )
        if not (
            same_numbers and asked == reference_questions and forecasts_of(model) == forecasts_of(reference)
        ):
            return False
    return True


def forecasts_of(model):
    return getattr(model, "forecast_", "DP-SVI makes none")


OTHERS = [
    (random_counts(150, 30, 7, mean=1.5), None),
    (COUNTS[:399], None),
    (COUNTS, PERSONS),
    (csr(np.zeros((1, 30))), None),
]


VECTORS = np.random.default_rng(3).normal(size=(30, 8))
WORDS = tuple(f"word{i}" for i in range(30))
PUBLIC = GivenWords(WORDS, WordOrigin.public("this test"))


def test_with_word_vectors_too(monkeypatch):
    how = {"word_vectors": (WORDS, VECTORS)}
    monkeypatch.setattr("discreet.central.base.given_words", lambda *_: PUBLIC)
    assert replayed(monkeypatch, how, OTHERS)


def known_words():
    """A corpus, vectors that know its topics, and another corpus."""
    (first, truth), (other, _) = (block_corpus(400, 3, 10, 15, seed) for seed in (0, 1))
    vectors = truth.T * 8 + np.random.default_rng(0).normal(0, 0.2, (30, 3))
    return first, {"word_vectors": (WORDS, vectors), "epsilon": 8.0}, [(other, None), (first[:399], None)]


def test_with_word_vectors_that_are_believed(monkeypatch):
    first, how, others = known_words()
    monkeypatch.setattr("discreet.central.base.given_words", lambda *_: PUBLIC)
    believed = []
    honest = full_batch.start.look

    def noted(*released):
        believed.append(honest(*released).believed)
        return honest(*released)

    monkeypatch.setattr(full_batch.start, "look", noted)
    assert replayed(monkeypatch, how, others, first)
    assert believed == [True] * 3


def test_a_start_from_the_exact_moment_is_caught(monkeypatch):
    """Planted: the start reads the sum over documents before its noise."""
    first, how, others = known_words()
    monkeypatch.setattr("discreet.central.base.given_words", lambda *_: PUBLIC)
    exact = []
    honest = full_batch.moment_sum

    def remembered(*private):
        exact.append(honest(*private) / 2**BITS)
        return honest(*private)

    monkeypatch.setattr(full_batch, "moment_sum", remembered)
    monkeypatch.setattr(full_batch, "square_of", lambda _: square_of(exact[-1]))
    assert not replayed(monkeypatch, how, others[:1], first)


def test_vectors_seen_through_the_true_unigram_are_caught(monkeypatch):
    """Planted: directions of the vectors centred and whitened under how frequent words really are."""
    honest = full_batch.init

    def leaky(units, n_topics, prior, schedule, gate, n_units, vectors):
        state, learned = honest(units, n_topics, prior, schedule, gate, n_units, vectors)
        true = np.bincount(units.words, weights=units.counts, minlength=units.n_words) + 1e-3
        found = full_batch.start_prior(vectors, true / true.sum(), n_topics)
        return state._replace(prior=found), learned

    monkeypatch.setattr(full_batch, "init", leaky)
    monkeypatch.setattr("discreet.central.base.given_words", lambda *_: PUBLIC)
    assert not replayed(monkeypatch, {"word_vectors": (WORDS, VECTORS)}, OTHERS[1:2])


@BOTH
def test_the_release_is_a_function_of_noisy_sums_alone(how, monkeypatch):
    assert replayed(monkeypatch, how, OTHERS)


def test_the_words_of_the_start_are_chosen_from_noisy_sums_alone(monkeypatch):
    """With more words than the start takes (a hundred at least)."""
    wide = random_counts(300, 160, 8, mean=0.2)
    others = [(random_counts(300, 160, 9, mean=0.2), None), (wide[:299], None)]
    assert plan(300, module.gdp_mu(4.0, 1e-5), 160, 2).start_words < 160
    assert replayed(monkeypatch, FULL, others, first=wide)


@pytest.mark.parametrize("leak", ["theta", "words", "sum", "number"])
def test_a_release_that_looks_past_the_noise_is_caught(leak, monkeypatch):
    """Planted: thetas as topic weights; start words by true frequency; an un-noised sum; the true number of units."""
    init, step, count = full_batch.init, full_batch.step, full_batch.count_units

    def leaky_step(state, units, *others):
        after = step(state, units, *others)
        share = state.theta.sum(0, dtype=float)
        return after._replace(topic_weight=share / share.sum())

    def leaky_init(units, *others):
        state, learned = init(units, *others)
        true = np.bincount(units.words, minlength=units.n_words) + 1.0
        return state._replace(unigram=true / true.sum()), learned

    def leaky_sum(state, units, prior, gate):
        after = step(state, units, prior, gate)
        true = full_batch.round_sum(
            units, state.theta.copy(), state.word_topic, np.ones(30), prior, 1, state.contribution
        )
        topics = after.word_topic + 1e-6 * true / 2**18
        return after._replace(word_topic=topics / topics.sum(0))

    if leak in ("theta", "sum"):
        monkeypatch.setattr(full_batch, "step", leaky_step if leak == "theta" else leaky_sum)
    elif leak == "words":
        monkeypatch.setattr(full_batch, "init", leaky_init)
    else:
        monkeypatch.setattr(full_batch, "count_units", lambda u, gate: 0 * count(u, gate) + u.n_units + 0.5)
    assert not replayed(monkeypatch, FULL, OTHERS[1:2])


def longest(units):
    """The exact norm of the longest unit's counts."""
    starts = units.indptr[:-1][np.diff(units.indptr) > 0]
    return float(np.sqrt(np.add.reduceat(units.counts**2, starts).max()))


@pytest.mark.parametrize("leak", ["norms", "number"])
def test_a_bound_that_looks_past_the_noise_is_caught(leak, monkeypatch):
    """Planted: units are plentiful here, so they give counts, clipped at what exact norms, or their number, suggest."""
    init, usual = full_batch.init, full_batch.usual_norm

    def leaky(units, *others):
        def of_these(unigram, words):
            truly = words * (others[4] / units.n_units) ** 2
            return longest(units) if leak == "norms" else usual(unigram, truly)

        monkeypatch.setattr(full_batch, "usual_norm", of_these)
        return init(units, *others)

    first, others = random_counts(400, 30, 0, mean=1.5), [(random_counts(150, 30, 7, mean=3), None)]
    noted = contribution_of(monkeypatch, first)
    assert noted.exponent > 0.9
    assert noted.bound > 1
    assert replayed(monkeypatch, FULL, others, first)
    monkeypatch.setattr(full_batch, "init", leaky)
    assert not replayed(monkeypatch, FULL, others, first)


def contribution_of(monkeypatch, counts):
    """How units are bounded in the rounds of a fit."""
    with monkeypatch.context() as patch:
        asked = questions(patch)
        make().fit(counts)
    (found,) = {argument for argument in asked if isinstance(argument, Contribution)}
    return found


def test_sizes_from_the_true_number_of_documents_are_caught(monkeypatch):
    monkeypatch.setattr(
        full_batch, "count_units", lambda units, gate: float(gate.release(*_count(units)) and units.n_units)
    )
    assert draws_of(monkeypatch, COUNTS) != draws_of(monkeypatch, COUNTS[:4])


def _count(units):
    return full_batch.count_sum(units), 0.002, "count"


def test_all_noise_of_a_fit_comes_within_the_budget(monkeypatch):
    """The scales that were really drawn, added up, against the noise multiplier that epsilon allows."""
    draws = recorded_draws(monkeypatch)
    make().fit(COUNTS)
    precision = sum(float(2**18 / scale) ** 2 for scale, *_ in draws)
    assert precision <= 1 / noise_multiplier_for(4.0, 1e-5) ** 2 * (1 + 1e-9)
    draws.clear()
    make(**SAMPLED).fit(COUNTS)
    noise = float(draws[0][0] / 2**18)
    assert len(draws) == 4
    assert len({scale for scale, *_ in draws}) == 1
    assert epsilon_for(noise, 1e-5, sampling_rate=0.3, n_rounds=4) <= 4 * (1 + 1e-6)
