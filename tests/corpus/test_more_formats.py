"""Files people have: JSON arrays, lists of tokens; and text that is missing."""

import json
import math

import pytest

from discreet import Corpus, CorpusError, ParameterError, PrivateCountVectorizer, fit_topics
from discreet.corpus import read_corpus
from discreet.corpus.vocabulary import FROM_TEXT

MARK = "secretword"
ROWS = [
    {"text": "nurse bed nurse", "who": "x", "ward": 1},
    {"text": "", "who": "y", "ward": 1},
    {"text": f"{MARK} bed", "who": "x", "ward": 2},
]


def by_word(corpus):
    rows = corpus.counts.toarray()
    return [{w: int(n) for w, n in zip(corpus.vocabulary, row, strict=True) if n} for row in rows]


EXPECTED = [{"nurse": 2, "bed": 1}, {}, {MARK: 1, "bed": 1}]


def refusal(path, *arguments, **options) -> str:
    with pytest.raises(CorpusError) as found:
        read_corpus(path, *arguments, **options)
    assert MARK not in str(found.value)
    assert MARK not in repr(found.value.__context__)
    return str(found.value)


# JSON


@pytest.mark.parametrize("layout", [{}, {"indent": 2}, {"separators": (",", ":")}])
def test_json_arrays(tmp_path, layout):
    (tmp_path / "a.json").write_text("\n " + json.dumps(ROWS, **layout) + "\n\n")
    corpus = read_corpus(tmp_path / "a.json", person="who", label="ward")
    assert by_word(corpus) == EXPECTED
    assert corpus.persons.tolist() == [0, 1, 0]
    assert corpus.labels.tolist() == [1, 1, 2]
    (tmp_path / "b.json").write_text(json.dumps([row["text"] for row in ROWS], **layout))
    assert by_word(read_corpus(tmp_path / "b.json")) == EXPECTED


def test_one_object_a_line_under_the_ending_of_json(tmp_path):
    (tmp_path / "a.json").write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    assert by_word(read_corpus(tmp_path / "a.json")) == EXPECTED


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ('[{"text": "a b"},\n{"text": "%s}]', "line 2: broken JSON"),
        ('[{"text": "a b"}\n{"text": "%s"}]', "line 1: broken JSON|line 2: broken JSON"),
        ('[{"text": "a b"},\n{"other": "%s"}]', "element 2: no field 'text'"),
        ('[{"text": "a b"},\n\n ["%s"]]', "element 2: expected an object or a text, found list"),
        ('[{"text": "a b"}] "%s"', "line 1: broken JSON"),
        ('[{"text": "a b %s"}', "line 1: broken JSON"),
        ('"%s"', "line 1: expected an array of objects"),
        ("", "is empty"),
        ("[]", "is empty"),
        ('[{"text": 1, "x": "%s"}]', "must be text, found a number"),
        ("[" * 100_000, "broken JSON"),
    ],
)
def test_broken_json(tmp_path, content, said):
    (tmp_path / "a.json").write_text(content.replace("%s", MARK))
    found = refusal(tmp_path / "a.json")
    assert any(part in found for part in said.split("|")), found
    assert "a.json" in found


# Tokens


TOKENS = [["Nurse", "a", "Nurse"], [], [MARK, "a"]]


def test_tokens_are_counted_as_they_are():
    corpus = Corpus.from_tokens(TOKENS, persons=[1, 1, 2], labels=["x", "y", "x"])
    assert by_word(corpus) == [{"Nurse": 2, "a": 1}, {}, {MARK: 1, "a": 1}]
    assert corpus.word_origin == FROM_TEXT
    assert Corpus.from_tokens(TOKENS, vocabulary=["a"], words_are_public=True).words_are_public
    listed = Corpus.from_tokens(TOKENS, vocabulary=["a", "z"])
    assert listed.counts.toarray().tolist() == [[1, 0], [0, 0], [1, 0]]
    assert listed.word_origin.kind == "unknown"
    with pytest.raises(
        CorpusError, match=r"document 1 .counted from 1.: expected a list of tokens, found str"
    ):
        Corpus.from_tokens(["nurse bed"])
    for bad in (["a", 1], ["a", ""], ["a", "b\nc"], [None], 7):
        with pytest.raises(CorpusError, match=r"document 2 .counted from 1.: ") as found:
            Corpus.from_tokens([["fine", MARK], bad])
        assert MARK not in str(found.value)


def test_tokens_in_files(tmp_path):
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    table = pa.table({"tokens": TOKENS})
    pq.write_table(table, tmp_path / "a.parquet")
    (tmp_path / "a.jsonl").write_text("".join(json.dumps({"tokens": tokens}) + "\n" for tokens in TOKENS))
    expected = by_word(Corpus.from_tokens(TOKENS))
    for name in ("a.parquet", "a.jsonl"):
        assert by_word(read_corpus(tmp_path / name, text="tokens")) == expected
        without = read_corpus(tmp_path / name, text="tokens", stop_words=["a"], lowercase=None)
        assert "a" not in without.vocabulary
        assert read_corpus(tmp_path / name, text="tokens", ngram_range=(2, 2)).vocabulary == (
            "Nurse a",
            "a Nurse",
            f"{MARK} a",
        )
        assert "holds tokens: leave out tokenizer=, token_pattern= and lowercase=" in refusal(
            tmp_path / name, text="tokens", lowercase=False
        )
    import pandas as pd

    assert by_word(read_corpus(pd.DataFrame({"tokens": TOKENS}), text="tokens")) == expected


