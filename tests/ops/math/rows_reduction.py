"""Rows of the reductions: sums, products, extrema, logic, norms, moments."""

import jax
import jax.numpy as jnp
import numpy as np

import gradtape as tf
from tests.ops.table import Row, boolean, complexes, distinct, integers, real

INF, NAN = np.inf, np.nan
Invalid = tf.errors.InvalidArgumentError
FLOATS = ("float64", "float32", "float16", "bfloat16")
INTEGERS = ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64")
NOT_ALLOWED = "is not in the list of allowed values"


def same_dtype(dtype):
    return dtype


def truncated_mean(x):
    return np.trunc(np.sum(x, 1, dtype=np.int64) / x.shape[1]).astype(x.dtype)


def euclidean(x):
    return jnp.sqrt(jnp.sum(x * jnp.conj(x), axis=1))


def variance(x):
    return jnp.mean(jnp.abs(x - jnp.mean(x, 1, keepdims=True)) ** 2, 1)


SUMS = (
    Row(
        "sum",
        lambda x: tf.reduce_sum(x, axis=1),
        (real(2, 3, 2),),
        lambda x: jnp.sum(x, 1),
        ops=("Sum",),
        dtypes=FLOATS,
        special=(
            ([[1.0, INF], [INF, -INF]], [INF, NAN], [[1.0, 1.0], [1.0, 1.0]]),
            (np.zeros((0, 3), "float32"), np.zeros(0), np.zeros((0, 3))),
            (np.zeros((2, 0), "float32"), [0.0, 0.0], np.zeros((2, 0))),
        ),
        errors=(
            (lambda: tf.reduce_sum(tf.ones([2, 3]), axis=2), Invalid, r"Invalid reduction dimension \(2 for input with 2"),
            (lambda: tf.reduce_sum(3.0, axis=0), Invalid, r"Invalid reduction dimension \(0 for input with 0"),
            (lambda: tf.reduce_sum(tf.ones([2, 3]), axis=[1, -1]), Invalid, "contains duplicate dimension: 1.*once"),
            (lambda: tf.reduce_sum(tf.ones([2]), axis=1.0), TypeError, "Cannot convert 1.0 to EagerTensor of dtype int32"),
            (lambda: tf.reduce_sum(tf.ones([2]), axis="a"), TypeError, "axis must be an integer, received 'a'"),
            (lambda: tf.reduce_sum([True]), Invalid, f"attr 'T' of bool {NOT_ALLOWED}(?s:.*)tf.cast"),
            (lambda: tf.reduce_sum(["a"]), Invalid, f"attr 'T' of string {NOT_ALLOWED}"),
        ),
    ),
    Row(
        "sum-all",
        tf.reduce_sum,
        (real(2, 3),),
        jnp.sum,
        ops=("Sum",),
        special=((5.0, 5.0, 1.0), ([], 0.0, [])),
    ),
    Row(
        "sum-of-axes",
        lambda x: tf.reduce_sum(x, axis=[0, -1], keepdims=True),
        (real(2, 3, 2, seed=1),),
        lambda x: jnp.sum(x, (0, 2), keepdims=True),
        ops=("Sum",),
    ),
    Row(
        "sum-of-no-axis",
        lambda x: tf.reduce_sum(x, axis=[], keepdims=None),
        (real(2, 3, seed=2),),
        lambda x: x,
        ops=("Sum",),
    ),
    Row(
        "sum-axis-from-tensor",
        lambda x: tf.reduce_sum(x, tf.constant([0, 1])) + tf.reduce_sum(x, tf.constant(-1))[0],
        (real(3, 2),),
        lambda x: jnp.sum(x) + jnp.sum(x, -1)[0],
    ),
    Row("sum-complex", lambda x: tf.reduce_sum(x, 0), (complexes(2, 3),), lambda x: jnp.sum(x, 0), ops=("Sum",)),
    Row(
        "sum-integers",
        lambda x: tf.reduce_sum(x, 1),
        (integers(0, 9, 2, 3),),
        lambda x: np.sum(x, 1, dtype=x.dtype),
        dtypes=INTEGERS,
        result=same_dtype,
        special=((np.array([100, 100], "int8")[None], [-56]),),
    ),
    Row(
        "sum-of-many-small",
        tf.reduce_sum,
        (np.ones((40, 40)),),
        jnp.sum,
        dtypes=("float16", "bfloat16"),
        order=1,
    ),
    Row(
        "mean",
        lambda x: tf.reduce_mean(x, axis=[0, 2]),
        (real(2, 3, 2, seed=3),),
        lambda x: jnp.mean(x, (0, 2)),
        ops=("Mean",),
        dtypes=FLOATS,
        special=((np.ones((2, 0, 2), "float32"), np.zeros(0), np.zeros((2, 0, 2))),),
        errors=(
            (lambda: tf.reduce_mean(tf.ones([2]), axis=-2), Invalid, r"Invalid reduction dimension \(-2 for input with 1"),
            (lambda: tf.reduce_mean([True]), Invalid, f"attr 'T' of bool {NOT_ALLOWED}"),
        ),
    ),
    Row("mean-all", tf.reduce_mean, (real(3, 2, seed=4),), jnp.mean, special=(([], NAN, []), ([1.0, INF], INF, [0.5, 0.5]))),
    Row("mean-complex", tf.reduce_mean, (complexes(3),), jnp.mean, ops=("Mean",)),
    Row(
        "mean-integers",
        lambda x: tf.reduce_mean(x, 1),
        (integers(-9, 9, 2, 3),),
        truncated_mean,
        dtypes=INTEGERS,
        result=same_dtype,
        special=(([[-1, -2], [1, 2]], [-1, 1]), (np.array([[100, 101]], "int8"), [100]), (np.zeros((1, 0), "int32"), [0])),
    ),
)

