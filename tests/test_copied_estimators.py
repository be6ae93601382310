"""The examples that pages tell readers to copy: they are what the pages show, and the battery passes them."""

import importlib.util
import re
from pathlib import Path

import numpy as np
import pytest

from discreet import Ledger
from discreet.corpus import Corpus
from discreet.errors import BudgetExceeded, ParameterError, PrivacyError
from discreet.privacy import check_private_estimator, composed_epsilon
from discreet.privacy.battery.subject import planted_counts

DOCS = Path(__file__).parents[1] / "docs"
PAGES = {"word_rates": "privacy-library.md"}


def load(name):
    spec = importlib.util.spec_from_file_location(name, DOCS / "examples" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


RATES, LENGTH = load("word_rates").PrivateWordRates, load("mean_length").PrivateMeanLength
RELEASED = {RATES: "n_units_with_word_", LENGTH: "mean_length_"}
UNITS = pytest.mark.parametrize("unit", ["document", "person"])
BOTH = pytest.mark.parametrize("example", RELEASED, ids=lambda example: example.__name__)


@pytest.mark.parametrize("name", PAGES)
def test_a_page_shows_the_file(name):
    code = (DOCS / "examples" / f"{name}.py").read_text().partition('"""\n\n')[2]
    assert f"```python\n{code}```" in (DOCS / PAGES[name]).read_text()


def test_the_plan_of_the_house_names_what_there_is():
    """Files and folders, and every room."""
    page, root = (DOCS / "architecture.md").read_text(), DOCS.parent
    named = {name.rstrip("/") for name in re.findall(r"`([\w/]+/[\w./]*|[\w]+\.py)`", page)}
    places = [str(path) for room in ("src", "tests", "docs", "scripts") for path in (root / room).rglob("*")]
    places += [str(path) for path in root.iterdir()]
    assert len(named) > 20
    assert [name for name in sorted(named) if not any(place.endswith(f"/{name}") for place in places)] == []
    rooms = {folder.parent.name for folder in (root / "src" / "discreet").glob("*/__init__.py")}
    assert rooms - set(re.findall(r"^([a-z_]+) ", page, re.MULTILINE)) - {"audit", "report"} == set()
    assert re.search("^evaluate  audit  report ", page, re.MULTILINE)


@UNITS
@BOTH
def test_examples_pass_the_battery(example, unit):
    outcome = check_private_estimator(
        example(epsilon=2.0, privacy_unit=unit),
        released=(RELEASED[example],),
    )
    assert set(outcome.values()) == {"passed"}


@BOTH
def test_an_example_is_what_its_page_says(example):
    planned = example(epsilon=2.0).planned_event()
    assert 1.99 < composed_epsilon([planned], 1e-6).epsilon <= 2
    ledger = Ledger(2.0)
    example(epsilon=2.0, ledger=ledger).fit(planted_counts(200))
    assert [entry.event for entry in ledger.entries] == [planned]
    with pytest.raises(BudgetExceeded):
        example(epsilon=2.0, ledger=ledger).fit(planted_counts(200))
    for unit, persons in (("person", None), ("document", np.arange(200))):
        with pytest.raises(PrivacyError, match="persons"):
            example(privacy_unit=unit).fit(planted_counts(200), persons=persons)


@UNITS
def test_without_noise_the_examples_are_right(unit):
    counts = planted_counts(200)
    persons = None if unit == "document" else np.arange(200) // 4
    own = [[row] for row in range(200)] if persons is None else np.arange(200).reshape(50, 4)
    rates = RATES(epsilon=float("inf"), privacy_unit=unit, longest=10**4).fit(counts, persons=persons)
    present = np.array([np.asarray((counts[rows] > 0).sum(0)).ravel() for rows in own])
    assert rates.n_units_with_word_ == pytest.approx(present.sum(0), abs=len(own) * 100 / 2**14)
    model = LENGTH(epsilon=float("inf"), privacy_unit=unit, longest=200.0).fit(counts, persons=persons)
    assert model.mean_length_ == pytest.approx(counts.sum() / len(own), rel=1e-3)


def test_all_faults_of_a_call_are_told_at_once():
    with pytest.raises((ParameterError, PrivacyError), match=r"epsilon must.*longest must"):
        LENGTH(epsilon=-1, longest=-2).fit(planted_counts(200))


def test_a_person_counts_once_however_much_they_write():
    """The mistake to plant: drop ``persons=persons`` from the sum, or the ``bincount``, and the battery fails."""

    class EachDocument(RATES):
        def fit(self, X, y=None, persons=None):
            return super().fit(X, y, np.arange(X.shape[0]))

    with pytest.raises(AssertionError, match=r"check_sums_keep_to_their_bound.*a person of 50 documents"):
        check_private_estimator(
            EachDocument(epsilon=2.0, privacy_unit="person"), released=("n_units_with_word_",)
        )


def test_lengths_over_words_that_other_documents_chose_are_refused():
    """A word that a second document shares becomes a column: one document would move the lengths of others."""
    corpus = Corpus.from_texts(["ward bed", "ward nurse", "bed pain"])
    ledger = Ledger(1.0, 1e-6)
    with pytest.raises(PrivacyError, match="words"):
        LENGTH(ledger=ledger).fit(corpus)
    assert not ledger.entries
