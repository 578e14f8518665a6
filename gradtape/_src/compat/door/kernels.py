"""The kernels of ops by the names that TensorFlow's messages give them, for programs and tests that look for one.

TensorFlow's messages begin with the kernel; here it is the last line, so that the sense comes first.
"""

from __future__ import annotations

from gradtape._src.core.engine import tiers
from gradtape._src.core.programs.op import ops

# Kernels of oneDNN, which TensorFlow takes on a CPU.
ONEDNN = {
    "BatchMatMulV2": "__MklBatchMatMulV2",
    "Conv2D": "__MklNativeConv2D",
    "Einsum": "__MklEinsum",
    "MatMul": "__MklMatMul",
}
# Ops of these folders are called by a name that is empty in eager code; their messages show it.
NAMED = ("gradtape._src.ops.linalg.", "gradtape._src.ops.math.", "gradtape._src.ops.nn.")


def kernel(type: str) -> tuple[str, str]:
    """Return the kernel of the op `type` as an error names it, and what follows the type of the op in its message."""
    found = ops.get(type)
    behind = " name: " if found is not None and found.kernel.__module__.startswith(NAMED) else ""
    place = f"/job:localhost/replica:0/task:0/device:{tiers.default_place().upper()}:0"
    return f"{{{{function_node __wrapped__{ONEDNN.get(type, type)}_device_{place}}}}}", behind
