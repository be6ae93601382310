"""`discreet audit`: what is caught, what is not, exit codes, and going on after a stop."""

import json
import sys

import numpy as np
import pytest

from discreet.audit import AuditReport
from discreet.cli.app import run

OWN = """
import numpy as np

def memorise(counts, seed):
    return np.asarray(counts.todense()) + 1e-3

def ignore(counts, seed):
    return np.random.default_rng(seed).random((3, counts.shape[1])) + 0.1

number = 3
"""


@pytest.fixture
def here(tmp_path, monkeypatch):
    rng = np.random.default_rng(3)
    words = ["".join(rng.choice(list("abcdefgh"), 6)) for _ in range(40)]
    with (tmp_path / "letters.jsonl").open("w") as file:
        for _ in range(100):
            file.write(json.dumps({"text": " ".join(rng.choice(words, 15))}) + "\n")
    (tmp_path / "own_trainers.py").write_text(OWN)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.delitem(sys.modules, "own_trainers", raising=False)
    return tmp_path


def audit(*more):
    return run(["audit", "letters.jsonl", "--shadows", "8", "--seed", "1", "--quiet", *more])


@pytest.mark.parametrize("offline", [[], ["--set", "online=false"]])
def test_memorising_breaks_its_promise_and_indifference_does_not(here, capsys, offline):
    own = ["--set", "n_targets=3", *offline, "--epsilon", "1", "--trainer"]
    assert audit(*own, "own_trainers:memorise") == 3
    told = capsys.readouterr().out
    assert "BROKEN" in told
    assert "x 3 targets" in told
    assert ("offline" in told) == bool(offline)
    assert audit(*own, "own_trainers:ignore") == 0
    assert "BROKEN" not in capsys.readouterr().out
    assert audit("--trainer", "own_trainers:memorise") == 0  # nothing was promised
    assert "epsilon     at least" in capsys.readouterr().out


@pytest.mark.parametrize("name", ["private", "variational", "gibbs", "sklearn"])
@pytest.mark.integration
def test_each_trainer_trains(here, name, capsys):
    assert (
        audit("--trainer", name, "--topics", "2", "--epsilon", "5", "--shadows", "4", "--json", "a.json") == 0
    )
    report = AuditReport.from_json(json.loads((here / "a.json").read_text()))
    assert (report.epsilon, report.delta, report.coins) == (5.0, 1e-6, "independent")
    assert report.scores.shape == (1, 100)
    assert capsys.readouterr().out == report.in_words() + "\n"


def test_threads_change_nothing(here):
    own = ["--trainer", "variational", "--topics", "2", "--json"]
    assert audit(*own, "a.json", "--set", "n_jobs=2") == 0
    assert audit(*own, "b.json") == 0
    first, second = (json.loads((here / f"{name}.json").read_text()) for name in "ab")
    assert first == second


def test_file_of_scores_is_whole_and_for_its_person_only(here, monkeypatch):
    old = here / "a.json"
    old.touch()
    old.chmod(0o644)
    own = ["--trainer", "own_trainers:ignore", "--json"]
    assert audit(*own, "a.json") == 0
    assert old.stat().st_mode & 0o777 == 0o600
    monkeypatch.setattr("discreet._base.files.os.fsync", lambda handle: 1 / 0)  # the disk is full
    with pytest.raises(ZeroDivisionError):
        audit(*own, "b.json", "--set", "n_targets=2")
    assert not (here / "b.json").exists()
    assert not list(here.glob(".*"))


def test_an_offline_audit_says_so(here, capsys):
    assert audit("--trainer", "own_trainers:ignore", "--set", "online=false") == 0
    assert "offline" in capsys.readouterr().out
    assert audit("--trainer", "own_trainers:ignore", "--set", "online=true") == 0
    assert "online" in capsys.readouterr().out


def test_spread_reaches_the_attack(here):
    own = ["--trainer", "variational", "--topics", "2", "--json"]
    assert audit(*own, "a.json") == 0
    assert audit(*own, "b.json", "--set", "spread=shrunk") == 0
    own, shrunk = (AuditReport.from_json(json.loads((here / f"{n}.json").read_text())) for n in "ab")
    assert (own.meta["spread"], shrunk.meta["spread"]) == ("own", "shrunk")
    assert (own.scores != shrunk.scores).any()


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (["--trainer", "none"], "must be one of"),
        (["--trainer", "no_such_module:train"], "no_such_module"),
        (["--trainer", "own_trainers:absent"], "absent"),
        (["--trainer", "own_trainers:number"], "must name a function"),
        ([], "needs --epsilon"),
        (["--epsilon", "nan"], "epsilon must be"),
        (["--epsilon", "1", "--delta", "1"], "delta must be"),
        (["--trainer", "gibbs", "--shadows", "3"], "--shadows must"),
        (["--trainer", "gibbs", "--set", "spread=wide"], '--set spread= must be "own" or "shrunk"'),
        (
            ["--trainer", "gibbs", "--set", "n_targets=many"],
            "--set n_targets= must be a positive whole number",
        ),
        (
            ["--trainer", "gibbs", "--set", "n_targets=true"],
            "--set n_targets= must be a positive whole number",
        ),
        (["--trainer", "gibbs", "--set", "online=1"], "--set online= must be True or False"),
        (["--set", "target=1"], "'target' is none of them"),
        (["--trainer", "gibbs", "--json", "no/such/a.json"], "there is no folder"),
    ],
)
def test_refusals(here, capsys, more, words):
    assert audit(*more) == 2
    assert words in capsys.readouterr().err


def test_an_audit_of_shadows_needs_a_corpus(here, capsys):
    assert run("audit --trainer gibbs --topics 3".split()) == 2
    assert "Missing argument 'corpus'" in capsys.readouterr().err
