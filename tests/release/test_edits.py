"""A reviewer's edits: what goes is gone, what stays adds up, and the promise is the same."""

from dataclasses import replace

import numpy as np
import pytest
from tests.report.report_cases import HOSTILE, release

from discreet import Corpus, Ledger
from discreet.errors import ReleaseError
from discreet.release import Release
from discreet.release.edits import apply, details_that_hold, parse, word_in_line
from discreet.report.export import write_csv


def naive_without(made, gone):
    """Remove words one topic at a time, slowly."""
    rows, kept_shares = [], []
    for row in made.topic_word.tolist():
        left = [p for p, word in zip(row, made.vocabulary, strict=True) if word not in gone]
        kept_shares.append(sum(left))
        rows.append([p / sum(left) for p in left])
    weights = [w * kept for w, kept in zip(made.topic_weight.tolist(), kept_shares, strict=True)]
    return rows, [w / sum(weights) for w in weights]


def test_words_go_and_the_rest_adds_up():
    made = release(noise=0.01)
    gone = [made.top_words(1)[2][0], "word00000", "word00041"]
    left = made.without_words(gone)
    rows, weights = naive_without(made, gone)
    np.testing.assert_allclose(left.topic_word, rows, rtol=1e-12)
    np.testing.assert_allclose(left.topic_weight, weights, rtol=1e-12)
    np.testing.assert_allclose(left.word_weight, left.topic_weight @ left.topic_word, rtol=1e-12)
    kept = made.topic_word.sum(1) - made.topic_word[:, [made.vocabulary.index(w) for w in gone]].sum(1)
    np.testing.assert_allclose(left.topic_word_noise[:, 0], 0.01 / kept)
    assert not set(gone) & set(left.vocabulary)
    assert len(left.vocabulary) == 57
    assert left.ledger.to_json() == made.ledger.to_json()
    assert left.guarantee == made.guarantee
    assert made.vocabulary != left.vocabulary  # the release that was reviewed is as it was
    assert len(made.vocabulary) == 60


def test_what_was_removed_stands_nowhere(tmp_path):
    made = release(words=("okafor", "bleep"))
    left = made.without_words(["okafor"]).without_words(["bleep"]).with_review("Jane Roe", on="2026-03-01")
    assert left.review == "reviewed by Jane Roe on 2026-03-01: 2 words removed"
    left.save(tmp_path / "model")
    left.to_html(tmp_path / "report.html")
    write_csv(left, tmp_path / "words.csv")
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert len(files) == 5
    assert all(b"okafor" not in path.read_bytes() for path in files)
    assert Release.load(tmp_path / "model") == left
    assert "reviewed by Jane Roe on 2026" in (tmp_path / "model/README.md").read_text()
    assert "2 words removed" in (tmp_path / "report.html").read_text()


@pytest.mark.parametrize(
    ("second", "said"),
    [
        (
            {"by": "Kim", "on": "2026-04-02"},
            "reviewed by Jane on 2026-03-01, and by Kim on 2026-04-02: {}. Seen.",
        ),
        ({"by": "Kim", "note": "All."}, "reviewed by Jane on 2026-03-01, and by Kim: {}. Seen. All."),
        ({"by": "Jane", "on": "2026-04-02"}, "reviewed by Jane on 2026-04-02: {}. Seen."),
    ],
)
def test_who_reviewed_first_stays_with_what_was_done(second, said):
    made = release(words=("okafor", "bleep", "car"))
    first = made.without_words(["okafor", "bleep"]).with_review("Jane", on="2026-03-01", note="Seen.")
    assert first.without_words(["car"]).with_review(**second).review == said.format("3 words removed")


def test_a_name_that_holds_a_removed_word_goes_with_it():
    made = release().with_topic_names({1: "The Word00007 topic", 2: "word 7 and others"})
    left = made.without_words(["word00007"])
    assert "Word00007" not in str(dict(left.configuration))
    assert "word 7 and others" in left.configuration.values()


def test_words_that_get_one_name_are_added_up():
    made = release(noise=0.01)
    left = made.with_word_names({"word00003": "word00001", "word00010": "fever", "word00020": "fever"})
    assert len(left.vocabulary) == 58
    assert left.vocabulary[1] == "word00001"
    np.testing.assert_allclose(left.topic_word[:, 1], made.topic_word[:, 1] + made.topic_word[:, 3])
    fever = left.vocabulary.index("fever")
    assert left.word_weight[fever] == pytest.approx(made.word_weight[[10, 20]].sum())
    np.testing.assert_allclose(left.topic_word_noise[:, fever], 0.02)
    assert left.review == "edited, nobody says by whom: 3 words renamed"


