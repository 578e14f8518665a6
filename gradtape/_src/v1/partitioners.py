"""Partitioners, by which TensorFlow 1 splits large variables. `get_variable` accepts one, but creates a single variable."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from gradtape._src.core.base.public import public
from gradtape._src.core.values import dtypes
from gradtape._src.core.values.shape import TensorShape

Partitioner = Callable[..., list[int]]


def _along(axis: int, parts: Callable[[list[int], Any], int]) -> Partitioner:
    """Return a partitioner (shape, dtype) → number of parts per axis, which splits only `axis`."""

    def partitioner(shape: Any, dtype: Any) -> list[int]:
        extents = TensorShape(shape).as_list()
        if axis >= len(extents):
            raise ValueError(f"Cannot partition variable along axis {axis} when shape is only {tuple(extents)}")
        return [parts(extents, dtypes.as_dtype(dtype)) if i == axis else 1 for i in range(len(extents))]

    return partitioner


def _size(dtype: Any, of_a_string: int) -> int:
    return of_a_string if dtype == dtypes.string else dtype.size


@public
def fixed_size_partitioner(num_shards: int, axis: int = 0) -> Partitioner:
    """Return a partitioner with `num_shards` parts along `axis`, or one per entry if there are fewer."""
    return _along(axis, lambda shape, dtype: min(num_shards, shape[axis]))


@public
def variable_axis_size_partitioner(
    max_shard_bytes: int, axis: int = 0, bytes_per_string_element: int = 16, max_shards: int | None = None
) -> Partitioner:
    """Return a partitioner with parts of at most `max_shard_bytes` along `axis`, and at most `max_shards` parts."""
    if max_shard_bytes < 1 or bytes_per_string_element < 1:
        raise ValueError(
            f"Both max_shard_bytes and bytes_per_string_element should be positive. Currently they are {max_shard_bytes} and "
            f"{bytes_per_string_element} respectively"
        )
    if max_shards is not None and max_shards < 1:
        raise ValueError("max_shards should be positive.")

    def parts(shape: list[int], dtype: Any) -> int:
        slice_bytes = math.prod(shape) // shape[axis] * _size(dtype, bytes_per_string_element)
        count = math.ceil(shape[axis] / max(1, max_shard_bytes // slice_bytes))
        return count if max_shards is None else min(max_shards, count)

    return _along(axis, parts)


@public
def min_max_variable_partitioner(
    max_partitions: int = 1, axis: int = 0, min_slice_size: int = 256 << 10, bytes_per_string_element: int = 16
) -> Partitioner:
    """Return a partitioner with at most `max_partitions` parts along `axis`, of at least `min_slice_size` bytes each."""

    def parts(shape: list[int], dtype: Any) -> int:
        count = math.ceil(math.prod(shape) * _size(dtype, bytes_per_string_element) / min_slice_size)
        return max(1, min(shape[axis], max_partitions, count))

    return _along(axis, parts)
