"""Rows of sorting, the largest elements, places of extrema and of values, permutations."""

import jax.numpy as jnp
import numpy as np

import gradtape as tf
from gradtape._src.ops.array import sort
from tests.ops.table import Row, boolean, distinct, integers, real

INF, NAN = np.inf, np.nan
Invalid = tf.errors.InvalidArgumentError
FLOATS = ("float64", "float32", "float16", "bfloat16")
INTEGERS = ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64")
NOT_ALLOWED = "is not in the list of allowed values"
PLACES = np.array([[2, 0], [1, 2]], "int32")


def same_dtype(dtype):
    return dtype


def best(x, k):
    order = jnp.argsort(-x, axis=-1, stable=True)[..., :k]
    return jnp.take_along_axis(x, order, -1), order.astype("int32")


def put(x):
    rows = jnp.arange(2)[:, None]
    return jnp.zeros((2, 3)).at[rows, PLACES].set(x)


def in_top_k(predictions, targets):
    mine = np.take_along_axis(predictions, targets[:, None], 1)
    return (predictions > mine).sum(1) < 2


def count_before(rows, values):
    return (rows[..., None, :] < values[..., None]).sum(-1).astype("int32")


def count_up_to(rows, values):
    return (rows[..., None, :] <= values[..., None]).sum(-1)


