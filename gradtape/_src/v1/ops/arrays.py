"""Array functions with TensorFlow 1's signatures: `name` before later arguments, `seq_dim`, `block_size`, `verify_shape`."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gradtape._src.core.base.public import public
from gradtape._src.core.engine.engine import tracing
from gradtape._src.core.tensors import constants, convert
from gradtape._src.core.values import dtypes
from gradtape._src.ops import grouping
from gradtape._src.ops.array import blocks, creation, extents, gather as gathers, points, rearrange, select, shape as array
from gradtape._src.ops.linalg import norms
from gradtape._src.ops.math import counting
from gradtape._src.v1.ops.maths import _either
from gradtape._src.v1.ops.respelled import respelled

_tensor = convert.tensor  # `tensor` is the name of a parameter here


@public
def constant(value: Any, dtype: Any = None, shape: Any = None, name: str = "Const", verify_shape: bool = False) -> Any:
    """Return a constant Tensor; with `verify_shape` a TypeError unless `value` has `shape`.

    In a graph, the last value is repeated if there are too few for `shape`.
    """
    if verify_shape and shape is not None and tuple(np.shape(value)) != tuple(shape):
        raise TypeError(f"Expected Tensor's shape: {tuple(shape)}, got {tuple(np.shape(value))}.")
    if shape is not None and isinstance(value, (list, tuple, np.ndarray)) and tracing():
        array = np.asarray(constants.to_array(value, None if dtype is None else dtypes.as_dtype(dtype).numpy)).ravel()
        left = math.prod([int(extent) for extent in shape]) - array.size
        if left < 0:
            raise ValueError(f"Too many elements provided. Takes at most {left + array.size}, but got {array.size}.")
        if array.size and left > 0:
            value = np.concatenate([array, np.repeat(array[-1:], left)])
    return convert.constant(value, dtype, shape)


zeros_like = respelled(creation.zeros_like, "tensor dtype name optimize", tensor="input", optimize="")
ones_like = respelled(creation.ones_like, "tensor dtype name optimize", tensor="input", optimize="")
shape = respelled(extents.shape, "input name out_type")
size = respelled(extents.size, "input name out_type")
transpose = respelled(array.transpose, "a perm name conjugate")
norm = respelled(norms.norm, "tensor ord axis keepdims name keep_dims", keep_dims="keepdims")
pad = respelled(rearrange.pad, "tensor paddings mode name constant_values")
reverse_sequence = respelled(
    rearrange.reverse_sequence,
    "input seq_lengths seq_axis batch_axis name seq_dim batch_dim",
    seq_dim="seq_axis",
    batch_dim="batch_axis",
)
boolean_mask = respelled(select.boolean_mask, "tensor mask name axis")
gather = respelled(gathers.gather, "params indices validate_indices name axis batch_dims")


@public
def batch_gather(params: Any, indices: Any, name: str | None = None) -> Any:
    """Return the entries `indices` along the last axis of `indices`, with all earlier axes as batch axes."""
    params, indices = _tensor(params), _tensor(indices)
    if not 0 < indices.ndim <= params.ndim:
        raise ValueError(f"batch_dims = {indices.ndim - 1} must be less than rank(params) = {params.ndim}, and not negative.")
    return gathers.gather(params, indices, axis=indices.ndim - 1, batch_dims=indices.ndim - 1)


gather_nd = respelled(points.gather_nd, "params indices name batch_dims bad_indices_policy")


def _square(block_size: Any, block_shape: Any) -> Any:
    size = _either(block_size, block_shape, ("block_size", "block_shape"))
    return [size, size] if len(np.shape(size)) == 0 else size


@public
def space_to_batch(input: Any, paddings: Any, block_size: Any = None, name: str | None = None, block_shape: Any = None) -> Any:
    """Move blocks of two axes into the batch axis."""
    return blocks.space_to_batch(input, _square(block_size, block_shape), paddings)


@public
def batch_to_space(input: Any, crops: Any, block_size: Any, name: str | None = None, block_shape: Any = None) -> Any:
    """Move blocks from the batch axis into two axes: the inverse of `space_to_batch`."""
    return blocks.batch_to_space(input, _square(block_size, block_shape), crops)


space_to_depth = respelled(blocks.space_to_depth, "input block_size name data_format")
depth_to_space = respelled(blocks.depth_to_space, "input block_size name data_format")
confusion_matrix = respelled(counting.confusion_matrix, "labels predictions num_classes dtype name weights")
tuple_ = respelled(grouping.tuple_, "tensors name control_inputs")
