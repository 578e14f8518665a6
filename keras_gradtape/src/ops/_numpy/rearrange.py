"""Changes of shape and order: moving axes, joining, splitting, padding."""

import numpy as np

import gradtape as tf
from keras_gradtape.src.ops._numpy.bound import bound
from keras_gradtape.src.ops._numpy.promotion import axes_of, tensor

# Shapes


def reshape(x, newshape):
    newshape = (newshape,) if isinstance(newshape, (int, np.integer)) else newshape
    if isinstance(x, tf.SparseTensor):
        return tf.sparse.reshape(x, newshape)
    return tf.reshape(tensor(x), newshape)


def squeeze(x, axis=None):
    x = tensor(x)
    if axis is None:
        return tf.squeeze(x)
    axes = axes_of(axis, x.ndim)
    for a in axes:
        if x.shape[a] != 1:
            raise ValueError(f"Cannot squeeze axis={a}, because the dimension is not 1. Received: shape={tuple(x.shape)}")
    return tf.squeeze(x, axes) if axes else x


def size(x):
    return tf.size(tensor(x))


# Axes


def transpose(x, axes=None):
    x = tensor(x)
    if axes is None:
        return tf.transpose(x)
    axes = axes_of(axes, x.ndim)
    if len(set(axes)) != len(axes):
        raise ValueError(
            "`axes` must be a valid permutation of the input dimensions (no duplicates). "
            f"Received: axes={list(axes)} for input of rank {x.ndim}."
        )
    return tf.transpose(x, axes)


def pad(x, pad_width, mode="constant", constant_values=None):
    if constant_values is not None and mode != "constant":
        raise ValueError(f"Argument `constant_values` can only be provided when `mode == 'constant'`. Received: mode={mode}")
    return bound.pad(x, pad_width, mode, 0 if constant_values is None else constant_values)
