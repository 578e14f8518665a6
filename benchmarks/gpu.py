"""Measure on a GPU, in turns with PyTorch and JAX: `make bench-gpu`. Without one the rows run on the CPU, for no number.

The table (Markdown and JSON) is written anew after each row, so that what was measured stays when the time is up.
"""

import argparse
import contextlib
import importlib
import importlib.util
import json
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks.measure import QUICK, Benchmark, Effort, Line
from benchmarks.peers import ROOT, TITLES, VARIANTS, WORKPLACE
from benchmarks.report import quantity

ROWS = "mlp sine_chain three_heads convolution new_shapes function_call lstm per_example jacobian hvp".split()
COLUMNS = ("gradtape", "torch_eager", "torch_compile", "jax_jit")
EFFORT = Effort(repetitions=8, seconds=0.1, warm_up=0.5, processes=1)
# No program of these is written yet.
PLANNED = {"rn": "ResNet-50, a step of batch 64", "gpt": "GPT-2-small, a step of 8 × 1,024"}
FIND = "import jax; print(jax.devices()[0].platform, jax.devices()[0].device_kind)"


def card() -> str | None:
    """The name of the GPU that JAX has, or None."""
    found = subprocess.run([sys.executable, "-c", FIND], capture_output=True, text=True)
    platform, _, name = found.stdout.strip().partition(" ")
    return name if platform in ("gpu", "cuda", "rocm") else None


@contextlib.contextmanager
def at_most(seconds: float) -> Iterator[None]:
    """Raise TimeoutError in the body after so many seconds; what it started ends with it."""

    def expired(*_):
        raise TimeoutError(f"it took longer than its {seconds:.0f} s")

    before = signal.signal(signal.SIGALRM, expired)
    signal.setitimer(signal.ITIMER_REAL, max(seconds, 0.01))
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def cell(line: Line, name: str, absent: dict[str, str]) -> str:
    """A measurement, or "not run" and why."""
    if name in line.numbers:
        return quantity(line.numbers[name], line.unit)
    return f"not run: {absent.get(name) or line.reasons.get(name) or 'the row has no program for it'}"


def write(path: Path, heading: str, lines: list[Line], absent: dict[str, str]) -> None:
    """The table as `path`.md and `path`.json."""
    table = [{"row": f"({line.key}) {line.title}", **{n: cell(line, n, absent) for n in COLUMNS}} for line in lines]
    text = [heading, "", "| row | " + " | ".join(TITLES[n] for n in COLUMNS) + " |", "|---|" + "--:|" * len(COLUMNS)]
    text += ["| " + " | ".join(cell.replace("|", "/") for cell in row.values()) + " |" for row in table]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.with_suffix(".md").write_text("\n".join(text) + "\n", "utf-8")
    path.with_suffix(".json").write_text(json.dumps({"heading": heading, "rows": table}, indent=1), "utf-8")


def main(arguments: list[str] | None = None) -> int:
    """Measure, and write the table; 1 if a result was wrong."""
    parser = argparse.ArgumentParser(prog="benchmarks.gpu", description=__doc__)
    parser.add_argument("--rows", help=f"some rows only, of {','.join(ROWS)}")
    parser.add_argument("--seconds", type=float, default=540, help="for all rows together")
    parser.add_argument("--row-seconds", type=float, default=60, help="for each row")
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "gpu" / "benchmarks")
    parsed = parser.parse_args(arguments)
    end, name = time.monotonic() + parsed.seconds, card()
    absent = {} if name else dict.fromkeys(COLUMNS, "no GPU here")
    there = {
        peer: sys.executable for peer in ("gradtape", "jax", "torch") if peer == "gradtape" or importlib.util.find_spec(peer)
    }
    taking = [v for v in VARIANTS if v.name in COLUMNS and v.peer in there]
    for variant in VARIANTS:
        if variant.name in COLUMNS and variant.peer not in there:
            absent.setdefault(variant.name, f"{variant.peer} is not installed")
    WORKPLACE.mkdir(exist_ok=True)
    benchmark, lines = Benchmark(taking, there, EFFORT if name else QUICK, "gpu" if name else "cpu"), []
    heading = f"On {name or 'no GPU: every row ran on the CPU, to see that it ends'}. float32; bfloat16 is not run."
    for row in parsed.rows.split(",") if parsed.rows else ROWS:
        module = importlib.import_module(f"benchmarks.rows.{row}")
        try:
            with at_most(min(parsed.row_seconds, end - time.monotonic())):
                found = benchmark.measure(module)
        except TimeoutError as error:
            found = [Line(module.KEY, module.TITLE, "s", reasons=dict.fromkeys(COLUMNS, str(error)))]
        for line in found:
            print(f"({line.key}) {line.title}: {line.reasons or 'ran'}", flush=True)
            if not name:
                line.numbers = {}
        lines += found
        write(parsed.out, heading, lines, absent)
    lines += [
        Line(key, title, "s", reasons=dict.fromkeys(COLUMNS, "no program is written yet")) for key, title in PLANNED.items()
    ]
    write(parsed.out, heading, lines, absent)
    print(f"{parsed.out}.md")
    return int(any(reason.startswith("WRONG") for line in lines for reason in line.reasons.values()))


if __name__ == "__main__":
    sys.exit(main())
