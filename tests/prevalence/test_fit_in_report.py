"""How good a model is, measured privately: by the command, into a file, onto the page of the model it belongs to."""

import json
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from tests.prevalence.test_private_fit import HELD_OUT, trained

from discreet import Ledger, PrivateFit, Release
from discreet.cli.app import run
from discreet.errors import ReleaseError
from discreet.release.numbers import FitRelease

WORDS = tuple(f"{stem}{letter}" for stem in ("fall", "fever", "ticket") for letter in "abcdefgh")


@cache
def named():
    return replace(trained(), vocabulary=WORDS)


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("fit")
    named().save(folder / "model")
    with (folder / "notes.jsonl").open("w") as file:
        for row, counted in enumerate(HELD_OUT[:2000].toarray()):
            body = " ".join(np.repeat(WORDS, counted))
            file.write(json.dumps({"body": body, "patient": f"p{row // 2}", "ward": "north"}) + "\n")
    return folder


def evaluate(place, *options):
    notes = str(place / "notes.jsonl")
    return run(["evaluate", str(place / "model"), notes, "--text", "body", *options])


def test_the_page_shows_perplexity_against_the_unigram_with_its_interval():
    fit = PrivateFit(trained(), epsilon=0.5, random_state=0).fit(HELD_OUT).release_
    page = trained().to_html(fit=fit)
    low, high = (100 * np.exp(-end) for end in reversed(fit.interval()))
    assert [100 * end for end in fit.ratio_interval()] == pytest.approx([low, high])
    assert low < 100 * fit.perplexity_ratio < high
    assert f"{100 * fit.perplexity_ratio:.1f}&nbsp;% of that of word frequencies alone" in page
    assert f"{low:.1f} to {high:.1f}&nbsp;%" in page
    for value, ends in (
        (fit.perplexity, fit.perplexity_interval()),
        (fit.unigram_perplexity, fit.unigram_interval()),
    ):
        assert f"{value:,.0f} ({ends[0]:,.0f} to {ends[1]:,.0f})" in page
    assert "ε&nbsp;=&nbsp;0.5" in page
    assert "not for release" in page  # both came from seeds
    assert 'id="fit"' not in trained().to_html()
    assert page == trained().to_html(fit=fit)


def test_a_fit_of_another_model_is_refused():
    fit = PrivateFit(trained(), epsilon=0.5, random_state=0).fit(HELD_OUT).release_
    other = replace(
        trained(), topic_word=trained().topic_word[::-1], topic_weight=None, topic_word_noise=None
    )
    with pytest.raises(ReleaseError, match="other topics than"):
        other.to_html(fit=fit)
    for same in (trained().with_settings(note="x"), named()):
        assert "How good it is" in same.to_html(fit=fit)


def test_no_guessed_word_can_be_tried_against_a_fit(tmp_path):
    """A fit of topics that nobody has reviewed may be published: all of it is the same whatever a word was."""
    told = []
    for name in ("okafor", "brown"):
        topics = replace(named(), vocabulary=(name, *WORDS[1:]))
        fit = PrivateFit(topics, epsilon=0.5, random_state=0).fit(HELD_OUT[:300]).release_
        fit.save(tmp_path / f"{name}.json")
        file = json.loads((tmp_path / f"{name}.json").read_text())
        for booked in (file["ledger"], *file["ledger"]["entries"]):
            booked.update(dict.fromkeys(("id", "nonce", "digest", "time"), ""))  # fresh for each booking
        told.append(file)
    assert told[0] == told[1]
    assert "model" in told[0]["configuration"]


@pytest.mark.parametrize("unit", ["document", "person"])
def test_the_command_books_releases_and_says_one_figure(place, tmp_path, capsys, unit):
    by = ["--person", "patient"] if unit == "person" else []
    ledger, out = tmp_path / "budget.json", tmp_path / "fit.json"
    assert evaluate(place, *by, "--epsilon", "0.5", "--ledger", str(ledger), "--out", str(out)) == 0
    said = capsys.readouterr()
    assert said.out.startswith("Perplexity lies ")
    assert "epsilon = 0.5" in said.err
    assert "exact statistics" not in said.err
    made = FitRelease.load(out)
    assert made.in_words() == said.out.strip()
    assert made.promise.privacy_unit == unit
    assert made.noise > 0
    assert Ledger.open(ledger).spent().epsilon == pytest.approx(0.5, rel=1e-3)
    exact = PrivateFit(named(), epsilon=float("inf")).fit(HELD_OUT[:2000]).release_.gain
    assert made.gain == pytest.approx(exact, abs=0.2)
    # The budget is spent, and what was measured goes onto the page.
    assert evaluate(place, *by, "--epsilon", "0.5", "--ledger", str(ledger)) == 2
    page = tmp_path / "page.html"
    assert run(["report", str(place / "model"), "--fit", str(out), "--out", str(page)]) == 0
    assert "How good it is" in page.read_text()


def test_json_holds_the_interval(place, capsys):
    assert evaluate(place, "--epsilon", "1", "--json", "--quiet") == 0
    told = json.loads(capsys.readouterr().out)
    assert told["low"] < told["gain"] < told["high"]
    assert told["perplexity_interval"][0] < told["perplexity"] < told["perplexity_interval"][1]
    assert told["unigram_interval"][0] < told["unigram_perplexity"] < told["unigram_interval"][1]
    assert told["perplexity"] == pytest.approx(told["unigram_perplexity"] * told["perplexity_ratio"])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--ledger", "b.json"], "say --epsilon"),
        (["--out", "fit.json"], "say --epsilon"),
        (["--person", "patient"], "say --epsilon"),
        (["--epsilon", "0.1", "--label", "ward"], "--label: needs exact figures"),
        (["--epsilon", "-1"], "epsilon must be"),
        (["--epsilon", "0.1", "--out", "fit.txt"], "must end in"),
    ],
)
def test_bad_calls_release_nothing(place, tmp_path, monkeypatch, capsys, options, message):
    monkeypatch.chdir(tmp_path)
    assert evaluate(place, *options) == 2
    said = capsys.readouterr()
    assert message in said.err
    assert not said.out
    assert not list(tmp_path.iterdir())


def test_a_broken_file_of_a_fit_is_refused(place, tmp_path, capsys):
    (tmp_path / "fit.json").write_text("{}")
    assert (
        run(
            [
                "report",
                str(place / "model"),
                "--fit",
                str(tmp_path / "fit.json"),
                "--out",
                str(tmp_path / "p.html"),
            ]
        )
        == 2
    )
    assert not (tmp_path / "p.html").exists()
    assert Release.load(place / "model") == named()
    capsys.readouterr()
