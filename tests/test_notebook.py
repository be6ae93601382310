"""What notebooks, help() and waiting people see."""

import html.parser
import inspect
import json
import re
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from tests.report.report_cases import HOSTILE, release

import discreet
from discreet import Corpus, Ledger, ParameterError, PrivateLDA, Release, fit_topics
from discreet._base import progress
from discreet._base.display import table_html
from discreet.evaluate.choosing import TopicNumbers
from discreet.privacy.accounting import events
from discreet.release.numbers import NumbersRelease
from discreet.report.wording import naming

TEXTS = ["zzmarkerroe came in at night"] * 3


class Tags(html.parser.HTMLParser):
    def __init__(self, page):
        super().__init__()
        self.seen, self.text = set(), []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.seen.add(tag)

    def handle_data(self, data):
        self.text.append(data)


def shown(thing):
    page = thing._repr_html_()
    tags = Tags(page)
    drawn = {"svg", "g", "title", "circle", "text"}
    assert tags.seen <= {"div", "strong", "table", "thead", "tbody", "tr", "th", "td", *drawn}
    return " ".join(" ".join(tags.text).split())


def test_a_release_shows_its_promise_and_topics():
    made = release(words=HOSTILE, noise=0.0005).with_topic_names({1: "<script>x"}).with_details(title="Notes")
    said = shown(made)
    assert said.startswith("Notes: 5 topics, 60 words")
    assert "epsilon = 1.061, delta = 1e-06, for each document" in said
    assert "<script>x" in said  # as text
    for row in made.top_words(3):
        assert row[0] in said
    assert "not for release" in shown(release(reproducible=True))
    assert "mostly noise" in shown(release(noise=0.05))
    assert "topic share name words" in said
    assert "topic share words" in shown(release(noise=0.0005))  # nobody gave a name


def test_a_ledger_shows_what_is_spent_left_and_by_what():
    ledger = Ledger(2.0, 1e-6)
    ledger.reserve(events.gaussian(8.0), "topics <b>")
    said = shown(ledger)
    assert f"left epsilon = {ledger.remaining().epsilon:.4g}" in said
    assert "topics <b>" in said
    assert "Gaussian noise, multiplier 8" in said
    assert len(ledger.entries) == 1  # looking spends nothing
    assert "nothing: closed" in shown(ledger.snapshot())
    assert "no limit" in shown(Ledger(float("inf"), 1e-6))


def test_a_ledger_counts_what_was_booked_at_once():
    """Words and topics of one fit are booked together; the card counts its lines, as the refusals count bookings."""
    ledger = Ledger(4.0, 1e-6)
    ledger.plan(((events.gaussian(8.0), "words"), (events.gaussian(9.0), "topics")))
    ledger.reserve(events.gaussian(10.0), "shares")
    said = shown(ledger)
    assert re.findall(r"(\d) (words|topics|shares)", said) == [
        ("1", "words"),
        ("2", "topics"),
        ("3", "shares"),
    ]


def test_a_corpus_shows_sizes_and_no_text():
    made = Corpus.from_texts(TEXTS)
    said = shown(made)
    assert "documents 3" in said
    assert "do not publish" in said
    assert "zzmarkerroe" not in said + repr(made)


def test_an_estimator_shows_itself_as_in_scikit_learn():
    assert "PrivateLDA" in PrivateLDA(3, epsilon=2.0)._repr_html_()


def test_long_tables_are_cut():
    assert "and 7 more" in table_html(("a",), [("x",)] * 12, most=5)
    assert "\u2026" in table_html(("a",), [("x" * 500,)])


def test_tables_become_frames():
    made = release(n_topics=3, n_words=30)
    table = made.to_frame(4)
    assert list(table.columns) == [
        "topic",
        "name",
        "rank",
        "word",
        "probability",
        "noise",
        "above_noise",
        "over_all_topics",
    ]
    assert [group["word"].tolist() for _, group in table.groupby("topic")] == made.top_words(4)
    assert table["probability"][4] == made.topic_word[1].max()
    assert len(made.to_frame(30)) == 90
    assert "noise" not in release(noise=None).to_frame(3).columns
    topics = made.to_frame()
    assert list(topics.columns) == ["topic", "name", "share", "words"]
    assert topics["share"].tolist() == sorted(made.topic_weight.tolist(), reverse=True)
    assert topics["words"].tolist() == [" ".join(made.top_words(10)[topic - 1]) for topic in topics["topic"]]
    ledger = Ledger(2.0, 1e-6)
    ledger.reserve(events.gaussian(8.0), "topics")
    assert ledger.to_frame()["purpose"].tolist() == ["topics"]
    folds = np.ones((2, 3))
    numbers = TopicNumbers((5, 10), folds, folds, folds, np.ones(3))
    assert numbers.to_frame()["n_topics"].tolist() == [5, 10]


