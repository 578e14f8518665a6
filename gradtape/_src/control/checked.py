"""What the checks of a function look at, where no device is needed for it."""

from collections.abc import Sequence

import numpy as np

from gradtape._src.core.program import Node, Program, leaf
from gradtape._src.core.tensor import to_numpy

SAME_ELEMENTS = frozenset(["Cast", "ExpandDims", "Identity", "Reshape", "Squeeze"])


def on_host(program: Program, inputs: Sequence[Node]) -> list[Node] | None:
    """What `program` gives for `inputs` that have values, as arrays on the host; None if it does more than cast and reshape.

    So labels that a loss casts are looked at in each step of training without a program of their own. Of the inputs, the first
    will do.
    """
    used = program.derived.get("on host")
    if used is None:
        used = program.derived["on host"] = _used(program)
    if not used or -min(used) > len(inputs):
        return None
    arrays: dict[int, np.ndarray] = {}
    for reference in used:
        node = inputs[-1 - reference]
        if node.value is None:
            return None
        arrays[reference] = to_numpy(node)
    with np.errstate(invalid="ignore"):
        for index, (_, _, reference, *_) in enumerate(program.keys):
            of = program.avals[index]
            arrays[index] = arrays[reference].astype(of.dtype, copy=False).reshape(of.shape)
    return [leaf(program.aval_of(r), arrays[r]) for r in program.outputs]


def _used(program: Program) -> tuple[int, ...]:
    """The parameters that are looked at; none if more is done than to cast and reshape them."""
    if program.constants or any(op.type not in SAME_ELEMENTS for op, *_ in program.keys):
        return ()
    return tuple([r for r in {r for _, _, r, *_ in program.keys} | {*program.outputs} if r < 0])
