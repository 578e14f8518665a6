"""Read the built site in a real browser: `python -m tests.site.crawl build/site/html [screenshots]`, as `make site-check` does.

Each page is opened in a wide window and in one of 400 pixels, light and dark: no error in the console, nothing that scrolls
sideways, no dead link, no text that is cut, no file from another host, no barrier that axe finds. The search finds names of the
reference, TensorFlow 1's after the others.
"""

import contextlib
import functools
import http.server
import shutil
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urldefrag, urljoin

NAMES = (
    "reduce_sum GradientTape conv2d custom_gradient not_differentiable LevenbergMarquardt while_loop jacobian gradient_flow"
    " left_library"
).split()
# What a reader asks for in one word, and the page that has to stand first.
WORDS = {
    "jacobian": "derivatives.html",
    "gpu": "gpu.html",
    "nan": "why/nan.html",
    "slow": "performance.html",
    "none": "why/none.html",
}
PICTURES = {
    "start": "index.html",
    "none": "why/none.html",
    "reference": "reference/tf.autodiff.html",
    "compatibility": "compatibility.html",
    "notebook": "notebooks/broken_tape.html",
}
WINDOWS = {"wide": 1280, "narrow": 400}
SCHEMES = "light", "dark"
# Mark one element of each look that text has on a page: its colour, its size and the colours behind it.
MARK_LOOKS = """() => {
  const looks = new Set();
  for (const element of document.querySelectorAll("body *")) {
    const written = [...element.childNodes].some(child => child.nodeType === Node.TEXT_NODE && child.data.trim());
    if (!written || !element.checkVisibility({visibilityProperty: true})) continue;
    const { color, fontSize, fontWeight } = getComputedStyle(element);
    const look = [color, fontSize, fontWeight];
    for (let behind = element; behind; behind = behind.parentElement) {
      const { backgroundColor, backgroundImage, opacity } = getComputedStyle(behind);
      const layer = [backgroundColor, backgroundImage, opacity].join();
      if (layer !== "rgba(0, 0, 0, 0),none,1") look.push(layer);
    }
    element.toggleAttribute("data-look", !looks.has(String(look)));
    looks.add(String(look));
  }
  return looks.size > 0;
}"""
# The text of the elements that the edge of the window cuts, and that nothing scrolls to.
CUT = """() => {
  const cut = element => element.checkVisibility() && element.getBoundingClientRect().right > innerWidth + 1;
  const scrolls = element => element.matches("article") ? false
      : ["auto", "scroll"].includes(getComputedStyle(element).overflowX) || scrolls(element.parentElement);
  const elements = [...document.querySelectorAll("article *")].filter(cut);
  return elements.filter(element => !scrolls(element)).map(element => element.textContent.trim());
}"""
# What axe is asked for: all rules but one of the page, and that one, which takes longest by far, of one element of each look.
# Without its `preload`, which looks for style sheets where they are not: the page has errors in its console then.
RULES = {"resultTypes": ["violations"], "preload": False, "rules": {"color-contrast": {"enabled": False}}}
CONTRAST = {"resultTypes": ["violations"], "preload": False, "runOnly": ["color-contrast"]}


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *arguments: Any) -> None:
        pass


