"""Whatever is written comes back the same; a write that fails leaves nothing."""

import gzip
import json
import stat

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from tests.marks import quick

from discreet import fit_topics
from discreet.corpus import Corpus, read_corpus, write_corpus
from discreet.corpus.formats.table import WRITABLE_FORMATS
from discreet.corpus.vocabulary import FROM_TEXT, UNKNOWN, ColumnChoice, WordOrigin
from discreet.errors import CorpusError

CHOICE = ColumnChoice("one that is kept in a file", 1, "5" * 64, seeded=True)
NAMES = {
    "npz": "a.npz",
    "uci": "docword.a.txt",
    "mtx": "a.mtx",
}
# What ends a line for str.splitlines is no word; quotes, commas, colons and blanks are.
LINE = st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Zl", "Zp"]), min_size=1, max_size=6)
WORD = st.one_of(st.sampled_from(['"', ",", ";", "#", "1:2", "a b", "%x", "0", "-", "=1"]), LINE)


@st.composite
def corpora(draw, words=WORD):
    n_documents, n_words = draw(st.integers(1, 6)), draw(st.integers(1, 6))
    elements = st.one_of(st.just(0), st.integers(1, 4), st.sampled_from([10, 99, 2**31 - 1]))
    counts = draw(arrays(np.int64, (n_documents, n_words), elements=elements))
    vocabulary = draw(st.lists(words, min_size=n_words, max_size=n_words, unique=True))
    rows = {"min_size": n_documents, "max_size": n_documents}
    persons = draw(st.none() | st.lists(st.integers(-(2**63), 2**63 - 1), **rows))
    labels = draw(st.none() | st.lists(st.integers(-(10**17), 10**17), **rows) | st.lists(WORD, **rows))
    corpus = Corpus(counts, vocabulary, persons, labels)
    origins = [
        UNKNOWN,
        FROM_TEXT,
        WordOrigin.public("somebody's word"),
        UNKNOWN.after([CHOICE]),
        WordOrigin.public("somebody's word").after([CHOICE]),
        WordOrigin.chosen(CHOICE, ColumnChoice("a ledger", 3, "0" * 64)),
    ]
    return corpus.with_word_origin(draw(st.sampled_from(origins)))


def back(corpus, files, format_name):
    """Read what was written, with the files beside it."""
    options = {}
    if format_name != "npz":
        kinds = ["vocabulary", *(k for k in ("persons", "labels") if getattr(corpus, k) is not None)]
        options = dict(zip(kinds, files, strict=False))
    return read_corpus(files[-1], format_name, **options)


def assert_same(got, corpus, *, ranked=True):
    assert got.vocabulary == corpus.vocabulary
    assert got.counts.shape == corpus.counts.shape
    assert np.array_equal(got.counts.toarray(), corpus.counts.toarray())
    assert (got.persons is None) == (corpus.persons is None)
    if corpus.persons is not None and not ranked:
        assert np.array_equal(got.persons, corpus.persons)
    elif corpus.persons is not None:  # numbered again, by first appearance
        pairs = set(zip(got.persons.tolist(), corpus.persons.tolist(), strict=True))
        assert len(pairs) == got.n_units == corpus.n_units


