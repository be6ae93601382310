"""The report: content, escaping, determinism, files."""

import json
import math
import os
import re
import stat
from base64 import b64encode
from dataclasses import replace
from hashlib import sha256
from html import unescape
from html.parser import HTMLParser

import numpy as np
import pytest
from tests.prevalence.test_page import release as shares
from tests.report.report_cases import HOSTILE, release

from discreet.errors import ReleaseError
from discreet.release import Release
from discreet.report import page as report_words
from discreet.report.comparison import compare
from discreet.report.page import report


class Elements(HTMLParser):
    """What a browser would make of the page, roughly."""

    def __init__(self, page):
        super().__init__()
        self.tags = []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))


def data_of(page):
    return json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.S)[1])


def text_of(page):
    body = re.sub(r"<(script|style)\b.*?</\1>", " ", page[page.index("<body") :], flags=re.S)
    body = re.sub(r'<span class="unbroken">(.*?)</span>', r"\1", body)
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", body)).split())


def test_topics_and_their_words_stand_on_the_page_itself():
    made = release()
    page = report(made)
    cards = page.split("<article")[1:]
    assert len(cards) == 5
    for card, words in zip(cards, made.top_words(10), strict=True):
        assert re.findall(r'<bdi class="term">(.*?)</bdi>', card) == words


def test_the_privacy_label_says_it_all():
    made = release(vocabulary_booked=True)
    text = text_of(report(made))
    guarantee = made.ledger.guarantee()
    assert guarantee.in_words() in text
    assert f"δ = {guarantee.delta:g}, for each document" in text
    for part in [
        "About 1,234 documents",
        "one document",
        "add or remove one",
        guarantee.accountant,
        "Noise drawn by the operating system",
        "chosen privately",
        "vocabulary (sips)",
        "Gaussian noise, multiplier 12",
        "topics (5 topics)",
        "estimator PrivateLDA",
        "Whatever an attacker knows, a test that wrongly accuses 1 %",
    ]:
        assert part in text, part
    assert "public list" not in text
    plain = text_of(report(release()))
    assert "not stated: ask whoever made this" in plain
    declared = release(settings={"words": "public", "words_declared_by": "Roe"})
    assert "as declared by: Roe" in text_of(report(declared))
    assert "chosen privately" not in plain


def test_banners():
    quiet = report(release())
    assert 'class="warning"' not in quiet
    seeded = report(release(reproducible=True))
    assert "Reproducible, not for release." in text_of(seeded)
    assert "No privacy: ε = ∞." not in text_of(seeded)
    bare = report(release(epsilon=math.inf, noise=0.0))
    assert "No privacy: ε = ∞." in text_of(bare)
    assert "Reproducible, not for release." not in text_of(bare)
    assert "Nothing limits what an attacker may find out" in text_of(bare)
    both = text_of(report(release(epsilon=math.inf, reproducible=True, noise=None)))
    assert "No privacy: ε = ∞." in both
    assert "Reproducible, not for release." in both


def test_bars_are_marked_by_the_noise():
    made = release(noise=0.02)
    above = made.topic_word > 0.04
    assert above.any()
    assert not above.all()
    page = report(made)
    cards = [card.split("</article>")[0] for card in page.split("<article")[1:]]
    numbers = [int(re.search(r'id="topic-(\d+)"', card)[1]) for card in cards]  # topics of noise come last
    assert sorted(numbers) == list(range(len(made.topic_word)))
    for number, card in zip(numbers, cards, strict=True):
        order = np.argsort(-made.topic_word[number], kind="stable")[:10]
        expected = ["solid" if above[number, word] else "hollow" for word in order]
        assert re.findall(r'<li class="(solid|hollow)">', card) == expected
        assert f"{above[number].sum()} above the noise" in card
        assert card.count('class="whisker"') == 10
    index = data_of(page)["index"]
    for word, row in zip(data_of(page)["words"], index, strict=True):
        column = made.vocabulary.index(word)
        for topic in range(5):
            assert (topic if above[topic, column] else -1 - topic) in row[::2]


def test_noise_that_is_none_or_not_told_is_said():
    untold = report(release(noise=None))
    assert "does not say how large its noise is" in text_of(untold)
    assert 'class="whisker"' not in untold[untold.index("<article") : untold.index('id="data"')]
    assert data_of(untold)["topics"][0]["noise"] is None
    none = report(release(noise=0.0))
    assert "No noise was added" in text_of(none)
    assert "whisker reaches" in text_of(report(release()))


def test_without_weights_there_is_no_slider():
    page = report(release(weights=False))
    assert '<input type="range"' not in page
    assert "of the words counted" not in text_of(page).split("All topics")[0]
    assert "of the words counted" in text_of(report(release()))
    assert '<input type="range"' in report(release())


def of_length(length, n_units, n_words=60):
    """A release from so many texts with so many different words each."""
    return replace(release(n_words=n_words, settings={"words_a_unit": length}), n_units_noisy=n_units)


