"""What one unit is called: in the ledger, its file and all that is made from it; and what it may not be called."""

import copy
import json
import pickle

import numpy as np
import pytest

from discreet import Corpus, Ledger, PrivateFit, PrivateLDA, Release, TopicPrevalence, fit_topics
from discreet.cli.app import run
from discreet.errors import PrivacyError
from discreet.privacy.accounting import events
from discreet.privacy.units import Guarantee, plural

TEXTS = ["the senate passed a law", "a storm hit the coast"] * 400
PERSONS = np.arange(800) // 2


def named(**terms):
    return Ledger(9.0, 1e-6, privacy_unit="person", unit_name="patient", **terms)


def test_a_ledger_keeps_the_name_wherever_it_goes(tmp_path):
    ledger = named(path=tmp_path / "ledger.json")
    ledger.reserve(events.gaussian(9.0), "topics")
    for same in (
        ledger.snapshot(),
        ledger.rehearsal(),
        copy.deepcopy(ledger),
        pickle.loads(pickle.dumps(ledger)),  # noqa: S301  (our own)
        Ledger.open(tmp_path / "ledger.json"),
        Ledger.open(tmp_path / "ledger.json", unit_name="patient"),
        Ledger.from_json(ledger.snapshot().to_json()),
    ):
        assert (same.unit_name, same.called, same.privacy_unit) == ("patient", "patient", "person")
        assert same == ledger
    assert "all documents of any one patient multiplies" in ledger.guarantee().in_words()
    assert "unit: patient (add_or_remove_one)" in ledger.guarantee().in_words()
    assert "person" not in ledger.guarantee().in_words()
    assert "for each patient" in ledger._repr_html_()
    assert "unit_name='patient'" in repr(ledger)
    assert ledger.to_frame() is not None
    with pytest.raises(PrivacyError, match="unit_name is 'client', but the ledger calls a unit 'patient'"):
        Ledger.open(tmp_path / "ledger.json", unit_name="client")


def test_without_a_name_everything_is_as_it_was():
    plain = Ledger(1.0, 1e-6, privacy_unit="person")
    assert "unit_name" not in json.dumps(plain.to_json())
    assert plain.called == "person"
    assert plain != Ledger(1.0, 1e-6, privacy_unit="person", unit_name="patient")
    assert "unit_name" not in repr(plain)


@pytest.mark.parametrize(
    "name",
    [
        "a b c d",
        "p4",
        "patient.",
        "x" * 21,
        "<b>",
        "patient\n",
        " patient",
        "two  blanks",
        "a",
        3,
        "pa|nt",
    ],
)
def test_what_is_no_plain_word_is_refused_wherever_it_is_given(name):
    for make in (
        lambda: Ledger(1.0, 1e-6, privacy_unit="person", unit_name=name),
        lambda: Guarantee(1.0, 1e-6, "person", "add_or_remove_one", unit_name=name),
        lambda: fit_topics(TEXTS, persons=PERSONS, privacy_unit="person", epsilon=1.0, unit_name=name),
    ):
        with pytest.raises(PrivacyError, match="unit_name must say in one to three plain words"):
            make()


def test_a_name_in_a_changed_file_is_checked_too():
    from discreet.privacy.ledger.file import checksum_of

    told = named().snapshot().to_json()
    told["unit_name"] = "<script>"
    told.pop("checksum")
    with pytest.raises(PrivacyError, match="plain words"):
        Ledger.from_json({**told, "checksum": checksum_of(told)})


@pytest.mark.parametrize("unit", ["document", "word", "report"])
def test_no_promise_is_told_in_the_name_of_somebody_it_does_not_protect(unit):
    for make in (
        lambda: Ledger(1.0, 1e-6, privacy_unit=unit, unit_name="patient"),
        lambda: Guarantee(1.0, 1e-6, unit, "add_or_remove_one", unit_name="patient"),
    ):
        with pytest.raises(
            PrivacyError, match=f"but the unit here is the {unit}: the promise would be misstated"
        ):
            make()
    with pytest.raises(PrivacyError, match="the unit here is the document"):
        fit_topics(TEXTS, epsilon=1.0, unit_name="patient")


