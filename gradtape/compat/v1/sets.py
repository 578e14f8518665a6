"""Sets under TensorFlow 1's names."""

from gradtape._src.compat.v1_names import falls_back as _falls_back
from gradtape._src.ops.sparse.sets import (
    difference as _difference,
    intersection as _intersection,
    size as _size,
    union as _union,
)

# Second names, assigned, as type checkers take `X as Y` for private
set_difference = _difference
set_intersection = _intersection
set_size = _size
set_union = _union

__getattr__ = _falls_back(__name__, "sets")
__all__ = ["set_difference", "set_intersection", "set_size", "set_union"]
