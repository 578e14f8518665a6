"""Convolutions of one to three spatial axes, and folding and unfolding of windows."""

import math

from keras.src.backend.common.backend_utils import (
    check_conv_input_channels,
    check_conv_transpose_input_channels,
    compute_conv_transpose_output_shape,
)
from keras.src.backend.config import standardize_data_format

import gradtape as tf
from gradtape._src.core.tensors.tensor import extents_of
from keras_gradtape.src.ops.core import convert_to_tensor, shape

CHANNELS_LAST = {3: "NWC", 4: "NHWC", 5: "NDHWC"}
CHANNELS_FIRST = {3: "NCW", 4: "NCHW", 5: "NCDHW"}
_CONVOLUTIONS = {3: tf.nn.conv1d, 4: tf.nn.conv2d, 5: tf.nn.conv3d}
_TRANSPOSED = {3: tf.nn.conv1d_transpose, 4: tf.nn.conv2d_transpose, 5: tf.nn.conv3d_transpose}


def layout(data_format, rank):
    """Return `(format, channel axis)` of images with `rank` axes, in TensorFlow's letters."""
    if rank not in CHANNELS_LAST:
        raise ValueError(f"Images have one to three spatial axes beside batch and channels. Received: an input of rank {rank}.")
    if standardize_data_format(data_format) == "channels_last":
        return CHANNELS_LAST[rank], rank - 1
    return CHANNELS_FIRST[rank], 1


def conv(inputs, kernel, strides=1, padding="valid", data_format=None, dilation_rate=1):
    kernel = convert_to_tensor(kernel)
    inputs = convert_to_tensor(inputs, kernel.dtype)
    letters, channel = layout(data_format, inputs.ndim)
    if inputs.shape[channel] % kernel.shape[-2]:
        raise ValueError(
            "The number of input channels must be evenly divisible by kernel's in_channels. Received input channels "
            f"{inputs.shape[channel]} and kernel in_channels {kernel.shape[-2]}. "
        )
    convolve = _CONVOLUTIONS[inputs.ndim]
    return _not_empty(convolve(inputs, kernel, strides, padding.upper(), letters, dilation_rate), inputs)


def _not_empty(outputs, inputs):
    if 0 in outputs.shape and 0 not in inputs.shape:
        raise ValueError(
            f"The convolution operation resulted in an empty output. Output shape: {outputs.shape}. This can happen if the "
            "input is too small for the given kernel size, strides, dilation rate, and padding mode. Please check the input "
            "shape and convolution parameters."
        )
    return outputs


def depthwise_conv(inputs, kernel, strides=1, padding="valid", data_format=None, dilation_rate=1):
    inputs, kernel = convert_to_tensor(inputs), convert_to_tensor(kernel)
    check_conv_input_channels(inputs, kernel, standardize_data_format(data_format))
    letters, channel = layout(data_format, inputs.ndim)
    if inputs.ndim == 4:
        return tf.nn.depthwise_conv2d(inputs, kernel, _pair(strides), padding.upper(), letters, _pair(dilation_rate))
    if inputs.ndim == 3:  # computed over two axes, the first of extent 1
        axis, (stride,), (dilation,) = 3 - channel, _listed(strides), _listed(dilation_rate)
        wide = tf.expand_dims(inputs, axis), tf.expand_dims(kernel, 0)
        data_format = "channels_last" if channel == 2 else "channels_first"
        # SAME adds no padding along an axis of extent 1
        return tf.squeeze(depthwise_conv(*wide, (1, stride), padding, data_format, (1, dilation)), axis)
    kernel = tf.reshape(kernel, [*kernel.shape[:-2], 1, math.prod(kernel.shape[-2:])])
    return conv(inputs, kernel, strides, padding, data_format, dilation_rate)


def _listed(value):
    return (value,) if isinstance(value, int) else tuple(value)


def _pair(value):
    return (value, value) if isinstance(value, int) else tuple(value)


def separable_conv(inputs, depthwise_kernel, pointwise_kernel, strides=1, padding="valid", data_format=None, dilation_rate=1):
    outputs = depthwise_conv(inputs, depthwise_kernel, strides, padding, data_format, dilation_rate)
    return conv(outputs, pointwise_kernel, data_format=data_format)


def conv_transpose(inputs, kernel, strides=1, padding="valid", output_padding=None, data_format=None, dilation_rate=1):
    inputs, kernel = convert_to_tensor(inputs), convert_to_tensor(kernel)
    data_format = standardize_data_format(data_format)
    check_conv_transpose_input_channels(inputs, kernel, data_format)
    output = compute_conv_transpose_output_shape(
        shape(inputs),
        tuple(kernel.shape[:-2]),
        kernel.shape[-2],
        strides,
        padding,
        output_padding,
        data_format,
        dilation_rate,
    )
    letters, _ = layout(data_format, inputs.ndim)
    return _TRANSPOSED[inputs.ndim](inputs, kernel, output, strides, padding.upper(), letters, dilation_rate)


# ---------------------------------------------------------------------------------------------------------------------
# Windows. Both are for images [batch, channels, height, width].


def unfold(input, kernel_size, dilation=1, padding=0, stride=1):
    x = convert_to_tensor(input)
    size, rates, strides = [[1, *_pair(value), 1] for value in (kernel_size, dilation, stride)]
    before = [[p, p] for p in _pair(padding)]
    x = tf.pad(tf.transpose(x, [0, 2, 3, 1]), [[0, 0], *before, [0, 0]])
    patches = tf.image.extract_patches(x, size, strides, rates, "VALID")
    batch, rows, columns, depth = extents_of(patches)
    patches = tf.reshape(patches, [batch, rows * columns, -1, extents_of(x)[-1]])
    return tf.reshape(tf.transpose(patches, [0, 3, 2, 1]), [batch, depth, rows * columns])


def fold(x, output_size, kernel_size, dilation=1, padding=0, stride=1):
    # The transpose of `unfold`: a transposed convolution that adds channel c·cells + k at cell k of channel c
    x = convert_to_tensor(x)
    size, rates, strides, padded = _pair(kernel_size), _pair(dilation), _pair(stride), _pair(padding)
    extents = [n + 2 * p for n, p in zip(_pair(output_size), padded, strict=True)]
    stops = [(n - d * (k - 1) - 1) // s + 1 for n, d, k, s in zip(extents, rates, size, strides, strict=True)]
    batch, depth, _ = extents_of(x)
    cells = math.prod(size)
    x = tf.reshape(x, [batch * (depth // cells), cells, *stops])
    kernel = tf.reshape(tf.eye(cells, dtype=x.dtype), [*size, 1, cells])
    x = tf.transpose(x, [0, 2, 3, 1])
    y = tf.nn.conv2d_transpose(x, kernel, [extents_of(x)[0], *extents, 1], strides, "VALID", "NHWC", rates)
    y = tf.reshape(y, [batch, depth // cells, *extents])
    (top, left), (height, width) = padded, _pair(output_size)
    return y[:, :, top : top + height, left : left + width]


def _blocks(move, x, block_size, data_format):
    x = convert_to_tensor(x)
    if data_format == "channels_last":
        return move(x, block_size)
    return tf.transpose(move(tf.transpose(x, [0, 2, 3, 1]), block_size), [0, 3, 1, 2])


def depth_to_space(x, block_size, data_format="channels_last"):
    return _blocks(tf.nn.depth_to_space, x, block_size, data_format)


def space_to_depth(x, block_size, data_format="channels_last"):
    return _blocks(tf.nn.space_to_depth, x, block_size, data_format)
