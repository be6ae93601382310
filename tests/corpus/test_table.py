"""The one table of formats, and all that is said of formats, are the same."""

import re
from pathlib import Path

import pytest

import discreet
from discreet.cli.app import run
from discreet.corpus import read_corpus, write_corpus
from discreet.corpus.formats.table import FORMATS, WRITABLE_FORMATS, find_format, find_writable_format

PAGE = Path(discreet.__file__).parents[2] / "docs" / "reference" / "file-formats.md"


def rows_of_the_page() -> dict[str, str]:
    section = PAGE.read_text().partition("\n## Corpora\n")[2].partition("\n## ")[0]
    return {found[1]: line for line in section.splitlines() if (found := re.match(r"\| `([\w-]+)` \|", line))}


@pytest.mark.parametrize("row", FORMATS.values(), ids=lambda row: row.name)
def test_a_module_does_what_its_row_says(row, tmp_path):
    assert callable(row.function("read"))
    if row.written_as is None:
        with pytest.raises(AttributeError):
            row.function("write")
    else:
        assert callable(row.function("write"))
    for ending in row.read_as:
        assert ending == ending.lower()
        for name in (f"x{ending}", f"X{ending.upper()}", f"x{ending}.gz"):
            (tmp_path / name).touch()
            assert find_format(tmp_path / name) == row.name
    for ending in row.written_as or ():
        assert find_writable_format(Path(f"x{ending}")) == row.name


def test_the_page_has_the_rows_of_the_table_in_its_order():
    page = rows_of_the_page()
    assert list(page) == list(FORMATS)
    for row in FORMATS.values():
        assert f"| {row.holds}" in page[row.name]
        assert all(f"`{ending}`" in page[row.name] for ending in row.read_as)
        assert row.folder == ("| a folder" in page[row.name])


def test_docstrings_and_help_name_every_format(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "400")
    assert all(f'"{name}"' in read_corpus.__doc__ for name in FORMATS)
    assert all(f'"{name}"' in write_corpus.__doc__ for name in WRITABLE_FORMATS)
    assert run(["convert", "--help"]) == 0
    text = "".join(capsys.readouterr().out.split())  # lines may break behind a hyphen
    assert ",".join(FORMATS) in text
    assert ",".join(WRITABLE_FORMATS) in text
