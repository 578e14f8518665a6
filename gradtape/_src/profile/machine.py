"""Measured times, and their fraction of the machine's peak."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import jax
import jax.numpy as jnp

from gradtape._src.core.platform import xla
from gradtape._src.core.programs.program import Program

REPETITIONS = 5
SIDE = 1024  # the size of the matrices that measure the peak


@dataclass(frozen=True)
class Measured:
    """Measured seconds of the forward pass and of both passes, FLOPs per second of both, and the machine's peak in float32."""

    forward_seconds: float
    seconds: float
    flops_per_second: float
    peak_flops_per_second: float

    @property
    def share_of_peak(self) -> float:
        """FLOPs per second as a fraction of the machine's peak."""
        return self.flops_per_second / self.peak_flops_per_second

    def to_dict(self) -> dict[str, float]:
        """Return all numbers as a dict."""
        return {**asdict(self), "share_of_peak": self.share_of_peak}

    def __str__(self) -> str:
        speed, most = self.flops_per_second / 1e9, self.peak_flops_per_second / 1e9
        return (
            f"measured: {self.seconds * 1e3:,.3f} ms, forward {self.forward_seconds * 1e3:,.3f} ms; {speed:,.2f} GFLOP/s, "
            f"{self.share_of_peak:.1%} of the {most:,.0f} GFLOP/s that this machine does in a large float32 product"
        )


def measured(programs: Sequence[Program], values: Sequence[Sequence[Any] | None], flops: int) -> Measured:
    """Run the Programs of the forward pass and of both passes several times; return the shortest times."""
    if None in values:
        raise ValueError("measure=True runs the program, so it needs the values of its arguments: give them to profile().")
    forward, both = [_seconds(xla.jit(p.evaluate), v or ()) for p, v in zip(programs, values, strict=True)]
    return Measured(forward, both, flops / both, peak_flops_per_second())


@functools.cache
def peak_flops_per_second() -> float:
    """Return the speed of a float32 matrix product, as the machine's peak."""
    matrix = jnp.ones((SIDE, SIDE), jnp.float32)
    return 2 * SIDE**3 / _seconds(xla.jit(jnp.matmul), [matrix, matrix])


def _seconds(function: Callable[..., Any], arguments: Sequence[Any]) -> float:
    jax.block_until_ready(function(*arguments))
    best = float("inf")
    for _ in range(REPETITIONS):
        start = time.perf_counter()
        jax.block_until_ready(function(*arguments))
        best = min(best, time.perf_counter() - start)
    return best