SORTED = (
    Row(
        "sort",
        tf.sort,
        (distinct(2, 4),),
        lambda x: jnp.sort(x, -1),
        ops=("Sort",),
        dtypes=FLOATS,
        special=(
            ([3.0, NAN, 2.0, -INF], [-INF, 2.0, 3.0, NAN], [1.0, 1.0, 1.0, 1.0]),
            ([], [], []),
        ),
        errors=(
            (lambda: tf.sort([1.0], direction="UP"), ValueError, "should be one of ASCENDING, DESCENDING.*=UP"),
            (lambda: tf.sort([1.0], axis=1), Invalid, r"axis 1 is out of range for a tensor of rank 1.*\[-1, 0\]"),
            (lambda: tf.sort(1.0), Invalid, "out of range for a tensor of rank 0"),
            (lambda: tf.sort([True]), Invalid, f"attr 'T' of bool {NOT_ALLOWED}"),
            (lambda: tf.sort([1j]), Invalid, f"attr 'T' of complex128 {NOT_ALLOWED}"),
        ),
    ),
    Row(
        "sort-ties",
        lambda x: tf.sort(x) * [1.0, 10.0, 100.0],
        (distinct(3),),
        lambda x: jnp.sort(x) * jnp.array([1.0, 10.0, 100.0]),
        special=(
            ([3.0, 3.0, 1.0], [1.0, 30.0, 300.0], [10.0, 100.0, 1.0]),
            ([0.0, -0.0, 1.0], [0.0, 0.0, 100.0], [1.0, 10.0, 100.0]),
        ),
    ),
    Row(
        "sort-descending",
        lambda x: tf.sort(x, axis=0, direction="DESCENDING") * [[1.0], [10.0], [100.0]],
        (distinct(3, 2),),
        lambda x: jnp.sort(x, 0, descending=True) * jnp.array([[1.0], [10.0], [100.0]]),
        ops=("Sort",),
        dtypes=FLOATS,
        special=(([[3.0], [3.0], [1.0]], [[3.0], [30.0], [100.0]], [[1.0], [10.0], [100.0]]),),
    ),
    Row(
        "sort-integers",
        lambda x: (tf.sort(x), tf.sort(x, direction="DESCENDING")),
        (integers(-9, 9, 5),),
        lambda x: (np.sort(x), np.sort(x)[::-1]),
        dtypes=INTEGERS,
        result=lambda dtype: (dtype, dtype),
        special=(
            (np.array([3, -128, 127], "int8"), ([-128, 3, 127], [127, 3, -128])),
            (np.array([3, 0, 255], "uint8"), ([0, 3, 255], [255, 3, 0])),
        ),
    ),
    Row(
        "argsort",
        lambda x: (tf.argsort(x), tf.argsort(x, axis=0, direction="DESCENDING", stable=True)),
        (distinct(3, 3),),
        lambda x: (np.argsort(x, -1).astype("int32"), np.argsort(-x, 0).astype("int32")),
        order=0,
        dtypes=FLOATS,
        result=lambda dtype: ("int32", "int32"),
        special=(([3.0, 1.0, 1.0, 2.0], ([1, 2, 3, 0], [0, 3, 1, 2])),),
        errors=((lambda: tf.argsort([1.0], direction="UP"), ValueError, "should be one of ASCENDING, DESCENDING.*=UP"),),
    ),
    Row(
        "top_k",
        lambda x: tf.math.top_k(x, 2),
        (distinct(2, 4, seed=1),),
        lambda x: best(x, 2),
        ops=("TopKV2",),
        dtypes=FLOATS,
        result=lambda dtype: (dtype, "int32"),
        special=(
            ([1.0, NAN, 3.0], ([NAN, 3.0], [1, 2]), [0.0, 1.0, 1.0]),
            ([2.0, 3.0, 3.0, 3.0], ([3.0, 3.0], [1, 2]), [0.0, 1.0, 1.0, 0.0]),
            ([-0.0, 0.0, -1.0], ([0.0, 0.0], [0, 1]), [1.0, 1.0, 0.0]),
        ),
        errors=(
            (lambda: tf.math.top_k([1.0], 2), Invalid, r"at least k columns. Had 1, needed 2(?s:.*)\[1\]"),
            (lambda: tf.math.top_k([1.0], -1), Invalid, "Need k >= 0, got -1"),
            (lambda: tf.math.top_k(1.0), Invalid, r"input must be >= 1-D, got shape \[\]"),
            (lambda: tf.math.top_k([1.0], 1.5), TypeError, "Cannot convert 1.5 to EagerTensor of dtype int32"),
            (lambda: tf.math.top_k([1.0], index_type=tf.int8), Invalid, f"'index_type' of int8 {NOT_ALLOWED}"),
            (lambda: tf.math.top_k([True]), Invalid, f"attr 'T' of bool {NOT_ALLOWED}"),
        ),
    ),
    Row(
        "top_k-types",
        lambda x: (
            *tf.math.top_k(x, tf.constant(1), index_type=tf.int16),
            *tf.math.top_k(x, 3, sorted=False, index_type=tf.int64),
            tf.math.top_k(x, 0).values,
        ),
        (integers(0, 100, 4, seed=1),),
        lambda x: (
            tuple(
                [
                    array
                    for k, kind in ((1, "int16"), (3, "int64"))
                    for array in (best_of_integers(x, k)[0], best_of_integers(x, k)[1].astype(kind))
                ]
            )
            + (x[:0],)
        ),
        dtypes=INTEGERS,
        result=lambda dtype: (dtype, "int16", dtype, "int64", dtype),
    ),
    Row(
        "take_along",
        lambda x: sort.take_along(x, tf.constant(PLACES), axis=1),
        (real(2, 3),),
        lambda x: jnp.take_along_axis(x, PLACES, 1),
        ops=("TakeAlongAxis",),
    ),
    Row(
        "put_along",
        lambda x: sort.put_along(x, tf.constant(PLACES), axis=1, extent=3),
        (real(2, 2),),
        put,
        ops=("PutAlongAxis",),
    ),
    Row(
        "in_top_k",
        lambda predictions, targets: tf.math.in_top_k(targets, tf.cast(predictions, tf.float32), 2),
        (distinct(4, 3), np.array([0, 1, 2, 2], "int32")),
        in_top_k,
        ops=("InTopKV2",),
        order=-1,
        special=(
            (([[1.0, 2.0, 2.0, 0.0]] * 4, [0, 1, 2, 3]), [False, True, True, False]),
            (([[1.0, 2.0]] * 2, [7, -1]), [False, False]),
            (([[1.0, 2.0, NAN], [INF, 2.0, 3.0]], [0, 2]), [False, False]),
        ),
        errors=(
            (lambda: tf.math.in_top_k([0], tf.ones([1, 2], tf.float64), 1), Invalid, "InTopKV2 as input #0.*a float tensor"),
            (lambda: tf.math.in_top_k([[0]], [[1.0]], 1), Invalid, r"targets must be 1-dimensional, received shape \[1,1\]"),
            (lambda: tf.math.in_top_k([0], [1.0], 1), Invalid, r"predictions must be 2-dimensional, received shape \[1\]"),
            (lambda: tf.math.in_top_k([0, 1], [[1.0]], 1), Invalid, "First dimension of predictions 1 must match .* 2"),
            (lambda: tf.math.in_top_k([0.0], [[1.0]], 1), Invalid, f"of float {NOT_ALLOWED}"),
        ),
    ),
)


def best_of_integers(x, k):
    order = np.argsort(-x.astype("int64"), kind="stable")[:k]
    return x[order], order


