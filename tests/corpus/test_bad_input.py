"""Every bad input is one CorpusError that names file and place, and never shows the text."""

import gzip
import json
import sys

import numpy as np
import pytest
import scipy.sparse as sp
from tests.marks import quick

from discreet.corpus import load_vocabulary, read_corpus
from discreet.errors import CorpusError, DiscreetError, ParameterError

SECRET = "zyzzyva"


def line(**fields):
    return json.dumps(fields) + "\n"


GOOD = line(text=f"{SECRET} words", who="ann")
UCI = "2\n3\n3\n1 1 2\n1 3 1\n2 2 5\n"
MTX = "%%MatrixMarket matrix coordinate integer general\n% made by hand\n2 3 2\n1 1 4\n2 3 1\n"
WORDS = ["one", "two", "three"]

UCI_RULE = (
    "expected 3 whole numbers without a decimal point, each in its range; a line holds a document from 1 to 2 and a "
    "word from 1 to 3 and a count from 1 to 2147483647."
)
MTX_RULE = {
    "integer": UCI_RULE.replace("a count from 1", "a count from 0"),
    "real": UCI_RULE.replace("a count from 1", "a count from 0").replace(" without a decimal point", ""),
}

# name, content, options, what the message must hold
CASES = [
    ("a.jsonl", "", {}, ["a.jsonl is empty"]),
    ("a.jsonl", "\n \n", {}, ["a.jsonl is empty"]),
    ("a.jsonl", GOOD + GOOD + '{"text": "' + SECRET, {}, ["a.jsonl, line 3: broken JSON"]),
    ("a.jsonl", GOOD + f'["{SECRET}"]\n', {}, ["line 2", "expected one JSON object a line, found list"]),
    ("a.jsonl", GOOD + "[" * 100_000 + "\n", {}, ["line 2: broken JSON"]),
    ("a.jsonl", GOOD, {"text": "body"}, ["no field for text='body'", "its fields are 'text', 'who'"]),
    ("a.jsonl", GOOD, {"person": "x", "label": "y"}, ["person='x', label='y'"]),
    ("a.jsonl", GOOD + line(who="bob"), {}, ["line 2: no field 'text'"]),
    ("a.jsonl", GOOD + line(text=None), {}, ["line 2: field 'text' must be text, found nothing"]),
    ("a.jsonl", GOOD + line(text=[SECRET]), {}, ["line 2", "a list of tokens, but text before"]),
    ("a.jsonl", GOOD + line(text=f"{SECRET}"), {"person": "who"}, ["line 2: no field 'who'"]),
    (
        "a.jsonl",
        GOOD + line(text="a", who=None),
        {"person": "who"},
        ["line 2: field 'who' must name", "nothing"],
    ),
    (
        "a.jsonl",
        GOOD + line(text="a", who=""),
        {"person": "who"},
        ["line 2: field 'who' must name", "empty text"],
    ),
    (
        "a.jsonl",
        GOOD + line(text="a", who=True),
        {"person": "who"},
        ["line 2: field 'who' must name", "true or false"],
    ),
    (
        "a.jsonl",
        GOOD + line(text="a", who=1.5),
        {"person": "who"},
        ["line 2: field 'who' must name", "a number"],
    ),
    (
        "a.jsonl",
        GOOD + line(text="a", who={}),
        {"label": "who"},
        ["line 2: field 'who' must be text, a whole number or a date", "object"],
    ),
    (
        "a.jsonl",
        GOOD + "".join(f"{SECRET}\n" for _ in range(9)),
        {},
        ["9 problems: line 2", "line 6", "and 4 more"],
    ),
    ("a.jsonl", GOOD + f"{SECRET}\n" * 5000, {}, ["at least 100 problems"]),
    ("a.jsonl", line(text="..."), {}, ["no words in 1 document;"]),
    (
        "a.jsonl",
        GOOD.encode() + b'{"text": "caf\xe9"}\n',
        {},
        ["line 2: not utf-8 text at byte 53", "cp1252"],
    ),
    ("a.jsonl", GOOD, {"encoding": "klingon"}, ["'klingon' is not known"]),
    ("a.jsonl", b"\x7fELF\0\0\0\1", {}, ["a.jsonl looks like a binary file"]),
    ("a.jsonl.gz", gzip.compress(GOOD.encode() * 9999, mtime=0)[:-20], {}, ["a.jsonl.gz is cut short"]),
    ("a.jsonl.gz", b"\x1f\x8b\x08\0" + b"\xff" * 99, {}, ["a.jsonl.gz is damaged"]),
    ("a.jsonl", '{"text": "\\ud800 \\ud800"}', {"token_pattern": r"\S+"}, ["lone surrogate"]),
    ("a.csv", "", {}, ["a.csv is empty: expected a header"]),
    ("a.csv", "text,who\n", {}, ["a.csv is empty"]),
    ("a.csv", f"text,who\n{SECRET},ann\n{SECRET}\n", {}, ["line 3: 1 fields, the header has 2"]),
    ("a.csv", f'text,who\n"{SECRET},ann\n', {}, ["line 2: broken CSV"]),
    ("a.csv", f"text,text\n{SECRET},ann\n", {}, ["more than one column named 'text'"]),
    ("a.csv", "body,who\nwords,ann\n", {}, ["no field for text='text'; its fields are 'body', 'who'"]),
    (
        "a.csv",
        f"{SECRET} is a long line of text without any header over it\n",
        {},
        ["its fields are not shown (1 in all), because", "is there a header?"],
    ),
    ("a.csv", "Patient ID,Notiz\nP17,words\n", {}, ["its fields are 'Patient ID', 'Notiz'."]),
    (
        "a.csv",
        f"P17,{'a ' * 7}{SECRET}\n",
        {},
        ["its fields are 'P17' and 1 more, not shown, because"],
    ),
    (
        "a.jsonl",
        f'{{"{SECRET * 9}": 1, "HIV": 2}}\n',
        {},
        ["its fields are 'HIV' and 1 more, not shown, because"],
    ),
    ("a.csv", f"text,who\n{SECRET},\n", {"person": "who"}, ["line 2: field 'who' must name the person"]),
    ("a.csv", "text\nabc\n", {"delimiter": "::"}, ["delimiter must be one character"]),
    ("a.lines", "words\n", {"format": "lines", "person": "who"}, ["no field for person='who'", "'text'"]),
    ("a.txt", "words\n", {}, ["its name does not say what it is", "jsonl", "uci"]),
    ("a.txt", "words\n", {"format": "txt"}, ["reads a folder of .txt files", 'format="lines"']),
    ("a.txt", "words\n", {"format": "word"}, ["format 'word' is not known; choose one of jsonl"]),
    ("a.uci", "", {}, ["a.uci is empty"]),
    ("a.uci", "2\n3\n", {}, ["line 3: expected the number of entries"]),
    ("a.uci", "2\nx\n3\n", {}, ["line 2: expected the number of words"]),
    ("a.uci", UCI + "2 3 1\n", {}, ["ends after 4 entries, its header promises 3"]),
    ("a.uci", "1048580\n3\n3\n1 1 1\n1 3 2\n3 2 7\n", {}, ["far more rows or columns are promised"]),
    ("a.uci", "3\n1048580\n3\n1 1 1\n1 3 2\n3 2 7\n", {}, ["far more rows or columns are promised"]),
    ("a.uci", UCI[:-6], {}, ["ends after 2 entries, its header promises 3"]),
    *(
        ("a.uci", UCI.replace("2 2 5", other), {}, [f"line 6: {UCI_RULE}"])
        for other in (
            *("3 2 5", "0 2 5", "2 4 5", "2 2 -5", "2 2 0", "2 2 2147483648", "2 2 99999999999999999999999"),
            *("2 2 5.0", "2 2 nan", "2 2 inf", f"2 2 {SECRET}", "2 2 1_0", "2 2 \uff15", "2 2", "2 2 5 7"),
        )
    ),
    ("a.uci", UCI.replace("1 1 2\n1 3 1\n", "1 1 2 1\n3 1\n"), {}, ["line 4", "line 5"]),
    ("a.uci", "99999999999\n3\n0\n", {}, ["rows or columns are promised"]),
    ("a.uci", UCI, {"vocabulary": ["a", "b"]}, ["has 3 columns, but the vocabulary has 2 words"]),
    ("a.uci", UCI, {"vocabulary": ["a", "b", "a"]}, ["position 2 (same as 0)"]),
    ("a.uci", UCI, {"persons": [1]}, ["a.uci: persons must have shape (2,)"]),
    ("a.uci.gz", gzip.compress(UCI.encode(), mtime=0)[:-9], {}, ["a.uci.gz is cut short"]),
    ("a.mtx", "", {}, ["a.mtx is empty"]),
    ("a.mtx", "hello\n", {}, ["line 1: expected %%MatrixMarket"]),
    ("a.mtx", MTX.replace("coordinate", "array"), {}, ["line 1", "matrix coordinate integer general"]),
    ("a.mtx", MTX.replace("general", "symmetric"), {}, ["line 1", "matrix coordinate integer general"]),
    ("a.mtx", MTX.replace("2 3 2", "2 3"), {}, ["line 3: expected three numbers"]),
    *(
        ("a.mtx", MTX.replace("integer", field).replace("2 3 1", other), {}, [f"line 5: {MTX_RULE[field]}"])
        for field, other in (
            *(("real", "2 3 1.5"), ("real", "2 3 1_0.0"), ("real", "2 3 nan"), ("real", "2 3 1e300")),
            *(("integer", "2 3 -1"), ("integer", "2 0_3 1"), ("integer", "2 3 1.0")),
        )
    ),
    ("a.npz", "", {}, ["a.npz is empty"]),
    ("a.npz", "this is not a zip file", {}, ["a.npz is not a sparse matrix"]),
    ("a.parquet", "", {}, ["a.parquet is empty"]),
    ("a.parquet", "this is not Parquet", {}, ["a.parquet is not a Parquet file"]),
]


