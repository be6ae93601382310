"""Exports: a table of words, and gensim's model."""

import csv
import itertools
import sys

import numpy as np
import pytest
from tests.report.report_cases import HOSTILE, release

from discreet.errors import ParameterError, ReleaseError
from discreet.report.export import to_gensim, write_csv
from discreet.report.wording import for_spreadsheet


def read(path):
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_the_table_holds_every_probability_with_all_its_digits(tmp_path):
    made = release(n_topics=3, n_words=40, noise=0.01)
    write_csv(made, tmp_path / "words.csv")
    rows = read(tmp_path / "words.csv")
    assert len(rows) == 3 * 40
    again = np.full((3, 40), np.nan)
    for row in rows:
        topic, word = int(row["topic"]) - 1, made.vocabulary.index(row["word"])
        again[topic, word] = float(row["probability"])
        assert float(row["noise"]) == 0.01
        assert row["above_noise"] == str(int(again[topic, word] > 0.02))
    np.testing.assert_array_equal(again, made.topic_word)
    assert {row["above_noise"] for row in rows} == {"0", "1"}
    tops = [[row["word"] for row in rows if row["topic"] == str(topic)][:10] for topic in (1, 2, 3)]
    assert tops == made.top_words(10)
    assert [int(row["rank"]) for row in rows[:40]] == list(range(1, 41))


def test_the_table_can_be_short_and_say_nothing_of_noise(tmp_path):
    write_csv(release(noise=None), tmp_path / "words.csv", n_words=4)
    rows = read(tmp_path / "words.csv")
    assert len(rows) == 5 * 4
    assert list(rows[0]) == ["topic", "rank", "word", "probability"]
    with pytest.raises(ParameterError, match="n_words must be a positive whole number"):
        write_csv(release(), tmp_path / "none.csv", n_words=0)
    assert not (tmp_path / "none.csv").exists()


def test_any_word_can_stand_in_the_table(tmp_path):
    odd = (*HOSTILE, 'say "no", twice', "carriage\rreturn", "new\nline", "=1+1", "-2", "@a", "+b", "c=d")
    made = release(words=odd, n_words=40, n_topics=2)
    write_csv(made, tmp_path / "plain.csv")
    found = {row["word"] for row in read(tmp_path / "plain.csv")}
    assert found == {word.encode("utf-8", "replace").decode() for word in made.vocabulary}
    write_csv(made, tmp_path / "safe.csv", for_spreadsheets=True)
    safe = {row["word"] for row in read(tmp_path / "safe.csv")}
    assert {"'=1+1", "'-2", "'@a", "'+b", "c=d"} <= safe
    assert not [word for word in safe if word.startswith(("=", "+", "-", "@"))]


def test_files_are_written_whole_or_not_at_all(tmp_path):
    with pytest.raises(ReleaseError, match="is a folder; name a file in it"):
        write_csv(release(), tmp_path)
    with pytest.raises(ReleaseError, match="does not exist; make it first"):
        write_csv(release(), tmp_path / "nowhere" / "file")
    assert list(tmp_path.iterdir()) == []


BLANKS = ("", " ", "\u00a0", "\u3000 ", "\ufeff", "\u200b\u200f", "\x00", "\n", "\t", "\r")
SIGNS = "=+-@\uff1d\uff0b\uff0d\uff20\ufe66\ufe62\u2212"


def test_no_spreadsheet_finds_a_formula_behind_what_it_strips_or_reads_as_a_sign():
    for before, sign in itertools.product(BLANKS, SIGNS):
        assert for_spreadsheet(f"{before}{sign}1+1") == f"'{before}{sign}1+1"
        guard = "'" if before in ("\n", "\t", "\r") else ""
        for harmless in (f"{before}a{sign}1", before):
            assert for_spreadsheet(harmless) == guard + harmless


def test_what_was_made_with_a_seed_says_so_in_tables(tmp_path):
    made = release(reproducible=True)
    write_csv(made, tmp_path / "words.csv")
    assert {row["label"] for row in read(tmp_path / "words.csv")} == {"reproducible, not for release"}
    write_csv(release(), tmp_path / "words.csv")
    assert "label" not in read(tmp_path / "words.csv")[0]


def test_the_frame_holds_what_the_table_does(tmp_path):
    made = release()
    write_csv(made, tmp_path / "words.csv", n_words=3)
    found = made.to_frame(3)
    with (tmp_path / "words.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert set(found.columns) == {*rows[0], "name", "over_all_topics"}
    assert found["above_noise"].astype(str).tolist() == [row["above_noise"] for row in rows]
    assert found["word"].tolist() == [row["word"] for row in rows]
    assert found["probability"].tolist() == [float(row["probability"]) for row in rows]
    first = found[found["topic"] == 2].head(1)
    marked = release(reproducible=True).to_frame(3)["label"]
    assert marked.unique().tolist() == ["reproducible, not for release"]
    assert first["probability"].item() == made.topic_word[1].max()
    with pytest.raises(ParameterError, match="n must be"):
        made.to_frame(0)


def test_gensim_gets_the_released_topics(tmp_path):
    models = pytest.importorskip("gensim.models")
    made = release()
    model = to_gensim(made)
    assert isinstance(model, models.LdaModel)
    assert np.allclose(model.get_topics(), made.topic_word, rtol=1e-12, atol=1e-15)
    best = int(made.topic_word[0].argmax())
    assert model.show_topic(0, 1)[0] == (made.vocabulary[best], pytest.approx(made.topic_word[0, best]))
    # A document of one topic's own words is inferred to be about it.
    own = np.argsort(made.topic_word[1] / made.topic_word.sum(0))[-3:]
    document = [(int(word), 20) for word in own]
    shares = dict(model.get_document_topics(document, minimum_probability=0))
    counts = np.zeros((1, len(made.vocabulary)), int)
    counts[0, own] = 20
    assert max(shares, key=shares.get) == made.transform(counts)[0].argmax()
    assert model.lifecycle_events[-1]["determinism"] == made.determinism
    model.save(str(tmp_path / "model"))
    again = models.LdaModel.load(str(tmp_path / "model"))
    assert np.allclose(again.get_topics(), made.topic_word)


def test_without_gensim_it_is_said_how_to_get_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "gensim", None)
    monkeypatch.setitem(sys.modules, "gensim.corpora", None)
    with pytest.raises(ReleaseError, match="pip install gensim"):
        to_gensim(release())
