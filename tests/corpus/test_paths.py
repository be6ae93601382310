"""A text where a path is meant: it is not printed back, and a path is."""

import pytest

from discreet import Corpus, DiscreetError, Release, fit_topics, read_corpus
from discreet.corpus import Tokenizer

NOTE = "Pt Okafor seen on the ward, pain in chest. bleep 4271"
CALLS = {
    "corpus": lambda path: read_corpus(path, text="x"),
    "corpus of a format": lambda path: read_corpus(path, "jsonl"),
    "folder": lambda path: read_corpus(path, "txt"),
    "vocabulary": lambda path: Corpus.from_texts(["a bed"], vocabulary=path),
    "vocabulary of a fit": lambda path: fit_topics(["a bed"] * 9, epsilon=1.0, vocabulary=path),
    "stop words": lambda path: Tokenizer(stop_words=path.replace(",", " ")),
    "release": Release.load,
}


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("note", [NOTE, f"{NOTE}\n{NOTE}", NOTE * 9], ids=["a line", "lines", "long"])
def test_a_note_is_not_printed_back(call, note):
    with pytest.raises(DiscreetError) as found:
        CALLS[call](note)
    told = [str(found.value), repr(found.value.__cause__), repr(found.value.__context__)]
    assert not any("Okafor" in one or "4271" in one for one in told)


@pytest.mark.parametrize("path", ["no/such/notes.jsonl", "my notes.jsonl", "notes"])
def test_a_path_is(tmp_path, monkeypatch, path):
    monkeypatch.chdir(tmp_path)
    for call in ("corpus of a format", "folder", "vocabulary", "release"):
        with pytest.raises(DiscreetError) as found:
            CALLS[call](path)
        assert path in str(found.value)
    with pytest.raises(DiscreetError) as found:
        read_corpus(tmp_path / "my old notes", "jsonl")
    assert "my old notes" in str(found.value)
