"""Damaged and forged files: whatever the bytes are, `load` gives the release that was saved or a ReleaseError.

Words, ledger, and numbers with settings carry digests, and label and promise are proved by the ledger: none of them may
change unnoticed by accident.
"""

import copy
import functools
import json
import struct
import tempfile
import time
import unicodedata
from hashlib import sha256
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.release.hostile_files import sealed

from discreet.errors import ReleaseError
from discreet.privacy.accounting import events
from discreet.privacy.ledger.ledger import Ledger
from discreet.release import Release

MODEL, VOCABULARY, CARD = "model.safetensors", "vocabulary.txt", "README.md"
QUICK = settings(
    max_examples=300, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.data_too_large]
)
LONG = settings(max_examples=5000, deadline=None, suppress_health_check=[HealthCheck.data_too_large])


@functools.cache
def original():
    ledger = Ledger(4, 1e-6, privacy_unit="person")
    ledger.reserve(events.with_delta(events.gaussian(6.0), 1e-8), "vocabulary")
    ledger.reserve(events.gaussian(5.0), "topics")
    rng = np.random.default_rng(1)
    topics = rng.dirichlet(np.ones(5), 3)
    return Release(
        topics,
        ("a", "two words", '"q"', "zwölf", ""),
        ledger,
        {"n_topics": 3, "doc_topic_prior": 0.1, "name": "x", "epsilon": 4.0, "exact": True},
        topic_weight=rng.dirichlet(np.ones(3)),
        word_weight=rng.dirichlet(np.ones(5)),
        topic_word_noise=rng.random((3, 5)),
        n_units_noisy=41.5,
    )


@functools.cache
def files():
    with tempfile.TemporaryDirectory() as parent:
        original().save(Path(parent) / "release")
        return {path.name: path.read_bytes() for path in (Path(parent) / "release").iterdir()}


def load(**changed):
    """Load the original's files, some of them replaced."""
    with tempfile.TemporaryDirectory() as parent:
        for name, content in {**files(), **{n.replace("_", "."): c for n, c in changed.items()}}.items():
            (Path(parent) / name).write_bytes(content)
        return Release.load(parent)


def about(release):
    """What a release may not lose by accident."""
    return (
        release.vocabulary,
        release.ledger.to_json(),
        release.determinism,
        release.guarantee,
    )


def load_or_refuse(**changed):
    try:
        return load(**changed)
    except ReleaseError as error:
        message = str(error)
    # One line, and nothing that moves a terminal's cursor.
    assert not {unicodedata.category(character) for character in message} & {"Cc", "Cs", "Zl", "Zp"}
    assert len(message) < 1000
    return None


def start_of_data():
    return 8 + struct.unpack("<Q", files()[MODEL][:8])[0]


@st.composite
def mutated(draw, raw):
    """Bytes with a few plausible injuries."""
    for _ in range(draw(st.integers(1, 3))):
        size = len(raw)
        at = draw(st.integers(0, max(size - 1, 0)))
        length = draw(st.integers(1, 20))
        match draw(
            st.sampled_from(["flip", "replace", "insert", "delete", "cut", "repeat", "move", "digit"])
        ):
            case "flip" if size:
                raw = raw[:at] + bytes([raw[at] ^ (1 << draw(st.integers(0, 7)))]) + raw[at + 1 :]
            case "replace":
                raw = raw[:at] + draw(st.binary(min_size=length, max_size=length)) + raw[at + length :]
            case "insert":
                raw = raw[:at] + draw(st.binary(min_size=1, max_size=length)) + raw[at:]
            case "delete":
                raw = raw[:at] + raw[at + length :]
            case "cut":
                raw = raw[:at]
            case "repeat":
                raw = raw[:at] + raw[at : at + length] * 2 + raw[at + length :]
            case "move":
                part, rest = raw[at : at + length], raw[:at] + raw[at + length :]
                to = draw(st.integers(0, len(rest)))
                raw = rest[:to] + part + rest[to:]
            case "digit":
                digits = [i for i, byte in enumerate(raw[:4000]) if 48 <= byte <= 57]
                if digits:
                    at = draw(st.sampled_from(digits))
                    raw = raw[:at] + bytes([draw(st.integers(48, 57))]) + raw[at + 1 :]
            case _:
                pass
    return raw


def check_model(raw):
    loaded = load_or_refuse(model_safetensors=raw)
    if loaded is None:
        return
    assert loaded == original()
    assert about(loaded) == about(original())


def check_vocabulary(raw):
    loaded = load_or_refuse(vocabulary_txt=raw)
    assert (loaded is None) == (raw != files()[VOCABULARY])


MODELS = st.deferred(lambda: mutated(files()[MODEL]))


@QUICK
@given(MODELS)
def test_injured_models(raw):
    check_model(raw)


@QUICK
@given(st.deferred(lambda: mutated(files()[MODEL][: start_of_data()])))
def test_injured_headers(head):
    check_model(head + files()[MODEL][start_of_data() :])


@QUICK
@given(st.deferred(lambda: mutated(files()[VOCABULARY])))
def test_injured_vocabularies(raw):
    check_vocabulary(raw)


@QUICK
@given(st.binary(max_size=300))
def test_arbitrary_bytes(raw):
    check_model(raw)
    check_vocabulary(raw)


