"""Links, handles and entities are no words, unless somebody wants them."""

import json
from collections import Counter

import pytest

from discreet import Corpus, fit_topics
from discreet.cli.app import run
from discreet.corpus import Tokenizer, read_corpus, tokenizer_like
from discreet.corpus import languages as links
from discreet.errors import ParameterError


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("go http://t.co/9L9jePj8nb now", ["go", "now"]),
        ("see (https://example.org/a?b=c&d=e), or www.example.org/x", ["see", "or"]),
        ("RT @Ann_1: fire &amp; smoke", ["fire", "smoke"]),
        ("fire RT \u201c@ann: smoke\u201d", ["fire", "smoke"]),
        ("RT : @ann fire RT:@bob smoke RT: http://t.co/x RT https://a.org", ["fire", "smoke"]),
        ("cut short http\u2026 and https:... and http", ["cut", "short", "and", "and"]),
        ("bit.ly/abc t.co/x pic.twitter.com/abc smoke", ["smoke"]),
        ("write to ann.lee+x@mail.example.org, thanks", ["write", "to", "thanks"]),
        ("@ann@social.example @bob.bsky.social hello", ["hello"]),
        ("caf&eacute; don&#39;t &amp;lt; &#x41;bc &nbsp;x", ["café", "don", "abc"]),
        ("&Lstrok;&oacute;d&zacute; &#138;koda na&#239;ve", ["łódź", "škoda", "naïve"]),
        ("ab&#127;cd ab&#1;cd ab&#xd800;cd ab&#x110000;cd", ["ab", "cd"] * 4),
        ("fever&comma;chills&mdash;cough &white;", ["fever", "chills", "cough", "white"]),
        ("#Ferguson burns", ["ferguson", "burns"]),
        # No links: these stay as they were.
        ("dinner @ home, 5@10, art: rt heart start", ["dinner", "home", "10", "art", "rt", "heart", "start"]),
        ("http is a protocol; R&D; this & that; AT&T;", ["http", "is", "protocol", "this", "that", "at"]),
        (
            "Pain in rt:knee, rt : lower quadrant; rt: 3 RT leg",
            ["pain", "in", "rt", "knee", "rt", "lower", "quadrant", "rt", "rt", "leg"],
        ),
        (
            "dose @5mg, morphine@2.5mg BP@90 rt @10",
            ["dose", "5mg", "morphine", "5mg", "bp", "90", "rt", "10"],
        ),
        ("RT : fire", ["rt", "fire"]),
        ("and/or e.g. b.i.d./prn x.y", ["and", "or", "prn"]),
    ],
)
def test_what_is_left_out(text, words):
    assert Tokenizer()(text) == words
    assert Corpus.from_texts([text]).vocabulary == tuple(sorted(set(words)))


def test_they_are_kept_for_whoever_asks_or_has_a_pattern_for_them():
    text = "RT @Ann: http://a.org"
    assert Tokenizer(keep_links=True)(text) == ["rt", "ann", "http", "org"]
    assert Tokenizer(r"\S+")(text) == ["rt", "@ann:", "http://a.org"]
    assert Tokenizer(r"[@#]?\w+")(text)[1] == "@ann"
    assert Tokenizer(r"\S+", keep_links=False)(text) == []
    assert Tokenizer(r"[a-z]{2,}")(text) == []
    assert Tokenizer(tokenizer=str.split)(f"fire {text}") == ["fire"]
    assert Tokenizer(tokenizer=str.split, keep_links=True)(text)[1] == "@ann:"
    with pytest.raises(ParameterError, match="keep_links must be True, False or None"):
        Tokenizer(keep_links="yes")


def test_signs_that_are_looked_for_first_are_in_all_that_is_left_out():
    for text in ("x HTTP://A", "WWW.a", "T.CO/x", "rt : @x", "rt:www.x", "@x", "&amp;", "a@b.c", "Https..."):
        assert links.without_links(text) != text


def test_a_release_says_that_they_were_kept(tmp_path):
    texts = ["fire smoke @ann", "law court @bob"] * 400
    options = {"epsilon": 9.0, "n_topics": 2, "random_state": 0, "allow_unlearnable": True}
    assert "ann" not in fit_topics(texts, **options).vocabulary
    kept = fit_topics(texts, tokenizer=Tokenizer(keep_links=True), **options)
    assert "ann" in kept.vocabulary
    assert tokenizer_like(kept.configuration)("@ann") == ["ann"]
    notes = tmp_path / "x.jsonl"
    notes.write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
    for given, expected in (([], False), (["--read", "keep_links=true"], True)):
        out = tmp_path / f"{len(given)}.npz"
        assert run(["convert", str(notes), str(out), "--quiet", *given]) == 0
        assert ("ann" in read_corpus(out).vocabulary) == expected


def test_they_lead_no_corpus_of_posts_any_more(shared_data):
    path = shared_data / "pheme" / "texts.jsonl.gz"

    def first(**options):
        corpus = read_corpus(path, tokenizer=Tokenizer(stop_words="english", **options))
        documents = Counter(dict(zip(corpus.vocabulary, (corpus.counts > 0).sum(0).A1.tolist(), strict=True)))
        return [word for word, _ in documents.most_common(20)]

    noise = {"http", "https", "rt", "amp", "co"}
    assert {"http", "amp"} <= set(first(keep_links=True))
    assert not noise & set(first())
