"""Folders of shards: round trips, what is refused, and that nobody is in two."""

import errno
import json
import shutil
import stat
import tracemalloc
from hashlib import sha256
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp
from tests.marks import quick

from discreet import Corpus, CorpusError, ParameterError, PrivacyError
from discreet._base import files
from discreet.corpus import (
    ShardedCorpus,
    Tokenizer,
    counting,
    read_corpus,
    read_into_shards,
    write_corpus,
    write_shards,
)
from discreet.corpus.formats import records
from discreet.corpus.shards import spill
from discreet.corpus.shards import spill as cut
from discreet.corpus.shards.shard_file import _SEAL
from discreet.corpus.vocabulary import NUMBERED, UNKNOWN, ColumnChoice, WordOrigin

WORDS = [f"w{i}" for i in range(300)]


def counts(n=1000, seed=0):
    return sp.csr_matrix(np.random.default_rng(seed).poisson(0.06, (n, 300)))


def people(n=1000, seed=1):
    return np.random.default_rng(seed).integers(0, 200, n)


def same(one, other):
    return (one != other).nnz == 0 and one.shape == other.shape


@pytest.mark.parametrize("size", quick([1, 77, 1000, 5000], 77, 5000))
def test_a_corpus_comes_back(tmp_path, size):
    labels = [f"l{i % 3}" for i in range(1000)]
    corpus = Corpus(counts(), WORDS, labels=labels, words_are_public=True)
    shards = write_shards(corpus, tmp_path / "s", shard_documents=size)
    back = ShardedCorpus(tmp_path / "s").to_corpus()
    assert same(back.counts, corpus.counts)
    assert back.labels.tolist() == labels
    assert (back.vocabulary, back.word_origin, back.persons) == (corpus.vocabulary, corpus.word_origin, None)
    assert len(shards.shards) == -(-1000 // size)
    assert shards.shape == (1000, 300)
    assert shards.n_tokens == corpus.n_tokens
    assert all(part.n_documents <= size for part in shards)
    for file in (tmp_path / "s").iterdir():
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
    again = write_shards(shards, tmp_path / "again", shard_documents=13)
    assert same(again.counts, corpus.counts)


def by_person(matrix, persons):
    """Each person's documents, in no order."""
    rows = [row.tobytes() for row in matrix.toarray().astype(np.int64)]
    return sorted(
        tuple(sorted(rows[i] for i in np.flatnonzero(persons == one))) for one in np.unique(persons)
    )


@pytest.mark.parametrize("size", [1, 90, 5000])
def test_nobody_is_in_two_shards(tmp_path, size):
    corpus = Corpus(counts(), WORDS, people(), words_are_public=True)
    shards = write_shards(corpus, tmp_path / "s", shard_documents=size)
    assert shards.unit == "person"
    assert shards.n_units == corpus.n_units
    seen = [set(part.persons.tolist()) for part in shards]
    assert sum(map(len, seen)) == len(set.union(*seen)) == corpus.n_units
    back = shards.to_corpus()
    assert by_person(back.counts, back.persons) == by_person(corpus.counts, corpus.persons)
    assert shards.without_persons().persons is None
    assert shards.without_persons().to_corpus().persons is None


def test_a_stream_with_names_meets_in_one_shard(tmp_path, monkeypatch):
    monkeypatch.setattr(spill, "_HELD_ENTRIES", 2000)  # several blocks a file
    whose, matrix = people(), counts()
    names = [
        [f"José {i}", f"Jose\u0301 {i}"][row % 2] for row, i in enumerate(whose)
    ]  # one person, two spellings
    pieces = ((matrix[i : i + 60], names[i : i + 60]) for i in range(0, 1000, 60))
    shards = write_shards(pieces, tmp_path / "s", shard_documents=90, vocabulary=WORDS, words_are_public=True)
    back = shards.to_corpus()
    assert by_person(back.counts, back.persons) == by_person(matrix, whose)
    assert len(shards.shards) > 5
    assert {file.suffix for file in (tmp_path / "s").iterdir()} == {".safetensors", ".json", ".txt"}
    text = b"".join(file.read_bytes() for file in (tmp_path / "s").iterdir())
    assert b"Jos" not in text
    assert shards.word_origin.declared_by == "words_are_public=True in write_shards"


def test_a_stream_is_read_a_piece_at_a_time(tmp_path):
    seen = []

    def pieces():
        for i in range(10):
            seen.append(len(list((tmp_path / "s").glob("shard*"))) if (tmp_path / "s").exists() else 0)
            yield Corpus(counts(100, i), WORDS)

    shards = write_shards(pieces(), tmp_path / "s", shard_documents=100)
    assert seen[0] == 0
    assert seen[-1] >= 7
    assert same(shards.counts, sp.vstack([counts(100, i) for i in range(10)]).tocsr())
    assert shards.word_origin == UNKNOWN


def test_what_cannot_be_written_leaves_nothing(tmp_path, monkeypatch):
    corpus = Corpus(counts(50), WORDS, people(50))
    with pytest.raises(ParameterError, match="shard_documents"):
        write_shards(corpus, tmp_path / "s", shard_documents=0)
    with pytest.raises(CorpusError, match="give pairs"):
        write_shards(iter([corpus]), tmp_path / "s")
    with pytest.raises(CorpusError, match="vocabulary="):
        write_shards(iter([counts(50)]), tmp_path / "s")
    with pytest.raises(CorpusError, match=r"row 2 .counted from 1. has nothing"):
        write_shards([(counts(2), ["a", None])], tmp_path / "s", vocabulary=WORDS)
    with pytest.raises(CorpusError, match="299 columns"):
        write_shards([counts(5), counts(5)[:, 1:]], tmp_path / "s", vocabulary=WORDS)
    with pytest.raises(CorpusError, match="nothing to write"):
        write_shards([], tmp_path / "s", vocabulary=WORDS)

    def full(*_, **__):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(cut, "write_whole", full)
        with pytest.raises(CorpusError, match="No space left on device"):
            write_shards(corpus, tmp_path / "s")
    assert not (tmp_path / "s").exists()
    (tmp_path / "s").mkdir()
    (tmp_path / "s" / "mine").write_text("mine")
    with pytest.raises(CorpusError, match="not empty"):
        write_shards(corpus, tmp_path / "s")
    assert (tmp_path / "s" / "mine").exists()


@pytest.fixture
def folder(tmp_path):
    write_shards(Corpus(counts(100), WORDS, people(100)), tmp_path / "s", shard_documents=30)
    return tmp_path / "s"


def change(folder, edit):
    path = folder / "manifest.json"
    value = _SEAL.opened(json.loads(path.read_text()), path)
    edit(value)
    path.write_bytes(_SEAL.to_bytes(value))


def spans(value):
    value["shards"][0]["last_person"] = value["shards"][1]["first_person"]


def swell(value):
    for shard in value["shards"][:2]:
        shard.update(n_documents=shard["n_documents"] + 2**62)


def twice(value):
    value["shards"][1] = dict(value["shards"][0])


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (spans, "documents of one person may lie in"),
        (lambda value: value.update(schema="discreet.shards/1"), "the version of discreet that wrote it"),
        (lambda value: value["shards"][0].update(file="../../shadow"), "shard 0 is not described"),
        (lambda value: value["shards"][0].update(n_units=-1), "shard 0 is not described"),
        (lambda value: value["shards"][0].update(n_units=31), "shard 0 is not described"),
        (lambda value: value["shards"][0].update(n_entries=10**6), "shard 0 is not described"),
        (swell, "larger than any can be"),
        (lambda value: value["word_origin"].update(kind="public"), "named who says so"),
        (lambda value: value.update(cut=["\\w+"]), "of another form"),
        (lambda value: value.pop("cut"), "of another form"),
    ],
)
def test_a_manifest_that_was_changed_is_refused(folder, edit, message):
    change(folder, edit)
    with pytest.raises(CorpusError, match=message):
        ShardedCorpus(folder)