#: Files that a search once found and that were not refused in due form; one that finds more leaves them there.
CASES = Path(__file__).parent / "cases"
KEPT = sorted(path.name for path in CASES.glob("*.safetensors"))


@pytest.mark.parametrize("name", KEPT)
def test_kept_cases(name):
    check_model((CASES / name).read_bytes())


@pytest.mark.slow
@pytest.mark.timeout(1500)
def test_injured_models_for_ten_minutes():
    end = time.monotonic() + 600

    @LONG
    @given(MODELS)
    def search(raw):
        try:
            check_model(raw)
        except Exception:
            CASES.mkdir(exist_ok=True)
            (CASES / f"{sha256(raw).hexdigest()[:12]}.safetensors").write_bytes(raw)
            raise

    while time.monotonic() < end:
        search()


# ---- forged metadata: JSON that is whole, with a header that fits, and with something else in it

ODD = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**70), 2**70),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(max_size=8),
    st.sampled_from(["\n", "\x1b[2J", "\u2028"]),
    st.sampled_from(
        [
            [],
            {},
            [[]],
            {"kind": "gaussian"},
            "inf",
            "NaN",
            {"float": "inf"},
            {"float": "nan"},
            10**400,
            "1e999",
        ]
    ),
)


def places(value, path=()):
    yield path
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, part in items:
        yield from places(part, (*path, key))


def put(value, path, part):
    """The value with something else at a place."""
    if not path:
        return part
    changed = copy.copy(value)
    changed[path[0]] = put(value[path[0]], path[1:], part)
    return changed


def drop(value, path):
    changed = copy.copy(value)
    if len(path) == 1:
        del changed[path[0]]
    else:
        changed[path[0]] = drop(value[path[0]], path[1:])
    return changed


def header():
    return json.loads(files()[MODEL][8 : start_of_data()])


def metadata():
    return json.loads(header()["__metadata__"]["discreet"])


def model_with(entries, data=None):
    raw = json.dumps(entries).encode() if not isinstance(entries, bytes) else entries
    raw += b" " * (-len(raw) % 8)
    return struct.pack("<Q", len(raw)) + raw + (files()[MODEL][start_of_data() :] if data is None else data)


def model_about(told):
    text = told if isinstance(told, str) else json.dumps(told, sort_keys=True)
    return model_with({**header(), "__metadata__": {"discreet": text}})


@QUICK
@given(st.data())
@pytest.mark.integration
def test_forged_metadata(data):
    told = metadata()
    for _ in range(data.draw(st.integers(1, 2))):
        path = data.draw(st.sampled_from(sorted(places(told), key=repr)))
        if path and data.draw(st.booleans()):
            told = drop(told, path)
        else:
            told = put(told, path, data.draw(ODD))
        if not isinstance(told, dict):
            break
    check_model(model_about(told))
    if isinstance(
        told, dict
    ):  # on purpose, with a checksum that fits: refused, or what it says is proved anew
        loaded = load_or_refuse(model_safetensors=model_about(sealed(told)))
        kept = ("vocabulary", "promise")
        assert loaded is None or all(getattr(loaded, name) == getattr(original(), name) for name in kept)


@QUICK
@given(st.data())
def test_forged_array_entries(data):
    entries = header()
    path = data.draw(
        st.sampled_from([p for p in sorted(places(entries), key=repr) if p and p[0] != "__metadata__"])
    )
    forged = drop(entries, path) if data.draw(st.booleans()) else put(entries, path, data.draw(ODD))
    check_model(model_with(forged))


def test_the_fuzz_is_awake():
    # The helpers give back the original, and a check that accepts everything would be seen.
    assert load() == original()
    assert load(model_safetensors=model_about(metadata())) == original()
    assert load_or_refuse(model_safetensors=model_about({**metadata(), "n_units_noisy": 9.0})) is None
    cautious = load_or_refuse(
        model_safetensors=model_about(sealed({**metadata(), "determinism": Release.REPRODUCIBLE}))
    )
    assert cautious is not None  # the one change that is taken: a more careful label
    assert cautious != original()


@pytest.mark.parametrize("place", [8, 64, 200, -8])
def test_the_lowest_bit_of_a_number_is_noticed(place, monkeypatch):
    raw = bytearray(files()[MODEL])
    at = place if place < 0 else start_of_data() + place
    raw[at] ^= 1  # little-endian: the last digit of a float
    assert load_or_refuse(model_safetensors=bytes(raw)) is None
    from discreet.release import files as file_format

    digest = metadata()["arrays_sha256"]
    monkeypatch.setattr(file_format, "_digest_of_arrays", lambda *_: digest)
    assert load_or_refuse(model_safetensors=bytes(raw)) is not None  # nothing else sees it


def test_a_loader_that_forgets_the_vocabularys_digest_is_caught(monkeypatch):
    from discreet.release import files as file_format

    digest = metadata()["vocabulary_sha256"]  # read while what saves is still whole

    class AnyDigest:
        def __new__(cls, data=None):
            return sha256() if data is None else super().__new__(cls)

        def hexdigest(self):
            return digest

    monkeypatch.setattr(file_format, "sha256", AnyDigest)
    with pytest.raises(AssertionError):
        check_vocabulary(files()[VOCABULARY].replace(b"two words", b"own words"))
