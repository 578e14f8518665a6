"""Rows of different lengths in eager code: `tf.ragged`."""

from gradtape._src.compat.names import missing as _missing
from gradtape._src.ops.array.ragged import constant as constant, map_flat_values as map_flat_values

__getattr__ = _missing(__name__)
