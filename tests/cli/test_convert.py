"""`discreet convert`: every format that can be read into every format that can be written, and back."""

import gzip
import json
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

from discreet.cli.app import run
from discreet.corpus import Corpus, read_corpus, write_corpus
from discreet.corpus.formats.table import WRITABLE_FORMATS
from discreet.corpus.vocabulary import WordOrigin

WORDS = ("bed", "nurse", "pain", "ward")
COUNTS = np.array([[1, 2, 0, 0], [0, 0, 0, 0], [0, 1, 0, 3], [1, 0, 1, 1]])
NAMES = {
    "npz": "x.npz",
    "uci": "docword.x.txt",
    "mtx": "x.mtx",
}


@pytest.fixture
def corpus():
    corpus = Corpus(COUNTS, WORDS, persons=[0, 0, 1, 2], labels=["a", "b", "a", "c"])
    return corpus.with_word_origin(WordOrigin.public("the minutes of a meeting"))


def convert(*arguments) -> int:
    return run(["convert", *map(str, arguments), "--quiet"])


def refused(capsys, *arguments) -> str:
    assert convert(*arguments) == 2
    line = capsys.readouterr().err
    assert line.startswith("discreet: ")
    assert "Traceback" not in line
    return line


def by_word(corpus: Corpus) -> list[dict[str, int]]:
    rows = corpus.counts.toarray()
    return [
        {word: int(n) for word, n in zip(corpus.vocabulary, row, strict=True) if n and word} for row in rows
    ]


@pytest.mark.parametrize("first", NAMES)
@pytest.mark.parametrize("second", NAMES)
def test_there_and_back(corpus, tmp_path, first, second):
    for name in ("one", "two", "three"):
        (tmp_path / name).mkdir()
    start, middle, end = tmp_path / "one" / NAMES[first], tmp_path / "two" / NAMES[second], tmp_path / "three"
    write_corpus(corpus, start)
    assert convert(start, middle, "--from", first) == 0
    assert convert(middle, end / "x.npz", "--from", second) == 0
    back = read_corpus(end / "x.npz")
    assert by_word(back) == by_word(corpus)
    assert back.labels.tolist() == ["a", "b", "a", "c"]
    assert back.persons.tolist() == [0, 0, 1, 2]
    assert back.word_origin == corpus.word_origin


TEXTS = ["nurse bed nurse", "", "ward nurse ward ward", "pain bed ward"]


def text_file(folder: Path, name: str) -> Path:
    if name == "txt":
        (folder / "texts").mkdir()
        for row, text in enumerate(TEXTS):
            (folder / "texts" / f"{row}.txt").write_text(text)
        return folder / "texts"
    if name == "parquet":
        pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
        pq.write_table(pa.table({"text": TEXTS}), folder / "t.parquet")
        return folder / "t.parquet"
    lines = {
        "jsonl": [json.dumps({"text": text}) for text in TEXTS],
        "csv": ["text", *(text or '" "' for text in TEXTS)],
        "lines": TEXTS,
    }[name]
    path = folder / f"t.{name}"
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.mark.parametrize("name", ["jsonl", "csv", "lines", "txt", "parquet"])
def test_every_text_format(corpus, tmp_path, name):
    path = text_file(tmp_path, name)
    out = tmp_path / "docword.out.txt.gz"
    assert convert(path, out, "--from", name) == 0
    assert by_word(read_corpus(out, vocabulary=tmp_path / "vocab.out.txt")) == by_word(corpus)


def test_uci_of_old_names_its_words_beside_it(tmp_path, capsys):
    (tmp_path / "docword.kos.txt.gz").write_bytes(gzip.compress(b"2\n3\n2\n1 1 4\n2 3 1\n"))
    (tmp_path / "vocab.kos.txt").write_text("a\nb\nc\n")
    out = tmp_path / "kos.npz"
    assert run(["convert", str(tmp_path / "docword.kos.txt.gz"), str(out)]) == 0
    said = capsys.readouterr().err
    assert "vocab.kos.txt" in said
    assert "2 documents" in said
    found = read_corpus(out)
    assert found.vocabulary == ("a", "b", "c")
    assert found.word_origin.kind == "unknown"
    words = tmp_path / "vocab.kos.txt"
    for number, said in enumerate(((), ("--vocabulary", words))):
        out = tmp_path / f"{number}.npz"
        assert convert(tmp_path / "docword.kos.txt.gz", out, *said) == 0
        assert not read_corpus(out).words_are_public
        out = tmp_path / f"{number}-public.npz"
        assert convert(tmp_path / "docword.kos.txt.gz", out, *said, "--vocabulary-is-public") == 0
        assert read_corpus(out).word_origin.declared_by == "--vocabulary-is-public of discreet convert"


