"""New tensors: filled, counted, windows, triangles."""

import math

import numpy as np
from keras.src.backend.common import standardize_dtype
from keras.src.backend.config import floatx

import gradtape as tf
from keras_gradtape.src.ops._numpy.promotion import cast, pair, result_type, tensor
from keras_gradtape.src.ops.core import convert_to_tensor


def _dtype(dtype):
    """A dtype argument as a DType; None is floatx."""
    return tf.as_dtype(floatx() if dtype is None else standardize_dtype(dtype))


def zeros(shape, dtype=None):
    return tf.zeros(shape, _dtype(dtype))


def ones(shape, dtype=None):
    return tf.ones(shape, _dtype(dtype))


def empty(shape, dtype=None):
    return zeros(shape, dtype)


def full(shape, fill_value, dtype=None):
    return tf.broadcast_to(convert_to_tensor(fill_value, _dtype(dtype)), shape)


def zeros_like(x, dtype=None):
    x = tensor(x)
    return tf.zeros_like(x, x.dtype if dtype is None else _dtype(dtype))


def ones_like(x, dtype=None):
    x = tensor(x)
    return tf.ones_like(x, x.dtype if dtype is None else _dtype(dtype))


def empty_like(x, dtype=None):
    return zeros_like(x, dtype)


def full_like(x, fill_value, dtype=None):
    x = tensor(x)
    return full(x.shape, fill_value, x.dtype if dtype is None else dtype)


def eye(N, M=None, k=0, dtype=None):
    M = N if M is None else M
    if isinstance(k, int) and k == 0:
        return tf.eye(N, M, dtype=_dtype(dtype))
    return tf.cast(_offsets(N, M) == k, _dtype(dtype))


def identity(n, dtype=None):
    return eye(n, dtype=dtype)


# Triangles


def _offsets(rows, columns):
    """Return how far right of the diagonal each element of a matrix lies."""
    return tf.range(columns) - tf.range(rows)[:, None]


def tri(N, M=None, k=0, dtype=None):
    return tf.cast(_offsets(N, N if M is None else M) <= k, _dtype(dtype))


def tril(x, k=0):
    x = tensor(x)
    return tf.where(_offsets(*x.shape[-2:]) <= k, x, tf.zeros((), x.dtype))


def triu(x, k=0):
    x = tensor(x)
    return tf.where(_offsets(*x.shape[-2:]) >= k, x, tf.zeros((), x.dtype))


# Sequences


def arange(start, stop=None, step=None, dtype=None):
    given = [bound for bound in (start, stop, step) if bound is not None]
    if dtype is None:
        dtype = result_type(*[getattr(bound, "dtype", type(bound)) for bound in given])
    dtype = _dtype(dtype)
    if stop is None:
        start, stop = 0, start
    step = 1 if step is None else step
    if any(isinstance(bound, tf.Tensor) for bound in given) or step == 0:  # which is an error there
        return tf.cast(tf.range(start, stop, step), dtype)
    return tf.convert_to_tensor(np.arange(start, stop, step).astype(dtype.as_numpy_dtype))


def linspace(start, stop, num=50, endpoint=True, retstep=False, dtype=None, axis=0):
    start, stop, found = pair(start, stop, float)
    num = int(num)
    if num < 0:
        raise ValueError(f"`num` must be a non-negative integer. Received: num={num}")
    intervals = num - 1 if endpoint else num
    step = (stop - start) / max(intervals, 1)
    shape = tf.broadcast_static_shape(start.shape, stop.shape)
    axis = axis % (len(shape) + 1)
    start, stop = [tf.expand_dims(tf.broadcast_to(x, shape), axis) for x in (start, stop)]
    places = np.arange(num).reshape([-1 if a == axis else 1 for a in range(len(shape) + 1)]) / max(intervals, 1)
    places = tf.convert_to_tensor(places.astype(found.as_numpy_dtype))
    result = start * (1.0 - places) + stop * places
    if dtype is not None:
        dtype = _dtype(dtype)
        result = tf.cast(tf.floor(result) if dtype.is_integer else result, dtype)
    return (result, step if intervals else tf.fill(shape, cast(tensor(math.nan), found))) if retstep else result


def logspace(start, stop, num=50, endpoint=True, base=10, dtype=None, axis=0):
    exponents = linspace(start, stop, num, endpoint, axis=axis)
    result = tf.pow(convert_to_tensor(base, exponents.dtype), exponents)
    return result if dtype is None else tf.cast(result, _dtype(dtype))


def geomspace(start, stop, num=50, endpoint=True, dtype=None, axis=0):
    # Both bounds have one sign.
    start, stop, _ = pair(start, stop, float)
    exponents = linspace(tf.math.log(tf.abs(start)), tf.math.log(tf.abs(stop)), num, endpoint, axis=axis)
    sign = tf.broadcast_to(tf.sign(start), tf.broadcast_static_shape(start.shape, stop.shape))
    result = tf.exp(exponents) * tf.expand_dims(sign, axis)
    return result if dtype is None else tf.cast(result, _dtype(dtype))


def meshgrid(*x, indexing="xy"):
    return tf.meshgrid(*[tensor(one) for one in x], indexing=indexing)


def vander(x, N=None, increasing=False):
    x = tensor(x)
    N = x.shape[0] if N is None else N
    exponents = np.arange(N) if increasing else np.arange(N)[::-1]
    columns = [tf.ones_like(x)]
    for _ in range(N - 1):
        columns.append(columns[-1] * x)
    return tf.stack([columns[int(e)] for e in exponents], 1) if N else tf.zeros((x.shape[0], 0), x.dtype)


# Windows


def bartlett(x):
    length = int(x)
    return tf.convert_to_tensor(np.bartlett(length).astype(floatx()))


def blackman(x):
    return tf.convert_to_tensor(np.blackman(int(x)).astype(floatx()))


def hamming(x):
    return tf.signal.hamming_window(int(x), periodic=False, dtype=floatx())


def hanning(x):
    return tf.signal.hann_window(int(x), periodic=False, dtype=floatx())


def kaiser(x, beta):
    length = int(x)
    return tf.signal.kaiser_window(length, beta, dtype=floatx()) if length else zeros((0,))
