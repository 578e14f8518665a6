"""Facts about an op besides its kernel and gradient. A declaration states them, and other modules read them from the op."""

from __future__ import annotations

import enum
from typing import Any


class Trait(enum.Flag):
    """Yes-or-no facts about an op. A declaration names them in lower case: `traits="linear renames"`."""

    OWN = enum.auto()  # TensorFlow has no op of this type; registering a gradient under this name leaves the op alone
    RENAMES = enum.auto()  # it moves no data: its result is one of its inputs, or follows from their shapes
    TAKES = enum.auto()  # it reads only the selected elements of its first input
    LINEAR = enum.auto()  # linear in all of its inputs together
    LINEAR_IN_FIRST = enum.auto()  # linear in its first input, the others fixed
    ADDS = enum.auto()  # its result is the sum of its inputs
    PRODUCT = enum.auto()  # linear in each of its inputs, the others fixed
    CONTRACTS = enum.auto()  # a product that sums over axes: expensive to compute for the size of its result
    CONVOLVES = enum.auto()  # XLA's libraries have a convolution for it
    REFLECTS = enum.auto()  # it decomposes matrices by reflections, for which LAPACK uses threads
    ARITHMETIC = enum.auto()  # computing it again costs less than reading its value
    KEEPS_NORM = enum.auto()  # its result has the Euclidean norm of its input, and consists of the same factors
    REAL_FLOPS = enum.auto()  # its `flops` count operations on real numbers, also if its values are complex
    HANDS_ON = enum.auto()  # it passes on elements of its inputs; TensorFlow's `enable_check_numerics` ignores it
    BLOCKWISE = enum.auto()  # its inputs are batches of matrices; each result depends on one matrix of the batch
    SHARES_LAST = enum.auto()  # a BLOCKWISE op whose last input is shared by the batch
    STEPS = enum.auto()  # it rounds, or returns the remainder of rounding: its derivative is that of a step
    INVERTS = enum.auto()  # it maps infinity to 0
    GRADIENT_GIVEN = enum.auto()  # its inputs are a function's results, then its arguments, with a custom gradient between them
    PLACES = enum.auto()  # it states the device or sharding of a value, and returns the value unchanged
    DEMANDED = enum.auto()  # its inputs are checked even if its result is unused
    HOLDS_CODE = enum.auto()  # an attribute is a Python function, which cannot be saved as data
    WRITES_BYTES = enum.auto()  # it writes values as bytes
    HOLDS_FOR_ALL = enum.auto()  # its advice `instead` holds for every use of its result


# Other facts of a declaration, with their defaults; the docstring of `Op` explains them.
FACTS: dict[str, Any] = {
    "traits": Trait(0), "flops": None, "folds": None, "operator": None, "default_name": None, "instead": "",
    "at_edge": "",
}  # fmt: skip


def facts(type: str, stated: dict[str, Any]) -> dict[str, Any]:
    """Return all facts of an op, with defaults for those not `stated`; raise TypeError for an unknown one."""
    names = stated.get("traits", "").upper().split()
    if strange := stated.keys() - FACTS.keys() | set(names) - Trait.__members__.keys():
        raise TypeError(f"{type} states {', '.join(sorted(strange))}: an op has {', '.join([*FACTS, *Trait.__members__])}.")
    traits = Trait(0)
    for name in names:
        traits |= Trait[name]
    moves = Trait.RENAMES in traits or Trait.TAKES in traits
    return FACTS | {"flops": 0 if moves else None} | stated | {"traits": traits}
