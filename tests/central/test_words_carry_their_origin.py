"""No word leaves without somebody's word for it: public by declaration, or chosen and booked on the same ledger."""

import math
import pickle
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.pipeline import make_pipeline

from discreet import (
    Corpus,
    HybridGibbsLDA,
    Ledger,
    PrivateCountVectorizer,
    PrivateLDA,
    PrivateSVILDA,
    Release,
    VariationalLDA,
    fit_topics,
)
from discreet.corpus.vocabulary import NUMBERED, UNKNOWN, ColumnChoice, WordOrigin
from discreet.errors import BudgetExceeded, CorpusError, ParameterError, PrivacyError
from discreet.privacy import composed_epsilon

CHOICE = ColumnChoice("of this test", 1, "f" * 64)
CANARY = "zzcanaryjones"
WORDS = [f"w{i:02d}" for i in range(40)]


def texts(n=1500, seed=0):
    rng = np.random.default_rng(seed)
    return [" ".join(rng.choice(WORDS[(i % 2) * 20 : (i % 2) * 20 + 20], 20)) for i in range(n)]


TEXTS = texts()
COUNTS = CountVectorizer(vocabulary=WORDS).fit_transform(TEXTS)
MANY = {"n_topics": 2, "allow_unlearnable": True}
MODELS = {
    "PrivateLDA": lambda **how: PrivateLDA(**MANY, **{"epsilon": 1.0, **how}),
    "PrivateSVILDA": lambda **how: PrivateSVILDA(2, **{"epsilon": 1.0, "sampling_rate": 0.2, **how}),
}
OF_WORDS = {
    "HybridGibbsLDA": lambda **how: HybridGibbsLDA(2, **{"epsilon": 4.0, "n_sweeps": 2, **how}),
}
ALL = MODELS | OF_WORDS


def card_of_words(release):
    return next(line for line in release.card().splitlines() if line.startswith("| words |")).replace(
        "\\", ""
    )


# ---- chosen words: both costs, or a refusal


@pytest.mark.parametrize("name", MODELS)
def test_a_pipeline_without_a_ledger_tells_both_costs(name):
    words = PrivateCountVectorizer(epsilon=8.0, delta=1e-6)
    release = make_pipeline(words, MODELS[name]()).fit(TEXTS)[-1].release_
    assert release.ledger.entries[0].purpose.startswith("vocabulary")
    assert len(release.ledger.entries) == 2
    alone = [
        composed_epsilon([event], 1e-6).epsilon
        for event in (words.planned_event(), MODELS[name]().planned_event())
    ]
    assert max(alone) < release.promise.epsilon < 9.1
    assert release.promise.epsilon == release.ledger.spent().epsilon
    assert release.promise.delta == 1e-6
    assert release.determinism == Release.SECURE
    assert card_of_words(release) == "| words | chosen privately; the choice is booked |"


def test_each_further_fit_on_the_same_counts_adds_its_cost():
    counts = PrivateCountVectorizer(epsilon=2.0).fit_transform(TEXTS)
    found = [MODELS["PrivateLDA"]().fit(counts).release_.promise for _ in range(3)]
    assert [len(MODELS["PrivateLDA"]().fit(counts).release_.ledger.entries) for _ in range(2)] == [5, 6]
    assert found[0].epsilon < found[1].epsilon < found[2].epsilon
    assert {promise.delta for promise in found} == {1e-6}


def test_fit_topics_adopts_the_ledger_of_a_corpus_of_chosen_words():
    """Before: refused, with the advice to train PrivateLDA."""
    how = {"epsilon": 1.0, **MANY}

    def chosen(ledger=None):
        counts = PrivateCountVectorizer(epsilon=4.0, ledger=ledger).fit_transform(TEXTS)
        return counts

    release = fit_topics(chosen(), **how)
    assert [entry.purpose.split()[0] for entry in release.ledger.entries] == ["vocabulary", "topics"]
    assert release.promise == PrivateLDA(epsilon=1.0, **MANY).fit(chosen()).release_.promise
    assert release.promise.epsilon > 4.0
    shared, other = Ledger(6.0, 1e-5), Ledger(6.0, 1e-5)
    corpus = chosen(shared)
    fit_topics(corpus, ledger=shared, **how)
    assert len(shared.entries) == 2
    before = len(shared.entries)
    with pytest.raises(PrivacyError, match="chosen on another ledger"):
        fit_topics(corpus, ledger=other, **how)
    with pytest.raises(PrivacyError, match="not at hand"):
        fit_topics(pickle.loads(pickle.dumps(corpus)), **how)  # noqa: S301
    with pytest.raises(PrivacyError, match="public vocabulary would find only those"):
        fit_topics(corpus, ledger=shared, vocabulary=WORDS, words_are_public=True, **how)
    assert (len(shared.entries), len(other.entries)) == (before, 0)


