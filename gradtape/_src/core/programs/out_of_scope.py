"""The errors for tensors that are used outside of their function, branch or loop, where they have no value."""

from __future__ import annotations

from gradtape._src.core.base.errors import InaccessibleTensorError
from gradtape._src.core.platform.places import place
from gradtape._src.core.programs import journal
from gradtape._src.core.programs.program import Node


def out_of_scope(node: Node, inside: bool, beside: bool) -> Exception:
    """Return the error for a tensor of another trace, which is `inside` this one or `beside` it in the same function."""
    tensor = _described(node)
    if inside:
        return InaccessibleTensorError(
            f"{tensor} is out of scope and cannot be used here: it is of a branch, loop or function inside of this "
            "one. Return it from there, or bind it to a name that exists before; a list that grows in a loop is a tf.TensorArray."
        )
    if beside:
        return ValueError(
            f"{tensor} was computed in one branch, loop or function and is accessed from another one beside it, such as a "
            "false_fn from which one of the true_fn is accessed. Compute it before both, or in each of them."
        )
    return TypeError(
        f"{tensor} is out of scope and cannot be used here: it is of a function or gradient that was being traced, and used "
        "outside of it, where it has no value. Return it from the function instead of storing it."
    )


def _described(node: Node) -> str:
    """Return an op's result with its dtype, shape and the user's line; a parameter has no line."""
    shown = f"{node.aval.type.name}, shape {node.aval.open_shape}"
    file, number = journal.file_and_number((node.code, node.offset))
    if file is None:
        return f"An argument ({shown})"
    return f"The result of {node.op.type} ({shown}) at {place(file, number)}"
