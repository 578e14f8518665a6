"""The page "Add an op" of CONTRIBUTING.md, followed on a copy of the package: three edits, and the op's row passes."""

import re
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from gradtape._src.core.declarations.define import op

ROOT = Path(__file__).parents[2]
EDIT = re.compile(r"^\d\. [^`]*(?:`ROWS` in )?`([\w/]+\.py)`:\n\n   ```py\n(.*?)^   ```$", re.MULTILINE | re.DOTALL)


def edits():
    """`{file: text}`: what the page says to add."""
    page = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    section = page.partition("## Add an op\n")[2].partition("\n## ")[0]
    return {file: textwrap.dedent(text) for file, text in EDIT.findall(section)}


def test_the_page_is_enough(tmp_path):
    for folder in ("gradtape", "tests/ops"):
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=shutil.ignore_patterns("__pycache__"))
    for file in ("pyproject.toml", *[f"tests/{name}.py" for name in ("__init__", "conftest", "xla")]):
        shutil.copy(ROOT / file, tmp_path / file)
    found = edits()
    assert len(found) == 3
    for file, added in found.items():
        text = (tmp_path / file).read_text("utf-8").rstrip()
        in_rows = "/rows_" in file  # a row goes before the bracket that closes ROWS
        text = f"{text.removesuffix(')')}{added.rstrip()},\n)\n" if in_rows else f"{text}\n\n\n{added}"
        (tmp_path / file).write_text(text, "utf-8")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-k", "versine"]
    ran = subprocess.run(
        [*command, "tests/ops/test_table.py", "tests/ops/test_coverage.py"], cwd=tmp_path, capture_output=True, text=True
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    for what in ("gradients of second order", "special values"):
        assert f"1 op table: {what}" in ran.stdout, ran.stdout


def test_a_type_is_declared_once():
    with pytest.raises(KeyError, match=r"type 'Tanh' is declared already at .*elementary.py:\d+. Give the new op another type"):

        @op("Tanh")
        def tanh(x):
            return x
