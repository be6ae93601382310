"""LocalLDA: recovery, what it refuses, what its release says, and the lines it must reach."""

import math
import warnings
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from tests.naive import local as naive

from discreet import LocalLDA, Release
from discreet.errors import CorpusError, ParameterError
from discreet.local import BitChannel, Moments
from discreet.local.local_lda import losses
from discreet.privacy import SecureStream


def channel(epsilon):
    p, q = naive.symmetric(epsilon)
    return SimpleNamespace(p=p, q=q)


def blocks(n, n_topics=3, size=15, seed=0):
    """Documents that each lie in one of several disjoint blocks of words."""
    rng = np.random.default_rng(seed)
    topic = rng.integers(n_topics, size=n)
    own = np.arange(n_topics * size) // size == topic[:, None]
    return (rng.random(own.shape) < np.where(own, 0.35, 0.01)).astype(np.uint8), topic


def reports(present, of, seed=1):
    return naive.randomise(present, of.p, of.q, seed)


@pytest.mark.parametrize("epsilon", [1.0, 4.0])
def test_blocks_are_recovered(epsilon):
    present, _ = blocks(20_000)
    of = channel(epsilon)
    model = LocalLDA(3, channel=of, random_state=0, allow_unlearnable=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        topics = model.fit(reports(present, of)).components_
    assert np.allclose(topics.sum(1), 1)
    mass = topics.reshape(3, 3, 15).sum(2)
    assert sorted(mass.argmax(1)) == [0, 1, 2]
    assert mass.max(1).min() > 0.85
    assert model.release_.topic_weight.sum() == pytest.approx(1)


def test_wrong_channel_is_noticed_by_the_topics():
    """The plausible mistake: debiasing with another q. Then what the model thinks of frequencies is off."""
    present, _ = blocks(20_000)
    of = channel(2.0)
    noisy = reports(present, of)
    right = LocalLDA(2, channel=of, random_state=0).fit(noisy).unigram_
    wrong = LocalLDA(2, channel=SimpleNamespace(p=of.p, q=of.q * 0.8), random_state=0).fit(noisy).unigram_
    truth = present.mean(0)
    assert np.abs(right - truth).max() < 0.02
    assert np.abs(wrong - truth).max() > 0.02


def test_same_seed_same_bytes_for_any_number_of_threads():
    present, _ = blocks(5000)
    of = channel(4.0)
    noisy = reports(present, of)
    made = [
        LocalLDA(2, channel=of, refine=refine, random_state=3, n_jobs=jobs).fit(noisy).release_
        for refine in (False, True)
        for jobs in (1, 3)
    ]
    assert made[0] == made[1]
    assert made[2] == made[3]
    assert made[0] != made[2]
    assert LocalLDA(2, channel=of, refine=False, random_state=4).fit(noisy).release_ != made[0]


def test_all_forms_of_reports_and_moments_give_the_same():
    present, _ = blocks(4000)
    of = channel(2.0)
    noisy = reports(present, of)
    words = [f"word_{i}" for i in range(45)]
    model = LocalLDA(2, channel=of, random_state=0)
    expected = model.fit(noisy).release_
    packed = np.packbits(noisy, axis=1, bitorder="little")
    assert clone(model).fit(packed, vocabulary=words, packed=True).release_ == expected
    assert clone(model).fit(sp.csr_matrix(noisy)).release_ == expected
    assert model.fit_moments(Moments(45, channel=of).add_batch(noisy)).release_ == expected


def test_release_names_the_report_and_all_losses(tmp_path):
    present, _ = blocks(5000)
    of = channel(1.5)
    model = LocalLDA(2, channel=of, random_state=0).fit(reports(present, of))
    promise = model.release_.promise
    assert (promise.privacy_unit, promise.neighboring) == ("report", "replace_one")
    assert promise.epsilon == pytest.approx(45 * 1.5)
    settings = model.release_.configuration
    assert settings["epsilon_one_word_added_or_removed"] == pytest.approx(1.5)
    assert settings["epsilon_one_word_replaced"] == pytest.approx(3.0)
    assert settings["n_reports"] == 5000
    assert settings["learnable"] == model.learnable_
    assert np.array_equal(model.topic_word_, model.components_)
    assert model.release_.determinism == "secure"
    model.release_.save(tmp_path / "topics")
    assert Release.load(tmp_path / "topics") == model.release_
    assert "epsilon_one_word_replaced" in model.release_.card()
    simulated = model.fit(reports(present, of), simulated=True).release_
    assert simulated.reproducible
    assert "not for release" in simulated.guarantee


def test_an_exact_number_of_reports_is_not_called_noisy():
    present, _ = blocks(5000)
    of = channel(1.5)
    release = LocalLDA(2, channel=of, random_state=0).fit(reports(present, of)).release_
    assert release.n_units_noisy is None
    row = (
        "| number of reports | 5,000: exact, known to whoever collected them, and not hidden by the promise |"
    )
    assert row in release.card()
    page = release.to_html()
    assert "Number of reports 5,000: exact" in page
    for text in (release.card(), page):
        assert "noisy number" not in text


def test_losses_are_never_below_the_true_ones_and_know_the_limit():
    for epsilon in (0.1, 1.0, 3.3, 8.0):
        found = losses(channel(epsilon), 1000)
        assert found.word_added_or_removed >= epsilon * (1 - 1e-12)
        assert found.word_replaced == pytest.approx(2 * epsilon)
        assert found.whole_report == pytest.approx(1000 * epsilon)
    limited = SimpleNamespace(p=0.7, q=0.2, limit=3)
    found = losses(limited, 1000)
    assert found.document == pytest.approx(3 * found.word_replaced)
    assert found.document_words == 3
    assert found.word_added_or_removed == pytest.approx(math.log((1 + 3 * 0.7 * 0.8 / 0.2 / 0.3) / 4))
    assert losses(limited, 3).word_added_or_removed == pytest.approx(math.log(0.7 / 0.2))  # no text is longer
    assert losses(limited, 2).document == pytest.approx(2 * math.log(0.7 / 0.2))
    exact = losses(SimpleNamespace(p=1.0, q=0.0), 5)
    assert math.isinf(exact.whole_report)


def test_a_release_of_limited_reports_tells_what_an_added_word_loses():
    present, _ = blocks(5000)
    of = BitChannel.for_document(60.0, 8, 45)
    told = LocalLDA(2, channel=of, random_state=0).fit(of.reports(present, SecureStream(0))).release_
    limit, each_way = 8, float(of.p / of.q * (1 - of.q) / (1 - of.p))
    expected = math.log((1 + limit * each_way) / (limit + 1))
    assert told.configuration["epsilon_one_word_added_or_removed"] == pytest.approx(expected)
    assert told.configuration["epsilon_whole_report_replaced"] == pytest.approx(60.0, rel=1e-6)


def test_exact_bits_are_the_twin_without_privacy():
    present, _ = blocks(3000)
    model = LocalLDA(2, channel=SimpleNamespace(p=1.0, q=0.0), refine=False, random_state=0).fit(present)
    assert math.isinf(model.release_.promise.epsilon)


def test_reports_without_structure_are_refused_and_too_many_topics_warned_of():
    of = channel(1.0)
    alone = (np.random.default_rng(0).random((3000, 40)) < 0.1).astype(np.uint8)
    noisy = reports(alone, of)
    with pytest.raises(ParameterError, match=r"nothing to learn.*allow_unlearnable=True"):
        LocalLDA(5, channel=of).fit(noisy)
    with pytest.warns(UserWarning, match="5 topics were asked for"):
        LocalLDA(5, channel=of, allow_unlearnable=True, random_state=0).fit(noisy)
    seen = []
    present, _ = blocks(20_000)
    LocalLDA(2, channel=of, random_state=0, callback=lambda *what: seen.append(what)).fit(
        reports(present, of)
    )
    assert seen[0] == ("learnable topics", 2, 2)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"n_topics": 0}, "n_topics"),
        ({"n_topics": 2.5}, "n_topics"),
        ({"refine": "yes"}, "refine"),
        ({"channel": SimpleNamespace(p=0.2, q=0.8)}, "0 <= q < p <= 1"),
        ({"channel": SimpleNamespace(p=0.5, q=0.5)}, "a flip f strictly between 0 and 1"),
        ({"channel": 3}, "numbers p and q"),
        ({"n_jobs": 0}, "n_jobs"),
    ],
)
def test_parameters_out_of_range_are_refused(changes, words):
    with pytest.raises(ParameterError, match=words):
        LocalLDA(**{"n_topics": 2, "channel": channel(1.0)} | changes).fit(np.eye(4))


