"""A silo that runs nothing of a server's: what it answers, what it refuses, and what a refusal tells."""

import json
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp

from discreet.cli.app import run
from discreet.cli.commands.silo import _ask as ask_on_terminal
from discreet.errors import CorpusError, ParameterError, PrivacyError
from discreet.federated import fit_state, init_server, server_step
from discreet.federated.account import vocabulary_digest
from discreet.federated.rounds import Update
from discreet.federated.silo import Silo, _reply, read_tasks, until_next_beat
from discreet.federated.wire import read_values, state_bytes
from discreet.privacy import Ledger

WORDS = [f"w{i}" for i in range(20)]
TASK = {
    "n_clients": 3,
    "tolerated": 1,
    "n_words": 20,
    "vocabulary": vocabulary_digest(WORDS),
    "epsilon": 2.0,
}


def counts(seed, n=400):
    rng = np.random.default_rng(seed)
    own = np.arange(20) // 10 == rng.integers(2, size=(n, 1))
    return sp.csr_matrix((rng.random((n, 20)) < np.where(own, 0.5, 0.05)).astype(np.int32))


def begin(**other):
    options = {"n_clients": 3, "tolerated": 1, "epsilon": 2.0, **other}
    return init_server(n_topics=2, n_words=20, vocabulary=WORDS, delta=1e-6, **options)


def asked(state, client):
    return {"client": client, "state": state_bytes(state, client)}


def test_three_silos_answer_what_was_agreed():
    state = begin(allow_unlearnable=True)
    silos = [Silo(counts(c), Ledger(2.0, 1e-6), [{**TASK, "epsilon": 1.0}, TASK]) for c in range(3)]
    while not state.finished:
        answers = [silo.answer(asked(state, c), 1) for c, silo in enumerate(silos)]
        state = server_step(
            state, [Update(c, a["round"], read_values(a["values"])) for c, a in enumerate(answers)]
        )
    assert not state.refusals
    assert fit_state(state).topic_word.shape == (2, 20)
    assert [len(silo.ledger.entries) for silo in silos] == [1, 1, 1]
    with pytest.raises(PrivacyError, match="budget"):
        silos[0].answer(asked(begin(), 0), 2)


@pytest.mark.parametrize(
    "other",
    [
        {"epsilon": 3.0},
        {"n_clients": 9},
        {"tolerated": 0},
        {"silos_see_result": False},
    ],
)
def test_what_was_not_agreed_gets_no_answer(other):
    silo = Silo(counts(0), Ledger(9.0, 1e-6), [TASK])
    with pytest.raises(PrivacyError, match="agreed"):
        silo.answer(asked(begin(**other), 0), 1)
    assert not silo.ledger.entries


@pytest.mark.parametrize("message", [{}, {"state": b"x"}, {"client": "x", "state": b""}, None, 7])
def test_messages_of_others_are_answered_with_an_error_that_says_nothing(message):
    told, flower = [], {"Error": SimpleNamespace, "Message": lambda error, reply_to: error}
    flower["Error"] = lambda code, reason: (code, reason)
    silo = Silo(counts(0), Ledger(2.0, 1e-6), [TASK])
    incoming = SimpleNamespace(content={"discreet": message} if message is not None else {})
    assert _reply(silo, incoming, 1, flower, told.append) == (0, "the silo does not answer this")
    assert len(told) == 1
    assert "not answered" in told[0]


def test_a_server_does_not_learn_why_a_silo_does_not_answer():
    """What is left of its budget would be one such reason."""
    told = []
    flower = {"Error": lambda code, reason: reason, "Message": lambda error, reply_to: error}
    silo = Silo(counts(0), Ledger(0.5, 1e-6), [TASK])
    incoming = SimpleNamespace(content={"discreet": asked(begin(), 0)})
    assert _reply(silo, incoming, 1, flower, told.append) == "the silo does not answer this"
    assert "budget" in told[0]


def test_counts_are_checked_before_anything_is_answered():
    with pytest.raises(CorpusError, match="Negative"):
        Silo(-counts(0), Ledger(2.0, 1e-6), [TASK])


@pytest.mark.parametrize(
    "content",
    [
        *("", "{}", "[]", "[1]", '[{"n_word": 3}]', '[{"mechanism": "bits"}]'),
        *('[{"epsilon": 1, "epsilon": 10}]', '[{"epsilon": NaN}]', "[" * 100_000),
    ],
)
def test_task_files_that_are_none_are_refused(content, tmp_path):
    (tmp_path / "tasks.json").write_text(content)
    with pytest.raises(ParameterError, match="tasks"):
        read_tasks(tmp_path / "tasks.json")