def test_topics_are_named_merged_and_removed():
    made = release(noise=0.01).with_topic_names({1: "Wards", 4: "Nights", np.int64(5): " Sea "})
    assert made.topic_names == ("Wards", None, None, "Nights", "Sea")
    merged = made.merge_topics([4, 2])
    weight = made.topic_weight
    expected = (weight[1] * made.topic_word[1] + weight[3] * made.topic_word[3]) / (weight[1] + weight[3])
    np.testing.assert_allclose(merged.topic_word[1], expected)
    np.testing.assert_array_equal(merged.topic_word[[0, 2, 3]], made.topic_word[[0, 2, 4]])
    np.testing.assert_allclose(merged.topic_weight, [weight[0], weight[1] + weight[3], weight[2], weight[4]])
    np.testing.assert_allclose(merged.topic_weight @ merged.topic_word, merged.word_weight, rtol=1e-12)
    np.testing.assert_allclose(merged.topic_word_noise, 0.01)
    assert merged.topic_names == ("Wards", "Nights", None, "Sea")
    left = merged.without_topics([1])
    assert left.topic_names == ("Nights", None, "Sea")
    np.testing.assert_allclose(left.topic_weight, merged.topic_weight[1:] / merged.topic_weight[1:].sum())
    np.testing.assert_allclose(left.topic_weight @ left.topic_word, left.word_weight, rtol=1e-12)
    assert "1 topic removed, 1 topic merged into another, 2 topics named" in left.review
    assert "Nights" in left.card()


def test_a_topic_is_named_by_the_number_that_tables_show():
    """Names counted from 0 and tables from 1: a label stood at the topic after the one that was meant."""
    made = release()
    table = made.to_frame()
    number, words = int(table["topic"][1]), table["words"][1]
    named = made.with_topic_names({number: "Waiting"})
    for shown in (named.to_frame(), named.to_frame(10)):
        names = dict(zip(shown["topic"], shown["name"], strict=True))
        assert names == {topic: "Waiting" if topic == number else None for topic in range(1, 6)}
    told = named.to_frame()
    assert told["words"][list(told["name"]).index("Waiting")] == words
    left = named.without_topics([topic for topic in range(1, 6) if topic != number])
    assert left.topic_names == ("Waiting",)
    assert " ".join(left.top_words(10)[0]) == words
    assert made.without_topics([number]).merge_topics([1, 4]).topic_word.shape[0] == 3


def test_a_topic_that_would_be_empty_is_told_by_its_number():
    made = release(n_topics=2, n_words=20)
    apart = np.kron(np.eye(2), np.full(10, 0.1))
    parted = replace(made, topic_word=apart, word_weight=apart.mean(0), topic_weight=np.full(2, 0.5))
    with pytest.raises(ReleaseError, match=r"^topic 2 would hold no word"):
        parted.without_words(made.vocabulary[10:])


def test_without_weights_topics_merge_alike():
    made = release(weights=False, noise=None)
    merged = made.merge_topics([1, 2], [3, 5])
    np.testing.assert_allclose(merged.topic_word[1], made.topic_word[[2, 4]].mean(0))
    assert merged.topic_weight is None
    assert merged.topic_word_noise is None


def test_texts_can_be_seen_under_what_is_left():
    made = release(n_topics=3, n_words=30)
    left = made.without_words(["word00002"]).merge_topics([1, 3])
    counts = np.eye(29, dtype=np.int32) * 5
    corpus = Corpus(counts, left.vocabulary)
    shares = left.transform(corpus)
    assert shares.shape == (29, 2)
    assert (shares[9:18].argmax(1) == 1).all()  # words 10 to 18 are of the middle topic
    assert (shares[:8].argmax(1) == 0).all()


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (lambda r: r.without_words("word00001"), "expected a list of words"),
        (lambda r: r.without_words([]), "expected a list of words"),
        (lambda r: r.without_words(["word00001", "other"]), "not a word of this release: 'other'; compare"),
        (lambda r: r.without_words(r.vocabulary), "would hold no word"),
        (lambda r: r.with_word_names({}), "a mapping of words"),
        (lambda r: r.with_word_names({"word00001": " "}), "the new name of a word must be a text"),
        (lambda r: r.with_topic_names({6: "x"}), "whole numbers from 1 to 5"),
        (lambda r: r.with_topic_names({True: "x"}), "whole numbers"),
        (
            lambda r: r.with_topic_names({0: "x"}),
            "no topic 0: topics go by whole numbers from 1 to 5, as in to_frame",
        ),
        (lambda r: r.merge_topics([0, 1]), "no topic 0"),
        (lambda r: r.without_topics([0]), "no topic 0"),
        (lambda r: r.with_topic_names({1: 7}), "the name of a topic must be a text"),
        (lambda r: r.with_topic_names({1: "x" * 3000}), "1 to 2000 characters"),
        (lambda r: r.merge_topics([1]), "groups of two or more"),
        (lambda r: r.merge_topics([1, 2], [2, 3]), "groups of two or more"),
        (lambda r: r.merge_topics(), "groups of two or more"),
        (lambda r: r.merge_topics([1, 9]), "no topic 9: topics go by whole numbers"),
        (lambda r: r.without_topics(range(1, 6)), "no topic would be left"),
        (lambda r: r.with_details(titel="x"), "the details of a release are title"),
        (lambda r: r.with_details(title=3), "title must be a text"),
        (lambda r: r.with_review(""), "by must be a text"),
    ],
)
def test_what_cannot_be_done_is_said(edit, message):
    with pytest.raises(ReleaseError, match=message):
        edit(release())


