"""The errors for tensors that are used where they have no value: outside of their function, branch or loop."""

from __future__ import annotations

from gradtape._src.core.errors import InaccessibleTensorError


def out_of_scope(inside: bool, beside: bool) -> Exception:
    """Return the error for a tensor of another trace: of one `inside` this trace, or `beside` it in the same function."""
    if inside:
        return InaccessibleTensorError(
            "A tensor is out of scope and cannot be used here: it is of a branch, loop or function inside of this "
            "one. Return it from there, or bind it to a name that exists before; a list that grows in a loop is a tf.TensorArray."
        )
    if beside:
        return ValueError(
            "A tensor that was computed in one branch, loop or function is accessed from another one beside it, such as a "
            "false_fn from which one of the true_fn is accessed. Compute it before both, or in each of them."
        )
    return TypeError(
        "A tensor is out of scope and cannot be used here: it is of a function or gradient that was being traced, and used "
        "outside of it, where it has no value. Return it from the function instead of storing it."
    )
