"""Helpers for floating-point kernels: the type to compute in, exact means, and a test for zero cotangents."""

from math import prod

from gradtape._src.core.platform.arrays import jnp, lax
from gradtape._src.core.programs.program import NUMBER
from gradtape._src.ops.array.shape import _broadcast_to


def wide(x):
    """Return `x` in the type to compute in: float32 for 16-bit floats, else its own."""
    return x.astype(jnp.float32) if x.dtype in (jnp.float16, jnp.bfloat16) else x


def in_float64(kernel, x):
    """Return `kernel(x)` computed in float64, in the dtype of `x`."""
    return kernel(x.astype(jnp.float64)).astype(x.dtype)


def divided(total, count):
    """Return `total` / `count`, rounded once. XLA would multiply by 1 / `count`, so that the mean of 41 ones is not 1."""
    return total / lax.optimization_barrier(jnp.broadcast_to(jnp.asarray(count, total.dtype), total.shape))


def mean_over(x, axis, keepdims=False):
    """Return the mean over `axis`, in the dtype of `x`."""
    return divided(jnp.sum(x, axis=axis, keepdims=keepdims), prod([x.shape[a] for a in axis]))


def is_zeros(dy):
    """Return whether a cotangent is known to be zeros because nothing flowed into this output of the op."""
    node = dy.node
    if node.op is _broadcast_to.op and node.inputs is not None:
        (node,) = node.inputs
    return node.index == NUMBER and not node.value
