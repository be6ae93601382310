"""Run the gallery and draw its pictures anew: python docs/_make/gallery.py

Every block of Python is run from top to bottom in an empty folder; pages that it writes become pictures in a browser.
"""

import contextlib
import os
import re
import shutil
import sys
import tempfile
import warnings
from pathlib import Path
from types import ModuleType

from discreet import __version__

HOME = Path(__file__).parents[1] / "gallery"
PAGE = HOME / "index.md"
BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
#: Pages that are written, what their picture begins with, and its height.
SCREENS = {"report": ("text=Map of topics", 1000), "decades": ("text=Each topic", 1066)}

#: A picture for pages in the light, and its twin for those in the dark.
SCHEMES = {"light": "", "dark": "-dark"}


def run(folder: Path) -> None:
    """Run the blocks of the page in ``folder``."""
    import matplotlib

    matplotlib.use("svg")
    matplotlib.rcParams["svg.hashsalt"] = "discreet"  # the same drawing, the same bytes
    module = ModuleType("gallery")  # classes and functions of a page must have a home
    sys.modules[module.__name__] = module
    with contextlib.chdir(folder), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that public text is fitted again and again
        for number, code in enumerate(BLOCK.findall(PAGE.read_text()), 1):
            print(f"block {number}")
            exec(compile(code, f"gallery, block {number}", "exec"), vars(module))


def collect(folder: Path, home: Path) -> None:
    """Bring drawings, and pictures of pages, into ``home``."""
    from playwright.sync_api import sync_playwright

    for drawing in folder.glob("*.svg"):
        shutil.copy(drawing, home)
    with sync_playwright() as started:
        browser = started.chromium.launch(
            executable_path=shutil.which("chromium") or shutil.which("google-chrome"),
            args=["--no-sandbox", "--disable-gpu"],
        )
        for name, (top, height) in SCREENS.items():
            for scheme, suffix in SCHEMES.items():
                page = browser.new_page(viewport={"width": 1100, "height": height}, color_scheme=scheme)
                page.goto((folder / f"{name}.html").as_uri())
                page.locator(top).first.evaluate("one => scrollTo(0, one.getBoundingClientRect().top - 42)")
                page.wait_for_timeout(500)
                page.screenshot(path=home / f"{name}{suffix}.png")
        browser.close()


if __name__ == "__main__":
    os.environ.setdefault("SOURCE_DATE_EPOCH", "0")  # no date in drawings
    with tempfile.TemporaryDirectory() as scratch:
        run(Path(scratch))
        collect(Path(scratch), HOME)
    PAGE.write_text(
        re.sub(r"Drawn with discreet \S+\.", f"Drawn with discreet {__version__}.", PAGE.read_text())
    )
