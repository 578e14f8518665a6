"""Norms of vectors and matrices, and normalization."""

import numpy as np

from gradtape._src.core.base.public import public
from gradtape._src.core.tensors.convert import static_list, tensor
from gradtape._src.core.tensors.tensor import Tensor, extents_of
from gradtape._src.ops.array.shape import reshape, squeeze, transpose
from gradtape._src.ops.linalg.decompositions import svd
from gradtape._src.ops.math.arithmetic import abs, sqrt
from gradtape._src.ops.math.complex import complex, conj
from gradtape._src.ops.math.elementary import pow
from gradtape._src.ops.math.reduction import reduce_max, reduce_sum
from gradtape._src.ops.shapes import axis_of

MATRIX_NORMS = ("euclidean", "fro", 1, 2, np.inf)


def _norm_axes(ord, axis):
    """Return `(axis, whether it is a matrix norm)`; ValueError for an invalid order or axes."""
    if isinstance(axis, (Tensor, np.ndarray)):
        axis = static_list(axis, "axis")
        axis = axis if len(axis) > 1 else axis[0]
    if isinstance(axis, (list, tuple)):
        if len(axis) != 2 or axis[0] == axis[1]:
            raise ValueError(f"'axis' must be None, an integer, or a tuple of 2 unique integers, got {axis}")
        if ord not in MATRIX_NORMS:
            raise ValueError(f"'ord' must be a supported matrix norm in {list(MATRIX_NORMS)}, got {ord}")
        return tuple(axis), True
    if axis is not None and not isinstance(axis, (int, np.integer)):
        raise ValueError(f"'axis' must be None, an integer, or a tuple of 2 unique integers, got {axis}")
    if ord != "euclidean" and (isinstance(ord, str) or not np.isreal(ord) or ord <= 0):
        raise ValueError(f"'ord' must be a supported vector norm, got {ord}: 'euclidean', or a number above 0.")
    return axis, False


def _norm(x, ord, axis, of_matrix):
    """Return the norm with its axes kept."""
    if ord in ("euclidean", "fro") or (ord == 2 and not of_matrix):
        return sqrt(reduce_sum(x * conj(x), axis, keepdims=True))
    if of_matrix and ord == 2:
        return _largest_singular_value(x, axis)
    size = abs(x)
    if of_matrix:
        summed, largest = axis if ord == 1 else axis[::-1]
        return reduce_max(reduce_sum(size, summed, keepdims=True), largest, keepdims=True)
    if ord == 1:
        return reduce_sum(size, axis, keepdims=True)
    if ord == np.inf:
        return reduce_max(size, axis, keepdims=True)
    return pow(reduce_sum(pow(size, ord), axis, keepdims=True), 1.0 / ord)


def _largest_singular_value(x, axes):
    """Return the largest singular value of the matrices in two axes of `x`, with these axes kept."""
    rank = x.ndim
    rows, columns = [axis_of(a, rank) for a in axes]
    order = (*[a for a in range(rank) if a not in (rows, columns)], rows, columns)
    largest = reduce_max(svd(transpose(x, order), compute_uv=False), -1)
    shape = extents_of(x)
    return reshape(largest, [1 if a in (rows, columns) else shape[a] for a in range(rank)])


@public
def norm(tensor, ord="euclidean", axis=None, keepdims=None, name=None) -> Tensor:
    """Return the norm of vectors (`axis` an int, or None: all elements as one) or of matrices (`axis` a pair).

    `ord` for vectors is "euclidean" or a number above 0 (`(Σ|x|ᵖ)^(1/p)`; `np.inf`: the largest), for matrices "euclidean"
    (the same as "fro"), 1, 2 (the largest singular value) or `np.inf`. The result has the dtype of `tensor`. For a complex
    `tensor` it is real, except for the Euclidean norm. The gradient of the Euclidean norm is NaN at 0, unless it is masked.

    >>> float(tf.norm([3.0, 4.0]))
    5.0
    >>> float(tf.norm([3.0, -4.0], ord=1))
    7.0
    """
    axis, of_matrix = _norm_axes(ord, axis)
    result = _norm(_as_tensor(tensor), ord, axis, of_matrix)
    return result if keepdims else squeeze(result, axis)


_as_tensor = tensor  # where a parameter has TensorFlow's name `tensor`


@public
def normalize(tensor, ord="euclidean", axis=None, name=None):
    """Return `(tensor / norm, norm)`, both in the dtype of `tensor`, with the reduced axes kept. See `norm` for `ord` and
    `axis`.

    >>> unit, norm = tf.linalg.normalize([3.0, 4.0])
    >>> unit.numpy().round(4), norm.numpy()
    (array([0.6, 0.8], dtype=float32), array([5.], dtype=float32))
    """
    x = _as_tensor(tensor)
    size = norm(x, ord, axis, keepdims=True)
    if x.dtype.is_complex and not size.dtype.is_complex:
        size = complex(size, 0 * size)
    return x / size, size
