"""The page of shares in a real browser: on a phone, on paper, in the dark, without a network."""

import shutil

import numpy as np
import pytest
from tests.prevalence.test_page import release

pytestmark = pytest.mark.integration

playwright = pytest.importorskip("playwright.sync_api", reason="the browser tests need playwright")

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
VIEWS = {
    "desktop": {"viewport": {"width": 1200, "height": 900}},
    "dark": {"viewport": {"width": 1200, "height": 900}, "color_scheme": "dark"},
    "phone": {"viewport": {"width": 390, "height": 800}},
    "paper": {"viewport": {"width": 794, "height": 1123}},
}


@pytest.fixture(scope="module")
def browser():
    if CHROMIUM is None:
        pytest.skip("the browser tests need chromium on the path")
    with playwright.sync_playwright() as started:
        running = started.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        yield running
        running.close()


def pages(folder):
    rng = np.random.default_rng(0)
    wards = [f"ward.of.a.name.that.is.long.{i}" for i in range(30)]
    months = [f"{2024 + i // 12}-{i % 12 + 1:02d}" for i in range(30)]
    shares = rng.dirichlet(np.full(20, 0.3), 30)
    release(shares, groups=wards).to_html(folder / "wards.html")
    release(shares, groups=months, configuration={"freq": "month"}).to_html(folder / "months.html")
    return folder


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("name", ["wards", "months"])
def test_nothing_stands_outside_and_differences_are_seen_with_their_intervals(browser, tmp_path, view, name):
    context, complaints, asked = browser.new_context(**VIEWS[view]), [], []
    page = context.new_page()
    page.on("console", lambda message: complaints.append(message.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("request", lambda request: asked.append(request.url))
    page.goto((pages(tmp_path) / f"{name}.html").as_uri())
    if view == "paper":
        page.emulate_media(media="print")
    page.locator("details").evaluate_all("folds => folds.forEach(fold => fold.open = true)")
    width = VIEWS[view]["viewport"]["width"]
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    # A change without its interval beside it would be noise without a word: both are on the screen.
    if name == "months":
        cells = page.locator("table.changes tbody tr").first.locator("td")
        boxes = [cells.nth(i).bounding_box() for i in range(3)]
        assert all(box["x"] + box["width"] <= width for box in boxes)
        assert " to " in cells.nth(1).inner_text()
    if view == "paper":
        for table in page.locator("table.heat").all():
            assert table.bounding_box()["width"] <= width
    assert not complaints
    assert all(address.startswith("file:") or address.startswith("data:") for address in asked)
    context.close()


@pytest.mark.parametrize("n_topics", [12, 20, 30])
def test_twelve_groups_stand_on_four_sheets_of_paper(browser, tmp_path, n_topics):
    shares = np.full((12, n_topics), 1 / n_topics)
    for topic in range(n_topics // 2):  # every other topic clearly differs in a ward
        shares[topic % 12, topic] += 0.3
    names = [f"Krankenversicherung und Station {i}" for i in range(12)]
    release(shares / shares.sum(1, keepdims=True), groups=names).to_html(tmp_path / "r.html")
    page = browser.new_page()
    page.goto((tmp_path / "r.html").as_uri())
    for paper in ("A4", "Letter"):
        assert 0 < page.pdf(format=paper).count(b"/Type /Page\n") <= 4
    folded = page.locator(".unclear summary")
    assert folded.count() == (n_topics > 12)
    if n_topics > 12:
        assert folded.inner_text() == f"No clear difference: {n_topics - n_topics // 2} topics"
        assert not page.locator(".unclear figure").first.is_visible()
    page.close()


@pytest.mark.parametrize(
    "name", ["Geburtshilfe und Wöchnerinnen", "東京都立病院小児科外来", "Sykehuset på Østlandet"]
)
def test_names_of_groups_stay_within_their_chart(browser, tmp_path, name):
    release([[0.9, 0.1], [0.1, 0.9]], groups=[name, "B"]).to_html(tmp_path / "r.html")
    page = browser.new_page(viewport=VIEWS["desktop"]["viewport"])
    page.goto((tmp_path / "r.html").as_uri())
    left = "part => part.getBoundingClientRect().left"
    chart = page.locator("figure svg").first
    assert chart.locator("text.name").first.evaluate(left) >= chart.evaluate(left) - 3
    page.close()


def test_in_the_dark_words_stand_out_from_their_ground(browser, tmp_path):
    context = browser.new_context(**VIEWS["dark"])
    page = context.new_page()
    page.goto((pages(tmp_path) / "wards.html").as_uri())
    for shade in ("td.noise", "td[class^=more]", "td[class^=less]"):
        contrast = page.locator(f"table.heat {shade}").first.evaluate(_CONTRAST)
        assert contrast > 4.5, shade
    ground = "cell => Math.max(...getComputedStyle(cell).backgroundColor.match(/\\d+/g).map(Number))"
    for cell in page.locator("table.heat td[class^=more], table.heat td[class^=less]").all()[:40]:
        assert cell.evaluate(ground) < 160
    context.close()


_CONTRAST = """cell => {
  const light = colour => { const [r, g, b] = colour.match(/[\\d.]+/g).map(v => { v /= 255;
    return v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; }); return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
  const behind = part => getComputedStyle(part).backgroundColor;
  let ground = cell; while (/rgba\\(0, 0, 0, 0\\)/.test(behind(ground))) ground = ground.parentElement;
  const both = [light(getComputedStyle(cell).color), light(behind(ground))].sort((a, b) => b - a);
  return (both[0] + 0.05) / (both[1] + 0.05);
}"""


def test_a_narrow_screen_says_that_more_charts_are_to_the_side(browser, tmp_path):
    path = pages(tmp_path) / "wards.html"
    for width, seen in ((390, True), (1440, False)):
        page = browser.new_page(viewport={"width": width, "height": 844})
        page.goto(path.as_uri())
        assert page.get_by_text("20 charts, side by side").is_visible() == seen
        assert page.get_by_text("A wide table: swipe").first.is_visible() == seen
        page.close()


@pytest.mark.parametrize("width", [360, 390, 768, 1024, 1440])
@pytest.mark.parametrize("n_groups", [2, 3, 5, 10])
def test_first_numbers_of_the_table_are_seen_at_once_and_all_of_a_few(browser, tmp_path, width, n_groups):
    topics = np.full((n_groups, 5), 0.2)
    release(topics, groups=[f"Ward {i}" for i in range(n_groups)]).to_html(tmp_path / "r.html")
    page = browser.new_page(viewport={"width": width, "height": 844})
    page.goto((tmp_path / "r.html").as_uri())
    right = "part => part.getBoundingClientRect().right"
    edge = page.locator(".scroll").evaluate(right)
    for row in page.locator(".heat tr").all():
        ends = row.locator("> *").evaluate_all(f"cells => cells.map({right})")
        assert all(end <= edge + 1 for end in (ends if n_groups <= 3 or width >= 1024 else ends[:3]))
    cut = "cells => cells.filter(cell => cell.scrollWidth > cell.clientWidth).length"
    assert page.locator(".heat td").evaluate_all(cut) == 0
    page.locator(".scroll").evaluate("frame => frame.scrollLeft = 1000")
    name = page.locator(".heat tbody th").first.bounding_box()
    assert name["x"] == pytest.approx(page.locator(".scroll").bounding_box()["x"], abs=1)
    page.close()


def test_the_dot_of_a_share_lies_in_its_interval_on_the_scale_of_all(browser, tmp_path):
    made = release([[0.42, 0.32, 0.22]], size=300.0)
    made.to_html(tmp_path / "r.html")
    page = browser.new_page()
    page.goto((tmp_path / "r.html").as_uri())
    found = made.shares()
    for row, topic in zip(page.locator(".shares tbody tr").all(), range(3), strict=True):
        box = "part => { const box = part.getBBox(); return [box.x, box.x + box.width]; }"
        (dot, _), span = (row.locator(part).evaluate(box) for part in (".dot", ".span"))
        drawn = [
            100 * float(part[0, topic]) / found.high.max() for part in (found.low, found.share, found.high)
        ]
        assert [span[0], dot, span[1]] == pytest.approx(drawn, abs=0.06)
        assert span[0] < dot < span[1]
    page.close()


@pytest.mark.parametrize("width", [390, 1024])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_has_the_button_of_the_report_and_needs_no_script_for_it(browser, tmp_path, scheme, width):
    release([[0.9, 0.1]]).to_html(tmp_path / "r.html")
    context = browser.new_context(
        java_script_enabled=False, color_scheme=scheme, viewport={"width": width, "height": 800}
    )
    page = context.new_page()
    page.goto((tmp_path / "r.html").as_uri())
    ground = "body => Math.max(...getComputedStyle(body).backgroundColor.match(/\\d+/g).map(Number))"
    other = {"light": "Dark theme", "dark": "Light theme"}[scheme]
    bright = [page.locator("body").evaluate(ground) > 128]
    page.get_by_role("checkbox", name=other, exact=False).press("Space")
    bright.append(page.locator("body").evaluate(ground) > 128)
    assert bright == [scheme == "light", scheme == "dark"]
    context.close()


def test_a_small_delta_stands_on_one_line_at_any_width(browser, tmp_path):
    page = browser.new_page()
    page.goto((pages(tmp_path) / "wards.html").as_uri())
    deltas = page.locator(".unbroken", has_text="e-0")
    assert deltas.count() >= 3
    for width in range(320, 900, 7):
        page.set_viewport_size({"width": width, "height": 800})
        assert deltas.evaluate_all("all => all.every(one => one.getClientRects().length === 1)"), width
    page.close()