PRODUCTS = (
    Row(
        "prod",
        lambda x: tf.reduce_prod(x, 1),
        (real(2, 3, seed=5),),
        lambda x: jnp.prod(x, 1),
        ops=("Prod",),
        dtypes=FLOATS,
        special=(
            ([[2.0, 0.0, 3.0], [2.0, 0.0, 0.0]], [0.0, 0.0], [[0.0, 6.0, 0.0], [0.0, 0.0, 0.0]]),
            ([[1.0, NAN, 2.0]], [NAN], [[NAN, 2.0, NAN]]),
            ([[0.0, INF, 2.0]], [NAN], [[INF, 0.0, NAN]]),
            ([[5.0], [0.0]], [5.0, 0.0], [[1.0], [1.0]]),
            (np.zeros((2, 0), "float32"), [1.0, 1.0], np.zeros((2, 0))),
        ),
        errors=((lambda: tf.reduce_prod([True]), Invalid, f"attr 'T' of bool {NOT_ALLOWED}"),),
    ),
    Row(
        "prod-with-zeros",
        lambda x: tf.reduce_prod(x, 1),
        (real(3, 4) * [[1, 1, 0, 1], [0, 1, 0, 1], [0, 0, 0, 1]],),
        lambda x: jnp.prod(x, 1),
        ops=("Prod",),
    ),
    Row("prod-all", tf.reduce_prod, (real(2, 2, seed=6),), jnp.prod, special=((3.0, 3.0, 1.0),)),
    Row(
        "prod-of-axes",
        lambda x: tf.reduce_prod(x, [0, 2], keepdims=True),
        (real(2, 2, 2, seed=7),),
        lambda x: jnp.prod(x, (0, 2), keepdims=True),
    ),
    Row("prod-of-no-axis", lambda x: tf.reduce_prod(x, []), (real(2, seed=7),), lambda x: x),
    Row("prod-complex", lambda x: tf.reduce_prod(x, 0), (complexes(3, 2),), lambda x: jnp.prod(x, 0)),
    Row(
        "prod-integers",
        lambda x: tf.reduce_prod(x, 1),
        (integers(1, 4, 2, 3),),
        lambda x: np.prod(x, 1, dtype=x.dtype),
        dtypes=INTEGERS,
        result=same_dtype,
    ),
)

