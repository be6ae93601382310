"""The model card."""

import html
import math
import re
from dataclasses import replace

import numpy as np
from markdown_it import MarkdownIt
from tests.report.report_cases import HOSTILE, release
from tests.report.test_noisy_topics import with_noise_topics

from discreet.privacy import Ledger
from discreet.privacy.accounting import events
from discreet.release import Release
from discreet.report.card import plain


def test_the_card_says_it_all():
    made = release(vocabulary_booked=True)
    card = made.card()
    promise = made.promise
    for part in [
        "# A private topic model: 5 topics, 60 words",
        made.guarantee,
        "Whatever an attacker knows, a test that wrongly accuses 1 %",
        "| unit | one document |",
        "| neighbours | add or remove one |",
        f"| epsilon | {promise.epsilon:.4g} |",
        "| delta | 1e-06 |",
        f"| found by | {promise.accountant} |",
        "| noise | drawn by the operating system |",
        "| words | chosen privately; the choice is booked |",
        "| number of documents | about 1234 (a noisy number) |",
        "| vocabulary (sips) | Gaussian noise, multiplier 12 |",
        "| n_topics | 5 |",
        "Release.load(",
        "# 5 x 60, rows sum to 1",
    ]:
        assert part in card, part
    for topic, words in enumerate(made.top_words(10), 1):
        assert f"\n{topic}. {', '.join(words)}\n" in card
    assert "| words | not stated: ask whoever made this where they come from |" in release().card()
    said = {"words": "public", "words_declared_by": "Jane | <b>Roe</b>"}
    assert "as declared by: Jane \\| \\<b\\>Roe" in release().with_settings(**said).card()
    assert "columns are numbered" in release().with_settings(words="numbered").card()
    assert "not stated" in release().with_settings(words="chosen").card()  # no choice is booked
    assert card.endswith("\n")


def test_the_card_says_nothing_that_its_figures_contradict():
    """A report may lose epsilon = 208: then the card must not say that nothing tells of a single one."""
    assert "nothing in it tells" not in release(epsilon=208.0).card()
    assert "limits what it can tell of a single document" in release().card()


def test_a_delta_above_one_over_the_units_is_warned_about_on_the_card():
    made = release()
    loud = Ledger(2, 0.01)
    loud.reserve(events.gaussian(5.0), "topics")
    card = replace(made, ledger=loud).card()
    assert "delta = 0.01 is too large" in card
    assert "about 1,234 documents" in card
    assert "about 12 of them" in card
    assert "too large" not in made.card()


def test_a_forecast_is_no_praise_of_topics_that_are_noise():
    good = "Forecast: good. x = 0.0092."
    noisy, truth = with_noise_topics()
    said = f"{sum(truth)} of {len(truth)} topics are mostly noise: the words that set them apart do not stand clear"
    assert said in noisy.with_settings(forecast=good).card().replace("\\", "")
    assert "mostly noise" not in release().with_settings(forecast=good).card()


def test_the_card_is_the_same_for_the_same_release():
    assert release(words=HOSTILE).card() == release(words=HOSTILE).card()
    assert not re.search(r"\b20\d\d-\d\d", release().card())


def test_what_must_not_leave_says_so_first():
    assert "not for release" not in release().card()
    seeded = release(reproducible=True).card()
    assert "**Reproducible, not for release.**" in seeded.split("## What this is")[0]
    bare = release(epsilon=math.inf, noise=0.0).card()
    assert "do not publish it" in bare
    assert "No privacy is promised" in bare
    assert "covered by the promise" not in bare
    assert "covered by the promise" in release().card()


def test_numbers_that_are_one_and_numbers_that_are_missing():
    made = Release(np.ones((1, 1)), ["word"], Ledger(1, 1e-6))
    card = made.card()
    assert "1 topic, 1 word\n" in card
    assert "| number of documents | not released |" in card
    assert "The 1 most probable words of each" in card or "1. word" in card


def unescaped(card):
    """Marks that Markdown would act on, in the text that came from outside."""
    outside = "\n".join(
        line
        for line in card.split("\n")
        if re.match(r"\d+\. |\| (evil|&|\\&|turn)", line) or "canary" in line
    )
    marks = r"(?<!\\)(?:[<>\[\]`*|]|&(?=#?\w+;)|(?<![^\W_])_|_(?![^\W_]))"
    return re.findall(marks, re.sub(r"^\| | \| | \|$", " ", outside, flags=re.M))


def test_hostile_text_stays_text():
    ledger = Ledger(2, 1e-6)
    ledger.reserve(events.gaussian(5.0), "evil | <script>canary</script>\n\n# Heading\n")
    made = release(n_words=12, n_topics=1, words=HOSTILE)
    made = Release(
        made.topic_word,
        made.vocabulary,
        ledger,
        {"evil": "| x |\n| [link](https://canary.example) www.canary.example a@canary.example"},
    )
    card = made.card()
    card.encode()
    assert unescaped(card) == []
    assert "# Heading" not in card.split("\n")
    assert "https://" not in card
    assert "www.canary" not in card
    assert "a@canary" not in card
    assert not set(card) & set("\x00\x1b\ud800\u202e\u2028\r")
    assert len(card) < 6000
    careless = card.replace("\\<", "<").replace("\\|", "|")
    assert unescaped(careless) != []


def test_a_card_is_read_as_it_is_in_an_editor():
    """Escapes stand only where some reader of Markdown would act: numbers, dates and names are left alone."""
    said = "2024-2025, 0.1.0; n_topics (x = 0.65): 15 words! R&D + 3 #2"
    assert plain(said) == said.replace("#", "\\#")
    for option in ("--vocabulary-is-public of discreet fit", "-k", "=2 or more", "+/- 3"):
        assert plain(option) == option
    for line in ("- one", "+ one", "---", "=", "- - -", "-", "===", "+"):
        assert plain(line) == f"\\{line}"
    made = release().with_details(period="2024-2025", owner="St. Mary's", contact="q@hospital.example")
    for row in ("| period | 2024-2025 |", "| owner | St. Mary's |", "| contact | q@hospital.example |"):
        assert row in made.card()
    assert "q\\@hospital.example" in made.with_details(contact="x", owner="q@hospital.example").card()


def test_what_a_reader_of_markdown_shows_is_the_text():
    marks = "\\`*_[]()<>#+-.!|~=:&;$^{}@\"'/ 1aw"
    parts = [*marks, "www.", "http://", "&amp;", "12. ", "___", "a_b", "~~", "<b>", "# ", "- "]
    reader = MarkdownIt("commonmark").enable(["table", "strikethrough"])
    tags = re.compile(r"</?(?:p|ol|ul|li|h1|table|thead|tbody|tr|th|td)(?: start=\"0\")?>")
    for seed in range(300):
        rng = np.random.default_rng(seed)
        text = " ".join("".join(rng.choice(parts, rng.integers(1, 12))).split()) or "x"
        for page in (
            f"{plain(text)}\n",
            f"0. {plain(text)}\n",
            f"# {plain(text)}\n",
            f"| a |\n| --- |\n| {plain(text)} |\n",
        ):
            shown = html.unescape(tags.sub("", reader.render(page)).replace("\n", ""))
            assert shown.removeprefix("a" if page.startswith("| a") else "") == text, page