def test_all_faults_are_told_at_once():
    with pytest.raises(ParameterError, match=r"(?s)n_topics.*channel.*refine"):
        LocalLDA(0, channel=None, refine="x").fit(np.eye(4))


def test_bad_reports_are_refused():
    model = LocalLDA(2, channel=channel(1.0))
    with pytest.raises(CorpusError, match="zeros and ones"):
        model.fit(np.full((3, 4), 2))
    with pytest.raises(CorpusError, match="vocabulary has 3 words"):
        model.fit(np.eye(4), vocabulary=["a", "b", "c"])
    with pytest.raises(CorpusError, match="distinct"):
        model.fit(np.eye(2), vocabulary=["a", "a"])
    with pytest.raises(CorpusError, match="pass vocabulary"):
        model.fit(np.zeros((2, 2), np.uint8), packed=True)
    with pytest.raises(CorpusError, match="no report"):
        model.fit(np.zeros((0, 4)))
    with pytest.raises(ParameterError, match="all words kept"):
        model.fit_moments(Moments(4).add_batch(np.eye(4)))
    with pytest.raises(ParameterError, match="no reports to look at"):
        LocalLDA(2, channel=channel(1.0), refine=True).fit_moments(Moments(4))


def test_transform_of_texts_and_of_reports():
    present, _ = blocks(20_000)
    of = channel(3.0)
    with pytest.warns(UserWarning, match="3 topics"):
        model = LocalLDA(3, channel=of, refine=False, random_state=0).fit(reports(present, of))
    fresh, own = blocks(500, seed=9)
    fresh, own = fresh[fresh.sum(1) > 3], own[fresh.sum(1) > 3]
    truth = model.transform(fresh)
    assert np.allclose(truth.sum(1), 1)
    block_of = model.components_.reshape(3, 3, 15).sum(2).argmax(1)
    assert (block_of[truth.argmax(1)] == own).mean() > 0.98
    noisy = reports(fresh, of)
    found = model.transform_reports(noisy)
    assert np.allclose(found.sum(1), 1)
    right = (block_of[found.argmax(1)] == own).mean()
    assert right > 0.9
    packed = np.packbits(noisy, axis=1, bitorder="little")
    assert np.array_equal(model.transform_reports(packed, packed=True), found)


