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


def test_a_folder_is_taken_up_where_it_stopped(tmp_path):
    seen = []

    def counted(counts, seed):
        seen.append(seed)
        if len(seen) == 3:
            raise KeyboardInterrupt
        return mean(counts, seed)

    keep = {"folder": tmp_path / "kept", "settings": "mean"}
    with pytest.raises(KeyboardInterrupt):
        run(train=counted, **keep)
    assert len(list((tmp_path / "kept").iterdir())) == 2
    assert (tmp_path / "kept").stat().st_mode & 0o077 == 0
    assert all(file.stat().st_mode & 0o077 == 0 for file in (tmp_path / "kept").iterdir())
    np.testing.assert_array_equal(run(train=counted, **keep), run())
    assert seen == [5, 6, 7, 7, 8]
    np.testing.assert_array_equal(run(train=counted, n_jobs=2, **keep), run())
    assert len(seen) == 5


def test_a_folder_tells_things_apart_and_mends(tmp_path):
    keep = {"folder": tmp_path, "settings": "mean"}
    run(**keep)
    run(train=lambda c, s: mean(c, s) + 1, folder=tmp_path, settings="mean + 1")
    run(counts=corpus() + 1, **keep)
    run(seeds=[9, 10, 11, 12], **keep)
    files = sorted(tmp_path.iterdir())
    assert len(files) == 16
    for file in files:
        file.write_bytes(file.read_bytes()[:50])
    np.testing.assert_array_equal(run(**keep), run())
    with pytest.raises(ParameterError, match="settings"):
        run(folder=tmp_path)


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
