"""Measurement of a row on a GPU: a step, the first step, the peak memory, and the counted work of a step."""

import contextlib
import math
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from itertools import zip_longest
from types import ModuleType

import numpy as np

from benchmarks.measure import REFERENCES, Benchmark, Line, judged, name_of, results_of
from benchmarks.peers import Variant
from benchmarks.precision import EXACT, TOLERANCES
from benchmarks.workers import WorkerError, WorkerProcess

# Targets of a step and of memory by the row's key. A small row's memory is that of the libraries' choice of kernels. Every row
# also has the target `BEST` times the best peer.
MODEL = {"jax_jit": 1.0, "torch_eager": 0.95, "torch_compile": 1.1}
TARGETS = {"a": {"torch_eager": 0.6}, "rn": MODEL, "gpt": MODEL}
MEMORY = {"rn": {"jax_jit": 1.0}, "gpt": {"jax_jit": 1.0}}
BEST = 1.2
# It compiles for long on the CPU alone, so on a card it starts during the row before. The others measure kernels there.
AHEAD = "torch_compile"


@dataclass
class Figures:
    """The results of a row in one precision. `flops` and `moved` (bytes, as if nothing was fused) are those of a step."""

    row: str
    precision: str
    step: Line
    first: Line
    memory: Line
    flops: float = math.nan
    moved: float = math.nan

    @classmethod
    def of(cls, row: ModuleType, precision: str) -> "Figures":
        """Return results without numbers."""
        key, title = row.KEY, f"{row.TITLE}, {precision}"
        step, first = Line(key, title, "s", TARGETS.get(key, {})), Line(key, title, "s", compared=False)
        return cls(name_of(row), precision, step, first, Line(key, title, "bytes", MEMORY.get(key, {})))

    @classmethod
    def read(cls, stored: dict) -> "Figures":
        """Read the results that `asdict` wrote."""
        return cls(**stored | {name: Line(**stored[name]) for name in ("step", "first", "memory")})

    def lines(self) -> list[Line]:
        return [self.step, self.first, self.memory]

    def give_up(self, name: str, reason: str) -> None:
        """Note the reason for the missing numbers of a variant."""
        for line in self.lines():
            if name not in line.numbers:
                line.reasons.setdefault(name, reason)

    def forget(self, reason: str) -> None:
        """Remove all numbers, with this reason."""
        for line in self.lines():
            line.reasons = dict.fromkeys([*line.numbers, *line.reasons], reason)
            line.numbers = {}
        self.flops = self.moved = math.nan

    def to_dict(self) -> dict:
        """Return everything as JSON data."""
        return asdict(self)


def rank(variant: Variant) -> int:
    """Return the rank of a variant among the references for results."""
    return REFERENCES.index(variant.name) if variant.name in REFERENCES else len(REFERENCES)


@contextlib.contextmanager
def at_most(seconds: float, why: str) -> Iterator[None]:
    """Raise TimeoutError in the body after `seconds`; the processes that it started end with it."""

    def expired(*_):
        raise TimeoutError(why)

    before = signal.signal(signal.SIGALRM, expired)
    signal.setitimer(signal.ITIMER_REAL, max(seconds, 0.01))
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@contextlib.contextmanager
def without_alarm() -> Iterator[None]:
    """Delay the alarm of `at_most` to the end of the body, as nobody would end a process that is just starting."""
    late: list[int] = []
    before = signal.signal(signal.SIGALRM, lambda number, _: late.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGALRM, before)
    if late:
        signal.raise_signal(signal.SIGALRM)


@dataclass
class _Side:
    """A measured variant, its process, and the number of steps in a repetition."""

    worker: WorkerProcess
    steps: int = 0


@dataclass
class Begun:
    """A row whose processes build their steps, one for each variant and one for exact results; they end with `stack`."""

    stack: ExitStack
    sides: dict[str, _Side]
    exact: WorkerProcess | None