def test_a_shard_named_twice_is_refused(folder):
    change(folder, twice)
    with pytest.raises(CorpusError, match="names a shard twice"):
        ShardedCorpus(folder)


def test_a_folder_that_was_not_finished_does_not_open(folder):
    (folder / "manifest.json").unlink()
    with pytest.raises(CorpusError, match="written last"):
        ShardedCorpus(folder)


def test_other_words_are_refused(folder):
    (folder / "vocabulary.txt").write_text("".join(f"{word}\n" for word in reversed(WORDS)))
    with pytest.raises(CorpusError, match="other words"):
        ShardedCorpus(folder)


def test_a_shard_that_was_changed_is_refused_also_after_it_was_read(folder):
    shards = ShardedCorpus(folder)
    first = folder / "shard-00000.safetensors"
    assert shards.shards[0].read().counts.shape[0] > 0
    raw = bytearray(first.read_bytes())
    raw[-20] ^= 1
    first.write_bytes(raw)
    with pytest.raises(CorpusError, match="digest is another"):
        shards.shards[0].read()
    first.unlink()
    with pytest.raises(CorpusError, match="cannot be read: No such file"):
        shards.shards[0].read()
    assert shards.unit == "person"  # asks the manifest only
    with pytest.raises(CorpusError, match="cannot be read"):
        shards.persons  # noqa: B018


