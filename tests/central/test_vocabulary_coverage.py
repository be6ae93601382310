"""How much of the text the chosen words make up: the sums, what they cost, and where the number goes."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
from tests.naive.vocabulary import covered_share

from discreet import Corpus, Ledger, PrivateCountVectorizer, Release, fit_topics
from discreet.central.vocabulary.methods import SHARE, GaussianChoice, coverage_sum, release_coverage
from discreet.central.vocabulary.vectorizer import METHODS
from discreet.corpus import write_shards
from discreet.corpus.shards.shard_file import Rows
from discreet.corpus.vocabulary import Coverage, WordOrigin
from discreet.errors import CorpusError, PrivacyError
from discreet.privacy.accounting import events
from discreet.privacy.bound import Bound
from discreet.privacy.noise.stream import SecureStream

#: Whom the ledgers here protect.
UNIT = {"privacy_unit": "document", "neighboring": "add_or_remove_one"}

RNG = np.random.default_rng(4)
WORDS = [f"w{i:03d}" for i in range(300)]
FREQUENCY = 1 / np.arange(1, 301) / (1 / np.arange(1, 301)).sum()
TEXTS = [" ".join(RNG.choice(WORDS, RNG.integers(5, 60), p=FREQUENCY)) for _ in range(2000)]
BOUND = Bound("l2")


def random_corpus(seed):
    rng = np.random.default_rng(seed)
    counts = sp.csr_matrix(rng.poisson(0.4, (12, 9)) * (rng.random((12, 1)) < 0.8))
    return counts, rng.integers(0, 5, 12), rng.random(9) < 0.5


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("by_person", [False, True])
def test_sums_are_those_of_the_plain_twin_and_one_unit_moves_them_by_one_at_most(seed, by_person):
    counts, persons, chosen = random_corpus(seed)
    unit_of = persons if by_person else np.arange(12)
    total = coverage_sum(Rows(counts, persons if by_person else None), chosen, BOUND)
    assert total.tolist() == covered_share(counts.toarray(), unit_of, chosen, BOUND.bits)
    for unit in np.unique(unit_of):
        stays = unit_of != unit
        without = coverage_sum(Rows(counts[stays], persons[stays] if by_person else None), chosen, BOUND)
        moved = total - without
        assert (moved >= 0).all()
        assert (moved**2).sum() <= BOUND.sensitivity**2


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("by_person", [False, True])
def test_the_released_share_is_near_the_true_one(name, by_person):
    persons = np.arange(2000) // 4 if by_person else None
    how = {"privacy_unit": "person"} if by_person else {}
    vectorizer = PrivateCountVectorizer(epsilon=1.0, method=name, random_state=1, **how)
    counts = vectorizer.fit_transform(TEXTS, persons=persons)
    told = vectorizer.word_origin_.coverage
    chosen = np.array([word in vectorizer.vocabulary_ for word in WORDS])
    assert counts.word_origin.coverage == told
    exact = PrivateCountVectorizer(epsilon=np.inf, method=name, vocabulary=None, random_state=1, **how)
    assert exact.fit(TEXTS, persons=persons).word_origin_.coverage == Coverage(
        1.0, 0.0, 500 if by_person else 2000
    )
    whole = [sum(text.split().count(WORDS[i]) for i in np.flatnonzero(chosen)) for text in TEXTS]
    length = [len(text.split()) for text in TEXTS]
    if by_person:
        whole, length = (np.add.reduceat(part, np.arange(0, 2000, 4)) for part in (whole, length))
    true = float(np.mean(np.array(whole) / np.array(length)))
    assert 0.3 < true < 0.95
    assert abs(told.share - true) < 5 * told.deviation
    assert told.deviation < 0.1
    assert abs(told.n_units - len(whole)) < 5 * told.deviation * len(whole) * 1.5


@pytest.mark.parametrize("name", METHODS)
def test_the_choice_books_what_it_did_and_uses_no_more_than_that(name):
    method = GaussianChoice(1.0, 1e-7, 100, "document", SHARE, METHODS[name])
    whole = replace(method, coverage_share=Fraction(0))
    assert method.event() == whole.event()
    ledger = Ledger(2.0, 1e-6)
    PrivateCountVectorizer(epsilon=1.0, delta=1e-7, method=name, ledger=ledger).fit(TEXTS)
    assert [entry.event for entry in ledger.entries] == [whole.event()]
    reserved = 1 / Fraction(whole.noise_multiplier) ** 2
    weights = [noise for noise, _ in method.rounds]
    used = sum(1 / Fraction(noise) ** 2 for noise in (*weights, method.coverage_noise))
    assert reserved * (1 - Fraction(1, 10**12)) < used <= reserved
    assert 1 / Fraction(method.coverage_noise) ** 2 <= SHARE * reserved
    reservation = ledger.reserve(method.event(), "words")
    for noise in (*weights, method.coverage_noise):
        reservation.use(events.gaussian(noise), **UNIT)
    with pytest.raises(PrivacyError, match="does not cover"):
        reservation.use(events.gaussian(method.coverage_noise), **UNIT)


def test_shards_give_the_same(tmp_path):
    corpus = Corpus.from_texts(TEXTS)
    shards = write_shards(corpus, tmp_path / "shards", shard_documents=300)
    told = [
        PrivateCountVectorizer(epsilon=1.0, random_state=1).fit(X).word_origin_.coverage
        for X in (corpus, shards)
    ]
    assert told[0] == told[1] is not None


def test_the_release_says_it_and_its_report(tmp_path):
    release = fit_topics(TEXTS, epsilon=4.0, n_topics=2, random_state=0, allow_unlearnable=True)
    release.save(tmp_path / "model")
    settings = Release.load(tmp_path / "model").configuration
    share, noise = settings["text_covered"], settings["text_covered_noise"]
    assert 0.4 < share < 1
    said = f"about {100 * share:.0f} % (±{200 * noise:.0f} points) of the text."
    assert f"The words make up</th><td>{said.rstrip('.')}</td>" in release.to_html()
    assert f"The words cover {said}" in settings["forecast"]


def test_what_a_file_says_of_it_is_checked():
    chosen = PrivateCountVectorizer(epsilon=1.0, random_state=0).fit(TEXTS)
    words, origin = tuple(chosen.vocabulary_), chosen.word_origin_
    told = origin.to_json(words)
    assert WordOrigin.from_json(told, words).coverage == origin.coverage
    without = {name: value for name, value in told.items() if name != "coverage"}
    assert WordOrigin.from_json(without, words).coverage is None
    numbers = ([2.0, 0.1, 9.0], [0.5, -1.0, 9.0], [0.5, 0.1, 0.0], [float("nan"), 0.1, 9.0])
    for wrong in (*numbers, [0.5, 0.1], 3, ["a"] * 3):
        with pytest.raises(CorpusError, match="changed or is damaged"):
            WordOrigin.from_json({**told, "coverage": wrong}, words)


def test_the_deviation_told_is_that_of_the_noise():
    counts, _, chosen = random_corpus(0)
    counts = sp.vstack([counts] * 100).tocsr()
    method = GaussianChoice(1.0, 1e-7, 100, "document", SHARE)
    names = tuple(map(str, range(9)))
    words = (names, tuple(name for name, taken in zip(names, chosen, strict=True) if taken))
    ledger, shares, told = Ledger(np.inf, 1e-6), [], []
    for seed in range(300):
        reservation = ledger.reserve(method.event(), "words")
        found = release_coverage(method, Rows(counts), words, SecureStream(seed), reservation)
        shares.append(found.share)
        told.append(found.deviation)
    assert 0.85 < np.std(shares) / np.mean(told) < 1.15
