"""Creation of tensors: filled, sequences, windows."""

import math

import numpy as np
from keras.src.backend.config import floatx

import gradtape as tf
from gradtape._src.core.tensors.tensor import extents_of
from gradtape._src.ops.shapes import broadcast_shapes
from keras_gradtape.src.ops._numpy.promotion import KERAS, cast, pair, tensor
from keras_gradtape.src.ops.core import convert_to_tensor


def full(shape, fill_value, dtype=None):
    return tf.broadcast_to(convert_to_tensor(fill_value, KERAS.dtype(dtype)), shape)


def full_like(x, fill_value, dtype=None):
    x = tensor(x)
    return full(extents_of(x), fill_value, x.dtype if dtype is None else dtype)


# Sequences


def linspace(start, stop, num=50, endpoint=True, retstep=False, dtype=None, axis=0):
    start, stop, found = pair(start, stop, float)
    num = int(num)
    if num < 0:
        raise ValueError(f"`num` must be a non-negative integer. Received: num={num}")
    intervals = num - 1 if endpoint else num
    step = (stop - start) / max(intervals, 1)
    shape = broadcast_shapes(extents_of(start), extents_of(stop))
    axis = axis % (len(shape) + 1)
    start, stop = [tf.expand_dims(tf.broadcast_to(x, shape), axis) for x in (start, stop)]
    places = np.arange(num).reshape([-1 if a == axis else 1 for a in range(len(shape) + 1)]) / max(intervals, 1)
    places = tf.convert_to_tensor(places.astype(found.as_numpy_dtype))
    result = start * (1.0 - places) + stop * places
    if dtype is not None:
        dtype = KERAS.dtype(dtype)
        result = tf.cast(tf.floor(result) if dtype.is_integer else result, dtype)
    return (result, step if intervals else tf.fill(shape, cast(tensor(math.nan), found))) if retstep else result


def logspace(start, stop, num=50, endpoint=True, base=10, dtype=None, axis=0):
    exponents = linspace(start, stop, num, endpoint, axis=axis)
    result = tf.pow(convert_to_tensor(base, exponents.dtype), exponents)
    return result if dtype is None else tf.cast(result, KERAS.dtype(dtype))


def geomspace(start, stop, num=50, endpoint=True, dtype=None, axis=0):
    # Both bounds have the same sign.
    start, stop, _ = pair(start, stop, float)
    exponents = linspace(tf.math.log(tf.abs(start)), tf.math.log(tf.abs(stop)), num, endpoint, axis=axis)
    sign = tf.broadcast_to(tf.sign(start), broadcast_shapes(extents_of(start), extents_of(stop)))
    result = tf.exp(exponents) * tf.expand_dims(sign, axis)
    return result if dtype is None else tf.cast(result, KERAS.dtype(dtype))


def meshgrid(*x, indexing="xy"):
    return tf.meshgrid(*[tensor(one) for one in x], indexing=indexing)


# Windows


def _window(function):
    """Convert a window function of NumPy's to one that returns a tensor."""
    return lambda x: tf.convert_to_tensor(function(int(x)).astype(floatx()))


bartlett, blackman, hamming, hanning = map(_window, (np.bartlett, np.blackman, np.hamming, np.hanning))


def kaiser(x, beta):
    length = int(x)
    return tf.signal.kaiser_window(length, beta, dtype=floatx()) if length else tf.zeros((0,), floatx())