@pytest.mark.parametrize(("name", "content", "options", "expected"), CASES)
def test_one_clear_error(tmp_path, name, content, options, expected):
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(CorpusError) as caught:
        read_corpus(path, **options)
    message = str(caught.value)
    for part in expected:
        assert part in message
    assert "\n" not in message
    assert message.endswith(".")
    assert_no_text(caught.value)


def assert_no_text(error):
    """Neither the message nor what it was raised from holds text of the file."""
    seen = error
    while seen is not None:
        assert SECRET not in repr(seen.args)
        assert SECRET not in repr(getattr(seen, "doc", "")) + repr(getattr(seen, "object", ""))
        seen = seen.__cause__ or seen.__context__


def test_the_text_would_be_found():
    # Planted mistake: letting the parser's own error through; it carries the whole line.
    try:
        json.loads(f'{{"text": {SECRET}')
    except json.JSONDecodeError as error:
        with pytest.raises(AssertionError):
            assert_no_text(error)


def test_missing_files_and_folders(tmp_path):
    with pytest.raises(CorpusError, match=r"nothing\.jsonl does not exist"):
        read_corpus(tmp_path / "nothing.jsonl")
    with pytest.raises(CorpusError, match="nothing does not exist"):
        read_corpus(tmp_path / "nothing")
    with pytest.raises(CorpusError, match=r"holds no \.txt file"):
        read_corpus(tmp_path)
    with pytest.raises(CorpusError, match="does not exist"):
        read_corpus(tmp_path / "nothing", "txt")
    with pytest.raises(CorpusError, match="is a folder"):
        read_corpus(tmp_path, "jsonl")
    with pytest.raises(CorpusError, match="does not exist"):
        read_corpus(tmp_path, vocabulary=tmp_path / "words.txt")


