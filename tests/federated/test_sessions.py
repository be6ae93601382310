"""What a silo keeps of runs: lost answers, runs of others, restarts, damaged files, a loop that never ends."""

import json
import os
from contextlib import contextmanager
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp
from tests.marks import quick

from discreet.errors import CorpusError, PrivacyError
from discreet.federated import init_server, server_step
from discreet.federated import silo as silo_module
from discreet.federated.account import vocabulary_digest
from discreet.federated.rounds import Update
from discreet.federated.silo import _SEAL, Silo, _reply, serve
from discreet.federated.state import MESSAGES, VECTOR
from discreet.federated.sum_round import Sum, contributions
from discreet.federated.wire import read_values, state_bytes
from discreet.privacy import Ledger

N, V = 3, 6
WORDS = [f"w{i}" for i in range(V)]
TASK = {
    "n_clients": N,
    "tolerated": 0,
    "n_words": V,
    "vocabulary": vocabulary_digest(WORDS),
}


def counts(seed):
    return sp.csr_matrix((np.random.default_rng(seed).random((50, V)) < 0.5).astype(np.int32))


def begin(**more):
    sizes = {"n_clients": N, "n_topics": 2, "n_words": V, "vocabulary": WORDS}
    options = {"epsilon": 2.0, "delta": 1e-6, "allow_unlearnable": True, **sizes, **more}
    return init_server(**options)


def asked(state, client):
    return {"client": client, "state": state_bytes(state, client)}


def ask(silo, state, client, run=1):
    answer = silo.answer(asked(state, client), run)
    return Update(client, answer["round"], read_values(answer["values"]))


class Office:
    """A silo whose process can be ended and started again: its ledger and its sessions are in files."""

    def __init__(self, folder, client, epsilon=2.0, tasks=(TASK,)):
        self.folder, self.client, self.tasks = folder / str(client), client, list(tasks)
        self.folder.mkdir()
        Ledger(epsilon, 1e-6, path=self.folder / "ledger.json")
        self.start()

    def start(self):
        self.silo = None  # the lock is let go
        self.ledger = Ledger.open(self.folder / "ledger.json")
        self.silo = Silo(counts(self.client), self.ledger, self.tasks, folder=self.kept)

    @property
    def kept(self):
        return self.folder / "sessions"

    @property
    def file(self):
        (found,) = self.kept.glob("*.json")
        return found


def in_memory(epsilon=2.0):
    return [Silo(counts(c), Ledger(epsilon, 1e-6), [TASK]) for c in range(N)]


def on_to(number, silos, state=None, run=1):
    state = state or begin()
    while state.round < number:
        state = server_step(state, [ask(silo, state, c, run) for c, silo in enumerate(silos)])
    return state


@pytest.mark.parametrize("lost", range(MESSAGES))
def test_a_lost_answer_is_given_again_and_costs_nothing(lost):
    silos = in_memory()
    state = on_to(lost, silos)
    came = [ask(silo, state, c) for c, silo in enumerate(silos)]
    with pytest.raises(PrivacyError, match="needed"):
        server_step(state, came[:2])
    again = ask(silos[2], state, 2)
    np.testing.assert_array_equal(again.values, came[2].values)
    state = on_to(MESSAGES, silos, server_step(state, [*came[:2], again]))
    assert not state.refusals
    assert [len(silo.ledger.entries) for silo in silos] == [1] * N


def test_messages_are_the_same_bytes_at_any_time(monkeypatch):
    import time

    state = begin()
    first = state_bytes(state, 0)
    monkeypatch.setattr(time, "localtime", lambda *_: time.gmtime(1_000_000_000))
    assert state_bytes(state, 0) == first
    assert state_bytes(replace(state, round=1), 0) != first


