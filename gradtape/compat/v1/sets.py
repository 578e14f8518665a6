"""Sets under TensorFlow 1's names."""

from gradtape._src.compat.v1_names import falls_back as _falls_back
from gradtape._src.ops.sparse.sets import (
    difference as set_difference,
    intersection as set_intersection,
    size as set_size,
    union as set_union,
)

__getattr__ = _falls_back(__name__, "sets")
__all__ = ["set_difference", "set_intersection", "set_size", "set_union"]
