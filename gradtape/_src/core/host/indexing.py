"""`lax.gather` and the scatters on NumPy arrays, with window starts expanded to the indices of all elements."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax.lax import GatherScatterMode as Mode

Array = Any


def gather(
    operand: Array,
    start_indices: Array,
    dimension_numbers: Any,
    slice_sizes: Sequence[int],
    *,
    mode: Any = None,
    fill_value: Any = None,
    **hints: Any,
) -> Array:
    """Return the windows of `operand` that begin at `start_indices`."""
    n = dimension_numbers
    flat = {*n.collapsed_slice_dims, *n.operand_batching_dims}
    places, inside = _places(
        operand.shape, start_indices, n.start_index_map, n.operand_batching_dims, n.start_indices_batching_dims, flat,
        n.offset_dims, slice_sizes, Mode.from_any(mode),
    )  # fmt: skip
    if operand.size == 0:
        return np.zeros(np.broadcast_shapes(*[p.shape for p in places]), operand.dtype)
    rank = len(start_indices.shape) - 1 + len(n.offset_dims)
    around = iter(start_indices.shape[:-1])
    windows = iter([size for axis, size in enumerate(slice_sizes) if axis not in flat])
    shape = tuple([next(windows) if axis in n.offset_dims else next(around) for axis in range(rank)])
    found = np.broadcast_to(operand[(*places, ...)], shape)
    if inside is None or inside.all():
        return found
    return np.where(inside, found, np.asarray(_nothing(operand.dtype) if fill_value is None else fill_value, operand.dtype))


def scatter(combine: Any) -> Any:
    """Return the scatter that combines elements by a ufunc, or replaces them if that is None."""

    def scattered(
        operand: Array, scatter_indices: Array, updates: Array, dimension_numbers: Any, *, mode: Any = None, **hints: Any
    ) -> Array:
        n = dimension_numbers
        flat = {*n.inserted_window_dims, *n.operand_batching_dims}
        windows = iter(n.update_window_dims)
        sizes = [1 if d in flat else updates.shape[next(windows)] for d in range(operand.ndim)]
        places, inside = _places(
            operand.shape, scatter_indices, n.scatter_dims_to_operand_dims, n.operand_batching_dims,
            n.scatter_indices_batching_dims, flat, n.update_window_dims, sizes, Mode.from_any(mode),
        )  # fmt: skip
        result = np.array(operand)
        places = tuple([np.broadcast_to(p, updates.shape) for p in places])
        if inside is not None and not inside.all():
            kept = np.broadcast_to(inside, updates.shape)
            places = tuple([p[kept] for p in places])
            updates = updates[kept]
        if combine is None:
            result[places] = updates
        else:
            combine.at(result, places, updates)
        return result

    return scattered


def _places(
    shape: Sequence[int],
    starts: Array,
    named: Sequence[int],
    batch: Sequence[int],
    batch_of_starts: Sequence[int],
    flat: set[int],
    window_dims: Sequence[int],
    sizes: Sequence[int],
    mode: Any,
) -> tuple[tuple[Array, ...], Array | None]:
    """Return `(indices into each axis, whether a window lies inside)`, broadcastable to the result's shape."""
    around = starts.shape[:-1]
    rank = len(around) + len(window_dims)
    outer = [axis for axis in range(rank) if axis not in window_dims]

    def in_result(array: Array, axes: Sequence[int]) -> Array:
        view = [1] * rank
        for axis, extent in zip(axes, array.shape, strict=True):
            view[axis] = extent
        return array.reshape(view)

    windows = iter(window_dims)
    places, inside = [], None
    for axis, (extent, size) in enumerate(zip(shape, sizes, strict=True)):
        if axis in named:
            start = starts[..., named.index(axis)].astype(np.int64)
            if mode is Mode.CLIP:
                start = np.clip(start, 0, max(extent - size, 0))
            elif mode is Mode.FILL_OR_DROP:
                fits = in_result((start >= 0) & (start <= extent - size), outer)
                inside = fits if inside is None else inside & fits
                start = np.clip(start, 0, max(extent - size, 0))
            place = in_result(start, outer)
        elif axis in batch:
            along = batch_of_starts[batch.index(axis)]
            place = in_result(np.arange(around[along]), [outer[along]])
        else:
            place = np.zeros([1] * rank, np.int64)
        places.append(place if axis in flat else place + in_result(np.arange(size), [next(windows)]))
    return tuple(places), inside


