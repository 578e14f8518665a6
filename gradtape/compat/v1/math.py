"""TensorFlow 1's `math`. Other names are those of `gradtape.math`."""

from gradtape._src.compat.v1_names import falls_back as _falls_back
from gradtape._src.v1.ops.arrays import confusion_matrix as confusion_matrix
from gradtape._src.v1.ops.maths import (
    argmax as argmax,
    argmin as argmin,
    count_nonzero as count_nonzero,
    reduce_all as reduce_all,
    reduce_any as reduce_any,
    reduce_logsumexp as reduce_logsumexp,
    reduce_max as reduce_max,
    reduce_mean as reduce_mean,
    reduce_min as reduce_min,
    reduce_prod as reduce_prod,
    reduce_sum as reduce_sum,
)
from gradtape._src.v1.ops.nn import in_top_k as in_top_k, log_softmax as log_softmax, softmax as softmax

__getattr__ = _falls_back(__name__, "math")
