"""The page of the command line says what the command says: every command, every option, its words of help."""

import runpy
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
