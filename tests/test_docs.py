"""The pages are true: each ```python block runs, each ```output block is what was printed, each link leads somewhere.

The blocks of a page run in order in one namespace. An ```output block holds what the python block above it prints.
"""

import contextlib
import io
import linecache
import re
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = sorted([ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md", *ROOT.glob("docs/**/*.md")])
PAGES += sorted(ROOT.glob("gradtape/**/README.md"))

FENCE = re.compile(r"^```(\w*)[^\n]*\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\[[^\]]*\]\(([^)#\s]+)(?:#[^)]*)?\)")
PLACE = re.compile(r"\[[^\]]*\]\(([^)#\s]*)#([^)]*)\)")
HEADING = re.compile(r"^#+ (.*)$", re.MULTILINE)


@dataclass(frozen=True)
class Block:
    language: str
    text: str
    line: int


def blocks(page: str) -> list[Block]:
    """The fenced blocks of a Markdown page, each with the line at which its text begins."""
    return [Block(match[1], match[2], page.count("\n", 0, match.start(2)) + 1) for match in FENCE.finditer(page)]


def run_page(page: str, path: str) -> int:
    """Run the python blocks of `page` and compare what they print; returns how many ran."""
    names, printed, ran = {"__name__": "__main__"}, "", 0
    for block in blocks(page):
        if block.language == "python":
            source = "\n" * (block.line - 1) + block.text
            linecache.cache[path] = (len(source), None, source.splitlines(keepends=True), path)  # as of a program's own file
            code = compile(source, path, "exec")
            with contextlib.redirect_stdout(io.StringIO()) as stdout:
                exec(code, names)
            printed, ran = stdout.getvalue(), ran + 1
        elif block.language == "output":
            assert printed.strip() == block.text.strip(), f"{path}:{block.line}: the block above prints:\n{printed}"
    return ran


def anchors(page: str) -> set[str]:
    """The places that GitHub gives to the headings of a page."""
    heads = [re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", head) for head in HEADING.findall(FENCE.sub("", page))]
    return {re.sub(r"[^\w\- ]", "", head.lower()).strip().replace(" ", "-") for head in heads}


def broken_links(page: str, folder: Path) -> list[str]:
    """Links to files that are not there, and to headings that a page does not have."""
    text = FENCE.sub("", page)
    broken = [link for link in LINK.findall(text) if "://" not in link and not (folder / link).exists()]
    for link, place in PLACE.findall(text):
        if "://" not in link and link not in broken and (link.endswith(".md") or not link):
            target = (folder / link).read_text("utf-8") if link else page
            broken += [f"{link}#{place}"] * (place not in anchors(target))
    return broken


def page_name(path):
    return path.relative_to(ROOT).as_posix()


@pytest.mark.parametrize("path", [path for path in PAGES if "```python" in path.read_text("utf-8")], ids=page_name)
def test_examples_run(path, count, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    count("examples of the documentation run", run_page(path.read_text("utf-8"), str(path)))


@pytest.mark.parametrize("path", PAGES, ids=page_name)
def test_links_lead_somewhere(path):
    assert broken_links(path.read_text("utf-8"), path.parent) == []


def test_readme_shows_code_and_the_two_commands_on_its_first_screen():
    first = (ROOT / "README.md").read_text("utf-8").splitlines()[:30]
    python, output, console = blocks("\n".join(first))
    assert (python.language, output.language) == ("python", "output")
    assert len(python.text.splitlines()) <= 8
    assert console.text.split("\n") == ["make demo", "make test", ""]


DIARY = re.compile(
    r"\b20\d\d-\d\d|\b\d{1,2}(?:st|nd|rd|th)? (?:of )?(?:January|February|March|April|May|June|July|August|September|October"
    r"|November|December)\b|\b(?:previously|formerly|recently|until now|no longer|as of today|on that day|by now|used to be)\b",
    re.IGNORECASE,
)
GENERATED = re.compile(r"^<!-- From .*?^<!-- Until here -->$", re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("path", [path for path in PAGES if path.name != "CHANGELOG.md"], ids=page_name)
def test_no_page_is_a_diary(path):
    """What was once so stands in the changelog; the date of a run of the benchmark is data."""
    assert DIARY.findall(GENERATED.sub("", FENCE.sub("", path.read_text("utf-8")))) == []


@pytest.mark.parametrize(
    "text", ["On 3 May 2026 it took", "2026-11-22, two cores", "It was Previously a list", "is no longer so"]
)
def test_a_diary_is_found(text):
    assert DIARY.search(text)


SITE = [ROOT / "README.md", *ROOT.glob("docs/**/*.md")]


@pytest.mark.parametrize("path", SITE, ids=page_name)
def test_code_is_as_wide_as_a_page(path):
    code = [block for block in blocks(path.read_text("utf-8")) if block.language in ("python", "py", "console")]
    assert [line for block in code for line in block.text.splitlines() if len(line) > 72] == []


def test_a_false_page_is_found():
    page = "# Page\n\n```python\nx = 2\n```\n\nText.\n\n```python\nprint(x + 1)\n```\n\n```output\n3\n```\n"
    assert run_page(page, "page.md") == 2
    with pytest.raises(AssertionError, match=r"page\.md:14: the block above prints:\n\s*3"):
        run_page(page.replace("\n3\n", "\n4\n"), "page.md")
    with pytest.raises(NameError, match="y") as failure:
        run_page(page.replace("x + 1", "y"), "page.md")
    assert failure.traceback[-1].lineno + 1 == 10
    links = "# Here\n[a](no/such.md#x) [b](https://example.org#b) [c](#here) [d](#gone) [e](README.md#a-tour) [f](README.md#gone)"
    assert broken_links(links, ROOT) == ["no/such.md", "#gone", "README.md#gone"]


def test_each_file_that_the_design_names_exists():
    page = (ROOT / "docs" / "design.md").read_text("utf-8")
    named = set(re.findall(r"`((?:\w+/)+\w+)(?:\.\w+)*`", page))
    places = [ROOT, ROOT / "gradtape" / "_src"]
    lost = [name for name in named if not any((place / f"{name}{end}").exists() for place in places for end in (".py", ""))]
    assert len(named) > 40 and not lost
