"""Topics that are mostly noise: found, said, folded away, and never titled like the others."""

import io
import re

import numpy as np
import pytest
from rich.console import Console
from tests.report.report_cases import release
from tests.report.test_report import data_of, text_of

from discreet import PrivateLDA
from discreet.central.forecast import learnability
from discreet.cli.display import print_topics, whole_words
from discreet.privacy.accounting import events
from discreet.privacy.ledger.ledger import Ledger
from discreet.release import Release
from discreet.report.page import report
from discreet.report.wording import forecast_told, mostly_noise, noise_share, questions, told

WORDS = tuple(f"w{chr(97 + i // 26)}{chr(97 + i % 26)}" for i in range(80))


def with_noise_topics(n_noisy=3, n_real=4, sigma=0.004, **changes):
    """Real topics that favour words of their own; others are overall frequencies and denoised noise."""
    rng = np.random.default_rng(1)
    base = rng.dirichlet(np.full(80, 2))
    rows, noise = [], []
    for topic in range(n_real):
        own = np.zeros(80)
        own[topic * 8 : topic * 8 + 8] = 1 / 8
        rows.append(0.5 * own + 0.5 * base)
        noise.append(np.full(80, sigma / 5))
    everything = np.mean(rows, axis=0) if rows else base
    for _ in range(n_noisy):
        row = np.maximum(everything + rng.normal(0, 0.7 * sigma, 80), 0)
        rows.append(row / row.sum())
        noise.append(np.full(80, sigma))
    order = rng.permutation(len(rows))
    weight = np.where(np.arange(len(rows)) < n_real, 5.0, 1.0)
    weight /= weight.sum()
    topic_word = np.array(rows)[order]
    settings = {
        "topic_word_noise": np.array(noise)[order],
        "topic_weight": weight[order],
        "word_weight": weight[order] @ topic_word,
        **changes,
    }
    return Release(topic_word, WORDS, Ledger(1.0, 1e-6), **settings), (order >= n_real).tolist()


def test_topics_of_noise_are_told_from_others():
    made, truth = with_noise_topics()
    assert mostly_noise(made).tolist() == truth
    assert told(made) == "3 of 7 topics are mostly noise"
    assert told(with_noise_topics(n_noisy=1)[0]) == "1 of 5 topics is mostly noise"
    assert told(with_noise_topics(n_noisy=0)[0]) is None


def test_the_share_is_the_noise_of_twenty_words_over_what_sets_them_apart():
    made, _ = with_noise_topics()
    for topic, share in enumerate(noise_share(made)):
        words = zip(made.topic_word[topic], made.word_weight, made.topic_word_noise[topic], strict=True)
        most = sorted(((p - q, s) for p, q, s in words), reverse=True)[:20]
        expected = sum(s for _, s in most) / sum(max(apart, 0) for apart, _ in most)
        assert share == pytest.approx(expected)


def test_words_far_down_the_list_make_no_topic_noise():
    """A thousand more words, each with as much noise as the first and no excess, change nothing."""
    made, truth = with_noise_topics(sigma=0.002)
    few = noise_share(made)
    n_topics = len(made.topic_word)
    rest = np.full((n_topics, 1000), 1e-9)
    topic_word = np.hstack([made.topic_word, rest])
    topic_word /= topic_word.sum(1, keepdims=True)
    noise = np.hstack([made.topic_word_noise, np.full((n_topics, 1000), 0.004)])
    words = (*WORDS, *(f"rest{number}" for number in range(1000)))
    weight = made.topic_weight
    wide = Release(
        topic_word,
        words,
        made.ledger,
        topic_weight=weight,
        word_weight=weight @ topic_word,
        topic_word_noise=noise,
    )
    np.testing.assert_allclose(noise_share(wide), few, rtol=1e-3)
    assert mostly_noise(wide).tolist() == truth


@pytest.mark.parametrize(
    ("settings", "found"), [({"estimator": "HybridGibbsLDA"}, True), ({"denoise": "zero"}, True), ({}, False)]
)
def test_noise_that_nobody_denoised_is_judged_over_all_words(settings, found):
    """Among two thousand words of plain noise the first twenty stand far out; the sum over all of them does not."""
    rng = np.random.default_rng(0)
    base = rng.dirichlet(np.full(2000, 20))
    rows = np.maximum(base + rng.normal(0, 1e-4, (4, 2000)), 0)
    rows /= rows.sum(1, keepdims=True)
    made = Release(rows, [f"w{i}" for i in range(2000)], Ledger(1.0, 1e-6), settings, word_weight=base,
                   topic_word_noise=np.full((4, 2000), 1e-4))  # fmt: skip
    assert mostly_noise(made).all() == found
    assert mostly_noise(made).any() == found


