"""Random numbers by NumPy's names: `tf.experimental.numpy.random`."""

from gradtape._src.compat.names import missing as _missing
from gradtape._src.ops.numpy.random import (
    poisson as poisson,
    rand as rand,
    randint as randint,
    randn as randn,
    random as random,
    seed as seed,
    standard_normal as standard_normal,
    uniform as uniform,
)

__getattr__ = _missing(__name__)
