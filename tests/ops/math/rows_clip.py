"""Clipping and rounding."""

import jax.numpy as jnp
import numpy as np

import gradtape as tf
from tests.ops.table import Row, positive, real

INF, NAN = np.inf, np.nan
Invalid = tf.errors.InvalidArgumentError

FLOATS = ("float64", "float32", "float16", "bfloat16")

x, row = real(2, 3), real(3)


def clipped_together(x, y):
    (x, nothing, y), norm = tf.clip_by_global_norm([x, None, y], 1.5)
    assert nothing is None
    return x, y, norm


def scaled_together(x, y, most):
    norm = jnp.sqrt(jnp.sum(x * x) + jnp.sum(y * y))
    scale = most / jnp.maximum(norm, most)
    return x * scale, y * scale, norm


ROWS = (
    Row(
        "clip_by_value",
        lambda x, a, b: tf.clip_by_value(x, a, b),
        (x, np.array(-0.7), positive(3)),
        lambda x, a, b: jnp.maximum(jnp.minimum(x, b), a),
        ops=("Minimum", "Maximum"),
        dtypes=FLOATS,
        special=(
            (
                ([0.0, 1.0, 1.5, 2.0, 3.0, NAN], 1.0, 2.0),
                [1.0, 1.0, 1.5, 2.0, 2.0, NAN],
                ([0.0, 1.0, 1.0, 1.0, 0.0, 0.0], 2.0, 1.0),
            ),
            (([1.0, 2.0], 2.0, 1.0), [2.0, 2.0]),
        ),
        errors=(
            (
                lambda: tf.clip_by_value([1.0, 2.0], [[1.0], [2.0]], 3.0),
                ValueError,
                r"Shapes \(2,\) and \(2, 2\) are incompatible",
            ),
            (lambda: tf.clip_by_value(tf.constant([1, 2]), 1.5, 2), TypeError, "Cannot convert 1.5"),
        ),
    ),
    Row(
        "clip_by_norm",
        lambda x: tf.clip_by_norm(x, 0.8),
        (x,),
        lambda x: x * 0.8 / jnp.maximum(jnp.sqrt(jnp.sum(x * x)), 0.8),
        special=(
            (([3.0, 4.0],), [0.48, 0.64], ([0.0256, -0.0192],)),
            (([0.3, 0.4],), [0.3, 0.4], ([1.0, 1.0],)),
            (([0.0, 0.0],), [0.0, 0.0], ([1.0, 1.0],)),
        ),
        errors=(
            (
                lambda: tf.clip_by_norm([1.0], tf.constant([1.0, 2.0])),
                ValueError,
                r"Shapes \(1,\) and \(2,\) are incompatible",
            ),
        ),
    ),
    Row(
        "clip_by_norm of rows",
        lambda x, n: tf.clip_by_norm(x, n, axes=[1]),
        (x, np.array(0.8)),
        lambda x, n: x * n / jnp.maximum(jnp.sqrt(jnp.sum(x * x, axis=1, keepdims=True)), n),
        special=((([[3.0, 4.0]], -2.0), [[0.0, 0.0]]),),
    ),
    Row(
        "global_norm",
        lambda x, y: tf.linalg.global_norm([x, None, y]),
        (x, row),
        lambda x, y: jnp.sqrt(jnp.sum(x * x) + jnp.sum(y * y)),
        special=((([3.0, 4.0], [12.0]), 13.0, ([3 / 13, 4 / 13], [12 / 13])),),
        errors=((lambda: tf.linalg.global_norm(tf.constant([1.0])), TypeError, "`t_list` should be a sequence of tensors"),),
    ),
    Row(
        "clip_by_global_norm",
        clipped_together,
        (x, row),
        lambda x, y: scaled_together(x, y, 1.5),
        special=(
            (([3.0, 4.0], [0.0]), ([0.9, 1.2], [0.0], 5.0)),
            (([0.3, 0.4], [0.0]), ([0.3, 0.4], [0.0], 0.5)),
            (([3.0, INF], [0.0]), ([NAN, NAN], [NAN], INF)),
        ),
    ),
    # -- rounding
    Row(
        "floor",
        tf.floor,
        (x,),
        jnp.floor,
        ops=("Floor",),
        order=0,
        dtypes=FLOATS,
        special=((([-INF, -2.5, 0.5, 2.0, NAN],), [-INF, -3.0, 0.0, 2.0, NAN]),),
        errors=(
            (
                lambda: tf.floor([1]),
                Invalid,
                "attr 'T' of int32 is not in the list of allowed values: bfloat16, half, float, double",
            ),
        ),
    ),
    Row(
        "ceil",
        tf.math.ceil,
        (x,),
        jnp.ceil,
        ops=("Ceil",),
        order=0,
        dtypes=FLOATS,
        special=((([-2.5, 0.5],), [-2.0, 1.0]),),
    ),
    Row(
        "round",
        tf.round,
        (x,),
        jnp.round,
        ops=("Round",),
        order=0,
        dtypes=FLOATS,
        special=((([0.5, 1.5, 2.5, -0.5, -1.5],), [0.0, 2.0, 2.0, 0.0, -2.0]), (([1, 2],), [1, 2])),
    ),
    Row(
        "rint",
        tf.math.rint,
        (x,),
        jnp.rint,
        ops=("Rint",),
        order=0,
        dtypes=FLOATS,
        special=((([0.5, 1.5, 2.5, -0.5, -1.5],), [0.0, 2.0, 2.0, 0.0, -2.0]),),
    ),
)
