"""One report for each document, also where two programs, seeds or crashes come between."""

import multiprocessing
import os
import stat
import time

import numpy as np
import pytest
from tests.local.at_once import at_once

from discreet.cli.app import run
from discreet.errors import BudgetExceeded, ParameterError, PrivacyError
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


@pytest.mark.integration
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


def test_another_channel_or_vocabulary_gets_no_second_report_of_a_document(tmp_path):
    """A collector that moves p by 2^-32 each day would otherwise read the document out."""
    path, stream = tmp_path / "kept.json", SecureStream()
    memo = ReportMemo(path)
    first = memo.report(CHANNEL, [3, 17], WORDS, stream, name="diary").to_bytes()
    plain = memo.report(CHANNEL, [1, 2], WORDS, stream).to_bytes()
    memo.save()
    near = BitChannel(CHANNEL.p_threshold - 1, CHANNEL.q_threshold)
    limited = BitChannel(CHANNEL.p_threshold, CHANNEL.q_threshold, 4)
    memo = ReportMemo(path)
    for channel, words in ((near, WORDS), (limited, WORDS), (CHANNEL, WORDS[::-1]), (CHANNEL, WORDS[:30])):
        with pytest.raises(BudgetExceeded, match="above its budget of 20:") as refused:
            memo.report(channel, [3], words, stream, name="diary")
        assert "diary" not in str(refused.value)
    with pytest.raises(BudgetExceeded):
        memo.report(near, [2, 1], WORDS, stream)
    for words in ([*WORDS, "nothing"], ["nothing", *WORDS[1:]], WORDS[:30]):
        with pytest.raises(PrivacyError, match="another vocabulary"):
            memo.report(CHANNEL, [2, 1], words, stream)
    assert len(memo) == 2
    memo.save()
    memo = ReportMemo(path)
    assert memo.report(CHANNEL, [9], WORDS, stream, name="diary").to_bytes() == first
    assert memo.report(CHANNEL, [1, 2], WORDS, stream).to_bytes() == plain
    memo.report(near, [3], WORDS, stream, name="another diary")  # of which nothing was told yet


def test_other_words_each_day_read_no_unnamed_document_out(tmp_path):
    """A collector that leaves some words out each day made each document another one, with coins of its own."""
    rng, path = np.random.default_rng(0), tmp_path / "kept.json"
    answered = 0
    for _ in range(14):
        words = [word for word in WORDS if rng.random() < 0.8]
        memo = ReportMemo(path)
        present = [words.index(word) for word in WORDS[:8] if word in words]
        try:
            memo.report(CHANNEL, present, words, SecureStream())
        except PrivacyError:
            continue
        memo.save()
        answered += 1
    assert answered == 1


@pytest.mark.parametrize("link", ["symbolic", "hard"])
def test_a_link_is_no_second_memory(tmp_path, link):
    real, other = tmp_path / "real.json", tmp_path / "other.json"
    memo = ReportMemo(real)
    memo.report(CHANNEL, [1], WORDS, SecureStream(), name="letter")
    memo.save()
    if link == "hard":
        waiting = ReportMemo(real)
        waiting.report(CHANNEL, [1], WORDS, SecureStream(), name="diary")
        other.hardlink_to(real)
        with pytest.raises(PrivacyError, match="hard link"):
            ReportMemo(other)
        with pytest.raises(PrivacyError, match="hard link"):
            waiting.save()
        return
    other.symlink_to(real)
    memo = ReportMemo(other)
    report = memo.report(CHANNEL, [1], WORDS, SecureStream(), name="diary").to_bytes()
    memo.save()
    assert other.is_symlink()
    assert ReportMemo(real).report(CHANNEL, [1], WORDS, SecureStream(), name="diary").to_bytes() == report


def _ask_the_copy(memo, answers):
    for name in ("letter", "diary"):
        try:
            memo.report(CHANNEL, [1], WORDS, SecureStream(), name=name)
            answers.put("a report")
        except PrivacyError as error:
            answers.put(str(error))


@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="no forks here")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
@pytest.mark.parametrize("kept", [False, True], ids=["in memory", "in a file"])
def test_a_fork_makes_no_second_first_report(tmp_path, kept):
    context = multiprocessing.get_context("fork")
    memo, answers = ReportMemo(tmp_path / "kept.json" if kept else None), context.SimpleQueue()
    memo.report(CHANNEL, [1], WORDS, SecureStream(), name="letter")
    child = context.Process(target=_ask_the_copy, args=(memo, answers))
    child.start()
    told = [answers.get(), answers.get()]
    child.join()
    assert child.exitcode == 0
    # Of two that keep a file the second to save is refused.
    assert all(("a report" if kept else "was made in another process") in one for one in told)
    memo.report(CHANNEL, [1], WORDS, SecureStream(), name="diary")