def test_words_chosen_without_noise_leave_without_a_promise():
    pipeline = make_pipeline(PrivateCountVectorizer(epsilon=math.inf), MODELS["PrivateLDA"]())
    release = pipeline.fit([*TEXTS, f"{CANARY} {WORDS[0]}"])[-1].release_
    assert CANARY in release.vocabulary
    assert math.isinf(release.promise.epsilon)
    assert "No privacy is promised" in release.guarantee
    assert "do not publish" in release.card()


@pytest.mark.parametrize(("seed_of_words", "seed_of_topics"), [(0, None), (None, 0), (0, 0)])
def test_a_seed_anywhere_marks_the_release(seed_of_words, seed_of_topics):
    words = PrivateCountVectorizer(epsilon=8.0, random_state=seed_of_words)
    release = make_pipeline(words, MODELS["PrivateLDA"](random_state=seed_of_topics)).fit(TEXTS)[-1].release_
    assert release.determinism == Release.REPRODUCIBLE


def test_a_ledger_is_adopted_with_its_limit():
    ledger = Ledger(3.0, 1e-5)
    counts = PrivateCountVectorizer(epsilon=1.0, ledger=ledger).fit_transform(TEXTS)
    assert counts.ledger is ledger
    release = MODELS["PrivateLDA"]().fit(counts).release_
    assert len(ledger.entries) == 2
    assert release.ledger.entries == ledger.entries
    assert release.promise.delta == 1e-5
    assert MODELS["PrivateLDA"](ledger=ledger).fit(counts).release_.ledger.entries == ledger.entries
    with pytest.raises(BudgetExceeded):
        MODELS["PrivateLDA"](epsilon=3.0).fit(counts)


@pytest.mark.parametrize("name", MODELS)
def test_another_ledger_is_refused_and_nothing_is_booked(name):
    other = Ledger(5.0, 1e-5)
    for words in (
        PrivateCountVectorizer(epsilon=1.0),
        PrivateCountVectorizer(epsilon=1.0, ledger=Ledger(3.0, 1e-5)),
    ):
        counts = words.fit_transform(TEXTS)
        with pytest.raises(PrivacyError, match="chosen on another ledger"):
            MODELS[name](ledger=other).fit(counts)
        assert not other.entries
        assert len(words.ledger_.entries) == 1
    unit = PrivateCountVectorizer(epsilon=1.0, privacy_unit="person").fit_transform(
        TEXTS, persons=np.arange(len(TEXTS))
    )
    with pytest.raises(PrivacyError, match=r"protects person.*take privacy_unit='person'"):
        MODELS[name](privacy_unit="document").fit(unit.without_persons())
    with pytest.raises(PrivacyError, match="needs to know the people"):
        MODELS[name]().fit(unit.without_persons())


def test_counts_that_come_through_a_file_need_their_ledger(tmp_path):
    ledger = Ledger.open(tmp_path / "ledger.json", 3.0, 1e-5)
    for own in (None, ledger):
        counts = PrivateCountVectorizer(epsilon=1.0, ledger=own).fit_transform(TEXTS)
        moved = pickle.loads(pickle.dumps(counts))  # noqa: S301  (our own bytes)
        assert moved.word_origin == counts.word_origin
        if own is None:
            with pytest.raises(PrivacyError, match=r"not at hand.*Ledger\.open"):
                MODELS["PrivateLDA"]().fit(moved)
        else:
            assert len(MODELS["PrivateLDA"]().fit(moved).release_.ledger.entries) == 2
    corpus = counts
    assert corpus.ledger is ledger
    stored = corpus.word_origin.to_json(corpus.vocabulary)
    bare = Corpus(sp.csr_array(corpus.counts), corpus.vocabulary)
    restored = bare.with_word_origin(WordOrigin.from_json(stored, corpus.vocabulary))
    with pytest.raises(PrivacyError, match="not at hand"):
        MODELS["PrivateLDA"]().fit(restored)
    again = Ledger.open(tmp_path / "ledger.json")
    assert len(MODELS["PrivateLDA"](ledger=again).fit(restored).release_.ledger.entries) == 3


