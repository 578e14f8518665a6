"""Rows of identities, shapes, and changes of shape that move no element."""

import jax.numpy as jnp
import numpy as np

import gradtape as tf
from gradtape._src.ops.array.extents import _shape, _size
from gradtape._src.ops.gradients import fit_shape
from tests.ops.table import Row, boolean, complexes, integers, real

Invalid = tf.errors.InvalidArgumentError
X = tf.zeros([2, 3])
EVERY = ("float64", "float32", "float16", "bfloat16", "complex64", "int8", "uint16", "int64", "bool")


ROWS = (
    Row("identity", tf.identity, (real(2, 3),), lambda x: x, ops=("Identity",), dtypes=EVERY),
    Row(
        "identity_n",
        lambda x, y: tuple(tf.identity_n([x, y])),
        (real(2), integers(0, 9, 3)),
        lambda x, y: (x, y),
        ops=("IdentityN",),
    ),
    Row(
        "stop_gradient",
        tf.stop_gradient,
        (real(2, 3),),
        lambda x: x,
        ops=("StopGradient",),
        order=0,
        dtypes=EVERY,
        special=(([1.0, np.nan], [1.0, np.nan], None),),
    ),
    Row(
        "broadcast_to",
        lambda x: tf.broadcast_to(x, [4, 2, 3]),
        (real(2, 1),),
        lambda x: jnp.broadcast_to(x, (4, 2, 3)),
        ops=("BroadcastTo",),
        dtypes=EVERY,
        special=(
            (3.0, np.full((4, 2, 3), 3.0), 24.0),
            (np.float32([[1.0], [2.0]]), np.broadcast_to([[1.0], [2.0]], (4, 2, 3)), [[12.0], [12.0]]),
        ),
        errors=(
            (
                lambda: tf.broadcast_to(X, [4, 3]),
                Invalid,
                r"Incompatible shapes: \[2,3\] vs\. \[4,3\].*\[Op:BroadcastTo\]",
            ),
            (lambda: tf.broadcast_to(X, [3]), Invalid, r"Rank of input \(2\) must be no greater than .* shape \(1\)"),
            (lambda: tf.broadcast_to(X, [-1, 3]), Invalid, "Dimension -1 must be >= 0"),
        ),
    ),
    Row(
        "broadcast_to nothing",
        lambda x: tf.broadcast_to(x, [0, 3]),
        (real(1, 3),),
        lambda x: jnp.broadcast_to(x, (0, 3)),
        ops=("BroadcastTo",),
    ),
    Row(
        "fit_shape sums",
        lambda x: fit_shape(x, tf.zeros([3, 1])),
        (real(4, 3, 2),),
        lambda x: jnp.sum(x, axis=(0, 2))[:, None],
        ops=("FitShape",),
    ),
    Row(
        "fit_shape broadcasts",
        lambda x: fit_shape(x, tf.zeros([3, 2])),
        (real(2),),
        lambda x: jnp.broadcast_to(x, (3, 2)),
        ops=("FitShape",),
    ),
    Row(
        "reshape",
        lambda x: tf.reshape(x, [3, -1]),
        (real(2, 3),),
        lambda x: jnp.reshape(x, (3, 2)),
        ops=("Reshape",),
        dtypes=EVERY,
        special=((np.zeros((0, 3), "f4"), np.zeros((3, 0))),),
        errors=(
            (lambda: tf.reshape(X, [4]), Invalid, "a tensor with 6 values, but the requested shape has 4.*Op:Reshape"),
            (
                lambda: tf.reshape(X, [-1, 4]),
                Invalid,
                "with 6 values, but the requested shape requires a multiple of 4",
            ),
            (lambda: tf.reshape([1], [1] * 254), Invalid, "too many dimensions: must be < 254, but received 254"),
            (lambda: tf.reshape(X, [-1, -1]), Invalid, "Only one input size may be -1, not both 0 and 1"),
            (lambda: tf.reshape(X, [-2, 3]), Invalid, "Size 0 must be non-negative, not -2"),
            (lambda: tf.reshape(X, [2.0, 3.0]), TypeError, "shape must be an integer, received 2.0"),
        ),
    ),
    Row(
        "reshape to a tensor",
        lambda x: tf.reshape(x, tf.shape(x)[::-1]),
        (real(2, 3),),
        lambda x: jnp.reshape(x, (3, 2)),
        ops=("Reshape",),
    ),
    Row("reshape, complex", lambda x: tf.reshape(x, [-1]), (complexes(2, 2),), jnp.ravel, dtypes=("complex128",)),
    Row(
        "expand_dims",
        lambda x: tf.expand_dims(x, -2),
        (real(2, 3),),
        lambda x: jnp.expand_dims(x, -2),
        ops=("ExpandDims",),
        dtypes=EVERY,
        errors=(
            (lambda: tf.expand_dims(X, 3), Invalid, "Tried to expand dim index 3 for tensor with 2 dimensions"),
            (lambda: tf.expand_dims(X, -4), Invalid, "Tried to expand dim index -4 for tensor with 2 dimensions"),
            (lambda: tf.expand_dims(X, [0, 1]), Invalid, "'dim' must be a tensor with a single value"),
            (lambda: tf.expand_dims(X, None), ValueError, "needs an axis, received None"),
        ),
    ),
    Row(
        "squeeze",
        tf.squeeze,
        (real(1, 2, 1, 3),),
        lambda x: jnp.squeeze(x),
        ops=("Squeeze",),
        dtypes=EVERY,
        special=(([[[1.0]]], 1.0, [[[1.0]]]), ([1.0, 2.0], [1.0, 2.0], [1.0, 1.0])),
    ),
    Row(
        "squeeze, axes",
        lambda x: tf.squeeze(x, [0, -2]),
        (real(1, 2, 1, 1),),
        lambda x: jnp.squeeze(x, (0, 2)),
        ops=("Squeeze",),
        errors=(
            (lambda: tf.squeeze(X, 0), Invalid, r"Can not squeeze dim\[0\], expected a dimension of 1, got 2"),
            (lambda: tf.squeeze(X, 4), Invalid, "Tried to squeeze dim index 4 for tensor with 2 dimensions"),
        ),
    ),
    Row(
        "ensure_shape",
        lambda x: tf.ensure_shape(x, [None, 3]),
        (real(2, 3),),
        lambda x: x,
        ops=("EnsureShape",),
        errors=(
            (
                lambda: tf.ensure_shape(X, [3]),
                Invalid,
                r"Shape of tensor input \[2,3\] is not compatible with expected shape \[3\]",
            ),
            (lambda: tf.ensure_shape(X, [None, 4]), Invalid, r"is not compatible with expected shape \[\?,4\]"),
        ),
    ),
    Row(
        "transpose",
        tf.transpose,
        (real(2, 3),),
        jnp.transpose,
        ops=("Transpose",),
        dtypes=EVERY,
        special=((2.0, 2.0, 1.0), (np.zeros((0, 2), "f4"), np.zeros((2, 0)))),
        errors=(
            (lambda: tf.transpose(X, [0]), Invalid, r"vector of size 2\. But input\(1\) is a vector of size 1"),
            (lambda: tf.transpose(X, [0, 0]), Invalid, r"1 is missing from \{0,0\}"),
            (lambda: tf.transpose(X, [0, 2]), Invalid, r"2 is out of range \[0 \.\. 2\)"),
        ),
    ),
    Row(
        "transpose, permuted",
        lambda x: tf.transpose(x, [2, -3, 1]),
        (real(2, 3, 4),),
        lambda x: jnp.transpose(x, (2, 0, 1)),
        ops=("Transpose",),
    ),
    Row(
        "transpose, conjugated",
        lambda x: tf.transpose(x, conjugate=True),
        (complexes(2, 3),),
        lambda x: jnp.conj(x).T,
        ops=("ConjugateTranspose",),
        dtypes=("complex128", "complex64"),
    ),
    Row(
        "transpose, conjugated but real",
        lambda x: tf.transpose(x, conjugate=True),
        (real(2, 3),),
        jnp.transpose,
        ops=("Transpose",),
    ),
    Row(
        "a broadcast cotangent, transposed",
        lambda x: tf.reduce_sum(tf.transpose(x, [1, 2, 0]) * 1.0, axis=1),
        (real(2, 3, 4),),
        lambda x: jnp.sum(jnp.transpose(x, (1, 2, 0)), axis=1),
    ),
    Row("shape", tf.shape, (real(2, 3),), lambda x: np.int32([2, 3]), order=0, dtypes=EVERY),
    Row("shape, int64", lambda x: tf.shape(x, tf.int64), (real(2),), lambda x: np.int64([2]), order=0),
    Row("size", tf.size, (real(2, 3),), lambda x: np.int32(6), order=0),
    Row(
        "shape, as an op of a graph",
        lambda x: _shape(x, out_type=np.dtype(np.int32)),
        (real(2, 3),),
        lambda x: np.int32([2, 3]),
        ops=("Shape",),
        order=0,
        dtypes=EVERY,
    ),
    Row(
        "size, as an op of a graph",
        lambda x: _size(x, out_type=np.dtype(np.int64)),
        (real(2, 3),),
        lambda x: np.int64(6),
        ops=("Size",),
        order=0,
    ),
    Row("rank", tf.rank, (boolean(2, 3),), lambda x: np.int32(2), dtypes=("bool",)),
    Row(
        "shape_n",
        lambda x: tuple(tf.shape_n([x, x[0]])),
        (real(2, 3),),
        lambda x: (np.int32([2, 3]), np.int32([3])),
        order=0,
    ),
    Row(
        "broadcast_dynamic_shape",
        tf.broadcast_dynamic_shape,
        (np.int32([2, 1]), np.int32([4, 1, 3])),
        lambda x, y: np.array([4, 2, 3], x.dtype),
        dtypes=("int32", "int64"),
        errors=((lambda: tf.broadcast_dynamic_shape([2, 2], [3]), Invalid, r"Incompatible shapes: \[.*2,2\] vs\. \[.*3\]"),),
    ),
)
