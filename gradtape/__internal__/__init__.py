"""Names that TensorFlow shows to libraries written beside it: `tf.__internal__`."""

from gradtape.__internal__ import nest as nest, tf2 as tf2
from gradtape._src.compat.names import missing as _missing
from gradtape._src.core.values.composite import CompositeTensor as CompositeTensor

__getattr__ = _missing(__name__)