@pytest.mark.parametrize("name", ALL)
def test_chosen_words_are_not_public(name):
    counts = PrivateCountVectorizer(epsilon=1.0).fit_transform(TEXTS)
    with pytest.raises(PrivacyError, match="chosen from the texts, so they are not public"):
        ALL[name]().fit(counts, words_are_public=True)
    assert len(counts.ledger.entries) == 1


@pytest.mark.parametrize("name", OF_WORDS)
def test_the_advice_of_word_level_models_can_be_followed(name):
    corpus = Corpus.from_texts(TEXTS)
    with pytest.raises(PrivacyError, match=r"protects documents or people.*this model single words") as error:
        OF_WORDS[name]().fit(corpus)
    assert "words_are_public=True" in str(error.value)
    assert "fit_transform" not in str(error.value)
    chosen = PrivateCountVectorizer(epsilon=math.inf).fit_transform([*TEXTS, CANARY])
    with pytest.raises(PrivacyError, match="one promise cannot hold both: count with a public list"):
        OF_WORDS[name]().fit(chosen)
    release = OF_WORDS[name]().fit(Corpus.from_texts(TEXTS, vocabulary=WORDS, words_are_public=True)).release_
    assert release.vocabulary == tuple(WORDS)


# ---- public words, and nobody's word


def frames():
    dense = COUNTS.toarray()
    return [
        pd.DataFrame(dense, columns=WORDS),
        pl.DataFrame(dense, schema=WORDS),
        pa.table(dict(zip(WORDS, dense.T, strict=True))),
    ]


@pytest.mark.parametrize("name", ALL)
def test_words_without_provenance_are_refused_naming_both_ways(name):
    given = [(COUNTS, {"vocabulary": WORDS}), (Corpus(COUNTS, WORDS), {})]
    given += [
        (Corpus.from_texts(TEXTS), {"vocabulary": WORDS}),
        (Corpus.from_texts(TEXTS, vocabulary=WORDS), {}),
    ]
    given += [(frame, {}) for frame in frames()]
    for X, how in given:
        model = ALL[name]()
        with pytest.raises(PrivacyError, match=r"say words_are_public=True\. .*PrivateCountVectorizer"):
            model.fit(X, **how)
        release = model.fit(X, **how, words_are_public=True).release_
        assert release.vocabulary == tuple(WORDS)
        assert release.configuration["words"] == "public"
        assert release.configuration["words_declared_by"] == f"words_are_public=True in {name}.fit"
        assert f"words_are_public=True in {name}.fit" in card_of_words(release)


def test_a_declaration_is_carried_from_where_it_was_made():
    made = {
        "Corpus": Corpus(COUNTS, WORDS, words_are_public=True),
        "Corpus.from_texts": Corpus.from_texts(TEXTS, vocabulary=WORDS, words_are_public=True),
        "Corpus.restrict": Corpus.from_texts(TEXTS).restrict(WORDS, words_are_public=True),
        "PrivateCountVectorizer": PrivateCountVectorizer(
            epsilon=1.0, vocabulary=WORDS, words_are_public=True
        ).fit_transform(TEXTS),
    }
    for where, X in made.items():
        for parts in (X, X.take(np.arange(1400)) if isinstance(X, Corpus) else X[:1400]):
            release = MODELS["PrivateLDA"]().fit(parts).release_
            assert release.configuration["words_declared_by"] == f"words_are_public=True in {where}"
    assert made["Corpus"].restrict(WORDS[:5]).word_origin == UNKNOWN
    with pytest.raises(PrivacyError, match="say words_are_public=True"):
        PrivateCountVectorizer(epsilon=1.0, vocabulary=WORDS).fit(TEXTS)


def test_a_bare_matrix_passes_and_its_columns_are_numbered():
    for X in (COUNTS, COUNTS.toarray(), pd.DataFrame(COUNTS.toarray()), COUNTS.toarray().tolist()):
        release = MODELS["PrivateLDA"]().fit(X).release_
        assert release.vocabulary[:2] == ("word_0", "word_1")
        assert "columns are numbered" in card_of_words(release)
        assert "for whoever made this to vouch" in card_of_words(release)
        with pytest.raises(PrivacyError, match="said to be public, but the counts have none"):
            MODELS["PrivateLDA"]().fit(X, words_are_public=True)