def forge(folder, number, edit):
    """Change the arrays of a shard, and make the manifest match: whoever can do the one can do the other."""
    from safetensors.numpy import load, save

    path = folder / f"shard-{number:05d}.safetensors"
    arrays = load(path.read_bytes())
    raw = edit(arrays) or save(arrays)
    path.write_bytes(raw)

    def match(value):
        shard = value["shards"][number]
        more = int(arrays["counts"].astype(np.int32).sum(dtype=np.int64)) - shard["n_tokens"]
        shard["sha256"], shard["n_tokens"] = sha256(raw).hexdigest(), shard["n_tokens"] + more

    change(folder, match)


def put(arrays, name, kind, place, value):
    arrays[name] = arrays[name].astype(kind)
    arrays[name][place] = value


def moved(arrays, by, kind=np.int64):
    """Give the first row so many entries more, and take them from the second; words rise from the one to the other."""
    first, second = arrays["sizes"][:2].tolist()
    arrays["words"][: first + second] = np.arange(first + second)
    arrays["sizes"] = arrays["sizes"].astype(kind)
    arrays["sizes"][:1] += by
    arrays["sizes"][1:2] -= by


def cut_short(arrays):
    from safetensors.numpy import save

    return save(arrays)[:-8]


FORGED = {
    "a word beyond the words": lambda a: put(a, "words", np.uint16, -1, 60_000),
    "a word that wraps": lambda a: put(a, "words", np.int64, 3, 2**32 + int(a["words"][3])),
    "a negative word": lambda a: put(a, "words", np.int32, 3, -1),
    "words with fractions": lambda a: put(a, "words", np.float32, 0, float(a["words"][0]) + 0.25),
    "a count of zero": lambda a: put(a, "counts", np.uint8, 2, 0),
    "a negative count": lambda a: put(a, "counts", np.int16, 2, -3),
    "a count that wraps": lambda a: put(a, "counts", np.int64, 2, 2**32 + 1),
    "a count above 2^31": lambda a: put(a, "counts", np.uint32, slice(0, 3), [2**31 - 1, 2**31, 2**31 - 1]),
    "a count with a fraction": lambda a: put(a, "counts", np.float64, 2, 1.5),
    "a row far behind its beginning": lambda a: moved(a, 10**9),
    "a row a little behind its beginning": lambda a: moved(a, 50),
    "sizes that wrap": lambda a: moved(a, np.uint32(2**31), np.uint32),
    "sizes of 64 bits that wrap": lambda a: moved(a, np.uint64(2**63), np.uint64),
    "sizes that add up to less": lambda a: put(a, "sizes", np.uint8, np.argmax(a["sizes"]), 0),
    "sizes that add up to more": lambda a: put(a, "sizes", np.uint8, 0, 200),
    "sizes as fractions": lambda a: a.update(sizes=a["sizes"].astype(np.float64)),
    "sizes as a table": lambda a: a.update(sizes=a["sizes"].reshape(-1, 1)),
    "words as a table": lambda a: a.update(words=a["words"].reshape(-1, 1)),
    "a row too few": lambda a: a.update(sizes=np.r_[int(a["sizes"][0]) + a["sizes"][1], a["sizes"][2:]]),
    "a word twice in a row": lambda a: put(a, "words", np.uint16, 1, a["words"][0]),
    "another person": lambda a: put(a, "persons", np.int64, -1, a["persons"][-1] + 1),
    "persons that fall": lambda a: put(a, "persons", np.int64, 1, a["persons"][-1]),
    "persons of another kind": lambda a: a.update(persons=a["persons"].astype(np.float64)),
    "a person too few": lambda a: a.update(persons=a["persons"][1:]),
    "labels too few": lambda a: a.update(labels=np.frombuffer(b'["a"]', np.uint8)),
    "labels that are no list": lambda a: a.update(
        labels=np.frombuffer(b'"' + b"a" * len(a["sizes"]) + b'"', np.uint8)
    ),
    "a file cut short": cut_short,
}