PLACES_OF_VALUES = (
    Row(
        "argmax",
        tf.argmax,
        (distinct(3, 2, seed=2),),
        lambda x: np.argmax(x, 0),
        ops=("ArgMax",),
        order=0,
        dtypes=FLOATS,
        special=(
            ([[1.0, NAN, 3.0], [3.0, -INF, 3.0]], [1, 0, 0]),
            ([NAN, 1.0, 3.0], 2),
            ([-INF, -INF], 0),
            (np.array([False, True, True]), 1),
            (np.zeros((2, 0), "float32"), []),
        ),
        errors=(
            (lambda: tf.argmax([1.0], axis=1), Invalid, r"Expected dimension in the range \[-1, 1\), but got 1.*ArgMax"),
            (lambda: tf.argmax(1.0), Invalid, r"Expected dimension in the range \[0, 0\), but got 0"),
            (lambda: tf.argmax(tf.zeros([0, 2])), Invalid, r"Reduction axis 0 is empty in shape \[0,2\]"),
            (lambda: tf.argmax([1.0], output_type=tf.int8), Invalid, f"'output_type' of int8 {NOT_ALLOWED}"),
            (lambda: tf.argmax([1j]), Invalid, f"attr 'T' of complex128 {NOT_ALLOWED}"),
        ),
    ),
    Row(
        "argmax-types",
        lambda x: tuple([tf.argmax(x, 0, kind) for kind in (tf.int16, tf.uint16, tf.int32)]),
        (integers(0, 100, 4, seed=2),),
        lambda x: tuple([np.argmax(x).astype(kind) for kind in ("int16", "uint16", "int32")]),
        dtypes=INTEGERS,
    ),
    Row(
        "argmin",
        lambda x: tf.argmin(x, axis=-1, output_type=tf.int32),
        (distinct(2, 3, seed=3),),
        lambda x: np.argmin(x, 1).astype("int32"),
        ops=("ArgMin",),
        order=0,
        dtypes=FLOATS,
        special=(([[1.0, NAN, 0.0], [2.0, 2.0, 3.0]], [2, 0]), (np.array([True, False]), 1)),
        errors=(
            (lambda: tf.argmin([1.0], output_type=tf.uint16), Invalid, f"'output_type' of uint16 {NOT_ALLOWED}"),
            (lambda: tf.argmin([1.0], axis=-2), Invalid, r"Expected dimension in the range \[-1, 1\), but got -2.*ArgMin"),
        ),
    ),
    Row("argmin-bool", lambda x: tf.argmin(x, tf.constant(0)), (boolean(4),), lambda x: np.argmin(x)),
    Row(
        "searchsorted",
        tf.searchsorted,
        (np.sort(distinct(2, 5), 1), real(2, 3)),
        count_before,
        ops=("LowerBound",),
        order=0,
        dtypes=FLOATS,
        result=lambda dtype: "int32",
        special=(
            (([1.0, 2.0, 2.0, 3.0], [2.0, 0.0, 9.0]), [1, 0, 4]),
            (([], [2.0]), [0]),
            (([1.0, 2.0], [NAN]), [0]),
            (([1, 2, 4], [2, 3]), [1, 2]),
        ),
        errors=(
            (lambda: tf.searchsorted([1.0], [1.0], side="x"), ValueError, "`side` must be either 'right' or 'left'.*'x'"),
            (lambda: tf.searchsorted(tf.ones([2, 2]), [1.0]), Invalid, "Leading dim_size of both tensors must match.*2.*1"),
            (lambda: tf.searchsorted([1.0, 2.0], 2.0), Invalid, "slice index -1 of dimension 0.*values is a scalar"),
            (lambda: tf.searchsorted([1.0], tf.constant([1])), Invalid, "LowerBound as input #1.*a float tensor but is a int32"),
            (lambda: tf.searchsorted([1], [1], out_type=tf.int16), Invalid, f"'out_type' of int16 {NOT_ALLOWED}"),
        ),
    ),
    Row(
        "searchsorted-right",
        lambda rows, values: tf.searchsorted(rows, values, side="right", out_type=tf.int64),
        (np.sort(integers(0, 5, 2, 7), 1), integers(0, 6, 2, 3, seed=1)),
        count_up_to,
        ops=("UpperBound",),
        special=((([1.0, 2.0, 2.0, 3.0], [2.0, 0.0, 9.0]), [3, 0, 4]),),
    ),
    Row(
        "searchsorted-default-type",
        lambda rows, values: tf.searchsorted(rows, values, out_type=None),
        (np.sort(integers(0, 5, 2, 7), 1), integers(0, 6, 2, 3, seed=1)),
        count_before,
        ops=("LowerBound",),
        order=0,
        result=lambda dtype: "int32",
    ),
    Row(
        "invert_permutation",
        tf.math.invert_permutation,
        (np.array([2, 0, 3, 1], "int32"),),
        lambda x: np.argsort(x).astype(x.dtype),
        ops=("InvertPermutation",),
        dtypes=("int32", "int64"),
        result=same_dtype,
        errors=(
            (lambda: tf.math.invert_permutation([2, 0, 3]), Invalid, "3 is not between 0 and 3"),
            (lambda: tf.math.invert_permutation([2, 0, 0]), Invalid, "0 is duplicated in the input"),
            (lambda: tf.math.invert_permutation([[0]]), Invalid, r"expects a 1D vector, received shape \[1,1\]"),
            (lambda: tf.math.invert_permutation([0.0]), Invalid, f"attr 'T' of float {NOT_ALLOWED}"),
        ),
    ),
)

ROWS = (*SORTED, *PLACES_OF_VALUES)
