"""Moments, and normalization by them."""

import gradtape as tf
from keras_gradtape.src.ops.core import cast, convert_to_tensor

HALF = 65504.0  # the largest number of float16


def moments(x, axes, keepdims=False, synchronized=False):
    if synchronized:
        raise NotImplementedError("Argument synchronized=True is not supported with gradtape.")
    x = convert_to_tensor(x)
    dtype = x.dtype
    if dtype.size > 2:
        return tf.nn.moments(x, axes, keepdims=keepdims)
    # In float32, as sums of squares overflow 16-bit floats
    parts = tf.nn.moments(tf.cast(x, "float32"), axes, keepdims=keepdims)
    return tuple([tf.cast(tf.clip_by_value(part, -HALF, HALF), dtype) for part in parts])


def batch_normalization(x, mean, variance, axis, offset=None, scale=None, epsilon=1e-3):
    x = convert_to_tensor(x)
    numbers = [None if each is None else convert_to_tensor(each) for each in (mean, variance, offset, scale)]
    if axis not in (-1, x.ndim - 1):
        shape = [1] * x.ndim
        shape[axis] = -1
        numbers = [None if each is None else tf.reshape(each, shape) for each in numbers]
    mean, variance, offset, scale = numbers
    return tf.nn.batch_normalization(x, mean, variance, offset, scale, epsilon)


def psnr(x1, x2, max_val):
    x1, x2 = convert_to_tensor(x1), convert_to_tensor(x2)
    if x1.shape != x2.shape:
        raise ValueError(f"Input shapes {x1.shape} and {x2.shape} must match for PSNR calculation. ")
    error = tf.reduce_mean(tf.math.squared_difference(x1, x2))
    return (10 / 2.302585092994046) * (2 * tf.math.log(cast(max_val, x2.dtype)) - tf.math.log(error))
