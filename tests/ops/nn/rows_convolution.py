"""Rows of the convolutions, their transposes, and the sums over windows that their gradients are made of."""

import jax.numpy as jnp

import gradtape as tf
from gradtape._src.ops.nn import convolution as ops, spread
from tests.ops.nn.windows import UNEVEN, UNEVEN_FIRST, at, blank, convolution, steps, to_filter, to_image, zeros
from tests.ops.table import Row, real

Invalid, Unimplemented = tf.errors.InvalidArgumentError, tf.errors.UnimplementedError
ALL = ("float64", "float32", "float16", "bfloat16", "int32")


def wrong(exception, match, image=(1, 5, 5, 3), filters=(3, 3, 3, 2), function=tf.nn.conv2d, **named):
    """An entry of `errors`: a call of a convolution with one mistake in it."""
    named = {"stride" if function is tf.nn.conv1d else "strides": 1, "padding": "SAME"} | named
    return lambda: function(zeros(*image), zeros(*filters), **named), exception, match


CONVOLUTIONS = (
    Row(
        "conv2d",
        lambda x, k: tf.nn.conv2d(x, k, 1, "VALID"),
        (real(2, 4, 3, 2), real(3, 2, 2, 3)),
        convolution(),
        ops=("Conv2D",),
        dtypes=ALL,
        special=(
            (  # an empty batch
                (blank(0, 2, 2, 1), steps(2, 2, 1, 1)),
                blank(0, 1, 1, 1),
                (blank(0, 2, 2, 1), blank(2, 2, 1, 1)),
            ),
            (  # a window that just does not fit
                (steps(1, 1, 2, 1), steps(2, 2, 1, 1)),
                blank(1, 0, 1, 1),
                (blank(1, 1, 2, 1), blank(2, 2, 1, 1)),
            ),
        ),
        errors=(
            wrong(Invalid, "input depth must be evenly divisible by filter depth: 3 vs 4", filters=(3, 3, 4, 2)),
            wrong(Invalid, "evenly divisible by number of groups: 3 vs 2", (1, 5, 5, 4), (3, 3, 2, 3)),
            wrong(Invalid, r"convolution input must be 4-dimensional: \[5,5,3\]", (5, 5, 3)),
            wrong(Invalid, r"convolution filter must be 4-dimensional: \[3,3,3\]", filters=(3, 3, 3)),
            wrong(Invalid, "filter must not have zero elements", filters=(0, 3, 3, 2)),
            wrong(Invalid, "filter must not have zero elements", filters=(2, 3, 3, 0)),
            wrong(Invalid, "filter depth must be strictly positive, got 0", (1, 5, 5, 0), (3, 3, 0, 2)),
            wrong(
                Invalid,
                r"output size would be negative: -2 \[input_size: 0, effective_filter_size: 3, stride: 1\]",
                (1, 0, 5, 3),
                padding="VALID",
            ),
            wrong(Invalid, "strides should be larger than 0", strides=0),
            wrong(Invalid, "Dilated rates should be larger than 0", dilations=-1),
            wrong(Unimplemented, "strides in the batch and depth", strides=[2, 1, 1, 1]),
            wrong(Invalid, "dilations in the batch and depth", dilations=[1, 1, 1, 2]),
            wrong(ValueError, r"strides should be of length 1, 2 or 4. .*=\[1, 2, 3\]", strides=[1, 2, 3]),
            wrong(Invalid, "'padding' of \"same\" is not in the list", padding="same"),
            wrong(ValueError, "'EXPLICIT' is not a valid value", padding="EXPLICIT"),
            wrong(TypeError, "Expected string for argument 'padding' not 1", padding=1),
            wrong(ValueError, "must be of size 4. Received: .* of size 3", padding=UNEVEN[:3]),
            wrong(ValueError, "element at index 3 of type <class 'int'>", padding=[*UNEVEN[:3], 1]),
            wrong(ValueError, "element at index 0 of size 1", padding=[[0], *UNEVEN[1:]]),
            wrong(Invalid, "explicit_paddings must be nonnegative", padding=[[0, 0], [1, -1], [1, 1], [0, 0]]),
            wrong(Invalid, "batch or depth dimensions is not supported", padding=[[1, 0], *UNEVEN[1:]]),
            wrong(Invalid, 'of "NWHC" is not in the list of allowed values: "NHWC", "NCHW"', data_format="NWHC"),
            (
                lambda: tf.nn.conv2d(zeros(1, 5, 5, 3), zeros(3, 3, 3, 2, dtype="float64"), 1, "SAME"),
                Invalid,
                "cannot compute Conv2D as input #1.* expected to be a float tensor but is a double",
            ),
            (
                lambda: tf.nn.conv2d(zeros(1, 5, 5, 3, dtype="int64"), zeros(3, 3, 3, 2, dtype="int64"), 1, "SAME"),
                Invalid,
                "Value for attr 'T' of int64 is not in the list",
            ),
        ),
    ),
    Row(
        "conv2d, strides, few channels",
        lambda x, k: tf.nn.conv2d(x, k, strides=[2, 3], padding="SAME"),
        (real(2, 5, 6, 2), real(2, 3, 2, 2)),
        convolution((2, 3), "SAME"),
        ops=("Conv2D",),
    ),
    Row(
        "conv2d, many channels, explicit padding",
        lambda x, k: tf.nn.conv2d(x, k, [1, 2], UNEVEN),
        (real(1, 3, 4, 6), real(2, 2, 6, 2)),
        convolution((1, 2), UNEVEN),
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
        convolution(1, "SAME", 2, "NCHW"),
        ops=("Conv2D",),
    ),
    Row(
        "conv2d, axes of batches, strides above the window",
        lambda x, k: tf.nn.conv2d(x, k, 3, "VALID", dilations=[1, 2, 2, 1]),
        (real(2, 2, 6, 4, 1), real(2, 2, 1, 2)),
        lambda x, k: convolution(3, dilations=2)(x.reshape(4, 6, 4, 1), k).reshape(2, 2, 2, 1, 2),
        ops=("Conv2D",),
        oracle=False,
    ),
    Row(
        "conv1d",
        lambda x, k: tf.nn.conv1d(x, k, 2, "SAME"),
        (real(2, 5, 2), real(3, 2, 2)),
        convolution(2, "SAME"),
        ops=("Conv2D",),
        special=(
            (
                (steps(1, 5, 2), steps(3, 2, 2)),
                at((1, 3, 2), -5, 13, -7, 0, -9, -6),
                (
                    at((1, 5, 2), 0, -2, 0, 3, 0, -2, 0, 3, 0, -2),
                    at((3, 2, 2), 4, 4, -4, -4, -1, -1, 1, 1, 4, 4, -4, -4),
                ),
            ),
        ),
        errors=(
            wrong(Invalid, "evenly divisible by filter depth: 3 vs 4", (2, 5, 3), (3, 4, 2), tf.nn.conv1d),
            wrong(Invalid, "input must be 4-dimensional", (2, 5), (3, 4, 2), tf.nn.conv1d),
            wrong(ValueError, "must be 'NWC' or 'NCW'", (2, 5, 3), (3, 3, 2), tf.nn.conv1d, data_format="XX"),
            wrong(ValueError, "stride should be of length 1, 1 or 3", (2, 5, 3), (3, 3, 2), tf.nn.conv1d, stride=[1, 1]),
        ),
    ),
    Row(
        "conv1d, channels first, dilations, explicit padding",
        lambda x, k: tf.nn.conv1d(x, k, 1, [[0, 0], [0, 0], [2, 1]], data_format="NCW", dilations=2),
        (real(2, 2, 4), real(2, 2, 3)),
        convolution(1, [[0, 0], [0, 0], [2, 1]], 2, "NCW"),
        ops=("Conv2D",),
        oracle=False,
    ),
    Row(
        "conv3d",
        lambda x, k: tf.nn.conv3d(x, k, [1, 2, 1, 1, 1], "SAME"),
        (real(1, 3, 2, 3, 2), real(2, 1, 2, 2, 2)),
        convolution((2, 1, 1), "SAME"),
        ops=("Conv3D",),
        errors=(
            wrong(Invalid, "divisible by filter depth: 3 vs 4", (1, 5, 5, 5, 3), (3, 3, 3, 4, 2), tf.nn.conv3d),
            wrong(Invalid, "input must be 5-dimensional", (5, 5, 5, 3), (3, 3, 3, 3, 2), tf.nn.conv3d),
        ),
    ),
    Row(
        "conv3d, groups, channels first",
        lambda x, k: tf.nn.conv3d(x, k, 1, "VALID", data_format="NCDHW"),
        (real(1, 4, 2, 2, 3), real(2, 1, 2, 2, 2)),
        convolution(layout="NCDHW"),
        ops=("Conv3D",),
        oracle=False,
        special=(
            (
                (steps(1, 1, 2, 2, 3), steps(2, 1, 2, 1, 1)),
                at((1, 1, 1, 2, 2), 15, -9, 13, -11),
                (
                    at((1, 1, 2, 2, 3), -3, -3, 0, -3, -3, 0, 3, 2, -1, 3, 2, -1),
                    at((2, 1, 2, 1, 1), -2, 3, 0, -2),
                ),
            ),
        ),
    ),
    Row(  # here and below the window has more cells than the image
        "conv2d, a large window, strides",
        lambda x, k: tf.nn.conv2d(x, k, [2, 1], "SAME"),
        (real(2, 3, 2, 2), real(4, 3, 2, 3)),
        convolution((2, 1), "SAME"),
        ops=("Conv2D",),
        dtypes=ALL,
        special=(
            (  # an empty batch
                (blank(0, 1, 2, 1), steps(2, 2, 1, 1)),
                blank(0, 1, 2, 1),
                (blank(0, 1, 2, 1), blank(2, 2, 1, 1)),
            ),
        ),
    ),
    Row(
        "conv2d, a large window, dilations, channels first",
        lambda x, k: tf.nn.conv2d(x, k, 1, [[0, 0], [0, 0], [3, 2], [0, 3]], data_format="NCHW", dilations=[1, 1, 2, 2]),
        (real(2, 2, 2, 2), real(3, 2, 2, 3)),
        convolution(1, [[0, 0], [0, 0], [3, 2], [0, 3]], 2, "NCHW"),
        ops=("Conv2D",),
        oracle=False,
    ),
    Row(
        "conv1d, a large window",
        lambda x, k: tf.nn.conv1d(x, k, 2, "SAME"),
        (real(2, 3, 2), real(5, 2, 3)),
        convolution(2, "SAME"),
        ops=("Conv2D",),
        oracle=False,
    ),
    Row(
        "conv3d, a large window",
        lambda x, k: tf.nn.conv3d(x, k, [1, 1, 2, 1, 1], "SAME"),
        (real(1, 2, 3, 1, 2), real(3, 3, 2, 2, 2)),
        convolution((1, 2, 1), "SAME"),
        ops=("Conv3D",),
        oracle=False,
    ),
    Row(
        "convolution",
        lambda x, k: tf.nn.convolution(x, k, padding="SAME", dilations=2),
        (real(1, 4, 3, 1), real(2, 2, 1, 1)),
        convolution(1, "SAME", 2),
        ops=("Conv2D",),
        oracle=False,
        errors=(
            wrong(ValueError, "`num_spatial_dims` must be 1, 2, or 3", filters=(3, 2), function=tf.nn.convolution),
            wrong(
                ValueError,
                "`strides > 1` not supported in conjunction with `dilation_rate > 1`",
                function=tf.nn.convolution,
                strides=2,
                dilations=2,
            ),
            wrong(
                ValueError,
                "all values of `dilation_rate` must be positive",
                function=tf.nn.convolution,
                dilations=0,
            ),
        ),
    ),
    Row(
        "atrous_conv2d",
        lambda x, k: tf.nn.atrous_conv2d(x, k, 3, "SAME"),
        (real(1, 4, 4, 1), real(2, 2, 1, 1)),
        convolution(1, "SAME", 3),
        ops=("Conv2D",),
        oracle=False,
    ),
)