def test_a_fit_of_well_separated_topics_is_not_called_noise():
    """Eight planted topics at epsilon 1, found by the fit; an earlier rule called all of them noise."""
    rng = np.random.default_rng(0)
    topics = rng.dirichlet(np.full(400, 0.02), 8)
    shares = rng.dirichlet(np.full(8, 0.05), 3000)
    counts = rng.multinomial(40, shares @ topics)
    made = PrivateLDA(8, epsilon=1.0, random_state=0, allow_unlearnable=True).fit(counts).release_
    close = np.minimum(made.topic_word[:, None], topics[None]).sum(2).max(1)
    assert close.min() > 0.6
    assert not mostly_noise(made).any()
    many = PrivateLDA(8, epsilon=0.02, random_state=0, allow_unlearnable=True).fit(counts).release_
    assert mostly_noise(many).sum() >= 7


def test_where_noise_is_not_told_nothing_is_said_of_it():
    assert noise_share(release(noise=None)) is None
    assert not mostly_noise(release(noise=None)).any()
    assert not mostly_noise(release(noise=0.0)).any()
    assert not mostly_noise(release(n_topics=1, noise=9.0)).any()  # one topic is all there is


def test_overall_frequencies_follow_from_topics_where_they_are_not_told():
    made, truth = with_noise_topics(word_weight=None)
    assert mostly_noise(made).tolist() == truth


def test_the_page_folds_them_away_and_says_so():
    made, truth = with_noise_topics()
    page = report(made)
    text = text_of(page)
    assert text.count("3 of 7 topics are mostly noise") >= 3  # head, plain words, fold
    fold = page[page.index('id="noise"') :]
    folded = [int(number) for number in re.findall(r'<article class="card noisy" id="topic-(\d+)"', fold)]
    assert folded == np.flatnonzero(truth).tolist()
    shown = re.findall(r'<article class="card" id="topic-(\d+)"', page[: page.index('id="noise"')])
    assert [int(number) for number in shown] == np.flatnonzero(~np.array(truth)).tolist()
    names = [topic["name"] for topic in data_of(page)["topics"]]
    assert [name == "mostly noise" for name in names] == truth
    assert " open" not in re.search(r'<details class="folded"[^>]*>', page)[0]
    named = report(made.with_topic_names(dict.fromkeys(range(1, 8), "Wards")))
    assert {topic["name"] for topic in data_of(named)["topics"]} == {"Wards", "Wards, mostly noise"}


def test_a_page_of_nothing_but_noise_is_not_empty():
    made, _ = with_noise_topics(n_noisy=4, n_real=0)
    assert told(made) == "4 of 4 topics are mostly noise"
    assert re.search(r'<details class="folded" id="noise" open>', report(made))


@pytest.mark.parametrize("width", [34, 80])
def test_the_terminal_lists_them_last_and_breaks_no_word(width):
    made, truth = with_noise_topics()
    long = {"waa": "haemoglobin", "wbb": "inflammation"}
    out = io.StringIO()
    print_topics(
        made.with_word_names(long), 20, Console(file=out, width=width, force_terminal=True, color_system=None)
    )
    said = out.getvalue()
    assert max(map(len, said.splitlines())) <= width
    assert said.count("(mostly") == 3
    assert "3 of 7 topics are mostly noise" in " ".join(said.split())
    first = [
        int(line.split()[0]) - 1 for line in said.splitlines() if line.strip()[:1].isdigit() and "%" in line
    ]
    assert [truth[topic] for topic in first] == sorted(truth)
    words = {word for row in made.with_word_names(long).top_words(20) for word in row}
    assert words <= set(said.split())
    assert "haemoglobin" in words


def test_lines_break_between_words_on_a_terminal_and_nowhere_in_a_pipe():
    sentence = "one sentence of several words that does not fit into a line of thirty columns"
    for terminal in (True, False):
        out = io.StringIO()
        whole_words(Console(file=out, width=30, force_terminal=terminal, color_system=None)).print(sentence)
        lines = out.getvalue().splitlines()
        assert (len(lines) > 1) == terminal
        assert " ".join(" ".join(lines).split()) == sentence


def test_in_a_pipe_each_topic_stays_on_one_line():
    out = io.StringIO()
    print_topics(release(), 30, whole_words(Console(file=out, width=40)))
    lines = [line for line in out.getvalue().splitlines() if "word000" in line]
    assert len(lines) == 5


def test_each_word_stands_beside_its_overall_frequency():
    made = release()
    page = report(made)
    assert page.count('class="overall"') == 5 * 10 + 1  # and one in the legend
    assert text_of(page).count("over all topics") >= 50
    assert 'class="overall"' not in report(release(weights=False))


@pytest.mark.parametrize(
    ("change", "question", "answer"),
    [
        ({}, "Who is protected?", "Each document, one at a time"),
        ({}, "Who made it, and when?", "Nobody said"),
        ({}, "What was reviewed?", "names and numbers that many documents share"),
        ({}, "Is this epsilon usual?", "between 1 and 10"),
        ({"epsilon": np.inf}, "May it be published?", "No. It was fitted without privacy"),
        ({"epsilon": np.inf}, "Who is protected?", "Nobody."),
        ({"reproducible": True}, "May it be published?", "No. The noise came from a seed"),
        ({"noise": None}, "Can you rely on the topics?", "does not say how large its noise is"),
    ],
)
def test_a_privacy_officer_is_answered(change, question, answer):
    made = release(**change)
    assert answer in dict(questions(made))[question]
    assert answer in text_of(report(made))


