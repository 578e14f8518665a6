"""The benchmark for a GPU ends on a CPU, and every cell of its tables is a measurement or says that it was not run."""

import json
import math
import sys
from types import SimpleNamespace

import pytest

from benchmarks import cards, gpu, gpu_tables, on_a_card
from benchmarks.measure import QUICK, Benchmark, Line
from benchmarks.on_a_card import Figures
from benchmarks.peers import VARIANTS, WORKPLACE
from benchmarks.precision import rounded, wide
from benchmarks.rows import hvp, mlp
from benchmarks.workers import WorkerProcess


def test_a_row_ends_on_a_cpu_and_no_cell_is_a_number(tmp_path):
    assert gpu.main(["--rows", "per_example", "--out", str(tmp_path / "table")]) == 0
    rows = [Figures.read(row) for row in json.loads((tmp_path / "table.json").read_text("utf-8"))["rows"]]
    assert [(row.row, row.precision) for row in rows] == [("per_example", "float32"), ("per_example", "bfloat16")]
    assert all(line.numbers == {} and line.reasons["gradtape"] == "no GPU here" for row in rows for line in row.lines())
    assert "| (pe)" in (tmp_path / "table.md").read_text("utf-8")


@pytest.mark.parametrize("model", ["resnet50", pytest.param("gpt2", marks=pytest.mark.long)])
def test_a_small_model_runs_to_its_end(model, tmp_path):
    """On every side that is installed; a result that deviates would make the status 1."""
    assert gpu.main(["--rows", model, "--precisions", "float32", "--out", str(tmp_path / "table")]) == 0
    (row,) = json.loads((tmp_path / "table.json").read_text("utf-8"))["rows"]
    assert {name: row["step"]["reasons"][name] for name in ("gradtape", "gradtape_fit", "jax_jit")} == dict.fromkeys(
        ("gradtape", "gradtape_fit", "jax_jit"), "no GPU here"
    )
    assert set(row["step"]["deviations"]) >= {"gradtape", "gradtape_fit", "jax_jit"}


def test_what_took_too_long_says_so(tmp_path, capsys):
    assert gpu.main(["--rows", "per_example", "--row-seconds", "0.1", "--out", str(tmp_path / "table")]) == 0
    assert "the row took longer than its 0 s" in capsys.readouterr().out
    assert gpu.main(["--rows", "per_example", "--seconds", "0.1", "--out", str(tmp_path / "table")]) == 0
    assert "the time of all rows was over" in capsys.readouterr().out


def test_a_side_whose_first_step_takes_too_long_leaves_time_to_the_others(tmp_path, monkeypatch, capsys):
    """`torch.compile` can take minutes: the others are measured."""
    answer = WorkerProcess.answer

    def late(self, within=None, halt=True):
        return answer(self, 0.0 if within is not None and self.variant.name == "jax_jit" else within, halt)

    monkeypatch.setattr(WorkerProcess, "answer", late)
    assert gpu.main(["--rows", "per_example", "--precisions", "float32", "--out", str(tmp_path / "table")]) == 0
    assert "{'jax_jit': 'no answer within 0 s'}" in capsys.readouterr().out


def figures(**numbers):
    found = Figures.of(mlp, "float32")
    found.step.numbers, found.flops, found.moved = dict(numbers), 1e9, 1e8
    return found


def test_a_cell_is_a_measurement_or_says_why_not():
    line = Line("a", "a row", "s", numbers={"gradtape": 0.002}, reasons={"jax_jit": "WRONG"})
    cells = [gpu_tables.cell(line, name, {"torch_eager": "torch is not installed"}) for name in gpu_tables.COLUMNS]
    assert cells[0] == "2.00 ms"
    assert cells[1] == cells[3] == "not run: the row has no program for it"
    assert cells[2::2] == ["not run: torch is not installed", "not run: WRONG"]


def test_targets_are_judged_where_there_are_numbers():
    assert (
        gpu_tables.judged(figures(gradtape=1.0, torch_eager=2.0, jax_jit=0.9).step)
        == "≤ 0.6 × PyTorch eager ✓, ≤ 1.2 × the best ✓"
    )
    assert (
        gpu_tables.judged(figures(gradtape=1.0, torch_eager=1.0, jax_jit=0.5).step)
        == "≤ 0.6 × PyTorch eager ✗, ≤ 1.2 × the best ✗"
    )
    assert gpu_tables.judged(figures(gradtape=1.0).step) == ""