def test_a_folder_names_the_file(tmp_path):
    (tmp_path / "ann").mkdir()
    (tmp_path / "ann" / "one.txt").write_text("some words")
    (tmp_path / "two.txt").write_bytes(b"caf\xe9 " + SECRET.encode())
    with pytest.raises(CorpusError, match=r"two\.txt, line 1: not utf-8 text at byte 3") as caught:
        read_corpus(tmp_path)
    assert_no_text(caught.value)
    (tmp_path / "two.txt").write_text("other words")
    with pytest.raises(CorpusError, match=r"two\.txt: field 'folder' must name the person, found empty text"):
        read_corpus(tmp_path, person="folder")
    (tmp_path / "two.txt").write_bytes(b"\0\1\2")
    with pytest.raises(CorpusError, match=r"two\.txt looks like a binary file"):
        read_corpus(tmp_path)


@pytest.mark.parametrize("codec", quick(["utf-8", "utf-16", "cp1252", "ascii"], "utf-8", "utf-16"))
def test_the_place_of_a_bad_byte_is_exact_in_large_files(tmp_path, codec):
    good = ("xy " * 300_000 + "\n").encode("utf-8")
    bad = {"utf-8": b"\xff", "ascii": b"\x80", "cp1252": b"\x81"}.get(codec)
    path = tmp_path / "a.jsonl"
    if bad is None:
        path.write_bytes("some".encode("utf-16") + b"\x00\xdc")
        with pytest.raises(CorpusError, match=r"line 1: not utf-16 text at byte 10"):
            read_corpus(path, "lines", encoding=codec)
        return
    # Also with a character cut by the border of the blocks in which the place is sought.
    prefix = good * 3 + b"z" * ((1 << 20) - 1 - (len(good) * 3) % (1 << 20))
    prefix += "é".encode() + b"\n" if codec == "utf-8" else b"zz\n"
    path.write_bytes(prefix + b"abc" + bad + b"\n")
    with pytest.raises(CorpusError) as caught:
        read_corpus(path, "lines", encoding=codec)
    assert f"line 5: not {codec} text at byte {len(prefix) + 3};" in str(caught.value)


