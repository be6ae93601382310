"""Whatever stands in a file, a reader gives a sound corpus or one of our errors."""

import gzip

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from discreet.corpus import COUNT_FORMATS, TEXT_FORMATS, Corpus, read_corpus, write_corpus
from discreet.errors import CorpusError

FORMATS = sorted({**TEXT_FORMATS, **COUNT_FORMATS}.keys() - {"txt"})
GOOD = {
    "jsonl": b'{"text": "some words", "a": "x"}\n{"text": "more", "a": 7}\n',
    "csv": b'a,text\nx,"some words"\n7,more\n',
    "lines": b"some words\nmore\n",
    "mallet": b"1 a some words\n2 b more\n",
}
PIECES = [
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
]


def valid(folder, name):
    if name in GOOD:
        return GOOD[name]
    corpus = Corpus([[1, 0, 2], [0, 0, 0], [0, 7, 1]], ["a", "b", "c"], owners=[0, 1, 0])
    if name == "parquet":
        pa = pytest.importorskip("pyarrow")
        import pyarrow.parquet as pq

        pq.write_table(pa.table({"text": ["some words", "more"], "a": ["x", "y"]}), folder / "valid")
    else:
        write_corpus(corpus, folder / "valid", name)
    return (folder / "valid").read_bytes()


@pytest.mark.parametrize("name", FORMATS)
@given(data=st.data())
@settings(
    max_examples=120,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
def test_nothing_but_our_errors(tmp_path, name, data):
    content = valid(tmp_path, name)
    for _ in range(data.draw(st.integers(1, 3))):
        start = data.draw(st.integers(0, len(content)))
        stop = data.draw(st.integers(start, min(len(content), start + 8)))
        piece = data.draw(st.one_of(st.sampled_from(PIECES), st.binary(max_size=6)))
        content = content[:start] + piece + content[stop:]
    if data.draw(st.booleans()):
        content = gzip.compress(content)[: data.draw(st.integers(1, 60)) * 10]
    path = tmp_path / "a.bin"
    path.write_bytes(content)
    options = {"author": "a"} if name in ("jsonl", "csv", "parquet") else {}
    try:
        corpus = read_corpus(path, name, **options)
    except CorpusError:
        return
    assert corpus.n_documents > 0
    assert corpus.counts.has_canonical_format
    assert corpus.counts.shape == (corpus.n_documents, len(corpus.vocabulary))
    assert not corpus.counts.nnz or (
        corpus.counts.data.min() > 0 and corpus.counts.indices.max() < corpus.n_words
    )
