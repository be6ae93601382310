"""The site is built strictly, and read and searched as files, without a network."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]


@pytest.fixture(scope="module")
def site():
    done = subprocess.run([ROOT / "scripts" / "docs"], capture_output=True, text=True, check=False)
    if "No matching distribution" in done.stderr:
        pytest.skip("the tools of the site cannot be had from the package index")
    assert done.returncode == 0, done.stderr[-3000:]
    return ROOT / "site"


@pytest.mark.skipif(CHROMIUM is None, reason="needs chromium on the path")
def test_pages_opened_as_files_load_nothing_and_can_be_searched(site):
    playwright = pytest.importorskip("playwright.sync_api")
    with playwright.sync_playwright() as started:
        browser = started.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        page = browser.new_page(viewport={"width": 1280, "height": 900})
        asked, errors = [], []
        page.on("request", lambda request: asked.append(request.url))
        page.on("pageerror", lambda error: errors.append(str(error)))
        for asked_for, answer in {
            "GDPR": "data-protection.html",
            "dataframe": "corpora.html",
            "--person": "choosing.html",
            "persons": "choosing.html",
            "names": "what-leaves.html",
            "Excel": "corpora.html",
            "stop words": "languages.html",
            "languages": "languages.html",
            "date format": "prevalence.html",
            "pandas": "corpora.html",
            "budget": "one-budget.html",
            "ledger": "one-budget.html",
            "Spanish": "languages.html",
            "español": "languages.html",
            "RGPD": "data-protection.html",
            "latin-1": "corpora.html",
            "ctrl-c": "pitfalls.html",
            "Ctrl-C": "pitfalls.html",
            "encoding": "corpora.html",
            "utf-8": "corpora.html",
            "accents": "languages.html",
            "umlaut": "languages.html",
            "dark": "releases.html",
            "cron": "quick-start.html",
            "few texts": "few-texts.html",
            "region": "prevalence.html",
            "too few words": "how-to/index.html",
        }.items():
            page.goto((site / "concepts" / "index.html").as_uri())
            page.keyboard.press("f")
            page.keyboard.type(asked_for)
            first = page.locator(".md-search-result__link").first
            first.wait_for(timeout=20_000)
            assert answer in first.get_attribute("href")
            if asked_for == "Ctrl-C":  # one word, not all that begin with C
                assert page.locator(".md-search-result__item").count() < 5
        page.goto((site / "concepts" / "index.html").as_uri())
        page.keyboard.press("f")
        page.keyboard.type("PrivateLDA")
        found = page.locator(".md-search-result__link").first
        found.wait_for(timeout=20_000)
        assert "/reference/discreet.PrivateLDA.html" in found.get_attribute("href")
        found.click()
        page.wait_for_url("**/reference/discreet.PrivateLDA.html*")
        assert page.locator("[id='discreet.PrivateLDA']").count() == 1
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        browser.close()
    assert not errors
    assert [url for url in asked if not url.startswith(("file:", "data:", "blob:", "about:"))] == []


@pytest.mark.skipif(CHROMIUM is None, reason="needs chromium on the path")
@pytest.mark.parametrize("width", [390, 1440])
def test_the_front_page_shows_its_picture_at_once_and_no_button_lies_on_its_code(site, width):
    playwright = pytest.importorskip("playwright.sync_api")
    with playwright.sync_playwright() as started:
        browser = started.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        page = browser.new_page(viewport={"width": width, "height": 850})
        page.goto((site / "index.html").as_uri())
        shown = page.locator(".front img:visible").bounding_box()
        assert shown["y"] + shown["height"] < 850
        for path in ("index.html", "how-to/few-texts.html"):
            page.goto((site / path).as_uri())
            page.wait_for_timeout(500)  # buttons are made by a script
            assert (page.locator(".md-code__button:visible").count() > 0) == (width > 640)
            edges = page.locator(".typed pre > code").evaluate_all(EDGES)
            assert edges
            assert all(text <= button for text, button in edges)
        browser.close()


#: The right end of what is written in a block of code, and where its button begins, or else the block ends.
EDGES = """blocks => blocks.map(block => {
  const range = document.createRange(); range.selectNodeContents(block);
  const button = block.closest(".highlight").querySelector(".md-code__button");
  const box = button && button.checkVisibility() ? button.getBoundingClientRect().left : innerWidth;
  return [Math.max(...[...range.getClientRects()].map(rect => rect.right)), box]; })"""


def test_pictures_that_stand_outside_the_docs_are_copied(site):
    assert list((site / "repository" / "experiments").rglob("*.png"))
    assert (site / "repository" / "contributing.html").is_file()


def test_the_page_of_errors_finds_its_styles_beside_it(site):
    page = (site / "404.html").read_text()
    assert 'href="./assets/' in page
    assert not re.search(r'(?:href|src)="/|"base": ?"/"', page)


def test_a_block_of_a_terminal_is_copied_without_prompt_and_answer(site):
    page = (site / "tutorial" / "hospital.html").read_text()
    copied = re.findall(r'<div data-copy="([^"]*)" class="language-console', page)
    assert len(copied) >= 5
    assert copied[1].startswith("discreet budget --epsilon 2")
    assert not [one for one in copied if "$ " in one or "%  " in one]
    page = (site / "reference" / "discreet.Ledger.html").read_text()
    (copied,) = re.findall(r'<div data-copy="([^"]*)" data-search-exclude class="language-pycon', page)
    assert copied.startswith("from discreet import Ledger")
    assert ">>>" not in copied


def test_each_name_has_a_page_of_its_own_and_its_room_lists_it(site):
    room = (site / "reference" / "discreet.html").read_text()
    for name in ("fit_topics", "PrivateLDA", "Release"):
        assert f'href="discreet.{name}.html"' in room
        assert f'id="discreet.{name}"' in (site / "reference" / f"discreet.{name}.html").read_text()
    assert len(room) < 100_000
