"""Array functions with TensorFlow 1's signatures: `name` before later arguments, `seq_dim`, `block_size`, `verify_shape`."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gradtape._src.core.base.public import public
from gradtape._src.core.base.signatures import known_as
from gradtape._src.core.engine.engine import tracing
from gradtape._src.core.tensors import constants, convert
from gradtape._src.core.values import dtypes
from gradtape._src.ops import grouping
from gradtape._src.ops.array import blocks, creation, extents, gather as gathers, points, rearrange, select, shape as array
from gradtape._src.ops.linalg import norms
from gradtape._src.ops.math import counting
from gradtape._src.v1.ops.maths import _either

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


@public
def zeros_like(tensor: Any, dtype: Any = None, name: str | None = None, optimize: bool = True) -> Any:
    """Return zeros with the shape of `tensor`, and its dtype unless another is given."""
    return creation.zeros_like(tensor, dtype)


@public
def ones_like(tensor: Any, dtype: Any = None, name: str | None = None, optimize: bool = True) -> Any:
    """Return ones with the shape of `tensor`, and its dtype unless another is given."""
    return creation.ones_like(tensor, dtype)


@public
def shape(input: Any, name: str | None = None, out_type: Any = None) -> Any:
    """Return the shape of `input` as a tensor."""
    return extents.shape(input, out_type)


@public
def size(input: Any, name: str | None = None, out_type: Any = None) -> Any:
    """Return the number of elements of `input`."""
    return extents.size(input, out_type)


@public
def transpose(a: Any, perm: Any = None, name: str = "transpose", conjugate: bool = False) -> Any:
    """Return `a` with its axes in the order `perm`, reversed by default."""
    return array.transpose(a, perm, conjugate)


@public
def norm(
    tensor: Any, ord: Any = "euclidean", axis: Any = None, keepdims: Any = None, name: str | None = None, keep_dims: Any = None
) -> Any:
    """Return the norm of vectors, or of matrices if `axis` is a pair."""
    return norms.norm(tensor, ord, axis, _either(keepdims, keep_dims, ("keepdims", "keep_dims")))


@public
def pad(tensor: Any, paddings: Any, mode: str = "CONSTANT", name: str | None = None, constant_values: Any = 0) -> Any:
    """Return `tensor` padded by `paddings` (before, after) along each axis."""
    return rearrange.pad(tensor, paddings, mode, constant_values)


@public
def reverse_sequence(
    input: Any,
    seq_lengths: Any,
    seq_axis: Any = None,
    batch_axis: Any = None,
    name: str | None = None,
    seq_dim: Any = None,
    batch_dim: Any = None,
) -> Any:
    """Reverse the first `seq_lengths` entries along `seq_axis`, for each entry along `batch_axis`."""
    seq_axis = _either(seq_axis, seq_dim, ("seq_axis", "seq_dim"))
    return rearrange.reverse_sequence(input, seq_lengths, seq_axis, _either(batch_axis, batch_dim, ("batch_axis", "batch_dim")))


@public
def boolean_mask(tensor: Any, mask: Any, name: str = "boolean_mask", axis: Any = None) -> Any:
    """Return the entries of `tensor` along `axis` where `mask` is True."""
    return select.boolean_mask(tensor, mask, axis)


@public
def gather(
    params: Any, indices: Any, validate_indices: Any = None, name: str | None = None, axis: Any = None, batch_dims: Any = 0
) -> Any:
    """Return the entries `indices` of `params` along `axis`."""
    return gathers.gather(params, indices, axis=axis, batch_dims=batch_dims)


@public
def batch_gather(params: Any, indices: Any, name: str | None = None) -> Any:
    """Return the entries `indices` along the last axis of `indices`, with all earlier axes as batch axes."""
    params, indices = _tensor(params), _tensor(indices)
    if not 0 < indices.ndim <= params.ndim:
        raise ValueError(f"batch_dims = {indices.ndim - 1} must be less than rank(params) = {params.ndim}, and not negative.")
    return gathers.gather(params, indices, axis=indices.ndim - 1, batch_dims=indices.ndim - 1)


@public
def gather_nd(params: Any, indices: Any, name: str | None = None, batch_dims: Any = 0, bad_indices_policy: str = "") -> Any:
    """Return the entries or slices of `params` at the points `indices`."""
    return points.gather_nd(params, indices, batch_dims, bad_indices_policy=bad_indices_policy)


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


@public
def space_to_depth(input: Any, block_size: Any, name: str | None = None, data_format: str = "NHWC") -> Any:
    """Move blocks of height and width into the channels."""
    return blocks.space_to_depth(input, block_size, data_format)


@public
def depth_to_space(input: Any, block_size: Any, name: str | None = None, data_format: str = "NHWC") -> Any:
    """Move blocks of channels into height and width."""
    return blocks.depth_to_space(input, block_size, data_format)


@public
def confusion_matrix(
    labels: Any,
    predictions: Any,
    num_classes: Any = None,
    dtype: Any = dtypes.int32,
    name: str | None = None,
    weights: Any = None,
) -> Any:
    """Count the examples with the label of the row that were predicted as the class of the column."""
    return counting.confusion_matrix(labels, predictions, num_classes, weights, dtype)


@public
@known_as("tuple")
def tuple_(tensors: Any, name: str | None = None, control_inputs: Any = None) -> Any:
    """Return the tensors, each available only when all are computed."""
    return grouping.tuple_(tensors, control_inputs)