def wrong_transpose(match, image=(1, 5, 5, 2), filters=(3, 3, 3, 2), sizes=(1, 10, 10, 3), padding="SAME"):
    """An entry of `errors`: a call of conv2d_transpose with one mistake in it."""
    return lambda: tf.nn.conv2d_transpose(zeros(*image), zeros(*filters), sizes, 2, padding), Invalid, match


TRANSPOSED = (
    Row(
        "conv2d_transpose",
        lambda dy, k: tf.nn.conv2d_transpose(dy, k, [2, 5, 4, 2], [2, 3]),
        (real(2, 3, 2, 3), real(3, 2, 2, 3)),
        to_image((2, 5, 4, 2), convolution((2, 3), "SAME")),
        ops=("Conv2DBackpropInput",),
        errors=(
            wrong_transpose(
                "match computed: actual = 5, computed = 6 spatial_dim: 1 input: 11 filter: 3 output: 5 stride: 2",
                sizes=(1, 11, 10, 3),
            ),
            wrong_transpose("actual = 5, computed = 4 spatial_dim: 1", sizes=(10, 10), padding="VALID"),
            wrong_transpose("filter and out_backprop must have the same out_depth", filters=(3, 3, 3, 4)),
            wrong_transpose("evenly divisible by filter depth: 3 vs 4", filters=(3, 3, 4, 2)),
            wrong_transpose("same batch size. Input batch: 2, outbackprop batch: 1", sizes=(2, 10, 10, 3)),
            wrong_transpose(r"out_backprop must be 4-dimensional: \[5,5,2\]", (5, 5, 2)),
            wrong_transpose("input_sizes must be 4-dimensional, got: 3", sizes=(1, 10, 3)),
            wrong_transpose("must not be negative", sizes=(1, -10, 10, 3)),
        ),
    ),
    Row(  # the window has more cells than what is transposed
        "conv2d_transpose, a large window",
        lambda dy, k: tf.nn.conv2d_transpose(dy, k, [2, 4, 3, 2], 2, data_format="NHWC"),
        (real(2, 2, 2, 3), real(5, 3, 2, 3)),
        to_image((2, 4, 3, 2), convolution(2, "SAME")),
        ops=("Conv2DBackpropInput",),
    ),
    Row(
        "conv2d_transpose, height and width as a tensor",
        lambda dy, k: tf.nn.conv2d_transpose(dy, k, tf.constant([4, 3]), 2),
        (real(1, 2, 2, 1), real(3, 2, 2, 1)),
        to_image((1, 4, 3, 2), convolution(2, "SAME")),
        ops=("Conv2DBackpropInput",),
        oracle=False,
        special=(
            (
                (steps(1, 2, 2, 1), steps(3, 2, 2, 1)),
                at(
                    (1, 4, 3, 2),
                    *(9, 0, -9, 3, 0, 0, -6, 6, -3, 9, 0, 0),
                    *(-9, -9, 12, -9, 3, 0, 6, -6, 3, -9, -2, 2),
                ),
                (at((1, 2, 2, 1), 1, 0, -3, -3), at((3, 2, 2, 1), -1, -1, 0, 0, -1, -1, 0, 0, -3, -3, -3, -3)),
            ),
        ),
    ),
    Row(
        "conv2d_transpose, groups, channels first",
        lambda dy, k: tf.nn.conv2d_transpose(dy, k, [4, 3], 1, UNEVEN_FIRST, "NCHW"),
        (real(1, 4, 4, 4), real(2, 2, 1, 4)),
        to_image((1, 1, 4, 3), convolution(1, UNEVEN_FIRST, layout="NCHW")),
        ops=("Conv2DBackpropInput",),
    ),
    Row(
        "conv1d_transpose",
        lambda dy, k: tf.nn.conv1d_transpose(dy, k, [1, 5, 2], 2),
        (real(1, 3, 1), real(3, 2, 1)),
        to_image((1, 5, 2), convolution(2, "SAME")),
        ops=("Conv2DBackpropInput",),
        oracle=False,
        special=(
            (
                (steps(1, 3, 1), steps(3, 2, 1)),
                at((1, 5, 2), -9, 3, -6, 6, 0, 0, -9, 0, 9, -3),
                (at((1, 3, 1), 2, -1, -1), at((3, 2, 1), 3, 3, 0, 0, -3, -3)),
            ),
        ),
        errors=(
            (
                lambda: tf.nn.conv1d_transpose(zeros(1, 5, 2), zeros(3, 3, 2), [1, 12, 3], 2),
                Invalid,
                "computed = 6 spatial_dim: 2 input: 12",
            ),
        ),
    ),
    Row(
        "conv3d_transpose",
        lambda dy, k: tf.nn.conv_transpose(dy, k, [1, 3, 2, 2, 1], [2, 1, 1]),
        (real(1, 2, 2, 2, 2), real(2, 1, 2, 1, 2)),
        to_image((1, 3, 2, 2, 1), convolution((2, 1, 1), "SAME")),
        ops=("Conv3DBackpropInputV2",),
        errors=(
            (
                lambda: tf.nn.conv_transpose(zeros(1, 5, 5, 2), zeros(3, 3, 3, 2), 5, 2),
                ValueError,
                "`output_shape` must be a tensor or sized collection",
            ),
            (
                lambda: tf.nn.conv_transpose(zeros(1, 5, 5, 2), zeros(3, 3, 3, 2), [5, 2], 2),
                ValueError,
                "must be of length 3, 4 or 5",
            ),
        ),
    ),
    Row(
        "atrous_conv2d_transpose",
        lambda dy, k: tf.nn.atrous_conv2d_transpose(dy, k, [1, 4, 4, 1], 2, "VALID"),
        (real(1, 2, 2, 1), real(2, 2, 1, 1)),
        to_image((1, 4, 4, 1), convolution(dilations=2)),
        ops=("Conv2DBackpropInput",),
        oracle=False,
        special=(
            (
                (steps(1, 2, 2, 1), steps(2, 2, 1, 1)),
                at((1, 4, 4, 1), 9, 0, 0, 0, -9, 3, 0, 0, -9, 0, 3, 0, 9, -3, -3, 1),
                (at((1, 2, 2, 1), -1, -1, -1, -1), at((2, 2, 1, 1), -1, -1, -1, -1)),
            ),
        ),
        errors=(
            (
                lambda: tf.nn.atrous_conv2d_transpose(zeros(1, 5, 5, 2), zeros(3, 3, 3, 4), [9, 9], 2, "VALID"),
                ValueError,
                "`value` channel count must be compatible",
            ),
            (
                lambda: tf.nn.atrous_conv2d_transpose(zeros(1, 5, 5, 2), zeros(3, 3, 3, 2), [9, 9], 0, "VALID"),
                ValueError,
                "`rate` cannot be less than one",
            ),
        ),
    ),
    *[
        Row(
            f"Conv2DBackpropFilter, {what}",
            lambda x, dy, shape=shape: ops.DENSE[2].to_filter(x, dy, filter_sizes=shape, **ops.geometry(2, 1, "SAME", "NHWC", 1)),
            (real(2, 3, 2, channels), real(2, 3, 2, shape[-1])),
            to_filter(shape, convolution(1, "SAME")),
            ops=("Conv2DBackpropFilter",),
            dtypes=("float64", "float32", "float16"),
        )
        for what, channels, shape in (
            ("few channels", 1, (2, 2, 1, 2)),
            ("many channels", 5, (2, 2, 5, 2)),
            ("groups", 4, (2, 2, 2, 6)),
        )
    ],
    Row(
        "Conv3DBackpropFilterV2",
        lambda x, dy: ops.DENSE[3].to_filter(x, dy, filter_sizes=(2, 1, 2, 2, 2), **ops.geometry(3, 1, "VALID", "NCDHW", 1)),
        (real(1, 2, 2, 2, 3), real(1, 2, 1, 2, 2)),
        to_filter((2, 1, 2, 2, 2), convolution(layout="NCDHW")),
        ops=("Conv3DBackpropFilterV2",),
    ),
)


