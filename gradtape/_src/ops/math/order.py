"""Tests of order, and approximate top-k."""

from typing import NamedTuple

from gradtape._src.core.base.public import public
from gradtape._src.core.tensors.convert import static, tensor
from gradtape._src.core.tensors.tensor import Tensor
from gradtape._src.ops.array.shape import reshape, transpose
from gradtape._src.ops.array.sort import top_k
from gradtape._src.ops.math.compare import greater, greater_equal
from gradtape._src.ops.math.reduction import reduce_all
from gradtape._src.ops.shapes import FLOATING, axis_of, require


def _neighbours(x):
    """Return the elements of `x` in row-major order, all but the first, and all but the last."""
    x = tensor(x)
    if not x.dtype.is_numeric:
        raise TypeError(f"Expected x to be numeric, instead found dtype {x.dtype.name}. Use tf.cast.")
    flat = reshape(x, [-1])
    return flat[1:], flat[:-1]


@public
def is_non_decreasing(x, name=None):
    """Return whether no element of `x` is less than the one before it, in row-major order; a bool scalar. Real dtypes.

    >>> bool(tf.math.is_non_decreasing([1.0, 1.0, 2.0]))
    True
    """
    return reduce_all(greater_equal(*_neighbours(x)))


@public
def is_strictly_increasing(x, name=None):
    """Return whether each element of `x` is greater than the one before it, in row-major order; a bool scalar. Real dtypes.

    >>> bool(tf.math.is_strictly_increasing([1.0, 1.0, 2.0]))
    False
    """
    return reduce_all(greater(*_neighbours(x)))


class ApproxTopK(NamedTuple):
    """The values found, and their indices."""

    values: Tensor
    indices: Tensor


@public
def approx_max_k(
    operand, k, reduction_dimension=-1, recall_target=0.95, reduction_input_size_override=-1, aggregate_to_topk=True,
    name=None,
):  # fmt: skip
    """Return the `k` largest elements along an axis, in descending order, and their indices (int32). Float.

    They are found exactly, so any `recall_target` is met; the other arguments tune an approximation on accelerators.

    >>> print(tf.math.approx_max_k(tf.constant([1.0, 5.0, 3.0]), 2)[1].numpy())
    [1 2]
    """
    return _largest(operand, k, reduction_dimension, 1)


@public
def approx_min_k(
    operand, k, reduction_dimension=-1, recall_target=0.95, reduction_input_size_override=-1, aggregate_to_topk=True,
    name=None,
):  # fmt: skip
    """Return the `k` smallest elements along an axis, in ascending order, and their indices (int32); see `approx_max_k`.

    >>> print(tf.math.approx_min_k(tf.constant([1.0, 5.0, 3.0]), 2)[1].numpy())
    [0 2]
    """
    return _largest(operand, k, reduction_dimension, -1)


def _largest(x, k, axis, sign):
    """Return the `k` largest (sign 1) or smallest (sign -1) elements along an axis, with their indices."""
    x = tensor(x)
    require(x.node.aval, FLOATING)
    axis = axis_of(static(axis, "reduction_dimension"), x.ndim)
    swapped = list(range(x.ndim))
    swapped[axis], swapped[-1] = swapped[-1], axis
    values, indices = top_k(transpose(x, swapped) * sign, k)
    return ApproxTopK(transpose(values * sign, swapped), transpose(indices, swapped))