EXTREMA = (
    Row(
        "max",
        lambda x: tf.reduce_max(x, 1),
        (distinct(2, 3, 2),),
        lambda x: jnp.max(x, 1),
        ops=("Max",),
        dtypes=FLOATS,
        special=(
            ([[1.0, 3.0, 3.0], [2.0, 2.0, 2.0]], [3.0, 2.0], [[0.0, 0.5, 0.5], [1 / 3, 1 / 3, 1 / 3]]),
            ([[1.0, NAN], [-INF, -INF]], [NAN, -INF], [[NAN, NAN], [0.5, 0.5]]),
            (np.zeros((2, 0), "float32"), [-INF, -INF], np.zeros((2, 0))),
        ),
        errors=(
            (lambda: tf.reduce_max([True]), Invalid, f"attr 'T' of bool {NOT_ALLOWED}"),
            (lambda: tf.reduce_max([1j]), Invalid, f"attr 'T' of complex128 {NOT_ALLOWED}"),
        ),
    ),
    Row("max-all", lambda x: tf.reduce_max(x, keepdims=True), (distinct(2, 3),), lambda x: jnp.max(x, keepdims=True)),
    Row(
        "max-integers",
        lambda x: tf.reduce_max(x, 0),
        (integers(-9, 9, 3, 2),),
        lambda x: np.max(x, 0),
        dtypes=INTEGERS,
        result=same_dtype,
        special=((np.zeros(0, "int32"), -(2**31)), (np.zeros(0, "uint8"), 0)),
    ),
    Row(
        "min",
        lambda x: tf.reduce_min(x, [0, 2]),
        (distinct(2, 3, 2, seed=1),),
        lambda x: jnp.min(x, (0, 2)),
        ops=("Min",),
        dtypes=FLOATS,
        errors=((lambda: tf.reduce_min([True]), Invalid, f"attr 'T' of bool {NOT_ALLOWED}"),),
    ),
    Row(
        "min-all",
        tf.reduce_min,
        (distinct(4),),
        jnp.min,
        special=(([1.0, 1.0, 2.0], 1.0, [0.5, 0.5, 0.0]), ([], INF, []), ([NAN, 1.0], NAN, [NAN, NAN])),
    ),
    Row(
        "min-integers",
        lambda x: tf.reduce_min(x, 0),
        (integers(-9, 9, 3, 2, seed=1),),
        lambda x: np.min(x, 0),
        dtypes=INTEGERS,
        result=same_dtype,
    ),
)

LOGIC = (
    Row(
        "any",
        lambda x: tf.reduce_any(x, 1),
        (boolean(3, 2),),
        lambda x: np.any(x, 1),
        ops=("Any",),
        special=((np.zeros((1, 0), bool), [False]),),
        errors=(
            (lambda: tf.reduce_any(tf.constant([1.0])), Invalid, "compute Any as input #0.*to be a bool tensor but is a float"),
            (lambda: tf.reduce_any([1, 2]), TypeError, r"Cannot convert \[1, 2\] to EagerTensor of dtype bool"),
        ),
    ),
    Row(
        "all",
        lambda x: tf.reduce_all(x, keepdims=True),
        (boolean(3, 2),),
        lambda x: np.all(x, keepdims=True),
        ops=("All",),
        special=((np.zeros((0,), bool), [True]),),
        errors=((lambda: tf.reduce_all(tf.constant([1])), Invalid, "compute All as input #0.*a bool tensor but is a int32"),),
    ),
    Row(
        "count_nonzero",
        lambda x: tf.math.count_nonzero(x, 1),
        (real(2, 3) * [[1, 0, 1], [0, 0, 1]],),
        lambda x: np.count_nonzero(x, 1),
        order=0,
        special=(([[NAN, 0.0]], [1]), (np.array([[True, False]]), [1])),
    ),
    Row(
        "count_nonzero-int32",
        lambda x: tf.math.count_nonzero(x, keepdims=True, dtype=tf.int32),
        (integers(0, 3, 2, 3),),
        lambda x: np.count_nonzero(x, keepdims=True).astype("int32"),
    ),
    Row(
        "zero_fraction",
        tf.math.zero_fraction,
        (np.array([0.0, 0.1, 0.0, 2.0]),),
        lambda x: np.float32(0.5),
        order=0,
        result=lambda dtype: "float32",
        special=((np.zeros(0), NAN), ([1, 0, 2], 1 / 3)),
    ),
)

