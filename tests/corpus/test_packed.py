"""Compressed files of every kind, archives and folders as they ship; damaged and hostile ones."""

import bz2
import gzip
import io
import json
import lzma
import zipfile

import numpy as np
import pytest

from discreet import CorpusError
from discreet.corpus import read_corpus
from discreet.corpus.formats.table import find_format

TEXTS = ["nurse bed nurse", "", "ward nurse ward ward", "pain bed ward"]
LINES = "".join(json.dumps({"text": text}) + "\n" for text in TEXTS).encode()


def zipped(members: dict[str, bytes]) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return file.getvalue()


PACKED = {
    "gz": lambda content: gzip.compress(content, mtime=0),
    "bz2": bz2.compress,
    "xz": lzma.compress,
}


@pytest.mark.parametrize("ending", PACKED)
@pytest.mark.parametrize("given", [None, "jsonl"])
def test_every_packing(tmp_path, ending, given):
    name = f"notes.jsonl.{ending}" if given is None else "renamed.bin"
    (tmp_path / name).write_bytes(PACKED[ending](LINES))
    (tmp_path / "notes.jsonl").write_bytes(LINES)
    plain = read_corpus(tmp_path / "notes.jsonl")
    packed = read_corpus(tmp_path / name, given)
    assert packed.vocabulary == plain.vocabulary
    assert np.array_equal(packed.counts.toarray(), plain.counts.toarray())


def test_zstandard_is_unpacked_by_its_own_command(tmp_path):
    (tmp_path / "a.jsonl.zst").write_bytes(b"\x28\xb5\x2f\xfd" + bytes(20))
    with pytest.raises(CorpusError, match=r"a\.jsonl\.zst is packed by Zstandard.*zstd -d"):
        read_corpus(tmp_path / "a.jsonl.zst")


@pytest.mark.parametrize("ending", ["gz", "bz2", "xz"])
def test_streams_one_after_the_other(tmp_path, ending):
    pack = PACKED[ending]
    (tmp_path / "a.jsonl").write_bytes(pack(LINES) + pack(LINES))
    assert read_corpus(tmp_path / "a.jsonl").n_documents == 2 * len(TEXTS)


@pytest.mark.parametrize("ending", PACKED)
def test_damage_is_told_with_the_file_and_never_with_text(tmp_path, ending):
    rng = np.random.default_rng(3)
    words = ["secretword" + str(i) for i in rng.integers(0, 10**9, 4000)]
    content = b"".join(json.dumps({"text": word}).encode() + b"\n" for word in words)
    whole = PACKED[ending](content)
    path = tmp_path / "a.jsonl"
    injured = [whole[: len(whole) // 2], whole[:-7], whole[:200] + b"\0" * 50 + whole[250:]]
    for broken in injured:
        path.write_bytes(broken)
        with pytest.raises(
            CorpusError, match=r"a\.jsonl.* (cut short|damaged|looks like|broken|not utf-8)"
        ) as found:
            read_corpus(path, "jsonl")
        assert "secretword" not in str(found.value)
        assert found.value.__context__ is None


def test_an_archive_is_unpacked_first(tmp_path):
    for name in ("a.zip", "a.jsonl.zip"):
        (tmp_path / name).write_bytes(zipped({"a.jsonl": LINES}))
        for given in ((), ("jsonl",), ("lines",)):
            with pytest.raises(
                CorpusError, match=r"packed by zip, which is not read; unpack it, and name .* folder"
            ):
                read_corpus(tmp_path / name, *given)
    with pytest.raises(CorpusError, match=r'is a file; format="txt" reads a folder .*\(unpack an archive'):
        read_corpus(tmp_path / "a.zip", "txt")


GROUPS = {
    "alt.atheism/49960": "From: somebody\n\nnurse bed",
    "alt.atheism/51060": "ward ward",
    "sci.med/1": "pain bed",
}


@pytest.fixture
def news(tmp_path):
    for name, text in GROUPS.items():
        (tmp_path / "news" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "news" / name).write_text(text)
    return tmp_path / "news"


def test_newsgroups_as_they_ship(news):
    assert find_format(news) == "txt"
    corpus = read_corpus(news, label="folder", person="file")
    assert corpus.labels.tolist() == ["alt.atheism", "alt.atheism", "sci.med"]
    assert corpus.n_units == 3
    assert corpus.n_tokens == 3 + 2 + 2 + 1
    with pytest.raises(CorpusError, match="no field for label='group'"):
        read_corpus(news, label="group")


def test_txt_files_are_the_documents_where_there_are_any(news):
    path = news
    (path / "a.txt").write_text("only this")
    (path / ".hidden").write_text("not this")
    assert read_corpus(path).n_documents == 1
    (path / "a.txt").unlink()
    assert read_corpus(path).n_documents == 3


def test_a_document_in_another_encoding_is_named(tmp_path, news):
    path = news
    (path / "sci.med" / "2").write_bytes("\nsecretword Ärzte".encode("latin-1"))
    with pytest.raises(
        CorpusError, match=r"sci.med/2, line 2: not utf-8 text at byte 12; give encoding="
    ) as found:
        read_corpus(path)
    assert "secretword" not in str(found.value)
    assert read_corpus(path, encoding="latin-1").n_documents == 4
    binary = tmp_path / "pictures"
    binary.mkdir()
    (binary / "x.png").write_bytes(b"\x89PNG\0\0")
    with pytest.raises(CorpusError, match=r"x\.png looks like a binary file"):
        read_corpus(binary)


def test_files_of_word_processors_are_named(tmp_path):
    """Forty letters as .docx beside two as .txt are thirty-eight too few, and nobody would notice."""
    names = {"a.txt": b"nurse bed", "letters/b.DOCX": b"PK\0", "letters/c.docx": b"PK\0", "d.pdf": b"%PDF"}
    path = tmp_path / "notes"
    for name, content in names.items():
        (path / name).parent.mkdir(parents=True, exist_ok=True)
        (path / name).write_bytes(content)
    with pytest.warns(UserWarning, match=r"2 \.docx files, 1 \.pdf file ignored.*save them as \.txt"):
        assert read_corpus(path).n_documents == 1
    (path / "letters" / "more.csv").write_text("text\nbed\n")  # a table, forgotten beside the texts
    with pytest.warns(UserWarning, match=r"1 \.csv file.* ignored.*or name a table"):
        assert read_corpus(path).n_documents == 1
    (tmp_path / "only").mkdir()
    (tmp_path / "only" / "a.docx").write_bytes(b"PK\0")
    with pytest.raises(CorpusError, match=r"holds no \.txt file, only 1 \.docx file; save them as \.txt"):
        read_corpus(tmp_path / "only")


@pytest.mark.parametrize("name", ["a.docx", "b.PDF", "c.odt"])
def test_one_document_of_a_word_processor_is_answered_with_what_to_do(tmp_path, name):
    (tmp_path / name).write_bytes(b"PK\0")
    with pytest.raises(
        CorpusError, match=r"files are not read; save each document as \.txt, and name the folder"
    ):
        read_corpus(tmp_path / name)
