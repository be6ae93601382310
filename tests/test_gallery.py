"""The lines of the gallery run, and make every drawing that the page shows."""

import re
import runpy
from pathlib import Path

import pytest

MAKER = Path(__file__).parents[1] / "docs" / "_make" / "gallery.py"


@pytest.fixture
def maker():
    return runpy.run_path(str(MAKER))


def test_every_picture_of_the_page_is_there_and_made_by_its_lines(maker):
    page = maker["PAGE"].read_text()
    shown = re.findall(r"!\[[^\]]+\]\(([^)]+)\)", page)
    assert len(shown) == 6
    for name in shown:
        picture = maker["HOME"] / name
        assert 5_000 < picture.stat().st_size < 300_000
        written = f"{picture.stem}.html" if picture.suffix == ".png" else name
        assert f'"{written}"' in page
    assert {path.name for path in maker["HOME"].iterdir()} == {*shown, "index.md"}


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_the_lines_run(maker, tmp_path):
    maker["run"](tmp_path)
    made = {path.stem for path in tmp_path.iterdir()}
    assert made == {
        Path(name).stem for name in re.findall(r"\]\(([^)]+(?:png|svg))\)", maker["PAGE"].read_text())
    }
    for drawing in tmp_path.glob("*.svg"):
        assert "</svg>" in drawing.read_text()[-20:]
