"""Rows of what joins tensors and takes them apart."""

import jax.numpy as jnp
import numpy as np

import gradtape as tf
from tests.ops.table import Row, boolean, complexes, integers, real

Invalid = tf.errors.InvalidArgumentError
X = tf.zeros([2, 3])
EVERY = ("float64", "float32", "float16", "bfloat16", "complex64", "int8", "uint16", "int64", "bool")
PAIR = (real(2, 3), real(2, 3, seed=1))

ROWS = (
    Row(
        "concat",
        lambda x, y: tf.concat([x, y, x], -1),
        (real(2, 3), real(2, 1)),
        lambda x, y: jnp.concatenate([x, y, x], -1),
        ops=("ConcatV2",),
        dtypes=EVERY,
        special=(((np.zeros((2, 0), "f4"), [[1.0], [2.0]]), [[1.0], [2.0]], (np.zeros((2, 0)), [[1.0], [1.0]])),),
        errors=(
            (
                lambda: tf.concat([X, tf.zeros([2, 4])], 0),
                Invalid,
                r"ConcatOp : Dimension 1 in both shapes must be equal: shape\[0\] = \[2,3\] vs\. shape\[1\] = \[2,4\]",
            ),
            (lambda: tf.concat([X, tf.zeros([2])], 0), Invalid, "Ranks of all input tensors should match"),
            (lambda: tf.concat([X, X], 2), Invalid, r"concatenating dimensions in the range \[-2, 2\), but got 2"),
            (lambda: tf.concat([1.0, 2.0], 0), Invalid, r"Can't concatenate scalars \(use tf\.stack instead\)"),
            (
                lambda: tf.concat([X, tf.ones([2, 3], tf.int32)], 0),
                Invalid,
                r"ConcatV2 as input #1\(zero-based\) was expected to be a float tensor but is a int32 tensor",
            ),
            (lambda: tf.concat([[1], [2.5]], 0), TypeError, r"Cannot convert \[2\.5\] to EagerTensor of dtype int32"),
            (lambda: tf.concat([], 0), Invalid, "concat needs at least one tensor"),
        ),
    ),
    Row(
        "concat, complex",
        lambda x, y: tf.concat([x, y], 0),
        (complexes(1, 2), complexes(2, 2)),
        lambda x, y: jnp.concatenate([x, y], 0),
        ops=("ConcatV2",),
        dtypes=("complex128",),
    ),
    Row("concat of one", lambda x: tf.concat([x], 0), (real(2),), lambda x: x),
    Row(
        "concat, then the mean: a broadcast comes back",
        lambda x, y: tf.reduce_mean(tf.concat([x, y], 0), axis=0),
        (real(2, 3), real(1, 3)),
        lambda x, y: jnp.mean(jnp.concatenate([x, y], 0), axis=0),
        ops=("ConcatV2",),
    ),
    Row(
        "split",
        lambda x: tuple(tf.split(x, 2, axis=-1)),
        (real(2, 4),),
        lambda x: tuple(jnp.split(x, 2, -1)),
        ops=("Split",),
        dtypes=EVERY,
        errors=(
            (lambda: tf.split(X, 2, axis=1), Invalid, r"evenly divide .* split_dim 1 \(size = 3\) and num_split 2"),
            (lambda: tf.split(X, 2, axis=4), Invalid, r"-input rank\(-2\) <= split_dim < input rank \(2\), but got 4"),
            (lambda: tf.split(X, 0), Invalid, "'num_split' of 0 must be at least minimum 1"),
            (
                lambda: tf.split(X, tf.constant(2)),
                ValueError,
                "Rank-0 tensors are not supported as the num_or_size_splits",
            ),
        ),
    ),
    Row(
        "split, one part used",
        lambda x: tf.split(x, 2)[1],
        (real(2, 3),),
        lambda x: x[1:],
        ops=("Split",),
    ),
    Row(
        "split by sizes",
        lambda x: tuple(tf.split(x, [1, -1, 0], axis=1)),
        (real(2, 4),),
        lambda x: (x[:, :1], x[:, 1:], x[:, 4:]),
        ops=("SplitV",),
        dtypes=EVERY,
        errors=(
            (lambda: tf.split(X, [1, 1], axis=1), Invalid, "must either match input shape along split_dim.*Got: 2"),
            (lambda: tf.split(X, [4, -1], axis=1), Invalid, "must either match input shape along split_dim.*Got: 4"),
            (lambda: tf.split(X, [-1, -1], axis=1), Invalid, "There can only be one -1 in the input"),
            (lambda: tf.split(X, [-2, 5], axis=1), Invalid, r"Split size at index 0 must be >= 0\. Got: -2"),
            (lambda: tf.split(X, [1, 2], axis=1, num=3), Invalid, "same elements as outputs got 1 -D and 2 elements"),
        ),
    ),
    Row(
        "stack",
        lambda x, y: tf.stack([x, y, x], -1),
        PAIR,
        lambda x, y: jnp.stack([x, y, x], -1),
        ops=("Pack",),
        dtypes=EVERY,
        special=(((1.0, 2.0), [1.0, 2.0, 1.0], (2.0, 1.0)),),
        errors=(
            (
                lambda: tf.stack([X, tf.zeros([3])]),
                Invalid,
                r"Shapes of all inputs must match: values\[0\]\.shape = \[2,3\] != values\[1\]\.shape = \[3\]",
            ),
            (lambda: tf.stack([X, X], axis=3), ValueError, r"`axis` = 3 not in range \[-3, 3\)"),
            (lambda: tf.stack([X, X], axis=-4), ValueError, r"`axis` = -4 not in range \[-3, 3\)"),
            (
                lambda: tf.stack([tf.constant(1.0), tf.constant(2)]),
                Invalid,
                r"Pack as input #1\(zero-based\) .* a int32",
            ),
        ),
    ),
    Row(
        "stack, then the sum: a broadcast comes back",
        lambda x, y: tf.reduce_sum(tf.stack([x, y], 1), axis=[0, 1]),
        PAIR,
        lambda x, y: jnp.sum(jnp.stack([x, y], 1), axis=(0, 1)),
        ops=("Pack",),
    ),
    Row("parallel_stack", lambda x, y: tf.parallel_stack([x, y]), PAIR, lambda x, y: jnp.stack([x, y]), ops=("Pack",)),
    Row(
        "lists that hold tensors",
        lambda x: tf.convert_to_tensor([[x, 2.0], [3.0, x * x]]),
        (real(),),
        lambda x: jnp.stack([jnp.stack([x, 2.0 + 0 * x]), jnp.stack([3.0 + 0 * x, x * x])]),
        ops=("Pack",),
    ),
    Row(
        "unstack",
        lambda x: tuple(tf.unstack(x, axis=1)),
        (real(2, 3),),
        lambda x: (x[:, 0], x[:, 1], x[:, 2]),
        ops=("Unpack",),
        dtypes=EVERY,
        errors=(
            (lambda: tf.unstack(X, axis=2), ValueError, r"`axis` = 2 not in range \[-2, 2\)"),
            (lambda: tf.unstack(X, num=3), Invalid, r"Input shape axis 0 must equal 3, got shape \[2,3\]"),
            (lambda: tf.unstack(1.0), ValueError, r"`axis` = 0 not in range \[0, 0\)"),
        ),
    ),
    Row("unstack, one part used", lambda x: tf.unstack(x)[1], (real(2, 3),), lambda x: x[1], ops=("Unpack",)),
    Row("unstack nothing", lambda x: x + float(len(tf.unstack(x))), (np.zeros((0, 2)),), lambda x: x),
    Row(
        "stack and unstack of masks",
        lambda x, y: tuple(tf.unstack(tf.stack([x, y]), axis=1)),
        (boolean(3), boolean(3, seed=2) | True),
        lambda x, y: tuple(np.stack([x, y]).T),
        ops=("Pack", "Unpack"),
        dtypes=("bool",),
    ),
    Row(
        "concat of integers",
        lambda x: tf.concat([x, [7, 8]], 0),
        (integers(0, 9, 2),),
        lambda x: np.append(x, x.dtype.type([7, 8])),
        ops=("ConcatV2",),
        dtypes=("int32", "uint8"),
    ),
)
