"""Rows of `where`, masks, unique values and partitions."""

import jax.numpy as jnp
import numpy as np

import gradtape as tf
from gradtape._src.ops.array.select import setdiff1d
from tests.ops.table import Row, boolean, complexes, integers, real

Invalid = tf.errors.InvalidArgumentError
X = tf.reshape(tf.range(6.0), [2, 3])
EVERY = ("float64", "float32", "float16", "bfloat16", "complex64", "int8", "uint16", "int64", "bool")
NAN, INF = np.nan, np.inf


def appearing(x):
    """The values of a vector, each once, in the order in which they come first, and places in them."""
    values = list(dict.fromkeys(x.tolist()))
    return np.array(values, x.dtype), np.int32([values.index(value) for value in x.tolist()])


ROWS = (
    Row(
        "where",
        tf.where,
        (boolean(2, 3), real(2, 3), real(2, 3, seed=1)),
        jnp.where,
        ops=("SelectV2",),
        dtypes=EVERY,
        special=(
            (([True, False], [1.0, NAN], [NAN, 2.0]), [1.0, 2.0], (None, [1.0, 0.0], [0.0, 1.0])),
            (([True, False], [1.0, INF], 2.0), [1.0, 2.0], (None, [1.0, 0.0], 1.0)),
            ((True, [1.0, 2.0], [[3.0], [4.0]]), [[1.0, 2.0]] * 2, (None, [2.0, 2.0], [[0.0], [0.0]])),
            ((np.zeros((0, 1), bool), [1.0, 2.0], 3.0), np.zeros((0, 2)), (None, [0.0, 0.0], 0.0)),
        ),
        errors=(
            (
                lambda: tf.where([True, False], tf.constant(1), 2.0),
                TypeError,
                "Cannot convert 2.0 to EagerTensor of dtype int32",
            ),
            (lambda: tf.where([1, 0], 1.0, 2.0), TypeError, r"Cannot convert \[1, 0\] to EagerTensor of dtype bool"),
            (
                lambda: tf.where(tf.constant([1, 0]), 1.0, 2.0),
                Invalid,
                r"SelectV2 as input #0\(zero-based\) was expected to be a bool tensor but is a int32 tensor",
            ),
            (lambda: tf.where([True, False], 1.0), ValueError, "x and y must both be non-None or both be None"),
            (
                lambda: tf.where([True, False], [1.0, 2.0, 3.0], 0.0),
                Invalid,
                r"condition \[2\], then \[3\], and else \[\] must be broadcastable.*\[Op:SelectV2\]",
            ),
        ),
    ),
    Row(
        "where, broadcast",
        tf.where,
        (boolean(2, 1), real(3), real(2, 1)),
        jnp.where,
        ops=("SelectV2",),
    ),
    Row(
        "where with a number",
        lambda c, x: tf.where(c, x, -1),
        (boolean(4), real(4)),
        lambda c, x: jnp.where(c, x, -1.0),
        ops=("SelectV2",),
    ),
    Row(
        "where, complex",
        tf.where,
        (boolean(2), complexes(2), complexes(2, seed=1)),
        jnp.where,
        ops=("SelectV2",),
        dtypes=("complex128",),
    ),
    Row(
        "places where it is true",
        tf.where,
        (boolean(2, 3),),
        lambda c: np.argwhere(c),
        ops=("Where",),
        dtypes=("bool",),
        special=(
            ([[1.0, 0.0], [0.0, NAN]], [[0, 0], [1, 1]]),
            (np.zeros((0, 3), bool), np.zeros((0, 2))),
        ),
        errors=((lambda: tf.where(True), Invalid, "WhereOp : Unhandled input dimensions: 0"),),
    ),
    Row("places where it is not 0", tf.where, (real(2, 2),), lambda x: np.argwhere(x), ops=("Where",), order=-1),
    Row(
        "boolean_mask",
        lambda x: tf.boolean_mask(x, [True, False, True]),
        (real(3, 2),),
        lambda x: x[np.array([0, 2])],
        ops=("GatherV2",),
        dtypes=EVERY,
        errors=(
            (lambda: tf.boolean_mask(X, True), ValueError, "mask cannot be scalar"),
            (lambda: tf.boolean_mask(X, [True, False], axis=-4), ValueError, "axis=-4 out of bounds"),
            (
                lambda: tf.boolean_mask(X, [True, False], axis=1),
                ValueError,
                r"Shapes \(3,\) and \(2,\) are incompatible",
            ),
            (lambda: tf.boolean_mask(X, [[[True]]]), ValueError, r"Shapes \(2, 3\) and \(1, 1, 1\) are incompatible"),
        ),
    ),
    Row(
        "boolean_mask of two axes",
        lambda x: tf.boolean_mask(x, [[True, False, True], [False, False, True]], axis=-2),
        (real(2, 2, 3),),
        lambda x: jnp.stack([x[:, 0, 0], x[:, 0, 2], x[:, 1, 2]], 1),
        ops=("GatherV2",),
    ),
    Row(
        "boolean_mask of nothing",
        lambda x: tf.boolean_mask(x, [False, False]),
        (real(2),),
        lambda x: x[:0],
        ops=("GatherV2",),
    ),
    Row(
        "a mask as the index",
        lambda x: x[x > 0.0] ** 2,
        (np.array([[-1.0, 2.0], [3.0, -4.0]]),),
        lambda x: jnp.stack([x[0, 1], x[1, 0]]) ** 2,
        ops=("GatherV2",),
    ),
    Row(
        "unique",
        lambda x: tuple(tf.unique(x)),
        (integers(0, 4, 6),),
        appearing,
        ops=("Unique",),
        dtypes=("int32", "int64", "uint8"),
        special=(
            ([3.0, NAN, NAN], ([3.0, NAN, NAN], [0, 1, 2])),
            (np.zeros(0, "f4"), (np.zeros(0), np.zeros(0))),
        ),
        errors=((lambda: tf.unique([[1, 2]]), Invalid, r"unique expects a 1D vector, received shape \[1,2\]"),),
    ),
    Row(
        "unique, of floats",
        lambda x: tf.unique(x).y,
        (real(3),),
        lambda x: x,
        ops=("Unique",),
        order=-1,
        dtypes=("float64", "bfloat16"),
    ),
    Row(
        "unique_with_counts",
        lambda x: tuple(tf.unique_with_counts(x, tf.int64)),
        (np.int32([3, 1, 3, 2]),),
        lambda x: (np.array([3, 1, 2], x.dtype), np.int64([0, 1, 0, 2]), np.int64([2, 1, 1])),
        ops=("UniqueWithCounts",),
        dtypes=("int32", "int64"),
    ),
    Row(
        "unique slices with counts",
        lambda x: tuple(tf.raw_ops.UniqueWithCountsV2(x=x, axis=[0], out_idx=tf.int64)),
        (np.int32([[3, 1], [2, 2], [3, 1]]),),
        lambda x: (np.array([[3, 1], [2, 2]], x.dtype), np.int64([0, 1, 0]), np.int64([2, 1])),
        ops=("UniqueWithCountsV2",),
        dtypes=("int32", "int64"),
    ),
    Row(
        "unique_with_counts, of floats",
        lambda x: tf.unique_with_counts(x).y,
        (real(3),),
        lambda x: x,
        ops=("UniqueWithCounts",),
        order=-1,
    ),
    Row(
        "setdiff1d",
        lambda x, y: tuple(setdiff1d(x, y)),
        (np.int32([1, 2, 3, 2]), np.int32([2])),
        lambda x, y: (np.array([1, 3], x.dtype), np.int32([0, 2])),
        ops=("ListDiff",),
        dtypes=("int32", "int64"),
    ),
    Row(
        "setdiff1d, of floats",
        lambda x: setdiff1d(x, x[:1]).out,
        (real(3),),
        lambda x: x[1:],
        ops=("ListDiff",),
        order=-1,
    ),
    Row(
        "dynamic_partition",
        lambda x, p: tuple(tf.dynamic_partition(x, p, 3)),
        (real(4, 2), np.int32([2, 0, 2, 0])),
        lambda x, p: (x[np.array([1, 3])], x[:0], x[np.array([0, 2])]),
        ops=("DynamicPartition",),
        dtypes=EVERY,
        special=((([1.0, 2.0], 2), (np.zeros((0, 2)), np.zeros((0, 2)), [[1.0, 2.0]]), ([1.0, 1.0], None)),),
        errors=(
            (
                lambda: tf.dynamic_partition(X, [0, 3], 2),
                Invalid,
                r"partitions\[1\] = 3 is not in \[0, 2\).*\[Op:DynamicPartition\]",
            ),
            (
                lambda: tf.dynamic_partition(X, [0, 3, 2], 2),
                Invalid,
                r"data\.shape must start with partitions\.shape, got data\.shape = \[2,3\], partitions\.shape = \[3\]",
            ),
            (lambda: tf.dynamic_partition(X, [0, 0], 0), Invalid, "'num_partitions' of 0 must be at least minimum 1"),
            (lambda: tf.dynamic_partition(X, tf.constant([0, 0], tf.int64), 2), ValueError, "requested dtype int32 for .* int64"),
        ),
    ),
    Row(
        "dynamic_partition by a matrix",
        lambda x, p: tf.dynamic_partition(x, p, 2)[1],
        (real(2, 2, 2), np.int32([[1, 0], [0, 1]])),
        lambda x, p: jnp.stack([x[0, 0], x[1, 1]]),
        ops=("DynamicPartition",),
    ),
    Row(
        "dynamic_stitch",
        lambda x, y: tf.dynamic_stitch([2, [[0], [4]]], [x, y]),
        (real(2), real(2, 1, 2)),
        lambda x, y: jnp.stack([y[0, 0], 0 * x, x, 0 * x, y[1, 0]]),
        ops=("DynamicStitch",),
        dtypes=EVERY[:-1],
        errors=(
            (
                lambda: tf.dynamic_stitch([[-1]], [[1.0]]),
                Invalid,
                r"indices\[-1\] is out of range.*\[Op:DynamicStitch\]",
            ),
            (
                lambda: tf.dynamic_stitch([0, [1]], [[1.0, 2.0], [[3.0]]]),
                Invalid,
                r"Need data\[0\]\.shape.* = data\[1\]\.shape.*\[2\] and \[1\]",
            ),
            (lambda: tf.dynamic_stitch([[0, 1]], [[1.0]]), Invalid, r"data\[0\]\.shape = \[1\] does not start with"),
            (lambda: tf.dynamic_stitch([], []), ValueError, "lists of one length, received 0 and 0"),
            (lambda: tf.dynamic_stitch([tf.constant([0], tf.int64)], [[1.0]]), ValueError, "requested dtype int32 for .* int64"),
        ),
    ),
    Row(
        "dynamic_stitch, of two rows the last",
        lambda x, y: tf.dynamic_stitch([[0, 2], [0]], [x, y]),
        (real(2), real(1)),
        lambda x, y: jnp.stack([y[0], 0 * x[1], x[1]]),
        ops=("DynamicStitch",),
    ),
    Row(
        "partition and stitch",
        lambda x: tf.dynamic_stitch([[0, 2], [1, 3]], tf.dynamic_partition(x, [0, 1, 0, 1], 2)),
        (real(4),),
        lambda x: x,
        ops=("DynamicPartition", "DynamicStitch"),
    ),
)
