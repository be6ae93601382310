"""Whatever the files hold, loading gives a release or a ReleaseError: no other exception, no warning, no hang."""

import json
import struct
from datetime import timedelta

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.release.hostile_files import MODEL, VOCABULARY, put_together, take_apart, with_entries
from tests.report.report_cases import release

from discreet.errors import ReleaseError
from discreet.release import Release
from discreet.release import files as file_format

SETTINGS = settings(
    max_examples=150,
    deadline=timedelta(seconds=10),
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """Folder of a release, and what is in its two files."""
    folder = tmp_path_factory.mktemp("fuzz") / "model"
    release(n_topics=2, n_words=6, words=("a b", '"', "\n")).save(folder)
    return folder, (folder / MODEL).read_bytes(), (folder / VOCABULARY).read_bytes()


def outcome(saved, model=None, words=None):
    """Load with other content; restore it afterwards."""
    folder, right_model, right_words = saved
    (folder / MODEL).write_bytes(right_model if model is None else model)
    (folder / VOCABULARY).write_bytes(right_words if words is None else words)
    said = ""
    try:
        found = Release.load(folder)
    except ReleaseError as error:
        found, said = None, str(error)
    assert "\n" not in said
    assert len(said) < 1500
    assert found is None or found.guarantee
    return found


@st.composite
def edits(draw):
    """A function that damages bytes as disks, wires and editors do."""
    kind = draw(st.sampled_from(["flip", "cut", "insert", "delete", "repeat", "swap"]))
    place, other = draw(st.floats(0, 1)), draw(st.floats(0, 1))
    new = draw(st.binary(min_size=1, max_size=9))

    def damage(raw):
        a, b = sorted((int(place * len(raw)), int(other * len(raw))))
        match kind:
            case "flip":
                return raw[:a] + new + raw[a + len(new) :]
            case "cut":
                return raw[:a]
            case "insert":
                return raw[:a] + new + raw[a:]
            case "delete":
                return raw[:a] + raw[b:]
            case "repeat":
                return raw[:b] + raw[a:]
            case _:
                return raw[a:b] + raw[:a] + raw[b:]

    return damage


@SETTINGS
@given(st.lists(edits(), min_size=1, max_size=3))
def test_damaged_model_files(saved, damages):
    raw = saved[1]
    for damage in damages:
        raw = damage(raw)
    outcome(saved, model=raw)


@SETTINGS
@given(st.lists(edits(), min_size=1, max_size=3))
def test_damaged_vocabularies_never_load(saved, damages):
    raw = saved[2]
    for damage in damages:
        raw = damage(raw)
    assert (outcome(saved, words=raw) is not None) == (raw == saved[2])


@SETTINGS
@given(st.binary(max_size=300), st.booleans())
def test_noise_never_loads(saved, raw, framed):
    if framed:
        raw = struct.pack("<Q", len(raw)) + raw + saved[1][-16:]
    assert outcome(saved, model=raw) is None
    assert outcome(saved, words=raw) is None


numbers = st.one_of(
    st.integers(-3, 3),
    st.sampled_from([2**31, 2**63, 2**64, 10**400, -(2**63)]),
    st.floats(allow_nan=True, allow_infinity=True),
    st.sampled_from([0.0, -0.0, 5e-324, 1e308, 1e-300]),
)
leaves = st.one_of(
    st.none(), st.booleans(), numbers, st.text(max_size=8), st.sampled_from(["inf", "document"])
)
values = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.dictionaries(st.sampled_from(["float", "kind", "a", "shape", "events"]), inner, max_size=3),
    ),
    max_leaves=8,
)


def paths(value, start=()):
    """Every place in JSON values."""
    yield start
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        yield from paths(inner, (*start, key))


def replaced(value, path, new, drop):
    """JSON values with something else, or nothing, at one place."""
    if not path:
        return new
    copy = json.loads(json.dumps(value))
    inner = copy
    for key in path[:-1]:
        inner = inner[key]
    if drop:
        del inner[path[-1]]
    else:
        inner[path[-1]] = new
    return copy