def test_only_the_last_message_is_answered_again_and_only_where_it_is_the_same():
    silos = in_memory()
    state = on_to(4, silos)
    ask(silos[0], state, 0)
    fewer = replace(state, masks=state.masks._replace(vectors=dict(list(state.masks.vectors.items())[:2])))
    for other in (fewer, replace(state, masks=Sum({}, {}, (), {0: None, 1: None}, {}))):
        with pytest.raises(PrivacyError, match="second list of senders"):
            ask(silos[0], other, 0)
    ask(silos[0], state, 0)
    earlier = on_to(VECTOR, in_memory())
    with pytest.raises(PrivacyError):
        ask(silos[0], earlier, 0)


def test_another_run_does_not_speak_in_this_one():
    """It knows the run's number, the terms and the silos' numbers, and asks under its own, as the SuperLink says."""
    silos = in_memory()
    state = on_to(4, silos)
    other = replace(state, masks=Sum({}, {}, (), dict.fromkeys(range(N)), {}))
    claimed = {**asked(other, 0), "session": "1", "run_id": 1, "run": 1}
    with pytest.raises(PrivacyError, match="no part in the sum"):
        silos[0].answer(claimed, 2)
    assert on_to(MESSAGES, silos, state).finished


@pytest.mark.integration
def test_runs_of_others_do_not_push_out_one_that_has_paid():
    silos = in_memory()
    state = on_to(4, silos)
    for run in range(100, 300):
        with pytest.raises(PrivacyError):  # its budget is spent
            ask(silos[0], begin(), 0, run)
    assert len(silos[0]._sessions._known) <= silo_module._MOST_RUNS
    assert on_to(MESSAGES, silos, state).finished


def test_runs_of_others_do_not_push_out_one_that_others_pay_for():
    """Nobody has booked yet where the first to answer next pays, and the last one would be gone."""
    silos = in_memory()
    state = on_to(2, silos)
    fresh = begin()
    for run in range(100, 100 + 2 * silo_module._MOST_RUNS):
        ask(silos[2], fresh, 2, run=run)
    state = server_step(state, [ask(silo, state, client) for client, silo in enumerate(silos)])
    assert state.round == 3
    assert len(silos[2]._sessions._known) <= silo_module._MOST_RUNS


def test_a_silo_keeps_its_number_in_a_run():
    silos = in_memory()
    state = on_to(1, silos)
    with pytest.raises(PrivacyError, match="is client 0, and stays so"):
        ask(silos[0], state, 1)
    assert on_to(MESSAGES, silos, state).finished


@pytest.mark.parametrize("number", quick(range(MESSAGES), 1))
@pytest.mark.parametrize("after", [False, True])
def test_a_restart_at_any_message(number, after, tmp_path):
    """Before the message is asked for, or after it was answered and lost."""
    offices = [Office(tmp_path, c) for c in range(N)]
    state = on_to(number, [o.silo for o in offices])
    if after:
        lost = ask(offices[1].silo, state, 1)
    offices[1].start()
    unpaid = number < VECTOR or (number == VECTOR and not after)
    if unpaid and number:
        with pytest.raises(PrivacyError, match="no part in the sum"):
            ask(offices[1].silo, state, 1)
        assert not offices[1].ledger.entries
        state = on_to(MESSAGES, [o.silo for o in offices], run=2)
    else:
        if after and not unpaid:
            np.testing.assert_array_equal(ask(offices[1].silo, state, 1).values, lost.values)
        state = on_to(MESSAGES, [o.silo for o in offices], state)
    assert state.finished
    spread = abs(state.sums.values - sum(contributions(counts(c)) for c in range(N))).max()
    assert spread < 2**40, "noise, and no masks, which are of the order of 2^63"
    assert [len(o.ledger.entries) for o in offices][1] == 1


