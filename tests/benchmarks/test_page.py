"""The tables of the benchmarks' page and of README are those of the stored runs; each row is of the latest run that has it."""

from dataclasses import asdict

import pytest

from benchmarks import page, rows, run, runs
from benchmarks.behind import BEHIND
from benchmarks.gpu import of_figures
from benchmarks.measure import Line
from benchmarks.on_a_card import Figures
from benchmarks.peers import ROOT
from benchmarks.rows import mlp
from benchmarks.runs import Run, Stored


def a_run(date="2026-01-02", whole=False, device="cpu", **ratios):
    lines = [
        Stored(key, f"row {key}", "s", {"gradtape": 1e-3}, {"torch_eager": share}, {"torch_eager": 1.0})
        for key, share in ratios.items()
    ]
    return Run(device, date, "a machine", "3.12", {"torch": "2"}, "full", whole, lines)


@pytest.mark.parametrize("path", [page.PAGE, page.README, page.GPUS], ids=lambda path: path.name)
def test_tables_are_those_of_the_stored_runs(path):
    assert path.read_text("utf-8") == page.pages()[path], "make snapshot writes the tables"


def test_pages_have_their_length():
    for path, most in ((page.PAGE, 150), (page.README, 120), (ROOT / "CHANGELOG.md", 150)):
        assert len(path.read_text("utf-8").splitlines()) <= most, path


def test_a_row_is_of_the_latest_run_that_has_it():
    found = runs.latest([a_run(a=0.5, b=2.0), a_run(b=0.7), a_run(device="gpu", b=3.0)], "cpu")
    assert [(line.key, line.ratios["torch_eager"], number) for line, number in found] == [("a", 0.5, 1), ("b", 0.7, 2)]


def test_a_stored_run_is_read_back_and_a_whole_one_replaces_those_of_its_device(tmp_path):
    card, some, whole = a_run(device="gpu", a=1.0), a_run(a=0.5), a_run(date="2026-01-03", whole=True, a=0.4)
    for one in (card, some):
        runs.store(one, tmp_path)
    assert sorted(map(asdict, runs.stored(tmp_path)), key=str) == sorted(map(asdict, [some, card]), key=str)
    assert runs.store(whole, tmp_path).name == "2026-01-03-cpu-1.json"
    assert [one.date for one in runs.stored(tmp_path) if one.device == "cpu"] == ["2026-01-03"]
    assert [one.device for one in runs.stored(tmp_path)] == ["gpu", "cpu"]


def test_a_measured_line_is_stored_with_its_ratios():
    line = Line("a", "a step", "s", {"torch_eager": 0.5}, 1e-4, numbers={"gradtape": 2e-4, "torch_eager": 8e-4, "jax_jit": 1e-4})
    stored = Stored.of(line)
    assert stored.ratios == {"torch_eager": 0.25, "jax_jit": 2.0}
    assert stored.behind() == {"limit": (None, 1e-4)}
    figures = Figures.of(mlp, "bfloat16")
    figures.step.numbers = {"gradtape": 2.0, "jax_jit": 1.0}
    step, first, memory = of_figures(figures)
    assert (step.title, step.precision, step.behind()) == (mlp.TITLE, "bfloat16", {"best": (2.0, 1.2)})
    assert (first.measured, memory.measured, memory.unit) == ("first step", "memory", "bytes")


def test_what_is_behind_its_target_has_a_row_and_the_rest_none():
    text = "\n".join(page.behind([a_run(a=1.5, zz=2.5, c=0.9)], "cpu"))
    assert "| (a) 1.50 × PyTorch eager, ≤ 1.0 | Recording " in text
    assert "| (zz) 2.50 × PyTorch eager, ≤ 1.0 | Not looked into. |" in text
    assert "(c)" not in text


def test_causes_are_of_rows_that_there_are():
    known = {line.key for line, _ in runs.latest(runs.stored(), "cpu")} | set(" ".join(page.TABLES.values()).split())
    assert {key for one in BEHIND for key in one.keys.split()} <= known | set(page.ON_A_CARD.split())
    assert set(page.IN_README) <= known


def test_lines_of_a_row_share_one_of_the_table():
    ends = ("empty cache", "programs cached on disk")
    lines = [(Stored("e", f"a start, {end}", "s", {"gradtape": 0.5}, {"torch_eager": 2.0}, {}), 3) for end in ends]
    assert page.measured(lines, "T")[-2] == (
        "| (e) a start: empty cache / programs cached on disk | 500 ms / 500 ms | **2.00 ×** / **2.00 ×** | 3 |"
    )


def test_a_page_without_the_marks_is_refused():
    with pytest.raises(ValueError, match=r"must hold the lines '<!-- From benchmarks/results"):
        page.replaced("no marks", "text")


def test_each_row_of_the_benchmark_has_a_place_on_the_page():
    keys = {rows.find(name).KEY for name in run.ROWS}
    assert keys == set(" ".join(page.TABLES.values()).split())