@pytest.mark.parametrize("zipped", quick(["", ".gz"], ""))
@pytest.mark.parametrize("format_name", sorted(WRITABLE_FORMATS))
@given(corpus=corpora())
@settings(
    max_examples=40,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
def test_round_trip(tmp_path, format_name, zipped, corpus):
    if zipped and format_name == "npz":
        with pytest.raises(CorpusError, match="compressed already"):
            write_corpus(corpus, tmp_path / (NAMES[format_name] + zipped), format_name)
        return
    files = write_corpus(corpus, tmp_path / (NAMES[format_name] + zipped))
    got = back(corpus, files, format_name)
    assert_same(got, corpus, ranked=format_name != "npz")
    assert got.word_origin == corpus.word_origin
    if corpus.labels is None:
        assert got.labels is None
    else:
        assert list(map(str, got.labels)) == list(map(str, corpus.labels))
        if format_name == "npz":
            assert got.labels.tolist() == corpus.labels.tolist()


def test_files_and_their_names(tmp_path):
    corpus = Corpus([[1, 2]], ["a", "b"], persons=[4], labels=["x"])
    names = [path.name for path in write_corpus(corpus, tmp_path / "docword.n.txt.gz")]
    sides = ["vocab.n.txt", "persons.n.txt", "labels.n.txt", "docword.n.txt.origin.json"]
    assert names == [*sides, "docword.n.txt.gz"]
    assert next(p.name for p in write_corpus(corpus, tmp_path / "n.uci")) == "n.vocab.txt"
    assert (tmp_path / "n.uci").read_text() == "1\n2\n2\n1 1 1\n1 2 2\n"
    for path in tmp_path.iterdir():
        assert not stat.S_IMODE(path.stat().st_mode) & 0o077  # nobody else may read private counts
    with pytest.raises(CorpusError, match="give format=, one of uci, npz, mtx"):
        write_corpus(corpus, tmp_path / "n.txt")
    with pytest.raises(CorpusError, match="'jsonl' cannot be written"):
        write_corpus(corpus, tmp_path / "n.txt", "jsonl")
    with pytest.raises(CorpusError, match="line break"):
        write_corpus(Corpus([[1]], ["a"], labels=["x\ny"]), tmp_path / "n.mtx")
    with pytest.raises(CorpusError, match="cannot be written: No such file"):
        write_corpus(corpus, tmp_path / "nowhere" / "n.mtx")


def written(folder, name, persons, origin=UNKNOWN):
    """Write four documents; return their file, and that of their persons."""
    folder.mkdir()
    corpus = Corpus(np.eye(4, dtype=int), list("abcd"), persons).with_word_origin(origin)
    write_corpus(corpus, folder / name)
    return folder / name, next(folder.glob("*persons*"))


@pytest.mark.parametrize("name", ["a.mtx", "a.mtx.gz", "docword.a.txt.gz", "a.uci"])
@pytest.mark.parametrize("origin", [UNKNOWN, WordOrigin.public("somebody's word")])
def test_persons_beside_counts_are_those_that_were_written(tmp_path, name, origin):
    """Epsilon is about persons: whoever another file named was protected, or each document, and nothing said so."""
    path, persons = written(tmp_path / "one", name, [1, 1, 2, 2], origin)
    _, others = written(tmp_path / "two", name, [1, 2, 3, 3], origin)
    assert read_corpus(path, persons=persons).n_units == 2
    assert read_corpus(path, persons=others).n_units == 3  # whoever reads it says so: nothing was exchanged
    assert read_corpus(path, persons=range(4)).n_units == 4
    persons.write_bytes(others.read_bytes())
    with pytest.raises(
        CorpusError, match=f"{persons.name} is not the file of persons that {name} was written"
    ):
        read_corpus(path, persons=persons)
    persons.unlink()
    for read in (read_corpus, lambda path: fit_topics(path, epsilon=1)):
        with pytest.raises(
            CorpusError, match=f"was written with persons.* none are given: put {persons.name} b"
        ):
            read(path)


def test_counts_of_an_older_version_and_of_others_are_read_as_before(tmp_path):
    path, persons = written(tmp_path / "one", "a.mtx", [1, 1, 2, 2], FROM_TEXT)
    beside = tmp_path / "one" / "a.mtx.origin.json"
    told = json.loads(beside.read_text())
    assert len(told.pop("persons_sha256")) == 64
    beside.write_text(json.dumps(told))
    persons.write_text("1\n2\n3\n3\n")
    assert read_corpus(path).n_units == 4
    assert read_corpus(path, persons=persons, vocabulary=list("abcd")).word_origin == FROM_TEXT
    beside.unlink()
    assert read_corpus(path, persons=persons).n_units == 3


def test_the_same_corpus_is_the_same_bytes(tmp_path):
    corpus = Corpus([[1, 0], [2, 3]], ["a", "b"], persons=[4, 5])
    for name in ("a.npz", "docword.a.txt.gz"):
        first = write_corpus(corpus, tmp_path / name)[-1].read_bytes()
        assert write_corpus(corpus, tmp_path / name)[-1].read_bytes() == first


def test_others_read_what_we_write(tmp_path):
    from scipy.io import mmread

    corpus = Corpus([[1, 0, 2], [0, 0, 0], [0, 3, 0]], ["a", "b", "c"], labels=[1, -1, 2])
    dense = corpus.counts.toarray()
    write_corpus(corpus, tmp_path / "a.npz")
    assert np.array_equal(sp.load_npz(tmp_path / "a.npz").toarray(), dense)
    write_corpus(corpus, tmp_path / "a.mtx")
    assert np.array_equal(mmread(tmp_path / "a.mtx").toarray(), dense)


@pytest.mark.parametrize("name", ["a.npz", "a.mtx", "docword.a.txt.gz"])
def test_a_write_that_fails_leaves_nothing_and_keeps_what_was(tmp_path, monkeypatch, name):
    corpus = Corpus(np.eye(5, dtype=int), list("abcde"), persons=range(5))
    files = write_corpus(corpus, tmp_path / name)
    before = {path: path.read_bytes() for path in files}

    def full(*anything):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(CorpusError, match="cannot be written: No space left"):
        write_corpus(Corpus(np.eye(5, dtype=int) * 2, list("vwxyz"), persons=range(5)), tmp_path / name)
    assert {path: path.read_bytes() for path in files} == before
    assert len(list(tmp_path.iterdir())) == len(files)


def test_writing_in_place_would_be_caught(tmp_path):
    # Planted mistake: open(path, "wb") and write; a failure half way leaves half a file.
    path = tmp_path / "a.uci"
    path.write_bytes(b"whole")
    with path.open("wb") as file:
        file.write(b"ha")  # and here the disk is full
    assert path.read_bytes() != b"whole"


@pytest.mark.integration
def test_kos_round_trip(shared_data, tmp_path):
    folder = shared_data / "kos"
    corpus = read_corpus(folder / "docword.kos.txt.gz", vocabulary=folder / "vocab.kos.txt")
    files = write_corpus(corpus, tmp_path / "docword.kos.txt.gz")
    with gzip.open(files[-1]) as ours, gzip.open(folder / "docword.kos.txt.gz") as theirs:
        assert sorted(ours.read().split(b"\n")) == sorted(theirs.read().split(b"\n"))
    for format_name, name in NAMES.items():
        assert_same(back(corpus, write_corpus(corpus, tmp_path / name), format_name), corpus)
