"""Facts about an op besides its kernel and gradient: they stand with the declaration, and whoever needs one asks the op."""

from __future__ import annotations

import enum
from typing import Any


class Trait(enum.Flag):
    """Facts that hold for an op or not. A declaration has their names in small letters: `traits="linear renames"`."""

    OWN = enum.auto()  # TensorFlow has no op of this type: a user's gradient may have such a name, and the op keeps its own
    RENAMES = enum.auto()  # it moves nothing: its result is one of its inputs under another name, or known from their shapes
    TAKES = enum.auto()  # of its first input it reads only what it takes
    LINEAR = enum.auto()  # in all of its inputs together
    LINEAR_IN_FIRST = enum.auto()  # in its first input, the others fixed
    ADDS = enum.auto()  # its result is the sum of its inputs
    PRODUCT = enum.auto()  # linear in each of its inputs, the others fixed
    CONTRACTS = enum.auto()  # a product that sums over axes: long to compute for the room that it takes
    CONVOLVES = enum.auto()  # XLA's libraries have a convolution for it
    REFLECTS = enum.auto()  # it decomposes matrices by reflections, for which LAPACK has threads
    ARITHMETIC = enum.auto()  # computing it again costs less than to read its value
    KEEPS_NORM = enum.auto()  # its result has the Euclidean norm of its input, and is made of the same factors
    REAL_FLOPS = enum.auto()  # its `flops` are operations on real numbers for complex ones, too
    HANDS_ON = enum.auto()  # TensorFlow's `enable_check_numerics` does not look at it: its elements are those of its inputs
    BLOCKWISE = enum.auto()  # its inputs are batches of matrices: what it gives for a matrix depends on no other one
    SHARES_LAST = enum.auto()  # but for its last input, which is for all of a batch
    STEPS = enum.auto()  # it rounds, or gives what is left by it: its derivative is that of a step
    INVERTS = enum.auto()  # it makes 0 of infinity
    GRADIENT_GIVEN = enum.auto()  # its inputs are results of a function, then its arguments, to which a given gradient leads
    PLACES = enum.auto()  # it says where a value lies, and gives it as it is
    DEMANDED = enum.auto()  # its inputs are checked whether anybody uses its result or not
    HOLDS_CODE = enum.auto()  # an attribute is a Python function, which is no data
    WRITES_BYTES = enum.auto()  # it writes values as bytes
    HOLDS_FOR_ALL = enum.auto()  # what it says `instead` holds whatever its result is used for


# What else may be declared, with its default; `Op` says what each is.
FACTS: dict[str, Any] = {
    "traits": Trait(0), "flops": None, "folds": None, "operator": None, "default_name": None, "instead": "",
    "at_edge": "",
}  # fmt: skip


def facts(type: str, stated: dict[str, Any]) -> dict[str, Any]:
    """Return all facts of an op of which some are `stated`; TypeError for one that there is not."""
    names = stated.get("traits", "").upper().split()
    if strange := stated.keys() - FACTS.keys() | set(names) - Trait.__members__.keys():
        raise TypeError(f"{type} states {', '.join(sorted(strange))}: an op has {', '.join([*FACTS, *Trait.__members__])}.")
    traits = Trait(0)
    for name in names:
        traits |= Trait[name]
    moves = Trait.RENAMES in traits or Trait.TAKES in traits
    return FACTS | {"flops": 0 if moves else None} | stated | {"traits": traits}
