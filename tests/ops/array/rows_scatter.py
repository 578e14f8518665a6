"""Rows of the updates of some rows or elements of a variable, and of reading by index."""

import numpy as np

import gradtape as tf
from tests.ops.table import Row, positive, real

Invalid = tf.errors.InvalidArgumentError
INDICES = np.int32([2, 0, 2])
POINTS = np.int32([[0, 1], [2, 0], [0, 1]])
VARIABLE = tf.Variable([[1.0, 2.0], [3.0, 4.0]], name="v")
SLICES = tf.IndexedSlices([[1.0, 2.0]], [5])


def of_rows(how, combine, dtypes=("float64", "float32", "float16", "int64"), indices=INDICES, **declared):
    """A row of `Variable.scatter_<how>`; `combine.at` does the same to a NumPy array."""

    def call(x, i, updates):
        return getattr(tf.Variable(x), f"scatter_{how}")(tf.IndexedSlices(updates, i)).read_value()

    def reference(x, i, updates):
        result = np.array(x)
        combine(result, i, updates)
        return result

    op = f"ResourceScatter{how.title()}"
    args = (positive(3, 2), indices, positive(len(indices), 2, seed=1))
    return Row(how, call, args, reference, ops=(op,), order=0, dtypes=dtypes, **declared)


def of_points(how, combine, points=POINTS, **declared):
    """A row of `Variable.scatter_nd_<how>`."""

    def call(x, i, updates):
        return getattr(tf.Variable(x), f"scatter_nd_{how}")(i, updates).read_value()

    def reference(x, i, updates):
        result = np.array(x)
        combine(result, tuple(np.moveaxis(i, -1, 0)), updates)
        return result

    op = f"ResourceScatterNd{how.title()}"
    args = (real(3, 2), points, real(*points.shape[:-1], seed=1))
    return Row(f"nd {how}", call, args, reference, ops=(op,), order=0, dtypes=("float64", "float32", "int32"), **declared)


def put(array, index, updates):
    array[index] = updates


ROWS = (
    of_rows("update", put, ("float64", "bfloat16", "bool", "complex64"), np.int32([2, 0])),
    of_rows(
        "add",
        np.add.at,
        errors=(
            (lambda: VARIABLE.scatter_add(tf.ones([1, 2])), TypeError, "`sparse_delta` must be a `tf.IndexedSlices`"),
            (
                lambda: VARIABLE.scatter_add(SLICES),
                Invalid,
                r"indices\[0\] = 5 is not in \[0, 2\).*\[Op:ResourceScatterAdd\]",
            ),
            (
                lambda: VARIABLE.scatter_add(tf.IndexedSlices([[1.0]], [0])),
                Invalid,
                r"Must have updates\.shape = indices\.shape \+ params\.shape\[1:\].*updates\.shape \[1,1\]",
            ),
            (lambda: tf.Variable(1.0).scatter_add(SLICES), Invalid, "Variable 'Variable:0' is a scalar"),
        ),
    ),
    of_rows("sub", np.subtract.at),
    of_rows("mul", np.multiply.at),
    of_rows("div", np.divide.at, ("float64", "float32")),
    of_rows("max", np.maximum.at),
    of_rows("min", np.minimum.at),
    Row(
        "div, of integers",
        lambda x, u: tf.Variable(x).scatter_div(tf.IndexedSlices(u, [1, 1])).read_value(),
        (np.int32([7, -27]), np.int32([2, 4])),
        lambda x, u: np.array([7, -3], x.dtype),
        ops=("ResourceScatterDiv",),
        dtypes=("int32",),
    ),
    Row(
        "add one number to rows",
        lambda x, u: tf.Variable(x).scatter_add(tf.IndexedSlices(u, [1, 0])).read_value(),
        (real(3, 2), real()),
        lambda x, u: x + np.array([[1.0], [1.0], [0.0]]) * u,
        ops=("ResourceScatterAdd",),
        order=0,
    ),
    of_points("update", put, POINTS[:2]),
    of_points(
        "add",
        np.add.at,
        errors=(
            (
                lambda: VARIABLE.scatter_nd_add([[0, 2]], [1.0]),
                Invalid,
                r"indices\[0\] = \[0, 2\] does not index into shape \[2,2\].*\[Op:ResourceScatterNdAdd\]",
            ),
            (lambda: VARIABLE.scatter_nd_add([[0, 0]], [1.0, 2.0]), Invalid, "indices must match updates"),
        ),
    ),
    of_points("sub", np.subtract.at),
    of_points("max", np.maximum.at),
    of_points("min", np.minimum.at),
    Row(
        "batch_scatter_update",
        lambda x, u: tf.Variable(x).batch_scatter_update(tf.IndexedSlices(u, [[0, 2], [1, 0]])).read_value(),
        (real(2, 3), real(2, 2)),
        lambda x, u: np.stack([np.stack([u[0, 0], x[0, 1], u[0, 1]]), np.stack([u[1, 1], u[1, 0], x[1, 2]])]),
        ops=("ResourceScatterNdUpdate",),
        order=0,
    ),
    Row(
        "reading by index",
        lambda i: (VARIABLE.sparse_read(i), VARIABLE.gather_nd(i[:, None])),
        (np.int32([1, 0, 1]),),
        lambda i: (np.array([[3.0, 4.0], [1.0, 2.0], [3.0, 4.0]]),) * 2,
        ops=("GatherV2", "GatherNd"),
        dtypes=("int32", "int64"),
        result=lambda dtype: ("float32", "float32"),
    ),
)
