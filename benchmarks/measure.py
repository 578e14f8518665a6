"""The methods of measurement, one for each kind of row."""

import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType

import numpy as np

from benchmarks.peers import WORKPLACE, Variant
from benchmarks.workers import WorkerError, WorkerProcess

# The first existing one is the reference for results.
REFERENCES = ("torch_eager", "tensorflow_eager", "jax_jit", "tensorflow_function", "scipy")


@dataclass
class Line:
    """A line of the table: for each variant a number in `unit`, or the reason why it is missing.

    `targets` are upper bounds of the ratio of gradtape's number to another's, `limit` one of the number itself.
    """

    key: str
    title: str
    unit: str
    targets: dict[str, float] = field(default_factory=dict)
    limit: float | None = None
    compared: bool = True
    numbers: dict[str, float] = field(default_factory=dict)
    reasons: dict[str, str] = field(default_factory=dict)
    deviations: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Effort:
    """The effort of a measurement: repetitions of `seconds` after a warm-up, and the number of processes for single values."""

    repetitions: int
    seconds: float
    warm_up: float
    processes: int


FULL = Effort(repetitions=15, seconds=0.2, warm_up=1.0, processes=3)
QUICK = Effort(repetitions=3, seconds=0.05, warm_up=0.2, processes=1)


class Benchmark:
    """Measures rows for `variants`, whose peers run in `pythons`."""

    def __init__(self, variants: list[Variant], pythons: dict[str, str], effort: Effort, device: str = "cpu"):
        self.variants, self.pythons, self.effort, self.device = variants, pythons, effort, device
        self.kinds: dict[str, Callable[[ModuleType], list[Line]]] = {
            "time per step": self.time_per_step,
            "process start": self.process_start,
            "first step": self.first_step,
            "processor time": self.processor_time,
            "peak memory": self.peak_memory,
            "memory growth": self.memory_growth,
        }

    def measure(self, row: ModuleType) -> list[Line]:
        """Return the lines of the table for `row`."""
        return self.kinds[row.MEASURE](row)

    def variants_of(self, row: ModuleType) -> list[Variant]:
        """Return the variants for which `row` has a function, with only those settings of gradtape that it asks for."""
        refused = set()
        if not getattr(row, "WITH_TUNED_ALLOCATOR", False):
            refused |= {variant.name for variant in self.variants if variant.tuned}
        if not getattr(row, "WITH_RECORDING_IN_PYTHON", False):
            refused |= {variant.name for variant in self.variants if variant.pure}
        return [variant for variant in self.variants if hasattr(row, variant.function) and variant.name not in refused]

    def worker(self, variant: Variant, stack: ExitStack, cache: str | None = None) -> WorkerProcess:
        """Start a process for `variant` that ends with `stack`; without `cache` it starts with an empty one."""
        if cache is None:
            cache = stack.enter_context(tempfile.TemporaryDirectory(prefix="gradtape-bench-"))
        log = stack.enter_context((WORKPLACE / "workers.log").open("a"))
        return stack.enter_context(WorkerProcess(variant, self.pythons[variant.peer], Path(cache), log, self.device))

    def time_per_step(self, row: ModuleType) -> list[Line]:
        """Measure the seconds per step in steady state: the minimum of interleaved repetitions, and of a row's PROCESSES."""
        line = Line(row.KEY, row.TITLE, "s", row.TARGETS)
        for _ in range(getattr(row, "PROCESSES", 1)):
            self.repeat(row, line)
        return [line]

    def repeat(self, row: ModuleType, line: Line) -> None:
        """Measure with one process for each variant that is not noted as wrong."""
        run = "run" if getattr(row, "STEPS_DEPEND", False) else "look"
        with ExitStack() as stack:
            workers = {}
            for variant in [variant for variant in self.variants_of(row) if variant.name not in line.reasons]:
                try:
                    worker = self.worker(variant, stack)
                    worker.prepare(name_of(row))
                    worker.ask("look", row.CHECKED_STEPS)
                    workers[variant.name] = worker
                except WorkerError as error:
                    line.reasons[variant.name] = str(error)
            self.compare(row, line, workers)
            steps = {name: getattr(row, "STEPS", None) or self.warm_up(worker, run) for name, worker in workers.items()}
            for _ in range(getattr(row, "REPETITIONS", self.effort.repetitions)):
                for name, worker in workers.items():
                    (seconds,) = worker.ask(run, steps[name])
                    line.numbers[name] = min(seconds / steps[name], line.numbers.get(name, np.inf))

    def compare(self, row: ModuleType, line: Line, workers: dict[str, WorkerProcess]) -> None:
        """Compare the results of all `workers`, and drop those that deviate by more than the tolerance of `row`."""
        results = {name: results_of(worker) for name, worker in workers.items()}
        for name in judged(line, results, row.TOLERANCE):
            del workers[name]

    def warm_up(self, worker: WorkerProcess, run: str) -> int:
        """Run `worker` for a while; return the number of steps in a repetition.

        It is based on the fastest measurement, as a compilation during the last one would give too few steps.
        """
        end = time.perf_counter() + self.effort.warm_up
        steps, seconds, fastest = 1, 0.0, np.inf
        while time.perf_counter() < end or seconds < self.effort.seconds / 2:
            steps = steps * 2 if seconds < self.effort.seconds / 2 else steps
            (seconds,) = worker.ask(run, steps)
            fastest = min(fastest, seconds / steps)
        return max(1, round(self.effort.seconds / fastest))

    def process_start(self, row: ModuleType) -> list[Line]:
        """Measure the seconds from the start of a process to its first result."""
        return self.in_new_processes(row, lambda since_start, step: since_start)

    def first_step(self, row: ModuleType) -> list[Line]:
        """Measure the seconds of the first step of a process."""
        return self.in_new_processes(row, lambda since_start, step: step)

    def processor_time(self, row: ModuleType) -> list[Line]:
        """Measure the seconds of the processor, those of all threads together, in the first step of a process."""
        line = Line(row.KEY, row.TITLE, "s", row.TARGETS, row.LIMIT)
        for variant in self.variants_of(row) * (1 + self.effort.processes):
            with ExitStack() as stack:
                try:
                    worker = self.worker(variant, stack)
                    worker.prepare(name_of(row))
                    (before,) = worker.ask("processor")
                    worker.ask("look", 1)
                    (after,) = worker.ask("processor")
                except WorkerError as error:
                    line.reasons[variant.name] = str(error)
                    continue
            line.numbers[variant.name] = min(after - before, line.numbers.get(variant.name, np.inf))
        return [line]

    def in_new_processes(self, row: ModuleType, clock: Callable[[float, float], float]) -> list[Line]:
        """Return the minimum of `clock` over processes with an empty cache of compiled programs, and with a filled one."""
        limit = getattr(row, "LIMIT", None)
        empty = Line(row.KEY, f"{row.TITLE}, empty cache", "s", row.TARGETS, limit)
        filled = Line(row.KEY, f"{row.TITLE}, programs cached on disk", "s", row.TARGETS, limit)
        with tempfile.TemporaryDirectory(prefix="gradtape-bench-") as folder:
            for repetition in range(1 + self.effort.processes):
                for variant in self.variants_of(row):
                    for line, cache in ((empty, None), (filled, f"{folder}/{variant.name}")):
                        if variant.name in line.reasons:
                            continue
                        try:
                            seconds = self.in_new_process(row, variant, cache, clock)
                        except WorkerError as error:
                            line.reasons[variant.name] = str(error)
                            continue
                        if repetition:  # the first repetition fills this cache and the system's file cache
                            line.numbers[variant.name] = min(seconds, line.numbers.get(variant.name, np.inf))
        return [empty, filled]

    def in_new_process(self, row: ModuleType, variant: Variant, cache: str | None, clock) -> float:
        """Return `clock` of one process."""
        with ExitStack() as stack:
            start = time.perf_counter()
            worker = self.worker(variant, stack, cache)
            worker.prepare(name_of(row))
            (step,) = worker.ask("look", 1)
            return clock(time.perf_counter() - start, step)

    def peak_memory(self, row: ModuleType) -> list[Line]:
        """Measure the peak memory during some steps after the first, above that before the first."""
        line = Line(row.KEY, row.TITLE, "bytes", row.TARGETS)
        for variant in self.variants_of(row):
            with ExitStack() as stack:
                try:
                    worker = self.worker(variant, stack)
                    worker.prepare(name_of(row))
                    before, _, _ = worker.ask("memory")
                    worker.ask("look", row.STEPS)
                    worker.ask("reset_peak")
                    worker.ask("look", row.STEPS)
                    _, peak, _ = worker.ask("memory")
                    line.numbers[variant.name] = peak - before
                except WorkerError as error:
                    line.reasons[variant.name] = str(error)
        return [line]

    def memory_growth(self, row: ModuleType) -> list[Line]:
        """Measure the growth of resident memory and of the number of Python objects between two numbers of steps."""
        memory = Line(row.KEY, f"{row.TITLE} memory", "bytes", limit=row.MEMORY_LIMIT, compared=False)
        objects = Line(row.KEY, f"{row.TITLE} objects", "count", limit=row.OBJECTS_LIMIT, compared=False)
        some, many = row.STEPS
        for variant in self.variants_of(row):
            with ExitStack() as stack:
                try:
                    worker = self.worker(variant, stack)
                    worker.prepare(name_of(row))
                    worker.ask("run", some)
                    resident, _, count = worker.ask("memory")
                    worker.ask("run", many - some)
                    resident_later, _, count_later = worker.ask("memory")
                    memory.numbers[variant.name] = resident_later - resident
                    objects.numbers[variant.name] = count_later - count
                except WorkerError as error:
                    memory.reasons[variant.name] = str(error)
        return [memory, objects]


