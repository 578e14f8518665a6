"""The cost of one run of an op: FLOPs, as stated by its declaration (counted as in `ops/flops.py`), and bytes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from gradtape._src.core.programs.op import Attributes, Op
from gradtape._src.core.programs.traits import Trait
from gradtape._src.core.values.aval import bytes_of


def flops(op: Op, attrs: Attributes, inputs: Sequence[Any], result: Any) -> float | None:
    """Return the FLOPs of one run of an op on inputs of these Avals; None without a formula."""
    results = result if type(result) is tuple else (result,)
    numbers = [a for a in (*inputs, *results) if type(a) is not tuple and a.inexact]
    if not numbers or op.flops == 0:
        return 0
    if op.flops is None:
        return None
    found = (
        op.flops(dict(zip(op.attributes, attrs, strict=True)), inputs, result) if callable(op.flops) else op.flops * result.size
    )
    if any(a.dtype.kind == "c" for a in numbers):
        found *= _real_for_complex(op)
    return None if math.isnan(found) else found


def _real_for_complex(op: Op) -> float:
    """Return the average number of real operations for a complex one; NaN if unknown."""
    if Trait.REAL_FLOPS in op.traits:
        return 1
    if Trait.CONTRACTS in op.traits:  # half of them sums (2), half products (6)
        return 4
    return 6 if Trait.PRODUCT in op.traits else 2 if Trait.LINEAR in op.traits else math.nan


def moved(op: Op, inputs: Sequence[Any], result: Any) -> int:
    """Return the bytes that an op by itself reads and writes: inputs and result; for a slice or gather, only the rows taken."""
    if Trait.RENAMES in op.traits:
        return 0
    results = result if type(result) is tuple else (result,)
    written = sum(map(bytes_of, results))
    if Trait.TAKES in op.traits:
        return 2 * written
    return sum([bytes_of(a) for a in inputs if type(a) is not tuple]) + written
