"""The ops that read and assign variables, and the error for an update of the wrong shape."""

from __future__ import annotations

from typing import Any

from gradtape._src.core.base.errors import InvalidArgumentError, invalid
from gradtape._src.core.programs.op import Kernel, Op, define
from gradtape._src.core.values.aval import Aval, printed

STATE = (
    "an assignment changes state, and state stops gradients: compute with the tensor itself, or keep the new value in a tensor"
)


def _assigning(type: str, kernel: Kernel, **known: Any) -> Op:
    strings = kernel if kernel is _whole else None
    return define(Op(type, kernel, infer=lambda value, *rest: value, strings=strings, reason=STATE, **known))


def _whole(value: Any) -> Any:
    return value


ASSIGN = _assigning("AssignVariableOp", _whole, traits="renames")
ASSIGN_ADD = _assigning("AssignAddVariableOp", lambda value, delta: value + delta, flops=1)
ASSIGN_SUB = _assigning("AssignSubVariableOp", lambda value, delta: value - delta, flops=1)
# An explicit read (read_value, identity) gives a new tensor, distinct from the variable.
READ = define(
    Op(
        "ReadVariableOp", _whole, infer=_whole, cheap=True, strings=_whole, gradient=lambda op, dy: dy, takes_slices=True,
        traits="renames",
    )
)  # fmt: skip


def invalid_shapes(name: str, how: str, mine: Aval, other: Aval) -> InvalidArgumentError:
    """Return the error for an update whose shape differs from the variable's."""
    return invalid(
        f"Cannot update variable with shape {printed(mine.shape)} using a Tensor with shape {printed(other.shape)}, shapes must "
        f"be equal. This was {how} on '{name}'. Broadcast the value with tf.broadcast_to."
    )
