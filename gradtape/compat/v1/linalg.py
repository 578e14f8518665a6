"""TensorFlow 1's `linalg`. Other names are those of `gradtape.linalg`."""

from gradtape._src.compat.v1_names import falls_back as _falls_back
from gradtape._src.v1.ops.arrays import norm as norm

__getattr__ = _falls_back(__name__, "linalg")
