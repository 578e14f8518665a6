"""Other versions of the interface: `tf.compat.v1` is TensorFlow 1's, with graphs and sessions."""

from gradtape._src.compat.names import listed as _listed, missing as _missing
from gradtape._src.compat.text import (
    as_bytes as as_bytes,
    as_str as as_str,
    as_str_any as as_str_any,
    as_text as as_text,
)
from gradtape._src.compat.types import (
    bytes_or_text_types as bytes_or_text_types,
    complex_types as complex_types,
    forward_compatibility_horizon as forward_compatibility_horizon,
    forward_compatible as forward_compatible,
    integral_types as integral_types,
    path_to_str as path_to_str,
    real_types as real_types,
)
from gradtape._src.core.values.dimension import dimension_at_index as dimension_at_index, dimension_value as dimension_value
from gradtape.compat import v2 as v2

__dir__ = _listed(__name__)
__getattr__ = _missing(__name__)