@pytest.mark.parametrize("fault", FORGED)
def test_a_shard_that_would_mislead_compiled_code_is_refused(folder, fault):
    """Also where whoever made it made the manifest to match."""
    forge(folder, 1, FORGED[fault])
    with pytest.raises(CorpusError, match="something else than its manifest says"):
        ShardedCorpus(folder).shards[1].read()


def test_a_shard_that_was_read_is_looked_at_again_for_another_manifest(folder):
    """The same file, of fewer words or other sizes, is not what was verified."""
    shard = ShardedCorpus(folder).shards[0]
    n = shard.read().counts.shape[0]
    fewer = shard._replace(n_words=int(shard.read().counts.indices.max()))
    more = shard._replace(entry=shard.entry._replace(n_documents=n + 1))
    units = shard._replace(entry=shard.entry._replace(n_units=shard.entry.n_units - 1))
    for other in (fewer, more, units):
        with pytest.raises(CorpusError, match="something else than its manifest says"):
            other.read()
    assert shard.read().counts.shape[0] == n


def test_places_are_looked_at_each_time(folder):
    """Also where whoever wrote twice within a tick of the clock."""
    shard = ShardedCorpus(folder).shards[1]
    shard.read()
    forge(folder, 1, FORGED["a row a little behind its beginning"])
    with pytest.raises(CorpusError, match="its digest is another"):
        shard.read()


def test_shards_may_move(folder, tmp_path):
    shutil.move(folder, tmp_path / "moved")
    assert ShardedCorpus(tmp_path / "moved").to_corpus().n_documents == 100


def lines(n=3000):
    rng = np.random.default_rng(2)
    return [
        {
            "text": " ".join(f"word{w}" for w in rng.integers(0, 90, rng.integers(0, 12))),
            "who": f"p{rng.integers(400)}",
        }
        for _ in range(n)
    ]


@pytest.mark.parametrize("owned", quick([False, True], True))
@pytest.mark.parametrize("vocabulary", [None, [f"word{i}" for i in range(70, 5, -1)]])
def test_texts_are_streamed_into_the_shards_that_reading_and_writing_give(
    tmp_path, monkeypatch, owned, vocabulary
):
    monkeypatch.setattr(records, "_SPILL_EVERY", 700)
    monkeypatch.setattr(counting, "_CHUNK_TOKENS", 500)
    monkeypatch.setattr(spill, "_HELD_ENTRIES", 3000)
    documents = lines()
    for name, part in (("all", documents), ("a", documents[:1100]), ("b", documents[1100:])):
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in part))
    person = "who" if owned else None
    seen = []
    shards = read_into_shards(
        [tmp_path / "a.jsonl", tmp_path / "b.jsonl"],
        tmp_path / "s",
        person=person,
        vocabulary=vocabulary,
        shard_documents=450,
        callback=lambda *what: seen.append(what[0]),
    )
    whole = read_corpus(tmp_path / "all.jsonl", person=person, vocabulary=vocabulary)
    back = shards.to_corpus()
    assert (back.vocabulary, back.word_origin) == (whole.vocabulary, whole.word_origin)
    assert len(shards.shards) == (7 if not owned else len(shards.shards)) >= 5
    if owned:
        assert by_person(back.counts, back.persons) == by_person(whole.counts, whole.persons)
    else:
        assert same(back.counts, whole.counts)
    assert set(seen) == {"reading", "writing shards"}
    assert not list((tmp_path / "s").glob("spill*"))


def test_a_stream_of_texts_that_fails_leaves_nothing(tmp_path):
    (tmp_path / "a.jsonl").write_text('{"text": "good"}\n{"text": 7}\n')
    with pytest.raises(CorpusError, match=r"a\.jsonl, line 2: field 'text' must be text"):
        read_into_shards(tmp_path / "a.jsonl", tmp_path / "s")
    assert not (tmp_path / "s").exists()
    write_corpus(Corpus(counts(5), WORDS), tmp_path / "c.npz")
    with pytest.raises(ParameterError, match="one format of raw text"):
        read_into_shards([tmp_path / "c.npz"], tmp_path / "s")