def test_nothing_is_overwritten(corpus, tmp_path, capsys):
    source, out = tmp_path / "x.npz", tmp_path / "y.mtx"
    write_corpus(corpus, source)
    out.write_text("mine")
    assert "y.mtx exists; name another file." in refused(capsys, source, out)
    assert out.read_text() == "mine"
    assert convert(source, tmp_path / "other.mtx") == 0
    out = tmp_path / "other.mtx"
    written = read_corpus(out, persons=tmp_path / "other.persons.txt")
    assert sp.csr_array(written.counts).toarray().tolist() == COUNTS.tolist()
    # The words of another corpus in the way of ours: nothing at all is written.
    other = tmp_path / "z.vocab.txt"
    other.write_text("other\n")
    assert "z.vocab.txt exists" in refused(capsys, source, tmp_path / "z.mtx")
    assert sorted(p.name for p in tmp_path.glob("z.*")) == ["z.vocab.txt"]
    assert other.read_text() == "other\n"
    other.unlink()
    assert convert(source, tmp_path / "z.mtx") == 0


def test_persons_of_another_corpus_are_not_left_beside_ours(corpus, tmp_path, capsys):
    write_corpus(Corpus(COUNTS, WORDS), tmp_path / "bare.npz")
    (tmp_path / "y.persons.txt").write_text("1\n2\n3\n4\n")
    assert "y.persons.txt exists, and would be read with y.mtx" in refused(
        capsys, tmp_path / "bare.npz", tmp_path / "y.mtx"
    )
    assert not (tmp_path / "y.mtx").exists()
    assert not list(tmp_path.glob(".*"))


@pytest.mark.parametrize("order", ["check", "fit", "convert"])
def test_persons_that_were_exchanged_or_lost_are_missed(corpus, tmp_path, capsys, order):
    source, beside, out = tmp_path / "x.mtx", tmp_path / "x.persons.txt", tmp_path / "out.npz"
    write_corpus(corpus, source)
    arguments = [order, str(source), *(["--out", str(out)] if order == "fit" else [])]
    arguments += [str(out)] if order == "convert" else ["--epsilon", "4"]
    beside.write_text("1\n2\n3\n4\n")
    assert run(arguments) == 2
    assert "x.persons.txt is not the file of persons that x.mtx was written with" in capsys.readouterr().err
    beside.unlink()
    assert run([*arguments, *(["--quiet"] if order != "check" else [])]) == 2
    told = " ".join(capsys.readouterr().err.split())
    assert "x.mtx was written with persons" in told
    assert "put x.persons.txt back beside it" in told
    assert not out.exists()


def test_clear_refusals(corpus, tmp_path, capsys):
    source = tmp_path / "x.npz"
    write_corpus(corpus, source)
    assert "raw text" in refused(capsys, source, tmp_path / "x.jsonl", "--to", "jsonl")
    assert "does not say a format" in refused(capsys, source, tmp_path / "x.docx")
    assert "not known" in refused(capsys, source, tmp_path / "x.docx", "--to", "docx")
    assert "not known" in refused(capsys, source, tmp_path / "x.mtx", "--from", "docx")
    assert "does not exist" in refused(capsys, tmp_path / "absent.npz", tmp_path / "x.mtx")
    assert "there is no folder" in refused(capsys, source, tmp_path / "no" / "x.mtx")
    assert "is a folder" in refused(capsys, source, tmp_path, "--to", "mtx")
    assert "is the file of IN" in refused(capsys, source, source)
    assert "--stop-words" in refused(capsys, source, tmp_path / "x.mtx", "--stop-words", "english")
    (tmp_path / "bad.mtx").write_text("%%MatrixMarket matrix coordinate integer general\n2 2 1\n1 7 1\n")
    assert "bad.mtx, line 3" in refused(capsys, tmp_path / "bad.mtx", tmp_path / "bad.npz")
    assert not (tmp_path / "bad.npz").exists()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["bad.mtx", "x.npz"]


def test_every_format_that_can_be_written_is_tested():
    assert set(NAMES) == set(WRITABLE_FORMATS)
