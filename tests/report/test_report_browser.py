"""The report in a real browser, without a network."""

import csv
import math
import shutil

import pytest
from tests.report.report_cases import HOSTILE, release

from discreet.release.files import printable
from discreet.report.wording import for_spreadsheet

pytestmark = pytest.mark.integration

playwright = pytest.importorskip("playwright.sync_api", reason="the browser tests need playwright")

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


#: What programs strip from the front of a cell, or read as a sign.
FORMULAS = (" =1+1", "\u200b=1+1", "\uff1d1+1", "\u22121", "\ufe62 1", "\u00a0@sum")


@pytest.fixture(scope="module")
def browser():
    if CHROMIUM is None:
        pytest.skip("the browser tests need chromium on the path")
    with playwright.sync_playwright() as started:
        running = started.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield running
        running.close()


@pytest.fixture(scope="module")
def made():
    return release(n_topics=8, n_words=400, words=HOSTILE, noise=0.012)


@pytest.fixture(scope="module")
def address(made, tmp_path_factory):
    path = tmp_path_factory.mktemp("report") / "report.html"
    made.to_html(path)
    return path.as_uri()


@pytest.fixture
def visit(browser, address):
    """Open the page; at the end, nothing may have been complained about, asked for, or run."""
    contexts, complaints, requests = [], [], []

    def visit(suffix="", **options):
        context = browser.new_context(**options)
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("request", lambda request: requests.append(request.url))
        page.goto(address + suffix)
        return page

    yield visit
    scripted = [page for context in contexts for page in context.pages]
    canaries = [page.evaluate("window.canary") for page in scripted]
    for context in contexts:
        context.close()
    assert complaints == []
    assert [url for url in requests if not url.startswith((address, "data:image/svg+xml"))] == []
    assert canaries == [None] * len(scripted)


def words(page):
    return page.locator("#words .term").all_inner_texts()


def test_a_click_on_the_map_shows_the_topics_words(visit, made):
    page = visit()
    page.locator("#map").evaluate("map => map.scrollIntoView({block: 'center', behavior: 'instant'})")
    page.wait_for_timeout(200)  # a page that still moves is clicked elsewhere
    for topic in (3, 6):
        page.locator(f'#map [data-topic="{topic}"] .disc').click()
        assert words(page)[:10] == made.top_words(10)[topic]
        assert page.locator("#chosen").inner_text().startswith(f"Topic {topic + 1}:")
        assert page.locator('#map [aria-current="true"]').get_attribute("data-topic") == str(topic)
        assert page.locator("#choose").input_value() == str(topic)
    assert page.evaluate("location.hash") == ""


def test_the_largest_topic_is_shown_first_unless_the_address_names_one(visit, made):
    assert words(visit())[:10] == made.top_words(10)[0]
    assert words(visit("#topic-5"))[:10] == made.top_words(10)[5]


def test_the_keyboard_does_it_all(visit, made):
    page = visit()
    page.locator('#map [tabindex="0"]').focus()
    page.keyboard.press("ArrowRight")
    assert words(page)[:10] == made.top_words(10)[1]
    assert page.evaluate("document.activeElement.dataset.topic") == "1"
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("ArrowLeft")
    assert words(page)[:10] == made.top_words(10)[7]
    page.keyboard.press("Home")
    page.keyboard.press("Enter")
    assert words(page)[:10] == made.top_words(10)[0]
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.dataset.save") == "svg"
    page.locator("#next").press("Enter")
    assert words(page)[:10] == made.top_words(10)[1]
    page.locator("#choose").select_option("4")
    assert words(page)[:10] == made.top_words(10)[4]
    page.locator("#topic-2 h3 button").press("Enter")
    assert words(page)[:10] == made.top_words(10)[2]


def test_search_tells_which_topics_hold_a_word(visit, made):
    page = visit()
    word = made.top_words(3)[4][2]
    page.fill("#search", word.upper())
    assert page.locator("#hits .term").all_inner_texts() == [word]
    column = made.topic_word[:, made.vocabulary.index(word)]
    holding = [t for t in column.argsort()[::-1] if column[t] > 2 * 0.012]
    chips = page.locator("#hits .chip").all_inner_texts()
    assert [int(chip.split()[1]) - 1 for chip in chips] == holding
    lit = page.locator("#map .holds").evaluate_all("dots => dots.map(dot => Number(dot.dataset.topic))")
    assert lit == sorted(holding)
    page.locator("#hits .chip").first.click()
    assert page.locator("#chosen").inner_text().startswith(f"Topic {holding[0] + 1}:")
    assert page.locator("#words .sought .term").inner_text() == word
    page.fill("#search", "no such word")
    assert "No listed word contains" in page.locator("#found").inner_text()
    assert page.locator("#map .holds").count() == 0
    page.press("#search", "Escape")
    assert page.locator("#found").inner_text() == ""
    page.locator("#words .term").nth(1).click()
    assert page.input_value("#search") == words(page)[1]