def test_options_without_a_meaning_are_refused(tmp_path):
    (tmp_path / "a.uci").write_text(UCI)
    (tmp_path / "a.jsonl").write_text(GOOD)
    for options in ({"text": "x"}, {"person": "x"}, {"stop_words": "english"}, {"ngram_range": (1, 2)}):
        with pytest.raises(ParameterError, match=f'{next(iter(options))}= cannot be used with format "uci"'):
            read_corpus(tmp_path / "a.uci", **options)
    with pytest.raises(ParameterError, match="person= or persons="):
        read_corpus(tmp_path / "a.jsonl", person="who", persons=[1])
    with pytest.raises(ParameterError, match="label= or labels="):
        read_corpus(tmp_path / "a.jsonl", label="who", labels=[1])
    from discreet.corpus import Tokenizer

    with pytest.raises(ParameterError, match="tokenizer= or lowercase="):
        read_corpus(tmp_path / "a.jsonl", tokenizer=Tokenizer(), lowercase=False)
    assert issubclass(CorpusError, DiscreetError)
    assert issubclass(CorpusError, ValueError)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "w.txt is empty: expected a vocabulary"),
        ("one\none\n", "w.txt: line 2 (same as 1)"),
        ("one\n\ntwo\n", "w.txt: line 2: a word must not be empty"),
        ("one\ntwo\u2028three\n", "w.txt: line 2: a word must not be empty"),
        (b"one\ncaf\xe9\n", "w.txt, line 2: not utf-8 text at byte 7"),
        (b"PK\0\0", "looks like a binary file"),
    ],
)
def test_vocabulary_files(tmp_path, content, message):
    path = tmp_path / "w.txt"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(CorpusError) as caught:
        load_vocabulary(path)
    assert message in str(caught.value)


def test_vocabulary_files_forgive_line_ends(tmp_path):
    path = tmp_path / "w.txt"
    path.write_bytes(b"\xef\xbb\xbfone\r\ntwo words\r\n\n")
    assert load_vocabulary(path) == ("one", "two words")


def test_sparse_files_of_other_content(tmp_path):
    np.savez(tmp_path / "a.npz", x=np.eye(2))
    with pytest.raises(CorpusError, match=r"a\.npz is not a sparse matrix"):
        read_corpus(tmp_path / "a.npz")
    np.savez(tmp_path / "b.npz", x=np.array([{"a": 1}], object))
    with pytest.raises(CorpusError, match=r"b\.npz is not a sparse matrix"):
        read_corpus(tmp_path / "b.npz")
    for value, message in ((-1, "Negative"), (np.nan, "NaN"), (0.5, "not whole")):
        sp.save_npz(tmp_path / "c.npz", sp.csr_matrix([[1, 0], [0, value]]))
        with pytest.raises(CorpusError, match=rf"c\.npz: .*{message}.*row 2"):
            read_corpus(tmp_path / "c.npz")


def test_parquet_faults(tmp_path):
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet as pq

    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"text": ["words", None, "x"], "who": ["a", "b", None]}), path)
    with pytest.raises(CorpusError, match="its fields are 'text', 'who'"):
        read_corpus(path, text="body")
    with pytest.raises(CorpusError, match=r"2 problems: row 2: field 'text'.*row 3: field 'who'"):
        read_corpus(path, person="who")
    path.write_bytes(path.read_bytes()[:-30] + b"PAR1")
    with pytest.raises(CorpusError, match=r"not a Parquet file|damaged"):
        read_corpus(path)


def test_parquet_without_pyarrow(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    (tmp_path / "a.parquet").write_bytes(b"PAR1")
    with pytest.raises(CorpusError, match=r"pip install 'discreet\[parquet\]'"):
        read_corpus(tmp_path / "a.parquet")


@pytest.mark.parametrize(("old", "new"), [(b"\x05count", b"\x05\xffount"), (b"word%", b"\xfford%")])
def test_parquet_whose_names_are_no_text(tmp_path, old, new):
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"text": ["a"], "word": ["b"], "count": [1]}), path)
    whole = path.read_bytes()
    assert old in whole
    path.write_bytes(whole.replace(old, new))
    with pytest.raises(CorpusError, match="damaged"):
        read_corpus(path, person="word", label="count")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.uci", UCI.replace("2 2 5", "2 2 +5")),
        ("a.mtx", MTX.replace("1 1 4", " 1 1\t4 ").replace("2 3 1", "+2 3 +1")),
    ],
)
def test_a_plus_and_blanks_before_a_number_change_nothing(tmp_path, name, text):
    for where, written in (("given", text), ("plain", text.replace("+", ""))):
        (tmp_path / where).mkdir()
        (tmp_path / where / name).write_text(written)
    found, plain = (read_corpus(tmp_path / where / name) for where in ("given", "plain"))
    assert found.counts.sum() > 0
    assert (found.counts != plain.counts).nnz == 0
