"""The collector's page in a browser, on a telephone's width and in both colours."""

import socket
import threading
from pathlib import Path

import numpy as np
import pytest

from discreet.local.collector.store import ReportStore
from discreet.privacy.bit_channel import BitChannel

uvicorn = pytest.importorskip("uvicorn", reason="needs the extra collector")
playwright = pytest.importorskip("playwright.sync_api", reason="needs playwright")
CHROMIUM = Path("/usr/bin/chromium")
pytestmark = [pytest.mark.integration, pytest.mark.skipif(not CHROMIUM.exists(), reason="needs chromium")]

WORDS = ("fever", "unbearable-neuropathic-pain", *(f"word{i}" for i in range(28)))


@pytest.fixture
def port(tmp_path):
    from discreet.local.collector.app import make_app

    channel, rng = BitChannel.symmetric(3.0), np.random.default_rng(0)
    own = np.arange(30) // 10 == rng.integers(3, size=(3000, 1))
    present = rng.random(own.shape) < np.where(own, 0.4, 0.02)
    bits = rng.random(own.shape) < np.where(present, float(channel.p), float(channel.q))
    rows = [(rng.bytes(16), np.packbits(row, bitorder="little").tobytes()) for row in bits]
    with ReportStore(tmp_path / "r.db", WORDS, channel) as store, socket.socket() as listening:
        store.add(rows).result(30)
        listening.bind(("127.0.0.1", 0))
        server = uvicorn.Server(uvicorn.Config(make_app(store), log_level="error", ws="none"))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        try:
            yield listening.getsockname()[1]
        finally:
            server.should_exit = True
            thread.join(30)


def test_the_page_fits_a_telephone(port):
    said = []
    with playwright.sync_playwright() as started:
        browser = started.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        try:
            for width, scheme in ((390, "light"), (320, "dark"), (1200, "light")):
                page = browser.new_page(viewport={"width": width, "height": 800}, color_scheme=scheme)
                page.on("console", lambda message: said.append(message.text))
                page.on("pageerror", lambda error: said.append(str(error)))
                page.goto(f"http://127.0.0.1:{port}/")
                page.wait_for_selector("#topics tr", timeout=60_000)
                assert page.inner_text("#reports") == "3,000"
                assert page.evaluate("document.documentElement.scrollWidth") <= width
                # Nothing is cut off or too small to touch, and the words of a topic have the room they need.
                for box in page.evaluate(
                    "[...document.querySelectorAll('td, p, h1, h2, button, strong')]"
                    ".map((e) => e.getBoundingClientRect()).map((r) => [r.left, r.right])"
                ):
                    assert 0 <= box[0] <= box[1] <= width
                words, button = (
                    page.evaluate(
                        f"(({{width, height}}) => [width, height])({found}.getBoundingClientRect())"
                    )
                    for found in (
                        "document.querySelector('#topics td:last-child')",
                        "document.querySelector('#refit')",
                    )
                )
                assert words[0] > (0.8 if width < 500 else 0.5) * min(width, 960)
                assert button[1] >= (44 if width < 500 else 30)
                page.close()
        finally:
            browser.close()
    assert said == []
