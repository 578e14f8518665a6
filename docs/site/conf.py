"""Configure Sphinx for the pages that `docs.site.assemble` lays out under `build/site/source`."""

import os
import re
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))
os.environ.setdefault("PYDEVD_DISABLE_FILE_VALIDATION", "1")

from docs.site.assemble import pages  # noqa: E402
from docs.site.project import REPOSITORY, VERSION  # noqa: E402

project, author, release, version = "gradtape", "The gradtape authors", VERSION, VERSION
copyright = author
extensions = ["myst_nb", "sphinx_copybutton"]
templates_path = [str(Path(__file__).parent / "templates")]
exclude_patterns: list[str] = []

# Pages are GitHub's Markdown, and headings have the anchors that GitHub gives them.
myst_heading_anchors = 4
myst_enable_extensions = ["colon_fence", "fieldlist"]
myst_links_external_new_tab = False
suppress_warnings = ["myst.header", "misc.highlighting_failure", "ref.python"]

# Notebooks run when they are built, and an error in one ends the build.
nb_execution_mode = "auto" if os.environ.get("GRADTAPE_SITE_NOTEBOOKS", "1") == "1" else "off"
nb_execution_timeout = 240
nb_execution_raise_on_error = True
nb_merge_streams = True
nb_ipywidgets_js: dict[str, dict[str, str]] = {}

# Broken links are errors. Python's types in signatures are exempt, because they have no page on the site.
nitpicky = True
nitpick_ignore_regex = [("py:.*", r"(?!tf\.).*")]
python_maximum_signature_line_length = 100
add_module_names = False
toc_object_entries_show_parents = "hide"

html_theme = "pydata_sphinx_theme"
html_title = f"gradtape {VERSION}"
html_favicon = str(Path(__file__).parent / "static/favicon.svg")
html_context = {"default_mode": "auto"}
html_static_path = [str(Path(__file__).parent / "static")]
html_css_files = ["gradtape.css"]
html_search_scorer = str(Path(__file__).parent / "static/scorer.js")
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "github_url": REPOSITORY,
    "navbar_align": "left",
    "header_links_before_dropdown": 6,
    "show_prev_next": True,
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
    "show_toc_level": 2,
    "navigation_with_keys": False,
    "secondary_sidebar_items": ["page-toc", "edit-page"],
    "footer_start": ["copyright"],
    "footer_end": [],
}
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True
copybutton_exclude = ".linenos, .gp, .go"

PARAMETERS = re.compile(r"<dl>\n(<dd><em class=\"sig-param\">.*?)</dl>", re.DOTALL)
HEADING_OR_TABLE = re.compile(r'<h[1-6]>(.*?)<a class="headerlink"|<div class="pst-scrollable-table-container">')
TAG = re.compile(r"<[^>]*>")
WORD = re.compile(r'(<span class="pre">)([^<]{15,})(</span>)')
BREAK = re.compile(r"(?<=\w\w\w[._(,=/])(?=\w)|(?<=[a-z])(?=[A-Z])")


def setup(app: Any) -> None:
    """Register the corrections of the HTML: `corrected` for each page, `with_names_of_toggles` after the build."""
    app.connect("html-page-context", corrected)
    app.connect("build-finished", with_names_of_toggles)


TOGGLE = '<summary><span class="toctree-toggle"'
EDITED = {place.rpartition(".")[0]: path for path, place in pages().items()}


def corrected(app: Any, page: str, template: str, context: dict[str, Any], doctree: Any) -> None:
    """Set the address at which a page is edited, and correct invalid HTML of Sphinx and the theme."""
    if page in EDITED:
        context["edit_address"] = f"{REPOSITORY}/edit/main/{EDITED[page]}"
    if "body" in context:
        context["body"] = with_breaks(with_names_of_tables(without_lists(context["body"])))


def with_names_of_toggles(app: Any, error: Exception | None) -> None:
    """Add labels to the arrows that unfold the list of pages, for which the theme has only a picture."""
    for path in Path(app.outdir).rglob("*.html"):
        page = path.read_text("utf-8")
        if TOGGLE in page:
            path.write_text(page.replace(TOGGLE, TOGGLE.replace("<summary>", '<summary aria-label="The pages below">')), "utf-8")


def without_lists(body: str) -> str:
    """Return a page with spans in signatures of several lines: Sphinx writes lists inside a term, which is invalid HTML."""

    def spans(found: re.Match[str]) -> str:
        return found[1].replace("<dd>", '<span class="sig-line">').replace("</dd>", "</span>")

    return PARAMETERS.sub(spans, body)


def with_breaks(body: str) -> str:
    """Return a page with line breaks allowed in long words of code, after punctuation and before a capital."""
    return WORD.sub(lambda word: word[1] + BREAK.sub("<wbr>", word[2]) + word[3], body)


def with_names_of_tables(body: str) -> str:
    """Return a page whose tables are named by the heading above, with frames that the keyboard can scroll."""
    heading = ""

    def named(found: re.Match[str]) -> str:
        nonlocal heading
        if found[1] is not None:
            heading = TAG.sub("", found[1])
            return found[0]
        return f'<div class="pst-scrollable-table-container" role="group" aria-label="Table: {heading}" tabindex="0">'

    return HEADING_OR_TABLE.sub(named, body)
