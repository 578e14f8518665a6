"""Measure on a GPU, in turns with PyTorch and JAX: `make bench-gpu`. Without a GPU the rows only run, on the CPU.

The tables (Markdown and JSON) are rewritten after each row, so that results remain when the time is up. A later call on the
same card begins with the rows without a number, and keeps the others.
"""

import argparse
import importlib
import importlib.util
import json
import platform
import sys
import time
from collections.abc import Sequence
from datetime import date
from pathlib import Path

from benchmarks import cards, gpu_tables
from benchmarks.gpu_tables import COLUMNS
from benchmarks.measure import QUICK, Benchmark, Effort
from benchmarks.on_a_card import BEST, Figures, OnACard
from benchmarks.peers import ROOT, VARIANTS, WORKPLACE, version_of
from benchmarks.runs import Run, Stored, store

# Each model is followed by a small row, whose processes start during its measurement.
ROWS = "gpt2 mlp resnet50 sine_chain three_heads convolution new_shapes function_call lstm per_example jacobian hvp".split()
OURS = ("gradtape", "gradtape_fit")
PRECISIONS = ("float32", "bfloat16")
ALL = [(row, precision) for precision in PRECISIONS for row in ROWS]
ROOMY = 100e9  # bytes of memory that hold a large row of all variants
EFFORT = Effort(repetitions=8, seconds=0.1, warm_up=0.5, processes=1)


def taking_part(there: list[str], columns: Sequence[str] = COLUMNS) -> tuple[list, dict[str, str]]:
    """Return the variants of these columns whose peer is installed, and the reasons for the absence of others."""
    wanted = [variant for variant in VARIANTS if variant.name in columns]
    absent = {variant.name: f"{variant.peer} is not installed" for variant in wanted if variant.peer not in there}
    return [variant for variant in wanted if variant.name not in absent], absent


def measured_before(path: Path, heading: str) -> dict[tuple[str, str], Figures]:
    """Return the rows of an earlier call with the same heading."""
    if not path.exists():
        return {}
    stored = json.loads(path.read_text("utf-8"))
    rows = [Figures.read(row) for row in stored["rows"]] if stored["heading"] == heading else []
    return {(row.row, row.precision): row for row in rows}


def has_number(figures: Figures | None) -> bool:
    """Return whether gradtape's step was measured."""
    return figures is not None and "gradtape" in figures.step.numbers


def of_figures(found: Figures) -> list[Stored]:
    """Convert a row to the lines of a stored run; a step also has the target of the best peer."""
    title = importlib.import_module(f"benchmarks.rows.{found.row}").TITLE
    step = Stored.of(found.step, title, precision=found.precision, targets=found.step.targets | {"best": BEST})
    first = Stored.of(found.first, title, precision=found.precision, measured="first step")
    return [step, first, Stored.of(found.memory, title, precision=found.precision, measured="memory")]


def main(arguments: list[str] | None = None) -> int:
    """Measure, and write the tables; 1 if a result of gradtape was wrong."""
    parser = argparse.ArgumentParser(prog="benchmarks.gpu", description=__doc__)
    parser.add_argument("--rows", help=f"some rows only, of {','.join(ROWS)}; they are measured again")
    parser.add_argument("--precisions", default=",".join(PRECISIONS), help="float32, bfloat16, or both")
    parser.add_argument("--variants", default=",".join(COLUMNS), help=f"some only, of {','.join(COLUMNS)}")
    parser.add_argument("--seconds", type=float, default=540, help="for all rows together")
    parser.add_argument("--row-seconds", type=float, help="for each row: 60, and 240 for the models; on a CPU an even share")
    parser.add_argument("--store", action="store_true", help="store it in benchmarks/results, for the tables of the pages")
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "gpu" / "benchmarks")
    parsed = parser.parse_args(arguments)
    if unknown := set(parsed.variants.split(",")) - set(COLUMNS):
        parser.error(f"--variants has {', '.join(sorted(unknown))}; there are {', '.join(COLUMNS)}")
    end, card = time.monotonic() + parsed.seconds, cards.name()
    there = [peer for peer in ("gradtape", "jax", "torch") if peer == "gradtape" or importlib.util.find_spec(peer)]
    variants, absent = taking_part(there, parsed.variants.split(","))
    versions = {peer: version_of(peer, sys.executable) for peer in there}
    place = card or "no GPU: every row ran on the CPU in a small size, to see that it ends"
    heading = f"On {place}. {', '.join(f'{peer} {version}' for peer, version in versions.items())}."
    names = parsed.rows.split(",") if parsed.rows else ROWS
    wanted = [(name, precision) for precision in parsed.precisions.split(",") for name in names]
    known = measured_before(parsed.out.with_suffix(".json"), heading) if card else {}
    WORKPLACE.mkdir(exist_ok=True)
    pythons = dict.fromkeys(there, sys.executable)
    data = cards.known(card)
    benchmark = Benchmark(variants, pythons, EFFORT if card else QUICK, "gpu" if card else "cpu")
    bench = OnACard(benchmark, tiny=card is None, roomy=data is not None and data.memory >= ROOMY)
    left = wanted if parsed.rows else [pair for pair in wanted if not has_number(known.get(pair))] or wanted
    rows = [(importlib.import_module(f"benchmarks.rows.{name}"), precision) for name, precision in left]
    even, wrong = parsed.seconds / len(left), False

    def seconds(row):
        return parsed.row_seconds or (getattr(row, "SECONDS", 60) if card else even)

    for row, found in bench.measure_all(rows, end, seconds):
        print(f"({row.KEY}) {found.step.title}: {found.step.reasons or 'ran'}", flush=True)
        wrong |= any(found.step.reasons.get(name, "").startswith("WRONG") for name in OURS)
        if not card:
            found.forget("no GPU here")
        known[found.row, found.precision] = found
        gpu_tables.write(parsed.out, heading, [known[pair] for pair in ALL if pair in known], data, absent)
    print(f"{parsed.out}.md")
    if parsed.store:
        whole = all(has_number(known.get(pair)) for pair in ALL)
        stored = [line for pair in ALL if pair in known for line in of_figures(known[pair])]
        print(store(Run("gpu", str(date.today()), card or "no GPU", platform.python_version(), versions, "full", whole, stored)))
    return int(wrong)


if __name__ == "__main__":
    sys.exit(main())