@pytest.mark.parametrize(
    ("length", "n_units", "n_words", "place"),
    [
        (30.0, 10_000.0, 2000, 0.45),  # 2.25 texts hold two ordinary words: .65 - .18
        (60.0, 4100.0, 2000, 0.4),
        (60, 10**9, 60, 0.4),  # never further
        (8.0, 4200.0, 2000, 1.0),
        (8.0, 70_000.0, 2000, 0.65),
        (40.0, -12.5, 60, 0.85),
        (60.0, 1e308, 60, 0.4),  # a number from anybody's file
        (60 * (1 + 1e-15), 1e308, 60, 0.4),
    ],
)
def test_the_slider_starts_where_lists_of_such_texts_read_best(length, n_units, n_words, place):
    made = of_length(length, n_units, n_words)
    assert report_words.starting_place(made) == pytest.approx(place)
    page = report(made)
    slider = next(attrs for tag, attrs in Elements(page).tags if attrs.get("id") == "lambda")
    assert float(slider["value"]) == pytest.approx(place)
    assert f'<output id="lambda-value" for="lambda">{place:.2f}</output>' in page


def test_the_page_says_why_the_slider_starts_there():
    long, short = text_of(report(of_length(62.4, 4000.0, 100))), text_of(report(of_length(7.6, 900.0, 500)))
    assert (
        "starts at 0.4, where lists from texts as many and as long as these (about 62 different words" in long
    )
    assert "most probable words, because texts are few or short here (about 8 different words" in short
    untold = report(release())
    assert report_words.starting_place(release()) is None
    assert "because this release does not tell how long the texts are" in text_of(untold)
    assert 'value="1.00"' in untold
    assert report_words.starting_place(replace(of_length(30.0, 900.0), n_units_noisy=None)) is None


@pytest.mark.parametrize("length", ["many", True, -5.0, 0.2, 100.0, 1e300, math.inf, 5e-324])
def test_a_length_that_no_text_has_moves_no_slider(length):
    odd = replace(release(settings={"words_a_unit": length}), n_units_noisy=4000.0)
    assert report_words.starting_place(odd) is None
    assert "because this release does not tell how long the texts are" in text_of(report(odd))


def test_the_index_holds_the_probabilities():
    made = release(n_topics=4, n_words=500)
    data = data_of(report(made))
    assert len(data["words"]) < 500
    for topic, entry in enumerate(data["topics"]):
        assert len(entry["words"]) == report_words.LISTED
        for place, p in zip(entry["words"], entry["p"], strict=True):
            column = made.vocabulary.index(data["words"][place])
            assert p == pytest.approx(made.topic_word[topic, column], rel=5e-6)
    for word, row in zip(data["words"], data["index"], strict=True):
        column = made.topic_word[:, made.vocabulary.index(word)]
        np.testing.assert_allclose(row[1::2], np.sort(column)[::-1], rtol=5e-6)
    said = f"{len(data['words'])} of 500 words are listed on this page"
    assert said in text_of(report(made))


def test_the_slider_finds_the_most_relevant_words_of_the_whole_vocabulary():
    made = release(n_topics=4, n_words=3000, seed=2)
    data = data_of(report(made))
    for topic, entry in enumerate(data["topics"]):
        listed = {data["words"][place] for place in entry["words"]}
        for share in (0.0, 0.4, 1.0):
            relevance = np.log(made.topic_word[topic]) - (1 - share) * np.log(made.word_weight)
            best = np.argsort(-relevance, kind="stable")[:15]
            assert {made.vocabulary[word] for word in best} <= listed


def test_a_word_share_of_zero_makes_no_word_infinitely_relevant():
    made = release()
    weight = made.word_weight.copy()
    weight[3] = 0
    odd = Release(
        made.topic_word,
        made.vocabulary,
        made.ledger,
        word_weight=weight / weight.sum(),
        topic_word_noise=None,
    )
    assert all(0 < share < 1 for share in data_of(report(odd))["weight"])


def test_hostile_words_stay_words():
    made = release(words=HOSTILE, settings={"<i>name": "</td><script>window.canary=4</script>"})
    clean = release(settings={"a": "b"})
    page = report(made)

    def shape(text):
        return [tag for tag, _ in Elements(text).tags]

    assert shape(page) == shape(report(clean))
    for tag, attributes in Elements(page).tags:
        assert not [name for name in attributes if name.startswith("on")], (tag, attributes)
    data = re.search(r'id="data">(.*?)</script>', page, re.S)[1]
    assert not set(data) & set("<>&\u2028\u2029")
    words = data_of(page)["words"]
    assert HOSTILE[0] in words
    assert HOSTILE[1] in words
    page.encode()
    assert "\x00" not in page
    assert "\x1b" not in page


