"""How many steps fill a repetition."""

import math

import pytest

from benchmarks.measure import Benchmark, Effort


class Program:
    """A worker whose steps take a millisecond, and one of them `compiling` seconds more."""

    def __init__(self, compiled_at: float, compiling: float):
        self.done, self.compiled_at, self.compiling = 0, compiled_at, compiling

    def ask(self, run: str, steps: int) -> list[float]:
        """The seconds of so many steps."""
        before, self.done = self.done, self.done + steps
        return [1e-3 * steps + (self.compiling if before < self.compiled_at <= self.done else 0.0)]


@pytest.mark.parametrize("compiled_at", [9, 40, math.inf])
def test_a_step_that_compiles_does_not_count(compiled_at):
    benchmark = Benchmark([], {}, Effort(repetitions=1, seconds=0.1, warm_up=0.0, processes=1))
    steps = benchmark.warm_up(Program(compiled_at, compiling=3.0), "look")
    assert steps == 100
