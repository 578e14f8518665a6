"""Rows of the pools."""

import jax
import jax.numpy as jnp
import numpy as np

import gradtape as tf
from gradtape._src.ops.nn import pooling
from tests.ops.nn.windows import FORMATS, at, stacked, steps, zeros
from tests.ops.table import Row, distinct, real

Invalid, Unimplemented = tf.errors.InvalidArgumentError, tf.errors.UnimplementedError
INF, NAN = np.inf, np.nan
FLOATS = ("float64", "float32", "float16", "bfloat16")


def by_axis(values, layout):
    """An entry for every axis of `layout`, from an int or from one for each spatial axis."""
    values = iter(values if isinstance(values, tuple) else (values,) * 3)
    return [1 if axis in "NC" else next(values) for axis in layout]


def reference(kind, ksize, strides=1, padding="VALID", dilations=1, layout=None):
    """A pool by windows laid side by side."""

    def pool(x):
        letters = layout or FORMATS[x.ndim]
        extents, stops, rates = [by_axis(values, letters) for values in (ksize, strides, dilations)]
        if kind == "max":
            lowest = -jnp.inf if jnp.issubdtype(x.dtype, jnp.floating) else jnp.iinfo(x.dtype).min
            return jnp.max(stacked(x, extents, stops, padding, rates, lowest), 0)
        total, count = [jnp.sum(stacked(a, extents, stops, padding, rates, 0), 0) for a in (x, jnp.ones_like(x))]
        return total / count

    return pool


def transposed(pool, x, dy):
    return jax.vjp(pool, x)[1](dy)[0]


def along(pool, x, dx):
    return jax.jvp(pool, (x,), (dx,))[1]


def wrong(exception, match, function, *shape, ksize=2, strides=2, padding="VALID", dtype="float32", **named):
    """An entry of `errors`: a call of a pool with one mistake in it."""
    return lambda: function(zeros(*shape, dtype=dtype), ksize, strides, padding, **named), exception, match


def invalid_pools(function):
    """The mistakes that every pool over two axes finds."""
    shape = 1, 5, 5, 4
    return (
        wrong(Invalid, "ksize must be positive. .* is: 1,0,0,1", function, *shape, ksize=0),
        wrong(Invalid, "Stride must be > 0, but got 0", function, *shape, strides=0),
        wrong(Invalid, r"must have 2 spatial dimensions: received \[5,5,3\]", function, 5, 5, 3),
        wrong(Unimplemented, "(Non-spatial pooling|MaxPooling supports exactly one of)", function, *shape, ksize=[1, 1, 1, 2]),
        wrong(Unimplemented, "not yet supported on the batch dimension", function, *shape, ksize=[2, 1, 1, 1]),
        wrong(ValueError, "ksize should be of length 1, 2 or 4", function, *shape, ksize=[1, 2, 3]),
        wrong(Invalid, "'padding' of \"FOO\" is not in the list", function, *shape, padding="FOO"),
        wrong(Invalid, "'data_format' of \"FOO\" is not in the list", function, *shape, data_format="FOO"),
        wrong(Invalid, "output size would be negative: -1", function, *shape, ksize=7, strides=1),
    )


def wrong_pool(match, window=(2, 2), kind="MAX", **named):
    """An entry of `errors`: a call of tf.nn.pool with one mistake in it."""
    return lambda: tf.nn.pool(zeros(1, 5, 5, 3), window, kind, **named), ValueError, match


MAX_2 = {
    "ksize": (1, 2, 3, 1),
    "strides": (1, 2, 1, 1),
    "padding": "SAME",
    "explicit_paddings": (),
    "data_format": "NHWC",
    "dilations": (1, 1, 1, 1),
}
MAX_3 = {
    "ksize": (1, 1, 2, 1, 2),
    "strides": (1, 1, 2, 1, 1),
    "padding": "VALID",
    "explicit_paddings": (),
    "data_format": "NCDHW",
    "dilations": (1, 1, 1, 1, 1),
}
MAX_2_REFERENCE = reference("max", (2, 3), (2, 1), "SAME")
MAX_3_REFERENCE = reference("max", (2, 1, 2), (2, 1, 1), layout="NCDHW")