def test_tokens_and_texts_do_not_mix(tmp_path):
    (tmp_path / "a.jsonl").write_text('{"text": ["a"]}\n{"text": "secretword"}\n')
    assert "line 2: field 'text' holds text, but a list of tokens before" in refusal(tmp_path / "a.jsonl")
    (tmp_path / "a.jsonl").write_text('{"text": ["a", {"secretword": 1}]}\n')
    assert "line 1: field 'text': token 1 is no text but dict" in refusal(tmp_path / "a.jsonl")


# Missing text


NOTHING = [{"text": "bed"}, {"text": None}, {"text": " "}, {"text": "nurse"}]


def missing(folder, name):
    """Four documents, of which the second has no text and the third a blank one."""
    path = folder / f"a.{name}"
    if name == "jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in NOTHING))
    elif name == "json":
        path.write_text(json.dumps(NOTHING))
    elif name == "csv":
        path.write_text('text,x\nbed,1\n,2\n" ",3\nnurse,4\n')
    else:
        pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
        pq.write_table(pa.table({"text": [row["text"] for row in NOTHING]}), path)
    return path


@pytest.mark.parametrize("name", ["jsonl", "json", "csv", "parquet"])
def test_missing_text_is_the_same_in_every_format(tmp_path, name):
    path = missing(tmp_path, name)
    corpus = read_corpus(path, skip_empty=True)
    assert (corpus.n_documents, corpus.n_skipped) == (2, 2)
    assert by_word(corpus) == [{"bed": 1}, {"nurse": 1}]
    assert read_corpus(path, skip_empty=True, vocabulary=["bed"], words_are_public=True).n_skipped == 2
    said = refusal(path)
    assert "found nothing" in said
    assert "skip_empty=True leaves out rows, 1 without text, 1 of blanks" in said


def test_missing_text_in_lists_is_counted_and_told_what_to_do():
    texts = ["bed", None, "nurse", math.nan, None]
    calls = (
        Corpus.from_texts,
        lambda given: fit_topics(given, epsilon=1.0, n_topics=2),
        lambda given: PrivateCountVectorizer(epsilon=1.0).fit_transform(given),
    )
    for call in calls:
        for given in (texts, iter(texts)):
            with pytest.raises(
                CorpusError,
                match=r"text 2, 4, 5 .counted from 1.: .*NoneType, float; 3 in all .*leave them out",
            ):
                call(given)


def test_missing_text_in_frames():
    import pandas as pd

    frame = pd.DataFrame({"text": ["bed", None, " ", "nurse", math.nan]})
    corpus = read_corpus(frame, skip_empty=True)
    assert (corpus.n_documents, corpus.n_skipped) == (2, 3)
    assert corpus.rows.tolist() == [0, 3]
    assert corpus.take([1]).rows.tolist() == [3]
    assert corpus.take([False, True]).restrict(["nurse"]).without_persons().rows.tolist() == [3]
    assert read_corpus(frame[:1], skip_empty=True).rows is None  # none was left out
    with pytest.raises(CorpusError, match="skip_empty=True"):
        read_corpus(frame)


def test_fields_of_documents_that_are_left_out_need_not_be_there(tmp_path):
    (tmp_path / "a.jsonl").write_text(
        '{"text": "bed", "who": "x"}\n{"text": null, "who": null}\n{"who": "z"}\n'
    )
    corpus = read_corpus(tmp_path / "a.jsonl", person="who", skip_empty=True)
    assert (corpus.n_documents, corpus.n_skipped, corpus.persons.tolist()) == (1, 2, [0])


def test_rows_without_a_person_are_left_out_where_empty_ones_are(tmp_path):
    people = ["x", None, "", " ", "NaN", "n/a", "y", "x"]
    lines = [json.dumps({"text": "bed ward", "who": one}) for one in people] + ['{"text": "nurse"}']
    (tmp_path / "a.jsonl").write_text("\n".join(lines))
    with pytest.raises(CorpusError, match=r"skip_empty=True leaves out rows, [0-9]+ without a person"):
        read_corpus(tmp_path / "a.jsonl", person="who")
    corpus = read_corpus(tmp_path / "a.jsonl", person="who", skip_empty=True)
    assert (corpus.n_documents, corpus.n_skipped, corpus.persons.tolist()) == (3, 6, [0, 1, 0])
    assert read_corpus(tmp_path / "a.jsonl", skip_empty=True).n_documents == 9  # nobody asked whose they are
    for unclear in (True, 1.5, "12,000"):
        (tmp_path / "b.jsonl").write_text(json.dumps({"text": "bed", "who": unclear}))
        with pytest.raises(CorpusError, match="must name the person"):
            read_corpus(tmp_path / "b.jsonl", person="who", skip_empty=True)


def test_skipping_where_it_has_no_meaning(tmp_path):
    (tmp_path / "a.jsonl").write_text('{"text": "bed"}\n')
    with pytest.raises(ParameterError, match="name their columns instead"):
        read_corpus(tmp_path / "a.jsonl", persons=[1], skip_empty=True)
    (tmp_path / "a.uci").write_text("1\n1\n1\n1 1 1\n")
    with pytest.raises(ParameterError, match='skip_empty= cannot be used with format "uci"'):
        read_corpus(tmp_path / "a.uci", skip_empty=True)
    (tmp_path / "b.jsonl").write_text('{"text": null}\n')
    assert "is empty" in refusal(tmp_path / "b.jsonl", skip_empty=True)
