"""Streams of reports: streamed equals batch, deletions, refusals."""

import gc
import sys
import tracemalloc
import warnings
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn import config_context
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from tests.local.test_local_lda import blocks, channel, reports

from discreet import LocalLDA, StreamingLocalLDA
from discreet.errors import CorpusError, ParameterError
from discreet.local import local_lda


@pytest.fixture(scope="module")
def stream():
    present, _ = blocks(8000)
    of = channel(2.0)
    return present, reports(present, of), of


def test_streamed_equals_batch_to_the_byte(stream):
    _, noisy, of = stream
    whole = LocalLDA(2, channel=of, refine=False, random_state=1).fit(noisy)
    model = StreamingLocalLDA(2, channel=of, random_state=1)
    for start in range(0, len(noisy), 900):
        model.partial_fit(noisy[start : start + 900])
    assert np.array_equal(model.components_, whole.components_)
    assert model.n_reports_ == len(noisy)
    assert model.release_.promise == whole.release_.promise
    assert model.release_ is model.release_  # made once
    other_order = StreamingLocalLDA(2, channel=of, random_state=1).partial_fit(noisy[::-1])
    assert np.array_equal(other_order.components_, whole.components_)


def test_a_batch_taken_away_was_never_there(stream):
    _, noisy, of = stream
    model = StreamingLocalLDA(2, channel=of, random_state=1)
    model.partial_fit(noisy[:5000]).partial_fit(noisy[5000:])
    with_all = model.components_
    model.delete_batch(noisy[:1000])
    without = StreamingLocalLDA(2, channel=of, random_state=1).partial_fit(noisy[1000:])
    assert model.moments_ == without.moments_
    assert np.array_equal(model.components_, without.components_)
    assert not np.array_equal(model.components_, with_all)
    with pytest.raises(CorpusError, match="not part of these"):
        model.delete_batch(np.ones((6000, 45)))


def test_public_documents_help_and_cost_nothing(stream):
    present, noisy, of = stream
    few = noisy[:400]
    alone = StreamingLocalLDA(3, channel=of, random_state=0, allow_unlearnable=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        alone.partial_fit(few)
        helped = StreamingLocalLDA(3, channel=of, public=present[400:1400], random_state=0).partial_fit(few)

        def purity(model):
            return model.components_.reshape(3, 3, 15).sum(2).max(1).mean()

        assert purity(helped) > purity(alone) + 0.05
    assert helped.release_.promise == alone.release_.promise
    assert helped.release_.configuration["public_documents"] == 1000


def test_when_all_reports_are_taken_back_nothing_of_them_is_left(stream):
    """Before: an error after they were gone, and the topics of what was gone."""
    _, noisy, of = stream
    model = StreamingLocalLDA(2, channel=of, random_state=1).partial_fit(noisy)
    known = model.release_
    model.delete_batch(noisy)
    assert model.n_reports_ == 0
    with pytest.raises(ParameterError, match="there is no report"):
        _ = model.release_
    with pytest.raises(CorpusError, match="not part of these moments"):
        model.delete_batch(noisy[:1])
    assert model.partial_fit(noisy).release_ == known


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"refit": "a"}, "refit"),
        ({"channel": SimpleNamespace(p=0.4, q=0.4)}, "a flip f strictly between 0 and 1"),
        ({"channel": SimpleNamespace(p=1.3, q=-0.3)}, "0 <= q < p <= 1"),
    ],
)
def test_parameters_out_of_range_are_refused(changes, words):
    model = StreamingLocalLDA(**{"n_topics": 2, "channel": channel(1.0)} | changes)
    with pytest.raises(ParameterError, match=words):
        model.partial_fit(np.eye(4))
    assert not hasattr(model, "n_features_in_")


def test_batches_must_have_the_same_words(stream):
    _, noisy, of = stream
    model = StreamingLocalLDA(2, channel=of, random_state=0).partial_fit(noisy)
    with pytest.raises(CorpusError, match="they must agree"):
        model.partial_fit(noisy[:, :10])
    with pytest.raises(CorpusError, match="other words"):
        model.partial_fit(noisy, vocabulary=[f"w{i}" for i in range(45)])
    assert model.n_reports_ == len(noisy)
    packed = np.packbits(noisy, axis=1, bitorder="little")
    model.partial_fit(packed, packed=True)
    assert model.n_reports_ == 2 * len(noisy)
    model.fit(noisy)
    assert model.n_reports_ == len(noisy)


