"""TensorFlow 1's `linalg`. Other names are those of `gradtape.linalg`."""

from gradtape._src.compat.v1.arrays import norm as norm
from gradtape._src.compat.v1.names import falls_back as _falls_back

__getattr__ = _falls_back(__name__, "linalg")
