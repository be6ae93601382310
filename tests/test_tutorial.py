"""The tutorial, from nothing to what a reader checks: its commands run, and its page shows what they print."""

import io
import re
import runpy
import shlex
import shutil
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import pytest

from discreet import Release
from discreet.cli.app import run
from discreet.release.prevalence import PrevalenceRelease

MAKER = Path(__file__).parents[1] / "docs" / "_make" / "tutorial.py"
NEEDED = ("bash", "sed", "sha256sum", "ssh-keygen", "head", "wc", "tr")
#: What noise does not touch.
STEADY = ("head ", "wc ", "cat wards", "cat staff", "discreet budget", "ls ")
pytestmark = [
    pytest.mark.integration,
    pytest.mark.skipif(
        any(shutil.which(tool) is None for tool in NEEDED), reason=f"the tutorial needs {', '.join(NEEDED)}"
    ),
]


def steps(page, maker):
    """Return each command with the output that the page shows."""
    found = []
    for block in maker["BLOCK"].findall(page):
        for part in block.removeprefix("$ ").split("\n$ "):
            command, _, said = part.partition("\n")
            found.append((command, said.rstrip("\n")))
    return found


def promised(release):
    return float(re.search(r"epsilon = ([\d.]+)", release.guarantee)[1])


def masked(text):
    return re.sub(r"\b[0-9a-f]{16}\b|\d[\d.,e-]*", "#", text)


def obey(command, folder, maker):
    """Run a command as the page's maker does; `discreet` in this process, which has loaded all of it already."""
    words = shlex.split(command)
    if words[0] != "discreet":
        return maker["run"](command, folder)
    said = io.StringIO()
    with redirect_stdout(said), redirect_stderr(said):
        code = run(words[1:])
    lines = [line.rstrip() for line in said.getvalue().split("\n") if not maker["PROGRESS"].match(line)]
    return code, "\n".join(lines).strip("\n")


def test_the_tutorial_says_what_its_commands_print(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "110")
    maker = runpy.run_path(str(MAKER))
    maker["begin"](tmp_path)
    shown = steps(maker["PAGE"].read_text(), maker)
    assert len(shown) > 20
    for command, said in shown:
        code, printed = obey(command, tmp_path, maker)
        refused = "again.json" in command
        assert code == (2 if refused else 0), printed
        if command.startswith(STEADY):
            assert printed == said
        assert masked(printed.partition("\n")[0])[:40] == masked(said.partition("\n")[0])[:40]
        assert bool(printed) == bool(said)

    release = Release.load(tmp_path / "release" / "reviewed")
    staff = {name.lower() for name in (tmp_path / "staff.txt").read_text().split()}
    assert len(staff) == 5
    assert staff <= set(Release.load(tmp_path / "topics").vocabulary)
    assert not staff & set(release.vocabulary)
    shares = PrevalenceRelease.load(tmp_path / "release" / "wards.json")
    assert 1.99 < promised(release) < 2.001 < promised(shares) < 2.1
    assert shares.groups == tuple((tmp_path / "wards.txt").read_text().split())
    assert not (tmp_path / "again.json").exists()


def test_the_notes_are_always_the_same():
    hospital = runpy.run_path(str(MAKER.parents[1] / "tutorial" / "hospital.py"))
    some = hospital["notes"](50)
    assert some == hospital["notes"](50)
    assert len({row["patient"] for row in some}) == 50 < len(some)
    assert {row["ward"] for row in some} == set(hospital["WARDS"])
    assert sum("Applewood" in row["note"] for row in some) > 1