def test_what_is_written_is_the_persons_alone_and_forgets_keys_at_the_end(tmp_path):
    offices = [Office(tmp_path, c) for c in range(N)]
    state = on_to(VECTOR, [o.silo for o in offices])
    assert not list(offices[0].kept.iterdir()), "nothing before it has paid"
    state = on_to(MESSAGES - 1, [o.silo for o in offices], state)
    office = offices[0]
    assert office.kept.stat().st_mode & 0o777 == 0o700
    assert office.file.stat().st_mode & 0o777 == 0o600

    def masker():
        return json.loads(json.loads(office.file.read_bytes())["account"])["masker"]

    assert masker()["step"] == "senders"
    on_to(MESSAGES, [o.silo for o in offices], state)
    assert masker() is None


def test_two_processes_do_not_share_sessions(tmp_path):
    office = Office(tmp_path, 0)
    with pytest.raises(PrivacyError, match="another silo runs"):
        Silo(counts(0), office.ledger, [TASK], folder=office.kept)
    office.start()


@pytest.mark.parametrize("fault", ["readable", "a link", "a file"])
def test_a_folder_that_is_not_the_persons_alone_is_refused(fault, tmp_path):
    folder = tmp_path / "sessions"
    if fault == "a file":
        folder.write_text("")
    elif fault == "a link":
        (tmp_path / "real").mkdir(mode=0o700)
        folder.symlink_to(tmp_path / "real")
    else:
        folder.mkdir()
        folder.chmod(0o755)
    with pytest.raises(PrivacyError, match="others can read it" if fault == "readable" else "cannot be kept"):
        Silo(counts(0), Ledger(2.0, 1e-6), [TASK], folder=folder)


def _changed(content, **other):
    return _SEAL.to_bytes({**_SEAL.opened(json.loads(content), "x"), **other})


def _early(content):
    """As if keys that can still mask a sum had been written down."""
    account = json.loads(json.loads(content)["account"])
    account["masker"]["step"] = "checks"
    return _changed(content, account=json.dumps(account))


DAMAGES = {
    "empty": lambda content: b"",
    "cut": lambda content: content[:-9],
    "another byte": lambda content: (
        content[:200] + b"0" + content[201:] if content[200:201] != b"0" else content[:99]
    ),
    "no JSON": lambda content: b"pickle\n" + content,
    "another question": lambda content: json.dumps({**json.loads(content), "asked": "0" * 64}).encode(),
    "another run": lambda content: _changed(content, run="7"),
    "another ledger": lambda content: _changed(content, ledger="0" * 32),
    "another schema": lambda content: _changed(content, schema="discreet.session/1"),
    "an account of numbers": lambda content: _changed(content, account="[1]"),
    "no answer": lambda content: _changed(content, answer="***"),
    "keys that can still mask": _early,
}


@pytest.mark.parametrize("damage", quick(DAMAGES, "another byte", "another ledger"))
def test_damaged_files_end_their_run_and_no_other(damage, tmp_path):
    offices = [Office(tmp_path, c, epsilon=9.0) for c in range(N)]
    state = on_to(4, [o.silo for o in offices])
    office = offices[0]
    office.file.write_bytes(DAMAGES[damage](office.file.read_bytes()))
    office.start()
    with pytest.raises(PrivacyError, match=r"take the file away|the version of discreet that wrote it"):
        ask(office.silo, state, 0)
    assert on_to(MESSAGES, [o.silo for o in offices], run=2).finished


def test_a_link_in_place_of_a_session_is_not_followed(tmp_path):
    offices = [Office(tmp_path, c) for c in range(N)]
    state = on_to(4, [o.silo for o in offices])
    office, path = offices[0], offices[0].file
    path.rename(tmp_path / "elsewhere.json")
    path.symlink_to(tmp_path / "elsewhere.json")
    office.start()
    with pytest.raises(PrivacyError, match="cannot be read"):
        ask(office.silo, state, 0)


