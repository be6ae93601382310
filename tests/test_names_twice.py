"""What is kept as JSON has one reading: a name that comes twice is refused, whichever of the two would count."""

import json

import pytest
from tests.local.test_whole_document_course import published
from tests.prevalence.test_kept import kept_fit

from discreet import Corpus, Ledger
from discreet._base.files import read_json
from discreet.corpus import ShardedCorpus, write_shards
from discreet.errors import DiscreetError
from discreet.local import BitChannel, PublishedQuestion, ReportMemo
from discreet.privacy import SecureStream


def ledger(folder):
    Ledger(1, 1e-6, path=folder / "ledger.json")
    return folder / "ledger.json", "delta", lambda: Ledger.open(folder / "ledger.json")


def fit(folder):
    kept_fit().save(folder / "fit.json")
    return folder / "fit.json", "bound", lambda: type(kept_fit()).load(folder / "fit.json")


def manifest(folder):
    write_shards(Corpus([[1, 2], [2, 0]], ["a", "b"]), folder / "shards")
    return folder / "shards" / "manifest.json", "unit", lambda: ShardedCorpus(folder / "shards")


def memory(folder):
    made = ReportMemo(folder / "memo")
    made.report(BitChannel.symmetric(1.0), [0], ["a", "b"], SecureStream())
    made.save()
    return folder / "memo", "key", lambda: ReportMemo(folder / "memo")


def question(folder):
    (folder / "asked.json").write_text(published().to_json())
    return (
        folder / "asked.json",
        "ends",
        lambda: PublishedQuestion.from_json((folder / "asked.json").read_text()),
    )


@pytest.mark.parametrize("kept", [ledger, fit, manifest, memory, question])
def test_a_name_twice_is_refused(kept, tmp_path):
    path, name, read = kept(tmp_path)
    assert read() is not None
    whole = path.read_text()
    values = json.loads(whole)
    first = json.dumps({name: values[name]}, separators=(",", ":"))[1:-1]
    twice = whole.replace("{", "{" + first + ",", 1)
    assert json.loads(twice) == values  # as any reader that takes the last
    path.write_text(twice)
    with pytest.raises(DiscreetError):
        read()
    path.write_text(whole)
    assert read() is not None


@pytest.mark.parametrize("text", ['{"a": 1, "a": 1}', '[{"b": {"a": 1, "c": 2, "a": 1}}]'])
def test_twice_is_told_at_any_depth(text):
    with pytest.raises(ValueError, match="a name twice"):
        read_json(text)


@pytest.mark.parametrize(
    "text", ["", "NaN", "[Infinity]", '{"a": -Infinity}', "[" * 100_000, b"\xff", "{'a': 1}"]
)
def test_what_is_no_json_is_refused_and_not_shown(text):
    with pytest.raises(ValueError, match=r"^JSON that cannot be read$"):
        read_json(text)
