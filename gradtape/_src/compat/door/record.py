"""The open tapes of a thread, for libraries with their own gradients: `tensorflow.python.eager.record`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from gradtape._src.autodiff.backward import active_nodes
from gradtape._src.autodiff.custom import custom_gradient
from gradtape._src.autodiff.recording import Recording
from gradtape._src.core.base.public import public
from gradtape._src.core.engine.engine import local
from gradtape._src.core.tensors.scopes import stop_recording as stop_recording
from gradtape._src.core.tensors.tensor import Tensor
from gradtape._src.ops.array.shape import identity


@public
def should_record_backprop(tensors: Sequence[Tensor]) -> bool:
    """Return whether an open tape watches one of the tensors, or one of their inputs."""
    nodes = [tensor.node for tensor in tensors]
    for reference in local.tapes:
        tape = reference()
        if tape is not None:
            entries, offsets = tape._entries()
            active = active_nodes(entries, tape._starts(offsets, tape._reads()))
            if any(node in active for node in nodes):
                return True
    return False


@public
def record_operation(
    op_type: str,
    output_tensors: Sequence[Tensor],
    input_tensors: Sequence[Tensor],
    backward_function: Callable[..., Any],
    forward_function: Callable[..., Any] | None = None,
) -> None:
    """Record tensors on the open tapes as computed from others, with a custom gradient.

    `backward_function` takes a gradient for each output, and returns one for each input.
    """

    @custom_gradient
    def recorded(*inputs: Tensor) -> Any:
        return [identity(output) for output in output_tensors], backward_function

    if output_tensors and input_tensors:
        for output, result in zip(output_tensors, recorded(*input_tensors), strict=True):
            output.node = result.node


class VariableWatcher(Recording):
    """A recorder of the trainable variables that are used in its context, for `watched_variables`."""

    _inner = True
