"""What the checks of a function look at, where no device is needed for it."""

from collections.abc import Sequence

import numpy as np

from gradtape._src.core.program import Node, Program, leaf
from gradtape._src.core.tensor import to_numpy

SAME_ELEMENTS = frozenset(["Cast", "ExpandDims", "Identity", "Reshape", "Squeeze"])


def on_host(program: Program, inputs: Sequence[Node]) -> list[Node] | None:
    """What `program` gives for `inputs` that have values, as arrays on the host; None if it does more than cast and reshape.

    So labels that a loss casts are looked at in each step of training without a program of their own.
    """
    if program.constants or any(op.type not in SAME_ELEMENTS for op, *_ in program.keys):
        return None
    arrays: dict[int, np.ndarray] = {}
    for reference in {r for _, _, r, *_ in program.keys} | {*program.outputs}:
        if reference < 0:
            node = inputs[-1 - reference]
            if node.value is None:
                return None
            arrays[reference] = to_numpy(node)
    for index, (_, _, reference, *_) in enumerate(program.keys):
        of = program.avals[index]
        with np.errstate(invalid="ignore"):
            arrays[index] = arrays[reference].astype(of.dtype).reshape(of.shape)
    return [leaf(program.aval_of(r), arrays[r]) for r in program.outputs]
