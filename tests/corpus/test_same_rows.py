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
from discreet.central.choose_n_topics import choose_n_topics_privately
from discreet.errors import CorpusError, ParameterError, PrivacyError

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
    how = {"privacy_unit": "person", "ledger": ledger, "allow_unlearnable": True}
    release = release.release_
    shares = {"groups": ["north", "south"], "epsilon": 1.0, "delta": 1e-6, "ledger": ledger}
    return {
        "PrivateLDA": lambda f, s: PrivateLDA(2, epsilon=1, **how).fit(
            f[WORDS], persons=s["patient"], words_are_public=True
        ),
        "Corpus": lambda f, s: Corpus(f[WORDS], WORDS, s["patient"], words_are_public=True),
        "Corpus, labels": lambda f, s: Corpus(f[WORDS], WORDS, labels=s["ward"], words_are_public=True),
        "Corpus.from_texts": lambda f, s: Corpus.from_texts(f["body"], persons=s["patient"]),
        "PrivateCountVectorizer": lambda f, s: PrivateCountVectorizer(
            epsilon=1, privacy_unit="person", ledger=ledger
        ).fit(f["body"], persons=s["patient"]),
        "public words": lambda f, s: (
            PrivateCountVectorizer(epsilon=1, vocabulary=WORDS, words_are_public=True)
            .fit([])
            .transform(f["body"], persons=s["patient"])
        ),
        "fit_topics": lambda f, s: fit_topics(f["body"], epsilon=1, persons=s["patient"], n_topics=2, **how),
        "PrivateFit": lambda f, s: PrivateFit(
            release, epsilon=1.0, delta=1e-6, privacy_unit="person", ledger=ledger
        ).fit(f[WORDS], persons=s["patient"]),
        "TopicPrevalence": lambda f, s: TopicPrevalence(release, **shares).fit(f[WORDS], by=s["ward"]),
    }


@pytest.mark.parametrize(
    "name", calls(type("Fitted", (), {"release_": None}), None), ids=lambda name: name.replace(" ", "-")
)
def test_another_index_is_refused_before_anything_is_booked(notes, release, name):
    ledger = Ledger(8, 1e-5, privacy_unit="document" if name == "TopicPrevalence" else "person")
    call = calls(release, ledger)[name]
    shuffled = notes.sample(frac=1, random_state=1)
    for rows, beside in ((shuffled, notes), (notes, shuffled), (notes.iloc[:-1], notes)):
        with pytest.raises(CorpusError, match="another index than the documents"):
            call(rows, beside)
    assert not ledger.entries


def test_one_index_is_taken_as_it_is_and_arrays_by_their_order(notes):
    shuffled = notes.sample(frac=1, random_state=1)
    in_order = Corpus(notes[WORDS], WORDS, notes["patient"], words_are_public=True)
    for rows, persons in (
        (shuffled[WORDS], shuffled["patient"]),
        (shuffled[WORDS], shuffled["patient"].to_numpy()),
        (shuffled[WORDS].to_numpy(), shuffled["patient"]),
        (shuffled[WORDS], list(shuffled["patient"])),
    ):
        found = Corpus(rows, WORDS, persons, words_are_public=True)
        order = shuffled.index.to_numpy()
        np.testing.assert_array_equal(found.persons, in_order.persons[order])
        assert (found.counts != in_order.counts[order]).nnz == 0


# ---- what counts know of their rows


def counted(rows, **how):
    words = PrivateCountVectorizer(epsilon=1, vocabulary=WORDS, words_are_public=True, privacy_unit="person")
    return words.fit_transform(rows["body"], **how)


def fits(release, ledger):
    how = {"privacy_unit": "person", "ledger": ledger, "epsilon": 1.0, "delta": 1e-6}
    return {
        "PrivateLDA": lambda X, **o: PrivateLDA(2, allow_unlearnable=True, **how).fit(X, **o),
        "PrivateFit": lambda X, **o: PrivateFit(release, **how).fit(X, **o),
        "TopicPrevalence": lambda X, **o: TopicPrevalence(release, ["a"], **how).fit(X, ["a"] * N, **o),
        "choose_n_topics": lambda X, **o: choose_n_topics_privately(
            X, [1, 2], allow_unlearnable=True, **how, **o
        ),
        "vectorizer": lambda X, **o: PrivateCountVectorizer(**how).fit(Corpus(X, WORDS, X.persons), **o),
        "fit_topics": lambda X, **o: fit_topics(
            Corpus(X, WORDS, X.persons, words_are_public=True), n_topics=2, allow_unlearnable=True, **how, **o
        ),
    }


