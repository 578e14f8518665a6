"""Profile a row's step on a GPU by the framework's profiler: `python -m benchmarks.kernels gpt2 gradtape`.

It prints the time of a step, the time in which the card was busy, and the longest kernels, each per step.
"""

import argparse
import gzip
import json
import tempfile
from collections import Counter
from pathlib import Path

from benchmarks.worker import Worker

WARM_UP = 20  # on a GPU gradtape compiles a program with full optimization only after some steps


def of_jax(steps: int, look) -> Counter:
    """Return the microseconds of each kernel in `steps` steps on the streams of a device, by JAX's profiler."""
    import jax

    with tempfile.TemporaryDirectory() as folder:
        with jax.profiler.trace(folder):
            look(steps)
        events = [
            event
            for path in Path(folder).rglob("*.trace.json.gz")
            for event in json.loads(gzip.decompress(path.read_bytes()))["traceEvents"]
        ]
    names = {(e["pid"], e.get("tid")): e["args"]["name"] for e in events if e.get("name") in ("process_name", "thread_name")}
    streams = {place for place, name in names.items() if place[1] is not None and name.startswith("Stream")}
    found = Counter()
    for event in events:
        if event.get("ph") == "X" and (event["pid"], event.get("tid")) in streams:
            found[event["name"]] += event["dur"]
    return found


def of_torch(steps: int, look) -> Counter:
    """Return the microseconds of each kernel in `steps` steps, by PyTorch's profiler."""
    from torch.profiler import ProfilerActivity, profile

    with profile(activities=[ProfilerActivity.CUDA]) as profiled:
        look(steps)
    return Counter({event.key: event.self_device_time_total for event in profiled.key_averages()})


def main() -> None:
    """Profile a row, and print the table."""
    parser = argparse.ArgumentParser(prog="benchmarks.kernels", description=__doc__)
    parser.add_argument("row", help="a file of benchmarks/rows")
    parser.add_argument("variant", help="gradtape, gradtape_fit, torch_eager, torch_compile or jax_jit")
    parser.add_argument("--precision", default="float32", help="float32 or bfloat16")
    parser.add_argument("--device", default="gpu", help="gpu or cpu (of which no kernel is seen)")
    parser.add_argument("--steps", type=int, default=5)
    parser.add_argument("--most", type=int, default=15, help="how many kernels are named")
    parsed = parser.parse_args()
    worker = Worker()
    worker.prepare(parsed.row, parsed.variant, parsed.device, parsed.precision)
    worker.look(WARM_UP)
    seconds = worker.look(parsed.steps) / parsed.steps
    found = (of_torch if parsed.variant.startswith("torch") else of_jax)(parsed.steps, worker.look)
    busy = sum(found.values()) / parsed.steps
    print(f"{parsed.row}, {parsed.variant}, {parsed.precision}: {1e3 * seconds:.3f} ms a step, kernels {busy / 1e3:.3f} ms")
    for name, duration in found.most_common(parsed.most):
        print(f"{duration / parsed.steps / 1e3:10.3f} ms {duration / parsed.steps / busy:5.0%}  {name[:100]}")


if __name__ == "__main__":
    main()
