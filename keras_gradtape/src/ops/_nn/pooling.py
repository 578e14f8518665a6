"""Maximum and mean pooling."""

import numpy as np
from keras.src.backend.common.backend_utils import compute_adaptive_pooling_window_sizes

import gradtape as tf
from keras_gradtape.src.ops._nn.convolution import layout
from keras_gradtape.src.ops.core import convert_to_tensor


def _pool(pool, inputs, pool_size, strides, padding, data_format):
    if padding not in ("same", "valid"):
        raise ValueError(f"Invalid padding '{padding}', must be 'same' or 'valid'.")
    inputs = convert_to_tensor(inputs)
    letters, _ = layout(data_format, inputs.ndim)
    return pool(inputs, pool_size, pool_size if strides is None else strides, padding.upper(), letters)


def max_pool(inputs, pool_size, strides=None, padding="valid", data_format=None):
    return _pool(tf.nn.max_pool, inputs, pool_size, strides, padding, data_format)


def average_pool(inputs, pool_size, strides=None, padding="valid", data_format=None):
    return _pool(tf.nn.avg_pool, inputs, pool_size, strides, padding, data_format)


def _adaptive(pool, inputs, output_size, data_format):
    """Pool axis by axis: window i of n goes from ⌊i·size/n⌋ to ⌈(i + 1)·size/n⌉, so there are at most two sizes."""
    inputs = convert_to_tensor(inputs)
    letters, channel = layout(data_format, inputs.ndim)
    axes = [axis for axis in range(1, inputs.ndim) if axis != channel]
    counts = (output_size,) * len(axes) if isinstance(output_size, int) else output_size
    for place, (axis, count) in enumerate(zip(axes, counts, strict=True)):
        size = inputs.shape[axis]

        def pooled(extent, x=inputs, place=place):
            window = [extent if k == place else 1 for k in range(len(axes))]
            return pool(x, window, 1, "VALID", letters)

        stops = np.arange(count)
        starts, ends = stops * size // count, -(-(stops + 1) * size // count)
        small, big = compute_adaptive_pooling_window_sizes(size, count)
        if small == big or (ends - starts == small).all():
            inputs = tf.gather(pooled(small), starts.astype("int32"), axis=axis)
        else:
            both = tf.concat([pooled(small), pooled(big)], axis)
            inputs = tf.gather(both, np.where(ends - starts == big, starts + size - small + 1, starts).astype("int32"), axis=axis)
    return inputs


def adaptive_average_pool(inputs, output_size, data_format=None):
    return _adaptive(tf.nn.avg_pool, inputs, output_size, data_format)


def adaptive_max_pool(inputs, output_size, data_format=None):
    return _adaptive(tf.nn.max_pool, inputs, output_size, data_format)
