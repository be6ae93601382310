"""Which words a reviewer is shown first, and why."""

import sys
from dataclasses import replace
from types import SimpleNamespace

import pytest
from tests.report.report_cases import release

from discreet.corpus import Tokenizer
from discreet.errors import ReleaseError
from discreet.report import suspicion
from discreet.report.suspicion import suspicious_words

ZIPF = {"priya": 2.9, "rose": 4.9, "nurse": 4.4, "metoprolol": 1.8, "qqzz": 0.0, "okafor": 2.5}


@pytest.fixture
def general_language(monkeypatch):
    known = SimpleNamespace(
        zipf_frequency=lambda word, language: ZIPF.get(word, 4.0),
        available_languages=lambda: {"en": "", "de": ""},
    )
    monkeypatch.setitem(sys.modules, "wordfreq", known)


@pytest.fixture
def no_general_language(monkeypatch):
    monkeypatch.setitem(sys.modules, "wordfreq", None)  # its import fails


def reasons(*words, **options):
    plain = [f"word{chr(97 + i // 26)}{chr(97 + i % 26)}" for i in range(60 - len(words))]
    made = release(words=(*words, *plain))
    return {suspect.word: suspect.reasons for suspect in suspicious_words(made, **options)}


def test_each_kind_of_word_is_found_and_usual_words_are_not(general_language):
    found = reasons(
        *"okafor priya 4271 b4271 2024 3rd jane@x.example www.nhs.uk metoprolol qqzz nurse ward rose".split(),
        "sister o'brien",
    )
    assert found == {
        "okafor": ("a family name",),
        "priya": ("a given name",),
        "4271": ("a number",),
        "b4271": ("a number",),
        "2024": ("a short number or a year",),
        "3rd": ("a short number or a year",),
        "jane@x.example": ("an address",),
        "www.nhs.uk": ("an address",),
        "metoprolol": ("rare in general language",),
        "qqzz": ("hardly known in general language",),
        "rose": ("a given name",),
        "sister o'brien": ("a family name",),
    }


def test_the_order_is_by_suspicion(general_language):
    found = list(reasons("rose", "metoprolol", "okafor", "12", "4271", "matron", flagged=["Matron  Smith"]))
    assert found[:2] == ["matron", "4271"]
    assert found.index("okafor") < found.index("rose")
    assert found.index("okafor") < found.index("12")


def test_without_wordfreq_names_and_numbers_are_still_found(no_general_language):
    assert not suspicion.knows_general_language()
    found = reasons("okafor", "4271", "qqzz", "rose")
    assert found == {"okafor": ("a family name",), "4271": ("a number",), "rose": ("a given name",)}


def test_topics_of_a_word_are_those_it_leads(no_general_language):
    made = release(words=("okafor",))
    (found,) = (suspect for suspect in suspicious_words(made) if suspect.word == "okafor")
    first = [row.index("okafor") for row in made.top_words(60)]
    assert set(found.topics) == {topic for topic, place in enumerate(first) if place < 30}
    assert found.share == made.topic_word[:, 0].max()


def test_an_unknown_language_is_refused(general_language):
    with pytest.raises(ReleaseError, match="languages de, en"):
        suspicious_words(release(), language="tlh")


def test_a_word_that_one_of_several_languages_knows_is_not_rare(monkeypatch):
    """In notes of two languages the words of the second must not drown what is to be looked at."""
    known = {("enfermera", "es"): 4.0, ("nurse", "en"): 4.5}
    fake = SimpleNamespace(
        available_languages=lambda: {"en": "", "es": ""},
        zipf_frequency=lambda word, language: known.get((word, language), 0.0),
    )
    monkeypatch.setitem(sys.modules, "wordfreq", fake)
    made = release(words=("enfermera", "nurse", "qqzz"))
    for said, unusual in (
        ("en", {"enfermera", "qqzz"}),
        ("es", {"nurse", "qqzz"}),
        ("en, es", {"qqzz"}),
        (None, {"enfermera", "qqzz"}),
    ):
        found = {suspect.word for suspect in suspicious_words(made, language=said)}
        assert found & {"enfermera", "nurse", "qqzz"} == unusual, said
    for told in ({"stop_words": "english (318), spanish (732)"}, {"languages": "english, spanish"}):
        found = {suspect.word for suspect in suspicious_words(made.with_settings(**told))}
        assert found & {"enfermera", "nurse", "qqzz"} == {"qqzz"}


@pytest.mark.integration
def test_the_real_wordfreq_knows_a_nurse_from_a_drug():
    pytest.importorskip("wordfreq")
    found = reasons("nurse", "metoprolol")
    assert "nurse" not in found
    assert found["metoprolol"] == ("rare in general language",)


STAFF = [
    "Quimbly-Vortle",
    "O'Zazrin",
    "Dr.Flembax",
    "d'Arqueville",
    "Wexley/Trumpo",
    "M\u00fcskelbrot",
    "b.yopt@ward.example",
]


@pytest.mark.parametrize("settings", [{}, {"token_pattern": "[a-z]+"}, {"token_pattern": "(a+)+$"}])
def test_names_are_found_in_the_pieces_that_texts_are_cut_into(no_general_language, settings):
    pieces = [word for entry in STAFF for word in Tokenizer(keep_links=True)(entry)]
    assert {"vortle", "zazrin", "flembax", "arqueville", "trumpo", "yopt"} <= set(pieces)
    made = replace(release(words=(*pieces, "quimbly-vortle", "bandage")), configuration=settings)
    found = {
        suspect.word
        for suspect in suspicious_words(made, flagged=iter(STAFF))
        if "in your list" in suspect.reasons
    }
    assert found == {*pieces, "quimbly-vortle"}
