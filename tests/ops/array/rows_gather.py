"""Rows of `gather`, and of `gather_nd` and what scatters to points."""

import jax.numpy as jnp
import numpy as np

import gradtape as tf
from gradtape._src.ops.array.gather import _gather_gradient, take
from tests.ops.table import Row, boolean, complexes, distinct, real

Invalid = tf.errors.InvalidArgumentError
X = tf.reshape(tf.range(6.0), [2, 3])
EVERY = ("float64", "float32", "float16", "bfloat16", "complex64", "int8", "uint16", "int64", "bool")
REALS = ("float64", "float32", "float16", "int32")
ROWS_ = np.int32([2, 0, 2])
POINTS = np.int32([[0, 1], [2, 0], [0, 1]])
APART = np.int32([[0, 1], [2, 0]])


def batched(x, i):
    return jnp.take_along_axis(x, i, 1)


def scattered(shape, points, updates):
    return jnp.zeros(shape, updates.dtype).at[tuple(points.T)].add(updates)


ROWS = (
    Row(
        "gather",
        tf.gather,
        (real(3, 2), ROWS_),
        lambda x, i: x[i],
        ops=("GatherV2",),
        dtypes=EVERY,
        special=(
            (([1.0, 2.0], np.int32([0, 0])), [1.0, 1.0], ([2.0, 0.0], None)),
            (([1.0, 2.0], 1), 2.0, ([0.0, 1.0], None)),
            (([[1.0, 2.0]], np.zeros((0,), "int32")), np.zeros((0, 2)), ([[0.0, 0.0]], None)),
            ((np.zeros((0, 2), "f4"), np.zeros((0, 1), "int64")), np.zeros((0, 1, 2)), (np.zeros((0, 2)), None)),
            (([1.0, np.nan], np.int16([0])), [1.0], ([1.0, 0.0], None)),
        ),
        errors=(
            (lambda: tf.gather(X, [0, 7]), Invalid, r"indices\[1\] = 7 is not in \[0, 2\).*\[Op:GatherV2\]"),
            (lambda: tf.gather(X, [-1]), Invalid, r"indices\[0\] = -1 is not in \[0, 2\)"),
            (lambda: tf.gather(X, 5), Invalid, r"indices = 5 is not in \[0, 2\)"),
            (lambda: tf.gather(tf.zeros([0, 2]), [0]), Invalid, r"indices\[0\] = 0 is not in \[0, 0\)"),
            (lambda: tf.gather(X, 0, axis=3), Invalid, "Shape must be at least rank 4 but is rank 2"),
            (lambda: tf.gather(1.0, 0), Invalid, "params must be at least 1 dimensional"),
            (
                lambda: tf.gather(X, [0.0]),
                Invalid,
                "attr 'Tindices' of float is not in the list .*: int16, int32, int64",
            ),
        ),
    ),
    Row(
        "gather, negative indices",
        lambda x, i: take(x, tf.convert_to_tensor(i), 0),
        (real(3, 2), np.int32([2, -1, -3])),
        lambda x, i: x[i],
        ops=("IndexFromStart", "GatherV2"),
        dtypes=("float64", "float32", "int64"),
        errors=(
            (lambda: take(X, tf.constant([0, -3]), 0), Invalid, r"indices\[1\] = -3 is not in \[-2, 2\)"),
            (lambda: take(X, tf.constant(2), 0), Invalid, r"indices = 2 is not in \[-2, 2\)"),
        ),
    ),
    Row(
        "gather, complex",
        tf.gather,
        (complexes(3, 2), ROWS_),
        lambda x, i: x[i],
        ops=("GatherV2",),
        dtypes=("complex128",),
    ),
    Row(
        "gather along an axis",
        lambda x, i: tf.gather(x, i, axis=-1),
        (real(2, 3), np.int64([[2, 0], [1, 2]])),
        lambda x, i: x[:, i],
        ops=("GatherV2",),
        errors=((lambda: tf.gather(X, [[0, 7]], axis=1), Invalid, r"indices\[0,1\] = 7 is not in \[0, 3\)"),),
    ),
    Row(
        "gather in batches",
        lambda x, i: tf.gather(x, i, batch_dims=1),
        (real(2, 3), np.int32([[2, 2, 0, 1], [1, 1, 1, 0]])),
        batched,
        ops=("GatherV2",),
        errors=(
            (lambda: tf.gather(X, [[0], [3]], batch_dims=1), Invalid, r"indices\[1,0\] = 3 is not in \[0, 3\)"),
            (
                lambda: tf.gather(X, [[0]], batch_dims=1),
                Invalid,
                r"params\.shape\[0\]: 2 should be equal to indices\.shape\[0\]: 1",
            ),
            (lambda: tf.gather(X, [0, 1], batch_dims=2), Invalid, "Shape must be at least rank 3 but is rank 2"),
        ),
    ),
    Row(
        "gather along axis 0, where batch_dims do not count",
        lambda x, i: tf.gather(x, i, axis=0, batch_dims=1),
        (real(2, 3), np.int32([[1, 0]])),
        lambda x, i: x[i],
        ops=("GatherV2",),
    ),
    Row(
        "gather in batches, along a later axis",
        lambda x, i: tf.gather(x, i, axis=2, batch_dims=-1),
        (real(2, 2, 3, 2), np.int32([[2, 2], [1, 0]])),
        lambda x, i: jnp.stack([x[0][:, i[0]], x[1][:, i[1]]]),
        ops=("GatherV2",),
    ),
    Row(
        "gradient of gather",
        lambda dy, i: _gather_gradient(dy, i, axis=1, batch_dims=1, shape=(2, 3)),
        (real(2, 4), np.int32([[2, 2, 0, 1], [1, 1, 1, 0]])),
        lambda dy, i: jnp.zeros((2, 3), dy.dtype).at[np.array([[0], [1]]), i].add(dy),
        ops=("GatherV2Grad",),
        dtypes=("float64", "float32", "float16"),
    ),
    Row(
        "gather of a gather",
        lambda x, i: tf.gather(tf.gather(x, i) ** 2, [1, 1]) + tf.gather(x, [0, 2]),
        (real(3, 2), ROWS_),
        lambda x, i: (x[i] ** 2)[np.array([1, 1])] + x[np.array([0, 2])],
        ops=("GatherV2",),
    ),
    Row(
        "gather_nd",
        tf.gather_nd,
        (real(3, 2), POINTS),
        lambda x, i: x[tuple(i.T)],
        ops=("GatherNd",),
        dtypes=EVERY,
        special=(
            (([[1.0, 2.0], [3.0, 4.0]], np.int32([0, 1])), 2.0, ([[0.0, 1.0], [0.0, 0.0]], None)),
            (([[1.0, 2.0]], np.zeros((2, 0), "int32")), [[[1.0, 2.0]]] * 2, ([[2.0, 2.0]], None)),
            (([[1.0, 2.0]], np.zeros((0, 2), "int64")), np.zeros(0), ([[0.0, 0.0]], None)),
        ),
        errors=(
            (
                lambda: tf.gather_nd(X, [[0, 1], [2, 1]]),
                Invalid,
                r"indices\[1\] = \[2, 1\] does not index into param shape \[2,3\], node name.*\[Op:GatherNd\]",
            ),
            (lambda: tf.gather_nd(X, [[[0, 1], [2, 1]]]), Invalid, r"indices\[0,1\] = \[2, 1\] does not index into"),
            (
                lambda: tf.gather_nd(X, [[1], [4]], batch_dims=1),
                Invalid,
                r"indices\[1\] = \[1, 4\] does not index into",
            ),
            (lambda: tf.gather_nd(X, [[0, 1, 1]]), Invalid, r"dimension length must be <= params rank; saw: 3 vs\. 2"),
            (lambda: tf.gather_nd(X, 1), Invalid, "indices must be at least a vector"),
            (
                lambda: tf.gather_nd(X, [[0]], batch_dims=1),
                Invalid,
                "batch_dims=1 axes of indices .* must have equal extents",
            ),
            (lambda: tf.gather_nd(X, [[0]], bad_indices_policy="SKIP"), ValueError, "'IGNORE', received 'SKIP'"),
        ),
    ),
    Row(
        "gather_nd of slices",
        tf.gather_nd,
        (real(3, 2), np.int32([[[2], [0]], [[2], [1]]])),
        lambda x, i: x[i[..., 0]],
        ops=("GatherNd",),
    ),
    Row("gather_nd of rows", tf.gather_nd, (real(3, 2), ROWS_[:, None]), lambda x, i: x[i[:, 0]], ops=("GatherNd",)),
    Row(
        "gather_nd in batches",
        lambda x, i: tf.gather_nd(x, i, batch_dims=1),
        (real(2, 3, 2), np.int64([[[0, 1], [2, 0]], [[1, 1], [1, 1]]])),
        lambda x, i: jnp.stack([x[0][tuple(i[0].T)], x[1][tuple(i[1].T)]]),
        ops=("GatherNd",),
    ),
    Row(
        "gather_nd that leaves out",
        lambda x, i: tf.gather_nd(x, i, bad_indices_policy="IGNORE"),
        (real(3, 2), np.int32([[0, 1], [3, 0], [1, -1]])),
        lambda x, i: x[0, 1] * np.array([1.0, 0.0, 0.0]),
        ops=("GatherNd",),
    ),
    Row(
        "scatter_nd",
        lambda i, u: tf.scatter_nd(i, u, [3, 2]),
        (POINTS, real(3)),
        lambda i, u: scattered((3, 2), i, u),
        ops=("ScatterNd",),
        dtypes=("float64", "float32", "bfloat16", "complex64", "int8"),
        special=(((np.zeros((0, 2), "int32"), np.zeros(0, "f4")), np.zeros((3, 2)), (None, np.zeros(0))),),
        errors=(
            (
                lambda: tf.scatter_nd([[1], [4]], [1.0, 2.0], [3]),
                Invalid,
                r"indices\[1\] = \[4\] does not index into shape \[3\]",
            ),
            (
                lambda: tf.scatter_nd([[1], [1]], [1.0, 2.0, 3.0], [3]),
                Invalid,
                r"Dimensions \[0,1\) of indices\[shape=\[2,1\]\] must match .* of updates\[shape=\[3\]\]",
            ),
            (
                lambda: tf.scatter_nd([[1]], [[1.0]], [3]),
                Invalid,
                r"Dimensions \[1,1\) of input\[shape=\[3\]\] must match dimensions \[1,2\) of updates\[shape=\[1,1\]\]",
            ),
            (
                lambda: tf.scatter_nd([[1, 1]], [1.0], [3]),
                Invalid,
                r"dimension length must be <= params rank; saw: 2 vs\. 1",
            ),
        ),
    ),
    Row(
        "scatter_nd of slices",
        lambda i, u: tf.scatter_nd(i, u, tf.constant([3, 2])),
        (ROWS_[:, None], real(3, 2)),
        lambda i, u: jnp.zeros((3, 2), u.dtype).at[i[:, 0]].add(u),
        ops=("ScatterNd",),
    ),
    Row(
        "scatter_nd of masks",
        lambda i, u: tf.scatter_nd(i, u, [4]),
        (np.int32([[1], [1], [2], [0]]), np.array([True, False, True, False])),
        lambda i, u: np.array([False, True, True, False]),
        ops=("ScatterNd",),
        dtypes=("int32",),
        result=lambda dtype: "bool",
    ),
    Row(
        "scatter_nd that leaves out",
        lambda i, u: tf.scatter_nd(i, u, [2], bad_indices_policy="IGNORE"),
        (np.int32([[1], [2], [-1]]), real(3)),
        lambda i, u: jnp.array([0.0, 1.0]) * u[0],
        ops=("ScatterNd",),
    ),
    Row(
        "tensor_scatter_nd_update",
        tf.tensor_scatter_nd_update,
        (real(3, 2), APART, real(2)),
        lambda x, i, u: jnp.asarray(x).at[tuple(i.T)].set(u),
        ops=("TensorScatterUpdate",),
        dtypes=EVERY,
        special=((([True, False], np.int32([[0]]), [False]), [False, False]),),
        errors=(
            (
                lambda: tf.tensor_scatter_nd_update(X, [[0, 1], [0, 5]], [8.0, 9.0]),
                Invalid,
                r"indices\[1\] = \[0, 5\] does not index into shape \[2,3\].*\[Op:TensorScatterUpdate\]",
            ),
            (
                lambda: tf.tensor_scatter_nd_update(X, [[0, 1], [0, 1]], [8.0]),
                Invalid,
                r"Outer dimensions of indices and update must match\. Indices shape: \[2,2\], updates shape:\[1\]",
            ),
        ),
    ),
    Row(
        "tensor_scatter_nd_add",
        tf.tensor_scatter_nd_add,
        (real(3, 2), POINTS, real(3)),
        lambda x, i, u: jnp.asarray(x).at[tuple(i.T)].add(u),
        ops=("TensorScatterAdd",),
        dtypes=REALS,
        special=((([1.0, 2.0], np.zeros((0, 1), "int32"), np.zeros(0, "f4")), [1.0, 2.0], ([1.0, 1.0], None, np.zeros(0))),),
    ),
    Row(
        "tensor_scatter_nd_sub",
        tf.tensor_scatter_nd_sub,
        (real(3, 2), ROWS_[:, None], real(3, 2, seed=1)),
        lambda x, i, u: jnp.asarray(x).at[i[:, 0]].add(-u),
        ops=("TensorScatterSub",),
        dtypes=REALS,
    ),
    Row(
        "tensor_scatter_nd_add that leaves out",
        lambda x, u: tf.tensor_scatter_nd_add(x, [[0], [5]], u, bad_indices_policy="IGNORE"),
        (real(2), real(2, seed=1)),
        lambda x, u: x + jnp.array([1.0, 0.0]) * u[0],
        ops=("TensorScatterAdd",),
    ),
    Row(
        "tensor_scatter_nd_min",
        tf.tensor_scatter_nd_min,
        (distinct(3, 2), POINTS, distinct(3) + 0.05),
        lambda x, i, u: jnp.asarray(x).at[tuple(i.T)].min(u),
        ops=("TensorScatterMin",),
        dtypes=REALS,
        special=(
            (
                ([1.0, 2.0, 3.0], np.int32([[0], [1], [1]]), [1.0, 0.0, 0.0]),
                [1.0, 0.0, 3.0],
                ([0.5, 0.0, 1.0], None, [0.5, 0.5, 0.5]),
            ),
        ),
    ),
    Row(
        "tensor_scatter_nd_max",
        tf.tensor_scatter_nd_max,
        (distinct(3, 2), ROWS_[:, None], distinct(3, 2, seed=1) + 0.05),
        lambda x, i, u: jnp.asarray(x).at[i[:, 0]].max(u),
        ops=("TensorScatterMax",),
        dtypes=REALS,
    ),
    Row(
        "gather of masks",
        tf.gather,
        (boolean(3, 2), ROWS_),
        lambda x, i: x[i],
        ops=("GatherV2",),
        dtypes=("int32",),
        result=lambda dtype: "bool",
    ),
)