NORMS_AND_MOMENTS = (
    Row(
        "logsumexp",
        lambda x: tf.reduce_logsumexp(x, 1),
        (real(2, 3, seed=8),),
        lambda x: jax.nn.logsumexp(x, 1),
        ops=("LogSumExp",),
        dtypes=FLOATS,
        special=(
            ([[-INF, -INF], [-INF, 1.0]], [-INF, 1.0], [[NAN, NAN], [0.0, 1.0]]),
            ([[INF, 1.0], [1e4, 1e4]], [INF, 1e4 + np.log(2)], [[NAN, 0.0], [0.5, 0.5]]),
            (np.zeros((1, 0), "float32"), [-INF]),
        ),
        errors=((lambda: tf.reduce_logsumexp([1, 2]), Invalid, f"attr 'T' of int32 {NOT_ALLOWED}"),),
    ),
    Row(
        "logsumexp-all",
        lambda x: tf.reduce_logsumexp(x, keepdims=True),
        (real(2, 3, seed=9),),
        lambda x: jax.nn.logsumexp(x, keepdims=True),
    ),
    Row(
        "euclidean_norm",
        lambda x: tf.math.reduce_euclidean_norm(x, 1),
        (real(2, 3, seed=10),),
        euclidean,
        ops=("EuclideanNorm",),
        dtypes=FLOATS,
        special=(([[0.0, 0.0], [3.0, 4.0]], [0.0, 5.0], [[NAN, NAN], [0.6, 0.8]]),),
        errors=((lambda: tf.math.reduce_euclidean_norm([True]), Invalid, f"attr 'T' of bool {NOT_ALLOWED}"),),
    ),
    Row(
        "euclidean_norm-complex",
        lambda x: tf.math.reduce_euclidean_norm(x, 1),
        (complexes(2, 3),),
        euclidean,
        special=((np.array([[3j, 4]], "complex64"), [5.0], [[0.6j, 0.8]]),),
    ),
    Row(
        "euclidean_norm-integers",
        tf.math.reduce_euclidean_norm,
        (np.array([1, 1], "int32"),),
        lambda x: np.array(1, x.dtype),
        dtypes=("int32", "int64"),
        result=same_dtype,
        special=(([3, 4], 5),),
    ),
    Row(
        "variance",
        lambda x: tf.math.reduce_variance(x, 1),
        (real(2, 3, seed=11),),
        variance,
        dtypes=FLOATS,
        special=(([[1.0, 1.0], [1.0, 3.0]], [0.0, 1.0], [[0.0, 0.0], [-1.0, 1.0]]), (np.zeros((1, 0), "float32"), [NAN])),
        errors=((lambda: tf.math.reduce_variance([1, 2]), TypeError, "real or complex. Received integer type.*tf.cast"),),
    ),
    Row("variance-complex", lambda x: tf.math.reduce_variance(x, 1), (complexes(2, 3, seed=1),), variance),
    Row(
        "std",
        lambda x: tf.math.reduce_std(x, 0, keepdims=True),
        (real(3, 2, seed=12),),
        lambda x: jnp.std(x, 0, keepdims=True),
        special=(([[1.0], [1.0]], [[0.0]], [[NAN], [NAN]]), ([[1.0], [3.0]], [[1.0]], [[-0.5], [0.5]])),
        errors=((lambda: tf.math.reduce_std([1, 2]), TypeError, "real or complex. Received integer type"),),
    ),
)

ROWS = (*SUMS, *PRODUCTS, *EXTREMA, *LOGIC, *NORMS_AND_MOMENTS)