@contextlib.contextmanager
def served(folder: Path) -> Iterator[str]:
    """Serve a folder on a free port of this machine, and yield its address."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(_Quiet, directory=str(folder)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/"
    finally:
        server.shutdown()
        server.server_close()


class Crawl:
    """One walk through a site. `faults` are what is wrong, a line each; `seen` the addresses of its pages."""

    def __init__(self, browser: Any, root: str) -> None:
        from axe_playwright_python.sync_playwright import Axe

        self.root, self.faults, self.seen, self.axe = root, [], set(), Axe()
        self.wide, self.narrow = [self._page(browser, width) for width in WINDOWS.values()]
        self._anchors: dict[str, set[str]] = {}
        self._wanted: set[tuple[str, str, str]] = set()

    def _page(self, browser: Any, width: int) -> Any:
        page = browser.new_context(viewport={"width": width, "height": 900}, reduced_motion="reduce").new_page()
        page.on("console", lambda said: self._fault(page, said.text) if said.type == "error" else None)
        page.on("pageerror", lambda error: self._fault(page, str(error)))
        page.on("requestfailed", lambda request: self._not_loaded(page, request))
        page.on("request", lambda asked: self._outside(page, asked.url))
        return page

    def _fault(self, page: Any, text: str) -> None:
        self.faults.append(f"{page.url.removeprefix(self.root)}: {text}")

    def _not_loaded(self, page: Any, request: Any) -> None:
        if request.failure != "net::ERR_ABORTED":  # the next page was asked for
            self._fault(page, f"{request.url} was not loaded: {request.failure}")

    def _outside(self, page: Any, url: str) -> None:
        if not url.startswith((self.root, "data:", "blob:")):
            self._fault(page, f"asks another host for {url}")

    def walk(self, limit: int | None = None) -> None:
        """Open all pages that the first one leads to, or the first `limit`."""
        pending = [self.root + "index.html"]
        while pending and (limit is None or len(self.seen) < limit):
            url = pending.pop(0)
            if url in self.seen:
                continue
            self.seen.add(url)
            pending += [link for link in self._look(url) if link not in self.seen]
        for source, url, anchor in sorted(self._wanted):
            if url in self._anchors and anchor not in self._anchors[url]:
                self.faults.append(f"{source.removeprefix(self.root)}: there is no #{anchor} in {url.removeprefix(self.root)}")

    def _look(self, url: str) -> list[str]:
        for page in (self.wide, self.narrow):
            answer = page.goto(url, wait_until="load")
            if answer is None or answer.status != 200:
                self.faults.append(f"{url.removeprefix(self.root)}: status {answer and answer.status}")
                return []
            self._ask_axe(page)
        excess = self.narrow.evaluate("document.documentElement.scrollWidth - window.innerWidth")
        if excess > 0:
            self._fault(self.narrow, f"is {excess} pixels wider than a window of 400")
        if cut := self.narrow.evaluate(CUT):
            self._fault(self.narrow, f"is cut in a window of 400 pixels, {len(cut)} times, as in {cut[-1][:100]}")
        self._anchors[url] = set(self.wide.evaluate("[...document.querySelectorAll('[id]')].map(e => e.id)"))
        links = self.wide.evaluate("[...document.querySelectorAll('a[href]')].map(a => a.getAttribute('href'))")
        found = []
        for link in links:
            target, anchor = urldefrag(urljoin(url, link))
            if not target.startswith(self.root):
                continue
            if anchor:
                self._wanted.add((url, target, anchor))
            if target.endswith(".html"):
                found.append(target)
        return found

    def _ask_axe(self, page: Any) -> None:
        """Note the barriers for readers with a disability that axe finds on a page, and in its colours, light and dark."""
        self._barriers(page, "", self.axe.run(page, options=RULES))
        for scheme in SCHEMES:
            recolour(page, scheme)
            if page.evaluate(MARK_LOOKS):
                self._barriers(page, f", {scheme}", self.axe.run(page, {"include": [["[data-look]"]]}, CONTRAST))

    def _barriers(self, page: Any, scheme: str, found: Any) -> None:
        for barrier in found.response["violations"]:
            where = f"{barrier['id']}; {page.viewport_size['width']} pixels{scheme}; {len(barrier['nodes'])} times"
            self._fault(page, f"{barrier['help']} ({where}), as in {barrier['nodes'][0]['html'][:100]}")

    def search(self, name: str, timeout: float = 10_000, page: str = "") -> None:
        """Look a name up, as a reader would; `page` has to stand first."""
        self.wide.goto(f"{self.root}search.html?q={name}")
        try:
            self.wide.wait_for_selector("#search-results ul.search li a", timeout=timeout)
        except Exception:
            self.faults.append(f"the search does not find {name}")
            return
        first = self.wide.inner_text("#search-results ul.search li >> nth=0")
        if page:
            found = self.wide.get_attribute("#search-results ul.search li a >> nth=0", "href") or ""
            if urldefrag(urljoin(self.root, found))[0] != self.root + page:
                self.faults.append(f"the search for {name} begins with {found}, not with {page}")
        if "compat.v1" in first:
            self.faults.append(f"the search for {name} begins with a name of TensorFlow 1: {first[:80]}")


def recolour(page: Any, scheme: str) -> None:
    """Show a page in light or dark colours, as the system of its reader would ask for."""
    page.emulate_media(color_scheme=scheme)
    page.evaluate("new Promise(requestAnimationFrame)")  # by then the page has heard of it


def main(folder: Path, pictures: Path | None = None) -> None:
    """Crawl the site of a folder, print what is wrong, and end with 1 if anything is."""
    from playwright.sync_api import sync_playwright

    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if chromium is None:
        raise SystemExit("no Chromium is installed: the package chromium of Debian")
    with served(folder) as root, sync_playwright() as started:
        browser = started.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        crawl = Crawl(browser, root)
        crawl.walk()
        for name in NAMES:
            crawl.search(name)
        for word, place in WORDS.items():
            crawl.search(word, page=place)
        if pictures is not None:
            pictures.mkdir(parents=True, exist_ok=True)
            for name, place in PICTURES.items():
                for kind, page in zip(WINDOWS, (crawl.wide, crawl.narrow), strict=True):
                    page.goto(root + place)
                    for scheme in SCHEMES:
                        recolour(page, scheme)
                        page.screenshot(path=pictures / f"{name}-{kind}-{scheme}.png")
        browser.close()
    print(f"{len(crawl.seen)} pages, {len(NAMES) + len(WORDS)} searches, {len(crawl.faults)} faults")
    if crawl.faults:
        raise SystemExit("\n".join(dict.fromkeys(crawl.faults)))


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
