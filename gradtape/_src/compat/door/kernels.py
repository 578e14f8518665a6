"""The kernels of ops under TensorFlow's names, for programs and tests that look for them in error messages.

TensorFlow's messages begin with the kernel; here it is the last line, so that the explanation comes first.
"""

from __future__ import annotations

from gradtape._src.core.engine import tiers
from gradtape._src.core.programs.op import ops

# Kernels of oneDNN, which TensorFlow uses on a CPU.
ONEDNN = {
    "BatchMatMulV2": "__MklBatchMatMulV2",
    "Conv2D": "__MklNativeConv2D",
    "Einsum": "__MklEinsum",
    "MatMul": "__MklMatMul",
}
# In eager code, messages about ops of these folders show an empty name.
NAMED = ("gradtape._src.ops.linalg.", "gradtape._src.ops.math.", "gradtape._src.ops.nn.")


def kernel(type: str) -> tuple[str, str]:
    """Return the name of the kernel of the op `type`, and the text behind the op in TensorFlow's message."""
    found = ops.get(type)
    behind = " name: " if found is not None and found.kernel.__module__.startswith(NAMED) else ""
    place = f"/job:localhost/replica:0/task:0/device:{tiers.default_place().upper()}:0"
    return f"{{{{function_node __wrapped__{ONEDNN.get(type, type)}_device_{place}}}}}", behind