def test_only_what_a_class_declares_is_carried():
    """A frame of counts may have words such as "persons" or "vocabulary"."""
    odd = ["persons", "vocabulary", "word_origin", "ledger", "counts"]
    frame = pd.DataFrame(COUNTS.toarray()[:, :5], columns=odd)
    release = MODELS["PrivateLDA"]().fit(frame, words_are_public=True).release_
    assert release.vocabulary == tuple(odd)
    assert VariationalLDA(2, max_iter=1).fit(frame).transform(frame).shape == (1500, 2)
    mixed = pd.DataFrame(COUNTS.toarray()[:, :2], columns=["a", 3])
    with pytest.raises(ParameterError, match="some are, some are not"):
        MODELS["PrivateLDA"]().fit(mixed)


def test_a_vocabulary_beside_other_words_is_refused():
    corpus = Corpus(COUNTS, WORDS, words_are_public=True)
    release = MODELS["PrivateLDA"]().fit(corpus, vocabulary=WORDS).release_
    assert release.configuration["words_declared_by"] == "words_are_public=True in Corpus"
    with pytest.raises(ParameterError, match="X carries words of its own"):
        MODELS["PrivateLDA"]().fit(corpus, vocabulary=WORDS[::-1], words_are_public=True)
    for wrong in ("w1", ["a"] * 40, [1] * 40):
        with pytest.raises(ParameterError, match="vocabulary"):
            MODELS["PrivateLDA"]().fit(COUNTS, vocabulary=wrong, words_are_public=True)
    with pytest.raises(PrivacyError, match="must be True or False"):
        MODELS["PrivateLDA"]().fit(COUNTS, vocabulary=WORDS, words_are_public="yes")


def test_persons_with_the_document_unit_are_an_error():
    persons = np.arange(len(TEXTS)) // 3
    owned = Corpus(COUNTS, WORDS, persons, words_are_public=True)
    for make in (*MODELS.values(), lambda **how: PrivateCountVectorizer(epsilon=1.0, **how)):
        for X, how in ((COUNTS, {"persons": persons}), (owned, {})):
            ledger = Ledger(5.0, 1e-5)
            data = TEXTS if X is COUNTS and isinstance(make(), PrivateCountVectorizer) else X
            with pytest.raises(
                PrivacyError, match='privacy_unit="document" protects each document for itself'
            ):
                make(ledger=ledger, privacy_unit="document").fit(data, **how)
            with pytest.raises(PrivacyError, match=r"protects document .* this fit would protect person"):
                make(ledger=ledger).fit(data, **how)
            assert not ledger.entries
            make().fit(data, **how)
            of_persons = Ledger(5.0, 1e-5, privacy_unit="person")
            assert make(ledger=of_persons).fit(data, **how).privacy_unit is None
            assert len(of_persons.entries) == 1
        make().fit(owned.without_persons())


# ---- the record itself


@pytest.mark.parametrize(
    "wrong",
    [
        {"kind": "secret"}, {"kind": "public"}, {"kind": "unknown", "declared_by": "me"},
        {"kind": "chosen"}, {"kind": "chosen", "choices": [CHOICE]}, {"kind": "chosen", "choices": ("x",)},
        {"kind": "public", "declared_by": "a\nb"}, {"kind": "public", "declared_by": "\u202edesrever"},
        {"kind": "public", "declared_by": "x" * 201}, {"kind": 3}, {"kind": None},
    ],
)  # fmt: skip
def test_a_record_that_makes_no_sense_is_refused(wrong):
    with pytest.raises(CorpusError):
        WordOrigin(**wrong)


def test_a_record_is_bound_to_its_words():
    origin = WordOrigin.public("the ward's own list")
    stored = origin.to_json(WORDS)
    assert WordOrigin.from_json(stored, tuple(WORDS)) == origin
    for words in (WORDS[::-1], WORDS[:-1], [*WORDS, CANARY]):
        with pytest.raises(CorpusError, match="other words"):
            WordOrigin.from_json(stored, words)
    for damaged in (
        None,
        [],
        {},
        {**stored, "more": 1},
        {**stored, "kind": "chosen"},
        {**stored, "choices": None},
    ):
        with pytest.raises(CorpusError):
            WordOrigin.from_json(damaged, WORDS)
    assert NUMBERED.settings() == {"words": "numbered"}


def test_nothing_here_warns():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        make_pipeline(PrivateCountVectorizer(epsilon=8.0), MODELS["PrivateLDA"]()).fit(
            texts(seed=1)
        )  # which nobody has fitted on another ledger