def pure(epsilon, unit="report", neighboring="replace_one", **settings):
    ledger = Ledger(epsilon, events.PURE_DELTA, privacy_unit=unit, neighboring=neighboring)
    ledger.reserve(events.pure(epsilon), "reports")
    return Release(np.full((2, 2), 0.5), ("ab", "cd"), ledger, settings)


def test_who_is_protected_follows_the_neighbours_and_the_size_of_epsilon():
    for made, expected in (
        (
            pure(1.0, n_reports=900),
            "whatever any single report had said, nearly the same would have been published.",
        ),
        (
            pure(12.0, n_reports=900),
            "whatever any single report had said, the same could have been published, but",
        ),
        (
            pure(1.0, "document"),
            "whatever any single document had been, nearly the same would have been published.",
        ),
        (
            pure(1.0, "document", "add_or_remove_one"),
            "with or without any single document, nearly the same would",
        ),
        (
            pure(12.0, "document", "add_or_remove_one"),
            "with or without any single document, the same could have",
        ),
    ):
        said = dict(questions(made))["Who is protected?"]
        kind, replaced = made.promise.privacy_unit, made.promise.neighboring == "replace_one"
        assert expected in said
        assert expected in " ".join(made.card().split())
        assert expected in text_of(report(made))
        assert ("with or without" in said) != replaced
        assert (f"The number of {kind}s is" in said) == replaced
        assert ("is exact and not hidden." in said) == (kind == "report")
        assert ("nearly the same" in said) == (made.promise.epsilon < 5)


def test_answers_come_from_what_was_written_down():
    made = release().with_details(
        owner="Quality office",
        date="2026-03-01",
        period="2025",
        contact="q@x.example",
        other_spending="epsilon 1",
    )
    told_of = dict(questions(made.with_review("Roe")))
    assert told_of["Who made it, and when?"] == (
        "Made by Quality office, on 2026-03-01, from texts of 2025. Questions: q@x.example."
    )
    assert "Outside this ledger: epsilon 1." in told_of["What was spent?"]
    assert told_of["What was reviewed?"] == "Reviewed by Roe: nothing changed."


def test_the_share_of_text_is_told_where_it_was_released():
    assert "make up" not in text_of(report(release()))
    assert "The words make up about 84 % (a noisy number)" in text_of(
        report(release(settings={"text_covered": 0.842}))
    )
    noisy = release(settings={"text_covered": 0.0, "text_covered_noise": 0.031})
    assert "The words make up about 0 % (±6 points) of the text" in text_of(report(noisy))


@pytest.mark.parametrize(
    ("settings", "begins"),
    [
        (
            {"forecast": "Forecast: too few words. 15 words cannot tell 8 topics apart."},
            "Hardly. The forecast was: too few",
        ),
        (
            {"forecast": "Forecast: weak. x = 9.1."},
            "Hardly. The forecast was: weak.",
        ),
        (
            {"forecast": "Forecast: mostly noise. x = 20."},
            "Hardly. The forecast was: mostly noise.",
        ),
        (
            {"forecast": "Forecast: good. x = 1.", "text_covered": 0.26},
            "Hardly. The words make up about 26 %",
        ),
        (
            {"forecast": "Forecast: good. x = 1.", "text_covered": 0.9},
            "In every topic the words",
        ),
    ],
)
def test_topics_of_which_little_was_to_be_expected_are_not_praised(settings, begins):
    answer = dict(questions(release(settings=settings)))["Can you rely on the topics?"]
    assert answer.startswith(begins)
    assert "No topic is mostly noise" not in answer


def test_a_forecast_of_the_library_is_read_as_it_is_written():
    for words, topics, units, verdict in (
        (10, 8, 1e6, "too few words"),
        (2000, 50, 1e3, "mostly noise"),
        (2000, 20, 1.4e4, "weak"),
    ):
        told = learnability(words, topics, units, 0.25)
        assert told.verdict == verdict
        answer = dict(questions(release(settings={"forecast": told.in_words()})))[
            "Can you rely on the topics?"
        ]
        assert answer.startswith(f"Hardly. The forecast was: {verdict}")


def test_what_was_forecast_is_no_surprise():
    made, _ = with_noise_topics()
    good, weak = (made.with_settings(forecast=f"Forecast: {verdict}. x = 9.") for verdict in ("good", "weak"))
    assert forecast_told(good).startswith("More noise came than was forecast; 3 of 7 topics are mostly noise")
    assert "good" not in forecast_told(good)
    assert "As was to be expected, 3 of 7 topics are mostly noise" in forecast_told(weak)
    assert forecast_told(weak).startswith("Forecast: weak. x = 9.")
    assert "Forecast" not in forecast_told(weak, again=False)
    assert forecast_told(made) is None
