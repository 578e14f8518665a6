"""The pages of CONTRIBUTING.md about what exists, followed on a copy: the new code is found, the new option works."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
EDIT = re.compile(
    r"`(?P<file>[\w/]+\.(?:py|md))`(?:, (?P<where>before|after) `(?P<anchor>[^\n]+)`)?:\n\n   ```\w+\n(?P<text>.*?)^   ```$",
    re.MULTILINE | re.DOTALL,
)
PAGES = {"Add a code to the explainer": 4, "Give `while_loop` a new option": 6}  # edits of each
CHANGED = "kink or picked_by_argmax or every_code or each_trip_can_be_checked"
TESTS = (
    "tests/explain/test_values.py",
    "tests/explain/test_none.py",
    "tests/explain/test_answers.py",
    "tests/control/test_loops.py",
)


def edits(title):
    """Return `(file, where, anchor, text)` of each edit of a page, in order."""
    page = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    section = page.partition(f"## {title}\n")[2].partition("\n## ")[0]
    return [
        (*found.group("file", "where", "anchor"), re.sub("^   ", "", found["text"], flags=re.MULTILINE))
        for found in EDIT.finditer(section)
    ]


def edit(path, where, anchor, text):
    """Put `text` before or after the first line that begins with `anchor`; without one at the end, or into a new file."""
    lines = path.read_text("utf-8").splitlines(keepends=True) if path.exists() else []
    if where is None:
        lines.append(f"\n\n{text}")
    else:
        at = next(i for i, line in enumerate(lines) if line.startswith(anchor))
        lines.insert(at + (where == "after"), text)
    path.write_text("".join(lines), "utf-8")


@pytest.fixture(scope="module")
def copied(tmp_path_factory):
    """Return a copy of the project with the edits of all pages."""
    root = tmp_path_factory.mktemp("copy")
    for folder in ("gradtape", "docs", "tests/explain", "tests/control", "tests/fuzz", "tests/guide"):
        shutil.copytree(ROOT / folder, root / folder, ignore=shutil.ignore_patterns("__pycache__"))
    for file in ("pyproject.toml", *[f"tests/{name}.py" for name in ("__init__", "conftest", "xla", "agreement")]):
        shutil.copy(ROOT / file, root / file)
    for title, count in PAGES.items():
        found = edits(title)
        assert len(found) == count, title
        for file, where, anchor, text in found:
            edit(root / file, where, anchor, text)
    subprocess.run([sys.executable, "-m", "docs.site.codes", "--write"], cwd=root, check=True)  # as `make snapshot` does
    return root


def test_the_pages_are_enough(copied):
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-k", CHANGED, *TESTS]
    ran = subprocess.run(command, cwd=copied, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "5 passed" in ran.stdout, ran.stdout
