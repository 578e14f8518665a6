"""Rows of the depthwise convolutions, and of greyscale dilation and erosion: what treats each channel by itself."""

import jax
import jax.numpy as jnp

import gradtape as tf
from gradtape._src.ops.nn import morphology
from tests.ops.nn.windows import UNEVEN, at, blank, convolution, depthwise, stacked, steps, to_filter, to_image, zeros
from tests.ops.table import Row, distinct, real

Invalid, Unimplemented = tf.errors.InvalidArgumentError, tf.errors.UnimplementedError


def wrong(match, image=(1, 5, 5, 3), filters=(3, 3, 3, 2)):
    """An entry of `errors`: a call of depthwise_conv2d with one mistake in it."""
    return lambda: tf.nn.depthwise_conv2d(zeros(*image), zeros(*filters), 1, "SAME"), Invalid, match


def wrong_pointwise(exception, match, *shape):
    """An entry of `errors`: a call of separable_conv2d with a mistake in its second filter."""

    def call():
        tf.nn.separable_conv2d(zeros(1, 5, 5, 3), zeros(3, 3, 3, 2), zeros(*shape), [1, 1, 1, 1], "SAME")

    return call, exception, match


DEPTHWISE = (
    Row(
        "depthwise_conv2d",
        lambda x, k: tf.nn.depthwise_conv2d(x, k, [1, 1, 1, 1], "SAME"),
        (real(2, 3, 4, 2), real(2, 3, 2, 2)),
        depthwise(padding="SAME"),
        ops=("DepthwiseConv2dNative",),
        dtypes=("float64", "float32", "float16", "bfloat16"),
        special=(
            (
                (steps(1, 2, 3, 2), steps(2, 2, 2, 2)),
                at(
                    (1, 2, 3, 4),
                    *(15, -3, -7, -3, -3, -5, -14, 13, -6, -3, -8, 6),
                    *(-3, 0, -6, -6, -2, 2, 11, -9, 3, 0, 6, -2),
                ),
                (
                    at((1, 2, 3, 2), -3, 2, -3, 0, -3, 0, 0, 3, -1, -2, -1, -2),
                    at((2, 2, 2, 2), 2, 2, -1, -1, 4, 4, 2, 2, 0, 0, 2, 2, -1, -1, 5, 5),
                ),
            ),
        ),
        errors=(
            wrong("input and filter must have the same depth: 3 vs 4", filters=(3, 3, 4, 2)),
            wrong(r"input must be 4-dimensional: \[5,5,3\]", image=(5, 5, 3)),
            wrong(r"filter must be 4-dimensional: \[3,3,3\]", filters=(3, 3, 3)),
        ),
    ),
    Row(
        "depthwise_conv2d, strides, channels first",
        lambda x, k: tf.nn.depthwise_conv2d(x, k, [1, 1, 2, 2], "VALID", "NCHW"),
        (real(1, 2, 4, 5), real(2, 2, 2, 1)),
        depthwise(strides=2, layout="NCHW"),
        ops=("DepthwiseConv2dNative",),
        oracle=False,
    ),
    Row(
        "depthwise_conv2d, dilations, explicit padding",
        lambda x, k: tf.nn.depthwise_conv2d(x, k, [1, 1, 1, 1], UNEVEN, dilations=[2, 2]),
        (real(1, 3, 3, 2), real(2, 2, 2, 1)),
        depthwise(padding=UNEVEN, dilations=2),
        ops=("DepthwiseConv2dNative",),
        oracle=False,
    ),
    Row(
        "depthwise_conv2d_backprop_input",
        lambda k, dy: tf.nn.depthwise_conv2d_backprop_input([1, 3, 3, 2], k, dy, [1, 2, 2, 1], "SAME"),
        (real(2, 2, 2, 2), real(1, 2, 2, 4)),
        lambda k, dy: to_image((1, 3, 3, 2), depthwise(strides=2, padding="SAME"))(dy, k),
        ops=("DepthwiseConv2dNativeBackpropInput",),
    ),
    Row(
        "depthwise_conv2d_backprop_filter",
        lambda x, dy: tf.nn.depthwise_conv2d_backprop_filter(x, [2, 2, 2, 2], dy, [1, 2, 2, 1], "SAME"),
        (real(1, 3, 3, 2), real(1, 2, 2, 4)),
        to_filter((2, 2, 2, 2), depthwise(strides=2, padding="SAME")),
        ops=("DepthwiseConv2dNativeBackpropFilter",),
    ),
    Row(
        "separable_conv2d",
        lambda x, k, p: tf.nn.separable_conv2d(x, k, p, [1, 1, 1, 1], "VALID"),
        (real(1, 3, 3, 2), real(2, 2, 2, 1), real(1, 1, 2, 2)),
        lambda x, k, p: convolution()(depthwise()(x, k), p),
        ops=("DepthwiseConv2dNative", "Conv2D"),
        oracle=False,
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
        errors=(
            wrong_pointwise(Invalid, "evenly divisible by filter depth: 6 vs 5", 1, 1, 5, 4),
            wrong_pointwise(ValueError, "Dimensions 3 and 1 are not compatible", 3, 1, 6, 4),
            wrong_pointwise(ValueError, r"Shape \(6, 4\) must have rank 4", 6, 4),
        ),
    ),
)


