"""PrivateLDA in use: the same bytes, the non-private twin, odd corpora, the settings of 2016."""

import math

import numpy as np
import pytest
import scipy.sparse as sp
from tests.naive.central_checks import block_corpus, csr
from tests.naive.private_lda import BOTH, COUNTS, FULL, PERSONS, SAMPLED, make, recorded_draws, same

from discreet import Corpus, Ledger, PrivateSVILDA
from discreet._base.arrays import column_words
from discreet.central import full_batch
from discreet.central.plan import plan
from discreet.central.sums.units import group_units
from discreet.corpus.vocabulary import NUMBERED
from discreet.errors import BudgetExceeded
from discreet.privacy.accounting import events
from discreet.privacy.mechanism import SharedGaussian
from discreet.privacy.noise.stream import SecureStream

# ---- determinism


def test_same_bytes_for_any_threads_and_order():
    reference = make().fit(COUNTS)
    assert same(make(n_jobs=2).fit(COUNTS), reference)
    assert same(make(n_jobs=4).fit(COUNTS), reference)
    order = np.random.default_rng(2).permutation(400)
    assert same(make(n_jobs=2).fit(COUNTS[order]), reference)
    by_person = make(privacy_unit="person").fit(COUNTS, persons=PERSONS)
    assert not same(by_person, reference)
    assert same(make(privacy_unit="person", n_jobs=4).fit(COUNTS, persons=PERSONS), by_person)
    assert same(make(privacy_unit="person").fit(COUNTS[order], persons=PERSONS[order]), by_person)


def test_dp_svi_gives_the_same_bytes_for_any_threads():
    reference = make(**SAMPLED).fit(COUNTS)
    assert all(same(make(n_jobs=n, **SAMPLED).fit(COUNTS), reference) for n in (2, 4))


def test_kinds_of_matrices_and_of_persons_do_not_matter():
    reference = make(privacy_unit="person").fit(COUNTS, persons=PERSONS)
    names = [f"person {person:04d}" for person in PERSONS]
    for X, persons in (
        (COUNTS.toarray(), PERSONS.tolist()),
        (COUNTS.tocsc().astype(float), PERSONS.astype(np.int32)),
        (sp.coo_array(COUNTS), names),
        (Corpus(COUNTS, column_words(30), persons=PERSONS).with_word_origin(NUMBERED), None),
    ):
        assert same(make(privacy_unit="person").fit(X, persons=persons), reference)


@BOTH
def test_without_a_seed_noise_is_new_and_labelled_secure(how):
    first, second = (make(random_state=None, **how).fit(COUNTS) for _ in range(2))
    assert not np.allclose(first.components_, second.components_)
    assert first.release_.determinism == "secure"
    assert not any("not for release" in entry.purpose for entry in first.release_.ledger.entries)
    seeded = make(**how).fit(COUNTS)
    assert seeded.release_.determinism == "reproducible, not for release"
    assert "not for release" in seeded.release_.guarantee
    assert "not for release" in seeded.release_.ledger.entries[0].purpose
    assert not same(seeded, make(random_state=1, **how).fit(COUNTS))
    assert same(seeded, make(**how).fit(COUNTS))


def test_no_two_draws_of_a_fit_share_their_noise(monkeypatch):
    draws = recorded_draws(monkeypatch)
    make().fit(COUNTS)
    rounds = [noise / float(scale) for scale, size, noise in draws if size == (30, 2)]
    assert len(rounds) >= 3
    for i, one in enumerate(rounds):
        assert all(abs(np.corrcoef(one.ravel(), other.ravel())[0, 1]) < 0.6 for other in rounds[:i])


# ---- the non-private twin


def test_epsilon_inf_is_the_same_code_without_noise(monkeypatch):
    draws = recorded_draws(monkeypatch)
    model = make(epsilon=math.inf).fit(COUNTS)
    assert {scale for scale, *_ in draws} == {0}
    reservation = Ledger(math.inf, 1e-5).reserve(events.non_private(), "test")
    gate = SharedGaussian(reservation, 0.0, "document", SecureStream(9), None)
    units = group_units(COUNTS, None)
    n_units = full_batch.count_units(units, gate)
    schedule = plan(n_units, math.inf, 30, 2)
    state, _ = full_batch.init(units, 2, 0.1, schedule, gate, n_units)
    for _ in range(schedule.n_rounds):
        state = full_batch.step(state, units, 0.1, gate)
    topics = state.word_topic.T
    np.testing.assert_allclose(model.components_, topics / topics.sum(1, keepdims=True), rtol=1e-15)
    assert model.release_.n_units_noisy == 400
    assert "No privacy" in model.release_.guarantee


def test_epsilon_inf_does_not_fit_a_finite_ledger():
    ledger = Ledger(4, 1e-5)
    with pytest.raises(BudgetExceeded):
        make(epsilon=math.inf, ledger=ledger).fit(COUNTS)


