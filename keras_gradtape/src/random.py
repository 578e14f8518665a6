"""Random numbers of the Keras backend: stateless ones, drawn from the two integers of a Keras seed.

The seed is a tensor (a generator's state is a Keras variable), so a compiled step draws new numbers in each run.
`tf.random.stateless_*` draws the numbers of Keras on TensorFlow, which are the same on every device.
"""

from keras.src.backend.common import standardize_dtype
from keras.src.backend.config import floatx
from keras.src.random.seed_generator import SeedGenerator, draw_seed, make_default_seed

import gradtape as tf
from gradtape._src.core.tensors.tensor import extents_of
from keras_gradtape.src.ops.core import cast, convert_to_tensor

__all__ = [
    "SeedGenerator",
    "beta",
    "binomial",
    "categorical",
    "draw_seed",
    "dropout",
    "gamma",
    "make_default_seed",
    "normal",
    "randint",
    "shuffle",
    "truncated_normal",
    "uniform",
]


def _floating(dtype):
    """Return `dtype` as a name (floatx for None), and the dtype to draw in: float32 for bfloat16."""
    dtype = standardize_dtype(dtype) if dtype is not None else floatx()
    return dtype, "float32" if dtype == "bfloat16" else dtype


def _bound(value, dtype):
    """Return a Python number unchanged; convert other values to a tensor of `dtype`."""
    return value if isinstance(value, (int, float)) else convert_to_tensor(value, dtype)


def _stateless(seed):
    """Return the two integers for a stateless function, reduced to int32 as by Keras on TensorFlow."""
    return tf.math.floormod(draw_seed(seed), 2**31 - 2)


def normal(shape, mean=0.0, stddev=1.0, dtype=None, seed=None):
    dtype = _floating(dtype)[0]
    return tf.random.stateless_normal(shape, _stateless(seed), _bound(mean, dtype), _bound(stddev, dtype), dtype)


def truncated_normal(shape, mean=0.0, stddev=1.0, dtype=None, seed=None):
    dtype = _floating(dtype)[0]
    return tf.random.stateless_truncated_normal(shape, _stateless(seed), _bound(mean, dtype), _bound(stddev, dtype), dtype)


def uniform(shape, minval=0.0, maxval=1.0, dtype=None, seed=None):
    dtype = _floating(dtype)[0]
    return tf.random.stateless_uniform(shape, _stateless(seed), _bound(minval, dtype), _bound(maxval, dtype), dtype)


def randint(shape, minval, maxval, dtype="int32", seed=None):
    dtype = standardize_dtype(dtype)
    drawn = dtype if dtype in ("int32", "int64") else "int64"
    numbers = tf.random.stateless_uniform(shape, _stateless(seed), cast(minval, drawn), cast(maxval, drawn), drawn)
    return cast(numbers, dtype)


def categorical(logits, num_samples, dtype="int32", seed=None):
    classes = tf.random.stateless_categorical(convert_to_tensor(logits), num_samples, _stateless(seed), "int32")
    return cast(classes, dtype)


def dropout(inputs, rate, noise_shape=None, seed=None):
    if rate == 0.0:
        return inputs
    inputs = convert_to_tensor(inputs)
    if rate == 1.0:
        return tf.zeros_like(inputs)
    return tf.nn.experimental.stateless_dropout(inputs, rate, _stateless(seed), noise_shape=noise_shape)


def shuffle(x, axis=0, seed=None):
    x = convert_to_tensor(x)
    return tf.gather(x, tf.argsort(tf.random.stateless_uniform([extents_of(x)[axis]], _stateless(seed))), axis=axis)


def _parameter(value, shape, dtype):
    """Broadcast a parameter of a distribution to a suffix of the shape of the numbers."""
    value, shape = convert_to_tensor(value, dtype), tuple(shape)
    return value if shape[len(shape) - value.ndim :] == tuple(value.shape) else tf.broadcast_to(value, shape)


def gamma(shape, alpha, dtype=None, seed=None):
    dtype, drawn = _floating(dtype)
    return cast(tf.random.stateless_gamma(shape, _stateless(seed), _parameter(alpha, shape, drawn), dtype=drawn), dtype)


def binomial(shape, counts, probabilities, dtype=None, seed=None):
    dtype, drawn = _floating(dtype)
    counts, probabilities = _parameter(counts, shape, drawn), _parameter(probabilities, shape, drawn)
    return cast(tf.random.stateless_binomial(shape, _stateless(seed), counts, probabilities, drawn), dtype)


def beta(shape, alpha, beta, dtype=None, seed=None):
    # X / (X + Y) for gamma distributed X and Y with different seeds
    dtype, drawn = _floating(dtype)
    first = _stateless(seed)
    alpha, beta = [tf.broadcast_to(convert_to_tensor(value, drawn), shape) for value in (alpha, beta)]
    x, y = [cast(tf.random.stateless_gamma(shape, s, p, dtype=drawn), dtype) for s, p in ((first, alpha), (first + 12, beta))]
    return x / (x + y)
