"""Rows of running sums, products and log-sum-exps, and of the recurrence that their gradients are made of."""

import jax.numpy as jnp
import numpy as np
from jax import lax

import gradtape as tf
from gradtape._src.ops.math import cumulative
from tests.ops.table import Row, complexes, integers, real, unit

INF, NAN = np.inf, np.nan
Invalid = tf.errors.InvalidArgumentError
FLOATS = ("float64", "float32", "float16", "bfloat16")
INTEGERS = ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64")
NOT_ALLOWED = "is not in the list of allowed values"
ZEROS = [[1, 0, 1, 0], [1, 1, 0, 1]]


def same_dtype(dtype):
    return dtype


def exclusive(scan, axis, first):
    """The scan `scan(x)` without each element's own part."""

    def function(x):
        edge = jnp.full_like(lax.slice_in_dim(x, 0, 1, axis=axis), first)
        return jnp.concatenate([edge, lax.slice_in_dim(scan(x), 0, x.shape[axis] - 1, axis=axis)], axis)

    return function


def backwards(scan, axis):
    return lambda x: jnp.flip(scan(jnp.flip(x, axis)), axis)


def rows_sum(x):
    return jnp.cumsum(x, 1)


def rows_product(x):
    return jnp.cumprod(x, 1)


def rows_logsumexp(x):
    return jnp.log(jnp.cumsum(jnp.exp(x), 1))


def recurrence(a, b):
    h, rows = jnp.zeros_like(b[0]), []
    for factor, term in zip(a, b, strict=True):
        h = factor * h + term
        rows.append(h)
    return jnp.stack(rows)


def axis_errors(function, name):
    return (
        (lambda: function(tf.ones([2, 3]), axis=2), Invalid, rf"axis in the range \[-2, 2\), but got 2.*{name}"),
        (lambda: function(1.0), Invalid, r"Expected scan axis in the range \[0, 0\), but got 0"),
        (lambda: function([1.0], axis=[0]), Invalid, r"axis must be a scalar.*received \[0\]"),
        (lambda: function([1.0], axis=0.5), TypeError, "axis must be an integer, received 0.5"),
        (lambda: function([True]), Invalid, f"attr 'T' of bool {NOT_ALLOWED}"),
    )


