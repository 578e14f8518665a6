"""Compare gradtape with JAX, PyTorch and TensorFlow: one table, with the repetitions of all interleaved in one call."""

import argparse
import json
import platform
import sys
from dataclasses import asdict
from datetime import date

from rich.console import Console

from benchmarks import report
from benchmarks.measure import FULL, QUICK, Benchmark
from benchmarks.models import MODELS
from benchmarks.peers import VARIANTS, WORKPLACE, PeerUnavailable, python_of, version_of
from benchmarks.rows import dataset_map, find
from benchmarks.runs import Run, Stored, store

ROWS = (
    "mlp",
    "sine_chain",
    "recorded_op",
    "as_array",
    "traced_call",
    "three_heads",
    "convolution",
    "process_start",
    "import_alone",
    "peak_memory",
    "new_shapes",
    "known_shapes",
    "new_lengths_transformer",
    "new_lengths_gru",
    "augmix",
    "guide_programs",
    "first_step_mlp",
    "first_step_three_heads",
    "first_step_dcgan",
    "first_step_transformer",
    "first_svd",
    *[f"first_epoch:{model}" for model in MODELS],
    "first_open_batch",
    "memory_growth",
    "function_call",
    "steps_per_call",
    "open_batch",
    "loop_gradient_short",
    "loop_gradient",
    "loop_gradient_long",
    "while_gradient",
    "neural_ode",
    "row_maps",
    "vectorized_map",
    "lstm",
    "jacobian",
    "per_example",
    "budget_memory",
    "hvp",
    "sparse_jacobian",
    "sparse_hessian",
    "sparse_grid",
    "sparse_mesh",
    "sparse_pattern",
    "levenberg_marquardt",
    "levenberg_marquardt_batch",
    "laplacian",
    "fixed_point",
    "fit_mlp",
    "fit_cnn",
    "fit_lstm",
    "fit_transformer",
    "fit_embeddings",
    "fit_volumes",
    *[f"tape_loop:{model}" for model in MODELS],
    *[f"dataset_map:{elements}" for elements in dataset_map.WHICH],
)


def main(arguments: list[str] | None = None) -> int:
    """Measure, print the table, and store a whole run in benchmarks/results; 1 if a result was wrong."""
    rows = {module.KEY: module for module in map(find, ROWS)}
    parser = argparse.ArgumentParser(prog="benchmarks", description=__doc__)
    parser.add_argument("--rows", help=f"some rows only, of {','.join(rows)}")
    parser.add_argument("--variants", help=f"some columns only, of {','.join(report.TITLES)}")
    parser.add_argument("--quick", action="store_true", help="few repetitions: to try it, not to quote it")
    parser.add_argument("--store", action="store_true", help="store it in benchmarks/results, as a whole run always is")
    parser.add_argument("--python", action="append", default=[], metavar="PEER=PATH", help="the Python that has a peer installed")
    parsed = parser.parse_args(arguments)
    keys = choice(parser, parsed.rows, rows)
    names = choice(parser, parsed.variants, report.TITLES)
    given = dict(argument.split("=", 1) for argument in parsed.python)
    console = Console(stderr=True, highlight=False)

    pythons, missing = {}, []
    for peer in dict.fromkeys(variant.peer for variant in VARIANTS if variant.name in names):
        try:
            with console.status(f"{peer}: setting up its environment"):
                pythons[peer] = python_of(peer, given)
        except PeerUnavailable as error:
            missing.append(f"{peer} could not be installed: {error}")
    variants = [variant for variant in VARIANTS if variant.name in names and variant.peer in pythons]
    versions = {peer: version_of(peer, python) for peer, python in pythons.items()}
    effort = ("few", QUICK) if parsed.quick else ("full", FULL)
    whole = not (parsed.quick or parsed.rows or parsed.variants or missing)
    found = Run("cpu", str(date.today()), report.machine(), platform.python_version(), versions, effort[0], whole, [])

    WORKPLACE.mkdir(exist_ok=True)
    (WORKPLACE / "workers.log").unlink(missing_ok=True)
    benchmark, lines = Benchmark(variants, pythons, effort[1]), []
    for key in keys:
        with console.status(f"({key}) {rows[key].TITLE}"):
            lines += benchmark.measure(rows[key])

    report.print_table(lines, found.heading())
    for reason in missing:
        console.print(reason, markup=False)
    (WORKPLACE / "results.json").write_text(json.dumps([asdict(line) for line in lines], indent=1))
    if whole or parsed.store:
        found.lines = [Stored.of(line) for line in lines]
        console.print(f"{store(found)}: `make snapshot` writes its tables into the pages", markup=False)
    return int(any(reason.startswith("WRONG") for line in lines for reason in line.reasons.values()))


def choice(parser: argparse.ArgumentParser, text: str | None, known) -> list[str]:
    """Return the names in `text`, separated by commas, all of them `known`; by default all known ones."""
    chosen = list(known) if text is None else text.split(",")
    for name in chosen:
        if name not in known:
            parser.error(f"received {name!r}, expected some of {','.join(known)}")
    return chosen


if __name__ == "__main__":
    sys.exit(main())
