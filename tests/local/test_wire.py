"""Reports as bytes, and the memory that makes each of them once."""

import json
import stat

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.reseal import reseal

from discreet.errors import CorpusError, PrivacyError
from discreet.local import BitChannel, Report, ReportMemo, read_reports, write_reports
from discreet.local.memo import _SEAL
from discreet.local.wire import HEADER_BYTES, vocabulary_digest
from discreet.privacy import SecureStream

WORDS = ["ache", "bone", "cold", "fever", "ärztin", "x y", "g", "h", "i"]
CHANNEL = BitChannel.for_document(3.0, 4, len(WORDS))


def some_report(seed=1, channel=CHANNEL, words=WORDS):
    rng = np.random.default_rng(seed)
    bits = rng.integers(0, 2, len(words)).astype(np.uint8)
    return Report(channel, vocabulary_digest(words), rng.bytes(16), bits)


def test_bytes_hold_everything():
    report = some_report()
    raw = report.to_bytes()
    assert len(raw) == HEADER_BYTES + 2 == 74
    back = Report.from_bytes(raw)
    assert (back.channel, back.vocabulary, back.number) == (report.channel, report.vocabulary, report.number)
    np.testing.assert_array_equal(back.bits, report.bits)
    assert raw[72] & 1 == report.bits[0]  # lowest bit first


def test_a_report_made_with_a_seed_says_so(tmp_path):
    memo, other = ReportMemo(), ReportMemo()
    secure = memo.report(CHANNEL, [0], WORDS, SecureStream())
    seeded = other.report(CHANNEL, [0], WORDS, SecureStream(5))
    assert not secure.channel.reproducible
    assert seeded.channel.reproducible
    assert secure.to_bytes()[4:8] == bytes([1, 0, 0, 0])  # as ever: older readers and collectors take it
    assert seeded.to_bytes()[4:8] == bytes([2, 1, 0, 0])  # older ones refuse it, as they should
    assert Report.from_bytes(seeded.to_bytes()).channel.reproducible
    assert seeded.channel == secure.channel == CHANNEL  # the same coins, known to somebody
    path = tmp_path / "reports.bin"
    for reports, expected in (([secure], False), ([secure, seeded], True), ([seeded, secure], True)):
        write_reports(path, reports)
        channel, bits = read_reports(path, vocabulary=WORDS)
        assert channel == CHANNEL
        assert channel.reproducible is expected
        assert len(bits) == len(reports)


@pytest.mark.parametrize("form", [(1, 1, 0, 0), (2, 0, 0, 0), (2, 2, 0, 0), (2, 1, 1, 0), (3, 0, 0, 0)])
def test_marks_that_nobody_knows_are_refused(form):
    raw = bytearray(some_report().to_bytes())
    raw[4:8] = bytes(form)
    with pytest.raises(CorpusError, match="version"):
        Report.from_bytes(bytes(raw))


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_damaged_bytes_are_refused_or_another_report(data):
    raw = bytearray(some_report().to_bytes())
    kind = data.draw(st.sampled_from(["cut", "longer", "flip"]))
    if kind == "cut":
        raw = raw[: data.draw(st.integers(0, len(raw) - 1))]
    elif kind == "longer":
        raw += data.draw(st.binary(min_size=1, max_size=5))
    else:
        raw[data.draw(st.integers(0, len(raw) - 1))] ^= 1 << data.draw(st.integers(0, 7))
    try:
        back = Report.from_bytes(bytes(raw))
    except CorpusError:
        return
    assert kind == "flip"
    assert back.to_bytes() == bytes(raw)
    assert bytes(raw) != some_report().to_bytes()


def test_files_hold_each_report_once(tmp_path):
    path = tmp_path / "reports.bin"
    first, second = some_report(1), some_report(2)
    assert write_reports(path, [first, second, first]) == 3
    channel, bits = read_reports(path, vocabulary=WORDS)
    assert channel == CHANNEL
    np.testing.assert_array_equal(bits, [first.bits, second.bits])
    with pytest.raises(CorpusError, match="another vocabulary"):
        read_reports(path, vocabulary=WORDS[::-1])
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(CorpusError, match="report 3"):
        read_reports(path)
    write_reports(path, [first, some_report(3, BitChannel.symmetric(1.0))])
    with pytest.raises(CorpusError, match="report 2: its channel"):
        read_reports(path)
    path.write_bytes(b"")
    with pytest.raises(CorpusError, match="empty"):
        read_reports(path)


def test_a_writing_that_fails_leaves_the_old_file(tmp_path):
    path = tmp_path / "reports.bin"
    write_reports(path, [some_report()])
    before = path.read_bytes()

    def broken():
        yield some_report(2)
        raise RuntimeError("planted")

    with pytest.raises(RuntimeError, match="planted"):
        write_reports(path, broken())
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["reports.bin"]


def test_asking_twice_returns_the_same_bytes(tmp_path):
    path, stream = tmp_path / "kept.json", SecureStream()
    memo = ReportMemo(path)
    first = memo.report(CHANNEL, [0, 3, 3], WORDS, stream)
    assert memo.report(CHANNEL, [3, 0], WORDS, stream).to_bytes() == first.to_bytes()
    memo.save()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    again = ReportMemo(path)
    assert again.report(CHANNEL, [0, 3], WORDS, SecureStream()).to_bytes() == first.to_bytes()
    assert len(again) == 1
    assert again.report(CHANNEL, [0], WORDS, stream).number != first.number
    named = again.report(CHANNEL, [0], WORDS, stream, name="diary")
    assert again.report(CHANNEL, [1, 2], WORDS, stream, name="diary").to_bytes() == named.to_bytes()
    assert not any(word in path.read_text() for word in ("fever", "diary"))


def test_numbers_and_coins_are_drawn_anew():
    memo = ReportMemo()
    channel = BitChannel.symmetric(0.1)
    reports = [memo.report(channel, [1], WORDS * 30, SecureStream(), name=str(i)) for i in range(20)]
    assert len({r.number for r in reports}) == len({r.bits.tobytes() for r in reports}) == 20


@pytest.mark.parametrize("content", ["", "{}", "null", '{"schema": "discreet.reports/1", "key": "00"}'])
def test_a_damaged_memory_is_refused_and_kept(tmp_path, content):
    path = tmp_path / "kept.json"
    path.write_text(content)
    with pytest.raises(PrivacyError, match=r"restore it from a copy|open it with the version"):
        ReportMemo(path)
    assert path.read_text() == content


def test_a_memory_with_a_forged_report_is_refused(tmp_path):
    path = tmp_path / "kept.json"
    memo = ReportMemo(path)
    memo.report(CHANNEL, [0], WORDS, SecureStream())
    memo.save()
    reports = json.loads(path.read_text())["reports"]
    reseal(path, _SEAL, reports=dict.fromkeys(reports, "AAAA"))
    with pytest.raises((PrivacyError, CorpusError)):
        ReportMemo(path)