def test_a_word_is_found_without_its_accents_and_a_word_as_written_comes_first(browser, tmp_path):
    release(words=["m\u00e9dico", "cita", "me\u0301todo", "a\u00f1o", "ano", "\u00c5RSAK"]).to_html(
        tmp_path / "r.html"
    )
    page = browser.new_page()
    page.goto((tmp_path / "r.html").as_uri())
    for typed, found in {
        "medico": "m\u00e9dico",
        "M\u00c9DICO": "m\u00e9dico",
        "m\u00e9todo": "me\u0301todo",
        "arsak": "\u00c5RSAK",
        "ano": "ano",
        "a\u00f1o": "a\u00f1o",
    }.items():
        page.fill("#search", typed)
        assert page.locator("#hits .term").all_inner_texts()[:1] == [found]
    page.close()


def test_the_slider_orders_by_relevance(visit, made):
    import numpy as np

    page = visit()
    before = words(page)
    slider = page.locator("#lambda")
    slider.fill("0")
    assert page.locator("#lambda-value").text_content() == "0.00"
    after = words(page)
    assert after != before
    relevance = np.log(made.topic_word[0]) - np.log(made.word_weight)
    expected = [made.vocabulary[word] for word in np.argsort(-relevance, kind="stable")[:10]]
    assert after[:10] == expected
    slider.fill("1")
    assert words(page) == before


def test_marks_and_whiskers_follow_the_noise(visit, made):
    page = visit()
    page.locator("#choose").select_option("2")
    names = page.locator("#words li").evaluate_all("rows => rows.map(row => row.className)")
    row = made.topic_word[2]
    expected = [
        "solid" if row[w] > 2 * 0.012 else "hollow" for w in (-row).argsort(kind="stable")[: len(names)]
    ]
    assert names == expected
    assert {"solid", "hollow"} == set(names)
    assert page.locator("#words .whisker").count() == len(names)


def background(page):
    return page.evaluate("getComputedStyle(document.body).backgroundColor")


def brightness(colour):
    return sum(int(part) for part in colour.removeprefix("rgb(").rstrip(")").split(","))


def test_light_and_dark(visit):
    light, dark = visit(color_scheme="light"), visit(color_scheme="dark")
    assert brightness(background(dark)) < 150 < 600 < brightness(background(light))
    assert light.locator(".theme").inner_text().split() == ["◐", "Dark", "theme"]  # what a click does
    light.locator(".theme").click()
    assert background(light) == background(dark)
    assert light.locator(".theme").inner_text().split() == ["◐", "Light", "theme"]
    dark.get_by_label("Light theme").press("Space")
    assert brightness(background(dark)) > 600
    dark.emulate_media(media="print", color_scheme="dark")
    assert background(dark) == "rgb(255, 255, 255)"


