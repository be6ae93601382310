"""Shadow models: the halves, the order of work, and what is found again after a stop."""

import numpy as np
import pytest

from discreet.audit.shadows import draw_halves, train_statistics
from discreet.errors import ParameterError
from discreet.lda._fold_in import query_statistic

SEEDS = [5, 6, 7, 8]


def corpus(n=20, words=12):
    return np.random.default_rng(0).poisson(1.0, (n, words)) + np.eye(n, words, dtype=int)


def mean(counts, seed):
    """Give one topic, and a second that depends on the seed."""
    words = np.asarray(counts.sum(axis=0)).ravel()
    return np.array([words, words + np.random.default_rng(seed).random(len(words))])


def run(n_jobs=None, train=mean, counts=None, seeds=SEEDS, **more):
    counts = corpus() if counts is None else counts
    halves = draw_halves(len(counts), 4, np.random.default_rng(3))
    return train_statistics(train, counts, halves, seeds, n_jobs=n_jobs, **more)


@pytest.mark.parametrize(("n", "shadows"), [(20, 4), (21, 8), (2, 6)])
def test_each_document_is_in_half_of_the_models(n, shadows):
    members = draw_halves(n, shadows, np.random.default_rng(1))
    assert (members.sum(axis=0) == shadows // 2).all()
    assert set(members.sum(axis=1)) <= {n // 2, n - n // 2}
    np.testing.assert_array_equal(members[1::2], ~members[::2])
    together = draw_halves(1000, 4, np.random.default_rng(2))
    assert 150 < (together[0] & together[2]).sum() < 350


@pytest.mark.parametrize(("n", "shadows"), [(20, 2), (20, 5), (1, 4)])
def test_halves_refuse(n, shadows):
    with pytest.raises(ParameterError):
        draw_halves(n, shadows, np.random.default_rng(1))


def test_statistics_are_of_all_documents_and_in_order():
    counts = corpus()
    members = draw_halves(20, 4, np.random.default_rng(3))
    got = run()
    for row, seed, inside in zip(got, SEEDS, members, strict=True):
        np.testing.assert_allclose(row, query_statistic(mean(counts[inside], seed), counts), rtol=1e-6)
    np.testing.assert_array_equal(got, run(n_jobs=3))


def test_a_word_no_topic_has_stays_finite():
    assert np.isfinite(run(train=lambda c, s: np.eye(1, 12))).all()


def test_progress_counts_all_models():
    told = []
    run(n_jobs=2, callback=lambda *step: told.append(step))
    assert told == [("shadows", done, 4) for done in range(5)]


@pytest.mark.parametrize(
    "topics", [np.ones(12), np.ones((2, 5)), -np.ones((1, 12)), np.full((1, 12), np.nan)]
)
def test_what_is_no_model_is_refused(topics):
    with pytest.raises(ParameterError, match="train must return"):
        run(train=lambda c, s: topics)
