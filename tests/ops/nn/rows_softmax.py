"""Rows of softmax and its logarithm."""

import jax
import numpy as np

import gradtape as tf
from tests.ops.table import Row, real

INF = np.inf
Invalid = tf.errors.InvalidArgumentError
FLOATS = ("float64", "float32", "float16", "bfloat16")
WEIGHTS = np.array([[1.0, 2.0, 3.0]], "float32")

RANGE = r"`dim` must be in the range \[-1, 1\) where 1 is the number of dimensions in the input. Received: dim="


def errors(function):
    """The calls that both functions refuse."""
    return (
        (lambda: function(tf.constant([1.0, 2.0]), axis=1), Invalid, RANGE + "1"),
        (lambda: function(tf.constant([1.0, 2.0]), axis=-2), Invalid, RANGE + "-2"),
        (lambda: function(tf.constant([1.0, 2.0]), axis=[0]), TypeError, r"axis must be an integer, received \[0\]"),
        (lambda: function(1.0), Invalid, r"must be in the range \[0, 0\)"),
        (lambda: function([1, 2, 3]), Invalid, "Value for attr 'T' of int32 is not in the list of allowed values"),
    )


ROWS = (
    Row(
        "softmax",
        tf.nn.softmax,
        (real(2, 3),),
        jax.nn.softmax,
        ops=("Softmax",),
        dtypes=FLOATS,
        special=(
            (np.zeros((0, 3), "float32"), np.zeros((0, 3)), np.zeros((0, 3))),
            (np.zeros((2, 0), "float32"), np.zeros((2, 0)), np.zeros((2, 0))),
            ([[-INF, -INF]], [[np.nan, np.nan]]),
            ([[5.0]], [[1.0]], [[0.0]]),
        ),
        errors=errors(tf.nn.softmax),
    ),
    Row(
        "softmax-weighted",
        lambda x: tf.math.softmax(x, -1) * WEIGHTS,
        (real(2, 3),),
        lambda x: jax.nn.softmax(x) * WEIGHTS.astype(float),
        dtypes=("float32",),
        special=(
            ([[0.0, 1.0, 3.0]], [[0.04201007, 0.2283904, 2.531384]], [[-0.07569309, -0.09155994, 0.16725318]]),
            ([[1000.0, 1001.0, -1000.0]], [[0.26894143, 1.462117, 0.0]], [[-0.19661191, 0.196612, 0.0]]),
            ([[-INF, 1.0, 3.0]], [[0.0, 0.23840582, 2.6423912]], [[0.0, -0.10499356, 0.10499373]]),
        ),
    ),
    Row("softmax-axis", lambda x: tf.nn.softmax(x, axis=1), (real(2, 3, 2),), lambda x: jax.nn.softmax(x, 1)),
    Row("softmax-axis-tensor", lambda x: tf.nn.softmax(x, tf.constant(0)), (real(2, 3),), lambda x: jax.nn.softmax(x, 0)),
    Row(
        "log-softmax",
        tf.nn.log_softmax,
        (real(2, 3),),
        jax.nn.log_softmax,
        ops=("LogSoftmax",),
        dtypes=FLOATS,
        special=(
            (np.zeros((0, 3), "float32"), np.zeros((0, 3)), np.zeros((0, 3))),
            (np.zeros((2, 0), "float32"), np.zeros((2, 0)), np.zeros((2, 0))),
            ([[INF, 1.0, 2.0]], [[np.nan, np.nan, np.nan]]),
            ([[1e10, 1.0, 2.0]], [[0.0, -1e10, -1e10]]),
        ),
        errors=errors(tf.nn.log_softmax),
    ),
    Row(
        "log-softmax-weighted",
        lambda x: tf.math.log_softmax(x, -1) * WEIGHTS,
        (real(2, 3),),
        lambda x: jax.nn.log_softmax(x) * WEIGHTS.astype(float),
        dtypes=("float32",),
        special=(
            ([[0.0, 1.0, 3.0]], [[-3.169846, -4.339692, -0.5095381]], [[0.7479396, 1.3148289, -2.062768]]),
            ([[1000.0, 1001.0, -1000.0]], [[-1.3132616, -0.6265233, -6003.9395]], [[-0.613648, -2.386351, 3.0]]),
        ),
    ),
    Row("log-softmax-axis", lambda x: tf.nn.log_softmax(x, 0), (real(2, 3, 2),), lambda x: jax.nn.log_softmax(x, 0)),
)