def test_names_are_texts_and_spelt_one_way():
    memo = ReportMemo()
    first = memo.report(CHANNEL, [1], WORDS, SecureStream(), name="Zo\u00e9").to_bytes()
    assert memo.report(CHANNEL, [2], WORDS, SecureStream(), name="Zoe\u0301").to_bytes() == first
    for name in (7, "", b"diary", ["diary"]):
        with pytest.raises(ParameterError, match="a document's name must be a text") as refused:
            memo.report(CHANNEL, [1], WORDS, SecureStream(), name=name)
        assert "diary" not in str(refused.value)


def test_numbers_beyond_the_vocabulary_are_refused():
    for words in ([40], [-1], [3, 10**9]):
        with pytest.raises(ParameterError, match="from 0 to 39"):
            ReportMemo().report(CHANNEL, words, WORDS, SecureStream())


def test_a_larger_budget_is_spent_report_by_report():
    losses = [8.0, 4.0, 2.0]
    memo, stream = ReportMemo(budget=14.0), SecureStream()
    for loss in losses:
        memo.report(BitChannel.for_document(loss, 4, 40), [1], WORDS, stream, name="diary")
    with pytest.raises(BudgetExceeded, match="from 14 to 15, above its budget of 14:"):
        memo.report(BitChannel.for_document(1.0, 4, 40), [1], WORDS, stream, name="diary")
    with pytest.raises(BudgetExceeded, match="loses 16, above its budget of 14;"):
        memo.report(BitChannel.for_document(16.0, 4, 40), [1], WORDS, stream, name="another")
    assert len(memo) == 3
    for wrong in (0, -1.0, float("nan"), "much"):
        with pytest.raises(PrivacyError):
            ReportMemo(budget=wrong)


def test_the_command_holds_to_the_budget(tmp_path, capsys):
    (tmp_path / "words.txt").write_text("fever\ncough\nflu-like\n")
    (tmp_path / "in.jsonl").write_text('{"text": "fever and cough"}\n')

    def ask(epsilon, *more):
        new = tmp_path / "new.bin"
        code = run(
            [
                *("perturb", str(tmp_path / "in.jsonl"), "--vocabulary", str(tmp_path / "words.txt")),
                *("--out", str(new), "--epsilon", epsilon, "--per", "word"),
                *("--memory", str(tmp_path / "kept.json"), *more),
            ]
        )
        assert new.exists() == (code == 0)
        if code == 0:
            new.replace(tmp_path / "out.bin")
        return code

    assert ask("1") == 0
    assert (
        "1 of 3 words of the vocabulary" in capsys.readouterr().err
    )  # flu-like, which is two words of a text
    sent = (tmp_path / "out.bin").read_bytes()
    assert ask("1.5") == 2
    assert "above its budget of 3:" in capsys.readouterr().err
    assert (tmp_path / "out.bin").read_bytes() == sent
    assert ask("1.5", "--budget", "7.5") == 0
    assert (tmp_path / "out.bin").read_bytes() != sent
    assert ask("1") == 0
    assert (tmp_path / "out.bin").read_bytes() == sent


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


class Waiting(BitChannel):
    """A channel whose coins take a while: long enough for whoever asks meanwhile to find nothing kept yet."""

    def report(self, *given, **named):
        time.sleep(0.05)
        return super().report(*given, **named)


def test_two_threads_get_one_report_of_a_document():
    channel = Waiting(CHANNEL.p_threshold, CHANNEL.q_threshold)
    for name in ("diary", None):
        memo, stream = ReportMemo(), SecureStream()
        first, second = at_once(
            *[lambda m=memo, s=stream, n=name: m.report(channel, [1], WORDS, s, name=n)] * 2
        )
        assert first.to_bytes() == second.to_bytes()
        assert memo.loss_of([1], WORDS, name=name) == CHANNEL.guarantees(40).whole_report


def test_two_threads_do_not_spend_one_budget_twice():
    near = Waiting(CHANNEL.p_threshold - 1, CHANNEL.q_threshold)
    far = Waiting(CHANNEL.p_threshold, CHANNEL.q_threshold)
    memo, stream = ReportMemo(), SecureStream()
    told = at_once(*[lambda c=c: memo.report(c, [1], WORDS, stream, name="diary") for c in (near, far)])
    assert told.count(BudgetExceeded) == 1
    assert memo.loss_of([1], WORDS, name="diary") <= CHANNEL.guarantees(40).whole_report
