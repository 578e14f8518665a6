"""What ops on floating-point numbers share: the type to compute in, and cotangents that are known to be zeros."""

import jax.numpy as jnp

from gradtape._src.core.program import NUMBER
from gradtape._src.ops.array import _broadcast_to


def wide(x):
    """`x` in the type to compute in: float32 for 16-bit floats, else its own."""
    return x.astype(jnp.float32) if x.dtype in (jnp.float16, jnp.bfloat16) else x


def is_zeros(dy):
    """Whether a cotangent is known to be zeros from how it was made: nothing flowed into this output of the op."""
    node = dy.node
    if node.op is _broadcast_to.op and node.inputs is not None:
        (node,) = node.inputs
    return node.index == NUMBER and not node.value
