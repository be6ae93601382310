"""docs/accounting.md says what is true: its code runs, and the numbers beside it come out."""

import re
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "accounting.md"


def test_the_examples_run_and_give_the_numbers_beside_them(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    names = {}
    compared = 0
    for block in re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL):
        for line in block.splitlines():
            exec(line, names)
            told = re.fullmatch(r"(\S+)\s+# ([\d.]*\d).*", line)
            if told:
                assert eval(told[1], names) == pytest.approx(float(told[2]), abs=1e-3)
                compared += 1
    assert compared == 4
    assert "unit: person (add_or_remove_one)" in capsys.readouterr().out