def test_work_is_a_share_of_what_the_card_can_do():
    card, found = cards.known("NVIDIA A100-SXM4-80GB"), figures(gradtape=1e-4)
    assert gpu_tables.achieved(found, "gradtape", card, {}) == "10 TFLOP/s (6%), 1 TB/s (49%)"
    assert gpu_tables.achieved(found, "gradtape", None, {}) == "10 TFLOP/s, 1 TB/s"
    found.flops = math.nan
    assert gpu_tables.achieved(found, "gradtape", card, {}) == "not run: the work of the row is not counted"


@pytest.mark.parametrize(
    "name, bandwidth",
    [
        ("NVIDIA H200", 4.8e12),
        ("NVIDIA H100 80GB HBM3", 3.35e12),
        ("NVIDIA H100 PCIe", 2.0e12),
        ("NVIDIA A100-SXM4-40GB", 1.555e12),
        ("NVIDIA A100-SXM4-80GB", 2.039e12),
        ("NVIDIA A100 80GB PCIe", 1.935e12),
    ],
)
def test_cards_are_known_by_their_names(name, bandwidth):
    assert cards.known(name).bandwidth == bandwidth


def test_other_cards_are_not_known():
    assert cards.known("NVIDIA L4") is cards.known(None) is None


def test_a_later_call_keeps_what_was_measured(tmp_path):
    path, heading = tmp_path / "table.json", "On a card."
    gpu_tables.write(path, heading, [figures(gradtape=1.0), figures()], None, {})
    (found,) = gpu.measured_before(path, heading).values()
    assert not gpu.has_number(found) and not gpu.has_number(None)  # the second of the same row
    gpu_tables.write(path, heading, [figures(gradtape=1.0)], None, {})
    assert gpu.has_number(gpu.measured_before(path, heading)["mlp", "float32"])
    assert gpu.measured_before(path, "On another card.") == {}
    assert gpu.measured_before(tmp_path / "none.json", heading) == {}


def test_numbers_are_rounded_in_nested_lists():
    x, weights = rounded(mlp.start)()
    assert x.dtype == weights[0].dtype == "bfloat16"
    assert wide(x).dtype == "float32"
    exact, _ = rounded(mlp.start, "float32")()
    assert (exact == wide(x)).all() and (exact != mlp.start()[0]).any()


def test_a_row_that_makes_no_sense_in_bfloat16_says_so():
    bench = gpu.OnACard(SimpleNamespace(variants_of=lambda row: [SimpleNamespace(name="gradtape")]), tiny=True)
    found = bench.measure(SimpleNamespace(__name__="r", KEY="r", TITLE="a row", REFUSED={"bfloat16": "why"}), "bfloat16", 0, 0)
    assert found.step.reasons == {"gradtape": "why"}


def test_the_processes_of_the_next_row_start_beside_a_row(monkeypatch):
    """As on a card; a variant that compiles ahead has its first step there."""
    monkeypatch.setattr(on_a_card, "AHEAD", "jax_jit")
    variants = [variant for variant in VARIANTS if variant.name in ("gradtape", "jax_jit")]
    bench = gpu.OnACard(Benchmark(variants, dict.fromkeys(("gradtape", "jax"), sys.executable), QUICK), tiny=False)
    events, start, fill = [], bench.start, bench.fill
    monkeypatch.setattr(bench, "start", lambda row, *rest, **kept: events.append(("start", row.KEY)) or start(row, *rest, **kept))
    monkeypatch.setattr(bench, "fill", lambda found, row, begun: events.append(("fill", row.KEY)) or fill(found, row, begun))
    WORKPLACE.mkdir(exist_ok=True)
    found = [figures for _, figures in bench.measure_all([(hvp, "float32"), (hvp, "bfloat16")], math.inf, lambda row: 120)]
    assert [key for key, _ in events] == ["start", "start", "fill", "fill"]
    for figures in found:
        assert set(figures.step.numbers) == set(figures.first.numbers) == {"gradtape", "jax_jit"}, figures.step.reasons
