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
    links = re.findall(r"!\[[^\]]+\]\(([^)]+)\)", page)
    screens = [f"{name}{suffix}.png" for name in maker["SCREENS"] for suffix in maker["SCHEMES"].values()]
    shown = [link.partition("#")[0] for link in links]
    assert len(shown) == 5 + len(screens)
    for name in shown:
        picture = maker["HOME"] / name
        assert 5_000 < picture.stat().st_size < 300_000
        assert (picture.suffix == ".png") == (name in screens)
        written = f"{picture.stem.removesuffix('-dark')}.html" if picture.suffix == ".png" else name
        assert f'"{written}"' in page
    for name in screens:
        assert f"{name}#only-{'dark' if name.endswith('-dark.png') else 'light'}" in links
    assert {path.name for path in maker["HOME"].iterdir()} == {*shown, "index.md"}


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_the_lines_run(maker, tmp_path):
    maker["run"](tmp_path)
    made = {path.stem for path in tmp_path.iterdir()}
    assert made == {
        Path(name).stem.removesuffix("-dark")
        for name in re.findall(r"\]\(([^)#]+(?:png|svg))(?:#[\w-]+)?\)", maker["PAGE"].read_text())
    }
    for drawing in tmp_path.glob("*.svg"):
        assert "</svg>" in drawing.read_text()[-20:]
