"""Rows of index expressions, `slice` and `strided_slice`, and of assignment to slices."""

import jax.numpy as jnp
import numpy as np

import gradtape as tf
from gradtape._src.ops.array.indexing import _strided_slice_gradient
from tests.ops.table import Row, complexes, integers, real

Invalid = tf.errors.InvalidArgumentError
X = tf.zeros([2, 3])
EVERY = ("float64", "float32", "float16", "bfloat16", "complex64", "int8", "uint16", "int64", "bool")


MATRIX = (real(3, 4),)


def indexed(name, call, args=MATRIX, **declared):
    """A row of an index expression, which NumPy takes as well."""
    return Row(name, call, args, call, ops=("StridedSlice",), **declared)


def assigned(index):
    """Assignment to a slice of a variable, and the same on NumPy arrays."""

    def call(x, update):
        return tf.Variable(x)[index].assign(update).read_value()

    def reference(x, update):
        result = np.array(x)
        result[index] = update
        return result

    return call, reference


def assigning(name, index, *update):
    call, reference = assigned(index)
    args = (real(3, 4), real(*update, seed=1))
    return Row(name, call, args, reference, ops=("ResourceStridedSliceAssign",), order=0, dtypes=EVERY)


ROWS = (
    indexed("integer", lambda x: x[1], dtypes=EVERY),
    indexed("integer from the end", lambda x: x[..., -1]),
    indexed("element", lambda x: x[-2, 3]),
    indexed("slice", lambda x: x[1:, 1:3], dtypes=EVERY),
    indexed("slice with strides", lambda x: x[::2, 1::2], dtypes=EVERY),
    indexed("slice backwards", lambda x: x[::-1, ::-1]),
    indexed("slice backwards with strides", lambda x: x[2:0:-1, 2::-2]),
    indexed("new axes", lambda x: x[None, 1, :, None]),
    indexed("new axes around an ellipsis", lambda x: x[None, ..., None]),
    indexed("empty slice", lambda x: x[2:1, ::-1]),
    indexed("all", lambda x: x[...]),
    indexed("complex", lambda x: x[::-2, 1], (complexes(3, 2),), dtypes=("complex128", "complex64")),
    indexed("scalar", lambda x: x[None], (real(),)),
    indexed("zero extents", lambda x: x[:, 1], (np.zeros((0, 2)),)),
    Row(
        "a tensor as the index",
        lambda x, i: x[i, i + 1 :],
        (real(3, 4), np.array(1)),
        lambda x, i: x[1, 2:],
        ops=("StridedSlice",),
    ),
    Row("iteration", lambda x: sum(list(x)), (real(3, 2),), lambda x: jnp.sum(x, 0)),
    Row(
        "gradient of a slice",
        lambda dy, i: _strided_slice_gradient(dy, i, axes=(0,), sizes=(1, 3), strides=(1, -2), shape=(3, 3)),
        (real(1, 2), np.int32(2)),
        lambda dy, i: jnp.zeros((3, 3)).at[i, ::-2].set(dy[0]),
        ops=("StridedSliceGrad",),
    ),
    Row(
        "slice, as a function",
        lambda x: tf.slice(x, [1, 0], [2, -1]),
        (real(3, 4),),
        lambda x: x[1:],
        ops=("Slice",),
        dtypes=EVERY,
        errors=(
            (lambda: tf.slice(X, [3, 0], [1, 1]), Invalid, r"Expected begin\[0\] in \[0, 2\], but got 3"),
            (lambda: tf.slice(X, [0, 1], [2, 3]), Invalid, r"Expected size\[1\] in \[0, 2\], but got 3"),
            (lambda: tf.slice(X, [0], [2]), Invalid, r"begin and size arguments to be 1-D tensors of size 2"),
        ),
    ),
    Row("slice of everything", lambda x: tf.slice(x, [0, 0], [-1, 4]), (real(3, 4),), lambda x: x, ops=("Slice",)),
    Row("slice of nothing", lambda x: tf.slice(x, [3, 1], [0, 2]), (real(3, 4),), lambda x: x[3:, 1:3], ops=("Slice",)),
    Row(
        "strided_slice",
        lambda x: tf.strided_slice(x, [5, 0, -1, 0], [5, 0, 0, 1], [1, 1, -2, 1], 4, 0, 2, 8, 1),
        (real(6, 2, 5),),
        lambda x: x[5, ..., :0:-2, None],
        ops=("StridedSlice",),
        errors=(
            (
                lambda: tf.strided_slice(X, [0], [1], [-1], shrink_axis_mask=1),
                Invalid,
                "only stride 1 allowed on non-range",
            ),
            (
                lambda: tf.strided_slice(X, [0], [1, 2]),
                Invalid,
                r"strides to be 1D equal size tensors, but got shapes \[1\], \[2\], and \[1\]",
            ),
            (lambda: tf.strided_slice(X, [0], [1], [0]), Invalid, r"strides\[0\] must be non-zero"),
        ),
    ),
    assigning("assign to a row", 1, 4),
    assigning("assign to an element", (2, -1)),
    assigning("assign to a slice", (slice(1, None), slice(0, 2)), 2, 2),
    assigning("assign to strides", (slice(None, None, -2), slice(None, None, 3)), 2, 2),
    assigning("assign and broadcast", (slice(0, 2), slice(1, None, 2)), 2),
    assigning("assign to everything", Ellipsis, 3, 4),
    Row(
        "assign to integers",
        assigned((slice(None), 1))[0],
        (integers(0, 9, 2, 2), integers(0, 9, 2)),
        assigned((slice(None), 1))[1],
        ops=("ResourceStridedSliceAssign",),
        dtypes=("int32", "uint8"),
        errors=(
            (
                lambda: tf.Variable(X)[0:2].assign(tf.ones([3, 3])),
                Invalid,
                r"Cannot assign a value of shape \[3,3\] into a slice of shape \[2,3\]",
            ),
            (
                lambda: tf.Variable(X)[0].assign(tf.ones([3], tf.float64)),
                ValueError,
                "Cannot assign a value of dtype float64 to a slice of variable 'Variable:0', which has dtype float32",
            ),
        ),
    ),
)
