"""Word vectors: every format and kind of object, how words are matched, and what hostile files come to."""

import gzip
import hashlib
import io
import os
import tracemalloc
import zipfile
from types import SimpleNamespace

import numpy as np
import pytest

from discreet.corpus import match_vectors
from discreet.corpus.word_vectors import check_vectors, read_vectors
from discreet.errors import CorpusError, ParameterError, WordVectorsWarning

WORDS = ["nurse", "ward", "pain"]
TABLE = {"the": [0, 1, 2], "Nurse": [9, 9, 9], "nurse": [1, 2, 3], "Ward": [4, 5, 6], "ship": [7, 8, 9.5]}
EXPECTED = np.array([[1, 2, 3], [4, 5, 6], [np.nan] * 3])


def text(header=False, separator=" "):
    lines = [f"{len(TABLE)} 3"] if header else []
    lines += [separator.join([word, *map(str, vector)]) for word, vector in TABLE.items()]
    return ("\n".join(lines) + "\n").encode()


def npz(words=None, vectors=None, order="C"):
    raw = io.BytesIO()
    words = np.array(list(TABLE)) if words is None else words
    vectors = np.array(list(TABLE.values()), np.float16, order=order) if vectors is None else vectors
    np.savez_compressed(raw, words=words, vectors=vectors)
    return raw.getvalue()


FILES = {
    "glove": text(),
    "glove with tabs": text(separator="\t"),
    "glove without a last line break": text().rstrip(),
    "word2vec text": text(header=True),
    "fastText": text(header=True).replace(b".5\n", b".5 \n"),
    "npz": npz(),
    "npz by columns": npz(order="F"),
    "npz of bytes": npz(words=np.array([w.encode() for w in TABLE])),
    "gzip": gzip.compress(text()),
}


@pytest.mark.parametrize("kind", FILES)
def test_every_format_gives_the_same(kind, tmp_path):
    path = tmp_path / ("vectors.npz" if kind.startswith("npz") else "vectors.any")
    path.write_bytes(FILES[kind])
    found = match_vectors(path, WORDS)
    np.testing.assert_array_equal(found.vectors, EXPECTED)
    assert (found.name, found.n_found, found.n_respelt) == (path.name, 2, 1)
    assert found.digest == hashlib.sha256(FILES[kind]).hexdigest()
    assert found.coverage == "2 of 3 words (1 in another case)"


def objects():
    array = np.array(list(TABLE.values()))
    keyed = SimpleNamespace(key_to_index={word: row for row, word in enumerate(TABLE)}, vectors=array)
    return {
        "mapping": TABLE,
        "mapping of arrays": {word: np.array(vector, np.float32) for word, vector in TABLE.items()},
        "KeyedVectors": keyed,
        "model": SimpleNamespace(wv=keyed),
        "words and array": (list(TABLE), array),
        "array and words": (array, list(TABLE)),
        "aligned": EXPECTED,
    }


@pytest.mark.parametrize("kind", objects())
def test_every_kind_of_object_gives_the_same(kind):
    found = match_vectors(objects()[kind], WORDS)
    np.testing.assert_array_equal(found.vectors, EXPECTED)
    assert found.n_found == 2
    assert len(found.digest) == 64
    assert found.digest == match_vectors(TABLE, WORDS).digest


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_frames_are_given_as_words_and_array(library):
    frames = pytest.importorskip(library)
    with pytest.raises(ParameterError, match=r"\(list\(frame.index\), frame.to_numpy\(\)\)"):
        match_vectors(frames.DataFrame({f"d{i}": [1.0, 2.0] for i in range(3)}), WORDS)
    if library == "pandas":
        frame = frames.DataFrame(np.array(list(TABLE.values()), float), index=list(TABLE))
        found = match_vectors((list(frame.index), frame.to_numpy()), WORDS)
        np.testing.assert_array_equal(found.vectors, EXPECTED)


def test_how_words_are_matched():
    """As spelt; else by case, Unicode form and underscores; the first of several."""
    source = {
        "New_York": [1.0, 0],
        "new york": [2.0, 0],
        "STRASSE": [3, 0],
        "Caf\u0065\u0301": [4, 0],
        "caf\u00e9s": [5, 0],
    }
    words = ["new york", "NEW YORK", "stra\u00dfe", "caf\u00e9", "cafes"]
    found = match_vectors(source, words)
    assert found.vectors[:, 0].tolist()[:4] == [2, 1, 3, 4]
    assert np.isnan(found.vectors[4]).all()
    assert (found.n_found, found.n_respelt) == (4, 3)


