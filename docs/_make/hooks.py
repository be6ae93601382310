"""For the site: what pages link to outside ``docs/`` is copied into it, and each public name has a page of its own."""

import posixpath
import re
import shutil
from functools import cache
from html import escape, unescape
from pathlib import Path
from typing import Any

import griffe
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
    for page in [page for page in files.documentation_pages() if page.src_uri.startswith("reference/")]:
        shown = examples(page.content_string)
        for path in ENTRY.findall(page.content_string):
            name, home = path.rpartition(".")[2], page.src_uri.partition("/")[2]
            room = f"[All of {path.rpartition('.')[0]}]({home})"
            text = f"# {name}\n\n{room}\n\n{shown.get(path, '')}::: {path}\n"
            files.append(File.generated(config, f"reference/{path}.md", content=text))
    for path in sorted(wanted):
        files.append(File.generated(config, in_site(path), abs_src_path=str(ROOT / path)))
    return files


ENTRY = re.compile(r"^::: (\S+)$", re.MULTILINE)
#: An example belongs to those of the names right above it that stand in it.
EXAMPLE = re.compile(r"((?:^::: \S+\n+)+)(^```pycon\n.*?^```\n+)", re.MULTILINE | re.DOTALL)


def examples(markdown: str) -> dict[str, str]:
    return {
        path: code
        for names, code in EXAMPLE.findall(markdown)
        for path in ENTRY.findall(names)
        if re.search(rf"\b{path.rpartition('.')[2]}\b", code)
    }


def on_config(config: Any) -> None:
    """Let the page of a room lead to those of its names, beside every page of the reference."""
    (reference,) = (part["Reference"] for part in config.nav if "Reference" in part)
    (rooms,) = (part["API"] for part in reference if "API" in part)
    for room in rooms:
        for title, page in room.items():
            names = ENTRY.findall((Path(config.docs_dir) / page).read_text(encoding="utf-8"))
            room[title] = [page, *(f"reference/{name}.md" for name in names)]


@cache
def package() -> Any:
    return griffe.load("discreet", search_paths=[str(ROOT / "src")], docstring_parser="numpy")


def listed(path: str) -> str:
    """Return the line of a name in the list of its room: what it is called, and its first sentence."""
    member = package()[path.removeprefix("discreet.")]
    text = (member.final_target if member.is_alias else member).docstring
    first = (
        re.sub(r":\w+:`~?([^`]+)`", r"`\1`", text.value.split("\n\n")[0].replace("\n", " ")) if text else ""
    )
    return f"| [`{path.rpartition('.')[2]}`]({path}.md) | {first.replace('|', chr(92) + '|')} |"


def room(markdown: str) -> str:
    """Let the page of a room list its names, a table where several stand together."""

    def table(found: re.Match[str]) -> str:
        return "\n".join(["| | |", "| --- | --- |", *map(listed, ENTRY.findall(found[0])), "", ""])

    return re.sub(r"(?:^::: \S+\n*)+", table, EXAMPLE.sub(r"\1", markdown), flags=re.MULTILINE)