def test_a_large_epsilon_comes_close_to_the_twin():
    counts, _ = block_corpus(1500)
    twin = make(n_topics=4, epsilon=math.inf).fit(counts).release_.word_weight
    np.testing.assert_allclose(
        make(n_topics=4, epsilon=1e5).fit(counts).release_.word_weight, twin, atol=5e-4
    )


# ---- odd corpora


@pytest.mark.parametrize(
    "rows",
    [
        np.zeros((3, 6)),
        np.ones((1, 6)),
        np.eye(6),
        [[10_000_000, 0, 0, 0, 0, 0]],
        [[10_000_000] * 6, [0] * 6, [1, 0, 0, 0, 0, 0]],
        [[2**31 - 1] * 6] * 3,
        np.ones((4, 1)),
    ],
)
@pytest.mark.parametrize("how", [FULL, SAMPLED, {"epsilon": math.inf}, {"n_topics": 9}])
def test_odd_corpora_are_fitted(rows, how):
    counts = csr(rows)
    model = make(**how).fit(counts)
    assert np.isfinite(model.components_).all()
    np.testing.assert_allclose(model.components_.sum(1), 1)
    np.testing.assert_allclose(model.transform(counts).sum(1), 1)


def test_the_input_is_not_changed():
    X, persons = COUNTS.copy(), PERSONS.copy()
    X.data.flags.writeable = X.indices.flags.writeable = X.indptr.flags.writeable = False
    persons.flags.writeable = False
    make(privacy_unit="person").fit(X, persons=persons)
    assert (X != COUNTS).nnz == 0


def test_a_person_of_half_the_corpus_moves_the_topics_little():
    """Half of the documents come from one person, who writes about one word only."""
    base, _ = block_corpus(600, n_topics=2, words_a_topic=10)
    flood = np.zeros((600, 20), np.int32)
    flood[:, 19] = 40
    counts = csr(np.vstack([base.toarray(), flood]))
    persons = np.r_[np.arange(600), np.full(600, 10**6)]
    share = np.asarray(base.sum(0)).ravel()[19] / base.sum()

    def weight(unit, X, people):
        model = make(privacy_unit=unit, epsilon=20.0).fit(X, persons=people)
        return model.release_.word_weight[19]

    by_person = weight("person", counts, persons)
    by_document = weight("document", counts, None)
    without = weight("person", base, np.arange(600))
    assert abs(by_person - without) < 0.03
    assert by_document > without + 0.1
    assert share < 0.1


# ---- park2016


def test_park2016_is_their_run_by_todays_accounting():
    theirs = PrivateSVILDA.park2016()
    assert theirs.epsilon == pytest.approx(0.932, abs=5e-4)
    assert (theirs.n_topics, theirs.sampling_rate, theirs.n_rounds, theirs.delta) == (50, 0.05, 20, 1e-4)
    assert (theirs.contribution_bound, theirs.learning_offset, theirs.learning_decay) == (50, 1024, 0.7)
    assert theirs.doc_topic_prior == theirs.topic_word_prior == 1 / 50
    assert theirs.denoise == "zero"
    event, noise = theirs._plan()
    assert theirs.planned_event() == event
    assert noise == pytest.approx(1.24, abs=2e-3)
    assert event == events.composed(events.poisson_sampled(0.05, events.gaussian(noise)), 20)
    corrected = PrivateSVILDA.park2016(20, corrected=True, epsilon=2.0, random_state=3)
    assert (corrected.n_topics, corrected.learning_offset, corrected.epsilon) == (20, 1.0, 2.0)
    assert corrected.random_state == 3
    ledger = Ledger(1, 1e-4)
    model = PrivateSVILDA.park2016(2, ledger=ledger, random_state=0).fit(COUNTS)
    assert len(ledger.entries) == 1
    assert model.release_.configuration["algorithm"].startswith("DP-SVI")


def test_rounds_of_samples_default_to_one_pass():
    assert make(sampling_rate=0.1)._total_rounds() == 10
    assert make(sampling_rate=0.9)._total_rounds() == 1
    assert make(sampling_rate=0.1, n_rounds=3)._total_rounds() == 3


@BOTH
def test_progress_is_told(how):
    told = []
    make(callback=lambda *news: told.append(news), **how).fit(COUNTS)
    assert told[-1][1] == told[-1][2]
    assert {stage for stage, *_ in told} <= {"starting topics", "training rounds"}


def test_a_failure_while_training_leaves_the_estimator_as_it_was():
    def stop(stage, done, total):
        raise KeyboardInterrupt

    ledger = Ledger(9, 1e-5)
    model = make(ledger=ledger, callback=stop)
    with pytest.raises(KeyboardInterrupt):
        model.fit(COUNTS)
    assert not hasattr(model, "release_")
    assert set(vars(model)) == set(model.get_params())
    assert len(ledger.entries) == 1  # what was booked stays booked
