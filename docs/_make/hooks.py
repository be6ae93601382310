"""For the site: files of the repository that pages link to, outside ``docs/``, are copied into it."""

import posixpath
import re
import shutil
from pathlib import Path
from typing import Any

from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File
from mkdocs.utils import get_relative_url

ROOT = Path(__file__).parents[2]
LINK = re.compile(r"(\]\()(\.\./[^)\s#]+)((?:#[^)\s]*)?\))")


def outside(page: str, link: str) -> str | None:
    """Return the path from the root of the repository, where ``link`` leads out of ``docs/``."""
    path = posixpath.normpath(posixpath.join("docs", posixpath.dirname(page), link))
    return None if path.startswith("docs/") else path


def in_site(path: str) -> str:
    return f"repository/{path}" if not path.endswith(".md") else f"repository/{path.lower()}"


def on_files(files: Any, config: Any) -> Any:
    """Add what pages link to."""
    wanted: set[str] = set()
    queue = [(file.src_uri, file.content_string) for file in files.documentation_pages()]
    while queue:
        page, text = queue.pop()
        for link in LINK.findall(text):
            path = outside(page, link[1])
            if path and path not in wanted and (ROOT / path).is_file():
                wanted.add(path)
    for path in sorted(wanted):
        files.append(File.generated(config, in_site(path), abs_src_path=str(ROOT / path)))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Lead links out of ``docs/`` to the copies; those of a copied page lead back."""
    source = page.file.src_uri
    if source.startswith("repository/"):
        return markdown.replace("](docs/", "](../")

    def moved(found: re.Match[str]) -> str:
        path = outside(source, found[2])
        if path is None or not (ROOT / path).is_file():
            return found[0]
        return found[1] + posixpath.relpath(in_site(path), posixpath.dirname(source) or ".") + found[3]

    return LINK.sub(moved, markdown)


PICTURE = re.compile(r'<img alt="[^"]*" src="([^"]+)" ?/?>')


def on_page_content(html: str, **_: Any) -> str:
    """Let a tap on a picture show it alone: on a phone its words are too small to read."""
    return PICTURE.sub(r'<a href="\1">\g<0></a>', html)


SHIM = "https://unpkg.com/iframe-worker/shim"
WORKER = "assets/javascripts/worker.js"


def on_post_page(output: str, page: Any, **_: Any) -> str:
    """Take our own stand-in for workers in files, not one from the network."""
    return output.replace(SHIM, get_relative_url(WORKER, page.url))


def on_post_template(output_content: str, template_name: str, **_: Any) -> str:
    """Do the same on the page of errors, which else looks for its styles at the root of the disk."""
    own = (
        re.sub(r'((?:href|src)=")/(?!/)', r"\1./", output_content)
        if template_name == "404.html"
        else output_content
    )
    return own.replace('"base": "/"', '"base": "."').replace(SHIM, WORKER)


#: Where the search takes signs that stand alone out of a query.
LONELY_SIGNS = r'replace(/"|(?:^|\s+)[*+\-:^~]+(?=\s+|$)/g,"")'


def on_post_build(config: Any) -> None:
    """Put the stand-in where pages look for it, and let the search take ``--person`` for a word."""
    site = Path(config.site_dir)
    shutil.copyfile(Path(__file__).with_name("worker.js"), site / WORKER)
    (search,) = (site / "assets" / "javascripts" / "workers").glob("search.*.min.js")
    script = search.read_text(encoding="utf-8")
    if script.count(LONELY_SIGNS) != 1:
        raise PluginError("the script of the search is not the one that hooks.py knows")
    search.write_text(
        script.replace(LONELY_SIGNS, LONELY_SIGNS + r'.replace(/(^|\s)--+/g,"$1")'), encoding="utf-8"
    )
