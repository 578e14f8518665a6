"""The backend in Keras's official layout. Only Keras may import this package, because it imports parts of Keras."""

from keras_gradtape.src import distribution_lib, ops, random, rnn, tensorboard
from keras_gradtape.src.ops.core import compute_output_spec, device_scope, name_scope
from keras_gradtape.src.variable import Variable

IS_THREAD_SAFE = True
SUPPORTS_COMPLEX_DTYPES = True
SUPPORTS_GRADIENT = True
SUPPORTS_RAGGED_TENSORS = False
SUPPORTS_SPARSE_TENSORS = True

__all__ = [
    "IS_THREAD_SAFE",
    "SUPPORTS_COMPLEX_DTYPES",
    "SUPPORTS_GRADIENT",
    "SUPPORTS_RAGGED_TENSORS",
    "SUPPORTS_SPARSE_TENSORS",
    "Variable",
    "compute_output_spec",
    "device_scope",
    "distribution_lib",
    "name_scope",
    "ops",
    "random",
    "rnn",
    "tensorboard",
]