def test_too_few_reports_are_refused_when_topics_are_asked_for():
    of = channel(1.0)
    alone = (np.random.default_rng(0).random((500, 40)) < 0.1).astype(np.uint8)
    noisy = reports(alone, of)
    model = StreamingLocalLDA(3, channel=of).partial_fit(
        noisy, simulated=True
    )  # a stream may yet become long
    for look in (lambda: model.components_, lambda: model.release_, model.update):
        with pytest.raises(ParameterError, match="nothing to learn"):
            look()
    with pytest.raises(ParameterError, match="nothing to learn"):
        StreamingLocalLDA(3, channel=of).fit(noisy)
    assert model.n_reports_ == 500
    model.set_params(allow_unlearnable=True)
    with pytest.warns(UserWarning, match="3 topics") as told:
        model.update()
    assert told[0].filename == __file__
    assert model.release_.reproducible


def test_looking_at_topics_trains_nothing(stream, monkeypatch):
    _, noisy, of = stream
    model = StreamingLocalLDA(2, channel=of, random_state=1).partial_fit(noisy[:4000])

    def never(*_, **__):
        raise AssertionError("trained on a look")

    with monkeypatch.context() as patched:
        patched.setattr(local_lda, "learn_topics", never)
        first = model.release_
        assert model.release_ is first
        assert np.array_equal(model.topic_word_, first.topic_word)
        assert model.unigram_.shape == (45,)
        model.transform(noisy[:3])
    assert first.configuration["n_reports"] == 4000
    assert model.partial_fit(noisy[4000:]).release_ is not first


def test_without_refit_topics_wait_for_update(stream, monkeypatch):
    _, noisy, of = stream
    model, fits = StreamingLocalLDA(2, channel=of, random_state=1, refit=False), []
    learn = local_lda.learn_topics
    monkeypatch.setattr(local_lda, "learn_topics", lambda *a, **k: fits.append(1) or learn(*a, **k))
    for start in range(0, len(noisy), 500):
        model.partial_fit(noisy[start : start + 500])
        with pytest.raises(NotFittedError, match=r"call update\(\)"):
            _ = model.release_
    assert not fits
    eager = StreamingLocalLDA(2, channel=of, random_state=1).partial_fit(noisy)
    assert np.array_equal(model.update().topic_word_, eager.topic_word_)
    served = model.release_
    model.partial_fit(noisy[:500])
    assert model.release_ is served  # as it was served, until update
    assert (model.n_reports_, served.configuration["n_reports"]) == (8500, 8000)
    model.delete_batch(noisy[:500])
    assert model.update().release_ == served


def test_fit_forgets_its_own_state_and_nothing_of_scikit_learn(stream):
    _, noisy, of = stream
    model = StreamingLocalLDA(2, channel=of, random_state=1)
    model.set_output(transform="pandas")
    with config_context(enable_metadata_routing=True):
        model.set_fit_request(packed=True)
    model.fit(noisy[:4000]).fit(noisy)
    assert list(model.transform(noisy[:3]).columns) == ["streaminglocallda0", "streaminglocallda1"]
    routed = model.get_metadata_routing()
    assert routed.fit.requests["packed"] is True
    assert {"vocabulary", "packed", "simulated"} <= set(routed.partial_fit.requests) & set(
        routed.fit.requests
    )
    assert np.array_equal(
        model.topic_word_, StreamingLocalLDA(2, channel=of, random_state=1).fit(noisy).topic_word_
    )
    words = [f"w{i}" for i in range(45)]
    piped = make_pipeline(StreamingLocalLDA(2, channel=of, random_state=1)).set_output(transform="pandas")
    assert piped.fit_transform(noisy, streaminglocallda__vocabulary=words).shape == (8000, 2)
    assert piped[-1].release_.vocabulary == tuple(words)


@pytest.mark.slow
def test_memory_stays_bounded_over_a_million_reports():
    of = channel(2.0)
    batch = np.packbits(reports(blocks(10_000)[0], of), axis=1, bitorder="little")
    words = [f"word_{i}" for i in range(45)]
    model = StreamingLocalLDA(2, channel=of, random_state=0)
    model.partial_fit(batch, packed=True, vocabulary=words)
    forget_looked_up_names = getattr(sys, "_clear_internal_caches", sys._clear_type_cache)
    tracemalloc.start()
    peaks = []
    for _ in range(100):
        model.partial_fit(batch, packed=True)
        gc.collect()
        forget_looked_up_names()  # up to 4,096 of them, which Python keeps for itself
        peaks.append(tracemalloc.get_traced_memory()[1])
    tracemalloc.stop()
    assert model.n_reports_ == 1_010_000
    assert peaks[-1] < peaks[0] * 1.05