CONTRAST = """() => {
  const parse = (colour) => colour.match(/[\\d.]+/g).map(Number);
  const light = (c) => {
    const [r, g, b] = c.slice(0, 3).map((v) => ((v /= 255) <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const behind = (element) => {
    for (let at = element; at; at = at.parentElement) {
      const colour = parse(getComputedStyle(at).backgroundColor);
      if (colour.length === 3 || colour[3] === 1) return colour;
    }
    return [255, 255, 255];
  };
  let worst = [99, ""];
  for (const element of document.querySelectorAll("p, h1, h2, h3, li *, td, th, button, label, a:not(svg *), .tag")) {
    if (element.closest("svg") || !element.textContent.trim() || !element.checkVisibility()) continue;
    const [a, b] = [light(parse(getComputedStyle(element).color)), light(behind(element))].sort((x, y) => y - x);
    const ratio = (a + 0.05) / (b + 0.05);
    if (ratio < worst[0]) worst = [ratio, element.outerHTML.slice(0, 120)];
  }
  return worst;
}"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_stands_out(browser, visit, tmp_path, scheme):
    page = visit(color_scheme=scheme)
    path = tmp_path / "warned.html"
    release(reproducible=True, epsilon=float("inf"), noise=0.0).to_html(path)
    ratio, where = page.evaluate(CONTRAST)
    assert ratio >= 4.5, where
    context = browser.new_context(color_scheme=scheme)
    warned = context.new_page()
    warned.goto(path.as_uri())
    ratio, where = warned.evaluate(CONTRAST)
    context.close()
    assert ratio >= 4.5, where


def test_a_phone_needs_no_sideways_scrolling(visit):
    page = visit(viewport={"width": 390, "height": 844}, is_mobile=True, has_touch=True)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    for query in ("w", "wwww", "<"):
        page.fill("#search", query)
        assert page.locator("#hits .term").count() > 0
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
    page.locator('#map [data-topic="3"]').tap()
    assert page.locator("#chosen").inner_text().startswith("Topic 4:")


def test_a_phone_shows_first_what_is_read_first(visit):
    page = visit(viewport={"width": 390, "height": 844}, is_mobile=True, has_touch=True)
    assert page.evaluate("document.documentElement.scrollHeight") < 4000
    assert not page.get_by_text("Privacy Facts").is_visible()
    page.get_by_text("What is promised").click()
    assert page.get_by_text("Privacy Facts").is_visible()
    assert visit().get_by_text("Privacy Facts").is_visible()


@pytest.mark.parametrize("size", [{"width": 390, "height": 844}, {"width": 1440, "height": 900}])
@pytest.mark.parametrize("media", ["screen", "print"])
def test_no_word_of_a_card_is_cut(browser, tmp_path, size, media):
    (tmp_path / "long.html").write_text(
        release(words=["versicherungsbescheinigung", "warteschlangenlisten"]).to_html()
    )
    context = browser.new_context(viewport=size)
    page = context.new_page()
    page.goto((tmp_path / "long.html").as_uri())
    page.emulate_media(media=media)
    cut = page.locator(".card .term").evaluate_all(
        "all => all.filter(one => one.scrollWidth > one.clientWidth + 1).map(one => one.textContent)"
    )
    context.close()
    assert cut == []


def test_print_makes_a_pdf(visit):
    page = visit()
    pdf = page.pdf(prefer_css_page_size=True)
    assert pdf.startswith(b"%PDF-")
    assert len(pdf) > 20_000
    assert 0 < pdf.count(b"/Type /Page\n") <= 4
    page.emulate_media(media="print")
    assert not page.locator("#detail").is_visible()
    assert page.locator("#topic-7").is_visible()


def test_without_javascript_everything_can_be_read(browser, address, made):
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(address)
    assert not page.locator("#detail").is_visible()
    before = background(page)
    page.locator(".theme").click()
    assert background(page) != before
    for topic, expected in enumerate(made.top_words(10)):
        card = page.locator(f"#topic-{topic}")
        assert card.is_visible()
        if topic:
            assert card.locator(".term").all_inner_texts() == expected
    assert page.locator("#map").is_visible()
    assert page.get_by_text("Privacy Facts").is_visible()
    page.locator('#map [data-topic="4"]').click()
    assert page.url.endswith("#topic-4")
    context.close()


def test_hostile_words_are_shown_as_text(visit):
    page = visit()
    page.fill("#search", "onerror")
    assert page.locator("#hits .term").all_inner_texts() == [HOSTILE[1]]
    page.fill("#search", "</script>")
    assert page.locator("#hits .term").all_inner_texts() == [HOSTILE[0]]
    assert page.locator("img").count() == 0
    assert page.locator("script").count() == 2


def test_the_canary_would_sing(browser, address, tmp_path):
    """A page that inserts words as markup, without a policy, is noticed by the same check."""
    path = tmp_path / "careless.html"
    path.write_text(f"<!DOCTYPE html><p>{HOSTILE[0]}</p>", encoding="utf-8")
    context = browser.new_context()
    page = context.new_page()
    page.goto(path.as_uri())
    assert page.evaluate("window.canary") == 1
    context.close()


def test_the_policy_stops_what_slips_in(browser, made, tmp_path):
    """Even markup that got into the page could neither run nor load anything."""
    path = tmp_path / "slipped.html"
    path.write_text(made.to_html().replace("<main", HOSTILE[0] + HOSTILE[1] + "<main", 1), encoding="utf-8")
    context = browser.new_context()
    page = context.new_page()
    refused = []
    page.on("console", lambda message: refused.append(message.text))
    page.goto(path.as_uri())
    assert page.evaluate("window.canary") is None
    assert any("Content Security Policy" in text for text in refused)
    context.close()


@pytest.fixture
def clear(browser, tmp_path):
    """Open a page whose topics stand clear of the noise."""
    made = release(n_topics=8, n_words=400, words=(*HOSTILE, *FORMULAS), noise=0.0005)
    made.to_html(tmp_path / "r.html")
    contexts = []

    def open_it(**options):
        contexts.append(browser.new_context(**options))
        page = contexts[-1].new_page()
        page.goto((tmp_path / "r.html").as_uri())
        return page, made

    yield open_it
    for context in contexts:
        context.close()


def test_files_are_saved_from_the_page(clear):
    page, made = clear()
    with page.expect_download() as saved:
        page.click("[data-save=csv]")
    with saved.value.path().open(newline="", encoding="utf-8-sig") as file:
        rows = list(csv.reader(file))
    assert rows[0] == ["topic", "name", "rank", "word", "probability", "noise", "over_all_topics"]
    assert rows[1][0] == "1"
    assert float(rows[1][4]) == pytest.approx(made.topic_word[0].max(), rel=1e-5)
    assert not any(cell.startswith(("=", "@")) for row in rows for cell in row)
    words = {row[3] for row in rows[1:]}
    assert all(f"'{printable(word)}" in words for word in FORMULAS)
    assert all(for_spreadsheet(word) == word for word in words)  # nothing is left to guard
    for kind, start in (("svg", b"<svg"), ("png", b"\x89PNG")):
        with page.expect_download() as saved:
            page.click(f"[data-save={kind}]")
        raw = saved.value.path().read_bytes()
        assert raw.startswith(start)
        assert b"<script" not in raw
    text = raw_svg(page)
    assert "class=" not in text  # it must look the same without the page's style sheet
    assert 'fill="rgb' in text


def raw_svg(page):
    with page.expect_download() as saved:
        page.click("[data-save=svg]")
    return saved.value.path().read_text()


@pytest.mark.parametrize("n_topics", [12, 20, 30])
def test_many_topics_stand_on_four_sheets_of_paper(browser, tmp_path, n_topics):
    release(n_topics=n_topics, n_words=600, noise=0.002).to_html(tmp_path / "r.html")
    page = browser.new_page()
    page.goto((tmp_path / "r.html").as_uri())
    for paper in ("A4", "Letter"):
        assert 0 < page.pdf(format=paper).count(b"/Type /Page\n") <= 4
    page.close()


@pytest.mark.parametrize("width", [375, 1024, 1280])
def test_names_on_the_map_lie_on_nothing(clear, width):
    page, _ = clear(viewport={"width": width, "height": 800})
    boxes = page.locator("#map .name:visible:not(#called)").evaluate_all(BOXES)
    assert len(boxes) >= (2 if width < 500 else 6)
    assert min(box["height"] for box in boxes) > (10 if width < 500 else 12)
    circles = page.locator("#map .disc").evaluate_all(BOXES)
    for i, one in enumerate(boxes):
        for other in boxes[:i]:
            apart = max(abs(one[x] - other[x]) * 2 - one[size] - other[size] for x, size in SIDES)
            assert apart >= 0, (one, other)
        for disc in circles:
            away = [max(0, abs(one[x] - disc[x]) - one[size] / 2) for x, size in SIDES]
            assert math.hypot(*away) >= disc["width"] / 2 - 1.5, (one, disc)
    assert page.evaluate("document.documentElement.scrollWidth") <= width


SIDES = (("x", "width"), ("y", "height"))
#: The middle and the size of what is drawn.
BOXES = """parts => parts.map(part => { const box = part.getBoundingClientRect();
  return { x: box.x + box.width / 2, y: box.y + box.height / 2, width: box.width, height: box.height }; })"""


def test_a_topic_of_noise_opens_its_fold_when_asked_for(browser, tmp_path):
    from tests.report.test_noisy_topics import with_noise_topics

    made, truth = with_noise_topics()
    made.to_html(tmp_path / "r.html")
    page = browser.new_page()
    page.goto((tmp_path / "r.html").as_uri() + f"#topic-{truth.index(True)}")
    assert page.locator("#noise").evaluate("fold => fold.open")
    assert "mostly noise" in page.locator("#chosen").inner_text()
    page.select_option("#choose", str(truth.index(False)))
    assert "mostly noise" not in page.locator("#chosen").inner_text()
    page.close()


def test_on_paper_words_of_some_length_stay_whole_and_how_to_read_bars_is_as_wide_as_the_cards(visit):
    page = visit()
    page.set_viewport_size({"width": 703, "height": 1000})
    page.emulate_media(media="print")
    height = "one => one.offsetHeight"
    term = page.locator(".card .term").first
    before = term.evaluate(height)
    assert term.evaluate("one => (one.textContent = 'remboursement', one.offsetHeight)") == before
    wide = [page.locator(name).first.bounding_box()["width"] for name in (".reading", ".cards")]
    assert wide[0] > 0.95 * wide[1]
