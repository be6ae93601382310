"""The page of the command line says what the command says: every command, every option, its words of help."""

import re
import runpy
import shlex
from pathlib import Path

import typer

from discreet.cli.app import app

MAKER = Path(__file__).parents[1] / "docs" / "_make" / "command_line.py"


def test_the_page_is_up_to_date():
    maker = runpy.run_path(str(MAKER))
    assert maker["PAGE"].read_text() == maker["page"](), "write it anew: python docs/_make/command_line.py"


def leaves(command, name):
    inner = getattr(command, "commands", None)
    if inner is None:
        yield name, command
    else:
        for word, one in inner.items():
            yield from leaves(one, f"{name} {word}")


def test_nothing_is_missing():
    page = Path(MAKER).parents[1].joinpath("reference", "command-line.md").read_text()
    sections = dict(part.split("\n", 1) for part in page.split("\n## ")[1:])
    found = dict(leaves(typer.main.get_command(app), "discreet"))
    assert set(sections) == set(found)
    for name, command in found.items():
        options = {
            word for one in command.params if not one.hidden for word in one.opts if word.startswith("-")
        }
        assert all(f"`{option}`" in sections[name] for option in options - {"--help", "-h"}), name


ROOT = MAKER.parents[2]
PAGES = [
    ROOT / "README.md",
    *sorted((ROOT / "docs").rglob("*.md")),
    *sorted((ROOT / "examples").glob("*.md")),
]


def lines_of(page):
    """Return every line of a block of commands that calls ours, without its comment."""
    for language, block in re.findall(r"^```(\w*)\n(.*?)^```", page.read_text(), re.MULTILINE | re.DOTALL):
        if language not in ("", "sh", "console"):
            continue
        for line in block.replace("\\\n", " ").split("\n"):
            if line.removeprefix("$ ").startswith("discreet "):
                yield shlex.split(line.removeprefix("$ "), comments=True)[1:]


def mistaken(words):
    """Return what a line calls that is not there."""
    command = typer.main.get_command(app)
    while getattr(command, "commands", None) and words and not words[0].startswith("-"):
        if words[0] not in command.commands:
            return [words[0]]
        command, words = command.commands[words[0]], words[1:]
    known = {"-h", "--help"} | {
        option for one in command.params for option in (*one.opts, *one.secondary_opts)
    }
    return [word for word in words if re.match(r"--?[a-z]", word) and word.partition("=")[0] not in known]


def test_lines_of_the_pages_call_what_is_there():
    lines = [(page.name, words) for page in PAGES for words in lines_of(page) if words[1:2] != ["[OPTIONS]"]]
    assert len(lines) > 40
    wrong = {(page, *mistaken(words)) for page, words in lines if mistaken(words)}
    assert not wrong


def test_a_slip_is_found():
    assert mistaken(["fit", "notes.csv", "--epsilon", "2", "--topic", "3"]) == ["--topic"]
    assert mistaken(["fits", "notes.csv"]) == ["fits"]
    assert mistaken(["silo", "serve", "-h"]) == []
