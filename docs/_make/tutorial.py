"""Run the tutorial, and write what its commands print, and its pictures, into the page: python docs/_make/tutorial.py

Every block of ``console`` is run from top to bottom in an empty folder. Lines after ``$`` are commands, all others
output.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

HOME = Path(__file__).parents[1] / "tutorial"
PAGE = HOME / "hospital.md"
BLOCK = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)
#: Where standard error is no terminal, progress comes in lines of its own.
PROGRESS = re.compile(r"^(reading \.\.\.|[a-z][a-z ]*\d+/\d+)$")

#: A picture for pages in the light, and its twin for those in the dark.
SCHEMES = {"light": "", "dark": "-dark"}


def commands(page: str) -> list[list[str]]:
    """Return the commands of each block."""
    return [
        [line[2:] for line in block.split("\n") if line.startswith("$ ")] for block in BLOCK.findall(page)
    ]


def run(command: str, folder: Path) -> tuple[int, str]:
    """Return the exit code of a command, and what a person would see of it."""
    here = str(Path(sys.executable).parent)
    environment = {**os.environ, "PATH": f"{here}{os.pathsep}{os.environ['PATH']}", "COLUMNS": "110"}
    done = subprocess.run(
        ["bash", "-c", command],
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    lines = [line.rstrip() for line in done.stdout.split("\n") if not PROGRESS.match(line)]
    return done.returncode, "\n".join(lines).strip("\n")


def begin(folder: Path) -> None:
    shutil.copy(HOME / "hospital.py", folder)


def walk(page: str, folder: Path, show: Callable[[str], None] = print) -> str:
    """Return the page with the outputs of its commands as they came in ``folder``."""

    def filled(found: re.Match[str]) -> str:
        parts = []
        for command in (line[2:] for line in found[1].split("\n") if line.startswith("$ ")):
            show(command)
            _, said = run(command, folder)
            parts.append(f"$ {command}\n" + (f"{said}\n" if said else ""))
        return "```console\n" + "".join(parts) + "```"

    return BLOCK.sub(filled, page)


def take_pictures(folder: Path) -> None:
    """Take the pictures of the page, which need a browser."""
    from playwright.sync_api import sync_playwright

    browser = shutil.which("chromium") or shutil.which("google-chrome")
    with sync_playwright() as started:
        running = started.chromium.launch(executable_path=browser, args=["--no-sandbox", "--disable-gpu"])
        for file, picture, width, height in (
            ("report", "report", 1100, 900),
            ("report", "map", 560, 900),  # with the large letters of a phone: the front page shows it small
            ("wards", "wards", 1100, 1150),
        ):
            for scheme, suffix in SCHEMES.items():
                page = running.new_page(
                    viewport={"width": width, "height": height},
                    color_scheme=scheme,
                    device_scale_factor=2 if picture == "map" else 1,
                )
                page.goto((folder / "release" / f"{file}.html").as_uri())
                page.wait_for_timeout(500)
                shown = page.locator("#map") if picture == "map" else page
                shown.screenshot(path=HOME / f"{picture}{suffix}.png")
                page.close()
        running.close()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as scratch:
        begin(Path(scratch))
        PAGE.write_text(walk(PAGE.read_text(), Path(scratch)))
        take_pictures(Path(scratch))