def sums_over_windows(x):
    """What the cells of a window of 2×3, stride 2, meet of images [N, C, 4, 5], SAME: summed over its stops."""
    x = jnp.pad(x, ((0, 0), (0, 0), (0, 0), (1, 1)))
    rows = [[x[:, :, i : i + 4 : 2, j : j + 5 : 2].sum((2, 3)) for j in range(3)] for i in range(2)]
    return jnp.stack([jnp.stack(row, 1) for row in rows], 1)


WINDOW_SUMS = (
    Row(
        "WindowSum",
        lambda x: spread._window_sum(x, window=(2, 3), **ops.geometry(2, 2, "SAME", "NCHW", 1)),
        (real(2, 1, 4, 5),),
        sums_over_windows,
        ops=("WindowSum",),
    ),
    Row(
        "WindowSpread",
        lambda sums: spread._window_spread(sums, input_sizes=(2, 3, 2), **ops.geometry(1, 1, "VALID", "NWC", 1)),
        (real(2, 2, 2),),
        lambda sums: jnp.stack([sums[:, 0], sums[:, 0] + sums[:, 1], sums[:, 1]], 1),
        ops=("WindowSpread",),
    ),
)

ROWS = (*CONVOLUTIONS, *TRANSPOSED, *WINDOW_SUMS)
