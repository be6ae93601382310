"""Whatever stands in a file, a reader gives a sound corpus or one of our errors.

``cases/`` holds files that a search once found, the shortest for each way a format is refused, and whatever a reader
ever fell over. They are read again in every run; a search that finds a new fall leaves its file there.
"""

import gzip
import hashlib
import resource
import tempfile
import time
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from discreet.corpus import Corpus, read_corpus, write_corpus
from discreet.corpus.formats import table
from discreet.errors import CorpusError

FORMATS = sorted(table.FORMATS.keys() - {"txt", "xlsx", "shards"})
CASES = Path(__file__).parent / "cases"
KEPT = sorted(path.relative_to(CASES).as_posix() for path in CASES.glob("*/*.bin"))
GOOD = {
    "jsonl": b'{"text": "some words", "a": "x"}\n{"text": "more", "a": 7}\n',
    "csv": b'a,text\nx,"some words"\n7,more\n',
    "json": b'[{"text": "some words", "a": "x"},\n {"text": "more", "a": 7}]\n',
    "lines": b"some words\nmore\n",
}
PIECES = [
    *(
        b"\n",
        b" ",
        b"\0",
        b"-",
        b"1",
        b"99999999999",
        b":",
        b",",
        b'"',
        b"{",
        b"\xff",
        b"1.5",
        b"nan",
        b"%",
        b"",
    ),
    *(
        b"\r",
        b"\t",
        b"#",
        b"'",
        b"1e400",
        b"-1",
        b"0",
        b"\xef\xbb\xbf",
        b"\x1b[2J",
        b"PK",
        b"\\u0000",
        b"[",
        b"null",
    ),
]


#: Made by a library (in ``valid``), or not asked: a folder, and files that only a spreadsheet's reader looks into.
NO_SAMPLE = {"parquet", "txt", "xlsx"}


def test_every_format_of_text_has_a_sample():
    assert GOOD.keys() | NO_SAMPLE == table.TEXT_FORMATS.keys()


def valid(folder, name):
    if name in GOOD:
        return GOOD[name]
    corpus = Corpus([[1, 0, 2], [0, 0, 0], [0, 7, 1]], ["a", "b", "c"], persons=[0, 1, 0])
    if name == "parquet":
        pa = pytest.importorskip("pyarrow")
        import pyarrow.parquet as pq

        pq.write_table(pa.table({"text": ["some words", "more"], "a": ["x", "y"]}), folder / "valid")
    else:
        write_corpus(corpus, folder / "valid", name)
    return (folder / "valid").read_bytes()


@st.composite
def injured(draw, content):
    """Bytes of a good file with a few plausible injuries, at times packed and cut off."""
    for _ in range(draw(st.integers(1, 3))):
        start = draw(st.integers(0, len(content)))
        stop = draw(st.integers(start, min(len(content), start + 8)))
        piece = draw(st.one_of(st.sampled_from(PIECES), st.binary(max_size=6)))
        content = content[:start] + piece + content[stop:]
    if draw(st.booleans()):
        content = gzip.compress(content, mtime=0)[: draw(st.integers(1, 60)) * 10]
    return content


def read(folder, name, content):
    """None where the bytes are refused in due form; the corpus, checked, where they are read."""
    path = folder / "a.bin"
    path.write_bytes(content)
    options = {"person": "a"} if name in ("jsonl", "json", "csv", "parquet") else {}
    try:
        corpus = read_corpus(path, name, **options)
    except CorpusError as error:
        refused = str(error)
    else:
        refused = None
    if refused is not None:
        assert refused.isprintable()
        return None
    assert corpus.n_documents > 0
    assert corpus.counts.has_canonical_format
    assert corpus.counts.shape == (corpus.n_documents, len(corpus.vocabulary))
    assert not corpus.counts.nnz or (
        corpus.counts.data.min() > 0 and corpus.counts.indices.max() < corpus.n_words
    )
    return corpus


def read_or_keep(folder, name, content):
    try:
        read(folder, name, content)
    except Exception:
        kept = CASES / name / f"{hashlib.sha256(content).hexdigest()[:12]}.bin"
        kept.parent.mkdir(parents=True, exist_ok=True)
        kept.write_bytes(content)
        raise


@pytest.mark.parametrize("name", FORMATS)
@given(data=st.data())
@settings(
    max_examples=120,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@pytest.mark.integration
def test_nothing_but_our_errors(tmp_path, name, data):
    read_or_keep(tmp_path, name, data.draw(injured(valid(tmp_path, name))))


def test_kept_cases(tmp_path):
    read_all_the_same = [
        case for case in KEPT if read(tmp_path, case.split("/")[0], (CASES / case).read_bytes()) is not None
    ]
    assert len(KEPT) > 220
    assert read_all_the_same == []


@pytest.mark.slow
@pytest.mark.timeout(1500)
def test_nothing_but_our_errors_for_ten_minutes():
    with tempfile.TemporaryDirectory() as parent:
        folder = Path(parent)
        good = {name: valid(folder, name) for name in FORMATS}

        @settings(max_examples=1000, deadline=None, suppress_health_check=list(HealthCheck))
        @given(st.data())
        def search(data):
            name = data.draw(st.sampled_from(FORMATS))
            read_or_keep(folder, name, data.draw(injured(good[name])))

        # A file that asks for more memory than any of these needs is a fall like any other.
        before = resource.getrlimit(resource.RLIMIT_AS)
        resource.setrlimit(resource.RLIMIT_AS, (8 << 30, before[1]))
        try:
            end = time.monotonic() + 600
            while time.monotonic() < end:
                search()
        finally:
            resource.setrlimit(resource.RLIMIT_AS, before)


def test_the_search_would_see_a_fall(tmp_path, monkeypatch):
    def falls(*_, **__):
        raise IndexError("planted")

    monkeypatch.setitem(globals(), "read_corpus", falls)
    monkeypatch.setitem(globals(), "CASES", tmp_path / "cases")
    with pytest.raises(IndexError, match="planted"):
        read_or_keep(tmp_path, "lines", b"x")
    assert [path.read_bytes() for path in (tmp_path / "cases").rglob("*.bin")] == [b"x"]
