"""Element-wise functions for SparseTensors: those of TensorFlow that are 0 at 0. They apply to the stored elements."""

from gradtape._src.ops.array import shape
from gradtape._src.ops.dispatch import version
from gradtape._src.ops.math import arithmetic, bessel, elementary, special
from gradtape._src.ops.sparse.tensor import SparseTensor

_FUNCTIONS = (
    *(arithmetic.abs, arithmetic.negative, arithmetic.sign, arithmetic.sqrt, arithmetic.square),
    *(bessel.bessel_i0e, bessel.bessel_i1e),
    *(elementary.tanh, special.erf, shape.identity, shape.stop_gradient),
)


def _on_values(function):
    return lambda x: x.with_values(function(x.values))


for _function in _FUNCTIONS:
    version(SparseTensor, _function)(_on_values(_function))
