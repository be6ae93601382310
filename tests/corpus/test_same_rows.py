"""Frames and series say which row is whose; two that say otherwise are refused, before anything is booked."""

import numpy as np
import pandas as pd
import pytest

from discreet import (
    Corpus,
    Ledger,
    PrivateCountVectorizer,
    PrivateFit,
    PrivateLDA,
    TopicPrevalence,
    fit_topics,
)
from discreet.errors import CorpusError

WORDS = [f"w{i}" for i in range(12)]
N = 60


@pytest.fixture(scope="module")
def notes():
    rng = np.random.default_rng(0)
    counts = rng.poisson(0.5, (N, len(WORDS)))
    frame = pd.DataFrame(counts, columns=WORDS)
    return frame.assign(
        body=[" ".join(np.repeat(WORDS, row)) for row in counts],
        patient=np.r_[np.zeros(20, int), np.arange(1, N - 19)],
        ward=np.where(np.arange(N) % 2, "north", "south"),
    )


@pytest.fixture(scope="module")
def release(notes):
    return PrivateLDA(2, epsilon=np.inf, random_state=0, allow_unlearnable=True, n_rounds=2).fit(
        Corpus(notes[WORDS], WORDS, words_are_public=True)
    )


def calls(release, ledger):
    how = {"privacy_unit": "author", "ledger": ledger, "allow_unlearnable": True}
    release = release.release_
    shares = {"groups": ["north", "south"], "epsilon": 1.0, "delta": 1e-6, "ledger": ledger}
    return {
        "PrivateLDA": lambda f, s: PrivateLDA(2, epsilon=1, **how).fit(
            f[WORDS], owners=s["patient"], words_are_public=True
        ),
        "Corpus": lambda f, s: Corpus(f[WORDS], WORDS, s["patient"], words_are_public=True),
        "Corpus, labels": lambda f, s: Corpus(f[WORDS], WORDS, labels=s["ward"], words_are_public=True),
        "Corpus.from_texts": lambda f, s: Corpus.from_texts(f["body"], owners=s["patient"]),
        "PrivateCountVectorizer": lambda f, s: PrivateCountVectorizer(
            epsilon=1, privacy_unit="author", ledger=ledger
        ).fit(f["body"], owners=s["patient"]),
        "public words": lambda f, s: (
            PrivateCountVectorizer(epsilon=1, vocabulary=WORDS, words_are_public=True)
            .fit([])
            .transform(f["body"], owners=s["patient"])
        ),
        "fit_topics": lambda f, s: fit_topics(f["body"], epsilon=1, owners=s["patient"], n_topics=2, **how),
        "PrivateFit": lambda f, s: PrivateFit(
            release, epsilon=1.0, delta=1e-6, privacy_unit="author", ledger=ledger
        ).fit(f[WORDS], owners=s["patient"]),
        "TopicPrevalence": lambda f, s: TopicPrevalence(release, **shares).fit(f[WORDS], by=s["ward"]),
    }


@pytest.mark.parametrize(
    "name", calls(type("Fitted", (), {"release_": None}), None), ids=lambda name: name.replace(" ", "-")
)
def test_another_index_is_refused_before_anything_is_booked(notes, release, name):
    ledger = Ledger(8, 1e-5, privacy_unit="document" if name == "TopicPrevalence" else "author")
    call = calls(release, ledger)[name]
    shuffled = notes.sample(frac=1, random_state=1)
    for rows, beside in ((shuffled, notes), (notes, shuffled), (notes.iloc[:-1], notes)):
        with pytest.raises(CorpusError, match="another index than the documents"):
            call(rows, beside)
    assert not ledger.entries


def test_one_index_is_taken_as_it_is_and_arrays_by_their_order(notes):
    shuffled = notes.sample(frac=1, random_state=1)
    in_order = Corpus(notes[WORDS], WORDS, notes["patient"], words_are_public=True)
    for rows, owners in (
        (shuffled[WORDS], shuffled["patient"]),
        (shuffled[WORDS], shuffled["patient"].to_numpy()),
        (shuffled[WORDS].to_numpy(), shuffled["patient"]),
        (shuffled[WORDS], list(shuffled["patient"])),
    ):
        found = Corpus(rows, WORDS, owners, words_are_public=True)
        order = shuffled.index.to_numpy()
        np.testing.assert_array_equal(found.owners, in_order.owners[order])
        assert (found.counts != in_order.counts[order]).nnz == 0
