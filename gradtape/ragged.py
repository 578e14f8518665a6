"""Rows of different lengths: `tf.ragged`."""

from gradtape._src.compat.names import missing as _missing
from gradtape._src.ops.ragged.constants import (
    constant as constant,
    map_flat_values as map_flat_values,
    range as range,
    row_splits_to_segment_ids as row_splits_to_segment_ids,
    segment_ids_to_row_splits as segment_ids_to_row_splits,
)
from gradtape._src.ops.ragged.joining import (
    boolean_mask as boolean_mask,
    stack as stack,
    stack_dynamic_partitions as stack_dynamic_partitions,
)

__getattr__ = _missing(__name__)