@pytest.mark.parametrize(
    "name", ["document", "Document", "word", "person or document", "anybody", "any body"]
)
def test_a_person_is_not_called_like_another_unit(name):
    with pytest.raises(PrivacyError, match="must say what one person is"):
        Ledger(1.0, 1e-6, privacy_unit="person", unit_name=name)
    assert Ledger(1.0, 1e-6, privacy_unit="person", unit_name="case worker").called == "case worker"
    assert Ledger(1.0, 1e-6, privacy_unit="person", unit_name="Patient").called == "Patient"
    assert plural("Patient") == "Patients"


def test_everything_that_is_released_says_it(tmp_path):
    release = fit_topics(
        TEXTS, persons=PERSONS, privacy_unit="person", unit_name="patient", epsilon=6.0, n_topics=2,
        allow_unlearnable=True, random_state=0,
    )  # fmt: skip
    assert "at most 100 words for each patient" in release.ledger.entries[0].purpose
    release.save(tmp_path / "model")
    release = Release.load(tmp_path / "model")
    card, page = release.card(), release.to_html()
    assert "unit: patient (add_or_remove_one)" in release.guarantee
    for told in (card, page, release.guarantee):
        assert "unit: person" not in told
    assert "person: one patient" in page
    assert "person: one patient" in card.replace("\\", "")
    for said in (
        "| unit | one patient |",
        "number of patients",
        "(unit: patient)",
        "tell of a single patient",
    ):
        assert said in card.replace("\\", ""), said
    for said in (
        "Protected unit <b>one patient</b>",
        " patients (a noisy number)",
        "Each patient, one at a time",
    ):
        assert said in page, said
    assert "for each patient" in release._repr_html_()
    assert "person" not in release._repr_html_()
    counts = Corpus.from_texts(TEXTS, words_are_public=False).restrict(release.vocabulary)
    fit = (
        PrivateFit(release, privacy_unit="person", random_state=0)
        .fit(counts.counts, persons=PERSONS)
        .release_
    )
    shares = TopicPrevalence(release, groups=["a", "b"], privacy_unit="person", random_state=0)
    made = shares.fit(counts.counts, persons=PERSONS, by=["a", "b"] * 400).release_
    for one in (fit, made):
        one.save(tmp_path / f"{type(one).__name__}.json")
        assert type(one).load(tmp_path / f"{type(one).__name__}.json") == one
        assert "one patient" in one.card()
        assert "patients" in one.card()
    assert "weight in patients" in made.to_html()


def test_a_ledger_and_a_run_must_agree():
    with pytest.raises(PrivacyError, match="ledger calls a unit 'patient'"):
        fit_topics(
            TEXTS, persons=PERSONS, privacy_unit="person", unit_name="client", epsilon=1.0, ledger=named()
        )
    ledger = named()
    model = PrivateLDA(2, epsilon=2.0, privacy_unit="person", ledger=ledger, allow_unlearnable=True)
    assert "one patient" in model.fit(np.ones((800, 5), int), persons=PERSONS).release_.card()


def test_plurals():
    words = {
        "patient": "patients",
        "night student": "night students",
        "family": "families",
        "pasient": "pasient",
        "cidadão": "cidadão",
        "persons": "persons",
    }
    assert {word: plural(word) for word in words} == words


def test_a_budget_is_explained_in_the_name_of_the_unit(capsys):
    call = "budget --epsilon 2 --unit person --unit-name patient --documents 8000 --topics 12 --words 400"
    assert run(call.split()) == 0
    said = capsys.readouterr().out
    assert "person" not in said
    for part in ("unit: patient (", "any one patient", "but one patient can do", "several patients"):
        assert part in said
    assert run("budget --unit document --unit-name patient".split()) == 2
    assert "the promise would be misstated" in capsys.readouterr().err