@pytest.mark.parametrize("owned", [False, True])
@pytest.mark.integration
def test_texts_are_streamed_in_bounded_memory(tmp_path, monkeypatch, owned):
    """Ten times the documents of as many words take less than twice the memory."""
    monkeypatch.setattr(records, "_SPILL_EVERY", 5_000)
    monkeypatch.setattr(counting, "_CHUNK_TOKENS", 5_000)
    monkeypatch.setattr(spill, "_HELD_ENTRIES", 5_000)
    peaks = []
    for n in (3000, 30_000):
        path = tmp_path / f"{n}.jsonl"
        path.write_text("".join(json.dumps(line) + "\n" for line in lines(3000)) * (n // 3000))
        tracemalloc.start()
        read_into_shards(path, tmp_path / f"s{n}", person="who" if owned else None, shard_documents=1000)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 2 * peaks[0]


def test_shards_carry_the_choices_that_their_columns_went_through(tmp_path):
    first, second = (ColumnChoice(name, 1, "a" * 64) for name in ("one ledger", "another"))
    pieces = [
        Corpus(counts(), WORDS, words_are_public=True).with_word_origin(
            WordOrigin.public("me").after([choice])
        )
        for choice in (first, second)
    ]
    ways = {
        "corpus": lambda: write_shards(pieces[0], tmp_path / "corpus"),
        "shards": lambda: write_shards(write_shards(pieces[0], tmp_path / "x"), tmp_path / "shards"),
        "declared": lambda: write_shards(
            [pieces[0]], tmp_path / "declared", vocabulary=WORDS, words_are_public=True
        ),
        "stream": lambda: write_shards([pieces[0], pieces[1]], tmp_path / "stream"),
    }
    wanted = {"stream": (first, second)}
    for way, write in ways.items():
        write()
        back = ShardedCorpus(tmp_path / way)
        for found in (back, back.with_word_origin(UNKNOWN), back.with_word_origin(WordOrigin.public("her"))):
            parts = [found, found.to_corpus(), found.without_persons(), next(iter(found))]
            told = [set(part.word_origin.choices) for part in parts]
            assert told == [set(wanted.get(way, (first,)))] * 4, way
    with pytest.raises(CorpusError, match="these columns have words"):
        back.with_word_origin(NUMBERED)
    for corpus in (back, back.to_corpus()):
        with pytest.raises(ParameterError, match="origin must be a WordOrigin"):
            corpus.with_word_origin("public")


def full_disk(monkeypatch, target, name, at):
    """Have the disk be full at the so-manieth call of a function; return how often it was called."""
    real, calls = getattr(target, name), []

    def call(*given, **how):
        calls.append(given)
        if len(calls) - 1 == at:
            raise OSError(errno.ENOSPC, "No space left on device")
        return real(*given, **how)

    monkeypatch.setattr(target, name, call)
    return calls


@pytest.mark.parametrize("owned", [False, True])
@pytest.mark.integration
def test_a_disk_that_is_full_at_any_moment_leaves_nothing(tmp_path, monkeypatch, owned):
    monkeypatch.setattr(spill, "_HELD_ENTRIES", 300)
    # Into which files people go hangs on a key drawn for each writing, and how often anything is written hangs on that.
    monkeypatch.setattr(spill, "secrets", SimpleNamespace(token_bytes=bytes))
    pieces = [(counts(40, i), people(40, i)) if owned else counts(40, i) for i in range(3)]

    def write():
        return write_shards(pieces, tmp_path / "s", vocabulary=WORDS, shard_documents=50)

    with monkeypatch.context() as patched:
        flushed = full_disk(patched, files.os, "fsync", None)
        spilled = full_disk(patched, spill.np, "save", None)
        write()
    shutil.rmtree(tmp_path / "s")
    assert len(flushed) >= 5  # shards, words, manifest
    assert bool(spilled) == owned
    moments = [(files.os, "fsync", at) for at in range(len(flushed))]
    moments += [(spill.np, "save", at) for at in range(0, len(spilled), 50)]
    for moment in moments:
        with monkeypatch.context() as patched:
            full_disk(patched, *moment)
            with pytest.raises(
                CorpusError, match=r"cannot be written: No space left on device\. Nothing is left"
            ):
                write()
        assert not (tmp_path / "s").exists()


def test_files_of_counts_are_read_and_written(tmp_path):
    (tmp_path / "docword.x.txt").write_text("1\n1\n1\n1 1 1\n")
    with pytest.raises(ParameterError, match="counts are read by read_corpus and written by write_shards"):
        read_into_shards(tmp_path / "docword.x.txt", tmp_path / "s")
    (tmp_path / "a.jsonl").write_text('{"text": "good"}\n')
    with pytest.raises(PrivacyError, match="were counted from the texts themselves"):
        read_into_shards(tmp_path / "a.jsonl", tmp_path / "s", words_are_public=True)
    assert not (tmp_path / "s").exists()


def frames_of(rows, n_pieces=4):
    """Yield the same rows in every way in which a library gives them piece by piece."""
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    pa, dataset = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.dataset")
    size = -(-len(rows) // n_pieces)
    parts = [rows[start : start + size] for start in range(0, len(rows), size)]
    table = pa.Table.from_pylist(rows)
    yield pandas.DataFrame(rows)
    yield (pandas.DataFrame(part) for part in parts)
    yield [polars.DataFrame(part) for part in parts]
    yield polars.DataFrame(rows).lazy()
    yield table
    yield dataset.dataset([pa.Table.from_pylist(part) for part in parts])
    yield pa.RecordBatchReader.from_batches(table.schema, table.to_batches(max_chunksize=size))


@pytest.mark.parametrize("which", range(7))
@pytest.mark.parametrize("owned", [False, True])
def test_frames_are_streamed_into_shards(tmp_path, which, owned):
    rows = lines(300)
    (tmp_path / "all.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    how = {"person": "who" if owned else None, "tokenizer": Tokenizer(stop_words=["word3"])}
    shards = read_into_shards(list(frames_of(rows))[which], tmp_path / "s", shard_documents=70, **how)
    whole, back = read_corpus(tmp_path / "all.jsonl", **how), shards.to_corpus()
    assert (back.vocabulary, back.word_origin, back.cut) == (whole.vocabulary, whole.word_origin, whole.cut)
    assert len(shards.shards) >= 4
    if owned:
        assert by_person(back.counts, back.persons) == by_person(whole.counts, whole.persons)
    else:
        assert same(back.counts, whole.counts)


class Partitions:
    """A frame of Dask, as far as it is looked at: its partitions are made one by one, and let go."""

    npartitions = 5

    def __init__(self, made, columns=("text", "who", "more")):
        self.made, self.columns = made, columns

    def __getitem__(self, columns):
        return self if isinstance(columns, list) else Partition(columns, self.made)

    partitions = property(lambda self: self)


class Partition:
    def __init__(self, number, made):
        self.number, self.made = number, made

    def compute(self):
        self.made.append(self.number)
        return pytest.importorskip("pandas").DataFrame(
            {"text": [f"good day{self.number}"], "who": [self.number % 2]}
        )


@pytest.mark.integration
def test_frames_of_dask_are_streamed(tmp_path):
    pandas, dask = pytest.importorskip("pandas"), pytest.importorskip("dask.dataframe")
    rows = lines(300)
    frame = dask.from_pandas(pandas.DataFrame(rows), npartitions=7)
    shards = read_into_shards(frame, tmp_path / "s", shard_documents=70)
    (tmp_path / "all.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert same(shards.counts, read_corpus(tmp_path / "all.jsonl").counts)


def test_partitions_of_dask_are_computed_one_by_one(tmp_path):
    made = []
    shards = read_into_shards(Partitions(made), tmp_path / "s", person="who")
    assert (made, len(shards), shards.n_units, shards.n_words) == ([0, 1, 2, 3, 4], 5, 2, 6)


def test_frames_that_are_wrong_leave_nothing(tmp_path):
    pandas = pytest.importorskip("pandas")
    good, bad = pandas.DataFrame({"text": ["a tree"]}), pandas.DataFrame({"text": ["b", None]})
    with pytest.raises(CorpusError, match=r"the frame .*, row 3: field 'text' must be text"):
        read_into_shards([good, bad], tmp_path / "s")
    with pytest.raises(CorpusError, match=r"no field 'text'|has no .*text"):
        read_into_shards([good, pandas.DataFrame({"note": ["b"]})], tmp_path / "s")
    lazy = pytest.importorskip("polars").DataFrame({"text": ["a tree"]}).lazy()
    with pytest.raises(CorpusError, match="no field for text='body'; its fields are 'text'"):
        read_into_shards(lazy, tmp_path / "s", text="body")
    with pytest.raises(ParameterError, match="format= cannot"):
        read_into_shards(good, tmp_path / "s", format="jsonl")
    with pytest.raises(CorpusError, match="read_into_shards"):
        write_shards(good, tmp_path / "s")
    assert not (tmp_path / "s").exists()