@dataclass
class OnACard:
    """Measures rows as `benchmark` would, for its variants.

    `tiny`: without a card rows use their tiny sizes. `roomy`: the card has memory for all variants of a row at the same time,
    also for rows with `APART`.
    """

    benchmark: Benchmark
    tiny: bool
    roomy: bool = False
    results: dict[str, list[np.ndarray]] = field(default_factory=dict)
    exact: list[np.ndarray] | None = None
    end: float = math.inf

    def measure_all(
        self, rows: list[tuple[ModuleType, str]], end: float, seconds: Callable[[ModuleType], float]
    ) -> Iterator[tuple[ModuleType, Figures]]:
        """Yield the results of each row in a precision; the processes of the next row start during its measurement."""
        begun = None
        try:
            for (row, precision), later in zip_longest(rows, rows[1:]):
                now, begun = begun, self.begin(*later) if later is not None else None
                yield row, self.measure(row, precision, end, seconds(row), now)
        finally:
            if begun is not None:
                begun.stack.close()

    def measure(self, row: ModuleType, precision: str, end: float, seconds: float, begun: Begun | None = None) -> Figures:
        """Return the results of a row, measured in at most `seconds`, and until `end` (of `time.monotonic`).

        `begun` is the result of `begin` for it.
        """
        found, self.results, self.exact = Figures.of(row, precision), {}, None
        refused = getattr(row, "REFUSED", {}).get(precision)
        variants = self.benchmark.variants_of(row)
        if refused:
            for variant in variants:
                found.give_up(variant.name, refused)
            return found
        left = end - time.monotonic()
        self.end = time.monotonic() + min(seconds, left)
        why = f"the row took longer than its {seconds:.0f} s" if seconds < left else "the time of all rows was over"
        try:
            with at_most(min(seconds, left), why):
                for place, together in enumerate(self.turns(row, variants)):
                    now = begun if begun is not None else self.start(row, precision, together, first=place == 0)
                    with now.stack:
                        self.fill(found, row, now)
        except TimeoutError as error:
            for variant in variants:
                found.give_up(variant.name, str(error))
        return found

    def begin(self, row: ModuleType, precision: str) -> Begun | None:
        """Start the processes of a row while another is measured; None if its variants cannot be in memory at the same time."""
        variants = self.benchmark.variants_of(row)
        if self.tiny or precision in getattr(row, "REFUSED", {}) or len(self.turns(row, variants)) != 1:
            return None
        return self.start(row, precision, variants, first=True)

    def turns(self, row: ModuleType, variants: list[Variant]) -> list[list[Variant]]:
        """Return the groups of variants that run at the same time: all, or one at a time, the reference first."""
        if self.roomy or not getattr(row, "APART", False):
            return [variants]
        return [[variant] for variant in sorted(variants, key=rank)]

    def start(self, row: ModuleType, precision: str, variants: list[Variant], first: bool) -> Begun:
        """Start a process for each variant at the same time, and with the `first` group that for exact results."""
        name, size, exact = name_of(row), "tiny" if self.tiny else "full", None
        with ExitStack() as stack:
            with without_alarm():
                sides = {variant.name: _Side(self.benchmark.worker(variant, stack)) for variant in variants}
            for side in sides.values():
                side.worker.send_prepare(name, precision, size)
            if AHEAD in sides and not self.tiny:
                sides[AHEAD].worker.send("look", 1)
            if precision == "bfloat16" and first:
                with without_alarm():
                    exact = self.benchmark.worker(min(variants, key=rank), stack)
                exact.send_prepare(name, EXACT, size)
            return Begun(stack.pop_all(), sides, exact)

    def in_float32(self, row: ModuleType, worker: WorkerProcess) -> list[np.ndarray] | None:
        """Return the results in float32 of the first of REFERENCES, for the same numbers; None if it fails."""
        try:
            worker.answer()
            worker.ask("look", row.CHECKED_STEPS)
            return results_of(worker)
        except WorkerError:
            return None
        finally:
            worker.process.kill()

    def fill(self, found: Figures, row: ModuleType, begun: Begun) -> None:
        """Measure variants that run at the same time."""
        sides = begun.sides
        if begun.exact is not None:
            self.exact = self.in_float32(row, begun.exact)
        for name, side in list(sides.items()):
            with self.noted(found, name, sides):
                side.worker.answer(halt=self.tiny or name != AHEAD)
        for name, side in list(sides.items()):
            with self.noted(found, name, sides):
                if self.tiny or name != AHEAD:
                    side.worker.send("look", 1)
                # At most half of the time, to leave some for the others.
                (found.first.numbers[name],) = side.worker.answer(within=max(0.0, self.end - time.monotonic()) / 2)
                if row.CHECKED_STEPS > 1:
                    side.worker.ask("look", row.CHECKED_STEPS - 1)
                self.results[name] = results_of(side.worker)
        tolerance = row.TOLERANCE
        if not self.tiny or found.precision != "float32":
            tolerance = max(tolerance, (TOLERANCES | getattr(row, "TOLERANCES", {}))[found.precision])
        for name in judged(found.step, self.results, tolerance, self.exact):
            found.give_up(name, found.step.reasons[name])
            sides.pop(name, None)
        self.take_turns(found, row, sides)
        for name, side in list(sides.items()):
            with self.noted(found, name, sides):
                (peak,) = side.worker.ask("device_peak")
                if math.isnan(peak):
                    found.memory.reasons[name] = "the device keeps no count of its memory"
                else:
                    found.memory.numbers[name] = peak
        if "gradtape" in sides and getattr(row, "COUNTED", True):
            with self.noted(found, "gradtape", sides):
                found.flops, found.moved = sides["gradtape"].worker.ask("count")

    def take_turns(self, found: Figures, row: ModuleType, sides: dict[str, _Side]) -> None:
        """Measure the seconds of a step: the minimum of repetitions in which the variants take turns."""
        run = "run" if getattr(row, "STEPS_DEPEND", False) else "look"
        usual = getattr(row, "STEPS", None), getattr(row, "REPETITIONS", self.benchmark.effort.repetitions)
        steps, repetitions = getattr(row, "ON_A_CARD", usual)
        for name, side in list(sides.items()):
            with self.noted(found, name, sides):
                side.steps = steps or self.benchmark.warm_up(side.worker, run)
        for _ in range(repetitions):
            for name, side in list(sides.items()):
                with self.noted(found, name, sides):
                    (seconds,) = side.worker.ask(run, side.steps)
                    found.step.numbers[name] = min(seconds / side.steps, found.step.numbers.get(name, math.inf))

    @contextlib.contextmanager
    def noted(self, found: Figures, name: str, sides: dict[str, _Side]) -> Iterator[None]:
        """Drop a variant whose process answers with an error, and note the error."""
        try:
            yield
        except WorkerError as error:
            found.give_up(name, str(error))
            sides.pop(name, None)