def test_nothing_leaves_that_could_not_be_written(tmp_path, monkeypatch):
    """A full disk: no answer; when there is room again, the one that was made."""
    offices = [Office(tmp_path, c) for c in range(N)]
    state = on_to(VECTOR, [o.silo for o in offices])

    def full(*_, **__):
        raise OSError(28, "No space left on device")

    for _ in range(2, 4):
        with monkeypatch.context() as patched:
            patched.setattr(silo_module, "write_whole", full)
            for _ in range(2):
                with pytest.raises(PrivacyError, match=r"No space left.* nothing is sent"):
                    ask(offices[0].silo, state, 0)
        state = server_step(state, [ask(o.silo, state, c) for c, o in enumerate(offices)])
    assert on_to(MESSAGES, [o.silo for o in offices], state).finished
    assert len(offices[0].ledger.entries) == 1


# What a server may ask for, and what is seen on the terminal.


@pytest.mark.parametrize(
    "terms",
    [{"n_rounds": 3 * 10**8}, {"n_clients": 10**9}, {"n_topics": 10**9}, {"n_words": 10**9}],
)  # fmt: skip
def test_terms_that_would_fill_a_silos_memory_are_refused_before_anything_is_booked(terms):
    ledger = Ledger(2.0, 1e-6)
    silo = Silo(counts(0), ledger, [TASK])
    state = replace(begin(epsilon=0.1), **terms)
    with pytest.raises(CorpusError, match="impossible"):
        ask(silo, state, 0)
    assert not ledger.entries


FAKE = "0123 4567 89ab cdef 0123 4567 89ab cdef 0123 4567"
PLAIN = {
    "RecordDict": dict,
    "ConfigRecord": dict,
    "Message": lambda content, reply_to: content,
    "Error": lambda *a: a,
}


@pytest.mark.parametrize("place", ["session", "vocabulary", "run"])
def test_a_server_does_not_write_on_the_terminal(place):
    """Where --confirm asks, escape codes could paint another roster over the true one."""
    evil = (
        f"1\x1b[2K\rThe roster: {FAKE}\nDo all silos read the same digits? [y/N]: \x1b[8m\u202e"
        + "x" * 10_000
    )
    state = begin()
    if place == "vocabulary":
        state = replace(state, vocabulary=evil)
    content = {**asked(state, 0), "session": evil, "run": evil} if place != "vocabulary" else asked(state, 0)
    silo = Silo(counts(0), Ledger(2.0, 1e-6), [TASK])
    seen = []
    _reply(silo, SimpleNamespace(content={"discreet": content}), 77, PLAIN, seen.append)
    assert len(seen) == 1
    assert seen[0].isprintable()
    assert len(seen[0]) <= 300
    assert "roster" not in seen[0]
    assert "0123" not in seen[0]
    assert ("of run 77" in seen[0]) == (place != "vocabulary")


def test_errors_are_one_short_line_without_control_characters():
    assert silo_module._line("a\x1b[2K\r\nb\u202e" + "c" * 999) == "a?[2K??b?" + "c" * 291

    class Angry:
        def answer(self, *_):
            raise PrivacyError("a\x1b[2K\r\nb" + "c" * 999)

    seen = []
    _reply(Angry(), SimpleNamespace(content={"discreet": {}}), 77, PLAIN, seen.append)
    assert seen[0].isprintable()
    assert len(seen[0]) == 300


