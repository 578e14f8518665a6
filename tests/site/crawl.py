"""Read the built site in a real browser: `python -m tests.site.crawl build/site/html [screenshots]`, as `make site-check` does.

Each page is opened, wide and dark, and 400 pixels wide: no error in the console, nothing that scrolls sideways, no dead link, no
file from another host. The search finds names of the reference.
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
PICTURES = {
    "start": "index.html",
    "none": "why/none.html",
    "reference": "reference/tf.autodiff.html",
    "notebook": "notebooks/broken_tape.html",
}


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
        self.root, self.faults, self.seen = root, [], set()
        self.wide = self._page(browser, 1280, "dark")
        self.narrow = self._page(browser, 400, "light")
        self._anchors: dict[str, set[str]] = {}
        self._wanted: set[tuple[str, str, str]] = set()

    def _page(self, browser: Any, width: int, scheme: str) -> Any:
        page = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme).new_page()
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
        excess = self.narrow.evaluate("document.documentElement.scrollWidth - window.innerWidth")
        if excess > 0:
            self._fault(self.narrow, f"is {excess} pixels wider than a window of 400")
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

    def search(self, name: str, timeout: float = 10_000) -> None:
        """Look a name up, as a reader would."""
        self.wide.goto(f"{self.root}search.html?q={name}")
        try:
            self.wide.wait_for_selector("#search-results ul.search li a", timeout=timeout)
        except Exception:
            self.faults.append(f"the search does not find {name}")


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
        if pictures is not None:
            pictures.mkdir(parents=True, exist_ok=True)
            for name, place in PICTURES.items():
                for kind, page in (("wide", crawl.wide), ("narrow", crawl.narrow)):
                    page.goto(root + place)
                    page.screenshot(path=pictures / f"{name}-{kind}.png")
        browser.close()
    print(f"{len(crawl.seen)} pages, {len(NAMES)} searches, {len(crawl.faults)} faults")
    if crawl.faults:
        raise SystemExit("\n".join(dict.fromkeys(crawl.faults)))


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
