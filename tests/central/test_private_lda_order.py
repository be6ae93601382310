"""Seeded runs give the same bytes for any order, sharding and number of threads; who is the person of what."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from tests.marks import quick
from tests.naive.central_checks import block_corpus, csr
from tests.naive.private_lda import make

from discreet import PrivateLDA
from discreet.errors import CorpusError

COUNTS, _ = block_corpus(400, seed=3)
PERSONS = np.random.default_rng(1).integers(0, 150, 400)
KINDS = {
    "full batch": {},
    "no privacy": {"epsilon": np.inf},
}


def bytes_of(counts, persons, n_jobs=None, **changes):
    unit = "document" if persons is None else "person"
    settings = {"n_topics": 4, "epsilon": 3.0, "delta": 1e-6, "random_state": 5, **changes}
    release = make(privacy_unit=unit, n_jobs=n_jobs, **settings).fit(counts, persons=persons).release_
    parts = (release.topic_word, release.topic_weight, release.word_weight, release.topic_word_noise)
    return [part.tobytes() for part in parts] + [release.n_units_noisy]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("owned", quick([False, True], True))
def test_same_bytes_for_any_order_sharding_and_threads(kind, owned):
    persons = PERSONS if owned else None
    reference = bytes_of(COUNTS, persons, **KINDS[kind])
    assert bytes_of(COUNTS, persons, 2, **KINDS[kind]) == reference
    assert bytes_of(COUNTS, persons, 4, **KINDS[kind]) == reference
    rng = np.random.default_rng(2)
    for _ in range(2):
        order = rng.permutation(400)
        assert bytes_of(COUNTS[order], persons[order] if owned else None, 2, **KINDS[kind]) == reference
    shards = np.array_split(np.arange(400), 7)
    shuffled = [shards[i] for i in rng.permutation(7)]
    together = sp.vstack([COUNTS[shard] for shard in shuffled])
    assert (
        bytes_of(together, persons[np.concatenate(shuffled)] if owned else None, **KINDS[kind]) == reference
    )
    if owned:  # what a person is called does not matter
        assert (
            bytes_of(COUNTS, np.array([f"person {7919 * person % 151}" for person in persons]), **KINDS[kind])
            == reference
        )
    assert (
        bytes_of(COUNTS, persons, **{**KINDS[kind], "random_state": 6}) != reference or "no privacy" in kind
    )


@pytest.mark.parametrize("epsilon", [3.0, np.inf])
@pytest.mark.parametrize("owned", [False, True])
def test_sampled_rounds_give_the_same_bytes_for_any_threads(owned, epsilon):
    """Their coins go by the number of a unit, so that the order of documents counts, or of people."""
    persons = PERSONS if owned else None
    how = {"sampling_rate": 0.3, "n_rounds": 4, "epsilon": epsilon}
    reference = bytes_of(COUNTS, persons, **how)
    assert bytes_of(COUNTS, persons, 2, **how) == bytes_of(COUNTS, persons, 4, **how) == reference
    order = np.random.default_rng(2).permutation(400)
    turned = bytes_of(COUNTS[order], persons[order] if owned else None, **how)
    assert (turned == reference) == owned  # documents of a person are put in order
    assert bytes_of(COUNTS, persons, **{**how, "random_state": 6}) != reference


@pytest.mark.parametrize("kind", [list, lambda persons: np.array(persons, dtype=object), pd.Series])
@pytest.mark.parametrize("nobody", [None, float("nan"), "", pd.NA, pd.NaT])
def test_documents_of_nobody_are_refused(nobody, kind):
    persons = kind(["a", nobody, "b", nobody])
    with pytest.raises(CorpusError, match=r"row 2, 4 .counted from 1. have (nothing|empty text)"):
        PrivateLDA(2, privacy_unit="person", allow_unlearnable=True).fit(
            np.ones((4, 3), int), persons=persons
        )


def test_equal_names_are_one_person():
    counts = np.random.default_rng(0).integers(0, 4, (6, 5))
    whole = np.array([3, 1, 3, 2, 1, 1])
    reference = bytes_of(csr(counts), whole)
    for persons in (whole.astype(float), whole.astype(str), [3, 1.0, "3", 2, "1", 1], whole.astype(np.uint8)):
        assert bytes_of(csr(counts), persons) == reference
    assert bytes_of(csr(counts), np.array([3, 1, 3, 2, 1, 4])) != reference