ROOT = [name for name in discreet.__all__ if callable(getattr(discreet, name))]


@pytest.mark.parametrize("name", ROOT)
def test_help_is_short(name):
    """No signature spells out what numpy's aliases stand for."""
    thing = getattr(discreet, name)
    members = [
        member
        for key, member in inspect.getmembers(thing, inspect.isfunction)
        if not key.startswith("_") and member.__module__.startswith("discreet")
    ]
    for one in [thing, *members]:
        signature = str(inspect.signature(one))
        assert "numpy._typing" not in signature
        assert "numpy.ndarray[" not in signature
        assert max(map(len, signature.split(", "))) < 100, signature


@pytest.fixture
def stderr(monkeypatch, capsys):
    """What stands on standard error, a clock that ticks, and no progress by default afterwards."""
    clock = iter(np.arange(0, 1000, 0.6).tolist())
    monkeypatch.setattr(progress.time, "monotonic", lambda: next(clock))
    monkeypatch.setattr(progress, "_default", progress._Default())
    return lambda: capsys.readouterr().err


def testprogress_are_drawn_where_they_are_wanted_and_end_in_a_new_line(stderr):
    discreet.show_progress()
    for done in range(5):
        progress.tell(None, "rounds", done, 4)
    drawn = stderr()
    assert drawn.endswith("4/4  2 s\n")
    assert drawn.count("\n") == 1
    assert "[############............] 2/4" in drawn


def test_short_stages_are_not_drawn(stderr):
    discreet.show_progress()
    progress.tell(None, "quick", 0, 1)
    progress.tell(None, "quick", 1, 1)
    assert stderr() == ""


def test_a_callback_of_ones_own_takes_their_place(stderr):
    discreet.show_progress()
    seen = []
    for done in range(5):
        progress.tell(lambda *what: seen.append(what), "rounds", done, 4)
    assert len(seen) == 5
    assert stderr() == ""


def test_nothing_is_drawn_in_a_script_unless_it_is_asked_for(stderr, monkeypatch):
    for interactive, wanted, expected in (
        (False, None, False),
        (True, None, True),
        (True, False, False),
        (False, True, True),
    ):
        monkeypatch.delattr(sys, "ps1", raising=False)
        if interactive:
            monkeypatch.setattr(sys, "ps1", ">>> ", raising=False)
        discreet.show_progress(wanted)
        assert (progress._default.callback() is not None) == expected


def test_a_display_that_fails_ends_nothing(monkeypatch):
    monkeypatch.setattr(progress, "_default", progress._Default())
    discreet.show_progress()
    monkeypatch.setattr(sys, "stderr", None)
    monkeypatch.setattr(progress, "_QUIET", 0.0)
    for done in range(3):
        progress.tell(None, "x", done, 2)
    with pytest.raises(AttributeError):
        progress.Bars()("x", 2, 2)  # so the display did fail


@pytest.mark.integration
def test_a_fit_in_a_script_prints_nothing_and_one_that_asks_does():
    code = (
        "import numpy as np, discreet, time; from discreet._base import progress; {show}\n"
        "progress._QUIET = 0.0\n"
        "discreet.PrivateLDA(2, epsilon=8.0, allow_unlearnable=True, random_state=0)"
        ".fit(np.random.default_rng(0).poisson(1, (300, 8)))"
    )
    for show, expected in (("", False), ("discreet.show_progress()", True)):
        done = subprocess.run(
            [sys.executable, "-c", code.format(show=show)], capture_output=True, text=True, check=True
        )
        assert ("training rounds" in done.stderr) == expected
        assert done.stdout == ""


def test_a_release_draws_its_map_without_script_or_style_sheet():
    made = release(n_topics=5)
    shown = made._repr_html_()
    drawing = shown[shown.index("<svg") : shown.index("</svg>")]
    assert drawing.count("<circle") == 5
    assert [int(number) for number in re.findall(r">(\d+)</text>", drawing)] == [1, 2, 3, 4, 5]
    assert ", ".join(naming(made)[0]) in drawing
    assert not re.search("script|style>|class=|href", drawing)
    assert (
        "<svg" not in release(epsilon=float("inf"))._repr_html_()
    )  # whose words are shown where they are asked for
    assert Tags(release(words=HOSTILE)._repr_html_()).seen & {"script", "img", "b"} == set()


