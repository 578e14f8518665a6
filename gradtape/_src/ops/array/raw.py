"""Raw ops on shapes and values that libraries call by type, and that no other function offers."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from gradtape._src.core.base.errors import invalid
from gradtape._src.core.base.public import public
from gradtape._src.core.tensors.convert import static_list, tensor
from gradtape._src.core.tensors.tensor import Tensor
from gradtape._src.core.values import dtypes
from gradtape._src.ops.array.select import UniqueWithCounts, unique_slices_with_counts
from gradtape._src.ops.array.shape import host_constant, plain


class BroadcastGradientArgsResult(NamedTuple):
    """The axes of each operand over which its gradient is summed."""

    r0: Tensor
    r1: Tensor


@public
def BroadcastGradientArgs(*, s0, s1, name=None):
    """Return the axes over which the gradients of two operands of shapes `s0` and `s1` are summed, `(r0, r1)`.

    Both are integer vectors, as are the results. InvalidArgumentError if the shapes do not broadcast.

    >>> tf.raw_ops.BroadcastGradientArgs(s0=[2, 3], s1=[3]).r1.numpy()
    array([0], dtype=int32)
    """
    dtype = tensor(s0, hint=dtypes.int32).dtype.numpy
    first, second = static_list(s0, "s0"), static_list(s1, "s1")
    rank = max(len(first), len(second))
    both = [(1,) * (rank - len(shape)) + tuple(shape) for shape in (first, second)]
    axes: tuple[list[int], list[int]] = ([], [])
    for axis, (a, b) in enumerate(zip(*both, strict=True)):
        if a != b and 1 not in (a, b):
            raise invalid(f"Incompatible shapes: {plain(first)} vs. {plain(second)}: extents must be equal or 1.")
        for mine, found in zip((a, b), axes, strict=True):
            if mine == 1 and list(first) != list(second):
                found.append(axis)
    return BroadcastGradientArgsResult(*(host_constant(np.array(found, dtype)) for found in axes))


@public
def UniqueWithCountsV2(*, x, axis, out_idx=dtypes.int32, name=None):
    """Return the distinct slices of `x` along an axis, the index into these of each slice, and how often each occurs.

    `axis` is a vector with one axis, or empty for a vector `x`. The results are `(y, idx, count)`.

    >>> tf.raw_ops.UniqueWithCountsV2(x=[[1, 2], [3, 4], [1, 2]], axis=[0]).count.numpy()
    array([2, 1], dtype=int32)
    """
    axes = static_list(axis, "axis")
    if len(axes) > 1:
        raise invalid(f"axis does not support input tensors larger than 1 elements, got {axes}: give one axis.")
    return UniqueWithCounts(*unique_slices_with_counts(x, axes[0] if axes else 0, out_idx))
