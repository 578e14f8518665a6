"""TensorFlow 1's `random`. Other names are those of `gradtape.random`."""

from gradtape._src.compat.v1_names import falls_back as _falls_back
from gradtape._src.v1.ops.maths import multinomial as multinomial, poisson as poisson
from gradtape._src.v1.setup import set_random_seed as set_random_seed

__getattr__ = _falls_back(__name__, "random")
