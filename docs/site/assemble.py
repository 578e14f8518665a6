"""Lay out the repository's Markdown pages for Sphinx, with their links rewritten.

Each page is listed once, in `PARTS` or `BELOW`. Links to pages lead to pages of the site, links to other files to the repository.
The Markdown itself stays valid on GitHub.
"""

import posixpath
import re
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path

from docs.site.project import ROOT, source_link

# The parts in reading order, by paths in the repository: the page of a part, and the pages in it.
PARTS = {
    "docs/start/README.md": [
        *[f"docs/start/{name}.md" for name in "install first-gradient first-training".split()],
        "docs/derivatives.md",
        "docs/faq.md",
        *[f"docs/start/from-{name}.md" for name in "tensorflow keras pytorch jax".split()],
        "docs/glossary.md",
    ],
    "docs/explain.md": ["why/none.md", "why/zeros.md", "why/nan.md"],
    "docs/howto/README.md": [
        *[
            f"docs/howto/{name}.md"
            for name in (
                "intercept_any_gradient per_example_gradients freeze_a_changing_set hessian_norm curvature backward_flops"
                " levenberg_marquardt equal_eigenvalues sparse_derivatives implicit_functions differential_equations"
                " high_orders memory_budget saliency_in_the_loss"
            ).split()
        ],
        "docs/recipes.md",
        "docs/figures.md",
        "docs/keras.md",
        "docs/saved_model.md",
        "docs/files.md",
        "docs/distribution.md",
        "docs/ecosystem.md",
        "docs/gallery.md",
        "examples/README.md",
    ],
    "docs/notebooks/README.md": [
        f"docs/notebooks/{name}.ipynb" for name in "first_steps broken_tape gan physics_informed levenberg_marquardt".split()
    ],
    "docs/explained/README.md": [
        "docs/performance.md",
        "docs/gpu.md",
        "docs/pictures.md",
        "docs/explained/functions-and-loops.md",
        "docs/explained/precision.md",
        "docs/explained/random-numbers.md",
        "docs/reliability.md",
        "docs/process.md",
        "docs/benchmarks.md",
    ],
    "reference/index.md": [
        "docs/compatibility.md",
        "docs/names.md",
        "docs/stability.md",
        "docs/command-line.md",
        "docs/dependencies.md",
        "CONTRIBUTING.md",
        "CHANGELOG.md",
    ],
}
# Pages for maintainers, by the page that links to them.
BELOW = {"CONTRIBUTING.md": ["docs/design.md"]}
INDEX = "docs/README.md"
LINK = re.compile(r"(\]\()([^)#\s]*)((?:#[^)\s]*)?\))")
FENCE = re.compile(r"^(```|~~~).*?^\1$", re.MULTILINE | re.DOTALL)


def place(path: str) -> str:
    """Return the place of a page on the site: `docs/` is the root, and a README is the page of its folder."""
    if path == "examples/README.md":
        return "examples.md"
    return re.sub(r"README\.md$", "index.md", path.removeprefix("docs/"))


def pages() -> dict[str, str]:
    """Return the pages of the repository: path → place on the site."""
    listed = [INDEX, *PARTS, *[page for part in [*PARTS.values(), *BELOW.values()] for page in part]]
    return {path: place(path) for path in listed if not path.startswith(("why/", "reference/"))}


def unlisted() -> list[str]:
    """Return the pages and notebooks under `docs/` that no part lists."""
    there = [path.relative_to(ROOT).as_posix() for kind in ("md", "ipynb") for path in (ROOT / "docs").rglob(f"*.{kind}")]
    return sorted(set(there) - pages().keys())


def relinked(text: str, path: str, known: dict[str, str]) -> str:
    """Return the text of a page with its links to the repository's files rewritten for the site."""

    def link(found: re.Match[str]) -> str:
        opening, target, rest = found.groups()
        if not target or "://" in target or target.startswith("mailto:"):
            return found[0]
        file = posixpath.normpath(posixpath.join(posixpath.dirname(path), target))
        if file in known:
            return opening + posixpath.relpath(known[file], posixpath.dirname(known[path]) or ".") + rest
        if target.endswith((".png", ".svg")):
            return found[0]
        return opening + source_link(file) + rest.removeprefix(rest[:-1])

    parts, start = [], 0
    for fence in FENCE.finditer(text):
        parts += [LINK.sub(link, text[start : fence.start()]), fence[0]]
        start = fence.end()
    return "".join([*parts, LINK.sub(link, text[start:])])


def contents(entries: list[str], caption: str = "") -> str:
    """Return a hidden table of contents, which becomes the navigation at the side."""
    lines = ["", "```{toctree}", ":hidden:", *([f":caption: {caption}"] if caption else []), "", *entries, "```", ""]
    return "\n".join(lines)


def assemble(source: Path, made: dict[str, str], changed: Mapping[str, Callable[[str], str]] = {}) -> None:
    """Write all pages under `source`: the repository's, some `changed` by functions, and generated ones (`made`), by place."""
    if missing := unlisted():
        raise SystemExit(f"no part of the site lists {', '.join(missing)}: add each to PARTS in docs/site/assemble.py")
    shutil.rmtree(source, ignore_errors=True)
    known = pages()
    texts = {where: relinked((ROOT / path).read_text("utf-8"), path, known) for path, where in known.items()}
    texts |= {where: change(texts[where]) for where, change in changed.items()} | made
    for part, entries in (PARTS | BELOW).items():
        folder = posixpath.dirname(place(part)) or "."
        listed = [posixpath.relpath(place(entry), folder) for entry in entries]
        if place(part) == "reference/index.md":
            listed = [posixpath.relpath(p, "reference") for p in made if p.startswith("reference/tf")] + listed
        texts[place(part)] += contents(listed)
    texts[place(INDEX)] += contents([place(part) for part in PARTS])
    for where, text in texts.items():
        (source / where).parent.mkdir(parents=True, exist_ok=True)
        (source / where).write_text(text, "utf-8")
    for picture in [*(ROOT / "docs").rglob("*.png"), *(ROOT / "docs").rglob("*.svg")]:
        if "site" not in picture.relative_to(ROOT / "docs").parts:
            there = source / picture.relative_to(ROOT / "docs")
            there.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(picture, there)
