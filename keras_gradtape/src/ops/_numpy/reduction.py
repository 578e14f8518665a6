"""Reductions over axes, and running reductions."""

import gradtape as tf
from gradtape._src.core.tensors.tensor import extents_of
from keras_gradtape.src.ops._numpy.bound import bound
from keras_gradtape.src.ops._numpy.promotion import canonical, cast, floating, pair, result_type, tensor


def sum(x, axis=None, keepdims=False):
    if isinstance(x, tf.SparseTensor):
        return tf.sparse.from_dense(tf.sparse.reduce_sum(x, axis, keepdims))
    return bound.sum(x, axis, keepdims=keepdims)


def average(x, axis=None, weights=None):
    if weights is None:
        return tf.reduce_mean(floating(x), axis)
    x, weights, _ = pair(x, weights, float)
    if axis is not None and weights.ndim < x.ndim:
        axis = canonical(axis, x.ndim)
        weights = tf.reshape(weights, [-1 if a == axis else 1 for a in range(x.ndim)])
    total = tf.reduce_sum(tf.broadcast_to(weights, extents_of(x)), axis)
    return tf.reduce_sum(x * weights, axis) / total


def var(x, axis=None, keepdims=False):
    x = tensor(x)
    dtype = result_type(x.dtype, float)
    if dtype.is_complex:
        return tf.math.reduce_variance(x, axis, keepdims)
    return tf.cast(tf.math.reduce_variance(cast(x, result_type(x.dtype, "float32")), axis, keepdims), dtype)


def std(x, axis=None, keepdims=False):
    return tf.sqrt(var(x, axis, keepdims))


def bincount(x, weights=None, minlength=0, sparse=False):
    x = tensor(x)
    dtype = tf.int32
    if weights is not None:
        weights = tensor(weights)
        dtype = result_type(x.dtype, weights.dtype)
        known = dtype in (tf.int32, tf.int64, tf.float32, tf.float64)
        weights = cast(weights, dtype if known else tf.int32 if dtype.is_integer else tf.float32)
    x = cast(x, tf.int64 if x.dtype.size > 4 else tf.int32)
    if sparse:
        return tf.cast(tf.sparse.bincount(x, weights, -1, minlength), dtype)
    return cast(tf.math.bincount(x, weights, minlength=minlength, axis=-1), dtype)