MAXIMA = (
    Row(
        "max_pool2d",
        lambda x: tf.nn.max_pool2d(x, 2, 2, "VALID"),
        (distinct(2, 4, 4, 2),),
        reference("max", 2, 2),
        ops=("MaxPool",),
        dtypes=(*FLOATS, "int32", "int8"),
        special=(
            (np.ones([1, 2, 2, 1], "float32"), np.ones([1, 1, 1, 1]), at((1, 2, 2, 1), 1, 0, 0, 0)),
            (at((1, 2, 2, 1), 1, 2, 2, 1), at((1, 1, 1, 1), 2), at((1, 2, 2, 1), 0, 1, 0, 0)),
            (at((1, 2, 2, 1), 1, 2, NAN, 3), at((1, 1, 1, 1), NAN), at((1, 2, 2, 1), 0, 0, 1, 0)),
            (np.full([1, 2, 2, 1], -INF, "float32"), at((1, 1, 1, 1), -INF), at((1, 2, 2, 1), 1, 0, 0, 0)),
            (np.zeros([0, 4, 4, 1], "float32"), np.zeros([0, 2, 2, 1]), np.zeros([0, 4, 4, 1])),
            (np.zeros([1, 1, 4, 1], "float32"), np.zeros([1, 0, 2, 1]), np.zeros([1, 1, 4, 1])),
        ),
        errors=(
            *invalid_pools(tf.nn.max_pool2d),
            wrong(
                Invalid,
                "Padding 2 needs to be smaller than the window size 2",
                tf.nn.max_pool2d,
                1,
                5,
                5,
                3,
                padding=[[0, 0], [2, 2], [1, 1], [0, 0]],
            ),
            wrong(Invalid, "Value for attr 'T' of bool", tf.nn.max_pool2d, 1, 5, 5, 3, dtype="bool"),
        ),
    ),
    Row(
        "max_pool2d, channels",
        lambda x: tf.nn.max_pool2d(x, [1, 1, 1, 2], [1, 1, 1, 2], "VALID"),
        (distinct(1, 2, 3, 4),),
        lambda x: jnp.max(x.reshape(1, 2, 3, 2, 2), -1),
        oracle=False,
    ),
    Row(
        "max_pool2d, overlapping, SAME",
        lambda x: tf.nn.max_pool2d(x, 3, 2, "SAME"),
        (distinct(1, 4, 5, 2),),
        reference("max", 3, 2, "SAME"),
        ops=("MaxPool",),
        special=(
            (
                steps(1, 4, 4, 1),
                at((1, 2, 2, 1), 3, 3, 3, 2),
                at((1, 4, 4, 1), 0, 0, 2, 0, 0, 0, 0, 0, 0, 1, 0, 1, 0, 0, 0, 0),
            ),
            (np.full([1, 1, 3, 1], -INF, "float32"), np.full([1, 1, 2, 1], -INF), at((1, 1, 3, 1), 1, 1, 0)),
        ),
    ),
    Row(
        "max_pool2d, explicit padding, channels first",
        lambda x: tf.nn.max_pool2d(x, 3, 2, [[0, 0], [0, 0], [1, 1], [2, 0]], "NCHW"),
        (distinct(2, 1, 3, 3),),
        reference("max", 3, 2, [[0, 0], [0, 0], [1, 1], [2, 0]], layout="NCHW"),
        ops=("MaxPool",),
        special=((steps(1, 1, 3, 3), at((1, 1, 2, 2), -1, 3, 1, 2), at((1, 1, 3, 3), 0, 0, 1, 1, 1, 0, 1, 0, 0)),),
    ),
    Row(
        "max_pool2d, a window of many cells",
        lambda x: tf.nn.max_pool(x, [5, 4], [2, 1], "SAME"),
        (distinct(1, 4, 5, 2),),
        reference("max", (5, 4), (2, 1), "SAME"),
        ops=("MaxPool",),
        special=((np.ones([1, 3, 3, 1], "float32"), np.ones([1, 2, 3, 1]), at((1, 3, 3, 1), 4, 2, 0, 0, 0, 0, 0, 0, 0)),),
    ),
    Row(
        "max_pool1d, a window of very many cells",
        lambda x: tf.nn.max_pool1d(x, 17, 3, "SAME"),
        (distinct(2, 20, 2),),
        reference("max", 17, 3, "SAME"),
        ops=("MaxPool",),
        special=(
            (np.ones([1, 18, 1], "float32"), np.ones([1, 6, 1]), at((1, 18, 1), 3, 0, 1, 0, 0, 1, 0, 0, 1, *[0] * 9)),
            ([[[1.0], [NAN], [NAN]]], [[[NAN]]], [[[0], [1], [0]]]),
        ),
    ),
    Row(
        "max_pool1d",
        lambda x: tf.nn.max_pool1d(x, 2, 1, "SAME"),
        (distinct(2, 5, 2),),
        reference("max", 2, 1, "SAME"),
        ops=("MaxPool",),
        special=((steps(1, 5, 1), at((1, 5, 1), 0, 3, 3, 2, 2), at((1, 5, 1), 0, 1, 2, 0, 2)),),
        errors=(
            wrong(ValueError, "`data_format` must be 'NWC' or 'NCW'", tf.nn.max_pool1d, 1, 5, 3, data_format="X"),
            (
                lambda: tf.nn.max_pool(tf.zeros([5, 5]), 2, 2, "SAME"),
                ValueError,
                r"rank` must be 3, 4 or 5. Received: input.shape=\(5, 5\) of rank 2",
            ),
        ),
    ),
    Row(
        "max_pool3d",
        lambda x: tf.nn.max_pool(x, 2, 1, "VALID"),
        (distinct(1, 2, 2, 3, 2),),
        reference("max", 2, 1),
        ops=("MaxPool3D",),
        special=(  # unlike in images, all that are the maximum get the gradient
            (np.ones((1, 2, 2, 3, 1), "float32"), at((1, 1, 1, 2, 1), 1, 1), at((1, 2, 2, 3, 1), *(1, 2, 1) * 4)),
            (steps(1, 2, 2, 3, 1), at((1, 1, 1, 2, 1), 3, 3), at((1, 2, 2, 3, 1), 0, 0, 1, 0, 0, 0, 0, 0, 0, 1, 0, 0)),
        ),
        errors=(
            (
                lambda: tf.nn.max_pool(tf.zeros([1, 5, 5, 5, 3]), 2, 2, [[0, 0], *[[1, 1]] * 3, [0, 0]]),
                ValueError,
                "Explicit padding is not supported with an input tensor of rank 5",
            ),
        ),
    ),
    Row(
        "pool, dilations",
        lambda x: tf.nn.pool(x, [2, 2], "MAX", dilations=[2, 1]),
        (distinct(1, 4, 3, 1),),
        reference("max", 2, 1, dilations=(2, 1)),
        ops=("MaxPool",),
        errors=(
            wrong_pool("'SAME' padding is not implemented for `dilation_rate` > 1", padding="SAME", dilations=[2, 2]),
            wrong_pool("`strides` > `window_shape` not supported", strides=[3, 3]),
            wrong_pool("not supported in conjunction with", strides=[2, 2], dilations=[2, 2]),
            wrong_pool("2-D SUM pooling is not supported", kind="SUM"),
            wrong_pool(r"Shape \(1, 5, 5, 3\) must have rank 3", window=[2]),
            wrong_pool("must be 1, 2, or 3. Received: .* of length 4", window=[2] * 4),
        ),
    ),
    Row(
        "MaxPoolGrad",
        lambda x, dy: pooling.MAXIMA[2][1](x, tf.nn.max_pool2d(x, [2, 3], [2, 1], "SAME"), dy, **MAX_2),
        (distinct(1, 3, 3, 2), real(1, 2, 3, 2)),
        lambda x, dy: transposed(MAX_2_REFERENCE, x, dy),
        ops=("MaxPoolGrad",),
        oracle=False,
    ),
    Row(
        "MaxPoolGradGrad",
        lambda x, dx: pooling.MAXIMA[2][2](x, tf.nn.max_pool2d(x, [2, 3], [2, 1], "SAME"), dx, **MAX_2),
        (distinct(1, 3, 3, 2), real(1, 3, 3, 2)),
        lambda x, dx: along(MAX_2_REFERENCE, x, dx),
        ops=("MaxPoolGradGrad",),
        oracle=False,
    ),
    Row(
        "MaxPool3DGrad",
        lambda x, dy: pooling.MAXIMA[3][1](x, pooling.MAXIMA[3][0](x, **MAX_3), dy, **MAX_3),
        (distinct(1, 1, 4, 1, 3), real(1, 1, 2, 1, 2)),
        lambda x, dy: transposed(MAX_3_REFERENCE, x, dy),
        ops=("MaxPool3DGrad",),
        oracle=False,
    ),
    Row(
        "MaxPool3DGradGrad",
        lambda x, dx: pooling.MAXIMA[3][2](x, pooling.MAXIMA[3][0](x, **MAX_3), dx, **MAX_3),
        (distinct(1, 1, 4, 1, 3), real(1, 1, 4, 1, 3)),
        lambda x, dx: along(MAX_3_REFERENCE, x, dx),
        ops=("MaxPool3DGradGrad",),
        oracle=False,
    ),
    Row(
        "max_pool_with_argmax",
        lambda x: tf.nn.max_pool_with_argmax(x, 2, 2, "SAME"),
        (distinct(2, 3, 4, 2),),
        lambda x: (reference("max", 2, 2, "SAME")(x), places(x)),
        ops=("MaxPoolWithArgmax",),
        oracle=False,
        special=(
            (
                np.arange(24.0, dtype="float32").reshape(2, 3, 4, 1) % 7,
                (at((2, 2, 2, 1), 5, 6, 2, 4, 6, 5, 6, 2), np.reshape([5, 6, 9, 11, 1, 7, 8, 11], (2, 2, 2, 1))),
            ),
        ),
        errors=(
            wrong(
                ValueError,
                "other than 'NHWC' are not supported",
                tf.nn.max_pool_with_argmax,
                1,
                5,
                5,
                3,
                data_format="NCHW",
            ),
            wrong(
                Invalid,
                "'Targmax' of float is not in the list",
                tf.nn.max_pool_with_argmax,
                1,
                5,
                5,
                3,
                output_dtype=tf.float32,
            ),
            wrong(
                TypeError,
                "Expected string for argument 'padding'",
                tf.nn.max_pool_with_argmax,
                1,
                5,
                5,
                3,
                padding=[[0, 0]] * 4,
            ),
        ),
    ),
    Row(
        "max_pool_with_argmax, places in the batch",
        lambda x: tf.nn.max_pool_with_argmax(x, 2, 2, "SAME", output_dtype=tf.int32, include_batch_in_index=True)[1],
        (np.arange(24).reshape(2, 3, 4, 1) % 7.0,),
        lambda x: jnp.array([5, 6, 9, 11, 13, 19, 20, 23], "int32").reshape(2, 2, 2, 1),
        ops=("MaxPoolWithArgmax",),
        order=0,
    ),
)


