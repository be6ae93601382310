import subprocess
import sys

import pytest

from discreet.cli.app import run


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ([], "--channel"),
        (["--channel", "5"], "whole numbers"),
        (["--channel", "5,9"], "0 < q < p < 1"),
        (["--channel", "9,5", "--epsilon", "1"], "one of them"),
        (["--epsilon", "1", "--per", "document"], "--words"),
        (["--channel", "9,5", "--tokens", "a", "--tickets", "b"], "not both"),
    ],
)
def test_refusals_are_one_line_and_make_no_store(tmp_path, capsys, more, told):
    words, store = tmp_path / "words.txt", tmp_path / "reports.db"
    words.write_text("fever\ncough\n")
    assert run(["collect", "--vocabulary", str(words), "--store", str(store), *more]) == 2
    said = capsys.readouterr().err
    assert told in said
    assert len(said.splitlines()) == 1
    assert not store.exists()


def test_the_command_line_loads_no_server():
    code = (
        "import sys, discreet.cli, discreet.local; "
        "assert not {'starlette', 'uvicorn', 'sqlite3'} & set(sys.modules), sorted(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