def test_a_release_says_what_its_ledger_has_left():
    """After a fit in Python nothing said it."""
    texts = ["ward bed nurse", "storm coast law"] * 300
    ledger = Ledger(8.0)
    how = {"n_topics": 2, "random_state": 0, "allow_unlearnable": True}
    made = fit_topics(texts, epsilon=6.0, ledger=ledger, **how)
    left = f"{ledger.remaining().epsilon:.3g}"
    assert f"about {left} of epsilon = 8 on the ledger, for other runs" in made._repr_html_()
    assert "nothing of epsilon = 6 on the ledger" in fit_topics(texts, epsilon=6.0, **how)._repr_html_()
    assert "on the ledger" not in release(epsilon=float("inf"))._repr_html_()


def test_similar_words_stand_in_the_same_topics():
    topic_word = np.array([[0.4, 0.4, 0.1, 0.1], [0.05, 0.05, 0.45, 0.45]])
    made = Release(
        topic_word, ("pain", "ache", "food", "soup"), Ledger(1.0), topic_weight=np.array([0.5, 0.5])
    )
    (first, alike), (_, less), _ = made.similar_words("pain")
    assert (first, alike) == ("ache", pytest.approx(1.0))
    topics = topic_word / topic_word.sum(0)
    distance = np.sqrt(1 - np.sqrt(topics[:, 0] * topics[:, 2]).sum())
    assert less == pytest.approx(1 - float(distance))
    nearly = Release(
        np.array([[0.5, 0.499, 0.001], [0.001, 0.1, 0.899]]), ("pain", "ache", "food"), Ledger(1.0)
    )
    (_, alike), _ = nearly.similar_words("pain")
    assert alike < 0.8  # with the Bhattacharyya coefficient, .94: nearly all words seemed alike
    assert [word for word, _ in made.similar_words("food", 1)] == ["soup"]
    with pytest.raises(ParameterError, match="none of them"):
        made.similar_words("tea")
    with pytest.raises(ParameterError, match=r"Did you mean 'pain'\?"):
        made.similar_words("paim")


def test_frames_hold_what_json_can(tmp_path):
    made = release(n_topics=2, n_words=10)
    assert len(json.loads(made.to_frame(10).to_json())["word"]) == 20
    assert len(json.loads(made.to_frame().to_json())["words"]) == 2


def test_shares_and_fits_show_themselves():
    import numpy as np

    from discreet import PrivateFit, PrivateLDA, TopicPrevalence

    counts = np.random.default_rng(0).poisson(0.6, (400, 9))
    topics = PrivateLDA(2, epsilon=4.0, allow_unlearnable=True, random_state=0).fit(counts).release_
    fit = PrivateFit(topics, epsilon=1.0, random_state=0).fit(counts).release_
    groups = ["<b>", "south"]
    shares = (
        TopicPrevalence(topics, groups=groups, epsilon=1.0, random_state=0)
        .fit(counts, by=groups * 200)
        .release_
    )
    for made in (fit, shares):
        shown = made._repr_html_()
        assert "for each document" in shown
        assert "not for release" in shown
        assert "documents" in shown
        assert "<b>" not in shown
    assert f"{fit.gain:.4f} nats" in fit._repr_html_()
    assert "&lt;b&gt;" in shares._repr_html_()
    assert f"{100 * shares.shares().share[1, 0]:.1f} %" in shares._repr_html_()


def test_a_kind_of_numbers_that_no_page_knows_shows_its_promise_and_size():
    class Length(NumbersRelease):
        PURPOSE = "mean length"
        ledger, configuration, reproducible = Ledger(1.0, 1e-6, privacy_unit="person"), {}, False
        n_units = 1234.4

        def card(self):
            return "# Mean length"

    shown = Length()._repr_html_()
    assert all(
        told in shown
        for told in ("Mean length", "for each person", "drawn by the operating system", "about 1,234")
    )


@pytest.mark.parametrize("make", ["GibbsLDA", "VariationalLDA", "PrivateLDA"])
def test_no_model_without_privacy_shows_words_unless_it_is_asked(make):
    """A notebook is saved with what it shows, and shared."""
    names = [f"zzmarker{i}" for i in range(6)]
    X = pd.DataFrame(np.random.default_rng(0).poisson(1.0, (60, 6)), columns=names)
    model, public = getattr(discreet, make)(2), {}
    if make == "PrivateLDA":
        model.set_params(epsilon=np.inf, n_rounds=2)
        public = {"words_are_public": True}
    model.fit(X, **public)
    assert list(model.feature_names_in_) == names
    assert "components_" in model._repr_html_()
    assert "zzmarker" not in model._repr_html_() + repr(model)
    if make == "PrivateLDA":
        page = model.release_._repr_html_()
        assert "zzmarker" not in page
        assert "not private: top_words() tells them" in page
        private = PrivateLDA(2, epsilon=8.0, random_state=0, allow_unlearnable=True).fit(X, **public)
        assert "zzmarker" in private.release_._repr_html_()
        assert "zzmarker" in private._repr_html_()
