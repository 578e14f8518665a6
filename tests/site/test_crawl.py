"""The crawler of the site finds what is wrong with one."""

import shutil

import pytest

from tests.site.crawl import Crawl, served

PAGE = """\
<!doctype html><html><head><title>t</title><link rel="icon" href="data:,"></head><body>
<a href="index.html#there" id="there">a</a> <a href="other.html#lost">b</a> <a href="gone.html">c</a>
</body></html>"""
OTHER = """\
<!doctype html><html><head><link rel="icon" href="data:,"><style>
@media (prefers-color-scheme: dark) { body { background: black; color: #222 } }</style></head><body><p>faint</p>
<article><p style="width: 600px">lost</p>
<div style="overflow-x: auto" tabindex="0"><p style="width: 600px">kept</p></div></article>
<div style="width: 700px">w</div>
<script>console.error("a complaint"); fetch("http://127.0.0.1:1/elsewhere").catch(() => 0)</script></body></html>"""


def test_faults_are_found(tmp_path):
    playwright = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed: pip install playwright")
    pytest.importorskip("axe_playwright_python", reason="axe is not installed: pip install axe-playwright-python")
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if chromium is None:
        pytest.skip("no Chromium is installed: the package chromium of Debian")
    (tmp_path / "index.html").write_text(PAGE)
    (tmp_path / "other.html").write_text(OTHER)
    (tmp_path / "search.html").write_text(PAGE)
    with served(tmp_path) as root, playwright.sync_playwright() as started:
        browser = started.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        crawl = Crawl(browser, root)
        crawl.walk()
        crawl.search("nothing", timeout=100)
        browser.close()
    faults = "\n".join(crawl.faults)
    for fault in (
        "gone.html: status 404",
        "other.html: a complaint",
        "other.html: asks another host for http://127.0.0.1:1/elsewhere",
        "other.html: is 3",
        "other.html: is cut in a window of 400 pixels, 1 times, as in lost",
        "index.html: there is no #lost in other.html",
        "index.html: <html> element must have a lang attribute (html-has-lang; 400 pixels; 1 times), as in <html>",
        '(color-contrast; 1280 pixels, dark; 1 times), as in <p data-look="">faint</p>',
        "the search does not find nothing",
    ):
        assert fault in faults
    assert "there is no #there" not in faults
    assert "(color-contrast; 1280 pixels, light" not in faults
