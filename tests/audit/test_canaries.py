"""Canaries: rare or one-worded, apart from each other, drawn by seed alone."""

import numpy as np
import pytest
import scipy.sparse as sp

from discreet.audit.canary_run import make_canaries
from discreet.errors import ParameterError


@pytest.fixture(scope="module")
def counts():
    """Four hundred words: document frequency falls with the number of the word."""
    rng = np.random.default_rng(0)
    return sp.csr_matrix(rng.random((200, 400)) < 0.5 / (1 + np.arange(400) / 20)).astype(np.int64)


def test_rare_canaries_are_of_the_rarest_words_and_share_none(counts):
    canaries = make_canaries(counts, 20, "rare", length=16, random_state=1)
    assert canaries.shape == (20, 400)
    assert (canaries.sum(axis=1) == 16).all()
    assert (np.diff(canaries.indptr) == 8).all()
    assert (canaries > 0).sum(axis=0).max() == 1
    holders = np.asarray((counts > 0).sum(axis=0)).ravel()
    assert holders[canaries.indices].max() <= np.sort(holders)[2 * 20 * 8 - 1]
    assert holders[canaries.indices].mean() < holders.mean() / 1.5


def test_one_topic_canaries_have_one_word_each_and_their_own(counts):
    canaries = make_canaries(counts, 400, "one_topic", length=9, random_state=1)
    assert (np.diff(canaries.indptr) == 1).all()
    assert (canaries.data == 9).all()
    assert len(set(canaries.indices.tolist())) == 400


def test_words_are_shared_only_when_they_run_out(counts):
    crowded = make_canaries(counts, 120, "rare", length=8, random_state=0)
    shared = np.asarray((crowded > 0).sum(axis=0)).ravel()
    assert shared.max() <= 3 + 1
    assert shared.min() >= 2 - 1
    assert (crowded.sum(axis=1) == 8).all()


def test_length_is_that_of_the_corpus_and_uneven_lengths_are_kept(counts):
    by_default = make_canaries(counts, 5, random_state=0)
    assert by_default.sum() == 5 * max(8, round(counts.sum() / 200))
    assert make_canaries(counts, 5, length=11, random_state=0).sum(axis=1).tolist() == [[11]] * 5
    assert np.diff(make_canaries(counts, 5, length=3, random_state=0).indptr).tolist() == [3] * 5


def test_the_seed_decides(counts):
    one, same, other = (make_canaries(counts, 20, random_state=seed).toarray() for seed in (1, 1, 2))
    assert (one == same).all()
    assert (one != other).any()


@pytest.mark.parametrize(
    "wrong",
    [
        {"kind": "common"},
        {"n_canaries": 0},
        {"length": 0},
        {"n_canaries": 401, "kind": "one_topic"},
    ],
    ids=str,
)
def test_refusals(counts, wrong):
    with pytest.raises(ParameterError):
        make_canaries(counts, **{"n_canaries": 3, **wrong})