class SuperLink:
    """Gives what a test wants at each question, and remembers what is sent; then it is over."""

    def __init__(self, *script):
        self.script, self.sent, self.slept = list(script), [], []

    @contextmanager
    def connect(self, *_):
        yield 0, self.receive, self.send, None, None, str, str, str

    def receive(self):
        step = self.script.pop(0)
        if isinstance(step, BaseException):
            raise step
        return None if step is None else (SimpleNamespace(metadata=SimpleNamespace(run_id=5)), step)

    def pull(self, step, *_, **__):
        if isinstance(step.fault, BaseException):
            raise step.fault
        return SimpleNamespace(content=step.content, metadata=SimpleNamespace())

    def send(self, reply, tree, seconds):
        self.sent.append((reply.content, seconds))
        return set(), "session"

    def push(self, *_, **__):
        if self.fails:
            raise ConnectionError

    def serve(self, silo, monkeypatch, *, fails=False):
        self.fails = fails

        @contextmanager
        def nothing():
            yield

        def reply(content, reply_to):
            return SimpleNamespace(content=content, metadata=SimpleNamespace(), object_id="id")

        flower = {
            **PLAIN,
            "Message": reply,
            "http_request_response": self.connect,
            "pull_and_inflate_object_from_tree": self.pull,
            "no_object_id_recompute": nothing,
            "get_all_nested_objects": lambda reply: {},
            "get_object_tree": lambda reply: None,
            "push_objects": self.push,
        }
        monkeypatch.setattr(silo_module, "_flower", lambda: flower)
        monkeypatch.setattr(silo_module.time, "sleep", self.slept.append)
        seen = []
        how = {"superlink": "", "root_certificates": None, "node_key": None}
        serve(silo, **how, log=seen.append, stop=lambda: not self.script)
        return seen


def _step(content=None, fault=None):
    return SimpleNamespace(object_id="id", content=content, fault=fault)


def test_a_silo_goes_on_whatever_a_run_does(monkeypatch):
    """A run that ends while its messages are fetched raised RunNotRunningException, and the silo ended with it."""

    class RunNotRunningException(BaseException):  # as Flower's own is
        pass

    good = {"discreet": asked(begin(), 0)}
    link = SuperLink(
        _step(fault=RunNotRunningException("secret")), None, ConnectionError(), ValueError("x"), _step(content={}),
        _step(content=good),
    )  # fmt: skip
    seen = link.serve(Silo(counts(0), Ledger(2.0, 1e-6), [TASK]), monkeypatch)
    assert [line.split("(")[-1].split(")")[0] for line in seen[:3]] == [
        "RunNotRunningException",
        "ConnectionError",
        "ValueError",
    ]
    assert "not answered" in seen[3]
    assert seen[4] == "answered message 0 of run 5"
    assert len(link.sent) == 2
    assert "secret" not in "".join(seen)


def test_a_silo_can_be_stopped(monkeypatch):
    for stop in (KeyboardInterrupt, SystemExit):
        link = SuperLink(None, stop(), None)
        with pytest.raises(stop):
            link.serve(Silo(counts(0), Ledger(2.0, 1e-6), [TASK]), monkeypatch)
        assert len(link.script) == 1


def test_messages_of_a_run_that_has_ended_hold_no_other_up(monkeypatch):
    link = SuperLink(*[_step(fault=ValueError()) for _ in range(40)])
    link.serve(Silo(counts(0), Ledger(2.0, 1e-6), [TASK]), monkeypatch)
    assert sum(link.slept) < 5


def test_the_pause_grows_while_nothing_works_and_the_computing_time_is_not_sent(monkeypatch):
    good = {"discreet": asked(begin(), 0)}
    link = SuperLink(*[ConnectionError() for _ in range(7)], None, ConnectionError(), _step(content=good))
    link.serve(Silo(counts(0), Ledger(2.0, 1e-6), [TASK]), monkeypatch)
    assert link.slept == [1, 2, 4, 8, 16, 30, 30, 1, 1]
    assert [seconds for _, seconds in link.sent] == [0.0]


def test_an_answer_that_could_not_be_pushed_is_the_same_when_asked_again(monkeypatch):
    silo = Silo(counts(0), Ledger(2.0, 1e-6), [TASK])
    answers = []
    for fails in (True, False):
        link = SuperLink(_step(content={"discreet": asked(begin(), 0)}))
        link.serve(silo, monkeypatch, fails=fails)
        answers.append(link.sent[0][0]["discreet"]["values"])
    assert answers[0] == answers[1]


def test_a_folder_cannot_be_had_by_another_owner(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "geteuid", lambda: 12345)
    with pytest.raises(PrivacyError, match="make it yours alone"):
        Silo(counts(0), Ledger(2.0, 1e-6), [TASK], folder=tmp_path / "sessions")