def test_details_are_kept_and_shown():
    made = release().with_details(title="Night notes", owner="Dr Roe", contact="a@b.example", period="2025")
    made = made.with_details(other_spending="epsilon 1 for ward counts")
    assert list(made.details) == ["title", "owner", "contact", "period", "other_spending"]
    card = made.card()
    assert card.startswith("# Night notes\n")
    assert "| also spent on these texts | epsilon 1 for ward counts |" in card
    assert "about\\." not in card  # not among the settings a second time


def test_hostile_names_and_details_stay_text(tmp_path):
    made = release()
    for number, hostile in enumerate(word for word in HOSTILE if 0 < len(word) < 2000):
        marked = made.with_topic_names({number % 5 + 1: hostile}).with_details(title=hostile, owner=hostile)
        marked = marked.with_review(hostile, note=hostile)
        assert "<script>window" not in marked.to_html()
        assert "<img" not in marked.to_html()
        assert "<img" not in marked.card().replace("\\<img", "")
        marked.save(tmp_path / str(number))
        assert Release.load(tmp_path / str(number)) == marked
    lies = made.with_settings(**{"topic_name.0": 7, "topic_name.99": "x", "review.words_removed": "many"})
    assert lies.topic_names == (None,) * 5
    assert "nothing changed" in lies.review
    assert made.without_words(["word00001"]).with_settings(**{"review.words_removed": True}).review


def of_words(*words, **settings):
    n = len(words)
    return Release(np.full((3, n), 1 / n), words, Ledger(1, 1e-6), configuration=settings)


@pytest.mark.parametrize(
    ("word", "name", "goes"),
    [
        ("dr okafor", "Dr. Okafor's patients", True),
        ("o'brien", "O'Brien, New-York", True),
        ("o'brien", "O\u2019BRIEN", True),
        ("new-york", "In New York", True),
        ("new_york", "New York", True),
        ("okafor", "Dr Okafor's patients", True),
        ("okafor", "Okafors", True),
        ("okafor", "Oka\u00adfor", True),
        ("o'brien", "OBrien", True),
        ("4271", "bleep 42 71", True),
        ("dr okafor", "Okafor, Dr", False),
        ("\u6771\u4eac", "\u6771\u4eac\u75c5\u9662", True),
        ("\ufb01le", "the file", True),
        ("\u2603", "\u2603 days", True),
        ("ward", "Wards", False),
    ],
)
def test_a_name_goes_with_a_word_however_it_is_written(word, name, goes):
    made = of_words(word, "other").with_topic_names({1: name, 2: "kept"})
    kept = (None if goes else name, "kept", None)
    assert made.without_words([word]).topic_names == kept
    assert made.with_word_names({word: "[surname]"}).topic_names == kept
    assert details_that_hold(made.with_details(title=name), [word]) == (["title"] if goes else [])
    assert details_that_hold(made.with_review("x", note=name), [word]) == (["note"] if goes else [])


def test_settings_and_counts_are_true_after_edits():
    made = of_words("a", "b", "c", n_topics=3, text_covered=0.9, text_covered_noise=0.01)
    twice = made.merge_topics([1, 2]).merge_topics([1, 2])
    assert twice.configuration["n_topics"] == 1
    assert "2 topics merged into others" in twice.review
    assert made.without_topics([2]).configuration["n_topics"] == 2
    assert "n_topics" not in of_words("a").merge_topics([1, 2]).configuration
    fewer = made.without_words(["a"])
    assert not {"text_covered", "text_covered_noise"} & set(fewer.configuration)
    assert made.with_word_names({"a": "x"}).configuration["text_covered"] == 0.9


@pytest.mark.parametrize("word", [" okafor", "okafor ", "a = b", "= b", 'say "x" = y', '"q"', "x\ty"])
def test_a_line_of_edits_holds_any_word(word):
    made = of_words(word, "okafor", "a")
    gone = apply(made, parse([f"drop word {word_in_line(word)}"]))
    assert gone.vocabulary == ("okafor", "a")
    renamed = apply(made, parse([f"rename word {word_in_line(word)} = z"]))
    assert renamed.vocabulary == ("z", "okafor", "a")


@pytest.mark.parametrize(
    "settings",
    [{"doc_topic_prior": wrong} for wrong in ("abc", -1, 0, "", True, 1e308, float("inf"))]
    + [{"token_pattern": wrong} for wrong in (7, True, "x" * 2000)],
)
def test_settings_that_new_texts_are_read_with_are_checked(settings):
    with pytest.raises(ReleaseError, match=next(iter(settings))):
        of_words("a", "b", **settings)
