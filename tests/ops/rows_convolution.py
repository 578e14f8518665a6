"""Rows of the convolutions, their transposes, and the sums over windows that their gradients are made of."""

import itertools

import jax.numpy as jnp
import numpy as np
from jax import lax

import gradtape as tf
from gradtape._src.ops import convolution, depthwise, morphology, spread
from tests.ops.table import Row, distinct, real

Invalid, Unimplemented = tf.errors.InvalidArgumentError, tf.errors.UnimplementedError
FORMATS = {3: "NWC", 4: "NHWC", 5: "NDHWC"}
SAME_2 = {"strides": (1, 1, 1, 1), "padding": "SAME", "explicit_paddings": (), "data_format": "NHWC", "dilations": (1, 1, 1, 1)}
UNEVEN = [[0, 0], [1, 0], [0, 2], [0, 0]]


def reference(strides=1, padding="VALID", dilations=1, data_format=None):
    """The convolution that JAX computes, channels of the filter times groups being those of the image."""

    def convolve(x, k):
        layout = data_format or FORMATS[x.ndim]
        spatial = layout.replace("N", "").replace("C", "")
        rank = len(spatial)
        pads = padding if isinstance(padding, str) else [pair for pair, axis in zip(padding, layout, strict=True) if axis in spatial]
        return lax.conv_general_dilated(
            x,
            k,
            strides if isinstance(strides, tuple) else (strides,) * rank,
            pads,
            rhs_dilation=(dilations,) * rank,
            dimension_numbers=(layout, f"{spatial}IO", layout),
            feature_group_count=x.shape[layout.index("C")] // k.shape[-2],
        )

    return convolve


def transposed(shape, **geometry):
    """The transpose of `reference` with respect to the image, which has `shape`."""
    import jax

    def convolve(dy, k):
        return jax.linear_transpose(lambda x: reference(**geometry)(x, k), jnp.zeros(shape, dy.dtype))(dy)[0]

    return convolve


def depthwise_reference(**geometry):
    def convolve(x, k):
        return reference(**geometry)(x, k.reshape(*k.shape[:-2], 1, -1))

    return convolve


def steps(*shape):
    """Small whole numbers, in float32, for which TensorFlow's results are written below: 3 more each time, modulo 7."""
    return (np.arange(np.prod(shape)) * 3 % 7 - 3).reshape(shape).astype("float32")


def at(shape, *numbers):
    return np.array(numbers, "float32").reshape(shape)


def zeros(*shape, dtype="float32"):
    return tf.zeros(shape, dtype)


def wrong(exception, match, *shapes, function=tf.nn.conv2d, strides=1, padding="SAME", **named):
    return lambda: function(*[zeros(*shape) for shape in shapes], strides, padding, **named), exception, match