@pytest.mark.parametrize("taken", [0.0, 1e-9, 0.04, 0.57, 1.9999])
def test_few_and_many_documents_answer_on_the_same_beat(taken):
    """Before: .04 s for 1,000 documents and .57 s for 50,000."""
    waits = until_next_beat(taken, 2.0)
    assert waits >= 0
    assert taken + waits == pytest.approx(2.0 if taken else 0.0)
    assert until_next_beat(taken, 0.0) == 0.0
    assert 5.1 + until_next_beat(5.1, 2.0) == pytest.approx(6.0)


def test_the_command_prints_the_digest_of_a_vocabulary(tmp_path, capsys):
    (tmp_path / "words.txt").write_text("\n".join(WORDS) + "\n")
    assert run(["silo", "digest", str(tmp_path / "words.txt")]) == 0
    assert capsys.readouterr().out.strip() == vocabulary_digest(WORDS)


@pytest.mark.parametrize(
    ("task", "more", "reason"),
    [
        (TASK, [], "--root-certificates"),
        ({**TASK, "vocabulary": vocabulary_digest(WORDS[::-1])}, ["--insecure"], "other words"),
        ({**TASK, "n_words": 19}, ["--insecure"], "other words"),
        ({**TASK, "mechanism": "none"}, ["--insecure"], "settings out of"),
    ],
)
def test_the_command_refuses_before_it_connects(task, more, reason, tmp_path, capsys):
    (tmp_path / "words.txt").write_text("\n".join(WORDS) + "\n")
    (tmp_path / "tasks.json").write_text(json.dumps([task]))
    sp.save_npz(tmp_path / "counts.npz", counts(0))
    arguments = {name: str(tmp_path / f"{name}.json") for name in ("ledger",)}
    arguments |= {"counts": str(tmp_path / "counts.npz"), "vocabulary": str(tmp_path / "words.txt")}
    arguments |= {"expect": str(tmp_path / "tasks.json"), "superlink": "127.0.0.1:1", "epsilon": "2"}
    line = [part for name, value in arguments.items() for part in (f"--{name}", value)]
    assert run(["silo", "serve", *line, *more]) == 2
    assert reason in capsys.readouterr().err
    assert not (tmp_path / "ledger.json").exists()


def test_a_silo_counts_texts_as_the_vocabulary_was(tmp_path, monkeypatch):
    """The text options of `fit`: what is summed is what the agreed words were counted by."""
    words = ["heart attack", "ward", "the"]
    (tmp_path / "words.txt").write_text("\n".join(words) + "\n")
    (tmp_path / "notes.csv").write_text('text;n\n"the heart attack, the ward";1\n;2\n', encoding="utf-8")
    task = {**TASK, "n_words": 3, "vocabulary": vocabulary_digest(words)}
    (tmp_path / "tasks.json").write_text(json.dumps([task]))
    seen = []
    monkeypatch.setattr("discreet.federated.silo.serve", lambda silo, **_: None)
    monkeypatch.setattr(
        "discreet.federated.silo.Silo", lambda corpus, *_, **__: seen.append(corpus.counts.toarray())
    )
    line = (
        f"silo serve --counts {tmp_path}/notes.csv --vocabulary {tmp_path}/words.txt --ledger {tmp_path}/ledger.json "
        f"--expect {tmp_path}/tasks.json --superlink 127.0.0.1:1 --epsilon 2 --insecure --read delimiter=; "
        "--read ngram_range=1,2 --read stop_words=english --read skip_empty=true"
    )
    assert run(line.split()) == 0
    np.testing.assert_array_equal(seen[0], [[1, 1, 0]])


@pytest.mark.parametrize(("answer", "confirmed"), [("y", True), ("n", False), ("", False)])
def test_the_command_shows_the_roster_and_which_number_this_silo_has(answer, confirmed, monkeypatch, capsys):
    """Digits alone are the same for a silo that is asked to be two of them."""
    import io

    monkeypatch.setattr("sys.stdin", io.StringIO(answer + "\n"))
    assert ask_on_terminal("0123 4567", 1, 5) is confirmed
    shown = capsys.readouterr().err
    assert "number 2 of 5. The roster: 0123 4567" in shown
    assert "each number from 1 to 5 belong to another silo?" in shown