#: Words that people type, and the page that they look for: the search knows nothing of what a word means.
SOUGHT = {
    "choosing.md": ["--person", "persons", "epsilon", "delta"],
    "concepts/data-protection.md": ["GDPR", "RGPD", "DPIA", "personvern"],
    "corpora.md": ["dataframe", "pandas", "polars", "Excel", "CSV", "latin-1", "encoding", "UTF-8"],
    "how-to/few-texts.md": ["few texts"],
    "how-to/languages.md": [
        "languages",
        "stop words",
        "accents",
        "umlauts",
        "diacritics",
        "German",
        "Deutsch",
        "Spanish",
        "español",
        "French",
        "Norwegian",
        "norsk",
    ],
    "how-to/one-budget.md": ["budget", "ledger"],
    "pitfalls.md": ["Ctrl-C", "interrupt"],
    "how-to/index.md": ["no word was chosen", "too few words"],
    "quick-start.md": ["script", "cron"],
    "releases.md": ["dark theme", "light theme"],
    "prevalence.md": ["date format", "dates", "region", "department", "month"],
    "what-leaves.md": ["names", "review"],
}


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Lead links out of ``docs/`` to the copies; those of a copied page lead back."""
    source = page.file.src_uri
    if source in SOUGHT:
        page.meta["tags"] = SOUGHT[source]
    if source.startswith("repository/"):
        return markdown.replace("](docs/", "](../")

    def moved(found: re.Match[str]) -> str:
        path = outside(source, found[2])
        if path is None or not (ROOT / path).is_file():
            return found[0]
        return found[1] + posixpath.relpath(in_site(path), posixpath.dirname(source) or ".") + found[3]

    found = LINK.sub(moved, markdown)
    return room(found) if source.startswith("reference/") and source.count(".") == 1 else found


CONSOLE = re.compile(r'<div class="language-(?:console|pycon) highlight">(.*?)</div>', re.DOTALL)
PROMPTS = ("$ ", ">>> ", "... ")


def commands(block: re.Match[str]) -> str:
    """Let the button of a terminal's block copy what was typed, without the prompt and without what was answered."""
    lines = unescape(re.sub(r"<[^>]+>", "", block[1])).split("\n")
    typed = [
        # an interpreter waits for an empty line after a block
        "\n" * (before.startswith("... ") and line.startswith(">>> ")) + line.partition(" ")[2]
        for before, line in zip(["", *lines], lines, strict=False)
        if line.startswith(PROMPTS)
    ]
    told = escape("\n".join(typed)).replace("\n", "&#10;")
    return block[0].replace("<div ", f'<div data-copy="{told}" ', 1) if typed else block[0]


TERMINAL = re.compile(r'class="(language-(?:console|text|bash|sh) highlight)">(.*?)</div>', re.DOTALL)
OPTION = re.compile(r"(?<=[\s>])--[a-z][\w-]*")


def typed(block: re.Match[str]) -> str:
    """Let commands be wrapped, as text is, but not within an option."""
    code, found = OPTION.subn(r'<span class="option">\g<0></span>', block[2])
    return f'class="{block[1]}{" typed" if found else ""}">{code}</div>'


INLINE = re.compile(r"<code>[^<]*</code>")
CELL = re.compile(r"<t([dh])[^>]*>[^<]*</t\1>")
PICTURE = re.compile(r'<img alt="[^"]*" src="([^"]+)" ?/?>')


def on_page_content(html: str, **_: Any) -> str:
    """Keep together what is one word, and let a tap on a picture show it alone: on a phone its words are too small."""
    html = TERMINAL.sub(typed, CONSOLE.sub(commands, html))
    html = INLINE.sub(lambda code: OPTION.sub(r'<span class="option">\g<0></span>', code[0]), html)
    html = CELL.sub(lambda cell: re.sub(r"(?<=\d) %", "\u00a0%", cell[0]), html)
    html = html.replace(
        'class="language-pycon', 'data-search-exclude class="language-pycon'
    )  # words of examples
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


#: Where the search takes signs that stand alone (and ours, dashes before an option), and
#: cuts it into words (but not, with ours, before a last letter: Ctrl-C).
QUERY = {
    r'replace(/"|(?:^|\s+)[*+\-:^~]+(?=\s+|$)/g,"")': r'.replace(/(^|\s)--+/g,"$1")',
    "e=ce(e)": r'.replace(/-(?=\w\*?(?:\s|$))/g,"\\-")',
}


def on_post_build(config: Any) -> None:
    """Put the stand-in where pages look for it, and let the search take ``--person`` and ``Ctrl-C`` for words."""
    site = Path(config.site_dir)
    shutil.copyfile(Path(__file__).with_name("worker.js"), site / WORKER)
    (search,) = (site / "assets" / "javascripts" / "workers").glob("search.*.min.js")
    script = search.read_text(encoding="utf-8")
    for theirs, ours in QUERY.items():
        if script.count(theirs) != 1:
            raise PluginError("the script of the search is not the one that hooks.py knows")
        script = script.replace(theirs, theirs + ours)
    search.write_text(script, encoding="utf-8")
