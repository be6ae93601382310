import socket
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
        (["--channel", "9,5", "--origin", "example.org"], "such as https://example.org"),
        (["--channel", "9,5", "--origin", "https://example.org/page"], "such as https://example.org"),
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


def test_a_place_where_nothing_can_listen_is_named(tmp_path, capsys):
    pytest.importorskip("uvicorn")
    words = tmp_path / "words.txt"
    words.write_text("fever\ncough\n")
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        common = [
            "collect",
            "--vocabulary",
            str(words),
            "--store",
            str(tmp_path / "s.db"),
            "--channel",
            "9,5",
        ]
        assert run([*common, "--port", str(port)]) == 2
    said = capsys.readouterr().err
    assert f"127.0.0.1 port {port}" in said
    assert "--port" in said
    assert len(said.splitlines()) == 1


def test_the_command_line_loads_no_server():
    code = (
        "import sys, discreet.cli, discreet.local; "
        "assert not {'starlette', 'uvicorn', 'sqlite3'} & set(sys.modules), sorted(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
