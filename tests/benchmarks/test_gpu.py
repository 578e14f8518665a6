"""The benchmark for a GPU ends on a CPU, and every cell of its table is a measurement or says that it was not run."""

import json

from benchmarks import gpu
from benchmarks.measure import Line


def test_on_a_cpu_it_ends_and_no_cell_is_a_number(tmp_path):
    assert gpu.main(["--rows", "per_example", "--out", str(tmp_path / "table")]) == 0
    rows = json.loads((tmp_path / "table.json").read_text("utf-8"))["rows"]
    assert len(rows) == 1 + len(gpu.PLANNED)
    assert all(row[name].startswith("not run: ") for row in rows for name in gpu.COLUMNS)
    assert "| (pe)" in (tmp_path / "table.md").read_text("utf-8")


def test_a_row_that_takes_too_long_is_not_run(tmp_path):
    assert gpu.main(["--rows", "per_example", "--row-seconds", "0.1", "--out", str(tmp_path / "table")]) == 0
    assert "| (pe)" in (tmp_path / "table.md").read_text("utf-8")


def test_a_cell_is_a_measurement_or_says_why_not():
    line = Line("a", "a row", "s", numbers={"gradtape": 0.002}, reasons={"jax_jit": "WRONG"})
    cells = [gpu.cell(line, name, {"torch_eager": "torch is not installed"}) for name in gpu.COLUMNS]
    assert cells == ["2.00 ms", "not run: torch is not installed", "not run: the row has no program for it", "not run: WRONG"]
