"""For the site: how many words each door holds, and that every link of the finished pages leads somewhere."""

import re
import time
from collections import Counter
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from mkdocs.plugins import get_plugin_logger

log = get_plugin_logger("counts")
FENCE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
started = time.monotonic()
words: Counter[str] = Counter()
pages: Counter[str] = Counter()


class Links(HTMLParser):
    """What a page links to and loads, and the names of its own places."""

    def __init__(self, text: str):
        super().__init__()
        self.targets: list[str] = []
        self.places: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if value and name in ("id", "name"):
                self.places.add(value)
            elif value and name in ("href", "src") and tag != "base":
                self.targets.append(value)


def on_pre_build(**_: Any) -> None:
    global started  # noqa: PLW0603
    started = time.monotonic()
    words.clear()
    pages.clear()


def on_page_markdown(markdown: str, page: Any, **_: Any) -> None:
    door = (page.ancestors[-1].title if page.ancestors else page.title) or "Home"
    if page.file.src_uri.startswith("repository/"):
        door = "Files of the repository"
    pages[door] += 1
    words[door] += len(FENCE.sub("", markdown).split())


def broken(site: Path) -> tuple[int, list[str]]:
    """Return how many links within the site were followed, and those that lead nowhere."""
    read = {path: Links(path.read_text(encoding="utf-8")) for path in site.rglob("*.html")}
    followed, lost = 0, []
    for path, page in read.items():
        if path == site / "404.html":  # its links are those of a server's root
            continue
        for target in page.targets:
            parts = urlsplit(target)
            if parts.scheme or parts.netloc:
                continue
            followed += 1
            to = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            place = unquote(parts.fragment)
            missing = not to.is_file() or (to in read and place and place not in read[to].places)
            if missing:
                lost.append(f"{path.relative_to(site)} -> {target}")
    return followed, lost


def on_post_build(config: Any) -> None:
    followed, lost = broken(Path(config.site_dir).resolve())
    for link in lost:
        log.warning("a link leads nowhere: %s", link)
    for door, count in words.items():
        log.info("%-24s %3d pages %7s words outside of code", door, pages[door], f"{count:,}")
    log.info("%s links within the site checked, %d broken", f"{followed:,}", len(lost))
    log.info("built in %.1f s", time.monotonic() - started)
