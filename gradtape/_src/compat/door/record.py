"""TensorFlow's question to the open tapes, which libraries with gradients of their own ask: is a gradient wanted here?"""

from __future__ import annotations

from collections.abc import Sequence

from gradtape._src.autodiff.backward import active_nodes
from gradtape._src.core.engine import local
from gradtape._src.core.errors import public
from gradtape._src.core.tensor import Tensor


@public
def should_record_backprop(tensors: Sequence[Tensor]) -> bool:
    """Return whether one of the tensors depends on something that an open tape watches."""
    nodes = [tensor.node for tensor in tensors]
    for reference in local.tapes:
        tape = reference()
        if tape is not None:
            entries, offsets = tape._entries()
            active = active_nodes(entries, tape._starts(offsets, tape._reads()))
            if any(node in active for node in nodes):
                return True
    return False
