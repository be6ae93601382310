"""One report for each document, also where two programs, seeds or crashes come between."""

import multiprocessing
import os
import stat

import pytest

from discreet.cli.app import run
from discreet.errors import PrivacyError
from discreet.local import BitChannel, ReportMemo
from discreet.privacy import SecureStream

WORDS = [f"word{i}" for i in range(40)]
CHANNEL = BitChannel.symmetric(0.5)


def ask(memo, words=(1, 2), stream=None):
    return memo.report(CHANNEL, words, WORDS, stream or SecureStream()).to_bytes()


def test_the_second_of_two_programs_is_refused_and_changes_nothing(tmp_path):
    path = tmp_path / "kept.json"
    first, second = ReportMemo(path), ReportMemo(path)
    sent = ask(first)
    assert ask(second) != sent  # what must never leave the device
    first.save()
    with pytest.raises(PrivacyError, match="meanwhile"):
        second.save()
    assert ask(ReportMemo(path)) == sent
    third = ReportMemo(path)
    ask(third, (3,))
    third.save()
    ask(third, (4,))
    third.save()  # its own writing is no surprise
    assert ask(ReportMemo(path)) == sent
    path.unlink()
    with pytest.raises(PrivacyError, match="meanwhile"):
        third.save()


def _save_one(path, i, barrier, answers):
    memo = ReportMemo(path)
    ask(memo, (i,))
    barrier.wait()
    try:
        memo.save()
        answers.put(i)
    except PrivacyError:
        answers.put(None)


def test_of_many_programs_at_once_one_gets_through(tmp_path):
    context = multiprocessing.get_context("spawn")
    barrier, answers = context.Barrier(4), context.Queue()
    started = [
        context.Process(target=_save_one, args=(tmp_path / "kept.json", i, barrier, answers))
        for i in range(4)
    ]
    for process in started:
        process.start()
    told = [answers.get(timeout=120) for _ in started]
    for process in started:
        process.join(60)
    assert sum(one is not None for one in told) == 1
    assert len(ReportMemo(tmp_path / "kept.json")) == 1


def test_seeded_reports_are_not_kept_in_a_file(tmp_path):
    path = tmp_path / "kept.json"
    memo = ReportMemo(path)
    with pytest.raises(PrivacyError, match="seed"):
        ask(memo, stream=SecureStream(1))
    assert len(memo) == 0
    assert ask(ReportMemo(), stream=SecureStream(1)) == ask(ReportMemo(), stream=SecureStream(1))


def test_the_command_refuses_a_seed_with_a_memory(tmp_path, capsys):
    (tmp_path / "words.txt").write_text("fever\ncough\n")
    (tmp_path / "in.jsonl").write_text('{"text": "fever and cough"}\n')
    code = run(
        [
            *("perturb", str(tmp_path / "in.jsonl"), "--vocabulary", str(tmp_path / "words.txt")),
            *("--out", str(tmp_path / "out.bin"), "--epsilon", "1", "--per", "word", "--seed", "1"),
            *("--memory", str(tmp_path / "kept.json")),
        ]
    )
    assert code == 2
    assert "seed" in capsys.readouterr().err
    assert not (tmp_path / "out.bin").exists()
    assert not (tmp_path / "kept.json").exists()


def test_a_failing_disk_leaves_the_old_file_and_no_scraps(tmp_path, monkeypatch):
    path = tmp_path / "kept.json"
    memo = ReportMemo(path)
    sent = ask(memo)
    memo.save()
    ask(memo, (5,))

    def full(_):
        raise OSError(28, "no space left")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="no space"):
        memo.save()
    monkeypatch.undo()
    assert ask(ReportMemo(path)) == sent
    assert sorted(p.name for p in tmp_path.iterdir()) == [".kept.json.lock", "kept.json"]
    memo.save()
    assert len(ReportMemo(path)) == 2


def test_a_file_that_others_could_read_is_closed_to_them(tmp_path):
    path = tmp_path / "kept.json"
    memo = ReportMemo(path)
    ask(memo)
    memo.save()
    path.chmod(0o644)
    again = ReportMemo(path)
    ask(again, (7,))
    again.save()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
