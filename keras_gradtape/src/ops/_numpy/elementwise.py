"""Element-wise functions of one operand."""

from keras.src.backend.common import standardize_dtype

import gradtape as tf
from gradtape._src.core.tensors.tensor import extents_of
from keras_gradtape.src.ops._numpy.promotion import KERAS, floating, tensor


def reciprocal(x):
    return tf.math.reciprocal(floating(x))


def i0(x):
    return tf.math.bessel_i0(KERAS.angular(x))


# Signs, roundings, bits


def fabs(x):
    return tf.abs(floating(x))


_SIGNED = {2: tf.int16, 4: tf.int32, 8: tf.int64}


def signbit(x):
    x = tensor(x)
    if x.dtype.is_floating:
        x = tf.bitcast(x, _SIGNED[x.dtype.size])
    elif x.dtype.is_bool or x.dtype.is_unsigned:
        return tf.zeros_like(x, tf.bool)
    return x < 0


def trunc(x):
    x = tensor(x)
    return tf.where(x < 0, tf.math.ceil(x), tf.floor(x)) if x.dtype.is_floating else x


def view(x, dtype=None):
    x = tensor(x)
    dtype = x.dtype if dtype is None else tf.as_dtype(standardize_dtype(dtype))
    shape, old, new = extents_of(x), x.dtype.size, dtype.size
    if old == new:
        return tf.bitcast(x, dtype)
    if not shape or shape[-1] * old % new:
        raise ValueError(
            f"Cannot view a tensor of shape {shape} and dtype {x.dtype.name} as {dtype.name}: the bytes of its last axis are no "
            "multiple of the new dtype's."
        )
    if old < new:
        return tf.bitcast(tf.reshape(x, (*shape[:-1], shape[-1] * old // new, new // old)), dtype)
    return tf.reshape(tf.bitcast(x, dtype), (*shape[:-1], shape[-1] * old // new))