def test_words_with_spaces_in_a_text_file(tmp_path):
    path = tmp_path / "glove"
    path.write_text("the 0 1\n. . . 2 3\nnew york 4 5\n. 6 7\n")
    assert match_vectors(path, ["new york", ". . .", "."]).vectors.tolist() == [[4, 5], [2, 3], [6, 7]]
    assert match_vectors(path, ["."]).vectors.tolist() == [[6, 7]]


BINARY = b"5 3\n" + b"".join(
    word.encode() + b" " + np.array(vector, "<f4").tobytes() for word, vector in TABLE.items()
)
BROKEN = {
    "empty": (b"", "is empty"),
    "no vectors": (b"hello world\nthis is text\n", "line 1: expected a word and its numbers"),
    "one number": (b"the 1\n", "line 1"),
    "short line": (b"the 1 2 3\nnurse 1 2\n", "line 2: expected a word and 3 numbers"),
    "no number": (b"the 1 2 3\nnurse 1 x 3\n", "line 2: expected a word and 3 finite numbers"),
    "not finite": (b"the 1 2 3\nnurse 1 nan 3\n", "line 2: expected a word and 3 finite"),
    "beyond float32": (b"the 1 2 3\nnurse 1 1e39 3\n", "line 2"),
    "none of the words": (b"a 1 2\nb 3 4\n", "none of the 3 words"),
    "cut short": (text(header=True)[:-14], "promises 5 vectors and holds 4"),
    "binary": (BINARY, "gensim makes text of it: KeyedVectors.load_word2vec_format"),
    "no dimensions": (b"5 0\n", "1 to 4096 numbers"),
    "billions of dimensions": (b"5 9999999999\nthe 1 2\n", "1 to 4096 numbers"),
    "damaged gzip": (gzip.compress(text())[:-12], "cut short|damaged"),
    "zip of something else": (npz().replace(b"words.npy", b"other.npy"), "words and vectors"),
    "damaged zip": (npz()[:200], "words and vectors"),
    "pickled words": (
        npz(words=np.array(["a", None], object)),
        "is not an .npz with the arrays words and vectors",
    ),
    "lengths differ": (npz(words=np.array(["a"])), r"shape \(1, dimensions\)"),
    "whole numbers": (npz(vectors=np.ones((5, 3), int)), "floats of shape"),
    "npz not finite": (npz(vectors=np.full((5, 3), np.nan)), "finite"),
}


def forged(shape):
    """An npz whose vectors claim a shape that is not there."""
    raw = io.BytesIO()
    header = f"{{'descr': '<f4', 'fortran_order': False, 'shape': {shape}, }}"
    header += " " * (-(len(header) + 11) % 64) + "\n"
    words = io.BytesIO()
    np.save(words, np.array(list(TABLE)))
    with zipfile.ZipFile(raw, "w") as archive:
        archive.writestr("words.npy", words.getvalue())
        archive.writestr(
            "vectors.npy", b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header.encode()
        )
    return raw.getvalue()


BROKEN |= {
    "claims more than it holds": (forged((5, 4000)), "words and vectors"),
    "claims less than nothing": (forged((-5, 3)), "words and vectors"),
}


@pytest.mark.parametrize("kind", BROKEN)
def test_broken_files_are_refused(kind, tmp_path):
    content, expected = BROKEN[kind]
    path = tmp_path / ("vectors.npz" if content.startswith(b"PK") else "vectors")
    path.write_bytes(content)
    with pytest.raises(CorpusError, match=expected) as caught:
        match_vectors(path, WORDS)
    assert "vectors" in str(caught.value)
    assert caught.value.__cause__ is None


def test_missing_files_and_whole_ones(tmp_path):
    with pytest.raises(CorpusError, match="does not exist"):
        match_vectors(tmp_path / "none", WORDS)
    (tmp_path / "one").write_bytes(text())
    check_vectors(tmp_path / "one")
    for bad in (b"cut 1\n", b"cut 1 2 3,5\n", b"cut 1 2 1e39\n", b"two words nan 2 3\n"):
        (tmp_path / "one").write_bytes(text() + bad)
        with pytest.raises(CorpusError, match="line 6"):
            check_vectors(tmp_path / "one")


def test_a_file_that_changes_after_the_check_ends_no_run(tmp_path):
    """What was booked stays booked: topics without vectors are better than none."""
    path = tmp_path / "vectors.vec"
    for change in (lambda: path.write_text("nurse 1 x 3\n"), lambda: path.write_text(""), path.unlink):
        change()
        with pytest.warns(WordVectorsWarning, match="Training goes on without vectors"):
            assert read_vectors(path, tuple(WORDS), booked=True) is None
        with pytest.raises(CorpusError):
            read_vectors(path, tuple(WORDS))