@SETTINGS
@given(st.data())
def test_consistent_files_with_other_metadata(saved, data):
    header, metadata, rest = take_apart(saved[1])
    path = data.draw(st.sampled_from(list(paths(metadata))))
    changed = replaced(metadata, path, data.draw(values), data.draw(st.booleans()))
    found = outcome(saved, model=put_together(header, changed, rest))
    if path[:1] in [("ledger",), ("schema",), ("vocabulary_sha256",)] and found is not None:
        assert changed == metadata


@SETTINGS
@given(st.data())
def test_consistent_files_with_another_header(saved, data):
    header, metadata, rest = take_apart(saved[1])
    header.pop("__metadata__")
    about = {"discreet": json.dumps(metadata, sort_keys=True)}
    path = data.draw(st.sampled_from([p for p in paths(header) if p]))
    changed = replaced(header, path, data.draw(values), data.draw(st.booleans()))
    outcome(saved, model=put_together({"__metadata__": about, **changed}, metadata, rest))


rates = st.one_of(st.floats(0, 1), numbers)
simple_events = st.one_of(
    st.fixed_dictionaries({"kind": st.just("gaussian"), "noise_multiplier": numbers}),
    st.fixed_dictionaries(
        {"kind": st.just("discrete_laplace"), "noise_parameter": numbers, "sensitivity": numbers}
    ),
    st.fixed_dictionaries({"kind": st.just("failure"), "delta": rates}),
    st.just({"kind": "non_private"}),
)
any_event = st.recursive(
    simple_events,
    lambda inner: st.one_of(
        st.fixed_dictionaries({"kind": st.just("repeated"), "count": numbers, "event": inner}),
        st.fixed_dictionaries({"kind": st.just("poisson_sampled"), "sampling_rate": rates, "event": inner}),
        st.fixed_dictionaries({"kind": st.just("composed"), "events": st.lists(inner, max_size=3)}),
    ),
    max_leaves=5,
)
budgets = st.fixed_dictionaries(
    {},
    optional={
        "epsilon": numbers,
        "delta": st.one_of(st.floats(0, 1), numbers),
        "privacy_unit": st.sampled_from(["document", "person", "word", "city", 3]),
        "neighboring": st.sampled_from(["add_or_remove_one", "replace_one", "none", []]),
    },
)


@SETTINGS
@given(st.lists(any_event, max_size=3), budgets)
def test_sealed_ledgers_of_anything(saved, bookings, budget):
    """Whoever changes a ledger on purpose can renew its checksum."""
    header, metadata, rest = take_apart(saved[1])
    try:
        changed = with_entries(metadata, bookings, **budget)
    except (ValueError, TypeError, OverflowError):
        return
    stated = {**metadata["guarantee"], "epsilon": {"float": "inf"}}
    for field in ("delta", "privacy_unit", "neighboring"):
        stated[field] = budget.get(field, stated[field])
    found = outcome(saved, model=put_together(header, {**changed, "guarantee": stated}, rest))
    if found is not None:
        assert found.promise.epsilon >= 0
        assert 0 <= found.promise.delta < 1


def test_the_fuzz_reaches_releases_too(saved):
    """Not everything is refused: what was saved loads, and so does another promise that holds."""
    assert outcome(saved) == release(n_topics=2, n_words=6, words=("a b", '"', "\n"))
    header, metadata, rest = take_apart(saved[1])
    bookings = [
        {
            "kind": "poisson_sampled",
            "sampling_rate": 0.1,
            "event": {"kind": "gaussian", "noise_multiplier": 1.5},
        }
    ]
    stated = {**metadata["guarantee"], "epsilon": {"float": "inf"}}
    changed = {**with_entries(metadata, bookings), "guarantee": stated}
    assert outcome(saved, model=put_together(header, changed, rest)).promise.epsilon < 2


def test_the_fuzz_would_notice_a_careless_loader(saved, monkeypatch):
    """Read by the JSON library alone, without looking, noise ends in another error."""
    monkeypatch.setattr(file_format, "_json", json.loads)
    with pytest.raises(json.JSONDecodeError):
        outcome(saved, model=struct.pack("<Q", 8) + b"no JSON." + saved[1][-16:])
