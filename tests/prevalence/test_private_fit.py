"""PrivateFit: the score, its sensitivity, its interval, its file; and a split that looks at one document only."""

import json
import math
from dataclasses import replace
from functools import cache

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from tests.reseal import reseal

from discreet import Corpus, Ledger, PrivateFit, PrivateLDA
from discreet.central.private_fit import frequencies, gains, halves
from discreet.errors import CorpusError, ParameterError, ReleaseError
from discreet.evaluate import completion_perplexity, unigram
from discreet.privacy import events
from discreet.privacy.ledger import file as ledger_file
from discreet.release.numbers import FitRelease


def counts(n=4000, seed=0):
    rng = np.random.default_rng(seed)
    topic = rng.integers(3, size=(n, 1))
    return sp.csr_matrix(rng.poisson(np.where(np.arange(24) // 8 == topic, 1.5, 0.1)).astype(np.int32))


TRAIN, HELD_OUT = counts(), counts(4000, 1)


@cache
def trained():
    return PrivateLDA(3, epsilon=8.0, random_state=0).fit(TRAIN).release_


def test_halves_add_up_are_even_and_depend_on_the_document_alone():
    first, second = halves(HELD_OUT)
    assert np.array_equal((first + second).toarray(), HELD_OUT.toarray())
    assert np.abs(first.toarray().astype(int) - second.toarray()).max() <= 1
    assert first.sum() == pytest.approx(second.sum(), rel=0.02)
    order = np.random.default_rng(0).permutation(HELD_OUT.shape[0])[:100]
    assert np.array_equal(halves(HELD_OUT[order])[0].toarray(), first[order].toarray())
    # The odd token of a word goes to either side, from one document to the next.
    ones = HELD_OUT.toarray() == 1
    share = (first.toarray() * ones).sum(0) / ones.sum(0)
    assert ((share > 0.4) & (share < 0.6)).all()


def test_without_noise_it_is_the_mean_gain():
    model = PrivateFit(trained(), epsilon=math.inf, contribution_bound=5.0).fit(HELD_OUT)
    scored = np.asarray(halves(HELD_OUT)[1].sum(1)).ravel() > 0
    mean = np.clip(gains(trained(), HELD_OUT, frequencies(trained()), False), -5, 5)[scored].mean()
    assert model.release_.gain == pytest.approx(mean, abs=1e-4)
    assert model.release_.interval() == pytest.approx((mean, mean), abs=1e-4)
    # Much the same as the usual measure, which weighs documents by their length.
    usual = completion_perplexity(trained().topic_word, HELD_OUT) / completion_perplexity(
        unigram(TRAIN), HELD_OUT
    )
    assert model.release_.perplexity_ratio == pytest.approx(usual, rel=0.1)


def test_documents_with_nothing_to_score_change_nothing():
    empty = sp.csr_matrix((3000, 24), dtype=np.int32)
    alone = PrivateFit(trained(), epsilon=math.inf).fit(HELD_OUT).release_
    among = PrivateFit(trained(), epsilon=math.inf).fit(sp.vstack([HELD_OUT, empty], format="csr")).release_
    assert (among.gain, among.perplexity, among.n_units) == (alone.gain, alone.perplexity, alone.n_units)
    assert alone.n_units == pytest.approx(4000, abs=40)
    # Nor do those of a person who wrote others, too; and who wrote nothing else is not counted.
    rows = sp.vstack([HELD_OUT, empty, HELD_OUT[:1] * 0], format="csr")
    persons = np.r_[np.arange(4000), np.arange(3000), 4000]
    persons = (
        PrivateFit(trained(), epsilon=math.inf, privacy_unit="person").fit(rows, persons=persons).release_
    )
    assert (persons.gain, persons.n_units) == (alone.gain, alone.n_units)


def test_the_score_of_short_documents_is_that_of_their_scored_tokens():
    short = counts(4000, 5)
    short.data[:] = 1
    short = sp.csr_matrix(short.multiply(np.random.default_rng(0).random(short.shape) < 0.2).astype(np.int32))
    short.eliminate_zeros()
    made = PrivateFit(trained(), epsilon=math.inf, contribution_bound=20.0).fit(short).release_
    scored = np.asarray(halves(short)[1].sum(1)).ravel() > 0
    assert 0.3 < scored.mean() < 0.9
    assert made.n_units == pytest.approx(scored.sum(), rel=1e-4)
    assert made.gain == pytest.approx(
        gains(trained(), short, frequencies(trained()), False)[scored].mean(), abs=1e-3
    )


def test_a_model_that_knows_nothing_gains_nothing():
    flat = np.tile(trained().word_weight, (3, 1))
    useless = replace(trained(), topic_word=flat, topic_word_noise=None)
    made = PrivateFit(useless, epsilon=1.0, random_state=0).fit(HELD_OUT).release_
    low, high = made.interval()
    assert low <= 0 <= high
    assert "no better" in made.in_words()
    assert (
        PrivateFit(trained(), epsilon=1.0, random_state=0)
        .fit(HELD_OUT)
        .release_.in_words()
        .startswith("Perplexity")
    )


def test_intervals_hold_the_exact_gain_and_perplexities():
    made = PrivateFit(trained(), epsilon=0.1, random_state=0).fit(HELD_OUT[:800]).release_
    truth = PrivateFit(trained(), epsilon=math.inf).fit(HELD_OUT[:800]).release_
    exact = np.array([truth.gain, truth.perplexity_ratio, truth.perplexity, truth.unigram_perplexity])
    rng, held = np.random.default_rng(0), []
    for _ in range(2000):
        added = {
            name: getattr(truth, name) + rng.normal(0, made.noise)
            for name in ("gain_total", "unit_count", "unigram_total")
        }
        noisy = replace(made, **added)
        ends = [
            noisy.interval(),
            noisy.ratio_interval(),
            noisy.perplexity_interval(),
            noisy.unigram_interval(),
        ]
        held.append([low <= value <= high for value, (low, high) in zip(exact, ends, strict=True)])
    assert np.abs(np.mean(held, 0) - 0.95).max() < 0.015


def test_perplexities_are_those_of_the_halves_and_their_ratio_is_the_gain():
    made = PrivateFit(trained(), epsilon=math.inf, contribution_bound=5.0).fit(HELD_OUT).release_
    scored = halves(HELD_OUT)[1]
    n = np.maximum(np.asarray(scored.sum(1)).ravel(), 1)
    alone = -(scored @ np.log(trained().word_weight)) / n
    centre = made.unigram_centre
    alone = centre + np.where(alone == 0, 0, np.clip(alone - centre, -2, 2))
    assert made.unigram_perplexity == pytest.approx(math.exp(alone.mean()), rel=1e-4)
    assert made.perplexity == pytest.approx(math.exp(alone.mean() - made.gain), rel=1e-4)
    assert made.unigram_perplexity == pytest.approx(24, rel=1e-3)  # words are equally frequent
    assert made.perplexity < 0.6 * made.unigram_perplexity
    private = PrivateFit(trained(), epsilon=1.0, random_state=0).fit(HELD_OUT).release_
    assert private.perplexity == pytest.approx(made.perplexity, rel=0.05)


@pytest.mark.parametrize("unit", ["document", "person"])
def test_one_unit_moves_the_sum_by_no_more_than_the_sensitivity(unit):
    persons = np.arange(300) // 7
    exact = PrivateFit(trained(), epsilon=math.inf, privacy_unit=unit, contribution_bound=0.05)
    rest = np.arange(300) >= (7 if unit == "person" else 1)
    given = {"persons": persons} if unit == "person" else {}
    less = {"persons": persons[rest]} if unit == "person" else {}
    whole = exact.fit(HELD_OUT[:300], **given).release_
    fewer = exact.fit(HELD_OUT[:300][rest], **less).release_
    names = ("gain_total", "unigram_total", "unit_count")
    moved = math.hypot(*(getattr(whole, name) - getattr(fewer, name) for name in names))
    assert 0.9 < moved <= math.hypot(1, 0.5, 0.5) + 1e-5


def test_the_promise_is_booked_and_the_file_is_checked(tmp_path):
    ledger = Ledger(0.5, 1e-6)
    made = PrivateFit(trained(), epsilon=0.5, ledger=ledger).fit(HELD_OUT).release_
    assert ledger.spent().epsilon == pytest.approx(0.5, rel=1e-3)
    made.save(tmp_path / "fit.json")
    assert FitRelease.load(tmp_path / "fit.json") == made
    values = json.loads((tmp_path / "fit.json").read_text())
    for name, value in [
        ("gain_total", "much"),
        ("noise", -1.0),
        ("bound", 0),
        ("unigram_total", None),
        ("unigram_centre", -1.0),
        ("ledger", {}),
        ("schema", "x"),
    ]:
        (tmp_path / "changed.json").write_text(json.dumps({**values, name: value}))
        with pytest.raises(ReleaseError):
            FitRelease.load(tmp_path / "changed.json")


def test_bad_calls():
    with pytest.raises(CorpusError, match="24 words of the release"):
        PrivateFit(trained()).fit(HELD_OUT[:, :20])
    with pytest.raises(ParameterError, match="bound must be"):
        PrivateFit(trained(), contribution_bound=0).fit(HELD_OUT)
    with pytest.raises(ParameterError, match="release must be a Release"):
        PrivateFit("topics/").fit(HELD_OUT)
    words = [f"other{i}" for i in range(24)]
    with pytest.raises(CorpusError, match="of other words than the model: of its 24 words 24"):
        PrivateFit(trained()).fit(Corpus(HELD_OUT, words, words_are_public=True))


def test_columns_in_another_order_are_put_in_the_releases():
    frame = pd.DataFrame(HELD_OUT[:500].toarray(), columns=list(trained().vocabulary))
    model = PrivateFit(trained(), epsilon=math.inf)
    scores = [
        model.fit(X, **how).release_.gain_total
        for X, how in ((HELD_OUT[:500], {}), (frame, {}), (frame[frame.columns[::-1]], {}))
    ]
    assert scores[0] == scores[1] == scores[2]


@pytest.mark.timeout(60)
def test_a_file_cannot_decide_how_long_its_ledger_takes_to_price(tmp_path):
    PrivateFit(trained(), epsilon=0.5).fit(HELD_OUT).release_.save(tmp_path / "fit.json")
    values = json.loads((tmp_path / "fit.json").read_text())
    entries = values["ledger"]["entries"]
    for number in range(2, 102):
        sample = {"kind": "poisson_sampled", "sampling_rate": 0.01, "event": entries[0]["event"]}
        event = {"kind": "repeated", "count": 100 + number, "event": sample}
        entries.append({"purpose": "x", "booking": number, "event": event})
    entries.append({"purpose": "x", "booking": 200, "event": events.to_json(events.pure(1.0))})
    del values["ledger"]["checksum"]
    values["ledger"]["checksum"] = ledger_file.checksum_of(values["ledger"])
    reseal(tmp_path / "fit.json", FitRelease.SEAL, ledger=values["ledger"])
    with pytest.raises(ReleaseError, match="2,000 steps to price"):
        FitRelease.load(tmp_path / "fit.json")


def test_a_sentence_about_a_seeded_fit_says_so():
    said = [
        PrivateFit(trained(), epsilon=e, random_state=0).fit(HELD_OUT).release_.in_words()
        for e in (0.0005, 4.0)
    ]
    assert all(sentence.endswith("reproducible, not for release.") for sentence in said)
    assert "no better" in said[0]
    assert "no better" not in said[1]


def test_a_person_of_many_documents_weighs_as_much_as_one_of_one():
    persons = np.minimum(np.arange(HELD_OUT.shape[0]), 100)
    made = (
        PrivateFit(trained(), epsilon=math.inf, privacy_unit="person").fit(HELD_OUT, persons=persons).release_
    )
    assert made.n_units == pytest.approx(101, abs=0.01)
    score = np.clip(gains(trained(), HELD_OUT, frequencies(trained()), False), -1, 1)
    assert made.gain == pytest.approx((score[:100].sum() + score[100:].mean()) / 101, abs=1e-4)


def test_a_sentence_about_an_exact_fit_says_so_and_no_confidence():
    said = PrivateFit(trained(), epsilon=math.inf).fit(HELD_OUT).release_.in_words()
    assert "exactly. Not to be published: without privacy, not for release" in said
    assert "confidence" not in said