@pytest.mark.parametrize("name", fits(None, None))
def test_persons_beside_counts_that_know_theirs_are_refused_before_anything_is_booked(notes, release, name):
    """Counts of shuffled texts, and the people in the order of the frame: one person moved a sum by 79."""
    shuffled = notes.sample(frac=1, random_state=1)
    X, ledger = counted(shuffled, persons=shuffled["patient"]), Ledger(9, 1e-5, privacy_unit="person")
    fit = fits(release.release_, ledger)[name]
    mine = shuffled["patient"].to_numpy()
    wrong = [
        mine,
        mine[1:],
        notes["patient"].to_numpy(),
        list(notes["patient"]),
        mine // 2,
        np.arange(N),
        np.zeros(N),
        iter(mine),
    ]
    for persons in wrong:
        with pytest.raises((PrivacyError, ParameterError), match="knows whose its documents are"):
            fit(X, persons=persons)
    assert not ledger.entries


def test_a_corpus_takes_no_persons_beside_those_of_its_counts(notes):
    shuffled = notes.sample(frac=1, random_state=1)
    X = counted(shuffled, persons=shuffled["patient"])
    with pytest.raises(PrivacyError, match=r"knows whose its documents are.*without_persons"):
        Corpus(X, WORDS, notes["patient"].to_numpy())
    assert Corpus(X.without_persons(), WORDS, shuffled["patient"]).n_units == len(np.unique(X.persons))


def test_counts_carry_the_index_of_the_texts(notes, release):
    shuffled = notes.sample(frac=1, random_state=1)
    X = counted(shuffled)
    assert X.index.equals(shuffled.index)
    how = {"privacy_unit": "person", "allow_unlearnable": True}
    ledger = Ledger(9, 1e-5, privacy_unit="person")
    for part, rows in (
        (X, shuffled),
        (X[:9], shuffled[:9]),
        (X[[3, 1]], shuffled.iloc[[3, 1]]),
        (X[4], shuffled[4:5]),
    ):
        assert part.index.equals(rows.index)
        assert part.copy().index.equals(rows.index)
        with pytest.raises(CorpusError, match="another index than the documents"):
            PrivateLDA(2, epsilon=1, ledger=ledger, **how).fit(part, persons=notes["patient"])
        with pytest.raises(CorpusError, match="by has another index than the documents"):
            TopicPrevalence(release.release_, ["north"], epsilon=1.0).fit(part, by=notes["ward"])
        assert Corpus(part, WORDS, rows["patient"], rows["ward"]).n_documents == len(rows)
    assert not ledger.entries
    assert (X > 0).index is None
    assert counted(notes.to_dict("list")).index is None


def test_labels_and_persons_with_two_indexes_are_refused_beside_an_array(notes, release):
    shuffled, ledger = notes.sample(frac=1, random_state=1), Ledger(9, 1e-5, privacy_unit="person")
    shares = TopicPrevalence(
        release.release_, ["north"], epsilon=1.0, delta=1e-6, privacy_unit="person", ledger=ledger
    )
    with pytest.raises(CorpusError, match="by has another index than the persons"):
        shares.fit(notes[WORDS].to_numpy(), by=shuffled["ward"], persons=notes["patient"])
    with pytest.raises(CorpusError, match=r"by has another index than by\[0\]"):
        shares.fit(
            notes[WORDS].to_numpy(), by=(notes["ward"], shuffled["ward"]), persons=list(notes["patient"])
        )
    with pytest.raises(CorpusError, match="by has another index than the persons"):
        fit_topics(list(notes["body"]), epsilon=1, persons=notes["patient"], by=shuffled["ward"], n_topics=2)
    assert not ledger.entries


def test_a_corpus_keeps_the_persons_that_its_counts_carry(notes):
    chooser = PrivateCountVectorizer(
        epsilon=1, vocabulary=WORDS, words_are_public=True, privacy_unit="person"
    )
    counts = chooser.fit_transform(notes["body"], persons=notes["patient"])
    corpus = Corpus(counts, counts.vocabulary)
    np.testing.assert_array_equal(corpus.persons, counts.persons)
    assert corpus.without_persons().persons is None
    with pytest.raises(PrivacyError, match="one person may have written several"):
        PrivateLDA(2, epsilon=1, allow_unlearnable=True).fit(corpus)
