"""`discreet evaluate`: figures as the functions give them, unknown words counted, private references refused."""

import json

import numpy as np
import pytest

from discreet.cli.app import run
from discreet.corpus import Corpus, write_corpus
from discreet.evaluate import (
    coherence_npmi,
    coherence_umass,
    completion_perplexity,
    diversity,
    transductive_perplexity,
    unigram,
)
from discreet.privacy import Ledger
from discreet.release import Release

WORDS = ("nurse", "ward", "pain", "ship", "wave", "sail")
TOPICS = np.array([[0.4, 0.3, 0.27, 0.01, 0.01, 0.01], [0.01, 0.01, 0.01, 0.4, 0.3, 0.27]])
WEIGHT = np.array([0.7, 0.3])


@pytest.fixture(scope="module")
def release():
    return Release(
        topic_word=TOPICS,
        vocabulary=WORDS,
        ledger=Ledger(epsilon=1, delta=1e-6, privacy_unit="document"),
        topic_weight=WEIGHT,
        configuration={"doc_topic_prior": 0.2},
    )


@pytest.fixture(scope="module")
def place(release, tmp_path_factory):
    folder = tmp_path_factory.mktemp("evaluate")
    release.save(folder / "model")
    rng = np.random.default_rng(5)
    with (folder / "notes.jsonl").open("w") as file:
        for row in range(60):
            kind = row % 2
            words = [*rng.choice(WORDS, 9, p=TOPICS[kind]), "xylophone", "the"]
            rng.shuffle(words)
            file.write(json.dumps({"body": " ".join(words), "place": ["clinic", "sea"][kind]}) + "\n")
    return folder


def measured(place, capsys, *more):
    common = ["evaluate", place / "model", place / "notes.jsonl", "--text", "body", "--json"]
    assert run([str(part) for part in (*common, *more)]) == 0
    captured = capsys.readouterr()
    assert "no ledger covers them" in captured.err
    return json.loads(captured.out)


def counts_of(place) -> np.ndarray:
    rows = [json.loads(line)["body"].split() for line in (place / "notes.jsonl").read_text().splitlines()]
    return np.array([[words.count(word) for word in WORDS] for words in rows])


def test_figures_are_those_of_the_functions(place, capsys):
    answer = measured(place, capsys, "--label", "place", "--quiet")
    counts = counts_of(place)
    expected = {
        "completion_perplexity": completion_perplexity(TOPICS, counts, doc_topic_prior=0.2),
        "unigram_of_release": completion_perplexity((WEIGHT @ TOPICS)[None], counts),
        "unigram_of_corpus": completion_perplexity(unigram(counts), counts),
        "transductive_perplexity": transductive_perplexity(TOPICS, counts, doc_topic_prior=0.2),
        "diversity": diversity(TOPICS),
    }
    assert {name: answer[name] for name in expected} == pytest.approx(expected, rel=1e-12)
    assert answer["completion_perplexity"] < answer["unigram_of_corpus"] < answer["unigram_of_release"]
    # Without the model's prior or words in another order the figure would be another one.
    wrong = completion_perplexity(TOPICS, counts[:, ::-1], doc_topic_prior=0.2)
    assert abs(wrong - expected["completion_perplexity"]) > 0.1
    assert completion_perplexity(TOPICS, counts) != expected["completion_perplexity"]
    # One xylophone a document; "the" is a stop word and no unknown one.
    assert answer["corpus"] == {"documents": 60, "tokens": 540, "tokens_dropped": 60, "words_unknown": 1}
    labels = answer["labels"]
    assert labels["accuracy"] > 0.95
    assert labels["documents_tested"] == 30
    assert labels["n_labels"] == 2
    assert labels["baseline_accuracy"] < 0.7


def test_without_labels_or_reference_nothing_is_made_up(place, capsys):
    answer = measured(place, capsys)
    assert "labels" not in answer
    assert "reference" not in answer


def test_coherence_in_a_public_reference(place, capsys, monkeypatch):
    reference = Corpus(counts_of(place)[:20, ::-1], WORDS[::-1])
    write_corpus(reference, place / "reference.npz")
    monkeypatch.setattr("discreet.cli.commands.evaluate._TOP", 3)
    more = ["--reference", place / "reference.npz", "--reference-is-public"]
    found = measured(place, capsys, *more)["reference"]
    assert found["name"] == str(place / "reference.npz")
    assert found["coherence_npmi"] == pytest.approx(coherence_npmi(TOPICS, counts_of(place)[:20], top=3))
    assert found["coherence_umass"] == pytest.approx(coherence_umass(TOPICS, counts_of(place)[:20], top=3))
    assert found["coherence_npmi"] != pytest.approx(coherence_npmi(TOPICS, counts_of(place), top=3))


