"""Sets in the last axis of tensors: `tf.sets`."""

from gradtape._src.compat.names import missing as _missing
from gradtape._src.ops.sparse.sets import difference as difference, intersection as intersection, size as size, union as union

__getattr__ = _missing(__name__)
