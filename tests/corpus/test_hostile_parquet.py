"""Parquet that promises what it does not hold, or has a text once and names it a million times."""

import itertools
import json
import struct
from contextlib import suppress

import numpy as np
import pytest

from discreet import CorpusError
from discreet.corpus import read_corpus, unpack

pa = pytest.importorskip("pyarrow")
import pyarrow.parquet as pq  # noqa: E402
from tests.corpus.parquet_by_hand import (  # noqa: E402
    dictionary,
    file_of,
    lists_of,
    page,
    runs_of_first,
)

LONG = b"ward" * (1 << 18)  # a MiB
MOST = 160 * 2**20  # bytes at most, for files of some hundred


def one_text(text: bytes = b"nurse bed nurse") -> bytes:
    return struct.pack("<I", len(text)) + text


HOSTILE = {
    "a page that promises 2 GB": lambda: file_of(
        page(one_text(), 1, codec="zstd", promised=2**31 - 1), 1, codec="zstd"
    ),
    "a dictionary that promises 2 GB": lambda: file_of(
        page(runs_of_first(3), 3, "rle_dictionary", codec="zstd"),
        3,
        different=dictionary([b"nurse"], codec="zstd", promised=2**31 - 1),
        codec="zstd",
    ),
    "a long text in a million rows": lambda: file_of(
        page(runs_of_first(10**6), 10**6, "rle_dictionary", codec="zstd"),
        10**6,
        different=dictionary([LONG], codec="zstd"),
        codec="zstd",
    ),
    "a list of a hundred million words": lambda: file_of(
        page(lists_of(10**8) + runs_of_first(10**8), 10**8, "rle_dictionary", codec="zstd"),
        10**8,
        n_rows=1,
        different=dictionary([b"bed"], codec="zstd"),
        codec="zstd",
    ),
    "a list of long words": lambda: file_of(
        page(lists_of(10**4) + runs_of_first(10**4), 10**4, "rle_dictionary", codec="zstd"),
        10**4,
        n_rows=1,
        different=dictionary([LONG], codec="zstd"),
        codec="zstd",
    ),
    "a thousand million rows of nothing": lambda: file_of(
        page(runs_of_first(10**9), 10**9, "rle_dictionary", codec="zstd"),
        10**9,
        different=dictionary([b""], codec="zstd"),
        codec="zstd",
    ),
}


def taken(read) -> int:
    """Return how many bytes pyarrow took at most, beyond what it had."""
    pool = pa.system_memory_pool()
    before = pa.default_memory_pool()
    pa.set_memory_pool(pool := pa.proxy_memory_pool(pool))
    try:
        read()
    finally:
        pa.set_memory_pool(before)
    return pool.max_memory()


@pytest.fixture
def little_room(monkeypatch):
    """A sixteenth of what files may grow to, so that less is counted until they are refused."""
    monkeypatch.setattr(unpack, "_FREE", 2**24)


@pytest.mark.parametrize("case", HOSTILE)
@pytest.mark.usefixtures("little_room")
def test_a_file_that_grows_without_bounds_is_refused_in_little_memory(tmp_path, case):
    path = tmp_path / "notes.parquet"
    path.write_bytes(HOSTILE[case]())
    assert path.stat().st_size < 4000

    def read() -> None:
        with pytest.raises(CorpusError, match=r"notes\.parquet grows to over 250 times its size") as found:
            read_corpus(path)
        assert found.value.__context__ is None

    assert taken(read) < MOST


def test_such_files_are_read_where_they_hold_what_they_say(tmp_path):
    path = tmp_path / "notes.parquet"
    path.write_bytes(file_of(page(one_text(), 1, codec="zstd"), 1, codec="zstd"))
    assert read_corpus(path, stop_words=None).counts.sum() == 3
    n = 100
    path.write_bytes(
        file_of(page(runs_of_first(n), n, "rle_dictionary"), n, different=dictionary([b"bed bed ward"]))
    )
    corpus = read_corpus(path)
    assert corpus.n_documents == n
    assert corpus.counts.toarray().tolist() == [[2, 1]] * n
    path.write_bytes(
        file_of(
            page(lists_of(n) + runs_of_first(n), n, "rle_dictionary"),
            n,
            n_rows=1,
            different=dictionary([b"bed"]),
        )
    )
    assert read_corpus(path).counts.toarray().tolist() == [[n]]


TEXTS = ["nurse bed nurse", "", "ward näh ward", "pain bed", None] * 60
TOKENS = [["nurse", "bed"], [], ["ward", "näh", "ward"], None] * 60