def test_a_pipe_is_refused_as_vectors_are_read_twice(tmp_path):
    path = tmp_path / "pipe"
    os.mkfifo(path)
    with pytest.raises(CorpusError, match="is a pipe, but vectors are read twice: write them"):
        check_vectors(path)


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ({}, "empty mapping"),
        ({"nurse": [1, 2], "ward": [1]}, "is a list whose rows differ in length"),
        ({"nurse": [1, np.inf]}, "finite"),
        ({"nurse": [1, 1e39]}, "finite numbers below 3.4e38"),
        ({"nurse": 3.0}, "a mapping of words to vectors.* is a list of shape"),
        (np.ones((2, 3)), "2 rows for 3 words"),
        (np.ones(3), r"an ndarray of shape \(3,\) and type float64"),
        (np.array([["a", "b"]] * 3), r"an ndarray of shape \(3, 2\) and type text"),
        (7, "but is an int"),
        ((["nurse"], np.ones((2, 2))), "2 rows for 1 words"),
        (
            [1.0, 2.0],
            r"array of shape \(n_words, n_dimensions\) .* is a list of shape \(2,\) and type float64",
        ),
        ((1.0, "secret words"), "is a tuple of shape"),
        (np.float64(2), "is a float64"),
        (np.ones((3, 2, 2)), r"of shape \(3, 2, 2\)"),
        (["secret", "words"], r"is a list of shape \(2,\) and type text"),
        ([[1.0, 2.0], [3.0], [4.0]], "is a list whose rows differ in length"),
        ((["nurse"], [[1], ["secret", 2]]), "is a list whose rows differ in length"),
        ((3, np.ones((3, 2))), "is a tuple"),
        ((["nurse"], None), "is a NoneType of shape"),
        ([None, None], "is a list of shape"),
        (b"secret", "is a bytes"),
    ],
)
def test_objects_that_are_none(source, expected):
    with pytest.raises(ParameterError, match=expected):
        match_vectors(source, WORDS)


def test_a_list_of_rows_is_an_array_and_pairs_come_in_either_order():
    rows = [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]
    expected = match_vectors(np.array(rows), WORDS)
    for source in (rows, tuple(rows), (WORDS, rows), (rows, WORDS), (np.array(WORDS), np.array(rows))):
        found = match_vectors(source, WORDS)
        np.testing.assert_array_equal(found.vectors, expected.vectors)
        assert found.digest == expected.digest
    assert match_vectors([[1, 2], [3, 4]], WORDS[:2]).vectors.tolist() == [[1, 2], [3, 4]]


@pytest.mark.parametrize("kind", [set, frozenset, lambda words: dict.fromkeys(words).keys()])
def test_words_without_an_order_take_no_rows(kind):
    rows = np.arange(3.0)[:, None]
    for source in ((kind(WORDS), rows), (rows, kind(WORDS)), [kind(WORDS), rows.tolist()]):
        with pytest.raises(ParameterError, match="which promises no order: give a list"):
            match_vectors(source, WORDS)
    for source in (rows, (WORDS, rows)):
        with pytest.raises(ParameterError, match="words must be a list of texts"):
            match_vectors(source, kind(WORDS))
    with pytest.raises(ParameterError, match="words must be a list of texts"):
        match_vectors(rows, "abc")
    for ordered in (iter(WORDS), tuple(WORDS), np.array(WORDS, dtype=object)):
        assert match_vectors((ordered, rows), WORDS).vectors.ravel().tolist() == [0, 1, 2]


def test_vectors_that_were_matched_before_serve_their_own_words_only():
    found = match_vectors(np.eye(3), WORDS)
    assert found.words == tuple(WORDS)
    assert match_vectors(found, WORDS) is found
    for others, same in ((["x", *WORDS[1:]], 2), (WORDS[::-1], 1), (WORDS[:2], 2), ([*WORDS, "x"], 3)):
        with pytest.raises(
            ParameterError, match=rf"only {same} of the {len(others)} words .* match_vectors\("
        ):
            match_vectors(found, others)


def test_a_large_file_takes_memory_for_the_words_asked_for_only(tmp_path):
    path = tmp_path / "large"
    rows = "".join(f"word{i} {' '.join(['0.25'] * 100)}\n" for i in range(20_000))
    path.write_text(rows)
    tracemalloc.start()
    found = match_vectors(path, ["word7", "word19999"])
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert found.n_found == 2
    assert peak < path.stat().st_size / 2


def test_vectors_in_a_zip_archive_are_unpacked_first(tmp_path):
    with zipfile.ZipFile(tmp_path / "vectors.zip", "w") as archive:
        archive.writestr("vectors.txt", "sea 1 2 3\nland 4 5 6\n")
    with pytest.raises(CorpusError, match="packed by zip, which is not read; unpack it"):
        match_vectors(tmp_path / "vectors.zip", ["land", "sea"])