def places(x):
    """Where the maxima of the 2×2 windows are in each flattened image: the places, pooled as the values are."""
    numbers = jnp.broadcast_to(jnp.arange(x[0].size, dtype="int64").reshape(x.shape[1:]), x.shape)
    geometry = (1, 2, 2, 1), (1, 2, 2, 1), "SAME", (1, 1, 1, 1)
    best = jnp.argmax(stacked(x, *geometry, -jnp.inf), 0)
    return jnp.take_along_axis(stacked(numbers, *geometry, -1), best[None], 0)[0]


MEANS = (
    Row(
        "avg_pool2d",
        lambda x: tf.nn.avg_pool2d(x, 2, 2, "VALID"),
        (real(2, 4, 4, 2),),
        reference("avg", 2, 2),
        ops=("AvgPool",),
        dtypes=FLOATS,
        special=((np.zeros([0, 4, 4, 1], "float32"), np.zeros([0, 2, 2, 1]), np.zeros([0, 4, 4, 1])),),
        errors=(
            *invalid_pools(tf.nn.avg_pool2d),
            wrong(
                TypeError,
                "Expected string for argument 'padding'",
                tf.nn.avg_pool2d,
                1,
                5,
                5,
                3,
                padding=[[0, 0], [1, 1], [1, 1], [0, 0]],
            ),
            wrong(Invalid, "Value for attr 'T' of int32", tf.nn.avg_pool2d, 1, 5, 5, 3, dtype="int32"),
        ),
    ),
    Row(
        "avg_pool2d, overlapping, SAME",
        lambda x: tf.nn.avg_pool2d(x, 3, 1, "SAME"),
        (real(1, 3, 4, 2),),
        reference("avg", 3, 1, "SAME"),
        ops=("AvgPool",),
        dtypes=("float64", "float32", "float16"),
        special=(
            (
                steps(1, 3, 3, 1),
                at((1, 3, 3, 1), -0.5, -1 / 6, 0.75, -2 / 3, -1 / 3, 0, -0.25, -0.5, -0.75),
                at((1, 3, 3, 1), 25 / 36, 10 / 9, 25 / 36, 10 / 9, 16 / 9, 10 / 9, 25 / 36, 10 / 9, 25 / 36),
            ),
        ),
    ),
    Row(
        "avg_pool2d, side by side with a rest, channels first",
        lambda x: tf.nn.avg_pool2d(x, 2, 2, "SAME", data_format="NCHW"),
        (real(1, 2, 3, 5),),
        reference("avg", 2, 2, "SAME", layout="NCHW"),
        ops=("AvgPool",),
        special=(
            (
                steps(1, 1, 3, 3),
                at((1, 1, 2, 2), -0.5, 0.5, -1, 0),
                at((1, 1, 3, 3), 0.25, 0.25, 0.5, 0.25, 0.25, 0.5, 0.5, 0.5, 1),
            ),
        ),
    ),
    Row(
        "avg_pool2d of all",
        lambda x: tf.nn.avg_pool(x, [3, 4], 1, "VALID"),
        (real(2, 3, 4, 2),),
        reference("avg", (3, 4)),
        ops=("AvgPool",),
    ),
    Row(
        "avg_pool1d",
        lambda x: tf.nn.avg_pool1d(x, 2, 1, "SAME"),
        (real(2, 5, 1),),
        reference("avg", 2, 1, "SAME"),
        ops=("AvgPool",),
        special=((steps(1, 5, 1), at((1, 5, 1), -1.5, 1.5, 1, 0.5, 2), at((1, 5, 1), 0.5, 1, 1, 1, 1.5)),),
    ),
    Row(
        "avg_pool3d",
        lambda x: tf.nn.avg_pool(x, [1, 2, 2], [1, 2, 1], "SAME", "NCDHW"),
        (real(1, 1, 2, 3, 2),),
        reference("avg", (1, 2, 2), (1, 2, 1), "SAME", layout="NCDHW"),
        ops=("AvgPool3D",),
    ),
    Row(
        "pool, means, dilations, one axis",
        lambda x: tf.nn.pool(x, [2], "AVG", data_format="NCW", dilations=[3]),
        (real(2, 2, 5),),
        reference("avg", 2, 1, dilations=3, layout="NCW"),
        ops=("AvgPool",),
    ),
    *[
        Row(
            types[1],
            lambda dy, rank=rank, geometry=geometry, size=size: pooling.MEANS[rank][1](dy, input_sizes=size, **geometry),
            (dy,),
            lambda dy, expected=expected, size=size: jax.linear_transpose(expected, jnp.zeros(size, dy.dtype))(dy)[0],
            ops=(types[1],),
        )
        for rank, types, geometry, size, dy, expected in (
            (
                2,
                ("AvgPool", "AvgPoolGrad"),
                MAX_2,
                (1, 3, 3, 2),
                real(1, 2, 3, 2),
                reference("avg", (2, 3), (2, 1), "SAME"),
            ),
            (
                3,
                ("AvgPool3D", "AvgPool3DGrad"),
                MAX_3,
                (1, 1, 4, 1, 3),
                real(1, 1, 2, 1, 2),
                reference("avg", (2, 1, 2), (2, 1, 1), layout="NCDHW"),
            ),
        )
    ],
)

ROWS = (*MAXIMA, *MEANS)