@pytest.mark.parametrize("stored", [True, False])
@pytest.mark.parametrize(
    ("kind", "values"),
    [
        (pa.string(), TEXTS),
        (pa.large_string(), TEXTS),
        (pa.dictionary(pa.int32(), pa.string()), TEXTS),
        (pa.list_(pa.string()), TOKENS),
        (pa.list_(pa.dictionary(pa.int32(), pa.string())), TOKENS),
    ],
    ids=["text", "large", "numbers", "lists", "lists of numbers"],
)
def test_what_pyarrow_writes_is_read_alike(tmp_path, kind, values, stored):
    """With and without an Arrow schema, in all encodings and versions of pages."""
    path = tmp_path / "notes.parquet"
    table = pa.table({"text": pa.array(values, kind), "who": [str(i % 7) for i in range(len(values))]})
    plain = read_corpus(_jsonl(tmp_path, values), person="who", skip_empty=True)
    leaf = "text.list.element" if pa.types.is_list(kind) else "text"
    coded = pa.types.is_dictionary(kind.value_type if pa.types.is_list(kind) else kind)
    layouts = itertools.product(
        ["1.0", "2.0"], [True, None, "DELTA_BYTE_ARRAY", "DELTA_LENGTH_BYTE_ARRAY"], [100, 1 << 20]
    )
    for version, encoding, size in layouts:
        how = {} if encoding is True else {"use_dictionary": False}
        if isinstance(encoding, str):
            if coded and stored:  # which pyarrow itself does not read
                continue
            how["column_encoding"] = {leaf: encoding}
        pq.write_table(
            table, path, store_schema=stored, data_page_version=version, data_page_size=size,
            compression="zstd", **how,
        )  # fmt: skip
        corpus = read_corpus(path, person="who", skip_empty=True)
        assert corpus.vocabulary == plain.vocabulary
        assert np.array_equal(corpus.counts.toarray(), plain.counts.toarray())
        assert np.array_equal(corpus.persons, plain.persons)
        assert corpus.n_skipped == plain.n_skipped


def _jsonl(folder, values):
    path = folder / "notes.jsonl"
    rows = ({"text": value, "who": str(i % 7)} for i, value in enumerate(values))
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@pytest.mark.usefixtures("little_room")
def test_texts_that_repeat_beginnings_come_few_at_a_time(tmp_path):
    """A row more costs two bytes in the file, and a MiB in memory."""
    path = tmp_path / "notes.parquet"
    text = LONG.decode()
    pq.write_table(
        pa.table({"text": [text] * 600}), path, use_dictionary=False, compression="zstd",
        column_encoding={"text": "DELTA_BYTE_ARRAY"},
    )  # fmt: skip

    def read() -> None:
        with pytest.raises(CorpusError, match="grows to over"):
            read_corpus(path)

    assert taken(read) < MOST


@pytest.mark.parametrize("kind", ["struct", "list of structs", "list of lists", "map", "list of numbers"])
def test_columns_of_other_kinds_are_named(tmp_path, kind):
    values = {
        "struct": [{"a": "secretword"}] * 2,
        "list of structs": [[{"a": "secretword"}]] * 2,
        "list of lists": [[["secretword"]]] * 2,
        "map": pa.array([[("secretword", "b")]] * 2, pa.map_(pa.string(), pa.string())),
        "list of numbers": [[1, 2]] * 2,
    }[kind]
    for name in ("notes.parquet", "notes.arrow"):
        table = pa.table({"text": values})
        if name.endswith("t"):
            pq.write_table(table, tmp_path / name)
        else:
            with pa.OSFile(str(tmp_path / name), "wb") as out, pa.ipc.new_file(out, table.schema) as writer:
                writer.write_table(table)
        with pytest.raises(CorpusError, match=r"found an object|is no text but|holds tokens") as found:
            read_corpus(tmp_path / name)
        assert "secretword" not in str(found.value)


def test_broken_headers_of_pages(tmp_path):
    """Any byte of a page may be another: what comes is an error of ours, or a corpus."""
    path = tmp_path / "notes.parquet"
    n = 9
    whole = file_of(
        page(runs_of_first(n), n, "rle_dictionary", codec="zstd"),
        n,
        different=dictionary([b"bed ward"], codec="zstd"),
        codec="zstd",
    )
    rng = np.random.default_rng(5)
    read = 0
    for _ in range(150):
        broken = bytearray(whole)
        for place in rng.integers(4, len(whole) - 8, rng.integers(1, 3)):
            broken[place] = rng.integers(256)
        path.write_bytes(broken)
        with suppress(CorpusError):
            read_corpus(path)
            read += 1
    assert 0 < read < 150