def dilated(x, k, stride=1, rate=1, padding="SAME"):
    """Greyscale dilation, from the views of all cells."""
    height, width, _ = k.shape
    views = stacked(x, (1, height, width, 1), (1, stride, stride, 1), padding, (1, rate, rate, 1), -jnp.inf)
    return jnp.max(views + k.reshape(-1, 1, 1, 1, k.shape[2]), 0)


def wrong_dilation(exception, match, filters=(3, 3, 3), strides=1, data_format="NHWC"):
    """An entry of `errors`: a call of dilation2d with one mistake in it."""

    def call():
        tf.nn.dilation2d(zeros(1, 5, 5, 3), zeros(*filters), strides, "SAME", data_format, 1)

    return call, exception, match


PLAIN = {"strides": (1, 1, 1, 1), "rates": (1, 1, 1, 1), "padding": "SAME"}

MORPHOLOGY = (
    Row(
        "dilation2d",
        lambda x, k: tf.nn.dilation2d(x, k, [1, 1, 1, 1], "SAME", "NHWC", [1, 1, 1, 1]),
        (distinct(1, 3, 3, 2), real(2, 2, 2)),
        dilated,
        ops=("Dilation2D",),
        special=(
            (
                (steps(1, 3, 3, 1), steps(2, 2, 1)),
                at((1, 3, 3, 1), 2, 5, 1, 4, 0, 3, -2, 0, -3),
                (at((1, 3, 3, 1), 0, 0, 0, 1, 1, 1, 2, 1, 3), at((2, 2, 1), 2, 1, 6, 0)),
            ),
            (
                (steps(1, 3, 3, 1).astype("int8"), steps(2, 2, 1).astype("int8")),
                at((1, 3, 3, 1), 2, 5, 1, 4, 0, 3, -2, 0, -3),
            ),
            (  # ties
                (blank(1, 2, 2, 1), blank(2, 2, 1)),
                blank(1, 2, 2, 1),
                (at((1, 2, 2, 1), 1, 1, 1, 1), at((2, 2, 1), 4, 0, 0, 0)),
            ),
        ),
        errors=(
            wrong_dilation(Invalid, "must have the same depth: 3 vs 2", filters=(3, 3, 2)),
            wrong_dilation(Invalid, r"filter must be 3-dimensional: \[3,3,3,1\]", filters=(3, 3, 3, 1)),
            wrong_dilation(Invalid, "filter must not have zero elements", filters=(3, 0, 3)),
            wrong_dilation(ValueError, "other than 'NHWC' are not supported", data_format="NCHW"),
            wrong_dilation(Unimplemented, "strides in the batch and depth", strides=[1, 1, 1, 2]),
        ),
    ),
    Row(
        "dilation2d, strides and rates",
        lambda x, k: tf.nn.dilation2d(x, k, [1, 2, 2, 1], "VALID", "NHWC", [1, 2, 2, 1]),
        (distinct(1, 5, 5, 1), real(2, 2, 1)),
        lambda x, k: dilated(x, k, 2, 2, "VALID"),
        ops=("Dilation2D",),
        special=(((steps(1, 5, 5, 1), steps(2, 2, 1)), at((1, 2, 2, 1), 3, 2, 4, 3)),),
    ),
    Row(
        "erosion2d",
        lambda x, k: tf.nn.erosion2d(x, k, [1, 1, 1, 1], "VALID", "NHWC", [1, 1, 1, 1]),
        (distinct(1, 3, 3, 1), real(2, 2, 1)),
        lambda x, k: -dilated(-x, k[::-1, ::-1], padding="VALID"),
        ops=("Dilation2D",),
        special=(
            (
                (steps(1, 3, 3, 1), steps(2, 2, 1)),
                at((1, 2, 2, 1), -3, 0, -1, -5),
                (at((1, 3, 3, 1), 0, 1, 1, 0, 1, 1, 0, 0, 0), at((2, 2, 1), 0, 0, -4, 0)),
            ),
        ),
        errors=(
            (
                lambda: tf.nn.erosion2d(zeros(1, 5, 5, 3), zeros(3, 3, 3), 1, "SAME", "NCHW", 1),
                ValueError,
                "other than 'NHWC'",
            ),
        ),
    ),
    *[
        Row(
            function.op.type,
            lambda x, k, values, function=function: function(x, k, values, **PLAIN),
            (distinct(1, 3, 2, 2), real(2, 2, 2), values),
            expected,
            ops=(function.op.type,),
            oracle=False,
        )
        for function, values, expected in (
            (
                morphology._to_input,
                real(1, 3, 2, 2),
                lambda x, k, dy: jax.vjp(lambda x: dilated(x, k), x)[1](dy)[0],
            ),
            (
                morphology._to_filter,
                real(1, 3, 2, 2),
                lambda x, k, dy: jax.vjp(lambda k: dilated(x, k), k)[1](dy)[0],
            ),
            (
                morphology._pick_input,
                real(1, 3, 2, 2),
                lambda x, k, dx: jax.jvp(lambda x: dilated(x, k), (x,), (dx,))[1],
            ),
            (
                morphology._pick_filter,
                real(2, 2, 2, seed=1),
                lambda x, k, dk: jax.jvp(lambda k: dilated(x, k), (k,), (dk,))[1],
            ),
        )
    ],
)

ROWS = (*DEPTHWISE, *MORPHOLOGY)