def dilated(x, k, strides=(1, 1), rates=(1, 1), padding="VALID"):
    """Greyscale dilation, cell by cell."""
    height, width = [1 + (extent - 1) * rate for extent, rate in zip(k.shape, rates, strict=False)]
    if padding == "SAME":
        pads = []
        for size, stride, reach in zip(x.shape[1:3], strides, (height, width), strict=True):
            missing = max(0, (-(-size // stride) - 1) * stride + reach - size)
            pads.append((missing // 2, missing - missing // 2))
        x = jnp.pad(x, ((0, 0), *pads, (0, 0)), constant_values=-jnp.inf)
    tops, lefts = x.shape[1] - height + 1, x.shape[2] - width + 1
    return jnp.max(
        jnp.stack(
            [
                x[:, i * rates[0] : i * rates[0] + tops : strides[0], j * rates[1] : j * rates[1] + lefts : strides[1]] + k[i, j]
                for i, j in itertools.product(range(k.shape[0]), range(k.shape[1]))
            ]
        ),
        0,
    )


CONVOLUTIONS = (
    Row(
        "conv2d",
        lambda x, k: tf.nn.conv2d(x, k, 1, "VALID"),
        (real(2, 4, 3, 2), real(3, 2, 2, 3)),
        reference(),
        ops=("Conv2D",),
        dtypes=("float64", "float32", "float16", "bfloat16", "int32"),
        special=(
            ((np.zeros([0, 2, 2, 1], "float32"), steps(2, 2, 1, 1)), np.zeros([0, 1, 1, 1]), (np.zeros([0, 2, 2, 1]), np.zeros([2, 2, 1, 1]))),
            ((steps(1, 1, 2, 1), steps(2, 2, 1, 1)), np.zeros([1, 0, 1, 1]), (np.zeros([1, 1, 2, 1]), np.zeros([2, 2, 1, 1]))),
        ),
        errors=(
            wrong(Invalid, "input depth must be evenly divisible by filter depth: 3 vs 4", (1, 5, 5, 3), (3, 3, 4, 2)),
            wrong(Invalid, "output depth must be evenly divisible by number of groups: 3 vs 2", (1, 5, 5, 4), (3, 3, 2, 3)),
            wrong(Invalid, r"convolution input must be 4-dimensional: \[5,5,3\]", (5, 5, 3), (3, 3, 3, 2)),
            wrong(Invalid, r"convolution filter must be 4-dimensional: \[3,3,3\]", (1, 5, 5, 3), (3, 3, 3)),
            wrong(Invalid, "filter must not have zero elements", (1, 5, 5, 3), (0, 3, 3, 2)),
            wrong(Invalid, "filter depth must be strictly positive, got 0", (1, 5, 5, 0), (3, 3, 0, 2)),
            wrong(Invalid, r"output size would be negative: -2 \[input_size: 0, effective_filter_size: 3, stride: 1\]",
                  (1, 0, 5, 3), (3, 3, 3, 2), padding="VALID"),
            wrong(Invalid, "strides should be larger than 0", (1, 5, 5, 3), (3, 3, 3, 2), strides=0),
            wrong(Invalid, "Dilated rates should be larger than 0", (1, 5, 5, 3), (3, 3, 3, 2), dilations=-1),
            wrong(Unimplemented, "strides in the batch and depth", (1, 5, 5, 3), (3, 3, 3, 2), strides=[2, 1, 1, 1]),
            wrong(Unimplemented, "dilations in the batch and depth", (1, 5, 5, 3), (3, 3, 3, 2), dilations=[1, 1, 1, 2]),
            wrong(ValueError, r"strides should be of length 1, 2 or 4. Received: strides=\[1, 2, 3\]", (1, 5, 5, 3), (3, 3, 3, 2), strides=[1, 2, 3]),
            wrong(Invalid, "'padding' of \"same\" is not in the list", (1, 5, 5, 3), (3, 3, 3, 2), padding="same"),
            wrong(ValueError, "'EXPLICIT' is not a valid value", (1, 5, 5, 3), (3, 3, 3, 2), padding="EXPLICIT"),
            wrong(TypeError, "Expected string for argument 'padding' not 1", (1, 5, 5, 3), (3, 3, 3, 2), padding=1),
            wrong(ValueError, "must be of size 4. Received: .* of size 3", (1, 5, 5, 3), (3, 3, 3, 2), padding=[[0, 0], [1, 1], [1, 1]]),
            wrong(ValueError, "element at index 3 of type <class 'int'>", (1, 5, 5, 3), (3, 3, 3, 2), padding=[[0, 0], [1, 1], [1, 1], 1]),
            wrong(ValueError, "element at index 0 of size 1", (1, 5, 5, 3), (3, 3, 3, 2), padding=[[0], [1, 1], [1, 1], [0, 0]]),
            wrong(Invalid, "explicit_paddings must be nonnegative", (1, 5, 5, 3), (3, 3, 3, 2), padding=[[0, 0], [1, -1], [1, 1], [0, 0]]),
            wrong(Invalid, "batch or depth dimensions is not supported", (1, 5, 5, 3), (3, 3, 3, 2), padding=[[1, 0], [1, 1], [1, 1], [0, 0]]),
            wrong(Invalid, "'data_format' of \"NWHC\" is not in the list of allowed values: \"NHWC\", \"NCHW\"", (1, 5, 5, 3), (3, 3, 3, 2), data_format="NWHC"),
            (lambda: tf.nn.conv2d(zeros(1, 5, 5, 3), zeros(3, 3, 3, 2, dtype="float64"), 1, "SAME"), Invalid,
             "cannot compute Conv2D as input #1.* expected to be a float tensor but is a double"),
            (lambda: tf.nn.conv2d(zeros(1, 5, 5, 3, dtype="int64"), zeros(3, 3, 3, 2, dtype="int64"), 1, "SAME"), Invalid,
             "Value for attr 'T' of int64 is not in the list"),
        ),
    ),
    Row(
        "conv2d, strides, few channels",
        lambda x, k: tf.nn.conv2d(x, k, strides=[2, 3], padding="SAME"),
        (real(2, 5, 6, 2), real(2, 3, 2, 2)),
        reference((2, 3), "SAME"),
        ops=("Conv2D",),
    ),
    Row(
        "conv2d, many channels, explicit padding",
        lambda x, k: tf.nn.conv2d(x, k, [1, 2], UNEVEN),
        (real(1, 3, 4, 6), real(2, 2, 6, 2)),
        reference((1, 2), UNEVEN),
        ops=("Conv2D",),
        special=(
            (
                (steps(1, 3, 3, 1), steps(2, 2, 1, 1)),
                at((1, 3, 2, 1), -9, 9, 4, -15, 9, 6),
                (at((1, 3, 3, 1), 0, -1, 0, 0, -1, 0, 3, -1, 3), at((2, 2, 1, 1), -3, 2, -2, -1)),
            ),
        ),
    ),
    Row(
        "conv2d, groups and dilations, channels first",
        lambda x, k: tf.nn.conv2d(x, k, 1, "SAME", data_format="NCHW", dilations=2),
        (real(2, 4, 4, 3), real(2, 2, 2, 4)),
        reference(1, "SAME", 2, "NCHW"),
        ops=("Conv2D",),
    ),
    Row(
        "conv2d, axes of batches, int strides above the window",
        lambda x, k: tf.nn.conv2d(x, k, 3, "VALID", dilations=[1, 1, 2, 1]),
        (real(2, 2, 5, 4, 1), real(2, 2, 1, 2)),
        lambda x, k: lax.conv_general_dilated(
            x.reshape(4, 5, 4, 1), k, (3, 3), "VALID", rhs_dilation=(1, 2), dimension_numbers=("NHWC", "HWIO", "NHWC")
        ).reshape(2, 2, 2, 1, 2),
        ops=("Conv2D",),
    ),
    Row(
        "conv1d",
        lambda x, k: tf.nn.conv1d(x, k, 2, "SAME"),
        (real(2, 5, 2), real(3, 2, 2)),
        reference(2, "SAME"),
        ops=("Conv2D",),
        special=(
            (
                (steps(1, 5, 2), steps(3, 2, 2)),
                at((1, 3, 2), -5, 13, -7, 0, -9, -6),
                (at((1, 5, 2), 0, -2, 0, 3, 0, -2, 0, 3, 0, -2), at((3, 2, 2), 4, 4, -4, -4, -1, -1, 1, 1, 4, 4, -4, -4)),
            ),
        ),
        errors=(
            wrong(Invalid, "evenly divisible by filter depth: 3 vs 4", (2, 5, 3), (3, 4, 2), function=tf.nn.conv1d),
            wrong(Invalid, "input must be 4-dimensional", (2, 5), (3, 4, 2), function=tf.nn.conv1d),
            wrong(ValueError, "`data_format` must be 'NWC' or 'NCW'. Received: data_format=XX", (2, 5, 3), (3, 3, 2), function=tf.nn.conv1d, data_format="XX"),
            wrong(ValueError, r"stride should be of length 1, 1 or 3", (2, 5, 3), (3, 3, 2), function=tf.nn.conv1d, strides=[1, 1]),
        ),
    ),
    Row(
        "conv1d, channels first, dilations, explicit padding",
        lambda x, k: tf.nn.conv1d(x, k, 1, [[0, 0], [0, 0], [2, 1]], data_format="NCW", dilations=2),
        (real(2, 2, 4), real(2, 2, 3)),
        reference(1, [[0, 0], [0, 0], [2, 1]], 2, "NCW"),
        ops=("Conv2D",),
    ),
    Row(
        "conv3d",
        lambda x, k: tf.nn.conv3d(x, k, [1, 2, 1, 1, 1], "SAME"),
        (real(1, 3, 2, 3, 2), real(2, 1, 2, 2, 2)),
        reference((2, 1, 1), "SAME"),
        ops=("Conv3D",),
        errors=(
            wrong(Invalid, "input depth must be evenly divisible by filter depth: 3 vs 4", (1, 5, 5, 5, 3), (3, 3, 3, 4, 2), function=tf.nn.conv3d),
            wrong(Invalid, "input must be 5-dimensional", (5, 5, 5, 3), (3, 3, 3, 3, 2), function=tf.nn.conv3d),
        ),
    ),
    Row(
        "conv3d, groups, channels first",
        lambda x, k: tf.nn.conv3d(x, k, 1, "VALID", data_format="NCDHW"),
        (real(1, 4, 2, 2, 3), real(2, 1, 2, 2, 2)),
        reference(data_format="NCDHW"),
        ops=("Conv3D",),
        special=(
            (
                (steps(1, 1, 2, 2, 3), steps(2, 1, 2, 1, 1)),
                at((1, 1, 1, 2, 2), 15, -9, 13, -11),
                (at((1, 1, 2, 2, 3), -3, -3, 0, -3, -3, 0, 3, 2, -1, 3, 2, -1), at((2, 1, 2, 1, 1), -2, 3, 0, -2)),
            ),
        ),
    ),
    Row(
        "convolution",
        lambda x, k: tf.nn.convolution(x, k, padding="SAME", dilations=2),
        (real(1, 4, 3, 1), real(2, 2, 1, 1)),
        reference(1, "SAME", 2),
        ops=("Conv2D",),
        errors=(
            (lambda: tf.nn.convolution(zeros(1, 5, 5, 3), zeros(3, 2)), ValueError, "`num_spatial_dims` must be 1, 2, or 3"),
            (lambda: tf.nn.convolution(zeros(1, 5, 5, 3), zeros(3, 3, 3, 2), strides=2, dilations=2), ValueError,
             "`strides > 1` not supported in conjunction with `dilation_rate > 1`"),
            (lambda: tf.nn.convolution(zeros(1, 5, 5, 3), zeros(3, 3, 3, 2), dilations=0), ValueError,
             "all values of `dilation_rate` must be positive"),
            (lambda: tf.nn.atrous_conv2d(zeros(1, 5, 5, 3), zeros(3, 3, 3, 2), 0, "SAME"), ValueError,
             "all values of `dilation_rate` must be positive"),
        ),
    ),
    Row(
        "atrous_conv2d",
        lambda x, k: tf.nn.atrous_conv2d(x, k, 3, "SAME"),
        (real(1, 4, 4, 1), real(2, 2, 1, 1)),
        reference(1, "SAME", 3),
        ops=("Conv2D",),
    ),
)

TRANSPOSED = (
    Row(
        "conv2d_transpose",
        lambda dy, k: tf.nn.conv2d_transpose(dy, k, [2, 5, 4, 2], [2, 3]),
        (real(2, 3, 2, 3), real(3, 2, 2, 3)),
        transposed((2, 5, 4, 2), strides=(2, 3), padding="SAME"),
        ops=("Conv2DBackpropInput",),
        special=(),
        errors=tuple(
            (lambda shapes=shapes, size=size, padding=padding: tf.nn.conv2d_transpose(zeros(*shapes[0]), zeros(*shapes[1]), size, 2, padding),
             Invalid, match)
            for shapes, size, padding, match in (
                (((1, 5, 5, 2), (3, 3, 3, 2)), [1, 11, 10, 3], "SAME", "match computed: actual = 5, computed = 6 spatial_dim: 1 input: 11 filter: 3 output: 5 stride: 2 dilation: 1"),
                (((1, 5, 5, 2), (3, 3, 3, 2)), [10, 10], "VALID", "match computed: actual = 5, computed = 4 spatial_dim: 1"),
                (((1, 5, 5, 2), (3, 3, 3, 4)), [1, 10, 10, 3], "SAME", "filter and out_backprop must have the same out_depth"),
                (((1, 5, 5, 2), (3, 3, 4, 2)), [1, 10, 10, 3], "SAME", "input depth must be evenly divisible by filter depth: 3 vs 4"),
                (((1, 5, 5, 2), (3, 3, 3, 2)), [2, 10, 10, 3], "SAME", "same batch size. Input batch: 2, outbackprop batch: 1"),
                (((5, 5, 2), (3, 3, 3, 2)), [1, 10, 10, 3], "SAME", r"out_backprop must be 4-dimensional: \[5,5,2\]"),
                (((1, 5, 5, 2), (3, 3, 3, 2)), [1, 10, 3], "SAME", "input_sizes must be 4-dimensional, got: 3"),
                (((1, 5, 5, 2), (3, 3, 3, 2)), [1, -10, 10, 3], "SAME", "must not be negative"),
            )
        ),
    ),
    Row(
        "conv2d_transpose, TensorFlow's numbers",
        lambda dy, k: tf.nn.conv2d_transpose(dy, k, tf.constant([4, 3]), 2),
        (real(1, 2, 2, 1), real(3, 2, 2, 1)),
        transposed((1, 4, 3, 2), strides=2, padding="SAME"),
        ops=("Conv2DBackpropInput",),
        special=(
            (
                (steps(1, 2, 2, 1), steps(3, 2, 2, 1)),
                at((1, 4, 3, 2), 9, 0, -9, 3, 0, 0, -6, 6, -3, 9, 0, 0, -9, -9, 12, -9, 3, 0, 6, -6, 3, -9, -2, 2),
                (at((1, 2, 2, 1), 1, 0, -3, -3), at((3, 2, 2, 1), -1, -1, 0, 0, -1, -1, 0, 0, -3, -3, -3, -3)),
            ),
        ),
    ),
    Row(
        "conv2d_transpose, groups, channels first",
        lambda dy, k: tf.nn.conv2d_transpose(dy, k, [4, 3], 1, UNEVEN[:1] + [[0, 0]] + UNEVEN[1:3], "NCHW"),
        (real(1, 4, 4, 4), real(2, 2, 1, 4)),
        transposed((1, 1, 4, 3), padding=UNEVEN[:1] + [[0, 0]] + UNEVEN[1:3], data_format="NCHW"),
        ops=("Conv2DBackpropInput",),
    ),
    Row(
        "conv1d_transpose",
        lambda dy, k: tf.nn.conv1d_transpose(dy, k, [1, 5, 2], 2),
        (real(1, 3, 1), real(3, 2, 1)),
        transposed((1, 5, 2), strides=2, padding="SAME"),
        ops=("Conv2DBackpropInput",),
        special=(
            ((steps(1, 3, 1), steps(3, 2, 1)), at((1, 5, 2), -9, 3, -6, 6, 0, 0, -9, 0, 9, -3), (at((1, 3, 1), 2, -1, -1), at((3, 2, 1), 3, 3, 0, 0, -3, -3))),
        ),
        errors=((lambda: tf.nn.conv1d_transpose(zeros(1, 5, 2), zeros(3, 3, 2), [1, 12, 3], 2), Invalid, "computed = 6 spatial_dim: 2 input: 12"),),
    ),
    Row(
        "conv3d_transpose",
        lambda dy, k: tf.nn.conv_transpose(dy, k, [1, 3, 2, 2, 1], [2, 1, 1]),
        (real(1, 2, 2, 2, 2), real(2, 1, 2, 1, 2)),
        transposed((1, 3, 2, 2, 1), strides=(2, 1, 1), padding="SAME"),
        ops=("Conv3DBackpropInputV2",),
        errors=(
            (lambda: tf.nn.conv_transpose(zeros(1, 5, 5, 2), zeros(3, 3, 3, 2), 5, 2), ValueError, "`output_shape` must be a tensor or sized collection"),
            (lambda: tf.nn.conv_transpose(zeros(1, 5, 5, 2), zeros(3, 3, 3, 2), [5, 2], 2), ValueError, "must be of length 3, 4 or 5"),
        ),
    ),
    Row(
        "atrous_conv2d_transpose",
        lambda dy, k: tf.nn.atrous_conv2d_transpose(dy, k, [1, 4, 4, 1], 2, "VALID"),
        (real(1, 2, 2, 1), real(2, 2, 1, 1)),
        transposed((1, 4, 4, 1), dilations=2),
        ops=("Conv2DBackpropInput",),
        special=(
            (
                (steps(1, 2, 2, 1), steps(2, 2, 1, 1)),
                at((1, 4, 4, 1), 9, 0, 0, 0, -9, 3, 0, 0, -9, 0, 3, 0, 9, -3, -3, 1),
                (at((1, 2, 2, 1), -1, -1, -1, -1), at((2, 2, 1, 1), -1, -1, -1, -1)),
            ),
        ),
        errors=(
            (lambda: tf.nn.atrous_conv2d_transpose(zeros(1, 5, 5, 2), zeros(3, 3, 3, 4), [1, 9, 9, 3], 2, "VALID"), ValueError, "`value` channel count must be compatible"),
            (lambda: tf.nn.atrous_conv2d_transpose(zeros(1, 5, 5, 2), zeros(3, 3, 3, 2), [1, 9, 9, 3], 0, "VALID"), ValueError, "`rate` cannot be less than one"),
        ),
    ),
    Row(
        "Conv2DBackpropFilter, few channels",
        lambda x, dy: convolution.DENSE[2].to_filter(x, dy, filter_sizes=(2, 2, 1, 2), **SAME_2),
        (real(2, 3, 2, 1), real(2, 3, 2, 2)),
        lambda x, dy: filter_gradient(x, dy, (2, 2, 1, 2), padding="SAME"),
        ops=("Conv2DBackpropFilter",),
        dtypes=("float64", "float32", "float16"),
    ),
    Row(
        "Conv2DBackpropFilter, many channels",
        lambda x, dy: convolution.DENSE[2].to_filter(x, dy, filter_sizes=(2, 2, 5, 2), **SAME_2),
        (real(2, 3, 2, 5), real(2, 3, 2, 2)),
        lambda x, dy: filter_gradient(x, dy, (2, 2, 5, 2), padding="SAME"),
        ops=("Conv2DBackpropFilter",),
    ),
    Row(
        "Conv2DBackpropFilter, groups",
        lambda x, dy: convolution.DENSE[2].to_filter(x, dy, filter_sizes=(2, 2, 2, 6), **SAME_2),
        (real(2, 3, 2, 4), real(2, 3, 2, 6)),
        lambda x, dy: filter_gradient(x, dy, (2, 2, 2, 6), padding="SAME"),
        ops=("Conv2DBackpropFilter",),
    ),
    Row(
        "Conv3DBackpropFilterV2",
        lambda x, dy: convolution.DENSE[3].to_filter(
            x, dy, filter_sizes=(2, 1, 2, 2, 2), **convolution.geometry(3, 1, "VALID", "NCDHW", 1)
        ),
        (real(1, 2, 2, 2, 3), real(1, 2, 1, 2, 2)),
        lambda x, dy: filter_gradient(x, dy, (2, 1, 2, 2, 2), data_format="NCDHW"),
        ops=("Conv3DBackpropFilterV2",),
    ),
)


def filter_gradient(x, dy, shape, **geometry):
    """The gradient of `reference` with respect to its filter, which has `shape`."""
    import jax

    return jax.linear_transpose(lambda k: reference(**geometry)(x, k), jnp.zeros(shape, dy.dtype))(dy)[0]


DEPTHWISE = (
    Row(
        "depthwise_conv2d",
        lambda x, k: tf.nn.depthwise_conv2d(x, k, [1, 1, 1, 1], "SAME"),
        (real(2, 3, 4, 2), real(2, 3, 2, 2)),
        depthwise_reference(padding="SAME"),
        ops=("DepthwiseConv2dNative",),
        dtypes=("float64", "float32", "float16", "bfloat16"),
        special=(
            (
                (steps(1, 2, 3, 2), steps(2, 2, 2, 2)),
                at((1, 2, 3, 4), 15, -3, -7, -3, -3, -5, -14, 13, -6, -3, -8, 6, -3, 0, -6, -6, -2, 2, 11, -9, 3, 0, 6, -2),
                (at((1, 2, 3, 2), -3, 2, -3, 0, -3, 0, 0, 3, -1, -2, -1, -2), at((2, 2, 2, 2), 2, 2, -1, -1, 4, 4, 2, 2, 0, 0, 2, 2, -1, -1, 5, 5)),
            ),
        ),
        errors=tuple(
            wrong(Invalid, match, *shapes, function=tf.nn.depthwise_conv2d)
            for match, *shapes in (
                ("input and filter must have the same depth: 3 vs 4", (1, 5, 5, 3), (3, 3, 4, 2)),
                (r"input must be 4-dimensional: \[5,5,3\]", (5, 5, 3), (3, 3, 3, 2)),
                (r"filter must be 4-dimensional: \[3,3,3\]", (1, 5, 5, 3), (3, 3, 3)),
            )
        ),
    ),
    Row(
        "depthwise_conv2d, strides, channels first",
        lambda x, k: tf.nn.depthwise_conv2d(x, k, [1, 1, 2, 2], "VALID", "NCHW"),
        (real(1, 2, 4, 5), real(2, 2, 2, 1)),
        depthwise_reference(strides=2, data_format="NCHW"),
        ops=("DepthwiseConv2dNative",),
    ),
    Row(
        "depthwise_conv2d, dilations, explicit padding",
        lambda x, k: tf.nn.depthwise_conv2d(x, k, [1, 1, 1, 1], UNEVEN, dilations=[2, 2]),
        (real(1, 3, 3, 2), real(2, 2, 2, 1)),
        depthwise_reference(padding=UNEVEN, dilations=2),
        ops=("DepthwiseConv2dNative",),
    ),
    Row(
        "depthwise_conv2d_backprop_input",
        lambda k, dy: tf.nn.depthwise_conv2d_backprop_input([1, 3, 3, 2], k, dy, [1, 2, 2, 1], "SAME"),
        (real(2, 2, 2, 2), real(1, 2, 2, 4)),
        lambda k, dy: transposed((1, 3, 3, 2), strides=2, padding="SAME")(dy, k.reshape(2, 2, 1, 4)),
        ops=("DepthwiseConv2dNativeBackpropInput",),
    ),
    Row(
        "depthwise_conv2d_backprop_filter",
        lambda x, dy: tf.nn.depthwise_conv2d_backprop_filter(x, [2, 2, 2, 2], dy, [1, 2, 2, 1], "SAME"),
        (real(1, 3, 3, 2), real(1, 2, 2, 4)),
        lambda x, dy: filter_gradient(x, dy, (2, 2, 1, 4), strides=2, padding="SAME").reshape(2, 2, 2, 2),
        ops=("DepthwiseConv2dNativeBackpropFilter",),
    ),
    Row(
        "separable_conv2d",
        lambda x, k, p: tf.nn.separable_conv2d(x, k, p, [1, 1, 1, 1], "VALID"),
        (real(1, 3, 3, 2), real(2, 2, 2, 1), real(1, 1, 2, 2)),
        lambda x, k, p: reference()(depthwise_reference()(x, k), p),
        ops=("DepthwiseConv2dNative", "Conv2D"),
        special=(
            (
                (steps(1, 2, 3, 2), steps(2, 2, 2, 1), steps(1, 1, 2, 2)),
                at((1, 1, 2, 2), -66, 2, -18, 10),
                (
                    at((1, 2, 3, 2), 9, 0, 0, -2, -9, -2, -6, -4, -9, -10, -3, -6),
                    at((2, 2, 2, 1), 0, -2, -15, -6, -3, 0, 3, 10),
                    at((1, 1, 2, 2), 16, 16, -12, -12),
                ),
            ),
        ),
        errors=tuple(
            (lambda pointwise=pointwise: tf.nn.separable_conv2d(zeros(1, 5, 5, 3), zeros(3, 3, 3, 2), zeros(*pointwise), [1, 1, 1, 1], "SAME"), exception, match)
            for pointwise, exception, match in (
                ((1, 1, 5, 4), Invalid, "evenly divisible by filter depth: 6 vs 5"),
                ((3, 1, 6, 4), ValueError, "Dimensions 3 and 1 are not compatible"),
                ((6, 4), ValueError, r"Shape \(6, 4\) must have rank 4"),
            )
        ),
    ),
)

MORPHOLOGY_GEOMETRY = {"strides": (1, 1, 1, 1), "rates": (1, 1, 1, 1), "padding": "SAME"}


def dilation(x, k):
    return dilated(x, k, padding="SAME")


def to_image(x, k, dy):
    import jax

    return jax.vjp(lambda x: dilation(x, k), x)[1](dy)[0]


def to_filter(x, k, dy):
    import jax

    return jax.vjp(lambda k: dilation(x, k), k)[1](dy)[0]


def along_image(x, k, dx):
    import jax

    return jax.jvp(lambda x: dilation(x, k), (x,), (dx,))[1]


def along_filter(x, k, dk):
    import jax

    return jax.jvp(lambda k: dilation(x, k), (k,), (dk,))[1]


MORPHOLOGY = (
    Row(
        "dilation2d",
        lambda x, k: tf.nn.dilation2d(x, k, [1, 1, 1, 1], "SAME", "NHWC", [1, 1, 1, 1]),
        (distinct(1, 3, 3, 2), real(2, 2, 2)),
        dilation,
        ops=("Dilation2D",),
        special=(
            (
                (steps(1, 3, 3, 1), steps(2, 2, 1)),
                at((1, 3, 3, 1), 2, 5, 1, 4, 0, 3, -2, 0, -3),
                (at((1, 3, 3, 1), 0, 0, 0, 1, 1, 1, 2, 1, 3), at((2, 2, 1), 2, 1, 6, 0)),
            ),
            ((steps(1, 3, 3, 1).astype("int8"), steps(2, 2, 1).astype("int8")), at((1, 3, 3, 1), 2, 5, 1, 4, 0, 3, -2, 0, -3)),
            ((np.zeros([1, 2, 2, 1], "float32"), np.zeros([2, 2, 1], "float32")), np.zeros([1, 2, 2, 1]), (np.ones([1, 2, 2, 1]), at((2, 2, 1), 4, 0, 0, 0))),
        ),
        errors=(
            (lambda: tf.nn.dilation2d(zeros(1, 5, 5, 3), zeros(3, 3, 2), 1, "SAME", "NHWC", 1), Invalid, "must have the same depth: 3 vs 2"),
            (lambda: tf.nn.dilation2d(zeros(1, 5, 5, 3), zeros(3, 3, 3), 1, "SAME", "NCHW", 1), ValueError, "other than 'NHWC' are not supported"),
            (lambda: tf.nn.dilation2d(zeros(1, 5, 5, 3), zeros(3, 3, 3, 1), 1, "SAME", "NHWC", 1), Invalid, r"filter must be 3-dimensional: \[3,3,3,1\]"),
            (lambda: tf.nn.dilation2d(zeros(1, 5, 5, 3), zeros(3, 3, 3), [1, 1, 1, 2], "SAME", "NHWC", 1), Unimplemented, "strides in the batch and depth"),
        ),
    ),
    Row(
        "dilation2d, strides and rates",
        lambda x, k: tf.nn.dilation2d(x, k, [1, 2, 2, 1], "VALID", "NHWC", [1, 2, 2, 1]),
        (distinct(1, 5, 5, 1), real(2, 2, 1)),
        lambda x, k: dilated(x, k, (2, 2), (2, 2)),
        ops=("Dilation2D",),
        special=(((steps(1, 5, 5, 1), steps(2, 2, 1)), at((1, 2, 2, 1), 3, 2, 4, 3)),),
    ),
    Row(
        "erosion2d",
        lambda x, k: tf.nn.erosion2d(x, k, [1, 1, 1, 1], "VALID", "NHWC", [1, 1, 1, 1]),
        (distinct(1, 3, 3, 1), real(2, 2, 1)),
        lambda x, k: -dilated(-x, k[::-1, ::-1]),
        ops=("Dilation2D",),
        special=(((steps(1, 3, 3, 1), steps(2, 2, 1)), at((1, 2, 2, 1), -3, 0, -1, -5), (at((1, 3, 3, 1), 0, 1, 1, 0, 1, 1, 0, 0, 0), at((2, 2, 1), 0, 0, -4, 0))),),
        errors=((lambda: tf.nn.erosion2d(zeros(1, 5, 5, 3), zeros(3, 3, 3), 1, "SAME", "NCHW", 1), ValueError, "other than 'NHWC'"),),
    ),
    *[
        Row(
            function.op.type,
            lambda x, k, values, function=function: function(x, k, values, **MORPHOLOGY_GEOMETRY),
            (distinct(1, 3, 2, 2), real(2, 2, 2), values),
            expected,
            ops=(function.op.type,),
            oracle=False,
        )
        for function, values, expected in (
            (morphology._to_input, real(1, 3, 2, 2), to_image),
            (morphology._to_filter, real(1, 3, 2, 2), to_filter),
            (morphology._pick_input, real(1, 3, 2, 2), along_image),
            (morphology._pick_filter, real(2, 2, 2, seed=1), along_filter),
        )
    ],
)

WINDOW_SUMS = (
    Row(
        "WindowSum",
        lambda x: spread._window_sum(x, window=(2, 3), **convolution.geometry(2, 2, "SAME", "NCHW", 1)),
        (real(2, 1, 4, 5),),
        lambda x: jnp.stack(
            [jnp.stack([jnp.pad(x, ((0, 0), (0, 0), (0, 0), (1, 1)))[:, :, i : i + 4 : 2, j : j + 5 : 2].sum((2, 3)) for j in range(3)], 1) for i in range(2)], 1
        ),
        ops=("WindowSum",),
    ),
    Row(
        "WindowSpread",
        lambda sums: spread._window_spread(sums, input_sizes=(2, 3, 2), **convolution.geometry(1, 1, "VALID", "NWC", 1)),
        (real(2, 2, 2),),
        lambda sums: jnp.stack([sums[:, 0], sums[:, 0] + sums[:, 1], sums[:, 1]], 1),
        ops=("WindowSpread",),
    ),
)

ROWS = (*CONVOLUTIONS, *TRANSPOSED, *DEPTHWISE, *MORPHOLOGY, *WINDOW_SUMS)