def name_of(row: ModuleType) -> str:
    """Return the name of the file of `row`."""
    return row.__name__.rpartition(".")[2]


def results_of(worker: WorkerProcess) -> list[np.ndarray]:
    """Return the arrays of the latest step of `worker`."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "results.npz")
        worker.ask("save", path)
        with np.load(path) as arrays:
            return [arrays[key] for key in arrays.files]


def judged(line: Line, results: dict, tolerance: float, reference: list[np.ndarray] | None = None) -> list[str]:
    """Note in `line` the deviation of results from the reference (by default the first of REFERENCES); return the wrong ones."""
    reference = reference or next((results[name] for name in REFERENCES if name in results), None)
    wrong = []
    for name, arrays in results.items() if reference is not None else ():
        line.deviations[name] = deviation(arrays, reference)
        if not line.deviations[name] <= tolerance:
            line.reasons[name] = f"WRONG: deviates by {line.deviations[name]:.1e}, tolerated {tolerance:.0e}"
            wrong.append(name)
    return wrong


def deviation(arrays: list[np.ndarray], reference: list[np.ndarray]) -> float:
    """Return the largest difference of an element from the reference, relative to the largest element of its array."""
    if [array.shape for array in arrays] != [array.shape for array in reference]:
        return np.inf
    differences = [
        np.abs(array - expected).max() / max(np.abs(expected).max(), np.finfo(np.float32).tiny)
        for array, expected in zip(arrays, reference, strict=True)
    ]
    return float(np.max(differences))  # max() could lose a NaN