ROWS = (
    Row(
        "cumsum",
        tf.cumsum,
        (real(3, 2),),
        lambda x: jnp.cumsum(x, 0),
        ops=("Cumsum",),
        dtypes=FLOATS,
        special=(
            ([2.0, 0.0, 3.0], [2.0, 2.0, 5.0], [3.0, 2.0, 1.0]),
            ([1.0, INF, 1.0], [1.0, INF, INF], [3.0, 2.0, 1.0]),
            ([], [], []),
        ),
        errors=axis_errors(tf.cumsum, "Cumsum"),
    ),
    Row(
        "cumsum-exclusive",
        lambda x: tf.cumsum(x, -1, exclusive=True),
        (real(2, 3),),
        exclusive(rows_sum, 1, 0),
        ops=("Cumsum",),
        special=(([[INF, 1.0, 2.0]], [[0.0, INF, INF]], [[2.0, 1.0, 0.0]]), (np.zeros((1, 0), "float32"), np.zeros((1, 0)))),
    ),
    Row(
        "cumsum-reverse",
        lambda x: tf.cumsum(x, tf.constant(1), reverse=True),
        (real(2, 3, seed=1),),
        backwards(rows_sum, 1),
        ops=("Cumsum",),
    ),
    Row(
        "cumsum-exclusive-reverse",
        lambda x: tf.math.cumsum(x, 1, exclusive=True, reverse=True),
        (real(2, 3, seed=2),),
        backwards(exclusive(rows_sum, 1, 0), 1),
        ops=("Cumsum",),
        special=(([[1.0, 2.0, 3.0]], [[5.0, 3.0, 0.0]], [[0.0, 1.0, 2.0]]),),
    ),
    Row("cumsum-complex", tf.cumsum, (complexes(3),), jnp.cumsum, ops=("Cumsum",)),
    Row(
        "cumsum-integers",
        tf.cumsum,
        (integers(0, 9, 4),),
        lambda x: np.cumsum(x, dtype=x.dtype),
        dtypes=INTEGERS,
        result=same_dtype,
    ),
    Row(
        "cumprod",
        lambda x: tf.math.cumprod(x, 1),
        (real(2, 4),),
        rows_product,
        ops=("Cumprod",),
        dtypes=FLOATS,
        special=(
            ([[2.0, 0.0, 3.0]], [[2.0, 0.0, 0.0]], [[1.0, 8.0, 0.0]]),
            ([[0.0, 2.0, 0.0, 3.0]], [[0.0, 0.0, 0.0, 0.0]], [[3.0, 0.0, 0.0, 0.0]]),
            ([[4.0]], [[4.0]], [[1.0]]),
        ),
        errors=axis_errors(tf.math.cumprod, "Cumprod"),
    ),
    Row("cumprod-zeros", lambda x: tf.math.cumprod(x, 1), (real(2, 4) * ZEROS,), rows_product, ops=("Cumprod",)),
    Row(
        "cumprod-exclusive",
        lambda x: tf.math.cumprod(x, 1, exclusive=True),
        (real(2, 4, seed=1) * ZEROS,),
        exclusive(rows_product, 1, 1),
        ops=("Cumprod",),
        special=(([[2.0, 0.0, 3.0]], [[1.0, 2.0, 0.0]], [[1.0, 2.0, 0.0]]),),
    ),
    Row(
        "cumprod-reverse",
        lambda x: tf.math.cumprod(x, 1, reverse=True),
        (real(2, 4, seed=2) * ZEROS,),
        backwards(rows_product, 1),
        ops=("Cumprod",),
        special=(([[2.0, 0.0, 3.0]], [[0.0, 0.0, 3.0]], [[0.0, 9.0, 1.0]]),),
    ),
    Row(
        "cumprod-exclusive-reverse",
        lambda x: tf.math.cumprod(x, 1, exclusive=True, reverse=True),
        (real(2, 4, seed=3),),
        backwards(exclusive(rows_product, 1, 1), 1),
        ops=("Cumprod",),
    ),
    Row("cumprod-complex", tf.math.cumprod, (complexes(3, 2),), lambda x: jnp.cumprod(x, 0), ops=("Cumprod",)),
    Row(
        "cumprod-integers",
        tf.math.cumprod,
        (integers(1, 4, 3),),
        lambda x: np.cumprod(x, dtype=x.dtype),
        dtypes=INTEGERS,
        result=same_dtype,
    ),
    Row(
        "cumulative_logsumexp",
        lambda x: tf.math.cumulative_logsumexp(x, 1),
        (real(2, 4, seed=4),),
        rows_logsumexp,
        ops=("CumulativeLogsumexp",),
        dtypes=FLOATS,
        special=(
            ([[1.0, 2.0, 3.0]], [[1.0, 2.3132617, 3.4076061]], [[1.358972, 0.9757869, 0.6652408]]),
            ([[-INF, -INF, 3.0]], [[-INF, -INF, 3.0]], [[NAN, NAN, 1.0]]),
            ([[1.0, INF, 3.0]], [[1.0, INF, INF]]),
            ([[90.0, 90.0]], [[90.0, 90.0 + np.log(2)]], [[1.5, 0.5]]),
        ),
        errors=axis_errors(tf.math.cumulative_logsumexp, "CumulativeLogsumexp"),
        tolerance=1e-5,
    ),
    Row(
        "cumulative_logsumexp-exclusive",
        lambda x: tf.math.cumulative_logsumexp(x, 1, exclusive=True)[:, 1:],
        (real(2, 4, seed=5),),
        lambda x: rows_logsumexp(x)[:, :-1],
        ops=("CumulativeLogsumexp",),
        special=(([[1.0, 2.0, 3.0]], [[1.0, 2.3132617]], [[1.2689414, 0.7310586, 0.0]]),),
    ),
    Row(
        "cumulative_logsumexp-of-nothing",
        lambda x: tf.math.cumulative_logsumexp(tf.cast(x, tf.float32), exclusive=True),
        (np.array([1, 2, 3], "int32"),),
        lambda x: np.array([-INF, 1.0, 2.3132617], "float32"),
        dtypes=("int32",),
        result=lambda dtype: "float32",
        tolerance=1e-3,
    ),
    Row(
        "cumulative_logsumexp-exclusive-reverse",
        lambda x: tf.math.cumulative_logsumexp(x, 1, exclusive=True, reverse=True)[:, :-1],
        (real(2, 4, seed=6),),
        lambda x: backwards(rows_logsumexp, 1)(x)[:, 1:],
        ops=("CumulativeLogsumexp",),
    ),
    Row(
        "shift",
        lambda x: cumulative.shift(x, axis=1, reverse=True) * cumulative.shift(x, axis=0, reverse=False),
        (real(2, 3, seed=7),),
        lambda x: jnp.pad(x[:, 1:], ((0, 0), (0, 1))) * jnp.pad(x[:-1], ((1, 0), (0, 0))),
        ops=("Shift",),
    ),
    Row(
        "linear_recurrence",
        lambda a, b: cumulative.linear_recurrence(a, b, axis=0, reverse=False),
        (real(5, 2), real(5, 2, seed=1)),
        recurrence,
        ops=("LinearRecurrence",),
        errors=(
            (
                lambda: cumulative.linear_recurrence(tf.ones([2]), tf.ones([3]), axis=0, reverse=False),
                Invalid,
                r"of one shape, received \[2\] and \[3\]",
            ),
        ),
    ),
    Row(
        "linear_recurrence-reverse",
        lambda a, b: cumulative.linear_recurrence(a, b, axis=0, reverse=True),
        (unit(4), real(4)),
        lambda a, b: jnp.flip(recurrence(jnp.flip(a), jnp.flip(b))),
        ops=("LinearRecurrence",),
    ),
    Row(
        "linear_recurrence-complex",
        lambda a, b: cumulative.linear_recurrence(a, b, axis=0, reverse=False),
        (complexes(4), complexes(4, seed=1)),
        recurrence,
        ops=("LinearRecurrence",),
    ),
)