def test_sklearn_ways():
    of = channel(2.0)
    model = LocalLDA(2, channel=of, random_state=0)
    assert clone(model).get_params() == model.get_params()
    assert "channel" in repr(model)
    from sklearn.exceptions import NotFittedError

    with pytest.raises(NotFittedError):
        model.transform(np.eye(3))
    present, _ = blocks(5000)
    noisy = reports(present, of)
    before = noisy.copy()
    assert model.fit(noisy) is model
    assert np.array_equal(noisy, before)
    assert model.n_features_in_ == 45


def test_the_planned_event_is_what_the_release_states():
    from discreet.privacy.accounting.totals import composed_epsilon

    for channel, known in ((BitChannel.symmetric(2.0), None), (BitChannel.for_document(8.0, 5, 30), 5)):
        model = LocalLDA(2, channel=channel, allow_unlearnable=True, refine=False, random_state=0)
        with pytest.warns(UserWarning, match="lets only 0 through"):
            stated = model.fit(np.eye(30, dtype=np.uint8)).release_.ledger
        planned = composed_epsilon([model.planned_event(30)], stated.delta, neighboring="replace_one")
        assert planned.epsilon == pytest.approx(stated.spent().epsilon, rel=1e-12)
        if known is None:
            with pytest.raises(ParameterError, match="n_words"):
                model.planned_event()
        else:
            assert model.planned_event() == model.planned_event(30)


def test_all_faults_of_a_plan_are_told_at_once():
    with pytest.raises(ParameterError) as found:
        LocalLDA(0, channel=BitChannel.symmetric(1.0), refine="x").planned_event(0)
    assert found.value.parameters == ("n_topics", "refine", "n_words")