def test_escaping_would_be_missed():
    """The check above catches a page that forgets to escape."""
    page = report(release(words=HOSTILE))
    careless = page.replace("&lt;", "<").replace("&gt;", ">").replace("&#34;", '"')
    assert [tag for tag, _ in Elements(careless).tags] != [tag for tag, _ in Elements(page).tags]


def test_purposes_are_escaped():
    made = release()
    from discreet.privacy.accounting import events
    from discreet.privacy.ledger.ledger import Ledger

    ledger = Ledger(1, 1e-6)
    ledger.reserve(events.gaussian(20), "<script>window.canary=5</script>")
    page = report(Release(made.topic_word, made.vocabulary, ledger))
    assert "<script>window" not in page
    assert "&lt;script&gt;window" in page
    page.encode()


def test_the_policy_allows_only_what_is_here():
    page = report(release())
    elements = Elements(page).tags
    policy = next(a["content"] for _, a in elements if a.get("http-equiv") == "Content-Security-Policy")
    assert policy.startswith("default-src 'none';")
    assert "unsafe" not in policy
    script = re.search(r"<script>(.*?)</script>", page, re.S)[1]
    style = re.search(r"<style>(.*?)</style>", page, re.S)[1]
    for kind, text in (("script", script), ("style", style)):
        digest = b64encode(sha256(text.encode()).digest()).decode()
        assert f"{kind}-src 'sha256-{digest}'" in policy
    assert not [a for _, a in elements if "style" in a]
    for _, attributes in elements:
        for name in ("src", "href", "xlink:href", "action"):
            target = attributes.get(name)
            assert target is None or target.startswith(("#", "data:image/svg+xml,"))
    assert "innerHTML" not in script
    assert "url(" not in style
    assert "@import" not in style


def test_the_same_release_gives_the_same_bytes(tmp_path):
    made = release(words=HOSTILE)
    assert report(made) == report(release(words=HOSTILE)) == report(made)
    plain = release(vocabulary_booked=True)
    plain.save(tmp_path / "release")
    assert report(Release.load(tmp_path / "release")) == report(plain)
    assert not re.search(r"\b20\d\d-\d\d-\d\d\b", report(plain))


@pytest.mark.parametrize(("n_topics", "n_words"), [(1, 1), (1, 5), (2, 2), (3, 400)])
def test_small_releases_have_reports(n_topics, n_words):
    topic_word = np.full((n_topics, n_words), 1 / n_words)
    made = Release(topic_word, [f"w{i}" for i in range(n_words)], release().ledger)
    page = report(made)
    assert len(data_of(page)["topics"]) == n_topics
    assert f"{n_topics} topic" in text_of(page)


@pytest.mark.integration
def test_many_words_and_topics_stay_small():
    rng = np.random.default_rng(5)
    topic_word = rng.gamma(0.05, size=(100, 50_000)) + 1e-9
    topic_word /= topic_word.sum(1, keepdims=True)
    weight = np.full(100, 0.01)
    made = Release(
        topic_word,
        [f"word{i}" for i in range(50_000)],
        release().ledger,
        topic_weight=weight,
        word_weight=weight @ topic_word,
        topic_word_noise=np.full(topic_word.shape, 1e-5),
    )
    page = report(made)
    assert len(page.encode()) < 5_000_000
    depth = max(len(row) // 2 for row in data_of(page)["index"])
    assert depth < 100
    assert f"the {depth} topics in which a word is strongest" in text_of(page)


def test_to_html_writes_what_it_returns_without_a_path(tmp_path):
    path = tmp_path / "report.html"
    assert release().to_html(path) is None
    assert path.read_bytes() == release().to_html().encode()
    assert stat.S_IMODE(path.stat().st_mode) == 0o644
    release(reproducible=True).to_html(path, overwrite=True)
    assert "not for release" in path.read_text(encoding="utf-8")


def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch):
    path = tmp_path / "report.html"
    path.write_text("old")

    def full(_):
        raise OSError("no space left")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="no space left"):
        release().to_html(path, overwrite=True)
    assert path.read_text() == "old"
    assert [file.name for file in tmp_path.iterdir()] == ["report.html"]


def test_a_page_replaces_nothing_unless_it_is_told_to(tmp_path):
    path = tmp_path / "mine.html"
    for made in (release(), shares([[0.9, 0.1], [0.1, 0.9]]), compare(release(), release())):
        path.write_text("mine")
        with pytest.raises(
            ReleaseError, match=r"exists already; name another file, or pass overwrite=True\."
        ):
            made.to_html(path)
        assert path.read_text() == "mine"
        made.to_html(path, overwrite=True)
        assert path.read_text() == made.to_html()
        path.write_text("")
        made.to_html(path)
        assert path.read_text() == made.to_html()


def test_paths_that_cannot_be_written_are_named(tmp_path):
    with pytest.raises(ReleaseError, match="is a folder; name a file in it"):
        release().to_html(tmp_path)
    with pytest.raises(ReleaseError, match="does not exist; make it first"):
        release().to_html(tmp_path / "nowhere" / "report.html")
