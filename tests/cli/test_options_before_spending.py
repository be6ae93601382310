"""Whatever an option says is examined before a budget is spent: no malformed value leaves an entry in a ledger."""

import shutil
from dataclasses import replace

import pytest
import typer
from tests.report.report_cases import release

from discreet import Ledger
from discreet.cli.app import run

WORDS = [f"{stem}{letter}" for stem in ("ward", "fall", "fever") for letter in "abcdefgh"]
COMMANDS = {
    "fit": "fit notes.csv --text note --person patient --out m --topics 2 --epsilon 8 "
    "--set allow_unlearnable=true",
    "prevalence": "prevalence model notes.csv --text note --out s.json --by ward --groups wards.txt",
    "choose-topics": "choose-topics notes.csv --text note --out m --topics 2,3 --epsilon 8 "
    "--vocabulary words.txt --vocabulary-is-public --set allow_unlearnable=true",
    "evaluate": "evaluate model notes.csv --text note --out e.json --epsilon 1",
}
#: What is wrong for each option, in every command that takes it.
WRONG = {
    "about": ("titulo=x", "title", "title=", f"title={'x' * 5000}", "=x"),
    "budget": ("-1", "nan", "0", "two", "0.001"),
    "by": ("place", ""),
    "delta": ("0", "-1", "1", "nan", "x"),
    "epsilon": ("0", "-1", "nan", "x", "1,5"),
    "every": ("fortnight",),
    "from": ("2024-01",),
    "groups": ("missing.txt", "wards-twice.txt"),
    "label": ("ward",),
    "ledger": ("folder", "nowhere/b.json", "notes.csv"),
    "out": ("full", "nowhere/m.json", "notes.csv", "b.json"),
    "person": ("member", ""),
    "read": ("encodng=utf-8", "encoding", "encoding=no-such", "format=doc", "languages=klingon"),
    "reference": ("notes.csv",),
    "report": ("folder", "nowhere/r.html", "notes.csv", "b.json", "r.pdf"),
    "seed": ("-1", "abc", "1.5"),
    "set": (
        "n_topics=5",
        "doc_topic_prior=-1",
        "doc_topic_prior=x",
        "count_weight=0",
        "unlisted=maybe",
        "x",
        "=1",
    ),
    "sheet": ("two",),
    "stop-words": ("germn",),
    "table": ("folder", "nowhere/t.csv", "notes.csv", "b.json", "s.json", "s.md", "t.xlsx"),
    "text": ("body", ""),
    "to": ("2024-13",),
    "topics": ("0", "-1", "x", "2,5x"),
    "unit-name": ("Patient!", "a b c d"),
    "vocabulary": ("missing.txt", "twice.txt"),
    "word-vectors": ("missing.vec", "notes.csv"),
}
#: Nothing can be wrong with these.
PLAIN = {
    "json",
    "private-groups",
    "quiet",
    "reference-is-public",
    "skip-empty",
    "vocabulary-is-public",
    "yes",
}


def options_of(command):
    """Return the names of the options that a command takes, without dashes."""
    from discreet.cli.app import _application

    made = typer.main.get_command(_application(command)).commands[command]
    flags = {name for each in made.params for name in each.opts if name.startswith("--")}
    return {flag.removeprefix("--") for flag in flags} - {"help"}


CASES = [
    (command, option, value)
    for command in COMMANDS
    for option in sorted(options_of(command) & WRONG.keys())
    for value in WRONG[option]
]


@pytest.fixture
def desk(template, tmp_path, monkeypatch):
    shutil.copytree(template, tmp_path / "desk")
    monkeypatch.chdir(tmp_path / "desk")
    return tmp_path / "desk"


@pytest.fixture(scope="module")
def template(tmp_path_factory):
    folder = tmp_path_factory.mktemp("desk")
    rows = [f"{' '.join(WORDS[n % 3 * 8 :][:8])},p{n},{'north' if n % 2 else 'south'}\n" for n in range(600)]
    (folder / "notes.csv").write_text("note,patient,ward\n" + "".join(rows))
    (folder / "words.txt").write_text("\n".join(WORDS) + "\n")
    (folder / "twice.txt").write_text("warda\nwarda\n")
    (folder / "wards.txt").write_text("north\nsouth\n")
    (folder / "wards-twice.txt").write_text("north\nnorth\n")
    (folder / "folder").mkdir()
    (folder / "full").mkdir()
    (folder / "full" / "kept.txt").write_text("kept")
    replace(release(n_topics=3, n_words=len(WORDS)), vocabulary=tuple(WORDS)).save(folder / "model")
    return folder


@pytest.mark.parametrize("command", COMMANDS)
def test_every_option_of_a_command_that_spends_is_tried(command):
    assert options_of(command) <= WRONG.keys() | PLAIN


@pytest.mark.parametrize("command", COMMANDS)
def test_the_calls_spend_where_nothing_is_wrong(command, desk, capsys):
    unasked = "--yes" if "yes" in options_of(command) else "--quiet"
    run([*COMMANDS[command].split(), "--ledger", "b.json", unasked])
    assert Ledger.open(desk / "b.json").spent().epsilon > 0, capsys.readouterr().err


@pytest.mark.parametrize(("command", "option", "value"), CASES)
def test_a_malformed_option_spends_nothing(command, option, value, desk, capsys):
    before = sorted(desk.rglob("*"))
    assert run([*COMMANDS[command].split(), "--ledger", "b.json", f"--{option}", value]) == 2
    said = capsys.readouterr()
    assert not (desk / "b.json").exists(), said.err
    assert sorted(desk.rglob("*")) == before
    assert not said.out


@pytest.mark.parametrize("command", sorted(COMMANDS.keys() & {"fit", "prevalence"}))
def test_what_a_card_says_is_examined_before_anything_is_read(command, desk, capsys):
    line = COMMANDS[command].replace("notes.csv", "missing.csv").split()
    assert run([*line, "--about", "titulo=x"]) == 2
    assert "Did you mean title?" in capsys.readouterr().err
