"""A flipped bit in a file that is kept is told of, or changes nothing that the file says."""

import json

import numpy as np
import pytest
from tests.federated.test_sessions import TASK, Office, on_to
from tests.prevalence.test_kept import brought_topics, crossed_shares, kept_fit
from tests.release.test_files import release

from discreet import Corpus, Ledger, Release
from discreet._base.sealed import Seal
from discreet.audit import AuditReport
from discreet.corpus import ShardedCorpus, Tokenizer, write_shards
from discreet.errors import CorpusError, ParameterError, PrivacyError, ReleaseError
from discreet.local import BitChannel, ReportMemo
from discreet.local.whole_document.course import Course
from discreet.privacy import SecureStream, events

WORDS = ["tea", "milk", "soup"]


def memory(folder):
    made = ReportMemo(folder / "memo")
    made.report(BitChannel.symmetric(1.0), [0], WORDS, SecureStream(), name="diary")
    made.save()

    def read():
        found = ReportMemo(folder / "memo")
        return found._key, found._kept, found._accounts, found._numbers

    return folder / "memo", read, PrivacyError


def ledger(folder):
    path = folder / "ledger.json"
    Ledger.open(path, 1.0, 1e-6).reserve(events.gaussian(9.0), "a test")
    return path, lambda: Ledger.open(path).to_json(), PrivacyError


def released(made):
    """Return how a release of numbers is kept."""

    def kept(folder):
        path = folder / "numbers.json"
        made().save(path)
        return path, lambda: type(made()).load(path), ReleaseError

    return kept


def audited(folder):
    rng, path = np.random.default_rng(0), folder / "audit.json"
    made = AuditReport(rng.normal(size=(2, 9)), np.arange(18).reshape(2, 9) % 2 == 1, meta={"n_shadows": 2})
    path.write_bytes(json.dumps(made.to_dict()).encode())
    return path, lambda: AuditReport.from_json(path.read_bytes(), path).to_dict(), ParameterError


def asked(folder):
    np.savez(folder / "vectors.npz", words=np.array(WORDS), vectors=np.eye(3))
    Course.begin(
        folder / "course", WORDS, epsilon=8.0, word_vectors=folder / "vectors.npz", allow_unlearnable=True
    )

    def read():
        found = Course(folder / "course")
        return found._words, found.model.get_params()

    return folder / "course" / "course.json", read, CorpusError


def shards(folder):
    texts = Corpus.from_texts(
        ["tea milk", "soup tea"], tokenizer=Tokenizer(stop_words="english"), persons=[1, 2]
    )
    write_shards(texts, folder / "shards")
    return folder / "shards" / "manifest.json", lambda: ShardedCorpus(folder / "shards").manifest, CorpusError


def session(folder):
    offices = [Office(folder, client) for client in range(3)]
    on_to(4, [office.silo for office in offices])
    sessions, path = offices[0].silo._sessions, offices[0].file
    (run,) = sessions._known

    def read():
        return sessions._read(run, {"expected": TASK}).to_json()

    return path, read, PrivacyError


def model(folder):
    release().save(folder / "model")
    return folder / "model" / "model.safetensors", lambda: Release.load(folder / "model"), ReleaseError


KINDS = {
    "model": model,
    "session": session,
    "shards": shards,
    "course": asked,
    "audit": audited,
    "memory": memory,
    "ledger": ledger,
    "shares": released(crossed_shares),
    "brought topics": released(brought_topics),
    "fit": released(kept_fit),
}
#: Of the others some are flipped, of these all.
WHOLE = {"memory"}


@pytest.mark.parametrize("kind", KINDS)
def test_a_flipped_bit_is_refused_or_changes_nothing(kind, tmp_path):
    path, read, error = KINDS[kind](tmp_path)
    whole, told = path.read_bytes(), read()
    flips = [(place, bit) for place in range(len(whole)) for bit in range(8)]
    if kind not in WHOLE:
        flips = np.random.default_rng(0).choice(flips, 400)
    refused = 0
    for place, bit in flips:
        damaged = bytearray(whole)
        damaged[place] ^= 1 << int(bit)
        path.write_bytes(damaged)
        try:
            assert read() == told, (place, bit)
        except error:
            refused += 1
    assert refused > 0.9 * len(
        flips
    )  # the rest are blanks, and one letter for another in the name of a character
    path.write_bytes(whole)
    assert read() == told


SEAL = Seal("discreet.test/2", "numbers of a test", PrivacyError, "ask for another", 1000)


def open_bytes(raw):
    with SEAL.reading(raw, "x.json") as content:
        return content


@pytest.mark.parametrize(
    "content",
    [{}, {"a": [0.1, -0.0, 1.0, 1, 5e-324, 761.5270000000001]}, {"\ud800é": {"a": True, "b": None}}],
)
def test_what_was_sealed_is_read_to_the_last_digit(content):
    again = open_bytes(SEAL.to_bytes(content))
    assert json.dumps(again) == json.dumps(content)


def test_what_cannot_be_kept_is_not_written():
    with pytest.raises(PrivacyError, match="larger than"):
        SEAL.to_bytes({"a": "b" * 1000})
    with pytest.raises(ValueError, match="JSON"):
        SEAL.to_bytes({"a": float("nan")})


OTHER = json.dumps(SEAL._replace(schema="discreet.test/1").close({}))
FOREIGN = json.dumps(SEAL._replace(schema="other/2").close({}))
WRITTEN = SEAL.to_bytes({"a": 1.5}).decode()


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "JSON that cannot be read; ask for another"),
        ("[" * 900, "JSON that cannot be read"),
        ("[" * 2000, "more bytes than such a file has"),
        ("[]", "expected a JSON object; ask for another"),
        ("{}", "it says None; ask for another"),
        (OTHER, r"discreet.test/1.*open it with the version of discreet that wrote it"),
        (FOREIGN, "it says 'other/2'; ask for another"),
        (WRITTEN.replace("1.5", "1.25"), "was damaged or edited; ask for another"),
        (WRITTEN.replace("1.5", "NaN"), "JSON that cannot be read"),
        (WRITTEN.replace('"a": 1.5', '"a": 1, "a": 1.5'), "a name twice"),
        (WRITTEN.replace('"a"', '"b"'), "was damaged or edited"),
        (json.dumps({"schema": SEAL.schema}), "was damaged or edited"),
    ],
)
def test_all_else_is_refused_with_a_cure(text, told):
    with pytest.raises(PrivacyError, match=told):
        open_bytes(text.encode())


def test_what_the_reader_does_not_find_is_no_such_file():
    with (
        pytest.raises(PrivacyError, match="holds numbers of a test of another form; ask"),
        SEAL.reading(WRITTEN.encode(), "x.json") as content,
    ):
        content["b"]


def test_a_file_that_is_not_there_is_told(tmp_path):
    with pytest.raises(PrivacyError, match=r"cannot be read \(No such file or directory\); ask"):
        SEAL.read(tmp_path / "x.json")