def _nothing(dtype: np.dtype) -> Any:
    """Return the fill value for elements out of range."""
    if jnp.issubdtype(dtype, jnp.inexact):
        return np.nan
    return np.iinfo(dtype).min if dtype.kind == "i" else np.iinfo(dtype).max if dtype.kind == "u" else True


class At:
    """`array.at` for NumPy arrays."""

    def __init__(self, array: Array) -> None:
        self._array = array

    def __getitem__(self, index: Any) -> _Elements:
        return _Elements(self._array, index if isinstance(index, tuple) else (index,))


class _Elements:
    """Elements of an array at indices: integer arrays and slices for the first axes."""

    def __init__(self, array: Array, index: tuple[Any, ...]) -> None:
        if Ellipsis in [i for i in index if i is Ellipsis]:
            place = next(k for k, i in enumerate(index) if i is Ellipsis)
            index = (*index[:place], *[slice(None)] * (array.ndim - len(index) + 1), *index[place + 1 :])
        self._array, self._index = array, index

    def _inside(self, mode: str | None, wrap: bool) -> tuple[tuple[Any, ...], Array | None]:
        """Return the indices clipped to the array, and a mask of those in range; None if all are."""
        index: list[Any] = []
        inside = None
        for extent, i in zip(self._array.shape, self._index, strict=False):
            if isinstance(i, slice):
                index.append(i)
                continue
            place = np.asarray(i).astype(np.int64)
            if wrap:
                place = np.where(place < 0, place + extent, place)
            fits = (place >= 0) & (place < extent)
            inside = fits if inside is None else inside & fits
            index.append(np.clip(place, 0, max(extent - 1, 0)))
        if mode in ("clip", "promise_in_bounds") or inside is None or inside.all():
            inside = None
        return tuple(index), inside

    def get(self, *, mode: str = "fill", fill_value: Any = None, wrap_negative_indices: bool = True, **hints: Any) -> Array:
        """Return the elements, with `fill_value` for indices out of range."""
        index, inside = self._inside(mode, wrap_negative_indices)
        if inside is None:
            return self._array[index]
        nothing = np.asarray(_nothing(self._array.dtype) if fill_value is None else fill_value, self._array.dtype)
        if self._array.size == 0:
            return np.broadcast_to(nothing, (*inside.shape, *self._array.shape[len(index) :]))
        found = self._array[index]
        return np.where(inside.reshape(*inside.shape, *[1] * (found.ndim - inside.ndim)), found, nothing)

    def _combined(
        self, combine: Any, values: Array, mode: str = "drop", wrap_negative_indices: bool = True, **hints: Any
    ) -> Array:
        index, inside = self._inside(mode, wrap_negative_indices)
        result = np.array(self._array)
        if inside is not None:
            if any(isinstance(i, slice) for i in index):
                raise NotImplementedError("slices beside indices that lie outside")
            values = np.broadcast_to(values, (*inside.shape, *result.shape[len(index) :]))[inside]
            index = tuple([np.broadcast_to(i, inside.shape)[inside] for i in index])
        if combine is None:
            result[index] = values
        else:
            combine.at(result, index, np.asarray(values, result.dtype))
        return result

    def set(self, values: Array, **how: Any) -> Array:
        """Return the array with elements replaced."""
        return self._combined(None, values, **how)

    def add(self, values: Array, **how: Any) -> Array:
        """Return the array with values added to the elements."""
        return self._combined(np.add, values, **how)

    def multiply(self, values: Array, **how: Any) -> Array:
        """Return the array with elements multiplied."""
        return self._combined(np.multiply, values, **how)

    def max(self, values: Array, **how: Any) -> Array:
        """Return the array with the maximum of elements and values."""
        return self._combined(np.maximum, values, **how)

    def min(self, values: Array, **how: Any) -> Array:
        """Return the array with the minimum of elements and values."""
        return self._combined(np.minimum, values, **how)
