"""Notebooks are kept without outputs, and each says what it finds. `make notebooks` runs them."""

import ast
import json
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
NOTEBOOKS = sorted((ROOT / "docs/notebooks").glob("*.ipynb"))
CELL = re.compile(r"In \[(\d+)\], line (\d+)")


@pytest.fixture(params=NOTEBOOKS, ids=lambda path: path.stem)
def cells(request):
    """The sources of a notebook's cells of code."""
    return [
        "".join(cell["source"]) for cell in json.loads(request.param.read_text("utf-8"))["cells"] if cell["cell_type"] == "code"
    ]


def test_there_are_five_and_each_is_on_the_page():
    page = (ROOT / "docs/notebooks/README.md").read_text("utf-8")
    assert len(NOTEBOOKS) == 5
    assert set(re.findall(r"\((\w+\.ipynb)\)", page)) == {path.name for path in NOTEBOOKS}


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_no_output_is_kept(path):
    code = [cell for cell in json.loads(path.read_text("utf-8"))["cells"] if cell["cell_type"] == "code"]
    assert all(cell["outputs"] == [] and cell["execution_count"] is None for cell in code)


def test_cells_are_python(cells):
    assert all(ast.parse(cell).body for cell in cells)


def test_a_cell_that_is_named_is_there(cells):
    for number, line in CELL.findall("\n".join(cells)):
        assert cells[int(number) - 1].splitlines()[int(line) - 1].strip()


def test_continuous_integration_runs_some():
    [names] = re.findall(r'^make notebooks ARGS="(.*)"', (ROOT / ".ci/run").read_text("utf-8"), re.MULTILINE)
    assert set(names.split()) <= {path.stem for path in NOTEBOOKS}
