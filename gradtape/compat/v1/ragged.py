"""Rows of different lengths under TensorFlow 1's names."""

from gradtape._src.compat.v1_names import falls_back as _falls_back
from gradtape._src.v1.graphs.ragged_value import RaggedTensorValue as RaggedTensorValue

__getattr__ = _falls_back(__name__, "ragged")
__all__ = ["RaggedTensorValue"]
