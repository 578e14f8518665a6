"""Rows of what makes tensors from a shape, bounds or indices."""

import jax.numpy as jnp
import numpy as np

import gradtape as tf
from tests.ops.table import Row, integers, positive, real

Invalid = tf.errors.InvalidArgumentError
INTEGERS = ("int32", "int64")
NUMBERS = ("float64", "float32", "float16", "bfloat16", "complex64", "int8", "uint16", "int64", "bool")


def one_hot(indices, depth, axis=-1):
    axis = indices.ndim if axis == -1 else axis
    shape = [1] * (indices.ndim + 1)
    shape[axis] = depth
    return (np.expand_dims(indices, axis) == np.arange(depth).reshape(shape)).astype("float64")


ROWS = (
    Row("zeros_like", tf.zeros_like, (real(2, 3),), np.zeros_like, order=0, dtypes=NUMBERS),
    Row("ones_like", tf.ones_like, (real(2, 3),), np.ones_like, order=0, dtypes=NUMBERS),
    Row(
        "ones_like, of another dtype",
        lambda x: tf.ones_like(x, dtype=tf.int8),
        (real(2),),
        lambda x: np.ones(2, "int8"),
        order=0,
    ),
    Row(
        "fill",
        lambda x: tf.fill([2, 3], x),
        (real(),),
        lambda x: jnp.full((2, 3), x),
        ops=("Fill",),
        dtypes=NUMBERS,
        special=((3.0, [[3.0] * 3] * 2, 6.0),),
        errors=(
            (lambda: tf.function(lambda: tf.fill([2], [1.0]))(), ValueError, r"got shape \[1\]"),
            (lambda: tf.fill([2], [1.0, 2.0]), Invalid, r"value must represent a scalar, got shape \[2\].*\[Op:Fill\]"),
            (lambda: tf.fill([-2], 1.0), Invalid, "Dimension -2 must be >= 0"),
            (lambda: tf.zeros([-2]), Invalid, "Dimension -2 must be >= 0"),
            (lambda: tf.zeros([2.5]), TypeError, "shape must be an integer, received 2.5"),
        ),
    ),
    Row(
        "eye",
        lambda x: x @ tf.eye(3, 2, dtype=x.dtype),
        (real(2, 3),),
        lambda x: x @ jnp.eye(3, 2),
        ops=("Eye",),
        errors=((lambda: tf.eye(-2), Invalid, "Dimension -2 must be >= 0"),),
    ),
    Row(
        "eye, int",
        lambda x: x * tf.eye(3, dtype=x.dtype),
        (integers(1, 9, 3, 3),),
        lambda x: x * np.eye(3, dtype=x.dtype),
        ops=("Eye",),
        dtypes=("int8", "int64"),
    ),
    Row(
        "range",
        lambda x: tf.range(x, 9, 3),
        (integers(1, 4),),
        lambda x: np.arange(x, 9, 3, x.dtype),
        ops=("Range",),
        dtypes=INTEGERS,
        errors=(
            (lambda: tf.range(0, 5, 0), Invalid, r"Requires delta != 0: 0 \[Op:Range\]"),
            (lambda: tf.range(5, 0), Invalid, "Requires start <= limit when delta > 0: 5/0"),
            (lambda: tf.range(0, 5, -1), Invalid, "Requires start >= limit when delta < 0: 0/5"),
            (lambda: tf.range([1, 2]), Invalid, r"limit must be a scalar, not shape \[2\]"),
            (lambda: tf.range(2.5, dtype=tf.int32), TypeError, "Cannot convert 2.5 to EagerTensor of dtype int32"),
            (lambda: tf.range(tf.constant(4, tf.int8)), TypeError, "received limit of dtype int8"),
        ),
    ),
    Row(
        "range of floats",
        lambda x: tf.range(x, 2.0, 0.5),
        (positive(),),
        lambda x: np.arange(x, 2.0, 0.5),
        ops=("Range",),
        order=0,
        special=(
            (0.0, [0.0, 0.5, 1.0, 1.5]),
            (np.float16(1.0), [1.0, 1.5]),
            (1, [1.0, 1.5]),
        ),
        errors=(
            (lambda: tf.range(0.0, float("nan")), Invalid, "Requires start <= limit when delta > 0: 0.0/nan"),
            (lambda: tf.range(0.0, float("inf")), Invalid, r"Requires \(\(limit - start\) / delta\) <= 9223372036854775807"),
            (lambda: tf.range(*tf.constant([-6e4, 6e4, 1e3], tf.float16)), Invalid, "<= 9223372036854775807"),
        ),
    ),
    Row(
        "linspace",
        lambda x, y: tf.linspace(x, y, 4),
        (real(2), real(2, seed=1)),
        lambda x, y: jnp.linspace(x, y, 4),
        special=(
            ((3.0, 5.0), [3.0, 3.6666667, 4.3333335, 5.0], (2.0, 2.0)),
            (([[0.0], [1.0]], [1.0, 3.0]), np.linspace([[0.0, 0.0], [1.0, 1.0]], [[1.0, 3.0], [1.0, 3.0]], 4)),
            ((0, 10), [0.0, 3.3333333333333335, 6.666666666666667, 10.0]),
        ),
        errors=((lambda: tf.linspace(0.0, 1.0, -1), Invalid, "linspace needs num >= 0, received -1"),),
    ),
    Row(
        "linspace along the last axis",
        lambda x, y: tf.linspace(x, y, 3, axis=-1),
        (real(2), real(2, seed=1)),
        lambda x, y: jnp.linspace(x, y, 3, axis=-1),
    ),
    Row("linspace of one", lambda x, y: tf.linspace(x, y, 1), (real(2), real(2, seed=1)), lambda x, y: x[None] + 0 * y),
    Row(
        "linspace of none",
        lambda x, y: tf.linspace(x, y, 0),
        (real(), real(seed=1)),
        lambda x, y: jnp.zeros(0),
        order=0,
    ),
    Row(
        "one_hot",
        lambda x: tf.one_hot(x, 3),
        (integers(-1, 4, 5),),
        lambda x: one_hot(x, 3),
        ops=("OneHot",),
        dtypes=("int32", "int64", "int8"),
        result=lambda dtype: "float32",
        errors=(
            (
                lambda: tf.one_hot([0.0, 1.0], 2),
                Invalid,
                "attr 'TI' of float is not in the list .*: uint8, int8, int32",
            ),
            (lambda: tf.one_hot([0, 1], -1), Invalid, "depth must be non-negative, got: -1"),
            (lambda: tf.one_hot([0, 1], 2, axis=3), Invalid, r"axis to be -1 or between \[0, 2\).*received: 3"),
            (
                lambda: tf.one_hot([0], 2, on_value=1, off_value=0.5),
                TypeError,
                "on_value does not match .* of off_value",
            ),
            (
                lambda: tf.one_hot([0], 2, on_value=tf.constant(1.0), dtype=tf.float64),
                TypeError,
                "dtype .*float32.* of on_value does not match dtype parameter .*float64",
            ),
        ),
    ),
    Row(
        "one_hot, axis and values",
        lambda x, y: tf.one_hot([[1, 0]], 3, x, y, axis=1),
        (real(), real(seed=1)),
        lambda x, y: np.where(one_hot(np.array([[1, 0]]), 3, 1) == 1, x, y),
        ops=("OneHot",),
        order=0,
        dtypes=NUMBERS,
    ),
    Row(
        "sequence_mask",
        tf.sequence_mask,
        (integers(0, 4, 2, 3),),
        lambda x: np.arange(x.max()) < x[..., None],
        ops=("SequenceMask",),
        dtypes=INTEGERS,
        special=(
            ([1, 3], [[True, False, False], [True, True, True]]),
            ([1.5, 3.0], [[True, True, False], [True, True, True]]),
            (np.zeros((0,), "int32"), np.zeros((0, 0), bool)),
        ),
        errors=((lambda: tf.sequence_mask([1], [1, 2]), ValueError, r"`maxlen` must be scalar .* shape '\(2,\)'"),),
    ),
    Row(
        "sequence_mask of a length",
        lambda x: tf.sequence_mask(x, 2, tf.float64),
        (integers(0, 4, 3),),
        lambda x: (np.arange(2) < x[..., None]).astype("float64"),
        ops=("SequenceMask",),
        dtypes=("int32",),
        result=lambda dtype: "float64",
    ),
    Row(
        "meshgrid",
        lambda x, y, z: tuple(tf.meshgrid(x, y, z)),
        (real(2), real(3), real(2, 1, seed=1)),
        lambda x, y, z: tuple(jnp.meshgrid(x, y, z.ravel())),
        special=(
            (
                ([1.0, 2.0], [3.0], [4.0]),
                ([[[1.0], [2.0]]], [[[3.0], [3.0]]], [[[4.0], [4.0]]]),
                ([1.0, 1.0], [2.0], [2.0]),
            ),
        ),
        errors=(
            (lambda: tf.meshgrid([1], indexing="x"), ValueError, "must be either 'xy' or 'ij', got 'x'"),
            (lambda: tf.meshgrid([1], index="ij"), TypeError, "'index' is an invalid keyword argument"),
            (lambda: tf.meshgrid([1], [2.0]), Invalid, "meshgrid takes vectors of one dtype"),
        ),
    ),
    Row(
        "meshgrid, matrix indexing",
        lambda x, y: tuple(tf.meshgrid(x, y, indexing="ij")),
        (real(2), real(3)),
        lambda x, y: tuple(jnp.meshgrid(x, y, indexing="ij")),
    ),
    Row(
        "unravel_index",
        lambda x: tf.unravel_index(x, [2, 3, 4]),
        (integers(0, 24, 6),),
        lambda x: np.stack(np.unravel_index(x, (2, 3, 4))).astype(x.dtype),
        ops=("UnravelIndex",),
        dtypes=INTEGERS,
        special=((23, [1, 2, 3]),),
        errors=(
            (lambda: tf.unravel_index([6], [2, 3]), Invalid, "index is out of bound as with dims.*Op:UnravelIndex"),
            (lambda: tf.unravel_index([[1]], [2, 3]), Invalid, "indices can only be scalar or vector"),
            (lambda: tf.unravel_index([1], 5), Invalid, "dims must be 1-D"),
            (lambda: tf.unravel_index([1], [3, 0]), Invalid, "dims cannot contain a dim of zero"),
            (lambda: tf.unravel_index([1], [2**16, 2**16]), Invalid, "dims product is causing integer overflow"),
        ),
    ),
)