def test_a_private_reference_is_refused_before_anything_is_read(place, capsys):
    arguments = [
        "evaluate",
        place / "model",
        place / "absent.jsonl",
        "--reference",
        place / "r.npz",
    ]
    assert run([str(part) for part in arguments]) == 2
    line = capsys.readouterr().err
    assert "--reference-is-public" in line
    assert "absent" not in line


def test_counts_need_their_words(place, capsys, tmp_path):
    corpus = Corpus(counts_of(place), WORDS, labels=["a", "b"] * 30)
    write_corpus(corpus, tmp_path / "notes.mtx")
    arguments = ["evaluate", str(place / "model"), str(tmp_path / "notes.mtx"), "--json"]
    assert run(arguments) == 0
    beside = json.loads(capsys.readouterr().out)
    assert beside["labels"]["n_labels"] == 2
    (tmp_path / "notes.vocab.txt").rename(tmp_path / "words.txt")
    assert run(arguments) == 2
    assert "give --vocabulary" in capsys.readouterr().err
    assert run([*arguments, "--vocabulary", str(tmp_path / "words.txt")]) == 0
    assert json.loads(capsys.readouterr().out) == beside
    (tmp_path / "words.txt").write_text("\n".join("abcdef") + "\n")
    assert run([*arguments, "--vocabulary", str(tmp_path / "words.txt")]) == 2
    assert "none of the model's words" in capsys.readouterr().err


def test_the_table_says_what_each_line_is(place, capsys):
    arguments = [
        "evaluate",
        place / "model",
        place / "notes.jsonl",
        "--text",
        "body",
        "--label",
        "place",
    ]
    assert run([str(part) for part in arguments]) == 0
    captured = capsys.readouterr()
    for words in (
        "60 documents, 540 tokens",
        "60 tokens of 1 other words",
        "word frequencies alone",
        "macro F1",
    ):
        assert words in captured.out
    assert "xylophone" not in captured.out + captured.err


@pytest.mark.parametrize("stop_words", [[], ["--read", "stop_words=none"]])
def test_stop_words_that_the_model_has_are_counted(release, tmp_path, capsys, stop_words):
    """A model of "the" was fitted to texts that kept it."""
    words = ("the", *WORDS[1:])
    Release(TOPICS, words, release.ledger, topic_weight=WEIGHT).save(tmp_path / "model")
    rows = [json.dumps({"body": "the the ward sail sail wave"})] * 20
    (tmp_path / "notes.jsonl").write_text("\n".join(rows) + "\n")
    found = measured(tmp_path, capsys, *stop_words)
    assert found["corpus"]["tokens"] == 120
    assert found["corpus"]["tokens_dropped"] == 0


def test_texts_are_cut_as_they_were_for_a_public_list_with_stop_words(release, place, tmp_path, capsys):
    """Stop words stand in the public list, but the fit left them out of the texts: so do evaluation and transform."""
    words = tmp_path / "words.txt"
    words.write_text("\n".join((*WORDS, "the")) + "\n")
    fit = ["fit", place / "notes.jsonl", "--text", "body", "--vocabulary", words, "--vocabulary-is-public"]
    how = [
        "--topics",
        2,
        "--epsilon",
        20,
        "--seed",
        0,
        "--set",
        "allow_unlearnable=true",
        "--set",
        "allow_large_delta=true",
        "-q",
    ]
    assert run([str(part) for part in (*fit, "--out", tmp_path / "model", *how)]) == 0
    assert Release.load(tmp_path / "model").configuration["stop_words"] == "english (318)"
    (tmp_path / "notes.jsonl").write_text((place / "notes.jsonl").read_text())
    capsys.readouterr()
    found = measured(tmp_path, capsys)
    assert found == measured(tmp_path, capsys, "--read", "stop_words=english")
    assert found["corpus"]["tokens"] == 540
    kept = measured(tmp_path, capsys, "--read", "stop_words=none")  # what is said still counts
    assert kept["corpus"]["tokens"] == 600
    rows = {}
    for name, more in (
        ("plain", ()),
        ("same", ("--read", "stop_words=english")),
        ("none", ("--read", "stop_words=none")),
    ):
        out = tmp_path / f"{name}.csv"
        command = [
            "transform",
            tmp_path / "model",
            place / "notes.jsonl",
            "--text",
            "body",
            "--out",
            out,
            *more,
        ]
        assert run([str(part) for part in command]) == 0
        rows[name] = out.read_text()
    assert rows["plain"] == rows["same"] != rows["none"]
